// Products by mma.sync whose operands are made on the way: packed weights, convolution, attention, small products; and the WMMA API.
#include "common.cuh"
#include <mma.h>

extern __shared__ __align__(128) u8 memory[];

// Weights of BITS bits, 64 to a row and a step with one scale, unpacked into shared memory: 64 x 128 a block, three stages.
template <int BITS, int HOW> __device__ __forceinline__ void dequantised(const u8 *a, const uint4 *weights, const __half *scales, __half *c, int n, int k) {
    using Own = Tile<Half, 64, 128, 128, 1, 4, 3, HOW>;
    constexpr int WORDS = BITS / 2;  // of 16 bytes, to a row
    typename Own::Sums sums = {};
    const int t = threadIdx.x, steps = k / 128;
    const size_t own = (size_t)(blockIdx.x * 128 + t) * steps;
    uint4 packed[WORDS];
    __half2 scale;
    const auto load = [&](int step) {
        #pragma unroll
        for (int i = 0; i < WORDS; ++i) packed[i] = weights[(own + step) * WORDS + i];
        scale = __half2half2(scales[own + step]);
    };
    const auto put = [&](u8 *tile, int part, const u32 (&four)[4], u32 bias) {
        uint4 made;
        #pragma unroll
        for (int i = 0; i < 4; ++i) {
            const __half2 value = __hmul2(__hsub2(*(const __half2 *)&four[i], *(const __half2 *)&bias), scale);
            (&made.x)[i] = *(const u32 *)&value;
        }
        *(uint4 *)(tile + place<HOW, 128>(t, part)) = made;
    };
    load(0);
    Own::run(memory, steps, sums, [&](int step, u8 *to_a, u8 *to_b) {
        Own::fetch_a(to_a, a + (size_t)blockIdx.y * 64 * k + step * 128, k);
        #pragma unroll
        for (int part = 0; part < 8; ++part) {
            u32 four[4];
            if (BITS == 4) {  // the word's nibbles i and i + 4 are neighbours
                const u32 word = (&packed[part / 4].x)[part % 4];
                #pragma unroll
                for (int i = 0; i < 4; ++i) four[i] = (word >> 4 * i & 0x000f000f) | 0x64006400;
                put(to_b, part, four, 0x64086408);
            } else {
                const u32 *words = &packed[part / 2].x + part % 2 * 2;
                #pragma unroll
                for (int i = 0; i < 4; ++i) four[i] = __byte_perm(words[i / 2], 0x64646464, i % 2 ? 0x4342 : 0x4140);
                put(to_b, part, four, 0x64806480);
            }
        }
        if (step + 1 < steps) load(step + 1);
    });
    Own::each(sums, [&](int row, int column, const float *two) {
        *(u32 *)(c + (size_t)(blockIdx.y * 64 + row) * n + blockIdx.x * 128 + column) = halves(two[0], two[1]);
    });
}
#define DEQUANTISED(NAME, BITS, HOW)                                                                                            \
    NAMED(NAME, 128, dequantised, (const u8 *a, const uint4 *weights, const __half *scales, __half *c, int n, int k), \
          (a, weights, scales, c, n, k), BITS, HOW)
DEQUANTISED(four_bits_plain, 4, PLAIN)
DEQUANTISED(four_bits_padded, 4, PADDED)
DEQUANTISED(eight_bits, 8, SWIZZLED)

// Convolution by 3 x 3 as a product without its matrix: 64 channels to 64, rows of channels; 128 points a block, a tap a step, ReLU.
template <int HOW> __device__ __forceinline__ void convolved(const u8 *in, const u8 *filters, __half *out, int height, int width) {
    using Own = Tile<Half, 128, 64, 128, 4, 2, 3, HOW>;
    typename Own::Sums sums = {};
    const int t = threadIdx.x;
    int y[4], x[4];
    #pragma unroll
    for (int i = 0; i < 4; ++i) {
        const int point = blockIdx.x * 128 + t / 8 + i * 32;
        y[i] = point / width % height;
        x[i] = point % width;
    }
    Own::run(memory, 9, sums, [&](int tap, u8 *to_a, u8 *to_b) {
        const int dy = tap / 3 - 1, dx = tap % 3 - 1;
        #pragma unroll
        for (int i = 0; i < 4; ++i) {
            const bool in_it = (unsigned)(y[i] + dy) < height && (unsigned)(x[i] + dx) < width;
            const int point = blockIdx.x * 128 + t / 8 + i * 32 + (in_it ? dy * width + dx : 0);
            copy16_if(to_a + place<HOW, 128>(t / 8 + i * 32, t % 8), in + (size_t)point * 128 + t % 8 * 16, in_it);
        }
        Own::fetch_b(to_b, filters + tap * 128, 9 * 128);
    });
    Own::each(sums, [&](int row, int column, const float *two) {
        *(u32 *)(out + (size_t)(blockIdx.x * 128 + row) * 64 + column) = halves(fmaxf(two[0], 0), fmaxf(two[1], 0));
    });
}
#define CONVOLVED(NAME, HOW) \
    NAMED(NAME, 256, convolved, (const u8 *in, const u8 *filters, __half *out, int height, int width), (in, filters, out, height, width), HOW)
CONVOLVED(convolved_plain, PLAIN)
CONVOLVED(convolved_swizzled, SWIZZLED)

// Small products, one to a block: 64 x 64, 128 deep.
template <int HOW> __device__ __forceinline__ void batched(const u8 *a, const u8 *b, float *c) {
    using Own = Tile<Half, 64, 64, 128, 2, 2, 2, HOW>;
    typename Own::Sums sums = {};
    const size_t base = (size_t)blockIdx.x * 64 * 256;
    Own::run(memory, 2, sums, [&](int step, u8 *to_a, u8 *to_b) {
        Own::fetch_a(to_a, a + base + step * 128, 256);
        Own::fetch_b(to_b, b + base + step * 128, 256);
    });
    Own::each(sums, [&](int row, int column, const float *two) {
        *(float2 *)(c + (size_t)blockIdx.x * 4096 + row * 64 + column) = make_float2(two[0], two[1]);
    });
}
NAMED(batched_plain, 128, batched, (const u8 *a, const u8 *b, float *c), (a, b, c), PLAIN)
NAMED(batched_padded, 128, batched, (const u8 *a, const u8 *b, float *c), (a, b, c), PADDED)

// Attention of 64 queries a block over tiles of 64 tokens, heads of 64: scores and what is left of them stay in registers.
template <int HOW, bool CAUSAL> __device__ __forceinline__ void flash(const u8 *q, const u8 *k, const u8 *v, __half *out, int tokens, float scale) {
    constexpr int TILE = 64 * pitch<HOW>(128);
    __shared__ __align__(128) u8 queries[TILE], keys[2][TILE], values[2][TILE];
    const int t = threadIdx.x, lane = t % 32, first = t / 32 * 16, block = CAUSAL ? gridDim.x - 1 - blockIdx.x : blockIdx.x;
    const size_t head = (size_t)blockIdx.y * tokens * 128;
    const auto fetch = [&](u8 *to, const u8 *from, int tile) {
        #pragma unroll
        for (int i = t; i < 512; i += 128) copy16(to + place<HOW, 128>(i / 8, i % 8), from + head + tile * 8192 + i * 16);
    };
    const int tiles = CAUSAL ? block + 1 : tokens / 64;
    u32 x[4][4];
    float sums[8][4] = {}, most[2] = {-1e30f, -1e30f}, total[2] = {};
    fetch(queries, q, block);
    fetch(keys[0], k, 0);
    fetch(values[0], v, 0);
    commit();
    for (int tile = 0; tile < tiles; ++tile) {
        if (tile + 1 < tiles) {
            fetch(keys[(tile + 1) % 2], k, tile + 1);
            fetch(values[(tile + 1) % 2], v, tile + 1);
        }
        commit();
        wait_for<1>();
        __syncthreads();
        if (tile == 0)
            #pragma unroll
            for (int d = 0; d < 4; ++d) load_matrices(x[d], queries + place<HOW, 128>(first + lane % 16, 2 * d + lane / 16));
        float scores[8][4] = {};
        #pragma unroll
        for (int d = 0; d < 4; ++d)
            #pragma unroll
            for (int j = 0; j < 4; ++j) {
                u32 y[4];
                load_matrices(y, keys[tile % 2] + place<HOW, 128>(j * 16 + lane / 16 * 8 + lane % 8, 2 * d + lane / 8 % 2));
                Half::multiply(scores[2 * j], x[d], y[0], y[1]);
                Half::multiply(scores[2 * j + 1], x[d], y[2], y[3]);
            }
        if (CAUSAL && tile == block)
            #pragma unroll
            for (int i = 0; i < 32; ++i)
                if (i / 4 * 8 + lane % 4 * 2 + i % 2 > first + lane / 4 + i / 2 % 2 * 8) scores[i / 4][i % 4] = -1e30f;
        #pragma unroll
        for (int h = 0; h < 2; ++h) {
            float highest = most[h];
            #pragma unroll
            for (int j = 0; j < 8; ++j) highest = fmaxf(highest, fmaxf(scores[j][2 * h], scores[j][2 * h + 1]));
            highest = fmaxf(highest, __shfl_xor_sync(~0u, highest, 1));
            highest = fmaxf(highest, __shfl_xor_sync(~0u, highest, 2));
            const float fewer = exp2f((most[h] - highest) * scale);
            most[h] = highest;
            total[h] *= fewer;
            #pragma unroll
            for (int j = 0; j < 8; ++j)
                #pragma unroll
                for (int e = 2 * h; e < 2 * h + 2; ++e) {
                    scores[j][e] = exp2f((scores[j][e] - highest) * scale);
                    total[h] += scores[j][e];
                    sums[j][e] *= fewer;
                }
        }
        #pragma unroll
        for (int d = 0; d < 4; ++d) {
            const float(&s)[4] = scores[2 * d], (&s1)[4] = scores[2 * d + 1];
            const u32 p[4] = {halves(s[0], s[1]), halves(s[2], s[3]), halves(s1[0], s1[1]), halves(s1[2], s1[3])};
            #pragma unroll
            for (int j = 0; j < 4; ++j) {
                u32 y[4];
                load_turned(y, values[tile % 2] + place<HOW, 128>(d * 16 + lane % 16, 2 * j + lane / 16));
                Half::multiply(sums[2 * j], p, y[0], y[1]);
                Half::multiply(sums[2 * j + 1], p, y[2], y[3]);
            }
        }
        __syncthreads();
    }
    #pragma unroll
    for (int h = 0; h < 2; ++h) {
        total[h] += __shfl_xor_sync(~0u, total[h], 1);
        total[h] += __shfl_xor_sync(~0u, total[h], 2);
        const float share = 1 / total[h];
        __half *to = out + head / 2 + (size_t)(block * 64 + first + h * 8 + lane / 4) * 64 + lane % 4 * 2;
        #pragma unroll
        for (int j = 0; j < 8; ++j) *(u32 *)(to + j * 8) = halves(sums[j][2 * h] * share, sums[j][2 * h + 1] * share);
    }
}
#define FLASH(NAME, HOW, CAUSAL)                                                                                                    \
    NAMED(NAME, 128, flash, (const u8 *q, const u8 *k, const u8 *v, __half *out, int tokens, float scale), (q, k, v, out, tokens, scale), \
          HOW, CAUSAL)
FLASH(flash_plain, PLAIN, false)
FLASH(flash_swizzled, SWIZZLED, false)
FLASH(flash_causal, SWIZZLED, true)

// The WMMA API, straight from global memory: 16 x 16 a warp, 2 x 2 warps.
extern "C" __global__ void __launch_bounds__(128) wmma_global(const __half *a, const __half *b, float *c, int n, int k) {
    using namespace nvcuda;
    const int warp = threadIdx.x / 32, row = blockIdx.y * 32 + warp / 2 * 16, column = blockIdx.x * 32 + warp % 2 * 16;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum;
    wmma::fill_fragment(sum, 0.0f);
    for (int i = 0; i < k / 2; i += 16) {
        wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> x;
        wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::col_major> y;
        wmma::load_matrix_sync(x, a + (size_t)row * (k / 2) + i, k / 2);
        wmma::load_matrix_sync(y, b + (size_t)column * (k / 2) + i, k / 2);
        wmma::mma_sync(sum, x, y, sum);
    }
    wmma::store_matrix_sync(c + (size_t)row * n + column, sum, n, wmma::mem_row_major);
}

// Through shared memory: 2 x 2 warps of FM x FN fragments of M x N, DEPTH deep, rows of LD halves.
template <int M, int N, int FM, int FN, int DEPTH, int LD> __device__ __forceinline__ void wmma_shared(const __half *a, const __half *b, float *c, int n, int k) {
    using namespace nvcuda;
    constexpr int ROWS = 2 * FM * M, COLUMNS = 2 * FN * N, PARTS = DEPTH / 8;
    __shared__ __align__(128) __half left[ROWS * LD], right[COLUMNS * LD];
    const int t = threadIdx.x, wy = t / 64 * FM * M, wx = t / 32 % 2 * FN * N, deep = k / 2;
    wmma::fragment<wmma::accumulator, M, N, 16, float> sums[FM][FN];
    #pragma unroll
    for (int i = 0; i < FM * FN; ++i) wmma::fill_fragment(sums[i / FN][i % FN], 0.0f);
    a += (size_t)blockIdx.y * ROWS * deep;
    b += (size_t)blockIdx.x * COLUMNS * deep;
    for (int at = 0; at < deep; at += DEPTH) {
        #pragma unroll
        for (int i = t; i < ROWS * PARTS; i += 128) *(uint4 *)(left + i / PARTS * LD + i % PARTS * 8) = *(const uint4 *)(a + (size_t)(i / PARTS) * deep + at + i % PARTS * 8);
        #pragma unroll
        for (int i = t; i < COLUMNS * PARTS; i += 128) *(uint4 *)(right + i / PARTS * LD + i % PARTS * 8) = *(const uint4 *)(b + (size_t)(i / PARTS) * deep + at + i % PARTS * 8);
        __syncthreads();
        #pragma unroll
        for (int d = 0; d < DEPTH; d += 16) {
            wmma::fragment<wmma::matrix_a, M, N, 16, __half, wmma::row_major> x[FM];
            #pragma unroll
            for (int i = 0; i < FM; ++i) wmma::load_matrix_sync(x[i], left + (wy + i * M) * LD + d, LD);
            #pragma unroll
            for (int j = 0; j < FN; ++j) {
                wmma::fragment<wmma::matrix_b, M, N, 16, __half, wmma::col_major> y;
                wmma::load_matrix_sync(y, right + (wx + j * N) * LD + d, LD);
                #pragma unroll
                for (int i = 0; i < FM; ++i) wmma::mma_sync(sums[i][j], x[i], y, sums[i][j]);
            }
        }
        __syncthreads();
    }
    #pragma unroll
    for (int i = 0; i < FM; ++i)
        #pragma unroll
        for (int j = 0; j < FN; ++j)
            wmma::store_matrix_sync(c + (size_t)(blockIdx.y * ROWS + wy + i * M) * n + blockIdx.x * COLUMNS + wx + j * N, sums[i][j], n, wmma::mem_row_major);
}
#define WMMA(NAME, ...) NAMED(NAME, 128, wmma_shared, (const __half *a, const __half *b, float *c, int n, int k), (a, b, c, n, k), __VA_ARGS__)
WMMA(wmma_square_plain, 16, 16, 2, 2, 32, 32)
WMMA(wmma_square_padded, 16, 16, 2, 2, 32, 40)
WMMA(wmma_tall_plain, 32, 8, 1, 4, 64, 64)
WMMA(wmma_tall_padded, 32, 8, 1, 4, 64, 72)
