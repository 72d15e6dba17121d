"""The command `bankwise gpu-check`."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from gpu_check.gemm import GEMMS
from gpu_check.recordings import save
from simulator.cli import main
from simulator.cli.commands import cli
from tests.gpu_samples import MEASURED


class TestCommand:
    def test_recorded(self) -> None:
        result = CliRunner().invoke(cli, ["gpu-check", "--recorded", "--op", "LDS.64"])
        assert result.exception is None
        assert "LDS.64" in result.output

    def test_recorded_kernels_as_json(self) -> None:
        result = CliRunner().invoke(
            cli, ["gpu-check", "--recorded", "--kernels", "--format", "json"]
        )
        rows = json.loads(result.output)["rows"]
        assert [row["equal"] for row in rows] == [True] * len(GEMMS)

    def test_a_difference_is_exit_code_1(self, tmp_path: Path) -> None:
        path = tmp_path / "wrong.npz"
        save(path, [replace(MEASURED, wavefronts=np.array([2, 3]))], {})
        assert main(["gpu-check", "--load", str(path)]) == 1

    def test_a_damaged_recording_is_exit_code_2(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        path = tmp_path / "bad.npz"
        path.write_bytes(b"PK nothing")
        assert main(["gpu-check", "--load", str(path)]) == 2
        assert "is not a whole recording" in capsys.readouterr().err

    def test_accesses_without_figures_are_exit_code_2(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        path = tmp_path / "bare.npz"
        save(
            path,
            [
                replace(
                    MEASURED,
                    cycles=None,
                    spread=None,
                    wavefronts=None,
                    bank_conflicts=None,
                )
            ],
            {},
        )
        assert main(["gpu-check", "--load", str(path)]) == 2
        assert "no measurements of any instruction" in capsys.readouterr().err

    def test_nothing_to_compare_is_exit_code_2(self, tmp_path: Path) -> None:
        path = tmp_path / "kept.npz"
        save(path, [MEASURED], {})
        assert main(["gpu-check", "--load", str(path), "--op", "STS"]) == 2

    @pytest.mark.parametrize(
        ("mode", "odd"),
        [
            ("--recorded", ["--save", "x.npz"]),
            ("--recorded", ["--load", "x.npz"]),
            ("--recorded", ["--full"]),
            ("--recorded", ["--phases"]),
            ("--recorded", ["--counters", "off"]),
            ("--recorded", ["--device", "1"]),
            ("--recorded", ["--seed", "1"]),
            ("--recorded --kernels", ["--op", "LDS"]),
            ("--load x.npz", ["--kernels"]),
            ("--load x.npz", ["--save", "y.npz"]),
            ("--kernels", ["--op", "LDS"]),
            ("--kernels", ["--save", "x.npz"]),
            ("--kernels", ["--phases"]),
            ("--phases", ["--full"]),
            ("--phases", ["--seed", "1"]),
        ],
    )
    def test_an_option_that_would_be_ignored_is_refused(
        self, mode: str, odd: list[str], capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert main(["gpu-check", *mode.split(), *odd]) == 2
        said = capsys.readouterr()
        assert said.out == ""
        assert f"{odd[0]}: " in said.err
        assert "would have no effect" in said.err

    def test_a_chip_file_under_another_name_is_refused(
        self, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert main(["gpu-check", "--phases", "--save", "x.npz"]) == 2
        said = capsys.readouterr().err
        assert "--save: x.npz is not a chip file's name (accepted: FILE.json)" in said

    def test_a_negative_seed_is_refused(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["gpu-check", "--seed", "-1"]) == 2
        assert "--seed" in capsys.readouterr().err
