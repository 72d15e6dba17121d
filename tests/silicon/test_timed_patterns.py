"""Microbenchmarks of accesses, simulated as they were recorded on an H100."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
import pytest

from gpu_check.recordings import PackagedTable, packaged_table
from gpu_check.timing import (
    atomic_sweeps,
    constant_lanes,
    constant_misses,
    constant_operands,
    hot_stores,
    local_memory,
    matches,
    misses,
    neighbour_shapes,
    neighbour_stores,
    scattered_copies,
    store_halves,
    windows,
)
from simulator import replay_compiled
from tests.sass_kernels import needs_compiler

pytestmark = needs_compiler

Row = Mapping[str, str]


def cycles(source: str, kernel: str, blocks: int, warps: int, args: Sequence[Any]) -> float:
    """Cycles of the simulated SM."""
    report = replay_compiled(
        source, kernel=kernel, grid=blocks, block=32 * warps, args=args, chip="H100"
    )
    found = report.time("H100").active_cycles
    assert found is not None
    return found


def rows(name: PackagedTable, quick: Mapping[str, Collection[str]], **fixed: str) -> list[Any]:
    """Return rows of a recording; those are slow that are not among the quick ones' values."""
    found = []
    for row in packaged_table(name):
        if all(row[column] == value for column, value in fixed.items()):
            is_quick = all(row[column] in values for column, values in quick.items())
            marks = () if is_quick else pytest.mark.slow
            found.append(pytest.param(row, id=" ".join([*row.values()][:6]), marks=marks))
    return found


@pytest.mark.parametrize(
    "row",
    [*rows("h100_windows", {"sms": ["132"]}, how="shifted", warps="32"),
     *rows("h100_windows", {"sms": ["132"]}, how="rows", warps="32"),
     *rows("h100_windows", {"sms": []}, how="shifted", warps="16")],
)  # fmt: skip
def test_windows_that_overlap_take_what_they_took(row: Row) -> None:
    """Lines that are on their way make no load longer that has parts of several."""
    sms, warps = int(row["sms"]), int(row["warps"])

    def of(turns: int) -> float:
        given = (64, 64 * 26, turns)
        return cycles(
            windows.SOURCE, f"windows_{row['how']}", sms, warps,
            [np.zeros(8 << 20, np.float32), *map(np.int32, given), np.zeros(sms, np.int64),
             np.zeros(1, np.float32)],
        )  # fmt: skip

    each = (of(36) - of(12)) / (24 * 8 * warps)
    # Of 27 MiB of lines the estimate takes 0.5 % as lost, for which whole blocks wait: up to 1,000
    # cycles of 12,000. The chip had all of these, of which a part is read.
    assert each == pytest.approx(float(row["cycles"]), rel=0.2 if sms == 132 else 0.15)


@pytest.mark.parametrize(
    "row",
    [each for what in ("columns", "meeting")
     for each in rows("h100_neighbour_stores", {"cluster": ["4"]}, blocks="128", warps="8",
                      what=what)],
)  # fmt: skip
def test_stores_to_neighbours_take_what_they_took(row: Row) -> None:
    """Not `rows`: all warps store to the same sectors there, which a kernel has no use for."""
    cluster, around = row["cluster"], np.int32(row["around"])
    pitch = np.int32(neighbour_stores.PITCHES[row["what"]])
    source = neighbour_stores.SOURCE.replace("CLUSTER", cluster)

    def of(turns: int) -> float:
        # One block per SM: clusters of four and eight leave some idle.
        args = [np.zeros(120, np.int64), np.int32(turns), pitch, around]
        return cycles(source, f"stores_{cluster}", 120, 8, args)

    each = (of(34) - of(18)) / (16 * 4 * 8)
    assert each == pytest.approx(float(row["cycles"]), rel=0.24)


@pytest.mark.parametrize(
    "row",
    [each for shape in ("columns", "4 lines", "8 lines", "16 lines", "own row", "own row of 33")
     for each in rows("h100_neighbour_shapes", {"what": ["loads"]}, around="0",
                      cluster="4", blocks="128", warps="32", shape=shape)],
)  # fmt: skip
def test_accesses_to_neighbours_take_what_they_took(row: Row) -> None:
    """Not those to a line or two that all warps access: the neighbour is slower, up to 1.5 times.

    Nor `around`: of the chip a block's own memory serves beside the way, up to 27 % sooner.
    """
    source = neighbour_shapes.neighbour_shapes_source(row["what"], int(row["cluster"]))
    around, shape = np.int32(row["around"]), neighbour_shapes.SHAPES[row["shape"]]

    def of(turns: int) -> float:
        args = [np.zeros(120, np.int64), np.zeros(1, np.uint32), np.int32(turns), around]
        return cycles(source, f"{row['what']}_{row['cluster']}", 120, 32, [*args, *shape.args])

    each = (of(18) - of(10)) / (8 * 4 * 32)
    assert each == pytest.approx(float(row["cycles"]), rel=0.2)


@pytest.mark.parametrize(
    "row",
    [each for lines in ("8", "16", "32")
     for each in rows("h100_misses", {"lines": ["16"]}, how="passed", sms="1", warps="32",
                      lines=lines)],
)  # fmt: skip
def test_an_sm_alone_asks_for_a_line_per_cycle(row: Row) -> None:
    source = misses.SOURCE.replace("TURNS", "16").replace("LOADS", "4")
    lines, share = int(row["kibibytes"]) * 8, 32 // int(row["lines"])
    args = [np.zeros(1 << 22, np.uint32), np.uint32(lines), np.uint32(share),
            np.zeros(1, np.int64), np.zeros(1, np.uint32)]  # fmt: skip
    each = cycles(source, "passed", 1, 32, args) / (20 * 4 * 32)
    assert each == pytest.approx(float(row["cycles"]), rel=0.1)


@pytest.mark.parametrize(
    "row",
    [*rows("h100_scattered_copies", {"pitch": ["16", "64", "144"], "shift": ["0"]},
           sms="132", bytes="16", source="0", lanes="4"),
     *rows("h100_scattered_copies", {"pitch": ["16"], "apart": ["16", "144", "528"]},
           sms="132", bytes="16", source="0", lanes="8"),
     *rows("h100_scattered_copies", {"pitch": ["16", "64"]},
           sms="132", bytes="16", source="0", lanes="2"),
     *rows("h100_scattered_copies", {"pitch": ["16"]},
           sms="132", bytes="16", source="0", lanes="1")],
)  # fmt: skip
def test_scattered_copies_take_what_they_took(row: Row) -> None:
    """Not those from sources in the middle of a sector, and of rows of 512 bytes: up to 39 %."""
    given = [int(row[name]) for name in ("lanes", "pitch", "apart", "shift", "source")]
    lanes, pitch, apart = given[:3]
    span = max(32 // lanes * pitch, lanes * apart)
    source = scattered_copies.SOURCE.replace("EACH", "4")

    def of(turns: int) -> float:
        report = replay_compiled(
            source, kernel="copies16", grid=132, block=256, chip="H100",
            shared_bytes=8 * 4 * span + 1024,
            args=[np.zeros(1 << 24, np.uint8),
                  *map(np.int32, (pitch, lanes, apart, span, *given[3:], turns)),
                  np.zeros(1, np.uint32)],
        )  # fmt: skip
        return report.time("H100").active_cycles or 0

    each = (of(24) - of(8)) / (16 * 4 * 8)
    assert each == pytest.approx(float(row["cycles"]), rel=0.3)


@pytest.mark.parametrize(
    "row",
    [*rows("h100_local_memory", {"index": ["uniform", "lanes", "four"]}, does="stores", words="32",
           sms="132", warps="32"),
     *rows("h100_local_memory", {"index": ["uniform", "halves", "eight"]}, does="loads", words="32",
           sms="132", warps="32"),
     *rows("h100_local_memory", {}, does="chain", words="32", sms="1", warps="1")],
)  # fmt: skip
def test_local_memory_takes_what_it_took_by_indices(row: Row) -> None:
    """Of arrays that L1 holds: 32 warps' of 128 words it does not. The last SM's time counts."""
    does, how, words = row["does"], row["index"], int(row["words"])
    sms, warps = int(row["sms"]), int(row["warps"])

    def of(turns: int) -> float:
        args = [np.zeros(132, np.int64), np.zeros(1, np.int32), np.zeros(32, np.int32)]
        source = local_memory.local_source(does, how, words)
        return cycles(source, f"local_{does}_{how}_{words}", sms, warps, [*args, np.int32(turns)])

    each = (of(12) - of(4)) / (8 * 16 * warps)
    rel = {"stores": 0.15, "loads": 0.36, "chain": 0.03}[does]
    assert each == pytest.approx(float(row["most"]), rel=rel)


@pytest.mark.parametrize(
    "row",
    [each for warps in ("1", "4", "32")
     for each in rows("h100_matches", {"values": ["1", "3", "32"], "warps": ["1"]}, warps=warps)],
)  # fmt: skip
def test_a_search_for_lanes_of_one_value_takes_what_it_took_by_how_many_they_have(row: Row) -> None:
    """Not of eight warps, which take turns worse in the model: 20.3 cycles for eight, not 16.2."""
    values, warps = int(row["values"]), int(row["warps"])

    def of(turns: int) -> float:
        given = map(np.int32, (values, 0, turns))
        args = [np.zeros(1, np.int32), np.zeros(1, np.int32), *given]
        return cycles(matches.matches_source(), "matches", 1, warps, args)

    each = (of(8) - of(4)) / (4 * 16 * warps)
    assert each == pytest.approx(float(row["cycles"]), rel=0.1)


@pytest.mark.parametrize(
    "row",
    [each
     for each in rows("h100_store_halves", {"sms": ["1"], "record": ["1", "2"], "warps": ["32"]})
     # 32 lines lie between stores to a line there, of which half were joined.
     if [each.values[0][name] for name in ("record", "how", "warps")] != ["4", "beside", "8"]],
)  # fmt: skip
def test_stores_are_joined_with_the_last_ones_and_parts_of_sectors_take_longer(row: Row) -> None:
    sms, warps, words = (int(row[name]) for name in ("sms", "warps", "record"))
    kernel = f"halves_{words}_{int(row['how'] == 'apart')}"
    took, sent = [], []
    for turns in (4, 12):
        args = [
            np.zeros(store_halves.WORDS + 1024, np.uint32),
            np.zeros(sms, np.int64),
            np.int32(turns),
        ]
        time = replay_compiled(
            store_halves.store_halves_source(),
            kernel=kernel,
            grid=sms,
            block=32 * warps,
            args=args,
            chip="H100",
        ).time("H100")
        took.append(time.active_cycles or 0)
        sent.append(time.counts["l2_sectors"])
    stores = 8 * 8 * words * warps
    assert (sent[1] - sent[0]) / stores == pytest.approx(float(row["l2_sectors"]), rel=0.05)
    # The slowest of many SMs is what counts in one wave; recorded is their mean.
    each, slow = (took[1] - took[0]) / stores, 1.0 if sms == 1 else 1.06
    assert each / slow == pytest.approx(float(row["cycles"]), rel=0.05)


def test_dram_gets_a_sector_once_however_often_it_is_stored() -> None:
    source = """
        extern "C" __global__ void parts(unsigned *out) {
            const size_t at = 4 * (blockIdx.x * 256ull + threadIdx.x);
            for (int k = 0; k < 4; ++k)
                asm volatile("st.global.b32 [%0], %1;" :: "l"(out + at + k), "r"(k));
        }"""
    blocks = 132 * 8 * 20
    report = replay_compiled(
        source, grid=blocks, block=256, args=[np.zeros(blocks * 1024, np.uint32)], chip="H100"
    )
    counts = report.time("H100").counts
    simulated = counts["store_sectors"] / 4
    assert 0.8 * simulated <= counts["dram_sectors"] <= 1.01 * simulated


@pytest.mark.parametrize(
    "row",
    [*rows("h100_constant_operands", {"words": ["1024"]}, how="named", warps="4"),
     *rows("h100_constant_operands", {"words": []}, how="named", warps="16", words="1024"),
     *rows("h100_constant_operands", {"words": ["64"]}, how="uniform", warps="1"),
     *rows("h100_constant_operands", {"words": ["512"]}, how="uniform", warps="4"),
     *rows("h100_constant_operands", {"words": ["1024"]}, how="indexed", warps="1"),
     *rows("h100_constant_operands", {"words": []}, how="indexed", warps="4")],
)  # fmt: skip
def test_tables_of_constants_take_what_they_took(row: Row) -> None:
    """Those that a cache holds, and those that none does, of up to four warps."""
    words, warps, how = int(row["words"]), int(row["warps"]), row["how"]
    more = () if how == "named" else (np.int32(words),)
    kernel = f"named{words}" if how == "named" else how

    def of(turns: int) -> float:
        args = [np.zeros(132, np.int64), np.zeros(4096, np.float32), np.int32(turns), *more]
        return cycles(constant_operands.constants_source(), kernel, 132, warps, args)

    each = (of(5) - of(2)) / (3 * words * warps)
    assert each == pytest.approx(float(row["cycles"]), rel=0.1)


@pytest.mark.parametrize(
    "row",
    [*rows("h100_constant_lanes", {"words": ["4096"], "lanes": ["1", "32"]}, warps="1", apart="1"),
     *rows("h100_constant_lanes", {"words": ["16384"], "lanes": ["1", "32"]}, warps="1",
           apart="17")],
)  # fmt: skip
def test_words_of_large_tables_take_what_they_took(row: Row) -> None:
    """Most of them come from the L2; where lanes' lines collide, up to a third is missing."""
    words, lanes, apart = (int(row[name]) for name in ("words", "lanes", "apart"))
    table = ((np.arange(16384) + 32 * apart) % words).astype(np.int32)

    def of(turns: int) -> float:
        report = replay_compiled(
            constant_lanes.constant_lanes_source(), kernel="follow", grid=132, block=32,
            symbols={"table": table}, chip="H100",
            args=[np.zeros(132, np.int64), np.zeros(4, np.int32),
                  *map(np.int32, (words, lanes, apart, turns))],
        )  # fmt: skip
        found = report.time("H100").active_cycles
        assert found is not None
        return found

    each = (of(32) - of(0)) / 32
    assert each == pytest.approx(float(row["cycles"]), rel=0.1 if apart == 1 else 0.35)


@pytest.mark.parametrize(
    "row",
    [*rows("h100_constant_misses", {"step": ["1"], "words": ["1024"]}, threads="128", blocks="1",
           sms="132", apart="0"),
     *rows("h100_constant_misses", {"step": ["1"], "words": ["1024"]}, threads="128", blocks="8",
           sms="132", apart="1", words="1024")],
)  # fmt: skip
def test_warps_that_read_tables_at_places_of_their_own_take_what_they_took(row: Row) -> None:
    """One warp of a sub-partition asks for each line once, eight of them for each word."""
    step, words, blocks, apart = (int(row[name]) for name in ("step", "words", "blocks", "apart"))

    def of(turns: int) -> float:
        args = [np.zeros(132 * blocks, np.int64), np.zeros(4, np.float32),
                *map(np.int32, (words, turns, 132, apart))]  # fmt: skip
        source = constant_misses.constant_misses_source()
        return cycles(source, f"by{step}", 132 * blocks, 4, args)

    each = (of(3) - of(1)) / (2 * words)
    assert each == pytest.approx(float(row["cycles"]), rel=0.25 if blocks > 1 else 0.08)


@pytest.mark.parametrize(
    "row",
    rows("h100_atomic_sweeps", {"mebibytes": ["32", "96"]}, how="side by side", words="1"),
)
def test_additions_that_sweep_memory_take_what_they_took(row: Row) -> None:
    """Up to nearly all of the L2 they take what it takes; of more, DRAM brings and takes all.

    Not those anywhere: of more than the L2 an H100 takes 3 to 5 times as long. Nor those
    of four words, which come around to where they were: replay takes each block's memory as its
    own. Those of 96 MiB are 4 % too low; if DRAM took no longer for them than for what is read
    and stored, 23 %.
    """
    words, size = int(row["words"]), int(row["mebibytes"])
    source = atomic_sweeps.atomic_sweep_source(words)
    args = [np.zeros(size << 18, np.float32), np.int32(0), np.uint32((size << 18) // words),
            np.zeros(132, np.int64)]  # fmt: skip
    each = cycles(source, f"sweep_{words}", 132, 32, args) / (17 * 8 * 32)
    assert each == pytest.approx(float(row["cycles"]), rel=0.1)


@pytest.mark.parametrize(
    "row", rows("h100_atomic_sweeps", {}, how="side by side", words="4", mebibytes="16")
)
def test_four_singles_of_a_lane_are_added_as_packets_are(row: Row) -> None:
    """They took as long as doubles that fill sectors: 63 cycles per warp, and 40 on the chip."""
    args = [np.zeros(16 << 18, np.float32), np.int32(0), np.uint32(16 << 16),
            np.zeros(132, np.int64)]  # fmt: skip
    each = cycles(atomic_sweeps.atomic_sweep_source(4), "sweep_4", 132, 32, args) / (17 * 8 * 32)
    assert each == pytest.approx(float(row["cycles"]), rel=0.1)


@pytest.mark.parametrize(
    "row",
    rows("h100_hot_stores", {"kind": ["store"]}, warps="8", words="4096"),
)
def test_what_meets_in_few_words_takes_what_it_took(row: Row) -> None:
    """Not in fewer: of 47 lines an SM joins more than here, so that 1,500 words take it 947 cycles,
    not 1,318.
    """
    source, name = hot_stores.hot_stores_source(row["kind"]), row["kind"].replace(" ", "_")

    def of(turns: int) -> float:
        args = [np.zeros(1 << 22, np.uint32), np.uint32(int(row["words"])), np.zeros(132, np.int64),
                np.int32(turns)]  # fmt: skip
        return cycles(source, name, 132, 8, args)

    each = (of(16) - of(4)) / (12 * 4 * 8)
    assert each == pytest.approx(float(row["cycles"]), rel=0.25)
