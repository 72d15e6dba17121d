"""The scripts of examples/ run; the gallery shows what they draw."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).parent.parent.parent
SCRIPTS = sorted(path.stem for path in (ROOT / "examples").glob("*.py") if path.stem != "gallery")


def load_gallery() -> ModuleType:
    spec = importlib.util.spec_from_file_location("gallery", ROOT / "examples" / "gallery.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


gallery = load_gallery()
PICTURES = {
    name: title
    for title, name in re.findall(
        r"!\[([^\]]*)\]\(\.\./gallery/([\w-]+)\.png\)",
        (ROOT / "docs" / "reference" / "gallery.md").read_text(encoding="utf-8"),
    )
}


@pytest.mark.parametrize("name", SCRIPTS)
def test_an_example_writes_what_it_says(name: str, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "examples" / f"{name}.py", tmp_path],
        capture_output=True,
        check=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    written = re.findall(r"\S+\.html", done.stdout)
    assert sorted(written) == sorted(map(str, tmp_path.iterdir()))
    assert written
    assert done.stderr == ""


@pytest.mark.parametrize(("words", "code"), [(["--help"], 0), (["--nope"], 2), (["a", "b"], 2)])
def test_the_gallery_takes_a_folder_and_nothing_else(
    words: list[str], code: int, tmp_path: Path
) -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "examples" / "gallery.py", *words],
        capture_output=True,
        cwd=tmp_path,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert done.returncode == code
    assert "Usage: gallery.py [OPTIONS] [FOLDER]" in done.stdout + done.stderr
    assert list(tmp_path.iterdir()) == []


def test_without_playwright_the_gallery_says_what_to_install(tmp_path: Path) -> None:
    code = (
        "import runpy, sys; sys.modules['playwright'] = None;"
        f" sys.argv = ['gallery.py', {str(tmp_path / 'drawn')!r}];"
        f" runpy.run_path({str(ROOT / 'examples' / 'gallery.py')!r}, run_name='__main__')"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert done.returncode == 1
    assert done.stderr == (
        "Error: The gallery needs playwright, which is not installed"
        " (in a checkout of bankwise: pip install '.[test]').\n"
    )
    assert list(tmp_path.iterdir()) == []


@cache
def drawn(name: str) -> Any:
    """Return a figure of the gallery."""
    return gallery.FIGURES[name]()


@pytest.mark.parametrize("name", gallery.FIGURES)
def test_the_scale_of_a_figure_has_a_length_of_its_own(name: str) -> None:
    """A share of the width is not the same in each drawing."""
    maps = [trace for trace in drawn(name).data if trace.type == "heatmap"]
    bars = [trace.colorbar for trace in maps if trace.showscale is not False and trace.colorbar.len]
    assert all(bar.lenmode == "pixels" and bar.len > 100 for bar in bars)


def test_the_gallery_shows_every_figure_and_no_other() -> None:
    assert set(PICTURES) == set(gallery.FIGURES)
    files = {path.stem for path in (ROOT / "docs" / "gallery").iterdir()}
    assert files == set(gallery.FIGURES)


@pytest.mark.parametrize("name", gallery.FIGURES)
def test_a_picture_of_the_gallery_says_what_is_found(name: str) -> None:
    figure = drawn(name)
    assert figure.layout.meta["bankwise"]["title"] == PICTURES[name]


# 猛猿, 从啥也不会到CUDA GEMM优化, https://zhuanlan.zhihu.com/p/703256080, chapter 5.1: what the
# captions of examples 1 to 7 and of the two LDS.64 cases say.
@pytest.mark.parametrize(
    ("name", "wavefronts"),
    [
        ("example-1", 1),
        ("example-2", 1),
        ("example-3", 1),
        ("example-4", 1),
        ("example-5", 2),
        ("example-6", 2),
        ("example-7", 3),
        ("lds64-case-1", 2),
        ("lds64-case-2", 3),
    ],
)
def test_the_documents_examples_cost_what_it_says(name: str, wavefronts: int) -> None:
    title = drawn(name).layout.meta["bankwise"]["title"]
    assert re.search(rf": {wavefronts} wavefronts?, ", title)
