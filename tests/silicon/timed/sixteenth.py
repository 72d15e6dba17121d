"""Compile the sixteenth set of timed kernels, and write sixteenth.json.

    python -m tests.silicon.timed.sixteenth

Other kernels than those of the fifteen sets before, measured after the model of a later commit.
"""

from __future__ import annotations

from typing import Any

from tests.silicon.timed.build import cases_of, write_set
from tests.silicon.timed.third import floats, zeros

SOURCES = {"rows": "sm_90", "bodies": "sm_90", "tiles": "sm_90", "products": "sm_90"}


def rows() -> list[dict[str, Any]]:
    each = cases_of("sixteenth_rows")
    hidden, weights, windows, nodes = 2048 * 4096, 1056 * 4096, 256, 1056 * 64
    pairs, paths = 4224 * 512, 1056 * 256 * 16
    return [
        each("geglu backward", "geglu_backward", hidden // 2048, 256,
             [*[floats(hidden, "f16")] * 3, *[zeros(hidden, "f16")] * 2, f"i32={hidden // 8}"]),
        each("lamb", "lamb_moments", 1056, 256,
             [floats(weights), floats(weights, "f16"), *[zeros(weights)] * 3, zeros(2 * 1056),
              "f32=0.9", "f32=0.999", "f32=0.000001", "f32=0.01", "f32=0.5"]),
        each("window attention", "window_attention", [8, windows], 64,
             [floats(windows * 49 * 768, "f16"), floats(169 * 8), zeros(windows * 49 * 256, "f16"),
              "i32=8", "f32=0.17677669"]),
        each("ctc", "ctc_alpha", 528, 128,
             [floats(128 * 528 * 32), floats(528 * 50, "u8"), zeros(128 * 528 * 101), "i32=528"]),
        each("graph attention", "graph_attention", nodes // 8, 256,
             [floats(16 * nodes, "u32"), *[floats(nodes)] * 2, floats(64 * nodes, "f16"),
              zeros(64 * nodes, "f16"), f"i32={nodes}"]),
        each("huffman", "huffman_encode", 2112, 256,
             [floats(2112 * 4096, "u8"), floats(256, "u32"), zeros(2112 * 1536, "u32"),
              zeros(2112, "u32")]),
        each("segment sort", "segment_sort", 4224, 128,
             [*[floats(pairs, "u32")] * 2, *[zeros(pairs, "u32")] * 2]),
        each("regression", "regression_sums", 1056, 256,
             [*[floats(paths, "f64")] * 2, zeros(8, "f64"), "f64=100", f"i32={paths // 2}"]),
    ]  # fmt: skip


def bodies() -> list[dict[str, Any]]:
    each = cases_of("sixteenth_bodies")
    many, fine, sparse = 8448, 192, 1056 * 32
    return [
        each("hermite", "hermite_forces", [many // 128, 6], 128,
             [*[floats(4 * many)] * 2, *[zeros(6 * 4 * many)] * 2, f"i32={many}",
              f"i32={many // 6}"]),
        each("beamformed", "beamform", [16, 48], 256,
             [floats(2 * 64 * 2048), zeros(2 * 512 * 384), "i32=512", "i32=2048", "f32=0.0003",
              "f32=0.0001", "f32=20000"]),
        each("hough", "hough_lines", [180, 6], 256, [floats(6 * 8192, "u32"),
                                                     zeros(180 * 2560, "i32")]),
        each("sparse square", "sparse_square", sparse // 32, 256,
             [floats(8 * sparse, "u32"), floats(8 * sparse), zeros(64 * sparse, "i32"),
              zeros(64 * sparse), zeros(sparse, "i32"), f"i32={sparse}"]),
        each("restricted", "restrict_residual", [fine // 64, fine // 16, fine // 2], [32, 8],
             [*[floats(fine**3)] * 2, zeros((fine // 2) ** 3), f"i32={fine}", "f32=0.25"]),
        each("structure factors", "structure_factors", 528, 256,
             [floats(4 * 16384), zeros(2 * 2112), "i32=16384", "f32=0.6283185"]),
        each("volume", "volume_cast", [32, 32], [16, 16],
             [floats(256**3, "u8"), zeros(512 * 512, "u32"), "i32=512", "i32=256", "f32=0.2"]),
    ]  # fmt: skip


def tiles() -> list[dict[str, Any]]:
    each = cases_of("sixteenth_tiles")
    plain, wide, elements, weights = ("plain", "padded"), 4096, 1056 * 32, 16896
    return [
        *(each(f"interactions {how}", f"interactions_{how}", 2112, 128,
               [floats(2112 * 27 * 64), zeros(2112 * 415)], "interactions") for how in plain),
        *(each(f"gear {how}", f"gear_{how}", 1056, 256,
               [floats(1056 * 16384, "u8"), floats(512, "u32"), zeros(1056 * 512, "u32"), "u32=0",
                "u32=4290772992"], "gear") for how in ("together", "apart")),
        *(each(f"to bytes {how}", f"to_bytes_{how}", [wide // 64, wide // 64], 256,
               [floats(wide * wide, "bf16"), *[zeros(wide * wide, "u8")] * 2, zeros(wide),
                f"i32={wide}", f"i32={wide}"], "to bytes") for how in (*plain, "swizzled")),
        *(each(f"gas {how}", f"gas_{how}", [32, 128], 256,
               [floats(4 * 1024 * 1024), zeros(4 * 1024 * 1024), "i32=1024", "i32=1024",
                "f32=0.05"], "gas") for how in ("together", "planes")),
        *(each(f"galerkin {how}", f"galerkin_{how}", 1056, 160,
               [floats(1200), floats(80 * elements), floats(9 * elements), zeros(80 * elements),
                "i32=4"], "galerkin") for how in ("rows", "turned")),
        *(each(f"deconvolved {how}", f"deconvolved_{how}", [16, 32, 2], 128,
               [floats(2 * 256 * 256 * 32), floats(2048), zeros(2 * 512 * 512 * 4), "i32=256",
                "i32=256"], "deconvolved") for how in plain),
        *(each(f"painted {how}", f"painted_{how}", [40, 180], 128,
               [floats(1280 * 720, "u8"), zeros(1280 * 720, "u8"), "i32=1280", "i32=720"],
               "painted") for how in ("own", "padded", "beside")),
        *(each(f"four bit rows {how}", f"four_bit_rows_{how}", weights // 32, 256,
               [floats(weights * 2048, "u8"), floats(weights * 64), floats(4096, "f16"),
                zeros(weights), "i32=4096"], "four bit rows") for how in ("once", "copies")),
    ]  # fmt: skip


def products() -> list[dict[str, Any]]:
    each = cases_of("sixteenth_products")
    plain, chunks = ("plain", "padded"), 1584
    return [
        *(each(f"weight gradient {how}", f"weight_gradient_{how}", [16, 33], 128,
               [floats(2048 * 2112, "bf16"), floats(2048 * 1024, "bf16"), zeros(2112 * 1024),
                "i32=2112", "i32=1024", "i32=2048"], "weight gradient")
          for how in (*plain, "swizzled")),
        *(each(f"linear chunk {how}", f"linear_chunk_{how}", chunks, 128,
               [*[floats(chunks * 4096, "f16")] * 4, zeros(chunks * 4096)], "linear chunk")
          for how in plain),
        *(each(f"correlated {how}", f"correlated_{how}", [36, 24], 128,
               [floats(24 * 512 * 1024, "i8"), zeros(24 * 512 * 512 * 2, "i32"), "i32=512",
                "i32=512"], "correlated") for how in plain),
    ]  # fmt: skip


def main() -> None:
    write_set("sixteenth", SOURCES, [*rows(), *bodies(), *tiles(), *products()], [])


if __name__ == "__main__":
    main()
