"""Changes to a source that NVRTC refuses although nvcc, which reads C++ as gcc does, takes it."""

from __future__ import annotations

import re
from collections.abc import Mapping

__all__ = ["without_static"]

_OVERLOADS = re.compile(
    r"(?m)^(?P<file>[^\n]+?)\((?P<line>\d+)\): error: static and nonstatic member functions with"
    r" same parameter types cannot be overloaded"
)
_FAR = 40  # lines between the overloads of a member function


def without_static(log: str, texts: Mapping[str, str]) -> dict[str, str]:
    r"""Return the texts, by name, where overloads that differ by `static` alone are both `const`.

    `log`: what NVRTC says. The overloads are templates of which one is not static; which of them
    is meant shows by their return types, and what calls the static one calls it of an object.

    >>> log = "a.h(2): error: static and nonstatic member functions with same parameter types"
    >>> text = "template <int A> static T<A> rows();\ntemplate <int A> U<A> rows() const;"
    >>> without_static(log + " cannot be overloaded", {"a.h": text})["a.h"]
    'template <int A>        T<A> rows() const;\ntemplate <int A> U<A> rows() const;'
    """
    found: dict[str, str] = {}
    for each in _OVERLOADS.finditer(log):
        name, at = each["file"].strip(), int(each["line"]) - 1
        lines = found.get(name, texts.get(name, "")).split("\n")
        called = re.search(r"(\w+)\s*\(\s*\)\s*const\b", lines[at]) if at < len(lines) else None
        if called is None:
            continue
        for number in range(max(0, at - _FAR), at):
            if re.search(rf"\bstatic\b.*\b{called[1]}\s*\(\s*\)", lines[number]):
                line = re.sub(r"\bstatic\b", " " * 6, lines[number], count=1)
                lines[number] = re.sub(rf"(\b{called[1]}\s*\(\s*\))", r"\1 const", line, count=1)
                found[name] = "\n".join(lines)
    return found
