"""`compare`: questions, layouts, geometries or kernels beside each other, and their differences."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from layouts.errors import plural, short
from layouts.layout import Layout
from simulator.asking.answer import Answer
from simulator.asking.ask import answer, answer_of
from simulator.asking.bank_map import bank_map
from simulator.asking.reading import asked_of
from simulator.errors import OptionError
from simulator.gemm.simulate import FragmentReport, simulate
from simulator.inputs.asked import read
from simulator.kernels import names as kernel_names
from simulator.kernels.replay import replay
from simulator.law.chips import ChipLike
from simulator.law.counting import Counts, count
from simulator.law.explaining import Explanation, explain
from simulator.law.instructions import Rule
from simulator.results.sites import SiteTable
from simulator.results.tables import Result
from simulator.results.text import Table

__all__ = ["Comparison", "Input", "compare", "is_layout"]

Kind = Literal["access", "geometry", "kernel"]
"""What can be compared with each other: the figures of others have another scale."""

_COSTS = ("wavefronts", "ideal", "excessive", "bank_conflicts")
_CHANGES = ("wavefronts", "bank_conflicts")
_SITES = 4  # bars of a kernel
_BAR = 32  # characters of the longest


@dataclass(frozen=True, eq=False)
class Input:
    """One of what is compared."""

    name: str
    """As it was given."""
    kind: Kind
    figures: dict[str, int]
    """wavefronts, ideal, excessive, bank_conflicts and, but for kernels, cycles: all warps."""
    picture: tuple[str, ...]
    """Lines of text: the banks of its worst access, or a kernel's worst sites."""
    result: Any


@dataclass(frozen=True, eq=False)
class Comparison(Result):
    """Two or more inputs, and how each differs from the first."""

    inputs: tuple[Input, ...]

    @property
    def worse(self) -> bool:
        """Whether another one has more bank conflicts or more wavefronts than the first."""
        return any(change > 0 for each in self.inputs[1:] for change in self._changes(each))

    def _changes(self, one: Input) -> list[int]:
        first = self.inputs[0].figures
        return [one.figures[name] - first[name] for name in _CHANGES]

    @property
    def verdict(self) -> str:
        """Which takes the fewest wavefronts, in words."""
        best = min(
            self.inputs, key=lambda one: (one.figures["wavefronts"], one.figures["bank_conflicts"])
        )
        counts = [one.figures["wavefronts"] for one in self.inputs]
        conflicts = [one.figures["bank_conflicts"] for one in self.inputs]
        if len(set(counts)) == len(set(conflicts)) == 1:
            return (
                f"No difference: {plural(counts[0], 'wavefront')},"
                f" {plural(conflicts[0], 'bank conflict')} each"
            )
        others = _listed(f"{n:,}" for n in counts if n != best.figures["wavefronts"])
        instead = f" instead of {others}" if others else ""
        return (
            f"{best.name}: {plural(best.figures['wavefronts'], 'wavefront')}{instead},"
            f" {plural(best.figures['bank_conflicts'], 'bank conflict')}"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return `{"inputs": {column: list}, "totals": {"worse": …}}`: a row per input."""
        first = self.inputs[0].figures
        columns: dict[str, list[Any]] = {"input": [one.name for one in self.inputs]}
        for name in first:
            columns[name] = [one.figures[name] for one in self.inputs]
            if name in (*_CHANGES, "cycles"):
                columns[f"{name}_change"] = [one.figures[name] - first[name] for one in self.inputs]
        return {"inputs": columns, "totals": {"worse": self.worse}}

    def table(self) -> Table:
        """Return a row per input with its differences, and the pictures below."""
        shown = self.to_dict()
        return Table(
            self.rows(),
            shown["totals"],
            sums=[],
            title=self.verdict,
            pictures=[(one.name, one.picture) for one in self.inputs if one.picture],
        )


def compare(
    first: Any,
    second: Any,
    *others: Any,
    names: Sequence[str] | None = None,
    op: str | None = None,
    index: str | None = None,
    block: Any = None,
    element: int | None = None,
    rule: Rule = "silicon",
    chip: ChipLike | None = None,
) -> Comparison:
    """Compare two or more inputs: their figures, differences from the first, and pictures.

    An input is a question in C; a layout in CuTe's notation, read by the `index` "row, column" of
    each thread with `op`; a warp shape such as "4x8"; a kernel of the catalogue, at its size of
    4096; or a result of `explain`, `count`, `simulate`, `replay` or `replay_compiled`. `op`,
    `block`, `element` and `chip` are those of `count`. `names` say what the inputs are called.

    >>> found = compare("float s[32][32]; s[lane][0]", "float s[32][33]; s[lane][0]")
    >>> found.verdict
    'float s[32][33]; s[lane][0]: 1 wavefront instead of 32, 0 bank conflicts'
    >>> found.worse, found.rows()[1]["wavefronts_change"]
    (False, -31)

    Raises OptionError for inputs that cannot be compared, and what reading them raises.
    """
    given = (first, second, *others)
    called = names or [each if isinstance(each, str) else "" for each in given]
    if len(called) != len(given):
        raise OptionError(f"{len(called)} names for {len(given)} inputs (accepted: one for each)")
    inputs = []
    for number, (each, name) in enumerate(zip(given, called, strict=True)):
        result = each
        if isinstance(each, str):
            result = _read(each, op, index, block, element, rule, chip)
        inputs.append(_input(result, name or f"{type(each).__name__} {number}"))
    kinds = list(dict.fromkeys(one.kind for one in inputs))
    if len(kinds) > 1:
        raise OptionError(
            f"{inputs[0].name} is a {kinds[0]}, another is a {kinds[1]}: they have no common scale"
            " (accepted: accesses, geometries or kernels alone)"
        )
    if kinds == ["kernel"]:
        sites = [site for one in inputs for site in one.result.sites]
        most = max((site.wavefronts for site in sites), default=0)
        inputs = [replace(one, picture=tuple(_bars(one.result, most))) for one in inputs]
    return Comparison(tuple(inputs))


def is_layout(text: str) -> bool:
    """Return whether a text is a layout in CuTe's notation.

    >>> is_layout("Sw<3,3,3> o 0 o (64,64):(64,1)"), is_layout("float s[4]; s[tx ? 0 : 1]")
    (True, False)
    """
    return bool(re.match(r"\s*(Sw|S|Swizzle)\s*<", text) or re.match(r"\s*\([^;\[]*\)\s*:", text))


def _read(
    text: str,
    op: str | None,
    index: str | None,
    block: Any,
    element: int | None,
    rule: Rule,
    chip: ChipLike | None,
) -> Any:
    if is_layout(text):
        return _of_layout(text, op, index, block, element, rule, chip)
    if re.fullmatch(r"\s*\d+\s*x\s*\d+\s*", text):
        return simulate(text.strip(), rule=rule, chip=chip)
    if text.strip() in kernel_names():
        return replay(text.strip(), m=4096, n=4096, k=4096, rule=rule, chip=chip)
    asked = asked_of(
        text if op is None else op,
        None if op is None else text,
        block=block,
        element=element,
        chip=chip,
    )
    return answer(asked, rule)


def _of_layout(
    text: str,
    op: str | None,
    index: str | None,
    block: Any,
    element: int | None,
    rule: Rule,
    chip: ChipLike | None,
) -> Answer:
    """Return the answer for a layout: where `index` lies in it, by all warps of the block."""
    if op is None or index is None:
        raise OptionError(
            f"{short(text)} is a layout: who reads it, and how? (accepted: op='ldmatrix.x4',"
            " index='lane%16, lane/16*8'; on the command line --op and --index)"
        )
    layout = Layout.parse(text)
    modes = layout.plain.modes
    if len(modes) != 2:
        raise OptionError(f"{text} has {plural(len(modes), 'mode')} (accepted: 2: rows, columns)")
    rows, cols = (int(mode.size) for mode in modes)
    asked = read(index, op, block=block, element=element, tile=(rows, cols), chip=chip)
    size = element or 4
    offsets = np.asarray(layout(asked.indices[..., 0], asked.indices[..., 1]))
    masks = None if asked.whole else asked.masks
    warps = count(asked.instruction, offsets * size, masks, rule=rule)
    worst = int(np.argmax(warps.bank_conflicts.astype(np.int64) * 256 + warps.wavefronts))
    one = explain(
        asked.instruction, offsets[worst] * size, int(asked.masks[worst]), rule=rule, chip=chip
    )
    return answer_of(one, asked.instruction, warps)


def _input(result: Any, name: str) -> Input:
    if isinstance(result, Answer):
        return _access(name, result.warps.totals(), result, bank_map(result))
    if isinstance(result, Explanation):
        return _access(name, result.to_dict()["totals"], result, bank_map(result))
    if isinstance(result, Counts):
        return _access(name, result.totals(), result, [])
    if isinstance(result, FragmentReport):
        worst = [max(part.explain(), key=lambda one: one.wavefronts) for part in result.fragments]
        header, *_ = bank_map(worst[0])
        picture = [
            f"   {header}",
            *(
                f"{part.name}: {line}"
                for part, one in zip(result.fragments, worst, strict=True)
                for line in bank_map(one)[1:]
            ),
        ]
        totals = result.to_dict()["totals"]
        figures = {name: int(totals[name]) for name in (*_COSTS, "cycles")}
        return Input(name, "geometry", figures, tuple(picture), result)
    if isinstance(result, SiteTable):
        totals = result.totals()["all"]
        figures = {name: int(totals[name]) for name in _COSTS}
        return Input(name, "kernel", figures, (), result)
    raise OptionError(
        f"{short(result)} cannot be compared (accepted: questions in C, layouts, warp shapes,"
        " kernels' names, results of explain, count, simulate, replay and replay_compiled)"
    )


def _access(name: str, totals: Any, result: Any, picture: list[str]) -> Input:
    figures = {figure: int(totals[figure]) for figure in (*_COSTS, "cycles")}
    return Input(name, "access", figures, tuple(picture), result)


def _bars(result: SiteTable, most: int) -> list[str]:
    """Return the sites with most wavefronts as bars; that of `most` is the longest."""
    sites = sorted(
        (site for site in result.sites if site.wavefronts), key=lambda site: -site.wavefronts
    )[:_SITES]
    return [
        f"{'#' * max(1, round(_BAR * site.wavefronts / most)):<{_BAR}}  {site.wavefronts:>15,}"
        f"  {site.op} {site.source}"
        for site in sites
    ]


def _listed(parts: Any) -> str:
    *most, last = [*dict.fromkeys(parts)] or [""]
    return f"{', '.join(most)} and {last}" if most else last
