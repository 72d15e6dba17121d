// A GEMM by wgmma whose tiles TMA brings: rows of 128 bytes that it swizzles, or columns of core matrices, a copy for each 16 bytes of depth.
#include <cuda_runtime.h>

#include "../../sass/cuda/hopper.cuh"

extern __shared__ __align__(1024) unsigned char smem[];

#define R8(i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3]), "+f"(d[i + 4]), "+f"(d[i + 5]), "+f"(d[i + 6]), "+f"(d[i + 7])

__device__ __forceinline__ void wgmma_64x128x16(float (&d)[64], u64 a, u64 b) {
    asm volatile(
        "wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16 "
        "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
        "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
        "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
        "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63}, %64, %65, 1, 1, 1, 0, 0;"
        : R8(0), R8(8), R8(16), R8(24), R8(32), R8(40), R8(48), R8(56)
        : "l"(a), "l"(b));
}

// C = A * B^T of halves: 128 x 128 x 64 a block, two warpgroups of 64 x 128, four stages. Thread 0 asks for the tiles.
template <bool SWIZZLED>
__device__ __forceinline__ void gemm_tma(const TensorMap &a_map, const TensorMap &b_map, half *C, int N, int K) {
    constexpr int TILE = 128 * 64 * 2, STAGES = 4;
    __shared__ alignas(8) u64 full[STAGES];
    const int tid = threadIdx.x, group = tid / 128, warp = tid / 32 % 4, lane = tid % 32, steps = K / 64;
    const int m0 = blockIdx.y * 128, n0 = blockIdx.x * 128;
    auto ask = [&](int step) {
        unsigned char *a = smem + step % STAGES * 2 * TILE, *b = a + TILE;
        u64 *bar = &full[step % STAGES];
        arrive_and_expect(bar, 2 * TILE);
        if (SWIZZLED) {
            load_tile(a, &a_map, bar, step * 64, m0);
            load_tile(b, &b_map, bar, step * 64, n0);
        } else {
            for (int c = 0; c < 8; c++) {
                load_tile(a + c * 2048, &a_map, bar, step * 64 + c * 8, m0);
                load_tile(b + c * 2048, &b_map, bar, step * 64 + c * 8, n0);
            }
        }
    };
    if (tid == 0) {
        for (int i = 0; i < STAGES; i++) barrier_init(&full[i], 1);
        barriers_are_visible();
        for (int i = 0; i < STAGES - 1; i++) ask(i);
    }
    __syncthreads();
    float acc[64] = {};
    for (int step = 0; step < steps; step++) {
        wait(&full[step % STAGES], step / STAGES & 1);
        const unsigned char *a = smem + step % STAGES * 2 * TILE, *b = a + TILE;
        products_begin();
#pragma unroll
        for (int k = 0; k < 4; k++) {
            if (SWIZZLED)
                wgmma_64x128x16(acc, matrix(a + group * 8192 + k * 32, 16, 1024, 1), matrix(b + k * 32, 16, 1024, 1));
            else
                wgmma_64x128x16(acc, matrix(a + group * 1024 + k * 4096, 2048, 128, 0), matrix(b + k * 4096, 2048, 128, 0));
        }
        products_end();
        products_wait<0>();
        __syncthreads();  // nobody reads the stage before this one any more
        if (tid == 0 && step + STAGES - 1 < steps) ask(step + STAGES - 1);
    }
    half *c = C + (size_t)(m0 + group * 64 + warp * 16 + lane / 4) * N + n0 + lane % 4 * 2;
#pragma unroll
    for (int j = 0; j < 16; j++) {
        *reinterpret_cast<half2 *>(c + j * 8) = __floats2half2_rn(acc[4 * j], acc[4 * j + 1]);
        *reinterpret_cast<half2 *>(c + 8 * (size_t)N + j * 8) = __floats2half2_rn(acc[4 * j + 2], acc[4 * j + 3]);
    }
}

extern "C" __global__ void __launch_bounds__(256)
    gemm_tma_cores(const __grid_constant__ TensorMap a, const __grid_constant__ TensorMap b, half *C, int N, int K) { gemm_tma<false>(a, b, C, N, K); }
extern "C" __global__ void __launch_bounds__(256)
    gemm_tma_swizzled(const __grid_constant__ TensorMap a, const __grid_constant__ TensorMap b, half *C, int N, int K) { gemm_tma<true>(a, b, C, N, K); }
