"""Tests stand where one looks for them."""

from __future__ import annotations

import ast
from pathlib import Path

ROOT = Path(__file__).parents[2]
TESTS = ROOT / "tests"


def test_folders_of_unit_tests_are_packages() -> None:
    """`tests/unit/sass/lift` holds tests of `simulator/sass/lift`."""
    unit = TESTS / "unit"
    folders = {path.parent.relative_to(unit) for path in unit.rglob("test_*.py")}
    for folder in folders - {Path()}:
        places = [ROOT / folder, ROOT / "simulator" / folder]
        assert any((place / "__init__.py").exists() for place in places), folder


def test_the_map_of_tests_names_every_folder() -> None:
    readme = (TESTS / "README.md").read_text()
    for folder in TESTS.iterdir():
        if folder.is_dir() and any(folder.glob("*.py")):
            assert f"`{folder.name}/`" in readme


def test_no_name_of_a_class_stands_twice() -> None:
    """One name for one thing: those that begin with _ are a file's own."""
    places: dict[str, list[str]] = {}
    for package in ("bankwise", "gpu_check", "layouts", "pytest_bankwise", "simulator", "viz"):
        for path in (ROOT / package).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text())):
                if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                    places.setdefault(node.name, []).append(str(path.relative_to(ROOT)))
    assert len(places) > 100
    assert {name: found for name, found in places.items() if len(found) > 1} == {}
