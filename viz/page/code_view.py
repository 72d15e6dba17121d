"""A kernel's source and machine code side by side, linked by line, with what each line costs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from simulator.results.columns import COLUMNS, COSTS, TRAFFIC, heading
from simulator.results.html import heat
from simulator.results.tables import rows
from simulator.results.text import Listing
from simulator.sass.code.nvdisasm import SassInstruction

__all__ = ["CostlyLine", "code_view", "files_of", "heat_of", "hot_lines", "lines_of", "short"]

_LINKS = 8  # colours that link a source line to its instructions
_CONTEXT = 12  # source lines shown around one with machine code; what is further off is folded
_MOST_HOT = 8
_TOLD = ("executed", *COSTS, *TRAFFIC)
_HEADS = ("wavefronts", "ideal", "bank_conflicts", "n_way", "share")


@dataclass(frozen=True)
class CostlyLine:
    """What a source line costs in shared memory."""

    file: int
    """Number of its file among those that instructions name."""
    number: int
    place: str
    """Name of its file, and its number."""
    text: str
    """Empty where the source was not found."""
    figures: Mapping[str, Any]
    """wavefronts, ideal, excessive, bank_conflicts, n_way, share; None: not known."""

    @property
    def key(self) -> str:
        """What links it to its instructions."""
        return f"{self.file}:{self.number}"


def files_of(report: Any) -> list[str]:
    """Return the files that memory instructions name, in order."""
    return list(dict.fromkeys(report.instructions["file"]))


def lines_of(report: Any, listings: Sequence[Listing]) -> list[CostlyLine]:
    """Return the lines that touch shared memory, those with most wavefronts beyond ideal first."""
    requests: dict[tuple[str, int], int] = {}
    found = report.instructions
    for file, number, space, executed in zip(
        found["file"], found["line"], found["space"], found["executed"], strict=True
    ):
        if space != "global":
            requests[file, number] = requests.get((file, number), 0) + (executed or 0)
    total = sum(value or 0 for value in found["wavefronts"]) or 1
    texts = {listing.file: listing.lines for listing in listings}
    files = files_of(report)
    lines = []
    for row in rows(report.lines()):
        file, number, waves = row["file"], row["line"], row["wavefronts"]
        ran = requests.get((file, number), 0)
        if not ran or not number:
            continue
        text = texts.get(file, ())
        figures: dict[str, Any] = {name: row[name] for name in _TOLD}
        figures["n_way"] = None if waves is None else round(waves / ran, 2)
        figures["share"] = None if waves is None else waves / total
        lines.append(
            CostlyLine(
                files.index(file),
                number,
                f"{Listing(file, (), {}).name}:{number}",
                text[number - 1].strip() if number <= len(text) else "",
                figures,
            )
        )
    return sorted(lines, key=lambda line: _hotness(line.figures))


def _hotness(figures: Mapping[str, Any]) -> tuple[int, int]:
    return -(figures["excessive"] or 0), -(figures["wavefronts"] or 0)


def hot_lines(lines: Sequence[CostlyLine]) -> str:
    """Return the hottest lines as a list that jumps to them, each with its share as a bar."""
    items = []
    for line in lines[:_MOST_HOT]:
        figures = line.figures
        share = figures["share"] or 0
        items.append(
            f'<li><button type="button" class="jump" data-line="{line.key}"'
            f' title="{_said(figures)}"><span>{escape(line.place)}</span>'
            f"<code>{escape(line.text)}</code><span>{_ways(figures)}</span>"
            f'<span class="share"><i style="width:{80 * share:.1f}%;background:'
            f'var(--h{heat_of(figures)})"></i>{share:.0%}</span></button></li>'
        )
    more = len(lines) - _MOST_HOT
    rest = f"<p class=caveat>{more} more lines touch shared memory.</p>" if more > 0 else ""
    return (
        '<div class="hot"><h3>Hottest lines</h3><ol>' + "".join(items) + f"</ol>{rest}</div>"
        if items
        else ""
    )


def code_view(
    listings: Sequence[Listing],
    lines: Sequence[CostlyLine],
    names: Sequence[str],
    instructions: Sequence[SassInstruction],
    costs: Mapping[int, Mapping[str, Any]],
) -> str:
    """Return source beside machine code.

    `names` are `files_of` the report; `costs` are rows of instructions by their address.
    """
    files = {name: place for place, name in enumerate(names)}
    keyed = [
        f"{files[each.file]}:{each.line}" if each.file in files and each.line else ""
        for each in instructions
    ]
    links = {key: place % _LINKS for place, key in enumerate(dict.fromkeys(filter(None, keyed)))}
    panes = []
    if listings:
        known = {line.key: line for line in lines}
        sources = "".join(
            _source(files[listing.file], listing, known, links) for listing in listings
        )
        marks = _minimap([(files[listing.file], len(listing.lines)) for listing in listings], lines)
        panes.append(_pane("Source", "source", sources, marks))
    if instructions:
        code = "".join(
            _instruction(each, key, links, costs.get(each.address))
            for each, key in zip(instructions, keyed, strict=True)
        )
        panes.append(_pane("SASS", "sass", f"{_head()}{code}", ""))
    return f'<div class="code-view n{len(panes)}">{"".join(panes)}</div>' if panes else ""


def short(value: float | None) -> str:
    """Return a count in at most five characters.

    >>> [short(value) for value in (None, 0, 999, 12_345, 1_048_576)]
    ['?', '0', '999', '12.3k', '1.05M']
    """
    if value is None:
        return "?"
    for unit, size in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if value >= size:
            return f"{value / size:.3g}{unit}"
    return f"{value:.4g}"


def _pane(name: str, kind: str, body: str, beside: str) -> str:
    return (
        f'<div class="pane"><h3>{name}</h3><div class="box"><div class="{kind} lines" tabindex="0"'
        f' role="group" aria-label="{name}: arrows step through lines that cost">{body}</div>'
        f"{beside}</div></div>"
    )


def _head() -> str:
    cells = "".join(
        f'<b title="{escape(COLUMNS[name].nsight or name) if name in COLUMNS else "share"}">'
        f"{_HEAD_TEXTS[name]}</b>"
        for name in _HEADS
    )
    return f'<div class="line head">{cells}<b></b><b></b></div>'


_HEAD_TEXTS = {
    "wavefronts": "waves", "ideal": "ideal", "bank_conflicts": "confl.",
    "n_way": "n\N{NON-BREAKING HYPHEN}way", "share": "share",
}  # fmt: skip


def _source(
    place: int, listing: Listing, costly_lines: Mapping[str, CostlyLine], links: Mapping[str, int]
) -> str:
    costly = [int(key.partition(":")[2]) for key in links if key.startswith(f"{place}:")]
    near = {n for at in costly for n in range(at - _CONTEXT, at + _CONTEXT + 1)}
    parts: list[str] = []
    folded: list[str] = []
    for number, text in enumerate(listing.lines, 1):
        key = f"{place}:{number}"
        line = costly_lines.get(key)
        figures = None if line is None else line.figures
        row = _row(key if key in links else "", links, figures, f"{number}", text)
        if number in near:
            parts += _fold(folded, number - 1)
            folded = []
            parts.append(row)
        else:
            folded.append(row)
    parts += _fold(folded, len(listing.lines))
    return f"<h4>{escape(listing.name)}</h4>{_head()}{''.join(parts)}"


def _fold(folded: list[str], last: int) -> list[str]:
    if len(folded) < 3:  # folding would save nothing
        return folded
    first = last - len(folded) + 1
    return [f"<details><summary>lines {first} to {last}</summary>{''.join(folded)}</details>"]


def _instruction(
    instruction: SassInstruction,
    key: str,
    links: Mapping[str, int],
    costs: Mapping[str, Any] | None,
) -> str:
    figures = None
    if costs is not None and costs["space"] != "global":
        figures = {name: costs[name] for name in (*_TOLD, "n_way", "share")}
    return _row(key, links, figures, f"{instruction.address:04x}", str(instruction))


def _row(
    key: str, links: Mapping[str, int], figures: Mapping[str, Any] | None, number: str, text: str
) -> str:
    cells = "<span></span>" * len(_HEADS)
    told = ""
    if figures is not None:
        share = figures["share"]
        shown = [
            *(short(figures[name]) for name in _HEADS[:-1]),
            "?" if share is None else f"{share:.0%}",
        ]
        hot = f' style="background:var(--h{heat_of(figures)});color:var(--t{heat_of(figures)})"'
        cells = "".join(
            f"<span{hot if name in ('n_way', 'bank_conflicts') else ''}>{cell}</span>"
            for name, cell in zip(_HEADS, shown, strict=True)
        )
        told = f' title="{_said(figures)}" tabindex="-1"'
    linked = f' data-line="{key}" data-link="{links[key]}"' if key in links else ""
    costly = " costs" if figures is not None else ""
    return (
        f'<div class="line{costly}"{linked}{told}>{cells}<i>{number}</i>'
        f"<code>{escape(text)}</code></div>"
    )


def _minimap(sizes: Sequence[tuple[int, int]], lines: Sequence[CostlyLine]) -> str:
    """Return a strip with a mark per line that costs, at its place; `sizes`: lines of each file."""
    starts, total = {}, 0
    for file, size in sizes:
        starts[file] = total
        total += size
    marks = []
    for line in reversed(lines):
        if line.file not in starts:
            continue
        top = 100 * (starts[line.file] + line.number - 1) / (total or 1)
        marks.append(
            f'<i data-jump="{line.key}" style="top:{top:.2f}%;'
            f'background:var(--h{heat_of(line.figures)})" title="line {line.number}:'
            f' {_said(line.figures)}"></i>'
        )
    return f'<div class="minimap" aria-hidden="true">{"".join(marks)}</div>'


def heat_of(figures: Mapping[str, Any]) -> int:
    """Return how hot a line is: by the wavefronts for each that would do."""
    waves, ideal = figures["wavefronts"] or 0, figures["ideal"] or 0
    return heat(max(round(waves / ideal) - 1, 0)) if ideal else heat(0)


def _ways(figures: Mapping[str, Any]) -> str:
    conflicts = figures["bank_conflicts"]
    return "conflict-free" if conflicts == 0 else f"{short(figures['n_way'])}-way"


def _said(figures: Mapping[str, Any]) -> str:
    """Return all figures in words, with the names that text has for them."""
    parts = [
        f"{'?' if figures[name] is None else format(figures[name], ',')} {heading(name)}"
        for name in _TOLD
    ]
    return escape(", ".join([*parts, f"{short(figures['n_way'])} wavefronts per request"]))
