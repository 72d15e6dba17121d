"""How fast and how right the engines are, beside other tools and a plain copy of the same bytes:
`python -m tests.bench.engines` (needs the extra `bench` for the other tools, and says so without).

What is compared takes turns, so that a drift of the machine's speed touches it alike. Where one
thread works, its processor time is taken, so that other programs' turns on the core do not count;
several threads are taken by the clock. A time is the fastest of its turns, and a ratio that of two
such times: what else runs can only slow a turn down.
"""

from __future__ import annotations

import itertools
import os
import threading
import time
import tracemalloc
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from importlib.util import find_spec
from typing import Any

import click
import numpy as np
from numpy.typing import NDArray
from tabulate import tabulate

from simulator import (
    count,
    count_affine,
    count_linear,
    count_stream,
    instruction,
    totals,
)
from simulator.law import chunks
from simulator.law.accesses import SHARED_BYTES
from tests.bench import rivals

Rows = list[list[Any]]


Clock = Callable[[], float]


def seconds(work: Callable[[], Any], clock: Clock) -> float:
    start = clock()
    work()
    return clock() - start


def in_turns(
    rounds: int, *works: Callable[[], Any], clock: Clock = time.thread_time
) -> list[list[float]]:
    """Seconds of each work in each round, after one round to warm up."""
    times = [[seconds(work, clock) for work in works] for _ in range(rounds + 1)]
    return [list(column) for column in zip(*times[1:], strict=True)]


def show(title: str, rows: Rows, heads: list[str], formats: tuple[str, ...]) -> None:
    click.echo(f"{title}\n\n{tabulate(rows, heads, tablefmt='github', floatfmt=formats)}\n")


def random_accesses(op: str, n: int, kind: str = "int32") -> NDArray[Any]:
    """Any aligned addresses: nearly all in conflict, for LDS about 3.5 words on the worst bank."""
    width = max(4, instruction(op).width)
    top = min(SHARED_BYTES, np.iinfo(kind).max) // width
    rng = np.random.default_rng(0)
    units = rng.integers(0, top, (n, 32), dtype=np.int32)
    units *= width
    return units.astype(kind, copy=False)


def who_is_right(rounds: int) -> None:
    accesses = rivals.common_accesses()
    columns = [access.columns for access in accesses]
    repeats = 4000

    def ours(counted: Callable[..., Any], **options: Any) -> list[Any]:
        answers = []
        for access, bits in zip(accesses, columns, strict=True):
            given = bits if counted is count_linear else access.addresses
            counts = counted(access.op, given, **options)
            answers.append((int(counts.wavefronts), int(counts.bank_conflicts) == 0))
        return answers

    def many(counted: Callable[..., Any], **options: Any) -> float:
        """Microseconds an access where each instruction's are counted in one call."""
        spent, counts = 0.0, 0
        for op in dict.fromkeys(access.op for access in accesses):
            given = np.array(
                [
                    access.columns if counted is count_linear else access.addresses
                    for access in accesses
                    if access.op == op
                ]
            )
            times = repeats if options["engine"] != "python" else 10
            given = np.tile(given, (times, 1))
            spent += min(in_turns(rounds, partial(counted, op, given, **options))[0])
            counts += len(given)
        return 1e6 * spent / counts

    truth = [(access.wavefronts, access.bank_conflicts == 0) for access in accesses]

    def right(answers: list[Any]) -> list[str]:
        both = list(zip(answers, truth, strict=True))
        return [f"{sum(one[at] == other[at] for one, other in both)}" for at in (0, 1)]

    rows: Rows = []
    for name, counted, options in (
        ("bankwise, pure Python", count, {"engine": "python"}),
        ("bankwise, NumPy", count, {"engine": "numpy"}),
        ("bankwise, Numba, 1 thread", count, {"engine": "numba", "threads": 1}),
        (
            "bankwise, published rule",
            count,
            {"engine": "numba", "threads": 1, "rule": "documented"},
        ),
        ("bankwise, closed form, NumPy", count_linear, {"engine": "numpy"}),
        ("bankwise, closed form, 1 thread", count_linear, {"engine": "numba", "threads": 1}),
    ):
        rows.append([name, *right(ours(counted, **options)), many(counted, **options)])
    for name, module, ask in (
        ("tensor-layouts `bank_conflicts`", "tensor_layouts", rivals.ask_tensor_layouts),
        ("Triton Gluon `bank_conflicts`", "triton", rivals.ask_triton),
    ):
        if find_spec(module) is None:
            rows.append([name, "not installed", "not installed", None])
            continue
        asked = list(zip(*(ask(accesses) for _ in range(rounds)), strict=True))
        answers = [(turns[0].wavefronts, turns[0].conflict_free) for turns in asked]
        spent = sum(min(turn.seconds for turn in turns) for turns in asked)
        rows.append([name, *right(answers), 1e6 * spent / len(accesses)])
    for row in rows:
        row.append(None if row[3] is None else 1e6 / row[3])
    heads = [
        "tool",
        f"wavefronts right (of {len(accesses)})",
        "conflict-free or not, right",
        "µs an access",
        "accesses/s",
    ]
    title = (
        f"{len(accesses)} loads and stores of 4, 8, 16 bytes a lane, recorded on an H200:"
        " who counts what its counters did"
    )
    show(title, rows, heads, ("", "", "", ".3f", ",.0f"))


def beside_a_copy(rounds: int, n: int) -> None:
    rows: Rows = []
    rng = np.random.default_rng(1)
    some = rng.integers(0, 1 << 32, n, dtype=np.uint32)
    pairs = np.arange(32) & ~1
    for op, kind, what, mask in (
        ("LDS", "int32", "random", None),
        ("LDS", "int32", "random", some),
        ("LDS.64", "int32", "random", None),
        ("LDS.128", "int32", "random", None),
        ("LDS.128", "int32", "half of them in pairs", None),
        ("LDS.128", "int32", "half of them in pairs", some),
        ("ATOMS.ADD", "int32", "random", None),
        ("ldmatrix.x4", "int32", "random", None),
        ("LDS", "uint16", "random", None),
        ("LDS", "int64", "random", None),
    ):
        byte = random_accesses(op, n, kind)
        if what != "random":
            byte[::2] = byte[::2, pairs]
        copy = np.empty_like(byte)
        work, plain = in_turns(
            rounds,
            partial(count, op, byte, mask, engine="numba", threads=1),
            partial(np.copyto, copy, byte),
        )
        masked = "random" if mask is not None else "none"
        fast, least = min(work), min(plain)
        speed = [n / fast / 1e6, byte.nbytes / fast / 1e9, byte.nbytes / least / 1e9, least / fast]
        rows.append([op, kind, what, masked, *speed])
    heads = [
        "op",
        "addresses",
        "",
        "masks",
        "million/s",
        "GB/s read",
        "GB/s copied",
        "speed / copy",
    ]
    show(
        f"`count` on one thread, {n:,} accesses", rows, heads, ("", "", "", "", *[".1f"] * 3, ".2f")
    )


def by_size(rounds: int, largest: int) -> None:
    rows: Rows = []
    n = 10_000
    while n <= largest:
        byte = random_accesses("LDS", n)
        some = byte[: 10**7]  # beside all of the largest array there is no room for a copy
        copy = np.empty_like(some)
        work, plain = in_turns(
            rounds if n < 10**7 else 3,
            partial(count, "LDS", byte, engine="numba", threads=1),
            partial(np.copyto, copy, some),
        )
        spent = 1e9 * min(work) / n, 1e9 * min(plain) / len(some)
        rows.append([f"{n:,}", "one array", *spent])
        del byte, some, copy
        n *= 10
    part = random_accesses("LDS", 1 << 18)
    copy = np.empty_like(part)
    times = max(1, largest // len(part))

    def stream() -> None:
        totals(count_stream("LDS", (part for _ in range(times)), threads=1))

    def copies() -> None:
        for _ in range(times):
            np.copyto(copy, part)

    work, plain = in_turns(1, stream, copies)
    many = times * len(part)
    spent = (1e9 * min(each) / many for each in (work, plain))
    rows.append([f"{many:,}", f"{times} chunks", *spent])
    heads = ["accesses", "as", "ns an access", "ns to copy its addresses"]
    show("LDS, int32, one thread, by size", rows, heads, ("", "", ".1f", ".1f"))


class BoundPool(ThreadPoolExecutor):
    """Threads that each keep to a processor: schedulers may leave new ones on one for a while."""

    def __init__(self, threads: int) -> None:
        processors = itertools.cycle(sorted(os.sched_getaffinity(0)))

        def bind() -> None:
            os.sched_setaffinity(threading.get_native_id(), {next(processors)})

        super().__init__(threads, initializer=bind)


def by_threads(rounds: int, n: int, processors: int) -> None:
    rows: Rows = []
    threads = range(1, processors + 1)
    chunk = chunks._CHUNK
    for op in ("LDS", "LDS.128"):
        byte = random_accesses(op, n)
        copy = np.empty_like(byte)

        def count_all(each: int, op: str = op, byte: Any = byte) -> None:
            count(op, byte, engine="numba", threads=each)

        def copy_all(each: int, copy: Any = copy, byte: Any = byte) -> None:
            parts = [slice(start, start + chunk) for start in range(0, n, chunk)]
            with BoundPool(each) as pool:
                list(pool.map(lambda part: np.copyto(copy[part], byte[part]), parts))

        works = [partial(work, each) for work in (count_all, copy_all) for each in threads]
        fastest = [min(each) for each in in_turns(rounds, *works, clock=time.perf_counter)]
        for each, spent, plain in zip(threads, fastest, fastest[processors:], strict=False):
            gains = fastest[0] / spent, fastest[processors] / plain
            rows.append([op, each, n / spent / 1e6, *gains])
    heads = ["op", "threads", "million/s", "gain", "gain of a copy"]
    show(f"By threads, {n:,} accesses of int32", rows, heads, ("", "", ".1f", ".2f", ".2f"))


def closed_forms(rounds: int, n: int) -> None:
    rng = np.random.default_rng(2)
    rows: Rows = []
    for op in ("LDS", "LDS.128", "STS.64", "ldmatrix.x4", "ATOMS.ADD"):
        width = instruction(op).width
        columns = (rng.integers(0, (1 << 17) // width, (n, 5)) * width).astype(np.int32)
        pitch = rng.integers(1, 4096 // width, (n, 1)) * width
        strides = np.concatenate([pitch << bit for bit in range(5)], axis=1).astype(np.int32)
        few = min(n, 100_000)
        expanded = partial(count_linear, op, columns[:few], engine="numpy")
        linear = partial(count_linear, op, columns, engine="numba", threads=1)
        affine = partial(count_affine, op, strides, engine="numba", threads=1)
        times = [min(each) for each in in_turns(rounds, expanded, linear, affine)]
        rows.append([op, few / times[0] / 1e6, n / times[1] / 1e6, n / times[2] / 1e6])
    heads = ["op", "linear, NumPy", "linear, compiled", "affine, compiled"]
    show(
        f"Million layouts a second, one thread, {n:,} layouts",
        rows,
        heads,
        ("", ".2f", ".1f", ".1f"),
    )


def memory(n: int) -> None:
    rows: Rows = []
    for kind in ("uint16", "int32", "int64"):
        byte = random_accesses("LDS", n, kind)
        mask = np.full(n, 0xFF)
        for what, given in (("none", None), ("int64", mask)):
            tracemalloc.start()
            count("LDS", byte, given, engine="numba")
            rows.append([kind, what, tracemalloc.get_traced_memory()[1] / n])
            tracemalloc.stop()
    show(
        "Memory beside the input, at its peak",
        rows,
        ["addresses", "masks", "bytes an access"],
        ("", "", ".1f"),
    )


@click.command()
@click.option("--rounds", default=9, show_default=True)
@click.option("--accesses", default=1 << 20, show_default=True)
@click.option(
    "--largest",
    default=10**8,
    show_default=True,
    help="Accesses in the largest array (128 bytes each), and then in chunks.",
)
@click.option("--threads", default=2, show_default=True)
def main(rounds: int, accesses: int, largest: int, threads: int) -> None:
    """Print the tables of docs/explanation/performance.md."""
    who_is_right(rounds)
    beside_a_copy(rounds, accesses)
    by_size(rounds, largest)
    by_threads(5 * rounds, accesses, threads)
    closed_forms(rounds, accesses)
    memory(accesses)


if __name__ == "__main__":
    main()
