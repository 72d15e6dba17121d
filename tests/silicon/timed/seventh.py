"""Compile the seventh set of timed kernels, and write seventh.json.

    python -m tests.silicon.timed.seventh

Other kernels than those of the six sets before, measured after the model of a later commit.
"""

from __future__ import annotations

from typing import Any

from tests.silicon.timed.build import SASS, case, cases_of, write_set
from tests.silicon.timed.third import floats, zeros

SOURCES = {"elements": "sm_90", "tiles": "sm_90"}


def elements() -> list[dict[str, Any]]:
    each = cases_of("seventh_elements")
    some = 1056 * 256
    plane = 1056 * 1024
    return [
        each("mish", "mish", 528, 256, [floats(8 * some, "f16"), zeros(8 * some, "f16"),
                                       f"i32={4 * some}"]),
        each("dequantized", "dequantized", 2112, 256,
             [floats(8 * some, "i8"), floats(1024), zeros(8 * some), "i32=1024"]),
        each("chosen", "chosen", 4224, 256, [floats(4 * some, "u8"), floats(4 * some),
                                            floats(4 * some), zeros(4 * some)]),
        each("errors", "errors", 2112, 128, [floats(some), zeros(some)]),
        each("interpolated", "interpolated", 2112, 256,
             [floats(2 * some), floats(4096), zeros(2 * some), "i32=4096"]),
        each("crc32", "crc32", 528, 256, [floats(528 * 256 * 16, "u32"), zeros(528 * 256, "u32")]),
        each("luma", "luma", 4224, 256, [floats(16 * some, "u8"), *[zeros(4 * some, "u8")] * 3]),
        each("median", "median", [32, 132], [32, 8], [floats(1026 * 1058), zeros(plane),
                                                     "i32=1026", "i32=1024"]),
        each("eroded", "eroded", [16, 66], [256], [floats(1028 * 1060), zeros(plane), "i32=1028",
                                                  "i32=1024"]),
        each("advected", "advected", [32, 128], [32, 8],
             [floats(1024 * 1024), floats(2 * 1024 * 1024), zeros(1024 * 1024), "i32=1024"]),
        each("unit rows", "unit_rows", 1056, 256, [floats(8448 * 768), zeros(8448 * 768)]),
        each("divergences", "divergences", 4224, 128, [floats(4224 * 1000), floats(4224 * 1000),
                                                      zeros(4224)]),
        each("grown", "grown", 2112, 128, [floats(8448 * 256), zeros(8448 * 256)]),
        each("windows", "windows", 2112, 256, [floats(2112 * 512 + 16), zeros(2112 * 512)]),
        each("joint", "joint", 528, 256, [floats(528 * 4096, "u32"), floats(528 * 4096, "u32"),
                                         zeros(528 * 1024, "u32"), "i32=16"]),
        each("group maxima", "group_maxima", 1056, 256, [floats(some, "u32"), floats(some, "i32"),
                                                        zeros(4096, "i32")]),
        each("rank sorted", "rank_sorted", 1056, 256, [floats(some, "u32"), zeros(some, "u32")]),
        each("nearest centres", "nearest_centres", 1056, 256, [floats(8 * some), floats(512),
                                                              zeros(some, "i32")]),
        each("viterbi", "viterbi", 1056, 128, [floats(4224 * 32 * 32), floats(1024),
                                              zeros(4224 * 32), "i32=32"]),
    ]  # fmt: skip


def tiles() -> list[dict[str, Any]]:
    each = cases_of("seventh_tiles")
    hows = ("plain", "padded")
    return [
        *(each(f"add turned {how}", f"add_turned_{how}", [33, 33], [32, 8],
               [floats(1056 * 1056, "f64"), floats(1056 * 1056, "f64"), zeros(1056 * 1056, "f64"),
                "i32=1056"], "add turned") for how in hows),
        *(each(f"own square {how}", f"own_square_{how}", [33, 16], 256,
               [floats(2112 * 256), zeros(2112 * 1024), "i32=2112", "i32=256"], "own square")
          for how in hows),
        *(each(f"solved {how}", f"solved_{how}", 1056, 64, [floats(1056 * 2048),
                                                           zeros(1056 * 2048)], "solved")
          for how in hows),
        *(each(f"dct {how}", f"dct_{how}", 1056, 256, [floats(1056 * 2048), zeros(1056 * 2048)],
               "dct") for how in hows),
        *(each(f"heads {how}", f"heads_{how}", 1056, 128,
               [floats(4224 * 32), floats(8 * 256 * 32), floats(8 * 256 * 32), zeros(4224 * 32),
                "i32=256"], "heads") for how in hows),
        each("bytes multiplied", "bytes_multiplied", [33, 32], 256,
             [floats(1024 * 256, "i32"), floats(1056 * 256, "i32"), zeros(1024 * 1056, "i32"),
              "i32=1056", "i32=256"]),
        each("tiles of 48", "tiles_of_48", [20, 20], 256, [floats(960 * 960), floats(960 * 960),
                                                         zeros(960 * 960), "i32=960"]),
        each("gemv split", "gemv_split", [264, 4], 256, [floats(2112 * 4096, "f16"),
                                                       floats(4096, "f16"), zeros(2112),
                                                       "i32=4096"]),
        each("many turns", "many_turns", 1056, 512, [floats(1056 * 1024 + 2),
                                                    zeros(1056 * 1024)]),
        each("row maxima", "row_maxima", 2112, 256, [floats(2112 * 4096), zeros(2112),
                                                    "i32=4096"]),
        each("passed on", "passed_on", 1056, 256, [floats(1056 * 1024), zeros(1056 * 1024)]),
        each("cluster scan", "cluster_scan", 2112, 512, [floats(2112 * 512, "i32"),
                                                        zeros(2112 * 512, "i32")]),
    ]  # fmt: skip


def products() -> list[dict[str, Any]]:
    """A kernel of `tests/silicon/sass` of a size that was never timed."""
    half = "random:f16[1408,1408]"
    return [
        case("wmma 1408", f"{SASS}/wmma.cubin", "wmma", [11, 11], [256],
             [half, half, "zeros:f32[1408,1408]", *["i32=1408"] * 3]),
    ]  # fmt: skip


def main() -> None:
    write_set("seventh", SOURCES, [*elements(), *tiles(), *products()], [])


if __name__ == "__main__":
    main()
