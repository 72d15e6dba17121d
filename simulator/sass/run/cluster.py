"""The blocks of a cluster, run together; a block without a cluster is one of its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from simulator.sass.lift.requests import Request
from simulator.sass.run import barriers
from simulator.sass.run.faults import deadlock
from simulator.sass.run.races import RaceWatch
from simulator.sass.run.tally import Tally
from simulator.sass.run.timeline import Notes
from simulator.sass.run.units import Units
from simulator.sass.run.worker import Progress, Worker

if TYPE_CHECKING:
    from simulator.sass.run.grid import Dim3, GridRun

__all__ = ["Cluster"]

_MOST_QUIET = 256
"""Times that all tries of mbarriers may run out while nothing changes at any."""


class Cluster:
    """Runs the blocks of one cluster at a time, each in its own worker."""

    def __init__(
        self, launch: GridRun, recorders: Sequence[Notes] | None = None,
        races: RaceWatch | None = None,
    ) -> None:  # fmt: skip
        self.launch = launch
        x, y, z = launch.cluster
        ranks = range(x * y * z)
        self.bases = np.zeros(len(ranks), dtype=np.int64)
        """Where the blocks' shared memory lies in this process."""
        self.size = len(ranks)
        self.requests: dict[int, Request] = launch.program.requests
        self.units: list[Units] = []
        self.workers = [
            Worker(
                launch,
                self,
                rank,
                recorders[rank] if recorders else None,
                races if races and rank < races.blocks else None,
            )
            for rank in ranks
        ]
        self.units += [worker.units for worker in self.workers]
        self.arrivals: dict[tuple[int, int], int] = {}
        """How often warps have arrived at the cluster's barrier, by block and warp."""
        self.left: list[Worker] = []
        """Blocks that are not done."""
        self.quiet = 0

    def run(self, first: Dim3, of: int) -> None:
        """Run the blocks of a cluster to their ends; `of`: how many blocks there are to run."""
        self.begin(first)
        self.go_on(of)

    def begin(self, first: Dim3) -> None:
        """Set the blocks of a cluster up."""
        self.arrivals.clear()
        self.quiet = 0
        self.left = list(self.workers)
        for worker, block in zip(self.workers, self.launch.members(first), strict=True):
            worker.begin(block)

    def go_on(self, of: int) -> None:
        """Run the blocks from where they stand."""
        while self.take_turn(of):
            pass

    def take_turn(self, of: int) -> bool:
        """Run each block that can go on for a while; whether one is not done yet."""
        awake = [worker for worker in self.left if worker.units.is_awake]
        if not awake and self.left:
            self._stir(self.left)
        for worker in awake:
            worker.units.is_awake = False
            progress = worker.go_on(of)
            if worker.races and worker.races.blocks > 1:
                worker.flush()  # what blocks of a cluster did is watched in its order
            if progress == Progress.DONE:
                self.left.remove(worker)
            elif progress == Progress.PAUSED:
                worker.units.is_awake = True
        return bool(self.left)

    def _stir(self, left: list[Worker]) -> None:
        """Let someone go on where every block stands. Raises DeadlockError where nobody can."""
        self.open_barrier()
        if any(units.is_awake for units in self.units):
            return
        self.quiet += 1
        if self.quiet <= _MOST_QUIET:
            for units in self.units:
                barriers.expire(units)
        if not any(units.is_awake for units in self.units):
            # At the barrier of the cluster most wait for whoever stands elsewhere.
            raise deadlock(next((each for each in left if _stands_alone(each.units)), left[0]))

    def site_of(self, number: int) -> int:
        """Return the number of what an instruction accesses among all that is counted."""
        return self.launch.program.steps[number].sites.start

    # ---- The cluster's barrier. ----------------------------------------------------------------
    def passed(self) -> int:
        """Return how often all warps that have not exited have arrived."""
        counts = [
            self.arrivals.get((units.rank, warp), 0)
            for units in self.units
            for warp, alive in enumerate(units.warps.alive())
            if alive
        ]
        return min(counts, default=1 << 62)

    def open_barrier(self) -> None:
        """Let those go on that have waited for the last warp to arrive."""
        waiting = [
            (units, [wait for wait in units.waits if wait.what == "cluster"])
            for units in self.units
        ]
        if any(waits for _, waits in waiting):
            passed = self.passed()
            for units, waits in waiting:
                woken = [wait for wait in waits if wait.arrivals <= passed]
                if woken and units.watch:
                    units.watch.opened()
                units.joined = max(units.joined, *(wait.arrivals for wait in woken), 0)
                units.wake(woken)

    def wakes(self, units: Units) -> None:
        """Take note that a subwarp of a block may go on: its scheduler has to choose again."""
        self.workers[units.rank].choose_again()

    def take(self) -> Tally:
        """Return what was counted since the last time."""
        tallies = [worker.take() for worker in self.workers]
        total = tallies[0]
        for tally in tallies[1:]:
            total += tally
        return total


def _stands_alone(units: Units) -> bool:
    """Whether a warp of a block waits for anything but the barrier of the cluster."""
    return any(wait.what != "cluster" for wait in units.waits)
