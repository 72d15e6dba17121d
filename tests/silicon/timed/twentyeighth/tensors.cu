// Kernels of the twenty-eighth set on tensor cores, in groups that differ in the layout of shared memory alone: pictures beside texts, memories of Hopfield,
// reservoirs, distances of Mahalanobis, elements of Petrov and Galerkin.
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
__device__ __forceinline__ void product(float *c, const unsigned *a, const unsigned *b) {
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
// Where eight halves lie of a row of 64.
template <Layout HOW> __device__ __forceinline__ int eight(int row, int chunk) { return HOW == PLAIN ? row * 64 + chunk * 8 : HOW == PADDED ? row * 72 + chunk * 8 : row * 64 + (chunk ^ row % 8) * 8; }

// How well 64 pictures tell their text from all texts (as CLIP learns): logarithms of sums of exponentials of products, as tiles of 64 texts come by.
template <Layout HOW> __device__ __forceinline__ void contrasted(const __half *pictures, const __half *texts, float *out, int tiles, float scale) {
    constexpr int SIZE = HOW == PADDED ? 4608 : 4096;
    __shared__ __align__(16) __half ps[SIZE], ts[2][SIZE];
    const int t = threadIdx.x, lane = t % 32, warp = t / 32, i = lane / 8, r = lane % 8;
    const auto fetch = [&](__half *to, const __half *from) {
        #pragma unroll
        for (int p = t; p < 512; p += 128) copy16(to + eight<HOW>(p / 8, p % 8), from + p * 8);
        commit();
    };
    fetch(ps, pictures + (size_t)blockIdx.x * 4096), fetch(ts[0], texts);
    wait<1>();
    __syncthreads();
    unsigned a[4][4];
    #pragma unroll
    for (int k = 0; k < 4; ++k) matrices(a[k], ps + eight<HOW>(warp * 16 + i % 2 * 8 + r, k * 2 + i / 2));
    float most[2] = {-1e30f, -1e30f}, all[2] = {};
    #pragma unroll 1
    for (int tile = 0; tile < tiles; ++tile) {
        if (tile + 1 < tiles) fetch(ts[tile + 1 & 1], texts + (tile + 1) * 4096), wait<1>();
        else wait<0>();
        __syncthreads();
        float sum[8][4] = {};
        #pragma unroll
        for (int k = 0; k < 4; ++k)
            #pragma unroll
            for (int n = 0; n < 4; ++n) {
                unsigned b[4];
                matrices(b, ts[tile & 1] + eight<HOW>(n * 16 + i / 2 * 8 + r, k * 2 + i % 2));
                product(sum[n * 2], a[k], b), product(sum[n * 2 + 1], a[k], b + 2);
            }
        #pragma unroll
        for (int h = 0; h < 2; ++h) {
            float next = most[h];
            #pragma unroll
            for (int n = 0; n < 8; ++n) next = fmaxf(next, fmaxf(sum[n][h * 2], sum[n][h * 2 + 1]) * scale);
            all[h] *= __expf(most[h] - next);
            #pragma unroll
            for (int n = 0; n < 8; ++n) all[h] += __expf(sum[n][h * 2] * scale - next) + __expf(sum[n][h * 2 + 1] * scale - next);
            most[h] = next;
        }
        __syncthreads();
    }
    #pragma unroll
    for (int h = 0; h < 2; ++h) {
        #pragma unroll
        for (int offset = 1; offset < 4; offset <<= 1) {
            const float other = __shfl_xor_sync(0xffffffffu, most[h], offset), more = __shfl_xor_sync(0xffffffffu, all[h], offset), next = fmaxf(most[h], other);
            all[h] = all[h] * __expf(most[h] - next) + more * __expf(other - next), most[h] = next;
        }
        if (lane % 4 == 0) out[(size_t)blockIdx.x * 64 + warp * 16 + h * 8 + lane / 4] = most[h] + __logf(all[h]);
    }
}
KERNEL(128) contrasted_plain(const __half *pictures, const __half *texts, float *out, int tiles, float scale) { contrasted<PLAIN>(pictures, texts, out, tiles, scale); }
KERNEL(128) contrasted_padded(const __half *pictures, const __half *texts, float *out, int tiles, float scale) { contrasted<PADDED>(pictures, texts, out, tiles, scale); }
KERNEL(128) contrasted_swizzled(const __half *pictures, const __half *texts, float *out, int tiles, float scale) { contrasted<SWIZZLED>(pictures, texts, out, tiles, scale); }

// What a network of Hopfield with 128 neurons remembers: 64 states of bytes, plus or minus one, by its weights again and again. A warp sixteen states.
template <int PITCH> __device__ __forceinline__ void hopfield(const unsigned *states, const signed char *weights, unsigned *out, int steps) {
    __shared__ __align__(16) signed char ws[128 * PITCH], xs[64 * PITCH];
    const int t = threadIdx.x, lane = t % 32, warp = t / 32, g = lane / 4, q = lane % 4;
    #pragma unroll
    for (int p = t; p < 1024; p += 128) copy16(ws + p / 8 * PITCH + p % 8 * 16, weights + p * 16);
    commit();
    #pragma unroll 4
    for (int p = t; p < 2048; p += 128) *reinterpret_cast<unsigned *>(xs + p / 32 * PITCH + p % 32 * 4) = (states[(size_t)blockIdx.x * 2048 + p] & 0x01010101u) * 254u + 0x01010101u;
    wait<0>();
    __syncthreads();
    const auto word = [](const signed char *p) { return *reinterpret_cast<const unsigned *>(p); };
    signed char *row = xs + (warp * 16 + g) * PITCH;
    #pragma unroll 1
    for (int step = 0; step < steps; ++step) {
        int c[16][4] = {};
        #pragma unroll
        for (int k = 0; k < 128; k += 32) {
            const signed char *from = row + k + q * 4;
            const unsigned a[4] = {word(from), word(from + 8 * PITCH), word(from + 16), word(from + 8 * PITCH + 16)};
            #pragma unroll
            for (int n = 0; n < 16; ++n) {
                const signed char *one = ws + (n * 8 + g) * PITCH + k + q * 4;
                asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                             : "+r"(c[n][0]), "+r"(c[n][1]), "+r"(c[n][2]), "+r"(c[n][3])
                             : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(word(one)), "r"(word(one + 16)));
            }
        }
        __syncwarp();
        #pragma unroll
        for (int n = 0; n < 16; ++n)
            #pragma unroll
            for (int h = 0; h < 2; ++h)
                *reinterpret_cast<char2 *>(row + h * 8 * PITCH + n * 8 + q * 2) = make_char2(c[n][h * 2] < 0 ? -1 : 1, c[n][h * 2 + 1] < 0 ? -1 : 1);
        __syncwarp();
    }
    __syncthreads();
    #pragma unroll 4
    for (int p = t; p < 2048; p += 128) out[(size_t)blockIdx.x * 2048 + p] = word(xs + p / 32 * PITCH + p % 32 * 4);
}
KERNEL(128) hopfield_plain(const unsigned *states, const signed char *weights, unsigned *out, int steps) { hopfield<128>(states, weights, out, steps); }
KERNEL(128) hopfield_padded(const unsigned *states, const signed char *weights, unsigned *out, int steps) { hopfield<144>(states, weights, out, steps); }

// A reservoir of 64 units that echoes what it hears: tanh of what it held by fixed weights, and of new input, for 64 series at once, in halves.
template <int PITCH> __device__ __forceinline__ void reservoir(const __half *heard, const __half *weights, __half *out, int steps) {
    __shared__ __align__(32) __half ws[64 * PITCH], hs[64 * PITCH];
    const int t = threadIdx.x, warp = t / 32;
    #pragma unroll 4
    for (int p = t; p < 512; p += 128) {
        *reinterpret_cast<uint4 *>(ws + p / 8 * PITCH + p % 8 * 8) = *reinterpret_cast<const uint4 *>(weights + p * 8);
        *reinterpret_cast<uint4 *>(hs + p / 8 * PITCH + p % 8 * 8) = make_uint4(0u, 0u, 0u, 0u);
    }
    __syncthreads();
    __half *own = hs + warp * 16 * PITCH;
    wmma::fragment<wmma::accumulator, 16, 16, 16, __half> c[4];
    #pragma unroll 1
    for (int step = 0; step < steps; ++step) {
        const __half *now = heard + ((size_t)step * gridDim.x + blockIdx.x) * 4096 + warp * 1024;
        #pragma unroll
        for (int j = 0; j < 4; ++j) wmma::load_matrix_sync(c[j], now + j * 16, 64, wmma::mem_row_major);
        #pragma unroll
        for (int k = 0; k < 64; k += 16) {
            wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> a;
            wmma::load_matrix_sync(a, own + k, PITCH);
            #pragma unroll
            for (int j = 0; j < 4; ++j) {
                wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::col_major> b;
                wmma::load_matrix_sync(b, ws + j * 16 * PITCH + k, PITCH);
                wmma::mma_sync(c[j], a, b, c[j]);
            }
        }
        __syncwarp();
        #pragma unroll
        for (int j = 0; j < 4; ++j) {
            #pragma unroll
            for (int e = 0; e < c[j].num_elements; ++e) c[j].x[e] = __float2half(1.0f - __fdividef(2.0f, 1.0f + __expf(0.5f * __half2float(c[j].x[e]))));
            wmma::store_matrix_sync(own + j * 16, c[j], PITCH, wmma::mem_row_major);
        }
        __syncwarp();
    }
    #pragma unroll
    for (int j = 0; j < 4; ++j) wmma::store_matrix_sync(out + (size_t)blockIdx.x * 4096 + warp * 1024 + j * 16, c[j], 64, wmma::mem_row_major);
}
KERNEL(128) reservoir_plain(const __half *heard, const __half *weights, __half *out, int steps) { reservoir<64>(heard, weights, out, steps); }
KERNEL(128) reservoir_padded(const __half *heard, const __half *weights, __half *out, int steps) { reservoir<72>(heard, weights, out, steps); }

// Which of several classes each point of 64 coordinates is nearest to, by Mahalanobis: x P x for the classes' matrices P, in TF32. A block 64 points.
__device__ __forceinline__ unsigned tfloat(float v) {
    unsigned r;
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(r) : "f"(v));
    return r;
}
template <int PITCH> __device__ __forceinline__ void mahalanobis(const float *points, const float *inverses, float2 *out, int classes) {
    __shared__ __align__(16) float xs[64 * PITCH], ps[64 * PITCH];
    const int t = threadIdx.x, lane = t % 32, warp = t / 32, g = lane / 4, q = lane % 4;
    const auto fetch = [&](float *to, const float *from) {
        #pragma unroll
        for (int p = t; p < 1024; p += 128) copy16(to + p / 16 * PITCH + p % 16 * 4, from + p * 4);
        commit();
    };
    fetch(xs, points + (size_t)blockIdx.x * 4096);
    float least[2] = {1e30f, 1e30f}, which[2] = {};
    const float *row = xs + (warp * 16 + g) * PITCH;
    #pragma unroll 1
    for (int one = 0; one < classes; ++one) {
        fetch(ps, inverses + one * 4096);
        wait<0>();
        __syncthreads();
        float c[8][4] = {};
        #pragma unroll
        for (int k = 0; k < 64; k += 8) {
            const float *from = row + k + q;
            const unsigned a[4] = {tfloat(from[0]), tfloat(from[8 * PITCH]), tfloat(from[4]), tfloat(from[8 * PITCH + 4])};
            #pragma unroll
            for (int n = 0; n < 8; ++n) {
                const float *p = ps + (n * 8 + g) * PITCH + k + q;
                asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                             : "+f"(c[n][0]), "+f"(c[n][1]), "+f"(c[n][2]), "+f"(c[n][3])
                             : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(tfloat(p[0])), "r"(tfloat(p[4])));
            }
        }
        #pragma unroll
        for (int h = 0; h < 2; ++h) {
            float far = 0.0f;
            #pragma unroll
            for (int n = 0; n < 8; ++n) {
                const float2 x = *reinterpret_cast<const float2 *>(row + h * 8 * PITCH + n * 8 + q * 2);
                far += c[n][h * 2] * x.x + c[n][h * 2 + 1] * x.y;
            }
            far += __shfl_xor_sync(0xffffffffu, far, 1), far += __shfl_xor_sync(0xffffffffu, far, 2);
            if (far < least[h]) least[h] = far, which[h] = (float)one;
        }
        __syncthreads();
    }
    if (q < 2) out[(size_t)blockIdx.x * 64 + warp * 16 + q * 8 + g] = q ? make_float2(least[1], which[1]) : make_float2(least[0], which[0]);
}
KERNEL(128) mahalanobis_plain(const float *points, const float *inverses, float2 *out, int classes) { mahalanobis<64>(points, inverses, out, classes); }
KERNEL(128) mahalanobis_padded(const float *points, const float *inverses, float2 *out, int classes) { mahalanobis<68>(points, inverses, out, classes); }

// Matrices of elements (Petrov and Galerkin) for several materials, in doubles: trials by tests, 32 unknowns and 32 places. A warp an element; how large each is.
template <int PITCH> __device__ __forceinline__ void petrov(const double2 *trials, const double2 *tests, const double *weights, double *out, int materials) {
    __shared__ __align__(16) double held[2][2][32 * PITCH];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, g = lane / 4, q = lane % 4;
    const size_t element = (size_t)blockIdx.x * 2 + warp;
    double *us = held[warp][0], *vs = held[warp][1];
    #pragma unroll 4
    for (int p = lane; p < 512; p += 32) {
        *reinterpret_cast<double2 *>(us + p / 16 * PITCH + p % 16 * 2) = trials[element * 512 + p];
        *reinterpret_cast<double2 *>(vs + p / 16 * PITCH + p % 16 * 2) = tests[element * 512 + p];
    }
    __syncwarp();
    #pragma unroll 1
    for (int m = 0; m < materials; ++m) {
        double c[4][4][2] = {};
        #pragma unroll 2
        for (int k = q; k < 32; k += 4) {
            const double weight = weights[m * 32 + k];
            double a[4], b[4];
            #pragma unroll
            for (int n = 0; n < 4; ++n) a[n] = us[k * PITCH + n * 8 + g] * weight, b[n] = vs[k * PITCH + n * 8 + g];
            #pragma unroll
            for (int n = 0; n < 16; ++n)
                asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0,%1}, {%2}, {%3}, {%0,%1};" : "+d"(c[n / 4][n % 4][0]), "+d"(c[n / 4][n % 4][1]) : "d"(a[n / 4]), "d"(b[n % 4]));
        }
        double large = 0.0;
        #pragma unroll
        for (int n = 0; n < 16; ++n) large += c[n / 4][n % 4][0] * c[n / 4][n % 4][0] + c[n / 4][n % 4][1] * c[n / 4][n % 4][1];
        #pragma unroll
        for (int offset = 16; offset > 0; offset >>= 1) large += __shfl_xor_sync(0xffffffffu, large, offset);
        if (lane == 0) out[element * materials + m] = large;
    }
}
KERNEL(64) petrov_plain(const double2 *trials, const double2 *tests, const double *weights, double *out, int materials) { petrov<32>(trials, tests, weights, out, materials); }
KERNEL(64) petrov_padded(const double2 *trials, const double2 *tests, const double *weights, double *out, int materials) { petrov<36>(trials, tests, weights, out, materials); }
