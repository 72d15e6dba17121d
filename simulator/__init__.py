"""How many wavefronts shared-memory accesses cost, and why.

    from simulator import simulate, count, explain, replay, kernels

docs/model.md explains the law; README.md starts with examples.
"""

from typing import TYPE_CHECKING, Any

from layouts.errors import BankwiseError, LayoutError
from simulator import kernels
from simulator.accesses import AddressError, MaskError, WarpAccess
from simulator.counting import Counts, OptionError, count
from simulator.explanation import Explanation, explain
from simulator.fragments import FragmentReport, simulate
from simulator.instructions import INSTRUCTIONS, Instruction, InstructionError, instruction
from simulator.replaying import GemmReport, KernelReport, SiteReport, replay
from simulator.sites import Cycle, GlobalSite, Kernel, KernelError, Launch, Matrix, SharedSite

if TYPE_CHECKING:
    from simulator.sass.replaying import replay_compiled

__all__ = [
    "INSTRUCTIONS",
    "AddressError",
    "BankwiseError",
    "Counts",
    "Cycle",
    "Explanation",
    "FragmentReport",
    "GemmReport",
    "GlobalSite",
    "Instruction",
    "InstructionError",
    "Kernel",
    "KernelError",
    "KernelReport",
    "Launch",
    "LayoutError",
    "MaskError",
    "Matrix",
    "OptionError",
    "SharedSite",
    "SiteReport",
    "WarpAccess",
    "count",
    "explain",
    "instruction",
    "kernels",
    "replay",
    "replay_compiled",
    "simulate",
]


def __getattr__(name: str) -> Any:
    """Load `replay_compiled` when it is asked for: it brings Numba and the extra `sass`."""
    if name == "replay_compiled":
        from simulator.sass.replaying import replay_compiled

        return replay_compiled
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
