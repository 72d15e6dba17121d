"""Kernels of Hopper's own units: their results by NumPy, their counts by an H200's profiler.

The cubins and their launches: tests/silicon/sass/README.md.
"""

from __future__ import annotations

import base64
import csv
import hashlib
import json
import re
from collections.abc import Callable
from functools import cache
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from simulator import TensorMap, replay_compiled
from simulator.sass.arguments import argument
from tests.sass_kernels import HERE, needs_tools
from tests.silicon.recorded import DATA

pytestmark = needs_tools

STRANGERS = {case["name"] for case in json.loads((HERE / "stranger.json").read_text())}
CASES = {
    case["name"]: case
    for name in ("hopper", "stranger")
    for case in json.loads((HERE / f"{name}.json").read_text())
}

SPECIALISED = {name for name, case in CASES.items() if case["kernel"] in (
    "fp8_ss", "fp8_rs", "int8_ss", "int8_rs",
)}  # fmt: skip
# Their hundreds of lines take seconds to translate.
NAMES = [pytest.param(name, marks=pytest.mark.slow) if name in SPECIALISED else name
         for name in CASES]  # fmt: skip

Arrays = list[Any]


def replayed(case: dict[str, Any]) -> tuple[Arrays, Any]:
    """The arrays among the arguments as they were, and the report."""
    return launched(case["name"])


@cache
def launched(name: str) -> tuple[Arrays, Any]:
    case = CASES[name]
    args = [argument(text, place) for place, text in enumerate(case["args"])]
    report = replay_compiled(
        HERE / "cubins" / case["cubin"], kernel=case["kernel"], grid=tuple(case["grid"]),
        block=tuple(case["block"]), args=args, shared_bytes=case["shared"], blocks="all",
    )  # fmt: skip
    return [each.array if isinstance(each, TensorMap) else each for each in args], report


def tiles(args: Arrays) -> dict[int, Any]:
    width = args[1].shape[2]
    found = args[0].reshape(2, 64, 3, width).swapaxes(1, 2)
    return {1: found.swapaxes(2, 3), 2: found}


def k_major(args: Arrays) -> dict[int, Any]:
    return {2: args[0].astype(np.float64) @ args[1].astype(np.float64).T}


def doubled(args: Arrays) -> dict[int, Any]:
    return {2: 2 * args[0].astype(np.float64) @ args[1].astype(np.float64).T}


def transposed(args: Arrays) -> dict[int, Any]:
    return {2: args[0].astype(np.float64) @ args[1].astype(np.float64)}


def truncated(args: Arrays) -> dict[int, Any]:
    """tf32 keeps 10 bits of a float32's fraction."""
    a, b = ((each.view(np.uint32) & 0xFFFFE000).view(np.float32) for each in args[:2])
    return k_major([a, b])


def halved(args: Arrays) -> dict[int, Any]:
    return {0: args[1].astype(np.float16)}


def passed_on(args: Arrays) -> dict[int, Any]:
    blocks = args[0].reshape(2, 4, 128)
    inboxes = np.roll(blocks, 1, axis=1).reshape(-1, 2)[:, ::-1].reshape(-1)
    counters = np.zeros((2, 4), np.int32)
    counters[:, 0] = blocks.sum(axis=(1, 2))
    return {1: inboxes, 2: counters.reshape(-1)}


def columns(args: Arrays) -> dict[int, Any]:
    total = args[0].sum(axis=(0, 1), dtype=np.uint32)
    return {1: np.concatenate([total[::2], total[1::2]]), 2: 2 * args[0][:, -1]}


def piled(args: Arrays) -> dict[int, Any]:
    return {1: 2 * args[0].reshape(4, 32, 32).sum(axis=0, dtype=np.float64)}


def turned(args: Arrays) -> dict[int, Any]:
    found = np.zeros((3, 32), np.int64)
    for step in args[0].astype(np.int64):
        for warp in range(3):
            found[warp] += np.arange(1, 33) @ np.roll(step.T, -(warp + 1), axis=1)
    return {1: found.reshape(-1)}


def convolved(args: Arrays) -> dict[int, Any]:
    image = np.pad(args[0].astype(np.float64), ((1, 1), (1, 1), (0, 0)))
    taps = (image[tap // 3 :][:20, tap % 3 :][:, :20] * args[1][tap] for tap in range(9))
    return {2: sum(taps)}


def rounded(args: Arrays) -> dict[int, Any]:
    return {2: k_major(args)[2].astype(np.float32).astype(np.float16)}


def of_two_types(args: Arrays) -> dict[int, Any]:
    """A's bytes are e5m2, B's e4m3."""
    return k_major([args[0].view(ml_dtypes.float8_e5m2), args[1]])


def negated(args: Arrays) -> dict[int, Any]:
    return {2: -k_major(args)[2]}


def without_and_with_sign(args: Arrays) -> dict[int, Any]:
    return k_major([args[0], args[1].view(np.int8)])


def unpacked(args: Arrays) -> dict[int, Any]:
    """B in core matrices of 8 x 16 bytes, a step of 64 after the other."""
    return {2: args[0].astype(np.float64) @ args[1].transpose(0, 2, 4, 1, 3).reshape(-1, 96)}


WANTED: dict[str, Callable[[Arrays], dict[int, Any]]] = {
    **{f"tile, swizzle {span}": tiles for span in ("none", 32, 64, 128)},
    "gemm, both in shared memory": k_major, "gemm, B transposed": transposed,
    "gemm, A in registers": doubled, "product of e4m3": k_major, "product of s8": k_major,
    "product of tf32": truncated, "gemm of a cluster, multicast": k_major,
    "epilogue, plain rows": halved, "epilogue, swizzled rows": halved,
    "split-K over distributed shared memory": transposed, "a ring of blocks": passed_on,
    "bulk copies": columns, "tiles added up": piled, "a ring of mbarriers": turned,
    "depthwise convolution with a halo": convolved,
    "persistent gemm, stmatrix and a store of tiles": rounded,
    "rows split over a cluster, st.async": lambda args: {2: args[0].astype(float) @ args[1]},
    "e4m3, A in registers by words": k_major,
    "warp-specialised e5m2 times e4m3, multicast": of_two_types,
    "warp-specialised e4m3, A in registers": negated,
    "warp-specialised u8 times s8": without_and_with_sign,
    "warp-specialised s8 times u8, A in registers, split": unpacked,
    "groups without products": lambda _: {0: np.arange(128)},
}  # fmt: skip


def test_every_case_has_a_result_to_meet() -> None:
    assert set(WANTED) == set(CASES)


@pytest.mark.parametrize("name", NAMES)
def test_results_are_those_of_numpy(name: str) -> None:
    args, report = replayed(CASES[name])
    wanted = WANTED[name](args)
    assert wanted
    for place, exact in wanted.items():
        found = report.outputs[place]
        if found.dtype.kind == "f":
            # Float sums differ by their order; inputs are below 1. Halves differ by a last place.
            most = 4e-6 if found.dtype.itemsize == 4 else 2**-10
            assert np.abs(found - exact).max() <= most * max(1.0, np.abs(exact).max())
        else:
            assert (found == exact).all()


# Sums of fractions that no float32 holds: the chip rounds them in an order of its own.
ROUNDED = ("product of tf32",)


@pytest.mark.parametrize("name", NAMES)
def test_memory_is_left_as_the_chip_left_it(name: str) -> None:
    """Each array of results, byte for byte: an H200's, and of the strangers an H100's."""
    which = "h100_stranger" if name in STRANGERS else "h200_hopper"
    kept = json.loads((DATA / f"{which}_outputs.json").read_text(encoding="utf-8"))[name]
    args, report = replayed(CASES[name])
    assert {int(place) for place in kept} == set(WANTED[name](args))
    for place, left in kept.items():
        found = report.outputs[int(place)]
        if name in ROUNDED:
            chip = np.frombuffer(base64.b64decode(left), found.dtype).reshape(found.shape)
            assert np.abs(found - chip).max() <= 3e-7 * np.abs(chip).max()
        else:
            assert hashlib.sha256(np.ascontiguousarray(found)).hexdigest() == left


@pytest.mark.parametrize("name", [name for name in CASES if "gemm" in name or "product" in name])
def test_operand_reads_are_bytes_in_shared_memory(name: str) -> None:
    """A wavefront for each 128 bytes of operands, of each product of a warpgroup."""
    _, report = replayed(CASES[name])
    rows = report.instructions
    total = 0
    for opcode, unit, executed, wavefronts in zip(
        rows["opcode"], rows["unit"], rows["executed"], rows["wavefronts"], strict=True
    ):
        if unit == "gmma":
            n = int(opcode.split("x")[1])
            in_registers = "A in registers" in name
            bytes_ = 32 * n + (0 if in_registers else 32 * 64)
            assert wavefronts == executed // 4 * bytes_ // 128
            total += wavefronts
    assert report.totals()["gmma"]["wavefronts"] == total > 0
    metrics = report.metrics()
    assert metrics["sm__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_gmma.sum"] == total
    lsu = sum(
        wavefronts
        for opcode, wavefronts in zip(rows["opcode"], rows["wavefronts"], strict=True)
        if opcode.startswith(("LDS", "STS"))
    )
    assert metrics["memory_l1_wavefronts_shared"] == total + lsu
    assert report.totals()["all"]["wavefronts"] == lsu


def test_an_epilogue_of_plain_rows_meets_in_banks() -> None:
    _, plain = replayed(CASES["epilogue, plain rows"])
    _, swizzled = replayed(CASES["epilogue, swizzled rows"])
    before, after = (each.totals()["store"] for each in (plain, swizzled))
    assert before["wavefronts"] == 8 * before["ideal"]
    assert after["wavefronts"] == after["ideal"] == before["ideal"]


# ---- What an H200 counted for these very cubins and launches; an H100 for the strangers. -------
def recorded(table: str, name: str) -> list[dict[str, str]]:
    which = "h100_stranger" if name in STRANGERS else "h200_hopper"
    with (DATA / f"{which}_{table}.csv").open(newline="") as file:
        return [row for row in csv.DictReader(file) if row["case"] == name]


# To a neighbour's memory: rows of ours, in packets; the profiler has no wavefronts for them.
ASYNC = ("STAS", "REDAS")
VIEW = ("inst_executed", "memory_l1_wavefronts_shared", "memory_l1_wavefronts_shared_ideal")


@pytest.mark.parametrize("name", NAMES)
def test_each_instruction_costs_what_the_profiler_recorded(name: str) -> None:
    """Loads, stores and wgmma: executions, wavefronts and ideals of the profiler's source view."""
    rows = replayed(CASES[name])[1].instructions
    found = {
        address: (opcode, *figures)
        for address, opcode, space, unit, *figures in zip(
            *(rows[each] for each in ("address", "opcode", "space", "unit", "executed",
                                      "wavefronts", "ideal")), strict=True,
        )
        if space == "shared" and unit != "tma" and not opcode.startswith(ASYNC)
    }  # fmt: skip
    seen = {int(row["address"]): row for row in recorded("instructions", name)}
    assert sorted(found) == sorted(seen)
    for address, (opcode, *figures) in found.items():
        assert opcode in seen[address]["sass"].split()
        assert [int(seen[address][each]) for each in VIEW] == figures, (hex(address), opcode)


@pytest.mark.parametrize("name", NAMES)
def test_units_execute_as_often_as_on_the_chip_and_cost_no_wavefronts(name: str) -> None:
    """Copies, and accesses to a neighbour's memory; the profiler has no sectors for them."""
    report = replayed(CASES[name])[1]
    rows = report.instructions
    executed = dict(zip(rows["address"], rows["executed"], strict=True))
    units = dict(zip(rows["address"], rows["unit"], strict=True))
    wavefronts = dict(zip(rows["address"], rows["wavefronts"], strict=True))
    opcodes = dict(zip(rows["address"], rows["opcode"], strict=True))
    copies, stores = set(), set()
    for row in recorded("units", name):
        address = int(row["address"])
        assert row["memory_l1_wavefronts_shared"] == "0"
        assert row["memory_l2_theoretical_sectors_global"] == "0"
        if re.search(r"UTMALDG|UTMASTG|UTMAREDG|UBLKCP|UBLKRED", row["sass"]):
            assert units[address] == "tma"
            assert executed[address] == int(row["inst_executed"])
            copies.add(address)
        elif row["sass"].startswith(ASYNC):
            assert executed[address] == int(row["inst_executed"])
            assert wavefronts[address] == 0
            stores.add(address)
        elif re.match(r"(@\S+ +)?(LD|ST|ATOM)\b", row["sass"]):
            assert executed[address] == int(row["inst_executed"])
    assert copies == {address for address, unit in units.items() if unit == "tma"}
    assert stores == {address for address, name in opcodes.items() if name.startswith(ASYNC)}


@pytest.mark.parametrize("name", NAMES)
def test_totals_are_the_profilers(name: str) -> None:
    (row,) = recorded("kernels", name)
    report = replayed(CASES[name])[1]
    metrics = report.metrics()
    both = [metric for metric in metrics if metric in row]
    assert len(both) >= 7
    for metric in both:
        if not metric.startswith("l1tex"):
            assert int(row[metric]) == metrics[metric], metric
    # The hardware's counter of operand reads, and their requests: one a warp.
    gmma = report.totals()["gmma"]
    reads = "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_gmma.sum"
    # A group without products reads nothing; the profiler's view of the source counts its shape.
    assert int(row[reads]) == (0 if name == "groups without products" else gmma["wavefronts"])
    assert int(row["l1tex__lsuin_requests_op_gmma.sum"]) == gmma["executed"]
    # Other traffic of the SM adds a little to conflicts.
    for kind, suffix in (("load", "ld"), ("store", "st")):
        conflicts = f"l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_{suffix}.sum"
        assert 0 <= int(row[conflicts]) - report.totals()[kind]["bank_conflicts"] <= 64, conflicts


# Their warps try mbarriers again and again, as long as the copies take.
TRIES = {"gemm, both in shared memory", "gemm, B transposed", "gemm of a cluster, multicast"}
TRIES |= SPECIALISED
# Those that sleep between, whose sources were recorded.
SLEEPERS = sorted(name for name in STRANGERS if CASES[name]["cubin"] == "stranger.cubin")


@pytest.mark.parametrize(
    "name", [each for each in NAMES if not isinstance(each, str) or each not in SLEEPERS]
)
def test_threads_execute_as_many_instructions_as_on_the_chip(name: str) -> None:
    (row,) = recorded("kernels", name)
    total = int(row["smsp__thread_inst_executed.sum"])
    missing = total - replayed(CASES[name])[1].thread_instructions
    assert 0 < missing < total // 40 if name in TRIES else missing == 0


@pytest.mark.parametrize("name", SLEEPERS)
def test_threads_poll_and_execute_nothing_else_more_than_here(name: str) -> None:
    """All but the loops that poll, to the instruction: sleep, test, branch, once for each try."""
    rows = recorded("source", name)
    slept = [place for place, row in enumerate(rows) if row["sass"].startswith("NANOSLEEP")]
    loops = [rows[place : place + 3] for place in slept]
    assert len(loops) == (2 if name.startswith("persistent") else 1)
    polled = 0
    for sleep, test, branch in loops:
        assert test["sass"].startswith("SYNCS.PHASECHK.TRANS64")
        assert re.match(r"@!P\d +BRA", branch["sass"])
        tries = {int(each["thread_inst_executed"]) for each in (sleep, test, branch)}
        assert len(tries) == 1
        polled += 3 * tries.pop()
    replays = replayed(CASES[name])[1].thread_instructions
    assert sum(int(row["thread_inst_executed"]) for row in rows) - polled == replays
    # The hardware's counter is of another launch, which polled as often as it had to.
    (row,) = recorded("kernels", name)
    missing = int(row["smsp__thread_inst_executed.sum"]) - replays
    assert missing > 0
    assert missing % 3 == 0


@pytest.mark.parametrize("name", NAMES)
def test_nothing_is_said_not_to_hold_on_the_chip(name: str) -> None:
    assert not [note for note in launched(name)[1].notes if "may not hold on the chip" in note]
