"""Compile the fifth set of timed kernels, and write fifth.json.

    python -m tests.silicon.timed.fifth

Other kernels than those of the four sets before, measured after the model of a later commit.
"""

from __future__ import annotations

from typing import Any

from tests.silicon.timed.build import SASS, case, cases_of, write_set
from tests.silicon.timed.third import floats, zeros

SOURCES = dict.fromkeys(("elements", "rows", "tiles"), "sm_90")


def elements() -> list[dict[str, Any]]:
    each = cases_of("fifth_elements")
    count = 1056 * 256
    return [
        each("bias gelu", "bias_gelu", [1056], [256], [floats(4 * count), floats(2048),
                                                      zeros(4 * count), "i32=2048"]),
        each("rope", "rope", [2112], [256], [floats(16896 * 128), zeros(16896 * 128), "i32=16"]),
        each("im2col", "im2col", [1568], [256], [floats(32 * 112 * 112), zeros(288 * 112 * 112),
                                                "i32=112", "i32=32"]),
        each("pooled", "pooled", [4, 16, 16], [32, 8], [floats(16 * 256 * 256),
                                                      zeros(16 * 128 * 128), "i32=128"]),
        each("upsampled", "upsampled", [64, 256], [32, 8], [floats(1024 * 1024),
                                                          zeros(2048 * 2048), "i32=2048"]),
        each("bilateral", "bilateral", [33, 128], [32, 8], [floats(1060 * 1060),
                                                          zeros(1056 * 1056), "i32=1056"]),
        each("bags", "bags", [4224], [128], [floats(4224 * 16, "i32"), floats(16384 * 128),
                                            zeros(4224 * 128), "i32=16384"]),
        each("spmm", "spmm", [2112], [256],
             [floats(16896 * 32, "i32"), floats(16896 * 32), floats(16896 * 32),
              zeros(16896 * 32), "i32=16896", "i32=16"]),
        each("segments", "segments", [2112], [256], [floats(16896 * 256), zeros(16896),
                                                    "i32=256"]),
        each("merged", "merged", [528], [256],
             [floats(540672, how="arange"), floats(540672, how="arange"), zeros(1081344),
              "i32=540672"]),
        each("cube 27", "cube27", [8, 32, 16], [32, 8], [floats(258 * 258 * 18),
                                                       zeros(256 * 256 * 16), "i32=256",
                                                       "i32=256"]),
        each("options", "options", [2112], [256], [floats(540672), floats(540672),
                                                  floats(540672), zeros(1081344)]),
        each("adam", "adam", [4224], [256], [floats(1081344), floats(1081344), zeros(1081344),
                                            zeros(1081344), "f32=0.001"]),
        each("int4 gemv", "int4_gemv", [1056], [256],
             [floats(8448 * 256, "u32"), floats(8448 * 64, "f16"), floats(2048), zeros(8448),
              "i32=2048"]),
    ]  # fmt: skip


def rows() -> list[dict[str, Any]]:
    each = cases_of("fifth_rows")
    return [
        each("online softmax", "online_softmax", 1056, 256, [floats(1056 * 4096),
                                                           zeros(1056 * 4096), "i32=4096"]),
        each("group norm", "group_norm", 528, 512,
             [floats(528 * 8192), floats(32), floats(32), zeros(528 * 8192), "i32=64"]),
        each("carried", "carried", 528, 256, [floats(528 * 16 * 256), zeros(528 * 16 * 256),
                                            "i32=16"]),
        each("top 4", "top4", 1056, 256, [floats(8448 * 512), zeros(8448 * 4), "i32=512"]),
        each("dot half", "dot_half", 528, 256, [floats(528 * 256 * 32, "f16"),
                                              floats(528 * 256 * 32, "f16"), zeros(1),
                                              f"i32={528 * 256 * 32}"]),
        each("knapsack", "knapsack", 528, 256, [floats(528 * 32, "i32"), floats(528 * 32, "i32"),
                                              zeros(528 * 1024, "i32"), "i32=32"]),
        each("nearest", "nearest", 528, 256, [floats(1024 * 4), floats(135168 * 4),
                                            zeros(135168, "i32"), "i32=1024"]),
        each("decoded", "decoded", 528, 128,
             [floats(528 * 64, "f16"), floats(528 * 128 * 64, "f16"),
              floats(528 * 128 * 64, "f16"), zeros(528 * 64), "i32=128"]),
        each("radix counts", "radix_counts", 528, 256, [floats(528 * 8192, "u32"),
                                                      zeros(528 * 256, "u32"), "i32=8"]),
        each("sorted keys", "sorted_keys", 528, 1024, [floats(528 * 2048, "u32"),
                                                     zeros(528 * 2048, "u32")]),
    ]  # fmt: skip


def tiles() -> list[dict[str, Any]]:
    each = cases_of("fifth_tiles")
    hows = ("plain", "padded")
    three = (*hows, "swizzled")
    square = 1056 * 1056
    return [
        *(each(f"added {how}", f"added_{how}", [33, 33], [32, 8],
               [floats(square), floats(square), zeros(square), "i32=1056"], "added")
          for how in three),
        *(each(f"halves {how}", f"halves_{how}", [33, 32], [128],
               [floats(2112 * 2112, "f16"), floats(2112 * 2112, "f16"), zeros(2112 * 2112),
                "i32=2112"], "halves") for how in three),
        *(each(f"along k {how}", f"along_{how}", [16, 33], [256],
               [floats(2112 * 1024), floats(1024 * 1024), zeros(2112 * 1024), "i32=1024"],
               "along k") for how in hows),
        *(each(f"aligned {how}", f"aligned_{how}", [1056], [128],
               [floats(135168, "i32"), floats(135168, "i32"), zeros(135168 * 32, "i32")],
               "aligned") for how in hows),
        *(each(f"cosines {how}", f"cosines_{how}", [1056], [256],
               [floats(1056 * 2048), zeros(1056 * 2048)], "cosines") for how in hows),
        *(each(f"fourier 64 {how}", f"fourier64_{how}", [528], [256],
               [floats(528 * 4096), zeros(528 * 4096)], "fourier 64") for how in hows),
        *(each(f"copies {how}", f"copies_{how}", [528], [256],
               [floats(528 * 4096, "u32"), zeros(528 * 8, "u32")], "copies") for how in hows),
        each("life", "life", [33, 64], [256], [floats(2056 * 1064, "u8"),
                                              zeros(2048 * 1056, "u8"), "i32=1056"]),
        each("convolved", "convolved", [16, 64], [32, 8],
             [floats(8 * 514 * 514), floats(576), zeros(8 * 512 * 512), "i32=512"]),
    ]  # fmt: skip


def hopper() -> list[dict[str, Any]]:
    """Kernels of `tests/silicon/sass` that were never timed."""
    return [
        case("ring", f"{SASS}/ring.cubin", "ring", [528], [128],
             ["random:i32[64,32,32]", "zeros:i32[96]", "i32=64"]),
        case("ring of blocks", f"{SASS}/clusters.cubin", "ring_of_blocks", [4224], [128],
             [floats(540672, "i32"), zeros(540672, "i32"), zeros(4224, "i32")]),
    ]  # fmt: skip


def maps() -> list[dict[str, Any]]:
    """The one that takes tensor maps, in a list of its own: not every driver encodes them."""
    return [
        case("multicast", f"{SASS}/multicast.cubin", "gemm_multicast", [32, 33], [160],
             ["tma:random:bf16[2112,1024]:box=32x64:swizzle=128",
              "tma:random:bf16[2048,1024]:box=64x64:swizzle=128", "zeros:f32[2112,2048]",
              "i32=2048", "i32=1024"]),
    ]  # fmt: skip


def main() -> None:
    write_set("fifth", SOURCES, [*elements(), *rows(), *tiles(), *hopper()], maps())


if __name__ == "__main__":
    main()
