"""What a user types, and files are called, moves no cursor and sets no title of a terminal."""

from __future__ import annotations

import click
import pytest

from simulator.cli import main
from simulator.results.text import Listing, Table, as_text

EVIL = "\x1b[2J\x1b]0;title\x07"


@pytest.mark.parametrize(
    "words",
    [
        [f"float s[32]; s[{EVIL}]"],
        [f"float s[32][32]; s[lane][0] // {EVIL}"],
        ["compare", f"float s[32][32]; s[lane][0] /*{EVIL}*/", "float s[32][33]; s[lane][0]"],
        ["count", "--op", f"L{EVIL}DS", "lane"],
        ["count", "--op", "LDS", f"{EVIL}.csv"],
        ["sass", f"no{EVIL}.cu"],
        ["simulate", "--warp-shape", f"4{EVIL}x8"],
        ["count", "--chip", EVIL, "--op", "LDS", "lane"],
        ["check", f"{EVIL}.toml"],
        [f"--{EVIL}"],
    ],
)
def test_no_escape_comes_through(
    words: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    # As on a terminal, where click leaves them in.
    monkeypatch.setattr(click.utils, "should_strip_ansi", lambda *_: False)
    monkeypatch.setenv("NO_COLOR", "1")
    main(words)
    printed = capsys.readouterr()
    said = printed.out + printed.err
    assert said
    assert "\x1b" not in said
    assert "\x07" not in said


@pytest.mark.parametrize("color", [True, False])
def test_source_lines_and_names_are_tame(color: bool) -> None:
    figures = {1: {"bank_conflicts": 1, "wavefronts": 2}}
    listing = Listing(f"k{EVIL}.cu", (f"s[0]; // {EVIL}",), figures)
    rows = [{"file": f"k{EVIL}.cu", "access": EVIL}]
    said = as_text(Table(rows, {}, title=EVIL, listings=[listing]), color=color)
    assert "\x1b[2J" not in said
    assert "\x1b]" not in said
    assert "\x07" not in said
