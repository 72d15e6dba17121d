"""Compile the eighteenth set of timed kernels, and write eighteenth.json and eighteenth_maps.json.

    python -m tests.silicon.timed.eighteenth

Other kernels than those of the sets before, measured after the model of a later commit.
"""

from __future__ import annotations

from typing import Any

from tests.silicon.timed.build import cases_of, write_set
from tests.silicon.timed.third import floats, zeros

SOURCES = {
    "rows": "sm_90", "bodies": "sm_90", "tables": "sm_90", "tiles": "sm_90", "products": "sm_90",
    "copies": "sm_90a",
}  # fmt: skip


def rows() -> list[dict[str, Any]]:
    each = cases_of("eighteenth_rows")
    weights, heads, tokens, width = 2112 * 1024, 2112 * 8, 1056, 384
    texts, options = 528 * 256, 528 * 64
    return [
        each("stochastic adamw", "stochastic_adamw", weights // 1024, 256,
             [*[floats(weights, "bf16")] * 2, *[zeros(weights)] * 2, "f32=0.001", "f32=0.9",
              "f32=0.95", "f32=0.00000001", "f32=0.1", "u32=12345"]),
        each("query norm rope", "query_norm_rope", heads // 8, 256,
             [floats(heads * 128, "bf16"), floats(128), floats(heads // 8, "i32"),
              zeros(heads * 128, "bf16"), "i32=8"]),
        each("distilled", "distilled", tokens, 256,
             [*[floats(tokens * 8192, "f16")] * 2, zeros(tokens * 8192, "f16"), zeros(tokens),
              "i32=4096", "f32=4"]),
        each("yin", "yin_pitch", 1056, 128,
             [floats(1056 * 256 + 1024), zeros(1056, "i32"), zeros(1056), "i32=256", "f32=0.85"]),
        each("semi-global", "semi_global", 528, 64,
             [floats(1056 * width * 64, "u8"), zeros(1056 * width * 64, "u16"), f"i32={width}",
              "i32=10", "i32=120"]),
        each("runs expanded", "runs_expanded", 2112, 256,
             [floats(2112 * 256, "u8"), floats(2112 * 256, "u32"), zeros(2112 * 4096, "u32"),
              zeros(2112, "i32")]),
        each("ascon", "ascon_seal", 528, 256,
             [floats(texts * 8, "u64"), floats(528 * 2, "u64"), zeros(texts * 8, "u64"),
              zeros(texts * 2, "u64"), f"i32={texts}"]),
        each("crank nicolson", "crank_nicolson", 528, 64,
             [*[floats(options, "f64")] * 2, zeros(options, "f64"), "f64=0.03", "f64=0.02"]),
    ]  # fmt: skip


def bodies() -> list[dict[str, Any]]:
    each = cases_of("eighteenth_bodies")
    plane, cells, angles, vertices, pairs = 2048 * 1056, 128 * 64 * 48, 132000, 33792, 4224
    return [
        each("chebyshev", "chebyshev", [64, 132], [32, 8],
             [*[floats(plane, "f64")] * 3, zeros(plane, "f64"), "i32=2048", "i32=1056", "f64=0.3",
              "f64=1.1"]),
        each("d3q19", "d3q19", [64, 48], 128,
             [floats(19 * cells), zeros(19 * cells), "f32=1.7"]),
        each("dihedrals", "dihedrals", 516, 256,
             [floats(16384 * 4), floats(angles * 4, "u32"), floats(angles * 2), zeros(16384 * 3),
              "u32=16383", f"i32={angles}"]),
        each("triangles", "triangles", 2112, 128,
             [floats(vertices * 32, "u8"), zeros(1024, "i32"), f"i32={vertices}", "i32=8"]),
        each("pair hmm", "pair_hmm", pairs // 4, 128,
             [*[floats(pairs * 32, "u8")] * 2, floats(pairs * 128, "u8"), zeros(pairs),
              "f32=0.00003", "f32=0.1"]),
        each("octree", "octree_rays", [40, 50], 128,
             [floats(2 * 4681, "u8"), zeros(640 * 400), "i32=640", "i32=400"]),
    ]  # fmt: skip


def tables() -> list[dict[str, Any]]:
    each = cases_of("eighteenth_tables")
    plain, steps = ("plain", "padded"), 2112 * 2048
    return [
        *(each(f"state scan {how}", f"state_scan_{how}", 2112, 256,
               [*[floats(steps)] * 2, zeros(steps)], "state scan") for how in plain),
        *(each(f"colour counts {how}", f"colour_counts_{how.replace(' ', '_')}", 528, 256,
               [floats(528 * 256 * 32, "u32"), zeros(528 * 64, "u32"), "i32=8"], "colour counts")
          for how in ("by copy", "by colour")),
        *(each(f"fluid {how}", f"fluid_{how}", 1056, 128,
               [floats(1056 * 2048), floats(1056 * 2048, "u32"), zeros(1056 * 512), "f32=0.9"],
               "fluid") for how in ("together", "apart")),
        *(each(f"covariance {how}", f"covariance_{how}", 1056, 64,
               [floats(1056 * 64 * 36), zeros(1056 * 64 * 36), "f32=0.1", "f32=0.01", "i32=4"],
               "covariance") for how in plain),
        *(each(f"aes {how}", f"aes_{how}", 528, 256,
               [floats(256, "u32"), floats(44, "u32"), floats(528 * 4096, "u32"),
                zeros(528 * 4096, "u32")], "aes") for how in ("one", "copies")),
    ]  # fmt: skip


def tiles() -> list[dict[str, Any]]:
    each = cases_of("eighteenth_tiles")
    plain, maps, points = ("plain", "padded"), 8 * 256 * 3136, 4224 * 512
    return [
        *(each(f"dense {how}", f"dense_{how}", [24, 11], 256,
               [floats(1408 * 512), floats(512 * 1536), zeros(1408 * 1536), "i32=1536", "i32=512"],
               "dense") for how in plain),
        *(each(f"turn complex {how}", f"turn_complex_{how}", [64, 66], [16, 16],
               [floats(2 * 1024 * 1056, "f64"), zeros(2 * 1024 * 1056, "f64"), "i32=1024",
                "i32=1056"], "turn complex") for how in plain),
        *(each(f"channels last {how}", f"channels_last_{how}", [49, 4, 8], 256,
               [floats(maps, "f16"), zeros(maps, "f16"), "i32=256", "i32=3136"], "channels last")
          for how in plain),
        *(each(f"decimated {how}", f"decimated_{how}", 1056, 256,
               [floats(1056 * 2048 + 64), floats(64), zeros(1056 * 256)], "decimated")
          for how in plain),
        *(each(f"radix eight {how}", f"radix_eight_{how}", 2112, 128,
               [floats(2 * points), zeros(2 * points)], "radix eight") for how in plain),
    ]  # fmt: skip


def products() -> list[dict[str, Any]]:
    each = cases_of("eighteenth_products")
    cache = 33 * 1024 * 64
    return [
        *(each(f"projection {how}", f"projection_{how}", [12, 11], 256,
               [floats(1408 * 2048, "f16"), floats(1536 * 2048, "f16"), floats(1536),
                zeros(1408 * 1536, "f16"), "i32=1536", "i32=2048"], "projection")
          for how in ("plain", "swizzled")),
        *(each(f"short floats {how}", f"short_floats_{how}", [24, 22], 128,
               [floats(1408 * 512), floats(512 * 1536), zeros(1408 * 1536), "i32=1536", "i32=512"],
               "short floats") for how in ("plain", "padded")),
        *(each(f"byte layer {how}", f"byte_layer_{how}", [32, 33], 128,
               [floats(2112 * 2048, "i8"), floats(2048 * 2048, "i8"), floats(2112), floats(2048),
                zeros(2112 * 2048, "f16"), "i32=2048", "i32=2048"], "byte layer")
          for how in ("plain", "swizzled")),
        *(each(f"prefill {how}", f"prefill_{how}", [16, 33], 128,
               [*[floats(cache, "f16")] * 3, zeros(cache, "f16"), "i32=1024", "f32=0.18033688"],
               "prefill") for how in ("plain", "padded")),
    ]  # fmt: skip


def maps() -> list[dict[str, Any]]:
    """Kernels that take tensor maps, in a list of their own: not every driver encodes them."""
    each = cases_of("eighteenth_copies")
    return [
        each("silu layer", "silu_layer", [24, 11], 256,
             ["tma:random:f16[1408,2048]:box=128x64:swizzle=128",
              "tma:random:f16[1536,2048]:box=64x64:swizzle=128", zeros(1408 * 1536, "f16"),
              "i32=1536", "i32=2048"], "", 4 * 24576 + 1024),
        each("plate", "plate_bends", [32, 33], 256,
             ["tma:random:f32[2112,2048]:box=20x72", zeros(2112 * 2048), "i32=2048", "f32=0.02"]),
    ]  # fmt: skip


def main() -> None:
    cases = [*rows(), *bodies(), *tables(), *tiles(), *products()]
    write_set("eighteenth", SOURCES, cases, maps())


if __name__ == "__main__":
    main()
