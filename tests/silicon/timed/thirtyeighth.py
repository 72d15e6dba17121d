"""Compile the thirty-eighth set of timed kernels, and write thirtyeighth.json.

    python -m tests.silicon.timed.thirtyeighth

Other kernels than those of the sets before, measured after the model of a later commit.
"""

from __future__ import annotations

from typing import Any

from tests.silicon.timed.build import cases_of, write_cubins, write_set
from tests.silicon.timed.third import floats, zeros
from tests.silicon.timed.thirtyfifth import product

SOURCES = dict.fromkeys(("products", "layers", "rows", "grids"), "sm_90a")
PLAIN = ("plain", "padded")
TURNED = ("plain", "swizzled")
SWIZZLED = (*PLAIN, "swizzled")
COLUMNS = ("rows", "padded", "columns")


def products() -> list[dict[str, Any]]:
    each = cases_of("thirtyeighth_products")
    stages, heads, parts = {"padded": 4 * 16384}, 20 * 1536 * 128, 16 * 1920 * 80
    return [
        *(each(f"six warps {how}", f"six_warps_{how}", [17, 23], 192,
               product(2208, 2176, 1536, "bf16", "bf16"), "six warps", stages.get(how, 4 * 14336))
          for how in SWIZZLED),
        *(each(f"sixteen warps {how}", f"sixteen_warps_{how}", [11, 18], 512,
               product(4608, 1408, 1024, "f16", "f16"), "sixteen warps", 3 * 384 * 64 * 2)
          for how in TURNED),
        *(each(f"wmma tfloats {how}", f"wmma_tfloats_{how}", [19, 21], 128,
               product(1344, 1216, 1024, "f32", "f32"), "wmma tfloats") for how in PLAIN),
        *(each(f"unsigned bytes {how}", f"unsigned_bytes_{how}", [15, 27], 256,
               [floats(1728 * 4096, "u8"), floats(4096 * 1920, "i8"), zeros(1728 * 1920),
                floats(1920, "i32"), "i32=1920", "i32=4096", "i32=128",
                "f32=0.001"], "unsigned bytes") for how in TURNED),
        *(each(f"causal wide heads {how}", f"causal_wide_heads_{how}", [24, 20], 128,
               [*[floats(heads, "bf16")] * 3, zeros(heads, "bf16"), "i32=1536", "f32=0.1275"],
               "causal wide heads", 5 * 64 * 128 * 2) for how in TURNED),
        *(each(f"scores of eighty {how}", f"scores_of_eighty_{how}", [30, 15, 16], 256,
               [*[floats(parts, "f16")] * 2, zeros(16 * 1920 * 1920, "f16"), "i32=1920",
                "f32=0.1118"], "scores of eighty") for how in PLAIN),
    ]  # fmt: skip


def layers() -> list[dict[str, Any]]:
    each = cases_of("thirtyeighth_layers")
    pixels, triangles, picture, samples = 7000 * 128, 3000 * 4, 1024 * 768, 5_000_000
    stages = {"plain": 3 * 128 * 64 * 2, "padded": 3 * 128 * 72 * 2}
    return [
        *(each(f"sliced depth {how}", f"sliced_depth_{how}", [12, 11], 256,
               product(704, 768, 4096, "f16", "f16"), "sliced depth", stages[how])
          for how in PLAIN),
        each("tensor rate", "tensor_rate", 264, 256,
             [floats(2048, "f16"), zeros(264 * 256), "i32=400"]),
        *(each(f"tall tiles {how}", f"tall_tiles_{how}", [23, 13], 128,
               product(1664, 1472, 640, "f32", "f32"), "tall tiles") for how in PLAIN),
        *(each(f"pixels by channels {how}", f"pixels_by_channels_{how}", 7000, 128,
               [floats(pixels * 32), floats(512), floats(16), zeros(pixels * 16)],
               "pixels by channels") for how in SWIZZLED),
        *(each(f"layer of signs {how}", f"layer_of_signs_{how}", [27, 31], 256,
               product(1984, 1728, 64, "u32", "i32"), "layer of signs") for how in PLAIN),
        *(each(f"triangles of doubles {how}", f"triangles_of_doubles_{how}", 3000, 128,
               [floats(triangles * 1024, "f64"), floats(triangles * 128, "f64"),
                zeros(triangles * 128, "f64")], "triangles of doubles") for how in PLAIN),
        each("norm over channels", "norm_over_channels", [49, 20], 128,
             [floats(20 * 96 * 12544), floats(96), floats(96), zeros(20 * 96 * 12544), "i32=96",
              "i32=6272"]),
        each("samples of a picture", "samples_of_a_picture", 19532, 256,
             [floats(picture * 4), floats(samples * 2), zeros(samples * 4), "i32=1024", "i32=768",
              f"i32={samples}"]),
    ]  # fmt: skip


def rows() -> list[dict[str, Any]]:
    each = cases_of("thirtyeighth_rows")
    pictures, peaks, tokens, lines = 5 * 4032 * 3008, 9000 * 1536, 3000 * 96, 1500 * 8192
    names, numbers, classes = 16_000_000, 24_000_000, 50_001 * 1000
    return [
        *(each(f"short numbers turned {how}", f"short_numbers_turned_{how}", [63, 47, 5], [32, 16],
               [floats(pictures, "u16"), zeros(pictures, "u16")], "short numbers turned")
          for how in SWIZZLED),
        *(each(f"running peaks {how}", f"running_peaks_{how}", 9000, 192,
               [floats(peaks), zeros(peaks)], "running peaks") for how in TURNED),
        *(each(f"directions of cells {how}", f"directions_of_cells_{how}", [4, 288], 128,
               [floats(4100 * 2305), zeros(512 * 288 * 16), "i32=4100"], "directions of cells")
          for how in COLUMNS),
        *(each(f"two experts {how}", f"two_experts_{how}", 3000, 96,
               [floats(tokens * 64), zeros(tokens * 2, "i32"), zeros(tokens * 2)], "two experts")
          for how in SWIZZLED),
        *(each(f"lines of 4096 {how}", f"lines_of_4096_{how}", 1500, 256,
               [floats(lines), zeros(lines)], "lines of 4096", room)
          for how, room in (("plain", 4096 * 8), ("padded", 4352 * 8))),
        each("buckets named", "buckets_named", 396, 384,
             [floats(names, "u32"), zeros(1 << 20, "u32"), f"i32={names // 4}",
              f"u32={(1 << 20) - 1}"]),
        each("norm of a difference", "norm_of_a_difference", 660, 256,
             [*[floats(numbers)] * 2, zeros(1), f"i32={numbers // 4}"]),
        each("logarithms of shares", "logarithms_of_shares", 12501, 128,
             [floats(classes, "bf16"), zeros(classes, "bf16"), "i32=50001"]),
    ]  # fmt: skip


def grids() -> list[dict[str, Any]]:
    each = cases_of("thirtyeighth_grids")
    small, bodies, strings, rates = 12000 * 1024, 700 * 1024, 64_000 * 12, 2376 * 192
    points, doubles = 8000 * 128, 9_000_000
    return [
        *(each(f"boxes that run {how}", f"boxes_that_run_{how}", [60, 34, 3], 64,
               [floats(3856 * 2176 * 3), zeros(3840 * 2176 * 3), "i32=3856"], "boxes that run")
          for how in PLAIN),
        *(each(f"letters in common {how}", f"letters_in_common_{how}", 1000, 64,
               [*[floats(strings, "u32")] * 2, zeros(64_000, "i32"), "i32=64000"],
               "letters in common") for how in COLUMNS),
        *(each(f"clusters of eight bodies {how}", f"clusters_of_eight_bodies_{how}", 700, 256,
               [*[floats(bodies)] * 2, "i32=100", "f32=0.001"], "clusters of eight bodies")
          for how in PLAIN),
        *(each(f"matrices of eight {how}", f"matrices_of_eight_{how}", 12000, 128,
               [*[floats(small)] * 2, zeros(small)], "matrices of eight") for how in PLAIN),
        each("plate that bends", "plate_that_bends", [65, 750], [64, 4],
             [floats(4100 * 3000), zeros(4100 * 3000), "i32=4100", "i32=3000", "f32=0.01"]),
        each("rates of growth", "rates_of_growth", 2376, 192,
             [floats(rates), zeros(rates), "i32=240"]),
        each("sums of polynomials", "sums_of_polynomials", 8000, 128,
             [floats(points, "f64"), floats(65, "f64"), floats(130, "f64"),
              zeros(points, "f64"), "i32=64"]),
        each("stream of doubles", "stream_of_doubles", 8790, 512,
             [*[floats(doubles, "f64")] * 3, zeros(doubles, "f64"), f"i32={doubles // 2}"]),
    ]  # fmt: skip


def main() -> None:
    write_cubins("thirtyeighth", SOURCES)
    cases = [*products(), *layers(), *rows(), *grids()]
    write_set("thirtyeighth", {}, cases, [])


if __name__ == "__main__":
    main()
