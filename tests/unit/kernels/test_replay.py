"""`replay`: its report, and what it refuses."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import pandas as pd
import pytest

from simulator import (
    BankwiseError,
    Cycle,
    GlobalSite,
    Kernel,
    KernelError,
    KernelReport,
    Launch,
    Matrix,
    OptionError,
    SharedSite,
    SiteTable,
    kernels,
    replay,
)
from simulator.kernels import replay as replaying
from simulator.kernels.lowering import lower_global, lower_shared
from simulator.kernels.sites import AS_WRITTEN, ASSUMED
from simulator.sass.report import CompiledReport

SIZE = {"m": 256, "n": 256, "k": 256}


def kernel(*sites: SharedSite | GlobalSite, threads: int = 32, grid: Any = (1, 1)) -> Kernel:
    return Kernel("mine", "", "", lambda m, n, k: Launch(grid, (threads, 1), sites))


def test_every_kernel_replays_in_both_forms() -> None:
    for name in kernels.names():
        for form in ("compiled", "written"):
            report = replay(name, m=4096, n=4096, k=4096, form=form)
            assert report.kernel == name
            assert report.parameters == kernels.get(name).parameters
            rows = report.columns()
            for kind in ("load", "store"):
                total = report.totals()[kind]
                for figure in ("wavefronts", "ideal", "excessive", "bank_conflicts"):
                    column = zip(rows["kind"], rows[figure], strict=True)
                    assert total[figure] == sum(value for each, value in column if each == kind)
                assert total["excessive"] == total["wavefronts"] - total["ideal"]


def test_to_dict_is_plain() -> None:
    report = replay("junstar92.2d", **SIZE)
    given = report.to_dict()
    assert list(given) == ["sites", "totals"]
    assert list(given["totals"]) == ["load", "store", "all"]
    for total in given["totals"].values():
        assert list(total) == ["requests", "wavefronts", "ideal", "excessive", "bank_conflicts"]
        assert {type(value) for value in total.values()} == {int}
    assert {len(column) for column in given["sites"].values()} == {len(report.sites)}
    assert {type(v) for column in given["sites"].values() for v in column} == {int, str}
    both = [given["totals"][kind]["requests"] for kind in ("load", "store")]
    assert given["totals"]["all"]["requests"] == sum(both)


def test_data_frame_and_html_have_a_row_a_site() -> None:
    report = replay("leimao.v02", **SIZE)
    frame = report.to_dataframe()
    assert isinstance(frame, pd.DataFrame)
    assert list(frame["source"]) == [site.source for site in report.sites]
    # A line of names, and the sums of loads, stores and both.
    assert report._repr_html_().count("<tr>") == len(report.sites) + 4


def test_instructions_add_up_to_the_shared_sites() -> None:
    report = replay("junstar92.2d", **SIZE)
    assert sum(row[1] for row in report.instructions) == report.totals()["all"]["requests"]
    assert sum(row[2] for row in report.instructions) == report.totals()["all"]["wavefronts"]


def test_evidence_holds_for_the_documents_tiles_only() -> None:
    def evidence(form: str = "compiled", **tiles: int) -> set[str]:
        sites = replay("junstar92.vectorized", form=form, **SIZE, **tiles).sites
        return {site.evidence for site in sites} - {AS_WRITTEN}

    assert "H200" in evidence().pop()
    assert evidence(block_m=128) == {ASSUMED}
    assert evidence(form="written") == set()


def test_progress_is_told_after_each_site(monkeypatch: pytest.MonkeyPatch) -> None:
    events: list[object] = []
    lower = replaying.lower_shared

    def told(site: Any, *rest: Any) -> Any:
        events.append(site.source)
        return lower(site, *rest)

    monkeypatch.setattr(replaying, "lower_shared", told)
    # The last of the three has no turn: it costs nothing, and is done all the same.
    sites = [
        SharedSite(name, "load", lambda tid: tid, repeats={"t": 2 - i})
        for i, name in enumerate("abc")
    ]
    replay(kernel(*sites), progress=lambda *done: events.append(done), **SIZE)
    assert events == ["a", (1, 3), "b", (2, 3), (3, 3)]


def test_totals_do_not_overflow() -> None:
    size = 2**31 - 1
    report = replay("leimao.v00", m=size, n=32 * 65535, k=size)
    warps = -(-size // 32) * 32 * 65535
    assert report.sites[0].requests == warps * size > 2**63
    assert report.sites[1].sectors == warps * size


def test_cost_does_not_grow_with_the_matrices() -> None:
    def work(name: str, size: int) -> list[tuple[int, ...]]:
        launch = kernels.get(name).launch(size, size, size)
        return [
            (
                lower_shared(site, launch, "compiled")
                if isinstance(site, SharedSite)
                else lower_global(site, launch, "compiled")
            ).addresses.shape
            for site in launch.sites
        ]

    for name in kernels.names():
        assert work(name, 2**12) == work(name, 2**20)


def test_a_kernel_of_ones_own() -> None:
    transpose = kernel(
        SharedSite(
            "tile[tx][ty]", "load", lambda tid, i: tid * 33 + i, loops={"i": 32}, repeats={"j": 7}
        ),
        grid=(3, 5),
    )
    (site,) = replay(transpose, **SIZE).sites
    assert (site.op, site.requests, site.bank_conflicts) == ("LDS", 3 * 5 * 7 * 32, 0)


def test_a_loop_without_a_turn_executes_nothing() -> None:
    site = SharedSite("a[tid]", "load", lambda tid: tid, repeats={"stage": Cycle(0, 2)})
    assert replay(kernel(site), **SIZE).sites == ()


@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [
        ("junstar92.vectorised", SIZE, "did you mean junstar92.vectorized"),
        ("v02", SIZE, "unknown kernel 'v02': accepted: leimao.v00"),
        (["leimao.v02"], SIZE, "unknown kernel"),
        ("leimao.v02", {**SIZE, "m": 0}, "m = 0 is not a matrix size (accepted: 1 to 2147483647)"),
        ("leimao.v02", {**SIZE, "n": -4}, "n = -4 is not a matrix size"),
        ("leimao.v02", {**SIZE, "k": 2.0}, "k = 2.0 is not a matrix size"),
        ("leimao.v02", {**SIZE, "k": True}, "k = True is not a matrix size"),
        ("leimao.v02", {**SIZE, "k": 2**31}, "k = 2147483648 is not a matrix size"),
        ("leimao.v01", {**SIZE, "m": 2**31 - 1}, "the grid is 8x67108864 blocks"),
        ("leimao.v02", {**SIZE, "block_p": 4}, "leimao.v02 has no parameter 'block_p': did you"),
        ("leimao.v02", {**SIZE, "block_m": 0}, "block_m = 0 is not a size (accepted: 1 to 65536)"),
        ("leimao.v02", {**SIZE, "block_m": "8"}, "block_m = '8' is not a size"),
        ("leimao.v02", {**SIZE, "block_m": 64, "block_k": 64}, "the block has 2048 threads"),
        ("leimao.v02", {**SIZE, "block_k": 8192}, "bytes of shared memory"),
        ("leimao.v03", {**SIZE, "thread_m": 5}, "thread_m = 5 does not divide block_m = 64"),
        ("leimao.v05", {**SIZE, "vector": 2}, "vector = 2 elements (accepted: 1, 4)"),
        ("leimao.v06", {**SIZE, "lanes_m": 4}, "a warp of 4x4 lanes (accepted: 32 lanes)"),
        ("leimao.v07", {**SIZE, "m": 200}, "m = 200 is not a multiple of block_m = 128"),
        ("leimao.v07", {**SIZE, "pad_m": -1}, "pad_m = -1 is not a size (accepted: 0 to 65536)"),
        ("leimao.v07", {**SIZE, "pad_m": 1}, "pad_m = 129 does not hold whole vectors of 8"),
        (
            "leimao.v02",
            {**SIZE, "block_m": 64, "block_n": 64},
            "the block has 4096 threads (accepted: 1 to 1024)",
        ),
        (
            "leimao.v02",
            {**SIZE, "block_k": 8},
            "block_m * block_k = 256 does not hold whole loads by all 1024 threads"
            " (accepted: multiples of 1024)",
        ),
        ("explore-gemm.vectorized", {**SIZE, "block_k": 6}, "(accepted: multiples of 4)"),
        (
            "junstar92.warptiling",
            {**SIZE, "padding": 1},
            "block_m + padding = 65 does not hold whole vectors of 4 (accepted: multiples of 4)",
        ),
        (
            "junstar92.2d",
            {**SIZE, "block_m": 32},
            "(accepted: block_m = thread_m * block_k, block_n = thread_n * block_k)",
        ),
        ("illustrated.v1", {**SIZE, "k": 12}, "k = 12 is not a multiple of block_k = 8"),
        ("illustrated.warp_tile", {**SIZE, "m": 128}, "m = 128, n = 256: the document launches"),
        ("illustrated.layout_4x8", {**SIZE, "warp": "4x9"}, "36 lanes, a warp has 32"),
        ("illustrated.layout_4x8", {**SIZE, "warp": 8}, "warp shape 8 is not RxC"),
        ("junstar92.1d", {**SIZE, "block_k": 4}, "block_k = 4, thread_m = 8: each thread stores"),
        ("junstar92.vectorized", {**SIZE, "n": 100}, "no bounds check along n"),
        ("junstar92.warptiling", {**SIZE, "threads": 96}, "threads = 96 for 1x2 warp tiles"),
        ("cutlass-notes.sgemm_128x128", {**SIZE, "pad_a": 1}, "would misalign float4"),
    ],
)
def test_bad_input_is_refused_with_what_is_accepted(
    name: Any, arguments: dict[str, Any], message: str
) -> None:
    with pytest.raises(BankwiseError) as refused:
        replay(name, **arguments)
    assert message in str(refused.value)
    assert "accepted" in str(refused.value)


def test_unknown_form_and_rule() -> None:
    with pytest.raises(OptionError, match="unknown form 'compile': did you mean compiled"):
        replay("leimao.v02", form="compile", **SIZE)
    with pytest.raises(OptionError, match="unknown rule 'nvidia': accepted: silicon, documented"):
        replay("leimao.v00", rule="nvidia", **SIZE)


A = Matrix(64, 64, 64)


@pytest.mark.parametrize(
    ("site", "message"),
    [
        (
            lambda: SharedSite("a[i]", "load", lambda tid, z: tid + z, loops={"i": 4}),
            r"names z \(accepted: bx, by, i, lane, tid, tx, ty, warp\)",
        ),
        (
            lambda: SharedSite("a[i]", "load", lambda i: i, loops={"i": 4}, hoisted=("i",)),
            "depends on i and cannot be hoisted",
        ),
        (
            lambda: SharedSite("a[i]", "load", lambda tid: tid, loops={"i": 4}, merges="i"),
            "does not depend on i and cannot merge it",
        ),
        (lambda: SharedSite("a", "load", lambda tid: tid / 2), "gives float64"),
        (
            lambda: SharedSite("a", "load", lambda tid, kt: tid + kt, repeats={"kt": 10**7}),
            "depends on kt: 10000000 accesses .*can be a Cycle",
        ),
        (lambda: SharedSite("a", "load", lambda tid: tid * 3, width=3), "12 bytes per lane"),
        (lambda: SharedSite("a", "load", lambda tid: tid, width=2), "misaligned"),
        (
            lambda: GlobalSite("A", "load", A, lambda tid: tid, lambda tid: tid * 2 + 3),
            "reaches column 65 of 64 without a bounds check",
        ),
        (
            lambda: GlobalSite("A", "load", A, lambda bx: bx // 2, lambda tid: tid),
            "is not thread and loop indices plus positive multiples",
        ),
        (
            lambda: GlobalSite("A", "load", A, lambda bx: -1 * bx, lambda tid: tid),
            "is not thread and loop indices plus positive multiples",
        ),
        (
            lambda: GlobalSite(
                "A", "load", A, lambda by: by, lambda tid: tid, where=lambda by: by < 3
            ),
            "`where` of site 'A' names by",
        ),
        (
            lambda: GlobalSite("A", "load", A, lambda tid: 0, lambda tid: tid, width=4),
            "moves 16 bytes per lane from addresses that are not multiples of 16",
        ),
        (
            lambda: GlobalSite("A", "load", A, lambda by: 32 if by else 0, lambda tid: tid),
            "is not thread .*: TypeError: by cannot be a condition",
        ),
        (
            lambda: GlobalSite("A", "load", A, lambda by: 32 * (by == 1), lambda tid: tid),
            "is not thread .*: TypeError: by cannot be compared",
        ),
        (
            lambda: GlobalSite("A", "load", A, lambda tid: tid / 2, lambda tid: tid),
            "gives float64",
        ),
        (lambda: GlobalSite("A", "load", A, lambda tid: None, lambda tid: tid), "gives object"),
        (
            lambda: GlobalSite(
                "A", "load", Matrix(2**60, 64, 2**40), lambda tid: tid + 2**40, lambda tid: tid
            ),
            r"reaches byte \d+ \(accepted: below 2\^63\)",
        ),
        (
            lambda: SharedSite("a", "load", lambda tid: tid if tid < 16 else 0),
            "'a' cannot be computed from arrays of indices: ValueError: .*accepted: .*np.where",
        ),
        (lambda: SharedSite("a", "load", lambda tid: tid // 0), "FloatingPointError: divide by"),
        (lambda: SharedSite("a", "load", lambda tid: {}[7]), "KeyError: 7"),
        (
            lambda: SharedSite("a", "load", lambda tid: [1, 2, 3]),
            r"gives \[1, 2, 3\] \(accepted: an",
        ),
        (lambda: SharedSite("a", "load", lambda tid: tid + 2**62), "either way"),
        (
            lambda: SharedSite("a", "load", lambda tid: tid, loops={"i": 10**9}),
            "is unrolled to 1000000000 instructions .*belong to `repeats`",
        ),
        (
            lambda: SharedSite(
                "a", "load", lambda tid, i: 8 * tid + i, loops={"i": 8}, merges="i", element=32
            ),
            "no instruction moves 32 bytes per lane",
        ),
    ],
)
def test_sites_that_cannot_be(site: Any, message: str) -> None:
    with pytest.raises(BankwiseError, match=message):
        replay(kernel(site()), **SIZE)


def test_parameters_without_a_default_are_refused() -> None:
    with pytest.raises(KernelError, match="'mine' has no default for tile"):
        Kernel("mine", "", "", lambda m, n, k, *, tile: Launch((1, 1), (32, 1), ()))
    tiled = Kernel(
        "mine", "", "", lambda m, n, k, *, tile: Launch((m // tile, 1), (32, 1), ()), {"tile": 8}
    )
    assert replay(tiled, m=64, n=1, k=1).grid == (8, 1)


def test_coordinates_may_count_down_from_a_size() -> None:
    def site(col: Any) -> GlobalSite:
        return GlobalSite("A", "load", A, lambda: 0, col, repeats={"t": 3})

    up = replay(kernel(site(lambda t, tid: (t + 1) * 8 - 8 + tid)), **SIZE)
    assert up.sites == replay(kernel(site(lambda t, tid: 8 * t + tid)), **SIZE).sites


def test_kernel_error_is_a_bankwise_error() -> None:
    assert issubclass(KernelError, BankwiseError)


def test_described_and_compiled_kernels_share_a_table_and_nothing_else() -> None:
    common, described, compiled = (
        {each.name for each in fields(report)}
        for report in (SiteTable, KernelReport, CompiledReport)
    )
    assert described & compiled == common | {"instructions"}  # rows of one, columns of the other
    assert {"m", "n", "k", "form", "parameters", "about", "element"} == described - compiled
    for report in (KernelReport, CompiledReport):
        assert issubclass(report, SiteTable)
        assert report.global_totals is SiteTable.global_totals
    assert KernelReport.totals is SiteTable.totals  # a compiled kernel's has "global" beside


def test_sizes_are_those_of_the_command_where_none_are_given() -> None:
    report = replay("junstar92.vectorized")
    assert (report.m, report.n, report.k) == (4096, 4096, 4096)
