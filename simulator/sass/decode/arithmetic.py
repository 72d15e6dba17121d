"""Arithmetic, comparisons, conversions, moves, and what the lanes of a warp do together."""

from __future__ import annotations

from simulator.sass import machine as m
from simulator.sass.decode.line import SPECIAL, Line, lowers
from simulator.sass.decode.operands import DecodeProblem, Number, Predicate, Register, Word

__all__: list[str] = []

_COMPARISONS = {
    "LT": m.LT, "EQ": m.EQ, "LE": m.LE, "GT": m.GT, "NE": m.NE, "GE": m.GE, "NUM": m.NUM,
    "NAN": m.NAN, "LTU": m.LTU, "EQU": m.EQU, "LEU": m.LEU, "GTU": m.GTU, "NEU": m.NEU,
    "GEU": m.GEU, "T": m.ALWAYS, "F": m.NEVER,
}  # fmt: skip
_BOOLEANS = {"AND": 0, "OR": 1, "XOR": 2}
_ROUNDINGS = {"RN": m.RN, "RM": m.RM, "RP": m.RP, "RZ": m.RZ}
_TO_INTEGER = {"FLOOR": m.RM, "CEIL": m.RP, "TRUNC": m.RZ}
_INTEGERS = {
    "S8": m.S8, "U8": m.U8, "S16": m.S16, "U16": m.U16, "S32": m.S32, "U32": m.U32, "S64": m.S64,
    "U64": m.U64,
}  # fmt: skip
_FLOATS = {"F16": m.F16, "BF16": m.BF16, "F32": m.F32, "F64": m.F64, "TF32": m.TF32}
_WIDE = (m.S64, m.U64, m.F64)


def _sources(line: Line, kind: str, *places: int) -> None:
    for place in places:
        line.source(place, kind)


def _chosen(line: Line, values: dict[str, int]) -> int:
    """Give the value of the one modifier that names one."""
    found = [values[each] for each in line.modifiers if each in values]
    if len(found) != 1:
        raise DecodeProblem(f"modifiers of {line.name}")
    return found[0]


# ---- Moves. ----------------------------------------------------------------------------------
@lowers("MOV", "UMOV", says="Copies 32 bits.")
def _mov(line: Line) -> None:
    line.only()
    line.set(m.MOV)
    line.destination()
    line.source(m.A, "float" if _is_float(line) else "int")
    if line.peek(Number) and line.immediate() != 0xF:  # `MOV R2, R3, 0xf`: a mask of bytes
        raise DecodeProblem("mask of MOV")


def _is_float(line: Line) -> bool:
    operand = line.operands[line.next] if line.next < len(line.operands) else None
    return isinstance(operand, Number) and isinstance(operand.value, float)


@lowers("S2R", "S2UR", "CS2R", says="Reads a special register.")
def _special(line: Line) -> None:
    line.only("32", "64")
    wide = line.name == "CS2R" and not line.has("32")
    name = line.operands[1] if len(line.operands) > 1 else None
    if not isinstance(name, Word):
        raise DecodeProblem(f"operand of {line.name}")
    if name.text in ("SR_CLOCKLO", "SR_GLOBALTIMERLO"):
        line.set(m.CLOCK, x=8 if wide else 4)
        line.destination(2 if wide else 1)
    elif name.text == "SRZ":
        line.set(m.MOV64 if wide else m.MOV)
        line.destination(2 if wide else 1)
    elif name.text in SPECIAL and not wide:
        line.set(m.R2UR if line.name == "S2UR" else m.MOV)
        line.destination()
        line.fields[m.A] = m.FIRST_FREE + SPECIAL.index(name.text)
    else:
        raise DecodeProblem(f"special register {name.text}")
    line.take()


@lowers("SEL", "USEL", says="Chooses one of two by a predicate.")
def _sel(line: Line) -> None:
    line.only()
    line.set(m.SEL)
    line.destination()
    _sources(line, "int", m.A, m.B)
    line.fields[m.PA] = line.predicate()


@lowers("FSEL", says="As SEL, for floats.")
def _fsel(line: Line) -> None:
    line.only("FTZ")
    line.set(m.SEL)
    line.destination()
    _sources(line, "float", m.A, m.B)
    line.fields[m.PA] = line.predicate()


@lowers("PRMT", "UPRMT", says="Picks bytes of two registers.")
def _prmt(line: Line) -> None:
    line.only()
    line.set(m.PRMT)
    line.destination()
    _sources(line, "int", m.A, m.B, m.C)


@lowers("R2UR", says="Copies from a lane to a uniform register.")
def _r2ur(line: Line) -> None:
    line.only()
    line.set(m.R2UR)
    line.destination()
    line.source(m.A)


@lowers("R2P", says="Predicates from the bits of a register.")
def _r2p(line: Line) -> None:
    line.only()
    _skip_word(line, "PR", "UPR")
    part = _byte_part(line)
    line.set(m.R2P, x=8 * part)
    line.source(m.A)
    line.source(m.B)


@lowers("P2R", "UP2UR", says="Predicates into the bits of a register.")
def _p2r(line: Line) -> None:
    line.only("B1", "B2", "B3")
    place = next((8 * byte for byte in (1, 2, 3) if line.has(f"B{byte}")), 0)
    line.set(m.P2R, x=place, y=8 if line.name == "UP2UR" else 0)
    line.destination()
    _skip_word(line, "PR", "UPR")
    line.source(m.A)
    line.source(m.B)


def _skip_word(line: Line, *words: str) -> None:
    """Pass over PR, which some disassemblers leave out."""
    if line.peek(Word):
        word = line.take()
        if not isinstance(word, Word) or word.text not in words:
            raise DecodeProblem(f"operand of {line.name}")


def _byte_part(line: Line) -> int:
    """Take .B1 … off the next register; the number of the byte."""
    operand = line.operands[line.next] if line.next < len(line.operands) else None
    if isinstance(operand, Register) and operand.signs.half.startswith("B"):
        plain = Register(operand.number, operand.uniform)
        line.operands = (*line.operands[: line.next], plain, *line.operands[line.next + 1 :])
        return int(operand.signs.half[1])
    return 0


# ---- Integers. -------------------------------------------------------------------------------
@lowers("IADD3", "UIADD3", says="Sum of three, with carries in and out.")
def _iadd3(line: Line) -> None:
    line.only("X")
    line.destination()
    line.predicate_targets()
    _sources(line, "int", m.A, m.B, m.C)
    if line.fields[m.PD] >= 0 or line.fields[m.QD] >= 0 or line.has("X"):
        never = m.TRUE + 16
        line.set(m.IADD3_CARRY, pa=line.predicate(never), pb=line.predicate(never))
        negated = [line.fields[place] & m.NEG_I != 0 for place in (m.MA, m.MB, m.MC)]
        line.fields[m.X] = sum(1 << part for part, is_negated in enumerate(negated) if is_negated)
    else:
        line.set(m.IADD3)


@lowers("VIADD", "UVIADD", says="Sum of two.")
def _viadd(line: Line) -> None:
    line.only()
    line.set(m.IADD3)
    line.destination()
    _sources(line, "int", m.A, m.B)


@lowers("IMAD", "UIMAD", says="a·b + c, of 32 bits, their high word, or 64 bits.")
def _imad(line: Line) -> None:
    line.only("MOV", "SHL", "IADD", "U32", "S32", "WIDE", "HI", "X")
    kind = m.U32 if line.has("U32") else m.S32
    wide = line.has("WIDE")
    line.destination(2 if wide else 1)
    line.predicate_targets()
    line.source(m.A)
    line.source(m.B)
    high = line.has("HI")
    line.source(m.C, words=2 if wide or high else 1)
    never = m.TRUE + 16
    if wide or high:
        if line.fields[m.MA] or line.fields[m.MB] or line.fields[m.MC]:
            raise DecodeProblem("sign of IMAD.WIDE or IMAD.HI")
        line.set(m.IMAD_WIDE if wide else m.IMAD_HI, x=kind, y=line.has("X"))
        line.fields[m.PA] = line.predicate(never)
    elif line.has("X") or line.fields[m.PD] >= 0:
        line.set(m.IMAD_X, pa=line.predicate(never))
    else:
        line.set(m.IMAD)
        multiplied = line.fields[[m.A, m.B]].tolist()
        if multiplied == [m.ZERO, m.ZERO] and not line.fields[m.MA] and not line.fields[m.MB]:
            line.set(m.MOV, a=line.fields[m.C], ma=line.fields[m.MC])


@lowers("LEA", "ULEA", says="(a << s) + b, or the high word of that.")
def _lea(line: Line) -> None:
    line.only("HI", "X", "SX32")
    line.destination()
    line.predicate_targets()
    line.source(m.A)
    line.source(m.B)
    high, signed = line.has("HI"), line.has("SX32")
    if high and not signed:
        line.source(m.C)
    shift = line.immediate()
    carry = line.has("X") or line.fields[m.PD] >= 0
    if not high:
        line.set(m.LEA_CARRY if carry else m.LEA, x=shift)
        if line.has("X"):
            raise DecodeProblem("LEA.X")
    else:
        never = m.TRUE + 16
        line.set(m.LEA_HI_X if carry else m.LEA_HI, x=shift, y=signed)
        if carry:
            line.fields[m.PA] = line.predicate(never)


@lowers("LOP3", "ULOP3", says="Any function of three bits, by its table.")
def _lop3(line: Line) -> None:
    line.only("LUT")
    if line.peek(Predicate):
        line.fields[m.PD] = line.predicate_target()
    line.destination()
    _sources(line, "int", m.A, m.B, m.C)
    table = line.immediate()
    condition = line.predicate(m.TRUE + 16)
    if line.fields[m.PD] >= 0:
        line.set(m.LOP3_P, x=table, pa=condition)
    else:
        line.set(m.LOP3, x=table)


@lowers("PLOP3", "UPLOP3", says="Two functions of three predicates.")
def _plop3(line: Line) -> None:
    line.only("LUT")
    line.fields[m.PD] = line.predicate_target()
    line.fields[m.QD] = line.predicate_target()
    pa, pb, pc = line.predicate(), line.predicate(), line.predicate()
    line.set(m.PLOP3, pa=pa, pb=pb, imm=pc)
    line.set(m.PLOP3, x=line.immediate(), y=line.immediate())


@lowers("SHF", "USHF", says="Shift of one word or a pair.")
def _shf(line: Line) -> None:
    line.only("L", "R", "W", "HI", "U32", "S32", "U64", "S64")
    line.destination()
    _sources(line, "int", m.A, m.B, m.C)
    how = line.has("R") + 2 * line.has("S32", "S64") + 4 * line.has("HI") + 8 * line.has("W")
    line.set(m.SHF, x=how, y=64 if line.has("U64", "S64") else 32)


@lowers("IMNMX", "VIMNMX", "UIMNMX", "UVIMNMX", says="Least or greatest of two.")
def _imnmx(line: Line) -> None:
    line.only("U32", "S32")
    line.set(m.IMNMX, x=m.U32 if line.has("U32") else m.S32)
    line.destination()
    _sources(line, "int", m.A, m.B)
    line.fields[m.PA] = line.predicate()


@lowers("VIADDMNMX", says="Least or greatest of a + b and c.")
def _viaddmnmx(line: Line) -> None:
    line.only("U32", "S32")
    line.set(m.VIADDMNMX, x=m.U32 if line.has("U32") else m.S32)
    line.destination()
    _sources(line, "int", m.A, m.B, m.C)
    line.fields[m.PA] = line.predicate()


@lowers("VIMNMX3", says="Least or greatest of three.")
def _vimnmx3(line: Line) -> None:
    line.only("U32", "S32")
    line.set(m.IMNMX3, x=m.U32 if line.has("U32") else m.S32)
    line.destination()
    _sources(line, "int", m.A, m.B, m.C)
    line.fields[m.PA] = line.predicate()


@lowers("VABSDIFF", says="|a - b| + c.")
def _vabsdiff(line: Line) -> None:
    line.only("U32", "S32")
    line.set(m.VABSDIFF, x=m.U32 if line.has("U32") else m.S32)
    line.destination()
    _sources(line, "int", m.A, m.B, m.C)


_ONE_SOURCE = {"IABS": m.IABS, "POPC": m.POPC, "BREV": m.BREV}


@lowers("IABS", "POPC", "UPOPC", "BREV", "UBREV", says="Absolute value, number of ones, mirror.")
def _one_source(line: Line) -> None:
    line.only()
    line.set(_ONE_SOURCE[line.name.removeprefix("U")])
    line.destination()
    line.source(m.A)


@lowers("FLO", "UFLO", says="Place of the leading one.")
def _flo(line: Line) -> None:
    line.only("U32", "SH")
    line.set(m.FLO, x=m.U32 if line.has("U32") else m.S32, y=line.has("SH"))
    line.destination()
    if line.peek(Predicate):
        line.predicate_target()
    line.source(m.A)


@lowers("BMSK", "UBMSK", says="A run of ones.")
def _bmsk(line: Line) -> None:
    line.only("C", "W")
    line.set(m.BMSK, x=line.has("W"))
    line.destination()
    _sources(line, "int", m.A, m.B)


@lowers("SGXT", "USGXT", says="Extends a sign.")
def _sgxt(line: Line) -> None:
    line.only("U32", "W")
    line.set(m.SGXT, x=m.U32 if line.has("U32") else m.S32, y=line.has("W"))
    line.destination()
    _sources(line, "int", m.A, m.B)


@lowers("IDP", says="Sum of four products of bytes.")
def _idp(line: Line) -> None:
    line.only("4A", "S8", "U8")
    signs = [each for each in line.modifiers if each in ("S8", "U8")]
    if len(signs) != 2:
        raise DecodeProblem("types of IDP")
    line.set(m.IDP, x=signs[0] == "S8", y=signs[1] == "S8")
    line.destination()
    _sources(line, "int", m.A, m.B, m.C)


@lowers("ISETP", "UISETP", says="Compares integers, of 64 bits with a second instruction (EX).")
def _isetp(line: Line) -> None:
    how, boolean = _comparison(line, "U32", "EX")
    line.predicate_targets()
    _sources(line, "int", m.A, m.B)
    line.set(m.ISETP, x=how + 16 * line.has("U32"), y=boolean, pa=line.predicate())
    if line.has("EX"):
        line.set(m.ISETP_EX, pb=line.predicate())


def _comparison(line: Line, *more: str) -> tuple[int, int]:
    line.only(*_COMPARISONS, *_BOOLEANS, *more)
    compare = [each for each in line.modifiers if each in _COMPARISONS]
    boolean = [each for each in line.modifiers if each in _BOOLEANS]
    if len(compare) != 1 or len(boolean) > 1:
        raise DecodeProblem(f"comparison of {line.name}")
    return _COMPARISONS[compare[0]], _BOOLEANS[boolean[0]] if boolean else 0


# ---- Floats. ----------------------------------------------------------------------------------
def _rounding(line: Line) -> int:
    """Give the rounding + 8 to saturate."""
    named = [value for name, value in _ROUNDINGS.items() if line.has(name)]
    return (named[0] if named else m.RN) + 8 * line.has("SAT")


@lowers("FADD", "FMUL", "FFMA", says="Arithmetic of 32 bits, in four roundings.")
def _float(line: Line) -> None:
    line.only(*_ROUNDINGS, "FTZ", "SAT")
    line.set({"FADD": m.FADD, "FMUL": m.FMUL, "FFMA": m.FFMA}[line.name], x=_rounding(line))
    line.destination()
    _sources(line, "float", m.A, m.B)
    if line.name == "FFMA":
        line.source(m.C, "float")


@lowers("FMNMX", says="Least or greatest of two floats.")
def _fmnmx(line: Line) -> None:
    line.only("FTZ", "NAN")
    line.set(m.FMNMX, y=line.has("NAN"))
    line.destination()
    _sources(line, "float", m.A, m.B)
    line.fields[m.PA] = line.predicate()


_FUNCTIONS = {
    "RCP": 0, "RSQ": 1, "SQRT": 2, "EX2": 3, "LG2": 4, "SIN": 5, "COS": 6, "TANH": 7,
    "RCP64H": 8, "RSQ64H": 9,
}  # fmt: skip


@lowers("MUFU", says="Reciprocal, root, exponential, logarithm, sine: correctly rounded here.")
def _mufu(line: Line) -> None:
    line.only(*_FUNCTIONS, "FTZ")
    line.set(m.MUFU, y=_chosen(line, _FUNCTIONS))
    line.destination()
    if line.has("RCP64H", "RSQ64H") and line.peek(Number):
        # The immediate is a double, of which the instruction takes the high word.
        line.fields[m.A] = line.value("double", 2)[0] + 1
    else:
        line.source(m.A, "float")


@lowers("FSETP", says="Compares floats.")
def _fsetp(line: Line) -> None:
    how, boolean = _comparison(line, "FTZ")
    line.predicate_targets()
    _sources(line, "float", m.A, m.B)
    line.set(m.FSETP, x=how, y=boolean, pa=line.predicate())


@lowers("FSET", says="Compares floats into a register.")
def _fset(line: Line) -> None:
    how, boolean = _comparison(line, "FTZ", "BF")
    line.destination()
    _sources(line, "float", m.A, m.B)
    if boolean:
        raise DecodeProblem("FSET with OR or XOR")
    line.set(m.FSET, x=line.has("BF"), y=how, pa=line.predicate())


@lowers("FCHK", says="Whether a division needs its slow path.")
def _fchk(line: Line) -> None:
    line.only("DIVIDE")
    line.set(m.FCHK)
    line.fields[m.PD] = line.predicate_target()
    _sources(line, "float", m.A, m.B)


@lowers("DADD", "DMUL", "DFMA", says="Arithmetic of 64 bits, rounded to nearest.")
def _double(line: Line) -> None:
    line.only()
    line.set({"DADD": m.DADD, "DMUL": m.DMUL, "DFMA": m.DFMA}[line.name])
    line.destination(2)
    for place in (m.A, m.B, m.C) if line.name == "DFMA" else (m.A, m.B):
        line.source(place, "double", 2)


@lowers("DSETP", says="Compares doubles.")
def _dsetp(line: Line) -> None:
    how, boolean = _comparison(line)
    line.predicate_targets()
    line.source(m.A, "double", 2)
    line.source(m.B, "double", 2)
    line.set(m.DSETP, x=how, y=boolean, pa=line.predicate())


@lowers("HADD2", "HMUL2", "HFMA2", says="Arithmetic on pairs of 16-bit floats.")
def _half(line: Line) -> None:
    line.only("MMA", "BF16_V2", "F32", "SAT", "RELU", "FTZ", "BF16")
    how = line.has("BF16_V2") + 2 * line.has("SAT") + 4 * line.has("RELU") + 8 * line.has("F32")
    line.set({"HADD2": m.HADD2, "HMUL2": m.HMUL2, "HFMA2": m.HFMA2}[line.name], x=how)
    line.destination()
    _sources(line, "half", m.A, m.B)
    if line.name == "HFMA2":
        line.source(m.C, "half")
        factors = line.fields[[m.A, m.B]].tolist()
        if factors == [m.ZERO, m.ZERO] and not line.fields[m.MC] and how == 0:
            # -0·0 + c is c: how compilers load a constant.
            line.set(m.MOV, a=line.fields[m.C], ma=0, mb=0)


@lowers("HMNMX2", says="Least or greatest of pairs of 16-bit floats.")
def _hmnmx2(line: Line) -> None:
    line.only("BF16_V2", "NAN", "FTZ")
    line.set(m.HMNMX2, x=line.has("BF16_V2"), y=line.has("NAN"))
    line.destination()
    _sources(line, "half", m.A, m.B)
    line.fields[m.PA] = line.predicate()


@lowers("HSETP2", says="Compares pairs of 16-bit floats.")
def _hsetp2(line: Line) -> None:
    joined = line.modifiers.count("AND") == 2 or line.has("H_AND")
    line.modifiers = tuple(each for each in dict.fromkeys(line.modifiers) if each != "H_AND")
    how, boolean = _comparison(line, "BF16_V2", "FTZ")
    line.predicate_targets()
    _sources(line, "half", m.A, m.B)
    how += 16 * line.has("BF16_V2") + 32 * joined
    line.set(m.HSETP2, x=how, y=boolean, pa=line.predicate())


@lowers("HSET2", says="Compares pairs of 16-bit floats into a register.")
def _hset2(line: Line) -> None:
    how, boolean = _comparison(line, "BF16_V2", "FTZ", "BF")
    if boolean:
        raise DecodeProblem("HSET2 with OR or XOR")
    line.destination()
    _sources(line, "half", m.A, m.B)
    line.set(m.HSET2, x=line.has("BF16_V2") + 16 * line.has("BF"), y=how, pa=line.predicate())


@lowers("F2FP", says="Two floats into a pair of 16-bit ones.")
def _f2fp(line: Line) -> None:
    line.only("F16", "BF16", "F32", "PACK_AB", "RELU", "SAT")
    # Without types, as for sm_80, they are half from float.
    typed = line.has("F32") and line.has("F16", "BF16")
    if not line.has("PACK_AB") or not (typed or not line.has("F32", "F16", "BF16")):
        raise DecodeProblem("types of F2FP")
    line.set(m.F2FP, x=line.has("BF16") + 4 * line.has("RELU"))
    line.destination()
    _sources(line, "float", m.A, m.B)


# ---- Conversions. -------------------------------------------------------------------------------
def _convert(line: Line, target: int, source: int, rounding: int) -> None:
    line.destination(2 if target in _WIDE else 1)
    part = _byte_part(line)
    if source == m.F64:
        line.source(m.A, "float", 2)
        if line.fields[m.MA]:
            raise DecodeProblem(f"sign of {line.name}")
    elif source in (m.F16, m.BF16):
        line.source(m.A, "half")
    else:
        line.source(m.A, "float" if source == m.F32 else "int", 2 if source in _WIDE else 1)
    line.set(m.CVT, x=source + 16 * target + 256 * part, y=rounding)


def _named(line: Line, types: dict[str, int]) -> list[int]:
    return [types[each] for each in line.modifiers if each in types]


@lowers("I2F", "I2FP", "UI2F", "UI2FP", says="Integer to float.")
def _i2f(line: Line) -> None:
    line.only(*_INTEGERS, *_FLOATS, *_ROUNDINGS)
    source, target = _named(line, _INTEGERS), _named(line, _FLOATS)
    _convert(line, (target or [m.F32])[0], (source or [m.S32])[0], _rounding(line))


@lowers("F2I", "F2IP", says="Float to integer.")
def _f2i(line: Line) -> None:
    line.only(*_INTEGERS, *_FLOATS, *_TO_INTEGER, "FTZ", "NTZ")
    target, source = _named(line, _INTEGERS), _named(line, _FLOATS)
    rounding = [_TO_INTEGER[each] for each in line.modifiers if each in _TO_INTEGER]
    _convert(line, (target or [m.S32])[0], (source or [m.F32])[0], (rounding or [m.RN])[0])


@lowers("F2F", says="Float to float of another width.")
def _f2f(line: Line) -> None:
    line.only(*_FLOATS, *_ROUNDINGS, "FTZ")
    types = _named(line, _FLOATS)
    if len(types) != 2:
        raise DecodeProblem("types of F2F")
    _convert(line, types[0], types[1], _rounding(line))


@lowers("FRND", says="Float to the nearest whole one.")
def _frnd(line: Line) -> None:
    line.only(*_FLOATS, *_TO_INTEGER, "FTZ")
    types = _named(line, _FLOATS) or [m.F32]
    rounding = [_TO_INTEGER[each] for each in line.modifiers if each in _TO_INTEGER]
    _convert(line, types[0], types[-1], 4 + (rounding or [m.RN])[0])


@lowers("I2I", says="Integer to integer, at most what fits.")
def _i2i(line: Line) -> None:
    line.only(*_INTEGERS, "SAT")
    types = _named(line, _INTEGERS)
    if not types:
        raise DecodeProblem("types of I2I")
    _convert(line, types[0], types[1] if len(types) > 1 else m.S32, m.RN)


# ---- Between lanes. ---------------------------------------------------------------------------
_SHUFFLES = {"IDX": 0, "UP": 1, "DOWN": 2, "BFLY": 3}


@lowers("SHFL", says="Takes a register of another lane.")
def _shfl(line: Line) -> None:
    line.only(*_SHUFFLES)
    line.set(m.SHFL, x=_chosen(line, _SHUFFLES))
    line.fields[m.PD] = line.predicate_target()
    line.destination()
    _sources(line, "int", m.A, m.B, m.C)


@lowers("VOTE", "VOTEU", says="Ballot, any, all.")
def _vote(line: Line) -> None:
    line.only("ANY", "ALL", "EQ")
    line.set(m.VOTE, x=1 if line.has("ALL") else 2 if line.has("EQ") else 0)
    line.fields[m.Y] = line.name == "VOTEU"
    if line.peek(Register):
        line.destination()
    line.fields[m.PD] = line.predicate_target()
    line.fields[m.PA] = line.predicate()


_REDUCTIONS = {
    "SUM": m.A_ADD, "MIN": m.A_MIN, "MAX": m.A_MAX, "AND": m.A_AND, "OR": m.A_OR, "XOR": m.A_XOR,
}  # fmt: skip


@lowers("REDUX", says="Reduces a register over the warp.")
def _redux(line: Line) -> None:
    line.only(*_REDUCTIONS, "S32")
    how = [each for each in line.modifiers if each in _REDUCTIONS]
    line.set(m.REDUX, x=m.S32 if line.has("S32") else m.U32)
    line.fields[m.Y] = _REDUCTIONS[how[0]] if how else m.A_AND
    line.destination()
    line.source(m.A)
    if line.fields[m.D] < 0:
        raise DecodeProblem("destination of REDUX")


@lowers("MATCH", says="Lanes with the same value.")
def _match(line: Line) -> None:
    line.only("ANY", "ALL", "U64")
    line.set(m.MATCH, x=line.has("ALL"), y=line.has("U64"))
    if line.peek(Predicate):
        line.fields[m.PD] = line.predicate_target()
    line.destination()
    line.source(m.A, words=2 if line.has("U64") else 1)


@lowers("ELECT", says="One lane of the warp.")
def _elect(line: Line) -> None:
    line.only()
    line.set(m.ELECT)
    line.fields[m.PD] = line.predicate_target()
    line.destination()
    line.predicate()


# ---- Tensor cores. ------------------------------------------------------------------------------
_HMMA = {"1688": 8, "16816": 16, "1684": 4}


@lowers("HMMA", says="16×8 tile of a matrix product: half, bfloat16, tf32.")
def _hmma(line: Line) -> None:
    line.only(*_HMMA, "F32", "F16", "BF16", "TF32")
    shape = next((each for each in line.modifiers if each in _HMMA), "")
    kind = 1 if line.has("BF16") else 2 if line.has("TF32") else 0
    if not shape or (shape == "1684" and kind != 2) or (shape == "16816" and kind == 2):
        raise DecodeProblem("shape of HMMA")
    half_sums = not line.has("F32")
    depth = _HMMA[shape]
    left = depth // 2 if kind == 2 else depth // 4
    line.set(m.HMMA, x=depth, y=kind + 4 * half_sums)
    sums = 2 if half_sums else 4
    line.destination(sums)
    line.source(m.A, words=left)
    line.source(m.B, words=max(left // 2, 1))
    line.source(m.C, words=sums)
    if line.fields[m.D] < 0 or line.fields[[m.MA, m.MB, m.MC]].any():
        raise DecodeProblem("operands of HMMA")
    line.fields[m.PA] = -1


@lowers("DMMA", says="8×8×4 tile of a matrix product of doubles.")
def _dmma(line: Line) -> None:
    if line.modifiers not in (("884",), ("8x8x4",)):
        raise DecodeProblem("shape of DMMA")
    line.set(m.DMMA)
    line.destination(4)
    line.source(m.A, words=2)
    line.source(m.B, words=2)
    line.source(m.C, words=4)
    if line.fields[m.D] < 0 or line.fields[[m.MA, m.MB, m.MC]].any():
        raise DecodeProblem("operands of DMMA")


_IMMA = {"16816": 16, "16832": 32}


@lowers("IMMA", says="16×8 tile of a matrix product of bytes.")
def _imma(line: Line) -> None:
    line.only(*_IMMA, "S8", "U8")
    shape = next((each for each in line.modifiers if each in _IMMA), "")
    signs = [each for each in line.modifiers if each in ("S8", "U8")]
    if not shape or len(signs) != 2:
        raise DecodeProblem("shape of IMMA")
    depth = _IMMA[shape]
    line.set(m.IMMA, x=depth, y=(signs[0] == "S8") + 2 * (signs[1] == "S8"))
    line.destination(4)
    line.take_part("ROW")
    line.source(m.A, words=depth // 8)
    line.take_part("COL")
    line.source(m.B, words=depth // 16)
    line.source(m.C, words=4)
    if line.fields[m.D] < 0:
        raise DecodeProblem("destination of IMMA")


@lowers("MOVM", says="Transposes an 8×8 matrix across the warp.")
def _movm(line: Line) -> None:
    if line.modifiers != ("16", "MT88"):
        raise DecodeProblem("shape of MOVM")
    line.set(m.MOVM)
    line.destination()
    line.source(m.A)
