"""Phases inferred from costs."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpu_check import (
    DiscoveryError,
    PhaseTable,
    infer_phases,
)
from gpu_check.probe.ops import LOOPS, PROBE_OPS
from simulator import count
from simulator.law.instructions import Instruction, instruction
from tests.examples import examples
from tests.gpu_samples import LANES


def model_cost(known: Instruction, rule: str = "silicon", figure: str = "wavefronts") -> Any:
    def cost(op: str, addresses: Any, masks: Any) -> Any:
        bits = 0xFFFFFFFF if known.is_matrix else masks
        return getattr(count(known, addresses, bits, rule=rule), figure).astype(float)

    return cost


class TestInference:
    @pytest.mark.parametrize("op", [op for op in PROBE_OPS if op not in LOOPS])
    def test_a_models_law_is_found_again(self, op: str) -> None:
        found = infer_phases(op, cost=model_cost(instruction(op)))
        assert found.differences(PhaseTable.of(op)) == []

    @pytest.mark.parametrize("op", ["LDS.128", "STS.128", "LDSM.16.M88.2", "ATOMS.CAS"])
    def test_by_cycles_too(self, op: str) -> None:
        cost = model_cost(instruction(op), figure="cycles")
        assert infer_phases(op, cost=cost).differences(PhaseTable.of(op)) == []

    def test_another_law_is_found_and_told_apart(self) -> None:
        cost = model_cost(instruction("LDS.128"), rule="documented")
        found = infer_phases("LDS.128", cost=cost)
        assert found.phases == PhaseTable.of("LDS.128").phases
        assert (found.fused, found.partners) == ((), ())
        assert len(found.differences(PhaseTable.of("LDS.128"))) == 4

    @given(phases=st.sampled_from([1, 2, 4]), fuses=st.booleans(), passes=st.sampled_from([1, 2]))
    @settings(max_examples=examples(12))
    def test_any_law_of_this_kind_is_found(self, phases: int, fuses: bool, passes: int) -> None:
        fuses = fuses and phases > 1
        known = replace(instruction("LDS.128"), phases=phases, fuses=fuses, passes=passes)
        found = infer_phases("LDS.128", cost=model_cost(known))
        expected = PhaseTable.of(known)
        assert found == replace(expected, fused=expected.fused if fuses else ())

    def test_strided_phases_are_found(self) -> None:
        """A chip that serves lanes 0, 4, 8, ... together: an order no instruction here has."""
        order = LANES.reshape(8, 4).T.reshape(32)
        plain = model_cost(instruction("STS.128"))

        def cost(op: str, addresses: Any, masks: Any) -> Any:
            assert (masks == 0xFFFFFFFF).all()
            return plain(op, addresses[:, order], masks)

        found = infer_phases("STS.128", cost=cost)
        assert found.phases == tuple(tuple(range(first, 32, 4)) for first in range(4))

    def test_half_a_cycle_is_no_answer(self) -> None:
        with pytest.raises(DiscoveryError, match="too far from a whole number"):
            infer_phases("LDS", cost=lambda op, addresses, masks: np.full(len(addresses), 1.5))

    def test_hidden_phases_are_no_answer(self) -> None:
        cost = model_cost(instruction("ATOMS.EXCH.64"), figure="cycles")
        with pytest.raises(DiscoveryError, match="clocks cannot tell its phases apart"):
            infer_phases("ATOMS.EXCH.64", cost=cost)

    def test_tables_are_kept_with_their_provenance(self) -> None:
        kept = json.loads(PhaseTable.of("LDS.64").to_json({"chip": "mine"}))
        assert kept["provenance"] == {"chip": "mine"}
        assert kept["table"]["partners"] == [1, 2]
