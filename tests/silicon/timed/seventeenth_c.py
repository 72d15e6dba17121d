"""Compile the third part of the seventeenth set of timed kernels, and write seventeenth_c.json.

    python -m tests.silicon.timed.seventeenth_c

Products on tensor cores and asynchronous copies, as people write them; measured after the model of
a later commit.
"""

from __future__ import annotations

from typing import Any

from tests.silicon.timed.build import cases_of, write_cubins, write_set
from tests.silicon.timed.third import floats, zeros

SOURCES = {"gemms": "sm_90", "kinds": "sm_90", "copies": "sm_90", "warpgroups": "sm_90a"}


def given(m: int, n: int, k: int, kind: str = "f16", out: str = "f32") -> list[str]:
    """Arguments of a product whose matrices both have rows along k; k is told in bytes."""
    size = {"f32": 4, "f16": 2, "bf16": 2}.get(kind, 1)
    return [
        f"random:{kind}[{m},{k}]", f"random:{kind}[{n},{k}]", f"zeros:{out}[{m},{n}]", f"i32={n}",
        f"i32={k * size}",
    ]  # fmt: skip


def gemms() -> list[dict[str, Any]]:
    each = cases_of("seventeenth_c_gemms")
    small, layer = given(1024, 1024, 512, out="f16"), given(1280, 1664, 1024, out="f16")
    rows = ["random:bf16[1024,1024]", "random:bf16[1024,1088]", *given(1024, 1088, 1024)[2:]]
    turned = ["random:f16[2048,1024]", "random:f16[1024,2048]", *given(2048, 2048, 1024)[2:]]
    layer.insert(2, floats(1664))
    return [
        *(each(f"hgemm {how}", f"hgemm_{how}", [12, 11], 256, given(1408, 1536, 2048), "hgemm",
               61440 if how == "padded" else 49152) for how in ("plain", "padded", "swizzled")),
        *(each(f"hgemm small {how}", f"hgemm_small_{how}", [16, 16], 128, small, "hgemm small",
               shared) for how, shared in (("plain", 32768), ("padded", 36864))),
        *(each(f"hgemm large {how}", f"hgemm_large_{how}", [16, 8], 256, given(2048, 2048, 4096),
               "hgemm large", 98304) for how in ("plain", "swizzled")),
        *(each(f"bf16 rows {how}", f"bf16_rows_{how}", [17, 8], 128, rows, "bf16 rows",
               24576) for how in ("plain", "swizzled")),
        each("hgemm turned", "hgemm_turned", [16, 16], 128, turned, "", 65536),
        *(each(f"tf32 {how}", f"tf32_{how}", [16, 8], 256, given(1024, 1024, 1024, "f32"), "tf32",
               shared) for how, shared in (("plain", 36864), ("padded", 46080))),
        *(each(f"int8 {how}", f"int8_{how}", [17, 16], 256, given(2048, 2176, 4096, "i8", "i32"),
               "int8", 98304) for how in ("plain", "swizzled")),
        each("fp8 sync", "fp8_sync", [16, 8], 128, given(1024, 1024, 2048, "f8e4m3"), "", 49152),
        each("hgemm split", "hgemm_split", [8, 8, 8], 128, given(512, 512, 4096), "", 49152),
        *(each(f"layer {way} {how}", f"layer_{way}_{how}", [13, 10], 256, layer, f"layer {way}",
               65536) for way, how in (("words", "plain"), ("words", "padded"),
                                       ("matrices", "plain"), ("matrices", "swizzled"))),
    ]  # fmt: skip


def kinds() -> list[dict[str, Any]]:
    each = cases_of("seventeenth_c_kinds")
    plain, points = ("plain", "padded"), 6 * 56 * 56
    attended = [*[floats(32 * 1024 * 64, "f16")] * 3, zeros(32 * 1024 * 64, "f16"), "i32=1024",
                "f32=0.18033688"]  # fmt: skip
    small = 1056 * 64 * 128
    return [
        *(each(f"weights of four bits {how}", f"four_bits_{how}", [16, 8], 128,
               ["random:f16[512,2048]", "random:u8[2048,1024]", "random:f16[2048,32]",
                "zeros:f16[512,2048]", "i32=2048", "i32=4096"], "weights of four bits", shared)
          for how, shared in (("plain", 73728), ("padded", 82944))),
        each("eight bits", "eight_bits", [32, 4], 128,
             ["random:f16[256,1024]", "random:u8[4096,1024]", "random:f16[4096,16]",
              "zeros:f16[256,4096]", "i32=4096", "i32=2048"], "", 73728),
        *(each(f"convolved {how}", f"convolved_{how}", points // 128, 256,
               ["random:f16[6,56,56,64]", "random:f16[64,9,64]", zeros(points * 64, "f16"),
                "i32=56", "i32=56"], "convolved", 73728) for how in ("plain", "swizzled")),
        *(each(f"batched {how}", f"batched_{how}", 1056, 128,
               [*[floats(small, "f16")] * 2, zeros(1056 * 4096)], "batched", shared)
          for how, shared in (("plain", 32768), ("padded", 36864))),
        *(each(f"flash {how}", f"flash_{how}", [16, 32], 128, attended,
               "" if how == "causal" else "flash") for how in ("plain", "swizzled", "causal")),
        each("wmma global", "wmma_global", [32, 32], 128, given(1024, 1024, 512)),
        *(each(f"wmma square {how}", f"wmma_square_{how}", [16, 16], 128,
               given(1024, 1024, 1024), "wmma square") for how in plain),
        *(each(f"wmma tall {how}", f"wmma_tall_{how}", [16, 16], 128, given(1024, 1024, 512),
               "wmma tall") for how in plain),
    ]  # fmt: skip


def copies() -> list[dict[str, Any]]:
    each = cases_of("seventeenth_c_copies")
    plain, rows = ("plain", "padded"), 132 * 128 * 512
    return [
        *(each(f"sgemm copies {how}", f"sgemm_copies_{how}", [12, 11], 256,
               ["random:f32[1408,512]", "random:f32[512,1536]", "zeros:f32[1408,1536]",
                "i32=1536", "i32=512"], "sgemm copies") for how in plain),
        *(each(f"recurrence {how}", f"recurrence_{how}", 132, 128,
               [floats(rows), zeros(rows), "i32=2048", "f32=0.75"], "recurrence")
          for how in plain),
        each("stencil copies", "stencil_copies", [32, 32], 256,
             ["random:f32[2050,2052]", "zeros:f32[2048,2048]", "i32=2048", "i32=8", "f32=0.5",
              "f32=0.125"]),
        each("pipeline squares", "pipeline_squares", 528, 256,
             [floats(528 * 32768), zeros(528), "i32=32"]),
        each("primitives product", "primitives_product", 528, 256,
             [*[floats(528 * 16384)] * 2, zeros(528), "i32=32"]),
        each("group norm rows", "group_norm_rows", 528, 256,
             [floats(2112 * 2048), zeros(2112 * 2048), "i32=4"]),
        each("bulk gelu", "bulk_gelu", 264, 288,
             [floats(264 * 32768), zeros(264 * 32768), "i32=16"]),
        each("bulk distances", "bulk_distances", 396, 128,
             [*[floats(396 * 16384)] * 2, zeros(396), "i32=16"]),
        *(each(f"cluster histogram {how}", f"cluster_histogram_{how}", 528, 256,
               [floats(528 * 65536, "u8"), zeros(264 * 256, "u32"), "i32=16"],
               "cluster histogram") for how in ("together", "beside")),
        each("cluster softmax", "cluster_softmax", 1056, 256,
             [floats(264 * 8192), zeros(264 * 8192)]),
    ]  # fmt: skip


def copied() -> list[dict[str, Any]]:
    """Products of warpgroups that take no tensor maps."""
    each = cases_of("seventeenth_c_warpgroups")
    return [
        each(f"wgmma copied {how}", f"wgmma_copied_{how}", [12, 11], 256,
             given(1408, 1536, 1024), "wgmma copied", 98304)
        for how in ("swizzled", "apart")
    ]  # fmt: skip


def mapped(m: int, n: int, k: int, a: str, b: str, kind: str = "f16") -> list[str]:
    """Arguments of a product whose matrices tensor maps tell, by their boxes and swizzles."""
    sides = (f"tma:random:{kind}[{side},{k}]:box={box}" for side, box in ((m, a), (n, b)))
    return [*sides, *given(m, n, k, kind)[2:]]


def maps() -> list[dict[str, Any]]:
    """Those that take tensor maps, in a list of their own: not every driver encodes them."""
    each = cases_of("seventeenth_c_warpgroups")
    full = ":swizzle=128"
    square, high, wide = (f"{rows}x64{full}" for rows in (128, 64, 256))
    stored = mapped(2048, 2048, 512, square, square)
    return [
        each("wgmma single", "wgmma_single", [8, 17], 160, mapped(1088, 1024, 1024, high, square),
             "", 73728),
        *(each(f"wgmma {how}", f"wgmma_{how}", [12, 11], 384,
               mapped(1408, 1536, 2048, *[f"128x{columns}{swizzle}"] * 2), "wgmma", 98304)
          for how, columns, swizzle in (("128", 64, full), ("64", 32, ":swizzle=64"),
                                        ("32", 16, ":swizzle=32"), ("none", 8, ""))),
        each("wgmma wide", "wgmma_wide", [8, 16], 384, mapped(2048, 2048, 4096, square, wide), "",
             196608),
        each("wgmma eight", "wgmma_eight", [16, 16], 384,
             mapped(2048, 2048, 2048, *[f"128x128{full}"] * 2, kind="f8e4m3"), "", 131072),
        each("wgmma cluster", "wgmma_cluster", [16, 16], 384,
             mapped(2048, 2048, 1024, high, square), "", 131072),
        *(each(f"wgmma stored {how}", f"wgmma_stored_{how}", [16, 16], 384,
               [*stored[:2], f"tma:zeros:f16[2048,2048]:box=64x64{swizzle}", *stored[3:]],
               "wgmma stored", 131072) for how, swizzle in (("plain", ""), ("swizzled", full))),
        *(each(f"wgmma mixed {how}", f"wgmma_mixed_{how}", [8, 17], 128,
               [f"tma:random:i8[1088,1024]:box=64x64{swizzle}",
                f"tma:random:f16[1024,1024]:box={square}", "zeros:f32[1088,1024]", "i32=1024",
                "i32=1024"], "wgmma mixed")
          for how, swizzle in (("plain", ""), ("swizzled", ":swizzle=64"))),
    ]  # fmt: skip


def main() -> None:
    write_cubins("seventeenth_c", SOURCES)
    write_set("seventeenth_c", {}, [*gemms(), *kinds(), *copies(), *copied()], maps())


if __name__ == "__main__":
    main()
