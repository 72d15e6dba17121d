"""Hold bounds and estimates of time to a chip.

    python -m gpu_check.timing.errors estimate CASES.json ESTIMATES.csv [CHIP [CASE...]]
    python -m gpu_check.timing.errors compare ESTIMATES.csv MEASURED.csv
    python -m gpu_check.timing.errors sets [MODEL [LAST]]
    python -m gpu_check.timing.errors range [MODEL]

CASES.json and MEASURED.csv are those of `gpu_check.timing.kernels`. The first needs no GPU, and
writes what the model says, so that it is known before anything is measured; the second prints a row
per kernel, the pairs, and what `summary` says. The third prints a row per recorded set: with MODEL
`before`, what was said before the set was measured; with `newest`, what a later model says, which
has seen it. With LAST, it prints only so many sets, the last ones, and the row of all. Then it says
which goals the sets meet. The fourth counts the launches that were measured in the range that
`KernelTime` says. A table that is not where it is said to be is taken from `gpu_check/data`.
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from statistics import fmean, median
from typing import Any

from gpu_check.timing.kernels import read_cases
from layouts.errors import plural
from simulator.sass.arguments import argument
from simulator.sass.replay import replay_compiled
from simulator.timing.kernel_time import SPREAD

__all__ = [
    "ALIKE", "SETS", "beside", "modelled", "paired", "pairs", "recorded", "set_rows", "sets",
    "summary",
]  # fmt: skip

DATA = Path(__file__).parents[1] / "data"

SETS = {
    "first": "h100_timed_kernels", "second": "h100_timed_fresh", "third": "h100_timed_third",
    "fourth": "h100_timed_fourth", "fifth": "h100_timed_fifth", "sixth": "h100_timed_sixth",
    "seventh": "h100_timed_seventh", "eighth": "h100_timed_eighth", "ninth": "h100_timed_ninth",
    "tenth": "h100_timed_tenth", "eleventh": "h100_timed_eleventh",
    "twelfth": "h100_timed_twelfth", "thirteenth": "h100_timed_thirteenth",
    "fourteenth": "h100_timed_fourteenth", "fifteenth": "h100_timed_fifteenth",
    "sixteenth": "h200_timed_sixteenth", "seventeenth a": "h100_timed_seventeenth_a",
    "seventeenth b": "h100_timed_seventeenth_b", "seventeenth c": "h100_timed_seventeenth_c",
    "eighteenth": "h100_timed_eighteenth",
    "nineteenth": "h100_timed_nineteenth", "twentieth": "h100_timed_twentieth",
    "twenty-first": "h100_timed_twentyfirst", "twenty-second": "h100_timed_twentysecond",
    "twenty-third": "h100_timed_twentythird", "twenty-fourth": "h100_timed_twentyfourth",
    "twenty-fifth": "h100_timed_twentyfifth", "twenty-sixth": "h100_timed_twentysixth",
    "twenty-seventh": "h100_timed_twentyseventh",
    "twenty-eighth": "h100_timed_twentyeighth", "twenty-ninth": "h100_timed_twentyninth",
    "thirtieth": "h100_timed_thirtieth", "thirty-first": "h100_timed_thirtyfirst",
    "thirty-second": "h100_timed_thirtysecond", "thirty-third": "h100_timed_thirtythird",
    "thirty-fourth a": "h100_timed_thirtyfourth_a",
    "thirty-fourth b": "h100_timed_thirtyfourth_b", "thirty-fifth": "h100_timed_thirtyfifth",
    "thirty-sixth": "h200_timed_thirtysixth", "thirty-seventh": "h200_timed_thirtyseventh",
    "thirty-eighth": "h200_timed_thirtyeighth", "thirty-ninth": "h200_timed_thirtyninth",
    "fortieth": "h200_timed_fortieth", "forty-first": "h200_timed_fortyfirst",
    "forty-second": "h200_timed_fortysecond",
}  # fmt: skip
"""The recorded sets of launches in order, each with its table of `DATA`."""

_NOT_REASONS = ("selected",)

_WITHIN = 0.1
"""A gain that is estimated is right if it is off by no more."""

ALIKE = 1.005
"""Launches whose cycles differ by less are as fast as each other: no sign can be wrong."""


def recorded(path: str | Path, name: str = "") -> dict[str, dict[str, Any]]:
    """Return the rows of a table by their case; numbers are numbers.

    `name`: of a set, whose rows alone are taken, where the table has a column `set`.
    """
    given = Path(path)
    is_ours = not given.exists() and given.parent == Path()
    place = DATA / given if is_ours else given
    if not place.exists():
        raise SystemExit(f"{path} is not a table (accepted: a file, or a name of {DATA}).")
    with place.open(encoding="utf-8", newline="") as file:
        return {
            row["case"]: {k: _value(v) for k, v in row.items()}
            for row in csv.DictReader(file)
            if not name or row.get("set", name) == name
        }


def _value(cell: str) -> Any:
    try:
        return float(cell)
    except ValueError:
        return cell


def top_stalls(row: Mapping[str, Any], count: int = 2) -> list[str]:
    """Return the reasons that warps waited most for, by the profiler; the most first."""
    found = {
        name.removeprefix("stall_"): value
        for name, value in row.items()
        if name.startswith("stall_") and isinstance(value, float)
    }
    for name in _NOT_REASONS:
        found.pop(name, None)
    return sorted(found, key=lambda name: -found[name])[:count]


def modelled(case: Mapping[str, Any], chip: str = "H100") -> dict[str, Any]:
    """Return what the model says of a launch.

    Columns: case, pair, bound and estimate (cycles), limiter, stall (the reason that warps wait
    most for), speedup (without bank conflicts, as estimated), most (by the bound).
    """
    report = replay_compiled(
        Path(case["cubin"]),
        kernel=case["kernel"],
        grid=tuple(case["grid"]),
        block=tuple(case["block"]),
        shared_bytes=case["shared"],
        args=[argument(text, place) for place, text in enumerate(case["args"])],
        chip=chip,
    )
    time = report.time(chip=chip)
    return {
        "case": case["name"],
        "pair": case["pair"],
        "bound": time.bound_cycles,
        "estimate": time.cycles,
        "limiter": time.limiter,
        "stall": next((name for name in time.reasons if name not in _NOT_REASONS), ""),
        "speedup": time.speedup_without_conflicts,
        "most": time.bound.most,
    }


def beside(model: Mapping[str, Any], measured: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row of `modelled` with measured (cycles), error (a fraction), measured_stalls."""
    cycles, estimate = measured["cycles"], model["estimate"]
    return {
        **model,
        "measured": cycles,
        "error": estimate / cycles - 1 if estimate else None,
        "measured_stalls": top_stalls(measured),
    }


def paired(rows: Iterable[Mapping[str, Any]]) -> dict[str, list[Mapping[str, Any]]]:
    """Return the launches of each pair by its name; without those that are of none."""
    groups: dict[str, list[Mapping[str, Any]]] = {}
    for row in rows:
        if row["pair"]:
            groups.setdefault(row["pair"], []).append(row)
    return groups


def pairs(rows: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the speedups within pairs: of each case against the slowest of its pair.

    Columns: pair, slow, fast, measured, estimated (by the estimates of both), removed (what the
    estimate of the slow one says of removing its conflicts).
    """
    found = []
    for name, group in paired(rows).items():
        slow = max(group, key=lambda row: row["measured"])
        for fast in group:
            if fast is slow:
                continue
            both = slow["estimate"] and fast["estimate"]
            found.append(
                {"pair": name, "slow": slow["case"], "fast": fast["case"],
                 "measured": slow["measured"] / fast["measured"],
                 "estimated": slow["estimate"] / fast["estimate"] if both else None,
                 "removed": slow["speedup"]}
            )  # fmt: skip
    return found


def summary(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the figures of all kernels, a sentence each."""
    held = sum(row["bound"] <= row["measured"] for row in rows)
    said = [f"Bounds below what was measured: {held} of {plural(len(rows), 'kernel')}."]
    errors = [abs(row["error"]) for row in rows if row["error"] is not None]
    if errors:
        said.append(
            f"Estimates of {plural(len(errors), 'kernel')}: off by {fmean(errors):.1%} on average,"
            f" by {max(errors):.1%} at most; {sum(each <= 0.12 for each in errors)} within 12 %."
        )
        known = [row for row in rows if row["stall"]]
        agreed = sum(row["stall"] in row["measured_stalls"] for row in known)
        said.append(
            f"The reason that warps wait most for is the profiler's first or second in {agreed} of"
            f" {len(known)}."
        )
    return said


def set_rows(name: str, model: str = "before") -> list[dict[str, Any]]:
    """Return the launches of a recorded set that a model tells, with what it says, as `beside`.

    `before` is the model that was committed before the set was measured; any other is named by a
    table of `DATA`: `newest` by h100_timed_newest_estimates.csv. Such a table tells a set if it has
    all of its launches. Sets use some names again: a table of several has a column `set`.
    """
    stem = SETS[name]
    said = stem.removesuffix("_kernels") if model == "before" else f"{stem[:4]}_timed_{model}"
    estimates = DATA / f"{said}_estimates.csv"
    if not estimates.exists():
        return []
    known = recorded(estimates, name)
    measured = recorded(DATA / f"{stem}.csv")
    if not measured.keys() <= known.keys():
        return []
    return [beside(known[case], row) for case, row in measured.items()]


def figures(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the figures of launches; `right` and `wrong` are gains, those with a wrong sign.

    Gains are those between the two estimates of a pair. A sign is wrong if the estimate makes the
    slower one the faster one; their measured cycles differ by more than 0.5 %.
    """
    estimated = [row for row in rows if row["error"] is not None]
    sizes = [abs(row["error"]) for row in estimated]
    gains = [pair for pair in pairs(rows) if pair["estimated"]]
    known = [row for row in rows if row["stall"]]
    return {
        "launches": len(rows),
        "numbers": len(estimated),
        "mean": fmean(sizes),
        "median": median(sizes),
        "largest": max(estimated, key=lambda row: abs(row["error"])),
        "held": sum(row["bound"] <= row["measured"] for row in rows),
        "gains": len(gains),
        "right": sum(abs(pair["estimated"] / pair["measured"] - 1) <= _WITHIN for pair in gains),
        "wrong": sum(pair["estimated"] < 1 and pair["measured"] >= ALIKE for pair in gains),
        "known": len(known),
        "stalls": sum(row["stall"] in row["measured_stalls"] for row in known),
    }


def set_row(name: str, rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the figures of a set's launches as cells of a row."""
    found = figures(rows)
    return {
        "set": name,
        "launches": found["launches"],
        "mean": f"{found['mean']:.1%}",
        "median": f"{found['median']:.1%}",
        "largest error": f"{found['largest']['error']:+.1%}: {found['largest']['case']!r}",
        "bounds held": found["held"],
        "pairs within 10 %": f"{found['right']} of {found['gains']}",
        "wrong signs": found["wrong"],
        "stalls": f"{found['stalls']} of {found['known']}",
    }


def goal_rows(
    each: Sequence[Sequence[Mapping[str, Any]]], every: Sequence[Mapping[str, Any]]
) -> list[dict[str, Any]]:
    """Return a row per goal: what is wanted, how many sets meet it, and the figure of all."""
    of, sets_ = figures(every), [figures(rows) for rows in each]
    most = abs(of["largest"]["error"])
    goals = (
        ("bounds below what was measured", "all", f"{of['held']} of {of['launches']}",
         [found["held"] == found["launches"] for found in sets_]),
        ("launches that get a number", "all", f"{of['numbers']} of {of['launches']}",
         [found["numbers"] == found["launches"] for found in sets_]),
        ("mean absolute error of cycles", "at most 8 %", f"{of['mean']:.1%}",
         [found["mean"] <= 0.08 for found in sets_]),
        ("largest error", "at most 20 %", f"{most:.1%}",
         [abs(found["largest"]["error"]) <= 0.2 for found in sets_]),
        ("gains of pairs within 10 %", "all", f"{of['right']} of {of['gains']}",
         [found["right"] == found["gains"] for found in sets_]),
        ("the stall is the profiler's first or second", "at least 80 %",
         f"{of['stalls']} of {of['known']}",
         [found["stalls"] >= 0.8 * found["known"] for found in sets_]),
    )  # fmt: skip
    return [
        {"goal": goal, "wanted": wanted, "sets that meet it": f"{sum(met)} of {len(met)}",
         "all launches": figure}
        for goal, wanted, figure, met in goals
    ]  # fmt: skip


def sets(model: str = "before", last: str | None = None) -> None:
    """Print a row per recorded set, or per one of the last ones, and one of all; then the goals."""
    from tabulate import tabulate

    found = {name: rows for name in SETS if (rows := set_rows(name, model))}
    if not found:
        raise SystemExit(f"No table of {DATA} has what the model {model!r} says.")
    table = [set_row(name, rows) for name, rows in found.items()]
    every = [
        {**row, "pair": row["pair"] and f"{name} {row['pair']}"}  # sets may use a name again
        for name, rows in found.items()
        for row in rows
    ]
    cells = [*(table[-int(last) :] if last else table), set_row("all", every)]
    print(tabulate(cells, headers="keys", tablefmt="github", disable_numparse=True))
    print()
    goals = goal_rows(list(found.values()), every)
    print(tabulate(goals, headers="keys", tablefmt="github", disable_numparse=True))
    print()
    print("\n".join(summary(every)))


def ranges(model: str = "before") -> None:
    """Print how many launches came to lie in the range that is said of an estimate."""
    found = {name: rows for name in SETS if (rows := set_rows(name, model))}
    least, most = SPREAD
    for name, sets_ in (
        ("all sets", list(found.values())),
        ("the last two", [*found.values()][-2:]),
    ):
        rows = [row for listed in sets_ for row in listed if row["estimate"]]
        held = sum(
            max(least * row["estimate"], row["bound"]) <= row["measured"] <= most * row["estimate"]
            for row in rows
        )
        print(
            f"{name}: {held} of {len(rows)} launches from {least:.0%} to {most:.0%} of the estimate"
        )


def estimate(cases: str, out: str, chip: str = "H100", *names: str) -> None:
    """Write what the model says of all cases, or those named: a table with the columns above."""
    with Path(out).open("w", encoding="utf-8", newline="") as file:
        writer = None
        for case in read_cases(cases):
            if names and case["name"] not in names:
                continue
            row = modelled(case, chip)
            if writer is None:
                writer = csv.DictWriter(file, fieldnames=list(row), lineterminator="\n")
                writer.writeheader()
            writer.writerow(row)
            file.flush()
            print(f"{case['name']}: {row['estimate']}", flush=True)


def compare(estimates: str, measured: str) -> None:
    """Print the tables."""
    from tabulate import tabulate

    known = recorded(measured)
    of_set = next((name for name, stem in SETS.items() if stem == Path(measured).stem), "")
    said = recorded(estimates, of_set)
    rows = [beside(row, known[name]) for name, row in said.items() if name in known]
    print(tabulate([shown(row) for row in rows], headers="keys", tablefmt="github"))
    print()
    ratios = [{name: _rounded(value) for name, value in row.items()} for row in pairs(rows)]
    print(tabulate(ratios, headers="keys", tablefmt="github"))
    print()
    print("\n".join(summary(rows)))


def shown(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row of `beside` as the table has it."""
    cycles, error = row["estimate"], row["error"]
    return {
        "kernel": row["case"],
        "measured": f"{row['measured']:,.0f}",
        "bound": f"{row['bound']:,.0f}",
        "of it": f"{row['bound'] / row['measured']:.0%}",
        "limiter": row["limiter"],
        "estimate": f"{cycles:,.0f}" if cycles else "",
        "error": "" if error is None else f"{error:+.1%}",
        "stall": row["stall"],
        "measured stalls": ", ".join(row["measured_stalls"]),
    }


def _rounded(value: Any) -> Any:
    return f"{value:.2f}" if isinstance(value, float) else value


_COMMANDS: Mapping[str, Callable[..., None]] = {
    "estimate": estimate, "compare": compare, "sets": sets, "range": ranges,
}  # fmt: skip

if __name__ == "__main__":
    command = _COMMANDS.get(sys.argv[1] if sys.argv[1:] else "")
    if command is None:
        raise SystemExit(__doc__)
    command(*sys.argv[2:])
