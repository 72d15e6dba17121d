"""What estimates refuse: every parameter of every function, by its range, and what does not fit."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import ClassVar

import numpy as np
import pytest

from layouts.errors import BankwiseError
from simulator.errors import QuantityError
from simulator.gemm import estimates
from simulator.gemm import occupancy as occupancies
from simulator.gemm.estimates import (
    ffma_per_shared_cycle,
    gemm_flops,
    global_reads_naive,
    global_reads_tiled,
    instruction_mix,
    l2_hit_rate,
    load_ffma_ratio,
    split_k,
    wave_extent,
    weighted_bandwidth,
)
from simulator.gemm.occupancy import DEVICES, occupancy

FUNCTIONS = {
    name: getattr(module, name)
    for module in (estimates, occupancies)
    for name in module.__all__
    if name.islower()
}


class TestBadInput:
    VALID: ClassVar[dict[str, dict[str, object]]] = {
        "break_even_bandwidth": {"p_ffma": 14.0, "intensity": 16.0},
        "compute_memory_ratio": {"x": 4, "y": 8},
        "ffma_per_shared_cycle": {"rows": 4, "cols": 8, "m_frag": 8, "n_frag": 8, "port": 64},
        "fragment_registers": {"m_frag": 8, "n_frag": 8, "buffers": 2},
        "gemm_flops": {"m": 4, "n": 4, "k": 4, "epilogue": 3},
        "gemm_intensity": {"m": 4, "n": 4, "k": 4, "element": 4},
        "gemm_performance": {"p_ldg": 1.0, "intensity": 1.0, "p_ffma": 1.0},
        "gemm_ratio": {"m_tile": 64, "n_tile": 64, "element": 4},
        "global_reads_naive": {"m": 4, "n": 4, "k": 4},
        "global_reads_per_element": {"k": 4, "m_tile": 2, "n_tile": 2},
        "global_reads_tiled": {"m": 4, "n": 4, "k": 4, "m_tile": 2, "n_tile": 2},
        "i_ratio": {"m_frag": 8, "n_frag": 8, "words_per_load": 4},
        "inner_product_share": {"port": 64, "ffma_per_cycle": 64},
        "instruction_mix": {"m_tile": 128, "n_tile": 128, "k_tile": 8, "m_frag": 8, "n_frag": 8},
        "l2_hit_rate": {"wave_m": 2, "wave_n": 2, "m_tile": 1, "n_tile": 1, "wave": 4},
        "least_seconds": {"amount": 1.0, "rate": 1.0},
        "load_ffma_ratio": {
            "mix": instruction_mix(128, 128, 8, 8, 8),
            "ldg_latency": 400.0,
            "sts_latency": 19.0,
        },
        "loop_trips": {"k": 8, "k_tile": 8},
        "matrix_bytes": {"m": 4, "n": 4, "k": 4, "element": 4},
        "naive_intensity": {"element": 4},
        "occupancy": {"threads": 256, "registers": 32, "shared": 1024, "device": "V100"},
        "output_bytes": {"m": 4, "n": 4, "element": 4},
        "shared_cycles": {"threads": 4, "frag": 8, "port": 64},
        "shared_reads_per_element": {"k": 8, "m_frag": 8, "n_frag": 8},
        "split_k": {"k": 8, "parts": 2},
        "wave_extent": {"m": 4, "n": 4, "m_tile": 1, "n_tile": 1, "wave": 4},
        "wave_size": {"blocks_per_sm": 2, "sms": 80},
        "weighted_bandwidth": {"l2_bandwidth": 2.0, "dram_bandwidth": 1.0, "hit_rate": 0.5},
    }
    ZERO_IS_FINE = frozenset(
        {("gemm_flops", "epilogue"), ("occupancy", "shared"), ("weighted_bandwidth", "hit_rate")}
    )
    BAD: tuple[object, ...] = (
        0,
        -1,
        -0.5,
        math.nan,
        math.inf,
        -math.inf,
        2**63,
        1e300,
        1j,
        True,
        None,
        "4",
        b"4",
        [],
    )

    def test_every_function_is_tried(self) -> None:
        assert set(FUNCTIONS) == set(self.VALID)
        for name, arguments in self.VALID.items():
            FUNCTIONS[name](**arguments)

    @pytest.mark.parametrize("bad", BAD, ids=repr)
    @pytest.mark.parametrize(
        ("name", "argument"),
        [(name, each) for name, given_ in VALID.items() for each in given_ if each != "mix"],
    )
    def test_is_refused_with_what_was_given_and_what_is_accepted(
        self, name: str, argument: str, bad: object
    ) -> None:
        arguments = {**self.VALID[name], argument: bad}
        if bad == 0 and bad is not False and (name, argument) in self.ZERO_IS_FINE:
            FUNCTIONS[name](**arguments)
            return
        with pytest.raises(QuantityError) as refused:
            FUNCTIONS[name](**arguments)
        assert f"{argument} {bad!r}" in str(refused.value)
        assert "accepted: " in str(refused.value)

    def test_is_a_bankwise_error(self) -> None:
        with pytest.raises(BankwiseError):
            split_k(0, 1)

    def test_numpy_integers_count_as_integers(self) -> None:
        k, parts = np.array([4096, 20], dtype=np.int32)
        assert split_k(k, parts) == (204, 220)
        assert all(type(part) is int for part in split_k(k, parts))
        assert global_reads_naive(k, k, k) == 2**37  # NumPy's own product would wrap

    def test_sizes_are_never_truncated_to_a_machine_word(self) -> None:
        assert gemm_flops(2**40, 2**40, 2**40) == 2**121

    @pytest.mark.parametrize("digits", [400, 5000])
    def test_absurd_integers(self, digits: int) -> None:
        with pytest.raises(QuantityError, match=r"^k .* is not a size"):
            split_k(10**digits, 2)

    @pytest.mark.parametrize(
        ("refused", "message"),
        [
            (lambda: global_reads_tiled(100, 64, 8, 64, 64), r"100 is not a multiple of 64"),
            (lambda: instruction_mix(128, 128, 8, 6, 8), r"m_tile by m_frag: 128 .* of 6"),
            (
                lambda: instruction_mix(256, 256, 4, 4, 4),
                r"2048 .*accepted: multiples, such as 4096",
            ),
            (lambda: instruction_mix(8, 8, 8, 2, 2), r"m_frag by LDS\.128: 2"),
            (lambda: load_ffma_ratio(instruction_mix(64, 64, 8, 8, 8), 500, 12), "less than 512"),
            (lambda: split_k(4, 5), r"parts 5 .*accepted: 1 to k = 4"),
            (lambda: ffma_per_shared_cycle(4, 4), r"rows 4 by cols 4 is 16 lanes .* 32 lanes"),
            (lambda: wave_extent(512, 512, 128, 128, 17), r"wave 17 .*accepted: 1 to 16"),
            (lambda: l2_hit_rate(2, 2, 1, 1, 5), r"too small for 5 tiles .* at least 5 elements"),
            (lambda: weighted_bandwidth(1, 1, 1.5), r"hit_rate 1\.5 .*from 0 to 1"),
            (lambda: occupancy(1, 1, 0, "V10"), r"unknown device 'V10': did you mean V100\?"),
            (lambda: replace(DEVICES["V100"], partitions=0), r"partitions 0 .*accepted"),
        ],
    )
    def test_what_does_not_fit_together(self, refused: Callable[[], object], message: str) -> None:
        with pytest.raises(QuantityError, match=message):
            refused()
