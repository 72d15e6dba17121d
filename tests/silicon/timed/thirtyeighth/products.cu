// Products of the thirty-eighth set, on tensor cores: six warps, sixteen warps, tfloats by WMMA, bytes without a sign, causal attention of wide heads, scores of eighty, a depth that warps
// share; and, where no layout differs, tensor cores alone.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <mma.h>

enum Tile { PLAIN, PADDED, SWIZZLED };

__device__ __forceinline__ unsigned shared_address(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }
__device__ __forceinline__ void copy16(void *to, const void *from) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared_address(to)), "l"(from) : "memory");
}
__device__ __forceinline__ void copies_sent() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int LEFT> __device__ __forceinline__ void copies_wait() { asm volatile("cp.async.wait_group %0;" ::"n"(LEFT) : "memory"); }
__device__ __forceinline__ void load4(unsigned (&r)[4], const void *p) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];" : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(shared_address(p)) : "memory");
}
__device__ __forceinline__ void load4_turned(unsigned (&r)[4], const void *p) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];" : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(shared_address(p)) : "memory");
}
__device__ __forceinline__ void mma_f16(float (&d)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
__device__ __forceinline__ void mma_bf16(float (&d)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
__device__ __forceinline__ void mma_u8_s8(int (&d)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
    asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.u8.s8.s32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                 : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
__device__ __forceinline__ unsigned two_bf16(float low, float high) {
    const __nv_bfloat162 both = __floats2bfloat162_rn(low, high);
    return *reinterpret_cast<const unsigned *>(&both);
}

// ---------------------------------------------------------------------------------------------------------------------
// C = A B of bfloat16, both by rows: 96 x 128 a block, six warps of 32 x 64, 32 of the depth a stage, four stages; ldmatrix turns B.
template <Tile T> __device__ __forceinline__ void six_warps(const __nv_bfloat16 *A, const __nv_bfloat16 *B, __nv_bfloat16 *C, int N, int K) {
    constexpr int PA = T == PADDED ? 40 : 32, PB = T == PADDED ? 136 : 128, STAGE = 96 * PA + 32 * PB, STAGES = 4;
    extern __shared__ __align__(128) __nv_bfloat16 brains[];
    auto at_a = [](int row, int chunk) { return row * PA + (T == SWIZZLED ? chunk ^ (row >> 1 & 3) : chunk) * 8; };
    auto at_b = [](int row, int chunk) { return 96 * PA + row * PB + (T == SWIZZLED ? chunk ^ (row & 7) : chunk) * 8; };
    const int t = threadIdx.x, lane = t % 32, warp = t / 32, wm = warp / 2, wn = warp % 2;
    const __nv_bfloat16 *from_a = A + (size_t)blockIdx.y * 96 * K, *from_b = B + blockIdx.x * 128;
    auto fetch = [&](int n) {
        __nv_bfloat16 *to = brains + n % STAGES * STAGE;
#pragma unroll
        for (int i = t; i < 384; i += 192) copy16(to + at_a(i / 4, i % 4), from_a + (size_t)(i / 4) * K + n * 32 + i % 4 * 8);
#pragma unroll
        for (int i = t; i < 512; i += 192) copy16(to + at_b(i / 16, i % 16), from_b + (size_t)(n * 32 + i / 16) * N + i % 16 * 8);
    };
    const int steps = K / 32;
    for (int n = 0; n < STAGES - 1; n++) {
        fetch(n);
        copies_sent();
    }
    float acc[2][8][4] = {};
#pragma unroll 1
    for (int n = 0; n < steps; n++) {
        copies_wait<STAGES - 2>();
        __syncthreads();
        if (n + STAGES - 1 < steps) fetch(n + STAGES - 1);
        copies_sent();
        const __nv_bfloat16 *now = brains + n % STAGES * STAGE;
#pragma unroll
        for (int kk = 0; kk < 2; kk++) {
            unsigned a[2][4], b[4][4];
#pragma unroll
            for (int i = 0; i < 2; i++) load4(a[i], now + at_a(wm * 32 + i * 16 + lane % 16, kk * 2 + lane / 16));
#pragma unroll
            for (int j = 0; j < 4; j++) load4_turned(b[j], now + at_b(kk * 16 + lane % 16, wn * 8 + j * 2 + lane / 16));
#pragma unroll
            for (int i = 0; i < 2; i++)
#pragma unroll
                for (int j = 0; j < 8; j++) mma_bf16(acc[i][j], a[i], b[j / 2][j % 2 * 2], b[j / 2][j % 2 * 2 + 1]);
        }
    }
    __nv_bfloat16 *to = C + (size_t)(blockIdx.y * 96 + wm * 32 + lane / 4) * N + blockIdx.x * 128 + wn * 64 + lane % 4 * 2;
#pragma unroll
    for (int i = 0; i < 2; i++)
#pragma unroll
        for (int j = 0; j < 8; j++) {
            *reinterpret_cast<unsigned *>(to + (size_t)i * 16 * N + j * 8) = two_bf16(acc[i][j][0], acc[i][j][1]);
            *reinterpret_cast<unsigned *>(to + (size_t)(i * 16 + 8) * N + j * 8) = two_bf16(acc[i][j][2], acc[i][j][3]);
        }
}
extern "C" __global__ void __launch_bounds__(192) six_warps_plain(const __nv_bfloat16 *A, const __nv_bfloat16 *B, __nv_bfloat16 *C, int N, int K) { six_warps<PLAIN>(A, B, C, N, K); }
extern "C" __global__ void __launch_bounds__(192) six_warps_padded(const __nv_bfloat16 *A, const __nv_bfloat16 *B, __nv_bfloat16 *C, int N, int K) { six_warps<PADDED>(A, B, C, N, K); }
extern "C" __global__ void __launch_bounds__(192) six_warps_swizzled(const __nv_bfloat16 *A, const __nv_bfloat16 *B, __nv_bfloat16 *C, int N, int K) { six_warps<SWIZZLED>(A, B, C, N, K); }

// ---------------------------------------------------------------------------------------------------------------------
// C = A B' of halves by few large blocks: 256 x 128 a block, sixteen warps of 64 x 32, 64 of the depth a stage, three stages, so that a multiprocessor has one block.
template <bool TURNED> __device__ __forceinline__ void sixteen_warps(const __half *A, const __half *B, __half *C, int N, int K) {
    constexpr int STAGE = 384 * 64, STAGES = 3;
    extern __shared__ __align__(128) __half halves[];
    auto at = [](int row, int chunk) { return row * 64 + (TURNED ? chunk ^ (row & 7) : chunk) * 8; };
    const int t = threadIdx.x, lane = t % 32, warp = t / 32, wm = warp / 4, wn = warp % 4, row = t / 8, chunk = t % 8;
    const __half *from_a = A + (size_t)(blockIdx.y * 256 + row) * K + chunk * 8, *from_b = B + (size_t)(blockIdx.x * 128 + row) * K + chunk * 8;
    auto fetch = [&](int n) {
        __half *to = halves + n % STAGES * STAGE;
#pragma unroll
        for (int i = 0; i < 4; i++) copy16(to + at(row + i * 64, chunk), from_a + (size_t)i * 64 * K + n * 64);
#pragma unroll
        for (int i = 0; i < 2; i++) copy16(to + at(256 + row + i * 64, chunk), from_b + (size_t)i * 64 * K + n * 64);
    };
    const int steps = K / 64;
    for (int n = 0; n < STAGES - 1; n++) {
        fetch(n);
        copies_sent();
    }
    float acc[4][4][4] = {};
#pragma unroll 1
    for (int n = 0; n < steps; n++) {
        copies_wait<STAGES - 2>();
        __syncthreads();
        if (n + STAGES - 1 < steps) fetch(n + STAGES - 1);
        copies_sent();
        const __half *now = halves + n % STAGES * STAGE;
#pragma unroll
        for (int kk = 0; kk < 4; kk++) {
            unsigned a[4], b[2][4];
#pragma unroll
            for (int j = 0; j < 2; j++) load4(b[j], now + at(256 + wn * 32 + j * 16 + lane / 16 * 8 + lane % 8, kk * 2 + lane / 8 % 2));
#pragma unroll
            for (int i = 0; i < 4; i++) {
                load4(a, now + at(wm * 64 + i * 16 + lane % 16, kk * 2 + lane / 16));
#pragma unroll
                for (int j = 0; j < 4; j++) mma_f16(acc[i][j], a, b[j / 2][j % 2 * 2], b[j / 2][j % 2 * 2 + 1]);
            }
        }
    }
    __half *to = C + (size_t)(blockIdx.y * 256 + wm * 64 + lane / 4) * N + blockIdx.x * 128 + wn * 32 + lane % 4 * 2;
#pragma unroll
    for (int i = 0; i < 4; i++)
#pragma unroll
        for (int j = 0; j < 4; j++) {
            *reinterpret_cast<__half2 *>(to + (size_t)i * 16 * N + j * 8) = __floats2half2_rn(acc[i][j][0], acc[i][j][1]);
            *reinterpret_cast<__half2 *>(to + (size_t)(i * 16 + 8) * N + j * 8) = __floats2half2_rn(acc[i][j][2], acc[i][j][3]);
        }
}
extern "C" __global__ void __launch_bounds__(512) sixteen_warps_plain(const __half *A, const __half *B, __half *C, int N, int K) { sixteen_warps<false>(A, B, C, N, K); }
extern "C" __global__ void __launch_bounds__(512) sixteen_warps_swizzled(const __half *A, const __half *B, __half *C, int N, int K) { sixteen_warps<true>(A, B, C, N, K); }

// ---------------------------------------------------------------------------------------------------------------------
// C = A B of floats as tfloats by WMMA: 64 x 64 a block, four warps of 32 x 32, 32 of the depth a stage, two stages. Padding widens rows by four.
template <int PAD> __device__ __forceinline__ void wmma_tfloats(const float *A, const float *B, float *C, int N, int K) {
    using namespace nvcuda;
    constexpr int PA = 32 + PAD, PB = 64 + PAD;
    __shared__ __align__(128) float as[2][64 * PA], bs[2][32 * PB];
    const int t = threadIdx.x, warp = t / 32, wm = warp / 2, wn = warp % 2;
    const float *from_a = A + (size_t)(blockIdx.y * 64 + t / 8) * K + t % 8 * 4, *from_b = B + (size_t)(t / 16) * N + blockIdx.x * 64 + t % 16 * 4;
    auto fetch = [&](int n) {
#pragma unroll
        for (int i = 0; i < 4; i++) {
            copy16(as[n & 1] + (t / 8 + i * 16) * PA + t % 8 * 4, from_a + (size_t)i * 16 * K + n * 32);
            copy16(bs[n & 1] + (t / 16 + i * 8) * PB + t % 16 * 4, from_b + (size_t)(n * 32 + i * 8) * N);
        }
        copies_sent();
    };
    wmma::fragment<wmma::accumulator, 16, 16, 8, float> acc[2][2];
#pragma unroll
    for (int i = 0; i < 4; i++) wmma::fill_fragment(acc[i / 2][i % 2], 0.0f);
    fetch(0);
    const int steps = K / 32;
#pragma unroll 1
    for (int n = 0; n < steps; n++) {
        copies_wait<0>();
        __syncthreads();
        if (n + 1 < steps) fetch(n + 1);
#pragma unroll
        for (int k = 0; k < 32; k += 8) {
            wmma::fragment<wmma::matrix_a, 16, 16, 8, wmma::precision::tf32, wmma::row_major> a[2];
            wmma::fragment<wmma::matrix_b, 16, 16, 8, wmma::precision::tf32, wmma::row_major> b[2];
#pragma unroll
            for (int i = 0; i < 2; i++) {
                wmma::load_matrix_sync(a[i], as[n & 1] + (wm * 32 + i * 16) * PA + k, PA);
                wmma::load_matrix_sync(b[i], bs[n & 1] + k * PB + wn * 32 + i * 16, PB);
#pragma unroll
                for (int e = 0; e < a[i].num_elements; e++) a[i].x[e] = wmma::__float_to_tf32(a[i].x[e]);
#pragma unroll
                for (int e = 0; e < b[i].num_elements; e++) b[i].x[e] = wmma::__float_to_tf32(b[i].x[e]);
            }
#pragma unroll
            for (int i = 0; i < 4; i++) wmma::mma_sync(acc[i / 2][i % 2], a[i / 2], b[i % 2], acc[i / 2][i % 2]);
        }
    }
#pragma unroll
    for (int i = 0; i < 4; i++)
        wmma::store_matrix_sync(C + (size_t)(blockIdx.y * 64 + wm * 32 + i / 2 * 16) * N + blockIdx.x * 64 + wn * 32 + i % 2 * 16, acc[i / 2][i % 2], N, wmma::mem_row_major);
}
extern "C" __global__ void __launch_bounds__(128) wmma_tfloats_plain(const float *A, const float *B, float *C, int N, int K) { wmma_tfloats<0>(A, B, C, N, K); }
extern "C" __global__ void __launch_bounds__(128) wmma_tfloats_padded(const float *A, const float *B, float *C, int N, int K) { wmma_tfloats<4>(A, B, C, N, K); }

// ---------------------------------------------------------------------------------------------------------------------
// C = scale (A - zero) B' of bytes without a sign by bytes with one; sums of B's rows take the zero off. 64 x 128 a block, eight warps of 32 x 32, 128 of the depth a stage, two stages.
template <bool TURNED>
__device__ __forceinline__ void unsigned_bytes(const unsigned char *A, const signed char *B, float *C, const int *sums, int N, int K, int zero, float scale) {
    __shared__ __align__(128) unsigned char stages[2][192 * 128];
    auto at = [](int row, int chunk) { return row * 128 + (TURNED ? chunk ^ (row & 7) : chunk) * 16; };
    const int t = threadIdx.x, lane = t % 32, warp = t / 32, wm = warp / 4, wn = warp % 4, row = t / 8, chunk = t % 8;
    const unsigned char *from_a = A + (size_t)(blockIdx.y * 64 + row) * K + chunk * 16;
    const signed char *from_b = B + (size_t)(blockIdx.x * 128 + row) * K + chunk * 16;
    auto fetch = [&](int n) {
#pragma unroll
        for (int i = 0; i < 2; i++) copy16(stages[n & 1] + at(row + i * 32, chunk), from_a + (size_t)i * 32 * K + n * 128);
#pragma unroll
        for (int i = 0; i < 4; i++) copy16(stages[n & 1] + at(64 + row + i * 32, chunk), from_b + (size_t)i * 32 * K + n * 128);
        copies_sent();
    };
    int acc[2][4][4] = {};
    fetch(0);
    const int steps = K / 128;
#pragma unroll 1
    for (int n = 0; n < steps; n++) {
        copies_wait<0>();
        __syncthreads();
        if (n + 1 < steps) fetch(n + 1);
        const unsigned char *now = stages[n & 1];
#pragma unroll
        for (int kk = 0; kk < 4; kk++) {
            unsigned a[2][4], b[2][4];
#pragma unroll
            for (int i = 0; i < 2; i++) {
                load4(a[i], now + at(wm * 32 + i * 16 + lane % 16, kk * 2 + lane / 16));
                load4(b[i], now + at(64 + wn * 32 + i * 16 + lane / 16 * 8 + lane % 8, kk * 2 + lane / 8 % 2));
            }
#pragma unroll
            for (int i = 0; i < 2; i++)
#pragma unroll
                for (int j = 0; j < 4; j++) mma_u8_s8(acc[i][j], a[i], b[j / 2][j % 2 * 2], b[j / 2][j % 2 * 2 + 1]);
        }
    }
#pragma unroll
    for (int j = 0; j < 4; j++) {
        const int column = blockIdx.x * 128 + wn * 32 + j * 8 + lane % 4 * 2, off0 = zero * sums[column], off1 = zero * sums[column + 1];
#pragma unroll
        for (int i = 0; i < 2; i++)
#pragma unroll
            for (int h = 0; h < 2; h++)
                *reinterpret_cast<float2 *>(C + (size_t)(blockIdx.y * 64 + wm * 32 + i * 16 + h * 8 + lane / 4) * N + column) =
                    make_float2(scale * (acc[i][j][h * 2] - off0), scale * (acc[i][j][h * 2 + 1] - off1));
    }
}
extern "C" __global__ void __launch_bounds__(256) unsigned_bytes_plain(const unsigned char *A, const signed char *B, float *C, const int *sums, int N, int K, int zero, float scale) {
    unsigned_bytes<false>(A, B, C, sums, N, K, zero, scale);
}
extern "C" __global__ void __launch_bounds__(256) unsigned_bytes_swizzled(const unsigned char *A, const signed char *B, float *C, const int *sums, int N, int K, int zero, float scale) {
    unsigned_bytes<true>(A, B, C, sums, N, K, zero, scale);
}

// ---------------------------------------------------------------------------------------------------------------------
// Causal attention of heads of 128, bfloat16: 64 queries a block of four warps, 64 keys a turn, keys and values of the next turn are on their way meanwhile. Long rows go first.
template <bool TURNED>
__device__ __forceinline__ void causal_wide_heads(const __nv_bfloat16 *Q, const __nv_bfloat16 *K, const __nv_bfloat16 *V, __nv_bfloat16 *O, int length, float scale) {
    constexpr int TILE = 64 * 128;
    extern __shared__ __align__(128) __nv_bfloat16 room[];
    auto at = [](int row, int chunk) { return row * 128 + (TURNED ? chunk ^ (row & 7) : chunk) * 8; };
    const int t = threadIdx.x, lane = t % 32, warp = t / 32, tile = gridDim.x - 1 - blockIdx.x;
    const size_t head = (size_t)blockIdx.y * length * 128;
    auto bring = [&](__nv_bfloat16 *to, const __nv_bfloat16 *from) {
#pragma unroll
        for (int i = t; i < 1024; i += 128) copy16(to + at(i / 16, i % 16), from + i * 8);
    };
    auto fetch = [&](int n) {
        bring(room + TILE * (1 + (n & 1) * 2), K + head + (size_t)n * TILE);
        bring(room + TILE * (2 + (n & 1) * 2), V + head + (size_t)n * TILE);
        copies_sent();
    };
    bring(room, Q + head + (size_t)tile * TILE);
    fetch(0);
    unsigned q[8][4];
    float o[16][4] = {}, most[2] = {-1e30f, -1e30f}, total[2] = {};
#pragma unroll 1
    for (int n = 0; n <= tile; n++) {
        copies_wait<0>();
        __syncthreads();
        if (n < tile) fetch(n + 1);
        if (n == 0) {
#pragma unroll
            for (int kk = 0; kk < 8; kk++) load4(q[kk], room + at(warp * 16 + lane % 16, kk * 2 + lane / 16));
        }
        const __nv_bfloat16 *keys = room + TILE * (1 + (n & 1) * 2), *values = keys + TILE;
        float s[8][4] = {};
#pragma unroll
        for (int kk = 0; kk < 8; kk++)
#pragma unroll
            for (int j = 0; j < 4; j++) {
                unsigned b[4];
                load4(b, keys + at(j * 16 + lane / 16 * 8 + lane % 8, kk * 2 + lane / 8 % 2));
                mma_bf16(s[j * 2], q[kk], b[0], b[1]);
                mma_bf16(s[j * 2 + 1], q[kk], b[2], b[3]);
            }
#pragma unroll
        for (int h = 0; h < 2; h++) {
            float m = most[h], sum = 0.0f;
#pragma unroll
            for (int j = 0; j < 8; j++)
#pragma unroll
                for (int e = h * 2; e < h * 2 + 2; e++) {
                    const bool later = n == tile && j * 8 + lane % 4 * 2 + e % 2 > warp * 16 + lane / 4 + h * 8;
                    s[j][e] = later ? -1e30f : s[j][e] * scale;
                    m = fmaxf(m, s[j][e]);
                }
            m = fmaxf(m, __shfl_xor_sync(0xffffffff, m, 1));
            m = fmaxf(m, __shfl_xor_sync(0xffffffff, m, 2));
#pragma unroll
            for (int j = 0; j < 8; j++)
#pragma unroll
                for (int e = h * 2; e < h * 2 + 2; e++) sum += s[j][e] = exp2f(s[j][e] - m);
            const float by = exp2f(most[h] - m);
            most[h] = m;
            total[h] = total[h] * by + sum;
#pragma unroll
            for (int j = 0; j < 16; j++) o[j][h * 2] *= by, o[j][h * 2 + 1] *= by;
        }
#pragma unroll
        for (int kk = 0; kk < 4; kk++) {
            const unsigned p[4] = {two_bf16(s[kk * 2][0], s[kk * 2][1]), two_bf16(s[kk * 2][2], s[kk * 2][3]), two_bf16(s[kk * 2 + 1][0], s[kk * 2 + 1][1]),
                                   two_bf16(s[kk * 2 + 1][2], s[kk * 2 + 1][3])};
#pragma unroll
            for (int j = 0; j < 8; j++) {
                unsigned b[4];
                load4_turned(b, values + at(kk * 16 + lane % 16, j * 2 + lane / 16));
                mma_bf16(o[j * 2], p, b[0], b[1]);
                mma_bf16(o[j * 2 + 1], p, b[2], b[3]);
            }
        }
    }
#pragma unroll
    for (int h = 0; h < 2; h++) {
        float sum = total[h] + __shfl_xor_sync(0xffffffff, total[h], 1);
        sum += __shfl_xor_sync(0xffffffff, sum, 2);
        __nv_bfloat16 *to = O + head + (size_t)(tile * 64 + warp * 16 + h * 8 + lane / 4) * 128 + lane % 4 * 2;
#pragma unroll
        for (int j = 0; j < 16; j++) *reinterpret_cast<unsigned *>(to + j * 8) = two_bf16(o[j][h * 2] / sum, o[j][h * 2 + 1] / sum);
    }
}
extern "C" __global__ void __launch_bounds__(128) causal_wide_heads_plain(const __nv_bfloat16 *Q, const __nv_bfloat16 *K, const __nv_bfloat16 *V, __nv_bfloat16 *O, int length, float scale) {
    causal_wide_heads<false>(Q, K, V, O, length, scale);
}
extern "C" __global__ void __launch_bounds__(128) causal_wide_heads_swizzled(const __nv_bfloat16 *Q, const __nv_bfloat16 *K, const __nv_bfloat16 *V, __nv_bfloat16 *O, int length, float scale) {
    causal_wide_heads<true>(Q, K, V, O, length, scale);
}

// ---------------------------------------------------------------------------------------------------------------------
// Scores S = scale Q K' of heads of eighty, halves: 128 x 64 a block, eight warps of 32 x 32, the whole depth at once. Rows of eighty halves are two-way, of 88 none.
template <int PITCH> __device__ __forceinline__ void scores_of_eighty(const __half *Q, const __half *K, __half *S, int length, float scale) {
    __shared__ __align__(128) __half tile[192 * PITCH];
    const int t = threadIdx.x, lane = t % 32, warp = t / 32, wm = warp / 2, wn = warp % 2;
    const __half *from_q = Q + ((size_t)blockIdx.z * length + blockIdx.y * 128) * 80, *from_k = K + ((size_t)blockIdx.z * length + blockIdx.x * 64) * 80;
#pragma unroll
    for (int i = t; i < 1920; i += 256) copy16(tile + i / 10 * PITCH + i % 10 * 8, i < 1280 ? from_q + i * 8 : from_k + (i - 1280) * 8);
    copies_sent();
    copies_wait<0>();
    __syncthreads();
    float acc[2][4][4] = {};
#pragma unroll
    for (int kk = 0; kk < 5; kk++) {
        unsigned a[2][4], b[2][4];
#pragma unroll
        for (int i = 0; i < 2; i++) {
            load4(a[i], tile + (wm * 32 + i * 16 + lane % 16) * PITCH + (kk * 2 + lane / 16) * 8);
            load4(b[i], tile + (128 + wn * 32 + i * 16 + lane / 16 * 8 + lane % 8) * PITCH + (kk * 2 + lane / 8 % 2) * 8);
        }
#pragma unroll
        for (int i = 0; i < 2; i++)
#pragma unroll
            for (int j = 0; j < 4; j++) mma_f16(acc[i][j], a[i], b[j / 2][j % 2 * 2], b[j / 2][j % 2 * 2 + 1]);
    }
    __half *to = S + ((size_t)blockIdx.z * length + blockIdx.y * 128 + wm * 32 + lane / 4) * length + blockIdx.x * 64 + wn * 32 + lane % 4 * 2;
#pragma unroll
    for (int i = 0; i < 4; i++)
#pragma unroll
        for (int j = 0; j < 4; j++)
            *reinterpret_cast<__half2 *>(to + (size_t)i * 8 * length + j * 8) = __floats2half2_rn(scale * acc[i / 2][j][i % 2 * 2], scale * acc[i / 2][j][i % 2 * 2 + 1]);
}
extern "C" __global__ void __launch_bounds__(256) scores_of_eighty_plain(const __half *Q, const __half *K, __half *S, int length, float scale) { scores_of_eighty<80>(Q, K, S, length, scale); }
extern "C" __global__ void __launch_bounds__(256) scores_of_eighty_padded(const __half *Q, const __half *K, __half *S, int length, float scale) { scores_of_eighty<88>(Q, K, S, length, scale); }
