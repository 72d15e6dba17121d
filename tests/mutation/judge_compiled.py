"""What is asked of a mutant of the compiled loops: run as plain Python, they say what the law says.

To compile takes Numba half a minute per mutant. With `numba.config.DISABLE_JIT` the loops are
Python; what `simd` writes in LLVM's own is put in plain words here. `python -m tests.mutation` sets
that; tests/property holds the compiled code itself to the same law.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from itertools import groupby
from typing import Any

import numba
import numpy as np
import pytest

from simulator.law import linear_engine, numba_engine, numba_turns, simd, turns
from simulator.law.accesses import ALL_LANES, NO_SOURCE, SHARED_BYTES, Rows
from simulator.law.closed_form import lane_addresses
from simulator.law.instructions import INSTRUCTIONS, Instruction
from simulator.law.loops import LOOPS
from simulator.law.specification import count_access
from tests.property.test_engine import many, masks

pytestmark = pytest.mark.skipif(
    not numba.config.DISABLE_JIT, reason="python -m tests.mutation runs it"
)


def _rows(address: int, pitch: int, count: int, width: int) -> list[np.ndarray[Any, Any]]:
    kind = ctypes.c_uint16 * width
    return [np.ctypeslib.as_array(kind.from_address(address + row * pitch)) for row in range(count)]


def _transpose(source: int, source_pitch: int, target: int, target_pitch: int) -> None:
    keys = np.array(_rows(source, source_pitch, simd.WIDTH, 8))
    for row, column in zip(_rows(target, target_pitch, 8, simd.WIDTH), keys.T, strict=True):
        row[:] = column


def _serve(lanes: int) -> Any:
    def serve(keys: int, pitch: int, served: int, served_pitch: int) -> None:
        waves, busy = _rows(served, served_pitch, 2, simd.WIDTH)
        for place, column in enumerate(np.array(_rows(keys, pitch, lanes, simd.WIDTH)).T.tolist()):
            active = sorted({key for key in column if key != simd.IDLE})
            banks = groupby(active, key=lambda key: key & simd.BANK)
            longest = max((len(list(bank)) for _, bank in banks), default=0)
            waves[place] += longest
            busy[place] += longest > 0

    return serve


@pytest.fixture(scope="module", autouse=True)
def as_python() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(numba_engine, "prefetch", lambda like, address: None)
        patch.setattr(numba_engine, "transpose", _transpose)
        for lanes in (8, 16, 32):
            patch.setattr(numba_engine, f"serve_{lanes}", _serve(lanes))
        for module in (numba_engine, linear_engine, numba_turns):
            patch.setattr(module, "in_chunks", _in_chunks)
        yield


def _in_chunks(count: Any, n: int, threads: int | None) -> Any:
    """Do what `chunks.in_chunks` does, without asking whether Numba compiles."""
    figures = np.empty((6, n), np.uint8)
    with np.errstate(over="ignore"):  # the loops count in 16 bits, and mean to
        bad = count(slice(0, n), figures)
    return figures, None if bad < 0 else bad


def pure(known: Instruction, byte: Any, mask: Any, rule: Any) -> Any:
    rows = [count_access(known, *each, rule) for each in zip(byte.tolist(), mask, strict=True)]
    return np.array(rows, np.uint8).T


def cases(known: Instruction, seed: int, count: int) -> Any:
    rng = np.random.default_rng(seed)
    byte = many(rng, known, count, known.shared_bytes)
    byte[1::2] %= 512
    mask = np.full(count, ALL_LANES) if known.is_matrix else masks(rng, count)
    return byte, mask.astype(np.uint32)


REGULAR = [INSTRUCTIONS[name] for name in ("LDS.U8", "LDS.64", "LDS.128", "LDSM.16.M88.2")]
OTHER = [INSTRUCTIONS[name] for name in ("STS.128", "ATOMS.CAS.64", "LDGSTS.E.BYPASS.128")]
LEARNT = [
    Instruction(
        "LEARNT", 8, 2, fuses=True, partners=(4, 3), groups=(range(0, 32, 2), range(1, 32, 2)),
        fused_groups=(range(32),),
    ),
    Instruction("HALF", 8, 1, lanes=16),
    Instruction("PARTED", 4, 2, groups=(range(5), range(5, 32)), merges=False, passes=3),
    Instruction("DOZEN", 4, 3, groups=(range(0, 24, 2), range(1, 24, 2), range(24, 32))),
    Instruction("OWN", 4, 2, fuses=True, fixed_ideal=1, phase_cycles=5, least_cycles=(9, 7)),
]  # fmt: skip


@pytest.mark.parametrize("known", [*REGULAR, *OTHER, *LEARNT], ids=lambda known: known.name)
@pytest.mark.parametrize("rule", ["silicon", "documented"])
def test_counts(known: Instruction, rule: Any) -> None:
    byte, mask = cases(known, 5, 131)
    few = slice(110, 131)  # both sides of a block's end
    figures, bad = numba_engine.count_accesses(known, Rows(byte)[:], mask, rule)
    assert bad is None
    np.testing.assert_array_equal(figures[:, few], pure(known, byte[few], mask[few].tolist(), rule))


@pytest.mark.parametrize("known", [REGULAR[1], OTHER[0], LEARNT[0]], ids=lambda known: known.name)
@pytest.mark.parametrize("mask", [None, 0xFFFF])
def test_one_mask(known: Instruction, mask: int | None) -> None:
    byte, _ = cases(known, 6, 17)
    given = None if mask is None else np.broadcast_to(np.uint32(mask), 17)
    figures, bad = numba_engine.count_accesses(known, byte, given, "silicon")
    assert bad is None
    expected = pure(known, byte, [ALL_LANES if mask is None else mask] * 17, "silicon")
    np.testing.assert_array_equal(figures, expected)


def test_masks_from_last_to_first() -> None:
    """Lanes of one bank: as many wavefronts as there are active lanes."""
    byte = np.tile(128 * np.arange(32), (9, 1))
    mask = np.array([(1 << many) - 1 for many in range(9)], np.uint32)[::-1]
    figures, _ = numba_engine.count_accesses(INSTRUCTIONS["LDS"], byte, mask, "silicon")
    assert figures[1].tolist() == [8, 7, 6, 5, 4, 3, 2, 1, 0]


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("bad", [2, SHARED_BYTES, SHARED_BYTES - 4, -8, 1 << 32])
def test_bad_addresses_are_found(masked: bool, bad: int) -> None:
    known = INSTRUCTIONS["LDS.64"]
    byte, _ = cases(known, 7, 130)
    mask = np.full(130, 0x0FFFFFFF, np.uint32) if masked else None
    byte[129, 31] = bad
    if masked:
        assert numba_engine.count_accesses(known, byte, mask, "silicon")[1] is None
    byte[129, 4] = bad
    assert numba_engine.count_accesses(known, byte, mask, "silicon")[1] == 128


@pytest.mark.parametrize("name", ["LDS.U8", "LDS", "LDS.64", "LDSM.16.M88.2", "ATOMS.ADD"])
@pytest.mark.parametrize("rule", ["silicon", "documented"])
def test_closed_forms(name: str, rule: Any) -> None:
    known = INSTRUCTIONS[name]
    rng = np.random.default_rng(8)
    columns = rng.choice([0, 4, 8, 128, 132, 1 << 12], (60, 5)) * max(known.width // 4, 1)
    for affine in (False, True):
        form = numba_engine.count_accesses if affine else None
        if form is None:
            figures, bad = linear_engine.count_linear(known, columns, rule)
        else:
            figures, bad = form(known, columns, None, rule)
        assert bad is None
        byte = lane_addresses(columns, affine=affine)
        np.testing.assert_array_equal(figures, pure(known, byte, [ALL_LANES] * 60, rule))


@pytest.mark.parametrize("partner", [1, 2])
def test_pairs_hold_whichever_is_greater_or_idle(partner: int) -> None:
    known = INSTRUCTIONS["LDS.64"]
    paired = np.array([8 * min(lane, lane ^ partner) for lane in range(32)])
    rows, mask = [paired], [ALL_LANES]
    for lane in (4, 4 ^ partner):
        for idle in (0, 1 << 4, 1 << (4 ^ partner)):
            rows.append(paired + 512 * (np.arange(32) == lane))
            mask.append(ALL_LANES & ~idle)
    byte, bits = np.array(rows), np.array(mask, np.uint32)
    figures, _ = numba_engine.count_accesses(known, byte, bits, "silicon")
    np.testing.assert_array_equal(figures, pure(known, byte, mask, "silicon"))


def test_whole_blocks_follow_one_another() -> None:
    known = INSTRUCTIONS["LDS"]
    byte, _ = cases(known, 11, 256)
    figures, _ = numba_engine.count_accesses(known, byte, None, "silicon")
    few = slice(160, 200)
    np.testing.assert_array_equal(
        figures[:, few], pure(known, byte[few], [ALL_LANES] * 40, "silicon")
    )


@pytest.mark.parametrize(
    "bad",
    [[1 << 32, 1 << 32, 0, 0, 0], [2, 0, 0, 0, 0], [0, 0, 0, 0, SHARED_BYTES], [-4, 0, 0, 0, 0]],
)
def test_bad_layouts_are_found(bad: list[int]) -> None:
    columns = np.array([[4, 8, 16, 32, 64], bad])
    known = INSTRUCTIONS["LDS"]
    assert linear_engine.count_linear(known, columns, "silicon")[1] == 1
    # Of strides the block is named, and the caller looks closer.
    assert numba_engine.count_accesses(known, columns, None, "silicon")[1] == 0


@pytest.mark.parametrize(
    ("columns", "bad"),
    [
        ([SHARED_BYTES - 0x400, 0x38400, 0, 0, 0], None),
        ([SHARED_BYTES - 0x400, 0x400, 0, 0, 0], 0),
        ([0xC00, SHARED_BYTES - 0x400, 0x400, 0, 0], 0),  # lane 6 alone
        ([SHARED_BYTES - 0x400, 0x400, 0x20000, 0x10000, 0x8000], 0),  # lane 3 alone
    ],
)
def test_bits_that_cancel_are_inside(columns: list[int], bad: int | None) -> None:
    """All bits together are outside, and a lane is or is not."""
    found = linear_engine.count_linear(INSTRUCTIONS["LDS"], np.array([columns]), "silicon")
    assert found[1] == bad


def test_copies_and_loops() -> None:
    rng = np.random.default_rng(9)
    for name in ("LDGSTS.E", "LDGSTS.E.64", "LDGSTS.E.128", "LDGSTS.E.BYPASS.128"):
        known = INSTRUCTIONS[name]
        to, mask = cases(known, 10, 24)
        sources = rng.integers(0, 1 << rng.integers(8, 25, (24, 1)), (24, 32)) // known.width
        sources = np.where(rng.random((24, 32)) < 0.05, NO_SOURCE, sources * known.width)
        figures = numba_turns.count_turns(known, Rows(to), Rows(sources), mask)
        wanted = turns.count_turns(known, Rows(to), Rows(sources), mask, "python")
        np.testing.assert_array_equal(figures, wanted)
    for known in LOOPS.values():
        byte = rng.integers(0, rng.integers(1, 200, (16, 1)), (16, 32)) * known.width
        mask = masks(rng, 16).astype(np.uint32)
        figures = numba_turns.count_turns(known, Rows(byte), None, mask)
        wanted = turns.count_turns(known, Rows(byte), None, mask, "python")
        np.testing.assert_array_equal(figures, wanted)
