"""A listing is read as nvdisasm's JSON has it, which the simulator does without."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import numpy as np
import pytest

from simulator import replay_compiled
from simulator.errors import CubinError, DeadlockError
from simulator.sass.code.nvdisasm import _own, disassemble, tool
from tests.sass_kernels import cubin, needs_compiler, needs_tools

pytestmark = [needs_tools, pytest.mark.usefixtures("afresh")]


def plain(operands: str) -> str:
    """Operands without remarks, blanks and commas.

    nvdisasm 13.0 loses or moves a comma in JSON, and the order of operands with brackets.
    """
    text = re.sub(r"\(\*.*?\*\)|[\s,]", "", operands)
    return "".join(sorted(text)) if "[" in text else text


@pytest.mark.parametrize(
    "name",
    [
        "softmax",  # calls and returns
        pytest.param("bitonic", marks=pytest.mark.slow),  # labels; predicates in a register
        pytest.param("divergent", marks=pytest.mark.slow),  # a table of targets
        pytest.param("tensor_gemm", marks=pytest.mark.slow),
    ],
)
def test_it_is_what_the_json_has(name: str, tmp_path: Path) -> None:
    path = tmp_path / "image.cubin"
    path.write_bytes(cubin(name))
    printed = subprocess.run(
        [tool("nvdisasm"), "-json", str(path)], capture_output=True, check=True
    )
    for function in json.loads(printed.stdout)[1]:
        found = disassemble.__wrapped__(cubin(name), function["function-name"])
        entries = function["sass-instructions"]
        assert [each.address for each in found] == list(range(0, 16 * len(entries), 16))
        for each, entry in zip(found, entries, strict=True):
            guard = entry.get("predicate", "")
            assert each.guard == (guard if guard.startswith("@") else "")  # PR, of P2R
            assert each.opcode == entry["opcode"]
            assert plain(each.operands) == plain(entry.get("operands", "")), each


def test_a_kernel_that_is_not_there() -> None:
    with pytest.raises(CubinError, match="does not show a kernel 'nobody'"):
        disassemble(cubin("softmax"), "nobody")


CALLER = """#include <cuda/barrier>
using barrier = cuda::barrier<cuda::thread_scope_block>;
__device__ void meet(barrier &b) {
    b.arrive_and_wait();
}
__global__ void k(int *out) {
    __shared__ barrier b;
    if (threadIdx.x == 0)
        init(&b, blockDim.x + 1);
    __syncthreads();
    meet(b);
    out[threadIdx.x] = 1;
}"""


def line_of(text: str) -> int:
    return 1 + CALLER[: CALLER.index(text)].count("\n")


@needs_compiler
def test_what_a_header_of_the_toolkit_has_is_the_callers_line(tmp_path: Path) -> None:
    path = tmp_path / "caller.cu"
    path.write_text(CALLER)
    place = rf"PHASECHK.*caller\.cu:{line_of('b.arrive')}\)"
    with pytest.raises(DeadlockError, match=place) as found:
        replay_compiled(path, grid=1, block=32, args=[np.zeros(32, np.int32)], arch="sm_90")
    assert "barrier_block_scope" not in str(found.value)


def test_a_toolkit_is_known_however_its_path_is_written() -> None:
    header = "/usr/local/cuda/././././include/cooperative_groups.h"  # so nvcc 13 writes it
    assert _own([(header, 180), ("/home/me/a.cu", 5)]) == ("/home/me/a.cu", 5, header, ())
