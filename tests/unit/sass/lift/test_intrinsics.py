"""Intrinsics and PTX whose machine code was refused, from CUDA source to NumPy's numbers."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from numpy.typing import NDArray

from simulator.sass.replay import replay_compiled
from tests.sass_kernels import needs_compiler

pytestmark = needs_compiler
INCLUDES = "#include <cuda_fp16.h>\n#include <cuda_bf16.h>\n"


def _run(body: str, *given: NDArray[Any], out: NDArray[Any], arch: Any = "sm_90") -> NDArray[Any]:
    kinds = {"f8": "double", "i4": "int", "u4": "unsigned", "f4": "float", "u2": "unsigned short"}
    arguments = zip("oxyz", [out, *given], strict=False)
    names = ", ".join(f"{kinds[each.dtype.str[1:]]}* {name}" for name, each in arguments)
    source = f"{INCLUDES}__global__ void k({names}) {{ int i = threadIdx.x; {body} }}"
    report = replay_compiled(source, grid=1, block=32, args=[out, *given], arch=arch)
    return report.outputs[0]


def _words(seed: int) -> NDArray[np.uint32]:
    return np.random.default_rng(seed).integers(0, 2**32, (3, 32), dtype=np.uint32)


def test_complex_products_of_halves() -> None:
    random = np.random.default_rng(1)
    pairs = random.integers(-9, 9, (3, 32, 2)).astype(np.float16)  # so products are exact
    a, b, c = (each.astype(np.float64) @ [1, 1j] for each in pairs)
    body = "((__half2*)o)[i] = __hcmadd(((__half2*)x)[i], ((__half2*)y)[i], ((__half2*)z)[i]);"
    words = (each.view(np.uint32).ravel() for each in pairs)
    found = _run(body, *words, out=np.zeros(32, np.uint32)).view(np.float16)
    assert np.array_equal(found.reshape(32, 2).astype(np.float64) @ [1, 1j], a * b + c)


def test_sums_that_saturate() -> None:
    x, y, _ = _words(2).view(np.int32)
    body = 'asm("add.sat.s32 %0,%1,%2;" : "=r"(o[i]) : "r"(x[i]), "r"(y[i]));'
    wanted = (x.astype(np.int64) + y).clip(-(2**31), 2**31 - 1)
    for arch in ("sm_90", "sm_120"):
        assert np.array_equal(_run(body, x, y, out=np.zeros(32, np.int32), arch=arch), wanted)


@pytest.mark.parametrize(("half", "first"), [("lo", 0), ("hi", 2)])
def test_dp2a(half: str, first: int) -> None:
    x, y, z = _words(3).view(np.int32)
    shorts, bytes_ = (x.view(np.int16).reshape(32, 2), y.view(np.int8).reshape(32, 4))
    wanted = (shorts.astype(np.int64) * bytes_[:, first : first + 2]).sum(axis=1) + z
    found = _run(f"o[i] = __dp2a_{half}(x[i], y[i], z[i]);", x, y, z, out=np.zeros(32, np.int32))
    assert np.array_equal(found, wanted.astype(np.int32))


@pytest.mark.parametrize("arch", ["sm_90", "sm_120"])
def test_halves_and_bytes_of_a_word(arch: str) -> None:
    x, y, _ = _words(4)
    body = "o[2*i] = __vadd2(x[i], y[i]); o[2*i+1] = __vsub4(x[i], __vmaxs4(x[i], y[i]));"
    found = _run(body, x, y, out=np.zeros(64, np.uint32), arch=arch).reshape(32, 2).copy()
    sums = x.view(np.uint16) + y.view(np.uint16)
    assert np.array_equal(found[:, 0].copy().view(np.uint16), sums)
    greatest = np.maximum(x.view(np.int8), y.view(np.int8))
    assert np.array_equal(found[:, 1].copy().view(np.int8), x.view(np.int8) - greatest)


def test_floats_become_bfloat16_on_sm_80() -> None:
    x = np.random.default_rng(5).normal(size=32).astype(np.float32)
    body = "((__nv_bfloat16*)o)[i] = __float2bfloat16_rn(x[i]);"
    found = _run(body, x, out=np.zeros(32, np.uint16), arch="sm_80").view(ml_dtypes.bfloat16)
    assert np.array_equal(found, x.astype(ml_dtypes.bfloat16))


def test_whole_halves() -> None:
    x = (np.random.default_rng(6).normal(size=64) * 9).astype(np.float16)
    body = "((__half2*)o)[i] = h2floor(((__half2*)x)[i]);"
    found = _run(body, x.view(np.uint32), out=np.zeros(32, np.uint32)).view(np.float16)
    assert np.array_equal(found, np.floor(x))


def test_the_memory_of_an_address() -> None:
    body = """__shared__ unsigned s; unsigned l[2] = {x[i], 1};
        void* p[] = {o, &s, &l[x[i] & 1]};
        for (int n = 0; n < 3; n++)
            o[3*i+n] = __isGlobal(p[n]) + 2 * __isShared(p[n]) + 4 * __isLocal(p[n]);"""
    found = _run(body, _words(7)[0], out=np.zeros(96, np.uint32))
    assert np.array_equal(found.reshape(32, 3), np.tile([1, 2, 4], (32, 1)))


def test_doubles_by_functions_of_cuda() -> None:
    x, y = np.random.default_rng(8).normal(size=(2, 32))
    x[3], y[4] = np.nan, np.nan
    body = """o[4*i] = fmin(x[i], y[i]); o[4*i+1] = fmax(x[i], y[i]);
        o[4*i+2] = __dadd_ru(x[i], y[i]) - __dadd_rd(x[i], y[i]); o[4*i+3] = pow(2, x[i]);"""
    found = _run(body, x, y, out=np.zeros(128)).reshape(32, 4)
    assert np.array_equal(found[:, 0], np.fmin(x, y))
    assert np.array_equal(found[:, 1], np.fmax(x, y))
    known = ~np.isnan(x + y)
    apart = found[known, 2] / np.spacing(np.abs(x + y)[known])
    assert set(apart.tolist()) <= {0.0, 0.5, 1.0}
    assert np.allclose(found[:, 3], 2**x, rtol=1e-14, equal_nan=True)
