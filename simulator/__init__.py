"""How many wavefronts shared-memory accesses cost, and why.

    from simulator import simulate, count, explain, replay, kernels

docs/model.md explains the law; README.md starts with examples.
"""

from layouts.errors import BankwiseError, LayoutError
from simulator import kernels
from simulator.accesses import AddressError, MaskError, WarpAccess
from simulator.counting import Counts, OptionError, count
from simulator.explanation import Explanation, explain
from simulator.fragments import FragmentReport, simulate
from simulator.instructions import INSTRUCTIONS, Instruction, InstructionError, instruction
from simulator.replaying import KernelReport, SiteReport, replay
from simulator.sites import Cycle, GlobalSite, Kernel, KernelError, Launch, Matrix, SharedSite

__all__ = [
    "INSTRUCTIONS",
    "AddressError",
    "BankwiseError",
    "Counts",
    "Cycle",
    "Explanation",
    "FragmentReport",
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
    "simulate",
]
