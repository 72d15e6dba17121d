"""Loads, stores and atomics of one warp against a plain array of bytes."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simulator.sass.architectures import ARCHITECTURES
from tests.examples import examples
from tests.sass_warp import LANES, run_warp

START = ARCHITECTURES[90].shared_start
SIZE = 4096
seeds = st.integers(0, 2**32 - 1)

WIDTHS = {".U8": 1, ".S8": 1, ".U16": 2, ".S16": 2, "": 4, ".64": 8, ".128": 16}


@pytest.mark.parametrize("memory", ["S", "L"])
@settings(max_examples=examples(20))
@given(seeds, st.sampled_from(sorted(WIDTHS)), st.sampled_from(sorted(WIDTHS)), st.booleans())
def test_what_is_stored_is_loaded(
    memory: str, seed: int, stored: str, loaded: str, some: bool
) -> None:
    """Of every width, under any mask; lanes have places of their own, in any order."""
    random = np.random.default_rng(seed)
    words = random.integers(0, 2**32, (4, LANES), dtype=np.uint32)
    lanes = random.permutation(LANES)
    shared = memory == "S"
    stores = (START + 16 * lanes) if shared else 16 * (lanes % 8)
    wide = WIDTHS[loaded]
    pieces = SIZE // 8 if shared else 128
    loads = random.integers(0, pieces // wide, LANES) * wide
    mask = random.random(LANES) < 0.5 if some else np.ones(LANES, bool)
    outcome = run_warp(
        [f"@P0 ST{memory}{stored} [R1], R4", f"@!P1 LD{memory}{loaded} R8, [R2]"],
        {"R1": stores, "R2": loads + (START if shared else 0), "P0": mask, "P1": [0] * LANES}
        | {f"R{4 + n}": row for n, row in enumerate(words)},
    )
    held = [bytearray(SIZE) for _ in range(1 if shared else LANES)]
    width = WIDTHS[stored]
    for lane in range(LANES):
        if mask[lane]:
            data = words[:, lane].astype("<u4").tobytes()[:width]
            place = int(stores[lane]) - (START if shared else 0)
            held[0 if shared else lane][place : place + width] = data
    for lane in range(LANES):
        memory_of = held[0 if shared else lane]
        place = int(loads[lane])
        piece = bytes(memory_of[place : place + wide])
        if wide < 4:
            value = int.from_bytes(piece, "little", signed="S" in loaded)
            piece = (value % 2**32).to_bytes(4, "little")
        found = b"".join(
            outcome.register(8 + n)[lane].to_bytes(4, "little") for n in range(len(piece) // 4)
        )
        assert found == piece, (stored, loaded, lane)


def signed(value: int) -> int:
    return value - 2**32 if value >> 31 else value


ATOMICS: dict[str, Callable[[int, int], int]] = {
    "ADD": lambda old, new: old + new,
    "MIN": min,
    "MAX": max,
    "MIN.S32": lambda old, new: min(signed(old), signed(new)),
    "MAX.S32": lambda old, new: max(signed(old), signed(new)),
    "INC": lambda old, new: 0 if old >= new else old + 1,
    "DEC": lambda old, new: new if old == 0 or old > new else old - 1,
    "AND": lambda old, new: old & new,
    "OR": lambda old, new: old | new,
    "XOR": lambda old, new: old ^ new,
    "EXCH": lambda old, new: new,
    "POPC.INC.32": lambda old, new: old + 1,
}


@pytest.mark.parametrize("how", ATOMICS)
@settings(max_examples=examples(15))
@given(seeds)
def test_atomics_take_their_lanes_in_order(how: str, seed: int) -> None:
    random = np.random.default_rng(seed)
    places = random.integers(0, 8, LANES)
    before, values = random.integers(0, 2**32, (2, LANES), dtype=np.uint32)
    values[::3] = random.choice([0, 1, 2**31, 2**32 - 1], len(values[::3]))
    mask = random.random(LANES) < 0.8
    operand = "" if how.startswith("POPC") else ", R4"
    outcome = run_warp(
        ["STS [R1], R5", f"@P0 ATOMS.{how} R8, [R2]{operand}", "LDS R9, [R1]"],
        {"R1": START + 4 * np.arange(LANES), "R2": START + 4 * places, "R4": values, "R5": before,
         "R8": [7] * LANES, "P0": mask},
    )  # fmt: skip
    held, answers = before.tolist(), [7] * LANES
    for lane in range(LANES):
        if mask[lane]:
            answers[lane] = held[places[lane]]
            held[places[lane]] = ATOMICS[how](held[places[lane]], int(values[lane])) % 2**32
    assert outcome.register(9) == held
    assert outcome.register(8) == answers


@settings(max_examples=examples(20))
@given(seeds)
def test_compare_and_swap(seed: int) -> None:
    random = np.random.default_rng(seed)
    places = random.integers(0, 8, LANES)
    before, compared, values = random.integers(0, 3, (3, LANES))
    outcome = run_warp(
        ["STS [R1], R5", "ATOMS.CAS R8, [R2], R3, R4", "LDS R9, [R1]"],
        {"R1": START + 4 * np.arange(LANES), "R2": START + 4 * places, "R3": compared,
         "R4": values, "R5": before},
    )  # fmt: skip
    held, answers = before.tolist(), []
    for lane in range(LANES):
        answers.append(held[places[lane]])
        if answers[-1] == compared[lane]:
            held[places[lane]] = int(values[lane])
    assert outcome.register(9) == held
    assert outcome.register(8) == answers


@settings(max_examples=examples(15))
@given(seeds, st.sampled_from([1, 2, 4]), st.booleans())
def test_matrices(seed: int, count: int, transposed: bool) -> None:
    """LDSM and STSM: rows of 16 bytes, whose addresses eight lanes give for each matrix."""
    random = np.random.default_rng(seed)
    tile = random.integers(0, 2**16, (count, 8, 8), dtype=np.uint16)
    rows = random.permutation(64)[:LANES]
    how = "MT88" if transposed else "M88"
    suffix = f".{count}" if count > 1 else ""
    held = tile.transpose(0, 2, 1) if transposed else tile
    words = np.ascontiguousarray(held).view(np.uint32).reshape(count, LANES)
    outcome = run_warp(
        [f"STSM.16.{how}{suffix} [R1], R4", f"LDSM.16.{how}{suffix} R8, [R1]",
         f"LDSM.16.M88{suffix} R12, [R1]"],
        {"R1": START + 16 * rows} | {f"R{4 + n}": row for n, row in enumerate(words)},
    )  # fmt: skip
    plain = np.ascontiguousarray(tile).view(np.uint32).reshape(count, LANES)
    for n in range(count):
        assert outcome.register(8 + n) == words[n].tolist()
        assert outcome.register(12 + n) == plain[n].tolist()
