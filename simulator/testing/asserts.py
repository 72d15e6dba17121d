"""Assertions that guard a kernel's layouts in its tests.

A failure names the access, the lanes that collide, their banks and the words they want:

    >>> assert_conflict_free("LDS", "lane*32", name="tile[lane][0]")
    Traceback (most recent call last):
    ...
    AssertionError: tile[lane][0]: LDS has 31 bank conflicts (accepted: 0)
    LDS, silicon rule: 32 wavefronts (1 ideal), 31 bank conflicts.
    Phase 0, lanes 0-31: lanes 0-31 read different words of bank 0: 32 wavefronts for this phase.
    phase    banks    wavefronts    lane -> word
    -------  -------  ------------  --------------------------------------------------
    0        0        32            0 -> 0, 1 -> 32, 2 -> 64, 3 -> 96, ... (32 in all)

The same as pytest fixtures are in `pytest_bankwise`, which pytest finds by itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import groupby
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike

from layouts.shapes import is_integer
from simulator.errors import OptionError
from simulator.inputs.files import RESERVED, from_expression
from simulator.law.accesses import ALL_LANES
from simulator.law.chips import ChipLike, instruction_on, optional_chip
from simulator.law.counting import Counts, count
from simulator.law.explaining import Explanation, explain, ranges
from simulator.law.instructions import Instruction

__all__ = ["AssertConflictFree", "AssertWavefronts", "assert_conflict_free", "assert_wavefronts"]

_MOST_BANKS = 8  # rows of them in a failure
_MOST_WORDS = 4


class AssertConflictFree(Protocol):
    """The type of `assert_conflict_free`, for tests that take it as a fixture."""

    def __call__(
        self,
        op: str | Instruction,
        addresses: str | ArrayLike,
        mask: ArrayLike | None = None,
        *,
        element: int = 4,
        names: Mapping[str, int] | None = None,
        warps: int = 1,
        rule: str = "silicon",
        chip: ChipLike | None = None,
        name: str = "",
    ) -> None:
        """See `assert_conflict_free`."""


class AssertWavefronts(Protocol):
    """The type of `assert_wavefronts`, for tests that take it as a fixture."""

    def __call__(
        self,
        op: str | Instruction,
        addresses: str | ArrayLike,
        mask: ArrayLike | None = None,
        *,
        at_most: int,
        element: int = 4,
        names: Mapping[str, int] | None = None,
        warps: int = 1,
        rule: str = "silicon",
        chip: ChipLike | None = None,
        name: str = "",
    ) -> None:
        """See `assert_wavefronts`."""


def assert_conflict_free(
    op: str | Instruction,
    addresses: str | ArrayLike,
    mask: ArrayLike | None = None,
    *,
    element: int = 4,
    names: Mapping[str, int] | None = None,
    warps: int = 1,
    rule: str = "silicon",
    chip: ChipLike | None = None,
    name: str = "",
) -> None:
    """Assert that no access has a bank conflict.

    `addresses` are bytes, integers of shape (..., 32), or a C index expression that counts
    elements of `element` bytes, over lane, tid, warp and `names`, for the first `warps` warps.
    `mask` and `chip` are as in `count`, a mask one integer for an expression. `name` is what a
    failure calls it.

    >>> assert_conflict_free("LDS.128", "(lane/8)*132 + lane%8*4")

    Raises AssertionError, and what `count` raises.
    """
    _check(op, addresses, mask, element, names, warps, rule, chip, name, "bank_conflicts", 0)


def assert_wavefronts(
    op: str | Instruction,
    addresses: str | ArrayLike,
    mask: ArrayLike | None = None,
    *,
    at_most: int,
    element: int = 4,
    names: Mapping[str, int] | None = None,
    warps: int = 1,
    rule: str = "silicon",
    chip: ChipLike | None = None,
    name: str = "",
) -> None:
    """Assert that no access takes more than `at_most` wavefronts.

    >>> assert_wavefronts("LDS.128", "lane/2*4", at_most=2)  # pairs of lanes agree: fused

    The other arguments, and errors, are those of `assert_conflict_free`.
    """
    if not is_integer(at_most) or at_most < 0:
        raise OptionError(f"at_most {at_most!r} is no count (accepted: 0, 1, 2, ...)")
    _check(op, addresses, mask, element, names, warps, rule, chip, name, "wavefronts", at_most)


def _check(
    op: str | Instruction,
    addresses: str | ArrayLike,
    mask: ArrayLike | None,
    element: int,
    names: Mapping[str, int] | None,
    warps: int,
    rule: str,
    chip: ChipLike | None,
    name: str,
    figure: str,
    most: int,
) -> None:
    __tracebackhide__ = True  # pytest then shows the line of the test
    chosen = optional_chip(chip)
    known = instruction_on(chosen, op)
    if not is_integer(warps) or not 1 <= warps <= 32:
        raise OptionError(f"warps {warps!r} is no number of warps (accepted: 1 to 32)")
    if not is_integer(element) or not 1 <= element <= 16:
        raise OptionError(f"element {element!r} is no size (accepted: 1 to 16 bytes)")
    if not (names is None or isinstance(names, Mapping)) or set(names or ()) & set(RESERVED):
        raise OptionError(
            f"names {names!r} are none (accepted: a mapping of names to integers, without"
            f" {', '.join(RESERVED)}, which have their own meaning)"
        )
    expression = isinstance(addresses, str)
    if not expression and (element, warps, names) != (4, 1, None):
        raise OptionError(
            "element, warps and names are for an index expression (accepted: byte addresses"
            " without them)"
        )
    if isinstance(addresses, str):
        lanes: Any = mask if is_integer(mask) else ALL_LANES
        found = from_expression(
            addresses, known.name, element=element, warps=range(warps), names=names, mask=lanes
        )
        name = name or addresses
        addresses = found.addresses
    byte = np.asarray(addresses)
    counts = count(known, addresses, mask, rule=rule)
    values = getattr(counts, figure)
    if int(values.max()) <= most:
        return
    worst = np.unravel_index(int(values.argmax()), values.shape)
    masks = None if mask is None else np.broadcast_to(np.asarray(mask), values.shape)
    one_mask = None if masks is None else int(masks[worst])
    one = explain(op, byte[worst], one_mask, rule=rule, chip=chosen)
    raise AssertionError(
        "\n".join(
            [
                _headline(known, counts, figure, most, worst, name, expression),
                *one.sentences,
                *_colliding(one),
            ]
        )
    )


def _headline(
    known: Instruction,
    counts: Counts,
    figure: str,
    most: int,
    worst: tuple[Any, ...],
    name: str,
    expression: bool,
) -> str:
    values = getattr(counts, figure)
    number = int(values[worst])
    noun = figure.replace("_", " ")
    said = f"{known.name} has {number} {noun if number != 1 else noun[:-1]}"
    said += f" (accepted: {'up to ' if most else ''}{most})"
    if values.size > 1:
        over = int(np.count_nonzero(values > most))
        which = ", ".join(map(str, worst))
        kind = "warp" if expression else "access"
        said += f"; that is {kind} {which}, the worst of {over} of {values.size} that have too many"
    return f"{name}: {said}" if name else said


def _colliding(one: Explanation) -> list[str]:
    """List the banks that take more than one wavefront, with their lanes and words."""
    from tabulate import tabulate

    rows: list[list[str]] = []
    for phase in one.phases:
        # Neighbouring banks that the same lanes want, as of one vector, share a row.
        for lanes, alike in groupby(
            phase.banks.values(), key=lambda queue: [served.lanes for served in queue]
        ):
            banks = list(alike)
            if len(lanes) < 2:
                continue
            wants = [
                f"{'/'.join(map(str, served[0].lanes))} -> {ranges(each.word for each in served)}"
                for served in zip(*banks, strict=True)
            ]
            more = f", ... ({len(wants)} in all)" if len(wants) > _MOST_WORDS else ""
            where = ranges(queue[0].bank for queue in banks)
            listed = ", ".join(wants[:_MOST_WORDS]) + more
            rows.append([str(phase.index), where, str(len(lanes)), listed])
    if not rows:
        return []
    rows.sort(key=lambda row: -int(row[2]))
    lines = tabulate(
        rows[:_MOST_BANKS], ["phase", "banks", "wavefronts", "lane -> word"], disable_numparse=True
    ).splitlines()
    if len(rows) > _MOST_BANKS:
        lines.append(f"... and {len(rows) - _MOST_BANKS} more rows")
    return [line.rstrip() for line in lines]
