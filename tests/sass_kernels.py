"""Small CUDA kernels, compiled once a run, and whether compiling is possible here."""

from __future__ import annotations

from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path

import pytest

from simulator.errors import ToolError
from simulator.sass.code.nvdisasm import SassInstruction, tool

# With host code, as files have it.
TURN = """#include <cstdio>
#include <vector>
__global__ void turn(const float *a, float *b, int n) {
    extern __shared__ float tile[];
    tile[threadIdx.x * 32 + threadIdx.y] = a[threadIdx.y * n + threadIdx.x];
    __syncthreads();
    b[threadIdx.y * n + threadIdx.x] = tile[threadIdx.y * 32 + threadIdx.x];
}
void launch(float *a, float *b) { turn<<<1, dim3(32, 32), 4096>>>(a, b, 32); }
int main() { std::vector<float> v(3); printf("%f", v[0]); }
"""

HERE = Path(__file__).parent / "silicon" / "sass"


def has_tools() -> bool:
    try:
        tool("nvdisasm")
    except ToolError:
        return False
    return find_spec("elftools") is not None


def has_compiler() -> bool:
    return has_tools() and find_spec("cuda") is not None and find_spec("cuda.bindings") is not None


needs_tools = pytest.mark.skipif(not has_tools(), reason="bankwise[sass] is not installed")
needs_compiler = pytest.mark.skipif(not has_compiler(), reason="bankwise[sass] is not installed")


@lru_cache
def cubin(name: str) -> bytes:
    return (HERE / "cubins" / f"{name}.cubin").read_bytes()


def program(*lines: str) -> tuple[SassInstruction, ...]:
    """Instructions as nvdisasm prints them, at addresses from 0; EXIT is added."""
    found = []
    for number, text in enumerate([*lines, "EXIT"]):
        guard, text = text.split(" ", 1) if text.startswith("@") else ("", text)
        opcode, _, operands = text.partition(" ")
        found.append(SassInstruction(16 * number, guard, opcode, operands.replace(" ", "")))
    return tuple(found)
