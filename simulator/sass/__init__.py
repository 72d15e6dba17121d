"""Compiled kernels: machine code decoded, executed for blocks of threads, and counted by the law.

docs/explanation/machine.md tells how. `code` gets machine code from a file, `lift` turns its
instructions into LLVM's, `run` executes blocks of threads, `replay` is the whole way, and `report`
says what was counted.
"""
