// One warpgroup's products of 8-bit floats, of bytes and of tf32: D (64 x 32) = A (64 x k) times
// B (32 x k: its rows along k). Each of k's tiles has rows of 128 bytes; the operands lie in shared
// memory with a swizzle of 128 bytes.
#include "hopper.cuh"

__device__ __forceinline__ void multiply_e4m3(float (&d)[16], u64 a, u64 b, int add) {
    asm volatile(
        "{\n .reg .pred p;\n setp.ne.b32 p, %18, 0;\n"
        " wgmma.mma_async.sync.aligned.m64n32k32.f32.e4m3.e4m3 {"
        "%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15"
        "}, %16, %17, p, 1, 1;\n}"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]),
          "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]),
          "+f"(d[14]), "+f"(d[15])
        : "l"(a), "l"(b), "r"(add));
}

__device__ __forceinline__ void multiply_s8(int (&d)[16], u64 a, u64 b, int add) {
    asm volatile(
        "{\n .reg .pred p;\n setp.ne.b32 p, %18, 0;\n"
        " wgmma.mma_async.sync.aligned.m64n32k32.s32.s8.s8 {"
        "%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15"
        "}, %16, %17, p;\n}"
        : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3]), "+r"(d[4]), "+r"(d[5]), "+r"(d[6]),
          "+r"(d[7]), "+r"(d[8]), "+r"(d[9]), "+r"(d[10]), "+r"(d[11]), "+r"(d[12]), "+r"(d[13]),
          "+r"(d[14]), "+r"(d[15])
        : "l"(a), "l"(b), "r"(add));
}

__device__ __forceinline__ void multiply_tf32(float (&d)[16], u64 a, u64 b, int add) {
    asm volatile(
        "{\n .reg .pred p;\n setp.ne.b32 p, %18, 0;\n"
        " wgmma.mma_async.sync.aligned.m64n32k8.f32.tf32.tf32 {"
        "%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15"
        "}, %16, %17, p, 1, 1;\n}"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]),
          "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]),
          "+f"(d[14]), "+f"(d[15])
        : "l"(a), "l"(b), "r"(add));
}

template <typename Sum, typename Multiply>
__device__ __forceinline__ void product(const TensorMap *a, const TensorMap *b, Sum *d, int tiles,
                                        int elements, Multiply multiply) {
    __shared__ alignas(1024) unsigned char a_tile[64 * 128], b_tile[32 * 128];
    __shared__ alignas(8) u64 full;
    if (threadIdx.x == 0) {
        barrier_init(&full, 1);
        barriers_are_visible();
    }
    __syncthreads();
    Sum sums[16];
    for (int i = 0; i < tiles; ++i) {
        if (threadIdx.x == 0) {
            arrive_and_expect(&full, sizeof a_tile + sizeof b_tile);
            load_tile(a_tile, a, &full, i * elements, 0);
            load_tile(b_tile, b, &full, i * elements, 0);
        }
        wait(&full, i & 1);
        products_begin();
        for (int at = 0; at < 128; at += 32)
            multiply(sums, matrix(a_tile + at, 16, 1024, 1), matrix(b_tile + at, 16, 1024, 1),
                     i + at > 0);
        products_end();
        products_wait<0>();
        __syncthreads();
    }
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    d += (warp * 16 + lane / 4) * 32 + lane % 4 * 2;
    for (int j = 0; j < 16; ++j) d[j / 4 * 8 + (j & 2) * 4 * 32 + (j & 1)] = sums[j];
}

#define PRODUCT(NAME, SUM, ELEMENTS)                                                               \
    extern "C" __global__ void __launch_bounds__(128)                                             \
        product_##NAME(const __grid_constant__ TensorMap a, const __grid_constant__ TensorMap b,  \
                       SUM *d, int tiles) {                                                       \
        product(&a, &b, d, tiles, ELEMENTS, multiply_##NAME);                                     \
    }

PRODUCT(e4m3, float, 128)
PRODUCT(s8, int, 128)
PRODUCT(tf32, float, 32)
