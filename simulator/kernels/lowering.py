"""From a site to warp accesses: the addresses of every distinct one, and how often it occurs."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from layouts.errors import short
from simulator.errors import KernelError
from simulator.kernels.global_memory import LINE, Bound, Linear, moves
from simulator.kernels.sites import (
    Cycle,
    Form,
    Function,
    GlobalSite,
    Launch,
    SharedSite,
    Site,
    names_of,
)
from simulator.kernels.sizes import require

__all__ = ["GlobalAccesses", "SharedAccesses", "lower_global", "lower_shared"]

_MOST = 1 << 22  # accesses of one site that are worked on at once
_FARTHEST = 2**48  # elements, and rows: products with the width of a lane fit in 64 bits
_VECTOR = 16  # bytes that a lane moves at most


@dataclass(frozen=True, eq=False)
class SharedAccesses:
    """The distinct accesses of a shared site: shape (repeats, instructions, warps, 32)."""

    addresses: NDArray[np.int64]
    active: NDArray[np.bool_]
    weights: list[int]
    """How often each of the repeats occurs in the whole launch."""
    copies: int
    """Further instructions with the same accesses: turns of unrolled loops it does not name."""
    width: int
    """Bytes a lane moves."""


@dataclass(frozen=True, eq=False)
class GlobalAccesses:
    """The distinct accesses of a global site: shape (patterns, instructions, warps, 32)."""

    addresses: NDArray[np.int64]
    active: NDArray[np.bool_]
    weights: list[int]
    copies: int


def lower_shared(site: SharedSite, launch: Launch, form: Form) -> SharedAccesses:
    """Lower a shared site, in its written or its compiled form."""
    loops = {name: range(trips) for name, trips in site.loops.items()}
    joined = 1
    if form == "compiled":
        loops = {name: turns for name, turns in loops.items() if name not in site.hoisted}
        if site.merges is not None:
            joined = _joined(site, launch, loops, site.merges)
            loops[site.merges] = range(0, site.loops[site.merges], joined)
    addresses, active, weights = _shared_accesses(site, launch, loops)
    copies = math.prod(len(turns) for name, turns in loops.items() if name not in _named(site))
    require(
        copies * addresses.shape[1] <= _MOST,
        f"site {site.source!r} is unrolled to {copies * addresses.shape[1]} instructions"
        f" (accepted: up to {_MOST}; loops that stay loops belong to `repeats`)",
    )
    return SharedAccesses(addresses, active, weights, copies, site.width * site.element * joined)


def _joined(site: SharedSite, launch: Launch, loops: Mapping[str, range], name: str) -> int:
    """How many turns of the loop `name` one access serves: neighbours, aligned, 16 bytes."""
    trips = site.loops[name]
    own = site.element * site.width
    joined = max(1, _VECTOR // own)
    while joined > 1:
        parts = [
            _shared_accesses(site, launch, {**loops, name: range(turn, trips, joined)})
            for turn in range(joined if trips % joined == 0 else 0)
        ]
        if parts:
            first, active, _ = parts[0]
            together = all(
                np.array_equal(also, active) and not (then - first - turn * own)[active].any()
                for turn, (then, also, _) in enumerate(parts)
            )
            if together and not (first % (own * joined))[active].any():
                break
        joined //= 2
    return joined


def _shared_accesses(
    site: SharedSite, launch: Launch, loops: Mapping[str, range]
) -> tuple[NDArray[np.int64], NDArray[np.bool_], list[int]]:
    named = _named(site)
    axes: dict[str, range] = {}
    weights: list[list[int]] = []
    others = 1
    turns: Mapping[str, int | Cycle] = {
        "bx": launch.grid[0],
        "by": launch.grid[1],
        **site.repeats,
    }
    for name, trips in turns.items():
        many, period = (trips.trips, trips.period) if isinstance(trips, Cycle) else (trips, trips)
        if name in named:
            axes[name] = range(min(period, many))
            weights.append([-((first - many) // period) for first in axes[name]])
        else:
            others *= many
    unrolled = {name: turns for name, turns in loops.items() if name in named}
    values, shape = _values(site, launch, {**axes, **unrolled})
    split = (math.prod(map(len, axes.values())), math.prod(map(len, unrolled.values())))
    index = _evaluate(site, site.index, values, shape) * site.element
    active = _active(site, launch, values, shape)
    return (
        index.reshape(*split, *shape[-2:]),
        active.reshape(*split, *shape[-2:]),
        [others * math.prod(each) for each in product(*weights)],
    )


def lower_global(site: GlobalSite, launch: Launch, form: Form) -> GlobalAccesses:
    """Lower a global site; addresses are relative to a multiple of 128 bytes.

    Raises KernelError for coordinates that are not linear in blocks and repeats, that leave
    the matrix without a bounds check, and for misaligned vectors.
    """
    named = _named(site)
    loops = {
        name: range(trips)
        for name, trips in site.loops.items()
        if form == "written" or name not in site.hoisted
    }
    unrolled = {name: turns for name, turns in loops.items() if name in named}
    copies = math.prod(len(turns) for name, turns in loops.items() if name not in named)
    values, shape = _values(site, launch, unrolled)
    trips = {"bx": launch.grid[0], "by": launch.grid[1]}
    for name, each in site.repeats.items():
        trips[name] = each.trips if isinstance(each, Cycle) else each
    for name in trips:
        values[name] = Linear.variable(name)
    active = _active(site, launch, values, shape)

    row, col = (_linear(site, function, values, shape) for function in (site.row, site.col))
    matrix = site.matrix
    checks = list(site.bounds)
    if site.guarded:
        checks += [(site.row, matrix.rows), (site.col, matrix.cols)]
    checked = site.guarded or site.bounds or site.overruns
    for axis, line, size, wide in (
        ("row", row, matrix.rows, 1),
        ("column", col, matrix.cols, site.width),
    ):
        within = np.broadcast_to(line.constant, shape)[active]
        if not within.size:
            continue
        # Steps are not negative: the first turn is the lowest, the last the highest.
        require(
            int(within.min()) >= 0,
            f"site {site.source!r} reaches {axis} {within.min()} (accepted: 0 to {size - 1};"
            " bounds checks are upper ones, so mask such lanes with `where`)",
        )
        if not checked:
            last = (
                int(within.max())
                + wide
                - 1
                + sum(step * (trips[name] - 1) for name, step in line.steps.items())
            )
            require(
                last < size,
                f"site {site.source!r} reaches {axis} {last} of {size} without a bounds check"
                " (accepted: sizes that are multiples of the tiles)",
            )
    bounds: dict[str, list[Bound]] = {name: [] for name in trips}
    for function, limit in checks:
        line = _linear(site, function, values, shape)
        require(len(line.steps) <= 1, f"a bound of site {site.source!r} names two loops")
        within = np.broadcast_to(line.constant, shape)
        if not line.steps:
            active = active & (within < limit)
        for name, step in line.steps.items():
            bounds[name].append(Bound(within, step, limit))

    far = int(np.max(row.constant)) * matrix.ld + int(np.max(col.constant)) + site.width
    require(
        far * matrix.element < 2**63,
        f"site {site.source!r} reaches byte {far * matrix.element} (accepted: below 2^63)",
    )
    place = (row * matrix.ld + col) * matrix.element
    patterns: Counter[tuple[int, tuple[tuple[int, ...], ...]]] = Counter({(0, ()): 1})
    for name, times in trips.items():
        turns = moves(place.steps.get(name, 0), times, bounds[name])
        combined: Counter[tuple[int, tuple[tuple[int, ...], ...]]] = Counter()
        for (moved, limits), weight in patterns.items():
            for (further, own), often in turns.items():
                combined[(moved + further) % LINE, (*limits, own)] += weight * often
        patterns = combined
    relative = np.broadcast_to(place.constant, shape)
    addresses = np.stack([relative + moved for moved, _ in patterns])
    masks = np.stack([active] * len(patterns))
    for mask, (_, limits) in zip(masks, patterns, strict=True):
        for name, own in zip(trips, limits, strict=True):
            for bound, limit in zip(bounds[name], own, strict=False):  # no limits: all pass
                mask &= bound.within < limit
    width = site.width * matrix.element
    require(
        not (addresses % width)[masks].any(),
        f"site {site.source!r} moves {width} bytes per lane from addresses that are not multiples"
        f" of {width} (accepted: leading dimensions that are multiples of {site.width} elements;"
        " the chip traps on others)",
    )
    split = (len(patterns), math.prod(map(len, unrolled.values())), *shape[-2:])
    return GlobalAccesses(
        addresses.reshape(split), masks.reshape(split), list(patterns.values()), copies
    )


def _linear(
    site: GlobalSite, function: Function, values: Mapping[str, Any], shape: tuple[int, ...]
) -> Linear:
    line = Linear.of(_call(site, function, values, _NOT_LINEAR))
    require(
        min(line.steps.values(), default=0) >= 0,
        f"{_NOT_LINEAR.format(site.source)} (others are not accepted)",
    )
    constant = _integers(site, line.constant, shape)
    return Linear(constant, {name: step for name, step in line.steps.items() if step})


_NOT_LINEAR = (
    "a coordinate of site {!r} is not thread and loop indices plus positive multiples of bx, by and"
    " the repeated loops"
)
_NOT_COMPUTED = "site {!r} cannot be computed from arrays of indices"


def _call(site: Site, function: Function, values: Mapping[str, Any], otherwise: str) -> Any:
    try:
        with np.errstate(all="raise"):
            return function(**{name: values[name] for name in names_of(function)})
    except Exception as error:  # whatever a function of somebody's own raises
        why = " ".join(f"{type(error).__name__}: {error}".split())
        raise KernelError(
            f"{otherwise.format(site.source)}: {why[:200]}"
            " (accepted: arithmetic on integers, and np.where of threads and `loops` for a choice)"
        ) from error


def _named(site: Site) -> set[str]:
    return {name for function in site.functions() for name in names_of(function)}


def _values(
    site: Site, launch: Launch, axes: Mapping[str, range]
) -> tuple[dict[str, Any], tuple[int, ...]]:
    """Return what the site's functions may name: each loop an axis, then warps, then lanes."""
    warps = -(-launch.threads // 32)
    shape = (*map(len, axes.values()), warps, 32)
    accesses = math.prod(shape) // 32
    require(
        accesses <= _MOST,
        f"site {site.source!r} depends on {', '.join(axes)}: {accesses} accesses"
        f" (accepted: up to {_MOST}; a loop whose index repeats can be a Cycle)",
    )
    tid = np.arange(32 * warps).reshape(warps, 32)
    x = launch.block[0]
    values: dict[str, Any] = {
        "tid": tid, "tx": tid % x, "ty": tid // x, "warp": tid // 32, "lane": tid % 32
    }  # fmt: skip
    for place, (name, turns) in enumerate(axes.items()):
        around = [1] * len(shape)
        around[place] = len(turns)
        values[name] = np.array(turns, dtype=np.int64).reshape(around)
    return values, shape


def _evaluate(
    site: Site, function: Function, values: Mapping[str, Any], shape: tuple[int, ...]
) -> NDArray[np.int64]:
    result = _call(site, function, values, _NOT_COMPUTED)
    return np.broadcast_to(_integers(site, result, shape), shape)


def _integers(site: Site, result: object, shape: tuple[int, ...]) -> NDArray[np.int64]:
    """Check what a function gave: integers, or truth values, no more of them than `shape` has."""
    try:
        array = np.asarray(result)
        fits = np.broadcast_shapes(array.shape, shape) == shape
    except ValueError:  # a ragged list, or another shape
        fits = False
    if not fits:  # what it gave takes longer to print than to check
        raise KernelError(
            f"site {site.source!r} gives {short(result)} (accepted: an integer for each thread and"
            " turn, or one for all)"
        )
    require(
        array.dtype.kind in "iub",
        f"site {site.source!r} gives {array.dtype} (accepted: integers, or truth values)",
    )
    require(
        array.dtype.kind == "b"
        or max(int(array.max(initial=0)), -int(array.min(initial=0))) <= _FARTHEST,
        f"site {site.source!r} gives {array.min()} to {array.max()}"
        f" (accepted: up to {_FARTHEST} either way)",
    )
    return array.astype(np.int64, copy=False)


def _active(
    site: Site, launch: Launch, values: Mapping[str, Any], shape: tuple[int, ...]
) -> NDArray[np.bool_]:
    active = np.broadcast_to(values["tid"] < launch.threads, shape)
    if site.where is not None:
        active = active & _evaluate(site, site.where, values, shape).astype(bool)
    return active
