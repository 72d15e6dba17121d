// Kernels of the twenty-fifth set over models, tables and codes: factors, an optimizer, columns of a sparse matrix, slices of bits, a cipher, a decoder.
#include <cuda_runtime.h>

#define KERNEL(THREADS) extern "C" __global__ void __launch_bounds__(THREADS)
#define ALL 0xffffffffu

// Scores of samples of sixteen fields by a machine of factors: sixteen lanes a sample, one factor each, rows of 64 bytes gathered.
KERNEL(256) factor_machine(const float *__restrict__ factors, const float *__restrict__ weights, const unsigned *__restrict__ fields, float *out, unsigned mask) {
    const int lane = threadIdx.x % 16, group = threadIdx.x / 16;
    #pragma unroll 1
    for (int part = 0; part < 4; ++part) {
        const size_t sample = ((size_t)blockIdx.x * 4 + part) * 16 + group;
        const unsigned own = fields[sample * 16 + lane] & mask;
        float sum = 0.0f, squares = 0.0f;
        #pragma unroll
        for (int f = 0; f < 16; ++f) {
            const float value = factors[(size_t)__shfl_sync(ALL, own, f, 16) * 16 + lane];
            sum += value, squares += value * value;
        }
        float score = 0.5f * (sum * sum - squares) + weights[own];
        #pragma unroll
        for (int offset = 8; offset > 0; offset >>= 1) score += __shfl_xor_sync(ALL, score, offset);
        if (lane == 0) out[sample] = 1.0f / (1.0f + __expf(-score));
    }
}

// A step of an optimizer that clips momentum over curvature (Sophia), four weights a thread.
__device__ __forceinline__ float stepped(float weight, float &momentum, float curvature, float gradient, float rate) {
    momentum = 0.96f * momentum + 0.04f * gradient;
    const float ratio = fabsf(momentum) / fmaxf(0.05f * fabsf(curvature), 1e-8f);
    return weight * (1.0f - 0.1f * rate) - rate * copysignf(fminf(ratio, 1.0f), momentum);
}
KERNEL(256) sophia(float4 *weights, float4 *momenta, const float4 *__restrict__ curvatures, const float4 *__restrict__ gradients, float rate) {
    const size_t at = (size_t)blockIdx.x * 256 + threadIdx.x;
    float4 w = weights[at], m = momenta[at];
    const float4 h = curvatures[at], g = gradients[at];
    w.x = stepped(w.x, m.x, h.x, g.x, rate), w.y = stepped(w.y, m.y, h.y, g.y, rate);
    w.z = stepped(w.z, m.z, h.z, g.z, rate), w.w = stepped(w.w, m.w, h.w, g.w, rate);
    weights[at] = w, momenta[at] = m;
}

// A sparse matrix kept by columns times a vector: eight lanes a column of 32, whose products are added where their rows lie.
KERNEL(256) sparse_columns(const unsigned *__restrict__ rows, const float *__restrict__ values, const float *__restrict__ x, float *y, unsigned mask) {
    const int lane = threadIdx.x % 8;
    const size_t column = (size_t)blockIdx.x * 32 + threadIdx.x / 8;
    const float own = x[column];
    #pragma unroll
    for (int k = 0; k < 4; ++k) {
        const size_t at = column * 32 + k * 8 + lane;
        atomicAdd(y + (rows[at] & mask), values[at] * own);
    }
}

// The sum of a column kept in slices of bits, over rows that a bitmap keeps: a thread 128 rows.
KERNEL(256) bit_slices(const uint4 *__restrict__ slices, const uint4 *__restrict__ kept, unsigned long long *out, int count) {
    __shared__ unsigned long long parts[8];
    const int t = threadIdx.x, at = blockIdx.x * 256 + t;
    const uint4 keep = kept[at];
    unsigned long long sum = 0;
    #pragma unroll 4
    for (int s = 0; s < 16; ++s) {
        const uint4 v = slices[(size_t)s * count + at];
        sum += (unsigned long long)(__popc(v.x & keep.x) + __popc(v.y & keep.y) + __popc(v.z & keep.z) + __popc(v.w & keep.w)) << s;
    }
    #pragma unroll
    for (int offset = 16; offset > 0; offset >>= 1) sum += __shfl_xor_sync(ALL, sum, offset);
    if (t % 32 == 0) parts[t / 32] = sum;
    __syncthreads();
    if (t == 0) {
        #pragma unroll
        for (int i = 1; i < 8; ++i) sum += parts[i];
        out[blockIdx.x] = sum;
    }
}

// Words of 128 bits mixed with a counter's cipher (Speck, 32 rounds), whose keys every thread makes as it goes: four a thread.
KERNEL(512) speck(const ulonglong2 *__restrict__ in, ulonglong2 *out, unsigned long long low, unsigned long long high) {
    const size_t first = (size_t)blockIdx.x * 2048 + threadIdx.x;
    unsigned long long x[4], y[4], key = low, next = high;
    #pragma unroll
    for (int i = 0; i < 4; ++i) x[i] = 0x243f6a8885a308d3ull, y[i] = first + i * 512;
    #pragma unroll 4
    for (int round = 0; round < 32; ++round) {
        #pragma unroll
        for (int i = 0; i < 4; ++i) {
            x[i] = ((x[i] >> 8 | x[i] << 56) + y[i]) ^ key;
            y[i] = (y[i] << 3 | y[i] >> 61) ^ x[i];
        }
        next = ((next >> 8 | next << 56) + key) ^ (unsigned long long)round;
        key = (key << 3 | key >> 61) ^ next;
    }
    #pragma unroll
    for (int i = 0; i < 4; ++i) {
        const ulonglong2 v = in[first + i * 512];
        out[first + i * 512] = make_ulonglong2(v.x ^ x[i], v.y ^ y[i]);
    }
}

// Streams of bits decoded by a machine of 1024 states (asymmetric numerals in a table): a thread a stream of 256 bytes.
KERNEL(128) state_decoder(const unsigned *__restrict__ entries, const unsigned *__restrict__ words, unsigned *out, int streams) {
    __shared__ unsigned table[1024];
    const int t = threadIdx.x, stream = blockIdx.x * 128 + t;
    #pragma unroll
    for (int i = t; i < 1024; i += 128) table[i] = entries[i];
    __syncthreads();
    unsigned long long bits = words[stream];
    unsigned state = (unsigned)bits & 1023u;
    int have = 32, used = 1;
    #pragma unroll 1
    for (int k = 0; k < 64; ++k) {
        if (have < 32) bits |= (unsigned long long)words[(size_t)used * streams + stream] << have, have += 32, ++used;
        unsigned word = 0;
        #pragma unroll
        for (int b = 0; b < 4; ++b) {
            const unsigned entry = table[state], taken = entry & 7u;
            word |= (entry >> 24) << b * 8;
            state = ((entry >> 8) + ((unsigned)bits & (1u << taken) - 1u)) & 1023u;
            bits >>= taken, have -= (int)taken;
        }
        out[(size_t)k * streams + stream] = word;
    }
}

// Bessel functions of orders 0 to 3 of each place, by the recurrence taken downwards (Miller).
KERNEL(96) miller(const float *__restrict__ in, float *out, int count, int order) {
    const int at = blockIdx.x * 96 + threadIdx.x;
    const float x = 4.0f + 2.0f * in[at], twice = 2.0f / x;
    float above = 0.0f, own = 1e-20f, sum = 0.0f, j3 = 0.0f, j2 = 0.0f;
    #pragma unroll 2
    for (int n = order; n > 0; --n) {
        const float below = twice * (float)n * own - above;
        above = own, own = below;
        if (n == 4) j3 = own;
        if (n == 3) j2 = own;
        if (n & 1) sum += own;
    }
    const float scale = 1.0f / (2.0f * sum - own);
    out[at] = own * scale, out[count + at] = above * scale, out[2 * count + at] = j2 * scale, out[3 * count + at] = j3 * scale;
}
