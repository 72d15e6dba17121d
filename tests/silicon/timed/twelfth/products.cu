// Kernels of the twelfth set that multiply on tensor cores, in pairs that differ in layout alone.
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

// Products of all columns with all: sums over 512 rows of 128 columns, 64 by 64 a block, 32 by 32 a warp.
// HOW: 0 rows of 64 halves, 1 of 72, 2 swizzled.
template <int HOW> __device__ __forceinline__ void gram(const uint4 *in, float2 *out) {
    constexpr int PITCH = HOW == 1 ? 9 : 8;
    __shared__ __align__(128) uint4 left[2][32 * PITCH], right[2][32 * PITCH];
    const auto at = [](int row, int part) { return row * PITCH + (HOW == 2 ? part ^ row % 8 : part); };
    const int t = threadIdx.x, lane = t % 32, warp = t / 32, wy = warp / 2 * 4, wx = warp % 2 * 4;
    const uint4 *from = in + (size_t)blockIdx.z * 512 * 16;
    const auto fetch = [&](int step) {
        #pragma unroll
        for (int r = 0; r < 2; ++r) {
            const int row = r * 16 + t / 8, part = t % 8;
            copied(shared_at(left[step % 2] + at(row, part)), from + (step * 32 + row) * 16 + blockIdx.y * 8 + part);
            copied(shared_at(right[step % 2] + at(row, part)), from + (step * 32 + row) * 16 + blockIdx.x * 8 + part);
        }
        committed();
    };
    float sum[2][4][4] = {};
    fetch(0);
    for (int step = 0; step < 16; ++step) {
        if (step < 15) fetch(step + 1), awaited<1>();
        else awaited<0>();
        __syncthreads();
        #pragma unroll
        for (int k = 0; k < 32; k += 16) {
            unsigned a[2][4], b[2][4];
            for (int i = 0; i < 2; ++i) {
                turned_fragment(a[i], shared_at(left[step % 2] + at(k + lane / 16 * 8 + lane % 8, wy + i * 2 + lane / 8 % 2)));
                turned_fragment(b[i], shared_at(right[step % 2] + at(k + lane % 16, wx + i * 2 + lane / 16)));
            }
            for (int i = 0; i < 2; ++i)
                for (int j = 0; j < 4; ++j)
                    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                        : "+f"(sum[i][j][0]), "+f"(sum[i][j][1]), "+f"(sum[i][j][2]), "+f"(sum[i][j][3])
                        : "r"(a[i][0]), "r"(a[i][1]), "r"(a[i][2]), "r"(a[i][3]), "r"(b[j / 2][j % 2 * 2]), "r"(b[j / 2][j % 2 * 2 + 1]));
        }
        __syncthreads();
    }
    for (int i = 0; i < 2; ++i)
        for (int j = 0; j < 4; ++j)
            for (int h = 0; h < 2; ++h) {
                const int row = blockIdx.y * 64 + wy * 8 + i * 16 + h * 8 + lane / 4, column = blockIdx.x * 64 + wx * 8 + j * 8 + lane % 4 * 2;
                out[((size_t)blockIdx.z * 128 + row) * 64 + column / 2] = {sum[i][j][2 * h], sum[i][j][2 * h + 1]};
            }
}
NAMED(gram_plain, 128, gram, (const uint4 *in, float2 *out), (in, out), 0)
NAMED(gram_padded, 128, gram, (const uint4 *in, float2 *out), (in, out), 1)
NAMED(gram_swizzled, 128, gram, (const uint4 *in, float2 *out), (in, out), 2)

// C = A B^T of bytes with signs, scaled by row and column: 128 by 64 a block, 32 by 32 a warp, rows of 64 bytes
// along k, which come a step ahead, in PITCH times 16 bytes.
template <int PITCH> __device__ __forceinline__ void scaled_bytes(const uint4 *a, const uint4 *b, const float *rows, const float *columns,
                                                                  __half2 *c, int n, int depth) {
    __shared__ __align__(128) uint4 left[2][128 * PITCH], right[2][64 * PITCH];
    const int t = threadIdx.x, lane = t % 32, warp = t / 32, wy = warp / 2 * 32, wx = warp % 2 * 32;
    const auto fetch = [&](int step) {
        for (int r = t / 4; r < 128; r += 64)
            copied(shared_at(left[step % 2] + r * PITCH + t % 4), a + (size_t)(blockIdx.y * 128 + r) * (depth / 16) + step * 4 + t % 4);
        copied(shared_at(right[step % 2] + t / 4 * PITCH + t % 4), b + (size_t)(blockIdx.x * 64 + t / 4) * (depth / 16) + step * 4 + t % 4);
        committed();
    };
    int sum[2][4][4] = {};
    fetch(0);
    for (int step = 0; step < depth / 64; ++step) {
        if (step + 1 < depth / 64) fetch(step + 1), awaited<1>();
        else awaited<0>();
        __syncthreads();
        #pragma unroll
        for (int k = 0; k < 4; k += 2) {
            unsigned x[2][4], y[2][4];
            for (int i = 0; i < 2; ++i) {
                fragment(x[i], shared_at(left[step % 2] + (wy + i * 16 + lane % 16) * PITCH + k + lane / 16));
                fragment(y[i], shared_at(right[step % 2] + (wx + i * 16 + lane / 16 * 8 + lane % 8) * PITCH + k + lane / 8 % 2));
            }
            for (int i = 0; i < 2; ++i)
                for (int j = 0; j < 4; ++j)
                    asm("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                        : "+r"(sum[i][j][0]), "+r"(sum[i][j][1]), "+r"(sum[i][j][2]), "+r"(sum[i][j][3])
                        : "r"(x[i][0]), "r"(x[i][1]), "r"(x[i][2]), "r"(x[i][3]), "r"(y[j / 2][j % 2 * 2]), "r"(y[j / 2][j % 2 * 2 + 1]));
        }
        __syncthreads();
    }
    for (int i = 0; i < 2; ++i)
        for (int h = 0; h < 2; ++h) {
            const int row = blockIdx.y * 128 + wy + i * 16 + h * 8 + lane / 4;
            const float by = rows[row] * 0.001f;
            for (int j = 0; j < 4; ++j) {
                const int column = blockIdx.x * 64 + wx + j * 8 + lane % 4 * 2;
                c[((size_t)row * n + column) / 2] = __floats2half2_rn(sum[i][j][2 * h] * by * columns[column],
                                                                      sum[i][j][2 * h + 1] * by * columns[column + 1]);
            }
        }
}
#define SCALED(NAME, PITCH)                                                                                             \
    NAMED(NAME, 256, scaled_bytes, (const uint4 *a, const uint4 *b, const float *rows, const float *columns, __half2 *c, \
                                    int n, int depth), (a, b, rows, columns, c, n, depth), PITCH)
SCALED(scaled_bytes_plain, 4)
SCALED(scaled_bytes_padded, 5)

// C = A B^T whose sums are halves, too: 64 by 64 a block, 32 by 32 a warp, m16n8k8; lanes read words themselves.
template <int PITCH> __device__ __forceinline__ void half_sums(const uint4 *a, const uint4 *b, unsigned *c, int n, int depth) {
    __shared__ __align__(16) unsigned left[64 * PITCH], right[64 * PITCH];
    const int t = threadIdx.x, lane = t % 32, warp = t / 32, wy = warp / 2 * 32, wx = warp % 2 * 32;
    unsigned sum[2][4][2] = {};
    uint4 next[2][2];
    const auto fetch = [&](int begin) {
        for (int r = 0; r < 2; ++r) {
            next[0][r] = a[(size_t)(blockIdx.y * 64 + r * 32 + t / 4) * (depth / 8) + begin / 8 + t % 4];
            next[1][r] = b[(size_t)(blockIdx.x * 64 + r * 32 + t / 4) * (depth / 8) + begin / 8 + t % 4];
        }
    };
    fetch(0);
    for (int begin = 0; begin < depth; begin += 32) {
        for (int r = 0; r < 2; ++r) {
            *(uint4 *)(left + (r * 32 + t / 4) * PITCH + t % 4 * 4) = next[0][r];
            *(uint4 *)(right + (r * 32 + t / 4) * PITCH + t % 4 * 4) = next[1][r];
        }
        __syncthreads();
        if (begin + 32 < depth) fetch(begin + 32);
        #pragma unroll
        for (int k = 0; k < 16; k += 4) {
            unsigned x[2][2], y[4];
            for (int i = 0; i < 4; ++i) x[i / 2][i % 2] = left[(wy + i * 8 + lane / 4) * PITCH + k + lane % 4];
            for (int j = 0; j < 4; ++j) y[j] = right[(wx + j * 8 + lane / 4) * PITCH + k + lane % 4];
            for (int i = 0; i < 2; ++i)
                for (int j = 0; j < 4; ++j)
                    asm("mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16 {%0, %1}, {%2, %3}, {%4}, {%0, %1};"
                        : "+r"(sum[i][j][0]), "+r"(sum[i][j][1]) : "r"(x[i][0]), "r"(x[i][1]), "r"(y[j]));
        }
        __syncthreads();
    }
    for (int i = 0; i < 2; ++i)
        for (int j = 0; j < 4; ++j)
            for (int h = 0; h < 2; ++h) {
                const int row = blockIdx.y * 64 + wy + i * 16 + h * 8 + lane / 4, column = blockIdx.x * 64 + wx + j * 8 + lane % 4 * 2;
                c[((size_t)row * n + column) / 2] = sum[i][j][h];
            }
}
NAMED(half_sums_plain, 128, half_sums, (const uint4 *a, const uint4 *b, unsigned *c, int n, int depth), (a, b, c, n, depth), 16)
NAMED(half_sums_padded, 128, half_sums, (const uint4 *a, const uint4 *b, unsigned *c, int n, int depth), (a, b, c, n, depth), 20)

// C = A B^T in brain floats by groups of four warps, two stages of 64 along k: 128 by 32 a block.
// SWIZZLE: 0 parts of 8 by 8 side by side, 1 rows of 128 bytes, swizzled.
template <int SWIZZLE> __device__ __forceinline__ void brain(const uint4 *a, const uint4 *b, float2 *c, int n, int depth) {
    constexpr int STAGE = 20 * 1024;
    extern __shared__ __align__(1024) unsigned char raw[];
    const unsigned base = shared_at(raw);
    const auto at = [](int row, int part) {
        return row / 8 * 1024 + (SWIZZLE ? row % 8 * 128 + (part ^ row % 8) * 16 : part * 128 + row % 8 * 16);
    };
    const auto described = [](unsigned place) {
        return (unsigned long long)((place & 0x3ffff) >> 4) | (unsigned long long)(SWIZZLE ? 1 : 8) << 16 |
               (unsigned long long)64 << 32 | (SWIZZLE ? 1ull << 62 : 0);
    };
    const int t = threadIdx.x, lane = t % 32, warp = t / 32;
    const auto fetch = [&](int step) {
        const unsigned to = base + step % 2 * STAGE;
        #pragma unroll
        for (int i = t, r = 0; r < 4; ++r, i += 256)
            copied(to + at(i / 8, i % 8), a + (size_t)(blockIdx.y * 128 + i / 8) * (depth / 8) + step * 8 + i % 8);
        copied(to + 16384 + at(t / 8, t % 8), b + (size_t)(blockIdx.x * 32 + t / 8) * (depth / 8) + step * 8 + t % 8);
        committed();
    };
    float d[16] = {};
    fetch(0);
    for (int step = 0; step * 64 < depth; ++step) {
        if (step * 64 + 64 < depth) fetch(step + 1), awaited<1>();
        else awaited<0>();
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
        __syncthreads();
        const unsigned left = base + step % 2 * STAGE + warp / 4 * 8192, right = base + step % 2 * STAGE + 16384;
        for (int i = 0; i < 16; ++i) asm volatile("" : "+f"(d[i])::"memory");
        asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
        #pragma unroll
        for (int k = 0; k < 4; ++k) {
            const int on = k * (SWIZZLE ? 32 : 256);
            asm volatile(
                "wgmma.mma_async.sync.aligned.m64n32k16.f32.bf16.bf16 {%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15}, "
                "%16, %17, 1, 1, 1, 0, 0;"
                : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]), "+f"(d[8]),
                  "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15])
                : "l"(described(left + on)), "l"(described(right + on)));
        }
        asm volatile("wgmma.commit_group.sync.aligned;\n\twgmma.wait_group.sync.aligned 0;" ::: "memory");
        for (int i = 0; i < 16; ++i) asm volatile("" : "+f"(d[i])::"memory");
        __syncthreads();
    }
    for (int j = 0; j < 4; ++j)
        for (int h = 0; h < 2; ++h) {
            const int row = blockIdx.y * 128 + warp * 16 + h * 8 + lane / 4, column = blockIdx.x * 32 + j * 8 + lane % 4 * 2;
            c[((size_t)row * n + column) / 2] = {d[4 * j + 2 * h], d[4 * j + 2 * h + 1]};
        }
}
NAMED(brain_plain, 256, brain, (const uint4 *a, const uint4 *b, float2 *c, int n, int depth), (a, b, c, n, depth), 0)
NAMED(brain_swizzled, 256, brain, (const uint4 *a, const uint4 *b, float2 *c, int n, int depth), (a, b, c, n, depth), 1)
