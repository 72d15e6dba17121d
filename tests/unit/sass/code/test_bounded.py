"""NVIDIA's tools read files that may be anybody's: within limits of time, memory and output."""

from __future__ import annotations

import sys

import pytest

from simulator.errors import CompileError, CubinError, ToolError
from simulator.sass.code import bounded
from simulator.sass.code.images import load
from simulator.sass.code.nvdisasm import disassemble
from simulator.sass.code.options import CompilerOptions
from tests.sass_kernels import cubin, needs_compiler, needs_tools

linux = pytest.mark.skipif(sys.platform != "linux", reason="limits of memory are Linux's")

PTX = """.version 8.0
.target sm_80
.address_size 64
.visible .entry late(.param .u64 p)
{
    .reg .b64 %d<2>;
    ld.param.u64 %d1, [p];
    st.global.u32 [%d1], 1;
    ret;
}
"""


def python(program: str) -> list[str]:
    """A tool that runs this."""
    return [sys.executable, "-c", f"import time; time.sleep(0.2); {program}"]


def test_what_a_tool_prints_and_says() -> None:
    program = "import sys; print('out'); print('err', file=sys.stderr); sys.exit(3)"
    assert bounded.bounded(python(program), "k.cubin") == (3, "out\n", "err\n")


@linux
def test_memory_is_bounded() -> None:
    code, _, said = bounded.bounded(python("bytearray(9 << 30)"), "k.cubin")
    assert (code, said.split()[-1]) == (1, "MemoryError")


@linux
def test_output_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounded, "_OUTPUT", 1000)
    code, printed, _ = bounded.bounded(python("print('a' * 100_000)"), "k.cubin")
    assert code != 0
    assert len(printed) == 1000


def test_time_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounded, "_SECONDS", 0.1)
    with pytest.raises(CubinError, match=r"k\.cubin: python\S* did not answer in 0 s"):
        bounded.bounded(python("time.sleep(60)"), "k.cubin")


def test_a_tool_that_is_not_there() -> None:
    with pytest.raises(ToolError, match="nothing cannot be run: "):
        bounded.bounded(["/no/such/nothing"], "k.cubin")


@linux
@needs_tools
@pytest.mark.usefixtures("afresh")
def test_nvdisasm_and_cuobjdump_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    image = cubin("softmax") + b"\0"  # nothing is kept of it
    monkeypatch.setattr(bounded, "MEMORY", 1 << 20)
    with pytest.raises(CubinError, match="nvdisasm refuses the cubin: "):
        disassemble.__wrapped__(image, "softmax")
    with pytest.raises(CubinError, match="cuobjdump cannot read the bytes given: "):
        load(b"\x50\xed\x55\xba" + bytes(60), "sm_90", None)


@needs_compiler
@pytest.mark.usefixtures("afresh")
def test_ptx_has_the_time_that_is_given() -> None:
    with pytest.raises(CompileError, match=r"did not finish in 0 s .--compile-timeout SECONDS"):
        load(PTX, "sm_90", None, CompilerOptions(seconds=0.001))
