// Products by mma.sync of tiles that cp.async brings: kinds, tiles, stages, layouts and ways out.
#include "common.cuh"

extern __shared__ __align__(128) u8 memory[];

template <class T> __device__ __forceinline__ void put_two(T *c, size_t at, const float *two) {
    if constexpr (sizeof(T) == 4) *(float2 *)(c + at) = make_float2(two[0], two[1]);
    else *(u32 *)(c + at) = halves(two[0], two[1]);
}
__device__ __forceinline__ void put_two(int *c, size_t at, const int *two) { *(int2 *)(c + at) = make_int2(two[0], two[1]); }
__device__ __forceinline__ void put_two(__half *c, size_t at, const u32 *two) { *(u32 *)(c + at) = *two; }

template <class Tile> __device__ __forceinline__ void load_and_multiply(const u8 *a, const u8 *b, int n, int k, int step, int steps, typename Tile::Sums &sums) {
    a += (size_t)blockIdx.y * Tile::ROWS * k;
    b += Tile::turned ? (size_t)blockIdx.x * Tile::COLUMNS * 2 : (size_t)blockIdx.x * Tile::COLUMNS * k;
    const size_t across = Tile::turned ? n * 2 : k;
    Tile::run(memory, steps, sums, [&](int i, u8 *to_a, u8 *to_b) {
        Tile::fetch_a(to_a, a + (step + i) * Tile::DEPTH, k);
        Tile::fetch_b(to_b, b + (Tile::turned ? (step + i) * (Tile::DEPTH / 2) * across : (step + i) * Tile::DEPTH), across);
    });
}

// C = A B, n columns, rows of k bytes.
template <class Tile, class T> __device__ __forceinline__ void product(const u8 *a, const u8 *b, T *c, int n, int k) {
    typename Tile::Sums sums = {};
    load_and_multiply<Tile>(a, b, n, k, 0, k / Tile::DEPTH, sums);
    Tile::each(sums, [&](int row, int column, const auto *two) {
        put_two(c, (size_t)(blockIdx.y * Tile::ROWS + row) * n + blockIdx.x * Tile::COLUMNS + column, two);
    });
}
#define PRODUCT(NAME, T, KIND, BM, BN, KB, WM, WN, ...) \
    NAMED(NAME, WM * WN * 32, product, (const u8 *a, const u8 *b, T *c, int n, int k), (a, b, c, n, k), Tile<KIND, BM, BN, KB, WM, WN, __VA_ARGS__>, T)

// Halves, sums of floats: 128 x 128, eight warps, three stages of 32 deep.
PRODUCT(hgemm_plain, float, Half, 128, 128, 64, 2, 4, 3, PLAIN)
PRODUCT(hgemm_padded, float, Half, 128, 128, 64, 2, 4, 3, PADDED)
PRODUCT(hgemm_swizzled, float, Half, 128, 128, 64, 2, 4, 3, SWIZZLED)
// Sums of halves: 64 x 64, four warps, two stages of 64 deep.
PRODUCT(hgemm_small_plain, __half, HalfSum, 64, 64, 128, 2, 2, 2, PLAIN)
PRODUCT(hgemm_small_padded, __half, HalfSum, 64, 64, 128, 2, 2, 2, PADDED)
// 256 x 128, eight warps of 64 x 64, four stages of 32 deep.
PRODUCT(hgemm_large_plain, float, Half, 256, 128, 64, 4, 2, 4, PLAIN)
PRODUCT(hgemm_large_swizzled, float, Half, 256, 128, 64, 4, 2, 4, SWIZZLED)
// Brain floats, B of rows along n, which ldmatrix turns: 128 x 64, four warps, two stages.
PRODUCT(bf16_rows_plain, float, Brain, 128, 64, 64, 2, 2, 2, PLAIN, true)
PRODUCT(bf16_rows_swizzled, float, Brain, 128, 64, 64, 2, 2, 2, SWIZZLED, true)
// Halves of B turned, 128 x 128, four warps of 64 x 64, four stages.
PRODUCT(hgemm_turned, float, Half, 128, 128, 64, 2, 2, 4, SWIZZLED, true)
// Floats of 19 bits: 128 x 64, eight warps, three stages of 16 deep.
PRODUCT(tf32_plain, float, Tensor32, 128, 64, 64, 4, 2, 3, PLAIN)
PRODUCT(tf32_padded, float, Tensor32, 128, 64, 64, 4, 2, 3, PADDED)
// Bytes: 128 x 128, eight warps, three stages of 128 deep.
PRODUCT(int8_plain, int, Byte, 128, 128, 128, 2, 4, 3, PLAIN)
PRODUCT(int8_swizzled, int, Byte, 128, 128, 128, 2, 4, 3, SWIZZLED)
// Floats of eight bits, which this chip's mma.sync turns into halves: 128 x 64, four warps.
PRODUCT(fp8_sync, float, Eight, 128, 64, 64, 2, 2, 4, SWIZZLED)

// Each block of a column of blocks sums a share of k, and adds it to C.
template <class Tile> __device__ __forceinline__ void split(const u8 *a, const u8 *b, float *c, int n, int k) {
    typename Tile::Sums sums = {};
    const int steps = k / Tile::DEPTH / gridDim.z;
    load_and_multiply<Tile>(a, b, n, k, blockIdx.z * steps, steps, sums);
    Tile::each(sums, [&](int row, int column, const float *two) {
        float *to = c + (size_t)(blockIdx.y * Tile::ROWS + row) * n + blockIdx.x * Tile::COLUMNS + column;
        atomicAdd(to, two[0]);
        atomicAdd(to + 1, two[1]);
    });
}
using Split = Tile<Half, 64, 64, 128, 2, 2, 3, SWIZZLED>;
NAMED(hgemm_split, 128, split, (const u8 *a, const u8 *b, float *c, int n, int k), (a, b, c, n, k), Split)

// A layer: bias and SiLU on the sums, halves by way of shared memory (as words or by stmatrix) to stores of 16 bytes; or at once.
enum { ONCE, WORDS, MATRICES };
template <class Tile, int WAY, int HOW> __device__ __forceinline__ void layer(const u8 *a, const u8 *b, const float *bias, __half *c, int n, int k) {
    typename Tile::Sums sums = {};
    load_and_multiply<Tile>(a, b, n, k, 0, k / Tile::DEPTH, sums);
    const int lane = threadIdx.x % 32;
    const auto finished = [&](int column, const float *two) {
        const float2 added = *(const float2 *)(bias + blockIdx.x * Tile::COLUMNS + column);
        const float x = two[0] + added.x, y = two[1] + added.y;
        return halves(x / (1 + __expf(-x)), y / (1 + __expf(-y)));
    };
    c += (size_t)blockIdx.y * Tile::ROWS * n + blockIdx.x * Tile::COLUMNS;
    if (WAY == ONCE) {
        Tile::each(sums, [&](int row, int column, const float *two) { *(u32 *)(c + (size_t)row * n + column) = finished(column, two); });
        return;
    }
    constexpr int BYTES = Tile::COLUMNS * 2, PARTS = BYTES / 16;
    wait_for<0>();
    __syncthreads();
    if (WAY == WORDS)
        Tile::each(sums, [&](int row, int column, const float *two) {
            *(u32 *)(memory + place<HOW, BYTES>(row, column / 8) + column % 8 * 2) = finished(column, two);
        });
    else {
        #pragma unroll
        for (int i = 0; i < Tile::MI; ++i)
            #pragma unroll
            for (int j = 0; j < Tile::NI; j += 2) {
                const int column = Tile::column() + j * 8, own = column + lane % 4 * 2;
                store_matrices(memory + place<HOW, BYTES>(Tile::row() + i * 16 + lane % 16, column / 8 + lane / 16),
                               finished(own, sums[i][j]), finished(own, sums[i][j] + 2),
                               finished(own + 8, sums[i][j + 1]), finished(own + 8, sums[i][j + 1] + 2));
            }
    }
    __syncthreads();
    #pragma unroll
    for (int i = threadIdx.x; i < Tile::ROWS * PARTS; i += Tile::THREADS)
        *(uint4 *)(c + (size_t)(i / PARTS) * n + i % PARTS * 8) = *(const uint4 *)(memory + place<HOW, BYTES>(i / PARTS, i % PARTS));
}
using Layer = Tile<Half, 128, 128, 64, 2, 4, 4, SWIZZLED>;
#define LAYER(NAME, WAY, HOW) \
    NAMED(NAME, 256, layer, (const u8 *a, const u8 *b, const float *bias, __half *c, int n, int k), (a, b, bias, c, n, k), Layer, WAY, HOW)
LAYER(layer_words_plain, WORDS, PLAIN)
LAYER(layer_words_padded, WORDS, PADDED)
LAYER(layer_matrices_plain, MATRICES, PLAIN)
LAYER(layer_matrices_swizzled, MATRICES, SWIZZLED)
