"""How many of Triton's official tutorials run as their files are, and pass their own checks.

`python -m tests.bench.tutorials FOLDER OUT.jsonl`: FOLDER is python/tutorials of Triton's
repository, in which 07 looks for libdevice; PyTorch must be installed. Each file is executed once
per target inside
`bankwise.triton()`, its host code included, its sweeps of sizes left out, tuned kernels with one
configuration (`--config`). 06, 09 and 10 are tests with a table of cases or sizes: their own
function is called with the sizes here. 05 is held to float64, not to PyTorch's halves on the CPU.
What a file holds its kernel to is what counts; where it
prints a difference only, that is held to the tolerance here. `--table` prints what OUT holds.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import runpy
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tabulate import tabulate

import bankwise
from simulator.errors import BankwiseError
from tests.bench.limits import limited

ARCHES = ("sm_80", "sm_90", "sm_100", "sm_120")
SCRIPTS = ("01", "02", "03", "04", "05", "07", "08", "11")
SECONDS = 1500
Names = dict[str, Any]


def _close(names: Names, most: float) -> str:
    """Say that what a script left as output_triton is not near output_torch, or nothing."""
    off = float((names["output_torch"] - names["output_triton"]).abs().max())
    return "" if off <= most else f"{off} off"


def _dropout(names: Names) -> str:
    """Say what is wrong with tutorial 04's outputs, or nothing."""
    x, keep, p = names["x"], names["x_keep"], names["p"]
    first, second, third = (names[each] for each in ("output", "output2", "output3"))
    again = names["dropout"](x, x_keep=keep, p=p)
    kept = (first == 0) | (first == x / (1 - p))
    is_right = bool((again == (x / (1 - p)) * keep).all() and kept.all())
    varies = bool((first == second).all() and (first != third).any())
    return "" if is_right and varies else "not what was dropped"


CHECKS: dict[str, Callable[[Names], str]] = {
    "01": lambda names: _close(names, 0),
    "04": _dropout,
    "07": lambda names: _close(names, 2e-7),
}


def _layer_norm(x: Any, shape: Any, weight: Any, bias: Any, eps: float) -> Any:
    """Normalize in float64: PyTorch's sums of halves are 0.14 off on a CPU, and 05 allows 0.01."""
    import torch

    x, weight, bias = (each.double() for each in (x, weight, bias))
    return torch.native_layer_norm(x, shape, weight, bias, eps)[0]


def _attention(names: Names, arch: str) -> list[tuple[str, Callable[[], Any]]]:
    specialised = [False, True] if arch == "sm_100" else [False]
    cases = []
    for mode, kind in (("bwd", "fp16"), ("fwd", "fp8")):
        for causal in (False, True):
            for special in specialised:
                given = (1, 2, 256, 64, causal, special, mode, f"triton-{kind}")
                what = f"{kind}{', causal' * causal}{', specialised' * special}"
                cases.append((what, lambda given=given: names["test_op"](*given)))  # type: ignore[misc]
    return cases


def _persistent(names: Names, arch: str) -> list[tuple[str, Callable[[], Any]]]:
    import torch

    kinds = {"fp16": torch.float16}
    if arch != "sm_80":  # Triton has that type from Hopper on
        kinds["fp8"] = torch.float8_e4m3fn
    return [
        (f"{name}, {size}³", lambda size=size, kind=kind: names["validate"](size, size, size, kind))  # type: ignore[misc]
        for name, kind in kinds.items()
        for size in (32, 512)
    ]


def _scaled(names: Names, _arch: str) -> list[tuple[str, Callable[[], Any]]]:
    if not names["supports_block_scaling"]():
        return []
    check = names["validate_block_scaled"]
    return [
        (kind, lambda kind=kind: check(256, 256, 512, kind))  # type: ignore[misc]
        for kind in ("nvfp4", "mxfp4", "mxfp8", "mixed")
    ]


CASES = {"06": _attention, "09": _persistent, "10": _scaled}


def _attempt(path: Path, arch: Any, config: Any) -> dict[str, Any]:
    """Run a file, and return what came of each of its cases."""
    import torch  # before the replay, which then speaks for its GPU

    number = path.name[:2]
    found: dict[str, str] = {}
    if number == "05":
        torch.nn.functional.layer_norm = _layer_norm
    with bankwise.triton(arch=arch, config=config) as launches:
        name = "__main__" if number in SCRIPTS else "tutorial"
        names: Names = {}
        before = _said(lambda: names.update(runpy.run_path(str(path), run_name=name)))
        if before or number in SCRIPTS:
            found["file"] = before or CHECKS.get(number, lambda _: "")(names) or "right"
        else:
            for what, call in CASES[number](names, arch):
                found[what] = _said(call) or "right"
    return {"ok": all(each == "right" for each in found.values()), "cases": found,
            "launches": len(launches)}  # fmt: skip


def _said(call: Callable[[], Any]) -> str:
    """Return what is wrong after a call: what it raised, or that it prints a cross."""
    printed = io.StringIO()
    try:
        with contextlib.redirect_stdout(printed):
            call()
    except BankwiseError as error:
        return f"refused: {error}"
    except BaseException as error:  # whatever the file does
        return f"{type(error).__name__}: {error}"
    crosses = [line.strip() for line in printed.getvalue().splitlines() if "❌" in line]
    return "; ".join(crosses)


def _table(rows: list[dict[str, Any]]) -> str:
    """Return a row per file, and a column per target."""
    files = sorted({row["file"] for row in rows})
    cells = {(row["file"], row["arch"]): row for row in rows}

    def cell(file: str, arch: str) -> str:
        row = cells.get((file, arch))
        if row is None:
            return "not run"
        cases = row["cases"] if "cases" in row else {"file": row["why"]}
        right = sum(each == "right" for each in cases.values())
        if right == len(cases) and not row.get("launches"):
            return "not for this target, by the file"
        if right == len(cases):
            return "right" if len(cases) == 1 else f"right ({right} cases)"
        bad = "; ".join(f"{name}: {each}" for name, each in cases.items() if each != "right")
        return f"{right} of {len(cases)} right; {' '.join(bad.split())[:200]}"

    return tabulate(
        [[file, *(cell(file, arch) for arch in ARCHES)] for file in files],
        ["tutorial", *ARCHES], tablefmt="github",
    )  # fmt: skip


def main() -> None:
    """Run the tutorials, or print the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])  # type: ignore[union-attr]
    parser.add_argument("folder", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--only", nargs="*", default=[*SCRIPTS, *CASES])
    parser.add_argument("--arch", nargs="*", default=ARCHES)
    parser.add_argument("--config", default="0", help="of tuned kernels: all, or a number")
    parser.add_argument("--table", action="store_true")
    given = parser.parse_args()
    lines = given.out.read_text().splitlines() if given.out.exists() else []
    rows = [json.loads(line) for line in lines]
    if given.table:
        print(_table(rows))
        return
    done = {(row["file"], row["arch"]) for row in rows}
    config = int(given.config) if given.config.isdecimal() else given.config
    for path in sorted(given.folder.glob("[01][0-9]-*.py")):
        for arch in given.arch:
            if path.name[:2] not in given.only or (path.name, arch) in done:
                continue
            row = limited(SECONDS, "why", _attempt, path, arch, config)
            row |= {"file": path.name, "arch": arch}
            print(json.dumps(row), flush=True)
            with given.out.open("a") as out:
                print(json.dumps(row), file=out)


if __name__ == "__main__":
    main()
