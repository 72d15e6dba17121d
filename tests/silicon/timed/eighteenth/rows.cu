// Kernels of the eighteenth set that stand alone: steps of training, losses, speech, depth, ciphers and prices.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#define KERNEL(THREADS) extern "C" __global__ void __launch_bounds__(THREADS)
#define ALL 0xffffffffu

template <typename T> __device__ __forceinline__ T warp_sum(T v) {
    #pragma unroll
    for (int offset = 16; offset > 0; offset >>= 1) v += __shfl_xor_sync(ALL, v, offset);
    return v;
}

// A step of AdamW on weights in brain floats, which are rounded up or down by chance: four a thread, moments in floats.
KERNEL(256) stochastic_adamw(uint2 *weights, const uint2 *grads, float4 *m, float4 *v, float rate, float beta1, float beta2,
                             float eps, float decay, unsigned seed) {
    const unsigned i = blockIdx.x * 256 + threadIdx.x;
    uint2 held = weights[i];
    const uint2 given = grads[i];
    float4 m4 = m[i], v4 = v[i];
    float *first = &m4.x, *second = &v4.x;
    unsigned bits[4], words[2] = {held.x, held.y}, slopes[2] = {given.x, given.y}, hash = i * 0x9e3779b9u ^ seed;
    #pragma unroll
    for (int k = 0; k < 4; ++k) {
        const float w = __uint_as_float(k % 2 ? words[k / 2] & 0xffff0000u : words[k / 2] << 16);
        const float g = __uint_as_float(k % 2 ? slopes[k / 2] & 0xffff0000u : slopes[k / 2] << 16);
        first[k] = beta1 * first[k] + (1.0f - beta1) * g;
        second[k] = beta2 * second[k] + (1.0f - beta2) * g * g;
        const float next = w - rate * (first[k] / (sqrtf(second[k]) + eps) + decay * w);
        hash ^= hash >> 16;
        hash *= 0x85ebca6bu;
        hash ^= hash >> 13;
        hash *= 0xc2b2ae35u;
        bits[k] = __float_as_uint(next) + (hash >> 16);
    }
    held.x = bits[0] >> 16 | (bits[1] & 0xffff0000u);
    held.y = bits[2] >> 16 | (bits[3] & 0xffff0000u);
    weights[i] = held;
    m[i] = m4;
    v[i] = v4;
}

// Queries of 128 numbers by their root mean square and gains, then turned by their positions: a warp to a head of a token.
KERNEL(256) query_norm_rope(const __nv_bfloat162 *queries, const float2 *gains, const int *positions, __nv_bfloat162 *out, int heads) {
    const int lane = threadIdx.x % 32, row = blockIdx.x * 8 + threadIdx.x / 32;
    const __nv_bfloat162 *own = queries + (size_t)row * 64;
    float2 low = __bfloat1622float2(own[lane]), high = __bfloat1622float2(own[32 + lane]);
    const float squares = warp_sum(low.x * low.x + low.y * low.y + high.x * high.x + high.y * high.y);
    const float scale = rsqrtf(squares / 128.0f + 1e-6f), position = (float)positions[row / heads];
    const float2 g = gains[lane], h = gains[32 + lane];
    low.x *= scale * g.x, low.y *= scale * g.y, high.x *= scale * h.x, high.y *= scale * h.y;
    float s, c, s2, c2;
    sincosf(position * exp2f(-(float)(2 * lane) * 0.2076205f), &s, &c);
    sincosf(position * exp2f(-(float)(2 * lane + 1) * 0.2076205f), &s2, &c2);
    __nv_bfloat162 *to = out + (size_t)row * 64;
    to[lane] = __floats2bfloat162_rn(low.x * c - high.x * s, low.y * c2 - high.y * s2);
    to[32 + lane] = __floats2bfloat162_rn(high.x * c + low.x * s, high.y * c2 + low.y * s2);
}

// How far a student's distribution over words is from its teacher's, and the gradient: a block to a token, rows of halves.
KERNEL(256) distilled(const __half2 *student, const __half2 *teacher, __half2 *gradient, float *losses, int pairs, float cooling) {
    __shared__ float4 parts[8];
    const int t = threadIdx.x;
    const size_t base = (size_t)blockIdx.x * pairs;
    float ms = -1e30f, mt = -1e30f, zs = 0.0f, zt = 0.0f;
    for (int i = t; i < pairs; i += 256) {
        const float2 a = __half22float2(student[base + i]), b = __half22float2(teacher[base + i]);
        const float na = fmaxf(ms, fmaxf(a.x, a.y) * cooling), nb = fmaxf(mt, fmaxf(b.x, b.y) * cooling);
        zs = zs * __expf(ms - na) + __expf(a.x * cooling - na) + __expf(a.y * cooling - na);
        zt = zt * __expf(mt - nb) + __expf(b.x * cooling - nb) + __expf(b.y * cooling - nb);
        ms = na, mt = nb;
    }
    #pragma unroll
    for (int offset = 16; offset > 0; offset >>= 1) {
        const float os = __shfl_xor_sync(ALL, ms, offset), ot = __shfl_xor_sync(ALL, mt, offset);
        const float ys = __shfl_xor_sync(ALL, zs, offset), yt = __shfl_xor_sync(ALL, zt, offset);
        const float ns = fmaxf(ms, os), nt = fmaxf(mt, ot);
        zs = zs * __expf(ms - ns) + ys * __expf(os - ns);
        zt = zt * __expf(mt - nt) + yt * __expf(ot - nt);
        ms = ns, mt = nt;
    }
    if (t % 32 == 0) parts[t / 32] = make_float4(ms, zs, mt, zt);
    __syncthreads();
    float4 all = parts[0];
    #pragma unroll
    for (int w = 1; w < 8; ++w) {
        const float4 p = parts[w];
        const float ns = fmaxf(all.x, p.x), nt = fmaxf(all.z, p.z);
        all.y = all.y * __expf(all.x - ns) + p.y * __expf(p.x - ns);
        all.w = all.w * __expf(all.z - nt) + p.w * __expf(p.z - nt);
        all.x = ns, all.z = nt;
    }
    const float ls = all.x + __logf(all.y), lt = all.z + __logf(all.w);
    float loss = 0.0f;
    for (int i = t; i < pairs; i += 256) {
        const float2 a = __half22float2(student[base + i]), b = __half22float2(teacher[base + i]);
        const float ax = a.x * cooling - ls, ay = a.y * cooling - ls, bx = b.x * cooling - lt, by = b.y * cooling - lt;
        const float px = __expf(bx), py = __expf(by);
        loss += px * (bx - ax) + py * (by - ay);
        gradient[base + i] = __floats2half2_rn((__expf(ax) - px) * 1024.0f, (__expf(ay) - py) * 1024.0f);
    }
    loss = warp_sum(loss);
    __syncthreads();
    if (t % 32 == 0) parts[t / 32].x = loss;
    __syncthreads();
    if (t == 0) {
        for (int w = 1; w < 8; ++w) loss += parts[w].x;
        losses[blockIdx.x] = loss;
    }
}

// The pitch of speech (YIN): differences of a frame with itself 512 lags later, by their running mean, and the first low one.
KERNEL(128) yin_pitch(const float *signal, int *lags, float *depths, int hop, float limit) {
    __shared__ float frame[1024], difference[512], totals[4];
    __shared__ int found;
    const int t = threadIdx.x, lane = t % 32;
    for (int i = t; i < 1024; i += 128) frame[i] = signal[(size_t)blockIdx.x * hop + i];
    if (t == 0) found = 511;
    __syncthreads();
    float sum[4] = {};
    #pragma unroll 8
    for (int j = 0; j < 512; ++j) {
        const float x = frame[j];
        #pragma unroll
        for (int k = 0; k < 4; ++k) {
            const float d = x - frame[j + t + 128 * k];
            sum[k] += d * d;
        }
    }
    #pragma unroll
    for (int k = 0; k < 4; ++k) difference[t + 128 * k] = sum[k];
    __syncthreads();
    float own[4], before = 0.0f;
    #pragma unroll
    for (int k = 0; k < 4; ++k) own[k] = before += difference[4 * t + k];
    float running = before;
    #pragma unroll
    for (int offset = 1; offset < 32; offset <<= 1) {
        const float other = __shfl_up_sync(ALL, running, offset);
        if (lane >= offset) running += other;
    }
    if (lane == 31) totals[t / 32] = running;
    __syncthreads();
    float base = running - before;
    for (int w = 0; w < t / 32; ++w) base += totals[w];
    #pragma unroll
    for (int k = 0; k < 4; ++k) {
        const int lag = 4 * t + k;
        const float d = difference[lag] * (float)lag / (base + own[k] + 1e-9f);
        if (lag > 20 && d < limit) atomicMin(&found, lag);
        own[k] = d;
    }
    __syncthreads();
    if (found / 4 == t) {
        lags[blockIdx.x] = found;
        depths[blockIdx.x] = own[found % 4];
    }
}

// Costs of 64 depths gathered along a picture's rows (semi-global matching): a warp to a row, two depths a lane.
KERNEL(64) semi_global(const uchar2 *costs, ushort2 *sums, int width, int small, int large) {
    const int lane = threadIdx.x % 32, row = blockIdx.x * 2 + threadIdx.x / 32;
    const uchar2 *own = costs + (size_t)row * width * 32 + lane;
    ushort2 *to = sums + (size_t)row * width * 32 + lane;
    uchar2 ahead = own[0];
    int low = 0, high = 0, least = 0;
    for (int x = 0; x < width; ++x) {
        const uchar2 c = ahead;
        if (x + 1 < width) ahead = own[(size_t)(x + 1) * 32];
        int below = __shfl_up_sync(ALL, high, 1), above = __shfl_down_sync(ALL, low, 1);
        if (lane == 0) below = 1 << 20;
        if (lane == 31) above = 1 << 20;
        const int a = min(min(low, least + large), min(below, high) + small);
        const int b = min(min(high, least + large), min(low, above) + small);
        low = c.x + a - least;
        high = c.y + b - least;
        least = __reduce_min_sync(ALL, min(low, high));
        to[(size_t)x * 32] = make_ushort2((unsigned short)low, (unsigned short)high);
    }
}

// Runs become values again: 256 runs a block, whose lengths are summed up; each value finds its run by halving.
KERNEL(256) runs_expanded(const unsigned char *lengths, const unsigned *values, unsigned *out, int *counts) {
    __shared__ int ends[256], totals[8];
    __shared__ unsigned kept[256];
    const int t = threadIdx.x, lane = t % 32;
    int end = lengths[(size_t)blockIdx.x * 256 + t] % 16 + 1;
    kept[t] = values[(size_t)blockIdx.x * 256 + t];
    #pragma unroll
    for (int offset = 1; offset < 32; offset <<= 1) {
        const int other = __shfl_up_sync(ALL, end, offset);
        if (lane >= offset) end += other;
    }
    if (lane == 31) totals[t / 32] = end;
    __syncthreads();
    for (int w = 0; w < t / 32; ++w) end += totals[w];
    ends[t] = end;
    __syncthreads();
    const int all = ends[255];
    for (int i = t; i < all; i += 256) {
        int run = 0;
        #pragma unroll
        for (int step = 128; step > 0; step >>= 1)
            if (ends[run + step - 1] <= i) run += step;
        out[(size_t)blockIdx.x * 4096 + i] = kept[run];
    }
    if (t == 0) counts[blockIdx.x] = all;
}

// Ascon's cipher over 64 bytes of a thread, with a tag of sixteen: five words of 64 bits, six rounds for each eight bytes.
__device__ __forceinline__ unsigned long long turned(unsigned long long v, int by) { return v >> by | v << (64 - by); }
template <int ROUNDS> __device__ __forceinline__ void permute(unsigned long long (&s)[5]) {
    #pragma unroll
    for (int r = 12 - ROUNDS; r < 12; ++r) {
        s[2] ^= (unsigned long long)((15 - r) << 4 | r);
        s[0] ^= s[4], s[4] ^= s[3], s[2] ^= s[1];
        unsigned long long x[5];
        #pragma unroll
        for (int k = 0; k < 5; ++k) x[k] = s[k] ^ (~s[(k + 1) % 5] & s[(k + 2) % 5]);
        x[1] ^= x[0], x[0] ^= x[4], x[3] ^= x[2], x[2] = ~x[2];
        s[0] = x[0] ^ turned(x[0], 19) ^ turned(x[0], 28);
        s[1] = x[1] ^ turned(x[1], 61) ^ turned(x[1], 39);
        s[2] = x[2] ^ turned(x[2], 1) ^ turned(x[2], 6);
        s[3] = x[3] ^ turned(x[3], 10) ^ turned(x[3], 17);
        s[4] = x[4] ^ turned(x[4], 7) ^ turned(x[4], 41);
    }
}
KERNEL(256) ascon_seal(const unsigned long long *text, const ulonglong2 *keys, unsigned long long *sealed, ulonglong2 *tags, int n) {
    const int i = blockIdx.x * 256 + threadIdx.x;
    const ulonglong2 key = keys[blockIdx.x];
    unsigned long long s[5] = {0x80400c0600000000ull, key.x, key.y, (unsigned long long)i, 1};
    permute<12>(s);
    s[3] ^= key.x, s[4] ^= key.y ^ 1;
    #pragma unroll 1
    for (int k = 0; k < 8; ++k) {
        s[0] ^= text[(size_t)k * n + i];
        sealed[(size_t)k * n + i] = s[0];
        permute<6>(s);
    }
    s[1] ^= key.x, s[2] ^= key.y;
    permute<12>(s);
    tags[i] = make_ulonglong2(s[3] ^ key.x, s[4] ^ key.y);
}

// Prices of options by Crank and Nicolson in doubles: a thread to an option, 64 prices in arrays of its own, 24 steps back.
KERNEL(64) crank_nicolson(const double *strikes, const double *volatilities, double *prices, double rate, double step) {
    double value[64], share[64], inverse[64];
    const int i = blockIdx.x * 64 + threadIdx.x;
    const double strike = 1.0 + 0.5 * strikes[i], sigma = 0.2 + 0.1 * volatilities[i], variance = sigma * sigma;
    double last = 0.0;
    #pragma unroll 1
    for (int k = 0; k < 64; ++k) {
        const double a = 0.25 * step * (variance * k * k - rate * k), b = 0.5 * step * (variance * k * k + rate);
        const double c = 0.25 * step * (variance * k * k + rate * k);
        inverse[k] = 1.0 / (1.0 + b + a * last);
        share[k] = last = -c * inverse[k];
        const double price = k / 24.0;
        value[k] = price > strike ? price - strike : 0.0;
    }
    #pragma unroll 1
    for (int n = 0; n < 24; ++n) {
        double before = 0.0, carried = 0.0, here = value[0];
        #pragma unroll 4
        for (int k = 0; k < 64; ++k) {
            const double a = 0.25 * step * (variance * k * k - rate * k), b = 0.5 * step * (variance * k * k + rate);
            const double c = 0.25 * step * (variance * k * k + rate * k), next = k < 63 ? value[k + 1] : here;
            carried = (a * before + (1.0 - b) * here + c * next + a * carried) * inverse[k];
            before = here, here = next;
            value[k] = carried;
        }
        double after = 0.0;
        #pragma unroll 4
        for (int k = 63; k >= 0; --k) value[k] = after = value[k] - share[k] * after;
    }
    prices[i] = value[24];
}
