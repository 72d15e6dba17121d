"""Compile the twenty-fourth set of timed kernels, and write twentyfourth.json.

    python -m tests.silicon.timed.twentyfourth

Other kernels than those of the sets before, measured after the model of a later commit.
"""

from __future__ import annotations

from typing import Any

from tests.silicon.timed.build import cases_of, write_set
from tests.silicon.timed.third import floats, zeros

SOURCES = dict.fromkeys(("tensors", "layouts", "squares", "numbers", "fields"), "sm_90")
PLAIN = ("plain", "padded")


def tensors() -> list[dict[str, Any]]:
    each = cases_of("twentyfourth_tensors")
    many, pixels = 1584 * 4096, 8 * 512 * 4096
    return [
        *(each(f"newton schulz {how}", f"newton_schulz_{how}", 1584, 128,
               [floats(many, "bf16"), zeros(many, "bf16"), "i32=5"], "newton schulz")
          for how in PLAIN),
        *(each(f"two halves {how}", f"two_halves_{how}", [32, 32], 128,
               [*[floats(2048 * 768)] * 2, zeros(2048 * 2048), "i32=2048", "i32=768"],
               "two halves") for how in PLAIN),
        *(each(f"double tensors {how}", f"double_tensors_{how}", [32, 32], 128,
               [*[floats(2048 * 512, "f64")] * 2, zeros(2048 * 2048, "f64"), "i32=2048",
                "i32=512"], "double tensors") for how in PLAIN),
        *(each(f"pairs product {how}", f"pairs_product_{how}", [32, 33], 128,
               [floats(2112 * 512, "f16"), floats(2048 * 512, "f16"), zeros(2112 * 2048, "f16"),
                "i32=2048", "i32=512"], "pairs product") for how in PLAIN),
        *(each(f"pointwise {how}", f"pointwise_{how}", [32, 4, 8], 256,
               [floats(256 * 512, "f16"), floats(pixels, "f16"), zeros(pixels // 2), "i32=512",
                "i32=4096"], "pointwise") for how in PLAIN),
    ]  # fmt: skip


def layouts() -> list[dict[str, Any]]:
    each = cases_of("twentyfourth_layouts")
    keys, words, cells, planes = 1056 * 4096, 2112 * 4096, 2112 * 128, 132 * 16 * 4096
    tokens, curves = 16896 * 8 * 128, 1056 * 128
    return [
        *(each(f"turn in place {how}", f"turn_in_place_{how}", [97, 48], [32, 8],
               [floats(3072 * 3072), "i32=3072"], "turn in place")
          for how in (*PLAIN, "swizzled")),
        *(each(f"shear sort {how}", f"shear_sort_{how}", 1056, 128,
               [floats(keys, "u32"), zeros(keys, "u32")], "shear sort") for how in PLAIN),
        *(each(f"zigzag {how}", f"zigzag_{how}", 2112, 128,
               [floats(words * 2, "i16"), floats(64), zeros(words * 2, "i16"),
                zeros(2112 * 128, "i32")], "zigzag") for how in PLAIN),
        *(each(f"plasma {how}", f"plasma_{how}", 2112, 128,
               [floats(cells * 8), zeros(cells * 8), f"i32={cells}", "i32=20", "f32=0.75",
                "f32=0.05"], "plasma") for how in ("together", "padded", "apart")),
        *(each(f"pixel shuffle {how}", f"pixel_shuffle_{how}", [64, 132], 256,
               [floats(planes), floats(264), zeros(planes), "f32=0.1"], "pixel shuffle")
          for how in PLAIN),
        *(each(f"cache chunks {how}", f"cache_chunks_{how}", [264, 8], 256,
               [floats(tokens, "f16"), zeros(tokens, "f16"), "i32=1056"], "cache chunks")
          for how in PLAIN),
        *(each(f"neville {how}", f"neville_{how}", 1056, 128,
               [*[floats(curves * 16)] * 2, zeros(curves * 2), f"i32={curves}", "i32=16"],
               "neville") for how in ("rows", "padded", "columns")),
        *(each(f"or product {how}", f"or_product_{how}", 1056, 256,
               [*[floats(keys, "u32")] * 2, zeros(keys, "u32")], "or product") for how in PLAIN),
    ]  # fmt: skip


def squares() -> list[dict[str, Any]]:
    each = cases_of("twentyfourth_squares")
    many, bytes_ = 1056 * 4096, 16 * 64 * 64 * 64
    return [
        *(each(f"kronecker {how}", f"kronecker_{how}", 1056, [32, 8],
               [*[floats(1024)] * 2, floats(many), zeros(many)], "kronecker") for how in PLAIN),
        *(each(f"exponential {how}", f"exponential_{how}", 792, [32, 8],
               [floats(792 * 1024), zeros(792 * 1024)], "exponential") for how in PLAIN),
        *(each(f"stem {how}", f"stem_{how}", [4, 14, 32], [32, 8],
               [floats(4 * 3 * 224 * 256), floats(64 * 147), zeros(4 * 64 * 112 * 128)], "stem")
          for how in ("plain", "parted")),
        *(each(f"byte taps {how}", f"byte_taps_{how}", [8, 8, 16], 256,
               [floats(16 * 66 * 66 * 64, "u8"), floats(9 * 1024 * 4, "i8"), zeros(bytes_, "i8"),
                "f32=0.0005"], "byte taps") for how in PLAIN),
    ]  # fmt: skip


def numbers() -> list[dict[str, Any]]:
    each = cases_of("twentyfourth_numbers")
    streams, messages, powers, draws = 1056 * 128, 2112 * 64, 1056 * 128, 1056 * 256
    bodies, elements, vertices = 2112 * 128, 16896 * 32, 2112 * 256
    return [
        each("numeral systems", "numeral_systems", 1056, 128,
             [floats(4096, "u32"), floats(streams * 97, "u32"), zeros(streams * 24, "u32"),
              f"i32={streams}", "i32=24"]),
        each("poly1305", "poly1305", 2112, 64,
             [floats(messages * 4, "u32"), floats(messages * 48, "u32"),
              zeros(messages * 4, "u32"), f"i32={messages}", "i32=12"]),
        each("montgomery powers", "montgomery_powers", 1056, 128,
             [floats(powers * 8, "u32"), floats(8, "u32"), zeros(powers * 8, "u32"),
              f"i32={powers}"]),
        each("sobol prices", "sobol_prices", 1056, 256,
             [floats(512, "u32"), zeros(1056), "f32=0.001", "f32=0.02"]),
        each("combined draws", "combined_draws", 1056, 256,
             [floats(draws * 6, "u32"), zeros(draws, "i32"), f"i32={draws}", "i32=32"]),
        each("kepler", "kepler", 2112, 128,
             [*[floats(bodies, "f64")] * 3, zeros(bodies * 3, "f64"), f"i32={bodies}"]),
        each("sampled products", "sampled_products", 4224, 256,
             [floats(16896 * 64), floats(65536 * 64), floats(elements, "u32"), floats(elements),
              zeros(elements), "u32=65535"]),
        each("core step", "core_step", 2112, 256,
             [floats(vertices, "u32"), floats(vertices * 24, "u32"), floats(vertices, "u8"),
              zeros(vertices // 32, "u32"), f"i32={vertices}", "u32=524287", "i32=10"]),
    ]  # fmt: skip


def fields() -> list[dict[str, Any]]:
    each = cases_of("twentyfourth_fields")
    plane, rings, values = 2048 * 1056, 264 * 1024, 32 * 64 * 4096
    return [
        each("oscillators", "oscillators", [8, 264], 128,
             [floats(rings), floats(rings * 2), zeros(rings), "f32=0.001", "f32=0.01"]),
        each("phase field", "phase_field", [64, 66], [32, 16],
             [floats(plane), zeros(plane), "i32=2048", "i32=1056", "f32=0.5", "f32=0.01"]),
        each("worley", "worley", [32, 264], [64, 4],
             [zeros(plane), "i32=2048", "f32=0.031", "f32=7.4", "u32=2027"]),
        each("nonlocal means", "nonlocal_means", [32, 132], [32, 8],
             [floats(1032 * 1064), zeros(1024 * 1056), "i32=1024", "i32=1032", "f32=0.4"]),
        each("local patterns", "local_patterns", [32, 33], 1024,
             [floats(2052 * 2114, "u8"), zeros(1056 * 256, "u32"), "i32=2052"]),
        each("across channels", "across_channels", [8, 4, 32], 512,
             [floats(values), zeros(values), "i32=4096", "f32=0.02"]),
        each("cube cases", "cube_cases", [8, 32, 33], [32, 8],
             [floats(257 * 257 * 133), zeros(8 * 32 * 33 * 1024, "u32"),
              zeros(8 * 32 * 33, "i32"), "i32=257", "i32=257", "f32=0.9"]),
        each("projections", "projections", [2, 264], 256,
             [floats(512 * 512), zeros(264 * 512), "f32=0.0119"]),
    ]  # fmt: skip


def main() -> None:
    cases = [*tensors(), *layouts(), *squares(), *numbers(), *fields()]
    write_set("twentyfourth", SOURCES, cases, [])


if __name__ == "__main__":
    main()
