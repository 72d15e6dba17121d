// Pictures, sounds and grids: a picture of three bytes a pixel turned, floats of eight bits turned and widened, a convolution by steps of four, a matrix of seven diagonals on a grid.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
#include <cuda_runtime.h>
#include <stdint.h>

// ------------------------------------------------------------------------------------------------
// Turn a picture of three bytes a pixel to the right, 32 x 32 pixels a block: words come in and go out.
template <int LD>
__device__ __forceinline__ void turn_colours(const uint8_t *in, uint8_t *out, int width, int height) {
    __shared__ alignas(4) uint8_t tile[32 * LD];
    const size_t from = (size_t)blockIdx.y * 32 * width * 3 + blockIdx.x * 96, to = (size_t)blockIdx.x * 32 * height * 3 + (size_t)(height / 32 - 1 - blockIdx.y) * 96;
#pragma unroll
    for (int i = threadIdx.x; i < 768; i += 256) *(uint32_t *)&tile[i / 24 * LD + i % 24 * 4] = *(const uint32_t *)&in[from + (size_t)(i / 24) * width * 3 + i % 24 * 4];
    __syncthreads();
#pragma unroll
    for (int i = threadIdx.x; i < 768; i += 256) {
        const int column = i / 24, first = i % 24 * 4;
        uint32_t word = 0;
#pragma unroll
        for (int j = 0; j < 4; j++) word |= (uint32_t)tile[(31 - (first + j) / 3) * LD + column * 3 + (first + j) % 3] << (8 * j);
        *(uint32_t *)&out[to + (size_t)column * height * 3 + first] = word;
    }
}
extern "C" __global__ void __launch_bounds__(256) turn_colours_plain(const uint8_t *in, uint8_t *out, int width, int height) { turn_colours<96>(in, out, width, height); }
extern "C" __global__ void __launch_bounds__(256) turn_colours_padded(const uint8_t *in, uint8_t *out, int width, int height) { turn_colours<100>(in, out, width, height); }

// ------------------------------------------------------------------------------------------------
// Turn a matrix of e4m3 and widen it to bfloat16 by its rows' scales, 64 x 64 a block: words come in, four neighbours of eight bytes go out.
enum Words { PLAIN, PADDED, SWIZZLED };
template <Words HOW>
__device__ __forceinline__ void turn_eights(const uint8_t *in, const float *scale, __nv_bfloat16 *out, int rows, int cols) {
    constexpr int LD = HOW == PADDED ? 17 : 16;
    __shared__ uint32_t tile[64 * LD];
    const int x = threadIdx.x % 16, y = threadIdx.x / 16;
    in += (size_t)blockIdx.y * 64 * cols + blockIdx.x * 64;
    out += (size_t)blockIdx.x * 64 * rows + blockIdx.y * 64;
    auto at = [](int row, int word) { return row * LD + (HOW == SWIZZLED ? word ^ (row / 4 & 15) : word); };
#pragma unroll
    for (int i = y; i < 64; i += 16) tile[at(i, x)] = *(const uint32_t *)&in[(size_t)i * cols + x * 4];
    const float4 by = *(const float4 *)&scale[blockIdx.y * 64 + x * 4];
    __syncthreads();
#pragma unroll
    for (int i = y; i < 64; i += 16) {
        uint32_t bytes = 0;
#pragma unroll
        for (int j = 0; j < 4; j++) bytes |= (uint32_t)((const uint8_t *)tile)[at(x * 4 + j, i / 4) * 4 + i % 4] << (8 * j);
        const __half2_raw low = __nv_cvt_fp8x2_to_halfraw2((__nv_fp8x2_storage_t)(bytes & 65535), __NV_E4M3);
        const __half2_raw high = __nv_cvt_fp8x2_to_halfraw2((__nv_fp8x2_storage_t)(bytes >> 16), __NV_E4M3);
        const float2 a = __half22float2(__half2(low)), b = __half22float2(__half2(high));
        const __nv_bfloat162 first = __floats2bfloat162_rn(a.x * by.x, a.y * by.y), second = __floats2bfloat162_rn(b.x * by.z, b.y * by.w);
        *(uint2 *)&out[(size_t)i * rows + x * 4] = make_uint2(*(const uint32_t *)&first, *(const uint32_t *)&second);
    }
}
extern "C" __global__ void __launch_bounds__(256) turn_eights_plain(const uint8_t *in, const float *scale, __nv_bfloat16 *out, int rows, int cols) { turn_eights<PLAIN>(in, scale, out, rows, cols); }
extern "C" __global__ void __launch_bounds__(256) turn_eights_padded(const uint8_t *in, const float *scale, __nv_bfloat16 *out, int rows, int cols) { turn_eights<PADDED>(in, scale, out, rows, cols); }
extern "C" __global__ void __launch_bounds__(256) turn_eights_swizzled(const uint8_t *in, const float *scale, __nv_bfloat16 *out, int rows, int cols) { turn_eights<SWIZZLED>(in, scale, out, rows, cols); }

// ------------------------------------------------------------------------------------------------
// A convolution of sounds by eight taps and steps of four (an argument), eight filters over all channels. The samples lie in order, or those of each phase together.
template <bool PHASES>
__device__ __forceinline__ void strided_sounds(const float *in, const float *filters, float *out, int channels, int length, int step) {
    __shared__ float samples[4 * 264];
    __shared__ alignas(16) float taps[64];
    const int tid = threadIdx.x, times = gridDim.x * 256;
    in += (size_t)blockIdx.y * channels * length + blockIdx.x * 1024;
    auto at = [&](int time, int phase) { return PHASES ? phase * 264 + time : time * step + phase; };
    float sums[8] = {};
    for (int c = 0; c < channels; c++) {
        for (int i = tid; i < 1028; i += 256) samples[at(i / 4, i % 4)] = in[(size_t)c * length + i];
        if (tid < 64) taps[tid] = filters[c * 64 + tid];
        __syncthreads();
        float x[8];
#pragma unroll
        for (int i = 0; i < 8; i++) x[i] = samples[at(tid + i / 4, i % 4)];
#pragma unroll
        for (int f = 0; f < 8; f++) {
            const float4 a = *(const float4 *)&taps[f * 8], b = *(const float4 *)&taps[f * 8 + 4];
            sums[f] += a.x * x[0] + a.y * x[1] + a.z * x[2] + a.w * x[3] + b.x * x[4] + b.y * x[5] + b.z * x[6] + b.w * x[7];
        }
        __syncthreads();
    }
#pragma unroll
    for (int f = 0; f < 8; f++) out[((size_t)blockIdx.y * 8 + f) * times + blockIdx.x * 256 + tid] = fmaxf(sums[f], 0.1f * sums[f]);
}
extern "C" __global__ void __launch_bounds__(256) strided_sounds_in_order(const float *in, const float *filters, float *out, int channels, int length, int step) { strided_sounds<false>(in, filters, out, channels, length, step); }
extern "C" __global__ void __launch_bounds__(256) strided_sounds_by_phases(const float *in, const float *filters, float *out, int channels, int length, int step) { strided_sounds<true>(in, filters, out, channels, length, step); }

// ------------------------------------------------------------------------------------------------
// A matrix of seven diagonals on a grid of three axes by a vector, as a solver of pressures wants; a thread goes up four planes.
extern "C" __global__ void __launch_bounds__(128) seven_diagonals(const float *matrix, const float *x, float *y, int nx, int ny, int nz) {
    const int i = blockIdx.x * 32 + threadIdx.x, j = blockIdx.y * 4 + threadIdx.y, k0 = blockIdx.z * 4;
    const size_t plane = (size_t)nx * ny, all = plane * nz;
    size_t at = k0 * plane + (size_t)j * nx + i;
    float below = k0 > 0 ? x[at - plane] : 0.f, here = x[at];
#pragma unroll
    for (int k = k0; k < k0 + 4; k++, at += plane) {
        const float above = k + 1 < nz ? x[at + plane] : 0.f;
        float sum = matrix[at] * here + matrix[5 * all + at] * below + matrix[6 * all + at] * above;
        if (i > 0) sum += matrix[all + at] * x[at - 1];
        if (i + 1 < nx) sum += matrix[2 * all + at] * x[at + 1];
        if (j > 0) sum += matrix[3 * all + at] * x[at - nx];
        if (j + 1 < ny) sum += matrix[4 * all + at] * x[at + nx];
        y[at] = sum;
        below = here;
        here = above;
    }
}
