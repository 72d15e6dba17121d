// Tensor cores by mma.sync: halves summed in halves, the gradient of attention's queries, and a weight's gradient in tfloats.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <stdint.h>

__device__ __forceinline__ uint32_t place(const void *p) { return (uint32_t)__cvta_generic_to_shared(p); }
__device__ __forceinline__ void bring(void *to, const void *from) { asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(place(to)), "l"(from) : "memory"); }
__device__ __forceinline__ void brought() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int LEFT>
__device__ __forceinline__ void arrived() { asm volatile("cp.async.wait_group %0;" ::"n"(LEFT) : "memory"); }
__device__ __forceinline__ void four_tiles(uint32_t (&r)[4], const void *p) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];" : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(place(p)) : "memory");
}
__device__ __forceinline__ void four_turned(uint32_t (&r)[4], const void *p) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];" : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(place(p)) : "memory");
}
__device__ __forceinline__ void mma_halves(uint32_t (&d)[2], const uint32_t (&a)[4], const uint32_t *b) {
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%0,%1}, {%2,%3,%4,%5}, {%6,%7}, {%0,%1};"
                 : "+r"(d[0]), "+r"(d[1]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
__device__ __forceinline__ void mma_brains(float (&d)[4], const uint32_t (&a)[4], const uint32_t *b) {
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
__device__ __forceinline__ void mma_tfloats(float (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

extern __shared__ __align__(128) unsigned char smem[];
enum Rows { PLAIN, PADDED, SWIZZLED };

// ------------------------------------------------------------------------------------------------
// C = A * B^T of halves, summed in halves: 128 x 128 x 32 a block, eight warps of 64 x 32, three stages.
template <Rows HOW>
__device__ __forceinline__ void half_sums(const __half *A, const __half *B, __half *C, int N, int K) {
    constexpr int WIDE = HOW == PADDED ? 80 : 64, TILE = 128 * WIDE;
    auto at = [](int row, int chunk) { return row * WIDE + (HOW == SWIZZLED ? chunk ^ (row >> 1 & 3) : chunk) * 16; };
    const int tid = threadIdx.x, lane = tid % 32, warp = tid / 32, wm = warp / 4 * 64, wn = warp % 4 * 32, steps = K / 32;
    A += (size_t)blockIdx.y * 128 * K;
    B += (size_t)blockIdx.x * 128 * K;
    auto load = [&](int step) {
        unsigned char *s = smem + step % 3 * 2 * TILE;
#pragma unroll
        for (int row = tid / 4; row < 128; row += 64) {
            bring(s + at(row, tid % 4), A + (size_t)row * K + step * 32 + tid % 4 * 8);
            bring(s + TILE + at(row, tid % 4), B + (size_t)row * K + step * 32 + tid % 4 * 8);
        }
    };
    for (int step = 0; step < 2; step++) {
        load(step);
        brought();
    }
    uint32_t acc[4][4][2] = {};
    for (int step = 0; step < steps; step++) {
        arrived<1>();
        __syncthreads();
        if (step + 2 < steps) load(step + 2);
        brought();
        const unsigned char *s = smem + step % 3 * 2 * TILE;
#pragma unroll
        for (int kk = 0; kk < 2; kk++) {
            uint32_t a[4][4], b[2][4];
#pragma unroll
            for (int i = 0; i < 4; i++) four_tiles(a[i], s + at(wm + i * 16 + lane % 16, kk * 2 + lane / 16));
#pragma unroll
            for (int j = 0; j < 2; j++) four_tiles(b[j], s + TILE + at(wn + j * 16 + lane / 16 * 8 + lane % 8, kk * 2 + lane / 8 % 2));
#pragma unroll
            for (int i = 0; i < 4; i++)
#pragma unroll
                for (int j = 0; j < 4; j++) mma_halves(acc[i][j], a[i], &b[j / 2][j % 2 * 2]);
        }
    }
#pragma unroll
    for (int i = 0; i < 4; i++)
#pragma unroll
        for (int j = 0; j < 4; j++) {
            __half *c = C + (size_t)(blockIdx.y * 128 + wm + i * 16 + lane / 4) * N + blockIdx.x * 128 + wn + j * 8 + lane % 4 * 2;
            *(uint32_t *)c = acc[i][j][0];
            *(uint32_t *)(c + 8 * (size_t)N) = acc[i][j][1];
        }
}
extern "C" __global__ void __launch_bounds__(256) half_sums_plain(const __half *A, const __half *B, __half *C, int N, int K) { half_sums<PLAIN>(A, B, C, N, K); }
extern "C" __global__ void __launch_bounds__(256) half_sums_padded(const __half *A, const __half *B, __half *C, int N, int K) { half_sums<PADDED>(A, B, C, N, K); }
extern "C" __global__ void __launch_bounds__(256) half_sums_swizzled(const __half *A, const __half *B, __half *C, int N, int K) { half_sums<SWIZZLED>(A, B, C, N, K); }

// ------------------------------------------------------------------------------------------------
// The gradient of attention's queries, heads of 64: a block keeps 64 queries and their outputs' gradients, and passes all keys and values, two buffers of 64.
template <int LD>
__device__ __forceinline__ void queries_back(
    const __nv_bfloat16 *Q, const __nv_bfloat16 *K, const __nv_bfloat16 *V, const __nv_bfloat16 *dO, const float *lse, const float *delta, __nv_bfloat16 *dQ, int seq, float scale) {
    __shared__ __align__(16) __nv_bfloat16 keys[2][64 * LD], values[2][64 * LD];
    const int tid = threadIdx.x, lane = tid % 32, warp = tid / 32;
    const size_t base = (size_t)blockIdx.y * seq * 64, mine = base + (size_t)blockIdx.x * 64 * 64;
    auto load = [&](__nv_bfloat16 *to, const __nv_bfloat16 *from) {
#pragma unroll
        for (int row = tid / 8; row < 64; row += 16) bring(to + row * LD + tid % 8 * 8, from + row * 64 + tid % 8 * 8);
    };
    load(keys[1], Q + mine);
    load(values[1], dO + mine);
    load(keys[0], K + base);
    load(values[0], V + base);
    brought();
    arrived<0>();
    __syncthreads();
    uint32_t q[4][4], d[4][4];
#pragma unroll
    for (int i = 0; i < 4; i++) {
        four_tiles(q[i], &keys[1][(warp * 16 + lane % 16) * LD + i * 16 + lane / 16 * 8]);
        four_tiles(d[i], &values[1][(warp * 16 + lane % 16) * LD + i * 16 + lane / 16 * 8]);
    }
    const int row = blockIdx.y * seq + blockIdx.x * 64 + warp * 16 + lane / 4;
    const float off[2] = {lse[row], lse[row + 8]}, less[2] = {delta[row], delta[row + 8]};
    float dq[8][4] = {};
    for (int step = 0; step < seq / 64; step++) {
        arrived<0>();
        __syncthreads();
        if (step + 1 < seq / 64) {
            load(keys[(step + 1) % 2], K + base + (size_t)(step + 1) * 64 * 64);
            load(values[(step + 1) % 2], V + base + (size_t)(step + 1) * 64 * 64);
            brought();
        }
        const __nv_bfloat16 *k = keys[step % 2], *v = values[step % 2];
        float s[8][4] = {}, p[8][4] = {};
#pragma unroll
        for (int i = 0; i < 4; i++)
#pragma unroll
            for (int j = 0; j < 4; j++) {
                uint32_t b[4];
                const int at = (j * 16 + lane / 16 * 8 + lane % 8) * LD + i * 16 + lane / 8 % 2 * 8;
                four_tiles(b, &k[at]);
                mma_brains(s[2 * j], q[i], b);
                mma_brains(s[2 * j + 1], q[i], b + 2);
                four_tiles(b, &v[at]);
                mma_brains(p[2 * j], d[i], b);
                mma_brains(p[2 * j + 1], d[i], b + 2);
            }
        uint32_t ds[4][4];
#pragma unroll
        for (int j = 0; j < 8; j++) {
#pragma unroll
            for (int e = 0; e < 4; e++) s[j][e] = exp2f(s[j][e] * scale * 1.4426950f - off[e / 2]) * (p[j][e] - less[e / 2]);
            const __nv_bfloat162 above = __floats2bfloat162_rn(s[j][0], s[j][1]), below = __floats2bfloat162_rn(s[j][2], s[j][3]);
            ds[j / 2][j % 2 * 2] = *(const uint32_t *)&above;
            ds[j / 2][j % 2 * 2 + 1] = *(const uint32_t *)&below;
        }
#pragma unroll
        for (int i = 0; i < 4; i++)
#pragma unroll
            for (int j = 0; j < 4; j++) {
                uint32_t b[4];
                four_turned(b, &k[(i * 16 + lane % 16) * LD + j * 16 + lane / 16 * 8]);
                mma_brains(dq[2 * j], ds[i], b);
                mma_brains(dq[2 * j + 1], ds[i], b + 2);
            }
    }
#pragma unroll
    for (int j = 0; j < 8; j++) {
        __nv_bfloat16 *to = dQ + mine + (warp * 16 + lane / 4) * 64 + j * 8 + lane % 4 * 2;
        *(__nv_bfloat162 *)to = __floats2bfloat162_rn(dq[j][0] * scale, dq[j][1] * scale);
        *(__nv_bfloat162 *)(to + 8 * 64) = __floats2bfloat162_rn(dq[j][2] * scale, dq[j][3] * scale);
    }
}
#define QUERIES_BACK(name, ld)                                                                                                                           \
    extern "C" __global__ void __launch_bounds__(128)                                                                                                    \
        name(const __nv_bfloat16 *Q, const __nv_bfloat16 *K, const __nv_bfloat16 *V, const __nv_bfloat16 *dO, const float *lse, const float *delta,      \
             __nv_bfloat16 *dQ, int seq, float scale) { queries_back<ld>(Q, K, V, dO, lse, delta, dQ, seq, scale); }
QUERIES_BACK(queries_back_plain, 64)
QUERIES_BACK(queries_back_padded, 72)

// ------------------------------------------------------------------------------------------------
// The gradient of a layer's weights in tfloats, X^T * Y: both by rows, whose number is the depth. 64 x 64 x 32 a block, four warps of 32 x 32, two buffers.
template <int LD>
__device__ __forceinline__ void layer_back(const float *X, const float *Y, float *W, int inputs, int outputs, int rows) {
    __shared__ __align__(16) float sX[2][32 * LD], sY[2][32 * LD];
    const int tid = threadIdx.x, lane = tid % 32, wm = tid / 64 * 32, wn = tid / 32 % 2 * 32;
    X += blockIdx.y * 64 + tid % 16 * 4;
    Y += blockIdx.x * 64 + tid % 16 * 4;
    auto load = [&](int step) {
#pragma unroll
        for (int row = tid / 16; row < 32; row += 8) {
            bring(&sX[step % 2][row * LD + tid % 16 * 4], X + (size_t)(step * 32 + row) * inputs);
            bring(&sY[step % 2][row * LD + tid % 16 * 4], Y + (size_t)(step * 32 + row) * outputs);
        }
        brought();
    };
    load(0);
    float acc[2][4][4] = {};
    for (int step = 0; step < rows / 32; step++) {
        arrived<0>();
        __syncthreads();
        if (step + 1 < rows / 32) load(step + 1);
        const uint32_t *x = (const uint32_t *)sX[step % 2], *y = (const uint32_t *)sY[step % 2];
#pragma unroll
        for (int kk = 0; kk < 32; kk += 8) {
            uint32_t a[2][4], b[4][2];
#pragma unroll
            for (int i = 0; i < 2; i++)
#pragma unroll
                for (int e = 0; e < 4; e++) a[i][e] = x[(kk + lane % 4 + e / 2 * 4) * LD + wm + i * 16 + lane / 4 + e % 2 * 8];
#pragma unroll
            for (int j = 0; j < 4; j++)
#pragma unroll
                for (int e = 0; e < 2; e++) b[j][e] = y[(kk + lane % 4 + e * 4) * LD + wn + j * 8 + lane / 4];
#pragma unroll
            for (int i = 0; i < 2; i++)
#pragma unroll
                for (int j = 0; j < 4; j++) mma_tfloats(acc[i][j], a[i], b[j]);
        }
    }
#pragma unroll
    for (int i = 0; i < 2; i++)
#pragma unroll
        for (int j = 0; j < 4; j++) {
            float *w = W + (size_t)(blockIdx.y * 64 + wm + i * 16 + lane / 4) * outputs + blockIdx.x * 64 + wn + j * 8 + lane % 4 * 2;
            *(float2 *)w = make_float2(acc[i][j][0], acc[i][j][1]);
            *(float2 *)(w + 8 * (size_t)outputs) = make_float2(acc[i][j][2], acc[i][j][3]);
        }
}
extern "C" __global__ void __launch_bounds__(128) layer_back_plain(const float *X, const float *Y, float *W, int inputs, int outputs, int rows) { layer_back<64>(X, Y, W, inputs, outputs, rows); }
extern "C" __global__ void __launch_bounds__(128) layer_back_padded(const float *X, const float *Y, float *W, int inputs, int outputs, int rows) { layer_back<72>(X, Y, W, inputs, outputs, rows); }
