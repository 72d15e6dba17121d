"""How many files of other people's repositories compile: as given, and with -I and -D.

`python -m tests.bench.corpus FOLDER`: a folder with a checkout per repository. Each `.cu` and
`.cuh` file is compiled by itself, first without options, then with a `-I` for each folder of its
repository that holds a header which was not found (what its build would pass). Nothing is run.
`--other FOLDER` names repositories whose headers may be used, too: submodules.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
from collections import Counter, defaultdict
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tabulate import tabulate

from simulator.errors import SassError
from simulator.sass.code.compiling import compile_source
from simulator.sass.code.options import CompilerOptions
from simulator.sass.code.translation import translate

HEADERS = {".h", ".hpp", ".cuh", ".hh", ".inl", ".inc", ".cu", ".cc", ".hxx"}
DEVICE = re.compile(r"__global__|__device__|__constant__")


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
        fitting.sort(key=lambda place: -len(common(place, near)))
        if fitting:
            found[str(fitting[0].parents[len(parts) - 1])] = None
    return list(found)


def common(a: Path, b: Path) -> list[str]:
    """Return the first parts that two paths share."""
    shared = []
    for one, other in zip(a.parts, b.parts, strict=False):
        if one != other:
            break
        shared.append(one)
    return shared


def attempt(
    path: Path, headers: dict[str, list[Path]], arch: str, define: tuple[str, ...]
) -> dict[str, object]:
    """Compile one file in both ways."""
    text = path.read_text(errors="replace")
    row: dict[str, object] = {"file": str(path), "cuda": bool(DEVICE.search(text))}
    try:
        compile_source(text, arch, str(path), folder=path.parent)
        return {**row, "given": True, "helped": True}
    except SassError as error:
        row |= {"given": False, "error": str(error)}
    folders: list[str] = []
    try:
        for _ in range(4):  # a header that is found may name others
            missing = translate(text, path.parent, folders, define).missing
            more = [each for each in include_folders(missing, headers, path) if each not in folders]
            if not more:
                break
            folders += more
        options = CompilerOptions(tuple(folders), define)
        compile_source(text, arch, str(path), options=options, folder=path.parent)
        return {**row, "helped": True, "include": folders}
    except SassError as error:
        return {**row, "helped": False, "include": folders, "error": str(error)}


def main() -> None:
    """Print a row a repository; with --json write a row a file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", nargs="*", help="repositories")
    parser.add_argument("--other", type=Path, nargs="*", default=[], help="folders of submodules")
    parser.add_argument("--arch", default="sm_90")
    parser.add_argument(
        "--limit", type=int, default=10**9, help="files a repository, evenly spread"
    )
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    rows: list[dict[str, object]] = []
    table = []
    for repository in sorted(each for each in given.folder.iterdir() if each.is_dir()):
        if given.only and repository.name not in given.only:
            continue
        headers = defaultdict(list)
        for root in (repository, *given.other):
            for place in root.rglob("*"):
                if place.suffix in (
                    ".h",
                    ".hpp",
                    ".cuh",
                    ".hh",
                    ".inl",
                    ".inc",
                    ".cu",
                    ".cc",
                    ".hxx",
                ):
                    headers[place.name].append(place.resolve())
        files = sorted(
            each.resolve() for each in repository.rglob("*.cu*") if each.suffix in (".cu", ".cuh")
        )
        step = max(len(files) / given.limit, 1)
        files = [files[int(i * step)] for i in range(int(len(files) / step))]
        with ThreadPoolExecutor(given.jobs) as pool:
            found = list(pool.map(lambda path: attempt(path, headers, given.arch, ()), files))  # noqa: B023
        rows += found
        cuda = [row for row in found if row["cuda"]]
        given_all, given_cuda, helped = (
            sum(bool(row[how]) for row in some)
            for how, some in (("given", found), ("given", cuda), ("helped", cuda))
        )
        table.append([repository.name, commit(repository), len(found), len(cuda),
                      given_all, given_cuda, helped])  # fmt: skip
        print(tabulate(table[-1:], tablefmt="plain"), flush=True)
    table.append(["all", "", *(sum(row[i] for row in table) for i in range(2, 7))])
    names = ["repository", "commit", "files", "CUDA", "as given", "CUDA as given", "CUDA with -I"]
    print(tabulate(table, names, tablefmt="github"))
    first = Counter(
        re.sub(r"\S*\(\d+\)", "", line)
        for row in rows
        if "error" in row and not row["helped"]
        for line in [next((t for t in str(row["error"]).split("\n") if "error:" in t), "?")]
    )
    for text, times in first.most_common(25):
        print(f"{times:4} {text[:150]}")
    if given.json:
        given.json.write_text(json.dumps(rows, indent=1))


def commit(repository: Path) -> str:
    """Return the commit of a checkout: from git, or from a file COMMIT beside the sources."""
    if (repository / "COMMIT").is_file():
        return (repository / "COMMIT").read_text().strip()[:10]
    done = subprocess.run(
        ["git", "-C", str(repository), "rev-parse", "HEAD"], capture_output=True, check=False
    )
    return done.stdout.decode()[:10]


if __name__ == "__main__":
    main()
