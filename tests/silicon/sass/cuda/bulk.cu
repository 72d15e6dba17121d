// Bytes side by side: rows come into shared memory by bulk copies, two stages and a ring of
// mbarriers; sums of them go back by bulk copies and by reductions in global memory.
#include "hopper.cuh"

constexpr int WIDTH = 256, STAGES = 2;

// out[j] += the column's sum over this block's rows; last[block] is the block's last row, doubled.
extern "C" __global__ void __launch_bounds__(160)
    columns(const int *in, u32 *out, int *last, int rows) {
    __shared__ alignas(16) int stage[STAGES][WIDTH];
    __shared__ alignas(16) u32 sums[WIDTH];
    __shared__ alignas(8) u64 full[STAGES], empty[STAGES];
    const int warp = threadIdx.x / 32;
    if (threadIdx.x == 0) {
        for (int i = 0; i < STAGES; ++i) {
            barrier_init(&full[i], 1);
            barrier_init(&empty[i], 128);
        }
        barriers_are_visible();
    }
    __syncthreads();
    in += blockIdx.x * rows * WIDTH;
    if (warp == 4) {
        if (elected())
            for (int i = 0; i < rows; ++i) {
                wait(&empty[i % STAGES], i / STAGES + 1 & 1);
                arrive_and_expect(&full[i % STAGES], sizeof stage[0]);
                load_bulk(stage[i % STAGES], in + i * WIDTH, sizeof stage[0], &full[i % STAGES]);
            }
        return;
    }
    u32 mine[2] = {};
    for (int i = 0; i < rows; ++i) {
        wait(&full[i % STAGES], i / STAGES & 1);
        int2 two = *(int2 *)&stage[i % STAGES][2 * threadIdx.x];  // bytes 8 to a lane
        mine[0] += two.x;
        mine[1] += two.y;
        if (i == rows - 1) *(int2 *)&stage[i % STAGES][2 * threadIdx.x] = make_int2(2 * two.x,
                                                                                     2 * two.y);
        else
            arrive(&empty[i % STAGES]);
    }
    sums[threadIdx.x] = mine[0];  // columns 0, 2, 4, … first: the lanes side by side
    sums[128 + threadIdx.x] = mine[1];
    writes_are_visible();
    asm volatile("bar.sync 1, 128;" ::: "memory");
    if (threadIdx.x == 0) {
        add_bulk(out, sums, sizeof sums);
        store_bulk(last + blockIdx.x * WIDTH, stage[(rows - 1) % STAGES], sizeof stage[0]);
        commit_copies();
        wait_for_copies();
    }
}

// Adds tiles of 32 x 32 floats onto one tile: the blocks' tiles lie on one another.
extern "C" __global__ void __launch_bounds__(256)
    pile(const __grid_constant__ TensorMap from, const __grid_constant__ TensorMap onto) {
    __shared__ alignas(1024) float tile[32 * 32];
    __shared__ alignas(8) u64 full;
    if (threadIdx.x == 0) {
        barrier_init(&full, 1);
        barriers_are_visible();
        arrive_and_expect(&full, sizeof tile);
        load_tile(tile, &from, &full, 0, blockIdx.x * 32);
    }
    __syncthreads();
    wait(&full, 0);
    for (int i = threadIdx.x; i < 1024; i += 256) {
        int row = i % 32, column = i / 32;
        tile[row * 32 + (column ^ row % 8 * 4)] *= 2;  // through the swizzle of 128 bytes
    }
    writes_are_visible();
    __syncthreads();
    if (threadIdx.x == 0) {
        add_tile(&onto, tile, 0, 0);
        commit_copies();
        wait_for_copies();
    }
}
