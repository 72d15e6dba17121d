"""Which headers a text makes the compiler open: none but those that were chosen for it.

The compiler reads any file that an `#include` names, however the line is spelled: by a macro,
across lines, with comments or digraphs. So names that macros make are written out beforehand, and
what is left is read as the compiler will read it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping

from simulator.errors import CompileError
from simulator.sass.code.preprocessor import Directive, Macro, definitions

__all__ = ["check_includes", "computed", "spellings"]

_NAMED = re.compile(r"\s*(?:\"([^\"]+)\"|<([^>]+)>)")
_OPENS = re.compile(
    r"^[ \t]*(?:\#|%:|\?\?=)[ \t]*(include|include_next|import|embed)\b(.*)", re.MULTILINE
)
_CHOOSES = re.compile(r"^[ \t]*(?:\#|%:|\?\?=)[ \t]*(?:define|if|elif)\b.*", re.MULTILINE)
_LEAVES = re.compile(r"(?<!\.)\.\.(?!\.)|[\s\"<(,][/\\]\w")
# What a macro may make a path of: two points, a slash that begins something.
_ASKS = re.compile(r"\b__has_(?:include(?:_next)?|embed)\s*\(\s*(\"[^\"]*\"|<[^>]*>|[^()]*)")
_TOKENS = re.compile(
    r"(?P<comment>//[^\n]*|/\*.*?(?:\*/|\Z))"
    r"|(?P<raw>(?:u8|[uUL])?R\"(?P<mark>[^()\\\s]{0,16})\(.*?(?:\)(?P=mark)\"|\Z))"
    r"|\"(?:\\.|[^\"\\\n])*\"|<[^<>\n]*>|(?<![0-9A-Za-z_])'(?:\\.|[^'\\\n])+'",
    re.DOTALL,
)
_WORD = re.compile(r"[A-Za-z_]\w*")
_CALL = re.compile(r"([A-Za-z_]\w*)\s*(?:\(([^()]*)\))?\s*$")
_DEEPEST = 8


def computed(lines: Iterable[Directive]) -> Iterator[Directive]:
    """Yield each `#include` whose name is made by a macro."""
    for line in lines:
        if line.keyword in ("include", "include_next") and not _NAMED.match(line.rest):
            yield line


def spellings(rest: str, lines: Iterable[Directive]) -> list[tuple[str, bool]]:
    r"""Return the headers that a computed `#include` may mean: name, whether it is quoted.

    `lines` have the definitions of macros; of several definitions of one each counts.

    >>> from simulator.sass.code.preprocessor import directives
    >>> text = "#define STD(x) <cuda/std/x>\n#define ONE STD(array)"
    >>> spellings("ONE", directives(text)), spellings("OTHER", directives(text))
    ([('cuda/std/array', False)], [])
    """
    known: dict[str, list[Macro]] = {}
    for macro in definitions(lines):
        known.setdefault(macro.name, []).append(macro)
    found: dict[tuple[str, bool], None] = {}
    todo, seen = [(rest.strip(), 0)], 0
    while todo and seen < 1000:
        text, depth = todo.pop()
        seen += 1
        if named := _NAMED.fullmatch(text):
            found[(named[1] or named[2]).strip(), bool(named[1])] = None
        elif depth < _DEEPEST and (called := _CALL.match(text)):
            todo += [(_applied(macro, called[2]), depth + 1) for macro in known.get(called[1], ())]
    return list(found)


def _applied(macro: Macro, given: str | None) -> str:
    """Put arguments into a macro's body: as they are, or as a string behind #."""
    values = dict(
        zip(macro.parameters or (), map(str.strip, (given or "").split(",")), strict=False)
    )
    text = re.sub(r"(?<!\#)\#\s*(\w+)", lambda at: f'"{values.get(at[1], at[1])}"', macro.body)
    return _WORD.sub(lambda word: values.get(word[0], word[0]), text).replace("##", "").strip()


def check_includes(
    texts: Mapping[str, str], is_chosen: Callable[[str], bool], unquoted: Collection[str] = ()
) -> None:
    """Raise CompileError for a text that makes the compiler open, or look for, another file.

    `texts` are the source and its headers by name. `is_chosen` says whether a header's name is one
    that was chosen, or the compiler's own. `unquoted`: those that the error may not quote.
    """
    bare = {
        name: _TOKENS.sub(_without_comment, re.sub(r"\\[ \t]*\r?\n", "", text))
        for name, text in texts.items()
    }
    asks = any(_ASKS.search(text) for text in bare.values())
    leaves = asks and any(
        _LEAVES.search(line[0]) for text in bare.values() for line in _CHOOSES.finditer(text)
    )
    for name, text in bare.items():
        _check(name, text, is_chosen, leaves, name not in unquoted)


def _check(
    name: str, bare: str, is_chosen: Callable[[str], bool], leaves: bool, quotes: bool
) -> None:
    """Check a text; `leaves`: whether macros may name a folder that is outside."""
    for line in _OPENS.finditer(bare):
        named = _NAMED.match(line[2])
        wanted = (named[1] or named[2]) if named else None
        if line[1] in ("import", "embed") or wanted is None or not is_chosen(wanted):
            told = line[2].strip() if quotes else "…"
            raise CompileError(
                f"{name}: #{line[1]} {told} (accepted: a header in the source's folder,"
                " its repository or a folder of -I, by its name; next: pass -I FOLDER, or write the"
                " header's name there)"
            )
    for asked in _ASKS.finditer(bare):
        place = asked[1].strip('"<> ')
        is_named = asked[1].startswith(('"', "<"))
        outside = place.startswith(("/", "\\")) or ".." in place
        if outside if is_named else leaves:
            told = asked[0] if quotes else "__has_include(…"
            raise CompileError(
                f"{name}: {told}) (accepted: the name of a header, without .. or a folder's"
                " full path)"
            )


def _without_comment(token: re.Match[str]) -> str:
    if token["comment"] is not None:
        return " "
    return '""' if token["raw"] is not None else token[0]
