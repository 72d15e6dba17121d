"""A headless Chromium of this machine, with the network off; without one, the tests skip."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import numpy as np
import pytest

from simulator import replay_compiled
from tests.sass_kernels import HERE, has_tools
from viz import report
from viz.explore import write

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")

# What Chromium would otherwise do on its own: ask the network, update itself, use a GPU or, with
# Debian's flags, do a GPU's work in software.
FLAGS = [
    "--no-sandbox",  # root in a container has none
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-gpu-rasterization",
    "--disable-extensions",
    "--disable-features=MediaRouter,OnDeviceModelService,OptimizationGuideOnDeviceModel,Translate",
]

Open = Callable[..., Any]
_COLUMN = "float s[32][32]; s[threadIdx.x][threadIdx.y]"


@pytest.fixture(scope="session")
def chromium() -> Iterator[Any]:
    """A running browser with a profile of its own."""
    program = next(filter(None, map(shutil.which, NAMES)), None)
    if program is None:
        pytest.skip(f"no browser on this machine (looked for {', '.join(NAMES)})")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=program, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def tab(chromium: Any) -> Iterator[tuple[Any, list[str]]]:
    """The one page in which all tests open their files, and what went wrong in it."""
    context = chromium.new_context(offline=True)
    page, wrong = context.new_page(), []
    page.on("console", lambda message: wrong.append(f"{message.type}: {message.text}"))
    page.on("pageerror", lambda error: wrong.append(f"error: {error}"))
    page.on("dialog", lambda dialog: (wrong.append("dialog"), dialog.dismiss()))
    page.on(
        "request",
        lambda request: (
            None
            if request.url.startswith(("file:", "data:", "blob:"))
            else wrong.append(f"asked for {request.url}")
        ),
    )
    yield page, wrong
    context.close()


@pytest.fixture
def opened(tab: tuple[Any, list[str]]) -> Iterator[Open]:
    """Open a file at a width and in a colour scheme; at the end, nothing may have gone wrong.

    A second file takes the place of the first.
    """
    page, wrong = tab

    def open_page(
        path: Path,
        width: int = 1600,
        scheme: str = "light",
        drawn: bool = True,
        height: int = 900,
        fragment: str = "",
    ) -> Any:
        page.goto("about:blank")  # a link within the same file would not load it again
        page.set_viewport_size({"width": width, "height": height})
        page.emulate_media(color_scheme=scheme)
        page.mouse.move(0, 0)
        page.goto(f"{path.as_uri()}{fragment}")
        page.wait_for_selector("html[data-drawn]" if drawn else "html[data-shown]")
        return page

    wrong.clear()
    yield open_page
    assert wrong == []


@pytest.fixture(scope="session")
def explore_page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of `bankwise explore`, written once."""
    path = tmp_path_factory.mktemp("explore") / "explore.html"
    write(path, "float s[32]; s[lane]")  # without a search for cures
    return path


@pytest.fixture
def explored(opened: Any, explore_page: Path) -> Any:
    """Open the page at a state, a width and a colour scheme."""

    def open_page(
        text: str = _COLUMN,
        size: tuple[int, int] = (1400, 900),
        scheme: str = "light",
        **state: str,
    ) -> Any:
        link = f"#{urlencode({'text': text, **state})}"
        return opened(explore_page, size[0], scheme, drawn=False, height=size[1], fragment=link)

    return open_page


@pytest.fixture(scope="session")
def law(chromium: Any, explore_page: Path) -> Iterator[Any]:
    """That page, for its functions."""
    context = chromium.new_context(offline=True)
    page = context.new_page()
    page.goto(explore_page.as_uri())
    page.wait_for_selector("html[data-shown]")
    yield page
    context.close()


def replayed(folder: Path, kernel: str = "transpose_naive") -> Any:
    """A launch of a recorded kernel, whose source is found beside its code."""
    for file in (HERE / "cubins" / "transpose.cubin", HERE / "cuda" / "transpose.cu"):
        if not (folder / file.name).exists():
            shutil.copy(file, folder)
    return replay_compiled(
        folder / "transpose.cubin",
        kernel=kernel,
        grid=(4, 4),
        block=(32, 8),
        args=[np.zeros((128, 128), np.float32)] * 2 + [np.int32(128)],
    )


@pytest.fixture(scope="session")
def kernel_page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of a kernel, written once: its cures run the launch again."""
    if not has_tools():
        pytest.skip("bankwise[sass] is not installed")
    folder = tmp_path_factory.mktemp("kernel")
    report(replayed(folder), file=folder / "kernel.html")
    return folder / "kernel.html"
