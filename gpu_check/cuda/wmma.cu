// Halves on tensor cores: 128x128 block tiles, 16 deep, eight warps of 64x32, WMMA fragments of
// 16x16x16. A is transposed on its way into shared memory; the rows of both tiles are PAD halves
// longer than they need be. The PTX of WMMA is written out, so that no CUDA header is needed.
#ifndef PAD
#define PAD 16
#endif
constexpr int TILE = 128, DEPTH = 16, ROW = TILE + PAD;
using Half = unsigned short;

#define ROW_OF_EIGHT(X) \
    "{%0, %1, %2, %3, %4, %5, %6, %7}, [%8], %9;" : "=r"(X[0]), "=r"(X[1]), "=r"(X[2]), \
        "=r"(X[3]), "=r"(X[4]), "=r"(X[5]), "=r"(X[6]), "=r"(X[7])

extern "C" __global__ void __launch_bounds__(256)
    wmma(const Half *A, const Half *B, Half *C, int m, int n, int k) {
    __shared__ __align__(128) Half a_tile[DEPTH][ROW];
    __shared__ __align__(128) Half b_tile[DEPTH][ROW];
    const int tid = threadIdx.x, warp = tid / 32;
    const int row = warp / 4 * 64, col = warp % 4 * 32;
    A += (blockIdx.y * TILE + tid / 2) * k + tid % 2 * 8;
    B += tid / 16 * n + blockIdx.x * TILE + tid % 16 * 8;
    unsigned sums[4][2][4] = {};
    for (int tile = 0; tile < k; tile += DEPTH) {
        const uint4 a = *reinterpret_cast<const uint4 *>(&A[tile]);
        const unsigned words[4] = {a.x, a.y, a.z, a.w};
#pragma unroll
        for (int i = 0; i < 8; ++i)
            a_tile[tid % 2 * 8 + i][tid / 2] = (Half)(words[i / 2] >> (16 * (i % 2)));
        *reinterpret_cast<uint4 *>(&b_tile[tid / 16][tid % 16 * 8]) =
            *reinterpret_cast<const uint4 *>(&B[tile * n]);
        __syncthreads();
        unsigned a_part[4][8], b_part[2][8];
#pragma unroll
        for (int i = 0; i < 4; ++i)
            asm volatile("wmma.load.a.sync.aligned.col.m16n16k16.shared.f16 " ROW_OF_EIGHT(
                a_part[i]) : "r"((unsigned)__cvta_generic_to_shared(&a_tile[0][row + 16 * i])),
                             "r"(ROW) : "memory");
#pragma unroll
        for (int j = 0; j < 2; ++j)
            asm volatile("wmma.load.b.sync.aligned.row.m16n16k16.shared.f16 " ROW_OF_EIGHT(
                b_part[j]) : "r"((unsigned)__cvta_generic_to_shared(&b_tile[0][col + 16 * j])),
                             "r"(ROW) : "memory");
#pragma unroll
        for (int i = 0; i < 4; ++i)
#pragma unroll
            for (int j = 0; j < 2; ++j) {
                unsigned *sum = sums[i][j];
                const unsigned *x = a_part[i], *y = b_part[j];
                asm volatile(
                    "wmma.mma.sync.aligned.col.row.m16n16k16.f16.f16 {%0, %1, %2, %3},"
                    " {%4, %5, %6, %7, %8, %9, %10, %11}, {%12, %13, %14, %15, %16, %17, %18, %19},"
                    " {%0, %1, %2, %3};"
                    : "+r"(sum[0]), "+r"(sum[1]), "+r"(sum[2]), "+r"(sum[3])
                    : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(x[4]), "r"(x[5]), "r"(x[6]),
                      "r"(x[7]), "r"(y[0]), "r"(y[1]), "r"(y[2]), "r"(y[3]), "r"(y[4]), "r"(y[5]),
                      "r"(y[6]), "r"(y[7]));
            }
        __syncthreads();
    }
#pragma unroll
    for (int i = 0; i < 4; ++i)
#pragma unroll
        for (int j = 0; j < 2; ++j) {
            Half *to = &C[(blockIdx.y * TILE + row + 16 * i) * n + blockIdx.x * TILE + col + 16 * j];
            asm volatile("wmma.store.d.sync.aligned.row.m16n16k16.global.f16 [%0],"
                         " {%1, %2, %3, %4}, %5;" ::"l"(__cvta_generic_to_global(to)),
                         "r"(sums[i][j][0]), "r"(sums[i][j][1]), "r"(sums[i][j][2]),
                         "r"(sums[i][j][3]), "r"(n) : "memory");
        }
}
