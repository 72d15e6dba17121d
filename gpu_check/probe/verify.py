"""Whether the chip moved the bytes that the instruction should have moved.

A count is worth nothing if the probe ran something else. So every access of a check can be run
once (`Probe.once`), and what came back is compared with a model of the instruction itself:
loads with the fill pattern, stores with what was in shared memory afterwards. Where several
lanes write one place, any of them may win.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpu_check.probe.ops import ProbeOp
from gpu_check.probe.probe import Probe, coalesced
from simulator.law.masks import active_table

__all__ = ["wrong_accesses"]

Bytes = NDArray[np.uint8]


def wrong_accesses(
    probe: Probe,
    addresses: NDArray[np.uint32],
    masks: NDArray[np.uint32],
    sources: NDArray[np.uint32] | None = None,
) -> list[int]:
    """Run accesses once and list those whose bytes are not as they should be."""
    seen = probe.once(probe.load(addresses, masks, sources))
    memory = probe.fill.view(np.uint8)
    wrong = []
    for row in range(len(addresses)):
        given = probe.op, addresses[row].astype(np.int64), int(masks[row]), seen[row], memory
        if probe.op.is_copy:
            read = coalesced(probe.op.name, 1)[0] if sources is None else sources[row]
            fine = _copied(*given, read)
        else:
            fine = _CHECKS[_family(probe.op)](*given)
        if not fine:
            wrong.append(row)
    return wrong


def _family(op: ProbeOp) -> str:
    if op.is_matrix:
        return op.struct[:4]
    return op.struct.split("_")[0]


def _lanes(mask: int) -> list[int]:
    lanes: list[int] = np.flatnonzero(active_table(np.array([mask]))[0]).tolist()
    return lanes


def _values() -> Bytes:
    """Return the 16 bytes that each lane offers: word i of lane l is four bytes 4 l + i + 1."""
    words = (4 * np.arange(32)[:, None] + np.arange(4) + 1).astype(np.uint32) * 0x01010101
    return words.astype(np.uint32).view(np.uint8)


def _loaded(op: ProbeOp, at: Any, mask: int, seen: Any, memory: Bytes) -> bool:
    width, words = op.width, max(1, op.width // 4)
    for lane in _lanes(mask):
        raw = memory[at[lane] : at[lane] + width].tobytes()
        signed = "_S" in op.struct
        if width < 4:
            raw = int.from_bytes(raw, "little", signed=signed).to_bytes(4, "little", signed=signed)
        if seen[lane, 0, :words].tobytes() != raw:
            return False
    return True


def _after(op: ProbeOp, at: Any, lanes: list[int], seen: Any) -> list[tuple[int, bytes]]:
    """For each lane: the bytes now at its address."""
    width = op.width
    found = []
    for lane in lanes:
        offset = at[lane] % 16
        found.append((lane, seen[lane, 2].tobytes()[offset : offset + width]))
    return found


def _stored(op: ProbeOp, at: Any, mask: int, seen: Any, memory: Bytes) -> bool:
    lanes, values = _lanes(mask), _values()
    for lane, found in _after(op, at, lanes, seen):
        # All of a place's writers write all of it: addresses are multiples of the width.
        writers = [values[other].tobytes()[: op.width] for other in lanes if at[other] == at[lane]]
        if found not in writers:
            return False
    return True


def _matrix_words(rows: Any, transposed: bool) -> Any:
    """Turn the 8 rows of 8 halves, (8, 8), into the word of each lane."""
    halves = rows.T if transposed else rows
    return np.ascontiguousarray(halves).reshape(32, 2).view(np.uint32)[:, 0]


def _matrix_loaded(op: ProbeOp, at: Any, mask: int, seen: Any, memory: Bytes) -> bool:
    for matrix in range(int(op.struct[-1])):
        rows = np.stack([memory[at[8 * matrix + i] :][:16].view(np.uint16) for i in range(8)])
        if not np.array_equal(_matrix_words(rows, "T" in op.struct), seen[:, 0, matrix]):
            return False
    return True


def _matrix_stored(op: ProbeOp, at: Any, mask: int, seen: Any, memory: Bytes) -> bool:
    values = _values().view(np.uint32)
    count = int(op.struct[-1])
    rows = []
    for matrix in range(count):
        halves = np.ascontiguousarray(values[:, matrix]).view(np.uint16).reshape(8, 8)
        rows += list(halves.T if "T" in op.struct[4:] else halves)
    for lane in range(8 * count):
        found = seen[lane, 2].view(np.uint16)
        writers = [rows[other] for other in range(8 * count) if at[other] == at[lane]]
        if not any(np.array_equal(found, np.asarray(row)) for row in writers):
            return False
    return True


def _copied(op: ProbeOp, at: Any, mask: int, seen: Any, memory: Bytes, source: Any) -> bool:
    lanes = _lanes(mask)
    for lane, found in _after(op, at, lanes, seen):
        writers = [
            memory[source[other] :][: op.width].tobytes()
            for other in lanes
            if at[other] == at[lane]
        ]
        if found not in writers:
            return False
    return True


_EFFECTS: dict[str, Callable[[int, int], int]] = {
    "ATOMS_ADD": lambda old, value: old + value,
    "ATOMS_MIN": min,
    "ATOMS_MAX": max,
    "ATOMS_AND": lambda old, value: old & value,
    "ATOMS_OR": lambda old, value: old | value,
    "ATOMS_XOR": lambda old, value: old ^ value,
    "ATOMS_POPC_INC": lambda old, value: old + 1,
    "LOOP_ADD_U64": lambda old, value: old + value,
}
"""What an atomic makes of a word, where the order of the lanes does not matter."""


_SUMS: dict[str, Callable[[list[int]], bytes]] = {
    "LOOP_ADD_F32": lambda lanes: np.float32(sum(lanes) + len(lanes)).tobytes(),
    "LOOP_ADD_F16X2": lambda lanes: (
        2 * np.float16(sum(1 - lane % 2 * 2 for lane in lanes)).tobytes()
    ),
}
"""What a floating-point loop makes of 0: lane l adds l + 1, or 1 and -1 in turn to both halves."""


def _updated(op: ProbeOp, at: Any, mask: int, seen: Any, memory: Bytes) -> bool:
    lanes, values, width = _lanes(mask), _values(), op.width
    effect = _EFFECTS.get(op.struct)
    for lane, found in _after(op, at, lanes, seen):
        offset = at[lane] % 16
        old = int.from_bytes(seen[lane, 1].tobytes()[offset : offset + width], "little")
        given = [
            int.from_bytes(values[other].tobytes()[:width], "little")
            for other in lanes
            if at[other] == at[lane]
        ]
        new = int.from_bytes(found, "little")
        if op.struct in _SUMS:
            lanes_there = [other for other in lanes if at[other] == at[lane]]
            right = found == _SUMS[op.struct](lanes_there)
        elif effect is None:
            # Exchange and compare-and-swap: one of the lanes' values. INC and DEC: another.
            swaps = op.struct.startswith(("ATOMS_EXCH", "ATOMS_CAS"))
            right = new in given if swaps else new != old
        else:
            expected = old
            for value in given:
                expected = effect(expected, value)
            right = new == expected % 256**width
        if not right:
            return False
    return True


_CHECKS: dict[str, Callable[[ProbeOp, Any, int, Any, Bytes], bool]] = {
    "LDS": _loaded,
    "STS": _stored,
    "LDSM": _matrix_loaded,
    "STSM": _matrix_stored,
    "ATOMS": _updated,
    "LOOP": _updated,
}
