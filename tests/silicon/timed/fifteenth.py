"""Compile the fifteenth set of timed kernels, and write fifteenth.json.

    python -m tests.silicon.timed.fifteenth

Other kernels than those of the fourteen sets before, measured after the model of a later commit.
"""

from __future__ import annotations

from typing import Any

from tests.silicon.timed.build import cases_of, write_set
from tests.silicon.timed.third import floats, zeros

SOURCES = {"elements": "sm_90", "words": "sm_90", "tiles": "sm_90", "products": "sm_90a"}


def elements() -> list[dict[str, Any]]:
    each = cases_of("fifteenth_elements")
    points, tokens, places, bodies, bonds = 528 * 128, 660 * 16, 792 * 256, 1056 * 256, 1056 * 128
    rows, runs, pixels = 1320 * 4096, 1056 * 64, 1280 * 720
    return [
        each("ladder", "ladder", points // 128, 128,
             [floats(8 * points, "u32"), floats(points, "u32"), zeros(16 * points, "u32"),
              f"i32={points}"]),
        each("short filter", "short_filter", tokens // 16, 256,
             [floats(tokens * 2048, "bf16"), floats(4 * 2048), floats(2048),
              zeros(tokens * 2048, "bf16"), "i32=2112"]),
        each("shared powers", "shared_powers", 1056, 256,
             [floats(1056 * 8192, "bf16"), zeros(1056 * 1024, "u32"), zeros(1056 * 256, "u8"),
              f"i32={1056 * 1024}"]),
        each("speculated", "speculated", 1320, 256,
             [floats(rows), floats(rows), floats(1320, "u32"), floats(2640), zeros(1320, "i32")]),
        each("sketched", "sketched", 528, 256, [floats(528 * 8192, "u32"), zeros(2048, "u32"),
                                               "i32=2048"]),
        each("packed", "packed", 1056, 256, [floats(runs * 128, "i32"), zeros(runs * 128, "u32"),
                                            zeros(runs * 2, "i32")]),
        each("independent", "independent", places // 256, 256,
             [floats(16 * places, "u32"), floats(places, "u8"), zeros(places, "u8"),
              f"i32={places}", "u32=77"]),
        each("pushed", "pushed", bodies // 256, 256,
             [floats(3 * bodies), floats(3 * bodies), *[floats(4 * 32**3)] * 2, f"i32={bodies}",
              "f32=0.1"]),
        each("twisted", "twisted", bonds // 128, 128,
             [floats(4 * 65536), floats(4 * bonds, "u32"), floats(2 * bonds), zeros(3 * 65536),
              "i32=65536"]),
        each("patches", "patches", [40, 90], [32, 8],
             [floats(3 * pixels), floats(5 * 54 * 30), zeros(pixels, "u16"), "i32=1280",
              "i32=720", "f32=0.01"]),
    ]  # fmt: skip


def words() -> list[dict[str, Any]]:
    each = cases_of("fifteenth_words")
    keys, unknowns, text = 1056 * 2048, 1056 * 256 * 4, 1056 * 4 * 4096
    return [
        each("barrier", "barrier", 1584, 128, [floats(320, "u32"), zeros(1584 * 128), "f32=85",
                                              "f32=100"]),
        each("separated", "separated", 1056, 256,
             [floats(text, "u8"), floats(1056, "u8"), zeros(text // 16, "u16"),
              zeros(1056, "i32")]),
        each("by byte", "by_byte", 1056, 256, [floats(keys, "u32"), zeros(keys, "u32"),
                                              zeros(1056 * 256, "u32"), "i32=8"]),
        each("conjugate", "conjugate", 1056, 256,
             [*[floats(2 * unknowns, "f64")] * 4, floats(2, "f64"), zeros(1, "f64"),
              f"i32={unknowns}"]),
    ]  # fmt: skip


def tiles() -> list[dict[str, Any]]:
    each = cases_of("fifteenth_tiles")
    plain, frames, bodies, looked = ("plain", "padded"), 1056 * 128, 1056 * 256, 528 * 2048
    return [
        *(each(f"entropy {how}", f"entropy_{how}", 1056, 128,
               [floats(32, "u8"), floats(1056 * 128, "u32"), floats(1056 * 8192, "u16"),
                zeros(1056 * 2048, "u32")], "entropy") for how in ("together", "apart")),
        *(each(f"predictors {how}", f"predictors_{how}", frames // 128, 128,
               [floats(17 * frames), zeros(16 * frames), zeros(frames), f"i32={frames}"],
               "predictors") for how in ("own", "padded", "beside")),
        *(each(f"lifted {how}", f"lifted_{how}", 1584, 64,
               [floats(1584 * 4096, "i32"), zeros(1584 * 4096, "i32")], "lifted")
          for how in plain),
        *(each(f"smoothed {how}", f"smoothed_{how}", bodies // 256, 256,
               [floats(8 * bodies), floats(32 * bodies, "u8"), zeros(3 * bodies),
                f"i32={bodies}"], "smoothed") for how in ("structures", "arrays")),
        *(each(f"eliminated {how}", f"eliminated_{how}", 1320, 128,
               [floats(1320 * 2048, "f64"), zeros(1320 * 2048, "f64")], "eliminated")
          for how in plain),
        *(each(f"ranges {how}", f"ranges_{how}", 1056, 256,
               [floats(1056 * 4096, "u32"), floats(256, "u32"), zeros(1056 * 1024, "u32"),
                zeros(1056 * 256, "u32")], "ranges") for how in ("sorted", "tree")),
        *(each(f"syndromes {how}", f"syndromes_{how}", 2112, 128,
               [floats(2112 * 2048, "u8"), zeros(2112 * 128, "u8")], "syndromes")
          for how in ("bytes", "copies")),
        *(each(f"graded {how}", f"graded_{how}", 528, 256,
               [floats(3 * 4913, "f16"), floats(4 * looked, "u32"), zeros(4 * looked, "u32"),
                "i32=2048"], "graded") for how in ("threes", "fours", "planes")),
        *(each(f"deposited {how}", f"deposited_{how}", 1024, 256,
               [floats(1024 * 2048 * 4), zeros(513 * 513 * 4, "i32"), "i32=513"], "deposited")
          for how in ("together", "planes")),
    ]  # fmt: skip


def products() -> list[dict[str, Any]]:
    each = cases_of("fifteenth_products")
    hows, tokens, wide = ("plain", "padded", "swizzled"), 2112, 1024
    stages = {"plain": 65536, "padded": 73728, "swizzled": 65536}
    return [
        *(each(f"gates {how}", f"gates_{how}", [wide // 64, tokens // 64], 128,
               [floats(tokens * 1024, "bf16"), *[floats(wide * 1024, "bf16")] * 2,
                zeros(tokens * wide, "bf16"), f"i32={wide}", "i32=1024"], "gates")
          for how in hows),
        *(each(f"four bits {how}", f"four_bits_{how}", [66, 8], 128,
               [floats(512 * 2048, "f16"), floats(4224 * 256, "u32"), floats(32 * 4224, "f16"),
                zeros(512 * 4224, "f16"), "i32=4224", "i32=2048"], "four bits")
          for how in hows[:2]),
        *(each(f"requantized {how}", f"requantized_{how}", [16, 33], 256,
               [floats(4224 * 2048, "i8"), floats(2048 * 2048, "i8"), floats(4224), floats(2048),
                zeros(4224 * 2048, "u8"), "i32=2048", "i32=2048"], "requantized", stages[how])
          for how in hows),
    ]  # fmt: skip


def main() -> None:
    write_set("fifteenth", SOURCES, [*elements(), *words(), *tiles(), *products()], [])


if __name__ == "__main__":
    main()
