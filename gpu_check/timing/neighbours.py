"""What a block waits for others of its cluster, one warp and many.

`load`, `atom`: each waits for the one before. They are of plain shared memory (`here`), of the
block's own by a cluster's address (`own`), and of the next block's (`next`). `async`, `arrive`: two
blocks answer each other, by `st.async` and by an arrival at a neighbour's mbarrier; cycles of one
way. `barrier`, `relaxed`: the cluster's barrier that releases and acquires, and one that does not.
`counts`: sums without a result at random words of the next block's memory (`next`), and of both
(`both`). `loads`: four loads of the next block's memory that do not wait for each other.
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from gpu_check.device import open_gpu
from gpu_check.hopper.runner import compiled

__all__ = ["measure_neighbours", "neighbours_source"]

_TURNS = 64
_CLUSTERS = (2, 4, 8)
_WARPS = (1, 4, 8, 16, 32)
_CHAIN = 'asm volatile("{op} %0, [%1]{more};" : "=r"(v) : "r"(at + v) : "memory");'
_WAIT = (
    'asm volatile("{{ .reg .pred p; again: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64'
    ' p, [%0], %1; @!p bra again; }}" :: "r"(gate), "r"(turn & 1) : "memory");'
)
_EXPECT = (
    'asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 4;" :: "r"(gate) : "memory");'
)
_ASYNC = (
    'asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [%0], %1, [%2];"'
    ' :: "r"(far + 64), "r"(turn), "r"(far_gate) : "memory");'
)
_ARRIVE = (
    'asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];"'
    ' :: "r"(far_gate) : "memory");'
)
_COUNT = (
    'asm volatile("red.shared::cluster.add.u32 [%0], %1;" :: "r"(to + (({words}) << 2)), "r"(1)'
    ' : "memory");'
)


def _bodies() -> dict[tuple[str, str], str]:
    """Return the body of each loop by what it does and where."""
    found = {}
    for where, space, at in (("here", "cta", "near"), ("own", "cluster", "own"),
                             ("next", "cluster", "far")):  # fmt: skip
        for name, op, more in (("load", f"ld.shared::{space}.u32", ""),
                               ("atom", f"atom.shared::{space}.add.u32", ", 0")):  # fmt: skip
            found[name, where] = _CHAIN.format(op=op, more=more).replace("at +", f"{at} +")
    send = {"async": (_EXPECT, _ASYNC), "arrive": ("", _ARRIVE)}
    for name, (expect, send_one) in send.items():
        # The first block sends and waits; the second one waits and answers.
        wait = _WAIT.replace("{{", "{").replace("}}", "}").replace("again", f"again_{name}_%=")
        parts = f"if (rank == 0) {{ {send_one} {wait} }} else {{ {wait} {send_one} }}"
        found[name, "next"] = f"if (threadIdx.x == 0 && rank < 2) {{ {expect} {parts} }}"
    found["barrier", "next"] = (
        'asm volatile("barrier.cluster.arrive.release; barrier.cluster.wait.acquire;"'
        ' ::: "memory");'
    )
    found["relaxed", "next"] = (
        'asm volatile("barrier.cluster.arrive.relaxed; barrier.cluster.wait;" ::: "memory");'
    )
    draw = "v = v * 1664525u + 1013904223u + threadIdx.x;"
    found["counts", "next"] = f"{draw} {{ const unsigned to = far; {_COUNT} }}".replace(
        "{words}", "v >> 23"
    )
    found["counts", "both"] = (
        f"{draw} {{ const unsigned to = v >> 31 ? far : own; {_COUNT} }}".replace(
            "{words}", "(v >> 22) & 511"
        )
    )
    load = (
        'asm volatile("ld.shared::cluster.u32 %0, [%1];" : "=r"(part[{k}]) :'
        ' "r"(far + {k} * 512 + (threadIdx.x & 31) * 4) : "memory");'
    )
    found["loads", "next"] = (
        "{ unsigned part[4]; "
        + " ".join(load.replace("{k}", str(k)) for k in range(4))
        + " v += part[0] + part[1] + part[2] + part[3]; }"
    )
    return found


_SOURCE = """
extern "C" __global__ void __cluster_dims__({cluster}, 1, 1)
neighbour_{number}_{cluster}(long long* when, unsigned* sink, int turns) {{
    __shared__ __align__(128) unsigned words[1024];
    __shared__ __align__(8) unsigned long long door;
    for (int k = threadIdx.x; k < 1024; k += blockDim.x) words[k] = 0;
    unsigned rank, near = (unsigned)__cvta_generic_to_shared(words), own, far, far_gate;
    const unsigned gate = (unsigned)__cvta_generic_to_shared(&door);
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    const unsigned next = (rank + 1) % {cluster};
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(own) : "r"(near), "r"(rank));
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(far) : "r"(near), "r"(next));
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(far_gate) : "r"(gate), "r"(rank ^ 1));
    if ({pair}) far = far_gate - gate + near;
    if (threadIdx.x == 0) asm volatile("mbarrier.init.shared.b64 [%0], 1;" :: "r"(gate));
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    asm volatile("barrier.cluster.arrive; barrier.cluster.wait;" ::: "memory");
    unsigned v = {first};
    long long start = clock64();
    #pragma unroll 1
    for (int turn = 0; turn < turns; ++turn) {{
        if (turn == 2) {{ __syncthreads(); start = clock64(); }}
        {body}
    }}
    __syncthreads();
    if (threadIdx.x == 0) when[blockIdx.x] = clock64() - start;
    asm volatile("barrier.cluster.arrive; barrier.cluster.wait;" ::: "memory");
    if (v == 12345) *sink = v;
}}
"""


def neighbours_source() -> tuple[str, dict[str, tuple[str, str, int]]]:
    """Return CUDA source of all loops, and of each what it does, where, and its cluster."""
    text, found = "", {}
    for number, ((name, where), body) in enumerate(_bodies().items()):
        for cluster in _CLUSTERS:
            text += _SOURCE.format(
                number=number, cluster=cluster, body=body, pair=int(name in ("async", "arrive")),
                first="threadIdx.x * 747796405u + rank" if name == "counts" else 0,
            )  # fmt: skip
            found[f"neighbour_{number}_{cluster}"] = name, where, cluster
    return text, found


def measure_neighbours(device: int = 0) -> list[dict[str, Any]]:
    """Return a row per loop, cluster, blocks and warps: cycles of a turn, or of one way."""
    chip = open_gpu(device)
    import cupy

    rows = []
    source, names = neighbours_source()
    with cupy.cuda.Device(device), TemporaryDirectory() as folder:
        sink = cupy.zeros(1, dtype=np.uint32)
        path = Path(folder, "neighbours.cubin")
        path.write_bytes(compiled(source, Path(folder)))
        module = cupy.RawModule(path=str(path))
        for kernel, (name, where, cluster) in names.items():
            is_chain = name in ("load", "atom", "async", "arrive")
            for blocks in (cluster, chip.multiprocessors // 8 * 8):
                for warps in (1,) if is_chain else _WARPS:
                    when = cupy.zeros(blocks, dtype=np.int64)
                    least = float("inf")
                    for _ in range(3):
                        module.get_function(kernel)(
                            (blocks,), (32 * warps,), (when, sink, np.int32(_TURNS + 2))
                        )
                        taken = when.get()
                        if name in ("async", "arrive"):
                            taken = taken.reshape(-1, cluster)[:, 0]
                        least = min(least, float(np.median(taken)))
                    ways = 2 if name in ("async", "arrive") else 1
                    rows.append(
                        {"what": name, "where": where, "cluster": cluster, "blocks": blocks,
                         "warps": warps, "cycles": round(least / _TURNS / ways, 2)}
                    )  # fmt: skip
    return rows
