// Kernels of the twenty-fifth set over nature and pictures: gas, surfaces, sets, sand, features, colours.
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#define KERNEL(THREADS) extern "C" __global__ void __launch_bounds__(THREADS)

// A step of a gas in a tube (Euler's equations), fluxes by three waves (HLLC): a thread a cell, both of whose sides it solves.
__device__ __forceinline__ float3 flux_between(float3 l, float3 r) {
    const float ul = l.y / l.x, ur = r.y / r.x;
    const float pl = 0.4f * (l.z - 0.5f * l.y * ul), pr = 0.4f * (r.z - 0.5f * r.y * ur);
    const float cl = sqrtf(1.4f * fmaxf(pl, 1e-3f) / l.x), cr = sqrtf(1.4f * fmaxf(pr, 1e-3f) / r.x);
    const float sl = fminf(ul - cl, ur - cr), sr = fmaxf(ul + cl, ur + cr);
    const float ml = l.x * (sl - ul), mr = r.x * (sr - ur), middle = (pr - pl + ml * ul - mr * ur) / (ml - mr);
    const bool left = middle >= 0.0f;
    const float3 v = left ? l : r;
    const float u = left ? ul : ur, p = left ? pl : pr, s = left ? sl : sr, m = left ? ml : mr;
    float3 f = make_float3(v.y, v.y * u + p, (v.z + p) * u);
    if (left ? sl < 0.0f : sr > 0.0f) {
        const float density = m / (s - middle);
        f.x += s * (density - v.x), f.y += s * (density * middle - v.y);
        f.z += s * (density * (v.z / v.x + (middle - u) * (middle + p / m)) - v.z);
    }
    return f;
}
KERNEL(192) gas_tube(const float *__restrict__ densities, const float *__restrict__ flows, const float *__restrict__ energies, float *out, int cells, float share) {
    const int at = blockIdx.x * 192 + threadIdx.x;
    float3 v[3];
    #pragma unroll
    for (int i = 0; i < 3; ++i) v[i] = make_float3(1.5f + 0.5f * densities[at + i], 0.3f * flows[at + i], 3.0f + energies[at + i]);
    const float3 f = flux_between(v[0], v[1]), g = flux_between(v[1], v[2]);
    out[at] = v[1].x + share * (f.x - g.x), out[cells + at] = v[1].y + share * (f.y - g.y), out[2 * cells + at] = v[1].z + share * (f.z - g.z);
}

// Places and normals of bicubic patches (Bezier), sixteen by sixteen of a patch of sixteen points: a block a patch.
KERNEL(256) bezier_patches(const float *__restrict__ points, float *out, int places) {
    __shared__ float held[48];
    const int t = threadIdx.x;
    if (t < 48) held[t] = points[(size_t)blockIdx.x * 48 + t];
    __syncthreads();
    const float u = (float)(t % 16) * 0.0666667f, v = (float)(t / 16) * 0.0666667f, a = 1.0f - u, b = 1.0f - v;
    const float bu[4] = {a * a * a, 3.0f * a * a * u, 3.0f * a * u * u, u * u * u}, bv[4] = {b * b * b, 3.0f * b * b * v, 3.0f * b * v * v, v * v * v};
    const float du[4] = {-3.0f * a * a, 3.0f * a * (a - 2.0f * u), 3.0f * u * (2.0f * a - u), 3.0f * u * u};
    const float dv[4] = {-3.0f * b * b, 3.0f * b * (b - 2.0f * v), 3.0f * v * (2.0f * b - v), 3.0f * v * v};
    float p[3] = {}, pu[3] = {}, pv[3] = {};
    #pragma unroll
    for (int j = 0; j < 4; ++j)
        #pragma unroll
        for (int i = 0; i < 4; ++i)
            #pragma unroll
            for (int c = 0; c < 3; ++c) {
                const float value = held[(j * 4 + i) * 3 + c];
                p[c] += bu[i] * bv[j] * value, pu[c] += du[i] * bv[j] * value, pv[c] += bu[i] * dv[j] * value;
            }
    const float nx = pu[1] * pv[2] - pu[2] * pv[1], ny = pu[2] * pv[0] - pu[0] * pv[2], nz = pu[0] * pv[1] - pu[1] * pv[0];
    const float one = rsqrtf(nx * nx + ny * ny + nz * nz + 1e-12f);
    const size_t at = (size_t)blockIdx.x * 256 + t;
    const float all[6] = {p[0], p[1], p[2], nx * one, ny * one, nz * one};
    #pragma unroll
    for (int c = 0; c < 6; ++c) out[(size_t)c * places + at] = all[c];
}

// A set of quaternions (Julia's) that a ray meets, which steps as far as the set must be away: a thread a ray.
KERNEL(256) quaternion_set(float *out, int width, float scale, float cx, float cy, float cz) {
    const int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
    const float dx = ((float)x - 512.0f) * scale, dy = ((float)y - 528.0f) * scale, one = rsqrtf(dx * dx + dy * dy + 1.0f);
    float along = 1.2f;
    #pragma unroll 1
    for (int step = 0; step < 32; ++step) {
        float q0 = dx * one * along, q1 = dy * one * along, q2 = one * along - 2.4f, q3 = 0.1f, change = 1.0f, size = q0 * q0 + q1 * q1 + q2 * q2 + q3 * q3;
        #pragma unroll 1
        for (int n = 0; n < 9 && size < 16.0f; ++n) {
            change *= 4.0f * size;
            const float r = 2.0f * q0;
            q0 = q0 * q0 - q1 * q1 - q2 * q2 - q3 * q3 + cx, q1 = r * q1 + cy, q2 = r * q2 + cz, q3 = r * q3;
            size = q0 * q0 + q1 * q1 + q2 * q2 + q3 * q3;
        }
        const float away = 0.25f * sqrtf(size / change) * __logf(size);
        if (away < 0.002f || along > 4.0f) break;
        along += away;
    }
    out[(size_t)y * width + x] = along;
}

// How many steps points of a plane stay near (Mandelbrot), in pairs of halves, two pairs a thread, none of which leaves early.
KERNEL(128) halves_escape(unsigned *out, int width, float scale, int steps) {
    const int x = blockIdx.x * 128 + threadIdx.x, y = blockIdx.y * 4;
    const __half2 cx = __float2half2_rn(-2.0f + scale * (float)x), four = __float2half2_rn(4.0f);
    __half2 cy[2], zx[2], zy[2], count[2];
    #pragma unroll
    for (int i = 0; i < 2; ++i) {
        cy[i] = __floats2half2_rn(-1.2f + scale * (float)(y + i * 2), -1.2f + scale * (float)(y + i * 2 + 1));
        zx[i] = zy[i] = count[i] = __float2half2_rn(0.0f);
    }
    #pragma unroll 4
    for (int n = 0; n < steps; ++n)
        #pragma unroll
        for (int i = 0; i < 2; ++i) {
            const __half2 xx = __hmul2(zx[i], zx[i]), yy = __hmul2(zy[i], zy[i]), twice = __hadd2(zx[i], zx[i]);
            count[i] = __hadd2(count[i], __hle2(__hadd2(xx, yy), four));
            zy[i] = __hfma2(twice, zy[i], cy[i]), zx[i] = __hadd2(__hsub2(xx, yy), cx);
        }
    #pragma unroll
    for (int i = 0; i < 2; ++i) {
        out[(size_t)(y + i * 2) * width + x] = (unsigned)__half2int_rn(__low2half(count[i]));
        out[(size_t)(y + i * 2 + 1) * width + x] = (unsigned)__half2int_rn(__high2half(count[i]));
    }
}

// Sand that falls from heaps of four to its neighbours, twelve times, in squares of 32 by 32 that take nothing from beyond: a thread a place.
KERNEL(1024) sandpile(const int *__restrict__ in, int *out, int width, int steps) {
    __shared__ int heaps[2][34 * 34];
    const int x = threadIdx.x, y = threadIdx.y, t = y * 32 + x, own = (y + 1) * 34 + x + 1;
    const size_t at = (size_t)(blockIdx.y * 32 + y) * width + blockIdx.x * 32 + x;
    for (int i = t; i < 34 * 34; i += 1024) heaps[0][i] = heaps[1][i] = 0;
    __syncthreads();
    heaps[0][own] = in[at] & 15;
    #pragma unroll 1
    for (int step = 0; step < steps; ++step) {
        __syncthreads();
        const int *from = heaps[step & 1] + own;
        heaps[step & 1 ^ 1][own] = (from[0] & 3) + (from[-1] >> 2) + (from[1] >> 2) + (from[-34] >> 2) + (from[34] >> 2);
    }
    out[at] = heaps[steps & 1][own];
}

// Windows of a picture judged by twenty pairs of boxes over its table of sums (Haar's features): a thread a window.
KERNEL(64) haar_features(const float *__restrict__ table, const int4 *__restrict__ boxes, const float *__restrict__ bounds, float *out, int pitch, int width) {
    const int x = blockIdx.x * 64 + threadIdx.x, y = blockIdx.y;
    const float *from = table + (size_t)y * pitch + x;
    float score = 0.0f;
    #pragma unroll 2
    for (int k = 0; k < 20; ++k) {
        const int4 box = boxes[k];
        const float *a = from + (box.y & 15) * pitch + (box.x & 15);
        const int wide = (box.z & 7) + 1, high = ((box.w & 7) + 1) * pitch;
        const float a0 = a[0], a1 = a[wide], a2 = a[2 * wide], b0 = a[high], b1 = a[high + wide], b2 = a[high + 2 * wide];
        const float one = b1 - b0 - a1 + a0, two = b2 - b1 - a2 + a1;
        score += one - two < bounds[k] ? 1.0f : -0.5f;
    }
    out[(size_t)y * width + x] = score;
}

// Planes of colours to bytes of a palette of 252, by an ordered raster of eight by eight: four pixels a thread.
KERNEL(256) ordered_raster(const float4 *__restrict__ red, const float4 *__restrict__ green, const float4 *__restrict__ blue, uchar4 *out) {
    const int x = threadIdx.x, y = blockIdx.y;
    const size_t at = (size_t)y * gridDim.x * 256 + blockIdx.x * 256 + x;
    const float4 r = red[at], g = green[at], b = blue[at];
    const float reds[4] = {r.x, r.y, r.z, r.w}, greens[4] = {g.x, g.y, g.z, g.w}, blues[4] = {b.x, b.y, b.z, b.w};
    unsigned char found[4];
    #pragma unroll
    for (int i = 0; i < 4; ++i) {
        const int c = (x * 4 + i) & 7, m = c ^ (y & 7), q = y & 7;
        const int rank = (m & 1) << 5 | (q & 1) << 4 | (m & 2) << 2 | (q & 2) << 1 | (m & 4) >> 1 | (q & 4) >> 2;
        const float level = ((float)rank + 0.5f) * 0.015625f;
        const int one = (int)(2.5f * (reds[i] + 1.0f) + level), two = (int)(3.0f * (greens[i] + 1.0f) + level), three = (int)(2.5f * (blues[i] + 1.0f) + level);
        found[i] = (unsigned char)(min(one, 5) * 42 + min(two, 6) * 6 + min(three, 5));
    }
    out[at] = make_uchar4(found[0], found[1], found[2], found[3]);
}
