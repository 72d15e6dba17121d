"""parse_gmma against what NVRTC made of every type and option of wgmma."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from simulator.errors import UnsupportedError
from simulator.sass.lift.gmma_form import Gmma, parse_gmma
from tests.sass_kernels import needs_compiler

LINES = (Path(__file__).parent / "gmma_forms.txt").read_text().splitlines()


def wanted(ptx: str) -> dict[str, object]:
    """What the PTX says: `sp.m64n8k16.f32.bf16.bf16 ss, scale-a, scale-b, transpose-a, …-b`."""
    head, *immediates = re.split(r",\s*", ptx.strip())
    shape, place = head.rsplit(" ", 1)
    sparse, n, k, accumulator, a, b, *options = re.fullmatch(
        r"(sp\.)?m64n(\d+)k(\d+)\.(\w+)\.(\w+)\.(\w+)((?:\.\w+)*)", shape
    ).groups()  # type: ignore[union-attr]
    numbers = [int(each) for each in immediates]
    scales, transposes = numbers[:2], numbers[2:]
    if place == "rs":
        transposes = [0, *transposes]
    return {
        "n": int(n), "k": int(k), "accumulator": accumulator, "a_type": a, "b_type": b,
        "sparse": bool(sparse), "saturates": ".satfinite" in options,
        "negate_a": scales[:1] == [-1], "negate_b": scales[1:] == [-1],
        "transpose_a": transposes[:1] == [1], "transpose_b": transposes[1:] == [1],
        "in_registers": place == "rs",
    }  # fmt: skip


@pytest.mark.parametrize("line", LINES)
def test_the_text_says_what_the_ptx_said(line: str) -> None:
    ptx, _, sass = line.partition("|")
    form = parse_gmma(sass)
    found = {name: getattr(form, name) for name in wanted(ptx) if name != "in_registers"}
    assert {**found, "in_registers": form.a_register is not None} == wanted(ptx)
    first = int(re.search(r" R(\d+)", sass)[1])  # type: ignore[index]
    assert (form.destination, form.source, form.descriptors) == (first, first, 4)
    assert (form.scale_d, form.group) == ("UP0", 0)
    assert form.registers == form.n // (4 if form.accumulator == "f16" else 2)


def test_the_samples_hold_every_n_and_every_type() -> None:
    forms = [parse_gmma(line.partition("|")[2]) for line in LINES]
    assert {form.n for form in forms} == set(range(8, 257, 8))
    assert len({(form.accumulator, form.a_type, form.b_type) for form in forms}) == 17


@pytest.mark.parametrize(
    ("text", "source", "scale", "group"),
    [
        ("HGMMA.64x64x16.F32 R24, gdesc[UR12], R24", 24, "UPT", None),
        ("HGMMA.64x64x16.F32 R24, gdesc[UR12], R24, gsb0", 24, "UPT", 0),
        ("HGMMA.64x64x16.F32 R24, R28, gdesc[UR4].tnspB, RZ, !UPT, gsb0", None, "!UPT", 0),
        ("HGMMA.64x64x16.F32 R24, gdesc[UR4], R24.reuse, !UP1", 24, "!UP1", None),
    ],
)
def test_the_accumulator_and_its_predicate(
    text: str, source: int | None, scale: str, group: int | None
) -> None:
    form = parse_gmma(text)
    assert (form.source, form.scale_d, form.group) == (source, scale, group)


def test_a_group_without_products() -> None:
    form = parse_gmma("HGMMA.64x8x16.F16 RZ,gdesc[URZ],RZ,!UPT,gsb0")
    assert form.is_empty
    assert (form.destination, form.descriptors, form.group) == (None, None, 0)
    assert not parse_gmma("HGMMA.64x8x16.F16 R4,gdesc[UR4],RZ,!UPT,gsb0").is_empty


def test_wavefronts_are_those_measured() -> None:
    """Nsight's op_gmma on an H100: SS 18, 32, 80 and RS 2, 16, 64 for n of 8, 64, 256."""
    for place, extra in (("", 16), ("R32,", 0)):
        for n in (8, 64, 256):
            text = f"HGMMA.64x{n}x16.F32 R24,{place}gdesc[UR4],R24,UP0,gsb0"
            assert parse_gmma(text).wavefronts == n // 4 + extra


@pytest.mark.parametrize(
    "text",
    [
        "HMMA.16816.F32 R4,R8,R12,R4", "HGMMA.64x12x16.F32 R24,gdesc[UR4],R24,UP0",
        "HGMMA.64x264x16.F32 R24,gdesc[UR4],R24,UP0", "HGMMA.64x8x32.F32 R24,gdesc[UR4],R24,UP0",
        "HGMMA.64x8x16 R24,gdesc[UR4],R24,UP0", "HGMMA.64x8x16.F32 R24,gdesc[UR4],R24,P0",
        "IGMMA.64x8x32.F32.S8.S8 R24,gdesc[UR4],R24", "QGMMA.64x8x32.F32.S8.S8 R24,gdesc[UR4],R24",
        "HGMMA.64x8x8.F32.TF32 R24,gdesc[UR4].tnspB,R24",
        "HGMMA.64x8x16.F32.SAT R24,gdesc[UR4],R24", "HGMMA.64x8x16.F32 R24,gdesc[URZ],R24",
        "HGMMA.64x8x16.F32 RZ,gdesc[UR4],RZ,!UPT", "HGMMA.64x8x16.F32 RZ,gdesc[URZ],R24",
        "BGMMA.64x8x256.XOR.POPC R24,gdesc[UR4],R24,UP0", "HGMMA.64x8x16.F32", "",
    ],
)  # fmt: skip
def test_other_text_is_refused(text: str) -> None:
    with pytest.raises(UnsupportedError, match="not modelled"):
        parse_gmma(text)


@needs_compiler
def test_a_group_of_two_compiled_here_reads_as_it_was_written() -> None:
    from simulator.sass.code.compiling import compile_source
    from simulator.sass.code.nvdisasm import disassemble

    source = r"""extern "C" __global__ void k(
    float *o, unsigned long long a, unsigned long long b) { float d[4];
    asm volatile("{ .reg .pred p; setp.ne.b32 p, 0, 0; .reg .pred q; setp.eq.b32 q, 0, 0;"
        "wgmma.fence.sync.aligned;"
        "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0,%1,%2,%3}, %4, %5, p, 1, 1, 0, 0;"
        "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0,%1,%2,%3}, %5, %4, q, 1, -1, 0, 1;"
        "wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0; }"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "l"(a), "l"(b));
    for (int i = 0; i < 4; i++) o[4 * threadIdx.x + i] = d[i]; }"""
    code = disassemble(compile_source(source, "sm_90a", "two.cu").cubin, "k")
    forms: list[Gmma] = [parse_gmma(str(each)) for each in code if "GMMA" in each.opcode]
    assert [form.scale_d for form in forms] == ["!UPT", "UPT"]
    assert [form.group for form in forms] == [None, 0]
    assert [form.transpose_b for form in forms] == [False, True]
    assert [form.negate_b for form in forms] == [False, True]
    assert forms[0].source is None
    assert forms[1].source == forms[0].destination
