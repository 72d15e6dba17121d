"""What each opcode does: a short function each, by family."""

from simulator.sass.lift.opcodes import (
    barriers,
    bits,
    control,
    conversions,
    doubles,
    floats,
    halves,
    hopper,
    integers,
    lanes,
    memory,
    moves,
    tensors,
    transfers,
)

__all__ = [
    "barriers", "bits", "control", "conversions", "doubles", "floats", "halves", "hopper",
    "integers", "lanes", "memory", "moves", "tensors", "transfers",
]  # fmt: skip
