"""Compile the thirty-first set of timed kernels, and write thirtyfirst.json.

    python -m tests.silicon.timed.thirtyfirst

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
    each = cases_of("thirtyfirst_tensors")
    heads = 64 * 1024 * 64
    return [
        *(each(f"linear silu {how}", f"linear_silu_{how}", [32, 32], 128,
               [floats(4096 * 768, "f16"), floats(2048 * 768, "f16"), floats(2048, "f16"),
                zeros(4096 * 2048, "f16"), "i32=2048", "i32=768"], "linear silu")
          for how in SWIZZLED),
        *(each(f"capped {how}", f"capped_{how}", [16, 64], 128,
               [*[floats(heads, "bf16")] * 3, zeros(heads, "bf16"), "i32=1024", "i32=256",
                "f32=20"], "capped") for how in TURNED),
        *(each(f"by tokens {how}", f"by_tokens_{how}", [16, 8, 8], 128,
               [floats(8192 * 512, "bf16"), floats(8192 * 1024, "bf16"), zeros(8 * 512 * 1024),
                "i32=512", "i32=1024", "i32=1024"], "by tokens") for how in PLAIN),
        *(each(f"strided tf32 {how}", f"strided_tf32_{how}", [4, 4, 64], 128,
               [*[floats(64 * 65536)] * 2, zeros(64 * 65536), "i32=256", "f32=0.5"],
               "strided tf32") for how in PLAIN),
        *(each(f"to eight bits {how}", f"to_eight_bits_{how}", [16, 32], 256,
               [floats(4096 * 2048, "u8"), floats(1024 * 2048, "u8"), floats(1024),
                floats(1024, "i32"), zeros(4096 * 1024, "u8"), "i32=1024", "i32=2048"],
               "to eight bits") for how in TURNED),
        *(each(f"linear norm {how}", f"linear_norm_{how}", 1100, 256,
               [floats(1100 * 64 * 256, "f16"), floats(256 * 128, "f16"), floats(128),
                zeros(1100 * 8192, "f16"), "i32=256"], "linear norm") for how in PLAIN),
        *(each(f"all in one {how}", f"all_in_one_{how}", 1600, 128,
               [floats(1600 * 8192, "f16"), floats(6 * 4096, "f16"), zeros(1600 * 8192, "f16"),
                "i32=6"], "all in one") for how in TURNED),
        *(each(f"table pages {how}", f"table_pages_{how}", [8, 8, 12], 128,
               [floats(12 * 8 * 1024, "f16"), *[floats(2048 * 8 * 1024, "f16")] * 2,
                floats(12 * 8 * 32, "u32"), zeros(768 * 1024), zeros(768 * 32), "i32=8",
                "u32=2047"], "table pages") for how in PLAIN),
    ]  # fmt: skip


def layouts() -> list[dict[str, Any]]:
    each = cases_of("thirtyfirst_layouts")
    keys, sorted_keys = 2112 * 2048, 2640 * 1024
    return [
        *(each(f"batch nt {how}", f"batch_nt_{how}", [8, 8, 16], 256,
               [*[floats(16 * 512 * 256)] * 2, floats(16 * 512 * 512), "i32=512", "i32=256",
                "f32=0.5", "f32=0.25"], "batch nt") for how in PLAIN),
        *(each(f"half pairs {how}", f"half_pairs_{how}", [16, 32], 256,
               [floats(2048 * 512, "f16"), floats(1024 * 512, "f16"), floats(1024),
                zeros(2048 * 1024, "f16"), "i32=1024", "i32=512"], "half pairs") for how in ROWS),
        *(each(f"two by two {how}", f"two_by_two_{how}", [64, 32], [32, 8],
               [floats(2048 * 2048, "u32"), zeros(2048 * 2048, "u32"), "i32=2048", "i32=4096"],
               "two by two") for how in SWIZZLED),
        *(each(f"four bit pass {how}", f"four_bit_pass_{how}", 2112, 256,
               [floats(keys, "u32"), zeros(keys, "u32"), zeros(2112 * 16, "u32"), "i32=8"],
               "four bit pass") for how in ("rows", "columns")),
        *(each(f"sixteen thrice {how}", f"sixteen_thrice_{how}", 1056, 256,
               [floats(1056 * 8192), zeros(1056 * 8192)], "sixteen thrice") for how in PLAIN),
        *(each(f"steps scanned {how}", f"steps_scanned_{how}", [64, 16], 128,
               [*[floats(1024 * 2048)] * 2, *[floats(64 * 2048)] * 2, floats(256),
                zeros(1024 * 2048), "i32=4"], "steps scanned") for how in PLAIN),
        *(each(f"merges {how}", f"merges_{how}", 2640, 128,
               [floats(sorted_keys, "u32"), zeros(sorted_keys, "u32")], "merges")
          for how in PLAIN),
        *(each(f"gains gradient {how}", f"gains_gradient_{how}", [128, 8], [32, 32],
               [*[floats(1024 * 4096)] * 2, floats(2048), zeros(8 * 8192), "i32=4096",
                "i32=128"], "gains gradient") for how in PLAIN),
        *(each(f"byte keys {how}", f"byte_keys_{how}", 1056, 128,
               [floats(1056 * 128, "u8"), *[floats(132 * 4 * 16384, "u8")] * 2,
                floats(132 * 4 * 256), zeros(1056 * 128), "i32=4", "i32=8"], "byte keys")
          for how in SWIZZLED),
        *(each(f"taggings {how}", f"taggings_{how}", 1056, 128,
               [floats(1024), floats(4224 * 40 * 32), zeros(4224), "i32=40"], "taggings")
          for how in ROWS),
        *(each(f"by key {how}", f"by_key_{how}", 528, 64,
               [floats(528 * 64 * 96, "u32"), zeros(528 * 128, "u32"), f"i32={528 * 64}",
                "i32=96"], "by key") for how in ("rows", "columns")),
        *(each(f"differences packed {how}", f"differences_packed_{how}", 2112, 64,
               [floats(2112 * 4 * 64 * 12, "u32"), zeros(2112 * 4 * 2048, "i32"), "i32=12",
                "i32=4"], "differences packed") for how in ROWS),
        *(each(f"biquads {how}", f"biquads_{how}", 264, 64,
               [floats(264 * 64 * 512), floats(264 * 192), zeros(264 * 64 * 512), "i32=512"],
               "biquads") for how in ROWS),
    ]  # fmt: skip


def singles() -> list[dict[str, Any]]:
    each = cases_of("thirtyfirst_singles")
    rows, weights, voxels = 1056 * 128, 1584 * 2048, 512 * 256 * 64
    return [
        each("slices of rows", "slices_of_rows", 1056, 128,
             [floats(rows * 24), floats(rows * 24, "u32"), floats(65536), zeros(rows), "i32=24",
              "u32=65535"]),
        each("smoothed loss", "smoothed_loss", 2112, 256,
             [floats(2112 * 8192, "f16"), floats(2112, "u32"), zeros(2112 * 8192, "f16"),
              zeros(2112 * 2), "f32=0.1", "f32=0.0001"]),
        each("keys put away", "keys_put_away", 2048, 256,
             [*[floats(4096 * 2048, "f16")] * 2, *[zeros(4096 * 2048, "f16")] * 2, "i32=4096",
              "u32=1237", "f32=0.2076"]),
        each("averaged steps", "averaged_steps", 1584, 256,
             [*[floats(weights)] * 3, zeros(weights), f"i32={weights // 4}", "f32=0.001",
              "f32=0.02", "f32=0.01"]),
        each("baskets", "baskets", 1100, 128,
             [floats(1100 * 512, "u32"), floats(10), zeros(2200), "i32=40", "f32=0.95"]),
        each("particles dense", "particles_dense", 700, 192,
             [floats(700 * 768), zeros(700 * 768), "i32=6", "f32=0.6"], shared=3072),
        each("several bytes", "several_bytes", 528, 128,
             [floats(528 * 128 * 24, "u32"), zeros(528 * 256, "i32"), f"i32={528 * 128}",
              "i32=24"]),
        each("fourth order", "fourth_order", [16, 32, 4], [32, 8],
             [*[floats(voxels)] * 2, zeros(voxels), "i32=512", "i32=256", "i32=64", "i32=16",
              "f32=0.1"]),
        each("thin edges", "thin_edges", [48, 64], [32, 16],
             [floats(1536 * 1024, "u8"), zeros(1536 * 1024, "u8"), "i32=1536", "i32=1024",
              "f32=150", "f32=400"]),
        each("few blocks bytes", "few_blocks_bytes", 96, 1024,
             [floats(6144 * 4096, "u8"), floats(4096, "f16"), floats(6144), zeros(6144),
              "i32=6144", "i32=4096"], shared=16384),
        each("letters in order", "letters_in_order", 2640, 32,
             [*[floats(2640 * 128, "u32")] * 2, zeros(2640, "u32"), "i32=4"]),
    ]  # fmt: skip


def main() -> None:
    cases = [*tensors(), *layouts(), *singles()]
    write_set("thirtyfirst", SOURCES, cases, [])


if __name__ == "__main__":
    main()
