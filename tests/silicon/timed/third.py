"""Compile the third set of timed kernels, and write third.json.

    python -m tests.silicon.timed.third

Other kernels than those of `build.py` and `fresh.py`, measured after the model of a later commit.
"""

from __future__ import annotations

from typing import Any

from tests.silicon.timed.build import SASS, case, cases_of, write_set

SOURCES = {"elements": "sm_90", "rows": "sm_90", "shared": "sm_90", "copies": "sm_90a"}


def floats(count: int, kind: str = "f32", how: str = "random") -> str:
    return f"{how}:{kind}[{count}]"


def zeros(count: int, kind: str = "f32") -> str:
    return floats(count, kind, "zeros")


def elements() -> list[dict[str, Any]]:
    each = cases_of("third_elements")
    big, some = 1 << 24, 1 << 20
    return [
        each("triad", "triad", big // 4 // 256, 256,
             [floats(big), floats(big), zeros(big), "f32=2.5"]),
        each("triad small", "triad", some // 4 // 128, 128,
             [floats(some), floats(some), zeros(some), "f32=2.5"]),
        each("shifted", "shifted", 1056, 256, [floats(4194304 + 32), zeros(4194304), "i32=1",
                                              "i32=4194304"]),
        each("strided 2", "strided", 4096, 256, [floats(2 * some), zeros(some), "i32=2"]),
        each("strided 33", "strided", 528, 256, [floats(33 * 135168), zeros(135168), "i32=33"]),
        each("gelu", "gelu", 4224, 256, [floats(2162688, "f16"), zeros(2162688, "f16")]),
        each("gray", "gray", 1056, 256, [floats(3 * 8388608, "u8"), zeros(8388608, "u8"),
                                        "i32=8388608"]),
        each("quotients", "quotients", 1056, 256,
             [floats(270336, "u32"), floats(270336, "u32"), zeros(270336, "u32"), "i32=32"]),
        each("collatz", "collatz", 2112, 128, [zeros(270336, "i32"), "i32=1000"]),
        each("locals", "locals", 1056, 128, [floats(135168, "i32"), zeros(135168, "i32"),
                                            "i32=64"]),
        each("filters", "filters", 4224, 128, [floats(540672 + 256), zeros(540672), "i32=128"]),
        each("pi", "pi", 133, 512, [zeros(68096, "u32"), "i32=1000"]),
        each("pi tiny", "pi", 16384, 32, [zeros(524288, "u32"), "i32=40"]),
        each("angles", "angles", 528, 128, [floats(67584, "f64"), zeros(67584, "f64"), "i32=20"]),
    ]  # fmt: skip


def rows() -> list[dict[str, Any]]:
    each = cases_of("third_rows")
    keys = [floats(4224 * 32), floats(512 * 32), floats(512 * 32), zeros(4224 * 32), "i32=512"]
    return [
        each("sums", "sums", 528, 512, [floats(1 << 24), zeros(528), f"i32={1 << 22}"]),
        each("sums alone", "sums", 1, 1024, [floats(1 << 18), zeros(1), f"i32={1 << 16}"]),
        each("softmax warps", "softmax_warps", 1056, 128, [floats(4325376), zeros(4325376)]),
        each("rmsnorm", "rmsnorm", 2112, 256,
             [floats(2112 * 4096, "f16"), floats(4096, "f16"), zeros(2112 * 4096, "f16"),
              "i32=2048"]),
        each("row scan", "row_scan", 4224, 256, [floats(4325376, "i32"), zeros(4325376, "i32")]),
        *(
            each(f"attend {how}", f"attend_{how}", 1056, 128, keys, "attend")
            for how in ("plain", "padded")
        ),
        each("chase", "chase", 132, 64, [floats(1 << 20, "u32"), zeros(8448, "u32"),
                                        f"i32={1 << 20}", "i32=100"]),
        each("compact", "compact", 4224, 256, [floats(1081344), zeros(2097152), zeros(1, "i32"),
                                              "f32=0.5"]),
        each("scatter add", "scatter_add", 2112, 256,
             [floats(540672, "u32"), floats(540672), zeros(65536), "u32=65535"]),
        each("gemv half", "gemv_half", 1056, 256, [floats(8448 * 2048, "f16"),
                                                  floats(2048, "f16"), zeros(8448), "i32=2048"]),
    ]  # fmt: skip


def shared() -> list[dict[str, Any]]:
    each = cases_of("third_shared")

    def product(size: int, kind: str = "f32") -> list[str]:
        square = f"{kind}[{size},{size}]"
        return [f"random:{square}", f"random:{square}", f"zeros:{square}", f"i32={size}"]

    hows = ("plain", "padded")
    cube = 34 * 514 * 514
    return [
        each("gemm global", "gemm_global", [32, 128], [32, 8], product(1024)),
        *(each(f"gemm tiles {how}", f"gemm_tiles_{how}", [24, 22], [256], product(1536),
               "gemm tiles") for how in hows),
        *(each(f"dgemm {how}", f"dgemm_{how}", [48, 44], [16, 16], product(768, "f64"), "dgemm")
          for how in hows),
        *(each(f"turn half {how}", f"turn_half_{how}", [32, 33], [32, 8],
               ["random:f16[2112,2112]", "zeros:f16[2112,2112]", "i32=2112"], "turn half")
          for how in hows),
        *(each(f"fft {how}", f"fft_{how}", [1056], [256],
               ["random:f32[1056,2048]", "zeros:f32[1056,2048]"], "fft") for how in hows),
        each("space", "space", [16, 64], [32, 8], [floats(cube), zeros(cube), "i32=512"]),
        each("distances", "distances", [1056], [256],
             [floats(270336, "i32"), floats(270336, "i32"), zeros(270336, "i32")]),
        each("digits", "digits", [1056], [256], [floats(4325376, "u32"), zeros(270336, "u32"),
                                                "i32=8"]),
    ]  # fmt: skip


def copies() -> list[dict[str, Any]]:
    each = cases_of("third_copies")
    return [
        each("staged", "staged", [528], [256], [floats(528 * 16384), zeros(135168),
                                                      "i32=16"]),
        each("bulk sums", "bulk_sums", [528], [256], [floats(528 * 16384), zeros(135168),
                                                            "i32=16"]),
    ]  # fmt: skip


def maps() -> list[dict[str, Any]]:
    """Kernels that take tensor maps, in a list of their own: not every driver encodes them."""
    half = "bf16[2048,2048]"
    return [
        case("wgmma", f"{SASS}/wgmma_gemm.cubin", "gemm_ss", [16, 16], [384],
             [f"tma:random:{half}:box=128x64:swizzle=128",
              f"tma:random:{half}:box=128x64:swizzle=128", "zeros:f32[2048,2048]", "i32=2048",
              "i32=2048"], "", 3 * 32768 + 1024),
    ]  # fmt: skip


def main() -> None:
    write_set("third", SOURCES, [*elements(), *rows(), *shared(), *copies()], maps())


if __name__ == "__main__":
    main()
