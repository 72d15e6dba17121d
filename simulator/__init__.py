"""How many wavefronts shared-memory accesses cost, and why.

`import bankwise` gives the same names.

    from bankwise import simulate, count, explain, replay, kernels, sweep, optimize

docs/model.md explains the law; README.md starts with examples.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from simulator.errors import (
    AddressError,
    BankwiseError,
    BarrierError,
    ChipError,
    CompileError,
    CubinError,
    DeadlockError,
    ExecutionError,
    ExecutorError,
    ExpressionError,
    GridError,
    InputError,
    InstructionError,
    KernelError,
    LaunchError,
    LayoutError,
    LimitError,
    MaskError,
    MemoryAccessError,
    MissingPackageError,
    OptionError,
    OutputError,
    SassError,
    SearchError,
    StoreError,
    TargetError,
    TensorMapError,
    ToolError,
    UnsupportedError,
)
from simulator.gemm.simulate import FragmentReport, simulate
from simulator.kernels.replay import KernelReport, replay
from simulator.kernels.sites import Cycle, GlobalSite, Kernel, Launch, Matrix, SharedSite
from simulator.law.accesses import WarpAccess
from simulator.law.chips import CHIPS, Chip
from simulator.law.closed_form import bit_columns, count_affine, count_linear, lane_addresses
from simulator.law.counting import Counts, count, count_stream, totals
from simulator.law.explaining import Explanation, explain
from simulator.law.instructions import INSTRUCTIONS, Instruction, instruction
from simulator.results.sites import SiteReport, SiteTable

if TYPE_CHECKING:
    from simulator import kernels
    from simulator.sass.replay import replay_compiled
    from simulator.sass.run.map_argument import TensorMap
    from simulator.search import Access, Optimum, optimize
    from simulator.sweeps.sweep import Sweep, sweep

__all__ = [
    "CHIPS",
    "INSTRUCTIONS",
    "Access",
    "AddressError",
    "BankwiseError",
    "BarrierError",
    "Chip",
    "ChipError",
    "CompileError",
    "Counts",
    "CubinError",
    "Cycle",
    "DeadlockError",
    "ExecutionError",
    "ExecutorError",
    "Explanation",
    "ExpressionError",
    "FragmentReport",
    "GlobalSite",
    "GridError",
    "InputError",
    "Instruction",
    "InstructionError",
    "Kernel",
    "KernelError",
    "KernelReport",
    "Launch",
    "LaunchError",
    "LayoutError",
    "LimitError",
    "MaskError",
    "Matrix",
    "MemoryAccessError",
    "MissingPackageError",
    "Optimum",
    "OptionError",
    "OutputError",
    "SassError",
    "SearchError",
    "SharedSite",
    "SiteReport",
    "SiteTable",
    "StoreError",
    "Sweep",
    "TargetError",
    "TensorMap",
    "TensorMapError",
    "ToolError",
    "UnsupportedError",
    "WarpAccess",
    "bit_columns",
    "count",
    "count_affine",
    "count_linear",
    "count_stream",
    "explain",
    "instruction",
    "kernels",
    "lane_addresses",
    "optimize",
    "replay",
    "replay_compiled",
    "simulate",
    "sweep",
    "totals",
]

# Imported when first asked for: a sweep's executors and files would be a tenth of the start-up
# of everything else, and the search and the catalogue of kernels are as large.
_LATER = {
    "Access": "simulator.search",
    "Optimum": "simulator.search",
    "Sweep": "simulator.sweeps.sweep",
    "TensorMap": "simulator.sass.run.map_argument",
    "kernels": "simulator.kernels",
    "optimize": "simulator.search",
    "replay_compiled": "simulator.sass.replay",
    "sweep": "simulator.sweeps.sweep",
}


if not TYPE_CHECKING:  # type checkers know the names above, and no others

    def __getattr__(name: str) -> Any:
        if name not in _LATER:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        module = import_module(_LATER[name])
        found = globals()[name] = module if name == "kernels" else getattr(module, name)
        return found


def __dir__() -> list[str]:
    return sorted(__all__)
