"""What a reader of English as a second language can count on in a docstring."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache

from tests.sources import trees

MOST_WORDS = 25
FROM = 6
"""Parameters of a function from which on its docstring lists them."""
UNUSED = ("Give", "Hand", "Deliver")
"""Verbs for which there is one that everybody uses: Return, Yield."""

Documented = ast.Module | ast.ClassDef | ast.FunctionDef


@cache
def documented() -> tuple[tuple[str, Documented, str], ...]:
    """Return each public thing with a docstring: its place, itself, the docstring."""
    return tuple(_documented())


def _documented() -> Iterator[tuple[str, Documented, str]]:
    for path, tree in trees():
        for node in (tree, *_public(tree)):
            text = ast.get_docstring(node)
            if text:
                yield f"{path} {getattr(node, 'name', '')}".strip(), node, text


def _public(tree: ast.Module | ast.ClassDef) -> Iterator[ast.ClassDef | ast.FunctionDef]:
    for node in tree.body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef) and not node.name.startswith("_"):
            yield node
            if isinstance(node, ast.ClassDef):
                yield from _public(node)


def sentences(text: str) -> Iterator[str]:
    """Yield sentences and their parts; examples, tables and what is indented are not prose."""
    text = re.sub(r"^ *>>>.*(?:\n(?!\s*\n).*)*", "", text, flags=re.MULTILINE)
    for paragraph in re.split(r"\n\s*\n", text):
        prose = "\n".join(line for line in paragraph.split("\n") if not line.startswith("    "))
        for item in re.split(r"\n\s*[*-] ", prose):
            yield from re.split(r"(?<=[.!?:;])\s+", " ".join(item.split()))


def words(sentence: str) -> int:
    return len([word for word in sentence.split() if re.search(r"\w", word)])


def test_a_sentence_is_read_once() -> None:
    """Between full stops, colons and semicolons there are at most 25 words."""
    long, many = {}, 0
    for place, _, text in documented():
        many += 1
        for sentence in sentences(text):
            if words(sentence) > MOST_WORDS:
                long[f"{place}: {sentence}"] = words(sentence)
    assert many > 1000
    assert long == {}


NOT_ENGLISH = {
    r"\b(?<!there )(?:is|are|was|be) none\b(?! of)": 'is not a ..., not "is none"',
    r"\b(?<!there )(?:is|are) no (?!longer|more|less|fewer|greater|other|better|worse|larger)"
    r"\w+": "is not a ...",
    r"\b(?:one|once|two|\d[\d,.]*|bytes?|cycles?|entry|entries|wavefronts?) an? "
    r"(?:lane|warp|access|turn|second|phase|wavefront|block|thread|cycle|row)\b": "per",
}
"""What a docstring or a message does not say, and what it says instead."""


def test_docstrings_and_messages_say_what_is_not_and_per_what() -> None:
    found, many = [], 0
    for path, tree in trees():
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                many += 1
                text = " ".join(node.value.split())
                for pattern, instead in NOT_ENGLISH.items():
                    said = re.search(pattern, text)
                    if said:
                        found.append(f"{path}:{node.lineno}: {said[0]!r}; better: {instead}")
    assert many > 20_000
    assert found == []


def test_it_begins_with_what_is_returned_or_done() -> None:
    found = []
    for place, node, text in documented():
        if isinstance(node, ast.FunctionDef) and text.split()[0] in UNUSED:
            returns = node.returns is not None and ast.unparse(node.returns) != "None"
            if returns:
                found.append(f"{place}: {text.splitlines()[0]}")
    assert found == []


def test_many_parameters_are_listed() -> None:
    """In NumPy style, from six on; those of a class where it is made are its own.

    The command line has its options, and agents a schema.
    """
    found, many = {}, 0
    for place, node, text in documented():
        if place.startswith("simulator/cli/"):
            continue
        made = [
            each
            for each in (node.body if isinstance(node, ast.ClassDef) else [node])
            if isinstance(each, ast.FunctionDef) and (each is node or each.name == "__init__")
        ]
        for each in made:
            if any("jit" in ast.unparse(mark) for mark in each.decorator_list):
                continue  # compiled loops take tables; the module says what those hold
            names = parameters(each)
            many += len(names) >= FROM
            if len(names) >= FROM and (left := names - listed(text)):
                found[place] = left
    assert many > 60
    assert found == {}


def parameters(node: ast.FunctionDef) -> set[str]:
    given = node.args
    names = {each.arg for each in (*given.posonlyargs, *given.args, *given.kwonlyargs)}
    extra = {f"*{given.vararg.arg}"} if given.vararg else set()
    return (names | extra | ({f"**{given.kwarg.arg}"} if given.kwarg else set())) - {"self", "cls"}


def listed(text: str) -> set[str]:
    """Return the names that a docstring's list of parameters explains."""
    _, _, section = text.partition("Parameters\n----------\n")
    section = re.split(r"\n\n\w+\n--", section)[0]
    heads = re.findall(r"^(\S.*)\n {4}\S", section, flags=re.MULTILINE)
    return {name for head in heads for name in head.split(", ")}


def test_a_list_of_parameters_is_read() -> None:
    text = "Do.\n\nParameters\n----------\na, *b\n    What.\nc\n\nExamples\n--------\nd\n    No."
    assert listed(text) == {"a", "*b"}


def test_a_long_sentence_would_be_found() -> None:
    text = "It " + "is " * 25 + "long.\n\n    >>> 1\n    not prose\n\n* a\n* b; c"
    assert [words(each) for each in sentences(text)] == [27, 1, 1, 1]
