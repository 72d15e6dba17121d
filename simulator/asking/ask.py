"""The public `count` and `explain`: of byte addresses, or of a question in C.

count("float s[32][32]; s[threadIdx.x][threadIdx.y]")        a row per warp
explain("half t[64][64]; &t[lane%16][lane/16*8]", op=…)      the worst warp
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simulator.asking.answer import Answer
from simulator.asking.reading import asked_of
from simulator.errors import OptionError
from simulator.inputs.asked import Asked
from simulator.law import counting, explaining
from simulator.law.chips import ChipLike, instruction_on
from simulator.law.counting import Counts, Engine
from simulator.law.instructions import Instruction, Rule

__all__ = ["answer", "answer_of", "count", "explain"]


def count(
    op: str | Instruction,
    addresses: ArrayLike | str | None = None,
    mask: ArrayLike | None = None,
    *,
    rule: Rule = "silicon",
    engine: Engine = "auto",
    threads: int | None = None,
    chip: ChipLike | None = None,
    block: Any = None,
    element: int | None = None,
    names: Mapping[str, int] | None = None,
    active: str | None = None,
) -> Counts:
    """Count warp accesses of the instruction `op`, at byte addresses or by a question in C.

    `addresses` are integers of any width, shape (..., 32), in bytes from the start of shared
    memory; the figures have the shape (...). `mask` has bit l set where lane l is active: None
    for all lanes, one integer, or integers of shape (...). `rule` is "silicon" (measured) or
    "documented" (NVIDIA's published phases, never fused). `threads` bounds those of the Numba
    engine, which takes one a processor for many accesses. `chip` has the instruction: a name, a
    `Chip` or a JSON file, by default the H200.

    A question takes the place of `addresses`, or of both: then the instruction follows from the
    type and the direction. Its figures have a row per warp of the `block`, which is 128, "32x8" or
    (8, 8, 4), by default one warp, or 32×32 threads where `threadIdx.y` is named. `element` is
    the bytes of an element that no declaration names, by default 4. `names` have values. `active`
    is an expression: threads for which it is 0 are inactive.

    >>> count("LDS", [128 * lane for lane in range(32)]).wavefronts
    array(32, dtype=int32)
    >>> count("LDS.128", [16 * (lane // 2) for lane in range(32)]).phases  # pairs fuse
    array(2, dtype=int32)
    >>> int(count("float s[32][33]; s[threadIdx.x][threadIdx.y]").wavefronts.sum())
    32

    Raises InstructionError, AddressError, MaskError, ExpressionError or OptionError, all of them
    BankwiseError.
    """
    if addresses is not None and not isinstance(addresses, str):
        _refuse_for_addresses(block=block, element=element, names=names, active=active)
        return counting.count(
            op, addresses, mask, rule=rule, engine=engine, threads=threads, chip=chip
        )
    asked = asked_of(
        op, addresses, mask, block=block, element=element, names=names, active=active, chip=chip
    )
    masks = None if asked.whole else asked.masks
    return counting.count(
        asked.instruction, asked.addresses(), masks, rule=rule, engine=engine, threads=threads
    )


def explain(
    op: str | Instruction,
    addresses: ArrayLike | str | None = None,
    mask: int | None = None,
    *,
    rule: Rule = "silicon",
    chip: ChipLike | None = None,
    block: Any = None,
    element: int | None = None,
    names: Mapping[str, int] | None = None,
    active: str | None = None,
    warp: int | None = None,
) -> Answer:
    """Explain one access: 32 byte addresses, or a question in C, whose worst warp is explained.

    Printing the result answers: verdict, cause, map of the banks, price, cure, figures. The
    question and its options are those of `count`; `warp` chooses another warp than the worst.

    >>> print(explain("float s[32][32]; s[threadIdx.x][threadIdx.y]").verdict)
    32-way bank conflict: 32 wavefronts where 1 would do
    >>> addresses = [128 * (lane // 16) + 8 * (lane // 2 % 8) for lane in range(32)]
    >>> explain("LDS.64", addresses).verdict
    '1 bank conflict that costs nothing: one fused phase of two wavefronts'

    Raises what `count` raises, and AddressError for more than one access.
    """
    if addresses is not None and not isinstance(addresses, str):
        _refuse_for_addresses(block=block, element=element, names=names, active=active, warp=warp)
        known = instruction_on(chip, op)
        one = explaining.explain(known, addresses, mask, rule=rule, chip=chip)
        return answer_of(
            one, known, counting.count(known, np.array([one.addresses]), one.mask, rule=rule)
        )
    asked = asked_of(
        op,
        addresses,
        mask,
        block=block,
        element=element,
        names=names,
        active=active,
        warp=warp,
        chip=chip,
    )
    return answer(asked, rule)


def answer(asked: Asked, rule: Rule = "silicon") -> Answer:
    """Return the answer to a question that was read: its worst warp explained.

    The worst has most bank conflicts, then most wavefronts; of several the first.
    """
    addresses: NDArray[np.int64] = asked.addresses()
    masks = None if asked.whole else asked.masks
    warps = counting.count(asked.instruction, addresses, masks, rule=rule)
    keys = warps.bank_conflicts.astype(np.int64) * 256 + warps.wavefronts
    worst = int(np.argmax(keys))
    one = explaining.explain(
        asked.instruction, addresses[worst], int(asked.masks[worst]), rule=rule, chip=asked.chip
    )
    return answer_of(one, asked.instruction, warps, asked, worst)


def answer_of(
    one: explaining.Explanation,
    instruction: Instruction,
    warps: Counts,
    asked: Asked | None = None,
    worst: int = 0,
) -> Answer:
    """Return an explained access with the figures of all warps, and its question if any."""
    block = None if asked is None else asked.block
    return Answer(
        **vars(one),
        instruction=instruction,
        text="" if asked is None else asked.question.source,
        warp=worst if asked is None else asked.warps[worst],
        warps=warps,
        block=None if block is None else (block.x, block.y, block.z),
        assumed=() if asked is None else asked.assumed,
        asked=asked,
    )


def _refuse_for_addresses(**options: Any) -> None:
    given = [name for name, value in options.items() if value is not None]
    if given:
        raise OptionError(
            f"{', '.join(given)}: for a question in C, not for addresses (accepted: addresses"
            " alone, with a mask)"
        )
