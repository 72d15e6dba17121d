"""Every error of the simulator, in one place; all are a BankwiseError, which is a ValueError.

A message repeats what was given, says what is accepted, and what to do next. Errors of layouts
alone are in `layouts.errors`, those of figures in `viz.errors`, those of a GPU in
`gpu_check.errors`.
"""

from __future__ import annotations

from typing import Any

from layouts.errors import BankwiseError, ExpressionError, LayoutError

__all__ = [
    "AddressError",
    "BankwiseError",
    "BarrierError",
    "CheckError",
    "ChipError",
    "CompileError",
    "CubinError",
    "DeadlockError",
    "ExecutionError",
    "ExecutorError",
    "ExpressionError",
    "GridError",
    "InputError",
    "InstructionError",
    "KernelError",
    "LaunchError",
    "LayoutError",
    "LimitError",
    "MaskError",
    "MemoryAccessError",
    "MissingPackageError",
    "OptionError",
    "OutputError",
    "QuantityError",
    "SassError",
    "SearchError",
    "StoreError",
    "TargetError",
    "TensorMapError",
    "ToolError",
    "UnsupportedError",
    "install",
]

# What a caller gives.


class InstructionError(BankwiseError):
    """A name that is not a shared-memory instruction known here."""


class ChipError(BankwiseError):
    """A chip that is not known, or a chip file that cannot be one."""


class AddressError(BankwiseError):
    """Addresses that no shared-memory access can have."""


class MaskError(BankwiseError):
    """Masks that are not 32 bits, do not match the accesses, or that the instruction forbids."""


class OptionError(BankwiseError):
    """A rule, an engine or another choice that does not exist."""


class InputError(BankwiseError):
    """Data that cannot be read as warp accesses."""


class CheckError(BankwiseError):
    """A file of limits, a baseline or an entry that cannot be checked."""


class QuantityError(BankwiseError):
    """A number that an estimate cannot mean anything by."""


class KernelError(BankwiseError):
    """An unknown kernel, sizes or tiles that it cannot run with, or a site that cannot be."""


class SearchError(BankwiseError):
    """Accesses, a tile or a space of layouts that cannot be searched."""


# What a machine or its disk refuses.


class OutputError(BankwiseError):
    """A file that cannot be written; what was there before is still there."""


class MissingPackageError(BankwiseError, ImportError):
    """A package that is not installed; the message names the extra that brings it."""


def install(extra: str) -> str:
    """Return how to install an extra of bankwise, for the message that something is missing.

    >>> install("viz")
    "in a checkout of bankwise: pip install '.[viz]'"
    """
    return f"in a checkout of bankwise: pip install '.[{extra}]'"


# Sweeps.


class GridError(BankwiseError):
    """A grid that is empty, too large, or names parameters that the target does not have."""


class TargetError(BankwiseError):
    """A target that cannot be swept, or that failed; what was counted before is in `partial`."""

    partial: Any = None
    """The Sweep so far, where there is one."""


class ExecutorError(BankwiseError):
    """An executor that died or refused work; what was counted before is in `partial`."""

    partial: Any = None
    """The Sweep so far."""


class StoreError(BankwiseError):
    """A store of something else, a damaged one, or one that cannot be written."""

    partial: Any = None
    """The Sweep so far, where writing failed midway."""


# Compiled kernels.


class SassError(BankwiseError):
    """Anything that keeps compiled code from being replayed."""


class ToolError(SassError):
    """A tool or library of the extra `sass` that is missing or does not answer."""


class CompileError(SassError):
    """CUDA source that does not compile; the message has the compiler's lines and carets."""

    headers: frozenset[str] = frozenset()
    """The project's headers that the compiler complains of, by their full paths."""


class CubinError(SassError):
    """A file that is not device code, is broken, or does not hold the kernel asked for."""


class LaunchError(SassError):
    """A grid, block, argument or shared-memory size that the kernel cannot be launched with."""


class TensorMapError(LaunchError):
    """A tensor map that the driver refuses, or bytes that are not one; `rule` names the reason."""

    def __init__(self, rule: str, problem: str) -> None:
        super().__init__(f"tensor map, {rule}: {problem}")
        self.rule = rule


class ExecutionError(SassError):
    """The kernel ran and could not go on.

    `partial` is the report of what was counted until then, of the blocks that had begun.
    """

    partial: object = None


class UnsupportedError(ExecutionError):
    """An instruction that is not modelled was reached: nothing is guessed."""


class MemoryAccessError(ExecutionError):
    """An access out of bounds or misaligned."""


class BarrierError(ExecutionError):
    """An operation on an mbarrier that PTX leaves undefined: never initialised, or too many."""


class DeadlockError(ExecutionError):
    """No warp can continue: what it waits for, a barrier or registers, never comes."""


class LimitError(ExecutionError):
    """More instructions than allowed: a long loop, or an endless one."""
