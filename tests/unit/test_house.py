"""The picture of the packages: an arrow meets none but those at its ends."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
DRAWN = (ROOT / "docs" / "explanation" / "house.svg").read_text(encoding="utf-8")


def points(arrow: str) -> Iterator[tuple[float, float]]:
    """Return points of a line of curves (C) and straight ways down (V)."""
    x = y = 0.0
    for letter, given in re.findall(r"([MCV])([\d. ]+)", arrow):
        numbers = [*map(float, given.split())]
        if letter == "C":
            ends = [*zip([x, *numbers[::2]], [y, *numbers[1::2]], strict=True)]
            for t in (step / 20 for step in range(21)):
                weights = ((1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t * t * (1 - t), t**3)
                mixed = [sum(w * p[k] for w, p in zip(weights, ends, strict=True)) for k in (0, 1)]
                yield mixed[0], mixed[1]
        elif letter == "V":
            yield x, (y + numbers[0]) / 2
            numbers = [x, numbers[0]]
        x, y = numbers[-2:]


def test_an_arrow_has_a_head_and_passes_beside_other_packages() -> None:
    boxes = [
        [*map(float, found)]
        for found in re.findall(r'<rect x="(\d+)" y="(\d+)" width="(\d+)" height="(\d+)"', DRAWN)
    ]
    arrows = re.findall(r'<path d="([^"]+)" fill="none"', DRAWN)
    assert len(boxes) == DRAWN.count("</text>") > 15
    assert len(arrows) == DRAWN.count("marker-end=") > 15
    for x, y in (point for arrow in arrows for point in points(arrow)):
        for left, top, wide, high in boxes:
            assert not (left < x < left + wide and top + 1 < y < top + high - 1)
