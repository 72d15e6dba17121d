"""What importing bankwise, and asking it small things, must not load."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

HEAVY = (
    "numba", "cupy", "plotly", "pandas", "click", "tqdm", "pyarrow", "optuna", "hypothesis",
)  # fmt: skip

SMALL = """
from simulator import count, explain, simulate
count("LDS.128", [16 * lane for lane in range(32)])
explain("LDS.128", [16 * lane for lane in range(32)])
simulate("4x8", 128)
"""


def loaded(code: str) -> set[str]:
    """Names of HEAVY that running `code` in a fresh interpreter loads."""
    report = f"\nimport sys\nprint(*(name for name in {HEAVY!r} if name in sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", code + report], capture_output=True, check=True, text=True
    )
    return set(done.stdout.split())


@pytest.mark.parametrize(
    "code",
    [
        "import bankwise",
        "from bankwise import count",
        "import gpu_check",
        "import layouts",
        "import simulator",
        "import simulator.search",
        "import simulator.testing.asserts",
        SMALL,
    ],
)
def test_small_things_load_nothing_heavy(code: str) -> None:
    assert loaded(code) == set()


def test_the_pytest_plugin_costs_nothing() -> None:
    """Every pytest run of every project that has bankwise installed imports it."""
    code = "import pytest_bankwise, sys; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)
    names = {name.partition(".")[0] for name in done.stdout.split()}
    assert "pytest_bankwise" in names
    assert not names & {*HEAVY, "numpy", "simulator", "layouts", "tabulate"}


def test_bankwise_loads_nothing_until_it_is_asked() -> None:
    code = "import bankwise, bankwise.hidden, sys; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)
    names = {name.partition(".")[0] for name in done.stdout.split()}
    assert "bankwise" in names
    assert not names & {*HEAVY, "numpy", "simulator", "layouts", "tabulate"}


def test_the_test_above_can_fail() -> None:
    assert loaded("import numba") >= {"numba"}
    many = "import numpy, simulator\nsimulator.count('LDS', numpy.zeros((200_001, 32), int))"
    assert "numba" in loaded(many)


def test_the_command_loads_gpu_check_only_when_it_is_asked() -> None:
    code = """
import sys
from simulator.cli import main
main(["simulate"])
print("gpu_check" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)
    assert done.stdout.split()[-1] == "False"


def test_every_package_has_its_layer() -> None:
    """What import-linter is told in pyproject.toml; a name that it does not know, it ignores."""
    tool = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]
    layers, _ = tool["importlinter"]["contracts"]
    listed = [name for line in layers["layers"] for name in line.split(" | ")]
    packages = tool["hatch"]["build"]["targets"]["wheel"]["packages"]
    inside = {
        f"simulator.{path.stem}"
        for path in (ROOT / "simulator").iterdir()
        if path.suffix == ".py" or (path / "__init__.py").exists()
    }
    assert sorted(listed) == sorted({*packages, *inside} - {"simulator", "simulator.__init__"})
    assert sorted(tool["importlinter"]["root_packages"]) == sorted(packages)


@pytest.mark.slow
def test_nowhere_to_keep_compiled_code(tmp_path: Path) -> None:
    """As in an installation that belongs to another user, without a home."""
    for package in ("simulator", "layouts"):
        shutil.copytree(
            ROOT / package, tmp_path / package, ignore=shutil.ignore_patterns("__pycache__")
        )
    for folder in ("", "law", "search", "sass"):
        (tmp_path / "simulator" / folder / "__pycache__").touch()  # where a folder would be made
    code = (
        "import simulator.sass.lift.engine, simulator.search.bound, simulator.law.numba_engine\n"
        "print(simulator.__file__, simulator.law.numba_engine._count.stats.cache_path)\n"
        "print(simulator.count('LDS', [4 * lane for lane in range(32)], engine='numba').wavefronts)"
    )
    places = dict.fromkeys(("HOME", "XDG_CACHE_HOME", "NUMBA_CACHE_DIR"), "/dev/null/none")
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True, text=True, cwd=tmp_path, env={**os.environ, **places},
    )  # fmt: skip
    assert done.stdout.split() == [str(tmp_path / "simulator" / "__init__.py"), "None", "1"], done


@pytest.mark.slow
def test_no_room_for_compiled_code(tmp_path: Path) -> None:
    """As on a full disk: files can be made, but not written."""
    code = (
        "import resource, simulator.law.numba_engine\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))\n"
        "print(simulator.law.numba_engine._count.stats.cache_path)\n"
        "print(simulator.count('LDS', [4 * lane for lane in range(32)], engine='numba').wavefronts)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True, text=True, cwd=ROOT,
        env={**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)},
    )  # fmt: skip
    folder, wavefronts = done.stdout.split()
    assert Path(folder).parent == tmp_path, done
    assert wavefronts == "1", done
    assert not [each for each in tmp_path.rglob("*") if each.is_file()]


@pytest.mark.parametrize(
    ("package", "code", "extra"),
    [
        ("plotly", "import viz", "viz"),
        ("pandas", "simulator.simulate().to_dataframe()", "pandas"),
        (
            "pyarrow",
            "simulator.sweep(simulator.simulate, {'pad': 0}).to_parquet('rows')",
            "parquet",
        ),
        ("hypothesis", "import simulator.testing.strategies", "testing"),
    ],
)
def test_what_is_missing_is_named_with_its_extra(package: str, code: str, extra: str) -> None:
    code = f"""
import sys
sys.modules[{package!r}] = None
import simulator
try:
    {code}
except simulator.MissingPackageError as error:
    print(isinstance(error, ImportError), error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)
    told, message = done.stdout.split(maxsplit=1)
    assert told == "True"
    assert f"is not installed (in a checkout of bankwise: pip install '.[{extra}]')" in message
