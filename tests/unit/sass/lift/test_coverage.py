"""docs/sass.md lists what the table of opcodes has."""

from __future__ import annotations

from pathlib import Path

from simulator.sass.lift.coverage import coverage_table, groups
from simulator.sass.lift.table import OPCODES

DOCS = Path(__file__).parents[4] / "docs" / "sass.md"


def test_the_table_in_the_documents_is_the_code() -> None:
    assert coverage_table() in DOCS.read_text()


def test_every_opcode_is_in_one_group() -> None:
    listed = [each.name for group in groups().values() for each in group]
    assert sorted(listed) == sorted(OPCODES)


def test_every_sentence_is_one() -> None:
    for each in OPCODES.values():
        assert each.says.endswith("."), each
        assert "\n" not in each.says, each
