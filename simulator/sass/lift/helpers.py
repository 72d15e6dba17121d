"""Functions that blocks of instructions call: only those that a kernel uses are compiled.

A helper is written with `helper`; its name and parameters (a width, a sign) name a function of its
own. They are written in LLVM IR too: they compile in milliseconds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from llvmlite import ir

from simulator.sass.lift.emitter import Emitter
from simulator.sass.lift.values import Value

__all__ = ["HELPERS", "call", "emit_helper", "helper", "used"]

PREFIX = "bankwise."


@dataclass(frozen=True)
class _Helper:
    name: str
    result: Any
    kinds: Sequence[Any]
    emit: Callable[..., None]


HELPERS: dict[str, _Helper] = {}


def helper(result: Any, *kinds: Any) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Register the function that writes a helper, by its name; its result's and operands' types."""

    def register(function: Callable[..., None]) -> Callable[..., None]:
        name = function.__name__
        HELPERS[name] = _Helper(name, result, kinds, function)
        return function

    return register


def call(at: Emitter, name: str, *values: Value, options: Sequence[int] = ()) -> Value:
    """Call a helper, compiled for some options."""
    known = HELPERS[name]
    symbol = ".".join([f"{PREFIX}{name}", *map(str, options)])
    function = at.declared(symbol, known.result, known.kinds)
    return Value(at, at.builder.call(function, [value.ir for value in values]))


def emit_helper(symbol: str) -> ir.Module:
    """Write the module of one helper, by its symbol."""
    name, *options = symbol.removeprefix(PREFIX).split(".")
    known = HELPERS[name]
    module = ir.Module(symbol)
    function = ir.Function(module, ir.FunctionType(known.result, known.kinds), symbol)
    known.emit(Emitter(function), *map(int, options))
    return module


def used(module: ir.Module) -> list[str]:
    """Name the helpers that a module calls and does not hold."""
    return sorted(
        name
        for name, each in module.globals.items()
        if name.startswith(PREFIX) and isinstance(each, ir.Function) and each.is_declaration
    )
