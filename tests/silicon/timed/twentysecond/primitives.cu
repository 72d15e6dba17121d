// Kernels of the twenty-second set that are parts of others, in groups that differ in the layout of shared memory alone: scans, ranks, trees, bins, heaps.
#include <cuda_runtime.h>

#define KERNEL(THREADS) extern "C" __global__ void __launch_bounds__(THREADS)
#define ALL 0xffffffffu

// The sum of what threads before this one have, and of all (in the last reference).
template <int WARPS> __device__ __forceinline__ unsigned before(unsigned own, unsigned *held, unsigned &all) {
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    unsigned sum = own;
    #pragma unroll
    for (int offset = 1; offset < 32; offset <<= 1) {
        const unsigned other = __shfl_up_sync(ALL, sum, offset);
        if (lane >= offset) sum += other;
    }
    if (lane == 31) held[warp] = sum;
    __syncthreads();
    unsigned base = 0;
    all = 0;
    #pragma unroll
    for (int w = 0; w < WARPS; ++w) {
        if (w == warp) base = all;
        all += held[w];
    }
    return base + sum - own;
}

// Exclusive sums of 4096 words a block: words come and go side by side, and lie with sixteen to a thread between. Four words are left out
// after 32, or none.
template <bool PADDED> __device__ __forceinline__ void tile_scan(const uint4 *from, uint4 *to, unsigned *totals) {
    __shared__ __align__(16) unsigned tile[PADDED ? 4608 : 4096];
    __shared__ unsigned sums[8];
    const int t = threadIdx.x;
    const auto at = [&](int word) { return reinterpret_cast<uint4 *>(tile + (PADDED ? word + word / 32 * 4 : word)); };
    const size_t base = (size_t)blockIdx.x * 1024;
    #pragma unroll
    for (int i = 0; i < 4; ++i) *at((i * 256 + t) * 4) = from[base + i * 256 + t];
    __syncthreads();
    uint4 v[4];
    unsigned own = 0, all;
    #pragma unroll
    for (int i = 0; i < 4; ++i) v[i] = *at(t * 16 + i * 4), own += v[i].x + v[i].y + v[i].z + v[i].w;
    unsigned sum = before<8>(own, sums, all);
    #pragma unroll
    for (int i = 0; i < 4; ++i) {
        uint4 w;
        w.x = sum, w.y = w.x + v[i].x, w.z = w.y + v[i].y, w.w = w.z + v[i].z, sum = w.w + v[i].w;
        *at(t * 16 + i * 4) = w;
    }
    __syncthreads();
    #pragma unroll
    for (int i = 0; i < 4; ++i) to[base + i * 256 + t] = *at((i * 256 + t) * 4);
    if (t == 0) totals[blockIdx.x] = all;
}
KERNEL(256) tile_scan_plain(const uint4 *from, uint4 *to, unsigned *totals) { tile_scan<false>(from, to, totals); }
KERNEL(256) tile_scan_padded(const uint4 *from, uint4 *to, unsigned *totals) { tile_scan<true>(from, to, totals); }

// A block sorts 1024 keys by sixteen of their bits, four at a time: each of 128 threads counts its eight keys in shorts of its own, of which
// two digits share a word; threads then rake eight words each, side by side or with a word left out after eight.
template <bool PADDED> __device__ __forceinline__ void raked(const unsigned *from, unsigned *to, int low) {
    __shared__ unsigned counts[PADDED ? 1152 : 1024], moved[PADDED ? 1152 : 1024], sums[4];
    const int t = threadIdx.x;
    const size_t base = (size_t)blockIdx.x * 1024;
    const auto at = [](int i) { return PADDED ? i + i / 8 : i; };
    unsigned keys[8];
    #pragma unroll
    for (int i = 0; i < 8; ++i) keys[i] = from[base + i * 128 + t];
    for (int pass = 0; pass < 4; ++pass) {
        #pragma unroll
        for (int i = 0; i < 8; ++i) counts[at(i * 128 + t)] = 0;
        unsigned ranks[8];
        #pragma unroll
        for (int i = 0; i < 8; ++i) {
            const unsigned digit = keys[i] >> (low + pass * 4) & 15;
            unsigned short *own = reinterpret_cast<unsigned short *>(counts + at((int)(digit & 7) * 128 + t)) + (digit >> 3);
            ranks[i] = *own;
            *own = (unsigned short)(ranks[i] + 1);
        }
        __syncthreads();
        unsigned words[8], own = 0, all;
        #pragma unroll
        for (int i = 0; i < 8; ++i) words[i] = counts[at(t * 8 + i)], own += words[i];
        unsigned sum = before<4>(own, sums, all);
        sum += all << 16;
        #pragma unroll
        for (int i = 0; i < 8; ++i) counts[at(t * 8 + i)] = sum, sum += words[i];
        __syncthreads();
        #pragma unroll
        for (int i = 0; i < 8; ++i) {
            const unsigned digit = keys[i] >> (low + pass * 4) & 15;
            ranks[i] += reinterpret_cast<const unsigned short *>(counts + at((int)(digit & 7) * 128 + t))[digit >> 3];
            moved[at((int)(ranks[i] & 1023))] = keys[i];
        }
        __syncthreads();
        #pragma unroll
        for (int i = 0; i < 8; ++i) keys[i] = moved[at(t * 8 + i)];
    }
    __syncthreads();
    #pragma unroll
    for (int i = 0; i < 8; ++i) to[base + i * 128 + t] = moved[at(i * 128 + t)];
}
KERNEL(128) raked_plain(const unsigned *from, unsigned *to, int low) { raked<false>(from, to, low); }
KERNEL(128) raked_padded(const unsigned *from, unsigned *to, int low) { raked<true>(from, to, low); }

// American puts by trees of 32 prices, a thread a put, which has a row of 32 floats or of 33.
template <int PITCH> __device__ __forceinline__ void binomial(const float *spots, const float *strikes, float *out, float up, float share, float discount) {
    __shared__ float values[64 * PITCH];
    const int i = blockIdx.x * 64 + threadIdx.x;
    const float strike = 100.0f + 10.0f * strikes[i];
    float *own = values + threadIdx.x * PITCH, lowest = 100.0f + 10.0f * spots[i];
    const float squared = up * up, with = discount * share, without = discount - with;
    lowest *= __powf(up, -31.0f);
    float price = lowest;
    for (int k = 0; k < 32; ++k) own[k] = fmaxf(strike - price, 0.0f), price *= squared;
    for (int level = 31; level > 0; --level) {
        lowest *= up, price = lowest;
        float below = own[0];
        #pragma unroll 4
        for (int k = 0; k < level; ++k) {
            const float above = own[k + 1];
            own[k] = fmaxf(with * above + without * below, strike - price);
            below = above, price *= squared;
        }
    }
    out[i] = own[0];
}
#define BINOMIAL(NAME, PITCH)                                                                                             \
    KERNEL(64) NAME(const float *spots, const float *strikes, float *out, float up, float share, float discount) {        \
        binomial<PITCH>(spots, strikes, out, up, share, discount);                                                        \
    }
BINOMIAL(binomial_plain, 32)
BINOMIAL(binomial_padded, 33)

// Counts of 64 kinds of bytes: each of 64 threads has a byte for each kind. Four neighbours share a word, or threads sixteen apart.
template <bool SHUFFLED> __device__ __forceinline__ void bins64(const unsigned *from, unsigned *totals) {
    __shared__ unsigned words[1024];
    unsigned char *bytes = reinterpret_cast<unsigned char *>(words);
    const int t = threadIdx.x;
    unsigned char *own = bytes + (SHUFFLED ? (t & 15) << 2 | t >> 4 : t);
    #pragma unroll
    for (int i = 0; i < 16; ++i) words[i * 64 + t] = 0;
    __syncthreads();
    #pragma unroll 4
    for (int i = 0; i < 60; ++i) {
        const unsigned four = from[((size_t)blockIdx.x * 60 + i) * 64 + t];
        #pragma unroll
        for (int e = 0; e < 4; ++e) ++own[(four >> (e * 8 + 2) & 63) * 64];
    }
    __syncthreads();
    unsigned sum = 0;
    #pragma unroll
    for (int i = 0; i < 16; ++i) {
        const unsigned four = words[t * 16 + (i + t & 15)];
        sum += (four & 255) + (four >> 8 & 255) + (four >> 16 & 255) + (four >> 24);
    }
    atomicAdd(totals + t, sum);
}
KERNEL(64) bins64_neighbours(const unsigned *from, unsigned *totals) { bins64<false>(from, totals); }
KERNEL(64) bins64_shuffled(const unsigned *from, unsigned *totals) { bins64<true>(from, totals); }

// The sixteen points, of 160, that are nearest to each of 128, in a heap whose largest is first: a heap is a row of sixteen words, of 17, or
// a column.
template <int PITCH, bool COLUMNS> __device__ __forceinline__ void heaps(const float2 *queries, const float2 *points, float *out) {
    __shared__ float heap[128 * PITCH];
    __shared__ float2 held[160];
    const int t = threadIdx.x, i = blockIdx.x * 128 + t;
    const auto at = [&](int slot) { return COLUMNS ? slot * 128 + t : t * PITCH + slot; };
    for (int k = t; k < 160; k += 128) held[k] = points[blockIdx.x * 160 + k];
    #pragma unroll
    for (int slot = 0; slot < 16; ++slot) heap[at(slot)] = 1e30f;
    __syncthreads();
    const float2 own = queries[i];
    float most = 1e30f;
    for (int k = 0; k < 160; ++k) {
        const float dx = held[k].x - own.x, dy = held[k].y - own.y, far = dx * dx + dy * dy;
        if (far >= most) continue;
        int slot = 0;
        while (slot * 2 + 1 < 16) {
            int child = slot * 2 + 1;
            float largest = heap[at(child)];
            if (child < 15) {
                const float right = heap[at(child + 1)];
                if (right > largest) largest = right, ++child;
            }
            if (largest <= far) break;
            heap[at(slot)] = largest;
            slot = child;
        }
        heap[at(slot)] = far;
        most = heap[at(0)];
    }
    #pragma unroll
    for (int slot = 0; slot < 16; ++slot) out[(size_t)slot * gridDim.x * 128 + i] = heap[at(slot)];
}
KERNEL(128) heaps_rows(const float2 *queries, const float2 *points, float *out) { heaps<16, false>(queries, points, out); }
KERNEL(128) heaps_padded(const float2 *queries, const float2 *points, float *out) { heaps<17, false>(queries, points, out); }
KERNEL(128) heaps_columns(const float2 *queries, const float2 *points, float *out) { heaps<16, true>(queries, points, out); }
