"""Which SM gets which block, and when the last block of a grid ends, as on an H100."""

from __future__ import annotations

from collections import Counter
from statistics import fmean

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpu_check.recordings import packaged_table
from gpu_check.timing.unlike_blocks import turns_of
from simulator.timing.places import GPCS, first_places
from simulator.timing.unlike import last_end

SMS = 132
_APART = 8
"""SMs that get blocks before others."""


def _numbers() -> dict[int, int]:
    """Return the SM's place among those that stand apart and GPC by GPC, by its number there."""
    gpcs: list[list[int]] = [[2 * gpc + 16 * tpc for tpc in range(4)] for gpc in range(GPCS)]
    for gpc in range(1, GPCS):  # the last four TPCs of all but the first; of two a ninth
        gpcs[gpc] += [64 + 14 * tpc + 2 * (gpc - 1) for tpc in range(4)]
    gpcs[6].append(120)
    gpcs[7].append(122)
    order = [*range(124, SMS), *(tpc + side for gpc in gpcs for tpc in gpc for side in (0, 1))]
    return {sm: place for place, sm in enumerate(order)}


@pytest.mark.parametrize(
    "row", packaged_table("h100_first_places"), ids=lambda row: f"{row['resident']}-{row['blocks']}"
)
def test_blocks_begin_where_an_h100_begins_them(row: dict[str, str]) -> None:
    numbers, blocks = _numbers(), int(row["blocks"])
    found = [numbers[int(sm)] for sm in row["sms"].split()]
    if blocks < _APART:  # in another order
        assert max(found) < _APART
        return
    right = [
        fmean(a == b for a, b in zip(found, made, strict=True))
        for first in range(GPCS)
        for made in [first_places(blocks, int(row["resident"]), SMS, 1, first)]
    ]
    whole = blocks % SMS == 0 or blocks > SMS * int(row["resident"])
    assert max(right) == 1 if whole else max(right) >= 0.75


@given(st.integers(1, 3000), st.integers(1, 20), st.integers(0, GPCS - 1))
def test_no_sm_gets_two_blocks_more_than_another(blocks: int, resident: int, first: int) -> None:
    places = first_places(blocks, resident, SMS, 1, first)
    counts = Counter(places)
    assert len(places) == min(blocks, SMS * resident)
    assert max(counts.values()) - min(counts[sm] for sm in range(SMS)) <= 1


def _errors(kernel: str, waves: tuple[float, ...], *, known: bool) -> list[float]:
    """Return how far `last_end` is off, beside like blocks of four waves.

    `known`: with the GPC that was first; or with the mean of all.
    """
    rows = [row for row in packaged_table("h100_unlike_blocks") if row["kernel"] == kernel]
    units: dict[int, float] = {}
    errors = []
    for row in sorted(rows, key=lambda row: (row["rule"] != "like", -float(row["waves"]))):
        resident, count = int(row["resident"]), float(row["waves"])
        if resident > 4 or (row["rule"] != "like" and count not in waves):
            continue
        blocks = int(SMS * resident * count)
        work = [float(turns) for turns in turns_of(row["rule"], blocks)]
        fastest = min(resident, float(row["among"]) / float(row["alone"]))
        firsts = [int(row["first"]) // 2] if known else range(GPCS)
        found = fmean(
            last_end(work, [1.0] * SMS, places, [1.0] * resident, fastest)
            for first in firsts
            for places in [first_places(blocks, resident, SMS, 1, first)]
        )
        if row["rule"] == "like":
            units.setdefault(resident, int(row["last"]) / found)
        else:
            errors.append(found * units[resident] / int(row["last"]) - 1)
    return errors


@pytest.mark.parametrize(
    ("kernel", "waves", "off"),
    [("waits", 1, 0.065), ("conflicts", 1, 0.035), ("adds", 1, 0.035),
     ("waits", 2, 0.05), ("conflicts", 2, 0.06), ("adds", 2, 0.06)],
)  # fmt: skip
def test_the_last_block_ends_when_it_does_on_an_h100(kernel: str, waves: int, off: float) -> None:
    assert fmean(map(abs, _errors(kernel, (waves,), known=True))) < off


@pytest.mark.parametrize("kernel", ["conflicts", "adds"])
def test_the_mean_of_all_gpcs_that_may_be_first_is_near(kernel: str) -> None:
    assert fmean(map(abs, _errors(kernel, (1,), known=False))) < 0.05
