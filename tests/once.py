"""What is compiled once for all processes of a run.

Those of pytest-xdist start at once with nothing compiled: each would compile every hot loop for
itself. Here one compiles, and the others wait for it. A run of all tests begins with the largest
loops, in a process of their own, so that they are there before the tests that need them. And what
Python compiles is kept beside the sources, where Numba keeps hot loops, even where
PYTHONDONTWRITEBYTECODE says otherwise: a hundred processes that tests start would each compile all
that they import.

Run as a file, this is the process that compiles the largest loops: `python -m tests.once FOLDER`.
"""

from __future__ import annotations

import fcntl
import gc
import os
import subprocess
import sys
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest

TESTS = Path(__file__).parent


class Plugin:
    """A folder of locks, a file a function, from the first process to the others."""

    tests = 0

    def pytest_configure(self, config: pytest.Config) -> None:
        """Make the folder, or use it."""
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
        given = getattr(config, "workerinput", {}).get("locks")
        if given:
            _lock_compiling(Path(given))
        elif getattr(config.option, "numprocesses", 0):
            folder = TemporaryDirectory()
            config.add_cleanup(folder.cleanup)
            self.folder = folder.name

    def pytest_sessionstart(self, session: pytest.Session) -> None:
        """Begin to compile, where all tests will run."""
        if hasattr(self, "folder") and _runs_all(session.config):
            command = [sys.executable, "-m", "tests.once", self.folder]
            process = subprocess.Popen(command, cwd=TESTS.parent)
            session.config.add_cleanup(process.wait)
            session.config.add_cleanup(process.kill)

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection(self, session: pytest.Session) -> None:
        """Import this process's share of the tests first.

        Pytest rewrites assertions as it imports a file, and keeps the result. All processes import
        all files, in one order: each would rewrite each file.
        """
        given = getattr(session.config, "workerinput", None)
        if given is None or not _runs_all(session.config):
            return
        mine = int(given["workerid"].removeprefix("gw"))
        for path in sorted(TESTS.rglob("test_*.py"))[mine :: given["workercount"]]:
            # What is wrong with a file, or skips it, is told when it is collected.
            with suppress(Exception, pytest.skip.Exception):
                import_module(".".join(path.relative_to(TESTS.parent).with_suffix("").parts))

    def pytest_collection_finish(self) -> None:
        """Let Python's collector pass over the tests themselves: they live to the end."""
        _keep_what_lives()

    def pytest_runtest_logfinish(self) -> None:
        """Let it pass over what modules and caches hold, now and then, as more and more is held."""
        self.tests += 1
        if self.tests % 400 == 0:
            _keep_what_lives()

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self) -> None:
        """Let it pass over all that is left: pytest and Python collect again before they end."""
        _keep_what_lives()

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        """Tell a process where the folder is."""
        node.workerinput["locks"] = self.folder


def _keep_what_lives() -> None:
    """Collect garbage, and look at what lives for the last time: it took a tenth of a run."""
    gc.collect()
    gc.freeze()


def _runs_all(config: pytest.Config) -> bool:
    return (
        config.args_source is pytest.Config.ArgsSource.TESTPATHS and not config.option.collectonly
    )


def _lock_compiling(folder: Path) -> None:
    from numba.core.caching import NullCache
    from numba.core.compiler_lock import global_compiler_lock
    from numba.core.dispatcher import Dispatcher

    compile_ = Dispatcher.compile

    def locked(self: Any, sig: Any) -> Any:
        if isinstance(self._cache, NullCache):
            return compile_(self, sig)
        name = f"{self.py_func.__module__}.{self.py_func.__qualname__}"
        # Numba's lock first: two threads would else wait for each other.
        with global_compiler_lock, (folder / name).open("w") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            return compile_(self, sig)  # which looks among what is kept

    Dispatcher.compile = locked


def compile_the_largest() -> None:
    """Run the loops that take longest to compile, once each.

    A test calls it before it starts a process that needs them all: while another one compiles
    them, it waits.
    """
    from simulator import count, replay_compiled
    from tests.sass_kernels import HERE, has_tools

    for number in (np.uint32, np.uint64):
        count("LDS", np.zeros((1, 32), number), engine="numba")
    if has_tools():
        tile = np.zeros((32, 32), np.float32)
        replay_compiled(
            HERE / "cubins" / "transpose.cubin", kernel="transpose_padded",
            grid=(1, 1), block=(32, 8), args=(tile, tile.copy(), np.int32(32)),
        ).time()  # fmt: skip


if __name__ == "__main__":
    _lock_compiling(Path(sys.argv[1]))
    compile_the_largest()
