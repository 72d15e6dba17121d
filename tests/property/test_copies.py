"""Laws of copies from anywhere: engines, sides, chains, and what side by side must give."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from simulator import count, explain, instruction
from simulator.law.accesses import NO_SOURCE
from simulator.law.copies import PIECE
from simulator.law.counting import FIGURES
from tests.strategies import addresses, masks

copies = st.sampled_from(["LDGSTS.E", "LDGSTS.E.64", "LDGSTS.E.128"])
cached = copies | st.just("LDGSTS.E.BYPASS.128")


@st.composite
def sources(draw: st.DrawFn, op: str, zeros: bool = True) -> list[int]:
    """Sources on few words, few lines, or anywhere; some lanes write zeros."""
    width = instruction(op).width
    units = draw(st.sampled_from([2, 8, 64, 1024, 2**22]))
    least = NO_SOURCE if zeros else 0
    drawn = draw(st.lists(st.integers(least, units), min_size=32, max_size=32))
    return [unit * width if unit >= 0 else NO_SOURCE for unit in drawn]


@given(st.data(), cached, st.integers(1, 5))
def test_engines_agree(data: st.DataObject, op: str, many: int) -> None:
    byte = np.array([data.draw(addresses(instruction(op))) for _ in range(many)])
    source = np.array([data.draw(sources(op)) for _ in range(many)])
    mask = data.draw(st.none() | st.lists(masks, min_size=many, max_size=many))
    pure, *others = (
        count(op, byte, mask, sources=source, engine=engine)
        for engine in ("python", "numpy", "numba")
    )
    for other in others:
        np.testing.assert_array_equal(other.figures, pure.figures)


@given(st.data(), cached, masks, st.integers(0, 2**20))
def test_side_by_side_is_what_no_sources_mean(
    data: st.DataObject, op: str, mask: int, line: int
) -> None:
    known = instruction(op)
    byte = data.draw(addresses(known))
    row = [128 * 4 * line + known.width * lane for lane in range(32)]
    given_, none = count(op, byte, mask, sources=row), count(op, byte, mask)
    for name in FIGURES[:-1]:
        assert getattr(given_, name) == getattr(none, name)
    # The one difference: a wavefront that writes to two pieces of one bank takes a third cycle.
    written = {byte[lane] // PIECE for lane in range(32) if mask >> lane & 1}
    apart = len({piece % 4 for piece in written}) < len(written)
    third = none.wavefronts == 1 and apart
    assert given_.cycles == none.cycles + third


@given(st.data(), copies, masks)
def test_both_sides_count_alike(data: st.DataObject, op: str, mask: int) -> None:
    known = instruction(op)
    one, other = data.draw(addresses(known)), data.draw(addresses(known))
    wavefronts = count(op, one, mask, sources=other).wavefronts
    assert wavefronts == count(op, other, mask, sources=one).wavefronts
    # Never less than lanes that share a bank of one side, never more than lanes.
    assert wavefronts >= max(count(op, one, mask).wavefronts, count(op, other, mask).wavefronts)
    assert wavefronts <= mask.bit_count()


@given(st.data(), copies, masks)
def test_explain_adds_up_and_its_chains_are_chains(data: st.DataObject, op: str, mask: int) -> None:
    width = instruction(op).width
    byte, source = data.draw(addresses(instruction(op))), data.draw(sources(op))
    found, counts = explain(op, byte, mask, sources=source), count(op, byte, mask, sources=source)
    for name in FIGURES[1:]:
        assert getattr(found, name) == getattr(counts, name)
    assert sum(len(phase.wavefronts) for phase in found.phases) == counts.wavefronts

    def banks(address: int) -> set[int]:
        return {(address + byte) // 4 % 32 for byte in range(width)} if address >= 0 else set()

    for phase in found.phases:
        assert len(phase.chain) == len(phase.wavefronts)
        assert sorted({lane for wave in phase.wavefronts for each in wave for lane in each.lanes}) \
            == list(phase.active)  # fmt: skip
        for wavefront in phase.wavefronts:
            for side in (byte, source):
                used = [
                    bank
                    for lane in {each.lanes[0] for each in wavefront}
                    for bank in banks(side[lane])
                ]
                assert len(set(used)) == len(used)
        for before, turn in zip(phase.chain, phase.chain[1:], strict=False):
            assert (turn.after, turn.number) == (before.lane, before.number + 1)
            shared = [banks(side[turn.lane]) & banks(side[before.lane]) for side in (source, byte)]
            assert [set(turn.source_banks), set(turn.destination_banks)] == shared
            assert shared[0] | shared[1]
