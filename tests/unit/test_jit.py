"""Compiled code on disk: it follows every edit, and damage to it is repaired."""

from __future__ import annotations

import importlib
import os
import pickle
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numba
import pytest

from simulator import jit

HOT = """
from simulator.jit import jit
from made.inner.cool import ONE, step

@jit()
def double(number):
    return 2 * (number + step() * ONE)
"""
COOL = """
from simulator.jit import jit

ONE = 1

@jit()
def step():
    return 1
"""


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], ModuleType]:
    """Import a package with a hot loop as a new process would, its compiled code in `cache`."""
    (tmp_path / "made" / "inner").mkdir(parents=True)
    for name, text in (
        ("hot", HOT),
        ("inner/cool", COOL),
        ("__init__", ""),
        ("inner/__init__", ""),
    ):
        (tmp_path / "made" / f"{name}.py").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path / "cache"))

    def imported() -> ModuleType:
        for name in [name for name in sys.modules if name.partition(".")[0] == "made"]:
            del sys.modules[name]
        importlib.invalidate_caches()
        jit._digest.cache_clear()
        return importlib.import_module("made.hot")

    return imported


def hits(hot: ModuleType) -> int:
    return sum(hot.double.stats.cache_hits.values())


def files(tmp_path: Path, suffix: str) -> list[Path]:
    return [path for path in (tmp_path / "cache").rglob(f"*{suffix}") if path.is_file()]


def test_compiled_code_is_kept(made: Callable[[], ModuleType]) -> None:
    assert made().double(20) == 42
    again = made()
    assert again.double(20) == 42
    assert hits(again) == 1


@pytest.mark.parametrize(
    ("old", "new"),
    [("return 1", "return 2"), ("ONE = 1", "ONE = 2"), ("jit()", "jit(fastmath=True)")],
)
def test_an_edit_of_another_module_is_noticed(
    made: Callable[[], ModuleType], tmp_path: Path, old: str, new: str
) -> None:
    cool = tmp_path / "made" / "inner" / "cool.py"
    assert made().double(20) == 42
    cool.write_text(COOL.replace(old, new))
    edited = made()
    assert edited.double(20) == (42 if "jit" in old else 44)
    assert hits(edited) == 0
    cool.write_text(COOL)
    assert made().double(20) == 42


def turned(text: bytes) -> bytes:
    """Turn one bit in the middle of machine code, which pickle does not notice."""
    at = text.rindex(b"\x7fELF") + 64
    return text[:at] + bytes([text[at] ^ 1]) + text[at + 1 :]


DAMAGES: dict[str, tuple[str, Callable[[bytes], bytes]]] = {
    "an index of 0 bytes": (".nbi", lambda text: b""),
    "an index cut": (".nbi", lambda text: text[:-20]),
    "an index of random bytes": (".nbi", lambda text: bytes(range(256))),
    "an index of another kind": (".nbi", lambda text: 2 * pickle.dumps(numba.__version__)),
    "code of 0 bytes": (".nbc", lambda text: b""),
    "code cut": (".nbc", lambda text: text[: len(text) // 2]),
    "code of random bytes": (".nbc", lambda text: bytes(range(256))),
    "another object": (".nbc", lambda text: pickle.dumps(7)),
    "one wrong bit": (".nbc", turned),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_damaged_code_is_compiled_anew(
    made: Callable[[], ModuleType], tmp_path: Path, damage: str
) -> None:
    assert made().double(20) == 42
    suffix, harm = DAMAGES[damage]
    for path in files(tmp_path, suffix):
        path.write_bytes(harm(path.read_bytes()))
    damaged = made()
    assert damaged.double(20) == 42
    assert hits(damaged) == 0
    repaired = made()
    assert repaired.double(20) == 42
    assert hits(repaired) == 1


def test_code_of_other_types_is_not_taken_for_it(
    made: Callable[[], ModuleType], tmp_path: Path
) -> None:
    hot = made()
    assert (hot.double(20), hot.double(20.5)) == (42, 43.0)
    one, other = sorted(path for path in files(tmp_path, ".nbc") if "double" in path.name)
    one.write_bytes(other.read_bytes())
    again = made()
    assert (again.double(20), again.double(20.5)) == (42, 43.0)


def test_damage_on_a_full_disk(
    made: Callable[[], ModuleType], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert made().double(20) == 42
    for path in files(tmp_path, ".nbi"):
        path.write_bytes(b"")

    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(jit._CacheFile, "_save_index", full)
    assert made().double(20) == 42


def test_hot_loops_take_nothing_from_elsewhere() -> None:
    """Else compiled code would outlive an edit of what it took."""
    root = Path(jit.__file__).parent
    importing = re.compile(r"^from simulator\.jit import .*\bjit$", re.MULTILINE)
    hot = [path for path in root.rglob("*.py") if importing.search(path.read_text())]
    assert {path.parent.name for path in hot} == {"law", "search", "run", "timing"}
    for path in hot:
        own = ".".join(["simulator", *path.relative_to(root).parts[:1]])
        for line in path.read_text().splitlines():
            if line.startswith(("from simulator", "from layouts")):
                module = line.split()[1]
                assert module == "simulator.jit" or module.startswith((own, "simulator.law")), line


SMALL = """
import numpy as np
from simulator import OptionError, count, count_affine, count_linear, count_stream, totals
many = np.broadcast_to(4 * np.arange(32), (200_001, 32))
print(count("LDS", many).wavefronts.sum())
print(totals(count_stream("LDS", many))["wavefronts"])
for counted in (count, count_linear, count_affine):
    try:
        counted("LDS", many[:, : 32 if counted is count else 5], engine="numba")
    except OptionError as error:
        print(str(error).split(" (accepted")[0])
"""


def test_without_a_compiler() -> None:
    done = subprocess.run(
        [sys.executable, "-c", SMALL],
        capture_output=True, text=True, env={**os.environ, "NUMBA_DISABLE_JIT": "1"},
    )  # fmt: skip
    refused = ["engine 'numba' needs compiled code, and NUMBA_DISABLE_JIT is set"] * 3
    assert done.stdout.splitlines() == ["200001", "200001", *refused], done.stderr
