"""The 128 bytes of a Hopper tensor map, read and written as the driver does.

Where each field lies was learned by varying one argument of `cuTensorMapEncodeTiled` and
`cuTensorMapEncodeIm2col` at a time (driver 13.0; `tests/silicon/hopper`). PTX's
`tensormap.replace`, compiled for sm_90a, writes the same bits. Sizes are in the driver's order,
the contiguous axis first.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from simulator.errors import TensorMapError
from simulator.sass.run.map_fields import CHOICES, ELEMENT_TYPES, MapFields, box_bytes
from simulator.sass.run.map_rules import broken_rules

__all__ = ["CLEARED", "FIELDS", "Field", "MapFields", "decode", "encode"]


@dataclass(frozen=True)
class Field:
    """Where a field lies: `bits` bits from `bit` on, and `step` more for each further axis."""

    bit: int
    bits: int
    step: int = 0

    def of(self, image: int, axis: int = 0) -> int:
        """Return this field of a map's bits."""
        return image >> (self.bit + axis * self.step) & ((1 << self.bits) - 1)

    def put(self, value: int, axis: int = 0) -> int:
        """Return the value, cut to the field's width, in its place."""
        return (value & ((1 << self.bits) - 1)) << (self.bit + axis * self.step)


FIELDS = {
    "address": Field(0, 57),
    "im2col": Field(64, 1),
    "rank": Field(68, 3),  # less 1
    "type": Field(71, 4),
    "interleave": Field(75, 2),
    "swizzle": Field(77, 2),
    "fill": Field(79, 1),
    "tfloat32": Field(80, 1),  # round to tf32; the type says float32
    "l2_promotion": Field(81, 2),
    "stride": Field(96, 32, 32),  # of four axes, in units of 16 bytes
    "stride_high": Field(224, 4, 4),
    "size": Field(256, 32, 32),  # less 1
    "element_stride": Field(416, 3, 3),  # less 1
    "box": Field(440, 8, 8),  # less 1
    "channels": Field(440, 8),  # im2col: less 1
    "lower": Field(448, 16),  # im2col: signed, 16 bits for all corners, `corner` says how
    "upper": Field(464, 16),
    "pixels": Field(480, 10),  # im2col: less 1
    "bytes": Field(512, 32),  # of the box; the driver rounds box / element stride down
    "alignment": Field(576, 32),  # of the box in shared memory, after which a swizzle repeats
}
"""Fields by name. The driver writes `bytes` and `alignment`; `tensormap.replace` leaves them."""


def corner(name: str, rank: int) -> Field:
    """Return the field of an im2col map's corners, "lower" or "upper": its axes share 16 bits."""
    bits = 16 // (rank - 2)
    return Field(FIELDS[name].bit, bits, bits)


CLEARED = (Field(85, 1), Field(86, 1))
"""Bits that `tensormap.replace` clears with an address and a swizzle; the driver leaves them 0."""


def encode(fields: MapFields) -> bytes:
    """Return the 128 bytes that the driver makes of these fields.

    Raises TensorMapError with the rule's name where the driver refuses them.
    """
    for rule, problem in broken_rules(fields):
        raise TensorMapError(rule, problem)
    number, _ = ELEMENT_TYPES[fields.element]
    image = FIELDS["address"].put(fields.address)
    image |= FIELDS["rank"].put(fields.rank - 1) | FIELDS["type"].put(number)
    image |= FIELDS["tfloat32"].put(fields.element.startswith("tfloat32"))
    for name, values in CHOICES:
        image |= FIELDS[name].put(values.index(getattr(fields, name)))
    for axis, stride in enumerate(fields.strides):
        image |= FIELDS["stride"].put(stride >> 4, axis)
        image |= FIELDS["stride_high"].put(stride >> 36, axis)
    for axis, (size, step) in enumerate(zip(fields.sizes, fields.element_strides, strict=True)):
        image |= FIELDS["size"].put(size - 1, axis)
        image |= FIELDS["element_stride"].put(step - 1, axis)
    if fields.kind == "tiled":
        for axis, size in enumerate(fields.box):
            image |= FIELDS["box"].put(size - 1, axis)
    else:
        image |= FIELDS["im2col"].put(1) | FIELDS["channels"].put(fields.channels - 1)
        image |= FIELDS["pixels"].put(fields.pixels - 1)
        for axis in range(fields.rank - 2):
            image |= corner("lower", fields.rank).put(fields.lower[axis], axis)
            image |= corner("upper", fields.rank).put(fields.upper[axis], axis)
    image |= FIELDS["bytes"].put(box_bytes(fields))
    image |= FIELDS["alignment"].put(8 * fields.swizzle if fields.swizzle else 16)
    return image.to_bytes(128, "little")


@lru_cache(maxsize=256)
def decode(image: bytes) -> MapFields:
    """Return what 128 bytes say, whether the driver or `tensormap.replace` wrote them.

    Raises TensorMapError for bytes that are not a tensor map, break a rule, or have bits set
    whose meaning is not known.
    """
    if len(image) != 128:
        raise TensorMapError("size", f"{len(image)} bytes are not a tensor map (accepted: 128)")
    bits = int.from_bytes(image, "little")
    rank = FIELDS["rank"].of(bits) + 1
    im2col = bool(FIELDS["im2col"].of(bits))
    if rank > 5 or (im2col and rank < 3):
        raise TensorMapError(
            "rank", f"{'an im2col' if im2col else 'a tensor'} map of rank {rank}"
            f" (accepted: {'3' if im2col else '1'} to 5)",
        )  # fmt: skip
    if unknown := bits & ~_known(im2col, rank):
        place = (unknown & -unknown).bit_length() - 1
        raise TensorMapError(
            "unknown bits",
            f"bit {place} of a tensor map is set, and its meaning is not known"
            " (accepted: maps as the driver and tensormap.replace write them)",
        )
    choices = {name: _choice(name, values, bits) for name, values in CHOICES}
    axes = range(rank)
    strides = tuple(
        FIELDS["stride"].of(bits, axis) << 4 | FIELDS["stride_high"].of(bits, axis) << 36
        for axis in axes[:-1]
    )
    shape: dict[str, object] = {"box": tuple(FIELDS["box"].of(bits, axis) + 1 for axis in axes)}
    if im2col:
        shape = {
            "kind": "im2col", "channels": FIELDS["channels"].of(bits) + 1,
            "pixels": FIELDS["pixels"].of(bits) + 1,
            "lower": _corners("lower", rank, bits), "upper": _corners("upper", rank, bits),
        }  # fmt: skip
    fields = MapFields(
        element=_element(bits), address=FIELDS["address"].of(bits), strides=strides,
        sizes=tuple(FIELDS["size"].of(bits, axis) + 1 for axis in axes),
        element_strides=tuple(FIELDS["element_stride"].of(bits, axis) + 1 for axis in axes),
        **choices, **shape,  # type: ignore[arg-type]
    )  # fmt: skip
    for rule, problem in broken_rules(fields):
        raise TensorMapError(rule, problem)
    return fields


def _choice(name: str, values: tuple[object, ...], bits: int) -> object:
    number = FIELDS[name].of(bits)
    if number >= len(values):
        raise TensorMapError(name, f"{name} number {number} (accepted: 0 to {len(values) - 1})")
    return values[number]


def _element(bits: int) -> str:
    number, rounded = FIELDS["type"].of(bits), bool(FIELDS["tfloat32"].of(bits))
    for name, (known, _) in ELEMENT_TYPES.items():
        if known == number and name.startswith("tfloat32") == rounded:
            return name
    raise TensorMapError("element", f"element type number {number} (accepted: 0 to 10)")


@lru_cache
def _known(im2col: bool, rank: int) -> int:
    """Return the mask of bits that fields of such a map occupy."""
    tiled = ("box",) if not im2col else ("channels", "pixels", "lower", "upper")
    every = {"stride": 4, "stride_high": 4, "size": 5, "element_stride": 5, "box": 5}
    other = {"box", "channels", "pixels", "lower", "upper"} - set(tiled)
    mask = 0
    for name, field in FIELDS.items():
        if name not in other:
            for axis in range(every.get(name, 1)):
                mask |= field.put(-1, axis)
    return mask


def _corners(name: str, rank: int, bits: int) -> tuple[int, ...]:
    """Read an im2col map's corners, which are signed."""
    field = corner(name, rank)
    found = (field.of(bits, axis) for axis in range(rank - 2))
    return tuple(each - (each >> field.bits - 1 << field.bits) for each in found)
