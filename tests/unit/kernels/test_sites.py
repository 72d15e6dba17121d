"""What a kernel's description may be: a site, a matrix, a launch that cannot be is refused."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest

from simulator import (
    BankwiseError,
    Cycle,
    GlobalSite,
    Kernel,
    KernelError,
    Launch,
    Matrix,
    SharedSite,
    kernels,
    replay,
)
from simulator.kernels.replay import check_value

SIZE = {"m": 256, "n": 256, "k": 256}


def shared(**how: Any) -> SharedSite:
    return SharedSite("a", how.pop("kind", "load"), how.pop("index", lambda tid: tid), **how)


def launch(**how: Any) -> Launch:
    return Launch(**{"grid": (1, 1), "block": (32, 1), "sites": (shared(),), **how})


def kernel(*sites: SharedSite | GlobalSite) -> Kernel:
    return Kernel("mine", "", "", lambda m, n, k: launch(sites=sites))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: launch(grid=(-1, 1)), r"a size of the grid: -1 \(accepted: integers from 1\)"),
        (lambda: launch(grid=(0, 1)), "a size of the grid: 0"),
        (lambda: launch(grid=(2.0, 1)), "a size of the grid: 2.0"),
        (lambda: launch(grid=(2, 1, 1)), r"grid = \(2, 1, 1\) of a Launch \(accepted: two"),
        (lambda: launch(grid=7), "grid = 7 of a Launch"),
        (lambda: launch(block=(-32, -1)), "a size of the block: -32"),
        (lambda: launch(block=(32, True)), "a size of the block: True"),
        (lambda: launch(block=(64, 32)), r"the block has 2048 threads \(accepted: 1 to 1024\)"),
        (lambda: launch(shared_bytes=-1), "shared_bytes of a Launch: -1"),
        (lambda: launch(sites=("a",)), "'a' is not a site of a Launch"),
        (lambda: shared(repeats={"t": -3}), r"trips of loop t in site 'a': -3 .*integers from 0"),
        (lambda: shared(repeats={"t": 2.5}), "trips of loop t in site 'a': 2.5"),
        (lambda: shared(loops={"t": -3}), "trips of loop t in site 'a': -3"),
        (lambda: shared(loops={"t": Cycle(4, 2)}), "trips of loop t in site 'a': Cycle"),
        (lambda: shared(loops=("t", 3)), r"loops of site 'a' are \('t', 3\) \(accepted: {name"),
        (lambda: shared(loops={"i": 2}, repeats={"i": 3}), "has a loop i, which also names"),
        (lambda: shared(loops={"tid": 2}), "has a loop tid, which also names"),
        (lambda: shared(repeats={"bx": 2}), "has a loop bx, which also names"),
        (lambda: Cycle(4, 0), r"period of a Cycle: 0 \(accepted: integers from 1\)"),
        (lambda: Cycle(-1, 2), r"trips of a Cycle: -1 \(accepted: integers from 0\)"),
        (lambda: shared(kind="laod"), r"kind = 'laod' of site 'a' \(accepted: 'load', 'store'\)"),
        (lambda: shared(only="compild"), "only = 'compild' .*accepted: None, 'written', 'compi"),
        (lambda: shared(op="STS"), r"'a' is a load, but STS is not \(accepted: .* that read\)"),
        (lambda: shared(kind="store", op="LDS"), "is a store, but LDS is not"),
        (lambda: shared(op="LDS.128"), "moves 4 bytes per lane, or merges, but LDS.128 moves 16"),
        (lambda: shared(op="LDQ"), "LDQ"),
        (lambda: shared(width=0), "width of site 'a': 0"),
        (lambda: shared(element=2.0), "element of site 'a': 2.0"),
        (lambda: shared(index=max), "<built-in function max> is not an index function"),
        (lambda: launch(sites=None), "sites = None of a Launch"),
        (
            lambda: GlobalSite("A", "load", Matrix(8, 8, 8), lambda: 0, lambda: 0, bounds=(3,)),  # type: ignore[arg-type]
            r"bounds of site 'A' are \(3,\) \(accepted: pairs",
        ),
        (lambda: shared(index=5), "has 5 where a function of its indices is accepted"),
        (lambda: shared(hoisted=("typo",)), r"hoisted of site 'a' names 'typo' \(accepted: .*none"),
        (
            lambda: shared(repeats={"t": 2}, loops={"i": 2}, hoisted=("t",)),
            "hoisted of site 'a' names 't' .*accepted: its `loops`: i",
        ),
        (
            lambda: shared(index=lambda tid, t: tid + t, repeats={"t": 2}, merges="t"),
            "merges of site 'a' names 't'",
        ),
        (lambda: shared(loops={"i": 4}, merges="i"), "does not depend on i and cannot merge it"),
        (lambda: Matrix(64, 64, ld=3), r"ld = 3 of a Matrix with 64 columns.*accepted: 64 or more"),
        (lambda: Matrix(0, 64, 64), "rows of a Matrix: 0"),
        (lambda: Matrix(64, 64, 64, 2.5), "element of a Matrix: 2.5"),  # type: ignore[arg-type]
        (
            lambda: GlobalSite("A", "load", "A", lambda tid: tid, lambda tid: tid),  # type: ignore[arg-type]
            "matrix of site 'A' is 'A'",
        ),
    ],
)
def test_descriptions_that_cannot_be(make: Any, message: str) -> None:
    with pytest.raises(BankwiseError, match=message):
        make()


@pytest.mark.parametrize("guarded", [False, True])
@pytest.mark.parametrize(
    ("row", "col", "message"),
    [
        (lambda: 0, lambda tid: tid - 1, "reaches column -1 "),
        (lambda: 1, lambda tid: tid - 1, "reaches column -1 "),  # not the element before row 1
        (lambda tid: tid - 2, lambda: 0, "reaches row -2 "),
    ],
)
def test_no_coordinate_is_negative(row: Any, col: Any, message: str, guarded: bool) -> None:
    site = GlobalSite("A", "load", Matrix(64, 64, 64), row, col, guarded=guarded)
    with pytest.raises(KernelError, match=message):
        replay(kernel(site), **SIZE)


def test_lanes_that_take_no_part_may_be_anywhere() -> None:
    site = GlobalSite(
        "A", "load", Matrix(1, 16, 16), lambda: 0, lambda tid: tid - 8,
        where=lambda tid: (tid >= 8) & (tid < 24),
    )  # fmt: skip
    assert replay(kernel(site), **SIZE).sites[0].sectors == 2


def test_the_last_element_of_a_vector_is_inside_too() -> None:
    site = GlobalSite("A", "load", Matrix(1, 126, 128), lambda: 0, lambda tid: 4 * tid, width=4)
    with pytest.raises(KernelError, match="reaches column 127 of 126 without a bounds check"):
        replay(kernel(site), **SIZE)


def test_a_kernel_that_gives_no_launch() -> None:
    with pytest.raises(KernelError, match=r"kernel 'mine' gives None \(accepted: a Launch\)"):
        replay(Kernel("mine", "", "", lambda m, n, k: None), **SIZE)  # type: ignore[arg-type, return-value]


def test_a_default_for_a_parameter_that_launch_does_not_have() -> None:
    with pytest.raises(KernelError, match="'mine' has a default for tile"):
        Kernel("mine", "", "", lambda m, n, k, *, pad=1: launch(), {"tile": 8})


# NumPy's integers wrap, or refuse to, where Python's grow.


@pytest.mark.parametrize("kind", [np.int8, np.int16, np.int32, np.int64, np.uint8])
def test_numpy_tile_parameters_count_as_pythons_do(kind: type[np.integer[Any]]) -> None:
    tiles = {"thread_m": 8, "block_k": 16}
    size = {"m": 16384, "n": 16384, "k": 16384}
    expected = replay("leimao.v04", **size, **tiles)
    found = replay("leimao.v04", **size, **{name: kind(tile) for name, tile in tiles.items()})
    assert found.to_dict() == expected.to_dict()
    assert found.parameters == expected.parameters
    assert {type(value) for value in found.parameters.values()} == {int}
    totals = [*found.totals().values(), *found.global_totals().values()]
    assert {type(figure) for total in totals for figure in total.values()} == {int}


def test_numpy_sizes_in_a_description_do_not_overflow() -> None:
    big = np.int32(2**16 - 1)
    site = shared(loops={"i": np.int8(100)}, repeats={"t": big, "u": big}, width=np.int8(1))
    wide = Kernel("mine", "", "", lambda m, n, k: launch(grid=(big, big), sites=(site,)))
    report = replay(wide, **SIZE)
    assert report.totals()["load"]["requests"] == 100 * (2**16 - 1) ** 4
    assert {type(size) for size in (*report.grid, *report.block)} == {int}


# The catalogue is the same for everybody in the process.


def test_the_catalogue_cannot_be_changed() -> None:
    kernel = kernels.get("junstar92.vectorized_128")
    with pytest.raises(TypeError, match="does not support item assignment"):
        kernel.defaults["block_m"] = 64  # type: ignore[index]
    kernel.parameters["block_m"] = 64  # a copy
    assert kernels.get("junstar92.vectorized_128").parameters["block_m"] == 128


def test_defaults_are_not_those_of_the_caller() -> None:
    given = {"pad": 1}
    mine = Kernel("mine", "", "", lambda m, n, k, *, pad=0: launch(), given)
    given["pad"] = 7
    assert mine.parameters == {"pad": 1}


def test_a_report_cannot_be_changed_but_copied() -> None:
    report = replay("junstar92.2d", **SIZE)
    with pytest.raises(TypeError, match="does not support item assignment"):
        report.parameters["block_m"] = 8  # type: ignore[index]
    for again in (copy.deepcopy(report), pickle.loads(pickle.dumps(report))):  # noqa: S301
        assert again.to_dict() == report.to_dict()
        assert again.parameters == report.parameters


def test_what_is_no_number_has_a_check() -> None:
    """So that a sweep refuses it before the work: numbers are checked by their defaults."""
    for name in kernels.names():
        known = kernels.get(name)
        words = {key for key, value in known.parameters.items() if isinstance(value, str)}
        assert words == set(known.checks), name
        for key in words:
            known.checks[key](known.parameters[key])
            with pytest.raises(BankwiseError, match="nope"):
                known.checks[key]("nope")


def test_a_check_of_ones_own() -> None:
    def even(text: str) -> None:
        if len(text) % 2:
            raise BankwiseError(f"text {text!r} is odd")

    def of(m: int, n: int, k: int, *, text: str = "even") -> Launch:
        return launch()

    mine = Kernel("mine", "", "", of, checks={"text": even})
    check_value(mine, "text", "four")
    with pytest.raises(BankwiseError, match="text 'odd' is odd"):
        check_value(mine, "text", "odd")
    for checks in ({"texts": even}, {"text": "even"}):
        with pytest.raises(KernelError, match=r"as a check of 'text.*accepted: a function"):
            Kernel("mine", "", "", of, checks=checks)  # type: ignore[arg-type]
