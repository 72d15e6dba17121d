"""The command `optimize`: which layout a tile, a kernel or a fragment should have."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence, Set
from typing import Any

import click

from simulator.cli.commands import chip_option, cli, format_option, rule_option
from simulator.cli.completion import among, kernels, objectives
from simulator.cli.html import html_options, keep
from simulator.cli.options import is_given, named, named_integers, refuse_ignored
from simulator.cli.output import Format, show, show_results
from simulator.inputs.values import expanded, read_list, read_value

__all__ = ["optimize"]


@cli.command()
@click.option(
    "--access",
    "accesses",
    multiple=True,
    metavar="ACCESS",
    help="OP:INDEX, where INDEX is C, flat or ROW, COL; or a question: 'float s[32][32];"
    " s[tx][ty]'. N*ACCESS runs N times as often.",
)
@click.option("--block", metavar="XxYxZ", help="Threads of the block, for threadIdx and the like.")
@click.option(
    "--free",
    multiple=True,
    metavar="NAME=VALUES",
    help="Values: 0..32, 0..32:8 or 2,4,8; swizzle (=xor, cute); all; (A=0,B=4) for a pair.",
)
@click.option("-D", "names", multiple=True, metavar="NAME=VALUE", help="Give a name a value.")
@click.option(
    "--loop",
    "loops",
    multiple=True,
    metavar="NAME=TRIPS",
    help="An access runs once per iteration of each loop that it names.",
)
@click.option("--tile", help="Rows x columns of the tile, for paddings and ROW, COL indices.")
@click.option("--element", default=4, show_default=True, help="Bytes per element: 1, 2, 4, 8, 16.")
@click.option(
    "--kernel",
    help="Search a kernel's parameters (see `bankwise kernels`), ...",
    shell_complete=among(kernels),
)
@click.option("--array", help="... or the layout of one of its arrays, with --tile.")
@click.option("--form", default="compiled", show_default=True, help="compiled or written.")
@click.option("--m", default=4096, show_default=True, help="Rows of the kernel's C.")
@click.option("--n", type=int, help="Columns of C.  [default: m]")
@click.option("--k", type=int, help="Inner dimension.  [default: m]")
@click.option(
    "--fragment",
    multiple=True,
    metavar="NAME=VALUE",
    help="Search the geometry of `bankwise simulate`, with this part of it fixed.",
)
@click.option(
    "--objective",
    shell_complete=among(objectives),
    default="cycles",
    show_default=True,
    help="cycles, wavefronts or bank_conflicts.",
)
@click.option("--fail-on-conflict", is_flag=True, help="Exit 1 if the best has bank conflicts.")
@rule_option
@chip_option
@click.option(
    "--limit", default=10_000_000, show_default=True, help="Count at most this many accesses."
)
@click.option(
    "--trials",
    default=500,
    show_default=True,
    help="Samples of a space that is larger than --limit.",
)
@format_option
@html_options
def optimize(
    *,
    accesses: Sequence[str],
    block: str | None,
    free: Sequence[str],
    names: Sequence[str],
    loops: Sequence[str],
    kernel: str | None,
    fragment: Sequence[str],
    form: str,
    m: int,
    n: int | None,
    k: int | None,
    fail_on_conflict: bool,
    output: Format,
    **options: Any,
) -> int:
    """Find the layout with the least cost of all accesses, and prove it.

    --access 'float s[32][32]; s[threadIdx.x][threadIdx.y]' searches the paddings and swizzles of
    the array that it declares. With --free pad=0..32 it searches only paddings.

    --tile 32x32 --access 'LDS: lane, i' --access 'STS: i, lane' --loop i=32 searches the paddings
    and swizzles of a tile.

    --access 'LDS.128: lane/8*ld + lane%8*4' --free ld=32..64 searches the values of
    a name in an index.

    --kernel leimao.v07 --free pad_m=0..32:8 --free pad_n=0..32:8 searches its parameters.

    --fragment thread_tile=8x8 --free warp_shape=all --free fragment=all searches the geometry of
    `bankwise simulate`.
    """
    from simulator.search import optimize as run

    if kernel is None:
        refuse_ignored(("form", "m", "n", "k"), "without --kernel")
    given = named_integers(names, "-D")
    turns = named_integers(loops, "--loop")
    space = _once("--free", (_free(each, pairs=bool(fragment)) for each in free)) or None
    asks = [text for text in accesses if _asks(text, {*given, *turns})]
    if asks:
        if len(asks) < len(accesses):
            raise click.UsageError(
                "--access: some are questions in C, some are not (accepted: all of one kind)"
            )
        given = _questions(options, asks, block=block, names=given, loops=turns)
    elif block is not None:
        raise click.UsageError("--block is for an --access that names threadIdx and the like")
    elif accesses:
        found = [_access(text, turns) for text in accesses]
        unused = sorted(set(turns).difference(*(each.loops for each in found)))
        if unused:
            raise click.UsageError(f"--loop {', '.join(unused)}: no --access names it")
        options["accesses"] = found
    elif turns:
        raise click.UsageError("--loop is for --access")
    if kernel is not None:
        options.update(kernel=kernel, form=form, m=m, n=m if n is None else n)
        options["k"] = m if k is None else k
    if fragment:
        options["fragment"] = _once("--fragment", map(_fixed, fragment))
    best = run(space=space, names=given, **options)
    keep(best)
    if output == "table":
        show_results({"": best}, output)
    else:
        show(best.table(), output)
    return int(fail_on_conflict and (best.totals()["bank_conflicts"] or 0) > 0)


def _asks(text: str, own: Set[str]) -> bool:
    """Whether an access is a question: it declares or indexes an array, or names a thread."""
    threads = set(re.findall(r"\b(?:threadIdx|blockDim)\b|\b[A-Za-z_]\w*\b", text))
    return bool(re.search(r"[\[;]", text)) or bool(threads & _THREADS - own)


_THREADS = frozenset({"threadIdx", "blockDim", "tx", "ty", "tz", "laneid", "warpid"})


def _questions(
    options: dict[str, Any],
    texts: Sequence[str],
    *,
    block: str | None,
    names: dict[str, int],
    loops: dict[str, int],
) -> dict[str, int]:
    """Put questions into the options of `optimize`; gives what is left of the names: none."""
    from layouts.shapes import parse_shape
    from simulator.errors import SearchError
    from simulator.search.touching import touches

    shape = None if options["tile"] is None else parse_shape(options["tile"], "RC", "tile")
    element = options["element"] if is_given("element") or shape else None
    try:
        found = touches(
            texts, loops=loops, names=names, block=block, element=element, tile=shape,
            chip=options["chip"],
        )  # fmt: skip
    except SearchError as error:
        raise click.UsageError(f"--access: {error}") from error
    first = found[0]
    options["accesses"] = [each.access for each in found]
    options["element"] = first.element
    options["tile"] = None if first.tile is None else (first.tile.rows, first.tile.cols)
    return {}


def _access(text: str, turns: dict[str, int]) -> Any:
    from simulator.search import Access

    found = re.fullmatch(r"\s*(?:(\d{1,12})\s*\*\s*)?([A-Za-z][\w.]*)\s*:(.*)", text, re.DOTALL)
    if not found:
        raise click.BadParameter(
            f"{text!r} is not OP:INDEX, such as 'LDS.128: lane*4' or '8*STS: lane, 0'",
            param_hint="--access",
        )
    weight, op, index = found.groups()
    plain = Access(op, index.strip(), weight=int(weight or 1))
    used = {name: trips for name, trips in turns.items() if name in plain.names or name == "warp"}
    return Access(op, index.strip(), weight=plain.weight, loops=used)


def _once(option: str, pairs: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name in found:
            raise click.BadParameter(f"{name} is given twice", param_hint=option)
        found[name] = value
    return found


def _free(text: str, *, pairs: bool) -> tuple[str, Any]:
    """Read NAME=VALUES. Without `pairs`, which only a geometry has, `;` parts values as well."""
    name, equals, values = (part.strip() for part in text.partition("="))
    if name == "swizzle" and not equals:
        return name, "xor"
    if not re.fullmatch(r"[A-Za-z_]\w*", name) or not values:
        raise click.BadParameter(
            f"{text!r} is not NAME=VALUES (accepted: pad=0..32, tile=0..64:8, ld=64,66,68,"
            " swizzle, swizzle=none,Sw<2,3,3>, warp_shape=all)",
            param_hint="--free",
        )
    if values == "all" or (name == "swizzle" and values in ("xor", "cute", "none")):
        return name, values
    swizzles = name == "swizzle"
    with named("--free"):
        if swizzles and ";" in values and not pairs:
            return name, [read_value(part, swizzles=True) for part in values.split(";")]
        return name, expanded(read_list(values, swizzles=swizzles))


def _fixed(text: str) -> tuple[str, Any]:
    name, equals, value = (part.strip() for part in text.partition("="))
    if not equals or not value:
        raise click.BadParameter(f"{text!r} is not NAME=VALUE", param_hint="--fragment")
    with named("--fragment"):
        return name, read_value(value, swizzles=name == "swizzle")
