// A tile of 64 rows by TMA, under each swizzle, and two ways to read it: a warp's lanes along a
// column (which the swizzle spreads over the banks) and along a row.
#include "hopper.cuh"

template <int SPAN> __device__ __forceinline__ u32 swizzled(u32 byte) {
    return SPAN == 0 ? byte : byte ^ (byte >> 3 & (SPAN / 16 - 1) << 4);
}

template <int SPAN, int BYTES>
__device__ __forceinline__ void turn(const TensorMap *map, float *columns, float *rows) {
    __shared__ alignas(1024) unsigned char tile[64 * BYTES];
    __shared__ alignas(8) u64 barrier;
    constexpr int WIDTH = BYTES / 4;
    if (threadIdx.x == 0) {
        prefetch_map(map);
        barrier_init(&barrier, 1);
        barriers_are_visible();
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        arrive_and_expect(&barrier, 64 * BYTES);
        load_tile(tile, map, &barrier, blockIdx.x * WIDTH, blockIdx.y * 64);
    }
    wait(&barrier, 0);
    int at = (blockIdx.y * gridDim.x + blockIdx.x) * 64 * WIDTH;
    for (int i = threadIdx.x; i < 64 * WIDTH; i += blockDim.x) {
        int row = i % 64, column = i / 64;
        columns[at + i] = *(float *)(tile + swizzled<SPAN>(row * BYTES + column * 4));
    }
    for (int i = threadIdx.x; i < 16 * WIDTH; i += blockDim.x) {
        float4 four = *(float4 *)(tile + swizzled<SPAN>(i * 16));
        *(float4 *)(rows + at + 4 * i) = four;
    }
}

#define TURN(NAME, SPAN, BYTES)                                                                    \
    extern "C" __global__ void NAME(const __grid_constant__ TensorMap map, float *columns,        \
                                    float *rows) {                                                \
        turn<SPAN, BYTES>(&map, columns, rows);                                                   \
    }

TURN(turn_none, 0, 128)
TURN(turn_32, 32, 32)
TURN(turn_64, 64, 64)
TURN(turn_128, 128, 128)
