"""docs/reference/sass.md lists what the table of opcodes has."""

from __future__ import annotations

from itertools import groupby
from pathlib import Path

from simulator.sass.lift.coverage import coverage_table, groups
from simulator.sass.lift.table import OPCODES

ROOT = Path(__file__).parents[4]
DOCS = ROOT / "docs" / "reference" / "sass.md"


def test_the_table_in_the_documents_is_the_code() -> None:
    what_to_do = "put in the table that `python -m simulator.sass.lift.coverage` prints"
    assert coverage_table() in DOCS.read_text(), what_to_do


def test_every_opcode_is_in_one_group() -> None:
    listed = [each.name for group in groups().values() for each in group]
    assert sorted(listed) == sorted(OPCODES)


def test_every_sentence_is_one() -> None:
    for each in OPCODES.values():
        assert each.says.endswith("."), each
        assert "\n" not in each.says, each


def test_the_example_of_a_new_opcode_is_in_the_code() -> None:
    """CONTRIBUTING.md shows a diff: what it adds is there."""
    text = (ROOT / "CONTRIBUTING.md").read_text().partition("## Add a SASS opcode")[2]
    diff = text.partition("```diff\n")[2].partition("```")[0]
    pieces = diff.split("diff --git a/")[1:]
    assert len(pieces) == 2
    for piece in pieces:
        path, _, rest = piece.partition(" ")
        lines = rest.partition("\n@@")[2].splitlines()
        runs = groupby(lines, key=lambda line: line.startswith("+"))
        added = ["\n".join(line[1:] for line in run).strip() for is_new, run in runs if is_new]
        assert added
        code = (ROOT / path).read_text()
        assert [run for run in added if run not in code] == [], (
            f"CONTRIBUTING.md shows these lines of {path}, one after the other: put new lines"
            " above or below them, or change CONTRIBUTING.md, too"
        )
