"""Compile the thirty-seventh set of timed kernels, and write thirtyseventh.json.

    python -m tests.silicon.timed.thirtyseventh

Other kernels than those of the sets before, measured after the model of a later commit.
"""

from __future__ import annotations

from typing import Any

from tests.silicon.timed.build import cases_of, write_set
from tests.silicon.timed.third import floats, zeros
from tests.silicon.timed.thirtyfifth import product

SOURCES = dict.fromkeys(("products", "layers", "rows", "grids"), "sm_90a")
PLAIN = ("plain", "padded")
TURNED = ("plain", "swizzled")
SWIZZLED = (*PLAIN, "swizzled")


def products() -> list[dict[str, Any]]:
    each = cases_of("thirtyseventh_products")
    stages, heads = {"padded": 3 * 256 * 72 * 2}, 28 * 768 * 64
    rooms = {"plain": (64, 64), "padded": (72, 68)}
    return [
        *(each(f"half sums {how}", f"half_sums_{how}", [19, 15], 256,
               product(1920, 2432, 1024, "f16", "f16"), "half sums",
               stages.get(how, 3 * 256 * 64 * 2)) for how in SWIZZLED),
        *(each(f"both by depth {how}", f"both_by_depth_{how}", [22, 31], 128,
               [floats(1024 * 1984, "bf16"), floats(1024 * 1408, "bf16"), zeros(1984 * 1408),
                "i32=1984", "i32=1408", "i32=1024"], "both by depth") for how in TURNED),
        *(each(f"three tfloats {how}", f"three_tfloats_{how}", [17, 23], 128,
               product(1472, 1088, 768, "f32", "f32"), "three tfloats") for how in PLAIN),
        *(each(f"bytes added {how}", f"bytes_added_{how}", [13, 7, 6], 256,
               product(896, 832, 3840, "i8", "i32"), "bytes added") for how in TURNED),
        *(each(f"wmma attention {how}", f"wmma_attention_{how}", [12, 28], 128,
               [*[floats(heads, "f16")] * 3, zeros(heads), "i32=768", "f32=0.18034"],
               "wmma attention", 64 * (4 * 2 * wide + 2 * 4 * words) + 1024)
          for how, (wide, words) in rooms.items()),
        each("persistent sums", "persistent_sums", 132, 256,
             [floats(2176 * 896, "f16"), floats(2944 * 896, "f16"), zeros(2176 * 2944, "f16"),
              "i32=17", "i32=23", "i32=896"], shared=3 * 256 * 64 * 2),
    ]  # fmt: skip


def layers() -> list[dict[str, Any]]:
    each = cases_of("thirtyseventh_layers")
    steps, small = 13 * 5760, 35_000 * 256
    return [
        *(each(f"dilated {how}", f"dilated_{how}", [45, 2, 13], 256,
               [floats(steps * 192, "f16"), floats(3 * 128 * 192, "f16"), floats(128),
                zeros(steps * 128, "f16"), "i32=5760", "i32=8"], "dilated") for how in TURNED),
        *(each(f"few tokens {how}", f"few_tokens_{how}", 203, 128,
               product(16, 12992, 3072, "f16", "f16"), "few tokens") for how in PLAIN),
        *(each(f"doubles ahead {how}", f"doubles_ahead_{how}", [19, 21], 256,
               product(1344, 1216, 512, "f64", "f64"), "doubles ahead") for how in PLAIN),
        *(each(f"cheapest ways {how}", f"cheapest_ways_{how}", [21, 25], 128,
               product(1600, 1344, 512, "i16", "i16"), "cheapest ways") for how in PLAIN),
        each("small by shuffles", "small_by_shuffles", 8750, 128,
             [*[floats(small)] * 2, zeros(small), "i32=35000"]),
        each("turned by vector", "turned_by_vector", [8, 100], 128,
             [floats(9600 * 4096), floats(9600), zeros(4096), "i32=4096", "i32=96"]),
    ]  # fmt: skip


def rows() -> list[dict[str, Any]]:
    each = cases_of("thirtyseventh_rows")
    box, words, series = 416 * 117 * 352, 3100 * 4096, 21120 * 768
    matrices, groups, pixels, small = 6000 * 2048, 3300 * 128, 512 * 380, 17_000_000
    return [
        *(each(f"axes reversed {how}", f"axes_reversed_{how}", [11, 13, 117], [32, 8],
               [floats(box), zeros(box)], "axes reversed") for how in SWIZZLED),
        *(each(f"segments summed {how}", f"segments_summed_{how}", 3100, 256,
               [floats(words, "u32"), zeros(words, "u32")], "segments summed") for how in PLAIN),
        *(each(f"channel moments {how}", f"channel_moments_{how}", [30, 53], [32, 8],
               [floats(960 * 53 * 256), zeros(2 * 53 * 960), "i32=960", "i32=256"],
               "channel moments") for how in PLAIN),
        *(each(f"inverses of four {how}", f"inverses_of_four_{how}", 6000, 128,
               [floats(matrices), zeros(matrices)], "inverses of four") for how in PLAIN),
        *(each(f"fading averages {how}", f"fading_averages_{how}", 330, 64,
               [floats(series), zeros(series), "i32=768", "f32=0.0625"], "fading averages")
          for how in SWIZZLED),
        *(each(f"hashed records {how}", f"hashed_records_{how}", 4000, 96,
               [floats(4000 * 96 * 32, "u32"), zeros(4000 * 96, "u32")], "hashed records")
          for how in TURNED),
        *(each(f"one exponent {how}", f"one_exponent_{how}", 3300, 128,
               [floats(groups * 32), zeros(groups * 32, "i8"), zeros(groups, "u8")],
               "one exponent") for how in PLAIN),
        each("pixel losses", "pixel_losses", [760, 9], 128,
             [floats(9 * 21 * pixels), floats(9 * pixels, "u8"), zeros(9 * pixels),
              f"i32={pixels // 2}"]),
        each("laid out", "laid_out", 16000, 128,
             [floats(16000 * 1024, "f16"), zeros(32768 * 1024, "f16"), "i32=8", "u32=32767"]),
        each("greatest by key", "greatest_by_key", 500, 256,
             [*[floats(6_000_000, "u32")] * 2, zeros(1 << 17, "u32"), "i32=1500000",
              "u32=131071"]),
        each("gelu gradient", "gelu_gradient", 301, 384,
             [*[floats(small * 2, "bf16")] * 2, zeros(small * 2, "bf16"), f"i32={small // 4}"]),
    ]  # fmt: skip


def grids() -> list[dict[str, Any]]:
    each = cases_of("thirtyseventh_grids")
    symmetric, film, rows, moduli = 600 * 4096, 6000 * 2048, 3_000_000, 15000 * 128
    return [
        *(each(f"symmetric factors {how}", f"symmetric_factors_{how}", 600, 128,
               [floats(symmetric), zeros(symmetric)], "symmetric factors") for how in PLAIN),
        *(each(f"film cosines {how}", f"film_cosines_{how}", 6000, 128,
               [floats(film, "i16"), zeros(film, "i16"), "i32=500"], "film cosines")
          for how in PLAIN),
        *(each(f"folded strands {how}", f"folded_strands_{how}", 610, 96,
               [floats(610 * 95, "u8"), zeros(610, "i32")], "folded strands")
          for how in ("exact", "padded")),
        *(each(f"heat downwards {how}", f"heat_downwards_{how}", [60, 47], 256,
               [floats(1920 * 1504), zeros(1920 * 1504), "i32=1920", "i32=1504", "f32=0.2"],
               "heat downwards") for how in PLAIN),
        each("diagonals", "diagonals", 15625, 192,
             [floats(9 * rows), floats(rows), zeros(rows), f"i32={rows}", "i32=150",
              "i32=21000"]),
        each("elliptic", "elliptic", 15000, 128, [floats(moduli, "f64"), zeros(2 * moduli, "f64")]),
        each("digits of pi", "digits_of_pi", 700, 64, [zeros(44800, "u8"), "i32=12"]),
    ]  # fmt: skip


def main() -> None:
    cases = [*products(), *layers(), *rows(), *grids()]
    write_set("thirtyseventh", SOURCES, cases, [])


if __name__ == "__main__":
    main()
