"""Elimination over GF(2) against all sums, which few vectors allow to be made."""

from __future__ import annotations

from functools import reduce
from operator import xor

from hypothesis import given
from hypothesis import strategies as st

from layouts import gf2

vectors = st.lists(st.integers(0, 63), max_size=7)


def chosen_sum(some: list[int], choice: int) -> int:
    return reduce(xor, (vector for j, vector in enumerate(some) if choice >> j & 1), 0)


def sums(some: list[int]) -> set[int]:
    return {chosen_sum(some, choice) for choice in range(1 << len(some))}


@given(vectors)
def test_a_basis_makes_the_same_sums_each_once(some: list[int]) -> None:
    basis = gf2.basis(some)
    left = iter(some)
    assert all(vector in left for vector in basis)  # in order
    assert sums(basis) == sums(some)
    assert len(sums(basis)) == 1 << len(basis) == 1 << gf2.rank(some)


@given(vectors)
def test_the_kernel_holds_all_choices_that_cancel(some: list[int]) -> None:
    kernel = gf2.kernel(some)
    assert gf2.rank(kernel) == len(kernel) == len(some) - gf2.rank(some)
    cancel = {choice for choice in range(1 << len(some)) if not chosen_sum(some, choice)}
    assert sums(kernel) == cancel


@given(vectors, st.integers(0, 63))
def test_coordinates_add_up(some: list[int], vector: int) -> None:
    basis = gf2.basis(some)
    choice = gf2.coordinates(basis, vector)
    if choice is None:
        assert vector not in sums(some)
    else:
        assert chosen_sum(basis, choice) == vector


@given(vectors, st.lists(st.integers(0, 2**70), min_size=7, max_size=7))
def test_what_is_attached_is_added_alongside(some: list[int], attached: list[int]) -> None:
    echelon, added = gf2.Echelon(), list(zip(some, attached, strict=False))
    for vector, beside in added:
        rest, left = echelon.add(vector, beside)
        if rest:
            assert echelon.rows[rest.bit_length()] == (rest, left)
    assert all(row.bit_length() == bits for bits, (row, _) in echelon.rows.items())
    assert len(echelon.rows) == gf2.rank(some)
    pairs = {
        (chosen_sum(some, choice), chosen_sum(attached, choice)) for choice in range(1 << len(some))
    }
    assert set(echelon.rows.values()) <= pairs
