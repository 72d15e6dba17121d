"""What a page shows of results that stand beside others: geometries, comparisons, optima."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from layouts.warp import WarpLayout
from simulator.asking.compare import Input, InputComparison
from simulator.asking.geometry import geometry_pictures, geometry_verdict, remedy, worst_of
from simulator.asking.pictures import Picture
from simulator.asking.words import Level
from simulator.gemm.simulate import FragmentReport
from simulator.law.counting import Counts
from simulator.law.explaining import Explanation, explain
from simulator.results.columns import law_columns
from simulator.results.sites import SiteTable
from simulator.search.optimum import Optimum
from viz.compare import compare
from viz.page.access import beside, memories
from viz.page.section import Section
from viz.page.time_view import times_markup

__all__ = ["of_comparison", "of_geometry", "of_optimum"]

_MOST_PICTURES = 2  # accesses of an optimum that are drawn


def of_geometry(report: FragmentReport) -> Section:
    """Return the section of a warp geometry: both fragments, and a geometry that costs less."""
    found = geometry_verdict(report)
    cure = remedy(report)
    drawn = geometry_pictures(report, cure)
    totals = report.to_dict()["totals"]
    chip = None if report.chip is None else report.chip.name
    return Section(
        found.text,
        [*report.rows(), {"fragment": "total", "op": "", **totals}],
        [*(f"{part.name}: {part.reason}" for part in report.fragments), *report.notes],
        level=found.level,
        asked=report.title,
        about=["one k step of one warp", *_law(report.rule, chip)],
        first=[beside(drawn, "nothing to do" if found.level == "free" else _NONE)],
        numbers=_totals(totals),
        below=[memories(drawn), _warps([report, *([cure] if cure else [])])],
        cure=drawn[1].code if cure is not None else "",
        pictures=drawn,
    )


def _warps(reports: Sequence[FragmentReport]) -> str:
    """Return where each lane sits in the warp, as a table per geometry, side by side."""
    figures = []
    for number, report in enumerate(reports):
        warp = WarpLayout.of(report.warp_shape, report.lane_order)
        name = "The lanes of the warp" + (", cured" if number else "")
        rows = "".join(
            f"<tr>{''.join(_lane(warp.lane(row, col)) for col in range(warp.cols))}</tr>"
            for row in range(warp.rows)
        )
        said = f"{warp.rows}×{warp.cols} threads of C, each computes {report.thread_tile} of it"
        figures.append(
            f'<figure class="access"><figcaption><h3>{name}</h3><span>{said}</span></figcaption>'
            f'<table class="lane-map" aria-label="{name}"><tbody>{rows}</tbody></table></figure>'
        )
    return f'<div class="memories n2">{"".join(figures)}</div>'


def _lane(lane: int) -> str:
    return f'<td data-lanes="{lane}">{lane}</td>'


_NONE = "no padding of up to 8 elements, split fragment or other order of lanes takes fewer cycles"


def of_comparison(comparison: InputComparison) -> Section:
    """Return the section of a comparison: its inputs side by side, then the differences."""
    named = _named(comparison)
    drawn = [Picture(name, _parts(each), notes=_notes(each)) for name, each in named]
    drawn = [picture for picture in drawn if picture.parts]
    kernels = [each.result for each in comparison.inputs if isinstance(each.result, SiteTable)]
    figures = []
    if len(kernels) == 2:
        first, second = (
            label + name.removeprefix(each.name)  # the law
            for label, (name, each) in zip(comparison.labels, named, strict=True)
        )
        figures.append(compare(kernels[0], kernels[1], names=(first, second)))
    level: Level = "conflict" if comparison.worse else "free"
    differ = len({each.figures["wavefronts"] for each in comparison.inputs}) > 1
    return Section(
        comparison.verdict,
        [{**row, "input": name} for row, (name, _) in zip(comparison.rows(), named, strict=True)],
        figures=figures,
        level=level if differ else "nothing",
        asked=" | ".join(name for name, _ in named),
        about=["compared with the first"],
        first=[beside(drawn)] if len(drawn) > 1 else [],
        after=[
            times_markup(
                [
                    (name, each.time)
                    for name, each in zip(comparison.labels, comparison.inputs, strict=True)
                    if each.time is not None
                ]
            ),
        ],
        below=[memories(drawn)] if len(drawn) > 1 else [],
        pictures=drawn,
        bars=[
            (name, each.figures["wavefronts"], 0 if not each.figures["excessive"] else 3)
            for name, each in named
        ]
        if not drawn
        else (),
    )


def of_optimum(result: Optimum) -> Section:
    """Return the section of a search: its worst accesses before and with the best layout."""
    table = result.table()
    rows = [
        {name: value for name, value in row.items() if name not in table.hidden}
        for row in [*table.rows, {**dict.fromkeys(table.rows[0], ""), "access": "total",
                                  **result.totals()}]
    ]  # fmt: skip
    totals = result.totals()
    title, *sentences = result.sentences
    lost = totals["bank_conflicts_before"]
    code = result.notation or result.expression or _values(result)
    drawn = _before_and_after(result, code)
    return Section(
        title.rstrip("."),
        rows,
        [said for said in sentences if said != result.certificate.text],
        cause=[result.certificate.text],
        level="free" if result.helps or not lost else "conflict",
        asked=", ".join(dict.fromkeys(f"{row.op}: {row.access}" for row in result.accesses)),
        about=[f"least {result.objective.replace('_', ' ')}",
               *_law(result.rule, None if result.chip is None else result.chip.name)],
        first=[beside(drawn)] if drawn else [],
        pictures=drawn,
        numbers={
            "wavefronts": result.totals()["wavefronts"] or 0,
            "bank_conflicts": result.totals()["bank_conflicts"] or 0,
            "cycles": result.totals()["cycles"] or 0,
            "shared_bytes": result.bytes,
        },
        cure=code if result.helps else "",
    )  # fmt: skip


def _before_and_after(result: Optimum, code: str) -> list[Picture]:
    known = [each for each in result.worst if each.before is not None]
    parts: list[tuple[str, Explanation, Explanation]] = []
    for each in known or result.worst:
        last = explain(each.instruction, each.after, each.mask, rule=result.rule)
        first = last
        if each.before is not None:
            first = explain(each.instruction, each.before, each.mask, rule=result.rule)
        parts.append((f"{each.instruction.name}: {each.access}", first, last))
    parts.sort(key=lambda part: -part[1].bank_conflicts)
    drawn = parts[:_MOST_PICTURES]
    if not any(one.wavefronts for _, _, one in drawn):
        return []
    after = Picture(
        "Cure: the best layout" if result.helps else "As given",
        tuple((name, last) for name, _, last in drawn),
        code=code,
        notes=(f"{result.bytes:,} bytes",),
    )
    if not known or not result.helps:
        return [after]
    before = Picture("As given", tuple((name, first) for name, first, _ in drawn))
    return [before, after]


def _values(result: Optimum) -> str:
    return ", ".join(f"{name}={value}" for name, value in result.values.items())


def _named(comparison: InputComparison) -> list[tuple[str, Input]]:
    """Return the inputs with names that tell them apart: a law where those differ."""
    laws = [", ".join(_law_of(each.result)) for each in comparison.inputs]
    differ = len(set(laws)) > 1
    return [
        (f"{each.name}, {law}" if differ and law else each.name, each)
        for each, law in zip(comparison.inputs, laws, strict=True)
    ]


def _parts(each: Input) -> tuple[tuple[str, Explanation], ...]:
    result: Any = each.result
    if isinstance(result, Explanation):
        return (("", result),)
    if isinstance(result, FragmentReport):
        return tuple((f"{part.name}: {part.op}", worst_of(part)) for part in result.fragments)
    return ()


def _notes(each: Input) -> tuple[str, ...]:
    conflicts = each.figures["bank_conflicts"]
    return ("conflict-free" if not conflicts else f"bank conflicts in all: {conflicts:,}",)


def _law_of(result: Any) -> list[str]:
    if isinstance(result, Counts):
        return []
    chip = result.chip
    return _law(result.rule, getattr(chip, "name", chip))


def _law(rule: str, chip: str | None) -> list[str]:
    return [f"{value} {name}" if name == "rule" else value
            for name, value in law_columns(rule, chip).items()]  # fmt: skip


def _totals(totals: dict[str, Any]) -> dict[str, Any]:
    names = ("wavefronts", "ideal", "excessive", "bank_conflicts", "cycles", "n_way")
    return {name: totals[name] for name in names}
