"""Control bits: against what nvdisasm prints of the same words."""

import pytest

from simulator.sass.code.cubin import read_cubin
from simulator.sass.code.nvdisasm import disassemble
from simulator.timing.control import control
from tests.sass_kernels import cubin, needs_tools


@needs_tools
@pytest.mark.parametrize("name", ["warptile_4x8", "smem", "wmma", "ring", "wgmma_gemm"])
def test_reuse_bits_are_those_that_nvdisasm_prints(name: str) -> None:
    image = cubin(name)
    kernels = read_cubin(image).kernels
    seen = 0
    for kernel in kernels.values():
        for each in disassemble(image, kernel.name):
            word = int.from_bytes(kernel.code[each.address : each.address + 16], "little")
            bits = control(word)
            assert bits.reuse.bit_count() == each.operands.count(".reuse"), str(each)
            assert 0 <= bits.stall <= 15
            seen += 1
    assert seen > 20


@needs_tools
def test_what_loads_has_a_scoreboard_that_its_reader_waits_for() -> None:
    image = cubin("smem")
    (kernel,) = read_cubin(image).kernels.values()
    known = [
        (each, control(int.from_bytes(kernel.code[each.address : each.address + 16], "little")))
        for each in disassemble(image, kernel.name)
    ]
    loads = [place for place, (each, _) in enumerate(known) if each.opcode.startswith("LDG")]
    assert loads
    for place in loads:
        register = known[place][0].operands.split(",")[0]
        scoreboard = known[place][1].write_barrier
        assert scoreboard is not None
        reader = next(
            bits for each, bits in known[place + 1 :]
            if register in each.operands.replace(".reuse", "").split(",")[1:]
        )  # fmt: skip
        assert reader.waits >> scoreboard & 1
