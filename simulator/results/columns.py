"""The columns of results: what each is called in a table, by Nsight Compute, and its unit.

One table for the command line, notebooks, figures and pages. Nsight's names are those of its
source view and raw page.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

__all__ = [
    "COLUMNS", "COPIED", "COSTS", "NEIGHBOUR", "OUTCOMES", "STALLS", "TENSOR", "TRAFFIC", "Column",
    "heading", "law_columns", "profiler_heading",
]  # fmt: skip


class Column(NamedTuple):
    """One column of a result."""

    name: str
    """In Python, JSON and CSV."""
    heading: str
    """In tables that people read."""
    nsight: str = ""
    """Nsight Compute's name; empty where it has none."""
    unit: str = ""
    """What a value counts; empty for words."""
    outcome: bool = False
    """Whether it is an outcome, as a parameter of a sweep is not."""


STALLS: Mapping[str, str] = {
    "selected": "Selected", "wait": "Wait", "short_scoreboard": "Short Scoreboard",
    "long_scoreboard": "Long Scoreboard", "barrier": "Barrier", "mio_throttle": "MIO Throttle",
    "lg_throttle": "LG Throttle", "math_pipe_throttle": "Math Pipe Throttle",
    "dispatch_stall": "Dispatch Stall", "not_selected": "Not Selected",
    "branch_resolving": "Branch Resolving", "membar": "Membar", "no_instruction": "No Instruction",
    "sleeping": "Sleeping", "gmma": "GMMA", "drain": "Drain", "imc_miss": "IMC Miss",
    "tex_throttle": "Tex Throttle", "misc": "Misc",
}  # fmt: skip
"""Why a warp does not issue, in Nsight Compute's words, by the name of a column."""

# Outcomes come first, in the order in which a figure names them: the one that decides first.
_ALL = (
    Column("cycles", "cycles", "Cycles", "cycles that the pipe is busy", True),
    Column("wavefronts", "wavefronts", "Wavefronts Shared", "wavefronts", True),
    Column("bank_conflicts", "bank conflicts", "Bank conflicts", "wavefronts", True),
    Column("excessive", "excessive", "Wavefronts Shared Excessive", "wavefronts", True),
    Column("ideal", "ideal", "Wavefronts Shared Ideal", "wavefronts", True),
    Column("n_way", "n-way", "n-way", "wavefronts per request", True),
    Column("instructions", "instructions", "Instructions Executed", "instructions", True),
    Column("requests", "requests", "Requests", "executions by a warp", True),
    Column("phases", "phases", "Phases", "groups of lanes", True),
    Column("sectors", "sectors", "L2 Theoretical Sectors Global", "sectors of 32 bytes", True),
    Column(
        "ideal_sectors",
        "ideal sectors",
        "L2 Theoretical Sectors Global Ideal",
        "sectors of 32 bytes",
        True,
    ),
    Column("lines", "lines", "Lines", "cache lines of 128 bytes", True),
    Column("bytes", "bytes copied", "Bytes", "bytes", True),
    Column("rows", "rows copied", "Rows", "rows of tiles", True),
    Column("tensor_cycles", "tensor cycles", unit="cycles of wgmma's tensor cores"),
    Column("packets", "packets", unit="packets to the cluster's other blocks"),
    Column("neighbour_cycles", "neighbour cycles", unit="cycles of the way to other blocks"),
    Column("share", "share of pipe", unit="percent of shared memory's wavefronts"),
    Column("executed", "executed", "Instructions Executed", "executions by a warp"),
    # What the figures are of.
    Column("access", "access", "Access"),
    Column("op", "op", "Instruction"),
    Column("opcode", "opcode", "Instruction"),
    Column("space", "space", "Address Space"),
    Column("unit", "unit", "Unit"),
    Column("address", "address", "Address", "bytes from the kernel's start"),
    Column("fragment", "fragment", "Fragment"),
    Column("source", "source", "Source"),
    Column("file", "file", "File"),
    Column("line", "line", "Line"),
    Column("called_from", "called from", "Called from"),
    Column("memory", "memory", "Memory"),
    Column("evidence", "evidence", "Evidence"),
    Column("rule", "rule", "Rule"),
    Column("chip", "chip", "Chip"),
    # The chips.
    Column("capability", "capability", "Compute capability"),
    Column("law", "law", "Law"),
    Column("measured", "measured", "Measured"),
    Column("multiprocessors", "SMs", "SMs", "multiprocessors"),
    Column("clock_mhz", "clock (MHz)", "SM clock", "MHz"),
    Column("shared_bytes", "shared per block", "Shared memory per block", "bytes"),
    Column("shared_bytes_per_sm", "shared per SM", "Shared memory per SM", "bytes"),
    Column("warps_per_sm", "warps per SM", "Warps per SM", "warps"),
    Column("blocks_per_sm", "blocks per SM", "Blocks per SM", "blocks"),
    Column("l2_bytes", "L2 bytes", "L2 cache", "bytes"),
    Column("dram_gb_per_s", "DRAM (GB/s)", "DRAM bandwidth", "10^9 bytes per second"),
    # A search: the layout started from beside the best.
    Column("cycles_before", "cycles before", "Cycles before", "cycles that the pipe is busy"),
    Column("wavefronts_before", "wavefronts before", "Wavefronts Shared before", "wavefronts"),
    Column("bank_conflicts_before", "bank conflicts before", "Bank conflicts before", "wavefronts"),
    # A comparison: more than the first input.
    Column("wavefronts_change", "+/-", unit="wavefronts"),
    Column("bank_conflicts_change", "+/-", unit="wavefronts"),
    Column("cycles_change", "+/-", unit="cycles"),
    # The time of a kernel, and why its warps do not issue.
    Column("elapsed_cycles", "elapsed cycles", "Elapsed Cycles", "cycles, estimated"),
    Column("elapsed_cycles_change", "+/-", unit="cycles"),
    Column("speedup", "times as fast", unit="times"),
    Column("speedup_without_conflicts", "speedup without conflicts", unit="times"),
    Column("warp_cycles", "warp cycles", unit="cycles of warps"),
    *(
        Column(
            name,
            name.replace("_", " ").replace("mio", "MIO").replace("lg", "LG").replace("imc", "IMC"),
            f"Stall {title}",
            "cycles of warps",
        )
        for name, title in STALLS.items()
    ),
    # What to change in an array.
    Column("array", "array"),
    Column("text", "write"),
    Column("array_bytes_before", "bytes before", unit="bytes"),
    Column("array_bytes", "bytes", unit="bytes"),
    Column("operations", "operations", unit="integer operations per index"),
    Column("unremovable", "unremovable", unit="wavefronts"),
    Column("proved", "proved"),
    # The instructions.
    Column("width", "bytes per lane", unit="bytes"),
    Column("merges", "merges equal words"),
    Column("passes", "wavefronts per word", unit="wavefronts"),
    Column("phase_cycles", "cycles per phase", unit="cycles"),
    Column("least_cycles", "least cycles", unit="cycles"),
    Column("shared_bytes", "shared bytes", unit="bytes"),
    # A comparison with a GPU.
    Column("wavefronts_equal", "wavefronts equal", unit="accesses"),
    Column("conflicts_equal", "conflicts equal", unit="accesses"),
    Column("over_least", "least (cycles)", unit="cycles"),
    Column("over_5", "5 % (cycles)", unit="cycles"),
    Column("over_50", "median (cycles)", unit="cycles"),
    Column("over_95", "95 % (cycles)", unit="cycles"),
    Column("over_most", "most (cycles)", unit="cycles"),
    Column("model_cycles", "model cycles", unit="cycles"),
    Column("pipe", "pipe busy", unit="share of the kernel's time"),
    Column("model", "wavefronts of the model", unit="wavefronts"),
    Column("counter", "counted", unit="wavefronts"),
    Column("hardware_counter", "hardware counter", unit="wavefronts"),
)

COLUMNS: Mapping[str, Column] = {column.name: column for column in _ALL}
"""By name."""

OUTCOMES = tuple(column.name for column in _ALL if column.outcome)
"""Columns that are outcomes; every other column of a sweep is a parameter."""

COSTS = ("wavefronts", "ideal", "excessive", "bank_conflicts")
"""What shared-memory accesses cost, in the order in which tables show it."""

TRAFFIC = ("sectors", "ideal_sectors")
"""What global-memory accesses move, in the order in which tables show it."""

COPIED = ("bytes", "rows")
"""What copies of tiles and of bulks move, in the order in which tables show it."""


TENSOR = ("tensor_cycles",)
"""What wgmma takes beside its operand reads."""

NEIGHBOUR = ("packets", "neighbour_cycles")
"""What accesses to the shared memory of the cluster's other blocks cost."""


def heading(name: str) -> str:
    """Return the heading of a column in text; a name that is not known here stays as it is.

    >>> heading("bank_conflicts"), heading("warp_shape")
    ('bank conflicts', 'warp_shape')
    """
    return COLUMNS[name].heading if name in COLUMNS else name


def profiler_heading(name: str) -> str:
    """Return Nsight Compute's name of a column, or else its heading.

    >>> profiler_heading("wavefronts"), profiler_heading("least_cycles")
    ('Wavefronts Shared', 'least cycles')
    """
    return (COLUMNS[name].nsight if name in COLUMNS else "") or heading(name)


def law_columns(rule: str, chip: str | None) -> dict[str, str]:
    """Return the columns that say which law counted: the rule and, where one was chosen, the chip.

    >>> law_columns("silicon", None), law_columns("silicon", "A100")
    ({'rule': 'silicon'}, {'rule': 'silicon', 'chip': 'A100'})
    """
    return {"rule": rule} if chip is None else {"rule": rule, "chip": chip}
