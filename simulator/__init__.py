"""How many wavefronts shared-memory accesses cost, and why.

`import bankwise` gives the same names.

    from bankwise import simulate, count, explain, replay, kernels, sweep, optimize

docs/explanation/model.md explains the law; README.md starts with examples.
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
from simulator.law.accesses import WarpAccess
from simulator.law.chips import CHIPS, Chip
from simulator.law.counting import Counts, count_stream, totals
from simulator.law.explaining import Explanation
from simulator.law.instructions import INSTRUCTIONS, Instruction, instruction

if TYPE_CHECKING:
    from simulator import kernels
    from simulator.asking.answer import Answer
    from simulator.asking.ask import count, explain
    from simulator.asking.compare import InputComparison, compare
    from simulator.gemm.simulate import FragmentReport, simulate
    from simulator.kernels.replay import KernelReport, replay
    from simulator.kernels.sites import Cycle, GlobalSite, Kernel, Launch, Matrix, SharedSite
    from simulator.law.closed_form import bit_columns, count_affine, count_linear, lane_addresses
    from simulator.results.sites import SiteReport, SiteTable
    from simulator.sass.replay import replay_compiled
    from simulator.sass.replay_file import replay_file
    from simulator.sass.run.map_argument import TensorMap
    from simulator.sass.triton.context import triton
    from simulator.search import Access, Optimum, optimize
    from simulator.sweeps.sweep import Sweep, sweep

__all__ = [
    "CHIPS",
    "INSTRUCTIONS",
    "Access",
    "AddressError",
    "Answer",
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
    "InputComparison",
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
    "compare",
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
    "replay_file",
    "simulate",
    "sweep",
    "totals",
    "triton",
]

# Imported when first asked for: a question is answered in less time than all of them take.
_LATER = {
    "Access": "simulator.search",
    "Answer": "simulator.asking.answer",
    "InputComparison": "simulator.asking.compare",
    "Cycle": "simulator.kernels.sites",
    "FragmentReport": "simulator.gemm.simulate",
    "GlobalSite": "simulator.kernels.sites",
    "Kernel": "simulator.kernels.sites",
    "KernelReport": "simulator.kernels.replay",
    "Launch": "simulator.kernels.sites",
    "Matrix": "simulator.kernels.sites",
    "Optimum": "simulator.search",
    "SharedSite": "simulator.kernels.sites",
    "SiteReport": "simulator.results.sites",
    "SiteTable": "simulator.results.sites",
    "Sweep": "simulator.sweeps.sweep",
    "TensorMap": "simulator.sass.run.map_argument",
    "bit_columns": "simulator.law.closed_form",
    "compare": "simulator.asking.compare",
    "count": "simulator.asking.ask",
    "count_affine": "simulator.law.closed_form",
    "count_linear": "simulator.law.closed_form",
    "explain": "simulator.asking.ask",
    "kernels": "simulator.kernels",
    "lane_addresses": "simulator.law.closed_form",
    "optimize": "simulator.search",
    "replay": "simulator.kernels.replay",
    "replay_compiled": "simulator.sass.replay",
    "replay_file": "simulator.sass.replay_file",
    "simulate": "simulator.gemm.simulate",
    "sweep": "simulator.sweeps.sweep",
    "triton": "simulator.sass.triton.context",
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
