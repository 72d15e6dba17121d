"""The rules that `cuTensorMapEncodeTiled` and `cuTensorMapEncodeIm2col` check, by name.

The names say what the driver's documentation asks of each argument. Recorded calls
(`tests/silicon/hopper`, driver 13.0) hold them: what it refused breaks one of them, and what it
took breaks none. Two bounds lie between recorded calls: the bytes of a box (131,072 taken, 262,144
refused) and the pixels of an im2col bounding box (1 taken, -31 refused).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from layouts.errors import accepted
from simulator.sass.run.map_fields import CHOICES, ELEMENT_TYPES, MapFields, box_bytes

__all__ = ["MOST_BOX_BYTES", "broken_rules"]

MOST_BOX_BYTES = 227 << 10
"""No block's shared memory on sm_90 holds more."""


def broken_rules(fields: MapFields) -> Iterator[tuple[str, str]]:
    """Yield the rules of `cuTensorMapEncodeTiled` and `…Im2col` that are broken: name, message."""
    for name, values in (("element", tuple(ELEMENT_TYPES)), *CHOICES):
        if (given := getattr(fields, name)) not in values:
            yield name, f"{name}={given!r} ({accepted(given, map(str, values))})"
            return
    ranks = (3, 5) if fields.kind == "im2col" or fields.interleave else (1, 5)
    yield from _range("rank", (fields.rank,), *ranks, "" if ranks[0] == 1 else " of such a map")
    if not 1 <= fields.rank <= 5:
        return
    unit = 32 if fields.interleave == 32 else 16
    yield from _multiples("address alignment", (fields.address,), unit, "bytes of address")
    yield from _range("address", (fields.address,), 0, (1 << 57) - 1)
    yield from _range("size", fields.sizes, 1, 1 << 32)
    yield from _multiples("stride alignment", fields.strides, unit, "bytes of stride")
    yield from _range("stride", fields.strides, 0, (1 << 40) - 1)
    yield from _range("element stride", fields.element_strides, 1, 8)
    if fields.fill == "nan" and "float" not in fields.element:
        yield "fill", f"fill='nan' of {fields.element} (accepted: of floating-point elements)"
    if fields.kind == "tiled":
        yield from _range("box size", fields.box, 1, 256)
        inner = fields.box[0]
    else:
        yield from _im2col_rules(fields)
        inner = fields.channels
    row = inner * fields.itemsize
    yield from _multiples("box row", (row,), 16, "bytes in a row of the box")
    if fields.swizzle and not fields.interleave and row > fields.swizzle:
        problem = f"{row} bytes in a row of the box with swizzle={fields.swizzle}"
        yield "swizzle span", f"{problem} (accepted: up to {fields.swizzle} bytes)"
    if all(fields.element_strides) and box_bytes(fields) > MOST_BOX_BYTES:
        problem = f"a box of {box_bytes(fields)} bytes"
        yield "box bytes", f"{problem} (accepted: up to {MOST_BOX_BYTES})"


def _im2col_rules(fields: MapFields) -> Iterator[tuple[str, str]]:
    yield from _range("channels", (fields.channels,), 1, 256)
    yield from _range("pixels", (fields.pixels,), 1, 1024)
    most = 1 << (16 // (fields.rank - 2) - 1)
    yield from _range("corner", (*fields.lower, *fields.upper), -most, most - 1)
    spatial = fields.sizes[1:-1]
    for size, low, high in zip(spatial, fields.lower, fields.upper, strict=True):
        if size >= 1 << 31 or size + high - low < 1:
            problem = f"corners {low} and {high} around {size} pixels"
            wanted = f"at least one pixel between the corners, and sizes below {1 << 31}"
            yield "bounding box", f"{problem} (accepted: {wanted})"


def _range(
    rule: str, given: Sequence[int], low: int, high: int, of: str = ""
) -> Iterator[tuple[str, str]]:
    for value in given:
        if not low <= value <= high:
            yield rule, f"{rule} {value}{of} (accepted: {low} to {high})"


def _multiples(rule: str, given: Sequence[int], unit: int, what: str) -> Iterator[tuple[str, str]]:
    for value in given:
        if value % unit:
            yield rule, f"{value} {what} (accepted: multiples of {unit})"
