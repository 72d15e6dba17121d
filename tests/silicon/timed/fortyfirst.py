"""Compile the forty-first set of timed kernels, and write fortyfirst.json.

    python -m tests.silicon.timed.fortyfirst

It needs Triton (3.9 compiled what is here) and nvcc, but no GPU. What people write for language
models, pictures and sciences: kernels of Triton's, and groups that differ in layout alone. Measured
after the model of an earlier commit. Those that take tensor maps are in fortyfirst_maps.json.
"""

from __future__ import annotations

from typing import Any

from tests.silicon.timed.build import cases_of, write_cubins, write_set
from tests.silicon.timed.third import floats, zeros
from tests.silicon.timed.thirtyfifth import product
from tests.silicon.timed.triton_build import half, launch, written

NAME = "fortyfirst"
PLAIN = ("plain", "padded")
TURNED = ("plain", "swizzled")
APART = ("together", "apart")
SOURCES = dict.fromkeys(("warpgroups", "tensor", "fields", "rows", "singles"), "sm_90a")


def brains(count: int) -> str:
    return floats(count, "bf16")


def sizes(*each: int) -> list[str]:
    return [f"i32={one}" for one in each]


def products() -> list[dict[str, Any]]:
    heads, windows, chunks = 18 * 1024 * 64, 32 * 1536 * 64, 24 * 128
    return [
        launch("triton three projections", "products.three_projections", [12, 22],
               [brains(1408 * 1024), *[brains(1024 * 768)] * 3, zeros(1408 * 2304, "bf16"),
                *sizes(768, 1024)],
               BLOCK_M=64, BLOCK_N=64, BLOCK_K=64),
        launch("triton fp8 block weights", "products.fp8_block_weights", [4, 33],
               [half(256, 3072), floats(4224 * 3072, "f8e4m3"), floats(33 * 24),
                zeros(256 * 4224, "f16"), *sizes(4224, 3072)],
               stages=4, BLOCK_M=64, BLOCK_N=128, BLOCK_K=128),
        launch("triton int8 group weights", "products.int8_group_weights", [3, 44],
               [brains(384 * 2048), floats(2048 * 5632, "i8"), brains(32 * 5632),
                zeros(384 * 5632, "bf16"), *sizes(5632, 2048)],
               warps=8, BLOCK_M=128, BLOCK_N=128, BLOCK_K=64),
        launch("triton keys and values back", "products.keys_values_back", [16, 18],
               [*[half(heads)] * 4, *[floats(18 * 1024)] * 2, *[zeros(heads, "f16")] * 2,
                "i32=1024", "f32=0.125"],
               stages=2, BLOCK_M=64, BLOCK_N=64, DIM=64),
        launch("triton sinks and window", "products.sink_window_attention", [12, 32],
               [brains(windows), *[brains(windows // 4)] * 2, floats(32), zeros(windows, "bf16"),
                "i32=1536", "f32=0.125", "f32=-0.5"],
               warps=8, WINDOW=512, GROUP=4, BLOCK_M=128, BLOCK_N=64, DIM=64),
        launch("triton latent decode", "products.latent_decode_splits", [8, 33],
               [brains(33 * 16 * 576), brains(33 * 2048 * 576), zeros(33 * 8 * 16 * 512),
                zeros(33 * 8 * 16), *sizes(2048, 256), "f32=0.07217"],
               stages=2, HEADS=16, BLOCK_N=32, LATENT=512, ROPE=64),
        launch("triton ssd chunks", "products.ssd_chunk_output", [24, 44],
               [brains(chunks * 44 * 64), floats(chunks * 44), *[brains(chunks * 64)] * 2,
                brains(24 * 44 * 64 * 64), zeros(chunks * 44 * 64, "bf16"), "i32=44",
                "f32=-0.06"],
               warps=8, LONG=128, STATE=64, DIM=64),
        launch("triton groups of sizes", "products.groups_of_sizes", 132,
               [half(20 * 1024, 512), half(20 * 512, 768), zeros(20 * 1024 * 768, "f16"),
                floats(20, "i32"), *sizes(768, 512)],
               warps=8, GROUPS=20, MOST=1024, PROGRAMS=132, BLOCK_M=128, BLOCK_N=128, BLOCK_K=64),
        launch("triton split k of bytes", "products.split_k_of_bytes", [2, 22, 6],
               [floats(256 * 9216, "i8"), floats(2816 * 9216, "i8"), zeros(256 * 2816, "i32"),
                *sizes(2816, 9216, 1536)],
               BLOCK_M=128, BLOCK_N=128, BLOCK_K=128),
    ]  # fmt: skip


def lines() -> list[dict[str, Any]]:
    normed, tokens, logits = 5280 * 2048, 4096, 1320 * 9000
    return [
        launch("triton rms norm grads", "rows.rms_norm_grads", 264,
               [*[brains(normed)] * 2, brains(2048), floats(5280), zeros(normed, "bf16"),
                zeros(264 * 2048), *sizes(5280, 2048)], BLOCK=2048),
        launch("triton router of 64", "rows.router_top_k", 4224,
               [brains(67584 * 64), zeros(67584 * 6), zeros(67584 * 6, "i32"), zeros(64, "i32")],
               EXPERTS=64, K=6, ROWS=16),
        launch("triton token table grads", "rows.token_table_grads", 12672,
               [brains(12672 * 512), floats(12672, "u32"), zeros(5000 * 512), *sizes(5000, 512)],
               BLOCK=512),
        launch("triton smoothed loss grads", "rows.smoothed_loss_grads", 1320,
               [brains(logits), floats(1320, "i32"), zeros(1320), "i32=9000", "f32=0.1",
                "f32=0.0007575"], warps=8, BLOCK=2048),
        launch("triton rope into cache", "rows.rope_into_cache", tokens,
               [half(tokens * 32 * 128), *[half(tokens * 8 * 128)] * 2,
                *[floats(tokens * 64)] * 2, f"arange:i32[{tokens}]",
                *[zeros(tokens * 8 * 128, "f16")] * 2],
               kinds={"slot_ptr": "*i32"}, HEADS=32, KV_HEADS=8, HALF=64),
        launch("triton nucleus", "rows.nucleus_draw", 3960,
               [half(3960 * 2000), floats(3960), zeros(7920, "i32"), zeros(3960 * 2000),
                "i32=2000"], BLOCK=2048),
        launch("triton fp8 tiles", "rows.fp8_tiles_both_ways", [33, 20],
               [brains(2560 * 4224), *[zeros(2560 * 4224, "f8e4m3")] * 2, zeros(660),
                *sizes(2560, 4224)], warps=8, BLOCK=128),
    ]  # fmt: skip


def warpgroups() -> list[dict[str, Any]]:
    each = cases_of("fortyfirst_warpgroups")
    return [
        each(f"wgmma lean {how}", f"wgmma_lean_{how}", [16, 33], 128,
             product(2112, 2048, 1024, "bf16", "bf16"), "wgmma lean", 4 * 24576)
        for how in ("cores", "swizzled")
    ]  # fmt: skip


def mapped() -> list[dict[str, Any]]:
    each = cases_of("fortyfirst_warpgroups")
    return [
        *(each(f"wgmma fp8 rows of {wide}", f"wgmma_fp8_rows_of_{wide}", [22, 12], 384,
               [f"tma:random:f8e4m3[1536,3072]:box=128x{wide}:swizzle={wide}",
                f"tma:random:f8e4m3[2816,3072]:box=128x{wide}:swizzle={wide}",
                zeros(1536 * 2816, "bf16"), *sizes(2816, 3072)], "wgmma fp8", 4 * 32768)
          for wide in (128, 64)),
        each("wgmma one consumer", "wgmma_one_consumer", [11, 24], 160,
             ["tma:random:bf16[1536,2048]:box=64x64:swizzle=128",
              "tma:random:bf16[2816,2048]:box=256x64:swizzle=128",
              zeros(1536 * 2816, "bf16"), *sizes(2816, 2048)], "", 4 * 40960),
    ]  # fmt: skip


def tensor() -> list[dict[str, Any]]:
    each = cases_of("fortyfirst_tensor")
    heads = 36 * 1024 * 64
    return [
        *(each(f"scaled eights {how}", f"scaled_eights_{how}", [22, 24], 256,
               [floats(1536 * 1536, "f8e4m3"), floats(2816 * 1536, "f8e4m3"), floats(1536 * 12),
                floats(22 * 12), zeros(1536 * 2816, "bf16"), *sizes(2816, 1536)],
               "scaled eights", 3 * 12288) for how in TURNED),
        *(each(f"bytes by words {how}", f"bytes_by_words_{how}", [33, 24], 128,
               product(1536, 2112, 1536, "i8", "i32"), "bytes by words") for how in PLAIN),
        *(each(f"nn gemm {how}", f"nn_gemm_{how}", [22, 12], 256,
               product(1536, 2816, 1536, "bf16", "bf16"), "nn gemm", 3 * 16384)
          for how in TURNED),
        *(each(f"softcap attention {how}", f"softcap_{how}", [16, 36], 128,
               [brains(heads), *[brains(heads // 4)] * 2, zeros(heads, "bf16"), "i32=1024",
                "f32=0.0025", "f32=72.13"], "softcap attention") for how in PLAIN),
        *(each(f"tfloat layer {how}", f"tfloat_layer_{how}", [22, 24], 128,
               [floats(1536 * 512), floats(512 * 1408), floats(1408), zeros(1536 * 1408),
                *sizes(1408, 512)], "tfloat layer") for how in PLAIN),
    ]  # fmt: skip


def fields() -> list[dict[str, Any]]:
    each = cases_of("fortyfirst_fields")
    letters, complexes, colours = 5120 * 4224, 2 * 1408 * 1584, 1280 * 720 * 4
    layer = [floats(8 * 56 * 56 * 64), floats(16 * 64 * 64), zeros(8 * 56 * 56 * 64)]
    return [
        *(each(f"flip bytes {how}", f"flip_bytes_{how}", [66, 80], 256,
               [floats(letters, "u8"), zeros(letters, "u8"), *sizes(5120, 4224)], "flip bytes")
          for how in PLAIN),
        *(each(f"flip complex {how}", f"flip_complex_{how}", [99, 88], [16, 16],
               [floats(complexes, "f64"), zeros(complexes, "f64"), *sizes(1408, 1584)],
               "flip complex") for how in PLAIN),
        *(each(f"bilateral colours {how}", f"bilateral_colours_{how}", [80, 45], [16, 16],
               [floats(colours), zeros(colours), *sizes(1280, 720), "f32=0.08", "f32=1.5"],
               "bilateral colours") for how in APART),
        *(each(f"winograd layer {how}", f"winograd_layer_{how}", [49, 2, 8], 256,
               [*layer, *sizes(56, 64, 64)], "winograd layer") for how in PLAIN),
    ]  # fmt: skip


def rows() -> list[dict[str, Any]]:
    each = cases_of("fortyfirst_rows")
    points, equations, steps, factors = 2640 * 4096, 5280 * 256, 2112 * 2048, 264 * 4096
    return [
        *(each(f"fft 512 {how}", f"fft_512_{how}", 2640, 256, [floats(points), zeros(points)],
               "fft 512") for how in PLAIN),
        *(each(f"reduced systems {how}", f"reduced_systems_{how}", 5280, 256,
               [*[floats(equations)] * 3, zeros(equations)], "reduced systems") for how in APART),
        *(each(f"gated scan {how}", f"gated_scan_{how}", 2112, 256,
               [*[floats(steps)] * 2, zeros(steps)], "gated scan") for how in PLAIN),
        *(each(f"lu by warps {how}", f"lu_by_warps_{how}", 264, 128,
               [floats(factors), zeros(factors)], "lu by warps") for how in PLAIN),
    ]  # fmt: skip


def singles() -> list[dict[str, Any]]:
    each = cases_of("fortyfirst_singles")
    keys = 1320 * 4096
    return [
        each("q4 rows", "q4_rows", 8448, 128,
             [floats(8448 * 256 * 18, "u8"), floats(8192, "i8"), floats(256), zeros(8448),
              "i32=256"]),
        each("philox calls", "philox_calls", 1056, 256,
             [floats(1056), zeros(1056), "i32=16", "f32=-0.02", "f32=0.2", "u32=41"]),
        each("bsr by dense", "bsr_by_dense", 1056, 256,
             [floats(1056 * 24 * 256), floats(1056 * 24, "u32"), floats(1000 * 1024),
              zeros(1056 * 1024), "i32=24", "u32=1000"]),
        each("ray lattice", "ray_lattice", [32, 66], [32, 8],
             [floats(2), zeros(1024 * 528), *sizes(1024, 528, 64)]),
        each("warp alignment", "warp_alignment", 1056, 128,
             [floats(128, "u8"), floats(4224 * 128, "u8"), floats(576, "i8"),
              zeros(4224, "i32"), *sizes(128, 6, 1)]),
        each("match ranks", "match_ranks", 1320, 256,
             [floats(keys, "u32"), zeros(keys, "u32"), zeros(1320 * 256, "u32"), "i32=8"]),
    ]  # fmt: skip


def main() -> None:
    write_cubins(NAME, SOURCES)
    cases = [written(each, NAME) for each in (*products(), *lines())]
    cases += [*warpgroups(), *tensor(), *fields(), *rows(), *singles()]
    write_set(NAME, {}, cases, mapped())


if __name__ == "__main__":
    main()
