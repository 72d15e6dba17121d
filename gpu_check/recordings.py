"""Measurements kept in a file: what `bankwise gpu-check --save` writes and `--load` reads.

One NPZ holds any number of accesses of any instructions, counted or timed or both, and where
they come from. Data of an H200 is part of the package; gpu_check/data/README.md describes it.
"""

from __future__ import annotations

import csv
import json
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from gpu_check.clocks import Measurements
from gpu_check.errors import RecordingError
from gpu_check.probe.ops import PROBE_OPS, probe_op
from layouts.errors import accepted, short
from simulator.errors import OutputError
from simulator.results import files as result_files

__all__ = [
    "PackagedRecording",
    "PackagedTable",
    "Recording",
    "load",
    "packaged",
    "packaged_table",
    "save",
    "write_table",
]

FORMAT = 1

_COLUMNS = {
    "op": np.uint8,
    "address": np.uint32,
    "mask": np.uint32,
    "wavefronts": np.int16,
    "bank_conflicts": np.int16,
    "cycles": np.float32,
    "spread": np.float32,
}
"""Arrays, a row per access; -1 and NaN where a figure was not measured. Narrower types are read."""

_COUNTS = ("wavefronts", "bank_conflicts")
_TIMES = ("cycles", "spread")

SIDE_BY_SIDE = -1
"""In `source`, a column that only files with sources of copies have: this access has none."""

_NEXT = "next: record anew with `bankwise gpu-check --save FILE`, or reinstall bankwise"


@dataclass(frozen=True)
class Recording:
    """Measurements by instruction, and where they come from."""

    measurements: tuple[Measurements, ...]
    provenance: dict[str, Any]
    """Chip, driver, CUDA, date, version of this tool, and how."""

    def __len__(self) -> int:
        return sum(map(len, self.measurements))


def save(path: Path, measurements: Iterable[Measurements], provenance: dict[str, Any]) -> None:
    """Write measurements; a file that is there is replaced only when the new one is whole.

    Raises RecordingError for a place that cannot be written, and for no measurements at all.
    """
    given = [(probe_op(each.op).name, each) for each in measurements]
    if not given:
        raise RecordingError("no measurements to save (accepted: those of one instruction or more)")
    names = sorted({op for op, _ in given})
    rows: dict[str, list[NDArray[Any]]] = {name: [] for name in _COLUMNS}
    read: list[NDArray[Any]] = []
    for op, each in given:
        n = len(each)
        rows["op"].append(np.full(n, names.index(op)))
        rows["address"].append(each.addresses)
        rows["mask"].append(each.masks)
        for name in _COUNTS:
            rows[name].append(_or(getattr(each, name), n, -1))
        for name in _TIMES:
            rows[name].append(_or(getattr(each, name), n, np.nan))
        read.append(_or(each.sources, (n, 32), SIDE_BY_SIDE))
    arrays = {name: np.concatenate(rows[name]).astype(kind) for name, kind in _COLUMNS.items()}
    if any(each.sources is not None for _, each in given):
        arrays["source"] = np.concatenate(read).astype(np.int32)

    def write(place: Path) -> None:
        with place.open("wb") as file:
            np.savez_compressed(
                file,
                format=np.array(FORMAT),
                names=np.array(names),
                provenance=np.array(json.dumps(provenance)),
                **arrays,  # type: ignore[arg-type] # NumPy types its own options into **kwds
            )

    try:
        result_files.save(path, write)
    except OutputError as error:
        raise RecordingError(f"{error} (next: choose another --save)") from error


def _or(column: NDArray[Any] | None, n: int | tuple[int, int], missing: float) -> NDArray[Any]:
    return np.full(n, missing) if column is None else column


def load(path: Path) -> Recording:
    """Read a recording.

    Accesses of one instruction that have the same figures come together: those counted apart
    from those only timed.

    Raises RecordingError for a file that is not a recording, is damaged, or of another format.
    """
    try:
        read, provenance = _read(path)
    except Exception as error:  # what a damaged archive makes of zipfile, zlib, lzma, NumPy, json
        raise RecordingError(
            f"{path} is not a whole recording: {short(error, most=200)} ({_NEXT})"
        ) from error
    version = read["format"]
    if version.shape == () and version.dtype.kind in "iu" and version != FORMAT:
        raise RecordingError(
            f"{path} has format {version} (accepted: {FORMAT}; next: update bankwise)"
        )
    wrong = _odd(read)
    if not isinstance(provenance, dict):
        wrong.append("provenance")
    if wrong:
        names = ", ".join(short(name, most=40).strip("'") for name in wrong[:8])
        raise RecordingError(f"{path} does not fit together: {names} ({_NEXT})")
    columns = {name: read[name] for name in (*_COLUMNS, "source") if name in read}
    kinds = _measured(columns)
    return Recording(
        tuple(
            _measurements(name, {key: column[rows] for key, column in columns.items()})
            for i, name in enumerate(read["names"].tolist())
            for kind in dict.fromkeys(kinds[columns["op"] == i].tolist())
            for rows in [(columns["op"] == i) & (kinds == kind)]
        ),
        provenance,
    )


def _read(path: Path) -> tuple[dict[str, NDArray[Any]], Any]:
    with path.open("rb") as file, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # NumPy's guess where a damaged header comes from
        arrays = np.load(file, allow_pickle=False)
        if isinstance(arrays, np.ndarray):
            raise ValueError("one array")
        with arrays:
            names = ["format", "names", "provenance", *_COLUMNS]
            read = {name: arrays[name] for name in [*names, *(["source"] * ("source" in arrays))]}
    odd = [name for name, array in read.items() if not isinstance(array, np.ndarray)]
    if odd:  # NumPy returns a member that does not begin as an array does as bytes
        raise ValueError(f"{odd[0]} is not an array")
    return read, json.loads(str(read["provenance"]))


def _odd(read: dict[str, NDArray[Any]]) -> list[str]:
    """Name the arrays that are not as `save` writes them, and instructions that nobody knows."""
    n = read["op"].size
    shapes = {name: (n, 32) if name == "address" else (n,) for name in _COLUMNS}
    wrong = [
        name
        for name, kind in _COLUMNS.items()
        if read[name].shape != shapes[name] or not np.can_cast(read[name].dtype, kind)
    ]
    if "source" in read and (
        read["source"].shape != (n, 32) or not np.can_cast(read["source"].dtype, np.int32)
    ):
        wrong.append("source")
    if read["format"].shape != () or read["format"].dtype.kind not in "iu":
        wrong.append("format")
    if read["names"].ndim != 1 or read["names"].dtype.kind != "U":
        return [*wrong, "names"]
    wrong += [name for name in read["names"].tolist() if name not in PROBE_OPS]
    if "op" not in wrong and n and read["op"].max() >= len(read["names"]):
        wrong.append("op")
    return wrong + [
        name for name in ("cycles", "spread") if name not in wrong and np.isinf(read[name]).any()
    ]


def _measured(columns: dict[str, NDArray[Any]]) -> NDArray[np.uint8]:
    """Return for each access, as bits, the figures that it has."""
    there = [columns[name] >= 0 for name in _COUNTS]
    there += [~np.isnan(columns[name]) for name in _TIMES]
    if "source" in columns:
        there += [(columns["source"] != SIDE_BY_SIDE).all(axis=1)]
    bits: NDArray[np.uint8] = np.packbits(there, axis=0)[0]
    return bits


def _measurements(op: str, mine: dict[str, NDArray[Any]]) -> Measurements:
    """Make measurements of accesses that have the same figures."""
    figures: dict[str, NDArray[Any] | None] = {
        name: mine[name].astype(np.int64) if (mine[name] >= 0).all() else None for name in _COUNTS
    }
    figures |= {
        name: None if np.isnan(mine[name]).any() else mine[name].astype(np.float64)
        for name in _TIMES
    }
    source = mine.get("source")
    if source is not None and (source != SIDE_BY_SIDE).all():
        figures["sources"] = source.astype(np.uint32)
    return Measurements(
        op, mine["address"].astype(np.uint32), mine["mask"].astype(np.uint32), **figures
    )


PackagedRecording = Literal["h100_accesses", "h100_loops", "h200_accesses", "h200_loops"]
PackagedTable = Literal[
    "devices", "h100_accesses", "h100_atomic_lines", "h100_atomic_sweeps", "h100_atomics",
    "h100_atomics_beside",
    "h100_bandwidth", "h100_banks", "h100_banks_beside", "h100_behind",
    "h100_behind_loads", "h100_behind_stores",
    "h100_apart", "h100_aside", "h100_backlog", "h100_barrier_loops", "h100_block_ends",
    "h100_blocks",
    "h100_branches", "h100_clock_classes", "h100_conflicts_beside",
    "h100_constant_lanes", "h100_constant_misses", "h100_constant_operands", "h100_constants",
    "h100_converging", "h100_copying", "h100_crowded",
    "h100_deferring", "h100_delays", "h100_dispatch", "h100_distances", "h100_double_matrices",
    "h100_doubles",
    "h100_fences",
    "h100_fences_beside",
    "h100_fetch", "h100_few_warps",
    "h100_fills",
    "h100_first_places", "h100_first_touch", "h100_first_warps", "h100_full_queues",
    "h100_flight", "h100_found_again", "h100_gathers", "h100_gathers_beside",
    "h100_gpc_reads", "h100_gemm_stalls", "h100_group_waits",
    "h100_handed_out", "h100_hot_lines", "h100_hot_stores", "h100_hot_tiles",
    "h100_in_order", "h100_in_place",
    "h100_in_turn", "h100_kernels",
    "h100_late_reads", "h100_latency",
    "h100_issue_slots", "h100_l1_holds", "h100_l1_room",
    "h100_late_loads", "h100_launches", "h100_local_memory", "h100_local_sweeps",
    "h100_loop_ends",
    "h100_lookups", "h100_lost", "h100_matches",
    "h100_matrices", "h100_misc", "h100_misses", "h100_mixed", "h100_mixes",
    "h100_neighbour_counters", "h100_neighbour_shapes", "h100_neighbour_stores",
    "h100_neighbour_waits", "h100_order", "h100_outstanding", "h100_overtaking", "h100_parted",
    "h100_partitions", "h100_pass_bytes",
    "h100_passes", "h100_peaks",
    "h100_pipes", "h100_places", "h100_pool", "h100_ports", "h100_queue", "h100_reach",
    "h100_random_reads", "h100_read_back", "h100_reads_beside_writes",
    "h100_rereads", "h100_residency", "h100_rounds",
    "h100_scattered_copies", "h100_shared_reads", "h100_shared_tiles",
    "h100_slots",
    "h100_slowest", "h100_sparse", "h100_spread",
    "h100_starts",
    "h100_store_halves", "h100_store_parts", "h100_streams",
    "h100_tails", "h100_tile_rows", "h100_timed_eighteenth",
    "h100_timed_eighteenth_estimates", "h100_timed_eighth", "h100_timed_eighth_estimates",
    "h100_timed_eleventh", "h100_timed_eleventh_estimates", "h100_timed_estimates",
    "h100_timed_fifth",
    "h100_timed_fifteenth", "h100_timed_fifteenth_estimates",
    "h100_timed_fifth_estimates", "h100_timed_fourteenth",
    "h100_timed_fourteenth_estimates", "h100_timed_fourth", "h100_timed_fourth_estimates",
    "h100_timed_fresh", "h100_timed_fresh_estimates", "h100_timed_gemms",
    "h100_timed_gemms_estimates", "h100_timed_kernels", "h100_timed_later_estimates",
    "h100_timed_moved",
    "h100_timed_newest_estimates", "h100_timed_nineteenth",
    "h100_timed_nineteenth_estimates", "h100_timed_ninth", "h100_timed_ninth_estimates",
    "h100_timed_seventeenth_a", "h100_timed_seventeenth_a_estimates",
    "h100_timed_seventeenth_b", "h100_timed_seventeenth_b_estimates",
    "h100_timed_seventeenth_c", "h100_timed_seventeenth_c_estimates", "h100_timed_seventh",
    "h100_timed_seventh_estimates", "h100_timed_sixth",
    "h100_timed_sixth_estimates", "h100_timed_sm_blocks",
    "h100_timed_tenth", "h100_timed_tenth_estimates",
    "h100_timed_third", "h100_timed_third_estimates", "h100_timed_thirteenth",
    "h100_timed_thirteenth_estimates",
    "h100_timed_twelfth",
    "h100_timed_twelfth_estimates",
    "h100_timed_twentieth", "h100_timed_twentieth_estimates",
    "h100_timed_twentyfirst", "h100_timed_twentyfirst_estimates",
    "h100_timed_twentysecond", "h100_timed_twentysecond_estimates",
    "h100_timed_twentythird", "h100_timed_twentythird_estimates",
    "h100_timed_twentyfourth", "h100_timed_twentyfourth_estimates",
    "h100_timed_twentyfifth", "h100_timed_twentyfifth_estimates",
    "h100_timed_twentyeighth", "h100_timed_twentyeighth_estimates",
    "h100_timed_twentyninth", "h100_timed_twentyninth_estimates",
    "h100_timed_thirtieth", "h100_timed_thirtieth_estimates",
    "h100_timed_thirtyfifth", "h100_timed_thirtyfifth_estimates",
    "h100_timed_thirtyfirst", "h100_timed_thirtyfirst_estimates",
    "h100_timed_thirtyfourth_a", "h100_timed_thirtyfourth_a_estimates",
    "h100_timed_thirtyfourth_b", "h100_timed_thirtyfourth_b_estimates",
    "h100_timed_thirtysecond", "h100_timed_thirtysecond_estimates",
    "h100_timed_thirtythird", "h100_timed_thirtythird_estimates",
    "h100_timed_twentyseventh", "h100_timed_twentyseventh_estimates",
    "h100_timed_twentysixth", "h100_timed_twentysixth_estimates",
    "h100_uneven", "h100_unlike_blocks",
    "h100_tma", "h100_tpcs", "h100_traffic", "h100_transposes", "h100_turned", "h100_turnover",
    "h100_turns",
    "h100_waits", "h100_waves", "h100_ways", "h100_wgmma", "h100_wide_products",
    "h100_windows", "h100_yields",
    "h200_addition_units", "h200_atomic_lines", "h200_atomics", "h200_atomics_beside",
    "h200_bandwidth", "h200_banks_of_halves", "h200_behind_stores", "h200_fenced_additions",
    "h200_clock_classes", "h200_contention", "h200_copies_beside", "h200_copies_late",
    "h200_distances", "h200_flight", "h200_found_again", "h200_frequencies",
    "h200_gemm_stalls", "h200_hot_lines", "h200_hot_tiles", "h200_kernels", "h200_l1_lines",
    "h200_late_reads", "h200_latency",
    "h200_launches", "h200_mainloops", "h200_outstanding", "h200_pass_bytes", "h200_pipes",
    "h200_product_loops", "h200_products_beside", "h200_products_issued",
    "h200_products_traced", "h200_random_reads", "h200_skewed_rows",
    "h200_reads_beside_writes", "h200_refills", "h200_residency", "h200_rounds",
    "h200_scattered_stores",
    "h200_shared_reads", "h200_short_launches", "h200_spread", "h200_store_joins",
    "h200_store_parts", "h200_streams", "h200_tags", "h200_tails",
    "h200_tile_rows",
    "h200_timed_again", "h200_timed_again_estimates",
    "h200_timed_fortieth", "h200_timed_fortieth_estimates", "h200_timed_fortyfirst",
    "h200_timed_fortyfirst_estimates",
    "h200_timed_fortysecond", "h200_timed_fortysecond_estimates", "h200_timed_newest_estimates",
    "h200_timed_moved", "h200_timed_sixteenth", "h200_timed_sixteenth_estimates",
    "h200_timed_sm_blocks",
    "h200_timed_thirtyseventh", "h200_timed_thirtyseventh_estimates", "h200_timed_thirtysixth",
    "h200_timed_thirtysixth_estimates", "h200_timed_thirtyeighth",
    "h200_timed_thirtyeighth_estimates",
    "h200_timed_thirtyninth", "h200_timed_thirtyninth_estimates", "h200_turned",
    "h200_turnover", "h200_uneven",
    "h200_uneven_far", "h200_ways", "h200_wide_ports",
]  # fmt: skip


def packaged(name: PackagedRecording) -> Recording:
    """Return a recording of this package; gpu_check/data/README.md describes them.

    Raises RecordingError for another name.
    """
    _check_name(name, get_args(PackagedRecording))
    return _packaged(name)


@cache
def _packaged(name: str) -> Recording:
    with as_file(files("gpu_check").joinpath("data", f"{name}.npz")) as path:
        return load(path)


def packaged_table(name: PackagedTable) -> list[dict[str, str]]:
    """Return the rows of a table of this package; gpu_check/data/README.md describes them.

    Raises RecordingError for another name.
    """
    import csv

    _check_name(name, get_args(PackagedTable))
    with files("gpu_check").joinpath("data", f"{name}.csv").open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def write_table(path: str | Path, rows: Sequence[Mapping[str, Any]]) -> None:
    """Write a table as `packaged_table` reads it: a column for each key of the first row."""
    with Path(path).open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, fieldnames=list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def _check_name(name: str, names: tuple[str, ...]) -> None:
    if name not in names:
        raise RecordingError(f"no packaged data {short(name)}: {accepted(name, names)}")
