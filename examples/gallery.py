"""The figures of docs/reference/gallery.md, and the command that makes its pictures.

    python examples/gallery.py [FOLDER]

draws every figure to a PNG in docs/gallery (or FOLDER), with the machine's Chromium.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import click
import plotly.graph_objects as go

from bankwise import explain, replay, simulate
from gpu_check import compare as compare_with_chip
from gpu_check import packaged, simulated
from gpu_check.timing.errors import SETS, set_rows
from layouts import Swizzle, Tile
from simulator.errors import install
from viz import (
    bank_heatmap,
    compare,
    kernel_bars,
    parity,
    sweep_heatmap,
    time_parity,
    timeline,
    warp_map,
    word_map,
)

ROOT = Path(__file__).parent.parent


def words(*numbers: int) -> go.Figure:
    """An LDS in which lane l reads word `numbers[l]`, in the layers that it touches."""
    return word_map(explain("LDS", [4 * word for word in numbers]))


def pairs(*numbers: int) -> go.Figure:
    """An LDS.64 in which lane l reads words 2 `numbers[l]` and the next, by wavefront."""
    return bank_heatmap(explain("LDS.64", [8 * pair for pair in numbers]))


def ldmatrix(swizzle: Swizzle | None) -> tuple[Any, Tile]:
    """A warp's ldmatrix.x4 from rows of 64 halves: lane l names row l % 16, half l // 16."""
    tile = Tile(16, 64, swizzle=swizzle)
    rows = [int(tile.offset(lane % 16, 8 * (lane // 16))) * 2 for lane in range(32)]
    return explain("ldmatrix.x4", rows), tile


def swizzled(swizzle: Swizzle | None) -> go.Figure:
    access, tile = ldmatrix(swizzle)
    return word_map(access, tile=tile, element=2)


def sweep() -> go.Figure:
    shapes = ("1x32", "2x16", "4x8", "8x4", "16x2", "32x1")
    columns: dict[str, list[Any]] = {name: [] for name in ("lane_order", "warp_shape", "fragment")}
    columns["wavefronts"] = []
    for shape in shapes:
        for order in ("row-major", "col-major", "z-order"):
            for fragment in ("contiguous", "split"):
                report = simulate(shape, lane_order=order, fragment=fragment)
                row = (order, shape, fragment, report.wavefronts)
                for name, value in zip(columns, row, strict=True):
                    columns[name].append(value)
    return sweep_heatmap(columns, x="warp_shape", y="lane_order")


def recorded(quantity: str) -> go.Figure:
    """The model against the recorded H200; instructions of one kind are one colour."""
    rows: dict[str, list[Any]] = {"op": [], quantity: [], f"measured_{quantity}": []}
    for measured in packaged("h200_accesses").measurements:
        if "BYPASS" in measured.op:  # its time is not this pipe's
            continue
        points = compare_with_chip(simulated(measured), measured).points()
        rows["op"] += [measured.op.partition(".")[0]] * len(measured)
        for name in (quantity, f"measured_{quantity}"):
            rows[name] += points[name]
    return parity(rows)


def times() -> go.Figure:
    """The estimates of all recorded sets, each by the model that was committed before."""
    rows = [row for name in SETS for row in set_rows(name) if row["estimate"]]
    return time_parity(
        {name: [row[name] for row in rows] for name in ("case", "measured", "estimate", "bound")}
    )


def kernels() -> go.Figure:
    names = ("junstar92.2d", "junstar92.vectorized")
    return kernel_bars([replay(name, m=4096, n=4096, k=4096) for name in names])


def column(pitch: int) -> Any:
    """A warp reads a column of a float tile whose rows are `pitch` floats apart."""
    return explain("LDS", [4 * pitch * lane for lane in range(32)])


WARP = {"lane_order": "row-major"}

FIGURES: Mapping[str, Callable[[], go.Figure]] = {
    "example-1": lambda: words(*range(32)),
    "example-2": lambda: words(*(5 * lane % 32 for lane in range(32))),
    "example-3": lambda: words(*(lane + 32 * (lane % 3) for lane in range(32))),
    "example-4": lambda: words(*(max(0, lane - 2) for lane in range(32))),
    "example-5": lambda: words(*(2 * lane for lane in range(32))),
    "example-6": lambda: words(0, 32, *range(2, 32)),
    "example-7": lambda: words(0, 32, 64, *range(3, 32)),
    "lds64-case-1": lambda: pairs(*range(32)),
    "lds64-case-2": lambda: pairs(0, 16, *range(2, 32)),
    "warp-2x16": lambda: warp_map(simulate("2x16", **WARP)),
    "2x16-b": lambda: bank_heatmap(simulate("2x16", **WARP), fragment="B"),
    "2x16-b-words": lambda: word_map(simulate("2x16", **WARP), fragment="B"),
    "2x16-a": lambda: word_map(simulate("2x16", a_layout="row-major", **WARP), fragment="A"),
    "2x16-a-transposed": lambda: bank_heatmap(simulate("2x16", **WARP), fragment="A"),
    "warp-4x8": lambda: warp_map(simulate("4x8")),
    "4x8-b": lambda: bank_heatmap(simulate("4x8"), fragment="B"),
    "warp-split": lambda: warp_map(simulate("2x16", fragment="split", **WARP)),
    "split-b": lambda: bank_heatmap(simulate("2x16", fragment="split", **WARP), fragment="B"),
    "warp-z-order": lambda: warp_map(simulate("4x8", lane_order="z-order", fragment="split")),
    "z-order": lambda: bank_heatmap(simulate("4x8", lane_order="z-order", fragment="split")),
    "padding": lambda: compare(column(32), column(33)),
    "padding-tile": lambda: word_map(simulate("4x8", pad=4), fragment="B"),
    "swizzle-without": lambda: swizzled(None),
    "swizzle": lambda: swizzled(Swizzle(3, 3, 3)),
    "timeline": lambda: timeline(simulate("2x16", **WARP), fragment="B"),
    "sweep": sweep,
    "kernels": kernels,
    "parity": lambda: recorded("wavefronts"),
    "parity-cycles": lambda: recorded("cycles"),
    "times": times,
    "dark": lambda: bank_heatmap(simulate("2x16", **WARP), fragment="B", theme="dark"),
}

WIDEST = 1200  # pixels, for figures without a width of their own


@click.command()
@click.argument(
    "folder",
    type=click.Path(path_type=Path, file_okay=False),
    default=ROOT / "docs" / "gallery",
)
def draw(folder: Path) -> None:
    """Draw all figures to PNG files in FOLDER (docs/gallery), in a browser without a network."""
    try:
        from playwright.sync_api import sync_playwright
    except ImportError as error:
        raise click.ClickException(
            f"The gallery needs playwright, which is not installed ({install('test')})."
        ) from error

    program = shutil.which("chromium") or shutil.which("google-chrome")
    if program is None:
        raise click.ClickException(
            "The gallery needs a browser (Debian: apt-get install chromium)."
        )
    folder.mkdir(parents=True, exist_ok=True)
    flags = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=program, args=flags)
        page = browser.new_context(
            offline=True, viewport={"width": WIDEST, "height": 900}
        ).new_page()
        page.set_content(go.Figure().to_html())
        for name, figure in FIGURES.items():
            given = figure().to_json()
            page.evaluate(
                """async (given) => {
                  document.body.innerHTML = "<div id='figure'></div>";
                  document.body.style.margin = 0;
                  await Plotly.newPlot("figure", JSON.parse(given));
                }""",
                given,
            )
            page.locator("#figure .svg-container").screenshot(path=folder / f"{name}.png")
        browser.close()


if __name__ == "__main__":
    draw()
