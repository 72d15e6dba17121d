"""docs/sass.md says what the decoder does."""

from __future__ import annotations

from pathlib import Path

from simulator.sass.decode.coverage import coverage_table
from simulator.sass.decode.decoder import GROUPS, OPCODES

DOCS = Path(__file__).parents[4] / "docs" / "sass.md"


def test_the_table_is_the_decoders() -> None:
    assert coverage_table() in DOCS.read_text()


def test_every_opcode_is_in_one_group() -> None:
    listed = [each.name for group in GROUPS.values() for each in group]
    assert sorted(listed) == sorted(OPCODES)
