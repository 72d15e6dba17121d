"""Compile the twenty-sixth set of timed kernels, and write twentysixth.json.

    python -m tests.silicon.timed.twentysixth

Other kernels than those of the sets before, measured after the model of a later commit.
"""

from __future__ import annotations

from typing import Any

from tests.silicon.timed.build import cases_of, write_set
from tests.silicon.timed.third import floats, zeros

SOURCES = dict.fromkeys(("tensors", "layouts", "codes", "fields"), "sm_90")
PLAIN = ("plain", "padded")
ROWS = ("rows", "padded")
COLUMNS = (*ROWS, "columns")
SWIZZLED = (*PLAIN, "swizzled")


def tensors() -> list[dict[str, Any]]:
    each = cases_of("twentysixth_tensors")
    sounds, sentences, tokens = 264 * 4 * 16384, 2112 * 4096, 528 * 64 * 512
    return [
        *(each(f"toeplitz {how}", f"toeplitz_{how}", [4, 264], 128,
               [floats(sounds + 264 * 64, "f16"), floats(264 * 64, "f16"), zeros(sounds)],
               "toeplitz") for how in PLAIN),
        *(each(f"biaffine {how}", f"biaffine_{how}", 2112, 128,
               [*[floats(sentences, "f16")] * 2, floats(8 * 4096, "f16"),
                zeros(sentences, "f16"), "i32=8"], "biaffine") for how in ("plain", "swizzled")),
        *(each(f"token mixer {how}", f"token_mixer_{how}", [2, 528], 128,
               [floats(tokens, "f16"), *[floats(4096, "f16")] * 2, zeros(tokens, "f16"),
                "i32=512"], "token mixer") for how in SWIZZLED),
        *(each(f"kernel ridge {how}", f"kernel_ridge_{how}", 2112, 128,
               [floats(2112 * 2048), floats(256 * 32), floats(256 * 2), zeros(2112 * 64),
                "i32=256", "f32=0.02"], "kernel ridge") for how in PLAIN),
        *(each(f"descriptors {how}", f"descriptors_{how}", 2112, 128,
               [floats(2112 * 8192, "u8"), floats(256 * 128, "u8"), floats(256, "i32"),
                zeros(2112 * 64, "i32"), "i32=256"], "descriptors") for how in PLAIN),
    ]  # fmt: skip


def layouts() -> list[dict[str, Any]]:
    each = cases_of("twentysixth_layouts")
    polynomials, streams, fits = 1056 * 32 * 256, 1056 * 128, 1056 * 64
    sites, channels, pixels, samples = 2112 * 128, 528 * 64, 2048 * 2112, 2112 * 128
    messages = 1056 * 64
    return [
        *(each(f"kyber {how}", f"kyber_{how}", 1056, 256,
               [floats(polynomials, "u32"), floats(128, "u32"), zeros(polynomials // 2, "u32")],
               "kyber") for how in PLAIN),
        *(each(f"move to front {how}", f"move_to_front_{how}", 1056, 128,
               [floats(streams * 4, "u32"), zeros(streams * 4, "u32"), f"i32={streams}"],
               "move to front") for how in COLUMNS),
        *(each(f"nelder mead {how}", f"nelder_mead_{how}", 1056, 64,
               [floats(fits * 8), zeros(fits * 4), f"i32={fits}", "i32=12"], "nelder mead")
          for how in ROWS),
        *(each(f"evolved {how}", f"evolved_{how}", 528, 128,
               [floats(528 * 2048), zeros(528 * 2048), "i32=6"], "evolved") for how in PLAIN),
        *(each(f"plaquettes {how}", f"plaquettes_{how}", 2112, 128,
               [floats(sites * 72), zeros(sites), f"i32={sites}"], "plaquettes")
          for how in PLAIN),
        *(each(f"learned {how}", f"learned_{how}", 528, 64,
               [*[floats(channels * 64)] * 2, zeros(channels * 64), f"i32={channels}", "i32=64"],
               "learned") for how in COLUMNS),
        *(each(f"quarter turned {how}", f"quarter_turned_{how}", [32, 33], 256,
               [floats(pixels, "u32"), zeros(pixels, "u32"), "i32=2048", "i32=2112"],
               "quarter turned") for how in SWIZZLED),
        *(each(f"shell sorted {how}", f"shell_sorted_{how}", 1056, 64,
               [floats(1056 * 2048, "u32"), zeros(1056 * 2048, "u32")], "shell sorted")
          for how in ROWS),
        *(each(f"capsules {how}", f"capsules_{how}", 1056, 128,
               [floats(1056 * 6144), zeros(1056 * 128), "i32=3"], "capsules") for how in PLAIN),
        *(each(f"spline layer {how}", f"spline_layer_{how}", 2112, 128,
               [floats(samples * 16), floats(2048), zeros(samples * 8), f"i32={samples}"],
               "spline layer") for how in ("together", "padded", "apart")),
        *(each(f"transducer {how}", f"transducer_{how}", 1056, 64,
               [*[floats(1056 * 4096)] * 2, zeros(1056)], "transducer")
          for how in ("odd", "even")),
        *(each(f"tagged {how}", f"tagged_{how}", 1056, 64,
               [floats(messages * 4, "u32"), floats(messages * 32, "u32"),
                zeros(messages * 4, "u32"), f"i32={messages}", "i32=8"], "tagged")
          for how in COLUMNS),
        *(each(f"cubes lifted {how}", f"cubes_lifted_{how}", 2112, 128,
               [floats(2112 * 2048), zeros(2112 * 2048, "u32")], "cubes lifted")
          for how in PLAIN),
    ]  # fmt: skip


def codes() -> list[dict[str, Any]]:
    each = cases_of("twentysixth_codes")
    places, series, numbers = 1056 * 256, 2112 * 128, 1056 * 128
    return [
        each("in common", "in_common", 1056, 256,
             [floats(262144 * 32, "u8"), floats(places * 2, "u32"), zeros(places),
              "u32=262143"]),
        each("many searches", "many_searches", 1056, 256,
             [floats(places * 16, "u32"), floats(262144, "u64"), zeros(places, "u64"),
              zeros(places, "u64"), zeros(1056, "u32"), "u32=262143"]),
        each("heaviest edges", "heaviest_edges", 2112, 256,
             [floats(2112 * 1024, "u32"), floats(2112 * 512, "u32"), floats(262144, "u32"),
              zeros(262144, "u64"), "u32=262143"]),
        each("letters checked", "letters_checked", 2112, 256,
             [floats(2112 * 4096, "u32"), zeros(2112 * 8, "u32")]),
        each("series packed", "series_packed", 2112, 128,
             [floats(series * 32, "u32"), zeros(series, "u32"), f"i32={series}"]),
        each("different keys", "different_keys", 1056, 512,
             [floats(1056 * 8192, "u32"), zeros(1024, "u32")]),
        each("field powers", "field_powers", 1056, 128,
             [floats(numbers * 5, "u64"), zeros(numbers * 5, "u64"), f"i32={numbers}",
              "i32=16"]),
    ]  # fmt: skip


def fields() -> list[dict[str, Any]]:
    each = cases_of("twentysixth_fields")
    markets, picture, grains = 4224 * 256, 1036 * 1070, 512 * 528 * 4
    return [
        each("memory cells", "memory_cells", 2112, 256,
             [floats(2112 * 4096), floats(4096), floats(2112 * 1024), zeros(2112 * 1024),
              zeros(2112 * 1024)]),
        each("smiles", "smiles", 4224, 256,
             [floats(markets * 4), zeros(markets * 4), f"i32={markets}"]),
        each("windows moved", "windows_moved", [64, 66], 256,
             [*[floats(picture)] * 2, zeros(1024 * 1056 * 2), "i32=1036", "i32=1024"]),
        each("grains", "grains", 4224, 256,
             [floats(grains * 4), zeros(grains * 2), "i32=512", "i32=528"]),
        each("turning spins", "turning_spins", [32, 33], 512,
             [floats(1024 * 1056), zeros(1024 * 1056), "i32=1024", "i32=8", "f32=1.1"]),
    ]  # fmt: skip


def main() -> None:
    cases = [*tensors(), *layouts(), *codes(), *fields()]
    write_set("twentysixth", SOURCES, cases, [])


if __name__ == "__main__":
    main()
