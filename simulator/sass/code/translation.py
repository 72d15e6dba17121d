"""One translation unit: a source and the headers that it finds, with only what the device needs.

Kept are kernels, device functions and variables, and, from there, whatever they name: types,
constants, constexpr functions, macros. All else is the host's, and becomes spaces. Headers are
looked up here, not by the compiler. So a source reads nothing but its own folder, folders given
with -I, the git repository that it stands in, and the compiler's headers; a header that is in none
of them is empty. Headers that know NVRTC, as CUTLASS's do, hide the host's code themselves, and
stay whole.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from simulator.errors import CompileError
from simulator.sass.code import headers as host_headers
from simulator.sass.code.confining import check_includes, computed, spellings
from simulator.sass.code.looking import (
    find_header,
    in_repository,
    is_compilers,
    not_quoted,
    project_around,
)
from simulator.sass.code.naming import plain_path, source_text
from simulator.sass.code.preprocessor import Directive, Macro, blank, includes, plain, rows_of
from simulator.sass.code.source import Declaration, Source, words

__all__ = ["Translation", "translate"]

# NVRTC takes no annotations of lambdas, and none of the host's on what is evaluated when compiling;
# without them, what a kernel names is the device's.
_ANNOTATION = re.compile(
    r"(?<=\])\s*(?:(?:__host__|__device__)\s*)+(?=[({])"
    r"|\b__host__\b(?=\s+(?:static\s+|inline\s+)*(?:constexpr|consteval)\b)"
)
# What a conditional asks of nvcc, NVRTC answers by another name.
_NVCC = re.compile(r"(?m)^([ \t]*#[ \t]*(?:el)?if(?:n?def)?\b[^\n]*?)\b__NVCC__\b")
_MOST_FILES = 4000
_MOST_CHARACTERS = 64 << 20
_LONGEST = 1 << 22
_KNOWS = "__CUDACC_RTC__"


@dataclass(frozen=True)
class Translation:
    """What a compiler of device code is given."""

    source: str
    """The file, host code hidden; every line keeps its number."""
    headers: dict[str, str]
    """By the name that an `#include` asks for; a project's headers by their full path."""
    missing: tuple[str, ...]
    """Headers that were not found, and are empty; less those that only `unquoted` ones ask for."""
    declarations: tuple[tuple[str, Source, Declaration], ...] = field(repr=False, default=())
    """What was kept, each with its file."""
    files: tuple[tuple[str, Source], ...] = field(repr=False, default=())
    whole: frozenset[str] = field(repr=False, default=frozenset())
    """Headers that hide the host's code themselves: all of their text is kept."""
    unquoted: frozenset[str] = field(repr=False, default=frozenset())
    """Headers whose text no message may have."""


@dataclass
class _File:
    source: Source
    root: Path | None = None
    """The folder from which it was included: of `<cute/tensor.hpp>` that of `cute`."""
    changes: list[tuple[Directive, str]] = field(default_factory=list)
    """Lines that include a header of the project, with the header's full path."""
    spelled: list[tuple[Directive, str]] = field(default_factory=list)
    """Lines that include what a macro names, with the name as it is to stand there."""


def translate(
    text: str, folder: Path | None, include: Sequence[str] = (), defined: Sequence[str] = (),
    *, asked: Sequence[str] = (), forced: Sequence[str] = (), keep_whole: bool = True,
    hide_in: Collection[str] = (), drop: Collection[str] = (), unquoted: Collection[str] = (),
) -> Translation:  # fmt: skip
    """Find the headers of a source and hide the host's code in all of them.

    Raises CompileError for a folder of -I or a header of -include that is not there, and for more
    than 64 MiB of headers.

    Parameters
    ----------
    text, folder
        The source, and its own folder; None: it came without a file, and has no headers beside it.
    include, defined
        Folders of -I, and macros of -D, "NAME" or "NAME=VALUE".
    asked
        Templates to instantiate, such as "gemm<Traits>".
    forced
        Headers of -include. The user names them: they may lie anywhere.
    keep_whole, hide_in
        Whether headers that know NVRTC stay as they are, and full paths of those that do not.
    drop
        Full paths of headers of which only preprocessor lines stay.
    unquoted
        Those of `include` whose headers no message may quote.
    """
    folders = [Path(each).expanduser() for each in include]
    for place in folders:
        if not place.is_dir():
            raise CompileError(f"-I {place}: there is no such folder")
    folder = None if folder is None else folder.absolute()
    before = [_before(each, folder, folders) for each in forced]
    files, missing = _gather(text, folder, folders, before)
    quiet = not_quoted(files.keys() - {"", *before}, folder, folders, unquoted)
    told_missing = [each for each, asks in missing.items() if not quiet.issuperset(asks)]
    outside: dict[str, Macro] = {}
    for each in files.values():
        outside.update(each.source.macros)
    for macro in defined:
        name, _, value = macro.partition("=")
        outside.setdefault(name, Macro(name, None, value or "1"))
    everywhere = Source("", outside)
    for each in files.values():
        each.source.surround(everywhere)
    whole = {
        name: files.pop(name)
        for name in (_whole(files) if keep_whole else ())
        if name not in hide_in
    }
    wanted_words = {word for each in asked for word in words(each)}
    for each in whole.values() if hide_in else ():
        wanted_words |= words(plain(each.source.text))
    for name in files.keys() & set(drop):
        files[name].source.drop()
    kept = _needed(files, outside, wanted_words)
    texts = {}
    used: set[str] = set()
    for name, each in files.items():
        left = each.source.hide(_hidden(each, kept.get(name, set())))
        left = _ANNOTATION.sub(lambda found: blank(found[0]), left)
        texts[name] = _written(each, _NVCC.sub(r"\1__CUDACC__", left))
        used |= _features(texts[name])
    named = {word for each in texts.values() for word in words(each)}
    source = texts.pop("")
    spaces = _namespaces(files)
    for name, each in whole.items():
        texts[name] = _written(each, each.source.text)
        used |= host_headers.small_features(_features(texts[name]))
    named |= host_headers.class_macros(texts.values())
    told = {word for chosen in kept.values() for each in chosen for word in each.words}
    unused = list(_unused(files, told))
    missing |= {each: [] for each in unused}
    headers = {**texts, **host_headers.stand_in(missing, used, named, outside, spaces)}
    for wanted in ("cub/cub.cuh",):
        if wanted not in missing and any(
            wanted == each for file in files.values() for _, each, _ in includes(file.source.lines)
        ):
            headers[wanted] = host_headers.block_primitives(named)
    headers[host_headers.PRELUDE] += "".join(f'#include "{each}"\n' for each in before)
    check_includes(
        {**texts, "the source": source},
        lambda wanted: wanted in headers or is_compilers(wanted),
        quiet,
    )
    everything = tuple(
        (name, files[name].source, each) for name, chosen in kept.items() for each in chosen
    )
    return Translation(
        source, headers, tuple(dict.fromkeys([*told_missing, *unused])), everything,
        tuple((name, each.source) for name, each in files.items()), frozenset(whole), quiet,
    )  # fmt: skip


def _features(text: str) -> set[str]:
    """Return what a text names of `std`."""
    return set(re.findall(r"\bstd::(\w+)", plain(text)))


def _whole(files: dict[str, _File]) -> list[str]:
    """Return the headers that know NVRTC, with all of their library that belongs to them.

    That is what they include of it, and what includes them.
    """
    beside: dict[str, set[str]] = {name: set() for name in files}
    for name, file in files.items():
        for _, other in file.changes:
            if name and other and file.root == files[other].root:
                beside[name].add(other)
                beside[other].add(name)
    todo = [name for name, file in files.items() if name and _KNOWS in file.source.text]
    found = dict.fromkeys(todo)
    while todo:
        new = [name for name in sorted(beside[todo.pop()]) if name not in found]
        found.update(dict.fromkeys(new))
        todo += new
    return list(found)


def _before(wanted: str, folder: Path | None, folders: list[Path]) -> str:
    """Find a header of -include; return its full path, or its name if it is the compiler's."""
    places = [Path(wanted), *(each / wanted for each in ([folder] if folder else []) + folders)]
    found = next((each for each in places if each.is_file()), None)
    if found is not None:
        return plain_path(str(found.resolve()))
    if is_compilers(wanted):
        return wanted
    raise CompileError(
        f"-include {wanted}: there is no such file (looked for in this folder, in the source's"
        " and in those of -I)"
    )


def _gather(
    text: str, folder: Path | None, folders: list[Path], before: list[str]
) -> tuple[dict[str, _File], dict[str, list[str]]]:
    """Read the source and the project's headers; "" is the source itself.

    Of a header that is missing the files are returned that ask for it.
    """
    files = {"": _File(Source(text))}
    missing: dict[str, list[str]] = {}
    roots = [each.resolve() for each in [*([folder] if folder else []), *folders]]
    if folder is not None:
        roots += project_around(folder.resolve())
    todo = [("", folder)]
    for name in before:
        if not is_compilers(name):
            path = Path(name)
            files[name] = _File(Source(source_text(path)), path.parent)
            files[""].source.before.append(files[name].source)
            todo.append((name, path.parent))
    made: list[tuple[str, Path | None, Directive]] = []
    size = len(text)

    def take(file: _File, line: Directive, found: Path, wanted: str) -> str:
        """Take a header in, which a line includes; return its full path."""
        nonlocal size
        full = plain_path(str(found))
        if full not in files:
            content = source_text(found)
            size += len(content)
            if len(files) > _MOST_FILES or size > _MOST_CHARACTERS or len(content) > _LONGEST:
                raise CompileError(
                    f"{full}: too many headers, or too long (accepted: {_MOST_FILES} files of"
                    f" together {_MOST_CHARACTERS} characters)"
                )
            files[full] = _File(Source(content), _root(found, wanted, file.root))
            todo.append((full, found.parent))
        file.changes.append((line, full))
        file.source.included[line.start] = files[full].source
        return full

    while todo or made:
        while todo:
            name, here = todo.pop()
            file = files[name]
            made += [(name, here, line) for line in computed(file.source.lines)]
            for line, wanted, quoted in includes(file.source.lines):
                found = _place(wanted, quoted, here, folders, roots)
                if found is not None:
                    take(file, line, found, wanted)
                elif not is_compilers(wanted):
                    missing.setdefault(wanted, []).append(name)
        # Now every macro is known that may name a header.
        lines = [line for each in files.values() for line in each.source.lines]
        for name, here, line in made:
            file = files[name]
            told = spellings(line.rest, lines)
            places = [(_place(each, quoted, here, folders, roots), each) for each, quoted in told]
            own = next(((place, each) for place, each in places if place is not None), None)
            standard = next((each for each, _ in told if is_compilers(each)), None)
            if own is not None:
                file.spelled.append((line, f'"{take(file, line, *own)}"'))
            else:
                wanted = standard or (told[0][0] if told else line.rest)
                if standard is None:
                    missing.setdefault(wanted, []).append(name)
                file.spelled.append((line, f"<{wanted}>"))
        made = []
    return files, missing


def _place(
    wanted: str, quoted: bool, here: Path | None, folders: list[Path], roots: list[Path]
) -> Path | None:
    """Find a header of the project that can be read."""
    found = find_header(wanted, here if quoted else None, folders, roots)
    if found is None and not quoted and here and not is_compilers(wanted):
        found = in_repository(wanted, here, roots)
    return found if found is not None and os.access(found, os.R_OK) else None


def _root(found: Path, wanted: str, includer: Path | None) -> Path:
    """Return the folder from which a header was included; within a library it is the library's."""
    if includer is not None and found.is_relative_to(includer):
        return includer
    parts = Path(wanted).parts
    return found.parents[len(parts) - 1] if ".." not in parts else found.parent


def _unused(files: dict[str, _File], named: set[str]) -> Iterator[str]:
    """Yield the headers of the compiler's libraries that only host code uses.

    Thrust launches kernels from the host, and does not compile for the device alone.
    """
    for file in files.values():
        for _, wanted, _ in includes(file.source.lines):
            library = wanted.split("/")[0]
            if library in ("thrust", "cub") and library not in named and "/" in wanted:
                yield wanted


def _needed(
    files: dict[str, _File], macros: dict[str, Macro], asked: Collection[str]
) -> dict[str, set[Declaration]]:
    """Choose the declarations that device code needs, and what is asked for, by file."""
    by_name: dict[str, list[tuple[str, Declaration]]] = {}
    kept: dict[str, set[Declaration]] = {name: set() for name in files}
    todo = list(asked)
    seen: set[str] = set()
    device: set[str] = set()

    def keep(file: str, each: Declaration) -> None:
        if each not in kept[file]:
            kept[file].add(each)
            todo.extend(each.words - seen)

    later = []
    for name, file in files.items():
        for each in file.source.declarations:
            if each.kind == "device":
                device |= each.names
                keep(name, each)
            elif each.kind in ("neutral", "instance"):
                for word in each.names:
                    by_name.setdefault(word, []).append((name, each))
                if not each.names or each.kind == "instance":
                    later.append((name, each))
            elif each.kind == "directive":
                kept[name].add(each)
        # What stands outside every declaration was not made out: it stays.
    while todo:
        word = todo.pop()
        if word in seen:
            continue
        seen.add(word)
        if word in macros:
            todo.extend(words(macros[word].body) - seen)
        for name, each in by_name.get(word, ()):
            if each.kind == "neutral":
                keep(name, each)
    declared = {
        word for file in files.values() for each in file.source.declarations for word in each.names
    }
    names = {word for chosen in kept.values() for each in chosen for word in each.names}
    for name, each in later:
        if each.kind == "instance":
            if each.names & (device | names):
                keep(name, each)
        elif not each.words & (declared - device - names):
            keep(name, each)  # a static_assert of what is kept, or what was not made out
    return kept


def _hidden(file: _File, kept: set[Declaration]) -> list[tuple[int, int]]:
    """Return where the host's code stands."""
    hidden: list[tuple[int, int]] = []
    chosen = [(each.start, each.end) for each in kept]
    for each in file.source.declarations:
        if each in kept:
            hidden += each.hidden
        elif not any(a >= each.start and b <= each.end for a, b in chosen):
            hidden.append((each.start, each.end))
    return hidden


def _written(file: _File, text: str) -> str:
    """Return what is left of a file's text, with headers of the project by their full path."""
    if not file.changes and not file.spelled:
        return text
    rows = text.split("\n")
    for line, full in file.changes:
        named = f'"{full}"'.replace("\\", "\\\\")
        for at in rows_of(file.source.text, line):
            rows[at], many = re.subn(r"(\"[^\"]*\"|<[^>]*>)", named, rows[at], count=1)
            if many:
                break
    for line, named in file.spelled:
        first, *others = rows_of(file.source.text, line)
        indent = rows[first][: len(rows[first]) - len(rows[first].lstrip())]
        rows[first] = f"{indent}#include {named}"
        for at in others:
            rows[at] = ""
    return "\n".join(rows)


def _namespaces(files: dict[str, _File]) -> tuple[str, ...]:
    """Return the namespaces that a `using namespace` names, but for aliases."""
    wanted: dict[str, None] = {}
    aliases: set[str] = set()
    for file in files.values():
        for each in file.source.declarations:
            text = file.source.text[each.start : each.end]
            if each.kind == "directive" and (
                found := re.search(r"using\s+namespace\s+(?:::)?\s*([\w:]+)", plain(text))
            ):
                wanted[found[1].strip(":")] = None
        aliases |= set(re.findall(r"\bnamespace\s+(\w+)\s*=", file.source.text))
    return tuple(each for each in wanted if not set(each.split("::")) & aliases)
