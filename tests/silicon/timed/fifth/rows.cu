// The fifth set of timed kernels: blocks that share a row, a list or a table.
#include <cuda_fp16.h>

__device__ __forceinline__ float sum_of_warp(float v) {
    for (int d = 16; d; d /= 2) v += __shfl_xor_sync(~0u, v, d);
    return v;
}

// Maximum and sum of a row in one pass.
extern "C" __global__ void online_softmax(const float4 *in, float4 *out, int n) {
    __shared__ float mosts[8], totals[8];
    const float4 *row = in + blockIdx.x * (n / 4);
    float most = -1e30f, total = 0;
    for (int k = threadIdx.x; k < n / 4; k += 256) {
        const float4 v = row[k];
        const float now = fmaxf(most, fmaxf(fmaxf(v.x, v.y), fmaxf(v.z, v.w)));
        total = total * __expf(most - now) + __expf(v.x - now) + __expf(v.y - now) +
                __expf(v.z - now) + __expf(v.w - now);
        most = now;
    }
    for (int d = 16; d; d /= 2) {
        const float m = __shfl_xor_sync(~0u, most, d), t = __shfl_xor_sync(~0u, total, d);
        const float now = fmaxf(most, m);
        total = total * __expf(most - now) + t * __expf(m - now), most = now;
    }
    if (threadIdx.x % 32 == 0) mosts[threadIdx.x / 32] = most, totals[threadIdx.x / 32] = total;
    __syncthreads();
    most = mosts[0];
    for (int w = 1; w < 8; ++w) most = fmaxf(most, mosts[w]);
    total = 0;
    for (int w = 0; w < 8; ++w) total += totals[w] * __expf(mosts[w] - most);
    const float by = 1 / total;
    for (int k = threadIdx.x; k < n / 4; k += 256) {
        const float4 v = row[k];
        out[blockIdx.x * (n / 4) + k] =
            make_float4(__expf(v.x - most) * by, __expf(v.y - most) * by, __expf(v.z - most) * by,
                        __expf(v.w - most) * by);
    }
}

// Groups of channels to mean 0 and variance 1: a block of 512 threads keeps its group in registers.
extern "C" __global__ void group_norm(const float4 *in, const float *scale, const float *shift,
                                      float4 *out, int each) {
    __shared__ float sums[16], squares[16];
    float4 v[4];
    float sum = 0, square = 0;
    for (int k = 0; k < 4; ++k) {
        v[k] = in[blockIdx.x * 2048 + k * 512 + threadIdx.x];
        sum += v[k].x + v[k].y + v[k].z + v[k].w;
        square += v[k].x * v[k].x + v[k].y * v[k].y + v[k].z * v[k].z + v[k].w * v[k].w;
    }
    sum = sum_of_warp(sum), square = sum_of_warp(square);
    if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = sum, squares[threadIdx.x / 32] = square;
    __syncthreads();
    sum = sum_of_warp(threadIdx.x % 32 < 16 ? sums[threadIdx.x % 16] : 0);
    square = sum_of_warp(threadIdx.x % 32 < 16 ? squares[threadIdx.x % 16] : 0);
    const float mean = sum / 8192, by = rsqrtf(square / 8192 - mean * mean + 1e-5f);
    for (int k = 0; k < 4; ++k) {
        const int channel = (k * 512 + threadIdx.x) / each;
        const float s = scale[channel] * by, t = shift[channel] - mean * s;
        out[blockIdx.x * 2048 + k * 512 + threadIdx.x] =
            make_float4(v[k].x * s + t, v[k].y * s + t, v[k].z * s + t, v[k].w * s + t);
    }
}

// Prefix sums by warps' shuffles, a tile of 256 after the other with a carry.
extern "C" __global__ void carried(const float *in, float *out, int tiles) {
    __shared__ float totals[8];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    float carry = 0;
    for (int tile = 0; tile < tiles; ++tile) {
        const int at = (blockIdx.x * tiles + tile) * 256 + threadIdx.x;
        float sum = in[at];
        for (int d = 1; d < 32; d *= 2) {
            const float other = __shfl_up_sync(~0u, sum, d);
            if (lane >= d) sum += other;
        }
        if (lane == 31) totals[warp] = sum;
        __syncthreads();
        float all = 0;
        for (int w = 0; w < 8; ++w) {
            if (w < warp) sum += totals[w];
            all += totals[w];
        }
        out[at] = sum + carry;
        carry += all;
        __syncthreads();
    }
}

// The four largest of a row, a warp a row.
extern "C" __global__ void top4(const float *in, float *out, int n) {
    const int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    float best[4] = {-1e30f, -1e30f, -1e30f, -1e30f};
    for (int k = lane; k < n; k += 32) {
        float v = in[row * n + k];
        for (int i = 0; i < 4; ++i) {
            const float low = fminf(best[i], v);
            best[i] = fmaxf(best[i], v), v = low;
        }
    }
    for (int turn = 0; turn < 4; ++turn) {
        float most = best[0];
        for (int d = 16; d; d /= 2) most = fmaxf(most, __shfl_xor_sync(~0u, most, d));
        const int owner = __ffs(__ballot_sync(~0u, best[0] == most)) - 1;
        if (lane == owner) best[0] = best[1], best[1] = best[2], best[2] = best[3], best[3] = -1e30f;
        if (lane == 0) out[row * 4 + turn] = most;
    }
}

extern "C" __global__ void dot_half(const uint4 *a, const uint4 *b, float *out, int n) {
    __shared__ float parts[8];
    float sum = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n / 8; i += gridDim.x * blockDim.x) {
        const uint4 u = a[i], v = b[i];
        const half2 *p = (const half2 *)&u, *q = (const half2 *)&v;
        half2 part = __hmul2(p[0], q[0]);
        for (int k = 1; k < 4; ++k) part = __hfma2(p[k], q[k], part);
        const float2 f = __half22float2(part);
        sum += f.x + f.y;
    }
    sum = sum_of_warp(sum);
    if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x == 0) {
        sum = 0;
        for (int w = 0; w < 8; ++w) sum += parts[w];
        atomicAdd(out, sum);
    }
}

// A row of a table of the best value per weight after another: items come one by one.
extern "C" __global__ void knapsack(const int *weights, const int *values, int *out, int items) {
    __shared__ int best[2][1024];
    for (int c = threadIdx.x; c < 1024; c += 256) best[0][c] = 0;
    int from = 0;
    for (int i = 0; i < items; ++i) {
        __syncthreads();
        const int weight = (weights[blockIdx.x * items + i] & 255) + 1;
        const int value = values[blockIdx.x * items + i] & 1023;
        for (int c = threadIdx.x; c < 1024; c += 256) {
            const int without = best[from][c];
            best[1 - from][c] = c >= weight ? max(without, best[from][c - weight] + value) : without;
        }
        from = 1 - from;
    }
    __syncthreads();
    for (int c = threadIdx.x; c < 1024; c += 256) out[blockIdx.x * 1024 + c] = best[from][c];
}

// The nearest of many points in four dimensions: all lanes read the same one.
extern "C" __global__ void nearest(const float4 *points, const float4 *queries, int *out, int n) {
    __shared__ float4 tile[256];
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const float4 q = queries[i];
    float least = 1e30f;
    int at = 0;
    for (int from = 0; from < n; from += 256) {
        __syncthreads();
        tile[threadIdx.x] = points[from + threadIdx.x];
        __syncthreads();
        for (int k = 0; k < 256; ++k) {
            const float4 p = tile[k];
            const float x = p.x - q.x, y = p.y - q.y, z = p.z - q.z, w = p.w - q.w;
            const float far_ = x * x + y * y + z * z + w * w;
            if (far_ < least) least = far_, at = from + k;
        }
    }
    out[i] = at;
}

// Attention of one query per head over a cache of keys and values: rows of 64 halves.
extern "C" __global__ void decoded(const half2 *q, const half2 *k, const half2 *v, float2 *out,
                                   int n) {
    __shared__ float mosts[4], totals[4];
    __shared__ float2 sums[4][32];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const float2 mine = __half22float2(q[blockIdx.x * 32 + lane]);
    k += blockIdx.x * n * 32, v += blockIdx.x * n * 32;
    float most = -1e30f, total = 0;
    float2 sum = make_float2(0, 0);
    for (int i = warp; i < n; i += 4) {
        const float2 key = __half22float2(k[i * 32 + lane]);
        const float score = sum_of_warp(key.x * mine.x + key.y * mine.y) * 0.125f;
        const float now = fmaxf(most, score), scale = __expf(most - now), p = __expf(score - now);
        const float2 value = __half22float2(v[i * 32 + lane]);
        total = total * scale + p, most = now;
        sum = make_float2(sum.x * scale + p * value.x, sum.y * scale + p * value.y);
    }
    sums[warp][lane] = sum;
    if (lane == 0) mosts[warp] = most, totals[warp] = total;
    __syncthreads();
    if (warp == 0) {
        for (int w = 1; w < 4; ++w) most = fmaxf(most, mosts[w]);
        total = 0, sum = make_float2(0, 0);
        for (int w = 0; w < 4; ++w) {
            const float scale = __expf(mosts[w] - most);
            total += totals[w] * scale;
            sum.x += sums[w][lane].x * scale, sum.y += sums[w][lane].y * scale;
        }
        out[blockIdx.x * 32 + lane] = make_float2(sum.x / total, sum.y / total);
    }
}

// Keys counted by their low eight bits, for a sort by radix: the block's counts go out.
extern "C" __global__ void radix_counts(const uint4 *keys, unsigned *out, int shift) {
    __shared__ unsigned counts[256];
    counts[threadIdx.x] = 0;
    __syncthreads();
    for (int k = 0; k < 8; ++k) {
        const uint4 key = keys[(blockIdx.x * 8 + k) * 256 + threadIdx.x];
        atomicAdd(&counts[key.x >> shift & 255], 1);
        atomicAdd(&counts[key.y >> shift & 255], 1);
        atomicAdd(&counts[key.z >> shift & 255], 1);
        atomicAdd(&counts[key.w >> shift & 255], 1);
    }
    __syncthreads();
    out[blockIdx.x * 256 + threadIdx.x] = counts[threadIdx.x];
}

// 2048 keys of a block in order: bitonic, two keys a thread in shared memory.
extern "C" __global__ void sorted_keys(const unsigned *in, unsigned *out) {
    __shared__ unsigned key[2048];
    for (int i = threadIdx.x; i < 2048; i += 1024) key[i] = in[blockIdx.x * 2048 + i];
    for (int size = 2; size <= 2048; size *= 2)
        for (int d = size / 2; d; d /= 2) {
            __syncthreads();
            const int low = 2 * threadIdx.x - (threadIdx.x & d - 1), high = low + d;
            const unsigned a = key[low], b = key[high];
            if (a > b == !(low & size)) key[low] = b, key[high] = a;
        }
    __syncthreads();
    for (int i = threadIdx.x; i < 2048; i += 1024) out[blockIdx.x * 2048 + i] = key[i];
}
