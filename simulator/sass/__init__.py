"""Compiled kernels: machine code decoded, executed for blocks of threads, and counted by the law.

docs/explanation/machine.md tells how. The steps: `code` gets machine code from a file, `decode` turns the text of
its instructions into rows of numbers, `machine` executes those, `launch` runs the blocks of a
grid, `replay` is the whole way, and `report` says what was counted.
"""
