"""From what blocks counted to a report: a row for each memory instruction."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from layouts.errors import plural
from simulator.law.neighbour_atomics import BOUNDED
from simulator.law.neighbours import FLOORS
from simulator.results.columns import COPIED, COSTS, NEIGHBOUR, TENSOR, TRAFFIC
from simulator.results.sites import SiteReport
from simulator.results.tables import Columns
from simulator.sass.code.nvdisasm import SassInstruction
from simulator.sass.lift.program import Program
from simulator.sass.lift.requests import Request
from simulator.sass.lift.sites import MemorySite
from simulator.sass.report import CompiledReport
from simulator.sass.run.doubts import notes_of
from simulator.sass.run.faults import standing
from simulator.sass.run.grid import GridRun
from simulator.sass.run.tally import FIGURES, Tally

__all__ = ["make_report"]

_MOST_RACES = 4


def make_report(
    launch: GridRun, tally: Tally, times: int, blocks: int, notes: Collection[str],
    threads: int | None = None, differing: Collection[int] = (),
) -> CompiledReport:  # fmt: skip
    """Make the report of a tally, each figure `times` as large.

    Parameters
    ----------
    launch, tally
        What ran, and what was counted of it.
    times
        By how much each figure is multiplied.
    blocks
        Blocks that the figures are of.
    notes
        What the reader must know.
    threads
        Thread instructions that were executed; by default those of the tally.
    differing
        Instructions whose accesses to global memory are not known for the whole grid.
    """
    rows = _Rows(tally, times, list(notes), differing, launch.program.requests)
    sites: dict[int, list[int]] = {}
    for index, site in enumerate(launch.program.sites):
        sites.setdefault(site.number, []).append(index)
    rows.notes += launch.chip.law_notes if launch.chip is not None else ()
    found = launch.races.found() if launch.races else []
    rows.notes += [f"{each}" for each in found[:_MOST_RACES]]
    if len(found) > _MOST_RACES:
        rows.notes.append(f"{len(found) - _MOST_RACES} more pairs of accesses have no order either")
    rows.notes += notes_of(launch, launch.done.doubts)
    rows.notes += _of_data(launch, tally)
    rows.notes += _on_neighbours(launch.program, tally, times)
    if left_out := launch.memory.system.left_out:
        rows.notes.append(f"{plural(left_out, 'call')} of printf came after the most that are kept")
    for number in sorted(sites):
        rows.add(number, [(launch.program.sites[index], index) for index in sites[number]])
    if rows.columns["line"] and not any(rows.columns["line"]):
        rows.notes.append(
            "the code names no source lines (next: compile it with -lineinfo, or give the source)"
        )
    return CompiledReport(
        kernel=launch.kernel.name,
        rule=launch.rule,
        chip=None if launch.chip is None else launch.chip.name,
        grid=launch.grid,
        block=launch.block,
        sites=tuple(rows.sites),
        arch=launch.architecture.name,
        instructions=rows.columns,
        outputs=launch.outputs(),
        blocks=blocks,
        extrapolated=times > 1,
        thread_instructions=tally.threads if threads is None else threads,
        notes=tuple(rows.notes),
        printed=launch.memory.system.printed(),
        registers=launch.kernel.registers,
        shared_bytes=launch.taken_shared,
    )


class _Rows:
    """The rows of a report while they are collected."""

    _FIGURES = (*COSTS, *TRAFFIC, *COPIED, *TENSOR, *NEIGHBOUR)

    def __init__(
        self, tally: Tally, times: int, notes: list[str], differing: Collection[int],
        requests: Mapping[int, Request],
    ) -> None:  # fmt: skip
        self.requests = requests
        self.tally = tally
        self.times = times
        self.notes = notes
        self.differing = differing
        names = ("address", "opcode", "space", "unit", "file", "line", "called_from", "executed")
        self.columns: Columns = {name: [] for name in (*names, *self._FIGURES)}
        self.sites: list[SiteReport] = []

    def add(self, number: int, sites: list[tuple[MemorySite, int]]) -> None:
        """Add an instruction with the memories that it accesses."""
        instruction = sites[0][0].instruction
        costs: dict[str, float | None] = dict.fromkeys(self._FIGURES, 0)
        executed: int | None = int(self.tally.executed[number]) * self.times
        spaces = []
        for site, index in sites:
            figures = {
                name: int(value) * self.times
                for name, value in zip(FIGURES, self.tally.figures[index], strict=True)
            }
            figures["excessive"] = figures["wavefronts"] - figures["ideal"]
            touched = figures["requests"] > 0
            if site.space != "global" and site.is_generic and not touched:
                continue  # its addresses were all in global memory
            if site.space == "neighbour":
                spaces.append("shared")
                known = site.op in FLOORS or site.op in BOUNDED
                costs["packets"] = figures["packets"] if known else None
                costs["neighbour_cycles"] = figures["packet_tenths"] / 10 if known else None
                continue
            spaces.append(site.space)
            if site.unit == "tma":
                known = number not in self.differing
                copied = ("sectors", "bytes", "rows")
                costs.update({name: figures[name] if known else None for name in copied})
                executed = executed if known else None
                continue
            if site.unit == "gmma":
                costs.update({name: figures[name] for name in COSTS})
                costs["tensor_cycles"] = figures["cycles"]
                continue
            if site.space == "global":
                known = number not in self.differing
                costs.update({name: figures[name] if known else None for name in TRAFFIC})
                executed = executed if known else None
            else:
                known = self._is_known(site, figures)
                costs.update({name: figures[name] if known else None for name in COSTS})
            if known:
                self.sites.append(_site_report(site, figures))
        row = {
            "address": instruction.address,
            "opcode": instruction.opcode,
            "space": "both" if len(spaces) > 1 or sites[0][0].unit == "tma" else spaces[0],
            "unit": sites[0][0].unit,
            "file": instruction.file,
            "line": instruction.line,
            "called_from": " < ".join(f"{Path(file).name}:{at}" for file, at in instruction.calls),
            "executed": executed,
            **costs,
        }
        for name, value in row.items():
            self.columns[name].append(value)

    def _is_known(self, site: MemorySite, figures: dict[str, int]) -> bool:
        """Say whether what a site costs in shared memory is known, and if not, note it."""
        at = _place(site.instruction)
        if site.is_generic:
            self.notes.append(
                f"{at} reached shared memory through generic addresses,"
                f" {figures['requests']} times: the profiler has no row for that"
            )
        if site.op is None and figures["requests"]:
            self.notes.append(f"{at}: its wavefronts were never measured, and are left out")
            return False
        if figures["zeroed"] and figures["wavefronts"]:
            self.notes.append(
                f"{at}: lanes wrote zeros in {plural(figures['zeroed'], 'execution')}, and are"
                " taken to use no source bank: that was never measured"
            )
        return True


def _on_neighbours(program: Program, tally: Tally, times: int) -> list[str]:
    """Say what went to other blocks of the cluster, and where its cost is not known."""
    found, said = 0, []
    unknown: list[str] = []
    bounded: list[str] = []
    for site, requests in zip(program.sites, tally.figures[:, 0].tolist(), strict=True):
        if site.space == "neighbour" and requests:
            found += requests * times
            if site.op not in FLOORS:
                (bounded if site.op in BOUNDED else unknown).append(_place(site.instruction))
    if found:
        said.append(
            f"{found} accesses of warps went to other blocks of their clusters: they cost packets,"
            " not wavefronts of banks (columns packets, and neighbour_cycles of the way there,"
            " alone on it)"
        )
    if bounded:
        said.append(
            "packets and neighbour_cycles are the least that atomics take in other blocks, of"
            f" {', '.join(bounded)}"
        )
    if unknown:
        said.append(f"what accesses to other blocks cost is not known of {', '.join(unknown)}")
    return said


def _of_data(launch: GridRun, tally: Tally) -> list[str]:
    """Return a note where the data that a kernel is given decide which banks it touches."""
    done = [number for number in launch.program.addressed_by_data if tally.executed[number]]
    if not done:
        return []
    verb = "does" if len(done) == 2 else "do"
    others = f" (so {verb} {plural(len(done) - 1, 'other instruction')})" if done[1:] else ""
    said = (
        f"{standing(launch, done[0])} computes its address from data that the kernel loads{others}:"
        " other data can give other bank conflicts"
    )
    return [said]


def _site_report(site: MemorySite, figures: dict[str, Any]) -> SiteReport:
    instruction = site.instruction
    is_shared = site.space == "shared"
    return SiteReport(
        source=f"{instruction.file}:{instruction.line}"
        if instruction.line
        else _place(instruction),
        memory="shared" if is_shared else "global",
        kind="store" if site.is_store else "load",
        op=instruction.opcode,
        instructions=1,
        requests=figures["requests"],
        **{name: figures[name] if is_shared else 0 for name in COSTS},
        sectors=0 if is_shared else figures["sectors"],
        lines=0 if is_shared else figures["lines"],
        evidence="executed",
    )


def _place(instruction: SassInstruction) -> str:
    return f"{instruction.address:#06x} {instruction.opcode}"
