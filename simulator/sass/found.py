"""The kernels and launches that a source file has, with its headers and its build's macros."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from layouts.errors import accepted
from simulator.errors import CubinError, LaunchError
from simulator.law.chips import Chip
from simulator.sass.code.conditions import chosen
from simulator.sass.code.demangling import has_more, same_name
from simulator.sass.code.evaluation import text_of
from simulator.sass.code.hostreader import HostReader
from simulator.sass.code.launches import FoundLaunch, Launches, find_launches
from simulator.sass.code.naming import check_length, source_text
from simulator.sass.code.options import CompilerOptions, from_database
from simulator.sass.code.preprocessor import Macro
from simulator.sass.code.records import Types
from simulator.sass.code.signatures import structures
from simulator.sass.code.source import Source
from simulator.sass.code.translation import translate

__all__ = [
    "extents", "is_launch_of", "is_source", "launch_of", "launches_in", "macros_of",
    "plain_name", "types_in", "wanted_launches",
]  # fmt: skip

_MOST_HEADERS = 64
_LONGEST_HEADER = 1 << 18
_MOST = 2**31 - 1  # blocks along an axis


def is_source(path: Path) -> bool:
    """Whether a file is CUDA source, by content. Raises CubinError where it cannot be read."""
    from simulator.sass.code.images import is_device_code
    from simulator.sass.code.ptx import is_ptx

    if is_device_code(path):
        return False
    with path.open("rb") as file:
        text = file.read(20_000)
    return b"\0" not in text and not is_ptx(text.decode(errors="replace"))


def launches_in(
    path: Path,
    options: CompilerOptions | None = None,
    assumed: Mapping[str, int | float] | None = None,
    chip: Chip | None = None,
) -> Launches:
    """Find the kernels and launches in a file and in the headers that it brings along.

    `assumed`: values of names that its host code does not tell; `chip`: the device that it asks
    about: see `find_launches`.

    Host code is read, not run: see `launches`. Raises CubinError where the file cannot be read,
    CompileError where it is too long.
    """
    try:
        text = source_text(path)
    except OSError as error:
        raise CubinError(f"{path} cannot be read: {error.strerror}") from error
    check_length(text, str(path))
    options = from_database(path) + (options or CompilerOptions())
    main, macros, near = _read(text, path.absolute().parent, options)
    return find_launches(main, macros, near, assumed, chip)


def macros_of(path: Path | None, options: CompilerOptions) -> dict[str, Macro]:
    """Return the macros that a source has from elsewhere: from headers, and from -D.

    `path`: None, or that of device code: only those of -D.
    """
    try:
        if path is None or not is_source(path):
            return options.macros()
        text = source_text(path)
    except (CubinError, OSError):  # it was there when it was compiled
        return options.macros()
    main, given, near = _read(text, path.absolute().parent, from_database(path) + options)
    headers = chosen(main, given, near)[1:]
    return {name: each for header in headers for name, each in header.macros.items()} | given


def types_in(text: str, path: Path | None, options: CompilerOptions) -> Types:
    """Return what a source says of its types, with the headers that it brings along.

    `path`: where it lies; None: it came without a file. A structure that is defined in more than
    one way is left out.
    """
    if path is not None:
        options = from_database(path) + options
    main, macros, near = _read(text, path.absolute().parent if path else None, options)
    sources = chosen(main, macros, near)
    bodies: dict[str, set[str]] = {}
    for each in sources:
        for name, _, body in structures(each.root):
            bodies.setdefault(name, set()).add(text_of(body))
    types = HostReader(sources).types
    fields = {
        name: types.fields[name]
        for name, each in bodies.items()
        if name in types.fields and len(each) == 1
    }
    return replace(types, fields=fields)


def _read(
    text: str, folder: Path | None, options: CompilerOptions
) -> tuple[Source, dict[str, Macro], list[Source]]:
    """Return a source, the macros from elsewhere, and the headers near it."""
    unit = translate(
        text, folder, options.include, options.define, forced=options.forced,
        unquoted=options.unquoted,
    )  # fmt: skip
    main = next((source for name, source in unit.files if not name), Source(text))
    defined = {each for _, source in unit.files for each in source.macros}
    given = {name: macro for name, macro in main.outside.items() if name not in defined}
    near = [
        source
        for name, source in unit.files
        if name and len(source.text) <= _LONGEST_HEADER
    ]  # fmt: skip
    return main, given | options.macros(), near[:_MOST_HEADERS]


def wanted_launches(
    launches: Launches, file: str, kernel: str | None
) -> tuple[list[FoundLaunch], list[str]]:
    """Return the launches of a kernel, or all, and the names of the kernels without a launch.

    A kernel with template arguments is that instance of the template alone.

    Raises LaunchError for a kernel that the file does not have.
    """
    launched = {plain_name(each.kernel) for each in launches.launches}
    names = [*launches.kernels, *(launched - {*launches.kernels})]
    if names and kernel is not None and plain_name(kernel) not in map(plain_name, names):
        raise LaunchError(f"{file} has no kernel {kernel!r}: {accepted(kernel, names)}")
    if kernel is None:
        idle = [name for name in launches.kernels if name not in launched]
        return list(launches.launches), idle
    wanted = [each for each in launches.launches if is_launch_of(each, kernel)]
    return wanted, [] if wanted else [kernel]


def is_launch_of(launch: FoundLaunch, kernel: str) -> bool:
    """Whether a launch is of a kernel: of any instance, where no template arguments are given."""
    if plain_name(launch.kernel) != plain_name(kernel) or "<" not in kernel:
        return plain_name(launch.kernel) == plain_name(kernel)
    launched, asked = ("".join(name.partition("<")[1:]) for name in (launch.kernel, kernel))
    return same_name(launched, asked) or has_more(launched, asked)


def launch_of(launch: FoundLaunch, symbols: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return what `replay_compiled` takes for a launch that is known in full.

    `symbols` are variables that are given, in place of what host code sets them to.
    Raises LaunchError for a grid, a block or an argument that cannot be.
    """
    from simulator.sass.arguments import argument, named_arrays
    from simulator.sass.code.symbols import FromHost

    told = {
        name: FromHost(argument(text, 1000 + i)) for i, (name, text) in enumerate(launch.symbols)
    }
    arrays = named_arrays(launch.arrays)
    return {
        "kernel": launch.kernel,
        "grid": extents(launch.grid, "grid"),
        "block": extents(launch.block, "block"),
        "shared_bytes": int(launch.shared_bytes),
        "cooperative": launch.cooperative,
        "args": [argument(text, i, arrays) for i, text in enumerate(launch.arguments)],
        "symbols": {**told, **(symbols or {})},
    }


def plain_name(kernel: str) -> str:
    """Return a kernel's name without its namespaces and template arguments.

    >>> plain_name("mine::turn<32>")
    'turn'
    """
    return re.sub(r"\s*<.*", "", kernel).rsplit("::", 1)[-1]


def extents(text: str, what: str) -> tuple[int, ...]:
    """Read a grid, a block or a cluster.

    >>> extents("8x8", "grid")
    (8, 8)

    Raises LaunchError for anything else.
    """
    if re.fullmatch(r"\d{1,10}(x\d{1,10}){0,2}", text):
        sizes = tuple(map(int, text.split("x")))
        if all(1 <= size <= _MOST for size in sizes):
            return sizes
    raise LaunchError(f"{what} {text!r} (accepted: 8, 8x8 or 8x8x8, each number from 1 to {_MOST})")
