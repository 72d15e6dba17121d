"""Compile the fourth set of timed kernels, and write fourth.json.

    python -m tests.silicon.timed.fourth

Other kernels than those of `build.py`, `fresh.py` and `third.py`, measured after the model of a
later commit.
"""

from __future__ import annotations

from typing import Any

from tests.silicon.timed.build import SASS, case, cases_of, write_set
from tests.silicon.timed.third import floats, zeros

SOURCES = dict.fromkeys(("elements", "rows", "tiles"), "sm_90")


def elements() -> list[dict[str, Any]]:
    each = cases_of("fourth_elements")
    count = 1 << 20
    return [
        each("complex product", "complex_product", [1056], [256],
             [floats(2 * count), floats(2 * count), zeros(2 * count), f"i32={count}"]),
        each("gated", "gated", [1056], [256], [floats(1081344), floats(1081344), zeros(1081344)]),
        each("channels", "channels", [1056], [256], [floats(2162688), zeros(2162688),
                                                    "i32=270336"]),
        each("reversed bits", "reversed_bits", [4096], [256], [floats(count), zeros(count),
                                                              "i32=20"]),
        each("philox", "philox", [1056], [256], [zeros(1081344, "u32"), "u32=7", "i32=16"]),
        each("cube roots", "cube_roots", [1056], [256], [floats(270336), zeros(270336), "i32=24"]),
        each("checksums", "checksums", [528], [256],
             [floats(135168 * 16, "u32"), floats(256, "u32"), zeros(135168, "u32"), "i32=16"]),
        each("lower bounds", "lower_bounds", [1056], [256],
             [floats(270336), floats(65536, how="arange"), zeros(270336, "i32"), "i32=65536"]),
        each("curve", "curve", [1056], [256], [floats(1081344), floats(1024), zeros(1081344),
                                              "i32=1024"]),
        each("embedded", "embedded", [2112], [256],
             [floats(16896, "i32"), floats(4096 * 128), zeros(16896 * 128), "i32=4096"]),
        each("ell", "ell", [528], [256],
             [floats(135168 * 16, "i32"), floats(135168 * 16), floats(135168), zeros(135168),
              "i32=135168", "i32=16"]),
        each("jacobi", "jacobi", [48, 176], [32, 8], [floats(1538 * 1538), zeros(1538 * 1538),
                                                     "i32=1536"]),
        each("branches", "branches", [1056], [128], [floats(135168, "u32"), zeros(135168, "u32"),
                                                    "i32=32"]),
        each("orbits", "orbits", [528], [128], [floats(67584, "f64"), zeros(67584, "f64"),
                                                "i32=40"]),
    ]  # fmt: skip


def rows() -> list[dict[str, Any]]:
    each = cases_of("fourth_rows")
    return [
        each("argmax", "argmax", [1056], 256, [floats(1056 * 2048), zeros(1056, "i32"),
                                             "i32=2048"]),
        each("variances", "variances", [528], 256, [floats(4224 * 512), zeros(8448), "i32=512"]),
        each("cross entropy", "cross_entropy", [528], 256,
             [floats(528 * 8192), floats(528, "i32"), zeros(528), "i32=8192"]),
        each("column sums", "column_sums", [8, 66], 256, [floats(1056 * 2048), zeros(2048),
                                                         "i32=1056", "i32=2048"]),
        each("running maxima", "running_maxima", [2112], 512, [floats(1081344), zeros(1081344)]),
        each("odd even", "odd_even", [1056], 256, [floats(540672, "u64"), zeros(540672, "u64")]),
        each("ranked", "ranked", [528], 256, [floats(1081344, "u32"), zeros(1081344, "u32"),
                                            "i32=4"]),
        each("runs", "runs", [4224], 256, [floats(1081344, "i32"), floats(1081344),
                                         zeros(1081344)]),
        each("gemv rows", "gemv_rows", [132], 128, [floats(16896 * 256), floats(256), zeros(16896),
                                                   "i32=256"]),
    ]  # fmt: skip


def tiles() -> list[dict[str, Any]]:
    each = cases_of("fourth_tiles")
    hows = ("plain", "padded")
    return [
        *(each(f"turn pairs {how}", f"turn2_{how}", [33, 32], [32, 8],
               [floats(2 * 1056 * 1056), zeros(2 * 1056 * 1056), "i32=1056"], "turn pairs")
          for how in (*hows, "swizzled")),
        *(each(f"turn bytes {how}", f"turn1_{how}", [33, 32], [256],
               [floats(2112 * 2112, "u8"), zeros(2112 * 528, "u32"), "i32=2112"], "turn bytes")
          for how in hows),
        *(each(f"syrk {how}", f"syrk_{how}", [33, 32], [32, 8],
               [floats(1056 * 1056), zeros(1056 * 1056), "i32=1056"], "syrk") for how in hows),
        *(each(f"scores {how}", f"scores_{how}", [528], [256],
               [floats(528 * 4096), floats(16384), zeros(528 * 64 * 256), "i32=256"], "scores")
          for how in hows),
        *(each(f"lu {how}", f"lu_{how}", [1056], [128],
               [floats(4224 * 1024), zeros(4224 * 1024)], "lu") for how in hows),
        *(each(f"private {how}", f"private_{how}", [528], [256],
               [floats(135168 * 16, "u32"), zeros(16, "u32"), "i32=16"], "private")
          for how in ("rows", "columns")),
        *(each(f"bytes {how}", f"bytes_{how}", [33, 32], [128],
               [floats(2112 * 2112, "i8"), floats(2112 * 2112, "i8"), zeros(2112 * 2112, "i32"),
                "i32=2112"], "bytes") for how in hows),
        each("dilated", "dilated", [33, 64], [32, 8], [floats(2118 * 2118), zeros(2112 * 2112),
                                                      "i32=2112"]),
        each("layers", "layers", [16, 66], [32, 8],
             [floats(16 * 530 * 530), floats(1152), zeros(8 * 528 * 528), "i32=528"]),
        each("batch", "batch", [8448], [16, 16], [floats(8448 * 256), floats(8448 * 256),
                                                 zeros(8448 * 256)]),
        each("piped", "piped", [528], [256], [floats(528 * 16 * 256 + 1024), floats(17),
                                             zeros(528 * 16 * 256), "i32=16"]),
    ]  # fmt: skip


def bulk() -> list[dict[str, Any]]:
    """Kernels of `tests/silicon/sass` that copy in bulk or reach into a neighbour's memory."""
    return [
        case("bulk columns", f"{SASS}/bulk.cubin", "columns", [528], [160],
             ["random:i32[528,16,256]", "zeros:u32[256]", "zeros:i32[528,256]", "i32=16"]),
        case("split k", f"{SASS}/clusters.cubin", "split_k", [66, 32], [256],
             ["random:f32[1024,512]", "random:f32[512,1056]", "zeros:f32[1024,1056]", "i32=1056",
              "i32=512"]),
    ]  # fmt: skip


def maps() -> list[dict[str, Any]]:
    """Those that take tensor maps, in a list of their own: not every driver encodes them."""
    tiles = ["zeros:f32[32,33,32,64]", "zeros:f32[32,33,64,32]"]
    square = "bf16[2048,2048]"
    return [
        *(case(f"tma turn {name}", f"{SASS}/tma_tiles.cubin", f"turn_{name}", [33, 32], [128],
               [f"tma:random:f32[2048,1056]:box=64x32{swizzle}", *tiles], "tma turn")
          for name, swizzle in (("none", ""), ("128", ":swizzle=128"))),
        *(case(f"finish {how}", f"{SASS}/epilogue.cubin", f"finish_{how}", [33, 32], [128],
               [f"tma:zeros:f16[2048,2112]:box=64x64{swizzle}", "random:f32[2048,2112]",
                "i32=2112"], "finish")
          for how, swizzle in (("plain", ""), ("swizzled", ":swizzle=128"))),
        case("wgmma transposed", f"{SASS}/wgmma_gemm.cubin", "gemm_transposed", [16, 16], [384],
             [f"tma:random:{square}:box=128x64:swizzle=128",
              f"tma:random:{square}:box=64x64:swizzle=128", "zeros:f32[2048,2048]", "i32=2048",
              "i32=2048"], "", 3 * 32768 + 1024),
        case("wgmma registers", f"{SASS}/wgmma_rs.cubin", "gemm_rs", [132], [128],
             ["tma:random:f16[8448,1024]:box=64x64:swizzle=128",
              "tma:random:f16[64,1024]:box=64x64:swizzle=128", "zeros:f32[8448,64]", "i32=1024"]),
    ]  # fmt: skip


def main() -> None:
    write_set("fourth", SOURCES, [*elements(), *rows(), *tiles(), *bulk()], maps())


if __name__ == "__main__":
    main()
