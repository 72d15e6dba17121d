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
from dataclasses import dataclass
from itertools import groupby
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from layouts.errors import BankwiseError, plural
from layouts.shapes import is_integer
from layouts.tile import TileLike
from simulator.asking.reading import asked_of
from simulator.errors import OptionError
from simulator.inputs.asked import AskedAccess
from simulator.inputs.question import is_question
from simulator.law.chips import ChipLike, instruction_on
from simulator.law.counting import count
from simulator.law.explaining import Explanation, explain, ranges
from simulator.law.indices import RESERVED, Addresses, check_size, locate
from simulator.law.instructions import Instruction, Rule

__all__ = ["AssertConflictFree", "AssertWavefronts", "assert_conflict_free", "assert_wavefronts"]

_MOST_BANKS = 8  # rows of them in a failure
_MOST_WORDS = 4
_NOUNS = {
    "bank_conflicts": "bank conflict",
    "wavefronts": "wavefront",
    "excessive": "excessive wavefront",
}


class AssertConflictFree(Protocol):
    """The type of `assert_conflict_free`, for tests that take it as a fixture."""

    def __call__(
        self,
        op: str | Instruction,
        addresses: Addresses | None = None,
        mask: ArrayLike | None = None,
        *,
        layout: TileLike | None = None,
        element: int | None = None,
        names: Mapping[str, int] | None = None,
        warps: int = 1,
        block: Any = None,
        rule: Rule = "silicon",
        chip: ChipLike | None = None,
        name: str = "",
    ) -> None:
        """See `assert_conflict_free`."""


class AssertWavefronts(Protocol):
    """The type of `assert_wavefronts`, for tests that take it as a fixture."""

    def __call__(
        self,
        op: str | Instruction,
        addresses: Addresses | None = None,
        mask: ArrayLike | None = None,
        *,
        at_most: int | Literal["ideal"],
        layout: TileLike | None = None,
        element: int | None = None,
        names: Mapping[str, int] | None = None,
        warps: int = 1,
        block: Any = None,
        rule: Rule = "silicon",
        chip: ChipLike | None = None,
        name: str = "",
    ) -> None:
        """See `assert_wavefronts`."""


def assert_conflict_free(
    op: str | Instruction,
    addresses: Addresses | None = None,
    mask: ArrayLike | None = None,
    *,
    layout: TileLike | None = None,
    element: int | None = None,
    names: Mapping[str, int] | None = None,
    warps: int = 1,
    block: Any = None,
    rule: Rule = "silicon",
    chip: ChipLike | None = None,
    name: str = "",
) -> None:
    """Assert that no access has a bank conflict.

    Raises AssertionError, and what `count` raises.

    Parameters
    ----------
    op
        The instruction, or a question in its place, from whose type it then follows.
    addresses
        Bytes, integers of shape (..., 32); or a question in C over a thread's numbers and `names`,
        for all warps of the `block`. Or an index of elements, for the first `warps` warps: C text,
        or a function of the lane. With a `layout`: rows and columns of it, as `count` takes them.
    mask
        That of `count`; one integer for a question.
    layout, chip, rule
        Those of `count`.
    element
        Bytes of an element, by default 4.
    names
        Values of names in a question or an index.
    warps
        Warps whose index is asked.
    block
        Threads of a question's block, as for `count`.
    name
        What a failure calls the access.

    Examples
    --------
    >>> assert_conflict_free("LDS.128", "(lane/8)*132 + lane%8*4")
    >>> assert_conflict_free("float s[32][33]; s[threadIdx.x][threadIdx.y]", block="32x32")
    >>> swizzled = "Sw<3,3,3> o 0 o (64,64):(64,1)"
    >>> assert_conflict_free("ldmatrix.x4", "lane%16, lane/16*8", layout=swizzled, element=2)
    """
    __tracebackhide__ = True  # pytest then shows the line of the test
    asked = _Given(op, addresses, mask, layout, element, names, warps, block, rule, chip, name)
    _check(asked, "bank_conflicts", 0)


def assert_wavefronts(
    op: str | Instruction,
    addresses: Addresses | None = None,
    mask: ArrayLike | None = None,
    *,
    at_most: int | Literal["ideal"],
    layout: TileLike | None = None,
    element: int | None = None,
    names: Mapping[str, int] | None = None,
    warps: int = 1,
    block: Any = None,
    rule: Rule = "silicon",
    chip: ChipLike | None = None,
    name: str = "",
) -> None:
    """Assert that no access takes more than `at_most` wavefronts; "ideal": none more than ideal.

    Raises as `assert_conflict_free` does.

    Parameters
    ----------
    at_most
        Wavefronts that an access may take, or "ideal".
    op, addresses, mask, layout, element, names, warps, block, rule, chip, name
        Those of `assert_conflict_free`.

    Examples
    --------
    >>> assert_wavefronts("LDS.128", "lane/2*4", at_most=2)  # pairs of lanes agree: fused
    """
    __tracebackhide__ = True
    if at_most != "ideal" and (not is_integer(at_most) or at_most < 0):
        raise OptionError(f"at_most {at_most!r} is not a count (accepted: 0, 1, 2, ..., 'ideal')")
    asked = _Given(op, addresses, mask, layout, element, names, warps, block, rule, chip, name)
    if at_most == "ideal":
        _check(asked, "excessive", 0)
    else:
        _check(asked, "wavefronts", at_most)


@dataclass(frozen=True)
class _Given:
    """What an assertion was given."""

    op: str | Instruction
    addresses: Addresses | None
    mask: ArrayLike | None
    layout: TileLike | None
    element: int | None
    names: Mapping[str, int] | None
    warps: int
    block: Any
    rule: Rule
    chip: ChipLike | None
    name: str


def _check(asked: _Given, figure: str, most: int) -> None:
    __tracebackhide__ = True
    try:
        failure = _failure(asked, figure, most)
    except BankwiseError as error:  # where in bankwise it was raised helps nobody
        raise error.with_traceback(None) from None
    if failure:
        raise AssertionError(failure)


def _failure(asked: _Given, figure: str, most: int) -> str:
    """Return what is wrong, or nothing."""
    _check_options(asked)
    name, mask = asked.name, asked.mask
    byte: Any = asked.addresses
    if byte is None or isinstance(byte, str):
        found = _read(asked)
        known, byte = found.instruction, found.addresses()
        mask = None if found.whole else found.masks
        name = name or found.question.source
    else:
        known = instruction_on(asked.chip, asked.op)
        size = asked.element
        if asked.layout is None:
            size = size or 4 if callable(byte) else None
        byte = locate(known, byte, asked.layout, size, mask).addresses
    counts = count(known, byte, mask, rule=asked.rule)
    values = getattr(counts, figure)
    if int(values.max()) <= most:
        return ""
    worst = np.unravel_index(int(values.argmax()), values.shape)
    masks = None if mask is None else np.broadcast_to(np.asarray(mask), values.shape)
    bits = None if masks is None else int(masks[worst])
    one = explain(known, np.asarray(byte)[worst], bits, rule=asked.rule, chip=asked.chip)
    kind = "warp" if asked.addresses is None or isinstance(asked.addresses, str) else "access"
    said = _headline(known, values, figure, most, kind)
    return "\n".join([f"{name}: {said}" if name else said, *one.sentences, *_colliding(one)])


def _read(asked: _Given) -> AskedAccess:
    """Read a question; without a declaration or a block, its warps stand in a row."""
    text = asked.addresses
    laid = asked.layout is not None
    indexed = isinstance(text, str) and (laid or not is_question(text))
    warps = range(asked.warps) if asked.block is None and (indexed or asked.warps > 1) else None
    return asked_of(
        asked.op,
        text if isinstance(text, str) else None,
        asked.mask,
        block=asked.block,
        element=None if asked.element == 4 and not laid else asked.element,
        layout=asked.layout,
        chip=asked.chip,
        names=asked.names,
        warps=warps,
    )


def _check_options(asked: _Given) -> None:
    warps, element, names = asked.warps, asked.element, asked.names
    if not is_integer(warps) or not 1 <= warps <= 32:
        raise OptionError(f"warps {warps!r} is not a number of warps (accepted: 1 to 32)")
    if element is not None:
        check_size(element)
    if not (names is None or isinstance(names, Mapping)) or set(names or ()) & set(RESERVED):
        raise OptionError(
            f"names {names!r} cannot be set (accepted: a mapping of names to integers, without"
            f" {', '.join(RESERVED)}, which have their own meaning)"
        )
    question = asked.addresses is None or isinstance(asked.addresses, str)
    sized = element in (None, 4) or asked.layout is not None or callable(asked.addresses)
    if not question and (not sized or (warps, names, asked.block) != (1, None, None)):
        raise OptionError(
            "element, warps, block and names are for an index expression or a question (accepted:"
            " byte addresses without them; element with a layout, or for a function of the lane)"
        )


def _headline(
    instruction: Instruction, values: NDArray[np.int32], figure: str, most: int, kind: str
) -> str:
    number = int(values.max())
    said = f"{instruction.name} has {plural(number, _NOUNS[figure])}"
    said += f" (accepted: {'up to ' if most else ''}{most})"
    if values.size > 1:
        over = int(np.count_nonzero(values > most))
        which = ", ".join(map(str, np.unravel_index(int(values.argmax()), values.shape)))
        said += f"; that is {kind} {which}, the worst of {over} of {values.size} that have too many"
    return said


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
