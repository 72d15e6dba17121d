"""The command `compare`: questions, layouts, geometries and kernels beside each other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from simulator.cli.commands import chip_option, cli, format_option, rule_option
from simulator.cli.completion import ElementSize, among, ops
from simulator.cli.help import COMMANDS
from simulator.cli.html import html_options, kept
from simulator.cli.output import Format, show_results

__all__ = ["compare"]


@cli.command()
@click.argument("inputs", nargs=-1, required=True)
@click.option("--op", help="Instruction of questions and layouts.", shell_complete=among(ops))
@click.option("--index", help="ROW, COLUMN of each thread, for layouts: 'lane%16, lane/16*8'.")
@click.option("--element", type=ElementSize(), help="Bytes per element of a layout, or its type.")
@click.option("--block", metavar="XxYxZ", help="Threads of the block, as for `explain`.")
@click.option("--time", is_flag=True, help="For 'sass …': also estimate how long each takes.")
@rule_option
@chip_option
@click.option(
    "--fail-if-worse",
    is_flag=True,
    help="Exit 1 if another has more bank conflicts or wavefronts than the first, or is slower.",
)
@format_option
@html_options
def compare(
    *, inputs: Sequence[str], fail_if_worse: bool, output: Format, rule: Any, **options: Any
) -> int:
    """Compare two or more inputs: a table of differences from the first, and pictures.

    Each of INPUTS is a question in C; a layout in the notation of CuTe or Triton, with --op and
    --index; a warp shape such as 4x8; a kernel's name; or a command in quotes. Write the command
    without "bankwise": 'simulate --pad 4' or 'sass k.cu --kernel transpose'.
    """
    from simulator.asking.compare import compare as run
    from simulator.law.counting import check_rule

    check_rule(rule)
    if len(inputs) < 2:
        raise click.UsageError("only one input was given (accepted: two or more, to compare)")
    before = len(kept())  # a report may have kept others
    given = [_result(each) if each.split()[:1] and each.split()[0] in COMMANDS else each
             for each in inputs]  # fmt: skip
    found = run(*given, names=inputs, rule=rule, **options)
    kept()[before:] = [found]
    show_results({rule: found}, output)
    return int(fail_if_worse and found.worse)


def _result(command: str) -> object:
    """Run a command for its one result."""
    from simulator.cli.reports import run_input

    before = len(kept())
    run_input(command)
    results = kept()[before:]
    if len(results) != 1:
        raise click.UsageError(
            f"input {command!r} has {len(results)} results (accepted: one; {_how(results)})"
        )
    return results[0]


def _how(results: Sequence[Any]) -> str:
    """Say how a command comes to one result."""
    if len({getattr(each, "rule", "") for each in results}) > 1:
        return "leave out --both-rules"
    kernels = list(dict.fromkeys(str(each.title) for each in results))
    if len(kernels) > 1:
        return f"add --kernel and one of these: {', '.join(kernels)}"
    return f"give one launch of {kernels[0]} by --kernel, --grid, --block and --arg"
