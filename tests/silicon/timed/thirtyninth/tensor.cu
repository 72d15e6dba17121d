// Tensor cores by mma.sync and WMMA: a GEMM of halves, a WMMA GEMM, flash attention, a GEMM of TF32.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <mma.h>
#include <stdint.h>

#define CP_ASYNC16(dst, src) \
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;\n" ::"r"(smem_u32(dst)), "l"(src) : "memory")
#define CP_ASYNC_COMMIT() asm volatile("cp.async.commit_group;\n" ::: "memory")
#define CP_ASYNC_WAIT(n) asm volatile("cp.async.wait_group %0;\n" ::"n"(n) : "memory")

enum Layout { kPlain, kPadded, kSwizzled };

__device__ __forceinline__ uint32_t smem_u32(const void *p) { return (uint32_t)__cvta_generic_to_shared(p); }

__device__ __forceinline__ void ldmatrix_x4(uint32_t (&r)[4], const void *p) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];\n"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(smem_u32(p)) : "memory");
}

__device__ __forceinline__ void ldmatrix_x4_trans(uint32_t (&r)[4], const void *p) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];\n"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(smem_u32(p)) : "memory");
}

__device__ __forceinline__ void mma_16816(float (&d)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};\n"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

__device__ __forceinline__ void mma_1688_tf32(float (&d)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};\n"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

__device__ __forceinline__ uint32_t pack_half2(float lo, float hi) {
    __half2 h = __floats2half2_rn(lo, hi);
    return *reinterpret_cast<uint32_t *>(&h);
}

// ------------------------------------------------------------------------------------------------
// HGEMM, C = A * B, both row-major: 128 x 128 x 64 a block, 8 warps of 64 x 32, double buffered.
template <Layout L>
__device__ void hgemm(const half *A, const half *B, half *C, int N, int K) {
    constexpr int LDA = L == kPadded ? 72 : 64, LDB = L == kPadded ? 136 : 128;
    constexpr int STAGE = 128 * LDA + 64 * LDB;
    extern __shared__ __align__(128) half smem[];
    auto a_index = [](int row, int chunk) { return row * LDA + ((L == kSwizzled) ? (chunk ^ (row & 7)) : chunk) * 8; };
    auto b_index = [](int row, int chunk) { return 128 * LDA + row * LDB + ((L == kSwizzled) ? (chunk ^ (row & 7)) : chunk) * 8; };

    const int tid = threadIdx.x, lane = tid & 31, warp = tid >> 5;
    const int warp_m = (warp >> 2) * 64, warp_n = (warp & 3) * 32;
    A += (size_t)blockIdx.y * 128 * K;
    B += blockIdx.x * 128;

    auto load_stage = [&](int stage, int k0) {
        half *s = smem + stage * STAGE;
#pragma unroll
        for (int i = 0; i < 4; i++) {
            int id = tid + i * 256;
            CP_ASYNC16(s + a_index(id / 8, id % 8), A + (size_t)(id / 8) * K + k0 + id % 8 * 8);
            CP_ASYNC16(s + b_index(id / 16, id % 16), B + (size_t)(k0 + id / 16) * N + id % 16 * 8);
        }
        CP_ASYNC_COMMIT();
    };

    float acc[4][4][4] = {};
    load_stage(0, 0);
    int stage = 0;
    for (int k0 = 0; k0 < K; k0 += 64, stage ^= 1) {
        CP_ASYNC_WAIT(0);
        __syncthreads();
        if (k0 + 64 < K) load_stage(stage ^ 1, k0 + 64);
        const half *s = smem + stage * STAGE;
#pragma unroll
        for (int kk = 0; kk < 4; kk++) {
            uint32_t a[4][4], b[2][4];
#pragma unroll
            for (int i = 0; i < 4; i++) ldmatrix_x4(a[i], s + a_index(warp_m + i * 16 + lane % 16, kk * 2 + lane / 16));
#pragma unroll
            for (int j = 0; j < 2; j++) ldmatrix_x4_trans(b[j], s + b_index(kk * 16 + lane % 16, warp_n / 8 + j * 2 + lane / 16));
#pragma unroll
            for (int i = 0; i < 4; i++)
#pragma unroll
                for (int j = 0; j < 4; j++) mma_16816(acc[i][j], a[i], b[j / 2][j % 2 * 2], b[j / 2][j % 2 * 2 + 1]);
        }
    }
#pragma unroll
    for (int i = 0; i < 4; i++)
#pragma unroll
        for (int j = 0; j < 4; j++) {
            half *c = C + (size_t)(blockIdx.y * 128 + warp_m + i * 16 + lane / 4) * N + blockIdx.x * 128 + warp_n + j * 8 + lane % 4 * 2;
            *reinterpret_cast<half2 *>(c) = __floats2half2_rn(acc[i][j][0], acc[i][j][1]);
            *reinterpret_cast<half2 *>(c + 8 * (size_t)N) = __floats2half2_rn(acc[i][j][2], acc[i][j][3]);
        }
}

#define HGEMM(name, layout) \
    extern "C" __global__ void __launch_bounds__(256) name(const half *A, const half *B, half *C, int N, int K) { hgemm<layout>(A, B, C, N, K); }
HGEMM(hgemm_plain, kPlain)
HGEMM(hgemm_padded, kPadded)
HGEMM(hgemm_swizzled, kSwizzled)

// ------------------------------------------------------------------------------------------------
// WMMA GEMM of halves with float sums: 128 x 64 x 32 a block, 8 warps of 32 x 32, tiles by way of registers.
template <int PAD>
__device__ void wmma_gemm(const half *A, const half *B, float *C, int N, int K) {
    using namespace nvcuda::wmma;
    constexpr int LDA = 32 + PAD, LDB = 64 + PAD;
    __shared__ __align__(128) half As[128 * LDA], Bs[32 * LDB];
    const int tid = threadIdx.x, warp = tid / 32, warp_m = warp / 2 * 32, warp_n = warp % 2 * 32;
    const int bm = blockIdx.y * 128, bn = blockIdx.x * 64;

    fragment<accumulator, 16, 16, 16, float> acc[2][2];
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 2; j++) fill_fragment(acc[i][j], 0.0f);

    for (int k0 = 0; k0 < K; k0 += 32) {
        for (int i = 0; i < 2; i++) {
            int row = tid / 4 + i * 64, col = tid % 4 * 8;
            *reinterpret_cast<float4 *>(&As[row * LDA + col]) = *reinterpret_cast<const float4 *>(&A[(size_t)(bm + row) * K + k0 + col]);
        }
        *reinterpret_cast<float4 *>(&Bs[tid / 8 * LDB + tid % 8 * 8]) = *reinterpret_cast<const float4 *>(&B[(size_t)(k0 + tid / 8) * N + bn + tid % 8 * 8]);
        __syncthreads();
#pragma unroll
        for (int kk = 0; kk < 32; kk += 16) {
            fragment<matrix_a, 16, 16, 16, half, row_major> a[2];
            fragment<matrix_b, 16, 16, 16, half, row_major> b[2];
            for (int i = 0; i < 2; i++) load_matrix_sync(a[i], &As[(warp_m + i * 16) * LDA + kk], LDA);
            for (int j = 0; j < 2; j++) load_matrix_sync(b[j], &Bs[kk * LDB + warp_n + j * 16], LDB);
            for (int i = 0; i < 2; i++)
                for (int j = 0; j < 2; j++) mma_sync(acc[i][j], a[i], b[j], acc[i][j]);
        }
        __syncthreads();
    }
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 2; j++)
            store_matrix_sync(&C[(size_t)(bm + warp_m + i * 16) * N + bn + warp_n + j * 16], acc[i][j], N, mem_row_major);
}

extern "C" __global__ void __launch_bounds__(256) wmma_gemm_plain(const half *A, const half *B, float *C, int N, int K) { wmma_gemm<0>(A, B, C, N, K); }
extern "C" __global__ void __launch_bounds__(256) wmma_gemm_padded(const half *A, const half *B, float *C, int N, int K) { wmma_gemm<8>(A, B, C, N, K); }

// ------------------------------------------------------------------------------------------------
// Flash attention, heads of 64 halves: 64 queries a block of 4 warps, 64 keys and values at a time.
template <Layout L>
__device__ void flash(const half *Q, const half *K, const half *V, half *O, int seq, float scale_log2) {
    __shared__ __align__(128) half Ks[64 * 64], Vs[64 * 64];
    auto index = [](int row, int chunk) { return row * 64 + ((L == kSwizzled) ? (chunk ^ (row & 7)) : chunk) * 8; };
    const int tid = threadIdx.x, lane = tid & 31, warp = tid >> 5;
    const size_t head = (size_t)blockIdx.y * seq * 64;

    // Queries go through the keys' tile to registers.
    const half *q = Q + head + (size_t)blockIdx.x * 64 * 64;
#pragma unroll
    for (int i = 0; i < 4; i++) CP_ASYNC16(Ks + index((tid + i * 128) / 8, tid % 8), q + (tid + i * 128) * 8);
    CP_ASYNC_COMMIT();
    CP_ASYNC_WAIT(0);
    __syncthreads();
    uint32_t qf[4][4];
#pragma unroll
    for (int kk = 0; kk < 4; kk++) ldmatrix_x4(qf[kk], Ks + index(warp * 16 + lane % 16, kk * 2 + lane / 16));
    __syncthreads();

    float o[8][4] = {}, m[2] = {-1e30f, -1e30f}, l[2] = {};
    for (int start = 0; start < seq; start += 64) {
#pragma unroll
        for (int i = 0; i < 4; i++) CP_ASYNC16(Ks + index((tid + i * 128) / 8, tid % 8), K + head + (size_t)start * 64 + (tid + i * 128) * 8);
        CP_ASYNC_COMMIT();
#pragma unroll
        for (int i = 0; i < 4; i++) CP_ASYNC16(Vs + index((tid + i * 128) / 8, tid % 8), V + head + (size_t)start * 64 + (tid + i * 128) * 8);
        CP_ASYNC_COMMIT();
        CP_ASYNC_WAIT(1);
        __syncthreads();

        float s[8][4] = {};
#pragma unroll
        for (int kk = 0; kk < 4; kk++)
#pragma unroll
            for (int j = 0; j < 4; j++) {
                uint32_t b[4];
                ldmatrix_x4(b, Ks + index(j * 16 + lane / 16 * 8 + lane % 8, kk * 2 + lane / 8 % 2));
                mma_16816(s[2 * j], qf[kk], b[0], b[1]);
                mma_16816(s[2 * j + 1], qf[kk], b[2], b[3]);
            }
#pragma unroll
        for (int r = 0; r < 2; r++) {
            float top = m[r];
#pragma unroll
            for (int j = 0; j < 8; j++) top = fmaxf(top, fmaxf(s[j][2 * r], s[j][2 * r + 1]) * scale_log2);
            top = fmaxf(top, __shfl_xor_sync(0xffffffff, top, 1));
            top = fmaxf(top, __shfl_xor_sync(0xffffffff, top, 2));
            float shrink = exp2f(m[r] - top), sum = 0;
            m[r] = top;
#pragma unroll
            for (int j = 0; j < 8; j++) {
                s[j][2 * r] = exp2f(s[j][2 * r] * scale_log2 - top);
                s[j][2 * r + 1] = exp2f(s[j][2 * r + 1] * scale_log2 - top);
                sum += s[j][2 * r] + s[j][2 * r + 1];
                o[j][2 * r] *= shrink;
                o[j][2 * r + 1] *= shrink;
            }
            l[r] = l[r] * shrink + sum;
        }
        CP_ASYNC_WAIT(0);
        __syncthreads();
#pragma unroll
        for (int kk = 0; kk < 4; kk++) {
            uint32_t p[4] = {pack_half2(s[2 * kk][0], s[2 * kk][1]), pack_half2(s[2 * kk][2], s[2 * kk][3]),
                             pack_half2(s[2 * kk + 1][0], s[2 * kk + 1][1]), pack_half2(s[2 * kk + 1][2], s[2 * kk + 1][3])};
#pragma unroll
            for (int j = 0; j < 4; j++) {
                uint32_t b[4];
                ldmatrix_x4_trans(b, Vs + index(kk * 16 + lane % 16, j * 2 + lane / 16));
                mma_16816(o[2 * j], p, b[0], b[1]);
                mma_16816(o[2 * j + 1], p, b[2], b[3]);
            }
        }
        __syncthreads();
    }
#pragma unroll
    for (int r = 0; r < 2; r++) {
        l[r] += __shfl_xor_sync(0xffffffff, l[r], 1);
        l[r] += __shfl_xor_sync(0xffffffff, l[r], 2);
        half *out = O + head + (size_t)(blockIdx.x * 64 + warp * 16 + r * 8 + lane / 4) * 64 + lane % 4 * 2;
#pragma unroll
        for (int j = 0; j < 8; j++) *reinterpret_cast<half2 *>(out + j * 8) = __floats2half2_rn(o[j][2 * r] / l[r], o[j][2 * r + 1] / l[r]);
    }
}

extern "C" __global__ void __launch_bounds__(128) flash_plain(const half *Q, const half *K, const half *V, half *O, int seq, float s) { flash<kPlain>(Q, K, V, O, seq, s); }
extern "C" __global__ void __launch_bounds__(128) flash_swizzled(const half *Q, const half *K, const half *V, half *O, int seq, float s) { flash<kSwizzled>(Q, K, V, O, seq, s); }

// ------------------------------------------------------------------------------------------------
// TF32 GEMM, row-major: 64 x 64 x 32 a block, 4 warps of 32 x 32, fragments word by word from shared memory.
template <int LDA, int LDB>
__device__ void tf32_gemm(const float *A, const float *B, float *C, int N, int K) {
    __shared__ __align__(16) float As[2][64 * LDA], Bs[2][32 * LDB];
    const int tid = threadIdx.x, lane = tid & 31, warp = tid >> 5, g = lane >> 2, t = lane & 3;
    const int warp_m = (warp >> 1) * 32, warp_n = (warp & 1) * 32;
    A += (size_t)blockIdx.y * 64 * K;
    B += blockIdx.x * 64;
    auto load_stage = [&](int stage, int k0) {
#pragma unroll
        for (int i = 0; i < 4; i++) {
            int id = tid + i * 128;
            CP_ASYNC16(&As[stage][id / 8 * LDA + id % 8 * 4], A + (size_t)(id / 8) * K + k0 + id % 8 * 4);
            CP_ASYNC16(&Bs[stage][id / 16 * LDB + id % 16 * 4], B + (size_t)(k0 + id / 16) * N + id % 16 * 4);
        }
        CP_ASYNC_COMMIT();
    };
    auto word = [](float x) { return __float_as_uint(x); };
    float acc[2][4][4] = {};
    load_stage(0, 0);
    int stage = 0;
    for (int k0 = 0; k0 < K; k0 += 32, stage ^= 1) {
        CP_ASYNC_WAIT(0);
        __syncthreads();
        if (k0 + 32 < K) load_stage(stage ^ 1, k0 + 32);
        const float *a_s = As[stage], *b_s = Bs[stage];
#pragma unroll
        for (int k = 0; k < 32; k += 8) {
            uint32_t a[2][4], b[4][2];
#pragma unroll
            for (int i = 0; i < 2; i++) {
                const float *p = a_s + (warp_m + i * 16 + g) * LDA + k + t;
                a[i][0] = word(p[0]), a[i][1] = word(p[8 * LDA]), a[i][2] = word(p[4]), a[i][3] = word(p[8 * LDA + 4]);
            }
#pragma unroll
            for (int j = 0; j < 4; j++) {
                const float *p = b_s + (k + t) * LDB + warp_n + j * 8 + g;
                b[j][0] = word(p[0]), b[j][1] = word(p[4 * LDB]);
            }
#pragma unroll
            for (int i = 0; i < 2; i++)
#pragma unroll
                for (int j = 0; j < 4; j++) mma_1688_tf32(acc[i][j], a[i], b[j][0], b[j][1]);
        }
    }
#pragma unroll
    for (int i = 0; i < 2; i++)
#pragma unroll
        for (int j = 0; j < 4; j++) {
            float *c = C + (size_t)(blockIdx.y * 64 + warp_m + i * 16 + g) * N + blockIdx.x * 64 + warp_n + j * 8 + t * 2;
            *reinterpret_cast<float2 *>(c) = make_float2(acc[i][j][0], acc[i][j][1]);
            *reinterpret_cast<float2 *>(c + 8 * (size_t)N) = make_float2(acc[i][j][2], acc[i][j][3]);
        }
}

extern "C" __global__ void __launch_bounds__(128) tf32_gemm_plain(const float *A, const float *B, float *C, int N, int K) { tf32_gemm<32, 64>(A, B, C, N, K); }
extern "C" __global__ void __launch_bounds__(128) tf32_gemm_padded(const float *A, const float *B, float *C, int N, int K) { tf32_gemm<36, 72>(A, B, C, N, K); }
