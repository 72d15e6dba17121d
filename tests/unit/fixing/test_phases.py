"""Uses of an array that barriers part, and those that carry something over."""

from __future__ import annotations

import numpy as np

from simulator import replay_compiled
from simulator.fixing.phases import Use, phases_of, times_of
from simulator.sass.lift.sites import MemorySite
from simulator.sass.run.timeline import Run, Timeline, TimelineStep
from tests.sass_kernels import needs_compiler, program


def use(opcode: str, places: range, *times: int) -> Use:
    (code, _) = program(f"{opcode} R0,[R1]")
    is_store = not opcode.startswith("LDS")
    bytes_ = np.zeros(8, dtype=bool)
    bytes_[list(places)] = True
    return Use(MemorySite(0, code, "shared", opcode, is_store, 4), bytes_, set(times))


def sizes(*uses: Use) -> list[int]:
    return [len(each) for each in phases_of(uses)]


ALL = range(8)


def test_what_is_stored_and_loaded_before_a_barrier_is_one_thing() -> None:
    assert sizes(use("STS", ALL, 0), use("LDS", ALL, 1)) == [2]
    assert sizes(
        use("STS", ALL, 0), use("LDS", ALL, 1), use("STS", ALL, 2), use("LDS", ALL, 3)
    ) == [2, 2]


def test_what_is_carried_over_joins() -> None:
    first = use("STS", ALL, 0), use("LDS", ALL, 1)
    assert sizes(*first, use("STS", range(4), 2), use("LDS", ALL, 3)) == [4]
    assert sizes(*first, use("ATOMS.ADD", ALL, 2), use("LDS", ALL, 3)) == [4]
    assert sizes(*first, use("STS", ALL, 1), use("LDS", ALL, 2)) == [4]  # no barrier between
    assert sizes(use("STS", ALL, 0, 2, 4), use("LDS", ALL, 1, 3, 5)) == [2]  # a loop


def test_times_count_barriers() -> None:
    code = program("STS [R0],R1", "BAR.SYNC 0x0", "LDS R1,[R0]")
    steps = (TimelineStep(0, 3, 32, ()), TimelineStep(3, 1, 32, ()))
    both = Timeline(steps, ((Run((0,), 2), Run((1,), 1)),) * 2)
    assert times_of([both], code) == {0: {0, 1}, 2: {1, 2}, 3: {2}}
    assert times_of([Timeline(steps, (both.warps[0], (Run((0,), 1),)))], code) is None
    guarded = program("STS [R0],R1", "@P0 BAR.SYNC 0x0")
    assert times_of([], guarded) is None


@needs_compiler
def test_an_array_that_holds_two_things_is_said_to_be_one() -> None:
    source = (
        "__global__ void k(const float *in, float *out) {\n__shared__ float s[33];\n"
        "const int x = threadIdx.x % 32, y = threadIdx.x / 32;\n"
        "if (y < 2) s[x + y] = in[x];\n__syncthreads();\nfloat v = s[x + (x >= y)];\n"
        "__syncthreads();\nif (y == 2) s[x] = v, s[32] = v;\n__syncthreads();\n"
        "out[threadIdx.x] = v + s[x + (x > y)];\n}"
    )
    report = replay_compiled(
        source, grid=1, block=128, args=[np.ones(32, np.float32), np.zeros(128, np.float32)]
    )
    (fix,) = report.fixes()
    assert fix.after.bank_conflicts > 0
    assert fix.notes == (
        "It holds first one thing, then another: barriers separate lines 4, 6 from lines 8, 10, and"
        " no data are kept. It is treated as one array, with one layout.",
    )
