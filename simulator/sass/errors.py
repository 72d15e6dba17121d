"""What can go wrong between a file and its counts, each a type of its own."""

from __future__ import annotations

from layouts.errors import BankwiseError

__all__ = [
    "CompileError",
    "CubinError",
    "DeadlockError",
    "ExecutionError",
    "LaunchError",
    "LimitError",
    "MemoryAccessError",
    "SassError",
    "ToolError",
    "UnsupportedError",
]


class SassError(BankwiseError):
    """Anything that keeps compiled code from being replayed."""


class ToolError(SassError):
    """A tool or library of the extra `sass` that is missing or does not answer."""


class CompileError(SassError):
    """CUDA source that does not compile; the message has the compiler's lines and carets."""


class CubinError(SassError):
    """A file that is no device code, is broken, or does not hold the kernel asked for."""


class LaunchError(SassError):
    """A grid, block, argument or shared-memory size that the kernel cannot be launched with."""


class ExecutionError(SassError):
    """The kernel ran and could not go on.

    `partial` is the report of what was counted until then, of the blocks that had begun.
    """

    partial: object = None


class UnsupportedError(ExecutionError):
    """An instruction that is not modelled was reached: nothing is guessed."""


class MemoryAccessError(ExecutionError):
    """An access out of bounds or misaligned."""


class DeadlockError(ExecutionError):
    """No warp can go on: a barrier that some threads never reach."""


class LimitError(ExecutionError):
    """More instructions than allowed: a long loop, or an endless one."""
