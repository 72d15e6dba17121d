"""How much the tests notice: `python -m tests.mutation [PART...] --sample N`.

cosmic-ray makes the mutants: one operator, number, condition or decorator of a module changed. Each
is judged by the few tests that `parts` names for its module, in a copy of this folder, by a process
of its own with limits. A mutant that no test notices *survives*. `survivors.toml` lists those that
change nothing that a test could see, with the reason; any other is a hole, and is printed.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import os
import random
import resource
import shutil
import signal
import sys
import tempfile
import time
import tomllib
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.mutation.parts import PARTS, Part

ROOT = Path(__file__).parents[2]
COPIED = ("bankwise", "simulator", "layouts", "viz", "gpu_check", "pytest_bankwise", "tests",
          "docs", "examples")  # fmt: skip
SURVIVORS = Path(__file__).with_name("survivors.toml")
_MEMORY = 8 << 30


@dataclass(frozen=True)
class Mutant:
    """One change of one module."""

    path: str
    operator: str
    occurrence: int
    line: int
    before: str
    after: str
    within: str = ""
    """The function that holds the line."""

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.before}  →  {self.after}"


def mutants_of(path: str, copy: Path, sample: int, seed: int) -> tuple[list[Mutant], int]:
    """Return a sample of a module's mutants, and how many places cosmic-ray can change.

    Their order is random, so that the first of them are a sample, too.
    Those of annotations alone never run, and are left out.
    """
    from cosmic_ray.commands.init import _all_work_items
    from cosmic_ray.mutating import mutate_code
    from cosmic_ray.plugins import get_operator

    text = (copy / path).read_text()
    lines, seen = text.splitlines(), {_code(text)}
    places = [item.mutations[0] for item in _all_work_items([copy / path], {})]
    random.Random(f"{seed} {path}").shuffle(places)  # noqa: S311 - it chooses, it keeps no secret
    found: list[Mutant] = []
    for place in places:
        if len(found) == sample:
            break
        changed = mutate_code(text, get_operator(place.operator_name)(), place.occurrence)
        if changed is None or (code := _code(changed)) in seen:
            continue
        seen.add(code)
        row = place.start_pos[0] - 1
        before, after = lines[row].strip(), changed.splitlines()[row].strip()
        within = _function(text, row + 1)
        found.append(
            Mutant(path, place.operator_name, place.occurrence, row + 1, before, after, within)
        )
    return found, len(places)


def _function(text: str, line: int) -> str:
    """Return the name of the innermost function that holds a line, or ""."""
    holding = [
        node
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.FunctionDef) and node.lineno <= line <= (node.end_lineno or 0)
    ]
    return max(holding, key=lambda node: node.lineno).name if holding else ""


def _code(text: str) -> str:
    """Return what of a module runs; annotations are text since they are postponed."""
    try:
        tree = ast.parse(text)
    except SyntaxError:
        return text
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            node.returns = None
        elif isinstance(node, ast.arg):
            node.annotation = None
        elif isinstance(node, ast.AnnAssign):
            node.annotation = ast.Constant(0)
    return ast.dump(tree)


def judge(copy: Path, part: Part, patience: float = 1) -> str:
    """Run a part's tests on the copy: "killed", "survived", or "killed by its limits"."""
    child = os.fork()
    if child == 0:
        _judge_here(copy, part)
    ends = time.monotonic() + part.seconds * patience
    while time.monotonic() < ends:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return "survived" if status == 0 else "killed"
        time.sleep(0.01)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return "killed by its limits"


def _judge_here(copy: Path, part: Part) -> None:
    """Run the tests in this process, which is a fresh copy of the parent, and end it."""
    import numba
    import pytest

    os.setpgid(0, 0)
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    numba.config.DISABLE_JIT = int(part.as_python)
    nothing = os.open(os.devnull, os.O_RDWR)
    said = nothing if not os.environ.get("MUTATION_VERBOSE") else 1
    for number, to in ((0, nothing), (1, said), (2, said)):
        os.dup2(to, number)
    os.chdir(copy)
    sys.path[:] = [str(copy), *(each for each in sys.path if each not in ("", str(ROOT)))]
    for name in [name for name in sys.modules if name.split(".")[0] == "tests"]:
        del sys.modules[name]
    options = [
        "-x", "-q", "-o", "addopts=", "--doctest-modules", "--import-mode=importlib",
        "--assert=plain", "-p", "no:cacheprovider", "--hypothesis-seed=0", "-m", "not slow",
        "--rootdir", str(copy),
    ]  # fmt: skip
    code = pytest.main([*options, *part.tests])
    os._exit(int(code))


def survivors() -> dict[tuple[str, str, str, str], str]:
    """Return why a mutant that is known to survive does: by path, line, line changed, function.

    A line changed that is "*" stands for any: the line itself changes nothing that is counted.
    The function is "" for an entry without `within`, which holds for every such line of the file.
    """
    with SURVIVORS.open("rb") as file:
        listed: list[dict[str, str]] = tomllib.load(file)["survivor"]
    return {
        (each["path"], each["line"], each["becomes"], each.get("within", "")): each["reason"]
        for each in listed
    }


def reason_for(mutant: Mutant, known: dict[tuple[str, str, str, str], str]) -> str | None:
    """Return why a mutant survives, or None for a hole."""
    for becomes in (mutant.after, "*"):
        for within in (mutant.within, ""):
            if reason := known.get((mutant.path, mutant.before, becomes, within)):
                return reason
    return None


def run(
    name: str, part: Part, files: tuple[str, ...], copy: Path, given: argparse.Namespace
) -> Counter[str]:
    """Judge a sample of a part's mutants, and print what survived."""
    from cosmic_ray.mutating import use_mutation
    from cosmic_ray.plugins import get_operator

    known, found = survivors(), Counter[str]()
    start = time.monotonic()
    verdict = judge(copy, part, given.patience)
    if verdict != "survived":
        raise SystemExit(f"{name}: its tests are {verdict} before anything is changed")
    print(f"{name}: the tests alone take {time.monotonic() - start:.1f} s", flush=True)
    for path in files:
        mutants, possible = mutants_of(path, copy, given.sample, given.seed)
        counted = Counter[str]()
        for number, mutant in enumerate(mutants):
            if number % given.share[1] != given.share[0] - 1:
                continue
            if time.monotonic() - start > given.seconds:
                print(f"  {path}: {number} of {len(mutants)} mutants, and the time is over")
                break
            operator = get_operator(mutant.operator)()
            with use_mutation(copy / path, operator, mutant.occurrence):
                # A second of its own, so that no compiled file stands for it.
                os.utime(copy / path, (2e9 + number, 2e9 + number))
                verdict = judge(copy, part, given.patience)
            if verdict == "survived":
                reason = reason_for(mutant, known)
                verdict = "equivalent" if reason else "hole"
                print(f"  {verdict}: {mutant}", f"({reason})" if reason else "", flush=True)
            counted[verdict] += 1
        print(f"  {path}: of {possible} places {dict(counted)}", flush=True)
        found += counted
    return found


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.mutation", description=__doc__)
    parser.add_argument(
        "parts", nargs="*", help=f"of {', '.join(PARTS)}, or one of their files; default: all"
    )
    parser.add_argument(
        "--sample", type=int, default=1 << 30, help="mutants per file; default: all"
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--patience", type=float, default=1, help="times each limit, where others work too"
    )
    parser.add_argument(
        "--seconds", type=float, default=float("inf"), help="start no mutant of a part after them"
    )
    parser.add_argument(
        "--share", type=_share, default=(1, 1), metavar="K/N",
        help="only every Nth mutant of the sample, from the Kth: for N processes at once",
    )  # fmt: skip
    given = parser.parse_args()
    files = {path: name for name, part in PARTS.items() for path in part.files}
    for name in given.parts:
        if name not in PARTS and name not in files:
            parser.error(f"{name} is not a part (accepted: {', '.join(PARTS)}, or a file of one)")
    _load_once()
    total = Counter[str]()
    with tempfile.TemporaryDirectory(prefix="mutation-") as folder:
        copy = Path(folder)
        for name in COPIED:
            shutil.copytree(ROOT / name, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
        for name in ("conftest.py", "pyproject.toml", "README.md", "CONTRIBUTING.md"):
            shutil.copy(ROOT / name, copy / name)
        os.environ["NUMBA_CACHE_DIR"] = str(copy / ".numba")
        os.environ["BANKWISE_EXAMPLES"] = os.environ.get("BANKWISE_EXAMPLES", "10")
        for name in given.parts or PARTS:
            part = PARTS[files.get(name, name)]
            total += run(name, part, (name,) if name in files else part.files, copy, given)
    killed = sum(many for verdict, many in total.items() if verdict.startswith("killed"))
    judged = killed + total["hole"]
    print(f"{sum(total.values())} mutants: {dict(total)}")
    print(f"score without equivalents: {killed}/{judged} = {killed / max(judged, 1):.1%}")


def _share(text: str) -> tuple[int, int]:
    """Read "2/4": the second of four shares."""
    part, _, parts = text.partition("/")
    if not (part.isdecimal() and parts.isdecimal() and 1 <= int(part) <= int(parts)):
        raise argparse.ArgumentTypeError(f"{text!r} is not a share (accepted: K/N, such as 2/4)")
    return int(part), int(parts)


def _load_once() -> None:
    """Import what every judge needs and no mutant changes, so that a fork has it."""
    for name in ("numpy", "numba", "llvmlite.binding", "hypothesis", "pytest", "sybil", "click",
                 "tabulate", "cosmic_ray.mutating"):  # fmt: skip
        with contextlib.suppress(ImportError):
            __import__(name)
    loaded: list[Any] = [name for name in sys.modules if name.split(".")[0] == "simulator"]
    assert not loaded, "a mutant would not be seen"


if __name__ == "__main__":
    main()
