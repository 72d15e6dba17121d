"""Atomic loops: sentences, names, chips, and who refuses them."""

from __future__ import annotations

import pytest

from simulator import InstructionError, MaskError, count, count_linear, count_stream, explain

ROW = [4 * lane for lane in range(32)]


def test_lanes_of_one_bank_take_a_round_each_however_free_their_words() -> None:
    byte = [0, 128, 256, *ROW[3:]]
    found = explain("add.f32", byte)
    assert (found.wavefronts, found.bank_conflicts, found.ideal, found.cycles) == (6, 0, 1, 6)
    assert found.phases[0].sentence == (
        "lanes 0-31: lanes 0, 1 and 2 are on bank 0, and one of them wins each round: 3 rounds of"
        " 2 wavefronts."
    )


def test_a_later_half_warp_loses_a_round_where_an_earlier_one_won_its_word() -> None:
    byte = [8 * (lane % 16) for lane in range(32)]
    found = explain("add.u64", byte)
    assert found.wavefronts == 6  # two for each half, and two for the second half again
    assert found.phases[1].sentence == (
        "lanes 16-31: no two lanes share banks; 1 round had no winner there: an earlier"
        " phase won the word: 2 rounds of 2 wavefronts."
    )
    assert count("add.u64", [8 * lane for lane in range(32)]).wavefronts == 4


def test_one_round_costs_two_wavefronts_a_pending_phase() -> None:
    assert count("ATOMS.CAST.SPIN", [0] * 32).wavefronts == 2
    assert count("ATOMS.CAST.SPIN.64", [0] * 32).wavefronts == 4
    assert count("ATOMS.CAST.SPIN.64", [0] * 32, 0xFFFF).wavefronts == 2
    assert explain("atoms.cast.spin", [0] * 32).reason == (
        "1 phase of 2 wavefronts. Phase 0, lanes 0-31: 1 of 32 lanes win: 1 round of 2 wavefronts."
    )


def test_no_active_lane_costs_nothing() -> None:
    assert set(count("add.f16x2", ROW, 0).totals().values()) == {0}
    assert explain("add.f32", ROW, 0).phases == ()


def test_streams_take_loops() -> None:
    assert [int(each.wavefronts[0]) for each in count_stream("add.f32", [[ROW], [[0] * 32]])] \
        == [2, 64]  # fmt: skip


def test_a_chip_bounds_them() -> None:
    assert count("add.f32", ROW, chip="A100").wavefronts == 2
    with pytest.raises(InstructionError, match=r"A100 has no add.bf16x2 .*came with 9\.0"):
        count("add.bf16x2", ROW, chip="A100")
    with pytest.raises(MaskError, match="is not 32 bits"):
        count("add.f32", ROW, 1 << 32)


def test_layouts_are_counted_for_instructions_only() -> None:
    with pytest.raises(InstructionError, match=r"unknown instruction 'add\.f32'"):
        count_linear("add.f32", [[4, 8, 16, 32, 64]])
