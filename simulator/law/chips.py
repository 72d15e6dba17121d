"""Chips: limits, clocks and the instruction table of each, every number with its source.

Those of CHIPS are built in, a JSON file each in `simulator/law/data`; docs/how-to/own-chip.md says
how one is added. H100 and H200 are measured. The others have published limits, and a law that is
assumed, with the evidence there is.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from functools import cached_property, lru_cache
from types import MappingProxyType
from typing import Any

from layouts.errors import accepted, short
from simulator.errors import ChipError, InstructionError
from simulator.law.capabilities import CAPABILITIES, TRAITS, capability_text, runs_on
from simulator.law.chip_files import LIMITS, PRODUCT, ChipFile, read
from simulator.law.instructions import INSTRUCTIONS, Instruction, instruction
from simulator.law.loops import LOOPS

__all__ = ["CHIPS", "Chip", "ChipLike", "counted_on", "instruction_on", "optional_chip"]

CHIPS = (
    "V100", "T4", "A100", "RTX 3080", "RTX 3090", "L4", "RTX 4090", "H100", "H200", "B200",
    "RTX 5090", "Jetson Orin", "Jetson Thor",
)  # fmt: skip
"""Names of the built-in chips, by compute capability as far as generations go.

The last of a capability stands for it where an architecture is named and no chip.
"""


@dataclass(frozen=True, kw_only=True, repr=False)
class Chip:
    """One chip. Sizes are bytes; a product's number that is not known is None.

    >>> h100 = Chip.of("H100")
    >>> h100.shared_bytes, h100.warps_per_sm, h100.law
    (232448, 64, 'measured')
    >>> h100.instruction("ldmatrix.x4").phases
    4

    Raises ChipError for limits that contradict each other.
    """

    name: str
    capability: int
    """Compute capability times ten: 90 for 9.0."""
    shared_bytes: int
    """Shared memory of a block, opted into: addresses are below it."""
    shared_bytes_per_sm: int
    shared_reserved: int
    """Shared memory that the driver takes from every block."""
    threads_per_block: int
    threads_per_sm: int
    warps_per_sm: int
    blocks_per_sm: int
    registers_per_thread: int
    """Of 32 bits, as the next two."""
    registers_per_block: int
    registers_per_sm: int
    multiprocessors: int | None
    clock_mhz: float | None
    """The SM's boost clock: the highest without overclocking."""
    l2_bytes: int | None
    dram_gb_per_s: float | None
    """What the memory's clock and bus allow: 10^9 bytes per second."""
    table: tuple[Instruction, ...]
    """Every instruction that it has."""
    law: str
    """"measured": accesses of this chip were compared with its table. "assumed": they were not."""
    measured: tuple[str, ...]
    """Instructions of this chip that were measured; the others follow the built-in table."""
    evidence: str
    """What speaks for the law."""
    sources: tuple[tuple[str, str], ...]
    """(name, source) of every number."""

    def __post_init__(self) -> None:
        """Refuse limits that no chip can have together."""
        for fine, what in (
            (
                self.shared_bytes + self.shared_reserved <= self.shared_bytes_per_sm,
                "shared_bytes, shared_reserved, shared_bytes_per_sm",
            ),
            (self.threads_per_sm == 32 * self.warps_per_sm, "threads_per_sm, warps_per_sm"),
            (self.threads_per_block <= self.threads_per_sm, "threads_per_block, threads_per_sm"),
            (
                self.registers_per_block <= self.registers_per_sm,
                "registers_per_block, registers_per_sm",
            ),
        ):
            if not fine:
                values = ", ".join(str(getattr(self, name)) for name in what.split(", "))
                raise ChipError(
                    f"{what} are {values} (accepted: a block, with what is reserved for it, has no"
                    " more than an SM, and an SM 32 threads for each of its warps)"
                )

    @classmethod
    def of(cls, given: ChipLike) -> Chip:
        """Return a chip by its name, in any case; of a file that ends in .json; or itself.

        >>> Chip.of("rtx3080").capability
        86

        Raises ChipError for an unknown name, and what `from_json` raises.
        """
        if isinstance(given, Chip):
            return given
        if isinstance(given, os.PathLike):
            return cls.from_json(given)
        if not isinstance(given, str):
            raise ChipError(f"chip {short(given)}: {accepted('', CHIPS)}, or a .json file")
        found = _SPELLINGS.get(_spelled(given))
        if found is not None:
            return _built_in(found)
        if given.lower().endswith(".json"):
            return cls.from_json(given)
        before = re.fullmatch(r"(?:sm|compute)_?[1-6]\d", given.strip().lower())
        old = ", which is older than Volta (sm_70) and not known here" if before else ""
        raise ChipError(
            f"unknown chip {short(given)}{old}: {accepted(given, CHIPS)}, or a .json file"
        )

    @classmethod
    def from_json(cls, path: str | os.PathLike[str]) -> Chip:
        """Read a chip file, such as `bankwise gpu-check --phases --save FILE.json` writes.

        Raises ChipError for a file that is not there, or whose content is incomplete, contradicts
        itself or describes another kind of law.
        """
        file = read(path)
        try:
            return cls._made(file)
        except ChipError as error:
            raise ChipError(f"chip file {os.fspath(path)}: {error}") from None

    @classmethod
    def _made(cls, file: ChipFile) -> Chip:
        limits = CAPABILITIES.get(file.capability)
        values: dict[str, Any] = dict.fromkeys(PRODUCT)
        sources: dict[str, str] = {}
        if limits is not None:
            values |= asdict(limits)
            sources |= dict.fromkeys(LIMITS, TRAITS)
        values |= {name: value for name, (value, _) in file.facts.items()}
        sources |= {name: source for name, (_, source) in file.facts.items()}
        own = {each.name: each for each in file.instructions}
        too_new = [each.name for each in own.values() if each.capability > file.capability]
        if too_new:
            raise ChipError(
                f"{too_new[0]} needs compute capability"
                f" {capability_text(own[too_new[0]].capability)}, the chip has"
                f" {capability_text(file.capability)} (accepted: instructions that it has)"
            )
        try:
            table = tuple(
                replace(
                    own.get(name, known),
                    shared_bytes=values["shared_bytes"],
                )
                for name, known in INSTRUCTIONS.items()
                if known.capability <= file.capability
            )
        except InstructionError as error:
            raise ChipError(str(error)) from None
        compared = own or INSTRUCTIONS  # a file without tables speaks of the built-in one
        measured = tuple(known.name for known in table if known.name in compared)
        return cls(
            name=file.name, capability=file.capability, table=table, law=file.law,
            measured=measured if file.law == "measured" else (),
            evidence=file.evidence, sources=tuple(sources.items()), **values,
        )  # fmt: skip

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        """Name the chip, with a digest of all that it says: a store of a sweep compares it."""
        import hashlib  # OpenSSL takes longer to load than a question to count

        said = repr([(name, getattr(self, name)) for name in self.__dataclass_fields__])
        digest = hashlib.sha256(said.encode()).hexdigest()[:12]
        return f"<Chip {self.name}, {self.compute_capability}, {self.law}, {digest}>"

    @property
    def law_notes(self) -> tuple[str, ...]:
        """What figures of this chip rest on, if nobody compared its accesses with the law.

        >>> Chip.of("B200").law_notes, Chip.of("H100").law_notes
        (("the H200's law for B200: not measured there",), ())
        """
        return () if self.law != "assumed" else (f"the H200's law for {self}: not measured there",)

    @cached_property
    def instructions(self) -> Mapping[str, Instruction]:
        """Its instructions by their SASS names; read-only."""
        return MappingProxyType({known.name: known for known in self.table})

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the fields alone: the view of the table can be made again."""
        values = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return _restored, (values,)

    def instruction(self, op: str | Instruction) -> Instruction:
        """Look an instruction up by its SASS name or an alias, in any case.

        Raises InstructionError for an unknown name, one that the chip does not have, and an
        Instruction of your own, which brings its own law.
        """
        known = instruction(op)
        mine = self.instructions.get(known.name)
        if mine is None:
            since = instruction(known.name).capability if known.name in INSTRUCTIONS else 0
            raise InstructionError(
                f"{self.name} has no {known.name} (accepted: its compute capability is"
                f" {capability_text(self.capability)}; {known.name} came with"
                f" {capability_text(since)})"
                if since
                else f"{self.name} has no {known.name}: {accepted(known.name, self.instructions)}"
            )
        if isinstance(op, Instruction) and op not in (mine, INSTRUCTIONS.get(op.name)):
            raise InstructionError(
                f"instruction {op.name} of your own together with chip {self.name} (accepted:"
                " its name with a chip, or the Instruction without one)"
            )
        return mine

    def source(self, name: str) -> str:
        """Return where a number comes from.

        >>> Chip.of("RTX 5090").source("l2_bytes")
        'https://github.com/NVIDIA/nccl/issues/1637 (deviceQuery of an RTX 5090)'

        Raises ChipError for a name without a number.
        """
        found = dict(self.sources)
        if name not in found:
            raise ChipError(f"{self.name} has no source of {name!r}: {accepted(name, found)}")
        return found[name]

    @property
    def compute_capability(self) -> str:
        """The compute capability as NVIDIA writes it."""
        return capability_text(self.capability)

    @property
    def arch(self) -> str:
        """The architecture that its code is compiled for.

        >>> Chip.of("A100").arch
        'sm_80'
        """
        return f"sm_{self.capability}"

    def runs(self, capability: int) -> bool:
        """Whether machine code for a compute capability (times ten) runs on it."""
        return runs_on(capability, self.capability)


ChipLike = Chip | str | os.PathLike[str]
"""A chip, its name, or a chip file."""


def instruction_on(chip: ChipLike | None, op: str | Instruction) -> Instruction:
    """Return an instruction as a chip has it; without a chip, that of the H200.

    >>> instruction_on("T4", "LDS.64").shared_bytes
    65536

    Raises what `Chip.of` and `Chip.instruction` raise.
    """
    return instruction(op) if chip is None else Chip.of(chip).instruction(op)


def counted_on(chip: ChipLike | None, op: str | Instruction) -> Instruction:
    """Return what `instruction_on` returns, or a loop of atomics as a chip has it.

    >>> counted_on("T4", "add.f32").shared_bytes
    65536

    Raises what `instruction_on` raises.
    """
    known = None if isinstance(op, Instruction) else LOOPS.get(str(op).strip().lower())
    if known is None or chip is None:
        return known or instruction_on(chip, op)
    chosen = Chip.of(chip)
    if chosen.capability < known.capability:
        raise InstructionError(
            f"{chosen} has no {known.name} (accepted: its compute capability is"
            f" {chosen.compute_capability}; {known.name} came with"
            f" {capability_text(known.capability)})"
        )
    return replace(known, shared_bytes=chosen.shared_bytes)


def optional_chip(given: ChipLike | None) -> Chip | None:
    """Return what `Chip.of` returns; None for None, which stands for the H200's law."""
    return None if given is None else Chip.of(given)


def _restored(values: dict[str, Any]) -> Chip:
    return Chip(**values)


def _spelled(name: str) -> str:
    return "".join(name.split()).replace("-", "").replace("_", "").lower()


_SPELLINGS = {_spelled(name): name for name in CHIPS}


@lru_cache(maxsize=len(CHIPS))
def _built_in(name: str) -> Chip:
    from importlib.resources import as_file, files  # it is slow to import

    file = files("simulator.law").joinpath("data", f"{name.lower().replace(' ', '_')}.json")
    with as_file(file) as path:
        return Chip.from_json(path)
