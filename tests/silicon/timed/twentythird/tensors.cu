// Kernels of the twenty-third set on tensor cores, in groups that differ in the layout of shared memory alone: outer products, attention, chains.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#define KERNEL(THREADS) extern "C" __global__ void __launch_bounds__(THREADS)
#define ALL 0xffffffffu

enum Layout { PLAIN, PADDED, SWIZZLED };

// A place in a tile whose rows hold 64 elements of two bytes: eight chunks of sixteen bytes.
template <Layout HOW> __device__ __forceinline__ int place(int row, int column) {
    if (HOW == PADDED) return row * 72 + column;
    if (HOW == SWIZZLED) return row * 64 + (((column >> 3) ^ (row & 7)) << 3) + (column & 7);
    return row * 64 + column;
}
__device__ __forceinline__ unsigned shared_at(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }
__device__ __forceinline__ void copy16(void *to, const void *from) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared_at(to)), "l"(from));
}
__device__ __forceinline__ void commit() { asm volatile("cp.async.commit_group;"); }
template <int LEFT> __device__ __forceinline__ void wait() { asm volatile("cp.async.wait_group %0;" ::"n"(LEFT)); }
__device__ __forceinline__ void matrices(unsigned *r, const void *p) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(shared_at(p)));
}
__device__ __forceinline__ void turned(unsigned *r, const void *p) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(shared_at(p)));
}
__device__ __forceinline__ void product_bf16(float *c, const unsigned *a, const unsigned *b) {
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
__device__ __forceinline__ void product_f16(float *c, const unsigned *a, const unsigned *b) {
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
__device__ __forceinline__ void product_tf32(float *c, const unsigned *a, const unsigned *b) {
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

// The mean of outer products over sequences: C = A' B / S, both of bf16 and S by n: 64 by 64 a block, 32 sequences a step, three stages. Both
// tiles are read turned.
template <Layout HOW> __device__ __forceinline__ void outer_mean(const __nv_bfloat16 *a, const __nv_bfloat16 *b, float *c, int n, int sequences) {
    constexpr int SIZE = 32 * (HOW == PADDED ? 72 : 64);
    __shared__ __align__(16) __nv_bfloat16 held[3][2][SIZE];
    const int t = threadIdx.x, lane = t % 32, warp = t / 32, top = blockIdx.y * 64, left = blockIdx.x * 64;
    const auto fetch = [&](int stage, int s) {
        #pragma unroll
        for (int i = 0; i < 2; ++i) {
            const int row = i * 16 + t / 8, column = t % 8 * 8;
            copy16(held[stage][0] + place<HOW>(row, column), a + (size_t)(s + row) * n + top + column);
            copy16(held[stage][1] + place<HOW>(row, column), b + (size_t)(s + row) * n + left + column);
        }
    };
    float sum[2][4][4] = {};
    const int steps = sequences / 32, i = lane / 8, r = lane % 8;
    fetch(0, 0), commit(), fetch(1, 32), commit();
    for (int step = 0; step < steps; ++step) {
        wait<1>();
        __syncthreads();
        if (step + 2 < steps) fetch((step + 2) % 3, (step + 2) * 32);
        commit();
        const __nv_bfloat16 *as = held[step % 3][0], *bs = held[step % 3][1];
        #pragma unroll
        for (int k = 0; k < 32; k += 16) {
            unsigned x[2][4], y[2][4];
            #pragma unroll
            for (int m = 0; m < 2; ++m) turned(x[m], as + place<HOW>(k + i / 2 * 8 + r, warp / 2 * 32 + m * 16 + i % 2 * 8));
            #pragma unroll
            for (int q = 0; q < 2; ++q) turned(y[q], bs + place<HOW>(k + i % 2 * 8 + r, warp % 2 * 32 + q * 16 + i / 2 * 8));
            #pragma unroll
            for (int m = 0; m < 2; ++m)
                #pragma unroll
                for (int q = 0; q < 4; ++q) product_bf16(sum[m][q], x[m], y[q / 2] + q % 2 * 2);
        }
    }
    const float scale = 1.0f / (float)sequences;
    #pragma unroll
    for (int m = 0; m < 2; ++m)
        #pragma unroll
        for (int q = 0; q < 4; ++q)
            #pragma unroll
            for (int h = 0; h < 2; ++h) {
                const size_t row = top + warp / 2 * 32 + m * 16 + h * 8 + lane / 4;
                *reinterpret_cast<float2 *>(c + row * n + left + warp % 2 * 32 + q * 8 + lane % 4 * 2) =
                    make_float2(sum[m][q][h * 2] * scale, sum[m][q][h * 2 + 1] * scale);
            }
}
KERNEL(128) outer_mean_plain(const __nv_bfloat16 *a, const __nv_bfloat16 *b, float *c, int n, int s) { outer_mean<PLAIN>(a, b, c, n, s); }
KERNEL(128) outer_mean_padded(const __nv_bfloat16 *a, const __nv_bfloat16 *b, float *c, int n, int s) { outer_mean<PADDED>(a, b, c, n, s); }
KERNEL(128) outer_mean_swizzled(const __nv_bfloat16 *a, const __nv_bfloat16 *b, float *c, int n, int s) { outer_mean<SWIZZLED>(a, b, c, n, s); }

// Causal attention with linear biases (ALiBi), f16, 64 wide: 64 queries a block, sixteen a warp, 64 keys a step, the next step's keys and values
// are on their way.
template <Layout HOW> __device__ __forceinline__ void alibi(const __half *q, const __half *k, const __half *v, __half *out, int length, float scale) {
    constexpr int SIZE = 64 * (HOW == PADDED ? 72 : 64);
    __shared__ __align__(16) __half held[2][2][SIZE];
    const int t = threadIdx.x, lane = t % 32, warp = t / 32, i = lane / 8, r = lane % 8;
    const int tile = gridDim.x - 1 - blockIdx.x, head = blockIdx.y;
    const size_t base = (size_t)head * length * 64;
    const float slope = exp2f(-0.5f * (float)(head % 16 + 1)) * 1.442695f;
    const auto fetch = [&](int stage, int first) {
        #pragma unroll
        for (int p = 0; p < 4; ++p) {
            const int row = p * 16 + t / 8, column = t % 8 * 8;
            copy16(held[stage][0] + place<HOW>(row, column), k + base + (size_t)(first + row) * 64 + column);
            copy16(held[stage][1] + place<HOW>(row, column), v + base + (size_t)(first + row) * 64 + column);
        }
    };
    #pragma unroll
    for (int p = 0; p < 4; ++p) {
        const int row = p * 16 + t / 8, column = t % 8 * 8;
        copy16(held[1][0] + place<HOW>(row, column), q + base + (size_t)(tile * 64 + row) * 64 + column);
    }
    commit(), fetch(0, 0), commit(), wait<1>();
    __syncthreads();
    unsigned own[4][4];
    #pragma unroll
    for (int p = 0; p < 4; ++p) matrices(own[p], held[1][0] + place<HOW>(warp * 16 + i % 2 * 8 + r, p * 16 + i / 2 * 8));
    float result[8][4] = {}, most[2] = {-1e30f, -1e30f}, total[2] = {};
    const int rows[2] = {tile * 64 + warp * 16 + lane / 4, tile * 64 + warp * 16 + lane / 4 + 8};
    for (int step = 0; step <= tile; ++step) {
        __syncthreads();
        if (step < tile) fetch((step + 1) % 2, (step + 1) * 64);
        commit(), wait<1>();
        __syncthreads();
        const __half *ks = held[step % 2][0], *vs = held[step % 2][1];
        float score[8][4] = {};
        #pragma unroll
        for (int p = 0; p < 4; ++p)
            #pragma unroll
            for (int n = 0; n < 4; ++n) {
                unsigned y[4];
                matrices(y, ks + place<HOW>(n * 16 + i / 2 * 8 + r, p * 16 + i % 2 * 8));
                product_f16(score[n * 2], own[p], y), product_f16(score[n * 2 + 1], own[p], y + 2);
            }
        float now[2] = {most[0], most[1]};
        #pragma unroll
        for (int n = 0; n < 8; ++n)
            #pragma unroll
            for (int e = 0; e < 4; ++e) {
                const int column = step * 64 + n * 8 + lane % 4 * 2 + e % 2, away = rows[e / 2] - column;
                score[n][e] = away < 0 ? -1e30f : score[n][e] * scale - slope * (float)away;
                now[e / 2] = fmaxf(now[e / 2], score[n][e]);
            }
        #pragma unroll
        for (int h = 0; h < 2; ++h) {
            now[h] = fmaxf(now[h], __shfl_xor_sync(ALL, now[h], 1));
            now[h] = fmaxf(now[h], __shfl_xor_sync(ALL, now[h], 2));
            const float shrink = exp2f(most[h] - now[h]);
            most[h] = now[h], total[h] *= shrink;
            #pragma unroll
            for (int n = 0; n < 8; ++n) result[n][h * 2] *= shrink, result[n][h * 2 + 1] *= shrink;
        }
        unsigned weights[8][2];
        #pragma unroll
        for (int n = 0; n < 8; ++n)
            #pragma unroll
            for (int h = 0; h < 2; ++h) {
                const float one = exp2f(score[n][h * 2] - most[h]), two = exp2f(score[n][h * 2 + 1] - most[h]);
                total[h] += one + two;
                const __half2 both = __floats2half2_rn(one, two);
                weights[n][h] = *reinterpret_cast<const unsigned *>(&both);
            }
        #pragma unroll
        for (int p = 0; p < 4; ++p) {
            const unsigned x[4] = {weights[p * 2][0], weights[p * 2][1], weights[p * 2 + 1][0], weights[p * 2 + 1][1]};
            #pragma unroll
            for (int n = 0; n < 4; ++n) {
                unsigned y[4];
                turned(y, vs + place<HOW>(p * 16 + i % 2 * 8 + r, n * 16 + i / 2 * 8));
                product_f16(result[n * 2], x, y), product_f16(result[n * 2 + 1], x, y + 2);
            }
        }
    }
    #pragma unroll
    for (int h = 0; h < 2; ++h) {
        total[h] += __shfl_xor_sync(ALL, total[h], 1);
        total[h] += __shfl_xor_sync(ALL, total[h], 2);
        const float share = 1.0f / total[h];
        #pragma unroll
        for (int n = 0; n < 8; ++n)
            *reinterpret_cast<__half2 *>(out + base + (size_t)rows[h] * 64 + n * 8 + lane % 4 * 2) =
                __floats2half2_rn(result[n][h * 2] * share, result[n][h * 2 + 1] * share);
    }
}
KERNEL(128) alibi_plain(const __half *q, const __half *k, const __half *v, __half *out, int n, float scale) { alibi<PLAIN>(q, k, v, out, n, scale); }
KERNEL(128) alibi_swizzled(const __half *q, const __half *k, const __half *v, __half *out, int n, float scale) { alibi<SWIZZLED>(q, k, v, out, n, scale); }

// Chains of three matrices of 64 by 64 in tf32, Y = (A B) C, a block a chain: the product of the first two takes the place of A.
template <int LEFT, int RIGHT> __device__ __forceinline__ void multiplied(const float *as, const float *bs, float (*sum)[4], int lane, int warp) {
    #pragma unroll
    for (int k = 0; k < 64; k += 8) {
        unsigned x[4];
        #pragma unroll
        for (int e = 0; e < 4; ++e)
            asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(x[e]) : "f"(as[(warp * 16 + e % 2 * 8 + lane / 4) * LEFT + k + e / 2 * 4 + lane % 4]));
        #pragma unroll
        for (int n = 0; n < 8; ++n) {
            unsigned y[2];
            #pragma unroll
            for (int e = 0; e < 2; ++e) asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(y[e]) : "f"(bs[(k + e * 4 + lane % 4) * RIGHT + n * 8 + lane / 4]));
            product_tf32(sum[n], x, y);
        }
    }
}
template <int LEFT, int RIGHT> __device__ __forceinline__ void chained(const float *a, const float *b, const float *c, float *y) {
    __shared__ __align__(16) float as[64 * LEFT], bs[64 * RIGHT];
    const int t = threadIdx.x, lane = t % 32, warp = t / 32;
    const size_t base = (size_t)blockIdx.x * 4096;
    const auto load = [&](float *to, const float *from, int pitch) {
        #pragma unroll
        for (int p = 0; p < 8; ++p) {
            const int at = (p * 128 + t) * 4;
            *reinterpret_cast<float4 *>(to + at / 64 * pitch + at % 64) = *reinterpret_cast<const float4 *>(from + base + at);
        }
    };
    load(as, a, LEFT), load(bs, b, RIGHT);
    __syncthreads();
    float sum[8][4] = {}, last[8][4] = {};
    multiplied<LEFT, RIGHT>(as, bs, sum, lane, warp);
    __syncthreads();
    load(bs, c, RIGHT);
    #pragma unroll
    for (int n = 0; n < 8; ++n)
        #pragma unroll
        for (int h = 0; h < 2; ++h)
            *reinterpret_cast<float2 *>(as + (warp * 16 + h * 8 + lane / 4) * LEFT + n * 8 + lane % 4 * 2) = make_float2(sum[n][h * 2], sum[n][h * 2 + 1]);
    __syncthreads();
    multiplied<LEFT, RIGHT>(as, bs, last, lane, warp);
    #pragma unroll
    for (int n = 0; n < 8; ++n)
        #pragma unroll
        for (int h = 0; h < 2; ++h)
            *reinterpret_cast<float2 *>(y + base + (warp * 16 + h * 8 + lane / 4) * 64 + n * 8 + lane % 4 * 2) = make_float2(last[n][h * 2], last[n][h * 2 + 1]);
}
KERNEL(128) chained_plain(const float *a, const float *b, const float *c, float *y) { chained<64, 64>(a, b, c, y); }
KERNEL(128) chained_padded(const float *a, const float *b, const float *c, float *y) { chained<68, 72>(a, b, c, y); }
