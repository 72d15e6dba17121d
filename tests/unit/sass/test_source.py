"""Which source files a report shows."""

from __future__ import annotations

from pathlib import Path

from simulator.sass.source import impossible_lines, source_lines


def test_a_link_that_leads_out_of_the_sources_folder_is_not_shown(tmp_path: Path) -> None:
    folder = tmp_path / "inside"
    folder.mkdir()
    (tmp_path / "secret.h").write_text("hidden")
    (folder / "own.h").write_text("shown")
    (folder / "link.h").symlink_to(tmp_path / "secret.h")
    assert source_lines(["link.h", "own.h"], folder / "k.cu") == {"own.h": ("shown",)}


def test_a_line_behind_the_end_of_a_file_has_a_note() -> None:
    """Triton's loads were shown at line 18 of a file of 15 lines."""
    sources = {"/a/k.py": ["x"] * 15, "/a/l.py": ["x"] * 15}
    (note,) = impossible_lines(["/a/k.py", "/a/k.py", "/a/l.py"], [18, 3, 15], sources)
    assert note.startswith("k.py has 15 lines, and the code names its line 18: ")
    assert impossible_lines([], [], sources) == ()


def test_a_line_without_anything_in_it_has_a_note() -> None:
    """Triton's loads were shown at a blank line within the file, and nobody said so."""
    sources = {"/a/k.py": ["x", " ", "x"]}
    (note,) = impossible_lines(["/a/k.py", "/a/k.py"], [2, 3], sources)
    assert note.startswith("k.py has nothing in its line 2, which the code names: ")
    assert impossible_lines(["/a/k.py", "/a/k.py", "/a/k.py"], [0, 1, 3], sources) == ()
