"""`simulate`: figures per geometry, every parameter alive, bad geometries refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from layouts import Swizzle
from simulator import BankwiseError, count, simulate


def spent(*args: Any, **kwargs: Any) -> tuple[int, int]:
    report = simulate(*args, **kwargs)
    return report["A"].wavefronts, report["B"].wavefronts


@pytest.mark.parametrize(
    ("shape", "lds", "options", "wavefronts", "conflicts"),
    [
        ("4x8", 128, {}, (8, 4), (0, 0)),
        ("4x8", 128, {"rule": "documented"}, (8, 8), (0, 0)),
        ("4x8", 128, {"lane_order": "z-order"}, (4, 8), (0, 4)),
        ("4x8", 128, {"lane_order": "z-order", "fragment": "split"}, (4, 4), (0, 0)),
        ("4x8", 128, {"lane_order": "row-major"}, (4, 16), (0, 8)),
        ("8x4", 64, {}, (16, 4), (8, 0)),
        ("8x4", 64, {"rule": "documented"}, (16, 8), (8, 0)),
        ("16x2", 128, {"lane_order": "row-major"}, (8, 4), (4, 0)),
    ],
)
def test_known_geometries(
    shape: str,
    lds: int,
    options: dict[str, Any],
    wavefronts: tuple[int, int],
    conflicts: tuple[int, int],
) -> None:
    report = simulate(shape, lds, **options)
    assert (report["A"].wavefronts, report["B"].wavefronts) == wavefronts
    assert (report["A"].bank_conflicts, report["B"].bank_conflicts) == conflicts
    assert report.wavefronts == sum(wavefronts)
    assert report.bank_conflicts == sum(conflicts)
    assert report.excessive == report.wavefronts - report.ideal


@pytest.mark.parametrize("shape", ["1x32", "2x16", "4x8", "8x4", "16x2", "32x1"])
@pytest.mark.parametrize("order", ["row-major", "col-major", "z-order", list(range(31, -1, -1))])
@pytest.mark.parametrize("lds", [32, 64, 128])
@pytest.mark.parametrize("fragment", ["contiguous", "split"])
@pytest.mark.parametrize("a_layout", ["transposed", "row-major"])
@pytest.mark.parametrize("element", [4, 2, 1])
def test_addresses_by_hand(
    shape: str, order: Any, lds: int, fragment: str, a_layout: str, element: int
) -> None:
    """Every address of the report, from the definition of each parameter."""
    options: dict[str, Any] = {"thread_tile": "16x16", "block_tile": "64x64x4", "pad": (16, 32)}
    split_of_16 = 8 if fragment == "split" else 16
    if lds // 8 // element > split_of_16:
        with pytest.raises(BankwiseError):
            simulate(shape, lds, fragment=fragment, element=element, **options)
        return
    report = simulate(
        shape,
        lds,
        lane_order=order,
        fragment=fragment,
        a_layout=a_layout,
        element=element,
        **options,
    )
    rows, cols = map(int, shape.split("x"))
    for name, threads, pad in (("A", rows, 16), ("B", cols, 32)):
        width = max(64, 16 * threads)
        scattered = name == "A" and a_layout == "row-major"
        each = 1 if scattered else lds // 8 // element
        assert report[name].instructions == 16 // each
        for load, access in enumerate(report[name].accesses):
            for lane, byte in enumerate(access.addresses):
                if (shape in ("1x32", "32x1") and isinstance(order, str)) or order == "row-major":
                    row, col = divmod(lane, cols)
                elif order == "col-major":
                    col, row = divmod(lane, rows)
                elif order == "z-order":
                    row, col = lane % 2 + lane // (2 * cols) * 2, lane // 2 % cols
                else:
                    row, col = divmod(order[lane], cols)
                thread = row if name == "A" else col
                element_in_thread = load * each
                if fragment == "contiguous":
                    position = thread * 16 + element_in_thread
                else:
                    half, i = divmod(element_in_thread, 8)
                    position = half * threads * 8 + thread * 8 + i
                k = report.k_step
                offset = position * (4 + pad) + k if scattered else k * (width + pad) + position
                assert byte == offset * element


def test_totals_are_counts_of_the_accesses() -> None:
    report = simulate("2x16", 64, lane_order="row-major", pad=(2, 6), swizzle=(2, 1, 3))
    for part in report.fragments:
        for index, access in enumerate(part.accesses):
            counts = count(*access, rule=report.rule)
            assert counts.wavefronts == part.counts.wavefronts[index]
            assert counts.cycles == part.counts.cycles[index]


def test_padding_moves_rows_not_wavefronts() -> None:
    plain, padded = simulate(pad=(0, 0)), simulate(pad=(4, 8))
    assert spent(pad=(4, 8)) == spent()
    assert padded.pad == (4, 8)
    assert plain["A"].accesses == padded["A"].accesses  # k step 0 is before any padding


def test_padding_row_major_a_frees_it() -> None:
    # BK = 8 elements a row: 8 rows apart means 64 words, one bank; with padding 1, 72 words.
    assert simulate("2x16", 128, lane_order="row-major", a_layout="row-major")["A"].bank_conflicts
    padded = simulate("2x16", 128, lane_order="row-major", a_layout="row-major", pad=(1, 0))
    assert padded["A"].bank_conflicts == 0


def test_swizzle_is_applied_after_padding() -> None:
    # Column 8*c of row 0 has bits above 5: Sw<2,2,3> XORs bits 5-6 onto bits 2-3.
    report = simulate("4x8", 128, lane_order="row-major", swizzle=(None, "Sw<1,2,3>"))
    access = report["B"].accesses[0]
    assert access.addresses[:8] == tuple(4 * (8 * col ^ (8 * col >> 3 & 4)) for col in range(8))
    assert (report["A"].wavefronts, report["B"].wavefronts) == (4, 8)  # 4 and 16 without
    assert report["B"].bank_conflicts == 0
    assert report.swizzle[0] is None


def test_one_pad_or_swizzle_serves_both_tiles() -> None:
    assert simulate(pad=4).pad == (4, 4)
    assert simulate(swizzle=(2, 3, 3)).swizzle == simulate(swizzle="2,3,3").swizzle
    both = simulate(swizzle=((2, 3, 3), (2, 3, 3)))
    assert both.to_dict() == simulate(swizzle=(2, 3, 3)).to_dict()


def test_numpy_integers_and_arrays_are_as_good_as_python_s() -> None:
    given = simulate(
        np.array([4, 8]),
        np.int64(64),
        lane_order=np.arange(32)[::-1],
        pad=np.array([4, 8]),
        swizzle=np.array([2, 2, 3]),
        element=np.uint8(2),
        thread_tile=(np.int8(8), 8),
    )
    plain = simulate(
        "4x8", 64, lane_order=list(range(31, -1, -1)), pad=(4, 8), swizzle=(2, 2, 3), element=2
    )
    assert given.to_dict() == plain.to_dict()
    assert given.title == plain.title


def test_a_swizzle_that_leaves_its_tile_is_noted() -> None:
    report = simulate(swizzle=(2, 2, -10), block_tile="128x64x1")
    assert report.notes[1].startswith(
        "The swizzle Sw<2,2,-10> moves elements of B past its 256 bytes"
    )
    assert simulate(swizzle=(2, 3, 3)).notes == ()


def test_one_row_of_row_major_a_is_read_element_by_element() -> None:
    report = simulate(a_layout="row-major", thread_tile="1x8", block_tile="128x128x1")
    assert report["A"].op == "LDS"


def test_a_warp_tile_larger_than_the_block_tile_widens_it() -> None:
    report = simulate("1x32")
    assert report.notes == ("The warp tile is 8x256, so the block tile is taken as 128x256x8.",)
    assert max(report["B"].accesses[1].addresses) == 4 * (256 - 4)


def test_row_major_a_says_how_it_is_read() -> None:
    report = simulate(a_layout="row-major", element=2)
    assert report["A"].op == "LDS.U16"
    assert report.notes == (
        (
            "A is row-major: a thread's elements of A are not neighbours, so they are read one at a"
            " time (LDS.U16)."
        ),
    )
    # With a single k there is nothing between the elements of a column.
    assert simulate(a_layout="row-major", block_tile="128x128x1")["A"].op == "LDS.128"
    assert simulate(a_layout="row-major", block_tile="128x128x1").notes == ()


def test_k_steps_that_differ_are_reported_by_the_most_expensive() -> None:
    # Rows of 4 + 1 elements of 2 bytes, swizzled: what shares a bank depends on k.
    report = simulate(
        "32x1",
        32,
        thread_tile="2x2",
        block_tile="64x64x4",
        a_layout="row-major",
        pad=(1, 0),
        swizzle=((3, 2, 4), None),
        element=2,
    )
    swizzle = Swizzle(3, 2, 4)
    reads = [
        [2 * swizzle(5 * (2 * lane + i) + k) for lane in range(32)]
        for k in range(4)
        for i in range(2)
    ]
    by_step = count("LDS.U16", reads).wavefronts.reshape(4, 2).sum(axis=1).tolist()
    assert min(by_step) < max(by_step)
    assert report["A"].wavefronts == max(by_step)
    assert report.k_step == by_step.index(max(by_step)) == 3
    assert report["B"].wavefronts == 1
    assert report.notes[-1] == (
        f"The k steps differ: {min(by_step) + 1} to {max(by_step) + 1} wavefronts. This is k step"
        " 3, the most expensive."
    )


def test_reason_is_a_sentence_a_person_understands() -> None:
    report = simulate(lane_order="row-major")
    assert report["B"].reason == (
        "2 LDS.128. Not fused: lanes 0 and 1 have different addresses, and so do lanes 0 and 2."
        " 4 phases of 2 wavefronts each. Phase 0, lanes 0-7: lanes 0 and 4 read different words"
        " of banks 0-3 (and 12 other banks likewise): 2 wavefronts for this phase."
    )


def test_columns_rows_and_frames() -> None:
    report = simulate()
    columns = report.to_dict()
    assert list(columns) == ["fragments", "totals"]
    assert columns["fragments"]["wavefronts"] == [8, 4]
    assert columns["totals"] == {
        "instructions": 4,
        "wavefronts": 12,
        "ideal": 12,
        "excessive": 0,
        "bank_conflicts": 0,
        "n_way": 3.0,
        "cycles": 12,
    }
    assert report.to_dataframe()["cycles"].tolist() == [8, 4]
    assert "<table>" in report._repr_html_()
    with pytest.raises(BankwiseError, match=r"no fragment 'C' \(accepted: A, B\)"):
        report["C"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"warp_shape": "4x4"}, "warp shape '4x4' has 16 lanes, a warp has 32 (accepted: 1x32,"),
        (
            {"warp_shape": "4by8"},
            "is not RxC with positive integers (accepted: a string such as '4x8'",
        ),
        ({"warp_shape": (4, 8, 1)}, "warp shape (4, 8, 1) is not RxC"),
        ({"warp_shape": "0x32"}, "warp shape '0x32' is not RxC"),
        ({"lds": 256}, "lds 256 is not a load width in bits (accepted: 32, 64, 128)"),
        ({"lds": "128"}, "lds '128' is not a load width"),
        ({"thread_tile": "8"}, "thread tile '8' is not MxN"),
        ({"block_tile": "128x128"}, "block tile '128x128' is not MxNxK"),
        ({"block_tile": "8192x8192x8"}, "needs 524288 bytes of shared memory (accepted: up to"),
        ({"lane_order": "hilbert"}, "unknown lane order 'hilbert': accepted: row-major, col-m"),
        ({"lane_order": "col-majr"}, "did you mean col-major?"),
        ({"lane_order": [0] * 32}, "is not a permutation of 0..31"),
        ({"lane_order": list(range(31))}, "is not a permutation of 0..31"),
        ({"fragment": "splitt"}, "unknown fragment 'splitt': did you mean split?"),
        ({"fragment": "split", "thread_tile": "7x8"}, "7 elements along an edge cannot be split"),
        ({"a_layout": "col-major"}, "unknown a_layout 'col-major': "),
        ({"pad": -1}, "pad -1 is not a number of elements (accepted: 0, 1, 2,"),
        ({"pad": (1, 2, 3)}, "pad (1, 2, 3) is not a number of elements"),
        ({"pad": 1.5}, "pad 1.5 is not a number of elements"),
        ({"swizzle": (3, 3)}, "swizzle (3, 3) is not three integers (B, M, S), and not a pair"),
        ({"swizzle": "3,3"}, "swizzle '3,3' is not three integers (B, M, S)"),
        ({"swizzle": (3, 3, 2)}, "swizzle (3, 3, 2) is not (B, M, S) with integers"),
        ({"swizzle": (3, -1, 3)}, "swizzle (3, -1, 3) is not (B, M, S)"),
        (
            {"swizzle": (3, 2, -16), "block_tile": "32x64x1"},
            "and swizzles Sw<3,2,-16> and Sw<3,2,-16> needs ",
        ),
        ({"lds": np.array([128, 64])}, "lds array([128,  64]) is not a load width"),
        ({"element": 8}, "element 8 is not a size in bytes (accepted: 4, 2, 1)"),
        ({"rule": "guess"}, "unknown rule 'guess': accepted: silicon, documented"),
        ({"rule": np.zeros(3)}, "unknown rule array"),
        ({"fragment": np.zeros(3)}, "unknown fragment array"),
        ({"a_layout": np.zeros(3)}, "unknown a_layout array"),
        # A load that cannot be:
        ({"pad": (1, 0)}, "LDS.128 of A would be misaligned: byte 516 for lane 0 in k step 1"),
        ({"pad": (0, 2)}, "LDS.128 of B would be misaligned: byte 520 for lane 0 in k step 1"),
        ({"thread_tile": "2x8"}, "LDS.128 reads 4 elements of 4 bytes, but a thread has 2 of A"),
        ({"thread_tile": "6x8"}, "LDS.128 reads 4 elements of 4 bytes, but a thread has 6 of A"),
        (
            {"thread_tile": "4x4", "fragment": "split"},
            "LDS.128 reads 4 neighbouring elements of A, but the thread's elements do not lie",
        ),
        ({"swizzle": (1, 0, 3)}, "or a swizzle with base M of at least 2"),
    ],
)
def test_refusals_repeat_the_input_and_say_what_is_accepted(
    options: dict[str, Any], message: str
) -> None:
    with pytest.raises(BankwiseError) as caught:
        simulate(**options)
    assert message in str(caught.value)


def test_fragments_have_names_of_their_own():
    report = simulate()
    assert report["A"] == report.A
    assert report["B"] == report.B
    assert report.to_html() == report._repr_html_()
