"""Machine code on disk: what is found again, and what counts as absent."""

from __future__ import annotations

import os
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from simulator import replay_compiled
from simulator.sass import kept
from simulator.sass.code.nvdisasm import disassemble
from simulator.sass.lift import engine
from tests.sass_kernels import cubin, needs_tools

CODE = b"\x7fELF\n machine code"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("BANKWISE_CACHE", raising=False)
    return tmp_path / "bankwise" / "code"


def test_what_is_kept_is_found_and_is_the_users_alone(folder: Path) -> None:
    name = kept.key("block", 3)
    assert kept.find(name) is None
    kept.keep(name, CODE)
    assert kept.find(name) == CODE
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert [each.name for each in folder.iterdir()] == [name]
    assert kept.key("block", 4) != name


@pytest.mark.parametrize("place", [0, 40, -1])
def test_what_was_changed_or_cut_is_absent(folder: Path, place: int) -> None:
    name = kept.key("block", 3)
    kept.keep(name, CODE)
    data = bytearray((folder / name).read_bytes())
    data[place] ^= 1
    (folder / name).write_bytes(data)
    assert kept.find(name) is None
    (folder / name).write_bytes(data[: len(data) // 2])
    assert kept.find(name) is None
    kept.keep(name, CODE)
    other = kept.key("block", 4)
    (folder / name).rename(folder / other)  # of another block
    assert kept.find(other) is None


def test_what_others_may_write_is_absent(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name = kept.key("block", 3)
    kept.keep(name, CODE)
    (folder / name).chmod(0o666)
    assert kept.find(name) is None
    (folder / name).chmod(0o600)
    assert kept.find(name) == CODE
    folder.chmod(0o777)
    assert kept.find(name) is None
    folder.chmod(0o700)
    monkeypatch.setattr(os, "getuid", lambda: 12345)
    assert kept.find(name) is None


def test_links_are_not_followed(folder: Path, tmp_path: Path) -> None:
    name = kept.key("block", 3)
    kept.keep(name, CODE)
    (folder / name).rename(tmp_path / "elsewhere")
    (folder / name).symlink_to(tmp_path / "elsewhere")
    assert kept.find(name) is None


def test_it_can_be_turned_off(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BANKWISE_CACHE", "0")
    kept.keep(kept.key("block", 3), CODE)
    assert not folder.exists()


@pytest.mark.parametrize("place", ["/dev/null/none", "/proc/none", "relative"])
def test_a_place_that_cannot_be_written_is_tolerated(
    place: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", place)
    kept.keep(kept.key("block", 3), CODE)
    assert kept.find(kept.key("block", 3)) is None


@pytest.mark.parametrize("limit", ["MOST_BYTES", "MOST_FILES"])
def test_what_was_not_read_for_longest_goes(
    folder: Path, monkeypatch: pytest.MonkeyPatch, limit: str
) -> None:
    monkeypatch.setattr(kept, "_bound", lambda folder: None)
    names = [kept.key(number) for number in range(8)]
    for number, name in enumerate(names):
        kept.keep(name, CODE)
        os.utime(folder / name, (number, number))
    assert kept.find(names[0]) == CODE  # which is a use of it
    size = (folder / names[0]).stat().st_size
    monkeypatch.undo()
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder.parents[1]))
    monkeypatch.setattr(kept, "_OFTEN", 1)
    monkeypatch.setattr(kept, limit, 4 * size if limit == "MOST_BYTES" else 4)
    kept.keep(kept.key("new"), CODE)
    left = {each.name for each in folder.iterdir()}
    assert left == {names[0], names[6], names[7], kept.key("new")}


def test_several_may_keep_the_same_at_once(folder: Path) -> None:
    name = kept.key("block", 3)

    def write_and_read(_: int) -> bool:
        kept.keep(name, CODE)
        return kept.find(name) == CODE

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(write_and_read, range(200)))
    assert [each.name for each in folder.iterdir()] == [name]


@needs_tools
@pytest.mark.usefixtures("afresh")
def test_a_kernel_is_compiled_once(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def run() -> list[float]:
        engine._helper.cache_clear()
        a = np.arange(4096, dtype=np.float32).reshape(64, 64)
        args = [a, np.zeros_like(a), np.int32(64)]
        report = replay_compiled(
            cubin("transpose"), kernel="transpose_padded", grid=(2, 2), block=(32, 8), args=args
        )
        assert (report.outputs[1] == a.T).all()
        return report.totals()["all"]

    disassemble.cache_clear()
    first = run()
    assert list(folder.iterdir())

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("compiled again")

    with monkeypatch.context() as patched:
        patched.setattr(engine, "_compile_module", refuse)
        disassemble.cache_clear()
        patched.setattr("simulator.sass.code.bounded.subprocess.Popen", refuse)
        assert run() == first
    for each in folder.iterdir():
        each.write_bytes(b"damaged")
    disassemble.cache_clear()
    assert run() == first
