"""How many files of other people's repositories compile: as given, and with -I and -D.

`python -m tests.bench.corpus FOLDER OUT.jsonl`: a folder with a checkout per repository, of which
up to 26 files with a kernel are drawn (`--each`, `--seed`). Each is compiled by itself in a process
with a time limit, first without options; with `--helped`, what did not compile is compiled again
with what its build would pass: a `-I` for each folder of its repository that holds a header which
was not found, and the options that `--options` has for its repository, a JSON object of lists.
`--other FOLDER` has submodules and what else a build brings. Nothing is run. A run that was
interrupted goes on; `--table` prints what OUT.jsonl has.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import subprocess
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

from tabulate import tabulate

from simulator.errors import SassError
from simulator.sass.code.compiling import compile_source
from simulator.sass.code.options import parse_options
from simulator.sass.code.translation import translate
from tests.bench.limits import limited

HEADERS = {".h", ".hpp", ".cuh", ".hh", ".inl", ".inc", ".cu", ".cc", ".hxx"}


def drawn(folder: Path, each: int, seed: int) -> list[Path]:
    """Return up to `each` files with a kernel of each repository, in an order of chance."""
    rng = random.Random(seed)  # noqa: S311  a draw, not a secret
    found: list[Path] = []
    for repository in sorted(place for place in folder.iterdir() if place.is_dir()):
        files = sorted(
            place
            for place in repository.rglob("*.cu")
            if "__global__" in place.read_text(errors="replace")
        )
        found += rng.sample(files, min(each, len(files)))
    rng.shuffle(found)
    return found


def include_folders(
    missing: tuple[str, ...], headers: dict[str, list[Path]], near: Path
) -> list[str]:
    """Return the folders that a build would pass for headers that were not found."""
    found: dict[str, None] = {}
    for name in missing:
        parts = Path(name).parts
        fitting = [
            place
            for place in headers.get(parts[-1], [])
            if place.parts[-len(parts) :] == parts and ".." not in parts
        ]
        # Of several, the one that shares most of its path with the source.
        fitting.sort(key=lambda place: -len(os.path.commonpath([place, near])))
        if fitting:
            found[str(fitting[0].parents[len(parts) - 1])] = None
    return list(found)


def headers_of(folders: list[Path]) -> dict[str, list[Path]]:
    """Return the headers in folders by their names."""
    found = defaultdict(list)
    for root in folders:
        for place in root.rglob("*"):
            if place.suffix in HEADERS or (not place.suffix and place.is_file()):
                found[place.name].append(place.resolve())
    return found


def attempt(path: Path, others: list[Path], repository: Path, options: list[str] | None) -> Any:
    """Compile one file: as it is, or with `options` and a -I for what is missing."""
    arch, given = "sm_90", list(options or ())
    if "--arch" in given:
        arch = given.pop(given.index("--arch") + 1)
        given.remove("--arch")
    text = path.read_text(errors="replace")
    folders: list[str] = []
    try:
        if options is not None:
            headers = headers_of([repository, *others])
            defined = parse_options(given).define
            for _ in range(6):  # a header that is found may name others
                missing = translate(text, path.parent, folders, defined).missing
                new = [
                    each for each in include_folders(missing, headers, path) if each not in folders
                ]
                if not new:
                    break
                folders += new
        made = parse_options([*given, *(f"-I{each}" for each in folders)])
        compile_source(text, arch, str(path), (), made, path.parent)
    except SassError as error:
        return {"ok": False, "error": str(error)[:4000], "options": [*given, *folders]}
    return {"ok": True, "options": [*given, *folders]}


def commit(repository: Path) -> str:
    """Return the commit of a checkout: from git, or from a file COMMIT beside the sources."""
    if (repository / "COMMIT").is_file():
        return (repository / "COMMIT").read_text().strip()[:10]
    done = subprocess.run(
        ["git", "-C", str(repository), "rev-parse", "HEAD"], capture_output=True, check=False
    )
    return done.stdout.decode()[:10]


def table(folder: Path, rows: list[dict[str, Any]]) -> str:
    """Return a row a repository, and the commonest first errors of what never compiled."""
    given, helped = (
        {row["file"]: row for row in rows if row["helped"] is how} for how in (False, True)
    )
    lines: list[list[Any]] = []
    for name in sorted({file.split("/")[0] for file in given}):
        mine = [file for file in given if file.split("/")[0] == name]
        first = sum(given[file]["ok"] for file in mine)
        second = sum(given[file]["ok"] or helped.get(file, given[file])["ok"] for file in mine)
        lines.append([name, commit(folder / name), len(mine), first, second])
    lines.append(["all", "", *(sum(row[i] for row in lines) for i in range(2, 5))])
    names = ["repository", "commit", "files", "as given", "with -I and -D"]
    left = [helped.get(file, row) for file, row in given.items() if not row["ok"]]
    errors = Counter(
        next((line for line in row["error"].split("\n") if "error:" in line), row["error"])
        for row in left
        if not row["ok"]
    )
    counted = [f"{many:4} {re.sub(r'.*error:', '', text)[:120]}" for text, many in errors.items()]
    return "\n".join([tabulate(lines, names, tablefmt="github"), *sorted(counted, reverse=True)])


def main() -> None:
    """Compile what is not in OUT.jsonl yet, or print its table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--each", type=int, default=26, help="files of a repository")
    parser.add_argument("--seed", type=int, default=15)
    parser.add_argument("--seconds", type=int, default=240, help="limit of a file")
    parser.add_argument("--helped", action="store_true", help="compile what failed with -I and -D")
    parser.add_argument("--options", type=Path, help="repository → options, as JSON")
    parser.add_argument("--other", type=Path, nargs="*", default=[], help="submodules")
    parser.add_argument("--table", action="store_true")
    asked = parser.parse_args()
    rows = [json.loads(line) for line in asked.out.read_text().splitlines()] if (
        asked.out.exists()
    ) else []  # fmt: skip
    if asked.table:
        print(table(asked.folder, rows))
        return
    done = {row["file"] for row in rows if row["helped"] is asked.helped}
    failed = {row["file"] for row in rows if not row["helped"] and not row["ok"]}
    options = json.loads(asked.options.read_text()) if asked.options else {}
    for path in drawn(asked.folder, asked.each, asked.seed):
        name = str(path.relative_to(asked.folder))
        if name in done or (asked.helped and name not in failed):
            continue
        repository = name.split("/")[0]
        fitting = [each for each in ["", *options] if name.startswith(each)]
        extra = options.get(max(fitting, key=len), []) if asked.helped else None
        row = limited(
            asked.seconds, "error", attempt, path, asked.other, asked.folder / repository, extra
        )
        with asked.out.open("a") as file:
            file.write(json.dumps({"file": name, "helped": asked.helped, **row}) + "\n")


if __name__ == "__main__":
    main()
