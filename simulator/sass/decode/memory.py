"""Loads, stores, atomics, matrix loads, asynchronous copies, constants."""

from __future__ import annotations

from simulator.sass import machine as m
from simulator.sass.architectures import LOCAL_WINDOW, SHARED_WINDOW
from simulator.sass.decode.line import Line, SharedInstruction, known_name, lowers
from simulator.sass.decode.operands import Constant, DecodeProblem, Memory, Predicate, Register

__all__: list[str] = []

_WIDTHS = {"U8": 1, "S8": 1, "U16": 2, "S16": 2, "32": 4, "64": 8, "128": 16}
_CACHING = (
    "E", "U", "CONSTANT", "STRONG", "WEAK", "GPU", "SYS", "SM", "CTA", "EF", "EL", "LU", "EU", "NA",
    "LTC64B", "LTC128B", "LTC256B", "PRIVATE", "ZD", "MMIO", "BYPASS", "ACCESS",
)  # fmt: skip
_SPACES = {
    "LDG": m.GLOBAL, "STG": m.GLOBAL, "LDS": m.SHARED, "STS": m.SHARED, "LDL": m.LOCAL,
    "STL": m.LOCAL, "LD": m.GENERIC, "ST": m.GENERIC, "ATOMG": m.GLOBAL, "REDG": m.GLOBAL,
    "RED": m.GLOBAL, "ATOMS": m.SHARED, "ATOM": m.GENERIC,
}  # fmt: skip


def _address(line: Line, place: Memory) -> None:
    """Fill in A, B, MA, MB, IMM."""
    register = place.register or Register(-1)
    # Of some atomics nvdisasm prints [R4] for the pair that .E says it is.
    pair = line.has("E") and line.fields[m.PB] in (m.GLOBAL, m.GENERIC) and line.name != "LDGSTS"
    is_wide = place.wide or (pair and not place.uniform_wide and place.shift == 0)
    line.fields[m.A] = line.register_row(register, 2 if is_wide else 1)
    if place.uniform is not None:
        line.fields[m.B] = line.register_row(place.uniform, 2 if place.uniform_wide else 1)
    wide = is_wide and not register.is_zero
    line.fields[m.MA] = place.shift
    line.fields[m.MB] = wide + 2 * place.uniform_wide
    line.fields[m.IMM] = place.offset


def _width(line: Line) -> int:
    line.only(*_CACHING, *_WIDTHS)
    found = [each for each in line.modifiers if each in _WIDTHS]
    if len(found) > 1:
        raise DecodeProblem(f"widths of {line.name}")
    return _WIDTHS[found[0]] if found else 4


def _site(line: Line, is_store: bool) -> None:
    """Make the instruction one of those that are counted."""
    sites = line.lowered.sites
    line.fields[m.SITE] = len(sites)
    sites.append(
        SharedInstruction(line.instruction, known_name(line.name, line.modifiers), is_store)
    )


@lowers("LDG", "LDS", "LDL", "LD", says="Loads of 1 to 16 bytes.")
def _load(line: Line) -> None:
    width = _width(line)
    line.set(m.LOAD, x=width, y=line.has("S8", "S16"), pb=_SPACES[line.name])
    if line.peek(Predicate):
        line.predicate_target()
    line.destination(max(1, width // 4))
    _address(line, line.address())
    if line.peek(Predicate) and line.predicate() != m.TRUE:
        raise DecodeProblem(f"predicate of {line.name}")
    if line.name == "LDS":
        _site(line, is_store=False)


@lowers("STG", "STS", "STL", "ST", says="Stores of 1 to 16 bytes.")
def _store(line: Line) -> None:
    width = _width(line)
    line.set(m.STORE, x=width, pb=_SPACES[line.name])
    _address(line, line.address())
    line.fields[m.C] = line.register_row(_register(line), max(1, width // 4))
    if line.name == "STS":
        _site(line, is_store=True)


def _register(line: Line) -> Register:
    """Read a register that is plain."""
    operand = line.take()
    if not isinstance(operand, Register) or operand.signs.half or operand.signs.negative:
        raise DecodeProblem(f"data of {line.name}")
    return operand


_OPERATIONS = {
    "ADD": m.A_ADD, "MIN": m.A_MIN, "MAX": m.A_MAX, "INC": m.A_INC, "DEC": m.A_DEC, "AND": m.A_AND,
    "OR": m.A_OR, "XOR": m.A_XOR, "EXCH": m.A_EXCH, "CAS": m.A_CAS, "CAST": m.A_CAST,
    "POPC": m.A_POPC,
}  # fmt: skip
_TYPES = {
    "S32": (m.S32, 4), "U32": (m.U32, 4), "32": (m.U32, 4), "64": (m.U64, 8), "U64": (m.U64, 8),
    "S64": (m.S64, 8), "F32": (m.F32, 4), "F64": (m.F64, 8), "F16x2": (m.F16, 4),
    "BF16_V2": (m.BF16, 4), "BF16x2": (m.BF16, 4),
}  # fmt: skip


@lowers("ATOMS", "ATOMG", "ATOM", "RED", "REDG", says="Atomics, lane by lane.")
def _atomic(line: Line) -> None:
    line.only(*_CACHING, *_OPERATIONS, *_TYPES, "SPIN", "FTZ", "RN")
    # POPC.INC is one operation.
    named = [each for each in line.modifiers if each in _OPERATIONS]
    if not named or (len(named) > 1 and named != ["POPC", "INC"]):
        raise DecodeProblem(f"operation of {line.name}")
    how = _OPERATIONS[named[0]]
    types = [_TYPES[each] for each in line.modifiers if each in _TYPES]
    kind, width = types[0] if types else (m.U32, 4)
    if kind in (m.F32, m.F64, m.F16, m.BF16) and how != m.A_ADD:
        raise DecodeProblem(f"type of {line.name}")
    line.set(m.ATOM, x=width, y=how + 16 * kind, pb=_SPACES[line.name])
    if line.peek(Predicate):
        line.fields[m.PD] = line.predicate_target()
    if not line.name.startswith("RED"):
        line.destination(width // 4)
    _address(line, line.address())
    line.fields[m.PA] = m.ZERO
    if how in (m.A_CAS, m.A_CAST):
        line.fields[m.PA] = line.register_row(_register(line), width // 4)
    if how != m.A_POPC:
        line.fields[m.C] = line.register_row(_register(line), width // 4)
    if line.name == "ATOMS":
        _site(line, is_store=line.fields[m.D] < 0)


@lowers("QSPC", says="Whether a generic address is in shared, or in local memory.")
def _space(line: Line) -> None:
    line.only("E", "S", "L")
    window = LOCAL_WINDOW if line.has("L") else SHARED_WINDOW
    line.set(m.ISETP, x=m.EQ + 16, pa=m.TRUE, b=line.lowered.row("bits", 0, window))
    line.fields[m.PD] = line.predicate_target()
    if line.target() >= 0:
        raise DecodeProblem("destination of QSPC")
    place = line.address()
    if place.register is None or place.register.is_zero or place.uniform or place.offset:
        raise DecodeProblem("address of QSPC")
    line.fields[m.A] = line.register_row(place.register, 2) + 1


@lowers("LDSM", "STSM", says="Loads and stores of 8×8 matrices.")
def _matrix(line: Line) -> None:
    line.only("16", "M88", "MT88", "2", "4")
    if not line.has("16") or not line.has("M88", "MT88"):
        raise DecodeProblem(f"shape of {line.name}")
    count = 4 if line.has("4") else 2 if line.has("2") else 1
    is_store = line.name == "STSM"
    line.set(m.STSM if is_store else m.LDSM, x=count, y=line.has("MT88"), pb=m.SHARED)
    if is_store:
        _address(line, line.address())
        line.fields[m.C] = line.register_row(_register(line), count)
    else:
        line.destination(count)
        _address(line, line.address())
        if line.fields[m.D] < 0:
            raise DecodeProblem("destination of LDSM")
    _site(line, is_store)


@lowers("LDGSTS", says="Copies from global to shared memory (cp.async); complete at once here.")
def _copy(line: Line) -> None:
    line.only(*_CACHING, *_WIDTHS, "ZFILL")
    width = next((_WIDTHS[each] for each in line.modifiers if each in ("64", "128")), 4)
    _address(line, line.address())
    source = line.address()
    register = source.register or Register(-1)
    line.set(
        m.LDGSTS, x=width, pb=m.SHARED, y=source.offset,
        c=line.register_row(register, 2 if source.wide else 1),
        mc=m.ZERO if source.uniform is None
        else line.register_row(source.uniform, 2 if source.uniform_wide else 1),
        pd=(source.wide and not register.is_zero) + 2 * source.uniform_wide,
    )  # fmt: skip
    line.fields[m.PA] = line.predicate()
    _site(line, is_store=True)


@lowers("LDC", "ULDC", says="Loads from constant banks.")
def _constant(line: Line) -> None:
    line.only(*_WIDTHS, "IL", "IS", "ISL", "E")
    width = _WIDTHS[next((each for each in line.modifiers if each in _WIDTHS), "32")]
    if width > 8 or line.has("IS", "ISL"):
        raise DecodeProblem(f"width of {line.name}")
    line.destination(max(1, width // 4))
    source = line.take()
    if not isinstance(source, Constant):
        raise DecodeProblem(f"address of {line.name}")
    if source.register is None and width >= 4:
        line.set(m.MOV if width == 4 else m.MOV64)
        line.fields[m.A] = line.lowered.constant(source.bank, source.offset, width // 4)
        return
    indexed = 32 * line.has("IL") + 64 * line.has("S8", "S16")
    line.set(m.LDC, x=width, y=source.bank + indexed, imm=source.offset)
    if source.register is not None:
        line.fields[m.A] = line.register_row(source.register)
