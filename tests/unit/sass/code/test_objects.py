"""Kernels that are Python objects: of Numba, CuPy and cuda.core."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from simulator import replay_compiled
from simulator.errors import CompileError, LaunchError
from simulator.sass.code.objects import code_of
from tests.sass_kernels import needs_compiler

SOURCE = """
extern "C" __global__ void turn(const float *a, float *b) {
    __shared__ float s[32];
    s[threadIdx.x] = a[threadIdx.x] * FACTOR;
    __syncthreads();
    b[threadIdx.x] = s[31 - threadIdx.x];
}"""
A = np.arange(32, dtype=np.float32)


def made(module: str, kind: str, /, **values: Any) -> Any:
    """An object of a package that need not be installed."""
    return type(kind, (), {"__module__": module, **values})()


@needs_compiler
def test_a_raw_kernel_of_cupy_brings_its_source_options_and_name() -> None:
    kernel = made("cupy._core.raw", "RawKernel", code=SOURCE, name="turn", options=("-DFACTOR=2",))
    report = replay_compiled(kernel, grid=1, block=32, args=[A, np.zeros_like(A)])
    assert (report.outputs[1] == 2 * A[::-1]).all()
    module = made("cupy._core.raw", "RawModule", code=SOURCE, options=("-DFACTOR=3",))
    report = replay_compiled(module, kernel="turn", grid=1, block=32, args=[A, np.zeros_like(A)])
    assert (report.outputs[1] == 3 * A[::-1]).all()


@needs_compiler
def test_a_program_of_cuda_core_compiles_itself() -> None:
    from simulator.sass.code.compiling import compile_source

    cubin = compile_source(SOURCE.replace("FACTOR", "4"), "sm_80", "turn.cu").cubin
    code = made("cuda.core._module", "ObjectCode", code=cubin, code_type="cubin")
    program = made("cuda.core._program", "Program", compile=lambda _self, _kind: code)
    for each in (code, program):
        report = replay_compiled(each, grid=1, block=32, args=[A, np.zeros_like(A)])
        assert (report.outputs[1] == 4 * A[::-1]).all()
        assert report.arch == "sm_80"

    def fails(_self: Any, _kind: str) -> None:
        raise RuntimeError("no such option")

    with pytest.raises(CompileError, match="no such option"):
        code_of(made("cuda.core._program", "Program", compile=fails), [], "sm_90")
    ltoir = made("cuda.core._module", "ObjectCode", code=b"", code_type="ltoir")
    with pytest.raises(LaunchError, match="holds ltoir code"):
        code_of(ltoir, [], "sm_90")


def test_anything_else_is_refused_with_what_is_accepted() -> None:
    for value in (7, object(), [SOURCE]):
        with pytest.raises(LaunchError, match=r"is not code \(accepted: a file, CUDA source"):
            replay_compiled(value, grid=1, block=32, args=[])


def numba_kernel() -> Any:
    cuda = pytest.importorskip("numba.cuda")
    try:
        from numba.cuda.cudadrv.nvvm import NVVM

        from simulator.sass.code.nvrtc import preload

        preload("nvvm")
        NVVM()
    except Exception as error:  # its compiler's library is not everywhere
        pytest.skip(f"Numba cannot compile for CUDA here: {error}")

    @cuda.jit
    def turn(a: Any, b: Any, factor: Any, n: Any) -> None:
        tile = cuda.shared.array((32, 32), "float32")
        x, y = cuda.threadIdx.x, cuda.threadIdx.y
        if x < n:
            tile[y, x] = a[y, x]
        cuda.syncthreads()
        b[y, x] = tile[x, y] * factor

    return turn


@pytest.mark.filterwarnings("ignore")
@needs_compiler
def test_a_kernel_of_numba_is_compiled_for_its_arguments() -> None:
    kernel = numba_kernel()
    a = np.arange(1024, dtype=np.float32).reshape(32, 32)
    report = replay_compiled(
        kernel, grid=1, block=(32, 32), arch="sm_80",
        args=[a, np.zeros((32, 32)), np.float32(2), 32],
    )  # fmt: skip
    assert (report.outputs[1] == 2 * a.T).all()
    assert report.outputs[3] == 32
    totals = report.totals()
    assert totals["load"]["bank_conflicts"] == 992
    assert totals["store"]["bank_conflicts"] == 0
    assert any("tile[x, y]" in line for lines in report.sources.values() for line in lines)
    with pytest.raises(LaunchError, match="ascontiguousarray"):
        replay_compiled(kernel, grid=1, block=32, args=[a.T, a, 1.0, 32])
    with pytest.raises(CompileError, match="does not compile with Numba"):
        replay_compiled(kernel, grid=1, block=32, args=[a])


@pytest.mark.parametrize(("module", "said"), [("tvm.runtime", "TVM"), ("tilelang.jit", "Tile")])
def test_kernels_of_packages_that_write_files_are_refused_by_name(module: str, said: str) -> None:
    kernel = type("Kernel", (), {"__module__": module})()
    with pytest.raises(LaunchError, match=rf"a kernel of .*{said}.*the cubin or the PTX"):
        code_of(kernel, [], "sm_90")


def test_kernels_of_the_cute_dsl_hold_their_cubin_where_it_was_kept() -> None:
    kept = made("cutlass.cutlass_dsl.cuda_jit_executor", "Compiled", __cubin__=b"\x7fELF")
    found = code_of(kept, [A], "sm_90")
    assert (found.code, found.kernel, found.arguments[0] is A) == (b"\x7fELF", None, True)
    for lost in ({"__cubin__": None}, {}):
        with pytest.raises(LaunchError, match=r"holds no cubin .*cute\.compile.*KEEP_CUBIN=1"):
            code_of(made("cutlass.base_dsl", "Function", **lost), [A], "sm_90")
