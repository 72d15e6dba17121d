"""Colours of lanes and of waiting: everybody tells them apart, by day and by night."""

from __future__ import annotations

import re
from collections.abc import Sequence
from importlib.resources import files
from typing import Any

import numpy as np
import pytest

from simulator.results.html import HEAT, LANE_COLORS

# Machado, Oliveira, Fernandes, "A Physiologically-based Model for Simulation of Color Vision
# Deficiency", IEEE TVCG 15(6), 2009: linear RGB as it is seen without one kind of cone.
DEFICIENCIES = {
    "protanopia": [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
    "deuteranopia": [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.011820, 0.042940, 0.968881],
    ],
    "tritanopia": [
        [1.255528, -0.076749, -0.178779],
        [-0.078411, 0.930809, 0.147602],
        [0.004733, 0.691367, 0.303900],
    ],
}


def oklab(linear: Any) -> Any:
    """Ottosson, "A perceptual color space for image processing" (2020)."""
    lms = np.clip(linear, 0, 1) @ np.array(
        [
            [0.4122214708, 0.2119034982, 0.0883024619],
            [0.5363325363, 0.6806995451, 0.2817188376],
            [0.0514459929, 0.1073969566, 0.6299787005],
        ]
    )
    return np.cbrt(lms) @ np.array(
        [
            [0.2104542553, 1.9779984951, 0.0259040371],
            [0.7936177850, -2.4285922050, 0.7827717662],
            [-0.0040720468, 0.4505937099, -0.8086757660],
        ]
    )


def looks(colors: Sequence[str], kind: str) -> Any:
    """The colours as they are seen, in Oklab."""
    rgb = np.array([[int(color[i : i + 2], 16) for i in (1, 3, 5)] for color in colors]) / 255
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    return oklab(linear @ np.array(DEFICIENCIES.get(kind, np.eye(3))).T)


@pytest.mark.parametrize("kind", DEFICIENCIES)
def test_lanes_four_apart_look_different_to_everybody(kind: str) -> None:
    seen = looks(LANE_COLORS, kind)
    apart = np.linalg.norm(seen[:, None] - seen[None], axis=-1)
    steps = np.abs(np.subtract.outer(range(32), range(32)))
    far = np.minimum(steps, 32 - steps) >= 4
    # 0.02 is about what an eye can just tell apart; this is more than twice that.
    assert apart[far].min() > 0.05


def _colors(theme: int) -> list[str]:
    """The steps of waiting as pages have them: 0 by day, 1 by night."""
    text = (files("viz.page") / "colors.css").read_text()
    return [
        re.findall(r"#[0-9a-f]{6}", text.split(f"--h{step}: light-dark(")[1])[theme]
        for step in range(len(HEAT))
    ]


def test_pages_have_the_colours_of_notebooks() -> None:
    assert _colors(0) == [paper for paper, _ in HEAT]


@pytest.mark.parametrize("kind", ["none", *DEFICIENCIES])
@pytest.mark.parametrize("theme", [0, 1])
def test_each_step_of_waiting_looks_different_to_everybody(kind: str, theme: int) -> None:
    colors = _colors(theme)
    seen = looks(colors, kind)
    apart = np.linalg.norm(seen[:, None] - seen[None], axis=-1)
    # 0.02 is about what an eye can just tell apart; this is more than twice that.
    assert apart[~np.eye(len(colors), dtype=bool)].min() > 0.05
    # The longer a lane waits, the further it is from the page's white or black.
    light = seen[1:, 0]
    assert (np.diff(light) < 0).all() if theme == 0 else (np.diff(light) > 0).all()
