// Kernels of the twenty-sixth set over models, money, nature and pictures: cells of a memory, smiles, motion of windows, grains, turning spins.
#include <cuda_runtime.h>

#define KERNEL(THREADS) extern "C" __global__ void __launch_bounds__(THREADS)

// What cells of a long short-term memory keep and say, from four gates that products left: four cells a thread.
__device__ __forceinline__ float gate(float v) { return 1.0f / (1.0f + __expf(-v)); }
__device__ __forceinline__ float bent(float v) { return 2.0f / (1.0f + __expf(-2.0f * v)) - 1.0f; }
KERNEL(256) memory_cells(const float4 *__restrict__ gates, const float4 *__restrict__ biases, const float4 *__restrict__ before, float4 *after, float4 *said) {
    const size_t row = blockIdx.x;
    const int t = threadIdx.x;
    float v[4][4];
    #pragma unroll
    for (int g = 0; g < 4; ++g) {
        const float4 x = gates[row * 1024 + g * 256 + t], b = biases[g * 256 + t];
        v[g][0] = x.x + b.x, v[g][1] = x.y + b.y, v[g][2] = x.z + b.z, v[g][3] = x.w + b.w;
    }
    const float4 c = before[row * 256 + t];
    const float old[4] = {c.x, c.y, c.z, c.w};
    float kept[4], out[4];
    #pragma unroll
    for (int i = 0; i < 4; ++i) kept[i] = gate(v[1][i]) * old[i] + gate(v[0][i]) * bent(v[2][i]), out[i] = gate(v[3][i]) * bent(kept[i]);
    after[row * 256 + t] = make_float4(kept[0], kept[1], kept[2], kept[3]);
    said[row * 256 + t] = make_float4(out[0], out[1], out[2], out[3]);
}

// Volatilities of a smile (SABR, by Hagan's formula) and what they make of options: a thread four strikes of one.
KERNEL(256) smiles(const float4 *__restrict__ markets, float *out, int count) {
    const int own = blockIdx.x * 256 + threadIdx.x;
    const float4 m = markets[own];
    const float alpha = 0.3f + 0.1f * m.x, beta = 0.5f + 0.3f * m.y, rho = 0.8f * m.z, nu = 0.5f + 0.2f * m.w, time = 1.5f + m.x;
    #pragma unroll 1
    for (int k = 0; k < 4; ++k) {
        const float strike = 0.8f + 0.11f * (float)k, apart = -logf(strike), spread = powf(strike, 0.5f * (1.0f - beta)), less = (1.0f - beta) * (1.0f - beta);
        const float z = nu / alpha * spread * apart, root = sqrtf(1.0f - 2.0f * rho * z + z * z);
        const float chi = logf((root + z - rho) / (1.0f - rho)), share = fabsf(z) < 1e-4f ? 1.0f : z / chi;
        const float l2 = apart * apart, wide = spread * (1.0f + less * l2 * 0.041666667f + less * less * l2 * l2 * 0.00052083333f);
        const float grows = 1.0f + time * (less * alpha * alpha / (24.0f * spread * spread) + 0.25f * rho * beta * nu * alpha / spread + (2.0f - 3.0f * rho * rho) * nu * nu * 0.041666667f);
        const float sigma = fmaxf(alpha / wide * share * grows, 0.01f) * sqrtf(time), d = apart / sigma + 0.5f * sigma;
        out[(size_t)k * count + own] = normcdff(d) - strike * normcdff(d - sigma);
    }
}

// How windows of seven by seven pixels move from one picture to the next (Lucas and Kanade): gradients in shared memory, a thread a window.
KERNEL(256) windows_moved(const float *__restrict__ first, const float *__restrict__ second, float2 *out, int pitch, int width) {
    __shared__ float across[22 * 23], down[22 * 23], later[22 * 23];
    const int x = threadIdx.x % 16, y = threadIdx.x / 16;
    for (int i = threadIdx.x; i < 484; i += 256) {
        const int r = i / 22, c = i % 22;
        const size_t at = (size_t)(blockIdx.y * 16 + r + 1) * pitch + blockIdx.x * 16 + c + 1;
        across[r * 23 + c] = 0.5f * (first[at + 1] - first[at - 1]), down[r * 23 + c] = 0.5f * (first[at + pitch] - first[at - pitch]);
        later[r * 23 + c] = second[at] - first[at];
    }
    __syncthreads();
    float xx = 0.01f, xy = 0.0f, yy = 0.01f, xt = 0.0f, yt = 0.0f;
    #pragma unroll 1
    for (int r = 0; r < 7; ++r)
        #pragma unroll
        for (int c = 0; c < 7; ++c) {
            const int at = (y + r) * 23 + x + c;
            const float u = across[at], v = down[at], w = later[at];
            xx += u * u, xy += u * v, yy += v * v, xt += u * w, yt += v * w;
        }
    const float one = 1.0f / (xx * yy - xy * xy);
    out[(size_t)(blockIdx.y * 16 + y) * width + blockIdx.x * 16 + x] = make_float2((xy * yt - yy * xt) * one, (xy * xt - xx * yt) * one);
}

// How grains push one another where they touch, springs and dampers: four grains a cell, a thread a grain, which asks nine cells.
KERNEL(256) grains(const float4 *__restrict__ all, float2 *out, int wide, int high) {
    const int own = blockIdx.x * 256 + threadIdx.x, cell = own / 4, cx = cell % wide, cy = cell / wide;
    const float4 me = all[own];
    const float px = (float)cx + 0.5f + 0.5f * me.x, py = (float)cy + 0.5f + 0.5f * me.y;
    float fx = 0.0f, fy = -0.1f;
    #pragma unroll 1
    for (int n = 0; n < 9; ++n) {
        const int x = cx + n % 3 - 1, y = cy + n / 3 - 1;
        if (x < 0 || y < 0 || x >= wide || y >= high) continue;
        const int from = (y * wide + x) * 4;
        #pragma unroll
        for (int k = 0; k < 4; ++k) {
            const float4 other = all[from + k];
            const float dx = px - ((float)x + 0.5f + 0.5f * other.x), dy = py - ((float)y + 0.5f + 0.5f * other.y), square = dx * dx + dy * dy;
            if (square < 0.36f && from + k != own) {
                const float one = rsqrtf(square + 1e-9f), nx = dx * one, ny = dy * one, deep = 0.6f - square * one;
                const float vx = me.z - other.z, vy = me.w - other.w, closing = vx * nx + vy * ny, normal = 50.0f * deep - 0.8f * closing;
                const float slide = vy * nx - vx * ny, rub = fminf(fmaxf(-0.5f * slide, -0.4f * fabsf(normal)), 0.4f * fabsf(normal));
                fx += normal * nx - rub * ny, fy += normal * ny + rub * nx;
            }
        }
    }
    out[own] = make_float2(fx, fy);
}

// Spins of a plane that turn (the XY model), in squares of 32 by 32 closed in themselves: half of them tried at a time, as heat allows.
KERNEL(512) turning_spins(const float *__restrict__ in, float *out, int width, int sweeps, float cold) {
    __shared__ float angles[1024];
    const int t = threadIdx.x, y = t / 16, pair = t % 16 * 2;
    const size_t base = (size_t)blockIdx.y * 32 * width + blockIdx.x * 32;
    angles[t] = 3.1415927f * in[base + (size_t)(t / 32) * width + t % 32];
    angles[t + 512] = 3.1415927f * in[base + (size_t)(t / 32 + 16) * width + t % 32];
    unsigned state = ((blockIdx.y * gridDim.x + blockIdx.x) * 512u + t) * 2654435761u + 1u;
    #pragma unroll 1
    for (int half = 0; half < sweeps * 2; ++half) {
        __syncthreads();
        const int x = pair + (y + half & 1);
        const float own = angles[y * 32 + x];
        state = state * 1664525u + 1013904223u;
        const float tried = own + (float)(int)state * 7.0e-10f;
        state = state * 1664525u + 1013904223u;
        const float n[4] = {angles[y * 32 + (x + 1 & 31)], angles[y * 32 + (x + 31 & 31)], angles[(y + 1 & 31) * 32 + x], angles[(y + 31 & 31) * 32 + x]};
        float change = 0.0f;
        #pragma unroll
        for (int k = 0; k < 4; ++k) change += __cosf(own - n[k]) - __cosf(tried - n[k]);
        if (__expf(-cold * change) > (float)(state >> 8) * 5.9604645e-8f) angles[y * 32 + x] = tried;
    }
    __syncthreads();
    out[base + (size_t)(t / 32) * width + t % 32] = angles[t];
    out[base + (size_t)(t / 32 + 16) * width + t % 32] = angles[t + 512];
}
