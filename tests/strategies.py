"""The strategies that users get, under the name by which the tests know them, and one more."""

from __future__ import annotations

from hypothesis import strategies as st

from simulator.law.instructions import Instruction
from simulator.testing.strategies import accesses, addresses, instructions, masks, of

__all__ = ["accesses", "addresses", "instructions", "masks", "of", "own_instructions"]


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
