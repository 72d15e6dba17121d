"""Tests stand where one looks for them."""

from __future__ import annotations

import ast
import tomllib
from pathlib import Path

from tests.sources import PACKAGES, ROOT, sources, trees

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


def test_the_survivors_that_are_explained_are_lines_of_the_code() -> None:
    listed = tomllib.loads((TESTS / "mutation/survivors.toml").read_text())["survivor"]
    texts = {each["path"]: (ROOT / each["path"]).read_text() for each in listed}
    lines = {path: {line.strip() for line in text.splitlines()} for path, text in texts.items()}
    assert [each for each in listed if each["line"] not in lines[each["path"]]] == []
    assert [
        each for each in listed if f"def {each.get('within', '')}" not in texts[each["path"]]
    ] == []


def test_no_cubin_says_where_it_was_compiled() -> None:
    for path in TESTS.rglob("*.cubin"):
        assert b"/tmp/" not in path.read_bytes(), path
