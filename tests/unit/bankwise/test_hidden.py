"""A folder of the user's with the name of one of ours: what the command and imports say."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from bankwise.hidden import PACKAGES, hidden

ROOT = Path(__file__).parents[3]
NEEDS = {  # a command that needs the package
    "layouts": ["simulate"],
    "simulator": ["simulate"],
    "viz": ["simulate", "--html", "page.html"],
    "gpu_check": ["gpu-check", "--recorded"],
}


def run(
    *command: str | Path, folder: Path, path: Path | None = None
) -> subprocess.CompletedProcess[str]:
    """Run Python in `folder`; `path` stands first in PYTHONPATH, this repository last."""
    places = [str(path)] * (path is not None) + [str(ROOT)]
    return subprocess.run(
        [sys.executable, *map(str, command)],
        capture_output=True, text=True, cwd=folder, check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(places)},
    )  # fmt: skip


@pytest.fixture
def script(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The command `bankwise` as installers write it, in a folder of its own."""
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"]
    module, _, function = declared["bankwise"].partition(":")
    path = tmp_path_factory.mktemp("bin") / "bankwise"
    path.write_text(f"import sys\nfrom {module} import {function}\nsys.exit({function}())\n")
    return path


def package(folder: Path, name: str) -> Path:
    (folder / name).mkdir(parents=True)
    (folder / name / "__init__.py").write_text('"""A package of the user\'s."""\n')
    return folder / name


@pytest.mark.parametrize("name", NEEDS)
def test_python_m_bankwise_names_the_folder(tmp_path: Path, name: str) -> None:
    place = package(tmp_path, name)
    done = run("-m", "bankwise", *NEEDS[name], folder=tmp_path)
    assert done.returncode == 2
    assert done.stderr == (
        f"bankwise: {place} hides the package {name!r} of bankwise (accepted: rename this folder,"
        " or run from another folder, or run python -P -m bankwise)\n"
    )
    assert not done.stdout
    assert not (tmp_path / "page.html").exists()


@pytest.mark.parametrize("name", NEEDS)
def test_the_ways_to_go_on_work(tmp_path: Path, name: str) -> None:
    place = package(tmp_path / "project", name)
    safe = run("-P", "-m", "bankwise", *NEEDS[name], folder=place.parent)
    assert safe.returncode == 0, safe.stderr
    (tmp_path / "elsewhere").mkdir()
    elsewhere = run("-m", "bankwise", *NEEDS[name], folder=tmp_path / "elsewhere")
    assert elsewhere.returncode == 0, elsewhere.stderr


@pytest.mark.parametrize("name", NEEDS)
def test_the_script_names_the_folder(tmp_path: Path, script: Path, name: str) -> None:
    """A script does not search the current folder; PYTHONPATH it does."""
    place = package(tmp_path / "project", name)
    done = run(script, *NEEDS[name], folder=place.parent, path=place.parent)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        f"bankwise: {place} hides the package {name!r} of bankwise (accepted: rename this folder,"
        f" or take {place.parent} out of PYTHONPATH)\n"
    )
    assert run(script, *NEEDS[name], folder=place.parent).returncode == 0


def test_a_file_hides_as_well(tmp_path: Path) -> None:
    (tmp_path / "layouts.py").write_text("")
    done = run("-m", "bankwise", "simulate", folder=tmp_path)
    assert done.returncode == 2
    assert f"{tmp_path / 'layouts.py'} hides the package 'layouts'" in done.stderr
    assert "rename this file" in done.stderr


def test_what_a_command_does_not_need_may_be_hidden(tmp_path: Path) -> None:
    package(tmp_path, "viz")
    package(tmp_path, "gpu_check")
    assert run("-m", "bankwise", "simulate", folder=tmp_path).returncode == 0


def test_a_folder_without_an_init_hides_nothing(tmp_path: Path) -> None:
    (tmp_path / "layouts").mkdir()
    (tmp_path / "layouts" / "tile.py").write_text("")
    assert run("-m", "bankwise", "simulate", folder=tmp_path).returncode == 0


def test_both_are_named(tmp_path: Path) -> None:
    package(tmp_path, "layouts")
    package(tmp_path, "simulator")
    done = run("-m", "bankwise", "simulate", folder=tmp_path)
    assert done.stderr.count("hides the package") == 2


@pytest.mark.parametrize("code", ["from bankwise import count", "import bankwise; bankwise.count"])
@pytest.mark.parametrize("name", ["layouts", "simulator"])
def test_an_import_says_it(tmp_path: Path, name: str, code: str) -> None:
    place = package(tmp_path, name)
    done = run("-c", code, folder=tmp_path)
    assert done.returncode == 1
    last = done.stderr.splitlines()[-1]
    assert last.startswith(f"ImportError: {place} hides the package {name!r} of bankwise (accepted")


def test_a_loaded_package_is_seen(tmp_path: Path) -> None:
    """As in pytest, where a test may have loaded the user's package before a fixture asks."""
    place = package(tmp_path / "project", "layouts")
    code = (
        f"import sys; sys.path.insert(0, {str(place.parent)!r}); import layouts; del sys.path[0]\n"
        "from bankwise.hidden import hidden; print(hidden('layouts'))"
    )
    done = run("-c", code, folder=tmp_path)
    assert done.stdout == (
        f"{place} hides the package 'layouts' of bankwise (accepted: rename this folder)\n"
    )


def test_here_nothing_is_hidden() -> None:
    assert hidden() is None
    assert all(hidden(name) is None for name in PACKAGES)
