// Kernels of the twenty-fifth set that multiply matrices, in groups that differ in the layout of shared memory alone: distances, blocks of a diagonal,
// Fourier sums, a layer, bottlenecks, caches of latent rows.
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <mma.h>

#define KERNEL(THREADS) extern "C" __global__ void __launch_bounds__(THREADS)

using namespace nvcuda;

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

// Distances of all rows from all others, by products of halves: tiles of 64 by 64, 32 deep, copied ahead into two buffers.
template <int PITCH> __device__ __forceinline__ void near_pairs(const __half *a, const __half *b, const float *norms_a, const float *norms_b, float *out, int columns, int depth) {
    __shared__ __align__(32) __half as[2][64 * PITCH], bs[2][64 * PITCH];
    __shared__ __align__(32) float tile[64 * 68];
    const int t = threadIdx.x, warp = t / 32, down = warp / 2 * 32, across = warp % 2 * 32;
    const size_t row = blockIdx.y * 64, column = blockIdx.x * 64;
    const auto fetch = [&](int which, int k) {
        #pragma unroll
        for (int i = t; i < 256; i += 128) {
            copy16(as[which] + i / 4 * PITCH + i % 4 * 8, a + (row + i / 4) * depth + k + i % 4 * 8);
            copy16(bs[which] + i / 4 * PITCH + i % 4 * 8, b + (column + i / 4) * depth + k + i % 4 * 8);
        }
        commit();
    };
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> sums[2][2];
    #pragma unroll
    for (int i = 0; i < 4; ++i) wmma::fill_fragment(sums[i / 2][i % 2], 0.0f);
    fetch(0, 0);
    #pragma unroll 1
    for (int k = 0, which = 0; k < depth; k += 32, which ^= 1) {
        if (k + 32 < depth) fetch(which ^ 1, k + 32), wait<1>();
        else wait<0>();
        __syncthreads();
        #pragma unroll
        for (int p = 0; p < 32; p += 16) {
            wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> x[2];
            wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::col_major> y[2];
            #pragma unroll
            for (int i = 0; i < 2; ++i) {
                wmma::load_matrix_sync(x[i], as[which] + (down + i * 16) * PITCH + p, PITCH);
                wmma::load_matrix_sync(y[i], bs[which] + (across + i * 16) * PITCH + p, PITCH);
            }
            #pragma unroll
            for (int i = 0; i < 4; ++i) wmma::mma_sync(sums[i / 2][i % 2], x[i / 2], y[i % 2], sums[i / 2][i % 2]);
        }
        __syncthreads();
    }
    #pragma unroll
    for (int i = 0; i < 4; ++i) wmma::store_matrix_sync(tile + (down + i / 2 * 16) * 68 + across + i % 2 * 16, sums[i / 2][i % 2], 68, wmma::mem_row_major);
    __syncthreads();
    const float own = norms_b[column + t % 64];
    #pragma unroll 8
    for (int r = t / 64; r < 64; r += 2) out[(row + r) * columns + column + t % 64] = norms_a[row + r] + own - 2.0f * tile[r * 68 + t % 64];
}
KERNEL(128) near_pairs_plain(const __half *a, const __half *b, const float *na, const float *nb, float *out, int columns, int depth) { near_pairs<32>(a, b, na, nb, out, columns, depth); }
KERNEL(128) near_pairs_padded(const __half *a, const __half *b, const float *na, const float *nb, float *out, int columns, int depth) { near_pairs<40>(a, b, na, nb, out, columns, depth); }

// Rows of 256 by a matrix of Monarch's form: four blocks of 64 by 64, a shuffle of features, four more; a block 64 rows, a warp sixteen.
template <int PITCH> __device__ __forceinline__ void one_block(float (*sum)[4], __half *ws, const __half *xs, const __half *weights, int chunk, int t) {
    const int lane = t % 32, warp = t / 32, i = lane / 8, r = lane % 8;
    __syncthreads();
    #pragma unroll
    for (int p = t; p < 512; p += 128) *reinterpret_cast<uint4 *>(ws + p / 8 * PITCH + p % 8 * 8) = *reinterpret_cast<const uint4 *>(weights + chunk * 4096 + p * 8);
    __syncthreads();
    #pragma unroll
    for (int n = 0; n < 8; ++n)
        #pragma unroll
        for (int e = 0; e < 4; ++e) sum[n][e] = 0.0f;
    #pragma unroll
    for (int p = 0; p < 4; ++p) {
        unsigned x[4], y[4];
        matrices(x, xs + (warp * 16 + i % 2 * 8 + r) * (PITCH + 192) + chunk * 64 + p * 16 + i / 2 * 8);
        #pragma unroll
        for (int n = 0; n < 4; ++n) {
            turned(y, ws + (p * 16 + i % 2 * 8 + r) * PITCH + n * 16 + i / 2 * 8);
            product(sum[n * 2], x, y), product(sum[n * 2 + 1], x, y + 2);
        }
    }
}
template <int PITCH> __device__ __forceinline__ void monarch(const __half *in, const __half *first, const __half *second, __half *out) {
    constexpr int WIDE = PITCH + 192;
    __shared__ __align__(16) __half xs[64 * WIDE], ws[64 * PITCH];
    const int t = threadIdx.x, lane = t % 32, warp = t / 32, row = warp * 16 + lane / 4;
    const size_t base = (size_t)blockIdx.x * 64 * 256;
    #pragma unroll 4
    for (int i = t; i < 2048; i += 128) copy16(xs + i / 32 * WIDE + i % 32 * 8, in + base + i * 8);
    commit(), wait<0>();
    float sum[8][4];
    __half2 held[4][8][2];
    #pragma unroll
    for (int chunk = 0; chunk < 4; ++chunk) {
        one_block<PITCH>(sum, ws, xs, first, chunk, t);
        #pragma unroll
        for (int n = 0; n < 8; ++n) held[chunk][n][0] = __floats2half2_rn(sum[n][0], sum[n][1]), held[chunk][n][1] = __floats2half2_rn(sum[n][2], sum[n][3]);
    }
    __syncthreads();
    #pragma unroll
    for (int chunk = 0; chunk < 4; ++chunk)
        #pragma unroll
        for (int n = 0; n < 8; ++n)
            #pragma unroll
            for (int h = 0; h < 2; ++h) {
                __half *to = xs + (row + h * 8) * WIDE + (n * 8 + lane % 4 * 2) * 4 + chunk;
                to[0] = __low2half(held[chunk][n][h]), to[4] = __high2half(held[chunk][n][h]);
            }
    #pragma unroll 1
    for (int chunk = 0; chunk < 4; ++chunk) {
        one_block<PITCH>(sum, ws, xs, second, chunk, t);
        #pragma unroll
        for (int n = 0; n < 8; ++n)
            #pragma unroll
            for (int h = 0; h < 2; ++h)
                *reinterpret_cast<__half2 *>(out + base + (row + h * 8) * 256 + chunk * 64 + n * 8 + lane % 4 * 2) = __floats2half2_rn(sum[n][h * 2], sum[n][h * 2 + 1]);
    }
}
KERNEL(128) monarch_plain(const __half *in, const __half *first, const __half *second, __half *out) { monarch<64>(in, first, second, out); }
KERNEL(128) monarch_padded(const __half *in, const __half *first, const __half *second, __half *out) { monarch<72>(in, first, second, out); }

// Fourier sums of 64 complex halves as products of matrices: a block 64 columns, a warp sixteen frequencies of them.
template <int PITCH> __device__ __forceinline__ void fourier_product(const __half *real, const __half *imaginary, const __half *roots, float *out) {
    __shared__ __align__(32) __half held[4][64 * PITCH];
    const int t = threadIdx.x, warp = t / 32;
    const size_t base = (size_t)blockIdx.x * 4096;
    #pragma unroll
    for (int i = t; i < 512; i += 128) {
        const int to = i / 8 * PITCH + i % 8 * 8;
        copy16(held[0] + to, roots + i * 8), copy16(held[1] + to, roots + 4096 + i * 8);
        copy16(held[2] + to, real + base + i * 8), copy16(held[3] + to, imaginary + base + i * 8);
    }
    commit(), wait<0>();
    __syncthreads();
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> sums[2][4];
    #pragma unroll
    for (int i = 0; i < 8; ++i) wmma::fill_fragment(sums[i / 4][i % 4], 0.0f);
    #pragma unroll
    for (int k = 0; k < 64; k += 16) {
        wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> c, s, less;
        wmma::load_matrix_sync(c, held[0] + warp * 16 * PITCH + k, PITCH);
        wmma::load_matrix_sync(s, held[1] + warp * 16 * PITCH + k, PITCH);
        #pragma unroll
        for (int e = 0; e < s.num_elements; ++e) less.x[e] = __hneg(s.x[e]);
        #pragma unroll
        for (int n = 0; n < 4; ++n) {
            wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::row_major> x, y;
            wmma::load_matrix_sync(x, held[2] + k * PITCH + n * 16, PITCH);
            wmma::load_matrix_sync(y, held[3] + k * PITCH + n * 16, PITCH);
            wmma::mma_sync(sums[0][n], c, x, sums[0][n]), wmma::mma_sync(sums[0][n], less, y, sums[0][n]);
            wmma::mma_sync(sums[1][n], c, y, sums[1][n]), wmma::mma_sync(sums[1][n], s, x, sums[1][n]);
        }
    }
    #pragma unroll
    for (int i = 0; i < 8; ++i) wmma::store_matrix_sync(out + base * 2 + i / 4 * 4096 + warp * 1024 + i % 4 * 16, sums[i / 4][i % 4], 64, wmma::mem_row_major);
}
KERNEL(128) fourier_product_plain(const __half *real, const __half *imaginary, const __half *roots, float *out) { fourier_product<64>(real, imaginary, roots, out); }
KERNEL(128) fourier_product_padded(const __half *real, const __half *imaginary, const __half *roots, float *out) { fourier_product<72>(real, imaginary, roots, out); }

// A layer in floats with its GELU: tiles of 64 by 64, sixteen deep, rows of A turned as they are stored, eight by four sums a thread.
template <int PITCH> __device__ __forceinline__ void gelu_layer(const float *a, const float *b, const float *bias, float *out, int columns, int depth) {
    __shared__ __align__(16) float as[16 * PITCH], bs[16 * 64];
    const int t = threadIdx.x, x = t % 16 * 4, y = t / 16 * 8;
    const size_t row = blockIdx.y * 64, column = blockIdx.x * 64;
    float sum[8][4] = {};
    #pragma unroll 1
    for (int k = 0; k < depth; k += 16) {
        #pragma unroll
        for (int i = t; i < 256; i += 128) {
            const float4 v = *reinterpret_cast<const float4 *>(a + (row + i / 4) * depth + k + i % 4 * 4);
            float *to = as + i % 4 * 4 * PITCH + i / 4;
            to[0] = v.x, to[PITCH] = v.y, to[2 * PITCH] = v.z, to[3 * PITCH] = v.w;
            *reinterpret_cast<float4 *>(bs + i / 16 * 64 + i % 16 * 4) = *reinterpret_cast<const float4 *>(b + (size_t)(k + i / 16) * columns + column + i % 16 * 4);
        }
        __syncthreads();
        #pragma unroll
        for (int p = 0; p < 16; ++p) {
            const float4 q = *reinterpret_cast<const float4 *>(bs + p * 64 + x);
            const float4 u = *reinterpret_cast<const float4 *>(as + p * PITCH + y), v = *reinterpret_cast<const float4 *>(as + p * PITCH + y + 4);
            const float own[8] = {u.x, u.y, u.z, u.w, v.x, v.y, v.z, v.w};
            #pragma unroll
            for (int i = 0; i < 8; ++i) sum[i][0] += own[i] * q.x, sum[i][1] += own[i] * q.y, sum[i][2] += own[i] * q.z, sum[i][3] += own[i] * q.w;
        }
        __syncthreads();
    }
    #pragma unroll
    for (int i = 0; i < 8; ++i) {
        float value[4];
        #pragma unroll
        for (int j = 0; j < 4; ++j) {
            const float v = sum[i][j] + bias[column + x + j];
            value[j] = v / (1.0f + __expf(-1.702f * v));
        }
        *reinterpret_cast<float4 *>(out + (row + y + i) * columns + column + x) = make_float4(value[0], value[1], value[2], value[3]);
    }
}
KERNEL(128) gelu_layer_plain(const float *a, const float *b, const float *bias, float *out, int columns, int depth) { gelu_layer<64>(a, b, bias, out, columns, depth); }
KERNEL(128) gelu_layer_padded(const float *a, const float *b, const float *bias, float *out, int columns, int depth) { gelu_layer<68>(a, b, bias, out, columns, depth); }

// The widest ways of two steps (a product whose sums are maxima and whose products are minima): tiles of 64 by 64, rows of both matrices.
template <int PITCH> __device__ __forceinline__ void bottleneck(const float *a, const float *b, float *out, int columns, int depth) {
    __shared__ volatile float as[64 * PITCH], bs[64 * PITCH];
    const int x = threadIdx.x, y = threadIdx.y, t = y * 16 + x;
    const size_t row = blockIdx.y * 64, column = blockIdx.x * 64;
    float most[4][4];
    #pragma unroll
    for (int i = 0; i < 16; ++i) most[i / 4][i % 4] = -1e30f;
    #pragma unroll 1
    for (int k = 0; k < depth; k += 32) {
        #pragma unroll
        for (int i = t; i < 2048; i += 256) {
            as[i / 32 * PITCH + i % 32] = a[(row + i / 32) * depth + k + i % 32];
            bs[i / 32 * PITCH + i % 32] = b[(column + i / 32) * depth + k + i % 32];
        }
        __syncthreads();
        #pragma unroll 4
        for (int p = 0; p < 32; ++p) {
            float u[4], v[4];
            #pragma unroll
            for (int i = 0; i < 4; ++i) u[i] = as[(y + i * 16) * PITCH + p], v[i] = bs[(x + i * 16) * PITCH + p];
            #pragma unroll
            for (int i = 0; i < 16; ++i) most[i / 4][i % 4] = fmaxf(most[i / 4][i % 4], fminf(u[i / 4], v[i % 4]));
        }
        __syncthreads();
    }
    #pragma unroll
    for (int i = 0; i < 16; ++i) out[(row + y + i / 4 * 16) * columns + column + x + i % 4 * 16] = most[i / 4][i % 4];
}
KERNEL(256) bottleneck_plain(const float *a, const float *b, float *out, int columns, int depth) { bottleneck<32>(a, b, out, columns, depth); }
KERNEL(256) bottleneck_padded(const float *a, const float *b, float *out, int columns, int depth) { bottleneck<33>(a, b, out, columns, depth); }

// Sixteen heads of a token that look at a cache of latent rows of 128 halves, keys and values at once: a block 256 rows, 64 at a time.
template <int PITCH> __device__ __forceinline__ void latent_rows(const __half *queries, const __half *cache, float *out, float *totals, float scale) {
    __shared__ __align__(16) __half ks[64 * PITCH], qs[16 * 128];
    __shared__ float weights[16][64];
    const int t = threadIdx.x, key = t % 64, heads = t / 64 * 4;
    const size_t block = (size_t)blockIdx.y * gridDim.x + blockIdx.x;
    reinterpret_cast<uint4 *>(qs)[t] = reinterpret_cast<const uint4 *>(queries + (size_t)blockIdx.y * 2048)[t];
    float2 sum[4] = {};
    float total[4] = {};
    #pragma unroll 1
    for (int tile = 0; tile < 4; ++tile) {
        __syncthreads();
        #pragma unroll
        for (int i = t; i < 1024; i += 256) *reinterpret_cast<uint4 *>(ks + i / 16 * PITCH + i % 16 * 8) = *reinterpret_cast<const uint4 *>(cache + (block * 4 + tile) * 8192 + i * 8);
        __syncthreads();
        float score[4] = {};
        #pragma unroll 4
        for (int c = 0; c < 16; ++c) {
            const uint4 k = *reinterpret_cast<const uint4 *>(ks + key * PITCH + c * 8);
            const __half2 *own = reinterpret_cast<const __half2 *>(&k);
            #pragma unroll
            for (int h = 0; h < 4; ++h) {
                const uint4 q = *reinterpret_cast<const uint4 *>(qs + (heads + h) * 128 + c * 8);
                const __half2 *one = reinterpret_cast<const __half2 *>(&q);
                __half2 part = __hmul2(own[0], one[0]);
                #pragma unroll
                for (int e = 1; e < 4; ++e) part = __hfma2(own[e], one[e], part);
                const float2 f = __half22float2(part);
                score[h] += f.x + f.y;
            }
        }
        #pragma unroll
        for (int h = 0; h < 4; ++h) weights[heads + h][key] = __expf(scale * score[h]);
        __syncthreads();
        #pragma unroll 4
        for (int k = 0; k < 64; ++k) {
            const float2 f = __half22float2(*reinterpret_cast<const __half2 *>(ks + k * PITCH + key * 2));
            #pragma unroll
            for (int h = 0; h < 4; ++h) {
                const float w = weights[heads + h][k];
                sum[h].x += w * f.x, sum[h].y += w * f.y, total[h] += w;
            }
        }
    }
    #pragma unroll
    for (int h = 0; h < 4; ++h) {
        *reinterpret_cast<float2 *>(out + (block * 16 + heads + h) * 128 + key * 2) = sum[h];
        if (key == 0) totals[block * 16 + heads + h] = total[h];
    }
}
KERNEL(256) latent_rows_plain(const __half *queries, const __half *cache, float *out, float *totals, float scale) { latent_rows<128>(queries, cache, out, totals, scale); }
KERNEL(256) latent_rows_padded(const __half *queries, const __half *cache, float *out, float *totals, float scale) { latent_rows<136>(queries, cache, out, totals, scale); }
