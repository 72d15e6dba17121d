"""How fast the command answers, beside `import numpy`: `python -m tests.bench.startup`.

Each command is a whole process. They take turns, so a drift of the machine's speed touches all
alike; the ratios are those of the medians. Where others use the machine, the processors' own time
tells more than the clock. As after an installation by pip, Python finds its modules compiled, even
where the environment forbids it to keep them.
"""

from __future__ import annotations

import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping

import click
from tabulate import tabulate

COMMANDS = {
    'python -c "import numpy"': [sys.executable, "-c", "import numpy"],
    "bankwise simulate": [sys.executable, "-m", "simulator", "simulate"],
    "bankwise QUESTION": [
        sys.executable,
        "-m",
        "simulator",
        "float s[32][32]; s[threadIdx.x][threadIdx.y]",
    ],
}


def seconds(command: list[str], environment: Mapping[str, str]) -> tuple[float, float]:
    """Return what a process takes by the clock, and of the processors."""
    start, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=environment)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return time.perf_counter() - start, spent


@click.command()
@click.option("--rounds", default=25, show_default=True)
def main(rounds: int) -> None:
    """Print a table of times and their ratios."""
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in COMMANDS}
    with tempfile.TemporaryDirectory() as compiled:
        environment = {**os.environ, "PYTHONPYCACHEPREFIX": compiled}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        for command in COMMANDS.values():
            seconds(command, environment)  # warm the file cache, and compile
        for _ in range(rounds):
            for name, command in COMMANDS.items():
                times[name].append(seconds(command, environment))
    medians = {
        name: [statistics.median(kind) for kind in zip(*each, strict=True)]
        for name, each in times.items()
    }
    base = next(iter(medians.values()))
    rows = [
        [name, 1000 * clock, clock / base[0], 1000 * spent, spent / base[1]]
        for name, (clock, spent) in medians.items()
    ]
    heads = ["process", "median (ms)", "ratio", "processors (ms)", "ratio"]
    print(tabulate(rows, heads, tablefmt="github", floatfmt=("", ".0f", ".2f", ".0f", ".2f")))


if __name__ == "__main__":
    main()
