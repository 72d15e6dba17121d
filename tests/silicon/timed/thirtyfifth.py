"""Compile the thirty-fifth set of timed kernels, and write thirtyfifth.json.

    python -m tests.silicon.timed.thirtyfifth

Other kernels than those of the sets before, measured after the model of a later commit.
"""

from __future__ import annotations

from typing import Any

from tests.silicon.timed.build import cases_of, write_set
from tests.silicon.timed.third import floats, zeros

SOURCES = dict.fromkeys(("tensors", "layouts", "singles"), "sm_90a")
PLAIN = ("plain", "padded")
TURNED = ("plain", "swizzled")
APART = ("together", "apart")
SWIZZLED = (*PLAIN, "swizzled")


def product(rows: int, columns: int, depth: int, kind: str, out: str) -> list[str]:
    """The arguments of a product whose kernel wants the columns and the depth."""
    return [
        floats(rows * depth, kind), floats(depth * columns, kind), zeros(rows * columns, out),
        f"i32={columns}", f"i32={depth}",
    ]  # fmt: skip


def tensors() -> list[dict[str, Any]]:
    each = cases_of("thirtyfifth_tensors")
    heads, pictures, tile = 20 * 1024 * 96, 16 * 64, {"padded": 64 * 72}
    stages = {"padded": 4 * 192 * 72 * 2}
    return [
        *(each(f"wmma stages {how}", f"wmma_stages_{how}", [12, 17], 192,
               product(1632, 1536, 1536, "f16", "f32"), "wmma stages") for how in PLAIN),
        *(each(f"bf16 stages {how}", f"bf16_stages_{how}", [24, 18], 128,
               product(2304, 1536, 1536, "bf16", "bf16"), "bf16 stages",
               stages.get(how, 4 * 192 * 64 * 2)) for how in SWIZZLED),
        *(each(f"scaled int8 {how}", f"scaled_int8_{how}", [20, 19], 256,
               [floats(1216 * 4096, "i8"), floats(2560 * 4096, "i8"), floats(1216), floats(2560),
                zeros(1216 * 2560, "f16"), "i32=2560", "i32=4096"], "scaled int8")
          for how in TURNED),
        *(each(f"attention 96 {how}", f"attention_96_{how}", [16, 20], 128,
               [*[floats(heads, "f16")] * 3, zeros(heads, "f16"), "i32=1024", "f32=0.14724"],
               "attention 96") for how in PLAIN),
        *(each(f"conv by two {how}", f"conv_by_two_{how}", [49, 16], 128,
               [floats(pictures * 112 * 112, "f16"), floats(64 * 9 * 64, "f16"), floats(64),
                zeros(pictures * 56 * 56, "f16")], "conv by two") for how in PLAIN),
        *(each(f"tf32 rows {how}", f"tf32_rows_{how}", [13, 11], 256,
               product(1408, 1664, 1024, "f32", "f32"), "tf32 rows") for how in PLAIN),
        *(each(f"feed forward {how}", f"feed_forward_{how}", 208, 128,
               [floats(208 * 64 * 128, "f16"), *[floats(1024 * 128, "f16")] * 2,
                zeros(208 * 64 * 128, "f16"), "i32=1024"], "feed forward") for how in TURNED),
        *(each(f"wide tiles {how}", f"wide_tiles_{how}", [10, 13], 256,
               product(1664, 2560, 1536, "f16", "f16"), "wide tiles", 3 * 49152)
          for how in TURNED),
        *(each(f"packed tiles {how}", f"packed_tiles_{how}", [16, 27], 128,
               [floats(27 * 24 * tile.get(how, 4096), "f16"),
                floats(16 * 24 * tile.get(how, 4096), "f16"), zeros(1728 * 1024), "i32=1024",
                "i32=24"], "packed tiles", 16 * tile.get(how, 4096)) for how in SWIZZLED),
    ]  # fmt: skip


def layouts() -> list[dict[str, Any]]:
    each = cases_of("thirtyfifth_layouts")
    tiles, queries = 500 * 128 * 128, 84 * 384 * 32
    return [
        *(each(f"turn many {how}", f"turn_many_{how}", 330, [32, 8],
               [floats(2900 * 3100), zeros(2900 * 3100), "i32=2900", "i32=3100"], "turn many")
          for how in SWIZZLED),
        *(each(f"sgemm oblong {how}", f"sgemm_oblong_{how}", [11, 21], 256,
               product(1344, 1408, 1024, "f32", "f32"), "sgemm oblong") for how in PLAIN),
        *(each(f"zgemm {how}", f"zgemm_{how}", [21, 21], [16, 16],
               [floats(2 * 672 * 256, "f64"), floats(2 * 256 * 672, "f64"),
                zeros(2 * 672 * 672, "f64"), "i32=672", "i32=256"], "zgemm") for how in APART),
        *(each(f"coarse scan {how}", f"coarse_scan_{how}", 1500, 256,
               [floats(1500 * 4096, "i32"), zeros(1500 * 4096, "i32"), zeros(1500, "i32")],
               "coarse scan") for how in PLAIN),
        *(each(f"private bins {how}", f"private_bins_{how}", 700, 128,
               [floats(700 * 6 * 128 * 16, "u8"), zeros(700 * 32, "u32"), "i32=6"],
               "private bins") for how in ("rows", "padded", "columns")),
        *(each(f"lines 512 {how}", f"lines_512_{how}", 4100, 64,
               [floats(4100 * 1024), zeros(4100 * 1024)], "lines 512") for how in PLAIN),
        *(each(f"harris {how}", f"harris_{how}", [250, 94], [8, 16],
               [floats(2000 * 1500, "u8"), zeros(2000 * 1500), "i32=2000", "i32=1500"], "harris")
          for how in PLAIN),
        *(each(f"least flash {how}", f"least_flash_{how}", [12, 84], 32,
               [*[floats(queries)] * 3, zeros(queries), "i32=384", "f32=0.17678"],
               "least flash") for how in PLAIN),
        *(each(f"beginner tiles {how}", f"beginner_tiles_{how}", [41, 41], [16, 16],
               product(656, 656, 192, "f32", "f32"), "beginner tiles") for how in PLAIN),
        *(each(f"determinants {how}", f"determinants_{how}", 700, 64,
               [floats(700 * 4096), zeros(700 * 64)], "determinants")
          for how in (*PLAIN, "columns")),
        *(each(f"dot tiles {how}", f"dot_tiles_{how}", [18, 23], 256,
               product(1472, 1152, 512, "f32", "f32"), "dot tiles") for how in SWIZZLED),
        *(each(f"hfma2 tiles {how}", f"hfma2_tiles_{how}", [19, 25], 128,
               product(1600, 1216, 1024, "f16", "f16"), "hfma2 tiles") for how in PLAIN),
        *(each(f"dp4a squares {how}", f"dp4a_squares_{how}", [25, 21], 256,
               [floats(1344 * 1024, "u8"), floats(1600 * 1024, "u8"), zeros(1344 * 1600, "i32"),
                "i32=1600", "i32=256"], "dp4a squares") for how in PLAIN),
        *(each(f"bulk rows {how}", f"bulk_rows_{how}", 500, 128, [floats(tiles), zeros(tiles)],
               "bulk rows", pitch * 512) for how, pitch in zip(PLAIN, (128, 132), strict=True)),
        *(each(f"bodies in turn {how}", f"bodies_in_turn_{how}", 330, 64,
               [floats(2048 * 8), zeros(330 * 64 * 4), "i32=2048"], "bodies in turn")
          for how in APART),
    ]  # fmt: skip


def singles() -> list[dict[str, Any]]:
    each = cases_of("thirtyfifth_singles")
    tokens, quads, cells = 10240 * 1024, 384 * 128, 256 * 128 * 128
    kept, vectors, edges = 396 * 512 * 32, 120 * 512 * 6, 450 * 256 * 9
    return [
        each("gradient norm", "gradient_norm", 660, 256,
             [floats(38_000_000), zeros(660), "i32=9500000"]),
        each("qkv apart", "qkv_apart", 10240, 192,
             [floats(3 * tokens, "f16"), *[zeros(tokens, "f16")] * 3, "i32=1024", "i32=16"]),
        each("colours to planes", "colours_to_planes", [384, 20], 128,
             [floats(20 * quads * 12, "u8"), zeros(20 * quads * 12), f"i32={quads}"]),
        each("heat doubles", "heat_doubles", [8, 16, 4], [32, 8],
             [floats(cells, "f64"), zeros(cells, "f64"), "i32=256", "i32=128", "i32=128",
              "f64=0.125"]),
        each("passed together", "passed_together", 396, 512,
             [floats(kept, "u32"), zeros(kept, "u32"), zeros(1, "u32"), f"i32={kept}",
              "u32=2684354560"]),
        each("coded search", "coded_search", 120, 512,
             [floats(128 * 256), floats(32 * vectors, "u32"), zeros(vectors), f"i32={vectors}",
              "i32=6"], shared=131072),
        each("bitonic step", "bitonic_step", 16384, 128,
             [floats(1 << 22), zeros(1 << 22), "i32=4096", "i32=65536"]),
        each("rows ahead", "rows_ahead", [5, 40], 128,
             [floats(1924 * 2568), zeros(1920 * 2560), "i32=2568", "i32=48"]),
        each("degrees", "degrees", 450, 256,
             [floats(edges * 4, "u32"), *[zeros(1 << 20, "u32")] * 2, f"i32={edges}",
              "u32=1048575"]),
        each("norm sixteen", "norm_sixteen", 3000, 512,
             [floats(3000 * 8192, "f16"), *[floats(8192, "f16")] * 2,
              zeros(3000 * 8192, "f16")]),
    ]  # fmt: skip


def main() -> None:
    cases = [*tensors(), *layouts(), *singles()]
    write_set("thirtyfifth", SOURCES, cases, [])


if __name__ == "__main__":
    main()
