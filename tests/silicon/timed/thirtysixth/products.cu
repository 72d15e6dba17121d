// Products of the thirty-sixth set: on tensor cores by four stages, of batches, with weights of bytes, attention over what came before; of floats by warps, by columns and with the
// depth split; one query over kept keys, and a vector by a matrix of bytes.
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
__device__ __forceinline__ void mma16816(float (&d)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
__device__ __forceinline__ unsigned two_halves(float x, float y) {
    __half2 h = __floats2half2_rn(x, y);
    return *reinterpret_cast<unsigned *>(&h);
}

// ---------------------------------------------------------------------------------------------------------------------
// C = A B, both by rows, halves: 128 x 128 a block, eight warps of 64 x 32, 32 of the depth a stage, four stages.
// B is turned by ldmatrix; rows of A have four chunks of sixteen bytes, those of B sixteen.
template <Tile T> struct Deep {
    static constexpr int A_PITCH = T == PADDED ? 40 : 32, B_PITCH = T == PADDED ? 136 : 128;
    static constexpr int A_HALVES = 128 * A_PITCH, STAGE = A_HALVES + 32 * B_PITCH, STAGES = 4;
    static __device__ __forceinline__ int a(int row, int chunk) { return row * A_PITCH + (T == SWIZZLED ? chunk ^ (row >> 1 & 3) : chunk) * 8; }
    static __device__ __forceinline__ int b(int row, int chunk) { return A_HALVES + row * B_PITCH + (T == SWIZZLED ? chunk ^ (row & 7) : chunk) * 8; }
};

template <Tile T> __device__ __forceinline__ void multistage(const __half *A, const __half *B, __half *C, int N, int K) {
    using At = Deep<T>;
    extern __shared__ __align__(128) __half stages[];
    const int t = threadIdx.x, lane = t % 32, warp = t / 32, wm = warp / 4, wn = warp % 4;
    const __half *from_a = A + (size_t)(blockIdx.y * 128 + t / 4) * K + t % 4 * 8;
    const __half *from_b = B + (size_t)(t / 16) * N + blockIdx.x * 128 + t % 16 * 8;
    auto fetch = [&](int n) {
        __half *to = stages + n % At::STAGES * At::STAGE;
        copy16(to + At::a(t / 4, t % 4), from_a + n * 32);
        copy16(to + At::a(t / 4 + 64, t % 4), from_a + (size_t)64 * K + n * 32);
        copy16(to + At::b(t / 16, t % 16), from_b + (size_t)n * 32 * N);
        copy16(to + At::b(t / 16 + 16, t % 16), from_b + (size_t)(n * 32 + 16) * N);
    };
    const int steps = K / 32;
    for (int n = 0; n < At::STAGES - 1; n++) {
        fetch(n);
        copies_sent();
    }
    float acc[4][4][4] = {};
#pragma unroll 1
    for (int n = 0; n < steps; n++) {
        copies_wait<At::STAGES - 2>();
        __syncthreads();
        if (n + At::STAGES - 1 < steps) fetch(n + At::STAGES - 1);
        copies_sent();
        const __half *now = stages + n % At::STAGES * At::STAGE;
#pragma unroll
        for (int kk = 0; kk < 2; kk++) {
            unsigned a[4][4], b[2][4];
#pragma unroll
            for (int i = 0; i < 4; i++) load4(a[i], now + At::a(wm * 64 + i * 16 + lane % 16, kk * 2 + lane / 16));
#pragma unroll
            for (int j = 0; j < 2; j++) load4_turned(b[j], now + At::b(kk * 16 + lane % 16, wn * 4 + j * 2 + lane / 16));
#pragma unroll
            for (int i = 0; i < 4; i++)
#pragma unroll
                for (int j = 0; j < 4; j++) mma16816(acc[i][j], a[i], b[j / 2][j % 2 * 2], b[j / 2][j % 2 * 2 + 1]);
        }
    }
    __half *to = C + (size_t)(blockIdx.y * 128 + wm * 64 + lane / 4) * N + blockIdx.x * 128 + wn * 32 + lane % 4 * 2;
#pragma unroll
    for (int i = 0; i < 4; i++)
#pragma unroll
        for (int j = 0; j < 4; j++) {
            *reinterpret_cast<unsigned *>(to + (size_t)i * 16 * N + j * 8) = two_halves(acc[i][j][0], acc[i][j][1]);
            *reinterpret_cast<unsigned *>(to + (size_t)(i * 16 + 8) * N + j * 8) = two_halves(acc[i][j][2], acc[i][j][3]);
        }
}
extern "C" __global__ void __launch_bounds__(256) multistage_plain(const __half *A, const __half *B, __half *C, int N, int K) { multistage<PLAIN>(A, B, C, N, K); }
extern "C" __global__ void __launch_bounds__(256) multistage_padded(const __half *A, const __half *B, __half *C, int N, int K) { multistage<PADDED>(A, B, C, N, K); }
extern "C" __global__ void __launch_bounds__(256) multistage_swizzled(const __half *A, const __half *B, __half *C, int N, int K) { multistage<SWIZZLED>(A, B, C, N, K); }

// ---------------------------------------------------------------------------------------------------------------------
// SGEMM by tiles of warps: 64 x 128 a block of four warps, each 32 x 64 in two parts of 32 columns, 4 x 4 results a thread and part (2 x 2 parts).
// A is stored turned; the swizzle moves a row of the turned tile by eight floats for each four of the depth.
template <Tile T> __device__ __forceinline__ void warp_tiles(const float *A, const float *B, float *C, int N, int K) {
    constexpr int BM = 64, BN = 128, BK = 16;
    __shared__ __align__(16) float As[BK][BM];
    __shared__ __align__(16) float Bs[BK][BN];
    const int t = threadIdx.x, lane = t % 32, warp = t / 32;
    const int row0 = warp / 2 * 32 + lane / 8 * 4, col0 = warp % 2 * 64 + lane % 8 * 4;
    A += (size_t)blockIdx.y * BM * K;
    B += blockIdx.x * BN;
    auto place = [](int k, int row) { return T == SWIZZLED ? row ^ (k / 4 * 8) : row; };
    float acc[2][2][4][4] = {};
    for (int k0 = 0; k0 < K; k0 += BK) {
#pragma unroll
        for (int n = 0; n < 2; n++) {
            const int r = t / 4 + n * 32, c = t % 4 * 4;
            const float4 v = *reinterpret_cast<const float4 *>(A + (size_t)r * K + k0 + c);
            As[c + 0][place(c, r)] = v.x;
            As[c + 1][place(c, r)] = v.y;
            As[c + 2][place(c, r)] = v.z;
            As[c + 3][place(c, r)] = v.w;
        }
#pragma unroll
        for (int n = 0; n < 4; n++) {
            const int r = t / 32 + n * 4, c = t % 32 * 4;
            *reinterpret_cast<float4 *>(&Bs[r][c]) = *reinterpret_cast<const float4 *>(B + (size_t)(k0 + r) * N + c);
        }
        __syncthreads();
#pragma unroll
        for (int k = 0; k < BK; k++) {
            float4 a[2], b[2];
#pragma unroll
            for (int p = 0; p < 2; p++) {
                a[p] = *reinterpret_cast<const float4 *>(&As[k][place(k, row0 + p * 16)]);
                b[p] = *reinterpret_cast<const float4 *>(&Bs[k][col0 + p * 32]);
            }
#pragma unroll
            for (int p = 0; p < 2; p++)
#pragma unroll
                for (int q = 0; q < 2; q++) {
                    const float x[4] = {a[p].x, a[p].y, a[p].z, a[p].w}, y[4] = {b[q].x, b[q].y, b[q].z, b[q].w};
#pragma unroll
                    for (int i = 0; i < 4; i++)
#pragma unroll
                        for (int j = 0; j < 4; j++) acc[p][q][i][j] += x[i] * y[j];
                }
        }
        __syncthreads();
    }
#pragma unroll
    for (int p = 0; p < 2; p++)
#pragma unroll
        for (int i = 0; i < 4; i++)
#pragma unroll
            for (int q = 0; q < 2; q++) {
                const float(&r)[4] = acc[p][q][i];
                const size_t row = (size_t)blockIdx.y * BM + row0 + p * 16 + i;
                *reinterpret_cast<float4 *>(C + row * N + blockIdx.x * BN + col0 + q * 32) = make_float4(r[0], r[1], r[2], r[3]);
            }
}
extern "C" __global__ void __launch_bounds__(128) warp_tiles_plain(const float *A, const float *B, float *C, int N, int K) { warp_tiles<PLAIN>(A, B, C, N, K); }
extern "C" __global__ void __launch_bounds__(128) warp_tiles_swizzled(const float *A, const float *B, float *C, int N, int K) { warp_tiles<SWIZZLED>(A, B, C, N, K); }

// ---------------------------------------------------------------------------------------------------------------------
// A batch of products A B' of 64 x 64 with a depth of 256, halves in, floats out, by WMMA: a block of four warps each.
template <int PAD> __device__ __forceinline__ void batch_of_squares(const __half *A, const __half *B, float *C) {
    using namespace nvcuda;
    constexpr int PITCH = 64 + PAD, K = 256;
    __shared__ __align__(128) __half As[64 * PITCH], Bs[64 * PITCH];
    const int t = threadIdx.x, warp = t / 32;
    A += (size_t)blockIdx.x * 64 * K;
    B += (size_t)blockIdx.x * 64 * K;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> sums[4];
#pragma unroll
    for (int j = 0; j < 4; j++) wmma::fill_fragment(sums[j], 0.0f);
#pragma unroll 1
    for (int k0 = 0; k0 < K; k0 += 64) {
#pragma unroll
        for (int i = t; i < 64 * 8; i += 128) {
            const int r = i / 8, c = i % 8 * 8;
            *reinterpret_cast<uint4 *>(As + r * PITCH + c) = *reinterpret_cast<const uint4 *>(A + r * K + k0 + c);
            *reinterpret_cast<uint4 *>(Bs + r * PITCH + c) = *reinterpret_cast<const uint4 *>(B + r * K + k0 + c);
        }
        __syncthreads();
#pragma unroll
        for (int k = 0; k < 64; k += 16) {
            wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> a;
            wmma::load_matrix_sync(a, As + warp * 16 * PITCH + k, PITCH);
#pragma unroll
            for (int j = 0; j < 4; j++) {
                wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::col_major> b;
                wmma::load_matrix_sync(b, Bs + j * 16 * PITCH + k, PITCH);
                wmma::mma_sync(sums[j], a, b, sums[j]);
            }
        }
        __syncthreads();
    }
    float *to = C + (size_t)blockIdx.x * 64 * 64 + warp * 16 * 64;
#pragma unroll
    for (int j = 0; j < 4; j++) wmma::store_matrix_sync(to + j * 16, sums[j], 64, wmma::mem_row_major);
}
extern "C" __global__ void __launch_bounds__(128) batch_of_squares_plain(const __half *A, const __half *B, float *C) { batch_of_squares<0>(A, B, C); }
extern "C" __global__ void __launch_bounds__(128) batch_of_squares_padded(const __half *A, const __half *B, float *C) { batch_of_squares<8>(A, B, C); }

// ---------------------------------------------------------------------------------------------------------------------
// Attention of each row over those before it, heads of 64 halves: 64 queries a block of four warps, 64 keys a turn, two buffers of keys and values.
// Queries wait in registers, weights pass from the first product to the second there too.
template <Tile T> __device__ __forceinline__ int head_chunk(int row, int chunk) { return row * 64 + (T == SWIZZLED ? chunk ^ (row & 7) : chunk) * 8; }
template <Tile T> __device__ __forceinline__ void flash_causal(const __half *Q, const __half *K, const __half *V, __half *O, int length, float scale) {
    __shared__ __align__(128) __half keys[2][64 * 64], values[2][64 * 64];
    const int t = threadIdx.x, lane = t % 32, warp = t / 32;
    const int tile = gridDim.x - 1 - blockIdx.x;  // the longest rows first
    const size_t head = (size_t)blockIdx.y * length * 64;
    auto fetch = [&](int n) {
        const size_t from = head + (size_t)n * 64 * 64;
#pragma unroll
        for (int i = 0; i < 4; i++) {
            const int r = t / 8 + i * 16, c = t % 8;
            copy16(&keys[n & 1][head_chunk<T>(r, c)], K + from + r * 64 + c * 8);
            copy16(&values[n & 1][head_chunk<T>(r, c)], V + from + r * 64 + c * 8);
        }
    };
#pragma unroll
    for (int i = 0; i < 4; i++) {
        const int r = t / 8 + i * 16, c = t % 8;
        copy16(&keys[1][head_chunk<T>(r, c)], Q + head + (size_t)(tile * 64 + r) * 64 + c * 8);
    }
    copies_sent();
    fetch(0);
    copies_sent();
    copies_wait<1>();
    __syncthreads();
    unsigned q[4][4];
#pragma unroll
    for (int kk = 0; kk < 4; kk++) load4(q[kk], &keys[1][head_chunk<T>(warp * 16 + lane % 16, kk * 2 + lane / 16)]);
    float out[8][4] = {}, most[2] = {-1e30f, -1e30f}, sum[2] = {};
    const int row = tile * 64 + warp * 16 + lane / 4;
#pragma unroll 1
    for (int n = 0; n <= tile; n++) {
        __syncthreads();
        if (n < tile) fetch(n + 1);
        copies_sent();
        copies_wait<1>();
        __syncthreads();
        float s[8][4] = {};
#pragma unroll
        for (int kk = 0; kk < 4; kk++)
#pragma unroll
            for (int j = 0; j < 4; j++) {
                unsigned b[4];
                load4(b, &keys[n & 1][head_chunk<T>(j * 16 + lane / 16 * 8 + lane % 8, kk * 2 + lane / 8 % 2)]);
                mma16816(s[j * 2], q[kk], b[0], b[1]);
                mma16816(s[j * 2 + 1], q[kk], b[2], b[3]);
            }
        if (n == tile) {
#pragma unroll
            for (int j = 0; j < 8; j++)
#pragma unroll
                for (int e = 0; e < 4; e++)
                    if (n * 64 + j * 8 + lane % 4 * 2 + e % 2 > row + e / 2 * 8) s[j][e] = -1e30f;
        }
#pragma unroll
        for (int h = 0; h < 2; h++) {
            float m = most[h];
#pragma unroll
            for (int j = 0; j < 8; j++) m = fmaxf(m, fmaxf(s[j][h * 2], s[j][h * 2 + 1]));
            m = fmaxf(m, __shfl_xor_sync(0xffffffff, m, 1));
            m = fmaxf(m, __shfl_xor_sync(0xffffffff, m, 2));
            const float shrink = exp2f((most[h] - m) * scale);
            most[h] = m;
            sum[h] *= shrink;
#pragma unroll
            for (int j = 0; j < 8; j++) {
                out[j][h * 2] *= shrink;
                out[j][h * 2 + 1] *= shrink;
                s[j][h * 2] = exp2f((s[j][h * 2] - m) * scale);
                s[j][h * 2 + 1] = exp2f((s[j][h * 2 + 1] - m) * scale);
                sum[h] += s[j][h * 2] + s[j][h * 2 + 1];
            }
        }
#pragma unroll
        for (int kk = 0; kk < 4; kk++) {
            const unsigned p[4] = {two_halves(s[kk * 2][0], s[kk * 2][1]), two_halves(s[kk * 2][2], s[kk * 2][3]), two_halves(s[kk * 2 + 1][0], s[kk * 2 + 1][1]),
                                   two_halves(s[kk * 2 + 1][2], s[kk * 2 + 1][3])};
#pragma unroll
            for (int j = 0; j < 4; j++) {
                unsigned b[4];
                load4_turned(b, &values[n & 1][head_chunk<T>(kk * 16 + lane % 16, j * 2 + lane / 16)]);
                mma16816(out[j * 2], p, b[0], b[1]);
                mma16816(out[j * 2 + 1], p, b[2], b[3]);
            }
        }
    }
#pragma unroll
    for (int h = 0; h < 2; h++) {
        sum[h] += __shfl_xor_sync(0xffffffff, sum[h], 1);
        sum[h] += __shfl_xor_sync(0xffffffff, sum[h], 2);
        const float by = 1.0f / sum[h];
        __half *to = O + head + (size_t)(row + h * 8) * 64 + lane % 4 * 2;
#pragma unroll
        for (int j = 0; j < 8; j++) *reinterpret_cast<unsigned *>(to + j * 8) = two_halves(out[j][h * 2] * by, out[j][h * 2 + 1] * by);
    }
}
extern "C" __global__ void __launch_bounds__(128, 3) flash_causal_plain(const __half *Q, const __half *K, const __half *V, __half *O, int length, float scale) {
    flash_causal<PLAIN>(Q, K, V, O, length, scale);
}
extern "C" __global__ void __launch_bounds__(128, 3) flash_causal_swizzled(const __half *Q, const __half *K, const __half *V, __half *O, int length, float scale) {
    flash_causal<SWIZZLED>(Q, K, V, O, length, scale);
}

// ---------------------------------------------------------------------------------------------------------------------
// C = A W', where weights are signed bytes with a scale a row: they become halves on the way to shared memory.
// 64 x 128 a block of four warps, each 32 x 64; 64 of the depth a step; the weights of the next step wait in registers.
__device__ __forceinline__ uint2 halves_of_bytes(unsigned four) {
    const unsigned flipped = four ^ 0x80808080u;  // 0 to 255, which the halves from 1024 on count
    const __half2 zero = __half2half2(__ushort_as_half(0x6480));
    unsigned low = __byte_perm(flipped, 0x64646464u, 0x4140), high = __byte_perm(flipped, 0x64646464u, 0x4342);
    __half2 a = __hsub2(*reinterpret_cast<__half2 *>(&low), zero), b = __hsub2(*reinterpret_cast<__half2 *>(&high), zero);
    return make_uint2(*reinterpret_cast<unsigned *>(&a), *reinterpret_cast<unsigned *>(&b));
}
template <int PAD> __device__ __forceinline__ void byte_weights(const __half *A, const signed char *W, const float *scales, __half *C, int N, int K) {
    constexpr int PITCH = 64 + PAD;
    __shared__ __align__(128) __half As[64 * PITCH], Ws[128 * PITCH];
    const int t = threadIdx.x, lane = t % 32, warp = t / 32, wm = warp / 2, wn = warp % 2;
    const __half *a_from = A + (size_t)(blockIdx.y * 64 + t / 8) * K + t % 8 * 8;
    const signed char *w_from = W + (size_t)(blockIdx.x * 128 + t / 4) * K + t % 4 * 16;
    uint4 ahead[4];
#pragma unroll
    for (int i = 0; i < 4; i++) ahead[i] = *reinterpret_cast<const uint4 *>(w_from + (size_t)i * 32 * K);
    float acc[2][8][4] = {};
#pragma unroll 1
    for (int k0 = 0; k0 < K; k0 += 64) {
        __syncthreads();
#pragma unroll
        for (int i = 0; i < 4; i++) copy16(As + (t / 8 + i * 16) * PITCH + t % 8 * 8, a_from + (size_t)i * 16 * K + k0);
        copies_sent();
#pragma unroll
        for (int i = 0; i < 4; i++) {
            const uint2 x = halves_of_bytes(ahead[i].x), y = halves_of_bytes(ahead[i].y), z = halves_of_bytes(ahead[i].z), w = halves_of_bytes(ahead[i].w);
            uint4 *to = reinterpret_cast<uint4 *>(Ws + (t / 4 + i * 32) * PITCH + t % 4 * 16);
            to[0] = make_uint4(x.x, x.y, y.x, y.y);
            to[1] = make_uint4(z.x, z.y, w.x, w.y);
        }
        if (k0 + 64 < K) {
#pragma unroll
            for (int i = 0; i < 4; i++) ahead[i] = *reinterpret_cast<const uint4 *>(w_from + (size_t)i * 32 * K + k0 + 64);
        }
        copies_wait<0>();
        __syncthreads();
#pragma unroll
        for (int kk = 0; kk < 4; kk++) {
            unsigned a[2][4], b[4][4];
#pragma unroll
            for (int i = 0; i < 2; i++) load4(a[i], As + (wm * 32 + i * 16 + lane % 16) * PITCH + kk * 16 + lane / 16 * 8);
#pragma unroll
            for (int j = 0; j < 4; j++) load4(b[j], Ws + (wn * 64 + j * 16 + lane / 16 * 8 + lane % 8) * PITCH + kk * 16 + lane / 8 % 2 * 8);
#pragma unroll
            for (int i = 0; i < 2; i++)
#pragma unroll
                for (int j = 0; j < 8; j++) mma16816(acc[i][j], a[i], b[j / 2][j % 2 * 2], b[j / 2][j % 2 * 2 + 1]);
        }
    }
#pragma unroll
    for (int j = 0; j < 8; j++) {
        const int col = blockIdx.x * 128 + wn * 64 + j * 8 + lane % 4 * 2;
        const float2 by = *reinterpret_cast<const float2 *>(scales + col);
#pragma unroll
        for (int i = 0; i < 2; i++)
#pragma unroll
            for (int h = 0; h < 2; h++) {
                const size_t row = blockIdx.y * 64 + wm * 32 + i * 16 + h * 8 + lane / 4;
                *reinterpret_cast<unsigned *>(C + row * N + col) = two_halves(acc[i][j][h * 2] * by.x, acc[i][j][h * 2 + 1] * by.y);
            }
    }
}
extern "C" __global__ void __launch_bounds__(128) byte_weights_plain(const __half *A, const signed char *W, const float *scales, __half *C, int N, int K) {
    byte_weights<0>(A, W, scales, C, N, K);
}
extern "C" __global__ void __launch_bounds__(128) byte_weights_padded(const __half *A, const signed char *W, const float *scales, __half *C, int N, int K) {
    byte_weights<8>(A, W, scales, C, N, K);
}

// ---------------------------------------------------------------------------------------------------------------------
// Floats with the depth split over the grid's third axis, sums of each part apart: 64 x 64 a block, 4 x 4 a thread, A stored turned, word by word.
template <int PAD> __device__ __forceinline__ void depth_split(const float *A, const float *B, float *parts, int M, int N, int K) {
    __shared__ __align__(16) float As[16][64 + PAD];
    __shared__ float Bs[16][64];
    const int t = threadIdx.x, tx = t % 16, ty = t / 16, row0 = blockIdx.y * 64, col0 = blockIdx.x * 64;
    const int each = K / gridDim.z, first = blockIdx.z * each;
    float acc[4][4] = {};
    for (int k0 = first; k0 < first + each; k0 += 16) {
#pragma unroll
        for (int i = 0; i < 4; i++) {
            As[t % 16][t / 16 + i * 16] = A[(size_t)(row0 + t / 16 + i * 16) * K + k0 + t % 16];
            Bs[t / 64 + i * 4][t % 64] = B[(size_t)(k0 + t / 64 + i * 4) * N + col0 + t % 64];
        }
        __syncthreads();
#pragma unroll
        for (int k = 0; k < 16; k++) {
            float a[4], b[4];
#pragma unroll
            for (int i = 0; i < 4; i++) a[i] = As[k][ty * 4 + i];
#pragma unroll
            for (int j = 0; j < 4; j++) b[j] = Bs[k][tx + j * 16];
#pragma unroll
            for (int i = 0; i < 4; i++)
#pragma unroll
                for (int j = 0; j < 4; j++) acc[i][j] = fmaf(a[i], b[j], acc[i][j]);
        }
        __syncthreads();
    }
    float *to = parts + (size_t)blockIdx.z * M * N;
#pragma unroll
    for (int i = 0; i < 4; i++)
#pragma unroll
        for (int j = 0; j < 4; j++) to[(size_t)(row0 + ty * 4 + i) * N + col0 + tx + j * 16] = acc[i][j];
}
extern "C" __global__ void __launch_bounds__(256) depth_split_plain(const float *A, const float *B, float *parts, int M, int N, int K) { depth_split<0>(A, B, parts, M, N, K); }
extern "C" __global__ void __launch_bounds__(256) depth_split_padded(const float *A, const float *B, float *parts, int M, int N, int K) { depth_split<4>(A, B, parts, M, N, K); }

// ---------------------------------------------------------------------------------------------------------------------
// The step of a tutorial where each thread holds a column of eight results: 64 x 64 a block of 512 threads, eight of the depth.
extern "C" __global__ void __launch_bounds__(512) column_of_eight(const float *A, const float *B, float *C, int N, int K) {
    __shared__ float As[64 * 8], Bs[8 * 64];
    const int t = threadIdx.x, col = t % 64, group = t / 64;
    A += (size_t)blockIdx.y * 64 * K;
    B += blockIdx.x * 64;
    C += (size_t)blockIdx.y * 64 * N + blockIdx.x * 64;
    float sums[8] = {0.0f};
    for (int k0 = 0; k0 < K; k0 += 8) {
        As[t] = A[(size_t)(t / 8) * K + t % 8];
        Bs[t] = B[(size_t)group * N + col];
        __syncthreads();
        A += 8;
        B += (size_t)8 * N;
        for (int k = 0; k < 8; k++) {
            const float b = Bs[k * 64 + col];
            for (int i = 0; i < 8; i++) sums[i] += As[(group * 8 + i) * 8 + k] * b;
        }
        __syncthreads();
    }
    for (int i = 0; i < 8; i++) C[(size_t)(group * 8 + i) * N + col] = sums[i];
}

// One new token of four query heads that share keys: a block takes 256 keys of one shared head, a warp a key at a time, four halves a lane.
// Each block writes its sums with the greatest score and the weight, to be joined by another kernel.
extern "C" __global__ void __launch_bounds__(128) decode_grouped(const __half *Q, const __half *K, const __half *V, float *out, float2 *marks, int length, float scale) {
    __shared__ float joined[4][4][128];
    __shared__ float2 warp_marks[4][4];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, head = blockIdx.y, first = blockIdx.x * 256;
    float q[4][4], sum[4][4] = {}, most[4], weight[4] = {};
#pragma unroll
    for (int g = 0; g < 4; g++) {
        const uint2 raw = reinterpret_cast<const uint2 *>(Q + ((size_t)head * 4 + g) * 128)[lane];
        const float2 a = __half22float2(*reinterpret_cast<const __half2 *>(&raw.x)), b = __half22float2(*reinterpret_cast<const __half2 *>(&raw.y));
        q[g][0] = a.x * scale, q[g][1] = a.y * scale, q[g][2] = b.x * scale, q[g][3] = b.y * scale;
        most[g] = -1e30f;
    }
    const uint2 *k_row = reinterpret_cast<const uint2 *>(K + ((size_t)head * length + first) * 128) + lane;
    const uint2 *v_row = reinterpret_cast<const uint2 *>(V + ((size_t)head * length + first) * 128) + lane;
#pragma unroll 2
    for (int n = warp; n < 256; n += 4) {
        const uint2 kr = k_row[n * 32], vr = v_row[n * 32];
        const float2 k0 = __half22float2(*reinterpret_cast<const __half2 *>(&kr.x)), k1 = __half22float2(*reinterpret_cast<const __half2 *>(&kr.y));
        const float2 v0 = __half22float2(*reinterpret_cast<const __half2 *>(&vr.x)), v1 = __half22float2(*reinterpret_cast<const __half2 *>(&vr.y));
#pragma unroll
        for (int g = 0; g < 4; g++) {
            float s = q[g][0] * k0.x + q[g][1] * k0.y + q[g][2] * k1.x + q[g][3] * k1.y;
#pragma unroll
            for (int d = 16; d > 0; d >>= 1) s += __shfl_xor_sync(0xffffffff, s, d);
            const float m = fmaxf(most[g], s), shrink = __expf(most[g] - m), w = __expf(s - m);
            most[g] = m;
            weight[g] = weight[g] * shrink + w;
            sum[g][0] = sum[g][0] * shrink + w * v0.x;
            sum[g][1] = sum[g][1] * shrink + w * v0.y;
            sum[g][2] = sum[g][2] * shrink + w * v1.x;
            sum[g][3] = sum[g][3] * shrink + w * v1.y;
        }
    }
#pragma unroll
    for (int g = 0; g < 4; g++) {
        *reinterpret_cast<float4 *>(&joined[warp][g][lane * 4]) = make_float4(sum[g][0], sum[g][1], sum[g][2], sum[g][3]);
        if (lane == 0) warp_marks[warp][g] = make_float2(most[g], weight[g]);
    }
    __syncthreads();
    for (int g = 0; g < 4; g++) {
        float m = -1e30f, total = 0.0f, o = 0.0f;
        for (int w = 0; w < 4; w++) m = fmaxf(m, warp_marks[w][g].x);
        for (int w = 0; w < 4; w++) {
            const float by = __expf(warp_marks[w][g].x - m);
            total += warp_marks[w][g].y * by;
            o += joined[w][g][threadIdx.x] * by;
        }
        const size_t at = ((size_t)head * 4 + g) * gridDim.x + blockIdx.x;
        out[at * 128 + threadIdx.x] = o;
        if (threadIdx.x == 0) marks[at] = make_float2(m, total);
    }
}

// y = W x, where W is signed bytes with a scale for each 128 of a row: two rows a warp, sixteen weights a lane and load.
extern "C" __global__ void __launch_bounds__(128) bytes_by_vector(const int4 *W, const float *scales, const float4 *x, float *y, int rows, int K) {
    const int lane = threadIdx.x % 32, row = (blockIdx.x * 4 + threadIdx.x / 32) * 2;
    if (row >= rows) return;
    const int loads = K / 16;
    float sum[2] = {0.0f, 0.0f};
    for (int i = lane; i < loads; i += 32) {
        const float4 v[4] = {x[i * 4], x[i * 4 + 1], x[i * 4 + 2], x[i * 4 + 3]};
#pragma unroll
        for (int r = 0; r < 2; r++) {
            const int4 w = W[(size_t)(row + r) * loads + i];
            const int word[4] = {w.x, w.y, w.z, w.w};
            float part = 0.0f;
#pragma unroll
            for (int e = 0; e < 4; e++) {
                const char4 c = *reinterpret_cast<const char4 *>(&word[e]);
                part += c.x * v[e].x + c.y * v[e].y + c.z * v[e].z + c.w * v[e].w;
            }
            sum[r] += part * scales[(row + r) * (K / 128) + i / 8];
        }
    }
#pragma unroll
    for (int d = 16; d > 0; d /= 2) {
        sum[0] += __shfl_down_sync(0xffffffff, sum[0], d);
        sum[1] += __shfl_down_sync(0xffffffff, sum[1], d);
    }
    if (lane == 0) *reinterpret_cast<float2 *>(y + row) = make_float2(sum[0], sum[1]);
}
