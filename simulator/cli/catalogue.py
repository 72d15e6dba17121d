"""The commands `kernels` and `replay`, the catalogue of GEMM kernels, and `chips`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from simulator.cli.commands import cli, common, format_option
from simulator.cli.completion import among
from simulator.cli.completion import kernels as names
from simulator.cli.failing import Costs
from simulator.cli.html import html_options, keep
from simulator.cli.options import lane_order, named_options
from simulator.cli.output import Format, Table, on_terminal, show, show_results
from simulator.inputs.values import read_value

if TYPE_CHECKING:
    from simulator.kernels.replay import KernelReport

__all__ = ["chips", "kernels", "replay"]


@cli.command()
@format_option
@html_options
def chips(*, output: Format) -> int:
    """List the built-in chips: their limits, and whether their law was measured."""
    from simulator.law.chips import CHIPS, Chip

    rows = []
    for chip in map(Chip.of, CHIPS):
        names = (
            "multiprocessors", "clock_mhz", "shared_bytes", "shared_bytes_per_sm", "warps_per_sm",
            "blocks_per_sm", "registers_per_sm", "l2_bytes", "dram_gb_per_s",
        )  # fmt: skip
        rows.append(
            {
                "chip": chip.name,
                "capability": chip.compute_capability,
                "law": chip.law,
                "measured": len(chip.measured),
                "instructions": len(chip.table),
                **{name: getattr(chip, name) for name in names},
                "evidence": chip.evidence,
                "sources": dict(chip.sources),
            }
        )
    text = (
        "law: measured, accesses of this chip were compared with the law; assumed, its limits are"
        " published and its law is the H200's. How many instructions were compared, the rest of"
        " the limits, the evidence and a source for each number: --format json."
    )
    measured = sum(row["law"] == "measured" for row in rows)
    hidden = (
        "measured", "instructions", "blocks_per_sm", "shared_bytes_per_sm", "registers_per_sm",
        "evidence", "sources",
    )  # fmt: skip
    table = Table(
        rows,
        {"chips": len(rows), "measured": measured},
        sums=[],
        text=[text],
        hidden=hidden,
        unknown="not known",
    )
    keep(replace(table, title=f"{len(rows)} chips, the law of {measured} of them measured"))
    show(table, output)
    return 0


@cli.command()
@click.argument("file", required=False)
@format_option
@html_options
def kernels(*, file: str | None, output: Format) -> Any:
    """List the kernels that `bankwise replay` knows, or, as `sass --list`, those in FILE."""
    if file is not None:
        return cli.main(["sass", file, "--list", "--format", output], standalone_mode=False)
    from simulator.kernels import get, names

    rows = [
        {
            "kernel": kernel.name,
            "does": kernel.title,
            "parameters": " ".join(f"{key}={value}" for key, value in kernel.parameters.items()),
            "document": kernel.document,
        }
        for kernel in map(get, names())
    ]
    table = Table(rows, {"kernels": len(rows)}, sums=[], hidden=["document"])
    keep(replace(table, title=f"{len(rows)} kernels of published tutorials"))
    show(table, output)
    return 0


@cli.command(context_settings={"ignore_unknown_options": True})
@click.argument("name", shell_complete=among(names))
@click.argument("parameters", nargs=-1, type=click.UNPROCESSED)
@click.option("--m", default=4096, show_default=True, help="Rows of C.")
@click.option("--n", type=int, help="Columns of C.  [default: m]")
@click.option("--k", type=int, help="Inner dimension.  [default: m]")
@click.option(
    "--form",
    default="compiled",
    show_default=True,
    help="compiled: loads merged as nvcc does; written: the source as it stands.",
)
@common
@html_options
def replay(
    *,
    rules: Sequence[str],
    output: Format,
    name: str,
    parameters: Sequence[str],
    m: int,
    n: int | None,
    k: int | None,
    form: str,
    chip: str | None,
) -> dict[str, Costs]:
    """Count every memory instruction of a GEMM kernel of the catalogue.

    NAME is one of `bankwise kernels`. Its tile PARAMETERS are options too: --block-m 64.
    """
    from simulator.kernels import get

    kernel = get(name)
    sizes = {"m": m, "n": m if n is None else n, "k": m if k is None else k}
    tiles = _tiles(kernel.parameters, parameters)
    asked = {"form": form, "chip": chip, **sizes, **tiles}
    reports = {rule: _replay(kernel.name, rule=rule, **asked) for rule in rules}
    keep(*reports.values())
    show_results(reports, output)
    return {rule: Costs.of(each.totals()["all"]) for rule, each in reports.items()}


def _replay(name: str, **options: Any) -> KernelReport:
    """Replay with a progress bar, where somebody is there to see it."""
    from simulator.kernels.replay import replay as run

    if not on_terminal():
        return run(name, **options)
    with click.progressbar(length=1, label=name, file=sys.stderr) as bar:

        def progress(done: int, sites: int) -> None:
            bar.length = sites
            bar.update(done - bar.pos)

        return run(name, progress=progress, **options)


def _tiles(known: dict[str, Any], given: Sequence[str]) -> dict[str, Any]:
    """Read --block-m 64 or --block-m=64, as the kernel's own parameters are named."""
    return {name: _value(value, known.get(name)) for name, value in named_options(given).items()}


def _value(text: str, like: object) -> Any:
    """Read a value of one parameter; what is not a value stays text, for `replay` to refuse."""
    if isinstance(like, str):  # a layout
        return lane_order(text)
    return read_value(text, like=like)
