"""The machine: decoded SASS executed for one block, compiled by Numba. All of its hot loops.

A register is a row of this block's threads, so an instruction is a loop over a row that the
compiler turns into vector code. Immediates, constants, special registers and uniform registers
are rows too: an operand is a row number, and no loop asks what kind it is. Arithmetic runs for
all threads of a range and is written back under the mask of the active ones.

Warps run together while they stand at the same instruction. A warp that diverges is a set of
*subwarps*, each with its own lanes and program counter, that meet again where the compiler
says so (BSSY and BSYNC, WARPSYNC) and nowhere else: what the compiler did not bring together,
the profiler counts twice, and so does this.

Shared-memory instructions write what they touched to a trace, a row (site, mask, 32 addresses)
for each warp access whose pattern differs from that warp's last one at that site, and a weight.
`simulator.count` reads the trace: the law is not written here.

The numbers below (opcodes, fields, states) are the whole interface to `simulator.sass.decode.line`.
The functions are in one module because Numba's cache of a function does not notice a change in
a function of another module.
"""

# mypy: ignore-errors
# Numba infers these types, and finds its own errors when it compiles.

from __future__ import annotations

import math

import numpy as np
from numba.core import types
from numba.extending import intrinsic

from simulator.jit import jit

__all__ = ["run"]

# ---- Rows of the register file. ----------------------------------------------------------------
ZERO = 255  # RZ, and three more for 64- and 128-bit reads of it
UNIFORM = 260  # UR0 … UR62
FIRST_FREE = 324  # special registers, then constants

# ---- Fields of a decoded instruction. ----------------------------------------------------------
OP, GUARD, D, A, B, C, MA, MB, MC, PD, QD, PA, PB, X, Y, IMM, SITE, UNI = range(18)
FIELDS = 18
TRUE = 7  # the predicate PT, which is UPT too; + 16: negated

# ---- Modifiers of a source (MA, MB, MC), a bit each. -------------------------------------------
NEG_I, INVERT, ABS_F, NEG_F, ABS_H, NEG_H, LOW_H, HIGH_H = (1 << bit for bit in range(8))

# ---- Opcodes. Up to LAST_CONTROL they end a straight run. --------------------------------------
(
    UNKNOWN, EXIT, BRA, BRA_DIV, BRX, CALL, RET, BSSY, BSYNC, BREAK, WARPSYNC, BAR, BAR_ARV,
    BAR_RED, KILL,
) = range(15)  # fmt: skip
LAST_CONTROL = KILL
(
    NOP, MOV, IADD3, IMAD, LEA, LEA_HI, LOP3, SHF, PRMT, SEL, IMNMX, IABS, POPC, FLO,
    BREV, BMSK, SGXT, FADD, FMUL, FFMA, FMNMX, MUFU, HADD2, HMUL2, HFMA2, HMNMX2, F2FP, FSET,
    IDP, VIADDMNMX, FSWZADD, P2R, HSET2, IMNMX3, VABSDIFF,
) = range(20, 55)  # fmt: skip
FIRST_ALU, LAST_ALU = MOV, VABSDIFF
(
    IADD3_CARRY, IMAD_WIDE, IMAD_HI, IMAD_X, LEA_CARRY, LEA_HI_X, CVT, DADD, DMUL, DFMA, ISETP,
    ISETP_EX, FSETP, DSETP, HSETP2, PLOP3, R2P, LOP3_P, FCHK, MOV64,
) = range(60, 80)  # fmt: skip
(SHFL, VOTE, REDUX, MATCH, R2UR, ELECT, HMMA, MOVM, IMMA, DMMA) = range(81, 91)
(LOAD, STORE, LDC, ATOM, LDSM, STSM, LDGSTS, BMOV_TO, BMOV_FROM, B2R, CLOCK) = range(92, 103)

# ---- Types of conversions, comparisons, roundings. ---------------------------------------------
S8, U8, S16, U16, S32, U32, S64, U64, F16, BF16, F32, F64, TF32 = range(13)
# A comparison is the set of outcomes that it accepts: 1 less, 2 equal, 4 greater, 8 unordered.
NEVER, LT, EQ, LE, GT, NE, GE, NUM, NAN, LTU, EQU, LEU, GTU, NEU, GEU, ALWAYS = range(16)
RN, RM, RP, RZ = range(4)
GLOBAL, SHARED, LOCAL, GENERIC = range(4)
A_ADD, A_MIN, A_MAX, A_INC, A_DEC, A_AND, A_OR, A_XOR, A_EXCH, A_CAS, A_CAST, A_POPC = range(12)

# ---- What `run` says when it returns. ----------------------------------------------------------
DONE, FLUSH, PAUSE, FAULT = range(4)
(
    NO_FAULT, F_UNKNOWN, F_BOUNDS, F_ALIGN, F_DEADLOCK, F_BRANCH, F_LANES, F_KILL, F_CONSTANT,
) = range(9)  # fmt: skip
(
    STATUS, WHY, F_PC, F_THREAD, F_ADDRESS, TRACED, BUDGET, THREADS, TURN, GENERIC_SHARED, STEPS,
    READY_COUNT,
) = range(12)  # fmt: skip
STATE = 16

# ---- States of a subwarp. ---------------------------------------------------------------------
READY, AT_BSYNC, AT_WARPSYNC, AT_BARRIER = 1, 2, 3, 4

_jit = jit(error_model="numpy", fastmath={"contract"})


@intrinsic
def _as_float(typing, x):
    """Read 32 bits as a float32."""

    def code(context, builder, signature, args):
        return builder.bitcast(args[0], context.get_value_type(types.float32))

    return types.float32(types.uint32), code


@intrinsic
def _as_bits(typing, x):
    """Read a float32 as 32 bits."""

    def code(context, builder, signature, args):
        return builder.bitcast(args[0], context.get_value_type(types.uint32))

    return types.uint32(types.float32), code


@intrinsic
def _as_double(typing, x):
    """Read 64 bits as a float64."""

    def code(context, builder, signature, args):
        return builder.bitcast(args[0], context.get_value_type(types.float64))

    return types.float64(types.uint64), code


@intrinsic
def _double_bits(typing, x):
    """Read a float64 as 64 bits."""

    def code(context, builder, signature, args):
        return builder.bitcast(args[0], context.get_value_type(types.uint64))

    return types.uint64(types.float64), code


# ---- Numbers. ----------------------------------------------------------------------------------
@_jit
def _from_half(h):
    bits = np.uint32((h & 0x7FFF) << 13)
    if (h & 0x7C00) == 0x7C00:
        bits = np.uint32(bits | 0x7F800000)
        value = _as_float(bits)
    else:
        value = _as_float(bits) * np.float32(2.0**112)
    return _as_float(np.uint32(_as_bits(value) | np.uint32((h & 0x8000) << 16)))


@_jit
def _to_half(value):
    bits = np.int64(_as_bits(np.float32(value)))
    sign = (bits >> 16) & 0x8000
    bits &= 0x7FFFFFFF
    if bits > 0x7F800000:
        return 0x7FFF
    if bits >= 0x477FF000:
        return sign | 0x7C00
    if bits < 0x38800000:  # a subnormal half: its unit is 2**-24
        return sign | np.int64(np.rint(_as_float(np.uint32(bits)) * np.float32(2.0**24)))
    return sign | ((bits - 0x38000000 + 0xFFF + ((bits >> 13) & 1)) >> 13)


@_jit
def _to_bfloat(value):
    bits = np.int64(_as_bits(np.float32(value)))
    if (bits & 0x7FFFFFFF) > 0x7F800000:
        return 0x7FFF
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16) & 0xFFFF


@_jit
def _from16(bits, is_bfloat):
    if is_bfloat:
        return _as_float(np.uint32((bits & 0xFFFF) << 16))
    return _from_half(bits & 0xFFFF)


@_jit
def _to16(value, is_bfloat):
    return _to_bfloat(value) if is_bfloat else _to_half(value)


@_jit
def _directed(exact, rounding):
    """Round a float64 to float32 in one of four directions."""
    value = np.float32(exact)
    if rounding == RN or np.float64(value) == exact or math.isnan(exact):
        return value
    down = rounding == RM or (rounding == RZ and exact > 0)
    bits = np.int64(_as_bits(value))
    if down and np.float64(value) > exact:
        bits = bits - 1 if value > 0 else (bits + 1 if value < 0 else 0x80000001)
    elif not down and np.float64(value) < exact:
        bits = bits + 1 if value > 0 else (bits - 1 if value < 0 else 1)
    return _as_float(np.uint32(bits))


@_jit
def _clamp(value, saturate):
    if not saturate:
        return value
    if not value > 0:  # NaN too
        return np.float32(0)
    return min(value, np.float32(1))


@_jit
def _compare(a, b, how):
    unordered = (a != a) | (b != b)
    return ((a < b) * (how & 1) | (a == b) * (how & 2) | (a > b) * (how & 4)
            | unordered * (how & 8)) != 0  # fmt: skip


@_jit
def _bool(how, a, b):
    """AND, OR, XOR by number."""
    if how == 0:
        return a & b
    if how == 1:
        return a | b
    return a ^ b


@_jit
def _mufu(which, value):
    x = np.float64(value)
    if which == 0:
        return 1.0 / x
    if which == 1:
        return 1.0 / math.sqrt(x) if x >= 0 else math.nan
    if which == 2:
        return math.sqrt(x) if x >= 0 else math.nan
    if which == 3:
        return 2.0**x
    if which == 4:
        return math.log2(x) if x > 0 else (-math.inf if x == 0 else math.nan)
    if which == 5:
        return math.sin(2 * math.pi * x)
    if which == 6:
        return math.cos(2 * math.pi * x)
    return math.tanh(x)


@_jit
def _popcount(bits):
    pairs = np.uint32(bits)
    pairs = np.uint32(pairs - ((pairs >> np.uint32(1)) & np.uint32(0x55555555)))
    fours = np.uint32(
        (pairs & np.uint32(0x33333333)) + ((pairs >> np.uint32(2)) & np.uint32(0x33333333))
    )
    eights = np.uint32((fours + (fours >> np.uint32(4))) & np.uint32(0x0F0F0F0F))
    return np.int64(np.uint32(eights * np.uint32(0x01010101)) >> np.uint32(24))


@_jit
def _lowest(bits):
    lane = 0
    while (bits >> lane) & 1 == 0:
        lane += 1
    return lane


@_jit
def _highest(bits):
    place = -1
    bits = np.int64(bits)
    while bits:
        bits >>= 1
        place += 1
    return place


@_jit
def _source(rows, row, modifier, lo, hi, scratch):
    """Give the operand of threads lo … hi: the row itself, or a changed copy in `scratch`."""
    values = rows[row, lo:hi]
    if modifier == 0:
        return values
    out = scratch[: hi - lo]
    for i in range(hi - lo):
        out[i] = values[i]
    if modifier & (LOW_H | HIGH_H):
        for i in range(hi - lo):
            half = (out[i] >> np.uint32(16)) if modifier & HIGH_H else (out[i] & np.uint32(0xFFFF))
            out[i] = np.uint32(half | (half << np.uint32(16)))
    clear = np.uint32(0)
    flip = np.uint32(0)
    if modifier & ABS_F:
        clear = np.uint32(0x80000000)
    if modifier & ABS_H:
        clear = np.uint32(0x80008000)
    if modifier & NEG_F:
        flip = np.uint32(0x80000000)
    if modifier & NEG_H:
        flip = np.uint32(0x80008000)
    if modifier & (INVERT | NEG_I):
        flip = np.uint32(0xFFFFFFFF)
    plus = np.uint32(1 if modifier & NEG_I else 0)
    for i in range(hi - lo):
        out[i] = np.uint32(((out[i] & ~clear) ^ flip) + plus)
    return out


# ---- Arithmetic with one 32-bit result. --------------------------------------------------------
@_jit
def _integer(op, x, y, a, b, c, p, out):
    n = len(out)
    if op == MOV:
        for i in range(n):
            out[i] = a[i]
    elif op == IADD3:
        for i in range(n):
            out[i] = a[i] + b[i] + c[i]
    elif op == IMAD:
        for i in range(n):
            out[i] = a[i] * b[i] + c[i]
    elif op == LEA:
        for i in range(n):
            out[i] = (a[i] << np.uint32(x)) + b[i]
    elif op == LEA_HI:  # y: the high word is the sign of a
        for i in range(n):
            high = np.uint32(np.int32(a[i]) >> 31) if y else c[i]
            wide = (np.uint64(high) << np.uint64(32)) | np.uint64(a[i])
            out[i] = np.uint32((wide << np.uint64(x)) >> np.uint64(32)) + b[i]
    elif op == LOP3:
        k0, k1, k2, k3, k4, k5, k6, k7 = (
            np.uint32(-(x & 1)), np.uint32(-((x >> 1) & 1)), np.uint32(-((x >> 2) & 1)),
            np.uint32(-((x >> 3) & 1)), np.uint32(-((x >> 4) & 1)), np.uint32(-((x >> 5) & 1)),
            np.uint32(-((x >> 6) & 1)), np.uint32(-((x >> 7) & 1)),
        )  # fmt: skip
        for i in range(n):
            f, g, h = a[i], b[i], c[i]
            without = (~g & ((~h & k0) | (h & k1))) | (g & ((~h & k2) | (h & k3)))
            with_a = (~g & ((~h & k4) | (h & k5))) | (g & ((~h & k6) | (h & k7)))
            out[i] = np.uint32((~f & without) | (f & with_a))
    elif op == SHF:
        _shift(x, y, a, b, c, out)
    elif op == PRMT:
        for i in range(n):
            wide = (np.uint64(c[i]) << np.uint64(32)) | np.uint64(a[i])
            chosen = np.uint32(0)
            for byte in range(4):
                nibble = (b[i] >> np.uint32(4 * byte)) & np.uint32(15)
                value = np.uint32((wide >> np.uint64(8 * (nibble & 7))) & np.uint64(0xFF))
                if nibble & 8:
                    value = np.uint32(0xFF if value & 0x80 else 0)
                chosen = np.uint32(chosen | (value << np.uint32(8 * byte)))
            out[i] = chosen
    elif op == SEL:
        for i in range(n):
            out[i] = a[i] if p[i] else b[i]
    elif op == IMNMX:
        for i in range(n):
            less = np.int32(a[i]) < np.int32(b[i]) if x == S32 else a[i] < b[i]
            out[i] = a[i] if less == (p[i] != 0) else b[i]
    elif op == VIADDMNMX:
        for i in range(n):
            total = np.uint32(a[i] + b[i])
            less = np.int32(total) < np.int32(c[i]) if x == S32 else total < c[i]
            out[i] = total if less == (p[i] != 0) else c[i]
    elif op == IMNMX3:
        for i in range(n):
            best = a[i]
            for other in (b[i], c[i]):
                less = np.int32(other) < np.int32(best) if x == S32 else other < best
                best = other if less == (p[i] != 0) else best
            out[i] = best
    elif op == IABS:
        for i in range(n):
            out[i] = np.uint32(abs(np.int64(np.int32(a[i]))))
    elif op == VABSDIFF:
        for i in range(n):
            if x == S32:
                apart = np.int64(np.int32(a[i])) - np.int64(np.int32(b[i]))
            else:
                apart = np.int64(a[i]) - np.int64(b[i])
            out[i] = np.uint32((abs(apart) + np.int64(c[i])) & 0xFFFFFFFF)
    elif op == POPC:
        for i in range(n):
            out[i] = np.uint32(_popcount(a[i]))
    elif op == FLO:  # y: as a shift from the top
        for i in range(n):
            bits = a[i]
            if x == S32 and np.int32(bits) < 0:
                bits = np.uint32(~bits)
            place = _highest(bits)
            out[i] = np.uint32(31 - place if y and place >= 0 else place)
    elif op == BREV:
        for i in range(n):
            bits = np.uint32(0)
            for place in range(32):
                bits = np.uint32(bits | (((a[i] >> np.uint32(place)) & 1) << np.uint32(31 - place)))
            out[i] = bits
    elif op == BMSK:  # x: wraps; ones from bit a, b of them
        for i in range(n):
            start, width = np.int64(a[i]), np.int64(b[i])
            if x:
                start, width = start & 31, width & 31
            ones = (np.int64(1) << min(width, 32)) - 1
            out[i] = np.uint32((ones << start) if start < 32 else 0)
    elif op == SGXT:
        for i in range(n):
            width = min(np.int64(b[i]) & (31 if y else -1), 32)
            kept = np.int64(a[i]) & ((np.int64(1) << width) - 1)
            if x == S32 and width > 0 and (kept >> (width - 1)) & 1:
                kept -= np.int64(1) << width
            out[i] = np.uint32(kept)
    elif op == IDP:  # four products of bytes; x, y: a and b signed
        for i in range(n):
            total = np.int64(c[i])
            for byte in range(4):
                left = np.int64((a[i] >> np.uint32(8 * byte)) & np.uint32(0xFF))
                right = np.int64((b[i] >> np.uint32(8 * byte)) & np.uint32(0xFF))
                left = left - 256 if x and left > 127 else left
                right = right - 256 if y and right > 127 else right
                total += left * right
            out[i] = np.uint32(total)


@_jit
def _shift(x, y, a, b, c, out):
    """SHF: the words c:a as 64 bits. x: 1 right, 2 signed, 4 high word, 8 wraps; y: width."""
    for i in range(len(out)):
        by = np.int64(b[i])
        by = by & (y - 1) if x & 8 else min(by, y)
        wide = (np.uint64(c[i]) << np.uint64(32)) | np.uint64(a[i])
        high = x & 4 != 0
        if x & 1 == 0:
            if high:
                word = np.uint64(0) if by >= 64 else (wide << np.uint64(by)) >> np.uint64(32)
            else:
                word = np.uint64(0) if by >= 64 else wide << np.uint64(by)
        else:
            drop = by + 32 if high else by
            if x & 2:
                word = np.uint64(np.int64(wide) >> min(drop, 63))
            else:
                word = np.uint64(0) if drop >= 64 else wide >> np.uint64(drop)
        out[i] = np.uint32(word & np.uint64(0xFFFFFFFF))


@_jit
def _float(op, x, y, a_bits, b_bits, c_bits, p, out_bits):
    """Arithmetic on float32. x: the rounding, + 8 to saturate; y: a variant."""
    a, b, c = a_bits.view(np.float32), b_bits.view(np.float32), c_bits.view(np.float32)
    out = out_bits.view(np.float32)
    n = len(out)
    if op == FFMA:
        for i in range(n):
            out[i] = a[i] * b[i] + c[i]
        if x:
            for i in range(n):
                exact = np.float64(a[i]) * np.float64(b[i]) + np.float64(c[i])
                out[i] = _clamp(_directed(exact, x & 3), x & 8)
    elif op == FADD:
        for i in range(n):
            out[i] = a[i] + b[i]
        if x:
            for i in range(n):
                exact = np.float64(a[i]) + np.float64(b[i])
                out[i] = _clamp(_directed(exact, x & 3), x & 8)
    elif op == FMUL:
        for i in range(n):
            out[i] = a[i] * b[i]
        if x:
            for i in range(n):
                exact = np.float64(a[i]) * np.float64(b[i])
                out[i] = _clamp(_directed(exact, x & 3), x & 8)
    elif op == FMNMX:  # y: NaN wins
        for i in range(n):
            if a[i] != a[i] or b[i] != b[i]:
                if y or (a[i] != a[i] and b[i] != b[i]):
                    out_bits[i] = np.uint32(0x7FFFFFFF)
                else:
                    out[i] = b[i] if a[i] != a[i] else a[i]
            else:
                # -0 is less than +0.
                less = a[i] < b[i] or (a[i] == b[i] and a_bits[i] > b_bits[i])
                out[i] = a[i] if less == (p[i] != 0) else b[i]
    elif op == MUFU:
        if y < 8:
            for i in range(n):
                out[i] = np.float32(_mufu(y, a[i]))
        else:  # the high word of a double's reciprocal, or of 1 / its root
            for i in range(n):
                value = _as_double(np.uint64(a_bits[i]) << np.uint64(32))
                high = _double_bits(np.float64(_mufu(y - 8, value))) >> np.uint64(32)
                out_bits[i] = np.uint32(high)
    elif op == FSET:  # y: the comparison; all ones, or 1.0 where x is 1
        for i in range(n):
            yes = _compare(a[i], b[i], y) and p[i] != 0
            out_bits[i] = np.uint32(0 if not yes else (0x3F800000 if x else 0xFFFFFFFF))
    elif op == FSWZADD:  # y: two bits a lane of four: add, subtract, reverse, 0
        for i in range(n):
            how = (y >> (2 * (i & 3))) & 3
            if how == 0:
                out[i] = a[i] + b[i]
            elif how == 1:
                out[i] = a[i] - b[i]
            elif how == 2:
                out[i] = b[i] - a[i]
            else:
                out[i] = 0.0


@_jit
def _half(op, x, y, a, b, c, p, out):
    """Arithmetic on pairs of 16-bit floats. x: 1 bfloat16, 2 saturates, 4 relu, 8 gives float32."""
    is_bfloat = x & 1 != 0
    for i in range(len(out)):
        if op == F2FP:  # a is the high half
            high, low = _as_float(a[i]), _as_float(b[i])
            if x & 4:
                high, low = max(high, np.float32(0)), max(low, np.float32(0))
            out[i] = np.uint32((_to16(high, is_bfloat) << 16) | _to16(low, is_bfloat))
            continue
        word = np.int64(0)
        for part in range(2):
            place = 16 * part
            f = np.float64(_from16(np.int64(a[i]) >> place, is_bfloat))
            g = np.float64(_from16(np.int64(b[i]) >> place, is_bfloat))
            if op == HFMA2:
                value = f * g + np.float64(_from16(np.int64(c[i]) >> place, is_bfloat))
            elif op == HADD2:
                value = f + g
            elif op == HMUL2:
                value = f * g
            elif op == HSET2:
                yes = _compare(f, g, y) and p[i] != 0
                if x & 16:
                    value = 1.0 if yes else 0.0
                else:
                    word |= (0xFFFF if yes else 0) << place
                    continue
            elif f != f or g != g:  # HMNMX2; y: NaN wins
                value = math.nan if y or (f != f and g != g) else (g if f != f else f)
            else:
                value = min(f, g) if p[i] else max(f, g)
            single = np.float32(value)
            if x & 2:
                single = _clamp(single, True)
            if x & 4 and not single > 0:
                single = np.float32(0) if single == single else single
            if x & 8:
                word = np.int64(_as_bits(single))
                break
            word |= np.int64(_to16(single, is_bfloat)) << place
        out[i] = np.uint32(word)


# ---- Arithmetic with wider or several results. -------------------------------------------------
@_jit
def _read(kind, low, high):
    """Read an integer source of a conversion as int64 bits."""
    if kind == S32:
        return np.int64(np.int32(low))
    if kind == U32:
        return np.int64(low)
    if kind in (S64, U64):
        return np.int64((np.uint64(high) << np.uint64(32)) | np.uint64(low))
    if kind == S8:
        return np.int64(np.int8(low))
    if kind == U8:
        return np.int64(low) & 0xFF
    if kind == S16:
        return np.int64(np.int16(low))
    return np.int64(low) & 0xFFFF


@_jit
def _limits(kind):
    if kind == S8:
        return -128.0, 127.0
    if kind == U8:
        return 0.0, 255.0
    if kind == S16:
        return -32768.0, 32767.0
    if kind == U16:
        return 0.0, 65535.0
    if kind == S32:
        return -2147483648.0, 2147483647.0
    if kind == U32:
        return 0.0, 4294967295.0
    if kind == S64:
        return -9223372036854775808.0, 9223372036854775807.0
    return 0.0, 18446744073709551615.0


@_jit
def _convert(source, target, rounding, low, high):
    """One value between the number types; 64 bits."""
    if source < F16 and target < F16:  # I2I: saturates
        number = _read(source, low, high)
        least, most = _limits(target)
        return np.uint64(np.int64(min(max(number, np.int64(least)), np.int64(most))))
    if source < F16:
        number = _read(source, low, high)
        if target == F32:
            nearest = np.float32(np.uint64(number)) if source == U64 else np.float32(number)
            if rounding != RN and abs(np.float64(nearest)) < 9.2e18:
                back = np.int64(nearest)
                bits = np.int64(_as_bits(nearest))
                if back < number and (rounding == RP or (rounding == RZ and number < 0)):
                    bits += 1 if nearest >= 0 else -1
                elif back > number and (rounding == RM or (rounding == RZ and number > 0)):
                    bits += -1 if nearest > 0 else 1
                return np.uint64(bits)
            return np.uint64(_as_bits(nearest))
        wide = np.float64(np.uint64(number)) if source == U64 else np.float64(number)
        if target == F64:
            return _double_bits(wide)
        return np.uint64(_to16(np.float32(wide), target == BF16))
    if source == F64:
        value = _as_double((np.uint64(high) << np.uint64(32)) | np.uint64(low))
    elif source == F32:
        value = np.float64(_as_float(np.uint32(low)))
    else:
        value = np.float64(_from16(np.int64(low), source == BF16))
    if target == F64:
        return _double_bits(_round(value, rounding - 4) if rounding >= 4 else value)
    if target >= F16:
        if rounding >= 4:  # FRND: to an integer, of the same type
            value = _round(value, rounding - 4)
            rounding = RN
        if target == F32:
            return np.uint64(_as_bits(_directed(value, rounding)))
        if target == TF32:
            bits = np.int64(_as_bits(np.float32(value)))
            return np.uint64((bits + 0x1000) & ~0x1FFF)
        return np.uint64(_to16(_directed(value, rounding), target == BF16))
    least, most = _limits(target)
    if value != value:
        return np.uint64(1 << 63) if target in (S64, U64) else np.uint64(0)
    value = _round(value, rounding)
    if value <= least:
        return np.uint64(np.int64(least))
    if value >= most:
        if target == U64:
            return np.uint64(0xFFFFFFFFFFFFFFFF)
        if target == S64:
            return np.uint64(0x7FFFFFFFFFFFFFFF)
        return np.uint64(np.int64(most))
    if target == U64:
        return np.uint64(value)
    return np.uint64(np.int64(value))


@_jit
def _round(value, rounding):
    if rounding == RM:
        return np.floor(value)
    if rounding == RP:
        return np.ceil(value)
    if rounding == RZ:
        return np.trunc(value)
    return np.rint(value)


@_jit
def _predicate(P, code, i):
    """Predicate number `code` (+ 16: negated) of thread i."""
    return P[code & 15, i] ^ np.uint8(code >> 4)


@_jit
def _outcome(how, values, others, first, second):
    """Set first to `values` and second to its opposite, each joined with `others`."""
    for i in range(len(values)):
        opposite = values[i] ^ np.uint8(1)
        if how == 0:
            second[i] = opposite & others[i]
            first[i] = values[i] & others[i]
        elif how == 1:
            second[i] = opposite | others[i]
            first[i] = values[i] | others[i]
        else:
            second[i] = opposite ^ others[i]
            first[i] = values[i] ^ others[i]


@_jit
def _pick(P, code, lo, hi, out):
    """Read predicate number `code` (+ 16: negated) of threads lo … hi."""
    row = P[code & 15, lo:hi]
    flip = np.uint8(code >> 4)
    for i in range(hi - lo):
        out[i] = row[i] ^ flip


@_jit
def _wide_integers(op, q, a, b, c, a2, c2, p, r, low, high, first, second):
    """Do sums, products and comparisons with carries, 64 bits, or predicates as results."""
    x, y = q[X], q[Y]
    n = len(a)
    word = np.uint64(0xFFFFFFFF)
    if op == IADD3_CARRY:  # sums with the carries of pa and pb; x: which inputs are negated
        zero_a = np.int64(x & 1) << 32  # `-b` is `~b` + 1, whose carry counts: 2**32 for b = 0
        zero_b = np.int64((x >> 1) & 1) << 32
        zero_c = np.int64((x >> 2) & 1) << 32
        for i in range(n):
            total = np.int64(a[i]) + np.int64(b[i]) + np.int64(c[i])
            total += (zero_a if a[i] == 0 else 0) + (zero_b if b[i] == 0 else 0)
            total += (zero_c if c[i] == 0 else 0) + np.int64(p[i]) + np.int64(r[i])
            low[i] = np.uint32(total & 0xFFFFFFFF)
            first[i] = np.uint8((total >> 32) != 0)
            second[i] = np.uint8((total >> 33) != 0)
    elif op in (IMAD_WIDE, IMAD_HI):  # the addend is a pair of either
        for i in range(n):
            if x == S32:
                product = np.uint64(np.int64(np.int32(a[i])) * np.int64(np.int32(b[i])))
            else:
                product = np.uint64(a[i]) * np.uint64(b[i])
            total = product + ((np.uint64(c2[i]) << np.uint64(32)) | np.uint64(c[i]))
            carry = total < product
            if y:
                total += np.uint64(p[i])
                carry = carry or (p[i] != 0 and total == np.uint64(0))
            first[i] = np.uint8(carry)
            low[i] = np.uint32(total & word)
            high[i] = np.uint32(total >> np.uint64(32))
        if op == IMAD_HI:
            low[:n] = high[:n]
    elif op == IMAD_X:
        for i in range(n):
            total = np.uint64(np.uint32(a[i] * b[i])) + np.uint64(c[i]) + np.uint64(p[i])
            low[i] = np.uint32(total & word)
            first[i] = np.uint8(total >> np.uint64(32))
    elif op == LEA_CARRY:
        zero = np.uint64(q[MB] & NEG_I) << np.uint64(32)  # NEG_I is 1
        for i in range(n):
            addend = np.uint64(b[i]) + (zero if b[i] == 0 else np.uint64(0))
            total = ((np.uint64(a[i]) << np.uint64(x)) & word) + addend
            low[i] = np.uint32(total & word)
            first[i] = np.uint8(total >> np.uint64(32) != np.uint64(0))
    elif op == LEA_HI_X:
        for i in range(n):
            top = np.uint32(np.int32(a[i]) >> 31) if y else c[i]
            wide = (np.uint64(top) << np.uint64(32)) | np.uint64(a[i])
            total = ((wide << np.uint64(x)) >> np.uint64(32)) + np.uint64(b[i]) + np.uint64(p[i])
            low[i] = np.uint32(total & word)
            first[i] = np.uint8(total >> np.uint64(32) != np.uint64(0))
    elif op == MOV64:
        for i in range(n):
            low[i] = a[i]
            high[i] = a2[i]
    else:  # ISETP, ISETP_EX. x: comparison, + 16 for unsigned
        flip = np.uint32(0x80000000 if x & 16 else 0)
        less, equal, greater = np.uint8(x & 1), np.uint8((x >> 1) & 1), np.uint8((x >> 2) & 1)
        is_high = op == ISETP_EX  # of the high words; r has the answer of the low ones
        for i in range(n):
            f, g = np.int32(a[i] ^ flip), np.int32(b[i] ^ flip)
            same = r[i] if is_high else equal
            first[i] = np.uint8(f < g) & less | np.uint8(f == g) & same | np.uint8(f > g) & greater
        _outcome(y, first[:n], p, first, second)


@_jit
def _wide(op, q, R, P, lo, hi, m, scratch, flags):
    """Instructions with 64-bit or predicate results: computed for all threads, kept for the active.

    `flags`: four rows of one byte a thread.
    """
    x, y, d, pd, qd = q[X], q[Y], q[D], q[PD], q[QD]
    n = hi - lo
    double = DADD <= op <= DFMA or op == DSETP
    # The high words of 64-bit operands; the sign of a double is there, and so is its modifier.
    at = 1 if double else 0
    a = _source(R, q[A] + at, q[MA], lo, hi, scratch[0])
    b = _source(R, q[B] + at, q[MB], lo, hi, scratch[1])
    c = _source(R, q[C] + at, q[MC], lo, hi, scratch[2])
    a2, b2, c2 = (
        R[q[A] + 1 - at, lo:hi], R[q[B] + 1 - at, lo:hi], R[q[C] + 1 - at, lo:hi],
    )  # fmt: skip
    low, high = scratch[6, :n], scratch[7, :n]
    first, second = flags[0, :n], flags[1, :n]
    p, r = flags[2, :n], flags[3, :n]
    _pick(P, q[PA] if q[PA] >= 0 else TRUE, lo, hi, p)
    _pick(P, q[PB], lo, hi, r)
    width = 1
    if IADD3_CARRY <= op <= LEA_HI_X or op in (MOV64, ISETP, ISETP_EX):
        _wide_integers(op, q, a, b, c, a2, c2, p, r, low, high, first, second)
        width = 2 if op in (IMAD_WIDE, MOV64) else 1
    elif op == FSETP:
        f32, g32 = a.view(np.float32), b.view(np.float32)
        for i in range(n):
            first[i] = np.uint8(_compare(f32[i], g32[i], x))
        _outcome(y, first, p, first, second)
    elif op == CVT:  # x: source type + 16 * target type + 256 * byte; y: rounding
        source, target = x & 15, (x >> 4) & 15
        for i in range(n):
            word = np.uint32(a[i] >> np.uint32(8 * (x >> 8)))
            wide = _convert(source, target, y, word, a2[i])
            low[i] = np.uint32(wide & np.uint64(0xFFFFFFFF))
            high[i] = np.uint32(wide >> np.uint64(32))
        width = 2 if target in (S64, U64, F64) else 1
    elif double:
        for i in range(n):
            f = _as_double((np.uint64(a[i]) << np.uint64(32)) | np.uint64(a2[i]))
            g = _as_double((np.uint64(b[i]) << np.uint64(32)) | np.uint64(b2[i]))
            if op == DSETP:
                first[i] = np.uint8(_compare(f, g, x))
                continue
            if op == DADD:
                value = f + g
            elif op == DMUL:
                value = f * g
            else:
                value = f * g + _as_double((np.uint64(c[i]) << np.uint64(32)) | np.uint64(c2[i]))
            wide = _double_bits(value)
            low[i] = np.uint32(wide & np.uint64(0xFFFFFFFF))
            high[i] = np.uint32(wide >> np.uint64(32))
        if op == DSETP:
            _outcome(y, first, p, first, second)
        width = 2
    elif op == HSETP2:  # x: comparison, + 16 for bfloat16, + 32 to AND both halves
        is_bfloat = x & 16 != 0
        for i in range(n):
            yes = _compare(_from16(a[i], is_bfloat), _from16(b[i], is_bfloat), x & 15)
            other = _compare(
                _from16(a[i] >> np.uint32(16), is_bfloat),
                _from16(b[i] >> np.uint32(16), is_bfloat),
                x & 15,
            )
            if x & 32:
                first[i] = np.uint8(_bool(y, yes and other, p[i] != 0))
                second[i] = np.uint8(_bool(y, not (yes and other), p[i] != 0))
            else:
                first[i] = np.uint8(_bool(y, yes, p[i] != 0))
                second[i] = np.uint8(_bool(y, other, p[i] != 0))
    elif op == PLOP3:  # three predicates, the third by number in IMM; x, y: two tables
        _pick(P, q[IMM], lo, hi, first)
        for i in range(n):
            place = 4 * p[i] + 2 * r[i] + first[i]
            first[i] = np.uint8((x >> place) & 1)
            second[i] = np.uint8((y >> place) & 1)
    elif op == LOP3_P:
        for i in range(n):
            bits = np.uint32(0)
            for place in range(8):
                if (x >> place) & 1:
                    f = a[i] if place & 4 else np.uint32(~a[i])
                    g = b[i] if place & 2 else np.uint32(~b[i])
                    h = c[i] if place & 1 else np.uint32(~c[i])
                    bits = np.uint32(bits | (f & g & h))
            low[i] = bits
            first[i] = np.uint8(bits != 0) | p[i]
    elif op == R2P:  # a to the predicates that b selects; x: the first bit of a
        for i in range(n):
            for place in range(7):
                if m[i] and (b[i] >> np.uint32(place)) & 1:
                    P[y + place, lo + i] = np.uint8((a[i] >> np.uint32(x + place)) & 1)
    elif op == P2R:
        for i in range(n):
            bits64 = np.int64(a[i]) & ~(np.int64(b[i]) << x)
            for place in range(7):
                if (b[i] >> np.uint32(place)) & 1 and P[y + place, lo + i]:
                    bits64 |= np.int64(1) << (place + x)
            low[i] = np.uint32(bits64)
    elif op == FCHK:  # whether a / b needs the slow path
        for i in range(n):
            exponent_a = np.int64((a[i] >> np.uint32(23)) & 255)
            exponent_b = np.int64((b[i] >> np.uint32(23)) & 255)
            apart = exponent_a - exponent_b
            first[i] = np.uint8(
                not 0 < exponent_a < 255 or not 1 < exponent_b < 253
                or not -125 < apart < 126 or exponent_a < 25
            )  # fmt: skip
    if d >= 0:
        _write(R, d, low, lo, m)
        if width == 2:
            _write(R, d + 1, high, lo, m)
    if pd >= 0:
        _write(P, pd, first, lo, m)
    if qd >= 0:
        _write(P, qd, second, lo, m)


@_jit
def _write(R, d, out, lo, m):
    row = R[d, lo : lo + len(out)]
    for i in range(len(out)):
        row[i] = out[i] if m[i] else row[i]


# ---- Between the lanes of a warp. --------------------------------------------------------------
@_jit
def _warp(op, q, R, P, base, m, scratch):
    """One instruction of the warp whose threads start at `base`; m: its 32 active lanes."""
    d, x, y = q[D], q[X], q[Y]
    first = -1
    for lane in range(32):
        if m[lane]:
            first = lane
            break
    if first < 0:
        return
    a = scratch[0, :32]
    for lane in range(32):
        a[lane] = R[q[A], base + lane]
    if op == SHFL:  # x: 0 index, 1 up, 2 down, 3 butterfly
        for lane in range(32):
            if not m[lane]:
                continue
            by, limit = np.int64(R[q[B], base + lane]), np.int64(R[q[C], base + lane])
            segment = (limit >> 8) & 31
            least = lane & segment
            most = least | (limit & 31 & ~segment)
            by &= 31
            if x == 0:
                other = least | (by & ~segment)
                inside = other <= most
            elif x == 1:
                other = lane - by
                inside = other >= most
            elif x == 2:
                other = lane + by
                inside = other <= most
            else:
                other = lane ^ by
                inside = other <= most
            if not inside:
                other = lane
            if d >= 0:
                R[d, base + lane] = a[other & 31]
            if q[PD] >= 0:
                P[q[PD], base + lane] = np.uint8(inside)
    elif op == VOTE:  # x: 0 any, 1 all, 2 equal
        ballot = np.int64(0)
        lanes = np.int64(0)
        for lane in range(32):
            if m[lane]:
                lanes |= np.int64(1) << lane
                if _predicate(P, q[PA], base + lane):
                    ballot |= np.int64(1) << lane
        if x == 0:
            answer = ballot != 0
        elif x == 1:
            answer = ballot == lanes
        else:
            answer = ballot == lanes or ballot == 0
        for lane in range(32):
            if m[lane] or y:  # y: for a uniform register
                if d >= 0:
                    R[d, base + lane] = np.uint32(ballot)
                if q[PD] >= 0:
                    P[q[PD], base + lane] = np.uint8(answer)
    elif op == R2UR:
        for lane in range(32):
            if d >= 0:
                R[d, base + lane] = a[first]
    elif op == ELECT:
        for lane in range(32):
            if q[PD] >= 0:
                P[q[PD], base + lane] = np.uint8(lane == first)
            if d >= 0:
                R[d, base + lane] = np.uint32(first)
    elif op == REDUX:
        total = np.int64(a[first]) if x != S32 else np.int64(np.int32(a[first]))
        for lane in range(first + 1, 32):
            if not m[lane]:
                continue
            value = np.int64(a[lane]) if x != S32 else np.int64(np.int32(a[lane]))
            if y == A_ADD:
                total += value
            elif y == A_MIN:
                total = min(total, value)
            elif y == A_MAX:
                total = max(total, value)
            elif y == A_AND:
                total &= value
            elif y == A_OR:
                total |= value
            else:
                total ^= value
        for lane in range(32):
            R[d, base + lane] = np.uint32(total & 0xFFFFFFFF)
    elif op == MATCH:  # x: all lanes; y: 64 bits
        whole = True
        for lane in range(32):
            if not m[lane]:
                continue
            same = np.int64(0)
            for other in range(32):
                if m[other] and a[other] == a[lane]:
                    high = R[q[A] + 1, base + other] == R[q[A] + 1, base + lane]
                    if not y or high:
                        same |= np.int64(1) << other
                    else:
                        whole = False
                elif m[other]:
                    whole = False
            scratch[1, lane] = np.uint32(same)
        for lane in range(32):
            if m[lane]:
                if d >= 0:
                    R[d, base + lane] = scratch[1, lane] if not x or whole else np.uint32(0)
                if q[PD] >= 0:
                    P[q[PD], base + lane] = np.uint8(whole)
    elif op == MOVM:
        for lane in range(32):
            row, column = lane // 4, 2 * (lane % 4)
            low = a[4 * column + row // 2] >> np.uint32(16 * (row & 1))
            high = a[4 * (column + 1) + row // 2] >> np.uint32(16 * (row & 1))
            if d >= 0:
                R[d, base + lane] = np.uint32((low & 0xFFFF) | ((high & 0xFFFF) << np.uint32(16)))
    elif op == HMMA:
        _hmma(q, R, base)
    elif op == IMMA:
        _imma(q, R, base)
    elif op == DMMA:
        _dmma(q, R, base)


@_jit
def _hmma(q, R, base):
    """D = A·B + C of a 16×k by a k×8 matrix, in the fragment layouts that the PTX ISA gives.

    x: k; y: 0 half, 1 bfloat16, 2 tf32, + 4: C and D are half.
    """
    k, kind, half_sums = q[X], q[Y] & 3, q[Y] & 4 != 0
    left = np.zeros((16, 16), dtype=np.float32)
    right = np.zeros((8, 16), dtype=np.float32)  # transposed
    for lane in range(32):
        g, t = lane // 4, lane % 4
        if kind == 2:
            for part in range(k // 4):
                for below in range(2):
                    bits = R[q[A] + 2 * part + below, base + lane]
                    left[g + 8 * below, 4 * part + t] = _as_float(np.uint32(bits & ~0x1FFF))
                bits = R[q[B] + part, base + lane]
                right[g, 4 * part + t] = _as_float(np.uint32(bits & ~0x1FFF))
            continue
        for part in range(k // 8):
            for high in range(2):
                column = 8 * part + 2 * t + high
                for below in range(2):
                    word = np.int64(R[q[A] + 2 * part + below, base + lane]) >> (16 * high)
                    left[g + 8 * below, column] = _from16(word, kind == 1)
                word = np.int64(R[q[B] + part, base + lane]) >> (16 * high)
                right[g, column] = _from16(word, kind == 1)
    for lane in range(32):
        g, t = lane // 4, lane % 4
        for below in range(2):
            sums = np.zeros(2, dtype=np.float32)
            for high in range(2):
                total = np.float32(0)
                for step in range(k):
                    total += left[g + 8 * below, step] * right[2 * t + high, step]
                if half_sums:
                    word = np.int64(R[q[C] + below, base + lane]) >> (16 * high)
                    sums[high] = total + _from_half(word & 0xFFFF)
                else:
                    before = R[ZERO if q[C] == ZERO else q[C] + 2 * below + high, base + lane]
                    sums[high] = total + _as_float(before)
            # Each lane reads its own C and writes its own D: no order matters.
            if half_sums:
                R[q[D] + below, base + lane] = np.uint32(
                    _to_half(sums[0]) | (_to_half(sums[1]) << 16)
                )
            else:
                R[q[D] + 2 * below, base + lane] = _as_bits(sums[0])
                R[q[D] + 2 * below + 1, base + lane] = _as_bits(sums[1])


@_jit
def _imma(q, R, base):
    """D = A·B + C of 8-bit integers, 16×k by k×8. x: k; y: 1 signed A, 2 signed B."""
    k = q[X]
    left = np.zeros((16, 32), dtype=np.int64)
    right = np.zeros((8, 32), dtype=np.int64)
    for lane in range(32):
        g, t = lane // 4, lane % 4
        for part in range(k // 16):
            for byte in range(4):
                column = 16 * part + 4 * t + byte
                for below in range(2):
                    value = (np.int64(R[q[A] + 2 * part + below, base + lane]) >> (8 * byte)) & 0xFF
                    left[g + 8 * below, column] = value - 256 if q[Y] & 1 and value > 127 else value
                value = (np.int64(R[q[B] + part, base + lane]) >> (8 * byte)) & 0xFF
                right[g, column] = value - 256 if q[Y] & 2 and value > 127 else value
    for lane in range(32):
        g, t = lane // 4, lane % 4
        for below in range(2):
            for high in range(2):
                total = np.int64(R[ZERO if q[C] == ZERO else q[C] + 2 * below + high, base + lane])
                for step in range(k):
                    total += left[g + 8 * below, step] * right[2 * t + high, step]
                R[q[D] + 2 * below + high, base + lane] = np.uint32(total & 0xFFFFFFFF)


@_jit
def _dmma(q, R, base):
    """D = A·B + C of doubles, 8×4 by 4×8; a lane has one element of A and B and two of C and D."""
    result = np.zeros((32, 2), dtype=np.float64)
    for lane in range(32):
        row, pair = lane // 4, 2 * (lane % 4)
        for high in range(2):
            total = _double_at(R, q[C] + 2 * high if q[C] != ZERO else ZERO, base + lane)
            for step in range(4):
                left = _double_at(R, q[A], base + 4 * row + step)
                total += left * _double_at(R, q[B], base + 4 * (pair + high) + step)
            result[lane, high] = total
    for lane in range(32):
        for high in range(2):
            bits = _double_bits(result[lane, high])
            R[q[D] + 2 * high, base + lane] = np.uint32(bits & np.uint64(0xFFFFFFFF))
            R[q[D] + 2 * high + 1, base + lane] = np.uint32(bits >> np.uint64(32))


@_jit
def _double_at(R, row, t):
    return _as_double((np.uint64(R[row + 1, t]) << np.uint64(32)) | np.uint64(R[row, t]))


# ---- Memory. -----------------------------------------------------------------------------------
@_jit
def _find(starts, ends, address, width, last):
    """Find the allocation that holds the bytes, or -1. `last`: the one to try first."""
    if starts[last] <= address and address + width <= ends[last]:
        return last
    for which in range(len(starts)):
        if starts[which] <= address and address + width <= ends[which]:
            return which
    return -1


@_jit
def _fault(S, why, thread, address):
    S[STATUS], S[WHY], S[F_THREAD], S[F_ADDRESS] = FAULT, why, thread, address
    return False


@_jit
def _place(q, R, t, row, uniform, shift, wide, offset):
    """Give the address of thread t: register + uniform register + offset, of 32 or 64 bits."""
    if wide & 1:
        address = np.int64((np.uint64(R[row + 1, t]) << np.uint64(32)) | np.uint64(R[row, t]))
    else:
        address = np.int64(R[row, t]) << shift
    if wide & 2:
        address += np.int64(
            (np.uint64(R[uniform + 1, t]) << np.uint64(32)) | np.uint64(R[uniform, t])
        )
    else:
        address += np.int64(R[uniform, t])
    address += offset
    return address if wide else address & 0xFFFFFFFF


@_jit
def _addresses(q, R, lo, hi, m, width, space, memory, starts, ends, S, where, kinds):
    """Byte offsets into the memory of `space` for each active thread; False after a fault.

    `memory`: device address of the arena, first shared address, shared bytes, local bytes a
    thread, and the high words of generic addresses of shared and local memory.
    """
    last = 0
    for t in range(lo, hi):
        if not m[t - lo]:
            continue
        address = _place(q, R, t, q[A], q[B], q[MA], q[MB], q[IMM])
        kind = space
        if space == GENERIC:
            window = address >> 32
            if window == memory[4]:
                kind, address = SHARED, address & 0xFFFFFFFF
            elif window == memory[5]:
                kind, address = LOCAL, address & 0xFFFFFFFF
            else:
                kind = GLOBAL
        if address & (width - 1):
            return _fault(S, F_ALIGN, t, address)
        if kind == SHARED:
            offset = address - memory[1]
            if offset < 0 or offset + width > memory[2]:
                return _fault(S, F_BOUNDS, t, address)
        elif kind == LOCAL:
            if address < 0 or address + width > memory[3]:
                return _fault(S, F_BOUNDS, t, address)
            offset = address + t * memory[3]
        else:
            last = _find(starts, ends, address, width, max(last, 0))
            if last < 0:
                return _fault(S, F_BOUNDS, t, address)
            offset = address - memory[0]
        where[t - lo] = offset
        kinds[t - lo] = kind
    return True


@_jit
def _shared_addresses(q, R, lo, hi, m, full, width, memory, at):
    """Byte offsets of active threads into shared memory; False where one is wrong.

    Which one, and how, `_addresses` then says.
    """
    a, b = q[A], q[B]
    shift = np.uint32(q[MA])
    start = np.uint32((q[IMM] - memory[1]) & 0xFFFFFFFF)
    if q[MB] or memory[2] < width:
        return False
    most = np.uint32(memory[2] - width)
    low_bits = np.uint32(width - 1)
    wrong = np.uint32(0)
    # Unsigned indices are never taken from the end: without that test the loops become vector code.
    base, n = np.uint64(lo), np.uint64(hi - lo)
    if full:
        for i in range(n):
            offset = np.uint32((R[a, base + i] << shift) + R[b, base + i] + start)
            wrong |= (offset & low_bits) | np.uint32(offset > most)
            at[i] = np.int32(offset)
    else:
        for i in range(n):
            offset = np.uint32((R[a, base + i] << shift) + R[b, base + i] + start)
            offset = offset if m[i] else np.uint32(0)
            wrong |= (offset & low_bits) | np.uint32(offset > most)
            at[i] = np.int32(offset)
    return wrong == 0


@_jit
def _load_shared(q, R, lo, hi, m, full, at, words):
    """Do loads of whole words from shared memory: word by word, thread by thread."""
    base, n = np.uint64(lo), np.uint64(hi - lo)
    for k in range(q[X] >> 2):
        d = q[D] + k
        more = np.uint32(k)
        if full:
            for i in range(n):
                R[d, base + i] = words[np.uint64((np.uint32(at[i]) >> np.uint32(2)) + more)]
        else:
            for i in range(n):
                if m[i]:
                    R[d, base + i] = words[np.uint64((np.uint32(at[i]) >> np.uint32(2)) + more)]


@_jit
def _store_shared(q, R, lo, hi, m, full, at, words):
    """Do stores of whole words to shared memory; of threads with one address the last one stays."""
    base, n = np.uint64(lo), np.uint64(hi - lo)
    for k in range(q[X] >> 2):
        c = q[C] + k
        more = np.uint32(k)
        for i in range(n):
            if full or m[i]:
                words[np.uint64((np.uint32(at[i]) >> np.uint32(2)) + more)] = R[c, base + i]


@_jit
def _repeats(trace, weights, latest, slot, mask, start, at):
    """Count a warp access whose pattern is that warp's last one there; False if it is not."""
    before = latest[slot]
    if before < 0 or np.uint32(trace[before, 1]) != np.uint32(mask):
        return False
    if mask == 0xFFFFFFFF:
        row, base = np.uint64(before), np.uint64(start)
        move = at[base] - trace[row, 2]
        apart = move & np.int32(127)
        for lane in range(np.uint64(32)):
            apart |= (at[base + lane] - trace[row, lane + np.uint64(2)]) ^ move
    else:
        first = _lowest(mask)
        move = at[start + first] - trace[before, 2 + first]
        apart = move & 127
        for lane in range(32):
            if (mask >> lane) & 1:
                apart |= (at[start + lane] - trace[before, 2 + lane]) ^ move
    if apart:
        return False
    weights[before] += 1
    return True


@_jit
def _load(q, R, lo, hi, m, where, words, data):
    width, d = q[X], q[D]
    if d < 0:
        return
    if width >= 4:
        for t in range(lo, hi):
            if m[t - lo]:
                first = where[t - lo] >> 2
                for k in range(width >> 2):
                    R[d + k, t] = words[first + k]
        return
    for t in range(lo, hi):
        if m[t - lo]:
            first = where[t - lo]
            value = np.int64(data[first])
            if width == 2:
                value |= np.int64(data[first + 1]) << 8
            if q[Y] & 1 and (value >> (8 * width - 1)) & 1:
                value -= np.int64(1) << (8 * width)
            if q[Y] & 2:  # the high half, the low one kept
                value = (value << 16) | np.int64(R[d, t] & np.uint32(0xFFFF))
            R[d, t] = np.uint32(value & 0xFFFFFFFF)


@_jit
def _store(q, R, lo, hi, m, where, words, data):
    width, c = q[X], q[C]
    for t in range(lo, hi):
        if not m[t - lo]:
            continue
        first = where[t - lo]
        if width >= 4:
            for k in range(width >> 2):
                words[(first >> 2) + k] = R[c + k, t]
        else:
            data[first] = np.uint8(R[c, t] & np.uint32(0xFF))
            if width == 2:
                data[first + 1] = np.uint8((R[c, t] >> np.uint32(8)) & np.uint32(0xFF))


@_jit
def _combine(how, kind, old, operand, compare):
    """Give what an atomic leaves in memory; all are 64 bits wide here."""
    if kind == F32:
        total = _as_float(np.uint32(old)) + _as_float(np.uint32(operand))
        return np.uint64(_as_bits(np.float32(total)))
    if kind == F64:
        return _double_bits(_as_double(old) + _as_double(operand))
    if kind in (F16, BF16):
        word = np.int64(0)
        for place in (0, 16):
            one = _from16(np.int64(old) >> place, kind == BF16)
            two = _from16(np.int64(operand) >> place, kind == BF16)
            word |= np.int64(_to16(np.float32(one + two), kind == BF16)) << place
        return np.uint64(word)
    if how in (A_ADD, A_POPC):
        return old + operand
    if how in (A_MIN, A_MAX):
        if kind == S32:
            less = np.int32(np.uint32(old)) < np.int32(np.uint32(operand))
        elif kind == S64:
            less = np.int64(old) < np.int64(operand)
        else:
            less = old < operand
        return old if less == (how == A_MIN) else operand
    if how == A_INC:
        return np.uint64(0) if old >= operand else old + np.uint64(1)
    if how == A_DEC:
        return operand if old == np.uint64(0) or old > operand else old - np.uint64(1)
    if how == A_AND:
        return old & operand
    if how == A_OR:
        return old | operand
    if how == A_XOR:
        return old ^ operand
    if how == A_EXCH:
        return operand
    return operand if old == compare else old


@_jit
def _atomic(q, R, P, lo, hi, m, where, words):
    """Lane by lane, in their order. C: the operand; PA: the row of the value to compare with.

    x: bytes; y: the operation + 16 * the type.
    """
    how, kind, c, d = q[Y] & 15, q[Y] >> 4, q[C], q[D]
    for t in range(lo, hi):
        if not m[t - lo]:
            continue
        first = where[t - lo] >> 2
        old = np.uint64(words[first])
        operand = np.uint64(R[c, t])
        compare = np.uint64(R[q[PA], t])
        if how == A_POPC:
            operand = np.uint64(1)
        if q[X] == 8:
            old |= np.uint64(words[first + 1]) << np.uint64(32)
            operand |= np.uint64(R[c + 1, t]) << np.uint64(32)
            compare |= np.uint64(R[q[PA] + 1, t]) << np.uint64(32)
        new = _combine(how, kind, old, operand, compare)
        words[first] = np.uint32(new & np.uint64(0xFFFFFFFF))
        if q[X] == 8:
            words[first + 1] = np.uint32(new >> np.uint64(32))
        if how == A_CAST:  # says whether it swapped, not what was there
            old = np.uint64(old == compare)
        if d >= 0:
            R[d, t] = np.uint32(old & np.uint64(0xFFFFFFFF))
            if q[X] == 8 and how != A_CAST:
                R[d + 1, t] = np.uint32(old >> np.uint64(32))
        if q[PD] >= 0:
            P[q[PD], t] = np.uint8(1)


@_jit
def _matrix(op, q, R, base, where, words):
    """LDSM and STSM of one warp. x: matrices; y: transposed. `where`: of its 32 lanes."""
    old = np.zeros(32, dtype=np.uint32)
    for which in range(q[X]):
        if op == STSM:
            for lane in range(32):
                old[lane] = R[q[C] + which, base + lane]
        for lane in range(32):
            row, pair = lane // 4, lane % 4
            if not q[Y]:
                place = (where[8 * which + row] >> 2) + pair
                if op == LDSM:
                    R[q[D] + which, base + lane] = words[place]
                else:
                    words[place] = old[lane]
                continue
            word = np.uint32(0)
            for high in range(2):
                place = (where[8 * which + 2 * pair + high] >> 2) + row // 2
                shift = np.uint32(16 * (row & 1))
                if op == LDSM:
                    half = (words[place] >> shift) & np.uint32(0xFFFF)
                    word = np.uint32(word | (half << np.uint32(16 * high)))
                else:
                    half = (old[lane] >> np.uint32(16 * high)) & np.uint32(0xFFFF)
                    kept = words[place] & np.uint32(~(0xFFFF << (16 * (row & 1))))
                    words[place] = np.uint32(kept | (half << shift))
            if op == LDSM:
                R[q[D] + which, base + lane] = word


@_jit
def _trace(S, trace, weights, latest, site, warp, warps, mask, where):
    """Record one warp access: 32 byte addresses, moved down by whole turns of the banks."""
    base = np.int64(1) << 59
    for lane in range(32):
        if (mask >> lane) & 1:
            base = min(base, np.int64(where[lane]))
    base &= ~np.int64(127)
    row = S[TRACED]
    S[TRACED] += 1
    trace[row, 0] = site
    trace[row, 1] = np.int32(np.uint32(mask))
    for lane in range(32):
        inside = (mask >> lane) & 1
        trace[row, 2 + lane] = where[lane] - base if inside else 0
    weights[row] = 1
    latest[site * warps + warp] = row


# ---- Fragments: the lanes of a warp that run together. -----------------------------------------
@_jit
def _put(F, w, mask, pc, state, argument):
    """Make a subwarp; it is filed under its lowest lane.

    F: pc, mask, state, argument, and in its last part at lane 0 the lanes with a subwarp.
    """
    lane = _lowest(mask)
    F[0, w, lane], F[1, w, lane], F[2, w, lane], F[3, w, lane] = pc, mask, state, argument
    F[4, w, 0] |= np.int64(1) << lane


@_jit
def _take(F, w, lane):
    """Remove the subwarp filed under a lane."""
    F[2, w, lane] = 0
    F[4, w, 0] &= ~(np.int64(1) << lane)


@_jit
def _reconverge(F, bars, alive, w):
    """Let the waiting subwarps of warp w go on together whose others have all come."""
    again = True
    while again:
        again = False
        for lane in range(32):
            state = F[2, w, lane]
            if state != AT_BSYNC and state != AT_WARPSYNC:
                continue
            which, pc = F[3, w, lane], F[0, w, lane]
            if state == AT_BSYNC:
                need = np.int64(bars[which, 32 * w + lane]) & alive[w]
            else:
                need = which & alive[w]
            there = np.int64(0)
            here = np.int64(0)
            for other in range(32):
                if F[2, w, other] == state and F[3, w, other] == which:
                    there |= F[1, w, other]
                    if F[0, w, other] == pc:
                        here |= F[1, w, other]
            if need & ~(here if state == AT_BSYNC else there):
                continue
            # At WARPSYNC the lanes may have come by several instructions: each goes its way.
            for other in range(32):
                if F[2, w, other] == state and F[3, w, other] == which:
                    if state == AT_BSYNC and F[0, w, other] != pc:
                        continue
                    _take(F, w, other)
                    mask, after = F[1, w, other], F[0, w, other]
                    if after != pc:
                        _put(F, w, mask, after + 1, READY, 0)
            _put(F, w, here, pc + 1, READY, 0)
            again = True
            break


@_jit
def _release(F, alive, W, extra, need, results):
    """Open the barriers at which all have arrived; True if one was."""
    opened = False
    total = 0
    for w in range(W):
        total += _popcount(alive[w])
    for which in range(16):
        arrived = np.int64(0)
        waiting = False
        for w in range(W):
            for lane in range(32):
                if F[2, w, lane] == AT_BARRIER and F[3, w, lane] == which:
                    waiting = True
                    # A barrier with a count counts whole warps.
                    arrived += 32 if need[which] else _popcount(F[1, w, lane])
        if not waiting or arrived + extra[which] < (need[which] if need[which] else total):
            continue
        extra[which] = 0
        need[which] = 0
        opened = True
        # What they voted is latched: the first to go on may vote again before the last has read.
        results[2], results[3], results[0], results[1] = results[0], results[1], 0, 0
        for w in range(W):
            for lane in range(32):
                if F[2, w, lane] == AT_BARRIER and F[3, w, lane] == which:
                    F[2, w, lane] = READY
    return opened


@_jit
def _bits(m, start):
    bits = np.int64(0)
    for lane in range(32):
        bits |= np.int64(m[start + lane] != 0) << lane
    return bits


@_jit
def _indirect(op, q, R, base, F, w, mask, pc, length, S):
    """RET and BRX: each lane goes where its register says."""
    left = mask
    while left:
        lane = _lowest(left)
        row = q[A]
        there = np.int64(np.uint64(R[row, base + lane]) | np.uint64(R[row + 1, base + lane]) << 32)
        if op == BRX:
            there = np.int64(np.int32(R[row, base + lane])) + 16 * (pc + 1)
        there += q[IMM]
        if there & 15 or not 0 <= there < 16 * length:
            return _fault(S, F_BRANCH, base + lane, there)
        together = np.int64(0)
        for other in range(32):
            if (left >> other) & 1 and R[row, base + other] == R[row, base + lane]:
                together |= np.int64(1) << other
        _put(F, w, together, there >> 4, READY, 0)
        left &= ~together
    return True


@_jit
def _control(q, pc, w, lane, m, lo, R, P, F, bars, alive, extra, need, results, length, S):
    """One control instruction of the subwarp filed under `lane` of warp w."""
    op = q[OP]
    base = 32 * w
    mask = F[1, w, lane]
    taken = mask & _bits(m, base - lo)  # those whose guard holds
    _take(F, w, lane)
    if op == BRA:
        if q[PA] != TRUE:
            for one in range(32):
                if (taken >> one) & 1 and not _predicate(P, q[PA], base + one):
                    taken &= ~(np.int64(1) << one)
        if taken:
            _put(F, w, taken, q[IMM], READY, 0)
        if mask & ~taken:
            _put(F, w, mask & ~taken, pc + 1, READY, 0)
        return True
    if op == BRA_DIV:
        meant = np.int64(R[q[A], base + lane])
        if q[MA] & INVERT:
            meant ^= 0xFFFFFFFF
        goes = taken != 0 and (mask == meant) == (q[Y] != 0)  # y: where all are together
        _put(F, w, mask, q[IMM] if goes else pc + 1, READY, 0)
        return True
    if op in (BSSY, BREAK):  # under a guard too, the lanes stay together
        for one in range(32):
            if op == BREAK:
                bars[q[X], base + one] &= np.uint32(~taken & 0xFFFFFFFF)
            elif (taken >> one) & 1:
                bars[q[X], base + one] = np.uint32(taken)
        _put(F, w, mask, pc + 1, READY, 0)
        _reconverge(F, bars, alive, w)
        return True
    rest = mask & ~taken
    if rest:
        _put(F, w, rest, pc + 1, READY, 0)
    if not taken:
        return True
    if op == EXIT:
        alive[w] &= ~taken
        _reconverge(F, bars, alive, w)
    elif op == CALL:
        _put(F, w, taken, q[IMM], READY, 0)
    elif op in (RET, BRX):
        return _indirect(op, q, R, base, F, w, taken, pc, length, S)
    elif op == BSYNC:
        _put(F, w, taken, pc, AT_BSYNC, q[X])
        _reconverge(F, bars, alive, w)
    elif op == WARPSYNC:
        _put(F, w, taken, pc, AT_WARPSYNC, np.int64(R[q[A], base + _lowest(taken)]))
        _reconverge(F, bars, alive, w)
    elif op in (BAR, BAR_ARV, BAR_RED):
        one = base + _lowest(taken)
        which, count = np.int64(R[q[A], one]) & 15, np.int64(R[q[B], one])
        if op == BAR_RED:
            for other in range(32):
                if (taken >> other) & 1:
                    yes = np.int64(_predicate(P, q[PA], base + other))
                    results[0] += yes
                    results[1] += 1 - yes
        if count:
            need[which] = count
        if op == BAR_ARV:
            extra[which] += 32
            _put(F, w, taken, pc + 1, READY, 0)
        else:
            _put(F, w, taken, pc + 1, AT_BARRIER, which)
    else:
        return _fault(S, F_KILL if op == KILL else F_UNKNOWN, base + _lowest(taken), 0)
    return True


@_jit
def _together(q, pc, group, lanes, lo, hi, m, running, R, F, bars, alive, S):
    """Where the whole group goes after a control instruction, if it stays as it is; else -1."""
    op = q[OP]
    if op == BRA and q[PA] == TRUE:
        if S[READY_COUNT] != len(group):
            return -1  # others may be behind: let them catch up
        taken = 0
        for i in range(hi - lo):
            taken += m[i]
        if taken == running:
            return q[IMM]
        return pc + 1 if taken == 0 else -1
    if q[GUARD] != TRUE:
        return -1
    if op == BSSY:
        for index in range(len(group)):
            base = 32 * group[index]
            mask = np.uint32(F[1, group[index], lanes[index]])
            for lane in range(32):
                if m[base - lo + lane]:
                    bars[q[X], base + lane] = mask
        return pc + 1
    if op in (BSYNC, WARPSYNC):
        for index in range(len(group)):
            w, lane = group[index], lanes[index]
            need = np.int64(bars[q[X], 32 * w + lane] if op == BSYNC else R[q[A], 32 * w + lane])
            if need & alive[w] & ~F[1, w, lane]:
                return -1
        return pc + 1
    if op == BAR and R[q[B], 32 * group[0] + lanes[0]] == 0:
        # All threads that are left stand here, at one barrier: it opens at once.
        total = 0
        for w in range(len(alive)):
            total += _popcount(alive[w])
        which = R[q[A], 32 * group[0] + lanes[0]]
        for index in range(len(group)):
            if R[q[A], 32 * group[index] + lanes[index]] != which:
                return -1
        return pc + 1 if total == running else -1
    return -1


# ---- The interpreter. --------------------------------------------------------------------------
@_jit
def _choose(F, W, S):
    """Choose the program counter to run: the least, so that those behind catch up with the others.

    Now and then it is another subwarp's turn: one that waits in a loop for what the others do
    would starve them.
    """
    S[TURN] += 1
    if S[TURN] & 63 == 0:
        for step in range(32 * W):
            place = (S[STEPS] + step) % (32 * W)
            if F[2, place >> 5, place & 31] == READY:
                S[STEPS] = place + 1
                S[READY_COUNT] = 32 * W  # not counted here
                return F[0, place >> 5, place & 31]
    least = np.int64(-1)
    ready = 0
    for w in range(W):
        left = F[4, w, 0]
        while left:
            lane = _lowest(left)
            left &= left - 1
            if F[2, w, lane] == READY:
                ready += 1
                if least < 0 or F[0, w, lane] < least:
                    least = F[0, w, lane]
    S[READY_COUNT] = ready
    return least


@_jit
def _plain(program, pc, R, F, lo, hi):
    """Do the commonest instructions without modifiers, for all threads; False for any other.

    F is R as floats. Slices of rows cost more than the arithmetic, so there are none here; what is
    written is not read (but for an FFMA's own sum), or else no vector code comes of it.
    """
    op, d, a, b, c = (
        program[pc, OP], program[pc, D], program[pc, A], program[pc, B], program[pc, C],
    )  # fmt: skip
    x = program[pc, X]
    if d < 0 or d in (a, b) or program[pc, MA] | program[pc, MB] | program[pc, MC]:
        return False
    if program[pc, GUARD] != TRUE:
        return False
    if op == FFMA and x == 0:
        if d == c:
            for t in range(lo, hi):
                F[d, t] = F[a, t] * F[b, t] + F[d, t]
        else:
            for t in range(lo, hi):
                F[d, t] = F[a, t] * F[b, t] + F[c, t]
        return True
    if d == c:
        return False
    if op == IADD3:
        for t in range(lo, hi):
            R[d, t] = R[a, t] + R[b, t] + R[c, t]
    elif op == IMAD:
        for t in range(lo, hi):
            R[d, t] = R[a, t] * R[b, t] + R[c, t]
    elif op == MOV:
        for t in range(lo, hi):
            R[d, t] = R[a, t]
    elif op == LEA:
        for t in range(lo, hi):
            R[d, t] = (R[a, t] << np.uint32(x)) + R[b, t]
    elif op == FADD and x == 0:
        for t in range(lo, hi):
            F[d, t] = F[a, t] + F[b, t]
    elif op == FMUL and x == 0:
        for t in range(lo, hi):
            F[d, t] = F[a, t] * F[b, t]
    else:
        return False
    return True


@_jit
def _arithmetic(q, R, P, lo, hi, m, full, scratch, chosen):
    """Do an instruction with one 32-bit result: computed for all threads, kept for the active."""
    d = q[D]
    if d < 0:
        return
    op = q[OP]
    a = _source(R, q[A], q[MA], lo, hi, scratch[0])
    b = _source(R, q[B], q[MB], lo, hi, scratch[1])
    c = _source(R, q[C], q[MC], lo, hi, scratch[2])
    n = hi - lo
    if q[PA] >= 0:
        _pick(P, q[PA], lo, hi, chosen)
    # Loops that write what they read do not become vector code.
    apart = full and d != q[A] and d != q[B] and d != q[C]
    out = R[d, lo:hi] if apart else scratch[6, :n]
    if op in (FADD, FMUL, FFMA, FMNMX, MUFU) or op >= FSET:
        if op in (FSET, FSWZADD) or op < FSET:
            _float(op, q[X], q[Y], a, b, c, chosen, out)
        elif op == HSET2:
            _half(op, q[X], q[Y], a, b, c, chosen, out)
        else:
            _integer(op, q[X], q[Y], a, b, c, chosen, out)
    elif HADD2 <= op <= F2FP:
        _half(op, q[X], q[Y], a, b, c, chosen, out)
    else:
        _integer(op, q[X], q[Y], a, b, c, chosen, out)
    if not apart:
        if full:
            R[d, lo:hi] = out
        else:
            _write(R, d, out, lo, m)


@_jit
def _constant(q, R, lo, hi, m, banks, bank_at, S):
    """LDC: from constant bank y + the bank in the offset's high half."""
    width, d = q[X], q[D]
    for t in range(lo, hi):
        if not m[t - lo]:
            continue
        offset = (np.int64(R[q[A], t]) + np.int64(R[q[B], t]) + q[IMM]) & 0xFFFFFFFF
        bank = q[Y] & 31
        if offset >= 0x10000 and q[Y] & 32:
            bank, offset = (bank + (offset >> 16)) & 31, offset & 0xFFFF
        if offset & (width - 1):
            return _fault(S, F_ALIGN, t, offset)
        first = bank_at[bank] + offset
        if first + width > bank_at[bank + 1]:
            return _fault(S, F_CONSTANT, t, offset)
        if d < 0:
            continue
        value = np.int64(banks[first])
        for byte in range(1, min(width, 4)):
            value |= np.int64(banks[first + byte]) << (8 * byte)
        if width < 4 and q[Y] & 64 and (value >> (8 * width - 1)) & 1:
            value -= np.int64(1) << (8 * width)
        R[d, t] = np.uint32(value & 0xFFFFFFFF)
        if width == 8:
            value = np.int64(0)
            for byte in range(4):
                value |= np.int64(banks[first + 4 + byte]) << (8 * byte)
            R[d + 1, t] = np.uint32(value)
    return True


@_jit
def _copy(q, R, P, lo, hi, m, memory, starts, ends, words, arena, scattered, group, S, where):
    """LDGSTS: from global to shared memory; `where` becomes the shared offsets.

    C, MC, Y, PD: the source's register, uniform register, offset and address form; PA: copy,
    or else store zeros.
    """
    width, last = q[X], 0
    for t in range(lo, hi):
        if not m[t - lo]:
            continue
        shared = _place(q, R, t, q[A], q[B], q[MA], 0, q[IMM])
        source = _place(q, R, t, q[C], q[MC], 0, q[PD], q[Y])
        offset = shared - memory[1]
        if shared & (width - 1) or source & (width - 1):
            return _fault(S, F_ALIGN, t, shared if shared & (width - 1) else source)
        if offset < 0 or offset + width > memory[2]:
            return _fault(S, F_BOUNDS, t, shared)
        where[t - lo] = offset
        if _predicate(P, q[PA], t):
            last = _find(starts, ends, source, width, max(last, 0))
            if last < 0:
                return _fault(S, F_BOUNDS, t, source)
            for k in range(width >> 2):
                words[(offset >> 2) + k] = arena[((source - memory[0]) >> 2) + k]
        else:
            for k in range(width >> 2):
                words[(offset >> 2) + k] = 0
    # Whether each warp's source is one run of bytes in lane order.
    for index in range(len(group)):
        base = 32 * group[index]
        first, start, run = -1, np.int64(0), True
        for lane in range(32):
            if m[base - lo + lane]:
                source = _place(q, R, base + lane, q[C], q[MC], 0, q[PD], q[Y])
                if first < 0:
                    first, start = lane, source
                run = run and source - start == (lane - first) * width
        if not run:
            scattered[q[SITE]] += 1
    return True


@_jit
def run(
    program, R, P, F, bars, alive, extra, need, results, shared, shared_bytes, arena, arena_bytes,
    local, local_bytes, memory, starts, ends, banks, bank_at, executed, scattered, trace, weights,
    latest, scratch, S,
):  # fmt: skip
    """Run the block until it is DONE, the trace is full, the budget is used, or there is a FAULT.

    S[STATUS] says which; after FLUSH and PAUSE `run` may be called again with the same arguments.
    S[BUDGET] counts down executions of instructions by warps; S[THREADS] counts those by threads.
    """
    T = R.shape[1]
    W = T // 32
    Rf = R.view(np.float32)
    act = np.zeros(T, dtype=np.uint8)  # active threads of the group
    every = np.zeros(T, dtype=np.uint8)  # all threads of its warps: for uniform instructions
    guarded = np.zeros(T, dtype=np.uint8)
    chosen = np.zeros(T, dtype=np.uint8)
    flags = np.zeros((4, T), dtype=np.uint8)
    where = np.zeros(T, dtype=np.int64)
    at = np.zeros(T, dtype=np.int32)
    kinds = np.zeros(T, dtype=np.int64)
    one_kind = np.zeros(T, dtype=np.uint8)
    warps = np.zeros(W, dtype=np.int64)
    lanes = np.zeros(W, dtype=np.int64)
    while True:
        pc = _choose(F, W, S)
        if pc < 0:
            if _release(F, alive, W, extra, need, results):
                continue
            S[STATUS] = DONE
            for w in range(W):
                if alive[w]:
                    for lane in range(32):
                        if F[2, w, lane]:
                            # Those at a barrier have it behind them.
                            S[F_PC] = F[0, w, lane] - (F[2, w, lane] == AT_BARRIER)
                            _fault(S, F_DEADLOCK, 32 * w + lane, 0)
            return
        # The group: of every warp the first subwarp that stands at pc.
        n = 0
        running = 0
        for w in range(W):
            left = F[4, w, 0]
            while left:
                lane = _lowest(left)
                left &= left - 1
                if F[2, w, lane] == READY and F[0, w, lane] == pc:
                    warps[n], lanes[n] = w, lane
                    n += 1
                    running += _popcount(F[1, w, lane])
                    break
        group = warps[:n]
        lo, hi = 32 * group[0], 32 * (group[n - 1] + 1)
        act[: hi - lo] = 0
        every[: hi - lo] = 0
        for index in range(n):
            start = 32 * group[index] - lo
            mask = F[1, group[index], lanes[index]]
            for lane in range(32):
                act[start + lane] = (mask >> lane) & 1
                every[start + lane] = 1
        solid = n * 32 == hi - lo
        whole = running == hi - lo

        while True:
            plain = whole and pc + 1 < len(program) and S[BUDGET] > 0
            if plain and _plain(program, pc, R, Rf, lo, hi):
                executed[pc] += n
                S[BUDGET] -= n
                S[THREADS] += running
                pc += 1
                continue
            q = program[pc]
            op = q[OP]
            site = q[SITE]
            if S[BUDGET] <= 0 or (site >= 0 and S[TRACED] + n > len(weights)):
                S[STATUS] = PAUSE if S[BUDGET] <= 0 else FLUSH
                for index in range(n):
                    F[0, group[index], lanes[index]] = pc
                return
            S[F_PC] = pc
            executed[pc] += n
            S[BUDGET] -= n
            S[THREADS] += running
            m = every if q[UNI] else act
            full = solid if q[UNI] else whole
            if q[GUARD] != TRUE:
                full = False
                _pick(P, q[GUARD], lo, hi, guarded)
                for i in range(hi - lo):
                    guarded[i] &= m[i]
                m = guarded

            if op <= LAST_CONTROL:
                there = _together(q, pc, group, lanes, lo, hi, m, running, R, F, bars, alive, S)
                if there >= 0:
                    pc = there
                    if pc < len(program):
                        continue
                    _fault(S, F_BRANCH, lo, 16 * pc)
                    return
                for index in range(n):
                    if not _control(
                        q, pc, group[index], lanes[index], m, lo, R, P, F, bars, alive, extra,
                        need, results, len(program), S,
                    ):  # fmt: skip
                        return
                break
            if FIRST_ALU <= op <= LAST_ALU and op != P2R:
                _arithmetic(q, R, P, lo, hi, m, full, scratch, chosen)
            elif op == P2R or IADD3_CARRY <= op <= MOV64:
                _wide(op, q, R, P, lo, hi, m, scratch, flags)
            elif SHFL <= op <= DMMA:
                for index in range(n):
                    start = 32 * group[index]
                    lanes_of = m[start - lo : start - lo + 32]
                    if op >= HMMA and _bits(lanes_of, 0) != 0xFFFFFFFF:
                        if _bits(lanes_of, 0) == 0:
                            continue
                        _fault(S, F_LANES, start, 0)
                        return
                    _warp(op, q, R, P, start, lanes_of, scratch)
            elif LOAD <= op <= LDGSTS and op != LDC:
                quick = False
                if op == LDGSTS:
                    fine = _copy(
                        q, R, P, lo, hi, m, memory, starts, ends, shared, arena, scattered,
                        group, S, where,
                    )  # fmt: skip
                else:
                    matrix = op in (LDSM, STSM)
                    space = SHARED if matrix else q[PB]
                    width = 16 if matrix else q[X]
                    asked = m
                    if matrix:  # all lanes or none; those past 8·x give no address
                        for index in range(n):
                            mask = _bits(m, 32 * group[index] - lo)
                            if mask != 0 and mask != 0xFFFFFFFF:
                                _fault(S, F_LANES, 32 * group[index], 0)
                                return
                        for i in range(hi - lo):
                            one_kind[i] = m[i] if i & 31 < 8 * q[X] else 0
                        asked = one_kind
                    fine = True
                    quick = space == SHARED and _shared_addresses(
                        q, R, lo, hi, asked, full and not matrix, width, memory, at
                    )
                    if quick:
                        if matrix or op == ATOM or width < 4:
                            for i in range(hi - lo):
                                where[i] = at[i]
                    else:
                        fine = _addresses(
                            q, R, lo, hi, asked, width, space, memory, starts, ends, S, where,
                            kinds,
                        )  # fmt: skip
                if not fine:
                    return
                if site >= 0:
                    if not quick:
                        for i in range(hi - lo):
                            at[i] = where[i] if m[i] else 0
                    for index in range(n):
                        start = 32 * group[index] - lo
                        mask = np.int64(0xFFFFFFFF) if full else _bits(m, start)
                        slot = site * W + group[index]
                        if mask and not _repeats(trace, weights, latest, slot, mask, start, at):
                            _trace(
                                S, trace, weights, latest, site, group[index], W, mask,
                                at[start : start + 32],
                            )  # fmt: skip
                if op in (LDSM, STSM):
                    for index in range(n):
                        start = 32 * group[index]
                        if m[start - lo]:
                            _matrix(op, q, R, start, where[start - lo : start - lo + 32], shared)
                elif quick and op == LOAD and width >= 4:
                    if q[D] >= 0:
                        _load_shared(q, R, lo, hi, m, full, at, shared)
                elif quick and op == STORE and width >= 4:
                    _store_shared(q, R, lo, hi, m, full, at, shared)
                elif op != LDGSTS:
                    for kind in range(3):
                        mine = m
                        if space == GENERIC:
                            for i in range(hi - lo):
                                one_kind[i] = m[i] if kinds[i] == kind else 0
                                if one_kind[i] and kind == SHARED:
                                    S[GENERIC_SHARED] += 1
                            mine = one_kind
                        elif space != kind:
                            continue
                        words = arena if kind == GLOBAL else (shared if kind == SHARED else local)
                        data = (
                            arena_bytes if kind == GLOBAL
                            else (shared_bytes if kind == SHARED else local_bytes)
                        )  # fmt: skip
                        if op == LOAD:
                            _load(q, R, lo, hi, mine, where, words, data)
                        elif op == STORE:
                            _store(q, R, lo, hi, mine, where, words, data)
                        else:
                            _atomic(q, R, P, lo, hi, mine, where, words)
            elif op == LDC:
                if not _constant(q, R, lo, hi, m, banks, bank_at, S):
                    return
            elif op in (BMOV_TO, BMOV_FROM):
                for t in range(lo, hi):
                    if not m[t - lo]:
                        continue
                    if op == BMOV_TO:
                        bars[q[X], t] = R[q[A], t]
                    else:
                        if q[D] >= 0:
                            R[q[D], t] = bars[q[X], t]
                        if q[Y]:
                            bars[q[X], t] = 0
            elif op == B2R:  # x: 0 the count, 1 all, 2 any
                answer = results[2]
                if q[X]:
                    answer = np.int64(results[3] == 0 if q[X] == 1 else results[2] > 0)
                for t in range(lo, hi):
                    if m[t - lo]:
                        if q[D] >= 0:
                            R[q[D], t] = np.uint32(answer)
                        if q[PD] >= 0:
                            P[q[PD], t] = np.uint8(answer != 0)
            elif op == CLOCK:
                for t in range(lo, hi):
                    if m[t - lo] and q[D] >= 0:
                        R[q[D], t] = np.uint32(S[THREADS] & 0xFFFFFFFF)
                        if q[X] == 8:
                            R[q[D] + 1, t] = np.uint32(S[THREADS] >> 32)
            pc += 1
            if pc >= len(program):
                S[F_PC] = pc - 1
                _fault(S, F_BRANCH, lo, 16 * pc)
                return
