"""Compile the tenth set of timed kernels, and write tenth.json.

    python -m tests.silicon.timed.tenth

Other kernels than those of the nine sets before, measured after the model of a later commit.
"""

from __future__ import annotations

from typing import Any

from tests.silicon.timed.build import cases_of, write_set
from tests.silicon.timed.third import floats, zeros

SOURCES = {"elements": "sm_90", "tiles": "sm_90"}


def elements() -> list[dict[str, Any]]:
    each = cases_of("tenth_elements")
    picture = [floats(1920 * 1080), zeros(1920 * 1080), "i32=1920"]
    space = 296 * 296 * 56
    return [
        each("blurred rows", "blurred_rows", [15, 540], [128, 2], picture),
        each("blurred columns", "blurred_columns", [60, 17], [32, 8], [*picture, "i32=1080"]),
        each("far stencil", "far_stencil", [9, 18], [32, 16], [floats(space), zeros(space),
                                                             "i32=288", "i32=288", "i32=48"]),
        each("causal", "causal", 4000, 128, [floats(16000 * 1000, "f16"),
                                            zeros(16000 * 1000, "f16"), "i32=1000"]),
        each("in bytes", "in_bytes", 3000, 256, [floats(3000 * 4096, "f16"),
                                                zeros(3000 * 4096, "i8"), zeros(3000)]),
        each("rows of bytes", "rows_of_bytes", 660, 256, [floats(5280 * 4096, "i8"),
                                                         floats(4096, "i8"), floats(5280),
                                                         zeros(5280)]),
        each("restarted", "restarted", 4000, 256, [floats(4000 * 1024), floats(4000 * 1024, "u8"),
                                                  zeros(4000 * 1024)]),
        each("centre sums", "centre_sums", 660, 256, [floats(8_000_000), floats(2_000_000, "u8"),
                                                     zeros(660 * 320, "i32"), "i32=2000000"]),
        each("middle of 25", "middle_of_25", [32, 88], [32, 8], [floats(700_000), zeros(700_000),
                                                               "i32=1000", "i32=700"]),
        each("neighbours", "neighbours", 391, 256, [floats(4 << 17), floats(2_400_000, "u32"),
                                                   zeros(400_000), "i32=100000",
                                                   f"u32={(1 << 17) - 1}"]),
        each("asian", "asian", 1980, 256, [floats(1980 * 256, "u32"), zeros(1980 * 256),
                                          "f32=-0.0002", "f32=0.02"]),
        each("combined", "combined", 3000, 256, [floats(8192 * 1024, "f16"), floats(12000, "u32"),
                                                floats(12000), zeros(6000 * 1024, "f16"),
                                                "u32=8191"]),
        each("rows of doubles", "rows_of_doubles", 2000, 128, [floats(2000 * 1531, "f64"),
                                                              floats(1531, "f64"),
                                                              zeros(2000, "f64"), "i32=1531"]),
        each("mean words", "mean_words", 250, 192, [floats(250 * 96 * 768), zeros(250 * 768),
                                                   "i32=96"]),
        each("wide rows", "wide_rows", 100, 1024, [floats(100 * 32768), floats(32768),
                                                  zeros(100 * 32768)]),
        each("by signs", "by_signs", 1056, 256, [floats(15_800_000, "f16"),
                                                floats(15_800_000, "f16"), zeros(15_800_000),
                                                "i32=7900000", "f32=0.0001"]),
    ]  # fmt: skip


def tiles() -> list[dict[str, Any]]:
    each = cases_of("tenth_tiles")
    hows = ("plain", "padded")
    scores = [floats(66 * 512 * 64, "f16"), floats(66 * 512 * 64, "f16"), zeros(66 * 512),
              "i32=512"]  # fmt: skip
    cube = 192 * 160 * 256
    return [
        *(each(f"row sums {how}", f"row_sums_{how}", [8, 66], 128, scores, "row sums")
          for how in (*hows, "swizzled")),
        *(each(f"cyclic {how}", f"cyclic_{how}", 2000, 256, [floats(2000 * 2048),
                                                           zeros(2000 * 512)], "cyclic")
          for how in hows),
        *(each(f"shortest {how}", f"shortest_{how}", [33, 33], [32, 8],
               [floats(1056 * 512), floats(512 * 1056), zeros(1056 * 1056), "i32=1056",
                "i32=512"], "shortest") for how in hows),
        *(each(f"quarters {how}", f"quarters_{how}", 2048, 256, [floats(2 << 21), zeros(2 << 21)],
               "quarters") for how in hows),
        *(each(f"back solved {how}", f"back_solved_{how}", 1000, 128,
               [floats(1000 * 1024), floats(1000 * 4096), zeros(1000 * 4096)], "back solved")
          for how in hows),
        *(each(f"orbiting {how}", f"orbiting_{how}", 1500, 256, [floats(1500 * 2048),
                                                               zeros(1500 * 2048)], "orbiting")
          for how in hows),
        *(each(f"edits {how}", f"edits_{how}", 2640, 64,
               [floats(2640 * 64, "u8"), floats(2640 * 64, "u8"), zeros(2640 * 64, "i32")],
               "edits") for how in hows),
        *(each(f"fours of bytes {how}", f"fours_of_bytes_{how}", [33, 16], 256,
               [floats(1024 * 768, "i8"), floats(2112 * 768, "i8"), zeros(1024 * 2112, "i32"),
                "i32=2112", "i32=768"], "fours of bytes") for how in hows),
        *(each(f"half size {how}", f"half_size_{how}", [47, 125], [32, 8],
               [floats(3000 * 2000), zeros(1500 * 1000), "i32=1500", "i32=1000"], "half size")
          for how in ("plain", "split")),
        *(each(f"axes {how}", f"axes_{how}", [6, 8, 160], [32, 8],
               [floats(cube), zeros(cube), "i32=192", "i32=160", "i32=256"], "axes")
          for how in ("plain", "swizzled")),
        *(each(f"classes {how}", f"classes_{how}", 1172, 128,
               [floats(150_000 * 48), zeros(150_000 * 48), "i32=150000"], "classes")
          for how in hows),
    ]  # fmt: skip


def main() -> None:
    write_set("tenth", SOURCES, [*elements(), *tiles()], [])


if __name__ == "__main__":
    main()
