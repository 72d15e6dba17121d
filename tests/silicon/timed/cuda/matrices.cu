// Products of halves by ldmatrix and mma.m16n8k16: 128x128 block tiles, 32 deep, eight warps of
// 64x32. Tiles come through registers. Rows of shared memory: as they are, padded by 8 halves, or
// with chunks of 8 halves XORed. Sizes are multiples of the tile; B is n x k, row-major.
using Half = unsigned short;
constexpr int TILE = 128, DEPTH = 32;

enum Layout { PLAIN, PADDED, SWIZZLED };

template <int LAYOUT>
__device__ __forceinline__ int place(int row, int chunk) {
    if (LAYOUT == PADDED) return row * (DEPTH + 8) + 8 * chunk;
    return row * DEPTH + 8 * (LAYOUT == SWIZZLED ? chunk ^ (row / 2 % 4) : chunk);
}

template <int LAYOUT>
__device__ __forceinline__ void load4(unsigned (&to)[4], const Half *tile, int row, int chunk) {
    const unsigned at = (unsigned)__cvta_generic_to_shared(tile + place<LAYOUT>(row, chunk));
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3]) : "r"(at));
}

template <int LAYOUT>
__device__ void product(const Half *A, const Half *B, float *C, int n, int k) {
    constexpr int ROW = LAYOUT == PADDED ? DEPTH + 8 : DEPTH;
    __shared__ __align__(128) Half a_tile[TILE * ROW], b_tile[TILE * ROW];
    const int tid = threadIdx.x, lane = tid % 32, warp = tid / 32;
    const int row = warp / 4 * 64, col = warp % 4 * 32;
    A += blockIdx.y * TILE * k;
    B += blockIdx.x * TILE * k;
    float sums[4][4][4] = {};
    uint4 next_a[2], next_b[2];
    for (int i = 0; i < 2; ++i) {
        const int at = tid + 256 * i;
        next_a[i] = *(const uint4 *)&A[at / 4 * k + at % 4 * 8];
        next_b[i] = *(const uint4 *)&B[at / 4 * k + at % 4 * 8];
    }
    for (int depth = 0; depth < k; depth += DEPTH) {
        for (int i = 0; i < 2; ++i) {
            const int at = tid + 256 * i;
            *(uint4 *)&a_tile[place<LAYOUT>(at / 4, at % 4)] = next_a[i];
            *(uint4 *)&b_tile[place<LAYOUT>(at / 4, at % 4)] = next_b[i];
        }
        __syncthreads();
        if (depth + DEPTH < k)
            for (int i = 0; i < 2; ++i) {
                const int at = tid + 256 * i;
                next_a[i] = *(const uint4 *)&A[at / 4 * k + depth + DEPTH + at % 4 * 8];
                next_b[i] = *(const uint4 *)&B[at / 4 * k + depth + DEPTH + at % 4 * 8];
            }
#pragma unroll
        for (int p = 0; p < 2; ++p) {
            unsigned a[4][4], b[2][4];
#pragma unroll
            for (int i = 0; i < 4; ++i)
                load4<LAYOUT>(a[i], a_tile, row + 16 * i + lane % 16, 2 * p + lane / 16);
#pragma unroll
            for (int j = 0; j < 2; ++j)
                load4<LAYOUT>(b[j], b_tile, col + 16 * j + lane / 16 * 8 + lane % 8,
                              2 * p + lane / 8 % 2);
#pragma unroll
            for (int i = 0; i < 4; ++i)
#pragma unroll
                for (int j = 0; j < 4; ++j)
                    asm volatile(
                        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3},"
                        " {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                        : "+f"(sums[i][j][0]), "+f"(sums[i][j][1]), "+f"(sums[i][j][2]),
                          "+f"(sums[i][j][3])
                        : "r"(a[i][0]), "r"(a[i][1]), "r"(a[i][2]), "r"(a[i][3]),
                          "r"(b[j / 2][j % 2 * 2]), "r"(b[j / 2][j % 2 * 2 + 1]));
        }
        __syncthreads();
    }
    for (int i = 0; i < 4; ++i)
        for (int j = 0; j < 4; ++j)
            for (int half = 0; half < 2; ++half) {
                const int y = blockIdx.y * TILE + row + 16 * i + lane / 4 + 8 * half;
                const int x = blockIdx.x * TILE + col + 8 * j + lane % 4 * 2;
                *(float2 *)&C[y * n + x] = make_float2(sums[i][j][2 * half], sums[i][j][2 * half + 1]);
            }
}
extern "C" __global__ void __launch_bounds__(256)
    matrices_plain(const Half *A, const Half *B, float *C, int n, int k) {
    product<PLAIN>(A, B, C, n, k);
}
extern "C" __global__ void __launch_bounds__(256)
    matrices_padded(const Half *A, const Half *B, float *C, int n, int k) {
    product<PADDED>(A, B, C, n, k);
}
extern "C" __global__ void __launch_bounds__(256)
    matrices_swizzled(const Half *A, const Half *B, float *C, int n, int k) {
    product<SWIZZLED>(A, B, C, n, k);
}

// A product of floats in 64x64 tiles, 16 deep, 8x4 elements for each of 128 threads. A's tile is
// stored turned, with rows of 64 words or of 68.
template <int ROW>
__device__ void turned(const float *A, const float *B, float *C, int n, int k) {
    __shared__ __align__(16) float a_tile[16][ROW], b_tile[16][64];
    const int tid = threadIdx.x, ty = tid / 16, tx = tid % 16;
    A += blockIdx.y * 64 * k;
    B += blockIdx.x * 64;
    float sums[8][4] = {};
    for (int depth = 0; depth < k; depth += 16) {
#pragma unroll
        for (int i = 0; i < 2; ++i) {
            const int at = tid + 128 * i;
            const float4 a = *(const float4 *)&A[at / 4 * k + depth + at % 4 * 4];
            a_tile[at % 4 * 4 + 0][at / 4] = a.x;
            a_tile[at % 4 * 4 + 1][at / 4] = a.y;
            a_tile[at % 4 * 4 + 2][at / 4] = a.z;
            a_tile[at % 4 * 4 + 3][at / 4] = a.w;
            *(float4 *)&b_tile[at / 16][at % 16 * 4] =
                *(const float4 *)&B[(depth + at / 16) * n + at % 16 * 4];
        }
        __syncthreads();
#pragma unroll
        for (int p = 0; p < 16; ++p) {
            float a[8], b[4];
            *(float4 *)&a[0] = *(float4 *)&a_tile[p][ty * 8];
            *(float4 *)&a[4] = *(float4 *)&a_tile[p][ty * 8 + 4];
            *(float4 *)&b[0] = *(float4 *)&b_tile[p][tx * 4];
#pragma unroll
            for (int i = 0; i < 8; ++i)
#pragma unroll
                for (int j = 0; j < 4; ++j) sums[i][j] += a[i] * b[j];
        }
        __syncthreads();
    }
    for (int i = 0; i < 8; ++i)
        *(float4 *)&C[(blockIdx.y * 64 + ty * 8 + i) * n + blockIdx.x * 64 + tx * 4] =
            *(float4 *)&sums[i][0];
}
extern "C" __global__ void __launch_bounds__(128)
    turned_plain(const float *A, const float *B, float *C, int n, int k) {
    turned<64>(A, B, C, n, k);
}
extern "C" __global__ void __launch_bounds__(128)
    turned_padded(const float *A, const float *B, float *C, int n, int k) {
    turned<68>(A, B, C, n, k);
}
