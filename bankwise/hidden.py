"""Which of bankwise's packages a file or folder of the user's hides, and how to go on.

Python takes the first `layouts` on its path. `python -m` puts the current folder first, and
PYTHONPATH stands before what is installed. This module needs none of the packages it speaks of.
"""

from __future__ import annotations

import importlib.util
import os
import sys
from pathlib import Path

__all__ = ["PACKAGES", "hidden"]

PACKAGES = ("layouts", "simulator", "viz", "gpu_check", "pytest_bankwise")
"""The packages that are installed beside this one."""


def hidden(*packages: str, go_on: str = "") -> str | None:
    """Return one sentence per hidden package of `packages` (default: all), or None.

    A sentence names the file or folder that hides the package, and says how to go on. `go_on` is
    another way to start the program, without what puts folders on Python's path.
    """
    sentences = [
        f"{place} hides the package {name!r} of bankwise (accepted: {_cures(place, go_on)})"
        for name in packages or PACKAGES
        if (place := _other(name)) is not None
    ]
    return "; ".join(sentences) or None


def _other(name: str) -> Path | None:
    """Return where Python finds `name`, if that is not beside this package."""
    if name in sys.modules:
        origin = getattr(sys.modules[name], "__file__", None)
    else:
        spec = importlib.util.find_spec(name)
        origin = spec.origin if spec else None
    own = Path(__file__).parents[1] / name / "__init__.py"
    if origin is None or not own.exists() or Path(origin).resolve() == own.resolve():
        return None
    found = Path(origin).absolute()
    return found.parent if found.stem == "__init__" else found


def _cures(place: Path, go_on: str) -> str:
    cures = [f"rename this {'folder' if place.is_dir() else 'file'}"]
    folder = place.parent.resolve()
    listed = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    if any(folder == Path(each).resolve() for each in listed if each):
        cures.append(f"take {place.parent} out of PYTHONPATH")
    elif go_on:
        cures.append(go_on)
    elif folder == Path.cwd().resolve():
        cures.append("run from another folder, or run python -P -m bankwise")
    return ", or ".join(cures)
