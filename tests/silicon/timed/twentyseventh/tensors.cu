// Kernels of the twenty-seventh set on tensor cores, in groups that differ in the layout of shared memory alone: bands of sounds, graphs of molecules,
// complements of Schur, chains of Markov, templates of waves.
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
// Where eight halves lie of a row of 64.
template <Layout HOW> __device__ __forceinline__ int eight(int row, int chunk) { return HOW == PLAIN ? row * 64 + chunk * 8 : HOW == PADDED ? row * 72 + chunk * 8 : row * 64 + (chunk ^ row % 8) * 8; }

// How loud 64 bands of a sound are (as ears hear it): squares of a spectrum by filters, and the logarithm. A block 64 frames, a warp sixteen.
template <Layout HOW> __device__ __forceinline__ void mel_bands(const __half *spectra, const __half *filters, float *out, int bins) {
    constexpr int SIZE = HOW == PADDED ? 4608 : 4096;
    __shared__ __align__(16) __half xs[2][SIZE], fs[2][SIZE];
    const int t = threadIdx.x, lane = t % 32, warp = t / 32, i = lane / 8, r = lane % 8;
    const size_t frame = (size_t)blockIdx.x * 64;
    const auto fetch = [&](int which, int first) {
        #pragma unroll
        for (int p = t; p < 512; p += 128) {
            copy16(xs[which] + eight<HOW>(p / 8, p % 8), spectra + (frame + p / 8) * bins + first + p % 8 * 8);
            copy16(fs[which] + eight<HOW>(p / 8, p % 8), filters + p / 8 * bins + first + p % 8 * 8);
        }
        commit();
    };
    float sum[8][4] = {};
    fetch(0, 0);
    #pragma unroll 1
    for (int first = 0, which = 0; first < bins; first += 64, which ^= 1) {
        if (first + 64 < bins) fetch(which ^ 1, first + 64), wait<1>();
        else wait<0>();
        __syncthreads();
        #pragma unroll
        for (int k = 0; k < 4; ++k) {
            unsigned a[4], b[4];
            matrices(a, xs[which] + eight<HOW>(warp * 16 + i % 2 * 8 + r, k * 2 + i / 2));
            #pragma unroll
            for (int e = 0; e < 4; ++e) {
                const __half2 v = *reinterpret_cast<const __half2 *>(a + e), square = __hmul2(v, v);
                a[e] = *reinterpret_cast<const unsigned *>(&square);
            }
            #pragma unroll
            for (int n = 0; n < 4; ++n) {
                matrices(b, fs[which] + eight<HOW>(n * 16 + i / 2 * 8 + r, k * 2 + i % 2));
                product(sum[n * 2], a, b), product(sum[n * 2 + 1], a, b + 2);
            }
        }
        __syncthreads();
    }
    #pragma unroll
    for (int n = 0; n < 8; ++n)
        #pragma unroll
        for (int h = 0; h < 2; ++h)
            *reinterpret_cast<float2 *>(out + (frame + warp * 16 + lane / 4 + h * 8) * 64 + n * 8 + lane % 4 * 2) =
                make_float2(__logf(fabsf(sum[n][h * 2]) + 1e-5f), __logf(fabsf(sum[n][h * 2 + 1]) + 1e-5f));
}
extern "C" __global__ void __launch_bounds__(128, 4) mel_bands_plain(const __half *spectra, const __half *filters, float *out, int bins) { mel_bands<PLAIN>(spectra, filters, out, bins); }
extern "C" __global__ void __launch_bounds__(128, 4) mel_bands_padded(const __half *spectra, const __half *filters, float *out, int bins) { mel_bands<PADDED>(spectra, filters, out, bins); }
extern "C" __global__ void __launch_bounds__(128, 4) mel_bands_swizzled(const __half *spectra, const __half *filters, float *out, int bins) { mel_bands<SWIZZLED>(spectra, filters, out, bins); }

// Layers of a network over molecules of 64 atoms whose bonds are a matrix: what neighbours know, summed, by weights; what all know, averaged, comes out.
template <Layout HOW> __device__ __forceinline__ void molecules(const __half *bonds, const __half *atoms, const __half *weights, float *out, int layers) {
    __shared__ __align__(16) __half as[4096], xs[4096], hs[4096], ws[4096];
    __shared__ float all[4][64];
    const int t = threadIdx.x, lane = t % 32, warp = t / 32, i = lane / 8, r = lane % 8;
    const auto fetch = [&](__half *to, const __half *from) {
        #pragma unroll
        for (int p = t; p < 512; p += 128) copy16(to + eight<HOW>(p / 8, p % 8), from + p * 8);
        commit();
    };
    fetch(as, bonds + (size_t)blockIdx.x * 4096), fetch(xs, atoms + (size_t)blockIdx.x * 4096);
    float sum[8][4];
    const auto multiply = [&](const __half *left, const __half *right) {
        #pragma unroll
        for (int n = 0; n < 32; ++n) sum[n / 4][n % 4] = 0.0f;
        #pragma unroll
        for (int k = 0; k < 4; ++k) {
            unsigned a[4], b[4];
            matrices(a, left + eight<HOW>(warp * 16 + i % 2 * 8 + r, k * 2 + i / 2));
            #pragma unroll
            for (int n = 0; n < 4; ++n) {
                turned(b, right + eight<HOW>(k * 16 + i % 2 * 8 + r, n * 2 + i / 2));
                product(sum[n * 2], a, b), product(sum[n * 2 + 1], a, b + 2);
            }
        }
    };
    const auto keep = [&](__half *to, float least) {
        #pragma unroll
        for (int n = 0; n < 8; ++n)
            #pragma unroll
            for (int h = 0; h < 2; ++h)
                *reinterpret_cast<__half2 *>(to + eight<HOW>(warp * 16 + lane / 4 + h * 8, n) + lane % 4 * 2) =
                    __floats2half2_rn(fmaxf(sum[n][h * 2] * 0.125f, least), fmaxf(sum[n][h * 2 + 1] * 0.125f, least));
    };
    #pragma unroll 1
    for (int layer = 0; layer < layers; ++layer) {
        fetch(ws, weights + layer * 4096);
        wait<1>();
        __syncthreads();
        multiply(as, xs), keep(hs, -60000.0f);
        wait<0>();
        __syncthreads();
        multiply(hs, ws), keep(xs, 0.0f);
        __syncthreads();
    }
    #pragma unroll
    for (int n = 0; n < 8; ++n)
        #pragma unroll
        for (int c = 0; c < 2; ++c) {
            float one = fmaxf(sum[n][c], 0.0f) + fmaxf(sum[n][c + 2], 0.0f);
            #pragma unroll
            for (int offset = 4; offset < 32; offset <<= 1) one += __shfl_xor_sync(0xffffffffu, one, offset);
            if (lane < 4) all[warp][n * 8 + lane * 2 + c] = one;
        }
    __syncthreads();
    if (t < 64) out[(size_t)blockIdx.x * 64 + t] = (all[0][t] + all[1][t] + all[2][t] + all[3][t]) * 0.015625f;
}
extern "C" __global__ void __launch_bounds__(128, 4) molecules_plain(const __half *bonds, const __half *atoms, const __half *weights, float *out, int layers) { molecules<PLAIN>(bonds, atoms, weights, out, layers); }
extern "C" __global__ void __launch_bounds__(128, 4) molecules_swizzled(const __half *bonds, const __half *atoms, const __half *weights, float *out, int layers) { molecules<SWIZZLED>(bonds, atoms, weights, out, layers); }

// What points leave of the equations of cameras (complements of Schur): C - B^T D^-1 B of 64 unknowns, in TF32, 32 points at a time.
__device__ __forceinline__ unsigned tfloat(float v) {
    unsigned r;
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(r) : "f"(v));
    return r;
}
template <int PITCH> __device__ __forceinline__ void schur(const float *borders, const float *diagonals, const float *own, float *out, int points) {
    __shared__ __align__(16) float held[2][32 * PITCH];
    __shared__ float inverse[2][32];
    const int t = threadIdx.x, lane = t % 32, warp = t / 32, g = lane / 4, q = lane % 4;
    const float *from = borders + (size_t)blockIdx.x * points * 64, *about = diagonals + (size_t)blockIdx.x * points;
    const auto fetch = [&](int which, int first) {
        #pragma unroll
        for (int p = t; p < 512; p += 128) copy16(held[which] + p / 16 * PITCH + p % 16 * 4, from + first * 64 + p * 4);
        commit();
        if (t < 32) inverse[which][t] = -1.0f / (1.0f + about[first + t] * about[first + t]);
    };
    fetch(0, 0);
    const size_t at = (size_t)blockIdx.x * 4096 + (warp * 16 + g) * 64 + q * 2;
    float c[8][4];
    #pragma unroll
    for (int n = 0; n < 8; ++n) {
        const float2 low = *reinterpret_cast<const float2 *>(own + at + n * 8), high = *reinterpret_cast<const float2 *>(own + at + 512 + n * 8);
        c[n][0] = low.x, c[n][1] = low.y, c[n][2] = high.x, c[n][3] = high.y;
    }
    #pragma unroll 1
    for (int first = 0, which = 0; first < points; first += 32, which ^= 1) {
        if (first + 32 < points) fetch(which ^ 1, first + 32), wait<1>();
        else wait<0>();
        __syncthreads();
        #pragma unroll
        for (int k = 0; k < 32; k += 8) {
            const float *low = held[which] + (k + q) * PITCH, *high = low + 4 * PITCH;
            const float u = inverse[which][k + q], v = inverse[which][k + q + 4];
            const unsigned a[4] = {tfloat(low[warp * 16 + g] * u), tfloat(low[warp * 16 + g + 8] * u), tfloat(high[warp * 16 + g] * v), tfloat(high[warp * 16 + g + 8] * v)};
            #pragma unroll
            for (int n = 0; n < 8; ++n)
                asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                             : "+f"(c[n][0]), "+f"(c[n][1]), "+f"(c[n][2]), "+f"(c[n][3])
                             : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(tfloat(low[n * 8 + g])), "r"(tfloat(high[n * 8 + g])));
        }
        __syncthreads();
    }
    #pragma unroll
    for (int n = 0; n < 8; ++n) {
        *reinterpret_cast<float2 *>(out + at + n * 8) = make_float2(c[n][0], c[n][1]);
        *reinterpret_cast<float2 *>(out + at + 512 + n * 8) = make_float2(c[n][2], c[n][3]);
    }
}
KERNEL(128) schur_plain(const float *borders, const float *diagonals, const float *own, float *out, int points) { schur<64>(borders, diagonals, own, out, points); }
KERNEL(128) schur_padded(const float *borders, const float *diagonals, const float *own, float *out, int points) { schur<72>(borders, diagonals, own, out, points); }

// Where chains of Markov with 64 states end: their matrices squared again and again, and rows made to sum to one. A block a chain, two threads a row.
template <int PITCH, int WIDE> __device__ __forceinline__ void markov(const __half *in, __half *out, int squarings) {
    __shared__ __align__(32) __half chain[64 * PITCH];
    __shared__ __align__(32) volatile float sums[64 * WIDE];
    const int t = threadIdx.x, warp = t / 32, row = t / 2, side = t % 2 * 32;
    const size_t base = (size_t)blockIdx.x * 4096;
    #pragma unroll 8
    for (int i = t; i < 4096; i += 128) sums[i / 64 * WIDE + i % 64] = fabsf(__half2float(in[base + i])) + 0.01f;
    __syncthreads();
    #pragma unroll 1
    for (int n = 0;; ++n) {
        float all = 0.0f;
        #pragma unroll 8
        for (int c = 0; c < 32; ++c) all += sums[row * WIDE + side + c];
        all += __shfl_xor_sync(0xffffffffu, all, 1);
        const float one = 1.0f / all;
        #pragma unroll 8
        for (int c = 0; c < 32; c += 2)
            *reinterpret_cast<__half2 *>(chain + row * PITCH + side + c) = __floats2half2_rn(sums[row * WIDE + side + c] * one, sums[row * WIDE + side + c + 1] * one);
        __syncthreads();
        if (n == squarings) break;
        wmma::fragment<wmma::accumulator, 16, 16, 16, float> c[4];
        #pragma unroll
        for (int j = 0; j < 4; ++j) wmma::fill_fragment(c[j], 0.0f);
        #pragma unroll
        for (int k = 0; k < 64; k += 16) {
            wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> a;
            wmma::load_matrix_sync(a, chain + warp * 16 * PITCH + k, PITCH);
            #pragma unroll
            for (int j = 0; j < 4; ++j) {
                wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::row_major> b;
                wmma::load_matrix_sync(b, chain + k * PITCH + j * 16, PITCH);
                wmma::mma_sync(c[j], a, b, c[j]);
            }
        }
        #pragma unroll
        for (int j = 0; j < 4; ++j) wmma::store_matrix_sync(const_cast<float *>(sums) + warp * 16 * WIDE + j * 16, c[j], WIDE, wmma::mem_row_major);
        __syncthreads();
    }
    #pragma unroll 8
    for (int i = t; i < 4096; i += 128) out[base + i] = chain[i / 64 * PITCH + i % 64];
}
KERNEL(128) markov_plain(const __half *in, __half *out, int squarings) { markov<64, 64>(in, out, squarings); }
KERNEL(128) markov_padded(const __half *in, __half *out, int squarings) { markov<72, 68>(in, out, squarings); }

// Which of 64 templates of 256 bytes a signal looks most like, every sixteen samples (as detectors of gravity's waves ask): products of bytes.
template <int PITCH> __device__ __forceinline__ void wave_templates(const signed char *signal, const signed char *templates, int *out, int tiles) {
    __shared__ __align__(16) signed char known[64 * PITCH], heard[2][1280];
    const int t = threadIdx.x, lane = t % 32, warp = t / 32, g = lane / 4, q = lane % 4;
    const size_t first = (size_t)blockIdx.x * tiles;
    const auto fetch = [&](int which, int tile) {
        if (t < 79) copy16(heard[which] + t * 16, signal + (first + tile) * 1024 + t * 16);
        commit();
    };
    #pragma unroll
    for (int p = t; p < 1024; p += 128) copy16(known + p / 16 * PITCH + p % 16 * 16, templates + p * 16);
    fetch(0, 0);
    #pragma unroll 1
    for (int tile = 0; tile < tiles; ++tile) {
        if (tile + 1 < tiles) fetch(tile + 1 & 1, tile + 1), wait<1>();
        else wait<0>();
        __syncthreads();
        int c[8][4] = {};
        #pragma unroll 4
        for (int k = 0; k < 256; k += 32) {
            const signed char *from = heard[tile & 1] + (warp * 16 + g) * 16 + k + q * 4;
            const auto word = [](const signed char *p) { return *reinterpret_cast<const unsigned *>(p); };
            const unsigned a[4] = {word(from), word(from + 128), word(from + 16), word(from + 144)};
            #pragma unroll
            for (int n = 0; n < 8; ++n) {
                const signed char *one = known + (n * 8 + g) * PITCH + k + q * 4;
                asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                             : "+r"(c[n][0]), "+r"(c[n][1]), "+r"(c[n][2]), "+r"(c[n][3])
                             : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(word(one)), "r"(word(one + 16)));
            }
        }
        int best[2] = {-2147483647, -2147483647};
        #pragma unroll
        for (int n = 0; n < 8; ++n)
            #pragma unroll
            for (int e = 0; e < 4; ++e) best[e / 2] = max(best[e / 2], c[n][e] * 64 + n * 8 + q * 2 + e % 2);
        #pragma unroll
        for (int offset = 1; offset < 4; offset <<= 1)
            #pragma unroll
            for (int h = 0; h < 2; ++h) best[h] = max(best[h], __shfl_xor_sync(0xffffffffu, best[h], offset));
        if (q < 2) out[(first + tile) * 64 + warp * 16 + g + q * 8] = q ? best[1] : best[0];
        __syncthreads();
    }
}
KERNEL(128) wave_templates_plain(const signed char *signal, const signed char *templates, int *out, int tiles) { wave_templates<256>(signal, templates, out, tiles); }
KERNEL(128) wave_templates_padded(const signed char *signal, const signed char *templates, int *out, int tiles) { wave_templates<272>(signal, templates, out, tiles); }
