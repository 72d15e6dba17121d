"""Nothing that a file holds may do more than raise a typed error."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from simulator import replay_compiled
from simulator.errors import CubinError, SassError
from simulator.sass.code.cubin import read_cubin
from simulator.sass.code.nvdisasm import SassInstruction, disassemble
from simulator.sass.lift.operands import DecodeProblem, parse
from simulator.sass.lift.program import decode
from simulator.sass.lift.table import OPCODES
from simulator.sass.run.cluster import Cluster
from simulator.sass.run.grid import GridRun
from tests.examples import examples
from tests.sass_kernels import cubin, needs_tools
from tests.sass_warp import CUBIN, KERNEL

pieces = st.sampled_from(
    ["R0", "R7.reuse", "-R254", "|R3|", "~R9", "RZ", "R300", "R2.H0_H0", "R5.B1", "UR4", "URZ",
     "UR63", "P0", "!P6", "PT", "UP1", "!UPT", "0x10", "-0x1", "0xfffffffff", "1.5", "-INF",
     "+QNAN", "c[0x0][0x210]", "c[0x0][R2+0x8]", "c[0x1f][0xfffc]", "c[0x40][0x0]", "-c[0x0][0x0]",
     "[R2]", "[R2.64+0x10]", "[R254.64]", "desc[UR6][R2.64+-0x4]", "[R2.X4+UR4+0x1]", "[UR5]",
     "[R2.U32+UR4]", "[]", "B0", "B17", "SR_TID.X", "SRZ", "PR", "gsb0", "R4.ROW", "", "c[", "]]"]
)  # fmt: skip
modifiers = st.sampled_from(
    ["U32", "S32", "X", "HI", "WIDE", "64", "128", "U8", "E", "AND", "OR", "EX", "GE", "LT", "F32",
     "F64", "F16", "BF16_V2", "TRUNC", "RM", "SAT", "ALL", "ANY", "BFLY", "IDX", "LUT", "SYNC",
     "RED", "POPC", "INC", "ADD", "CAS", "CAST", "SPIN", "16", "M88", "MT88", "4", "16816", "1684",
     "TF32", "S8", "4A", "CLEAR", "32", "REL", "NOINC", "R", "L", "U64", "W", "RCP", "PACK_AB",
     "NOSUCH"]
)  # fmt: skip


@given(st.lists(pieces, max_size=7), st.text(max_size=12))
def test_operands_parse_or_are_a_problem(parts: list[str], noise: str) -> None:
    for text in (",".join(parts), noise, ",".join([*parts, noise])):
        try:
            parse(text)
        except DecodeProblem:
            continue


@st.composite
def instruction_texts(draw: st.DrawFn) -> SassInstruction:
    name = draw(st.sampled_from(sorted(OPCODES)))
    parts = [name, *draw(st.lists(modifiers, max_size=4))]
    guard = draw(st.sampled_from(["", "@P0", "@!P2", "@UP1", "@PT", "@", "@Q"]))
    return SassInstruction(0, guard, ".".join(parts), ",".join(draw(st.lists(pieces, max_size=7))))


@settings(max_examples=examples(300), suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(instruction_texts(), min_size=1, max_size=6))
def test_any_instructions_name_what_exists(found: list[SassInstruction]) -> None:
    """Registers, sites and targets; what is not understood is a problem, and all else is not."""
    program = decode(tuple(found), KERNEL)
    assert len(program.steps) == len(found)
    assert 1 <= program.registers <= 255
    assert all(0 <= leader <= len(found) for leader in program.leaders)
    numbers = [number for step in program.steps for number in step.sites]
    assert numbers == [*range(len(program.sites))]
    for step, instruction in zip(program.steps, found, strict=True):
        assert step.instruction is instruction
        assert not step.problem or (step.ends and not step.sites)


@settings(max_examples=examples(40), suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_any_instructions_run_or_raise(data: st.DataObject) -> None:
    found = data.draw(st.lists(instruction_texts(), min_size=1, max_size=12))
    # What is not understood would end the run at once.
    known = [each for each in found if not decode((each,), KERNEL).problems]
    program = decode(
        tuple(
            SassInstruction(16 * place, each.guard, each.opcode, each.operands)
            for place, each in enumerate([*known, SassInstruction(0, "", "EXIT", "")])
        ),
        KERNEL,
    )
    launch = GridRun(CUBIN, program, (1, 1, 1), (48, 1, 1), (), max_instructions=2000)
    try:
        Cluster(launch).run((0, 0, 0), 1)
    except SassError:
        return


@needs_tools
@settings(max_examples=examples(40))
@given(st.integers(0, 20919), st.binary(min_size=1, max_size=16))
def test_a_damaged_cubin_is_read_or_refused(place: int, noise: bytes) -> None:
    image = cubin("scan")
    damaged = image[:place] + noise + image[place + len(noise) :]
    try:
        read_cubin(damaged)
    except CubinError:
        return


@needs_tools
@pytest.mark.usefixtures("afresh")  # no damage comes twice
@settings(max_examples=examples(12), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_damaged_code_is_replayed_or_refused(data: st.DataObject) -> None:
    image = cubin("scan")
    places = data.draw(st.lists(st.integers(0, len(image) - 1), min_size=1, max_size=8))
    damaged = bytearray(image)
    for place in places:
        damaged[place] ^= data.draw(st.integers(1, 255))
    args = [np.arange(256, dtype=np.int32), np.zeros(256, np.int32)]
    try:
        replay_compiled(
            bytes(damaged), kernel="scan_shared", grid=1, block=256, args=args,
            max_instructions=50_000,
        )  # fmt: skip
    except SassError:
        return


@needs_tools
def test_every_committed_cubin_is_understood_wholly() -> None:
    for name in ("smem", "double_buffered", "half_tiles", "wmma", "tensor_gemm", "softmax"):
        whole = read_cubin(cubin(name))
        for kernel in whole.kernels.values():
            assert decode(disassemble(whole.image, kernel.name), kernel).problems == {}
