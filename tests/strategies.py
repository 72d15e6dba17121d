"""The strategies that users get, under the name by which the tests know them, and two more."""

from __future__ import annotations

from hypothesis import strategies as st

from simulator.law.instructions import Instruction
from simulator.testing.strategies import accesses, addresses, instructions, masks, of

__all__ = [
    "accesses", "addresses", "instructions", "learnt_instructions", "masks", "of",
    "own_instructions",
]  # fmt: skip


@st.composite
def own_instructions(draw: st.DrawFn) -> Instruction:
    """Draw an instruction as a user may make one, with any fields that go together."""
    fuses = draw(st.booleans())
    lanes = 32 if fuses else draw(st.sampled_from([8, 16, 32]))
    able = (2, 4) if fuses else [phases for phases in (0, 1, 2, 4) if 8 * phases <= lanes]
    phases = draw(st.sampled_from(able))
    width = draw(st.sampled_from((4, 8, 16) if fuses else (1, 2, 4, 8, 16)))
    passes = draw(st.integers(1, 7))
    is_matrix = draw(st.booleans())
    fused = phases // 2 if fuses else phases
    fewest = passes * (fused if is_matrix else min(fused, 1))
    return Instruction(
        name="LDSM.OWN" if is_matrix else "OWN",
        width=width,
        phases=phases,
        lanes=lanes,
        fuses=fuses,
        merges=draw(st.booleans()),
        passes=passes,
        fixed_ideal=draw(st.none() | st.integers(0, fewest)),
        phase_cycles=draw(st.integers(0, 63)),
        least_cycles=draw(st.tuples(st.integers(0, 255), st.integers(0, 255))),
    )


@st.composite
def learnt_instructions(draw: st.DrawFn, lanes: int | None = None) -> Instruction:
    """Draw an instruction with phases of any lanes, any partners, and any phases that fuse."""
    lanes = lanes or draw(st.sampled_from([8, 16, 32]))
    of_phase = draw(
        st.lists(st.integers(0, draw(st.integers(0, 9))), min_size=lanes, max_size=lanes)
    )
    groups = _parted(range(lanes), of_phase)
    fuses = lanes == 32 and len(groups) > 1 and draw(st.booleans())
    fused: tuple[tuple[int, ...], ...] = ()
    if fuses:
        fewer = draw(st.integers(1, len(groups) - 1))
        into = draw(st.lists(st.integers(0, fewer - 1), min_size=len(groups), max_size=len(groups)))
        united = _parted(range(len(groups)), into)
        fused = tuple(
            tuple(sorted(lane for phase in phases for lane in groups[phase])) for phases in united
        )
    return Instruction(
        name="LEARNT",
        width=draw(st.sampled_from((4, 8, 16) if fuses else (1, 2, 4, 8, 16))),
        phases=len(groups),
        lanes=lanes,
        groups=groups,
        fuses=fuses,
        fused_groups=fused,
        partners=tuple(draw(st.sets(st.integers(1, 31), min_size=1, max_size=4))),
        merges=draw(st.booleans()),
        passes=draw(st.integers(1, 7)),
        shared_bytes=draw(st.sampled_from([48 * 1024, 99 * 1024, 227 * 1024])),
    )


def _parted(numbers: range, of: list[int]) -> tuple[tuple[int, ...], ...]:
    return tuple(
        tuple(number for number in numbers if of[number] == part) for part in sorted(set(of))
    )
