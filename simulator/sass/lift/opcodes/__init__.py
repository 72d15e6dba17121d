"""What each opcode does: a short function each, by family."""

from simulator.sass.lift.opcodes import control, floats, halves, integers, memory, moves

__all__ = ["control", "floats", "halves", "integers", "memory", "moves"]
