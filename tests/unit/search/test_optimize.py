"""Known answers that the search must find again."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from simulator import Kernel, Launch, SharedSite, count, replay, simulate
from simulator.cli import main
from simulator.errors import SearchError
from simulator.search import Access, Optimum, Term, TileLayout, optimize

COLUMN = Access("LDS", "lane, i", loops={"i": 32})
ROW = Access("STS", "i, lane", loops={"i": 32})


def figures(found: Optimum, column: str) -> list[int]:
    return [row[column] for row in found.rows()]


# The transpose of NVIDIA's "An Efficient Matrix Transpose in CUDA C/C++" (Mark Harris, 2013),
# https://developer.nvidia.com/blog/efficient-matrix-transpose-cuda-cc/ : "float tile[32][33]".
def test_transpose_by_padding() -> None:
    found = optimize([COLUMN, ROW], tile="32x32", space={"pad": range(33)})
    assert found.values == {"pad": 1}
    assert (found.expression, found.leading_dimension) == ("row*33 + col", 33)
    assert figures(found, "wavefronts") == [32, 32]  # 1 an access, each way
    assert (found.bytes, found.bytes_before) == (4 * 32 * 33, 4 * 32 * 32)
    assert found.certificate.kind == "floor"


def test_transpose_by_swizzle_costs_no_bytes() -> None:
    found = optimize([COLUMN, ROW], tile="32x32")
    assert found.expression == "row*32 + (col ^ row)"
    assert found.notation == "Sw<5,0,5> o 0 o (32,32):(32,1)"
    assert (found.before, found.cost) == (1024 + 32, 64)
    assert figures(found, "wavefronts") == [32, 32]
    assert found.bytes == found.bytes_before == 4096
    assert found.proved
    assert "no layout of any kind does better than 64 cycles" in str(found)


def test_a_floor_that_vectors_raise_says_so() -> None:
    """Each access alone could take 40 cycles; a float4 stays whole, so 16 banks hold a column."""
    wide, narrow = "float s[64][64]; *(float4*)&s[ty][tx*4]", "s[tx][ty]"
    found = optimize([wide, narrow], block="16x16")
    assert (found.cost, found.certificate.kind) == (48, "floor")
    assert "and what one access takes as a vector stays whole" in str(found)


def test_fp16_tile_of_ldmatrix_and_wide_stores() -> None:
    """Rows of 64 halves, as CUTLASS swizzles them: Sw<3,3,3>."""
    read = Access(
        "ldmatrix.x4", lambda lane, k: (lane % 16, 16 * k + lane // 16 * 8), loops={"k": 4}
    )
    write = Access("STS.128", "tid/8, tid%8*8", loops={"warp": 4})
    found = optimize([read, write], tile="64x64", element=2)
    assert found.notation == "Sw<3,3,3> o 0 o (64,64):(64,1)"
    assert found.expression == "row*64 + (col ^ ((row & 7) << 3))"
    assert figures(found, "bank_conflicts") == [0, 0]
    assert figures(found, "bank_conflicts_before") == [4 * 4 * 7, 0]
    assert found.proved
    padded = optimize([read, write], tile="64x64", element=2, space={"pad": range(33)})
    assert (padded.values["pad"], padded.cost) == (8, found.cost)
    assert padded.skipped == {"LDSM.16.M88.4 misaligned": 7}  # and 8 leaves nothing to gain


# Bloonow, GEMM矩阵乘法和CUTLASS模板库, https://github.com/Bloonow/MyNotes : z-order lanes and
# split fragments read an 8×8 thread tile with two transactions a LDS.128.
def test_sgemm_fragments() -> None:
    found = optimize(fragment={"thread_tile": "8x8"})
    assert figures(found, "wavefronts") == [4, 4]
    assert figures(found, "requests") == [2, 2]  # so 2 an LDS.128
    assert found.values["fragment"] == "split"
    assert found.proved
    there = optimize(
        fragment={"thread_tile": "8x8", "warp_shape": "4x8"},
        space={"lane_order": ["z-order"], "fragment": ["contiguous", "split"]},
    )
    assert (there.values, there.cost) == ({"lane_order": "z-order", "fragment": "split"}, 8)
    spent = simulate("4x8", 128, lane_order="row-major", fragment="contiguous")
    assert [spent["A"].wavefronts, spent["B"].wavefronts] == [4, 16]
    here = optimize(fragment={"warp_shape": "4x8"}, space={"lane_order": ["row-major", "z-order"],
                                                          "fragment": "all"})  # fmt: skip
    assert here.cost == 8


def test_thread_tiles_are_compared_for_a_whole_block_tile() -> None:
    found = optimize(
        fragment={"warp_shape": "4x8", "lane_order": "z-order"},
        space={"thread_tile": ["4x4", "8x8"], "fragment": "all"},
    )
    assert found.values["thread_tile"] == "8x8"
    assert found.cost == 8 * 8  # 8 warps fill 128x128


# junstar92, How to Optimize a CUDA Matmul Kernel, https://github.com/junstar92/nvidia-libraries-study
def test_transposed_store_is_fixed_without_hurting_the_loads() -> None:
    options: dict[str, Any] = {"kernel": "junstar92.vectorized", "array": "As", "tile": "8x64"}
    found = optimize(**options, m=64, n=64, k=8)
    store, load = found.rows()
    assert (store["op"], load["op"]) == ("STS", "LDS.128")
    assert store["wavefronts_before"] == 2 * store["requests"]
    assert store["wavefronts"] == store["requests"]
    assert load["wavefronts"] == load["wavefronts_before"] == 2 * load["requests"]
    assert found.notation == "Sw<3,2,4> o 0 o (8,64):(64,1)"
    assert found.proved
    padded = optimize(**options, m=64, n=64, k=8, space={"pad": range(33)})
    assert (padded.values, padded.cost) == ({"pad": 4}, found.cost)
    # Its blocks and turns are all alike.
    large = optimize(**options, m=4096, n=4096, k=4096)
    assert large.cost == found.cost * 64 * 64 * 512
    assert large.layout == found.layout
    report = replay("junstar92.vectorized", m=4096, n=4096, k=4096)
    of_a = [site for site in report.sites if "As[" in site.source and site.memory == "shared"]
    assert figures(large, "wavefronts_before") == [site.wavefronts for site in of_a]


# Lei Mao, CUDA Matrix Multiplication Optimization,
# https://leimao.github.io/article/CUDA-Matrix-Multiplication-Optimization/ : v07 skews by 16.
def test_skew_of_8_instead_of_16() -> None:
    found = optimize(
        kernel="leimao.v07",
        space={"pad_m": range(0, 33, 8), "pad_n": range(0, 33, 8)},
        m=1024, n=1024, k=1024,
    )  # fmt: skip
    assert found.values == {"pad_m": 8, "pad_n": 8}
    rows = [row for row in found.rows() if row["op"].startswith("LDSM")]
    assert [row["wavefronts"] / row["requests"] for row in rows] == [4, 4]
    assert [row["wavefronts_before"] / row["requests"] for row in rows] == [8, 8]
    assert all(row["bank_conflicts"] == 0 for row in rows)
    assert found.bytes < (found.bytes_before or 0)
    bare = replay("leimao.v07_unskewed", m=1024, n=1024, k=1024)
    loads = [site for site in bare.sites if site.op.startswith("LDSM")]
    assert [site.wavefronts / site.requests for site in loads] == [32, 32]


def test_skew_of_one_fragment_load() -> None:
    """The same from the access alone: 8 is also the least that keeps rows at 16 bytes."""
    read = Access("ldmatrix.x4.trans", lambda lane: (lane % 8 + lane // 8 % 2 * 8, lane // 16 * 8))
    by_pad = {}
    for pad in (0, 8, 16):
        found = optimize([read], tile="16x128", element=2, space={"pad": [pad]})
        by_pad[pad] = found.cost
    assert by_pad == {0: 32, 8: 4, 16: 8}
    found = optimize([read], tile="16x128", element=2, space={"pad": range(1, 33)})
    assert found.values["pad"] == 8


def test_a_padded_and_swizzled_index_as_people_write_it() -> None:
    layout = TileLayout(64, 128, pad=8, terms=(Term(4, 0b111000),))
    assert layout.expression() == "row*136 + (col ^ ((row & 7) << 3))"
    assert layout.notation is None


@pytest.mark.parametrize(
    ("op", "index", "cost"),
    [
        ("LDS.128", "lane*4", 4),  # 512 bytes: four wavefronts, whatever the layout
        ("STS.128", "lane*4", 4),
        ("LDS.64", "lane*2", 2),
        ("LDS.128", "lane/2*4", 2),
        ("LDS", "lane", 1),
        ("LDS", "0", 1),
    ],
)
def test_no_layout_helps(op: str, index: str, cost: int) -> None:
    found = optimize([Access(op, index)])
    assert not found.helps
    assert (found.before, found.cost, found.certificate.floor) == (cost, cost, cost)
    assert found.certificate.kind == "floor"
    assert str(found).startswith("No layout helps")
    assert found.operations == 0


def test_a_bound_by_whole_vectors() -> None:
    """A column of a tile that is also read in vectors: words keep their place in 16 bytes."""
    rows = Access("LDS.128", "i*4 + lane/8, lane%8*4", loops={"i": 8})
    found = optimize([rows, Access("STS", "lane, 0")], tile="32x32")
    assert figures(found, "wavefronts") == [32, 4]
    assert figures(found, "wavefronts_before") == [32, 32]
    assert found.certificate.kind == "floor"


def test_what_is_worse_than_the_start_is_not_called_as_before() -> None:
    found = optimize([Access("LDS", "lane*33")], space={"swizzle": ["Sw<5,0,5>"]})
    assert (found.before, found.cost, found.helps) == (1, 32, False)
    assert str(found).startswith("1 → 32 cycles: the layout started from is better")


def test_only_a_swizzle_rounds_the_tile_up() -> None:
    plain = optimize([Access("LDS", "lane%25")])
    assert (plain.bytes_before, plain.bytes, plain.cost) == (100, 100, 1)
    swizzled = optimize([Access("LDS", "lane%25*4")])
    assert (swizzled.bytes_before, swizzled.bytes, swizzled.cost) == (4 * 97, 512, 1)
    # Of two choices that cost the same, the one that stores less.
    found = optimize([Access("LDS", "lane%n")], space={"n": [32, 25], "swizzle": "xor"})
    assert found.bytes == 128
    assert found.skipped == {"elements overlap": 1}


def test_swizzles_of_tiles_that_are_no_whole_rows_of_banks() -> None:
    """192 bytes: 32 columns of 6 bytes, so no ranks, but single terms that keep to the tile."""
    column = Access("LDS", "lane%4*8, lane/4*0")
    found = optimize([column], tile="32x6", element=4, space={"swizzle": "xor"})
    assert found.proved
    odd = [Access("STSM.16.MT88.4", [[lane % 7 * 2 for lane in range(32)]])]
    found = optimize(odd, tile="2x7", element=16, space={"swizzle": "xor"}, trials=5)
    assert found.layout is not None
    assert found.cost < (found.before or 0)
    assert found.layout.swizzles


def test_expressions_of_tiles_whose_rows_are_no_power_of_two() -> None:
    """Row 4 has only bit 2, but rows 1 and 3 have others, which must be masked."""
    layout = TileLayout(5, 64, terms=(Term(3, 0b101000),))
    assert layout.expression() == "row*64 + (col ^ ((row & 5) << 3))"
    flat = TileLayout(2, 12, terms=(Term(3, 0b10),))
    assert flat.expression() == "(row*12 + col) ^ (((row*12 + col) >> 3) & 2)"


def test_weights_decide() -> None:
    """Where both cannot be had, the access that runs more often wins."""
    one = Access("LDS", lambda lane: lane * 32)
    other = Access("LDS", lambda lane: lane * 32 + lane // 2 % 16 * 2)
    light = {"swizzle": [None, "Sw<5,0,5>"]}
    for weights in ((1, 100), (100, 1)):
        accesses = [
            Access("LDS", each.index, weight=weight)
            for each, weight in zip((one, other), weights, strict=True)
        ]
        found = optimize(accesses, space=light)
        costs = []
        for layout in (TileLayout(1, 1024), TileLayout(1, 1024, terms=(Term(5, 31),))):
            total = 0
            for access in accesses:
                places = np.array([access.index(lane) for lane in range(32)])
                total += access.weight * int(count("LDS", layout.offset(places) * 4).cycles)
            costs.append(total)
        assert found.cost == min(costs)


def test_free_names_of_expressions() -> None:
    accesses = [Access("LDS.128", "k*ld + lane/4*8 + half", loops={"k": 8}),
                Access("STS", "lane%8*ld + lane/8")]  # fmt: skip
    found = optimize(accesses, names={"half": 4}, space={"ld": range(64, 97)})
    assert found.values == {"ld": 68}
    assert found.before is not None
    assert found.before > found.cost
    assert found.skipped == {"LDS.128 misaligned": 24}
    assert found.expression == "index"


def test_overlapping_elements_are_no_layout() -> None:
    """A leading dimension of 0 would make every column one word."""
    found = optimize([Access("LDS", "lane*ld"), ROW_OF_16], space={"ld": [0, 1, 8, 16, 17]})
    assert found.values == {"ld": 17}
    assert found.skipped == {"elements overlap": 3}


def test_overlapping_elements_are_no_layout_in_samples_either() -> None:
    found = optimize(
        [Access("LDS", "lane*ld"), ROW_OF_16], space={"ld": range(20)}, limit=1, trials=200
    )
    assert found.certificate.kind == "sampled"
    assert found.values["ld"] >= 16  # the rows' 16 elements apart
    assert found.skipped["elements overlap"] > 0


ROW_OF_16 = Access("STS", "i*ld + lane%16", loops={"i": 32})


def test_functions_of_any_free_value() -> None:
    order = {"rows": lambda lane: lane, "columns": lambda lane: lane * 32}
    found = optimize(
        [Access("LDS", lambda lane, by: (by(lane) // 32, by(lane) % 32))],
        tile="32x32", space={"by": list(order.values())},
    )  # fmt: skip
    assert found.cost == 1
    assert found.values["by"] is order["rows"]


def test_an_argument_keeps_its_default_unless_it_is_free_or_a_loop() -> None:
    rows = [7 * lane % 32 for lane in range(32)]
    kept = Access("LDS", lambda lane, i, p=rows, c=1: (p[lane], c * i), loops={"i": 2})
    plain = Access("LDS", lambda lane, i: (rows[lane], i), loops={"i": 2})
    found, same = (
        optimize([each], tile="32x32", space={"pad": range(3)}) for each in (kept, plain)
    )
    assert (found.cost, found.values) == (same.cost, same.values)
    loop = Access("LDS", lambda lane, i=7: (lane, i), loops={"i": 2})
    assert optimize([loop], tile="32x32", space={"pad": [1]}).cost == 2
    skew = Access("LDS", lambda lane, c=0: (lane, (lane * c) % 32))
    assert optimize([skew], tile="32x32", space={"swizzle": "none"}).cost == 32
    assert optimize([skew], tile="32x32", space={"c": range(3)}).values["c"] == 1
    assert optimize([skew], tile="32x32", space={"pad": [0]}, names={"c": 1}).cost == 1
    both = Access("LDS", lambda lane, c=0: (lane, c), active=lambda c: c < 2)
    with pytest.raises(SearchError, match="no value for c"):
        optimize([both], tile="32x32")


def test_four_terms_take_as_few_operations_as_any() -> None:
    """Fewer terms cost more cycles here; of four, some take 11 operations and some 10."""
    lane = np.arange(32)
    low, high = lane % 8 // 2 * 4, lane // 8 % 2 * 32
    accesses = [
        Access("LDS.128", low + high),
        Access("STS.64", lane // 4 % 2 * 16 + lane // 8 % 2 * 128),
        Access("LDS.64", lane // 4 % 2 * 4 + lane // 8 % 2 * 48 + lane // 16 * 128),
    ]
    found = optimize(accesses, tile="8x32", space={"swizzle": "xor"})
    assert found.layout is not None
    assert (found.cost, len(found.layout.terms), found.operations) == (5, 4, 10)


def test_arrays_as_indices() -> None:
    lanes = np.arange(32)
    pair = optimize([Access("LDS", (lanes, 0))], tile="32x32", space={"pad": range(3)})
    flat = optimize([Access("LDS", lanes * 32)], tile="32x32", space={"pad": range(3)})
    assert pair.cost == flat.cost == 1
    assert pair.values == flat.values == {"pad": 1}


def test_masks_and_active_lanes() -> None:
    half = Access("LDS", "lane, 0", active="lane < 8")
    found = optimize([half], tile="32x32")
    assert (found.before, found.cost) == (8, 1)
    with pytest.raises(SearchError, match="all lanes take part"):
        optimize([Access("ldmatrix.x4", "lane*8", active="lane < 8")], element=2)


def test_other_objectives_and_rules() -> None:
    pairs = Access("LDS.128", "lane/2*8 % 32 + lane/8*32")
    silicon, documented = (optimize([pairs], rule=rule) for rule in ("silicon", "documented"))
    assert (silicon.cost, documented.cost) == (2, 4)
    conflicts = optimize([COLUMN, ROW], tile="32x32", objective="bank_conflicts")
    assert (conflicts.before, conflicts.cost) == (31 * 32, 0)


def test_a_kernel_of_ones_own() -> None:
    def transpose(m: int, n: int, k: int, *, pad: int = 0) -> Launch:
        tile = SharedSite("tile[threadIdx.x][i]", "load", lambda tx, i: tx * (32 + pad) + i,
                          loops={"i": 32})  # fmt: skip
        return Launch((n // 32, m // 32), (32, 1), (tile,))

    kernel = Kernel("transpose", "32x32 tiles", "mine", transpose)
    found = optimize(kernel=kernel, space={"pad": range(9)}, m=64, n=64, k=1)
    assert (found.values["pad"], found.before, found.cost) == (1, 4 * 1024, 4 * 32)


def test_results_as_columns() -> None:
    found = optimize([COLUMN, ROW], tile="32x32")
    frame = found.to_dataframe()
    assert list(frame["cycles"]) == [32, 32]
    assert found.to_dict()["totals"]["cycles_before"] == 1056
    assert "LDS" in found._repr_html_()
    assert found.summary()["notation"] == found.notation
    assert found.blocks_per_sm == 32


def test_a_question_in_c_is_read_as_the_command_line_reads_it(
    capsys: pytest.CaptureFixture[str],
) -> None:
    texts = ["float s[64][64]; s[threadIdx.x][i]", "2*STS: float s[64][64]; s[i][threadIdx.x]"]
    best = optimize(texts, loops={"i": 4}, block=64)
    words = [word for text in texts for word in ("--access", text)]
    assert main(["optimize", *words, "--loop", "i=4", "--block", "64", "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["rows"] == best.rows()
    alone = optimize("half t[64][64]; t[tid][0]", space={"swizzle": "cute"})
    assert (alone.leading_dimension, alone.bytes) == (64, 64 * 64 * 2)


def test_a_copy_beside_the_pipe_is_said_to_make_no_requests() -> None:
    read = Access("ldmatrix.x4", "lane%16, lane/16*8")
    copy = Access("cp.async.cg.16", "lane/4, lane%4*8")
    found = optimize([copy, read], tile="16x32", element=2, space={"swizzle": "cute"})
    assert figures(found, "requests") == [0, 1]
    said = "LDGSTS.E.BYPASS.128 does not pass through the shared-memory pipe"
    assert said in str(found)
    assert said not in str(optimize([read], tile="16x32", element=2, space={"swizzle": "cute"}))


def test_the_least_padding_stands_beside_the_swizzle():
    found = optimize(["float s[32][32]; s[threadIdx.x][threadIdx.y]"])
    assert found.padding is not None
    assert (found.padding.layout.c(), found.padding.cost) == ("row*33 + col", 32)
    assert found.padding.bytes == found.bytes + 128
    assert "Or pad, without a swizzle: row*33 + col, 4,224 bytes, 32 cycles." in found.sentences
    padded = optimize([ROW, COLUMN], tile="32x32", space={"pad": range(33)})
    assert padded.padding is None  # it is the answer itself
    assert padded.summary()["padding"] is None
