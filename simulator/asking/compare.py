"""`compare`: questions, layouts, geometries or kernels beside each other, and their differences."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from layouts.errors import plural, short
from layouts.triton import is_triton
from simulator.asking.answer import Answer
from simulator.asking.ask import answer
from simulator.asking.bank_map import bank_map
from simulator.asking.reading import asked_of
from simulator.errors import OptionError
from simulator.gemm.simulate import FragmentReport, simulate
from simulator.inputs.files import replays
from simulator.kernels import names as kernel_names
from simulator.kernels.replay import replay
from simulator.law.chips import ChipLike
from simulator.law.counting import Counts
from simulator.law.explaining import Explanation
from simulator.law.instructions import Rule
from simulator.results.sites import SiteTable
from simulator.results.tables import Result
from simulator.results.text import Table
from simulator.timing.gains import is_faster, is_felt, is_slower
from simulator.timing.kernel_time import KernelTime

__all__ = ["Input", "InputComparison", "compare", "is_layout"]

Kind = Literal["access", "geometry", "kernel"]
"""What can be compared with each other: the figures of others have another scale."""

_COSTS = ("wavefronts", "ideal", "excessive", "bank_conflicts")
_CHANGES = ("wavefronts", "bank_conflicts")
_A: dict[Kind, str] = {"access": "an access", "geometry": "a geometry", "kernel": "a kernel"}
_SITES = 4  # bars of a kernel
_BAR = 32  # characters of the longest
_PAIR = 2  # inputs, of which each is compared with the other
_LONG = 60  # characters of a name that a table does not have in full


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
    memory: dict[str, int] = field(default_factory=dict)
    """`array_bytes`, and of a layout the `operations` of an index, as far as known."""
    time: KernelTime | None = None
    """Of a compiled kernel, where times are compared."""


@dataclass(frozen=True, eq=False)
class InputComparison(Result):
    """Two or more inputs, and how each differs from the first."""

    inputs: tuple[Input, ...]

    @property
    def worse(self) -> bool:
        """Whether another one has more bank conflicts or more wavefronts than the first.

        Where times are compared, also whether another one takes more than 1.03 times as long.
        """
        speedups = [self._speedup(each) for each in self.inputs[1:]]
        slower = any(speedup is not None and is_slower(speedup) for speedup in speedups)
        return slower or any(
            change > 0 for each in self.inputs[1:] for change in self._changes(each)
        )

    def _speedup(self, one: Input) -> float | None:
        """Return how many times as fast it is as the first; None: a time is not known."""
        first = self.inputs[0].time
        if first is None or one.time is None or first.cycles is None or one.time.cycles is None:
            return None
        return first.cycles / one.time.cycles

    def _memory(self) -> dict[str, list[int]]:
        """Return the bytes and operations of each input, where those of all are known."""
        names = ("array_bytes", "operations")
        return {
            name: [one.memory[name] for one in self.inputs]
            for name in names
            if all(name in one.memory for one in self.inputs)
        }

    def _changes(self, one: Input) -> list[int]:
        first = self.inputs[0].figures
        return [one.figures[name] - first[name] for name in _CHANGES]

    @property
    def verdict(self) -> str:
        """Which takes least time, where times are compared, else the fewest wavefronts."""
        named = zip(self.inputs, self.labels, strict=True)
        timed = [(one.time.cycles, name) for one, name in named if one.time and one.time.cycles]
        if len(timed) == len(self.inputs):
            return self._fastest(timed)
        best = min(
            self.inputs, key=lambda one: (one.figures["wavefronts"], one.figures["bank_conflicts"])
        )
        counts = [one.figures["wavefronts"] for one in self.inputs]
        conflicts = [one.figures["bank_conflicts"] for one in self.inputs]
        if len(set(counts)) == len(set(conflicts)) == 1:
            costs = f"{plural(counts[0], 'wavefront')}, {plural(conflicts[0], 'bank conflict')}"
            what = {"array_bytes": "bytes", "operations": "operations per index"}
            differ = [
                f"{' and '.join(f'{value:,}' for value in values)} {what[name]}"
                for name, values in self._memory().items()
                if len(set(values)) > 1
            ]
            if differ:
                return f"Equal costs: {costs} each; but {', '.join(differ)}"
            return f"No difference: {costs} each"
        others = _listed(f"{n:,}" for n in counts if n != best.figures["wavefronts"])
        instead = f" instead of {others}" if others else ""
        return (
            f"{self._shown[self.inputs.index(best)]}:"
            f" {plural(best.figures['wavefronts'], 'wavefront')}{instead},"
            f" {plural(best.figures['bank_conflicts'], 'bank conflict')}"
        )

    @property
    def labels(self) -> list[str]:
        """The inputs' names without the words that all of them have."""
        words = [one.name.split() for one in self.inputs]
        common = set(words[0]).intersection(*words[1:])
        found = [" ".join(word for word in each if word not in common) for each in words]
        return found if all(found) else [one.name for one in self.inputs]

    @property
    def _shown(self) -> list[str]:
        """The inputs' names as a table has them: `labels` where one is long."""
        names = [one.name for one in self.inputs]
        return self.labels if max(map(len, names)) > _LONG else names

    def _fastest(self, timed: Sequence[tuple[int, str]]) -> str:
        (least, name), most = min(timed), max(cycles for cycles, _ in timed)
        if not is_felt(most / least):
            return f"No difference in time: about {least:,} cycles each"
        if not is_faster(most / least):
            counts = _listed(f"{cycles:,}" for cycles, _ in timed)
            return f"Too close to tell which is faster: about {counts} cycles"
        others = _listed(f"{cycles:,}" for cycles, _ in timed if cycles != least)
        gain = f"×{most / least:.2f} as fast{' as the slowest' * (len(timed) > _PAIR)}"
        return f"{name}: about {least:,} cycles instead of {others}, {gain}"

    def to_dict(self) -> dict[str, Any]:
        """Return `{"inputs": {column: list}, "totals": {"worse": …}}`: a row per input."""
        first = self.inputs[0].figures
        columns: dict[str, list[Any]] = {"input": [one.name for one in self.inputs]}
        for name in first:
            columns[name] = [one.figures[name] for one in self.inputs]
            if name in (*_CHANGES, "cycles"):
                columns[f"{name}_change"] = [one.figures[name] - first[name] for one in self.inputs]
        columns |= self._memory()
        if any(one.time for one in self.inputs):
            times = [None if one.time is None else one.time.cycles for one in self.inputs]
            start = times[0]
            columns["elapsed_cycles"] = times
            columns["elapsed_cycles_change"] = [
                None if start is None or each is None else each - start for each in times
            ]
            columns["speedup"] = [self._speedup(one) for one in self.inputs]
        return {"inputs": columns, "totals": {"worse": self.worse}}

    def _repr_html_(self) -> str:
        from simulator.results.html import bank_table, figure, side_by_side

        figures = []
        for one in self.inputs:
            if isinstance(one.result, Explanation):
                served, passes = one.result.to_dict()["served"], one.result.instruction.passes
                said = plural(one.result.wavefronts, "wavefront")
                figures.append(
                    figure(one.name, [("", bank_table(served, passes=passes))], said=said)
                )
        return super()._repr_html_() + side_by_side(figures)

    def table(self) -> Table:
        """Return a row per input with its differences, and the pictures below."""
        rows = self.rows()
        for row in rows:
            if row.get("speedup") is not None:
                row["speedup"] = round(row["speedup"], 3)
        return Table(
            rows,
            self.to_dict()["totals"],
            sums=[],
            title=self.verdict,
            text=[
                f"{name}: {' '.join(one.time.sentences())}"
                for one, name in zip(self.inputs, self.labels, strict=True)
                if one.time is not None
            ],
            pictures=[
                (name, one.picture)
                for one, name in zip(self.inputs, self._shown, strict=True)
                if one.picture
            ],
        )

    def shown(self) -> list[Table]:
        """Return the table with names that fit a screen."""
        table = self.table()
        named = zip(table.rows, self._shown, strict=True)
        return [replace(table, rows=[{**row, "input": name} for row, name in named])]


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
    time: bool = False,
) -> InputComparison:
    """Compare two or more inputs: their figures, differences from the first, and pictures.

    Raises OptionError for inputs that cannot be compared, and what reading them raises.

    Parameters
    ----------
    first, second, *others
        Each a question in C; a layout in CuTe's or Triton's notation; a warp shape such as "4x8";
        or a kernel of the catalogue, at its size of 4096. Or a result of `explain`, `count`,
        `simulate`, `replay` or `replay_compiled`.
    names
        What the inputs are called.
    op, block, element, chip
        Those of `count`.
    index
        The "row, column" of each thread, by which a layout is read with `op`.
    rule
        That of `count`.
    time
        Whether compiled kernels are compared by their estimated time, too: on `chip`, or on that of
        each report, or on an H100.

    Examples
    --------
    >>> found = compare("float s[32][32]; s[lane][0]", "float s[32][33]; s[lane][0]")
    >>> found.verdict
    'float s[32][33]; s[lane][0]: 1 wavefront instead of 32, 0 bank conflicts'
    >>> found.worse, found.rows()[1]["wavefronts_change"]
    (False, -31)
    """
    given = (first, second, *others)
    called = names or [each if isinstance(each, str) else "" for each in given]
    if len(called) != len(given):
        raise OptionError(f"{len(called)} names for {len(given)} inputs (accepted: one for each)")
    inputs = []
    for number, (each, name) in enumerate(zip(given, called, strict=True)):
        result = each
        if isinstance(each, str):
            options = {"op": op, "block": block, "element": element, "chip": chip}
            result = _read(each, index, rule, options)
        inputs.append(_input(result, name or f"{type(each).__name__} {number}"))
    kinds = list(dict.fromkeys(one.kind for one in inputs))
    if len(kinds) > 1:
        named = [next(one for one in inputs if one.kind == kind) for kind in kinds]
        raise OptionError(
            f"{named[0].name} is {_A[kinds[0]]}, {named[1].name} is {_A[kinds[1]]}: they have no"
            " common scale (accepted: accesses, geometries or kernels alone)"
        )
    if kinds == ["kernel"]:
        sites = [site for one in inputs for site in one.result.sites]
        most = max((site.wavefronts for site in sites), default=0)
        inputs = [replace(one, picture=tuple(_bars(one.result, most))) for one in inputs]
    if time:
        inputs = [replace(one, time=_time(one, rule, chip)) for one in inputs]
    return InputComparison(tuple(inputs))


def _time(one: Input, rule: Rule, chip: ChipLike | None) -> KernelTime:
    from simulator.sass.report import CompiledReport  # the machine behind it takes half a second

    if not isinstance(one.result, CompiledReport):
        raise OptionError(
            f"{one.name} has no time: it is not a compiled kernel (accepted: commands such as 'sass"
            " k.cu', results of replay_compiled)"
        )
    if "documented" in (rule, one.result.rule):
        raise OptionError(
            f"{one.name} is asked for by the rule documented, and a time is that of the chip, by"
            " the rule silicon (accepted: rule silicon, or no time)"
        )
    return one.result.time(chip)


def is_layout(text: str) -> bool:
    """Return whether a text is a layout in CuTe's or Triton's notation.

    >>> is_layout("Sw<3,3,3> o 0 o (64,64):(64,1)"), is_layout("float s[4]; s[tx ? 0 : 1]")
    (True, False)
    """
    cute = re.match(r"\s*(Sw|S|Swizzle)\s*<", text) or re.match(r"\s*\([^;\[]*\)\s*:", text)
    return bool(cute) or is_triton(text)


def _read(text: str, index: str | None, rule: Rule, options: dict[str, Any]) -> Any:
    op, chip = options.pop("op"), options["chip"]
    if command := replays(text):
        raise OptionError(
            f"{short(text)} is a file (accepted: the command that replays it, in one pair of"
            f" quotes: {command!r}; in Python the result of replay_compiled)"
        )
    if is_layout(text):
        if op is None or index is None:
            raise OptionError(
                f"{short(text)} is a layout, and needs the access that reads it"
                " (accepted: op='ldmatrix.x4', index='lane%16, lane/16*8'; on the command line"
                " --op and --index)"
            )
        return answer(asked_of(op, index, layout=text, **options), rule)
    if re.fullmatch(r"\s*\d+\s*x\s*\d+\s*", text):
        return simulate(text.strip(), rule=rule, chip=chip)
    if text.strip() in kernel_names():
        return replay(text.strip(), m=4096, n=4096, k=4096, rule=rule, chip=chip)
    asked = asked_of(text if op is None else op, None if op is None else text, **options)
    return answer(asked, rule)


def _input(result: Any, name: str) -> Input:
    if isinstance(result, Answer):
        found = _access(name, result.warps.totals(), result, bank_map(result))
        return replace(found, memory=_memory_of(result))
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
        f"{name}, a {type(result).__name__}, cannot be compared (accepted: questions in C, layouts,"
        " warp shapes, kernels' names, results of explain, count, simulate, replay and"
        " replay_compiled)"
    )


def _memory_of(result: Answer) -> dict[str, int]:
    """Return the bytes of an answer's array; of a layout also the operations of an index."""
    asked = result.asked
    if asked is None:
        return {}
    if asked.tile is not None:
        bytes_ = asked.tile.elements * asked.element
        return {"array_bytes": bytes_, "operations": asked.tile.operations}
    sizes = asked.question.array.sizes
    if asked.located is not None or None in sizes:
        return {}
    return {"array_bytes": math.prod(filter(None, sizes)) * asked.element}


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
