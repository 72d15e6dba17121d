// Kernels of the twentieth set that serve and train models: weights of three values, experts in groups, adapters, splits, samples, rows.
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

// A matrix of weights -1, 0 and 1 (and 2, which no trained one has), sixteen to a word, by a vector of bytes: a warp to a row of 4096.
// A word's k-th pairs of bits belong to the four bytes of the vector's word 4 w + k.
KERNEL(256) ternary(const uint4 *weights, const int4 *vector, const float *scales, float *out, float step) {
    const int lane = threadIdx.x % 32, row = blockIdx.x * 8 + threadIdx.x / 32;
    int sum = 0, all = 0;
    #pragma unroll
    for (int part = 0; part < 2; ++part) {
        const uint4 four = weights[(size_t)row * 64 + part * 32 + lane];
        const unsigned words[4] = {four.x, four.y, four.z, four.w};
        #pragma unroll
        for (int w = 0; w < 4; ++w) {
            const int4 x = vector[(part * 32 + lane) * 4 + w];
            const int xs[4] = {x.x, x.y, x.z, x.w};
            #pragma unroll
            for (int k = 0; k < 4; ++k) {
                sum = __dp4a((int)(words[w] >> (2 * k) & 0x03030303u), xs[k], sum);
                all = __dp4a(0x01010101, xs[k], all);
            }
        }
    }
    const int total = __reduce_add_sync(ALL, sum - all);
    if (lane == 0) out[row] = (float)total * scales[row] * step;
}

// Which eight of 256 experts each token goes to: of eight groups the four whose two best are best, then the best of those (a gate by
// sigmoids with a bias). A warp to a token, eight experts a lane, four lanes a group.
KERNEL(128) gated_groups(const float *logits, const float *biases, int *chosen, float *weights, float factor) {
    const int lane = threadIdx.x % 32, token = blockIdx.x * 4 + threadIdx.x / 32;
    float score[8], biased[8];
    float first = -1e30f, second = -1e30f;
    #pragma unroll
    for (int k = 0; k < 2; ++k) {
        const float4 x = reinterpret_cast<const float4 *>(logits + (size_t)token * 256 + lane * 8)[k];
        const float4 b = reinterpret_cast<const float4 *>(biases + lane * 8)[k];
        const float xs[4] = {x.x, x.y, x.z, x.w}, bs[4] = {b.x, b.y, b.z, b.w};
        #pragma unroll
        for (int j = 0; j < 4; ++j) {
            const float s = 1.0f / (1.0f + __expf(-xs[j])), v = s + 0.1f * bs[j];
            score[k * 4 + j] = s, biased[k * 4 + j] = v;
            second = fmaxf(second, fminf(first, v));
            first = fmaxf(first, v);
        }
    }
    #pragma unroll
    for (int offset = 1; offset < 4; offset <<= 1) {
        const float one = __shfl_xor_sync(ALL, first, offset), two = __shfl_xor_sync(ALL, second, offset);
        second = fmaxf(fminf(first, one), fmaxf(second, two));
        first = fmaxf(first, one);
    }
    const float own = first + second;
    int better = 0;
    #pragma unroll
    for (int g = 0; g < 8; ++g) {
        const float other = __shfl_sync(ALL, own, g * 4);
        better += other > own || (other == own && g < lane / 4);
    }
    if (better >= 4) {
        #pragma unroll
        for (int k = 0; k < 8; ++k) biased[k] = -1e30f;
    }
    float taken = 0.0f, sum = 0.0f;
    int expert = 0;
    for (int n = 0; n < 8; ++n) {
        float best = biased[0], weight = score[0];
        int place = 0;
        #pragma unroll
        for (int k = 1; k < 8; ++k)
            if (biased[k] > best) best = biased[k], weight = score[k], place = k;
        place += lane * 8;
        #pragma unroll
        for (int offset = 16; offset > 0; offset >>= 1) {
            const float more = __shfl_xor_sync(ALL, best, offset), its = __shfl_xor_sync(ALL, weight, offset);
            const int where = __shfl_xor_sync(ALL, place, offset);
            if (more > best || (more == best && where < place)) best = more, weight = its, place = where;
        }
        #pragma unroll
        for (int k = 0; k < 8; ++k)
            if (place == lane * 8 + k) biased[k] = -1e30f;
        sum += weight;
        if (lane == n) taken = weight, expert = place;
    }
    if (lane < 8) {
        chosen[token * 8 + lane] = expert;
        weights[token * 8 + lane] = taken / (sum + 1e-20f) * factor;
    }
}

// Rows of 4096 by the first matrix of their adapter, of which there are 64, of rank sixteen: a block to a row, four ranks a warp.
KERNEL(128) shrunk(const __nv_bfloat162 *rows, const __nv_bfloat162 *adapters, const unsigned *which, float *out, float scale) {
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const uint4 *x = reinterpret_cast<const uint4 *>(rows + (size_t)blockIdx.x * 2048);
    const uint4 *a = reinterpret_cast<const uint4 *>(adapters + ((size_t)(which[blockIdx.x] & 63) * 16 + warp * 4) * 2048);
    float sum[4] = {};
    for (int k = lane; k < 512; k += 32) {
        const uint4 given = x[k];
        const __nv_bfloat162 *g = reinterpret_cast<const __nv_bfloat162 *>(&given);
        #pragma unroll
        for (int r = 0; r < 4; ++r) {
            const uint4 loaded = a[r * 512 + k];
            const __nv_bfloat162 *w = reinterpret_cast<const __nv_bfloat162 *>(&loaded);
            #pragma unroll
            for (int j = 0; j < 4; ++j) {
                const float2 p = __bfloat1622float2(g[j]), q = __bfloat1622float2(w[j]);
                sum[r] += p.x * q.x + p.y * q.y;
            }
        }
    }
    #pragma unroll
    for (int r = 0; r < 4; ++r) {
        const float total = warp_sum(sum[r]);
        if (lane == 0) out[blockIdx.x * 16 + warp * 4 + r] = total * scale;
    }
}

// What up to sixteen parts of a long context say, each with the logarithm of its sum, becomes one head's answer: a block to a head.
KERNEL(128) splits_joined(const float *parts, const float *logarithms, const unsigned *counts, __nv_bfloat16 *out, float *total) {
    __shared__ float shares[16];
    const int t = threadIdx.x, head = blockIdx.x, splits = 8 + (counts[head / 8] & 7) + 1;
    if (t < 32) {
        const float own = t < splits ? 8.0f * logarithms[head * 16 + t] : -1e30f, most = warp_max(own);
        const float part = t < splits ? __expf(own - most) : 0.0f, sum = warp_sum(part);
        if (t < 16) shares[t] = part / sum;
        if (t == 0) total[head] = most + __logf(sum);
    }
    __syncthreads();
    float sum = 0.0f;
    #pragma unroll 4
    for (int s = 0; s < splits; ++s) sum += shares[s] * parts[((size_t)head * 16 + s) * 128 + t];
    out[(size_t)head * 128 + t] = __float2bfloat16(sum);
}

// A word by chance out of those at least `least` times as likely as the likeliest: a block to a row of 32768, which stays in registers.
KERNEL(1024) likely_enough(const float *logits, const float *chances, int *words, float heat, float least) {
    __shared__ float held[32];
    __shared__ float base;
    const int t = threadIdx.x, lane = t % 32, warp = t / 32;
    const float *own = logits + (size_t)blockIdx.x * 32768;
    float v[32], most = -1e30f;
    #pragma unroll
    for (int k = 0; k < 32; ++k) v[k] = own[k * 1024 + t] * heat;
    #pragma unroll
    for (int k = 0; k < 32; ++k) most = fmaxf(most, v[k]);
    most = warp_max(most);
    if (lane == 0) held[warp] = most;
    __syncthreads();
    most = warp_max(held[lane]);
    __syncthreads();
    float sum = 0.0f;
    #pragma unroll
    for (int k = 0; k < 32; ++k) {
        const float p = __expf(v[k] - most);
        v[k] = p >= least ? p : 0.0f;
        sum += v[k];
    }
    float before = sum;
    #pragma unroll
    for (int offset = 1; offset < 32; offset <<= 1) {
        const float other = __shfl_up_sync(ALL, before, offset);
        if (lane >= offset) before += other;
    }
    if (lane == 31) held[warp] = before;
    __syncthreads();
    if (warp == 0) {
        float w = held[lane];
        #pragma unroll
        for (int offset = 1; offset < 32; offset <<= 1) {
            const float other = __shfl_up_sync(ALL, w, offset);
            if (lane >= offset) w += other;
        }
        held[lane] = w;
        if (lane == 31) base = w;
    }
    __syncthreads();
    const float target = (0.5f + 0.5f * chances[blockIdx.x]) * base;
    float reached = before - sum + (warp ? held[warp - 1] : 0.0f);
    if (target >= reached && target < reached + sum) {
        #pragma unroll
        for (int k = 0; k < 32; ++k) {
            if (v[k] > 0.0f && target >= reached) words[blockIdx.x] = k * 1024 + t;
            reached += v[k];
        }
    }
}

// Gradients of rows of a table of words: each token's 512 are added to the row of its word; few words are frequent. Four a thread.
KERNEL(128) word_gradients(const __nv_bfloat162 *gradients, const unsigned *tokens, float *table, int words) {
    const size_t token = blockIdx.x;
    const float chance = (float)(tokens[token] >> 8) * 0x1p-24f;
    const unsigned word = (unsigned)(chance * chance * chance * (float)words);
    const uint2 pair = reinterpret_cast<const uint2 *>(gradients + token * 256)[threadIdx.x];
    const float2 a = __bfloat1622float2(reinterpret_cast<const __nv_bfloat162 &>(pair.x));
    const float2 b = __bfloat1622float2(reinterpret_cast<const __nv_bfloat162 &>(pair.y));
    float *to = table + (size_t)word * 512 + threadIdx.x * 4;
    atomicAdd(to, a.x), atomicAdd(to + 1, a.y), atomicAdd(to + 2, b.x), atomicAdd(to + 3, b.y);
}

// Of every four weights the two largest are kept, side by side, and two times two bits tell where they were: sixteen weights a thread.
KERNEL(256) two_of_four(const uint4 *weights, uint4 *kept, unsigned short *places) {
    const size_t i = (size_t)blockIdx.x * 256 + threadIdx.x;
    unsigned words[4], bits = 0;
    #pragma unroll
    for (int part = 0; part < 2; ++part) {
        const uint4 eight = weights[i * 2 + part];
        const unsigned w[4] = {eight.x, eight.y, eight.z, eight.w};
        #pragma unroll
        for (int four = 0; four < 2; ++four) {
            const unsigned short h[4] = {(unsigned short)w[four * 2], (unsigned short)(w[four * 2] >> 16),
                                         (unsigned short)w[four * 2 + 1], (unsigned short)(w[four * 2 + 1] >> 16)};
            int first = 0, second = -1, most = h[0] & 0x7fff, next = -1;
            #pragma unroll
            for (int k = 1; k < 4; ++k) {
                const int size = h[k] & 0x7fff;
                if (size > most) next = most, second = first, most = size, first = k;
                else if (size > next) next = size, second = k;
            }
            const int low = min(first, second), high = max(first, second);
            unsigned a = h[0], b = h[1];
            #pragma unroll
            for (int k = 1; k < 4; ++k) {
                if (k == low) a = h[k];
                if (k == high) b = h[k];
            }
            words[part * 2 + four] = a | b << 16;
            bits |= (unsigned)(low | high << 2) << (4 * (part * 2 + four));
        }
    }
    kept[i] = make_uint4(words[0], words[1], words[2], words[3]);
    places[i] = (unsigned short)bits;
}
