// Which elements a wgmma reads by a descriptor with a base offset: B's are their numbers, A is the
// identity. A block for each swizzle, step of 32 bytes, row of 128 bytes to start in, base offset.
#include "hopper.cuh"

__device__ __forceinline__ void multiply(float (&d)[4], u64 a, u64 b) {
    asm volatile("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16"
                 " {%0, %1, %2, %3}, %4, %5, 1, 1, 1, 0, 0;"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "l"(a), "l"(b));
}

extern "C" __global__ void offsets(float *out) {
    __shared__ alignas(1024) __half b[2048];
    __shared__ alignas(1024) __half a[64 * 16];
    int which = blockIdx.x, offset = which & 7, row = which >> 3 & 7, step = which >> 6 & 3;
    int mode = (which >> 8) + 1;
    for (int i = threadIdx.x; i < 2048; i += 128) b[i] = __int2half_rn(i);
    for (int i = threadIdx.x; i < 1024; i += 128) {  // core matrices of 8 x 16 bytes, no swizzle
        int core = i / 64, y = core % 8 * 8 + i / 8 % 8, x = core / 8 * 8 + i % 8;
        a[i] = __int2half_rn(y == x);
    }
    writes_are_visible();
    __syncthreads();
    float d[4] = {};
    u64 right = matrix((char *)b + 128 * row + 32 * step, 16, 1024, mode) | (u64)offset << 49;
    products_begin();
    multiply(d, matrix(a, 1024, 128, 0), right);
    products_end();
    products_wait<0>();
    if (threadIdx.x < 32) {
        int y = threadIdx.x / 4, x = 2 * (threadIdx.x % 4);
        float *to = out + which * 128;
        for (int i = 0; i < 4; ++i) to[(y + i / 2 * 8) * 8 + x + i % 2] = d[i];
    }
}
