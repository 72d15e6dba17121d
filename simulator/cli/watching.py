"""What `bankwise sass` says while it works."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import click

__all__ = ["waiting", "watched"]

Found = TypeVar("Found")

_SOON, _SELDOM = 0.3, 20.0  # seconds between what a log is told: at first, and then
_WIDE = 70  # characters of the line of a terminal


def watched(run: Callable[..., Found], **launch: Any) -> Found:
    """Replay; say what is waited for and how fast it runs: in a log seldom, and if it lasts."""
    with waiting("starting") as say:  # to import what is needed takes a moment, too
        return run(progress=_show_progress(say), announce=say, **launch)


@contextmanager
def waiting(text: str) -> Iterator[Callable[[str], None]]:
    """Say what is waited for; what is given says it anew."""
    on_terminal = sys.stderr.isatty()
    late = _Late()
    say = _show_line if on_terminal else late.note
    say(text)
    if not on_terminal and sys.stderr is sys.__stderr__:
        late.start()
    try:
        yield say
    finally:
        late.cancel()
        if on_terminal:
            click.echo("\r" + " " * _WIDE + "\r", nl=False, err=True)


class _Late(threading.Thread):
    """Says in a log what a command that did not end at once is waiting for, and then how far it is.

    At first after `_SOON` seconds, then every `_SELDOM`.
    """

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.waits_for = ""
        self._done = threading.Event()

    def note(self, text: str) -> None:
        self.waits_for = text

    def cancel(self) -> None:
        self._done.set()

    def run(self) -> None:
        seconds = _SOON
        while not self._done.wait(seconds):
            click.echo(f"bankwise: {self.waits_for} …", err=True)
            seconds = _SELDOM


def _show_line(text: str) -> None:
    """Write a line of the terminal again."""
    click.echo(f"\r{text[:_WIDE].ljust(_WIDE)}", nl=False, err=True)


def _show_progress(show_line: Callable[[str], None]) -> Callable[[int, int, int], None]:
    start = last = time.monotonic()

    def progress(threads: int, done: int, of: int) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last > 0.2:
            last = now
            speed = threads / (now - start) / 1e6
            said = f", {speed:,.0f} million thread instructions/s" if speed >= 1 else ""
            show_line(f"block {done} of {of}{said}")

    return progress
