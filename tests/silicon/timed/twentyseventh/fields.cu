// Kernels of the twenty-seventh set over money, pictures, sounds, gases, orbits and tastes: changing variances, thinned shapes, echoes, collisions, exponents of
// chaos, ratings.
#include <cuda_runtime.h>

#define KERNEL(THREADS) extern "C" __global__ void __launch_bounds__(THREADS)
#define ALL 0xffffffffu

// How likely returns are under variances that change (GARCH), for four guesses of how they do: a thread a series.
KERNEL(128) variances_fitted(const float *__restrict__ returns, float4 *out, int series, int days) {
    const int own = blockIdx.x * 128 + threadIdx.x;
    float variance[4] = {0.3f, 0.3f, 0.3f, 0.3f}, likely[4] = {};
    #pragma unroll 4
    for (int day = 0; day < days; ++day) {
        const float r = returns[(size_t)day * series + own], square = r * r;
        #pragma unroll
        for (int k = 0; k < 4; ++k) {
            const float shock = 0.05f + 0.03f * (float)k;
            likely[k] -= 0.5f * (logf(variance[k]) + square / variance[k]);
            variance[k] = 0.02f + shock * (r < 0.0f ? 1.3f : 1.0f) * square + (0.9f - shock) * variance[k];
        }
    }
    out[own] = make_float4(likely[0], likely[1], likely[2], likely[3]);
}

// Shapes made thinner by a step (Zhang and Suen): both halves of it on a square of 32 by 32, with two pixels about it in shared memory.
__device__ __forceinline__ bool stays(const unsigned char *p, int half) {
    if (!p[0]) return false;
    const unsigned n[9] = {p[-37], p[-36], p[1], p[38], p[37], p[36], p[-1], p[-38], p[-37]};
    unsigned all = 0, turns = 0;
    #pragma unroll
    for (int k = 0; k < 8; ++k) all += n[k], turns += !n[k] && n[k + 1];
    const bool first = half ? n[0] && n[2] && n[6] : n[0] && n[2] && n[4], second = half ? n[0] && n[4] && n[6] : n[2] && n[4] && n[6];
    return !(all >= 2 && all <= 6 && turns == 1 && !first && !second);
}
KERNEL(256) thinned(const unsigned char *__restrict__ in, unsigned char *out, int pitch, int width) {
    __shared__ unsigned char old[36 * 37], fresh[36 * 37];
    const int t = threadIdx.x;
    for (int i = t; i < 1296; i += 256) old[i / 36 * 37 + i % 36] = in[(size_t)(blockIdx.y * 32 + i / 36) * pitch + blockIdx.x * 32 + i % 36] > 90;
    __syncthreads();
    for (int i = t; i < 1156; i += 256) {
        const int at = (i / 34 + 1) * 37 + i % 34 + 1;
        fresh[at] = stays(old + at, 0);
    }
    __syncthreads();
    #pragma unroll
    for (int i = t; i < 1024; i += 256) out[(size_t)(blockIdx.y * 32 + i / 32) * width + blockIdx.x * 32 + i % 32] = stays(fresh + (i / 32 + 2) * 37 + i % 32 + 2, 1) ? 255 : 0;
}

// Echoes of a hall by 32 delays that feed one another (through a matrix of Hadamard, by shuffles): a warp a channel, a lane a delay, its ring in shared memory.
KERNEL(128) hall(const float *__restrict__ in, float *out, int samples) {
    __shared__ float rings[4][64 * 32];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, delay = 17 + lane * 7 % 45;
    const size_t base = (size_t)(blockIdx.x * 4 + warp) * samples;
    float *ring = rings[warp];
    #pragma unroll 8
    for (int k = 0; k < 64; ++k) ring[k * 32 + lane] = 0.0f;
    float dull = 0.0f;
    #pragma unroll 1
    for (int first = 0; first < samples; first += 32) {
        const float fresh = in[base + first + lane];
        float heard = 0.0f;
        #pragma unroll 2
        for (int k = 0; k < 32; ++k) {
            const int now = first + k;
            dull = 0.7f * ring[(now - delay & 63) * 32 + lane] + 0.3f * dull;
            float v = dull;
            #pragma unroll
            for (int offset = 1; offset < 32; offset <<= 1) {
                const float other = __shfl_xor_sync(ALL, v, offset);
                v = lane & offset ? other - v : other + v;
            }
            const float all = __shfl_sync(ALL, v, 0), sound = __shfl_sync(ALL, fresh, k);
            ring[(now & 63) * 32 + lane] = 0.16f * v + sound;
            if (lane == k) heard = 0.6f * sound + 0.1f * all;
        }
        out[base + first + lane] = heard;
    }
}

// Atoms of a thin gas that meet at random (Bird's method): a warp a cell of 64, pairs that change each round, and those that meet turn their way.
KERNEL(128) thin_gas(const float *__restrict__ in, float *out, unsigned *counts, int rounds) {
    __shared__ float vx[4][64], vy[4][64], vz[4][64];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const unsigned cell = blockIdx.x * 4 + warp;
    #pragma unroll
    for (int k = lane; k < 64; k += 32) vx[warp][k] = in[(size_t)cell * 192 + k], vy[warp][k] = in[(size_t)cell * 192 + 64 + k], vz[warp][k] = in[(size_t)cell * 192 + 128 + k];
    unsigned seed = (cell * 32u + lane) * 2654435761u + 97u, met = 0;
    const auto draw = [&]() {
        seed = seed * 1664525u + 1013904223u;
        return (float)(seed >> 8) * 5.9604645e-8f;
    };
    __syncwarp();
    #pragma unroll 1
    for (int round = 0; round < rounds; ++round) {
        const int a = lane * 2 + (round & 1), b = (lane * 2 + (round & 1 ? 0 : 1) + round * 10 & 63);
        const float x = vx[warp][a] - vx[warp][b], y = vy[warp][a] - vy[warp][b], z = vz[warp][a] - vz[warp][b], speed = sqrtf(x * x + y * y + z * z);
        if (speed > 2.0f * draw()) {
            const float up = 2.0f * draw() - 1.0f, flat = sqrtf(fmaxf(1.0f - up * up, 0.0f)) * speed;
            float sine, cosine;
            sincosf(6.2831853f * draw(), &sine, &cosine);
            const float mx = 0.5f * (vx[warp][a] + vx[warp][b]), my = 0.5f * (vy[warp][a] + vy[warp][b]), mz = 0.5f * (vz[warp][a] + vz[warp][b]);
            const float dx = 0.5f * flat * cosine, dy = 0.5f * flat * sine, dz = 0.5f * speed * up;
            vx[warp][a] = mx + dx, vy[warp][a] = my + dy, vz[warp][a] = mz + dz;
            vx[warp][b] = mx - dx, vy[warp][b] = my - dy, vz[warp][b] = mz - dz;
            ++met;
        }
        __syncwarp();
    }
    #pragma unroll
    for (int k = lane; k < 64; k += 32) out[(size_t)cell * 192 + k] = vx[warp][k], out[(size_t)cell * 192 + 64 + k] = vy[warp][k], out[(size_t)cell * 192 + 128 + k] = vz[warp][k];
    met = __reduce_add_sync(ALL, met);
    if (lane == 0) counts[cell] = met;
}

// How fast neighbours part in Lorenz's weather (exponents of Lyapunov), in doubles: a thread a beginning, Runge and Kutta's steps of it and of what is beside it.
struct Weather { double x, y, z, u, v, w; };
__device__ __forceinline__ Weather change(const Weather &s, double rho) {
    return {10.0 * (s.y - s.x), s.x * (rho - s.z) - s.y, s.x * s.y - 8.0 / 3.0 * s.z, 10.0 * (s.v - s.u), (rho - s.z) * s.u - s.v - s.x * s.w, s.y * s.u + s.x * s.v - 8.0 / 3.0 * s.w};
}
__device__ __forceinline__ Weather moved(const Weather &s, const Weather &d, double h) { return {s.x + h * d.x, s.y + h * d.y, s.z + h * d.z, s.u + h * d.u, s.v + h * d.v, s.w + h * d.w}; }
KERNEL(128) weather(const double *__restrict__ in, double *out, int count, int steps, double rho) {
    const int own = blockIdx.x * 128 + threadIdx.x;
    Weather s = {1.0 + in[own], 1.0 + in[count + own], 20.0 + in[2 * count + own], 1.0, 0.0, 0.0};
    double sum = 0.0;
    #pragma unroll 1
    for (int n = 0; n < steps; ++n) {
        const double h = 0.01;
        const Weather a = change(s, rho), b = change(moved(s, a, 0.5 * h), rho), c = change(moved(s, b, 0.5 * h), rho), d = change(moved(s, c, h), rho);
        s = moved(moved(moved(moved(s, a, h / 6.0), b, h / 3.0), c, h / 3.0), d, h / 6.0);
        if (n % 4 == 3) {
            const double square = s.u * s.u + s.v * s.v + s.w * s.w, one = rsqrt(square);
            s.u *= one, s.v *= one, s.w *= one, sum += 0.5 * log(square);
        }
    }
    out[own] = sum / (0.01 * steps);
}

// What people think of films, factored as steps say (matrices by stochastic gradients): a warp eight ratings, 64 factors of both, two a lane.
KERNEL(256) ratings(const uint2 *__restrict__ pairs, const float *__restrict__ said, float2 *people, float *films, float *errors, unsigned many, unsigned few) {
    const int lane = threadIdx.x % 32;
    const size_t first = ((size_t)blockIdx.x * 8 + threadIdx.x / 32) * 8;
    float squares = 0.0f;
    #pragma unroll 1
    for (int n = 0; n < 8; ++n) {
        const uint2 pair = pairs[first + n];
        const size_t person = (size_t)(pair.x & many) * 32 + lane, film = (size_t)(pair.y & few) * 64 + lane;
        const float2 p = people[person];
        const float low = films[film], high = films[film + 32];
        float dot = p.x * low + p.y * high;
        #pragma unroll
        for (int offset = 16; offset > 0; offset >>= 1) dot += __shfl_xor_sync(ALL, dot, offset);
        const float error = said[first + n] - dot;
        people[person] = make_float2(p.x + 0.01f * (error * low - 0.02f * p.x), p.y + 0.01f * (error * high - 0.02f * p.y));
        atomicAdd(films + film, 0.01f * (error * p.x - 0.02f * low)), atomicAdd(films + film + 32, 0.01f * (error * p.y - 0.02f * high));
        squares += error * error;
    }
    if (lane == 0) errors[first / 8] = squares;
}
