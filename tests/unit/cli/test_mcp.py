"""`bankwise mcp`, asked by the protocol's own client: over stdio, as agents do."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from jsonschema import Draft202012Validator

from simulator.cli.mcp import TOOLS, server
from simulator.cli.tools import MOST_TEXT, Tools
from simulator.errors import InputError
from simulator.results.schema import schema
from tests.sass_kernels import needs_compiler, needs_tools

if TYPE_CHECKING:
    from mcp import StdioServerParameters

# It is imported by the tests: loading it would take each process a second before the first one.
pytestmark = pytest.mark.skipif(find_spec("mcp") is None, reason="the package mcp is absent")

ROOT = Path(__file__).parents[3]
ASK = "float s[32][32]; s[threadIdx.x][threadIdx.y]"
KERNEL = """__global__ void turn(const float* in, float* out) {
  __shared__ float tile[32][32];
  tile[threadIdx.y][threadIdx.x] = in[threadIdx.y * 32 + threadIdx.x];
  __syncthreads();
  out[threadIdx.y * 32 + threadIdx.x] = tile[threadIdx.x][threadIdx.y];
}
int main() {
  float *a, *b;
  cudaMalloc(&a, 4096);
  cudaMalloc(&b, 4096);
  turn<<<1, dim3(32, 32)>>>(a, b);
}
"""
Ask = Callable[[Any], Any]


def talk(target: Any, conversation: Ask) -> None:
    """Connect to a server, and have a conversation with it."""
    import anyio
    from mcp import Client

    async def run() -> None:
        async with Client(target, read_timeout_seconds=300) as client:
            await conversation(client)

    # Of another thread, for in this one a browser's tests may have a loop of their own.
    with ThreadPoolExecutor(1) as pool:
        pool.submit(anyio.run, run).result()


def over_stdio(root: Path) -> StdioServerParameters:
    from mcp import StdioServerParameters

    kept = ("PATH", "HOME", "NUMBA_CACHE_DIR", "LD_LIBRARY_PATH", "XDG_CACHE_HOME")
    environment = {name: os.environ[name] for name in kept if name in os.environ}
    words = ["-m", "bankwise", "mcp", "--root", str(root)]
    return StdioServerParameters(
        command=sys.executable, args=words, env={**environment, "PYTHONPATH": str(ROOT)}
    )


def text_of(result: Any) -> str:
    return "\n".join(part.text for part in result.content)


@needs_tools
@needs_compiler
def test_an_agents_session_over_stdio(tmp_path: Path) -> None:
    from tests.once import compile_the_largest

    compile_the_largest()  # else the server would, for itself
    (tmp_path / "k.cu").write_text(KERNEL)

    async def conversation(client: Any) -> None:
        tools = {each.name: each for each in (await client.list_tools()).tools}
        assert sorted(tools) == sorted(TOOLS)
        for tool in tools.values():
            Draft202012Validator.check_schema(tool.input_schema)
            assert tool.annotations.read_only_hint
            assert "    " not in tool.description
        answer = await client.call_tool("explain", {"question": ASK})
        assert not answer.is_error
        assert text_of(answer).startswith("32-way bank conflict: 32 wavefronts where 1 is enough")
        assert "pad to float s[32][33]" in text_of(answer)
        assert answer.structured_content["totals"]["answer"]["level"] == "conflict"

        wrong = await client.call_tool("explain", {"question": "float s[4]; s["})
        assert wrong.is_error
        assert "expression ends too early" in text_of(wrong)

        lines = await client.call_tool("sass", {"file": "k.cu"})
        assert not lines.is_error, text_of(lines)
        Draft202012Validator(schema("sass")).validate(lines.structured_content)
        assert lines.structured_content["totals"] == {"bank_conflicts": 992}
        rows = lines.structured_content["rows"]
        assert {row["line"] for row in rows if row["bank_conflicts"]} == {5}

        mended = await client.call_tool("sass", {"file": "k.cu", "fix": True})
        assert "tile[32][33]" in text_of(mended)
        Draft202012Validator(schema("sass", strict=True)).validate(mended.structured_content)
        assert mended.structured_content["totals"]["fixes"][0]["totals"]["bank_conflicts"] == 0

        outside = await client.call_tool("sass", {"file": "../other.cu"})
        assert outside.is_error
        assert "'../other.cu' is not in" in text_of(outside)

    talk(over_stdio(tmp_path), conversation)


@pytest.mark.parametrize(
    ("tool", "given", "said"),
    [
        ("explain", {"question": "lane*33", "op": "LDS"}, "Conflict-free"),
        (
            "explain",
            {"question": "lane%16, lane/16*8", "op": "ldmatrix.x4", "element": 2, "chip": "A100",
             "layout": "(64,64):(64,1)"},
            "LDSM.16.M88.4 on A100",
        ),
        ("count", {"question": ASK, "block": "32x8", "rule": "documented"}, "bank conflicts"),
        (
            "optimize",
            {"accesses": ["float s[32][32]; s[tid][i]", "2*STS: float s[32][32]; s[i][tid]"],
             "loops": {"i": 32}},
            "layout of any kind does better than 96 cycles",
        ),
        ("compare", {"inputs": ["float s[32][32]; s[tx][0]", "float s[32][33]; s[tx][0]"]},
         "1 wavefront instead of 32"),
        ("compare", {"inputs": ["4x8", "2x16"]}, "wavefronts"),
    ],
)  # fmt: skip
def test_every_question_is_answered_by_its_schema(
    tool: str, given: dict[str, Any], said: str, tmp_path: Path
) -> None:
    async def conversation(client: Any) -> None:
        result = await client.call_tool(tool, given)
        assert not result.is_error, text_of(result)
        assert said in text_of(result)
        Draft202012Validator(schema(tool, strict=True)).validate(result.structured_content)
        assert result.structured_content["rows"]

    talk(server(tmp_path), conversation)


@pytest.mark.parametrize(
    ("tool", "given", "said"),
    [
        ("optimize", {"accesses": []}, "accepted: one question in C or more"),
        ("optimize", {"accesses": ["float s[32][4]; s[tx][0]", "float t[32][4]; t[tx][0]"]},
         "are two arrays"),
        ("compare", {"inputs": ["4x8"]}, "1 inputs (accepted: two or more)"),
        ("explain", {"question": ASK, "chip": "A10O"}, "did you mean A100"),
        ("explain", {"question": ASK, "chip": "/etc/x.json"}, "is not in"),
        ("explain", {"question": ASK, "rule": "slicon"}, "silicon"),
        ("sass", {"file": "none.cu"}, "there is no 'none.cu'"),
        ("sass", {"file": "k.cu", "include": ["/usr"]}, "'/usr' is not in"),
        ("sass", {"file": "k.cu", "grid": "1", "block": "32", "args": ["../a.npy"]}, "is not in"),
        ("sass", {"file": "k.cu", "grid": "1", "block": "32",
                  "args": ["tma:/etc/a.npy:box=4"]}, "is not in"),
        ("sass", {"file": "link.cu"}, "'link.cu' is not in"),
        ("sass", {"file": "a\0b"}, "is not in"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused_with_a_reason(
    tool: str, given: dict[str, Any], said: str, tmp_path: Path
) -> None:
    root = tmp_path / "root"
    root.mkdir()
    (root / "k.cu").write_text(KERNEL)
    (tmp_path / "outside.cu").write_text(KERNEL)
    (root / "link.cu").symlink_to(tmp_path / "outside.cu")

    async def conversation(client: Any) -> None:
        result = await client.call_tool(tool, given)
        assert result.is_error
        assert said in text_of(result)

    talk(server(root), conversation)


def test_a_long_text_is_cut(tmp_path: Path) -> None:
    tools = Tools(tmp_path)
    reply = tools.compare(["float s[32][32]; s[tx][0]" + " " * n for n in range(100)])
    assert len(reply.text) < MOST_TEXT + 100
    assert reply.text.endswith(f"... cut after {MOST_TEXT:,} characters")
    with pytest.raises(InputError):
        tools.compare([])


def test_without_the_library_the_extra_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from simulator.cli import main

    monkeypatch.setitem(sys.modules, "mcp.server", None)
    assert main(["mcp"]) == 2
    assert "bankwise mcp needs the package mcp, which is not installed" in capsys.readouterr().err


def test_the_page_for_agents_names_every_tool_and_argument(tmp_path: Path) -> None:
    import re

    page = (ROOT / "docs" / "how-to" / "agents.md").read_text(encoding="utf-8")

    async def conversation(client: Any) -> None:
        for tool in (await client.list_tools()).tools:
            (row,) = re.findall(rf"^\| `{tool.name}` \|(.*)$", page, re.MULTILINE)
            assert re.findall(r"`(\w+)`", row) == list(tool.input_schema["properties"])

    talk(server(tmp_path), conversation)
    assert f"{MOST_TEXT:,} characters" in page
