"""Kills what writes, and asks many at once: `python -m tests.fuzz.faults --times N`.

A sweep with a store, an update of a baseline and a replay that keeps machine code are killed at
random moments. Then the sweep is continued and equals one that nobody killed; the baseline is the
old one or the new one; the replay says the same. `count` is asked from 8 threads and 4 processes.
"""

from __future__ import annotations

import argparse
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

ROOT = Path(__file__).parents[2]
CUBIN = ROOT / "tests" / "silicon" / "sass" / "cubins" / "transpose.cubin"
SWEEP = ["sweep", "simulate", "--pad", "0..40", "--lane-order", "all", "--format", "csv"]
REPLAY = ["sass", str(CUBIN), "--kernel", "transpose_padded", "--grid", "2x2", "--block", "32x8",
          "--arg", "random:f32[64,64]", "--arg", "zeros:f32[64,64]", "--arg", "i32=64",
          "--format", "json"]  # fmt: skip
TOML = 'baseline = "b.json"\n' + "".join(
    f'[[access]]\nname = "a{pad}"\nask = "float s[32][{pad}]; s[lane][0]"\n' for pad in range(1, 80)
)
COUNT = """
import sys, numpy as np
from simulator import count
byte = np.random.default_rng(int(sys.argv[1])).integers(0, 4096, (3000, 32)) * 4
print(int(count("LDS", byte, engine=sys.argv[2]).wavefronts.sum()))
"""


def bankwise(words: list[str], folder: Path, *, after: float | None = None) -> str:
    """Run the command in a folder; kill it `after` seconds. Return what it printed."""
    process = subprocess.Popen(
        [sys.executable, "-m", "bankwise", *words], cwd=folder, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(ROOT), "XDG_CACHE_HOME": str(folder / "cache")},
    )  # fmt: skip
    if after is not None:
        time.sleep(after)
        process.kill()
    out, err = process.communicate()
    assert "Traceback" not in err, err
    return out


def took(work: Callable[[], str]) -> tuple[str, float]:
    start = time.monotonic()
    return work(), time.monotonic() - start


def sweep(rng: random.Random, times: int) -> str:
    """Continue a killed sweep: its rows are those of one that nobody killed."""
    torn = 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        whole, seconds = took(lambda: bankwise(SWEEP, folder))
        for turn in range(times):
            words = [*SWEEP, "--store", f"{turn}.store"]
            bankwise(words, folder, after=rng.uniform(0.2, 1) * seconds)
            torn += bankwise(words, folder) != whole
    return f"{torn} of {times} continued sweeps differ"


def baseline(rng: random.Random, times: int) -> str:
    """Kill an update: the file is the old one or the new one, whole."""
    odd = 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "bankwise.toml").write_text(TOML)
        _, seconds = took(lambda: bankwise(["check", "--update"], folder))
        file = folder / "b.json"
        new = file.read_bytes()
        old = b'{"version": 1, "entries": {}}'
        for _ in range(times):
            file.write_bytes(old)
            bankwise(["check", "--update"], folder, after=rng.uniform(0.3, 1) * seconds)
            odd += file.read_bytes() not in (old, new)
    return f"{odd} of {times} baselines are neither the old one nor the new one"


def cache(rng: random.Random, times: int) -> str:
    """Kill a replay that compiles: the next one says the same as one with an empty cache."""
    odd = 0
    with tempfile.TemporaryDirectory() as name:
        whole, seconds = took(lambda: bankwise(REPLAY, Path(name)))
    with tempfile.TemporaryDirectory() as name:
        for _ in range(times):
            bankwise(REPLAY, Path(name), after=rng.uniform(0.2, 1) * seconds)
            odd += bankwise(REPLAY, Path(name)) != whole
    return f"{odd} of {times} replays after a kill say something else"


def together(rng: random.Random, times: int) -> str:
    """Count the same from 8 threads, and from 4 processes, with each engine."""
    from simulator import count

    seeds = [rng.randrange(1000) for _ in range(times)]

    def one(seed: int, engine: str = "numpy") -> int:
        byte = np.random.default_rng(seed).integers(0, 4096, (3000, 32)) * 4
        return int(count("LDS", byte, engine=engine).wavefronts.sum())  # type: ignore[arg-type]

    alone = [one(seed) for seed in seeds]
    odd = 0
    with ThreadPoolExecutor(8) as pool:
        for engine in ("numpy", "numba"):
            odd += list(pool.map(one, seeds, [engine] * times)) != alone
    asked = [
        subprocess.Popen(
            [sys.executable, "-c", COUNT, str(seeds[0]), engine], stdout=subprocess.PIPE, text=True,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )
        for engine in ("numpy", "numba", "numpy", "numba")
    ]  # fmt: skip
    odd += sum(int(each.communicate()[0]) != alone[0] for each in asked)
    return f"{odd} of 2 × {times} counts in 8 threads and 4 in processes differ"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.faults", description=__doc__)
    parser.add_argument("--times", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    bad = False
    for check in (together, baseline, sweep, cache):
        rng = random.Random(f"{given.seed} {check.__name__}")  # noqa: S311
        said = check(rng, given.times)
        print(f"{check.__name__}: {said}", flush=True)
        bad |= not said.startswith("0 of")
    return int(bad)


if __name__ == "__main__":
    sys.exit(main())
