// Kernels of the tenth set that no layout of shared memory decides.
#include <cuda_fp16.h>

__constant__ float bell[17] = {.002f, .006f, .014f, .029f, .051f, .08f, .109f, .132f, .154f,
                               .132f, .109f, .08f, .051f, .029f, .014f, .006f, .002f};
__constant__ float reach[5] = {-2.8f, 1.6f, -.2f, .025f, -.002f};

// A picture blurred along its rows, by 17 taps.
extern "C" __global__ void blurred_rows(const float *in, float *out, int width) {
    __shared__ float line[2][144];
    const int x = blockIdx.x * 128, y = blockIdx.y * 2 + threadIdx.y;
    for (int k = threadIdx.x; k < 144; k += 128)
        line[threadIdx.y][k] = in[y * width + min(max(x + k - 8, 0), width - 1)];
    __syncthreads();
    float sum = 0;
    #pragma unroll
    for (int k = 0; k < 17; ++k) sum += bell[k] * line[threadIdx.y][threadIdx.x + k];
    out[y * width + x + threadIdx.x] = sum;
}

// The same down its columns, eight results a thread; the last blocks stand over the edge.
extern "C" __global__ void blurred_columns(const float *in, float *out, int width, int height) {
    __shared__ float tile[80][32];
    const int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 64;
    for (int j = threadIdx.y; j < 80; j += 8) tile[j][threadIdx.x] = in[min(max(y + j - 8, 0), height - 1) * width + x];
    __syncthreads();
    #pragma unroll 2
    for (int j = threadIdx.y; j < 64; j += 8) {
        float sum = 0;
        #pragma unroll
        for (int k = 0; k < 17; ++k) sum += bell[k] * tile[j + k][threadIdx.x];
        if (y + j < height) out[(y + j) * width + x] = sum;
    }
}

// A stencil of 25 points in space: planes pass through shared memory, columns through registers.
extern "C" __global__ void __launch_bounds__(512) far_stencil(const float *in, float *out, int width, int height, int depth) {
    __shared__ float plane[24][40];
    const int tx = threadIdx.x, ty = threadIdx.y, pitch = width + 8, step = pitch * (height + 8);
    int i = (blockIdx.y * 16 + ty + 4) * pitch + blockIdx.x * 32 + tx + 4;
    float column[9];
    for (int k = 0; k < 8; ++k) column[k] = in[i + k * step];
    for (int z = 0; z < depth; ++z, i += step) {
        column[8] = in[i + 8 * step];
        const int mid = i + 4 * step;
        __syncthreads();
        plane[ty + 4][tx + 4] = column[4];
        if (tx < 4) plane[ty + 4][tx] = in[mid - 4], plane[ty + 4][tx + 36] = in[mid + 32];
        if (ty < 4) plane[ty][tx + 4] = in[mid - 4 * pitch], plane[ty + 20][tx + 4] = in[mid + 16 * pitch];
        __syncthreads();
        float sum = 3 * reach[0] * column[4];
        #pragma unroll
        for (int k = 1; k < 5; ++k)
            sum += reach[k] * (column[4 - k] + column[4 + k] + plane[ty + 4][tx + 4 - k] + plane[ty + 4][tx + 4 + k] +
                               plane[ty + 4 - k][tx + 4] + plane[ty + 4 + k][tx + 4]);
        out[mid] = column[4] + 0.01f * sum;
        #pragma unroll
        for (int k = 0; k < 8; ++k) column[k] = column[k + 1];
    }
}

// Softmax of causal scores in halves: a warp to a row, as far as the diagonal.
extern "C" __global__ void causal(const __half *in, __half *out, int length) {
    const int row = blockIdx.x * 4 + threadIdx.x / 32, lane = threadIdx.x % 32, last = row % length;
    const __half *from = in + (size_t)row * length;
    __half *to = out + (size_t)row * length;
    float most = -1e30f, sum = 0;
    for (int k = lane; k <= last; k += 32) most = fmaxf(most, __half2float(from[k]));
    for (int k = 16; k; k /= 2) most = fmaxf(most, __shfl_xor_sync(~0u, most, k));
    for (int k = lane; k <= last; k += 32) sum += __expf(__half2float(from[k]) - most);
    for (int k = 16; k; k /= 2) sum += __shfl_xor_sync(~0u, sum, k);
    const float by = 1 / sum;
    for (int k = lane; k < length; k += 32)
        to[k] = __float2half(k <= last ? __expf(__half2float(from[k]) - most) * by : 0.f);
}

// Rows of 4096 halves in bytes, with a scale to each row: a block to a row.
extern "C" __global__ void in_bytes(const uint4 *in, uint2 *out, float *scales) {
    __shared__ float parts[8];
    uint4 v[2];
    float most = 0;
    for (int k = 0; k < 2; ++k) {
        v[k] = in[blockIdx.x * 512 + k * 256 + threadIdx.x];
        const __half2 *pairs = (const __half2 *)(v + k);
        for (int j = 0; j < 4; ++j) {
            const float2 f = __half22float2(pairs[j]);
            most = fmaxf(most, fmaxf(fabsf(f.x), fabsf(f.y)));
        }
    }
    for (int k = 16; k; k /= 2) most = fmaxf(most, __shfl_xor_sync(~0u, most, k));
    if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = most;
    __syncthreads();
    for (int k = 0; k < 8; ++k) most = fmaxf(most, parts[k]);
    const float by = most > 0 ? 127 / most : 0;
    for (int k = 0; k < 2; ++k) {
        const __half2 *pairs = (const __half2 *)(v + k);
        unsigned words[2] = {};
        for (int j = 0; j < 4; ++j) {
            const float2 f = __half22float2(pairs[j]);
            const unsigned low = __float2int_rn(f.x * by) & 255, high = __float2int_rn(f.y * by) & 255;
            words[j / 2] |= (low | high << 8) << j % 2 * 16;
        }
        out[blockIdx.x * 512 + k * 256 + threadIdx.x] = {words[0], words[1]};
    }
    if (threadIdx.x == 0) scales[blockIdx.x] = most / 127;
}

// A matrix of bytes times a vector of bytes: a warp to a row of 4096.
extern "C" __global__ void rows_of_bytes(const int4 *matrix, const int4 *vector, const float *scales, float *out) {
    const int row = blockIdx.x * 8 + threadIdx.x / 32, lane = threadIdx.x % 32;
    int sum = 0;
    #pragma unroll 4
    for (int k = lane; k < 256; k += 32) {
        const int4 m = matrix[(size_t)row * 256 + k], v = vector[k];
        sum = __dp4a(m.w, v.w, __dp4a(m.z, v.z, __dp4a(m.y, v.y, __dp4a(m.x, v.x, sum))));
    }
    sum = __reduce_add_sync(~0u, sum);
    if (lane == 0) out[row] = sum * scales[row];
}

// Sums from the left that begin anew at each flag, over 1024 values a block.
extern "C" __global__ void restarted(const float4 *in, const uchar4 *flags, float4 *out) {
    __shared__ float totals[8];
    __shared__ int begins[8];
    const int i = blockIdx.x * 256 + threadIdx.x, lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const float4 v = in[i];
    const uchar4 f = flags[i];
    const bool head[4] = {f.x < 16, f.y < 16, f.z < 16, f.w < 16};
    float own[4] = {v.x, v.y, v.z, v.w};
    for (int k = 1; k < 4; ++k)
        if (!head[k]) own[k] += own[k - 1];
    float sum = own[3];
    int begun = head[0] | head[1] | head[2] | head[3];
    for (int k = 1; k < 32; k *= 2) {
        const float before = __shfl_up_sync(~0u, sum, k);
        const int other = __shfl_up_sync(~0u, begun, k);
        if (lane >= k) {
            if (!begun) sum += before;
            begun |= other;
        }
    }
    if (lane == 31) totals[warp] = sum, begins[warp] = begun;
    float left = __shfl_up_sync(~0u, sum, 1);
    int any = __shfl_up_sync(~0u, begun, 1);
    if (lane == 0) left = 0, any = 0;
    __syncthreads();
    float carry = 0;
    for (int k = 0; k < warp; ++k) carry = begins[k] ? totals[k] : carry + totals[k];
    if (!any) left += carry;
    for (int k = 0; k < 4 && !head[k]; ++k) own[k] += left;
    out[i] = {own[0], own[1], own[2], own[3]};
}

// Sums and counts of the points of 64 clusters, in whole numbers: a part to each block.
extern "C" __global__ void centre_sums(const float4 *points, const unsigned char *labels, int *out, int count) {
    __shared__ int sums[64 * 5];
    for (int k = threadIdx.x; k < 320; k += blockDim.x) sums[k] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) {
        const float4 p = points[i];
        int *own = sums + (labels[i] & 63) * 5;
        atomicAdd(own, __float2int_rn(p.x * 256)), atomicAdd(own + 1, __float2int_rn(p.y * 256));
        atomicAdd(own + 2, __float2int_rn(p.z * 256)), atomicAdd(own + 3, __float2int_rn(p.w * 256));
        atomicAdd(own + 4, 1);
    }
    __syncthreads();
    for (int k = threadIdx.x; k < 320; k += blockDim.x) out[blockIdx.x * 320 + k] = sums[k];
}

// The median of 25 neighbours: the least and the greatest are forgotten, and another one comes in.
extern "C" __global__ void middle_of_25(const float *in, float *out, int width, int height) {
    __shared__ float tile[12][36];
    const int x = blockIdx.x * 32, y = blockIdx.y * 8;
    for (int k = threadIdx.y * 32 + threadIdx.x; k < 12 * 36; k += 256)
        tile[k / 36][k % 36] = in[min(max(y + k / 36 - 2, 0), height - 1) * width + min(max(x + k % 36 - 2, 0), width - 1)];
    __syncthreads();
    float v[14];
    #pragma unroll
    for (int k = 0; k < 14; ++k) v[k] = tile[threadIdx.y + k / 5][threadIdx.x + k % 5];
    #pragma unroll
    for (int next = 14; next <= 25; ++next) {
        const int held = 28 - next;
        #pragma unroll
        for (int k = 1; k < held; ++k) {
            const float low = fminf(v[0], v[k]);
            v[k] = fmaxf(v[0], v[k]), v[0] = low;
        }
        #pragma unroll
        for (int k = 1; k < held - 1; ++k) {
            const float high = fmaxf(v[held - 1], v[k]);
            v[k] = fminf(v[held - 1], v[k]), v[held - 1] = high;
        }
        if (next < 25) v[0] = tile[threadIdx.y + next / 5][threadIdx.x + next % 5];
    }
    if (x + threadIdx.x < width && y + threadIdx.y < height) out[(y + threadIdx.y) * width + x + threadIdx.x] = v[1];
}

// Forces of 24 neighbours, which a list names, on each particle.
extern "C" __global__ void neighbours(const float4 *points, const unsigned *list, float4 *out, int count, unsigned mask) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    const float4 own = points[i];
    float x = 0, y = 0, z = 0, energy = 0;
    #pragma unroll 4
    for (int k = 0; k < 24; ++k) {
        const float4 p = points[(i + (list[k * count + i] & 2047)) & mask];
        const float dx = own.x - p.x, dy = own.y - p.y, dz = own.z - p.z, square = dx * dx + dy * dy + dz * dz + 0.01f;
        if (square < 2.f) {
            const float inverse = 1 / square, six = inverse * inverse * inverse, pull = inverse * six * (six - 0.5f);
            x += dx * pull, y += dy * pull, z += dz * pull, energy += six * (six - 1) * p.w;
        }
    }
    out[i] = {x, y, z, energy};
}

// Means along paths of a price: 32 steps, two numbers of a normal distribution from each two draws.
extern "C" __global__ void asian(const unsigned *seeds, float *out, float drift, float spread) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned state = seeds[i];
    float price = 0, sum = 0;
    #pragma unroll 2
    for (int k = 0; k < 16; ++k) {
        state = state * 1664525u + 1013904223u;
        const float far = sqrtf(-2 * __logf(((state >> 8) + 1) * (1.f / 16777217)));
        state = state * 1664525u + 1013904223u;
        float s, c;
        __sincosf((state >> 8) * (6.2831853f / 16777216), &s, &c);
        price += drift + spread * far * c, sum += __expf(price);
        price += drift + spread * far * s, sum += __expf(price);
    }
    out[i] = fmaxf(sum / 32 - 1, 0.f);
}

// What two experts say of each token, weighed and added: rows of 1024 halves.
extern "C" __global__ void combined(const uint4 *experts, const unsigned *places, const float2 *weights, uint4 *out, unsigned mask) {
    const int token = blockIdx.x * 2 + threadIdx.x / 128, lane = threadIdx.x % 128;
    const float2 w = weights[token];
    const uint4 a = experts[(size_t)(places[2 * token] & mask) * 128 + lane];
    const uint4 b = experts[(size_t)(places[2 * token + 1] & mask) * 128 + lane];
    const __half2 *u = (const __half2 *)&a, *v = (const __half2 *)&b;
    __half2 sum[4];
    for (int k = 0; k < 4; ++k) {
        const float2 p = __half22float2(u[k]), q = __half22float2(v[k]);
        sum[k] = __floats2half2_rn(w.x * p.x + w.y * q.x, w.x * p.y + w.y * q.y);
    }
    out[(size_t)token * 128 + lane] = *(uint4 *)sum;
}

// A matrix of doubles times a vector, a block to a row.
extern "C" __global__ void rows_of_doubles(const double *matrix, const double *vector, double *out, int columns) {
    __shared__ double parts[4];
    const double *row = matrix + (size_t)blockIdx.x * columns;
    double sum = 0;
    for (int k = threadIdx.x; k < columns; k += 128) sum += row[k] * vector[k];
    for (int k = 16; k; k /= 2) sum += __shfl_down_sync(~0u, sum, k);
    if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x == 0) out[blockIdx.x] = parts[0] + parts[1] + parts[2] + parts[3];
}

// Means of a text's words: over rows of 768, a thread to four columns.
extern "C" __global__ void mean_words(const float4 *in, float4 *out, int words) {
    const float4 *from = in + (size_t)blockIdx.x * words * 192 + threadIdx.x;
    float4 sum = {};
    #pragma unroll 8
    for (int k = 0; k < words; ++k) {
        const float4 v = from[k * 192];
        sum.x += v.x, sum.y += v.y, sum.z += v.z, sum.w += v.w;
    }
    const float by = 1.f / words;
    out[blockIdx.x * 192 + threadIdx.x] = {sum.x * by, sum.y * by, sum.z * by, sum.w * by};
}

// Rows of 32768 by their root mean square, with weights: few blocks, of 1024 threads.
extern "C" __global__ void __launch_bounds__(1024) wide_rows(const float *in, const float *weights, float *out) {
    __shared__ float parts[32];
    const float *row = in + (size_t)blockIdx.x * 32768;
    float v[32], sum = 0;
    for (int k = 0; k < 32; ++k) v[k] = row[k * 1024 + threadIdx.x], sum += v[k] * v[k];
    for (int k = 16; k; k /= 2) sum += __shfl_xor_sync(~0u, sum, k);
    if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = sum;
    __syncthreads();
    sum = parts[threadIdx.x % 32];
    for (int k = 16; k; k /= 2) sum += __shfl_xor_sync(~0u, sum, k);
    const float by = rsqrtf(sum / 32768 + 1e-6f);
    for (int k = 0; k < 32; ++k)
        out[(size_t)blockIdx.x * 32768 + k * 1024 + threadIdx.x] = v[k] * by * weights[k * 1024 + threadIdx.x];
}

// A step by the signs of a mean of gradients; parameters and gradients are halves.
extern "C" __global__ void by_signs(__half2 *parameters, const __half2 *gradients, float2 *means, int count, float rate) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) {
        const float2 g = __half22float2(gradients[i]), p = __half22float2(parameters[i]);
        const float2 m = means[i];
        const float u = 0.9f * m.x + 0.1f * g.x, v = 0.9f * m.y + 0.1f * g.y;
        parameters[i] = __floats2half2_rn(p.x - rate * (copysignf(u != 0, u) + 0.1f * p.x),
                                          p.y - rate * (copysignf(v != 0, v) + 0.1f * p.y));
        means[i] = {0.99f * m.x + 0.01f * g.x, 0.99f * m.y + 0.01f * g.y};
    }
}
