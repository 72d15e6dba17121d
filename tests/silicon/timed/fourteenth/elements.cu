// Kernels of the fourteenth set that stand alone.
#include <cuda_fp16.h>

#define KERNEL(THREADS) extern "C" __global__ void __launch_bounds__(THREADS)
typedef unsigned long long wide;

__device__ __forceinline__ float warp_max(float v) {
    for (int d = 16; d; d /= 2) v = fmaxf(v, __shfl_xor_sync(~0u, v, d));
    return v;
}
__device__ __forceinline__ unsigned mixed(unsigned x) {
    x = (x ^ x >> 16) * 0x7feb352du, x = (x ^ x >> 15) * 0x846ca68bu;
    return x ^ x >> 16;
}

// BLAKE2s of 64 bytes a thread, in ten rounds.
KERNEL(128) blake(const uint4 *in, uint4 *out) {
    constexpr int ORDER[10][16] = {
        {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}, {14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3},
        {11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4}, {7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8},
        {9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13}, {2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9},
        {12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11}, {13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10},
        {6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5}, {10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0}};
    constexpr unsigned BEGIN[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    const int i = blockIdx.x * 128 + threadIdx.x;
    unsigned m[16], v[16];
    #pragma unroll
    for (int k = 0; k < 4; ++k) {
        const uint4 w = in[(size_t)i * 4 + k];
        m[4 * k] = w.x, m[4 * k + 1] = w.y, m[4 * k + 2] = w.z, m[4 * k + 3] = w.w;
    }
    #pragma unroll
    for (int k = 0; k < 8; ++k) v[k] = k ? BEGIN[k] : BEGIN[0] ^ 0x01010020, v[k + 8] = BEGIN[k];
    v[12] ^= 64, v[14] = ~v[14];
    const auto mix = [&](int a, int b, int c, int d, unsigned x, unsigned y) {
        v[a] += v[b] + x, v[d] = __funnelshift_r(v[d] ^ v[a], v[d] ^ v[a], 16), v[c] += v[d], v[b] = __funnelshift_r(v[b] ^ v[c], v[b] ^ v[c], 12);
        v[a] += v[b] + y, v[d] = __funnelshift_r(v[d] ^ v[a], v[d] ^ v[a], 8), v[c] += v[d], v[b] = __funnelshift_r(v[b] ^ v[c], v[b] ^ v[c], 7);
    };
    #pragma unroll
    for (int r = 0; r < 10; ++r)
        #pragma unroll
        for (int k = 0; k < 8; ++k) {
            const int on = k / 4, j = k % 4;
            mix(j, 4 + (j + on) % 4, 8 + (j + 2 * on) % 4, 12 + (j + 3 * on) % 4, m[ORDER[r][2 * k]], m[ORDER[r][2 * k + 1]]);
        }
    #pragma unroll
    for (int k = 0; k < 8; ++k) v[k] ^= v[k + 8] ^ (k ? BEGIN[k] : BEGIN[0] ^ 0x01010020);
    out[(size_t)i * 2] = {v[0], v[1], v[2], v[3]}, out[(size_t)i * 2 + 1] = {v[4], v[5], v[6], v[7]};
}

// Two parities of eight disks: their exclusive or, and a sum with weights in a field of 256 elements.
KERNEL(256) parity(const uint4 *disks, uint4 *p, uint4 *q, int each) {
    const int i = blockIdx.x * 256 + threadIdx.x;
    const auto twice = [](unsigned v) { return (v << 1 & 0xfefefefeu) ^ (v >> 7 & 0x01010101u) * 0x1du; };
    uint4 x = {}, y = {};
    #pragma unroll
    for (int k = 0; k < 8; ++k) {
        const uint4 d = disks[(size_t)k * each + i];
        x = {x.x ^ d.x, x.y ^ d.y, x.z ^ d.z, x.w ^ d.w};
        y = {twice(y.x) ^ d.x, twice(y.y) ^ d.y, twice(y.z) ^ d.z, twice(y.w) ^ d.w};
    }
    p[i] = x, q[i] = y;
}

// Volatilities that prices of options imply, by eight steps of Newton: prices are made first.
KERNEL(128) implied(const float *strikes, const float *times, const float *truths, float *out) {
    const int i = blockIdx.x * 128 + threadIdx.x;
    const float strike = 50 + 10 * strikes[i], time = 0.75f + 0.5f * times[i], root = sqrtf(time);
    const float held = strike * __expf(-0.02f * time), ahead = logf(50 / strike) + 0.02f * time;
    float slope;
    const auto price = [&](float v) {
        const float d = ahead / v + 0.5f * v;
        slope = 39.894228f * __expf(-0.49999997f * d * d);
        return 50 * erfcf(-0.70710678f * d) - held * erfcf(-0.70710678f * (d - v));
    };
    const float seen = price((0.35f + 0.2f * truths[i]) * root);
    float v = 0.3f * root;
    for (int k = 0; k < 8; ++k) {
        const float off = price(v) - seen;
        v = fminf(fmaxf(v - off / fmaxf(slope, 1e-3f), 0.01f), 2.f);
    }
    out[i] = v / root;
}

// A step of Adam whose moments are bytes: 2048 weights a block share a scale, and bytes name places of a table.
KERNEL(256) byte_moments(float *weights, const float *gradients, uint2 *first, uint2 *second, float *scales, float rate) {
    __shared__ float table[256], most[2][8];
    const int t = threadIdx.x;
    const float place = (t - 127.5f) / 127.5f;
    table[t] = place * fabsf(place);
    __syncthreads();
    const size_t at = (size_t)blockIdx.x * 256 + t;
    const uint2 a = first[at], b = second[at];
    const float by = 1e-3f + fabsf(scales[blockIdx.x * 2]), also = 1e-3f + fabsf(scales[blockIdx.x * 2 + 1]);
    float m[8], v[8], mm = 0, vm = 0;
    float4 *w = (float4 *)weights + at * 2;
    const float4 *g = (const float4 *)gradients + at * 2;
    #pragma unroll
    for (int h = 0; h < 2; ++h) {
        const float4 x = g[h];
        const float each[4] = {x.x, x.y, x.z, x.w};
        float4 old = w[h];
        float *o = &old.x;
        #pragma unroll
        for (int k = 0; k < 4; ++k) {
            const int j = h * 4 + k;
            m[j] = 0.9f * by * table[(h ? a.y : a.x) >> 8 * k & 255] + 0.1f * each[k];
            v[j] = 0.999f * also * fabsf(table[(h ? b.y : b.x) >> 8 * k & 255]) + 0.001f * each[k] * each[k];
            mm = fmaxf(mm, fabsf(m[j])), vm = fmaxf(vm, v[j]);
            o[k] -= rate * m[j] / (sqrtf(v[j]) + 1e-8f);
        }
        w[h] = old;
    }
    mm = warp_max(mm), vm = warp_max(vm);
    if (t % 32 == 0) most[0][t / 32] = mm, most[1][t / 32] = vm;
    __syncthreads();
    for (int k = 0; k < 8; ++k) mm = fmaxf(mm, most[0][k]), vm = fmaxf(vm, most[1][k]);
    const auto nearest = [&](float x) {
        int low = 0;
        #pragma unroll
        for (int step = 128; step; step /= 2)
            if (table[low + step] <= x) low += step;
        return (unsigned)(low < 255 && table[low + 1] - x < x - table[low] ? low + 1 : low);
    };
    unsigned to[4] = {};
    #pragma unroll
    for (int j = 0; j < 8; ++j) {
        to[j / 4] |= nearest(m[j] / mm) << 8 * (j % 4);
        to[2 + j / 4] |= nearest(v[j] / vm) << 8 * (j % 4);
    }
    first[at] = {to[0], to[1]}, second[at] = {to[2], to[3]};
    if (!t) scales[blockIdx.x * 2] = mm, scales[blockIdx.x * 2 + 1] = vm;
}

// Seven by seven means of regions of 64 planes of 64 by 64, each of four points between pixels.
KERNEL(256) regions(const float *planes, const float4 *boxes, float *out) {
    const int i = blockIdx.x * 256 + threadIdx.x, bin = i % 49, plane = i / 49 % 64;
    const float4 b = boxes[i / 3136];
    const float left = 16 + 15 * b.x, top = 16 + 15 * b.y, wide = (14 + 13 * b.z) / 7, high = (14 + 13 * b.w) / 7;
    const float *in = planes + plane * 4096;
    float sum = 0;
    #pragma unroll
    for (int k = 0; k < 4; ++k) {
        const float x = left + (bin % 7 + 0.25f + 0.5f * (k % 2)) * wide, y = top + (bin / 7 + 0.25f + 0.5f * (k / 2)) * high;
        const int u = (int)x, v = (int)y;
        const float a = x - u, c = y - v;
        const float *p = in + v * 64 + u;
        sum += (1 - c) * ((1 - a) * p[0] + a * p[1]) + c * ((1 - a) * p[64] + a * p[65]);
    }
    out[i] = 0.25f * sum;
}

// Minimizers of a genome: the least hash of sixteen words of fifteen letters that follow one another, of either strand.
KERNEL(256) minimizers(const unsigned *letters, unsigned *out) {
    __shared__ unsigned text[265], hashes[1040];
    const int t = threadIdx.x;
    for (int k = t; k < 265; k += 256) text[k] = letters[(size_t)blockIdx.x * 256 + k];
    __syncthreads();
    for (int g = t; g < 260; g += 256) {
        const unsigned words[5] = {text[g], text[g + 1], text[g + 2], text[g + 3], text[g + 4]};
        unsigned ahead = 0, back = 0;
        #pragma unroll
        for (int k = 0; k < 18; ++k) {
            const unsigned letter = words[k / 4] >> 8 * (k % 4) & 3;
            ahead = (ahead << 2 | letter) & 0x3fffffffu, back = back >> 2 | (3 - letter) << 28;
            if (k >= 14) hashes[g * 4 + k - 14] = mixed(min(ahead, back));
        }
    }
    __syncthreads();
    unsigned v[19];
    #pragma unroll
    for (int k = 0; k < 19; ++k) v[k] = hashes[t * 4 + k];
    unsigned least = v[3];
    #pragma unroll
    for (int k = 4; k < 16; ++k) least = min(least, v[k]);
    ((uint4 *)out)[(size_t)blockIdx.x * 256 + t] = {min(least, min(v[0], min(v[1], v[2]))), min(least, min(v[1], min(v[2], v[16]))),
                                                    min(least, min(v[2], min(v[16], v[17]))), min(least, min(v[16], min(v[17], v[18])))};
}

// Eight rounds of a hash for proofs: twelve words by 2^64 - 2^32 + 1, seventh powers, then a product with a matrix.
KERNEL(128) goldilocks(const wide *in, wide *out, int many) {
    constexpr wide LOW = 0xffffffffull, BY = 0xffffffff00000001ull;
    constexpr unsigned ROW[12] = {17, 15, 41, 16, 2, 28, 13, 13, 39, 18, 34, 20};
    const auto reduced = [](wide low, wide high) {
        const wide top = high >> 32;
        wide v = low - top;
        if (low < top) v -= LOW;
        const wide more = (high & LOW) * LOW, sum = v + more;
        return sum < more ? sum + LOW : sum;
    };
    const auto product = [&](wide x, wide y) { return reduced(x * y, __umul64hi(x, y)); };
    const int i = blockIdx.x * 128 + threadIdx.x;
    wide x[12];
    #pragma unroll
    for (int k = 0; k < 12; ++k) x[k] = in[(size_t)k * many + i];
    #pragma unroll 1
    for (int r = 0; r < 8; ++r) {
        #pragma unroll
        for (int k = 0; k < 12; ++k) {
            const wide v = x[k] ^ (wide)(r * 12 + k), two = product(v, v), three = product(two, v);
            x[k] = product(product(two, two), three);
        }
        wide y[12];
        #pragma unroll
        for (int k = 0; k < 12; ++k) {
            wide low = 0, high = 0;
            #pragma unroll
            for (int j = 0; j < 12; ++j) {
                const wide v = x[(j + k) % 12];
                low += (v & LOW) * ROW[j], high += (v >> 32) * ROW[j];
            }
            const wide sum = low + (high << 32);
            y[k] = reduced(sum, (high >> 32) + (sum < low));
        }
        #pragma unroll
        for (int k = 0; k < 12; ++k) x[k] = y[k];
    }
    #pragma unroll
    for (int k = 0; k < 4; ++k) out[(size_t)k * many + i] = x[k] < BY ? x[k] : x[k] - BY;
}

// Five rounds of a decoder by least sums: 16 columns of 384 bits, four layers of checks, eight columns to a check.
KERNEL(384) checks(const float *in, unsigned *out) {
    __shared__ float held[16][384];
    const int t = threadIdx.x;
    #pragma unroll
    for (int k = 0; k < 16; ++k) held[k][t] = 1 + 2 * in[(size_t)blockIdx.x * 6144 + k * 384 + t];
    __syncthreads();
    float told[4][8] = {};
    for (int round = 0; round < 5; ++round) {
        #pragma unroll
        for (int l = 0; l < 4; ++l) {
            float v[8], least = 1e30f, next = 1e30f;
            unsigned odd = 0;
            #pragma unroll
            for (int e = 0; e < 8; ++e) {
                int at = t + (l * 97 + e * 53) % 384;
                at -= at < 384 ? 0 : 384;
                v[e] = held[(l + 2 * e) % 16][at] - told[l][e];
                next = fminf(next, fmaxf(least, fabsf(v[e]))), least = fminf(least, fabsf(v[e]));
                odd ^= __float_as_uint(v[e]);
            }
            #pragma unroll
            for (int e = 0; e < 8; ++e) {
                int at = t + (l * 97 + e * 53) % 384;
                at -= at < 384 ? 0 : 384;
                const float size = 0.75f * (fabsf(v[e]) == least ? next : least);
                told[l][e] = __uint_as_float(__float_as_uint(size) | ((odd ^ __float_as_uint(v[e])) & 0x80000000u));
                held[(l + 2 * e) % 16][at] = v[e] + told[l][e];
            }
            __syncthreads();
        }
    }
    #pragma unroll
    for (int k = 0; k < 16; ++k) {
        const unsigned bits = __ballot_sync(~0u, held[k][t] < 0);
        if (t % 32 == 0) out[blockIdx.x * 192 + k * 12 + t / 32] = bits;
    }
}

// What a forest of 64 trees of six levels says of rows of 32 values: a row to a thread.
KERNEL(128) forest(const float *rows, const float2 *nodes, const float *leaves, float *out) {
    __shared__ float held[32][128];
    const int t = threadIdx.x;
    const size_t base = (size_t)blockIdx.x * 128;
    for (int k = 0; k < 32; ++k) held[k][t] = rows[(size_t)k * gridDim.x * 128 + base + t];
    float sum = 0;
    #pragma unroll 4
    for (int tree = 0; tree < 64; ++tree) {
        unsigned node = 1;
        #pragma unroll
        for (int level = 0; level < 6; ++level) {
            const float2 n = nodes[tree * 64 + node];
            node = node * 2 + (held[__float_as_uint(n.x) >> 7 & 31][t] > 0.5f * n.y);
        }
        sum += leaves[tree * 64 + node - 64];
    }
    out[base + t] = 1 / (1 + __expf(-sum));
}

// Fields of three colours from the eight neighbours of a lattice in four dimensions, by matrices of three by three on its links.
KERNEL(128) links(const float2 *matrices, const float2 *field, float2 *out, int sites) {
    const int i = blockIdx.x * 128 + threadIdx.x;
    float2 sum[3] = {};
    #pragma unroll 1
    for (int way = 0; way < 4; ++way) {
        const int stride = 1 << 5 * way, length = way == 3 ? sites >> 15 : 32, place = i >> 5 * way & (length - 1);
        const int up = i + (place + 1 < length ? stride : stride * (1 - length)), down = i - (place ? stride : stride * (1 - length));
        float2 v[3], w[3];
        #pragma unroll
        for (int k = 0; k < 3; ++k) v[k] = field[(size_t)k * sites + up], w[k] = field[(size_t)k * sites + down];
        const float2 *u = matrices + (size_t)way * 9 * sites;
        #pragma unroll
        for (int r = 0; r < 3; ++r)
            #pragma unroll
            for (int k = 0; k < 3; ++k) {
                const float2 a = u[(size_t)(r * 3 + k) * sites + i], b = u[(size_t)(k * 3 + r) * sites + down];
                sum[r].x += a.x * v[k].x - a.y * v[k].y - b.x * w[k].x - b.y * w[k].y;
                sum[r].y += a.x * v[k].y + a.y * v[k].x - b.x * w[k].y + b.y * w[k].x;
            }
    }
    for (int k = 0; k < 3; ++k) out[(size_t)k * sites + i] = sum[k];
}

// A layer that keeps a matrix of 64 by 64 and corrects it by each token's key and value: a column to a thread, 96 tokens.
KERNEL(64) delta(const float *keys, const float *queries, const float *values, float *out, float by) {
    __shared__ float4 key[16][16], query[16][16];
    const int t = threadIdx.x;
    const size_t base = (size_t)blockIdx.x * 96 * 64;
    float state[64] = {};
    for (int part = 0; part < 6; ++part) {
        __syncthreads();
        for (int k = t; k < 256; k += 64) {
            key[k / 16][k % 16] = ((const float4 *)(keys + base))[part * 256 + k];
            query[k / 16][k % 16] = ((const float4 *)(queries + base))[part * 256 + k];
        }
        __syncthreads();
        for (int s = 0; s < 16; ++s) {
            const size_t at = base + (part * 16 + s) * 64 + t;
            const float value = values[at];
            float known = 0, found = 0;
            #pragma unroll
            for (int k = 0; k < 16; ++k) {
                const float4 x = key[s][k];
                known += x.x * state[4 * k] + x.y * state[4 * k + 1] + x.z * state[4 * k + 2] + x.w * state[4 * k + 3];
            }
            const float off = by * (value - known);
            #pragma unroll
            for (int k = 0; k < 16; ++k) {
                const float4 x = key[s][k], y = query[s][k];
                state[4 * k] += off * x.x, state[4 * k + 1] += off * x.y, state[4 * k + 2] += off * x.z, state[4 * k + 3] += off * x.w;
                found += y.x * state[4 * k] + y.y * state[4 * k + 1] + y.z * state[4 * k + 2] + y.w * state[4 * k + 3];
            }
            out[at] = found;
        }
    }
}

// How likely a read of 128 letters is, given a stretch of 128: a pair to a warp, four letters of the read to a lane.
KERNEL(128) pair_hidden(const unsigned char *reads, const unsigned char *stretches, const unsigned char *qualities, float *out) {
    __shared__ unsigned char held[4][128];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, pair = blockIdx.x * 4 + warp;
    unsigned letter[4];
    float right[4], wrong[4], m[4] = {}, x[4] = {}, y[4] = {}, sum = 0, corner = 0;
    for (int k = 0; k < 4; ++k) {
        const int at = pair * 128 + lane * 4 + k;
        held[warp][k * 32 + lane] = stretches[pair * 128 + k * 32 + lane] & 3;
        letter[k] = (qualities[at] < 16 ? reads : stretches)[at] & 3;
        const float error = exp2f(-3.32f - 0.02f * qualities[at]);
        right[k] = 1 - error, wrong[k] = error / 3;
    }
    __syncwarp();
    for (int step = 0; step < 159; ++step) {
        float above = __shfl_up_sync(~0u, m[3], 1), inserted = __shfl_up_sync(~0u, x[3], 1), deleted = __shfl_up_sync(~0u, y[3], 1);
        if (!lane) above = inserted = 0, deleted = 1e36f;
        const int at = step - lane;
        const float before = corner;
        corner = 0.998f * above + 0.9f * (inserted + deleted);
        if (at < 0 || at >= 128) continue;
        const unsigned now = held[warp][at];
        float last = before;
        #pragma unroll
        for (int k = 0; k < 4; ++k) {
            const float from = 0.998f * m[k] + 0.9f * (x[k] + y[k]), also = 0.001f * m[k] + 0.1f * y[k];
            x[k] = 0.001f * above + 0.1f * inserted, m[k] = (now == letter[k] ? right[k] : wrong[k]) * last, y[k] = also;
            above = m[k], inserted = x[k], last = from;
        }
        if (lane == 31) sum += m[3] + x[3];
    }
    if (lane == 31) out[pair] = log10f(sum + 1e-37f) - 38.1072f;
}

// Charges are spread over a mesh of 64 by 64 by 64 by four weights each way, with atomics.
KERNEL(128) charges(const float4 *particles, float *mesh) {
    const float4 p = particles[blockIdx.x * 128 + threadIdx.x];
    const auto weights = [](float x, float (&w)[4]) {
        const int cell = (int)x;
        const float f = x - cell, g = 1 - f;
        w[0] = g * g * g / 6, w[3] = f * f * f / 6, w[1] = 2.f / 3 - f * f * (1 - f / 2), w[2] = 1 - w[0] - w[1] - w[3];
        return cell;
    };
    float x[4], y[4], z[4];
    const int cx = weights(32 + 31.9f * p.x, x), cy = weights(32 + 31.9f * p.y, y), cz = weights(32 + 31.9f * p.z, z);
    #pragma unroll 1
    for (int k = 0; k < 4; ++k)
        #pragma unroll
        for (int j = 0; j < 4; ++j) {
            const float by = p.w * z[k] * y[j];
            float *row = mesh + ((cz + k) % 64 * 64 + (cy + j) % 64) * 64;
            #pragma unroll
            for (int i = 0; i < 4; ++i) atomicAdd(row + (cx + i) % 64, by * x[i]);
        }
}

// Pictures of a camera (brightness, then pairs of colours of half size) made smaller, as planes of halves for a network.
KERNEL(256) camera(const unsigned char *in, __half *out, int width, int height, float scale) {
    const int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y, w = gridDim.x * 32, h = gridDim.y * 8;
    const unsigned char *bright = in + (size_t)blockIdx.z * width * height * 3 / 2, *colours = bright + (size_t)width * height;
    const float u = fmaxf((x + 0.5f) * scale - 0.5f, 0), v = fmaxf((y + 0.5f) * scale - 0.5f, 0);
    const int left = (int)u, top = (int)v, right = min(left + 1, width - 1), below = min(top + 1, height - 1);
    const float a = u - left, b = v - top;
    float red = 0, green = 0, blue = 0;
    #pragma unroll
    for (int k = 0; k < 4; ++k) {
        const int px = k % 2 ? right : left, py = k / 2 ? below : top;
        const float by = (k % 2 ? a : 1 - a) * (k / 2 ? b : 1 - b), l = 1.164f * (bright[(size_t)py * width + px] - 16);
        const uchar2 c = ((const uchar2 *)colours)[(size_t)(py / 2) * (width / 2) + px / 2];
        const float cb = c.x - 128.f, cr = c.y - 128.f;
        red += by * fminf(fmaxf(l + 1.793f * cr, 0), 255);
        green += by * fminf(fmaxf(l - 0.213f * cb - 0.533f * cr, 0), 255);
        blue += by * fminf(fmaxf(l + 2.112f * cb, 0), 255);
    }
    __half *to = out + (size_t)blockIdx.z * 3 * w * h + (size_t)y * w + x;
    to[0] = __float2half((red / 255 - 0.485f) / 0.229f), to[w * h] = __float2half((green / 255 - 0.456f) / 0.224f);
    to[2 * w * h] = __float2half((blue / 255 - 0.406f) / 0.225f);
}
