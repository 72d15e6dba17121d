"""Atomics and asynchronous accesses at a neighbour: an H100's clocks beside law and bound."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gpu_check.hopper import neighbours
from simulator.law.neighbour_atomics import price_neighbour_atomic
from simulator.law.neighbours import count_neighbour
from tests.silicon.test_hopper_units import arrays


class TestAtomics:
    @staticmethod
    def rows(op: str, recorded: dict[str, Any]) -> dict[str, Any]:
        mine = recorded["op"] == op
        return {name: column[mine] for name, column in recorded.items() if column.shape}

    @pytest.mark.parametrize(
        ("name", "op", "equal", "near", "rows"),
        [("h100_neighbours", "red.add.32", 149, 156, 160),
         ("h100_neighbours", "atom.add.32", 154, 157, 160),
         ("h100_neighbours", "atom.exch.32", 156, 159, 160),
         ("h100_neighbours_again", "red.add.32", 148, 160, 160),
         ("h100_neighbours_again", "atom.exch.32", 153, 160, 160),
         ("h100_neighbour_probes", "red.add.32", 116, 117, 120),
         ("h100_neighbour_probes", "atom.add.32", 107, 117, 120),
         ("h100_neighbour_probes", "atom.exch.32", 120, 120, 120),
         ("h100_neighbour_atomics", "red.min.32", 60, 62, 64),
         ("h100_neighbour_atomics", "red.or.32", 60, 61, 64),
         ("h100_neighbour_atomics", "red.inc.32", 60, 62, 64),
         ("h100_neighbour_atomics", "atom.max.32", 59, 62, 64),
         ("h100_neighbour_atomics", "red.add.32", 60, 61, 64),
         ("h100_neighbour_atomics", "atom.add.32", 60, 62, 64),
         ("h100_neighbour_atomics", "atom.exch.32", 60, 62, 64)],
    )  # fmt: skip
    def test_cycles_of_atomics(self, name: str, op: str, equal: int, near: int, rows: int) -> None:
        """The files were measured before the law had banks; the bound holds for every row."""
        whole = arrays(name)
        found = self.rows(op, whole)
        drawn = found["family"] == "drawn" if "family" in found else np.ones(len(found["op"]), bool)
        law, least = self.atomics({each: column[drawn] for each, column in found.items()})
        assert len(law) == rows
        assert least.min() > -0.66
        assert (np.abs(law) < 0.65).sum() == equal
        assert (np.abs(law) < 3.2).sum() == near
        assert -1.3 < law.min() < law.max() < 6.5

    def test_red_async_obeys_the_law_of_waves(self) -> None:
        """All 174 accesses, to 0.1 cycles: the least of the law are read off three of them."""
        whole = arrays("h100_neighbour_atomics")
        for op, name in (("red.async.32", "REDAS"), ("red.async.64", "REDAS.64")):
            found = self.rows(op, whole)
            costs = count_neighbour(name, found["address"] + neighbours.WINDOW, found["mask"])
            assert len(costs.cycles) == 87
            assert np.abs(found["neighbour"] - costs.cycles).max() < 0.1

    def test_sums_of_64_bits_without_a_result(self) -> None:
        found = self.rows("red.add.64", arrays("h100_neighbour_atomics"))
        law, least = self.atomics(found, 8)
        assert ((np.abs(law) < 0.65).sum(), (np.abs(law) < 3.2).sum(), len(law)) == (75, 80, 87)
        assert least.min() > -0.1

    def test_asynchronous_stores_to_different_words_obey_it(self) -> None:
        """Lanes left out by halves of accesses that an earlier law did not explain."""
        whole = arrays("h100_neighbour_atomics")
        found = self.rows("st.async.32", whole)
        apart = [
            row for row, mask in enumerate(found["mask"].tolist())
            if len({int(x) for lane, x in enumerate(found["address"][row]) if mask >> lane & 1})
            == mask.bit_count()
        ][::8]  # fmt: skip
        costs = count_neighbour(
            "STAS", found["address"][apart] + neighbours.WINDOW, found["mask"][apart]
        )
        over = found["neighbour"][apart] - costs.cycles
        assert over.min() > -0.1
        assert len(over) > 150
        assert (np.abs(over) < 0.65).mean() > 0.97

    def test_cycles_of_atomics_that_were_built(self) -> None:
        """Waves of four lines and of three lanes come out, all 3,000; so does the bound."""
        probes = arrays("h100_neighbour_probes")
        found = self.rows("red.add.32", probes)
        for family in ("five", "six", "three"):
            mine = found["family"] == family
            law, least = self.atomics({each: column[mine][::8] for each, column in found.items()})
            assert len(law) == 125
            assert np.abs(law).max() < 0.65
            assert least.min() > -0.6

    @staticmethod
    def atomics(found: dict[str, Any], width: int = 4) -> tuple[Any, Any]:
        """Cycles above the law, and above the bound; the kernels' arrays begin at 2048."""
        costs = [
            price_neighbour_atomic(places.astype(np.int64) + neighbours.WINDOW, int(mask), width)
            for places, mask in zip(found["address"], found["mask"], strict=True)
        ]
        return tuple(
            found["neighbour"] - np.array([getattr(each, name) for each in costs])
            for name in ("cycles", "least")
        )  # type: ignore[return-value]
