"""The one base of every error that bankwise raises on purpose."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

__all__ = ["BankwiseError", "ExpressionError", "LayoutError", "accepted", "plural", "short"]


class BankwiseError(ValueError):
    """Bad input. The message repeats what was given and says what is accepted."""


class LayoutError(BankwiseError):
    """A warp shape, lane order, tile, padding or swizzle that does not fit."""


class ExpressionError(BankwiseError):
    """A malformed expression, or one that C leaves undefined; a caret shows the place.

    A long expression is cut around that place.
    """

    column: int
    """Where it is wrong, from 0."""

    def __init__(self, problem: str, source: str, column: int) -> None:
        self.column = column
        # A caret line only lines up under a source that is one line itself.
        shown = "".join(char if char.isprintable() else " " for char in source)
        first = max(0, column - _AROUND)
        last = max(column, 0) + _AROUND
        before, after = "..." * (first > 0), "..." * (last < len(shown))
        caret = " " * (len(before) + column - first)
        super().__init__(f"{problem}\n  {before}{shown[first:last]}{after}\n  {caret}^")


_AROUND = 100
"""Characters that a message shows before and behind the caret."""


def short(given: object, most: int = 80) -> str:
    """Return an input as an error message repeats it: on one line, and cut where it is long.

    >>> short(list(range(100)), most=12)
    '[0, 1, 2...'
    >>> short(10**5000)
    '(int of thousands of digits)'
    """
    try:
        text = " ".join(repr(given).split())
    except RecursionError:
        return f"({type(given).__name__} nested too deep to print)"
    except ValueError:  # Python does not print integers of more than 4,300 digits
        return f"({type(given).__name__} of thousands of digits)"
    return text if len(text) <= most else f"{text[: most - 3]}..."


def plural(number: int, noun: str) -> str:
    """Return a number and its noun, with an `s` unless the number is 1.

    >>> plural(1, "bank conflict"), plural(1000, "wavefront")
    ('1 bank conflict', '1,000 wavefronts')
    """
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def accepted(given: object, names: Iterable[str]) -> str:
    """Return which of `names` would be accepted, the ones nearest to `given` first.

    >>> accepted("row-majr", ["row-major", "col-major", "z-order"])
    'did you mean row-major? (accepted: row-major, col-major, z-order)'
    >>> accepted("hilbert", ["row-major", "col-major", "z-order"])
    'accepted: row-major, col-major, z-order'
    >>> accepted("4090", ["RTX 4090", "H100"])
    'did you mean RTX 4090? (accepted: RTX 4090, H100)'
    """
    options, said = list(names), str(given)
    near = difflib.get_close_matches(said, options, n=3, cutoff=0.75)
    near = near or [each for each in options if said.casefold() in each.casefold().split()]
    listed = f"accepted: {', '.join(options)}"
    return f"did you mean {' or '.join(near)}? ({listed})" if near else listed
