"""Compile the twenty-ninth set of timed kernels, and write twentyninth.json.

    python -m tests.silicon.timed.twentyninth

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


def tensors() -> list[dict[str, Any]]:
    each = cases_of("twentyninth_tensors")
    return [
        *(each(f"student {how}", f"student_{how}", 1056, 256,
               [floats(1056 * 8192, "f16"), floats(12 * 4096, "f16"), floats(12 * 64),
                zeros(1056 * 128), "i32=12"], "student") for how in SWIZZLED),
        *(each(f"speakers {how}", f"speakers_{how}", 1584, 128,
               [floats(1584 * 4096, "bf16"), floats(10 * 4096, "bf16"), zeros(1584 * 640),
                "i32=10"], "speakers") for how in PLAIN),
        *(each(f"wavefronts {how}", f"wavefronts_{how}", 1000, 128,
               [floats(1000 * 4096, "f16"), floats(10 * 4096, "f16"), zeros(1000 * 40), "i32=10"],
               "wavefronts") for how in PLAIN),
        *(each(f"late interaction {how}", f"late_interaction_{how}", 1056, 128,
               [floats(1056 * 8192, "u8"), floats(16 * 8192, "u8"), zeros(1056 * 64, "i32"),
                "i32=16"], "late interaction") for how in ("plain", "swizzled")),
        *(each(f"purified {how}", f"purified_{how}", 1056, 64,
               [floats(2112 * 1024, "f64"), zeros(2112 * 1024, "f64"), "i32=2"], "purified")
          for how in PLAIN),
    ]  # fmt: skip


def layouts() -> list[dict[str, Any]]:
    each = cases_of("twentyninth_layouts")
    few, more = 528 * 64, 1056 * 64
    return [
        *(each(f"mancala {how}", f"mancala_{how}", 528, 64,
               [floats(few, "u32"), zeros(few, "i32"), "i32=48"], "mancala")
          for how in (*ROWS, "columns")),
        *(each(f"repeats {how}", f"repeats_{how}", 528, 64,
               [floats(few * 16, "u32"), zeros(few * 2, "u32"), f"i32={few}"], "repeats")
          for how in ROWS),
        *(each(f"factorials {how}", f"factorials_{how}", 1056, 64,
               [floats(more, "u32"), zeros(more, "u32"), "i32=24"], "factorials")
          for how in ROWS),
        *(each(f"dipoles {how}", f"dipoles_{how}", 1056, 256,
               [floats(1056 * 1536), zeros(1056 * 256), "i32=40"], "dipoles")
          for how in ("together", "apart")),
        *(each(f"cat map {how}", f"cat_map_{how}", 1056, 256,
               [floats(1056 * 4096, "u32"), zeros(1056 * 4096, "u32"), "i32=4"], "cat map")
          for how in PLAIN),
        *(each(f"patience {how}", f"patience_{how}", 700, 64,
               [floats(700 * 64 * 16, "u32"), zeros(700 * 64, "u32"), f"i32={700 * 64}",
                "i32=16"], "patience") for how in ROWS),
        *(each(f"simplex {how}", f"simplex_{how}", 528, 64,
               [floats(1056 * 1024), zeros(1056 * 32), "i32=8"], "simplex") for how in PLAIN),
        *(each(f"in a row {how}", f"in_a_row_{how}", 800, 128,
               [floats(800 * 3 * 4096, "u32"), zeros(800 * 3 * 128, "u32"), "i32=3"], "in a row")
          for how in PLAIN),
        *(each(f"burg {how}", f"burg_{how}", 528, 64,
               [floats(few * 24), zeros(few), f"i32={few}", "i32=6"], "burg") for how in ROWS),
        *(each(f"xxtea {how}", f"xxtea_{how}", 1056, 64,
               [floats(more * 32, "u32"), floats(4, "u32"), zeros(more * 32, "u32"), "i32=3"],
               "xxtea") for how in ROWS),
        *(each(f"halftoned {how}", f"halftoned_{how}", 600, 32,
               [floats(600 * 2048), zeros(600 * 64, "u32")], "halftoned") for how in PLAIN),
        *(each(f"grammar {how}", f"grammar_{how}", 528, 64,
               [floats(few * 12, "u32"), zeros(few, "u32"), f"i32={few}"], "grammar")
          for how in ROWS),
        *(each(f"box tree {how}", f"box_tree_{how}", 1056, 128,
               [floats(1056 * 254), floats(1056 * 4 * 256), zeros(1056 * 128, "u32"), "i32=4"],
               "box tree") for how in ("together", "padded", "apart")),
    ]  # fmt: skip


def singles() -> list[dict[str, Any]]:
    each = cases_of("twentyninth_singles")
    numbers, words = 1056 * 128, 2112 * 256
    return [
        each("cliques", "cliques", 1056, 256,
             [floats(8448 * 32, "u32"), zeros(8448, "u32"), "i32=8448"]),
        each("medians by bits", "medians_by_bits", 1056, 256,
             [floats(16896 * 256, "u32"), zeros(16896, "u32"), "i32=16896"]),
        each("composited", "composited", 2112, 256,
             [*[floats(words * 12, "u32")] * 2, zeros(words * 12, "u32"), f"i32={words * 3}"]),
        each("bigrams", "bigrams", 1056, 256,
             [floats(1056 * 16384, "u8"), zeros(1056 * 1024, "u32")]),
        each("tries", "tries", 2112, 256,
             [floats(words, "u32"), floats(1 << 22, "u32"), zeros(words, "u32"),
              f"i32={(1 << 22) - 1}"]),
        each("probit", "probit", 1056, 256,
             [floats(1056 * 256), zeros(1056 * 256), "i32=24"]),
        each("pendulums", "pendulums", 1056, 128,
             [floats(numbers, "f64"), zeros(numbers, "f64"), "i32=4"]),
        each("continued fractions", "continued_fractions", 1056, 128,
             [floats(numbers * 12, "u32"), zeros(numbers * 2, "u32"), f"i32={numbers}", "i32=6"]),
        each("rational halves", "rational_halves", 2112, 256,
             [floats(words * 8, "f16"), zeros(words * 8, "f16"), "i32=16"]),
        each("lorenz", "lorenz", 1056, 256,
             [floats(1056 * 256), zeros(1056 * 256), "i32=32"]),
        each("perona", "perona", [32, 132], [32, 8],
             [floats(4 * 1024 * 1056), zeros(4 * 1024 * 1056), "i32=1024", "i32=1056", "i32=4",
              "f32=2"]),
        each("fibonacci", "fibonacci", 1056, 128, [floats(numbers, "u32"), zeros(numbers, "u64")]),
    ]  # fmt: skip


def main() -> None:
    cases = [*tensors(), *layouts(), *singles()]
    write_set("twentyninth", SOURCES, cases, [])


if __name__ == "__main__":
    main()
