"""Lists the licences of what bankwise installs: `python docs/licences.py` writes the page.

`--check` compares it with the page. What is not installed here is taken from the page as it is.
"""

from __future__ import annotations

import re
import sys
import tomllib
from importlib.metadata import PackageNotFoundError, metadata
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "reference" / "licences.md"
_HEAD = """# Licences of dependencies

bankwise itself is under the MIT licence. This is what it depends on directly, by the extra that
brings it. `python docs/licences.py` writes the page, from what each package says of itself.
`.ci/supply` writes a bill of materials (CycloneDX) with what those depend on in turn.

| package | extra | licence |
|---|---|---|
"""
_ROW = re.compile(r"^\| ([\w.-]+) \| ([^|]*) \| ([^|]*) \|$", re.MULTILINE)


def licence(package: str) -> str | None:
    """Return what an installed package says of its licence, in one line; None: not installed."""
    try:
        said = metadata(package)
    except PackageNotFoundError:
        return None
    expression = said.get("License-Expression") or ""
    classified = [
        each.rsplit(" :: ", 1)[-1]
        for each in said.get_all("Classifier") or []
        if each.startswith("License ::")
    ]
    text = (said.get("License") or "").strip().split("\n")[0]
    found = expression or ", ".join(classified) or text or "not said"
    return " ".join(found.replace("|", "/").split())[:80]


def dependencies() -> dict[str, list[str]]:
    """Return the extras that bring each package; "" is the core."""
    with (ROOT / "pyproject.toml").open("rb") as file:
        project = tomllib.load(file)["project"]
    groups = {"": project["dependencies"], **project["optional-dependencies"]}
    found: dict[str, list[str]] = {}
    for extra, requirements in groups.items():
        for each in requirements:
            name = re.split(r"[\[<>=!~; ]", each)[0].lower().replace("_", "-")
            if name != "bankwise":
                found.setdefault(name, []).append(extra)
    return found


def page() -> str:
    """Return the page's text."""
    before = PAGE.read_text(encoding="utf-8") if PAGE.exists() else ""
    known = {name: said for name, _, said in _ROW.findall(before)}
    rows = []
    for name, extras in sorted(dependencies().items(), key=lambda row: ("" not in row[1], row[0])):
        said = licence(name) or known.get(name, "not installed where this page was made")
        rows.append(f"| {name} | {', '.join(filter(None, extras)) or '(core)'} | {said} |")
    return _HEAD + "\n".join(rows) + "\n"


if __name__ == "__main__":
    if "--check" in sys.argv:
        listed = {name for name, _, _ in _ROW.findall(PAGE.read_text(encoding="utf-8"))}
        missing = set(dependencies()) - listed
        if missing:
            sys.exit(f"{PAGE} does not list {sorted(missing)}: python docs/licences.py")
    else:
        PAGE.write_text(page(), encoding="utf-8")
