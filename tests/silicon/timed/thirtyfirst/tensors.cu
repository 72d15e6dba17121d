// Kernels of the thirty-first set on tensor cores, in groups that differ in the layout of shared memory alone: a linear layer with its bias and SiLU, windows of
// attention with capped scores, gradients of weights by parts of the tokens, batched TF32, bytes to bytes, a layer with its norm, a small net fused, and pages of a cache.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <mma.h>

#define KERNEL(THREADS) extern "C" __global__ void __launch_bounds__(THREADS)
#define ALL 0xffffffffu

using namespace nvcuda;

enum Layout { PLAIN, PADDED, SWIZZLED };

__device__ __forceinline__ unsigned place(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }
__device__ __forceinline__ void bring(void *to, const void *from) { asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(place(to)), "l"(from) : "memory"); }
__device__ __forceinline__ void close_group() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int LEFT> __device__ __forceinline__ void arrived() { asm volatile("cp.async.wait_group %0;" ::"n"(LEFT) : "memory"); }
__device__ __forceinline__ void four(unsigned (&r)[4], const void *p) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];" : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(place(p)) : "memory");
}
__device__ __forceinline__ void four_turned(unsigned (&r)[4], const void *p) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];" : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(place(p)) : "memory");
}
__device__ __forceinline__ void halves(float (&c)[4], const unsigned (&a)[4], unsigned b, unsigned d) {
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b), "r"(d));
}
__device__ __forceinline__ void brains(float (&c)[4], const unsigned (&a)[4], unsigned b, unsigned d) {
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b), "r"(d));
}
__device__ __forceinline__ unsigned both(float x, float y) {
    const __half2 v = __floats2half2_rn(x, y);
    return *reinterpret_cast<const unsigned *>(&v);
}
__device__ __forceinline__ unsigned both_brains(float x, float y) {
    const __nv_bfloat162 v = __floats2bfloat162_rn(x, y);
    return *reinterpret_cast<const unsigned *>(&v);
}
// Halves: where chunks of eight lie in rows of 64, and in rows of 32.
template <Layout HOW> __device__ __forceinline__ int wide(int row, int chunk) { return HOW == PADDED ? row * 72 + chunk * 8 : row * 64 + (HOW == SWIZZLED ? chunk ^ (row & 7) : chunk) * 8; }
template <Layout HOW> __device__ __forceinline__ int narrow(int row, int chunk) { return HOW == PADDED ? row * 40 + chunk * 8 : row * 32 + (HOW == SWIZZLED ? chunk ^ (row >> 1 & 3) : chunk) * 8; }

// silu(A B' + bias) in halves, 128 by 64 a block, 32 of K a stage, three stages of asynchronous copies; the results go out by way of shared memory, 16 bytes a thread.
template <Layout HOW> __device__ __forceinline__ void linear_silu(const __half *a, const __half *b, const __half *bias, __half *out, int columns, int depth) {
    constexpr int ROW = HOW == PADDED ? 40 : 32, STAGE = 192 * ROW;
    __shared__ __align__(16) __half held[3 * STAGE];
    const int t = threadIdx.x, lane = t & 31, warp = t >> 5, i = lane >> 3, r = lane & 7;
    const __half *rows = a + (size_t)blockIdx.y * 128 * depth, *others = b + (size_t)blockIdx.x * 64 * depth;
    const auto stage = [&](int number) {
        __half *to = held + number % 3 * STAGE;
        const int k = number * 32;
        #pragma unroll
        for (int n = 0; n < 4; ++n) {
            const int p = n * 128 + t;
            bring(to + narrow<HOW>(p >> 2, p & 3), rows + (size_t)(p >> 2) * depth + k + (p & 3) * 8);
        }
        #pragma unroll
        for (int n = 0; n < 2; ++n) {
            const int p = n * 128 + t;
            bring(to + 128 * ROW + narrow<HOW>(p >> 2, p & 3), others + (size_t)(p >> 2) * depth + k + (p & 3) * 8);
        }
    };
    const int stages = depth / 32;
    stage(0), close_group(), stage(1), close_group();
    float c[2][8][4] = {};
    #pragma unroll 1
    for (int number = 0; number < stages; ++number) {
        arrived<1>();
        __syncthreads();
        if (number + 2 < stages) stage(number + 2);
        close_group();
        const __half *as = held + number % 3 * STAGE, *bs = as + 128 * ROW;
        #pragma unroll
        for (int k = 0; k < 2; ++k) {
            unsigned x[2][4];
            #pragma unroll
            for (int m = 0; m < 2; ++m) four(x[m], as + narrow<HOW>(warp * 32 + m * 16 + (i & 1) * 8 + r, k * 2 + (i >> 1)));
            #pragma unroll
            for (int n = 0; n < 4; ++n) {
                unsigned y[4];
                four(y, bs + narrow<HOW>(n * 16 + (i >> 1) * 8 + r, k * 2 + (i & 1)));
                #pragma unroll
                for (int m = 0; m < 2; ++m) halves(c[m][n * 2], x[m], y[0], y[1]), halves(c[m][n * 2 + 1], x[m], y[2], y[3]);
            }
        }
    }
    arrived<0>();
    __syncthreads();
    const auto silu = [](float x) { return x / (1.0f + __expf(-x)); };
    #pragma unroll
    for (int n = 0; n < 8; ++n) {
        const float2 added = __half22float2(*reinterpret_cast<const __half2 *>(bias + blockIdx.x * 64 + n * 8 + (lane & 3) * 2));
        #pragma unroll
        for (int m = 0; m < 2; ++m)
            #pragma unroll
            for (int h = 0; h < 2; ++h)
                *reinterpret_cast<unsigned *>(held + wide<HOW>(warp * 32 + m * 16 + h * 8 + (lane >> 2), n) + (lane & 3) * 2) = both(silu(c[m][n][h * 2] * 0.125f + added.x), silu(c[m][n][h * 2 + 1] * 0.125f + added.y));
    }
    __syncthreads();
    #pragma unroll
    for (int n = 0; n < 8; ++n) {
        const int p = n * 128 + t;
        *reinterpret_cast<uint4 *>(out + ((size_t)blockIdx.y * 128 + (p >> 3)) * columns + blockIdx.x * 64 + (p & 7) * 8) = *reinterpret_cast<const uint4 *>(held + wide<HOW>(p >> 3, p & 7));
    }
}
KERNEL(128) linear_silu_plain(const __half *a, const __half *b, const __half *bias, __half *out, int columns, int depth) { linear_silu<PLAIN>(a, b, bias, out, columns, depth); }
KERNEL(128) linear_silu_padded(const __half *a, const __half *b, const __half *bias, __half *out, int columns, int depth) { linear_silu<PADDED>(a, b, bias, out, columns, depth); }
KERNEL(128) linear_silu_swizzled(const __half *a, const __half *b, const __half *bias, __half *out, int columns, int depth) { linear_silu<SWIZZLED>(a, b, bias, out, columns, depth); }

// Causal attention that looks back no further than a window, its scores capped by tanh: heads of 64 in bfloat16, 64 queries a block, keys and values in two stages.
template <Layout HOW> __device__ __forceinline__ void capped(const __nv_bfloat16 *q, const __nv_bfloat16 *k, const __nv_bfloat16 *v, __nv_bfloat16 *out, int length, int window, float cap) {
    constexpr int TILE = 64 * (HOW == PADDED ? 72 : 64);
    __shared__ __align__(16) __nv_bfloat16 qs[TILE], ks[2][TILE], vs[2][TILE];
    const int t = threadIdx.x, lane = t & 31, warp = t >> 5, i = lane >> 3, r = lane & 7, first = (gridDim.x - 1 - blockIdx.x) * 64;
    const size_t head = (size_t)blockIdx.y * length * 64;
    const auto fetch = [&](__nv_bfloat16 *to, const __nv_bfloat16 *from, int row) {
        #pragma unroll
        for (int n = 0; n < 4; ++n) {
            const int p = n * 128 + t;
            bring(to + wide<HOW>(p >> 3, p & 7), from + head + (size_t)row * 64 + p * 8);
        }
    };
    const int last = first / 64, begin = max(first - window, 0) / 64;
    fetch(qs, q, first), fetch(ks[begin & 1], k, begin * 64), fetch(vs[begin & 1], v, begin * 64), close_group();
    float o[8][4] = {}, most[2] = {-1e30f, -1e30f}, sum[2] = {};
    unsigned x[4][4];
    #pragma unroll 1
    for (int tile = begin; tile <= last; ++tile) {
        if (tile < last) fetch(ks[tile + 1 & 1], k, tile * 64 + 64), fetch(vs[tile + 1 & 1], v, tile * 64 + 64);
        close_group();
        arrived<1>();
        __syncthreads();
        if (tile == begin)
            #pragma unroll
            for (int d = 0; d < 4; ++d) four(x[d], qs + wide<HOW>(warp * 16 + (i & 1) * 8 + r, d * 2 + (i >> 1)));
        float s[8][4] = {};
        #pragma unroll
        for (int d = 0; d < 4; ++d)
            #pragma unroll
            for (int n = 0; n < 4; ++n) {
                unsigned y[4];
                four(y, ks[tile & 1] + wide<HOW>(n * 16 + (i >> 1) * 8 + r, d * 2 + (i & 1)));
                brains(s[n * 2], x[d], y[0], y[1]), brains(s[n * 2 + 1], x[d], y[2], y[3]);
            }
        float now[2] = {most[0], most[1]};
        #pragma unroll
        for (int n = 0; n < 8; ++n)
            #pragma unroll
            for (int e = 0; e < 4; ++e) {
                float bent;
                asm("tanh.approx.f32 %0, %1;" : "=f"(bent) : "f"(s[n][e] * 0.125f / cap));
                const int row = first + warp * 16 + (e >> 1) * 8 + (lane >> 2), column = tile * 64 + n * 8 + (lane & 3) * 2 + (e & 1);
                s[n][e] = column <= row && column > row - window ? bent * cap : -1e30f;
                now[e >> 1] = fmaxf(now[e >> 1], s[n][e]);
            }
        #pragma unroll
        for (int h = 0; h < 2; ++h) {
            now[h] = fmaxf(now[h], __shfl_xor_sync(ALL, now[h], 1)), now[h] = fmaxf(now[h], __shfl_xor_sync(ALL, now[h], 2));
            const float less = __expf(most[h] - now[h]);
            most[h] = now[h], sum[h] *= less;
            #pragma unroll
            for (int n = 0; n < 8; ++n) o[n][h * 2] *= less, o[n][h * 2 + 1] *= less;
        }
        #pragma unroll
        for (int n = 0; n < 8; ++n)
            #pragma unroll
            for (int e = 0; e < 4; ++e) {
                s[n][e] = s[n][e] < -1e29f ? 0.0f : __expf(s[n][e] - most[e >> 1]);
                sum[e >> 1] += s[n][e];
            }
        #pragma unroll
        for (int key = 0; key < 4; ++key) {
            const unsigned p[4] = {both_brains(s[key * 2][0], s[key * 2][1]), both_brains(s[key * 2][2], s[key * 2][3]), both_brains(s[key * 2 + 1][0], s[key * 2 + 1][1]), both_brains(s[key * 2 + 1][2], s[key * 2 + 1][3])};
            #pragma unroll
            for (int n = 0; n < 4; ++n) {
                unsigned y[4];
                four_turned(y, vs[tile & 1] + wide<HOW>(key * 16 + (i & 1) * 8 + r, n * 2 + (i >> 1)));
                brains(o[n * 2], p, y[0], y[1]), brains(o[n * 2 + 1], p, y[2], y[3]);
            }
        }
        __syncthreads();
    }
    #pragma unroll
    for (int h = 0; h < 2; ++h) {
        sum[h] += __shfl_xor_sync(ALL, sum[h], 1), sum[h] += __shfl_xor_sync(ALL, sum[h], 2);
        const float part = 1.0f / sum[h];
        #pragma unroll
        for (int n = 0; n < 8; ++n)
            *reinterpret_cast<unsigned *>(out + head + (size_t)(first + warp * 16 + h * 8 + (lane >> 2)) * 64 + n * 8 + (lane & 3) * 2) = both_brains(o[n][h * 2] * part, o[n][h * 2 + 1] * part);
    }
}
KERNEL(128) capped_plain(const __nv_bfloat16 *q, const __nv_bfloat16 *k, const __nv_bfloat16 *v, __nv_bfloat16 *out, int length, int window, float cap) { capped<PLAIN>(q, k, v, out, length, window, cap); }
KERNEL(128) capped_swizzled(const __nv_bfloat16 *q, const __nv_bfloat16 *k, const __nv_bfloat16 *v, __nv_bfloat16 *out, int length, int window, float cap) { capped<SWIZZLED>(q, k, v, out, length, window, cap); }

// X' Y, the gradient of weights, by parts of the tokens: 64 by 64 a block, 32 tokens a step, both operands turned as they are read; the next step's words wait in registers.
template <Layout HOW> __device__ __forceinline__ void by_tokens(const __nv_bfloat16 *x, const __nv_bfloat16 *y, float *out, int rows, int columns, int tokens) {
    constexpr int ROW = HOW == PADDED ? 72 : 64;
    __shared__ __align__(16) __nv_bfloat16 xs[32 * ROW], ys[32 * ROW];
    const int t = threadIdx.x, lane = t & 31, warp = t >> 5, i = lane >> 3, r = lane & 7, down = (warp & 1) * 32, along = (warp >> 1) * 32;
    const __nv_bfloat16 *a = x + (size_t)blockIdx.z * tokens * rows + blockIdx.y * 64, *b = y + (size_t)blockIdx.z * tokens * columns + blockIdx.x * 64;
    uint4 u[2], w[2];
    const auto read = [&](int token) {
        #pragma unroll
        for (int n = 0; n < 2; ++n) {
            const int p = n * 128 + t;
            u[n] = *reinterpret_cast<const uint4 *>(a + (size_t)(token + (p >> 3)) * rows + (p & 7) * 8);
            w[n] = *reinterpret_cast<const uint4 *>(b + (size_t)(token + (p >> 3)) * columns + (p & 7) * 8);
        }
    };
    read(0);
    float c[2][4][4] = {};
    #pragma unroll 1
    for (int token = 0; token < tokens; token += 32) {
        #pragma unroll
        for (int n = 0; n < 2; ++n) {
            const int p = n * 128 + t;
            *reinterpret_cast<uint4 *>(xs + wide<HOW>(p >> 3, p & 7)) = u[n], *reinterpret_cast<uint4 *>(ys + wide<HOW>(p >> 3, p & 7)) = w[n];
        }
        __syncthreads();
        if (token + 32 < tokens) read(token + 32);
        #pragma unroll
        for (int k = 0; k < 32; k += 16) {
            unsigned f[2][4], g[2][4];
            #pragma unroll
            for (int m = 0; m < 2; ++m) four_turned(f[m], xs + wide<HOW>(k + (i >> 1) * 8 + r, down / 8 + m * 2 + (i & 1)));
            #pragma unroll
            for (int n = 0; n < 2; ++n) four_turned(g[n], ys + wide<HOW>(k + (i & 1) * 8 + r, along / 8 + n * 2 + (i >> 1)));
            #pragma unroll
            for (int m = 0; m < 2; ++m)
                #pragma unroll
                for (int n = 0; n < 4; ++n) brains(c[m][n], f[m], g[n >> 1][(n & 1) * 2], g[n >> 1][(n & 1) * 2 + 1]);
        }
        __syncthreads();
    }
    #pragma unroll
    for (int m = 0; m < 2; ++m)
        #pragma unroll
        for (int n = 0; n < 4; ++n)
            #pragma unroll
            for (int h = 0; h < 2; ++h) {
                const int row = blockIdx.y * 64 + down + m * 16 + h * 8 + (lane >> 2), column = blockIdx.x * 64 + along + n * 8 + (lane & 3) * 2;
                *reinterpret_cast<float2 *>(out + ((size_t)blockIdx.z * rows + row) * columns + column) = make_float2(c[m][n][h * 2], c[m][n][h * 2 + 1]);
            }
}
KERNEL(128) by_tokens_plain(const __nv_bfloat16 *x, const __nv_bfloat16 *y, float *out, int rows, int columns, int tokens) { by_tokens<PLAIN>(x, y, out, rows, columns, tokens); }
KERNEL(128) by_tokens_padded(const __nv_bfloat16 *x, const __nv_bfloat16 *y, float *out, int rows, int columns, int tokens) { by_tokens<PADDED>(x, y, out, rows, columns, tokens); }

// Batched products of floats in TF32, 64 by 64 a block and 16 deep a step, in two stages; fragments are read word by word and rounded on the way.
template <int PITCH, int OTHER> __device__ __forceinline__ void strided_tf32(const float *a, const float *b, float *out, int size, float alpha) {
    __shared__ __align__(16) float as[2][64 * PITCH], bs[2][16 * OTHER];
    const int t = threadIdx.x, lane = t & 31, warp = t >> 5, g = lane >> 2, q = lane & 3, down = (warp >> 1) * 32, along = (warp & 1) * 32;
    const size_t batch = (size_t)blockIdx.z * size * size;
    const float *rows = a + batch + (size_t)blockIdx.y * 64 * size, *columns = b + batch + blockIdx.x * 64;
    const auto fetch = [&](int stage, int k) {
        #pragma unroll
        for (int n = 0; n < 2; ++n) {
            const int p = n * 128 + t;
            bring(as[stage] + (p >> 2) * PITCH + (p & 3) * 4, rows + (size_t)(p >> 2) * size + k + (p & 3) * 4);
            bring(bs[stage] + (p >> 4) * OTHER + (p & 15) * 4, columns + (size_t)(k + (p >> 4)) * size + (p & 15) * 4);
        }
        close_group();
    };
    const auto rounded = [](float x) {
        unsigned bits;
        asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(bits) : "f"(x));
        return bits;
    };
    fetch(0, 0);
    float c[2][4][4] = {};
    #pragma unroll 1
    for (int k = 0, stage = 0; k < size; k += 16, stage ^= 1) {
        if (k + 16 < size) fetch(stage ^ 1, k + 16), arrived<1>();
        else arrived<0>();
        __syncthreads();
        #pragma unroll
        for (int d = 0; d < 16; d += 8) {
            unsigned x[2][4], y[4][2];
            #pragma unroll
            for (int m = 0; m < 2; ++m)
                #pragma unroll
                for (int e = 0; e < 4; ++e) x[m][e] = rounded(as[stage][(down + m * 16 + (e & 1) * 8 + g) * PITCH + d + (e >> 1) * 4 + q]);
            #pragma unroll
            for (int n = 0; n < 4; ++n)
                #pragma unroll
                for (int e = 0; e < 2; ++e) y[n][e] = rounded(bs[stage][(d + e * 4 + q) * OTHER + along + n * 8 + g]);
            #pragma unroll
            for (int m = 0; m < 2; ++m)
                #pragma unroll
                for (int n = 0; n < 4; ++n)
                    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                                 : "+f"(c[m][n][0]), "+f"(c[m][n][1]), "+f"(c[m][n][2]), "+f"(c[m][n][3])
                                 : "r"(x[m][0]), "r"(x[m][1]), "r"(x[m][2]), "r"(x[m][3]), "r"(y[n][0]), "r"(y[n][1]));
        }
        __syncthreads();
    }
    #pragma unroll
    for (int m = 0; m < 2; ++m)
        #pragma unroll
        for (int n = 0; n < 4; ++n)
            #pragma unroll
            for (int h = 0; h < 2; ++h)
                *reinterpret_cast<float2 *>(out + batch + (size_t)(blockIdx.y * 64 + down + m * 16 + h * 8 + g) * size + blockIdx.x * 64 + along + n * 8 + q * 2) = make_float2(alpha * c[m][n][h * 2], alpha * c[m][n][h * 2 + 1]);
}
KERNEL(128) strided_tf32_plain(const float *a, const float *b, float *out, int size, float alpha) { strided_tf32<16, 64>(a, b, out, size, alpha); }
KERNEL(128) strided_tf32_padded(const float *a, const float *b, float *out, int size, float alpha) { strided_tf32<20, 72>(a, b, out, size, alpha); }

// Bytes by bytes to bytes: 128 by 64 a block, 64 deep a step, two buffers that plain loads and stores fill; scaled by channel, with a bias, cut at zero and at 127.
template <Layout HOW> __device__ __forceinline__ void to_eight_bits(const signed char *a, const signed char *b, const float *scales, const int *bias, signed char *out, int columns, int depth) {
    __shared__ __align__(16) unsigned as[2][128 * 16], bs[2][64 * 16];
    const int t = threadIdx.x, lane = t & 31, warp = t >> 5, g = lane >> 2, q = lane & 3, down = (warp & 3) * 32, along = (warp >> 2) * 32;
    const auto at = [](int row, int chunk) { return row * 16 + (HOW == SWIZZLED ? chunk ^ (row >> 1 & 3) : chunk) * 4; };
    const signed char *rows = a + (size_t)blockIdx.y * 128 * depth, *others = b + (size_t)blockIdx.x * 64 * depth;
    uint4 u[2], w;
    const int row = t >> 2, chunk = t & 3;
    const auto read = [&](int k) {
        u[0] = *reinterpret_cast<const uint4 *>(rows + (size_t)row * depth + k + chunk * 16);
        u[1] = *reinterpret_cast<const uint4 *>(rows + (size_t)(row + 64) * depth + k + chunk * 16);
        w = *reinterpret_cast<const uint4 *>(others + (size_t)row * depth + k + chunk * 16);
    };
    const auto keep = [&](int stage) {
        *reinterpret_cast<uint4 *>(as[stage] + at(row, chunk)) = u[0], *reinterpret_cast<uint4 *>(as[stage] + at(row + 64, chunk)) = u[1];
        *reinterpret_cast<uint4 *>(bs[stage] + at(row, chunk)) = w;
    };
    read(0), keep(0);
    __syncthreads();
    int c[2][4][4] = {};
    #pragma unroll 1
    for (int k = 0, stage = 0; k < depth; k += 64, stage ^= 1) {
        const bool more = k + 64 < depth;
        if (more) read(k + 64);
        #pragma unroll
        for (int d = 0; d < 2; ++d) {
            unsigned x[2][4], y[4][2];
            #pragma unroll
            for (int m = 0; m < 2; ++m)
                #pragma unroll
                for (int e = 0; e < 4; ++e) x[m][e] = as[stage][at(down + m * 16 + (e & 1) * 8 + g, d * 2 + (e >> 1)) + q];
            #pragma unroll
            for (int n = 0; n < 4; ++n)
                #pragma unroll
                for (int e = 0; e < 2; ++e) y[n][e] = bs[stage][at(along + n * 8 + g, d * 2 + e) + q];
            #pragma unroll
            for (int m = 0; m < 2; ++m)
                #pragma unroll
                for (int n = 0; n < 4; ++n)
                    asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                                 : "+r"(c[m][n][0]), "+r"(c[m][n][1]), "+r"(c[m][n][2]), "+r"(c[m][n][3])
                                 : "r"(x[m][0]), "r"(x[m][1]), "r"(x[m][2]), "r"(x[m][3]), "r"(y[n][0]), "r"(y[n][1]));
        }
        if (more) keep(stage ^ 1);
        __syncthreads();
    }
    #pragma unroll
    for (int n = 0; n < 4; ++n) {
        const int column = blockIdx.x * 64 + along + n * 8 + q * 2;
        const float2 scale = *reinterpret_cast<const float2 *>(scales + column);
        const int2 added = *reinterpret_cast<const int2 *>(bias + column);
        #pragma unroll
        for (int m = 0; m < 2; ++m)
            #pragma unroll
            for (int h = 0; h < 2; ++h) {
                const int left = __float2int_rn((float)(c[m][n][h * 2] + added.x) * scale.x * 2e-4f), right = __float2int_rn((float)(c[m][n][h * 2 + 1] + added.y) * scale.y * 2e-4f);
                const size_t own = (size_t)blockIdx.y * 128 + down + m * 16 + h * 8 + g;
                *reinterpret_cast<char2 *>(out + own * columns + column) = make_char2((signed char)min(max(left, 0), 127), (signed char)min(max(right, 0), 127));
            }
    }
}
KERNEL(256) to_eight_bits_plain(const signed char *a, const signed char *b, const float *scales, const int *bias, signed char *out, int columns, int depth) { to_eight_bits<PLAIN>(a, b, scales, bias, out, columns, depth); }
KERNEL(256) to_eight_bits_swizzled(const signed char *a, const signed char *b, const float *scales, const int *bias, signed char *out, int columns, int depth) { to_eight_bits<SWIZZLED>(a, b, scales, bias, out, columns, depth); }

// A layer of 128 and the norm of its rows, in one: 64 rows a block by WMMA, sums to shared memory, four threads a row for mean and variance, halves out.
template <int A, int B, int C> __device__ __forceinline__ void linear_norm(const __half *in, const __half *weights, const float *gains, __half *out, int depth) {
    constexpr int TILES = (64 * A + 32 * B) * 2, SUMS = 64 * C * 4;
    __shared__ __align__(32) unsigned char held[TILES > SUMS ? TILES : SUMS];
    __half *as = reinterpret_cast<__half *>(held), *bs = as + 64 * A;
    float *cs = reinterpret_cast<float *>(held);
    const int t = threadIdx.x, warp = t >> 5, down = (warp & 3) * 16, along = (warp >> 2) * 64;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> c[4];
    #pragma unroll
    for (int n = 0; n < 4; ++n) wmma::fill_fragment(c[n], 0.0f);
    const __half *rows = in + (size_t)blockIdx.x * 64 * depth;
    #pragma unroll 1
    for (int k = 0; k < depth; k += 32) {
        __syncthreads();
        *reinterpret_cast<uint4 *>(as + (t >> 2) * A + (t & 3) * 8) = *reinterpret_cast<const uint4 *>(rows + (size_t)(t >> 2) * depth + k + (t & 3) * 8);
        #pragma unroll
        for (int n = 0; n < 2; ++n) {
            const int p = n * 256 + t;
            *reinterpret_cast<uint4 *>(bs + (p >> 4) * B + (p & 15) * 8) = *reinterpret_cast<const uint4 *>(weights + (size_t)(k + (p >> 4)) * 128 + (p & 15) * 8);
        }
        __syncthreads();
        #pragma unroll
        for (int d = 0; d < 32; d += 16) {
            wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> x;
            wmma::load_matrix_sync(x, as + down * A + d, A);
            #pragma unroll
            for (int n = 0; n < 4; ++n) {
                wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::row_major> y;
                wmma::load_matrix_sync(y, bs + d * B + along + n * 16, B);
                wmma::mma_sync(c[n], x, y, c[n]);
            }
        }
    }
    __syncthreads();
    #pragma unroll
    for (int n = 0; n < 4; ++n) wmma::store_matrix_sync(cs + down * C + along + n * 16, c[n], C, wmma::mem_row_major);
    __syncthreads();
    float *own = cs + (t >> 2) * C + (t & 3), mean = 0.0f, square = 0.0f;
    #pragma unroll 8
    for (int k = 0; k < 32; ++k) {
        const float x = own[k * 4];
        mean += x, square += x * x;
    }
    mean += __shfl_xor_sync(ALL, mean, 1), mean += __shfl_xor_sync(ALL, mean, 2);
    square += __shfl_xor_sync(ALL, square, 1), square += __shfl_xor_sync(ALL, square, 2);
    mean *= 1.0f / 128.0f;
    const float scale = rsqrtf(fmaxf(square * (1.0f / 128.0f) - mean * mean, 0.0f) + 1e-5f);
    #pragma unroll 8
    for (int k = 0; k < 32; ++k) own[k * 4] = (own[k * 4] - mean) * scale;
    __syncthreads();
    #pragma unroll 4
    for (int p = t; p < 64 * 32; p += 256) {
        const float4 x = *reinterpret_cast<const float4 *>(cs + (p >> 5) * C + (p & 31) * 4), gain = reinterpret_cast<const float4 *>(gains)[p & 31];
        *reinterpret_cast<uint2 *>(out + (size_t)blockIdx.x * 8192 + p * 4) = make_uint2(both(x.x * gain.x, x.y * gain.y), both(x.z * gain.z, x.w * gain.w));
    }
}
KERNEL(256) linear_norm_plain(const __half *in, const __half *weights, const float *gains, __half *out, int depth) { linear_norm<32, 128, 128>(in, weights, gains, out, depth); }
KERNEL(256) linear_norm_padded(const __half *in, const __half *weights, const float *gains, __half *out, int depth) { linear_norm<40, 136, 132>(in, weights, gains, out, depth); }

// A net of 64 wide layers, all in one: 128 rows a block never leave shared memory, each warp keeps to its own 32; the next layer's weights come while this one is multiplied.
template <Layout HOW> __device__ __forceinline__ void all_in_one(const __half *in, const __half *weights, __half *out, int layers) {
    constexpr int ROW = HOW == PADDED ? 72 : 64;
    __shared__ __align__(16) __half xs[128 * ROW], ws[2][64 * ROW];
    const int t = threadIdx.x, lane = t & 31, warp = t >> 5, i = lane >> 3, r = lane & 7;
    const auto fetch = [&](int layer) {
        #pragma unroll
        for (int n = 0; n < 4; ++n) {
            const int p = n * 128 + t;
            bring(ws[layer & 1] + wide<HOW>(p >> 3, p & 7), weights + layer * 4096 + p * 8);
        }
        close_group();
    };
    #pragma unroll
    for (int n = 0; n < 8; ++n) {
        const int p = n * 128 + t;
        bring(xs + wide<HOW>(p >> 3, p & 7), in + (size_t)blockIdx.x * 8192 + p * 8);
    }
    fetch(0);
    #pragma unroll 1
    for (int layer = 0; layer < layers; ++layer) {
        arrived<0>();
        __syncthreads();
        if (layer + 1 < layers) fetch(layer + 1);
        float c[2][8][4] = {};
        #pragma unroll 2
        for (int k = 0; k < 4; ++k) {
            unsigned x[2][4];
            #pragma unroll
            for (int m = 0; m < 2; ++m) four(x[m], xs + wide<HOW>(warp * 32 + m * 16 + (i & 1) * 8 + r, k * 2 + (i >> 1)));
            #pragma unroll
            for (int n = 0; n < 4; ++n) {
                unsigned y[4];
                four(y, ws[layer & 1] + wide<HOW>(n * 16 + (i >> 1) * 8 + r, k * 2 + (i & 1)));
                #pragma unroll
                for (int m = 0; m < 2; ++m) halves(c[m][n * 2], x[m], y[0], y[1]), halves(c[m][n * 2 + 1], x[m], y[2], y[3]);
            }
        }
        __syncwarp();
        #pragma unroll
        for (int m = 0; m < 2; ++m)
            #pragma unroll
            for (int n = 0; n < 8; ++n)
                #pragma unroll
                for (int h = 0; h < 2; ++h)
                    *reinterpret_cast<unsigned *>(xs + wide<HOW>(warp * 32 + m * 16 + h * 8 + (lane >> 2), n) + (lane & 3) * 2) = both(fmaxf(c[m][n][h * 2], 0.0f) * 0.25f, fmaxf(c[m][n][h * 2 + 1], 0.0f) * 0.25f);
        __syncwarp();
    }
    #pragma unroll
    for (int n = 0; n < 8; ++n) {
        const int row = warp * 32 + n * 4 + (lane >> 3);
        *reinterpret_cast<uint4 *>(out + (size_t)blockIdx.x * 8192 + row * 64 + (lane & 7) * 8) = *reinterpret_cast<const uint4 *>(xs + wide<HOW>(row, lane & 7));
    }
}
extern "C" __global__ void __launch_bounds__(128, 4) all_in_one_plain(const __half *in, const __half *weights, __half *out, int layers) { all_in_one<PLAIN>(in, weights, out, layers); }
extern "C" __global__ void __launch_bounds__(128, 4) all_in_one_swizzled(const __half *in, const __half *weights, __half *out, int layers) { all_in_one<SWIZZLED>(in, weights, out, layers); }

// One new token's attention, sixteen heads that share keys and values: pages of sixteen tokens by a table, two stages, a part of the tokens a block; each warp a page of its
// own, with its own maxima, joined at the end. The parts are joined elsewhere.
template <Layout HOW> __device__ __forceinline__ void table_pages(const __half *q, const __half *k, const __half *v, const unsigned *table, float *out, float2 *norms, int tiles, unsigned mask) {
    constexpr int TILE = 64 * (HOW == PADDED ? 72 : 64);
    __shared__ __align__(16) __half ks[2][TILE], vs[2][TILE];
    __shared__ float2 seen[4][16];
    const int t = threadIdx.x, lane = t & 31, warp = t >> 5, i = lane >> 3, r = lane & 7;
    const unsigned *pages = table + (blockIdx.z * gridDim.x + blockIdx.x) * tiles * 4;
    const auto fetch = [&](int tile) {
        const unsigned page = pages[tile * 4 + warp] & mask;
        const size_t from = ((size_t)page * gridDim.y + blockIdx.y) * 1024;
        #pragma unroll
        for (int n = 0; n < 4; ++n) {
            const int p = n * 32 + lane, to = wide<HOW>(warp * 16 + (p >> 3), p & 7);
            bring(ks[tile & 1] + to, k + from + p * 8), bring(vs[tile & 1] + to, v + from + p * 8);
        }
        close_group();
    };
    fetch(0);
    unsigned x[4][4];
    const __half *asked = q + ((size_t)blockIdx.z * gridDim.y + blockIdx.y) * 1024;
    #pragma unroll
    for (int d = 0; d < 4; ++d)
        #pragma unroll
        for (int e = 0; e < 4; ++e) x[d][e] = *reinterpret_cast<const unsigned *>(asked + ((e & 1) * 8 + (lane >> 2)) * 64 + d * 16 + (e >> 1) * 8 + (lane & 3) * 2);
    float o[8][4] = {}, most[2] = {-1e30f, -1e30f}, sum[2] = {};
    #pragma unroll 1
    for (int tile = 0; tile < tiles; ++tile) {
        if (tile + 1 < tiles) fetch(tile + 1), arrived<1>();
        else arrived<0>();
        __syncwarp();
        float s[2][4] = {};
        #pragma unroll
        for (int d = 0; d < 4; ++d) {
            unsigned y[4];
            four(y, ks[tile & 1] + wide<HOW>(warp * 16 + (i >> 1) * 8 + r, d * 2 + (i & 1)));
            halves(s[0], x[d], y[0], y[1]), halves(s[1], x[d], y[2], y[3]);
        }
        #pragma unroll
        for (int h = 0; h < 2; ++h) {
            float now = fmaxf(fmaxf(s[0][h * 2], s[0][h * 2 + 1]), fmaxf(s[1][h * 2], s[1][h * 2 + 1])) * 0.125f;
            now = fmaxf(now, __shfl_xor_sync(ALL, now, 1)), now = fmaxf(now, __shfl_xor_sync(ALL, now, 2)), now = fmaxf(now, most[h]);
            const float less = __expf(most[h] - now);
            most[h] = now, sum[h] *= less;
            #pragma unroll
            for (int n = 0; n < 8; ++n) o[n][h * 2] *= less, o[n][h * 2 + 1] *= less;
            #pragma unroll
            for (int e = 0; e < 4; ++e) {
                float &score = s[e >> 1][h * 2 + (e & 1)];
                score = __expf(score * 0.125f - now), sum[h] += score;
            }
        }
        const unsigned p[4] = {both(s[0][0], s[0][1]), both(s[0][2], s[0][3]), both(s[1][0], s[1][1]), both(s[1][2], s[1][3])};
        #pragma unroll
        for (int n = 0; n < 4; ++n) {
            unsigned y[4];
            four_turned(y, vs[tile & 1] + wide<HOW>(warp * 16 + (i & 1) * 8 + r, n * 2 + (i >> 1)));
            halves(o[n * 2], p, y[0], y[1]), halves(o[n * 2 + 1], p, y[2], y[3]);
        }
        __syncwarp();
    }
    #pragma unroll
    for (int h = 0; h < 2; ++h) {
        sum[h] += __shfl_xor_sync(ALL, sum[h], 1), sum[h] += __shfl_xor_sync(ALL, sum[h], 2);
        if ((lane & 3) == 0) seen[warp][h * 8 + (lane >> 2)] = make_float2(most[h], sum[h]);
    }
    __syncthreads();
    float *parts = reinterpret_cast<float *>(ks);
    float whole[2], total[2];
    #pragma unroll
    for (int h = 0; h < 2; ++h) {
        const int row = h * 8 + (lane >> 2);
        whole[h] = fmaxf(fmaxf(seen[0][row].x, seen[1][row].x), fmaxf(seen[2][row].x, seen[3][row].x)), total[h] = 0.0f;
        #pragma unroll
        for (int w = 0; w < 4; ++w) total[h] += seen[w][row].y * __expf(seen[w][row].x - whole[h]);
        const float scale = __expf(most[h] - whole[h]) / total[h];
        #pragma unroll
        for (int n = 0; n < 8; ++n) *reinterpret_cast<float2 *>(parts + warp * 1024 + row * 64 + n * 8 + (lane & 3) * 2) = make_float2(o[n][h * 2] * scale, o[n][h * 2 + 1] * scale);
    }
    const size_t own = ((size_t)blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
    if (warp == 0 && (lane & 3) == 0)
        #pragma unroll
        for (int h = 0; h < 2; ++h) norms[own * 16 + h * 8 + (lane >> 2)] = make_float2(whole[h], total[h]);
    __syncthreads();
    #pragma unroll
    for (int n = 0; n < 2; ++n) {
        const int place = (n * 128 + t) * 4;
        float4 all = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
        #pragma unroll
        for (int w = 0; w < 4; ++w) {
            const float4 one = *reinterpret_cast<const float4 *>(parts + w * 1024 + place);
            all.x += one.x, all.y += one.y, all.z += one.z, all.w += one.w;
        }
        *reinterpret_cast<float4 *>(out + own * 1024 + place) = all;
    }
}
KERNEL(128) table_pages_plain(const __half *q, const __half *k, const __half *v, const unsigned *table, float *out, float2 *norms, int tiles, unsigned mask) { table_pages<PLAIN>(q, k, v, table, out, norms, tiles, mask); }
KERNEL(128) table_pages_padded(const __half *q, const __half *k, const __half *v, const unsigned *table, float *out, float2 *norms, int tiles, unsigned mask) { table_pages<PADDED>(q, k, v, table, out, norms, tiles, mask); }
