"""Put the page together: styles, scripts, the instructions, and what it shows first."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
import shlex
from dataclasses import asdict
from html import escape
from importlib.metadata import version
from importlib.resources import files

from layouts.expression import without_comments
from simulator.errors import OptionError
from simulator.inputs.types import BYTES, SIGNED
from simulator.law import copies, specification
from simulator.law.accesses import NO_SOURCE
from simulator.law.chips import Chip, ChipLike, optional_chip
from simulator.law.instructions import INSTRUCTIONS, RULES, SHARED_BYTES, Instruction
from simulator.law.loops import LOOPS, is_loop, is_round
from viz.page.file import write_page

__all__ = ["SCRIPTS", "emitted", "page", "write"]

SCRIPTS = (
    "law.js", "expression.js", "parse.js", "cure.js", "ask.js", "words.js", "map.js", "state.js",
    "answer.js", "cures.js", "page.js",
)  # fmt: skip
"""The page's scripts, in the order in which they need each other."""


BEYOND = (
    (r"#", "a macro"),
    (r"\b(struct|union|class)\b", "a struct"),
    (r"\b(typedef|using)\b", "a name of a type"),
    (r"\batomic[A-Z]\w*(?=\s*\()", "an atomic function"),
)
"""What only the command line reads, for it needs a compiler's first steps; and what it is."""


def page(
    text: str | None = None,
    *,
    block: str | None = None,
    op: str | None = None,
    rule: str | None = None,
    chip: ChipLike | None = None,
) -> str:
    """Return the page as HTML.

    `text` is the declaration and access that it shows first; `block` is "32x32" or so, `op` the
    name of an instruction. The reader of the page judges them, and says at which column it fails.
    `chip` is that of `simulator.count`; raises what `Chip.of` raises. Raises OptionError for a text
    that the page cannot read, such as one with a struct.
    """
    for pattern, what in BEYOND:
        if text is not None and re.search(pattern, without_comments(text)):
            raise OptionError(
                f"{what} is read by the command line alone (accepted: bankwise"
                f" {shlex.quote(' '.join(text.split()))}; or a page without it)"
            )
    chosen = optional_chip(chip)
    start = {"text": text, "block": block, "op": op, "rule": rule}
    start = {name: value for name, value in start.items() if value is not None}
    colors = (files("viz.page") / "colors.css").read_text(encoding="utf-8")
    style = f"{colors}{_source('page.css')}"
    scripts = [_source(name) for name in SCRIPTS]
    policy = (
        f"default-src 'none'; script-src {' '.join(map(_hash, scripts))};"
        f" style-src {_hash(style)}; img-src data:; base-uri 'none'; form-action 'none'"
    )
    law = "the one measured on an H200" if chosen is None else f"that of {chosen}, {chosen.law}"
    made = (
        f"Made by bankwise {version('bankwise')}. Its law is {law}. Of a copy (LDGSTS) lanes read"
        " global memory side by side, unless you say from where."
    )
    return "\n".join(
        [
            '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{policy}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            '<link rel="icon" href="data:,">',  # else a browser asks a server for one
            f"<title>bankwise explore</title>\n<style>{style}</style>\n</head>\n<body>",
            _source("page.html").replace('<p id="made"></p>', f'<p id="made">{escape(made)}</p>'),
            f'<script type="application/json" id="facts">{_json(_facts(chosen))}</script>',
            f'<script type="application/json" id="start">{_json(start)}</script>',
            *(f"<script>{script}</script>" for script in scripts),
            "</body>\n</html>\n",
        ]
    )


def write(
    path: str | os.PathLike[str],
    text: str | None = None,
    *,
    block: str | None = None,
    op: str | None = None,
    rule: str | None = None,
    chip: ChipLike | None = None,
    force: bool = False,
) -> None:
    """Write the page to a file; raises ReportError for an existing one without `force`.

    Parameters
    ----------
    path
        The file.
    text
        The question that stands on the page.
    block, op, rule, chip
        Those of `count`, chosen on the page.
    force
        Whether an existing file is overwritten.
    """
    write_page(path, page(text, block=block, op=op, rule=rule, chip=chip), force=force)


def _facts(chip: Chip | None) -> dict[str, object]:
    """Return what the page's law is made of: nothing of it stands in the scripts."""
    capability = Chip.of("H200").capability if chip is None else chip.capability
    return {
        "banks": specification.BANKS,
        "word": specification.WORD,
        "shared_bytes": SHARED_BYTES if chip is None else chip.shared_bytes,
        "rules": RULES,
        "types": BYTES,
        "signed": sorted(SIGNED),
        "instructions": [
            *(emitted(known) for known in (INSTRUCTIONS.values() if chip is None else chip.table)),
            *(emitted(loop) for loop in LOOPS.values() if loop.capability <= capability),
        ],
        "beyond": BEYOND,
        "copies": {
            "no_source": NO_SOURCE,
            "line": copies.LINE,
            "piece": copies.PIECE,
            "most_pieces": copies.MOST_PIECES,
            "tag_parities": copies.TAG_PARITIES,
        },
    }


def emitted(instruction: Instruction) -> dict[str, object]:
    """Return an instruction as the page's law takes it."""
    return {
        **asdict(instruction),
        "is_matrix": instruction.is_matrix,
        "loop": is_loop(instruction),
        "round": is_round(instruction),
        "phase_lanes": [*map(list, instruction.phase_lanes)],
        "fused_lanes": [*map(list, instruction.fused_lanes)],
    }


def _source(name: str) -> str:
    return (files("viz.explore") / name).read_text(encoding="utf-8")


def _json(data: object) -> str:
    """Write JSON that no HTML parser mistakes for markup."""
    text = json.dumps(data, separators=(",", ":"))
    return text.replace("&", r"\u0026").replace("<", r"\u003c").replace(">", r"\u003e")


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
