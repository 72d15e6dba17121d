"""Feeds readers what nobody meant: `python -m tests.fuzz [TARGET...] --count N --seed S`.

Input number i of a target depends on the seed and i alone: `--start I` goes on where a run ended.
Inputs are read in a process of its own with limits on memory and time, in an empty folder. Anything
but an answer and an error of bankwise is printed with its number: another exception, a crash, a
hang, a file that was left behind. `python -m tests.fuzz TARGET --input NUMBER` reads that one
again, in this process.
"""

from __future__ import annotations

import argparse
import mmap
import os
import random
import resource
import signal
import struct
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

from simulator.errors import BankwiseError, ToolError
from tests.fuzz.targets import TARGETS, Target

_MEMORY = 6 << 30
_SHOWN = 20  # problems of a target that are printed


class Hang(BaseException):
    """An input took too long; no reader may catch it."""


def one(name: str, seed: int, number: int) -> str | bytes:
    """Return input `number` of a target."""
    return TARGETS[name].make(random.Random(f"{seed} {name} {number}"))  # noqa: S311


def read(target: Target, given: str | bytes) -> str:
    """Return "answered", "refused", or what went wrong."""
    try:
        target.ask(given)
    except ToolError as error:  # nothing was read
        return f"not tried: {error}"[:300]
    except BankwiseError:
        return "refused"
    except Hang:
        return "hang"
    except BaseException as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        return f"{type(error).__name__} at {Path(last.filename).name}:{last.lineno}: {error}"[:300]
    return "answered"


def fuzz(
    name: str, count: int, seed: int = 0, start: int = 0, seconds: float = 1e9
) -> tuple[Counter[str], list[tuple[int, str]]]:
    """Read `count` inputs from `start` on: how many were answered and refused, and the problems.

    After so many seconds it begins no other input.
    """
    found, problems = Counter[str](), list[tuple[int, str]]()
    end, ends = start + count, time.monotonic() + seconds
    with mmap.mmap(-1, 32) as shared, tempfile.TemporaryDirectory(prefix="fuzz-") as folder:
        while start < end:
            child, said = _fork(name, seed, start, end, ends, shared, folder)
            with os.fdopen(said, encoding="utf-8", errors="replace") as lines:
                for line in lines:
                    number, _, text = line.rstrip("\n").partition(" ")
                    problems.append((int(number), text))
            _, status = os.waitpid(child, 0)
            at, answered, refused = struct.unpack("qqq", shared[:24])
            found.update(answered=answered, refused=refused)
            if status == 0:
                break
            problems.append((at, f"the process died: {os.waitstatus_to_exitcode(status)}"))
            start = at + 1
        left = sorted(os.listdir(folder))
        if left:
            problems.append((end, f"files were left behind: {left[:5]}"))
    found["problems"] = len(problems)
    return found, problems


def _fork(
    name: str, seed: int, start: int, end: int, ends: float, shared: mmap.mmap, folder: str
) -> tuple[int, int]:
    """Start a process that reads inputs from `start` on; return it, and what it says."""
    said, told = os.pipe()
    child = os.fork()
    if child:
        os.close(told)
        return child, said
    code = 1
    try:
        os.close(said)
        os.chdir(folder)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)  # `count -` reads it: no input of ours
        resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
        warnings.simplefilter("ignore")
        target, answers = TARGETS[name], Counter[str]()
        for number in range(start, end):
            if time.monotonic() > ends:
                break
            shared[:24] = struct.pack("qqq", number, answers["answered"], answers["refused"])
            given = one(name, seed, number)
            watch(target.seconds)
            verdict = read(target, given)
            signal.setitimer(signal.ITIMER_REAL, 0)
            if verdict in ("answered", "refused"):
                answers[verdict] += 1
            else:
                line = verdict.encode("ascii", "backslashreplace").replace(b"\n", b" ")
                os.write(told, b"%d %s\n" % (number, line))
        shared[:24] = struct.pack("qqq", end, answers["answered"], answers["refused"])
        code = 0
    finally:
        os._exit(code)


def watch(seconds: float) -> None:
    """Raise Hang after so many seconds of work, or ten times as many of waiting."""
    worked, waited = time.process_time(), time.monotonic()

    def look(*_: object) -> None:
        if time.process_time() - worked > seconds / 2 or time.monotonic() - waited > 10 * seconds:
            raise Hang
        signal.setitimer(signal.ITIMER_REAL, seconds)  # the machine is busy with others

    signal.signal(signal.SIGALRM, look)
    signal.setitimer(signal.ITIMER_REAL, seconds)


@contextmanager
def _elsewhere() -> Iterator[None]:
    before = os.getcwd()
    with tempfile.TemporaryDirectory(prefix="fuzz-") as folder:
        os.chdir(folder)
        try:
            yield
        finally:
            os.chdir(before)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("targets", nargs="*", help=f"of {', '.join(TARGETS)}")
    parser.add_argument("--count", type=int, help="inputs per target; default: its goal")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--start", type=int, default=0, help="the first input's number")
    parser.add_argument("--seconds", type=float, default=1e9, help="begin no input after so long")
    parser.add_argument("--input", type=int, help="read this one alone, here")
    given = parser.parse_args()
    for name in given.targets:
        if name not in TARGETS:
            parser.error(f"{name} is not a target (accepted: {', '.join(TARGETS)})")
    if given.input is not None:
        for name in given.targets:
            text = one(name, given.seed, given.input)
            print(repr(text) if isinstance(text, str) else f"{len(text)} bytes")
            with _elsewhere():
                TARGETS[name].ask(text)
        return 0
    bad = False
    for name in given.targets or TARGETS:
        target = TARGETS[name]
        if target.needs and find_spec(target.needs) is None:
            print(f"{name}: left out, {target.needs} is not installed")
            continue
        count = given.count or target.goal
        start = time.monotonic()
        found, problems = fuzz(name, count, given.seed, given.start, given.seconds)
        print(
            f"{name}: {sum(found.values())} inputs from {given.start} on of seed {given.seed} "
            f"in {time.monotonic() - start:.0f} s: {dict(found)}",
            flush=True,
        )
        kinds = Counter(text for _, text in problems)
        for text, many in kinds.most_common(_SHOWN):
            number = next(number for number, each in problems if each == text)
            print(f"  {many} times, input {number} first: {text}", flush=True)
        bad |= bool(problems)
    return int(bad)


if __name__ == "__main__":
    sys.exit(main())
