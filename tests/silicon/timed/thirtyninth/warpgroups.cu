// GEMMs by wgmma: tiles that cp.async brings, swizzled or by core matrices; and a producer's TMA for two consumers.
#include <cuda_runtime.h>

#include "../../sass/cuda/hopper.cuh"

extern __shared__ __align__(1024) unsigned char smem[];

#define TEN(i) "%" #i "0,%" #i "1,%" #i "2,%" #i "3,%" #i "4,%" #i "5,%" #i "6,%" #i "7,%" #i "8,%" #i "9"
#define ACC8(d, i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3]), "+f"(d[i + 4]), "+f"(d[i + 5]), "+f"(d[i + 6]), "+f"(d[i + 7])
#define ACC32(d, i) ACC8(d, i), ACC8(d, i + 8), ACC8(d, i + 16), ACC8(d, i + 24)
#define FIRST10 "%0,%1,%2,%3,%4,%5,%6,%7,%8,%9"

__device__ __forceinline__ void wgmma_m64n128k16(float (&d)[64], u64 a, u64 b) {
    asm volatile("wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16 {" FIRST10 "," TEN(1) "," TEN(2) "," TEN(3) "," TEN(4) "," TEN(5)
                 ",%60,%61,%62,%63}, %64, %65, 1, 1, 1, 0, 0;\n"
                 : ACC32(d, 0), ACC32(d, 32) : "l"(a), "l"(b));
}

__device__ __forceinline__ void wgmma_m64n192k16(float (&d)[96], u64 a, u64 b) {
    asm volatile("wgmma.mma_async.sync.aligned.m64n192k16.f32.bf16.bf16 {" FIRST10 "," TEN(1) "," TEN(2) "," TEN(3) "," TEN(4) "," TEN(5) "," TEN(6) ","
                 TEN(7) "," TEN(8) ",%90,%91,%92,%93,%94,%95}, %96, %97, 1, 1, 1, 0, 0;\n"
                 : ACC32(d, 0), ACC32(d, 32), ACC32(d, 64) : "l"(a), "l"(b));
}

// ------------------------------------------------------------------------------------------------
// C = A * B^T of halves: 128 x 128 x 64 a block, two warpgroups of 64 x 128, three stages of cp.async.
// Swizzled: rows of 128 bytes whose chunks are turned by the row. Cores: 8 x 16 bytes lie together, and rows of a chunk behind each other.
template <bool SWIZZLED>
__device__ void wgmma_cp_async(const half *A, const half *B, half *C, int N, int K) {
    constexpr int TILE = 128 * 128, STAGE = 2 * TILE, STAGES = 3;
    const int tid = threadIdx.x, group = tid / 128, lane = tid % 32, warp = tid / 32 % 4;
    A += (size_t)blockIdx.y * 128 * K;
    B += (size_t)blockIdx.x * 128 * K;
    auto load_stage = [&](int k) {
        unsigned char *to = smem + k % STAGES * STAGE;
#pragma unroll
        for (int i = 0; i < 4; i++) {
            const int row = tid / 8 + i * 32, chunk = tid % 8;
            const int place = SWIZZLED ? row * 128 + (chunk ^ (row & 7)) * 16 : chunk * 2048 + row * 16;
            asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared_address(to + place)), "l"(A + (size_t)row * K + k * 64 + chunk * 8) : "memory");
            asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared_address(to + TILE + place)), "l"(B + (size_t)row * K + k * 64 + chunk * 8) : "memory");
        }
    };
    const int steps = K / 64;
    for (int k = 0; k < STAGES - 1; k++) {
        load_stage(k);
        asm volatile("cp.async.commit_group;" ::: "memory");
    }
    float acc[64] = {};
    for (int k = 0; k < steps; k++) {
        asm volatile("cp.async.wait_group 1;" ::: "memory");
        writes_are_visible();
        __syncthreads();
        const unsigned char *a = smem + k % STAGES * STAGE, *b = a + TILE;
        products_begin();
#pragma unroll
        for (int kk = 0; kk < 4; kk++) {
            if (SWIZZLED)
                wgmma_m64n128k16(acc, matrix(a + group * 64 * 128 + kk * 32, 16, 1024, 1), matrix(b + kk * 32, 16, 1024, 1));
            else
                wgmma_m64n128k16(acc, matrix(a + kk * 4096 + group * 64 * 16, 2048, 128, 0), matrix(b + kk * 4096, 2048, 128, 0));
        }
        products_end();
        products_wait<0>();
        __syncthreads();
        if (k + STAGES - 1 < steps) load_stage(k + STAGES - 1);
        asm volatile("cp.async.commit_group;" ::: "memory");
    }
    half *c = C + (size_t)(blockIdx.y * 128 + group * 64 + warp * 16 + lane / 4) * N + blockIdx.x * 128 + lane % 4 * 2;
#pragma unroll
    for (int j = 0; j < 16; j++) {
        *reinterpret_cast<half2 *>(c + j * 8) = __floats2half2_rn(acc[4 * j], acc[4 * j + 1]);
        *reinterpret_cast<half2 *>(c + 8 * (size_t)N + j * 8) = __floats2half2_rn(acc[4 * j + 2], acc[4 * j + 3]);
    }
}

extern "C" __global__ void __launch_bounds__(256) wgmma_cp_async_cores(const half *A, const half *B, half *C, int N, int K) { wgmma_cp_async<false>(A, B, C, N, K); }
extern "C" __global__ void __launch_bounds__(256) wgmma_cp_async_swizzled(const half *A, const half *B, half *C, int N, int K) { wgmma_cp_async<true>(A, B, C, N, K); }

// ------------------------------------------------------------------------------------------------
// C = A * B^T of bfloat16: 128 x 192 x 64 a block; a warp brings four stages by TMA, two warpgroups multiply 64 x 192 each.
extern "C" __global__ void __launch_bounds__(384)
    wgmma_tma_producer(const __grid_constant__ TensorMap a_map, const __grid_constant__ TensorMap b_map, __nv_bfloat16 *C, int N, int K) {
    constexpr int A_BYTES = 128 * 128, B_BYTES = 192 * 128, STAGE = A_BYTES + B_BYTES, STAGES = 4;
    __shared__ alignas(8) u64 full[STAGES], empty[STAGES];
    const int group = threadIdx.x / 128, steps = K / 64;
    if (threadIdx.x == 0) {
        for (int i = 0; i < STAGES; i++) {
            barrier_init(&full[i], 1);
            barrier_init(&empty[i], 2);
        }
        barriers_are_visible();
    }
    __syncthreads();
    if (group == 0) {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
        if (threadIdx.x == 0)
            for (int k = 0; k < steps; k++) {
                const int stage = k % STAGES;
                wait(&empty[stage], (k / STAGES + 1) & 1);
                arrive_and_expect(&full[stage], STAGE);
                load_tile(smem + stage * STAGE, &a_map, &full[stage], k * 64, blockIdx.y * 128);
                load_tile(smem + stage * STAGE + A_BYTES, &b_map, &full[stage], k * 64, blockIdx.x * 192);
            }
    } else {
        asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
        const int part = group - 1, lane = threadIdx.x % 32, warp = threadIdx.x / 32 % 4;
        float acc[96] = {};
        for (int k = 0; k < steps; k++) {
            const int stage = k % STAGES;
            const unsigned char *a = smem + stage * STAGE + part * 64 * 128, *b = smem + stage * STAGE + A_BYTES;
            wait(&full[stage], k / STAGES & 1);
            products_begin();
#pragma unroll
            for (int kk = 0; kk < 4; kk++) wgmma_m64n192k16(acc, matrix(a + kk * 32, 16, 1024, 1), matrix(b + kk * 32, 16, 1024, 1));
            products_end();
            products_wait<1>();
            if (k > 0 && threadIdx.x % 128 == 0) arrive(&empty[(k - 1) % STAGES]);
        }
        products_wait<0>();
        __nv_bfloat16 *c = C + (size_t)(blockIdx.y * 128 + part * 64 + warp * 16 + lane / 4) * N + blockIdx.x * 192 + lane % 4 * 2;
#pragma unroll
        for (int j = 0; j < 24; j++) {
            *reinterpret_cast<__nv_bfloat162 *>(c + j * 8) = __floats2bfloat162_rn(acc[4 * j], acc[4 * j + 1]);
            *reinterpret_cast<__nv_bfloat162 *>(c + 8 * (size_t)N + j * 8) = __floats2bfloat162_rn(acc[4 * j + 2], acc[4 * j + 3]);
        }
    }
}
