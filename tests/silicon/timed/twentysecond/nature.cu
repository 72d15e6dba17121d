// Kernels of the twenty-second set over nature and secrets: forces by lists, waves, scans of heads, pairs of galaxies, a cipher.
#include <cuda_runtime.h>

#define KERNEL(THREADS) extern "C" __global__ void __launch_bounds__(THREADS)
#define ALL 0xffffffffu

// Forces of Lennard and Jones by lists of neighbours, whose names lie side by side for all atoms: 48 to 79 of them, somewhere near.
KERNEL(128) listed_forces(const float4 *__restrict__ atoms, const unsigned *__restrict__ lengths, const unsigned *__restrict__ lists, float4 *forces, int count, float cutoff) {
    const int i = blockIdx.x * 128 + threadIdx.x, length = 48 + (int)(lengths[i] & 31u);
    const float4 own = atoms[i];
    float fx = 0.0f, fy = 0.0f, fz = 0.0f, energy = 0.0f;
    for (int k = 0; k < length; ++k) {
        const int other = (i + (int)(lists[(size_t)k * count + i] & 2047u)) % count;
        const float4 at = __ldg(atoms + other);
        const float dx = own.x - at.x, dy = own.y - at.y, dz = own.z - at.z, far = dx * dx + dy * dy + dz * dz + 0.01f;
        if (far < cutoff) {
            const float by2 = 1.0f / far, by6 = by2 * by2 * by2, force = by2 * by6 * (48.0f * by6 - 24.0f);
            fx += dx * force, fy += dy * force, fz += dz * force, energy += 4.0f * by6 * (by6 - 1.0f);
        }
    }
    forces[i] = make_float4(fx, fy, fz, energy);
}

// A step of a wave in doubles, of fourth order in space: tiles of 32 by 8 with a margin of two in shared memory; what was becomes what will be.
KERNEL(256) wave_tile(const double *__restrict__ now, double *before, const double *__restrict__ speeds, int width) {
    __shared__ double tile[12][36];
    const int tx = threadIdx.x, ty = threadIdx.y, pitch = width + 4;
    const double *own = now + (size_t)blockIdx.y * 8 * pitch + blockIdx.x * 32;
    for (int i = ty * 32 + tx; i < 12 * 36; i += 256) tile[i / 36][i % 36] = own[(size_t)(i / 36) * pitch + i % 36];
    __syncthreads();
    const int x = tx + 2, y = ty + 2;
    const double middle = tile[y][x];
    const double near = tile[y][x - 1] + tile[y][x + 1] + tile[y - 1][x] + tile[y + 1][x];
    const double far = tile[y][x - 2] + tile[y][x + 2] + tile[y - 2][x] + tile[y + 2][x];
    const size_t at = (size_t)(blockIdx.y * 8 + ty) * width + blockIdx.x * 32 + tx;
    before[at] = 2.0 * middle - before[at] + speeds[at] * (near * (4.0 / 3.0) - far * (1.0 / 12.0) - middle * 5.0);
}

// What a scanner of heads adds up for each voxel (the Q of MRI): 256 samples in constant memory, a sine and a cosine each, two voxels a thread.
__constant__ float4 samples[256];
KERNEL(256) scanned_heads(const float *__restrict__ xs, const float *__restrict__ ys, const float *__restrict__ zs, float *real, float *imaginary, int count) {
    float r[2] = {}, q[2] = {}, x[2], y[2], z[2];
    const int first = blockIdx.x * 512 + threadIdx.x;
    #pragma unroll
    for (int v = 0; v < 2; ++v) {
        const int i = min(first + v * 256, count - 1);
        x[v] = xs[i], y[v] = ys[i], z[v] = zs[i];
    }
    #pragma unroll 4
    for (int k = 0; k < 256; ++k) {
        const float4 s = samples[k];
        #pragma unroll
        for (int v = 0; v < 2; ++v) {
            float sine, cosine;
            __sincosf(6.28318531f * (s.x * x[v] + s.y * y[v] + s.z * z[v]), &sine, &cosine);
            r[v] += s.w * cosine, q[v] += s.w * sine;
        }
    }
    #pragma unroll
    for (int v = 0; v < 2; ++v) {
        const int i = first + v * 256;
        if (i < count) real[i] = r[v], imaginary[i] = q[v];
    }
}

// How many pairs of galaxies are how far apart: 256 by 256 a block, whose products are looked up among bounds in constant memory by halving,
// and counted in shared memory, sixteen bins a warp.
__constant__ float bounds[15] = {-0.9f, -0.75f, -0.6f, -0.45f, -0.3f, -0.2f, -0.1f, 0.0f, 0.1f, 0.2f, 0.3f, 0.45f, 0.6f, 0.75f, 0.9f};
KERNEL(256) galaxies(const float *__restrict__ xs, const float *__restrict__ ys, const float *__restrict__ zs, unsigned *counts) {
    __shared__ float x[256], y[256], z[256], edges[16];
    __shared__ unsigned held[8][17];
    const int t = threadIdx.x, warp = t / 32, own = blockIdx.x * 256 + t, other = (blockIdx.x * 7 + 3) % gridDim.x * 256 + t;
    x[t] = xs[other], y[t] = ys[other], z[t] = zs[other];
    if (t < 15) edges[t] = bounds[t];
    if (t < 136) held[t / 17][t % 17] = 0;
    const float ax = xs[own], ay = ys[own], az = zs[own];
    __syncthreads();
    for (int k = 0; k < 256; ++k) {
        const float dot = ax * x[k] + ay * y[k] + az * z[k];
        int low = 0, high = 15;
        while (low < high) {
            const int middle = (low + high) / 2;
            if (edges[middle] < dot) low = middle + 1;
            else high = middle;
        }
        atomicAdd(&held[warp][low], 1u);
    }
    __syncthreads();
    if (t < 16) {
        unsigned sum = 0;
        for (int w = 0; w < 8; ++w) sum += held[w][t];
        atomicAdd(counts + t, sum);
    }
}

// Blowfish: sixteen rounds, each of which looks up four tables of 256 words in shared memory; four blocks of eight bytes a thread.
KERNEL(256) blowfish(const unsigned *__restrict__ keys, const unsigned *__restrict__ tables, const uint2 *__restrict__ from, uint2 *to) {
    __shared__ unsigned s[4][256], p[18];
    const int t = threadIdx.x;
    #pragma unroll
    for (int i = 0; i < 4; ++i) s[i][t] = tables[i * 256 + t];
    if (t < 18) p[t] = keys[t];
    __syncthreads();
    for (int i = 0; i < 4; ++i) {
        const size_t at = ((size_t)blockIdx.x * 4 + i) * 256 + t;
        uint2 v = from[at];
        #pragma unroll
        for (int round = 0; round < 16; round += 2) {
            v.x ^= p[round];
            v.y ^= ((s[0][v.x >> 24] + s[1][v.x >> 16 & 255]) ^ s[2][v.x >> 8 & 255]) + s[3][v.x & 255];
            v.y ^= p[round + 1];
            v.x ^= ((s[0][v.y >> 24] + s[1][v.y >> 16 & 255]) ^ s[2][v.y >> 8 & 255]) + s[3][v.y & 255];
        }
        to[at] = make_uint2(v.y ^ p[17], v.x ^ p[16]);
    }
}
