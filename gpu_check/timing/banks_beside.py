"""How often two kinds of instructions can be issued in turn, by the registers that they read.

As in `banks`, a compiled loop gets other machine code: its FFMAs become instructions of several
kinds, with other source registers. A name says what successive ones read: a letter per kind, then
the registers' residues modulo four; "-": RZ, which is not read; "=": the first one once more. "a"
to "d" stand for one register of each residue that is read at this place every time, and kept there;
"A" to "D" for the same, not kept; "*15": so many of the same. G, D, U and W are HFMA2, HADD2, HMUL2
and HFMA2.MMA. H and J are products of matrices in registers, without and with what they add to: of
these the result goes nowhere.
"""

from __future__ import annotations

from itertools import cycle
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from gpu_check.device import open_gpu
from gpu_check.hopper.runner import compiled
from gpu_check.timing.banks import FFMA, ZERO, banks_source, control_of, issued, run_of

__all__ = [
    "HALVES", "KINDS", "PATTERNS", "THREE", "measure_banks_beside", "measure_banks_of_halves",
    "replaced", "tokens",
]  # fmt: skip

KINDS = {
    "F": (FFMA, 0x0000000000000000),
    "M": (0x0000000000007224, 0x0000000000078E0200),  # IMAD
    "L": (0x0000000000007212, 0x0000000000078E9600),  # LOP3.LUT
    "I": (0x0000000000007210, 0x000000000007FFE000),  # IADD3
    "A": (0x0000000000007221, 0x0000000000000000),  # FADD
    "P": (0x000000000000720C, 0x000000000003FA6270),  # ISETP.GE.AND P5: the loop uses others
    "N": (0x0000000000007209, 0x0000000003800000),  # FMNMX
    "G": (0x0000000000007231, 0x0000000000000000),  # HFMA2
    "D": (0x0000000000007230, 0x0000000000000000),  # HADD2
    "U": (0x0000000000007232, 0x0000000000000000),  # HMUL2
    "W": (0x0000000000007235, 0x0000000000000000),  # HFMA2.MMA
    "H": (0x0000000804FF723C, 0x00000000000018FF),  # HMMA.16816.F32 RZ,R4,R8,RZ
    "J": (0x0000000804FF723C, 0x000000000000180C),  # HMMA.16816.F32 RZ,R4,R8,R12
}
"""By letter: machine code for sm_90 as two words of 64 bits, without registers."""
THREE = "FMLIGW"
"""These read three registers, the others two."""


def _patterns() -> list[str]:
    found = []
    for x in "FMLIAPN":
        none, one, two = (f"{x}{reads}" for reads in ("---", "01-", "02-"))
        found += [one, two, f"F--- {two}", f"F--- {one}", f"F02- {none}", f"F02- {one}",
                  f"F01- {one}", f"F02- {two}", f"F02- {x}13-",
                  f"F--- F--- {two} F---"]  # fmt: skip
        if x in THREE:
            found += [f"F--- {x}012", f"F--- {x}020", f"F012 {x}01-", f"F012 {x}012",
                      f"F102 {x}013"]  # fmt: skip
    found += ["F02- L01- F01- L01- F01- L01- F01- L01-", "F02- L1-- F1-- L1-- F1-- L1-- F1-- L1--",
              "F02- L--- F--- L--- F--- L--- F--- L---", "F02- L02- F--- L--- F--- L--- F--- L---",
              "F02- L--- F--- L--- F02- L--- F--- L---", "F02- F--- L--- F---",
              "F02- F02- L--- F--- L---", "F02- F02- F--- L--- F--- L---"]  # fmt: skip
    found += ["Fb1- L01-", "Fb1c L01c", "Fb1c L31c", "Fb1- L0d-", "F-1- L-d-", "F-0- L-d-",
              "Fb1- F-1-", "Fb1- L-1-", "Fb1-", "Fb1- P01-", "F02c L01c", "Fbd- L---",
              "Fb1- L01- FB1- L01-", "Fb1- F01- FB1- F01-", "Fbd- L--- FBD- L---",
              "Lb1- F01-", "L-d0 F-01", "L-d0 F-11", "F01c L11-"]  # fmt: skip
    found += [f"{matrix} {x}*{count}" for matrix in "HJ" for count in (7, 15, 31)
              for x in ("F---", "F01-", "L---", "L01-")]  # fmt: skip
    for x in "FMLIAPN":
        found += [f"{x}0=-", f"F--- {x}0=-", f"F02- {x}0=-"]
        if x in THREE:
            found += [f"{x}0=1", f"{x}0=2", f"{x}01=", f"{x}02=", f"{x}0==", f"F0=2 {x}02="]
    return list(dict.fromkeys(found))


def _patterns_of_halves() -> list[str]:
    found = []
    for x in "GDUW":
        reads = ["---", "01-", "02-", *(["012", "020", "021", "102"] if x in THREE else [])]
        found += [before + x + read for read in reads for before in ("", "F--- ", "L--- ", "W--- ")]
        found += [f"{x}02- {other}" for other in ("L01-", "F01-", "L--- L---", "W012", "G012")]
        found += [f"{x}0=-", f"W--- {x}0=-"]
    found += ["W012 G012 D01-", "W012 G012 D02-", "U01- W012 D01- I01- W012 G012",
              "U02- W020 D02- I02- W020 G020", "G--- G--- W---", "G--- W--- W---",
              "G012 W012 W012", "G--- F---", "G--- F--- F---"]  # fmt: skip
    return list(dict.fromkeys(found))


PATTERNS = _patterns()
HALVES = _patterns_of_halves()
"""The same of sums and products of halves: G, D, U and W."""


def tokens(pattern: str) -> list[str]:
    """Return the instructions that a pattern names, one after the other.

    >>> tokens("H F01-*2")
    ['H', 'F01-', 'F01-']
    """
    parts = (part.partition("*") for part in pattern.split())
    return [one for one, _, times in parts for _ in range(int(times or 1))]


def replaced(image: bytes, pattern: str) -> bytes:
    """Return a cubin whose FFMAs are what a pattern says, with a stall count of one."""
    words, runs, registers = run_of(image)
    control = control_of(1)
    each = cycle(tokens(pattern))
    for k in runs:
        one = next(each)
        letter, residues = one[0], one[1:]
        if letter in "HJ":
            words[k], words[k + 1] = KINDS[letter][0], KINDS[letter][1] | control
            continue
        read = [
            ZERO if n in "-=" else next(registers.of[int(n)]) if n.isdigit()
            else registers.fixed[place, "abcd".index(n.lower())]
            for place, n in enumerate(residues)
        ]  # fmt: skip
        a, b, c = (read[0] if n == "=" else one for n, one in zip(residues, read, strict=True))
        reuse = sum(1 << place for place, n in enumerate(residues) if n in "abcd")
        low, high = KINDS[letter]
        target = 0 if letter == "P" else next(registers.targets)
        words[k] = low | target << 16 | a << 24 | b << 32
        words[k + 1] = high | control | reuse << 58 | (c if letter in THREE else 0)
    return words.tobytes() + image[len(words) * 8 :]


def measure_banks_beside(device: int = 0) -> list[dict[str, Any]]:
    """Return a row per pattern: cycles of a sub-partition per instruction, with 1, 2, 4 warps."""
    return _measured(PATTERNS, device)


def measure_banks_of_halves(device: int = 0) -> list[dict[str, Any]]:
    """Return the same rows of patterns with sums and products of halves."""
    return _measured(HALVES, device)


def _measured(patterns: list[str], device: int) -> list[dict[str, Any]]:
    open_gpu(device)
    import cupy

    with cupy.cuda.Device(device):
        with TemporaryDirectory() as folder:
            image = compiled(banks_source(), Path(folder))
        return [{"reads": each, **issued(replaced(image, each), 1, 4)} for each in patterns]
