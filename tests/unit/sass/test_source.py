"""Which source files a report shows."""

from __future__ import annotations

from pathlib import Path

from simulator.sass.source import source_lines


def test_a_link_that_leads_out_of_the_sources_folder_is_not_shown(tmp_path: Path) -> None:
    folder = tmp_path / "inside"
    folder.mkdir()
    (tmp_path / "secret.h").write_text("hidden")
    (folder / "own.h").write_text("shown")
    (folder / "link.h").symlink_to(tmp_path / "secret.h")
    assert source_lines(["link.h", "own.h"], folder / "k.cu") == {"own.h": ("shown",)}
