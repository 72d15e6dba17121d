// Kernels of set seventeen A on rows, points and bodies: softmaxes, norms, attention, means, forces.
#include <cuda_fp16.h>

#define KERNEL(THREADS) extern "C" __global__ void __launch_bounds__(THREADS)
#define ALL 0xffffffffu

// The sum of a block of at most 1024, given to all of its threads.
__device__ __forceinline__ float block_sum(float v) {
    __shared__ float warps[32];
    for (int d = 16; d > 0; d >>= 1) v += __shfl_xor_sync(ALL, v, d);
    __syncthreads();
    if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = v;
    __syncthreads();
    v = threadIdx.x % 32 < blockDim.x / 32 ? warps[threadIdx.x % 32] : 0.0f;
    for (int d = 16; d > 0; d >>= 1) v += __shfl_xor_sync(ALL, v, d);
    return v;
}

// A softmax as first written: a thread to a row, three passes over global memory.
KERNEL(128) softmax_naive(const float *in, float *out, int rows, int columns) {
    const int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    float most = -INFINITY, sum = 0.0f;
    for (int c = 0; c < columns; ++c) most = fmaxf(most, in[row * columns + c]);
    for (int c = 0; c < columns; ++c) sum += expf(in[row * columns + c] - most);
    for (int c = 0; c < columns; ++c) out[row * columns + c] = expf(in[row * columns + c] - most) / sum;
}

// Rows of 64, 64 to a block, staged in shared memory; a thread then walks along a row of its own.
template <int PITCH> __device__ __forceinline__ void softmax_staged(const float *in, float *out) {
    __shared__ float tile[64 * PITCH];
    const int t = threadIdx.x;
    const size_t base = (size_t)blockIdx.x * 4096;
    for (int i = t; i < 4096; i += 64) tile[i / 64 * PITCH + i % 64] = in[base + i];
    __syncthreads();
    float *row = tile + t * PITCH, most = row[0], sum = 0.0f;
    for (int c = 1; c < 64; ++c) most = fmaxf(most, row[c]);
    for (int c = 0; c < 64; ++c) sum += row[c] = __expf(row[c] - most);
    for (int c = 0; c < 64; ++c) row[c] /= sum;
    __syncthreads();
    for (int i = t; i < 4096; i += 64) out[base + i] = tile[i / 64 * PITCH + i % 64];
}
KERNEL(64) softmax_staged_plain(const float *in, float *out) { softmax_staged<64>(in, out); }
KERNEL(64) softmax_staged_padded(const float *in, float *out) { softmax_staged<65>(in, out); }

// A layer norm whose row, of 25,600 floats, stays in 100 KiB of shared memory.
KERNEL(1024) layernorm_long(const float *in, const float *gain, const float *bias, float *out, int columns) {
    extern __shared__ float row[];
    in += (size_t)blockIdx.x * columns;
    out += (size_t)blockIdx.x * columns;
    float sum = 0.0f, squares = 0.0f;
    for (int c = threadIdx.x; c < columns; c += blockDim.x) sum += row[c] = in[c];
    const float mean = block_sum(sum) / columns;
    for (int c = threadIdx.x; c < columns; c += blockDim.x) squares += (row[c] - mean) * (row[c] - mean);
    const float scale = rsqrtf(block_sum(squares) / columns + 1e-5f);
    for (int c = threadIdx.x; c < columns; c += blockDim.x) out[c] = (row[c] - mean) * scale * gain[c] + bias[c];
}

// A layer norm of rows of 768, a warp to a row, by Welford's means, merged by shuffles.
KERNEL(256) layernorm_welford(const float *in, const float *gain, const float *bias, float *out, int rows, int columns) {
    const int row = blockIdx.x * 8 + threadIdx.x / 32, lane = threadIdx.x % 32;
    if (row >= rows) return;
    in += (size_t)row * columns;
    float mean = 0.0f, m2 = 0.0f, count = 0.0f;
    for (int c = lane; c < columns; c += 32) {
        const float delta = in[c] - mean;
        count += 1.0f;
        mean += delta / count;
        m2 += delta * (in[c] - mean);
    }
    for (int d = 16; d > 0; d >>= 1) {
        const float other = __shfl_xor_sync(ALL, mean, d), other_m2 = __shfl_xor_sync(ALL, m2, d), delta = other - mean;
        mean = 0.5f * (mean + other);
        m2 += other_m2 + delta * delta * count * 0.5f;
        count *= 2.0f;
    }
    const float scale = rsqrtf(m2 / count + 1e-5f);
    for (int c = lane; c < columns; c += 32) out[(size_t)row * columns + c] = (in[c] - mean) * scale * gain[c] + bias[c];
}

// Means and variances of channels of pictures (batch norm): a block to a channel, over all pictures.
KERNEL(512) channel_statistics(const float *in, float *mean, float *variance, int images, int channels, int area) {
    float sum = 0.0f, squares = 0.0f;
    for (int image = 0; image < images; ++image) {
        const float *plane = in + ((size_t)image * channels + blockIdx.x) * area;
        for (int i = threadIdx.x; i < area; i += blockDim.x) {
            const float v = plane[i];
            sum += v;
            squares += v * v;
        }
    }
    sum = block_sum(sum) / (images * area);
    squares = block_sum(squares) / (images * area);
    if (threadIdx.x == 0) mean[blockIdx.x] = sum, variance[blockIdx.x] = squares - sum * sum;
}

// Attention as first written: a block to a query, its scores in shared memory, then a sum of values by columns.
KERNEL(256) attention_scores(const float *q, const float *k, const float *v, float *out, int length, float scale) {
    extern __shared__ float scores[];
    __shared__ float query[64], partial[4][64];
    const size_t head = (size_t)blockIdx.y * length * 64;
    const int t = threadIdx.x;
    if (t < 64) query[t] = q[head + blockIdx.x * 64 + t] * scale;
    __syncthreads();
    float sum = 0.0f;
    for (int j = t; j < length; j += 256) {
        const float4 *key = (const float4 *)(k + head + j * 64);
        float score = 0.0f;
        for (int d = 0; d < 16; ++d) {
            const float4 f = key[d];
            score += query[4 * d] * f.x + query[4 * d + 1] * f.y + query[4 * d + 2] * f.z + query[4 * d + 3] * f.w;
        }
        sum += scores[j] = expf(score);
    }
    sum = block_sum(sum);
    float acc = 0.0f;
    for (int j = t / 64; j < length; j += 4) acc += scores[j] * v[head + j * 64 + t % 64];
    partial[t / 64][t % 64] = acc;
    __syncthreads();
    if (t < 64) out[head + blockIdx.x * 64 + t] = (partial[0][t] + partial[1][t] + partial[2][t] + partial[3][t]) / sum;
}

// Flash attention as small as it is taught: a thread to a query, 32 keys at a time, rows of 64 PITCH words apart.
template <int PITCH, int WIDE> __device__ __forceinline__ void flash(const float *Q, const float *K, const float *V, float *O, int length, float scale) {
    __shared__ float q[32 * PITCH], k[32 * PITCH], v[32 * PITCH], s[32 * WIDE], o[32 * PITCH];
    const size_t head = (size_t)blockIdx.y * length * 64, own = head + blockIdx.x * 2048;
    const int t = threadIdx.x;
    for (int i = t; i < 2048; i += 32) q[i / 64 * PITCH + i % 64] = Q[own + i], o[i / 64 * PITCH + i % 64] = 0.0f;
    float m = -INFINITY, l = 0.0f;
    for (int first = 0; first < length; first += 32) {
        __syncthreads();
        for (int i = t; i < 2048; i += 32) {
            k[i / 64 * PITCH + i % 64] = K[head + first * 64 + i];
            v[i / 64 * PITCH + i % 64] = V[head + first * 64 + i];
        }
        __syncthreads();
        float row_m = -INFINITY, row_l = 0.0f;
        for (int j = 0; j < 32; ++j) {
            float sum = 0.0f;
            for (int x = 0; x < 64; ++x) sum += q[t * PITCH + x] * k[j * PITCH + x];
            s[t * WIDE + j] = sum *= scale;
            row_m = fmaxf(row_m, sum);
        }
        const float new_m = fmaxf(m, row_m), keep = __expf(m - new_m);
        for (int j = 0; j < 32; ++j) row_l += s[t * WIDE + j] = __expf(s[t * WIDE + j] - new_m);
        for (int x = 0; x < 64; ++x) {
            float sum = 0.0f;
            for (int j = 0; j < 32; ++j) sum += s[t * WIDE + j] * v[j * PITCH + x];
            o[t * PITCH + x] = o[t * PITCH + x] * keep + sum;
        }
        l = l * keep + row_l;
        m = new_m;
    }
    for (int x = 0; x < 64; ++x) o[t * PITCH + x] /= l;
    __syncthreads();
    for (int i = t; i < 2048; i += 32) O[own + i] = o[i / 64 * PITCH + i % 64];
}
#define FLASH(NAME, PITCH, WIDE)                                                                                  \
    KERNEL(32) NAME(const float *Q, const float *K, const float *V, float *O, int length, float scale) {          \
        flash<PITCH, WIDE>(Q, K, V, O, length, scale);                                                            \
    }
FLASH(flash_plain, 64, 32)
FLASH(flash_padded, 65, 33)

// The nearest of 32 centres for points of 16 numbers, staged; a thread to a point.
template <int PITCH> __device__ __forceinline__ void assigned(const float *points, const float *centres, int *labels) {
    __shared__ float staged[256 * PITCH], c[32 * 16];
    const int t = threadIdx.x;
    for (int i = t; i < 512; i += 256) c[i] = centres[i];
    for (int i = t; i < 4096; i += 256) staged[i / 16 * PITCH + i % 16] = points[(size_t)blockIdx.x * 4096 + i];
    __syncthreads();
    float best = INFINITY;
    int label = 0;
    for (int j = 0; j < 32; ++j) {
        float distance = 0.0f;
        for (int d = 0; d < 16; ++d) {
            const float delta = staged[t * PITCH + d] - c[j * 16 + d];
            distance += delta * delta;
        }
        if (distance < best) best = distance, label = j;
    }
    labels[blockIdx.x * 256 + t] = label;
}
KERNEL(256) assigned_plain(const float *points, const float *centres, int *labels) { assigned<16>(points, centres, labels); }
KERNEL(256) assigned_padded(const float *points, const float *centres, int *labels) { assigned<17>(points, centres, labels); }

// The sample's forces between all bodies, tile by tile of as many as a block has threads.
KERNEL(256) all_bodies(const float4 *positions, float4 *forces, int n) {
    extern __shared__ float4 tile[];
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const float4 own = positions[i];
    float3 acc = {0.0f, 0.0f, 0.0f};
    for (int first = 0; first < n; first += blockDim.x) {
        tile[threadIdx.x] = positions[first + threadIdx.x];
        __syncthreads();
        #pragma unroll 16
        for (int j = 0; j < blockDim.x; ++j) {
            const float4 p = tile[j];
            const float x = p.x - own.x, y = p.y - own.y, z = p.z - own.z, d2 = x * x + y * y + z * z + 0.01f;
            const float inverse = rsqrtf(d2), s = p.w * inverse * inverse * inverse;
            acc.x += x * s, acc.y += y * s, acc.z += z * s;
        }
        __syncthreads();
    }
    forces[i] = make_float4(acc.x, acc.y, acc.z, 0.0f);
}

// A dot product of pairs of halves, summed in halves by a thread and in floats by a block.
KERNEL(256) dot_pairs(const __half2 *a, const __half2 *b, float *out, int n) {
    __half2 sum = __float2half2_rn(0.0f);
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) sum = __hfma2(a[i], b[i], sum);
    const float all = block_sum(__low2float(sum) + __high2float(sum));
    if (threadIdx.x == 0) out[blockIdx.x] = all;
}
