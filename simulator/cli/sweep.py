"""The command `sweep`: every combination of some parameters' values."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from functools import partial, wraps
from typing import TYPE_CHECKING, Any

import click

from layouts.errors import BankwiseError
from simulator.cli.commands import cli, format_option
from simulator.cli.completion import among, kernels
from simulator.cli.html import html_options, keep
from simulator.cli.options import named, named_options
from simulator.cli.output import Format, show
from simulator.inputs.values import expanded, read_list

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from simulator.sweeps.targets import Figure


__all__ = ["sweep"]


_EXAMPLES = """\b
Examples:
  bankwise sweep simulate --warp-shape all --lane-order all --pad 0..16
  bankwise sweep junstar92.warptiling --padding 0..8:4
"""


def _former_plot(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add --plot, the former name of --html."""

    @click.option("--plot", hidden=True)
    @wraps(command)
    def wrapped(*, plot: str | None, html: str | None, **options: Any) -> Any:
        if plot is not None and html is not None:
            raise click.UsageError("--plot is the former name of --html (accepted: one of them)")
        if plot is not None:
            click.echo("bankwise: --plot is the former name of --html, which 0.3 drops", err=True)
        return command(html=html if plot is None else plot, **options)

    return wrapped


@cli.command(context_settings={"ignore_unknown_options": True}, epilog=_EXAMPLES)
@click.argument("name", shell_complete=among(lambda: ["simulate", *kernels()]))
@click.argument("grid", nargs=-1, type=click.UNPROCESSED)
@click.option(
    "--top",
    type=click.IntRange(1),
    default=10,
    show_default=True,
    help="Rows to print, the best first.",
)
@click.option(
    "--best-by", "--by", "by", help="Figure to sort by.  [default: cycles, or wavefronts]"
)
@click.option("--limit", type=int, help="Count only this many combinations, from the first on.")
@click.option("--jobs", type=click.IntRange(1), help="Workers.  [default: one per processor]")
@click.option("--processes", is_flag=True, help="Workers are processes, not threads.")
@click.option("--store", help="File for finished work: the same command continues from it.")
@click.option("--csv", help="CSV file for all rows.")
@click.option("--parquet", help="Parquet file for all rows.")
@format_option
@_former_plot
@html_options
def sweep(
    *,
    name: str,
    grid: Sequence[str],
    top: int,
    by: Figure | None,
    limit: int | None,
    jobs: int | None,
    processes: bool,
    store: str | None,
    csv: str | None,
    parquet: str | None,
    output: Format,
) -> int:
    """Count every combination of parameters, and print the best.

    NAME is simulate, or a kernel of `bankwise kernels`. Its parameters are options, and so is
    --rule. Write values as 0,4,8 or 0..16 or 0..64:8 (both ends are included). "(0,4)" is a pair.
    Options of simulate whose values are names or widths also take all. A kernel's --m is 4096 by
    default; --n and --k are m. Combinations that do not exist are skipped, and the reasons are
    counted. A value that fits no combination is refused. The exit code is 1 if no combination
    exists.
    """
    from layouts.errors import accepted
    from simulator.errors import OptionError
    from simulator.gemm.simulate import simulate
    from simulator.kernels import get
    from simulator.sweeps.sweep import sweep as run
    from simulator.sweeps.targets import target_of

    target = simulate if name == "simulate" else get(name)
    figures = target_of(target).figures
    if by is not None and by not in figures:  # said before the work, not after it
        raise OptionError(f"unknown figure {by!r}: {accepted(by, figures)}")
    axes = _simulate_axes(grid) if target is simulate else _kernel_axes(name, grid)
    page = click.get_current_context().params
    _check_files(
        {
            "--store": store,
            "--csv": csv,
            "--parquet": parquet,
            "--html": page["html"],
            "--plot": page["plot"],
        }
    )
    with ExitStack() as stack:
        executor = _executor(jobs, processes=processes)
        stack.callback(executor.shutdown, cancel_futures=True)
        try:
            found = run(target, axes, executor=executor, store=store, limit=limit)
        except KeyboardInterrupt:
            if store:
                click.echo(f"{store} keeps what is done: the same command continues.", err=True)
            raise
    keep(found)
    table = found.table(top, by=by)
    try:
        if csv is not None:
            found.to_csv(csv)
        if parquet is not None:
            found.to_parquet(parquet)
    finally:  # a disk that has filled up in the meantime takes the files, not the answer
        show(table, output)
    return int(len(found) == 0)


def _check_files(places: dict[str, str | None]) -> None:
    """Refuse, before any work is done, files that could not be written, or that are one."""
    from simulator.results.files import check_target
    from simulator.sweeps.parquet import parquet_writer

    options: dict[str, str] = {}
    for option, place in places.items():
        if place is None:
            continue
        if option in ("--csv", "--parquet"):  # the others are checked before the work anyway
            check_target(place)
        other = options.setdefault(os.path.abspath(place), option)
        if other != option:
            raise click.UsageError(f"{other} and {option} are one file (accepted: one for each)")
    if places["--parquet"] is not None:
        parquet_writer()


def _simulate_axes(words: Sequence[str]) -> dict[str, Any]:
    from simulator.gemm.geometry import CHOICES, PARAMETERS, check_value

    return {
        key: _values(key, text, CHOICES.get(key), check=check_value if key in PARAMETERS else None)
        for key, text in named_options(words).items()
    }


def _kernel_axes(name: str, words: Sequence[str]) -> dict[str, Any]:
    from simulator.kernels import get
    from simulator.kernels.replay import FORMS, check_value
    from simulator.law.instructions import RULES

    known = {"form": FORMS, "rule": RULES}
    kernel = get(name)
    own = kernel.parameters
    parameters = {"m", "n", "k", *known, *own}
    check = partial(check_value, kernel)
    axes = {
        key: _values(key, text, known.get(key), own.get(key), check if key in parameters else None)
        for key, text in {"m": "4096", **named_options(words)}.items()
    }
    for key in ("n", "k"):
        if key not in axes and (not isinstance(axes["m"], list) or len(axes["m"]) > 1):
            raise click.UsageError(f"--{key} is needed where --m has several values")
        axes.setdefault(key, axes["m"])
    return axes


def _values(
    key: str,
    text: str,
    known: Sequence[Any] | None,
    like: object = None,
    check: Callable[[str, Any], None] | None = None,
) -> Iterable[Any]:
    """Read the values of one parameter; `check` raises where no combination could have one."""
    with named(f"--{key.replace('_', '-')}"):
        values = read_list(text, every=known, like=like, swizzles=key == "swizzle")
    if check is not None:
        for value in values:
            _check(check, key, value)
    return expanded(values)


def _check(check: Callable[[str, Any], None], key: str, value: Any) -> None:
    """Refuse a value; of a range, only one that is of the wrong kind at both of its ends."""
    ends = [*value[:1], *value[-1:]] if isinstance(value, range) else [value]
    for end in ends:
        try:
            check(key, end)
        except BankwiseError as error:
            refused = error
        else:
            return
    if ends:  # an empty range is refused as such
        raise refused


def _executor(jobs: int | None, *, processes: bool) -> Executor:
    workers = jobs or os.cpu_count() or 1
    if processes:
        from simulator.sweeps.workers import WorkerProcesses

        return WorkerProcesses(workers)
    from concurrent.futures import ThreadPoolExecutor

    return ThreadPoolExecutor(workers)
