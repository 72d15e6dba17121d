"""Lanes that give way and take turns: `python -m tests.silicon.sass.turns`.

Compiles cuda/turns.cu, and programs that chance writes, by NVRTC for sm_90, and writes turns.json:
launches of a warp. `python -m tests.silicon.sass.turns OUT.json` launches them on a GPU by CuPy,
and writes what h200_turns.json holds: who came by where, in order. The committed cubins are what
was measured: rebuild them only to measure anew.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

HERE = Path(__file__).parent
CUBINS = HERE / "cubins"
ROOM = 256 * 32
"""Words of the log: 255 notes of each lane, and how many it wrote."""
WAYS = {"one": 1, "half": 2, "two": 2, "two_guarded": 2, "four": 4, "four_guarded": 4, "again": 1,
        "again_guarded": 1, "nested": 3}  # fmt: skip
LAUNCHES, PROGRAMS = 20, 24


def cases() -> list[dict[str, Any]]:
    """Return the launches: a name, a kernel of a cubin, and two words for each lane."""
    found = []
    for kernel, ways in WAYS.items():
        chance = Random(kernel)  # noqa: S311
        for number in range(LAUNCHES):
            weights = [chance.random() ** (2 if number % 2 else 0.3) + 0.02 for _ in range(ways)]
            most = 3 if number < LAUNCHES // 2 else 6
            found.append({
                "name": f"{kernel} {number}", "cubin": "turns.cubin", "kernel": kernel,
                "way": chance.choices(range(ways), weights, k=32),
                "trips": [chance.randint(1, most) for _ in range(32)],
            })  # fmt: skip
    return found + [
        {"name": f"program {number} {seed}", "cubin": "turns_by_chance.cubin",
         "kernel": f"program_{number}", "way": list(range(32)), "trips": [seed] * 32}
        for number in range(PROGRAMS) for seed in (1, 7)
    ]  # fmt: skip


# ---- Programs by chance. -----------------------------------------------------------------------
class _Program:
    """Statements by chance: loops that lanes leave one by one, branches, and notes among them."""

    def __init__(self, chance: Random) -> None:
        self.chance, self.tags, self.loops, self.left = chance, 1, 0, chance.randint(2, 4)

    def text(self, name: str) -> str:
        lines = [f"for (int round = 0; round < {self.chance.choice((2, 3))}; ++round) {{"]
        lines += [self._note(), *self._several(1)]
        while self.left > 0:
            lines += self._statement(1)
        return "\n    ".join(
            [f"KERNEL({name}) {{", "BEGIN;", "unsigned h = SEED, sum = 0;", "FILL;",
             "#pragma unroll 1", *lines, "}", "END;", "if (sum == 12345) log[0] = 0;"]
        ) + "\n}\n"  # fmt: skip

    def _note(self) -> str:
        self.tags += 1
        return f"NOTE({self.tags});"

    def _several(self, depth: int) -> list[str]:
        count = self.chance.choice((1, 1, 2))
        return [line for _ in range(count) for line in self._statement(depth)]

    def _work(self) -> list[str]:
        return [self.chance.choice((
            "sum += mine[NEXT & 31];", "mine[NEXT & 31] = sum ^ h;",
            "sum = sum * 31u + (NEXT & 255u);", "sum += mine[h >> 20 & 31] * 3u;",
        )), self._note()]  # fmt: skip

    def _statement(self, depth: int) -> list[str]:
        kind = self.chance.random()
        if self.left <= 0 or depth >= 4 or kind >= 0.75:
            return self._work()
        self.left -= 1
        if kind < 0.45:
            return self._loop(depth)
        inside = self._several(depth + 1)
        if depth > 1 and self.chance.random() < 0.25:
            inside.append(self.chance.choice(("break;", "continue;")))
        lines = [f"if (NEXT % {self.chance.choice((2, 3, 4, 5))}u == 0) {{", self._note(), *inside]
        if self.chance.random() < 0.5:
            lines += ["} else {", self._note(), *self._several(depth + 1)]
        return [*lines, "}", self._note()]

    def _loop(self, depth: int) -> list[str]:
        self.loops += 1
        v, modulus = f"v{self.loops}", self.chance.choice((2, 3, 4))
        kind = self.chance.randrange(4)
        head, tail = {
            0: (f"{{ unsigned {v} = NEXT % {2 * modulus + 1}u; while ({v}-- > 0) {{", "} }"),
            1: (f"{{ unsigned {v} = 0, e{v} = NEXT & 31; while ({v} < e{v}) {{ "
                f"const unsigned m = {v} + e{v} >> 1; "
                f"if (mine[m] >> 24 < (h >> 24)) {v} = m + 1; else e{v} = m;",
                f"}} sum += {v}; }}"),
            2: ("while (true) {", f"if (NEXT % {modulus}u == 0) break; }}"),
            3: (f"{{ unsigned {v} = 0; do {{",
                f"}} while (++{v} < {2 * modulus}u && NEXT % {modulus}u); }}"),
        }[kind]  # fmt: skip
        # A search has no other statements inside, or its compiled code would have no YIELD.
        inside = [] if kind == 1 else self._several(depth + 1)
        return [head, self._note(), *inside, tail, self._note()]


def source_by_chance() -> str:
    """Return CUDA source of programs that chance writes."""
    begin = (HERE / "cuda" / "turns.cu").read_text().split("// At least one turn")[0]
    more = (
        "#define SEED (mine[0] * 2654435761u + w * 40503u + 12345u)\n"
        "#define FILL for (int k = 0; k < 32; ++k) mine[k] = k * 2246822519u + w\n"
        "#define NEXT (h = h * 1664525u + 1013904223u, h >> 16)\n"
    )
    texts = [
        _Program(Random(number)).text(f"program_{number}")  # noqa: S311
        for number in range(PROGRAMS)
    ]
    return begin + more + "\n".join(texts)


# ---- Build, measure. ---------------------------------------------------------------------------
def notes(log: np.ndarray[Any, np.dtype[np.uint32]]) -> list[list[Any]]:
    """Return [tag, lanes as hexadecimal digits] of each group that came by, in order."""
    places = log.reshape(256, 32)
    groups: dict[tuple[int, int], int] = {}
    for lane in range(32):
        for word in places[: places[255, lane], lane].tolist():
            moment = word & 0xFFFFFF, word >> 24
            groups[moment] = groups.get(moment, 0) | 1 << lane
    return [[tag, f"{lanes:08x}"] for (_, tag), lanes in sorted(groups.items())]


def arguments(case: dict[str, Any]) -> list[np.ndarray[Any, np.dtype[np.uint32]]]:
    """Return a launch's arguments: the log, ways, trips."""
    words = (np.array(case[each], np.uint32) for each in ("way", "trips"))
    return [np.zeros(ROOM, np.uint32), *words]


def build() -> None:
    from simulator import replay_compiled

    for name, source, kernel in (
        ("turns", (HERE / "cuda" / "turns.cu").read_text(), "one"),
        ("turns_by_chance", source_by_chance(), "program_0"),
    ):
        report = replay_compiled(
            source, kernel=kernel, grid=1, block=32, arch="sm_90", args=arguments(cases()[0])
        )
        assert report.rerun is not None
        (CUBINS / f"{name}.cubin").write_bytes(report.rerun.given["cubin"].image)
    (HERE / "turns.json").write_text(json.dumps(cases()) + "\n")


def measure(path: str) -> None:
    import cupy

    found: dict[str, Any] = {}
    modules: dict[str, Any] = {}
    for case in json.loads((HERE / "turns.json").read_text()):
        name = case["cubin"]
        modules.setdefault(name, cupy.RawModule(path=str(CUBINS / name)))
        given = [cupy.asarray(each) for each in arguments(case)]
        for _ in range(2):  # the first one reads its constants
            modules[name].get_function(case["kernel"])((1,), (32,), tuple(given))
        found[case["name"]] = notes(given[0].get())
    device = cupy.cuda.runtime.getDeviceProperties(0)["name"].decode()
    provenance = {"chip": device, "made_by": "python -m tests.silicon.sass.turns OUT.json"}
    Path(path).write_text(json.dumps({"provenance": provenance, "cases": found}) + "\n")


if __name__ == "__main__":
    measure(sys.argv[1]) if len(sys.argv) > 1 else build()
