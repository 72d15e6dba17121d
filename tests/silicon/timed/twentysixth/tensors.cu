// Kernels of the twenty-sixth set on tensor cores, in groups that differ in the layout of shared memory alone: filters as products, scores of pairs of
// words, layers that mix tokens, sums of kernels, descriptors.
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <mma.h>

#define KERNEL(THREADS) extern "C" __global__ void __launch_bounds__(THREADS)

using namespace nvcuda;

enum Layout { PLAIN, PADDED, SWIZZLED };

__device__ __forceinline__ unsigned address(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }
__device__ __forceinline__ void copy16(void *to, const void *from) { asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(address(to)), "l"(from) : "memory"); }
__device__ __forceinline__ void commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int LEFT> __device__ __forceinline__ void wait() { asm volatile("cp.async.wait_group %0;" ::"n"(LEFT) : "memory"); }
__device__ __forceinline__ void matrices(unsigned *r, const void *p) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];" : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(address(p)) : "memory");
}
__device__ __forceinline__ void turned(unsigned *r, const void *p) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];" : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(address(p)) : "memory");
}
__device__ __forceinline__ void product(float *c, const unsigned *a, const unsigned *b) {
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
__device__ __forceinline__ unsigned halves(float low, float high) {
    const __half2 both = __floats2half2_rn(low, high);
    return *reinterpret_cast<const unsigned *>(&both);
}
// Where eight halves lie of a row of 64.
template <Layout HOW> __device__ __forceinline__ int eight(int row, int chunk) { return HOW == PLAIN ? row * 64 + chunk * 8 : HOW == PADDED ? row * 72 + chunk * 8 : row * 64 + (chunk ^ row % 8) * 8; }

// Filters of 64 taps as products by Toeplitz matrices, which a block spreads in shared memory for its channel: columns of 64 samples overlap by half.
template <int WIDE, int PITCH> __device__ __forceinline__ void toeplitz(const __half *in, const __half *taps, float *out) {
    __shared__ __align__(32) __half spread[64 * WIDE], xs[2][65 * PITCH];
    __shared__ __half own[64];
    const int t = threadIdx.x, warp = t / 32;
    const size_t channel = blockIdx.y, first = blockIdx.x * 4;
    const auto fetch = [&](int which, int part) {
        const __half *from = in + channel * (gridDim.x * 16384 + 64) + (first + part) * 4096;
        for (int i = t; i < 520; i += 128) copy16(xs[which] + i / 8 * PITCH + i % 8 * 8, from + i * 8);
        commit();
    };
    fetch(0, 0);
    if (t < 64) own[t] = taps[channel * 64 + t];
    __syncthreads();
    #pragma unroll 8
    for (int i = t; i < 8192; i += 128) {
        const int back = i / 128 + 64 - i % 128;
        spread[i / 128 * WIDE + i % 128] = back >= 0 && back < 64 ? own[back] : __float2half(0.0f);
    }
    #pragma unroll 1
    for (int part = 0; part < 4; ++part) {
        if (part < 3) fetch(part + 1 & 1, part + 1), wait<1>();
        else wait<0>();
        __syncthreads();
        wmma::fragment<wmma::accumulator, 16, 16, 16, float> sums[4];
        #pragma unroll
        for (int n = 0; n < 4; ++n) wmma::fill_fragment(sums[n], 0.0f);
        #pragma unroll
        for (int k = 0; k < 128; k += 16) {
            wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> x;
            wmma::load_matrix_sync(x, spread + warp * 16 * WIDE + k, WIDE);
            #pragma unroll
            for (int n = 0; n < 4; ++n) {
                wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::col_major> y;
                wmma::load_matrix_sync(y, xs[part & 1] + (n * 16 + k / 64) * PITCH + k % 64, PITCH);
                wmma::mma_sync(sums[n], x, y, sums[n]);
            }
        }
        float *to = out + channel * gridDim.x * 16384 + (first + part) * 4096 + warp * 16;
        #pragma unroll
        for (int n = 0; n < 4; ++n) wmma::store_matrix_sync(to + n * 1024, sums[n], 64, wmma::mem_col_major);
        __syncthreads();
    }
}
KERNEL(128) toeplitz_plain(const __half *in, const __half *taps, float *out) { toeplitz<128, 64>(in, taps, out); }
KERNEL(128) toeplitz_padded(const __half *in, const __half *taps, float *out) { toeplitz<136, 80>(in, taps, out); }

// Scores of all pairs of a sentence's 64 words by a form for every label (biaffine), of which the greatest is kept: a warp sixteen words.
template <Layout HOW> __device__ __forceinline__ void biaffine(const __half *heads, const __half *others, const __half *forms, __half *out, int labels) {
    __shared__ __align__(16) __half ws[2][4096], ys[4096];
    const int t = threadIdx.x, lane = t % 32, warp = t / 32, i = lane / 8, r = lane % 8;
    const size_t base = (size_t)blockIdx.x * 4096;
    const auto fetch = [&](__half *to, const __half *from) {
        #pragma unroll
        for (int p = t; p < 512; p += 128) copy16(to + eight<HOW>(p / 8, p % 8), from + p * 8);
    };
    fetch(ws[1], heads + base), fetch(ys, others + base), commit();
    fetch(ws[0], forms), commit();
    wait<1>();
    __syncthreads();
    unsigned x[4][4];
    #pragma unroll
    for (int k = 0; k < 4; ++k) matrices(x[k], ws[1] + eight<HOW>(warp * 16 + i % 2 * 8 + r, k * 2 + i / 2));
    float best[8][4];
    #pragma unroll
    for (int n = 0; n < 32; ++n) best[n / 4][n % 4] = -1e30f;
    #pragma unroll 1
    for (int label = 0; label < labels; ++label) {
        __syncthreads();
        if (label + 1 < labels) fetch(ws[label + 1 & 1], forms + (label + 1) * 4096), commit(), wait<1>();
        else wait<0>();
        __syncthreads();
        const __half *w = ws[label & 1];
        unsigned u[4][4], y[4];
        #pragma unroll
        for (int n = 0; n < 4; ++n) {
            float sum[2][4] = {};
            #pragma unroll
            for (int k = 0; k < 4; ++k) {
                turned(y, w + eight<HOW>(k * 16 + i % 2 * 8 + r, n * 2 + i / 2));
                product(sum[0], x[k], y), product(sum[1], x[k], y + 2);
            }
            u[n][0] = halves(sum[0][0], sum[0][1]), u[n][1] = halves(sum[0][2], sum[0][3]);
            u[n][2] = halves(sum[1][0], sum[1][1]), u[n][3] = halves(sum[1][2], sum[1][3]);
        }
        #pragma unroll
        for (int n = 0; n < 4; ++n) {
            float sum[2][4] = {};
            #pragma unroll
            for (int k = 0; k < 4; ++k) {
                matrices(y, ys + eight<HOW>(n * 16 + i / 2 * 8 + r, k * 2 + i % 2));
                product(sum[0], u[k], y), product(sum[1], u[k], y + 2);
            }
            #pragma unroll
            for (int e = 0; e < 8; ++e) best[n * 2 + e / 4][e % 4] = fmaxf(best[n * 2 + e / 4][e % 4], sum[e / 4][e % 4]);
        }
    }
    #pragma unroll
    for (int n = 0; n < 8; ++n)
        #pragma unroll
        for (int h = 0; h < 2; ++h)
            *reinterpret_cast<__half2 *>(out + base + (warp * 16 + lane / 4 + h * 8) * 64 + n * 8 + lane % 4 * 2) = __floats2half2_rn(best[n][h * 2], best[n][h * 2 + 1]);
}
extern "C" __global__ void __launch_bounds__(128, 4) biaffine_plain(const __half *heads, const __half *others, const __half *forms, __half *out, int labels) { biaffine<PLAIN>(heads, others, forms, out, labels); }
extern "C" __global__ void __launch_bounds__(128, 4) biaffine_swizzled(const __half *heads, const __half *others, const __half *forms, __half *out, int labels) { biaffine<SWIZZLED>(heads, others, forms, out, labels); }

// A layer that mixes 64 tokens of a picture, every channel alike: two products along the tokens, a GELU between them, and what went in added.
template <Layout HOW> __device__ __forceinline__ void mixed(float (*sum)[4], const __half *w, const __half *x, int warp, int i, int r) {
    #pragma unroll
    for (int n = 0; n < 32; ++n) sum[n / 4][n % 4] = 0.0f;
    #pragma unroll 1
    for (int k = 0; k < 4; ++k) {
        unsigned a[4], b[4];
        matrices(a, w + eight<HOW>(warp * 16 + i % 2 * 8 + r, k * 2 + i / 2));
        #pragma unroll
        for (int n = 0; n < 4; ++n) {
            turned(b, x + eight<HOW>(k * 16 + i % 2 * 8 + r, n * 2 + i / 2));
            product(sum[n * 2], a, b), product(sum[n * 2 + 1], a, b + 2);
        }
    }
}
template <Layout HOW> __device__ __forceinline__ void token_mixer(const __half *in, const __half *first, const __half *second, __half *out, int channels) {
    constexpr int SIZE = HOW == PADDED ? 4608 : 4096;
    __shared__ __align__(16) __half w1[SIZE], w2[SIZE], xs[SIZE], hs[SIZE];
    const int t = threadIdx.x, lane = t % 32, warp = t / 32, i = lane / 8, r = lane % 8;
    const size_t base = (size_t)blockIdx.y * 64 * channels;
    #pragma unroll
    for (int p = t; p < 512; p += 128) copy16(w1 + eight<HOW>(p / 8, p % 8), first + p * 8), copy16(w2 + eight<HOW>(p / 8, p % 8), second + p * 8);
    #pragma unroll 1
    for (int tile = 0; tile < 4; ++tile) {
        const size_t from = base + (blockIdx.x * 4 + tile) * 64;
        #pragma unroll
        for (int p = t; p < 512; p += 128) copy16(xs + eight<HOW>(p / 8, p % 8), in + from + (size_t)(p / 8) * channels + p % 8 * 8);
        commit(), wait<0>();
        __syncthreads();
        float sum[8][4];
        mixed<HOW>(sum, w1, xs, warp, i, r);
        #pragma unroll
        for (int n = 0; n < 8; ++n)
            #pragma unroll
            for (int h = 0; h < 2; ++h) {
                const float u = sum[n][h * 2], v = sum[n][h * 2 + 1];
                *reinterpret_cast<unsigned *>(hs + eight<HOW>(warp * 16 + lane / 4 + h * 8, n) + lane % 4 * 2) = halves(u / (1.0f + __expf(-1.702f * u)), v / (1.0f + __expf(-1.702f * v)));
            }
        __syncthreads();
        mixed<HOW>(sum, w2, hs, warp, i, r);
        #pragma unroll
        for (int n = 0; n < 8; ++n)
            #pragma unroll
            for (int h = 0; h < 2; ++h) {
                const int row = warp * 16 + lane / 4 + h * 8;
                const float2 own = __half22float2(*reinterpret_cast<const __half2 *>(xs + eight<HOW>(row, n) + lane % 4 * 2));
                *reinterpret_cast<unsigned *>(out + from + (size_t)row * channels + n * 8 + lane % 4 * 2) = halves(sum[n][h * 2] + own.x, sum[n][h * 2 + 1] + own.y);
            }
        __syncthreads();
    }
}
extern "C" __global__ void __launch_bounds__(128, 4) token_mixer_plain(const __half *in, const __half *first, const __half *second, __half *out, int channels) { token_mixer<PLAIN>(in, first, second, out, channels); }
extern "C" __global__ void __launch_bounds__(128, 4) token_mixer_padded(const __half *in, const __half *first, const __half *second, __half *out, int channels) { token_mixer<PADDED>(in, first, second, out, channels); }
extern "C" __global__ void __launch_bounds__(128, 4) token_mixer_swizzled(const __half *in, const __half *first, const __half *second, __half *out, int channels) { token_mixer<SWIZZLED>(in, first, second, out, channels); }

// What a machine of Gaussian kernels says of points of 32 floats: products in TF32 with centres, whose exponentials are weighed and summed.
template <int PITCH> __device__ __forceinline__ void kernel_ridge(const float *points, const float *centres, const float2 *about, float *out, int count, float width) {
    __shared__ __align__(16) float held[2][64 * PITCH];
    __shared__ float2 known[2][64];
    const int t = threadIdx.x, lane = t % 32, warp = t / 32, g = lane / 4, q = lane % 4;
    const auto fetch = [&](int which, const float *from) {
        #pragma unroll
        for (int p = t; p < 512; p += 128) copy16(held[which] + p / 8 * PITCH + p % 8 * 4, from + p * 4);
        commit();
    };
    fetch(1, points + (size_t)blockIdx.x * 2048);
    fetch(0, centres);
    if (t < 64) known[0][t] = about[t];
    wait<1>();
    __syncthreads();
    float x[4][4], low = 0.0f, high = 0.0f, sums[2] = {};
    #pragma unroll
    for (int k = 0; k < 4; ++k) {
        const float *from = held[1] + (warp * 16 + g) * PITCH + k * 8 + q;
        x[k][0] = from[0], x[k][1] = from[8 * PITCH], x[k][2] = from[4], x[k][3] = from[8 * PITCH + 4];
        low += x[k][0] * x[k][0] + x[k][2] * x[k][2], high += x[k][1] * x[k][1] + x[k][3] * x[k][3];
    }
    #pragma unroll
    for (int offset = 1; offset < 4; offset <<= 1) low += __shfl_xor_sync(0xffffffffu, low, offset), high += __shfl_xor_sync(0xffffffffu, high, offset);
    #pragma unroll 1
    for (int tile = 0, which = 0; tile < count; tile += 64, which ^= 1) {
        __syncthreads();
        if (tile + 64 < count) {
            fetch(which ^ 1, centres + (tile + 64) * 32);
            if (t < 64) known[which ^ 1][t] = about[tile + 64 + t];
            wait<1>();
        } else wait<0>();
        __syncthreads();
        #pragma unroll 4
        for (int n = 0; n < 8; ++n) {
            float c[4] = {};
            #pragma unroll
            for (int k = 0; k < 4; ++k) {
                const float *from = held[which] + (n * 8 + g) * PITCH + k * 8 + q;
                asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                             : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                             : "r"(__float_as_uint(x[k][0])), "r"(__float_as_uint(x[k][1])), "r"(__float_as_uint(x[k][2])), "r"(__float_as_uint(x[k][3])),
                               "r"(__float_as_uint(from[0])), "r"(__float_as_uint(from[4])));
            }
            #pragma unroll
            for (int e = 0; e < 4; ++e) {
                const float2 one = known[which][n * 8 + q * 2 + e % 2];
                sums[e / 2] += one.y * __expf(width * (2.0f * c[e] - one.x - (e < 2 ? low : high)));
            }
        }
    }
    #pragma unroll
    for (int offset = 1; offset < 4; offset <<= 1)
        #pragma unroll
        for (int h = 0; h < 2; ++h) sums[h] += __shfl_xor_sync(0xffffffffu, sums[h], offset);
    if (q < 2) out[(size_t)blockIdx.x * 64 + warp * 16 + g + q * 8] = q ? sums[1] : sums[0];
}
KERNEL(128) kernel_ridge_plain(const float *points, const float *centres, const float2 *about, float *out, int count, float width) { kernel_ridge<32>(points, centres, about, out, count, width); }
KERNEL(128) kernel_ridge_padded(const float *points, const float *centres, const float2 *about, float *out, int count, float width) { kernel_ridge<36>(points, centres, about, out, count, width); }

// Descriptors of 128 bytes matched with others: squares of distances by products of bytes, of which each keeps its two least (a nearest far nearer than the next).
template <int PITCH> __device__ __forceinline__ void descriptors(const unsigned char *queries, const unsigned char *others, const int *squares, int *out, int count) {
    __shared__ __align__(16) unsigned char held[2][64 * PITCH];
    __shared__ int known[2][64];
    const int t = threadIdx.x, lane = t % 32, warp = t / 32, i = lane / 8, r = lane % 8;
    const auto fetch = [&](int which, const unsigned char *from) {
        #pragma unroll
        for (int p = t; p < 512; p += 128) copy16(held[which] + p / 8 * PITCH + p % 8 * 16, from + p * 16);
        commit();
    };
    fetch(1, queries + (size_t)blockIdx.x * 8192);
    fetch(0, others);
    if (t < 64) known[0][t] = squares[t];
    wait<1>();
    __syncthreads();
    unsigned x[4][4];
    #pragma unroll
    for (int k = 0; k < 4; ++k) matrices(x[k], held[1] + (warp * 16 + i % 2 * 8 + r) * PITCH + k * 32 + i / 2 * 16);
    int least[2] = {1 << 30, 1 << 30}, next[2] = {1 << 30, 1 << 30}, which[2] = {};
    #pragma unroll 1
    for (int tile = 0, own = 0; tile < count; tile += 64, own ^= 1) {
        __syncthreads();
        if (tile + 64 < count) {
            fetch(own ^ 1, others + (tile + 64) * 128);
            if (t < 64) known[own ^ 1][t] = squares[tile + 64 + t];
            wait<1>();
        } else wait<0>();
        __syncthreads();
        #pragma unroll
        for (int n = 0; n < 4; ++n) {
            int sum[2][4] = {};
            #pragma unroll
            for (int k = 0; k < 4; ++k) {
                unsigned y[4];
                matrices(y, held[own] + (n * 16 + i / 2 * 8 + r) * PITCH + k * 32 + i % 2 * 16);
                #pragma unroll
                for (int h = 0; h < 2; ++h)
                    asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.u8.u8.s32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                                 : "+r"(sum[h][0]), "+r"(sum[h][1]), "+r"(sum[h][2]), "+r"(sum[h][3]) : "r"(x[k][0]), "r"(x[k][1]), "r"(x[k][2]), "r"(x[k][3]), "r"(y[h * 2]), "r"(y[h * 2 + 1]));
            }
            #pragma unroll
            for (int e = 0; e < 8; ++e) {
                const int column = n * 16 + e / 4 * 8 + lane % 4 * 2 + e % 2, row = e / 2 % 2, far = known[own][column] - 2 * sum[e / 4][e % 4];
                next[row] = min(next[row], max(least[row], far));
                if (far < least[row]) least[row] = far, which[row] = tile + column;
            }
        }
    }
    #pragma unroll
    for (int row = 0; row < 2; ++row) {
        #pragma unroll
        for (int offset = 1; offset < 4; offset <<= 1) {
            const int far = __shfl_xor_sync(0xffffffffu, least[row], offset), second = __shfl_xor_sync(0xffffffffu, next[row], offset), one = __shfl_xor_sync(0xffffffffu, which[row], offset);
            next[row] = min(max(least[row], far), min(next[row], second));
            if (far < least[row] || (far == least[row] && one < which[row])) least[row] = far, which[row] = one;
        }
        if (lane % 4 == 0) out[(size_t)blockIdx.x * 64 + warp * 16 + row * 8 + lane / 4] = next[row] - least[row] > 100000 ? which[row] : -1 - which[row];
    }
}
KERNEL(128) descriptors_plain(const unsigned char *queries, const unsigned char *others, const int *squares, int *out, int count) { descriptors<128>(queries, others, squares, out, count); }
KERNEL(128) descriptors_padded(const unsigned char *queries, const unsigned char *others, const int *squares, int *out, int count) { descriptors<144>(queries, others, squares, out, count); }
