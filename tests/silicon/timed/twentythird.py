"""Compile the twenty-third set of timed kernels, and write twentythird.json.

    python -m tests.silicon.timed.twentythird

Other kernels than those of the sets before, measured after the model of a later commit.
"""

from __future__ import annotations

from typing import Any

from tests.silicon.timed.build import cases_of, write_set
from tests.silicon.timed.third import floats, zeros

SOURCES = dict.fromkeys(("tensors", "layouts", "models", "graphs", "nature", "images"), "sm_90")
PLAIN = ("plain", "padded")
THREE = ("rows", "padded", "columns")


def tensors() -> list[dict[str, Any]]:
    each = cases_of("twentythird_tensors")
    head, chains = 34 * 1024 * 64, 1056 * 4096
    return [
        *(each(f"outer mean {how}", f"outer_mean_{how}", [22, 22], 128,
               [*[floats(1024 * 1408, "bf16")] * 2, zeros(1408 * 1408), "i32=1408", "i32=1024"],
               "outer mean") for how in (*PLAIN, "swizzled")),
        *(each(f"alibi {how}", f"alibi_{how}", [16, 34], 128,
               [*[floats(head, "f16")] * 3, zeros(head, "f16"), "i32=1024", "f32=0.1803"],
               "alibi") for how in ("plain", "swizzled")),
        *(each(f"chained {how}", f"chained_{how}", 1056, 128,
               [*[floats(chains)] * 3, zeros(chains)], "chained") for how in PLAIN),
    ]  # fmt: skip


def layouts() -> list[dict[str, Any]]:
    each = cases_of("twentythird_layouts")
    rays, keys, elements = 2112 * 128, 1056 * 4096, 2112 * 512
    series, levels = 2112 * 64, 2112 * 2048
    return [
        *(each(f"stacks {how}", f"stacks_{how}", 2112, 128,
               [floats(4096), floats(rays * 6), zeros(rays), f"i32={rays}"], "stacks")
          for how in THREE),
        *(each(f"tanimoto {how}", f"tanimoto_{how}", [33, 33], 256,
               [floats(2112 * 32, "u32"), zeros(2112 * 2112), "i32=2112"], "tanimoto")
          for how in PLAIN),
        *(each(f"splitters {how}", f"splitters_{how}", 1056, 256,
               [floats(1024), floats(keys), zeros(keys, "u16"), zeros(1056 * 1024, "u32")],
               "splitters") for how in ("sorted", "levels")),
        *(each(f"hexahedra {how}", f"hexahedra_{how}", 2112, 64,
               [floats(elements, "f64"), floats(elements * 6, "f64"), floats(64, "f64"),
                zeros(elements, "f64")], "hexahedra") for how in PLAIN),
        *(each(f"isotonic {how}", f"isotonic_{how}", 2112, 64,
               [floats(series * 32), zeros(series * 32), "f32=0.03"], "isotonic")
          for how in THREE),
        *(each(f"residuals {how}", f"residuals_{how}", 2112, 128,
               [floats(levels, "i16"), zeros(levels, "i16"), "i32=40"], "residuals")
          for how in PLAIN),
        *(each(f"cooccurrence {how}", f"cooccurrence_{how}", 2112, 256,
               [floats(2112 * 4096, "u8"), zeros(2112 * 2)], "cooccurrence") for how in PLAIN),
    ]  # fmt: skip


def models() -> list[dict[str, Any]]:
    each = cases_of("twentythird_models")
    rows, states, scores, pool = 16896, 1056 * 64, 8448 * 2048, 1024 * 8 * 2048
    return [
        each("mx fours", "mx_fours", rows // 8, 256,
             [floats(rows * 512, "u32"), floats(rows * 128, "u8"), floats(4096, "i8"),
              floats(128), zeros(rows)]),
        each("codebook rows", "codebook_rows", rows // 16, 256,
             [floats(rows * 1024, "u8"), floats(4096, "f16"), floats(4096, "f16"), floats(rows),
              zeros(rows)]),
        each("delta rule", "delta_rule", 1056, 64,
             [*[floats(states * 64)] * 3, floats(states * 2), zeros(states * 64), "i32=64"]),
        each("sinks", "sinks", 8448, 256,
             [floats(scores, "bf16"), floats(64), zeros(scores, "bf16"), "f32=30"]),
        each("paged group", "paged_group", [8, 66], 128,
             [floats(66 * 4096, "f16"), *[floats(pool, "f16")] * 2, floats(66 * 48, "u32"),
              floats(66, "u32"), zeros(66 * 4096, "f16"), "i32=48", "u32=1024", "f32=0.1275"]),
        each("adafactor", "adafactor", 8448, 256,
             [floats(scores, "bf16"), floats(scores, "bf16"), floats(8448), floats(2048),
              "f32=0.01", "f32=0.999"]),
        each("expert slots", "expert_slots", 1056, 256,
             [floats(1056 * 2048, "u32"), zeros(128, "u32"), zeros(1056 * 2048, "u32"),
              zeros(128 * 32768, "u32"), "u32=32768"]),
    ]  # fmt: skip


def graphs() -> list[dict[str, Any]]:
    each = cases_of("twentythird_graphs")
    rows, people, letters, keys = 2112 * 128, 67584, 1056 * 128 * 32, 2112 * 2048
    texts = 2112 * 128
    return [
        each("csr stream", "csr_stream", 2112, 128,
             [floats(rows + 1, "u32"), floats(rows * 12 + 8, "u32"), floats(rows * 12 + 8),
              floats(1 << 20), zeros(rows), f"u32={(1 << 20) - 1}"]),
        each("louvain", "louvain", people // 4, 128,
             [floats(people, "u32"), floats(people * 96, "u32"), floats(people * 96),
              floats(people, "u32"), floats(4096), zeros(people, "u32"), f"u32={people}",
              "f32=0.01"]),
        each("fuzzy", "fuzzy", 1056, 128,
             [floats(letters, "u32"), floats(24, "u8"), zeros(1056 * 128, "u32"),
              f"i32={letters}"]),
        each("cuckoo", "cuckoo", 2112, 256,
             [floats(1 << 21, "u32"), floats(keys, "u32"), zeros(keys // 32, "u32"),
              f"u32={(1 << 20) - 1}"]),
        each("held karp", "held_karp", 1056, 256, [floats(1056 * 22), zeros(1056)]),
        each("subset sums", "subset_sums", 2112, 256,
             [floats(2112 * 64, "u16"), zeros(2112 * 512, "u32"), zeros(2112, "u32")]),
        each("simhash", "simhash", 2112, 128,
             [floats(2112 * 1024, "u32"), zeros(2112 * 2, "u32")]),
        each("sha512", "sha512", 2112, 128,
             [floats(texts * 14, "u64"), zeros(texts * 8, "u64"), f"i32={texts}"]),
    ]  # fmt: skip


def nature() -> list[dict[str, Any]]:
    each = cases_of("twentythird_nature")
    sites, waters, plane, edges = 24**3 * 22, 2112 * 128, 2048 * 1056, 4224 * 256
    points = 1056 * 128
    return [
        each("staggered", "staggered", sites // 128, 128,
             [floats(sites * 72), floats(sites * 6), zeros(sites * 6), "i32=24",
              f"i32={sites}"]),
        each("shaken water", "shaken_water", 2112, 128,
             [floats(waters * 4), floats(waters * 9), zeros(waters * 9), zeros(waters, "i32"),
              "f32=0.05"]),
        each("elastic", "elastic", [64, 132], [32, 8],
             [*[floats(plane)] * 4, *[zeros(plane)] * 3, "i32=2048", "i32=1056", "f32=0.1"]),
        each("jumps", "jumps", 1056, 256,
             [zeros(1056 * 2), "u32=2026", "f32=0.25", "f32=0.001", "f32=0.05"]),
        each("threefry", "threefry", 2112, 256,
             [zeros(2112 * 4096), "u32=42", "u32=7"]),
        each("in circle", "in_circle", edges // 256, 256,
             [floats(65536 * 2), floats(edges * 4, "u32"), zeros(edges, "u8"), "u32=65535"]),
        each("currents", "currents", 1056, 128,
             [floats(points * 3), floats(1025 * 4), zeros(points * 3), "i32=1024"]),
        each("eikonal", "eikonal", [32, 66], [32, 8],
             [floats(1024 * 2112), floats(1026 * 2114), zeros(1024 * 2112), "i32=1024"]),
    ]  # fmt: skip


def images() -> list[dict[str, Any]]:
    each = cases_of("twentythird_images")
    plane, pairs, columns, cloud = 2048 * 1056, 2112 * 128, 8 * 32 * 4096, 2112 * 1024
    return [
        each("superpixels", "superpixels", [64, 132], [32, 8],
             [floats(plane * 3), floats(plane // 256 * 5), zeros(plane, "i32"), "i32=2048",
              "i32=1056", "f32=0.002"]),
        each("diffused", "diffused", [64, 66], [32, 8],
             [floats(2052 * 1060), zeros(plane), "i32=2048", "f32=4", "f32=0.2"]),
        each("horizons", "horizons", [32, 132], [32, 8],
             [floats(1024 * 1056), zeros(1024 * 1056), "i32=1024", "i32=1056", "f32=1"]),
        each("turned boxes", "turned_boxes", 2112, 128,
             [*[floats(pairs * 5)] * 2, zeros(pairs), f"i32={pairs}"]),
        each("deformed", "deformed", [16, 9, 8], 256,
             [floats(columns), floats(8 * 18 * 4096), floats(8 * 9 * 4096),
              zeros(columns * 9)]),
        each("farthest", "farthest", 528, 256,
             [floats(528 * 2048 * 3), zeros(528 * 96, "i32")]),
        each("nearest points", "nearest_points", 2112, 256,
             [floats(cloud * 3), floats(cloud, "u32"), zeros(1024 * 1024, "u64"),
              f"i32={cloud}", "i32=1024", "f32=1"]),
        each("fused depths", "fused_depths", [8, 32], [32, 8],
             [floats(640 * 480), zeros(64 * 256 * 256 * 2, "f16"), "i32=256", "i32=640",
              "i32=480", "f32=0.1"]),
    ]  # fmt: skip


def main() -> None:
    cases = [*tensors(), *layouts(), *models(), *graphs(), *nature(), *images()]
    write_set("twentythird", SOURCES, cases, [])


if __name__ == "__main__":
    main()
