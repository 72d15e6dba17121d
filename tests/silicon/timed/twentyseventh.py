"""Compile the twenty-seventh set of timed kernels, and write twentyseventh.json.

    python -m tests.silicon.timed.twentyseventh

Other kernels than those of the sets before, measured after the model of a later commit.
"""

from __future__ import annotations

from typing import Any

from tests.silicon.timed.build import cases_of, write_set
from tests.silicon.timed.third import floats, zeros

SOURCES = dict.fromkeys(("tensors", "layouts", "codes", "fields"), "sm_90")
PLAIN = ("plain", "padded")
ROWS = ("rows", "padded")
COLUMNS = (*ROWS, "columns")
SWIZZLED = (*PLAIN, "swizzled")


def tensors() -> list[dict[str, Any]]:
    each = cases_of("twentyseventh_tensors")
    frames, molecules, borders = 1056 * 64, 1056 * 4096, 1056 * 128
    return [
        *(each(f"mel bands {how}", f"mel_bands_{how}", 1056, 128,
               [floats(frames * 256, "f16"), floats(64 * 256, "f16"), zeros(frames * 64),
                "i32=256"], "mel bands") for how in SWIZZLED),
        *(each(f"molecules {how}", f"molecules_{how}", 1056, 128,
               [*[floats(molecules, "f16")] * 2, floats(3 * 4096, "f16"), zeros(1056 * 64),
                "i32=3"], "molecules") for how in ("plain", "swizzled")),
        *(each(f"schur {how}", f"schur_{how}", 1056, 128,
               [floats(borders * 64), floats(borders), floats(molecules), zeros(molecules),
                "i32=128"], "schur") for how in PLAIN),
        *(each(f"markov {how}", f"markov_{how}", 1056, 128,
               [floats(molecules, "f16"), zeros(molecules, "f16"), "i32=3"], "markov")
          for how in PLAIN),
        *(each(f"wave templates {how}", f"wave_templates_{how}", 528, 128,
               [floats(528 * 8 * 1024 + 256, "u8"), floats(64 * 256, "u8"),
                zeros(528 * 8 * 64, "i32"), "i32=8"], "wave templates") for how in PLAIN),
    ]  # fmt: skip


def layouts() -> list[dict[str, Any]]:
    each = cases_of("twentyseventh_layouts")
    words, polar, few = 528 * 64, 1056 * 64, 528 * 64
    groups, factors, pixels = 1056 * 64, 528 * 4, 2048 * 2112
    return [
        *(each(f"massey {how}", f"massey_{how}", 528, 64,
               [floats(words * 15, "u32"), zeros(words, "u32"), f"i32={words}"], "massey")
          for how in COLUMNS),
        *(each(f"polar {how}", f"polar_{how}", 1056, 64,
               [floats(polar * 32), zeros(polar, "u32"), f"i32={polar}", "u32=18290687"],
               "polar") for how in ROWS),
        *(each(f"roads {how}", f"roads_{how}", 528, 64,
               [floats(few * 2, "u32"), zeros(few, "u32"), f"i32={few}", "i32=8"], "roads")
          for how in ROWS),
        *(each(f"hulls {how}", f"hulls_{how}", 528, 64,
               [floats(few * 64), zeros(few), f"i32={few}"], "hulls") for how in ROWS),
        *(each(f"credit {how}", f"credit_{how}", 528, 64,
               [floats(few), floats(24), zeros(few), "f32=0.5", "f32=2", "f32=6"], "credit")
          for how in ROWS),
        *(each(f"fractions {how}", f"fractions_{how}", 2112, 256,
               [floats(2112 * 512), zeros(2112 * 256)], "fractions")
          for how in ("together", "padded", "apart")),
        *(each(f"losers {how}", f"losers_{how}", 1056, 64,
               [floats(groups * 64, "u32"), zeros(groups * 64, "u32"), f"i32={groups}"],
               "losers") for how in COLUMNS),
        *(each(f"poincare {how}", f"poincare_{how}", [32, 33], 256,
               [floats(2112 * 32), floats(2048 * 32), zeros(pixels), "i32=2048"], "poincare")
          for how in PLAIN),
        *(each(f"added ranks {how}", f"added_ranks_{how}", 528, 128,
               [floats(factors * 1024), floats(factors * 4 * 32), zeros(factors * 1024),
                "i32=4"], "added ranks") for how in PLAIN),
        *(each(f"haze {how}", f"haze_{how}", [32, 33], 128,
               [floats(pixels, "u32"), zeros(pixels, "u32"), "i32=2048", "f32=230"], "haze")
          for how in PLAIN),
        *(each(f"yields {how}", f"yields_{how}", 2112, 128,
               [floats(2112 * 1536), zeros(2112 * 1536), "i32=4"], "yields")
          for how in PLAIN),
        *(each(f"programs {how}", f"programs_{how}", 528, 128,
               [floats(factors * 512, "f64"), zeros(factors * 16, "f64"), "i32=8"], "programs")
          for how in PLAIN),
        *(each(f"subsets {how}", f"subsets_{how}", 1056, 256,
               [floats(1056 * 2048, "u32"), zeros(1056 * 2048, "u32")], "subsets")
          for how in PLAIN),
    ]  # fmt: skip


def codes() -> list[dict[str, Any]]:
    each = cases_of("twentyseventh_codes")
    positions, rows, places = 2112 * 512, 1056 * 4096, 1056 * 256
    return [
        each("attacked", "attacked", 2112, 256,
             [floats(positions * 4, "u32"), floats(positions * 2, "u32"),
              zeros(positions, "u64"), f"i32={positions}"]),
        each("coprime", "coprime", 1056, 256,
             [*[floats(places * 4, "u32")] * 2, zeros(1056 * 8, "u32")]),
        each("struck", "struck", 528, 256, [zeros(528, "u32")]),
        each("brackets", "brackets", 4224, 256,
             [floats(4224 * 1024, "u32"), zeros(4224 * 256, "i32"), zeros(4224 * 2, "i32")]),
        each("sales", "sales", 1056, 256,
             [floats(rows, "u8"), *[floats(rows, "i32")] * 2, zeros(24, "u64")]),
        each("cores", "cores", 1056, 256,
             [floats(places, "i32"), floats(places * 16, "u32"), zeros(262144, "i32"),
              zeros(places // 32, "u32"), "i32=250", "u32=262143"]),
        each("bids", "bids", 2112, 256,
             [floats(2112 * 8 * 512), floats(512), zeros(512, "u64"), "f32=0.01"]),
        each("skyline", "skyline", 528, 256,
             [floats(528 * 1024), zeros(528 * 256, "u32"), "i32=6"]),
        each("clauses", "clauses", 528, 128,
             [floats(512, "u32"), zeros(528 * 128, "u32"), "i32=512"]),
    ]  # fmt: skip


def fields() -> list[dict[str, Any]]:
    each = cases_of("twentyseventh_fields")
    series, sounds, cells, starts, said = 528 * 128, 528 * 4 * 128, 1056 * 4, 528 * 128, 1056 * 64
    return [
        each("variances fitted", "variances_fitted", 528, 128,
             [floats(series * 64), zeros(series * 4), f"i32={series}", "i32=64"]),
        each("thinned", "thinned", [32, 33], 256,
             [floats(1060 * 1028, "u8"), zeros(1056 * 1024, "u8"), "i32=1028", "i32=1024"]),
        each("hall", "hall", 528, 128, [floats(sounds), zeros(sounds), "i32=128"]),
        each("thin gas", "thin_gas", 1056, 128,
             [floats(cells * 192), zeros(cells * 192), zeros(cells, "u32"), "i32=10"]),
        each("weather", "weather", 528, 128,
             [floats(starts * 3, "f64"), zeros(starts, "f64"), f"i32={starts}", "i32=32",
              "f64=28"]),
        each("ratings", "ratings", 1056, 256,
             [floats(said * 2, "u32"), floats(said), floats(65536 * 64), floats(16384 * 64),
              zeros(said // 8), "u32=65535", "u32=16383"]),
    ]  # fmt: skip


def main() -> None:
    cases = [*tensors(), *layouts(), *codes(), *fields()]
    write_set("twentyseventh", SOURCES, cases, [])


if __name__ == "__main__":
    main()
