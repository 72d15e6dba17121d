"""Comparisons that --check asks for: refused before the replay where they cannot be made."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click import BadParameter

from simulator.cli import main
from simulator.cli.outputs import check_arguments, read_checks
from simulator.errors import LaunchError
from simulator.sass.parameters import Pointer


@pytest.fixture
def wanted(tmp_path: Path) -> str:
    np.save(tmp_path / "wanted.npy", np.zeros((2, 4), np.float32))
    return str(tmp_path / "wanted.npy")


@pytest.mark.parametrize("text", ["7", "0=", "x={}", "=0", "0={}.txt", "-1={}", "0 {}"])
def test_what_is_not_a_comparison_is_refused(text: str, wanted: str) -> None:
    with pytest.raises(BadParameter, match=r"accepted: ARG=FILE.npy or ARG=FILE.npy:TOLERANCE"):
        read_checks([text.format(wanted)])


@pytest.mark.parametrize("tolerance", ["", "x", "-1", "nan", "inf", "1e"])
def test_what_is_not_a_tolerance_is_refused(tolerance: str, wanted: str) -> None:
    with pytest.raises(BadParameter, match="accepted: a number from 0 on, such as 1e-3"):
        read_checks([f"0={wanted}:{tolerance}"])


def test_a_comparison_is_read(wanted: str) -> None:
    exact, near = read_checks([f"0={wanted}", f"12={wanted}:1e-3"])
    assert (exact.argument, exact.tolerance, exact.wanted.shape) == (0, 0, (2, 4))
    assert (near.argument, near.tolerance, near.file) == (12, 1e-3, wanted)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [([], r"no argument 1 \(accepted: none"), ([1], r"no argument 1 \(accepted: 0 to 0\)"),
     ([1, np.int32(3)], "is not an array"), ([1, (np.zeros(8),)], "is not an array"),
     ([1, np.zeros(7)], r"has \(7,\), and .*wanted.npy \(2, 4\)")],
)  # fmt: skip
def test_a_comparison_that_a_launch_cannot_have_is_refused(
    arguments: list[Any], words: str, wanted: str
) -> None:
    checks = read_checks([f"1={wanted}"])
    with pytest.raises(LaunchError, match=words):
        check_arguments(checks, arguments)
    check_arguments(checks, [None, np.zeros(8)])
    check_arguments(checks, [None, Pointer(np.zeros(8), 8)])


def test_a_malformed_comparison_is_refused_before_the_file_is_read(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["sass", "nowhere.cu", "--check", "7"]) == 2
    assert "'7' is not a comparison" in capsys.readouterr().err
