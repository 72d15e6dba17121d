"""Takes the pictures of pages that the documents show: `python docs/pages.py [FOLDER]`.

It needs Chromium, and `pip install '.[viz,sass]' playwright`. FOLDER is docs/how-to if none is
given.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from playwright.sync_api import Page, sync_playwright

from bankwise import explain, replay_compiled
from viz import report
from viz.explore import write

HERE = Path(__file__).parent
KERNELS = HERE.parent / "tests" / "silicon" / "sass"
COLUMN = "float s[32][32]; s[threadIdx.x][threadIdx.y]"


def access(page: Page, folder: Path) -> None:
    """Show a column of a tile and its cures, with a lane marked."""
    report(explain(COLUMN), file=folder / "access.html")
    _open(page, folder / "access.html", (1200, 720))
    page.locator("#lanes button").nth(5).hover()


def kernel(page: Page, folder: Path) -> None:
    """Show the source of a kernel beside its code, with its hottest line marked."""
    for file in (KERNELS / "cubins" / "transpose.cubin", KERNELS / "cuda" / "transpose.cu"):
        shutil.copy(file, folder)
    arrays = [np.zeros((128, 128), np.float32)] * 2
    result = replay_compiled(
        folder / "transpose.cubin",
        kernel="transpose_naive",
        grid=(4, 4),
        block=(32, 8),
        args=[*arrays, np.int32(128)],
    )
    report(result, file=folder / "kernel.html")
    _open(page, folder / "kernel.html", (1200, 760))
    page.locator(".code-view").evaluate("(view) => scrollTo(0, view.offsetTop - 66)")
    for pane, text in ((".source", "column XORed"), (".sass", "STS")):
        line = page.locator(f"{pane} .line", has_text=text).first
        line.evaluate("(line) => { line.parentElement.scrollTop = line.offsetTop - 36; }")
    page.locator(".source .costs", has_text="out[(to_y").hover()


def explore(page: Page, folder: Path) -> None:
    """Show the page in which one asks, with a lane marked."""
    write(folder / "explore.html")
    _open(page, folder / "explore.html", (1400, 900))
    page.locator("#lanes button").nth(5).hover()


PICTURES: dict[str, Callable[[Page, Path], None]] = {
    "page": access,
    "page-kernel": kernel,
    "explore": explore,
}


def _open(page: Page, path: Path, size: tuple[int, int]) -> None:
    page.set_viewport_size({"width": size[0], "height": size[1]})
    page.goto(path.as_uri())
    page.wait_for_selector("html[data-drawn], html[data-shown]")


def main(target: Path) -> None:
    """Take all pictures, in a browser without a network."""
    flags: list[Any] = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
    with sync_playwright() as driver, tempfile.TemporaryDirectory() as folder:
        browser = driver.chromium.launch(executable_path=shutil.which("chromium"), args=flags)
        page = browser.new_context(offline=True).new_page()
        for name, show in PICTURES.items():
            show(page, Path(folder))
            page.screenshot(path=target / f"{name}.png")
        browser.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else HERE / "how-to")
