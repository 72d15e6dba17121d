// Attention by groups of four warps, and what else TMA brings: rows by index, planes of a volume.
#define GROUPS_OF_WARPS
#include "common.cuh"

extern __shared__ __align__(1024) u8 memory[];
#define MAP const __grid_constant__ TensorMap
#define KERNEL(THREADS) extern "C" __global__ void __launch_bounds__(THREADS)

// A tile of 128 rows of 64 halves, by boxes of S bytes.
template <int S> __device__ __forceinline__ void load_rows(u8 *to, const TensorMap *map, u64 *barrier, int row) {
    arrive_and_expect(barrier, 16384);
    #pragma unroll
    for (int s = 0; s < 128 / S; ++s) load_tile(to + s * 128 * S, map, barrier, s * S / 2, row);
}
// Sixteen keys of values whose rows lie along n.
template <int S> __device__ __forceinline__ u64 values(const u8 *tile, int step) {
    return matrix(tile + step * 16 * S, 128 * S, 8 * S, S == 128 ? 1 : 2);
}

// ---- 128 queries of a head of 64: two groups of 64 and one that loads; tiles of 128 keys, two stages; the groups take turns at the tensor cores,
// the next scores go with the last values. Results leave by TMA, and logarithms of the sums beside them. ----
template <int S, bool CAUSAL>
__device__ __forceinline__ void attend(const TensorMap *q, const TensorMap *k, const TensorMap *v, const TensorMap *out, float *logs, int length, float scale) {
    constexpr int STAGES = 2;
    __shared__ alignas(8) u64 asked, full_k[STAGES], full_v[STAGES], empty_k[STAGES], empty_v[STAGES];
    const int group = threadIdx.x / 128, lane = threadIdx.x % 32, warp = threadIdx.x / 32 % 4;
    const int own = CAUSAL ? (int)gridDim.x - 1 - (int)blockIdx.x : (int)blockIdx.x;  // the longest first
    const int first = blockIdx.y * length, tiles = CAUSAL ? own + 1 : length / 128;
    u8 *keys = memory + 16384, *vals = keys + STAGES * 16384;
    if (threadIdx.x == 0) {
        barrier_init(&asked, 1);
        for (int i = 0; i < STAGES; ++i) {
            barrier_init(full_k + i, 1);
            barrier_init(full_v + i, 1);
            barrier_init(empty_k + i, 2);
            barrier_init(empty_v + i, 2);
        }
        barriers_are_visible();
    }
    __syncthreads();
    if (group == 2) {
        give_registers<40>();
        if (threadIdx.x == 256) {
            load_rows<S>(memory, q, &asked, first + own * 128);
            for (int i = 0; i < tiles; ++i) {
                wait(&empty_k[i % STAGES], i / STAGES + 1 & 1);
                load_rows<S>(keys + i % STAGES * 16384, k, &full_k[i % STAGES], first + i * 128);
                wait(&empty_v[i % STAGES], i / STAGES + 1 & 1);
                load_rows<S>(vals + i % STAGES * 16384, v, &full_v[i % STAGES], first + i * 128);
            }
        }
        return;
    }
    take_registers<232>();
    float scores[64], sums[32] = {}, most[2] = {-INFINITY, -INFINITY}, total[2] = {};
    const auto ask = [&](int tile) {
        wait(&full_k[tile % STAGES], tile / STAGES & 1);
        products_begin();
        #pragma unroll
        for (int step = 0; step < 4; ++step)
            multiply(Half(), scores, operand<128, S>(memory, group * 64, step), operand<128, S>(keys + tile % STAGES * 16384, 0, step), step > 0);
        products_end();
    };
    const auto turn = [&] { asm volatile("bar.sync %0, 256;" ::"r"(group + 3) : "memory"); };
    const auto pass = [&] { asm volatile("bar.arrive %0, 256;" ::"r"(4 - group) : "memory"); };
    if (group == 1) pass();
    wait(&asked, 0);
    turn();
    ask(0);
    pass();
    products_wait<0>();
    if (threadIdx.x % 128 == 0) arrive(&empty_k[0]);
    for (int tile = 0; tile < tiles; ++tile) {
        if (CAUSAL && tile == tiles - 1) {
            #pragma unroll
            for (int j = 0; j < 64; ++j)
                if (j / 4 * 8 + lane % 4 * 2 + j % 2 > group * 64 + warp * 16 + lane / 4 + j / 2 % 2 * 8) scores[j] = -INFINITY;
        }
        u32 shares[8][4];
        #pragma unroll
        for (int h = 0; h < 2; ++h) {
            float top = most[h], sum = 0.0f;
            #pragma unroll
            for (int j = 2 * h; j < 64; j += 4) top = fmaxf(top, fmaxf(scores[j], scores[j + 1]));
            top = fmaxf(top, __shfl_xor_sync(ALL, top, 1));
            top = fmaxf(top, __shfl_xor_sync(ALL, top, 2));
            const float shrink = exp2f((most[h] - top) * scale), shift = top * scale;
            #pragma unroll
            for (int j = 2 * h; j < 64; j += 4) {
                scores[j] = exp2f(fmaf(scores[j], scale, -shift));
                scores[j + 1] = exp2f(fmaf(scores[j + 1], scale, -shift));
                sum += scores[j] + scores[j + 1];
            }
            most[h] = top;
            total[h] = fmaf(total[h], shrink, sum);
            #pragma unroll
            for (int j = 2 * h; j < 32; j += 4) sums[j] *= shrink, sums[j + 1] *= shrink;
        }
        #pragma unroll
        for (int j = 0; j < 32; ++j) shares[j / 4][j % 4] = halves(scores[2 * j], scores[2 * j + 1]);
        turn();
        const bool more = tile + 1 < tiles;
        if (more) ask(tile + 1);
        wait(&full_v[tile % STAGES], tile / STAGES & 1);
        products_begin();
        #pragma unroll
        for (int step = 0; step < 8; ++step) multiply_turned(sums, shares[step], values<S>(vals + tile % STAGES * 16384, step));
        products_end();
        if (group == 0 || more) pass();
        products_wait<1>();
        if (more && threadIdx.x % 128 == 0) arrive(&empty_k[(tile + 1) % STAGES]);
        products_wait<0>();
        if (threadIdx.x % 128 == 0) arrive(&empty_v[tile % STAGES]);
    }
    #pragma unroll
    for (int h = 0; h < 2; ++h) {
        total[h] += __shfl_xor_sync(ALL, total[h], 1);
        total[h] += __shfl_xor_sync(ALL, total[h], 2);
        if (lane % 4 == 0) logs[first + own * 128 + group * 64 + warp * 16 + lane / 4 + h * 8] = most[h] * scale * 0.69314718f + __logf(total[h]);
        total[h] = 1.0f / total[h];
    }
    const int at = 16384 * (1 + 2 * STAGES) + group * 8192;
    #pragma unroll
    for (int j = 0; j < 8; j += 2) {
        const float *s = sums + 4 * j;
        put_matrices(memory + at + place<SWIZZLED, 128>(warp * 16 + lane % 16, j + lane / 16), halves(s[0] * total[0], s[1] * total[0]),
                     halves(s[2] * total[1], s[3] * total[1]), halves(s[4] * total[0], s[5] * total[0]), halves(s[6] * total[1], s[7] * total[1]));
    }
    writes_are_visible();
    group_meets(group + 1);
    if (threadIdx.x % 128 == 0) {
        store_tile(out, memory + at, 0, first + own * 128 + group * 64);
        commit_copies();
        wait_for_copies();
    }
}
#define ATTEND(NAME, S, CAUSAL) \
    KERNEL(384) NAME(MAP q, MAP k, MAP v, MAP out, float *logs, int length, float scale) { attend<S, CAUSAL>(&q, &k, &v, &out, logs, length, scale); }
ATTEND(heads_in_turns_128, 128, false)
ATTEND(heads_in_turns_64, 64, false)
ATTEND(heads_causal, 128, true)

// ---- Bags of rows: a warp brings rows of 1024 halves by their indices, eight stages; four warps add them, weighted. -----------------------
KERNEL(160) rows_by_index(MAP table, const u32 *indices, const u32 *counts, const float *weights, __half *out, int bags, int most, u32 mask) {
    constexpr int STAGES = 8;
    __shared__ alignas(128) __half rows[STAGES][1024];
    __shared__ alignas(8) u64 full[STAGES], empty[STAGES];
    const int t = threadIdx.x;
    if (t == 0) {
        for (int i = 0; i < STAGES; ++i) {
            barrier_init(full + i, 1);
            barrier_init(empty + i, 4);
        }
        barriers_are_visible();
    }
    __syncthreads();
    int at = 0;
    for (int bag = blockIdx.x; bag < bags; bag += gridDim.x) {
        const int count = 1 + (int)(counts[bag] % (u32)most);
        if (t >= 128) {
            for (int i = 0; i < count; ++i, ++at)
                if (t == 128) {
                    const int row = (int)(__ldg(indices + (size_t)bag * most + i) & mask);
                    wait(&empty[at % STAGES], at / STAGES + 1 & 1);
                    arrive_and_expect(&full[at % STAGES], 2048);
                    #pragma unroll
                    for (int part = 0; part < 4; ++part) load_tile(rows[at % STAGES] + part * 256, &table, &full[at % STAGES], part * 256, row);
                }
        } else {
            float sums[8] = {};
            for (int i = 0; i < count; ++i, ++at) {
                const float weight = __ldg(weights + (size_t)bag * most + i);
                wait(&full[at % STAGES], at / STAGES & 1);
                const uint4 v = *(const uint4 *)(rows[at % STAGES] + t * 8);
                __syncwarp();
                if (t % 32 == 0) arrive(&empty[at % STAGES]);
                const u32 words[4] = {v.x, v.y, v.z, v.w};
                #pragma unroll
                for (int j = 0; j < 4; ++j) {
                    const float2 two = __half22float2(*(const __half2 *)&words[j]);
                    sums[2 * j] = fmaf(weight, two.x, sums[2 * j]);
                    sums[2 * j + 1] = fmaf(weight, two.y, sums[2 * j + 1]);
                }
            }
            *(uint4 *)(out + (size_t)bag * 1024 + t * 8) =
                make_uint4(halves(sums[0], sums[1]), halves(sums[2], sums[3]), halves(sums[4], sums[5]), halves(sums[6], sums[7]));
        }
    }
}

// ---- A wave's step, thirteen points: planes of 12 x 40 come one after another to a ring of seven, the next is on its way while one is read. ----
KERNEL(256) planes_by_turns(MAP volume, const float *before, float *out, int width, int height, int depth, int each, float speed) {
    constexpr int RING = 7;
    __shared__ alignas(128) float planes[RING][512];  // 12 x 40 are used
    __shared__ alignas(8) u64 full[RING];
    const int t = threadIdx.x, x = t % 32, y = t / 32, first = blockIdx.z * each, last = min(first + each, depth);
    const auto fetch = [&](int z) {  // planes before the first, too
        const int slot = (z + RING) % RING;
        arrive_and_expect(&full[slot], 12 * 40 * 4);
        load_block(planes[slot], &volume, &full[slot], (int)blockIdx.x * 32 - 4, (int)blockIdx.y * 8 - 2, z);
    };
    if (t == 0) {
        for (int i = 0; i < RING; ++i) barrier_init(full + i, 1);
        barriers_are_visible();
        for (int z = first - 2; z < first + 3; ++z) fetch(z);
    }
    __syncthreads();
    const auto seen = [&](int z) { wait(&full[(z + RING) % RING], (z - first + 2) / RING & 1); };
    for (int z = first - 2; z < first + 2; ++z) seen(z);
    for (int z = first; z < last; ++z) {
        if (t == 0 && z + 1 < last) fetch(z + 3);
        seen(z + 2);
        const int at = (y + 2) * 40 + x + 4;
        const auto plane = [&](int d) { return planes[(z + d + RING) % RING] + at; };
        const float *p = plane(0);
        const float near = p[1] + p[-1] + p[40] + p[-40] + plane(1)[0] + plane(-1)[0], far = p[2] + p[-2] + p[80] + p[-80] + plane(2)[0] + plane(-2)[0];
        const int column = blockIdx.x * 32 + x, line = blockIdx.y * 8 + y;
        if (column < width && line < height) {
            const size_t to = ((size_t)z * height + line) * width + column;
            out[to] = 2.0f * p[0] - before[to] + speed * (-7.5f * p[0] + 1.3333333f * near - 0.083333333f * far);
        }
        __syncthreads();
    }
}
