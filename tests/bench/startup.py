"""How fast `bankwise simulate` answers, beside `import numpy`: `python -m tests.bench.startup`.

Each command is a whole process. The two take turns, so a drift of the machine's speed touches
both alike; the ratio is that of the medians.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time

import click
from tabulate import tabulate

COMMANDS = {
    'python -c "import numpy"': [sys.executable, "-c", "import numpy"],
    "bankwise simulate": [sys.executable, "-m", "simulator", "simulate"],
}


def seconds(command: list[str]) -> float:
    start = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - start


@click.command()
@click.option("--rounds", default=25, show_default=True)
def main(rounds: int) -> None:
    """Print a table of wall-clock times and the ratio."""
    for command in COMMANDS.values():
        seconds(command)  # warm the file cache
    times: dict[str, list[float]] = {name: [] for name in COMMANDS}
    for _ in range(rounds):
        for name, command in COMMANDS.items():
            times[name].append(seconds(command))
    base = statistics.median(next(iter(times.values())))
    rows = [
        [name, 1000 * min(each), 1000 * statistics.median(each), statistics.median(each) / base]
        for name, each in times.items()
    ]
    heads = ["process", "fastest (ms)", "median (ms)", "ratio of medians"]
    print(tabulate(rows, heads, tablefmt="github", floatfmt=("", ".0f", ".0f", ".2f")))


if __name__ == "__main__":
    main()
