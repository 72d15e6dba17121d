"""Instructions are read right from every nvdisasm, the one of CUDA 13.0 included."""

from __future__ import annotations

import re

import pytest

from simulator.sass.code import nvdisasm
from simulator.sass.code.cubin import read_cubin
from tests.sass_kernels import cubin, needs_tools

pytestmark = needs_tools

DAMAGE = (
    (r'"operands":"(R\d+),(\[[^"]*)"', r'"operands":"\1\2"'),
    (r'"operands":"(\[R\d+\]),(desc[^"]*)"', r'"operands":"\2\1"'),
)
"""What nvdisasm 13.0.85 does to `R1,[R2]` and to `[R5],desc[UR12][R10.64]` in JSON."""


def disassemble(name: str, kernel: str) -> tuple[nvdisasm.SassInstruction, ...]:
    return nvdisasm.disassemble.__wrapped__(cubin(name), kernel)


@pytest.mark.parametrize("name", ["warptile_4x8", "tensor_gemm"])
def test_operands_that_the_json_mixes_up_are_put_right(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernel = next(iter(read_cubin(cubin(name)).kernels))
    whole = disassemble(name, kernel)
    printed = nvdisasm._printed

    def damaged(image: bytes) -> tuple[str, str]:
        described, listing = printed(image)
        found = 0
        for pattern, replacement in DAMAGE:
            described, count = re.subn(pattern, replacement, described)
            found += count
        assert found > 4
        return described, listing

    monkeypatch.setattr(nvdisasm, "_printed", damaged)
    assert disassemble(name, kernel) == whole
