// What servers of models run on the tensor cores of single warps: pages of caches, adapters of segments, problems of several sizes; and rows that scans smooth.
#include "common.cuh"
#include <cuda_runtime.h>

extern __shared__ __align__(128) u8 memory[];
#define KERNEL(THREADS) extern "C" __global__ void __launch_bounds__(THREADS)

// ---- One token's eight queries of a head of keys, by pages of sixteen: a warp takes every fourth page of its block's part, with a stage ahead;
// four warps meet at the end, and parts lie apart with their largest scores and sums. ----
template <int HOW>
__device__ __forceinline__ void paged(const __half *q, const __half *keys, const __half *values, const u32 *table, const u32 *lengths, float *out, float2 *sides, int most, u32 mask, float scale) {
    constexpr int PAGE = 16 * pitch<HOW>(256);
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, head = blockIdx.x, heads = gridDim.x, sequence = blockIdx.y;
    const int length = 256 + (int)(lengths[sequence] % (u32)(most * 16 - 255)), pages = (length + 15) / 16;
    const int begin = blockIdx.z * pages / gridDim.z, end = (blockIdx.z + 1) * pages / gridDim.z;
    u8 *own = memory + warp * 4 * PAGE;
    const auto load = [&](int page, int stage) {
        if (page < end) {
            const size_t from = ((size_t)(__ldg(table + sequence * most + page) & mask) * heads + head) * 2048 + lane % 16 * 8;
            #pragma unroll
            for (int i = 0; i < 8; ++i) {
                const int row = i * 2 + lane / 16;
                copy16(own + stage * 2 * PAGE + place<HOW, 256>(row, lane % 16), keys + from + row * 128);
                copy16(own + (stage * 2 + 1) * PAGE + place<HOW, 256>(row, lane % 16), values + from + row * 128);
            }
        }
        commit();
    };
    const __half *asked = q + ((size_t)(sequence * heads + head) * 8 + lane / 4) * 128 + lane % 4 * 2;
    u32 query[8][2];
    #pragma unroll
    for (int i = 0; i < 16; ++i) query[i / 2][i % 2] = *(const u32 *)(asked + i * 8);
    float sums[16][4] = {}, top = -INFINITY, total = 0.0f;
    load(begin + warp, 0);
    for (int page = begin + warp, stage = 0; page < end; page += 4, stage ^= 1) {
        load(page + 4, stage ^ 1);
        wait_groups<1>();
        __syncwarp();
        const u8 *k = own + stage * 2 * PAGE, *v = k + PAGE;
        float scores[2][4] = {};
        #pragma unroll
        for (int deep = 0; deep < 8; ++deep) {
            const u32 u[4] = {query[deep][0], 0, query[deep][1], 0};
            u32 w[4];
            matrices(w, k + place<HOW, 256>(lane / 16 * 8 + lane % 8, deep * 2 + lane / 8 % 2));
            product_half(scores[0], u, w[0], w[1]);
            product_half(scores[1], u, w[2], w[3]);
        }
        float next = top;
        #pragma unroll
        for (int j = 0; j < 4; ++j) {
            float &score = scores[j / 2][j % 2];
            score = page * 16 + j / 2 * 8 + lane % 4 * 2 + j % 2 < length ? score * scale : -INFINITY;
            next = fmaxf(next, score);
        }
        next = fmaxf(next, __shfl_xor_sync(ALL, next, 1));
        next = fmaxf(next, __shfl_xor_sync(ALL, next, 2));
        const float shrink = exp2f(top - next);
        total *= shrink, top = next;
        #pragma unroll
        for (int j = 0; j < 4; ++j) total += scores[j / 2][j % 2] = exp2f(scores[j / 2][j % 2] - top);
        const u32 shares[4] = {halves(scores[0][0], scores[0][1]), 0, halves(scores[1][0], scores[1][1]), 0};
        #pragma unroll
        for (int j = 0; j < 8; ++j) {
            u32 w[4];
            matrices_turned(w, v + place<HOW, 256>(lane % 16, j * 2 + lane / 16));
            #pragma unroll
            for (int i = 0; i < 2; ++i) {
                float(&s)[4] = sums[2 * j + i];
                s[0] *= shrink, s[1] *= shrink;
                product_half(s, shares, w[2 * i], w[2 * i + 1]);
            }
        }
        __syncwarp();
    }
    wait_groups<0>();
    total += __shfl_xor_sync(ALL, total, 1);
    total += __shfl_xor_sync(ALL, total, 2);
    __shared__ float2 met[4][8];
    __syncthreads();
    float *meet = (float *)memory + warp * 1024;
    if (lane % 4 == 0) met[warp][lane / 4] = make_float2(top, total);
    #pragma unroll
    for (int j = 0; j < 16; ++j) *(float2 *)(meet + lane / 4 * 128 + j * 8 + lane % 4 * 2) = make_float2(sums[j][0], sums[j][1]);
    __syncthreads();
    const size_t part = (size_t)(sequence * heads + head) * gridDim.z + blockIdx.z;
    for (int h = warp; h < 8; h += 4) {
        float all = fmaxf(fmaxf(met[0][h].x, met[1][h].x), fmaxf(met[2][h].x, met[3][h].x)), sum = 0.0f;
        float4 result = {};
        #pragma unroll
        for (int w = 0; w < 4; ++w) {
            const float weight = exp2f(met[w][h].x - all);
            const float4 one = *(const float4 *)((float *)memory + w * 1024 + h * 128 + lane * 4);
            sum = fmaf(weight, met[w][h].y, sum);
            result.x = fmaf(weight, one.x, result.x), result.y = fmaf(weight, one.y, result.y);
            result.z = fmaf(weight, one.z, result.z), result.w = fmaf(weight, one.w, result.w);
        }
        *(float4 *)(out + (part * 8 + h) * 128 + lane * 4) = result;
        if (lane == 0) sides[part * 8 + h] = make_float2(all, sum);
    }
}
#define PAGED(NAME, HOW)                                                                                                                                       \
    KERNEL(128) pages_of_sixteen_##NAME(const __half *q, const __half *keys, const __half *values, const u32 *table, const u32 *lengths, float *out, float2 *sides, \
                                        int most, u32 mask, float scale) { paged<HOW>(q, keys, values, table, lengths, out, sides, most, mask, scale); }
PAGED(plain, PLAIN)
PAGED(swizzled, SWIZZLED)

// ---- Adapters of rank sixteen, one for each segment of sixteen tokens: down to the rank, four warps along k, then up again, beside what the layer gave. ----
KERNEL(128) adapters_of_segments(const __half *x, const __half *down, const __half *up, const u32 *adapters, __half *y, int k, int n, u32 mask, float scale) {
    __shared__ float ranks[4][16][17];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, each = k / 4, pair = lane % 4 * 2;
    const size_t adapter = adapters[blockIdx.x] & mask;
    const __half *rows = x + ((size_t)blockIdx.x * 16 + lane / 4) * k + warp * each + pair, *weights = down + (adapter * 16 + lane / 4) * k + warp * each + pair;
    float sums[2][4] = {};
    #pragma unroll 4
    for (int i = 0; i < each; i += 16) {
        const u32 u[4] = {*(const u32 *)(rows + i), *(const u32 *)(rows + 8 * k + i), *(const u32 *)(rows + i + 8), *(const u32 *)(rows + 8 * k + i + 8)};
        product_half(sums[0], u, *(const u32 *)(weights + i), *(const u32 *)(weights + i + 8));
        product_half(sums[1], u, *(const u32 *)(weights + 8 * k + i), *(const u32 *)(weights + 8 * k + i + 8));
    }
    #pragma unroll
    for (int j = 0; j < 8; ++j) ranks[warp][lane / 4 + j / 2 % 2 * 8][j / 4 * 8 + pair + j % 2] = sums[j / 4][j % 4];
    __syncthreads();
    for (int i = threadIdx.x; i < 256; i += 128) ranks[0][i / 16][i % 16] = scale * (ranks[0][i / 16][i % 16] + ranks[1][i / 16][i % 16] + ranks[2][i / 16][i % 16] + ranks[3][i / 16][i % 16]);
    __syncthreads();
    u32 u[4];
    #pragma unroll
    for (int i = 0; i < 4; ++i) u[i] = halves(ranks[0][lane / 4 + i % 2 * 8][pair + i / 2 * 8], ranks[0][lane / 4 + i % 2 * 8][pair + i / 2 * 8 + 1]);
    #pragma unroll 2
    for (int column = warp * 8; column < n; column += 32) {
        const __half *row = up + (adapter * n + column + lane / 4) * 16 + pair;
        float more[4] = {};
        product_half(more, u, *(const u32 *)row, *(const u32 *)(row + 8));
        #pragma unroll
        for (int h = 0; h < 2; ++h) {
            __half2 *to = (__half2 *)(y + ((size_t)blockIdx.x * 16 + lane / 4 + h * 8) * n + column + pair);
            const float2 old = __half22float2(*to);
            *to = __floats2half2_rn(old.x + more[2 * h], old.y + more[2 * h + 1]);
        }
    }
}

// ---- Problems of several heights and depths in one launch: blocks stay, and walk the list of problems for their next tile of 64 x 64. -----
KERNEL(128) problems_in_a_list(const __half *a, const __half *b, const u32 *sizes, float *c, int problems, int height, int n, int depth) {
    constexpr int STAGES = 3, SIZE = 2 * 64 * 64;
    __shared__ __align__(128) u8 stages[STAGES][SIZE];
    const int t = threadIdx.x, lane = t % 32, warp = t / 32, wy = warp / 2 * 32, wx = warp % 2 * 32, across = n / 64;
    int problem = 0, before = 0, rows = 0, deep = 0, tiles = 0;
    const auto sized = [&] {
        rows = 1 + (int)(__ldg(sizes + 2 * problem) % (u32)height), deep = 64 + (int)(__ldg(sizes + 2 * problem + 1) % (u32)(depth / 32 - 1)) * 32;
        tiles = (rows + 63) / 64 * across;
    };
    sized();
    for (int tile = blockIdx.x;; tile += gridDim.x) {
        while (tile >= before + tiles) {
            before += tiles;
            if (++problem == problems) return;
            sized();
        }
        const int y = (tile - before) / across * 64, x = (tile - before) % across * 64, steps = deep / 32;
        const __half *left = a + ((size_t)problem * height + y) * depth, *right = b + ((size_t)problem * n + x) * depth;
        const auto load = [&](int step) {
            if (step < steps)
                #pragma unroll
                for (int i = 0; i < 2; ++i) {
                    const int row = t / 4 + i * 32, to = place<SWIZZLED, 64>(row, t % 4);
                    copy16(stages[step % STAGES] + to, left + (y + row < rows ? (size_t)row * depth + step * 32 + t % 4 * 8 : 0), y + row < rows);
                    copy16(stages[step % STAGES] + 4096 + to, right + (size_t)row * depth + step * 32 + t % 4 * 8);
                }
            commit();
        };
        float sums[2][4][4] = {};
        __syncthreads();
        load(0);
        load(1);
        for (int step = 0; step < steps; ++step) {
            wait_groups<1>();
            __syncthreads();
            load(step + 2);
            const u8 *stage = stages[step % STAGES];
            #pragma unroll
            for (int k = 0; k < 2; ++k) {
                u32 u[2][4], v[2][4];
                #pragma unroll
                for (int i = 0; i < 2; ++i) {
                    matrices(u[i], stage + place<SWIZZLED, 64>(wy + i * 16 + lane % 16, k * 2 + lane / 16));
                    matrices(v[i], stage + 4096 + place<SWIZZLED, 64>(wx + i * 16 + lane / 16 * 8 + lane % 8, k * 2 + lane / 8 % 2));
                }
                #pragma unroll
                for (int i = 0; i < 8; ++i) product_half(sums[i / 4][i % 4], u[i / 4], v[i % 4 / 2][i % 2 * 2], v[i % 4 / 2][i % 2 * 2 + 1]);
            }
        }
        #pragma unroll
        for (int i = 0; i < 4; ++i) {
            const int row = y + wy + i * 8 + lane / 4;
            if (row < rows)
                #pragma unroll
                for (int j = 0; j < 4; ++j)
                    *(float2 *)(c + ((size_t)problem * height + row) * n + x + wx + j * 8 + lane % 4 * 2) = make_float2(sums[i / 2][j][i % 2 * 2], sums[i / 2][j][i % 2 * 2 + 1]);
        }
    }
}

// ---- Averages that forget, along rows of any length: each thread scans eight, warps scan what threads kept and added, the block what warps did. ----
KERNEL(256) forgetting_averages(const float *in, const float *gates, float *out, int length) {
    __shared__ float2 warps[8];
    const int t = threadIdx.x, lane = t % 32, warp = t / 32;
    const float *row = in + (size_t)blockIdx.x * length, *gate = gates + (size_t)blockIdx.x * length;
    float carried = 0.0f;
    for (int first = 0; first < length; first += 2048) {
        const int at = first + t * 8;
        float kept[8], added[8];
        #pragma unroll
        for (int j = 0; j < 8; j += 4) {
            const bool is = at + j < length;  // lengths are multiples of four
            *(float4 *)(kept + j) = is ? __ldcs((const float4 *)(gate + at + j)) : make_float4(0, 0, 0, 0);
            *(float4 *)(added + j) = is ? __ldcs((const float4 *)(row + at + j)) : make_float4(0, 0, 0, 0);
        }
        float2 own = make_float2(1.0f, 0.0f);
        #pragma unroll
        for (int j = 0; j < 8; ++j) {
            kept[j] = 1.0f / (1.0f + __expf(-4.0f * kept[j]));
            added[j] *= 1.0f - kept[j];
            own = make_float2(own.x * kept[j], fmaf(own.y, kept[j], added[j]));
        }
        #pragma unroll
        for (int d = 1; d < 32; d *= 2) {
            const float x = __shfl_up_sync(ALL, own.x, d), y = __shfl_up_sync(ALL, own.y, d);
            if (lane >= d) own = make_float2(own.x * x, fmaf(y, own.x, own.y));
        }
        if (lane == 31) warps[warp] = own;
        const float x = __shfl_up_sync(ALL, own.x, 1), y = __shfl_up_sync(ALL, own.y, 1);
        __syncthreads();
        float state = carried;
        #pragma unroll
        for (int w = 0; w < 8; ++w) {
            if (w < warp) state = fmaf(state, warps[w].x, warps[w].y);
            carried = fmaf(carried, warps[w].x, warps[w].y);
        }
        if (lane > 0) state = fmaf(state, x, y);
        #pragma unroll
        for (int j = 0; j < 8; ++j) added[j] = state = fmaf(state, kept[j], added[j]);
        #pragma unroll
        for (int j = 0; j < 8; j += 4)
            if (at + j < length) *(float4 *)(out + (size_t)blockIdx.x * length + at + j) = *(const float4 *)(added + j);
        __syncthreads();
    }
}
