"""Compile the sixth set of timed kernels, and write sixth.json.

    python -m tests.silicon.timed.sixth

Other kernels than those of the five sets before, measured after the model of a later commit.
"""

from __future__ import annotations

from typing import Any

from tests.silicon.timed.build import SASS, case, cases_of, write_set
from tests.silicon.timed.third import floats, zeros

SOURCES = {"elements": "sm_90", "rows": "sm_90", "tiles": "sm_90", "clusters": "sm_90"}


def elements() -> list[dict[str, Any]]:
    each = cases_of("sixth_elements")
    some = 1056 * 256
    return [
        each("saxpy", "saxpy", [528], [256], [floats(8 * some), floats(8 * some), "f32=0.5",
                                             f"i32={2 * some}"]),
        each("saxpy small", "saxpy", [66], [256], [floats(4 * 33792), floats(4 * 33792),
                                                  "f32=0.5", "i32=33792"]),
        each("swiglu", "swiglu", [1056], [256], [floats(1056 * 4096, "f16"),
                                                zeros(1056 * 2048, "f16"), "i32=2048"]),
        each("dropout", "dropout", [4224], [256], [floats(4 * some), zeros(4 * some), "i32=7",
                                                  "f32=0.9"]),
        each("batchnorm", "batchnorm", [6272], [256],
             [floats(32 * 64 * 784), floats(64), floats(64), floats(64), floats(64),
              zeros(32 * 64 * 784), "i32=784", "i32=64"]),
        each("gather rows", "gather_rows", [1056], [256],
             [floats(8448, "i32"), floats(16384 * 256), zeros(8448 * 256), "i32=16384",
              "i32=256"]),
        each("scatter rows", "scatter_rows", [1056], [256],
             [floats(8448, "i32"), floats(8448 * 64), zeros(65536 * 64), "i32=65536", "i32=64"]),
        each("permuted", "permuted", [2112], [256], [floats(2 * some, "i32"), floats(2 * some),
                                                    zeros(2 * some), f"i32={2 * some}"]),
        each("heat", "heat", [32, 132], [32, 8], [floats(1026 * 1058), zeros(1026 * 1058),
                                                 "i32=1024", "i32=1056"]),
        each("seven points", "seven_points", [4, 66], [64, 4],
             [floats(256 * 264 * 34), zeros(256 * 264 * 34), "i32=256", "i32=264", "i32=34"]),
        each("seven by seven", "seven_by_seven", [33, 64], [32, 8],
             [floats(1062 * 520), zeros(1056 * 512), "i32=1056"]),
        each("rotated", "rotated", [32, 128], [32, 8], [floats(1024 * 1024), zeros(1024 * 1024),
                                                       "i32=1024", "f32=0.8", "f32=0.6"]),
        each("quantized", "quantized", [1056], [256], [floats(8448 * 512),
                                                      zeros(8448 * 128, "i32"), zeros(8448),
                                                      "i32=512"]),
        each("looked up", "looked_up", [1056], [256], [floats(some, "u32"),
                                                      floats(1 << 19, "u32"), zeros(some, "i32"),
                                                      f"i32={(1 << 19) - 1}"]),
        each("csr rows", "csr_rows", [528], [256],
             [zeros(135168, "i32"), floats(135168 * 24, "i32"), floats(135168 * 24),
              floats(135168), zeros(135168), "i32=135168"]),
    ]  # fmt: skip


def rows() -> list[dict[str, Any]]:
    each = cases_of("sixth_rows")
    return [
        each("sum last", "sum_last", [264], 256, [floats(264 * 16384), zeros(264), zeros(1),
                                                 f"i32={264 * 16384}"]),
        each("add norm", "add_norm", [1056], 256,
             [floats(1056 * 2048, "f16"), floats(1056 * 2048, "f16"), floats(2048, "f16"),
              zeros(1056 * 2048, "f16"), "i32=2048"]),
        each("norm gradient", "norm_gradient", [2112], 256,
             [floats(2112 * 1024), floats(2112 * 1024), floats(1024), floats(4224),
              zeros(2112 * 1024), "i32=1024"]),
        each("scanned", "scanned", [1056], 1024, [floats(1056 * 1024, "i32"),
                                                 zeros(1056 * 1024, "i32"), zeros(1056, "i32")]),
        each("log sum exp", "log_sum_exp", [2112], 128, [floats(2112 * 2048), zeros(2112)]),
        each("softmax half", "softmax_half", [1056], 256, [floats(8448 * 512, "f16"),
                                                          zeros(8448 * 512, "f16")]),
        each("counted", "counted", [528], 256, [floats(528 * 4096, "u32"), zeros(64, "u32"),
                                               "i32=16"]),
        each("radix block", "radix_block", [528], 1024, [floats(528 * 1024, "u32"),
                                                        zeros(528 * 1024, "u32"), "i32=8"]),
        each("averaged", "averaged", [2048], 256, [floats(2048 * 3136), zeros(2048), "i32=3136"]),
        each("gemv columns", "gemv_columns", [16, 66], 128,
             [floats(4224 * 2048), floats(4224), zeros(2048), "i32=64", "i32=2048"]),
        each("split keys", "split_keys", [66, 8], 256,
             [floats(66 * 128), floats(528 * 64 * 128), floats(528 * 64 * 128),
              zeros(528 * 128), zeros(528), "i32=64"]),
    ]  # fmt: skip


def tiles() -> list[dict[str, Any]]:
    each = cases_of("sixth_tiles")
    hows = ("plain", "padded")
    return [
        *(each(f"turned heads {how}", f"turned_heads_{how}", [32, 33], [32, 8],
               [floats(2112 * 2048, "f16"), zeros(2112 * 2112, "f16"), "i32=2048"],
               "turned heads") for how in hows),
        *(each(f"squares {how}", f"squares_{how}", [33, 33], [32, 32],
               [floats(1056 * 1056), floats(1056 * 1056), zeros(1056 * 1056), "i32=1056"],
               "squares") for how in hows),
        *(each(f"columns {how}", f"columns_{how}", [32, 33], [128],
               [floats(2112 * 1024), zeros(2112 * 32), "i32=1024"], "columns") for how in hows),
        *(each(f"factored {how}", f"factored_{how}", [1056], [32],
               [floats(1056 * 1024), zeros(1056 * 1024)], "factored") for how in hows),
        *(each(f"wavelets {how}", f"wavelets_{how}", [1056], [256],
               [floats(1056 * 2048), zeros(1056 * 2048)], "wavelets") for how in hows),
        *(each(f"staged products {how}", f"staged_products_{how}", [33, 32], [128],
               [floats(2112 * 2112, "f16"), floats(2112 * 2112, "f16"), zeros(2112 * 2112),
                "i32=2112"], "staged products", size)
          for how, size in (("plain", 49152), ("padded", 55296), ("swizzled", 49152))),
        *(each(f"moments {how}", f"moments_{how}", [1056], [256],
               [floats(1056 * 2048), zeros(1056 * 256)], "moments") for how in ("plain", "planes")),
        *(each(f"recursive {how}", f"recursive_{how}", [33, 32], [64],
               [floats(2112 * 2048), zeros(2112 * 2048), "i32=2048"], "recursive")
          for how in hows),
        each("ahead", "ahead", [33, 33], [128], [floats(2112 * 2112), floats(2112 * 2112),
                                                zeros(2112 * 2112), "i32=2112"]),
        each("four steps", "four_steps", [33, 33], [256], [floats(1056 * 1056),
                                                          zeros(1056 * 1056), "i32=1056"]),
        each("merge sorted", "merge_sorted", [1056], [512], [floats(1056 * 512, "u32"),
                                                            zeros(1056 * 512, "u32")]),
    ]  # fmt: skip


def clusters() -> list[dict[str, Any]]:
    each = cases_of("sixth_clusters")
    return [
        each("cluster sums", "cluster_sums", 2112, 256, [floats(528 * 8192), zeros(528),
                                                        "i32=8192"]),
        each("cluster counts", "cluster_counts", 528, 256, [floats(528 * 4096, "u32"),
                                                           zeros(1024, "u32"), "i32=16"]),
        each("published", "published", 4224, 128, [floats(4224 * 128), zeros(4224),
                                                  zeros(4224, "u32"), zeros(4224 * 128)]),
        each("streamed", "streamed", 1056, 96, [floats(1056 * 64 * 96), zeros(1056 * 64 * 96),
                                               "i32=64"]),
    ]  # fmt: skip


def hopper() -> list[dict[str, Any]]:
    """GEMM kernels of `tests/silicon/sass` by wmma, of a size that was never timed."""
    half = "random:f16[1536,1536]"
    return [
        case("wmma 1536", f"{SASS}/wmma.cubin", "wmma", [12, 12], [256],
             [half, half, "zeros:f32[1536,1536]", *["i32=1536"] * 3]),
    ]  # fmt: skip


def main() -> None:
    write_set("sixth", SOURCES, [*elements(), *rows(), *tiles(), *clusters(), *hopper()], [])


if __name__ == "__main__":
    main()
