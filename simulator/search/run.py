"""One search: the choices of the free values gone through, or sampled, and the best kept.

Spaces too large to enumerate are sampled by optuna's tree-structured Parzen estimator, always
seeded alike.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.util import find_spec
from random import Random
from typing import TYPE_CHECKING, Any

from layouts.errors import BankwiseError
from layouts.tile import Tile
from simulator.errors import MissingPackageError, SearchError, install
from simulator.law.chips import Chip
from simulator.law.instructions import Instruction, Rule
from simulator.search.cases import Case
from simulator.search.optimum import (
    Certificate,
    Optimum,
    Padding,
    access_rows,
    amount,
    worst_accesses,
)
from simulator.search.pricing import Objective, lower_bound, misfit, price, recount
from simulator.search.swizzles import Found, Swizzles, TileProblem, best_layout, single_terms
from simulator.search.tile import TileLayout
from simulator.sweeps.grid import Grid

if TYPE_CHECKING:
    import optuna

__all__ = ["Problem", "Search", "Values"]

_TELLING = 1000  # choices looked at, at least, before none is said to run
_PROBES = 16  # choices searched, at most, to tell what all of them would take
_OVERLAP = "elements overlap"

Values = dict[str, Any]


@dataclass(frozen=True, eq=False)
class Problem:
    """A question, whatever its kind: free values, the case each choice makes, and the tile's."""

    case: Callable[[Values], Case]
    start: Callable[[], Case]
    """Makes the case that is improved on."""
    grid: Grid
    pads: Sequence[int] = (0,)
    swizzles: Swizzles = "none"
    tiled: bool = False
    """Whether the layout is that of a tile, and part of the answer."""
    flat: bool = False
    """Whether nothing but the number of elements tells that some overlap."""
    chip: Chip | None = None


class Search:
    """The run of one search; `best` is the winner so far."""

    def __init__(
        self, problem: Problem, objective: Objective, rule: Rule, limit: int, trials: int
    ) -> None:
        self.problem = problem
        self.objective = objective
        self.rule = rule
        self.limit = limit
        self.trials = trials
        self.best: tuple[Case, Found, Tile] | None = None
        self.best_key: tuple[float, ...] = ()
        self.layouts = 0
        self.skipped: Counter[str] = Counter()
        self.proved = True
        self.enumerated = True  # all choices of the free values, if not all layouts
        self.left: list[str] = []
        self.least_bound: int | None = None

    def optimum(self) -> Optimum:
        """Run the search. Raises SearchError where no choice and layout can run."""
        combinations = self.problem.grid.size
        # One choice that can run tells how large they are; there may be too many to go through.
        probed = self._cases(range(min(combinations, max(self.limit, _TELLING))))
        _, first = next(probed, (0, None))
        if first is None:
            raise self._nothing()
        self.skipped.clear()
        most = self.limit // combinations  # warp accesses a choice
        if combinations > 1 and (
            self._question(first).accesses > most or self._mean(combinations) > most
        ):
            self._sample()
        else:
            self._enumerate(combinations)
        if self.best is None:
            raise self._nothing()
        case, found, layout = self.best
        return self._result(case, found, layout)

    def _mean(self, combinations: int) -> float:
        """Return the mean number of warp accesses that a choice takes, from some of them.

        How many layouts a choice has, and how many of them are counted before none can be better,
        cannot be computed in advance. The choices are drawn at random, but always the same ones.
        """
        probes = max(2, min(_PROBES, combinations // _PROBES))
        numbers = Random(0).sample(range(combinations), probes)  # noqa: S311 - no secret
        counted = [best_layout(self._question(case)).counted for _, case in self._cases(numbers)]
        self.skipped.clear()
        return sum(counted) / probes

    def _nothing(self) -> SearchError:
        reasons = "; ".join(self.skipped) or "no choice of the free values can run"
        return SearchError(f"no layout of this space can run: {reasons}")

    def _cases(self, numbers: Iterable[int]) -> Iterator[tuple[int, Case]]:
        for number in numbers:
            (values,) = self.problem.grid.between(number, number + 1)
            case = self._case(values)
            if case is not None:
                yield number, case

    def _case(self, values: Values) -> Case | None:
        try:
            return self.problem.case(values)
        except BankwiseError as error:
            if not values:
                raise
            self.skipped[_reason(error)] += 1
            return None

    def _enumerate(self, combinations: int) -> None:
        numbers: Sequence[int] = range(combinations)
        if self.problem.flat and combinations > 1:
            touched = {number: case.elements for number, case in self._cases(numbers)}
            most = max(touched.values())
            numbers = [number for number, elements in touched.items() if elements == most]
            if len(numbers) < len(touched):
                self.skipped[_OVERLAP] += len(touched) - len(numbers)
        for _, case in self._cases(numbers):
            found = best_layout(self._question(case))
            if found.left and len(numbers) == 1:
                self._sample_swizzles(case, found)
            self._take(case, found)

    def _question(self, case: Case) -> TileProblem:
        return TileProblem(
            case.groups, case.shape, case.element, self.problem.pads, self.problem.swizzles,
            self.objective, self.rule, self.limit,
        )  # fmt: skip

    def _take(self, case: Case, found: Found) -> None:
        self.skipped += found.skipped
        self.layouts += found.layouts
        self.proved &= found.proved
        self.left += [family for family in found.left if family not in self.left]
        if found.layout is None:
            return
        if self.least_bound is None or found.lower_bound < self.least_bound:
            self.least_bound = found.lower_bound
        key = (
            found.cost, _bytes(case, found.layout), found.operations, -(case.occupancy or 0),
            *found.key(),
        )  # fmt: skip
        if self.best is None or key < self.best_key:
            self.best, self.best_key = (case, found, found.layout), key

    def _sample(self) -> None:
        """Let optuna choose among the free values."""
        self.proved = self.enumerated = False
        self.left.append("combinations of the free values")
        most = 0

        def evaluate(values: Values) -> int | None:
            nonlocal most
            case = self._case(values)
            if case is None:
                return None
            if self.problem.flat:
                elements = case.elements
                if elements < most:
                    self.skipped[_OVERLAP] += 1
                    return None
                if elements > most:  # so in all that came before, some overlapped
                    most, self.best, self.least_bound = elements, None, None
            found = best_layout(self._question(case))
            self._take(case, found)
            return found.cost if found.layout is not None else None

        _let_optuna_choose(self.problem.grid.axes, evaluate, trials=self.trials, enough=0)

    def _sample_swizzles(self, case: Case, found: Found) -> None:
        """Let optuna choose a padding and up to three XOR terms."""
        question = self._question(case)
        plain = TileLayout(*case.shape)
        terms = [None, *single_terms(plain, question)]
        if not _optuna_is_installed() or not found.layout:
            return

        def evaluate(values: Values) -> int | None:
            pad, *several = values.values()
            chosen = tuple(sorted(term for term in several if term))
            if len({term.shift for term in chosen}) < len(chosen):
                return None
            try:
                layout = TileLayout(*case.shape, pad, chosen)
            except SearchError:
                return None
            if misfit(case.groups, layout, case.element):
                return None
            (cost,) = price(case.groups, [layout], case.element, self.objective, self.rule)
            found.offer([layout], [int(cost)])
            return int(cost)

        choices = {"pad": question.pads, "first": terms, "second": terms, "third": terms}
        _let_optuna_choose(choices, evaluate, trials=self.trials, enough=found.lower_bound)

    def _result(self, case: Case, found: Found, layout: Tile) -> Optimum:
        again = recount(case.groups, layout, case.element, self.objective, self.rule)
        if again != found.cost:
            raise AssertionError(f"{layout} costs {again} by the law, {found.cost} by the search")
        before = self._before()
        values = {name: case.values[name] for name in self.problem.grid.axes}
        if self.problem.tiled and layout.rows > 1:
            values["pad"] = layout.pad
        if layout.xors:
            values["swizzle"] = " o ".join(map(str, layout.swizzles))
        return Optimum(
            objective=self.objective,
            rule=self.rule,
            values=values,
            layout=layout.sized(case.element) if self.problem.tiled else None,
            cost=found.cost,
            before=None
            if before is None
            else recount(before[0].groups, before[1], before[0].element, self.objective, self.rule),
            certificate=self._certificate(found, case),
            bytes=_bytes(case, layout),
            bytes_before=None if before is None else _bytes(*before),
            accesses=access_rows(before, (case, layout), self.rule),
            skipped=dict(self.skipped),
            chip=self.problem.chip,
            worst=worst_accesses(before, (case, layout), self.rule),
            padding=self._padding(case) if layout.xors and self.problem.tiled else None,
        )

    def _padding(self, case: Case) -> Padding | None:
        """Return the least padding that costs least, with these values of all else."""
        found = best_layout(replace(self._question(case), swizzles="none"))
        if found.layout is None or not found.layout.pad:
            return None
        layout = found.layout.sized(case.element)
        return Padding(layout, found.cost, _bytes(case, layout))

    def _before(self) -> tuple[Case, Tile] | None:
        try:
            case = self.problem.start()
        except BankwiseError:
            return None
        plain = TileLayout(*case.shape)
        return None if misfit(case.groups, plain, case.element) else (case, plain)

    def _certificate(self, found: Found, case: Case) -> Certificate:
        cost = amount(found.cost, self.objective)
        least = found.lower_bound if self.least_bound is None else self.least_bound
        among = ", for any of these values" if self.problem.grid.axes else ""
        layouts = f"{self.layouts:,} {'layouts' if self.problem.tiled else 'choices'}"
        if self.enumerated and found.cost <= least:
            why = "a wavefront carries at most 128 bytes"
            if any(_waits(each.instruction) for each in case.groups):
                why += ", and lanes that update one word wait for each other"
            alone = (
                lower_bound([each], case.element, self.objective, self.rule) for each in case.groups
            )
            if len(case.groups) > 1 and sum(alone) < least:
                why += ", and what one access takes as a vector stays whole for the others"
            text = (
                f"Proved: no layout of any kind does better than {cost}{among}:"
                f" {why}, so {found.cost:,} is the least."
            )
            return Certificate("floor", least, self.layouts, text)
        if self.proved:
            text = (
                f"Proved: no layout of this family does better than {cost}{among}:"
                f" all {layouts} of this family were counted or ruled out. (No layout of any kind"
                f" does better than {least:,}.)"
            )
            return Certificate("exhaustive", least, self.layouts, text)
        text = (
            f"Not proved: {cost} is the best of {layouts}; not all were tried of:"
            f" {', '.join(self.left)}."
        )
        if self.enumerated:
            text += f" No layout of any kind does better than {least:,}{among}."
        return Certificate("sampled", least, self.layouts, text)


def _waits(instruction: Instruction) -> bool:
    return instruction.verb == "update" and not instruction.merges


def _bytes(case: Case, layout: Tile) -> int:
    if case.bytes is not None:
        return case.bytes
    if case.reach is not None and not layout.xors:
        return case.reach * case.element
    return layout.elements * case.element


def _reason(error: BankwiseError) -> str:
    """Return a message's first line without its numbers, so that equal reasons count together.

    >>> _reason(BankwiseError("pad_a = 3 would misalign float4 (accepted: 0, 4, 8, ...)"))
    'pad_a = N would misalign float4'
    """
    text = re.sub(r"\b\d+\b", "N", str(error).splitlines()[0].partition(" (accepted")[0])
    return text if len(text) <= 80 else f"{text[:77]}..."


def _optuna_is_installed() -> bool:
    """Whether there is the extra `search`."""
    return find_spec("optuna") is not None


def _let_optuna_choose(
    choices: Mapping[str, Sequence[Any]],
    evaluate: Callable[[dict[str, Any]], int | None],
    *,
    trials: int,
    enough: int,
) -> None:
    """Let optuna choose what to evaluate: `trials` times, or until a cost is `enough`.

    `evaluate` gives a cost, or None for values that cannot be; keeping the best is its task.
    Raises MissingPackageError where optuna is not installed.
    """
    if not _optuna_is_installed():
        raise MissingPackageError(
            "this space is too large to enumerate, and optuna, which would sample it, is not"
            f" installed ({install('search')}; or give a smaller space, or a higher limit)"
        )
    import optuna

    def objective(trial: optuna.Trial) -> float:
        values = {
            name: values[trial.suggest_int(name, 0, len(values) - 1)]
            for name, values in choices.items()
        }
        cost = evaluate(values)
        if cost is None:
            raise optuna.TrialPruned
        return float(cost)

    def stop(study: optuna.Study, trial: optuna.trial.FrozenTrial) -> None:
        if trial.value is not None and trial.value <= enough:
            study.stop()

    before = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    try:
        study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=0))
        study.optimize(objective, n_trials=trials, callbacks=[stop])
    finally:
        optuna.logging.set_verbosity(before)
