"""What a page shows of a replayed kernel: its hottest line, the cure, source beside SASS."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from layouts.errors import plural
from simulator.asking.kernel import CuredKernel, KernelView, look_inside
from simulator.asking.pictures import Picture
from simulator.asking.words import Level, cause
from simulator.errors import LaunchError
from simulator.law.explaining import Explanation
from simulator.results.columns import law_columns
from simulator.results.tables import rows as as_rows
from simulator.results.text import Listing
from viz.page.access import beside, shown_picture
from viz.page.code_view import CostlyLine, code_view, files_of, heat_of, hot_lines, lines_of
from viz.page.fixes import fixes_markup
from viz.page.section import Section, copied, details
from viz.page.time_view import time_markup

if TYPE_CHECKING:
    from simulator.sass.report import CompiledReport

__all__ = ["PARTS", "headline", "of_compiled"]

_MOST_BARS = 12
_MOST_DRAWN = 40  # lines whose worst accesses are drawn


def of_compiled(result: Any) -> Section:
    """Return the section of a replayed kernel, whose launch runs again for its accesses."""
    report: CompiledReport = result  # not imported: the machine behind it takes half a second
    from simulator.sass.code.demangling import demangled

    view = look_inside(report) or KernelView((), {}, (), (), "its launch is no longer known")
    listings = report.listings()
    lines = lines_of(report, listings)
    total = report.totals()["all"]
    title, level, said = _verdict(report, lines, view)
    hot = _hottest(report, view)
    drawn = [] if hot is None else _pictures(report, view, hot)
    grid, block = (_shape(shape) for shape in (report.grid, report.block))
    name = demangled(report.kernel)
    hottest = hot_lines(lines)
    instructions = [
        {**row, "address": f"{row['address']:#06x}", "file": Listing(row["file"], (), {}).name}
        for row in as_rows(report.instructions)
    ]
    law = law_columns(report.rule, report.chip)
    figures = {key: total[key] for key in ("wavefronts", "ideal", "excessive", "bank_conflicts")}
    best = view.cures[0].fix.text if view.cures else ""
    return Section(
        title,
        level=level,
        asked=name,
        about=[
            report.arch, f"grid of {grid} blocks of {block} threads",
            f"{plural(report.blocks, 'block')} executed",
            *(f"{value} {key}" for key, value in law.items()),
        ],
        cause=[*said, *([cause(hot[1])] if hot and hot[1].bank_conflicts else [])],
        first=[beside(drawn, _uncured(view, total), more=hottest) if drawn else hottest],
        numbers={**figures, "requests": total["requests"]},
        after=[
            code_view(listings, lines, files_of(report), view.instructions, _costs(report)),
            *_worst_of_lines(report, view, lines),
            *(part(report, view) for part in PARTS),
        ],
        rows=_sums(report),
        sentences=[
            *report.units(), *report.notes,
            *([f"{name} is {report.kernel}."] if name != report.kernel else []),
        ],
        folded=[(plural(len(instructions), "instruction"), instructions)] if instructions else [],
        cure=best,
        pictures=drawn,
        bars=[
            (line.place, line.figures["wavefronts"] or 0, heat_of(line.figures))
            for line in lines[:_MOST_BARS]
        ]
        if not drawn
        else (),
    )  # fmt: skip


def _shape(sizes: Sequence[int]) -> str:
    """Return extents without the last ones that are 1."""
    least = [*sizes]
    while len(least) > 1 and least[-1] == 1:
        least.pop()
    return "×".join(map(str, least))


def _fixes(_: CompiledReport, view: KernelView) -> str:
    """Return every fix in words, folded."""
    if not view.fixes:
        return ""
    parts = "".join(fixes_markup(view.fixes))
    return details(f"What to change: {plural(len(view.fixes), 'array')}", parts)


def _time(report: CompiledReport, _: KernelView) -> str:
    """Return where the time goes; nothing for a launch that is no longer known."""
    try:
        found = report.time()
    except LaunchError:
        return ""
    return time_markup(found, files_of(report), report.sources)


PARTS: list[Callable[[CompiledReport, KernelView], str]] = [_time, _fixes]
"""Further parts of a kernel's page, below its code: each returns HTML, safe already, or ""."""


def headline(hot: CostlyLine, worst: Sequence[Explanation]) -> str:
    """Return what a line costs in a few words; `worst` are its instructions' worst accesses.

    Warps that are off execute the line, too, and many accesses may be free: the ways are those of
    the worst access, "up to" where the line's others take fewer.
    """
    times = hot.figures["wavefronts"] / (hot.figures["ideal"] or 1)
    price = f"at {hot.place}, {hot.figures['share'] or 0:.0%} of the kernel's wavefronts"
    ways = max((_ways(one) for one in worst), default=0.0)
    if ways <= 1:
        return f"{times:.3g} times the ideal wavefronts {price}"
    return f"{'Up to ' if times < 0.99 * ways else ''}{ways:.3g}-way bank conflicts {price}"


def _ways(one: Explanation) -> float:
    """Return wavefronts per wavefront that an access would take without conflicts."""
    least = one.wavefronts - one.instruction.passes * one.bank_conflicts
    return one.wavefronts / least if least > 0 else 0.0


def _verdict(
    report: CompiledReport, lines: Sequence[CostlyLine], view: KernelView
) -> tuple[str, Level, list[str]]:
    total = report.totals()["all"]
    waves, conflicts = total["wavefronts"], total["bank_conflicts"]
    if not waves:
        return "No instruction touches shared memory", "nothing", []
    if not conflicts:
        return f"Conflict-free: {plural(waves, 'wavefront')} of shared memory", "free", []
    if not total["excessive"]:
        return f"{plural(conflicts, 'bank conflict')} that cost nothing", "harmless", []
    least = f"{plural(waves, 'wavefront')} where {total['ideal']:,} would be ideal"
    hot = next((line for line in lines if line.figures["excessive"]), None)
    if hot is None:
        return f"Bank conflicts: {least}", "conflict", []
    found, at = report.instructions, (files_of(report)[hot.file], hot.number)
    worst = [
        view.worst[address]
        for address, *place in zip(found["address"], found["file"], found["line"], strict=True)
        if (*place,) == at and address in view.worst
    ]
    return headline(hot, worst), "conflict", [f"{least}, {plural(conflicts, 'bank conflict')}."]


def _hottest(report: CompiledReport, view: KernelView) -> tuple[int, Explanation] | None:
    """Return the instruction that loses most, by its address, and its worst access."""
    found = report.instructions
    costs = zip(found["excessive"], found["bank_conflicts"], found["wavefronts"],
                found["address"], strict=True)  # fmt: skip
    known = [(tuple(value or 0 for value in each), address) for *each, address in costs
             if address in view.worst]  # fmt: skip
    if not known:
        return None
    _, address = max(known, key=lambda pair: (pair[0], -pair[1]))
    return address, view.worst[address]


def _pictures(
    report: CompiledReport, view: KernelView, hot: tuple[int, Explanation]
) -> list[Picture]:
    address, one = hot
    drawn = [Picture(_place(report, address), ((f"worst access of {one.op}", one),))]
    cure = view.cure(address)
    if cure is not None:
        drawn.append(_cured(cure, address))
    return drawn


def _cured(cure: CuredKernel, address: int) -> Picture:
    fix = cure.fix
    after = plural(fix.after.bank_conflicts, "bank conflict")
    notes = [
        f"{fix.bytes_after:,} bytes ({fix.bytes_after - fix.bytes_before:+,})",
        f"{plural(fix.operations, 'operation')} more" if fix.operations else "no operation",
        "conflict-free" if not fix.after.bank_conflicts else f"leaves {after}",
        "ran, same outputs" if fix.outputs_equal else "",
    ]
    one = cure.worst[address]
    return Picture(
        f"Cure: {fix.kind or 'write'}",
        ((f"the same instruction, {one.op}", one),),
        code=fix.text,
        notes=tuple(filter(None, notes)),
    )


def _uncured(view: KernelView, total: dict[str, int]) -> str:
    if not total["bank_conflicts"]:
        return "nothing to do"
    if view.why:
        return f"a cure was {view.why}" if view.why.startswith("not") else view.why
    return next(
        (fix.why.rstrip(".") for fix in view.fixes if fix.why), "no layout was found that helps"
    )


def _place(report: CompiledReport, address: int) -> str:
    found = report.instructions
    at = found["address"].index(address)
    file, line = Listing(found["file"][at], (), {}).name, found["line"][at]
    return f"{file}:{line}" if line else f"{address:#06x}"


def _costs(report: CompiledReport) -> dict[int, dict[str, Any]]:
    """Return each memory instruction's row, with its n-way and share, by its address."""
    found = as_rows(report.instructions)
    total = sum(row["wavefronts"] or 0 for row in found) or 1
    for row in found:
        waves, executed = row["wavefronts"], row["executed"]
        row["n_way"] = round(waves / executed, 2) if waves is not None and executed else None
        row["share"] = None if waves is None else waves / total
    return {row["address"]: row for row in found}


def _worst_of_lines(
    report: CompiledReport, view: KernelView, lines: Sequence[CostlyLine]
) -> list[str]:
    """Return for each line the worst access of its costliest instruction, shown on hover."""
    found = report.instructions
    files = files_of(report)
    shown = []
    for line in lines[:_MOST_DRAWN]:
        file = files[line.file]
        at = [
            (-(waves or 0), address)
            for name, number, waves, address in zip(
                found["file"], found["line"], found["wavefronts"], found["address"], strict=True
            )
            if (name, number) == (file, line.number) and address in view.worst
        ]
        if not at:
            continue
        _, address = min(at)
        one = view.worst[address]
        picture = Picture(_place(report, address), ((cause(one), one),))
        cure = view.cure(address)
        written = copied(cure.fix.text, "the cure") if cure is not None else ""
        shown.append(
            f'<div class="worst" data-line="{line.key}" role="note">{shown_picture(picture)}'
            f"{f'<p>Cure</p>{written}' if written else ''}</div>"
        )
    return shown


def _sums(report: CompiledReport) -> list[dict[str, Any]]:
    sums: list[dict[str, Any]] = [
        {"memory": "total" if kind == "all" else f"shared {kind}s", **figures}
        for kind, figures in report.totals().items()
        if kind in ("load", "store", "all")
    ]
    shares = as_rows(report.shares())
    if any(row["unit"] != "lsu" for row in shares):
        sums = [{**row, "share": None} for row in sums]
        sums += [
            {
                **dict.fromkeys(sums[0]),
                **{name: row[name] for name in ("wavefronts", "share")},
                "memory": f"unit {row['unit']}",
                "requests": row["executed"],
            }
            for row in shares
        ]
    return sums
