"""`import bankwise` is the public face of `simulator`."""

from __future__ import annotations

from importlib import import_module

import pytest

import bankwise
import simulator

OF_0_1 = {
    "simulator": """
        Access AddressError BankwiseError CompileError Counts CubinError Cycle
        DeadlockError ExecutionError ExecutorError Explanation ExpressionError
        FragmentReport GlobalSite GridError INSTRUCTIONS InputError Instruction
        InstructionError Kernel KernelError KernelReport Launch LaunchError LayoutError
        LimitError MaskError Matrix MemoryAccessError MissingPackageError Optimum
        OptionError OutputError SassError SearchError SharedSite SiteReport StoreError
        Sweep TargetError ToolError UnsupportedError WarpAccess bit_columns count
        count_affine count_linear count_stream explain instruction kernels lane_addresses
        optimize replay replay_compiled simulate sweep totals
    """,
    "layouts": """
        BankwiseError BlockLayout FRAGMENTS LANES LANE_ORDERS Layout LayoutError LinearMap
        Swizzle Tile WarpLayout coalesce complement composition fragment_elements
        is_linear left_inverse logical_divide logical_product make_layout picture
        right_inverse tiled_divide zipped_divide
    """,
    "viz": """
        DrawError MissingPackageError ReportError THEMES bank_heatmap compare kernel_bars
        parity report sweep_heatmap timeline warp_map word_map
    """,
    "gpu_check": """
        Comparison CountersError DeviceError DiscoveryError GEMMS Measurements NoGpuError
        PhaseTable Recording RecordingError compare count_on_gpu infer_phases load measure
        packaged run_gemm simulated
    """,
    "simulator.search": """
        Access AccessRow Certificate OBJECTIVES Optimum SearchError Term TileLayout
        optimize
    """,
    "simulator.testing": """
        AssertConflictFree AssertWavefronts assert_conflict_free assert_wavefronts
    """,
    "simulator.kernels": """
        get names
    """,
}
"""What 0.1.0 exported."""


def test_the_names_are_those_of_simulator() -> None:
    assert bankwise.__all__ == simulator.__all__
    assert dir(bankwise) == dir(simulator) == sorted(simulator.__all__)


@pytest.mark.parametrize("name", simulator.__all__)
def test_a_name_is_the_same_object(name: str) -> None:
    assert getattr(bankwise, name) is getattr(simulator, name)


def test_a_star_import_brings_all_of_them() -> None:
    names: dict[str, object] = {}
    exec("from bankwise import *", names)  # noqa: S102 - the statement under test
    assert {*simulator.__all__} == {*names} - {"__builtins__"}


@pytest.mark.parametrize("name", ["nonsense", "import_module", "TYPE_CHECKING_", "__nonsense__"])
def test_other_names_are_refused(name: str) -> None:
    with pytest.raises(AttributeError, match=f"module 'bankwise' has no attribute '{name}'"):
        getattr(bankwise, name)


@pytest.mark.parametrize("package", OF_0_1)
def test_what_0_1_exported_is_still_there(package: str) -> None:
    """docs/reference/versions.md promises it: a name that goes away warns before."""
    names = OF_0_1[package].split()
    assert names
    module = import_module(package)
    assert [name for name in names if not hasattr(module, name)] == []
