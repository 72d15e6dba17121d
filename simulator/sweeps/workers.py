"""Worker processes that end when the process that started them does, however that ends."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import contextmanager
from threading import Thread
from typing import ParamSpec, TypeVar

__all__ = ["WorkerProcesses"]

_P = ParamSpec("_P")
_R = TypeVar("_R")


class WorkerProcesses(ProcessPoolExecutor):
    """A pool of processes that neither outlive this one nor take notice of Ctrl-C.

    Workers of a plain pool wait for work for ever if this process is killed. A Ctrl-C reaches all
    processes of a terminal: it is this one's to tell its workers to stop.
    """

    def __init__(self, workers: int) -> None:
        # Started afresh: forking a process with threads is no longer safe.
        super().__init__(
            workers, mp_context=multiprocessing.get_context("spawn"), initializer=_begin
        )

    def submit(  # type: ignore[override]  # its positional-only slash is implied by the ParamSpec
        self, function: Callable[_P, _R], *args: _P.args, **named: _P.kwargs
    ) -> Future[_R]:
        """Submit a call to a worker, and start one if need be."""
        with _interrupts_held_back():
            return super().submit(function, *args, **named)


@contextmanager
def _interrupts_held_back() -> Iterator[None]:
    """Block Ctrl-C, also in processes that are started here: they inherit that for good."""
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _begin() -> None:
    """Prepare a worker: what is done in it before its first call."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()  # the end of a pipe closes with it, even if it is killed
        os._exit(1)
