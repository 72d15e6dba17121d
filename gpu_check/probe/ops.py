"""Which struct of cuda/probe.cu runs an instruction, and which counters count it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from gpu_check.device import Gpu
from gpu_check.errors import DeviceError
from layouts.errors import accepted
from simulator.law.instructions import INSTRUCTIONS, instruction

__all__ = ["LOOPS", "PROBE_OPS", "ProbeOp", "probe_op", "require_capability"]

_WAVEFRONTS = "l1tex__data_pipe_lsu_wavefronts_mem_shared"
_CONFLICTS = "l1tex__data_bank_conflicts_pipe_lsu_mem_shared"


Kind = Literal["ld", "st", "atom", ""]


@dataclass(frozen=True)
class ProbeOp:
    """How the probe runs one instruction."""

    name: str
    """The instruction's SASS name, or one of LOOPS."""
    struct: str
    """Its struct in cuda/probe.cu."""
    width: int
    """Bytes an active lane moves."""
    capability: int
    """The least compute capability that has it, times ten."""
    kind: Kind
    """Suffix of its hardware counters: ld, st or atom; empty for the sums over all kinds."""

    @property
    def metrics(self) -> tuple[str, str]:
        """The counters of its wavefronts and of its bank conflicts, one pass together."""
        suffix = f"_op_{self.kind}" if self.kind else ""
        return f"{_WAVEFRONTS}{suffix}.sum", f"{_CONFLICTS}{suffix}.sum"

    @property
    def is_copy(self) -> bool:
        """LDGSTS: it reads global memory too, at addresses of its own."""
        return self.struct.startswith("LDGSTS")

    @property
    def executions(self) -> int:
        """How often a counted launch executes its access: a multiple of the probe's turns.

        >>> probe_op("LDS").executions, probe_op("cp.async.ca.16").executions
        (16, 64)
        """
        return 64 if self.is_copy else 16

    @property
    def bypasses(self) -> bool:
        """Whether it leaves the shared-memory pipe alone; its time is the L2 cache's."""
        return "BYPASS" in self.struct

    @property
    def is_matrix(self) -> bool:
        """LDSM or STSM."""
        return self.struct.startswith(("LDSM", "STSM"))


def _struct(name: str) -> str:
    """Return the struct of an instruction: dots become underscores, and matrix forms are short.

    >>> _struct("LDSM.16.MT88.4"), _struct("LDGSTS.E.BYPASS.128"), _struct("LDS.64")
    ('LDSM_T4', 'LDGSTS_BYPASS_128', 'LDS_64')
    """
    if ".16.M" in name:
        mnemonic, _, shape, *count = name.split(".")
        return f"{mnemonic}_{'T' if 'T' in shape else ''}{count[0] if count else 1}"
    return name.replace("LDGSTS.E", "LDGSTS").replace("POPC.INC.32", "POPC.INC").replace(".", "_")


_KINDS: dict[str, Kind] = {
    "LDS": "ld", "LDSM": "ld", "STS": "st", "STSM": "st", "ATOMS": "atom", "LDGSTS": "",
}  # fmt: skip

LOOPS = {"add.u64": 8, "add.f32": 4, "add.f16x2": 4}
"""Atomics without an instruction of their own, and their width: ptxas makes a loop of a load,
the operation and ATOMS.CAST.SPIN. Counters then count all of a loop's turns."""

PROBE_OPS: dict[str, ProbeOp] = {
    **{
        name: ProbeOp(
            name, _struct(name), known.width, known.capability, _KINDS[name.split(".")[0]]
        )
        for name, known in INSTRUCTIONS.items()
        if "CAST.SPIN" not in name  # found in the loops only
    },
    **{
        name: ProbeOp(name, f"LOOP_{name.upper().replace('.', '_')}", width, 70, "atom")
        for name, width in LOOPS.items()
    },
}
"""Everything that the probe can run, by name."""


def probe_op(op: str) -> ProbeOp:
    """Return what the probe runs, by any name of its instruction.

    >>> probe_op("ldmatrix.x4.trans").struct
    'LDSM_T4'

    Raises InstructionError for an unknown instruction, DeviceError for one without a probe.
    """
    if op in LOOPS:
        return PROBE_OPS[op]
    name = instruction(op).name
    if name not in PROBE_OPS:
        raise DeviceError(f"{name} cannot be run by itself: {accepted(name, PROBE_OPS)}")
    return PROBE_OPS[name]


def require_capability(chip: Gpu, op: ProbeOp) -> None:
    """Raise DeviceError for a chip that is too old for the instruction."""
    if chip.capability < op.capability:
        raise DeviceError(
            f"{op.name} needs sm_{op.capability}, and device {chip.index} ({chip.name}) is"
            f" sm_{chip.capability} (next: choose another --op or --device)"
        )
