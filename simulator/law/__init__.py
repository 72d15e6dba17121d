"""What one shared-memory access costs, and why.

`specification` is the law, to be read; `numpy_engine` and `numba_engine` say the same of many
accesses at once, the latter in `chunks` and with the vectors of `simd`. `copies` and `loops` are
the laws of copies from anywhere and of atomic loops; `numpy_turns` and `numba_turns` count them.
`closed_form` counts layouts, many of them by `linear_engine`. `counting` has `count`, `explaining`
has `explain`.
"""
