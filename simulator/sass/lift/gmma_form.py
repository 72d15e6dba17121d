"""HGMMA, QGMMA, IGMMA and BGMMA: what the text of a warpgroup's matrix product says.

The spellings were learned from every type and option of `wgmma.mma_async`, compiled for sm_90a by
NVRTC 13.5 (`tests/unit/sass/lift/gmma_forms.txt`): the opcode names the shape, the accumulator and
the operands' types; the descriptor's suffixes name transposition and negation. An A in registers
is negated by its own minus sign. A and B's descriptors are four uniform registers from the one in
`gdesc[…]` on: A's two, then B's two; where A lies in registers, A's two are not read.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from simulator.errors import UnsupportedError

__all__ = ["Gmma", "parse_gmma"]

Accumulator = Literal["f32", "f16", "s32"]


@dataclass(frozen=True)
class Gmma:
    """One warpgroup's product, D = A B + D: 64 x k by k x n."""

    n: int
    k: int
    """Elements: 32 bytes of them, 64 where A is sparse."""
    accumulator: Accumulator
    a_type: str
    """f16, bf16, tf32, e4m3, e5m2, s8, u8 or b1."""
    b_type: str
    destination: int | None
    """D's first register; None: nothing is multiplied (see `is_empty`)."""
    source: int | None
    """The accumulator's first register; None is zero."""
    a_register: int | None
    """A's first register; None: A lies in shared memory."""
    descriptors: int | None
    """The uniform register from which the descriptors lie: A's in two, then B's in two."""
    scale_d: str = "UPT"
    """The predicate under which the accumulator is added: UP0, !UP0, !UPT (never)."""
    transpose_a: bool = False
    transpose_b: bool = False
    negate_a: bool = False
    negate_b: bool = False
    saturates: bool = False
    sparse: bool = False
    group: int | None = None
    """The scoreboard of `gsb0`, which WARPGROUP.DEPBAR waits for."""

    @property
    def is_empty(self) -> bool:
        """Whether it only ends a group without products: `HGMMA… RZ, gdesc[URZ], RZ, !UPT, gsb0`.

        ptxas writes that for `wgmma.commit_group` where no product is in flight. On an H100 Nsight
        Compute's view of the source counts the wavefronts of its shape; the hardware reads nothing.
        """
        return self.destination is None

    @property
    def registers(self) -> int:
        """Accumulator registers per thread: two float16 share one."""
        return self.n // (4 if self.accumulator == "f16" else 2)

    @property
    def wavefronts(self) -> int:
        """Wavefronts of the operands in shared memory: their bytes / 128 (measured, H100)."""
        return self.n // 4 + (16 if self.a_register is None else 0)

    @property
    def cycles(self) -> int:
        """Cycles from one product to the next of the same SM (measured, H100, all types and N).

        The tensor cores take N / 2; operands that both lie in shared memory come at a wavefront per
        cycle; with A in registers there are 13 at least.

        >>> [parse_gmma(f"HGMMA.64x{n}x16.F32 R24, gdesc[UR4], R24, gsb0").cycles for n in (8, 256)]
        [18, 128]
        """
        least = self.wavefronts if self.a_register is None else _LEAST_CYCLES
        return max(self.n // 2, least)


_TYPES: dict[str, tuple[str, str]] = {
    "": ("f16", "f16"), "BF16": ("bf16", "bf16"), "TF32": ("tf32", "tf32"),
    **{f"{a}.{b}": (a.lower(), b.lower()) for a in ("E4M3", "E5M2") for b in ("E4M3", "E5M2")},
    **{f"{a}.{b}": (a.lower(), b.lower()) for a in ("S8", "U8") for b in ("S8", "U8")},
    "AND.POPC": ("b1", "b1"),
}  # fmt: skip
_BITS = {"f16": 16, "bf16": 16, "tf32": 32, "b1": 1}
_UNITS = {"H": ("f16", "bf16", "tf32"), "Q": ("e4m3", "e5m2"), "I": ("s8", "u8"), "B": ("b1",)}

_LEAST_CYCLES = 13  # with A in registers

_OPCODE = re.compile(
    r"(?P<unit>[HQIB])GMMA(?P<sparse>\.SP)?\.64x(?P<n>\d+)x(?P<k>\d+)"
    r"(?:\.(?P<accumulator>F32|F16))?(?:\.(?P<types>[A-Z0-9.]+?))?(?P<saturates>\.SAT)?"
)
_OPERANDS = re.compile(
    r"R(?P<d>\d+|Z),(?:(?P<minus>-?)R(?P<a>\d+),)?gdesc\[UR(?P<descriptors>\d+|Z)\]"
    r"(?P<options>(?:\.(?:negA|negB|tnspA|tnspB))*),(?:R(?P<c>\d+)|RZ)"
    r"(?:,(?P<scale>!?UP[T\d]))?(?:,R\d+(?:,0x[0-9a-f]+)?)?(?:,gsb(?P<group>\d))?"
)


@lru_cache(maxsize=4096)
def parse_gmma(text: str) -> Gmma:
    """Return what an instruction says, from its text without guard.

    >>> form = parse_gmma("HGMMA.64x64x16.F32.BF16 R24, gdesc[UR12].tnspB, R24, UP0, gsb0")
    >>> form.n, form.a_type, form.transpose_b, form.descriptors, form.wavefronts
    (64, 'bf16', True, 12, 32)

    Raises UnsupportedError for text that no wgmma of sm_90a compiles to.
    """
    opcode, _, operands = text.strip().partition(" ")
    head = _OPCODE.fullmatch(opcode)
    tail = _OPERANDS.fullmatch(re.sub(r"\s|\.reuse", "", operands))
    types = _TYPES.get(head["types"] or "") if head else None
    if not head or not tail or not types or types[0] not in _UNITS[head["unit"]]:
        raise _refused(text)
    n, k, sparse = int(head["n"]), int(head["k"]), bool(head["sparse"])
    width = 256 // _BITS.get(types[0], 8) * (2 if sparse else 1)
    accumulator: Accumulator = "s32" if head["unit"] in "IB" else "f32"
    if head["accumulator"] == "F16":
        accumulator = "f16"
    wrong = (head["accumulator"] is None) == (accumulator != "s32")
    options = tail["options"]
    wrong |= "tnsp" in options and _BITS.get(types[0]) != 16
    wrong |= head["saturates"] is not None and head["unit"] != "I"
    is_empty = tail["d"] == "Z"
    wrong |= is_empty != (tail["descriptors"] == "Z") or (is_empty and bool(tail["a"] or tail["c"]))
    if wrong or k != width or n % 8 or not 8 <= n <= 256:
        raise _refused(text)
    return Gmma(
        n=n, k=k, accumulator=accumulator, a_type=types[0], b_type=types[1],
        destination=None if is_empty else int(tail["d"]),
        source=None if tail["c"] is None else int(tail["c"]),
        a_register=None if tail["a"] is None else int(tail["a"]),
        descriptors=None if is_empty else int(tail["descriptors"]), scale_d=tail["scale"] or "UPT",
        transpose_a="tnspA" in options, transpose_b="tnspB" in options,
        negate_a="negA" in options or tail["minus"] == "-", negate_b="negB" in options,
        saturates=head["saturates"] is not None, sparse=sparse,
        group=None if tail["group"] is None else int(tail["group"]),
    )  # fmt: skip


def _refused(text: str) -> UnsupportedError:
    return UnsupportedError(
        f"{text!r} is not modelled (accepted: HGMMA, QGMMA, IGMMA and BGMMA as wgmma of sm_90a"
        " compiles to them, such as HGMMA.64x64x16.F32 R24, gdesc[UR4], R24, UP0, gsb0)"
    )
