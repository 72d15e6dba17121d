// Kernels of the thirty-second set on tensor cores, in groups that differ in the layout of shared memory alone: a product summed in halves, attention by WMMA with its
// scores in shared memory, TF32 with K down columns, bytes by WMMA, a projection with rotary positions, a matrix turned by stmatrix, weights of bytes, a convolution.
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
// Halves: where chunks of eight lie in rows of 128.
template <Layout HOW> __device__ __forceinline__ int broad(int row, int chunk) { return HOW == PADDED ? row * 136 + chunk * 8 : row * 128 + (HOW == SWIZZLED ? chunk ^ (row & 7) : chunk) * 8; }

// A B with all in halves, the sums too: 128 by 128 a block, 32 of K a step, the next step's tiles wait in registers; B's rows are along N, and turned as they are read.
template <Layout HOW> __device__ __forceinline__ void half_totals(const __half *a, const __half *b, __half *out, int columns, int depth) {
    constexpr int A = 128 * (HOW == PADDED ? 40 : 32), B = 32 * (HOW == PADDED ? 136 : 128);
    __shared__ __align__(16) __half as[2][A], bs[2][B];
    const int t = threadIdx.x, lane = t & 31, warp = t >> 5, i = lane >> 3, r = lane & 7, down = (warp & 1) * 64, along = (warp >> 1) * 32;
    const __half *rows = a + (size_t)blockIdx.y * 128 * depth, *others = b + blockIdx.x * 128;
    uint4 u[2], v[2];
    const auto read = [&](int k) {
        #pragma unroll
        for (int n = 0; n < 2; ++n) {
            const int p = n * 256 + t;
            u[n] = *reinterpret_cast<const uint4 *>(rows + (size_t)(p >> 2) * depth + k + (p & 3) * 8);
            v[n] = *reinterpret_cast<const uint4 *>(others + (size_t)(k + (p >> 4)) * columns + (p & 15) * 8);
        }
    };
    const auto keep = [&](int stage) {
        #pragma unroll
        for (int n = 0; n < 2; ++n) {
            const int p = n * 256 + t;
            *reinterpret_cast<uint4 *>(as[stage] + narrow<HOW>(p >> 2, p & 3)) = u[n], *reinterpret_cast<uint4 *>(bs[stage] + broad<HOW>(p >> 4, p & 15)) = v[n];
        }
    };
    read(0), keep(0);
    __syncthreads();
    unsigned c[4][4][2] = {};
    #pragma unroll 1
    for (int k = 0, stage = 0; k < depth; k += 32, stage ^= 1) {
        const bool more = k + 32 < depth;
        if (more) read(k + 32);
        #pragma unroll
        for (int d = 0; d < 2; ++d) {
            unsigned x[4][4], y[2][4];
            #pragma unroll
            for (int m = 0; m < 4; ++m) four(x[m], as[stage] + narrow<HOW>(down + m * 16 + (i & 1) * 8 + r, d * 2 + (i >> 1)));
            #pragma unroll
            for (int n = 0; n < 2; ++n) four_turned(y[n], bs[stage] + broad<HOW>(d * 16 + (i & 1) * 8 + r, along / 8 + n * 2 + (i >> 1)));
            #pragma unroll
            for (int m = 0; m < 4; ++m)
                #pragma unroll
                for (int n = 0; n < 4; ++n)
                    asm volatile("mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%0,%1}, {%2,%3,%4,%5}, {%6,%7}, {%0,%1};"
                                 : "+r"(c[m][n][0]), "+r"(c[m][n][1]) : "r"(x[m][0]), "r"(x[m][1]), "r"(x[m][2]), "r"(x[m][3]), "r"(y[n >> 1][(n & 1) * 2]), "r"(y[n >> 1][(n & 1) * 2 + 1]));
        }
        if (more) keep(stage ^ 1);
        __syncthreads();
    }
    #pragma unroll
    for (int m = 0; m < 4; ++m)
        #pragma unroll
        for (int n = 0; n < 4; ++n)
            #pragma unroll
            for (int h = 0; h < 2; ++h)
                *reinterpret_cast<unsigned *>(out + ((size_t)blockIdx.y * 128 + down + m * 16 + h * 8 + (lane >> 2)) * columns + blockIdx.x * 128 + along + n * 8 + (lane & 3) * 2) = c[m][n][h];
}
KERNEL(256) half_totals_plain(const __half *a, const __half *b, __half *out, int columns, int depth) { half_totals<PLAIN>(a, b, out, columns, depth); }
KERNEL(256) half_totals_padded(const __half *a, const __half *b, __half *out, int columns, int depth) { half_totals<PADDED>(a, b, out, columns, depth); }
KERNEL(256) half_totals_swizzled(const __half *a, const __half *b, __half *out, int columns, int depth) { half_totals<SWIZZLED>(a, b, out, columns, depth); }

// Attention as it is first written with WMMA: heads of 64, 64 queries a block, scores and parts of the output by way of shared memory, two threads a row for the softmax;
// the probabilities take the place of the keys.
template <int P, int S> __device__ __forceinline__ void first_attention(const __half *q, const __half *k, const __half *v, __half *out, int length) {
    __shared__ __align__(32) __half qs[64 * P], ks[64 * P], vs[64 * P];
    __shared__ __align__(32) float scores[64 * S];
    const int t = threadIdx.x, warp = t >> 5, row = t >> 1, side = t & 1;
    const size_t head = (size_t)blockIdx.y * length * 64;
    const auto fetch = [&](__half *to, const __half *from, int first) {
        #pragma unroll
        for (int n = 0; n < 4; ++n) {
            const int p = n * 128 + t;
            *reinterpret_cast<uint4 *>(to + (p >> 3) * P + (p & 7) * 8) = *reinterpret_cast<const uint4 *>(from + head + (size_t)first * 64 + p * 8);
        }
    };
    fetch(qs, q, blockIdx.x * 64);
    float o[32] = {}, most = -1e30f, sum = 0.0f;
    float *own = scores + row * S + side * 4;
    #pragma unroll 1
    for (int tile = 0; tile < length; tile += 64) {
        __syncthreads();
        fetch(ks, k, tile), fetch(vs, v, tile);
        __syncthreads();
        wmma::fragment<wmma::accumulator, 16, 16, 16, float> c[4];
        #pragma unroll
        for (int n = 0; n < 4; ++n) wmma::fill_fragment(c[n], 0.0f);
        #pragma unroll
        for (int d = 0; d < 64; d += 16) {
            wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> x;
            wmma::load_matrix_sync(x, qs + warp * 16 * P + d, P);
            #pragma unroll
            for (int n = 0; n < 4; ++n) {
                wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::col_major> y;
                wmma::load_matrix_sync(y, ks + n * 16 * P + d, P);
                wmma::mma_sync(c[n], x, y, c[n]);
            }
        }
        #pragma unroll
        for (int n = 0; n < 4; ++n) wmma::store_matrix_sync(scores + warp * 16 * S + n * 16, c[n], S, wmma::mem_row_major);
        __syncthreads();
        float4 s[8];
        float now = most;
        #pragma unroll
        for (int j = 0; j < 8; ++j) {
            s[j] = *reinterpret_cast<const float4 *>(own + j * 8);
            now = fmaxf(now, fmaxf(fmaxf(s[j].x, s[j].y), fmaxf(s[j].z, s[j].w)) * 0.125f);
        }
        now = fmaxf(now, __shfl_xor_sync(ALL, now, 1));
        const float less = __expf(most - now);
        most = now, sum *= less;
        #pragma unroll
        for (int j = 0; j < 8; ++j) {
            s[j] = make_float4(__expf(s[j].x * 0.125f - now), __expf(s[j].y * 0.125f - now), __expf(s[j].z * 0.125f - now), __expf(s[j].w * 0.125f - now));
            sum += (s[j].x + s[j].y) + (s[j].z + s[j].w);
            *reinterpret_cast<uint2 *>(ks + row * P + side * 4 + j * 8) = make_uint2(both(s[j].x, s[j].y), both(s[j].z, s[j].w));
        }
        __syncwarp();
        #pragma unroll
        for (int n = 0; n < 4; ++n) wmma::fill_fragment(c[n], 0.0f);
        #pragma unroll
        for (int d = 0; d < 64; d += 16) {
            wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> x;
            wmma::load_matrix_sync(x, ks + warp * 16 * P + d, P);
            #pragma unroll
            for (int n = 0; n < 4; ++n) {
                wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::row_major> y;
                wmma::load_matrix_sync(y, vs + d * P + n * 16, P);
                wmma::mma_sync(c[n], x, y, c[n]);
            }
        }
        #pragma unroll
        for (int n = 0; n < 4; ++n) wmma::store_matrix_sync(scores + warp * 16 * S + n * 16, c[n], S, wmma::mem_row_major);
        __syncwarp();
        #pragma unroll
        for (int j = 0; j < 8; ++j) {
            const float4 part = *reinterpret_cast<const float4 *>(own + j * 8);
            o[j * 4] = o[j * 4] * less + part.x, o[j * 4 + 1] = o[j * 4 + 1] * less + part.y, o[j * 4 + 2] = o[j * 4 + 2] * less + part.z, o[j * 4 + 3] = o[j * 4 + 3] * less + part.w;
        }
    }
    const float scale = 1.0f / (sum + __shfl_xor_sync(ALL, sum, 1));
    __half *to = out + head + ((size_t)blockIdx.x * 64 + row) * 64 + side * 4;
    #pragma unroll
    for (int j = 0; j < 8; ++j) *reinterpret_cast<uint2 *>(to + j * 8) = make_uint2(both(o[j * 4] * scale, o[j * 4 + 1] * scale), both(o[j * 4 + 2] * scale, o[j * 4 + 3] * scale));
}
KERNEL(128) first_attention_plain(const __half *q, const __half *k, const __half *v, __half *out, int length) { first_attention<64, 64>(q, k, v, out, length); }
KERNEL(128) first_attention_padded(const __half *q, const __half *k, const __half *v, __half *out, int length) { first_attention<72, 72>(q, k, v, out, length); }

// A' B in TF32, K down the columns of both: 64 by 128 a block, 16 of K a stage, three stages of asynchronous copies, fragments read word by word.
template <int A, int B> __device__ __forceinline__ void k_down(const float *a, const float *b, float *c, int rows, int columns, int depth) {
    __shared__ __align__(16) float as[3][16 * A], bs[3][16 * B];
    const int t = threadIdx.x, lane = t & 31, warp = t >> 5, g = lane >> 2, q = lane & 3, down = (warp & 1) * 32, along = (warp >> 1) * 64;
    const auto stage = [&](int number) {
        const int k = number * 16, slot = number % 3;
        #pragma unroll
        for (int n = 0; n < 2; ++n) {
            const int p = n * 128 + t;
            bring(as[slot] + (p >> 4) * A + (p & 15) * 4, a + (size_t)(k + (p >> 4)) * rows + blockIdx.y * 64 + (p & 15) * 4);
        }
        #pragma unroll
        for (int n = 0; n < 4; ++n) {
            const int p = n * 128 + t;
            bring(bs[slot] + (p >> 5) * B + (p & 31) * 4, b + (size_t)(k + (p >> 5)) * columns + blockIdx.x * 128 + (p & 31) * 4);
        }
    };
    const int stages = depth / 16;
    stage(0), close_group(), stage(1), close_group();
    float sums[2][8][4] = {};
    #pragma unroll 1
    for (int number = 0; number < stages; ++number) {
        arrived<1>();
        __syncthreads();
        if (number + 2 < stages) stage(number + 2);
        close_group();
        const float *x = as[number % 3] + down + g, *y = bs[number % 3] + along + g;
        #pragma unroll
        for (int d = 0; d < 16; d += 8) {
            unsigned u[2][4];
            #pragma unroll
            for (int m = 0; m < 2; ++m)
                #pragma unroll
                for (int e = 0; e < 4; ++e) u[m][e] = __float_as_uint(x[(d + (e >> 1) * 4 + q) * A + m * 16 + (e & 1) * 8]);
            #pragma unroll
            for (int n = 0; n < 8; ++n) {
                const unsigned v = __float_as_uint(y[(d + q) * B + n * 8]), w = __float_as_uint(y[(d + 4 + q) * B + n * 8]);
                #pragma unroll
                for (int m = 0; m < 2; ++m)
                    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                                 : "+f"(sums[m][n][0]), "+f"(sums[m][n][1]), "+f"(sums[m][n][2]), "+f"(sums[m][n][3]) : "r"(u[m][0]), "r"(u[m][1]), "r"(u[m][2]), "r"(u[m][3]), "r"(v), "r"(w));
            }
        }
    }
    #pragma unroll
    for (int m = 0; m < 2; ++m)
        #pragma unroll
        for (int n = 0; n < 8; ++n)
            #pragma unroll
            for (int h = 0; h < 2; ++h)
                *reinterpret_cast<float2 *>(c + ((size_t)blockIdx.y * 64 + down + m * 16 + h * 8 + g) * columns + blockIdx.x * 128 + along + n * 8 + q * 2) = make_float2(sums[m][n][h * 2], sums[m][n][h * 2 + 1]);
}
KERNEL(128) k_down_plain(const float *a, const float *b, float *c, int rows, int columns, int depth) { k_down<64, 128>(a, b, c, rows, columns, depth); }
KERNEL(128) k_down_padded(const float *a, const float *b, float *c, int rows, int columns, int depth) { k_down<72, 136>(a, b, c, rows, columns, depth); }

// A B' of signed bytes by WMMA, sums of 32 bits: 128 by 128 a block, 64 of K a step, one tile of each in shared memory and the next in registers.
template <int P> __device__ __forceinline__ void wmma_of_bytes(const signed char *a, const signed char *b, int *c, int columns, int depth) {
    __shared__ __align__(32) signed char as[128 * P], bs[128 * P];
    const int t = threadIdx.x, warp = t >> 5, down = (warp & 3) * 32, along = (warp >> 2) * 64, row = t >> 2, chunk = (t & 3) * 16;
    const signed char *mine = a + ((size_t)blockIdx.y * 128 + row) * depth + chunk, *theirs = b + ((size_t)blockIdx.x * 128 + row) * depth + chunk;
    uint4 u[2], v[2];
    const auto read = [&](int k) {
        #pragma unroll
        for (int n = 0; n < 2; ++n) u[n] = *reinterpret_cast<const uint4 *>(mine + (size_t)n * 64 * depth + k), v[n] = *reinterpret_cast<const uint4 *>(theirs + (size_t)n * 64 * depth + k);
    };
    wmma::fragment<wmma::accumulator, 16, 16, 16, int> sums[2][4];
    #pragma unroll
    for (int m = 0; m < 2; ++m)
        #pragma unroll
        for (int n = 0; n < 4; ++n) wmma::fill_fragment(sums[m][n], 0);
    read(0);
    #pragma unroll 1
    for (int k = 0; k < depth; k += 64) {
        __syncthreads();
        #pragma unroll
        for (int n = 0; n < 2; ++n) *reinterpret_cast<uint4 *>(as + (row + n * 64) * P + chunk) = u[n], *reinterpret_cast<uint4 *>(bs + (row + n * 64) * P + chunk) = v[n];
        __syncthreads();
        if (k + 64 < depth) read(k + 64);
        #pragma unroll
        for (int d = 0; d < 64; d += 16) {
            wmma::fragment<wmma::matrix_a, 16, 16, 16, signed char, wmma::row_major> x[2];
            #pragma unroll
            for (int m = 0; m < 2; ++m) wmma::load_matrix_sync(x[m], as + (down + m * 16) * P + d, P);
            #pragma unroll
            for (int n = 0; n < 4; ++n) {
                wmma::fragment<wmma::matrix_b, 16, 16, 16, signed char, wmma::col_major> y;
                wmma::load_matrix_sync(y, bs + (along + n * 16) * P + d, P);
                #pragma unroll
                for (int m = 0; m < 2; ++m) wmma::mma_sync(sums[m][n], x[m], y, sums[m][n]);
            }
        }
    }
    #pragma unroll
    for (int m = 0; m < 2; ++m)
        #pragma unroll
        for (int n = 0; n < 4; ++n)
            wmma::store_matrix_sync(c + ((size_t)blockIdx.y * 128 + down + m * 16) * columns + blockIdx.x * 128 + along + n * 16, sums[m][n], columns, wmma::mem_row_major);
}
KERNEL(256) wmma_of_bytes_plain(const signed char *a, const signed char *b, int *c, int columns, int depth) { wmma_of_bytes<64>(a, b, c, columns, depth); }
KERNEL(256) wmma_of_bytes_padded(const signed char *a, const signed char *b, int *c, int columns, int depth) { wmma_of_bytes<80>(a, b, c, columns, depth); }

// Tokens projected to a head of 64 in bfloat16, then turned by their positions, halves of the head against each other: 64 tokens a block, 64 of K a stage, two stages.
template <Layout HOW> __device__ __forceinline__ void projected_heads(const __nv_bfloat16 *tokens, const __nv_bfloat16 *weights, const float2 *turns, __nv_bfloat16 *out, int depth, int mask) {
    constexpr int TILE = 64 * (HOW == PADDED ? 72 : 64);
    __shared__ __align__(16) __nv_bfloat16 as[2][TILE], bs[2][TILE];
    const int t = threadIdx.x, lane = t & 31, warp = t >> 5, i = lane >> 3, r = lane & 7;
    const __nv_bfloat16 *rows = tokens + (size_t)blockIdx.y * 64 * depth, *others = weights + (size_t)blockIdx.x * 64 * depth;
    const auto stage = [&](int k, int slot) {
        #pragma unroll
        for (int n = 0; n < 4; ++n) {
            const int p = n * 128 + t, to = wide<HOW>(p >> 3, p & 7);
            const size_t from = (size_t)(p >> 3) * depth + k + (p & 7) * 8;
            bring(as[slot] + to, rows + from), bring(bs[slot] + to, others + from);
        }
    };
    stage(0, 0), close_group();
    float c[8][4] = {};
    #pragma unroll 1
    for (int k = 0, slot = 0; k < depth; k += 64, slot ^= 1) {
        if (k + 64 < depth) stage(k + 64, slot ^ 1);
        close_group();
        arrived<1>();
        __syncthreads();
        #pragma unroll
        for (int d = 0; d < 4; ++d) {
            unsigned x[4];
            four(x, as[slot] + wide<HOW>(warp * 16 + (i & 1) * 8 + r, d * 2 + (i >> 1)));
            #pragma unroll
            for (int n = 0; n < 4; ++n) {
                unsigned y[4];
                four(y, bs[slot] + wide<HOW>(n * 16 + (i >> 1) * 8 + r, d * 2 + (i & 1)));
                brains(c[n * 2], x, y[0], y[1]), brains(c[n * 2 + 1], x, y[2], y[3]);
            }
        }
        __syncthreads();
    }
    #pragma unroll
    for (int h = 0; h < 2; ++h) {
        const int row = warp * 16 + h * 8 + (lane >> 2);
        const float2 *turn = turns + (size_t)(blockIdx.y * 64 + row & mask) * 32 + (lane & 3) * 2;
        #pragma unroll
        for (int n = 0; n < 4; ++n) {
            float first[2], second[2];
            #pragma unroll
            for (int e = 0; e < 2; ++e) {
                const float2 by = turn[n * 8 + e];
                const float x = c[n][h * 2 + e], y = c[n + 4][h * 2 + e];
                first[e] = x * by.x - y * by.y, second[e] = y * by.x + x * by.y;
            }
            *reinterpret_cast<unsigned *>(as[0] + wide<HOW>(row, n) + (lane & 3) * 2) = both_brains(first[0], first[1]);
            *reinterpret_cast<unsigned *>(as[0] + wide<HOW>(row, n + 4) + (lane & 3) * 2) = both_brains(second[0], second[1]);
        }
    }
    __syncwarp();
    #pragma unroll
    for (int n = 0; n < 4; ++n) {
        const int row = warp * 16 + n * 4 + (lane >> 3);
        *reinterpret_cast<uint4 *>(out + ((size_t)blockIdx.y * 64 + row) * gridDim.x * 64 + blockIdx.x * 64 + (lane & 7) * 8) = *reinterpret_cast<const uint4 *>(as[0] + wide<HOW>(row, lane & 7));
    }
}
KERNEL(128) projected_heads_plain(const __nv_bfloat16 *tokens, const __nv_bfloat16 *weights, const float2 *turns, __nv_bfloat16 *out, int depth, int mask) { projected_heads<PLAIN>(tokens, weights, turns, out, depth, mask); }
KERNEL(128) projected_heads_padded(const __nv_bfloat16 *tokens, const __nv_bfloat16 *weights, const float2 *turns, __nv_bfloat16 *out, int depth, int mask) { projected_heads<PADDED>(tokens, weights, turns, out, depth, mask); }

// A matrix of halves turned by the instructions for matrices: tiles of 64 by 64 come asynchronously, ldmatrix turns squares of 8 by 8, stmatrix puts them where they go.
template <Layout HOW> __device__ __forceinline__ void turned_by_eights(const __half *in, __half *out, int rows, int columns) {
    __shared__ __align__(16) __half from[64 * 64], to[64 * 64];
    const int t = threadIdx.x, lane = t & 31, warp = t >> 5, i = lane >> 3, r = lane & 7;
    #pragma unroll
    for (int n = 0; n < 4; ++n) {
        const int p = n * 128 + t;
        bring(from + wide<HOW>(p >> 3, p & 7), in + ((size_t)blockIdx.y * 64 + (p >> 3)) * columns + blockIdx.x * 64 + (p & 7) * 8);
    }
    close_group();
    arrived<0>();
    __syncthreads();
    #pragma unroll
    for (int n = 0; n < 4; ++n) {
        unsigned x[4];
        four_turned(x, from + wide<HOW>(warp * 16 + (i & 1) * 8 + r, n * 2 + (i >> 1)));
        asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1,%2,%3,%4};" ::"r"(place(to + wide<HOW>(n * 16 + (i >> 1) * 8 + r, warp * 2 + (i & 1)))), "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]) : "memory");
    }
    __syncthreads();
    #pragma unroll
    for (int n = 0; n < 4; ++n) {
        const int p = n * 128 + t;
        *reinterpret_cast<uint4 *>(out + ((size_t)blockIdx.x * 64 + (p >> 3)) * rows + blockIdx.y * 64 + (p & 7) * 8) = *reinterpret_cast<const uint4 *>(to + wide<HOW>(p >> 3, p & 7));
    }
}
KERNEL(128) turned_by_eights_plain(const __half *in, __half *out, int rows, int columns) { turned_by_eights<PLAIN>(in, out, rows, columns); }
KERNEL(128) turned_by_eights_swizzled(const __half *in, __half *out, int rows, int columns) { turned_by_eights<SWIZZLED>(in, out, rows, columns); }

// Halves by weights of a byte with a scale a column: bytes become halves in registers on their way to shared memory; 64 by 128 a block, 32 of K a step.
template <Layout HOW> __device__ __forceinline__ void weight_bytes(const __half *a, const unsigned char *b, const float *scales, __half *out, int columns, int depth) {
    constexpr int ROW = HOW == PADDED ? 40 : 32;
    __shared__ __align__(16) __half as[2][64 * ROW], bs[2][128 * ROW];
    const int t = threadIdx.x, lane = t & 31, warp = t >> 5, i = lane >> 3, r = lane & 7, down = (warp & 1) * 32, along = (warp >> 1) * 32;
    const __half *mine = a + ((size_t)blockIdx.y * 64 + (t >> 2)) * depth + (t & 3) * 8;
    const unsigned char *theirs = b + ((size_t)blockIdx.x * 128 + (t >> 1)) * depth + (t & 1) * 16;
    uint4 u = *reinterpret_cast<const uint4 *>(mine), w = *reinterpret_cast<const uint4 *>(theirs);
    const auto widened = [](unsigned four_bytes, unsigned which) {
        const unsigned bits = __byte_perm(four_bytes, 0x64646464u, which);
        const __half2 v = __hsub2(*reinterpret_cast<const __half2 *>(&bits), __half2half2(__ushort_as_half(0x6480)));
        return *reinterpret_cast<const unsigned *>(&v);
    };
    const auto keep = [&](int stage) {
        *reinterpret_cast<uint4 *>(as[stage] + narrow<HOW>(t >> 2, t & 3)) = u;
        *reinterpret_cast<uint4 *>(bs[stage] + narrow<HOW>(t >> 1, (t & 1) * 2)) = make_uint4(widened(w.x, 0x4140), widened(w.x, 0x4342), widened(w.y, 0x4140), widened(w.y, 0x4342));
        *reinterpret_cast<uint4 *>(bs[stage] + narrow<HOW>(t >> 1, (t & 1) * 2 + 1)) = make_uint4(widened(w.z, 0x4140), widened(w.z, 0x4342), widened(w.w, 0x4140), widened(w.w, 0x4342));
    };
    keep(0);
    __syncthreads();
    float c[2][4][4] = {};
    #pragma unroll 1
    for (int k = 0, stage = 0; k < depth; k += 32, stage ^= 1) {
        const bool more = k + 32 < depth;
        if (more) u = *reinterpret_cast<const uint4 *>(mine + k + 32), w = *reinterpret_cast<const uint4 *>(theirs + k + 32);
        #pragma unroll
        for (int d = 0; d < 2; ++d) {
            unsigned x[2][4], y[2][4];
            #pragma unroll
            for (int m = 0; m < 2; ++m) four(x[m], as[stage] + narrow<HOW>(down + m * 16 + (i & 1) * 8 + r, d * 2 + (i >> 1)));
            #pragma unroll
            for (int n = 0; n < 2; ++n) four(y[n], bs[stage] + narrow<HOW>(along + n * 16 + (i >> 1) * 8 + r, d * 2 + (i & 1)));
            #pragma unroll
            for (int m = 0; m < 2; ++m)
                #pragma unroll
                for (int n = 0; n < 4; ++n) halves(c[m][n], x[m], y[n >> 1][(n & 1) * 2], y[n >> 1][(n & 1) * 2 + 1]);
        }
        if (more) keep(stage ^ 1);
        __syncthreads();
    }
    #pragma unroll
    for (int n = 0; n < 4; ++n) {
        const int column = blockIdx.x * 128 + along + n * 8 + (lane & 3) * 2;
        const float2 scale = *reinterpret_cast<const float2 *>(scales + column);
        #pragma unroll
        for (int m = 0; m < 2; ++m)
            #pragma unroll
            for (int h = 0; h < 2; ++h)
                *reinterpret_cast<unsigned *>(out + ((size_t)blockIdx.y * 64 + down + m * 16 + h * 8 + (lane >> 2)) * columns + column) = both(c[m][n][h * 2] * scale.x * 0.01f, c[m][n][h * 2 + 1] * scale.y * 0.01f);
    }
}
KERNEL(256) weight_bytes_plain(const __half *a, const unsigned char *b, const float *scales, __half *out, int columns, int depth) { weight_bytes<PLAIN>(a, b, scales, out, columns, depth); }
KERNEL(256) weight_bytes_padded(const __half *a, const unsigned char *b, const float *scales, __half *out, int columns, int depth) { weight_bytes<PADDED>(a, b, scales, out, columns, depth); }

// A convolution by 3 by 3 of 64 channels to 64, channels last: 8 by 16 pixels a block with the pixels around them stay in shared memory, a tap's weights come at a time.
template <Layout HOW> __device__ __forceinline__ void taps_of_nine(const __half *in, const __half *weights, __half *out, int height, int width) {
    constexpr int ROW = HOW == PADDED ? 72 : 64;
    __shared__ __align__(16) __half xs[180 * ROW], ws[2][64 * ROW];
    const int t = threadIdx.x, lane = t & 31, warp = t >> 5, i = lane >> 3, r = lane & 7;
    const auto fetch = [&](int tap) {
        #pragma unroll
        for (int n = 0; n < 4; ++n) {
            const int p = n * 128 + t;
            bring(ws[tap & 1] + wide<HOW>(p >> 3, p & 7), weights + tap * 4096 + p * 8);
        }
        close_group();
    };
    for (int p = t; p < 1440; p += 128) {
        const int pixel = p >> 3, y = (int)blockIdx.y * 8 + pixel / 18 - 1, x = (int)blockIdx.x * 16 + pixel % 18 - 1;
        __half *to = xs + wide<HOW>(pixel, p & 7);
        if (y >= 0 && y < height && x >= 0 && x < width) bring(to, in + (((size_t)blockIdx.z * height + y) * width + x) * 64 + (p & 7) * 8);
        else *reinterpret_cast<uint4 *>(to) = make_uint4(0, 0, 0, 0);
    }
    fetch(0);
    float c[2][8][4] = {};
    #pragma unroll 1
    for (int tap = 0; tap < 9; ++tap) {
        arrived<0>();
        __syncthreads();
        if (tap + 1 < 9) fetch(tap + 1);
        const int corner = (warp * 2 + tap / 3) * 18 + tap % 3 + (i & 1) * 8 + r;
        #pragma unroll
        for (int k = 0; k < 4; ++k) {
            unsigned x[2][4];
            #pragma unroll
            for (int m = 0; m < 2; ++m) four(x[m], xs + wide<HOW>(corner + m * 18, k * 2 + (i >> 1)));
            #pragma unroll
            for (int n = 0; n < 4; ++n) {
                unsigned y[4];
                four(y, ws[tap & 1] + wide<HOW>(n * 16 + (i >> 1) * 8 + r, k * 2 + (i & 1)));
                #pragma unroll
                for (int m = 0; m < 2; ++m) halves(c[m][n * 2], x[m], y[0], y[1]), halves(c[m][n * 2 + 1], x[m], y[2], y[3]);
            }
        }
    }
    #pragma unroll
    for (int m = 0; m < 2; ++m)
        #pragma unroll
        for (int n = 0; n < 8; ++n)
            #pragma unroll
            for (int h = 0; h < 2; ++h)
                *reinterpret_cast<unsigned *>(out + (((size_t)blockIdx.z * height + blockIdx.y * 8 + warp * 2 + m) * width + blockIdx.x * 16 + h * 8 + (lane >> 2)) * 64 + n * 8 + (lane & 3) * 2) = both(c[m][n][h * 2], c[m][n][h * 2 + 1]);
}
KERNEL(128) taps_of_nine_plain(const __half *in, const __half *weights, __half *out, int height, int width) { taps_of_nine<PLAIN>(in, weights, out, height, width); }
KERNEL(128) taps_of_nine_padded(const __half *in, const __half *weights, __half *out, int height, int width) { taps_of_nine<PADDED>(in, weights, out, height, width); }
KERNEL(128) taps_of_nine_swizzled(const __half *in, const __half *weights, __half *out, int height, int width) { taps_of_nine<SWIZZLED>(in, weights, out, height, width); }
