"""The pytest plugin: fixtures that fail a test when a layout gets bank conflicts.

    def test_tile_of_a(assert_conflict_free):
        assert_conflict_free("LDS.128", "(lane/8)*132 + lane%8*4")

pytest loads this module in every run of every project that has bankwise installed, so it
imports nothing: `simulator.testing` is loaded when a test asks for one of its assertions. It is a
package of its own because importing anything of `simulator` imports NumPy.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from simulator.testing.asserts import AssertConflictFree, AssertWavefronts

__all__ = ["assert_conflict_free", "assert_wavefronts"]


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


def _check_nothing_is_hidden() -> None:
    """Fail with one sentence where a folder of the project's hides a package that is needed."""
    from bankwise.hidden import hidden

    # pytest puts the folders of tests first on Python's path, wherever it is started.
    go_on = "run python -P -m pytest --import-mode=importlib"
    if message := hidden("layouts", "simulator", go_on=go_on):
        pytest.fail(message, pytrace=False)
