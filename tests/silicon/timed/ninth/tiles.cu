// Kernels of the ninth set in pairs, which differ in the layout of shared memory alone.
#include <cuda_fp16.h>
#include <mma.h>

#define NAMED(NAME, RUN, PARAMETERS, ARGUMENTS, ...) \
    extern "C" __global__ void __launch_bounds__(256) NAME PARAMETERS { RUN<__VA_ARGS__> ARGUMENTS; }

// A matrix of doubles turned.
template <int PITCH> __device__ __forceinline__ void turn_doubles(const double *in, double *out, int rows, int columns) {
    __shared__ double tile[32 * PITCH];
    const int x = blockIdx.x * 32, y = blockIdx.y * 32;
    for (int j = threadIdx.y; j < 32; j += 8) tile[j * PITCH + threadIdx.x] = in[(y + j) * columns + x + threadIdx.x];
    __syncthreads();
    for (int j = threadIdx.y; j < 32; j += 8) out[(x + j) * rows + y + threadIdx.x] = tile[threadIdx.x * PITCH + j];
}
NAMED(turn_doubles_plain, turn_doubles, (const double *in, double *out, int rows, int columns), (in, out, rows, columns), 32)
NAMED(turn_doubles_padded, turn_doubles, (const double *in, double *out, int rows, int columns), (in, out, rows, columns), 33)

// A matrix of floats turned in tiles of 64, four at a time: plain, with padded rows, or swizzled.
template <int PITCH, int SWIZZLE> __device__ __forceinline__ void turn_fours(const float *in, float *out, int rows, int columns) {
    __shared__ float tile[64 * PITCH];
    const int x = blockIdx.x * 64, y = blockIdx.y * 64, c = threadIdx.x % 16 * 4, r = threadIdx.x / 16;
    for (int j = r; j < 64; j += 16) {
        const float4 v = *(const float4 *)(in + (y + j) * columns + x + c);
        const float words[4] = {v.x, v.y, v.z, v.w};
        for (int k = 0; k < 4; ++k) tile[j * PITCH + (c + k ^ (SWIZZLE ? j / 4 + j % 4 * 16 & 31 : 0))] = words[k];
    }
    __syncthreads();
    for (int j = r; j < 64; j += 16) {
        float words[4];
        for (int k = 0; k < 4; ++k) words[k] = tile[(c + k) * PITCH + (j ^ (SWIZZLE ? (c + k) / 4 + (c + k) % 4 * 16 & 31 : 0))];
        *(float4 *)(out + (x + j) * rows + y + c) = {words[0], words[1], words[2], words[3]};
    }
}
NAMED(turn_fours_plain, turn_fours, (const float *in, float *out, int rows, int columns), (in, out, rows, columns), 64, 0)
NAMED(turn_fours_padded, turn_fours, (const float *in, float *out, int rows, int columns), (in, out, rows, columns), 65, 0)
NAMED(turn_fours_swizzled, turn_fours, (const float *in, float *out, int rows, int columns), (in, out, rows, columns), 64, 1)

// A product of 64 by 64 tiles; the first factor lies turned in shared memory.
template <int PITCH> __device__ __forceinline__ void first_turned(const float *a, const float *b, float *c, int n, int depth) {
    __shared__ float left[16 * PITCH], right[16 * 64];
    const int tx = threadIdx.x % 16, ty = threadIdx.x / 16, row = blockIdx.y * 64, column = blockIdx.x * 64;
    float sum[4][4] = {};
    for (int begin = 0; begin < depth; begin += 16) {
        for (int k = threadIdx.x; k < 1024; k += 256) {
            left[k % 16 * PITCH + k / 16] = a[(row + k / 16) * depth + begin + k % 16];
            right[k] = b[(begin + k / 64) * n + column + k % 64];
        }
        __syncthreads();
        #pragma unroll
        for (int k = 0; k < 16; ++k) {
            float u[4], v[4];
            for (int i = 0; i < 4; ++i) u[i] = left[k * PITCH + ty + 16 * i], v[i] = right[k * 64 + tx + 16 * i];
            for (int i = 0; i < 4; ++i)
                for (int j = 0; j < 4; ++j) sum[i][j] += u[i] * v[j];
        }
        __syncthreads();
    }
    for (int i = 0; i < 4; ++i)
        for (int j = 0; j < 4; ++j) c[(row + ty + 16 * i) * n + column + tx + 16 * j] = sum[i][j];
}
NAMED(first_turned_plain, first_turned, (const float *a, const float *b, float *c, int n, int depth), (a, b, c, n, depth), 64)
NAMED(first_turned_padded, first_turned, (const float *a, const float *b, float *c, int n, int depth), (a, b, c, n, depth), 65)

// Means over seven along a row of 64, a thread to a row.
template <int PITCH> __device__ __forceinline__ void boxed(const float *in, float *out) {
    extern __shared__ float rows[];
    for (int k = threadIdx.x; k < 128 * 64; k += 128) rows[k / 64 * PITCH + k % 64] = in[blockIdx.x * 8192 + k];
    __syncthreads();
    float *row = rows + threadIdx.x * PITCH;
    float sum = 0, kept[7] = {};
    for (int k = 0; k < 64; ++k) {
        const float v = row[k];
        sum += v - kept[0];
        for (int j = 0; j < 6; ++j) kept[j] = kept[j + 1];
        kept[6] = v;
        row[k] = sum * (1 / 7.f);
    }
    __syncthreads();
    for (int k = threadIdx.x; k < 128 * 64; k += 128) out[blockIdx.x * 8192 + k] = rows[k / 64 * PITCH + k % 64];
}
NAMED(boxed_plain, boxed, (const float *in, float *out), (in, out), 64)
NAMED(boxed_padded, boxed, (const float *in, float *out), (in, out), 65)

// Matrices of four by four inverted, one a thread.
template <int PITCH> __device__ __forceinline__ void inverted(const float4 *in, float4 *out) {
    __shared__ float held[256 * PITCH];
    for (int k = threadIdx.x; k < 1024; k += 256) {
        const float4 v = in[blockIdx.x * 1024 + k];
        float *to = held + k / 4 * PITCH + k % 4 * 4;
        to[0] = v.x, to[1] = v.y, to[2] = v.z, to[3] = v.w;
    }
    __syncthreads();
    float m[16], *own = held + threadIdx.x * PITCH;
    for (int k = 0; k < 16; ++k) m[k] = own[k] + (k % 5 == 0 ? 4.f : 0.f);
    #pragma unroll
    for (int p = 0; p < 4; ++p) {
        const float by = 1 / m[5 * p];
        m[5 * p] = 1;
        for (int j = 0; j < 4; ++j) m[4 * p + j] *= by;
        for (int i = 0; i < 4; ++i)
            if (i != p) {
                const float f = m[4 * i + p];
                m[4 * i + p] = 0;
                for (int j = 0; j < 4; ++j) m[4 * i + j] -= f * m[4 * p + j];
            }
    }
    for (int k = 0; k < 16; ++k) own[k] = m[k];
    __syncthreads();
    for (int k = threadIdx.x; k < 1024; k += 256) {
        const float *from = held + k / 4 * PITCH + k % 4 * 4;
        out[blockIdx.x * 1024 + k] = {from[0], from[1], from[2], from[3]};
    }
}
NAMED(inverted_plain, inverted, (const float4 *in, float4 *out), (in, out), 16)
NAMED(inverted_padded, inverted, (const float4 *in, float4 *out), (in, out), 17)

// Products of halves by wmma from shared tiles of 64 by 32.
template <int PITCH> __device__ __forceinline__ void wmma_tiles(const __half *a, const __half *b, float *c, int n, int depth) {
    using namespace nvcuda::wmma;
    __shared__ __half left[64 * PITCH], right[64 * PITCH];
    const int row = blockIdx.y * 64, column = blockIdx.x * 64, warp = threadIdx.x / 32;
    fragment<accumulator, 16, 16, 16, float> sum[2];
    for (int j = 0; j < 2; ++j) fill_fragment(sum[j], 0.f);
    for (int begin = 0; begin < depth; begin += 32) {
        const int r = threadIdx.x / 4, q = threadIdx.x % 4 * 8;
        *(uint4 *)(left + r * PITCH + q) = *(const uint4 *)(a + (row + r) * depth + begin + q);
        *(uint4 *)(right + r * PITCH + q) = *(const uint4 *)(b + (column + r) * depth + begin + q);
        __syncthreads();
        for (int k = 0; k < 32; k += 16) {
            fragment<matrix_a, 16, 16, 16, __half, row_major> u;
            load_matrix_sync(u, left + warp / 2 * 16 * PITCH + k, PITCH);
            for (int j = 0; j < 2; ++j) {
                fragment<matrix_b, 16, 16, 16, __half, col_major> v;
                load_matrix_sync(v, right + (warp % 2 * 32 + j * 16) * PITCH + k, PITCH);
                mma_sync(sum[j], u, v, sum[j]);
            }
        }
        __syncthreads();
    }
    for (int j = 0; j < 2; ++j)
        store_matrix_sync(c + (row + warp / 2 * 16) * n + column + warp % 2 * 32 + j * 16, sum[j], n, mem_row_major);
}
NAMED(wmma_tiles_plain, wmma_tiles, (const __half *a, const __half *b, float *c, int n, int depth), (a, b, c, n, depth), 32)
NAMED(wmma_tiles_padded, wmma_tiles, (const __half *a, const __half *b, float *c, int n, int depth), (a, b, c, n, depth), 40)

// Sums from the left over 2048 numbers, eight side by side to a thread.
template <int STEP> __device__ __forceinline__ void owned_sums(const int *in, int *out) {
    __shared__ int values[2048 + 2048 / 32];
    __shared__ int parts[8];
    const auto at = [](int k) { return STEP ? k + k / STEP : k; };
    for (int k = threadIdx.x; k < 2048; k += 256) values[at(k)] = in[blockIdx.x * 2048 + k];
    __syncthreads();
    int own[8], sum = 0;
    for (int k = 0; k < 8; ++k) own[k] = sum += values[at(threadIdx.x * 8 + k)];
    int all = sum;
    for (int k = 1; k < 32; k *= 2) {
        const int before = __shfl_up_sync(~0u, all, k);
        if (threadIdx.x % 32 >= k) all += before;
    }
    if (threadIdx.x % 32 == 31) parts[threadIdx.x / 32] = all;
    __syncthreads();
    int base = all - sum;
    for (int k = 0; k < threadIdx.x / 32; ++k) base += parts[k];
    for (int k = 0; k < 8; ++k) values[at(threadIdx.x * 8 + k)] = base + own[k];
    __syncthreads();
    for (int k = threadIdx.x; k < 2048; k += 256) out[blockIdx.x * 2048 + k] = values[at(k)];
}
NAMED(owned_sums_plain, owned_sums, (const int *in, int *out), (in, out), 0)
NAMED(owned_sums_padded, owned_sums, (const int *in, int *out), (in, out), 32)

// Keys with values sorted by exchanges, as pairs in one array or in two.
template <int TOGETHER> __device__ __forceinline__ void with_values(const uint2 *in, uint2 *out) {
    __shared__ unsigned held[2048];
    const auto key = [](int k) { return TOGETHER ? 2 * k : k; };
    const auto value = [](int k) { return TOGETHER ? 2 * k + 1 : 1024 + k; };
    for (int k = threadIdx.x; k < 1024; k += 256) {
        const uint2 v = in[blockIdx.x * 1024 + k];
        held[key(k)] = v.x, held[value(k)] = v.y;
    }
    for (int size = 2; size <= 1024; size *= 2)
        for (int apart = size / 2; apart; apart /= 2) {
            __syncthreads();
            for (int t = threadIdx.x; t < 512; t += 256) {
                const int a = 2 * t - (t & apart - 1), b = a + apart;
                const unsigned x = held[key(a)], y = held[key(b)];
                if ((x > y) == ((a & size) == 0)) {
                    const unsigned u = held[value(a)], v = held[value(b)];
                    held[key(a)] = y, held[key(b)] = x, held[value(a)] = v, held[value(b)] = u;
                }
            }
        }
    __syncthreads();
    for (int k = threadIdx.x; k < 1024; k += 256) out[blockIdx.x * 1024 + k] = {held[key(k)], held[value(k)]};
}
NAMED(with_values_together, with_values, (const uint2 *in, uint2 *out), (in, out), 1)
NAMED(with_values_apart, with_values, (const uint2 *in, uint2 *out), (in, out), 0)
