// Kernels of the thirty-third set that no layout tells apart: keys turned and put in slots, gates that choose two experts, sparse rows in slices, votes kept in local memory,
// what options gain, a table that fills shared memory, rows that a condition keeps, a step of electric fields.
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#define KERNEL(THREADS) extern "C" __global__ void __launch_bounds__(THREADS)
#define ALL 0xffffffffu

// Keys of eight heads of 128 halves turned by their positions, and values, put in the slots of a paged cache: a block a token, 64 pairs a head.
KERNEL(256) slots_filled(const __half2 *keys, const __half2 *values, const float2 *turns, const int *slots, __half2 *key_cache, __half2 *value_cache, int mask) {
    const int t = threadIdx.x, head = t >> 5, lane = t & 31, token = blockIdx.x;
    const size_t from = (size_t)token * 512 + head * 64 + lane, to = (size_t)slots[token] * 512 + head * 64 + lane;
    const float4 turn = *reinterpret_cast<const float4 *>(turns + (size_t)(token & mask) * 64 + lane * 2);
    const float2 a = __half22float2(keys[from]), b = __half22float2(keys[from + 32]);
    key_cache[to] = __floats2half2_rn(a.x * turn.x - b.x * turn.y, a.y * turn.z - b.y * turn.w);
    key_cache[to + 32] = __floats2half2_rn(b.x * turn.x + a.x * turn.y, b.y * turn.z + a.y * turn.w);
    value_cache[to] = values[from], value_cache[to + 32] = values[from + 32];
}

// A softmax over 64 experts and the two that lead, a warp a token, eight tokens a warp; how many tokens each expert gets from the block is counted by atomics.
KERNEL(256) gate_of_two(const float2 *logits, int2 *chosen, float2 *shares, unsigned *loads) {
    __shared__ unsigned counts[64];
    const int t = threadIdx.x, lane = t & 31, warp = t >> 5;
    if (t < 64) counts[t] = 0;
    __syncthreads();
    #pragma unroll 1
    for (int n = 0; n < 8; ++n) {
        const int token = (blockIdx.x * 8 + n) * 8 + warp;
        const float2 v = logits[(size_t)token * 32 + lane];
        float top = v.x >= v.y ? v.x : v.y, next = v.x >= v.y ? v.y : v.x;
        int first = lane * 2 + (v.x < v.y), second = lane * 2 + (v.x >= v.y);
        #pragma unroll
        for (int offset = 16; offset; offset >>= 1) {
            const float rival = __shfl_xor_sync(ALL, top, offset), other = __shfl_xor_sync(ALL, next, offset);
            const int rival_at = __shfl_xor_sync(ALL, first, offset), other_at = __shfl_xor_sync(ALL, second, offset);
            const bool lost = rival > top || (rival == top && rival_at < first);
            const float best = lost ? other : next, loser = lost ? top : rival;
            const int best_at = lost ? other_at : second, loser_at = lost ? first : rival_at;
            const bool kept = best > loser || (best == loser && best_at < loser_at);
            top = lost ? rival : top, first = lost ? rival_at : first;
            next = kept ? best : loser, second = kept ? best_at : loser_at;
        }
        float sum = __expf(v.x - top) + __expf(v.y - top);
        #pragma unroll
        for (int offset = 16; offset; offset >>= 1) sum += __shfl_xor_sync(ALL, sum, offset);
        if (lane == 0) {
            chosen[token] = make_int2(first, second), shares[token] = make_float2(1.0f / sum, __expf(next - top) / sum);
            atomicAdd(counts + first, 1u), atomicAdd(counts + second, 1u);
        }
    }
    __syncthreads();
    if (t < 64) loads[blockIdx.x * 64 + t] = counts[t];
}

// A sparse matrix by a vector, rows in slices of 32 that are as wide as their widest, column after column: a thread a row, a warp a slice, widths from 9 to 24.
KERNEL(128) slices_of_32(const unsigned *widths, const unsigned *columns, const float *values, const float *x, float *y, unsigned mask) {
    const int lane = threadIdx.x & 31, slice = blockIdx.x * 4 + (threadIdx.x >> 5);
    const int width = 9 + (int)(widths[slice] & 15u);
    const size_t own = (size_t)slice * 24 * 32 + lane;
    float sum = 0.0f;
    #pragma unroll 4
    for (int k = 0; k < width; ++k) sum += values[own + k * 32] * x[columns[own + k * 32] & mask];
    y[slice * 32 + lane] = sum;
}

// Votes for 24 classes that each thread counts in an array of its own, in local memory, and the class that leads; weights by a second array.
KERNEL(128) votes_kept(const uint4 *votes, const float *weights, unsigned *out, int each) {
    float sums[24];
    const int t = threadIdx.x;
    for (int c = 0; c < 24; ++c) sums[c] = weights[c];
    #pragma unroll 1
    for (int n = 0; n < each; ++n) {
        const uint4 v = votes[((size_t)blockIdx.x * each + n) * 128 + t];
        const unsigned words[4] = {v.x, v.y, v.z, v.w};
        #pragma unroll
        for (int w = 0; w < 4; ++w)
            #pragma unroll
            for (int b = 0; b < 4; ++b) {
                const unsigned vote = words[w] >> b * 8 & 255u;
                sums[(vote & 31u) < 24u ? vote & 31u : vote & 7u] += (float)(vote >> 5);
            }
    }
    float most = sums[0];
    unsigned leads = 0;
    for (unsigned c = 1; c < 24; ++c)
        if (sums[c] > most) most = sums[c], leads = c;
    out[blockIdx.x * 128 + t] = leads;
}

// Prices of options and what they gain by price, time, rates and volatility, with the error function: an option a thread, arrays apart.
KERNEL(256) greek_letters(const float *spots, const float *strikes, const float *years, float *out, int count) {
    const int own = blockIdx.x * 256 + threadIdx.x;
    if (own >= count) return;
    const float spot = 100.0f + 20.0f * spots[own], strike = 100.0f + 20.0f * strikes[own], year = 1.5f + years[own], rate = 0.03f, sigma = 0.25f;
    const float root = sqrtf(year), d1 = (logf(spot / strike) + (rate + 0.5f * sigma * sigma) * year) / (sigma * root), d2 = d1 - sigma * root;
    const float n1 = 0.5f * erfcf(-0.70710678f * d1), n2 = 0.5f * erfcf(-0.70710678f * d2), density = 0.39894228f * expf(-0.5f * d1 * d1), less = expf(-rate * year);
    out[own] = spot * n1 - strike * less * n2;
    out[(size_t)count + own] = n1;
    out[(size_t)count * 2 + own] = density / (spot * sigma * root);
    out[(size_t)count * 3 + own] = -0.5f * spot * density * sigma / root - rate * strike * less * n2;
    out[(size_t)count * 4 + own] = spot * density * root;
}

// A table of 160 KB that each block keeps whole in shared memory, one block an SM: places between its entries by straight lines.
KERNEL(512) table_that_fills(const float4 *table, const unsigned *places, float *out, int each) {
    extern __shared__ __align__(16) float held[];
    const int t = threadIdx.x;
    #pragma unroll 4
    for (int p = t; p < 10240; p += 512) asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"((unsigned)__cvta_generic_to_shared(held + p * 4)), "l"(table + p) : "memory");
    asm volatile("cp.async.wait_all;" ::: "memory");
    __syncthreads();
    #pragma unroll 4
    for (int n = 0; n < each; ++n) {
        const size_t own = ((size_t)blockIdx.x * each + n) * 512 + t;
        const unsigned bits = places[own], entry = (unsigned)((unsigned long long)bits * 40959u >> 32);
        const float low = held[entry], high = held[entry + 1];
        out[own] = low + (high - low) * (float)(bits & 65535u) * 1.52587891e-5f;
    }
}

// Rows that a condition on two columns keeps, side by side at the front of their block's part: votes of warps, sums of eight warps, staged in shared memory.
KERNEL(256) rows_kept(const unsigned *prices, const unsigned *days, unsigned *out, unsigned *kept, unsigned most, unsigned least) {
    __shared__ unsigned held[2048], sums[64], whole;
    const int t = threadIdx.x, lane = t & 31, warp = t >> 5;
    unsigned v[8], votes[8];
    #pragma unroll
    for (int n = 0; n < 8; ++n) {
        const size_t own = (size_t)blockIdx.x * 2048 + n * 256 + t;
        v[n] = prices[own];
        votes[n] = __ballot_sync(ALL, v[n] < most && days[own] >= least);
        if (lane == 0) sums[n * 8 + warp] = (unsigned)__popc(votes[n]);
    }
    __syncthreads();
    if (warp == 0) {
        const unsigned a = sums[lane * 2], b = sums[lane * 2 + 1];
        unsigned run = a + b;
        #pragma unroll
        for (int offset = 1; offset < 32; offset <<= 1) {
            const unsigned other = __shfl_up_sync(ALL, run, offset);
            if (lane >= offset) run += other;
        }
        sums[lane * 2] = run - b - a, sums[lane * 2 + 1] = run - b;
        if (lane == 31) kept[blockIdx.x] = run, whole = run;
    }
    __syncthreads();
    #pragma unroll
    for (int n = 0; n < 8; ++n)
        if (votes[n] >> lane & 1) held[sums[n * 8 + warp] + (unsigned)__popc(votes[n] & ((1u << lane) - 1u))] = v[n];
    __syncthreads();
    for (unsigned p = t; p < whole; p += 256) out[(size_t)blockIdx.x * 2048 + p] = held[p];
}

// A step of electric fields on Yee's grid from the curl of magnetic ones, three arrays each, with a border that stays: a thread a column of eight cells along z.
KERNEL(256) electric_step(const float *hx, const float *hy, const float *hz, float *ex, float *ey, float *ez, int width, int height, float by) {
    const int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y, plane = width * height;
    if (x == 0 || y == 0) return;
    int own = (int)blockIdx.z * 8 * plane + y * width + x;
    float below_x = blockIdx.z ? hx[own - plane] : 0.0f, below_y = blockIdx.z ? hy[own - plane] : 0.0f;
    #pragma unroll 2
    for (int n = 0; n < 8; ++n, own += plane) {
        const float a = hx[own], b = hy[own], c = hz[own];
        ex[own] += by * (c - hz[own - width] - b + below_y);
        ey[own] += by * (a - below_x - c + hz[own - 1]);
        ez[own] += by * (b - hy[own - 1] - a + hx[own - width]);
        below_x = a, below_y = b;
    }
}
