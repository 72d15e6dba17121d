"""What the naive kernels of all the documents have in common, and their matrices."""

from __future__ import annotations

from simulator.kernels.sites import Function, GlobalSite, Int, Matrix

__all__ = ["inner_product", "packed"]


def packed(m: int, n: int, k: int, element: int = 4) -> tuple[Matrix, Matrix, Matrix]:
    """Return A (m×k) and B (k×n) of `element` bytes, and C (m×n) of fp32, rows without padding."""
    return Matrix(m, k, k, element), Matrix(k, n, n, element), Matrix(m, n, n)


def inner_product(
    a: Matrix, b: Matrix, row: Function, col: Function, sources: tuple[str, str]
) -> tuple[GlobalSite, GlobalSite]:
    """Return the reads of a thread that computes one element of C: a row of A, a column of B.

    One bounds check on that element is around everything.
    """

    def step(k: Int) -> Int:
        return k

    inside = ((row, a.rows), (col, b.cols))
    turns = {"k": a.cols}
    return (
        GlobalSite(sources[0], "load", a, row, step, repeats=turns, bounds=inside),
        GlobalSite(sources[1], "load", b, step, col, repeats=turns, bounds=inside),
    )
