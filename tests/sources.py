"""All Python files of the project: their texts, and what they say as trees."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

__all__ = ["PACKAGES", "ROOT", "sources", "trees"]

ROOT = Path(__file__).parents[1]
PACKAGES = ("bankwise", "gpu_check", "layouts", "pytest_bankwise", "simulator", "viz")


def sources(*packages: str) -> Iterator[tuple[str, str]]:
    """Yield each Python file's path and text."""
    for package in packages or PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            yield str(path.relative_to(ROOT)), path.read_text(encoding="utf-8")


@cache
def trees() -> tuple[tuple[str, ast.Module], ...]:
    """Return each Python file's path and syntax."""
    return tuple((path, ast.parse(text)) for path, text in sources())
