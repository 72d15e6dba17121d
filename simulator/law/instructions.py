"""The shared-memory instructions: what each was measured (or published) to do, as data.

Sources
    [H200]  hardware counters and clocks of an NVIDIA H200 (sm_90), recorded in gpu_check/data
            and, earlier, in tests/silicon/data; docs/validation.md says how, and compares
            every row.
    [GTC]   NVIDIA's published phases ("8B words are accessed in 2 phases ... 16B words are
            accessed in 4 phases"), a slide reproduced in the tutorial that README.md names.
"""

from __future__ import annotations

import difflib
from dataclasses import dataclass, replace
from typing import Literal, get_args

from layouts.errors import short
from simulator.errors import InstructionError
from simulator.law.spellings import respelled

__all__ = ["INSTRUCTIONS", "RULES", "Instruction", "Rule", "instruction"]

Rule = Literal["silicon", "documented"]

RULES: tuple[Rule, ...] = get_args(Rule)
"""`silicon`: the measured law [H200]. `documented`: the published phases, never fused [GTC]."""


@dataclass(frozen=True)
class Instruction:
    """How one instruction uses the 32 banks.

    `phases` equal groups of the first `lanes` lanes are served one after the other.
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
    """Whether two phases become one when the pair condition holds."""
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
    """What gpu_check's clocks show beyond `cycles`, which are whole, time and again.

    Triples (w, p, cycles): accesses of up to w wavefronts in p phases take so much longer (or,
    below 0, shorter).
    """
    verb: str = "read"
    """What the lanes do to their words, in a sentence."""
    aliases: tuple[str, ...] = ()
    """Other names for the same instruction."""

    def __post_init__(self) -> None:
        """Refuse what the engines cannot count, or not in a byte a figure."""
        fused = self.phases // 2 if self.fuses else self.phases
        fewest = self.passes * (fused if self.is_matrix else min(fused, 1))  # wavefronts
        for fine, what, range_ in (
            (self.width in (1, 2, 4, 8, 16), "width", "1, 2, 4, 8, 16 bytes"),
            (self.lanes in (8, 16, 32), "lanes", "8, 16, 32"),
            (
                self.phases in (0, 1, 2, 4) and 8 * self.phases <= self.lanes,
                "phases",
                "0, 1, 2, 4, of 8 lanes or more",
            ),
            (
                # Of less than a word, lanes of one address and of one word are not the same.
                not self.fuses or (self.lanes == 32 and self.phases in (2, 4) and self.width >= 4),
                "fuses",
                "False, or 2 or 4 phases of 32 lanes of 4 bytes or more",
            ),
            (0 < self.passes <= 7, "passes", "1 to 7"),
            (
                self.fixed_ideal is None or 0 <= self.fixed_ideal <= fewest,
                "fixed_ideal",
                f"None, or 0 to {fewest}, the fewest wavefronts",
            ),
            (0 <= self.phase_cycles <= 63, "phase_cycles", "0 to 63"),
            (
                len(self.least_cycles) == 2 and all(0 <= few <= 255 for few in self.least_cycles),
                "least_cycles",
                "two, 0 to 255",
            ),
        ):
            if not fine:
                raise InstructionError(
                    f"instruction {short(self.name)} has {what} {short(getattr(self, what))}"
                    f" (accepted: {range_})"
                )

    @property
    def is_matrix(self) -> bool:
        """LDSM or STSM: lane addresses are rows of 8×8 matrices, and no lane may be inactive."""
        return self.name.startswith(("LDSM", "STSM"))


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
            verb=verb,
            aliases=(f"{alias}.x{count}{'.trans' if trans else ''}",),
        )
        for mnemonic, alias, verb in (("LDSM", "ldmatrix", "read"), ("STSM", "stmatrix", "write"))
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
"""Every each instruction, by its SASS name."""

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
    if spelled not in _SPELLINGS:
        # The nearest spellings; the whole list would be no help.
        near = difflib.get_close_matches(spelled[:40], _SPELLINGS, n=4, cutoff=0)
        raise InstructionError(
            f"unknown instruction {short(op)} (accepted, nearest first:"
            f" {', '.join(_SPELLINGS[name][0] for name in near)}, ...; `bankwise ops` lists all)"
        )
    return _SPELLINGS[spelled][1]
