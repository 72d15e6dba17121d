// Blocks that work together: tiles turned by way of neighbours' shared memory, waves whose ends go to neighbours, and warps that load, narrow and store.
#include "common.cuh"
#include <cooperative_groups.h>
#include <cuda_fp8.h>

namespace cg = cooperative_groups;
#define KERNEL(THREADS) extern "C" __global__ void __launch_bounds__(THREADS)

// ---- A tile of 128 x 128 turned by a cluster of four: each block brings 32 rows, and takes its 32 columns from all of the four. ------------
template <int P> __device__ __forceinline__ void turned_by_four(const float *in, float *out, int rows, int columns) {
    __shared__ float own[32 * P];
    cg::cluster_group cluster = cg::this_cluster();
    const int rank = cluster.block_rank(), lane = threadIdx.x % 32, warp = threadIdx.x / 32, y = blockIdx.y * 128, x = blockIdx.x / 4 * 128;
    #pragma unroll
    for (int i = warp; i < 32; i += 8)
        #pragma unroll
        for (int j = lane; j < 128; j += 32)
            if (y + rank * 32 + i < rows && x + j < columns) own[i * P + j] = in[(size_t)(y + rank * 32 + i) * columns + x + j];
    cluster.sync();
    #pragma unroll 1
    for (int from = 0; from < 4; ++from) {
        const float *theirs = cluster.map_shared_rank(own, (rank + from) % 4);  // not all from one at a time
        const int row = y + (rank + from) % 4 * 32 + lane;
        #pragma unroll
        for (int i = warp; i < 32; i += 8) {
            const int column = x + rank * 32 + i;
            if (row < rows && column < columns) out[(size_t)column * rows + row] = theirs[lane * P + rank * 32 + i];
        }
    }
    cluster.sync();
}
KERNEL(256) __cluster_dims__(4, 1, 1) cluster_turns_plain(const float *in, float *out, int rows, int columns) { turned_by_four<128>(in, out, rows, columns); }
KERNEL(256) __cluster_dims__(4, 1, 1) cluster_turns_padded(const float *in, float *out, int rows, int columns) { turned_by_four<129>(in, out, rows, columns); }

// ---- A wave on a string of eight blocks, many steps without leaving shared memory: ends are written to neighbours, then the cluster meets. --
KERNEL(256) __cluster_dims__(8, 1, 1) strings_of_blocks(const float *in, float *out, int steps, float speed) {
    constexpr int CELLS = 2048;
    __shared__ float levels[2][CELLS + 2];
    cg::cluster_group cluster = cg::this_cluster();
    const int t = threadIdx.x, rank = cluster.block_rank();
    in += (size_t)blockIdx.x * CELLS, out += (size_t)blockIdx.x * CELLS;
    for (int i = t; i < CELLS; i += 256) levels[0][i + 1] = levels[1][i + 1] = in[i];
    if (t < 4) levels[t / 2][t % 2 * (CELLS + 1)] = 0.0f;
    cluster.sync();
    if (t == 0 && rank > 0) cluster.map_shared_rank(&levels[0][0], rank - 1)[CELLS + 1] = levels[0][1];
    if (t == 255 && rank < 7) cluster.map_shared_rank(&levels[0][0], rank + 1)[0] = levels[0][CELLS];
    cluster.sync();
    for (int step = 0; step < steps; ++step) {
        const float *now = levels[step % 2] + 1;
        float *next = levels[1 - step % 2] + 1;  // what was before
        #pragma unroll
        for (int i = t; i < CELLS; i += 256) next[i] = fmaf(speed, now[i - 1] - 2.0f * now[i] + now[i + 1], 2.0f * now[i] - next[i]);
        if (t == 0 && rank > 0) cluster.map_shared_rank(&levels[1 - step % 2][0], rank - 1)[CELLS + 1] = next[0];
        if (t == 255 && rank < 7) cluster.map_shared_rank(&levels[1 - step % 2][0], rank + 1)[0] = next[CELLS - 1];
        cluster.sync();
    }
    for (int i = t; i < CELLS; i += 256) out[i] = levels[steps % 2][i + 1];
}

// ---- Bfloat16 to floats of eight bits, a scale for 128: a warp loads chunks of 4096, eight warps narrow, a warp stores; four and two stages. ----
KERNEL(320) loaded_narrowed_stored(const __nv_bfloat16 *in, u8 *out, float *scales, int chunks) {
    constexpr int STAGES = 4, OUTS = 2, CHUNK = 4096;
    __shared__ alignas(128) u8 given[STAGES][CHUNK * 2], made[OUTS][CHUNK];
    __shared__ alignas(8) u64 full[STAGES], empty[STAGES], ready[OUTS], stored[OUTS];
    const int t = threadIdx.x, warp = t / 32;
    if (t == 0) {
        for (int i = 0; i < STAGES; ++i) {
            barrier_init(full + i, 1);
            barrier_init(empty + i, 8);
        }
        for (int i = 0; i < OUTS; ++i) {
            barrier_init(ready + i, 8);
            barrier_init(stored + i, 1);
        }
        barriers_are_visible();
    }
    __syncthreads();
    if (warp == 8) {
        if (t % 32 == 0) {
            int at = 0;
            for (int chunk = blockIdx.x; chunk < chunks; chunk += gridDim.x, ++at) {
                wait(&empty[at % STAGES], at / STAGES + 1 & 1);
                arrive_and_expect(&full[at % STAGES], CHUNK * 2);
                load_bulk(given[at % STAGES], in + (size_t)chunk * CHUNK, CHUNK * 2, &full[at % STAGES]);
            }
        }
    } else if (warp == 9) {
        if (t % 32 == 0) {
            int at = 0;
            for (int chunk = blockIdx.x; chunk < chunks; chunk += gridDim.x, ++at) {
                wait(&ready[at % OUTS], at / OUTS & 1);
                store_bulk(out + (size_t)chunk * CHUNK, made[at % OUTS], CHUNK);
                commit_copies();
                wait_for_reads();
                arrive(&stored[at % OUTS]);
            }
            wait_for_copies();
        }
    } else {
        int at = 0;
        for (int chunk = blockIdx.x; chunk < chunks; chunk += gridDim.x, ++at) {
            wait(&full[at % STAGES], at / STAGES & 1);
            float v[16], most = 0.0f;
            #pragma unroll
            for (int h = 0; h < 2; ++h) {
                const uint4 eight = *(const uint4 *)(given[at % STAGES] + t * 32 + h * 16);
                const u32 words[4] = {eight.x, eight.y, eight.z, eight.w};
                #pragma unroll
                for (int j = 0; j < 4; ++j) {
                    const float2 two = __bfloat1622float2(*(const __nv_bfloat162 *)&words[j]);
                    v[h * 8 + 2 * j] = two.x, v[h * 8 + 2 * j + 1] = two.y;
                    most = fmaxf(most, fmaxf(fabsf(two.x), fabsf(two.y)));
                }
            }
            __syncwarp();
            if (t % 32 == 0) arrive(&empty[at % STAGES]);
            #pragma unroll
            for (int d = 1; d < 8; d *= 2) most = fmaxf(most, __shfl_xor_sync(ALL, most, d));
            const float scale = fmaxf(most, 1e-4f) / 448.0f, inverse = 1.0f / scale;
            u32 packed[4];
            #pragma unroll
            for (int j = 0; j < 4; ++j) {
                const u32 low = __nv_cvt_float2_to_fp8x2(make_float2(v[4 * j] * inverse, v[4 * j + 1] * inverse), __NV_SATFINITE, __NV_E4M3);
                const u32 high = __nv_cvt_float2_to_fp8x2(make_float2(v[4 * j + 2] * inverse, v[4 * j + 3] * inverse), __NV_SATFINITE, __NV_E4M3);
                packed[j] = low | high << 16;
            }
            wait(&stored[at % OUTS], at / OUTS + 1 & 1);
            *(uint4 *)(made[at % OUTS] + t * 16) = make_uint4(packed[0], packed[1], packed[2], packed[3]);
            if (t % 8 == 0) scales[(size_t)chunk * 32 + t / 8] = scale;
            writes_are_visible();
            __syncwarp();
            if (t % 32 == 0) arrive(&ready[at % OUTS]);
        }
    }
}
