"""The registers and subwarps of a block's warps, as what serves instructions sees them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from simulator.sass.lift.layout import (
    ALIVE,
    PREDICATES,
    REGISTERS,
    ROW,
    SUBWARPS,
    UNIFORM,
    State,
)
from simulator.sass.lift.requests import Operand, Where

__all__ = ["Warps", "lanes_of"]

Words = NDArray[np.uint32]


def lanes_of(mask: int) -> list[int]:
    """List the lanes of a mask.

    >>> lanes_of(0b10010)
    [1, 4]
    """
    return [lane for lane in range(32) if mask >> lane & 1]


class Warps:
    """Views of the warps' memory, shape (warps, bytes): see `simulator.sass.lift.layout`."""

    def __init__(self, memory: NDArray[np.uint8]) -> None:
        self.memory = memory
        self._uniform = memory[:, UNIFORM : UNIFORM + 2 * ROW].view(np.uint32)
        self._subwarps = memory[:, SUBWARPS : SUBWARPS + 4 * ROW].view(np.uint32)
        self._predicates = memory[:, PREDICATES : PREDICATES + 64].view(np.uint32)
        self.registers = memory[:, REGISTERS:].view(np.uint32)
        """Shape (warps, 32 registers)."""
        self._alive = memory[:, ALIVE : ALIVE + 4].view(np.uint32)

    # ---- Reading. ------------------------------------------------------------------------------
    def uniform(self, warp: int, number: int) -> int:
        """Read a uniform register."""
        return int(self._uniform[warp, number])

    def uniform_pair(self, warp: int, number: int) -> int:
        """Read 64 bits of two uniform registers."""
        return self.uniform(warp, number) | self.uniform(warp, number + 1) << 32

    def uniforms(self, warp: int, number: int, count: int) -> list[int]:
        """Read uniform registers as signed integers."""
        found: list[int] = self._uniform[warp, number : number + count].view(np.int32).tolist()
        return found

    def row(self, warp: int, number: int) -> Words:
        """Return a register: a word for each lane."""
        return self.registers[warp, 32 * number : 32 * number + 32]

    def group(self, warps: slice, number: int, count: int) -> Words:
        """Return registers of some warps, shape (registers, warps, 32)."""
        found = self.registers[warps, 32 * number : 32 * (number + count)]
        return found.reshape(found.shape[0], count, 32).swapaxes(0, 1)

    def words(self, warp: int, operand: Operand) -> list[int]:
        """Read a word for each lane."""
        if operand.number < 0:
            return [0] * 32
        if operand.uniform:
            return [self.uniform(warp, operand.number)] * 32
        found: list[int] = self.row(warp, operand.number).tolist()
        return found

    def common(self, warp: int, operand: Operand, lanes: int) -> int | None:
        """Read the word that some lanes have in common; None where they differ."""
        if operand.number < 0:
            return 0
        if operand.uniform:
            return self.uniform(warp, operand.number)
        row = self.row(warp, operand.number)
        first = row[(lanes & -lanes).bit_length() - 1]
        if lanes != 0xFFFFFFFF:
            row = row[lanes_of(lanes)]
        return int(first) if (row == first).all() else None

    def addresses(self, warp: int, where: Where) -> list[int]:
        """Calculate each lane's shared address."""
        add = self.words(warp, where.uniform)[0] + where.offset
        return [word + add & 0xFFFFFFFF for word in self.words(warp, where.register)]

    def predicate(self, warp: int, number: int) -> int:
        """Read a predicate: a bit for each lane; of a uniform one (from 8 on) 0 or 1."""
        return int(self._predicates[warp, number])

    def alive(self) -> list[int]:
        """Return each warp's lanes that have not exited."""
        found: list[int] = self._alive[:, 0].tolist()
        return found

    def at_barriers(self) -> dict[int, list[int]]:
        """Return the warps that wait at barriers of the block, by the barrier's instruction."""
        found: dict[int, list[int]] = {}
        rows = self._subwarps.reshape(len(self._subwarps), 4, 32)
        for warp, (numbers, _, states, _) in enumerate(rows.tolist()):
            for number, state in set(zip(numbers, states, strict=True)):
                if state == State.AT_BARRIER:  # which has the barrier behind it
                    found.setdefault(number - 1, []).append(warp)
        return found

    # ---- Writing. ------------------------------------------------------------------------------
    def write_predicate(self, warp: int, number: int, lanes: int, values: int) -> None:
        """Write a predicate for some lanes."""
        before = int(self._predicates[warp, number])
        self._predicates[warp, number] = before & ~lanes | values & lanes

    # ---- Subwarps. -----------------------------------------------------------------------------
    def park(self, warp: int, mask: int, number: int) -> None:
        """File a subwarp as waiting at an instruction."""
        self._file(warp, mask, number, State.SERVED)

    def release(self, warp: int, mask: int, number: int) -> None:
        """Let a subwarp go on at an instruction."""
        self._file(warp, mask, number, State.READY)

    def _file(self, warp: int, mask: int, number: int, state: State) -> None:
        lane = (mask & -mask).bit_length() - 1
        self._subwarps[warp, lane::32] = number, mask, state, 0
