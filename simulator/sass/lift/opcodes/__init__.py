"""What each opcode does: a short function each, by family."""

from simulator.sass.lift.opcodes import (
    bits,
    control,
    conversions,
    doubles,
    floats,
    halves,
    integers,
    lanes,
    memory,
    moves,
    tensors,
)

__all__ = [
    "bits", "control", "conversions", "doubles", "floats", "halves", "integers", "lanes", "memory",
    "moves", "tensors",
]  # fmt: skip
