"""`bankwise sass --triton`: a kernel of a module, or a script's own launches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from simulator.cli.options import is_given

if TYPE_CHECKING:
    from simulator.sass.report import CompiledReport

__all__ = ["list_triton", "triton_launches"]

_WITH_KERNEL = ("grid", "arguments", "constexprs", "signature", "warps", "stages", "cluster")


def triton_launches(
    options: Mapping[str, Any], arguments: Sequence[Any], **replay: Any
) -> list[CompiledReport]:
    """Replay what --triton names: one kernel, or, of a file alone, every launch of the script.

    Raises UsageError for options that do not go together, and what the launches raise.
    """
    from simulator.sass.triton.files import constant, find_kernels, launch_kernel, run_script

    place, name = _target(options["triton"])
    config = int(text) if (text := options["config"].strip()).isdecimal() else text
    if name is None:
        odd = [each for each in _WITH_KERNEL if is_given(each)]
        if odd:
            raise click.UsageError(
                f"--triton {place} runs the script's own launches (accepted with options of a"
                f" launch: --triton {place}:KERNEL)"
            )
        return run_script(place, config=config, **replay)
    constants: dict[str, Any] = {}
    for text in options["constexprs"]:
        key, sign, value = text.partition("=")
        if not sign or not key.strip().isidentifier():
            raise click.BadParameter(
                f"{text!r} (accepted: BLOCK=64, ACTIVATION=leaky_relu, DTYPE=tl.float16, X=None)",
                param_hint="--constexpr",
            )
        constants[key.strip()] = constant(value)
    for key, option in (("num_warps", "warps"), ("num_stages", "stages"), ("num_ctas", "cluster")):
        if options[option] is not None:
            constants[key] = int(options[option])
    return launch_kernel(
        find_kernels(place, name)[0],
        grid=options["grid"],
        arguments=arguments,
        constants=constants,
        signature=options["signature"],
        config=config,
        **replay,
    )


def list_triton(target: str) -> tuple[list[dict[str, Any]], list[str]]:
    """Return a row per kernel of a module, and commands to edit."""
    from simulator.sass.triton.files import find_kernels, listing

    place, name = _target(target)
    kernels = find_kernels(place, name)
    rows = [
        {
            "kernel": each.name,
            "parameters": len(each.base.params),
            "constants": len(each.constants),
            "configurations": len(each.configs),
        }
        for each in kernels
    ]
    return rows, ["\n".join(listing(kernels, place))]


def _target(text: str) -> tuple[str, str | None]:
    place, colon, name = text.rpartition(":")
    if colon and place and name.isidentifier():
        return place, name
    if text.endswith(".py") and not colon:
        return text, None
    raise click.BadParameter(
        f"{text!r} (accepted: module:kernel, file.py:kernel, or file.py, a script whose own"
        " launches are replayed)",
        param_hint="--triton",
    )
