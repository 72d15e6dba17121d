"""Pages of what has no picture: lists, and a project's limits."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from simulator import CHIPS, INSTRUCTIONS, Chip
from simulator.cli import main
from viz.page.section import is_bad

LISTED = "instructions of shared memory, by the law of"
V100 = len(Chip.of("V100").instructions)

LIMITS = """
[[access]]
name = "padded"
ask = "float s[32][33]; s[lane][0]"
conflicts = 0

[[access]]
name = "column"
ask = "float s[32][32]; s[lane][0]"
conflicts = 0

[[access]]
name = "typing <b>"
ask = "float s[32]; s[threadIdx.q]"
"""


@pytest.mark.parametrize(
    ("command", "title", "cell"),
    [
        (
            ["ops"],
            f"{len(INSTRUCTIONS)} {LISTED} an H200",
            "ldmatrix.x4.trans",
        ),
        (
            ["ops", "--chip", "V100"],
            f"{V100} {LISTED} V100",
            "STS",
        ),
        (["chips"], f"{len(CHIPS)} chips, the law of", "Jetson Thor"),
        (["kernels"], "kernels of published tutorials", "leimao.v07"),
        (["estimate"], "estimates of a GEMM", "gemm_intensity"),
        (
            ["gpu-check", "--recorded", "--op", "ATOMS.CAS"],
            "All 416 accesses are as on",
            "ATOMS.CAS",
        ),
    ],
)
def test_a_list_becomes_a_page(
    command: list[str], title: str, cell: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "page.html"
    assert main([*command, "--html", str(file)]) == 0
    page = file.read_text(encoding="utf-8")
    heading = page.partition("<h1")[2].partition("</h1>")[0]
    assert title in heading
    assert f">{cell}</td>" in page
    assert len(page) < 100_000  # without Plotly
    assert main([*command, "--html", str(file)]) == 2  # not overwritten
    assert "--force" in capsys.readouterr().err


def test_limits_become_a_page(tmp_path: Path) -> None:
    (tmp_path / "bankwise.toml").write_text(LIMITS, encoding="utf-8")
    file = tmp_path / "page.html"
    assert main(["check", str(tmp_path / "bankwise.toml"), "--html", str(file)]) == 2
    page = file.read_text(encoding="utf-8")
    assert 'data-level="conflict"' in page
    assert "1 of 3 break a limit; 1 of 3 cannot be checked</h1>" in page
    assert "typing &lt;b&gt;</td>" in page
    below = page.partition("<pre>")[2].partition("</pre>")[0].splitlines()
    assert below[-2].index("threadIdx.q") == below[-1].index("^")


def test_a_list_has_no_picture_to_draw(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["chips", "--svg", str(tmp_path / "chips.svg")]) == 2
    assert "nothing to draw as SVG" in capsys.readouterr().err
    assert main(["compare", "chips", "ops"]) == 2
    assert "chips, a Table, cannot be compared (accepted: questions" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "bad"), [("conflicts", True), ("bank_conflicts", True), ("wavefronts", False)]
)
def test_broken_limits_stand_out_by_their_conflicts(name: str, bad: bool) -> None:
    """A page of `check` coloured excessive wavefronts and left the conflicts beside them grey."""
    assert is_bad(name, {"conflicts": 992, "bank_conflicts": 992, "wavefronts": 9}) == bad


def test_the_first_screen_of_an_estimate_says_its_value(tmp_path: Path) -> None:
    page = tmp_path / "a.html"
    assert (
        main(["estimate", "gemm_intensity", "m=4096", "n=4096", "k=4096", "--html", str(page)]) == 0
    )
    headline = re.search(r"<h[12][^>]*>(.*?)</h[12]>", page.read_text(), re.DOTALL)
    assert headline
    assert headline[1].startswith("gemm_intensity: 682.667. FLOP per byte")
