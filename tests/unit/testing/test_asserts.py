"""The assertions for kernel projects, and the plugin that hands them out."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from layouts.errors import BankwiseError
from simulator import count
from simulator.testing.asserts import assert_conflict_free, assert_wavefronts

ROOT = Path(__file__).parents[3]


def failure(call: Any, *args: Any, **options: Any) -> str:
    with pytest.raises(AssertionError) as caught:
        call(*args, **options)
    return str(caught.value)


def test_what_is_good_passes() -> None:
    assert_conflict_free("LDS.128", "(lane/8)*132 + lane%8*4")
    assert_conflict_free("LDS", [4 * 33 * lane for lane in range(32)])
    assert_conflict_free("LDS", np.arange(64).reshape(2, 32) * 4)
    assert_conflict_free("LDS", "lane*(32 + PAD)", names={"PAD": 1})
    assert_conflict_free("LDS", [128 * lane for lane in range(32)], 1)  # one lane alone
    assert_conflict_free("LDS", "tid", warps=32)
    assert_conflict_free("LDS", "64/lane*0 + lane", mask=0xFFFFFFFE)  # lane 0 is not evaluated
    assert_wavefronts("LDS.128", "lane*4", at_most=4)
    assert_wavefronts("LDS.128", "lane/2*4", at_most=2)
    assert_wavefronts("LDS.128", "lane/2*4", at_most=4, rule="documented")


def test_a_failure_shows_lanes_banks_and_words() -> None:
    said = failure(assert_conflict_free, "LDS", [128 * (lane % 2) for lane in range(32)])
    lines = said.splitlines()
    assert lines[:4] == [
        "LDS has 1 bank conflict (accepted: 0)",
        "LDS, silicon rule: 2 wavefronts (1 ideal), 1 bank conflict.",
        "Phase 0, lanes 0-31: lanes 0 and 1 read different words of bank 0:"
        " 2 wavefronts for this phase.",
        "phase    banks    wavefronts    lane -> word",
    ]
    assert len(lines) == 6
    even, odd = ("/".join(map(str, range(first, 32, 2))) for first in (0, 1))
    assert lines[5] == f"0        0        2             {even} -> 0, {odd} -> 32"


def test_a_failure_names_the_worst_access() -> None:
    both = np.stack([np.arange(32) * 4, np.arange(32) * 64, np.arange(32) * 128])
    said = failure(assert_conflict_free, "LDS", both, name="Bs[k][lane]")
    assert said.startswith(
        "Bs[k][lane]: LDS has 31 bank conflicts (accepted: 0); that is access 2, the worst of 2 of"
        " 3 that have too many\n"
    )
    said = failure(assert_wavefronts, "STS", "lane*(warp+1)", warps=4, at_most=3)
    assert said.startswith(
        "lane*(warp+1): STS has 4 wavefronts (accepted: up to 3); that is warp 3"
    )
    said = failure(assert_conflict_free, "LDS.128", "lane*8", mask=0xFFFF00FF)
    assert "lanes 0 and 4 read different words of banks 0-3" in said
    assert "0        0-3      2             0 -> 0-3, 4 -> 32-35" in said
    assert said.endswith("... and 4 more rows")


def test_a_failure_without_conflicts_has_no_table() -> None:
    said = failure(assert_wavefronts, "LDS.128", "lane*4", at_most=3)
    assert said.startswith("lane*4: LDS.128 has 4 wavefronts (accepted: up to 3)\n")
    assert "lane -> word" not in said


def test_the_figures_are_counts() -> None:
    addresses = [64 * lane for lane in range(32)]
    wavefronts = int(count("LDS", addresses).wavefronts)
    assert_wavefronts("LDS", addresses, at_most=wavefronts)
    failure(assert_wavefronts, "LDS", addresses, at_most=wavefronts - 1)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"op": "LD", "addresses": [0] * 32}, "unknown instruction"),
        ({"op": "LDS", "addresses": [0] * 31}, "accepted: (..., 32)"),
        ({"op": "LDS", "addresses": [1] * 32}, "misaligned"),
        ({"op": "LDS", "addresses": "lane*X"}, "unknown name 'X'"),
        ({"op": "LDS", "addresses": "lane", "warps": 0}, "accepted: 1 to 32"),
        ({"op": "LDS", "addresses": "lane", "rule": "mine"}, "unknown rule"),
        # Whatever is multiplied by 0 or reads lane as 0 has no conflicts.
        ({"op": "LDS", "addresses": "lane*32", "element": 0}, "accepted: 1 to 16 bytes"),
        ({"op": "LDS", "addresses": "lane*32", "element": "4"}, "accepted: 1 to 16 bytes"),
        ({"op": "LDS", "addresses": "lane*32", "names": {"lane": 0}}, "their own meaning"),
        ({"op": "LDS", "addresses": "lane*n", "names": ["n"]}, "accepted: a mapping"),
        ({"op": "LDS", "addresses": [0] * 32, "element": 2}, "for an index expression"),
        ({"op": "LDS", "addresses": [0] * 32, "warps": 4}, "for an index expression"),
        ({"op": "LDS", "addresses": "lane", "mask": -1}, "mask -0x1"),
    ],
)
def test_bad_input_is_no_assertion(options: dict[str, Any], message: str) -> None:
    with pytest.raises(BankwiseError) as caught:
        assert_conflict_free(**options)
    assert message in str(caught.value)
    with pytest.raises(BankwiseError, match="accepted: 0, 1, 2"):
        assert_wavefronts("LDS", "lane", at_most=-1)


PROJECT = """
def test_good(assert_conflict_free):
    assert_conflict_free("LDS.128", "(lane/8)*132 + lane%8*4")

def test_swizzle_deleted(assert_wavefronts):
    assert_wavefronts("LDS", "lane*32", at_most=1, name="tile[threadIdx.x][0]")
"""


def run_pytest(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    plugins = ["-p", "pytest_bankwise", "-p", "no:cacheprovider"]
    return subprocess.run(
        [sys.executable, *options[:1], "-m", "pytest", *options[1:], *plugins, "-q"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        check=False,
        text=True,
    )


def test_a_project_gets_the_fixtures(tmp_path: Path) -> None:
    (tmp_path / "test_kernel.py").write_text(PROJECT)
    done = run_pytest(tmp_path)
    assert done.returncode == 1, done.stderr
    assert "1 failed, 1 passed" in done.stdout
    assert "tile[threadIdx.x][0]: LDS has 32 wavefronts (accepted: up to 1)" in done.stdout
    assert "0 -> 0, 1 -> 32, 2 -> 64, 3 -> 96, ... (32 in all)" in done.stdout
    assert ">       assert_wavefronts(" in done.stdout  # the test's line, not ours
    assert "def _check(" not in done.stdout


def test_a_bad_expression_shows_the_tests_line_alone(tmp_path: Path) -> None:
    (tmp_path / "test_kernel.py").write_text(
        "def test_mine(assert_conflict_free):\n"
        "    assert_conflict_free('LDS', 'lane*')\n"
        "def test_typo(assert_wavefronts):\n"
        "    assert_wavefronts('LDX', 'lane', at_most=1)\n"
    )
    done = run_pytest(tmp_path)
    assert done.returncode == 1, done.stderr
    assert ">       assert_conflict_free('LDS', 'lane*')" in done.stdout
    assert "ExpressionError: expression ends too early at column 6" in done.stdout
    assert "unknown instruction 'LDX'" in done.stdout
    assert "expression.py" not in done.stdout
    assert "asserts.py" not in done.stdout
    assert "lark" not in done.stdout


@pytest.mark.parametrize(
    "name",
    [
        "layouts",
        *(pytest.param(each, marks=pytest.mark.slow) for each in ("simulator", "viz", "gpu_check")),
    ],
)
def test_a_folder_that_hides_one_of_ours_is_named(tmp_path: Path, name: str) -> None:
    (tmp_path / name).mkdir()
    (tmp_path / name / "__init__.py").write_text("")
    (tmp_path / "test_kernel.py").write_text(f"import {name}\n{PROJECT}")
    done = run_pytest(tmp_path)
    assert done.returncode == 1, done.stderr
    if name in ("viz", "gpu_check"):  # which the assertions do not need
        assert "1 failed, 1 passed" in done.stdout
        return
    assert "2 errors" in done.stdout
    said = (
        f"{tmp_path / name} hides the package {name!r} of bankwise (accepted: rename this folder,"
        " or run python -P -m pytest --import-mode=importlib)"
    )
    assert done.stdout.count(said) >= 2
    assert "Traceback" not in done.stdout
    assert "ModuleNotFoundError" not in done.stdout
    (tmp_path / "test_kernel.py").write_text(PROJECT)
    done = run_pytest(tmp_path, "-P", "--import-mode=importlib")
    assert "1 failed, 1 passed" in done.stdout


def test_the_entry_point_is_the_plugin() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    (name,) = project["entry-points"]["pytest11"].values()
    plugin = importlib.import_module(name)
    assert {"assert_conflict_free", "assert_wavefronts"} <= set(plugin.__all__)


def test_ideal_is_a_number_of_wavefronts() -> None:
    fused = "128*(lane/16) + 8*(lane/2%8)"  # a bank conflict that costs nothing
    assert_wavefronts("LDS.64", fused, element=1, at_most="ideal")
    with pytest.raises(AssertionError, match="1 bank conflict"):
        assert_conflict_free("LDS.64", fused, element=1)
    with pytest.raises(AssertionError) as caught:
        assert_wavefronts("LDS", "lane*32", at_most="ideal")
    assert "LDS has 31 excessive wavefronts (accepted: 0)" in str(caught.value)
    with pytest.raises(BankwiseError, match="'ideal'"):
        assert_wavefronts("LDS", "lane", at_most="idea")  # type: ignore[arg-type]
