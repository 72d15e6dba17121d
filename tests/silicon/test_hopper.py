"""Kernels of Hopper's own units: their results by NumPy.

The cubins and their launches: tests/silicon/sass/README.md.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from simulator import TensorMap, replay_compiled
from simulator.sass.arguments import argument
from tests.sass_kernels import HERE, needs_tools

pytestmark = needs_tools

CASES = {case["name"]: case for case in json.loads((HERE / "hopper.json").read_text())}

Arrays = list[Any]


def replayed(case: dict[str, Any]) -> tuple[Arrays, Any]:
    """The arrays among the arguments as they were, and the report."""
    args = [argument(text, place) for place, text in enumerate(case["args"])]
    report = replay_compiled(
        HERE / "cubins" / case["cubin"], kernel=case["kernel"], grid=tuple(case["grid"]),
        block=tuple(case["block"]), args=args, shared_bytes=case["shared"], blocks="all",
    )  # fmt: skip
    return [each.array if isinstance(each, TensorMap) else each for each in args], report


def tiles(args: Arrays) -> dict[int, Any]:
    width = args[1].shape[2]
    found = args[0].reshape(2, 64, 3, width).swapaxes(1, 2)
    return {1: found.swapaxes(2, 3), 2: found}


def k_major(args: Arrays) -> dict[int, Any]:
    return {2: args[0].astype(np.float64) @ args[1].astype(np.float64).T}


def doubled(args: Arrays) -> dict[int, Any]:
    return {2: 2 * args[0].astype(np.float64) @ args[1].astype(np.float64).T}


def transposed(args: Arrays) -> dict[int, Any]:
    return {2: args[0].astype(np.float64) @ args[1].astype(np.float64)}


def truncated(args: Arrays) -> dict[int, Any]:
    """tf32 keeps 10 bits of a float32's fraction."""
    a, b = ((each.view(np.uint32) & 0xFFFFE000).view(np.float32) for each in args[:2])
    return k_major([a, b])


def halved(args: Arrays) -> dict[int, Any]:
    return {0: args[1].astype(np.float16)}


def passed_on(args: Arrays) -> dict[int, Any]:
    blocks = args[0].reshape(2, 4, 128)
    inboxes = np.roll(blocks, 1, axis=1).reshape(-1, 2)[:, ::-1].reshape(-1)
    counters = np.zeros((2, 4), np.int32)
    counters[:, 0] = blocks.sum(axis=(1, 2))
    return {1: inboxes, 2: counters.reshape(-1)}


def columns(args: Arrays) -> dict[int, Any]:
    total = args[0].sum(axis=(0, 1), dtype=np.uint32)
    return {1: np.concatenate([total[::2], total[1::2]]), 2: 2 * args[0][:, -1]}


def piled(args: Arrays) -> dict[int, Any]:
    return {1: 2 * args[0].reshape(4, 32, 32).sum(axis=0, dtype=np.float64)}


def turned(args: Arrays) -> dict[int, Any]:
    found = np.zeros((3, 32), np.int64)
    for step in args[0].astype(np.int64):
        for warp in range(3):
            found[warp] += np.arange(1, 33) @ np.roll(step.T, -(warp + 1), axis=1)
    return {1: found.reshape(-1)}


WANTED: dict[str, Callable[[Arrays], dict[int, Any]]] = {
    **{f"tile, swizzle {span}": tiles for span in ("none", 32, 64, 128)},
    "gemm, both in shared memory": k_major, "gemm, B transposed": transposed,
    "gemm, A in registers": doubled, "product of e4m3": k_major, "product of s8": k_major,
    "product of tf32": truncated, "gemm of a cluster, multicast": k_major,
    "epilogue, plain rows": halved, "epilogue, swizzled rows": halved,
    "split-K over distributed shared memory": transposed, "a ring of blocks": passed_on,
    "bulk copies": columns, "tiles added up": piled, "a ring of mbarriers": turned,
}  # fmt: skip


def test_every_case_has_a_result_to_meet() -> None:
    assert set(WANTED) == set(CASES)


@pytest.mark.parametrize("name", WANTED)
def test_results_are_those_of_numpy(name: str) -> None:
    args, report = replayed(CASES[name])
    wanted = WANTED[name](args)
    assert wanted
    for place, exact in wanted.items():
        found = report.outputs[place]
        if found.dtype.kind == "f":
            # Float sums differ by their order; inputs are below 1.
            assert np.abs(found - exact).max() <= 4e-6 * max(1.0, np.abs(exact).max())
        else:
            assert (found == exact).all()


@pytest.mark.parametrize("name", [name for name in CASES if "gemm" in name or "product" in name])
def test_operand_reads_are_bytes_in_shared_memory(name: str) -> None:
    """A wavefront for each 128 bytes of operands, of each product of a warpgroup."""
    _, report = replayed(CASES[name])
    rows = report.instructions
    total = 0
    for opcode, unit, executed, wavefronts in zip(
        rows["opcode"], rows["unit"], rows["executed"], rows["wavefronts"], strict=True
    ):
        if unit == "gmma":
            n = int(opcode.split("x")[1])
            in_registers = name == "gemm, A in registers"
            bytes_ = 32 * n + (0 if in_registers else 32 * 64)
            assert wavefronts == executed // 4 * bytes_ // 128
            total += wavefronts
    assert report.totals()["gmma"]["wavefronts"] == total > 0
    metrics = report.metrics()
    assert metrics["sm__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_gmma.sum"] == total
    lsu = sum(
        wavefronts
        for opcode, wavefronts in zip(rows["opcode"], rows["wavefronts"], strict=True)
        if opcode.startswith(("LDS", "STS"))
    )
    assert metrics["memory_l1_wavefronts_shared"] == total + lsu
    assert report.totals()["all"]["wavefronts"] == lsu


def test_an_epilogue_of_plain_rows_meets_in_banks() -> None:
    _, plain = replayed(CASES["epilogue, plain rows"])
    _, swizzled = replayed(CASES["epilogue, swizzled rows"])
    before, after = (each.totals()["store"] for each in (plain, swizzled))
    assert before["wavefronts"] == 8 * before["ideal"]
    assert after["wavefronts"] == after["ideal"] == before["ideal"]
