"""Ctrl-C, put off to where nothing is half done.

Python raises KeyboardInterrupt between any two steps of the main thread. One of them may hold a
future's lock. That lock then stays taken, and the executor's end waits for it for ever.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

__all__ = ["interrupts_put_off"]


@contextmanager
def interrupts_put_off(tell: Callable[[], None]) -> Iterator[Callable[[], None]]:
    """Yield a function that raises what Ctrl-C would have raised since, and else does nothing.

    `tell` is called at once, in the middle of anything: `SimpleQueue.put` may be. The end of the
    block raises, too. A second Ctrl-C is not put off.

    Other threads than the main one are never interrupted, so nothing changes in them; nor where
    Ctrl-C is ignored.
    """
    before = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(before):
        yield lambda: None
        return
    waiting: list[int] = []

    def put_off(number: int, frame: FrameType | None) -> None:
        signal.signal(signal.SIGINT, before)
        waiting.append(number)
        tell()

    def interrupted() -> None:
        if waiting:
            before(waiting.pop(), None)

    signal.signal(signal.SIGINT, put_off)
    try:
        yield interrupted
    finally:
        if signal.getsignal(signal.SIGINT) is put_off:
            signal.signal(signal.SIGINT, before)
        interrupted()
