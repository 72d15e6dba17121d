// Kernels of the nineteenth set that serve and train language models: six bits, caches in bytes, experts, penalties, states.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

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

// A matrix in groups of 256 weights of six bits (Q6_K: low fours, high twos, sixteen scales) by a vector of bytes: a warp a row.
struct Six { unsigned low[32], high[16]; signed char scales[16]; };
KERNEL(128) six_bits(const Six *weights, const __half *steps, const int *vector, const float *vector_steps, float *out, int groups) {
    const int lane = threadIdx.x % 32, row = blockIdx.x * 4 + threadIdx.x / 32, n = lane / 16, w = lane % 16;
    float sum = 0.0f;
    for (int g = 0; g < groups; ++g) {
        const Six *own = weights + (size_t)row * groups + g;
        const unsigned low = own->low[lane], high = own->high[n * 8 + w % 8] >> (w / 8 * 2);
        const int first = __vsubss4((low & 0x0f0f0f0fu) | (high & 0x03030303u) << 4, 0x20202020u);
        const int second = __vsubss4((low >> 4 & 0x0f0f0f0fu) | (high >> 4 & 0x03030303u) << 4, 0x20202020u);
        const int place = n * 4 + w / 8, scale = n * 8 + w % 8 / 4 + 2 * (w / 8);
        const int *x = vector + g * 64 + n * 32 + w;
        const float a = vector_steps[g * 8 + place] * (own->scales[scale] * __dp4a(first, x[0], 0));
        const float b = vector_steps[g * 8 + place + 2] * (own->scales[scale + 4] * __dp4a(second, x[16], 0));
        sum += __half2float(steps[(size_t)row * groups + g]) * (a + b);
    }
    sum = warp_sum(sum);
    if (lane == 0) out[row] = sum;
}

// Keys and values of new tokens into pages of a cache, as bytes e4m3: a page holds 16 tokens, its keys by groups of 16 numbers.
KERNEL(256) cached_as_bytes(const uint2 *keys, const uint2 *values, const unsigned *pages, unsigned *key_cache, unsigned *value_cache,
                            unsigned last_page, float key_step, float value_step) {
    const int token = blockIdx.x, t = threadIdx.x, head = t / 32, part = t % 32;
    const unsigned page = pages[token / 16] * 40503u & last_page, slot = token % 16;
    const size_t from = (size_t)token * 256 + t;
    const auto narrowed = [](uint2 four, float step) {
        const float a = __uint_as_float(four.x << 16), b = __uint_as_float(four.x & 0xffff0000u);
        const float c = __uint_as_float(four.y << 16), d = __uint_as_float(four.y & 0xffff0000u);
        const unsigned low = __nv_cvt_float2_to_fp8x2(make_float2(a * step, b * step), __NV_SATFINITE, __NV_E4M3);
        const unsigned high = __nv_cvt_float2_to_fp8x2(make_float2(c * step, d * step), __NV_SATFINITE, __NV_E4M3);
        return low | high << 16;
    };
    const size_t base = ((size_t)page * 8 + head) * 512;
    key_cache[base + (part / 4 * 16 + slot) * 4 + part % 4] = narrowed(keys[from], key_step);
    const unsigned v = narrowed(values[from], value_step);
    unsigned char *to = (unsigned char *)(value_cache + base);
    #pragma unroll
    for (int k = 0; k < 4; ++k) to[(part * 4 + k) * 16 + slot] = v >> (8 * k);
}

// What eight experts made of a token, weighed and added to what it was: a block a token, eight brain floats a thread.
KERNEL(256) unpermuted(const uint4 *rows, const unsigned *places, const float *weights, const uint4 *residual, uint4 *out, unsigned last) {
    const int token = blockIdx.x, t = threadIdx.x;
    const auto low = [](unsigned w) { return __uint_as_float(w << 16); };
    const auto high = [](unsigned w) { return __uint_as_float(w & 0xffff0000u); };
    const uint4 first = residual[(size_t)token * 256 + t];
    float sum[8] = {low(first.x), high(first.x), low(first.y), high(first.y), low(first.z), high(first.z), low(first.w), high(first.w)};
    #pragma unroll
    for (int k = 0; k < 8; ++k) {
        const float weight = weights[token * 8 + k];
        const uint4 v = rows[(size_t)(places[token * 8 + k] & last) * 256 + t];
        sum[0] += weight * low(v.x), sum[1] += weight * high(v.x), sum[2] += weight * low(v.y), sum[3] += weight * high(v.y);
        sum[4] += weight * low(v.z), sum[5] += weight * high(v.z), sum[6] += weight * low(v.w), sum[7] += weight * high(v.w);
    }
    uint4 made;
    unsigned *word = &made.x;
    #pragma unroll
    for (int k = 0; k < 4; ++k) {
        const __nv_bfloat162 two = __floats2bfloat162_rn(sum[2 * k], sum[2 * k + 1]);
        word[k] = *(const unsigned *)&two;
    }
    out[(size_t)token * 256 + t] = made;
}

// One new token of eight heads that share keys and values of bytes, with a step to each token of the cache: 512 tokens a block.
KERNEL(128) byte_cache(const __half *queries, const uint4 *keys, const float *key_steps, const unsigned *values,
                       const float *value_steps, __half *out, float scale) {
    __shared__ __align__(16) float query[8][128], score[8][512];
    __shared__ float sums[8];
    const int t = threadIdx.x, lane = t % 32, warp = t / 32;
    const size_t base = (size_t)blockIdx.x * 512;
    for (int i = t; i < 1024; i += 128) query[i / 128][i % 128] = __half2float(queries[(size_t)blockIdx.x * 1024 + i]) * scale;
    __syncthreads();
    for (int token = t; token < 512; token += 128) {
        float dot[8] = {};
        #pragma unroll 2
        for (int part = 0; part < 8; ++part) {
            const uint4 v = keys[(base + token) * 8 + part];
            const unsigned words[4] = {v.x, v.y, v.z, v.w};
            #pragma unroll
            for (int w = 0; w < 4; ++w) {
                const float a = (float)(signed char)(words[w]), b = (float)(signed char)(words[w] >> 8);
                const float c = (float)(signed char)(words[w] >> 16), d = (float)(signed char)(words[w] >> 24);
                #pragma unroll
                for (int h = 0; h < 8; ++h) {
                    const float4 q = *(const float4 *)(query[h] + part * 16 + w * 4);
                    dot[h] += q.x * a + q.y * b + q.z * c + q.w * d;
                }
            }
        }
        const float step = key_steps[base + token] * 0.0078125f;
        #pragma unroll
        for (int h = 0; h < 8; ++h) score[h][token] = dot[h] * step;
    }
    __syncthreads();
    for (int h = warp; h < 8; h += 4) {
        float most = -1e30f, sum = 0.0f;
        for (int i = lane; i < 512; i += 32) most = fmaxf(most, score[h][i]);
        most = warp_max(most);
        for (int i = lane; i < 512; i += 32) {
            const float e = __expf(score[h][i] - most);
            sum += e;
            score[h][i] = e * value_steps[base + i] * 0.0078125f;
        }
        sum = warp_sum(sum);
        if (lane == 0) sums[h] = 1.0f / sum;
    }
    __syncthreads();
    float own[8][4] = {};
    #pragma unroll 4
    for (int token = warp; token < 512; token += 4) {
        const unsigned v = values[(base + token) * 32 + lane];
        const float a = (float)(signed char)v, b = (float)(signed char)(v >> 8), c = (float)(signed char)(v >> 16), d = (float)(signed char)(v >> 24);
        #pragma unroll
        for (int h = 0; h < 8; ++h) {
            const float p = score[h][token];
            own[h][0] += p * a, own[h][1] += p * b, own[h][2] += p * c, own[h][3] += p * d;
        }
    }
    __syncthreads();
    float *parts = &score[0][0];
    #pragma unroll
    for (int h = 0; h < 8; ++h) *(float4 *)(parts + (warp * 8 + h) * 128 + lane * 4) = make_float4(own[h][0], own[h][1], own[h][2], own[h][3]);
    __syncthreads();
    #pragma unroll
    for (int h = 0; h < 8; ++h) {
        const float all = parts[h * 128 + t] + parts[(8 + h) * 128 + t] + parts[(16 + h) * 128 + t] + parts[(24 + h) * 128 + t];
        out[(size_t)blockIdx.x * 1024 + h * 128 + t] = __float2half(all * sums[h]);
    }
}

// A gate's SiLU times what it lets pass, to bytes e4m3 with a scale to each 128: a warp a group, four numbers a lane.
KERNEL(256) gated_to_bytes(const uint2 *both, unsigned *out, float *scales, int groups) {
    const int lane = threadIdx.x % 32, group = blockIdx.x * 8 + threadIdx.x / 32, row = group / groups, place = group % groups;
    const uint2 g = both[((size_t)row * 2 * groups + place) * 32 + lane], u = both[((size_t)(row * 2 + 1) * groups + place) * 32 + lane];
    float v[4];
    const unsigned gates[2] = {g.x, g.y}, ups[2] = {u.x, u.y};
    #pragma unroll
    for (int k = 0; k < 4; ++k) {
        const float x = __uint_as_float(k % 2 ? gates[k / 2] & 0xffff0000u : gates[k / 2] << 16);
        const float y = __uint_as_float(k % 2 ? ups[k / 2] & 0xffff0000u : ups[k / 2] << 16);
        v[k] = __fdividef(x, 1.0f + __expf(-x)) * y;
    }
    const float most = warp_max(fmaxf(fmaxf(fabsf(v[0]), fabsf(v[1])), fmaxf(fabsf(v[2]), fabsf(v[3]))));
    const float step = fmaxf(most, 1e-10f) / 448.0f, inverse = 1.0f / step;
    const unsigned low = __nv_cvt_float2_to_fp8x2(make_float2(v[0] * inverse, v[1] * inverse), __NV_SATFINITE, __NV_E4M3);
    const unsigned high = __nv_cvt_float2_to_fp8x2(make_float2(v[2] * inverse, v[3] * inverse), __NV_SATFINITE, __NV_E4M3);
    out[(size_t)group * 32 + lane] = low | high << 16;
    if (lane == 0) scales[group] = step;
}

// A step of Adam whose moments are bytes: places in a table of 256 numbers, found by halving, and the largest of each 1024.
KERNEL(256) byte_adam(float4 *weights, const float4 *grads, unsigned *first, unsigned *second, float *first_most, float *second_most,
                      const float *table, float rate, float beta1, float beta2, float eps) {
    __shared__ float signs[256], whole[256], most[16];
    const int t = threadIdx.x;
    const size_t i = (size_t)blockIdx.x * 256 + t;
    const float x = (table[t] - 127.5f) / 127.5f, y = (table[t] + 1.0f) / 256.0f;
    signs[t] = x * x * x, whole[t] = y * y * y;
    __syncthreads();
    const float scale1 = first_most[blockIdx.x], scale2 = fabsf(second_most[blockIdx.x]);
    const unsigned m = first[i], v = second[i];
    float4 w = weights[i];
    const float4 g4 = grads[i];
    const float g[4] = {g4.x, g4.y, g4.z, g4.w};
    float m4[4], v4[4], *held = &w.x, largest1 = 0.0f, largest2 = 0.0f;
    #pragma unroll
    for (int k = 0; k < 4; ++k) {
        m4[k] = beta1 * signs[m >> (8 * k) & 255] * scale1 + (1.0f - beta1) * g[k];
        v4[k] = beta2 * whole[v >> (8 * k) & 255] * scale2 + (1.0f - beta2) * g[k] * g[k];
        held[k] -= rate * m4[k] / (sqrtf(v4[k]) + eps);
        largest1 = fmaxf(largest1, fabsf(m4[k])), largest2 = fmaxf(largest2, v4[k]);
    }
    weights[i] = w;
    largest1 = warp_max(largest1), largest2 = warp_max(largest2);
    if (t % 32 == 0) most[t / 32] = largest1, most[8 + t / 32] = largest2;
    __syncthreads();
    largest1 = most[0], largest2 = most[8];
    #pragma unroll
    for (int k = 1; k < 8; ++k) largest1 = fmaxf(largest1, most[k]), largest2 = fmaxf(largest2, most[8 + k]);
    const auto nearest = [](const float *values, float wanted) {
        int place = 0;
        #pragma unroll
        for (int step = 128; step > 0; step >>= 1)
            if (values[place + step] <= wanted) place += step;
        if (place < 255 && wanted - values[place] > values[place + 1] - wanted) ++place;
        return (unsigned)place;
    };
    unsigned m_out = 0, v_out = 0;
    #pragma unroll
    for (int k = 0; k < 4; ++k) {
        m_out |= nearest(signs, m4[k] / largest1) << (8 * k);
        v_out |= nearest(whole, v4[k] / largest2) << (8 * k);
    }
    first[i] = m_out, second[i] = v_out;
    if (t == 0) first_most[blockIdx.x] = largest1, second_most[blockIdx.x] = largest2;
}

// RWKV's state of 64 by 64, over 64 steps: a block a head, a thread a column; what all threads read lies in shared memory.
KERNEL(64) wkv(const float *receptance, const float *keys, const float *values, const float *decays, const float *bonus, float *out) {
    __shared__ __align__(16) float r[64], k[64], w[64], u[64];
    const int t = threadIdx.x;
    const size_t base = (size_t)blockIdx.x * 64 * 64;
    float state[64] = {};
    u[t] = bonus[(blockIdx.x & 31) * 64 + t];
    for (int step = 0; step < 64; ++step) {
        const size_t at = base + step * 64 + t;
        __syncthreads();
        r[t] = receptance[at], k[t] = keys[at], w[t] = __expf(-__expf(decays[at]));
        __syncthreads();
        const float v = values[at];
        float y = 0.0f;
        #pragma unroll
        for (int j = 0; j < 64; j += 4) {
            const float4 rr = *(const float4 *)(r + j), kk = *(const float4 *)(k + j), ww = *(const float4 *)(w + j), uu = *(const float4 *)(u + j);
            const float a = kk.x * v, b = kk.y * v, c = kk.z * v, d = kk.w * v;
            y += rr.x * (uu.x * a + state[j]) + rr.y * (uu.y * b + state[j + 1]) + rr.z * (uu.z * c + state[j + 2]) + rr.w * (uu.w * d + state[j + 3]);
            state[j] = state[j] * ww.x + a, state[j + 1] = state[j + 1] * ww.y + b;
            state[j + 2] = state[j + 2] * ww.z + c, state[j + 3] = state[j + 3] * ww.w + d;
        }
        out[at] = y;
    }
}

// Scores of 32768 words, less for what was said before (by how often, and at all), and what normalises them: a block a text.
KERNEL(512) penalised(const float4 *scores, const unsigned *history, float4 *out, float *norms, int said, float repeated, float often,
                      float at_all, float inverse_temperature) {
    __shared__ unsigned counts[8192];
    __shared__ float2 parts[16];
    const int t = threadIdx.x;
    for (int i = t; i < 8192; i += 512) counts[i] = 0;
    __syncthreads();
    for (int i = t; i < said; i += 512) {
        const unsigned word = history[(size_t)blockIdx.x * said + i] & 32767;
        atomicAdd(counts + word / 4, 1u << (word % 4 * 8));
    }
    __syncthreads();
    float most = -1e30f, sum = 0.0f;
    for (int i = t; i < 8192; i += 512) {
        float4 s = scores[(size_t)blockIdx.x * 8192 + i];
        const unsigned c = counts[i];
        float *each = &s.x;
        #pragma unroll
        for (int k = 0; k < 4; ++k) {
            const unsigned times = c >> (8 * k) & 255;
            if (times) {
                each[k] = each[k] > 0.0f ? each[k] / repeated : each[k] * repeated;
                each[k] -= often * times + at_all;
            }
            each[k] *= inverse_temperature;
        }
        const float next = fmaxf(most, fmaxf(fmaxf(s.x, s.y), fmaxf(s.z, s.w)));
        sum = sum * __expf(most - next) + __expf(s.x - next) + __expf(s.y - next) + __expf(s.z - next) + __expf(s.w - next);
        most = next;
        out[(size_t)blockIdx.x * 8192 + i] = s;
    }
    #pragma unroll
    for (int offset = 16; offset > 0; offset >>= 1) {
        const float other = __shfl_xor_sync(ALL, most, offset), more = __shfl_xor_sync(ALL, sum, offset), next = fmaxf(most, other);
        sum = sum * __expf(most - next) + more * __expf(other - next);
        most = next;
    }
    if (t % 32 == 0) parts[t / 32] = make_float2(most, sum);
    __syncthreads();
    if (t == 0) {
        for (int w = 1; w < 16; ++w) {
            const float next = fmaxf(most, parts[w].x);
            sum = sum * __expf(most - next) + parts[w].y * __expf(parts[w].x - next);
            most = next;
        }
        norms[blockIdx.x] = most + __logf(sum);
    }
}
