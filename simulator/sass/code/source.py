"""CUDA source by its syntax tree: which declarations are the device's, which are the host's.

tree-sitter reads broken code, too: what it cannot make out stays as it is. A conditional is read
twice, by its first branch and by its last: both halves of `#if … #else` may open a brace that one
`}` closes. Positions are those of the text that was given.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

from simulator.errors import ToolError, install
from simulator.sass.code.makers import makings
from simulator.sass.code.preprocessor import (
    QUALIFIERS,
    Directive,
    Macro,
    attribute_calls,
    blank,
    branches,
    directives,
    macros,
    plain,
    qualifiers,
)
from simulator.sass.code.readable import (
    BARE_CALL,
    EXTERN_CALL,
    is_open,
    makes_type,
    readable,
    type_calls,
)

if TYPE_CHECKING:
    from tree_sitter import Node, Parser

__all__ = ["Declaration", "Source", "parser", "words"]

_MARK = re.compile(r"\b__(?:global|device|constant|managed|shared|grid_constant)__\b")
_CONSTANT = re.compile(r"\b(?:const|constexpr|constinit)\b")
_CONSTANT_FUNCTION = re.compile(r"\b(?:constexpr|consteval)\b")
_IDENTIFIER = re.compile(r"[A-Za-z_]\w*")
# A macro of a header that is not here; NUM_DEVICES is a number.
_DEVICE = re.compile(r"[A-Z][A-Z0-9_]*DEVICE(?!S)[A-Z0-9_]*")
_ALIAS = re.compile(r"\btypedef\b|\busing\s+[\w#\s]+=")
_SCOPES = {"translation_unit", "declaration_list", "namespace_definition", "linkage_specification",
           "ERROR", "export_declaration"}  # fmt: skip
_CLASSES = {"class_specifier", "struct_specifier", "union_specifier"}
_NEUTRAL = {*_CLASSES, "enum_specifier", "type_definition", "alias_declaration",
            "namespace_alias_definition", "concept_definition", "using_declaration"}  # fmt: skip
_MEMBERS = {"function_definition", "declaration", "template_declaration", "friend_declaration",
            "field_declaration", "inline_method_definition"}  # fmt: skip


@dataclass(frozen=True)
class Declaration:
    """A declaration at file or namespace level, with what decides whether the device needs it."""

    start: int
    end: int
    kind: str
    """device: kept. host: hidden. neutral: kept where the device names it. instance: kept where
    the function that it instantiates is. directive: using namespace."""
    names: frozenset[str]
    words: frozenset[str]
    """Identifiers in it, without those of host members."""
    hidden: tuple[tuple[int, int], ...] = ()
    """Host members of a class: hidden although the class is kept."""


@dataclass
class Source:
    """One file of CUDA source; `outside` are macros that other files define."""

    text: str
    outside: Mapping[str, Macro] = field(default_factory=dict)
    included: dict[int, Source] = field(default_factory=dict, repr=False, compare=False)
    """Files that its lines include, by where a line begins."""
    before: list[Source] = field(default_factory=list, repr=False, compare=False)
    """Files that are read before it: `-include`."""

    def surround(self, other: Source) -> None:
        """Take the macros of all files from another one; where they agree, what it made of them."""
        self.outside = other.known
        self.__dict__.pop("root", None)
        if all(other.known[name] == macro for name, macro in self.macros.items()):
            self.marks, self.calls = other.marks, other.calls

    @cached_property
    def lines(self) -> tuple[Directive, ...]:
        """The preprocessor lines."""
        return directives(self.text)

    @cached_property
    def macros(self) -> dict[str, Macro]:
        """What the file itself defines."""
        return macros(self.lines)

    @cached_property
    def known(self) -> dict[str, Macro]:
        """Every macro that is known here."""
        return {**self.outside, **self.macros}

    @cached_property
    def marks(self) -> dict[str, str]:
        """Macros that only qualify, with what they say."""
        return qualifiers(self.known)

    @cached_property
    def calls(self) -> re.Pattern[str] | None:
        """What finds macros with parameters that only qualify."""
        return attribute_calls(self.known)

    def readable(self, last: bool = False) -> str:
        """Return what the parser reads: one branch, without macros that break its grammar."""
        plain_text = self.text.encode("ascii", "replace").decode()  # a byte for each character
        return readable(branches(plain_text, self.lines, last), self.known, self.marks, self.calls)

    @cached_property
    def root(self) -> Node:
        """The syntax tree of what the parser reads, by the first branches."""
        return parser().parse(self.readable().encode()).root_node

    @cached_property
    def declarations(self) -> tuple[Declaration, ...]:
        """Those at file and namespace level, of both readings, each once."""
        found: dict[tuple[int, int], Declaration] = {}
        first, last = self.readable(), self.readable(last=True)
        for text in dict.fromkeys((first, last)):
            root = self.root if text == first else parser().parse(text.encode()).root_node
            for each in self._declared(root, plain(text)):
                found.setdefault((each.start, each.end), each)
        ranges = sorted(found)
        bare = plain(self.text)
        for made in makings(bare, self.known):
            if not any(a <= made.start and made.end <= b for a, b in ranges):
                kernels = frozenset(_IDENTIFIER.findall(made.text.split("{")[0]))
                text = bare[made.start : made.end]
                each = Declaration(made.start, made.end, "device", kernels, words(text))
                found[made.start, made.end] = each
        ranges = sorted(found)
        calls = *BARE_CALL.finditer(bare), *EXTERN_CALL.finditer(bare)
        for call in (*calls, *type_calls(bare, self.known)):
            if is_open(call[1], self.known):
                continue  # it begins or ends what the next one ends: both stay as they are
            if not any(a <= call.start() and call.end() <= b for a, b in ranges):
                names = frozenset(self._instantiated(call[1]))
                kind = self._macro_kind(call[1])
                each = Declaration(call.start(), call.end(), kind, names, words(call[0]))
                found[each.start, each.end] = each
        return tuple(found.values())

    def is_device(self, text: str) -> bool:
        """Whether a piece of a declaration's head marks it as the device's."""
        if _MARK.search(text):
            return True
        return any(
            _MARK.search(self.marks[word])
            if word in self.marks
            else word not in self.known and _DEVICE.fullmatch(word)
            for word in _IDENTIFIER.findall(text)
        )

    @cached_property
    def is_hosts_and_unclear(self) -> bool:
        """Whether nothing in it is marked as the device's, and the parser cannot make out all."""
        return not _MARK.search(self.text) and self.root.has_error

    def drop(self) -> None:
        """Take all of it for the host's."""
        every = Declaration(0, len(self.text), "host", frozenset(), frozenset())
        self.__dict__["declarations"] = (every,)

    def hide(self, ranges: Iterator[tuple[int, int]] | list[tuple[int, int]]) -> str:
        """Return the text with these ranges as spaces; preprocessor lines in them survive."""
        kept = list(self.text)
        survive = [
            (line.start, line.end)
            for line in self.lines
            if line.keyword not in ("pragma", "error", "warning")
        ]
        for start, end in ranges:
            inside = [(a, b) for a, b in survive if a < end and b > start]
            at = start
            for a, b in [*inside, (end, end)]:
                for index in range(at, max(a, at)):
                    if kept[index] != "\n":
                        kept[index] = " "
                at = max(at, b)
        return "\n".join(line.rstrip(" ") for line in "".join(kept).split("\n"))

    # ---- The tree. ---------------------------------------------------------------------------
    def _declared(self, node: Node, bare: str) -> Iterator[Declaration]:
        for child in node.named_children:
            if child.type == "linkage_specification" and (
                not child.children or child.children[-1].type != "declaration_list"
            ):
                yield self._declaration(child, child.children[-1], bare)
            elif child.type in _SCOPES:
                yield from self._declared(child, bare)
            elif child.type not in ("comment", "string_literal", "namespace_identifier",
                                    "nested_namespace_specifier", "identifier"):  # fmt: skip
                yield self._declaration(child, child, bare)

    def _declaration(self, whole: Node, node: Node, bare: str) -> Declaration:
        start, end = self._start(whole), whole.end_byte
        if node.type in _NEUTRAL and (rest := re.match(r"\s*;", bare[end:])):
            end += rest.end()
        while node.type == "template_declaration" and node.named_children:
            node = node.named_children[-1]
        kind, hidden = self._kind(node, start, bare)
        text = bare[start:end]
        if node.type in _CLASSES or node.type == "declaration":
            for a, b in hidden:
                text = text[: a - start] + blank(text[a - start : b - start]) + text[b - start :]
        names = frozenset(_names(node))
        called = _IDENTIFIER.match(text.strip())
        if kind == "instance" and node.type != "template_instantiation" and called:
            names = frozenset(self._instantiated(called[0]))
        return Declaration(start, end, kind, names, words(text), hidden)

    def _start(self, node: Node) -> int:
        """Where a declaration begins, with macros before it that the parser does not see."""
        start = node.start_byte
        while gap := self._before(start):
            start -= len(gap)
        return start

    def _before(self, start: int) -> str:
        """Return the macro, with what stands behind it, that qualifies what begins at a place."""
        text = self.text[max(0, start - 200) : start]
        for call in self.calls.finditer(text) if self.calls else ():
            if not text[call.end() :].strip():
                return text[call.start() :]
        if gap := re.search(r"[A-Za-z_]\w*\s*$", text):
            name = _IDENTIFIER.match(gap[0])
            if name and (
                name[0] in self.marks
                or (name[0] not in self.known and re.search(r"DEVICE|INLINE|API|HOST", name[0]))
                or QUALIFIERS.fullmatch(name[0])
            ):
                return gap[0]
        return ""

    def _kind(self, node: Node, start: int, bare: str) -> tuple[str, tuple[tuple[int, int], ...]]:
        if (
            node.type == "using_declaration"
            and "namespace" in bare[node.start_byte : node.end_byte]
        ):
            return "directive", ()
        if node.type == "template_instantiation":
            return "instance", ()
        if node.type in _NEUTRAL:
            return "neutral", tuple(self._host_members(node, bare))
        body = node.child_by_field_name("body")
        head = self.text[start : body.start_byte if body else node.end_byte]
        if node.type == "function_definition":
            if self.is_device(head):
                return "device", ()
            return ("neutral" if self._is_constant(node, start, bare) else "host"), ()
        if node.type in ("declaration", "field_declaration"):
            kind = node.child_by_field_name("type")
            classes = tuple(self._host_members(kind, bare)) if kind is not None else ()
            if self.is_device(plain(head)):
                return "device", classes
            if _is_function(node):
                return ("neutral" if self._is_constant(node, start, bare) else "host"), ()
            if kind is not None and kind.type in _NEUTRAL:
                return "neutral", classes
            return self._variable(node, start, bare), ()
        if node.type in ("expression_statement", "call_expression", "static_assert_declaration"):
            return self._statement(node, bare), ()
        return "neutral" if node.type != "function_definition" else "host", ()

    def _is_constant(self, node: Node, start: int, bare: str) -> bool:
        """Whether a function is constexpr, which device code may call, too."""
        if _CONSTANT_FUNCTION.search(_head(node, bare)):
            return True
        head = self.text[start : node.start_byte + len(_head(node, bare))]
        return any(
            _CONSTANT_FUNCTION.search(self.marks.get(word, ""))
            for word in _IDENTIFIER.findall(plain(head))
        )

    def _variable(self, node: Node, start: int, bare: str) -> str:
        text = bare[start : node.end_byte]
        if called := re.match(r"\s*([A-Za-z_]\w*)\s*\(", text):
            return self._macro_kind(called[1])  # MAKE_KERNEL(float);
        return "neutral" if _CONSTANT.search(text) else "host"

    def _statement(self, node: Node, bare: str) -> str:
        if node.type == "static_assert_declaration":
            return "neutral"
        called = _IDENTIFIER.match(bare[node.start_byte : node.end_byte].strip())
        return self._macro_kind(called[0]) if called else "neutral"

    def _macro_kind(self, name: str) -> str:
        """Say what a macro's use at file level makes: device code, an instance, host code."""
        if name in self.known and makes_type(self.known[name]):
            return "device"  # types are everybody's
        seen: set[str] = set()
        todo = [name]
        text = ""
        while todo:
            word = todo.pop()
            if word in self.known and word not in seen:
                seen.add(word)
                text += " " + self.known[word].body
                todo += _IDENTIFIER.findall(self.known[word].body)
        if self.is_device(text) or ("{" not in text and _ALIAS.search(text)):
            return "device"  # names of types are everybody's
        return "instance" if re.search(r"\btemplate\b", text) else "host"

    def _instantiated(self, name: str) -> Iterator[str]:
        """Yield the functions that a macro's body instantiates."""
        if name in self.known:
            for each in re.findall(r"\btemplate\b\s*([^;{<(]*)[<(]", self.known[name].body):
                yield from _IDENTIFIER.findall(each)[-1:]

    def _host_members(self, node: Node, bare: str) -> Iterator[tuple[int, int]]:
        """Yield the host functions of a class: what no device code can call."""
        body = node.child_by_field_name("body")
        if body is None or body.type != "field_declaration_list":
            return
        for child in body.named_children:
            if child.type not in _MEMBERS:
                continue
            start = self._start(child)
            inner = child
            while inner.type == "template_declaration" and inner.named_children:
                inner = inner.named_children[-1]
            kind = inner.child_by_field_name("type")
            if kind is not None and kind.type in _CLASSES:
                yield from self._host_members(kind, bare)
            function = inner.type == "function_definition" or _is_function(inner)
            block = inner.child_by_field_name("body")
            head = bare[start : block.start_byte if block else child.end_byte]
            original = plain(self.text[start : block.start_byte if block else child.end_byte])
            if (
                function
                and not self.is_device(original)
                and not re.search(
                    r"\b(?:constexpr|consteval|virtual|operator\s*\(\s*\)\s*=)\b", head
                )
                and not re.search(r"=\s*(?:default|delete)\s*;?\s*$", bare[start : child.end_byte])
            ):
                yield start, child.end_byte


@lru_cache(maxsize=1)
def parser() -> Parser:
    """Return the parser of CUDA C++. Raises ToolError where it is not installed."""
    try:
        import tree_sitter_cuda
        from tree_sitter import Language, Parser
    except ImportError as error:
        raise ToolError(f"no parser of CUDA source found ({install('sass')})") from error
    return Parser(Language(tree_sitter_cuda.language()))


def words(text: str) -> frozenset[str]:
    """Return the identifiers in a text."""
    return frozenset(_IDENTIFIER.findall(text))


def _head(node: Node, bare: str) -> str:
    """Return what stands before a function's name."""
    declarator = node.child_by_field_name("declarator")
    return bare[node.start_byte : declarator.start_byte if declarator else node.end_byte]


def _is_function(node: Node) -> bool:
    """Whether a declaration is a function's prototype."""
    found = node.child_by_field_name("declarator")
    while found is not None and found.type in (
        "pointer_declarator", "reference_declarator", "init_declarator",
    ):  # fmt: skip
        found = found.child_by_field_name("declarator") or next(
            (child for child in found.named_children if child.type.endswith("declarator")), None
        )
    if found is None or found.type != "function_declarator":
        return False
    inner = found.child_by_field_name("declarator")
    return inner is None or inner.type != "parenthesized_declarator"  # a pointer to a function


def _names(node: Node) -> Iterator[str]:
    """Yield the names that a declaration declares."""
    if node.type == "using_declaration":
        found = _IDENTIFIER.findall((node.text or b"").decode())
        yield from found[-1:]
        return
    kind = node.child_by_field_name("type")
    if kind is not None and kind.type in (*_CLASSES, "enum_specifier"):
        yield from _names(kind)
    name = node.child_by_field_name("name")
    if name is not None:
        yield from _IDENTIFIER.findall((name.text or b"").decode().split("<")[0])
    if node.type == "enum_specifier" and (body := node.child_by_field_name("body")) is not None:
        for each in body.named_children:
            if (name := each.child_by_field_name("name")) is not None:
                yield (name.text or b"").decode()
    for declarator in node.children_by_field_name("declarator"):
        yield from _declared_name(declarator)


def _declared_name(node: Node) -> Iterator[str]:
    while (inner := node.child_by_field_name("declarator")) is not None:
        node = inner
    if node.type in ("pointer_declarator", "reference_declarator", "parenthesized_declarator"):
        for child in node.named_children:
            yield from _declared_name(child)
        return
    text = (node.text or b"").decode()
    if node.type == "function_declarator" or "(" in text:
        text = text.split("(")[0]
    yield from _IDENTIFIER.findall(text.split("<")[0])
