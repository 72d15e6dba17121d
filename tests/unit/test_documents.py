"""Figures that the documents print, reproduced.

[M] 猛猿, 从啥也不会到CUDA GEMM优化, https://zhuanlan.zhihu.com/p/703256080, chapter 5.
[B] Bloonow, GEMM矩阵乘法和CUTLASS模板库, https://github.com/Bloonow/MyNotes, section "Warp Tile".

The pictures of [M] are not in its text. Where it only shows one, the addresses below were
chosen to fit its caption and its prose; each test says what those are.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from simulator import FragmentReport, count, explain, simulate

LANES = range(32)


def words(*indices: int) -> list[int]:
    return [4 * index for index in indices]


class TestLds32:
    """[M] 5.1 (1): seven pictures of LDS.32."""

    def test_example_1_lane_i_reads_bank_i(self) -> None:
        counts = count("LDS.32", words(*LANES))
        assert (counts.wavefronts, counts.bank_conflicts) == (1, 0)

    def test_example_2_every_lane_another_bank(self) -> None:
        # "each thread reads a different bank", in no particular order: here a permutation.
        counts = count("LDS.32", words(*(5 * lane % 32 for lane in LANES)))
        assert (counts.wavefronts, counts.bank_conflicts) == (1, 0)

    def test_example_3_other_layers_but_other_banks(self) -> None:
        # "different layers, yet still different banks": lane i in layer i % 3.
        counts = count("LDS.32", words(*(lane + 32 * (lane % 3) for lane in LANES)))
        assert (counts.wavefronts, counts.bank_conflicts) == (1, 0)

    def test_example_4_lanes_0_to_2_read_one_word_of_bank_0(self) -> None:
        # "threads 0 to 2 all read the first bank", the same address: broadcast.
        counts = count("LDS.32", words(0, 0, 0, *range(3, 32)))
        assert (counts.wavefronts, counts.bank_conflicts) == (1, 0)

    @pytest.mark.parametrize(
        "layout",
        [
            pytest.param([lane + 31 * (lane == 1) for lane in LANES], id="example 5"),
            pytest.param([2 * lane for lane in LANES], id="example 6"),
        ],
    )
    def test_examples_5_and_6_are_2_way(self, layout: list[int]) -> None:
        # "2-way Bank Conflict": one bank asked for two words; or all even banks, by stride 2.
        counts = count("LDS.32", words(*layout))
        assert (counts.wavefronts, counts.bank_conflicts) == (2, 1)

    def test_example_7_is_3_way(self) -> None:
        # "3-way Bank Conflict": lanes 0, 1 and 2 on three layers of bank 0.
        counts = count("LDS.32", words(0, 32, 64, *range(3, 32)))
        assert (counts.wavefronts, counts.bank_conflicts) == (3, 2)


class TestLds64:
    """[M] 5.1 (3): two cases of LDS.64, by the published rule of two phases."""

    def test_case_1_takes_two_transactions(self) -> None:
        addresses = [8 * lane for lane in LANES]
        assert count("LDS.64", addresses, rule="documented").wavefronts == 2

    def test_case_2_takes_three_transactions(self) -> None:
        # t0 and t1 read different addresses of banks 0 and 1; lanes 16-31 do not conflict.
        addresses = [8 * lane for lane in LANES]
        addresses[1] = 128
        assert count("LDS.64", addresses, rule="documented").wavefronts == 3
        first, second = explain("LDS.64", addresses, rule="documented").phases
        assert (len(first.wavefronts), len(second.wavefronts)) == (2, 1)
        assert first.worst_bank == 0
        assert [entry.lanes for entry in first.banks[1]] == [(0,), (1,)]


def figures(report: FragmentReport, name: str) -> tuple[int, int]:
    return report[name].wavefronts, report[name].ideal


class TestWarpTiling:
    """[M] 5.2: three layouts of a warp's threads, 8×8 elements each, tiles 128×128×8."""

    @pytest.mark.parametrize("rule", ["silicon", "documented"])
    def test_1_two_rows_of_sixteen_conflict(self, rule: str) -> None:
        report = simulate("2x16", 128, lane_order="row-major", a_layout="row-major", rule=rule)
        assert figures(report, "B") == (16, 8)
        assert figures(report, "A") == (16, 8)
        assert report["A"].op == "LDS"
        # "0&4, 1&5, 2&6, 3&7 read different addresses of the same bank"
        first = report["B"].explain()[0].phases[0]
        pairs = {tuple(entry.lanes[0] for entry in queue) for queue in first.banks.values()}
        assert pairs == {(0, 4), (1, 5), (2, 6), (3, 7)}
        # "0-15 and 16-31 each read the same word", lanes 0 and 16 conflict
        a = report["A"].explain()[0].phases[0]
        assert [entry.lanes for entry in a.banks[0]] == [tuple(range(16)), tuple(range(16, 32))]

    def test_1_transposing_a_frees_it_of_conflicts(self) -> None:
        report = simulate("2x16", 128, lane_order="row-major")
        assert report["A"].bank_conflicts == 0
        assert report["A"].op == "LDS.128"

    @pytest.mark.parametrize("rule", ["silicon", "documented"])
    def test_2_four_rows_of_eight_are_conflict_free(self, rule: str) -> None:
        # Its code: row = lane & 3, column = lane >> 2.
        report = simulate("4x8", 128, lane_order="col-major", rule=rule)
        assert report.bank_conflicts == 0

    @pytest.mark.parametrize("rule", ["silicon", "documented"])
    def test_3_split_tiles_are_conflict_free(self, rule: str) -> None:
        report = simulate("2x16", 128, lane_order="row-major", fragment="split", rule=rule)
        assert report.bank_conflicts == 0
        assert figures(report, "B") == (8, 8)

    def test_its_lane_order_is_col_major(self) -> None:
        order = [(lane & 3) * 8 + (lane >> 2) for lane in LANES]
        explicit = simulate("4x8", 128, lane_order=order)
        assert explicit.to_dict() == simulate("4x8", 128).to_dict()


class TestCyclesOfV100:
    """[B]: shared-memory cycles a k step, 8×8 thread tiles of four 4×4, LDS.128."""

    def test_one_row_of_lanes(self) -> None:
        report = simulate("1x32", 128, fragment="split")
        assert (report["A"].cycles, report["B"].cycles) == (4, 8)
        # "2048 ÷ 12 = 170 FFMA a cycle of shared memory"
        assert 2048 // report.cycles == 170

    def test_lanes_in_z_order(self) -> None:
        report = simulate("4x8", 128, lane_order="z-order", fragment="split")
        assert (report["A"].cycles, report["B"].cycles) == (4, 4)
        # "each LDS.128 needs only 2 memory transactions", "2048 ÷ 8 = 256"
        assert {int(cost) for part in report.fragments for cost in part.counts.wavefronts} == {2}
        assert 2048 // report.cycles == 256


def test_the_reference_lists_every_package_whose_names_are_kept() -> None:
    docs = Path(__file__).parents[2] / "docs"
    row = re.search(
        r"names and parameters that (.*) export", (docs / "reference/versions.md").read_text()
    )
    listed = re.search(r"_PACKAGES = \((.*?)\)", (docs / "site.py").read_text(), re.DOTALL)
    assert row is not None
    assert listed is not None
    # `bankwise` exports the names of `simulator`, and `simulator.kernels` is one of them.
    kept = set(re.findall(r"`([\w.]+)`", row[1])) - {"bankwise", "simulator.kernels"}
    assert kept - set(re.findall(r'"([\w.]+)"', listed[1])) == set()


def test_the_diffs_for_contributors_are_in_the_code() -> None:
    """CONTRIBUTING.md shows how things were added: each added line is there still."""
    root = Path(__file__).parents[2]
    text = (root / "CONTRIBUTING.md").read_text()
    sections = dict(part.split("\n", 1) for part in text.split("\n## ")[1:])
    shown = {
        name: re.findall(r"```diff\n(.*?)```", part, re.DOTALL) for name, part in sections.items()
    }
    assert [name for name in shown if name.startswith("Add a") and not shown[name]] == []
    for diffs in shown.values():
        for piece in re.split(r"^\+\+\+ b/", "".join(diffs), flags=re.MULTILINE)[1:]:
            path, _, lines = piece.partition("\n")
            code = (root / path).read_text().splitlines()
            assert [line[1:] for line in lines.splitlines() if line[:1] == "+"
                    and line[1:] not in code] == [], path  # fmt: skip
