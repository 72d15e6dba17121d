"""Compile the ninth set of timed kernels, and write ninth.json.

    python -m tests.silicon.timed.ninth

Other kernels than those of the eight sets before, measured after the model of a later commit.
"""

from __future__ import annotations

from typing import Any

from tests.silicon.timed.build import cases_of, write_set
from tests.silicon.timed.third import floats, zeros

SOURCES = {"elements": "sm_90", "tiles": "sm_90"}


def elements() -> list[dict[str, Any]]:
    each = cases_of("ninth_elements")
    some = 1056 * 256
    plane = 1056 * 1024
    return [
        each("unsharp", "unsharp", [32, 132], [32, 8], [floats(1060 * 1028), zeros(plane),
                                                       "i32=1024"]),
        each("along", "along", 2112, 256, [floats(8 * some + 64), zeros(8 * some)]),
        each("toned", "toned", 4224, 256, [floats(16 * some, "u8"), zeros(16 * some, "u8")]),
        each("voices", "voices", 1056, 256, [floats(some, "u32"), zeros(some)]),
        each("census", "census", [32, 264], [64, 4], [floats(1060 * 2056), zeros(2 * plane, "u32"),
                                                     "i32=2048"]),
        each("corners", "corners", [64, 66], [32, 8], [floats(1064 * 2056), zeros(2 * plane),
                                                      "i32=2048"]),
        each("probed", "probed", 4224, 256, [floats(4 * some, "u32"), floats(1 << 18, "u32"),
                                            zeros(4 * some, "u32"), f"u32={(1 << 17) - 1}"]),
        each("tallied", "tallied", 1056, 256, [floats(1056 * 4096, "u32"),
                                              zeros(1056 * 1024, "u32")]),
        each("star", "star", [4, 64, 66], [64, 4], [floats(260 * 260 * 70), zeros(260 * 260 * 70),
                                                   "i32=256", "i32=256"]),
        each("softmax gradient", "softmax_gradient", 528, 256,
             [floats(4224 * 1024), floats(4224 * 1024), zeros(4224 * 1024)]),
        each("standardized", "standardized", 4224, 256, [floats(4224 * 2048),
                                                        zeros(4224 * 2048)]),
        each("few classes", "few_classes", 528, 256, [floats(32 * 528 * 256),
                                                     zeros(32 * 528 * 256)]),
        each("undone", "undone", 1056, 256, [floats(1056 * 4096, "u8"), zeros(1056 * 4096, "i32")]),
        each("warp sorted", "warp_sorted", 1056, 256, [floats(4 * some, "u32"),
                                                      zeros(4 * some, "u32")]),
        each("marched", "marched", [32, 132], [32, 8], [zeros(plane), "i32=1024"]),
        each("grouped", "grouped", 1056, 128, [floats(4224 * 512, "u32"),
                                              floats(4224 * 256, "f16"), floats(4096, "f16"),
                                              zeros(4224)]),
    ]  # fmt: skip


def tiles() -> list[dict[str, Any]]:
    each = cases_of("ninth_tiles")
    hows = ("plain", "padded")
    return [
        *(each(f"turn doubles {how}", f"turn_doubles_{how}", [48, 44], [32, 8],
               [floats(1408 * 1536, "f64"), zeros(1408 * 1536, "f64"), "i32=1408", "i32=1536"],
               "turn doubles") for how in hows),
        *(each(f"turn fours {how}", f"turn_fours_{how}", [33, 24], 256,
               [floats(1536 * 2112), zeros(1536 * 2112), "i32=1536", "i32=2112"], "turn fours")
          for how in (*hows, "swizzled")),
        *(each(f"first turned {how}", f"first_turned_{how}", [33, 16], 256,
               [floats(1024 * 768), floats(768 * 2112), zeros(1024 * 2112), "i32=2112", "i32=768"],
               "first turned") for how in hows),
        *(each(f"boxed {how}", f"boxed_{how}", 528, 128, [floats(528 * 8192), zeros(528 * 8192)],
               "boxed", 128 * (64 + (how == "padded")) * 4) for how in hows),
        *(each(f"inverted {how}", f"inverted_{how}", 1056, 256, [floats(1056 * 4096),
                                                               zeros(1056 * 4096)], "inverted")
          for how in hows),
        *(each(f"wmma tiles {how}", f"wmma_tiles_{how}", [33, 16], 256,
               [floats(1024 * 1024, "f16"), floats(2112 * 1024, "f16"), zeros(1024 * 2112),
                "i32=2112", "i32=1024"], "wmma tiles") for how in hows),
        *(each(f"owned sums {how}", f"owned_sums_{how}", 2112, 256,
               [floats(2112 * 2048, "i32"), zeros(2112 * 2048, "i32")], "owned sums")
          for how in hows),
        *(each(f"with values {how}", f"with_values_{how}", 1056, 256,
               [floats(1056 * 2048, "u32"), zeros(1056 * 2048, "u32")], "with values")
          for how in ("together", "apart")),
    ]  # fmt: skip


def main() -> None:
    write_set("ninth", SOURCES, [*elements(), *tiles()], [])


if __name__ == "__main__":
    main()
