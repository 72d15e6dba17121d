"""Reading what people type: pads, swizzles, lane orders, and where accesses come from."""

from __future__ import annotations

import re
import sys
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from layouts.swizzle import Swizzle
from layouts.warp import LaneOrder
from simulator.errors import InputError, OptionError
from simulator.inputs.asked import AskedAccess, read
from simulator.inputs.question import is_question
from simulator.inputs.values import read_pair, read_swizzle
from simulator.law.accesses import ALL_LANES
from simulator.law.indices import RESERVED

if TYPE_CHECKING:
    from simulator.inputs.files import Accesses
    from simulator.law.chips import Chip

__all__ = [
    "is_given",
    "lane_order",
    "layout",
    "named",
    "named_integers",
    "named_options",
    "one_access",
    "pad",
    "read_accesses",
    "refuse_ignored",
    "swizzle",
]

_FILES = (".csv", ".npy", ".npz")


def is_given(name: str) -> bool:
    """Whether the running command's parameter was given, and is not the default."""
    source = click.get_current_context().get_parameter_source(name)
    return source is not ParameterSource.DEFAULT


def refuse_ignored(ignored: Collection[str], mode: str) -> None:
    """Refuse options of the running command that were given, but are not used in this mode.

    `ignored` are names of the command's parameters.
    """
    odd = [
        " or ".join(option.opts)
        for option in click.get_current_context().command.params
        if option.name in ignored and is_given(option.name)
    ]
    if odd:
        raise click.UsageError(f"{', '.join(odd)}: would have no effect {mode}")


def lane_order(text: str) -> LaneOrder:
    """Read the name of an order, or integers apart by commas or spaces."""
    numbers = re.split(r"[,\s]+", text.strip())
    return [int(number) for number in numbers] if all(map(str.isdecimal, numbers)) else text


def pad(text: str) -> int | tuple[int, int]:
    """Read N, or a pair: A=N,B=N, or N,N."""
    with named("--pad"):
        pair = read_pair(text)
    parts = pair or re.split(r"[,\s]+", text.strip().strip("()").strip())
    if len(parts) <= 2 and all(re.fullmatch(r"-?\d+", part) for part in parts):
        odd = next((part for part in parts if not re.fullmatch(r"\d{1,9}", part)), None)
        if odd is not None:
            raise click.BadParameter(
                f"{odd} elements after a row (accepted: 0 to 999999999)", param_hint="--pad"
            )
    else:
        raise click.BadParameter(
            f"{text!r} is not N or A,B (elements; accepted: 4, or A=4,B=0)", param_hint="--pad"
        )
    first, *second = map(int, parts)
    return (first, second[0]) if second else first


def layout(text: str | None) -> str | tuple[str | None, str | None] | None:
    """Read one layout for both tiles, or a pair: A=TEXT,B=TEXT, none where there is none."""
    if text is None:
        return None
    with named("--layout"):
        pair = read_pair(text) if re.match(r"\s*A\s*=", text) or ";" in text else None
    first, second = (None if each == "none" else each for each in pair or (text, text))
    return (first, second) if pair else first


def swizzle(text: str | None) -> Swizzle | tuple[Swizzle | None, Swizzle | None] | None:
    """Read B,M,S or Sw<B,M,S> or none, or a pair of them: A=B,M,S,B=none."""
    if text is None:
        return None
    with named("--swizzle"):
        pair = read_pair(text)
    return (read_swizzle(pair[0]), read_swizzle(pair[1])) if pair else read_swizzle(text)


@contextmanager
def named(flag: str) -> Iterator[None]:
    """Say which option it is whose text cannot be read."""
    try:
        yield
    except OptionError as error:
        raise click.BadParameter(str(error), param_hint=flag) from error


def named_options(words: Sequence[str]) -> dict[str, str]:
    """Read options that no command declares: --block-m 64 or --block-m=64, as block_m.

    >>> named_options(["--block-m", "64", "--lane-order=z-order"])
    {'block_m': '64', 'lane_order': 'z-order'}
    """
    found: dict[str, str] = {}
    rest = iter(words)
    for word in rest:
        option = re.fullmatch(r"--([a-z][a-z0-9-]*)(?:=(.*))?", word)
        if not option:
            raise click.UsageError(f"{word!r} is not an option (accepted: --NAME VALUE)")
        value = option[2]
        if value is None and (value := next(rest, None)) is None:
            raise click.UsageError(f"{word} needs a value")
        name = option[1].replace("-", "_")
        if name in found:
            raise click.UsageError(f"--{option[1]} is given twice")
        found[name] = value
    return found


def read_accesses(
    warps: range | None,
    *,
    warp_flag: str | None,
    accesses: str | None,
    op: str | None,
    element: int | None,
    layout: str | None,
    names: Sequence[str],
    active: str | None,
    mask: str | None,
    chip: Chip | None,
    block: str | None = None,
) -> Accesses | AskedAccess:
    """Read what `bankwise count` and `bankwise explain` are asked about: data, or a question."""
    bits = None if mask is None else _integer(mask, "--mask")
    is_file = accesses is not None and accesses.lower().endswith(_FILES)
    if accesses is None or accesses == "-" or is_file:
        for_expressions = {
            "--element": element is not None,
            "--layout": layout is not None,
            "-D": bool(names),
            "--active": active is not None,
            "--block": block is not None,
            warp_flag: warp_flag is not None,
        }
        odd = [flag for flag, given in for_expressions.items() if flag and given]
        if odd:
            raise click.UsageError(f"{', '.join(odd)}: for an expression, not for data")
        from simulator.inputs.files import from_data

        source = accesses if accesses and is_file else "standard input"
        return from_data(_read(accesses if is_file else None), source, op, bits)
    if re.search(r"\.[A-Za-z]\w*$", accesses) and not _ends_in_a_name(accesses):
        raise InputError(
            f"{accesses} is neither an expression nor a file of a known kind (accepted:"
            f" {', '.join(_FILES)}; anything else through standard input)"
        )
    if warp_flag == "--warps" and block is not None:
        raise click.UsageError(
            "--warps and --block both say how many warps there are (accepted: one of them)"
        )
    asked = read(
        accesses,
        op,
        block=block,
        element=element,
        layout=layout,
        chip=chip,
        names=named_integers(names, "-D"),
        active=active,
        mask=ALL_LANES if bits is None else bits,
        warps=warps,
    )
    asked.check()
    return asked


def _ends_in_a_name(text: str) -> bool:
    """Whether what a dot leads to is a thread's number or a member, and not a kind of file."""
    return is_question(text) or re.search(r"(?i)(threadIdx|blockDim)\.[xyz]$", text) is not None


def one_access(accesses: Accesses, number: int | None) -> tuple[str, Any, Any]:
    """Choose the access to explain: what it is, as it was given."""
    number = number or 0
    if number >= len(accesses.ops):
        raise InputError(f"no access {number} (accepted: 0 to {len(accesses.ops) - 1})")
    mask = None if accesses.masks is None else accesses.masks[number]
    return accesses.ops[number], accesses.addresses[number], mask


def _read(path: str | None) -> bytes:
    try:
        if path is not None:
            with open(path, "rb") as file:
                return file.read()
        if sys.stdin is None or sys.stdin.isatty():
            raise click.UsageError(
                "no accesses given (accepted: an expression, a .csv, .npy or .npz file, or"
                " standard input)"
            )
        return sys.stdin.buffer.read()
    except OSError as error:
        raise InputError(f"{path or 'standard input'} cannot be read: {error.strerror}") from error


def named_integers(given: Sequence[str], flag: str) -> dict[str, int]:
    """Read NAME=VALUE, as often as it was given."""
    names: dict[str, int] = {}
    for text in given:
        name, equals, value = text.partition("=")
        if not equals or not re.fullmatch(r"[A-Za-z_][A-Za-z_0-9]*", name.strip()):
            raise click.BadParameter(f"{text!r} is not NAME=VALUE", param_hint=flag)
        if name.strip() in RESERVED and not (flag == "--loop" and name.strip() == "warp"):
            raise click.BadParameter(
                f"{text!r}: {', '.join(RESERVED)} have their own meaning", param_hint=flag
            )
        if name.strip() in names:
            raise click.BadParameter(f"{name.strip()} is given twice", param_hint=flag)
        names[name.strip()] = _integer(value, f"{flag} {name.strip()}")
    return names


def _integer(text: str, flag: str) -> int:
    if not re.fullmatch(r"\s*-?(0[xX][0-9a-fA-F]{1,16}|0|[1-9][0-9]{0,18})\s*", text):
        raise click.BadParameter(f"{text!r} is not a decimal or 0x integer", param_hint=flag)
    return int(text, 0)
