"""The commands: simulate, count, ops. Each imports what it needs when it runs."""

from __future__ import annotations

import difflib
import functools
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from importlib import import_module
from typing import TYPE_CHECKING, Any

import click

from simulator.cli.completion import ElementSize, among, chips, fragments, lane_orders, rules
from simulator.cli.completion import ops as ops_
from simulator.cli.failing import Costs, fail_options
from simulator.cli.help import (
    COMMANDS,
    example,
    is_asked,
    refuse_options_first,
    write_commands,
)
from simulator.cli.html import ARGUMENTS, html_options, is_drawn, keep
from simulator.cli.output import FORMATS, Format, Table, drop_unprinted, show, show_results

if TYPE_CHECKING:
    from simulator.law.instructions import Rule

__all__ = ["access_options", "chip_option", "cli", "common", "format_option", "main", "rule_option"]

_Command = Callable[..., Any]
_READER_GONE = 128 + 13  # what shells report of a program that SIGPIPE ended


def main(args: Sequence[str] | None = None) -> int:
    """Run the command line, and return the exit code.

    0; 1 for what --fail-on-conflict, --fail-on-excess or --fail-if-worse found, a limit that
    `check` found broken, or a sweep of which no combination exists; 2 for bad input, or a launch
    of a file that `sass` could not replay; 130 for Ctrl-C; 141 where the reader went away, as of
    `bankwise ops | head -1`.
    """
    from layouts.errors import BankwiseError, ExpressionError, LayoutError
    from simulator.errors import SassError

    try:
        code = cli.main(args, prog_name="bankwise", standalone_mode=False)
        if sys.stdout is not None:  # as it is where the shell has closed it
            sys.stdout.flush()
    except click.NoSuchOption as error:
        near = [each.lstrip("-") for each in error.possibilities or ()]
        found = difflib.get_close_matches(error.option_name.lstrip("-"), near, cutoff=0.7)
        error = click.NoSuchOption(
            error.option_name, possibilities=[f"--{each}" for each in found], ctx=error.ctx
        )
        hint = " (put -- before an expression that begins with -)"
        return _fail(error.format_message() + hint * (error.option_name[:2] != "--"))
    except click.ClickException as error:
        return _fail(error.format_message())
    except ExpressionError as error:
        click.echo(f"bankwise: {error}", err=True)  # its caret needs lines of its own
        return 2
    except (SassError, LayoutError) as error:  # lines and carets of their own, commands to copy
        for line in f"bankwise: {error}".splitlines():
            click.echo("".join(char if char.isprintable() else " " for char in line), err=True)
        return 2
    except BankwiseError as error:
        return _fail(str(error))
    except BrokenPipeError:
        return _READER_GONE
    except OSError as error:
        drop_unprinted()
        return _fail(f"cannot write: {error.strerror}")
    except click.Abort:
        return 130
    except SystemExit:  # click's, with a 1, which would mean a conflict
        return _READER_GONE
    return int(code or 0)


def _fail(message: str) -> int:
    line = "".join(char if char.isprintable() else " " for char in message)
    click.echo(f"bankwise: {line}", err=True)
    return 2


def _print_version(context: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted and not context.resilient_parsing:
        from importlib.metadata import version

        click.echo(f"bankwise {version('bankwise')}")
        context.exit()


_AS_OPTIONS = {"help": "--help", "version": "--version"}
"""Words that people try where others have an option."""


class _Root(click.Group):
    """Remembers the words of the command, for a report to say what made it.

    A first word that is a question in C is one for `explain`.
    """

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name in COMMANDS:
            import_module(f"simulator.cli.{COMMANDS[cmd_name][0]}")
        command = super().get_command(ctx, cmd_name)
        if command is not None and command.epilog is None and cmd_name in COMMANDS:
            command.epilog = example(cmd_name)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        write_commands(self, ctx, formatter)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        ctx.meta[ARGUMENTS] = list(args)
        if args and args[0] in _AS_OPTIONS:
            word, *rest = args
            args = [*rest, _AS_OPTIONS[word]]
        if args and args[0] not in COMMANDS and is_asked(args[0]):
            question, *options = args
            args = ["explain", *options, "--", question]  # which may begin with a minus
        refuse_options_first(self, ctx, args)
        return super().parse_args(ctx, args)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        word = args[0]
        if word not in COMMANDS and not word.startswith("-"):
            from layouts.errors import accepted
            from simulator.inputs.files import replays

            if not word.strip():
                ctx.fail(
                    "the question is empty (accepted: a question in C, such as"
                    " 'float s[32][32]; s[threadIdx.x][threadIdx.y]', or a command)"
                )
            if command := replays(word):
                ctx.fail(f"No such command {word!r}: to replay a file: bankwise {command}")
            question = "" if word.isidentifier() else f"; bankwise explain {word!r} asks it in C"
            ctx.fail(f"No such command {word!r}: {accepted(word, COMMANDS)}{question}.")
        return super().resolve_command(ctx, args)


@click.group(
    cls=_Root, invoke_without_command=True, context_settings={"help_option_names": ["-h", "--help"]}
)
@click.option(
    "-V", "--version", is_flag=True, is_eager=True, expose_value=False, callback=_print_version
)
@click.pass_context
def cli(context: click.Context) -> None:
    """NVIDIA shared-memory bank conflicts and warp layouts, by the law measured on silicon.

    A question in C needs no command. COMMAND --help says more about a command.
    """
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


def common(command: _Command) -> _Command:
    """Add the options that every counting command has, and the exit code of --fail-on-….

    The command returns its costs by each rule.
    """

    @rule_option
    @chip_option
    @click.option("--both-rules", "--compare", "compare", is_flag=True, help="Show both rules.")
    @fail_options
    @format_option
    @functools.wraps(command)
    def wrapped(*, rule: Rule, compare: bool, **options: Any) -> Costs:
        from simulator.law.counting import check_rule
        from simulator.law.instructions import RULES

        check_rule(rule)
        costs: dict[str, Costs] = command(rules=RULES if compare else (rule,), **options)
        return costs[rule]

    return wrapped


def rule_option(command: _Command) -> _Command:
    """Add --rule."""
    return click.option(
        "--rule",
        default="silicon",
        show_default=True,
        help="silicon or documented.",
        shell_complete=among(rules),
    )(command)


def chip_option(command: _Command) -> _Command:
    """Add --chip."""
    return click.option(
        "--chip",
        metavar="CHIP",
        help="One of `bankwise chips`, or a FILE.json.  [default: H200]",
        shell_complete=among(chips),
    )(command)


def format_option(command: _Command) -> _Command:
    """Add --format, which the command gets as `output`."""
    return click.option(
        "--format", "output", type=click.Choice(FORMATS), default="table", show_default=True
    )(command)


@cli.command()
@click.option("--warp-shape", default="4x8", show_default=True, help="Rows x columns, 32 lanes.")
@click.option("--lds", default=128, show_default=True, help="Bits a load reads: 32, 64 or 128.")
@click.option("--thread-tile", default="8x8", show_default=True, help="MxN.")
@click.option("--block-tile", default="128x128x8", show_default=True, help="MxNxK.")
@click.option(
    "--lane-order",
    shell_complete=among(lane_orders),
    default="col-major",
    show_default=True,
    help="row-major, col-major, z-order, or 32 integers: row*C + col of each lane.",
)
@click.option(
    "--fragment",
    default="contiguous",
    show_default=True,
    help="contiguous or split.",
    shell_complete=among(fragments),
)
@click.option(
    "--a-layout",
    shell_complete=among(lambda: ("transposed", "row-major")),
    default="transposed",
    show_default=True,
    help="How A lies in shared memory: transposed or row-major.",
)
@click.option(
    "--pad",
    default="0,0",
    show_default=True,
    help="Padding elements after each row: N, or A=N,B=N.",
)
@click.option("--swizzle", help="B,M,S for both tiles, or A=B,M,S,B=none.")
@click.option(
    "--layout",
    help="Layout of both tiles: text of CuTe or Triton, or C of row and col; or A=TEXT,B=TEXT.",
)
@click.option("--element", default=4, show_default=True, help="Bytes per element: 4, 2 or 1.")
@common
@html_options
def simulate(*, rules: Sequence[Rule], output: Format, **options: Any) -> dict[str, Costs]:
    """Count the shared-memory reads of one warp of a GEMM, for one k step."""
    from simulator.cli.options import lane_order, layout, pad, swizzle
    from simulator.gemm.simulate import simulate as run

    options["lane_order"] = lane_order(options["lane_order"])
    options["pad"] = pad(options["pad"])
    options["swizzle"] = swizzle(options["swizzle"])
    options["layout"] = layout(options["layout"])
    reports: dict[str, Any] = {rule: run(rule=rule, **options) for rule in rules}
    keep(*reports.values())
    show_results(reports, output)
    return {rule: Costs.of(report.to_dict()["totals"]) for rule, report in reports.items()}


def access_options(command: _Command) -> _Command:
    """Add what count and explain have in common: where the accesses come from."""
    options = [
        click.argument("accesses", required=False),
        click.option(
            "--op",
            help="Instruction: SASS, PTX or alias (`bankwise ops`).  [default: by the type]",
            shell_complete=among(ops_),
        ),
        click.option(
            "--element",
            type=ElementSize(),
            help="Bytes per element of the index expression, or its type.  [default: 4]",
        ),
        click.option(
            "--layout",
            help="Where element ROW, COL is: text of CuTe or Triton, or C such as 'row*33 + col'.",
        ),
        click.option(
            "-D",
            "names",
            multiple=True,
            metavar="NAME=VALUE",
            help="Give a name of the expression a value.",
        ),
        click.option(
            "--block",
            metavar="XxYxZ",
            help="Threads of the block.  [default: one warp; 32x32 if threadIdx.y is named]",
        ),
        click.option("--active", help="Expression: lanes for which it is 0 are inactive."),
        click.option("--mask", help="Active lanes, bit l for lane l, such as 0xffff."),
    ]
    for option in reversed(options):
        command = option(command)
    return command


@cli.command()
@access_options
@click.option(
    "--warps", type=click.IntRange(1, 32), help="Warps to count for an expression.  [default: 1]"
)
@common
@html_options
def count(
    *, rules: Sequence[Rule], output: Format, warps: int | None, chip: str | None, **options: Any
) -> dict[str, Costs]:
    """Count warp accesses.

    ACCESSES is a question in C, which is a declaration and an access: 'float s[32][33];
    s[threadIdx.x][threadIdx.y]'. Its warps are counted one by one. Or it is an index of elements,
    such as '(lane/8)*132 + lane%8*4', with --op. With --layout it is a row and a column, such as
    'lane%16, lane/16*8'. It can also be a file of byte addresses: NAME.csv, NAME.npy or NAME.npz.
    The default, -, reads such data from standard input.
    """
    from simulator.cli.counting import count_by_op, said, worst
    from simulator.cli.options import read_accesses
    from simulator.inputs.asked import AskedAccess
    from simulator.inputs.files import asked_accesses
    from simulator.law.chips import optional_chip
    from simulator.law.counting import totals as sum_of
    from simulator.results.columns import law_columns
    from simulator.results.text import by_rule

    chosen = optional_chip(chip)
    accesses = read_accesses(
        None if warps is None else range(warps),
        warp_flag="--warps" if warps else None,
        chip=chosen,
        **options,
    )
    asked = accesses if isinstance(accesses, AskedAccess) else None
    if isinstance(accesses, AskedAccess):
        accesses = asked_accesses(accesses)
    tables: dict[str, Table] = {}
    totals: dict[str, dict[str, Any]] = {}
    told = output in ("table", "md")
    for rule in rules:
        found: list[dict[str, Any]] = [{} for _ in accesses.ops]
        each, answers = [], []
        law = law_columns(rule, None if chosen is None else chosen.name)
        for op, where, counts in count_by_op(accesses, rule, chosen):
            each.append(counts)
            for access, row in zip(where.tolist(), counts.table().rows, strict=True):
                row["access"] = access  # its number among those of all instructions
                found[access] = {"access": access, "op": op, **row, **law}
            if is_drawn() or told:
                answers.append(worst(accesses, asked, counts, where, rule, chosen))
        keep(*answers)
        totals[rule] = sum_of(each)
        notes = () if chosen is None else chosen.law_notes
        text = [*said(answers, asked), *notes] if told else ()
        more = {"notes": list(notes)} if notes else {}
        tables[rule] = Table(found, {**totals[rule], **more}, text=text, hidden=tuple(law))
    show(by_rule(tables), output)
    return {rule: Costs.of(total) for rule, total in totals.items()}


@cli.command()
@chip_option
@format_option
@html_options
def ops(*, chip: str | None, output: Format) -> int:
    """List the instructions, with the rules that each follows."""
    from simulator.law.chips import optional_chip
    from simulator.law.instructions import INSTRUCTIONS

    chosen = optional_chip(chip)
    rows = [
        {
            "op": known.name,
            "aliases": ", ".join(known.aliases),
            "width": known.width,
            "phases": known.phases,
            "fuses": known.fuses,
            "partners": " ".join(f"i^{p}" for p in known.partners) if known.fuses else "",
            "merges": known.merges,
            "passes": known.passes,
            "ideal": "by bytes" if known.fixed_ideal is None else str(known.fixed_ideal),
            "phase_cycles": known.phase_cycles,
            "least_cycles": " ".join(map(str, filter(None, known.least_cycles))),
        }
        for known in (INSTRUCTIONS.values() if chosen is None else chosen.table)
    ]
    text = (
        "phases: groups of lanes served one after the other. fuses: phases become fewer when,"
        " throughout the warp, all active lanes and their partners have the same address, for one"
        " kind of partners: i^1 of lane i, or i^2."
        " merges equal words: lanes on one word cost one; where not, each active lane counts."
    )
    table = Table(rows, {"instructions": len(rows)}, sums=[], text=[text])
    law = "an H200" if chosen is None else chosen.name
    keep(replace(table, title=f"{len(rows)} instructions of shared memory, by the law of {law}"))
    show(table, output)
    return 0
