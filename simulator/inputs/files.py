"""Reading warp accesses from CSV, NPY and NPZ data; those of a question as the same columns."""

from __future__ import annotations

import csv
import io
import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from layouts.errors import short
from simulator.errors import InputError
from simulator.inputs.asked import AskedAccess
from simulator.law.chips import counted_on

__all__ = ["Accesses", "asked_accesses", "from_data", "replays"]

_ACCEPTED = (
    "accepted: CSV with 32 byte addresses per row, under a header with columns lane0 ... lane31"
    " and, if wanted, op and mask; NPY with integers of shape (..., 32); NPZ with the array"
    " address and, if wanted, mask and op"
)


@dataclass(frozen=True, eq=False)
class Accesses:
    """n accesses as they were given: values are checked when they are counted."""

    ops: list[str]
    addresses: NDArray[Any]
    """Byte addresses, (n, 32)."""
    masks: NDArray[Any] | None
    """(n,), or None for all lanes."""

    def by_op(self) -> dict[str, NDArray[np.intp]]:
        """List the accesses of each instruction, by its SASS name."""
        names = np.array([counted_on(None, op).name for op in self.ops])
        return {str(name): np.flatnonzero(names == name) for name in dict.fromkeys(names.tolist())}


def replays(text: str) -> str | None:
    """Return the command that replays the file that a text names; None: it names no kernel's file.

    >>> replays("src/transpose.cu"), replays("kernels.py")
    ('sass src/transpose.cu', 'sass --triton kernels.py')
    """
    if not re.fullmatch(r"[^;()\[\]]+\.(cu|ptx|cubin|fatbin|o|a|so|py)", text.strip()):
        return None
    triton = "--triton " * text.strip().endswith(".py")
    return f"sass {triton}{shlex.quote(text.strip())}"


def asked_accesses(asked: AskedAccess) -> Accesses:
    """Return the accesses of a question, one per warp."""
    masks = None if asked.whole else asked.masks
    return Accesses([asked.instruction.name] * len(asked.warps), asked.addresses(), masks)


def from_data(data: bytes, name: str, op: str | None = None, mask: int | None = None) -> Accesses:
    """Read CSV, NPY or NPZ, told apart by their content. `op` and `mask` fill what it lacks."""
    try:
        read = _read(data)
    except Exception as error:  # whatever NumPy, zipfile or csv make of broken bytes
        why = short(f"{type(error).__name__}: {error}", most=200)
        raise InputError(f"{name} cannot be read: {why} ({_ACCEPTED})") from error
    ops, addresses, masks = (
        _from_csv(read, name) if isinstance(read, list) else _from_arrays(read, name)
    )
    if ops is None and op is None:
        raise InputError(f"{name} does not name its instruction (accepted: --op, or a column op)")
    if op is not None and ops is not None:
        raise InputError(
            f"{name} has its own instructions, and --op {op} was given (accepted: only one of them)"
        )
    if mask is not None and masks is not None:
        raise InputError(
            f"{name} has its own masks, and --mask {mask:#x} was given (accepted: only one of them)"
        )
    if mask is not None:
        masks = np.full(len(addresses), mask)
    return Accesses([str(op)] * len(addresses) if ops is None else ops, addresses, masks)


_Found = tuple[list[str] | None, NDArray[Any], NDArray[Any] | None]


def _read(data: bytes) -> dict[str, Any] | list[list[str]]:
    """Take bytes as arrays by name, or else as the rows of a CSV."""
    if data.startswith(b"\x93NUMPY"):
        return {"address": np.load(io.BytesIO(data), allow_pickle=False)}
    if data.startswith(b"PK"):
        with np.load(io.BytesIO(data), allow_pickle=False) as arrays:
            wanted = ("address", "addresses", "mask", "op")
            return {key: arrays[key] if key in wanted else None for key in arrays}
    return list(csv.reader(io.StringIO(data.decode("utf-8-sig")), strict=True))


def _from_arrays(arrays: Mapping[str, Any], name: str) -> _Found:
    key = next((key for key in ("address", "addresses") if key in arrays), None)
    if key is None or not all(isinstance(arrays[known], np.ndarray | None) for known in arrays):
        raise InputError(f"{name} has the arrays {short(list(arrays))} ({_ACCEPTED})")
    addresses = arrays[key]
    if addresses.ndim == 0 or addresses.shape[-1] != 32 or addresses.size == 0:
        raise InputError(f"{name} has addresses of shape {addresses.shape} ({_ACCEPTED})")
    shape = addresses.shape[:-1]
    columns = {key: arrays[key] for key in ("mask", "op") if key in arrays}
    for key, column in columns.items():
        if column.shape != shape:
            raise InputError(f"{name}: {key} has shape {column.shape} (accepted: {shape})")
    try:
        ops = columns["op"].astype(str).ravel().tolist() if "op" in columns else None
    except UnicodeDecodeError as error:
        raise InputError(
            f"{name}: op holds bytes that are not ASCII (accepted: names such as LDS.128)"
        ) from error
    masks = columns["mask"].ravel() if "mask" in columns else None
    return ops, addresses.reshape(-1, 32), masks


def _from_csv(rows: list[list[str]], name: str) -> _Found:
    lines = [
        (number, [cell.strip() for cell in row])
        for number, row in enumerate(rows, start=1)
        if any(cell.strip() for cell in row)
    ]
    header = [f"lane{lane}" for lane in range(32)]
    if lines and not all(_is_integer(cell) for cell in lines[0][1]):
        header = [cell.lower() for cell in lines.pop(0)[1]]
    lanes = _lane_columns(header, name)
    if not lines:
        raise InputError(f"{name} is empty ({_ACCEPTED})")
    for number, row in lines:
        if len(row) != len(header):
            raise InputError(f"{name}, row {number}: {len(row)} cells, not {len(header)}")
        for title, cell in zip(header, row, strict=True):
            if title != "op" and not _is_integer(cell):
                raise InputError(
                    f"{name}, row {number}, column {title}: {short(cell)} is not an integer"
                    " (accepted: decimal or 0x numbers)"
                )
    op, mask = (header.index(title) if title in header else None for title in ("op", "mask"))
    return (
        None if op is None else [row[op] for _, row in lines],
        _integers([[int(row[lane], 0) for lane in lanes] for _, row in lines]),
        None if mask is None else _integers([int(row[mask], 0) for _, row in lines]),
    )


def _lane_columns(header: list[str], name: str) -> list[int]:
    """Find the column of each lane; beside them there may be op and mask, once each."""
    columns = {
        int(found[1]): column
        for column, title in enumerate(header)
        if (found := re.fullmatch(r"(?:lane|address)?[ _]?(\d{1,2})", title))
    }
    others = {title for title in header if title in ("op", "mask")}
    if sorted(columns) != list(range(32)) or len(header) != 32 + len(others):
        raise InputError(f"{name} has the columns {short(', '.join(header))} ({_ACCEPTED})")
    return [columns[lane] for lane in range(32)]


def _integers(values: list[Any]) -> NDArray[Any]:
    try:
        return np.array(values, dtype=np.int64)
    except OverflowError:  # refused later, if such a lane is active
        return np.array(values, dtype=object)


def _is_integer(cell: str) -> bool:
    return re.fullmatch(r"[+-]?(0[xX][0-9a-fA-F]{1,19}|0|[1-9][0-9]{0,19})", cell) is not None
