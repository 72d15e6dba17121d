"""The pytest plugin: fixtures that fail a test when a layout gets bank conflicts.

    def test_tile_of_a(assert_conflict_free):
        assert_conflict_free("LDS.128", "(lane/8)*132 + lane%8*4")

pytest loads this module in every run of every project that has bankwise installed, so it
imports nothing: `simulator.testing` is loaded when a test asks for one of its assertions. It is a
package of its own because importing anything of `simulator` imports NumPy.

    pytest --bankwise-baseline FILE                      kernels are no worse than recorded there
    pytest --bankwise-baseline FILE --bankwise-update    records them
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from simulator.testing.asserts import AssertConflictFree, AssertWavefronts
    from simulator.testing.kernels import AssertKernelConflictFree, KernelGuard

__all__ = ["assert_conflict_free", "assert_kernel_conflict_free", "assert_wavefronts"]

_FROM_WORKERS = "bankwise"
"""Where a process of pytest-xdist leaves what it recorded."""
_GUARD: pytest.StashKey[KernelGuard] = pytest.StashKey()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add --bankwise-baseline and --bankwise-update."""
    group = parser.getgroup("bankwise")
    group.addoption(
        "--bankwise-baseline",
        metavar="FILE",
        help="assert_kernel_conflict_free: kernels recorded in FILE may be no worse than there.",
    )
    group.addoption(
        "--bankwise-update",
        action="store_true",
        help="Record what they cost now in the file of --bankwise-baseline.",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Refuse an update of nothing."""
    if config.getoption("bankwise_update") and not config.getoption("bankwise_baseline"):
        raise pytest.UsageError("--bankwise-update is for --bankwise-baseline FILE")


@pytest.fixture(scope="session")
def assert_conflict_free() -> AssertConflictFree:
    """Return `simulator.testing.asserts.assert_conflict_free`."""
    _check_nothing_is_hidden()
    from simulator.testing.asserts import assert_conflict_free

    return assert_conflict_free


@pytest.fixture(scope="session")
def assert_wavefronts() -> AssertWavefronts:
    """Return `simulator.testing.asserts.assert_wavefronts`."""
    _check_nothing_is_hidden()
    from simulator.testing.asserts import assert_wavefronts

    return assert_wavefronts


@pytest.fixture
def assert_kernel_conflict_free(request: pytest.FixtureRequest) -> AssertKernelConflictFree:
    """Return `simulator.testing.kernels.assert_kernel_conflict_free`, with the baseline if any."""
    _check_nothing_is_hidden()
    if request.config.getoption("bankwise_baseline"):
        guard = _guard(request.config)
        return partial(guard.check, request.node.nodeid)
    from simulator.testing.kernels import assert_kernel_conflict_free

    return assert_kernel_conflict_free


def _guard(config: pytest.Config) -> KernelGuard:
    """Return what compares with the baseline, one for the whole run."""
    if _GUARD not in config.stash:
        from layouts.errors import BankwiseError
        from simulator.testing.kernels import KernelGuard

        place = config.invocation_params.dir / config.getoption("bankwise_baseline")
        try:
            guard = KernelGuard(place, update=config.getoption("bankwise_update"))
        except BankwiseError as error:
            pytest.fail(str(error), pytrace=False)
        config.stash[_GUARD] = guard
    return config.stash[_GUARD]


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Take what a process of pytest-xdist recorded."""
    recorded = getattr(node, "workeroutput", {}).get(_FROM_WORKERS)
    if recorded:
        _guard(node.config).take(recorded)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Write the baseline, where that is asked for; a process of pytest-xdist hands it on."""
    config = session.config
    if not config.getoption("bankwise_update") or _GUARD not in config.stash:
        return
    guard = config.stash[_GUARD]
    output = getattr(config, "workeroutput", None)
    if output is not None:
        output[_FROM_WORKERS] = guard.given()
        return
    from layouts.errors import BankwiseError

    try:
        guard.write()
    except BankwiseError as error:
        pytest.exit(f"bankwise: {error}", returncode=2)


def _check_nothing_is_hidden() -> None:
    """Fail with one sentence where a folder of the project's hides a package that is needed."""
    from bankwise.hidden import hidden

    # pytest puts the folders of tests first on Python's path, wherever it is started.
    go_on = "run python -P -m pytest --import-mode=importlib"
    if message := hidden("layouts", "simulator", go_on=go_on):
        pytest.fail(message, pytrace=False)
