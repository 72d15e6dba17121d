"""`import bankwise` is the public face of `simulator`."""

from __future__ import annotations

import pytest

import bankwise
import simulator


def test_the_names_are_those_of_simulator() -> None:
    assert bankwise.__all__ == simulator.__all__
    assert dir(bankwise) == dir(simulator) == sorted(simulator.__all__)


@pytest.mark.parametrize("name", simulator.__all__)
def test_a_name_is_the_same_object(name: str) -> None:
    assert getattr(bankwise, name) is getattr(simulator, name)


def test_a_star_import_brings_all_of_them() -> None:
    names: dict[str, object] = {}
    exec("from bankwise import *", names)  # noqa: S102 - the statement under test
    assert {*simulator.__all__} == {*names} - {"__builtins__"}


@pytest.mark.parametrize("name", ["nonsense", "import_module", "TYPE_CHECKING_", "__nonsense__"])
def test_other_names_are_refused(name: str) -> None:
    with pytest.raises(AttributeError, match=f"module 'bankwise' has no attribute '{name}'"):
        getattr(bankwise, name)
