"""Compile the twenty-second set of timed kernels, and write twentysecond.json.

    python -m tests.silicon.timed.twentysecond

Other kernels than those of the sets before, measured after the model of a later commit.
"""

from __future__ import annotations

from typing import Any

from tests.silicon.timed.build import cases_of, write_set
from tests.silicon.timed.third import floats, zeros

SOURCES = {
    "tensors": "sm_90", "layouts": "sm_90", "primitives": "sm_90", "products": "sm_90",
    "models": "sm_90", "graphs": "sm_90", "nature": "sm_90", "images": "sm_90",
}  # fmt: skip
PLAIN = ("plain", "padded")


def tensors() -> list[dict[str, Any]]:
    each = cases_of("twentysecond_tensors")
    three, head = (*PLAIN, "swizzled"), 1024 * 64
    return [
        *(each(f"by rows {how}", f"by_rows_{how}", [12, 22], 256,
               [floats(2816 * 1024, "bf16"), floats(1024 * 1536, "bf16"),
                zeros(2816 * 1536, "bf16"), "i32=1536", "i32=1024"], "by rows",
               56832 if how == "padded" else 49152) for how in three),
        *(each(f"w8a8 {how}", f"w8a8_{how}", [16, 17], 128,
               [floats(2176 * 4096, "u8"), floats(1024 * 4096, "u8"), floats(2176), floats(1024),
                zeros(2176 * 1024, "f16"), "i32=1024", "i32=4096"], "w8a8") for how in three),
        *(each(f"shared heads {how}", f"shared_heads_{how}", [8, 68], 256,
               [floats(68 * head, "bf16"), *[floats(17 * head, "bf16")] * 2,
                zeros(68 * head, "bf16"), "i32=1024", "f32=0.1803"], "shared heads")
          for how in PLAIN),
    ]  # fmt: skip


def layouts() -> list[dict[str, Any]]:
    each = cases_of("twentysecond_layouts")
    elements, samples, series = 1056 * 1120 * 2, 2112 * 2048, 1056 * 64
    return [
        *(each(f"syr2k {how}", f"syr2k_{how}", 276, 256,
               [*[floats(1472 * 512)] * 2, zeros(1472 * 1472), "i32=1472", "i32=512"], "syr2k")
          for how in PLAIN),
        *(each(f"adjoint {how}", f"adjoint_{how}", [35, 33], [32, 8],
               [floats(elements, "f64"), zeros(elements, "f64"), "i32=1056", "i32=1120"],
               "adjoint") for how in (*PLAIN, "swizzled")),
        *(each(f"butterflies {how}", f"butterflies_{how}", 2112, 256,
               [floats(samples), floats(1024), zeros(samples)], "butterflies") for how in PLAIN),
        *(each(f"warping {how}", f"warping_{how}", 1056, 64,
               [*[floats(series)] * 2, zeros(series * 64), zeros(1056, "i32")], "warping")
          for how in PLAIN),
    ]  # fmt: skip


def primitives() -> list[dict[str, Any]]:
    each = cases_of("twentysecond_primitives")
    words, keys, puts, near = 1320 * 4096, 2112 * 1024, 528 * 64, 264 * 128
    return [
        *(each(f"tile scan {how}", f"tile_scan_{how}", 1320, 256,
               [floats(words, "u32"), zeros(words, "u32"), zeros(1320, "u32")], "tile scan")
          for how in PLAIN),
        *(each(f"raked {how}", f"raked_{how}", 2112, 128,
               [floats(keys, "u32"), zeros(keys, "u32"), "i32=8"], "raked") for how in PLAIN),
        *(each(f"binomial {how}", f"binomial_{how}", 528, 64,
               [*[floats(puts)] * 2, zeros(puts), "f32=1.02", "f32=0.51", "f32=0.999"],
               "binomial") for how in PLAIN),
        *(each(f"bins {how}", f"bins64_{how}", 2112, 64,
               [floats(2112 * 3840, "u32"), zeros(64, "u32")], "bins")
          for how in ("neighbours", "shuffled")),
        *(each(f"heaps {how}", f"heaps_{how}", 264, 128,
               [floats(near * 2), floats(264 * 320), zeros(near * 16)], "heaps")
          for how in ("rows", "padded", "columns")),
    ]  # fmt: skip


def products() -> list[dict[str, Any]]:
    each = cases_of("twentysecond_products")
    columns, many, rows = 528 * 128, 8448 * 256, 16896
    return [
        each("bicg", "bicg", [16, 66], 256,
             [floats(4224 * 4096), floats(4096), floats(4224), zeros(4224), zeros(4096),
              "i32=4096"]),
        each("gram schmidt", "gram_schmidt", 528, 128,
             [floats(columns * 64), floats(64), zeros(columns), f"i32={columns}", "f32=0.02"]),
        each("small batches", "small_batches", 2112, 128,
             [*[floats(many, "f64")] * 2, zeros(many, "f64")]),
        each("five bits", "five_bits", rows // 8, 256,
             [floats(rows * 64 * 11, "u16"), floats(512, "u32"), floats(128), zeros(rows),
              "i32=64"]),
    ]  # fmt: skip


def models() -> list[dict[str, Any]]:
    each = cases_of("twentysecond_models")
    cache, tokens, scores, planes = 776 * 16384, 4224, 33792 * 1024, 1056 * 4096
    return [
        each("blocks copied", "blocks_copied", [264, 2], 256,
             [*[floats(cache, "f16")] * 2, floats(264, "u32")]),
        each("experts joined", "experts_joined", tokens, 256,
             [floats(tokens * 8192, "bf16"), floats(tokens * 4), floats(tokens * 4, "u32"),
              zeros(tokens * 2048, "bf16"), f"u32={tokens * 4}"]),
        each("bias gradient", "bias_gradient", [8, 33], [32, 8],
             [floats(8448 * 2048, "bf16"), zeros(2048), "i32=2048"]),
        each("triangle softmax", "triangle_softmax", 8448, 128,
             [floats(scores, "f16"), "f32=4"]),
        each("depthwise seven", "depthwise_seven", [4, 1056], [32, 8],
             [floats(planes, "f16"), floats(96 * 49), zeros(planes, "f16"), "i32=96"]),
    ]  # fmt: skip


def graphs() -> list[dict[str, Any]]:
    each = cases_of("twentysecond_graphs")
    rows, pages, pairs, chains = 33792, 270336, 4224, 1056
    return [
        each("block rows", "block_rows", rows // 16, 256,
             [floats(rows, "u32"), floats(rows * 15, "u32"), floats(rows * 240),
              floats(131072), zeros(rows * 4), "u32=32767"]),
        each("pulled ranks", "pulled_ranks", pages // 32, 256,
             [floats(pages, "u32"), floats(pages * 24, "u32"), floats(pages * 2),
              zeros(pages * 2), f"u32={pages}", "f32=0.85"]),
        each("wedges", "wedges", 4224, 256,
             [floats(16384 * 64, "u32"), zeros(4224, "u32")]),
        each("affine gaps", "affine_gaps", pairs // 4, 128,
             [floats(pairs * 64, "u8"), floats(pairs * 192, "u8"), floats(1024, "u8"),
              zeros(pairs, "i32"), "i32=11", "i32=1"]),
        each("chain order", "chain_order", chains, 64,
             [floats(chains * 49, "u8"), zeros(chains * 48, "u32"),
              zeros(chains * 48 * 48, "u8")]),
    ]  # fmt: skip


def nature() -> list[dict[str, Any]]:
    each = cases_of("twentysecond_nature")
    atoms, points, voxels, texts = 528 * 128, 1024 * 1056, 270000, 1056 * 1024
    return [
        each("listed forces", "listed_forces", atoms // 128, 128,
             [floats(atoms * 4), floats(atoms, "u32"), floats(atoms * 79, "u32"),
              zeros(atoms * 4), f"i32={atoms}", "f32=1"]),
        each("wave tile", "wave_tile", [32, 132], [32, 8],
             [floats(1028 * 1060, "f64"), *[floats(points, "f64")] * 2, "i32=1024"]),
        each("scanned heads", "scanned_heads", 528, 256,
             [*[floats(voxels)] * 3, *[zeros(voxels)] * 2, f"i32={voxels}"]),
        each("galaxies", "galaxies", 264, 256,
             [*[floats(264 * 256)] * 3, zeros(16, "u32")]),
        each("blowfish", "blowfish", 1056, 256,
             [floats(18, "u32"), floats(1024, "u32"), floats(texts * 2, "u32"),
              zeros(texts * 2, "u32")]),
    ]  # fmt: skip


def images() -> list[dict[str, Any]]:
    each = cases_of("twentysecond_images")
    pixels, rows = 8448 * 4096, 4224
    return [
        each("even tones", "even_tones", 264, 512,
             [floats(256, "u32"), floats(pixels, "u8"), zeros(pixels, "u8"),
              f"i32={pixels // 16}"]),
        each("looks alike", "looks_alike", [32, 132], [32, 8],
             [floats(1032 * 1064), zeros(1024 * 1056), "i32=1024", "f32=0.5"]),
        each("sums along", "sums_along", rows, 256,
             [floats(rows * 4096, "u8"), zeros(rows * 4096, "u32")]),
    ]  # fmt: skip


def main() -> None:
    cases = [
        *tensors(), *layouts(), *primitives(), *products(), *models(), *graphs(), *nature(),
        *images(),
    ]  # fmt: skip
    write_set("twentysecond", SOURCES, cases, [])


if __name__ == "__main__":
    main()
