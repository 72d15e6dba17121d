"""Compile the thirty-third set of timed kernels, and write thirtythird.json.

    python -m tests.silicon.timed.thirtythird

Other kernels than those of the sets before, measured after the model of a later commit.
"""

from __future__ import annotations

from typing import Any

from tests.silicon.timed.build import cases_of, write_set
from tests.silicon.timed.third import floats, zeros

SOURCES = dict.fromkeys(("tensors", "layouts", "singles"), "sm_90")
PLAIN = ("plain", "padded")
TURNED = ("plain", "swizzled")
APART = ("together", "apart")
SWIZZLED = (*PLAIN, "swizzled")


def tensors() -> list[dict[str, Any]]:
    each = cases_of("thirtythird_tensors")
    cached, pixels, matrices = 512 * 512 * 128, 131072 * 128, 4096 * 1024
    return [
        *(each(f"gathered experts {how}", f"gathered_experts_{how}", [16, 64], 128,
               [floats(2048 * 1024, "f16"), floats(4096, "u32"), floats(8 * 1024 * 1024, "f16"),
                zeros(4096 * 1024, "f16"), *["i32=1024"] * 2, "u32=2047"], "gathered experts")
          for how in SWIZZLED),
        *(each(f"decoding groups {how}", f"decoding_groups_{how}", 512, 128,
               [floats(512 * 2048, "f16"), *[floats(cached, "f16")] * 2,
                zeros(512 * 64 * 128), zeros(512 * 64 * 2), "i32=512"], "decoding groups")
          for how in TURNED),
        *(each(f"low ranks {how}", f"low_ranks_{how}", [128, 4], 128,
               [floats(8192 * 4096, "f16"), floats(16 * 4096, "f16"), zeros(4 * 8192 * 16),
                "i32=4096", "i32=1024"], "low ranks") for how in PLAIN),
        *(each(f"packed weights {how}", f"packed_weights_{how}", [64, 4], 128,
               [floats(256 * 4096, "f16"), floats(4096 * 512, "u32"), floats(32 * 4096, "f16"),
                zeros(256 * 4096, "f16"), *["i32=4096"] * 2], "packed weights") for how in PLAIN),
        *(each(f"metric tiles {how}", f"metric_tiles_{how}", [32, 64], 128,
               [floats(4096 * 64), floats(2048 * 64), floats(4096), floats(2048),
                zeros(4096 * 2048), "i32=2048"], "metric tiles") for how in SWIZZLED),
        *(each(f"byte channels {how}", f"byte_channels_{how}", [2, 512], 128,
               [floats(pixels, "u8"), floats(128 * 128, "u8"), floats(128), zeros(pixels, "u8")],
               "byte channels") for how in PLAIN),
        *(each(f"window spectra {how}", f"window_spectra_{how}", [4, 512], 128,
               [floats(32768 * 64 + 192, "f16"), floats(256 * 256, "f16"), zeros(32768 * 128)],
               "window spectra") for how in SWIZZLED),
        *(each(f"stiffness tiles {how}", f"stiffness_tiles_{how}", 4096, 128,
               [*[floats(matrices, "f64")] * 2, zeros(matrices, "f64")], "stiffness tiles")
          for how in PLAIN),
    ]  # fmt: skip


def layouts() -> list[dict[str, Any]]:
    each = cases_of("thirtythird_layouts")
    volume, rows, keys, moments = 256 * 64 * 256, 1056 * 4096, 1056 * 2048, 1056 * 128
    particles, words, batches = 528 * 4096, 528 * 256 * 48, 32 * 65536
    return [
        *(each(f"depth first {how}", f"depth_first_{how}", [8, 64, 8], [32, 8],
               [floats(volume), zeros(volume), "i32=256", "i32=64", "i32=256"], "depth first")
          for how in SWIZZLED),
        *(each(f"group totals {how}", f"group_totals_{how}", 1056, 256,
               [*[floats(rows, "u32")] * 2, zeros(keys, "u32"), "i32=16"], "group totals")
          for how in APART),
        *(each(f"digit ranks {how}", f"digit_ranks_{how}", 1056, 256,
               [floats(keys, "u32"), zeros(keys, "u32")], "digit ranks") for how in PLAIN),
        *(each(f"filter bank {how}", f"filter_bank_{how}", 1056, 128,
               [floats((moments + 7) * 32), floats(256), zeros(moments * 32), f"i32={moments}"],
               "filter bank") for how in PLAIN),
        *(each(f"reflections {how}", f"reflections_{how}", 264, 128,
               [floats(1056 * 1024), zeros(1056 * 1024)], "reflections") for how in PLAIN),
        *(each(f"stockham {how}", f"stockham_{how}", 2112, 256,
               [floats(2112 * 2048), zeros(2112 * 2048)], "stockham") for how in PLAIN),
        *(each(f"heads and keys {how}", f"heads_and_keys_{how}", [2, 256], 128,
               [floats(256 * 512), floats(256 * 512 * 64), zeros(256 * 8 * 512), "i32=512"],
               "heads and keys") for how in PLAIN),
        *(each(f"area tables {how}", f"area_tables_{how}", [64, 32], 64,
               [floats(4096 * 2048, "u8"), zeros(4096 * 2048, "u32"), "i32=4096"], "area tables")
          for how in PLAIN),
        *(each(f"field samples {how}", f"field_samples_{how}", 528, 256,
               [floats(528 * 2187), floats(particles, "u32"), zeros(particles * 4), "i32=16"],
               "field samples") for how in APART),
        *(each(f"factor paths {how}", f"factor_paths_{how}", 528, 128,
               [floats(528 * 128, "u32"), floats(256), zeros(528 * 128), "i32=8"],
               "factor paths") for how in ("rows", "padded", "columns")),
        *(each(f"eleven bits {how}", f"eleven_bits_{how}", 2112, 128,
               [floats(2112 * 4096, "i32"), zeros(2112 * 11 * 128, "u32"),
                zeros(2112 * 128, "i32")], "eleven bits") for how in PLAIN),
        *(each(f"field of bytes {how}", f"field_of_bytes_{how}", 528, 256,
               [floats(words, "u32"), zeros(528 * 256, "u32"), "i32=48", "u32=83"],
               "field of bytes") for how in ("packed", "words", "copies")),
        *(each(f"tuples split {how}", f"tuples_split_{how}", 4224, 256,
               [floats(4224 * 2048, "u32"), zeros(4224 * 2048, "u32"), f"i32={4224 * 256}"],
               "tuples split") for how in PLAIN),
        *(each(f"bins with copies {how}", f"bins_with_copies_{how}", 528, 256,
               [floats(528 * 8 * 4096, "u8"), zeros(528 * 64, "u32"), "i32=8"],
               "bins with copies") for how in (*PLAIN, "interleaved")),
        *(each(f"likeness {how}", f"likeness_{how}", [4, 4, 32], 256,
               [*[floats(batches)] * 2, zeros(batches)], "likeness") for how in SWIZZLED),
    ]  # fmt: skip


def singles() -> list[dict[str, Any]]:
    each = cases_of("thirtythird_singles")
    tokens, slices, options, found = 16384 * 1024, 8448, 2112 * 1024, 132 * 512 * 48
    cells = 256 * 128 * 128
    return [
        each("slots filled", "slots_filled", 16384, 256,
             [*[floats(tokens, "f16")] * 2, floats(2048 * 128), floats(16384, "i32", "arange"),
              *[zeros(tokens, "f16")] * 2, "i32=2047"]),
        each("gate of two", "gate_of_two", 2112, 256,
             [floats(2112 * 64 * 64), zeros(2112 * 128, "i32"), zeros(2112 * 128),
              zeros(2112 * 64, "u32")]),
        each("slices of 32", "slices_of_32", slices // 4, 128,
             [floats(slices, "u32"), floats(slices * 768, "u32"), floats(slices * 768),
              floats(65536), zeros(slices * 32), "u32=65535"]),
        each("votes kept", "votes_kept", 1056, 128,
             [floats(1056 * 128 * 128, "u8"), floats(24), zeros(1056 * 128, "u32"), "i32=8"]),
        each("greek letters", "greek_letters", options // 256, 256,
             [*[floats(options)] * 3, zeros(options * 5), f"i32={options}"]),
        each("table that fills", "table_that_fills", 132, 512,
             [floats(40960), floats(found, "u32"), zeros(found), "i32=48"], shared=163840),
        each("rows kept", "rows_kept", 2112, 256,
             [*[floats(2112 * 2048, "u32")] * 2, zeros(2112 * 2048, "u32"), zeros(2112, "u32"),
              "u32=2576980377", "u32=1288490188"]),
        each("electric step", "electric_step", [8, 16, 16], [32, 8],
             [*[floats(cells)] * 3, *[zeros(cells)] * 3, "i32=256", "i32=128", "f32=0.5"]),
    ]  # fmt: skip


def main() -> None:
    cases = [*tensors(), *layouts(), *singles()]
    write_set("thirtythird", SOURCES, cases, [])


if __name__ == "__main__":
    main()
