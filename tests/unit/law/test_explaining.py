"""`explain`: phases, fusing, wavefronts, banks, and its sentences."""

from __future__ import annotations

import pytest

from simulator import explain
from simulator.law.explaining import ranges


def test_conflicting_lanes_are_named() -> None:
    # 2×16 row-major, 8×8 thread tile: 猛猿, 从啥也不会到CUDA GEMM优化, 5.2 (1),
    # https://zhuanlan.zhihu.com/p/703256080
    explanation = explain("LDS.128", [32 * (lane % 16) for lane in range(32)])
    assert explanation.phases[0].sentence == (
        "lanes 0-7: lanes 0 and 4 read different words of banks 0-3 (and 12 other banks"
        " likewise): 2 wavefronts for this phase."
    )
    assert explanation.phases[0].worst_bank == 0
    # Bank 8 is asked for words 8 (lane 1) and 40 (lane 5).
    queue = explanation.phases[0].banks[8]
    assert [(entry.word, entry.lanes) for entry in queue] == [(8, (1,)), (40, (5,))]
    first, second = explanation.phases[0].wavefronts
    assert {entry.lanes for entry in first} == {(0,), (1,), (2,), (3,)}
    assert {entry.lanes for entry in second} == {(4,), (5,), (6,), (7,)}


def test_unfused_loads_say_which_lanes_broke_it() -> None:
    addresses = [16 * (lane // 2) for lane in range(32)]
    addresses[7] = 16 * 20
    explanation = explain("LDS.128", addresses)
    assert explanation.partners == ()
    assert explanation.broken[1] == ((6, 7),)
    assert (0, 2) in explanation.broken[2]
    assert explanation.note == (
        "Not fused: lanes 6 and 7 have different addresses, and so do lanes 0 and 2."
    )


@pytest.mark.parametrize(
    ("pattern", "partners", "sentence"),
    [
        ([lane & ~1 for lane in range(32)], (1,), "active lanes i and i^1 have the same address."),
        ([lane & ~2 for lane in range(32)], (2,), "active lanes i and i^2 have the same address."),
        ([lane & ~3 for lane in range(32)], (1, 2),
         "active lanes i and i^1 have the same address, and so do i and i^2."),
    ],
)  # fmt: skip
def test_fused_loads_say_which_pair_condition_held(
    pattern: list[int], partners: tuple[int, ...], sentence: str
) -> None:
    explanation = explain("LDS.64", [8 * unit for unit in pattern])
    assert explanation.partners == partners
    assert explanation.note == f"Fused from 2 phases to 1: throughout the warp, {sentence}"
    assert [phase.lanes for phase in explanation.phases] == [range(32)]
    documented = explain("LDS.64", [8 * unit for unit in pattern], rule="documented")
    assert documented.note == "Not fused: the documented rule never fuses phases."
    assert [phase.lanes for phase in documented.phases] == [range(16), range(16, 32)]


def test_half_the_warp_by_one_partner_and_half_by_the_other_does_not_fuse() -> None:
    halves = [lane & ~1 if lane < 16 else lane & ~2 for lane in range(32)]
    explanation = explain("LDS.64", [8 * unit for unit in halves])
    assert explanation.partners == ()
    assert len(explanation.phases) == 2


def test_an_inactive_partner_breaks_nothing() -> None:
    linear = [8 * lane for lane in range(32)]
    assert explain("LDS.64", linear, 0x55555555).partners == (1,)
    assert explain("LDS.64", linear, 0x33333333).partners == (2,)
    # Nor does one whose active partner is the higher lane.
    assert explain("LDS.64", linear, 0xAAAAAAAA).partners == (1,)
    assert explain("LDS.64", linear, 0xCCCCCCCC).partners == (2,)
    assert explain("LDS.64", linear, 0x55555555).note == (
        "Fused from 2 phases to 1: no active lane i has an active partner i^1."
    )


def test_broadcast_lanes_share_an_entry() -> None:
    explanation = explain("LDS", [4 * (lane % 8) for lane in range(32)])
    (only,) = explanation.phases[0].wavefronts
    assert only[3].lanes == (3, 11, 19, 27)
    assert explanation.phases[0].sentence.endswith(
        "no bank serves more than one word: 1 wavefront for this phase."
    )


def test_atomics_say_that_equal_words_do_not_merge() -> None:
    assert explain("ATOMS.ADD", [0] * 32, 0b111).phases[0].sentence == (
        "lanes 0-31: lanes 0, 1 and 2 update the same word of bank 0, which ATOMS.ADD does not"
        " merge: 3 wavefronts for this phase."
    )
    swap = explain("ATOMS.CAS", [0] * 32, 0b11)
    assert swap.phases[0].sentence.endswith("4 wavefronts for this phase, each lane taken twice.")
    assert len(swap.phases[0].wavefronts) == 4
    mixed = explain("ATOMS.ADD", [128 * (lane % 2) for lane in range(32)], 0b111)
    assert "lanes 0, 1 and 2 update 2 words of bank 0" in mixed.phases[0].sentence


def test_accesses_without_phases_say_why() -> None:
    idle = explain("LDS", [0] * 32, 0)
    assert idle.sentences == (
        "LDS, silicon rule: 0 wavefronts (0 ideal), 0 bank conflicts.",
        "No lane is active: nothing is accessed.",
    )
    bypass = explain("cp.async.cg.16", [16 * lane for lane in range(32)])
    assert "bypasses the pipe" in bypass.note
    assert bypass.reason == bypass.note


def test_an_empty_phase_is_shown() -> None:
    explanation = explain("STS.64", [8 * lane for lane in range(32)], 0xFFFF)
    assert explanation.phases[1].sentence == "lanes 16-31: no active lane, no wavefront."
    assert explanation.phases[1].worst_bank is None
    assert (explanation.wavefronts, explanation.cycles) == (1, 2)
    assert "2 phases of 1, 0 wavefronts" in explanation.reason


def test_columns() -> None:
    columns = explain("LDS", [128 * (lane // 31) for lane in range(32)]).to_dict()
    assert columns["served"]["wavefront"] == [0, 1]
    assert columns["served"]["byte"] == [0, 128]
    assert columns["served"]["lanes"] == [list(range(31)), [31]]
    assert columns["totals"]["wavefronts"] == 2


def test_groups_put_neighbouring_banks_together() -> None:
    rows = explain("LDS.128", [16 * lane for lane in range(32)], 0b11).groups()
    assert rows == [
        {"phase": 0, "wavefront": 0, "lanes": "0", "banks": "0-3", "words": "0-3"},
        {"phase": 0, "wavefront": 0, "lanes": "1", "banks": "4-7", "words": "4-7"},
    ]


def test_many_lanes_are_listed_as_runs() -> None:
    sentence = explain("LDS", [128 * (lane % 6) for lane in range(32)], 0x3F).phases[0].sentence
    assert "lanes 0-5 read different words of bank 0: 6 wavefronts" in sentence


def test_ranges() -> None:
    assert ranges([]) == ""
    assert ranges([5]) == "5"
    assert ranges([1, 2, 4, 6, 7]) == "1-2, 4, 6-7"


@pytest.mark.parametrize(
    ("op", "verb"),
    [("LDS", "read"), ("ldmatrix.x1", "read"), ("STS", "write"), ("stmatrix.x1", "write"),
     ("ATOMS.ADD", "update"), ("cp.async.ca.4", "write")],
)  # fmt: skip
def test_what_lanes_do_to_their_words(op: str, verb: str) -> None:
    sentence = explain(op, [256 * lane for lane in range(32)]).phases[0].sentence
    assert f" {verb} different words of bank" in sentence
