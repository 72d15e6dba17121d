"""The work of a launch, for `simulator.timing`: its machine code, and what sampled blocks do."""

from __future__ import annotations

from math import prod
from statistics import fmean
from typing import TYPE_CHECKING

from simulator.errors import ExecutionError
from simulator.gemm.occupancy import Device, occupancy
from simulator.sass.run.tracing import Tracer, block_trace
from simulator.sass.second import SecondLaunch
from simulator.timing.code import ATOMICS
from simulator.timing.control import control
from simulator.timing.footprint import probe_blocks
from simulator.timing.population import FEWEST
from simulator.timing.unlike import UNLIKE
from simulator.timing.work import Work, WorkInstruction

if TYPE_CHECKING:
    from simulator.law.chips import Chip
    from simulator.sass.run.grid import Dim3, GridRun
    from simulator.sass.run.tracing import Did
    from simulator.timing.traces import BlockTrace

__all__ = ["make_work", "sampled_blocks"]

_MOST_SAMPLES = 32
_MORE_SAMPLES = 128
"""Where blocks do not execute the same."""
_UNLIKE_DATA = 0.1
"""Of the cycles that they keep an SM busy: blocks that differ by more do not do the same."""
_FEW_PROBES = 3
"""Of a grid of few blocks: an end is next to the origin."""
_RATIOS = (1.0, 1.6180339887498949, 1.32471795724474603, 1.22074408460575947)
"""By the axes of a grid: of x to the power of axes + 1 = x + 1 the solution."""
_MOST_INSTRUCTIONS = 2_000_000
"""Of warps, in samples: few large blocks are enough."""
_MOST_OF_ALL = 20_000_000
"""Of warps, in a grid all of whose blocks run: some seconds. Of more, none is looked for."""


def make_work(launch: GridRun, chip: Chip) -> Work:
    """Run sampled blocks of a launch, and return what they do in a second one.

    What the first launch left in memory is what the second reads: where blocks read what the grid
    wrote, it runs before they are traced. Where the second launch fails, it is the first.

    Raises what a run raises.
    """
    kernel = launch.kernel
    resident = _resident(launch, chip)
    tracer = Tracer(launch.warps, launch.code.lengths, launch.program.sites)
    size = prod(launch.cluster)
    # One tracer: the blocks of a cluster share what is known, and are told apart by their order.
    tracers = [tracer] if size == 1 else [tracer.beside() for _ in range(size)]
    firsts = sampled_blocks(launch, resident, chip.multiprocessors or 1)
    second = SecondLaunch(launch, tracers)
    try:
        found, probed = _traced(launch, second, firsts)
    except ExecutionError as error:
        if not second.began:
            raise
        second.give_up(error)
        found, probed = _traced(launch, second, firsts)
    longest = []
    if prod(launch.grid) <= resident * (chip.multiprocessors or 1):
        longest = _longest(launch, second, found)
    steps, rows = tracer.tables()
    return Work(
        kernel=kernel.name,
        capability=launch.architecture.capability,
        grid=launch.grid,
        block=launch.block,
        cluster=launch.cluster,
        registers=kernel.registers,
        shared_bytes=launch.taken_shared,
        resident=resident,
        instructions=tuple(
            WorkInstruction(
                each.address, each.guard, each.opcode, each.operands,
                control(int.from_bytes(kernel.code[each.address : each.address + 16], "little")),
                each.file, each.line,
            )
            for each in launch.program.instructions
        ),
        traces=tuple(block_trace(block, steps, rows, did) for block, did in found),
        probes=tuple(block_trace(block, steps, rows, did) for block, did in probed),
        longest=tuple(block_trace(block, steps, rows, did) for block, did in longest),
        notes=second.notes,
    )  # fmt: skip


def _traced(
    launch: GridRun, second: SecondLaunch, firsts: list[Dim3]
) -> tuple[list[tuple[Dim3, Did]], list[tuple[Dim3, Did]]]:
    """Return what sampled blocks do, and those at the grid's ends."""
    found = second.begin(firsts)
    probed = second.run([_block_of(each, launch) for each in probe_blocks(_clusters(launch))])
    if prod(launch.cluster) == 1:
        both, ran = found + probed, len(found)
        steps = _that_tell([float(sum(map(len, did.steps))) for _, did in both], ran)
        if _are_unlike(steps, UNLIKE) or _hang_on_data(launch, second.traces(both), ran):
            found += second.run(_more_blocks(launch, firsts, fmean(steps)))
    return found, probed


def _hang_on_data(launch: GridRun, traces: list[BlockTrace], ran: int) -> bool:
    """Whether data say how long blocks take, or what they add to; the grid's ends follow `ran`."""
    busy = _that_tell([trace.busy for trace in traces], ran)
    return _are_unlike(busy, _UNLIKE_DATA) or _add_by_data(launch, traces[ran:])


def _add_by_data(launch: GridRun, probes: list[BlockTrace]) -> bool:
    """Whether atomics change places that follow no rule from block to block.

    Few blocks do not tell where many of them meet. `probes`: the blocks of `probe_blocks`.
    """
    opcodes = (each.opcode for each in launch.program.instructions)
    numbers = {n for n, opcode in enumerate(opcodes) if opcode.split(".")[0] in ATOMICS}
    each = [trace.sectors_of(numbers) for trace in probes]
    if len(probes) <= _FEW_PROBES or not any(map(len, each)):
        return False
    first, *_, before, last = each
    if len({len(sectors) for sectors in each}) > 1:
        return True
    if any((sectors - sectors[0] != first - first[0]).any() for sectors in each):
        return True
    steps = sum(int(sectors[0] - first[0]) for sectors in each[1:-2])
    return int(last[0] - before[0]) != steps


def _longest(
    launch: GridRun, second: SecondLaunch, found: list[tuple[Dim3, Did]]
) -> list[tuple[Dim3, Did]]:
    """Return the block of a small grid with the longest warp, if that is rare: none that ran is so.

    Where all blocks begin at once, the grid lasts as long as it does.
    """
    ran = second.traces(found)
    others = [block for block in launch.every() if block not in {trace.block for trace in ran}]
    work = fmean([trace.instructions for trace in ran]) * prod(launch.grid)
    if prod(launch.cluster) > 1 or not others or work > _MOST_OF_ALL:
        return []
    usual = (1 + UNLIKE) * max(trace.longest_warp for trace in ran)
    try:
        lengths = second.longest_warps(others, _MOST_OF_ALL)
        if max(lengths) <= usual:
            return []
        longest = second.run([others[lengths.index(max(lengths))]])
    except ExecutionError:  # of a block that nobody asked for, or they take too long
        return []
    # It may not be so once more: it was the last one that came, and added what all had found.
    return longest if second.traces(longest)[0].longest_warp > usual else []


def _resident(launch: GridRun, chip: Chip) -> int:
    """Return how many blocks one SM holds: one at least, for the launch runs."""
    held = occupancy(
        prod(launch.block), max(launch.kernel.registers, 1), launch.taken_shared, Device.of(chip)
    )
    return max(held.blocks, 1)


def _that_tell(does: list[float], ran: int) -> list[float]:
    """Return what blocks do that tell of others: the first ones `ran`, then come the grid's ends.

    One block tells nothing of the others, and two little: then those at the ends tell, too. Where
    more ran, an end tells only if it does more than they: others often do less there, and are few.
    """
    most = max(does[:ran], default=0.0) if ran >= FEWEST else 0.0
    return [*does[:ran], *(each for each in does[ran:] if each > most)]


def _are_unlike(each: list[float], part: float) -> bool:
    """Whether blocks differ by more than a part of what they do."""
    return max(each) > (1 + part) * min(each)


def _more_blocks(launch: GridRun, firsts: list[Dim3], mean: float) -> list[Dim3]:
    """Return more blocks, for those that ran did not do the same: their mean is to be the grid's.

    `mean`: steps of a block.

    The blocks lie as evenly as multiples of powers of a ratio do, one for each axis, so that no row
    or column of the grid stands for it (Roberts, "The Unreasonable Effectiveness of Quasirandom
    Sequences": the golden ratio, and those beyond).
    """
    blocks = prod(launch.grid)
    wanted = min(_MORE_SAMPLES, blocks, int(_MOST_INSTRUCTIONS / max(mean, 1))) - len(firsts)
    if wanted + len(firsts) == blocks:
        return [block for block in launch.every() if block not in firsts]
    axes = [axis for axis in range(3) if launch.grid[axis] > 1]
    ratio = _RATIOS[len(axes)]
    found = []
    for turn in range(1, wanted + 1):
        block = [0, 0, 0]
        for power, axis in enumerate(axes, 1):
            block[axis] = int((0.5 + turn * ratio**-power) % 1 * launch.grid[axis])
        found.append((block[0], block[1], block[2]))
    return [block for block in dict.fromkeys(found) if block not in firsts]


def sampled_blocks(launch: GridRun, resident: int, multiprocessors: int) -> list[Dim3]:
    """Return the first blocks of clusters that stand for all that one SM gets.

    Blocks are given out in the order of the grid, so an SM's are as far apart as there are SMs.
    As many as are resident at a time are taken, over the whole grid.
    """
    axes = _clusters(launch)
    clusters, size = prod(axes), prod(launch.cluster)
    apart = min(clusters, max(1, multiprocessors // size))
    turns = -(-clusters // apart)
    wanted = min(turns, max(1, resident // size), _MOST_SAMPLES)
    numbers = [turn * turns // wanted * apart for turn in range(wanted)]
    # In the middle of its turn: a block at an edge of the grid is rarer than others.
    half = apart // 2
    numbers = [
        number + (half if number + half < clusters - 1 else (clusters - 1 - number) // 2)
        for number in numbers
    ]
    return [
        _block_of(
            (number % axes[0], number // axes[0] % axes[1], number // axes[0] // axes[1]), launch
        )
        for number in sorted(set(numbers))
    ]


def _clusters(launch: GridRun) -> Dim3:
    """Return how many clusters a grid has on each axis."""
    x, y, z = (blocks // size for blocks, size in zip(launch.grid, launch.cluster, strict=True))
    return x, y, z


def _block_of(cluster: Dim3, launch: GridRun) -> Dim3:
    """Return the first block of a cluster."""
    x, y, z = (at * size for at, size in zip(cluster, launch.cluster, strict=True))
    return x, y, z
