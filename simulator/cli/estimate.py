"""The command `estimate`: the back-of-an-envelope arithmetic of GEMM documents."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import click

from simulator.cli.commands import cli, format_option
from simulator.cli.completion import among
from simulator.cli.html import html_options, keep
from simulator.cli.output import Format, Table, show

__all__ = ["estimate"]

_MIX = "mix"  # a parameter that is itself an estimate: its own parameters stand for it


def _functions() -> Mapping[str, Callable[..., Any]]:
    from simulator.gemm import estimates

    every = ((name, getattr(estimates, name)) for name in estimates.__all__)
    return {name: each for name, each in every if inspect.isfunction(each)}


def _parameters(function: Callable[..., Any]) -> dict[str, inspect.Parameter]:
    """Return what an estimate is asked with, by name."""
    from simulator.gemm.estimates import instruction_mix

    found: dict[str, inspect.Parameter] = {}
    for name, each in inspect.signature(function).parameters.items():
        found |= _parameters(instruction_mix) if name == _MIX else {name: each}
    return found


@cli.command()
@click.argument("name", required=False, shell_complete=among(lambda: list(_functions())))
@click.argument("values", nargs=-1)
@format_option
@html_options
def estimate(*, name: str | None, values: Sequence[str], output: Format) -> int:
    """Estimate a GEMM as its documents do: bytes, instructions, reuse, a roofline.

    Without NAME, list the estimates and what each takes. VALUES are NAME=NUMBER.
    """
    from layouts.errors import accepted

    functions = _functions()
    if name is None:
        rows = [{"estimate": each, "takes": _takes(f), "gives": _gives(f)}
                for each, f in functions.items()]  # fmt: skip
        table = Table(rows, {"estimates": len(rows)}, sums=[])
        keep(replace(table, title=f"{len(rows)} estimates of a GEMM"))
        show(table, output)
        return 0
    if name not in functions:
        raise click.UsageError(f"unknown estimate {name!r}: {accepted(name, functions)}")
    function = functions[name]
    found = _asked(function, _read(name, function, values))
    parts: list[dict[str, Any]] = [
        {"estimate": name, "value": value, "part": part, "gives": _gives(function)}
        for part, value in _parts(found)
    ]
    hidden = [] if len(parts) > 1 else ["part"]
    table = Table(parts, {"estimates": 1}, sums=[], hidden=hidden)
    worth = ", ".join(f"{part} {value:,.6g}".strip() for part, value in _parts(found))
    keep(replace(table, title=f"{name}: {worth}. {_gives(function)}"))
    show(table, output)
    return 0


def _takes(function: Callable[..., Any]) -> str:
    """Name the parameters, those that may be left out with their default."""
    return " ".join(
        name if each.default is each.empty else f"{name}={each.default}"
        for name, each in _parameters(function).items()
    )


def _gives(function: Callable[..., Any]) -> str:
    return (function.__doc__ or "").splitlines()[0]


def _read(name: str, function: Callable[..., Any], values: Sequence[str]) -> dict[str, float]:
    """Read NAME=NUMBER, each once."""
    takes = _parameters(function)
    how = f"accepted: {_takes(function)}, as NAME=NUMBER"
    given: dict[str, float] = {}
    for text in values:
        key, equals, number = text.partition("=")
        if not equals or key not in takes or key in given:
            raise click.UsageError(f"{name}: what is {text!r}? ({how}, each once)")
        given[key] = _number(text, number)
    missing = [
        key for key, each in takes.items() if each.default is each.empty and key not in given
    ]
    if missing:
        raise click.UsageError(f"{name} needs {', '.join(missing)} ({how})")
    return given


def _number(text: str, number: str) -> float:
    try:
        value = float(number)
    except ValueError:
        value = math.nan
    if not math.isfinite(value) or len(number) > 40:
        raise click.UsageError(f"{text!r} is not a number (accepted: 4096, 0.85, 1.5e12)")
    return int(number) if number.isdecimal() else value


def _asked(function: Callable[..., Any], given: Mapping[str, float]) -> Any:
    from simulator.gemm.estimates import instruction_mix

    own = inspect.signature(function).parameters
    asked: dict[str, Any] = {key: value for key, value in given.items() if key in own}
    if _MIX in own:
        mixed = {key: value for key, value in given.items() if key not in own}
        asked[_MIX] = _asked(instruction_mix, mixed)
    return function(**asked)


def _parts(found: Any) -> list[tuple[str, float]]:
    """Name the numbers of a result: one, or those of a pair or of a record."""
    if hasattr(found, "_asdict"):
        return list(found._asdict().items())
    if hasattr(found, "__dataclass_fields__"):
        return [(key, getattr(found, key)) for key in found.__dataclass_fields__]
    if isinstance(found, tuple):
        return [(str(place), value) for place, value in enumerate(found)]
    return [("", found)]
