"""What the probe runs, and the accesses that are drawn for it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpu_check import (
    DeviceError,
)
from gpu_check.probe.ops import LOOPS, PROBE_OPS, probe_op, require_capability
from gpu_check.probe.patterns import PATTERNS, draw
from gpu_check.probe.probe import Probe
from simulator import count
from simulator.law.instructions import INSTRUCTIONS, instruction
from tests.examples import examples
from tests.gpu_samples import CHIP, LANES


def test_a_chip_too_old_for_an_instruction_is_refused() -> None:
    require_capability(CHIP, probe_op("cp.async.ca.16"))
    with pytest.raises(DeviceError, match=r"STSM.16.M88.4 needs sm_90, and device 0 \(Test chip\)"):
        require_capability(CHIP, probe_op("stmatrix.x4"))
    with pytest.raises(DeviceError, match=r"needs sm_75.*is sm_70"):
        require_capability(replace(CHIP, capability=70), probe_op("ldmatrix.x1"))


def test_every_struct_of_the_probe_is_in_the_table_and_the_reverse() -> None:
    import re
    from importlib.resources import files

    source = files("gpu_check").joinpath("cuda", "probe.cu").read_text(encoding="utf-8")
    structs = re.findall(r"^(?:LOAD|STORE|REDUCE|STRUCT|COPY)\((\w+)", source, re.MULTILINE)
    assert len(set(structs)) == len(structs)
    left = set(structs) ^ {each.struct for each in PROBE_OPS.values()}
    assert left == set(), "in one of gpu_check/cuda/probe.cu and gpu_check/probe/ops.py alone"
    assert set(PROBE_OPS) == {*INSTRUCTIONS, *LOOPS}


@given(op=st.sampled_from([op for op in PROBE_OPS if op not in LOOPS]), seed=st.integers(0, 99))
@settings(max_examples=examples(30))
def test_drawn_accesses_are_accepted(op: str, seed: int) -> None:
    known = instruction(op)
    drawn = draw(known, 48, seed)
    counts = count(known, drawn.addresses, None if known.is_matrix else drawn.masks)
    assert counts.wavefronts.shape == (48,)
    assert set(drawn.patterns.tolist()) == set(PATTERNS)
    assert np.array_equal(drawn.addresses, draw(known, 48, seed).addresses)


def test_addresses_beyond_a_blocks_shared_memory_are_refused() -> None:
    probe = object.__new__(Probe)
    probe.op, probe.chip, probe._shared = probe_op("LDS"), CHIP, 1024
    addresses, masks = np.array([4 * LANES + 900]), np.array([0xFFFFFFFF], dtype=np.uint32)
    with pytest.raises(DeviceError, match=r"addresses reach byte 1040.*has 1024 .accepted: addr"):
        probe.load(addresses, masks, None)
