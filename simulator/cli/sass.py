"""The command `sass`: compiled kernels, replayed."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import click

from simulator.cli.causes import hottest, show_hottest
from simulator.cli.commands import cli, common
from simulator.cli.completion import among
from simulator.cli.failing import FLAGS, Costs
from simulator.cli.fixing import fix_options, kept_for_diff, show_with_fixes
from simulator.cli.html import html_options, keep
from simulator.cli.options import is_given, refuse_ignored
from simulator.cli.output import Format, Table, show
from simulator.cli.outputs import (
    blocks_for,
    check_arguments,
    check_saved,
    read_checks,
    use_outputs,
)
from simulator.cli.replacing import REPLACED, launches_itself, replaced, typed
from simulator.cli.sources import COMPILER, CompilerCommand, shape
from simulator.cli.timing import check_rules, is_timed, shown_of, table_of, time_option
from simulator.cli.watching import watched
from simulator.results.text import by_rule

if TYPE_CHECKING:
    from simulator.sass.code.launches import FoundLaunch
    from simulator.sass.report import By, CompiledReport

__all__ = ["sass"]


@cli.command(cls=CompilerCommand)
@click.argument("file", required=False)
@click.option("--kernel", help='Symbol or C++ name; for a template "name<64, 64>".')
@click.option("--grid", default="1", show_default=True, help="Blocks: 8, 8x8 or 8x8x8.")
@click.option("--block", default="32", show_default=True, help="Threads: 256, 16x16, …")
@click.option(
    "--arg", "arguments", multiple=True, metavar="ARG",
    help="A kernel parameter, in order: random:f32[1024,1024], zeros:f32[1024,1024], FILE.npy, or a"
    " scalar such as i32=1024.",
)  # fmt: skip
@click.option("--array", "arrays", multiple=True, metavar="NAME=ARRAY",
              help="Make an array. --arg NAME passes it, --arg NAME+16 passes it from element 16"
              " on, --arg tma:NAME:box=128x64:swizzle=128 passes a tensor map of it.")  # fmt: skip
@click.option("--cluster", help="Blocks that run together: 2 or 2x1; by default what the kernel"
              " requires. Of a Triton kernel: num_ctas.")  # fmt: skip
@click.option("--cooperative", is_flag=True, help="All blocks run at once, for grid.sync().")
@click.option("--set", "symbols", multiple=True, metavar="NAME=VALUE",
              help="A __constant__ or __device__ variable; VALUE as for --arg.")  # fmt: skip
@click.option("--let", "lets", multiple=True, metavar="NAME=NUMBER",
              help="Set a variable of FILE's host code; for a pointer, its number of elements"
              " ('*=NUMBER': of all other pointers).")  # fmt: skip
@click.option(
    "--save-outputs", metavar="FOLDER", help="Write the arguments as they are after the run."
)
@click.option("--check", "checks", multiple=True, metavar="ARG=FILE.npy[:TOLERANCE]",
              help="After the run, compare an argument with a file; the first is 0.")  # fmt: skip
@click.option("--shared-bytes", default=0, show_default=True, help="Dynamic shared memory.")
@click.option("--run-blocks", "--blocks", "blocks", default="sample", show_default=True,
              help="sample or all of them; all with --check and --save-outputs.")  # fmt: skip
@click.option(
    "--arch",
    help="sm_75, sm_80, sm_86, sm_87, sm_88, sm_89, sm_90, sm_100, sm_103, sm_110, sm_120 or"
    " sm_121.  [default: the chip's; sm_90]",
    shell_complete=among(lambda: _architectures()),
)
@click.option("--cubin", is_flag=True, help="Refuse FILE unless it is device code.")
@click.option("--by", type=click.Choice(["instruction", "line"]), default="instruction",
              show_default=True, help="One row per instruction or per line.")  # fmt: skip
@click.option(
    "--max-instructions",
    type=click.IntRange(1),
    help="Stop after this many warp instructions of the launch.",
)
@click.option("--list", "listing", is_flag=True, help="List the kernels in FILE.")
@click.option("--triton", metavar="FILE.py[:KERNEL]", help="Launch a kernel as Triton does."
              " Without KERNEL, replay every launch of the script. FILE is executed.")  # fmt: skip
@click.option("--constexpr", "constexprs", multiple=True, metavar="NAME=VALUE",
              help="A constant of a Triton kernel.")  # fmt: skip
@click.option("--config", default="all", show_default=True,
              help="Config of triton.autotune: all, a number, BLOCK_M=64,num_warps=4.")  # fmt: skip
@click.option("--signature", metavar="TYPES",
              help="Of a Triton kernel: *fp32,*fp32,i32,64 (numbers: constexpr).")  # fmt: skip
@click.option("--num-warps", "--warps", "warps", type=click.IntRange(1),
              help="Warps of a Triton kernel, as num_warps.")  # fmt: skip
@click.option("--stages", type=click.IntRange(0), help="Stages of a Triton kernel, as num_stages.")
@time_option
@common
@html_options
@fix_options
def sass(
    *, rules: Sequence[str], output: Format, listing: bool, **options: Any
) -> dict[str, Costs]:
    """Execute a compiled kernel on the CPU and count its shared-memory instructions.

    FILE is CUDA source, PTX, a cubin, a fatbinary, an object or a library. Without a launch on the
    command line, every launch of a source's host code is replayed. The exit code is 2 if a launch
    cannot be replayed.
    """
    _check_options(listing=listing, triton=options["triton"], kernel=options["kernel"])
    check_rules(rules)
    options["blocks"] = blocks_for(options)
    options["checks"] = read_checks(options["checks"])
    check_saved(options)
    from simulator.law.chips import optional_chip
    from simulator.sass.replay import arch_for

    options["chip"] = optional_chip(options["chip"])
    options["arch"] = arch_for(options["arch"], options["chip"])
    if listing and options["triton"]:
        from simulator.cli.triton import list_triton

        listed, text = list_triton(options["triton"])
        show(Table(listed, {"kernels": len(listed)}, sums=[], text=text), output)
        return dict.fromkeys(rules, Costs())
    given, kernel = _given(options)
    if listing:
        from simulator.cli.listing import list_kernels

        list_kernels(given, options, kernel, output)
        return dict.fromkeys(rules, Costs())
    from simulator.sass.arguments import argument

    symbols = dict(_symbol(text) for text in options["symbols"])
    compiler = click.get_current_context().meta[COMPILER]
    if launches_itself(options):
        refuse_ignored(("arrays",), "without --arg")
        launched = _run_file(options, symbols, compiler, rules, output)
        if launched is not None:
            return launched
    refuse_ignored(("lets",), "where a launch is given")
    arrays = _arrays(options["arrays"])
    texts = (
        options["arguments"] if options["triton"] else typed(options["arguments"], given, kernel)
    )
    arguments = [argument(text, place, arrays) for place, text in enumerate(texts)]
    if options["triton"]:
        return _run_triton(options, arguments, rules, output)
    launch = {
        "kernel": kernel, "grid": shape(options["grid"], "--grid"),
        "block": shape(options["block"], "--block"), "shared_bytes": options["shared_bytes"],
        "blocks": options["blocks"], "arch": options["arch"], "chip": options["chip"],
        "max_instructions": options["max_instructions"], "symbols": symbols, "options": compiler,
        "cluster": shape(options["cluster"], "--cluster") if options["cluster"] else None,
        "cooperative": options["cooperative"],
    }  # fmt: skip
    check_arguments(options["checks"], arguments)
    if not (arguments or options["triton"]):
        from simulator.cli.listing import ask_for_arguments

        ask_for_arguments(given, options, kernel)
    reports = {rule: _replay(given, args=arguments, rule=rule, **launch) for rule in rules}
    for name, said in (("grid", "1 block"), ("block", "32 threads")):
        if not is_given(name):
            click.echo(f"bankwise: assumed {said}, because no --{name} was given", err=True)
    _show_reports(reports, output, options["by"])
    if output in ("table", "md") and not options["fix_diff"]:
        first = reports[rules[0]]
        show_hottest(hottest(first, first.title))
    use_outputs(options, next(iter(reports.values())))
    return {rule: Costs.of(each.totals()["all"]) for rule, each in reports.items()}


def _architectures() -> tuple[str, ...]:
    from simulator.sass.architectures import Arch

    return get_args(Arch)


def _run_triton(
    options: dict[str, Any], arguments: list[Any], rules: Sequence[str], output: Format
) -> dict[str, Costs]:
    """Replay what Triton launches."""
    from simulator.cli.triton import triton_launches
    from simulator.errors import LaunchError

    common = {name: options[name] for name in ("blocks", "arch", "chip", "max_instructions")}
    found = {
        rule: watched(
            lambda **say: triton_launches(options, arguments, **common, **say),
            rule=rule,
        )
        for rule in rules
    }
    if not any(found.values()):
        raise LaunchError(f"{options['triton']} launched no kernel")
    check_saved(options, len(next(iter(found.values()))))
    told = _Told(options, output)
    for launches in zip(*found.values(), strict=True):
        reports = dict(zip(rules, launches, strict=True))
        told.tell(reports)
    return told.finish(rules)


def _symbol(text: str) -> tuple[str, Any]:
    from simulator.sass.arguments import argument

    name, equals, value = text.partition("=")
    if not equals or not re.fullmatch(r"[\w:]+", name):
        raise click.BadParameter(
            f"{text!r} (accepted: NAME=random:f32[64], NAME=FILE.npy, NAME=i32=4)",
            param_hint="--set",
        )
    return name, argument(value)


def _arrays(texts: Sequence[str]) -> dict[str, Any]:
    """Read the arrays that arguments name."""
    import numpy as np

    from simulator.sass.arguments import NAMED_FROM, argument

    found: dict[str, Any] = {}
    for place, text in enumerate(texts):
        name, equals, value = text.partition("=")
        array = argument(value, NAMED_FROM + place) if equals and name.isidentifier() else None
        if not isinstance(array, np.ndarray) or name in found:
            raise click.BadParameter(
                f"{text!r} (accepted: NAME=random:f16[64,64], NAME=FILE.npy, each name once)",
                param_hint="--array",
            )
        found[name] = array
    return found


def _run_file(
    options: dict[str, Any], symbols: dict[str, Any], compiler: Sequence[str],
    rules: Sequence[str], output: Format,
) -> dict[str, Costs] | None:  # fmt: skip
    """Replay the launches that a source makes; None: it has none to put the options in."""
    from simulator.cli.sources import assumed, check_compiles, run_launches
    from simulator.sass.architectures import architecture
    from simulator.sass.code.device import device_for
    from simulator.sass.code.options import parse_options
    from simulator.sass.found import launches_in, wanted_launches

    path = Path(options["file"])
    architecture(options["arch"])  # refused once, not at each launch

    def replay(_: Any, launch: dict[str, Any]) -> dict[str, CompiledReport]:
        launch |= {"symbols": {**launch["symbols"], **symbols}}
        check_arguments(options["checks"], launch["args"])
        common = {name: options[name] for name in ("blocks", "arch", "chip", "max_instructions")}
        return {
            rule: _replay(path, rule=rule, options=compiler, **common, **launch) for rule in rules
        }

    told = _Told(options, output)

    def tell(launch: FoundLaunch, reports: dict[str, CompiledReport]) -> None:
        told.tell(reports, {"kernel": launch.kernel, "grid": launch.grid, "block": launch.block})

    device = device_for(options["chip"], options["arch"])
    launches = launches_in(path, parse_options(compiler), assumed(options["lets"]), device)
    if any(map(is_given, REPLACED)):
        if not wanted_launches(launches, path.name, options["kernel"])[0]:
            return None
        launches = replaced(launches, options)
    check_saved(options, len(wanted_launches(launches, path.name, options["kernel"])[0]))
    failed = run_launches(
        launches, options["file"], options["kernel"], replay, tell,
        compiles=lambda: check_compiles(options["file"], options["arch"], compiler),
        hot=told.tables and not options["fix_diff"],
    )  # fmt: skip
    costs = told.finish(rules)
    if failed:
        part = f"{failed} of {len(launches.launches)} launches"
        click.echo(f"bankwise: {part} could not be replayed, and may have bank conflicts", err=True)
    return {rule: each._replace(not_replayed=failed) for rule, each in costs.items()}


class _Told:
    """Several launches, told one after the other; as JSON and CSV in one table."""

    def __init__(self, options: dict[str, Any], output: Format) -> None:
        self.options, self.output = options, output
        self.tables = output in ("table", "md")
        self.rows: list[dict[str, Any]] = []
        self.times: list[dict[str, Any]] = []
        self.costs: dict[str, Costs] = {}
        self.notes: dict[str, None] = {}

    def tell(self, reports: dict[str, CompiledReport], place: dict[str, Any] | None = None) -> None:
        """Show a launch, by rule, or add its rows; save and check what it left."""
        for rule, report in reports.items():
            more = Costs.of(report.totals()["all"])
            self.costs[rule] = self.costs.get(rule, Costs()).plus(more)
            self.notes |= dict.fromkeys(report.notes)
        if self.tables:
            _show_reports(reports, self.output, self.options["by"])
        else:
            keep(*reports.values())
            for rule, report in reports.items():
                sizes = ("x".join(map(str, size)) for size in (report.grid, report.block))
                found = dict(zip(("kernel", "grid", "block"), (report.title, *sizes), strict=True))
                table = table_of(report, self.options["by"])
                self.rows.extend({**(place or found), **row, "rule": rule} for row in table.rows)
                if is_timed():
                    self.times.append({**table.totals, **(place or found), "rule": rule})
        use_outputs(self.options, next(iter(reports.values())))

    def finish(self, rules: Sequence[str]) -> dict[str, Costs]:
        """Show the rows that were added; give the costs by rule."""
        if not self.tables:
            sums = {
                rule: {"bank_conflicts": each.bank_conflicts} for rule, each in self.costs.items()
            }
            totals: dict[str, Any] = {**(sums if len(rules) > 1 else sums[rules[0]])}
            if is_timed():
                totals = {"launches": self.times}
            else:
                totals["notes"] = list(self.notes)
            show(Table(self.rows, totals), self.output)
        return self.costs


def _check_options(*, listing: bool, triton: str | None, kernel: str | None) -> None:
    """Refuse what would be ignored: Triton says some of it itself, and a list executes nothing."""
    if triton is None:
        of_triton = ("signature", "warps", "stages", "constexprs", "config")
        refuse_ignored(of_triton, "without --triton")
    else:
        ignored = ("kernel", "block", "shared_bytes", "cubin", "symbols", "cooperative", "lets")
        refuse_ignored(ignored, "with --triton")
    if listing:
        launch = ["grid", "block", "arguments", "shared_bytes", "blocks", "by", "max_instructions"]
        if "<" not in (kernel or ""):  # else it says what to make of a template
            launch.append("kernel")
        launch += ["symbols", "cooperative", "lets", "save_outputs", "checks"]
        launch += ["fix", "fix_diff", "write", "time"]
        refuse_ignored((*launch, "html", "rule", "compare", *FLAGS), "with --list")


def _given(options: dict[str, Any]) -> tuple[Any, str | None]:
    """Return what to replay, and the kernel's name."""
    if options["triton"]:
        if options["file"]:
            raise click.UsageError(
                "FILE and --triton both say what to replay (accepted: one of them)"
            )
        return None, None
    if not options["file"]:
        raise click.UsageError("no FILE given (accepted: CUDA source, a cubin, an object)")
    from simulator.sass.code.images import is_device_code, load

    path = Path(options["file"])
    if options["cubin"] and not is_device_code(path):
        raise click.UsageError(f"{path} is not device code, as --cubin says it is")
    if is_given("arch") and is_device_code(path):  # compiled already, perhaps for another
        cubin, _ = load(path, options["arch"], options["kernel"])
        if cubin.architecture.name != options["arch"]:
            raise click.UsageError(
                f"--arch {options['arch']}: {path} is for {cubin.architecture.name} (accepted:"
                f" {cubin.architecture.name}, or no --arch)"
            )
    return path, options["kernel"]


def _replay(given: Any, **launch: Any) -> CompiledReport:
    from simulator.sass.replay import replay_compiled

    return watched(lambda **say: replay_compiled(given, **say), **launch)


def _show_reports(reports: dict[str, CompiledReport], output: Format, by: By) -> None:
    """Print a table of all rules, and keep the reports for a page."""
    keep(*reports.values())
    if kept_for_diff(reports):
        return
    if output in ("json", "csv"):  # where there is no room for them
        for note in next(iter(reports.values())).notes:
            click.echo(f"bankwise: {note}", err=True)
    made = table_of if output in ("json", "csv") else shown_of
    table = by_rule({rule: made(each, by) for rule, each in reports.items()})
    show_with_fixes(table, reports, output)
