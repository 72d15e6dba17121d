"""Copies from anywhere: sentences, lookups, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from simulator import AddressError, BankwiseError, OptionError, count, explain
from simulator.law.copies import lookups, pieces, tag_bank

ROW = [4 * lane for lane in range(32)]


def test_a_chain_runs_through_both_sides() -> None:
    # Lane 1 waits for lane 0 at source bank 0, lane 2 for lane 1 at destination bank 1: three
    # turns, though no bank of either side has more than two lanes.
    source, to = list(ROW), list(ROW)
    source[1], to[2] = 128 * 5, 4 + 128
    found = explain("cp.async.ca.4", to, sources=source)
    assert (found.wavefronts, found.bank_conflicts) == (3, 2)
    assert found.phases[0].sentence == (
        "lanes 0-31: one after the other, lanes 0 and 1 at source bank 0, lanes 1 and 2 at"
        " destination bank 1: 3 wavefronts for this phase."
    )
    assert [turn.lane for turn in found.phases[0].chain] == [0, 1, 2]
    assert found.sources == tuple(source)


def test_equal_words_are_not_merged_on_either_side() -> None:
    assert count("cp.async.ca.4", ROW, sources=[64] * 32).wavefronts == 32
    assert count("cp.async.ca.4", [64] * 32, sources=ROW).wavefronts == 32


def test_lines_in_one_tag_bank_take_a_cycle_each() -> None:
    same = [line for line in range(1 << 9) if tag_bank(line) == 0][:32]
    source = [128 * line + 4 * lane for lane, line in enumerate(same)]
    assert lookups(source, range(32)) == 32
    found = explain("cp.async.ca.4", ROW, sources=source)
    assert (found.wavefronts, found.cycles) == (1, 33)
    assert found.note == (
        "Its lookups take 33 cycles: 32 source lines in one tag bank of the L1 cache, and 1 piece"
        " of 512 bytes written in one bank of theirs."
    )


def test_a_wavefront_that_writes_far_apart_takes_a_third_cycle() -> None:
    to = [2048 * (lane % 8) + 4 * lane for lane in range(32)]
    assert pieces(to, range(32)) == 2
    assert count("cp.async.ca.4", to, sources=ROW).cycles == 3
    assert count("cp.async.ca.4", to).cycles == 2  # without sources: by the wavefronts alone


def test_lanes_that_write_zeros_take_no_source_bank() -> None:
    assert count("cp.async.ca.4", ROW, sources=[-1] * 32).wavefronts == 1
    assert count("cp.async.ca.4", ROW, sources=[-1] * 31 + [64]).cycles == 2


def test_sources_of_one_row_are_for_all_accesses() -> None:
    many = count("cp.async.ca.4", [ROW, ROW], [1, 3], sources=[0] * 32)
    assert many.wavefronts.tolist() == [1, 2]


@pytest.mark.parametrize("engine", ["python", "numpy", "numba"])
def test_copies_past_the_cache_cost_nothing_whatever_they_read(engine: Any) -> None:
    row = [16 * lane for lane in range(32)]
    counts = count("cp.async.cg.16", row, sources=[0] * 32, engine=engine)
    assert set(counts.totals().values()) == {0}


@pytest.mark.parametrize("kind", ["i2", "u2", "i4", "u4", "i8", "u8", ">i4", "object"])
def test_sources_of_any_width(kind: str) -> None:
    source = np.arange(0, 4096, 128).astype(kind)
    assert count("cp.async.ca.4", ROW, sources=source).wavefronts == 32


@pytest.mark.parametrize(
    ("op", "source", "error", "message"),
    [
        ("LDS", ROW, OptionError, "sources given for LDS "),
        ("cp.async.ca.4", [2] * 32, AddressError, "source 2 of lane 0 is not one of a copy"),
        ("cp.async.ca.16", [8] * 32, AddressError, "multiples of 16 bytes"),
        ("cp.async.ca.4", [*ROW[:31], -4], AddressError, "source -4 of lane 31"),
        ("cp.async.ca.4", [*ROW[:31], 2**63], AddressError, "source 9223372036854775808 of lane"),
        ("cp.async.ca.4", ROW[:31], AddressError, r"sources have shape \(31,\)"),
        ("cp.async.ca.4", [1.5] * 32, AddressError, "sources hold 1.5"),
    ],
)
def test_bad_sources_are_refused(
    op: str, source: Any, error: type[BankwiseError], message: str
) -> None:
    row = [16 * lane for lane in range(32)]
    for refuse in (count, explain):
        with pytest.raises(error, match=message):
            refuse(op, row, sources=source)


def test_sources_of_idle_lanes_mean_nothing() -> None:
    source = [0, *[-3] * 30, 2**70]
    assert count("cp.async.ca.4", ROW, 1, sources=source).wavefronts == 1
