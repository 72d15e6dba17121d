"""The shared-memory instructions: what each was measured (or published) to do, as data.

Sources
    [H200]  hardware counters and clocks of an NVIDIA H200 (sm_90), recorded in gpu_check/data
            and, earlier, in tests/silicon/data; docs/explanation/validation.md says how,
            and compares every row.
    [GTC]   NVIDIA's published phases ("8B words are accessed in 2 phases ... 16B words are
            accessed in 4 phases"), a slide reproduced in the tutorial that README.md names.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal, get_args

from layouts.errors import short
from layouts.shapes import is_integer
from simulator.errors import InstructionError
from simulator.law.spellings import respelled, uncounted

__all__ = [
    "INSTRUCTIONS",
    "RULES",
    "SHARED_BYTES",
    "Groups",
    "Instruction",
    "Rule",
    "instruction",
]

SHARED_BYTES = 227 * 1024
"""Shared memory that a block can address at most: 227 KiB, on sm_90.

Source: CUDA C++ Programming Guide, "Technical Specifications per Compute Capability".
"""

Groups = tuple[Sequence[int], ...]
"""Lanes that are served together, phase after phase."""

_ADDRESSABLE = 255 * 1024  # the engines' 16-bit keys hold no more rows of banks
_COUNTS = 255  # a figure is a byte

Rule = Literal["silicon", "documented"]

RULES: tuple[Rule, ...] = get_args(Rule)
"""`silicon`: the measured law [H200]. `documented`: the published phases, never fused [GTC]."""


@dataclass(frozen=True)
class Instruction:
    """How one instruction uses the 32 banks.

    `phases` groups of the first `lanes` lanes are served one after the other: `phase_lanes`.
    """

    name: str
    """The SASS mnemonic, as nvdisasm prints it for sm_90."""
    width: int
    """Bytes an active lane reads or writes; its address is a multiple of this."""
    phases: int = 1
    """Groups that the lanes are served in, before fusing; 0: the access leaves the pipe alone."""
    lanes: int = 32
    """Lanes whose addresses count: 8 a matrix for LDSM and STSM, else all."""
    fuses: bool = False
    """Whether phases become fewer when the pair condition holds: every two one, unless
    `fused_groups` says otherwise."""
    merges: bool = True
    """Whether lanes on the same word cost one word (else each active lane counts)."""
    passes: int = 1
    """How often every wavefront is repeated: twice for compare-and-swap."""
    fixed_ideal: int | None = None
    """The profiler's ideal where it does not depend on the bytes: matrices, or 1 for atomics."""
    phase_cycles: int = 1
    """Cycles that a phase takes at least, though no lane be active in it."""
    least_cycles: tuple[int, int] = (0, 0)
    """Cycles that an access of one, and of two, wavefronts takes at least."""
    residues: tuple[tuple[int, int, float], ...] = ()
    """Fractions of a cycle that gpu_check's clocks show again and again, beyond the whole `cycles`.

    Triples (w, p, cycles): accesses of up to w wavefronts in p phases take so much longer (or,
    below 0, shorter).
    """
    verb: str = "read"
    """What the lanes do to their words, in a sentence."""
    aliases: tuple[str, ...] = ()
    """Other names for the same instruction."""
    groups: tuple[tuple[int, ...], ...] = ()
    """Lanes of each phase, before fusing. Empty: `phases` equal runs of neighbouring lanes."""
    fused_groups: tuple[tuple[int, ...], ...] = ()
    """Lanes of each phase, once fused. Empty: those of every two phases, in order."""
    partners: tuple[int, ...] = (1, 2)
    """Phases fuse if, for one p of these, all active lanes i and i^p have one address."""
    capability: int = 70
    """The least compute capability that has it, times ten.

    Source: PTX ISA, "Target ISA Notes" of ldmatrix, stmatrix and cp.async.
    """
    shared_bytes: int = SHARED_BYTES
    """Shared memory that a block of the chip can address."""

    def __post_init__(self) -> None:
        """Refuse what the engines cannot count, or not in one byte per figure."""
        for name in ("groups", "fused_groups", "partners"):
            object.__setattr__(self, name, _tuples(getattr(self, name)))
        # What only repeats the default is the default: tables compare equal, engines are fast.
        # (Phases of fewer than 8 lanes are no default: they need their groups.)
        is_default = self.phases in (0, 1, 2, 4) and 8 * self.phases <= self.lanes
        if is_default and self.groups == _plain(_runs(self.phases, self.lanes)):
            object.__setattr__(self, "groups", ())
        for fine, what, range_ in self._checks():
            if not fine:
                raise InstructionError(
                    f"instruction {short(self.name)} has {what} {short(getattr(self, what))}"
                    f" (accepted: {range_})"
                )
        even = self.phases % 2 == 0
        if even and self.fused_groups == _plain(_pairs(self.phase_lanes)):
            object.__setattr__(self, "fused_groups", ())

    def _checks(self) -> Iterator[tuple[bool, str, str]]:
        """Yield whether a field is fine, its name, and what is accepted; stops at the first."""
        yield self.width in (1, 2, 4, 8, 16), "width", "1, 2, 4, 8, 16 bytes"
        yield self.lanes in (8, 16, 32), "lanes", "8, 16, 32"
        if self.groups:
            yield (
                _once_each(self.groups, self.lanes),
                "groups",
                f"groups of lanes, each of lanes 0 to {self.lanes - 1} in one of them",
            )
            yield self.phases == len(self.groups), "phases", f"{len(self.groups)}, one per group"
        yield (
            bool(self.groups) or (self.phases in (0, 1, 2, 4) and 8 * self.phases <= self.lanes),
            "phases",
            "0, 1, 2, 4, of 8 lanes or more",
        )
        # Of less than a word, lanes of one address and of one word are not the same.
        can_fuse = self.lanes == 32 and self.phases >= 2 and self.width >= 4
        can_fuse &= bool(self.fused_groups) or self.phases % 2 == 0
        yield (
            not self.fuses or can_fuse,
            "fuses",
            "False, or 2 or 4 phases of 32 lanes of 4 bytes or more",
        )
        yield (
            not self.fused_groups or (self.fuses and _unites(self.fused_groups, self.phase_lanes)),
            "fused_groups",
            "where phases fuse, fewer groups than phases, each of whole phases, none twice",
        )
        yield (
            bool(self.partners)
            and len(set(self.partners)) == len(self.partners)
            and all(is_integer(p) and 1 <= p <= 31 for p in self.partners),
            "partners",
            "1 to 31, each once, at least one",
        )
        fused = (len(self.fused_groups) or self.phases // 2) if self.fuses else self.phases
        fewest = self.passes * (fused if self.is_matrix else min(fused, 1))  # wavefronts
        yield from (
            (0 < self.passes <= 7, "passes", "1 to 7"),
            (
                self.fixed_ideal is None or 0 <= self.fixed_ideal <= fewest,
                "fixed_ideal",
                f"None, or 0 to {fewest}, the fewest wavefronts",
            ),
            (
                0 <= self.phase_cycles <= _COUNTS // max(4, self.phases),
                "phase_cycles",
                f"0 to {_COUNTS // max(4, self.phases)}",
            ),
            (
                len(self.least_cycles) == 2
                and all(0 <= few <= _COUNTS for few in self.least_cycles),
                "least_cycles",
                "two, 0 to 255",
            ),
            (
                is_integer(self.shared_bytes) and 0 < self.shared_bytes <= _ADDRESSABLE,
                "shared_bytes",
                f"1 to {_ADDRESSABLE}",
            ),
        )

    @cached_property
    def phase_lanes(self) -> Groups:
        """The lanes of each phase, before fusing.

        >>> instruction("LDS.64").phase_lanes
        (range(0, 16), range(16, 32))
        """
        return self.groups or _runs(self.phases, self.lanes)

    @cached_property
    def fused_lanes(self) -> Groups:
        """The lanes of each phase, once fused; empty for an instruction that never fuses.

        >>> instruction("LDS.64").fused_lanes, instruction("STS.64").fused_lanes
        ((range(0, 32),), ())
        """
        if not self.fuses:
            return ()
        return self.fused_groups or _pairs(self.phase_lanes)

    @property
    def is_regular(self) -> bool:
        """Whether phases are equal runs of lanes, and every two fuse, by i^1 or i^2.

        Closed forms and proofs over all swizzles hold for these; others are expanded and counted.
        """
        return not (self.groups or self.fused_groups) and self.partners == (1, 2)

    @property
    def is_matrix(self) -> bool:
        """LDSM or STSM: lane addresses are rows of 8×8 matrices, and no lane may be inactive."""
        return self.name.startswith(("LDSM", "STSM"))

    @property
    def element(self) -> int:
        """Bytes of an element of a layout that does not say: those of b16 for matrices, else 4."""
        return 2 if self.is_matrix else 4

    @property
    def is_copy(self) -> bool:
        """LDGSTS: each lane also has a source in global memory."""
        return self.name.startswith("LDGSTS")


def _runs(count: int, lanes: int) -> tuple[range, ...]:
    size = lanes // count if count else 0
    return tuple(range(size * phase, size * (phase + 1)) for phase in range(count))


def _pairs(phases: Groups) -> Groups:
    """Unite every two phases; what is one run of lanes stays a range."""
    united: list[Sequence[int]] = []
    for one, other in zip(phases[::2], phases[1::2], strict=True):
        lanes = sorted((*one, *other))
        run = range(lanes[0], lanes[-1] + 1)
        united.append(run if len(run) == len(lanes) else tuple(lanes))
    return tuple(united)


def _plain(groups: Groups) -> tuple[tuple[int, ...], ...]:
    return tuple(map(tuple, groups))


def _tuples(value: object) -> object:
    """Turn lists into tuples, so that an instruction can be hashed."""
    return tuple(map(_tuples, value)) if isinstance(value, list | tuple | range) else value


def _once_each(groups: Groups, lanes: int) -> bool:
    if not all(isinstance(group, tuple) and group for group in groups):
        return False
    listed = [lane for group in groups for lane in group]
    return all(map(is_integer, listed)) and sorted(listed) == list(range(lanes))


def _unites(fused: Groups, phases: Groups) -> bool:
    if len(fused) >= len(phases) or not _once_each(fused, sum(map(len, phases))):
        return False
    return all(any(set(phase) <= set(group) for group in fused) for phase in phases)


def _loads() -> list[Instruction]:
    load = Instruction("LDS", 4, aliases=("LDS.32", "LDS.U.32"))
    return [
        replace(load, name="LDS.U8", width=1, aliases=("LDS.8",)),
        replace(load, name="LDS.S8", width=1, aliases=()),
        replace(load, name="LDS.U16", width=2, aliases=("LDS.16",)),
        replace(load, name="LDS.S16", width=2, aliases=()),
        load,
        replace(
            load,
            name="LDS.64",
            width=8,
            phases=2,
            fuses=True,
            residues=((1, 1, 0.08),),
            aliases=("LDS.U.64",),
        ),
        replace(
            load,
            name="LDS.128",
            width=16,
            phases=4,
            fuses=True,
            residues=((2, 2, 0.08),),
            aliases=("LDS.U.128",),
        ),
    ]


def _stores() -> list[Instruction]:
    store = Instruction("STS", 4, verb="write", aliases=("STS.32",))
    return [
        replace(store, name="STS.U8", width=1, aliases=("STS.8",)),
        replace(store, name="STS.U16", width=2, aliases=("STS.16",)),
        store,
        replace(store, name="STS.64", width=8, phases=2, aliases=()),
        replace(store, name="STS.128", width=16, phases=4, aliases=()),
    ]


def _matrices() -> list[Instruction]:
    return [
        Instruction(
            f"{mnemonic}.16.M{trans}88{'' if count == 1 else f'.{count}'}",
            width=16,
            phases=count,
            lanes=8 * count,
            fixed_ideal=count,
            capability=capability,
            verb=verb,
            aliases=(f"{alias}.x{count}{'.trans' if trans else ''}",),
        )
        for mnemonic, alias, verb, capability in (
            ("LDSM", "ldmatrix", "read", 75),
            ("STSM", "stmatrix", "write", 90),
        )
        for trans in ("", "T")
        for count in (1, 2, 4)
    ]


def _atomics() -> list[Instruction]:
    atomic = Instruction("ATOMS.ADD", 4, merges=False, fixed_ideal=1, verb="update")
    # An increment by a constant 1 whose result is unused.
    increment = replace(atomic, name="ATOMS.POPC.INC.32", merges=True, aliases=("ATOMS.POPC.INC",))
    swap = replace(atomic, name="ATOMS.CAS", passes=2, phase_cycles=2)
    wide = replace(atomic, width=8, phases=2)
    others = ("MIN", "AND", "OR", "XOR", "INC", "DEC")
    return [
        atomic,
        replace(atomic, name="ATOMS.MAX"),
        replace(atomic, name="ATOMS.EXCH"),
        swap,
        increment,
        replace(wide, name="ATOMS.EXCH.64"),
        replace(wide, name="ATOMS.CAS.64", passes=2, phase_cycles=2),
        *(replace(atomic, name=f"ATOMS.{kin}") for kin in others),
    ]


def _async_copies() -> list[Instruction]:
    copy = Instruction(
        "LDGSTS.E",
        4,
        merges=False,
        phase_cycles=0,
        least_cycles=(2, 3),
        capability=80,
        verb="write",
        aliases=("cp.async.ca.4",),
    )
    return [
        copy,
        replace(copy, name="LDGSTS.E.64", width=8, phases=2, aliases=("cp.async.ca.8",)),
        replace(copy, name="LDGSTS.E.128", width=16, phases=4, aliases=("cp.async.ca.16",)),
        replace(
            copy,
            name="LDGSTS.E.BYPASS.128",
            width=16,
            phases=0,
            least_cycles=(0, 0),
            aliases=("cp.async.cg.16",),
        ),
    ]


INSTRUCTIONS: dict[str, Instruction] = {
    each.name: each for each in [*_loads(), *_stores(), *_matrices(), *_atomics(), *_async_copies()]
}
"""Every instruction, by its SASS name."""

_SPELLINGS = {
    spelling.upper(): (spelling, each)
    for each in INSTRUCTIONS.values()
    for spelling in (each.name, *each.aliases)
}


def instruction(op: str | Instruction) -> Instruction:
    """Return the instruction of a SASS name, an alias or a PTX spelling, in any case.

    >>> instruction("ldmatrix.x4.trans").name
    'LDSM.16.MT88.4'
    >>> instruction("LDS.32").width, instruction("ld.shared.v4.f32").width
    (4, 16)

    Raises InstructionError, with the nearest accepted names, for any other.
    """
    if isinstance(op, Instruction):
        return op
    spelled = str(op).strip().upper()
    if spelled not in _SPELLINGS:
        spelled = respelled(str(op)).strip().upper()
    if spelled not in _SPELLINGS and (does := uncounted(str(op))):
        raise InstructionError(
            f"{short(op)} {does} (accepted: what `bankwise ops` lists;"
            " `bankwise sass` executes whole kernels)"
        )
    if spelled not in _SPELLINGS:
        # The nearest spellings; the whole list would be no help.
        near = difflib.get_close_matches(spelled[:40], _SPELLINGS, n=4, cutoff=0)
        raise InstructionError(
            f"unknown instruction {short(op)} (accepted, nearest first:"
            f" {', '.join(_SPELLINGS[name][0] for name in near)}, ...; `bankwise ops` lists all)"
        )
    return _SPELLINGS[spelled][1]
