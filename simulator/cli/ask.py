"""The command `explain`, which a question in C alone calls, too."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from simulator.cli.commands import access_options, cli, common
from simulator.cli.failing import Costs
from simulator.cli.html import html_options, keep
from simulator.cli.output import Format, color, show, show_tables

if TYPE_CHECKING:
    from simulator.asking.answer import Answer
    from simulator.law.instructions import Rule

__all__ = ["explain", "show_answers"]


@cli.command()
@access_options
@click.option(
    "--warp", type=click.IntRange(0, 31), help="Warp to explain.  [default: the worst of the block]"
)
@click.option(
    "--row", "--access", "access", type=click.IntRange(0), help="Row of a file.  [default: 0]"
)
@click.option("--verbose", "-v", is_flag=True, help="Also show what each wavefront serves.")
@common
@html_options
def explain(
    *,
    rules: Sequence[Rule],
    output: Format,
    warp: int | None,
    access: int | None,
    verbose: bool,
    chip: str | None,
    **options: Any,
) -> dict[str, Costs]:
    """Explain an access: verdict, cause, banks, price, cure, figures.

    ACCESSES is given as for `bankwise count`. A question in C needs no command:

        bankwise 'float s[32][32]; s[threadIdx.x][threadIdx.y]'
    """
    from simulator.asking import ask
    from simulator.cli.options import one_access, read_accesses
    from simulator.errors import InputError
    from simulator.inputs.asked import AskedAccess
    from simulator.law.chips import optional_chip

    chosen = optional_chip(chip)
    flag = None if warp is None else "--warp"
    accesses = read_accesses(
        None if warp is None else range(warp, warp + 1), warp_flag=flag, chip=chosen, **options
    )
    answers: dict[str, Answer]
    if isinstance(accesses, AskedAccess):
        if access:
            raise InputError(f"no access {access} (accepted: 0 to 0)")
        answers = {rule: ask.answer(accesses, rule) for rule in rules}
    else:
        op, addresses, mask = one_access(accesses, access)
        answers = {rule: ask.explain(op, addresses, mask, rule=rule, chip=chosen) for rule in rules}
    keep(*answers.values())
    show_answers(answers, output, verbose=verbose)
    return {rule: Costs(each.bank_conflicts, each.excessive) for rule, each in answers.items()}


def show_answers(answers: dict[str, Answer], output: Format, *, verbose: bool = False) -> None:
    """Print answers by their rule, as `str` does; `verbose` adds their tables."""
    if output in ("json", "csv"):
        from simulator.results.text import by_rule

        show(by_rule({rule: each.table() for rule, each in answers.items()}), output)
        return
    colors = color()
    for number, (rule, each) in enumerate(answers.items()):
        if number:
            click.echo()
        if len(answers) > 1:
            click.echo(f"By the {rule} rule:\n")
        click.echo(each.markdown() if output == "md" else each.terminal(), color=colors)
        if verbose:
            click.echo()
            show_tables([table.with_rule() for table in each.details()], output)
