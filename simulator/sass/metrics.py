"""A replay's totals under the names that Nsight Compute gives them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from simulator.results.sites import SiteReport

__all__ = ["profiler_metrics"]


def profiler_metrics(
    rows: Sequence[Mapping[str, Any]],
    sites: Sequence[SiteReport],
    totals: Mapping[str, Mapping[str, Any]],
) -> dict[str, int]:
    """Return the metrics of a report's instructions, sites and totals."""

    def total(figure: str, *names: str) -> int:
        return sum(row[figure] or 0 for row in rows if row["opcode"].split(".")[0] in names)

    def requests(name: str) -> int:
        # The profiler leaves out executions without an active lane here, as it does not there.
        return sum(
            site.requests
            for site in sites
            if site.memory == "shared" and site.op.split(".")[0] == name
        )

    wavefronts = "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op"
    conflicts = "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op"
    both = ("LDS", "LDSM", "STS", "STSM")
    gmma, moved = totals["gmma"]["wavefronts"], totals["global"]
    return {
        "smsp__sass_inst_executed_op_shared_ld.sum": requests("LDS"),
        "smsp__sass_inst_executed_op_shared_st.sum": requests("STS"),
        f"{wavefronts}_ld.sum": total("wavefronts", "LDS"),
        f"{wavefronts}_st.sum": total("wavefronts", "STS"),
        "sm__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_gmma.sum": gmma,
        "memory_l1_wavefronts_shared": total("wavefronts", *both) + gmma,
        "memory_l1_wavefronts_shared_ideal": total("ideal", *both) + gmma,
        "derived__memory_l1_wavefronts_shared_excessive": total("excessive", *both),
        f"{conflicts}_ld.sum": total("bank_conflicts", "LDS", "LDSM"),
        f"{conflicts}_st.sum": total("bank_conflicts", "STS", "STSM"),
        "memory_l2_theoretical_sectors_global": moved["sectors"],
        "memory_l2_theoretical_sectors_global_ideal": moved["ideal_sectors"],
    }
