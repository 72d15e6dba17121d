"""Hopper's own units against what an H100 recorded: gpu_check/data/README.md describes it."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from importlib.resources import as_file, files
from typing import Any, ClassVar

import numpy as np
import pytest

from gpu_check.hopper import neighbour_probes, neighbours, tiles, tma, wgmma
from gpu_check.hopper.cases import fill
from gpu_check.recordings import PackagedTable, packaged_table
from simulator.errors import MemoryAccessError
from simulator.law.copies import tag_bank
from simulator.law.neighbours import FLOORS, count_neighbour
from simulator.sass.lift.gmma_form import Gmma, parse_gmma
from simulator.sass.run.map_fields import MapFields
from simulator.sass.run.rows import ArrayMemory
from simulator.sass.run.tma import load_tile, store_tile

DATA = files("gpu_check").joinpath("data")


def arrays(name: str) -> dict[str, Any]:
    with as_file(DATA.joinpath(f"{name}.npz")) as path, np.load(path, allow_pickle=False) as read:
        return dict(read)


def table(name: PackagedTable) -> list[dict[str, Any]]:
    """The rows of a table, numbers read."""
    return [{key: number(cell) for key, cell in row.items()} for row in packaged_table(name)]


def number(cell: str) -> Any:
    try:
        return float(cell)
    except ValueError:
        return cell


def test_provenance_says_chip_driver_cuda_and_date() -> None:
    told = json.loads(DATA.joinpath("h100_hopper_provenance.json").read_text(encoding="utf-8"))
    names = ("h100_tiles", "h100_neighbours", "h100_neighbours_again", "h100_neighbour_probes")
    for source in (told, *(json.loads(str(arrays(name)["provenance"])) for name in names)):
        assert source["chip"]["name"] == "NVIDIA H100 80GB HBM3"
        assert (source["chip"]["driver"], source["chip"]["cuda"]) == ("580.159.04", "13.0")
        assert source["date"].startswith("2026-11-22")


class TestWgmma:
    rows = table("h100_wgmma")

    @staticmethod
    def form(row: dict[str, Any]) -> Gmma:
        """The form as the simulator reads it from the text that such a wgmma compiles to."""
        unit = {"s8": "I", "u8": "I", "b1": "B"}.get(row["type"], "H")
        unit = "Q" if row["type"].startswith("e") else unit
        types = {"f16": "", "bf16": ".BF16", "tf32": ".TF32", "b1": ".AND.POPC"}.get(
            row["type"], f".{row['type'].upper()}" * 2
        )
        accumulator = "" if row["accumulator"] == "s32" else f".{row['accumulator'].upper()}"
        shape = f"64x{row['n']:.0f}x{row['k']:.0f}"
        a = "" if row["a"] == "SS" else "R120, "
        options = "".join(f".tnsp{each}" for each in row["transposed"])
        return parse_gmma(
            f"{unit}GMMA.{shape}{accumulator}{types} R24, {a}gdesc[UR4]{options}, R24, gsb0"
        )

    def test_all_forms_are_there(self) -> None:
        told = [{key: row[key] for key in ("type", "n", "a", "transposed")} for row in self.rows]
        asked = [{"type": each.kind, "n": each.n, "a": each.a, "transposed": each.transposed}
                 for each in wgmma.FORMS]  # fmt: skip
        assert told == asked
        assert {row["type"] for row in self.rows} >= {"f16", "bf16", "tf32", "e4m3", "s8"}

    def test_wavefronts_are_the_models_of_every_form(self) -> None:
        for row in self.rows:
            wanted = self.form(row).wavefronts
            assert row["wavefronts"] == row["sass_wavefronts"] == wanted, row
            assert row["bank_reads"] == 32 * wanted  # all banks, and no conflict
            assert row["requests"] == 4

    def test_cycles_are_the_models_of_every_form(self) -> None:
        for row in self.rows:
            assert abs(row["cycles"] - self.form(row).cycles) <= 0.26, row
            assert abs(row["cycles_two"] / self.form(row).cycles - 1) < 0.01, row

    def test_neither_type_nor_transposition_changes_them(self) -> None:
        found: dict[tuple[float, str], list[float]] = {}
        for row in self.rows:
            found.setdefault((row["n"], row["a"]), []).append(row["cycles"])
        assert max(max(each) - min(each) for each in found.values()) < 0.51

    def test_tensor_cores_alone_do_not_explain_small_n(self) -> None:
        few = [row for row in self.rows if row["n"] < 64 and row["a"] == "SS"]
        assert all(row["cycles"] > row["n"] / 2 for row in few)
        assert len(few) > 60


class TestTma:
    rows = table("h100_tma")

    def test_all_copies_are_there(self) -> None:
        told = [(row["copy"], row["inner_bytes"], row["rows"], row["swizzle"]) for row in self.rows]
        assert told == [(c.kind, c.inner, c.rows, c.swizzle or 0) for c in tma.copies()]

    def test_sectors_are_those_that_the_model_counts(self) -> None:
        for row, copy in zip(self.rows, tma.copies(), strict=True):
            wanted = self.sectors(copy)
            loads = copy.kind.endswith("load")
            assert row["sectors_read"] == (wanted if loads else 0), row
            assert row["sectors_written"] == (0 if loads else wanted), row

    @staticmethod
    def sectors(copy: tma.TmaCopy) -> int:
        if copy.kind.startswith("bulk"):
            return -(-copy.inner // 32)
        fields = MapFields(
            element="uint8", address=0, sizes=(tma.PITCH, 512), strides=(tma.PITCH,),
            element_strides=(1, 1), box=(copy.inner, copy.rows), swizzle=copy.swizzle,
        )  # fmt: skip
        memory = ArrayMemory(0, np.zeros(512 * tma.PITCH, np.uint8))
        return load_tile(fields, (0, 0), memory, [np.zeros(1 << 17, np.uint8)], 0).sectors

    def test_banks_are_used_once_for_each_word_and_never_meet(self) -> None:
        for row, copy in zip(self.rows, tma.copies(), strict=True):
            loads = copy.kind.endswith("load")
            assert row["bank_writes"] == (copy.bytes / 4 if loads else 0), row
            assert row["bank_reads"] == (0 if loads else copy.bytes / 4), row
            assert row["wavefronts"] == row["bank_conflicts"] == 0

    def test_a_store_sends_32_bytes_a_cycle_and_a_load_writes_a_row(self) -> None:
        """A row of 16 bytes takes two cycles to store. Few rows show the loop, or the latency."""
        for row, copy in zip(self.rows, tma.copies(), strict=True):
            if copy.kind == "store" and copy.rows >= 32:
                each = 2 if copy.inner == 16 else copy.inner / 32
                assert 0 < row["cycles"] - each * copy.rows <= 5.01, row
            if copy.kind == "load" and copy.rows == 256 and copy.inner <= 64:
                assert abs(row["cycles"] - copy.rows) < 1, row

    def test_a_swizzle_costs_nothing(self) -> None:
        found: dict[Any, list[float]] = {}
        for row in self.rows:
            if row["rows"] == 256:  # as many in flight: spans may leave gaps
                same = row["copy"], row["inner_bytes"], row["in_flight"]
                found.setdefault(same, []).append(row["cycles"])
        assert sum(len(each) > 1 for each in found.values()) > 5
        assert all(max(each) < 1.02 * min(each) for each in found.values())


class TestTiles:
    """Every byte that an H100 wrote."""

    recorded = arrays("h100_tiles")

    def asked(self) -> list[tuple[MapFields, dict[str, Any], str, Any]]:
        found = []
        for text, happened, change in zip(
            *(self.recorded[name] for name in ("tile", "happened", "change")), strict=True
        ):
            told = json.loads(str(text))
            fields = {k: tuple(v) if isinstance(v, list) else v for k, v in told["fields"].items()}
            found.append((MapFields(**fields), told, str(happened), change))
        return found

    def test_it_holds_the_tiles_that_are_asked_for(self) -> None:
        kept = [(fields, tuple(told["at"]), told["place"], told["way"])
                for fields, told, *_ in self.asked()]  # fmt: skip
        assert kept == [(each.fields, each.at, each.place, each.way) for each in tiles.tiles()]
        assert Counter(self.recorded["happened"].tolist()) == {"arrived": 118, "refused": 16}
        narrow = [f for f, *_ in self.asked() if f.swizzle and f.box[0] * f.itemsize < f.swizzle]
        assert len(narrow) > 40

    def test_tiles_that_the_chip_refuses_are_refused(self) -> None:
        for fields, told, happened, _ in self.asked():
            if happened == "refused":
                with pytest.raises(MemoryAccessError, match="bytes into a row of the tensor"):
                    self.copied(fields, told)

    def test_every_byte_is_the_chips(self) -> None:
        for fields, told, happened, change in self.asked():
            if happened == "arrived":
                after = self.copied(fields, told)
                assert np.array_equal(after, change[: len(after)]), told
                assert after.any()

    @staticmethod
    def copied(fields: MapFields, told: dict[str, Any]) -> Any:
        """What the model changes: shared memory by a load, the tensor by a store."""
        base = 0x7F00_0000_0000
        tensor = fill().view(np.uint8)
        memory = ArrayMemory(base, tensor.copy())
        shared, at = tiles.shared_before().copy(), told["at"]
        placed = replace(fields, address=base)
        if told["way"] == "load":
            load_tile(placed, at, memory, [shared], told["place"])
            return shared ^ tiles.shared_before()
        store_tile(placed, at, memory, shared, told["place"])
        count = tiles.TENSOR_BYTES
        return memory.read(np.array([base]), count)[0] ^ tensor[:count]


class TestMisc:
    rows: ClassVar = {(row["op"], row["lanes"]): row for row in table("h100_misc")}

    def test_shuffles_take_a_wavefront_and_barriers_none(self) -> None:
        for (op, lanes), row in self.rows.items():
            if op.startswith("shfl"):
                assert row["misc"] == row["shared"] == 1
                assert abs(row["cycles_32_warps"] - 1) < 0.01
            elif op in ("fence.proxy.async", "ld.shared", "st.shared"):
                continue
            elif op.startswith("mbarrier.init"):
                assert row["misc"] == (32 if lanes == "apart" else 1)
            else:  # arrivals and waits have a unit of their own
                assert row["misc"] == row["shared"] == 0, op

    def test_arrivals_on_one_barrier_take_two_cycles_and_others_as_many_as_barriers(self) -> None:
        for op in ("mbarrier.arrive", "mbarrier.arrive.expect_tx", "mbarrier.complete_tx"):
            one, all_, apart = (self.rows[op, lanes]["cycles_32_warps"]
                                for lanes in ("one", "all", "apart"))  # fmt: skip
            assert abs(one - 2) < 0.01
            assert abs(all_ - 2) < 0.01
            assert 64 <= apart < 66


class TestNeighbours:
    recorded = arrays("h100_neighbours")
    at_home: ClassVar = {"ld.32": "LDS", "ld.64": "LDS.64", "ld.128": "LDS.128",
               "st.32": "STS", "st.64": "STS.64", "st.128": "STS.128"}  # fmt: skip

    later = arrays("h100_neighbours_again")

    def rows(self, op: str, of: dict[str, Any] | None = None) -> dict[str, Any]:
        of = self.recorded if of is None else of
        mine = of["op"] == op
        return {name: column[mine] for name, column in of.items() if column.ndim}

    def test_all_accesses_are_there(self) -> None:
        for op in neighbours.OPS:
            found, (addresses, masks) = self.rows(op), neighbours.drawn(op, 160)
            assert np.array_equal(found["mask"], masks)
            on = masks[:, None] >> np.arange(32, dtype=np.uint32) & 1 != 0
            assert np.array_equal(found["address"], np.where(on, addresses, 0))

    @pytest.mark.parametrize(
        ("op", "equal"),
        [("ld.32", 160), ("ld.64", 159), ("ld.128", 155), ("st.32", 160), ("st.64", 158),
         ("st.128", 154)],
    )  # fmt: skip
    def test_cycles_are_the_laws(self, op: str, equal: int) -> None:
        """All but a few: there, lanes on one piece or in one bank take longer, never shorter."""
        found = self.rows(op)
        over = found["neighbour"] - count_neighbour(self.at_home[op], found["address"],
                                                    found["mask"]).cycles  # fmt: skip
        assert over.min() > -0.6
        assert (np.abs(over) < 0.65).sum() == equal

    @pytest.mark.parametrize(
        ("op", "home", "equal", "within"),
        [("st.async.32", "STAS", 152, 154), ("st.async.64", "STAS.64", 153, 156),
         ("st.async.128", "STAS.128", 136, 144), ("ld.8", "LDS.U8", 160, 160),
         ("ld.16", "LDS.U16", 160, 160), ("st.8", "STS.U8", 143, 148),
         ("st.16", "STS.U16", 143, 151)],
    )  # fmt: skip
    def test_cycles_of_accesses_drawn_after_the_law(
        self, op: str, home: str, equal: int, within: int
    ) -> None:
        """Never shorter; longer where many lanes meet in one word or bank over there."""
        found = self.rows(op, self.later)
        costs = count_neighbour(home, found["address"] + neighbours.WINDOW, found["mask"])
        over = found["neighbour"] - costs.cycles
        assert over.min() > -0.65
        assert (np.abs(over) < 0.65).sum() == equal
        assert (over < 3.2).sum() == within

    def test_an_asynchronous_store_delivers_each_lane(self) -> None:
        """The law of `st.async`, on the accesses that it was found with."""
        for op, equal in (("st.async.32", 148), ("st.async.128", 141)):
            found = self.rows(op)
            name = op.replace("st.async.32", "STAS").replace("st.async", "STAS")
            costs = count_neighbour(name, found["address"] + neighbours.WINDOW, found["mask"])
            over = found["neighbour"] - costs.cycles
            assert over.min() > -0.65
            assert (np.abs(over) < 0.65).sum() >= equal

    def test_packets_are_those_that_the_profiler_counts(self) -> None:
        seen = 0
        for row in table("h100_neighbour_counters"):
            if row["op"] in self.at_home:
                place = int(row["row"])
                found = self.rows(row["op"])
                costs = count_neighbour(
                    self.at_home[row["op"]], found["address"][place], int(found["mask"][place])
                )
                assert row["sectors_sent"] == row["sectors_got"] == costs.packets[0], row
                seen += 1
        assert seen == 6 * 27

    def test_banks_do_not_explain_them(self) -> None:
        """Accesses that meet 8-fold in banks at home cost no more than sectors do."""
        found = self.rows("ld.32")
        home, away = found["home"], found["neighbour"]
        assert (home > 8).sum() >= 10
        assert np.corrcoef(home, away)[0, 1] < 0.6
        sectors = count_neighbour("LDS", found["address"], found["mask"]).packets
        assert np.corrcoef(sectors, away)[0, 1] > 0.999

    def test_two_blocks_that_load_from_each_other_share_the_way(self) -> None:
        loads, stores = self.rows("ld.32"), self.rows("st.32")
        many = loads["neighbour"] > 12
        assert 1.7 < np.median((loads["both"] / loads["neighbour"])[many]) < 2.1
        assert 1.0 < np.median(stores["both"] / stores["neighbour"]) < 1.1

    def test_an_atomic_sends_two_packets_for_each_lane_of_a_sectors_fullest_word(self) -> None:
        exact, rows = 0, 0
        for row in table("h100_neighbour_counters"):
            if row["op"].startswith(("red", "atom")):
                found, place = self.rows(row["op"]), int(row["row"])
                mask = int(found["mask"][place])
                words = Counter(
                    int(address) // 4
                    for lane, address in enumerate(found["address"][place])
                    if mask >> lane & 1
                )
                fullest: dict[int, int] = {}
                for word, lanes in words.items():
                    fullest[word // 8] = max(fullest.get(word // 8, 0), lanes)
                over = row["sectors_sent"] - 2 * sum(fullest.values())
                assert 0 <= over <= 6
                exact += over == 0
                rows += 1
        assert (exact, rows) == (96, 108)

    def test_probes_are_those_that_the_command_builds(self) -> None:
        probes = arrays("h100_neighbour_probes")
        for family, ops in neighbour_probes.FAMILIES.items():
            width = (neighbours.OPS | neighbours.MORE)[ops[0]].width
            lists = list(neighbour_probes.built(family, width))
            mine = (probes["family"] == family) & (probes["op"] == ops[0])
            whole = np.array([given + [-1] * (32 - len(given)) for given in lists])
            assert np.array_equal(probes["address"][mine], np.maximum(whole, 0))
            masks = ((whole >= 0) << np.arange(32)).sum(axis=1)
            assert np.array_equal(probes["mask"][mine], masks)

    @pytest.mark.parametrize(
        ("op", "home", "equal", "within"),
        [("st.async.32", "STAS", 109, 114), ("st.async.64", "STAS.64", 101, 114),
         ("st.async.128", "STAS.128", 76, 109), ("st.8", "STS.U8", 109, 112),
         ("st.16", "STS.U16", 106, 112)],
    )  # fmt: skip
    def test_a_third_drawing_of_stores(self, op: str, home: str, equal: int, within: int) -> None:
        """The same of 120 accesses each, drawn last; one of 16 bytes was 0.9 of 48 shorter."""
        found = self.rows(op, arrays("h100_neighbour_probes"))
        drawn = found["family"] == "drawn"
        costs = count_neighbour(
            home, found["address"][drawn] + neighbours.WINDOW, found["mask"][drawn]
        )
        over = found["neighbour"][drawn] - costs.cycles
        assert over.min() > -0.9
        assert ((np.abs(over) < 0.65).sum(), (over < 3.2).sum()) == (equal, within)

    def test_narrow_stores_to_lines_of_one_tag_bank_wait(self) -> None:
        """Two bytes in one bank of two lines: 7 cycles in one tag bank, else 4.5."""
        mine = self.rows("st.8", arrays("h100_neighbour_probes"))
        lines = mine["family"] == "line"
        same = [tag_bank(int(each) // 128 + 16) == tag_bank(16) for each in
                mine["address"][lines][:, 1]]  # fmt: skip
        assert np.array_equal(mine["neighbour"][lines] > 6, same)

    def test_floors_are_those_at_home(self) -> None:
        for op, name in self.at_home.items():
            assert self.rows(op)["home"].min() > FLOORS[name] - 1.7
