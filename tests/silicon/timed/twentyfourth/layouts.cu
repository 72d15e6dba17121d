// Kernels of the twenty-fourth set in groups that differ in the layout of shared memory alone: turns, sorts, codes, pixels, caches, polynomials, sets.
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#define KERNEL(THREADS) extern "C" __global__ void __launch_bounds__(THREADS)
#define ALL 0xffffffffu

enum Layout { PLAIN, PADDED, OTHER };

// A square matrix turned in its own place: a block two tiles of 32 by 32 that lie across the diagonal from one another; tiles of two triangles are
// folded to a rectangle of blocks.
template <Layout HOW> __device__ __forceinline__ int turn_place(int row, int column) {
    return HOW == PADDED ? row * 33 + column : HOW == OTHER ? row * 32 + (column ^ row) : row * 32 + column;
}
template <Layout HOW> __device__ __forceinline__ void turn_in_place(float *matrix, int size) {
    __shared__ float above[32 * 33], below[32 * 33];
    const int x = blockIdx.x, y = blockIdx.y, tiles = size / 32, tx = threadIdx.x, ty = threadIdx.y;
    const int row = x > y ? y : tiles - 1 - y, column = x > y ? x - 1 : tiles - 1 - x;
    float *one = matrix + (size_t)row * 32 * size + column * 32, *two = matrix + (size_t)column * 32 * size + row * 32;
    #pragma unroll
    for (int i = ty; i < 32; i += 8) {
        above[turn_place<HOW>(i, tx)] = one[(size_t)i * size + tx];
        below[turn_place<HOW>(i, tx)] = two[(size_t)i * size + tx];
    }
    __syncthreads();
    #pragma unroll
    for (int i = ty; i < 32; i += 8) {
        two[(size_t)i * size + tx] = above[turn_place<HOW>(tx, i)];
        one[(size_t)i * size + tx] = below[turn_place<HOW>(tx, i)];
    }
}
KERNEL(256) turn_in_place_plain(float *matrix, int size) { turn_in_place<PLAIN>(matrix, size); }
KERNEL(256) turn_in_place_padded(float *matrix, int size) { turn_in_place<PADDED>(matrix, size); }
KERNEL(256) turn_in_place_swizzled(float *matrix, int size) { turn_in_place<OTHER>(matrix, size); }

// Squares of 32 by 32 keys sorted like a snake (shear sort): a warp a square, whose rows and columns lanes sort in registers by turns.
__device__ __forceinline__ void sorted(unsigned *v) {
    #pragma unroll
    for (int k = 2; k <= 32; k *= 2)
        #pragma unroll
        for (int j = k / 2; j > 0; j /= 2)
            #pragma unroll
            for (int i = 0; i < 32; ++i)
                if ((i ^ j) > i) {
                    const unsigned least = min(v[i], v[i ^ j]), most = max(v[i], v[i ^ j]);
                    v[i] = i & k ? most : least, v[i ^ j] = i & k ? least : most;
                }
}
template <int PITCH> __device__ __forceinline__ void shear_sort(const unsigned *in, unsigned *out) {
    __shared__ unsigned squares[4][32 * PITCH];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const size_t base = ((size_t)blockIdx.x * 4 + warp) * 1024;
    unsigned *square = squares[warp], v[32];
    #pragma unroll
    for (int k = 0; k < 32; ++k) square[k * PITCH + lane] = in[base + k * 32 + lane];
    const unsigned other = lane % 2 ? ALL : 0u;
    #pragma unroll 1
    for (int phase = 0; phase < 11; ++phase) {
        __syncwarp();
        if (phase % 2 == 0) {
            #pragma unroll
            for (int k = 0; k < 32; ++k) v[k] = square[lane * PITCH + k] ^ other;
        } else {
            #pragma unroll
            for (int k = 0; k < 32; ++k) v[k] = square[k * PITCH + lane];
        }
        sorted(v);
        if (phase % 2 == 0) {
            #pragma unroll
            for (int k = 0; k < 32; ++k) square[lane * PITCH + k] = v[k] ^ other;
        } else {
            #pragma unroll
            for (int k = 0; k < 32; ++k) square[k * PITCH + lane] = v[k];
        }
    }
    __syncwarp();
    #pragma unroll
    for (int k = 0; k < 32; ++k) out[base + k * 32 + lane] = square[k * PITCH + lane];
}
KERNEL(128) shear_sort_plain(const unsigned *in, unsigned *out) { shear_sort<32>(in, out); }
KERNEL(128) shear_sort_padded(const unsigned *in, unsigned *out) { shear_sort<33>(in, out); }

// Coefficients of JPEG, divided, in the order of a zigzag, and the bits that they will take: a thread a block of 64, 128 of which lie in shared memory.
template <int PITCH> __device__ __forceinline__ void zigzag(const unsigned *in, const float *shares, unsigned *out, int *bits) {
    constexpr int order[64] = {0,  1,  8,  16, 9,  2,  3,  10, 17, 24, 32, 25, 18, 11, 4,  5,  12, 19, 26, 33, 40, 48,
                               41, 34, 27, 20, 13, 6,  7,  14, 21, 28, 35, 42, 49, 56, 57, 50, 43, 36, 29, 22, 15, 23,
                               30, 37, 44, 51, 58, 59, 52, 45, 38, 31, 39, 46, 53, 60, 61, 54, 47, 55, 62, 63};
    __shared__ unsigned words[128 * PITCH];
    const int t = threadIdx.x;
    const size_t base = (size_t)blockIdx.x * 4096;
    for (int i = t; i < 4096; i += 128) words[i / 32 * PITCH + i % 32] = in[base + i];
    __syncthreads();
    const short *own = reinterpret_cast<const short *>(words + t * PITCH);
    int coded = 0, zeros = 0;
    unsigned pairs[32];
    #pragma unroll
    for (int k = 0; k < 64; ++k) {
        const int value = __float2int_rn((float)(own[order[k]] - 500) * 0.04f * __ldg(shares + k));
        const int size = 32 - __clz(abs(value));
        coded += value ? zeros / 16 * 11 + 4 + min(zeros % 16, 3) + 2 * size : 0;
        zeros = value ? 0 : zeros + 1;
        pairs[k / 2] = k % 2 ? pairs[k / 2] | (unsigned)value << 16 : (unsigned)value & 0xffffu;
    }
    #pragma unroll
    for (int k = 0; k < 32; ++k) words[t * PITCH + k] = pairs[k];
    bits[blockIdx.x * 128 + t] = coded + (zeros ? 4 : 0);
    __syncthreads();
    for (int i = t; i < 4096; i += 128) out[base + i] = words[i / 32 * PITCH + i % 32];
}
KERNEL(128) zigzag_plain(const unsigned *in, const float *shares, unsigned *out, int *bits) { zigzag<32>(in, shares, out, bits); }
KERNEL(128) zigzag_padded(const unsigned *in, const float *shares, unsigned *out, int *bits) { zigzag<33>(in, shares, out, bits); }

// Steps of a plasma along a line (ideal magnetohydrodynamics, fluxes by Rusanov): eight numbers a cell, a block a ring of 128 cells.
template <Layout HOW> __device__ __forceinline__ int cell_place(int cell, int k) {
    return HOW == PADDED ? cell * 9 + k : HOW == OTHER ? k * 128 + cell : cell * 8 + k;
}
__device__ __forceinline__ float plasma_flux(const float *u, float along, float *f) {
    const float share = 1.0f / fmaxf(u[0], 0.05f), vx = u[1] * share, vy = u[2] * share, vz = u[3] * share;
    const float field = along * along + u[4] * u[4] + u[5] * u[5], moving = 0.5f * u[0] * (vx * vx + vy * vy + vz * vz);
    const float pressure = fmaxf(0.6666667f * (u[6] - moving - 0.5f * field), 0.01f), total = pressure + 0.5f * field;
    f[0] = u[1], f[1] = u[1] * vx + total - along * along, f[2] = u[2] * vx - along * u[4], f[3] = u[3] * vx - along * u[5];
    f[4] = u[4] * vx - along * vy, f[5] = u[5] * vx - along * vz, f[7] = u[7] * vx;
    f[6] = (u[6] + total) * vx - along * (along * vx + u[4] * vy + u[5] * vz);
    return fabsf(vx) + sqrtf((1.6666667f * pressure + field) * share);
}
template <Layout HOW> __device__ __forceinline__ void plasma(const float *in, float *out, int cells, int steps, float along, float step) {
    __shared__ float state[128 * 9];
    const int t = threadIdx.x, before = (t + 127) % 128, after = (t + 1) % 128;
    const size_t at = (size_t)blockIdx.x * 128 + t;
    #pragma unroll
    for (int k = 0; k < 8; ++k) state[cell_place<HOW>(t, k)] = (k == 0 || k == 7 ? 1.0f : k == 6 ? 3.0f : 0.0f) + 0.3f * in[(size_t)k * cells + at];
    #pragma unroll 1
    for (int s = 0; s < steps; ++s) {
        __syncthreads();
        float own[8], left[8], right[8], f[8], fl[8], fr[8];
        #pragma unroll
        for (int k = 0; k < 8; ++k)
            own[k] = state[cell_place<HOW>(t, k)], left[k] = state[cell_place<HOW>(before, k)], right[k] = state[cell_place<HOW>(after, k)];
        const float speed = plasma_flux(own, along, f), low = fmaxf(speed, plasma_flux(left, along, fl)), high = fmaxf(speed, plasma_flux(right, along, fr));
        __syncthreads();
        #pragma unroll
        for (int k = 0; k < 8; ++k) {
            const float in_flux = 0.5f * (fl[k] + f[k] - low * (own[k] - left[k])), out_flux = 0.5f * (f[k] + fr[k] - high * (right[k] - own[k]));
            state[cell_place<HOW>(t, k)] = own[k] + step * (in_flux - out_flux);
        }
    }
    #pragma unroll
    for (int k = 0; k < 8; ++k) out[(size_t)k * cells + at] = state[cell_place<HOW>(t, k)];
}
#define PLASMA(NAME, HOW) \
    KERNEL(128) plasma_##NAME(const float *in, float *out, int cells, int steps, float along, float step) { plasma<HOW>(in, out, cells, steps, along, step); }
PLASMA(together, PLAIN)
PLASMA(padded, PADDED)
PLASMA(apart, OTHER)

// Sixteen channels to four by four pixels (pixel shuffle), with a gain, an offset and a leaky rectifier: a block a row of 64 of one plane.
template <int PITCH> __device__ __forceinline__ void pixel_shuffle(const float *in, const float *gains, float *out, float leak) {
    __shared__ float tile[16 * PITCH];
    const int t = threadIdx.x, y = blockIdx.x, plane = blockIdx.y;
    const float gain = 1.0f + __ldg(gains + plane), offset = __ldg(gains + gridDim.y + plane);
    #pragma unroll
    for (int p = 0; p < 4; ++p) {
        const int channel = p * 4 + t / 64, x = t % 64;
        const float value = gain * in[(((size_t)plane * 16 + channel) * 64 + y) * 64 + x] + offset;
        tile[channel * PITCH + x] = value > 0.0f ? value : leak * value;
    }
    __syncthreads();
    #pragma unroll
    for (int p = 0; p < 4; ++p) out[((size_t)plane * 256 + y * 4 + p) * 256 + t] = tile[(p * 4 + t % 4) * PITCH + t / 4];
}
KERNEL(256) pixel_shuffle_plain(const float *in, const float *gains, float *out, float leak) { pixel_shuffle<64>(in, gains, out, leak); }
KERNEL(256) pixel_shuffle_padded(const float *in, const float *gains, float *out, float leak) { pixel_shuffle<72>(in, gains, out, leak); }

// Keys of new tokens to the pages of a cache: 64 tokens of one head a block, chunks of eight halves; in a page chunks lie by sixteen tokens.
template <int PITCH> __device__ __forceinline__ void cache_chunks(const uint4 *keys, uint4 *cache, int pages) {
    __shared__ uint4 tile[64 * PITCH];
    const int t = threadIdx.x, head = blockIdx.y, heads = gridDim.y;
    #pragma unroll
    for (int p = 0; p < 4; ++p) {
        const int token = p * 16 + t / 16, chunk = t % 16;
        tile[token * PITCH + chunk] = keys[(((size_t)blockIdx.x * 64 + token) * heads + head) * 16 + chunk];
    }
    __syncthreads();
    #pragma unroll
    for (int p = 0; p < 4; ++p) {
        const int token = t % 64, chunk = p * 4 + t / 64, page = ((blockIdx.x * 4 + token / 16) * 5 + 3) % pages;
        cache[(((size_t)page * heads + head) * 16 + chunk) * 16 + token % 16] = tile[token * PITCH + chunk];
    }
}
KERNEL(256) cache_chunks_plain(const uint4 *keys, uint4 *cache, int pages) { cache_chunks<16>(keys, cache, pages); }
KERNEL(256) cache_chunks_padded(const uint4 *keys, uint4 *cache, int pages) { cache_chunks<17>(keys, cache, pages); }

// Polynomials through sixteen points of their own, at two places each (Neville): a thread a polynomial, its places and its table in shared memory.
template <Layout HOW> __device__ __forceinline__ int node_place(int t, int k) { return HOW == PADDED ? t * 17 + k : HOW == OTHER ? k * 128 + t : t * 16 + k; }
template <Layout HOW> __device__ __forceinline__ void neville(const float *offsets, const float *values, float *out, int count, int nodes) {
    __shared__ float places[128 * 17], table[128 * 17];
    const int t = threadIdx.x, at = blockIdx.x * 128 + t;
    for (int k = 0; k < nodes; ++k) places[node_place<HOW>(t, k)] = (float)k + 0.3f * offsets[(size_t)k * count + at];
    #pragma unroll 1
    for (int q = 0; q < 2; ++q) {
        const float x = 4.25f + 5.5f * (float)q;
        for (int k = 0; k < nodes; ++k) table[node_place<HOW>(t, k)] = values[(size_t)k * count + at];
        #pragma unroll 1
        for (int m = 1; m < nodes; ++m) {
            float low = table[node_place<HOW>(t, 0)];
            #pragma unroll 2
            for (int i = 0; i < nodes - m; ++i) {
                const float a = places[node_place<HOW>(t, i)], b = places[node_place<HOW>(t, i + m)], high = table[node_place<HOW>(t, i + 1)];
                table[node_place<HOW>(t, i)] = __fdividef((x - b) * low + (a - x) * high, a - b);
                low = high;
            }
        }
        out[(size_t)q * count + at] = table[node_place<HOW>(t, 0)];
    }
}
#define NEVILLE(NAME, HOW) \
    KERNEL(128) neville_##NAME(const float *offsets, const float *values, float *out, int count, int nodes) { neville<HOW>(offsets, values, out, count, nodes); }
NEVILLE(rows, PLAIN)
NEVILLE(padded, PADDED)
NEVILLE(columns, OTHER)

// Products of functions over sets (OR-convolution) by sums over subsets: 4096 sets a block, sixteen a thread, four elements of a set a pass.
template <bool LESS> __device__ __forceinline__ void levels(unsigned *v) {
    #pragma unroll
    for (int bit = 1; bit < 16; bit *= 2)
        #pragma unroll
        for (int j = 0; j < 16; ++j)
            if (j & bit) v[j] = LESS ? v[j] - v[j ^ bit] : v[j] + v[j ^ bit];
}
template <bool WIDER> __device__ __forceinline__ void or_product(const unsigned *a, const unsigned *b, unsigned *out) {
    __shared__ unsigned held[4096 + 128];
    const int t = threadIdx.x, middle = t / 16 * 256 + t % 16;
    const size_t base = (size_t)blockIdx.x * 4096;
    const auto place = [](int i) { return WIDER ? i + i / 32 : i; };
    unsigned v[16], w[16];
    // No sum of a first place and a step carries into the words that are skipped.
    const auto write = [&](const unsigned *from, int first, int by) {
        #pragma unroll
        for (int j = 0; j < 16; ++j) held[place(first) + place(j * by)] = from[j];
        __syncthreads();
    };
    const auto read = [&](unsigned *to, int first, int by) {
        #pragma unroll
        for (int j = 0; j < 16; ++j) to[j] = held[place(first) + place(j * by)];
        __syncthreads();
    };
    const auto sums = [&](const unsigned *from, unsigned *to) {
        #pragma unroll
        for (int j = 0; j < 16; ++j) to[j] = from[base + j * 256 + t];
        levels<false>(to), write(to, t, 256), read(to, middle, 16);
        levels<false>(to), write(to, middle, 16), read(to, t * 16, 1);
        levels<false>(to);
    };
    sums(a, v), sums(b, w);
    #pragma unroll
    for (int j = 0; j < 16; ++j) v[j] *= w[j];
    levels<true>(v), write(v, t * 16, 1), read(v, middle, 16);
    levels<true>(v), write(v, middle, 16), read(v, t, 256);
    levels<true>(v);
    #pragma unroll
    for (int j = 0; j < 16; ++j) out[base + j * 256 + t] = v[j];
}
KERNEL(256) or_product_plain(const unsigned *a, const unsigned *b, unsigned *out) { or_product<false>(a, b, out); }
KERNEL(256) or_product_padded(const unsigned *a, const unsigned *b, unsigned *out) { or_product<true>(a, b, out); }
