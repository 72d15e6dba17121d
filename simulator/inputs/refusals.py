"""What is wrong where a text cannot be read on, and how it would be written."""

from __future__ import annotations

import difflib
import re

__all__ = ["not_of_a_thread", "why"]

_ROWS = re.compile(r"(?:const\s+)?[A-Za-z_]\w*\s*\(\s*\*\s*\w+\s*\)\s*\[")
_GENERIC = re.compile(r"([A-Za-z_][\w:]*\s*<[^;=]*>)\s*[A-Za-z_]\w*\s*(?:\[|$|;)")
_OF_A_PLACE = re.compile(r"\(\s*&?\s*\w+\s*\[")
_THREAD = "threadIdx.x, .y, .z, blockDim.x, .y, .z"


def not_of_a_thread(owner: str, member: str) -> str:
    """Return that a member is not a number of a thread, with the name that may be meant.

    >>> not_of_a_thread("threadidx", ".x").partition(" accepted: ")[0]
    'threadidx.x is not a number of a thread (did you mean threadIdx.x?'
    """
    if owner in ("threadIdx", "blockDim"):
        return f"{owner} has no member {member.lstrip('. ')} (accepted: {_THREAD})"
    near = difflib.get_close_matches(owner.lower(), ("threadidx", "blockdim"), 1, 0.8)
    axis = re.fullmatch(r"\.\s*([xyzXYZ])", member)
    meant = ""
    if near and axis:
        name = {"threadidx": "threadIdx", "blockdim": "blockDim"}[near[0]]
        meant = f"did you mean {name}.{axis[1].lower()}? "
    return f"{owner}{member} is not a number of a thread ({meant}accepted: {_THREAD})"


def why(text: str, column: int) -> tuple[str, int, str] | None:
    """Return what is wrong, its column and how it would be written, where that is known."""
    before, at = text[:column].rstrip(), text[column:].lstrip()
    begin = text.rfind(";", 0, column) + 1
    begin += len(text[begin:]) - len(text[begin:].lstrip())
    name = re.search(r"(\w+)$", before)
    member = re.match(r"\.\s*\w*", at)
    missing = [b for a, b in ("[]", "()") if before.count(a) > before.count(b)]
    if not at and missing:
        return "expression ends too early", len(before), f": {missing[0]!r} is missing"
    if at.startswith(",") and before.count("[") > before.count("]"):
        return "a comma in brackets", column, " (accepted: s[row][column])"
    if member and before.endswith("]"):
        return (
            "a member alone is not accepted", column, " (accepted: the whole element, or a cast)"
        )  # fmt: skip
    if name and member and name[1].isdigit():
        odd = f"{name[1]}{member[0]} is not an integer"
        return odd, name.start(), " (accepted: 33, 33u, 0x21)"
    if name and member:
        said, brace, ways = not_of_a_thread(name[1], member[0]).partition(" (")
        return said, name.start(), brace + ways
    if at.startswith(("{", "}")):
        return "braces are not accepted", column, " (accepted: the statements within, without them)"
    if _ROWS.match(text, begin):
        ways = " (accepted: an array in its place, such as float t[32][33])"
        return "a pointer to rows is not accepted", begin, ways
    if generic := _GENERIC.match(text, begin):
        ways = " (accepted: float, half, int, float4, ..., and an array of them: float s[32])"
        return f"the type {generic[1]} is not known here", begin, ways
    if name and _OF_A_PLACE.match(at):
        ways = "the place alone, such as s[tid/8][tid%8*8], and --op, such as ldmatrix.x4"
        return f"{name[1]}() is not known here", name.start(), f" (accepted: {ways})"
    if at.startswith("(") and name and not name[1].isdigit():
        return (
            f"{name[1]}() cannot be called in an index",
            name.start(),
            " (accepted: an index without a call, or a name with -D NAME=VALUE)",
        )
    return None
