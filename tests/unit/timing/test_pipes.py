"""Bounds by pipes: what a recorded chip says, and what must hold of any work."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpu_check.recordings import PackagedTable, packaged_table
from simulator import replay, simulate
from simulator.timing.pipes import Demand, TimeBound, bound_of_demands
from simulator.timing.rates import rates_of

PIPES = ("issue", "alu", "fma", "fmaheavy", "fp64", "xu", "tensor", "lsu", "adu", "shared")

amounts = st.floats(0, 1e6)


@st.composite
def demands(draw: st.DrawFn) -> Demand:
    cycles = {name: draw(amounts) for name in PIPES}
    floor = cycles | {"shared": draw(st.floats(0, 1)) * cycles["shared"]}
    return Demand(cycles, floor)


def bound(given_demands: list[Demand], blocks: int, warps: int, chip: str = "H100") -> TimeBound:
    pipes, floors = bound_of_demands(given_demands, blocks, warps, rates_of(chip))
    return TimeBound(chip, pipes, floors, 1980.0)


@given(demands(), st.sampled_from(PIPES), amounts, st.integers(1, 2000), st.integers(1, 32))
def test_more_work_never_lowers_a_bound(
    demand: Demand, pipe: str, more: float, blocks: int, warps: int
) -> None:
    larger = Demand(
        {**demand.cycles, pipe: demand.cycles[pipe] + more},
        {**demand.floor, pipe: demand.floor[pipe] + more},
    )
    assert bound([larger], blocks, warps).cycles >= bound([demand], blocks, warps).cycles


@given(demands(), st.integers(1, 2000), st.integers(1, 2000), st.integers(1, 32))
def test_more_blocks_never_lower_the_bound_of_a_pipe_of_the_sm(
    demand: Demand, blocks: int, more: int, warps: int
) -> None:
    few, many = (bound([demand], each, warps).pipes for each in (blocks, blocks + more))
    assert many["shared"] >= few["shared"]
    assert many["lsu"] >= few["lsu"]


@given(st.lists(demands(), min_size=1, max_size=3), st.integers(1, 2000), st.integers(1, 32))
def test_conflicts_never_make_faster(given_demands: list[Demand], blocks: int, warps: int) -> None:
    found = bound(given_demands, blocks, warps)
    assert found.without_conflicts.cycles <= found.cycles
    assert 1 <= found.speedup <= found.most * (1 + 1e-9)
    assert found.without_conflicts.most == 1


@given(st.lists(demands(), min_size=2, max_size=4), st.integers(1, 2000), st.integers(1, 32))
def test_what_runs_never_counts_for_less(all_: list[Demand], blocks: int, warps: int) -> None:
    """Of blocks that differ, the least stands for the others, and each for itself."""
    together = bound(all_, blocks, warps)
    on_one = -(-blocks // 132)
    for name in ("shared", "lsu"):
        values = [each.cycles[name] for each in all_]
        assert max(values) <= together.pipes[name] <= max(values) * on_one


@pytest.mark.parametrize(
    ("name", "kernel", "parameters"),
    [
        ("smem", "junstar92.smem", {}), ("1d", "junstar92.1d", {}), ("2d", "junstar92.2d", {}),
        ("vectorized", "junstar92.vectorized", {}),
        ("warp 2x16", "illustrated.layout_2x16", {}),
        ("warp 2x16 split", "illustrated.layout_2x16_split", {}),
        ("warp 4x8", "illustrated.layout_4x8", {}), ("z-order padded", "junstar92.warptiling", {}),
        ("z-order", "junstar92.warptiling", {"padding": 0}),
        ("double-buffered", "cutlass-notes.sgemm_128x128", {}),
        ("half", "explore-gemm.half", {}), ("wmma padded", "leimao.v07", {}),
        ("wmma", "leimao.v07_unskewed", {}), ("naive", "leimao.v00", {}),
        ("coalesced", "leimao.v01", {}),
    ],
)  # fmt: skip
@pytest.mark.parametrize(
    ("chip", "table"), [("H100", "h100_gemm_stalls"), ("H200", "h200_gemm_stalls")]
)
def test_described_bounds_are_below_what_was_measured(
    name: str, kernel: str, parameters: dict[str, Any], chip: str, table: PackagedTable
) -> None:
    measured = {
        int(row["size"]): float(row["cycles"])
        for row in packaged_table(table)
        if row["kernel"] == name
    }
    for size, cycles in measured.items():
        found = replay(kernel, m=size, n=size, k=size, **parameters).time(chip)
        assert 0.05 * cycles < found.cycles <= cycles


def test_a_described_bound_names_what_fixing_gains() -> None:
    found = replay("leimao.v07_unskewed", m=4096, n=4096, k=4096).time()
    assert found.limiter == "shared"
    # Measured: 3,960,032 cycles and 1,606,368 with padded rows.
    assert 2 < found.speedup <= found.most
    assert found.verdict().startswith(
        f"Without bank conflicts at most {found.most:.2f} times as fast; "
    )
    plain = replay("junstar92.smem", m=1024, n=1024, k=1024).time("A100")
    assert plain.verdict() == "No gain: there are no bank conflicts to remove."
    assert plain.chip == "A100"
    assert "at least" in str(plain)


def test_one_step_of_a_warp_is_bounded_too() -> None:
    found = simulate("2x16", lds=64, thread_tile="4x4").time("H100")
    assert found.pipes["fma"] == 4  # 16 FFMA on four schedulers
    assert found.pipes["shared"] == simulate("2x16", lds=64, thread_tile="4x4").cycles
    assert found.seconds == pytest.approx(found.cycles / 1.98e9)
