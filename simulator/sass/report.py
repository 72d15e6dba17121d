"""What a replay of compiled code says: a row for each shared-memory instruction, and roll-ups."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from simulator.results.columns import COSTS, law_columns
from simulator.results.sites import SiteReport, SiteTable
from simulator.results.tables import Columns, rows
from simulator.results.text import Listing, Table
from simulator.sass import machine as m
from simulator.sass.code.cubin import plain_name
from simulator.sass.launch import GridRun, Tally

__all__ = ["By", "CompiledReport", "make_report"]

By = Literal["instruction", "line"]
"""What a row of a table is."""

_FIGURES = ("executed", *COSTS)


@dataclass(frozen=True, eq=False, kw_only=True)
class CompiledReport(SiteTable):
    """A compiled kernel, replayed.

    The sites are its shared-memory instructions, in order, but for those of unknown cost.
    """

    instructions: Columns
    """Columns: address, opcode, file, line, executed (by warps, also where no lane's predicate was
    true), wavefronts, ideal, excessive, bank_conflicts. None: not known (`notes` says why)."""
    arch: str
    outputs: list[Any] = field(repr=False)
    """One entry per argument: arrays as the kernel left them, scalars unchanged."""
    blocks: int
    """Blocks that were executed."""
    extrapolated: bool
    """Whether the figures are for the whole grid although not all of its blocks ran."""
    thread_instructions: int
    """Instructions executed by threads, in the blocks that ran."""
    notes: tuple[str, ...] = ()
    """What a reader of the figures must know."""
    sources: Mapping[str, tuple[str, ...]] = field(default_factory=dict, repr=False)
    """The lines of the source files that were found, by the name that the code has for them."""

    @property
    def title(self) -> str:
        """The kernel's name, and its template's arguments where they are simple."""
        return plain_name(self.kernel)

    def lines(self) -> Columns:
        """Roll the instructions up by source line.

        Columns: file, line, instructions, and the figures' sums; None where one is not known.
        """
        found = self.instructions
        places = list(zip(found["file"], found["line"], strict=True))
        order = sorted(set(places))
        columns: Columns = {
            "file": [file for file, _ in order],
            "line": [line for _, line in order],
            "instructions": [places.count(place) for place in order],
        }
        for name in _FIGURES:
            columns[name] = [
                _sum(value for value, at in zip(found[name], places, strict=True) if at == place)
                for place in order
            ]
        return columns

    def listings(self) -> list[Listing]:
        """Return the sources that were found, with the figures of their lines."""
        names = ("instructions", *_FIGURES)
        by_line = rows(self.lines())
        return [
            Listing(
                file,
                lines,
                {
                    row["line"]: {name: row[name] for name in names}
                    for row in by_line
                    if row["file"] == file and row["line"]
                },
            )
            for file, lines in self.sources.items()
        ]

    def table(self, by: By = "instruction") -> Table:
        """Return a row per instruction or source line, the notes, and the sources."""
        columns = self.instructions if by == "instruction" else self.lines()
        law = law_columns(self.rule, self.chip)
        found = [{**row, **law} for row in rows(columns)]
        totals = {
            **{name: sum(row[name] or 0 for row in found) for name in _FIGURES},
            "requests": self.totals()["all"]["requests"],
            "blocks": self.blocks,
            "extrapolated": self.extrapolated,
        }
        grid, block = ("x".join(map(str, shape)) for shape in (self.grid, self.block))
        on = "" if self.chip is None else f" on {self.chip}"
        symbol = [] if self.title == self.kernel else [f"{self.title} is {self.kernel}."]
        names = ["address", "opcode"] if by == "instruction" else []
        return Table(
            found,
            totals,
            sums=[("total", {**totals, **law})],
            title=f"{self.title} ({self.arch}{on}), grid {grid}, block {block}",
            text=[
                *([] if found else ["No instruction touches shared memory."]),
                *self.notes,
                *symbol,
            ],
            hidden=tuple(law),
            columns=[*names, "file", "line", *_FIGURES, *law],
            listings=self.listings(),
        )

    def metrics(self) -> dict[str, int]:
        """Totals under the names that Nsight Compute gives them.

        Instructions without known figures are left out (`notes` names them), and so are LDGSTS and
        atomics, which the profiler counts apart.
        """
        found = rows(self.instructions)

        def total(figure: str, *names: str) -> int:
            return sum(row[figure] or 0 for row in found if row["opcode"].split(".")[0] in names)

        def requests(name: str) -> int:
            # The profiler leaves out executions without an active lane here, as it does not there.
            return sum(site.requests for site in self.sites if site.op.split(".")[0] == name)

        wavefronts = "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op"
        conflicts = "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op"
        both = ("LDS", "LDSM", "STS", "STSM")
        return {
            "smsp__sass_inst_executed_op_shared_ld.sum": requests("LDS"),
            "smsp__sass_inst_executed_op_shared_st.sum": requests("STS"),
            f"{wavefronts}_ld.sum": total("wavefronts", "LDS"),
            f"{wavefronts}_st.sum": total("wavefronts", "STS"),
            "memory_l1_wavefronts_shared": total("wavefronts", *both),
            "memory_l1_wavefronts_shared_ideal": total("ideal", *both),
            "derived__memory_l1_wavefronts_shared_excessive": total("excessive", *both),
            f"{conflicts}_ld.sum": total("bank_conflicts", "LDS", "LDSM"),
            f"{conflicts}_st.sum": total("bank_conflicts", "STS", "STSM"),
        }

    def to_dict(self) -> dict[str, Any]:
        """Return what every table of sites has, with "instructions" and "lines" beside."""
        return {**super().to_dict(), "instructions": self.instructions, "lines": self.lines()}


def _sum(values: Any) -> int | None:
    found = list(values)
    return None if None in found else sum(found)


def make_report(
    launch: GridRun, tally: Tally, times: int, blocks: int, notes: list[str],
    threads: int | None = None,
) -> CompiledReport:  # fmt: skip
    """Make the report of a tally, each figure `times` as large."""
    lowered = launch.lowered
    columns: Columns = {name: [] for name in ("address", "opcode", "file", "line", *_FIGURES)}
    sites: list[SiteReport] = []
    notes = list(notes)
    numbers: NDArray[np.int64] = launch.sites
    for number in numbers.tolist():
        index = int(lowered.program[number, m.SITE])
        site = lowered.sites[index]
        instruction = site.instruction
        executed = int(tally.executed[number]) * times
        requests, wavefronts, ideal, conflicts, scattered = (
            int(value) * times for value in tally.figures[index]
        )
        known = site.op is not None or requests == 0
        at = f"{instruction.address:#06x} {instruction.opcode}"
        if not known:
            notes.append(f"{at}: its wavefronts were never measured, and are left out")
        elif instruction.opcode.startswith("LDGSTS") and wavefronts and scattered:
            notes.append(
                f"{at}: {scattered} copies gather from apart, whose wavefronts were never measured"
            )
            known = False
        figures: list[int | None] = (
            [executed, wavefronts, ideal, wavefronts - ideal, conflicts]
            if known
            else [executed, None, None, None, None]
        )
        place = [instruction.address, instruction.opcode, instruction.file, instruction.line]
        for name, value in zip(columns, [*place, *figures], strict=True):
            columns[name].append(value)
        if not known:
            continue  # a site's figures are numbers
        sites.append(
            SiteReport(
                source=f"{instruction.file}:{instruction.line}" if instruction.line else at,
                memory="shared",
                kind="store" if site.is_store else "load",
                op=instruction.opcode,
                instructions=1,
                requests=requests,
                wavefronts=wavefronts,
                ideal=ideal,
                excessive=wavefronts - ideal,
                bank_conflicts=conflicts,
                sectors=0,
                lines=0,
                evidence="executed",
            )
        )
    if tally.generic:
        notes.append(
            f"{tally.generic} accesses of threads to shared memory went through generic addresses"
            " (LD, ST, ATOM): they are in no row"
        )
    return CompiledReport(
        kernel=lowered.kernel.name,
        rule=launch.rule,
        chip=None if launch.chip is None else launch.chip.name,
        grid=launch.grid,
        block=launch.block,
        sites=tuple(sites),
        arch=launch.architecture.name,
        instructions=columns,
        outputs=launch.outputs(),
        blocks=blocks,
        extrapolated=times > 1,
        thread_instructions=tally.threads if threads is None else threads,
        notes=tuple(notes),
    )
