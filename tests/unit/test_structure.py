"""Tests stand where one looks for them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
TESTS = ROOT / "tests"
PACKAGES = ("bankwise", "gpu_check", "layouts", "pytest_bankwise", "simulator", "viz")


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


def sources(*packages: str) -> Iterator[tuple[str, str]]:
    """Yield each Python file's path and text."""
    for package in packages or PACKAGES:
        for path in (ROOT / package).rglob("*.py"):
            yield str(path.relative_to(ROOT)), path.read_text()


@cache
def trees() -> tuple[tuple[str, ast.Module], ...]:
    """Return each Python file's path and syntax."""
    return tuple((path, ast.parse(text)) for path, text in sources())


def test_no_file_is_too_long_to_read() -> None:
    lines = {path: text.count("\n") for path, text in sources(*PACKAGES, "tests")}
    assert len(lines) > 300
    assert {path: many for path, many in lines.items() if many > 430} == {}


def test_no_function_takes_more_arguments_by_place_than_one_can_tell_apart() -> None:
    found = {}
    for path, tree in trees():
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                many = len(node.args.posonlyargs) + len(node.args.args)
                if many > 9:
                    found[f"{path}: {node.name}"] = many
    assert found == {}


def test_no_name_of_a_class_stands_twice() -> None:
    """One name for one thing: those that begin with _ are a file's own."""
    places: dict[str, list[str]] = {}
    for path, tree in trees():
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places.setdefault(node.name, []).append(path)
    assert len(places) > 100
    assert {name: found for name, found in places.items() if len(found) > 1} == {}


def test_no_cubin_says_where_it_was_compiled() -> None:
    for path in TESTS.rglob("*.cubin"):
        assert b"/tmp/" not in path.read_bytes(), path
