"""Compile the nineteenth set of timed kernels, and write nineteenth.json.

    python -m tests.silicon.timed.nineteenth

Other kernels than those of the sets before, measured after the model of a later commit.
"""

from __future__ import annotations

from typing import Any

from tests.silicon.timed.build import cases_of, write_set
from tests.silicon.timed.third import floats, zeros

SOURCES = {
    "serving": "sm_90", "graphs": "sm_90", "science": "sm_90", "words": "sm_90",
    "pictures": "sm_90", "layouts": "sm_90", "tensors": "sm_90",
}  # fmt: skip


def serving() -> list[dict[str, Any]]:
    each = cases_of("nineteenth_serving")
    rows, tokens, weights, cache, states = 8448, 2112, 2112 * 1024, 528 * 512, 1056 * 4096
    return [
        each("six bits", "six_bits", rows // 4, 128,
             [floats(rows * 16 * 52, "u32"), floats(rows * 16, "f16"), floats(1024, "u32"),
              floats(128), zeros(rows), "i32=16"]),
        each("cached as bytes", "cached_as_bytes", rows, 256,
             [*[floats(rows * 1024, "bf16")] * 2, floats(rows // 16, "u32", "arange"),
              *[zeros(1024 * 4096, "u32")] * 2, "u32=1023", "f32=300", "f32=200"]),
        each("unpermuted", "unpermuted", tokens, 256,
             [floats(16384 * 2048, "bf16"), floats(tokens * 8, "u32"), floats(tokens * 8),
              floats(tokens * 2048, "bf16"), zeros(tokens * 2048, "bf16"), "u32=16383"]),
        each("byte cache", "byte_cache", 528, 128,
             [floats(528 * 1024, "f16"), floats(cache * 128, "i8"), floats(cache),
              floats(cache * 128, "i8"), floats(cache), zeros(528 * 1024, "f16"), "f32=0.125"]),
        each("gated to bytes", "gated_to_bytes", tokens * 4, 256,
             [floats(tokens * 8192, "bf16"), zeros(tokens * 4096, "u8"), zeros(tokens * 32),
              "i32=32"]),
        each("byte adam", "byte_adam", weights // 1024, 256,
             [*[floats(weights)] * 2, *[floats(weights, "u8")] * 2, *[floats(tokens)] * 2,
              floats(256, "f32", "arange"), "f32=0.001", "f32=0.9", "f32=0.999",
              "f32=0.00000001"]),
        each("wkv", "wkv", states // 4096, 64,
             [*[floats(states)] * 4, floats(32 * 64), zeros(states)]),
        each("penalised", "penalised", 264, 512,
             [floats(264 * 32768), floats(264 * 512, "u32"), zeros(264 * 32768), zeros(264),
              "i32=512", "f32=1.2", "f32=0.1", "f32=0.3", "f32=1.4"]),
    ]  # fmt: skip


def graphs() -> list[dict[str, Any]]:
    each = cases_of("nineteenth_graphs")
    rows, entries, vertices, pairs = 135168, 2112 * 2048, 2112 * 256, 2112 * 128
    return [
        each("slices", "slices", rows // 128, 128,
             [floats(rows // 32, "i32", "arange"), floats(rows // 32, "i32"),
              floats(rows * 32, "u32"), floats(rows * 32, "f64"), floats(131072, "f64"),
              zeros(rows, "f64"), "u32=131071"]),
        each("triples", "triples", entries // 2048, 256,
             [floats(entries, "u32", "arange"), floats(entries, "u32"), floats(entries),
              floats(65536), zeros(entries // 9 + 1), "u32=65535"]),
        each("coloured", "coloured", vertices // 256, 256,
             [floats(vertices * 32, "u32"), *[floats(vertices, "u8")] * 2, zeros(vertices, "u8"),
              "u32=524287"]),
        each("alike lists", "alike_lists", pairs // 128, 128,
             [floats(65536 * 48, "u8"), floats(65536, "u8"), floats(pairs * 2, "u32"),
              zeros(pairs), "u32=65535"]),
        each("alias walks", "alias_walks", pairs // 128, 128,
             [floats(1 << 22, "u32"), floats(1 << 22), floats(1 << 22, "u8"),
              zeros(pairs * 20, "u32"), "u32=262143", "i32=20", "u32=12345"]),
        each("twister", "twister", 1056, 256,
             [floats(1056 * 624, "u32"), zeros(1056 * 16 * 624, "u32"), "i32=16"]),
        each("gammas", "gammas", 2112, 256,
             [floats(vertices), zeros(vertices * 8), "u32=12345"]),
    ]  # fmt: skip


def science() -> list[dict[str, Any]]:
    each = cases_of("nineteenth_science")
    plane, atoms, boxes, splats, elements = 2048 * 1056, 135168, 256 * 132, 270336, 540672
    return [
        each("weno", "weno_fluxes", [16, 1056], 128,
             [*[floats(plane, "f64")] * 2, zeros(plane, "f64"), "i32=2048", "f64=0.2"]),
        each("embedded atoms", "embedded_atoms", atoms // 128, 128,
             [floats(atoms * 4), floats(atoms * 48, "u32"), *[floats(1024 * 4)] * 2,
              *[zeros(atoms)] * 2, f"i32={atoms}", "f32=1.1"]),
        each("multipoles", "multipoles", [4, 132], 64,
             [floats(boxes * 20, "f64"), zeros(boxes * 20, "f64"), "i32=256", "i32=132"]),
        each("vincenty", "vincenty", atoms // 128, 128,
             [*[floats(atoms * 2, "f64")] * 2, zeros(atoms, "f64"), f"i32={atoms}"]),
        each("dormand prince", "dormand_prince", atoms // 128, 128,
             [floats(atoms * 2), floats(atoms), zeros(atoms * 2), zeros(atoms, "i32"),
              f"i32={atoms}", "f32=5", "f32=0.0001"]),
        each("first triangle", "first_triangle", atoms // 128, 128,
             [floats(atoms * 4), floats(512 * 9), zeros(atoms), zeros(atoms, "i32"), "i32=512"]),
        each("in polygon", "in_polygon", atoms // 256, 256,
             [floats(atoms * 2), floats(512), zeros(atoms), "i32=512"]),
        each("harmonics", "harmonics", splats // 256, 256,
             [floats(splats * 3), floats(splats * 48), zeros(splats * 3), "f32=0.3", "f32=-0.2",
              "f32=-4"]),
        each("tetrahedra", "tetrahedra", elements // 128, 128,
             [floats(elements * 4, "u32"), floats(65536 * 3, "f64"), floats(65536, "f64"),
              zeros(65536, "f64"), f"i32={elements}", "i32=65536"]),
    ]  # fmt: skip


def words() -> list[dict[str, Any]]:
    each = cases_of("nineteenth_words")
    reads, packs = 135168, 4224
    return [
        each("myers", "myers", reads // 128, 128,
             [floats(reads * 2, "u64"), floats(reads * 16, "u32"), zeros(reads, "u32"), "i32=16"]),
        each("index search", "index_search", reads // 128, 128,
             [floats(1 << 21, "u32"), floats(reads, "u64"), zeros(reads * 2, "u32"),
              "u32=16777215", "i32=24"]),
        each("unpacked", "unpacked", packs // 4, 128,
             [floats(packs * 3072, "u8"), zeros(packs * 4096, "u8"), zeros(packs, "i32"),
              "i32=3072"]),
        each("byte numbers", "byte_numbers", 2112, 256,
             [floats(2112 * 4096, "u8"), zeros(2112 * 4096, "u32"), zeros(2112, "i32")]),
        each("keccak", "keccak", reads // 128, 128,
             [floats(reads * 16, "u64"), zeros(reads * 4, "u64"), f"i32={reads}"]),
    ]  # fmt: skip


def pictures() -> list[dict[str, Any]]:
    each = cases_of("nineteenth_pictures")
    small, film, wide, regions = 2048 * 1056, 3840 * 2112, 4096 * 2112, 264 * 256 * 49
    return [
        each("kuwahara", "kuwahara", [64, 132], [32, 8],
             [floats(small, "u8"), zeros(small, "u8"), "i32=2048", "i32=1056"]),
        each("lanczos", "lanczos", [22, 132], 256,
             [floats(2048 * 2112 * 4, "u8"), zeros(1365 * 2112 * 4, "u8"), "i32=2048",
              "i32=1365", "f32=1.5"]),
        each("other view", "other_view", [120, 264], [32, 8],
             [floats(film * 4, "u8"), zeros(film * 4, "u8"), floats(8), "i32=3840", "i32=2112"]),
        each("frame to planes", "frame_to_planes", [15, 264], 256,
             [floats(film, "u8"), floats(film // 2, "u8"), zeros(film * 3), "i32=3840",
              "i32=2112"]),
        each("aligned regions", "aligned_regions", 2112, 256,
             [floats(256 * 56 * 56), floats(264 * 4), zeros(regions), "i32=256", "i32=56",
              "i32=56", f"i32={regions}"]),
        each("jump flood", "jump_flood", [64, 132], [32, 8],
             [floats(small, "u32"), zeros(small, "u32"), "i32=2048", "i32=1056", "i32=64"]),
        each("edges kept", "edges_kept", [128, 264], [32, 8],
             [floats(wide), zeros(wide, "u8"), "i32=4096", "i32=2112", "f32=1.5", "f32=3"]),
    ]  # fmt: skip


def layouts() -> list[dict[str, Any]]:
    each = cases_of("nineteenth_layouts")
    plain, sheet, pairs = ("plain", "padded"), 2081 * 1010, 528 * 64
    return [
        *(each(f"folded {how}", f"folded_{how}", 528, 64,
               [floats(528 * 62, "u8"), zeros(528, "i32")], "folded") for how in plain),
        *(each(f"hessenberg {how}", f"hessenberg_{how}", 264, 128,
               [floats(264 * 4096), zeros(264 * 4096)], "hessenberg") for how in plain),
        *(each(f"motif {how}", f"motif_{how}", 264, 256,
               [floats(264 * 256 * 12, "u32"), floats(640), zeros(264 * 256), "i32=12",
                "f32=-0.5"], "motif") for how in plain),
        *(each(f"swept {how}", f"swept_{how}", [33, 16], 64,
               [floats(sheet), zeros(sheet), "i32=2081", "i32=3", "f32=1.5"], "swept")
          for how in ("tight", "padded")),
        *(each(f"stretched time {how}", f"stretched_time_{how}", 528, 64,
               [*[floats(pairs * 48)] * 2, zeros(pairs)], "stretched time") for how in plain),
        *(each(f"running most {how}", f"running_most_{how}", [42, 17], 64,
               [floats(2032 * 1088), zeros(2016 * 1088), "i32=2032", "i32=2016"], "running most")
          for how in plain),
    ]  # fmt: skip


def tensors() -> list[dict[str, Any]]:
    each = cases_of("nineteenth_tensors")
    return [
        *(each(f"gathered {how}", f"gathered_{how}", [8, 66], 128,
               [floats(2048 * 1024, "bf16"), floats(8 * 1024 * 1024, "bf16"), floats(4224, "u32"),
                floats(66, "i32"), zeros(4224 * 1024, "bf16"), "i32=1024", "i32=1024",
                "u32=2047"], "gathered") for how in ("plain", "swizzled")),
        *(each(f"gaussians {how}", f"gaussians_{how}", [33, 33], 128,
               [*[floats(2112 * 512, "bf16")] * 2, *[floats(2112)] * 2, zeros(2112 * 2112),
                "i32=2112", "i32=512", "f32=0.01"], "gaussians") for how in ("plain", "padded")),
    ]  # fmt: skip


def main() -> None:
    cases = [*serving(), *graphs(), *science(), *words(), *pictures(), *layouts(), *tensors()]
    write_set("nineteenth", SOURCES, cases, [])


if __name__ == "__main__":
    main()
