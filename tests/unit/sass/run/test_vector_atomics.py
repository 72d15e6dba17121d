"""Atomics of vectors, of 128 bits and of halves, as sm_90 and PTX have them."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from simulator.sass.replay import replay_compiled
from simulator.sass.report import CompiledReport
from tests.sass_kernels import needs_compiler

pytestmark = needs_compiler
THREADS = 64


def _run(body: str, *arrays: Any, arch: Any = "sm_90") -> CompiledReport:
    names = ", ".join(f"{kind} {name}" for kind, name in zip(_kinds(arrays), "opq", strict=False))
    source = f"""__global__ void k({names}) {{
        int i = threadIdx.x, j = i % 16;
        {body}
    }}"""
    return replay_compiled(source, grid=1, block=THREADS, args=list(arrays), arch=arch)


def _kinds(arrays: tuple[Any, ...]) -> list[str]:
    named = {4: "unsigned*", 8: "unsigned long long*", 2: "unsigned short*"}
    return ["float*" if each.dtype == np.float32 else named[each.itemsize] for each in arrays]


def _vector(count: int, kind: str, operation: str = "add") -> str:
    """Give the line of PTX for elements that begin at `p + count * i`."""
    letter, noftz = ("f", "") if kind == "f32" else ("h", ".noftz")
    operands = ",".join(f"%{1 + n}" for n in range(count))
    inputs = ",".join(f'"{letter}"(p[{count}*i+{n}])' for n in range(count))
    return (
        f'asm volatile("red.global.{operation}{noftz}.v{count}.{kind} [%0],{{{operands}}};"'
        f'::"l"(o+{count}*j),{inputs});'
    )


@pytest.mark.parametrize("count", [2, 4])
def test_floats_are_added_element_by_element(count: int) -> None:
    """What Triton writes behind a split product: four lanes of the block meet at each place."""
    given = np.random.default_rng(count).integers(-99, 99, (THREADS, count)).astype(np.float32)
    out = np.ones((16, count), np.float32)
    report = _run(_vector(count, "f32"), out, given)
    assert np.array_equal(report.outputs[0], 1 + given.reshape(-1, 16, count).sum(axis=0))
    rows = report.instructions
    (place,) = (n for n, opcode in enumerate(rows["opcode"]) if opcode.startswith("RED"))
    assert rows["opcode"][place].startswith(f"REDG.E.ADD.F32x{count}")
    # 16 vectors of neighbours per half of a warp, in both warps.
    assert rows["sectors"][place] == 2 * 16 * count * 4 // 32


HALVES = {"f16": np.float16, "bf16": ml_dtypes.bfloat16}


@pytest.mark.parametrize("kind", HALVES)
@pytest.mark.parametrize("count", [2, 4, 8])
@pytest.mark.parametrize("operation", ["add", "min", "max"])
def test_halves_are_combined_element_by_element(kind: str, count: int, operation: str) -> None:
    random = np.random.default_rng(count)
    given = random.integers(-9, 9, (THREADS, count)).astype(HALVES[kind])
    given[3, 0], given[19, -1] = np.nan, -0.0
    if operation == "add":
        given[3, 0] = 2
    out = np.zeros((16, count), HALVES[kind])
    report = _run(_vector(count, kind, operation), out.view(np.uint16), given.view(np.uint16))
    law = {"add": np.add, "min": np.fmin, "max": np.fmax}[operation]
    wanted = law.reduce(given.astype(np.float64).reshape(-1, 16, count), axis=0)
    wanted = law(wanted, 0.0)
    found = report.outputs[0].view(HALVES[kind]).astype(np.float64)
    assert np.array_equal(found, wanted)


def test_atomics_give_the_vector_that_was_there() -> None:
    out, given = np.zeros((16, 4), np.float32), np.ones(THREADS, np.float32)
    old = np.zeros((THREADS, 4), np.float32)
    body = """float a, b, c, d;
        asm volatile("atom.global.add.v4.f32 {%0,%1,%2,%3},[%4],{%5,%6,%5,%6};"
            : "=f"(a), "=f"(b), "=f"(c), "=f"(d) : "l"(o+4*j), "f"(p[i]), "f"(3 * p[i]));
        q[4*i] = a; q[4*i+1] = b; q[4*i+2] = c; q[4*i+3] = d;"""
    report = _run(body, out, given, old)
    assert np.array_equal(report.outputs[0], np.tile(np.float32([4, 12, 4, 12]), (16, 1)))
    turns = np.sort(report.outputs[2].reshape(4, 16, 4), axis=0)
    assert np.array_equal(turns[:, 5], np.float32([[0, 0] * 2, [1, 3] * 2, [2, 6] * 2, [3, 9] * 2]))


def test_sixteen_bytes_are_swapped() -> None:
    body = """unsigned long long a, b, c, d;
        asm volatile("{.reg .b128 x, y, z; mov.b128 x, {%4,%5}; mov.b128 y, {%5,%4};"
            " atom.global.cas.b128 z, [%6], x, y; mov.b128 {%0,%1}, z;"
            " atom.global.exch.b128 z, [%7], x; mov.b128 {%2,%3}, z;}"
            : "=l"(a), "=l"(b), "=l"(c), "=l"(d)
            : "l"(p[2*i]), "l"(p[2*i+1]), "l"(o+2*i), "l"(o+2*(i+64)));
        q[4*i] = a; q[4*i+1] = b; q[4*i+2] = c; q[4*i+3] = d;"""
    random = np.random.default_rng(1)
    given = random.integers(0, 2**63, (THREADS, 2), dtype=np.uint64)
    out = np.concatenate([given, random.integers(0, 2**63, (THREADS, 2), dtype=np.uint64)])
    out[::2, 1] += np.uint64(1)  # every second one is not as expected
    report = _run(body, out, given, np.zeros((THREADS, 4), np.uint64))
    swapped = out[:THREADS].copy()
    swapped[1::2] = given[1::2, ::-1]
    assert np.array_equal(report.outputs[0], np.concatenate([swapped, given]))
    assert np.array_equal(report.outputs[2], np.hstack([out[:THREADS], out[THREADS:]]))


@pytest.mark.parametrize("arch", ["sm_75", "sm_80", "sm_90", "sm_100", "sm_120"])
def test_floats_are_added_in_shared_memory(arch: str) -> None:
    """Of doubles, the loop reads two words of whether it swapped; since sm_100, a predicate."""
    body = """__shared__ float s[4]; __shared__ double d[4];
        if (i < 4) s[i] = d[i] = 0;
        __syncthreads();
        atomicAdd(s + i % 4, o[i]); atomicAdd(d + i % 4, 2.0 * o[i]);
        __syncthreads();
        o[i] = s[i % 4] + d[i % 4];"""
    given = np.random.default_rng(2).integers(0, 99, THREADS).astype(np.float32)
    report = _run(body, given, arch=arch)
    assert np.array_equal(report.outputs[0], np.tile(3 * given.reshape(-1, 4).sum(axis=0), 16))
