"""Hold recorded accesses to a neighbour to the law: `python -m gpu_check.hopper.recorded`.

It prints a row per recording and kind of load and store, of the accesses drawn by chance. A row
says how many take the law's cycles to 0.65, and how many take 1, 2 or 3 packets more. Then come
those further off, and the least and most cycles above the law.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from importlib.resources import as_file, files
from typing import NamedTuple

import numpy as np
from tabulate import tabulate

from gpu_check.hopper.neighbours import MORE, OPS, WINDOW
from simulator.law.neighbours import CYCLES_PER_PACKET, count_neighbour

__all__ = ["NeighbourRow", "held_to_the_law", "main"]

_RECORDINGS = ("h100_neighbours", "h100_neighbours_again", "h100_neighbour_probes")
_TOLERANCE = 0.65  # cycles
_AT_HOME = {"ld": "LDS", "st": "STS", "st.async": "STAS"}
_WIDTHS = {"8": ".U8", "16": ".U16", "32": "", "64": ".64", "128": ".128"}


class NeighbourRow(NamedTuple):
    """How far one kind of access in one recording is from the law; cycles are above the law."""

    recording: str
    op: str
    rows: int
    at_law: int
    below: int
    more: tuple[int, int, int]
    """Those that take one packet more, two and three."""
    further: int
    least: float
    most: float


@cache
def held_to_the_law() -> tuple[NeighbourRow, ...]:
    """Return a row for each kind of load and store in each recording; atomics have another law."""
    return tuple(_held_to_the_law())


def _held_to_the_law() -> Iterator[NeighbourRow]:
    for recording in _RECORDINGS:
        source = files("gpu_check").joinpath(f"data/{recording}.npz")
        with as_file(source) as path, np.load(path, allow_pickle=False) as read:
            found = dict(read)
        drawn = found["family"] == "drawn" if "family" in found else np.ones(len(found["op"]), bool)
        for op in OPS | MORE:
            mine = drawn & (found["op"] == op)
            kind, _, bits = op.rpartition(".")
            if kind not in _AT_HOME or not mine.any():
                continue
            costs = count_neighbour(
                _AT_HOME[kind] + _WIDTHS[bits], found["address"][mine] + WINDOW, found["mask"][mine]
            )
            above = found["neighbour"][mine] - costs.cycles
            late = above[above >= _TOLERANCE]
            one, two, three = (
                int((np.abs(late - CYCLES_PER_PACKET * packets) < _TOLERANCE).sum())
                for packets in (1, 2, 3)
            )
            yield NeighbourRow(
                recording, op, len(above),
                at_law=int((np.abs(above) < _TOLERANCE).sum()),
                below=int((above <= -_TOLERANCE).sum()),
                more=(one, two, three),
                further=len(late) - one - two - three,
                least=float(above.min()), most=float(above.max()),
            )  # fmt: skip


def main() -> None:
    """Print the table."""
    titles = ("recording", "access", "rows", "at law", "below", "1 more", "2", "3", "further",
              "least", "most")  # fmt: skip
    cells = [
        (row.recording, row.op, row.rows, row.at_law, row.below, *row.more, row.further,
         f"{row.least:.2f}", f"{row.most:.2f}")
        for row in held_to_the_law()
    ]  # fmt: skip
    print(tabulate(cells, titles))


if __name__ == "__main__":
    main()
