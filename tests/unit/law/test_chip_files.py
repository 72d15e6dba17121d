"""Chip files: what is learnt of a chip is written and read whole, and anything else refused."""

from __future__ import annotations

import json
import tempfile
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpu_check import PhaseTable
from gpu_check.chip_file import chip_json
from gpu_check.device import Gpu as Gpu
from simulator import Chip, ChipError, count
from simulator.law.chip_files import LIMITS, PRODUCT, parse, plain_name
from simulator.law.tables import FIELDS
from tests.gpu_samples import to_record
from tests.strategies import learnt_instructions
from tests.unit.law.test_chips import content, table_of


@given(learnt_instructions(lanes=32))
def test_a_table_is_written_and_read(own: Any) -> None:
    op = {1: "LDS.U8", 2: "LDS.U16", 4: "LDS", 8: "LDS.64", 16: "LDS.128"}[own.width]
    own = replace(own, name=op, shared_bytes=232448)
    device = Gpu(0, "A chip", 90, 132, 232448, "580.0", "13.0")
    written = json.loads(chip_json(device, [PhaseTable.of(own)], {"date": "today"}))
    read = read_back(written)
    assert PhaseTable.of(read.instruction(op)) == PhaseTable.of(own)
    addresses = [own.width * (lane * 7 % 13) for lane in range(32)]
    mine = count(own, addresses, engine="python").figures[:5]
    np.testing.assert_array_equal(count(op, addresses, chip=read).figures[:2], mine[:2])


@pytest.mark.parametrize("name", ["H100", "H200"])
def test_what_was_learnt_of_a_chip_is_written_and_read(name: str) -> None:
    """The recorded tables, through the file that --save writes, are the built-in chip's."""
    recorded = json.loads(
        files("gpu_check").joinpath("data", f"{name.lower()}_phases.json").read_text()
    )
    tables = [PhaseTable(**each["table"]) for each in recorded]
    provenance = recorded[0]["provenance"]
    device = Gpu(**provenance["chip"])
    chip, known = read_back(json.loads(chip_json(device, tables, provenance))), Chip.of(name)
    assert chip.table == known.table
    assert set(chip.measured) ^ set(known.measured) == set(), to_record(name)
    assert (chip.name, chip.multiprocessors) == (device.name, known.multiprocessors)


def read_back(written: dict[str, Any]) -> Chip:
    return Chip._made(parse(written))


FACT = {"value": 4, "source": "a page"}
ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)
"""Any JSON, and a little more: NaN and the infinities."""


@given(st.text())
def test_a_chip_that_is_called_anything_has_a_name(text: str) -> None:
    named = plain_name(text)
    assert read_back(content(name=named)).name == named == plain_name(named)


class TestBadFiles:
    @pytest.mark.parametrize(
        ("changed", "match"),
        [
            ({"name": ""}, "name ''"),
            ({"name": 3}, "name 3"),
            ({"name": "a\nb"}, r"name 'a\\nb' \(accepted: text of up to 100 letters"),
            ({"name": "../../etc/passwd"}, "which begins with a letter or a digit"),
            ({"name": "a/b"}, "name 'a/b'"),
            ({"name": "C:\\x"}, "accepted: text of up to 100 letters"),
            ({"name": "<img src=x>"}, "accepted: text of up to 100 letters"),
            ({"name": "x" * 101}, "accepted: text of up to 100 letters"),
            ({"evidence": "a\nb"}, "without controls"),
            ({"evidence": "x" * 1001}, "1 to 1000 characters"),
            ({"compute_capability": 9.0}, r"compute_capability 9\.0"),
            ({"compute_capability": "nine"}, "compute_capability 'nine'"),
            ({"compute_capability": "6.1"}, "from '7.0' on"),
            ({"compute_capability": "99.9"}, "limits of compute capability 99.9 are not known"),
            ({"law": "guessed"}, r"law 'guessed': .*measured, assumed"),
            ({"law": ["measured"]}, "law"),
            ({"evidence": None}, "evidence None"),
            ({"banks": 16}, r"banks 16 \(accepted: 32"),
            ({"bank_bytes": 8}, r"bank_bytes 8 \(accepted: 4"),
            ({"instruction": []}, "unknown 'instruction': did you mean instructions"),
            ({"facts": []}, r"facts \[\]"),
            ({"facts": {"l2": FACT}}, "unknown fact 'l2'"),
            ({"facts": {"l2_bytes": 4}}, "an object with value and source"),
            ({"facts": {"l2_bytes": {**FACT, "value": -1}}}, "l2_bytes -1"),
            ({"facts": {"l2_bytes": {**FACT, "value": 1.5}}}, r"l2_bytes 1\.5"),
            ({"facts": {"l2_bytes": {**FACT, "value": True}}}, "l2_bytes True"),
            ({"facts": {"clock_mhz": {**FACT, "value": 1e300}}}, "clock_mhz 1e"),
            ({"facts": {"clock_mhz": {**FACT, "source": ""}}}, "source ''"),
            ({"facts": {"shared_bytes": {**FACT, "value": 1 << 20}}}, "shared_bytes"),
            (
                {"facts": {"shared_bytes": {**FACT, "value": 3}}},
                "shared_bytes 3 .accepted: an integer, 512",
            ),
            (
                {"facts": {"shared_reserved": {**FACT, "value": 1025}}},
                "shared_bytes, shared_reserved, shared_bytes_per_sm are 232448, 1025, 233472",
            ),
            ({"facts": {"shared_reserved": {**FACT, "value": 10**13}}}, "shared_reserved 1000"),
            ({"facts": {"registers_per_block": {**FACT, "value": 1 << 20}}}, "registers_per_sm"),
            ({"facts": {"l2_bytes": {**FACT, "why": "because"}}}, "an object with value and"),
            ({"facts": {"warps_per_sm": {**FACT, "value": 7}}}, "threads_per_sm, warps_per_sm"),
            ({"instructions": {}}, r"instructions \{\}"),
            ({"instructions": [3]}, "3 is not a table"),
            ({"instructions": [{}]}, "op None"),
            ({"instructions": [{"op": "LDS"}]}, "LDS has no phases, fused"),
            ({"instructions": [table_of("LDS"), table_of("LDS")]}, "LDS is there twice"),
            ({"instructions": [table_of("LDS"), table_of("LDS", op="LDS.32")]}, "is there twice"),
            ({"instructions": [table_of("LDS", op="LDX")]}, "unknown instruction 'LDX'"),
            ({"instructions": [table_of("LDS", bank=3)]}, "LDS has 'bank'"),
            (
                {"instructions": [table_of("LDS", pases=1, merge=True)]},
                "LDS has 'pases': did you mean phases or passes",
            ),
            (
                {"compute_capability": "7.0", "instructions": [table_of("LDSM.16.M88.4")]},
                "needs compute capability 7.5, the chip has 7.0",
            ),
        ],
    )
    def test_content_is_refused_by_name(
        self, tmp_path: Path, changed: dict[str, Any], match: str
    ) -> None:
        path = tmp_path / "bad.json"
        path.write_text(json.dumps(content(**changed)), encoding="utf-8")
        with pytest.raises(ChipError, match=match) as refused:
            Chip.from_json(path)
        assert str(refused.value).startswith(f"chip file {path}: ")

    @pytest.mark.parametrize("name", ["name", "compute_capability", "law", "evidence"])
    def test_nothing_may_be_missing(self, tmp_path: Path, name: str) -> None:
        path = tmp_path / "bad.json"
        path.write_text(json.dumps({k: v for k, v in content().items() if k != name}))
        with pytest.raises(ChipError, match=rf"{name} missing"):
            Chip.from_json(path)

    @pytest.mark.parametrize("field", FIELDS)
    @pytest.mark.parametrize("value", [None, 3.5, "x", {}, [[None]], -1, [[-1]], True])
    def test_fields_of_other_types(self, field: str, value: Any) -> None:
        if field in ("whole_warp", "idle_partners_agree", "merges") and value is True:
            value = 1
        with pytest.raises(ChipError):
            read_back(content(instructions=[{**table_of("LDS.64"), field: value}]))

    @pytest.mark.parametrize(
        ("changed", "match"),
        [
            ({"phases": [list(range(31))]}, "groups"),
            ({"phases": [list(range(33))]}, "up to 32 integers"),
            ({"phases": [[lane] for lane in range(33)]}, "a list of lists of lanes"),
            ({"phases": [[*range(31), 40]]}, "lane 40 in phases"),
            ({"phases": [[*range(31), 32]]}, "lane 32"),
            ({"phases": [list(range(16)), list(range(15, 32))]}, "lane 15 twice"),
            ({"phases": [list(range(32)), []]}, "group without lanes"),
            ({"fused": [list(range(31))]}, "fused_groups"),
            ({"fused": [list(range(16)), list(range(16, 32))]}, "fewer groups than phases"),
            ({"partners": []}, r"partners \[\] and fused"),
            ({"partners": [0]}, "partners"),
            ({"partners": [32]}, "partners"),
            ({"partners": [1, 1]}, "partners"),
            ({"whole_warp": False}, "whole_warp False"),
            ({"idle_partners_agree": False}, "idle_partners_agree False"),
            ({"passes": 0}, "passes"),
            ({"passes": 8}, "passes"),
            ({"passes": 1.0}, "passes"),
        ],
    )
    def test_tables_are_refused_by_name(self, changed: dict[str, Any], match: str) -> None:
        with pytest.raises(ChipError, match=match):
            read_back(content(instructions=[table_of("LDS.64", **changed)]))

    def test_a_pass_takes_a_cycle_more(self) -> None:
        """Of copies a phase costs nothing: that stays."""
        tables = [table_of("LDS", passes=2), table_of("LDGSTS.E", passes=2)]
        chip = read_back(content(instructions=tables))
        assert chip.instructions["LDS"].phase_cycles == 2
        assert chip.instructions["LDGSTS.E"].phase_cycles == 0

    @pytest.mark.parametrize(
        ("text", "match"),
        [
            ("", "not JSON"),
            ("{", "not JSON"),
            ("[]", r"\[\] is not a chip"),
            ("[" * 100_000, "nested too deeply|not JSON"),
            ('{"name": NaN}', "it holds NaN"),
            ('{"name": -Infinity}', "it holds -Infinity"),
            ('{"name": 1e999}', "compute_capability, law, evidence missing"),
            ('{"name": 1, "name": 2}', "'name' twice"),
            ('{"name": ' + "9" * 5000 + "}", "not JSON"),
            (" " * (1 << 21), "more than 1048576 bytes"),
            ("\ud800", "not JSON"),
        ],
    )
    def test_text_is_refused(self, tmp_path: Path, text: str, match: str) -> None:
        path = tmp_path / "bad.json"
        path.write_bytes(text.encode("utf-8", "surrogatepass"))
        with pytest.raises(ChipError, match=match):
            Chip.of(str(path))

    @pytest.mark.parametrize("name", ["none.json", ".", "a\0.json"])
    def test_files_that_cannot_be_read(self, tmp_path: Path, name: str) -> None:
        with pytest.raises(ChipError, match="cannot be read"):
            Chip.from_json(f"{tmp_path}/{name}")

    @pytest.mark.parametrize("path", [None, 3, b"a.json"])
    def test_what_is_no_path(self, path: Any) -> None:
        with pytest.raises(ChipError, match=r"is not a path \(accepted: text, or a Path\)"):
            Chip.from_json(path)

    @given(ANY, st.sampled_from([*content(), "facts", "provenance", "banks"]))
    def test_any_json_is_refused_or_read_whole(self, value: Any, key: str) -> None:
        try:
            chip = read_back(content(**{key: value}))
        except ChipError:
            return
        assert chip.instructions

    @given(st.data())
    def test_any_change_deep_inside_is_refused_or_read_whole(self, data: st.DataObject) -> None:
        """Somewhere in a whole file a value is another, is gone, or has a strange one beside it."""
        facts = {"l2_bytes": {**FACT}, "clock_mhz": {**FACT, "value": 1.5}}
        given_: Any = content(facts=facts, provenance={"a": [1]})
        inside = given_
        while True:
            places = [*inside] if isinstance(inside, dict) else [*range(len(inside))]
            place = data.draw(st.sampled_from(places))
            deeper = inside[place]
            if not isinstance(deeper, dict | list) or not deeper or data.draw(st.booleans()):
                break
            inside = deeper
        how = data.draw(st.sampled_from(["other", "gone", "strange"]))
        if how == "gone":
            del inside[place]
        elif how == "strange" and isinstance(inside, dict):
            inside[data.draw(st.text())] = data.draw(ANY)
        else:
            inside[place] = data.draw(ANY)
        self.check_whole(json.dumps(given_).encode())

    @given(st.data())
    def test_any_bytes_are_refused_or_read_whole(self, data: st.DataObject) -> None:
        whole = json.dumps(content(facts={"l2_bytes": FACT})).encode()
        first, last = sorted(data.draw(st.tuples(*2 * [st.integers(0, len(whole))])))
        self.check_whole(whole[:first] + data.draw(st.binary(max_size=20)) + whole[last:])

    def check_whole(self, text: bytes) -> None:
        """Read what Chip.from_json reads: it is refused by the file's name, or has everything."""
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "given.json")
            path.write_bytes(text)
            chip, refused = None, ""
            try:
                chip = Chip.from_json(path)
            except ChipError as error:
                refused = str(error)
        if chip is None:
            assert refused.startswith(f"chip file {path}: ")
            return
        named = dict(chip.sources)
        for name in (*LIMITS, *PRODUCT):
            assert (name in named) == (getattr(chip, name) is not None)
        assert {known.name for known in chip.table} >= set(chip.measured)
        assert count("LDS", [0] * 32, chip=chip).wavefronts == 1
