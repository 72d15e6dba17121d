"""Compiled kernels: their results by NumPy, their counts by an H200's profiler.

The cubins, their launches and how they are measured: tests/silicon/sass/README.md.
"""

from __future__ import annotations

import csv
import json
from collections import Counter
from functools import cache
from typing import Any

import numpy as np
import pytest

from simulator import replay_compiled
from simulator.sass.arguments import argument
from tests.sass_kernels import HERE, needs_tools
from tests.silicon.recorded import DATA
from tests.silicon.sass import measure

pytestmark = needs_tools

CASES = {case["name"]: case for case in json.loads((HERE / "cases.json").read_text())}
GEMMS = [name for name, case in CASES.items() if len(case["args"]) == 6]


@cache
def replayed(name: str) -> tuple[list[Any], Any]:
    case = CASES[name]
    args = [argument(text, place) for place, text in enumerate(case["args"])]
    report = replay_compiled(
        HERE / "cubins" / case["cubin"], kernel=case["kernel"], grid=tuple(case["grid"]),
        block=tuple(case["block"]), args=args, shared_bytes=case["shared"], blocks="all",
    )  # fmt: skip
    return args, report


def shared(report: Any) -> dict[str, list[Any]]:
    """Rows of the instructions that access shared memory."""
    chosen = [
        place for place, space in enumerate(report.instructions["space"]) if space != "global"
    ]
    return {name: [each[i] for i in chosen] for name, each in report.instructions.items()}


@pytest.mark.parametrize("name", GEMMS)
def test_gemm_results_are_those_of_numpy(name: str) -> None:
    (a, b, *_), report = replayed(name)
    exact = a.astype(np.float64) @ b.astype(np.float64)
    tolerance = 2e-3 if report.outputs[2].dtype == np.float16 else 2e-6
    assert np.abs(report.outputs[2] - exact).max() <= tolerance * np.abs(exact).max()


def transposed(args: list[Any]) -> Any:
    return args[0].T


def sums(args: list[Any]) -> Any:
    return args[0].reshape(8, 256).sum(axis=1)


def prefixes(args: list[Any]) -> Any:
    return args[0].reshape(8, 256).cumsum(axis=1).reshape(-1)


def bins(args: list[Any]) -> Any:
    counts = np.zeros((4, 256), np.uint32)
    block = np.arange(len(args[0])) // 256 % 4
    np.add.at(counts, (block, args[0]), 1)
    return counts


def weights(args: list[Any]) -> Any:
    found = np.zeros((4, 512), np.int32)
    block = np.arange(len(args[0])) // 256 % 4
    np.add.at(found, (block, args[0]), args[1])
    np.maximum.at(found, (block, 256 + args[0].astype(int)), args[1])
    return found


def five_points(args: list[Any]) -> Any:
    p = np.pad(args[0], 1)
    around = p[:-2, 1:-1] + p[2:, 1:-1] + p[1:-1, :-2] + p[1:-1, 2:]
    return 0.5 * args[0] + 0.125 * around


def shares(args: list[Any]) -> Any:
    powers = np.exp(args[0].astype(np.float64))
    return powers / powers.sum(axis=1, keepdims=True)


def sorted_runs(args: list[Any]) -> Any:
    return np.sort(args[0].reshape(3, 1024), axis=1).reshape(-1)


def exchanged(args: list[Any]) -> Any:
    v = (args[0][..., 0] + 1j * args[0][..., 1]).reshape(3, 4, 256)
    thread, stride = np.arange(256), 1
    while stride < 256:
        a, b, c, d = v[:, 0] + v[:, 2], v[:, 0] - v[:, 2], v[:, 1] + v[:, 3], v[:, 1] - v[:, 3]
        written = np.zeros((3, 1024), complex)
        at = thread // stride * stride * 4 + thread % stride
        for i, result in enumerate((a + c, b - 1j * d, a - c, b + 1j * d)):
            written[:, at + i * stride] = result
        v, stride = written.reshape(3, 4, 256), stride * 4
    flat = v.reshape(3, 1024)
    return np.stack([flat.real, flat.imag], axis=-1)


def ways(args: list[Any]) -> Any:
    found = []
    for at, start in enumerate(args[0].tolist()):
        i, x, steps = at % 256, start, 0
        value = 3 * i
        while x > 1:
            x = 3 * x + 1 if x & 1 else x // 2
            value += x & 7
            steps += 1
            if steps > 60:
                break
        value = [value + 3 * (i & ~1), value * 3, value ^ steps, value // 7 + start % 9, value - 2][
            start % 5
        ]
        found.append(value + steps)
    return np.array(found)


WANTED = {
    "transpose on naive": transposed, "transpose on padded": transposed,
    "transpose on swizzled": transposed, "scan on reduce": sums, "scan on scan": prefixes,
    "scan on shared": prefixes, "histogram on bytes": bins, "histogram on weights": weights,
    "stencil": five_points, "softmax": shares, "bitonic": sorted_runs, "exchange": exchanged,
    "divergent": ways,
}  # fmt: skip


def test_every_case_has_a_result_to_meet() -> None:
    assert set(WANTED) | set(GEMMS) == set(CASES)


@pytest.mark.parametrize("name", WANTED)
def test_results_are_those_of_numpy(name: str) -> None:
    args, report = replayed(name)
    output = next(i for i, text in enumerate(CASES[name]["args"]) if text.startswith("zeros"))
    found, wanted = report.outputs[output], WANTED[name](args)
    if found.dtype.kind == "f":
        np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=2e-5)
    else:
        assert (found == wanted).all()


def test_the_device_gets_the_same_arguments() -> None:
    for place, text in enumerate(["random:f32[70]", "random:f16[9,5]", "random:i32[33]",
                                  "random:u8[50]", "zeros:u32[4]", "random:u32[11]"]):  # fmt: skip
        assert measure.array(text, place) == argument(text, place).tobytes()


# M = N = K = 1024, as h200_instructions.csv: our kernel, the recorded one, its block tile.
SAME_CODE = {
    "smem": ("smem_sgemm_kernel<32>", 32),
    "blocktile_1d": ("smem_1d_blocktiling_sgemm_kernel<64, 64, 8, 8>", 64),
    "blocktile_2d": ("smem_2d_blocktiling_sgemm_kernel<64, 64, 8, 8, 8>", 64),
    "vectorized_64": ("vectorize_sgemm_kernel<64, 64, 8, 8, 8>", 64),
    "vectorized_128": ("vectorize_sgemm_kernel<128, 128, 8, 8, 8>", 128),
    "zorder_padded": ("warptiling_sgemm_kernel<64, 64, 64, 8, 64, 32, 8>", 64),
}


@pytest.mark.parametrize("name", SAME_CODE)
def test_instructions_cost_what_the_profiler_saw_of_the_authors_kernels(name: str) -> None:
    """Our kernels compile to the accesses of the junstar92 CUDA GEMM series' kernels.

    Recorded in h200_instructions.csv. An instruction that never had an active lane is left out.
    """
    kernel, tile = SAME_CODE[name]
    with (DATA / "h200_instructions.csv").open(newline="") as file:
        authors = Counter(
            (row["opcode"], int(row["executed"]), int(row["wavefronts"]), int(row["ideal"]))
            for row in csv.DictReader(file)
            if row["kernel"] == kernel
        )
    zeros = np.zeros((1024, 1024), np.float32)
    size = np.int32(1024)
    case = CASES[name]
    report = replay_compiled(
        HERE / "cubins" / case["cubin"], kernel=case["kernel"], grid=(1024 // tile, 1024 // tile),
        block=tuple(case["block"]), args=[zeros, zeros, zeros, size, size, size],
    )  # fmt: skip
    rows = shared(report)
    assert report.extrapolated
    columns = (rows[each] for each in ("opcode", "executed", "wavefronts", "ideal"))
    found = Counter(row for row in zip(*columns, strict=True) if row[2])
    assert authors
    assert found == authors


def recorded(table: str, name: str) -> list[dict[str, str]]:
    with (DATA / f"{table}.csv").open(newline="") as file:
        return [row for row in csv.DictReader(file) if row["case"] == name]


# Where the profiler's source view differs from the law, the hardware counter decides. These are
# all: copies past the cache (cp.async.cg), to which the view gives the wavefronts of a store. The
# chip's own counter of the pipe (next test) holds none for them.
VIEW_DIFFERS = {
    ("tensor_gemm", address)
    for address in (0xA40, 0xA70, 0xA90, 0xAA0, 0x1720, 0x1750, 0x19A0, 0x19E0)
}


@pytest.mark.parametrize("name", CASES)
def test_each_instruction_costs_what_the_profiler_recorded(name: str) -> None:
    """An H200, Nsight Compute's per-instruction figures of these very cubins and launches."""
    rows = shared(replayed(name)[1])
    seen = {int(row["address"]): row for row in recorded("h200_sass_instructions", name)}
    assert sorted(seen) == rows["address"]
    differ = set()
    columns = (rows[each] for each in ("address", "opcode", "executed", "wavefronts", "ideal"))
    for address, opcode, executed, wavefronts, ideal in zip(*columns, strict=True):
        row = seen[address]
        assert opcode in row["sass"].split()
        assert int(row["inst_executed"]) == executed, (address, opcode)
        view = (
            int(row["memory_l1_wavefronts_shared"]),
            int(row["memory_l1_wavefronts_shared_ideal"]),
        )
        if view != (wavefronts, ideal):
            assert opcode == "LDGSTS.E.BYPASS.128"
            differ.add((name, address))
    assert differ == {place for place in VIEW_DIFFERS if place[0] == name}


@pytest.mark.parametrize("name", CASES)
def test_global_sectors_are_those_the_profiler_recorded(name: str) -> None:
    """An H100, Nsight Compute's theoretical sectors of these very cubins and launches."""
    rows = replayed(name)[1].instructions
    seen = {int(row["address"]): row for row in recorded("h100_sass_global", name)}
    found = {
        address: (opcode, executed, sectors, ideal)
        for address, opcode, space, executed, sectors, ideal in zip(
            *(rows[each] for each in ("address", "opcode", "space", "executed", "sectors",
                                      "ideal_sectors")), strict=True,
        )
        if space != "shared"
    }  # fmt: skip
    view = "memory_l2_theoretical_sectors_global"
    assert sorted(found) == sorted(seen)
    for address, (opcode, *figures) in found.items():
        row = seen[address]
        assert opcode in row["sass"].split()
        wanted = [int(row[each]) for each in ("inst_executed", view, f"{view}_ideal")]
        assert wanted == figures, (hex(address), opcode)


@pytest.mark.parametrize("name", CASES)
def test_totals_are_the_profilers(name: str) -> None:
    (row,) = recorded("h200_sass_kernels", name)
    report = replayed(name)[1]
    for metric, figure in report.metrics().items():
        if metric.startswith("smsp__sass"):
            assert int(row[metric]) == figure, metric
    # The hardware's counters; other traffic of the SM adds a little to conflicts.
    for kind, total in report.totals().items():
        suffix = {"load": "ld", "store": "st"}.get(kind)
        if suffix is None or "ATOMS" in " ".join(report.instructions["opcode"]):
            continue
        pipe = f"l1tex__data_pipe_lsu_wavefronts_mem_shared_op_{suffix}.sum"
        over = int(row[pipe]) - total["wavefronts"]
        assert 0 <= over <= max(8, total["wavefronts"] // 500), pipe
        conflicts = f"l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_{suffix}.sum"
        assert 0 <= int(row[conflicts]) - total["bank_conflicts"] <= 8, conflicts


@pytest.mark.parametrize("name", CASES)
def test_threads_execute_as_many_instructions_as_on_the_chip(name: str) -> None:
    """Every one; the chip's total of the divergent kernel holds 172 of 335,791 more.

    There the profiler's figures by instruction sum to ours, not to its own total.
    """
    (row,) = recorded("h200_sass_kernels", name)
    total = int(row["smsp__thread_inst_executed.sum"])
    missing = total - replayed(name)[1].thread_instructions
    assert missing == (172 if name == "divergent" else 0)


@pytest.mark.parametrize("name", CASES)
def test_no_access_is_without_an_order(name: str) -> None:
    """What gave the right results on a GPU has no accesses whose result depends on timing."""
    assert [each for each in replayed(name)[1].notes if "timing" in each] == []
