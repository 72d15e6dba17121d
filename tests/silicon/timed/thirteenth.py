"""Compile the thirteenth set of timed kernels, and write thirteenth.json.

    python -m tests.silicon.timed.thirteenth

Other kernels than those of the twelve sets before, measured after the model of a later commit.
"""

from __future__ import annotations

from typing import Any

from tests.silicon.timed.build import cases_of, write_set
from tests.silicon.timed.third import floats, zeros

SOURCES = {"elements": "sm_90", "tiles": "sm_90", "products": "sm_90a"}


def elements() -> list[dict[str, Any]]:
    each = cases_of("thirteenth_elements")
    vectors, pixels, water, tracks = 1500 * 1024, 4000 * 192, 2050 * 1026, 600 * 128
    pages = 2048 * 256
    return [
        each("sip", "sip", 1056, 256, [floats(1056 * 4096, "u32"), zeros(1056 * 256, "u32")]),
        each("triplets", "triplets", 1320, 128, [*[floats(1320 * 1024)] * 3, zeros(5280)]),
        each("lion", "lion", 1500, 256, [*[floats(vectors)] * 3, *[zeros(vectors)] * 2,
                                        "f32=0.001"]),
        each("lab", "lab", 4000, 192, [floats(4 * pixels, "u8"), *[zeros(pixels)] * 3]),
        each("heston", "heston", 1320, 128, [zeros(1320 * 128), "i32=100", "f32=0.03",
                                            "f32=1.5"]),
        each("goertzel", "goertzel", 2640, 128, [floats(2640 * 512), zeros(2640 * 128)]),
        each("cells", "cells", [60, 135], [32, 8], [zeros(1920 * 1080), "i32=1920",
                                                   "f32=0.03125"]),
        each("reaction", "reaction", [32, 256], [64, 4], [*[floats(water)] * 2,
                                                         *[zeros(water)] * 2, "i32=2050"]),
        each("gumbel", "gumbel", 2000, 256, [floats(2000 * 2048), zeros(2000, "u32"),
                                            "f32=1.25"]),
        each("small floats", "small_floats", 3000, 128, [floats(3000 * 2048, "f16"),
                                                        zeros(3000 * 512, "u32"), zeros(3000)]),
        each("kalman", "kalman", 600, 128, [floats(64 * tracks), zeros(64 * tracks),
                                           f"i32={tracks}", "f32=0.5", "f32=0.01"]),
        each("directions", "directions", [60, 135], [32, 8],
             [floats(1922 * 1082, "u8"), zeros(60 * 135 * 36), "i32=1922"]),
        each("ranks", "ranks", 2048, 256, [floats(12 * pages, "u32"), *[floats(pages)] * 2,
                                          zeros(pages), f"i32={pages}", f"u32={pages - 1}"]),
        each("small nets", "small_nets", 2640, 128, [floats(2640 * 512), floats(768),
                                                    zeros(2640 * 128)]),
    ]  # fmt: skip


def tiles() -> list[dict[str, Any]]:
    each = cases_of("thirteenth_tiles")
    plain, places = ("plain", "padded"), ("together", "apart")
    return [
        *(each(f"channels first {how}", f"channels_first_{how}", 1584, 128,
               [floats(1584 * 2048), zeros(1584 * 2048), f"i32={1584 * 64}"], "channels first")
          for how in plain),
        *(each(f"splines {how}", f"splines_{how}", 1056, 256,
               [floats(1024), floats(1056 * 2048), zeros(1056 * 2048)], "splines")
          for how in places),
        *(each(f"atoms {how}", f"atoms_{how}", 2112, 128,
               [floats(2112 * 512), zeros(2112 * 384)], "atoms") for how in places),
        *(each(f"largest {how}", f"largest_{how}", 1400, 128,
               [floats(1400 * 2048 + 8), zeros(1400 * 2048)], "largest") for how in plain),
        *(each(f"least eight {how}", f"least_eight_{how}", 528, 128,
               [floats(64 * 528 * 128), zeros(8 * 528 * 128), f"i32={528 * 128}"],
               "least eight") for how in places),
        *(each(f"tile softmax {how}", f"tile_softmax_{how}", 660, 64,
               [floats(660 * 4096), zeros(660 * 4096)], "tile softmax") for how in plain),
        *(each(f"curl {how}", f"curl_{how}", 1200, 256,
               [floats(1200 * 3000), zeros(1200 * 1536)], "curl") for how in plain),
    ]  # fmt: skip


def products() -> list[dict[str, Any]]:
    each = cases_of("thirteenth_products")
    depth = ["i32=2112", "i32=512"]
    halves = [floats(1024 * 512, "f16"), floats(2112 * 512, "f16")]
    return [
        *(each(f"in threes {how}", f"in_threes_{how}", [33, 16], 128,
               [*halves, zeros(1024 * 2112, "f16"), *depth], "in threes")
          for how in ("plain", "padded", "swizzled")),
        *(each(f"apart {how}", f"apart_{how}", [33, 24], 256,
               [floats(1536 * 128, "bf16"), floats(2112 * 128, "bf16"), floats(1536),
                floats(2112), zeros(1536 * 2112), "i32=2112"], "apart")
          for how in ("plain", "padded")),
        *(each(f"one group {how}", f"one_group_{how}", [33, 16], 128,
               [*halves, zeros(1024 * 2112), *depth], "one group", 49152)
          for how in ("plain", "swizzled")),
    ]  # fmt: skip


def main() -> None:
    write_set("thirteenth", SOURCES, [*elements(), *tiles(), *products()], [])


if __name__ == "__main__":
    main()
