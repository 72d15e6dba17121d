// Halves in, floats out, without tensor cores: 128x128 block tiles, 16 deep, four warps of 64x64.
// A thread's part of a warp tile is four pieces of 8x4. Two halves are moved at a time; A is
// transposed half by half.
constexpr int TILE = 128, DEPTH = 16, THREADS = 128, PARTS = 4;
using Half = unsigned short;

__device__ __forceinline__ float widen(Half half) {
    float wide;
    asm("cvt.f32.f16 %0, %1;" : "=f"(wide) : "h"(half));
    return wide;
}

// One LDS.64: the document's compiler joins four halves, never eight.
__device__ __forceinline__ void read_four(const Half *from, float *to) {
    unsigned low, high;
    asm volatile("ld.volatile.shared.v2.u32 {%0, %1}, [%2];"
                 : "=r"(low), "=r"(high)
                 : "r"((unsigned)__cvta_generic_to_shared(from))
                 : "memory");
    to[0] = widen((Half)low), to[1] = widen((Half)(low >> 16));
    to[2] = widen((Half)high), to[3] = widen((Half)(high >> 16));
}

extern "C" __global__ void __launch_bounds__(THREADS)
    half_tiles(const Half *A, const Half *B, float *C, int m, int n, int k) {
    __shared__ __align__(128) Half a_tile[DEPTH][TILE];
    __shared__ __align__(128) Half b_tile[DEPTH][TILE];
    const int tid = threadIdx.x, warp = tid / 32, lane = tid % 32;
    const int row = warp / 2 * 64 + lane / 4 * 8, col = warp % 2 * 64 + lane % 4 * 4;
    A += (blockIdx.y * TILE + tid / 8) * k + tid % 8 * 2;
    B += tid / 64 * n + blockIdx.x * TILE + tid % 64 * 2;
    float sums[8][PARTS][4] = {};
    for (int tile = 0; tile < k; tile += DEPTH) {
        for (int load = 0; load < 8; ++load) {
            const ushort2 a = *reinterpret_cast<const ushort2 *>(&A[load * 16 * k + tile]);
            a_tile[tid % 8 * 2][tid / 8 + load * 16] = a.x;
            a_tile[tid % 8 * 2 + 1][tid / 8 + load * 16] = a.y;
            *reinterpret_cast<ushort2 *>(&b_tile[tid / 64 + load * 2][tid % 64 * 2]) =
                *reinterpret_cast<const ushort2 *>(&B[(tile + load * 2) * n]);
        }
        __syncthreads();
#pragma unroll
        for (int p = 0; p < DEPTH; ++p) {
            float a[8], b[PARTS][4];
#pragma unroll
            for (int i = 0; i < 8; i += 4) read_four(&a_tile[p][row + i], &a[i]);
#pragma unroll
            for (int part = 0; part < PARTS; ++part)
                read_four(&b_tile[p][col + part * 16], b[part]);
#pragma unroll
            for (int i = 0; i < 8; ++i)
#pragma unroll
                for (int part = 0; part < PARTS; ++part)
#pragma unroll
                    for (int j = 0; j < 4; ++j) sums[i][part][j] += a[i] * b[part][j];
        }
        __syncthreads();
    }
    for (int i = 0; i < 8; ++i)
        for (int part = 0; part < PARTS; ++part)
            *reinterpret_cast<float4 *>(&C[(blockIdx.y * TILE + row + i) * n +
                                           blockIdx.x * TILE + col + part * 16]) =
                make_float4(sums[i][part][0], sums[i][part][1], sums[i][part][2],
                            sums[i][part][3]);
}
