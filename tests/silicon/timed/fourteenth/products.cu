// Kernels of the fourteenth set that multiply on tensor cores, in groups that differ in layout alone.
#include <cuda_fp16.h>

#define NAMED(NAME, THREADS, RUN, PARAMETERS, ARGUMENTS, ...) \
    extern "C" __global__ void __launch_bounds__(THREADS) NAME PARAMETERS { RUN<__VA_ARGS__> ARGUMENTS; }

__device__ __forceinline__ unsigned shared_at(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }
__device__ __forceinline__ void copied(unsigned to, const void *from) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(from) : "memory");
}
__device__ __forceinline__ void committed() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int LEFT> __device__ __forceinline__ void awaited() { asm volatile("cp.async.wait_group %0;" ::"n"(LEFT) : "memory"); }
__device__ __forceinline__ void fragment(unsigned (&v)[4], const void *from) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(v[0]), "=r"(v[1]), "=r"(v[2]), "=r"(v[3]) : "r"(shared_at(from)) : "memory");
}
__device__ __forceinline__ void multiplied(float (&sum)[4], const unsigned (&x)[4], unsigned y, unsigned z) {
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3]) : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(y), "r"(z));
}

// A convolution of three by three from 64 channels to 64, by products: 16 by 8 pixels a block, 16 by 2 a warp, and ReLU.
// Pixels lie in shared memory with their channels side by side. HOW: 0 as they are, 1 padded by sixteen bytes, 2 swizzled.
template <int HOW> __device__ __forceinline__ void nine_taps(const uint4 *in, const uint4 *weights, const float *bias, __half2 *out, int pitch) {
    constexpr int P = HOW == 1 ? 9 : 8;
    __shared__ __align__(128) uint4 pixels[180 * P], taps[2][64 * P];
    const auto at = [](int row, int part) { return row * P + (HOW == 2 ? part ^ row % 8 : part); };
    const int t = threadIdx.x, lane = t % 32, warp = t / 32;
    const auto fetch = [&](int tap) {
        if (tap < 9)
            #pragma unroll
            for (int k = t; k < 512; k += 128) copied(shared_at(taps[tap % 2] + at(k / 8, k % 8)), weights + tap * 512 + k);
        committed();
    };
    for (int k = t; k < 1440; k += 128) {
        const int pixel = k / 8, y = blockIdx.y * 8 + pixel / 18, x = blockIdx.x * 16 + pixel % 18;
        copied(shared_at(pixels + at(pixel, k % 8)), in + ((size_t)y * pitch + x) * 8 + k % 8);
    }
    fetch(0);
    float sum[2][8][4] = {};
    for (int tap = 0; tap < 9; ++tap) {
        awaited<0>();
        __syncthreads();
        fetch(tap + 1);
        #pragma unroll
        for (int k = 0; k < 8; k += 2) {
            unsigned x[2][4], y[4][4];
            for (int i = 0; i < 2; ++i) fragment(x[i], pixels + at((warp * 2 + i + tap / 3) * 18 + lane % 16 + tap % 3, k + lane / 16));
            for (int j = 0; j < 4; ++j) fragment(y[j], taps[tap % 2] + at(j * 16 + lane / 16 * 8 + lane % 8, k + lane / 8 % 2));
            for (int i = 0; i < 2; ++i)
                for (int j = 0; j < 8; ++j) multiplied(sum[i][j], x[i], y[j / 2][j % 2 * 2], y[j / 2][j % 2 * 2 + 1]);
        }
    }
    for (int i = 0; i < 2; ++i)
        for (int j = 0; j < 8; ++j)
            for (int h = 0; h < 2; ++h) {
                const int y = blockIdx.y * 8 + warp * 2 + i, x = blockIdx.x * 16 + h * 8 + lane / 4, channel = j * 8 + lane % 4 * 2;
                out[((size_t)y * (gridDim.x * 16) + x) * 32 + channel / 2] = __floats2half2_rn(
                    fmaxf(sum[i][j][2 * h] + bias[channel], 0), fmaxf(sum[i][j][2 * h + 1] + bias[channel + 1], 0));
            }
}
#define NINE_TAPS(NAME, HOW)                                                                                         \
    NAMED(NAME, 128, nine_taps, (const uint4 *in, const uint4 *weights, const float *bias, __half2 *out, int pitch), \
          (in, weights, bias, out, pitch), HOW)
NINE_TAPS(nine_taps_plain, 0)
NINE_TAPS(nine_taps_padded, 1)
NINE_TAPS(nine_taps_swizzled, 2)

// What an adapter of rank 16 adds to rows of 1024 halves: 64 rows a block, 16 a warp, both products without a stop at memory.
// Rows of 128 bytes and of 32 bytes, or of 144 and of 48.
template <int P, int Q> __device__ __forceinline__ void adapter(const uint4 *in, const uint4 *down, const uint4 *up, const __half2 *base, __half2 *out, float by) {
    __shared__ __align__(128) uint4 rows[2][64 * P], narrow[2][16 * P], wide[256 * Q];
    const int t = threadIdx.x, lane = t % 32, warp = t / 32;
    const auto fetch = [&](int step) {
        if (step < 16) {
            #pragma unroll
            for (int k = t; k < 512; k += 128)
                copied(shared_at(rows[step % 2] + k / 8 * P + k % 8), in + (size_t)(blockIdx.x * 64 + k / 8) * 128 + step * 8 + k % 8);
            copied(shared_at(narrow[step % 2] + t / 8 * P + t % 8), down + t / 8 * 128 + step * 8 + t % 8);
        }
        committed();
    };
    float sum[2][4] = {};
    fetch(0);
    for (int step = 0; step < 16; ++step) {
        awaited<0>();
        __syncthreads();
        fetch(step + 1);
        #pragma unroll
        for (int k = 0; k < 8; k += 2) {
            unsigned x[4], y[4];
            fragment(x, rows[step % 2] + (warp * 16 + lane % 16) * P + k + lane / 16);
            fragment(y, narrow[step % 2] + (lane / 16 * 8 + lane % 8) * P + k + lane / 8 % 2);
            multiplied(sum[0], x, y[0], y[1]), multiplied(sum[1], x, y[2], y[3]);
        }
    }
    const auto packed = [&](float x, float y) {
        const __half2 v = __floats2half2_rn(x * by, y * by);
        return *(const unsigned *)&v;
    };
    const unsigned x[4] = {packed(sum[0][0], sum[0][1]), packed(sum[0][2], sum[0][3]), packed(sum[1][0], sum[1][1]), packed(sum[1][2], sum[1][3])};
    for (int part = 0; part < 4; ++part) {
        __syncthreads();
        #pragma unroll
        for (int k = t; k < 512; k += 128) copied(shared_at(wide + k / 2 * Q + k % 2), up + part * 512 + k);
        committed();
        awaited<0>();
        __syncthreads();
        #pragma unroll 4
        for (int j = 0; j < 16; ++j) {
            unsigned y[4];
            fragment(y, wide + (j * 16 + lane / 16 * 8 + lane % 8) * Q + lane / 8 % 2);
            float v[2][4] = {};
            multiplied(v[0], x, y[0], y[1]), multiplied(v[1], x, y[2], y[3]);
            for (int i = 0; i < 2; ++i)
                for (int h = 0; h < 2; ++h) {
                    const size_t at = (size_t)(blockIdx.x * 64 + warp * 16 + h * 8 + lane / 4) * 512 + part * 128 + j * 8 + i * 4 + lane % 4;
                    out[at] = __hadd2(base[at], __floats2half2_rn(v[i][2 * h], v[i][2 * h + 1]));
                }
        }
    }
}
#define ADAPTER(NAME, ...)                                                                                                       \
    NAMED(NAME, 128, adapter, (const uint4 *in, const uint4 *down, const uint4 *up, const __half2 *base, __half2 *out, float by), \
          (in, down, up, base, out, by), __VA_ARGS__)
ADAPTER(adapter_plain, 8, 2)
ADAPTER(adapter_padded, 9, 3)

// C = A B^T of halves that become bytes e4m3 on their way, by one group of four warps, 128 deep at a time: 64 by 64 a block.
// HOW: 0 parts of 8 by 16 bytes side by side, 1 such parts padded by sixteen bytes, 2 rows of 128 bytes, swizzled.
template <int HOW> __device__ __forceinline__ void narrowed(const uint4 *a, const uint4 *b, float2 *c, int n, int depth) {
    constexpr int PART = HOW == 1 ? 144 : 128, EIGHT = HOW == 2 ? 1024 : 8 * PART, TILE = HOW == 2 ? 8192 : 8 * EIGHT;
    __shared__ __align__(1024) unsigned char held[2 * TILE];
    const unsigned base = shared_at(held);
    const auto at = [](int row, int part) {
        return row / 8 * EIGHT + (HOW == 2 ? row % 8 * 128 + (part ^ row % 8) * 16 : part * PART + row % 8 * 16);
    };
    const auto described = [](unsigned place) {
        return (unsigned long long)((place & 0x3ffff) >> 4) | (unsigned long long)(HOW == 2 ? 1 : PART / 16) << 16 |
               (unsigned long long)(EIGHT / 16) << 32 | (HOW == 2 ? 1ull << 62 : 0);
    };
    const auto small = [](unsigned v) {
        unsigned short to;
        asm("cvt.rn.satfinite.e4m3x2.f16x2 %0, %1;" : "=h"(to) : "r"(v));
        return (unsigned)to;
    };
    const auto both = [&](uint4 x, uint4 y) {
        return uint4{small(x.x) | small(x.y) << 16, small(x.z) | small(x.w) << 16, small(y.x) | small(y.y) << 16, small(y.z) | small(y.w) << 16};
    };
    const int t = threadIdx.x, lane = t % 32, warp = t / 32, part = t % 8, steps = depth / 128;
    float d[32] = {};
    uint4 left[4], right[4];
    const auto fetch = [&](int step) {
        #pragma unroll
        for (int r = 0; r < 4; ++r) {
            const uint4 *x = a + (size_t)(blockIdx.y * 64 + r * 16 + t / 8) * (depth / 8) + step * 16 + part * 2;
            const uint4 *y = b + (size_t)(blockIdx.x * 64 + r * 16 + t / 8) * (depth / 8) + step * 16 + part * 2;
            left[r] = both(x[0], x[1]), right[r] = both(y[0], y[1]);
        }
    };
    fetch(0);
    for (int step = 0; step < steps; ++step) {
        #pragma unroll
        for (int r = 0; r < 4; ++r) {
            *(uint4 *)(held + at(r * 16 + t / 8, part)) = left[r];
            *(uint4 *)(held + TILE + at(r * 16 + t / 8, part)) = right[r];
        }
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
        __syncthreads();
        for (int i = 0; i < 32; ++i) asm volatile("" : "+f"(d[i])::"memory");
        asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
        #pragma unroll
        for (int k = 0; k < 4; ++k) {
            const int on = k * (HOW == 2 ? 32 : 2 * PART);
            asm volatile(
                "wgmma.mma_async.sync.aligned.m64n64k32.f32.e4m3.e4m3 {%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,"
                "%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31}, %32, %33, 1, 1, 1;"
                : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]), "+f"(d[8]),
                  "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]), "+f"(d[16]),
                  "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]),
                  "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31])
                : "l"(described(base + on)), "l"(described(base + TILE + on)));
        }
        asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
        if (step + 1 < steps) fetch(step + 1);
        asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
        for (int i = 0; i < 32; ++i) asm volatile("" : "+f"(d[i])::"memory");
        __syncthreads();
    }
    for (int j = 0; j < 8; ++j)
        for (int h = 0; h < 2; ++h) {
            const int row = blockIdx.y * 64 + warp * 16 + h * 8 + lane / 4, column = blockIdx.x * 64 + j * 8 + lane % 4 * 2;
            c[((size_t)row * n + column) / 2] = {d[4 * j + 2 * h], d[4 * j + 2 * h + 1]};
        }
}
NAMED(narrowed_plain, 128, narrowed, (const uint4 *a, const uint4 *b, float2 *c, int n, int depth), (a, b, c, n, depth), 0)
NAMED(narrowed_padded, 128, narrowed, (const uint4 *a, const uint4 *b, float2 *c, int n, int depth), (a, b, c, n, depth), 1)
NAMED(narrowed_swizzled, 128, narrowed, (const uint4 *a, const uint4 *b, float2 *c, int n, int depth), (a, b, c, n, depth), 2)
