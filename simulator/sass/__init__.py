"""Compiled kernels: machine code decoded, executed for blocks of threads, and counted by the law.

docs/sass.md tells how. The steps, a module each: `images` and `compiling` get a cubin, `cubin`
and `disassembly` read it, `lowering` (with `lower_arithmetic`, `lower_control`, `lower_memory`)
turns instructions into rows of numbers, `machine` executes those, `execution` launches, `report`
says what was counted.
"""

from simulator.sass.errors import (
    CompileError,
    CubinError,
    DeadlockError,
    ExecutionError,
    LaunchError,
    LimitError,
    MemoryAccessError,
    SassError,
    ToolError,
    UnsupportedError,
)

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
