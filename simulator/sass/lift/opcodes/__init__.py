"""What each opcode does: a short function each, by family."""

from simulator.sass.lift.opcodes import (
    barriers,
    bits,
    control,
    conversions,
    doubles,
    extremes,
    floats,
    halves,
    hopper,
    integers,
    lanes,
    memory,
    moves,
    packing,
    tensors,
    transfers,
)

__all__ = [
    "barriers", "bits", "control", "conversions", "doubles", "extremes", "floats", "halves",
    "hopper", "integers", "lanes", "memory", "moves", "packing", "tensors", "transfers",
]  # fmt: skip
