"""A headless Chromium of this machine, with the network off; without one, the tests skip."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")

# What Chromium would otherwise do on its own: ask the network, update itself, use a GPU.
FLAGS = [
    "--no-sandbox",  # root in a container has none
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]

Open = Callable[..., Any]


@pytest.fixture(scope="module")
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


@pytest.fixture
def opened(chromium: Any) -> Iterator[Open]:
    """Open a file at a width and in a colour scheme; at the end, nothing may have gone wrong."""
    contexts, wrong = [], []

    def open_page(path: Path, width: int = 1600, scheme: str = "light", drawn: bool = True) -> Any:
        context = chromium.new_context(
            viewport={"width": width, "height": 900}, color_scheme=scheme, offline=True
        )
        contexts.append(context)
        page = context.new_page()
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
        page.goto(path.as_uri())
        if drawn:
            page.wait_for_selector("html[data-drawn]")
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert wrong == []
