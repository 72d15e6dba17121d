"""Tables that people read in a pipe: none is so wide that its lines are broken."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from simulator.cli import main

ASK = "float s[32][32]; s[threadIdx.x][threadIdx.y]"


def widest(text: str) -> int:
    """Return the width of the first table."""
    lines = text.splitlines()
    rule = next(number for number, line in enumerate(lines) if line.startswith("---"))
    return max(len(line) for line in [*lines[rule - 1 : rule + 3]])


def test_the_table_of_chips(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["chips"]) == 0
    assert widest(capsys.readouterr().out) <= 120
    assert main(["chips", "--format", "json"]) == 0
    assert {"measured", "instructions", "blocks_per_sm"} <= set(
        json.loads(capsys.readouterr().out)["rows"][0]
    )


def test_the_table_of_limits_cuts_names(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ask = f"{ASK[:-1]} + 0 + 0 + 0 + 0 + 0 + 0 + 0 + 0]"
    file = tmp_path / "bankwise.toml"
    file.write_text(f'[[access]]\nask = "{ask}"\nconflicts = 0\n')
    assert main(["check", str(file)]) == 1
    said = capsys.readouterr().out
    assert widest(said) <= 120
    assert f"\n{ask[:43]}… " in said
    assert f"\n{ask}: " in said
    assert "excessive" not in said
    file.write_text(f'[[access]]\nask = "{ask}"\nexcessive = 0\n')
    assert main(["check", str(file)]) == 1
    assert "excessive" in capsys.readouterr().out
    assert main(["check", str(file), "--format", "json"]) == 1
    assert json.loads(capsys.readouterr().out)["rows"][0]["entry"] == ask


def test_a_search_has_wavefronts_only_where_they_differ_from_cycles(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["optimize", "--access", ASK, "--access", "s[threadIdx.y][threadIdx.x] = 0"]) == 0
    said = capsys.readouterr().out
    assert "wavefronts" not in said.splitlines()[2]
    assert "\nWavefronts are as many as cycles.\n" in f"{said}\n"
