"""What `bankwise --help` says: the commands by what one wants to know, each with an example."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence

import click

__all__ = [
    "COMMANDS", "SECTIONS", "example", "is_asked", "refuse_options_first", "write_commands",
]  # fmt: skip

_ASK = "'float s[32][32]; s[threadIdx.x][threadIdx.y]'"

SECTIONS: dict[str, dict[str, tuple[str, str]]] = {
    "Ask about an access": {
        "explain": ("ask", f"bankwise {_ASK}"),
        "count": ("commands", f"bankwise count {_ASK} --block 32x8"),
        "compare": (
            "compare",
            "bankwise compare 'float s[32][32]; s[tx][0]' 'float s[32][33]; s[tx][0]'",
        ),
        "optimize": ("optimize", f"bankwise optimize --access {_ASK}"),
        "explore": ("explore", "bankwise explore page.html"),
    },
    "Ask about a kernel": {
        "sass": ("sass", "bankwise sass transpose.cu"),
        "simulate": ("commands", "bankwise simulate --warp-shape 4x8 --lds 128"),
        "replay": ("catalogue", "bankwise replay leimao.v07 --m 1024"),
        "kernels": ("catalogue", "bankwise kernels"),
        "estimate": ("estimate", "bankwise estimate gemm_intensity m=4096 n=4096 k=4096"),
    },
    "Many results at once": {
        "sweep": ("sweep", "bankwise sweep simulate --warp-shape all --pad 0..16"),
        "report": ("reports", "bankwise report page.html simulate 'simulate --pad 4'"),
    },
    "Keep limits": {
        "check": ("check", "bankwise check bankwise.toml"),
    },
    "For programs": {
        "mcp": ("mcp", "bankwise mcp --root ."),
        "schema": ("schema", "bankwise schema explain"),
    },
    "What it builds on": {
        "ops": ("commands", "bankwise ops"),
        "chips": ("catalogue", "bankwise chips"),
        "gpu-check": ("gpu", "bankwise gpu-check --recorded"),
    },
}  # fmt: skip
"""The module of each command, and an example."""

COMMANDS = {name: each for section in SECTIONS.values() for name, each in section.items()}


def example(name: str) -> str:
    """Return a command's example as the end of its help; lines stay as they are."""
    return f"\b\nExample:\n  {COMMANDS[name][1]}"


def write_commands(
    group: click.Group, context: click.Context, formatter: click.HelpFormatter
) -> None:
    """Write each section with its commands, what they do, and their examples."""
    width = max(map(len, COMMANDS))
    for title, commands in SECTIONS.items():
        with formatter.section(title):
            for name in commands:
                command = group.get_command(context, name)
                if command is not None:
                    indent = " " * (width + 4)
                    summary = click.wrap_text(
                        command.get_short_help_str(200),
                        formatter.width,
                        f"  {name:<{width}}  ",
                        indent,
                    )
                    formatter.write(f"{summary}\n{indent}  $ {commands[name][1]}\n")


def is_asked(word: str) -> bool:
    """Return whether a word is a question in C rather than a command's name.

    >>> is_asked("float s[32]; s[lane]"), is_asked("--chip=H100")
    (True, False)
    """
    return re.search(r"[\s\[(;]", word) is not None


def refuse_options_first(group: click.Group, context: click.Context, words: Sequence[str]) -> None:
    """Raise UsageError for options before a question or a command, with the words in order."""
    own = {text for option in group.get_params(context) for text in option.opts}
    if not words or not words[0].startswith("-") or words[0] in own:
        return
    explain = group.get_command(context, "explain")
    valued = {
        text
        for option in (explain.params if explain else ())
        if isinstance(option, click.Option) and not option.is_flag
        for text in option.opts
    }
    for place, word in enumerate(words):
        if place and words[place - 1] in valued:
            continue
        if word in COMMANDS or is_asked(word):
            what = "command" if word in COMMANDS else "question"
            ordered = shlex.join([word, *words[:place], *words[place + 1 :]])
            context.fail(f"{words[0]}: options go after the {what} (accepted: bankwise {ordered})")
