// GEMMs by wgmma, C = A * B^T: a lean one of cp.async, bytes of floats by TMA for two consumers, and a wide one for a single consumer.
#include <cuda_runtime.h>

#include "../../sass/cuda/hopper.cuh"

extern __shared__ __align__(1024) unsigned char smem[];

#define R8(d, i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3]), "+f"(d[i + 4]), "+f"(d[i + 5]), "+f"(d[i + 6]), "+f"(d[i + 7])
#define R64(d, i) R8(d, i), R8(d, i + 8), R8(d, i + 16), R8(d, i + 24), R8(d, i + 32), R8(d, i + 40), R8(d, i + 48), R8(d, i + 56)
#define TEN(i) "%" #i "0,%" #i "1,%" #i "2,%" #i "3,%" #i "4,%" #i "5,%" #i "6,%" #i "7,%" #i "8,%" #i "9,"
#define SIXTY "%0,%1,%2,%3,%4,%5,%6,%7,%8,%9," TEN(1) TEN(2) TEN(3) TEN(4) TEN(5)

__device__ __forceinline__ void bf16_64x128x16(float (&d)[64], u64 a, u64 b) {
    asm volatile("wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 {" SIXTY "%60,%61,%62,%63}, %64, %65, 1, 1, 1, 0, 0;" : R64(d, 0) : "l"(a), "l"(b));
}
__device__ __forceinline__ void fp8_64x128x32(float (&d)[64], u64 a, u64 b) {
    asm volatile("wgmma.mma_async.sync.aligned.m64n128k32.f32.e4m3.e4m3 {" SIXTY "%60,%61,%62,%63}, %64, %65, 1, 1, 1;" : R64(d, 0) : "l"(a), "l"(b));
}
__device__ __forceinline__ void bf16_64x256x16(float (&d)[128], u64 a, u64 b) {
    asm volatile("wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16 {" SIXTY TEN(6) TEN(7) TEN(8) TEN(9) TEN(10) TEN(11)
                 "%120,%121,%122,%123,%124,%125,%126,%127}, %128, %129, 1, 1, 1, 0, 0;"
                 : R64(d, 0), R64(d, 64) : "l"(a), "l"(b));
}

template <int COUNT>
__device__ __forceinline__ void put(const float (&d)[COUNT], __nv_bfloat16 *c, int N) {
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32 % 4;
    c += (size_t)(warp * 16 + lane / 4) * N + lane % 4 * 2;
#pragma unroll
    for (int j = 0; j < COUNT / 4; j++) {
        *reinterpret_cast<__nv_bfloat162 *>(c + j * 8) = __floats2bfloat162_rn(d[4 * j], d[4 * j + 1]);
        *reinterpret_cast<__nv_bfloat162 *>(c + 8 * (size_t)N + j * 8) = __floats2bfloat162_rn(d[4 * j + 2], d[4 * j + 3]);
    }
}

// ------------------------------------------------------------------------------------------------
// 64 x 128 x 64 of bfloat16 by one warpgroup and four stages of cp.async; the products of one step overlap those of the next.
// Swizzled: rows of 128 bytes whose chunks are turned. Cores: a chunk's rows of 16 bytes lie behind each other.
template <bool SWIZZLED>
__device__ __forceinline__ void lean(const __nv_bfloat16 *A, const __nv_bfloat16 *B, __nv_bfloat16 *C, int N, int K) {
    constexpr int A_BYTES = 64 * 128, STAGE = A_BYTES + 128 * 128, STAGES = 4;
    const int tid = threadIdx.x, chunk = tid % 8, steps = K / 64;
    A += (size_t)blockIdx.y * 64 * K + chunk * 8;
    B += (size_t)blockIdx.x * 128 * K + chunk * 8;
    auto copy = [&](unsigned char *to, const __nv_bfloat16 *from) {
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared_address(to)), "l"(from) : "memory");
    };
    auto load = [&](int k) {
        unsigned char *a = smem + k % STAGES * STAGE, *b = a + A_BYTES;
#pragma unroll
        for (int row = tid / 8; row < 64; row += 16) copy(a + (SWIZZLED ? row * 128 + (chunk ^ (row & 7)) * 16 : chunk * 1024 + row * 16), A + (size_t)row * K + k * 64);
#pragma unroll
        for (int row = tid / 8; row < 128; row += 16) copy(b + (SWIZZLED ? row * 128 + (chunk ^ (row & 7)) * 16 : chunk * 2048 + row * 16), B + (size_t)row * K + k * 64);
    };
    for (int k = 0; k < 2; k++) {
        load(k);
        asm volatile("cp.async.commit_group;" ::: "memory");
    }
    float acc[64] = {};
    for (int k = 0; k < steps; k++) {
        asm volatile("cp.async.wait_group 1;" ::: "memory");
        writes_are_visible();
        __syncthreads();  // the products of two steps before are done too
        if (k + 2 < steps) load(k + 2);
        asm volatile("cp.async.commit_group;" ::: "memory");
        const unsigned char *a = smem + k % STAGES * STAGE, *b = a + A_BYTES;
        products_begin();
#pragma unroll
        for (int i = 0; i < 4; i++) {
            if (SWIZZLED)
                bf16_64x128x16(acc, matrix(a + i * 32, 16, 1024, 1), matrix(b + i * 32, 16, 1024, 1));
            else
                bf16_64x128x16(acc, matrix(a + i * 2048, 1024, 128, 0), matrix(b + i * 4096, 2048, 128, 0));
        }
        products_end();
        products_wait<1>();
    }
    products_wait<0>();
    put(acc, C + (size_t)blockIdx.y * 64 * N + blockIdx.x * 128, N);
}
extern "C" __global__ void __launch_bounds__(128) wgmma_lean_cores(const __nv_bfloat16 *A, const __nv_bfloat16 *B, __nv_bfloat16 *C, int N, int K) { lean<false>(A, B, C, N, K); }
extern "C" __global__ void __launch_bounds__(128) wgmma_lean_swizzled(const __nv_bfloat16 *A, const __nv_bfloat16 *B, __nv_bfloat16 *C, int N, int K) { lean<true>(A, B, C, N, K); }

// ------------------------------------------------------------------------------------------------
// 128 x 128 x 128 of e4m3: a producer's TMA, four stages, two warpgroups of 64 x 128. Rows of 128 bytes, or two tiles whose rows have 64, each swizzled.
template <bool WIDE>
__device__ __forceinline__ void two_consumers(const TensorMap &a_map, const TensorMap &b_map, __nv_bfloat16 *C, int N, int K) {
    constexpr int TILE = 128 * 128, STAGE = 2 * TILE, STAGES = 4;
    __shared__ alignas(8) u64 full[STAGES], empty[STAGES];
    const int group = threadIdx.x / 128, steps = K / 128;
    if (threadIdx.x == 0) {
        for (int i = 0; i < STAGES; i++) {
            barrier_init(&full[i], 1);
            barrier_init(&empty[i], 2);
        }
        barriers_are_visible();
    }
    __syncthreads();
    if (group == 0) {
        give_registers<40>();
        if (threadIdx.x == 0)
            for (int k = 0; k < steps; k++) {
                unsigned char *a = smem + k % STAGES * STAGE, *b = a + TILE;
                u64 *bar = &full[k % STAGES];
                wait(&empty[k % STAGES], (k / STAGES + 1) & 1);
                arrive_and_expect(bar, STAGE);
                for (int part = 0; part < (WIDE ? 1 : 2); part++) {
                    load_tile(a + part * TILE / 2, &a_map, bar, k * 128 + part * 64, blockIdx.y * 128);
                    load_tile(b + part * TILE / 2, &b_map, bar, k * 128 + part * 64, blockIdx.x * 128);
                }
            }
    } else {
        take_registers<232>();
        const int part = group - 1;
        float acc[64] = {};
        for (int k = 0; k < steps; k++) {
            const unsigned char *a = smem + k % STAGES * STAGE + part * 64 * (WIDE ? 128 : 64), *b = smem + k % STAGES * STAGE + TILE;
            wait(&full[k % STAGES], k / STAGES & 1);
            products_begin();
#pragma unroll
            for (int i = 0; i < 4; i++) {
                const int at = WIDE ? i * 32 : i / 2 * (TILE / 2) + i % 2 * 32;
                fp8_64x128x32(acc, matrix(a + at, 16, WIDE ? 1024 : 512, WIDE ? 1 : 2), matrix(b + at, 16, WIDE ? 1024 : 512, WIDE ? 1 : 2));
            }
            products_end();
            products_wait<1>();
            if (k > 0 && threadIdx.x % 128 == 0) arrive(&empty[(k - 1) % STAGES]);
        }
        products_wait<0>();
        put(acc, C + (size_t)(blockIdx.y * 128 + part * 64) * N + blockIdx.x * 128, N);
    }
}
extern "C" __global__ void __launch_bounds__(384)
    wgmma_fp8_rows_of_128(const __grid_constant__ TensorMap a, const __grid_constant__ TensorMap b, __nv_bfloat16 *C, int N, int K) { two_consumers<true>(a, b, C, N, K); }
extern "C" __global__ void __launch_bounds__(384)
    wgmma_fp8_rows_of_64(const __grid_constant__ TensorMap a, const __grid_constant__ TensorMap b, __nv_bfloat16 *C, int N, int K) { two_consumers<false>(a, b, C, N, K); }

// ------------------------------------------------------------------------------------------------
// 64 x 256 x 64 of bfloat16: one warpgroup multiplies, a fifth warp brings four stages.
extern "C" __global__ void __launch_bounds__(160)
    wgmma_one_consumer(const __grid_constant__ TensorMap a_map, const __grid_constant__ TensorMap b_map, __nv_bfloat16 *C, int N, int K) {
    constexpr int A_BYTES = 64 * 128, STAGE = A_BYTES + 256 * 128, STAGES = 4;
    __shared__ alignas(8) u64 full[STAGES], empty[STAGES];
    const int steps = K / 64;
    if (threadIdx.x == 0) {
        for (int i = 0; i < STAGES; i++) {
            barrier_init(&full[i], 1);
            barrier_init(&empty[i], 1);
        }
        barriers_are_visible();
    }
    __syncthreads();
    if (threadIdx.x >= 128) {
        if (threadIdx.x == 128)
            for (int k = 0; k < steps; k++) {
                unsigned char *to = smem + k % STAGES * STAGE;
                wait(&empty[k % STAGES], (k / STAGES + 1) & 1);
                arrive_and_expect(&full[k % STAGES], STAGE);
                load_tile(to, &a_map, &full[k % STAGES], k * 64, blockIdx.y * 64);
                load_tile(to + A_BYTES, &b_map, &full[k % STAGES], k * 64, blockIdx.x * 256);
            }
        return;
    }
    float acc[128] = {};
    for (int k = 0; k < steps; k++) {
        const unsigned char *a = smem + k % STAGES * STAGE, *b = a + A_BYTES;
        wait(&full[k % STAGES], k / STAGES & 1);
        products_begin();
#pragma unroll
        for (int i = 0; i < 4; i++) bf16_64x256x16(acc, matrix(a + i * 32, 16, 1024, 1), matrix(b + i * 32, 16, 1024, 1));
        products_end();
        products_wait<1>();
        if (k > 0 && threadIdx.x == 0) arrive(&empty[(k - 1) % STAGES]);
    }
    products_wait<0>();
    put(acc, C + (size_t)blockIdx.y * 64 * N + blockIdx.x * 256, N);
}
