"""Runs every example of the Markdown files: ``>>>`` in python blocks, ``$`` in console blocks."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from importlib.util import find_spec
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from sybil import Example, Sybil
from sybil.parsers.markdown import CodeBlockParser, PythonCodeBlockParser

import simulator  # noqa: F401 - else pytest imports a module twice whose doctests it collects first
from tests.examples import EXAMPLES

settings.register_profile("bankwise", deadline=None, print_blob=True, max_examples=EXAMPLES)
settings.load_profile("bankwise")

# jsonschema takes it where it is installed, and it builds 40 grammars when it is imported: two
# seconds in each process, for the format of IRIs, which no schema of ours has.
sys.modules.setdefault("rfc3987_syntax", None)  # type: ignore[arg-type]

ROOT = Path(__file__).parent

# What is printed must not hang on who runs the tests: pytest-xdist sets COLUMNS in its workers.
for _name in ("COLUMNS", "FORCE_COLOR", "GITHUB_ACTIONS", "GITHUB_STEP_SUMMARY", "NO_COLOR"):
    os.environ.pop(_name, None)

# Their examples compile CUDA: for them, the extra `sass`.
COMPILES = find_spec("elftools") is not None and find_spec("cuda") is not None
collect_ignore = []
if not COMPILES:
    collect_ignore += ["docs/how-to/sass.md", "docs/tutorial.md", "simulator/sass/replay.py"]
    collect_ignore += ["docs/how-to/triton.md", "docs/how-to/hopper.md"]
if find_spec("triton") is None:  # the extra `test` brings it
    collect_ignore += ["docs/how-to/triton.md", "tests/triton_kernels.py"]
if find_spec("grimp") is None:  # the extra `lint` brings it
    collect_ignore += ["docs/house.py"]
if find_spec("griffe") is None:  # the extra `docs` brings it
    collect_ignore += ["docs/site.py"]

TOGETHER = (
    ("tests/unit/test_docstrings.py", "tests/unit/test_structure.py"),  # they parse all sources
    ("tests/browser/",),  # to start a browser takes longer than most tests in it
)
"""Tests that share so much that one process runs all of them."""

AFRESH = os.environ.get("BANKWISE_AFRESH", "0") != "0"
"""Whether each kernel is compiled and disassembled by processes of its own: for a user, it is."""

SHARES = (
    "tests/gpu/", "tests/silicon/test_sass.py", "tests/silicon/test_hopper.py",
    "tests/unit/cli/test_mcp.py", "tests/unit/gpu_check/hopper/test_recorded.py",
    "tests/unit/sass/run/", "tests/unit/test_examples.py",
)  # fmt: skip

WAIT = (".md", "tests/browser/", "tests/unit/cli/test_mcp.py", "tests/unit/test_examples.py")
"""How those end that need the largest hot loops: a process that begins with them would wait."""


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """Return three processes for two cores: many a test waits for a compiler or a browser."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return (cores or 1) * 3 // 2


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Let one process of pytest-xdist run what belongs together: a document, a browser, a GPU.

    The examples of a document build on each other, a browser is started once, a kernel is compiled
    or replayed for several tests, all sources are read or a figure is drawn for several, and clocks
    of a GPU mean nothing while another test uses it.
    (`--dist=loadgroup` does nothing under pytest 9.2.)
    """
    from xdist.scheduler import LoadScopeScheduling

    class Together(LoadScopeScheduling):
        parted = False

        def _assign_work_unit(self, node: Any) -> None:
            """Let what has several tests come first, of these last what waits for hot loops."""
            if not self.parted:
                self.parted = True
                waits = [scope for scope in self.workqueue if scope.endswith(WAIT)]
                alone = [scope for scope, tests in self.workqueue.items() if len(tests) == 1]
                for scope in (*waits, *alone):
                    self.workqueue.move_to_end(scope)
            super()._assign_work_unit(node)

        def _split_scope(self, nodeid: str) -> str:
            file, _, _ = nodeid.partition("::")
            for together in TOGETHER:
                if file.startswith(together):
                    return together[0]
            return file if file.endswith(".md") or file.startswith(SHARES) else nodeid

        def mark_test_complete(self, node: Any, item_index: int, duration: float = 0) -> None:
            """Forget what is complete: after each test, all that a process was given is counted."""
            super().mark_test_complete(node, item_index, duration)
            scope = self._split_scope(self.registered_collections[node][item_index])
            if all(self.assigned_work[node][scope].values()):
                del self.assigned_work[node][scope]

    return Together(config, log) if config.option.dist == "load" else None


def pytest_configure(config: pytest.Config) -> None:
    """Compile in forks and take recorded listings: a process a kernel takes longer than the tests.

    The slow tests, and those that ask for `afresh`, do without. Hot loops are compiled once for
    all processes.
    """
    if os.name == "posix":
        from tests import once

        config.pluginmanager.register(once.Plugin(), "once")
    if not COMPILES or AFRESH or config.option.markexpr == "slow" or config.option.collectonly:
        return
    from tests import forks, listings

    config.pluginmanager.register(listings.Plugin(), "listings")
    patch = pytest.MonkeyPatch()
    forks.start(patch)
    config.add_cleanup(patch.undo)


@pytest.fixture
def afresh(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Compile and disassemble by processes of their own, as a user does."""
    plugin = request.config.pluginmanager.get_plugin("listings")
    if plugin is None:
        return
    from simulator.sass.code import compiling, nvdisasm

    monkeypatch.setattr(compiling, "subprocess", subprocess)
    monkeypatch.setattr(nvdisasm, "_listing", plugin.listings.true)
    compiling.child.cache_clear()
    nvdisasm.disassemble.cache_clear()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip README's blocks of Python that replay a compiled kernel, where that is not installed."""
    if COMPILES:
        return
    text = (ROOT / "README.md").read_text()
    needs = set()
    for block in re.finditer(r"^```python\n.*?^```$", text, re.DOTALL | re.MULTILINE):
        if "replay_compiled" in block[0]:
            needs |= set(
                range(text.count("\n", 0, block.start()), text.count("\n", 0, block.end()))
            )
    for item in items:
        if item.path == ROOT / "README.md" and item.example.line in needs:  # type: ignore[attr-defined]
            item.add_marker(pytest.mark.skip(reason="bankwise[sass] is not installed"))


def run_console(example: Example) -> None:
    """Run each `$ bankwise …` of a block in this process and compare what it prints.

    A command that is refused prints its message, and that is compared.
    Other commands (installing, say) are for the reader and are not run here.
    """
    from simulator.cli.commands import main

    for session in ("\n" + example.parsed).split("\n$ ")[1:]:
        command, _, expected = session.partition("\n")
        name, *arguments = shlex.split(command, comments=True)
        if name != "bankwise" or "&&" in arguments:
            assert not expected.strip(), f"not run here, so no output can be claimed: {command}"
            continue
        if "sass" in command and not COMPILES:
            continue
        with redirect_stdout(StringIO()) as said, redirect_stderr(StringIO()) as refused:
            code = main(arguments)
        text = (refused if code == 2 else said).getvalue()
        printed = [line.rstrip() for line in text.splitlines()]
        assert printed == [line.rstrip() for line in expected.strip("\n").splitlines()]


pytest_collect_file = Sybil(
    parsers=[PythonCodeBlockParser(), CodeBlockParser("console", run_console)],
    patterns=["*.md"],
    path=str(ROOT),
    excludes=[".venv/**/*.md", "CHANGELOG.md"],
).pytest()
