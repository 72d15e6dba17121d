"""Opcodes in plain Python, lane by lane: the second opinion on the table of opcodes.

They are written from what NVIDIA documents of PTX and SASS, with Python's integers and exact
fractions, and share no code with the machine.
"""

from tests.sass_plain import floats, integers, lanes
from tests.sass_plain.lane import PLAIN, run_plain

__all__ = ["PLAIN", "floats", "integers", "lanes", "run_plain"]
