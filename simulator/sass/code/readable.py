"""What the parser of CUDA C++ is given: macros that break its grammar are spaces.

Every character keeps its place.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from simulator.sass.code.makers import makings
from simulator.sass.code.preprocessor import Macro, blank

__all__ = ["BARE_CALL", "EXTERN_CALL", "is_open", "makes_type", "readable", "type_calls"]

# A macro on a line of its own, without a semicolon: it may stand for a whole declaration.
BARE_CALL = re.compile(
    r"(?m)^[ \t]*([A-Z](?:[A-Z0-9_]+|[A-Z0-9]*_\w+))[ \t]*\((?:[^();{}]|\([^();{}]*\))*\)"
    r"(?=\s*\n\s*(?!\{)\S|\s*\Z)"
)
# The same without arguments: members of a class, or statements.
_BARE_NAME = re.compile(r"(?m)^[ \t]*([A-Za-z_]\w*)[ \t]*$")
# A macro that stands for `private`, with its colon.
_ACCESS = re.compile(r"(?m)^[ \t]*([A-Za-z_]\w*)[ \t]*:(?!:)")
# A macro that stands for a declaration elsewhere, with arguments that no parameter looks like:
# extern CASE(576, 4); DEPRECATED(int old(int a), "why");
EXTERN_CALL = re.compile(
    r"(?m)^[ \t]*(?:extern[ \t]+(?=[A-Z])|(?=[A-Z]\w*DEPRECATED))([A-Z][A-Z0-9_]+)[ \t]*"
    r"\((?:[^();{}]|\((?:[^();{}]|\([^();{}]*\))*\))*\)[ \t]*;"
)
# A macro with a semicolon, which may stand for a type: TRAITS_FOR(int8_t, 8);
_WITH_SEMICOLON = re.compile(
    r"(?m)^[ \t]*([A-Za-z_]\w*)[ \t]*\((?:[^();{}]|\((?:[^();{}]|\([^();{}]*\))*\))*\)[ \t]*;"
)
_TYPE = re.compile(r"\s*(?:template\s*<[^;{]*>\s*)?(?:struct|class|enum|union)\b[^;()]*\{")
# Attributes that may stand between `struct`, or a kernel's type, and its name.
_ALIGNED = re.compile(
    r"\b(?:__align__|alignas|__builtin_align__|__cluster_dims__|__block_size__|__maxnreg__)\s*\([^()]*(?:\([^()]*\))?[^()]*\)"
    r"|(?:(?<=\bstruct )|(?<=\bunion )|(?<=\bclass ))\s*[A-Z_]{2}[A-Z0-9_]*\s*\([^()]*\)"
    r"(?=\s*[\w{])"
    r"|\b__attribute__\s*\(\([^()]*(?:\([^()]*\))?[^()]*\)\)"
)
_CALL = r"([A-Za-z_]\w*)(?:[ \t]*\((?:[^();{}]|\((?:[^();{}]|\([^();{}]*\))*\))*\))?"
# void kernel(float *a) BODY(a), and { BODY(a) }, both without a semicolon.
_BODY = re.compile(rf"(?<=\))(\s*){_CALL}(?=\s*(?:\n|\Z))")
_INSIDE = re.compile(rf"\{{\s*{_CALL}\s*\}}")


def readable(
    text: str, known: Mapping[str, Macro], marks: Mapping[str, str],
    calls: re.Pattern[str] | None,
) -> str:  # fmt: skip
    r"""Return a text without macros that break the parser's grammar.

    `marks` and `calls` are macros that only qualify: see `qualifiers` and `attribute_calls`.

    >>> members = {"MEMBERS": Macro("MEMBERS", None, "int a; int b;")}
    >>> readable("struct S {\nMEMBERS\nunion { int c; };\n};", members, {}, None)
    'struct S {\n       \nunion { int c; };\n};'
    >>> readable("class C {\nMINE:\nint n;\n};", {"MINE": Macro("MINE", None, "private")}, {}, None)
    'class C {\n     \nint n;\n};'
    """
    if marks:
        names = "|".join(sorted(map(re.escape, marks), key=len, reverse=True))
        text = re.sub(rf"\b(?:{names})\b", lambda found: blank(found[0]), text)
    if calls:
        text = calls.sub(lambda found: blank(found[0]), text)
    # Qualifiers of headers that are not here, and macros that stand for whole declarations.
    text = re.sub(
        r"\b[A-Z][A-Z0-9_]*(?:INLINE|DEVICE|HOST|API|EXPORT)[A-Z0-9_]*\b(?=\s+[A-Za-z_])",
        lambda found: found[0] if found[0] in known else blank(found[0]),
        text,
    )
    text = _ALIGNED.sub(lambda found: blank(found[0]), text)
    text = _ACCESS.sub(
        lambda found: blank(found[0]) if _is_access(found[1], known) else found[0], text
    )
    text = EXTERN_CALL.sub(lambda found: blank(found[0]), text)
    for each in makings(text, known):
        text = text[: each.start] + blank(text[each.start : each.end]) + text[each.end :]
    for call in list(type_calls(text, known)):
        text = text[: call.start()] + blank(call[0]) + text[call.end() :]

    def of_members(found: re.Match[str]) -> str:
        whole = _is_whole(found[1], known) and known[found[1]].parameters is None
        return blank(found[0]) if whole else found[0]

    def of_a_body(found: re.Match[str]) -> str:
        body = known[found[2]].body.strip() if found[2] in known else ""
        if not (body.startswith("{") and body.endswith("}")):
            return found[0]
        return f"{found[1]}{{{blank(found[0][len(found[1]) + 2 :])}}}"

    def inside(found: re.Match[str]) -> str:
        return f"{{{blank(found[0][1:-1])}}}" if _is_whole(found[1], known) else found[0]

    text = _INSIDE.sub(inside, _BODY.sub(of_a_body, _BARE_NAME.sub(of_members, text)))
    return BARE_CALL.sub(lambda found: blank(found[0]), text)


def type_calls(text: str, known: Mapping[str, Macro]) -> Iterator[re.Match[str]]:
    """Yield the uses of macros that stand for a type, each with its semicolon."""
    for call in _WITH_SEMICOLON.finditer(text):
        if call[1] in known and makes_type(known[call[1]]):
            yield call


def makes_type(macro: Macro) -> bool:
    r"""Whether a macro with parameters stands for a structure, or a specialisation of one.

    >>> makes_type(Macro("BITS", ("T", "n"), "template <> struct Bits<T> { enum { N = n }; }"))
    True
    """
    return macro.parameters is not None and _TYPE.match(macro.body) is not None


def is_open(name: str, known: Mapping[str, Macro]) -> bool:
    """Whether a macro leaves a brace open, or closes one."""
    body = known[name].body if name in known else ""
    return body.count("{") != body.count("}")


def _is_access(name: str, known: Mapping[str, Macro]) -> bool:
    """Whether a macro says who may use the members behind it."""
    return name in known and known[name].body.strip() in ("public", "private", "protected")


def _is_whole(name: str, known: Mapping[str, Macro]) -> bool:
    """Whether a macro stands for whole declarations or statements."""
    if name not in known or is_open(name, known):
        return False
    return known[name].body.rstrip().endswith((";", "}"))
