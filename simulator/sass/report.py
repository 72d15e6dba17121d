"""What a replay of compiled code says: a row for each memory instruction, and roll-ups."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from simulator.errors import LaunchError
from simulator.results.columns import COPIED, COSTS, TRAFFIC, law_columns
from simulator.results.sites import SiteTable
from simulator.results.tables import Columns, rows
from simulator.results.text import Listing, Table
from simulator.sass.code.cubin import plain_name

if TYPE_CHECKING:
    from simulator.sass.run.timeline import Timeline

__all__ = ["By", "CompiledReport"]

By = Literal["instruction", "line"]
"""What a row of a table is."""

_FIGURES = ("executed", *COSTS, *TRAFFIC, *COPIED)
_UNITS = ("lsu", "gmma", "tma")


@dataclass(frozen=True, eq=False, kw_only=True)
class CompiledReport(SiteTable):
    """A compiled kernel, replayed.

    The sites are its memory instructions, in order, but for those of unknown cost; one that
    accesses shared and global memory has two.
    """

    instructions: Columns
    """Columns, with a row for each instruction that accesses shared or global memory: address,
    opcode, space (shared, global, both), unit (lsu; gmma: wgmma's reads; tma), file, line, executed
    (by warps, also where no lane's predicate was true); of shared memory wavefronts, ideal,
    excessive, bank_conflicts; of global memory sectors, ideal_sectors, as Nsight Compute's source
    view counts them; of tma bytes and rows of tiles.
    A figure that does not apply is 0; None: not known (`notes` says why)."""
    arch: str
    outputs: list[Any] = field(repr=False)
    """One entry per argument: arrays as the kernel left them, scalars unchanged."""
    blocks: int
    """Blocks that were executed."""
    extrapolated: bool
    """Whether the figures are for the whole grid although not all of its blocks ran."""
    thread_instructions: int
    """Instructions executed by threads, in the blocks that ran."""
    gmma_cycles: int = 0
    """Cycles of the tensor cores of all SMs that wgmma takes at least, operand reads included."""
    notes: tuple[str, ...] = ()
    """What a reader of the figures must know."""
    sources: Mapping[str, tuple[str, ...]] = field(default_factory=dict, repr=False)
    """The lines of the source files that were found, by the name that the code has for them."""
    rerun: Callable[[], dict[tuple[int, int, int], Timeline]] | None = field(
        default=None, repr=False, compare=False
    )
    """What `timelines` calls; None: the launch is not known any more."""

    def __getstate__(self) -> dict[str, Any]:
        """Return what is pickled: all but the launch."""
        return {**self.__dict__, "rerun": None}

    def timelines(self) -> dict[tuple[int, int, int], Timeline]:
        """Return what each warp did, in order, by block: corners, edges and an interior one.

        They run again for it, with the arguments as they are now.

        Raises LaunchError for a report that was pickled or that an error stopped, and whatever the
        run raises.
        """
        if self.rerun is None:
            raise LaunchError(
                f"the launch of {self.title} is not known any more (accepted: the report that"
                " replay_compiled returned, in the same process)"
            )
        return self.rerun()

    @property
    def title(self) -> str:
        """The kernel's name, and its template's arguments where they are simple."""
        return plain_name(self.kernel)

    def totals(self) -> dict[str, dict[str, int]]:
        """Sum over shared memory's loads, stores and all of them, and over global memory.

        `["global"]` has requests, sectors, ideal_sectors and lines; `["load"]`, `["store"]` and
        `["all"]` have requests and the wavefronts' figures. They are those of the load-store unit.
        `["gmma"]` has executed, wavefronts, the profiler's `…_op_gmma`, and cycles, those that its
        products take one after the other; `["tma"]` has executed, bytes, rows and sectors. What is
        not known is left out.
        """
        moved = {**self.global_totals()["all"]}
        lsu, gmma, tma = ([row for row in self._rows if row["unit"] == unit] for unit in _UNITS)
        moved |= {name: _summed(lsu, name) for name in TRAFFIC}
        return {
            **super().totals(),
            "global": moved,
            "gmma": {
                **{name: _summed(gmma, name) for name in ("executed", "wavefronts")},
                "cycles": self.gmma_cycles,
            },
            "tma": {name: _summed(tma, name) for name in ("executed", *COPIED, "sectors")},
        }

    @property
    def _rows(self) -> list[dict[str, Any]]:
        return rows(self.instructions)

    def lines(self) -> Columns:
        """Roll the instructions up by source line.

        Columns: file, line, instructions, and the figures' sums; None where one is not known.
        The wavefronts' figures are those of shared memory alone.
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

    def units(self) -> list[str]:
        """Return what units other than the load-store unit did, a sentence for each that ran."""
        totals = self.totals()
        gmma, tma, lsu = totals["gmma"], totals["tma"], totals["all"]["wavefronts"]
        reads, said = gmma["wavefronts"], []
        if gmma["executed"]:
            both = reads + lsu or 1
            said.append(
                f"Of {reads + lsu:,} wavefronts of shared memory, wgmma's operand reads take"
                f" {reads:,} ({reads / both:.0%}), loads, stores and atomics {lsu:,}"
                f" ({lsu / both:.0%})."
            )
        if tma["executed"]:
            said.append(
                f"TMA moved {tma['bytes']:,} bytes in {tma['rows']:,} rows by"
                f" {tma['executed']:,} copies."
            )
        return said

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
        """Return a row per instruction or source line that was executed, the notes, the sources."""
        columns = self.instructions if by == "instruction" else self.lines()
        law = law_columns(self.rule, self.chip)
        found = [{**row, **law} for row in rows(columns) if row["executed"] != 0]
        units = {row["unit"] for row in self._rows if row["executed"] != 0}
        totals = {
            **{name: _summed(found, name) for name in _FIGURES},
            "requests": self.totals()["all"]["requests"],
            "blocks": self.blocks,
            "extrapolated": self.extrapolated,
        }
        grid, block = ("x".join(map(str, shape)) for shape in (self.grid, self.block))
        on = "" if self.chip is None else f" on {self.chip}"
        symbol = [] if self.title == self.kernel else [f"{self.title} is {self.kernel}."]
        names = ["address", "opcode", "space", "unit"] if by == "instruction" else []
        places = zip(self.instructions["space"], self.instructions["executed"], strict=True)
        is_quiet = all(space == "global" or executed == 0 for space, executed in places)
        return Table(
            found,
            totals,
            sums=[("total", {**totals, **law})],
            title=f"{self.title} ({self.arch}{on}), grid {grid}, block {block}",
            text=[
                *(["No instruction touches shared memory."] if is_quiet else []),
                *self.units(),
                *self.notes,
                *symbol,
            ],
            hidden=(
                *(("unit",) if units <= {"lsu"} else ()),
                *(() if "tma" in units else COPIED),
                *law,
            ),
            columns=[*names, "file", "line", *_FIGURES, *law],
            listings=self.listings(),
        )

    def metrics(self) -> dict[str, int]:
        """Totals under the names that Nsight Compute gives them.

        Instructions without known figures are left out (`notes` names them), and so are LDGSTS and
        atomics, which the profiler counts apart. The operand reads of wgmma (`…_op_gmma`) are part
        of `memory_l1_wavefronts_shared` and its ideal, as in Nsight Compute's source view.
        """
        each = self._rows

        def total(figure: str, *names: str) -> int:
            return sum(row[figure] or 0 for row in each if row["opcode"].split(".")[0] in names)

        def requests(name: str) -> int:
            # The profiler leaves out executions without an active lane here, as it does not there.
            return sum(
                site.requests
                for site in self.sites
                if site.memory == "shared" and site.op.split(".")[0] == name
            )

        wavefronts = "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op"
        conflicts = "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op"
        both = ("LDS", "LDSM", "STS", "STSM")
        totals = self.totals()
        gmma, moved = totals["gmma"]["wavefronts"], totals["global"]
        return {
            "smsp__sass_inst_executed_op_shared_ld.sum": requests("LDS"),
            "smsp__sass_inst_executed_op_shared_st.sum": requests("STS"),
            f"{wavefronts}_ld.sum": total("wavefronts", "LDS"),
            f"{wavefronts}_st.sum": total("wavefronts", "STS"),
            "sm__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_gmma.sum": gmma,
            "memory_l1_wavefronts_shared": total("wavefronts", *both) + gmma,
            "memory_l1_wavefronts_shared_ideal": total("ideal", *both) + gmma,
            "derived__memory_l1_wavefronts_shared_excessive": total("excessive", *both),
            f"{conflicts}_ld.sum": total("bank_conflicts", "LDS", "LDSM"),
            f"{conflicts}_st.sum": total("bank_conflicts", "STS", "STSM"),
            "memory_l2_theoretical_sectors_global": moved["sectors"],
            "memory_l2_theoretical_sectors_global_ideal": moved["ideal_sectors"],
        }

    def to_dict(self) -> dict[str, Any]:
        """Return what every table of sites has, with "instructions" and "lines" beside."""
        return {**super().to_dict(), "instructions": self.instructions, "lines": self.lines()}


def _summed(found: list[dict[str, Any]], name: str) -> int:
    """Sum what is known of a figure."""
    return sum(row[name] or 0 for row in found)


def _sum(values: Any) -> int | None:
    found = list(values)
    return None if None in found else sum(found)
