// A row, a query or a list per warp or block: sums, norms, attention, walks through memory.
#include <cuda_fp16.h>

__device__ __forceinline__ float sum_of_warp(float v) {
    for (int k = 16; k; k /= 2) v += __shfl_xor_sync(~0u, v, k);
    return v;
}
__device__ __forceinline__ float most_of_warp(float v) {
    for (int k = 16; k; k /= 2) v = fmaxf(v, __shfl_xor_sync(~0u, v, k));
    return v;
}

extern "C" __global__ void sums(const float4 *in, float *out, int n) {
    __shared__ float part[32];
    float sum = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        const float4 v = in[i];
        sum += v.x + v.y + v.z + v.w;
    }
    sum = sum_of_warp(sum);
    if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x < 32) {
        sum = sum_of_warp(threadIdx.x < blockDim.x / 32 ? part[threadIdx.x] : 0);
        if (threadIdx.x == 0) out[blockIdx.x] = sum;
    }
}

// A warp per row of 1024: the row stays in registers.
extern "C" __global__ void softmax_warps(const float *in, float *out) {
    const int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    float v[32], most = -1e30f, sum = 0;
    for (int k = 0; k < 32; ++k) v[k] = in[row * 1024 + k * 32 + lane], most = fmaxf(most, v[k]);
    most = most_of_warp(most);
    for (int k = 0; k < 32; ++k) v[k] = __expf(v[k] - most), sum += v[k];
    const float by = 1.0f / sum_of_warp(sum);
    for (int k = 0; k < 32; ++k) out[row * 1024 + k * 32 + lane] = v[k] * by;
}

extern "C" __global__ void rmsnorm(const half2 *in, const half2 *scale, half2 *out, int n) {
    __shared__ float part[8];
    in += blockIdx.x * n, out += blockIdx.x * n;
    float sum = 0;
    for (int i = threadIdx.x; i < n; i += 256) {
        const float2 v = __half22float2(in[i]);
        sum += v.x * v.x + v.y * v.y;
    }
    sum = sum_of_warp(sum);
    if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = sum;
    __syncthreads();
    sum = 0;
    for (int k = 0; k < 8; ++k) sum += part[k];
    const float by = rsqrtf(sum / (2 * n) + 1e-6f);
    for (int i = threadIdx.x; i < n; i += 256) {
        const float2 v = __half22float2(in[i]), s = __half22float2(scale[i]);
        out[i] = __floats2half2_rn(v.x * by * s.x, v.y * by * s.y);
    }
}

// Prefix sums of rows of 1024: warps by shuffles, then their totals.
extern "C" __global__ void row_scan(const int *in, int *out) {
    __shared__ int totals[8];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const int4 v = ((const int4 *)in)[blockIdx.x * 256 + threadIdx.x];
    const int a = v.x, b = a + v.y, c = b + v.z, d = c + v.w;
    int sum = d;
    for (int k = 1; k < 32; k *= 2) {
        const int other = __shfl_up_sync(~0u, sum, k);
        if (lane >= k) sum += other;
    }
    if (lane == 31) totals[warp] = sum;
    __syncthreads();
    int before = sum - d;
    for (int k = 0; k < warp; ++k) before += totals[k];
    ((int4 *)out)[blockIdx.x * 256 + threadIdx.x] =
        make_int4(before + a, before + b, before + c, before + d);
}

// A lane per query of 32 floats; keys and values pass through shared memory. A warp reads keys by
// columns: rows of 32 words meet, rows of 33 do not.
template <int ROW>
__device__ void attend(const float *q, const float *k, const float *v, float *out, int n) {
    __shared__ float keys[32][ROW], values[32][ROW], share[4][32];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const int query = blockIdx.x * 4 + warp;
    float most = -1e30f, total = 0, sum = 0;
    const float mine = q[query * 32 + lane];
    for (int at = 0; at < n; at += 32) {
        __syncthreads();
        for (int r = warp; r < 32; r += 4) {
            keys[r][lane] = k[(at + r) * 32 + lane];
            values[r][lane] = v[(at + r) * 32 + lane];
        }
        __syncthreads();
        float score = 0;
        for (int d = 0; d < 32; ++d) score += __shfl_sync(~0u, mine, d) * keys[lane][d];
        const float now = fmaxf(most, most_of_warp(score)), scale = __expf(most - now);
        const float p = __expf(score - now);
        total = total * scale + sum_of_warp(p), most = now;
        share[warp][lane] = p;
        __syncwarp();
        sum *= scale;
        for (int r = 0; r < 32; ++r) sum += share[warp][r] * values[r][lane];
        __syncwarp();
    }
    out[query * 32 + lane] = sum / total;
}
extern "C" __global__ void attend_plain(const float *q, const float *k, const float *v, float *out,
                                        int n) {
    attend<32>(q, k, v, out, n);
}
extern "C" __global__ void attend_padded(const float *q, const float *k, const float *v, float *out,
                                         int n) {
    attend<33>(q, k, v, out, n);
}

// Each lane follows its own chain: a load waits for the one before.
extern "C" __global__ void chase(const unsigned *next, unsigned *out, int n, int steps) {
    unsigned at = (blockIdx.x * blockDim.x + threadIdx.x) * 2654435761u;
    for (int k = 0; k < steps; ++k) at = next[at % n] + k;
    out[blockIdx.x * blockDim.x + threadIdx.x] = at;
}

// Keeps what is above a limit: a warp asks for room with one atomic.
extern "C" __global__ void compact(const float *in, float *out, int *count, float limit) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x % 32;
    const float v = in[i];
    const unsigned kept = __ballot_sync(~0u, v > limit);
    int base = 0;
    if (lane == 0 && kept) base = atomicAdd(count, __popc(kept)) & 0xFFFFF;
    base = __shfl_sync(~0u, base, 0);
    if (v > limit) out[base + __popc(kept & (1u << lane) - 1)] = v;
}

extern "C" __global__ void scatter_add(const unsigned *keys, const float *values, float *bins,
                                       unsigned mask) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    atomicAdd(bins + (keys[i] & mask), values[i]);
}

// A row of a matrix of halves per warp.
extern "C" __global__ void gemv_half(const uint4 *a, const uint4 *x, float *y, int n) {
    const int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    float sum = 0;
    for (int i = lane; i < n / 8; i += 32) {
        const uint4 m = a[row * (n / 8) + i], v = x[i];
        const half2 *p = (const half2 *)&m, *q = (const half2 *)&v;
        for (int k = 0; k < 4; ++k) {
            const float2 s = __half22float2(p[k]), t = __half22float2(q[k]);
            sum += s.x * t.x + s.y * t.y;
        }
    }
    sum = sum_of_warp(sum);
    if (lane == 0) y[row] = sum;
}
