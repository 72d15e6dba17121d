"""Cooperative launches: all blocks run at once, and may wait for each other."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from simulator import replay_compiled
from simulator.errors import ExecutionError, LaunchError
from simulator.sass.code.launches import find_launches
from simulator.sass.found import launch_of
from simulator.sass.report import CompiledReport
from tests.sass_kernels import needs_tools

FOLDER = Path(__file__).parent
CUBIN = (FOLDER / "grid.cubin").read_bytes()
SIZE = 4 * 64


def run(cubin: bytes = CUBIN, **more: Any) -> CompiledReport:
    args = [np.arange(SIZE, dtype=np.int32), np.int32(SIZE)]
    return replay_compiled(cubin, **{"grid": 4, "block": 64, "args": args, **more})


@needs_tools
def test_the_blocks_of_a_grid_wait_for_each_other() -> None:
    report = run(cooperative=True)
    assert set(report.outputs[0].tolist()) == {SIZE * (SIZE - 1) // 2}
    assert report.blocks == 4
    assert "all blocks ran at once" in report.notes[0]
    with pytest.raises(LaunchError, match="no timelines and no time"):
        report.timelines()


@needs_tools
def test_the_blocks_of_a_grid_wait_for_each_other_on_sm_120() -> None:  # ISETP.U64
    report = run((FOLDER / "grid_sm_120.cubin").read_bytes(), cooperative=True)
    assert report.arch == "sm_120"
    assert set(report.outputs[0].tolist()) == {SIZE * (SIZE - 1) // 2}


@needs_tools
def test_the_blocks_of_a_grid_wait_for_each_other_on_sm_100() -> None:
    # RPCMOV. All threads add 1 to a[0]; behind the barrier each block copies the sum.
    cubin = (FOLDER / "arrivals_sm_100.cubin").read_bytes()
    args = [np.zeros(8, np.int32)]
    report = replay_compiled(cubin, grid=4, block=32, args=args, cooperative=True)
    assert report.arch == "sm_100"
    assert report.outputs[0].tolist() == [128] * 5 + [0] * 3


@needs_tools
def test_a_barrier_of_the_grid_without_a_cooperative_launch_says_the_way_out() -> None:
    with pytest.raises(ExecutionError, match="--cooperative, in Python cooperative=True"):
        run()


@needs_tools
def test_what_cannot_run_at_once_is_refused() -> None:
    with pytest.raises(LaunchError, match=r"1000 blocks, which all run at once .*up to 512"):
        run(cooperative=True, grid=1000)
    with pytest.raises(LaunchError, match="in clusters"):
        run(cooperative=True, cluster=2)


def test_a_cooperative_launch_is_found_in_host_code() -> None:
    text = (
        "__global__ void steps(int *a, int n) {}\n"
        "int main() { int *a; int n = 256; cudaMalloc(&a, n * sizeof(int));\n"
        "  void *args[] = {&a, &n};\n"
        "  cudaLaunchCooperativeKernel((void *)steps, dim3(4), dim3(64), args, 0, 0); }\n"
    )
    (found,) = find_launches(text).launches
    assert found.cooperative
    assert " --cooperative --arg " in found.command("k.cu")
    assert launch_of(found)["cooperative"] is True
