// Kernels of the eleventh set that multiply on tensor cores, in pairs that differ in layout alone.
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
#define MMA(NAME, TYPES)                                                                                           \
    __device__ __forceinline__ void NAME(float (&c)[4], const unsigned (&a)[4], unsigned b, unsigned d) {        \
        asm("mma.sync.aligned." TYPES " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"         \
            : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])                                                     \
            : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b), "r"(d));                                       \
    }
MMA(by_halves, "m16n8k16.row.col.f32.f16.f16.f32")
MMA(by_tfloats, "m16n8k8.row.col.f32.tf32.tf32.f32")

// Attention: 64 queries a block against all keys and values of a head, tiles of 64 that come a step ahead.
template <int SWIZZLE> __device__ __forceinline__ void attention(const uint4 *q, const uint4 *k, const uint4 *v, __half2 *out, int length) {
    __shared__ __align__(128) uint4 queries[512], keys[2][512], values[2][512];
    const auto at = [](int row, int part) { return row * 8 + (SWIZZLE ? part ^ row % 8 : part); };
    const int t = threadIdx.x, lane = t % 32, warp = t / 32;
    const size_t head = (size_t)blockIdx.y * length * 8;
    const auto fetch = [&](int tile) {
        #pragma unroll
        for (int r = 0; r < 4; ++r) {
            const int i = r * 128 + t;
            copied(shared_at(keys[tile % 2] + at(i / 8, i % 8)), k + head + tile * 512 + i);
            copied(shared_at(values[tile % 2] + at(i / 8, i % 8)), v + head + tile * 512 + i);
        }
        committed();
    };
    for (int r = 0; r < 4; ++r) {
        const int i = r * 128 + t;
        copied(shared_at(queries + at(i / 8, i % 8)), q + head + blockIdx.x * 512 + i);
    }
    fetch(0);
    float sum[8][4] = {}, most[2] = {-1e30f, -1e30f}, total[2] = {};
    unsigned a[4][4];
    for (int tile = 0; tile < length / 64; ++tile) {
        if (tile + 1 < length / 64) fetch(tile + 1), awaited<1>();
        else awaited<0>();
        __syncthreads();
        if (tile == 0)
            for (int c = 0; c < 4; ++c) fragment(a[c], shared_at(queries + at(warp * 16 + lane % 16, 2 * c + lane / 16)));
        float score[8][4] = {};
        #pragma unroll
        for (int n = 0; n < 8; ++n)
            #pragma unroll
            for (int c = 0; c < 2; ++c) {
                unsigned b[4];
                fragment(b, shared_at(keys[tile % 2] + at(n * 8 + lane % 8, 4 * c + lane / 8)));
                by_halves(score[n], a[2 * c], b[0], b[1]), by_halves(score[n], a[2 * c + 1], b[2], b[3]);
            }
        #pragma unroll
        for (int h = 0; h < 2; ++h) {
            float top = most[h], part = 0;
            for (int n = 0; n < 8; ++n) top = fmaxf(top, fmaxf(score[n][2 * h], score[n][2 * h + 1]));
            for (int j = 1; j < 4; j *= 2) top = fmaxf(top, __shfl_xor_sync(~0u, top, j));
            const float old = exp2f((most[h] - top) * 0.18033688f), shift = top * 0.18033688f;
            for (int n = 0; n < 8; ++n) {
                score[n][2 * h] = exp2f(score[n][2 * h] * 0.18033688f - shift);
                score[n][2 * h + 1] = exp2f(score[n][2 * h + 1] * 0.18033688f - shift);
                part += score[n][2 * h] + score[n][2 * h + 1];
                sum[n][2 * h] *= old, sum[n][2 * h + 1] *= old;
            }
            total[h] = total[h] * old + part, most[h] = top;
        }
        #pragma unroll
        for (int s = 0; s < 4; ++s) {
            unsigned p[4];
            for (int j = 0; j < 4; ++j) {
                const __half2 pair = __floats2half2_rn(score[2 * s + j / 2][j % 2 * 2], score[2 * s + j / 2][j % 2 * 2 + 1]);
                p[j] = *(const unsigned *)&pair;
            }
            #pragma unroll
            for (int d = 0; d < 8; d += 2) {
                unsigned b[4];
                turned_fragment(b, shared_at(values[tile % 2] + at(s * 16 + lane % 16, d + lane / 16)));
                by_halves(sum[d], p, b[0], b[1]), by_halves(sum[d + 1], p, b[2], b[3]);
            }
        }
        __syncthreads();
    }
    #pragma unroll
    for (int h = 0; h < 2; ++h) {
        for (int j = 1; j < 4; j *= 2) total[h] += __shfl_xor_sync(~0u, total[h], j);
        const size_t row = (size_t)blockIdx.y * length + blockIdx.x * 64 + warp * 16 + lane / 4 + 8 * h;
        for (int n = 0; n < 8; ++n)
            out[row * 32 + n * 4 + lane % 4] = __floats2half2_rn(sum[n][2 * h] / total[h], sum[n][2 * h + 1] / total[h]);
    }
}
NAMED(attention_plain, 128, attention, (const uint4 *q, const uint4 *k, const uint4 *v, __half2 *out, int length), (q, k, v, out, length), 0)
NAMED(attention_swizzled, 128, attention, (const uint4 *q, const uint4 *k, const uint4 *v, __half2 *out, int length), (q, k, v, out, length), 1)

// C = A B in halves, both as they lie: 128 by 128 a block, 64 by 32 a warp, three stages of 32 along k.
// HOW: 0 plain, 1 rows of 80 and 272 bytes, 2 swizzled.
template <int HOW> __device__ __forceinline__ void straight(const uint4 *a, const uint4 *b, __half2 *c, int n, int depth) {
    constexpr int A = HOW == 1 ? 5 : 4, B = HOW == 1 ? 17 : 16, STAGE = 128 * A + 32 * B;
    extern __shared__ __align__(128) uint4 held[];
    const auto left = [](int row, int part) { return row * A + (HOW == 2 ? part ^ row / 2 % 4 : part); };
    const auto right = [](int row, int part) { return 128 * A + row * B + (HOW == 2 ? part ^ row % 8 : part); };
    const int t = threadIdx.x, lane = t % 32, warp = t / 32, wy = warp / 4 * 64, wx = warp % 4 * 32;
    const auto fetch = [&](int step) {
        if (step * 32 < depth)
            #pragma unroll
            for (int i = t, r = 0; r < 2; ++r, i += 256) {
                uint4 *to = held + step % 3 * STAGE;
                copied(shared_at(to + left(i / 4, i % 4)), a + (size_t)(blockIdx.y * 128 + i / 4) * (depth / 8) + step * 4 + i % 4);
                copied(shared_at(to + right(i / 16, i % 16)), b + (size_t)(step * 32 + i / 16) * (n / 8) + blockIdx.x * 16 + i % 16);
            }
        committed();
    };
    float sum[4][4][4] = {};
    fetch(0), fetch(1);
    for (int step = 0; step * 32 < depth; ++step) {
        awaited<1>();
        __syncthreads();
        fetch(step + 2);
        const uint4 *from = held + step % 3 * STAGE;
        #pragma unroll
        for (int k = 0; k < 2; ++k) {
            unsigned x[4][4], y[2][4];
            for (int i = 0; i < 4; ++i) fragment(x[i], shared_at(from + left(wy + i * 16 + lane % 16, 2 * k + lane / 16)));
            for (int j = 0; j < 2; ++j) turned_fragment(y[j], shared_at(from + right(k * 16 + lane % 16, wx / 8 + 2 * j + lane / 16)));
            for (int i = 0; i < 4; ++i)
                for (int j = 0; j < 4; ++j) by_halves(sum[i][j], x[i], y[j / 2][j % 2 * 2], y[j / 2][j % 2 * 2 + 1]);
        }
    }
    for (int i = 0; i < 4; ++i)
        for (int j = 0; j < 4; ++j)
            for (int h = 0; h < 2; ++h) {
                const int row = blockIdx.y * 128 + wy + i * 16 + h * 8 + lane / 4, column = blockIdx.x * 128 + wx + j * 8 + lane % 4 * 2;
                c[((size_t)row * n + column) / 2] = __floats2half2_rn(sum[i][j][2 * h], sum[i][j][2 * h + 1]);
            }
}
#define STRAIGHT(NAME, HOW)                                                                      \
    NAMED(NAME, 256, straight, (const uint4 *a, const uint4 *b, __half2 *c, int n, int depth), \
          (a, b, c, n, depth), HOW)
STRAIGHT(straight_plain, 0)
STRAIGHT(straight_padded, 1)
STRAIGHT(straight_swizzled, 2)

// C = A B^T in floats of 19 bits: 64 by 64 a block, 32 by 32 a warp, rows of 32 along k in PITCH words.
template <int PITCH> __device__ __forceinline__ void tfloats(const float4 *a, const float4 *b, float2 *c, int n, int depth) {
    __shared__ __align__(16) unsigned left[64 * PITCH], right[64 * PITCH];
    const int t = threadIdx.x, lane = t % 32, warp = t / 32, wy = warp / 2 * 32, wx = warp % 2 * 32;
    const auto rounded = [](float v) {
        unsigned u;
        asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(u) : "f"(v));
        return u;
    };
    float4 u[4], v[4];
    const auto fetch = [&](int begin) {
        for (int i = 0; i < 4; ++i) {
            const int row = i * 16 + t / 8;
            u[i] = a[((size_t)(blockIdx.y * 64 + row) * depth + begin) / 4 + t % 8];
            v[i] = b[((size_t)(blockIdx.x * 64 + row) * depth + begin) / 4 + t % 8];
        }
    };
    float sum[2][4][4] = {};
    fetch(0);
    for (int begin = 0; begin < depth; begin += 32) {
        for (int i = 0; i < 4; ++i) {
            const int to = (i * 16 + t / 8) * PITCH + t % 8 * 4;
            *(uint4 *)(left + to) = {rounded(u[i].x), rounded(u[i].y), rounded(u[i].z), rounded(u[i].w)};
            *(uint4 *)(right + to) = {rounded(v[i].x), rounded(v[i].y), rounded(v[i].z), rounded(v[i].w)};
        }
        __syncthreads();
        if (begin + 32 < depth) fetch(begin + 32);
        #pragma unroll
        for (int k = 0; k < 32; k += 8) {
            unsigned x[2][4];
            for (int i = 0; i < 2; ++i)
                for (int j = 0; j < 4; ++j)
                    x[i][j] = left[(wy + i * 16 + j % 2 * 8 + lane / 4) * PITCH + k + j / 2 * 4 + lane % 4];
            for (int j = 0; j < 4; ++j) {
                const unsigned *from = right + (wx + j * 8 + lane / 4) * PITCH + k + lane % 4;
                for (int i = 0; i < 2; ++i) by_tfloats(sum[i][j], x[i], from[0], from[4]);
            }
        }
        __syncthreads();
    }
    for (int i = 0; i < 2; ++i)
        for (int j = 0; j < 4; ++j)
            for (int h = 0; h < 2; ++h) {
                const int row = blockIdx.y * 64 + wy + i * 16 + h * 8 + lane / 4, column = blockIdx.x * 64 + wx + j * 8 + lane % 4 * 2;
                c[((size_t)row * n + column) / 2] = {sum[i][j][2 * h], sum[i][j][2 * h + 1]};
            }
}
NAMED(tfloats_plain, 128, tfloats, (const float4 *a, const float4 *b, float2 *c, int n, int depth), (a, b, c, n, depth), 32)
NAMED(tfloats_padded, 128, tfloats, (const float4 *a, const float4 *b, float2 *c, int n, int depth), (a, b, c, n, depth), 36)

// C = A B^T in doubles on tensor cores: 64 by 64 a block, 32 by 32 a warp, rows of 16 along k in PITCH doubles.
template <int PITCH> __device__ __forceinline__ void doubles(const double2 *a, const double2 *b, double2 *c, int n, int depth) {
    __shared__ __align__(16) double left[64 * PITCH], right[64 * PITCH];
    const int t = threadIdx.x, lane = t % 32, warp = t / 32, wy = warp / 2 * 32, wx = warp % 2 * 32;
    double sum[4][4][2] = {};
    for (int begin = 0; begin < depth; begin += 16) {
        for (int i = 0; i < 4; ++i) {
            const int row = i * 16 + t / 8;
            *(double2 *)(left + row * PITCH + t % 8 * 2) = a[((size_t)(blockIdx.y * 64 + row) * depth + begin) / 2 + t % 8];
            *(double2 *)(right + row * PITCH + t % 8 * 2) = b[((size_t)(blockIdx.x * 64 + row) * depth + begin) / 2 + t % 8];
        }
        __syncthreads();
        #pragma unroll
        for (int k = 0; k < 16; k += 4) {
            double x[4], y[4];
            for (int i = 0; i < 4; ++i) x[i] = left[(wy + i * 8 + lane / 4) * PITCH + k + lane % 4];
            for (int j = 0; j < 4; ++j) y[j] = right[(wx + j * 8 + lane / 4) * PITCH + k + lane % 4];
            for (int i = 0; i < 4; ++i)
                for (int j = 0; j < 4; ++j)
                    asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
                        : "+d"(sum[i][j][0]), "+d"(sum[i][j][1]) : "d"(x[i]), "d"(y[j]));
        }
        __syncthreads();
    }
    for (int i = 0; i < 4; ++i)
        for (int j = 0; j < 4; ++j) {
            const int row = blockIdx.y * 64 + wy + i * 8 + lane / 4, column = blockIdx.x * 64 + wx + j * 8 + lane % 4 * 2;
            c[((size_t)row * n + column) / 2] = {sum[i][j][0], sum[i][j][1]};
        }
}
NAMED(doubles_plain, 128, doubles, (const double2 *a, const double2 *b, double2 *c, int n, int depth), (a, b, c, n, depth), 16)
NAMED(doubles_padded, 128, doubles, (const double2 *a, const double2 *b, double2 *c, int n, int depth), (a, b, c, n, depth), 20)

// C = A B^T in halves by groups of four warps, whose tiles come by cp.async: 128 by 64 a block, 64 along k.
// HOW: 0 parts of 8 by 8 side by side, 1 each 16 bytes further, 2 rows of 128 bytes, swizzled.
template <int HOW> __device__ __forceinline__ void groups(const uint4 *a, const uint4 *b, float2 *c, int n, int depth) {
    constexpr int PART = HOW == 1 ? 144 : 128, ROWS = HOW == 2 ? 1024 : 8 * PART, STAGE = 24 * ROWS;
    extern __shared__ __align__(1024) unsigned char raw[];
    const unsigned base = shared_at(raw);
    const auto at = [](int row, int part) {
        return row / 8 * ROWS + (HOW == 2 ? row % 8 * 128 + (part ^ row % 8) * 16 : part * PART + row % 8 * 16);
    };
    const auto described = [](unsigned place) {
        return (unsigned long long)((place & 0x3ffff) >> 4) | (unsigned long long)(HOW == 2 ? 1 : PART / 16) << 16 |
               (unsigned long long)(ROWS / 16) << 32 | (HOW == 2 ? 1ull << 62 : 0);
    };
    const int t = threadIdx.x, lane = t % 32, warp = t / 32;
    const auto fetch = [&](int step) {
        if (step * 64 < depth) {
            const unsigned to = base + step % 3 * STAGE;
            #pragma unroll
            for (int i = t, r = 0; r < 4; ++r, i += 256)
                copied(to + at(i / 8, i % 8), a + (size_t)(blockIdx.y * 128 + i / 8) * (depth / 8) + step * 8 + i % 8);
            #pragma unroll
            for (int i = t, r = 0; r < 2; ++r, i += 256)
                copied(to + 16 * ROWS + at(i / 8, i % 8), b + (size_t)(blockIdx.x * 64 + i / 8) * (depth / 8) + step * 8 + i % 8);
        }
        committed();
    };
    float d[32] = {};
    fetch(0), fetch(1);
    for (int step = 0; step * 64 < depth; ++step) {
        awaited<1>();
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
        __syncthreads();
        fetch(step + 2);
        const unsigned left = base + step % 3 * STAGE + warp / 4 * 8 * ROWS, right = base + step % 3 * STAGE + 16 * ROWS;
        for (int i = 0; i < 32; ++i) asm volatile("" : "+f"(d[i])::"memory");
        asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
        #pragma unroll
        for (int k = 0; k < 4; ++k) {
            const int on = k * (HOW == 2 ? 32 : 2 * PART);
            asm volatile(
                "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 {%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,"
                "%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31}, %32, %33, 1, 1, 1, 0, 0;"
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
            const int row = blockIdx.y * 128 + warp * 16 + h * 8 + lane / 4, column = blockIdx.x * 64 + j * 8 + lane % 4 * 2;
            c[((size_t)row * n + column) / 2] = {d[4 * j + 2 * h], d[4 * j + 2 * h + 1]};
        }
}
NAMED(groups_plain, 256, groups, (const uint4 *a, const uint4 *b, float2 *c, int n, int depth), (a, b, c, n, depth), 0)
NAMED(groups_padded, 256, groups, (const uint4 *a, const uint4 *b, float2 *c, int n, int depth), (a, b, c, n, depth), 1)
NAMED(groups_swizzled, 256, groups, (const uint4 *a, const uint4 *b, float2 *c, int n, int depth), (a, b, c, n, depth), 2)
