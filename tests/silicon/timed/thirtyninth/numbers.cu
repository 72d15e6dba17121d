// Sums, scans, counts, small matrices and transforms in shared memory; sparse rows and the Mandelbrot set.
#include <cuda_runtime.h>

// ------------------------------------------------------------------------------------------------
// Steps of the reduction ladder, 1024 floats a block of 512: neighbours first, then halves.
extern "C" __global__ void __launch_bounds__(512) reduce_interleaved(const float *in, float *out) {
    __shared__ float data[512];
    const unsigned tid = threadIdx.x, i = blockIdx.x * 1024 + tid;
    data[tid] = in[i] + in[i + 512];
    __syncthreads();
    for (unsigned s = 1; s < 512; s *= 2) {
        const unsigned index = 2 * s * tid;
        if (index < 512) data[index] += data[index + s];
        __syncthreads();
    }
    if (tid == 0) out[blockIdx.x] = data[0];
}

extern "C" __global__ void __launch_bounds__(512) reduce_sequential(const float *in, float *out) {
    __shared__ float data[512];
    const unsigned tid = threadIdx.x, i = blockIdx.x * 1024 + tid;
    data[tid] = in[i] + in[i + 512];
    __syncthreads();
    for (unsigned s = 256; s > 0; s >>= 1) {
        if (tid < s) data[tid] += data[tid + s];
        __syncthreads();
    }
    if (tid == 0) out[blockIdx.x] = data[0];
}

// The last step: a grid that strides, four floats at a time, and sums of warps by shuffles.
extern "C" __global__ void __launch_bounds__(512) reduce_shuffle(const float4 *in, float *out, int n4) {
    __shared__ float partial[16];
    float sum = 0.0f;
    for (int i = blockIdx.x * 512 + threadIdx.x; i < n4; i += gridDim.x * 512) {
        const float4 v = in[i];
        sum += v.x + v.y + v.z + v.w;
    }
    for (int d = 16; d > 0; d /= 2) sum += __shfl_down_sync(0xffffffff, sum, d);
    if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x < 32) {
        sum = threadIdx.x < 16 ? partial[threadIdx.x] : 0.0f;
        for (int d = 8; d > 0; d /= 2) sum += __shfl_down_sync(0xffffffff, sum, d);
        if (threadIdx.x == 0) atomicAdd(out, sum);
    }
}

// ------------------------------------------------------------------------------------------------
// Blelloch's scan of 1024 floats a block of 512, with and without offsets that free it of conflicts.
template <bool OFFSET>
__device__ void blelloch(const float *in, float *out) {
    __shared__ float temp[1024 + 32];
    auto at = [](int i) { return OFFSET ? i + (i >> 5) : i; };
    const int tid = threadIdx.x, base = blockIdx.x * 1024;
    temp[at(tid)] = in[base + tid];
    temp[at(tid + 512)] = in[base + tid + 512];
    int offset = 1;
    for (int d = 512; d > 0; d >>= 1) {
        __syncthreads();
        if (tid < d) temp[at(offset * (2 * tid + 2) - 1)] += temp[at(offset * (2 * tid + 1) - 1)];
        offset *= 2;
    }
    if (tid == 0) temp[at(1023)] = 0;
    for (int d = 1; d < 1024; d *= 2) {
        offset >>= 1;
        __syncthreads();
        if (tid < d) {
            const int ai = at(offset * (2 * tid + 1) - 1), bi = at(offset * (2 * tid + 2) - 1);
            const float t = temp[ai];
            temp[ai] = temp[bi];
            temp[bi] += t;
        }
    }
    __syncthreads();
    out[base + tid] = temp[at(tid)];
    out[base + tid + 512] = temp[at(tid + 512)];
}

extern "C" __global__ void __launch_bounds__(512) blelloch_plain(const float *in, float *out) { blelloch<false>(in, out); }
extern "C" __global__ void __launch_bounds__(512) blelloch_offset(const float *in, float *out) { blelloch<true>(in, out); }

// ------------------------------------------------------------------------------------------------
// Histogram of bytes, a copy of the 256 counters for each of eight warps: by bins, or by warps.
template <bool BY_WARPS>
__device__ void histogram(const unsigned *in, unsigned *out, int n) {
    __shared__ unsigned counts[256 * 8];
    const int tid = threadIdx.x, warp = tid / 32;
    auto at = [](int bin, int copy) { return BY_WARPS ? copy * 256 + bin : bin * 8 + copy; };
    for (int i = tid; i < 2048; i += 256) counts[i] = 0;
    __syncthreads();
    for (int i = blockIdx.x * 256 + tid; i < n; i += gridDim.x * 256) {
        const unsigned v = in[i];
        atomicAdd(&counts[at(v & 255, warp)], 1u);
        atomicAdd(&counts[at(v >> 8 & 255, warp)], 1u);
        atomicAdd(&counts[at(v >> 16 & 255, warp)], 1u);
        atomicAdd(&counts[at(v >> 24, warp)], 1u);
    }
    __syncthreads();
    unsigned sum = 0;
    for (int copy = 0; copy < 8; copy++) sum += counts[at(tid, copy)];
    atomicAdd(&out[tid], sum);
}

extern "C" __global__ void __launch_bounds__(256) histogram_by_bins(const unsigned *in, unsigned *out, int n) { histogram<false>(in, out, n); }
extern "C" __global__ void __launch_bounds__(256) histogram_by_warps(const unsigned *in, unsigned *out, int n) { histogram<true>(in, out, n); }

// ------------------------------------------------------------------------------------------------
// The first half of a radix sort's pass: a thread counts 16 keys by four bits in counters of its own; then digits are summed up.
enum Counters { kRows, kPaddedRows, kColumns };
template <Counters C>
__device__ void radix_count(const unsigned *keys, unsigned *out, int shift) {
    __shared__ unsigned counters[256 * 17];
    const int tid = threadIdx.x;
    auto at = [](int thread, int digit) { return C == kColumns ? digit * 256 + thread : thread * (C == kRows ? 16 : 17) + digit; };
    for (int d = 0; d < 16; d++) counters[at(tid, d)] = 0;
    const unsigned *from = keys + (size_t)blockIdx.x * 4096;
#pragma unroll
    for (int i = 0; i < 16; i++) counters[at(tid, from[i * 256 + tid] >> shift & 15)]++;
    __syncthreads();
    const int digit = tid / 16, part = tid % 16;
    unsigned sum = 0;
#pragma unroll
    for (int i = 0; i < 16; i++) sum += counters[at(part + i * 16, digit)];
    for (int d = 8; d > 0; d /= 2) sum += __shfl_xor_sync(0xffffffff, sum, d);
    if (part == 0) out[digit * gridDim.x + blockIdx.x] = sum;
}

extern "C" __global__ void __launch_bounds__(256) radix_count_rows(const unsigned *keys, unsigned *out, int shift) { radix_count<kRows>(keys, out, shift); }
extern "C" __global__ void __launch_bounds__(256) radix_count_padded(const unsigned *keys, unsigned *out, int shift) { radix_count<kPaddedRows>(keys, out, shift); }
extern "C" __global__ void __launch_bounds__(256) radix_count_columns(const unsigned *keys, unsigned *out, int shift) { radix_count<kColumns>(keys, out, shift); }

// ------------------------------------------------------------------------------------------------
// LU without pivots of matrices of 32 x 32, a warp a matrix, a thread a row.
template <int PITCH>
__device__ void lu_batched(const float *in, float *out) {
    __shared__ float matrices[4][32 * PITCH];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    float *a = matrices[warp];
    const size_t base = ((size_t)blockIdx.x * 4 + warp) * 1024;
    for (int i = 0; i < 32; i++) a[i * PITCH + lane] = in[base + i * 32 + lane] + (i == lane ? 32.0f : 0.0f);
    __syncwarp();
    float *row = a + lane * PITCH;
    for (int k = 0; k < 31; k++) {
        const float *pivot = a + k * PITCH;
        if (lane > k) {
            const float l = row[k] / pivot[k];
            row[k] = l;
            for (int j = k + 1; j < 32; j++) row[j] -= l * pivot[j];
        }
        __syncwarp();
    }
    for (int i = 0; i < 32; i++) out[base + i * 32 + lane] = a[i * PITCH + lane];
}

extern "C" __global__ void __launch_bounds__(128) lu_batched_plain(const float *in, float *out) { lu_batched<32>(in, out); }
extern "C" __global__ void __launch_bounds__(128) lu_batched_padded(const float *in, float *out) { lu_batched<33>(in, out); }

// ------------------------------------------------------------------------------------------------
// FFT of 1024 points a block of 256: bits reversed on the way in, then ten stages of butterflies.
template <bool PADDED>
__device__ void fft_1024(const float2 *in, float2 *out) {
    __shared__ float re[1024 + 32], im[1024 + 32];
    auto at = [](int i) { return PADDED ? i + i / 32 : i; };
    const int tid = threadIdx.x;
    const size_t base = (size_t)blockIdx.x * 1024;
    for (int i = tid; i < 1024; i += 256) {
        const float2 v = in[base + i];
        const int r = __brev(i) >> 22;
        re[at(r)] = v.x;
        im[at(r)] = v.y;
    }
    for (int half = 1; half < 1024; half *= 2) {
        __syncthreads();
        for (int j = tid; j < 512; j += 256) {
            const int k = j & (half - 1), lo = at(2 * j - k), hi = at(2 * j - k + half);
            float s, c;
            __sincosf(-3.14159265f * k / half, &s, &c);
            const float x = re[hi] * c - im[hi] * s, y = re[hi] * s + im[hi] * c;
            const float u = re[lo], v = im[lo];
            re[lo] = u + x, im[lo] = v + y;
            re[hi] = u - x, im[hi] = v - y;
        }
    }
    __syncthreads();
    for (int i = tid; i < 1024; i += 256) out[base + i] = make_float2(re[at(i)], im[at(i)]);
}

extern "C" __global__ void __launch_bounds__(256) fft_1024_plain(const float2 *in, float2 *out) { fft_1024<false>(in, out); }
extern "C" __global__ void __launch_bounds__(256) fft_1024_padded(const float2 *in, float2 *out) { fft_1024<true>(in, out); }

// ------------------------------------------------------------------------------------------------
// Sparse matrix by vector, a warp a row of 16 to 63 numbers; rows begin at every 64th.
extern "C" __global__ void __launch_bounds__(256) spmv_rows(const float *values, const unsigned *columns, const int *lengths, const float *x, float *y, unsigned n) {
    const int row = (blockIdx.x * 256 + threadIdx.x) / 32, lane = threadIdx.x % 32;
    const int first = row * 64, last = first + 16 + lengths[row] % 48;
    float sum = 0.0f;
    for (int i = first + lane; i < last; i += 32) sum += values[i] * __ldg(&x[columns[i] % n]);
    for (int d = 16; d > 0; d /= 2) sum += __shfl_down_sync(0xffffffff, sum, d);
    if (lane == 0) y[row] = sum;
}

// The Mandelbrot set: pixels that leave early wait for those of their warp.
extern "C" __global__ void __launch_bounds__(256) mandelbrot(int *out, int width, int height, int most) {
    const int px = blockIdx.x * 16 + threadIdx.x, py = blockIdx.y * 16 + threadIdx.y;
    if (px >= width || py >= height) return;
    const float cx = -2.2f + 3.2f * px / width, cy = -1.2f + 2.4f * py / height;
    float x = 0.0f, y = 0.0f;
    int n = 0;
    while (x * x + y * y < 4.0f && n < most) {
        const float t = x * x - y * y + cx;
        y = 2.0f * x * y + cy;
        x = t;
        n++;
    }
    out[py * width + px] = n;
}
