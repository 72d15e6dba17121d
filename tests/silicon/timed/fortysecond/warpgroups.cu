// GEMMs by wgmma and TMA, a producer and two consumers: C = A * B whose B lies by rows, and parts of a depth that add their shares to C = A * B^T.
#include <cuda_runtime.h>

#include "../../sass/cuda/hopper.cuh"

extern __shared__ __align__(1024) unsigned char smem[];

#define FOUR(d, i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3])
#define SIXTEEN(d, i) FOUR(d, i), FOUR(d, i + 4), FOUR(d, i + 8), FOUR(d, i + 12)
#define SUMS                                                                                                      \
    "{%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28," \
    "%29,%30,%31,%32,%33,%34,%35,%36,%37,%38,%39,%40,%41,%42,%43,%44,%45,%46,%47,%48,%49,%50,%51,%52,%53,%54,"     \
    "%55,%56,%57,%58,%59,%60,%61,%62,%63}"

template <bool TURNED>
__device__ __forceinline__ void multiply(float (&d)[64], u64 a, u64 b) {
    asm volatile("wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16 " SUMS ", %64, %65, 1, 1, 1, 0, %66;"
                 : SIXTEEN(d, 0), SIXTEEN(d, 16), SIXTEEN(d, 32), SIXTEEN(d, 48) : "l"(a), "l"(b), "n"(TURNED ? 1 : 0));
}

// 128 x 128 x 64 a step and four stages. `finish` takes the sums of a warpgroup's 64 x 128.
// B by rows comes in tiles of 64 (or 32) columns, each swizzled; A too, by its depth.
template <bool BY_ROWS, bool WIDE, typename Finish>
__device__ __forceinline__ void produce(const TensorMap &a_map, const TensorMap &b_map, int first, int steps, Finish finish) {
    constexpr int TILE = 128 * 128, STAGE = 2 * TILE, STAGES = 4, PARTS = WIDE ? 1 : 2;
    __shared__ alignas(8) u64 full[STAGES], empty[STAGES];
    const int group = threadIdx.x / 128;
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
                const int depth = first + k * 64;
                wait(&empty[k % STAGES], (k / STAGES + 1) & 1);
                arrive_and_expect(bar, STAGE);
                for (int i = 0; i < PARTS; i++) load_tile(a + i * TILE / PARTS, &a_map, bar, depth + i * 32, blockIdx.y * 128);
                if (BY_ROWS)
                    for (int i = 0; i < 2 * PARTS; i++) load_tile(b + i * TILE / (2 * PARTS), &b_map, bar, blockIdx.x * 128 + i * 64 / PARTS, depth);
                else
                    load_tile(b, &b_map, bar, depth, blockIdx.x * 128);
            }
        return;
    }
    take_registers<232>();
    float acc[64] = {};
    for (int k = 0; k < steps; k++) {
        const unsigned char *a = smem + k % STAGES * STAGE + (group - 1) * 64 * (WIDE ? 128 : 64), *b = smem + k % STAGES * STAGE + TILE;
        wait(&full[k % STAGES], k / STAGES & 1);
        products_begin();
#pragma unroll
        for (int i = 0; i < 4; i++) {
            const u64 left = WIDE ? matrix(a + i * 32, 16, 1024, 1) : matrix(a + i / 2 * (TILE / 2) + i % 2 * 32, 16, 512, 2);
            const u64 right = !BY_ROWS ? matrix(b + i * 32, 16, 1024, 1) : WIDE ? matrix(b + i * 2048, 8192, 1024, 1) : matrix(b + i * 1024, 4096, 512, 2);
            multiply<BY_ROWS>(acc, left, right);
        }
        products_end();
        products_wait<1>();
        if (k > 0 && threadIdx.x % 128 == 0) arrive(&empty[(k - 1) % STAGES]);
    }
    products_wait<0>();
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32 % 4;
    finish(acc, blockIdx.y * 128 + (group - 1) * 64 + warp * 16 + lane / 4, blockIdx.x * 128 + lane % 4 * 2);
}

template <bool WIDE>
__device__ __forceinline__ void by_rows(const TensorMap &a, const TensorMap &b, __half *C, int N, int K) {
    produce<true, WIDE>(a, b, 0, K / 64, [&](const float (&d)[64], int row, int col) {
        __half *c = C + (size_t)row * N + col;
#pragma unroll
        for (int j = 0; j < 16; j++) {
            *(__half2 *)(c + j * 8) = __floats2half2_rn(d[4 * j], d[4 * j + 1]);
            *(__half2 *)(c + 8 * (size_t)N + j * 8) = __floats2half2_rn(d[4 * j + 2], d[4 * j + 3]);
        }
    });
}
extern "C" __global__ void __launch_bounds__(384)
    wgmma_by_rows_128(const __grid_constant__ TensorMap a, const __grid_constant__ TensorMap b, __half *C, int N, int K) { by_rows<true>(a, b, C, N, K); }
extern "C" __global__ void __launch_bounds__(384)
    wgmma_by_rows_64(const __grid_constant__ TensorMap a, const __grid_constant__ TensorMap b, __half *C, int N, int K) { by_rows<false>(a, b, C, N, K); }

// A third axis of the grid has the parts of the depth.
extern "C" __global__ void __launch_bounds__(384)
    wgmma_parts_added(const __grid_constant__ TensorMap a, const __grid_constant__ TensorMap b, float *C, int N, int part) {
    produce<false, true>(a, b, blockIdx.z * part, part / 64, [&](const float (&d)[64], int row, int col) {
        float *c = C + (size_t)row * N + col;
#pragma unroll
        for (int j = 0; j < 16; j++)
#pragma unroll
            for (int e = 0; e < 4; e++) atomicAdd(c + e / 2 * 8 * (size_t)N + j * 8 + e % 2, d[4 * j + e]);
    });
}
