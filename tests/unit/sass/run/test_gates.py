"""What an mbarrier orders across blocks of a cluster, and tiles that another block reads."""

from __future__ import annotations

import re

import numpy as np
import pytest

from simulator import TensorMap
from tests.hopper_kernels import HEADER, SOURCES
from tests.sass_kernels import needs_compiler
from tests.variants import Variants

pytestmark = needs_compiler

KERNEL = """__global__ void __cluster_dims__(2, 1, 1)
k(const __grid_constant__ TensorMap map, u32 *out) {
    __shared__ alignas(128) u32 tile[128];
    __shared__ u32 mine[128];
    __shared__ alignas(8) u64 bar, other, third, many[80];
    u32 t = threadIdx.x, rank = cluster_rank(), v = 0;
    if (t == 0) {
        barrier_init(&bar, 1); barrier_init(&other, 1); barrier_init(&third, 1);
        barriers_are_visible();
    }
    cluster_sync();
    BODY
    cluster_sync();
    out[t] = v;
}"""

READ = (
    'asm volatile("ld.shared::cluster.u32 %0, [%1];" : "=r"(v) :'
    ' "r"(address_at({} + t, {})) : "memory");\n'
)
BRING = "if (t == 0) { arrive_and_expect(&bar, 512); load_tile(tile, &map, &bar, 0, 0); }\n"
BRING_ALL = (
    "if (t == 0) arrive_and_expect(&bar, 512);\ncluster_sync();\n"
    "if (rank == 0 && t == 0) load_tile_for(tile, &map, &bar, 0, 0, 3);\n"
)
ALONE = "if (t == 0) arrive(&{0});\nwait(&{0}, 0);\n"
TELL = (
    'asm volatile("mbarrier.arrive.{}.shared::cluster.b64 _, [%0];" ::'
    ' "r"(address_at(&{}, rank ^ 1)) : "memory");\n'
)
RELEASE, RELAXED, BLOCK = "release.cluster", "relaxed.cluster", "release.cta"


def tell(how: str, barrier: str = "bar", before: str = "__syncthreads();\n") -> str:
    return before + "if (t == 0) " + TELL.format(how, barrier)


def stored(first: int, how: str, waits: str, barrier: str = "bar") -> str:
    """One block stores and arrives at the other's mbarrier; the other waits, and reads there."""
    return (
        f"if (rank == {first}) {{ mine[t] = t; {tell(how, barrier)} }}\n"
        f"else {{ {waits}{READ.format('mine', first)} }}\n"
    )


def tiled(between: str, reads: str = READ.format("tile", 0)) -> str:
    """Block 0 brings a tile, and block 1 reads it."""
    return f"if (rank == 0) {{ {BRING} }}\n{between}if (rank == 1) {{ {reads} }}\n"


WAIT = "wait(&bar, 0);\n"
LATE = "".join(f"if (t == 0) arrive(&third);\nwait(&third, {turn & 1});\n" for turn in range(4))
WAITED = "if (rank == 0) { wait(&bar, 0); }\n"
HANDED = WAITED[:-2] + tell(RELEASE, "other") + "} else { wait(&other, 0); }\n"

MANY = """for (int i = 0; i < 80; ++i) {
    if (t == 0) { barrier_init(&many[i], 1); arrive(&many[i]); wait(&many[i], 0); }
}
__syncthreads();
"""

ORDERED = (
    stored(0, RELEASE, WAIT),
    stored(1, RELEASE, WAIT),
    stored(0, RELEASE, LATE + WAIT),
    tiled(WAITED + "cluster_sync();\n"),
    tiled(HANDED),
    BRING_ALL + WAIT + "v = tile[t];\n",
)

UNORDERED = (
    # The wait is for another mbarrier, whoever of the two blocks runs first here.
    (stored(0, RELEASE, ALONE.format("other")), "no barrier between"),
    (stored(1, RELEASE, ALONE.format("other")), "no barrier between"),
    (stored(0, RELEASE, LATE), "no barrier between"),
    # Behind 160 other mbarriers.
    (MANY + stored(1, RELEASE, LATE), "no barrier between"),
    # An arrival that releases nothing to another block.
    (stored(0, RELAXED, WAIT), r"LD\.E\).* loads what .*STS\).* stores to"),
    (stored(0, BLOCK, WAIT), r"LD\.E\).* loads what .*STS\).* stores to"),
    (stored(1, BLOCK, WAIT), r"LD\.E\).* loads what .*STS\).* stores to"),
    # A tile of the other block that nobody has waited for.
    (tiled(""), r"warp \d of block 1 of the cluster, reads what .*UTMALDG\.2D\) brings to block 0"),
    (tiled("cluster_sync();\n"), r"LD\.E\), warp \d of block 1 .* and nothing orders the two"),
    (tiled(ALONE.format("other")), r"and nothing orders the two \(next: wait for the copy's"),
    # It was waited for, and whoever reads does not know.
    (tiled(WAITED), "reads what .* brings to block 0"),
    (tiled(HANDED.replace(RELEASE, BLOCK)), "reads what .* brings to block 0"),
    # Its own part of what goes to all blocks.
    (BRING_ALL + "v = tile[t];\n", r"LDS .*in block .* reads what .*MULTICAST.* mbarrier"),
)


def text(body: str) -> str:
    return KERNEL.replace("BODY", body)


VARIANTS = Variants(
    "k", map(text, (*ORDERED, *(body for body, _ in UNORDERED))), before=HEADER, include=[SOURCES]
)


def notes(body: str) -> list[str]:
    args = [TensorMap(np.arange(128, dtype=np.uint32).reshape(4, 32), (4, 32)), np.zeros(128, "u4")]
    report = VARIANTS.ran(text(body), args, grid=2, blocks="all")
    words = ("depends on timing", "may not hold on the chip")
    return [each for each in report.notes if any(word in each for word in words)]


@pytest.mark.parametrize("body", ORDERED)
def test_what_an_mbarrier_orders_is_not_told(body: str) -> None:
    assert notes(body) == []


@pytest.mark.parametrize(("body", "said"), UNORDERED)
def test_what_no_mbarrier_orders_is_told(body: str, said: str) -> None:
    found = notes(body)
    # Where nobody waits for a tile, it may come after its block has ended, too.
    late = [note for note in found if "when its block ends, since no warp waited" in note]
    assert len(late) <= ("load_tile" in body and WAIT not in body)
    (other,) = [note for note in found if note not in late]
    assert re.search(said, other)
