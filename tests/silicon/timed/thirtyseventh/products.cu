// Products of the thirty-seventh set, on tensor cores: sums of halves, both matrices by depth, floats as three products of tfloats, bytes with the depth split and added up by atomics,
// attention as a first version by WMMA; and, where no layout differs, a persistent loop.
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
__device__ __forceinline__ void mma_halves(unsigned (&d)[2], const unsigned (&a)[4], unsigned b0, unsigned b1) {
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%0,%1}, {%2,%3,%4,%5}, {%6,%7}, {%0,%1};"
                 : "+r"(d[0]), "+r"(d[1])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
__device__ __forceinline__ void mma_bf16(float (&d)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
__device__ __forceinline__ void mma_tf32(float (&d)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
__device__ __forceinline__ void mma_s8(int (&d)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
    asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                 : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

// ---------------------------------------------------------------------------------------------------------------------
// C = A B' of halves with sums of halves, as inference asks of consumer cards: 128 x 128 a block, eight warps of 64 x 32, 64 of the depth a stage, three stages.
template <Tile T> struct Rows64 {
    static constexpr int PITCH = T == PADDED ? 72 : 64;
    static __device__ __forceinline__ int at(int row, int chunk) { return row * PITCH + (T == SWIZZLED ? chunk ^ (row & 7) : chunk) * 8; }
};
template <Tile T> __device__ __forceinline__ void half_sums_tile(const __half *A, const __half *B, __half *C, int N, int K, int tile_row, int tile_col, __half *stages) {
    using R = Rows64<T>;
    constexpr int STAGE = 256 * R::PITCH, STAGES = 3;
    const int t = threadIdx.x, lane = t % 32, warp = t / 32, wm = warp / 4, wn = warp % 4;
    const __half *from_a = A + (size_t)(tile_row * 128 + t / 8) * K + t % 8 * 8;
    const __half *from_b = B + (size_t)(tile_col * 128 + t / 8) * K + t % 8 * 8;
    auto fetch = [&](int n) {
        __half *to = stages + n % STAGES * STAGE;
#pragma unroll
        for (int i = 0; i < 4; i++) {
            copy16(to + R::at(t / 8 + i * 32, t % 8), from_a + (size_t)i * 32 * K + n * 64);
            copy16(to + R::at(128 + t / 8 + i * 32, t % 8), from_b + (size_t)i * 32 * K + n * 64);
        }
    };
    const int steps = K / 64;
    for (int n = 0; n < STAGES - 1; n++) {
        fetch(n);
        copies_sent();
    }
    unsigned acc[4][4][2] = {};
#pragma unroll 1
    for (int n = 0; n < steps; n++) {
        copies_wait<STAGES - 2>();
        __syncthreads();
        if (n + STAGES - 1 < steps) fetch(n + STAGES - 1);
        copies_sent();
        const __half *now = stages + n % STAGES * STAGE;
#pragma unroll
        for (int kk = 0; kk < 4; kk++) {
            unsigned a[4][4], b[2][4];
#pragma unroll
            for (int i = 0; i < 4; i++) load4(a[i], now + R::at(wm * 64 + i * 16 + lane % 16, kk * 2 + lane / 16));
#pragma unroll
            for (int j = 0; j < 2; j++) load4(b[j], now + R::at(128 + wn * 32 + j * 16 + lane / 16 * 8 + lane % 8, kk * 2 + lane / 8 % 2));
#pragma unroll
            for (int i = 0; i < 4; i++)
#pragma unroll
                for (int j = 0; j < 4; j++) mma_halves(acc[i][j], a[i], b[j / 2][j % 2 * 2], b[j / 2][j % 2 * 2 + 1]);
        }
    }
    __half *to = C + (size_t)(tile_row * 128 + wm * 64 + lane / 4) * N + tile_col * 128 + wn * 32 + lane % 4 * 2;
#pragma unroll
    for (int i = 0; i < 4; i++)
#pragma unroll
        for (int j = 0; j < 4; j++) {
            *reinterpret_cast<unsigned *>(to + (size_t)i * 16 * N + j * 8) = acc[i][j][0];
            *reinterpret_cast<unsigned *>(to + (size_t)(i * 16 + 8) * N + j * 8) = acc[i][j][1];
        }
}
template <Tile T> __device__ __forceinline__ void half_sums(const __half *A, const __half *B, __half *C, int N, int K) {
    extern __shared__ __align__(128) __half stages[];
    half_sums_tile<T>(A, B, C, N, K, blockIdx.y, blockIdx.x, stages);
}
extern "C" __global__ void __launch_bounds__(256) half_sums_plain(const __half *A, const __half *B, __half *C, int N, int K) { half_sums<PLAIN>(A, B, C, N, K); }
extern "C" __global__ void __launch_bounds__(256) half_sums_padded(const __half *A, const __half *B, __half *C, int N, int K) { half_sums<PADDED>(A, B, C, N, K); }
extern "C" __global__ void __launch_bounds__(256) half_sums_swizzled(const __half *A, const __half *B, __half *C, int N, int K) { half_sums<SWIZZLED>(A, B, C, N, K); }

// The same product by blocks that stay and take one tile after another, eight rows of tiles at a time for the L2.
extern "C" __global__ void __launch_bounds__(256) persistent_sums(const __half *A, const __half *B, __half *C, int tile_rows, int tile_cols, int K) {
    extern __shared__ __align__(128) __half stages[];
    for (int n = blockIdx.x; n < tile_rows * tile_cols; n += gridDim.x) {
        const int first = n / (8 * tile_cols) * 8, high = min(8, tile_rows - first), within = n - first * tile_cols;
        half_sums_tile<SWIZZLED>(A, B, C, tile_cols * 128, K, first + within % high, within / high, stages);
        __syncthreads();  // no stage is filled anew while a warp reads it
    }
}

// ---------------------------------------------------------------------------------------------------------------------
// C = A' B of bfloat16, both by depth as a weight's gradient has them: 64 x 64 a block of four warps, 32 of the depth a stage, four stages; ldmatrix turns both.
template <Tile T> __device__ __forceinline__ void both_by_depth(const __nv_bfloat16 *A, const __nv_bfloat16 *B, float *C, int M, int N, int K) {
    using R = Rows64<T>;
    constexpr int STAGES = 4, HALF = 32 * 64;
    __shared__ __align__(128) __nv_bfloat16 stages[STAGES][2 * HALF];
    const int t = threadIdx.x, lane = t % 32, warp = t / 32, wm = warp / 2, wn = warp % 2;
    const __nv_bfloat16 *from_a = A + (size_t)(t / 8) * M + blockIdx.y * 64 + t % 8 * 8, *from_b = B + (size_t)(t / 8) * N + blockIdx.x * 64 + t % 8 * 8;
    auto fetch = [&](int n) {
        __nv_bfloat16 *to = stages[n % STAGES];
#pragma unroll
        for (int i = 0; i < 2; i++) {
            copy16(to + R::at(t / 8 + i * 16, t % 8), from_a + (size_t)(n * 32 + i * 16) * M);
            copy16(to + HALF + R::at(t / 8 + i * 16, t % 8), from_b + (size_t)(n * 32 + i * 16) * N);
        }
    };
    const int steps = K / 32;
    for (int n = 0; n < STAGES - 1; n++) {
        fetch(n);
        copies_sent();
    }
    float acc[2][4][4] = {};
#pragma unroll 1
    for (int n = 0; n < steps; n++) {
        copies_wait<STAGES - 2>();
        __syncthreads();
        if (n + STAGES - 1 < steps) fetch(n + STAGES - 1);
        copies_sent();
        const __nv_bfloat16 *now = stages[n % STAGES];
#pragma unroll
        for (int kk = 0; kk < 2; kk++) {
            unsigned a[2][4], b[2][4];
#pragma unroll
            for (int i = 0; i < 2; i++) load4_turned(a[i], now + R::at(kk * 16 + lane / 16 * 8 + lane % 8, wm * 4 + i * 2 + lane / 8 % 2));
#pragma unroll
            for (int j = 0; j < 2; j++) load4_turned(b[j], now + HALF + R::at(kk * 16 + lane % 16, wn * 4 + j * 2 + lane / 16));
#pragma unroll
            for (int i = 0; i < 2; i++)
#pragma unroll
                for (int j = 0; j < 4; j++) mma_bf16(acc[i][j], a[i], b[j / 2][j % 2 * 2], b[j / 2][j % 2 * 2 + 1]);
        }
    }
    float *to = C + (size_t)(blockIdx.y * 64 + wm * 32 + lane / 4) * N + blockIdx.x * 64 + wn * 32 + lane % 4 * 2;
#pragma unroll
    for (int i = 0; i < 2; i++)
#pragma unroll
        for (int j = 0; j < 4; j++) {
            *reinterpret_cast<float2 *>(to + (size_t)i * 16 * N + j * 8) = make_float2(acc[i][j][0], acc[i][j][1]);
            *reinterpret_cast<float2 *>(to + (size_t)(i * 16 + 8) * N + j * 8) = make_float2(acc[i][j][2], acc[i][j][3]);
        }
}
extern "C" __global__ void __launch_bounds__(128) both_by_depth_plain(const __nv_bfloat16 *A, const __nv_bfloat16 *B, float *C, int M, int N, int K) { both_by_depth<PLAIN>(A, B, C, M, N, K); }
extern "C" __global__ void __launch_bounds__(128) both_by_depth_swizzled(const __nv_bfloat16 *A, const __nv_bfloat16 *B, float *C, int M, int N, int K) {
    both_by_depth<SWIZZLED>(A, B, C, M, N, K);
}

// ---------------------------------------------------------------------------------------------------------------------
// C = A B' of floats nearly exactly: each number is a tfloat and what that left, three products a step. 64 x 64 a block of four warps, 32 of the depth a stage, two stages.
__device__ __forceinline__ void parts_of(float x, unsigned &large, unsigned &small) {
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(large) : "f"(x));
    const float left = x - __uint_as_float(large);
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(small) : "f"(left));
}
template <int PAD> __device__ __forceinline__ void three_tfloats(const float *A, const float *B, float *C, int N, int K) {
    constexpr int PITCH = 32 + PAD, HALF = 64 * PITCH;
    __shared__ __align__(128) float stages[2][2 * HALF];
    const int t = threadIdx.x, lane = t % 32, warp = t / 32, wm = warp / 2, wn = warp % 2, g = lane / 4, q = lane % 4;
    const float *from_a = A + (size_t)(blockIdx.y * 64 + t / 8) * K + t % 8 * 4, *from_b = B + (size_t)(blockIdx.x * 64 + t / 8) * K + t % 8 * 4;
    auto fetch = [&](int n) {
#pragma unroll
        for (int i = 0; i < 4; i++) {
            copy16(stages[n & 1] + (t / 8 + i * 16) * PITCH + t % 8 * 4, from_a + (size_t)i * 16 * K + n * 32);
            copy16(stages[n & 1] + HALF + (t / 8 + i * 16) * PITCH + t % 8 * 4, from_b + (size_t)i * 16 * K + n * 32);
        }
        copies_sent();
    };
    float acc[2][4][4] = {};
    fetch(0);
    const int steps = K / 32;
#pragma unroll 1
    for (int n = 0; n < steps; n++) {
        copies_wait<0>();
        __syncthreads();
        if (n + 1 < steps) fetch(n + 1);
        const float *as = stages[n & 1] + (wm * 32 + g) * PITCH + q, *bs = stages[n & 1] + HALF + (wn * 32 + g) * PITCH + q;
#pragma unroll
        for (int k = 0; k < 32; k += 8) {
            unsigned a[2][4], a_left[2][4], b[4][2], b_left[4][2];
#pragma unroll
            for (int i = 0; i < 2; i++)
#pragma unroll
                for (int e = 0; e < 4; e++) parts_of(as[(i * 16 + e % 2 * 8) * PITCH + k + e / 2 * 4], a[i][e], a_left[i][e]);
#pragma unroll
            for (int j = 0; j < 4; j++)
#pragma unroll
                for (int e = 0; e < 2; e++) parts_of(bs[j * 8 * PITCH + k + e * 4], b[j][e], b_left[j][e]);
#pragma unroll
            for (int i = 0; i < 2; i++)
#pragma unroll
                for (int j = 0; j < 4; j++) {
                    mma_tf32(acc[i][j], a_left[i], b[j]);
                    mma_tf32(acc[i][j], a[i], b_left[j]);
                    mma_tf32(acc[i][j], a[i], b[j]);
                }
        }
    }
    float *to = C + (size_t)(blockIdx.y * 64 + wm * 32 + g) * N + blockIdx.x * 64 + wn * 32 + q * 2;
#pragma unroll
    for (int i = 0; i < 2; i++)
#pragma unroll
        for (int j = 0; j < 4; j++) {
            *reinterpret_cast<float2 *>(to + (size_t)i * 16 * N + j * 8) = make_float2(acc[i][j][0], acc[i][j][1]);
            *reinterpret_cast<float2 *>(to + (size_t)(i * 16 + 8) * N + j * 8) = make_float2(acc[i][j][2], acc[i][j][3]);
        }
}
extern "C" __global__ void __launch_bounds__(128) three_tfloats_plain(const float *A, const float *B, float *C, int N, int K) { three_tfloats<0>(A, B, C, N, K); }
extern "C" __global__ void __launch_bounds__(128) three_tfloats_padded(const float *A, const float *B, float *C, int N, int K) { three_tfloats<4>(A, B, C, N, K); }

// ---------------------------------------------------------------------------------------------------------------------
// C += A B' of signed bytes, the depth split over the grid's third axis and joined by atomics: 128 x 64 a block, eight warps of 32 x 32, 64 of the depth a stage, three stages.
template <Tile T> __device__ __forceinline__ void bytes_added(const signed char *A, const signed char *B, int *C, int N, int K) {
    constexpr int STAGES = 3;
    __shared__ __align__(128) signed char stages[STAGES][192 * 64];
    auto at = [](int row, int chunk) { return row * 64 + (T == SWIZZLED ? chunk ^ (row >> 1 & 3) : chunk) * 16; };
    const int t = threadIdx.x, lane = t % 32, warp = t / 32, wm = warp / 2, wn = warp % 2;
    const int steps = K / 64 / gridDim.z;
    const signed char *from_a = A + (size_t)(blockIdx.y * 128 + t / 4) * K + blockIdx.z * steps * 64 + t % 4 * 16;
    const signed char *from_b = B + (size_t)(blockIdx.x * 64 + t / 4) * K + blockIdx.z * steps * 64 + t % 4 * 16;
    auto fetch = [&](int n) {
        signed char *to = stages[n % STAGES];
        copy16(to + at(t / 4, t % 4), from_a + n * 64);
        copy16(to + at(t / 4 + 64, t % 4), from_a + (size_t)64 * K + n * 64);
        copy16(to + at(t / 4 + 128, t % 4), from_b + n * 64);
    };
    for (int n = 0; n < STAGES - 1; n++) {
        fetch(n);
        copies_sent();
    }
    int acc[2][4][4] = {};
#pragma unroll 1
    for (int n = 0; n < steps; n++) {
        copies_wait<STAGES - 2>();
        __syncthreads();
        if (n + STAGES - 1 < steps) fetch(n + STAGES - 1);
        copies_sent();
        const signed char *now = stages[n % STAGES];
#pragma unroll
        for (int kk = 0; kk < 2; kk++) {
            unsigned a[2][4], b[2][4];
#pragma unroll
            for (int i = 0; i < 2; i++) load4(a[i], now + at(wm * 32 + i * 16 + lane % 16, kk * 2 + lane / 16));
#pragma unroll
            for (int j = 0; j < 2; j++) load4(b[j], now + at(128 + wn * 32 + j * 16 + lane / 16 * 8 + lane % 8, kk * 2 + lane / 8 % 2));
#pragma unroll
            for (int i = 0; i < 2; i++)
#pragma unroll
                for (int j = 0; j < 4; j++) mma_s8(acc[i][j], a[i], b[j / 2][j % 2 * 2], b[j / 2][j % 2 * 2 + 1]);
        }
    }
    int *to = C + (size_t)(blockIdx.y * 128 + wm * 32 + lane / 4) * N + blockIdx.x * 64 + wn * 32 + lane % 4 * 2;
#pragma unroll
    for (int i = 0; i < 2; i++)
#pragma unroll
        for (int j = 0; j < 4; j++)
#pragma unroll
            for (int e = 0; e < 4; e++) atomicAdd(to + (size_t)(i * 16 + e / 2 * 8) * N + j * 8 + e % 2, acc[i][j][e]);
}
extern "C" __global__ void __launch_bounds__(256) bytes_added_plain(const signed char *A, const signed char *B, int *C, int N, int K) { bytes_added<PLAIN>(A, B, C, N, K); }
extern "C" __global__ void __launch_bounds__(256) bytes_added_swizzled(const signed char *A, const signed char *B, int *C, int N, int K) { bytes_added<SWIZZLED>(A, B, C, N, K); }

// ---------------------------------------------------------------------------------------------------------------------
// Attention as one writes it first with WMMA, heads of 64: scores, weights and the result are in shared memory between the steps. 64 queries a block of four warps, 64 keys a turn;
// two threads have a row of scores. Padding widens rows of halves by eight and rows of floats by four.
template <int PAD> __device__ __forceinline__ void wmma_attention(const __half *Q, const __half *K, const __half *V, float *O, int length, float scale) {
    using namespace nvcuda;
    constexpr int HP = 64 + PAD, FP = 64 + PAD / 2;
    extern __shared__ __align__(128) unsigned char room[];
    __half *qs = reinterpret_cast<__half *>(room), *ks = qs + 64 * HP, *vs = ks + 64 * HP, *ps = vs + 64 * HP;
    float *ss = reinterpret_cast<float *>(ps + 64 * HP), *os = ss + 64 * FP, *tops = os + 64 * FP, *sums = tops + 128;
    const int t = threadIdx.x, warp = t / 32, row = t % 64, half = t / 64;
    const size_t head = (size_t)blockIdx.y * length * 64;
    for (int i = t; i < 512; i += 128) *reinterpret_cast<uint4 *>(qs + i / 8 * HP + i % 8 * 8) = reinterpret_cast<const uint4 *>(Q + head + (size_t)blockIdx.x * 4096)[i];
    for (int i = t; i < 64 * FP; i += 128) os[i] = 0.0f;
    float most = -1e30f, total = 0.0f;
#pragma unroll 1
    for (int n = 0; n < length / 64; n++) {
        __syncthreads();
        for (int i = t; i < 512; i += 128) {
            *reinterpret_cast<uint4 *>(ks + i / 8 * HP + i % 8 * 8) = reinterpret_cast<const uint4 *>(K + head + (size_t)n * 4096)[i];
            *reinterpret_cast<uint4 *>(vs + i / 8 * HP + i % 8 * 8) = reinterpret_cast<const uint4 *>(V + head + (size_t)n * 4096)[i];
        }
        __syncthreads();
        wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> a;
#pragma unroll
        for (int j = 0; j < 4; j++) {
            wmma::fragment<wmma::accumulator, 16, 16, 16, float> s;
            wmma::fill_fragment(s, 0.0f);
#pragma unroll
            for (int k = 0; k < 64; k += 16) {
                wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::col_major> b;
                wmma::load_matrix_sync(a, qs + warp * 16 * HP + k, HP);
                wmma::load_matrix_sync(b, ks + j * 16 * HP + k, HP);
                wmma::mma_sync(s, a, b, s);
            }
            wmma::store_matrix_sync(ss + warp * 16 * FP + j * 16, s, FP, wmma::mem_row_major);
        }
        __syncthreads();
        const float4 *scores = reinterpret_cast<const float4 *>(ss + row * FP + half * 32);
        float4 v[8];
        float m = most;
#pragma unroll
        for (int i = 0; i < 8; i++) {
            v[i] = scores[i];
            v[i] = make_float4(v[i].x * scale, v[i].y * scale, v[i].z * scale, v[i].w * scale);
            m = fmaxf(m, fmaxf(fmaxf(v[i].x, v[i].y), fmaxf(v[i].z, v[i].w)));
        }
        tops[t] = m;
        __syncthreads();
        m = fmaxf(m, tops[t ^ 64]);
        const float shrink = exp2f(most - m);
        most = m;
        total *= shrink;
        __half2 *weights = reinterpret_cast<__half2 *>(ps + row * HP + half * 32);
        float4 *out = reinterpret_cast<float4 *>(os + row * FP + half * 32);
#pragma unroll
        for (int i = 0; i < 8; i++) {
            const float x = exp2f(v[i].x - m), y = exp2f(v[i].y - m), z = exp2f(v[i].z - m), w = exp2f(v[i].w - m);
            total += x + y + z + w;
            weights[i * 2] = __floats2half2_rn(x, y);
            weights[i * 2 + 1] = __floats2half2_rn(z, w);
            const float4 o = out[i];
            out[i] = make_float4(o.x * shrink, o.y * shrink, o.z * shrink, o.w * shrink);
        }
        __syncthreads();
#pragma unroll
        for (int j = 0; j < 4; j++) {
            wmma::fragment<wmma::accumulator, 16, 16, 16, float> o;
            wmma::load_matrix_sync(o, os + warp * 16 * FP + j * 16, FP, wmma::mem_row_major);
#pragma unroll
            for (int k = 0; k < 64; k += 16) {
                wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::row_major> b;
                wmma::load_matrix_sync(a, ps + warp * 16 * HP + k, HP);
                wmma::load_matrix_sync(b, vs + k * HP + j * 16, HP);
                wmma::mma_sync(o, a, b, o);
            }
            wmma::store_matrix_sync(os + warp * 16 * FP + j * 16, o, FP, wmma::mem_row_major);
        }
    }
    sums[t] = total;
    __syncthreads();
    for (int i = t; i < 64 * 64; i += 128) O[head + (size_t)blockIdx.x * 4096 + i] = os[i / 64 * FP + i % 64] / (sums[i / 64] + sums[i / 64 + 64]);
}
extern "C" __global__ void __launch_bounds__(128) wmma_attention_plain(const __half *Q, const __half *K, const __half *V, float *O, int length, float scale) {
    wmma_attention<0>(Q, K, V, O, length, scale);
}
extern "C" __global__ void __launch_bounds__(128) wmma_attention_padded(const __half *Q, const __half *K, const __half *V, float *O, int length, float scale) {
    wmma_attention<8>(Q, K, V, O, length, scale);
}
