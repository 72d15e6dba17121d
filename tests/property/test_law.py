"""Laws that hold for every access, and the three engines held equal."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from simulator import Counts, WarpAccess, count, explain, instruction
from simulator.law import specification as law
from simulator.law.accesses import SHARED_BYTES
from simulator.law.counting import FIGURES
from tests.strategies import (
    accesses,
    addresses,
    instructions,
    learnt_instructions,
    masks,
    of,
    own_instructions,
)

rules = st.sampled_from(["silicon", "documented"])
loads = of("LDS", "LDSM")


def figures(counts: Counts) -> list[Any]:
    return [getattr(counts, name).tolist() for name in FIGURES]


def bits(mask: int) -> list[int]:
    return [lane for lane in range(32) if mask >> lane & 1]


@given(
    st.data(), instructions | own_instructions() | learnt_instructions(), rules, st.integers(1, 5)
)
def test_engines_agree(data: st.DataObject, known: Any, rule: str, many: int) -> None:
    byte = np.array([data.draw(addresses(known)) for _ in range(many)])
    mask = None
    if not known.is_matrix:
        mask = data.draw(st.lists(masks, min_size=many, max_size=many))
    pure, *others = (
        count(known, byte, mask, rule=rule, engine=engine)
        for engine in ("python", "numpy", "numba")
    )
    for other in others:
        assert figures(other) == figures(pure)


@given(own_instructions(), st.lists(st.integers(0, 32), min_size=1, max_size=9), st.data())
def test_figures_of_arrays_are_those_of_integers(
    own: Any, active: list[int], data: st.DataObject
) -> None:
    least = min(1, own.phases)
    busy = [data.draw(st.integers(least, own.phases)) if number else 0 for number in active]
    served = [data.draw(st.integers(some, 32 * some)) for some in busy]
    phases = [own.phases if number else 0 for number in active]
    columns = [np.array(column, dtype=np.int32) for column in (phases, served, busy, active)]
    together = law.figures(own, *columns, np.minimum, np.maximum)
    apart = [law.figures(own, *row) for row in zip(phases, served, busy, active, strict=True)]
    np.testing.assert_array_equal(np.transpose(apart), together)


@given(accesses(), rules)
def test_explain_adds_up_to_count(access: WarpAccess, rule: str) -> None:
    counts, explanation = count(*access, rule=rule), explain(*access, rule=rule)
    assert len(explanation.phases) == counts.phases
    assert sum(len(phase.wavefronts) for phase in explanation.phases) == counts.wavefronts
    for name in ("wavefronts", "bank_conflicts", "ideal", "excessive", "cycles"):
        assert getattr(explanation, name) == getattr(counts, name)
    known = instruction(access.op)
    served: set[tuple[int, int]] = set()
    for phase in explanation.phases:
        assert all(lane in phase.lanes for lane in phase.active)
        for wavefront in phase.wavefronts:
            banks = [entry.bank for entry in wavefront]
            assert len(set(banks)) == len(banks)  # a bank serves one word a wavefront
            assert all(entry.word % 32 == entry.bank for entry in wavefront)
            served |= {(lane, entry.word) for entry in wavefront for lane in entry.lanes}
        if phase.worst_bank is not None:
            assert len(phase.banks[phase.worst_bank]) == len(phase.wavefronts)
    asked = {
        (lane, (access.addresses[lane] + byte) // 4)
        for lane in bits(access.mask)
        if lane < known.lanes and explanation.phases
        for byte in range(known.width)
    }
    assert served == asked


@given(accesses(of("LDS", "STS").filter(lambda known: not known.is_matrix)), rules)
def test_between_one_and_the_number_of_active_lanes(access: WarpAccess, rule: str) -> None:
    active = len(bits(access.mask))
    wavefronts = count(*access, rule=rule).wavefronts
    assert (1 <= wavefronts <= active) if active else wavefronts == 0


@given(accesses(), rules, st.integers(0, SHARED_BYTES // 128))
def test_moving_by_whole_rows_of_banks_changes_nothing(
    access: WarpAccess, rule: str, rows: int
) -> None:
    room = (SHARED_BYTES - instruction(access.op).width - max(access.addresses)) // 128
    moved = [byte + 128 * min(rows, room) for byte in access.addresses]
    assert figures(count(access.op, moved, access.mask, rule=rule)) == figures(
        count(*access, rule=rule)
    )


@given(accesses(of("STS").filter(lambda known: not known.is_matrix)), st.data())
def test_lanes_of_a_phase_are_alike_for_stores(access: WarpAccess, data: st.DataObject) -> None:
    group = 32 // instruction(access.op).phases
    order = [
        lane
        for start in range(0, 32, group)
        for lane in data.draw(st.permutations(range(start, start + group)))
    ]
    mask = sum((access.mask >> lane & 1) << place for place, lane in enumerate(order))
    permuted = [access.addresses[lane] for lane in order]
    assert figures(count(access.op, permuted, mask)) == figures(count(*access))


narrow = loads.filter(lambda known: known.width <= 4)


@given(accesses(narrow).filter(lambda access: access.mask), st.data())
def test_sharing_an_address_never_costs_more(access: WarpAccess, data: st.DataObject) -> None:
    active = st.sampled_from(bits(access.mask))
    shared = list(access.addresses)
    shared[data.draw(active)] = shared[data.draw(active)]
    after, before = count(access.op, shared, access.mask), count(*access)
    assert after.wavefronts <= before.wavefronts


@given(accesses())
def test_silicon_never_costs_more_than_documented(access: WarpAccess) -> None:
    silicon, documented = count(*access), count(*access, rule="documented")
    assert silicon.wavefronts <= documented.wavefronts
    if not instruction(access.op).fuses:
        assert figures(silicon) == figures(documented)


@given(accesses(), rules)
def test_nothing_is_negative(access: WarpAccess, rule: str) -> None:
    counts = count(*access, rule=rule)
    assert counts.excessive >= 0
    assert counts.bank_conflicts >= 0
    assert counts.cycles >= counts.wavefronts
    assert counts.ideal + counts.excessive == counts.wavefronts


@given(instructions.filter(lambda known: not known.is_matrix), st.data(), rules)
def test_empty_mask_costs_nothing(known: Any, data: st.DataObject, rule: str) -> None:
    # Addresses of inactive lanes mean nothing, so even invalid ones are fine.
    byte = data.draw(st.lists(st.integers(-(2**70), 2**70), min_size=32, max_size=32))
    for engine in ("python", "numpy", "numba"):
        assert figures(count(known, byte, 0, rule=rule, engine=engine)) == [0] * 6
    assert explain(known, byte, 0, rule=rule).phases == ()


@given(accesses(), st.data())
def test_inactive_lanes_are_ignored(access: WarpAccess, data: st.DataObject) -> None:
    known = instruction(access.op)
    byte = list(access.addresses)
    for lane in range(32):
        if lane >= known.lanes or not access.mask >> lane & 1:
            byte[lane] = data.draw(st.integers(-(2**70), 2**70))
    for engine in ("python", "numpy", "numba"):
        changed = count(access.op, byte, access.mask, engine=engine)
        assert figures(changed) == figures(count(*access))


@given(st.data(), of("LDS", "STS"), st.sampled_from([(2, 3), (4,), (1, 2, 2), ()]))
def test_any_leading_shape(data: st.DataObject, known: Any, shape: tuple[int, ...]) -> None:
    many = int(np.prod(shape, dtype=int))
    flat = np.array([data.draw(addresses(known)) for _ in range(many)])
    counts = count(known, flat.reshape(*shape, 32))
    for name in FIGURES:
        column = getattr(counts, name)
        assert column.shape == shape
        assert column.dtype == np.int32
        one_by_one = [getattr(count(known, row), name) for row in flat]
        np.testing.assert_array_equal(column.ravel(), one_by_one)


@given(
    accesses(of("LDS", "STS", "ATOMS")),
    st.sampled_from(["<i4", ">i4", "<u4", "<i8", "<u8", ">u8", "O"]),
)
def test_any_integer_type(access: WarpAccess, dtype: str) -> None:
    typed = np.array(access.addresses, dtype=dtype)
    for engine in ("python", "numpy", "numba"):
        assert figures(count(access.op, typed, access.mask, engine=engine)) == figures(
            count(*access)
        )
