"""Control bits: what the compiler tells the scheduler in the upper bits of each instruction.

An instruction of sm_70 to sm_9x has 128 bits. Bits 105 to 125 say when the next one of the warp may
be issued. They also say which of six scoreboards it counts up and waits for. Jia et al.,
"Dissecting the NVIDIA Volta GPU Architecture via Microbenchmarking" (arXiv:1804.06826), section
2.1, describe them.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Control", "control"]

_NONE = 7  # of the three bits of a scoreboard


@dataclass(frozen=True)
class Control:
    """What one instruction tells the scheduler."""

    stall: int
    """Cycles until the warp's next instruction may be issued: 0 to 15."""
    yields: bool
    """Whether another warp is preferred in the next cycle."""
    write_barrier: int | None
    """The scoreboard, 0 to 5, that is busy until its results are written."""
    read_barrier: int | None
    """The scoreboard that is busy until its operands are read."""
    waits: int
    """Scoreboards that must be free before it is issued: a bit for each of six."""
    reuse: int
    """Operands that stay in the reuse cache for the next instruction: a bit for each of four."""


def control(word: int) -> Control:
    """Return the control bits of an instruction, given as its 128 bits.

    >>> control(0x000FE200_00000000_00000000_00000000 | 0x4 << 122)
    Control(stall=1, yields=False, write_barrier=None, read_barrier=None, waits=0, reuse=4)
    """
    bits = word >> 105

    def scoreboard(place: int) -> int | None:
        number = bits >> place & 7
        return None if number == _NONE else number

    return Control(
        stall=bits & 15,
        yields=not bits >> 4 & 1,  # the bit is set where the warp may go on
        write_barrier=scoreboard(5),
        read_barrier=scoreboard(8),
        waits=bits >> 11 & 63,
        reuse=bits >> 17 & 15,
    )
