"""What a reader of counts is told: macros without effect, figures not known, a chip's law."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from bankwise import replay_compiled
from simulator.cli import main
from tests.sass_kernels import needs_compiler, needs_tools

pytestmark = [needs_tools, needs_compiler]

SOURCE = """#define LDA 32
__global__ void k(float *p, int n) {
    __shared__ float s[32][LDA];
    for (int i = threadIdx.x; i < n; i += 32) p[blockIdx.x * n + i] += 1;
    s[threadIdx.x][0] = p[0];
    __syncthreads();
    p[threadIdx.x] = s[threadIdx.x][0];
}
"""


@pytest.fixture
def source(tmp_path: Path) -> str:
    path = tmp_path / "k.cu"
    path.write_text(SOURCE)
    return str(path)


LAUNCH = ("--grid", "40", "--block", "32", "--arg", "zeros:f32[2000]", "--arg", "i32=50")
NO_EFFECT = (
    "-D LDA=33 has no effect behind k.cu:1, which defines LDA (to choose it with -D, put #ifndef"
    " LDA and #endif around that line)"
)


def test_a_macro_that_the_source_defines_itself_is_said(
    source: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """The compiler only warns, and the layout that -D asked for was not the one that ran."""
    assert main(["sass", source, *LAUNCH, "-D", "LDA=33"]) == 0
    assert NO_EFFECT in capsys.readouterr().out
    assert main(["sass", source, *LAUNCH, "-D", "LDA=33", "--format", "json"]) == 0
    assert NO_EFFECT in json.loads(capsys.readouterr().out)["totals"]["notes"]
    for given in ("LDA=32", "LDB=33"):
        assert main(["sass", source, *LAUNCH, "-D", given]) == 0
        assert "has no effect" not in capsys.readouterr().out


def test_the_sum_of_what_is_not_known_is_not_known(
    source: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """It was the sum of what is known, with nothing beside it to say so."""
    assert main(["sass", source, *LAUNCH, "--by", "line"]) == 0
    said = capsys.readouterr().out.splitlines()
    loop, total = (next(line for line in said if word in line).split() for word in (" 4 ", "total"))
    assert (loop[3], loop[-1]) == ("?", "?")
    assert (total[1], total[-1]) == ("?", "?")
    assert int(total[2].replace(",", "")) > 0  # wavefronts
    assert main(["sass", source, *LAUNCH, "--format", "json"]) == 0
    totals = json.loads(capsys.readouterr().out)["totals"]
    assert totals["executed"] is totals["sectors"] is None
    assert main(["sass", source, *LAUNCH, "--run-blocks", "all", "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["totals"]["sectors"] > 0


ASK = "float s[32][32]; s[threadIdx.x][threadIdx.y]"


@pytest.mark.parametrize("words", [("count", ASK), ("simulate",), ("replay", "junstar92.2d")])
@pytest.mark.parametrize("chip", ["B200", "H100"])
def test_a_law_that_was_not_measured_on_the_chip_is_said(
    words: tuple[str, ...], chip: str, capsys: pytest.CaptureFixture[str]
) -> None:
    note = f"the H200's law for {chip}: not measured there"
    assert main([*words, "--chip", chip]) == 0
    assert (note in capsys.readouterr().out) == (chip == "B200")
    assert main([*words, "--chip", chip, "--format", "json"]) == 0
    totals = json.loads(capsys.readouterr().out)["totals"]
    assert totals.get("notes", []) == [note] * (chip == "B200")


def test_a_replay_says_which_law_counts() -> None:
    for chip, said in (("A100", True), ("H200", False), (None, False)):
        report = replay_compiled(
            SOURCE, grid=1, block=32, args=[np.zeros(32, np.float32), np.int32(1)], chip=chip
        )
        assert (f"the H200's law for {chip}: not measured there" in report.notes) == said


COPIES = """#include <cuda_pipeline.h>
__global__ void k(const float4 *in, float4 *out) {
    __shared__ float4 s[64];
    for (int i = threadIdx.x; i < 64; i += 32) __pipeline_memcpy_async(&s[i], &in[i], 16);
    __pipeline_commit();
    __pipeline_wait_prior(0);
    __syncthreads();
    out[threadIdx.x] = s[63 - threadIdx.x];
}
"""


def test_instructions_that_no_lane_executes_are_left_out_and_copies_explained(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Rows of an LDS with 0 wavefronts, which read nothing, stood between the copies."""
    path = tmp_path / "k.cu"
    path.write_text(COPIES)
    given = ["sass", str(path), "--block", "32", "--arg", "zeros:f32[256]", "--arg"]
    assert main([*given, "zeros:f32[256]", "--format", "json"]) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    idle = [row for row in rows if row["wavefronts"] == row["sectors"] == 0]
    assert idle
    assert main([*given, "zeros:f32[256]"]) == 0
    said = capsys.readouterr().out
    assert f"Left out: {len(idle)} instructions that no lane executed" in said
    assert "LDGSTS.E.BYPASS (cp.async.cg) does not pass through the shared-memory pipe" in said
    assert not [line for line in said.splitlines() if f"{idle[0]['address']:#06x}  " in line]


def test_code_without_a_line_table_says_how_to_get_one(
    source: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """One row with an empty file and line 0 was all that --by line had."""
    ptx = ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 p) {\n"
    ptx += ".reg .b64 %d<2>; .reg .b32 %r<2>; ld.param.u64 %d1, [p]; mov.u32 %r1, 1;\n"
    path = Path(source).with_suffix(".ptx")
    path.write_text(ptx + "st.global.u32 [%d1], %r1; ret; }\n")
    note = "the code names no source lines (next: compile it with -lineinfo, or give the source)"
    assert main(["sass", str(path), "--arg", "zeros:u32[1]", "--by", "line"]) == 0
    assert note in capsys.readouterr().out
    assert main(["sass", source, *LAUNCH, "--by", "line"]) == 0
    assert note not in capsys.readouterr().out


INLINED = """__device__ __forceinline__ float at(const float *s, int i) {
    return *(volatile const float *)(s + i);
}
__global__ void k(float *p) {
    __shared__ float s[1024];
    for (int i = threadIdx.x; i < 1024; i += 32) s[i] = p[i];
    __syncthreads();
    float first = at(s, 32 * threadIdx.x);
    __syncthreads();
    p[threadIdx.x] = first + at(s, 16 * threadIdx.x);
}
"""


def test_conflicts_in_an_inlined_function_are_told_by_their_calls(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """All calls of a helper had one line, and nothing said which of them conflicts."""
    path = tmp_path / "k.cu"
    path.write_text(INLINED)
    given = ["sass", str(path), "--block", "32", "--arg", "zeros:f32[1024]"]
    assert main([*given, "--by", "line"]) == 0
    assert "; called from k.cu:8 (31), k.cu:10 (15)\n" in capsys.readouterr().out
    assert main([*given, "--format", "json"]) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert {row["called_from"] for row in rows if row["line"] == 2} == {"k.cu:8", "k.cu:10"}
    assert {row["called_from"] for row in rows if row["line"] != 2} == {""}
    assert main(given) == 0
    assert " called from " in capsys.readouterr().out
