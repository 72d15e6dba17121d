// Kernels of the twenty-second set that serve and train models: blocks of caches, experts, gradients, masked rows, convolutions by channel.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#define KERNEL(THREADS) extern "C" __global__ void __launch_bounds__(THREADS)
#define ALL 0xffffffffu

// Blocks of a cache of keys, and of one of values, are copied to others: 32 KB each, from one of the first 512 to one of its own behind them.
KERNEL(256) blocks_copied(uint4 *keys, uint4 *values, const unsigned *sources) {
    uint4 *cache = blockIdx.y ? values : keys;
    const uint4 *from = cache + (size_t)(sources[blockIdx.x] & 511u) * 2048;
    uint4 *to = cache + (size_t)(512 + blockIdx.x) * 2048;
    #pragma unroll
    for (int i = 0; i < 8; ++i) to[i * 256 + threadIdx.x] = from[i * 256 + threadIdx.x];
}

// What four experts said of a token comes from where it was put, and is summed up with weights: rows of 2048 brain floats, eight a thread.
KERNEL(256) experts_joined(const uint4 *__restrict__ said, const float4 *__restrict__ weights, const uint4 *__restrict__ places, uint4 *out, unsigned rows) {
    const float4 weight = weights[blockIdx.x];
    const uint4 place = places[blockIdx.x];
    const float by[4] = {weight.x, weight.y, weight.z, weight.w};
    const unsigned from[4] = {place.x % rows, place.y % rows, place.z % rows, place.w % rows};
    float sum[8] = {};
    #pragma unroll
    for (int e = 0; e < 4; ++e) {
        const uint4 v = said[(size_t)from[e] * 256 + threadIdx.x];
        #pragma unroll
        for (int k = 0; k < 4; ++k) {
            const float2 pair = __bfloat1622float2(reinterpret_cast<const __nv_bfloat162 *>(&v)[k]);
            sum[k * 2] += by[e] * pair.x, sum[k * 2 + 1] += by[e] * pair.y;
        }
    }
    uint4 result;
    #pragma unroll
    for (int k = 0; k < 4; ++k) reinterpret_cast<__nv_bfloat162 *>(&result)[k] = __floats2bfloat162_rn(sum[k * 2], sum[k * 2 + 1]);
    out[(size_t)blockIdx.x * 256 + threadIdx.x] = result;
}

// The gradient of a bias: columns of brain floats are summed up, 256 columns by 256 rows a block, eight columns a lane, then eight warps in
// shared memory, then all blocks by atomics.
KERNEL(256) bias_gradient(const uint4 *__restrict__ from, float *sums, int columns) {
    __shared__ float held[8][256];
    const int lane = threadIdx.x, warp = threadIdx.y, t = warp * 32 + lane;
    float sum[8] = {};
    #pragma unroll 4
    for (int r = warp; r < 256; r += 8) {
        const uint4 v = from[((size_t)(blockIdx.y * 256 + r) * columns + blockIdx.x * 256) / 8 + lane];
        #pragma unroll
        for (int k = 0; k < 4; ++k) {
            const float2 pair = __bfloat1622float2(reinterpret_cast<const __nv_bfloat162 *>(&v)[k]);
            sum[k * 2] += pair.x, sum[k * 2 + 1] += pair.y;
        }
    }
    #pragma unroll
    for (int k = 0; k < 8; ++k) held[warp][lane * 8 + k] = sum[k];
    __syncthreads();
    float all = 0.0f;
    #pragma unroll
    for (int w = 0; w < 8; ++w) all += held[w][t];
    atomicAdd(sums + blockIdx.x * 256 + t, all);
}

// The softmax of what a token may see, in place: rows of 1024 halves, of which a triangle counts, a warp a row; the rest becomes zero.
KERNEL(128) triangle_softmax(uint4 *scores, float scale) {
    const int lane = threadIdx.x % 32, row = blockIdx.x * 4 + threadIdx.x / 32, last = row & 1023;
    uint4 *own = scores + (size_t)row * 128;
    float v[4][8], most = -1e30f, sum = 0.0f;
    #pragma unroll
    for (int c = 0; c < 4; ++c) {
        const int first = (c * 32 + lane) * 8;
        uint4 given = make_uint4(0, 0, 0, 0);
        if (first <= last) given = own[c * 32 + lane];
        #pragma unroll
        for (int e = 0; e < 8; ++e) {
            v[c][e] = first + e <= last ? __half2float(reinterpret_cast<const __half *>(&given)[e]) * scale : -1e30f;
            most = fmaxf(most, v[c][e]);
        }
    }
    #pragma unroll
    for (int offset = 16; offset > 0; offset >>= 1) most = fmaxf(most, __shfl_xor_sync(ALL, most, offset));
    #pragma unroll
    for (int c = 0; c < 4; ++c)
        #pragma unroll
        for (int e = 0; e < 8; ++e) sum += v[c][e] = __expf(v[c][e] - most);
    #pragma unroll
    for (int offset = 16; offset > 0; offset >>= 1) sum += __shfl_xor_sync(ALL, sum, offset);
    const float by = 1.0f / sum;
    #pragma unroll
    for (int c = 0; c < 4; ++c) {
        uint4 result;
        #pragma unroll
        for (int k = 0; k < 4; ++k) reinterpret_cast<__half2 *>(&result)[k] = __floats2half2_rn(v[c][k * 2] * by, v[c][k * 2 + 1] * by);
        own[c * 32 + lane] = result;
    }
}

// Each channel is convolved with seven by seven weights of its own: planes of 64 by 64 halves, tiles of 32 by 32 with a margin of three in
// shared memory, four rows a thread.
KERNEL(256) depthwise_seven(const __half *__restrict__ from, const float *__restrict__ weights, __half *to, int channels) {
    __shared__ __half tile[38][40];
    __shared__ float taps[49];
    const int tx = threadIdx.x, ty = threadIdx.y, t = ty * 32 + tx, x0 = blockIdx.x % 2 * 32, y0 = blockIdx.x / 2 * 32;
    const __half *own = from + (size_t)blockIdx.y * 4096;
    if (t < 49) taps[t] = weights[(blockIdx.y % channels) * 49 + t];
    for (int i = t; i < 38 * 38; i += 256) {
        const int y = y0 + i / 38 - 3, x = x0 + i % 38 - 3;
        tile[i / 38][i % 38] = x >= 0 && x < 64 && y >= 0 && y < 64 ? own[y * 64 + x] : __float2half(0.0f);
    }
    __syncthreads();
    float sum[4] = {};
    #pragma unroll
    for (int dx = 0; dx < 7; ++dx) {
        float column[10];
        #pragma unroll
        for (int i = 0; i < 10; ++i) column[i] = __half2float(tile[ty * 4 + i][tx + dx]);
        #pragma unroll
        for (int dy = 0; dy < 7; ++dy)
            #pragma unroll
            for (int r = 0; r < 4; ++r) sum[r] += taps[dy * 7 + dx] * column[r + dy];
    }
    #pragma unroll
    for (int r = 0; r < 4; ++r) to[(size_t)blockIdx.y * 4096 + (y0 + ty * 4 + r) * 64 + x0 + tx] = __float2half(sum[r]);
}
