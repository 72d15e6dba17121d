"""The compiled engine on every kind of array: types, strides, sizes, threads, bad places."""

from __future__ import annotations

import tracemalloc
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator import (
    INSTRUCTIONS,
    AddressError,
    Counts,
    Instruction,
    InstructionError,
    count,
    count_affine,
    count_linear,
    instruction,
    lane_addresses,
)
from simulator.law import chunks
from simulator.law.accesses import ALL_LANES, SHARED_BYTES
from simulator.law.counting import FIGURES
from simulator.law.instructions import RULES
from tests.strategies import instructions, learnt_instructions, of, own_instructions

rules = st.sampled_from(["silicon", "documented"])
# One or both sides of a block of the engine, and of several.
sizes = st.sampled_from([1, 15, 16, 127, 128, 129, 300, 640])


@pytest.fixture(scope="module", autouse=True)
def small_chunks() -> Any:
    # So that a few accesses keep several threads busy.
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(chunks, "_CHUNK", 128)
        yield


def equal(one: Counts, other: Counts) -> None:
    for name in FIGURES:
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))


def many(rng: np.random.Generator, known: Any, n: int, below: int = SHARED_BYTES) -> Any:
    """Accesses of which some pair, some broadcast, some are spread."""
    units = rng.integers(0, 1 + (below - known.width) // known.width, (n, 32))
    kind = rng.integers(0, 4, (n, 1))
    units = np.where(kind == 1, units[:, np.arange(32) & ~1], units)
    units = np.where(kind == 2, units[:, np.arange(32) & ~2], units)
    return np.where(kind == 3, units[:, np.arange(32) % 5], units) * known.width


def masks(rng: np.random.Generator, n: int) -> Any:
    mask = rng.integers(0, 1 << 32, n) | rng.integers(0, 1 << 32, n)
    return np.where(rng.random(n) < 0.3, rng.choice([0, 1, ALL_LANES, 0x55555555], n), mask)


@given(
    instructions | own_instructions(),
    rules,
    sizes,
    st.integers(0, 2**32),
    st.integers(1, 4),
    st.booleans(),
)
def test_equals_the_other_engines(
    known: Any, rule: str, n: int, seed: int, threads: int, masked: bool
) -> None:
    rng = np.random.default_rng(seed)
    byte = many(rng, known, n)
    mask = masks(rng, n) if masked and not known.is_matrix else None
    fast = count(known, byte, mask, rule=rule, engine="numba", threads=threads)
    equal(fast, count(known, byte, mask, rule=rule, engine="numpy"))
    few = slice(0, 4)
    some = None if mask is None else mask[few]
    equal(fast[few], count(known, byte[few], some, rule=rule, engine="python"))


def test_every_instruction_of_ones_own_is_refused_or_counted_alike() -> None:
    rng = np.random.default_rng(4)
    counted = 0
    for lanes, width, phases, merges, fuses in product(
        (8, 16, 32), (1, 2, 4, 8, 16), (0, 1, 2, 4), (False, True), (False, True)
    ):
        try:
            own = Instruction("OWN", width, phases, lanes, fuses=fuses, merges=merges)
        except InstructionError:
            continue
        counted += 1
        byte = np.concatenate([many(rng, own, 40), many(rng, own, 40, 256)])
        byte[::9] = own.width * (np.arange(32) // 2)
        byte[::8] = 4 * (np.arange(32) // 2) // own.width * own.width + np.arange(32) % 2
        byte -= byte % own.width
        mask = masks(rng, len(byte))
        for rule in RULES:
            pure = count(own, byte, mask, rule=rule, engine="python")
            for engine in ("numpy", "numba"):
                equal(count(own, byte, mask, rule=rule, engine=engine), pure)
    assert counted == 102


@given(
    of("LDS", "ATOMS.ADD", "LDSM.16.M88.2"),
    st.sampled_from(["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", ">i4", ">u2"]),
    st.sampled_from(["rows", "columns", "reversed", "fortran", "broadcast", "deep", "frozen"]),
    st.integers(0, 2**32),
    st.booleans(),
)
def test_any_type_and_any_strides(
    known: Any, kind: str, strides: str, seed: int, masked: bool
) -> None:
    rng = np.random.default_rng(seed)
    below = min(SHARED_BYTES, int(np.iinfo(np.dtype(kind)).max))
    byte = many(rng, known, 260, below).astype(kind)
    views = {
        "rows": byte[::2],
        "columns": np.repeat(byte, 2, axis=1)[:, ::2],
        "reversed": byte[::-1, ::-1],
        "fortran": np.asfortranarray(byte),
        "broadcast": np.broadcast_to(byte[0], byte.shape),
        "deep": byte.reshape(2, 13, 10, 32).transpose(1, 0, 2, 3),
        "frozen": byte.copy(),
    }
    views["frozen"].flags.writeable = False
    view = views[strides]
    assert view.dtype == np.dtype(kind)
    mask = None
    if masked and not known.is_matrix:
        mask = masks(rng, view.size // 32).reshape(view.shape[:-1])[..., ::-1]
    fast = count(known, view, mask, engine="numba")
    equal(fast, count(known, np.array(view, dtype=np.int64), mask, engine="numpy"))
    assert fast.wavefronts.shape == view.shape[:-1]


@given(instructions, st.data(), st.integers(1, 3))
def test_the_first_bad_lane_is_named(known: Any, data: st.DataObject, threads: int) -> None:
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    kind = data.draw(st.sampled_from(["i2", "i4", "u4", "i8", "u8"]))
    n = data.draw(sizes)
    byte = many(rng, known, n, min(SHARED_BYTES, 2**15 - 1)).astype(kind)
    mask = None if known.is_matrix else masks(rng, n)
    bad = [known.width // 2 or -1, -1, -known.width, 32766 // known.width * known.width + 1]
    bad += [SHARED_BYTES, 2**31 - known.width, 2**32 - known.width, 2**32, 2**63 - 16, 2**63]
    limits = np.iinfo(kind)
    bad = [value for value in bad if limits.min <= value <= limits.max]
    for _ in range(data.draw(st.integers(1, 3))):
        byte[rng.integers(n), rng.integers(32)] = data.draw(st.sampled_from(bad))
    said = []
    for engine in ("numpy", "numba"):
        try:
            said.append(str(count(known, byte, mask, engine=engine, threads=threads).totals()))
        except AddressError as error:
            said.append(str(error))
    assert said[0] == said[1]


@pytest.mark.parametrize("op", ["LDS", "LDS.128"])
@pytest.mark.parametrize("kind", ["i2", "i4", "i8", "u8"])
@pytest.mark.parametrize("mask", [None, 0xFFFF, "each"])
@pytest.mark.parametrize("bad", [False, True])
def test_at_most_64_bytes_an_access(op: str, kind: str, mask: Any, bad: bool) -> None:
    n = 1 << 17
    byte = np.zeros((n, 32), dtype=kind)
    byte[-1, 0] = bad
    mask = np.full(n, 0xFFFF) if mask == "each" else mask
    count(op, byte[:999], mask if mask is None else 1, engine="numba", threads=2)  # compile
    tracemalloc.start()
    try:
        count(op, byte, mask, engine="numba", threads=2)
        assert not bad
    except AddressError:
        assert bad
    finally:
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    assert 6 * n <= peak <= 64 * n  # a byte for each figure


@pytest.mark.parametrize("kind", [">i4", ">i8", "<i8"])
@pytest.mark.parametrize("bad", [False, True])
def test_at_most_64_bytes_an_access_in_any_order(kind: str, bad: bool) -> None:
    """Transposed, or with the first byte first, addresses are brought in order by chunks."""
    n = 1 << 18
    byte = np.arange(n * 32).reshape(64, n // 64, 32) % 1024 * 4
    byte = byte.astype(kind)
    turned = byte.transpose(1, 0, 2)
    count("LDS", turned[:9], engine="numba", threads=2)  # compile
    byte[-1, -1, 3] += 2 * bad
    tracemalloc.start()
    try:
        counts = count("LDS", turned, engine="numba", threads=2)
        assert not bad
        assert counts.wavefronts.shape == (n // 64, 64)
    except AddressError:
        assert bad
    finally:
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    assert 6 * n <= peak <= 64 * n


@pytest.mark.parametrize("engine", ["python", "numpy", "numba"])
def test_rows_of_any_order(engine: str) -> None:
    rng = np.random.default_rng(9)
    byte = many(rng, instruction("LDS"), 60).reshape(3, 4, 5, 32)
    masks = rng.integers(0, 1 << 32, (3, 4, 5))
    equal(count("LDS", byte, masks, engine=engine), count("LDS", byte.astype(">i8"), masks))
    for axes in ((1, 0, 2), (2, 1, 0), (2, 0, 1)):
        turned = count("LDS", byte.transpose(*axes, 3), masks.transpose(axes), engine=engine)
        equal(turned, count("LDS", byte.transpose(*axes, 3).copy(), masks.transpose(axes)))
    equal(count("LDS", byte[:, ::-2], engine=engine), count("LDS", byte)[:, ::-2])
    byte[1, 2, 3, 4] += 2
    with pytest.raises(AddressError, match="lane 4 of access 3, 1, 2 is misaligned"):
        count("LDS", byte.transpose(2, 0, 1, 3), engine=engine)


def test_every_instruction_in_every_block_position() -> None:
    # One access that differs, moved through all places of three blocks.
    for known in INSTRUCTIONS.values():
        byte = np.zeros((300, 32), dtype=np.int32)
        byte[np.arange(300), np.arange(300) % known.lanes] = 128 * known.width
        plain = count(known, byte, engine="numba")
        equal(plain, count(known, byte, engine="numpy"))
    worst = count(instruction("LDS"), byte, engine="numba").wavefronts
    assert set(worst.tolist()) <= {1, 2}


@given(learnt_instructions(), rules, sizes, st.integers(0, 1 << 30))
def test_learnt_phases_count_alike_in_blocks_of_any_size(
    known: Instruction, rule: str, n: int, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    byte, mask = many(rng, known, n, known.shared_bytes), masks(rng, n)
    some = count(known, byte, mask, rule=rule, engine="numpy")
    equal(some, count(known, byte, mask, rule=rule, engine="numba"))


@given(learnt_instructions(), rules, st.integers(0, 1 << 30), st.booleans())
def test_layouts_of_learnt_phases_are_expanded(
    known: Instruction, rule: str, seed: int, affine: bool
) -> None:
    unit = max(known.width, 4)
    columns = np.random.default_rng(seed).integers(0, 64, (20, 5)) * unit
    closed = count_affine if affine else count_linear
    expected = count(known, lane_addresses(columns, affine=affine), rule=rule, engine="python")
    for engine in ("numpy", "numba"):
        equal(closed(known, columns, rule=rule, engine=engine), expected)
