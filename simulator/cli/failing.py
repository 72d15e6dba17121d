"""When a command exits 1, for CI: --fail-on-conflict and --fail-on-excess."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import click

__all__ = ["FLAGS", "Costs", "fail_options"]

FLAGS = ("fail_on_conflict", "fail_on_excess")


class Costs(NamedTuple):
    """What decides the exit code."""

    bank_conflicts: int = 0
    excessive: int = 0
    not_replayed: int = 0
    """Launches of which nothing is known: they are not a success, whatever was asked."""
    unfixed: int = 0
    """Bank conflicts that a diff was asked for, and that none removes."""

    @staticmethod
    def of(totals: Mapping[str, Any]) -> Costs:
        """Return those among a result's totals."""
        return Costs(int(totals["bank_conflicts"]), int(totals["excessive"]))

    def plus(self, other: Costs) -> Costs:
        """Return the sums."""
        return Costs(*map(sum, zip(self, other, strict=True)))


def fail_options(command: Callable[..., Costs]) -> Callable[..., int]:
    """Add the options to a command that returns what it costs, and turn that into its exit code."""

    @click.option(
        "--fail-on-conflict", is_flag=True, help="Exit 1 if there are bank conflicts (by --rule)."
    )
    @click.option(
        "--fail-on-excess",
        is_flag=True,
        help="Exit 1 if there are excessive wavefronts: conflicts that cost nothing pass.",
    )
    @functools.wraps(command)
    def wrapped(*, fail_on_conflict: bool, fail_on_excess: bool, **options: Any) -> int:
        costs = command(**options)
        if costs.not_replayed:
            return 2
        conflicts = fail_on_conflict and costs.bank_conflicts > 0
        return int(costs.unfixed > 0 or conflicts or (fail_on_excess and costs.excessive > 0))

    return wrapped
