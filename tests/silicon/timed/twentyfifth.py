"""Compile the twenty-fifth set of timed kernels, and write twentyfifth.json.

    python -m tests.silicon.timed.twentyfifth

Other kernels than those of the sets before, measured after the model of a later commit.
"""

from __future__ import annotations

from typing import Any

from tests.silicon.timed.build import cases_of, write_set
from tests.silicon.timed.third import floats, zeros

SOURCES = dict.fromkeys(("tensors", "layouts", "tables", "worlds"), "sm_90")
PLAIN = ("plain", "padded")
SKEWED = ("plain", "skewed")


def tensors() -> list[dict[str, Any]]:
    each = cases_of("twentyfifth_tensors")
    rows, planes, cached = 2112 * 64 * 256, 2112 * 4096, 1056 * 4 * 8192
    return [
        *(each(f"near pairs {how}", f"near_pairs_{how}", [32, 33], 128,
               [floats(2112 * 512, "f16"), floats(2048 * 512, "f16"), floats(2112), floats(2048),
                zeros(2112 * 2048), "i32=2048", "i32=512"], "near pairs") for how in PLAIN),
        *(each(f"monarch {how}", f"monarch_{how}", 2112, 128,
               [floats(rows, "f16"), *[floats(4 * 4096, "f16")] * 2, zeros(rows, "f16")],
               "monarch") for how in PLAIN),
        *(each(f"fourier product {how}", f"fourier_product_{how}", 2112, 128,
               [*[floats(planes, "f16")] * 2, floats(8192, "f16"), zeros(planes * 2)],
               "fourier product") for how in PLAIN),
        *(each(f"gelu layer {how}", f"gelu_layer_{how}", [32, 33], 128,
               [floats(2112 * 256), floats(256 * 2048), floats(2048), zeros(2112 * 2048),
                "i32=2048", "i32=256"], "gelu layer") for how in PLAIN),
        *(each(f"bottleneck {how}", f"bottleneck_{how}", [16, 33], [16, 16],
               [floats(2112 * 128), floats(1024 * 128), zeros(2112 * 1024), "i32=1024",
                "i32=128"], "bottleneck") for how in PLAIN),
        *(each(f"latent rows {how}", f"latent_rows_{how}", [4, 264], 256,
               [floats(264 * 2048, "f16"), floats(cached, "f16"), zeros(1056 * 2048),
                zeros(1056 * 16), "f32=0.0883"], "latent rows") for how in PLAIN),
    ]  # fmt: skip


def layouts() -> list[dict[str, Any]]:
    each = cases_of("twentyfifth_layouts")
    words, signals, bodies, ffts = 4096 * 2112, 1056 * 128, 2112 * 2048, 2112 * 8 * 256
    return [
        *(each(f"morton {how}", f"morton_{how}", [128, 66], [32, 8],
               [floats(words, "u32"), zeros(words, "u32"), "i32=4096"], "morton")
          for how in (*PLAIN, "swizzled")),
        *(each(f"levinson {how}", f"levinson_{how}", 1056, 128,
               [floats(signals * 16), zeros(signals * 16), f"i32={signals}"], "levinson")
          for how in ("rows", "padded", "columns")),
        *(each(f"oriented {how}", f"oriented_{how}", [16, 264], 128,
               [floats(2050 * 2114), zeros(16 * 264 * 256), "i32=2050"], "oriented")
          for how in ("rows", "columns")),
        *(each(f"parsed {how}", f"parsed_{how}", 528, 128,
               [floats(528 * 4 * 31, "u32"), zeros(528 * 4 * 32, "u32")], "parsed")
          for how in ("tight", "spread")),
        *(each(f"pulses {how}", f"pulses_{how}", [8, 264], 128,
               [floats(264 * 4224 * 2), floats(256), zeros(264 * 4096 * 2)], "pulses")
          for how in SKEWED),
        *(each(f"rigid {how}", f"rigid_{how}", 2112, 128,
               [floats(bodies), zeros(bodies), "i32=12", "f32=0.01"], "rigid")
          for how in ("together", "padded", "apart")),
        *(each(f"sparsemax {how}", f"sparsemax_{how}", 2112, 64,
               [floats(2112 * 2048), zeros(2112 * 2048), "i32=6"], "sparsemax") for how in PLAIN),
        *(each(f"cut points {how}", f"cut_points_{how}", 2112, 256,
               [floats(2112 * 4096, "u32"), floats(256, "u32"), zeros(2112 * 512, "u32"),
                "u32=2013265920"], "cut points") for how in PLAIN),
        *(each(f"roots 256 {how}", f"roots_256_{how}", 2112, 128,
               [floats(ffts * 2), zeros(ffts * 2)], "roots 256") for how in PLAIN),
        *(each(f"five taps {how}", f"five_taps_{how}", [16, 264], [32, 8],
               [floats(2052 * 2116), floats(25), zeros(2048 * 2112), "i32=2052", "i32=2048"],
               "five taps") for how in SKEWED),
    ]  # fmt: skip


def tables() -> list[dict[str, Any]]:
    each = cases_of("twentyfifth_tables")
    samples, weights, entries = 2112 * 64, 4224 * 1024, 2112 * 32 * 32
    slices, streams, places = 1056 * 256, 1056 * 128, 16896 * 96
    return [
        each("factor machine", "factor_machine", 2112, 256,
             [floats(262144 * 16), floats(262144), floats(samples * 16, "u32"), zeros(samples),
              "u32=262143"]),
        each("sophia", "sophia", 4224, 256, [*[floats(weights)] * 4, "f32=0.001"]),
        each("sparse columns", "sparse_columns", 2112, 256,
             [floats(entries, "u32"), floats(entries), floats(2112 * 32), zeros(262144),
              "u32=262143"]),
        each("bit slices", "bit_slices", 1056, 256,
             [floats(slices * 4 * 16, "u32"), floats(slices * 4, "u32"), zeros(1056, "u64"),
              f"i32={slices}"]),
        each("speck", "speck", 1056, 512,
             [floats(1056 * 4096, "u64"), zeros(1056 * 4096, "u64"), "u64=81985529216486895",
              "u64=1147797409030816545"]),
        each("state decoder", "state_decoder", 1056, 128,
             [floats(1024, "u32"), floats(streams * 64, "u32"), zeros(streams * 64, "u32"),
              f"i32={streams}"]),
        each("miller", "miller", 16896, 96,
             [floats(places), zeros(places * 4), f"i32={places}", "i32=32"]),
    ]  # fmt: skip


def worlds() -> list[dict[str, Any]]:
    each = cases_of("twentyfifth_worlds")
    cells, patches, pixels = 16896 * 192, 8448, 8 * 1056 * 1024
    return [
        each("gas tube", "gas_tube", 16896, 192,
             [*[floats(cells + 2)] * 3, zeros(cells * 3), f"i32={cells}", "f32=0.1"]),
        each("bezier patches", "bezier_patches", patches, 256,
             [floats(patches * 48), zeros(patches * 256 * 6), f"i32={patches * 256}"]),
        each("quaternion set", "quaternion_set", [64, 66], [16, 16],
             [zeros(1024 * 1056), "i32=1024", "f32=0.0012", "f32=-0.2", "f32=0.6", "f32=0.2"]),
        each("halves escape", "halves_escape", [16, 528], 128,
             [zeros(2048 * 2112, "u32"), "i32=2048", "f32=0.0013", "i32=160"]),
        each("sandpile", "sandpile", [64, 33], [32, 32],
             [floats(2048 * 1056, "i32"), zeros(2048 * 1056, "i32"), "i32=2048", "i32=12"]),
        each("haar features", "haar_features", [16, 1056], 64,
             [floats(1056 * 1088), floats(80, "i32"), floats(20), zeros(1024 * 1056), "i32=1056",
              "i32=1024"]),
        each("ordered raster", "ordered_raster", [8, 1056], 256,
             [*[floats(pixels)] * 3, zeros(pixels, "u8")]),
    ]  # fmt: skip


def main() -> None:
    cases = [*tensors(), *layouts(), *tables(), *worlds()]
    write_set("twentyfifth", SOURCES, cases, [])


if __name__ == "__main__":
    main()
