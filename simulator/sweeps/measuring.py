"""Measuring chunks of combinations on an executor, and why some were skipped."""

from __future__ import annotations

import re
import sys
from collections.abc import Generator, Iterator, Sequence
from concurrent.futures import CancelledError, Executor, Future
from contextlib import suppress
from itertools import islice
from queue import SimpleQueue
from typing import Any

from layouts.errors import BankwiseError, short
from simulator.errors import ExecutorError, TargetError
from simulator.sweeps.interrupts import interrupts_put_off
from simulator.sweeps.store import Chunk
from simulator.sweeps.targets import Combination, Figures, Target

__all__ = ["kind", "measured"]

_AHEAD = 128  # chunks handed to the executor at a time


def measured(
    executor: Executor,
    target: Target,
    law: Combination,
    todo: Iterator[tuple[int, Sequence[Combination]]],
) -> Generator[Chunk, None, None]:
    """Return the chunks as they are done. If the executor dies, those it did come first."""
    pending: set[Future[Chunk]] = set()
    ready: SimpleQueue[Future[Chunk] | None] = SimpleQueue()  # None: there was a Ctrl-C
    failure: BankwiseError | None = None
    with interrupts_put_off(lambda: ready.put(None)) as interrupted:
        try:
            while failure is None:
                try:
                    for start, combinations in islice(todo, _AHEAD - len(pending)):
                        future = _future(executor.submit(_work, target, law, start, combinations))
                        pending.add(future)
                        future.add_done_callback(ready.put)
                        interrupted()
                except Exception as error:  # it is shut down, or broken
                    failure = _failure(error)
                if not pending:
                    break
                for done in _taken(ready, wait=failure is None):
                    interrupted()
                    if done is None:
                        continue
                    pending.discard(done)
                    try:
                        chunk = _chunk(done.result())
                    except TargetError as error:
                        failure = failure or error
                    except (Exception, CancelledError) as error:
                        failure = failure or _failure(error)
                    else:
                        yield chunk
        finally:
            _cancel(executor, pending)
    if failure is not None:
        raise failure


def _cancel(executor: Executor, pending: set[Future[Chunk]]) -> None:
    """Cancel what has not begun, and let the executor end behind it.

    Before Python 3.11.3 a ProcessPoolExecutor whose last futures were cancelled never ended
    (https://github.com/python/cpython/issues/94440). One that is not cancelled comes behind them.
    """
    cancelled = [future.cancel() for future in pending]
    if sys.version_info < (3, 11, 3) and any(cancelled):
        with suppress(Exception):  # it is shut down, or broken: it ends by itself
            executor.submit(int)


def _taken(ready: SimpleQueue[Future[Chunk] | None], wait: bool) -> list[Future[Chunk] | None]:
    """Take all that is ready; if nothing is, wait for it or return an empty list."""
    taken = [ready.get()] if wait else []
    while not ready.empty():
        taken.append(ready.get())
    return taken


def _future(given: Any) -> Future[Chunk]:
    if not isinstance(given, Future):
        raise TypeError(
            f"the executor's submit returned {short(given)} (accepted: a concurrent.futures.Future)"
        )
    return given


def _chunk(given: Any) -> Chunk:
    if not isinstance(given, Chunk):
        raise TypeError(
            f"a future of the executor holds {short(given)} (accepted: what the submitted function"
            " returns)"
        )
    return given


def _failure(error: BaseException) -> ExecutorError:
    failure = ExecutorError(
        f"the executor failed: {error!r} (accepted: a running executor; for processes, a target"
        " that can be pickled, such as a function at the top of a module)"
    )
    failure.__cause__ = error
    return failure


def _work(
    target: Target, law: Combination, start: int, combinations: Sequence[Combination]
) -> Chunk:
    """Measure neighbouring combinations: what a worker does, here or elsewhere."""
    try:
        outcomes = target.measure([{**law, **each} for each in combinations])
    except TargetError:
        raise
    except Exception as error:
        raise TargetError(f"{target.name} failed: {error!r} (combination {start} on)") from error
    rows: list[tuple[int, Figures]] = []
    skipped: dict[str, tuple[int, int, str]] = {}
    for number, outcome in enumerate(outcomes, start=start):
        if isinstance(outcome, str):
            why = _why(outcome)
            first, many, reason = skipped.get(kind(why), (number, 0, why))
            skipped[kind(why)] = (first, many + 1, reason)
        else:
            rows.append((number, outcome))
    return Chunk(start, rows, list(skipped.values()))


def _why(message: str) -> str:
    """Leave out the parenthesis that repeats the input and says what would be accepted.

    >>> _why("pad (0, -1) is odd (lds 128, pad (0, -1); accepted: 0, 1, 2, ...)")
    'pad (0, -1) is odd'
    >>> _why("no op 'LDX' (accepted, nearest first: LDS, ...)")
    "no op 'LDX'"
    """
    depth, said = 0, re.search(r"\baccepted\b[^()]*:", message)
    for place in range((said.start() if said else 0) - 1, -1, -1):
        depth += {")": 1, "(": -1}.get(message[place], 0)
        if depth < 0:
            return message[:place].rstrip()
    return message


def kind(reason: str) -> str:
    """Leave a reason's own numbers out: addresses, lanes, sizes; not those of LDS.128.

    >>> kind("LDS.128 of A would be misaligned: byte 516 for lane 0")
    'LDS.128 of A would be misaligned: byte # for lane #'
    """
    return re.sub(r"(?<![\w.])-?\d+", "#", reason)
