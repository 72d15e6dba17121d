// Kernels of the eleventh set that no layout of shared memory decides: whole numbers, searches, chance.
#include <cuda_fp16.h>

__constant__ unsigned long long rounds[24] = {
    0x0000000000000001, 0x0000000000008082, 0x800000000000808a, 0x8000000080008000, 0x000000000000808b, 0x0000000080000001,
    0x8000000080008081, 0x8000000000008009, 0x000000000000008a, 0x0000000000000088, 0x0000000080008009, 0x000000008000000a,
    0x000000008000808b, 0x800000000000008b, 0x8000000000008089, 0x8000000000008003, 0x8000000000008002, 0x8000000000000080,
    0x000000000000800a, 0x800000008000000a, 0x8000000080008081, 0x8000000000008080, 0x0000000080000001, 0x8000000080008008};

// The 64 largest of 4096 scores stay, the others fall: four counts of eight bits each find the limit.
extern "C" __global__ void chosen_64(const float *in, float *out) {
    __shared__ unsigned counts[256], above[8], found[2];
    const int t = threadIdx.x, lane = t % 32, warp = t / 32;
    const float *row = in + (size_t)blockIdx.x * 4096;
    float v[16];
    for (int k = 0; k < 16; ++k) v[k] = row[k * 256 + t];
    const auto key = [](float f) {
        const unsigned u = __float_as_uint(f);
        return u >> 31 ? ~u : u | 0x80000000u;
    };
    unsigned known = 0, left = 64;
    for (int shift = 24; shift >= 0; shift -= 8) {
        counts[t] = 0;
        __syncthreads();
        #pragma unroll
        for (int k = 0; k < 16; ++k) {
            const unsigned u = key(v[k]);
            if (shift == 24 || u >> (shift + 8) == known) atomicAdd(&counts[u >> shift & 255], 1);
        }
        __syncthreads();
        const unsigned own = counts[255 - t];
        unsigned sum = own;
        for (int d = 1; d < 32; d *= 2) {
            const unsigned before = __shfl_up_sync(~0u, sum, d);
            if (lane >= d) sum += before;
        }
        if (lane == 31) above[warp] = sum;
        __syncthreads();
        for (int w = 0; w < warp; ++w) sum += above[w];
        if (sum >= left && sum - own < left) found[0] = 255 - t, found[1] = left - (sum - own);
        __syncthreads();
        known = known << 8 | found[0], left = found[1];
    }
    for (int k = 0; k < 16; ++k) out[(size_t)blockIdx.x * 4096 + k * 256 + t] = key(v[k]) >= known ? v[k] : -1e30f;
}

// American options, a warp to each: 256 steps back through a tree, eight prices to a lane.
extern "C" __global__ void american(const float2 *options, float *out, float up, float rise, float fall) {
    const int option = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    const float2 o = options[option];
    const float strike = 100 + 20 * o.y;
    float price[8], value[8];
    for (int k = 0; k < 8; ++k) {
        price[k] = (100 + 30 * o.x) * __powf(up, 2.f * (lane * 8 + k) - 255);
        value[k] = fmaxf(strike - price[k], 0.f);
    }
    for (int step = 255; step; --step) {
        const float next = __shfl_down_sync(~0u, value[0], 1);
        #pragma unroll
        for (int k = 0; k < 8; ++k) {
            price[k] *= up;
            value[k] = fmaxf(rise * (k < 7 ? value[k + 1] : next) + fall * value[k], strike - price[k]);
        }
    }
    if (lane == 0) out[option] = value[0];
}

// A stream cipher of twenty rounds: each thread hides 64 bytes.
extern "C" __global__ void hidden(const uint4 *in, const uint4 *key, uint4 *out) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    const uint4 k = key[0], l = key[1], n = key[2];
    const unsigned first[16] = {0x61707865, 0x3320646e, 0x79622d32, 0x6b206574, k.x, k.y, k.z, k.w, l.x, l.y, l.z, l.w, i, n.x, n.y, n.z};
    unsigned v[16];
    for (int j = 0; j < 16; ++j) v[j] = first[j];
    const auto quarter = [&](int a, int b, int c, int d) {
        v[a] += v[b], v[d] = __funnelshift_l(v[d] ^ v[a], v[d] ^ v[a], 16);
        v[c] += v[d], v[b] = __funnelshift_l(v[b] ^ v[c], v[b] ^ v[c], 12);
        v[a] += v[b], v[d] = __funnelshift_l(v[d] ^ v[a], v[d] ^ v[a], 8);
        v[c] += v[d], v[b] = __funnelshift_l(v[b] ^ v[c], v[b] ^ v[c], 7);
    };
    for (int round = 0; round < 10; ++round) {
        quarter(0, 4, 8, 12), quarter(1, 5, 9, 13), quarter(2, 6, 10, 14), quarter(3, 7, 11, 15);
        quarter(0, 5, 10, 15), quarter(1, 6, 11, 12), quarter(2, 7, 8, 13), quarter(3, 4, 9, 14);
    }
    for (int j = 0; j < 4; ++j) {
        const uint4 w = in[i * 4 + j];
        out[i * 4 + j] = {w.x ^ (v[4 * j] + first[4 * j]), w.y ^ (v[4 * j + 1] + first[4 * j + 1]),
                          w.z ^ (v[4 * j + 2] + first[4 * j + 2]), w.w ^ (v[4 * j + 3] + first[4 * j + 3])};
    }
}

// A sponge over 17 words of 64 bits, a thread to each: 24 rounds of 25 words.
extern "C" __global__ void absorbed(const unsigned long long *in, unsigned long long *out, int count) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned long long a[25] = {};
    #pragma unroll
    for (int k = 0; k < 17; ++k) a[k] = in[(size_t)k * count + i];
    const auto turn = [](unsigned long long v, int by) { return v << by | v >> (64 - by); };
    #pragma unroll 1
    for (int round = 0; round < 24; ++round) {
        unsigned long long c[5];
        #pragma unroll
        for (int x = 0; x < 5; ++x) c[x] = a[x] ^ a[x + 5] ^ a[x + 10] ^ a[x + 15] ^ a[x + 20];
        #pragma unroll
        for (int k = 0; k < 25; ++k) a[k] ^= c[(k + 4) % 5] ^ turn(c[(k + 1) % 5], 1);
        constexpr int to[24] = {10, 7, 11, 17, 18, 3, 5, 16, 8, 21, 24, 4, 15, 23, 19, 13, 12, 2, 20, 14, 22, 9, 6, 1};
        constexpr int by[24] = {1, 3, 6, 10, 15, 21, 28, 36, 45, 55, 2, 14, 27, 41, 56, 8, 25, 43, 62, 18, 39, 61, 20, 44};
        unsigned long long moved = a[1];
        #pragma unroll
        for (int k = 0; k < 24; ++k) {
            const unsigned long long held = a[to[k]];
            a[to[k]] = turn(moved, by[k]), moved = held;
        }
        #pragma unroll
        for (int y = 0; y < 25; y += 5) {
            unsigned long long r[5];
            #pragma unroll
            for (int x = 0; x < 5; ++x) r[x] = a[y + x];
            #pragma unroll
            for (int x = 0; x < 5; ++x) a[y + x] = r[x] ^ (~r[(x + 1) % 5] & r[(x + 2) % 5]);
        }
        a[0] ^= rounds[round];
    }
    #pragma unroll
    for (int k = 0; k < 4; ++k) out[(size_t)k * count + i] = a[k];
}

// Sixteen squares of 256 bits, each by Montgomery's reduction: eight words to a thread.
extern "C" __global__ void squared(const unsigned *in, unsigned *out, int count) {
    constexpr unsigned prime[8] = {0xfffffc2f, 0xfffffffe, ~0u, ~0u, ~0u, ~0u, ~0u, ~0u}, inverse = 0xd2253531;
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned v[8];
    for (int k = 0; k < 8; ++k) v[k] = in[(size_t)k * count + i];
    #pragma unroll 1
    for (int turn = 0; turn < 16; ++turn) {
        unsigned sum[10] = {};
        #pragma unroll
        for (int j = 0; j < 8; ++j) {
            unsigned long long carry = 0;
            #pragma unroll
            for (int k = 0; k < 8; ++k) carry += (unsigned long long)v[j] * v[k] + sum[k], sum[k] = carry, carry >>= 32;
            carry += sum[8], sum[8] = carry, sum[9] = carry >> 32;
            const unsigned m = sum[0] * inverse;
            carry = ((unsigned long long)m * prime[0] + sum[0]) >> 32;
            #pragma unroll
            for (int k = 1; k < 8; ++k) carry += (unsigned long long)m * prime[k] + sum[k], sum[k - 1] = carry, carry >>= 32;
            carry += sum[8], sum[7] = carry, sum[8] = sum[9] + (unsigned)(carry >> 32);
        }
        unsigned less[8], borrow = 0;
        #pragma unroll
        for (int k = 0; k < 8; ++k) {
            const unsigned long long d = (unsigned long long)sum[k] - prime[k] - borrow;
            less[k] = d, borrow = d >> 63;
        }
        const bool keep = borrow > sum[8];
        #pragma unroll
        for (int k = 0; k < 8; ++k) v[k] = keep ? sum[k] : less[k];
    }
    for (int k = 0; k < 8; ++k) out[(size_t)k * count + i] = v[k];
}

// An automaton of 64 states over each thread's 128 letters; its table lies in shared memory.
extern "C" __global__ void recognised(const unsigned char *table, const uint4 *text, unsigned *out) {
    __shared__ unsigned char next[4096];
    for (int k = threadIdx.x; k < 4096; k += blockDim.x) next[k] = table[k] & 63;
    __syncthreads();
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned state = 0, hits = 0;
    for (int k = 0; k < 8; ++k) {
        const uint4 v = text[((size_t)blockIdx.x * 8 + k) * blockDim.x + threadIdx.x];
        const unsigned words[4] = {v.x, v.y, v.z, v.w};
        #pragma unroll
        for (int j = 0; j < 16; ++j) {
            state = next[state * 64 + (words[j / 4] >> j % 4 * 8 & 63)];
            hits += state < 4;
        }
    }
    out[i] = hits << 8 | state;
}

// How far 32 samples are from 256 others if time may stretch: a warp to a pair, a lane a column.
extern "C" __global__ void stretched(const float *queries, const float *series, float *out) {
    const int pair = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    const float own = queries[pair * 32 + lane];
    const float *with = series + (size_t)pair * 256;
    float here = 1e30f, aslant = lane ? 1e30f : 0.f, sample = 0, ahead = 0;
    for (int step = 0; step < 287; ++step) {
        if (step % 32 == 0) ahead = step < 256 ? with[step + lane] : 0.f;
        const float fresh = __shfl_sync(~0u, ahead, step % 32), left = __shfl_up_sync(~0u, here, 1);
        sample = __shfl_up_sync(~0u, sample, 1);
        if (lane == 0) sample = fresh;
        const float beside = lane ? left : 1e30f;
        if (step >= lane && step - lane < 256) here = fabsf(own - sample) + fminf(here, fminf(beside, aslant));
        aslant = beside;
    }
    if (lane == 31) out[pair] = here;
}

// Which of 64 boxes each box covers by half, as bits; boxes of a block pass through shared memory.
extern "C" __global__ void suppressed(const float4 *boxes, unsigned long long *out, int count) {
    __shared__ float4 others[64];
    const auto box = [&](int k) {
        const float4 b = boxes[k];
        return make_float4(b.x, b.y, b.x + 0.2f + fabsf(b.z), b.y + 0.2f + fabsf(b.w));
    };
    const int t = threadIdx.x, row = blockIdx.y * 64 + t, first = blockIdx.x * 64;
    others[t] = box(first + t);
    __syncthreads();
    const float4 own = box(row);
    const float area = (own.z - own.x) * (own.w - own.y);
    unsigned long long bits = 0;
    #pragma unroll 8
    for (int k = 0; k < 64; ++k) {
        const float4 o = others[k];
        const float w = fmaxf(fminf(own.z, o.z) - fmaxf(own.x, o.x), 0.f), h = fmaxf(fminf(own.w, o.w) - fmaxf(own.y, o.y), 0.f);
        const float both = w * h;
        if (first + k > row && both > 0.5f * (area + (o.z - o.x) * (o.w - o.y) - both)) bits |= 1ull << k;
    }
    out[(size_t)row * (count / 64) + blockIdx.x] = bits;
}

// Points of a picture under 768 soft spots from front to back, until nothing shines through any more.
extern "C" __global__ void __launch_bounds__(256) splatted(const float4 *spots, const float4 *colours, float4 *out) {
    __shared__ float4 spot[256], colour[256];
    const int t = threadIdx.x;
    const float x = (t % 16 - 7.5f) / 8, y = (t / 16 - 7.5f) / 8;
    float r = 0, g = 0, b = 0, through = 1;
    bool done = false;
    for (int batch = 0; batch < 3; ++batch) {
        if (__syncthreads_count(done) == 256) break;
        spot[t] = spots[((size_t)blockIdx.x * 3 + batch) * 256 + t];
        colour[t] = colours[((size_t)blockIdx.x * 3 + batch) * 256 + t];
        __syncthreads();
        for (int k = 0; k < 256 && !done; ++k) {
            const float4 s = spot[k];
            const float dx = x - s.x, dy = y - s.y;
            const float far = dx * dx * (8 + 6 * s.z) + dy * dy * (8 + 6 * s.w) + dx * dy * 2 * s.z * s.w;
            const float cover = fminf(0.9f, 0.5f * __expf(-far));
            if (cover < 0.004f) continue;
            const float4 c = colour[k];
            const float by = cover * through;
            r += c.x * by, g += c.y * by, b += c.z * by, through *= 1 - cover;
            done = through < 1e-4f;
        }
    }
    out[blockIdx.x * 256 + t] = {r, g, b, through};
}

// Features of points in space from eight grids, whose corners a hash finds in tables of 16384 pairs.
extern "C" __global__ void hashed_grids(const float4 *points, const __half2 *tables, float2 *out) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x, count = gridDim.x * blockDim.x;
    const float4 p = points[i];
    float size = 8;
    #pragma unroll 2
    for (int level = 0; level < 8; ++level, size *= 1.7f) {
        const float u = (p.x + 1) * size, v = (p.y + 1) * size, w = (p.z + 1) * size;
        const unsigned x = u, y = v, z = w;
        const float a = u - x, b = v - y, c = w - z;
        float2 sum = {};
        #pragma unroll
        for (int k = 0; k < 8; ++k) {
            const unsigned at = ((x + (k & 1)) ^ (y + (k >> 1 & 1)) * 2654435761u ^ (z + (k >> 2)) * 805459861u) & 16383;
            const float2 f = __half22float2(tables[level * 16384 + at]);
            const float by = (k & 1 ? a : 1 - a) * (k & 2 ? b : 1 - b) * (k & 4 ? c : 1 - c);
            sum.x += by * f.x, sum.y += by * f.y;
        }
        out[(size_t)level * count + i] = sum;
    }
}
