"""Kills what writes, and asks many at once: `python -m tests.fuzz.faults [CHECK...] --times N`.

A sweep with a store, a campaign of measurements, an update of a baseline and a replay that keeps
machine code are killed at random moments. Then the sweep and the campaign are continued and equal
ones that nobody killed; the baseline is the old one or the new one; the replay says the same. Two
write at once, and one loses nothing. `count` and `replay_compiled` are asked from 8 threads and 4
processes.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from functools import partial
from operator import ne
from pathlib import Path
from typing import Any

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


class Run:
    """A function in a fork of this process, which has imported what it needs."""

    def __init__(self, work: Callable[[], object], folder: Path) -> None:
        self.out = tempfile.TemporaryFile("w+b")  # noqa: SIM115  closed where it is read
        self.err = tempfile.TemporaryFile("w+b")  # noqa: SIM115
        self.process = os.fork()
        if self.process == 0:
            code = 70
            try:
                os.setpgid(0, 0)
                os.chdir(folder)
                os.environ["XDG_CACHE_HOME"] = str(folder / "cache")
                os.dup2(self.out.fileno(), 1)
                os.dup2(self.err.fileno(), 2)
                code = int(work() or 0)  # type: ignore[call-overload]
            except BaseException:
                import traceback

                traceback.print_exc()
            finally:
                sys.stdout.flush()
                sys.stderr.flush()
                os._exit(code)

    def ended(self, after: float | None = None) -> tuple[str, str]:
        """Wait for its end, or kill it and its children `after` seconds; return what it printed."""
        if after is not None:
            time.sleep(after)
            for kill, which in ((os.kill, self.process), (os.killpg, self.process)):
                with suppress(ProcessLookupError):
                    kill(which, signal.SIGKILL)
        os.waitpid(self.process, 0)
        found = []
        for file in (self.out, self.err):
            file.seek(0)
            found.append(file.read().decode(errors="replace"))
            file.close()
        assert "Traceback" not in found[1], found[1]
        return found[0], found[1]


def bankwise(words: list[str], folder: Path, *, after: float | None = None) -> str:
    """Run the command in a folder; kill it `after` seconds. Return what it printed."""
    return Run(lambda: command(words), folder).ended(after)[0]


def command(words: list[str]) -> int:
    from simulator.cli import main

    return main(words)


def took(work: Callable[[], str]) -> tuple[str, float]:
    start = time.monotonic()
    return work(), time.monotonic() - start


class Turns:
    """So many turns, or as many as begin before a time."""

    def __init__(self, times: int, ends: float) -> None:
        self.times, self.ends, self.done = times, ends, 0

    def __iter__(self) -> Iterator[int]:
        while self.done < self.times and time.monotonic() < self.ends:
            yield self.done
            self.done += 1


def sweep(rng: random.Random, turns: Turns) -> tuple[int, str]:
    """Continue a killed sweep: its rows are those of one that nobody killed."""
    torn = 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        bankwise(SWEEP, folder)
        whole, seconds = took(lambda: bankwise([*SWEEP, "--store", "whole.store"], folder))
        for turn in turns:
            words = [*SWEEP, "--store", f"{turn}.store"]
            bankwise(words, folder, after=rng.uniform(0, 1) * seconds)
            torn += bankwise(words, folder) != whole
    return torn, "continued sweeps differ"


def campaign(rng: random.Random, turns: Turns) -> tuple[int, str]:
    """Continue a killed campaign, with the model in the chip's place."""
    odd = 0
    with tempfile.TemporaryDirectory() as name:
        _, seconds = took(lambda: Run(lambda: measured(Path(name) / "w"), Path(name)).ended()[0])
        whole, _ = took(lambda: Run(lambda: measured(Path(name) / "w"), Path(name)).ended()[0])
        for turn in turns:
            work = partial(measured, Path(name) / str(turn))
            Run(work, Path(name)).ended(rng.uniform(0, 1) * seconds)
            odd += Run(work, Path(name)).ended()[0] != whole
    return odd, "continued campaigns differ"


def measured(folder: Path) -> None:
    """Measure in a folder; print what was measured."""
    from gpu_check import Measurements, campaign, simulated
    from gpu_check.clocks import as_accesses
    from tests.gpu_samples import CHIP

    def timed(op: str, addresses: Any, masks: Any, *, device: int) -> Measurements:
        bare = Measurements(op, *as_accesses(op, addresses, masks))
        cycles = simulated(bare).cycles.astype(float)
        return replace(bare, cycles=cycles, spread=np.zeros(len(cycles)))

    stand_ins: dict[str, Any] = {
        "open_gpu": lambda device: CHIP,
        "Probe": lambda op, device: None,
        "wrong_accesses": lambda probe, addresses, masks: (),
        "measure": timed,
    }
    for name, stand_in in stand_ins.items():
        setattr(campaign, name, stand_in)
    found = campaign.run(
        campaign.quick_plan(["LDS", "STS", "LDS.64"], counters=False), folder=folder
    )
    for each in found:
        print(each.op, each.addresses.tolist(), each.masks.tolist(), each.cycles.tolist())
    left = [path.name for path in folder.iterdir() if path.suffix != ".npz"]
    assert not [name for name in left if not name.startswith(".bankwise-")], left


def baseline(rng: random.Random, turns: Turns) -> tuple[int, str]:
    """Kill an update: the file is the old one or the new one, whole."""
    odd = 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "bankwise.toml").write_text(TOML)
        bankwise(["check", "--update"], folder)
        _, seconds = took(lambda: bankwise(["check", "--update"], folder))
        file = folder / "b.json"
        new = file.read_bytes()
        old = b'{"version": 1, "entries": {}}'
        for _ in turns:
            file.write_bytes(old)
            bankwise(["check", "--update"], folder, after=rng.uniform(0.5, 1) * seconds)
            odd += file.read_bytes() not in (old, new)
    return odd, "baselines are neither the old one nor the new one"


def cache(rng: random.Random, turns: Turns) -> tuple[int, str]:
    """Kill a replay that compiles: the next one says the same as one with an empty cache."""
    odd = 0
    with tempfile.TemporaryDirectory() as name:
        whole, seconds = took(lambda: bankwise(REPLAY, Path(name)))
    for _ in turns:
        with tempfile.TemporaryDirectory() as name:
            bankwise(REPLAY, Path(name), after=rng.uniform(0, 1) * seconds)
            odd += bankwise(REPLAY, Path(name)) != whole
    return odd, "replays after a kill say something else"


def twice(rng: random.Random, turns: Turns) -> tuple[int, str]:
    """Two with one store: one is refused by name, or waits for nothing; the figures are right.

    Two updates of one baseline: it is whole.
    """
    odd = 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        whole = bankwise(SWEEP, folder)
        (folder / "bankwise.toml").write_text(TOML)
        bankwise(["check", "--update"], folder)
        new = (folder / "b.json").read_bytes()
        for turn in turns:
            work = partial(command, [*SWEEP, "--store", f"{turn}.store"])
            both = [Run(work, folder) for _ in range(2)]
            updates = [Run(partial(command, ["check", "--update"]), folder) for _ in range(2)]
            said = [each.ended() for each in both]
            for each in updates:
                each.ended()
            right = [out == whole for out, _ in said]
            refused = ["store" in err and "next:" in err for _, err in said]
            odd += not any(right) or not all(map(max, right, refused))
            odd += (folder / "b.json").read_bytes() != new
    return odd, "pairs lost something, or were refused without a way out"


def together(rng: random.Random, turns: Turns) -> tuple[int, str]:
    """Count the same from 8 threads, and from 4 processes, with each engine."""
    from simulator import count

    seeds = [rng.randrange(1000) for _ in turns]

    def one(seed: int, engine: str = "numpy") -> int:
        byte = np.random.default_rng(seed).integers(0, 4096, (3000, 32)) * 4
        return int(count("LDS", byte, engine=engine).wavefronts.sum())  # type: ignore[arg-type]

    alone = [one(seed) for seed in seeds]
    odd = 0
    with ThreadPoolExecutor(8) as pool:
        for engine in ("numpy", "numba"):
            odd += list(pool.map(one, seeds, [engine] * len(seeds))) != alone
    asked = [
        subprocess.Popen(
            [sys.executable, "-c", COUNT, str(seeds[0]), engine], stdout=subprocess.PIPE, text=True,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )
        for engine in ("numpy", "numba", "numpy", "numba")
    ]  # fmt: skip
    odd += sum(int(each.communicate()[0]) != alone[0] for each in asked)
    return odd, f"of {2 * len(seeds)} counts in 8 threads and 4 in processes differ"


def replays(rng: random.Random, turns: Turns) -> tuple[int, str]:
    """Replay the same from 8 threads, and from 4 processes that share an empty cache."""
    from simulator import replay_compiled

    cubin = CUBIN.read_bytes()

    def one(seed: int) -> tuple[bytes, str]:
        given = np.random.default_rng(seed).random((64, 64), np.float32)
        report = replay_compiled(
            cubin, kernel="transpose_padded", grid=(2, 2), block=(32, 8), blocks="all",
            args=[given, np.zeros_like(given), np.int32(64)],
        )  # fmt: skip
        return report.outputs[1].tobytes(), str(report.totals())

    def printed(folder: str, processes: int) -> list[str]:
        asked = [
            subprocess.Popen(
                [sys.executable, "-m", "bankwise", *REPLAY], stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL, text=True,
                env={**os.environ, "PYTHONPATH": str(ROOT), "XDG_CACHE_HOME": folder},
            )
            for _ in range(processes)
        ]  # fmt: skip
        return [each.communicate()[0] for each in asked]

    odd = 0
    with tempfile.TemporaryDirectory() as name:
        (whole,) = printed(name, 1)
    for _ in turns:
        seeds = [rng.randrange(1000) for _ in range(8)]
        with ThreadPoolExecutor(8) as pool:
            odd += sum(map(ne, pool.map(one, seeds), map(one, seeds)))
        with tempfile.TemporaryDirectory() as name:
            odd += sum(each != whole or not each for each in printed(name, 4))
    return odd, "replays of 8 threads or 4 processes differ"


CHECKS = {
    each.__name__: each for each in (baseline, sweep, campaign, cache, twice, together, replays)
}
"""The last two start threads, after which there may be no fork."""


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.faults", description=__doc__)
    parser.add_argument("checks", nargs="*", help=f"of {', '.join(CHECKS)}; default: all")
    parser.add_argument("--times", type=int, default=100)
    parser.add_argument("--seconds", type=float, default=1e9, help="begin no turn after so long")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    import_all()
    bad = 0
    for name in [name for name in CHECKS if name in (given.checks or CHECKS)]:
        turns = Turns(given.times, time.monotonic() + given.seconds)
        rng = random.Random(f"{given.seed} {name}")  # noqa: S311
        odd, what = CHECKS[name](rng, turns)
        print(f"{name}: {odd} {what} (of {turns.done}, seed {given.seed})", flush=True)
        bad += odd
    return int(bad > 0)


def import_all() -> None:
    """Import what forks need; nothing runs, so that no thread is there when they are made."""
    import gpu_check.campaign  # noqa: F401
    import simulator.checking.config
    import simulator.cli.check
    import simulator.cli.sass
    import simulator.cli.sweep
    import simulator.sass.replay
    import simulator.sass.run.grid  # noqa: F401


if __name__ == "__main__":
    sys.exit(main())
