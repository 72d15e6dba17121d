"""What `alignas`, `__align__` and the compiler's attributes say of structures and their members."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from simulator.sass.code.evaluation import text_of
from simulator.sass.code.preprocessor import plain
from simulator.sass.code.signatures import structures, walk
from simulator.sass.code.source import Source

if TYPE_CHECKING:
    from tree_sitter import Node

__all__ = ["UNSURE", "alignments"]

UNSURE = "unsure"
"""What stands for an alignment where a structure is packed, or its attributes stand behind it.

NVRTC ignores an alignment behind the closing brace, where nvcc with GCC takes it.
"""

_INSIDE = r"\(((?:[^()]|\((?:[^()]|\([^()]*\))*\))*)\)"
_SAID = re.compile(
    rf"\b(?:alignas|__align__|__builtin_align__|_{{0,2}}aligned_{{0,2}})\s*{_INSIDE}"
)
_CALL = re.compile(rf"\b([A-Za-z_]\w*)\s*{_INSIDE}")
_IS_PACKED = re.compile(r"\b(?:packed|__packed__)\b")
_PACK = re.compile(r"#[ \t]*pragma[ \t]+pack[ \t]*\(([^)]*)\)")


def alignments(source: Source) -> dict[str, tuple[str, ...]]:
    """Return the expressions that align structures and members: "Structure", "Structure.member".

    >>> text = "struct __align__(8) V { char c; alignas(4 * N) int n; };"
    >>> alignments(Source(text))
    {'V': ('8',), 'V.n': ('4 * N',)}
    """
    text = plain(source.text)
    packs = list(_PACK.finditer(source.text))
    found = {}
    for name, node, body in structures(source.root):
        head = text[node.start_byte : body.start_byte]
        behind = text[body.end_byte :].split(";", 1)[0]
        said = _said(head, source)
        if "{" not in behind and _said(behind, source):
            said = (UNSURE,)
        before = [each for each in packs if each.end() <= node.start_byte]
        if before and before[-1][1].strip() and not before[-1][1].strip().startswith("pop"):
            said = (UNSURE,)
        if said:
            found[name] = said
        for member, own in _members(body, text):
            if said := _said(own, source):
                found[f"{name}.{member}"] = said
    return found


def _said(text: str, source: Source) -> tuple[str, ...]:
    """Return what a declaration says of its alignment, through one macro."""
    for call in _CALL.finditer(text):
        macro = source.known.get(call[1])
        if macro is not None and macro.parameters is not None:
            text = text.replace(call[0], macro.put([each.strip() for each in call[2].split(",")]))
    packed = (UNSURE,) if _IS_PACKED.search(text) else ()
    return (*(each.strip() for each in _SAID.findall(text)), *packed)


def _members(body: Node, text: str) -> Iterator[tuple[str, str]]:
    """Yield each member's name and declaration, as it is written."""
    start = body.start_byte + 1
    for each in body.named_children:
        if each.type == "field_declaration":
            for declared in each.children_by_field_name("declarator"):
                names = [n for n in walk(declared) if n.type == "field_identifier"]
                if names:
                    yield text_of(names[0]), text[start : each.end_byte]
        start = each.end_byte
