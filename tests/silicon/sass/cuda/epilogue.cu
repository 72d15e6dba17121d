// The way out of a product: warps put 16 x 64 halves each into a tile by stmatrix, TMA stores the
// tile. Rows of 128 bytes: plain, eight rows of a matrix meet in the same banks; under the swizzle
// of the tensor map they do not.
#include "hopper.cuh"

template <bool SWIZZLED>
__device__ __forceinline__ void finish(const TensorMap *map, const float *in, int n) {
    __shared__ alignas(1024) __half tile[64 * 64];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    // Lane 4 g + q holds of each 8 columns 2 q and 2 q + 1, of rows g and g + 8.
    const float *from = in + (blockIdx.y * 64 + warp * 16 + lane / 4) * n + blockIdx.x * 64;
    for (int j = 0; j < 8; j += 2) {
        u32 words[4];
        for (int part = 0; part < 4; ++part) {
            const float *at = from + part % 2 * 8 * n + (j + part / 2) * 8 + lane % 4 * 2;
            __half2 pair = __floats2half2_rn(at[0], at[1]);
            words[part] = *reinterpret_cast<u32 *>(&pair);
        }
        int row = warp * 16 + lane % 16, chunk = j + lane / 16;
        u32 to = shared_address(tile) + row * 128 + (SWIZZLED ? chunk ^ row % 8 : chunk) * 16;
        asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(to),
                     "r"(words[0]), "r"(words[1]), "r"(words[2]), "r"(words[3])
                     : "memory");
    }
    writes_are_visible();
    __syncthreads();
    if (warp == 0 && elected()) {
        store_tile(map, tile, blockIdx.x * 64, blockIdx.y * 64);
        commit_copies();
        wait_for_reads();
    }
}

extern "C" __global__ void __launch_bounds__(128)
    finish_plain(const __grid_constant__ TensorMap map, const float *in, int n) {
    finish<false>(&map, in, n);
}

extern "C" __global__ void __launch_bounds__(128)
    finish_swizzled(const __grid_constant__ TensorMap map, const float *in, int n) {
    finish<true>(&map, in, n);
}
