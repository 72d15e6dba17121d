"""What the figures of an access mean, in words: the verdict, and its cause."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple

from layouts.errors import plural
from simulator.law import specification
from simulator.law.explaining import Explanation, Phase, ranges
from simulator.law.instructions import Instruction
from simulator.law.loops import is_loop

__all__ = ["Level", "Verdict", "cause", "least_wavefronts", "verdict", "waits", "worst_phase"]

Level = Literal["free", "harmless", "conflict", "nothing"]
"""`harmless`: bank conflicts without an excessive wavefront. `nothing`: no lane is active."""

_NUMBERS = ("no", "one", "two", "three", "four")


class Verdict(NamedTuple):
    """Whether an access conflicts, in words."""

    level: Level
    text: str


def waits(instruction: Instruction) -> bool:
    """Return whether lanes on one word wait for one another, as those of most atomics do."""
    return instruction.verb == "update" and not instruction.merges


def least_wavefronts(one: Explanation) -> int:
    """Return the wavefronts of an access without conflicts that cost something.

    Conflicts within the profiler's ideal cost nothing: fused phases of two wavefronts take as long
    as phases that never fuse. Lanes that update one word are served one after the other in any
    layout.
    """
    if not one.excessive:
        return one.wavefronts
    if waits(one.instruction):
        return specification.least_wavefronts(one.instruction, one.addresses, one.mask, one.rule)
    return one.wavefronts - one.instruction.passes * one.bank_conflicts


def verdict(one: Explanation) -> Verdict:
    """Return whether an access conflicts, and what that costs.

    >>> from simulator.law.explaining import explain
    >>> verdict(explain("LDS", [128 * lane for lane in range(32)])).text
    '32-way bank conflict: 32 wavefronts where 1 is enough'
    """
    op = one.instruction
    if not op.phases:
        return Verdict("free", "Conflict-free: it does not pass through the shared-memory pipe")
    if not one.wavefronts:
        return Verdict("nothing", "No lane is active: nothing is accessed")
    if is_loop(op):
        return _loop(one)
    depths = [len(phase.wavefronts) for phase in one.phases if phase.wavefronts]
    nsight = f"Nsight calls that {one.wavefronts}-way"
    if not one.bank_conflicts:
        return Verdict("free", _free(one, depths, nsight))
    fused = "fused " if len(one.phases) < op.phases else ""
    alike = len(set(depths)) == 1
    if not one.excessive:
        each = (
            f"{_word(len(depths))} {fused}phase{'s' if len(depths) > 1 else ''} of"
            f" {_word(depths[0])} wavefronts"
            if alike
            else f"{fused}phases of {_listed(map(_word, depths))} wavefronts"
        )
        costs = "costs" if one.bank_conflicts == 1 else "cost"
        return Verdict(
            "harmless",
            f"{plural(one.bank_conflicts, 'bank conflict')} that {costs} nothing: {each}",
        )
    least = least_wavefronts(one)
    if least == one.wavefronts:
        return Verdict("conflict", _together(one))
    price = f"{plural(one.wavefronts, 'wavefront')} where {_enough(least)}"
    ways = max(depths) // op.passes
    if len(depths) == 1:
        beside = "" if ways == one.wavefronts else f" ({nsight})"
        return Verdict("conflict", f"{ways}-way bank conflict: {price}{beside}")
    where = f"in {'each' if alike else 'the worst'} of its {len(depths)} phases"
    return Verdict("conflict", f"{ways}-way bank conflict {where}: {price} ({nsight})")


def _loop(one: Explanation) -> Verdict:
    """Return the verdict of a loop of atomics, whose lanes wait without a bank conflict."""
    active = sum(1 for group in one.instruction.phase_lanes if _active(one, group))
    least = least_wavefronts(one)
    if one.wavefronts == least > one.instruction.passes * active:
        return Verdict("conflict", _together(one))
    if one.wavefronts == least:
        return Verdict("free", f"Conflict-free: one round of {plural(least, 'wavefront')}")
    return Verdict(
        "conflict",
        f"Lanes wait for each other: {one.wavefronts} wavefronts where {_enough(least)}",
    )


def _enough(least: int) -> str:
    return f"{least} {'is' if least == 1 else 'are'} enough"


def _together(one: Explanation) -> str:
    """Return that the lanes of a word cost what they do, wherever the word lies."""
    own = [one.addresses[lane] for lane in specification.counted_lanes(one.instruction, one.mask)]
    lanes = max(map(own.count, own))
    return (
        f"{plural(one.wavefronts, 'wavefront')}: up to {lanes} lanes {one.instruction.verb} one"
        " word, and no layout serves them at once"
    )


def _active(one: Explanation, lanes: Sequence[int]) -> bool:
    return any(one.mask >> lane & 1 for lane in lanes)


def _free(one: Explanation, depths: Sequence[int], nsight: str) -> str:
    op = one.instruction
    if one.wavefronts == 1:
        return "Conflict-free: 1 wavefront, the least possible"
    if op.passes > 1:
        times = "twice" if op.passes == 2 else f"{op.passes} times"
        return f"Conflict-free: every {one.op} takes its wavefronts {times} ({nsight})"
    own = f"Conflict-free: its {one.wavefronts} wavefronts are"
    if len(one.phases) < op.phases:
        return (
            f"{own} {_word(len(depths))} fused phases, {_share(len(depths), op.phases)} {one.op}"
            f" takes unfused ({nsight})"
        )
    if len(depths) < op.phases:
        return f"{own} the {len(depths)} phases that have an active lane ({nsight})"
    return f"{own} the {len(depths)} phases that every {one.op} needs ({nsight})"


def cause(one: Explanation) -> str:
    """Return why: the lanes that meet in the worst bank, and whether phases fused.

    >>> from simulator.law.explaining import explain
    >>> cause(explain("LDS", [128 * (lane % 2) for lane in range(32)]))
    'Lanes 0 and 1 read 2 different words of bank 0.'
    """
    op = one.instruction
    if not op.phases or not one.wavefronts:
        return one.note if op.phases else _beside(one)
    if one.sources is not None or is_loop(op):
        return one.reason
    worst = worst_phase(one)
    if len(worst.wavefronts) > op.passes:
        said = _meeting(one, worst)
    else:
        shared = any(len(queue[0].lanes) > 1 for queue in worst.banks.values())
        said = (
            "No bank serves more than one word; lanes on the same word share it."
            if op.merges and shared
            else f"No bank serves more than one {'word' if op.merges else 'lane'}"
            f"{' in a phase' if len(one.phases) > 1 else ''}."
        )
    return f"{said} {_fusing(one)}".strip()


def worst_phase(one: Explanation) -> Phase:
    """Return the phase with most wavefronts, the first such one."""
    return max(one.phases, key=lambda phase: (len(phase.wavefronts), -phase.index))


def _beside(one: Explanation) -> str:
    return (
        f"{one.op} does not use the shared-memory pipe of wavefronts: no wavefronts, no conflicts."
    )


def _meeting(one: Explanation, worst: Phase) -> str:
    op = one.instruction
    depth = len(worst.wavefronts)
    full = {bank: queue[:: op.passes] for bank, queue in worst.banks.items() if len(queue) == depth}
    heads = {bank: tuple(served.lanes[0] for served in queue) for bank, queue in full.items()}
    first = next(iter(full))
    alike = [bank for bank in full if heads[bank] == heads[first]]
    lanes = sorted(heads[first])
    words = len({served.word for served in full[first]})
    what = "the same word" if words == 1 else f"{words} words"
    if words == len(lanes):
        what = f"{words} different words"
    merged = "" if words == len(lanes) else f", which {one.op} does not merge"
    others = len(full) - len(alike)
    likewise = f" ({plural(others, 'other bank')} likewise)" if others else ""
    who = _listed(map(str, lanes)) if len(lanes) < 5 else ranges(lanes)
    where = f"In phase {worst.index}, lanes" if len(one.phases) > 1 else "Lanes"
    banks = f"bank{'s' if len(alike) > 1 else ''} {ranges(alike)}"
    return f"{where} {who} {op.verb} {what} of {banks}{merged}{likewise}."


def _fusing(one: Explanation) -> str:
    op = one.instruction
    if not op.fuses:
        return ""
    if one.rule == "documented":
        return f"The documented rule never fuses its {op.phases} phases."
    if one.partners:
        return (
            f"Its {op.phases} phases fuse into {len(one.phases)}: active lanes i and"
            f" i^{one.partners[0]} agree on their address."
        )
    who = "neighbouring lanes"
    if len(one.broken) == 1:
        (((a, b), *_),) = one.broken.values()
        who = f"lanes {a} and {b}"
    return f"The {op.phases} phases are not merged, because {who} {op.verb} different addresses."


def _share(some: int, of: int) -> str:
    return "half of what" if 2 * some == of else f"where {of} are what"


def _word(number: int) -> str:
    return _NUMBERS[number] if number < len(_NUMBERS) else f"{number}"


def _listed(parts: Iterable[str]) -> str:
    *most, last = parts
    return f"{', '.join(most)} and {last}" if most else last
