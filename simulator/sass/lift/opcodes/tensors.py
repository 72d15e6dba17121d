"""Tensor cores: products of matrix tiles, and a tile's transposition."""

from __future__ import annotations

from collections.abc import Sequence

from simulator.sass.lift.block import Block
from simulator.sass.lift.line import Line
from simulator.sass.lift.operands import DecodeProblem
from simulator.sass.lift.table import Emit, lifts
from simulator.sass.lift.tensors import BFLOAT, HALF, TFLOAT

__all__: list[str] = []


def _tiles(line: Line, name: str, words: Sequence[int], options: tuple[int, ...] = ()) -> Emit:
    """Read D, A, B, … of so many registers, and call a helper with their places."""
    target = line.target(words[0])
    if target is None and len(words) > 2:
        raise DecodeProblem(f"destination of {line.name}")
    inputs = []
    for count in words[1:]:
        if line.name == "IMMA":
            line.take_part("ROW", "COL")
        place = line.plain(count)
        if place.uniform:
            raise DecodeProblem(f"operand {line.next} of {line.name}")
        inputs.append((place, count))

    def emit(block: Block) -> None:
        rows = [block.stored(place, count) for place, count in inputs]
        to = block.landing(target, words[0])
        block.check(block.help(name, to, *rows, options=options))

    return emit


_HMMA = {"1684": 4, "1688": 8, "16816": 16}


@lifts("HMMA", says="16×8 tile of a matrix product: half, bfloat16, tf32.")
def _hmma(line: Line) -> Emit:
    line.only(*_HMMA, "F32", "F16", "BF16", "TF32")
    shape = next((each for each in line.modifiers if each in _HMMA), "")
    kind = BFLOAT if line.has("BF16") else TFLOAT if line.has("TF32") else HALF
    if not shape or (shape == "1684" and kind != TFLOAT) or (shape == "16816" and kind == TFLOAT):
        raise DecodeProblem("shape of HMMA")
    k, half_sums = _HMMA[shape], not line.has("F32")
    parts = k // 4 if kind == TFLOAT else k // 8
    sums = 2 if half_sums else 4
    return _tiles(line, "hmma", (sums, 2 * parts, parts, sums), (k, kind, int(half_sums)))


@lifts("DMMA", says="8×8×4 tile of a matrix product of doubles.")
def _dmma(line: Line) -> Emit:
    if line.modifiers not in (("884",), ("8x8x4",)):
        raise DecodeProblem("shape of DMMA")
    return _tiles(line, "dmma", (4, 2, 2, 4))


_IMMA = {"16816": 16, "16832": 32}


@lifts("IMMA", says="16×8 tile of a matrix product of bytes; its sums wrap, or saturate.")
def _imma(line: Line) -> Emit:
    line.only(*_IMMA, "S8", "U8", "SAT")
    shape = next((each for each in line.modifiers if each in _IMMA), "")
    signs = [each == "S8" for each in line.modifiers if each in ("S8", "U8")]
    if not shape or len(signs) != 2:
        raise DecodeProblem("shape of IMMA")
    k, signs_and_sat = _IMMA[shape], [int(each) for each in (*signs, line.has("SAT"))]
    return _tiles(line, "imma", (4, k // 8, k // 16, 4), (k, *signs_and_sat))


@lifts("QMMA", says="16×8 tile of a matrix product of floats of 8 bits.")
def _qmma(line: Line) -> Emit:
    line.only(*_IMMA, "F32", "F16", "E4M3", "E5M2")
    shape = next((each for each in line.modifiers if each in _IMMA), "")
    wide = [int(each == "E5M2") for each in line.modifiers if each in ("E4M3", "E5M2")]
    if not shape or len(wide) != 2:
        raise DecodeProblem("shape of QMMA")
    k, half_sums = _IMMA[shape], line.has("F16")
    sums = 2 if half_sums else 4
    return _tiles(line, "qmma", (sums, k // 8, k // 16, sums), (k, *wide, int(half_sums)))


@lifts("MOVM", says="Transposes an 8×8 matrix across the warp.")
def _movm(line: Line) -> Emit:
    if line.modifiers != ("16", "MT88"):
        raise DecodeProblem("shape of MOVM")
    return _tiles(line, "movm", (1, 1))
