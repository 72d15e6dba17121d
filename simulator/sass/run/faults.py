"""Errors of a run, with the instruction's address, its source line and the thread."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from simulator.errors import (
    DeadlockError,
    ExecutionError,
    LimitError,
    MemoryAccessError,
    SassError,
    UnsupportedError,
)
from simulator.sass.code.shared import static_arrays
from simulator.sass.lift.layout import Fault
from simulator.sass.run import mbarrier, registers
from simulator.sass.run.memory import byte_of

if TYPE_CHECKING:
    from simulator.sass.run.grid import Dim3, GridRun
    from simulator.sass.run.standing import Wait
    from simulator.sass.run.units import Units
    from simulator.sass.run.worker import Worker

__all__ = ["deadlock", "fault", "limit_reached", "standing"]


def standing(launch: GridRun, number: int) -> str:
    """Name an instruction: its address, text and source line."""
    instruction = launch.program.instructions[number]
    place = f" ({instruction.file}:{instruction.line})" if instruction.line else ""
    return f"{instruction.address:#06x} {instruction}{place}"


def limit_reached(launch: GridRun, number: int, limit: int, is_given: bool) -> LimitError:
    """Say that a limit of instructions was reached."""
    which = "a launch" if is_given else "a block of a launch"
    name = "which is --max-instructions" if is_given else "the most without --max-instructions"
    return LimitError(
        f"{which} of {launch.kernel.name} executed {limit} warp instructions, {name}; the replay"
        f" stopped at {standing(launch, number)} (accepted: a larger --max-instructions N, in"
        " Python max_instructions=N, if it is not an endless loop; --cooperative, in Python"
        " cooperative=True, if blocks wait)"
    )


def fault(
    launch: GridRun, why: Fault, number: int, thread: int, address: int, block: Dim3, executed: int,
    problem: BaseException | None = None,
) -> BaseException:  # fmt: skip
    """Say what went wrong. `executed`: instructions of threads until then; `problem`: an error.

    Parameters
    ----------
    launch
        What was executed.
    why
        The kind of fault.
    number
        The instruction's number in the code.
    thread, block
        Where it happened.
    address
        The address that it used.
    executed
        Instructions of threads until then.
    problem
        An error that was raised there.
    """
    x, y, _ = launch.block
    who = f"thread ({thread % x}, {thread // x % y}, {thread // (x * y)}) of block {block}"
    where = f"{standing(launch, number)}, {who}"
    far = f"; {executed} thread instructions were executed before it"
    if why == Fault.SERVED and problem is not None:
        if not isinstance(problem, SassError):
            return problem  # an interruption, or a defect of ours
        kind = type(problem) if isinstance(problem, ExecutionError) else ExecutionError
        return kind(f"{problem}: {where}{far}")
    if why == Fault.UNKNOWN:
        reason = launch.program.steps[number].problem
        return UnsupportedError(f"not modelled: {reason}, at {where}{far}")
    if why == Fault.KILL:
        header = launch.program.instructions[number].header
        out = _COOPERATIVE if "cooperative_groups" in header else ""
        return ExecutionError(f"the kernel trapped at {where}{far}{out}")
    if why == Fault.LANES:
        return UnsupportedError(f"some lanes are inactive where all must take part: {where}{far}")
    if why == Fault.BRANCH:
        return ExecutionError(f"a branch to {address:#x}, outside the kernel: {where}{far}")
    if why == Fault.ALIGN:
        return MemoryAccessError(f"misaligned address {address:#x}: {where}{far}")
    if why == Fault.CONSTANT:
        return MemoryAccessError(f"constant offset {address:#x} out of bounds: {where}{far}")
    return MemoryAccessError(
        f"address {address:#x} out of bounds: {where}{far} ({_accepted(launch, number, address)})"
    )


_COOPERATIVE = (
    " (the barrier of a whole grid needs a cooperative launch, in which all blocks run at once:"
    " --cooperative, in Python cooperative=True)"
)
_DYNAMIC = "give dynamic shared memory with --shared-bytes N, in Python shared_bytes=N"
_OVERRUN = (
    "an index leaves its array of static shared memory, or the kernel has an extern __shared__"
    f" array: then {_DYNAMIC}"
)
_SHARED = ("LDS", "STS", "ATOMS", "LDSM", "STSM", "LDGSTS")
_LOCAL = ("LDL", "STL")
_GENERIC = ("LD", "ST", "ATOM", "RED")
_MOST_RANKS = 16  # blocks of a cluster, at most


def _accepted(launch: GridRun, number: int, address: int) -> str:
    """Say what the kernel may access there."""
    name = launch.program.instructions[number].opcode.split(".")[0]
    if name in _SHARED and address < 1 << 32:
        start = launch.architecture.shared_start
        if not launch.block_shared:
            return f"accepted: none, because the block has no shared memory; {_DYNAMIC}"
        more = "" if launch.shared_bytes else f"; {_OVERRUN}"
        end = start + launch.block_shared - 1
        near = _told(_near_static(launch, address - start))
        return f"{near}accepted: {start:#x} to {end:#x}, shared memory{more}"
    if name in _LOCAL:
        return f"accepted: 0x0 to {launch.local_bytes - 1:#x}, local memory"
    ranges = launch.memory.ranges()
    if "cooperative_groups" in launch.program.instructions[number].header:
        name = "a larger one keeps its barrier in memory that the driver reserves"
        return f"accepted: tiles of up to 32 threads; {name}, which is replayed for sm_90 alone"
    if not ranges:
        return "accepted: nothing; no array of global memory holds a byte"
    blocks, rank = prod(launch.cluster), address >> 24
    more = ""
    if name in _GENERIC and 1 < blocks <= rank < _MOST_RANKS:
        more = f"; as an address of shared memory it names block {rank} of a cluster of {blocks}"
    near = _told(launch.memory.near(address))
    return f"{near}accepted: {', '.join(ranges)}, the arrays in global memory{more}"


def _told(near: str) -> str:
    return f"that is {near}; " if near else ""


def _near_static(launch: GridRun, offset: int) -> str:
    """Return which array of static shared memory an index left, where it is known; else ""."""
    arrays = static_arrays(launch.cubin, launch.kernel)
    if launch.shared_bytes or not arrays or offset < 0:
        return ""
    last = max(arrays, key=lambda each: (each.start <= offset, each.start))
    return byte_of(last.name, offset - last.start, last.size)


# ---- Deadlocks. --------------------------------------------------------------------------------
_MOST_WAITS = 8  # that a message names


def deadlock(worker: Worker) -> DeadlockError:
    """Say why no warp of a block can go on, nor of the blocks of its cluster."""
    launch, thread = worker.launch, worker.get("thread")
    x, y, _ = launch.block
    far = f"; {worker.total} thread instructions were executed before"
    waits = worker.units.waits
    if not waits:
        who = f"thread ({thread % x}, {thread // x % y}, {thread // (x * y)})"
        where = f"{standing(launch, worker.get('pc'))}, {who} of block {worker.block}"
        return DeadlockError(
            f"no warp can continue: {where} waits for threads that never arrive{far}"
        )
    said: dict[str, list[int]] = {}
    for wait in waits:
        where = standing(launch, wait.call.number)
        for reason in describe(worker.units, wait):
            said.setdefault(f"at {where} for {reason}", []).append(wait.call.warp)
    for number, warps in worker.units.warps.at_barriers().items():
        said[f"at {standing(launch, number)} for threads that never arrive"] = warps
    lines = [
        f"warp{'s' if len(warps) > 1 else ''} {', '.join(map(str, sorted(warps)))} wait"
        f"{'' if len(warps) > 1 else 's'} {what}"
        for what, warps in said.items()
    ]
    more = f" and {len(lines) - _MOST_WAITS} more" if len(lines) > _MOST_WAITS else ""
    return DeadlockError(
        f"no warp of block {worker.block} can continue: {'; '.join(lines[:_MOST_WAITS])}{more}{far}"
    )


def describe(units: Units, wait: Wait) -> list[str]:
    """Say what a subwarp waits for."""
    if wait.what == "cluster":
        return [f"the barrier of the cluster, at which it has arrived {wait.arrivals} times"]
    if wait.what == "warpgroup":
        return ["the other warps of its warpgroup, which must come to the same instruction"]
    if wait.what == "registers":
        return [registers.describe(units, wait)]
    found = []
    for asked in wait.asked:
        owner, place = units.block_at(asked.address)
        what = mbarrier.describe(owner.shared, place)
        found.append(f"the end of phase parity {asked.phase} of the {what}")
    return found
