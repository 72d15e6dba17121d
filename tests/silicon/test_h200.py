"""The law against an NVIDIA H200: data/README.md says how it was measured."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from simulator import bit_columns, count_affine, count_linear, lane_addresses
from tests.bench.rivals import common_accesses
from tests.silicon import tables
from tests.silicon.recorded import counted, load, loop_cycles


@pytest.mark.parametrize("engine", ["python", "numpy", "numba"])
@pytest.mark.parametrize(("name", "rows"), [("h200_accesses", 6080), ("h200_atomics", 520)])
def test_wavefronts_and_conflicts_equal_the_counters(name: str, rows: int, engine: str) -> None:
    seen = 0
    for op, recorded, counts in counted(load(name), engine=engine):
        np.testing.assert_array_equal(counts.wavefronts, recorded["wavefronts"], err_msg=op)
        np.testing.assert_array_equal(counts.bank_conflicts, recorded["bank_conflicts"], op)
        seen += len(recorded["op"])
    assert seen == rows


@pytest.mark.parametrize("engine", ["python", "numba"])
def test_closed_forms_equal_the_counters(engine: str) -> None:
    seen = {count_linear: 0, count_affine: 0}
    for name in ("h200_accesses", "h200_atomics"):
        for op, recorded, _ in counted(load(name)):
            byte = recorded["address"].astype(np.int64)
            columns, linear = bit_columns(byte)
            strides = byte[:, [1, 2, 4, 8, 16]] - byte[:, :1]
            affine = (strides >= 0).all(axis=1)
            lanes = lane_addresses(np.maximum(strides, 0), affine=True) + byte[:, :1]
            # A base inside a word carries into the words of narrow accesses.
            affine &= (lanes == byte).all(axis=1) & (byte[:, 0] % 4 == 0)
            for form, bits, holds in (
                (count_linear, columns, linear),
                (count_affine, strides, affine),
            ):
                rows = holds & (recorded["mask"] == 0xFFFFFFFF)
                counts = form(op, bits[rows], engine=engine)
                np.testing.assert_array_equal(counts.wavefronts, recorded["wavefronts"][rows], op)
                conflicts = recorded["bank_conflicts"][rows]
                np.testing.assert_array_equal(counts.bank_conflicts, conflicts, op)
                seen[form] += int(rows.sum())
    assert min(seen.values()) > 1000


def test_one_in_three_of_the_benchmarks_accesses_needs_the_pair_condition() -> None:
    # What docs/explanation/performance.md says of tools that know the published phases only.
    accesses = common_accesses()
    right = [
        (int(counts.wavefronts) == access.wavefronts, counts.bank_conflicts == 0)
        for access in accesses
        for counts in [count_linear(access.op, access.columns, rule="documented")]
    ]
    verdicts = [
        free == (access.bank_conflicts == 0)
        for (_, free), access in zip(right, accesses, strict=True)
    ]
    assert (len(right), sum(equal for equal, _ in right), sum(verdicts)) == (259, 178, 247)


def test_ideal_equals_the_source_view_wherever_its_wavefronts_equal_the_law() -> None:
    compared = 0
    for op, recorded, counts in counted(load("h200_ncu_source")):
        same = counts.wavefronts == recorded["ncu_source_wavefronts"]
        np.testing.assert_array_equal(
            counts.ideal[same], recorded["ncu_source_ideal"][same], err_msg=op
        )
        compared += int(same.sum())
    assert compared == 839  # of 880: docs/explanation/validation.md says where the view differs


def test_measured_cycles_lie_within_half_a_cycle_of_the_model() -> None:
    seen = 0
    for op, recorded, counts in counted(load("h200_timing")):
        over = recorded["cycles_32_warps"] - counts.cycles - loop_cycles(op, counts)
        assert over.min() >= -0.05, op
        assert over.max() <= 0.5, op
        seen += len(over)
    assert seen == 12_000


def test_documented_rule_explains_78_percent_of_the_vector_loads() -> None:
    shares = {
        op: float((counts.wavefronts == recorded["wavefronts"]).mean())
        for op, recorded, counts in counted(load("h200_accesses"), rule="documented")
    }
    assert round(100 * shares.pop("LDS.64")) == 78
    assert round(100 * shares.pop("LDS.128")) == 78
    assert set(shares.values()) == {1.0}


@pytest.mark.parametrize("table", tables.TABLES)
def test_validation_page_holds_the_tables(table: object, request: pytest.FixtureRequest) -> None:
    page = Path(request.config.rootpath, "docs", "explanation", "validation.md").read_text(
        encoding="utf-8"
    )
    assert callable(table)
    assert table() in page
