"""Code that names what a driver fills in: texts of asserts, and functions of the system."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

from simulator import replay_compiled
from simulator.sass.code.linking import BANK, CodeLink, linked, read_links
from simulator.sass.code.nvdisasm import SassInstruction
from simulator.sass.lift.operands import Constant, parse
from tests.sass_kernels import needs_compiler

NAMES = ["32@lo($str$24)", "32@hi($str$24)", "32@lo((kernel,+,.L_x_3@srel))", "0x1e1"]


class Relocation(dict[str, Any]):
    def is_RELA(self) -> bool:
        return "r_addend" in self


def elf(kind: str = "ET_EXEC") -> Any:
    sections = [SimpleNamespace(name=name) for name in (".text.kernel", ".nv.global.init", ".x")]
    return SimpleNamespace(
        header=SimpleNamespace(e_type=kind), get_section=lambda which: sections[which]
    )


class Symbol(dict[str, Any]):
    def __init__(self, name: str, section: int | str, value: int = 0) -> None:
        super().__init__(st_shndx=section, st_value=value)
        self.name = name


SYMBOLS = [Symbol("$str$24", 1, 48), Symbol("kernel", 0), Symbol("__assertfail", "SHN_UNDEF")]


def relocations(*which: int) -> list[Relocation]:
    return [
        Relocation(r_offset=16 * place, r_info_sym=symbol, r_addend=2)
        for place, symbol in enumerate(which)
    ]


def test_halves_of_addresses_are_read_from_a_bank() -> None:
    links = read_links(elf(), relocations(0, 0, 1, 2), SYMBOLS)
    text = CodeLink(0, ".nv.global.init", 50, 0)
    assert links[:2] == [text, CodeLink(16, ".nv.global.init", 50, 0)]
    code = tuple(
        SassInstruction(16 * place, "", "MOV", f"R{place},{name}", "", 0)
        for place, name in enumerate(NAMES)
    )
    assert [each.operands for each in linked(code, links)] == [
        f"R0,c[{BANK:#x}][0x0]", f"R1,c[{BANK:#x}][0x4]", "R2,0x0", "R3,0x1e1",
    ]  # fmt: skip
    assert linked(code, []) is code


def test_what_a_linker_has_to_place_is_not_filled_in() -> None:
    assert read_links(elf("ET_REL"), relocations(0), SYMBOLS) == []
    assert read_links(elf(), relocations(0), [Symbol("tile", 2)]) == []
    assert read_links(elf(), relocations(0), [Symbol("other", "SHN_UNDEF")]) == []


@needs_compiler
def test_a_last_parameter_of_two_bytes_is_read_as_half_a_word() -> None:
    source = """#include <cuda_fp16.h>
__global__ void k(float *o, __half x, __half y) { o[threadIdx.x] = __half2float(y) * float(x); }"""
    args = [np.zeros(32, np.float32), np.float16(1.5), np.float16(-2.25)]
    given = {"grid": 1, "block": 32, "arch": "sm_80"}
    assert (replay_compiled(source, args=args, **given).outputs[0] == -3.375).all()
    source, args = source.replace("__half x, ", "").replace(" * float(x)", ""), [args[0], args[2]]
    assert (replay_compiled(source, args=args, **given).outputs[0] == -2.25).all()


def test_a_half_of_a_constant_is_an_operand() -> None:
    half = parse("R0,-c[0x0][0x19c].H1_H1")[1]
    assert isinstance(half, Constant)
    assert (half.bank, half.offset, half.signs.half) == (0, 0x19C, "H1_H1")
    assert half.signs.negative
