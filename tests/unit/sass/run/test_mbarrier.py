"""mbarriers: the word, phases, errors."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from simulator.errors import BarrierError, ExecutionError, MemoryAccessError
from simulator.sass.run import mbarrier
from simulator.sass.run.mbarrier import Barrier, arrive, complete_tx, passed

MOST = (1 << 20) - 1
AT = 16


def made(count: int) -> np.ndarray[tuple[int], np.dtype[np.uint8]]:
    """Shared memory with an mbarrier at 16, of the word that the compiled init stores."""
    shared = np.zeros(64, np.uint8)
    low, high = (((1 << 20) - count) << shift & 0xFFFFFFFF for shift in (1, 11))
    mbarrier.initialise(shared, AT, high << 32 | low)
    return shared


@given(st.integers(1, MOST))
def test_init_makes_the_word_that_compiled_code_stores(count: int) -> None:
    assert mbarrier.load(made(count), AT) == Barrier(0, count, count)


@given(st.integers(0, 1), st.integers(0, MOST), st.integers(0, MOST), st.integers(-MOST, MOST))
def test_a_word_says_what_made_it(phase: int, pending: int, expected: int, size: int) -> None:
    barrier = Barrier(phase, pending, expected, size)
    assert Barrier.of(barrier.word) == barrier
    assert 0 <= barrier.word < 1 << 64
    assert mbarrier.pending_count(barrier.word) == pending
    # The compiled pending_count: 0x100000 - (high >> 11 & 0xfffff), where 0x100000 is none.
    assert (0x100000 - (barrier.word >> 32 >> 11 & 0xFFFFF)) % 0x100000 == pending


def test_the_carry_of_arrivals_is_the_phase() -> None:
    """The last arrival's carry, and the reload of what is expected, make the next phase's word."""
    shared = made(2)
    first = arrive(shared, AT)
    second = arrive(shared, AT)
    assert second - first == 1 << 43
    assert (second + (1 << 43)) >> 63 == mbarrier.load(shared, AT).phase == 1


class Phases(RuleBasedStateMachine):
    """An mbarrier against PTX's definition, in plain integers."""

    def __init__(self) -> None:
        super().__init__()
        self.count = self.pending = 5
        self.bytes = self.phases = 0
        self.shared = made(5)

    def settle(self) -> None:
        if self.pending == 0 and self.bytes == 0:
            self.phases += 1
            self.pending = self.count

    @precondition(lambda self: self.pending)
    @rule(data=st.data(), expect=st.integers(0, 3), drop=st.booleans())
    def arrives(self, data: st.DataObject, expect: int, drop: bool) -> None:
        drop = drop and self.count > 1
        count = 1 if drop else data.draw(st.integers(1, self.pending))
        arrive(self.shared, AT, count, expect=expect, drop=drop)
        self.count -= drop
        self.pending -= count
        self.bytes += expect
        self.settle()

    @rule(size=st.integers(0, 3))
    def expects(self, size: int) -> None:
        if self.pending or self.bytes + size:
            arrive(self.shared, AT, 0, expect=size)
            self.bytes += size
            self.settle()

    @rule(size=st.integers(1, 3))
    def bytes_come(self, size: int) -> None:
        ended = complete_tx(self.shared, AT, size)
        self.bytes -= size
        before = self.phases
        self.settle()
        assert ended == (self.phases != before)

    @invariant()
    def states_agree(self) -> None:
        wanted = Barrier(self.phases % 2, self.pending, self.count, self.bytes)
        assert mbarrier.load(self.shared, AT) == wanted
        assert passed(self.shared, AT, (1 - self.phases % 2) << 31)
        assert not passed(self.shared, AT, (self.phases % 2) << 31)


TestPhases = Phases.TestCase


def test_a_pipeline_stage_waits_for_its_bytes() -> None:
    shared = made(1)
    state = arrive(shared, AT, expect=16384)
    assert not passed(shared, AT, 0)
    assert not passed(shared, AT, state >> 32)
    assert mbarrier.describe(shared, AT) == (
        "mbarrier at 0x10: phase parity 0, 0 of 1 arrivals pending, 16384 bytes outstanding"
    )
    assert not complete_tx(shared, AT, 8192)
    assert complete_tx(shared, AT, 8192)
    assert passed(shared, AT, 0)
    assert passed(shared, AT, state >> 32)
    assert not passed(shared, AT, 1 << 31)


def test_bytes_may_come_before_they_are_expected() -> None:
    shared = made(1)
    complete_tx(shared, AT, 64)
    assert "64 bytes were not expected" in mbarrier.describe(shared, AT)
    arrive(shared, AT, expect=64)
    assert passed(shared, AT, 0)


def test_threads_that_drop_out_are_not_waited_for() -> None:
    shared = made(3)
    arrive(shared, AT, drop=True)
    arrive(shared, AT, 2)
    assert mbarrier.load(shared, AT) == Barrier(1, 2, 2)


def test_what_ptx_leaves_undefined_is_refused_and_changes_nothing() -> None:
    shared = made(2)
    before = shared.copy()
    for call, says in [
        (
            lambda: arrive(shared, AT, 3),
            "3 arrivals at .*2 of 2 arrivals pending.*at most 2",
        ),
        (lambda: arrive(shared, AT, 2, completes=False), "noComplete"),
        (lambda: arrive(shared, AT, expect=1 << 20), "accepted: 0 to 1048575"),
        (lambda: arrive(shared, AT, -1), "accepted: 0 to 1048575"),
        (lambda: complete_tx(shared, AT, 1 << 20), "bytes outstanding"),
        (lambda: arrive(shared, 24), "at 0x18 was never initialised"),
        (lambda: complete_tx(shared, 0, 1), "never initialised"),
        (lambda: passed(shared, 0, 0), "never initialised"),
        (lambda: mbarrier.invalidate(shared, 0), "never initialised"),
        (lambda: mbarrier.initialise(shared, 32, 1 << 21), "counts of 1"),
        (lambda: mbarrier.initialise(shared, 32, 0), "counts of 1"),
    ]:
        with pytest.raises(BarrierError, match=says) as caught:
            call()
        assert isinstance(caught.value, ExecutionError)
        assert np.array_equal(shared, before)
    for address in (4, 60, 64, -8):
        with pytest.raises(MemoryAccessError, match="multiples of 8"):
            arrive(shared, address)
    mbarrier.invalidate(shared, AT)
    assert "was invalidated" in mbarrier.describe(shared, AT)
