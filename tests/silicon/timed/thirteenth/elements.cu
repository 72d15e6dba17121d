// Kernels of the thirteenth set that stand alone.
#include <cuda_fp16.h>

#define KERNEL(THREADS) extern "C" __global__ void __launch_bounds__(THREADS)

__device__ __forceinline__ float warp_sum(float v) {
    for (int d = 16; d; d /= 2) v += __shfl_xor_sync(~0u, v, d);
    return v;
}
__device__ __forceinline__ float warp_max(float v) {
    for (int d = 16; d; d /= 2) v = fmaxf(v, __shfl_xor_sync(~0u, v, d));
    return v;
}
__device__ __forceinline__ unsigned mixed(unsigned x) {
    x = (x ^ x >> 16) * 0x7feb352du, x = (x ^ x >> 15) * 0x846ca68bu;
    return x ^ x >> 16;
}

// SipHash in words of 32 bits, of sixteen words a thread.
KERNEL(256) sip(const uint4 *in, unsigned *out) {
    const int i = blockIdx.x * 256 + threadIdx.x;
    unsigned a = 0x12345678u, b = 0x9abcdef0u, c = 0x6c796765u ^ a, d = 0x74656462u ^ b;
    const auto turn = [&]() {
        a += b, b = __funnelshift_l(b, b, 5) ^ a, a = __funnelshift_l(a, a, 16), c += d, d = __funnelshift_l(d, d, 8) ^ c;
        a += d, d = __funnelshift_l(d, d, 7) ^ a, c += b, b = __funnelshift_l(b, b, 13) ^ c, c = __funnelshift_l(c, c, 16);
    };
    for (int k = 0; k < 4; ++k) {
        const uint4 v = in[(size_t)i * 4 + k];
        const unsigned words[4] = {v.x, v.y, v.z, v.w};
        for (int j = 0; j < 4; ++j) d ^= words[j], turn(), turn(), a ^= words[j];
    }
    c ^= 0xff;
    for (int k = 0; k < 4; ++k) turn();
    out[i] = b ^ d;
}

// The loss of triplets: a warp to a row of 256 in each of three matrices.
KERNEL(128) triplets(const float4 *anchor, const float4 *near, const float4 *far, float *loss) {
    const int row = blockIdx.x * 4 + threadIdx.x / 32, lane = threadIdx.x % 32;
    float p = 0, n = 0;
    for (int k = lane; k < 64; k += 32) {
        const float4 a = anchor[(size_t)row * 64 + k], b = near[(size_t)row * 64 + k], c = far[(size_t)row * 64 + k];
        p += (a.x - b.x) * (a.x - b.x) + (a.y - b.y) * (a.y - b.y) + (a.z - b.z) * (a.z - b.z) + (a.w - b.w) * (a.w - b.w);
        n += (a.x - c.x) * (a.x - c.x) + (a.y - c.y) * (a.y - c.y) + (a.z - c.z) * (a.z - c.z) + (a.w - c.w) * (a.w - c.w);
    }
    p = warp_sum(p), n = warp_sum(n);
    if (!lane) loss[row] = fmaxf(sqrtf(p) - sqrtf(n) + 1, 0);
}

// A step of the optimiser Lion.
KERNEL(256) lion(const float4 *weight, const float4 *moment, const float4 *gradient, float4 *next, float4 *kept, float rate) {
    const int i = blockIdx.x * 256 + threadIdx.x;
    const float4 w = weight[i], m = moment[i], g = gradient[i];
    const auto step = [&](float x, float y, float z) { return x - rate * (copysignf(1.f, 0.9f * y + 0.1f * z) + 0.01f * x); };
    next[i] = {step(w.x, m.x, g.x), step(w.y, m.y, g.y), step(w.z, m.z, g.z), step(w.w, m.w, g.w)};
    kept[i] = {0.99f * m.x + 0.01f * g.x, 0.99f * m.y + 0.01f * g.y, 0.99f * m.z + 0.01f * g.z, 0.99f * m.w + 0.01f * g.w};
}

// Colours from sRGB to CIE Lab.
KERNEL(192) lab(const uchar4 *in, float *l, float *a, float *b) {
    const int i = blockIdx.x * 192 + threadIdx.x;
    const uchar4 v = in[i];
    const auto linear = [](float x) { return x <= 0.04045f ? x / 12.92f : __powf((x + 0.055f) / 1.055f, 2.4f); };
    const auto root = [](float x) { return x > 0.008856f ? cbrtf(x) : 7.787f * x + 0.137931f; };
    const float r = linear(v.x / 255.f), g = linear(v.y / 255.f), u = linear(v.z / 255.f);
    const float x = root((0.4124f * r + 0.3576f * g + 0.1805f * u) / 0.95047f);
    const float y = root(0.2126f * r + 0.7152f * g + 0.0722f * u);
    const float z = root((0.0193f * r + 0.1192f * g + 0.9505f * u) / 1.08883f);
    l[i] = 116 * y - 16, a[i] = 500 * (x - y), b[i] = 200 * (y - z);
}

// Paths of Heston's model, a thread to a path.
KERNEL(128) heston(float *out, int steps, float rate, float back) {
    const unsigned i = blockIdx.x * 128 + threadIdx.x;
    unsigned state = mixed(i + 1);
    float price = 0, variance = 0.04f;
    for (int s = 0; s < steps; ++s) {
        state = state * 1664525u + 1013904223u;
        const float u = ((mixed(state) >> 8) + 1) * 5.9604645e-8f, v = (mixed(state ^ 0x9e3779b9u) >> 8) * 5.9604645e-8f;
        const float r = sqrtf(-2 * __logf(u));
        float sine, cosine;
        __sincosf(6.2831853f * v, &sine, &cosine);
        const float held = fmaxf(variance, 0), root = sqrtf(held * 0.004f);
        price += (rate - held / 2) * 0.004f + root * r * cosine;
        variance += back * (0.04f - held) * 0.004f + 0.3f * root * r * (-0.7f * cosine + 0.714f * sine);
    }
    out[i] = fmaxf(100 * __expf(price) - 100, 0);
}

// Goertzel's filter: a block to a signal of 512, a thread to a frequency.
KERNEL(128) goertzel(const float *in, float *out) {
    __shared__ float held[512];
    const int t = threadIdx.x;
    for (int k = t; k < 512; k += 128) held[k] = in[(size_t)blockIdx.x * 512 + k];
    __syncthreads();
    const float by = 2 * cosf(6.2831853f * t / 512);
    float one = 0, two = 0;
    #pragma unroll 8
    for (int k = 0; k < 512; ++k) {
        const float now = held[k] + by * one - two;
        two = one, one = now;
    }
    out[blockIdx.x * 128 + t] = one * one + two * two - by * one * two;
}

// Noise of cells: the least distance to a point of nine cells.
KERNEL(256) cells(float *out, int width, float scale) {
    const int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
    const float u = x * scale, v = y * scale;
    const int cx = (int)u, cy = (int)v;
    float least = 9;
    #pragma unroll
    for (int dy = -1; dy < 2; ++dy)
        #pragma unroll
        for (int dx = -1; dx < 2; ++dx) {
            const unsigned h = mixed((cx + dx + 7) * 73856093u ^ (cy + dy + 7) * 19349663u);
            const float a = cx + dx + (h & 0xffff) / 65536.f - u, b = cy + dy + (h >> 16) / 65536.f - v;
            least = fminf(least, a * a + b * b);
        }
    out[y * width + x] = sqrtf(least);
}

// A step of Gray and Scott's reaction, with a border of one.
KERNEL(256) reaction(const float *u, const float *v, float *nu, float *nv, int pitch) {
    const int at = (blockIdx.y * 4 + threadIdx.y + 1) * pitch + blockIdx.x * 64 + threadIdx.x + 1;
    const auto spread = [&](const float *f) {
        return 0.2f * (f[at - 1] + f[at + 1] + f[at - pitch] + f[at + pitch]) +
               0.05f * (f[at - pitch - 1] + f[at - pitch + 1] + f[at + pitch - 1] + f[at + pitch + 1]) - f[at];
    };
    const float a = u[at], b = v[at], r = a * b * b;
    nu[at] = a + 0.16f * spread(u) - r + 0.035f * (1 - a), nv[at] = b + 0.08f * spread(v) + r - 0.1f * b;
}

// One of 2048 logits is sampled by noise of Gumbel: a block to a row.
KERNEL(256) gumbel(const float *logits, unsigned *chosen, float heat) {
    __shared__ float best[8];
    __shared__ unsigned places[8];
    const unsigned t = threadIdx.x;
    float most = -1e30f;
    unsigned place = 0;
    for (unsigned k = t; k < 2048; k += 256) {
        const float u = ((mixed(blockIdx.x * 2048 + k) >> 8) + 0.5f) * 5.9604645e-8f;
        const float v = logits[(size_t)blockIdx.x * 2048 + k] * heat - __logf(-__logf(u));
        if (v > most) most = v, place = k;
    }
    for (int d = 16; d; d /= 2) {
        const float other = __shfl_xor_sync(~0u, most, d);
        const unsigned there = __shfl_xor_sync(~0u, place, d);
        if (other > most || (other == most && there < place)) most = other, place = there;
    }
    if (t % 32 == 0) best[t / 32] = most, places[t / 32] = place;
    __syncthreads();
    if (t) return;
    for (int w = 1; w < 8; ++w)
        if (best[w] > most) most = best[w], place = places[w];
    chosen[blockIdx.x] = place;
}

// Rows of 2048 halves to bytes e4m3, each row by its largest.
KERNEL(128) small_floats(const uint4 *in, uint2 *out, float *scales) {
    __shared__ float parts[4];
    const int t = threadIdx.x;
    uint4 v[2];
    float most = 0;
    for (int k = 0; k < 2; ++k) {
        v[k] = in[(size_t)blockIdx.x * 256 + k * 128 + t];
        const __half2 *h = (const __half2 *)&v[k];
        for (int j = 0; j < 4; ++j) {
            const float2 f = __half22float2(h[j]);
            most = fmaxf(most, fmaxf(fabsf(f.x), fabsf(f.y)));
        }
    }
    most = warp_max(most);
    if (t % 32 == 0) parts[t / 32] = most;
    __syncthreads();
    most = fmaxf(fmaxf(fmaxf(parts[0], parts[1]), fmaxf(parts[2], parts[3])), 1e-6f);
    const float by = 448 / most;
    for (int k = 0; k < 2; ++k) {
        const __half2 *h = (const __half2 *)&v[k];
        unsigned short q[4];
        for (int j = 0; j < 4; ++j) {
            const float2 f = __half22float2(h[j]);
            asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(q[j]) : "f"(f.y * by), "f"(f.x * by));
        }
        out[(size_t)blockIdx.x * 256 + k * 128 + t] = {q[0] | (unsigned)q[1] << 16, q[2] | (unsigned)q[3] << 16};
    }
    if (!t) scales[blockIdx.x] = most / 448;
}

// Kalman's filter of place and speed over 64 steps, a thread to a track.
KERNEL(128) kalman(const float *seen, float *out, int tracks, float noise, float drift) {
    const int i = blockIdx.x * 128 + threadIdx.x;
    float x = 0, v = 0, a = 1, b = 0, d = 1;
    for (int s = 0; s < 64; ++s) {
        x += v, a += 2 * b + d + drift, b += d, d += drift;
        const float by = 1 / (a + noise), off = seen[(size_t)s * tracks + i] - x, g = a * by, h = b * by;
        x += g * off, v += h * off, d -= h * b, b -= g * b, a -= g * a;
        out[(size_t)s * tracks + i] = x;
    }
}

// Histograms of gradients: cells of 8 by 8 pixels, nine directions, 32 by 8 pixels a block.
KERNEL(256) directions(const unsigned char *in, float *out, int pitch) {
    __shared__ float bins[4][9];
    const int tx = threadIdx.x, ty = threadIdx.y, t = ty * 32 + tx;
    if (t < 36) bins[t / 9][t % 9] = 0;
    __syncthreads();
    const unsigned char *at = in + (size_t)(blockIdx.y * 8 + ty + 1) * pitch + blockIdx.x * 32 + tx + 1;
    const float gx = (float)at[1] - at[-1], gy = (float)at[pitch] - at[-pitch];
    float angle = atan2f(gy, gx);
    if (angle < 0) angle += 3.14159265f;
    atomicAdd(&bins[tx / 8][min((int)(angle * 2.8647889f), 8)], sqrtf(gx * gx + gy * gy));
    __syncthreads();
    if (t < 36) out[(size_t)(blockIdx.y * gridDim.x + blockIdx.x) * 36 + t] = bins[t / 9][t % 9];
}

// A step of page ranks: twelve links in, a thread to a page.
KERNEL(256) ranks(const unsigned *links, const float *rank, const float *shares, float *next, int pages, unsigned mask) {
    const int i = blockIdx.x * 256 + threadIdx.x;
    float sum = 0;
    #pragma unroll 4
    for (int k = 0; k < 12; ++k) {
        const unsigned from = links[(size_t)k * pages + i] & mask;
        sum += rank[from] * shares[from];
    }
    next[i] = 0.15f + 0.85f * sum;
}

// A net of three layers of 16 for each point, its weights in shared memory.
KERNEL(128) small_nets(const float4 *points, const float *weights, float *out) {
    __shared__ float4 held[192];
    const int t = threadIdx.x, i = blockIdx.x * 128 + t;
    for (int k = t; k < 192; k += 128) held[k] = ((const float4 *)weights)[k];
    __syncthreads();
    const float4 p = points[i];
    float x[16];
    #pragma unroll
    for (int k = 0; k < 4; ++k) x[4 * k] = p.x * (k + 1), x[4 * k + 1] = p.y * (k + 1), x[4 * k + 2] = p.z * (k + 1), x[4 * k + 3] = p.w * (k + 1);
    #pragma unroll
    for (int l = 0; l < 3; ++l) {
        float y[16];
        #pragma unroll
        for (int j = 0; j < 16; ++j) {
            float sum = 0;
            #pragma unroll
            for (int k = 0; k < 4; ++k) {
                const float4 w = held[l * 64 + j * 4 + k];
                sum += w.x * x[4 * k] + w.y * x[4 * k + 1] + w.z * x[4 * k + 2] + w.w * x[4 * k + 3];
            }
            y[j] = fmaxf(sum, 0);
        }
        #pragma unroll
        for (int j = 0; j < 16; ++j) x[j] = y[j];
    }
    float sum = 0;
    #pragma unroll
    for (int j = 0; j < 16; ++j) sum += x[j];
    out[i] = sum;
}
