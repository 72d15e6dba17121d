"""Run microbenchmarks: `python -m gpu_check.timing FOLDER PREFIX [NAME...]`, all or those named.

Each writes FOLDER/PREFIX_NAME.csv.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from gpu_check.recordings import write_table
from gpu_check.timing.addition_units import measure_addition_units
from gpu_check.timing.apart import measure_apart
from gpu_check.timing.aside import measure_aside
from gpu_check.timing.atomic_lines import measure_atomic_lines, measure_atomics_beside
from gpu_check.timing.atomic_sweeps import measure_atomic_sweeps
from gpu_check.timing.atomics import measure_atomics
from gpu_check.timing.banks import measure_banks
from gpu_check.timing.banks_beside import measure_banks_beside, measure_banks_of_halves
from gpu_check.timing.behind import measure_behind
from gpu_check.timing.behind_stores import measure_behind_stores
from gpu_check.timing.blocks import measure_blocks
from gpu_check.timing.branches import measure_branches
from gpu_check.timing.conflicts_beside import measure_conflicts_beside
from gpu_check.timing.constant_lanes import measure_constant_lanes
from gpu_check.timing.constant_misses import measure_constant_misses
from gpu_check.timing.constant_operands import measure_constant_operands
from gpu_check.timing.constant_places import measure_constant_places
from gpu_check.timing.constants import measure_constants
from gpu_check.timing.contention import measure_contention
from gpu_check.timing.converging import measure_converging
from gpu_check.timing.copies_beside import measure_copies_beside
from gpu_check.timing.copies_late import measure_copies_late
from gpu_check.timing.copying import measure_copying
from gpu_check.timing.crowded import measure_crowded, measure_full_queues
from gpu_check.timing.delays import measure_delays
from gpu_check.timing.dispatching import measure_dispatch
from gpu_check.timing.distances import measure_distances
from gpu_check.timing.double_matrices import measure_double_matrices
from gpu_check.timing.doubles import measure_doubles
from gpu_check.timing.fenced_additions import measure_fenced_additions
from gpu_check.timing.fences import measure_fences
from gpu_check.timing.fences_beside import measure_fences_beside
from gpu_check.timing.fetch import measure_fetch
from gpu_check.timing.few_warps import measure_few_warps
from gpu_check.timing.fills import measure_fills
from gpu_check.timing.first_touch import measure_first_touch
from gpu_check.timing.flight import measure_flight
from gpu_check.timing.found_again import measure_found_again
from gpu_check.timing.frequencies import measure_frequencies
from gpu_check.timing.gathers import measure_gathers
from gpu_check.timing.gathers_beside import measure_gathers_beside
from gpu_check.timing.gpc_reads import measure_gpc_reads
from gpu_check.timing.handed_out import measure_handed_out
from gpu_check.timing.hot_lines import measure_hot_lines
from gpu_check.timing.hot_stores import measure_hot_stores
from gpu_check.timing.hot_tiles import measure_hot_tiles, measure_shared_tiles
from gpu_check.timing.in_place import measure_in_place
from gpu_check.timing.in_turn import measure_in_turn
from gpu_check.timing.issue_slots import measure_issue_slots
from gpu_check.timing.l1_holds import measure_l1_holds
from gpu_check.timing.l1_lines import measure_l1_lines
from gpu_check.timing.l1_room import measure_l1_room
from gpu_check.timing.late_reads import measure_late_reads
from gpu_check.timing.launches import measure_launches
from gpu_check.timing.local_memory import measure_local_memory
from gpu_check.timing.local_sweeps import measure_local_sweeps
from gpu_check.timing.lookups import measure_backlog, measure_lookups
from gpu_check.timing.loop_ends import measure_loop_ends
from gpu_check.timing.lost import measure_lost
from gpu_check.timing.mainloops import measure_mainloops
from gpu_check.timing.matches import measure_matches
from gpu_check.timing.memory import measure_bandwidth, measure_latency
from gpu_check.timing.misses import measure_misses
from gpu_check.timing.mixed import measure_mixed
from gpu_check.timing.neighbour_shapes import measure_neighbour_shapes
from gpu_check.timing.neighbour_stores import measure_neighbour_stores
from gpu_check.timing.neighbours import measure_neighbours
from gpu_check.timing.outstanding import measure_behind_loads, measure_outstanding
from gpu_check.timing.overtaking import measure_barrier_loops, measure_overtaking
from gpu_check.timing.parted import measure_parted
from gpu_check.timing.partitions import measure_first_warps, measure_partitions
from gpu_check.timing.passes import measure_pass_bytes, measure_passes
from gpu_check.timing.paths import measure_accesses, measure_queue, measure_traffic
from gpu_check.timing.peaks import measure_peaks
from gpu_check.timing.pipes import measure_matrices, measure_mixes, measure_pipes
from gpu_check.timing.pool import measure_in_order, measure_late_loads, measure_pool
from gpu_check.timing.ports import measure_ports, measure_wide_ports
from gpu_check.timing.products_beside import measure_product_loops, measure_products_beside
from gpu_check.timing.products_traced import measure_products_issued, measure_products_traced
from gpu_check.timing.random_reads import measure_random_reads
from gpu_check.timing.reach import measure_reach
from gpu_check.timing.read_back import measure_read_back
from gpu_check.timing.reads_beside_writes import measure_reads_beside_writes
from gpu_check.timing.refills import measure_refills
from gpu_check.timing.rereads import measure_rereads
from gpu_check.timing.rounds import measure_rounds
from gpu_check.timing.scattered_copies import measure_scattered_copies
from gpu_check.timing.scattered_stores import measure_scattered_stores
from gpu_check.timing.second import measure_residency, measure_starts
from gpu_check.timing.shared_reads import measure_shared_reads
from gpu_check.timing.short_launches import measure_short_launches
from gpu_check.timing.skewed_rows import measure_skewed_rows
from gpu_check.timing.slots import measure_order, measure_slots
from gpu_check.timing.slowest import measure_slowest
from gpu_check.timing.sparse import measure_sparse
from gpu_check.timing.spread import measure_spread
from gpu_check.timing.stalls import measure_gemms
from gpu_check.timing.store_halves import measure_store_halves
from gpu_check.timing.store_joins import measure_store_joins
from gpu_check.timing.store_parts import measure_store_parts
from gpu_check.timing.streams import measure_streams
from gpu_check.timing.tags import measure_tags
from gpu_check.timing.tails import measure_tails
from gpu_check.timing.tile_rows import measure_tile_rows
from gpu_check.timing.tpcs import measure_places, measure_tpcs
from gpu_check.timing.transposes import measure_transposes
from gpu_check.timing.turned import measure_turned
from gpu_check.timing.turnover import measure_turnover
from gpu_check.timing.turns import measure_turns
from gpu_check.timing.uneven import measure_uneven, measure_uneven_far
from gpu_check.timing.unlike_blocks import measure_first_places, measure_unlike_blocks
from gpu_check.timing.waits import measure_waits
from gpu_check.timing.waves import measure_waves
from gpu_check.timing.ways import measure_ways
from gpu_check.timing.wide_products import measure_wide_products
from gpu_check.timing.windows import measure_windows

_TABLES: dict[str, Callable[[], list[dict[str, Any]]]] = {
    "pipes": measure_pipes,
    "latency": measure_latency,
    "bandwidth": measure_bandwidth,
    "launches": measure_launches,
    "gemm_stalls": measure_gemms,
    "peaks": measure_peaks,
    "mixes": measure_mixes,
    "accesses": measure_accesses,
    "traffic": measure_traffic,
    "queue": measure_queue,
    "fetch": measure_fetch,
    "banks": measure_banks,
    "banks_beside": measure_banks_beside,
    "converging": measure_converging,
    "copies_beside": measure_copies_beside,
    "copies_late": measure_copies_late,
    "copying": measure_copying,
    "pool": measure_pool,
    "late_loads": measure_late_loads,
    "in_order": measure_in_order,
    "in_place": measure_in_place,
    "fills": measure_fills,
    "flight": measure_flight,
    "atomic_sweeps": measure_atomic_sweeps,
    "atomics": measure_atomics,
    "atomic_lines": measure_atomic_lines,
    "atomics_beside": measure_atomics_beside,
    "starts": measure_starts,
    "residency": measure_residency,
    "waits": measure_waits,
    "turns": measure_turns,
    "contention": measure_contention,
    "tags": measure_tags,
    "shared_reads": measure_shared_reads,
    "constants": measure_constants,
    "transposes": measure_transposes,
    "dispatch": measure_dispatch,
    "distances": measure_distances,
    "double_matrices": measure_double_matrices,
    "doubles": measure_doubles,
    "aside": measure_aside,
    "matches": measure_matches,
    "mainloops": measure_mainloops,
    "gpc_reads": measure_gpc_reads,
    "handed_out": measure_handed_out,
    "hot_lines": measure_hot_lines,
    "hot_stores": measure_hot_stores,
    "hot_tiles": measure_hot_tiles,
    "shared_tiles": measure_shared_tiles,
    "first_places": measure_first_places,
    "unlike_blocks": measure_unlike_blocks,
    "delays": measure_delays,
    "first_touch": measure_first_touch,
    "frequencies": measure_frequencies,
    "branches": measure_branches,
    "local_memory": measure_local_memory,
    "local_sweeps": measure_local_sweeps,
    "random_reads": measure_random_reads,
    "reads_beside_writes": measure_reads_beside_writes,
    "scattered_copies": measure_scattered_copies,
    "scattered_stores": measure_scattered_stores,
    "reach": measure_reach,
    "gathers": measure_gathers,
    "fences": measure_fences,
    "constant_operands": measure_constant_operands,
    "blocks": measure_blocks,
    "mixed": measure_mixed,
    "neighbour_waits": measure_neighbours,
    "tails": measure_tails,
    "misses": measure_misses,
    "fences_beside": measure_fences_beside,
    "lost": measure_lost,
    "gathers_beside": measure_gathers_beside,
    "constant_lanes": measure_constant_lanes,
    "constant_misses": measure_constant_misses,
    "constant_places": measure_constant_places,
    "passes": measure_passes,
    "pass_bytes": measure_pass_bytes,
    "turnover": measure_turnover,
    "found_again": measure_found_again,
    "in_turn": measure_in_turn,
    "store_joins": measure_store_joins,
    "store_parts": measure_store_parts,
    "first_warps": measure_first_warps,
    "wide_products": measure_wide_products,
    "parted": measure_parted,
    "partitions": measure_partitions,
    "overtaking": measure_overtaking,
    "outstanding": measure_outstanding,
    "behind_loads": measure_behind_loads,
    "crowded": measure_crowded,
    "full_queues": measure_full_queues,
    "lookups": measure_lookups,
    "backlog": measure_backlog,
    "barrier_loops": measure_barrier_loops,
    "few_warps": measure_few_warps,
    "waves": measure_waves,
    "ways": measure_ways,
    "late_reads": measure_late_reads,
    "conflicts_beside": measure_conflicts_beside,
    "rereads": measure_rereads,
    "rounds": measure_rounds,
    "spread": measure_spread,
    "tpcs": measure_tpcs,
    "places": measure_places,
    "matrices": measure_matrices,
    "neighbour_shapes": measure_neighbour_shapes,
    "neighbour_stores": measure_neighbour_stores,
    "store_halves": measure_store_halves,
    "windows": measure_windows,
    "behind": measure_behind,
    "behind_stores": measure_behind_stores,
    "uneven": measure_uneven,
    "uneven_far": measure_uneven_far,
    "order": measure_order,
    "short_launches": measure_short_launches,
    "slots": measure_slots,
    "issue_slots": measure_issue_slots,
    "loop_ends": measure_loop_ends,
    "ports": measure_ports,
    "refills": measure_refills,
    "wide_ports": measure_wide_ports,
    "product_loops": measure_product_loops,
    "products_beside": measure_products_beside,
    "products_issued": measure_products_issued,
    "products_traced": measure_products_traced,
    "tile_rows": measure_tile_rows,
    "streams": measure_streams,
    "turned": measure_turned,
    "apart": measure_apart,
    "sparse": measure_sparse,
    "read_back": measure_read_back,
    "l1_holds": measure_l1_holds,
    "l1_lines": measure_l1_lines,
    "l1_room": measure_l1_room,
    "slowest": measure_slowest,
    "fenced_additions": measure_fenced_additions,
    "addition_units": measure_addition_units,
    "banks_of_halves": measure_banks_of_halves,
    "skewed_rows": measure_skewed_rows,
}


def main(folder: str, prefix: str, *names: str) -> None:
    """Write a table per benchmark, or those named. Raises SystemExit for a name that is not one."""
    unknown = [name for name in names if name not in _TABLES]
    if unknown:
        known = ", ".join(sorted(_TABLES))
        raise SystemExit(f"no benchmark is called {', '.join(unknown)} (accepted: {known})")
    out = Path(folder)
    out.mkdir(parents=True, exist_ok=True)
    for name in names or _TABLES:
        rows = _TABLES[name]()
        write_table(out / f"{prefix}_{name}.csv", rows)
        print(f"{name}: {len(rows)} rows", flush=True)


if __name__ == "__main__":
    if len(sys.argv) < 3:
        raise SystemExit(__doc__)
    main(*sys.argv[1:])
