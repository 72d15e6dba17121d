"""An attempt in a process of its own, which ends when its time is over."""

from __future__ import annotations

import multiprocessing
import resource
import signal
import time
from collections.abc import Callable
from typing import Any

__all__ = ["limited"]


def limited(
    seconds: int, late: str, attempt: Callable[..., dict[str, Any]], *given: Any
) -> dict[str, Any]:
    """Return what an attempt says, and the `seconds` that it took.

    One that takes more processor time than `seconds` is not "ok", and says so under `late`.
    """
    here, there = multiprocessing.Pipe(duplex=False)

    def work() -> None:
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
        signal.alarm(10 * seconds)  # on a busy machine
        there.send(attempt(*given))

    start = time.monotonic()
    process = multiprocessing.get_context("fork").Process(target=work)
    process.start()
    there.close()
    try:
        row = here.recv()
    except EOFError:
        row = {"ok": False, late: f"did not finish in {seconds} s"}
    process.join()
    return {**row, "seconds": round(time.monotonic() - start, 1)}
