"""Compile the thirtieth set of timed kernels, and write thirtieth.json.

    python -m tests.silicon.timed.thirtieth

Other kernels than those of the sets before, measured after the model of a later commit.
"""

from __future__ import annotations

from typing import Any

from tests.silicon.timed.build import cases_of, write_set
from tests.silicon.timed.third import floats, zeros

SOURCES = dict.fromkeys(("tensors", "layouts", "singles"), "sm_90")
PLAIN = ("plain", "padded")
ROWS = ("rows", "padded")
SWIZZLED = (*PLAIN, "swizzled")
COLUMNS = (*ROWS, "columns")


def tensors() -> list[dict[str, Any]]:
    each = cases_of("thirtieth_tensors")
    return [
        *(each(f"tucker {how}", f"tucker_{how}", 1056, 256,
               [floats(1056 * 8192, "f16"), floats(4096, "f16"), floats(8 * 4096, "f16"),
                zeros(1056 * 128), "i32=8"], "tucker") for how in SWIZZLED),
        *(each(f"faces {how}", f"faces_{how}", 1584, 128,
               [floats(1584 * 4096, "bf16"), floats(12 * 4096, "bf16"), floats(12 * 64),
                zeros(1584 * 128), "i32=12"], "faces") for how in PLAIN),
        *(each(f"holograms {how}", f"holograms_{how}", 1000, 128,
               [floats(1000 * 8192, "f16"), floats(6 * 8192, "f16"), zeros(1000 * 96), "i32=6"],
               "holograms") for how in PLAIN),
        *(each(f"kinship {how}", f"kinship_{how}", 1056, 128,
               [floats(1056 * 6 * 8192, "u8"), floats(8 * 6 * 8192, "u8"),
                zeros(1056 * 4096, "i32"), "i32=6"], "kinship") for how in ("plain", "swizzled")),
        *(each(f"rooms {how}", f"rooms_{how}", 1056, 128,
               [floats(1056 * 4096), floats(4096), zeros(1056 * 4096), "i32=5"], "rooms")
          for how in PLAIN),
    ]  # fmt: skip


def layouts() -> list[dict[str, Any]]:
    each = cases_of("thirtieth_layouts")
    few, some, more = 528 * 64, 1000 * 64, 1056 * 64
    return [
        *(each(f"by parts {how}", f"by_parts_{how}", 528, 64,
               [floats(few * 32, "u32"), zeros(few, "u32"), f"i32={few}"], "by parts")
          for how in COLUMNS),
        *(each(f"palindromes {how}", f"palindromes_{how}", 528, 64,
               [floats(few * 6, "u32"), zeros(few, "u32"), f"i32={few}", "i32=3"], "palindromes")
          for how in ROWS),
        *(each(f"restarts {how}", f"restarts_{how}", 1056, 64,
               [floats(more * 7, "u32"), zeros(more * 2, "u32"), f"i32={more}", "i32=6"],
               "restarts") for how in ROWS),
        *(each(f"fifteen {how}", f"fifteen_{how}", 1056, 64,
               [floats(more, "u32"), zeros(more, "u32"), "i32=250"], "fifteen") for how in ROWS),
        *(each(f"order book {how}", f"order_book_{how}", 528, 64,
               [floats(few, "u32"), zeros(few * 2, "u32"), "i32=64"], "order book")
          for how in COLUMNS),
        *(each(f"chains {how}", f"chains_{how}", 1000, 64,
               [floats(some, "u32"), zeros(some * 2, "u32"), "i32=3", "i32=60"], "chains")
          for how in ROWS),
        *(each(f"fountain {how}", f"fountain_{how}", 528, 64,
               [floats(few * 20, "u32"), zeros(few * 2, "u32"), f"i32={few}"], "fountain")
          for how in ROWS),
        *(each(f"paragraphs {how}", f"paragraphs_{how}", 700, 64,
               [floats(700 * 64 * 4, "u32"), zeros(700 * 64, "u32"), f"i32={700 * 64}", "i32=4"],
               "paragraphs") for how in ROWS),
        *(each(f"discs {how}", f"discs_{how}", 1056, 128,
               [floats(1056 * 384), zeros(1056 * 128, "u32"), "i32=10", "i32=60"], "discs")
          for how in ("together", "apart")),
        *(each(f"hubs {how}", f"hubs_{how}", 1056, 64,
               [floats(2112 * 1024), zeros(2112 * 32), "i32=20"], "hubs") for how in PLAIN),
        *(each(f"all roots {how}", f"all_roots_{how}", 528, 64,
               [floats(few * 8), zeros(few * 2), f"i32={few}", "i32=24"], "all roots")
          for how in ROWS),
        *(each(f"lstm {how}", f"lstm_{how}", 1056, 128,
               [floats(4096), floats(1056 * 24 * 128), zeros(1056 * 32), "i32=24"], "lstm")
          for how in PLAIN),
    ]  # fmt: skip


def singles() -> list[dict[str, Any]]:
    each = cases_of("thirtieth_singles")
    numbers, words, names = 1056 * 128, 2112 * 256, 2111 * 64
    return [
        each("squeezed", "squeezed", 2112, 256,
             [floats(2112 * 4096), floats(2112 * 2), zeros(2112 * 4096)]),
        each("mines", "mines", [32, 264], [32, 8],
             [floats(4 * 1024 * 2112, "u8"), zeros(1024 * 2112, "u32"), "i32=1024", "i32=2112"]),
        each("epidemics", "epidemics", 1056, 256,
             [floats(1056 * 256), zeros(1056 * 512), "i32=120"]),
        each("tranches", "tranches", 1056, 128, [floats(numbers), zeros(numbers), "i32=12"]),
        each("neutrons", "neutrons", 1056, 128,
             [floats(numbers, "u32"), zeros(numbers * 2, "u32"), "i32=16", "f32=3"]),
        each("rough metal", "rough_metal", 2112, 256,
             [*[floats(words * 8)] * 2, zeros(words * 8), f"i32={words * 2}"]),
        each("jacobi symbols", "jacobi_symbols", 1056, 128,
             [floats(numbers * 16, "u32"), zeros(numbers, "i32"), f"i32={numbers}", "i32=8"]),
        each("othello", "othello", 1000, 128,
             [floats(128000, "u32"), zeros(128000, "i32"), "i32=24"]),
        each("codons", "codons", 1056, 256,
             [floats(words * 4, "u32"), floats(64, "u32"), zeros(words * 2, "u32"),
              f"i32={words}"]),
        each("jaro", "jaro", 2111, 64,
             [floats(names * 4, "u32"), zeros(names), f"i32={names}"]),
        each("halton", "halton", 1056, 256, [floats(1056 * 256), zeros(1056 * 256), "i32=8"]),
        each("boltzmann", "boltzmann", 1056, 128,
             [floats(2048), floats(numbers * 2, "u32"), zeros(numbers * 2, "u32"), "i32=2"]),
        each("lenses", "lenses", 1056, 256,
             [floats(1056 * 256 * 16), floats(32), zeros(1056 * 512), f"i32={1056 * 256}",
              "i32=4"]),
        each("sign steps", "sign_steps", 2112, 256,
             [*[floats(words * 8)] * 4, *[zeros(words * 8)] * 3, f"i32={words * 2}"]),
    ]  # fmt: skip


def main() -> None:
    cases = [*tensors(), *layouts(), *singles()]
    write_set("thirtieth", SOURCES, cases, [])


if __name__ == "__main__":
    main()
