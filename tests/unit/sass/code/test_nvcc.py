"""A real nvcc instead of NVRTC: what it is asked, and what is said where it cannot be had."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from simulator import replay_compiled
from simulator.errors import CompileError, ToolError
from simulator.sass.code import compiling, nvcc, nvdisasm
from simulator.sass.code.nvcc import request_for
from simulator.sass.code.options import parse_options

has_nvcc = shutil.which("nvcc") and shutil.which("g++")


def test_nvcc_gets_the_source_under_its_name_with_instances_behind_it() -> None:
    given = ["--compiler=nvcc", "-Iinc", "-DN=4", "-std=c++20", "-default-device", "-use_fast_math"]
    options = parse_options(given)
    assert options.compiler == "nvcc"
    asked = request_for("int a;", "sm_90", "/code/k.cu", Path("/code"), ("k<4>",), options)
    first, second, *rest = asked["source"].splitlines()
    assert (first, second) == ('#line 1 "/code/k.cu"', "int a;")
    assert "static const auto bankwise_instance_0 = &k<4>;" in rest
    wanted = {"-arch=sm_90", "-I/code", "--define-macro=N=4", "--std=c++20", "--use_fast_math"}
    assert wanted <= set(asked["options"])
    assert not [each for each in asked["options"] if "default-execution" in each]


def test_an_unknown_compiler_is_refused_and_files_cannot_ask_for_one() -> None:
    with pytest.raises(CompileError, match=r"--compiler gcc: .*nvcc"):
        parse_options(["--compiler", "gcc"])
    assert parse_options(["--compiler", "nvcc"], known_only=True).compiler == "nvrtc"


def test_without_nvcc_or_a_host_compiler_a_message_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nvcc.shutil, "which", lambda name: None)
    monkeypatch.delenv("NVCC_CCBIN", raising=False)
    assert "nvcc needs a host compiler" in nvcc.without_host_compiler()

    def none(name: str) -> str:
        raise ToolError(f"no {name} found")

    monkeypatch.setattr(nvdisasm, "tool", none)
    assert nvcc._run({"source": "", "options": []}) == {"missing": "no nvcc found"}
    monkeypatch.setattr(compiling, "child", lambda *_: '{"missing": "no nvcc found"}')
    with pytest.raises(ToolError, match="no nvcc found"):
        compiling.compile_source("", "sm_90", "k.cu", (), parse_options(["--compiler", "nvcc"]))


def test_messages_of_the_host_compiler_about_other_files_are_not_shown(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    log = (
        "/etc/secret:1:3: error: invalid preprocessing directive\\n   1 | #word\\n"
        "k.cu:2:10: fatal error: no.h: No such file\\n"
    )
    monkeypatch.setattr(compiling, "child", lambda *_: f'{{"log": "{log}"}}')
    with pytest.raises(CompileError, match=r"k\.cu:2:10: fatal error: no\.h") as caught:
        compiling.compile_source("", "sm_90", "k.cu", (), parse_options(["--compiler", "nvcc"]))
    assert "secret" not in str(caught.value)
    assert "#word" not in str(caught.value)


@pytest.mark.slow
@pytest.mark.skipif(not has_nvcc, reason="no nvcc with a host compiler on PATH")
def test_a_file_with_host_code_compiles_with_nvcc_and_keeps_its_lines(tmp_path: Path) -> None:
    file = tmp_path / "k.cu"
    (tmp_path / "size.h").write_text("constexpr int SIZE = 32;\n")
    file.write_text(
        '#include <vector>\n#include <cstdio>\n#include "size.h"\n'
        "template <int N> __global__ void k(float *a) {\n"
        "  __shared__ float s[N * SIZE];\n"
        "  s[threadIdx.x * N] = a[threadIdx.x];\n  __syncthreads();\n"
        "  a[threadIdx.x] = s[(31 - threadIdx.x) * N]; }\n"
        'int main() { std::vector<int> v(3); std::printf("%d", v[0]); }\n'
    )
    report = replay_compiled(
        file, kernel="k<2>", grid=1, block=32, args=[np.arange(32, dtype=np.float32)],
        options=["--compiler", "nvcc"],
    )  # fmt: skip
    assert report.outputs[0].tolist() == list(range(31, -1, -1))
    assert report.totals()["all"]["bank_conflicts"] == 2
    assert set(report.instructions["file"]) == {str(file)}
    file.write_text("__global__ void k(float *a) { a[0] = nothing; }")
    with pytest.raises(CompileError, match="nothing"):
        replay_compiled(file, grid=1, block=32, args=[], options=["--compiler", "nvcc"])
