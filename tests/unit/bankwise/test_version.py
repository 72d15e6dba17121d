"""One number says which version this is, wherever it stands."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[3]


def test_the_version_is_the_same_everywhere() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    citation = (ROOT / "CITATION.cff").read_text()
    cited = re.search(r"^version: (\S+)\ndate-released: (\S+)$", citation, re.MULTILINE)
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    newest = re.search(r"^## ([\d.]+) \((\S+)\)$", changes, re.MULTILINE)
    assert cited
    assert newest
    assert cited.groups() == newest.groups() == (project, newest[2])
