"""What a shell completes after an option: the names that it takes.

docs/how-to/ask.md says how to install it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import click

__all__ = ["among", "chips", "fragments", "kernels", "lane_orders", "objectives", "ops", "rules"]

Complete = Callable[[click.Context, click.Parameter, str], list[Any]]


def among(values: Callable[[], Iterable[str]]) -> Complete:
    """Return what completes a word to any of these values, in any case."""

    def complete(context: click.Context, parameter: click.Parameter, word: str) -> list[Any]:
        return [value for value in values() if value.lower().startswith(word.lower())]

    return complete


def ops() -> list[str]:
    """Return the instructions and their aliases."""
    from simulator.law.instructions import INSTRUCTIONS

    return [name for each in INSTRUCTIONS.values() for name in (each.name, *each.aliases)]


def rules() -> tuple[str, ...]:
    """Return the rules."""
    from simulator.law.instructions import RULES

    return RULES


def lane_orders() -> tuple[str, ...]:
    """Return the orders of a warp's lanes."""
    from layouts.warp import LANE_ORDERS

    return tuple(LANE_ORDERS)


def fragments() -> tuple[str, ...]:
    """Return the kinds of fragments."""
    from layouts.fragment import FRAGMENTS

    return tuple(FRAGMENTS)


def objectives() -> tuple[str, ...]:
    """Return what a search minimises."""
    from simulator.search.pricing import OBJECTIVES

    return OBJECTIVES


def chips() -> list[str]:
    """Return the built-in chips."""
    from simulator.law.chips import CHIPS

    return list(CHIPS)


def kernels() -> list[str]:
    """Return the kernels of the catalogue."""
    from simulator.kernels import names

    return list(names())
