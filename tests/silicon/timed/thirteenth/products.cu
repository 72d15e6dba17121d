// Kernels of the thirteenth set that multiply on tensor cores, in groups that differ in layout alone.
#include <cuda_fp16.h>

#define NAMED(NAME, THREADS, RUN, PARAMETERS, ARGUMENTS, ...) \
    extern "C" __global__ void __launch_bounds__(THREADS) NAME PARAMETERS { RUN<__VA_ARGS__> ARGUMENTS; }

__device__ __forceinline__ unsigned shared_at(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }
__device__ __forceinline__ void copied(unsigned to, const void *from) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(from) : "memory");
}
__device__ __forceinline__ void committed() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int LEFT> __device__ __forceinline__ void awaited() { asm volatile("cp.async.wait_group %0;" ::"n"(LEFT) : "memory"); }
__device__ __forceinline__ void fragment(unsigned (&v)[4], unsigned at) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(v[0]), "=r"(v[1]), "=r"(v[2]), "=r"(v[3]) : "r"(at) : "memory");
}
__device__ __forceinline__ void turned_fragment(unsigned (&v)[4], unsigned at) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(v[0]), "=r"(v[1]), "=r"(v[2]), "=r"(v[3]) : "r"(at) : "memory");
}

// C = A B of halves in three stages of 32 along k: 64 by 64 a block of four warps, 32 by 32 a warp, and GELU at the end.
// HOW: 0 rows as they are, 1 padded by sixteen bytes, 2 swizzled.
template <int HOW> __device__ __forceinline__ void in_threes(const uint4 *a, const uint4 *b, __half2 *c, int n, int depth) {
    constexpr int P = HOW == 1 ? 5 : 4, Q = HOW == 1 ? 9 : 8;
    __shared__ __align__(128) uint4 left[3][64 * P], right[3][32 * Q];
    const auto la = [](int row, int part) { return row * P + (HOW == 2 ? part ^ row / 2 % 4 : part); };
    const auto ra = [](int row, int part) { return row * Q + (HOW == 2 ? part ^ row % 8 : part); };
    const int t = threadIdx.x, lane = t % 32, warp = t / 32, wy = warp / 2 * 32, wx = warp % 2 * 4, steps = depth / 32;
    const auto fetch = [&](int step) {
        if (step < steps) {
            #pragma unroll
            for (int r = 0; r < 2; ++r) {
                const int y = r * 32 + t / 4, k = r * 16 + t / 8;
                copied(shared_at(left[step % 3] + la(y, t % 4)), a + (size_t)(blockIdx.y * 64 + y) * (depth / 8) + step * 4 + t % 4);
                copied(shared_at(right[step % 3] + ra(k, t % 8)), b + (size_t)(step * 32 + k) * (n / 8) + blockIdx.x * 8 + t % 8);
            }
        }
        committed();
    };
    float sum[2][4][4] = {};
    fetch(0), fetch(1);
    for (int step = 0; step < steps; ++step) {
        awaited<1>();
        __syncthreads();
        fetch(step + 2);
        #pragma unroll
        for (int k = 0; k < 2; ++k) {
            unsigned x[2][4], y[2][4];
            for (int i = 0; i < 2; ++i) {
                fragment(x[i], shared_at(left[step % 3] + la(wy + i * 16 + lane % 16, k * 2 + lane / 16)));
                turned_fragment(y[i], shared_at(right[step % 3] + ra(k * 16 + lane % 16, wx + i * 2 + lane / 16)));
            }
            for (int i = 0; i < 2; ++i)
                for (int j = 0; j < 4; ++j)
                    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                        : "+f"(sum[i][j][0]), "+f"(sum[i][j][1]), "+f"(sum[i][j][2]), "+f"(sum[i][j][3])
                        : "r"(x[i][0]), "r"(x[i][1]), "r"(x[i][2]), "r"(x[i][3]), "r"(y[j / 2][j % 2 * 2]), "r"(y[j / 2][j % 2 * 2 + 1]));
        }
    }
    const auto gelu = [](float v) { return v / (1 + __expf(-1.702f * v)); };
    for (int i = 0; i < 2; ++i)
        for (int j = 0; j < 4; ++j)
            for (int h = 0; h < 2; ++h) {
                const int row = blockIdx.y * 64 + wy + i * 16 + h * 8 + lane / 4, column = blockIdx.x * 64 + wx * 8 + j * 8 + lane % 4 * 2;
                c[((size_t)row * n + column) / 2] = __floats2half2_rn(gelu(sum[i][j][2 * h]), gelu(sum[i][j][2 * h + 1]));
            }
}
#define THREES(NAME, HOW) NAMED(NAME, 128, in_threes, (const uint4 *a, const uint4 *b, __half2 *c, int n, int depth), (a, b, c, n, depth), HOW)
THREES(in_threes_plain, 0)
THREES(in_threes_padded, 1)
THREES(in_threes_swizzled, 2)

// Squared distances of brain floats' rows, 128 deep, all at once: 64 by 64 a block of eight warps, 16 by 32 a warp.
template <int PITCH> __device__ __forceinline__ void apart(const uint4 *a, const uint4 *b, const float *rows, const float *columns, float2 *c, int n) {
    __shared__ __align__(128) uint4 left[64 * PITCH], right[64 * PITCH];
    const int t = threadIdx.x, lane = t % 32, warp = t / 32, wy = warp / 2 * 16, wx = warp % 2 * 32;
    #pragma unroll
    for (int k = t; k < 1024; k += 256) {
        copied(shared_at(left + k / 16 * PITCH + k % 16), a + (size_t)blockIdx.y * 1024 + k);
        copied(shared_at(right + k / 16 * PITCH + k % 16), b + (size_t)blockIdx.x * 1024 + k);
    }
    committed();
    awaited<0>();
    __syncthreads();
    float sum[4][4] = {};
    #pragma unroll
    for (int k = 0; k < 16; k += 2) {
        unsigned x[4], y[2][4];
        fragment(x, shared_at(left + (wy + lane % 16) * PITCH + k + lane / 16));
        for (int i = 0; i < 2; ++i) fragment(y[i], shared_at(right + (wx + i * 16 + lane / 16 * 8 + lane % 8) * PITCH + k + lane / 8 % 2));
        for (int j = 0; j < 4; ++j)
            asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                : "+f"(sum[j][0]), "+f"(sum[j][1]), "+f"(sum[j][2]), "+f"(sum[j][3])
                : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(y[j / 2][j % 2 * 2]), "r"(y[j / 2][j % 2 * 2 + 1]));
    }
    for (int j = 0; j < 4; ++j)
        for (int h = 0; h < 2; ++h) {
            const int row = blockIdx.y * 64 + wy + h * 8 + lane / 4, column = blockIdx.x * 64 + wx + j * 8 + lane % 4 * 2;
            c[((size_t)row * n + column) / 2] = {rows[row] + columns[column] - 2 * sum[j][2 * h],
                                                 rows[row] + columns[column + 1] - 2 * sum[j][2 * h + 1]};
        }
}
#define APART(NAME, PITCH)                                                                                         \
    NAMED(NAME, 256, apart, (const uint4 *a, const uint4 *b, const float *rows, const float *columns, float2 *c, int n), \
          (a, b, rows, columns, c, n), PITCH)
APART(apart_plain, 16)
APART(apart_padded, 17)

// C = A B^T of halves by one group of four warps, three stages of 64 along k: 64 by 64 a block.
// SWIZZLE: 0 parts of 8 by 8 side by side, 1 rows of 128 bytes, swizzled.
template <int SWIZZLE> __device__ __forceinline__ void one_group(const uint4 *a, const uint4 *b, float2 *c, int n, int depth) {
    extern __shared__ __align__(1024) unsigned char raw[];
    const unsigned base = shared_at(raw);
    const auto at = [](int row, int part) {
        return row / 8 * 1024 + (SWIZZLE ? row % 8 * 128 + (part ^ row % 8) * 16 : part * 128 + row % 8 * 16);
    };
    const auto described = [](unsigned place) {
        return (unsigned long long)((place & 0x3ffff) >> 4) | (unsigned long long)(SWIZZLE ? 1 : 8) << 16 |
               (unsigned long long)64 << 32 | (SWIZZLE ? 1ull << 62 : 0);
    };
    const int t = threadIdx.x, lane = t % 32, warp = t / 32, steps = depth / 64;
    const auto fetch = [&](int step) {
        if (step < steps) {
            const unsigned to = base + step % 3 * 16384;
            #pragma unroll
            for (int r = 0; r < 4; ++r) {
                const int row = r * 16 + t / 8;
                copied(to + at(row, t % 8), a + (size_t)(blockIdx.y * 64 + row) * (depth / 8) + step * 8 + t % 8);
                copied(to + 8192 + at(row, t % 8), b + (size_t)(blockIdx.x * 64 + row) * (depth / 8) + step * 8 + t % 8);
            }
        }
        committed();
    };
    float d[32] = {};
    fetch(0), fetch(1);
    for (int step = 0; step < steps; ++step) {
        awaited<1>();
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
        __syncthreads();
        fetch(step + 2);
        const unsigned left = base + step % 3 * 16384, right = left + 8192;
        for (int i = 0; i < 32; ++i) asm volatile("" : "+f"(d[i])::"memory");
        asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
        #pragma unroll
        for (int k = 0; k < 4; ++k) {
            const int on = k * (SWIZZLE ? 32 : 256);
            asm volatile(
                "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 {%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,"
                "%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31}, %32, %33, 1, 1, 1, 0, 0;"
                : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]), "+f"(d[8]),
                  "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]), "+f"(d[16]),
                  "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]),
                  "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31])
                : "l"(described(left + on)), "l"(described(right + on)));
        }
        asm volatile("wgmma.commit_group.sync.aligned;\n\twgmma.wait_group.sync.aligned 0;" ::: "memory");
        for (int i = 0; i < 32; ++i) asm volatile("" : "+f"(d[i])::"memory");
    }
    for (int j = 0; j < 8; ++j)
        for (int h = 0; h < 2; ++h) {
            const int row = blockIdx.y * 64 + warp * 16 + h * 8 + lane / 4, column = blockIdx.x * 64 + j * 8 + lane % 4 * 2;
            c[((size_t)row * n + column) / 2] = {d[4 * j + 2 * h], d[4 * j + 2 * h + 1]};
        }
}
NAMED(one_group_plain, 128, one_group, (const uint4 *a, const uint4 *b, float2 *c, int n, int depth), (a, b, c, n, depth), 0)
NAMED(one_group_swizzled, 128, one_group, (const uint4 *a, const uint4 *b, float2 *c, int n, int depth), (a, b, c, n, depth), 1)
