"""`bankwise sass my.cu` without more: every launch of the file; and lists of its kernels."""

from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from simulator.cli.causes import hottest, show_hottest

if TYPE_CHECKING:
    from simulator.sass.code.launches import FoundLaunch, Launches
    from simulator.sass.report import CompiledReport

__all__ = [
    "COMPILER",
    "CompilerCommand",
    "assumed",
    "check_compiles",
    "commands",
    "run_launches",
    "shape",
]  # fmt: skip

COMPILER = "bankwise.compiler"
"""Where the compiler's options are kept while the command line is read."""

_WITH_VALUE = ("-I", "-D", "-U", "-std", "--std", "-maxrregcount", "--maxrregcount", "-include",
               "--compiler", "--compile-timeout")  # fmt: skip
_FLAGS = ("-use_fast_math", "--use_fast_math", "-default-device", "--default-device",
          "--expt-relaxed-constexpr", "--extended-lambda", "--expt-extended-lambda",
          "-device-int128", "--device-int128")  # fmt: skip


class CompilerCommand(click.Command):
    """Takes the compiler's options out of the command line, as nvcc spells them."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Keep -I, -D, -U, -std …, and all after `--`, for the compiler."""
        kept, taken, todo = [], [], list(args)
        while todo:
            text = todo.pop(0)
            name = text.split("=")[0]
            if text == "--":
                taken += todo
                break
            if text in _FLAGS or (text[:2] in ("-I", "-D", "-U") and len(text) > 2):
                taken.append(text)
            elif name in _WITH_VALUE:
                taken.append(text)
                if "=" not in text:
                    if not todo:
                        raise click.UsageError(f"{text} needs a value", ctx)
                    taken.append(todo.pop(0))
            else:
                kept.append(text)
        ctx.meta[COMPILER] = tuple(taken)
        try:
            return super().parse_args(ctx, kept)
        except click.UsageError as error:
            if "unexpected extra argument" not in error.message:
                raise
            raise click.UsageError(
                f"{error.message}: sass takes one FILE (accepted: a command for each; next, to"
                " compare two: bankwise compare 'sass a.cu' 'sass b.cu')", ctx,
            ) from None  # fmt: skip

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Add the compiler's options to --help."""
        super().format_options(ctx, formatter)
        with formatter.section("Compiler options, as nvcc has them"):
            formatter.write_dl([
                ("-I FOLDER, -D NAME[=VALUE], -U NAME", "Headers and macros."),
                ("-std c++20, --use_fast_math, -maxrregcount N, -default-device", ""),
                ("--compiler nvcc", "Use nvcc and a host compiler. NVRTC needs neither."),
                ("--compile-timeout SECONDS", "Most time for the compiler: 600 by default."),
                ("-- OPTION …", "Any other option of the compiler."),
            ])  # fmt: skip


def commands(launches: Launches, file: str, kernel: str | None = None) -> list[str]:
    """Return a command to edit and run for each kernel of a file, with its parameters above it."""
    from simulator.sass.code.launches import FoundLaunch
    from simulator.sass.code.placeholders import placeholder
    from simulator.sass.found import is_launch_of, plain_name

    said = []
    for name, listed in launches.kernels.items():
        for signature in dict.fromkeys(listed):
            if kernel is not None and plain_name(kernel) not in (name, signature.name):
                continue
            said.append(str(signature))
            launched = [each for each in launches.launches if each.signature == signature]
            found = [each for each in launched if kernel is None or is_launch_of(each, kernel)]
            if not found:
                shown = f"<{', '.join('…' for _ in signature.template)}>"
                shown = "".join((kernel or "").partition("<")[1:]) or shown
                found = [
                    FoundLaunch(
                        signature.full_name + (shown if signature.template else ""), signature.line,
                        "<grid>", "<block>", "0", placeholder(signature, launches.types), (),
                        signature,
                    )
                ]  # fmt: skip
            for each in found:
                said.append(f"  {_command(each, file)}")
                if each.unknown:
                    said.append(f"    to fill in: {', '.join(each.unknown)}")
            if launched and found[0] not in launched:
                others = dict.fromkeys(each.kernel for each in launched)
                said.append(f"    the file launches {', '.join(others)}")
    return said


def _command(launch: FoundLaunch, file: str) -> str:
    """Return the command that replays a launch, with the compiler's options that were given."""
    given = click.get_current_context().meta.get(COMPILER, ())
    if not given:
        return launch.command(file)
    known = all(
        text[:1] != "-" or text in _FLAGS or text[:2] in ("-I", "-D", "-U")
        or text.split("=")[0] in _WITH_VALUE
        for text in given
    )  # fmt: skip
    return f"{launch.command(file)} {'' if known else '-- '}{shlex.join(given)}"


def shape(text: str, flag: str) -> tuple[int, ...]:
    """Read a grid or a block; raises BadParameter, which names the flag."""
    from simulator.errors import LaunchError
    from simulator.sass.found import extents

    try:
        return extents(text.strip(), flag)
    except LaunchError as error:
        raise click.BadParameter(str(error).removeprefix(f"{flag} "), param_hint=flag) from None


def assumed(texts: Sequence[str]) -> dict[str, int | float]:
    """Read --let; raises BadParameter for what is not NAME=NUMBER."""
    found: dict[str, int | float] = {}
    for text in texts:
        name, _, value = text.rpartition("=")
        if not re.fullmatch(r"\*|\*?[A-Za-z_][\w.:>()-]*", name) or not re.fullmatch(
            r"-?\d+(\.\d*)?(e-?\d+)?", value
        ):
            raise click.BadParameter(
                f"{text!r} (accepted: NAME=NUMBER, such as N=1024, or '*=NUMBER')",
                param_hint="--let",
            )
        found[name] = int(value) if value.lstrip("-").isdigit() else float(value)
    return found


_RANDOM = (
    "Host code is read for sizes but not run, so arrays hold random data. If addresses depend on"
    " the data, give your program's data (accepted: FILE.npy in place of random:…)"
)


def run_launches(
    launches: Launches,
    file: str,
    kernel: str | None,
    replay: Callable[[FoundLaunch, dict[str, Any]], dict[str, CompiledReport]],
    show: Callable[[FoundLaunch, dict[str, CompiledReport]], None],
    compiles: Callable[[], None],
    hot: bool = True,
) -> int:
    """Replay each launch that is known in full, and ask for the rest by name.

    Gives how many of the launches in the file could not be replayed; `hot` prints the lines with
    most conflicts at the end. Raises SassError where nothing could be replayed: what `compiles`
    raises first, as no launch helps a source that does not compile.
    """
    from simulator.errors import CompileError, MemoryAccessError, SassError
    from simulator.sass.found import launch_of, wanted_launches

    wanted, idle = wanted_launches(launches, Path(file).name, kernel)
    times = Counter(each.kernel for each in wanted)
    replayed = 0
    found: list[tuple[int, str]] = []
    problems: list[str] = []
    for each in wanted:
        if each.signature is None:
            problems.append(
                f"{Path(file).name}:{each.line}: {each.kernel} is launched here (grid {each.grid},"
                f" block {each.block}), and neither the file nor its headers define it. Give the"
                f" file that does: bankwise sass FILE --kernel {each.kernel} --grid {each.grid}"
                f" --block {each.block} --arg …"
            )
            continue
        if "0" in f"{each.grid}x{each.block}".split("x"):
            problems.append(
                f"{Path(file).name}:{each.line}: {each.kernel} is launched with grid {each.grid},"
                f" block {each.block}, so no thread runs (accepted: sizes of 1 or more; next: give"
                " the host code other values, --let NAME=NUMBER, or --grid and --block)"
            )
            continue
        if each.unknown:
            problems.append(
                f"{Path(file).name}:{each.line}: {each.kernel} is launched with values that are not"
                f" known: {', '.join(each.unknown)}. Give them (--let NAME=NUMBER …), or fill them"
                f" in:\n  {_command(each, file)}"
            )
            continue
        try:
            reports = replay(each, launch_of(each))
        except SassError as error:  # a command does not help where the source is wrong
            command = "" if isinstance(error, CompileError) else f"\n  {_command(each, file)}"
            if isinstance(error, MemoryAccessError) and "random:" in command:
                command = f". {_RANDOM}{command}"
            problems.append(f"{Path(file).name}:{each.line}: {each.kernel}: {error}{command}")
            continue
        show(each, reports)
        replayed += 1
        first = next(iter(reports.values()))
        if hot:
            found += hottest(first, each.full_name if times[each.kernel] > 1 else each.kernel)
    for name in idle if launches.kernels else ():
        said = "\n".join(commands(launches, file, name)[1:])
        problems.append(f"{name}: {Path(file).name} has no launch of it. Give one:\n{said}")
    if not replayed:
        compiles()
        text = "\n".join(problems) or (
            f"{file} holds no kernel: as text it has no function that is __global__ (accepted: CUDA"
            " source, PTX, a cubin, a fatbinary, an object or a library; next, where a macro makes"
            " the kernel: --kernel, --grid, --block, --arg)"
        )
        raise SassError(text)
    show_hottest(found)
    if any("random:" in text for each in wanted for text in each.texts() if not each.unknown):
        click.echo(
            "bankwise: arrays hold random data, because host code is read but not run (to use your"
            " program's data, give FILE.npy in place of random:…)", err=True,
        )  # fmt: skip
    if launches.asks_arguments:
        click.echo(
            "bankwise: main asks for its arguments, and is read as if it got none (for other"
            " values of what a launch needs: --let NAME=NUMBER)", err=True,
        )  # fmt: skip
    for problem in problems:
        click.echo(f"bankwise: {problem}", err=True)
    return len(wanted) - replayed


def check_compiles(file: str, arch: str, compiler: Sequence[str]) -> None:
    """Raise CompileError for source that does not compile; what else is wrong is asked later."""
    from simulator.errors import CubinError, ToolError
    from simulator.sass.code.images import load
    from simulator.sass.code.options import parse_options

    with suppress(CubinError, ToolError):
        load(Path(file), arch, None, parse_options(compiler))
