"""What is compiled once for all processes of a run.

Those of pytest-xdist start at once with nothing compiled: each would compile every hot loop for
itself. Here one compiles, and the others wait for it. And what Python compiles is kept beside the
sources, where Numba keeps hot loops, even where PYTHONDONTWRITEBYTECODE says otherwise: a hundred
processes that tests start would each compile all that they import.
"""

from __future__ import annotations

import fcntl
import gc
import os
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

TESTS = Path(__file__).parent


class Plugin:
    """A folder of locks, a file a function, from the first process to the others."""

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

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection(self, session: pytest.Session) -> None:
        """Import this process's share of the tests first.

        Pytest rewrites assertions as it imports a file, and keeps the result. All processes import
        all files, in one order: each would rewrite each file.
        """
        given = getattr(session.config, "workerinput", None)
        if given is None or session.config.args_source is not pytest.Config.ArgsSource.TESTPATHS:
            return
        mine = int(given["workerid"].removeprefix("gw"))
        for path in sorted(TESTS.rglob("test_*.py"))[mine :: given["workercount"]]:
            # What is wrong with a file, or skips it, is told when it is collected.
            with suppress(Exception, pytest.skip.Exception):
                import_module(".".join(path.relative_to(TESTS.parent).with_suffix("").parts))

    def pytest_collection_finish(self) -> None:
        """Let Python's collector pass over the tests themselves: they live to the end."""
        gc.collect()
        gc.freeze()

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        """Tell a process where the folder is."""
        node.workerinput["locks"] = self.folder


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
