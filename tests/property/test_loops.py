"""Laws of atomic loops: engines, rounds, and what their wavefronts add up to."""

from __future__ import annotations

from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from simulator import Instruction, count, explain
from simulator.law.counting import FIGURES
from simulator.law.loops import LOOPS, is_round, play
from tests.strategies import masks

loops = st.sampled_from([each for each in LOOPS.values() if not is_round(each)])
rounds = st.sampled_from([each for each in LOOPS.values() if is_round(each)])


@st.composite
def addresses(draw: st.DrawFn, width: int) -> list[int]:
    """Addresses on few words, few banks, or many of both."""
    units = draw(st.sampled_from([1, 3, 40, 1000]))
    step = draw(st.sampled_from([1, 16, 32]))
    drawn = draw(st.lists(st.integers(0, units), min_size=32, max_size=32))
    return [step * unit * width % (128 * 1024) for unit in drawn]


@given(st.data(), loops | rounds, st.integers(1, 4))
def test_engines_agree(data: st.DataObject, known: Instruction, many: int) -> None:
    byte = np.array([data.draw(addresses(known.width)) for _ in range(many)])
    mask = data.draw(st.none() | st.lists(masks, min_size=many, max_size=many))
    pure, *others = (
        count(known.name, byte, mask, engine=engine) for engine in ("python", "numpy", "numba")
    )
    for other in others:
        np.testing.assert_array_equal(other.figures, pure.figures)


@given(st.data(), loops, masks)
def test_every_lane_wins_once_and_no_bank_twice_in_a_round(
    data: st.DataObject, known: Instruction, mask: int
) -> None:
    byte = data.draw(addresses(known.width))
    played = play(known, byte, mask)
    won = [lane for each in played for winners in each.won for lane in winners]
    assert sorted(won) == [lane for lane in range(32) if mask >> lane & 1]
    for each in played:
        for winners in each.won:
            banks = [byte[lane] // known.width % (128 // known.width) for lane in winners]
            assert len(set(banks)) == len(banks)
        words = [byte[lane] for winners in each.won for lane in winners]
        assert len(set(words)) == len(words)
        assert words  # some lane wins in every round


@given(st.data(), loops.filter(lambda known: known.width == 4), masks)
def test_four_bytes_cost_twice_the_lanes_on_the_worst_bank(
    data: st.DataObject, known: Instruction, mask: int
) -> None:
    byte = data.draw(addresses(4))
    queues = Counter(byte[lane] // 4 % 32 for lane in range(32) if mask >> lane & 1)
    counts = count(known.name, byte, mask)
    assert counts.wavefronts == 2 * max(queues.values(), default=0)
    assert counts.bank_conflicts == 0


@given(st.data(), loops, masks)
def test_a_loop_is_its_rounds(data: st.DataObject, known: Instruction, mask: int) -> None:
    byte = data.draw(addresses(known.width))
    single = "ATOMS.CAST.SPIN" + (".64" if known.width == 8 else "")
    total = 0
    for each in play(known, byte, mask):
        pending = sum(1 << lane for waiting in each.pending for lane in waiting)
        total += int(count(single, byte, pending).wavefronts)
    assert count(known.name, byte, mask).wavefronts == total


@given(st.data(), loops | rounds, masks)
def test_explain_adds_up(data: st.DataObject, known: Instruction, mask: int) -> None:
    byte = data.draw(addresses(known.width))
    found, counts = explain(known.name, byte, mask), count(known.name, byte, mask)
    for name in FIGURES[1:]:
        assert getattr(found, name) == getattr(counts, name)
    assert sum(len(phase.wavefronts) for phase in found.phases) == counts.wavefronts
    if not is_round(known):
        lanes = {
            lane for phase in found.phases for wave in phase.wavefronts for each in wave
            for lane in each.lanes
        }  # fmt: skip
        assert lanes == {lane for lane in range(32) if mask >> lane & 1}
