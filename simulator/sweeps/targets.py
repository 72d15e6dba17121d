"""What a sweep can sweep: `simulate`, a kernel of the catalogue, or a function giving accesses.

A target says which parameters it has and measures a list of their combinations. A combination
that does not exist raises a BankwiseError, whose message is the reason for skipping it; any
other error is one of the target itself and ends the sweep.
"""

from __future__ import annotations

import hashlib
import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from layouts.errors import BankwiseError, short
from simulator.errors import TargetError
from simulator.gemm.geometry import PARAMETERS, Geometry
from simulator.gemm.loads import Loads, count_loads, totals
from simulator.gemm.simulate import simulate
from simulator.kernels.replay import replay
from simulator.kernels.sites import Kernel
from simulator.law.counting import count, n_way
from simulator.law.instructions import Instruction

__all__ = ["Combination", "Figure", "Figures", "Target", "target_of"]

Combination = Mapping[str, Any]
Figure = Literal[
    "instructions",
    "requests",
    "wavefronts",
    "ideal",
    "excessive",
    "bank_conflicts",
    "n_way",
    "cycles",
    "sectors",
]
"""What a target may measure."""

Figures = tuple[int | float, ...]
"""Of one combination, in the order of its target's figures."""


@dataclass(frozen=True)
class Target(ABC):
    """Something with parameters that costs something; workers get a copy of it."""

    name: str
    identity: str
    """What is swept, so that a store can tell it from anything else."""
    accepted_names: tuple[str, ...] | None
    """Parameters that it has; None: any."""
    required: tuple[str, ...]
    figures: tuple[Figure, ...]
    """What `measure` gives for each combination."""
    chunk: int
    """Combinations handed to a worker at a time, at most."""
    takes_chip: bool = field(default=False, kw_only=True)
    """Whether a parameter `chip` is its own, and may mean anything."""

    @abstractmethod
    def measure(self, combinations: Sequence[Combination]) -> list[Figures | str]:
        """Return the figures of each combination (a "rule" among its values), or a reason why not.

        Raises TargetError where the target itself fails.
        """


@dataclass(frozen=True)
class _Simulate(Target):
    def measure(self, combinations: Sequence[Combination]) -> list[Figures | str]:
        measured: list[Any] = []
        waiting: dict[int, Loads] = {}
        addresses = 0
        for number, combination in enumerate(combinations):
            try:
                loads = Loads.of(Geometry.of(**combination))
            except BankwiseError as error:
                measured.append(str(error))
            else:
                measured.append(None)
                waiting[number] = loads
                addresses += sum(operand.addresses.size for operand in loads.operands)
            if waiting and (addresses > _TOGETHER or number == len(combinations) - 1):
                steps = count_loads([*waiting.values()])
                for place, step in zip(waiting, steps, strict=True):
                    figures = totals(step.counts)
                    measured[place] = tuple(figures[name] for name in self.figures)
                waiting, addresses = {}, 0
        return measured


@dataclass(frozen=True)
class _OneByOne(Target):
    def measure(self, combinations: Sequence[Combination]) -> list[Figures | str]:
        return [self._try(each) for each in combinations]

    def _try(self, combination: Combination) -> Figures | str:
        try:
            spent = self._measure(dict(combination))
        except TargetError:
            raise
        except BankwiseError as error:
            return str(error)
        except Exception as error:
            given = ", ".join(f"{name}={value!r}" for name, value in combination.items())
            raise TargetError(
                f"{self.name} failed at {given}: {error!r} (next: for a combination that does"
                " not exist, raise a BankwiseError; it is then skipped)"
            ) from error
        return tuple(spent[name] for name in self.figures)

    @abstractmethod
    def _measure(self, combination: dict[str, Any]) -> Mapping[str, int | float]: ...


@dataclass(frozen=True)
class _Replay(_OneByOne):
    kernel: Kernel | str
    """The name, for a kernel of the catalogue: other processes look it up themselves."""

    def _measure(self, combination: dict[str, Any]) -> Mapping[str, int | float]:
        report = replay(self.kernel, **combination)
        sectors = report.global_totals()["all"]["sectors"]
        return {**report.totals()["all"], "sectors": sectors}


@dataclass(frozen=True)
class _Function(_OneByOne):
    function: Callable[..., Any]
    takes_rule: bool

    def _measure(self, combination: dict[str, Any]) -> Mapping[str, int | float]:
        rule = combination["rule"] if self.takes_rule else combination.pop("rule")
        chip = None if self.takes_chip else combination.pop("chip", None)
        accesses = self._accesses(self.function(**combination))
        if not accesses:
            raise BankwiseError("no accesses")
        totals = [count(*access, rule=rule, chip=chip).totals() for access in accesses]
        spent: dict[str, int | float] = {
            name: sum(each[name] for each in totals) for name in self.figures
        }
        return {**spent, "n_way": n_way(int(spent["wavefronts"]), int(spent["requests"]))}

    def _accesses(self, given: Any) -> list[Any]:
        listed = [given] if _is_access(given) else given
        if isinstance(listed, Iterable) and not isinstance(listed, str | bytes):
            listed = list(listed)
            if all(map(_is_access, listed)):
                return listed
        raise TargetError(
            f"{self.name} returns {short(given)} (accepted: a"
            " WarpAccess, a tuple (op, addresses) or (op, addresses, mask), or a list of them)"
        )


_NONE = inspect.Parameter.empty

_TOGETHER = 1 << 20  # addresses counted at a time: those of 64 usual geometries are a quarter

_SPENT: tuple[Figure, ...] = ("wavefronts", "ideal", "excessive", "bank_conflicts")


def target_of(target: Any) -> Target:
    """Take `simulate`, a kernel or its name, or a function from parameters to accesses.

    Raises KernelError for an unknown name, TargetError for anything else.
    """
    if target is simulate:
        figures: tuple[Figure, ...] = ("instructions", *_SPENT, "n_way", "cycles")
        return _Simulate("simulate", "simulate", PARAMETERS, (), figures, chunk=64)
    if isinstance(target, str | Kernel):
        return _of_kernel(target)
    if not callable(target):
        raise TargetError(
            f"{target!r} cannot be swept (accepted: simulate, a kernel or its name, a function"
            " from parameters to accesses)"
        )
    name = str(getattr(target, "__qualname__", type(target).__qualname__))
    try:
        parameters = inspect.signature(target).parameters.values()
    except (TypeError, ValueError) as error:
        raise TargetError(f"{name} does not say which parameters it has: {error}") from error
    kinds = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    named = {each.name: each.default for each in parameters if each.kind in kinds}
    takes_any = any(each.kind is each.VAR_KEYWORD for each in parameters)
    return _Function(
        name,
        f"function {_of_function(target)}",
        None if takes_any else tuple(dict.fromkeys([*named, "rule", "chip"])),
        tuple(key for key, default in named.items() if default is _NONE and key != "rule"),
        ("requests", *_SPENT, "n_way", "cycles"),
        chunk=32,
        function=target,
        takes_rule="rule" in named,
        takes_chip="chip" in named,
    )


def _of_kernel(target: str | Kernel) -> _Replay:
    from simulator.kernels import get, names

    kernel = get(target) if isinstance(target, str) else target
    known = kernel.name in names() and get(kernel.name) is kernel
    return _Replay(
        kernel.name,
        f"kernel {kernel.name}" + ("" if known else f", {_of_function(kernel.launch)}"),
        ("m", "n", "k", "form", "rule", "chip", *kernel.parameters),
        ("m", "n", "k"),
        ("requests", *_SPENT, "sectors"),
        chunk=4,
        kernel=kernel.name if known else kernel,
    )


def _is_access(given: Any) -> bool:
    return (
        isinstance(given, tuple)
        and len(given) in (2, 3)
        and isinstance(given[0], str | Instruction)
    )


def _of_function(function: Any) -> str:
    """Name a function, with a digest of its source: an edited function is another one."""
    name = f"{getattr(function, '__module__', '')}.{getattr(function, '__qualname__', '')}"
    try:
        source = inspect.getsource(function)
    except (OSError, TypeError):  # typed at a prompt, or no plain function
        code = getattr(function, "__code__", None)
        source = repr((code.co_code, code.co_consts, code.co_names)) if code else repr(function)
    return f"{name} ({hashlib.sha256(source.encode()).hexdigest()[:16]})"
