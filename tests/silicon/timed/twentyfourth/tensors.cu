// Kernels of the twenty-fourth set that multiply matrices: orthogonal updates, floats in two halves, doubles on tensor cores, pairs of halves, channels.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <mma.h>

#define KERNEL(THREADS) extern "C" __global__ void __launch_bounds__(THREADS)
#define ALL 0xffffffffu

__device__ __forceinline__ unsigned address(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }
__device__ __forceinline__ void copy16(void *to, const void *from) { asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(address(to)), "l"(from)); }
__device__ __forceinline__ void commit() { asm volatile("cp.async.commit_group;"); }
template <int LEFT> __device__ __forceinline__ void wait() { asm volatile("cp.async.wait_group %0;" ::"n"(LEFT)); }
__device__ __forceinline__ void matrices(unsigned *r, const void *p) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];" : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(address(p)) : "memory");
}
__device__ __forceinline__ void turned(unsigned *r, const void *p) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];" : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(address(p)) : "memory");
}
__device__ __forceinline__ void product_bf16(float *c, const unsigned *a, const unsigned *b) {
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
__device__ __forceinline__ void product_f64(double *c, double a, double b) {
    asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0,%1}, {%2}, {%3}, {%0,%1};" : "+d"(c[0]), "+d"(c[1]) : "d"(a), "d"(b));
}

// The orthogonal matrix nearest to each of 64 by 64 (Newton and Schulz, as Muon takes it): X = a X + (b A + c A A) X, A = X X'; a block a matrix, a
// warp sixteen rows.
template <int PITCH, bool TURNED>
__device__ __forceinline__ void times(float (*sum)[4], const __nv_bfloat16 *a, const __nv_bfloat16 *b, int lane, int warp) {
    const int i = lane / 8, r = lane % 8;
    #pragma unroll
    for (int n = 0; n < 8; ++n)
        #pragma unroll
        for (int e = 0; e < 4; ++e) sum[n][e] = 0.0f;
    #pragma unroll
    for (int p = 0; p < 4; ++p) {
        unsigned x[4], y[4];
        matrices(x, a + (warp * 16 + i % 2 * 8 + r) * PITCH + p * 16 + i / 2 * 8);
        #pragma unroll
        for (int n = 0; n < 4; ++n) {
            if (TURNED) turned(y, b + (p * 16 + i % 2 * 8 + r) * PITCH + n * 16 + i / 2 * 8);
            else matrices(y, b + (n * 16 + i / 2 * 8 + r) * PITCH + p * 16 + i % 2 * 8);
            product_bf16(sum[n * 2], x, y), product_bf16(sum[n * 2 + 1], x, y + 2);
        }
    }
}
template <int PITCH> __device__ __forceinline__ void newton_schulz(const __nv_bfloat16 *in, __nv_bfloat16 *out, int steps) {
    __shared__ __align__(16) __nv_bfloat16 xs[64 * PITCH], as[64 * PITCH], bs[64 * PITCH];
    __shared__ float parts[4];
    const int t = threadIdx.x, lane = t % 32, warp = t / 32;
    const size_t base = (size_t)blockIdx.x * 4096;
    uint4 own[4];
    float norm = 0.0f;
    #pragma unroll
    for (int p = 0; p < 4; ++p) {
        own[p] = *reinterpret_cast<const uint4 *>(in + base + (p * 128 + t) * 8);
        const __nv_bfloat162 *pairs = reinterpret_cast<const __nv_bfloat162 *>(own + p);
        #pragma unroll
        for (int e = 0; e < 4; ++e) {
            const float2 f = __bfloat1622float2(pairs[e]);
            norm += f.x * f.x + f.y * f.y;
        }
    }
    #pragma unroll
    for (int offset = 16; offset > 0; offset >>= 1) norm += __shfl_xor_sync(ALL, norm, offset);
    if (lane == 0) parts[warp] = norm;
    __syncthreads();
    const __nv_bfloat162 scale = __float2bfloat162_rn(rsqrtf(parts[0] + parts[1] + parts[2] + parts[3] + 1e-6f));
    #pragma unroll
    for (int p = 0; p < 4; ++p) {
        __nv_bfloat162 *pairs = reinterpret_cast<__nv_bfloat162 *>(own + p);
        #pragma unroll
        for (int e = 0; e < 4; ++e) pairs[e] = __hmul2(pairs[e], scale);
        *reinterpret_cast<uint4 *>(xs + (p * 16 + t / 8) * PITCH + t % 8 * 8) = own[p];
    }
    __syncthreads();
    const auto at = [&](__nv_bfloat16 *m, int n, int h) {
        return reinterpret_cast<__nv_bfloat162 *>(m + (warp * 16 + h * 8 + lane / 4) * PITCH + n * 8 + lane % 4 * 2);
    };
    float one[8][4], two[8][4];
    #pragma unroll 1
    for (int step = 0; step < steps; ++step) {
        times<PITCH, false>(one, xs, xs, lane, warp);
        #pragma unroll
        for (int n = 0; n < 8; ++n)
            #pragma unroll
            for (int h = 0; h < 2; ++h) *at(as, n, h) = __floats2bfloat162_rn(one[n][h * 2], one[n][h * 2 + 1]);
        __syncthreads();
        times<PITCH, false>(two, as, as, lane, warp);  // A is its own transpose
        #pragma unroll
        for (int n = 0; n < 8; ++n)
            #pragma unroll
            for (int h = 0; h < 2; ++h)
                *at(bs, n, h) = __floats2bfloat162_rn(-4.775f * one[n][h * 2] + 2.0315f * two[n][h * 2],
                                                      -4.775f * one[n][h * 2 + 1] + 2.0315f * two[n][h * 2 + 1]);
        __syncwarp();
        times<PITCH, true>(one, bs, xs, lane, warp);
        __syncthreads();
        #pragma unroll
        for (int n = 0; n < 8; ++n)
            #pragma unroll
            for (int h = 0; h < 2; ++h) {
                const float2 x = __bfloat1622float2(*at(xs, n, h));
                *at(xs, n, h) = __floats2bfloat162_rn(3.4445f * x.x + one[n][h * 2], 3.4445f * x.y + one[n][h * 2 + 1]);
            }
        __syncthreads();
    }
    #pragma unroll
    for (int p = 0; p < 4; ++p)
        *reinterpret_cast<uint4 *>(out + base + (p * 128 + t) * 8) = *reinterpret_cast<const uint4 *>(xs + (p * 16 + t / 8) * PITCH + t % 8 * 8);
}
KERNEL(128) newton_schulz_plain(const __nv_bfloat16 *in, __nv_bfloat16 *out, int steps) { newton_schulz<64>(in, out, steps); }
KERNEL(128) newton_schulz_padded(const __nv_bfloat16 *in, __nv_bfloat16 *out, int steps) { newton_schulz<72>(in, out, steps); }

// C = A B' of floats, each the sum of two numbers of bf16, by three products of tensor cores: 64 by 64 a block, 32 of the depth a step.
template <int PITCH> __device__ __forceinline__ void two_halves(const float *a, const float *b, float *c, int n, int depth) {
    __shared__ __align__(16) __nv_bfloat16 held[2][2][64 * PITCH];
    const int t = threadIdx.x, lane = t % 32, warp = t / 32, i = lane / 8, r = lane % 8, top = blockIdx.y * 64, left = blockIdx.x * 64;
    float4 next[2][4];
    const auto fetch = [&](int k) {
        #pragma unroll
        for (int p = 0; p < 4; ++p) {
            const int row = p * 16 + t / 8, column = k + t % 8 * 4;
            next[0][p] = __ldg(reinterpret_cast<const float4 *>(a + (size_t)(top + row) * depth + column));
            next[1][p] = __ldg(reinterpret_cast<const float4 *>(b + (size_t)(left + row) * depth + column));
        }
    };
    float sum[2][4][4] = {};
    fetch(0);
    for (int k = 0; k < depth; k += 32) {
        __syncthreads();
        #pragma unroll
        for (int m = 0; m < 2; ++m)
            #pragma unroll
            for (int p = 0; p < 4; ++p) {
                const float4 f = next[m][p];
                const __nv_bfloat162 xy = __floats2bfloat162_rn(f.x, f.y), zw = __floats2bfloat162_rn(f.z, f.w);
                const float2 x = __bfloat1622float2(xy), z = __bfloat1622float2(zw);
                __nv_bfloat162 *high = reinterpret_cast<__nv_bfloat162 *>(held[m][0] + (p * 16 + t / 8) * PITCH + t % 8 * 4);
                __nv_bfloat162 *low = reinterpret_cast<__nv_bfloat162 *>(held[m][1] + (p * 16 + t / 8) * PITCH + t % 8 * 4);
                high[0] = xy, high[1] = zw, low[0] = __floats2bfloat162_rn(f.x - x.x, f.y - x.y), low[1] = __floats2bfloat162_rn(f.z - z.x, f.w - z.y);
            }
        __syncthreads();
        if (k + 32 < depth) fetch(k + 32);
        #pragma unroll
        for (int p = 0; p < 32; p += 16) {
            unsigned x[2][2][4], y[2][2][4];
            #pragma unroll
            for (int part = 0; part < 2; ++part)
                #pragma unroll
                for (int m = 0; m < 2; ++m) {
                    matrices(x[part][m], held[0][part] + (warp / 2 * 32 + m * 16 + i % 2 * 8 + r) * PITCH + p + i / 2 * 8);
                    matrices(y[part][m], held[1][part] + (warp % 2 * 32 + m * 16 + i / 2 * 8 + r) * PITCH + p + i % 2 * 8);
                }
            #pragma unroll
            for (int m = 0; m < 2; ++m)
                #pragma unroll
                for (int q = 0; q < 4; ++q) {
                    product_bf16(sum[m][q], x[1][m], y[0][q / 2] + q % 2 * 2);
                    product_bf16(sum[m][q], x[0][m], y[1][q / 2] + q % 2 * 2);
                    product_bf16(sum[m][q], x[0][m], y[0][q / 2] + q % 2 * 2);
                }
        }
    }
    #pragma unroll
    for (int m = 0; m < 2; ++m)
        #pragma unroll
        for (int q = 0; q < 4; ++q)
            #pragma unroll
            for (int h = 0; h < 2; ++h)
                *reinterpret_cast<float2 *>(c + (size_t)(top + warp / 2 * 32 + m * 16 + h * 8 + lane / 4) * n + left + warp % 2 * 32 + q * 8 + lane % 4 * 2) =
                    make_float2(sum[m][q][h * 2], sum[m][q][h * 2 + 1]);
}
KERNEL(128) two_halves_plain(const float *a, const float *b, float *c, int n, int depth) { two_halves<32>(a, b, c, n, depth); }
KERNEL(128) two_halves_padded(const float *a, const float *b, float *c, int n, int depth) { two_halves<40>(a, b, c, n, depth); }

// C = A B of doubles on tensor cores: 64 by 64 a block, 16 of the depth a step, 32 by 32 a warp.
template <int LEFT, int RIGHT> __device__ __forceinline__ void double_tensors(const double *a, const double *b, double *c, int n, int depth) {
    __shared__ __align__(16) double as[64 * LEFT], bs[16 * RIGHT];
    const int t = threadIdx.x, lane = t % 32, warp = t / 32, top = blockIdx.y * 64, left = blockIdx.x * 64;
    double sum[4][4][2] = {};
    for (int k = 0; k < depth; k += 16) {
        __syncthreads();
        #pragma unroll
        for (int p = 0; p < 4; ++p) {
            const int row = p * 16 + t / 8, column = t % 8 * 2, deep = p * 4 + t / 32, across = t % 32 * 2;
            *reinterpret_cast<double2 *>(as + row * LEFT + column) = *reinterpret_cast<const double2 *>(a + (size_t)(top + row) * depth + k + column);
            *reinterpret_cast<double2 *>(bs + deep * RIGHT + across) = *reinterpret_cast<const double2 *>(b + (size_t)(k + deep) * n + left + across);
        }
        __syncthreads();
        #pragma unroll
        for (int p = 0; p < 16; p += 4) {
            double x[4], y[4];
            #pragma unroll
            for (int m = 0; m < 4; ++m) {
                x[m] = as[(warp / 2 * 32 + m * 8 + lane / 4) * LEFT + p + lane % 4];
                y[m] = bs[(p + lane % 4) * RIGHT + warp % 2 * 32 + m * 8 + lane / 4];
            }
            #pragma unroll
            for (int m = 0; m < 4; ++m)
                #pragma unroll
                for (int q = 0; q < 4; ++q) product_f64(sum[m][q], x[m], y[q]);
        }
    }
    #pragma unroll
    for (int m = 0; m < 4; ++m)
        #pragma unroll
        for (int q = 0; q < 4; ++q)
            *reinterpret_cast<double2 *>(c + (size_t)(top + warp / 2 * 32 + m * 8 + lane / 4) * n + left + warp % 2 * 32 + q * 8 + lane % 4 * 2) =
                make_double2(sum[m][q][0], sum[m][q][1]);
}
KERNEL(128) double_tensors_plain(const double *a, const double *b, double *c, int n, int k) { double_tensors<16, 64>(a, b, c, n, k); }
KERNEL(128) double_tensors_padded(const double *a, const double *b, double *c, int n, int k) { double_tensors<20, 68>(a, b, c, n, k); }

// C = A B of halves without tensor cores: products and sums of pairs, 64 by 64 a block, eight by four a thread; A lies turned in shared memory.
template <int PITCH> __device__ __forceinline__ void pairs_product(const __half *a, const __half *b, __half *c, int n, int depth) {
    __shared__ __align__(16) __half as[32 * PITCH], bs[32 * 64];
    const int t = threadIdx.x, across = t % 16 * 4, down = t / 16 * 8, top = blockIdx.y * 64, left = blockIdx.x * 64;
    __half2 sum[8][2];
    #pragma unroll
    for (int m = 0; m < 8; ++m) sum[m][0] = sum[m][1] = __float2half2_rn(0.0f);
    for (int k = 0; k < depth; k += 32) {
        __syncthreads();
        #pragma unroll
        for (int p = 0; p < 2; ++p) {
            const int row = p * 32 + t / 4, column = t % 4 * 8, deep = p * 16 + t / 8;
            const uint4 eight = *reinterpret_cast<const uint4 *>(a + (size_t)(top + row) * depth + k + column);
            const __half *each = reinterpret_cast<const __half *>(&eight);
            #pragma unroll
            for (int e = 0; e < 8; ++e) as[(column + e) * PITCH + row] = each[e];
            *reinterpret_cast<uint4 *>(bs + deep * 64 + t % 8 * 8) = *reinterpret_cast<const uint4 *>(b + (size_t)(k + deep) * n + left + t % 8 * 8);
        }
        __syncthreads();
        #pragma unroll 8
        for (int p = 0; p < 32; ++p) {
            const uint2 both = *reinterpret_cast<const uint2 *>(bs + p * 64 + across);
            const __half2 y = *reinterpret_cast<const __half2 *>(&both.x), z = *reinterpret_cast<const __half2 *>(&both.y);
            #pragma unroll
            for (int m = 0; m < 8; m += 2) {
                const __half2 x = *reinterpret_cast<const __half2 *>(as + p * PITCH + down + m), low = __low2half2(x), high = __high2half2(x);
                sum[m][0] = __hfma2(low, y, sum[m][0]), sum[m][1] = __hfma2(low, z, sum[m][1]);
                sum[m + 1][0] = __hfma2(high, y, sum[m + 1][0]), sum[m + 1][1] = __hfma2(high, z, sum[m + 1][1]);
            }
        }
    }
    #pragma unroll
    for (int m = 0; m < 8; ++m) {
        __half2 *to = reinterpret_cast<__half2 *>(c + (size_t)(top + down + m) * n + left + across);
        to[0] = sum[m][0], to[1] = sum[m][1];
    }
}
KERNEL(128) pairs_product_plain(const __half *a, const __half *b, __half *c, int n, int depth) { pairs_product<64>(a, b, c, n, depth); }
KERNEL(128) pairs_product_padded(const __half *a, const __half *b, __half *c, int n, int depth) { pairs_product<66>(a, b, c, n, depth); }

// A convolution of one by one over planes of halves, by WMMA: 64 channels by 128 pixels a block, 32 channels a step, the next ones on their way.
template <int LEFT, int RIGHT> __device__ __forceinline__ void pointwise(const __half *weights, const __half *in, float *out, int channels, int pixels) {
    using namespace nvcuda;
    __shared__ __align__(128) __half ws[2][64 * LEFT], xs[2][32 * RIGHT];
    const int t = threadIdx.x, warp = t / 32, left = blockIdx.x * 128, top = blockIdx.y * 64;
    in += (size_t)blockIdx.z * channels * pixels;
    const auto fetch = [&](int stage, int k) {
        copy16(ws[stage] + t / 4 * LEFT + t % 4 * 8, weights + (size_t)(top + t / 4) * channels + k + t % 4 * 8);
        #pragma unroll
        for (int p = 0; p < 2; ++p)
            copy16(xs[stage] + (p * 16 + t / 16) * RIGHT + t % 16 * 8, in + (size_t)(k + p * 16 + t / 16) * pixels + left + t % 16 * 8);
        commit();
    };
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum[2][2];
    #pragma unroll
    for (int m = 0; m < 2; ++m)
        #pragma unroll
        for (int q = 0; q < 2; ++q) wmma::fill_fragment(sum[m][q], 0.0f);
    fetch(0, 0);
    const int steps = channels / 32;
    for (int step = 0; step < steps; ++step) {
        wait<0>();
        __syncthreads();
        if (step + 1 < steps) fetch((step + 1) % 2, (step + 1) * 32);
        #pragma unroll
        for (int k = 0; k < 32; k += 16) {
            wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> x[2];
            wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::row_major> y[2];
            #pragma unroll
            for (int m = 0; m < 2; ++m) {
                wmma::load_matrix_sync(x[m], ws[step % 2] + (warp / 4 * 32 + m * 16) * LEFT + k, LEFT);
                wmma::load_matrix_sync(y[m], xs[step % 2] + k * RIGHT + warp % 4 * 32 + m * 16, RIGHT);
            }
            #pragma unroll
            for (int m = 0; m < 2; ++m)
                #pragma unroll
                for (int q = 0; q < 2; ++q) wmma::mma_sync(sum[m][q], x[m], y[q], sum[m][q]);
        }
    }
    float *to = out + ((size_t)blockIdx.z * gridDim.y * 64 + top + warp / 4 * 32) * pixels + left + warp % 4 * 32;
    #pragma unroll
    for (int m = 0; m < 2; ++m)
        #pragma unroll
        for (int q = 0; q < 2; ++q) wmma::store_matrix_sync(to + (size_t)m * 16 * pixels + q * 16, sum[m][q], pixels, wmma::mem_row_major);
}
KERNEL(256) pointwise_plain(const __half *w, const __half *in, float *out, int channels, int pixels) { pointwise<32, 128>(w, in, out, channels, pixels); }
KERNEL(256) pointwise_padded(const __half *w, const __half *in, float *out, int channels, int pixels) { pointwise<40, 136>(w, in, out, channels, pixels); }
