"""Other tools' counts of recorded accesses, in the tools' own terms and through their own calls.

tensor-layouts (https://pypi.org/project/tensor-layouts/): `bank_conflicts` of a CuTe layout,
thread and value modes, walked in Python.

Triton's Gluon (https://pypi.org/project/triton/): `bank_conflicts` of a register and a shared
layout, a closed form in C++. It is a builtin of kernels; a kernel that is only parsed, for a
named target, needs no GPU, and calls it here.
"""

from __future__ import annotations

import os
import time
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from simulator import bit_columns, instruction, lane_addresses
from tests.silicon.recorded import load

__all__ = ["Access", "Answer", "ask_tensor_layouts", "ask_triton", "common_accesses"]


class Access(NamedTuple):
    """A recorded access of all lanes, its bits' bytes, and what the chip's counters said."""

    op: str
    addresses: NDArray[Any]
    columns: list[int]
    wavefronts: int
    bank_conflicts: int


class Answer(NamedTuple):
    """A tool's wavefronts, whether it sees no conflict, and the processor seconds it took."""

    wavefronts: int
    conflict_free: bool
    seconds: float


def common_accesses() -> list[Access]:
    """Recorded loads and stores that both tools can express: strides that add without carry."""
    recording = load("h200_accesses")
    found = []
    for op, mask, lanes, wavefronts, conflicts in zip(*recording.values(), strict=True):
        wide = op in ("LDS", "LDS.64", "LDS.128", "STS", "STS.64", "STS.128")
        if not wide or mask != 0xFFFFFFFF:
            continue
        byte = lanes.astype(np.int64)
        columns, linear = bit_columns(byte)
        sums = lane_addresses(columns, affine=True) + byte[0]
        if linear and (sums == byte).all():
            found.append(Access(str(op), byte, columns.tolist(), int(wavefronts), int(conflicts)))
    return found


def ask_tensor_layouts(accesses: list[Access]) -> list[Answer]:
    """Take lanes as the thread mode, a lane's words as the value mode, n ways as n wavefronts."""
    from tensor_layouts import Layout
    from tensor_layouts.analysis import bank_conflicts

    answers = []
    for access in accesses:
        words = instruction(access.op).width // 4
        lanes = tuple(column // 4 for column in access.columns)
        start = time.thread_time()
        layout = Layout(((2,) * 5, words), (lanes, 1))
        found = bank_conflicts(layout, element_bytes=4)
        seconds = time.thread_time() - start
        answers.append(Answer(found["max_ways"], found["conflict_free"], seconds))
    return answers


def ask_triton(accesses: list[Access]) -> list[Answer]:
    """Take an answer of n as n excess accesses for the wavefront of each phase."""
    from triton._filecheck import run_parser
    from triton.backends.compiler import GPUTarget
    from triton.experimental import gluon
    from triton.experimental.gluon import language
    from triton.experimental.gluon.language._core import builtin

    answers = []

    def ask(access: Access, semantic: Any) -> Answer:
        known = instruction(access.op)
        kinds, size = _bases(known.width // 4, [byte // 4 for byte in access.columns])
        start = time.thread_time()
        distributed = language.DistributedLinearLayout(
            *([[base] for base in bases] for bases in kinds), [], [size]
        )
        shared = language.SharedLinearLayout([[1 << bit] for bit in range(size.bit_length() - 1)])
        excess = semantic.bank_conflicts(
            language.distributed_type(language.float32, [size], distributed),
            language.shared_memory_descriptor_type(language.float32, [size], shared, [size]),
        )
        seconds = time.thread_time() - start
        return Answer(known.phases * (1 + excess), excess == 0, seconds)

    @builtin
    def ask_all(_semantic: Any = None) -> None:
        ask(accesses[0], _semantic)  # the first is slow
        answers.extend(ask(access, _semantic) for access in accesses)

    os.environ.setdefault("TRITON_DEFAULT_FP_FUSION", "1")  # else it warns
    # Kernels may use globals only.
    globals()["ask_all"] = ask_all
    run_parser(gluon.jit(_kernel), target=GPUTarget("cuda", 90, 32))
    return answers


def _kernel() -> None:
    ask_all()  # type: ignore[name-defined]  # noqa: F821


def _bases(words: int, lanes: list[int]) -> tuple[list[list[int]], int]:
    """Return register, lane and warp bases that reach every word of a tile, and its words."""
    registers = [1 << bit for bit in range(words.bit_length() - 1)]
    used = int(np.bitwise_or.reduce([*registers, *lanes]))
    # At least a row of the banks: Triton 3.9 asserts that for 8 and 16 bytes a lane.
    size = max(32, 1 << used.bit_length())
    # The strides add without carry: no two of them have a bit in common. So their lowest bits
    # and all bits that are the lowest of none are a basis.
    lowest = {base & -base for base in (*registers, *lanes)}
    rest = [1 << bit for bit in range(size.bit_length() - 1) if 1 << bit not in lowest]
    return [registers, lanes, rest], size
