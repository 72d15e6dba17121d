"""Compile the twentieth set of timed kernels, and write twentieth.json.

    python -m tests.silicon.timed.twentieth

Other kernels than those of the sets before, measured after the model of a later commit.
"""

from __future__ import annotations

from typing import Any

from tests.silicon.timed.build import cases_of, write_set
from tests.silicon.timed.third import floats, zeros

SOURCES = {
    "models": "sm_90", "lists": "sm_90", "nature": "sm_90", "codes": "sm_90", "images": "sm_90",
    "arrangements": "sm_90", "products": "sm_90",
}  # fmt: skip


def models() -> list[dict[str, Any]]:
    each = cases_of("twentieth_models")
    rows, gated, tokens, heads, sixteens = 33792, 16896, 2112, 8448, 4224 * 256
    return [
        each("ternary", "ternary", rows // 8, 256,
             [floats(rows * 256, "u32"), floats(1024, "u32"), floats(rows), zeros(rows),
              "f32=0.01"]),
        each("gated groups", "gated_groups", gated // 4, 128,
             [floats(gated * 256), floats(256), zeros(gated * 8, "i32"), zeros(gated * 8),
              "f32=2.5"]),
        each("shrunk", "shrunk", tokens, 128,
             [floats(tokens * 4096, "bf16"), floats(64 * 16 * 4096, "bf16"),
              floats(tokens, "u32"), zeros(tokens * 16), "f32=0.5"]),
        each("splits joined", "splits_joined", heads, 128,
             [floats(heads * 2048), floats(heads * 16), floats(heads // 8, "u32"),
              zeros(heads * 128, "bf16"), zeros(heads)]),
        each("likely enough", "likely_enough", 264, 1024,
             [floats(264 * 32768), floats(264), zeros(264, "i32"), "f32=8", "f32=0.05"]),
        each("word gradients", "word_gradients", heads, 128,
             [floats(heads * 512, "bf16"), floats(heads, "u32"), zeros(8192 * 512), "i32=8192"]),
        each("two of four", "two_of_four", sixteens // 256, 256,
             [floats(sixteens * 16, "f16"), zeros(sixteens * 8, "f16"), zeros(sixteens, "u16")]),
    ]  # fmt: skip


def lists() -> list[dict[str, Any]]:
    each = cases_of("twentieth_lists")
    rows, edges, points, named = 262144, 4224 * 1024, 135168, 528 * 1024
    return [
        each("merge path", "merge_path", rows * 17 // 1024, 128,
             [floats(rows, "u32"), floats(rows * 16, "u32"), floats(rows * 16), floats(65536),
              zeros(rows), f"i32={rows}", "u32=65535"]),
        each("relaxed", "relaxed", edges // 1024, 256,
             [*[floats(edges, "u32")] * 3, *[floats(262144, "u32")] * 2, "u32=262143"]),
        each("leaf points", "leaf_points", points // 128, 128,
             [floats(32768 * 4), floats(points * 3), zeros(points), zeros(points, "u32"),
              f"i32={points}"]),
        each("dictionary", "dictionary", points // 128, 128,
             [floats(points * 48, "u32"), floats(2048 * 256, "u16"), zeros(points, "u32"),
              "i32=48"]),
        each("routes", "routes", edges // 1024, 256,
             [floats(edges, "u32"), floats(1 << 24, "u16"), floats(40 * 256, "u8"),
              zeros(edges, "u8")]),
        each("skip grams", "skip_grams", 8448, 128,
             [floats(33792 * 2, "u32"), *[floats(65536 * 128)] * 2, "u32=65535", "f32=0.025"]),
        each("boosted", "boosted", named // 1024, 256,
             [floats(262144 * 4, "u32"), floats(262144 * 2), floats(named, "u32"),
              zeros(2048), "u32=262143"]),
    ]  # fmt: skip


def nature() -> list[dict[str, Any]]:
    each = cases_of("twentieth_nature")
    cells, waves, shapes, bases, systems = 135168, 1056 * 256, 4224, 8448 * 256, 67584
    return [
        each("neurons", "neurons", cells * 2 // 256, 256,
             [floats(cells * 2), zeros(cells * 2), zeros(cells * 6), f"i32={cells * 2}", "i32=40",
              "f32=0.05"]),
        each("stiff", "stiff", cells // 128, 128,
             [floats(cells), zeros(cells * 3, "f64"), f"i32={cells}", "i32=24", "f64=0.01"]),
        each("spectral lines", "spectral_lines", waves // 256, 256,
             [*[floats(256)] * 3, zeros(waves), "i32=256", "f32=-20", "f32=0.000148"]),
        each("superposed", "superposed", shapes, 128,
             [floats(shapes * 768), floats(768), zeros(shapes)]),
        each("pruned", "pruned", bases // 256, 256,
             [*[floats(bases, "f64")] * 2, floats(128, "f64"), zeros(bases, "f64")]),
        each("photons", "photons", cells // 128, 128,
             [zeros(64 * 64 * 64), zeros(cells), "u32=12345", "f32=0.02", "f32=0.9", "f32=0.8"]),
        each("five diagonals", "five_diagonals", systems // 128, 128,
             [floats(systems * 96, "f64"), floats(480, "f64"), zeros(systems * 96, "f64"),
              f"i32={systems}"]),
        each("repulsion", "repulsion", systems // 128, 128,
             [floats(systems, "f64"), floats(systems * 3, "f64"), floats(64, "f64"),
              zeros(systems, "f64"), f"i32={systems}"]),
    ]  # fmt: skip


def codes() -> list[dict[str, Any]]:
    each = cases_of("twentieth_codes")
    texts, fills, series, products, players = 2112 * 256, 528 * 4, 2112 * 128, 16896, 528 * 128
    return [
        each("chacha", "chacha", texts // 256, 256,
             [floats(11, "u32"), floats(texts * 16, "u32"), zeros(texts * 16, "u32"), "u32=1"]),
        each("argon", "argon", fills // 4, 128,
             [floats(fills * 256, "u64"), zeros(fills * 32 * 128, "u64"), "i32=32"]),
        each("series", "series", series // 128, 128,
             [floats(series * 48, "u32"), zeros(series * 32, "u32"), f"i32={series}"]),
        each("long products", "long_products", products // 4, 128,
             [*[floats(products * 64, "u32")] * 2, zeros(products * 128, "u32")]),
        each("playouts", "playouts", players // 128, 128,
             [floats(players, "u32"), zeros(players * 2, "i32"), "i32=8"]),
    ]  # fmt: skip


def images() -> list[dict[str, Any]]:
    each = cases_of("twentieth_images")
    small, large, points, films = 2048 * 1056, 2048 * 2112, 33792, 264 * 128 * 512
    return [
        each("dual step", "dual_step", [64, 264], [32, 8],
             [*[floats(large)] * 3, *[zeros(large)] * 2, "i32=2048", "i32=2112", "f32=0.25",
              "f32=8"]),
        each("described", "described", points // 4, 128,
             [floats(small, "u8"), floats(points, "u32"), floats(256, "u32"),
              zeros(points * 8, "u32"), "i32=2048", "i32=1056"]),
        each("panorama", "panorama", [64, 264], [32, 8],
             [floats(2048 * 2048 * 4, "u8"), zeros(large * 4, "u8"), "i32=2048", "i32=2048",
              "i32=2112", "f32=640", "f32=-0.02", "f32=0.003"]),
        each("streams", "streams", [64, 132], [32, 8],
             [floats(130 * 68 * 2), floats(small, "u8"), zeros(small, "u8"), "i32=2048",
              "i32=1056", "i32=16"]),
        each("seams", "seams", 264, 512,
             [floats(films, "u8"), zeros(films, "u8"), zeros(264, "u32"), "i32=128"]),
    ]  # fmt: skip


def arrangements() -> list[dict[str, Any]]:
    each = cases_of("twentieth_arrangements")
    plain, keys, sheet, rows = ("plain", "padded"), 528 * 64, 2114 * 1026, 2112 * 256
    return [
        *(each(f"rc4 {how}", f"rc4_{how}", 528, 64,
               [floats(keys * 4, "u32"), zeros(keys * 16, "u32")], "rc4")
          for how in ("own", "beside")),
        *(each(f"red black {how}", f"red_black_{how}", [33, 16], 256,
               [*[floats(sheet)] * 2, zeros(sheet), "i32=2114", "i32=10", "f32=1.5"], "red black")
          for how in ("together", "apart")),
        *(each(f"eigenvalues {how}", f"eigenvalues_{how}", 264, 64,
               [floats(264 * 2048), zeros(264 * 2048)], "eigenvalues") for how in plain),
        *(each(f"transport {how}", f"transport_{how}", 528, 64,
               [floats(528 * 4096), zeros(528 * 4096), "i32=12", "f32=4"], "transport")
          for how in plain),
        *(each(f"row streams {how}", f"row_streams_{how}", rows // 256, 256,
               [floats(rows + 1, "u32"), floats(rows * 16 + 3, "u32"), floats(rows * 16 + 3),
                floats(65536), zeros(rows), "u32=65535"], "row streams") for how in plain),
        *(each(f"bands {how}", f"bands_{how}", 528, 256,
               [floats(528 * 16384), zeros(528 * 1280), "i32=4"], "bands", 32 * pitch * 4)
          for how, pitch in zip(plain, (256, 257), strict=True)),
        *(each(f"resampled {how}", f"resampled_{how}", 1056, 320,
               [floats(1056 * 1176 + 32), floats(5120), zeros(1056 * 1280)], "resampled")
          for how in plain),
    ]  # fmt: skip


def products() -> list[dict[str, Any]]:
    each = cases_of("twentieth_products")
    return [
        *(each(f"nearest code {how}", f"nearest_code_{how}", 528, 128,
               [floats(33792 * 64, "bf16"), floats(65536, "bf16"), floats(1024),
                zeros(33792, "i32"), "i32=16"], "nearest code") for how in ("plain", "padded")),
        *(each(f"kept blocks {how}", f"kept_blocks_{how}", [8, 66], 128,
               [floats(66 * 24 * 2048, "bf16"), floats(66 * 24, "u32"),
                floats(2048 * 1024, "bf16"), zeros(4224 * 1024, "bf16"), "i32=1024", "i32=24",
                "u32=63"], "kept blocks") for how in ("plain", "swizzled")),
    ]  # fmt: skip


def main() -> None:
    cases = [
        *models(), *lists(), *nature(), *codes(), *images(), *arrangements(), *products(),
    ]  # fmt: skip
    write_set("twentieth", SOURCES, cases, [])


if __name__ == "__main__":
    main()
