"""Comments that allow a line more than the limits: `// bankwise: allow 2-way`.

A comment on a line of its own is for the next line that has code. What it may say:

    allow 2-way              at most 2 wavefronts where 1 is enough, over all executions
    allow 64 conflicts       at most so many, over the launch; excessive and wavefronts likewise
    allow any                whatever the line costs

After it may stand why: `// bankwise: allow 2-way, the epilogue runs once`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from layouts.errors import plural, short
from simulator.checking.figures import LIMITS, Figures
from simulator.errors import CheckError
from simulator.sass.code.preprocessor import plain

__all__ = ["Allowance", "allowances"]

_COMMENT = re.compile(r"(?://|/\*|\#)\s*bankwise\s*:\s*(.*)", re.IGNORECASE)
_ALLOW = re.compile(
    r"allow\s+(?:(?P<any>any)|(?P<ways>\d{1,4}(?:\.\d{1,3})?)-?\s*ways?"
    r"|(?P<number>\d{1,18})\s+(?P<figure>(?:bank\s+)?conflicts?|excessive|wavefronts?))"
    r"(?![\w-]|\.\d)",
    re.IGNORECASE,
)
_FIGURES = {"c": "conflicts", "b": "conflicts", "e": "excessive", "w": "wavefronts"}


@dataclass(frozen=True)
class Allowance:
    """What a line is allowed."""

    line: int
    """The line that may cost it, from 1."""
    text: str
    """As the comment says it."""
    figure: str | None
    """That is limited; None: whatever it costs is allowed."""
    most: float = 0

    def exceeded(self, figures: Figures) -> bool:
        """Return whether a line costs more."""
        return self.figure is not None and getattr(figures, self.figure) > self.most

    @property
    def said(self) -> str:
        """What it allows, in words."""
        if self.figure is None:
            return "any"
        if self.figure == "ways":
            return f"{self.most:g}-way"
        return plural(int(self.most), LIMITS[self.figure].noun)


def allowances(file: str, lines: Sequence[str]) -> dict[int, Allowance]:
    """Return what the comments of a source allow, by the line that they are for.

    >>> found = allowances("k.cu", ["x = s[i];  // bankwise: allow 2-way", "y = s[j];"])
    >>> [(line, each.said) for line, each in found.items()]
    [(1, '2-way')]

    Raises CheckError, which names the line, for a comment that says something else.
    """
    found: dict[int, Allowance] = {}
    for number, line in enumerate(lines, 1):
        comment = _COMMENT.search(line)
        if comment is None:
            continue
        said = _ALLOW.match(comment[1].strip())
        if said is None:
            raise CheckError(
                f"{file}:{number}: {short(comment[0].strip())} (accepted: bankwise: allow 2-way,"
                " allow 64 conflicts, allow 8 excessive, allow 64 wavefronts, allow any)"
            )
        target = number if line[: comment.start()].strip() else _next(lines, number)
        if target in found:
            raise CheckError(
                f"{file}:{number}: line {target} has an allowance already (accepted: one per line)"
            )
        found[target] = _allowance(target, said)
    return found


def _allowance(line: int, said: re.Match[str]) -> Allowance:
    if said["any"]:
        return Allowance(line, said[0], None)
    if said["ways"]:
        return Allowance(line, said[0], "ways", float(said["ways"]))
    return Allowance(line, said[0], _FIGURES[said["figure"][0].lower()], int(said["number"]))


def _next(lines: Sequence[str], number: int) -> int:
    """Return the first line after `number` that holds more than a comment."""
    bare = plain("\n".join(lines)).split("\n")
    return next((at for at in range(number + 1, len(bare) + 1) if bare[at - 1].strip()), number)
