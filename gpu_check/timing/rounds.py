"""How long SMs wait that read for a while and then compute, all of them, round after round.

All SMs begin in step, and then each gets its share of what the L2 or DRAM gives. SMs that are a
little ahead read while the others do not yet, and gain more. So SMs come apart. In the end each
reads as fast as one alone does, if all together do not ask for more than there is.

A block of 256 threads reads `size` bytes and waits for them. Then it computes for `work` turns of
four multiply-adds, and begins again. Each SM has so many `blocks`. `way`: by copies of 16 bytes per
lane (`copies`), by loads of as much (`loads`), by one bulk copy (`tiles`); or it stores them
(`stores`), and waits for nothing. `place`: where they come from, `l2` or `dram`. `cycles`: until
so many `rounds` have passed, mean of the blocks, the median of five launches; `sms`: so many work.
"""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpu_check.device import open_gpu

__all__ = ["RoundsRunner", "measure_rounds", "room_of", "rounds_source", "wrap_of"]

_SIZES = (8192, 16384, 32768, 65536)
_WORK = (0, 64, 256)
_BLOCKS = (1, 2, 4)
_ROUNDS = (1, 2, 4, 8, 16, 32, 64)
_REPEATS = 5
_HELD = 128 << 10
"""Bytes of a block that the L2 holds, and L1 does not: it begins anew behind them."""
_OTHER = 32 << 20
"""Words of other data, more than the L2 holds."""
_SHARED = 220_000
"""Bytes of an SM for all its blocks."""
_MOST_LOADS = 32768
"""Bytes of a round that 256 threads hold in registers."""
_FRAME = """
extern "C" __global__ void __launch_bounds__(256) {way}_{size}(
    char* data, int* when, float* sink, int work, int rounds, int wrap) {{
    extern __shared__ __align__(128) char held[];
    __shared__ __align__(8) unsigned long long phase;
    const unsigned to = (unsigned)__cvta_generic_to_shared(held);
    const unsigned bar = (unsigned)__cvta_generic_to_shared(&phase);
    const unsigned lane = 16 * threadIdx.x;
    float x = threadIdx.x, y = 1.0f + sink[0];
    if (threadIdx.x == 0)
        asm volatile("mbarrier.init.shared.b64 [%0], 1;" :: "r"(bar) : "memory");
    __syncthreads();
    const int begun = (int)clock();
    #pragma unroll 1
    for (int round = 0; round < rounds; ++round) {{
        char* const from = data + ((long long)(round % wrap) * gridDim.x + blockIdx.x) * {size};
        {body}
        __syncthreads();
        #pragma unroll 1
        for (int turn = 0; turn < work; ++turn)
            for (int i = 0; i < 4; ++i) x = x * y + 1.0f;
        __syncthreads();
        if ((round & round + 1) == 0 && threadIdx.x == 0)
            when[32 * blockIdx.x + __popc(round)] = (int)clock() - begun;
    }}
    if (threadIdx.x == 0) asm volatile("mov.u32 %0, %%smid;" : "=r"(when[32 * blockIdx.x + 31]));
    if (x == 12345.0f) sink[1] = x;
}}
"""
_BODIES = {
    "copies": """
        #pragma unroll
        for (int i = 0; i < {size} / 4096; ++i)
            asm volatile("cp.async.cg.shared.global [%0], [%1], 16;"
                :: "r"(to + lane + 4096 * i), "l"(from + lane + 4096 * i) : "memory");
        asm volatile("cp.async.wait_all;" ::: "memory");""",
    "loads": """
        uint4 read[{size} / 4096];
        #pragma unroll
        for (int i = 0; i < {size} / 4096; ++i) read[i] = *(const uint4*)(from + lane + 4096 * i);
        #pragma unroll
        for (int i = 0; i < {size} / 4096; ++i)
            x += __uint_as_float((read[i].x ^ read[i].y ^ read[i].z ^ read[i].w) & 0x3fffff);""",
    "tiles": """
        if (threadIdx.x == 0) {{
            asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;"
                :: "r"(bar), "r"({size}) : "memory");
            asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes "
                "[%0], [%1], %2, [%3];" :: "r"(to), "l"(from), "r"({size}), "r"(bar) : "memory");
        }}
        for (unsigned done = 0; !done;)
            asm volatile("{{.reg .pred p; mbarrier.try_wait.parity.shared.b64 p, [%1], %2; "
                "selp.u32 %0, 1, 0, p;}}" : "=r"(done) : "r"(bar), "r"(round & 1) : "memory");""",
    "stores": """
        #pragma unroll
        for (int i = 0; i < {size} / 4096; ++i)
            *(uint4*)(from + lane + 4096 * i) = make_uint4(round, lane, i, 1);""",
}  # fmt: skip


def rounds_source(way: str, size: int) -> str:
    """Return the source of one kernel, `{way}_{size}`."""
    return _FRAME.format(way=way, size=size, body=_BODIES[way].format(size=size))


def room_of(blocks: int) -> int:
    """Return bytes of shared memory of a block so that no more blocks fit an SM."""
    return _SHARED // blocks - 2048


def wrap_of(place: str, size: int, blocks: int, rounds: int) -> int:
    """Return after how many rounds a block begins anew: never, where DRAM is to be asked."""
    return rounds if place == "dram" else max(_HELD // size // blocks, 1)


class RoundsRunner:
    """Launches the kernels of rounds, with arrays for so many SMs, rounds and bytes of a round.

    The device is the current one.
    """

    def __init__(self, sms: int, rounds: int, size: int) -> None:
        import cupy

        self.data = cupy.zeros(rounds * sms * size, dtype=np.uint8)
        self.other = cupy.zeros(_OTHER, dtype=np.float32)
        self.sink = cupy.zeros(2, dtype=np.float32)

    def kernel(self, way: str, size: int) -> Any:
        """Return one kernel, compiled."""
        import cupy

        kernel = cupy.RawModule(code=rounds_source(way, size)).get_function(f"{way}_{size}")
        kernel.max_dynamic_shared_size_bytes = _SHARED
        return kernel

    def run(
        self, kernel: Any, place: str, size: int, used: int, blocks: int, work: int, rounds: int
    ) -> NDArray[np.int32]:
        """Launch a kernel, and return what it noted, shape (blocks of all SMs, columns).

        By rounds: the bits of their number say the column. The last one has the block's SM.

        Parameters
        ----------
        kernel, size
            As `kernel` has it.
        place, work, rounds
            Those of the module.
        used, blocks
            SMs, and blocks of one.
        """
        import cupy

        when = cupy.zeros((used * blocks, 32), dtype=np.int32)
        wrap = wrap_of(place, size, blocks, rounds)
        args = (self.data, when, self.sink, *map(np.int32, (work, rounds, wrap)))
        if place == "dram":
            self.other.sum()  # the L2 holds nothing of the data
        kernel((used * blocks,), (256,), args, shared_mem=room_of(blocks))
        found: NDArray[np.int32] = when.get()
        return found


def measure_rounds(device: int = 0) -> list[dict[str, Any]]:
    """Return a row per way, size, place, SMs, blocks of one, work, and rounds that have passed."""
    sms = open_gpu(device).multiprocessors
    import cupy

    rows = []
    with cupy.cuda.Device(device):
        runner = RoundsRunner(sms, _ROUNDS[-1], _SIZES[-1])
        for way, size in product(_BODIES, _SIZES):
            if way == "loads" and size > _MOST_LOADS:
                continue
            kernel = runner.kernel(way, size)
            for place, blocks, work, used in product(("l2", "dram"), _BLOCKS, _WORK, (1, sms)):
                most = _ROUNDS[-1] // blocks
                if room_of(blocks) < size or (used == 1 and (blocks > 1 or work > 0)):
                    continue
                launch = (kernel, place, size, used, blocks, work, most)
                found = [runner.run(*launch).mean(axis=0) for _ in range(_REPEATS)]
                cycles = np.median(found, axis=0)
                rows += [
                    {"way": way, "place": place, "size": size, "sms": used, "blocks": blocks,
                     "work": work, "rounds": rounds,
                     "cycles": round(float(cycles[rounds.bit_length() - 1]))}
                    for rounds in _ROUNDS if rounds <= most
                ]  # fmt: skip
    return rows
