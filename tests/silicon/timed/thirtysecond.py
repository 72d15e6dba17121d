"""Compile the thirty-second set of timed kernels, and write thirtysecond.json.

    python -m tests.silicon.timed.thirtysecond

Other kernels than those of the sets before, measured after the model of a later commit.
"""

from __future__ import annotations

from typing import Any

from tests.silicon.timed.build import cases_of, write_set
from tests.silicon.timed.third import floats, zeros

SOURCES = dict.fromkeys(("tensors", "layouts", "singles"), "sm_90")
PLAIN = ("plain", "padded")
ROWS = ("rows", "padded")
TURNED = ("plain", "swizzled")
SWIZZLED = (*PLAIN, "swizzled")


def tensors() -> list[dict[str, Any]]:
    each = cases_of("thirtysecond_tensors")
    heads, pictures = 48 * 1024 * 64, 32 * 64 * 64 * 64
    return [
        *(each(f"half totals {how}", f"half_totals_{how}", [16, 32], 256,
               [floats(4096 * 1024, "f16"), floats(1024 * 2048, "f16"),
                zeros(4096 * 2048, "f16"), "i32=2048", "i32=1024"], "half totals")
          for how in SWIZZLED),
        *(each(f"first attention {how}", f"first_attention_{how}", [16, 48], 128,
               [*[floats(heads, "f16")] * 3, zeros(heads, "f16"), "i32=1024"],
               "first attention") for how in PLAIN),
        *(each(f"k down {how}", f"k_down_{how}", [16, 32], 128,
               [*[floats(1024 * 2048)] * 2, zeros(2048 * 2048), *["i32=2048"] * 2, "i32=1024"],
               "k down") for how in PLAIN),
        *(each(f"wmma of bytes {how}", f"wmma_of_bytes_{how}", [16, 32], 256,
               [floats(4096 * 1024, "u8"), floats(2048 * 1024, "u8"),
                zeros(4096 * 2048, "i32"), "i32=2048", "i32=1024"], "wmma of bytes")
          for how in PLAIN),
        *(each(f"projected heads {how}", f"projected_heads_{how}", [24, 64], 128,
               [floats(4096 * 768, "bf16"), floats(1536 * 768, "bf16"), floats(1024 * 64),
                zeros(4096 * 1536, "bf16"), "i32=768", "i32=1023"], "projected heads")
          for how in PLAIN),
        *(each(f"turned by eights {how}", f"turned_by_eights_{how}", [64, 64], 128,
               [floats(4096 * 4096, "f16"), zeros(4096 * 4096, "f16"), *["i32=4096"] * 2],
               "turned by eights") for how in TURNED),
        *(each(f"weight bytes {how}", f"weight_bytes_{how}", [32, 16], 256,
               [floats(1024 * 1024, "f16"), floats(4096 * 1024, "u8"), floats(4096),
                zeros(1024 * 4096, "f16"), "i32=4096", "i32=1024"], "weight bytes")
          for how in PLAIN),
        *(each(f"taps of nine {how}", f"taps_of_nine_{how}", [4, 8, 32], 128,
               [floats(pictures, "f16"), floats(9 * 4096, "f16"), zeros(pictures, "f16"),
                *["i32=64"] * 2], "taps of nine") for how in SWIZZLED),
    ]  # fmt: skip


def layouts() -> list[dict[str, Any]]:
    each = cases_of("thirtysecond_layouts")
    keys, items, points = 1056 * 2048, 2640 * 2048, 528 * 6 * 256
    cells, poses, bags = 512 * 528, 1056 * 128 * 16, 528 * 256
    return [
        *(each(f"triangle times {how}", f"triangle_times_{how}", [32, 16], 256,
               [floats(1024 * 1024), floats(1024 * 2048), zeros(1024 * 2048), "i32=1024",
                "i32=2048"], "triangle times") for how in ROWS),
        *(each(f"bitonic eights {how}", f"bitonic_eights_{how}", 1056, 256,
               [floats(keys, "u64"), zeros(keys, "u64")], "bitonic eights") for how in PLAIN),
        *(each(f"headed sums {how}", f"headed_sums_{how}", 2640, 256,
               [floats(items, "u32"), floats(items), zeros(items)], "headed sums")
          for how in PLAIN),
        *(each(f"byte counters {how}", f"byte_counters_{how}", 2112, 128,
               [floats(2112 * 15 * 2048, "u8"), zeros(2112 * 64, "u32"), "i32=15"],
               "byte counters") for how in ("rows", "columns", "scattered")),
        *(each(f"cluster totals {how}", f"cluster_totals_{how}", 528, 256,
               [floats(points * 32, "u8"), floats(points, "u32"), zeros(528 * 2048, "i32"),
                "i32=6"], "cluster totals") for how in PLAIN),
        *(each(f"fourier plane {how}", f"fourier_plane_{how}", 1056, 512,
               [floats(1056 * 8192), zeros(1056 * 8192)], "fourier plane") for how in PLAIN),
        *(each(f"implicit lines {how}", f"implicit_lines_{how}", 792, 64,
               [floats(792 * 4096), floats(792 * 64), zeros(792 * 4096), "i32=2"],
               "implicit lines") for how in (*ROWS, "columns")),
        *(each(f"listed cells {how}", f"listed_cells_{how}", [32, 66], [16, 8],
               [floats(cells * 8), zeros(cells * 8), "i32=512", "i32=528"], "listed cells")
          for how in ("together", "padded", "apart")),
        *(each(f"half stored {how}", f"half_stored_{how}", 2080, 256,
               [floats(4096 * 4096), floats(4096), zeros(2080 * 128), "i32=4096"],
               "half stored") for how in PLAIN),
        *(each(f"one query {how}", f"one_query_{how}", 1024, 128,
               [floats(1024 * 64, "f16"), *[floats(1024 * 384 * 64, "f16")] * 2,
                zeros(1024 * 64, "f16"), "i32=384"], "one query") for how in ROWS),
        *(each(f"bytes turned {how}", f"bytes_turned_{how}", [64, 64], 256,
               [floats(4096 * 4096), zeros(4096 * 1024, "u32"), zeros(64 * 4096),
                *["i32=4096"] * 2], "bytes turned") for how in PLAIN),
        *(each(f"up and down {how}", f"up_and_down_{how}", 2640, 512,
               [floats(2640 * 1024, "f64"), zeros(2640 * 1024, "f64")], "up and down")
          for how in PLAIN),
        *(each(f"chained poses {how}", f"chained_poses_{how}", 1056, 128,
               [floats(poses * 8), zeros(poses), "i32=8"], "chained poses") for how in TURNED),
        *(each(f"few words {how}", f"few_words_{how}", 528, 256,
               [floats(128 * 32), floats(bags * 2, "u32"), zeros(bags * 32), f"i32={bags}"],
               "few words") for how in PLAIN),
    ]  # fmt: skip


def singles() -> list[dict[str, Any]]:
    each = cases_of("thirtysecond_singles")
    keys, words = 2112 * 128, 2112 * 256 * 8
    return [
        each("placed words", "placed_words", 4096, 128,
             [floats(16384, "u32"), floats(16384 * 1024, "f16"), floats(512 * 1024, "f16"),
              *[floats(1024, "f16")] * 2, zeros(16384 * 1024, "f16"), "u32=16383", "u32=511"]),
        each("normed bytes", "normed_bytes", 4224, 256,
             [floats(4224 * 4096, "f16"), floats(4096, "f16"), zeros(4224 * 4096, "u8"),
              zeros(4224)]),
        each("generations", "generations", [64, 64], 256,
             [floats(4096 * 2048, "u8"), zeros(4096 * 2048, "u8"), "i32=4096", "i32=2048"]),
        each("bodies in doubles", "bodies_in_doubles", 264, 128,
             [floats(264 * 128 * 4, "f64"), floats(768 * 4, "f64"), zeros(264 * 128 * 3, "f64"),
              "i32=6", "f64=0.01"]),
        each("leading of rows", "leading_of_rows", 2112, 128,
             [floats(8448 * 2048), zeros(8448 * 32), "i32=2048"]),
        each("batcher network", "batcher_network", 2112, 128,
             [floats(keys * 32, "u32"), zeros(keys * 32, "u32"), f"i32={keys}"]),
        each("pyramid step", "pyramid_step", [64, 64], [32, 8],
             [floats(4096 * 2048), zeros(2048 * 1024), "i32=4096", "i32=2048"]),
        each("words drawn", "words_drawn", 2112, 256,
             [floats(2112 * 8192, "f16"), floats(2112), zeros(2112, "u32"), "f32=4"]),
        each("normal fours", "normal_fours", 2112, 256,
             [floats(words, "u32"), floats(words // 8), floats(16), zeros(words * 8, "f16"),
              f"i32={words}"]),
        each("first pictures", "first_pictures", [16, 128], 256,
             [floats(128 * 3 * 16384), floats(432), floats(16), zeros(128 * 16 * 4096)]),
    ]  # fmt: skip


def main() -> None:
    cases = [*tensors(), *layouts(), *singles()]
    write_set("thirtysecond", SOURCES, cases, [])


if __name__ == "__main__":
    main()
