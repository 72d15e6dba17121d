"""How many wavefronts shared-memory accesses cost, and why.

    from simulator import simulate, count, explain, replay, kernels, sweep, optimize

docs/model.md explains the law; README.md starts with examples.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from layouts.errors import BankwiseError, LayoutError
from simulator.accesses import AddressError, MaskError, WarpAccess
from simulator.closed_form import bit_columns, count_affine, count_linear, lane_addresses
from simulator.counting import Counts, OptionError, count
from simulator.explanation import Explanation, explain
from simulator.fragments import FragmentReport, simulate
from simulator.instructions import INSTRUCTIONS, Instruction, InstructionError, instruction
from simulator.replaying import KernelReport, SiteReport, replay
from simulator.sites import Cycle, GlobalSite, Kernel, Launch, Matrix, SharedSite
from simulator.streaming import count_stream, totals
from simulator.tiling import KernelError

if TYPE_CHECKING:
    from simulator import kernels
    from simulator.grids import GridError
    from simulator.sass.replaying import replay_compiled
    from simulator.saving import MissingPackageError, OutputError
    from simulator.search import Access, Optimum, SearchError, optimize
    from simulator.store import StoreError
    from simulator.sweeping import ExecutorError, Sweep, sweep
    from simulator.targets import TargetError

__all__ = [
    "INSTRUCTIONS",
    "Access",
    "AddressError",
    "BankwiseError",
    "Counts",
    "Cycle",
    "ExecutorError",
    "Explanation",
    "FragmentReport",
    "GlobalSite",
    "GridError",
    "Instruction",
    "InstructionError",
    "Kernel",
    "KernelError",
    "KernelReport",
    "Launch",
    "LayoutError",
    "MaskError",
    "Matrix",
    "MissingPackageError",
    "Optimum",
    "OptionError",
    "OutputError",
    "SearchError",
    "SharedSite",
    "SiteReport",
    "StoreError",
    "Sweep",
    "TargetError",
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
    "ExecutorError": "simulator.sweeping",
    "GridError": "simulator.grids",
    "MissingPackageError": "simulator.saving",
    "Optimum": "simulator.search",
    "OutputError": "simulator.saving",
    "SearchError": "simulator.search",
    "StoreError": "simulator.store",
    "Sweep": "simulator.sweeping",
    "TargetError": "simulator.targets",
    "kernels": "simulator.kernels",
    "optimize": "simulator.search",
    "replay_compiled": "simulator.sass.replaying",
    "sweep": "simulator.sweeping",
}


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = import_module(_LATER[name])
    found = globals()[name] = module if name == "kernels" else getattr(module, name)
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
