"""The back-of-an-envelope arithmetic of five GEMM documents, as functions.

Before anyone replays a kernel they estimate: how many bytes, how many instructions, how much
reuse, how many warps at once. Each function here is one such estimate, over plain numbers, and
gives the figure its document prints. None of it is the bank-conflict law: the law counts what
one access costs, this arithmetic guesses what a whole kernel could reach at best.

Two habits of the documents matter when figures are compared. They mix 10^9 and 2^30 (137 and
128 GFLOP are the same 2·4096^3), and most of them truncate where one would round. Functions
return the exact value; each docstring says in which unit, and how cut, the document prints it.
Where a document disagrees with itself, its docstring says so and gives the right value.

Sources
    [Mao]        Lei Mao, "CUDA Matrix Multiplication Optimization",
                 https://leimao.github.io/article/CUDA-Matrix-Multiplication-Optimization/
    [Mengyuan]   猛猿, "从啥也不会到CUDA GEMM优化", https://zhuanlan.zhihu.com/p/703256080
    [junstar92]  junstar92, "Optimizing a Matmul Kernel",
                 https://github.com/junstar92/nvidia-libraries-study/blob/main/cuda/study/23_optimizing_a_matmul_kernel.md
    [ks]         ks, "Explore GEMMs - optimization journey",
                 https://github.com/gpusgobrr/explore-gemm
    [Bloonow]    Bloonow, "GEMM矩阵乘法和CUTLASS模板库", https://github.com/Bloonow/MyNotes
"""

from __future__ import annotations

from simulator.gemm.estimates.pipes import (
    InstructionMix,
    ffma_per_shared_cycle,
    i_ratio,
    inner_product_share,
    instruction_mix,
    load_ffma_ratio,
    shared_cycles,
)
from simulator.gemm.estimates.roofline import (
    break_even_bandwidth,
    compute_memory_ratio,
    gemm_flops,
    gemm_intensity,
    gemm_performance,
    gemm_ratio,
    least_seconds,
    matrix_bytes,
    naive_intensity,
    output_bytes,
    weighted_bandwidth,
)
from simulator.gemm.estimates.traffic import (
    global_reads_naive,
    global_reads_per_element,
    global_reads_tiled,
    l2_hit_rate,
    loop_trips,
    shared_reads_per_element,
    split_k,
    wave_extent,
    wave_size,
)

__all__ = [
    "InstructionMix",
    "break_even_bandwidth",
    "compute_memory_ratio",
    "ffma_per_shared_cycle",
    "gemm_flops",
    "gemm_intensity",
    "gemm_performance",
    "gemm_ratio",
    "global_reads_naive",
    "global_reads_per_element",
    "global_reads_tiled",
    "i_ratio",
    "inner_product_share",
    "instruction_mix",
    "l2_hit_rate",
    "least_seconds",
    "load_ffma_ratio",
    "loop_trips",
    "matrix_bytes",
    "naive_intensity",
    "output_bytes",
    "shared_cycles",
    "shared_reads_per_element",
    "split_k",
    "wave_extent",
    "wave_size",
    "weighted_bandwidth",
]
