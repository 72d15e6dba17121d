"""Bounds of described kernels: a GEMM of the catalogue, and one k step of a warp.

They know accesses and products, not machine code: index arithmetic, loops and latencies are left
out, so a bound is lower than that of the compiled kernel.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from simulator.law.chips import ChipLike
from simulator.results.sites import SiteReport
from simulator.timing.pipes import Demand, TimeBound, bound_of_demands, far_cycles
from simulator.timing.rates import SUB_PARTITIONS, WARP, Rates, rates_of

__all__ = ["bound_of_fragments", "bound_of_gemm"]

_PRODUCTS = 16 * 8 * 16  # multiply-adds of HMMA.16816


def bound_of_gemm(
    sites: Sequence[SiteReport], grid: Sequence[int], threads: int, sizes: tuple[int, int, int],
    element: int, chip: ChipLike,
) -> TimeBound:  # fmt: skip
    """Return the lower bound of a GEMM's time from its sites: figures of the whole grid.

    Raises ChipError for a chip whose pipes are not known.

    Parameters
    ----------
    sites
        What each access costs, over the whole grid.
    grid, threads
        Blocks along each axis, and threads of a block.
    sizes
        m, n and k.
    element
        Bytes of an element of A and B.
    chip
        Whose pipes are meant.
    """
    rates = rates_of(chip)
    blocks = 1
    for size in grid:
        blocks *= size
    m, n, k = sizes
    shared = [site for site in sites if site.memory == "shared"]
    loads = [site for site in sites if site.memory == "global" and site.kind == "load"]
    is_tensor = any(site.op.startswith("LDSM") for site in shared)
    products = m * n * k / blocks
    cycles = _arithmetic(products, element, is_tensor, rates)
    requests = sum(site.requests for site in sites) / blocks
    cycles["issue"] = cycles.pop("instructions") + requests
    cycles["lsu"] = requests
    # A wavefront of a global load returns 128 bytes at most.
    through = sum(max(site.requests, site.sectors / 4) for site in loads) / blocks
    held = sum(site.wavefronts for site in shared) / blocks
    free = sum(site.wavefronts - site.bank_conflicts for site in shared) / blocks
    demand = Demand(cycles | {"shared": held + through}, cycles | {"shared": free + through})
    pipes, floors = bound_of_demands([demand], blocks, -(-threads // WARP), rates)
    far = far_cycles((m + n) * k * element, m * n * element, rates.chip, None)
    return TimeBound(rates.chip.name, pipes | far, floors | far, rates.chip.clock_mhz)


def bound_of_fragments(
    totals: Mapping[str, int | float], thread_tile: tuple[int, int], element: int, chip: ChipLike
) -> TimeBound:
    """Return the least cycles of an SM for one k step of a warp, where all schedulers are busy.

    `totals`: of the fragments' reads; `thread_tile`: elements of C of a thread.

    Raises ChipError for a chip whose pipes are not known.
    """
    rates = rates_of(chip)
    products = thread_tile[0] * thread_tile[1] * WARP
    cycles = _arithmetic(products, element, is_tensor=False, rates=rates)
    loads = float(totals["instructions"])
    cycles["issue"] = cycles.pop("instructions") + loads
    # Four warps on four schedulers need so long: a quarter of it is one warp's.
    of_sm = {name: value / SUB_PARTITIONS for name, value in cycles.items()} | {"lsu": loads}
    held = float(totals["cycles"])
    free = min(held, float(totals["wavefronts"] - totals["bank_conflicts"]))
    return TimeBound(
        rates.chip.name, of_sm | {"shared": held}, of_sm | {"shared": free}, rates.chip.clock_mhz
    )


def _arithmetic(products: float, element: int, is_tensor: bool, rates: Rates) -> dict[str, float]:
    """Return cycles by pipe, of the sub-partitions together, and the number of instructions."""
    if is_tensor:
        count = products / _PRODUCTS
        peak = rates["HMMA.16816.F32"].peak
        return {"instructions": count, **({} if peak is None else {"tensor": count * peak})}
    name = "FFMA" if element >= 4 else "HFMA2"
    count = products / WARP / (1 if element >= 4 else 2)
    rate = rates[name]
    pipe = "fma" if len(rate.pipes) > 1 else rate.pipes[0]
    return {"instructions": count, pipe: count * (rate.held or 0.0) / len(rate.pipes)}
