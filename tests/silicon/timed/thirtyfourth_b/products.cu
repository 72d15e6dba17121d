// Products by groups of four warps, whose tiles TMA brings to rings of stages: two groups in turns, together, of bytes, with scales, few tokens, experts, clusters.
#define GROUPS_OF_WARPS
#include "common.cuh"

extern __shared__ __align__(1024) u8 memory[];
#define MAP const __grid_constant__ TensorMap
#define KERNEL(THREADS) extern "C" __global__ void __launch_bounds__(THREADS)

template <int STAGES> __device__ __forceinline__ void begin_barriers(u64 *full, u64 *empty, int arrivals) {
    if (threadIdx.x == 0) {
        for (int i = 0; i < STAGES; ++i) {
            barrier_init(full + i, 1);
            barrier_init(empty + i, arrivals);
        }
        barriers_are_visible();
    }
}

// A and B of one stage, M and N rows of 128 bytes, by boxes of S bytes.
template <int M, int N, int S, int SIZE> __device__ __forceinline__ void load_stage(u8 *stage, const TensorMap *a, const TensorMap *b, u64 *barrier, int k, int y, int x) {
    arrive_and_expect(barrier, (M + N) * 128);
    #pragma unroll
    for (int s = 0; s < 128 / S; ++s) {
        load_tile(stage + s * M * S, a, barrier, k + s * (S / SIZE), y);
        load_tile(stage + M * 128 + s * N * S, b, barrier, k + s * (S / SIZE), x);
    }
}

// What four steps of 32 bytes add to 64 rows of a group.
template <class Kind, int M, int N, int S, class Sum, int COUNT> __device__ __forceinline__ void stage_product(Sum (&sums)[COUNT], const u8 *stage, int first, bool add) {
    products_begin();
    #pragma unroll
    for (int step = 0; step < 4; ++step)
        multiply(Kind(), sums, operand<M, S>(stage, first, step), operand<N, S>(stage + M * 128, 0, step), add || step > 0);
    products_end();
}

// ---- Two groups in turns: while one multiplies, the other stores its tile of 64 x 128. As many blocks as SMs, each takes tile after tile. ----
template <int S> __device__ __forceinline__ void in_turns(const TensorMap *a, const TensorMap *b, const TensorMap *out, int across, int tiles, int steps) {
    constexpr int STAGES = 4, SIZE = (64 + 128) * 128;
    __shared__ alignas(8) u64 full[STAGES], empty[STAGES], turn[2];
    const int group = threadIdx.x / 128, lane = threadIdx.x % 32, warp = threadIdx.x / 32 % 4;
    begin_barriers<STAGES>(full, empty, 1);
    if (threadIdx.x == 0) {
        barrier_init(turn, 1);
        barrier_init(turn + 1, 1);
        barriers_are_visible();
    }
    __syncthreads();
    if (group == 2) {
        give_registers<40>();
        if (threadIdx.x == 256) {
            prefetch_map(a);
            prefetch_map(b);
            int at = 0;
            for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x)
                for (int i = 0; i < steps; ++i, ++at) {
                    wait(&empty[at % STAGES], at / STAGES + 1 & 1);
                    load_stage<64, 128, S, 2>(memory + at % STAGES * SIZE, a, b, &full[at % STAGES], i * 64, tile / across * 64, tile % across * 128);
                }
        }
    } else {
        take_registers<232>();
        u8 *staged = memory + STAGES * SIZE + group * 16384;
        int at = group * steps, round = 0;
        for (int tile = blockIdx.x + group * gridDim.x; tile < tiles; tile += 2 * gridDim.x, at += steps, ++round) {
            float sums[64];
            wait(&turn[group], (group == 0 ? round + 1 : round) & 1);
            for (int i = 0; i < steps; ++i, ++at) {
                wait(&full[at % STAGES], at / STAGES & 1);
                stage_product<Brain, 64, 128, S>(sums, memory + at % STAGES * SIZE, 0, i > 0);
                products_wait<1>();
                if (i > 0 && threadIdx.x % 128 == 0) arrive(&empty[(at - 1) % STAGES]);
            }
            if (threadIdx.x % 128 == 0) arrive(&turn[1 - group]);
            products_wait<0>();
            if (threadIdx.x % 128 == 0) {
                arrive(&empty[(at - 1) % STAGES]);
                wait_for_reads();
            }
            group_meets(group + 1);
            #pragma unroll
            for (int j = 0; j < 16; j += 2) {
                const float *s = sums + 4 * j;
                put_matrices(staged + j / 8 * 8192 + place<SWIZZLED, 128>(warp * 16 + lane % 16, j % 8 + lane / 16), brains(s[0], s[1]), brains(s[2], s[3]),
                             brains(s[4], s[5]), brains(s[6], s[7]));
            }
            writes_are_visible();
            group_meets(group + 1);
            if (threadIdx.x % 128 == 0) {
                store_tile(out, staged, tile % across * 128, tile / across * 64);
                store_tile(out, staged + 8192, tile % across * 128 + 64, tile / across * 64);
                commit_copies();
            }
        }
        if (threadIdx.x % 128 == 0) wait_for_copies();
    }
}
#define IN_TURNS(S) \
    KERNEL(384) groups_in_turns_##S(MAP a, MAP b, MAP out, int across, int tiles, int steps) { in_turns<S>(&a, &b, &out, across, tiles, steps); }
IN_TURNS(128)
IN_TURNS(64)
IN_TURNS(32)

// ---- Two groups together, 128 x 128: signed bytes, whose sums rows and columns scale; rows past the end are not stored. -------------------
template <int S> __device__ __forceinline__ void scaled_bytes(const TensorMap *a, const TensorMap *b, const float *rows, const float *columns, __nv_bfloat16 *c, int m, int n, int steps) {
    constexpr int STAGES = 4, SIZE = 256 * 128;
    __shared__ alignas(8) u64 full[STAGES], empty[STAGES];
    const int group = threadIdx.x / 128, lane = threadIdx.x % 32, warp = threadIdx.x / 32 % 4;
    begin_barriers<STAGES>(full, empty, 2);
    __syncthreads();
    if (group == 2) {
        give_registers<40>();
        if (threadIdx.x == 256)
            for (int i = 0; i < steps; ++i) {
                wait(&empty[i % STAGES], i / STAGES + 1 & 1);
                load_stage<128, 128, S, 1>(memory + i % STAGES * SIZE, a, b, &full[i % STAGES], i * 128, blockIdx.y * 128, blockIdx.x * 128);
            }
        return;
    }
    take_registers<232>();
    int sums[64];
    for (int i = 0; i < steps; ++i) {
        wait(&full[i % STAGES], i / STAGES & 1);
        stage_product<Byte, 128, 128, S>(sums, memory + i % STAGES * SIZE, group * 64, i > 0);
        products_wait<1>();
        if (i > 0 && threadIdx.x % 128 == 0) arrive(&empty[(i - 1) % STAGES]);
    }
    products_wait<0>();
    const int first = blockIdx.y * 128 + group * 64 + warp * 16 + lane / 4;
    #pragma unroll
    for (int h = 0; h < 2; ++h) {
        const int row = first + h * 8;
        if (row >= m) break;
        const float own = rows[row];
        #pragma unroll
        for (int j = 0; j < 16; ++j) {
            const int column = blockIdx.x * 128 + j * 8 + lane % 4 * 2;
            const float2 two = *(const float2 *)(columns + column);
            *(u32 *)(c + (size_t)row * n + column) = brains((float)sums[4 * j + 2 * h] * own * two.x, (float)sums[4 * j + 2 * h + 1] * own * two.y);
        }
    }
}
#define SCALED_BYTES(S) \
    KERNEL(384) bytes_together_##S(MAP a, MAP b, const float *rows, const float *columns, __nv_bfloat16 *c, int m, int n, int steps) { scaled_bytes<S>(&a, &b, rows, columns, c, m, n, steps); }
SCALED_BYTES(128)
SCALED_BYTES(32)

// ---- Floats of eight bits: each 128 along k have scales of their own, by rows of A and by blocks of B; sums leave the tensor cores for them. ----
KERNEL(384) eights_with_scales(MAP a, MAP b, const float *rows, const float *blocks, __nv_bfloat16 *c, int m, int n, int steps) {
    constexpr int STAGES = 5, SIZE = 256 * 128;
    __shared__ alignas(8) u64 full[STAGES], empty[STAGES];
    __shared__ float scales[64];
    const int group = threadIdx.x / 128, lane = threadIdx.x % 32, warp = threadIdx.x / 32 % 4;
    begin_barriers<STAGES>(full, empty, 2);
    for (int i = threadIdx.x; i < steps && i < 64; i += 384) scales[i] = blocks[blockIdx.x * steps + i];
    __syncthreads();
    if (group == 2) {
        give_registers<40>();
        if (threadIdx.x == 256)
            for (int i = 0; i < steps; ++i) {
                wait(&empty[i % STAGES], i / STAGES + 1 & 1);
                load_stage<128, 128, 128, 1>(memory + i % STAGES * SIZE, &a, &b, &full[i % STAGES], i * 128, blockIdx.y * 128, blockIdx.x * 128);
            }
        return;
    }
    take_registers<232>();
    const int first = blockIdx.y * 128 + group * 64 + warp * 16 + lane / 4;
    float sums[64] = {}, part[64];
    for (int i = 0; i < steps; ++i) {
        const float upper = __ldg(rows + (size_t)i * m + first) * scales[i & 63], lower = __ldg(rows + (size_t)i * m + first + 8) * scales[i & 63];
        wait(&full[i % STAGES], i / STAGES & 1);
        stage_product<Eight, 128, 128, 128>(part, memory + i % STAGES * SIZE, group * 64, false);
        products_wait<0>();
        if (threadIdx.x % 128 == 0) arrive(&empty[i % STAGES]);
        #pragma unroll
        for (int j = 0; j < 64; ++j) sums[j] = fmaf(part[j], j & 2 ? lower : upper, sums[j]);
    }
    #pragma unroll
    for (int j = 0; j < 16; ++j) {
        __nv_bfloat16 *to = c + (size_t)first * n + blockIdx.x * 128 + j * 8 + lane % 4 * 2;
        *(u32 *)to = brains(sums[4 * j], sums[4 * j + 1]);
        *(u32 *)(to + 8 * (size_t)n) = brains(sums[4 * j + 2], sums[4 * j + 3]);
    }
}

// ---- Few tokens: weights are the rows, tokens the sixteen columns of which fewer may be; parts along k lie apart. A warp loads. ------------
template <int S> __device__ __forceinline__ void tokens_decoded(const TensorMap *weights, const TensorMap *tokens, float *parts, int m, int count, int steps) {
    constexpr int STAGES = 5, SIZE = (128 + 16) * 128;
    __shared__ alignas(8) u64 full[STAGES], empty[STAGES];
    const int group = threadIdx.x / 128, lane = threadIdx.x % 32, warp = threadIdx.x / 32 % 4;
    const int begin = blockIdx.y * steps / gridDim.y, end = (blockIdx.y + 1) * steps / gridDim.y;
    begin_barriers<STAGES>(full, empty, 2);
    __syncthreads();
    if (group == 2) {
        if (elected())
            for (int i = 0; i < end - begin; ++i) {
                wait(&empty[i % STAGES], i / STAGES + 1 & 1);
                load_stage<128, 16, S, 2>(memory + i % STAGES * SIZE, weights, tokens, &full[i % STAGES], (begin + i) * 64, blockIdx.x * 128, 0);
            }
        return;
    }
    float sums[8];
    for (int i = 0; i < end - begin; ++i) {
        wait(&full[i % STAGES], i / STAGES & 1);
        stage_product<Half, 128, 16, S>(sums, memory + i % STAGES * SIZE, group * 64, i > 0);
        products_wait<0>();
        if (threadIdx.x % 128 == 0) arrive(&empty[i % STAGES]);
    }
    const int row = blockIdx.x * 128 + group * 64 + warp * 16 + lane / 4;
    #pragma unroll
    for (int j = 0; j < 8; ++j) {
        const int token = j / 4 * 8 + lane % 4 * 2 + j % 2;
        if (token < count) parts[((size_t)blockIdx.y * count + token) * m + row + j / 2 % 2 * 8] = sums[j];
    }
}
#define DECODED(S) \
    KERNEL(288) few_tokens_##S(MAP weights, MAP tokens, float *parts, int m, int count, int steps) { tokens_decoded<S>(&weights, &tokens, parts, m, count, steps); }
DECODED(128)
DECODED(64)

// ---- Clusters of two by two: half a tile of A goes to the two of a row, half a tile of B to the two of a column; a bias and no less than zero. ----
KERNEL(384) __cluster_dims__(2, 2, 1) rows_and_columns_shared(MAP a, MAP b, const float *bias, __half *c, int n, int steps) {
    constexpr int STAGES = 4, SIZE = 256 * 128;
    __shared__ alignas(8) u64 full[STAGES], empty[STAGES];
    const int group = threadIdx.x / 128, lane = threadIdx.x % 32, warp = threadIdx.x / 32 % 4, rank = cluster_rank(), x = rank & 1, y = rank >> 1;
    begin_barriers<STAGES>(full, empty, 2 * 3);
    cluster_sync();
    if (group == 2) {
        give_registers<40>();
        if (threadIdx.x == 256)
            for (int i = 0; i < steps; ++i) {
                u8 *stage = memory + i % STAGES * SIZE;
                wait(&empty[i % STAGES], i / STAGES + 1 & 1);
                arrive_and_expect(&full[i % STAGES], SIZE);
                load_tile_for(stage + x * 8192, &a, &full[i % STAGES], i * 64, blockIdx.y * 128 + x * 64, 3 << 2 * y);
                load_tile_for(stage + 16384 + y * 8192, &b, &full[i % STAGES], i * 64, blockIdx.x * 128 + y * 64, 5 << x);
            }
    } else {
        take_registers<232>();
        const int fellow = threadIdx.x % 128 == 0 ? rank : threadIdx.x % 128 == 1 ? rank ^ 1 : rank ^ 2;  // all whose tiles come here
        float sums[64];
        for (int i = 0; i < steps; ++i) {
            wait(&full[i % STAGES], i / STAGES & 1);
            stage_product<Half, 128, 128, 128>(sums, memory + i % STAGES * SIZE, group * 64, i > 0);
            products_wait<1>();
            if (i > 0 && threadIdx.x % 128 < 3) arrive_at(&empty[(i - 1) % STAGES], fellow);
        }
        products_wait<0>();
        if (threadIdx.x % 128 < 3) arrive_at(&empty[(steps - 1) % STAGES], fellow);
        const int row = blockIdx.y * 128 + group * 64 + warp * 16 + lane / 4;
        #pragma unroll
        for (int j = 0; j < 16; ++j) {
            const int column = blockIdx.x * 128 + j * 8 + lane % 4 * 2;
            const float2 two = __ldg((const float2 *)(bias + column));
            #pragma unroll
            for (int h = 0; h < 2; ++h)
                *(u32 *)(c + (size_t)(row + h * 8) * n + column) = halves(fmaxf(sums[4 * j + 2 * h] + two.x, 0.0f), fmaxf(sums[4 * j + 2 * h + 1] + two.y, 0.0f));
        }
    }
    __syncwarp();
    cluster_sync();
}

// ---- Experts: a matrix each, in a map of three axes; tokens lie in their expert's rows, as many as were routed; blocks past them end at once. ----
KERNEL(384) experts_mapped(MAP tokens, MAP experts, const u32 *routed, const float *gates, __half *out, int capacity, int n, int steps) {
    constexpr int STAGES = 3, SIZE = 256 * 128;
    __shared__ alignas(8) u64 full[STAGES], empty[STAGES];
    const int expert = blockIdx.z, count = 96 + (int)(routed[expert] % (u32)(capacity - 95)), first = blockIdx.y * 128;
    if (first >= count) return;
    const int group = threadIdx.x / 128, lane = threadIdx.x % 32, warp = threadIdx.x / 32 % 4;
    begin_barriers<STAGES>(full, empty, 2);
    __syncthreads();
    if (group == 2) {
        give_registers<40>();
        if (threadIdx.x == 256)
            for (int i = 0; i < steps; ++i) {
                u8 *stage = memory + i % STAGES * SIZE;
                wait(&empty[i % STAGES], i / STAGES + 1 & 1);
                arrive_and_expect(&full[i % STAGES], SIZE);
                load_tile(stage, &tokens, &full[i % STAGES], i * 64, expert * capacity + first);
                load_block(stage + 16384, &experts, &full[i % STAGES], i * 64, blockIdx.x * 128, expert);
            }
        return;
    }
    take_registers<232>();
    float sums[64];
    for (int i = 0; i < steps; ++i) {
        wait(&full[i % STAGES], i / STAGES & 1);
        stage_product<Half, 128, 128, 128>(sums, memory + i % STAGES * SIZE, group * 64, i > 0);
        products_wait<1>();
        if (i > 0 && threadIdx.x % 128 == 0) arrive(&empty[(i - 1) % STAGES]);
    }
    products_wait<0>();
    #pragma unroll
    for (int h = 0; h < 2; ++h) {
        const int row = first + group * 64 + warp * 16 + lane / 4 + h * 8;
        if (row < count) {
            const float gate = gates[expert * capacity + row];
            __half *to = out + (size_t)(expert * capacity + row) * n + blockIdx.x * 128 + lane % 4 * 2;
            #pragma unroll
            for (int j = 0; j < 16; ++j) *(u32 *)(to + j * 8) = halves(sums[4 * j + 2 * h] * gate, sums[4 * j + 2 * h + 1] * gate);
        }
    }
}
