"""What `bankwise count` counts, and what it says below its table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from simulator.asking.answer import Answer
    from simulator.inputs.asked import AskedAccess
    from simulator.inputs.files import Accesses
    from simulator.law.chips import Chip
    from simulator.law.counting import Counts
    from simulator.law.instructions import Rule

__all__ = ["count_by_op", "said", "worst"]


def worst(
    accesses: Accesses, asked: AskedAccess | None, counts: Counts, where: Any, rule: Rule,
    chip: Chip | None,
) -> Answer:  # fmt: skip
    """Return the answer for the worst access of one instruction, for a page."""
    from simulator.asking import ask
    from simulator.cli.options import one_access

    if asked is not None:
        return ask.answer(asked, rule)
    row = counts.worst()
    op, addresses, mask = one_access(accesses, int(where[row]))
    one = ask.explain(op, addresses, mask, rule=rule, chip=chip)
    return replace(one, warp=row, warps=counts)


def said(answers: Sequence[Answer], asked: AskedAccess | None) -> list[str]:
    """Return the verdict on the worst access of each instruction, and what was assumed.

    "4-way" alone would not tell a conflict from the phases that an instruction needs.
    """
    several = len(answers) > 1
    text = []
    for each in answers:
        rows = len(each.warps.wavefronts)
        parts = [each.op] * several + [f"the worst of {rows}"] * (rows > 1)
        name = f"{', '.join(parts)}: " if parts else ""
        text.append(f"{name[:1].upper()}{name[1:]}{each.verdict}.")
    if asked is not None and asked.assumed:
        text.append(f"Assumed: {'; '.join(asked.assumed)}.")
    return text


def count_by_op(accesses: Accesses, rule: Rule, chip: Chip | None) -> list[tuple[str, Any, Counts]]:
    """Return for each instruction which accesses it makes, and their counts."""
    from simulator.law.counting import count

    masks = accesses.masks
    return [
        (
            op,
            where,
            count(
                op,
                accesses.addresses[where],
                None if masks is None else masks[where],
                rule=rule,
                chip=chip,
            ),
        )
        for op, where in accesses.by_op().items()
    ]
