"""The tests' kernels, compiled for every architecture: their results by NumPy, their counts.

No chip but sm_90's was measured: counts follow its law, the assumption that `bankwise chips` names.
"""

from __future__ import annotations

from typing import Any, get_args

import numpy as np
import pytest

from simulator import replay_compiled
from simulator.sass.architectures import ARCHITECTURES, Arch
from simulator.sass.arguments import argument
from tests.sass_kernels import needs_compiler
from tests.silicon.sass.architectures import CASES, compiled
from tests.silicon.test_sass import GEMMS, WANTED

pytestmark = needs_compiler

NAMES = [each.name for each in ARCHITECTURES.values()]
# What the ordinary run tries: a kernel that diverges, one that shares, one of tensor cores.
FEW = [("sm_87", "tensor_gemm"), ("sm_75", "scan on scan"), ("sm_75", "histogram on bytes"),
       ("sm_120", "wmma_padded")]  # fmt: skip


def replayed(arch: str, name: str) -> tuple[list[Any], Any]:
    case = CASES[name]
    args = [argument(text, place) for place, text in enumerate(case["args"])]
    report = replay_compiled(
        compiled(name, arch), kernel=case["kernel"], grid=tuple(case["grid"]),
        block=tuple(case["block"]), args=args, shared_bytes=case["shared"], blocks="all",
    )  # fmt: skip
    return args, report


def is_possible(arch: str, name: str) -> bool:
    """The kernel of `tensor_gemm` uses cp.async, which Turing does not have."""
    return name != "tensor_gemm" or arch != "sm_75"


def check(arch: str, name: str) -> None:
    args, report = replayed(arch, name)
    assert report.arch == arch
    output = next(i for i, text in enumerate(CASES[name]["args"]) if text.startswith("zeros"))
    found = report.outputs[output]
    if name in GEMMS:
        exact = args[0].astype(np.float64) @ args[1].astype(np.float64)
        tolerance = 2e-3 if found.dtype == np.float16 else 2e-6
        assert np.abs(found - exact).max() <= tolerance * np.abs(exact).max()
    elif found.dtype.kind == "f":
        np.testing.assert_allclose(found, WANTED[name](args), rtol=1e-5, atol=2e-5)
    else:
        assert (found == WANTED[name](args)).all()
    if name.startswith("transpose on"):
        tile = 32 * 32 * 16  # words of a tile, each stored and loaded once; blocks
        every = report.totals()["all"]
        assert every["ideal"] == 2 * tile // 32
        assert (every["bank_conflicts"] > 0) == (name == "transpose on naive")


@pytest.mark.parametrize(("arch", "name"), FEW)
def test_results_are_those_of_numpy_on_some_architectures(arch: str, name: str) -> None:
    check(arch, name)


@pytest.mark.slow
@pytest.mark.parametrize("arch", NAMES)
@pytest.mark.parametrize("name", CASES)
def test_results_are_those_of_numpy_on_every_architecture(arch: str, name: str) -> None:
    if is_possible(arch, name):
        check(arch, name)


def test_every_architecture_of_the_compiler_is_known() -> None:
    from cuda.bindings import nvrtc

    from simulator.sass.code.nvrtc import preload

    preload("nvrtc")
    _, compiles = nvrtc.nvrtcGetSupportedArchs()
    assert set(compiles) - set(ARCHITECTURES) <= {107}  # of which no limits are published
    assert {name.removesuffix("a") for name in get_args(Arch)} == set(NAMES)
