"""How many wavefronts shared-memory accesses cost, and why.

    from simulator import simulate, count, explain, replay, kernels, sweep

docs/model.md explains the law; README.md starts with examples.
"""

from layouts.errors import BankwiseError, LayoutError
from simulator import kernels
from simulator.accesses import AddressError, MaskError, WarpAccess
from simulator.counting import Counts, OptionError, count
from simulator.explanation import Explanation, explain
from simulator.fragments import FragmentReport, simulate
from simulator.grids import GridError
from simulator.instructions import INSTRUCTIONS, Instruction, InstructionError, instruction
from simulator.replaying import KernelReport, SiteReport, replay
from simulator.saving import MissingPackageError, OutputError
from simulator.sites import Cycle, GlobalSite, Kernel, KernelError, Launch, Matrix, SharedSite
from simulator.store import StoreError
from simulator.sweeping import ExecutorError, Sweep, sweep
from simulator.targets import TargetError

__all__ = [
    "INSTRUCTIONS",
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
    "OptionError",
    "OutputError",
    "SharedSite",
    "SiteReport",
    "StoreError",
    "Sweep",
    "TargetError",
    "WarpAccess",
    "count",
    "explain",
    "instruction",
    "kernels",
    "replay",
    "simulate",
    "sweep",
]
