"""`bankwise sweep --processes`: its workers end with it, and leave Ctrl-C to it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import pytest

from simulator.sweeps.workers import WorkerProcesses

pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="asks Linux's /proc")

COMMAND = [
    sys.executable, "-m", "simulator", "sweep", "simulate", "--warp-shape", "all", "--lane-order",
    "all", "--pad", "0..4000", "--processes", "--jobs", "2",
]  # fmt: skip


def started() -> subprocess.Popen[str]:
    return subprocess.Popen(
        COMMAND,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,  # a terminal's Ctrl-C reaches all processes of it
        # A shell that starts the tests in the background may have told them to ignore SIGINT.
        preexec_fn=partial(signal.signal, signal.SIGINT, signal.default_int_handler),
    )


def session(leader: int) -> set[int]:
    """The processes of a session that run, its leader not among them."""
    found = set()
    for each in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, _, of = each.read_text().rpartition(")")[2].split()[:4]
        except (OSError, ValueError):  # it has ended in the meantime
            continue
        if int(of) == leader and state != "Z":
            found.add(int(each.parent.name))
    return found - {leader}


def wait_until(ready: object, seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not ready():  # type: ignore[operator]
        assert time.monotonic() < end
        time.sleep(0.02)


@pytest.mark.parametrize("later", [0.0, 2.0])
def test_workers_of_a_killed_sweep_end(later: float) -> None:
    """While they start (2 workers and what tracks their semaphores), and while they work."""
    process = started()
    try:
        wait_until(lambda: len(session(process.pid)) >= 3)
        time.sleep(later)
        process.kill()
        process.wait(timeout=60)
        wait_until(lambda: not session(process.pid), seconds=30)
    finally:
        for left in session(process.pid):
            os.kill(left, signal.SIGKILL)
        assert process.stderr is not None
        process.stderr.close()


@pytest.mark.parametrize("later", [0.2, 0.5, 1.5])
def test_workers_leave_an_interrupt_to_the_sweep(later: float) -> None:
    process = started()
    wait_until(lambda: len(session(process.pid)) >= 3)
    time.sleep(later)
    os.killpg(process.pid, signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert "Traceback" not in said
    assert process.returncode == 130
    wait_until(lambda: not session(process.pid))


def test_they_work_as_any_pool_does() -> None:
    with WorkerProcesses(2) as pool:
        assert list(pool.map(abs, range(-5, 0))) == [5, 4, 3, 2, 1]
        assert pool.submit(int, "21", base=3).result() == 7
        assert isinstance(pool.submit(int, "x").exception(), ValueError)
    assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, ())
