"""The model against what gpu_check recorded of an H200: gpu_check/data/README.md describes it."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from importlib.resources import as_file, files
from typing import Any

import numpy as np
import pytest

from gpu_check import GEMMS, Measurements, PhaseTable, compare, packaged, simulated
from gpu_check.campaign import all_ops
from gpu_check.compare import expected_cycles
from gpu_check.kernel_table import kernel_rows
from gpu_check.probe.ops import probe_op
from gpu_check.recordings import packaged_table
from simulator import count
from simulator.law.copies import tag_bank
from simulator.law.instructions import INSTRUCTIONS
from tests.gpu_samples import to_record

DATA = files("gpu_check").joinpath("data")


def timed() -> Iterator[Measurements]:
    for each in packaged("h200_accesses").measurements:
        if not probe_op(each.op).bypasses:
            yield each


def test_every_counted_access_is_equal() -> None:
    recording = packaged("h200_accesses")
    comparisons = [compare(simulated(each), each) for each in recording.measurements]
    assert len(recording) == sum(each.accesses for each in comparisons) == 24_040
    assert sum(each.wavefronts_equal or 0 for each in comparisons) == 24_040
    assert sum(each.conflicts_equal or 0 for each in comparisons) == 24_040
    assert [each.op for each in comparisons if not each.equal] == []


@pytest.mark.parametrize("engine", ["python", "numpy", "numba"])
def test_every_engine_counts_them_so(engine: str) -> None:
    for each in packaged("h200_accesses").measurements:
        masks = 0xFFFFFFFF if probe_op(each.op).is_matrix else each.masks
        counts = count(each.op, each.addresses, masks, engine=engine)
        assert np.array_equal(counts.wavefronts, each.wavefronts), each.op


def test_a_third_of_the_rows_that_can_have_a_mask_have_one() -> None:
    rows = [
        each for each in packaged("h200_accesses").measurements if not probe_op(each.op).is_matrix
    ]
    masked = sum(int((each.masks != 0xFFFFFFFF).sum()) for each in rows)
    assert 0.3 < masked / sum(map(len, rows)) < 0.35


def test_all_instructions_and_kinds_are_there() -> None:
    ops = {each.op for each in packaged("h200_accesses").measurements}
    assert set(all_ops(90)) == {known.name for known in INSTRUCTIONS.values()}
    assert ops ^ set(all_ops(90)) == set(), to_record("h200")


def test_provenance_says_chip_driver_cuda_and_date() -> None:
    source = packaged("h200_accesses").provenance
    assert source["chip"]["name"] == "NVIDIA H200"
    assert source["chip"]["driver"] == "580.159.04"
    assert source["chip"]["cuda"] == "13.0"
    assert source["date"].startswith("2026-")


def test_cycles_of_stores_are_within_a_tenth_and_of_loads_within_half_a_cycle() -> None:
    for each in timed():
        over = each.cycles - expected_cycles(each.op, simulated(each))
        if probe_op(each.op).kind == "st":
            assert np.abs(over).max() < 0.1, each.op
        if probe_op(each.op).kind == "ld":
            assert np.abs(over).max() < 0.5, each.op


def test_cycles_are_within_2_percent_in_the_median() -> None:
    for each in timed():
        off = np.abs(each.cycles / expected_cycles(each.op, simulated(each)) - 1)
        assert np.median(off) < 0.02, each.op


def test_residues_are_what_repeats() -> None:
    """Fused loads of no more wavefronts than phases take 0.08 cycles more, the others not."""
    for op, wavefronts, phases in (("LDS.64", 1, 1), ("LDS.128", 2, 2)):
        each = next(each for each in timed() if each.op == op)
        counts = simulated(each)
        few = (counts.wavefronts <= wavefronts) & (counts.phases == phases)
        assert few.sum() > 300
        assert (each.cycles - counts.cycles)[few].min() > 0.05
        assert (each.cycles - counts.cycles)[few].max() < 0.1
        assert np.abs(each.cycles - expected_cycles(op, counts))[few].max() < 0.03
        next_few = (counts.wavefronts <= 4) & ~few
        assert (each.cycles - counts.cycles)[next_few].max() < 0.03
        assert np.abs(each.cycles - expected_cycles(op, counts))[next_few].max() < 0.03


def test_copies_have_no_floor_by_phases_but_one_of_their_own() -> None:
    each = next(each for each in timed() if each.op == "LDGSTS.E.128")
    counts = simulated(each)
    for wavefronts, cycles in ((1, 2), (2, 3), (3, 3), (4, 4)):
        mine = each.cycles[counts.wavefronts == wavefronts]
        assert round(float(np.median(mine))) == cycles


def test_all_timed_accesses_are_summed_up_by_class() -> None:
    rows = packaged_table("h200_clock_classes")
    assert sum(int(row["rows"]) for row in rows) > 200_000
    for row in rows:
        if row["op"].startswith("LDGSTS"):
            continue
        flat = {"st": 0.1, "ld": 0.5}.get(probe_op(row["op"]).kind, 0.7)
        assert -flat < float(row["least_over"]) <= float(row["most_over"]) < flat, row


def test_the_phases_were_inferred_from_the_chip() -> None:
    found = json.loads(DATA.joinpath("h200_phases.json").read_text(encoding="utf-8"))
    for each in found:
        table = _tuples(each["table"])
        assert PhaseTable(**table).differences(PhaseTable.of(table["op"])) == []
        assert each["provenance"]["chip"]["name"] == "NVIDIA H200"
    assert {each["table"]["op"] for each in found} ^ set(all_ops(90)) == set(), to_record("h200")


def _tuples(table: dict[str, Any]) -> dict[str, Any]:
    nested = {name: tuple(map(tuple, table[name])) for name in ("phases", "fused")}
    return {**table, **nested, "partners": tuple(table["partners"])}


@pytest.fixture(scope="module")
def rows() -> list[dict[str, Any]]:
    return kernel_rows(packaged_table("h200_kernels"))


class TestKernels:
    def test_all_were_measured(self, rows: list[dict[str, Any]]) -> None:
        assert [row["kernel"] for row in rows] == list(GEMMS)

    def test_counted_wavefronts_are_those_of_the_catalogue(
        self, rows: list[dict[str, Any]]
    ) -> None:
        assert all(row["equal"] for row in rows)

    def test_results_were_right(self) -> None:
        for row in packaged_table("h200_kernels"):
            assert float(row["error"]) < GEMMS[row["kernel"]].tolerance

    def test_the_pipe_is_never_busier_than_the_kernel_runs(
        self, rows: list[dict[str, Any]]
    ) -> None:
        assert all(row["model_cycles"] < row["cycles"] for row in rows)

    def test_order_by_prediction_is_order_by_time_where_the_pipe_is_the_bottleneck(
        self, rows: list[dict[str, Any]]
    ) -> None:
        bound = [row for row in rows if row["model_cycles"] >= 0.7 * row["cycles"]]
        assert [row["kernel"] for row in bound] == ["smem", "1d", "warp 2x16"]
        predicted = sorted(bound, key=lambda row: row["model_cycles"])
        assert predicted == sorted(bound, key=lambda row: row["cycles"])

    @pytest.mark.parametrize(
        ("slow", "fast"),
        [
            ("z-order", "z-order padded"),
            ("wmma", "wmma padded"),
            ("warp 2x16", "warp 2x16 split"),
        ],
    )
    def test_removing_conflicts_saves_time_of_the_predicted_size(
        self, rows: list[dict[str, Any]], slow: str, fast: str
    ) -> None:
        before, after = (
            next(row for row in rows if row["kernel"] == name) for name in (slow, fast)
        )
        saved = before["cycles"] - after["cycles"]
        predicted = before["model_cycles"] - after["model_cycles"]
        assert 0.5 < saved / predicted < 1.2


def copies(name: str) -> dict[str, Any]:
    with (
        as_file(DATA.joinpath(f"{name}.npz")) as path,
        np.load(path, allow_pickle=False) as data,
    ):
        return dict(data)


class TestCopiesFromAnywhere:
    """cp.async whose lanes read from scattered addresses, by the clock."""

    @pytest.mark.parametrize("engine", ["python", "numpy", "numba"])
    @pytest.mark.parametrize(
        ("name", "rows"), [("h100_copies", 720), ("h200_copies", 720), ("h100_copy_probes", 3844)]
    )
    def test_cycles_are_the_laws(self, name: str, rows: int, engine: Any) -> None:
        recorded, equal = copies(name), 0
        for op in np.unique(recorded["op"]).tolist():
            address, source, mask, cycles = (
                recorded[column][recorded["op"] == op]
                for column in ("address", "source", "mask", "cycles")
            )
            counts = count(op, address, mask, sources=source, engine=engine)
            assert np.abs(cycles - counts.cycles).max() < 0.3, op
            equal += int((counts.cycles == cycles.round()).sum())
        assert equal == rows

    @pytest.mark.parametrize(("chip", "most"), [("h100", 0.4), ("h200", 0.5)])
    def test_asked_again_they_cost_the_same_and_counters_agree(
        self, chip: str, most: float
    ) -> None:
        recorded, first = copies(f"{chip}_copies_again"), copies(f"{chip}_copies")
        assert np.array_equal(recorded["address"], first["address"])
        equal = 0
        for op in np.unique(recorded["op"]).tolist():
            mine = {name: each[recorded["op"] == op] for name, each in recorded.items()
                    if each.ndim}  # fmt: skip
            counts = count(op, mine["address"], mine["mask"], sources=mine["source"])
            assert np.abs(mine["cycles"] - counts.cycles).max() < most, op
            assert np.array_equal(counts.wavefronts, mine["wavefronts"]), op
            assert np.array_equal(counts.bank_conflicts, mine["bank_conflicts"]), op
            equal += int((counts.cycles == mine["cycles"].round()).sum())
        assert equal == 720

    def test_neither_side_alone_explains_them(self) -> None:
        recorded = copies("h200_copies")
        op = "LDGSTS.E.128"
        mine = recorded["op"] == op
        by_source, by_destination = (
            count(
                op, recorded[side][mine].astype(np.int64) % (1 << 16), recorded["mask"][mine]
            ).cycles
            for side in ("source", "address")
        )
        larger = np.maximum(by_source, by_destination)
        assert (larger != recorded["cycles"][mine].round()).sum() > 0
        assert (larger <= recorded["cycles"][mine].round()).all()

    def test_side_by_side_the_third_cycle_is_explained_too(self) -> None:
        seen = 0
        for name in ("h100_accesses", "h200_accesses"):
            for each in packaged(name).measurements:
                if probe_op(each.op).is_copy and not probe_op(each.op).bypasses:
                    row = probe_op(each.op).width * np.arange(32)
                    counts = count(each.op, each.addresses, each.masks, sources=row)
                    assert np.array_equal(counts.wavefronts, each.wavefronts)
                    assert np.array_equal(counts.bank_conflicts, each.bank_conflicts)
                    assert np.abs(each.cycles - counts.cycles).max() < 0.11
                    seen += len(each)
        assert seen == 1792

    def test_two_lines_of_one_tag_bank_take_a_third_cycle(self) -> None:
        """One lane reads line 0, one another; up to line 2^18 - 1.

        The lines from 2^18 on were read in a buffer that begins anywhere: sums carry.
        """
        recorded = copies("h100_tag_lines")
        for line, cycles in zip(recorded["lines"].tolist(), recorded["cycles"], strict=True):
            if line < 1 << 18:
                assert round(float(cycles)) == 2 + (tag_bank(line) == tag_bank(0)), line

    def test_two_lines_anywhere_in_four_gigabytes_are_told_right(self) -> None:
        rows = [(int(row["line"]), int(row["other"]), float(row["cycles"]))
                for row in packaged_table("h200_tags")]  # fmt: skip
        assert len(rows) == 320
        for line, other, cycles in rows:
            assert round(cycles) == 2 + (tag_bank(line) == tag_bank(other)), (line, other)


class TestLoops:
    """Atomics without an instruction: rounds of a load, the operation and ATOMS.CAST.SPIN."""

    @pytest.mark.parametrize("engine", ["python", "numpy", "numba"])
    @pytest.mark.parametrize("name", ["h200_loops", "h100_loops"])
    def test_wavefronts_and_conflicts_are_the_laws(self, name: Any, engine: Any) -> None:
        equal = 0
        for each in packaged(name).measurements:
            counts = count(each.op, each.addresses, each.masks, engine=engine)
            assert np.array_equal(counts.wavefronts, each.wavefronts), each.op
            assert np.array_equal(counts.bank_conflicts, each.bank_conflicts), each.op
            equal += len(each)
        assert equal == 720

    def test_warps_on_words_of_their_own_need_no_more_rounds_than_alone(self) -> None:
        """Contention is by words, not by banks."""
        rows = packaged_table("h200_contention")
        alone = {row["pattern"]: float(row["rounds"]) for row in rows if row["warps"] == "1"}
        for row in rows:
            name, rounds = row["pattern"], float(row["rounds"])
            lanes = {"all lanes": 32, "four lanes": 4}
            assert alone[name] == next((n for key, n in lanes.items() if name.startswith(key)), 1)
            apart = "own" in name or "a word a warp" in name or "words of one bank" in name
            assert rounds == alone[name] if apart else rounds >= alone[name]
            if not apart and row["warps"] == "8":
                assert rounds > 3 * alone[name]

    def test_words_alone_do_not_explain_them(self) -> None:
        """Two wavefronts for each lane of the fullest word would be too few."""
        each = next(m for m in packaged("h200_loops").measurements if m.op == "add.f32")
        words = [
            max(Counter(row[lane] for lane in range(32) if mask >> lane & 1).values())
            for row, mask in zip(each.addresses.tolist(), each.masks.tolist(), strict=True)
        ]
        assert (2 * np.array(words) < each.wavefronts).mean() > 0.3
