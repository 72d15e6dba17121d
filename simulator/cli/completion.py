"""What a shell completes after an option: the names that it takes.

docs/how-to/ask.md says how to install it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import click

__all__ = [
    "ElementSize",
    "among",
    "chips",
    "fragments",
    "kernels",
    "lane_orders",
    "objectives",
    "ops",
    "rules",
]

Complete = Callable[[click.Context, click.Parameter, str], list[Any]]


def among(values: Callable[[], Iterable[str]]) -> Complete:
    """Return what completes a word to any of these values, in any case."""

    def complete(context: click.Context, parameter: click.Parameter, word: str) -> list[Any]:
        return [value for value in values() if value.lower().startswith(word.lower())]

    return complete


if TYPE_CHECKING:
    _Size = click.ParamType[int]
else:  # click 8.1 has no type arguments
    _Size = click.ParamType


class ElementSize(_Size):
    """Bytes of an element: a number, or a type of C or CUDA."""

    name = "bytes|type"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Return the bytes."""
        from simulator.inputs.types import BYTES

        text = str(value)
        size = BYTES.get(text, int(text) if text.isdecimal() and len(text) < 3 else 0)
        if not 1 <= size <= 16:
            self.fail(
                f"{value!r} is not the size of an element (accepted: 1 to 16 bytes, or a type such"
                " as half, float, float4)",
                param,
                ctx,
            )
        return size


def ops() -> list[str]:
    """Return the instructions and their aliases."""
    from simulator.law.instructions import INSTRUCTIONS

    return [name for each in INSTRUCTIONS.values() for name in (each.name, *each.aliases)]


def rules() -> tuple[str, ...]:
    """Return the rules."""
    from simulator.law.instructions import RULES

    return RULES


def chips() -> tuple[str, ...]:
    """Return the built-in chips."""
    from simulator.law.chips import CHIPS

    return tuple(CHIPS)


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


def kernels() -> list[str]:
    """Return the kernels of the catalogue."""
    from simulator.kernels import names

    return list(names())
