"""What host code launches, how often its loops are read, and what those change."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from simulator.sass.code.evaluation import text_of
from simulator.sass.code.signatures import walk

if TYPE_CHECKING:
    from tree_sitter import Node

__all__ = ["LAUNCH", "LAUNCHES", "is_counted", "launches_a_parameter", "passes_of", "stepped"]

LAUNCH = {"cudaLaunchKernel", "cudaLaunchCooperativeKernel", "cudaLaunchKernelEx"}
"""Functions that launch a kernel."""

LAUNCHES = re.compile(r"<<<|\bcudaLaunch")
"""What a text that launches has."""
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
