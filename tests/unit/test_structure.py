"""Tests stand where one looks for them."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).parents[2]
TESTS = ROOT / "tests"


def test_folders_of_unit_tests_are_packages() -> None:
    """`tests/unit/sass/decode` holds tests of `simulator/sass/decode`."""
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
