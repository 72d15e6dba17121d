"""Instructions against Python's integers and NumPy's floats."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.examples import examples
from tests.sass_warp import LANES, Outcome, run_warp

words = st.lists(
    st.one_of(st.integers(0, 2**32 - 1), st.sampled_from([0, 1, 2**31, 2**31 - 1, 2**32 - 1])),
    min_size=LANES, max_size=LANES,
)  # fmt: skip


def execute(lines: list[str], **registers: Any) -> Outcome:
    """Run lines in one warp, with registers R… and predicates P… set before."""
    return run_warp(lines, registers)


def register(outcome: Outcome, number: int) -> list[int]:
    return outcome.register(number)


def signed(value: int, bits: int = 32) -> int:
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) else value


def wide(low: list[int], high: list[int]) -> list[int]:
    return [(h << 32) | x for x, h in zip(low, high, strict=True)]


@settings(max_examples=examples(30))
@given(words, words, words, words)
def test_sums_of_64_bits_carry(a: list[int], b: list[int], c: list[int], d: list[int]) -> None:
    outcome = execute(
        ["IADD3 R10, P0, R0, R2, RZ", "IADD3.X R11, R1, R3, RZ, P0, !PT",
         "IADD3 R12, P1, R0, -R2, RZ", "IADD3.X R13, R1, ~R3, RZ, P1, !PT",
         "IMAD.WIDE.U32 R14, R0, R2, R0"],
        R0=a, R1=b, R2=c, R3=d,
    )  # fmt: skip
    x, y = wide(a, b), wide(c, d)
    for lane in range(LANES):
        total = wide(register(outcome, 10), register(outcome, 11))[lane]
        assert total == (x[lane] + y[lane]) % 2**64
        difference = wide(register(outcome, 12), register(outcome, 13))[lane]
        assert difference == (x[lane] - y[lane]) % 2**64
        product = wide(register(outcome, 14), register(outcome, 15))[lane]
        assert product == (a[lane] * c[lane] + x[lane]) % 2**64


@settings(max_examples=examples(30))
@given(words, words, words)
def test_products(a: list[int], b: list[int], c: list[int]) -> None:
    outcome = execute(
        ["IMAD R10, R0, R1, R2", "IMAD R11, R0, -0x7, R2", "IMAD.HI.U32 R12, R0, R1, RZ",
         "IMAD.HI R13, R0, R1, RZ", "IMAD.WIDE R14, R0, R1, RZ", "IMAD.IADD R16, R0, 0x1, -R1",
         "LEA R17, R0, R1, 0x5", "LEA.HI R18, R0, R1, R2, 0x5", "LEA.HI.SX32 R19, R0, R1, 0x1e"],
        R0=a, R1=b, R2=c,
    )  # fmt: skip
    for i in range(LANES):
        product = signed(a[i]) * signed(b[i])
        pair = (c[i] << 32) | a[i]
        wanted = {
            10: a[i] * b[i] + c[i], 11: -7 * a[i] + c[i], 12: a[i] * b[i] >> 32, 13: product >> 32,
            14: product, 15: product >> 32, 16: a[i] - b[i], 17: (a[i] << 5) + b[i],
            18: ((pair << 5) >> 32) + b[i], 19: (signed(a[i]) >> 2) + b[i],
        }  # fmt: skip
        for number, value in wanted.items():
            assert register(outcome, number)[i] == value % 2**32, number


@settings(max_examples=examples(30))
@given(words, words, st.integers(0, 40), st.integers(0, 255), words)
def test_shifts_and_logic(a: list[int], b: list[int], by: int, table: int, c: list[int]) -> None:
    outcome = execute(
        [f"SHF.L.U32 R10, R0, {by:#x}, RZ", f"SHF.R.U32.HI R11, RZ, {by:#x}, R0",
         f"SHF.R.S32.HI R12, RZ, {by:#x}, R0", f"SHF.L.U64.HI R13, R0, {by:#x}, R1",
         f"SHF.R.U64 R14, R0, {by:#x}, R1", f"SHF.L.W.U32.HI R15, R0, {by:#x}, R0",
         f"LOP3.LUT R16, R0, R1, R2, {table:#x}, !PT", "BREV R17, R0", "POPC R18, R0",
         "FLO.U32 R19, R0", "IABS R20, R0", f"LOP3.LUT P0, R21, R0, R1, R2, {table:#x}, !PT",
         f"SGXT R22, R0, {min(by, 32):#x}", "PRMT R23, R0, 0x3210, R1", "PRMT R24, R0, 0x9647, R1"],
        R0=a, R1=b, R2=c,
    )  # fmt: skip
    for i in range(LANES):
        pair = (b[i] << 32) | a[i]
        turn = by % 32
        logic = 0
        for bit in range(32):
            place = 4 * (a[i] >> bit & 1) + 2 * (b[i] >> bit & 1) + (c[i] >> bit & 1)
            logic |= (table >> place & 1) << bit
        kept = a[i] & ((1 << min(by, 32)) - 1)
        extended = signed(kept, by) if 0 < by < 32 else kept
        data = pair.to_bytes(8, "little")
        wanted = {
            10: 0 if by > 31 else a[i] << by, 11: 0 if by > 31 else a[i] >> by,
            12: signed(a[i]) >> min(by, 31), 13: (pair << by) >> 32, 14: pair >> by,
            15: (a[i] << turn) | (a[i] >> (32 - turn)), 16: logic,
            17: int(f"{a[i]:032b}"[::-1], 2), 18: a[i].bit_count(), 19: a[i].bit_length() - 1,
            20: abs(signed(a[i])), 21: logic, 22: extended, 23: a[i],
            24: data[7] | data[4] << 8 | data[6] << 16 | (0xFF if data[1] & 0x80 else 0) << 24,
        }  # fmt: skip
        for number, value in wanted.items():
            assert register(outcome, number)[i] == value % 2**32, number
        assert outcome.predicate(0)[i] == (logic != 0)


COMPARE = {
    "LT": lambda x, y: x < y, "LE": lambda x, y: x <= y, "GT": lambda x, y: x > y,
    "GE": lambda x, y: x >= y, "EQ": lambda x, y: x == y, "NE": lambda x, y: x != y,
}  # fmt: skip


@settings(max_examples=examples(40))
@given(words, words, words, words, st.sampled_from(sorted(COMPARE)), st.booleans())
def test_comparisons_of_64_bits(
    a: list[int], b: list[int], c: list[int], d: list[int], how: str, unsigned: bool
) -> None:
    b[::2] = d[::2]  # equal high words too
    kind = ".U32" if unsigned else ""
    outcome = execute(
        [f"ISETP.{how}.U32.AND P0, PT, R0, R2, PT",
         f"ISETP.{how}{kind}.AND.EX P1, P2, R1, R3, PT, P0",
         f"ISETP.{how}{kind}.AND P3, P4, R0, R2, PT"],
        R0=a, R1=b, R2=c, R3=d,
    )  # fmt: skip
    for i in range(LANES):
        x, y = (b[i] << 32) | a[i], (d[i] << 32) | c[i]
        narrow = (a[i], c[i])
        if not unsigned:
            x, y = signed(x, 64), signed(y, 64)
            narrow = (signed(a[i]), signed(c[i]))
        yes, low = COMPARE[how](x, y), COMPARE[how](*narrow)
        assert [outcome.predicate(n)[i] for n in (1, 2, 3, 4)] == [yes, not yes, low, not low]


floats = st.lists(
    st.floats(width=32, allow_nan=True, allow_infinity=True), min_size=LANES, max_size=LANES
)


def bits(values: list[float]) -> list[int]:
    return [int(x) for x in np.array(values, dtype=np.float32).view(np.uint32)]


def same(found: list[int], wanted: Any) -> None:
    values = np.array(found, dtype=np.uint32).view(np.float32)
    np.testing.assert_array_equal(values, np.asarray(wanted, dtype=np.float32))


@settings(max_examples=examples(40))
@given(floats, floats)
def test_floats(a: list[float], b: list[float]) -> None:
    outcome = execute(
        ["FADD R10, R0, -R1", "FMUL R11, |R0|, R1", "FMNMX R12, R0, R1, PT",
         "FMNMX R13, R0, R1, !PT",
         "FSETP.GTU.AND P0, PT, R0, R1, PT", "FSETP.LT.AND P1, PT, R0, R1, PT",
         "F2I.TRUNC.NTZ R14, R0", "F2FP.F16.F32.PACK_AB R15, R0, R1", "FADD.RM R16, R0, R1",
         "FADD.RP R17, R0, R1", "FADD.SAT R18, R0, R1", "HADD2.F32 R19, -RZ, R15.H1_H1"],
        R0=bits(a), R1=bits(b),
    )  # fmt: skip
    x, y = np.array(a, dtype=np.float32), np.array(b, dtype=np.float32)
    with np.errstate(all="ignore"):
        same(register(outcome, 10), x - y)
        same(register(outcome, 11), np.abs(x) * y)
        same(register(outcome, 12), np.fmin(x, y))
        same(register(outcome, 13), np.fmax(x, y))
        halves = [np.float16(v) for v in (*y, *x)]
        packed = register(outcome, 15)
        for i in range(LANES):
            for half, shift in ((halves[i], 0), (halves[LANES + i], 16)):
                found = np.uint16(packed[i] >> shift & 0xFFFF).view(np.float16)
                assert found == half or (np.isnan(found) and np.isnan(half))
        same(register(outcome, 19), x.astype(np.float16))
        down = np.array(register(outcome, 16), dtype=np.uint32).view(np.float32)
        up = np.array(register(outcome, 17), dtype=np.uint32).view(np.float32)
        exact = x.astype(np.float64) + y
        fine = np.isfinite(exact)
        assert (down[fine] <= exact[fine]).all()
        assert (up[fine] >= exact[fine]).all()
        same(register(outcome, 18), np.where(x + y > 0, np.minimum(x + y, 1), 0))
    assert outcome.predicate(0) == (~(x <= y)).astype(int).tolist()
    assert outcome.predicate(1) == (x < y).astype(int).tolist()
    for i, value in enumerate(x.tolist()):
        limited = 0 if value != value else max(-(2.0**31), min(value, 2.0**31 - 1))
        assert signed(register(outcome, 14)[i]) == int(limited)


@settings(max_examples=examples(30))
@given(words, st.integers(0, 31), st.sampled_from([1, 2, 4, 8, 16, 32]))
def test_shuffles(a: list[int], by: int, width: int) -> None:
    clamp = (32 - width) << 8
    outcome = execute(
        [f"SHFL.IDX P0, R10, R0, {by:#x}, {clamp | 0x1f:#x}",
         f"SHFL.UP P1, R11, R0, {by:#x}, {clamp:#x}",
         f"SHFL.DOWN P2, R12, R0, {by:#x}, {clamp | 0x1f:#x}",
         f"SHFL.BFLY P3, R13, R0, {by:#x}, {clamp | 0x1f:#x}"],
        R0=a,
    )  # fmt: skip
    for lane in range(LANES):
        base = lane // width * width
        index = base + by % width
        up = lane - by if lane - by >= base else lane
        down = lane + by if lane + by < base + width else lane
        butterfly = lane ^ by if lane ^ by < base + width else lane
        wanted = [a[index], a[up], a[down], a[butterfly]]
        assert [register(outcome, 10 + k)[lane] for k in range(4)] == wanted


@settings(max_examples=examples(20))
@given(words, st.lists(st.booleans(), min_size=LANES, max_size=LANES))
def test_guards_votes_and_reductions(a: list[int], chosen: list[bool]) -> None:
    outcome = execute(
        ["MOV R10, 0x7", "@P0 MOV R10, R0", "VOTE.ANY R11, P1, P0", "@P0 REDUX.SUM UR4, R0",
         "@P0 VOTE.ALL P2, !P0", "MATCH.ANY R12, R10", "@!P0 EXIT", "MOV R13, 0x1"],
        R0=a, P0=[int(x) for x in chosen],
    )  # fmt: skip
    ballot = sum(1 << lane for lane in range(LANES) if chosen[lane])
    values = [x if yes else 7 for x, yes in zip(a, chosen, strict=True)]
    assert register(outcome, 10) == values
    assert register(outcome, 11) == [ballot] * LANES
    if any(chosen):
        total = sum(x for x, yes in zip(a, chosen, strict=True) if yes) % 2**32
        assert set(outcome.uniform(4)) == {total}
    for lane in range(LANES):
        assert register(outcome, 12)[lane] == sum(
            1 << other for other in range(LANES) if values[other] == values[lane]
        )
    assert register(outcome, 13) == [int(x) for x in chosen]


def test_a_guarded_break_parts_no_lanes() -> None:
    """An H200 counts what follows once a warp (tests/silicon, the divergent kernel)."""
    outcome = execute(
        ["BSSY B0, 0x40", "@P0 BREAK B0", "NOP", "BSYNC B0", "NOP"],
        P0=[lane % 2 for lane in range(LANES)],
    )  # fmt: skip
    assert outcome.executed == [1, 1, 1, 1, 1, 1]
