"""Which blocks of a launch run, and running them again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from itertools import product
from math import prod
from pathlib import Path
from typing import Any, Literal, get_args

from simulator.errors import CompileError, LaunchError
from simulator.law.chips import Chip
from simulator.sass.building import Build
from simulator.sass.code.naming import source_text
from simulator.sass.lift.program import Program
from simulator.sass.report import CompiledReport
from simulator.sass.rows import make_report
from simulator.sass.run.grid import Dim3, GridRun
from simulator.sass.run.moves import Moves
from simulator.sass.run.timeline import Timeline
from simulator.sass.run.witness import Witness
from simulator.sass.work import make_work
from simulator.timing.work import Work

__all__ = ["BLOCKS", "Blocks", "Relaunch", "arguments_of", "run_blocks"]

Blocks = Literal["sample", "all"]
"""`sample`: corners, edges and one interior block. `all`: the whole grid."""

BLOCKS: tuple[Blocks, ...] = get_args(Blocks)

_MOST_BLOCKS = 1 << 24
_TOGETHER = (
    "a cooperative launch: all blocks ran at once, by turns; how often they looked whether the"
    " others had arrived (instructions and sectors of those loops) depends on the turns"
)


@dataclass(frozen=True, eq=False)
class Relaunch:
    """What runs a launch again; it does not keep the launch's memory and code."""

    given: Mapping[str, Any]
    """A `GridRun`'s arguments."""
    blocks: Blocks
    notes: tuple[str, ...]
    """What was to be said before the launch."""
    sources: Mapping[str, tuple[str, ...]]
    build: Build
    source: str | None
    """The name of the source that was compiled, where one was given."""
    moves: Moves | None = None
    """Another layout of shared memory, with which it ran."""

    @property
    def program(self) -> Program:
        """The kernel's instructions."""
        program: Program = self.given["program"]
        return program

    def launch(self, moves: Moves | None = None, witness: Witness | None = None) -> GridRun:
        """Return the launch anew, ready to run."""
        own = {"progress": None, "announce": None, "moves": moves or self.moves, "witness": witness}
        return GridRun(**{**self.given, **own})

    def timelines(self) -> dict[Dim3, Timeline]:
        """Run the sampled blocks again, and return what each warp did, by block."""
        again = self.launch()
        firsts = _first_blocks(again)
        blocks = [block for first in firsts for block in again.members(first)]
        return dict(zip(blocks, again.timelines(firsts), strict=True))

    def work(self, chip: Chip) -> Work:
        """Run sampled blocks again, and return what they did, for the time on a chip."""
        return make_work(self.launch(), chip)

    def replay(
        self, moves: Moves | None = None, witness: Witness | None = None,
        arguments: Sequence[Any] | None = None,
    ) -> CompiledReport:  # fmt: skip
        """Run the same blocks again: with another layout, under a witness, with other data."""
        again = (
            self
            if arguments is None
            else replace(self, given={**self.given, "arguments": arguments})
        )
        report = run_blocks(again.launch(moves, witness), self.blocks, self.notes)
        return replace(report, sources=self.sources)

    def text(self) -> str | None:
        """Return the text of the source that was compiled; None where none was, or it is gone."""
        if self.source is None:
            return None
        if isinstance(self.build.given, str):
            return self.build.given
        try:
            return source_text(Path(self.source))
        except (OSError, UnicodeError):
            return None

    def recompiled(self, text: str) -> CompiledReport:
        """Compile the source with another text, and run the same launch of it.

        Raises CompileError where no source was given, or that text does not compile, and what the
        run raises.
        """
        if self.source is None:
            raise CompileError("no source was compiled: its machine code was given")
        built = self.build.changed(text, self.source)
        own = {"cubin": built.cubin, "program": built.program}
        again = replace(self, given={**self.given, **own}, notes=built.notes, moves=None)
        report = run_blocks(again.launch(), self.blocks, built.notes)
        sources = {**self.sources, self.source: tuple(text.removesuffix("\n").split("\n"))}
        return replace(report, sources=sources, rerun=replace(again, sources=sources))


def arguments_of(launch: GridRun) -> dict[str, Any]:
    """Return what a launch was made with."""
    return {each.name: getattr(launch, each.name) for each in fields(launch) if each.init}


def run_blocks(launch: GridRun, blocks: Blocks, notes: Sequence[str]) -> CompiledReport:
    """Run the blocks that were asked for; notes come before those on the blocks."""
    count = prod(launch.grid)
    if launch.cooperative:
        done = launch.run_together(launch.every())
        return make_report(launch, done, 1, count, [*notes, _TOGETHER])
    if blocks == "sample":
        return _sampled(launch, count, notes)
    if count > _MOST_BLOCKS:
        raise LaunchError(f"{count} blocks (accepted with blocks='all': {_MOST_BLOCKS})")
    return make_report(launch, launch.run_all(launch.every()), 1, count, notes)


def _sampled(launch: GridRun, count: int, notes: Sequence[str]) -> CompiledReport:
    firsts, size = _first_blocks(launch), prod(launch.cluster)
    tallies = launch.run_each(firsts)
    total, first = launch.done, tallies[0]
    notes = list(notes)
    ran, times = len(firsts) * size, count // size
    if ran == count:
        return make_report(launch, total, 1, count, notes)
    sites = launch.program.sites
    if all(first.agrees(other, sites) for other in tallies[1:]):
        notes.append(
            f"{ran} of {count} blocks were run; their counts are equal and are used for all {count}"
        )
        differing = sorted(set().union(*(first.differing(each, sites) for each in tallies[1:])))
        if differing:
            notes.append(
                f"global memory: {', '.join(map(launch.place, differing))}: the blocks' figures"
                " differ, and are not known for the grid (--blocks all / blocks='all' runs every"
                " block)"
            )
        return make_report(launch, first, times, ran, notes, total.threads, differing)
    notes.append(
        f"{ran} of {count} blocks ran and did not agree: the figures are the sums of those"
        " blocks, not of the grid (--blocks all / blocks='all' runs every block)"
    )
    return make_report(launch, total, 1, ran, notes)


def _first_blocks(launch: GridRun) -> list[Dim3]:
    """Return the first block of each cluster that stands for others, or just the block."""
    x, y, z = launch.cluster
    clusters = tuple(blocks // size for blocks, size in zip(launch.grid, (x, y, z), strict=True))
    return [(i * x, j * y, k * z) for i, j, k in _sample(clusters)]


def _sample(grid: tuple[int, ...]) -> list[Dim3]:
    """Corners, edges and one interior block, in the order in which the grid counts.

    >>> _sample((8, 1, 1))
    [(0, 0, 0), (4, 0, 0), (7, 0, 0)]
    """
    axes = [sorted({0, size // 2, size - 1}) for size in grid]
    return [(x, y, z) for z, y, x in product(*reversed(axes))]
