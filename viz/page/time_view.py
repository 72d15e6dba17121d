"""Where a kernel's time goes, as a part of its page: before and after, by pipe and by line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from layouts.errors import plural
from simulator.results.columns import heading
from simulator.results.tables import rows
from simulator.results.text import Listing
from simulator.timing.gains import gain_text, is_faster
from simulator.timing.kernel_time import KernelTime, spelled
from simulator.timing.pipes import NAMES
from simulator.timing.state import STALLS
from viz.page.section import Section, details, table

__all__ = ["of_time", "time_markup", "times_markup"]

_MOST_LINES = 8
_MOST_PIPES = 8
_SHOWN = 0.01
"""Parts of a bar, and pipes, that are less are not shown."""


def of_time(time: KernelTime) -> Section:
    """Return the section of a time without its kernel's report: it has no source to jump to."""
    after = time.without_conflicts.cycles
    gain = time.speedup_without_conflicts
    if time.cycles is None:
        title = f"The cycles on {time.chip} are not known"
    elif gain is not None and time.without is not None:
        title = f"About {time.cycles:,} cycles; {after:,} without bank conflicts: {gain_text(gain)}"
    else:
        title = f"About {time.cycles:,} cycles; without bank conflicts it would not be faster"
    return Section(
        title,
        level="nothing" if gain is None else "conflict" if is_faster(gain) else "free",
        asked=time.kernel,
        about=[time.chip],
        after=[time_markup(time, (), {})],
    )


def time_markup(
    time: KernelTime, files: Sequence[str], sources: Mapping[str, Sequence[str]]
) -> str:
    """Return where the time goes as HTML.

    `files`: those that the code view numbers, for links to its lines; `sources`: their lines.
    """
    said = "".join(f"<p>{escape(each)}</p>" for each in time.sentences())
    if time.cycles is None:
        parts = [said, _pipes(time)]
    else:
        parts = [
            _runs(time), _legend(_both(time), thin=len(_both(time)) > 1), said,
            f'<div class="time-parts">{_pipes(time)}{_lines(time, files, sources)}</div>',
            _instructions(time),
        ]  # fmt: skip
    clock = "" if time.clock_mhz is None else f" at {time.clock_mhz:,.0f} MHz"
    how = (
        f"bounds for {time.chip}{clock}, by published peaks"
        if time.cycles is None
        else f"estimated for {time.chip}{clock}: one SM, cycle by cycle"
    )
    head = f'<h3>Where the time goes</h3><span class="faint">{how}; no GPU ran</span>'
    return f'<section class="time"><header>{head}</header>{"".join(parts)}</section>'


def times_markup(times: Sequence[tuple[str, KernelTime]]) -> str:
    """Return the times of several kernels as bars of one scale; "" where none is known."""
    known = [time for _, time in times if time.cycles is not None]
    if not known:
        return ""
    longest = max(known, key=lambda time: time.cycles or 0)
    runs = "".join(
        _run(escape(name), time, longest, _time_of(time))
        if time.cycles is not None
        else f'<div class="run"><b>{escape(name)}</b><span>{escape(time.notes[-1])}</span></div>'
        for name, time in times
    )
    chips = " and ".join(dict.fromkeys(time.chip for time in known))
    head = f'<h3>Time</h3><span class="faint">estimated for {chips}; no GPU ran</span>'
    return (
        f'<section class="time"><header>{head}</header><div class="runs">{runs}</div>'
        f"{_legend(known)}</section>"
    )


def _runs(time: KernelTime) -> str:
    """Return the launch as a bar of what its warps do, and below it that without conflicts."""
    before, after = time, time.without_conflicts
    runs = [_run("as it is", before, before, _time_of(before))]
    if after is not before:
        gain = time.speedup_without_conflicts or 1.0
        runs.append(_run("without conflicts", after, before, f"{_time_of(after)} · ×{gain:.2f}"))
    return f'<div class="runs">{"".join(runs)}</div>'


def _run(name: str, time: KernelTime, longest: KernelTime, said: str) -> str:
    whole, active = longest.cycles or 1, time.active_cycles or 0
    fixed = (time.cycles or 0) - active
    parts = [("launch", fixed / whole, f"{fixed:,.0f} cycles")]
    parts += [
        (reason, share * active / whole, f"{share:.1%} of the cycles of warps")
        for reason, share in _shares(time).items()
    ]
    words = ", ".join(f"{_words(reason)} {share:.0%}" for reason, share in _shares(time).items()
                      if share >= _SHOWN)  # fmt: skip
    return (
        f'<div class="run"><b>{name}</b><span class="stack" role="img"'
        f' aria-label="{escape(words)}">{_stack(parts)}</span><span>{said}</span></div>'
    )


def _time_of(time: KernelTime) -> str:
    took = "" if time.seconds is None else f" · {spelled(time.seconds)}"
    return f"{time.cycles:,} cycles{took}"


def _shares(time: KernelTime) -> dict[str, float]:
    """Return the reasons' shares of all cycles of warps, the largest first."""
    whole = sum(time.reasons.values()) or 1.0
    return {reason: cycles / whole for reason, cycles in time.reasons.items() if cycles}


def _stack(parts: Sequence[tuple[str, float, str]]) -> str:
    """Return parts of a bar, each with its share of the bar's room, and its figure in words."""
    return "".join(
        f'<i class="stall {reason}" style="width:{100 * share:.2f}%" title="{_words(reason)}:'
        f' {told}"></i>'
        for reason, share, told in parts
        if share >= _SHOWN / 4
    )


def _words(reason: str) -> str:
    return {"launch": "launch", "selected": "issuing"}.get(reason) or heading(reason)


def _both(time: KernelTime) -> list[KernelTime]:
    after = time.without_conflicts
    return [time] if after is time else [time, after]


def _legend(times: Sequence[KernelTime], *, thin: bool = False) -> str:
    """Return the colours of the reasons that bars show, and what thin bars are."""
    largest: dict[str, float] = {}
    for each in times:
        for reason, share in _shares(each).items():
            largest[reason] = max(share, largest.get(reason, 0.0))
    shown = ["launch", *(reason for reason in largest if largest[reason] >= _SHOWN)]
    items = "".join(
        f'<span><i class="stall {reason}"></i>{escape(_words(reason))}</span>' for reason in shown
    )
    if thin:
        items += '<span><i class="after"></i>thin: without conflicts</span>'
    return f'<div class="legend">{items}</div>'


def _pipes(time: KernelTime) -> str:
    """Return how busy each pipe is, before and after."""
    after = time.without_conflicts
    busy = [
        name for name in time.pipes if max(time.pipes[name], after.pipes.get(name, 0.0)) >= _SHOWN
    ]
    if not busy:
        return ""
    items = []
    for name in busy[:_MOST_PIPES]:
        now, then = time.pipes[name], after.pipes.get(name, 0.0)
        second = f'<span class="after" style="width:{100 * then:.1f}%"></span>'
        limits = ' class="limits"' if name == time.limiter else ""
        told = f"{time.bound.pipes[name]:,.0f} cycles at its peak"
        if after is not time:
            told += f", {after.bound.pipes[name]:,.0f} without conflicts"
        figures = f"{now:.0%}" + (f" → {then:.0%}" if after is not time else "")
        items.append(
            f'<li{limits} title="{escape(NAMES[name])}: {told}"><span>{escape(NAMES[name])}</span>'
            f'<span class="busy"><span class="before" style="width:{100 * now:.1f}%"></span>'
            f"{second if after is not time else ''}</span><span>{figures}</span></li>"
        )
    what = (
        "How busy each pipe is" if time.cycles is not None else "What each pipe needs of the bound"
    )
    what += ", → without conflicts" if after is not time else ""
    return f'<div class="pipes"><h4>{what}</h4><ol>{"".join(items)}</ol></div>'


def _lines(time: KernelTime, files: Sequence[str], sources: Mapping[str, Sequence[str]]) -> str:
    """Return where warps spend most cycles, with the reasons: lines, or else instructions."""
    whole = sum(time.stalls["warp_cycles"]) or 1
    is_known = any(time.stalls["line"])
    keys = ("file", "line") if is_known else ("address",)

    def places(of: KernelTime) -> list[dict[str, Any]]:
        return rows(of.lines() if is_known else of.stalls)

    after = {tuple(row[key] for key in keys): row for row in places(time.without_conflicts)}
    found = sorted(places(time), key=lambda row: -row["warp_cycles"])
    shown = [row for row in found[:_MOST_LINES] if row["warp_cycles"] >= _SHOWN * whole]
    items = []
    for row in shown:
        then = after.get(tuple(row[key] for key in keys), {}).get("warp_cycles", 0) / whole
        second = f'<span class="after" style="width:{100 * then:.1f}%"></span>'
        text = sources.get(row.get("file", ""), ())
        code = text[row["line"] - 1].strip() if is_known and 0 < row["line"] <= len(text) else ""
        linked = is_known and row["file"] in files and row["line"]
        key = f"{files.index(row['file'])}:{row['line']}" if linked else ""
        place = _place(row) if is_known else f"{row['address']:04x} {row['opcode']}"
        bars = second if time.without_conflicts is not time else ""
        items.append(f"<li>{_line(row, whole, place, code, key, bars)}</li>")
    left = len(found) - len(shown)
    rest = 1 - sum(row["warp_cycles"] for row in shown) / whole
    noun = "more line" if is_known else "more instruction"
    more = f'<p class="caveat">{plural(left, noun)}: {rest:.0%}.</p>' if left else ""
    return (
        '<div class="time-lines"><h4>Where warps are, of all their cycles</h4>'
        f"<ol>{''.join(items)}</ol>{more}</div>"
    )


def _line(row: Mapping[str, Any], whole: int, place: str, code: str, key: str, after: str) -> str:
    """Return one place: a button that jumps to its line in the code, where `key` names that."""
    parts = sorted(((name, row[name] / whole) for name in STALLS), key=lambda part: -part[1])
    top = next((name for name, _ in parts if name != "selected"), "")
    words = (f"{_words(name)} {part:.0%}" for name, part in parts if part >= _SHOWN / 2)
    stack = _stack([(name, part, f"{part:.1%}") for name, part in parts])
    tag, kind = ("button", ' type="button"') if key else ("div", "")
    linked = f' data-line="{key}"' if key else ""
    return (
        f'<{tag}{kind} class="jump"{linked} title="{escape(", ".join(words))}">'
        f"<span>{escape(place)}</span><span>{escape(_words(top))}</span>"
        f"<span>{row['warp_cycles'] / whole:.0%}</span><code>{escape(code)}</code>"
        f'<span class="bars"><span class="stack">{stack}</span>{after}</span></{tag}>'
    )


def _place(row: Mapping[str, Any]) -> str:
    name = Listing(row["file"], (), {}).name
    return f"{name}:{row['line']}" if row["line"] else "no line"


def _instructions(time: KernelTime) -> str:
    """Return the stalls of each instruction, folded."""
    found = time.table()
    shown = [
        {
            name: f"{value:#06x}" if name == "address" else _place(row) if name == "line" else value
            for name, value in row.items()
            if name not in (*found.hidden, "file", *(() if any(time.stalls["line"]) else ("line",)))
        }
        for row in found.rows
    ]
    title = f"Stalls of {len(shown)} instructions, in cycles of warps"
    return details(title, table(shown)) if shown else ""
