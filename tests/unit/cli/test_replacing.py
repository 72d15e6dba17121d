"""What the command line gives of a launch beside what the file says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import pytest

from simulator.cli.commands import main
from simulator.cli.replacing import replaced, typed
from simulator.sass.code.launches import find_launches

pytest.importorskip("tree_sitter_cuda")

KERNEL = """using real = float;
template <typename T> __global__ void k(real *a, int n, real s, T t) { a[n] = s; }
"""
HOST = """int main(int argc, char **argv) {
    int n = 64; float *a; cudaMalloc(&a, 256); k<<<n / 32, atoi(argv[1])>>>(a, n, 1.0f, 2);
}
"""


def with_options(**given: Any) -> Any:
    """Return what is left of the file's launch where these options are given."""
    command = click.Command(
        "sass",
        params=[click.Option([f"--{name.replace('_', '-')}"]) for name in ("grid", "block")],
    )
    words = [word for name, value in given.items() for word in (f"--{name}", value)]
    with command.make_context("sass", words) as context:
        (found,) = replaced(find_launches(KERNEL + HOST), context.params).launches
    return found


@pytest.fixture(autouse=True)
def shapes_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("simulator.cli.replacing.REPLACED", ("grid", "block"))


def test_an_option_replaces_its_part_of_the_launch() -> None:
    found = with_options(block="16x2")
    assert (found.kernel, found.grid, found.block, found.unknown) == ("k<int>", "2", "16x2", ())
    assert found.arguments == ("random:f32[64]", "i32=64", "f32=1.0", "i32=2")


def test_what_is_still_not_known_is_asked_for() -> None:
    found = with_options(grid="8")
    assert (found.grid, found.unknown) == ("8", ("atoi(argv[1])",))


def test_numbers_take_the_types_of_their_parameters(tmp_path: Path) -> None:
    path = tmp_path / "k.cu"
    path.write_text(KERNEL + "__global__ void other(int n) {}\n")
    given = ["zeros:f32[4]", "32", "-1.5e3", "7"]
    assert typed(given, str(path), "k<int>") == ["zeros:f32[4]", "i32=32", "f32=-1.5e3", "7"]
    assert typed(given, str(path), None) == ["zeros:f32[4]", "i32=32", "f32=-1.5e3", "7"]
    assert typed(["5"], str(path), "other") == ["i32=5"]
    assert typed(["5"], str(path), "none") == ["5"]


def test_a_file_to_check_against_is_read_before_the_work(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "k.cu"
    path.write_text("this does not compile;")
    assert main(["sass", str(path), "--check", "0=none.npy"]) == 2
    assert "none.npy cannot be read" in capsys.readouterr().err
