"""What host code launches, how often its loops are read, and what those change."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from simulator.sass.code.evaluation import operator_of, text_of
from simulator.sass.code.signatures import walk

if TYPE_CHECKING:
    from tree_sitter import Node

    from simulator.sass.code.preprocessor import Macro

__all__ = [
    "LAUNCH", "LAUNCHES", "asks_arguments", "from_case", "is_counted", "launches_a_parameter",
    "launching_macros", "passes_of", "refuses_arguments", "stepped",
]  # fmt: skip

LAUNCH = {"cudaLaunchKernel", "cudaLaunchCooperativeKernel", "cudaLaunchKernelEx"}
"""Functions that launch a kernel."""

LAUNCHES = re.compile(r"<<<|\bcudaLaunch")
"""What a text that launches has."""
_ENDS = re.compile(r"(std::)?(exit|abort|quick_exit|_Exit) ?\(")
_GIVEN = {
    "init_declarator": ("declarator", "value"),
    "assignment_expression": ("left", "right"),
}
_WRAPPED = ("argument_list", "initializer_list", "parenthesized_expression")
_TRUTHS = {"<", ">", "<=", ">=", "==", "!=", "&&", "||", "!"}
_WORD = re.compile(r"[A-Za-z_]\w*")
_FILLS = re.compile(r"\bcudaMalloc\w*\s*\([^;]*\[")
_MOST_LAUNCHING = 32
_MOST_POINTERS = 256  # of a loop that fills an array of pointers
_MOST = 512  # of any other; what it leaves is known where its condition ends it
_LEAVES = {"break_statement", "continue_statement", "goto_statement", "return_statement"}


def passes_of(body: Node, kind: str) -> int:
    """Return how many passes of a loop are read; the first alone where it may be left inside."""
    said = text_of(body)
    if kind == "for_statement" and (_FILLS.search(said) or LAUNCHES.search(said)):
        return _MOST_POINTERS if _FILLS.search(said) else _MOST_LAUNCHING
    if any(each.type in _LEAVES for each in walk(body)):
        return 1
    return _MOST_LAUNCHING if LAUNCHES.search(said) else _MOST


def is_counted(body: Node) -> bool:
    """Whether a loop shares the passes of all loops: long ones take none from one that launches."""
    said = text_of(body)
    return not _FILLS.search(said) and not LAUNCHES.search(said)


def stepped(node: Node) -> set[str]:
    """Return the variables that a loop changes by what they were: `n += 1`, `--n`, `n = n / 2`."""
    found = set()
    for each in walk(node):
        if each.type == "update_expression":
            found.add(text_of(each.named_children[0]))
        elif each.type == "assignment_expression":
            left, right = (each.child_by_field_name(name) for name in ("left", "right"))
            target = text_of(left) if left is not None else ""
            again = right is not None and target in {text_of(part) for part in walk(right)}
            if text_of(each.children[1]) != "=" or again:
                found.add(target)
    return found


def launches_a_parameter(node: Node) -> bool:
    """Whether a function launches a kernel that it is given."""
    if "<<<" not in text_of(node) and not LAUNCH.intersection(
        re.findall(r"[A-Za-z_]\w*", text_of(node))
    ):
        return False
    own = {
        text_of(name)
        for each in walk(node)
        if each.type == "parameter_declaration" and each.parent is not None
        for name in walk(each)
        if name.type == "identifier"
    }
    for each in walk(node):
        if each.type == "kernel_call_syntax" and each.parent is not None:
            called = each.parent.child_by_field_name("function")
            if called is not None and text_of(called) in own:
                return True
    return False


def from_case(cases: Sequence[Node], first: int) -> list[Node]:
    """Return the statements of a switch from one of its cases on, up to a `break`."""
    found = []
    for each in cases[first:]:
        found += [n for n in each.named_children if n.type.endswith(("statement", "declaration"))]
        if "break" in text_of(each):
            break
    return found


def refuses_arguments(node: Node, names: set[str]) -> bool:
    """Whether an `if` ends main because of its arguments' `names`: if (argc != 2) return 1;."""
    return _is_refusal(node) and _asks(node, _with_truths(_function_of(node), names))


def _is_refusal(node: Node) -> bool:
    """Whether an `if` ends the program, and launches nothing before."""
    then = node.child_by_field_name("consequence")
    return then is not None and _leaves(then) and not LAUNCHES.search(text_of(then))


def _asks(node: Node, names: set[str]) -> bool:
    """Whether a condition names one of them."""
    condition = node.child_by_field_name("condition")
    return condition is not None and not names.isdisjoint(_WORD.findall(text_of(condition)))


def _with_truths(function: Node, names: set[str]) -> set[str]:
    """Return the names, and variables that say what holds of them: bool has = argc > 1;."""
    made = [
        (text_of(name), {*_WORD.findall(text_of(value))})
        for each in walk(function)
        if each.type in _GIVEN
        and _function_of(each) == function
        and (name := each.child_by_field_name(_GIVEN[each.type][0])) is not None
        and (value := each.child_by_field_name(_GIVEN[each.type][1])) is not None
        and _is_truth(value)
    ]
    found, before = set(names), 0
    while len(found) > before:
        before = len(found)
        found |= {name for name, words in made if words & found}
    return found


def _function_of(node: Node) -> Node:
    """Return the function that a node is in, or the lambda."""
    while node.parent is not None and node.type not in ("function_definition", "lambda_expression"):
        node = node.parent
    return node


def _is_truth(node: Node) -> bool:
    """Whether an expression compares, or joins comparisons."""
    while node.type in _WRAPPED and len(node.named_children) == 1:
        node = node.named_children[0]
    operators = [operator_of(each) for each in node.children if not each.is_named]
    return node.type in ("binary_expression", "unary_expression") and operators[0] in _TRUTHS


def _leaves(node: Node) -> bool:
    """Whether a statement ends the program, at its end if it is a block."""
    if node.type == "compound_statement":
        within = [each for each in node.named_children if each.type != "comment"]
        return bool(within) and _leaves(within[-1])
    is_call = node.type == "expression_statement" and _ENDS.match(text_of(node)) is not None
    return node.type == "return_statement" or is_call


def asks_arguments(main: Node | None, names: set[str]) -> bool:
    """Whether main goes on by its arguments' `names`: n = argc > 1 ? atoi(argv[1]) : 512."""
    if main is None:
        return False
    names = _with_truths(main, names)
    return any(_asks(each, names) and not _is_refusal(each) for each in walk(main))


def launching_macros(macros: Mapping[str, Macro]) -> set[str]:
    """Return the macros with parameters that launch, or call one that does."""
    called = {
        name: macro.body for name, macro in macros.items() if macro.parameters is not None
    }  # fmt: skip
    found = {name for name, body in called.items() if LAUNCHES.search(body)}
    more = found
    while more:
        more = {name for name, body in called.items() if more & {*_WORD.findall(body)}} - found
        found |= more
    return found
