"""What Python callers give, read: a question in C with an instruction, or in its place."""

from __future__ import annotations

from typing import Any

from layouts.shapes import is_integer
from simulator.errors import AddressError, BankwiseError, MaskError, OptionError
from simulator.inputs.asked import AskedAccess, read
from simulator.law.accesses import ALL_LANES
from simulator.law.chips import counted_on
from simulator.law.instructions import Instruction

__all__ = ["asked_of"]


def asked_of(
    op: str | Instruction,
    text: str | None,
    mask: Any = None,
    *,
    warp: int | None = None,
    warps: range | None = None,
    **options: Any,
) -> AskedAccess:
    """Read a question that may stand in the place of the instruction.

    Raises AddressError where an instruction alone is given, and what `inputs.asked.read` raises.

    Parameters
    ----------
    op
        An instruction, or a question in C.
    text
        The question where `op` is an instruction, else None.
    mask
        An integer whose bits are the active lanes, or None.
    warp
        One warp of the block alone.
    warps
        Some warps of the block.
    **options
        Those of `inputs.asked.read`.
    """
    if mask is not None and not is_integer(mask):
        raise MaskError(
            f"mask {mask!r} for a question in C (accepted: one integer, or active, an expression)"
        )
    if warp is not None and not (is_integer(warp) and warp >= 0):
        raise OptionError(f"warp {warp!r} is not the number of a warp (accepted: 0, 1, 2, ...)")
    given = None if text is None else op
    if text is None:
        if isinstance(op, Instruction) or not isinstance(op, str) or _is_instruction(op):
            raise AddressError(
                f"addresses are missing for {op} (accepted: integers of shape (..., 32), or a"
                " question in C)"
            )
        text = op
    asked = read(
        text,
        given,
        mask=ALL_LANES if mask is None else int(mask),
        warps=warps if warp is None else [int(warp)],
        **options,
    )
    asked.check()
    return asked


def _is_instruction(op: str) -> bool:
    try:
        counted_on(None, op)
    except BankwiseError:
        return False
    return True
