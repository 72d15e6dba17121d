// Kernels of the fifteenth set that multiply on tensor cores, in groups that differ in layout alone.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#define NAMED(NAME, THREADS, RUN, PARAMETERS, ARGUMENTS, ...) \
    extern "C" __global__ void __launch_bounds__(THREADS) NAME PARAMETERS { RUN<__VA_ARGS__> ARGUMENTS; }

__device__ __forceinline__ unsigned shared_at(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }
__device__ __forceinline__ void copied(unsigned to, const void *from) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(from) : "memory");
}
__device__ __forceinline__ void committed() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int LEFT> __device__ __forceinline__ void awaited() { asm volatile("cp.async.wait_group %0;" ::"n"(LEFT) : "memory"); }
__device__ __forceinline__ void fragment(unsigned (&v)[4], const void *from) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(v[0]), "=r"(v[1]), "=r"(v[2]), "=r"(v[3]) : "r"(shared_at(from)) : "memory");
}

// A gated layer of brain floats: silu(X G^T) times X U^T, both sums at once; 64 by 64 a block, 32 by 32 a warp,
// three stages of 32 along k. HOW: 0 rows as they are, 1 padded by sixteen bytes, 2 swizzled.
template <int HOW> __device__ __forceinline__ void gates(const uint4 *x, const uint4 *gate, const uint4 *up, __nv_bfloat162 *out, int n, int depth) {
    constexpr int P = HOW == 1 ? 5 : 4;
    __shared__ __align__(128) uint4 held[3][3][64 * P];
    const auto at = [](int row, int part) { return row * P + (HOW == 2 ? part ^ row / 2 % 4 : part); };
    const int t = threadIdx.x, lane = t % 32, warp = t / 32, wy = warp / 2 * 32, wx = warp % 2 * 32, steps = depth / 32, pitch = depth / 8;
    const auto fetch = [&](int step) {
        if (step < steps) {
            #pragma unroll
            for (int r = 0; r < 2; ++r) {
                const int row = r * 32 + t / 4, part = t % 4;
                const size_t left = (size_t)(blockIdx.y * 64 + row) * pitch + step * 4 + part, right = (size_t)(blockIdx.x * 64 + row) * pitch + step * 4 + part;
                copied(shared_at(held[step % 3][0] + at(row, part)), x + left);
                copied(shared_at(held[step % 3][1] + at(row, part)), gate + right);
                copied(shared_at(held[step % 3][2] + at(row, part)), up + right);
            }
        }
        committed();
    };
    float sum[2][2][4][4] = {};
    fetch(0), fetch(1);
    for (int step = 0; step < steps; ++step) {
        awaited<1>();
        __syncthreads();
        fetch(step + 2);
        #pragma unroll
        for (int k = 0; k < 4; k += 2) {
            unsigned a[2][4], b[2][2][4];
            for (int i = 0; i < 2; ++i) {
                fragment(a[i], held[step % 3][0] + at(wy + i * 16 + lane % 16, k + lane / 16));
                for (int m = 0; m < 2; ++m) fragment(b[m][i], held[step % 3][1 + m] + at(wx + i * 16 + lane / 16 * 8 + lane % 8, k + lane / 8 % 2));
            }
            for (int m = 0; m < 2; ++m)
                for (int i = 0; i < 2; ++i)
                    for (int j = 0; j < 4; ++j) {
                        float(&s)[4] = sum[m][i][j];
                        asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                            : "+f"(s[0]), "+f"(s[1]), "+f"(s[2]), "+f"(s[3])
                            : "r"(a[i][0]), "r"(a[i][1]), "r"(a[i][2]), "r"(a[i][3]), "r"(b[m][j / 2][j % 2 * 2]), "r"(b[m][j / 2][j % 2 * 2 + 1]));
                    }
        }
    }
    const auto gated = [](float g, float u) { return __fdividef(g, 1 + __expf(-g)) * u; };
    for (int i = 0; i < 2; ++i)
        for (int j = 0; j < 4; ++j)
            for (int h = 0; h < 2; ++h) {
                const int row = blockIdx.y * 64 + wy + i * 16 + h * 8 + lane / 4, column = blockIdx.x * 64 + wx + j * 8 + lane % 4 * 2;
                const float(&g)[4] = sum[0][i][j], (&u)[4] = sum[1][i][j];
                out[((size_t)row * n + column) / 2] = __floats2bfloat162_rn(gated(g[2 * h], u[2 * h]), gated(g[2 * h + 1], u[2 * h + 1]));
            }
}
#define GATES(NAME, HOW)                                                                                                       \
    NAMED(NAME, 128, gates, (const uint4 *x, const uint4 *gate, const uint4 *up, __nv_bfloat162 *out, int n, int depth), \
          (x, gate, up, out, n, depth), HOW)
GATES(gates_plain, 0)
GATES(gates_padded, 1)
GATES(gates_swizzled, 2)

// Halves times weights of four bits, which have a scale for each 64 along k: 64 by 64 a block, 32 by 32 a warp, two stages.
// A word of weights holds what one lane needs for 32 along k. Rows of 128 and 32 bytes, or of 144 and 48.
template <int P, int Q> __device__ __forceinline__ void four_bits(const uint4 *x, const uint4 *weights, const __half *scales, __half2 *out, int n, int depth) {
    __shared__ __align__(128) uint4 left[2][64 * P], right[2][64 * Q];
    const int t = threadIdx.x, lane = t % 32, warp = t / 32, wy = warp / 2 * 32, wx = warp % 2 * 32, steps = depth / 64;
    const auto fetch = [&](int step) {
        if (step < steps) {
            #pragma unroll
            for (int k = t; k < 512; k += 128)
                copied(shared_at(left[step % 2] + k / 8 * P + k % 8), x + (size_t)(blockIdx.y * 64 + k / 8) * (depth / 8) + step * 8 + k % 8);
            copied(shared_at(right[step % 2] + t / 2 * Q + t % 2), weights + (size_t)(blockIdx.x * 64 + t / 2) * (depth / 32) + step * 2 + t % 2);
        }
        committed();
    };
    const auto opened = [](unsigned word, __half2 scale) {
        unsigned v = (word & 0x000f000fu) | 0x64006400u;
        const __half2 real = __hmul2(__hsub2(*(const __half2 *)&v, __float2half2_rn(1032)), scale);
        return *(const unsigned *)&real;
    };
    float sum[2][4][4] = {};
    fetch(0);
    for (int step = 0; step < steps; ++step) {
        __half2 scale[4];
        #pragma unroll
        for (int j = 0; j < 4; ++j) scale[j] = __half2half2(scales[(size_t)step * n + blockIdx.x * 64 + wx + j * 8 + lane / 4]);
        awaited<0>();
        __syncthreads();
        fetch(step + 1);
        #pragma unroll
        for (int half = 0; half < 2; ++half) {
            unsigned word[4];
            #pragma unroll
            for (int j = 0; j < 4; ++j) word[j] = ((const unsigned *)(right[step % 2] + (wx + j * 8 + lane / 4) * Q + half))[lane % 4];
            #pragma unroll
            for (int k = 0; k < 2; ++k) {
                unsigned a[2][4];
                for (int i = 0; i < 2; ++i) fragment(a[i], left[step % 2] + (wy + i * 16 + lane % 16) * P + half * 4 + k * 2 + lane / 16);
                for (int j = 0; j < 4; ++j) {
                    const unsigned b = opened(word[j] >> 8 * k, scale[j]), c = opened(word[j] >> (8 * k + 4), scale[j]);
                    for (int i = 0; i < 2; ++i)
                        asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                            : "+f"(sum[i][j][0]), "+f"(sum[i][j][1]), "+f"(sum[i][j][2]), "+f"(sum[i][j][3])
                            : "r"(a[i][0]), "r"(a[i][1]), "r"(a[i][2]), "r"(a[i][3]), "r"(b), "r"(c));
                }
            }
        }
    }
    for (int i = 0; i < 2; ++i)
        for (int j = 0; j < 4; ++j)
            for (int h = 0; h < 2; ++h) {
                const int row = blockIdx.y * 64 + wy + i * 16 + h * 8 + lane / 4, column = blockIdx.x * 64 + wx + j * 8 + lane % 4 * 2;
                out[((size_t)row * n + column) / 2] = __floats2half2_rn(sum[i][j][2 * h], sum[i][j][2 * h + 1]);
            }
}
#define FOUR_BITS(NAME, ...)                                                                                                    \
    NAMED(NAME, 128, four_bits, (const uint4 *x, const uint4 *weights, const __half *scales, __half2 *out, int n, int depth), \
          (x, weights, scales, out, n, depth), __VA_ARGS__)
FOUR_BITS(four_bits_plain, 8, 2)
FOUR_BITS(four_bits_padded, 9, 3)

// C = A B^T of bytes with signs that become bytes again, by two groups of four warps: 128 by 128 a block, two stages of 128 along k.
// HOW: 0 parts of 8 by 16 bytes side by side, 1 such parts padded by sixteen bytes, 2 rows of 128 bytes, swizzled.
template <int HOW> __device__ __forceinline__ void requantized(const uint4 *a, const uint4 *b, const float *rows, const float *columns, unsigned short *c, int n, int depth) {
    constexpr int PART = HOW == 1 ? 144 : 128, EIGHT = HOW == 2 ? 1024 : 8 * PART, GROUP = 8 * EIGHT;
    extern __shared__ __align__(1024) unsigned char raw[];
    const unsigned base = shared_at(raw);
    const auto at = [](int row, int part) {
        return row / 8 * EIGHT + (HOW == 2 ? row % 8 * 128 + (part ^ row % 8) * 16 : part * PART + row % 8 * 16);
    };
    const auto described = [](unsigned place) {
        return (unsigned long long)((place & 0x3ffff) >> 4) | (unsigned long long)(HOW == 2 ? 1 : PART / 16) << 16 |
               (unsigned long long)(EIGHT / 16) << 32 | (HOW == 2 ? 1ull << 62 : 0);
    };
    const int t = threadIdx.x, lane = t % 32, warp = t / 32, steps = depth / 128;
    const auto fetch = [&](int step) {
        if (step < steps) {
            const unsigned to = base + step % 2 * 4 * GROUP;
            #pragma unroll
            for (int r = 0; r < 4; ++r) {
                const int row = r * 32 + t / 8;
                copied(to + at(row, t % 8), a + (size_t)(blockIdx.y * 128 + row) * (depth / 16) + step * 8 + t % 8);
                copied(to + 2 * GROUP + at(row, t % 8), b + (size_t)(blockIdx.x * 128 + row) * (depth / 16) + step * 8 + t % 8);
            }
        }
        committed();
    };
    int d[64] = {};
    fetch(0);
    for (int step = 0; step < steps; ++step) {
        fetch(step + 1);
        awaited<1>();
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
        __syncthreads();
        const unsigned left = base + step % 2 * 4 * GROUP + warp / 4 * GROUP, right = base + step % 2 * 4 * GROUP + 2 * GROUP;
        for (int i = 0; i < 64; ++i) asm volatile("" : "+r"(d[i])::"memory");
        asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
        #pragma unroll
        for (int k = 0; k < 4; ++k) {
            const int on = k * (HOW == 2 ? 32 : 2 * PART);
#define EIGHT_OF(I) "+r"(d[I]), "+r"(d[I + 1]), "+r"(d[I + 2]), "+r"(d[I + 3]), "+r"(d[I + 4]), "+r"(d[I + 5]), "+r"(d[I + 6]), "+r"(d[I + 7])
            asm volatile(
                "wgmma.mma_async.sync.aligned.m64n128k32.s32.s8.s8 {%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,"
                "%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31,%32,%33,%34,%35,%36,%37,%38,%39,%40,%41,%42,"
                "%43,%44,%45,%46,%47,%48,%49,%50,%51,%52,%53,%54,%55,%56,%57,%58,%59,%60,%61,%62,%63}, %64, %65, 1;"
                : EIGHT_OF(0), EIGHT_OF(8), EIGHT_OF(16), EIGHT_OF(24), EIGHT_OF(32), EIGHT_OF(40), EIGHT_OF(48), EIGHT_OF(56)
                : "l"(described(left + on)), "l"(described(right + on)));
        }
        asm volatile("wgmma.commit_group.sync.aligned;\n\twgmma.wait_group.sync.aligned 0;" ::: "memory");
        for (int i = 0; i < 64; ++i) asm volatile("" : "+r"(d[i])::"memory");
        __syncthreads();
    }
    const auto narrowed = [](float v) { return (unsigned)(__float2int_rn(fminf(fmaxf(v, -127.f), 127.f)) & 255); };
    for (int h = 0; h < 2; ++h) {
        const int row = blockIdx.y * 128 + warp * 16 + h * 8 + lane / 4;
        const float by = rows[row] * 0.0005f;
        for (int j = 0; j < 16; ++j) {
            const int column = blockIdx.x * 128 + j * 8 + lane % 4 * 2;
            const float2 also = *(const float2 *)(columns + column);
            c[((size_t)row * n + column) / 2] = narrowed(d[4 * j + 2 * h] * by * also.x) | narrowed(d[4 * j + 2 * h + 1] * by * also.y) << 8;
        }
    }
}
#define REQUANTIZED(NAME, HOW)                                                                                                              \
    NAMED(NAME, 256, requantized, (const uint4 *a, const uint4 *b, const float *rows, const float *columns, unsigned short *c, int n, int depth), \
          (a, b, rows, columns, c, n, depth), HOW)
REQUANTIZED(requantized_plain, 0)
REQUANTIZED(requantized_padded, 1)
REQUANTIZED(requantized_swizzled, 2)
