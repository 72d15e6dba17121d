"""Compile the second part of the thirty-fourth set of timed kernels, and write thirtyfourth_b.json.

    python -m tests.silicon.timed.thirtyfourth_b

What people write for Hopper and Ampere today; measured after the model of an earlier commit.
"""

from __future__ import annotations

from typing import Any

from tests.silicon.timed.build import cases_of, write_cubins, write_set
from tests.silicon.timed.third import floats, zeros

SOURCES = {
    "products": "sm_90a", "heads": "sm_90a", "stages": "sm_90", "served": "sm_90",
    "clusters": "sm_90", "numbers": "sm_90", "tables": "sm_90",
}  # fmt: skip
PADDED = ("plain", "padded")
SWIZZLED = ("plain", "swizzled")


def mapped(kind: str, sizes: str, box: str, swizzle: int = 128, how: str = "random") -> str:
    """A tensor map over an array of one kind, in boxes."""
    return f"tma:{how}:{kind}[{sizes}]:box={box}" + (f":swizzle={swizzle}" if swizzle else "")


def products() -> list[dict[str, Any]]:
    """Products whose tiles come by tensor maps."""
    each = cases_of("thirtyfourth_b_products")
    return [
        *(each(f"groups in turns {s}", f"groups_in_turns_{s}", 132, 384,
               [mapped("bf16", "1600,2048", f"64x{s // 2}", s),
                mapped("bf16", "2816,2048", f"128x{s // 2}", s),
                mapped("bf16", "1600,2816", "64x64", how="zeros"), "i32=22", "i32=550", "i32=32"],
               "groups in turns", 131072) for s in (128, 64, 32)),
        *(each(f"bytes together {s}", f"bytes_together_{s}", [12, 11], 384,
               [mapped("i8", "1400,8192", f"128x{s}", s), mapped("i8", "1536,8192", f"128x{s}", s),
                floats(1400), floats(1536), zeros(1400 * 1536, "bf16"), "i32=1400", "i32=1536",
                "i32=64"], "bytes together", 131072) for s in (128, 32)),
        each("eights with scales", "eights_with_scales", [16, 9], 384,
             [mapped("f8e4m3", "1152,4096", "128x128"), mapped("f8e4m3", "2048,4096", "128x128"),
              floats(32 * 1152), floats(16 * 32), zeros(1152 * 2048, "bf16"), "i32=1152",
              "i32=2048", "i32=32"], shared=163840),
        *(each(f"few tokens {s}", f"few_tokens_{s}", [64, 4], 288,
               [mapped("f16", "8192,4096", f"128x{s // 2}", s),
                mapped("f16", "13,4096", f"16x{s // 2}", s), zeros(4 * 13 * 8192), "i32=8192",
                "i32=13", "i32=64"], "few tokens", 92160) for s in (128, 64)),
        each("rows and columns shared", "rows_and_columns_shared", [20, 14], 384,
             [mapped("f16", "1792,1024", "64x64"), mapped("f16", "2560,1024", "64x64"),
              floats(2560), zeros(1792 * 2560, "f16"), "i32=2560", "i32=16"], shared=131072),
        each("experts mapped", "experts_mapped", [8, 4, 8], 384,
             [mapped("f16", "4096,1024", "128x64"), mapped("f16", "8,1024,1024", "1x128x64"),
              floats(8, "u32"), floats(4096), zeros(4096 * 1024, "f16"), "i32=512", "i32=1024",
              "i32=16"], shared=98304),
    ]  # fmt: skip


def heads() -> list[dict[str, Any]]:
    """What else comes by tensor maps."""
    each = cases_of("thirtyfourth_b_heads")

    def attended(kept: int, length: int, swizzle: int) -> list[str]:
        rows = f"{kept * length},64"
        return [
            *[mapped("f16", rows, f"128x{swizzle // 2}", swizzle)] * 3,
            mapped("f16", rows, "64x64", how="zeros"), zeros(kept * length), f"i32={length}",
            "f32=0.18033688",
        ]  # fmt: skip

    return [
        *(each(f"heads in turns {s}", f"heads_in_turns_{s}", [8, 48], 384, attended(48, 1024, s),
               "heads in turns", 98304) for s in (128, 64)),
        each("heads causal", "heads_causal", [12, 20], 384, attended(20, 1536, 128), "", 98304),
        each("rows by index", "rows_by_index", 528, 160,
             [mapped("f16", "16384,1024", "1x256", 0), floats(2112 * 48, "u32"),
              floats(2112, "u32"), floats(2112 * 48), zeros(2112 * 1024, "f16"), "i32=2112",
              "i32=48", "u32=16383"]),
        each("planes by turns", "planes_by_turns", [8, 16, 16], 256,
             [mapped("f32", "256,126,252", "1x12x40", 0), floats(256 * 126 * 252),
              zeros(256 * 126 * 252), "i32=252", "i32=126", "i32=256", "i32=16", "f32=0.2"]),
    ]  # fmt: skip


def stages() -> list[dict[str, Any]]:
    each = cases_of("thirtyfourth_b_stages")
    sums = 1900 * 2600
    rows = [
        floats(1900 * 1000, "bf16"), floats(1000 * 2600, "bf16"), floats(sums, "bf16"),
        zeros(sums, "bf16"), "i32=1900", "i32=2600", "i32=1000", "f32=0.5", "f32=1.5",
    ]  # fmt: skip
    points, weights = 8 * 56 * 56, 256 * 344 * 128
    return [
        *(each(f"brains by rows {how}", f"brains_by_rows_{how}", [21, 15], 256, rows,
               "brains by rows", 56832 if how == "padded" else 49152)
          for how in (*PADDED, "swizzled")),
        each("bytes unfolded", "bytes_unfolded", [points // 128, 4], 128,
             [floats(points * 256, "u8"), floats(256 * 9 * 256, "u8"), floats(256),
              zeros(points * 256, "u8"), "i32=56", "i32=56", "i32=256", "i32=256",
              f"i32={points}"], shared=49152),
        each("batch of tfloats", "batch_of_tfloats", [4, 4, 96], 128,
             [*[floats(96 * 200 * 160)] * 2, zeros(96 * 200 * 200), "i32=200", "i32=200",
              "i32=160"]),
        *(each(f"nibbles in order {how}", f"nibbles_in_order_{how}", [86, 3], 256,
               [floats(16 * 4096, "f16"), floats(weights, "u32"), floats(32 * 22016, "f16"),
                zeros(3 * 16 * 22016), "i32=22016", "i32=4096"], "nibbles in order", 40960)
          for how in SWIZZLED),
    ]  # fmt: skip


def served() -> list[dict[str, Any]]:
    each = cases_of("thirtyfourth_b_served")
    cache, parts, small = 2048 * 4 * 2048, 48 * 4 * 3 * 8, 32 * 16 * 1024
    tall, wide = 48 * 768 * 768, 48 * 512 * 768
    return [
        *(each(f"pages of sixteen {how}", f"pages_of_sixteen_{how}", [4, 48, 3], 128,
               [floats(48 * 4 * 1024, "f16"), *[floats(cache, "f16")] * 2, floats(48 * 128, "u32"),
                floats(48, "u32"), zeros(parts * 128), zeros(parts * 2), "i32=128", "u32=2047",
                "f32=0.12751743"], "pages of sixteen", 65536) for how in SWIZZLED),
        each("adapters of segments", "adapters_of_segments", 512, 128,
             [floats(8192 * 1024, "f16"), floats(small, "f16"), floats(small, "f16"),
              floats(512, "u32"), zeros(8192 * 1024, "f16"), "i32=1024", "i32=1024", "u32=31",
              "f32=0.25"]),
        each("problems in a list", "problems_in_a_list", 528, 128,
             [floats(tall, "f16"), floats(wide, "f16"), floats(96, "u32"), zeros(48 * 768 * 512),
              "i32=48", "i32=768", "i32=512", "i32=768"]),
        each("forgetting averages", "forgetting_averages", 1056, 256,
             [*[floats(1056 * 6000)] * 2, zeros(1056 * 6000), "i32=6000"]),
    ]  # fmt: skip


def clusters() -> list[dict[str, Any]]:
    each = cases_of("thirtyfourth_b_clusters")
    cells, chunks = 1056 * 2048, 6000
    return [
        *(each(f"cluster turns {how}", f"cluster_turns_{how}", [124, 32], 256,
               [floats(4000 * 3936), zeros(4000 * 3936), "i32=4000", "i32=3936"], "cluster turns")
          for how in PADDED),
        each("strings of blocks", "strings_of_blocks", 1056, 256,
             [floats(cells), zeros(cells), "i32=96", "f32=0.25"]),
        each("loaded narrowed stored", "loaded_narrowed_stored", 264, 320,
             [floats(chunks * 4096, "bf16"), zeros(chunks * 4096, "u8"), zeros(chunks * 32),
              f"i32={chunks}"]),
    ]  # fmt: skip


def numbers() -> list[dict[str, Any]]:
    each = cases_of("thirtyfourth_b_numbers")
    lines, rows, systems, atoms = 1100 * 8192, 67500, 1056 * 62, 2112 * 64
    return [
        *(each(f"fourier in sixteens {how}", f"fourier_in_sixteens_{how}", 264, 256,
               [floats(lines), zeros(lines), "i32=1100"], "fourier in sixteens")
          for how in PADDED),
        *(each(f"field transforms {how}", f"field_transforms_{how}", 2112, 256,
               [floats(2112 * 4096, "u32"), floats(4096, "u32"), zeros(2112 * 4096, "u32"),
                "u32=1592366214"], "field transforms") for how in PADDED),
        each("rows absorbed", "rows_absorbed", 528, 128,
             [floats(16 * rows, "u32"), floats(141, "u32"), zeros(8 * rows, "u32"),
              f"i32={rows}", "i32=2"]),
        *(each(f"equations with pivots {how}", f"equations_with_pivots_{how}", 1056, 128,
               [floats(systems * 62), zeros(systems * 62), zeros(systems, "i32"), "i32=62"],
               "equations with pivots") for how in PADDED),
        each("clusters of eight", "clusters_of_eight", 2112, 64,
             [floats(atoms * 4), floats(2112, "u32"), floats(2112 * 56, "u32"), zeros(atoms * 3),
              "u32=16383", "f32=1.0", "f32=0.3"]),
    ]  # fmt: skip


def tables() -> list[dict[str, Any]]:
    each = cases_of("thirtyfourth_b_tables")
    keys, rows, rays, points = 528 * 4096 - 1000, 4325000, 135131, 3000 * 2000
    return [
        *(each(f"pairs by four bits {how}", f"pairs_by_four_bits_{how}", 528, 256,
               [*[floats(keys, "u32")] * 2, *[zeros(keys, "u32")] * 2, "i32=32", f"i32={keys}"],
               "pairs by four bits") for how in PADDED),
        each("groups in a table", "groups_in_a_table", 1056, 256,
             [floats(2 * rows, "u32"), *[zeros(1500, "u32")] * 3, f"i32={rows}", "u32=1500"]),
        each("parts of tiles", "parts_of_tiles", [47, 63], 512,
             [floats(points, "u8"), zeros(points, "i32"), "i32=3000", "i32=2000", "i32=140"]),
        each("matches in chunks", "matches_in_chunks", 330, 128,
             [floats(1320 * 8192, "u8"), zeros(1320 * 2048, "u32"), zeros(1320, "u32"), "i32=15",
              "i32=1024"], shared=65600),
        each("least of rows", "least_of_rows", 528, 128,
             [floats(2112 * 6000), zeros(2112 * 32), zeros(2112 * 32, "i32"), "i32=2112",
              "i32=6000"]),
        *(each(f"rays down boxes {how}", f"rays_down_boxes_{how}", 1056, 128,
               [floats(4096 * 4), floats(rays * 8), zeros(rays * 2), "i32=11", f"i32={rays}",
                "f32=0.15"], "rays down boxes") for how in ("together", "apart")),
        *(each(f"two sequences {how}", f"two_sequences_{how}", 528, 256,
               [floats(8448 * 97, "u8"), floats(128, "u8"), floats(576, "u32"),
                zeros(4224, "u32"), "i32=97", "i32=11", "i32=1"], "two sequences")
          for how in PADDED),
    ]  # fmt: skip


def main() -> None:
    write_cubins("thirtyfourth_b", SOURCES)
    cases = [*stages(), *served(), *clusters(), *numbers(), *tables()]
    write_set("thirtyfourth_b", {}, cases, [*products(), *heads()])


if __name__ == "__main__":
    main()
