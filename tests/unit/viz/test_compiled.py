"""What a page says first of a replayed kernel."""

from __future__ import annotations

from simulator import explain
from viz.page.code_view import CostlyLine
from viz.page.compiled import headline

COLUMN = explain("LDS", [128 * lane for lane in range(32)])
FREE = explain("LDS", range(0, 128, 4))
FOURS = explain("LDS.128", [128 * (lane % 8) for lane in range(32)])


def line(wavefronts: int, ideal: int) -> CostlyLine:
    figures = {"wavefronts": wavefronts, "ideal": ideal, "n_way": 2.69, "share": 0.61}
    return CostlyLine(0, 42, "mine.cu:42", "", figures)


def test_the_headline_tells_the_worst_access_whatever_other_warps_do() -> None:
    rest = " at mine.cu:42, 61% of the kernel's wavefronts"
    assert headline(line(660, 100), [FREE, COLUMN]) == "Up to 32-way bank conflicts" + rest
    assert headline(line(3200, 100), [COLUMN]) == "32-way bank conflicts" + rest
    assert headline(line(3200, 400), [FOURS]) == "8-way bank conflicts" + rest
    assert headline(line(660, 100), []) == "6.6 times the ideal wavefronts" + rest
