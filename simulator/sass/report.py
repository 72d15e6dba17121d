"""What a replay of compiled code says: a row for each memory instruction, and roll-ups."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from math import prod
from typing import TYPE_CHECKING, Any, Literal

from layouts.errors import plural
from simulator.errors import LaunchError
from simulator.gemm.occupancy import DEVICES, Device, Occupancy, occupancy
from simulator.law.chips import CHIPS, Chip, ChipLike
from simulator.results.columns import COPIED, COSTS, NEIGHBOUR, TENSOR, TRAFFIC, law_columns
from simulator.results.sites import SiteTable
from simulator.results.tables import Columns, rows
from simulator.results.text import Listing, Table
from simulator.sass.code.cubin import plain_name
from simulator.sass.metrics import profiler_metrics
from simulator.sass.reading import for_people, unit_sentences

if TYPE_CHECKING:
    from simulator.fixing.fix import Fix
    from simulator.sass.run.timeline import Timeline
    from simulator.sass.sampling import Relaunch
    from simulator.timing.kernel_time import KernelTime

__all__ = ["By", "CompiledReport"]

By = Literal["instruction", "line"]
"""What a row of a table is."""

_MOST_PRINTED = 50
_FIGURES = ("executed", *COSTS, *TRAFFIC, *COPIED, *TENSOR, *NEIGHBOUR)
_UNITS = ("lsu", "gmma", "tma")
_FIXING = "simulator.fixing"  # it stands above, and is found when it is asked for


@dataclass(frozen=True, eq=False, kw_only=True)
class CompiledReport(SiteTable):
    """A compiled kernel, replayed.

    The sites are its memory instructions, in order, but for those of unknown cost; one that
    accesses shared and global memory has two.
    """

    instructions: Columns
    """Columns, with a row for each instruction that accesses shared or global memory: address,
    opcode, space (shared, global, both), unit (lsu; gmma: wgmma's reads; tma), file, line,
    called_from (where its function was inlined: k.cu:9, or k.cu:9 < k.cu:20), executed
    (by warps, also where no lane's predicate was true); of shared memory wavefronts, ideal,
    excessive, bank_conflicts; of global memory sectors, ideal_sectors, as Nsight Compute's source
    view counts them; of tma bytes and rows of tiles; of gmma tensor_cycles, how long the tensor
    cores take, as measured on an H100 (gpu_check/data/h100_wgmma.csv); of accesses to the
    shared memory of the cluster's other blocks packets and neighbour_cycles, by
    `simulator.law.neighbours`.
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
    registers: int = 0
    """Of 32 bits, per thread; 0: not known."""
    shared_bytes: int = 0
    """Of a block, static and dynamic, without what the driver takes."""
    printed: tuple[str, ...] = ()
    """The lines that the kernel printed, in order of execution, of the blocks that ran."""
    sources: Mapping[str, tuple[str, ...]] = field(default_factory=dict, repr=False)
    """The lines of the source files that were found, by the name that the code has for them."""
    rerun: Relaunch | None = field(default=None, repr=False, compare=False)
    """What runs the launch again; None: it is no longer known."""
    _times: dict[tuple[Chip, str], KernelTime] = field(default_factory=dict, init=False, repr=False)

    def __getstate__(self) -> dict[str, Any]:
        """Return what is pickled: all but the launch, and what was asked of it."""
        return {**self.__dict__, "rerun": None, "_times": {}}

    def timelines(self) -> dict[tuple[int, int, int], Timeline]:
        """Return what each warp did, in order, by block: corners, edges and an interior one.

        They run again for it, with the arguments as they are now.

        Raises LaunchError for a report that was pickled or that an error stopped, and whatever the
        run raises.
        """
        return self.relaunch().timelines()

    def relaunch(self) -> Relaunch:
        """Return what runs the launch again. Raises LaunchError where it is no longer known."""
        if self.rerun is None:
            raise LaunchError(
                f"the launch of {self.title} is no longer known (accepted: the report that"
                " replay_compiled returned, in the same process)"
            )
        return self.rerun

    def time(self, chip: ChipLike | None = None, *, clock_mhz: float | None = None) -> KernelTime:
        """Return the time that the launch takes on a chip, and where it goes.

        Blocks run again for it, with the arguments as they are when a chip and a clock are first
        asked for; the report keeps the time then. `chip`: that of the replay, or the H100; where
        that does not run the code, one that does.
        `clock_mhz`: of its SMs; None: their boost clock, or what matrix products leave of it.

        `cycles` are None for a chip that was not measured, and for locks that warps wait for.

        Raises ChipError for a chip that is not known, OptionError for a clock that is not above 0,
        and what `timelines` raises.
        """
        from simulator.timing.launch_time import time_of

        chosen = Chip.of(chip or self.chip or self._timed_chip())
        key = chosen, repr(clock_mhz)  # what is no number is refused below
        if key not in self._times:
            self._times[key] = time_of(self.relaunch().work(chosen), chosen, clock_mhz)
        return self._times[key]

    def fixes(self, beside: Sequence[CompiledReport] = ()) -> list[Fix]:
        """Return what to change in each array with bank conflicts, those that save most first.

        The launch runs again, with the arguments as they are now: to see every access, and with
        each layout that is said. Where the source can be changed, it is compiled with the layout.
        An array that no layout helps is a Fix without a text. `beside`: other launches of the same
        source, which no fix may make worse.

        Raises LaunchError as `timelines` does, and whatever the run raises.
        """
        found: list[Fix] = import_module(_FIXING).find_fixes(self, beside)
        return found

    def fixed(self, fixes: Sequence[Fix]) -> CompiledReport:
        """Return the report of the launch with some of its fixes together, which runs again.

        Raises OptionError for two fixes of one array, LaunchError as `timelines` does, and
        whatever the run raises.
        """
        made: CompiledReport = import_module(_FIXING).rerun_with(self, fixes)
        return made

    @property
    def title(self) -> str:
        """The kernel's name, and its template's arguments where they are simple."""
        return plain_name(self.kernel)

    def occupancy(self) -> Occupancy | None:
        """Return how many of the blocks fit an SM; None where registers or limits are not known.

        It is an SM of the report's chip; without one of a chip that such code is made for.
        """
        device = self._device()
        if device is None or not self.registers:
            return None
        return occupancy(prod(self.block), self.registers, self.shared_bytes, device)

    @property
    def _capability(self) -> int:
        return int(self.arch.removeprefix("sm_").rstrip("af"))

    def _timed_chip(self) -> str:
        """Return the H100 where it runs the code, else the chip of which the counts are."""
        runs = Chip.of("H100").runs(self._capability)
        return "H100" if runs or (device := self._device()) is None else device.name

    def _device(self) -> Device | None:
        name = self.chip or next(
            (each for each in reversed(CHIPS) if Chip.of(each).capability == self._capability), None
        )
        return DEVICES.get(name) if name is not None else None

    def _resources(self) -> list[str]:
        """Say what a block takes of an SM."""
        found, device = self.occupancy(), self._device()
        if found is None or device is None:
            return []
        fit = f"{plural(found.blocks, 'block')}, {plural(found.warps, 'warp')} ({found.ratio:.0%})"
        limits = " and ".join(found.limited_by)
        taken = (
            f"{self.registers} registers per thread, {self.shared_bytes:,} bytes of shared memory"
        )
        return [f"{taken} per block: an SM of {device.name} holds {fit}; limit: {limits}."]

    def totals(self) -> dict[str, dict[str, Any]]:
        """Sum over shared memory's loads, stores and all of them, and over global memory.

        `["global"]` has requests, sectors, ideal_sectors and lines; `["load"]`, `["store"]` and
        `["all"]` have requests and the wavefronts' figures. They are those of the load-store unit.
        `["gmma"]` has executed, wavefronts (the profiler's `…_op_gmma`) and tensor_cycles;
        `["tma"]` has executed, bytes, rows and sectors; `["neighbour"]`, of accesses to other
        blocks of the cluster, packets and neighbour_cycles. What is not known is left out.
        """
        moved = {**self.global_totals()["all"]}
        lsu, gmma, tma = ([row for row in self._rows if row["unit"] == unit] for unit in _UNITS)
        moved |= {name: _summed(lsu, name) for name in TRAFFIC}
        return {
            **super().totals(),
            "global": moved,
            "gmma": {name: _summed(gmma, name) for name in ("executed", "wavefronts", *TENSOR)},
            "tma": {name: _summed(tma, name) for name in ("executed", *COPIED, "sectors")},
            "neighbour": {name: _summed(lsu, name) for name in NEIGHBOUR},
        }

    @property
    def bank_conflicts(self) -> int:
        """Of the load-store unit's instructions: `totals()["all"]["bank_conflicts"]`."""
        return int(self.totals()["all"]["bank_conflicts"])

    @property
    def wavefronts(self) -> int:
        """Of the load-store unit's instructions: `totals()["all"]["wavefronts"]`."""
        return int(self.totals()["all"]["wavefronts"])

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

    def shares(self) -> Columns:
        """Return how much of the shared-memory pipe each unit takes: a row for each that ran.

        Columns: unit (lsu; gmma; tma), executed, wavefronts, share in percent of all wavefronts,
        tensor_cycles, bytes. TMA's bytes pass beside that pipe (measured of loads: no
        wavefronts).
        """
        pipe = self._pipe or 1
        names, found = ("unit", "executed", "wavefronts", "share", *TENSOR, "bytes"), []
        for unit in _UNITS:
            each = [row for row in self._rows if row["unit"] == unit]
            sums = {name: _summed(each, name) for name in names if name not in ("unit", "share")}
            if sums["executed"]:
                share = round(100 * sums["wavefronts"] / pipe, 1)
                found.append({"unit": unit, **sums, "share": share})
        return {name: [row[name] for row in found] for name in names}

    @property
    def _pipe(self) -> int:
        """Wavefronts of all units."""
        return int(_summed(self._rows, "wavefronts"))

    def units(self) -> list[str]:
        """Return what units other than the load-store unit did, a sentence for each that ran."""
        return unit_sentences(self.shares(), self._pipe, self.totals()["tma"])

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
        pipe = self._pipe or 1
        found = [
            {**row, "share": _percent(row["wavefronts"], pipe), **law}
            for row in rows(columns)
            if row["executed"] != 0
        ]
        units = {row["unit"] for row in self._rows if row["executed"] != 0}
        totals = {
            **{name: _sum(row[name] for row in found) for name in _FIGURES},
            "share": 100.0 if self._pipe else 0.0,
            "requests": self.totals()["all"]["requests"],
            "blocks": self.blocks,
            "extrapolated": self.extrapolated,
            "notes": list(self.notes),
        }
        grid, block = ("x".join(map(str, shape)) for shape in (self.grid, self.block))
        on = "" if self.chip is None else f" on {self.chip}"
        names = ["address", "opcode", "space", "unit"] if by == "instruction" else []
        called = ["called_from"] * bool(names)
        places = zip(self.instructions["space"], self.instructions["executed"], strict=True)
        is_quiet = all(space == "global" or executed == 0 for space, executed in places)
        return Table(
            found,
            totals,
            sums=[("total", {**totals, **law})],
            title=f"{self.title} ({self.arch}{on}), grid {grid}, block {block}",
            text=[
                *(["No instruction touches shared memory."] if is_quiet else []),
                *self._printed(),
                *self.units(),
                *self.notes,
                *self._resources(),
                *([] if self.title == self.kernel else [f"{self.title} is {self.kernel}."]),
            ],
            hidden=(
                *(("unit", "share") if units <= {"lsu"} else ()),
                *(() if "gmma" in units else TENSOR),
                *(() if "tma" in units else COPIED),
                *(() if totals["packets"] != 0 else NEIGHBOUR),
                *(() if self._has_several_calls else ("called_from",)),
                *law,
            ),
            columns=[*names, "file", "line", *called, *_FIGURES, "share", *law],
            listings=self.listings(),
            unknown="?",
        )

    def shown(self) -> list[Table]:
        """Return the table without instructions that no lane executed."""
        return [for_people(self.table())]

    @property
    def _has_several_calls(self) -> bool:
        """Whether a line stands for more than one call of its function."""
        names = ("file", "line", "called_from")
        calls = {*zip(*(self.instructions[name] for name in names), strict=True)}
        return len(calls) > len({place[:2] for place in calls})

    def _printed(self) -> list[str]:
        """Return what the kernel printed, up to the most that a table shows."""
        if not self.printed:
            return []
        shown = [f"  {line}" for line in self.printed[:_MOST_PRINTED]]
        more = len(self.printed) - len(shown)
        said = [f"  and {more:,} lines more (in Python: report.printed)"] if more else []
        return [f"The kernel printed, in {plural(self.blocks, 'block')}:", *shown, *said]

    def metrics(self) -> dict[str, int]:
        """Totals under the names that Nsight Compute gives them.

        Instructions without known figures are left out (`notes` names them), and so are LDGSTS and
        atomics, which the profiler counts apart. The operand reads of wgmma (`…_op_gmma`) are part
        of `memory_l1_wavefronts_shared` and its ideal, as in Nsight Compute's source view.
        """
        return profiler_metrics(self._rows, self.sites, self.totals())

    def to_dict(self) -> dict[str, Any]:
        """Return what every table of sites has, with "instructions" and "lines" beside."""
        return {**super().to_dict(), "instructions": self.instructions, "lines": self.lines()}


def _summed(found: list[dict[str, Any]], name: str) -> Any:
    """Sum what is known of a figure: an integer, or tenths."""
    total = sum(row[name] or 0 for row in found)
    return round(total, 1) if isinstance(total, float) else total


def _percent(part: int | None, whole: int) -> float | None:
    return None if part is None else round(100 * part / whole, 1)


def _sum(values: Any) -> Any:
    found = list(values)
    total = None if None in found else sum(found)
    return round(total, 1) if isinstance(total, float) else total
