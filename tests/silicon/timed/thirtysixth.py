"""Compile the thirty-sixth set of timed kernels, and write thirtysixth.json.

    python -m tests.silicon.timed.thirtysixth

Other kernels than those of the sets before, measured after the model of a later commit.
"""

from __future__ import annotations

from typing import Any

from tests.silicon.timed.build import cases_of, write_set
from tests.silicon.timed.third import floats, zeros
from tests.silicon.timed.thirtyfifth import product

SOURCES = dict.fromkeys(("products", "rows", "grids"), "sm_90a")
PLAIN = ("plain", "padded")
TURNED = ("plain", "swizzled")
SWIZZLED = (*PLAIN, "swizzled")


def products() -> list[dict[str, Any]]:
    each = cases_of("thirtysixth_products")
    stages = {"padded": 4 * (128 * 40 + 32 * 136) * 2}
    squares, heads, kept = 900 * 64 * 256, 36 * 1536 * 64, 128 * 1536 * 128
    return [
        *(each(f"multistage {how}", f"multistage_{how}", [17, 14], 256,
               product(1792, 2176, 1280, "f16", "f16"), "multistage", stages.get(how, 65536))
          for how in SWIZZLED),
        *(each(f"warp tiles {how}", f"warp_tiles_{how}", [10, 19], 128,
               product(1216, 1280, 768, "f32", "f32"), "warp tiles") for how in TURNED),
        *(each(f"batch of squares {how}", f"batch_of_squares_{how}", 900, 128,
               [*[floats(squares, "f16")] * 2, zeros(900 * 64 * 64)], "batch of squares")
          for how in PLAIN),
        *(each(f"flash before {how}", f"flash_causal_{how}", [24, 36], 128,
               [*[floats(heads, "f16")] * 3, zeros(heads, "f16"), "i32=1536", "f32=0.18034"],
               "flash before") for how in TURNED),
        *(each(f"byte weights {how}", f"byte_weights_{how}", [31, 8], 128,
               [floats(512 * 1536, "f16"), floats(3968 * 1536, "i8"), floats(3968),
                zeros(512 * 3968, "f16"), "i32=3968", "i32=1536"], "byte weights")
          for how in PLAIN),
        *(each(f"depth split {how}", f"depth_split_{how}", [7, 6, 8], 256,
               [floats(384 * 4096), floats(4096 * 448), zeros(8 * 384 * 448), "i32=384",
                "i32=448", "i32=4096"], "depth split") for how in PLAIN),
        each("column of eight", "column_of_eight", [14, 11], 512,
             product(704, 896, 640, "f32", "f32")),
        each("decode grouped", "decode_grouped", [6, 128], 128,
             [floats(128 * 4 * 128, "f16"), *[floats(kept, "f16")] * 2,
              zeros(128 * 4 * 6 * 128), zeros(128 * 4 * 6 * 2), "i32=1536", "f32=0.08839"]),
        each("bytes by vector", "bytes_by_vector", 1500, 128,
             [floats(12000 * 4096, "i8"), floats(12000 * 32), floats(4096), zeros(12000),
              "i32=12000", "i32=4096"]),
    ]  # fmt: skip


def rows() -> list[dict[str, Any]]:
    each = cases_of("thirtysixth_rows")
    pixels, residual, weights = 64 * 96 * 3136, 3000 * 4096, 4_999_992
    return [
        *(each(f"turn oblong {how}", f"turn_oblong_{how}", [55, 150], 256,
               [floats(2400 * 3520), zeros(2400 * 3520), "i32=2400", "i32=3520"], "turn oblong")
          for how in SWIZZLED),
        *(each(f"planes to last {how}", f"planes_to_last_{how}", [49, 3, 64], [32, 8],
               [floats(pixels, "f16"), zeros(pixels, "f16"), "i32=96", "i32=3136"],
               "planes to last") for how in PLAIN),
        *(each(f"up and back {how}", f"up_and_back_{how}", 6000, 512,
               [floats(6000 * 1024, "i32"), zeros(6000 * 1024, "i32")], "up and back")
          for how in PLAIN),
        *(each(f"lane bins {how}", f"lane_bins_{how}", 600, 256,
               [floats(600 * 256 * 16 * 8, "u8"), zeros(64, "u32"), f"i32={600 * 256 * 8}"],
               "lane bins") for how in ("rows", "together")),
        *(each(f"few classes {how}", f"few_classes_{how}", 2344, 64,
               [floats(150_000 * 64), floats(150_000, "i32"), zeros(150_000), "i32=150000"],
               "few classes") for how in PLAIN),
        *(each(f"short lists {how}", f"short_lists_{how}", 300, 128,
               [floats(256 * 38400), zeros(8 * 38400), zeros(8 * 38400, "i32"), "i32=256"],
               "short lists") for how in ("rows", "columns")),
        *(each(f"small turned {how}", f"small_turned_{how}", [57, 60], 256,
               [floats(3840 * 3648), zeros(3840 * 3648, "u8"), zeros(57 * 60), "i32=3840",
                "i32=3648"], "small turned") for how in TURNED),
        each("add and norm", "add_and_norm", 3000, 256,
             [*[floats(residual, "bf16")] * 2, floats(4096, "bf16"), zeros(residual, "bf16")]),
        each("adamw mixed", "adamw_mixed", 4883, 256,
             [floats(weights, "bf16"), *[floats(weights)] * 3, zeros(weights, "bf16"),
              f"i32={weights // 4}", "f32=0.0003", "f32=0.1", "f32=1.2", "f32=1.1"]),
        each("embedding bags", "embedding_bags", 4000, 128,
             [floats(65536 * 128), floats(16000 * 20, "u32"), floats(16000 * 20),
              zeros(16000 * 128), "i32=16000", "u32=65535"]),
        each("likeliest token", "likeliest_token", 800, 512,
             [floats(800 * 32000, "f16"), zeros(800, "i32"), "i32=4000"]),
    ]  # fmt: skip


def grids() -> list[dict[str, Any]]:
    each = cases_of("thirtysixth_grids")
    lines, entries, cells = 3500 * 2048, 3000 * 2048, 250 * 160 * 156
    return [
        *(each(f"taps of channels {how}", f"taps_of_channels_{how}", [8, 120], 128,
               [floats(16 * 512 * 960), floats(288), zeros(2 * 512 * 960), "i32=512", "i32=960"],
               "taps of channels") for how in ("plain", "skewed")),
        *(each(f"network {how}", f"network_{how}", 1100, 512,
               [floats(1100 * 2048, "u32"), zeros(1100 * 2048, "u32")], "network")
          for how in PLAIN),
        *(each(f"by fours {how}", f"by_fours_{how}", 3500, 256, [floats(lines), zeros(lines)],
               "by fours") for how in PLAIN),
        *(each(f"local table {how}", f"local_table_{how}", 2000, 64,
               [*[floats(2000 * 64, "u8")] * 2, zeros(2000, "i32")], "local table")
          for how in PLAIN),
        *(each(f"summed products {how}", f"summed_products_{how}", 3000, 128,
               [floats(entries), floats(entries, "u32"), floats(1 << 18), zeros(3000 * 128),
                "u32=262143"], "summed products") for how in PLAIN),
        *(each(f"digit pass {how}", f"digit_pass_{how}", 2000, 256,
               [floats(2000 * 2048, "u32"), zeros(2000 * 2048, "u32"), "i32=12"], "digit pass")
          for how in ("rows", "columns")),
        each("bilateral seven", "bilateral_seven", [94, 63], [16, 16],
             [floats(1500 * 1000), zeros(1500 * 1000), "i32=1500", "i32=1000", "f32=0.06",
              "f32=8"]),
        each("burning ship", "burning_ship", [60, 135], [32, 8],
             [zeros(1920 * 1080, "u8"), "i32=1920", "i32=1080", "i32=100"]),
        each("pulled bodies", "pulled_bodies", [80, 5], 128,
             [floats(10240 * 4), zeros(3 * 10240), "i32=10240", "i32=2048"]),
        each("boxes of 27", "boxes_of_27", [8, 20, 20], [32, 8],
             [floats(cells), zeros(cells), "i32=250", "i32=160", "i32=156", "f32=0.4",
              "f32=0.05", "f32=0.02", "f32=0.0075"]),
    ]  # fmt: skip


def main() -> None:
    write_set("thirtysixth", SOURCES, [*products(), *rows(), *grids()], [])


if __name__ == "__main__":
    main()
