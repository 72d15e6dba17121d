"""The chips: what the built-in ones say, and what a file of another law does to the figures."""

from __future__ import annotations

import copy
import json
import pickle
import re
from dataclasses import asdict, replace
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gpu_check import PhaseTable
from gpu_check.recordings import packaged_table
from simulator import (
    CHIPS,
    INSTRUCTIONS,
    Access,
    AddressError,
    Chip,
    ChipError,
    InstructionError,
    count,
    count_affine,
    count_linear,
    explain,
    instruction,
    lane_addresses,
    optimize,
)
from simulator.law.chip_files import LIMITS, PRODUCT
from tests.gpu_samples import to_record

WIDE, NARROW = tuple(sorted({*range(8), *range(24, 32)})), tuple(range(8, 24))


def table_of(known: str, **changed: Any) -> dict[str, Any]:
    return {**asdict(PhaseTable.of(known)), **changed}


def other_law() -> list[dict[str, Any]]:
    """128-bit loads in two phases that never fuse; 64-bit loads that fuse by i^4 alone."""
    never = {"fused": [], "partners": [], "whole_warp": False, "idle_partners_agree": False}
    return [
        table_of("LDS.128", phases=[list(WIDE), list(NARROW)], **never),
        table_of("LDS.64", partners=[4]),
    ]


def content(**changed: Any) -> dict[str, Any]:
    return {
        "name": "Other",
        "compute_capability": "9.0",
        "law": "measured",
        "evidence": "made up for a test",
        "instructions": other_law(),
        **changed,
    }


@pytest.fixture
def other(tmp_path: Path) -> Path:
    path = tmp_path / "other.json"
    path.write_text(json.dumps(content()), encoding="utf-8")
    return path


def written(chip: Chip) -> dict[str, Any]:
    """What the file of a built-in chip says."""
    name = f"{chip.name.lower().replace(' ', '_')}.json"
    content: dict[str, Any] = json.loads(
        files("simulator.law").joinpath("data", name).read_text(encoding="utf-8")
    )
    return content


class TestBuiltIn:
    def test_every_number_has_a_source(self) -> None:
        for chip in map(Chip.of, CHIPS):
            named = dict(chip.sources)
            for name in (*LIMITS, *PRODUCT):
                assert (name in named) == (getattr(chip, name) is not None), (chip, name)

    def test_every_source_can_be_opened(self) -> None:
        for chip in map(Chip.of, CHIPS):
            for name, source in chip.sources:
                place = source.split(" ", 1)[0]
                if place == "provenance,":  # as `gpu-check --save` writes, in the file itself
                    assert {"chip", "date"} <= set(written(chip)["provenance"])
                elif place.startswith("https://"):
                    assert re.fullmatch(r"https://[\w.-]+\.[a-z]+/[^\s<>]+", place), (chip, name)
                else:
                    folder, _, file = place.partition("/")
                    assert files(folder).joinpath(file).is_file(), (chip, name)

    @pytest.mark.parametrize("name", ["H100", "H200"])
    def test_a_measured_chip_has_the_limits_that_its_driver_says(self, name: str) -> None:
        (said,) = [row for row in packaged_table("devices") if row["chip"] == name]
        chip = Chip.of(name)
        for field in (*LIMITS, "capability", "multiprocessors", "l2_bytes"):
            if field in said:
                assert getattr(chip, field) == int(said[field]), field
        assert chip.clock_mhz == int(said["clock_khz"]) / 1000
        bits_per_ms = 2 * int(said["memory_clock_khz"]) * int(said["memory_bus_bits"])
        assert chip.dram_gb_per_s == pytest.approx(bits_per_ms / 8e6)

    def test_there_is_a_file_for_each_and_no_other(self) -> None:
        found = {each.name for each in files("simulator.law").joinpath("data").iterdir()}
        assert found == {f"{name.lower().replace(' ', '_')}.json" for name in CHIPS}
        assert [Chip.of(name).name for name in CHIPS] == list(CHIPS)

    def test_the_default_is_the_h200(self) -> None:
        assert Chip.of("H200").table == tuple(INSTRUCTIONS.values())

    @pytest.mark.parametrize("name", ["h100", "h200"])
    def test_a_measured_chip_has_the_tables_that_were_learnt_of_it(self, name: str) -> None:
        chip = Chip.of(name)
        recorded = json.loads(
            files("gpu_check").joinpath("data", f"{name}_phases.json").read_text()
        )
        assert chip.law == "measured"
        ops = {each["table"]["op"] for each in recorded}
        assert ops ^ set(chip.instructions) == set(), to_record(name)
        for each in recorded:
            built_in = asdict(PhaseTable.of(chip.instruction(each["table"]["op"])))
            assert json.loads(json.dumps(built_in)) == each["table"]

    def test_only_measured_chips_say_so(self) -> None:
        for name in CHIPS:
            chip = Chip.of(name)
            learnt = {table["op"] for table in written(chip).get("instructions", [])}
            if name in ("H100", "H200"):  # whose tables stand in gpu_check/data
                learnt = set(chip.instructions)
            assert set(chip.measured) == learnt
            assert chip.law == ("measured" if learnt else "assumed")

    @pytest.mark.parametrize(
        ("chip", "op", "since"),
        [("V100", "ldmatrix.x4", "7.5"), ("A100", "STSM.16.M88.4", "9.0"),
         ("T4", "cp.async.ca.16", "8.0")],
    )  # fmt: skip
    def test_an_instruction_that_it_has_not_is_refused(
        self, chip: str, op: str, since: str
    ) -> None:
        with pytest.raises(InstructionError, match=rf"{chip} has no .* came with {since}"):
            count(op, [0] * 32, chip=chip)
        with pytest.raises(InstructionError, match="nearest first"):
            Chip.of(chip).instruction("LDX")

    def test_addresses_beyond_its_block_are_refused_by_all_engines(self) -> None:
        last = [65536 - 4] * 32
        assert int(count("LDS", last, chip="T4").wavefronts) == 1
        for engine in ("python", "numpy", "numba"):
            with pytest.raises(AddressError, match=r"0 to 65532; a block has at most 64 KiB"):
                count("LDS", [65536] * 32, chip="T4", engine=engine)
            with pytest.raises(AddressError, match="64 KiB"):
                count_linear("LDS", [[65536, 0, 0, 0, 0]], chip="T4", engine=engine)
        assert int(count("LDS", [65536] * 32).wavefronts) == 1

    def test_an_instruction_of_your_own_is_refused_beside_a_chip(self) -> None:
        own = replace(instruction("LDS.128"), fuses=False)
        with pytest.raises(InstructionError, match="of your own together with chip T4"):
            count(own, [0] * 32, chip="T4")
        built_in = INSTRUCTIONS["LDS.128"]
        assert count(built_in, [0] * 32, chip="T4").phases == 2
        assert count(Chip.of("T4").instruction("LDS"), [0] * 32, chip="T4").phases == 1

    @pytest.mark.parametrize("given", ["H300", "", 3, None, "rtx", b"H200"])
    def test_unknown_chips_are_refused(self, given: Any) -> None:
        with pytest.raises(ChipError, match=r"accepted: .*H200.*\.json"):
            Chip.of(given)

    @pytest.mark.parametrize("name", ["rtx3080", "RTX 3080", "rtx-3080", " Rtx_3080 "])
    def test_spellings(self, name: str) -> None:
        assert Chip.of(name) is Chip.of("RTX 3080")

    def test_a_chip_is_copied_pickled_and_compared(self) -> None:
        chip = Chip.of("A100")
        assert len(chip.instructions) > 1  # its table was made, and is no part of what is compared
        pickled = pickle.loads(pickle.dumps(chip))  # noqa: S301  our own bytes
        assert copy.deepcopy(chip) == chip == pickled
        assert hash(chip) == hash(pickled)
        assert repr(chip) != repr(replace(chip, table=chip.table[:-1]))

    @pytest.mark.parametrize(
        ("chip", "runs", "not_on"),
        [("A100", [80], [70, 86, 90]), ("RTX 4090", [80, 86, 89], [87, 90]),
         ("Jetson Orin", [87], [80, 86]), ("H100", [90], [80, 100])],
    )  # fmt: skip
    def test_code_that_runs(self, chip: str, runs: list[int], not_on: list[int]) -> None:
        assert all(map(Chip.of(chip).runs, runs))
        assert not any(map(Chip.of(chip).runs, not_on))


class TestAnotherLaw:
    @pytest.mark.parametrize("engine", ["python", "numpy", "numba"])
    def test_128_bit_loads_in_two_phases_never_fused(self, other: Path, engine: str) -> None:
        def cost(addresses: list[int]) -> tuple[int, int]:
            counts = count("LDS.128", addresses, chip=other, engine=engine)
            return int(counts.phases), int(counts.wavefronts)

        # 16 lanes of 16 bytes fill two rows of banks.
        assert cost([16 * lane for lane in range(32)]) == (2, 4)
        # Pairs agree: four would fuse to two of one wavefront each here, too, were it the H200.
        assert cost([16 * (lane // 2) for lane in range(32)]) == (2, 2)
        # Lanes 0-7 and 24-31 on one row, in different words of the same banks: they meet.
        meet = [16 * lane for lane in range(8)] * 3 + [128 + 16 * lane for lane in range(8)]
        assert cost(meet) == (2, 3)
        apart = [16 * lane for lane in range(8)] + [128 + 16 * lane for lane in range(8)] * 2
        assert cost([*apart, *[16 * lane for lane in range(8)]]) == (2, 2)

    @pytest.mark.parametrize("engine", ["python", "numpy", "numba"])
    def test_64_bit_loads_fuse_by_4_alone(self, other: Path, engine: str) -> None:
        for partner, phases in ((1, 2), (2, 2), (4, 1), (8, 2)):
            addresses = [8 * (lane & ~partner) for lane in range(32)]
            assert int(count("LDS.64", addresses, chip=other, engine=engine).phases) == phases

    def test_it_is_explained(self, other: Path) -> None:
        wide = explain("LDS.128", [16 * lane for lane in range(32)], chip=other)
        assert wide.sentences[0].startswith("LDS.128 on Other, silicon rule: 4 wavefronts")
        assert [tuple(phase.lanes) for phase in wide.phases] == [WIDE, NARROW]
        assert "lanes 0-7, 24-31: " in wide.phases[0].sentence
        fused = explain("LDS.64", [8 * (lane & ~4) for lane in range(32)], chip=other)
        assert fused.partners == (4,)
        assert "active lanes i and i^4 have the same address" in fused.note
        apart = explain("LDS.64", [8 * lane for lane in range(32)], chip=other)
        assert apart.broken == {4: tuple((lane, lane ^ 4) for lane in range(32) if not lane & 4)}
        assert apart.note == "Not fused: lanes 0 and 4 have different addresses."
        assert apart.chip == "Other"

    def test_it_is_drawn(self, other: Path) -> None:
        pytest.importorskip("plotly")
        from viz import bank_heatmap

        drawn = bank_heatmap(explain("LDS.128", [16 * lane for lane in range(32)], chip=other))
        rows = next(iter(drawn.select_yaxes())).ticktext
        # Two phases of two wavefronts; by the H200's law it would be four of one.
        assert list(rows) == ["phase 0 · 0", "1", "phase 1 · 0", "1"]

    def test_closed_forms_follow(self, other: Path) -> None:
        columns = [[16, 32, 64, 128, 256], [0, 16, 32, 64, 128], [128, 256, 512, 16, 32]]
        for closed, affine in ((count_linear, False), (count_affine, True)):
            addresses = lane_addresses(columns, affine=affine)
            expected = count("LDS.128", addresses, chip=other, engine="python")
            for engine in ("numpy", "numba"):
                found = closed("LDS.128", columns, chip=other, engine=engine)
                np.testing.assert_array_equal(found.figures, expected.figures)

    def test_the_search_follows(self, other: Path) -> None:
        access = Access("LDS.128", "lane, 0")
        found = optimize([access], tile="32x32", chip=other)
        best = [16 * index for index in range(32)]
        assert found.cost == int(count("LDS.128", best, chip=other).wavefronts) == 4
        assert str(found.chip) == "Other"
        space = {"swizzle": "xor"}
        several = optimize([access], tile="32x32", chip=other, space=space)
        assert several.proved == (several.cost == several.certificate.floor)
