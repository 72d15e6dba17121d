"""How many launches of other people's files run to the end, with the outputs of a chip.

`python -m tests.bench.launches FOLDER LIST OUT.jsonl --keep KEPT`: LIST has a line per launch, what
`bankwise sass` is given: a file of a repository in FOLDER, the kernel and, where host code reads a
value from elsewhere or sizes are large, `--let`; or the whole launch (tests/bench/launches.txt).
All blocks are run. KEPT gets each launch, its machine code and its arguments, and what the replay
made of them. `python -m tests.bench.on_chip KEPT CHIP` launches the same on a GPU, and
`--chip CHIP --table` compares: bits, and where floats differ, how much. A launch that no chip made
is held against functions of NumPy (tests.bench.oracles). What a time limit ended has failed. A run
that was interrupted goes on. With `--read`, OUT.jsonl gets what is read from the files, without a
replay: two readers' answers are compared by `diff`.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import shlex
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray
from tabulate import tabulate

import simulator.sass.run.grid  # noqa: F401  once, not in each process
from simulator.cli.sources import assumed
from simulator.errors import LaunchError, SassError
from simulator.sass.arguments import argument
from simulator.sass.building import Build
from simulator.sass.code.cubin import Cubin, CubinKernel
from simulator.sass.code.options import parse_options
from simulator.sass.code.symbols import module_symbols
from simulator.sass.found import launch_of, launches_in, wanted_launches
from simulator.sass.parameters import Parameters
from simulator.sass.replay import replay_compiled
from simulator.sass.run.buffers import placed
from tests.bench.limits import limited
from tests.bench.on_chip import ROWS, digest, read
from tests.bench.oracles import recognised

ARCH = "sm_90"
OUTPUTS = "outputs"
_TOLERANCE = {2: 2**-9, 4: 2**-18, 8: 2**-40}
"""By bytes of an element: of the largest one, what functions of the chip and an order may make."""
_ORDER = 2**-5
"""The same where two launches on the chip differ: sums of atomics, by their order."""


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


def launch(folder: Path, given: argparse.Namespace) -> tuple[dict[str, Any], list[str]]:
    """Return what `replay_compiled` takes, and the arguments as text."""
    path = folder / given.file
    options = [part.replace("FOLDER/", f"{folder}/") for part in given.rest]
    if given.arg:
        texts = given.arg
        found = {
            "kernel": given.kernel,
            "grid": tuple(map(int, given.grid.split("x"))),
            "block": tuple(map(int, given.block.split("x"))),
            "shared_bytes": given.shared_bytes,
            "cooperative": given.cooperative,
            "args": [argument(text, i) for i, text in enumerate(texts)],
        }
    else:
        launches = launches_in(path, parse_options(options), assumed(given.let))
        wanted, _ = wanted_launches(launches, given.file, given.kernel)
        told = [each for each in wanted if not each.unknown]
        told = [each for each in told if each.kernel == given.kernel] or told
        if not told:
            asked = [", ".join(each.unknown) for each in wanted]
            raise LaunchError(f"no launch of {given.kernel} is told in full: {asked[:1]}")
        texts = list(told[0].arguments)
        found = launch_of(told[0])
    symbols = {
        name: argument(value) for name, _, value in (text.partition("=") for text in given.set)
    }
    return found | {"symbols": symbols or None, "options": options}, texts


def keep(path: Path, cubin: Cubin, kernel: CubinKernel, found: dict[str, Any],
         texts: list[str]) -> None:  # fmt: skip
    """Write a launch as `tests.bench.on_chip` reads it.

    Raises LaunchError for arguments that it does not take: arrays of pointers, tensor maps, arrays
    that share a part of their memory.
    """
    parameters = Parameters(kernel.parameters, found["args"], kernel.name)
    arrays = list(parameters.arrays)
    first = {id(array): number for number, array in reversed([*enumerate(arrays)])}
    given = {id(value): place for place, value in enumerate(found["args"])}
    count = len(arrays)
    plain = parameters.data([0] * count)
    placed_at = parameters.data([(number + 1) << 40 for number in range(count)])
    if (
        parameters.mapped
        or len({each.buffer for each in placed(arrays)[0]}) != len(first)
        or any(id(each) not in given and each.dtype == np.uint64 for each in arrays)
    ):
        raise LaunchError("arguments that are not kept")
    pointers = []
    for number, (zero, one) in enumerate(zip(plain, placed_at, strict=True)):
        for offset in range(0, len(zero) - 7, 8):
            low, high = (
                int.from_bytes(each[offset : offset + 8], "little") for each in (zero, one)
            )
            if low != high:
                pointers.append((number, offset, ((high - low) >> 40) - 1, low))
    described: list[dict[str, Any]] = []
    raw = {}
    for number, array in enumerate(arrays):
        if first[id(array)] != number:  # the same one, passed again
            described.append({"same": first[id(array)]})
            continue
        place = given.get(id(array))
        has_text = place is not None and array.dtype.kind != "V" and ":" in texts[place]
        text = texts[place] if has_text and place is not None else None
        described.append({"text": text, "position": place})
        if array.dtype.kind == "V":  # a type of ml_dtypes, which the chip's machine does not have
            described[-1]["type"] = array.dtype.name
        if text is None:
            raw[f"array_{number}"] = np.ascontiguousarray(array).view(np.uint8)
    variables = {}
    for name, value in (found["symbols"] or {}).items():
        symbol = next(each for each in module_symbols(cubin) if name in each)
        variables[symbol] = np.asarray(value).tobytes().hex()
    said = {
        "symbol": kernel.name, "grid": (*found["grid"], 1, 1)[:3],
        "block": (*found["block"], 1, 1)[:3], "shared_bytes": found["shared_bytes"],
        "cooperative": found["cooperative"], "parameters": [each.hex() for each in plain],
        "pointers": pointers, "arrays": described, "variables": variables,
    }  # fmt: skip
    text = np.frombuffer(json.dumps(said).encode(), np.uint8)
    np.savez_compressed(path, said=text, cubin=np.frombuffer(cubin.image, np.uint8), **raw)


def flattened(values: Any) -> list[NDArray[Any]]:
    """Return the arrays among a launch's outputs, in the order of its arguments."""
    if isinstance(values, np.ndarray):
        return [values]
    if isinstance(values, dict):
        values = list(values.values())
    return [array for each in values for array in flattened(each)] if isinstance(
        values, list | tuple
    ) else []  # fmt: skip


def name_of(line: str) -> str:
    """Return the name under which a launch is kept."""
    return hashlib.sha256(line.encode()).hexdigest()[:12]


def attempt(folder: Path, line: str, kept: Path) -> dict[str, Any]:
    """Keep a launch, run it and keep what it left."""
    given = parsed(line)
    name = name_of(line)
    doing = "reading"
    try:
        found, texts = launch(folder, given)
        doing = "compiling"
        options = parse_options(found["options"])
        arch = given.arch or ARCH
        build = Build(folder / given.file, arch, found["kernel"], options, {})
        cubin, _ = build.load()
        kernel = cubin.kernel(found["kernel"])
        doing = "keeping"
        keep(kept / f"{name}.npz", cubin, kernel, found, texts)
        doing = "running"
        whole = {**found, "kernel": kernel.name, "options": ()}
        report = replay_compiled(cubin.image, **whole, arch=arch, blocks="all")
    except SassError as error:
        return {"ok": False, "how": f"{doing}: {type(error).__name__}", "said": str(error)[:1500]}
    except Exception as error:
        return {"ok": False, "how": f"{doing}: UNTYPED", "said": repr(error)[:1500]}
    saved = {}
    for number, array in enumerate(flattened(report.outputs)):
        each = digest(array.view(np.uint8) if array.dtype.kind == "V" else array)
        saved[f"{number}"] = each["elements"].view(np.uint8)
        saved[f"{number}.sums"] = each["sums"]
        saved[f"{number}.sha"] = np.array(each["sha"])
    np.savez_compressed(kept / OUTPUTS / f"{name}.npz", **saved)
    block = int(np.prod(found["block"]))
    sizes = [block, block * int(np.prod(found["grid"])), *(block * n for n in (2, 4, 8, 16, 32))]
    known = recognised(found["args"], report.outputs, [*sizes, *found["block"], 32])
    numpy = {str(place): function for place, function in known.items()}
    return {"ok": True, "how": "ran", "said": "; ".join(report.notes)[:1500], "numpy": numpy}


def reading(folder: Path, line: str) -> dict[str, Any]:
    """Return the launch that a line stands for."""
    try:
        found, texts = launch(folder, parsed(line))
    except SassError as error:
        return {"ok": False, "how": "reading", "said": str(error)[:1500]}
    kept = ("kernel", "grid", "block", "shared_bytes", "cooperative")
    return {"ok": True, **{name: str(found.get(name)) for name in kept}, "arguments": texts}


class Chip:
    """What a GPU made of the launches that were kept."""

    def __init__(self, folder: Path, kept: Path) -> None:
        rows = map(json.loads, (folder / ROWS).read_text().splitlines())
        self.rows = {row["name"]: row for row in rows}
        self.arrays: dict[str, NDArray[Any]] = {}
        for path in sorted(folder.glob("chip_*.npz")):
            self.arrays |= dict(np.load(path, allow_pickle=False))
        self.kept = kept

    def judged(self, name: str) -> dict[str, Any]:
        """Compare a replay's outputs with the chip's."""
        row = self.rows.get(name)
        if row is None or row["error"]:
            return {"ok": False, "how": "the chip: " + (row["error"] if row else "not launched")}
        ours = np.load(self.kept / OUTPUTS / f"{name}.npz", allow_pickle=False)
        said, _, inputs = read(self.kept / f"{name}.npz")
        worst, how = 0.0, "all bits"
        for number, chip in enumerate(row["arrays"]):
            if ours[f"{number}.sha"] in (chip["sha"], chip["again"]):
                continue
            varies = ", which differs from launch to launch" if chip["sha"] != chip["again"] else ""
            mine, sums = ours[f"{number}"], ours[f"{number}.sums"]
            own = said["arrays"][number].get("type")
            dtype = np.dtype(getattr(ml_dtypes, own)) if own else inputs[number].dtype
            if chip["changed"]:
                theirs = self.arrays[f"{name}.{number}"]
                their_sums = self.arrays[f"{name}.{number}.sums"]
            else:
                before = digest(inputs[number])
                theirs, their_sums = before["elements"].view(np.uint8), before["sums"]
            a, b = (each.view(dtype) for each in (mine, theirs))
            if dtype.kind in "iub":
                wrong = int((a != b).sum())
                return {"ok": False, "how": f"array {number}: {wrong} of {a.size}{varies}"}
            far = _distance(a, b, sums, their_sums)
            worst = max(worst, far / (_ORDER if varies else _TOLERANCE[dtype.itemsize]))
            how = f"within {far:.1e}" + varies
            if not worst <= 1:
                return {"ok": False, "how": f"array {number}: {far:.1e} of the largest{varies}"}
        return {"ok": True, "how": how}


def _distance(
    a: NDArray[Any], b: NDArray[Any], sums: NDArray[Any], their_sums: NDArray[Any]
) -> float:
    """Return by how much two arrays differ, as a part of the largest element or sum."""
    far = 0.0
    for one, other in ((a.astype(np.float64), b.astype(np.float64)), (sums, their_sums)):
        same = (one == other) | (np.isnan(one) & np.isnan(other))
        if same.all():
            continue
        finite = np.isfinite(one) & np.isfinite(other)
        if not (finite | same).all():
            return float("inf")
        most = np.abs(other[finite]).max()
        far = max(far, float(np.abs(one - other)[finite & ~same].max() / max(most, 1e-30)))
    return far


def _kind(chip: dict[str, Any]) -> str:
    """Say in which column a comparison counts."""
    if chip["how"].startswith("the chip"):
        return "not compared"
    if chip["ok"]:
        return "same bits" if chip["how"] == "all bits" else "rounding"
    return "varies" if "launch to launch" in chip["how"] else "other"


def table(rows: list[dict[str, Any]]) -> str:
    """Return how many launches of each repository ran, and what a chip says of them."""
    kinds = ["same bits", "rounding", "varies", "other", "NumPy", "not compared"]
    names = ["repository", "launches", "ran", *kinds]
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for row in rows:
        mine = counts[row["line"].split("/")[0]]
        mine["launches"] += 1
        if row["ok"]:
            mine["ran"] += 1
            chip = row.get("chip", {"ok": False, "how": "the chip: not launched"})
            kind = _kind(chip)
            known = row.get("numpy")
            by_numpy = kind == "not compared" and known and None not in known.values()
            mine["NumPy" if by_numpy else kind] += 1
    lines = [[name, *(counts[name][each] for each in names[1:])] for name in sorted(counts)]
    lines.append(["all", *(sum(line[i] for line in lines) for i in range(1, len(names)))])
    said = [
        f"{row['line'][:120]}: {row.get('chip', row)['how']}: {row['said'][:200]}"
        for row in rows
        if not row["ok"] or not row.get("chip", {"ok": False})["ok"]
    ]
    return "\n".join([tabulate(lines, names, tablefmt="github"), *said])


def main() -> None:
    """Run what is not in OUT.jsonl yet, or print its table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("list", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--keep", type=Path, help="what is launched on a chip")
    parser.add_argument("--read", action="store_true", help="run nothing")
    parser.add_argument("--chip", type=Path, help="what tests.bench.on_chip wrote")
    parser.add_argument("--seconds", type=int, default=120)
    parser.add_argument("--table", action="store_true")
    asked = parser.parse_args()
    if not (asked.keep or asked.read):
        parser.error("--keep KEPT is missing (or --read)")
    done: dict[str, dict[str, Any]] = {}
    if asked.out.exists():
        done = {row["line"]: row for row in map(json.loads, asked.out.read_text().splitlines())}
    lines = [each for each in asked.list.read_text().splitlines() if each and each[0] != "#"]
    if asked.table:
        rows = [done[line] for line in lines if line in done]
        chip = Chip(asked.chip, asked.keep) if asked.chip else None
        for row in rows if chip else ():
            if row["ok"] and chip:
                row["chip"] = chip.judged(name_of(row["line"]))
        print(table(rows))
        return
    folder = asked.folder.absolute()
    if asked.keep:
        (asked.keep / OUTPUTS).mkdir(parents=True, exist_ok=True)
    for line in lines:
        if line not in done:
            if asked.read:
                row = {"line": line, **reading(folder, line)}
            else:
                row = limited(asked.seconds, "how", attempt, folder, line, asked.keep)
                row = {"line": line, "said": "", **row}
            with asked.out.open("a") as file:
                file.write(json.dumps(row) + "\n")


if __name__ == "__main__":
    main()
