"""`markdown`: a report that fits a pull request: a table of the results, and the banks of some."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence

from layouts.errors import plural
from simulator.asking.bank_map import bank_map
from simulator.results import files
from simulator.results.columns import heading
from viz.errors import DrawError
from viz.page.section import Section, shown
from viz.page.sections import section

__all__ = ["MOST_LINES", "markdown"]

MOST_LINES = 60
"""Lines that a report takes at most."""

_FIGURES = ("wavefronts", "ideal", "bank_conflicts")
_MOST_MAP = 6  # lines of a map of banks
_LONGEST = 300  # characters of a cell


def markdown(
    *results: object,
    file: str | os.PathLike[str] | None = None,
    title: str | None = None,
    command: str | None = None,
    force: bool = False,
) -> str:
    """Return a report as Markdown of at most 60 lines, and write it to `file`.

    It begins with a table of the results; then come the verdict, the banks and the cure of each,
    those with conflicts first, as far as there is room. Results are those of `viz.report`.

    >>> from bankwise import explain
    >>> text = markdown(explain("float s[32][32]; s[threadIdx.x][threadIdx.y]"))
    >>> text.splitlines()[0]
    '## 32-way bank conflict: 32 wavefronts where 1 is enough'

    Raises OutputError for a file that cannot be written, and DrawError for something that is not a
    result, or for none.
    """
    if file is not None:
        files.check_target(file, force=force)
    if not results:
        raise DrawError("nothing to report (accepted: one or more results)")
    parts = [section(result) for result in results]
    lines = [f"## {_plain(title or _headline(parts))}", ""]
    if len(parts) > 1:
        lines += _table(parts)
    footer = ["", f"<sub>{_plain(command)}</sub>"] if command else []
    order = sorted(range(len(parts)), key=lambda place: (_calm(parts[place]), place))
    left_out = 0
    for place in order:
        body = _body(parts[place], alone=len(parts) == 1)
        if len(lines) + len(body) + len(footer) + 2 > MOST_LINES:
            left_out += 1
            continue
        lines += body
    if left_out:
        lines += ["", f"{plural(left_out, 'more result')} in the table alone."]
    text = "\n".join([*lines, *footer]).rstrip() + "\n"
    if file is not None:
        files.save(file, lambda path: path.write_text(text, encoding="utf-8", errors="replace"))
    return text


def _headline(parts: Sequence[Section]) -> str:
    if len(parts) == 1:
        return parts[0].title
    bad = sum(part.level == "conflict" for part in parts)
    return f"{plural(len(parts), 'result')}, {bad or 'none'} with bank conflicts that cost"


def _calm(part: Section) -> bool:
    return part.level != "conflict"


def _table(parts: Sequence[Section]) -> list[str]:
    room = MOST_LINES - 14
    rows = []
    for part in parts[:room]:
        cells = [
            _code(part.asked) if part.asked else "",
            _plain(part.title),
            *(shown(part.numbers.get(name)) for name in _FIGURES),
            _code(part.cure) if part.cure and part.level == "conflict" else _plain(part.cure),
        ]
        rows.append(f"| {' | '.join(cells)} |")
    heads = ["result", "verdict", *map(heading, _FIGURES), "cure"]
    more = [f"{plural(len(parts) - room, 'more result')}.", ""] if len(parts) > room else []
    return [f"| {' | '.join(heads)} |", "|---|---|--:|--:|--:|---|", *rows, "", *more]


def _body(part: Section, *, alone: bool) -> list[str]:
    """Return verdict, cause, banks, cures and figures of one result."""
    lines = [] if alone else [f"### {_plain(part.title)}", ""]
    if part.asked:
        lines += [f"{_code(part.asked)} ({_plain(', '.join(part.about))})", ""]
    lines += [_plain(" ".join(part.cause)), ""] if part.cause else []
    before = next(iter(part.pictures), None)
    if before is not None:
        drawn = [
            f"{name.partition(':')[0]}: {line}" if name else line
            for name, one in before.parts
            for line in bank_map(one)[:_MOST_MAP]
        ]
        if drawn:
            lines += ["```text", *drawn[: 2 * _MOST_MAP], "```", ""]
    for name, value, _ in part.bars[:5]:
        lines.append(f"* {_code(name)}: {plural(value, 'wavefront')}")
    for picture in part.pictures[1:]:
        # A kernel's pictures are of one access, and the figures below of all.
        of_access = "worst access " if picture.parts and picture.parts[0][0] else ""
        said = ", ".join((of_access + picture.cost, *picture.notes))
        code = f" {_code(picture.code)}" if picture.code else ""
        lines.append(f"* **{_plain(picture.heading)}**{code}: {_plain(said)}")
    if part.numbers:
        said = ", ".join(f"{heading(name)} {shown(value)}" for name, value in part.numbers.items())
        lines += ["", f"{said}.", ""]
    elif part.sentences:
        lines += [_plain(part.sentences[0]), ""]
    while lines and not lines[-1]:
        lines.pop()
    return [*lines, ""]


def _plain(text: str) -> str:
    r"""Return text on one line that Markdown takes as it is, also within a table.

    >>> _plain("a | <b> *c* [d](e)")
    'a \\| &lt;b> \\*c\\* \\[d](e)'
    """
    one = " ".join(text.split())
    cut = one if len(one) <= _LONGEST else f"{one[: _LONGEST - 1]}…"
    return re.sub(r"([|*\[`\\])", r"\\\1", cut.replace("&", "&amp;").replace("<", "&lt;"))


def _code(text: str) -> str:
    """Return text as code on one line, also within a table."""
    one = " ".join(text.split()).replace("|", "\\|")
    cut = one if len(one) <= _LONGEST else f"{one[: _LONGEST - 1]}…"
    longest = max((len(run) for run in re.findall("`+", cut)), default=0)
    fence = "`" * (longest + 1)
    return f"{fence} {cut} {fence}" if longest else f"`{cut}`"
