"""Accesses of different warps without a barrier between: found, and found nowhere else."""

from __future__ import annotations

import re

import numpy as np
import pytest

from tests.sass_kernels import needs_compiler
from tests.variants import Variants

pytestmark = needs_compiler

SHARED = (
    "__global__ void k(float *o) { __shared__ float s[128]; __shared__ int n; __shared__ float f;"
)
I = "threadIdx.x"  # noqa: E741
NAMED = 'asm volatile("bar.sync %0, 64;" :: "r"({}) : "memory");'

UNORDERED = (
    # A store and a load without a barrier.
    ("s[i!] = o[i!];\n o[i!] = s[127 - i!];", ("source.cu:3", "source.cu:2")),
    # The barrier behind the loads of a loop is missing.
    ("for (int t = 0; t < 4; ++t) {\n s[i!] = o[i! + t];\n __syncthreads();\n"
     " o[i!] += s[127 - i!]; }", ("loads", "stores to", "source.cu:5", "source.cu:3")),
    # Different values at one address.
    ("n = i!;\n __syncthreads(); o[i!] = n;", (r"stores to what \S*source.cu:2 ",)),
    # Thread 0 sets what the others add to.
    ("if (i! == 0) n = 0;\n atomicAdd(&n, int(o[i!])); __syncthreads(); o[i!] = n;",
     (r"adds to what \S*source.cu:2 ",)),
    # A sum is read before all have added to it.
    ("if (i! == 0) n = 0;\n __syncthreads();\n atomicAdd(&n, int(o[i!]));\n o[i!] = n;",
     ("source.cu:5", "adds to")),
    # Each half of the block has a barrier of its own, and reads what the other half stores.
    ("int half = i! / 64;\n s[i!] = o[i!]; if (half) {"
      " for (int t = 0; t < o[0]; ++t) o[t] *= 2;"
     + NAMED.format(1) + "} else {" + NAMED.format(2) + "}\n o[i!] = s[127 - i!];",
     ("source.cu:4", "source.cu:3")),
)  # fmt: skip

ORDERED = (
    # Many may store one value, of several words too.
    "((double2 *)s)[0] = {1, 2}; __syncthreads(); o[i!] = s[i!];",
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
)

VOTE = (
    "s[i!] = o[i!]; int all = __syncthreads_count(o[i!] > 0); o[i!] = s[127 - i!] + all;",
    "s[i!] = o[i!]; if (i! < 96) o[i!] = 1; __syncthreads(); o[i!] = s[127 - i!];",
)


def text(body: str) -> str:
    return f"{SHARED}\n{body.replace('i!', I)} }}"


TOGETHER = Variants("k", map(text, [*(body for body, _ in UNORDERED), *ORDERED, *VOTE]))


def notes(body: str) -> list[str]:
    report = TOGETHER.ran(text(body), [np.ones(256, np.float32)])
    return [each for each in report.notes if "depends on timing" in each]


@pytest.mark.parametrize(("body", "words"), UNORDERED)
def test_accesses_without_an_order_are_told_with_both_lines(
    body: str, words: tuple[str, ...]
) -> None:
    said = notes(body)
    assert said
    for word in words:
        assert any(re.search(word, each) for each in said)


@pytest.mark.parametrize("body", ORDERED)
def test_what_is_in_order_is_not_told(body: str) -> None:
    assert notes(body) == []


@pytest.mark.parametrize("body", VOTE)
def test_a_vote_at_a_barrier_orders_too(body: str) -> None:
    assert notes(body) == []
