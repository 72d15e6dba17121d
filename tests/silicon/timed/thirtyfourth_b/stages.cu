// Products of single warps, whose tiles cp.async brings in several stages.
#include "common.cuh"
#include <cuda_runtime.h>

extern __shared__ __align__(128) u8 memory[];
#define KERNEL(THREADS, BLOCKS) extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS)

// ---- alpha A B + beta C in bfloat16, all by rows: 128 x 128 a block of eight warps, 32 deep, three stages; sizes are multiples of eight. ----
template <int HOW> __device__ __forceinline__ void by_rows(const __nv_bfloat16 *a, const __nv_bfloat16 *b, const __nv_bfloat16 *c, __nv_bfloat16 *d, int m, int n, int k, float alpha, float beta) {
    constexpr int STAGES = 3, A = 128 * pitch<HOW>(64), SIZE = A + 32 * pitch<HOW>(256);
    const int t = threadIdx.x, lane = t % 32, warp = t / 32, wy = warp / 4 * 64, wx = warp % 4 * 32, steps = (k + 31) / 32;
    // Blocks go down by eight, so that neighbours in time share columns of B.
    const int at = blockIdx.y * gridDim.x + blockIdx.x, band = at / (8 * gridDim.x), high = min(8, (int)gridDim.y - band * 8);
    const int y = (band * 8 + at % (8 * gridDim.x) % high) * 128, x = at % (8 * gridDim.x) / high * 128;
    const auto load = [&](int step) {
        if (step < steps) {
            u8 *stage = memory + step % STAGES * SIZE;
            #pragma unroll
            for (int i = 0; i < 2; ++i) {
                const int row = t / 4 + i * 64, part = t % 4, deep = step * 32 + part * 8;
                const bool is = y + row < m && deep < k;
                copy16(stage + place<HOW, 64>(row, part), is ? a + (size_t)(y + row) * k + deep : a, is);
            }
            #pragma unroll
            for (int i = 0; i < 2; ++i) {
                const int row = t / 16 + i * 16, part = t % 16, deep = step * 32 + row, column = x + part * 8;
                const bool is = deep < k && column < n;
                copy16(stage + A + place<HOW, 256>(row, part), is ? b + (size_t)deep * n + column : b, is);
            }
        }
        commit();
    };
    float sums[4][4][4] = {};
    load(0);
    load(1);
    for (int step = 0; step < steps; ++step) {
        wait_groups<STAGES - 2>();
        __syncthreads();
        load(step + STAGES - 1);
        const u8 *stage = memory + step % STAGES * SIZE;
        #pragma unroll
        for (int deep = 0; deep < 2; ++deep) {
            u32 u[4][4], v[2][4];
            #pragma unroll
            for (int i = 0; i < 4; ++i) matrices(u[i], stage + place<HOW, 64>(wy + i * 16 + lane % 16, deep * 2 + lane / 16));
            #pragma unroll
            for (int j = 0; j < 2; ++j) matrices_turned(v[j], stage + A + place<HOW, 256>(deep * 16 + lane % 16, wx / 8 + j * 2 + lane / 16));
            #pragma unroll
            for (int i = 0; i < 4; ++i)
                #pragma unroll
                for (int j = 0; j < 4; ++j) product_brain(sums[i][j], u[i], v[j / 2][j % 2 * 2], v[j / 2][j % 2 * 2 + 1]);
        }
    }
    #pragma unroll
    for (int i = 0; i < 8; ++i) {
        const int row = y + wy + i * 8 + lane / 4;
        if (row >= m) break;
        #pragma unroll
        for (int j = 0; j < 4; ++j) {
            const int column = x + wx + j * 8 + lane % 4 * 2;
            if (column < n) {
                const float2 old = __bfloat1622float2(*(const __nv_bfloat162 *)(c + (size_t)row * n + column));
                *(u32 *)(d + (size_t)row * n + column) = brains(fmaf(beta, old.x, alpha * sums[i / 2][j][i % 2 * 2]), fmaf(beta, old.y, alpha * sums[i / 2][j][i % 2 * 2 + 1]));
            }
        }
    }
}
#define BY_ROWS(NAME, HOW)                                                                                                                                      \
    KERNEL(256, 2) brains_by_rows_##NAME(const __nv_bfloat16 *a, const __nv_bfloat16 *b, const __nv_bfloat16 *c, __nv_bfloat16 *d, int m, int n, int k, float alpha, \
                                         float beta) { by_rows<HOW>(a, b, c, d, m, n, k, alpha, beta); }
BY_ROWS(plain, PLAIN)
BY_ROWS(padded, PADDED)
BY_ROWS(swizzled, SWIZZLED)

// ---- A convolution of nine taps as a product, never unfolded: bytes, channels last; 128 points x 64 filters a block of four warps, 64 deep. ----
KERNEL(128, 3) bytes_unfolded(const u8 *in, const u8 *filters, const float *scales, u8 *out, int height, int width, int channels, int count, int points) {
    constexpr int STAGES = 4, SIZE = (128 + 64) * 64;
    const int t = threadIdx.x, lane = t % 32, warp = t / 32, slices = channels / 64, steps = 9 * slices;
    int line[4], column[4];
    const u8 *from[4];
    #pragma unroll
    for (int i = 0; i < 4; ++i) {
        const int point = blockIdx.x * 128 + t / 4 + i * 32, place_in = point % (height * width);
        line[i] = point < points ? place_in / width : -9, column[i] = place_in % width;
        from[i] = in + (size_t)point * channels + t % 4 * 16;
    }
    const auto load = [&](int step) {
        if (step < steps) {
            u8 *stage = memory + step % STAGES * SIZE;
            const int tap = step / slices, slice = step % slices * 64, dy = tap / 3 - 1, dx = tap % 3 - 1;
            #pragma unroll
            for (int i = 0; i < 4; ++i) {
                const bool is = (u32)(line[i] + dy) < (u32)height && (u32)(column[i] + dx) < (u32)width;
                copy16(stage + place<SWIZZLED, 64>(t / 4 + i * 32, t % 4), is ? from[i] + (dy * width + dx) * channels + slice : in, is);
            }
            #pragma unroll
            for (int i = 0; i < 2; ++i)
                copy16(stage + 8192 + place<SWIZZLED, 64>(t / 4 + i * 32, t % 4), filters + ((size_t)(blockIdx.y * 64 + t / 4 + i * 32) * 9 + tap) * channels + slice + t % 4 * 16);
        }
        commit();
    };
    int sums[4][4][4] = {};
    const int wy = warp / 2 * 64, wx = warp % 2 * 32;
    for (int step = 0; step < STAGES - 1; ++step) load(step);
    for (int step = 0; step < steps; ++step) {
        wait_groups<STAGES - 2>();
        __syncthreads();
        load(step + STAGES - 1);
        const u8 *stage = memory + step % STAGES * SIZE;
        #pragma unroll
        for (int deep = 0; deep < 2; ++deep) {
            u32 v[2][4];
            #pragma unroll
            for (int j = 0; j < 2; ++j) matrices(v[j], stage + 8192 + place<SWIZZLED, 64>(wx + j * 16 + lane / 16 * 8 + lane % 8, deep * 2 + lane / 8 % 2));
            #pragma unroll
            for (int i = 0; i < 4; ++i) {
                u32 u[4];
                matrices(u, stage + place<SWIZZLED, 64>(wy + i * 16 + lane % 16, deep * 2 + lane / 16));
                #pragma unroll
                for (int j = 0; j < 4; ++j) product_bytes(sums[i][j], u, v[j / 2][j % 2 * 2], v[j / 2][j % 2 * 2 + 1]);
            }
        }
    }
    wait_groups<0>();
    __syncthreads();
    #pragma unroll
    for (int i = 0; i < 8; ++i)
        #pragma unroll
        for (int j = 0; j < 8; ++j) {
            const int filter = wx + j / 2 * 8 + lane % 4 * 2 + j % 2;
            const float value = (float)sums[i / 2][j / 2][i % 2 * 2 + j % 2] * __ldg(scales + blockIdx.y * 64 + filter);
            memory[(wy + i * 8 + lane / 4) * 80 + filter] = (u8)(signed char)max(-128, min(127, __float2int_rn(value * 0.0625f)));
        }
    __syncthreads();
    for (int i = t; i < 512; i += 128)
        if (blockIdx.x * 128 + i / 4 < points)
            *(uint4 *)(out + (size_t)(blockIdx.x * 128 + i / 4) * count + blockIdx.y * 64 + i % 4 * 16) = *(const uint4 *)(memory + i / 4 * 80 + i % 4 * 16);
}

// ---- Small products of a batch on tensor cores, floats by rows: 64 x 64 a block of four warps, 16 deep, two stages; rows padded. -----------
KERNEL(128, 4) batch_of_tfloats(const float *a, const float *b, float *c, int m, int n, int k) {
    __shared__ __align__(16) float left[2][64][20], right[2][16][72];
    const int t = threadIdx.x, lane = t % 32, warp = t / 32, y = blockIdx.y * 64, x = blockIdx.x * 64, steps = (k + 15) / 16;
    a += (size_t)blockIdx.z * m * k, b += (size_t)blockIdx.z * k * n, c += (size_t)blockIdx.z * m * n;
    const auto load = [&](int step) {
        if (step < steps)
            #pragma unroll
            for (int i = 0; i < 2; ++i) {
                const int row = t / 4 + i * 32, deep = step * 16 + t % 4 * 4, line = step * 16 + t / 16 + i * 8, column = x + t % 16 * 4;
                const bool is = y + row < m && deep < k, too = line < k && column < n;
                copy16(&left[step % 2][row][t % 4 * 4], is ? a + (size_t)(y + row) * k + deep : a, is);
                copy16(&right[step % 2][t / 16 + i * 8][t % 16 * 4], too ? b + (size_t)line * n + column : b, too);
            }
        commit();
    };
    const auto rounded = [](float v) {
        u32 r;
        asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(r) : "f"(v));
        return r;
    };
    float sums[2][4][4] = {};
    const int wy = warp / 2 * 32 + lane / 4, wx = warp % 2 * 32 + lane / 4;
    load(0);
    for (int step = 0; step < steps; ++step) {
        load(step + 1);
        wait_groups<1>();
        __syncthreads();
        #pragma unroll
        for (int deep = lane % 4; deep < 16; deep += 8) {
            u32 u[2][4];
            #pragma unroll
            for (int i = 0; i < 8; ++i) u[i / 4][i % 4] = rounded(left[step % 2][wy + i / 4 * 16 + i % 2 * 8][deep + i / 2 % 2 * 4]);
            #pragma unroll
            for (int j = 0; j < 4; ++j) {
                const u32 p = rounded(right[step % 2][deep][wx + j * 8]), q = rounded(right[step % 2][deep + 4][wx + j * 8]);
                product_tfloat(sums[0][j], u[0], p, q);
                product_tfloat(sums[1][j], u[1], p, q);
            }
        }
        __syncthreads();
    }
    #pragma unroll
    for (int i = 0; i < 4; ++i)
        #pragma unroll
        for (int j = 0; j < 4; ++j) {
            const int row = y + wy + i * 8, column = x + warp % 2 * 32 + j * 8 + lane % 4 * 2;
            if (row < m && column < n) *(float2 *)(c + (size_t)row * n + column) = make_float2(sums[i / 2][j][i % 2 * 2], sums[i / 2][j][i % 2 * 2 + 1]);
        }
}

// ---- Weights of four bits in the order in which lanes take them, sixteen tokens: 256 columns a block, four warps across and two along k, 64 deep,
// four stages. A scale for 128 weights of a column. The two halves of k meet in shared memory; parts of k lie apart. ----
template <int HOW> __device__ __forceinline__ void nibbles(const __half *x, const uint4 *weights, const __half *scales, float *parts, int n, int k) {
    constexpr int STAGES = 4, A = 16 * pitch<HOW>(128), SIZE = A + 8192;
    const int t = threadIdx.x, lane = t % 32, warp = t / 32, across = warp % 4, along = warp / 4, all = k / 64;
    const int begin = blockIdx.y * all / gridDim.y, steps = (blockIdx.y + 1) * all / gridDim.y - begin;
    const auto load = [&](int step) {
        if (step < steps) {
            u8 *stage = memory + step % STAGES * SIZE;
            if (t < 128) copy16(stage + place<HOW, 128>(t / 8, t % 8), x + (size_t)(t / 8) * k + (begin + step) * 64 + t % 8 * 8);
            #pragma unroll
            for (int i = 0; i < 2; ++i)  // [k / 16][n / 64][lane]
                copy16(stage + A + (t + i * 256) * 16, weights + ((size_t)((begin + step) * 4 + t / 128 + i * 2) * (n / 64) + blockIdx.x * 4 + t / 32 % 4) * 32 + lane);
        }
        commit();
    };
    const auto number = [](u32 bits) { return *reinterpret_cast<const __half2 *>(&bits); };
    const auto bits_of = [](__half2 two) { return *reinterpret_cast<const u32 *>(&two); };
    float sums[8][4] = {};
    __half2 scale[8];
    for (int step = 0; step < STAGES - 1; ++step) load(step);
    for (int step = 0; step < steps; ++step) {
        wait_groups<STAGES - 2>();
        __syncthreads();
        load(step + STAGES - 1);
        if (step == 0 || (begin + step) % 2 == 0)
            #pragma unroll
            for (int j = 0; j < 8; ++j) scale[j] = __half2half2(scales[(size_t)((begin + step) / 2) * n + blockIdx.x * 256 + across * 64 + j * 8 + lane / 4]);
        const u8 *stage = memory + step % STAGES * SIZE;
        #pragma unroll
        for (int deep = 0; deep < 2; ++deep) {
            u32 u[4];
            matrices(u, stage + place<HOW, 128>(lane % 16, (along * 2 + deep) * 2 + lane / 16));
            const uint4 four = *(const uint4 *)(stage + A + ((along * 2 + deep) * 4 + across) * 512 + lane * 16);
            const u32 words[4] = {four.x, four.y, four.z, four.w};
            #pragma unroll
            for (int q = 0; q < 4; ++q) {
                const u32 low = words[q] & 0x000f000f | 0x64006400, high = words[q] & 0x00f000f0 | 0x64006400;
                const u32 next = words[q] >> 8 & 0x000f000f | 0x64006400, last = words[q] >> 8 & 0x00f000f0 | 0x64006400;
                const __half2 bias = number(0x64086408), sixteenth = number(0x2c002c00), less = number(0xd480d480);  // 1032, 1/16, -72
                const __half2 w0 = __hmul2(__hsub2(number(low), bias), scale[2 * q]), w1 = __hmul2(__hfma2(number(high), sixteenth, less), scale[2 * q]);
                const __half2 w2 = __hmul2(__hsub2(number(next), bias), scale[2 * q + 1]), w3 = __hmul2(__hfma2(number(last), sixteenth, less), scale[2 * q + 1]);
                product_half(sums[2 * q], u, bits_of(w0), bits_of(w1));
                product_half(sums[2 * q + 1], u, bits_of(w2), bits_of(w3));
            }
        }
    }
    wait_groups<0>();
    __syncthreads();
    float4 *meet = (float4 *)memory;
    if (along == 1)
        #pragma unroll
        for (int j = 0; j < 8; ++j) meet[j * 128 + across * 32 + lane] = *(const float4 *)sums[j];
    __syncthreads();
    if (along == 0)
        #pragma unroll
        for (int j = 0; j < 8; ++j) {
            const float4 other = meet[j * 128 + across * 32 + lane];
            float *to = parts + ((size_t)blockIdx.y * 16 + lane / 4) * n + blockIdx.x * 256 + across * 64 + j * 8 + lane % 4 * 2;
            *(float2 *)to = make_float2(sums[j][0] + other.x, sums[j][1] + other.y);
            *(float2 *)(to + 8 * (size_t)n) = make_float2(sums[j][2] + other.z, sums[j][3] + other.w);
        }
}
#define NIBBLES(NAME, HOW) \
    KERNEL(256, 2) nibbles_in_order_##NAME(const __half *x, const uint4 *weights, const __half *scales, float *parts, int n, int k) { nibbles<HOW>(x, weights, scales, parts, n, k); }
NIBBLES(plain, PLAIN)
NIBBLES(swizzled, SWIZZLED)
