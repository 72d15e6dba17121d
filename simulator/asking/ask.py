"""The public `count` and `explain`: of byte addresses, or of a question in C.

count("float s[32][32]; s[threadIdx.x][threadIdx.y]")        a row per warp
explain("half t[64][64]; &t[lane%16][lane/16*8]", op=…)      the worst warp
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from layouts.tile import TileLike
from simulator.asking.answer import Answer
from simulator.asking.reading import asked_of
from simulator.errors import OptionError
from simulator.inputs.asked import AskedAccess
from simulator.law import counting, explaining
from simulator.law.chips import Chip, ChipLike, optional_chip
from simulator.law.counting import Counts, Engine
from simulator.law.indices import Addresses
from simulator.law.instructions import Instruction, Rule

__all__ = ["answer", "answer_of", "count", "explain"]


def count(
    op: str | Instruction,
    addresses: Addresses | None = None,
    mask: ArrayLike | None = None,
    *,
    layout: TileLike | None = None,
    element: int | None = None,
    sources: ArrayLike | None = None,
    rule: Rule = "silicon",
    engine: Engine = "auto",
    threads: int | None = None,
    chip: ChipLike | None = None,
    block: Any = None,
    names: Mapping[str, int] | None = None,
    active: str | None = None,
) -> Counts:
    """Count warp accesses of the instruction `op`, at byte addresses or by a question in C.

    The figures have the shape (...) of the addresses, which are (..., 32). A question takes the
    place of `addresses`, or of both `op` and `addresses`. Then the instruction follows from the
    type and the direction, and the figures have a row per warp of the `block`.

    Raises InstructionError, AddressError, MaskError, ExpressionError, LayoutError, ChipError or
    OptionError, all of them BankwiseError.

    Parameters
    ----------
    op
        The instruction, or its name in SASS or PTX; or a loop of an atomic add, of one warp alone:
        "add.f32", "add.f16x2", "add.bf16x2" or "add.u64".
    addresses
        Integers of any width, shape (..., 32): bytes from the start of shared memory. With
        `element` they are indices of elements, and may be a function of the lane. With `layout`
        they are rows and columns of it: a pair of arrays, C text "row, col", or a function.
    mask
        Bit l is set where lane l is active: one integer, or integers of shape (...). None: all
        lanes.
    layout
        A Tile, a Layout or a text of one.
    element
        Bytes of an element that neither a declaration nor a layout names: by default 4, and 2 where
        a matrix instruction reads a layout.
    sources
        For copies (LDGSTS): the byte in global memory that each lane reads, -1 for a lane that
        writes zeros. The shape is the addresses', or (32,) for all accesses. None: lanes read side
        by side.
    rule
        "silicon" (measured) or "documented" (NVIDIA's published phases, never fused).
    engine
        "auto", "python", "numpy" or "numba"; the figures are the same.
    threads
        Bounds the threads of the Numba engine, which takes one per processor for many accesses.
    chip
        A `Chip`, the name of one, or a chip file. None: the H200's law.
    block
        Threads of a question's block: 128, "32x8" or (8, 8, 4). By default one warp, or 32×32
        threads where `threadIdx.y` is named.
    names
        Values of names in a question.
    active
        An expression: threads for which it is 0 are inactive.

    Examples
    --------
    >>> int(count("LDS", [128 * lane for lane in range(32)]).wavefronts)
    32
    >>> int(count("LDS.128", [16 * (lane // 2) for lane in range(32)]).phases)  # pairs fuse
    2
    >>> int(count("float s[32][33]; s[threadIdx.x][threadIdx.y]").wavefronts.sum())
    32
    >>> count("LDS", "lane, 0", layout="(32,32):(33,1)").wavefronts
    array([1], dtype=int32)
    """
    if addresses is not None and not isinstance(addresses, str):
        _refuse_for_addresses(block=block, names=names, active=active)
        return counting.count(
            op, addresses, mask, layout=layout, element=element, sources=sources, rule=rule,
            engine=engine, threads=threads, chip=chip,
        )  # fmt: skip
    asked = asked_of(
        op, addresses, mask, layout=layout, element=element, chip=chip, block=block, names=names,
        active=active,
    )  # fmt: skip
    masks = None if asked.whole else asked.masks
    return counting.count(
        asked.instruction, asked.addresses(), masks, sources=sources, rule=rule, engine=engine,
        threads=threads,
    )  # fmt: skip


def explain(
    op: str | Instruction,
    addresses: Addresses | None = None,
    mask: int | None = None,
    *,
    layout: TileLike | None = None,
    element: int | None = None,
    sources: ArrayLike | None = None,
    rule: Rule = "silicon",
    chip: ChipLike | None = None,
    block: Any = None,
    names: Mapping[str, int] | None = None,
    active: str | None = None,
    warp: int | None = None,
) -> Answer:
    """Explain one access: 32 byte addresses, or a question in C, whose worst warp is explained.

    Printing the result answers: verdict, cause, map of the banks, price, cure, figures.

    Raises what `count` raises, and AddressError for more than one access.

    Parameters
    ----------
    op, addresses, mask, layout, element, sources
        Those of `count`, for one access.
    rule, chip
        Those of `count`.
    block, names, active
        Of a question, as for `count`.
    warp
        The warp to explain instead of the worst.

    Examples
    --------
    >>> print(explain("float s[32][32]; s[threadIdx.x][threadIdx.y]").verdict)
    32-way bank conflict: 32 wavefronts where 1 is enough
    >>> addresses = [128 * (lane // 16) + 8 * (lane // 2 % 8) for lane in range(32)]
    >>> explain("LDS.64", addresses).verdict
    '1 bank conflict that costs nothing: one fused phase of two wavefronts'
    """
    if addresses is not None and not isinstance(addresses, str):
        _refuse_for_addresses(block=block, names=names, active=active, warp=warp)
        one = explaining.explain(
            op, addresses, mask, layout=layout, element=element, sources=sources, rule=rule,
            chip=chip,
        )  # fmt: skip
        bytes_ = np.array([one.addresses])
        warps = counting.count(one.instruction, bytes_, one.mask, sources=one.sources, rule=rule)
        return answer_of(one, warps, chip=optional_chip(chip))
    asked = asked_of(
        op, addresses, mask, layout=layout, element=element, chip=chip, block=block, names=names,
        active=active, warp=warp,
    )  # fmt: skip
    return answer(asked, rule, sources)


def answer(asked: AskedAccess, rule: Rule = "silicon", sources: ArrayLike | None = None) -> Answer:
    """Return the answer to a question that was read: its worst warp explained.

    The worst has most bank conflicts, then most wavefronts; of several the first.
    """
    addresses: NDArray[np.int64] = asked.addresses()
    masks = None if asked.whole else asked.masks
    warps = counting.count(asked.instruction, addresses, masks, sources=sources, rule=rule)
    worst = warps.worst()
    own = None if sources is None else np.broadcast_to(np.asarray(sources), addresses.shape)[worst]
    one = explaining.explain(
        asked.instruction, addresses[worst], int(asked.masks[worst]), sources=own, rule=rule
    )
    if asked.chip is not None:
        one = replace(one, chip=asked.chip.name)
    if asked.tile is not None:
        one = replace(one, tile=asked.tile, element=asked.element)
    return answer_of(one, warps, asked, worst, asked.chip)


def answer_of(
    one: explaining.Explanation,
    warps: Counts,
    asked: AskedAccess | None = None,
    worst: int = 0,
    chip: Chip | None = None,
) -> Answer:
    """Return an explained access with the figures of all warps, and its question if any."""
    block = None if asked is None else asked.block
    return Answer(
        **vars(one),
        text="" if asked is None else asked.question.source,
        warp=worst if asked is None else asked.warps[worst],
        warps=warps,
        block=None if block is None else (block.x, block.y, block.z),
        assumed=(*(() if asked is None else asked.assumed), *_law(chip, one)),
        asked=asked,
    )


def _law(chip: Chip | None, one: explaining.Explanation) -> tuple[str, ...]:
    """Return that nobody compared accesses of the chip with the law, if so."""
    if chip is None or one.instruction.name in chip.measured:
        return ()
    return chip.law_notes


def _refuse_for_addresses(**options: Any) -> None:
    given = [name for name, value in options.items() if value is not None]
    if given:
        raise OptionError(
            f"{', '.join(given)}: for a question in C, not for addresses (accepted: addresses"
            " alone, with a mask)"
        )
