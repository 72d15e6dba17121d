"""The answer to a question about one access, in at most 15 lines.

In this order: the verdict, its cause with a map of the banks, the price, the cure, the figures.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from html import escape
from typing import TYPE_CHECKING

import numpy as np

from layouts.errors import plural
from simulator.asking.bank_map import LABEL, bank_map
from simulator.asking.words import Level, cause, least_wavefronts, verdict, waits
from simulator.inputs.asked import AskedAccess, least_of
from simulator.inputs.question import by_thread
from simulator.inputs.threads import THREAD_NAMES, assumed_block
from simulator.inputs.types import op_of
from simulator.law import specification
from simulator.law.counting import Counts
from simulator.law.explaining import Explanation
from simulator.law.loops import is_loop
from simulator.results.text import Table, as_html

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from simulator.asking.cure import Cure
    from simulator.asking.pictures import Picture

__all__ = ["Answer", "AnswerLine"]

MOST_LINES = 15

_COLORS: dict[Level, tuple[str, str]] = {
    "conflict": ("31", "#b3261e"),
    "free": ("32", "#1a7f37"),
    "harmless": ("32", "#1a7f37"),
    "nothing": ("", ""),
}
"""Of a verdict, on a terminal and in HTML: red for a conflict that costs, green for none."""


@dataclass(frozen=True)
class AnswerLine:
    """A line of an answer; a conflict colours it, and nothing else does."""

    text: str
    level: Level = "nothing"
    passes: int = 0
    """For a row of the map: a bank with more wavefronts has lanes that wait."""

    def parts(self) -> Iterator[tuple[str, Level]]:
        """Yield the pieces of the line, each with what colours it."""
        if not self.passes:
            yield self.text, self.level
            return
        yield self.text[:LABEL], "nothing"
        for cell in re.findall(r"\d+|\D+", self.text[LABEL:]):
            waits: Level = "conflict" if cell.isdigit() and int(cell) > self.passes else "nothing"
            yield cell, waits


@dataclass(frozen=True, eq=False, kw_only=True)
class Answer(Explanation):
    """An explained access with its verdict, its price and its cure.

    As an `Explanation` it is the worst warp of those that were asked about.
    """

    text: str
    """The question in C; empty where addresses were given."""
    warp: int
    """Number of the warp that is explained."""
    warps: Counts
    """The figures of every warp, shape (warps,)."""
    block: tuple[int, int, int] | None
    """Threads of the block; None where addresses were given."""
    assumed: tuple[str, ...]
    """What nobody said, in words."""
    asked: AskedAccess | None = field(repr=False, compare=False)

    @property
    def verdict(self) -> str:
        """Whether it conflicts, in words."""
        return verdict(self).text

    @property
    def cause(self) -> str:
        """Which lanes meet in which bank, and whether phases fused."""
        return cause(self)

    @cached_property
    def _cures(self) -> tuple[list[Cure], str]:
        from simulator.asking.cure import cures

        least = (self._least_wavefronts == self.warps.wavefronts).all()
        if least and verdict(self).level == "conflict":
            return [], "no layout helps: lanes that update one word wait for each other"
        special = self.sources is not None or is_loop(self.instruction)
        if special and verdict(self).level == "free":
            return [], "nothing to do"
        if self.sources is not None:
            return [], "not searched: where lanes read decides, too"
        if is_loop(self.instruction):
            return [], "not searched: loops of atomics"

        if self.asked is None:
            done = "nothing to do" if not self.bank_conflicts else _NO_LAYOUT
            return [], done
        return cures(self.asked, self.rule)

    @property
    def cures(self) -> list[Cure]:
        """Layouts that cost less: the least padding, the simplest swizzle."""
        return self._cures[0]

    @property
    def uncured(self) -> str:
        """Why there is no cure; empty where there is one."""
        return self._cures[1]

    @property
    def caveat(self) -> str:
        """What a cure may do to accesses that were not given."""
        loads = {"read": ("load", "store"), "write": ("store", "load")}
        given = loads.get(self.instruction.verb)
        return (
            f"only the {given[0]} was given: the {given[1]} may get bank conflicts"
            if given
            else "only this access was given: others may get bank conflicts"
        )

    @property
    def weighing(self) -> str:
        """The command that weighs the access and its counterpart; empty where it has none."""
        asked, op = self.asked, self.instruction
        if asked is None or asked.located is not None or op.verb not in ("read", "write"):
            return ""
        question, array = asked.question, asked.question.array
        own = op_of(question.type, store=question.store) == op.name
        if array.assumed or not own or set(question.names) - set(THREAD_NAMES):
            return ""
        other = _by_thread(asked)
        if not other:
            return ""
        other += " = 0" if op.verb == "read" else ""
        assumed, _ = assumed_block(re.findall(r"threadIdx\.[xyz]", other))
        block = "" if assumed == asked.block else f" --block {asked.block}"
        accesses = (" ".join(self.text.split()), other)
        given = " ".join(f"--access {shlex.quote(each)}" for each in accesses)
        return f"bankwise optimize {given}{block}"

    def pictures(self) -> list[Picture]:
        """Return the access as it was asked, then with each cure, both for their worst warp."""
        from simulator.asking.pictures import Picture, with_cure

        several = len(self.warps.wavefronts) > 1
        heading = "As written" if self.text else "As given"
        found = [Picture(heading, (("", self),), self.warp if several else None)]
        if self.asked is not None:  # addresses have no layout to cure
            found += [with_cure(self.asked, cure, self.rule) for cure in self.cures]
        return found

    def table(self) -> Table:
        """Return the table of an `Explanation`; its totals also hold the answer, for JSON."""
        table = super().table()
        found, why = self._cures
        answer = {
            "verdict": self.verdict,
            "level": verdict(self).level,
            "cause": self.cause,
            "warp": self.warp,
            "block": None if self.block is None else "x".join(map(str, self.block)),
            "assumed": list(self.assumed),
            "cures": [{name: getattr(each, name) for name in _CURE} for each in found],
            "no_cure": why,
        }
        return replace(table, totals={**table.totals, "answer": answer})

    def lines(self) -> list[AnswerLine]:
        """Return the answer, line by line."""
        level = verdict(self).level
        said = [AnswerLine(self.verdict, level)]
        if level != "nothing":
            said.append(AnswerLine(self.cause))
        header, *rows = bank_map(self) or [""]
        passes = self.instruction.passes
        picture = [AnswerLine(header)] * bool(rows) + [
            AnswerLine(row, passes=passes) for row in rows
        ]
        rest = [*self._price(), *self._cure_lines(), *self._figures()]
        if self.assumed:
            rest.append(AnswerLine(f"Assumed  {'; '.join(self.assumed)}"))
        blanks = [AnswerLine("")] * max(
            0, min(2, MOST_LINES - len(said) - len(picture) - len(rest))
        )
        if not picture:
            return [*said, *blanks[:1], *rest]
        return [*said, *blanks[:1], *picture, *blanks[1:], *rest]

    def _price(self) -> Iterator[AnswerLine]:
        if not self.wavefronts:
            return
        totals = self.warps.totals()
        now = int(totals["cycles"])
        op = self.instruction
        least = self._least_wavefronts
        free = int(specification.cycles(op, least, self.warps.phases, np.maximum).sum())
        whose = f" for the {len(self.warps.wavefronts)} warps" if self._several else ""
        # What a copy from anywhere would cost without is not known.
        without = (
            ""
            if free == now or self.sources is not None
            else (f", {free:,} {'in the best layout' if waits(op) else 'without conflicts'}")
        )
        if verdict(self).level == "harmless":
            best = min((cure.cycles for cure in self.cures), default=now)
            without = f" (Nsight's ideal), {best:,} with the cure" if best < now else ""
        yield AnswerLine(
            f"Price    {plural(now, 'cycle')} of the shared-memory pipe{whose}{without}"
        )

    @cached_property
    def _least_wavefronts(self) -> NDArray[np.int64]:
        """Those of each warp without conflicts that cost something; see `least_wavefronts`."""
        op, asked = self.instruction, self.asked
        if asked is None:
            return np.array([least_wavefronts(self)])
        if not waits(op):
            warps = self.warps
            least = warps.wavefronts - op.passes * warps.bank_conflicts
            return np.where(warps.excessive > 0, least, warps.wavefronts)
        return least_of(asked, asked.addresses(), self.rule)

    @property
    def _several(self) -> bool:
        return len(self.warps.wavefronts) > 1

    def _cure_lines(self) -> Iterator[AnswerLine]:
        found, why = self._cures
        if not found:
            yield AnswerLine(f"Cure     {why}")
            return
        rows = [(f"{_kind(each)}{each.text}", each.size, each.effort) for each in found]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        for number, (row, each) in enumerate(zip(rows, found, strict=True)):
            cells = "".join(
                f"{cell:<{width}}  " for cell, width in zip(row, widths, strict=True) if width
            )
            yield AnswerLine(f"{'  or' if number else 'Cure':<9}{cells}{each.leaves}")
            if each.others:
                yield AnswerLine(f"         {each.others}")
        if not self.weighing:
            yield AnswerLine(f"         {self.caveat}")
            return
        yield AnswerLine(f"         {self.caveat}; to find a layout for both:")
        yield AnswerLine(f"         {self.weighing}")

    def _figures(self) -> Iterator[AnswerLine]:
        ways = f"{self.wavefronts}-way" if self.wavefronts else "0-way"
        figures = [
            plural(len(self.phases), "phase"),
            plural(self.wavefronts, "wavefront"),
            f"{self.ideal:,} ideal",
            f"{self.excessive:,} excessive",
            plural(self.bank_conflicts, "bank conflict"),
            plural(self.cycles, "cycle"),
            ways,
        ]
        which = f" (warp {self.warp})" if self.asked and self.asked.block.warps > 1 else ""
        if self._several:
            which = f" (warp {self.warp}, the worst of {len(self.warps.wavefronts)})"
        on = "" if self.chip is None else f" on {self.chip}"
        yield AnswerLine(f"Figures  {self.op}{on}: {', '.join(figures)}{which}")

    def shown(self) -> list[Table]:
        """Return the answer alone; `details` has the tables."""
        return [Table([], {}, text=[str(self)])]

    def __str__(self) -> str:
        return "\n".join(line.text for line in self.lines())

    def terminal(self) -> str:
        """Return the same text with a terminal's colours."""
        return "\n".join(
            "".join(_painted(text, _COLORS[level][0]) for text, level in line.parts())
            for line in self.lines()
        )

    def markdown(self) -> str:
        """Return the same text as a block of Markdown, in which columns stay."""
        return f"```text\n{self}\n```"

    def __repr__(self) -> str:
        """Show the verdict: the figures are many, and `print` says all of the answer."""
        return f"<{type(self).__name__} of {self.op}: {self.verdict}>"

    def _repr_html_(self) -> str:
        from simulator.asking.pictures import beside

        lines = (
            "".join(_spanned(text, _COLORS[level][1]) for text, level in line.parts())
            for line in self.lines()
        )
        figures, *rest = Explanation.shown(self)
        tables = as_html(replace(figures, title=self.sentences[0])) + "".join(map(as_html, rest))
        folded = f"<details><summary>{_FOLDED}</summary>{tables}</details>"
        drawn = beside(self.pictures()) if self.wavefronts else ""
        return "<pre>{}</pre>{}{}".format("\n".join(lines), drawn, folded)

    def details(self) -> list[Table]:
        """Return the tables of an `Explanation`: its sentences and what each wavefront serves."""
        return Explanation.shown(self)


_FOLDED = "What each wavefront serves"

_CURE = (
    "kind", "text", "everywhere", "notation", "bytes", "more", "operations", "wavefronts",
    "bank_conflicts", "excessive", "cycles",
)  # fmt: skip
"""What JSON says of a cure."""

_NO_LAYOUT = (
    "not searched: addresses do not say how the array lies (ask in C, such as"
    " 'float s[32][32]; s[threadIdx.x][threadIdx.y]')"
)


def _by_thread(asked: AskedAccess) -> str:
    """Return an element per thread, side by side; empty where a block has more than an array."""
    array, block = asked.question.array, asked.block
    sizes = [1 << 20 if size is None else size for size in array.sizes]
    spans = zip(reversed(sizes), (block.x, block.y, block.z), strict=False)
    if all(threads <= size for size, threads in spans):
        return array.name + by_thread(len(sizes))
    if len(sizes) == 2 and block.threads == block.x <= sizes[0] * sizes[1]:
        return f"{array.name}[threadIdx.x / {sizes[1]}][threadIdx.x % {sizes[1]}]"
    return ""


def _painted(text: str, code: str) -> str:
    return f"\x1b[{code}m{text}\x1b[0m" if code and text else text


def _spanned(text: str, color: str) -> str:
    return f'<span style="color:{color}">{escape(text)}</span>' if color else escape(text)


def _kind(cure: Cure) -> str:
    return {"pad": "pad to ", "swizzle": "swizzle ", "layout": "lay as "}[cure.kind]
