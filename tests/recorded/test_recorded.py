"""What an interpreter of machine code left, written apart from the lifted machine.

It ran instructions one by one, lane by lane, in Numba. Before it was deleted, at commit c710131,
it ran what `programs.npz` and `launches.json` hold, on x86-64. Nothing can record them anew: they
stand as they are. Of 2,000 programs 33 are left out, in which the interpreter was wrong: it rounded
twice where a chip rounds once (`tests/silicon/test_sass_rounding.py`), or lost a zero's sign.

`python -m pytest -m 'slow or not slow' tests/recorded` runs all of them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from hashlib import blake2b, sha256
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from simulator.sass.arguments import argument
from simulator.sass.code.cubin import read_cubin
from simulator.sass.code.nvdisasm import disassemble
from simulator.sass.lift.program import decode
from simulator.sass.run.grid import GridRun
from tests.sass_kernels import HERE, needs_tools
from tests.sass_warp import LANES, Outcome, run_warp

FOLDER = Path(__file__).parent
CASES = {case["name"]: case for case in json.loads((HERE / "cases.json").read_text())}
LAUNCHES: dict[str, Any] = json.loads((FOLDER / "launches.json").read_text())

PROGRAMS, SHARE = 1967, 100  # all, and those of a test
NAMES = (
    *(f"R{number}" for number in range(24)), *(f"P{number}" for number in range(7)),
    *(f"UR{number}" for number in range(10)), *(f"UP{number}" for number in range(7)),
)  # fmt: skip
"""What programs leave, in the order of their digests."""


# ---- Random straight-line programs. ------------------------------------------------------------
@cache
def programs() -> dict[str, NDArray[Any]]:
    """Read arrays with an entry for each program, but for `registers`: rows to choose from."""
    with np.load(FOLDER / "programs.npz", allow_pickle=False) as found:
        return dict(found)


def values(number: int) -> dict[str, Any]:
    """Return what a program finds in registers and predicates."""
    data = programs()
    lanes = np.arange(LANES, dtype=np.uint32)
    found: dict[str, Any] = {}
    for place, row in enumerate(data["rows"][number]):
        found[f"R{place}"] = data["registers"][row]
    for place, word in enumerate(data["uniform"][number]):
        found[f"UR{place}"] = word
    for place, mask in enumerate(data["predicates"][number]):
        found[f"P{place}"] = mask >> lanes & 1
        found[f"UP{place}"] = data["uniform_predicates"][number] >> place & 1
    return found


def digests(outcome: Outcome, threads: int) -> Iterator[tuple[int, bytes]]:
    """Yield 16 bits that tell what each of `NAMES` holds in the lanes that exist, and the words."""
    for name in NAMES:
        words = outcome.read(name)[:threads].astype("<u4").tobytes()
        yield int.from_bytes(blake2b(words, digest_size=2).digest(), "little"), words


@pytest.mark.parametrize(
    "start",
    [
        pytest.param(start, marks=[pytest.mark.slow] if start >= SHARE else [])
        for start in range(0, PROGRAMS, SHARE)
    ],
)
def test_programs_leave_what_they_left(start: int) -> None:
    data = programs()
    texts = data["text"].tobytes().decode().split("\n\n")
    assert len(texts) == PROGRAMS
    for number in range(start, min(start + SHARE, PROGRAMS)):
        threads = int(data["threads"][number])
        lines = texts[number].split("\n")
        outcome = run_warp(lines, values(number), threads)
        found = [*digests(outcome, threads)]
        wrong = [
            name
            for name, (digest, _), wanted in zip(
                NAMES, found, data["parts"][number].tolist(), strict=True
            )
            if digest != wanted
        ]
        assert not wrong, f"program {number}, {threads} threads: {wrong} after {lines}"
        state = b"".join(words for _, words in found)
        whole = blake2b(state + np.array(outcome.executed, "<i8").tobytes(), digest_size=8)
        assert int.from_bytes(whole.digest(), "little") == int(data["whole"][number]), number


# ---- Launches of the recorded kernels. ---------------------------------------------------------
def test_every_kernel_is_recorded() -> None:
    assert LAUNCHES.keys() == CASES.keys()


@needs_tools
@pytest.mark.parametrize("name", LAUNCHES)
def test_launches_leave_and_count_what_they_did(name: str) -> None:
    """Outputs bit for bit, executions of every instruction, shared memory's figures."""
    case, wanted = CASES[name], LAUNCHES[name]
    cubin = read_cubin((HERE / "cubins" / case["cubin"]).read_bytes())
    kernel = cubin.kernel(case["kernel"])
    args = [argument(text, place) for place, text in enumerate(case["args"])]
    grid, block = ((*case[each], 1, 1)[:3] for each in ("grid", "block"))
    blocks = [(x, y, z) for z, y, x in product(*map(range, reversed(grid)))]
    decoded = decode(disassemble(cubin.image, kernel.name), kernel)
    run = GridRun(cubin, decoded, grid, block, args, case["shared"])
    run.run_all(blocks)
    outputs = [sha256(np.asarray(each).tobytes()).hexdigest() for each in run.outputs()]
    assert outputs == wanted["outputs"]
    assert run.done.executed.tolist() == wanted["executed"]
    assert run.done.threads == wanted["threads"]
    shared = [place for place, site in enumerate(decoded.sites) if site.space == "shared"]
    # A fifth figure was kept once: copies from apart, which had no law then.
    figures = [row[:4] for row in wanted["figures"]]
    assert run.done.figures[shared, :4].tolist() == figures
