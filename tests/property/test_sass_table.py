"""Rows of the table of opcodes against plain Python: what few kernels use, and all roundings."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from tests.examples import examples
from tests.sass_warp import LANES, run_warp

seeds = st.integers(0, 2**32 - 1)

_EDGES = np.array(
    [0, 1, 2, 31, 32, 0x80, 0xFF, 0x7FFF, 0x8000, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF,
     0x3F800000, 0xFF800000, 0x7FC00000, 0x477FF000, 0x38800000, 0x4F000000, 0xCF000000],
    dtype=np.uint32,
)  # fmt: skip


def words(seed: int, count: int) -> NDArray[np.uint32]:
    """Draw registers: some are edges, the others anything."""
    random = np.random.default_rng(seed)
    found = random.integers(0, 2**32, (count, LANES), dtype=np.uint32)
    edges = random.random((count, LANES)) < 0.3
    found[edges] = random.choice(_EDGES, edges.sum())
    return found


def run(lines: list[str], rows: NDArray[np.uint32], **more: Any) -> Any:
    return run_warp(lines, {f"R{n}": row for n, row in enumerate(rows)} | more)


def signed(value: int, bits: int = 32) -> int:
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) else value


# ---- Integers. ---------------------------------------------------------------------------------
def _idp(a: int, b: int, c: int) -> int:
    left, right = a.to_bytes(4, "little"), b.to_bytes(4, "little")
    return c + sum(signed(x, 8) * y for x, y in zip(left, right, strict=True))


def _by_halves(law: Callable[..., int], *words: int, bits: int = 16) -> int:
    """Apply a law to the low halves of words and to the high ones, with a sign where bits is 16."""
    found = 0
    for shift in (0, 16):
        parts = [word >> shift & 0xFFFF for word in words]
        found |= (law(*(signed(each, 16) if bits else each for each in parts)) & 0xFFFF) << shift
    return found


def _apart(a: int, b: int) -> bytes:
    pairs = zip(a.to_bytes(4, "little"), b.to_bytes(4, "little"), strict=True)
    return bytes(abs(x - y) for x, y in pairs)


def _run_of_ones(a: int, b: int) -> int:
    return ((1 << min(b, 32)) - 1) << a if a < 32 else 0


INTEGERS: dict[str, Callable[[int, int, int], int]] = {
    "VIADDMNMX {}, R0, R1, R2, PT": lambda a, b, c: min(signed(a + b), signed(c)),
    "VIADDMNMX.U32 {}, R0, R1, R2, !PT": lambda a, b, c: max((a + b) % 2**32, c),
    "VIMNMX3 {}, R0, R1, R2, PT": lambda a, b, c: min(map(signed, (a, b, c))),
    "VIMNMX3.U32 {}, R0, R1, R2, !PT": lambda a, b, c: max(a, b, c),
    "VIMNMX.U32 {}, R0, R1, PT": lambda a, b, c: min(a, b),
    "VIMNMX.RELU {}, R0, R1, PT": lambda a, b, c: max(min(signed(a), signed(b)), 0),
    "VIMNMX.S16x2 {}, R0, R1, !PT": lambda a, b, c: _by_halves(max, a, b),
    "VIMNMX.U16x2 {}, R0, R1, PT": lambda a, b, c: _by_halves(min, a, b, bits=0),
    "VIMNMX3.S16x2.RELU {}, R0, R1, R2, PT": lambda a, b, c: _by_halves(
        lambda f, g, h: max(min(f, g, h), 0), a, b, c
    ),
    "VIADDMNMX.S16x2.RELU {}, R0, R1, R2, !PT": lambda a, b, c: _by_halves(
        lambda f, g, h: max(signed(f + g, 16), h, 0), a, b, c
    ),
    "VIADDMNMX.U16x2 {}, R0, R1, R2, PT": lambda a, b, c: _by_halves(
        lambda f, g, h: min((f + g) % 2**16, h), a, b, c, bits=0
    ),
    "VABSDIFF4.U8 {}, R0, R1, RZ": lambda a, b, c: int.from_bytes(_apart(a, b), "little"),
    "VABSDIFF4.U8.ACC {}, R0, R1, R2": lambda a, b, c: sum(_apart(a, b)) + c,
    "VABSDIFF {}, R0, R1, R2": lambda a, b, c: abs(signed(a) - signed(b)) + c,
    "VABSDIFF.U32 {}, R0, R1, R2": lambda a, b, c: abs(a - b) + c,
    "IDP.4A.S8.U8 {}, R0, R1, R2": _idp,
    "BMSK {}, R0, R1": lambda a, b, c: _run_of_ones(a, b),
    "BMSK.W {}, R0, R1": lambda a, b, c: _run_of_ones(a % 32, b % 32),
    "SGXT.W {}, R0, R1": lambda a, b, c: signed(a, b % 32) if b % 32 else 0,
    "SGXT.U32 {}, R0, R1": lambda a, b, c: a & ((1 << min(b, 32)) - 1),
    "FLO {}, R0": lambda a, b, c: max(signed(a), ~signed(a)).bit_length() - 1,
    "FLO.U32.SH {}, R0": lambda a, b, c: 32 - a.bit_length() if a else -1,
    "POPC {}, ~R0": lambda a, b, c: 32 - a.bit_count(),
    "PRMT {}, R0, R1, R2": lambda a, b, c: _permuted(a, b, c),
    "I2I.S8.S32 {}, R0": lambda a, b, c: max(-128, min(signed(a), 127)),
    "I2I.U16.U32 {}, R0": lambda a, b, c: min(a, 65535),
    "I2IP.S8.S32.SAT {}, R0, R1, R2": lambda a, b, c: _packed(a, b, -128, 127, 8) | c << 16,
    "I2IP.U8.S32.SAT {}, R0, R1, R2": lambda a, b, c: _packed(a, b, 0, 255, 8) | c << 16,
    "I2IP.S16.S32.SAT {}, R0, R1, RZ": lambda a, b, c: _packed(a, b, -(2**15), 2**15 - 1, 16),
    "I2IP.U16.S32.SAT {}, R0, R1, RZ": lambda a, b, c: _packed(a, b, 0, 65535, 16),
}


def _packed(a: int, b: int, least: int, most: int, bits: int) -> int:
    """As PTX describes cvt.pack.sat: the first operand above the second."""
    high, low = (max(least, min(signed(x), most)) % (1 << bits) for x in (a, b))
    return high << bits | low


def _permuted(a: int, chosen: int, c: int) -> int:
    data = (c << 32 | a).to_bytes(8, "little")
    found = 0
    for byte in range(4):
        nibble = chosen >> 4 * byte & 15
        value = data[nibble & 7]
        found |= (value if nibble < 8 else 255 * (value >> 7)) << 8 * byte
    return found


@settings(max_examples=examples(20))
@given(seeds)
def test_integers(seed: int) -> None:
    rows = words(seed, 3)
    lines = [text.format(f"R{10 + n}") for n, text in enumerate(INTEGERS)]
    outcome = run(lines, rows)
    for n, (text, law) in enumerate(INTEGERS.items()):
        wanted = [law(*map(int, lane)) % 2**32 for lane in rows.T]
        assert outcome.register(10 + n) == wanted, text


@settings(max_examples=examples(20))
@given(seeds)
def test_predicates_as_bits(seed: int) -> None:
    rows = words(seed, 2)
    lines = ["R2P PR, R0.B1, 0x55", "P2R.B2 R2, PR, R1, 0x7f", "P2R R3, PR, RZ, 0x15"]
    outcome = run(lines, rows, P1=[1] * LANES)
    for lane, (a, b) in enumerate(rows.T.tolist()):
        held = a >> 8 & 0x55 | 2
        assert [outcome.predicate(n)[lane] for n in range(7)] == [held >> n & 1 for n in range(7)]
        assert outcome.register(2)[lane] == b & ~(0x7F << 16) | held << 16
        assert outcome.register(3)[lane] == held & 0x15


# ---- Conversions. ------------------------------------------------------------------------------
ROUNDS = {"": "even", ".RM": "down", ".RP": "up", ".RZ": "zero"}
DIGITS = {np.float16: (11, -24), np.float32: (24, -149), np.float64: (53, -1074)}


def nearest(exact: Fraction, how: str, digits: int, least: int) -> Fraction:
    """Round to so many binary digits, the last of which is 2**least or more."""
    if not exact:
        return exact
    size = abs(exact)
    highest = size.numerator.bit_length() - size.denominator.bit_length()
    highest -= size < Fraction(2) ** highest
    place = max(highest + 1 - digits, least)
    units = exact / Fraction(2) ** place
    whole = {
        "even": round, "down": math.floor, "up": math.ceil, "zero": math.trunc,
    }[how](units)  # fmt: skip
    return whole * Fraction(2) ** place


def _integers(rows: NDArray[np.uint32], kind: str) -> list[int]:
    low, high = rows[0].astype(object), rows[1].astype(object)
    values = low + (high << 32) if kind.endswith("64") else low % 2 ** int(kind[1:])
    return [signed(v, int(kind[1:])) if kind[0] == "S" else v for v in values.tolist()]


@pytest.mark.parametrize("how", ROUNDS)
@settings(max_examples=examples(10))
@given(seeds)
def test_integers_become_floats(how: str, seed: int) -> None:
    rows = words(seed, 2)
    rows[1, ::3] = [0, 1, 0xFFFFFFFF, 0x7FFFFFFF] * 2 + [0x80000000, 0x20, 0xFFF]
    kinds = ("S8", "U16", "S32", "U32", "S64", "U64")
    lines = [f"I2F.{kind}{how} R{4 + n}, R0" for n, kind in enumerate(kinds)]
    lines += [f"I2F.F64.{kind}{how} R{10 + 2 * n}, R0" for n, kind in enumerate(kinds)]
    outcome = run(lines, rows)
    for n, kind in enumerate(kinds):
        single = outcome.read(f"R{4 + n}").view(np.float32)
        pair = [outcome.read(f"R{10 + 2 * n + part}").astype(np.uint64) for part in range(2)]
        double = (pair[0] | pair[1] << np.uint64(32)).view(np.float64)
        for lane, value in enumerate(_integers(rows, kind)):
            for found, element in ((single, np.float32), (double, np.float64)):
                wanted = nearest(Fraction(value), ROUNDS[how], *DIGITS[element])
                assert Fraction(float(found[lane])) == wanted, (kind, value, element)


@pytest.mark.parametrize("how", ROUNDS)
@settings(max_examples=examples(10))
@given(seeds)
def test_floats_become_halves(how: str, seed: int) -> None:
    random = np.random.default_rng(seed)
    x = (random.normal(size=LANES) * 2.0 ** random.integers(-26, 14, LANES)).astype(np.float32)
    outcome = run([f"F2F.F16.F32{how} R2, R0", f"F2F.BF16.F32{how} R3, R0"],
                  x[None].view(np.uint32))  # fmt: skip
    halves = outcome.read("R2").astype(np.uint16).view(np.float16)
    shorts = (outcome.read("R3") << np.uint32(16)).view(np.float32)
    for lane, value in enumerate(x.tolist()):
        exact = Fraction(value)
        assert Fraction(float(halves[lane])) == nearest(exact, ROUNDS[how], 11, -24)
        assert Fraction(float(shorts[lane])) == nearest(exact, ROUNDS[how], 8, -133)


WHOLE = {"": round, ".FLOOR": math.floor, ".CEIL": math.ceil, ".TRUNC": math.trunc}


@pytest.mark.parametrize("how", WHOLE)
@settings(max_examples=examples(10))
@given(seeds)
def test_floats_become_integers(how: str, seed: int) -> None:
    rows = words(seed, 1)
    kinds = ("S8", "U8", "S16", "U16", "S32", "U32", "S64", "U64")
    lines = [f"F2I.{kind}{how}.NTZ R{2 + 2 * n}, R0" for n, kind in enumerate(kinds)]
    outcome = run([*lines, f"FRND{how} R20, R0"], rows)
    whole = outcome.read("R20").view(np.float32).tolist()
    for lane, value in enumerate(rows[0].view(np.float32).tolist()):
        if math.isfinite(value):
            assert whole[lane] == WHOLE[how](value)
        for n, kind in enumerate(kinds):
            bits = int(kind[1:])
            least = -(1 << bits - 1) if kind[0] == "S" else 0
            most = least + (1 << bits) - 1
            wanted = (most if value > 0 else least) if math.isinf(value) else None
            if math.isnan(value):
                wanted = 1 << 63 if bits == 64 else 0
            if wanted is None:
                wanted = max(least, min(WHOLE[how](value), most))
            found = outcome.register(2 + 2 * n)[lane]
            if bits == 64:
                found |= outcome.register(3 + 2 * n)[lane] << 32
            assert found == wanted % 2 ** max(bits, 32), (kind, value)


@settings(max_examples=examples(20))
@given(seeds)
def test_tf32_has_ten_digits(seed: int) -> None:
    rows = words(seed, 1)
    found = run(["F2F.TF32.F32 R1, R0"], rows).read("R1").view(np.float32)
    for given_, made in zip(rows[0].view(np.float32).tolist(), found.tolist(), strict=True):
        if math.isnan(given_):
            assert math.isnan(made)
        elif abs(given_) < 3e38:
            assert abs(made - given_) <= max(abs(given_) * 2.0**-11, 2.0**-137)


# ---- Doubles. ----------------------------------------------------------------------------------
@settings(max_examples=examples(20))
@given(seeds)
def test_dfma_rounds_once(seed: int) -> None:
    x = np.random.default_rng(seed).normal(size=(3, LANES))
    rows = x.view(np.uint32).reshape(3, LANES, 2).transpose(0, 2, 1).reshape(6, LANES)
    outcome = run(["DFMA R10, R0, R2, R4", "DADD R12, R0, -R2", "DMUL R14, R0, |R2|"],
                  rows)  # fmt: skip
    pairs = [outcome.read(f"R{10 + n}").astype(np.uint64) for n in range(6)]
    found = [
        (low | high << np.uint64(32)).view(np.float64).tolist()
        for low, high in zip(pairs[::2], pairs[1::2], strict=True)
    ]
    for lane, (a, b, c) in enumerate(x.T.tolist()):
        wanted = [float(Fraction(a) * Fraction(b) + Fraction(c)), a - b, a * abs(b)]
        assert [values[lane] for values in found] == wanted


# ---- Special registers. -------------------------------------------------------------------------
MASKS: dict[str, Callable[[int], int]] = {
    "SR_LANEID": lambda lane: lane, "SR_TID.X": lambda lane: lane, "SR_TID.Y": lambda lane: 0,
    "SR_CTAID.X": lambda lane: 0, "SRZ": lambda lane: 0,
    "SR_EQMASK": lambda lane: 1 << lane, "SR_LTMASK": lambda lane: (1 << lane) - 1,
    "SR_LEMASK": lambda lane: (2 << lane) - 1, "SR_GTMASK": lambda lane: -(2 << lane),
    "SR_GEMASK": lambda lane: -(1 << lane),
}  # fmt: skip


def test_special_registers() -> None:
    lines = [f"S2R R{n}, {name}" for n, name in enumerate(MASKS)]
    lines += ["CS2R R20, SRZ", "@P0 S2UR UR4, SR_TID.X"]
    lines += ["CS2UR UR6, SR_CLOCKLO", "CS2R.32 R22, SR_CLOCKHI", "CS2R.32 R23, SR_CLOCKLO"]
    chosen = [int(lane in (5, 9)) for lane in range(LANES)]
    outcome = run_warp(lines, {"R20": [7] * LANES, "R21": [7] * LANES, "P0": chosen})
    for n, law in enumerate(MASKS.values()):
        assert outcome.register(n) == [law(lane) % 2**32 for lane in range(LANES)], lines[n]
    assert outcome.register(20) == outcome.register(21) == [0] * LANES
    assert outcome.uniform(4)[0] == 5
    assert outcome.uniform(6)[0] > 0 == outcome.uniform(7)[0] == outcome.register(22)[0]
    assert outcome.register(23)[0] > outcome.uniform(6)[0]


# ---- Lanes. ------------------------------------------------------------------------------------
@settings(max_examples=examples(20))
@given(st.lists(st.booleans(), min_size=LANES, max_size=LANES))
def test_lanes_of_each_way_vote_for_themselves(goes: list[bool]) -> None:
    """As `atomicAdd(p, 1)` in a branch does, which the compiler gathers: only its lanes count."""
    lines = [
        "BSSY B0, 0xa0", "@P0 BRA 0x60", "VOTEU.ANY UR4, UPT, PT", "UPOPC UR5, UR4",
        "IMAD.U32 R1, RZ, RZ, UR4", "BRA 0x90", "VOTEU.ANY UR4, UPT, PT", "UPOPC UR5, UR4",
        "IMAD.U32 R1, RZ, RZ, UR4", "BSYNC B0",
    ]  # fmt: skip
    outcome = run_warp(lines, {"P0": goes})
    yes = sum(1 << lane for lane, each in enumerate(goes) if each)
    for lane, each in enumerate(goes):
        assert outcome.register(1)[lane] == (yes if each else ~yes & 0xFFFFFFFF)


@settings(max_examples=examples(20))
@given(st.lists(st.booleans(), min_size=LANES, max_size=LANES))
def test_elect_leaves_the_others_alone(chosen: list[bool]) -> None:
    outcome = run_warp(["@!P1 EXIT", "ELECT P0, UR4, PT"], {"P0": [1] * LANES, "P1": chosen})
    lanes = [lane for lane, each in enumerate(chosen) if each]
    first = lanes[0] if lanes else -1
    wanted = [int(not each or lane == first) for lane, each in enumerate(chosen)]
    assert outcome.predicate(0) == wanted
    if lanes:
        assert outcome.uniform(4)[0] == first


REDUCTIONS: dict[str, Callable[[list[int]], int]] = {
    "SUM": sum, "MIN": min, "MAX": max, "MIN.S32": lambda v: min(map(signed, v)),
    "MAX.S32": lambda v: max(map(signed, v)), "OR": lambda v: int(np.bitwise_or.reduce(v)),
    "XOR": lambda v: int(np.bitwise_xor.reduce(v)), "AND": lambda v: int(np.bitwise_and.reduce(v)),
}  # fmt: skip


@settings(max_examples=examples(20))
@given(seeds, st.integers(1, 2**32 - 1))
def test_reductions_and_matches(seed: int, mask: int) -> None:
    rows = words(seed, 4)
    rows[2:] = np.random.default_rng(seed).integers(0, 2, (2, LANES))
    lanes = [lane for lane in range(LANES) if mask >> lane & 1]
    lines = [f"@P0 REDUX.{how} UR{n}, R0" for n, how in enumerate(REDUCTIONS)]
    lines += ["@P0 MATCH.ANY.U64 R5, R2", "@P0 MATCH.ALL P1, R6, R2"]
    outcome = run(lines, rows, P0=[mask >> lane & 1 for lane in range(LANES)])
    values = [int(rows[0, lane]) for lane in lanes]
    for n, law in enumerate(REDUCTIONS.values()):
        assert outcome.uniform(n)[0] == law(values) % 2**32
    whole = len({int(rows[2, lane]) for lane in lanes}) == 1
    for lane in lanes:
        same = [o for o in lanes if (rows[2:, o] == rows[2:, lane]).all()]
        assert outcome.register(5)[lane] == sum(1 << o for o in same)
        assert outcome.register(6)[lane] == (mask if whole else 0)
        assert outcome.predicate(1)[lane] == whole


# ---- Tensor cores: small whole numbers, whose sums are exact in any order. -----------------------
def _fragments(matrix: NDArray[Any], each: int) -> NDArray[np.uint32]:
    """Return the registers of rows g and g + 8, … of a matrix whose words hold `each` elements."""
    words_ = np.ascontiguousarray(matrix).view(np.uint32)  # rows × k / each
    found = []
    for part in range(words_.shape[1] // 4):
        found += [
            [words_[top + lane // 4, 4 * part + lane % 4] for lane in range(LANES)]
            for top in range(0, len(matrix), 8)
        ]
    return np.array(found, dtype=np.uint32)


def _sums(outcome: Any, first: int, kind: type) -> NDArray[Any]:
    found = np.zeros((16, 8), dtype=kind)
    for n in range(4):
        values = outcome.read(f"R{first + n}").view(kind)
        for lane in range(LANES):
            found[lane // 4 + 8 * (n // 2), 2 * (lane % 4) + n % 2] = values[lane]
    return found


@pytest.mark.parametrize("opcode", ["16816.F32", "1688.F32", "16816.F16", "1688.F32.TF32"])
@settings(max_examples=examples(8))
@given(seeds)
def test_hmma_multiplies(opcode: str, seed: int) -> None:
    random = np.random.default_rng(seed)
    k, kind = (16 if "16816" in opcode else 8), np.float32 if "TF32" in opcode else np.float16
    a, b = random.integers(-8, 9, (16, k)).astype(kind), random.integers(-8, 9, (8, k)).astype(kind)
    each = 4 // a.itemsize
    rows = np.zeros((12, LANES), dtype=np.uint32)
    for start, matrix in ((0, a), (4, b)):
        fragments = _fragments(matrix, each)
        rows[start : start + len(fragments)] = fragments
    outcome = run([f"HMMA.{opcode} R20, R0, R4, RZ"], rows)
    wanted = a.astype(np.float64) @ b.T.astype(np.float64)
    if "F32" in opcode:
        assert (_sums(outcome, 20, np.float32) == wanted).all()
        return
    for below in range(2):
        pairs = np.ascontiguousarray(outcome.read(f"R{20 + below}")).view(np.float16)
        assert (pairs.reshape(8, 8) == wanted[8 * below : 8 * below + 8]).all()


@settings(max_examples=examples(8))
@given(seeds)
def test_imma_and_movm(seed: int) -> None:
    random = np.random.default_rng(seed)
    a = random.integers(0, 256, (16, 32)).astype(np.uint8)
    b = random.integers(-128, 128, (8, 32)).astype(np.int8)
    rows = np.concatenate([_fragments(a, 4), _fragments(b, 4), words(seed, 1)])
    outcome = run(["IMMA.16832.U8.S8 R20, R0.ROW, R4.COL, RZ", "MOVM.16.MT88 R24, R6"],
                  rows)  # fmt: skip
    assert (_sums(outcome, 20, np.int32) == a.astype(int) @ b.T.astype(int)).all()
    tile = rows[6].copy().view(np.uint16).reshape(8, 8)
    assert (outcome.read("R24").view(np.uint16).reshape(8, 8) == tile.T).all()
