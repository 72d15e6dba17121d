"""A change of an array's layout that was run: what it is, what it saves, how that is known."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from simulator.errors import ChipError, LaunchError, OptionError
from simulator.fixing.costs import Cost
from simulator.fixing.unreached import unreached
from simulator.fixing.wording import Wording
from simulator.results.tables import Columns, Result
from simulator.results.text import Table
from simulator.timing.gains import SLACK, gain_text, is_faster, is_felt, is_slower

if TYPE_CHECKING:
    from simulator.fixing.arrays import SharedArray
    from simulator.fixing.layouts import Candidate
    from simulator.sass.report import CompiledReport
    from simulator.timing.kernel_time import KernelTime

__all__ = ["Fix", "SharedUse", "predicted_of"]


@dataclass(frozen=True)
class SharedUse:
    """Shared memory of a block, and how many blocks an SM holds then."""

    bytes: int
    blocks: int | None
    """None: the kernel's registers or the chip's limits are not known."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Fix(Result):
    """What to change in one array, or why nothing is.

    The kernel ran again with every access to the array at its new place: `after` was counted then.
    """

    array: str
    """The array's name in the source; else what its accesses tell."""
    lines: tuple[int, ...]
    """The source lines that access it."""
    files: tuple[str, ...]
    wording: Wording = field(default_factory=Wording, repr=False)
    """`text` and `place` in parts."""
    calls: str = ""
    """What a call gets then, too: `pass N + 8 to load_matrix_sync in line 9`; "": none has to."""
    by_hand: str = ""
    """Why it is not written into the source but left to the reader; "": it may be."""
    why: str
    """How it is known that nothing is better, or why nothing was tried."""
    proved: bool
    """Whether no layout of the families that were searched has fewer bank conflicts."""
    outputs_equal: bool
    """Whether the kernel left the same bits in all arguments. Of a Fix with a text: True."""
    before: Cost
    """Sums over this array's accesses, in all blocks that the report is for."""
    after: Cost
    """The same with this fix alone."""
    kind: str = ""
    """pad, swizzle, both, tma; "" where nothing is to change."""
    notation: str = ""
    """The layout in CuTe's notation; "" where it has none."""
    triton: str = ""
    """The layout as Triton's compiler has it, of a kernel that Triton made; "" where a note says
    that it has none."""
    operations: int = 0
    """Integer operations that an index takes more."""
    bytes_before: int = 0
    bytes_after: int = 0
    occupancy_before: SharedUse
    occupancy_after: SharedUse
    by_line: Columns = field(default_factory=dict)
    """Columns file, line, opcode, wavefronts and bank_conflicts before and after."""
    alternatives: tuple[Fix, ...] = ()
    """Other layouts that were run and are better than before.

    Of a Fix without a text: those that are not proposed, for the reason in `why`."""
    notes: tuple[str, ...] = ()
    report: CompiledReport | None = field(default=None, repr=False, compare=False)
    """That of the launch without it."""
    compiled: CompiledReport | None = field(default=None, repr=False, compare=False)
    """That of the source that it was written into; None: it could not be, or was not."""
    target: SharedArray | None = field(default=None, repr=False, compare=False)
    candidate: Candidate | None = field(default=None, repr=False, compare=False)

    @property
    def text(self) -> str:
        """The declaration with its padding, or the access with its new index; "": nothing.

        Where the array must grow for the index, `in` and the declaration follow.
        """
        return self.wording.text

    @property
    def place(self) -> str:
        """The access that `text` stands for, such as `tile[row][col]`; "": it is a declaration."""
        return self.wording.place

    @property
    def unremovable(self) -> int:
        """Conflicts that the sources of copies cause, under any layout."""
        return self.after.unremovable

    @property
    def saved(self) -> int:
        """Bank conflicts that it removes."""
        return self.before.bank_conflicts - self.after.bank_conflicts

    @cached_property
    def times(self) -> tuple[KernelTime, KernelTime] | None:
        """The launch's predicted time as it is, and with this fix alone; None: not known.

        Blocks run again for it when it is first asked. It is that of `compiled`, where there is
        one: else what a swizzle adds to an index is not in it (see `operations`).
        """
        report = self.report
        if report is None or not self.text:
            return None
        return _times(report, lambda: self.compiled or report.fixed([self]))

    @property
    def speedup(self) -> float | None:
        """How many times as fast the launch is predicted to be with it; None: not known."""
        return _gain(*self.times) if self.times else None

    @property
    def is_slower(self) -> bool:
        """Whether the launch is predicted to be slower with it: that is not too close to tell."""
        return self.speedup is not None and is_slower(self.speedup)

    @property
    def is_worth_it(self) -> bool:
        """Whether the launch is predicted to be faster with it, or nothing is predicted.

        That may be too close to tell: `simulator.timing.gains.SLACK`.
        """
        return self.speedup is None or is_felt(self.speedup)

    @property
    def predicted(self) -> str:
        """The predicted times in words; "" where they are not known."""
        return _predicted(*self.times) if self.times else ""

    def to_dict(self) -> dict[str, Any]:
        """Return `{"lines": columns, "totals": …}`, the fix itself among the totals."""
        return {"lines": self.by_line, "totals": self.summary()}

    def summary(self) -> dict[str, Any]:
        """Return everything but the lines, in plain values."""
        return {
            "array": self.array,
            "text": self.text,
            "place": self.place,
            "calls": self.calls,
            "kind": self.kind,
            "wavefronts_before": self.before.wavefronts,
            "wavefronts": self.after.wavefronts,
            "bank_conflicts_before": self.before.bank_conflicts,
            "bank_conflicts": self.after.bank_conflicts,
            "unremovable": self.unremovable,
            "proved": self.proved,
            "outputs_equal": self.outputs_equal,
            "compiled": self.compiled is not None,
            "array_bytes_before": self.bytes_before,
            "array_bytes": self.bytes_after,
            "blocks_per_sm_before": self.occupancy_before.blocks,
            "blocks_per_sm": self.occupancy_after.blocks,
            "operations": self.operations,
            "speedup": None if self.speedup is None else round(self.speedup, 3),
            "notation": self.notation,
            "triton": self.triton,
            "why": self.why,
        }

    @property
    def written(self) -> str:
        """What to write, and for which accesses: `tile[row][col ^ row] for each tile[row][col]`.

        What is passed to calls follows.
        """
        said = self.wording.everywhere
        return f"{said}, and {self.calls}" if self.calls else said

    @property
    def behind(self) -> str:
        """What dynamic memory behind an array that grows needs; "" where there is none."""
        array, size = self.target, self.report.shared_bytes if self.report else 0
        if array is None or array.is_static or max(array.starts) + array.size >= size:
            return ""
        return ", and let what lies behind the array begin so much later"

    @property
    def sentences(self) -> tuple[str, ...]:
        """The fix in words: what to write first."""
        before, after = self.before.bank_conflicts, self.after.bank_conflicts
        conflicts = f"{before:,} → {after:,} bank conflicts"
        waves = f"{self.before.wavefronts:,} → {self.after.wavefronts:,} wavefronts"
        if not self.text:
            said = [f"{self.array}: nothing to change, {_conflicts(before)}."]
        else:
            said = [f"{self._advice()} {conflicts}, {waves}."]
            said.append(self._spent())
            said += self._grown()
            if self.predicted:
                said.append(self.predicted)
                said += self._beyond()
                if self.compiled is None:
                    said.append(self._uncompiled())
            if self.notation:
                said.append(f"CuTe: {self.notation}.")
            if self.triton:
                said.append(f"Triton{self._rows()}: {self.triton}.")
            ran = "The changed source was compiled and ran"
            if self.compiled is None:
                ran = "It ran with every access at its new place"
            said.append(f"{ran}, and left the same outputs.")
            lines = unreached(self.report) if self.report else ""
            if lines:
                said.append(f"They do not tell about {lines}: no lane came by with this data.")
        said.append(self.why)
        if self.unremovable:
            said.append(
                f"{_conflicts(self.unremovable)} come from the sources of copies: no layout of"
                " shared memory removes them."
            )
        said += self.notes
        for each in self.alternatives:
            offered = "Or write" if self.text else "It ran with"
            timed = ""
            if self.text and not self.is_worth_it:  # is one of them?
                offered = "Or write" if each.is_worth_it else "Nor write"
                timed = f" {each.predicted}" if each.predicted else ""
            is_doubtful = self.compiled is not None and each.compiled is None
            if timed and is_doubtful:
                timed = f"{timed} {each._uncompiled()}"
            compiled = " (not compiled)" if is_doubtful else ""
            costs = f"{_conflicts(each.after.bank_conflicts)}, {each.after.wavefronts:,} wavefronts"
            said.append(
                f"{offered} {each.written}{compiled}: {costs}."
                f" {' '.join([each._spent(), *each._grown()])}{timed}"
            )
        return tuple(said)

    def _advice(self) -> str:
        """Say first whether to write it: fewer bank conflicts need not be less time."""
        if self.is_worth_it:
            return f"{self.array}: write {self.written}."
        after = self.after.bank_conflicts
        left = f"{_conflicts(after)} of {self.before.bank_conflicts:,}"
        left = left if after else "no bank conflicts"
        felt = "be slower" if self.is_slower else "be about as fast"
        return (
            f"{self.array}: leave it. To write {self.written} would leave {left}, but the launch"
            f" would {felt}."
        )

    def _beyond(self) -> list[str]:
        """Say why it gains more than to remove all bank conflicts of the launch does."""
        if self.times is None or self.speedup is None:
            return []
        before, after = self.times
        most = before.speedup_without_conflicts
        if most is None or self.speedup <= SLACK * most:
            return []
        said = f"That is more than without bank conflicts ({gain_text(most)})"
        was, now = (each.counts["instructions"] for each in self.times)
        if now < was / SLACK:
            return [f"{said}: {1 - now / was:.0%} fewer instructions are executed, too."]
        blocks = self.occupancy_after.blocks or 0
        if blocks > (self.occupancy_before.blocks or blocks):
            return [f"{said}: an SM holds more blocks, too."]
        least, new = (each.bound.pipes["shared"] for each in (before.without_conflicts, after))
        if new < least / SLACK:
            return [f"{said}: accesses take fewer wavefronts than the least at their old places."]
        return [f"{said}."]

    def _uncompiled(self) -> str:
        """Say what a time is worth that is not of compiled code."""
        more = ", without the added operations of the index" if self.operations else ""
        return (
            f"That is the time of the same instructions at other addresses{more}: the changed"
            " source was not compiled."
        )

    def _spent(self) -> str:
        more = self.bytes_after - self.bytes_before
        blocks, was = self.occupancy_after.blocks, self.occupancy_before.blocks
        operations = f"{self.operations} operation{'s'[: self.operations != 1]} per index"
        spent = f"{more:,} bytes more, {operations}"
        if blocks is None:
            return f"{spent}."
        room = f"{blocks} block{'s'[: blocks != 1]} per SM"
        return f"{spent}; {room}{', as before' if blocks == was else f' instead of {was}'}."

    def _rows(self) -> str:
        """Say which rows a layout of Triton's is of: those that the addresses tell."""
        if self.candidate is None:
            return ""
        tile, size = self.candidate.tile, self.candidate.element
        return f", of {tile.rows} rows of {tile.cols} elements of {size} bytes"

    def _grown(self) -> list[str]:
        """Say where the bytes come from that a new index reaches, beyond the array's end."""
        more = self.bytes_after - self.bytes_before
        if more <= 0 or self.target is None or self.triton:
            return []
        if not self.target.is_static:
            return [f"Give the launch {more:,} bytes more of dynamic shared memory{self.behind}."]
        if self.target.declared is None or self.target.declared.element is None:
            return [f"The array must be declared with {self.bytes_after:,} bytes."]
        declared = self.wording.declared
        return [f"Declare {declared}, because the index reaches further."] if declared else []

    def table(self) -> Table:
        """Return a row for each source line and instruction that accesses the array."""
        title, *text = self.sentences
        return Table(self.rows(), self.summary(), sums=(), title=title, text=text)


def predicted_of(before: CompiledReport, after: CompiledReport) -> str:
    """Return the predicted times of two launches in words; "" where one is not known."""
    times = _times(before, lambda: after)
    return _predicted(*times) if times else ""


def _times(
    before: CompiledReport, changed: Callable[[], CompiledReport]
) -> tuple[KernelTime, KernelTime] | None:
    """Return the predicted times of a launch and of it `changed`; None where one is not known.

    It is not run changed where the time of the launch as it is is not known.
    """
    try:
        was = before.time()
        now = was if was.cycles is None else changed().time()
    except (ChipError, LaunchError):  # pipes that are not known; a report that was pickled
        return None
    return None if now.cycles is None else (was, now)


def _gain(before: KernelTime, after: KernelTime) -> float:
    return (before.cycles or 1) / (after.cycles or 1)


def _predicted(before: KernelTime, after: KernelTime) -> str:
    cycles = f"{before.cycles or 1:,} → {after.cycles or 1:,} cycles"
    gain = _gain(before, after)
    is_hidden = before.is_mostly_launch and not is_faster(gain)
    why = " (the launch itself takes most of it: a larger grid may gain more)" if is_hidden else ""
    return f"Predicted on {before.chip}: {cycles}, {gain_text(gain)}{why}."


def _conflicts(count: int) -> str:
    return f"{count:,} bank conflict{'s'[: count != 1]}"


def fixes_table(fixes: Sequence[Fix], rule: str = "", kernel: str = "") -> Table:
    """Return a row per fix, and each in words; of several rules or kernels, it names its own."""
    names = (
        "array", "text", "bank_conflicts_before", "bank_conflicts", "wavefronts_before",
        "wavefronts", "array_bytes_before", "array_bytes", "unremovable", "proved",
    )  # fmt: skip
    rows = [{name: each.summary()[name] for name in names} for each in fixes]
    hidden = [] if any(each.unremovable for each in fixes) else ["unremovable"]
    text = [*(" ".join(each.sentences) for each in fixes), *_together(fixes)]
    of = f" in {kernel}" if kernel else ""
    title = f"What to change{of}"
    if not fixes:
        title = f"Nothing to fix{of}: no bank conflicts in shared memory."
    title = f"{rule} rule: {title}" if rule else title
    return Table(
        rows, {"fixes": len(rows)}, sums=(), title=title, text=text, columns=names, hidden=hidden
    )


def _together(fixes: Sequence[Fix]) -> list[str]:
    """Say what several fixes gain at once: the launch runs again with all of them."""
    written = [each for each in fixes if each.text]
    before = written[0].report if len(written) > 1 else None
    if before is None:
        return []
    try:
        after = before.fixed(written)
    except OptionError as error:  # each of them fits, all of them do not
        return [f"Not all {len(written)} at once: {error}."]
    was, now = (each.totals()["all"] for each in (before, after))
    said = (
        f"All {len(written)} together: {was['bank_conflicts']:,} →"
        f" {_conflicts(now['bank_conflicts'])}, {was['wavefronts']:,} →"
        f" {now['wavefronts']:,} wavefronts."
    )
    times = _times(before, lambda: after)
    told = "That is the time of the same instructions at other addresses (--fix-diff compiles it)."
    return [f"{said} {_predicted(*times)} {told}" if times else said]
