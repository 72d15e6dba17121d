"""Ctrl-C ends a sweep wherever it comes, and leaves no lock taken."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import _base as futures
from contextlib import contextmanager
from types import FrameType
from typing import Any

import pytest

from simulator.sweeps.interrupts import interrupts_put_off
from simulator.sweeps.sweep import sweep
from tests.sweep_targets import strided


@pytest.fixture(autouse=True)
def _ctrl_c_is_heard() -> Iterator[None]:
    """A shell starts what runs in its background with Ctrl-C ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def interrupt() -> None:
    signal.raise_signal(signal.SIGINT)


class Tracer:
    """Presses Ctrl-C at one of the lines of `concurrent.futures` that the main thread runs."""

    def __init__(self, line: int) -> None:
        self.left = line

    def __call__(self, frame: FrameType, event: str, argument: object) -> Any:
        if frame.f_code.co_filename not in (futures.__file__, threading.__file__):
            return None
        if event == "line":
            self.left -= 1
            if self.left == 0:
                interrupt()
        return self


@contextmanager
def traced(tracer: Tracer) -> Iterator[None]:
    before = sys.gettrace()
    sys.settrace(tracer)
    try:
        yield
    finally:
        sys.settrace(before)


def _sweep_until_told(pool: ThreadPoolExecutor) -> None:
    """Sweep again where a sweep ended before its line: quick threads are waited for less often."""
    for _ in range(100):
        sweep(strided, {"stride": range(64)}, executor=pool)


@pytest.mark.parametrize("line", [320, 1194, 1388, 1873, 4007, 4201, 4589, 4783])
def test_an_interrupt_within_a_lock(line: int) -> None:
    """At each of these lines `concurrent.futures.wait` left a pool that never ended, or broke."""
    pool, running = ThreadPoolExecutor(2), threading.active_count()
    tracer = Tracer(line)
    try:
        with traced(tracer), pytest.raises(KeyboardInterrupt):
            _sweep_until_told(pool)
        assert tracer.left <= 0
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
    for thread in threading.enumerate()[running:]:
        thread.join(5)
        assert not thread.is_alive()


def test_what_an_executor_begins_it_ends() -> None:
    class Interrupted(ThreadPoolExecutor):
        begun = ended = 0

        def submit(self, *args: Any, **named: Any) -> Future[Any]:  # type: ignore[override]
            self.begun += 1
            interrupt()
            found: Future[Any] = super().submit(*args, **named)
            self.ended += 1
            return found

    with Interrupted(1) as pool, pytest.raises(KeyboardInterrupt):
        sweep(strided, {"stride": range(64)}, executor=pool)
    assert (pool.begun, pool.ended) == (1, 1)


def test_an_interrupt_comes_at_the_end_at_the_latest() -> None:
    done = []

    def work() -> None:
        with interrupts_put_off(lambda: done.append("told")):
            interrupt()
            done.append("all")

    with pytest.raises(KeyboardInterrupt):
        work()
    assert done == ["told", "all"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_second_interrupt_is_not_put_off() -> None:
    done = []

    def work() -> None:
        with interrupts_put_off(lambda: None):
            interrupt()
            done.append("first")
            interrupt()
            done.append("second")

    with pytest.raises(KeyboardInterrupt):
        work()
    assert done == ["first"]


def test_it_is_the_same_function_that_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """One of the user's own, which need not raise: the work goes on."""
    told: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, frame: told.append(number))
    try:
        with interrupts_put_off(lambda: None) as interrupted:
            interrupt()
            assert told == []
            interrupted()
            assert told == [signal.SIGINT]
            interrupted()
        assert told == [signal.SIGINT]
    finally:
        signal.signal(signal.SIGINT, before)


def test_nothing_changes_where_nothing_is_interrupted() -> None:
    def elsewhere() -> None:
        with interrupts_put_off(lambda: None) as interrupted:
            interrupted()
            seen.append(signal.getsignal(signal.SIGINT))

    seen: list[Any] = []
    thread = threading.Thread(target=elsewhere)
    thread.start()
    thread.join()
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        elsewhere()
    finally:
        signal.signal(signal.SIGINT, before)
    assert seen == [before, signal.SIG_IGN]
