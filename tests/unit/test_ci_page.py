"""docs/how-to/ci.md: what it says to copy works, from the first run to a change that is caught."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.sass_kernels import needs_compiler, needs_tools

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "how-to" / "ci.md").read_text(encoding="utf-8")


def block(language: str, place: int = 0) -> str:
    return re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)[place]


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """Make what the page says."""
    for name, text in [
        ("bankwise.toml", block("toml")),
        ("src/transpose.cu", block("cuda")),
        (".github/workflows/bankwise.yml", block("yaml")),
    ]:
        path = tmp_path / "repository" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return tmp_path / "repository"


def test_the_workflow_is_one(repository: Path) -> None:
    pytest.importorskip("check_jsonschema")
    done = subprocess.run(
        [
            sys.executable, "-m", "check_jsonschema", "--builtin-schema",
            "vendor.github-workflows", ".github/workflows/bankwise.yml",
        ],
        cwd=repository, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr


@needs_tools
@needs_compiler
@pytest.mark.slow
def test_a_project_that_does_what_the_page_says(repository: Path, tmp_path: Path) -> None:
    (command,) = re.findall(r"- run: (bankwise .*)", block("yaml"))
    (update,) = re.findall(r"^(bankwise check .*)$", block("sh"), re.MULTILINE)
    bin_ = tmp_path / "bin"
    bin_.mkdir()
    (bin_ / "bankwise").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m bankwise "$@"\n')
    (bin_ / "bankwise").chmod(0o755)
    summary = tmp_path / "summary.md"

    def step(words: str, **job: str) -> subprocess.CompletedProcess[str]:
        path = f"{bin_}{os.pathsep}{os.environ['PATH']}"
        environment = {**os.environ, "PATH": path, "PYTHONPATH": str(ROOT), **job}
        return subprocess.run(
            ["bash", "-e", "-c", words], cwd=repository, env=environment, capture_output=True,
            text=True, check=False,
        )  # fmt: skip

    done = step(update)
    assert done.returncode == 0, done.stdout + done.stderr
    assert (repository / "bankwise-baseline.json").exists()
    job = {
        "GITHUB_ACTIONS": "true",
        "GITHUB_WORKSPACE": str(repository),
        "GITHUB_STEP_SUMMARY": str(summary),
    }
    done = step(command, **job)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "All limits hold: 4 entries" in done.stdout
    assert "::error" not in done.stdout

    source = repository / "src" / "transpose.cu"
    source.write_text(source.read_text().replace("[33]", "[32]"))
    done = step(command, **job)
    assert done.returncode == 1, done.stdout + done.stderr
    errors = [line for line in done.stdout.splitlines() if line.startswith("::error")]
    (line,) = errors
    assert line.startswith("::error file=src/transpose.cu,line=7,")
    assert "instead of the baseline's 0" in line
    assert "❌ broken" in summary.read_text()
    assert (repository / "bankwise.xml").exists()
    assert (repository / "bankwise.sarif").exists()

    allowed = "tile[threadIdx.x][threadIdx.y];"
    source.write_text(source.read_text().replace(allowed, f"{allowed} // bankwise: allow 32-way"))
    done = step(f"{update} && {command}", **job)
    assert done.returncode == 0, done.stdout + done.stderr


@needs_tools
@needs_compiler
def test_the_commands_without_a_file(repository: Path) -> None:
    from simulator.cli import main

    lines = re.findall(r"^bankwise (.*)$", block("sh", 1), re.MULTILINE)
    assert len(lines) == 3
    words = ["sass", str(repository / "src" / "transpose.cu"), "--fail-on-conflict"]
    assert main(words) == 0
    source = repository / "src" / "transpose.cu"
    source.write_text(source.read_text().replace("[33]", "[32]"))
    assert main(words) == 1


def test_the_page_names_every_key() -> None:
    from simulator.checking.figures import LIMITS
    from simulator.checking.keys import ENTRIES

    for kind, keys in ENTRIES.items():
        (row,) = re.findall(rf"^\| `\[\[{kind}\]\]` \|(.*)$", PAGE, re.MULTILINE)
        said = set(re.findall(r"`(\w+)`", row)) - {"explain"}
        own = set(keys) - {"name", "chip", "rule"}
        if kind in ("kernel", "triton"):
            own |= {"per_line", "arrays"}
        assert said == own, kind
    for name in LIMITS:
        assert f"| `{name}` |" in PAGE
