"""How many launches of other people's files run to the end, with right outputs, from one command.

`python -m tests.bench.launches FOLDER LIST OUT.jsonl`: LIST has a line per launch, what `bankwise
sass` is given: a file of a repository in FOLDER, the kernel and, where host code reads a value from
elsewhere or sizes are large, `--let`; or the whole launch (tests/bench/launches.txt). All blocks
are run. Each output is held against what NumPy makes of the inputs (tests.bench.oracles). An output
of no known function is held against the same launch compiled for another architecture, whose
machine code differs: the same within rounding, all finite. What a time limit ended has failed, and
so has what neither confirms. `--table` prints OUT.jsonl.
"""

from __future__ import annotations

import argparse
import copy
import json
import shlex
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
from tabulate import tabulate

from simulator.cli.sources import assumed
from simulator.errors import SassError
from simulator.sass.arguments import argument
from simulator.sass.code.options import parse_options
from simulator.sass.found import launch_of, launches_in, wanted_launches
from simulator.sass.replay import replay_compiled
from tests.bench.limits import limited
from tests.bench.oracles import recognised

ARCH, OTHER = "sm_90", "sm_80"


def parsed(line: str) -> argparse.Namespace:
    """Read a line of the list: arguments of `bankwise sass`."""
    parser = argparse.ArgumentParser()
    parser.add_argument("file")
    for name in ("--let", "--arg", "--set"):
        parser.add_argument(name, action="append", default=[])
    for name in ("--kernel", "--grid", "--block", "--arch"):
        parser.add_argument(name)
    parser.add_argument("--shared-bytes", type=int, default=0)
    parser.add_argument("--cooperative", action="store_true")
    given, rest = parser.parse_known_args(shlex.split(line))
    given.rest = rest
    return given


def launch(folder: Path, given: argparse.Namespace) -> dict[str, Any]:
    """Return what `replay_compiled` takes."""
    path = folder / given.file
    options = [part.replace("FOLDER/", f"{folder}/") for part in given.rest]
    if given.grid:
        found = {
            "kernel": given.kernel,
            "grid": tuple(map(int, given.grid.split("x"))),
            "block": tuple(map(int, given.block.split("x"))),
            "shared_bytes": given.shared_bytes,
            "cooperative": given.cooperative,
            "args": [argument(text, i) for i, text in enumerate(given.arg)],
        }
    else:
        launches = launches_in(path, parse_options(options), assumed(given.let))
        wanted, _ = wanted_launches(launches, given.file, given.kernel)
        told = [each for each in wanted if not each.unknown]
        if not told:
            asked = [", ".join(each.unknown) for each in wanted]
            raise SassError(f"no launch of {given.kernel} is told in full: {asked[:1]}")
        found = launch_of(told[0])
    symbols = {
        name: argument(value) for name, _, value in (text.partition("=") for text in given.set)
    }
    return found | {"symbols": symbols or None, "options": options}


def attempt(folder: Path, line: str) -> dict[str, Any]:
    """Run a launch and judge its outputs."""
    given = parsed(line)
    try:
        found = launch(folder, given)
        runs = []
        for arch in (given.arch or ARCH, OTHER):
            fresh = copy.deepcopy(found)
            report = replay_compiled(folder / given.file, **fresh, arch=arch, blocks="all")
            runs.append(report.outputs)
            if len(runs) == 1:
                block = int(np.prod(found["block"]))
                threads = block * int(np.prod(found["grid"]))
                sizes = [block, threads, *(block * n for n in (2, 4, 8, 16, 32))]
                sizes += [*found["block"], 32]
                names = recognised(found["args"], runs[0], sizes)
                if None not in names.values() or given.arch:
                    break
    except SassError as error:
        return {"ok": False, "how": type(error).__name__, "said": str(error)[:1500]}
    except Exception as error:
        return {"ok": False, "how": "UNTYPED", "said": repr(error)[:1500]}
    told = {str(i): name for i, name in names.items()}
    if not names:
        return {"ok": False, "how": "changes nothing", "said": told}
    if None not in names.values():
        return {"ok": True, "how": "NumPy", "said": told}
    if len(runs) < 2:
        return {"ok": False, "how": "no second run", "said": told}
    return judged(names, *runs) | {"said": told}


def judged(names: dict[int, str | None], one: list[Any], other: list[Any]) -> dict[str, Any]:
    """Compare the outputs of two compilations."""
    for i in (i for i, name in names.items() if name is None):
        a, b = (np.asarray(each[i]).reshape(-1) for each in (one, other))
        if a.dtype.kind == "V":
            a, b = a.view(np.uint8), b.view(np.uint8)
        a, b = (each.astype(np.float64) for each in (a, b))
        if not np.isfinite(a).all():
            return {"ok": False, "how": f"argument {i} is not finite"}
        if not np.allclose(a, b, rtol=1e-2, atol=1e-2 * max(1e-3, np.abs(a).max())):
            return {"ok": False, "how": f"argument {i} differs on {OTHER}"}
    return {"ok": True, "how": f"{ARCH} and {OTHER} agree"}


def table(rows: list[dict[str, Any]]) -> str:
    """Return how many launches of each repository ran, and how each output was judged."""
    lines = []
    for name in sorted({row["line"].split("/")[0] for row in rows}):
        mine = [row for row in rows if row["line"].split("/")[0] == name]
        right = Counter(row["how"] for row in mine if row["ok"])
        failed = len(mine) - sum(right.values())
        lines.append([name, len(mine), right["NumPy"], right[f"{ARCH} and {OTHER} agree"], failed])
    lines.append(["all", *(sum(row[i] for row in lines) for i in range(1, 5))])
    names = ["repository", "launches", "NumPy", "two compilations", "failed"]
    said = [f"{row['line'][:100]}: {row['how']}" for row in rows if not row["ok"]]
    return "\n".join([tabulate(lines, names, tablefmt="github"), *said])


def main() -> None:
    """Run what is not in OUT.jsonl yet, or print its table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("list", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--seconds", type=int, default=120)
    parser.add_argument("--table", action="store_true")
    asked = parser.parse_args()
    done: dict[str, dict[str, Any]] = {}
    if asked.out.exists():
        done = {row["line"]: row for row in map(json.loads, asked.out.read_text().splitlines())}
    lines = [each for each in asked.list.read_text().splitlines() if each and each[0] != "#"]
    if asked.table:
        print(table([done[line] for line in lines if line in done]))
        return
    for line in lines:
        if line not in done:
            row = limited(asked.seconds, "how", attempt, asked.folder.absolute(), line)
            row = {"line": line, "said": "", **row}
            with asked.out.open("a") as file:
                file.write(json.dumps(row) + "\n")


if __name__ == "__main__":
    main()
