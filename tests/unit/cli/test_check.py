"""`bankwise check` on a small repository, as a job of GitHub Actions runs it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from simulator.cli import main
from tests.command import command
from tests.sass_kernels import needs_compiler, needs_tools

KERNEL = """__global__ void turn(const float* in, float* out) {
  __shared__ float tile[32][33];
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
CONFIG = """baseline = "baseline.json"

[[kernel]]
file = "src/turn.cu"
"""
FREE = "[[access]]\nask = 'float s[32][33]; s[threadIdx.x][threadIdx.y]'\nconflicts = 0\n"


def git(folder: Path, *words: str) -> str:
    who = ("-c", "user.name=a", "-c", "user.email=a@b.c", "-c", "init.defaultBranch=main")
    done = subprocess.run(
        ["git", *who, *words], cwd=folder, check=True, capture_output=True, text=True
    )
    return done.stdout


def bankwise(folder: Path, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run the command as a job does: in its own process, without a terminal."""
    return subprocess.run(
        [sys.executable, "-m", "bankwise", *words],
        cwd=folder, env={**os.environ, **environment}, capture_output=True, text=True, check=False,
    )  # fmt: skip


@needs_tools
@needs_compiler
def test_a_change_that_conflicts_is_caught_and_mended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [each for each in os.environ if each.startswith("GITHUB_")]:
        monkeypatch.delenv(name)
    repository, summary = tmp_path / "repository", tmp_path / "summary.md"
    source = repository / "src" / "turn.cu"
    source.parent.mkdir(parents=True)
    source.write_text(KERNEL)
    (repository / "bankwise.toml").write_text(CONFIG)
    git(repository, "init")
    job = {"GITHUB_ACTIONS": "true", "GITHUB_STEP_SUMMARY": str(summary),
           "GITHUB_WORKSPACE": str(repository)}  # fmt: skip

    missing = command("check", folder=repository, environment=job)
    assert missing.code == 2
    assert "baseline.json is missing (bankwise check --update writes it)" in missing.err

    first = command("check", "--update", folder=repository)
    assert (first.code, first.err.splitlines()[-1]) == (
        0, f"Wrote {repository / 'baseline.json'}",
    )  # fmt: skip
    git(repository, "add", "-A")
    git(repository, "commit", "-m", "first")
    passes = command("check", folder=repository, environment=job)
    assert passes.code == 0, passes.out + passes.err
    assert "::error" not in passes.out
    assert "✅ holds" in summary.read_text()
    assert git(repository, "status", "--short") == ""

    source.write_text("// A comment moves every line.\n" + KERNEL.replace("[33]", "[32]"))
    summary.unlink()
    fails = bankwise(
        repository / "src", "check", "--junit", "../j.xml", "--sarif", "../s.json", **job
    )
    assert fails.returncode == 1, fails.stdout + fails.stderr
    (line,) = [each for each in fails.stdout.splitlines() if each.startswith("::error")]
    assert line.startswith("::error file=src/turn.cu,line=6,title=bankwise%3A bank conflicts::")
    assert "992 bank conflicts instead of the baseline's 0 (LDS: 32-way)" in line
    said = summary.read_text()
    assert "❌ broken" in said
    assert "`src/turn.cu` line 6: 992 bank conflicts instead of" in said
    assert 'file="src/turn.cu"' in (repository / "j.xml").read_text()
    run = json.loads((repository / "s.json").read_text())["runs"][0]
    place = run["results"][0]["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == "src/turn.cu"
    assert place["region"]["startLine"] == 6

    assert command("check", "--update", folder=repository).code == 0
    assert command("check", folder=repository, environment=job).code == 0
    changed = git(repository, "diff", "--stat", "--", "baseline.json")
    assert "baseline.json" in changed


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name in ("GITHUB_ACTIONS", "GITHUB_STEP_SUMMARY", "GITHUB_WORKSPACE"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "bankwise.toml").write_text(FREE)
    return tmp_path


def test_exit_codes(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check"]) == 0
    assert capsys.readouterr().out.startswith("All limits hold: 1 entry")
    (here / "bankwise.toml").write_text(FREE.replace("33", "32"))
    assert main(["check"]) == 1
    (here / "bankwise.toml").write_text(FREE.replace("conflicts", "conflict"))
    assert main(["check"]) == 2
    said = capsys.readouterr().err
    assert "bankwise.toml, access 1: unknown key 'conflict': did you mean conflicts?" in said
    (here / "bankwise.toml").write_text(FREE.replace("s[", "s["[:-1]))
    assert main(["check"]) == 2
    (here / "bankwise.toml").unlink()
    assert main(["check"]) == 2
    assert "no bankwise.toml in" in capsys.readouterr().err
    assert main(["check", "none.toml"]) == 2
    assert "none.toml cannot be read" in capsys.readouterr().err


def test_files_that_cannot_be_written_are_refused_before_the_work(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["check", "--junit", "none/j.xml"]) == 2
    assert "none/j.xml cannot be written" in capsys.readouterr().err
    assert main(["check", "--update"]) == 2
    assert "--update has no baseline to write" in capsys.readouterr().err


def test_json_stays_json_in_a_job(
    here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    (here / "bankwise.toml").write_text(FREE.replace("33", "32"))
    assert main(["check", "--format", "json"]) == 1
    printed = capsys.readouterr()
    assert json.loads(printed.out)["rows"][0]["conflicts"] == 992
    assert printed.err.startswith("::error file=bankwise.toml,line=1,")
    assert main(["check", "--format", "csv"]) == 1
    printed = capsys.readouterr()
    assert printed.out.startswith("entry,kind,status,file,line,conflicts,excessive,")


def test_a_job_reads_no_command_in_what_is_printed(
    here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    (here / "bankwise.toml").write_text(FREE + "name = '::warning::x'\n")
    assert main(["check"]) == 0
    first, *inside, last = capsys.readouterr().out.splitlines()
    assert first.startswith("::stop-commands::")
    assert last == f"::{first.removeprefix('::stop-commands::')}::"
    assert any(line.startswith("::warning::x") for line in inside)


def test_markdown(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "--format", "md"]) == 0
    assert capsys.readouterr().out.startswith("### bankwise: All limits hold: 1 entry\n\n| entry |")


def test_a_job_says_why_nothing_was_checked(
    here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    (here / "bankwise.toml").write_text("limit = 3")
    assert main(["check"]) == 2
    first, second = capsys.readouterr().err.splitlines()
    assert first.startswith("::error title=bankwise%3A cannot be checked::")
    assert first.partition("::error title=bankwise%3A cannot be checked::")[2] in second
