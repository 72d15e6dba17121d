// Kernels of the twenty-sixth set over graphs, texts and codes: neighbours in common, many searches at once, trees of edges, letters, series, counts, a field.
#include <cuda_runtime.h>

#define KERNEL(THREADS) extern "C" __global__ void __launch_bounds__(THREADS)
#define ALL 0xffffffffu

// How many neighbours two places have in common, whose lists are kept as bytes of differences: a thread a pair of lists of 32.
KERNEL(256) in_common(const unsigned char *__restrict__ lists, const uint2 *__restrict__ pairs, float *out, unsigned mask) {
    const size_t own = (size_t)blockIdx.x * 256 + threadIdx.x;
    const uint2 pair = pairs[own];
    const unsigned char *a = lists + (size_t)(pair.x & mask) * 32, *b = lists + (size_t)(pair.y & mask) * 32;
    int i = 0, j = 0, both = 0;
    unsigned u = (a[0] & 15u) + 1u, v = (b[0] & 15u) + 1u;
    while (i < 32 && j < 32) {
        both += u == v;
        const bool left = u <= v, right = v <= u;
        if (left && ++i < 32) u += (a[i] & 15u) + 1u;
        if (right && ++j < 32) v += (b[j] & 15u) + 1u;
    }
    out[own] = (float)both / (float)(64 - both);
}

// A step of 64 searches of a graph at once, a bit each: a thread a place, which asks sixteen neighbours who has come to them.
KERNEL(256) many_searches(const uint4 *__restrict__ neighbours, const unsigned long long *__restrict__ front, unsigned long long *seen, unsigned long long *next, unsigned *counts, unsigned mask) {
    const size_t own = (size_t)blockIdx.x * 256 + threadIdx.x;
    unsigned long long come = 0;
    #pragma unroll
    for (int k = 0; k < 4; ++k) {
        const uint4 n = neighbours[own * 4 + k];
        come |= front[n.x & mask] & front[n.y & mask] | front[n.z & mask] & front[n.w & mask];
    }
    const unsigned long long before = seen[own], fresh = come & ~before;
    next[own] = fresh;
    if (fresh) seen[own] = before | fresh;
    const unsigned all = __reduce_add_sync(ALL, (unsigned)__popcll(fresh));
    if (threadIdx.x % 32 == 0) atomicAdd(counts + blockIdx.x, all);
}

// The heaviest edge that leaves every tree of a forest (Boruvka): a thread two edges, each offered to both of its trees.
KERNEL(256) heaviest_edges(const uint2 *__restrict__ ends, const unsigned *__restrict__ weights, const unsigned *__restrict__ trees, unsigned long long *best, unsigned mask) {
    #pragma unroll
    for (int k = 0; k < 2; ++k) {
        const unsigned edge = (blockIdx.x * 2 + k) * 256 + threadIdx.x;
        const uint2 e = ends[edge];
        const unsigned a = trees[e.x & mask] & mask, b = trees[e.y & mask] & mask;
        if (a != b) {
            const unsigned long long key = (unsigned long long)weights[edge] << 32 | edge;
            atomicMax(best + a, key), atomicMax(best + b, key);
        }
    }
}

// Whether bytes are letters as UTF-8 writes them: sixteen bytes a thread and a time, each judged with the three before it.
KERNEL(256) letters_checked(const uint4 *__restrict__ text, unsigned *out) {
    unsigned wrong = 0;
    #pragma unroll 1
    for (int part = 0; part < 4; ++part) {
        const size_t at = ((size_t)blockIdx.x * 4 + part) * 256 + threadIdx.x;
        const uint4 own = text[at];
        const unsigned words[5] = {at ? text[at - 1].w : 0u, own.x, own.y, own.z, own.w};
        #pragma unroll
        for (int i = 4; i < 20; ++i) {
            const auto byte = [&](int k) { return words[k / 4] >> k % 4 * 8 & 255u; };
            const unsigned c = byte(i), p = byte(i - 1), q = byte(i - 2), r = byte(i - 3);
            const bool follows = (c & 0xc0u) == 0x80u, should = p >= 0xc0u || q >= 0xe0u || r >= 0xf0u;
            const bool odd = c == 0xc0u || c == 0xc1u || c > 0xf4u || (p == 0xe0u && c < 0xa0u) || (p == 0xedu && c > 0x9fu) || (p == 0xf0u && c < 0x90u) || (p == 0xf4u && c > 0x8fu);
            wrong += follows != should || odd;
        }
    }
    const unsigned all = __reduce_add_sync(ALL, wrong);
    if (threadIdx.x % 32 == 0) out[blockIdx.x * 8 + threadIdx.x / 32] = all;
}

// How many bits series of 32 floats take when each is written by what differs from the one before (as Gorilla does): a thread a series.
KERNEL(128) series_packed(const unsigned *__restrict__ in, unsigned *out, int series) {
    const int own = blockIdx.x * 128 + threadIdx.x;
    unsigned before = in[own], bits = 32, lead = 32, trail = 32;
    #pragma unroll 4
    for (int k = 1; k < 32; ++k) {
        const unsigned value = in[(size_t)k * series + own], changed = (value ^ before) & 0x000ffff0u << (before & 7u);
        const unsigned high = __clz(changed), low = changed ? __ffs(changed) - 1 : 32;
        if (changed == 0) bits += 1;
        else if (high >= lead && low >= trail) bits += 2 + 32 - lead - trail;
        else lead = high, trail = low, bits += 2 + 5 + 5 + 32 - high - low;
        before = value;
    }
    out[own] = bits;
}

// How many different keys there are, about (HyperLogLog): 1024 registers a block, sixteen keys a thread, which all blocks then join.
KERNEL(512) different_keys(const uint4 *__restrict__ keys, unsigned *registers) {
    __shared__ unsigned most[1024];
    const int t = threadIdx.x;
    most[t] = most[t + 512] = 0u;
    __syncthreads();
    #pragma unroll 2
    for (int k = 0; k < 4; ++k) {
        const uint4 v = keys[((size_t)blockIdx.x * 4 + k) * 512 + t];
        const unsigned all[4] = {v.x, v.y, v.z, v.w};
        #pragma unroll
        for (int i = 0; i < 4; ++i) {
            unsigned h = all[i];
            h = (h ^ h >> 16) * 0x7feb352du, h = (h ^ h >> 15) * 0x846ca68bu, h ^= h >> 16;
            atomicMax(most + (h & 1023u), (unsigned)__clz(h | 1023u) + 1u);
        }
    }
    __syncthreads();
    atomicMax(registers + t, most[t]), atomicMax(registers + t + 512, most[t + 512]);
}

// Numbers of 255 bits squared sixteen times and multiplied by themselves (a curve's field), five limbs of 51 bits: a thread a number.
__device__ __forceinline__ void multiplied(unsigned long long *a, const unsigned long long *b) {
    constexpr unsigned long long LOW = (1ull << 51) - 1;
    unsigned __int128 r[5] = {};
    #pragma unroll
    for (int i = 0; i < 5; ++i)
        #pragma unroll
        for (int j = 0; j < 5; ++j) r[(i + j) % 5] += (unsigned __int128)a[i] * (i + j < 5 ? b[j] : b[j] * 19);
    #pragma unroll
    for (int i = 0; i < 4; ++i) r[i + 1] += r[i] >> 51, a[i] = (unsigned long long)r[i] & LOW;
    a[4] = (unsigned long long)r[4] & LOW;
    a[0] += (unsigned long long)(r[4] >> 51) * 19;
    a[1] += a[0] >> 51, a[0] &= LOW;
}
KERNEL(128) field_powers(const unsigned long long *__restrict__ in, unsigned long long *out, int numbers, int squarings) {
    const int own = blockIdx.x * 128 + threadIdx.x;
    unsigned long long x[5], y[5];
    #pragma unroll
    for (int i = 0; i < 5; ++i) x[i] = y[i] = in[(size_t)i * numbers + own] >> 13;
    #pragma unroll 1
    for (int n = 0; n < squarings; ++n) {
        unsigned long long same[5];
        #pragma unroll
        for (int i = 0; i < 5; ++i) same[i] = y[i];
        multiplied(y, same);
    }
    multiplied(y, x);
    #pragma unroll
    for (int i = 0; i < 5; ++i) out[(size_t)i * numbers + own] = y[i];
}
