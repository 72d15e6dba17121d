"""What is changed in place: what DRAM moves of it, as an H100's did."""

import numpy as np
import pytest

from gpu_check.recordings import packaged_table
from gpu_check.timing.in_place import in_place_source
from simulator import Chip, replay_compiled
from simulator.timing.machine import machine_of
from simulator.timing.shares import held_of
from tests.sass_kernels import needs_compiler

H100 = Chip.of("H100")
# Of eight pieces for each thread DRAM moves up to a seventh less, which the estimate does not tell.
ROWS = [row for row in packaged_table("h100_in_place") if row["pieces"] == "2"]


@needs_compiler
@pytest.mark.parametrize("row", ROWS, ids=[f"{row['way']} {row['mebibytes']}" for row in ROWS])
def test_dram_moves_what_it_moved(row: dict[str, str]) -> None:
    floats = (int(row["mebibytes"]) << 20) // (4 if row["way"] == "place" else 8)
    data = [np.zeros(floats, np.float32) for _ in range(1 if row["way"] == "place" else 2)]
    report = replay_compiled(
        in_place_source(), kernel=f"in_place_{row['way']}", grid=floats // (4 * 256 * 2),
        block=256, args=[data[0], data[-1], np.int32(2)], chip="H100",
    )  # fmt: skip
    machine = machine_of(H100)
    assert machine is not None
    kept = held_of(report.relaunch().work(H100), H100, machine).kept
    assert kept.lost == pytest.approx(float(row["read"]), abs=0.08)
    assert kept.stored == pytest.approx(float(row["written"]), abs=0.12)


_ADDS = """
extern "C" __global__ void adds(float *data) {
    atomicAdd(data + blockIdx.x * blockDim.x + threadIdx.x, 1.0f);
}"""


@needs_compiler
@pytest.mark.parametrize("row", [
    row for row in packaged_table("h100_atomic_sweeps")
    if (row["words"], row["how"]) == ("1", "side by side")
], ids=lambda row: row["mebibytes"])  # fmt: skip
def test_the_l2_has_what_atomics_change_until_it_is_nearly_full(row: dict[str, str]) -> None:
    floats = int(row["mebibytes"]) << 18
    report = replay_compiled(
        _ADDS, kernel="adds", grid=floats // 256, block=256, chip="H100",
        args=[np.zeros(floats, np.float32)],
    )  # fmt: skip
    machine = machine_of(H100)
    assert machine is not None
    lost = held_of(report.relaunch().work(H100), H100, machine).changed
    # Where it has all, an H100 takes 10.7 cycles per warp; where it has nothing, 24 to 30.
    assert (lost > 0.5) == (float(row["cycles"]) > 20)
    assert lost in (0, pytest.approx(1, abs=0.01))
