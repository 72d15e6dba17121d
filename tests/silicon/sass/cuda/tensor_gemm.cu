// Halves on tensor cores by mma.m16n8k16: 64x64 block tiles, 32 deep, four warps of 32x32. Both
// tiles come by cp.async (16 bytes, past L1) into one of two buffers while the other is used; a
// row of 8 chunks is XORed with its number, so that ldmatrix and the copies are free of conflicts.
// Sizes are multiples of the tile. C = A (m x k, row-major) times B (k x n, row-major), in floats.
using Half = unsigned short;
constexpr int TILE = 64, DEPTH = 32;

// Offset in halves of an 8-half chunk: A's rows have 4 chunks, two rows to 128 bytes.
__device__ __forceinline__ int in_a(int row, int chunk) {
    return row * DEPTH + 8 * (chunk ^ (row / 2 % 4));
}
__device__ __forceinline__ int in_b(int row, int chunk) {
    return row * TILE + 8 * (chunk ^ (row % 8));
}
__device__ __forceinline__ unsigned shared(const Half *at) {
    return (unsigned)__cvta_generic_to_shared(at);
}
__device__ __forceinline__ void copy(const Half *to, const Half *from) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared(to)), "l"(from));
}

extern "C" __global__ void __launch_bounds__(128)
    tensor_gemm(const Half *A, const Half *B, float *C, int m, int n, int k) {
    __shared__ __align__(128) Half a_tile[2][TILE * DEPTH], b_tile[2][DEPTH * TILE];
    const int tid = threadIdx.x, lane = tid % 32, warp = tid / 32;
    const int row = warp / 2 * 32, col = warp % 2 * 32;
    A += blockIdx.y * TILE * k;
    B += blockIdx.x * TILE;
    auto fetch = [&](int side, int at) {
        for (int i = tid; i < TILE * DEPTH / 8; i += 128) {
            copy(&a_tile[side][in_a(i / 4, i % 4)], &A[i / 4 * k + at + i % 4 * 8]);
            copy(&b_tile[side][in_b(i / 8, i % 8)], &B[(at + i / 8) * n + i % 8 * 8]);
        }
        asm volatile("cp.async.commit_group;");
    };
    float sums[2][4][4] = {};
    fetch(0, 0);
    for (int at = 0, side = 0; at < k; at += DEPTH, side ^= 1) {
        if (at + DEPTH < k) {
            fetch(side ^ 1, at + DEPTH);
            asm volatile("cp.async.wait_group 1;" ::: "memory");
        } else {
            asm volatile("cp.async.wait_group 0;" ::: "memory");
        }
        __syncthreads();
#pragma unroll
        for (int p = 0; p < DEPTH; p += 16) {
            unsigned a[2][4], b[2][4];
#pragma unroll
            for (int i = 0; i < 2; ++i)
                asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                             : "=r"(a[i][0]), "=r"(a[i][1]), "=r"(a[i][2]), "=r"(a[i][3])
                             : "r"(shared(&a_tile[side][in_a(row + 16 * i + lane % 16,
                                                             p / 8 + lane / 16)])));
#pragma unroll
            for (int j = 0; j < 2; ++j)
                asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                             : "=r"(b[j][0]), "=r"(b[j][1]), "=r"(b[j][2]), "=r"(b[j][3])
                             : "r"(shared(&b_tile[side][in_b(p + lane % 16, col / 8 + 2 * j +
                                                                                 lane / 16)])));
#pragma unroll
            for (int i = 0; i < 2; ++i)
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
    for (int i = 0; i < 2; ++i)
        for (int j = 0; j < 4; ++j)
            for (int half = 0; half < 2; ++half) {
                const int y = blockIdx.y * TILE + row + 16 * i + lane / 4 + 8 * half;
                const int x = blockIdx.x * TILE + col + 8 * j + lane % 4 * 2;
                C[y * n + x] = sums[i][j][2 * half];
                C[y * n + x + 1] = sums[i][j][2 * half + 1];
            }
}
