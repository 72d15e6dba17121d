"""Compile the twenty-first set of timed kernels, and write twentyfirst.json.

    python -m tests.silicon.timed.twentyfirst

Other kernels than those of the sets before, measured after the model of a later commit.
"""

from __future__ import annotations

from typing import Any

from tests.silicon.timed.build import cases_of, write_set
from tests.silicon.timed.third import floats, zeros

SOURCES = {
    "products": "sm_90", "tensors": "sm_90", "layouts": "sm_90", "models": "sm_90",
    "grids": "sm_90", "words": "sm_90", "nature": "sm_90",
}  # fmt: skip


def products() -> list[dict[str, Any]]:
    each = cases_of("twentyfirst_products")
    rows, image, pixels = 16896, 132 * 128 * 128, 528 * 64
    return [
        each("sgemm 96", "sgemm_96", [12, 12], 144,
             [*[floats(1152 * 768)] * 2, zeros(1152 * 1152), "i32=1152", "i32=768"]),
        each("dp4a tall", "dp4a_tall", [8, 33], 128,
             [floats(4224 * 1024, "u8"), floats(512 * 1024, "u8"), floats(4224), floats(512),
              zeros(4224 * 512), "i32=512", "i32=1024"]),
        each("block nibbles", "block_nibbles", rows // 4, 128,
             [floats(rows * 2304, "u8"), floats(1024, "u32"), floats(256), zeros(rows)]),
        each("col2im", "col2im", image // 256, 256,
             [floats(132 * 25 * 4096), zeros(image), f"i32={image}", *["i32=128"] * 2, "i32=5",
              *["i32=2"] * 2, *["i32=64"] * 2]),
        *(each(f"implicit {how}", f"implicit_{how}", 528, 256,
               [floats(pixels * 32), floats(288 * 64), zeros(pixels * 64), "i32=64", "i32=88"],
               "implicit") for how in ("plain", "swizzled")),
    ]  # fmt: skip


def tensors() -> list[dict[str, Any]]:
    each = cases_of("twentyfirst_tensors")
    rows, weights, heads = 2112 * 1024, 1024 * 1024, 16 * 2112 * 128
    return [
        *(each(f"dual gemm {how}", f"dual_gemm_{how}", [16, 33], 128,
               [floats(rows, "f16"), *[floats(weights, "f16")] * 2, zeros(rows, "f16"),
                *["i32=1024"] * 2], "dual gemm") for how in ("plain", "padded", "swizzled")),
        *(each(f"recent {how}", f"recent_{how}", [33, 16], 128,
               [*[floats(heads, "f16")] * 3, zeros(heads, "f16"), "i32=2112", "i32=256",
                "f32=0.1275"], "recent") for how in ("plain", "swizzled")),
    ]  # fmt: skip


def layouts() -> list[dict[str, Any]]:
    each = cases_of("twentyfirst_layouts")
    plain, keys, samples, tiles = ("plain", "padded"), 1056 * 2048, 2112 * 1024, 4224
    pixels, strings, groups = 2048 * 1056, 528 * 128, 528
    return [
        *(each(f"sort pairs {how}", f"sort_pairs_{how}", 1056, 512,
               [floats(keys, "u32"), *[zeros(keys, "u32")] * 2], "sort pairs")
          for how in ("together", "apart")),
        *(each(f"fast filter {how}", f"fast_filter_{how}", 2112, 256,
               [floats(samples * 2), floats(512), zeros(samples * 2)], "fast filter")
          for how in plain),
        *(each(f"needleman {how}", f"needleman_{how}", tiles, 32,
               [floats(tiles * 1024, "i32"), floats(tiles * 33, "i32"), floats(tiles * 32, "i32"),
                zeros(tiles * 1024, "i32"), "i32=10"], "needleman") for how in plain),
        *(each(f"colour cube {how}", f"colour_cube_{how}", 264, 512,
               [floats(pixels * 4, "u8"), floats(2197 * 4), zeros(pixels * 4, "u8"),
                f"i32={pixels}"], "colour cube", 2197 * 16) for how in ("fours", "planes")),
        *(each(f"plucked {how}", f"plucked_{how}", 528, 128,
               [floats(strings), floats(strings, "u32"), zeros(strings * 96), "i32=96",
                "f32=0.996"], "plucked") for how in plain),
        *(each(f"gabor {how}", f"gabor_{how}", [64, 33], [16, 16],
               [floats(1040 * 544), zeros(1024 * 528), "i32=1024"], "gabor") for how in plain),
        *(each(f"query groups {how}", f"query_groups_{how}", groups, 128,
               [floats(groups * 1024), *[floats(groups * 256 * 128, "f16")] * 2,
                floats(groups, "u32"), zeros(groups * 1024)], "query groups")
          for how in ("plain", "padded", "swizzled")),
    ]  # fmt: skip


def models() -> list[dict[str, Any]]:
    each = cases_of("twentyfirst_models")
    long, wide, tokens, losses, chosen, rows = 1056, 2112, 2112, 1056, 528, 4224
    cache = floats(512 * 8 * 2048, "f16")
    return [
        each("softmax registers", "softmax_registers", long, 256,
             [floats(long * 10240, "bf16"), zeros(long * 10240, "bf16"), "f32=4"]),
        each("residual rms", "residual_rms", wide, 640,
             [*[floats(wide * 5120, "bf16")] * 2, floats(5120, "bf16"), "f32=0.00001"]),
        each("neox rotary", "neox_rotary", tokens, 512,
             [floats(tokens, "u32"), floats(tokens * 4096, "f16"), floats(tokens * 1024, "f16"),
              floats(4096 * 128), "i32=32", "i32=8"]),
        each("logit gradient", "logit_gradient", losses, 512,
             [floats(losses * 12000, "f16"), floats(losses, "u32"), zeros(losses), "i32=12000",
              "f32=0.5"]),
        each("radix largest", "radix_largest", chosen, 512,
             [floats(chosen * 8192), zeros(chosen * 64), zeros(chosen * 64, "i32"), "i32=64"]),
        each("dropout norm", "dropout_norm", rows, 256,
             [*[floats(rows * 1024)] * 2, *[floats(1024)] * 2, *[zeros(rows * 1024)] * 2,
              "u32=1234", "f32=0.9"]),
        each("paged pieces", "paged_pieces", [32, 66], 128,
             [floats(2112 * 128, "f16"), cache, cache, floats(66 * 48, "u32"), floats(66, "u32"),
              zeros(2112 * 128, "f16"), "f32=0.0884"], shared=768 * 4),
    ]  # fmt: skip


def grids() -> list[dict[str, Any]]:
    each = cases_of("twentyfirst_grids")
    chip, particles, points, units, columns = 1056 * 1056, 704 * 64, 1056 * 256, 16896, 2112 * 216
    volume, cells = 360 * 104 * 72, 256 * 8448
    return [
        each("hotspot pyramid", "hotspot_pyramid", [44, 44], [32, 32],
             [*[floats(chip)] * 2, zeros(chip), *["i32=1056"] * 2, "i32=4", "f32=0.5",
              *["f32=0.1"] * 2, "f32=0.0125"]),
        each("boxes", "boxes", 704, 64,
             [floats(particles * 4), floats(particles), zeros(particles * 4), *["i32=8"] * 2,
              "i32=11", "f32=0.5"]),
        each("nearest inverted", "nearest_inverted", points // 256, 256,
             [floats(points * 34), zeros(points, "i32"), f"i32={points}", "i32=5", "i32=34"]),
        each("layer forward", "layer_forward", units, [16, 16],
             [floats(units * 16 + 1), floats((units * 16 + 1) * 17), zeros(units * 16),
              "i32=16"]),
        each("paths down", "paths_down", 2112, 256,
             [floats(columns * 20, "i32"), floats(columns, "i32"), zeros(columns, "i32"),
              f"i32={columns}", "i32=20"]),
        each("radius four", "radius_four", [11, 12, 2], [32, 8],
             [floats(volume), zeros(volume), "i32=352", "i32=96", "i32=32"]),
        each("life words", "life_words", [2, 2112], 128,
             [floats(cells, "u32"), zeros(cells, "u32"), "i32=256", "i32=8448"]),
    ]  # fmt: skip


def words() -> list[dict[str, Any]]:
    each = cases_of("twentyfirst_words")
    keys, named, edges, texts, elements = (
        1056 * 3072,
        2112 * 256,
        4224 * 128,
        528 * 192,
        4224 * 1024,
    )
    return [
        each("match ranked", "match_ranked", 1056, 256,
             [floats(keys, "u32"), zeros(keys, "u32"), zeros(256 * 1056, "u32"), "i32=8"]),
        each("probed inserts", "probed_inserts", named // 256, 256,
             [*[floats(named, "u32")] * 2, zeros(2 << 20, "u32"), f"u32={(1 << 20) - 1}"]),
        each("hooked", "hooked", edges // 128, 128,
             [*[floats(edges, "u32")] * 2, floats(1 << 18, "u32", "arange"),
              f"u32={(1 << 18) - 1}"]),
        each("horspool", "horspool", texts // 192, 192,
             [floats(texts * 256 + 16, "u8"), floats(12, "u8"), zeros(texts, "u32"), "i32=256"]),
        each("md5 numbers", "md5_numbers", 1056, 256,
             [floats(4, "u32"), zeros(1024, "u32"), "u32=77"]),
        each("coo rows", "coo_rows", elements // 1024, 256,
             [floats(elements // 64, "u32"), floats(elements, "u32"), floats(elements),
              floats(131072), zeros(elements // 24 + 4), "u32=131071"]),
    ]  # fmt: skip


def nature() -> list[dict[str, Any]]:
    each = cases_of("twentyfirst_nature")
    rays, paths, pixels, tours = 1056 * 128, 1056 * 64, 2048 * 1056, 1056
    return [
        each("kd rays", "kd_rays", rays // 128, 128,
             [floats(16384), floats(65536 * 4), floats(rays * 6), zeros(rays), zeros(rays, "u32"),
              f"i32={rays}"]),
        each("libor", "libor", paths // 64, 64,
             [floats(paths * 20), floats(40), zeros(paths), f"i32={paths}", "i32=40", "i32=20",
              "f32=0.25"]),
        each("ssim", "ssim", [64, 132], [32, 8],
             [*[floats(pixels, "u8")] * 2, zeros(pixels), zeros(1), "i32=2048", "i32=1056"]),
        each("two opt", "two_opt", tours, 192,
             [floats(tours * 384), zeros(tours * 384), zeros(tours), "i32=4"]),
    ]  # fmt: skip


def main() -> None:
    cases = [
        *products(), *tensors(), *layouts(), *models(), *grids(), *words(), *nature(),
    ]  # fmt: skip
    write_set("twentyfirst", SOURCES, cases, [])


if __name__ == "__main__":
    main()
