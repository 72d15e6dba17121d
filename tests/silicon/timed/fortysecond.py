"""Compile the forty-second set of timed kernels, and write fortysecond.json.

    python -m tests.silicon.timed.fortysecond

It needs Triton (3.9 compiled what is here) and nvcc, but no GPU. Kernels of Triton's, groups that
differ in layout alone, and additions in global memory. Measured after the model of an earlier
commit. Those that take tensor maps are in fortysecond_maps.json.
"""

from __future__ import annotations

from typing import Any

from tests.silicon.timed.build import cases_of, write_cubins, write_set
from tests.silicon.timed.third import floats, zeros
from tests.silicon.timed.thirtyfifth import product
from tests.silicon.timed.triton_build import half, launch, written

NAME = "fortysecond"
PLAIN = ("plain", "padded")
SOURCES = dict.fromkeys(("warpgroups", "tensor", "fields", "rows", "singles"), "sm_90a")


def brains(count: int) -> str:
    return floats(count, "bf16")


def sizes(*each: int) -> list[str]:
    return [f"i32={one}" for one in each]


def products() -> list[dict[str, Any]]:
    twice, fades, heads = 18 * 2 * 1024 * 64, 24 * 4096 * 128, 24 * 2048 * 128
    return [
        launch("triton relu squared", "products.relu_squared_layer", 264,
               [brains(1408 * 1024), brains(1024 * 3072), floats(3072),
                zeros(1408 * 3072, "bf16"), *sizes(1408, 3072, 1024)],
               warps=8, BLOCK_M=128, BLOCK_N=128, BLOCK_K=64, GROUP=8),
        launch("triton ternary weights", "products.ternary_weights", [2, 66],
               [half(256, 2048), floats(128 * 4224, "u32"), floats(4224),
                zeros(256 * 4224, "f16"), *sizes(4224, 2048)],
               warps=8, BLOCK_M=128, BLOCK_N=64, BLOCK_K=64),
        launch("triton differential attention", "products.differential_attention", [16, 18],
               [*[half(twice)] * 3, floats(18), zeros(twice, "f16"), "i32=1024",
                "f32=0.18033688"], stages=2, BLOCK_M=64, BLOCK_N=64, DIM=64),
        launch("triton chunk states", "products.chunk_states", [2, 16, 24],
               [*[brains(fades)] * 2, zeros(24 * 16 * 128 * 128), "i32=4096", "f32=-0.01"],
               LONG=256, BLOCK=64, KEYS=128, VALUES=128, BLOCK_V=64),
        launch("triton chosen blocks", "products.chosen_blocks", [32, 24],
               [*[brains(heads)] * 3, floats(24 * 32 * 8, "i32"), zeros(heads, "bf16"),
                "i32=2048", "f32=0.1275"],
               stages=2, MANY=8, BLOCK_M=64, BLOCK_N=64, DIM=128),
        launch("triton linear losses", "products.linear_losses", [8, 33],
               [brains(1024 * 1024), brains(4224 * 1024), floats(1024, "i32"),
                *[zeros(33 * 1024)] * 2, zeros(1024), *sizes(1024, 1024)],
               warps=8, BLOCK_M=128, BLOCK_N=128, BLOCK_K=64),
    ]  # fmt: skip


def lines() -> list[dict[str, Any]]:
    errors, moments, steps = 2640 * 4096, 264 * 128 * 256, 4 * 1024 * 1024
    pictures, normals = 16 * 56 * 56 * 128, 2112 * 4096
    return [
        launch("triton class sums", "rows.class_sums", 1056,
               [floats(16896 * 64), floats(16896, "i32"), zeros(640), zeros(10, "i32")],
               CLASSES=10, ROWS=16, WIDE=64),
        launch("triton squared error total", "rows.squared_error_total", 2640,
               [*[brains(errors)] * 2, zeros(1), "f32=9.2477e-8"], BLOCK=4096),
        launch("triton moments by adds", "rows.moments_by_adds", [4, 264],
               [half(moments), *[zeros(256)] * 2, "i32=256"], PIXELS=128, BLOCK=64, WIDE=64),
        launch("triton causal conv back", "rows.causal_conv_back", [8, 32, 4],
               [*[brains(steps)] * 2, floats(4096), zeros(steps, "bf16"),
                zeros(4 * 32 * 4 * 1024), *sizes(1024, 1024)], TAPS=4, BLOCK_T=32, BLOCK_C=128),
        launch("triton silu to fp8", "rows.silu_to_fp8", [22, 96],
               [brains(1536 * 5632), zeros(1536 * 2816, "f8e4m3"), zeros(1536 * 22),
                "i32=2816"], ROWS=16, GROUP=128),
        launch("triton expert slots", "rows.expert_slots", 528,
               [floats(135168, "i32"), zeros(48, "i32"), zeros(135168, "i32")],
               EXPERTS=48, ROOM=4096, BLOCK=256),
        launch("triton depthwise pictures", "rows.depthwise_pictures", [2, 784],
               [half(pictures), half(9 * 128), zeros(pictures, "f16"), *sizes(56, 128)],
               BLOCK_P=64, BLOCK_C=64),
        launch("triton random normals", "rows.random_normals", 2112,
               [half(normals), zeros(normals, "f16"), "i32=42", "f32=0.02"], BLOCK=4096),
    ]  # fmt: skip


def mapped() -> list[dict[str, Any]]:
    each = cases_of("fortysecond_warpgroups")
    return [
        *(each(f"wgmma by rows of {wide}", f"wgmma_by_rows_{wide}", [22, 12], 384,
               [f"tma:random:f16[1536,2048]:box=128x{wide // 2}:swizzle={wide}",
                f"tma:random:f16[2048,2816]:box=64x{wide // 2}:swizzle={wide}",
                zeros(1536 * 2816, "f16"), *sizes(2816, 2048)], "wgmma by rows", 4 * 32768)
          for wide in (128, 64)),
        each("wgmma parts added", "wgmma_parts_added", [11, 4, 6], 384,
             ["tma:random:f16[512,6144]:box=128x64:swizzle=128",
              "tma:random:f16[1408,6144]:box=128x64:swizzle=128",
              zeros(512 * 1408), *sizes(1408, 1024)], "", 4 * 32768),
    ]  # fmt: skip


def tensor() -> list[dict[str, Any]]:
    each = cases_of("fortysecond_tensor")
    heads, rows = 18 * 1024 * 64, 18 * 1024
    return [
        *(each(f"half sums gemm {how}", f"half_sums_{how}", [22, 12], 256,
               product(1536, 2816, 1536, "f16", "f16"), "half sums gemm", 6 * 128 * wide)
          for how, wide in (("plain", 64), ("padded", 80), ("swizzled", 64))),
        *(each(f"queries back {how}", f"queries_back_{how}", [16, 18], 128,
               [*[brains(heads)] * 4, *[floats(rows)] * 2, zeros(heads, "bf16"), "i32=1024",
                "f32=0.125"], "queries back") for how in PLAIN),
        *(each(f"layer back {how}", f"layer_back_{how}", [24, 22], 128,
               [floats(1536 * 1408), floats(1536 * 1536), zeros(1408 * 1536),
                *sizes(1408, 1536, 1536)], "layer back") for how in PLAIN),
    ]  # fmt: skip


def fields() -> list[dict[str, Any]]:
    each = cases_of("fortysecond_fields")
    colours, eights, cells = 2112 * 1408 * 3, 4096 * 4224, 160 * 132 * 100
    return [
        *(each(f"turn colours {how}", f"turn_colours_{how}", [66, 44], 256,
               [floats(colours, "u8"), zeros(colours, "u8"), *sizes(2112, 1408)], "turn colours")
          for how in PLAIN),
        *(each(f"turn eights {how}", f"turn_eights_{how}", [66, 64], 256,
               [floats(eights, "f8e4m3"), floats(4096), zeros(eights, "bf16"),
                *sizes(4096, 4224)], "turn eights") for how in (*PLAIN, "swizzled")),
        *(each(f"strided sounds {how}", f"strided_sounds_{how.replace(' ', '_')}", [33, 12], 256,
               [floats(12 * 32 * 33796), floats(32 * 64), zeros(12 * 8 * 8448),
                *sizes(32, 33796, 4)], "strided sounds") for how in ("in order", "by phases")),
        each("seven diagonals", "seven_diagonals", [5, 33, 25], [32, 4],
             [floats(7 * cells), floats(cells), zeros(cells), *sizes(160, 132, 100)]),
    ]  # fmt: skip


def rows() -> list[dict[str, Any]]:
    each = cases_of("fortysecond_rows")
    points, numbers, lists = 2640 * 8 * 512, 1320 * 2048, 2640 * 2048
    return [
        *(each(f"fft 256 {how}", f"fft_256_{how}", 2640, 128, [floats(points), zeros(points)],
               "fft 256") for how in ("together", "padded", "apart")),
        *(each(f"double sums {how}", f"double_sums_{how}", 1320, 256,
               [floats(numbers, "f64"), zeros(numbers, "f64")], "double sums") for how in PLAIN),
        *(each(f"six equations {how}", f"six_equations_{how.replace(' ', '_')}", 1056, 64,
               [floats(1056 * 64 * 36, "f64"), floats(1056 * 64 * 6, "f64"),
                zeros(1056 * 64 * 6, "f64")], "six equations")
          for how in ("behind", "with gap", "by element")),
        *(each(f"sorted sixteens {how}", f"sorted_sixteens_{how}", 2640, 128,
               [floats(lists, "u32"), zeros(lists, "u32")], "sorted sixteens") for how in PLAIN),
        *(each(f"code pairs {how}", f"code_pairs_{how}", 264, 256,
               [floats(8448 * 512, "u32"), floats(8448 * 64), floats(16), floats(4096),
                zeros(8448), "i32=4096"], "code pairs") for how in ("once", "copied")),
    ]  # fmt: skip


def singles() -> list[dict[str, Any]]:
    each = cases_of("fortysecond_singles")
    edges, tickets, tokens, paths = 2112 * 256, 264 * 512, 4224 * 8, 264 * 512
    return [
        each("sixteen counters", "sixteen_counters", 528, 256,
             [floats(528 * 256, "u32"), zeros(16, "u32")]),
        each("sums of 64", "sums_of_64", 528, 256,
             [floats(528 * 512, "u32"), floats(528 * 512), zeros(64)]),
        each("ordered tickets", "ordered_tickets", 264, 128,
             [floats(tickets, "u32"), zeros(1024, "u32"), zeros(tickets, "u32")]),
        each("long totals", "long_totals", 1056, 256,
             [floats(1056 * 256, "u8"), floats(1056 * 256, "u32"), zeros(256, "u64")]),
        each("half table grads", "half_table_grads", 4224, 256,
             [floats(tokens, "u32"), half(tokens * 64), zeros(5000 * 64, "f16"), "u32=5000"]),
        each("lightest edges", "lightest_edges", 2112, 256,
             [*[floats(edges, "u32")] * 3, floats(67584, "u32"), zeros(512, "u64"),
              "u32=67584"]),
        each("last block sums", "last_block_sums", 1056, 256,
             [floats(1056 * 16 * 1024), zeros(1056), zeros(1, "u32"), zeros(1), "i32=16"]),
        each("radix select", "radix_select", 1056, 256,
             [floats(1056 * 8192), zeros(1056), zeros(1056 * 64), "i32=64"]),
        each("monotone paths", "monotone_paths", 264, 128,
             [floats(paths * 128), zeros(paths, "i32"), "i32=512"]),
    ]  # fmt: skip


def main() -> None:
    write_cubins(NAME, SOURCES)
    cases = [written(each, NAME) for each in (*products(), *lines())]
    cases += [*tensor(), *fields(), *rows(), *singles()]
    write_set(NAME, {}, cases, mapped())


if __name__ == "__main__":
    main()
