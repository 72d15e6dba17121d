"""Accesses of different warps without a barrier between: found, and found nowhere else."""

from __future__ import annotations

import json

import numpy as np
import pytest

from simulator import replay_compiled
from simulator.sass.arguments import argument
from tests.sass_kernels import HERE, needs_compiler, needs_tools

SHARED = (
    "__global__ void k(float *o) { __shared__ float s[128]; __shared__ int n; __shared__ float f;"
)
I = "threadIdx.x"  # noqa: E741
NAMED = 'asm volatile("bar.sync %0, 64;" :: "r"({}) : "memory");'


def notes(body: str, block: int = 128) -> list[str]:
    source = f"{SHARED}\n{body.replace('i!', I)} }}"
    report = replay_compiled(
        source, grid=1, block=block, args=[np.ones(256, np.float32)], arch="sm_90"
    )
    return [each for each in report.notes if "depends on timing" in each]


@needs_compiler
@pytest.mark.parametrize(
    ("body", "words"),
    [
        # A store and a load without a barrier.
        ("s[i!] = o[i!];\n o[i!] = s[127 - i!];", ("source.cu:3", "source.cu:2")),
        # The barrier behind the loads of a loop is missing.
        ("for (int t = 0; t < 4; ++t) {\n s[i!] = o[i! + t];\n __syncthreads();\n"
         " o[i!] += s[127 - i!]; }", ("loads", "stores to", "source.cu:5", "source.cu:3")),
        # Different values at one address.
        ("n = i!;\n __syncthreads(); o[i!] = n;", ("stores to what source.cu:2",)),
        # Thread 0 sets what the others add to.
        ("if (i! == 0) n = 0;\n atomicAdd(&n, int(o[i!])); __syncthreads(); o[i!] = n;",
         ("adds to what source.cu:2",)),
        # A sum is read before all have added to it.
        ("if (i! == 0) n = 0;\n __syncthreads();\n atomicAdd(&n, int(o[i!]));\n o[i!] = n;",
         ("source.cu:5", "adds to")),
        # Each half of the block has a barrier of its own, and reads what the other half stores.
        ("int half = i! / 64;\n s[i!] = o[i!]; if (half) {"
          " for (int t = 0; t < o[0]; ++t) o[t] *= 2;"
         + NAMED.format(1) + "} else {" + NAMED.format(2) + "}\n o[i!] = s[127 - i!];",
         ("source.cu:4", "source.cu:3")),
    ],
)  # fmt: skip
def test_accesses_without_an_order_are_told_with_both_lines(
    body: str, words: tuple[str, ...]
) -> None:
    said = notes(body)
    assert said
    for word in words:
        assert any(word in each for each in said)


@needs_compiler
@pytest.mark.parametrize(
    "body",
    [
        "s[i!] = o[i!]; __syncthreads(); o[i!] = s[127 - i!];",
        "for (int t = 0; t < 4; ++t) { s[i!] = o[i! + t]; __syncthreads(); o[i!] += s[127 - i!];"
        " __syncthreads(); }",
        # Within a warp nothing is said: lanes have their own ways of waiting.
        "s[i!] = o[i!]; __syncwarp(); o[i!] = s[i! ^ 31];",
        # Many may set a flag to one value, and add without a barrier between.
        "n = 0; __syncthreads(); if (o[i!] > 0) n = 1; __syncthreads(); o[i!] = n;",
        "if (i! == 0) n = 0; __syncthreads(); atomicAdd(&n, int(o[i!])); atomicAdd(&n, 1);"
        " __syncthreads(); o[i!] = n;",
        "if (i! == 0) f = 0; __syncthreads(); atomicAdd(&f, o[i!]); __syncthreads(); o[i!] = f;",
        # Named barriers, one for each half.
        "int half = i! / 64; s[i!] = o[i!];"
        + NAMED.format("1 + half")
        + " o[i!] = s[half * 128 + 63 - i! % 64 - half * 64];",
        # A lock: what it guards is in order.
        "if (i! == 0) { n = 0; f = 0; } __syncthreads(); if (i! % 32 == 0) {"
        " while (atomicCAS(&n, 0, 1)) {} __threadfence_block(); f += o[i!]; __threadfence_block();"
        " atomicExch(&n, 0); } __syncthreads(); o[i!] = f;",
        # Bytes beside each other are not one address.
        "char *c = (char *)s; c[i!] = i!; o[i!] = c[i!];",
    ],
)
def test_what_is_in_order_is_not_told(body: str) -> None:
    assert notes(body) == []


@needs_compiler
def test_a_vote_at_a_barrier_orders_too() -> None:
    assert notes("s[i!] = o[i!]; int all = __syncthreads_count(o[i!] > 0);"
                 " o[i!] = s[127 - i!] + all;") == []  # fmt: skip
    assert (
        notes("s[i!] = o[i!]; if (i! < 96) o[i!] = 1; __syncthreads(); o[i!] = s[127 - i!];") == []
    )


CASES = json.loads((HERE / "cases.json").read_text())


@needs_tools
@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_kernels_that_ran_on_a_gpu_have_no_such_accesses(case: dict[str, object]) -> None:
    args = [argument(text, place) for place, text in enumerate(case["args"])]  # type: ignore[arg-type, var-annotated]
    report = replay_compiled(
        HERE / "cubins" / str(case["cubin"]), kernel=str(case["kernel"]),
        grid=tuple(case["grid"]), block=tuple(case["block"]), args=args,  # type: ignore[arg-type]
        shared_bytes=case["shared"],  # type: ignore[arg-type]
    )  # fmt: skip
    assert [each for each in report.notes if "timing" in each] == []
