"""`count_stream` and `totals`: files and generators, chunk after chunk."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from simulator import AddressError, MaskError, OptionError, count, count_stream, totals

RANDOM = np.random.default_rng(5).integers(0, 58112, (1000, 32)) * 4
MASKS = np.random.default_rng(6).integers(0, 1 << 32, 1000)


@pytest.mark.parametrize("chunk", [1, 300, 1000, 5000])
@pytest.mark.parametrize("mask", [None, 0xFF, MASKS, MASKS.tolist()])
def test_a_memory_mapped_file_in_chunks(tmp_path: Path, chunk: int, mask: Any) -> None:
    np.save(tmp_path / "accesses.npy", RANDOM.astype(np.int32))
    file = np.load(tmp_path / "accesses.npy", mmap_mode="r")
    whole = count("LDS", RANDOM, mask)
    parts = list(count_stream("LDS", file, mask, chunk=chunk))
    assert len(parts) == -(-1000 // chunk)
    np.testing.assert_array_equal(np.concatenate([part.cycles for part in parts]), whole.cycles)
    assert totals(parts) == whole.totals()


def test_chunks_of_a_generator_are_taken_one_at_a_time() -> None:
    taken = []

    def chunks() -> Iterator[Any]:
        for start in range(0, 1000, 250):
            taken.append(start)
            yield RANDOM[start : start + 250]

    counted = count_stream("LDS", chunks(), iter([None, 1, MASKS[500:750], 0]))
    assert taken == []
    np.testing.assert_array_equal(next(counted).cycles, count("LDS", RANDOM[:250]).cycles)
    assert taken == [0]
    rest = list(counted)
    assert set(rest[0].wavefronts.tolist()) == {1}
    masked = count("LDS", RANDOM[500:750], MASKS[500:750])
    np.testing.assert_array_equal(rest[1].cycles, masked.cycles)
    assert not rest[2].cycles.any()


def test_one_mask_of_no_dimension_serves_all_chunks() -> None:
    one = np.array(0xFF)
    for addresses in (RANDOM, [RANDOM[:400], RANDOM[400:]]):
        assert totals(count_stream("LDS", addresses, one)) == count("LDS", RANDOM, 0xFF).totals()


@pytest.mark.parametrize("odd", [None, 5, 2.5, object()])
def test_what_is_no_iterable_is_refused(odd: Any) -> None:
    with pytest.raises(AddressError, match=r"addresses .* cannot be iterated over \(accepted: an"):
        list(count_stream("LDS", odd))


@pytest.mark.parametrize("odd", [True, 2.5, object()])
def test_masks_that_are_no_iterable_are_refused(odd: Any) -> None:
    with pytest.raises(MaskError, match=r"masks .* cannot be iterated over \(accepted: None, one"):
        list(count_stream("LDS", [RANDOM], odd))


@pytest.mark.parametrize("engine", ["auto", "python", "numpy", "numba"])
def test_every_engine_and_rule(engine: str) -> None:
    pairs = [[16 * (lane // 2) for lane in range(32)]]
    for rule, wavefronts in (("silicon", 2), ("documented", 4)):
        sums = totals(count_stream("LDS.128", [pairs, pairs], rule=rule, engine=engine))
        assert sums["wavefronts"] == 2 * wavefronts
        assert sums["requests"] == 2


def test_no_chunks_cost_nothing() -> None:
    assert totals(count_stream("LDS", [])) == {
        "requests": 0, "wavefronts": 0, "ideal": 0, "excessive": 0, "bank_conflicts": 0,
        "cycles": 0, "n_way": 0.0,
    }  # fmt: skip


def test_refusals_name_the_chunk() -> None:
    bad = RANDOM.copy()
    bad[700, 3] = 2
    counted = count_stream("LDS", bad, chunk=300)
    assert len(next(counted).cycles) == len(next(counted).cycles) == 300
    with pytest.raises(AddressError, match=r"chunk 2: address 2 of lane 3 of access 100 is misal"):
        next(counted)
    with pytest.raises(MaskError, match=r"masks end before chunk 1 of addresses"):
        list(count_stream("LDS", [RANDOM, RANDOM], [1]))
    with pytest.raises(MaskError, match=r"masks have shape \(3,\) for addresses of shape \(1000, "):
        list(count_stream("LDS", RANDOM, [1, 2, 3]))
    with pytest.raises(
        AddressError, match=r"have shape \(32,\) \(accepted: an array \(n, 32\), or"
    ):
        list(count_stream("LDS", RANDOM[0]))
    with pytest.raises(
        OptionError, match=r"chunk 0 is not a size \(accepted: a positive integer\)"
    ):
        list(count_stream("LDS", RANDOM, chunk=0))
    with pytest.raises(OptionError, match=r"threads 0 \(accepted"):
        list(count_stream("LDS", RANDOM, threads=0))
