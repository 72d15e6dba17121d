"""Tables that people read in a pipe: none is so wide that its lines are broken."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from simulator.cli import main
from tests.sass_kernels import HERE, needs_tools

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
    assert widest(said) == 100
    assert f"\n{ask[:50]}" in said
    assert f"\n{ask} " not in said
    assert f"\n{ask}: " in said
    assert "excessive" not in said
    file.write_text(f'[[access]]\nask = "{ask}"\nexcessive = 0\n')
    assert main(["check", str(file)]) == 1
    assert "excessive" in capsys.readouterr().out
    assert main(["check", str(file), "--format", "json"]) == 1
    assert json.loads(capsys.readouterr().out)["rows"][0]["entry"] == ask


@needs_tools
def test_the_table_of_limits_on_time_fits_a_page(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It was 125 columns wide, and names that nothing was said of were cut."""
    file, name = tmp_path / "bankwise.toml", "a name that is so long that it does not fit " * 2
    file.write_text(
        f'[[kernel]]\nname = "{name}"\nfile = "{HERE / "cubins" / "transpose.cubin"}"\n'
        'kernel = "transpose_naive"\ngrid = 1\nblock = "32x8"\nchip = "H100"\ncycles = 100000\n'
        'args = ["random:f32[128,128]", "zeros:f32[128,128]", "i32=128"]\nexcessive = 100000\n'
        '[[access]]\nop = "LDS"\nask = "lane * 8"\nexcessive = 0\n'
    )
    assert main(["check", str(file)]) == 1
    said = capsys.readouterr().out
    assert widest(said) == 100
    assert f"\n\nIn full:\n  {name}" in said
    assert "gain: how much faster a launch would be without bank conflicts." in said


@pytest.mark.parametrize(
    "given",
    [
        ["--access", ASK],
        ["--access", ASK, "--access", "s[threadIdx.y][threadIdx.x] = 0"],
        ["--access", "LDS.128: lane/8*ld + lane%8*4", "--free", "ld=32..64"],
        ["--kernel", "leimao.v07", "--free", "pad_m=0..32:8", "--free", "pad_n=0..32:8"],
    ],
)
def test_the_table_of_a_search_fits_a_page(
    given: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """It was up to 192 columns wide."""
    assert main(["optimize", *given, "--format", "json"]) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert main(["optimize", *given]) == 0
    said = capsys.readouterr().out
    assert widest(said) <= 100
    for row in rows:
        assert row["access"] in said
        for figure in ("cycles", "bank_conflicts"):
            assert f"{row[f'{figure}_before']:,} → {row[figure]:,}" in said


def test_a_search_has_wavefronts_only_where_they_differ_from_cycles(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["optimize", "--access", ASK, "--access", "s[threadIdx.y][threadIdx.x] = 0"]) == 0
    said = capsys.readouterr().out
    assert "wavefronts" not in said.splitlines()[2]
    assert "\nWavefronts are as many as cycles.\n" in f"{said}\n"
