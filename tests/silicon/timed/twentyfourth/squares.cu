// Kernels of the twenty-fourth set over small matrices and convolutions, in groups that differ in the layout of shared memory alone.
#include <cuda_runtime.h>

#define KERNEL(THREADS) extern "C" __global__ void __launch_bounds__(THREADS)

// Y = A X B' for many X of 32 by 32 (a product of Kronecker's by a vector): a block four of them, A and B in shared memory.
template <int PITCH> __device__ __forceinline__ void kronecker(const float *a, const float *b, const float *in, float *out) {
    __shared__ float as[1024], bs[32 * PITCH], xs[1024], ys[1024];
    const int x = threadIdx.x, y = threadIdx.y;
    #pragma unroll
    for (int i = y; i < 32; i += 8) as[i * 32 + x] = a[i * 32 + x], bs[i * PITCH + x] = b[i * 32 + x];
    #pragma unroll 1
    for (int which = 0; which < 4; ++which) {
        const size_t base = ((size_t)blockIdx.x * 4 + which) * 1024;
        #pragma unroll
        for (int i = y; i < 32; i += 8) xs[i * 32 + x] = in[base + i * 32 + x];
        __syncthreads();
        float sum[4] = {}, last[4] = {};
        #pragma unroll 8
        for (int k = 0; k < 32; ++k) {
            const float value = xs[k * 32 + x];
            #pragma unroll
            for (int i = 0; i < 4; ++i) sum[i] += as[(i * 8 + y) * 32 + k] * value;
        }
        #pragma unroll
        for (int i = 0; i < 4; ++i) ys[(i * 8 + y) * 32 + x] = sum[i];
        __syncthreads();
        #pragma unroll 8
        for (int k = 0; k < 32; ++k) {
            const float value = bs[x * PITCH + k];
            #pragma unroll
            for (int i = 0; i < 4; ++i) last[i] += ys[(i * 8 + y) * 32 + k] * value;
        }
        #pragma unroll
        for (int i = 0; i < 4; ++i) out[base + (i * 8 + y) * 32 + x] = last[i];
    }
}
KERNEL(256) kronecker_plain(const float *a, const float *b, const float *in, float *out) { kronecker<32>(a, b, in, out); }
KERNEL(256) kronecker_padded(const float *a, const float *b, const float *in, float *out) { kronecker<33>(a, b, in, out); }

// Exponentials of matrices of 32 by 32: a series to the fifth power of an eighth of one, then three squares; a block a matrix, a thread a row's four.
template <int PITCH> __device__ __forceinline__ void exponential(const float *in, float *out) {
    __shared__ float as[32 * PITCH], ts[32 * PITCH];
    const int row = threadIdx.x, y = threadIdx.y;
    const size_t base = (size_t)blockIdx.x * 1024;
    #pragma unroll
    for (int i = y; i < 32; i += 8) {
        const float value = 0.0125f * in[base + i * 32 + row];
        as[i * PITCH + row] = value, ts[i * PITCH + row] = 0.2f * value + (i == row ? 1.0f : 0.0f);
    }
    #pragma unroll 1
    for (int step = 4; step > -3; --step) {
        __syncthreads();
        const float *left = step > 0 ? as : ts;
        const float share = step > 0 ? 1.0f / (float)step : 1.0f, one = step > 0 ? 1.0f : 0.0f;
        float sum[4] = {};
        #pragma unroll 8
        for (int k = 0; k < 32; ++k) {
            const float value = left[row * PITCH + k];
            #pragma unroll
            for (int i = 0; i < 4; ++i) sum[i] += value * ts[k * PITCH + y * 4 + i];
        }
        __syncthreads();
        #pragma unroll
        for (int i = 0; i < 4; ++i) ts[row * PITCH + y * 4 + i] = share * sum[i] + (y * 4 + i == row ? one : 0.0f);
    }
    __syncthreads();
    #pragma unroll
    for (int i = y; i < 32; i += 8) out[base + i * 32 + row] = ts[i * PITCH + row];
}
KERNEL(256) exponential_plain(const float *in, float *out) { exponential<32>(in, out); }
KERNEL(256) exponential_padded(const float *in, float *out) { exponential<33>(in, out); }

// The first layer of a residual net: seven by seven taps over three planes, every second pixel, eight channels a thread. Plain rows lie as they are;
// parted ones hold their even columns, then their odd ones.
template <bool PARTED> __device__ __forceinline__ void stem(const float *in, const float *weights, float *out) {
    __shared__ __align__(16) float ws[147 * 8];
    __shared__ float tile[3][21][70];
    const int x = threadIdx.x, y = threadIdx.y, t = y * 32 + x, image = blockIdx.z / 8, group = blockIdx.z % 8;
    const int left = blockIdx.x * 64 - 3, top = blockIdx.y * 16 - 3;
    for (int i = t; i < 147 * 8; i += 256) ws[i] = weights[(group * 8 + i % 8) * 147 + i / 8];
    for (int i = t; i < 3 * 21 * 69; i += 256) {
        const int c = i / (21 * 69), row = i / 69 % 21, column = i % 69, px = left + column, py = top + row;
        const bool inside = px >= 0 && px < 256 && py >= 0 && py < 224;
        tile[c][row][PARTED ? column % 2 * 35 + column / 2 : column] = inside ? in[((size_t)(image * 3 + c) * 224 + py) * 256 + px] : 0.0f;
    }
    __syncthreads();
    float sum[8] = {};
    #pragma unroll 1
    for (int c = 0; c < 3; ++c)
        #pragma unroll 1
        for (int j = 0; j < 7; ++j)
            #pragma unroll
            for (int i = 0; i < 7; ++i) {
                const float value = tile[c][y * 2 + j][PARTED ? i % 2 * 35 + x + i / 2 : x * 2 + i];
                const float4 *w = reinterpret_cast<const float4 *>(ws + ((c * 7 + j) * 7 + i) * 8);
                const float4 p = w[0], q = w[1];
                sum[0] += value * p.x, sum[1] += value * p.y, sum[2] += value * p.z, sum[3] += value * p.w;
                sum[4] += value * q.x, sum[5] += value * q.y, sum[6] += value * q.z, sum[7] += value * q.w;
            }
    #pragma unroll
    for (int o = 0; o < 8; ++o)
        out[((size_t)(image * 64 + group * 8 + o) * 112 + blockIdx.y * 8 + y) * 128 + blockIdx.x * 32 + x] = fmaxf(sum[o], 0.0f);
}
KERNEL(256) stem_plain(const float *in, const float *weights, float *out) { stem<false>(in, weights, out); }
KERNEL(256) stem_parted(const float *in, const float *weights, float *out) { stem<true>(in, weights, out); }

// A convolution of three by three over bytes, 64 channels to 64 that lie together: eight by eight pixels a block, a thread one channel of sixteen
// pixels; the weights of a tap lie in shared memory.
template <int PITCH> __device__ __forceinline__ void byte_taps(const uint4 *in, const int *weights, signed char *out, float scale) {
    __shared__ uint4 tile[100 * 4];
    __shared__ int ws[64 * PITCH];
    const int t = threadIdx.x, channel = t % 64, rows = t / 64 * 2;
    for (int i = t; i < 400; i += 256) {
        const int row = i / 40, column = i / 4 % 10;
        tile[i] = in[(((size_t)blockIdx.z * 66 + blockIdx.y * 8 + row) * 66 + blockIdx.x * 8 + column) * 4 + i % 4];
    }
    int sum[16] = {};
    #pragma unroll 1
    for (int tap = 0; tap < 9; ++tap) {
        __syncthreads();
        #pragma unroll
        for (int p = 0; p < 4; ++p) ws[(p * 16 + t / 16) * PITCH + t % 16] = weights[tap * 1024 + p * 256 + t];
        __syncthreads();
        const int down = rows + tap / 3, across = tap % 3;
        #pragma unroll
        for (int w = 0; w < 4; ++w) {
            int own[4];
            #pragma unroll
            for (int e = 0; e < 4; ++e) own[e] = ws[channel * PITCH + w * 4 + e];
            #pragma unroll
            for (int p = 0; p < 16; ++p) {
                const uint4 x = tile[((down + p / 8) * 10 + across + p % 8) * 4 + w];
                sum[p] = __dp4a((int)x.x, own[0], sum[p]), sum[p] = __dp4a((int)x.y, own[1], sum[p]);
                sum[p] = __dp4a((int)x.z, own[2], sum[p]), sum[p] = __dp4a((int)x.w, own[3], sum[p]);
            }
        }
    }
    #pragma unroll
    for (int p = 0; p < 16; ++p) {
        const int value = max(-128, min(127, __float2int_rn(scale * (float)sum[p])));
        out[(((size_t)blockIdx.z * 64 + blockIdx.y * 8 + rows + p / 8) * 64 + blockIdx.x * 8 + p % 8) * 64 + channel] = (signed char)value;
    }
}
KERNEL(256) byte_taps_plain(const uint4 *in, const int *weights, signed char *out, float scale) { byte_taps<16>(in, weights, out, scale); }
KERNEL(256) byte_taps_padded(const uint4 *in, const int *weights, signed char *out, float scale) { byte_taps<17>(in, weights, out, scale); }
