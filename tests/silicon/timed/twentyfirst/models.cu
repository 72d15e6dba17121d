// Kernels of the twenty-first set that serve and train models: rows of logits, norms, turns by position, losses, samples, paged caches.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#define KERNEL(THREADS) extern "C" __global__ void __launch_bounds__(THREADS)
#define ALL 0xffffffffu

__device__ __forceinline__ float warp_sum(float v) {
    #pragma unroll
    for (int offset = 16; offset > 0; offset >>= 1) v += __shfl_xor_sync(ALL, v, offset);
    return v;
}
__device__ __forceinline__ float warp_max(float v) {
    #pragma unroll
    for (int offset = 16; offset > 0; offset >>= 1) v = fmaxf(v, __shfl_xor_sync(ALL, v, offset));
    return v;
}
template <int WARPS, bool MOST> __device__ __forceinline__ float block_reduced(float v) {
    __shared__ float held[WARPS];
    v = MOST ? warp_max(v) : warp_sum(v);
    if (threadIdx.x % 32 == 0) held[threadIdx.x / 32] = v;
    __syncthreads();
    float all = held[0];
    #pragma unroll
    for (int w = 1; w < WARPS; ++w) all = MOST ? fmaxf(all, held[w]) : all + held[w];
    return all;
}

// The softmax of rows of 10240 brain floats, which stay in registers: forty a thread.
KERNEL(256) softmax_registers(const uint4 *from, uint4 *to, float heat) {
    const size_t base = (size_t)blockIdx.x * 1280;
    uint4 held[5];
    #pragma unroll
    for (int k = 0; k < 5; ++k) held[k] = from[base + k * 256 + threadIdx.x];
    float v[40], most = -1e30f, sum = 0.0f;
    #pragma unroll
    for (int k = 0; k < 20; ++k) {
        const float2 pair = __bfloat1622float2(reinterpret_cast<const __nv_bfloat162 *>(held)[k]);
        v[k * 2] = pair.x * heat, v[k * 2 + 1] = pair.y * heat;
        most = fmaxf(most, fmaxf(v[k * 2], v[k * 2 + 1]));
    }
    most = block_reduced<8, true>(most);
    #pragma unroll
    for (int k = 0; k < 40; ++k) sum += v[k] = __expf(v[k] - most);
    const float by = 1.0f / block_reduced<8, false>(sum);
    #pragma unroll
    for (int k = 0; k < 20; ++k) reinterpret_cast<__nv_bfloat162 *>(held)[k] = __floats2bfloat162_rn(v[k * 2] * by, v[k * 2 + 1] * by);
    #pragma unroll
    for (int k = 0; k < 5; ++k) to[base + k * 256 + threadIdx.x] = held[k];
}

// A residual is added to, and its rows of 5120 brain floats are divided by their root mean square, both in place: eight a thread.
KERNEL(640) residual_rms(uint4 *rows, uint4 *residual, const uint4 *gains, float epsilon) {
    const size_t at = (size_t)blockIdx.x * 640 + threadIdx.x;
    const uint4 given = rows[at], before = residual[at], gain = __ldg(gains + threadIdx.x);
    uint4 result;
    float v[8], sum = 0.0f;
    #pragma unroll
    for (int k = 0; k < 4; ++k) {
        const __nv_bfloat162 both = __hadd2(reinterpret_cast<const __nv_bfloat162 *>(&given)[k], reinterpret_cast<const __nv_bfloat162 *>(&before)[k]);
        reinterpret_cast<__nv_bfloat162 *>(&result)[k] = both;
        const float2 pair = __bfloat1622float2(both);
        v[k * 2] = pair.x, v[k * 2 + 1] = pair.y;
        sum += pair.x * pair.x + pair.y * pair.y;
    }
    residual[at] = result;
    const float by = rsqrtf(block_reduced<20, false>(sum) / 5120.0f + epsilon);
    #pragma unroll
    for (int k = 0; k < 4; ++k) {
        const float2 g = __bfloat1622float2(reinterpret_cast<const __nv_bfloat162 *>(&gain)[k]);
        reinterpret_cast<__nv_bfloat162 *>(&result)[k] = __floats2bfloat162_rn(v[k * 2] * by * g.x, v[k * 2 + 1] * by * g.y);
    }
    rows[at] = result;
}

// Queries and keys of a token are turned by its position, half a head of 128 against the other, in place: a block a token, with a cache of cosines and sines.
KERNEL(512) neox_rotary(const unsigned *positions, __half *queries, __half *keys, const float *cache, int heads, int key_heads) {
    const float *own = cache + (size_t)(positions[blockIdx.x] & 4095u) * 128;
    const auto turn = [&](__half *head, int i) {
        const float c = __ldg(own + i), s = __ldg(own + 64 + i), x = __half2float(head[i]), y = __half2float(head[64 + i]);
        head[i] = __float2half(x * c - y * s), head[64 + i] = __float2half(y * c + x * s);
    };
    for (int i = threadIdx.x; i < heads * 64; i += blockDim.x) turn(queries + ((size_t)blockIdx.x * heads + i / 64) * 128, i % 64);
    for (int i = threadIdx.x; i < key_heads * 64; i += blockDim.x) turn(keys + ((size_t)blockIdx.x * key_heads + i / 64) * 128, i % 64);
}

// A row of 12000 logits becomes the gradient of its cross entropy, in place: first the largest and the sum in one go, then the differences.
KERNEL(512) logit_gradient(__half2 *logits, const unsigned *labels, float *losses, int words, float weight) {
    __shared__ float mosts[16], sums[16];
    const int t = threadIdx.x, pairs = words / 2, label = (int)(labels[blockIdx.x] % (unsigned)words);
    __half2 *own = logits + (size_t)blockIdx.x * pairs;
    const float given = __half2float(reinterpret_cast<const __half *>(own)[label]);
    float most = -1e30f, sum = 0.0f;
    for (int i = t; i < pairs; i += 512) {
        const float2 v = __half22float2(own[i]);
        const float more = fmaxf(most, fmaxf(v.x, v.y));
        sum = sum * __expf(most - more) + __expf(v.x - more) + __expf(v.y - more);
        most = more;
    }
    #pragma unroll
    for (int offset = 16; offset > 0; offset >>= 1) {
        const float other = __shfl_xor_sync(ALL, most, offset), its = __shfl_xor_sync(ALL, sum, offset), more = fmaxf(most, other);
        sum = sum * __expf(most - more) + its * __expf(other - more);
        most = more;
    }
    if (t % 32 == 0) mosts[t / 32] = most, sums[t / 32] = sum;
    __syncthreads();
    most = -1e30f, sum = 0.0f;
    #pragma unroll
    for (int w = 0; w < 16; ++w) most = fmaxf(most, mosts[w]);
    #pragma unroll
    for (int w = 0; w < 16; ++w) sum += sums[w] * __expf(mosts[w] - most);
    if (t == 0) losses[blockIdx.x] = most + __logf(sum) - given;
    const float by = 1.0f / sum;
    for (int i = t; i < pairs; i += 512) {
        float2 v = __half22float2(own[i]);
        v.x = __expf(v.x - most) * by - (i * 2 == label ? 1.0f : 0.0f);
        v.y = __expf(v.y - most) * by - (i * 2 + 1 == label ? 1.0f : 0.0f);
        own[i] = __floats2half2_rn(v.x * weight, v.y * weight);
    }
}

// The 64 largest of 8192 scores, in any order: four rounds find the bits of the 64th from above, eight at a time, by counts in shared memory.
KERNEL(512) radix_largest(const float *scores, float *values, int *places, int wanted) {
    __shared__ int counts[256], found, rest, taken, ties;
    const int t = threadIdx.x;
    const float *own = scores + (size_t)blockIdx.x * 8192;
    const auto ordered = [](float v) { const unsigned bits = __float_as_uint(v); return bits ^ (bits >> 31 ? 0xffffffffu : 0x80000000u); };
    unsigned prefix = 0, mask = 0;
    int left = wanted;
    for (int shift = 24; shift >= 0; shift -= 8) {
        if (t < 256) counts[t] = 0;
        __syncthreads();
        for (int i = t; i < 8192; i += 512) {
            const unsigned key = ordered(own[i]);
            if ((key & mask) == prefix) atomicAdd(&counts[key >> shift & 255u], 1);
        }
        __syncthreads();
        if (t < 32) {
            int mine = 0;
            #pragma unroll
            for (int k = 0; k < 8; ++k) mine += counts[255 - (t * 8 + k)];
            int before = mine;
            #pragma unroll
            for (int offset = 1; offset < 32; offset <<= 1) {
                const int other = __shfl_up_sync(ALL, before, offset);
                if (t >= offset) before += other;
            }
            before -= mine;
            if (before < left && before + mine >= left) {
                int digit = 255 - t * 8;
                while (before + counts[digit] < left) before += counts[digit--];
                found = digit, rest = left - before;
            }
        }
        __syncthreads();
        prefix |= (unsigned)found << shift, mask |= 255u << shift, left = rest;
        __syncthreads();
    }
    if (t == 0) taken = 0, ties = 0;
    __syncthreads();
    for (int i = t; i < 8192; i += 512) {
        const float v = own[i];
        const unsigned key = ordered(v);
        if (key > prefix || (key == prefix && atomicAdd(&ties, 1) < left)) {
            const int at = atomicAdd(&taken, 1);
            values[blockIdx.x * wanted + at] = v, places[blockIdx.x * wanted + at] = i;
        }
    }
}

// Dropout by Philox, a residual and a layer norm in one, on rows of 1024: four a thread, of which one call of ten rounds gives the chances.
KERNEL(256) dropout_norm(const float4 *rows, const float4 *residual, const float4 *gains, const float4 *biases, float4 *sums, float4 *out, unsigned seed, float keep) {
    const size_t at = (size_t)blockIdx.x * 256 + threadIdx.x;
    const float4 x = rows[at], r = residual[at];
    unsigned c[4] = {(unsigned)at, 0u, 0u, 7u}, key0 = seed, key1 = seed ^ 0x5bd1e995u;
    #pragma unroll
    for (int round = 0; round < 10; ++round) {
        const unsigned h0 = __umulhi(0xd2511f53u, c[0]), l0 = 0xd2511f53u * c[0], h1 = __umulhi(0xcd9e8d57u, c[2]), l1 = 0xcd9e8d57u * c[2];
        c[0] = h1 ^ c[1] ^ key0, c[1] = l1, c[2] = h0 ^ c[3] ^ key1, c[3] = l0;
        key0 += 0x9e3779b9u, key1 += 0xbb67ae85u;
    }
    float v[4] = {x.x, x.y, x.z, x.w}, sum = 0.0f, square = 0.0f;
    const float more[4] = {r.x, r.y, r.z, r.w}, by = 1.0f / keep;
    #pragma unroll
    for (int k = 0; k < 4; ++k) {
        v[k] = ((float)(c[k] >> 8) * 0x1p-24f < keep ? v[k] * by : 0.0f) + more[k];
        sum += v[k];
    }
    sums[at] = make_float4(v[0], v[1], v[2], v[3]);
    const float mean = block_reduced<8, false>(sum) / 1024.0f;
    #pragma unroll
    for (int k = 0; k < 4; ++k) v[k] -= mean, square += v[k] * v[k];
    __syncthreads();
    const float scale = rsqrtf(block_reduced<8, false>(square) / 1024.0f + 1e-5f);
    const float4 g = __ldg(gains + threadIdx.x), b = __ldg(biases + threadIdx.x);
    out[at] = make_float4(v[0] * scale * g.x + b.x, v[1] * scale * g.y + b.y, v[2] * scale * g.z + b.z, v[3] * scale * g.w + b.w);
}

// One token's attention over a cache in pages of sixteen tokens: two lanes a token for the scores, then a dimension a thread for the values.
// Keys lie as [page][head][16 pieces][token][8], values as [page][head][128][token].
KERNEL(128) paged_pieces(const __half *queries, const uint4 *keys, const uint4 *values, const unsigned *pages, const unsigned *lengths, __half *out, float scale) {
    extern __shared__ float logits[];
    __shared__ uint4 query[16];
    const int t = threadIdx.x, lane = t % 32, warp = t / 32, head = blockIdx.x, sequence = blockIdx.y, key_head = head / 4;
    const int length = 256 + (int)(lengths[sequence] & 511u), count = (length + 15) / 16;
    const size_t own = (size_t)sequence * gridDim.x + head;
    if (t < 16) query[t] = reinterpret_cast<const uint4 *>(queries)[own * 16 + t];
    __syncthreads();
    float most = -1e30f;
    for (int page = warp; page < count; page += 4) {
        const size_t block = pages[sequence * 48 + page] & 511u;
        const uint4 *k = keys + (block * 8 + key_head) * 256 + lane / 2;
        float dot = 0.0f;
        #pragma unroll
        for (int piece = 0; piece < 8; ++piece) {
            const uint4 given = k[(piece * 2 + lane % 2) * 16], asked = query[piece * 2 + lane % 2];
            #pragma unroll
            for (int j = 0; j < 4; ++j) {
                const float2 a = __half22float2(reinterpret_cast<const __half2 *>(&given)[j]), b = __half22float2(reinterpret_cast<const __half2 *>(&asked)[j]);
                dot += a.x * b.x + a.y * b.y;
            }
        }
        dot = (dot + __shfl_xor_sync(ALL, dot, 1)) * scale;
        const int token = page * 16 + lane / 2;
        if (token >= length) dot = -1e30f;
        if (lane % 2 == 0) logits[token] = dot;
        most = fmaxf(most, dot);
    }
    most = block_reduced<4, true>(most);
    float sum = 0.0f;
    for (int i = t; i < count * 16; i += 128) sum += logits[i] = __expf(logits[i] - most);
    sum = block_reduced<4, false>(sum);
    float acc = 0.0f;
    #pragma unroll 2
    for (int page = 0; page < count; ++page) {
        const size_t block = pages[sequence * 48 + page] & 511u;
        const uint4 *v = values + ((block * 8 + key_head) * 128 + t) * 2;
        const uint4 both[2] = {v[0], v[1]};
        #pragma unroll
        for (int j = 0; j < 8; ++j) {
            const float2 pair = __half22float2(reinterpret_cast<const __half2 *>(both)[j]);
            acc += logits[page * 16 + j * 2] * pair.x + logits[page * 16 + j * 2 + 1] * pair.y;
        }
    }
    out[own * 128 + t] = __float2half(acc / sum);
}
