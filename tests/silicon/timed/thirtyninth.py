"""Compile the thirty-ninth set of timed kernels, and write thirtyninth.json.

    python -m tests.silicon.timed.thirtyninth

It needs Triton (3.9 compiled what is here) and nvcc, but no GPU. What people write in Triton and in
CUDA: the staples of courses, libraries and models, in other sizes than the sets before. Measured
after the model of an earlier commit. Those that take tensor maps are in thirtyninth_maps.json.
"""

from __future__ import annotations

from typing import Any

from tests.silicon.timed.build import cases_of, write_cubins, write_set
from tests.silicon.timed.third import floats, zeros
from tests.silicon.timed.thirtyfifth import product
from tests.silicon.timed.triton_build import half, launch, written

NAME = "thirtyninth"
PLAIN = ("plain", "padded")
TURNED = ("plain", "swizzled")
SWIZZLED = (*PLAIN, "swizzled")
SOURCES = {"tensor": "sm_90a", "warpgroups": "sm_90a", "tiles": "sm_90", "numbers": "sm_90"}


def sizes(*each: int) -> list[str]:
    return [f"i32={one}" for one in each]


def matmuls() -> list[dict[str, Any]]:
    conv = 24 * 28 * 28
    return [
        launch("triton leaky relu", "matmuls.leaky_relu_matmul", 14 * 21,
               [half(1792, 1536), half(1536, 1344), "zeros:f16[1792,1344]",
                *sizes(1792, 1344, 1536, 1536, 1344, 1344)],
               stages=4, BLOCK_M=128, BLOCK_N=64, BLOCK_K=64, GROUP_M=8),
        launch("triton weight gradient", "matmuls.transposed_matmul", [18, 12],
               [floats(2048 * 1536, "bf16"), floats(2048 * 2304, "bf16"),
                zeros(1536 * 2304, "bf16"), *sizes(1536, 2304, 2048)],
               warps=8, BLOCK_M=128, BLOCK_N=128, BLOCK_K=64),
        launch("triton persistent", "matmuls.persistent_matmul", 132,
               [half(2900, 1280), half(2700, 1280), zeros(2900 * 2700, "f16"),
                *sizes(2900, 2700, 1280)],
               warps=8, NUM_SMS=132, BLOCK_M=128, BLOCK_N=128, BLOCK_K=64, GROUP_M=6),
        launch("triton split k", "matmuls.split_k_matmul", [1, 36, 6],
               [half(64, 6144), half(6144, 4608), zeros(64 * 4608), *sizes(64, 4608, 6144)],
               stages=4, BLOCK_M=64, BLOCK_N=128, BLOCK_K=64, SPLIT_K=6),
        launch("triton fused moe", "matmuls.fused_moe", [96, 6],
               [floats(1500 * 1024, "bf16"), floats(12 * 768 * 1024, "bf16"),
                zeros(6144 * 768, "bf16"), floats(6144), floats(6144, "i32"), floats(96, "i32"),
                *sizes(1500, 12, 768, 1024)],
               BLOCK_M=64, BLOCK_N=128, BLOCK_K=64),
        launch("triton int8 weights", "matmuls.int8_weights", [1, 132],
               [half(48, 4096), floats(4096 * 8448, "i8"), floats(8448), zeros(48 * 8448, "f16"),
                *sizes(48, 8448, 4096)],
               stages=4, BLOCK_M=64, BLOCK_N=64, BLOCK_K=64),
        launch("triton int4 weights", "matmuls.int4_weights", [4, 66],
               [half(256, 2048), floats(4224 * 1024, "u8"), half(16 * 4224), half(16 * 4224),
                zeros(256 * 4224, "f16"), *sizes(4224, 2048)],
               GROUP_SIZE=128, BLOCK_M=64, BLOCK_N=64, BLOCK_K=64),
        launch("triton conv by two", "matmuls.conv_stride_two", [294, 2],
               [half(24 * 56 * 56 * 64), half(9 * 64 * 256), floats(256), zeros(conv * 256, "f16"),
                *sizes(conv, 56, 56, 28, 28)],
               C=64, F=256, BLOCK_M=64, BLOCK_N=128),
    ]  # fmt: skip


def mapped() -> list[dict[str, Any]]:
    kinds = {
        "a_desc": "tensordesc<bf16[128,64]>", "b_desc": "tensordesc<bf16[64,128]>",
        "c_desc": "tensordesc<bf16[128,128]>",
    }  # fmt: skip
    bytes_kinds = {
        **dict.fromkeys(("a_desc", "b_desc"), "tensordesc<fp8e4nv[128,128]>"),
        "c_desc": "tensordesc<fp16[128,128]>",
    }
    tall, wide = "128x64:swizzle=128", "128x128:swizzle=128"
    return [
        launch("triton mapped", "matmuls.mapped_matmul", [15, 18],
               [f"tma:random:bf16[2304,1024]:box={tall}",
                "tma:random:bf16[1024,1920]:box=64x64:swizzle=128",
                f"tma:zeros:bf16[2304,1920]:box={tall}", "i32=1024"],
               warps=8, stages=4, kinds=kinds, BLOCK_M=128, BLOCK_N=128, BLOCK_K=64),
        launch("triton mapped bytes", "matmuls.mapped_persistent", 132,
               [f"tma:random:f8e4m3[2688,2048]:box={wide}",
                f"tma:random:f8e4m3[2304,2048]:box={wide}",
                f"tma:zeros:f16[2688,2304]:box={tall}", "i32=2688", "i32=2304", "i32=2048"],
               warps=8, stages=4, kinds=bytes_kinds, NUM_SMS=132, BLOCK_M=128, BLOCK_N=128,
               BLOCK_K=128),
    ]  # fmt: skip


def attention() -> list[dict[str, Any]]:
    short, tokens, cache = 48 * 1408 * 32, 3 * 1000, 1200 * 8 * 16 * 128
    return [
        launch("triton causal heads of 32", "attention.causal_attention", [11, 48],
               [*[half(short)] * 3, zeros(short, "f16"), zeros(48 * 1408), "i32=1408",
                "f32=0.17678"],
               BLOCK_M=128, BLOCK_N=64, HEAD_DIM=32),
        launch("triton grouped queries", "attention.grouped_attention", [16, 24, 3],
               [floats(tokens * 3072, "bf16"), *[floats(tokens * 768, "bf16")] * 2,
                zeros(tokens * 3072, "bf16"), "i32=1000", "f32=0.08839", "i32=3072", "i32=768"],
               stages=2, GROUPS=4, BLOCK_M=64, BLOCK_N=64, HEAD_DIM=128),
        launch("triton deltas", "attention.backward_preprocess", 3072,
               [*[half(196608 * 128)] * 2, zeros(196608)], BLOCK_M=64, HEAD_DIM=128),
        launch("triton paged decode", "attention.paged_decode", [36, 8],
               [half(36 * 32 * 128), *[half(cache)] * 2, floats(36 * 64, "i32"),
                zeros(36 * 32 * 128, "f16"), "i32=1200", "i32=1000", "f32=0.08839"],
               PAGES=64, PAGE_SIZE=16, HEAD_DIM=128, KV_HEADS=8, GROUP=4),
    ]  # fmt: skip


def layers() -> list[dict[str, Any]]:
    narrow, normed, summed = 12000 * 640, 16384 * 768, 12 * 512 * 1024
    turned = 20 * 1024 * 12 * 64
    return [
        launch("triton softmax 781", "layers.softmax_rows", 12000,
               [floats(12000 * 781), zeros(12000 * 781), "i32=781"], BLOCK=1024),
        launch("triton softmax backward", "layers.softmax_backward", 3000,
               [*[floats(narrow, "bf16")] * 2, zeros(narrow, "bf16"), "i32=640"],
               ROWS=4, BLOCK=1024),
        launch("triton layer norm 768", "layers.layer_norm_rows", 4096,
               [half(normed), *[half(768)] * 2, zeros(normed, "f16"), "i32=768", "f32=0.00001"],
               ROWS=4, BLOCK=1024),
        launch("triton dropout add norm", "layers.dropout_add_rms_norm", 2600,
               [*[floats(2600 * 3072, "bf16")] * 2, floats(3072, "bf16"),
                zeros(2600 * 3072, "bf16"), "i32=3072", "f32=0.1", "i32=77", "f32=0.00001"],
               warps=8, BLOCK=4096),
        launch("triton cross entropy", "layers.cross_entropy_forward", 2640,
               [floats(2640 * 12800, "bf16"), floats(2640, "i32"), *[zeros(2640)] * 2,
                "i32=12800", "f32=0.1"], warps=8, BLOCK=4096),
        launch("triton cumsum columns", "layers.cumsum_columns", [32, 12],
               [floats(summed), zeros(summed), "i32=512", "i32=1024"], BLOCK_R=64, BLOCK_C=32),
        launch("triton top k", "layers.top_k", 3000,
               [floats(48000 * 120, "i32"), zeros(48000 * 8, "i32"), "i32=120"],
               ROWS=16, BLOCK=128, K=8),
        launch("triton embedding bag", "layers.embedding_bag", 9000,
               [floats(9000 * 32, "u32"), half(50000 * 128), zeros(9000 * 128, "f16"),
                "i32=50000"], BAG=32, DIM=128, ROWS=8),
        launch("triton rotary", "layers.rotary_interleaved", 12000,
               [half(12000 * 1024), *[half(2048 * 32)] * 2, "i32=2048"], HEADS=16, HALF=32),
        launch("triton permute heads", "layers.permute_heads", [16, 12, 20],
               [half(turned), zeros(turned, "f16")], SEQ=1024, HEADS=12, DIM=64, BLOCK_S=64),
    ]  # fmt: skip


def tensor() -> list[dict[str, Any]]:
    each, group = cases_of("thirtyninth_tensor"), cases_of("thirtyninth_warpgroups")
    heads = 36 * 1280 * 64
    return [
        *(each(f"hgemm {how}", f"hgemm_{how}", [18, 15], 256,
               product(1920, 2304, 1024, "f16", "f16"), "hgemm",
               71680 if how == "padded" else 65536) for how in SWIZZLED),
        *(each(f"wmma gemm {how}", f"wmma_gemm_{how}", [29, 13], 256,
               product(1664, 1856, 768, "f16", "f32"), "wmma gemm") for how in PLAIN),
        *(each(f"flash {how}", f"flash_{how}", [20, 36], 128,
               [*[floats(heads, "f16")] * 3, zeros(heads, "f16"), "i32=1280", "f32=0.18034"],
               "flash") for how in TURNED),
        *(each(f"tf32 gemm {how}", f"tf32_gemm_{how}", [19, 23], 128,
               product(1472, 1216, 1024, "f32", "f32"), "tf32 gemm") for how in PLAIN),
        *(group(f"wgmma by cp.async {how}", f"wgmma_cp_async_{how}", [15, 18], 256,
                product(2304, 1920, 1536, "f16", "f16"), "wgmma by cp.async", 3 * 32768)
          for how in ("cores", "swizzled")),
    ]  # fmt: skip


def warpgroups() -> list[dict[str, Any]]:
    each = cases_of("thirtyninth_warpgroups")
    return [
        each("wgmma tma producer", "wgmma_tma_producer", [12, 22], 384,
             ["tma:random:bf16[2816,1024]:box=128x64:swizzle=128",
              "tma:random:bf16[2304,1024]:box=192x64:swizzle=128", zeros(2816 * 2304, "bf16"),
              "i32=2304", "i32=1024"], shared=4 * 40960),
    ]  # fmt: skip


def tiles() -> list[dict[str, Any]]:
    each = cases_of("thirtyninth_tiles")
    picture, rows, sites = 5088 * 3040, 1500 * 128 * 64, 9 * 1536 * 1000
    return [
        *(each(f"transpose {how}", f"transpose_{how}", [159, 95], [32, 16],
               [floats(picture), zeros(picture), "i32=5088", "i32=3040"], "transpose")
          for how in SWIZZLED),
        *(each(f"sgemm turned {how}", f"sgemm_turned_{how}", [30, 22], [32, 32],
               product(704, 960, 256, "f32", "f32"), "sgemm turned") for how in PLAIN),
        *(each(f"sgemm registers {how}", f"sgemm_registers_{how}", [15, 9], 256,
               product(1152, 1920, 256, "f32", "f32"), "sgemm registers") for how in PLAIN),
        *(each(f"softmax short {how}", f"softmax_short_{how}", 1500, 128,
               [floats(rows), zeros(rows)], "softmax short") for how in PLAIN),
        *(each(f"jacobi {how}", f"jacobi_{how}", [80, 150], [32, 16],
               [floats(2562 * 2402), zeros(2562 * 2402), "i32=2562"], "jacobi")
          for how in ("narrow", "wide")),
        each("lattice boltzmann", "lbm_d2q9", [12, 1000], 128,
             [floats(sites), zeros(sites), "i32=1536", "i32=1000", "f32=0.6"]),
    ]  # fmt: skip


def numbers() -> list[dict[str, Any]]:
    each = cases_of("thirtyninth_numbers")
    sums, scans, keys, small = 5000 * 1024, 6000 * 1024, 2640 * 4096, 528 * 4096
    points, sparse = 1600 * 2048, 96000 * 64
    return [
        *(each(f"reduce {how}", f"reduce_{how}", 5000, 512, [floats(sums), zeros(5000)], "reduce")
          for how in ("interleaved", "sequential")),
        each("reduce shuffle", "reduce_shuffle", 396, 512,
             [floats(15_000_000), zeros(1), "i32=3750000"]),
        *(each(f"blelloch {how}", f"blelloch_{how}", 6000, 512, [floats(scans), zeros(scans)],
               "blelloch") for how in ("plain", "offset")),
        *(each(f"histogram by {how}", f"histogram_by_{how}", 528, 256,
               [floats(6_000_000, "u32"), zeros(256, "u32"), "i32=6000000"], "histogram")
          for how in ("bins", "warps")),
        *(each(f"radix count {how}", f"radix_count_{how}", 2640, 256,
               [floats(keys, "u32"), zeros(16 * 2640, "u32"), "i32=8"], "radix count")
          for how in ("rows", "padded", "columns")),
        *(each(f"lu batched {how}", f"lu_batched_{how}", 528, 128, [floats(small), zeros(small)],
               "lu batched") for how in PLAIN),
        *(each(f"fft 1024 {how}", f"fft_1024_{how}", 1600, 256, [floats(points), zeros(points)],
               "fft 1024") for how in PLAIN),
        each("spmv rows", "spmv_rows", 12000, 256,
             [floats(sparse), floats(sparse, "u32"), floats(96000, "i32"), floats(100_000),
              zeros(96000), "u32=100000"]),
        each("mandelbrot", "mandelbrot", [100, 57], [16, 16],
             [zeros(1600 * 900, "i32"), "i32=1600", "i32=900", "i32=128"]),
    ]  # fmt: skip


def main() -> None:
    write_cubins(NAME, SOURCES)
    cases = [written(each, NAME) for each in (*matmuls(), *attention(), *layers())]
    maps = [written(each, NAME) for each in mapped()]
    cases += [*tensor(), *tiles(), *numbers()]
    write_set(NAME, {}, cases, [*maps, *warpgroups()])


if __name__ == "__main__":
    main()
