"""The kernels and launches that a source file has, with its headers and its build's macros."""

from __future__ import annotations

from pathlib import Path

from simulator.errors import CubinError
from simulator.sass.code.launches import Launches, find_launches
from simulator.sass.code.options import CompilerOptions, from_database
from simulator.sass.code.translation import translate

__all__ = ["is_source", "launches_in"]

_MOST_HEADERS = 64
_LONGEST_HEADER = 1 << 18


def is_source(path: Path) -> bool:
    """Whether a file is CUDA source, by content. Raises CubinError where it cannot be read."""
    from simulator.sass.code.images import is_device_code
    from simulator.sass.code.ptx import is_ptx

    if is_device_code(path):
        return False
    text = path.read_bytes()[:20_000]
    return b"\0" not in text and not is_ptx(text.decode(errors="replace"))


def launches_in(path: Path, options: CompilerOptions | None = None) -> Launches:
    """Find the kernels and launches in a file and in the headers that it brings along.

    Host code is read, not run: see `launches`. Raises CubinError where the file cannot be read.
    """
    try:
        text = path.read_text(errors="replace")
    except OSError as error:
        raise CubinError(f"{path} cannot be read: {error.strerror}") from error
    options = from_database(path) + (options or CompilerOptions())
    unit = translate(text, path.absolute().parent, options.include, options.define)
    outside = next((dict(source.outside) for name, source in unit.files if not name), {})
    near = [
        source
        for name, source in unit.files
        if name and len(source.text) <= _LONGEST_HEADER
    ]  # fmt: skip
    return find_launches(text, outside, near[:_MOST_HEADERS])
