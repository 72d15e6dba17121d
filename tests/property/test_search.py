"""The search held to brute force: every layout counted by the law in pure Python."""

from __future__ import annotations

from functools import cache
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from layouts.expression import Expression
from layouts.layout import Layout
from layouts.tile import Tile
from simulator import bit_columns, count, instruction
from simulator.law.accesses import ALL_LANES
from simulator.search import Access, Optimum, Term, TileLayout, optimize
from simulator.search.accesses import Group, group
from simulator.search.linear import LinearProblem, linear_problem
from simulator.search.optimize import OBJECTIVES
from simulator.search.pricing import lower_bound, misfit, recount
from simulator.testing.strategies import linear_indices, swizzles, tile_layouts
from tests.examples import examples

# Tiles of 4 or 8 rows of 32 floats: up to 2^9 swizzles of 16-byte vectors, 2^15 of words.
OPS = ("LDS", "LDS.64", "LDS.128", "STS", "STS.128", "ATOMS.ADD", "ATOMS.CAS", "LDGSTS.E.128",
       "ldmatrix.x4", "ldmatrix.x2", "STS.U8")  # fmt: skip
objectives = st.sampled_from(OBJECTIVES)
rules = st.sampled_from(["silicon", "documented"])


def units(op: str, element: int) -> int:
    """Bits of an element index that an access of this width leaves 0."""
    return (instruction(op).width // element).bit_length() - 1


@st.composite
def linear_accesses(draw: st.DrawFn, bits: int, element: int, ops: Any = OPS) -> Access:
    op = draw(st.sampled_from([op for op in ops if instruction(op).width >= element]))
    indices = draw(linear_indices(bits, units(op, element)))
    return Access(op, [indices], weight=draw(st.integers(1, 5)))


@st.composite
def any_accesses(draw: st.DrawFn, bits: int, element: int) -> Access:
    """An access with any indices, and a mask that leaves lanes out."""
    op = draw(st.sampled_from(["LDS", "LDS.128", "STS.64", "ATOMS.ADD"]))
    low = units(op, element)
    pool = draw(st.lists(st.integers(0, (1 << bits - low) - 1), min_size=1, max_size=32))
    lanes = draw(st.lists(st.sampled_from(pool), min_size=32, max_size=32))
    out = draw(st.sets(st.integers(0, 31), max_size=8))
    return Access(op, lambda lane: lanes[lane] << low, active=lambda lane: lane not in out)


@cache
def all_swizzles(base: int) -> tuple[list[Tile], NDArray[np.int64], list[int]]:
    """Every XOR swizzle of 8x32 floats from bit `base` up: layout, target masks, operations."""
    of_the_tile = LinearProblem((), "cycles", "silicon", element_bits=2, base=base, bits=10)
    targets = range(0, 1 << 7, 1 << base)
    layouts = [
        TileLayout(8, 32, terms=of_the_tile.terms(columns))
        for columns in product(targets, repeat=3)
    ]
    columns = np.array([of_the_tile.columns(each.terms).sum(axis=0) for each in layouts])
    return layouts, columns, [each.operations for each in layouts]


def by_the_law(groups: list[Group], layout: Tile, element: int, objective: str, rule: str) -> int:
    total = 0
    for each in groups:
        for places, mask, weight in zip(each.places, each.masks, each.weights, strict=True):
            byte = layout.offset(places) * element
            one = count(each.instruction, byte, int(mask), rule=rule, engine="python")
            total += int(getattr(one, objective)) * int(weight)
    return total


@given(tile_layouts())
def test_a_layout_is_a_bijection_and_its_expression_says_it(layout: Tile) -> None:
    size = layout.rows * layout.cols
    offsets = [layout.offset(place) for place in range(size)]
    assert len(set(offsets)) == size
    assert max(offsets) < layout.elements
    assert layout.offset(np.arange(size)).tolist() == offsets
    evaluate = Expression(layout.expression())
    for place in range(0, size, max(1, size // 64)):
        row, col = divmod(place, layout.cols)
        assert evaluate({"row": row, "col": col}) == offsets[place]
    swizzled = list(range(size))
    for swizzle in layout.swizzles:
        swizzled = [swizzle(place) for place in swizzled]
    assert [place + place // layout.cols * layout.pad for place in swizzled] == offsets
    assert (layout.operations > 0) == bool(layout.terms)
    assert layout.operations == sum(map(layout.expression().count, ("^", "&", ">>", "<<")))


@given(st.data(), st.integers(1, 12))
def test_what_is_drawn_for_users_stays_in_its_bounds(data: st.DataObject, bits: int) -> None:
    swizzle = data.draw(swizzles(bits))
    assert sorted(map(swizzle, range(1 << bits))) == list(range(1 << bits))
    low = data.draw(st.integers(0, bits - 1))
    indices = data.draw(linear_indices(bits, low))
    assert len(indices) == 32
    assert all(0 <= index < 1 << bits and index % (1 << low) == 0 for index in indices)
    assert bool(bit_columns(indices)[1])


@given(tile_layouts())
def test_the_notation_reads_back_as_the_same_layout(layout: Tile) -> None:
    if len(layout.swizzles) > 1 or (layout.pad and layout.terms):
        return  # Layout knows one swizzle at a time
    assert layout.notation is not None
    parsed = Layout.parse(layout.notation)
    for row, col in ((0, 0), (layout.rows - 1, layout.cols - 1), (layout.rows // 2, 0)):
        assert parsed(row, col) == layout.offset(row * layout.cols + col)


@given(st.data(), objectives, rules, st.sampled_from([1, 2, 4]))
def test_ranks_price_as_the_law_does(
    data: st.DataObject, objective: str, rule: str, element: int
) -> None:
    bits = 12 - element.bit_length()
    accesses = data.draw(st.lists(linear_accesses(bits, element), min_size=1, max_size=3))
    groups = [group(each, {}, None, element) for each in accesses]
    problem = linear_problem(groups, 1 << bits, element, objective, rule)
    assert problem is not None
    masks = st.integers(0, (1 << 7 - problem.base) - 1)
    columns = [mask << problem.base for mask in data.draw(st.tuples(*[masks] * (problem.bits - 7)))]
    layout = TileLayout(1, 1 << bits, terms=problem.terms(columns))
    assert problem.columns(layout.terms).sum(axis=0).tolist() == columns
    (cost,) = problem.price(np.array([columns]))
    assert cost == by_the_law(groups, layout, element, objective, rule)


@settings(max_examples=examples(40))
@given(st.data(), objectives, rules)
def test_no_linear_layout_undercuts_the_optimum(
    data: st.DataObject, objective: str, rule: str
) -> None:
    ops = ("LDS.128", "STS.64", "LDS", "ATOMS.ADD")
    accesses = data.draw(st.lists(linear_accesses(8, 4, ops), min_size=1, max_size=3))
    accesses.append(Access("LDS.64", data.draw(linear_indices(8, 2))))  # so that vectors are wide
    found = optimize(
        accesses, tile="8x32", space={"swizzle": "xor"}, objective=objective, rule=rule
    )
    groups = [group(each, {}, (8, 32), 4) for each in accesses]
    problem = linear_problem(groups, 256, 4, objective, rule)
    assert problem is not None
    assert (problem.element_bits, problem.bits) == (2, 10)
    layouts, columns, operations = all_swizzles(problem.base)
    assert len(layouts) == problem.layouts <= 1 << 12
    assert found.certificate.kind == "floor" or found.certificate.layouts == len(layouts)
    # By the closed form all of them; by the law those of one term, and the winner.
    plain = by_the_law(groups, TileLayout(8, 32), 4, objective, rule)
    costs = [plain, *problem.price(columns[1:]).tolist()]
    assert found.cost == min(costs)
    assert found.proved
    assert by_the_law(groups, found.layout or layouts[0], 4, objective, rule) == found.cost
    for layout in layouts:
        if len(layout.terms) == 1:
            assert by_the_law(groups, layout, 4, objective, rule) >= found.cost
    assert problem.least(1 << 60)[0] == problem.least(1 << 60, prune=False)[0] == found.cost
    assert problem.bounded()[0] <= found.cost
    cheap = [spent for spent, cost in zip(operations, costs, strict=True) if cost == found.cost]
    assert found.operations == min(cheap)


@given(st.data(), objectives, rules)
def test_no_layout_of_any_kind_undercuts_the_floor(
    data: st.DataObject, objective: str, rule: str
) -> None:
    """Any permutation of the tile's 16-byte vectors, linear or not."""
    accesses = data.draw(
        st.lists(linear_accesses(8, 4) | any_accesses(8, 4), min_size=1, max_size=3)
    )
    groups = [group(each, {}, None, 4) for each in accesses]
    least = lower_bound(groups, 4, objective, rule)
    whole = lower_bound(groups, 4, objective, rule, whole=16)
    order = np.array(data.draw(st.permutations(range(64))))
    total = 0
    for each in groups:
        moved = order[each.places // 4] * 4 + each.places % 4
        total += by_the_law(
            [Group("", each.instruction, moved, each.masks, each.weights)],
            TileLayout(1, 256), 4, objective, rule,
        )  # fmt: skip
    assert least <= whole <= total


@given(st.data())
def test_a_floor_for_words_holds_for_any_permutation_of_words(data: st.DataObject) -> None:
    accesses = data.draw(st.lists(linear_accesses(8, 4, ("LDS", "STS", "ATOMS.ADD")), min_size=1))
    groups = [group(each, {}, None, 4) for each in accesses]
    order = np.array(data.draw(st.permutations(range(256))))
    moved = [
        Group("", each.instruction, order[each.places], each.masks, each.weights) for each in groups
    ]
    total = by_the_law(moved, TileLayout(1, 256), 4, "cycles", "silicon")
    assert lower_bound(groups, 4, "cycles", "silicon") <= total


@settings(max_examples=examples(40))
@given(st.data(), objectives, st.sampled_from(["none", "cute", "xor"]))
def test_paddings_and_swizzles_agree_with_brute_force(
    data: st.DataObject, objective: str, family: str
) -> None:
    accesses = data.draw(
        st.lists(linear_accesses(8, 4, ("LDS.64", "LDS.128", "STS")) | any_accesses(8, 4),
                 min_size=1, max_size=2)
    )  # fmt: skip
    pads = data.draw(st.lists(st.integers(0, 12), min_size=1, max_size=4, unique=True))
    space = {"pad": [*pads, 4], "swizzle": family}
    found = optimize(accesses, tile="8x32", space=space, objective=objective, trials=5)
    groups = [group(each, {}, (8, 32), 4) for each in accesses]
    family_terms: list[tuple[Term, ...]] = [()]
    if family != "none":
        family_terms += [
            (Term(shift, mask),)
            for shift in range(1, 8)
            for mask in range(1, 32)
            if family == "xor" or "01" not in f"{mask:b}".strip("0")  # one run
        ]
    layouts = []
    for pad in {*pads, 4}:
        for terms in family_terms:
            try:
                layout = TileLayout(8, 32, pad, terms)
            except ValueError:
                continue
            if not misfit(groups, layout, 4):
                layouts.append(layout)
    costs = {layout: by_the_law(groups, layout, 4, objective, "silicon") for layout in layouts}
    # Of XOR swizzles the search also knows those of several terms.
    least = min(costs.values())
    assert (found.cost <= least) if family == "xor" else (found.cost == least)
    if family != "xor":
        assert found.proved
        best = [each for each, cost in costs.items() if cost == least]
        assert found.layout in [each.sized(4) for each in best]
        assert (found.bytes, found.operations) == min(
            (4 * each.elements, each.operations) for each in best
        )


@given(st.data(), rules, st.lists(st.integers(1, 32), max_size=4))
def test_the_optimum_is_what_the_law_counts(
    data: st.DataObject, rule: str, pads: list[int]
) -> None:
    accesses = data.draw(st.lists(any_accesses(9, 4), min_size=1, max_size=3))
    space = {"pad": [0, *pads], "swizzle": "xor"}
    found = optimize(accesses, tile="16x32", space=space, rule=rule, trials=5)
    groups = [group(each, {}, (16, 32), 4) for each in accesses]
    assert found.layout is not None
    assert found.cost == by_the_law(groups, found.layout, 4, "cycles", rule)
    assert found.cost == recount(groups, found.layout, 4, "cycles", rule)
    assert found.before == by_the_law(groups, TileLayout(16, 32), 4, "cycles", rule)
    assert found.certificate.floor <= found.cost <= found.before
    assert found.helps == (found.cost < found.before)
    assert found.totals()["cycles"] == found.cost
    if found.certificate.kind == "floor":
        assert found.cost == found.certificate.floor


@given(st.lists(linear_indices(11), min_size=1, max_size=6), st.integers(0, 2))
def test_pruning_loses_nothing(indices: list[list[int]], low: int) -> None:
    """2^(targets·sources) swizzles, all visited or most of them excluded."""
    groups = [group(Access("LDS", each), {}, None, 4) for each in indices]
    wide = np.arange(32)[None] % 4 << low
    groups.append(group(Access("LDS.64" if low < 2 else "LDS.128", wide * 4), {}, None, 4))
    problem = linear_problem(groups, 1 << 11, 4, "wavefronts", "silicon")
    assert problem is not None
    if problem.layouts > 1 << 18:
        return
    cost, terms, proved = problem.least(1 << 60)
    assert (cost, proved) == (problem.least(1 << 60, prune=False)[0], True)
    assert terms is not None
    layout = TileLayout(1, 1 << 11, terms=terms)
    assert cost == by_the_law(groups, layout, 4, "wavefronts", "silicon")
    assert problem.least(cost) == (cost, None, True)


@pytest.mark.parametrize("weights", [(1, 1), (3, 5), (7, 2)])
def test_pairs_that_want_different_things_bound_the_rest(weights: tuple[int, int]) -> None:
    """Columns 0-15 of two rows, and 0-15 of one, 16-31 of the other: one of them is 2-way."""
    pair = [
        Access("LDS", "lane%16 + lane/16*32", weight=weights[0]),
        Access("LDS", "lane%16 + lane/16*48", weight=weights[1]),
    ]
    accesses = [*pair, Access("STS", "lane*32", weight=4)]
    groups = [group(each, {}, (32, 32), 4) for each in accesses]
    problem = linear_problem(groups, 1024, 4, "cycles", "silicon")
    assert problem is not None
    bound, ordered = problem.bounded()
    assert bound == sum(weights) + min(weights) + 4
    assert problem.least(1 << 60)[0] == ordered.least(1 << 60)[0] == bound
    found = optimize(accesses, tile="32x32", space={"swizzle": "xor"})
    assert (found.cost, found.certificate.floor) == (bound, sum(weights) + 4)
    assert (found.certificate.kind, found.certificate.layouts) == ("exhaustive", 1 << 25)
    assert f"no layout of this family does better than {bound} cycles" in str(found)


def test_the_brute_force_above_can_tell() -> None:
    """A column of 32 floats costs 32, 1 at best: neither is the other."""
    column = Access("LDS", "lane, 0")
    found: Optimum = optimize([column], tile="32x32", space={"swizzle": "xor"})
    assert (found.before, found.cost) == (32, 1)
    assert count("LDS", [128 * lane for lane in range(32)], ALL_LANES).wavefronts == 32
    with pytest.raises(ValueError, match="read"):
        TileLayout(4, 4, terms=(Term(1, 0b11),))
