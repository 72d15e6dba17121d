"""What one shared-memory access costs, and why.

`specification` is the law, to be read; `numpy_engine` and `numba_engine` say the same of many
accesses at once, `closed_form` of layouts; `counting` has `count`, `explaining` has `explain`.
"""
