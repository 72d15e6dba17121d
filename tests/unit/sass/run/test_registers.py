"""What `setmaxnreg` takes from a block's registers, and who waits for them for ever."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator.errors import DeadlockError
from simulator.sass.run.registers import RegisterPool
from tests.hopper_kernels import ran
from tests.sass_kernels import needs_compiler

# ---- Of the pool alone. ------------------------------------------------------------------------
COUNTS = st.integers(3, 32).map(lambda eights: 8 * eights)
MOVES = st.lists(st.tuples(st.integers(0, 31), COUNTS, st.booleans()), max_size=60)


@given(st.integers(1, 32), st.integers(1, 255), MOVES)
def test_a_quarter_never_holds_more_than_it_began_with(
    warps: int, registers: int, moves: list[tuple[int, int, bool]]
) -> None:
    pool = RegisterPool(warps, registers)
    launched = -(-registers // 8) * 8
    assert pool.counts == [launched] * warps
    for warp, count, gives in moves:
        warp %= warps
        before = list(pool.counts)
        quarter = range(warp % 4, warps, 4)
        room = launched * len(quarter) - sum(before[each] for each in quarter)
        if gives:
            pool.give(warp, count)
            after = min(count, before[warp])
        else:
            assert pool.take(warp, count) == (count - before[warp] <= max(room, 0))
            after = max(count, before[warp]) if count - before[warp] <= room else before[warp]
        assert pool.counts == [*before[:warp], after, *before[warp + 1 :]]
        assert sum(pool.counts[each] for each in quarter) <= launched * len(quarter)
        assert pool.free == launched * warps - sum(pool.counts)


def test_a_kernel_whose_registers_are_not_known_never_waits() -> None:
    pool = RegisterPool(8, 0)
    pool.give(0, 24)
    assert pool.take(4, 256)


# ---- Of kernels. -------------------------------------------------------------------------------
KERNEL = """
#define PAIR(number) asm volatile("bar.sync " #number ", 256;" ::: "memory")
extern "C" __global__ void __launch_bounds__(384, 1) pool(int *out) {
    __shared__ alignas(8) u64 never;
    if (threadIdx.x == 0) barrier_init(&never, 1);
    __syncthreads();
    int group = threadIdx.x / 128;
    if (group == 0) {
        FIRST
    } else if (group == 1) {
        SECOND
    } else {
        THIRD
    }
    out[threadIdx.x] = group + 1;
}
"""
GIVES, TAKES = "give_registers<40>();", "take_registers<232>();"


def pool(first: str, second: str, third: str) -> Any:
    """What is left by three warpgroups, which have 168 registers per thread at launch."""
    parts = {"FIRST": first, "SECOND": second, "THIRD": third}
    source = re.sub("FIRST|SECOND|THIRD", lambda found: parts[found[0]], KERNEL)
    report = ran(source, [np.zeros(384, np.int32)], block=384)
    assert report.registers == 168
    return report.outputs[0].reshape(3, 128)


@needs_compiler
@pytest.mark.parametrize(
    "groups",
    [
        (GIVES, TAKES, TAKES),
        (TAKES, TAKES, GIVES),
        ("", "take_registers<168>();", ""),
        # A group takes what another had before.
        (GIVES, TAKES + GIVES + "PAIR(1);", "PAIR(1);" + TAKES),
        (GIVES, "take_registers<248>(); PAIR(1);" + GIVES, "PAIR(1); take_registers<240>();"),
        # A group gives twice, and the third waits for what it gives last.
        (
            GIVES + "PAIR(1); give_registers<24>();",
            TAKES + "PAIR(1); PAIR(2);",
            "PAIR(2); take_registers<248>();",
        ),
    ],
)
def test_who_shares_what_there_is_goes_on(groups: tuple[str, str, str]) -> None:
    assert (pool(*groups) == [[1], [2], [3]]).all()


@needs_compiler
def test_more_than_the_block_has_is_a_deadlock() -> None:
    """40, 232 and 240 are 8 more than thrice 168: an H100 keeps all four warps waiting."""
    with pytest.raises(DeadlockError) as caught:
        pool(GIVES, TAKES, "take_registers<240>();")
    said = str(caught.value)
    assert said.startswith("no warp of block (0, 0, 0) can continue: warps ")
    assert re.search(r"USETMAXREG\.TRY_ALLOC\.CTAPOOL UP0, ?0x(e8|f0) ", said)
    assert "168 registers per thread × 384 threads = 64,512" in said
    for each in ("setmaxnreg.inc", "setmaxnreg.dec", "__launch_bounds__"):
        assert each in said


@needs_compiler
def test_who_waits_is_told_with_what_it_asked_for_and_what_is_free() -> None:
    with pytest.raises(
        DeadlockError,
        match=r"warps 8, 9, 10, 11 wait at .*UP0, ?0xf0 .*for 240 registers per thread, 72 more"
        r" than each has: .* 8,192 of which no warp holds",
    ):
        pool(GIVES, TAKES + "PAIR(1);", "PAIR(1); take_registers<240>();")


@needs_compiler
def test_a_group_that_ended_gives_none_back() -> None:
    """An H100 keeps who asks for them waiting until another gives some."""
    with pytest.raises(DeadlockError, match=r"warps 4, 5, 6, 7 wait .* for 176 registers"):
        pool("return;", "take_registers<176>();", "")


@needs_compiler
def test_who_waits_for_those_that_wait_is_told_too() -> None:
    with pytest.raises(DeadlockError) as caught:
        pool("", "take_registers<176>(); PAIR(1);", "wait(&never, 0); PAIR(1);")
    said = str(caught.value)
    assert re.search(r"warps 4, 5, 6, 7 wait at .* for 176 registers per thread, 8 more", said)
    assert re.search(r"warps 8, 9, 10, 11 wait at .* for the end of phase parity 0", said)
