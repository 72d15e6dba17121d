"""Compile the fortieth set of timed kernels, and write fortieth.json.

    python -m tests.silicon.timed.fortieth

It needs Triton (3.9 compiled what is here) and nvcc, but no GPU. What tutorials, libraries and
model repositories hold: pairs that differ in layout alone, and kernels of Triton's. Measured after
the model of an earlier commit. Those that take tensor maps are in fortieth_maps.json.
"""

from __future__ import annotations

from typing import Any

from tests.silicon.timed.build import cases_of, write_cubins, write_set
from tests.silicon.timed.third import floats, zeros
from tests.silicon.timed.thirtyfifth import product
from tests.silicon.timed.triton_build import half, launch, written

NAME = "fortieth"
PLAIN = ("plain", "padded")
TURNED = ("plain", "swizzled")
SOURCES = dict.fromkeys(("gemms", "tensor", "warpgroups", "grids", "rows"), "sm_90a")


def brains(count: int) -> str:
    return floats(count, "bf16")


def products() -> list[dict[str, Any]]:
    windows, biased, ragged = 32 * 2048 * 64, 72 * 768 * 64, 40 * 1024 * 6 * 64
    return [
        launch("triton swiglu layer", "products.swiglu_layer", [12, 22],
               [brains(1536 * 1024), *[brains(1024 * 1408)] * 2, zeros(1536 * 1408, "bf16"),
                "i32=1408", "i32=1024"],
               warps=8, BLOCK_M=128, BLOCK_N=64, BLOCK_K=64),
        launch("triton lora linear", "products.lora_linear", [16, 17],
               [half(1024, 1536), half(1536, 2176), half(1536, 16), half(16, 2176),
                zeros(1024 * 2176, "f16"), "i32=2176", "i32=1536", "f32=2.0"],
               BLOCK_M=64, BLOCK_N=128, BLOCK_K=32, RANK=16),
        launch("triton gram lower", "products.gram_lower", 276,
               [half(2944, 1024), zeros(2944 * 2944, "f16"), "i32=2944", "i32=1024"],
               warps=8, BLOCK=128, BLOCK_K=64),
        launch("triton gemv rows", "products.gemv_rows", 528,
               [half(8448, 4096), half(4096), zeros(8448), "i32=4096"], BLOCK_M=16, BLOCK_N=256),
        launch("triton window attention", "products.window_attention", [32, 32],
               [*[brains(windows)] * 3, zeros(windows, "bf16"), "i32=2048", "f32=0.125"],
               WINDOW=256, BLOCK_M=64, BLOCK_N=64, DIM=64),
        launch("triton relative attention", "products.relative_attention", [6, 72],
               [*[half(biased)] * 3, floats(12 * 2 * 768), zeros(biased, "f16"), "i32=768"],
               stages=2, HEADS=12, BLOCK_M=128, BLOCK_N=64, DIM=64),
        launch("triton ragged attention", "products.ragged_attention", [8, 40, 6],
               [*[half(ragged)] * 3, floats(40, "i32"), zeros(ragged, "f16"), "i32=6",
                "f32=0.125"],
               MOST=1024, BLOCK_M=128, BLOCK_N=64, DIM=64),
    ]  # fmt: skip


def lines() -> list[dict[str, Any]]:
    gated, pictures, judged, modulated = 4096 * 1024, 33 * 1024 * 256, 2640 * 4000, 8192 * 1152
    return [
        launch("triton geglu backward", "lines.geglu_backward", 4096,
               [*[brains(gated)] * 3, *[zeros(gated, "bf16")] * 2], BLOCK=1024),
        launch("triton group norm silu", "lines.group_norm_silu", [16, 33],
               [half(pictures), *[half(256)] * 2, zeros(pictures, "f16"), "f32=0.00001"],
               PIXELS=1024, CHANNELS=256, GROUP=16, BLOCK=128),
        launch("triton kl of logits", "lines.kl_of_logits", 2640,
               [*[brains(judged)] * 2, zeros(2640), "i32=4000", "f32=2.0"], warps=8, BLOCK=4096),
        launch("triton adaln", "lines.adaln_modulate", 8192,
               [brains(modulated), *[brains(32 * 1152)] * 2, zeros(modulated, "bf16"), "i32=1152",
                "i32=256", "f32=0.000001"], BLOCK=2048),
        launch("triton max pool", "lines.max_pool", 2352,
               [half(48 * 56 * 56 * 128), zeros(48 * 28 * 28 * 128, "f16"), "i32=56", "i32=56",
                "i32=28", "i32=28"], C=128, BLOCK_P=16),
        launch("triton grid sample", "lines.grid_sample", 4224,
               [floats(300 * 400 * 32), floats(2 * 135168), zeros(135168 * 32), "i32=300",
                "i32=400"], C=32, BLOCK=32),
        launch("triton index add", "lines.index_add", 8192,
               [floats(65536 * 64), floats(65536, "u32"), zeros(10000 * 64), "i32=10000"],
               DIM=64, ROWS=8),
        launch("triton pull of bodies", "lines.pull_of_bodies", 132,
               [*[floats(8448)] * 4, *[zeros(8448)] * 3, "i32=8448"], BLOCK=64, OTHERS=32),
        launch("triton row medians", "lines.row_medians", 2640,
               [floats(42240 * 64), zeros(42240)], ROWS=16, COLS=64),
    ]  # fmt: skip


def gemms() -> list[dict[str, Any]]:
    each = cases_of("fortieth_gemms")
    return [
        *(each(f"sgemm prefetch {how}", f"sgemm_prefetch_{how}", [24, 11], 128,
               product(1408, 1536, 512, "f32", "f32"), "sgemm prefetch") for how in PLAIN),
        *(each(f"sgemm nt {how}", f"sgemm_nt_{how}", [17, 15], [16, 16],
               product(960, 1088, 384, "f32", "f32"), "sgemm nt") for how in PLAIN),
        *(each(f"sgemm stages {how}", f"sgemm_stages_{how}", [8, 33], 128,
               product(2112, 1024, 384, "f32", "f32"), "sgemm stages") for how in PLAIN),
    ]  # fmt: skip


def tensor() -> list[dict[str, Any]]:
    each = cases_of("fortieth_tensor")
    heads, tokens, small = 24 * 1024 * 128, 3072, 1056 * 4096
    return [
        *(each(f"bf16 gemm {how}", f"bf16_gemm_{how}", [11, 12], 256,
               product(1536, 2816, 2048, "bf16", "bf16"), "bf16 gemm", 4 * 384 * row)
          for how, row in (("plain", 64), ("padded", 80), ("swizzled", 64))),
        *(each(f"w8a8 {how}", f"w8a8_{how}", [15, 18], 256,
               [floats(2304 * 2048, "i8"), floats(1920 * 2048, "i8"), floats(2304), floats(1920),
                zeros(2304 * 1920, "f16"), "i32=1920", "i32=2048"], "w8a8", 3 * 16384)
          for how in TURNED),
        *(each(f"attend 128 {how}", f"attend_128_{how}", [16, 24], 128,
               [*[brains(heads)] * 3, zeros(heads, "bf16"), "i32=1024", "f32=0.12752"],
               "attend 128", 32768) for how in TURNED),
        *(each(f"weight gradient {how}", f"grad_weight_{how}", [17, 16], 128,
               [half(tokens, 1024), half(tokens, 1088), zeros(1024 * 1088), "i32=1024", "i32=1088",
                f"i32={tokens}"], "weight gradient") for how in PLAIN),
        *(each(f"matrix steps {how}", f"matrix_steps_{how}", 1056, 128,
               [*[floats(small, "f16")] * 2, zeros(small, "f16"), "i32=8"], "matrix steps")
          for how in PLAIN),
    ]  # fmt: skip


def warpgroups() -> list[dict[str, Any]]:
    each = cases_of("fortieth_warpgroups")
    maps = {"cores": "box=128x8", "swizzled": "box=128x64:swizzle=128"}
    return [
        each(f"gemm tma {how}", f"gemm_tma_{how}", [15, 18], 256,
             [f"tma:random:f16[2304,1536]:{map_}", f"tma:random:f16[1920,1536]:{map_}",
              zeros(2304 * 1920, "f16"), "i32=1920", "i32=1536"], "gemm tma", 4 * 32768)
        for how, map_ in maps.items()
    ]  # fmt: skip


def grids() -> list[dict[str, Any]]:
    each = cases_of("fortieth_grids")
    square, halves, volume, picture = 2880 * 2880, 3008 * 2816, 164 * 132 * 140, 1920 * 1088
    layer = [floats(8 * 56 * 56 * 16), floats(128 * 144), floats(128), zeros(8 * 56 * 56 * 128)]
    return [
        *(each(f"symmetrize {how}", f"symmetrize_{how}", [90, 90], [32, 8],
               [floats(square), zeros(square), "i32=2880"], "symmetrize") for how in PLAIN),
        *(each(f"transpose ldmatrix {how}", f"transpose_ldsm_{how}", [44, 47], 128,
               [floats(halves, "f16"), zeros(halves, "f16"), "i32=3008", "i32=2816"],
               "transpose ldmatrix") for how in TURNED),
        *(each(f"wave of fourth order {how}", f"wave3d_{how}", [20, 16, 17], [8, 8, 8],
               [*[floats(volume)] * 2, zeros(volume), "i32=164", "i32=132", "f32=0.1"],
               "wave of fourth order") for how in ("tight", "stepped")),
        *(each(f"seven by seven {how}", f"filter7_{how}", [120, 68], [16, 16],
               [floats(picture), floats(49), zeros(picture), "i32=1920", "i32=1088"],
               "seven by seven") for how in ("tight", "spread")),
        *(each(f"conv 16 to 128 {how}", f"conv3x3_{how}", [49, 4, 8], [32, 8],
               [*layer, *["i32=56"] * 2, "i32=128"], "conv 16 to 128") for how in PLAIN),
        *(each(f"perlin {how}", f"perlin_{how}", 4080, 256,
               [floats(256, "u8"), zeros(1920 * 544), "i32=1920", "f32=0.37", "f32=3.3"], "perlin")
          for how in ("one", "copies")),
    ]  # fmt: skip


def rows() -> list[dict[str, Any]]:
    each = cases_of("fortieth_rows")
    scans, keys, points, batch = 1584 * 2048, 1320 * 2048, 1320 * 2048 * 2, 2640 * 2048
    seen, triangles, pairs = 528 * 16 * 64, 5280 * 256, 792 * 2048
    sparse = 3168 * 32 * 48
    return [
        *(each(f"brent kung {how}", f"brent_kung_{how}", 1584, 1024, [floats(scans), zeros(scans)],
               "brent kung") for how in PLAIN),
        *(each(f"split sort {how}", f"split_sort_{how}", 1320, 256,
               [floats(keys, "u32"), zeros(keys, "u32"), "i32=12"], "split sort")
          for how in PLAIN),
        *(each(f"fft 2048 {how}", f"fft2048_{how}", 1320, 256, [floats(points), zeros(points)],
               "fft 2048") for how in PLAIN),
        *(each(f"best paths {how}", f"viterbi_{how}", 264, 128,
               [floats(4096), floats(seen), zeros(seen, "u8"), zeros(528 * 64), "i32=16"],
               "best paths") for how in PLAIN),
        *(each(f"power iteration {how}", f"power_iteration_{how}", 1056, 64,
               [floats(1056 * 4096), zeros(1056), "i32=8"], "power iteration") for how in PLAIN),
        *(each(f"gram 16 {how}", f"gram16_{how}", 2640, 128, [floats(batch), zeros(batch)],
               "gram 16") for how in PLAIN),
        *(each(f"mesh {how}", f"mesh_measures_{how}", 5280, 256,
               [floats(triangles * 12), zeros(triangles * 2)], "mesh") for how in PLAIN),
        each("sell spmv", "sell_spmv", 396, 256,
             [floats(sparse), floats(sparse, "u32"), floats(3168, "i32"), floats(100_000),
              zeros(101_376), "u32=100000"]),
        each("coulomb plane", "coulomb_plane", [8, 132], [32, 4],
             [floats(4096), zeros(1024 * 528), "i32=1024", "i32=1024", "f32=0.002", "f32=0.25"]),
        each("digit histograms", "digit_histograms", 528, 256,
             [floats(6_000_000, "u32"), zeros(1024, "u32"), "i32=1500000"]),
        each("bitonic with values", "bitonic_pairs", 792, 1024,
             [floats(pairs), floats(pairs, "i32"), zeros(pairs), zeros(pairs, "i32")]),
    ]  # fmt: skip


def main() -> None:
    write_cubins(NAME, SOURCES)
    cases = [written(each, NAME) for each in (*products(), *lines())]
    cases += [*gemms(), *tensor(), *grids(), *rows()]
    write_set(NAME, {}, cases, warpgroups())


if __name__ == "__main__":
    main()
