// The sixth set of timed kernels: sums, scans, norms and counts of rows.
#include <cuda_fp16.h>

__device__ __forceinline__ float sum_of_warp(float v) {
    for (int d = 16; d; d /= 2) v += __shfl_xor_sync(~0u, v, d);
    return v;
}

// The last block that is done adds what all have left.
__device__ unsigned done;
extern "C" __global__ void sum_last(const float4 *in, float *parts, float *out, int n) {
    __shared__ float sums[8];
    __shared__ bool last;
    float sum = 0;
    for (int i = blockIdx.x * 256 + threadIdx.x; i < n / 4; i += gridDim.x * 256) {
        const float4 v = in[i];
        sum += v.x + v.y + v.z + v.w;
    }
    sum = sum_of_warp(sum);
    if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int w = 1; w < 8; ++w) sum += sums[w];
        parts[blockIdx.x] = sum;
        __threadfence();
        last = atomicInc(&done, gridDim.x - 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (!last) return;
    sum = 0;
    for (int i = threadIdx.x; i < gridDim.x; i += 256) sum += ((volatile float *)parts)[i];
    sum = sum_of_warp(sum);
    if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int w = 1; w < 8; ++w) sum += sums[w];
        *out = sum;
    }
}

// RMS norm of the sum with the residual, in one pass over registers.
extern "C" __global__ void add_norm(const half2 *in, half2 *residual, const half2 *scale,
                                    half2 *out, int width) {
    __shared__ float sums[8];
    float2 v[4];
    float square = 0;
    for (int k = 0; k < 4; ++k) {
        const int at = blockIdx.x * (width / 2) + k * 256 + threadIdx.x;
        const float2 a = __half22float2(in[at]), b = __half22float2(residual[at]);
        v[k] = make_float2(a.x + b.x, a.y + b.y);
        residual[at] = __floats2half2_rn(v[k].x, v[k].y);
        square += v[k].x * v[k].x + v[k].y * v[k].y;
    }
    square = sum_of_warp(square);
    if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = square;
    __syncthreads();
    square = 0;
    for (int w = 0; w < 8; ++w) square += sums[w];
    const float by = rsqrtf(square / width + 1e-6f);
    for (int k = 0; k < 4; ++k) {
        const float2 s = __half22float2(scale[k * 256 + threadIdx.x]);
        out[blockIdx.x * (width / 2) + k * 256 + threadIdx.x] =
            __floats2half2_rn(v[k].x * by * s.x, v[k].y * by * s.y);
    }
}

// The gradient of a layer norm by its input.
extern "C" __global__ void norm_gradient(const float4 *dy, const float4 *x, const float4 *scale,
                                         const float2 *moments, float4 *dx, int width) {
    __shared__ float a[8], b[8];
    const int row = blockIdx.x;
    const float mean = moments[row].x, by = rsqrtf(moments[row].y + 1.0f);
    const int at = row * (width / 4) + threadIdx.x;
    const float4 d = dy[at], v = x[at], s = scale[threadIdx.x];
    const float g[4] = {d.x * s.x, d.y * s.y, d.z * s.z, d.w * s.w};
    const float h[4] = {(v.x - mean) * by, (v.y - mean) * by, (v.z - mean) * by, (v.w - mean) * by};
    float p = 0, q = 0;
    for (int k = 0; k < 4; ++k) p += g[k], q += g[k] * h[k];
    p = sum_of_warp(p), q = sum_of_warp(q);
    if (threadIdx.x % 32 == 0) a[threadIdx.x / 32] = p, b[threadIdx.x / 32] = q;
    __syncthreads();
    p = 0, q = 0;
    for (int w = 0; w < 8; ++w) p += a[w], q += b[w];
    p /= width, q /= width;
    dx[at] = make_float4(by * (g[0] - p - h[0] * q), by * (g[1] - p - h[1] * q),
                         by * (g[2] - p - h[2] * q), by * (g[3] - p - h[3] * q));
}

// Prefix sums of 1024 by warps, then of their totals.
extern "C" __global__ void scanned(const int *in, int *out, int *totals) {
    __shared__ int sums[32];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, i = blockIdx.x * 1024 + threadIdx.x;
    int v = in[i];
    for (int d = 1; d < 32; d *= 2) {
        const int u = __shfl_up_sync(~0u, v, d);
        if (lane >= d) v += u;
    }
    if (lane == 31) sums[warp] = v;
    __syncthreads();
    if (warp == 0) {
        int s = sums[lane];
        for (int d = 1; d < 32; d *= 2) {
            const int u = __shfl_up_sync(~0u, s, d);
            if (lane >= d) s += u;
        }
        sums[lane] = s;
    }
    __syncthreads();
    if (warp) v += sums[warp - 1];
    out[i] = v;
    if (threadIdx.x == 1023) totals[blockIdx.x] = v;
}

// Sum of exponentials of a row: 2048 columns, a block of 128 threads, 16 values each.
extern "C" __global__ void log_sum_exp(const float4 *in, float *out) {
    __shared__ float parts[4];
    float4 v[4];
    float most = -1e30f;
    for (int k = 0; k < 4; ++k) {
        v[k] = in[blockIdx.x * 512 + k * 128 + threadIdx.x];
        most = fmaxf(most, fmaxf(fmaxf(v[k].x, v[k].y), fmaxf(v[k].z, v[k].w)));
    }
    for (int d = 16; d; d /= 2) most = fmaxf(most, __shfl_xor_sync(~0u, most, d));
    if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = most;
    __syncthreads();
    most = fmaxf(fmaxf(parts[0], parts[1]), fmaxf(parts[2], parts[3]));
    __syncthreads();
    float sum = 0;
    for (int k = 0; k < 4; ++k)
        sum += __expf(v[k].x - most) + __expf(v[k].y - most) + __expf(v[k].z - most) + __expf(v[k].w - most);
    sum = sum_of_warp(sum);
    if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x == 0) out[blockIdx.x] = most + __logf(parts[0] + parts[1] + parts[2] + parts[3]);
}

// Softmax of rows of 512 halves, a warp a row.
extern "C" __global__ void softmax_half(const uint4 *in, uint4 *out) {
    const int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    uint4 raw[2] = {in[row * 64 + lane], in[row * 64 + 32 + lane]};
    float v[16], most = -1e30f, sum = 0;
    for (int k = 0; k < 8; ++k) {
        const float2 f = __half22float2(((const half2 *)raw)[k]);
        v[2 * k] = f.x, v[2 * k + 1] = f.y, most = fmaxf(most, fmaxf(f.x, f.y));
    }
    for (int d = 16; d; d /= 2) most = fmaxf(most, __shfl_xor_sync(~0u, most, d));
    for (int k = 0; k < 16; ++k) v[k] = __expf(v[k] - most), sum += v[k];
    sum = 1 / sum_of_warp(sum);
    for (int k = 0; k < 8; ++k)
        ((half2 *)raw)[k] = __floats2half2_rn(v[2 * k] * sum, v[2 * k + 1] * sum);
    out[row * 64 + lane] = raw[0], out[row * 64 + 32 + lane] = raw[1];
}

// 64 bins, counters of its own for each warp.
extern "C" __global__ void counted(const unsigned *in, unsigned *out, int each) {
    __shared__ unsigned bins[8][64];
    for (int k = threadIdx.x; k < 512; k += 256) ((unsigned *)bins)[k] = 0;
    __syncthreads();
    for (int k = 0; k < each; ++k) {
        const unsigned v = in[(blockIdx.x * each + k) * 256 + threadIdx.x];
        atomicAdd(&bins[threadIdx.x / 32][v & 63], 1);
        atomicAdd(&bins[threadIdx.x / 32][v >> 8 & 63], 1);
    }
    __syncthreads();
    if (threadIdx.x < 64) {
        unsigned sum = 0;
        for (int w = 0; w < 8; ++w) sum += bins[w][threadIdx.x];
        atomicAdd(&out[threadIdx.x], sum);
    }
}

// A pass of a radix sort by two bits, within a block of 1024 keys.
extern "C" __global__ void radix_block(const unsigned *in, unsigned *out, int shift) {
    __shared__ unsigned keys[1024];
    __shared__ int counts[4][32];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    unsigned key = in[blockIdx.x * 1024 + threadIdx.x];
    for (int pass = 0; pass < 4; ++pass) {
        const int digit = key >> (shift + 2 * pass) & 3;
        int before = 0;
        for (int d = 0; d < 4; ++d) {
            const unsigned same = __ballot_sync(~0u, digit == d);
            if (digit == d) before = __popc(same & (1u << lane) - 1);
            if (lane == 0) counts[d][warp] = __popc(same);
        }
        __syncthreads();
        if (warp == 0) {
            int carry = 0;
            for (int d = 0; d < 4; ++d) {
                const int own = counts[d][lane];
                int sum = own;
                for (int k = 1; k < 32; k *= 2) {
                    const int other = __shfl_up_sync(~0u, sum, k);
                    if (lane >= k) sum += other;
                }
                counts[d][lane] = carry + sum - own;
                carry += __shfl_sync(~0u, sum, 31);
            }
        }
        __syncthreads();
        keys[counts[digit][warp] + before] = key;
        __syncthreads();
        key = keys[threadIdx.x];
    }
    out[blockIdx.x * 1024 + threadIdx.x] = key;
}

// The mean of each channel of an image: a block a plane.
extern "C" __global__ void averaged(const float4 *in, float *out, int plane) {
    __shared__ float sums[8];
    float sum = 0;
    for (int k = threadIdx.x; k < plane / 4; k += 256) {
        const float4 v = in[blockIdx.x * (plane / 4) + k];
        sum += v.x + v.y + v.z + v.w;
    }
    sum = sum_of_warp(sum);
    if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x < 32) {
        sum = sum_of_warp(threadIdx.x < 8 ? sums[threadIdx.x] : 0);
        if (threadIdx.x == 0) out[blockIdx.x] = sum / plane;
    }
}

// y = the transpose of A times x: a thread a column, sums over rows in parts.
extern "C" __global__ void gemv_columns(const float *a, const float *x, float *y, int rows, int columns) {
    const int c = blockIdx.x * 128 + threadIdx.x, from = blockIdx.y * rows;
    float sum = 0;
#pragma unroll 8
    for (int r = 0; r < rows; ++r) sum += a[(from + r) * columns + c] * x[from + r];
    atomicAdd(&y[c], sum);
}

// Attention of one query over a part of the keys: a warp per key, 128 floats.
extern "C" __global__ void split_keys(const float4 *q, const float4 *k, const float4 *v, float4 *out,
                                      float *scores, int keys) {
    __shared__ float4 sums[8][32];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const float4 mine = q[blockIdx.x * 32 + lane];
    const int base = (blockIdx.x * gridDim.y + blockIdx.y) * keys;
    float4 sum = make_float4(0, 0, 0, 0);
    float total = 0;
    for (int i = warp; i < keys; i += 8) {
        const float4 key = k[(base + i) * 32 + lane], value = v[(base + i) * 32 + lane];
        const float p = __expf(sum_of_warp(key.x * mine.x + key.y * mine.y + key.z * mine.z + key.w * mine.w) * 0.0884f - 8);
        total += p;
        sum = make_float4(sum.x + p * value.x, sum.y + p * value.y, sum.z + p * value.z, sum.w + p * value.w);
    }
    sums[warp][lane] = sum;
    __syncthreads();
    if (warp == 0) {
        for (int w = 1; w < 8; ++w) {
            const float4 s = sums[w][lane];
            sum = make_float4(sum.x + s.x, sum.y + s.y, sum.z + s.z, sum.w + s.w);
        }
        out[(blockIdx.x * gridDim.y + blockIdx.y) * 32 + lane] = sum;
        if (lane == 0) scores[blockIdx.x * gridDim.y + blockIdx.y] = total;
    }
}
