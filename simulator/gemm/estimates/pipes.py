"""Loads against FFMA: what the shared-memory pipe must deliver to keep the FFMA pipe busy."""

from __future__ import annotations

from dataclasses import dataclass

from layouts.warp import LANES
from simulator.errors import QuantityError
from simulator.gemm.quantities import Quantity, Size, ceil_div, checked, exact_div

__all__ = [
    "InstructionMix",
    "ffma_per_shared_cycle",
    "i_ratio",
    "inner_product_share",
    "instruction_mix",
    "load_ffma_ratio",
    "shared_cycles",
]


@checked
def i_ratio(m_frag: Size, n_frag: Size, words_per_load: Size = 1) -> float:
    """FFMA per LDS of the outer product: 1/α · M_frag·N_frag / (M_frag + N_frag) [Bloonow].

    `words_per_load` is 1/α: 1 for LDS.32, 2 for LDS.64, 4 for LDS.128. The second printed form,
    1/(4α) · ((M + N)^2 - (M - N)^2) / (M + N), is the same number.

    >>> i_ratio(8, 8), i_ratio(16, 4), i_ratio(8, 8, words_per_load=4)
    (4.0, 3.2, 16.0)
    """
    return words_per_load * m_frag * n_frag / (m_frag + n_frag)


@checked
def inner_product_share(port: Size = 128, ffma_per_cycle: Size = 64) -> float:
    """Share of the FFMA peak that an inner-product kernel can feed from shared memory, at most 1.

    A step moves 2·32 words, 256 bytes, for 32 FFMA: 32 / (256/port · ffma_per_cycle), with
    `port` in bytes per cycle and `ffma_per_cycle` of one SM.

    >>> inner_product_share() * 14                     # [Bloonow] prints 14TFLOPS÷4 = 3.5TFLOPS
    3.5
    >>> inner_product_share(port=64)                   # an eighth, for a TU102's 64-byte port
    0.125

    The port is a parameter of this arithmetic. The law has none: it counts wavefronts.
    """
    return min(1.0, LANES * port / (2 * LANES * 4 * ffma_per_cycle))


@checked
def shared_cycles(threads: Size, frag: Size, port: Size = 128) -> int:
    """Cycles in which a warp reads one step of A or B, 4-byte elements: port-bound or load-bound.

    max(ceil(threads·frag·4 / port), 2·ceil(frag / 4)): `threads` neighbours along that side read
    `frag` elements each through `port` bytes per cycle. But a warp's LDS.128 takes 2 cycles even
    when every lane asks for the same bytes ("at least 4 cycles" for 8 elements).

    >>> shared_cycles(1, 8), shared_cycles(32, 8), shared_cycles(32, 8, port=64)
    (4, 8, 16)

    [Bloonow] prints 4, 8 and 16 for the sides of a 1×32 warp with 8×8 thread tiles.
    """
    return max(ceil_div(threads * frag * 4, port), 2 * ceil_div(frag, 4))


@checked
def ffma_per_shared_cycle(
    rows: Size, cols: Size, m_frag: Size = 8, n_frag: Size = 8, port: Size = 128
) -> float:
    """FFMA of a rows×cols warp for each cycle in which it reads shared memory.

    m_frag·n_frag·32 / (`shared_cycles` of A + of B), `port` in bytes per cycle.

    >>> int(ffma_per_shared_cycle(1, 32))              # [Bloonow] prints 2048÷12 = 170, truncated
    170
    >>> int(ffma_per_shared_cycle(1, 32, port=64))     # 2048÷20 = 102, truncated
    102
    >>> ffma_per_shared_cycle(4, 8, port=64)           # 2048÷8 = 256
    256.0

    The 64-byte port is a TU102's; it is a parameter of this arithmetic, not of the law.
    [Bloonow] calls 102 too little for a TU102, which it lets do 128 FFMA per cycle there; two
    sections earlier it says 64, which is what a TU102 has, and 102 is enough.
    """
    if rows * cols != LANES:
        raise QuantityError(
            f"rows {rows} by cols {cols} is {rows * cols} lanes (accepted: {LANES} lanes)"
        )
    cycles = shared_cycles(rows, m_frag, port) + shared_cycles(cols, n_frag, port)
    return m_frag * n_frag * LANES / cycles


@dataclass(frozen=True)
class InstructionMix:
    """Instructions of one thread for one block tile step; wide ones count by the pipe's time."""

    threads: int
    """Threads in the block: M_tile·N_tile / (M_frag·N_frag)."""
    ldg: int
    """(M_tile + N_tile)·K_tile / threads."""
    sts: int
    """As many as LDG: an STS.128 keeps the pipe as long as four STS.32."""
    lds: int
    """2·(M_frag/4 + N_frag/4)·K_tile: each LDS.128 takes two transactions."""
    ffma: int
    """M_frag·N_frag·K_tile."""


@checked
def instruction_mix(
    m_tile: Size, n_tile: Size, k_tile: Size, m_frag: Size, n_frag: Size
) -> InstructionMix:
    """Count a thread's instructions for one step over K_tile; an LDS.128 is two [Bloonow].

    >>> instruction_mix(128, 128, 8, 8, 8)             # [Bloonow]: 256 threads
    InstructionMix(threads=256, ldg=8, sts=8, lds=64, ffma=512)

    Raises QuantityError where a count would not be whole: thread tiles that do not divide the
    block tile or that LDS.128 cannot read, block tiles that the threads cannot share evenly.
    """
    threads = exact_div("m_tile by m_frag", m_tile, m_frag) * exact_div(
        "n_tile by n_frag", n_tile, n_frag
    )
    ldg = exact_div("tile elements by threads", (m_tile + n_tile) * k_tile, threads)
    loads = exact_div("m_frag by LDS.128", m_frag, 4) + exact_div("n_frag by LDS.128", n_frag, 4)
    return InstructionMix(threads, ldg, ldg, 2 * loads * k_tile, m_frag * n_frag * k_tile)


@checked
def load_ffma_ratio(mix: InstructionMix, ldg_latency: Quantity, sts_latency: Quantity) -> float:
    """LDG and LDS per FFMA between the first LDG's data and its STS, latencies in cycles.

    n_ldg / (β·n_ffma) + n_lds / n_ffma with β = 1 - (LDG_latency + STS_latency) / n_ffma. Full
    FFMA rate wants at most P_lsu_ipc / P_ffma_ipc, 0.25 / 0.5 on a V100 [Bloonow].

    >>> mix = instruction_mix(128, 128, 8, 8, 8)
    >>> round(load_ffma_ratio(mix, ldg_latency=400, sts_latency=19), 3)
    0.211

    Raises QuantityError unless n_ffma exceeds the latencies: then no FFMA are left to hide them
    and the expression does not hold.
    """
    latency = ldg_latency + sts_latency
    if mix.ffma <= latency:
        raise QuantityError(
            f"ldg_latency {ldg_latency:g} and sts_latency {sts_latency:g} are not covered by"
            f" {mix.ffma} FFMA (accepted: less than {mix.ffma} together, or a larger k_tile)"
        )
    return mix.ldg / (mix.ffma - latency) + mix.lds / mix.ffma
