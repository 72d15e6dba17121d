"""Random straight-line programs over the table of opcodes, memory and control left out.

A template is a line with choices, `[a|b]`, and operands in braces, which `OPERANDS` draws. What
two processors' code may answer differently is not drawn: the bits of a NaN that arithmetic makes
are replaced behind it by those of the chip's, since x86 gives those of the operand that a compiler
happened to put first.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable
from random import Random

import numpy as np

__all__ = ["random_program", "random_values"]

REGISTERS, PREDICATES = 16, 6
_CONSTANTS = 0x300

_SPECIAL = (
    0, 1, 2, 31, 32, 33, 0x7F, 0x80, 0xFF, 0x7FFF, 0x8000, 0xFFFF, 0x7FFFFFFF, 0x80000000,
    0xFFFFFFFF,
    # Floats: 1, -1, infinities, NaNs quiet and signalling, subnormals, ends of halves and integers.
    0x3F800000, 0xBF800000, 0x7F800000, 0xFF800000, 0x7FC00000, 0xFFC12345, 0x7F800001, 0x807FFFFF,
    0x477FE000, 0x477FF000, 0x38800000, 0x387FC000, 0x33000000, 0x33000001, 0x4F000000, 0xCF000000,
    0x4F800000, 0x5F000000, 0x5F800000, 0x7F7FFFFF, 0x00800000, 0x3F7FFFFF,
    # Halves, and high words of doubles.
    0x3C00BC00, 0x7C00FC00, 0x7E017C01, 0x00010400, 0x7BFF03FF, 0x80008001, 0x3FF00000, 0x7FF00000,
    0xFFF80000, 0x7FEFFFFF, 0x41DFFFFF, 0xC1E00000, 0x43E00000, 0x36A00000, 0x380FFFFF,
)  # fmt: skip
_FLOATS = ("1", "-2.5", "0.10000000149011612", "+INF", "-INF", "+QNAN", "5.9604644775390625e-08")


def _word(random: Random) -> int:
    kind = random.randrange(6)
    if kind == 0:
        return random.choice(_SPECIAL)
    if kind == 1:
        return random.randrange(-40, 40) & 0xFFFFFFFF
    if kind == 2:  # a float of ordinary size
        value = random.uniform(-1, 1) * 2.0 ** random.randrange(-40, 70)
        return int(struct.unpack("<I", struct.pack("<f", value))[0])
    if kind == 3:  # halves of ordinary size
        pair = np.array([random.uniform(-8, 8), random.uniform(-65000, 65000)], dtype=np.float16)
        return int(pair.view(np.uint32)[0])
    return random.getrandbits(32)


def random_values(random: Random) -> dict[str, list[int] | int]:
    """Draw registers, predicates and uniform ones."""
    values: dict[str, list[int] | int] = {}
    for number in range(REGISTERS + 8):
        if random.random() < 0.2:
            values[f"R{number}"] = [_word(random)] * 32
        elif random.random() < 0.2:
            few = [_word(random) for _ in range(3)]
            values[f"R{number}"] = [random.choice(few) for _ in range(32)]
        else:
            values[f"R{number}"] = [_word(random) for _ in range(32)]
    for number in range(8):
        values[f"UR{number}"] = _word(random)
    for number in range(PREDICATES):
        mask = random.choice((0, 0xFFFFFFFF, random.getrandbits(32), 1 << random.randrange(32)))
        values[f"P{number}"] = [mask >> lane & 1 for lane in range(32)]
        values[f"UP{number}"] = random.randrange(2)
    return values


# ---- Operands. ---------------------------------------------------------------------------------
def _register(random: Random) -> str:
    return f"R{random.randrange(REGISTERS + 4)}" if random.random() < 0.95 else "RZ"


def _uniform(random: Random) -> str:
    return f"UR{random.randrange(8)}" if random.random() < 0.95 else "URZ"


def _constant(random: Random, size: int = 4) -> str:
    return f"c[0x0][{random.randrange(0x210, _CONSTANTS - 8) // size * size:#x}]"


def _integer(random: Random) -> str:
    kind = random.randrange(10)
    if kind < 6:
        return random.choice(("", "", "", "-", "~")) + _register(random)
    if kind < 8:
        return f"{random.choice((-1, 1)) * (_word(random) >> 1):#x}"
    return _constant(random) if kind == 8 else _uniform(random)


def _of_uniform(random: Random) -> str:
    kind = random.randrange(10)
    if kind < 7:
        return random.choice(("", "", "", "-", "~")) + _uniform(random)
    return f"{_word(random):#x}" if kind < 9 else _constant(random)


def _signed(random: Random, name: str) -> str:
    return random.choice(("{}", "{}", "-{}", "|{}|", "-|{}|")).format(name)


def _float(random: Random) -> str:
    kind = random.randrange(10)
    if kind < 7:
        return _signed(random, _register(random))
    if kind == 7:
        return random.choice(_FLOATS)
    return _signed(random, _constant(random) if kind == 8 else _uniform(random))


def _uniform_float(random: Random) -> str:
    return random.choice(_FLOATS) if random.random() < 0.2 else _signed(random, _uniform(random))


def _half(random: Random) -> str:
    kind = random.randrange(10)
    if kind < 8:
        part = random.choice(("", "", ".H0_H0", ".H1_H1"))
        return _signed(random, _register(random) + part)
    if kind == 8:
        return f"{random.choice(_FLOATS)}, {random.choice(_FLOATS)}"
    return _signed(random, _constant(random))


def _double(random: Random) -> str:
    kind = random.randrange(10)
    if kind < 8:
        return _signed(random, _register(random))
    return random.choice(_FLOATS) if kind == 8 else _signed(random, _constant(random, 8))


def _predicate(random: Random) -> str:
    sign = random.choice(("", "!"))
    if random.random() < 0.3:
        return sign + "PT"
    kind = "UP" if random.random() < 0.1 else "P"
    return f"{sign}{kind}{random.randrange(PREDICATES)}"


def _uniform_predicate(random: Random) -> str:
    name = "UPT" if random.random() < 0.3 else f"UP{random.randrange(PREDICATES)}"
    return random.choice(("", "!")) + name


OPERANDS: dict[str, Callable[[Random], str]] = {
    "d": _register,  # a register that is written; the widest have four words
    "u": lambda random: f"UR{random.randrange(8)}",
    "pd": lambda random: random.choice(("PT", "P0", "P1", "P2", "P3", "P4", "P5")),
    "upd": lambda random: random.choice(("UPT", "UP0", "UP1", "UP2", "UP3", "UP4", "UP5")),
    "r": _register,
    "R": lambda random: f"R{random.randrange(REGISTERS + 4)}",
    "q": lambda random: f"R{random.randrange(5) * 4}",  # four registers
    "i": _integer,
    "ui": _of_uniform,
    "f": _float,
    "uf": _uniform_float,
    "sf": lambda random: _signed(random, _register(random)),
    "h": _half,
    "sh": lambda random: random.choice(("", "-")) + _register(random) + random.choice(
        ("", ".H0_H0", ".H1_H1")),
    "e": _double,
    "p": _predicate,
    "up": _uniform_predicate,
    "s": lambda random: f"{random.randrange(32):#x}",
    "t": lambda random: f"{random.randrange(256):#x}",
    "word": lambda random: f"{random.getrandbits(16):#x}",
    "ur": _uniform,
}  # fmt: skip

# ---- Templates. A line that ends in `# f` or `# e` gives a float or a double. --------------------
_CMP = "[LT|EQ|LE|GT|NE|GE]"
_FCMP = "[F|LT|EQ|LE|GT|NE|GE|NUM|NAN|LTU|EQU|LEU|GTU|NEU|GEU|T]"
_BOOL = "[AND|OR|XOR]"
_ROUND = "[|.RM|.RP|.RZ|.RN]"
_SCALE = "[.D8|.D4|.D2|.M2|.M4|.M8]"
_WHOLE = "[|.FLOOR|.CEIL|.TRUNC]"
_INT = "[|.U32]"
_PART = "[|.B1|.B2|.B3]"

_ONE_LANE = f"""
MOV {{d}}, {{i}}
SEL {{d}}, {{i}}, {{i}}, {{p}}
FSEL {{d}}, {{f}}, {{f}}, {{p}}
PRMT[|.F4E|.B4E|.RC8|.ECL|.ECR|.RC16] {{d}}, {{i}}, [{{word}}|{{i}}], {{i}}
R2P PR, {{r}}{_PART}, [0x7f|0x15|0x6a|{{r}}]
P2R{_PART} {{d}}, PR, {{r}}, [0x7f|0x2a|{{r}}]
IADD3 {{d}}, {{i}}, {{i}}, {{i}}
IADD3 {{d}}, {{pd}}, {{pd}}, {{i}}, {{i}}, {{i}}
IADD3.X {{d}}, {{pd}}, {{pd}}, {{i}}, {{i}}, {{i}}, {{p}}, {{p}}
[VIADD|IADD] {{d}}, {{i}}, {{i}}
IADD {{d}}, {{i}}, {{i}}
VIADD.[16x2|U8x4] {{d}}, [|-]{{R}}, [|-]{{R}}
VIADD.S32.ISAT {{d}}, [|-]{{R}}, [|-]{{R}}
IADD.64 {{d}}, {{pd}}, {{R}}, [|-]{{R}}
IADD.64.X {{d}}, {{R}}, {{R}}, {{p}}
IMAD[|.MOV|.SHL|.IADD]{_INT} {{d}}, {{i}}, {{i}}, {{i}}
IMAD.WIDE{_INT} {{d}}, {{r}}, {{r}}, {{r}}
IMAD.WIDE{_INT} {{d}}, {{pd}}, {{r}}, {{r}}, {{r}}
IMAD.HI{_INT} {{d}}, {{r}}, [{{r}}|0x12345], {{r}}
IMAD.X {{d}}, {{r}}, {{r}}, {{r}}, {{p}}
LEA {{d}}, {{i}}, {{i}}, {{s}}
LEA.HI {{d}}, {{i}}, {{i}}, {{i}}, {{s}}
LEA.HI.X {{d}}, {{i}}, {{i}}, {{i}}, {{s}}, {{p}}
LEA.HI.SX32 {{d}}, {{i}}, {{i}}, {{s}}
LOP3.LUT {{d}}, {{i}}, {{i}}, {{i}}, {{t}}, !PT
LOP3.LUT {{pd}}, {{d}}, {{i}}, {{i}}, {{i}}, {{t}}, {{p}}
PLOP3.LUT {{pd}}, {{pd}}, {{p}}, {{p}}, {{p}}, {{t}}, {{t}}
PLOP3.LUT {{pd}}, {{pd}}, {{R}}.SIGN, {{R}}.SIGN, {{R}}.SIGN, {{t}}, {{t}}
SHF.[L|R][|.W].[U32|S32|U64|S64][|.HI] {{d}}, {{i}}, [{{s}}|{{i}}], {{i}}
ISETP.{_CMP}{_INT}.{_BOOL} {{pd}}, {{pd}}, {{i}}, {{i}}, {{p}}
ISETP.{_CMP}{_INT}.{_BOOL}.EX {{pd}}, {{pd}}, {{i}}, {{i}}, {{p}}, {{p}}
[IMNMX|VIMNMX]{_INT} {{d}}, {{i}}, {{i}}, {{p}}
VIMNMX.[S8x4|U8x4] {{d}}, {{r}}, {{r}}, {{p}}
VIADDMNMX{_INT} {{d}}, {{i}}, {{i}}, {{i}}, {{p}}
VIMNMX3{_INT} {{d}}, {{i}}, {{i}}, {{i}}, {{p}}
VABSDIFF{_INT} {{d}}, {{i}}, {{i}}, {{i}}
VABSDIFF4.U8 {{d}}, {{i}}, {{i}}, RZ
VABSDIFF4.U8.ACC {{d}}, {{i}}, {{i}}, {{i}}
[IABS|POPC|BREV] {{d}}, {{i}}
FLO{_INT}[|.SH] {{d}}, {{i}}
BMSK[|.C|.W] {{d}}, {{i}}, [{{s}}|{{i}}]
SGXT[|.W]{_INT} {{d}}, {{i}}, [{{s}}|{{i}}]
IDP.4A.[S8|U8].[S8|U8] {{d}}, {{i}}, {{i}}, {{i}}
IDP.2A.[LO|HI].[S16|U16].[S8|U8] {{d}}, {{i}}, {{i}}, {{i}}
[FADD|FMUL]{_ROUND}[|.SAT] {{d}}, {{f}}, {{f}} # f
FMUL[|.FTZ]{_SCALE}{_ROUND}[|.SAT] {{d}}, {{f}}, {{f}} # f
FFMA{_ROUND}[|.SAT] {{d}}, {{f}}, {{f}}, {{f}} # f
FMNMX[|.NAN] {{d}}, {{f}}, {{f}}, {{p}}
FMNMX[|.NAN].XORSIGN {{d}}, |{{R}}|, |{{R}}|, {{p}}
FMNMX3[|.NAN] {{d}}, {{f}}, {{f}}, {{f}}, {{p}}
MUFU.[RCP|RSQ|SQRT|EX2|LG2|SIN|COS|TANH] {{d}}, {{f}} # f
MUFU.[RCP64H|RSQ64H] {{d}}, {{sf}}
FSETP.{_FCMP}.{_BOOL} {{pd}}, {{pd}}, {{f}}, {{f}}, {{p}}
FSET[|.BF].{_FCMP}.AND {{d}}, {{f}}, {{f}}, {{p}}
FCHK {{pd}}, {{f}}, {{f}}
[DADD|DMUL]{_ROUND} {{d}}, {{e}}, {{e}} # e
DFMA{_ROUND} {{d}}, {{e}}, {{e}}, {{e}} # e
DSETP.{_FCMP}.{_BOOL} {{pd}}, {{pd}}, {{e}}, {{e}}, {{p}}
DSETP.[MIN|MAX].AND {{pd}}, {{pd}}, {{e}}, {{e}}, PT
[HADD2|HMUL2][|.BF16_V2][|.SAT][|.RELU] {{d}}, {{h}}, {{h}}
[HADD2|HMUL2].F32 {{d}}, {{h}}, {{h}} # f
HFMA2[|.MMA][|.BF16_V2][|.SAT][|.RELU] {{d}}, {{h}}, {{h}}, {{h}}
[HADD2|HMUL2][|.BF16_V2] {{d}}, {{h}}, [|-]{{R}}.H0_NH1
HFMA2[|.BF16_V2] {{d}}, {{h}}, [|-]{{R}}.H0_NH1, {{h}}
HMNMX2[|.BF16_V2][|.NAN] {{d}}, {{h}}, {{h}}, {{p}}
VHMNMX[|.BF16_V2][|.NAN] {{d}}, {{h}}, {{h}}, {{h}}, {{p}}
HMNMX2[|.BF16_V2][|.NAN].XORSIGN {{d}}, |{{R}}|, |{{R}}|, {{p}}
HSETP2[|.BF16_V2].{_FCMP}.{_BOOL} {{pd}}, {{pd}}, {{h}}, {{h}}, {{p}}
HSETP2[|.BF16_V2].{_FCMP}.AND.AND {{pd}}, {{pd}}, {{h}}, {{h}}, {{p}}
HSET2[|.BF][|.BF16_V2].{_FCMP}.AND {{d}}, {{h}}, {{h}}, {{p}}
F2FP[|.RELU].[F16|BF16].F32.PACK_AB {{d}}, {{f}}, {{f}}
F2FP[|.BF16].PACK_AB[|.RZ] {{d}}, {{f}}, {{f}}
F2FP.SATFINITE[|.RELU].[F16|BF16].F32.PACK_AB {{d}}, {{f}}, {{f}}
F2FP[|.RELU].[F16|BF16].F32.MERGE_C {{d}}, {{f}}, RZ
[I2F|I2FP][|.S32|.U32]{_ROUND} {{d}}, {{i}}
I2F.[S8|U8] {{d}}, {{R}}{_PART}
I2F.[S16|U16|S64|U64] {{d}}, {{r}}
I2F.[F16|BF16][|.U32|.S64|.U64|.S16] {{d}}, {{r}}
I2F.F64[|.U32|.S64|.U64] {{d}}, {{r}} # e
F2I[|.U8|.S8|.U16|.S16|.U32|.S64|.U64]{_WHOLE}[|.NTZ] {{d}}, {{f}}
F2I[|.U8|.S8|.U16|.S16|.U32|.S64|.U64].[F16|BF16]{_WHOLE} {{d}}, {{sh}}
F2I[|.U8|.S8|.U16|.S16|.U32|.S64|.U64].F64{_WHOLE} {{d}}, {{r}}
F2IP.U8.F32[|.TRUNC].NTZ {{d}}, RZ, {{f}}, RZ
F2F.F32.F64{_ROUND} {{d}}, {{r}} # f
F2F.F64.F32 {{d}}, {{f}} # e
F2F.F64.[F16|BF16] {{d}}, {{sh}} # e
F2F.[F16|BF16].F32 {{d}}, {{f}}
F2F.[F16|BF16].F64 {{d}}, {{r}}
F2F.F32.[F16|BF16] {{d}}, {{sh}} # f
FRND{_WHOLE} {{d}}, {{f}} # f
FRND.F64{_WHOLE} {{d}}, {{r}} # e
FRND.[F16|BF16]{_WHOLE} {{d}}, {{sh}}
FRND.[F16|BF16]{_WHOLE} {{d}}, {{R}}.H1
I2I.[S8|U8|S16|U16|S32|U32].[S32|U32|S16|U16|S64] {{d}}, {{r}}
I2IP.[S8|U8|S16|U16].S32.SAT {{d}}, {{i}}, {{i}}, {{i}}
I2IP.[S4|U4].S32.SAT {{d}}, {{i}}, {{i}}, {{R}}.24
I2IP.[S2|U2].S32.SAT {{d}}, {{i}}, {{i}}, {{R}}.28
"""
_LANES = """
SHFL.[IDX|UP|DOWN|BFLY] {pd}, {d}, {r}, [{s}|{r}|{ur}], [0x1f|0x0|0x1c1f|0x1800|{r}|{ur}]
VOTE.[ANY|ALL|EQ] {d}, {pd}, {p}
VOTE.[ANY|ALL|EQ] {pd}, {p}
VOTEU.[ANY|ALL|EQ] {u}, {upd}, {p}
REDUX[|.SUM|.AND|.OR|.XOR|.MIN|.MAX|.MIN.S32|.MAX.S32|.SUM.S32] {u}, {r}
MATCH.ANY[|.U64] {d}, {r}
MATCH.ALL[|.U64] {pd}, {d}, {r}
R2UR[|.BROADCAST] {u}, {r}
"""
_UNIFORM = f"""
UMOV {{u}}, {{ui}}
USEL {{u}}, {{ui}}, {{ui}}, {{up}}
UPRMT {{u}}, {{ui}}, [{{word}}|{{ui}}], {{ui}}
UR2UP UPR, {{ur}}{_PART}
UP2UR{_PART} {{u}}, UPR, {{ui}}, [0x7f|0x2a]
UIADD3 {{u}}, {{ui}}, {{ui}}, {{ui}}
UIADD3 {{u}}, {{upd}}, {{upd}}, {{ui}}, {{ui}}, {{ui}}
UIADD3.X {{u}}, {{upd}}, {{upd}}, {{ui}}, {{ui}}, {{ui}}, {{up}}, {{up}}
[UVIADD|UIADD] {{u}}, {{ui}}, {{ui}}
UIADD {{u}}, {{ui}}, {{ui}}
UIMAD {{u}}, {{ui}}, {{ui}}, {{ui}}
UIMAD.WIDE{_INT} {{u}}, {{ur}}, {{ur}}, {{ur}}
ULEA {{u}}, {{ui}}, {{ui}}, {{s}}
ULEA.HI {{u}}, {{ui}}, {{ui}}, {{ui}}, {{s}}
ULOP3.LUT {{u}}, {{ui}}, {{ui}}, {{ui}}, {{t}}, !UPT
ULOP3.LUT {{upd}}, {{u}}, {{ui}}, {{ui}}, {{ui}}, {{t}}, {{up}}
UPLOP3.LUT {{upd}}, {{upd}}, {{up}}, {{up}}, {{up}}, {{t}}, {{t}}
USHF.[L|R][|.W].[U32|S32|U64|S64][|.HI] {{u}}, {{ui}}, [{{s}}|{{ui}}], {{ui}}
UISETP.{_CMP}{_INT}.{_BOOL} {{upd}}, {{upd}}, {{ui}}, {{ui}}, {{up}}
[UIMNMX|UVIMNMX]{_INT} {{u}}, {{ui}}, {{ui}}, {{up}}
[UPOPC|UBREV] {{u}}, {{ui}}
UFLO{_INT}[|.SH] {{u}}, {{ui}}
UBMSK[|.W] {{u}}, {{ui}}, {{ui}}
USGXT[|.W]{_INT} {{u}}, {{ui}}, [{{s}}|{{ui}}]
[UI2F|UI2FP][|.U32]{_ROUND} {{u}}, {{ui}}
[UFADD|UFMUL]{_ROUND} {{u}}, {{uf}}, {{uf}} # f
UFMUL{_SCALE}{_ROUND} {{u}}, {{uf}}, {{uf}} # f
UFFMA{_ROUND} {{u}}, {{uf}}, {{uf}}, {{uf}} # f
UFMNMX[|.NAN] {{u}}, {{uf}}, {{uf}}, {{up}}
UFSEL {{u}}, {{uf}}, {{uf}}, {{up}}
UFSETP.{_FCMP}.{_BOOL} {{upd}}, {{upd}}, {{uf}}, {{uf}}, {{up}}
UF2I[|.U32]{_WHOLE}[|.NTZ] {{u}}, {{uf}}
UFRND{_WHOLE} {{u}}, {{uf}} # f
UF2FP.[F16|BF16].F32.PACK_AB[|.RZ] {{u}}, {{uf}}, {{uf}}
"""
_WHOLE_WARP = """
ELECT {pd}, {u}, PT
HMMA.[1688|16816].F32[|.BF16] {q}, {q}, {q}, [{q}|RZ] # ffff
HMMA.[1684|1688].F32.TF32 {q}, {q}, {q}, [{q}|RZ] # ffff
HMMA.[1688|16816].F16 {q}, {q}, {q}, [{q}|RZ]
IMMA.[16816|16832].[S8|U8].[S8|U8][|.SAT] {q}, {q}.ROW, {q}.COL, [{q}|RZ]
QMMA.[16816|16832].F32.[E4M3|E5M2].[E4M3|E5M2] {q}, {q}, {q}, [{q}|RZ] # ffff
QMMA.[16816|16832].F16.[E4M3|E5M2].[E4M3|E5M2] {q}, {q}, {q}, [{q}|RZ]
DMMA.884 {q}, {q}, {q}, [{q}|RZ] # ee
MOVM.16.MT88 {d}, {R}
"""
TEMPLATES = {
    kind: [line for line in text.splitlines() if line]
    for kind, text in (
        ("lane", _ONE_LANE), ("lanes", _LANES), ("uniform", _UNIFORM), ("warp", _WHOLE_WARP),
    )
}  # fmt: skip
_CHOICE = re.compile(r"\[((?:[^\[\]]*\|)+[^\[\]]*)\]")
_OPERAND = re.compile(r"\{(\w+)\}")


def instruction(template: str, random: Random) -> list[str]:
    """Draw a line of a template, and what makes the bits of its NaNs those of the chip."""
    text, _, gives = template.partition(" # ")
    text = _CHOICE.sub(lambda found: random.choice(found[1].split("|")), text)
    text = _OPERAND.sub(lambda found: OPERANDS[found[1]](random), text)
    lines = [text]
    target = re.match(r"\S+ (U?)R(\d+)", text)
    if target is None:  # RZ
        return lines
    number, u = int(target[2]), target[1]
    for kind in gives:
        if kind == "f":
            lines.append(f"{u}FMNMX.NAN {u}R{number}, {u}R{number}, {u}R{number}, {u}PT")
            number += 1
        else:
            lines += [
                f"DSETP.NAN.AND P6, PT, R{number}, R{number}, PT", f"@P6 MOV R{number}, RZ",
                f"@P6 MOV R{number + 1}, 0x7ff80000",
            ]  # fmt: skip
            number += 2
    return lines


def random_program(random: Random, length: int = 8) -> tuple[list[list[str]], int]:
    """Draw steps of a few lines and a number of threads; of some programs lanes leave early."""
    threads = 32 if random.random() < 0.7 else random.randrange(1, 33)
    whole = threads == 32
    steps = []
    for _ in range(length):
        kind = random.choices(tuple(TEMPLATES), (12, 3, 3, 3 if whole else 0))[0]
        if kind == "lane" and random.random() < 0.02:
            steps.append([f"@{random.choice(('', '!'))}P{random.randrange(PREDICATES)} EXIT"])
            whole = False
            continue
        first, *more = instruction(random.choice(TEMPLATES[kind]), random)
        if random.random() < 0.3 and kind != "warp":
            guard = _uniform_predicate(random) if kind == "uniform" else _predicate(random)
            first = f"@{guard} {first}"
        steps.append([first, *more])
    return steps, threads
