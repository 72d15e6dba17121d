// Kernels of the twenty-third set from models: products with packed weights, rows, states, pages, updates, experts.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#define KERNEL(THREADS) extern "C" __global__ void __launch_bounds__(THREADS)
#define ALL 0xffffffffu

__device__ __forceinline__ float warp_sum(float v) {
    #pragma unroll
    for (int offset = 16; offset > 0; offset >>= 1) v += __shfl_xor_sync(ALL, v, offset);
    return v;
}
__device__ __forceinline__ float warp_most(float v) {
    #pragma unroll
    for (int offset = 16; offset > 0; offset >>= 1) v = fmaxf(v, __shfl_xor_sync(ALL, v, offset));
    return v;
}

// Four floats of four bits (e2m1, doubled) become bytes, those of the low halves and those of the high ones.
__device__ __forceinline__ int2 doubled(unsigned four) {
    const auto look = [](unsigned at) {
        const unsigned least = __byte_perm(0x03020100u, 0x0c080604u, at), most = __byte_perm(0xfdfeff00u, 0xf4f8fafcu, at);
        return make_uint2(least, most);
    };
    const auto chosen = [&](unsigned nibbles) {  // a nibble a byte
        const unsigned packed = (nibbles & 7u) | (nibbles >> 4 & 0x70u) | (nibbles >> 8 & 0x700u) | (nibbles >> 12 & 0x7000u);
        const uint2 both = look(packed);
        const unsigned signs = (nibbles >> 3 & 0x01010101u) * 255u;
        return (int)((both.x & ~signs) | (both.y & signs));
    };
    return make_int2(chosen(four & 0x0f0f0f0fu), chosen(four >> 4 & 0x0f0f0f0fu));
}
// Rows of weights of four bits, a scale of eight bits for 32 of them (MXFP4), by bytes with scales: a warp a row of 4096.
KERNEL(256) mx_fours(const uint4 *__restrict__ weights, const unsigned char *__restrict__ scales, const int4 *__restrict__ x,
                      const float *__restrict__ x_scales, float *y) {
    const int lane = threadIdx.x % 32, row = blockIdx.x * 8 + threadIdx.x / 32;
    float sum = 0.0f;
    #pragma unroll
    for (int k = 0; k < 4; ++k) {
        const int block = k * 32 + lane;
        const uint4 w = weights[(size_t)row * 128 + block];
        const int4 low = __ldg(x + block * 2), high = __ldg(x + block * 2 + 1);
        const float scale = __uint_as_float((112u + (scales[(size_t)row * 128 + block] & 15u)) << 23) * __ldg(x_scales + block);
        const int2 a = doubled(w.x), b = doubled(w.y), c = doubled(w.z), d = doubled(w.w);
        int dot = __dp4a(a.x, low.x, __dp4a(b.x, low.y, __dp4a(c.x, low.z, __dp4a(d.x, low.w, 0))));
        dot = __dp4a(a.y, high.x, __dp4a(b.y, high.y, __dp4a(c.y, high.z, __dp4a(d.y, high.w, dot))));
        sum += 0.5f * scale * (float)dot;
    }
    sum = warp_sum(sum);
    if (lane == 0) y[row] = sum;
}

// Rows whose eight weights are a sum of two words of 256, of two codebooks of halves in shared memory (AQLM): two warps a row of 4096.
KERNEL(256) codebook_rows(const uchar2 *__restrict__ codes, const uint4 *__restrict__ books, const uint4 *__restrict__ x,
                           const float *__restrict__ scales, float *y) {
    __shared__ uint4 words[512];
    __shared__ float halves[8];
    const int t = threadIdx.x, lane = t % 32, warp = t / 32;
    words[t] = books[t], words[256 + t] = books[256 + t];
    __syncthreads();
    for (int turn = 0; turn < 4; ++turn) {
        const int row = blockIdx.x * 16 + turn * 4 + warp / 2;
        float sum = 0.0f;
        #pragma unroll
        for (int k = 0; k < 8; ++k) {
            const int group = warp % 2 * 256 + k * 32 + lane;
            const uchar2 code = codes[(size_t)row * 512 + group];
            const uint4 a = words[code.x], b = words[256 + code.y], v = __ldg(x + group);
            const __half2 *as = reinterpret_cast<const __half2 *>(&a), *bs = reinterpret_cast<const __half2 *>(&b), *vs = reinterpret_cast<const __half2 *>(&v);
            __half2 dot = __hmul2(__hadd2(as[0], bs[0]), vs[0]);
            #pragma unroll
            for (int e = 1; e < 4; ++e) dot = __hfma2(__hadd2(as[e], bs[e]), vs[e], dot);
            sum += __low2float(dot) + __high2float(dot);
        }
        sum = warp_sum(sum);
        if (lane == 0) halves[warp] = sum;
        __syncthreads();
        if (lane == 0 && warp % 2 == 0) y[row] = (halves[warp] + halves[warp + 1]) * scales[row];
        __syncthreads();
    }
}

// The delta rule with a gate: a state of 64 by 64 a head, a column a thread in registers, token after token.
KERNEL(64) delta_rule(const float *__restrict__ q, const float *__restrict__ k, const float *__restrict__ v, const float2 *__restrict__ gates,
                       float *out, int tokens) {
    __shared__ __align__(16) float keys[2][64], queries[2][64];
    const int t = threadIdx.x;
    const size_t head = (size_t)blockIdx.x * tokens;
    float state[64] = {};
    float key = k[head * 64 + t], query = q[head * 64 + t];
    for (int token = 0; token < tokens; ++token) {
        float *ks = keys[token % 2], *qs = queries[token % 2];
        ks[t] = key * 0.125f, qs[t] = query * 0.125f;
        __syncthreads();
        const size_t at = (head + token) * 64 + t;
        if (token + 1 < tokens) key = k[at + 64], query = q[at + 64];
        const float2 gate = gates[head + token];
        const float kept = 0.9f + 0.1f * gate.x, rate = 0.5f + 0.5f * gate.y, value = v[at];
        float said = 0.0f, other = 0.0f, result = 0.0f, more = 0.0f;
        #pragma unroll
        for (int i = 0; i < 64; i += 4) {
            const float4 word = *reinterpret_cast<const float4 *>(ks + i);
            said += state[i] * word.x + state[i + 2] * word.z, other += state[i + 1] * word.y + state[i + 3] * word.w;
        }
        const float change = rate * (value - kept * (said + other));
        #pragma unroll
        for (int i = 0; i < 64; i += 4) {
            const float4 word = *reinterpret_cast<const float4 *>(ks + i), asked = *reinterpret_cast<const float4 *>(qs + i);
            state[i] = kept * state[i] + change * word.x, state[i + 1] = kept * state[i + 1] + change * word.y;
            state[i + 2] = kept * state[i + 2] + change * word.z, state[i + 3] = kept * state[i + 3] + change * word.w;
            result += state[i] * asked.x + state[i + 2] * asked.z, more += state[i + 1] * asked.y + state[i + 3] * asked.w;
        }
        out[at] = result + more;
    }
}

// Rows of 2048 scores of bf16, capped by a tanh, become shares; a sink of each head takes a share of its own.
KERNEL(256) sinks(const uint4 *__restrict__ scores, const float *__restrict__ sink, uint4 *shares, float cap) {
    __shared__ float found[8];
    const int t = threadIdx.x;
    const size_t at = (size_t)blockIdx.x * 256 + t;
    const uint4 given = scores[at];
    const __nv_bfloat162 *pairs = reinterpret_cast<const __nv_bfloat162 *>(&given);
    float x[8], most = sink[blockIdx.x % 64] * 4.0f, total = 0.0f;
    const float own = most;
    #pragma unroll
    for (int i = 0; i < 4; ++i) {
        const float2 both = __bfloat1622float2(pairs[i]);
        x[i * 2] = cap * tanhf(both.x * 40.0f / cap), x[i * 2 + 1] = cap * tanhf(both.y * 40.0f / cap);
        most = fmaxf(most, fmaxf(x[i * 2], x[i * 2 + 1]));
    }
    most = warp_most(most);
    if (t % 32 == 0) found[t / 32] = most;
    __syncthreads();
    most = warp_most(found[t % 8]);
    #pragma unroll
    for (int i = 0; i < 8; ++i) x[i] = __expf(x[i] - most), total += x[i];
    total = warp_sum(total);
    __syncthreads();
    if (t % 32 == 0) found[t / 32] = total;
    __syncthreads();
    total = __expf(own - most);
    #pragma unroll
    for (int w = 0; w < 8; ++w) total += found[w];
    const float share = __fdividef(1.0f, total);
    uint4 result;
    __nv_bfloat162 *to = reinterpret_cast<__nv_bfloat162 *>(&result);
    #pragma unroll
    for (int i = 0; i < 4; ++i) to[i] = __floats2bfloat162_rn(x[i * 2] * share, x[i * 2 + 1] * share);
    shares[at] = result;
}

// A token's attention to pages of sixteen keys and values of 128 halves: a block a sequence and a head of keys, which four heads of queries share;
// each of four warps takes every fourth page.
KERNEL(128) paged_group(const __half *__restrict__ q, const __half *__restrict__ keys, const __half *__restrict__ values,
                         const unsigned *__restrict__ tables, const unsigned *__restrict__ lengths, __half *out, int most_pages, unsigned pool, float scale) {
    __shared__ float held[4][4][128], tops[4][4], totals[4][4];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, head = blockIdx.x, sequence = blockIdx.y, heads = gridDim.x;
    const int length = most_pages * 8 + (int)(lengths[sequence] % (unsigned)(most_pages * 8)), pages = (length + 15) / 16;
    float query[4][4], sum[4][4] = {}, most[4], total[4] = {};
    const size_t first = ((size_t)sequence * heads + head) * 4;
    const auto four = [](const __half *p, float *to) {
        const uint2 given = __ldg(reinterpret_cast<const uint2 *>(p));
        const float2 a = __half22float2(*reinterpret_cast<const __half2 *>(&given.x)), b = __half22float2(*reinterpret_cast<const __half2 *>(&given.y));
        to[0] = a.x, to[1] = a.y, to[2] = b.x, to[3] = b.y;
    };
    #pragma unroll
    for (int h = 0; h < 4; ++h) four(q + (first + h) * 128 + lane * 4, query[h]), most[h] = -1e30f;
    for (int p = warp; p < pages; p += 4) {
        const size_t page = ((size_t)(tables[sequence * most_pages + p] % pool) * heads + head) * 2048;
        const int here = min(16, length - p * 16);
        #pragma unroll 2
        for (int i = 0; i < here; ++i) {
            float key[4], value[4];
            four(keys + page + i * 128 + lane * 4, key), four(values + page + i * 128 + lane * 4, value);
            #pragma unroll
            for (int h = 0; h < 4; ++h) {
                const float score = warp_sum(query[h][0] * key[0] + query[h][1] * key[1] + query[h][2] * key[2] + query[h][3] * key[3]) * scale;
                const float now = fmaxf(most[h], score), shrink = exp2f(most[h] - now), weight = exp2f(score - now);
                most[h] = now, total[h] = total[h] * shrink + weight;
                #pragma unroll
                for (int e = 0; e < 4; ++e) sum[h][e] = sum[h][e] * shrink + weight * value[e];
            }
        }
    }
    #pragma unroll
    for (int h = 0; h < 4; ++h) {
        *reinterpret_cast<float4 *>(held[warp][h] + lane * 4) = make_float4(sum[h][0], sum[h][1], sum[h][2], sum[h][3]);
        if (lane == 0) tops[warp][h] = most[h], totals[warp][h] = total[h];
    }
    __syncthreads();
    #pragma unroll
    for (int h = 0; h < 4; ++h) {
        const float top = fmaxf(fmaxf(tops[0][h], tops[1][h]), fmaxf(tops[2][h], tops[3][h]));
        float all = 0.0f, result = 0.0f;
        #pragma unroll
        for (int w = 0; w < 4; ++w) {
            const float share = exp2f(tops[w][h] - top);
            all += share * totals[w][h], result += share * held[w][h][threadIdx.x];
        }
        out[(first + h) * 128 + threadIdx.x] = __float2half(result / all);
    }
}

// A step of Adafactor: second moments are a product of a row's and a column's; bf16 weights, rounded to the nearest. A row of 2048 a block.
KERNEL(256) adafactor(const __nv_bfloat162 *__restrict__ gradient, __nv_bfloat162 *weights, const float *__restrict__ rows,
                       const float2 *__restrict__ columns, float rate, float decay) {
    __shared__ float found[8];
    const int t = threadIdx.x;
    const float row = fabsf(rows[blockIdx.x]) + 1e-3f;
    float2 change[4];
    float square = 0.0f;
    #pragma unroll
    for (int i = 0; i < 4; ++i) {
        const float2 g = __bfloat1622float2(gradient[(size_t)blockIdx.x * 1024 + i * 256 + t]), c = __ldg(columns + i * 256 + t);
        change[i] = make_float2(g.x * rsqrtf(row * (fabsf(c.x) + 1e-3f)), g.y * rsqrtf(row * (fabsf(c.y) + 1e-3f)));
        square += change[i].x * change[i].x + change[i].y * change[i].y;
    }
    square = warp_sum(square);
    if (t % 32 == 0) found[t / 32] = square;
    __syncthreads();
    square = 0.0f;
    #pragma unroll
    for (int w = 0; w < 8; ++w) square += found[w];
    const float step = rate / fmaxf(1.0f, sqrtf(square / 2048.0f));
    #pragma unroll
    for (int i = 0; i < 4; ++i) {
        const size_t at = (size_t)blockIdx.x * 1024 + i * 256 + t;
        const float2 w = __bfloat1622float2(weights[at]);
        weights[at] = __floats2bfloat162_rn(w.x * decay - step * change[i].x, w.y * decay - step * change[i].y);
    }
}

// Places for a token's experts: a block counts its 2048 choices among 128 experts, takes as many places of each, and writes who lies where.
KERNEL(256) expert_slots(const unsigned *__restrict__ choices, unsigned *taken, unsigned *slots, unsigned *tokens, unsigned room) {
    __shared__ unsigned counts[128], bases[128];
    const int t = threadIdx.x;
    if (t < 128) counts[t] = 0;
    __syncthreads();
    unsigned expert[8], rank[8];
    #pragma unroll
    for (int i = 0; i < 8; ++i) {
        expert[i] = choices[(size_t)blockIdx.x * 2048 + i * 256 + t] >> 25;
        rank[i] = atomicAdd(counts + expert[i], 1u);
    }
    __syncthreads();
    if (t < 128) bases[t] = atomicAdd(taken + t, counts[t]);
    __syncthreads();
    #pragma unroll
    for (int i = 0; i < 8; ++i) {
        const unsigned slot = (bases[expert[i]] + rank[i]) & (room - 1), which = blockIdx.x * 2048 + i * 256 + t;
        slots[which] = expert[i] * room + slot;
        tokens[expert[i] * room + slot] = which / 8;
    }
}
