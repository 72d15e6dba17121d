"""`kernel_bars`: what each memory access of a kernel costs, ideal against excessive."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import plotly.graph_objects as go

from layouts.errors import plural
from simulator.kernels.replay import KernelReport
from simulator.results.sites import SiteReport, SiteTable
from viz.errors import DrawError
from viz.figure import titled
from viz.theme import KINDS, SMALL, Theme, plain, template

__all__ = ["kernel_bars", "short"]

_ROW = 40  # pixels of a bar with its label above
_LONGEST = 34  # characters of a source expression
_LONGEST_NAME = 30  # with its cost, on a telephone
_MOST = 40  # bars of one kernel


def kernel_bars(
    reports: object,
    *,
    names: Sequence[str] | None = None,
    title: str | None = None,
    theme: Theme = "light",
) -> go.Figure:
    """Draw the wavefronts of each shared-memory site of one or several kernels, on one scale.

    `reports` is what `replay` returned, or several of them, drawn one below the other. Stores
    are hatched. `names` are what several are called, by default the names of their kernels.

    >>> from bankwise import replay
    >>> kernel_bars(replay("junstar92.2d", m=4096, n=4096, k=4096)).layout.title.text
    'junstar92.2d, 4096×4096×4096: 973 M wavefronts, 604 M ideal, 503 M bank conflicts'

    Raises DrawError for anything else, or nothing, or another number of names.
    """
    kernels: list[SiteTable] = []
    for report in reports if isinstance(reports, list | tuple) else [reports]:
        if not isinstance(report, SiteTable):
            raise DrawError(
                f"{type(report).__name__} is not a kernel's report (accepted: what replay returns,"
                " or a list of that)"
            )
        kernels.append(report)
    if not kernels:
        raise DrawError("no kernel to draw (accepted: one report of replay, or more)")
    if names is not None and len(names) != len(kernels):
        raise DrawError(
            f"{plural(len(names), 'name')} for {plural(len(kernels), 'kernel')} (accepted: one"
            " each)"
        )
    called = [_name(report) for report in kernels] if names is None else [*map(_end, names)]
    costs = [
        f"{name}: {short(report.totals()['all']['wavefronts'])} wavefronts"
        for name, report in zip(called, kernels, strict=True)
    ]
    bars: list[tuple[float, SiteTable, SiteReport]] = []
    headings: list[tuple[float, str]] = []
    y, left_out = 0.0, 0
    for report, cost in zip(kernels, costs, strict=True):
        if len(kernels) > 1:
            headings.append((y, cost))
            y += 1
        sites = [site for site in report.sites if site.memory == "shared"]
        drawn = sorted(sites, key=lambda site: -site.wavefronts)[:_MOST]
        left_out += len(sites) - len(drawn)
        if left_out == 0:
            drawn = sites
        for site in sorted(drawn, key=lambda site: site.kind):  # loads before stores
            bars.append((y, report, site))
            y += 1
    most = max((site.wavefronts for _, _, site in bars), default=0) or 1
    hover = [
        [
            plain(site.source),
            site.op,
            f"{site.requests:,}",
            f"{site.wavefronts:,}",
            f"{site.ideal:,}",
            f"{site.excessive:,}",
            f"{site.bank_conflicts:,}",
            plain(site.evidence),
            plain(report.kernel),
        ]
        for _, report, site in bars
    ]
    traces = [
        go.Bar(
            orientation="h",
            name=name,
            x=[getattr(site, name) for _, _, site in bars],
            y=[place for place, _, _ in bars],
            width=0.36,
            offset=0.04,
            base=None if name == "ideal" else [site.ideal for _, _, site in bars],
            marker={
                "color": color,
                "line": {"width": 0},
                "pattern": {
                    "shape": ["/" if site.kind == "store" else "" for _, _, site in bars],
                    "fillmode": "overlay",
                    "size": 6,
                    "solidity": 0.25,
                    "fgcolor": "#ffffff",
                },
            },
            customdata=hover,
            hovertemplate=(
                "<b>%{customdata[0]}</b> (%{customdata[8]})<br>%{customdata[1]}:"
                " %{customdata[2]} requests<br>%{customdata[3]} wavefronts = %{customdata[4]} ideal"
                " + %{customdata[5]} excessive<br>%{customdata[6]} bank conflicts"
                "<br>%{customdata[7]}<extra></extra>"
            ),
        )
        for name, color in (("ideal", KINDS["blue"]), ("excessive", KINDS["orange"]))
    ]
    labels = {"xanchor": "left", "x": 0, "showarrow": False, "yanchor": "middle"}
    annotations: list[dict[str, Any]] = [
        {**labels, "y": place - 0.2, "text": _label(site)} for place, _, site in bars
    ]
    annotations += [
        {
            **labels,
            "y": place + 0.15,
            "text": f"<b>{plain(said)}</b>",
            "font": {"size": 13},
        }
        for place, said in headings
    ]
    annotations += [
        {
            "text": f"{short(site.wavefronts)}",
            "x": site.wavefronts,
            "y": place + 0.22,
            "xanchor": "left",
            "xshift": 4,
            "showarrow": False,
            "font": {"size": SMALL},
        }
        for place, _, site in bars
    ]
    if not bars:
        annotations.append({**labels, "y": 0, "text": "No access to shared memory."})
    finding = _finding(kernels[0])
    if len(kernels) > 1:
        finding = "; ".join(costs)
    finding = finding if title is None else title
    subtitle = "Wavefronts of the whole grid; hatched: stores."
    if left_out:
        subtitle += (
            f" The {_MOST} costliest instructions of a kernel are drawn: {left_out} are not."
        )
    text, top = titled(finding, subtitle, 960)
    rows = max(y, 1)
    height = round(top + rows * _ROW + 74)
    figure = go.Figure(traces)
    figure.update_layout(
        template=template(theme),
        title=text,
        height=height,
        margin={"l": 12, "r": 12, "t": top, "b": 74, "autoexpand": False},
        barmode="overlay",
        xaxis={
            "range": [0, most * 1.22],
            "title": {"text": "wavefronts"},
            "nticks": 6,
            "fixedrange": True,
        },
        yaxis={
            "range": [rows - 0.4, -0.5],
            "showticklabels": False,
            "showgrid": False,
            "fixedrange": True,
        },
        legend={
            "orientation": "h",
            "x": 0,
            "y": 0,
            "yref": "container",
            "yanchor": "bottom",
            "traceorder": "normal",
            "font": {"size": SMALL},
        },
        annotations=annotations,
        meta={"bankwise": {"kind": "kernel_bars", "title": finding, "subtitle": subtitle}},
    )
    return figure


def short(number: float) -> str:
    """Write a count in three digits.

    >>> short(402653184), short(12), short(2048)
    ('403 M', '12', '2.05 k')
    """
    size = float(number)
    for unit in ("", " k", " M", " G", " T", " P"):
        if size < 999.5 or unit == " P":
            break
        size /= 1000
    return f"{number}" if not unit else f"{size:.3g}{unit}"


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def _label(site: SiteReport) -> str:
    # Of a compiled kernel it is a file and a line; the folders tell a reader little.
    source = site.source.rpartition("/")[2] if site.evidence == "executed" else site.source
    return f"{plain(_cut(source))}  <b>{site.op}</b>"


def _name(report: SiteTable) -> str:
    return _cut(report.kernel if isinstance(report, KernelReport) else report.title)


def _end(name: str) -> str:
    # Paths and commands that are compared mostly begin alike.
    return name if len(name) <= _LONGEST_NAME else f"…{name[1 - _LONGEST_NAME :]}"


def _finding(report: SiteTable) -> str:
    total = report.totals()["all"]
    conflicts = total["bank_conflicts"]
    said = [
        f"{short(total['wavefronts'])} wavefronts",
        f"{short(total['ideal'])} ideal",
        f"{short(conflicts)} bank conflicts" if conflicts else "no bank conflict",
    ]
    return f"{report.title}: {', '.join(said)}"
