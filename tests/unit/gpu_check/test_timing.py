"""Microbenchmarks: their loops hold what they time, and launches are those that were named."""

from __future__ import annotations

import csv
from collections import Counter
from functools import lru_cache
from pathlib import Path

import numpy as np
import pytest

from gpu_check.timing import kernels, paths
from gpu_check.timing.aside import TEXTS, aside_source
from gpu_check.timing.delays import delays_source
from gpu_check.timing.dispatching import dispatched, kinds
from gpu_check.timing.first_touch import first_touch_source
from gpu_check.timing.pipes import MIXES, source
from tests.sass_kernels import needs_compiler

DATA = Path(__file__).parents[3] / "gpu_check/data"
CASES = Path(__file__).parents[2] / "silicon/timed/cases.json"


def opcodes(text: str, function: str) -> Counter[str]:
    """Opcodes of a kernel, compiled for the H100: how many of each."""
    from simulator.sass.code.nvdisasm import disassemble

    return Counter(each.opcode for each in disassemble(compiled(text), function))


@lru_cache
def compiled(text: str) -> bytes:
    from simulator.sass.code.images import load
    from simulator.sass.code.options import make_options

    return load(text, "sm_90", None, make_options((), {}, ()))[0].image


@needs_compiler
def test_mixes_keep_all_their_copies() -> None:
    both = {name: source(name, apart=True) for name in MIXES}
    whole = "\n".join(text for _, text in both.values())  # one compilation is quicker
    for name, (function, _) in both.items():
        found = opcodes(whole, function)
        expected = MIXES[name].expected
        assert sum(many for opcode, many in found.items() if opcode.startswith(expected)) >= 64


@needs_compiler
@pytest.mark.parametrize("kind", ["load", "store"])
@pytest.mark.parametrize(("width", "suffix"), [(4, ""), (8, ".64"), (16, ".128")])
def test_accesses_stay_as_wide_as_they_are_named(kind: str, width: int, suffix: str) -> None:
    found = opcodes(paths.access_source(kind, width), "access")
    name = {"load": "LDG.E", "store": "STG.E"}[kind] + suffix
    assert sum(many for opcode, many in found.items() if opcode.startswith(name)) >= 64


@needs_compiler
def test_a_queue_holds_each_access_twice() -> None:
    found = opcodes(paths.queue_source("store of 32 wavefronts", 5), "queue")
    assert found["STS"] == 10


@needs_compiler
@pytest.mark.parametrize("name", TEXTS)
def test_as_many_instructions_as_were_asked_for_wait_before_a_slow_pipe(name: str) -> None:
    found = opcodes(aside_source(name, 20), "aside")
    own = sum(times for opcode, times in found.items() if opcode.startswith(name))
    assert 20 <= own < 30  # others read parameters: a copy of the loop would add as many


@needs_compiler
def test_one_load_is_timed_at_a_time() -> None:
    assert opcodes(first_touch_source(), "first_touch")["LDG.E.STRONG.GPU"] == 1
    for word, opcode in (("4", "LDG.E"), ("16", "LDG.E.128")):
        assert opcodes(delays_source(), f"delays_{word}")[opcode] == 1


def test_patterns_touch_the_lines_that_they_name() -> None:
    for _, name, offsets in paths.access_offsets():
        lines = len({offset // 128 for offset in offsets})
        wanted = int(name.split()[0]) if name[0].isdigit() else None
        assert len(offsets) == 32
        assert wanted in (None, lines)


def test_every_case_can_be_launched() -> None:
    found = kernels.read_cases(CASES)
    assert len({case["name"] for case in found}) == len(found) == 40
    for case in found:
        assert Path(case["cubin"]).is_file()
        assert np.prod(case["grid"]) >= 132 or "double-buffered" in case["name"]
        assert np.prod(case["block"]) <= 1024


def test_a_loop_gets_other_instructions_that_wait_for_nothing() -> None:
    forms = kinds((CASES.parent / "cubins/fourth_elements.cubin").read_bytes())
    assert {"FFMA", "IMAD.WIDE", "LOP3", "IMAD"} <= set(forms)
    loop = [
        word
        for k in range(16)
        for word in (0x7223 | 2 * k << 16 | (2 * k + 1) << 24 | 3 << 32, 5 | 1 << 41)
    ]
    made = dispatched(np.array(loop, "<u8").tobytes(), forms, ("IMAD.WIDE", "LOP3"))
    words = np.frombuffer(made, "<u8").reshape(-1, 2)
    low, high = words[:, 0].astype(np.uint64), words[:, 1]
    assert (low & 0xFFF).tolist() == [0x225, 0x212] * 8
    targets, sources = (low >> 16 & 0xFF).tolist(), (low >> 24 & 0xFF).tolist()
    assert not set(targets) & set(sources)
    assert all(r % 2 == 0 for r in targets)
    assert {int(each) >> 41 & 0xF for each in high} == {1}  # stall
    assert {int(each) >> 46 & 0x3F for each in high} == {0x3F}  # no scoreboards


def test_peaks_are_what_the_tables_of_rates_say() -> None:
    from simulator.timing.pipes import memory_rate
    from simulator.timing.rates import rates_of

    with (DATA / "h100_peaks.csv").open() as file:
        peaks = {row["counter"].split(".")[0]: float(row["value"]) for row in csv.DictReader(file)}
    h100 = rates_of("H100")
    for name in ("alu", "fmaheavy", "fmalite", "fp64", "xu", "lsu", "adu", "cbu", "uniform"):
        pipe = h100.pipes[name]
        per_sm = peaks[f"sm__inst_executed_pipe_{name}"] / 132
        assert (1 if pipe.is_shared else 4) / pipe.cycles == per_sm, name
    assert memory_rate("l2_bytes", h100.chip) == peaks["lts__t_bytes"]
    assert memory_rate("to_sm_bytes", h100.chip) == peaks["l1tex__m_xbar2l1tex_read_bytes"] / 132
    assert memory_rate("from_sm_bytes", h100.chip) == peaks["l1tex__m_l1tex2xbar_write_bytes"] / 132
    dram = peaks["dram__bytes"] * 2.619e9  # bytes per cycle of the memory
    assert h100.chip.dram_gb_per_s == pytest.approx(dram / 1e9, rel=1e-3)
