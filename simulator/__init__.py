"""How many wavefronts shared-memory accesses cost, and why.

    from simulator import simulate, count, explain

docs/model.md explains the law; README.md starts with examples.
"""

from layouts.errors import BankwiseError, LayoutError
from simulator.accesses import AddressError, MaskError, WarpAccess
from simulator.counting import Counts, OptionError, count
from simulator.explanation import Explanation, explain
from simulator.fragments import FragmentReport, simulate
from simulator.instructions import INSTRUCTIONS, Instruction, InstructionError, instruction

__all__ = [
    "INSTRUCTIONS",
    "AddressError",
    "BankwiseError",
    "Counts",
    "Explanation",
    "FragmentReport",
    "Instruction",
    "InstructionError",
    "LayoutError",
    "MaskError",
    "OptionError",
    "WarpAccess",
    "count",
    "explain",
    "instruction",
    "simulate",
]
