// Kernels of the twenty-third set in groups that differ in the layout of shared memory alone: rays, likeness, buckets, elements, series, residuals.
#include <cuda_runtime.h>

#define KERNEL(THREADS) extern "C" __global__ void __launch_bounds__(THREADS)
#define ALL 0xffffffffu

// Rays through a quadtree of five levels, a ball in each of its 1024 leaves: what is left to visit lies on a stack in shared memory. A thread's
// sixteen entries follow each other (rows, or rows of seventeen), or those of all threads do (columns).
template <int ACROSS, int DEEPER> __device__ __forceinline__ void stacks(const float4 *__restrict__ balls, const float *__restrict__ rays, float *near_most, int count) {
    __shared__ unsigned stack[128 * 17];
    unsigned *own = stack + threadIdx.x * ACROSS;
    const int ray = blockIdx.x * 128 + threadIdx.x;
    const float ox = rays[ray], oy = rays[count + ray], oz = 1.0f + 0.1f * rays[2 * count + ray];
    float dx = rays[3 * count + ray] + 1e-4f, dy = rays[4 * count + ray] + 1e-4f, dz = -0.6f - 0.3f * fabsf(rays[5 * count + ray]);
    const float unit = rsqrtf(dx * dx + dy * dy + dz * dz);
    dx *= unit, dy *= unit, dz *= unit;
    const float ix = 1.0f / dx, iy = 1.0f / dy;
    float best = (-0.1f - oz) / dz;
    int top = 0;
    own[0] = 0, top = 1;
    while (top > 0) {
        const unsigned node = own[--top * DEEPER], level = node >> 16, x = node >> 8 & 255u, y = node & 255u;
        if (level == 5) {
            const float4 ball = __ldg(balls + y * 32 + x);
            const float wide = 2.0f / 32.0f, cx = ((float)x + 0.5f + 0.3f * ball.x) * wide - 1.0f - ox, cy = ((float)y + 0.5f + 0.3f * ball.y) * wide - 1.0f - oy;
            const float cz = 0.05f * ball.z - oz, radius = (0.05f + 0.15f * fabsf(ball.w)) * wide;
            const float along = cx * dx + cy * dy + cz * dz, square = radius * radius - (cx * cx + cy * cy + cz * cz - along * along);
            if (square > 0.0f) {
                const float hit = along - sqrtf(square);
                if (hit > 0.0f && hit < best) best = hit;
            }
            continue;
        }
        const float wide = 2.0f / (float)(2u << level);
        #pragma unroll
        for (unsigned child = 0; child < 4; ++child) {
            const unsigned cx = x * 2 + (child & 1u), cy = y * 2 + (child >> 1);
            const float x0 = ((float)cx * wide - 1.0f - ox) * ix, x1 = ((float)(cx + 1) * wide - 1.0f - ox) * ix;
            const float y0 = ((float)cy * wide - 1.0f - oy) * iy, y1 = ((float)(cy + 1) * wide - 1.0f - oy) * iy;
            const float enter = fmaxf(fmaxf(fminf(x0, x1), fminf(y0, y1)), (0.07f - oz) / dz), leave = fminf(fminf(fmaxf(x0, x1), fmaxf(y0, y1)), best);
            if (enter <= leave) own[top++ * DEEPER] = (level + 1) << 16 | cx << 8 | cy;
        }
    }
    near_most[ray] = best;
}
KERNEL(128) stacks_rows(const float4 *balls, const float *rays, float *out, int count) { stacks<16, 1>(balls, rays, out, count); }
KERNEL(128) stacks_padded(const float4 *balls, const float *rays, float *out, int count) { stacks<17, 1>(balls, rays, out, count); }
KERNEL(128) stacks_columns(const float4 *balls, const float *rays, float *out, int count) { stacks<1, 128>(balls, rays, out, count); }

// How alike molecules are (Tanimoto): fingerprints of 1024 bits, 64 by 64 molecules a block, four by four a thread; rows of 32 words or of 33.
template <int PITCH> __device__ __forceinline__ void tanimoto(const unsigned *__restrict__ prints, float *alike, int count) {
    __shared__ unsigned a[64 * PITCH], b[64 * PITCH];
    const int t = threadIdx.x, tx = t % 16, ty = t / 16;
    #pragma unroll
    for (int i = t; i < 2048; i += 256) {
        const int row = i / 32, word = i % 32;
        const size_t at = (size_t)(blockIdx.y * 64 + row) * 32 + word, bt = (size_t)(blockIdx.x * 64 + row) * 32 + word;
        // Few bits are set, as in prints of molecules.
        a[row * PITCH + word] = prints[at] & __brev(prints[at]), b[row * PITCH + word] = prints[bt] & __brev(prints[bt]);
    }
    __syncthreads();
    int both[4][4] = {}, either[4][4] = {};
    #pragma unroll 4
    for (int k = 0; k < 32; ++k) {
        unsigned x[4], y[4];
        #pragma unroll
        for (int i = 0; i < 4; ++i) x[i] = a[(ty + i * 16) * PITCH + k], y[i] = b[(tx + i * 16) * PITCH + k];
        #pragma unroll
        for (int i = 0; i < 4; ++i)
            #pragma unroll
            for (int j = 0; j < 4; ++j) both[i][j] += __popc(x[i] & y[j]), either[i][j] += __popc(x[i] | y[j]);
    }
    #pragma unroll
    for (int i = 0; i < 4; ++i)
        #pragma unroll
        for (int j = 0; j < 4; ++j)
            alike[(size_t)(blockIdx.y * 64 + ty + i * 16) * count + blockIdx.x * 64 + tx + j * 16] = __fdividef((float)both[i][j], (float)max(1, either[i][j]));
}
KERNEL(256) tanimoto_plain(const unsigned *prints, float *alike, int count) { tanimoto<32>(prints, alike, count); }
KERNEL(256) tanimoto_padded(const unsigned *prints, float *alike, int count) { tanimoto<33>(prints, alike, count); }

// Buckets of a sample sort: 1023 splitters in shared memory part keys into 1024 buckets, ten steps a key; splitters in their order, or in the
// order of a tree's levels (Eytzinger).
template <bool LEVELS> __device__ __forceinline__ void splitters(const float *__restrict__ given, const float *__restrict__ keys, unsigned short *buckets, unsigned *counts) {
    __shared__ float tree[1024];
    __shared__ unsigned found[1024];
    const int t = threadIdx.x;
    for (int i = t; i < 1024; i += 256) {
        found[i] = 0;
        if (i > 0) {
            const int level = 31 - __clz(i), rank = LEVELS ? ((2 * (i - (1 << level)) + 1) << (9 - level)) : i;
            tree[LEVELS ? i : rank - 1] = ((float)rank + 0.4f * given[rank]) / 512.0f - 1.0f;
        }
    }
    __syncthreads();
    #pragma unroll 4
    for (int i = 0; i < 16; ++i) {
        const size_t at = (size_t)blockIdx.x * 4096 + i * 256 + t;
        const float key = keys[at];
        int bucket = LEVELS ? 1 : 0;
        #pragma unroll
        for (int half = 512; half > 0; half >>= 1) {
            if (LEVELS) bucket = bucket * 2 + (key >= tree[bucket]);
            else bucket += key >= tree[bucket + half - 1] ? half : 0;
        }
        bucket &= 1023;
        buckets[at] = (unsigned short)bucket;
        atomicAdd(found + bucket, 1u);
    }
    __syncthreads();
    for (int i = t; i < 1024; i += 256) counts[(size_t)blockIdx.x * 1024 + i] = found[i];
}
KERNEL(256) splitters_sorted(const float *given, const float *keys, unsigned short *buckets, unsigned *counts) { splitters<false>(given, keys, buckets, counts); }
KERNEL(256) splitters_levels(const float *given, const float *keys, unsigned short *buckets, unsigned *counts) { splitters<true>(given, keys, buckets, counts); }

// The Laplacian of hexahedral elements of degree seven in doubles (Nekbone): 64 threads an element, a column of eight points a thread, a layer at
// a time in shared memory; rows of eight doubles or of nine.
template <int PITCH> __device__ __forceinline__ void hexahedra(const double *__restrict__ u, const double *__restrict__ g, const double *__restrict__ derivative, double *w) {
    __shared__ double d[8 * PITCH], s[8 * PITCH], wr[8 * PITCH], ws[8 * PITCH];
    const int t = threadIdx.x, i = t % 8, j = t / 8;
    const size_t element = (size_t)blockIdx.x * 512;
    d[j * PITCH + i] = derivative[t];
    double column[8], sum[8] = {};
    #pragma unroll
    for (int k = 0; k < 8; ++k) column[k] = u[element + k * 64 + t];
    #pragma unroll
    for (int k = 0; k < 8; ++k) {
        __syncthreads();
        s[j * PITCH + i] = column[k];
        __syncthreads();
        double ur = 0.0, us = 0.0, ut = 0.0;
        #pragma unroll
        for (int l = 0; l < 8; ++l) {
            ur += d[i * PITCH + l] * s[j * PITCH + l];
            us += d[j * PITCH + l] * s[l * PITCH + i];
            ut += d[k * PITCH + l] * column[l];
        }
        const double *at = g + element * 6 + k * 64 + t;
        const double g0 = at[0], g1 = at[512], g2 = at[1024], g3 = at[1536], g4 = at[2048], g5 = at[2560];
        wr[j * PITCH + i] = g0 * ur + g1 * us + g2 * ut;
        ws[j * PITCH + i] = g1 * ur + g3 * us + g4 * ut;
        const double wt = g2 * ur + g4 * us + g5 * ut;
        __syncthreads();
        double layer = 0.0;
        #pragma unroll
        for (int l = 0; l < 8; ++l) {
            layer += d[l * PITCH + i] * wr[j * PITCH + l] + d[l * PITCH + j] * ws[l * PITCH + i];
            sum[l] += d[k * PITCH + l] * wt;
        }
        sum[k] += layer;
    }
    #pragma unroll
    for (int k = 0; k < 8; ++k) w[element + k * 64 + t] = sum[k];
}
KERNEL(64) hexahedra_plain(const double *u, const double *g, const double *d, double *w) { hexahedra<8>(u, g, d, w); }
KERNEL(64) hexahedra_padded(const double *u, const double *g, const double *d, double *w) { hexahedra<9>(u, g, d, w); }

// Series of 32 values made monotone with the least change (pools of adjacent violators), a series a thread: pools wait on a stack in shared memory,
// their sums and lengths 32 words a thread, 33, or by columns.
template <int ACROSS, int DEEPER> __device__ __forceinline__ void isotonic(const float *__restrict__ values, float *fitted, float slope) {
    __shared__ float sums[64 * 33];
    __shared__ int lengths[64 * 33];
    const int t = threadIdx.x;
    const size_t base = (size_t)blockIdx.x * 64;
    for (int i = t; i < 2048; i += 64) sums[i / 32 * ACROSS + i % 32 * DEEPER] = values[base * 32 + i] + slope * (float)(i % 32);
    __syncthreads();
    float *sum = sums + t * ACROSS;
    int *length = lengths + t * ACROSS, top = 0;
    for (int i = 0; i < 32; ++i) {
        float total = sum[i * DEEPER];
        int many = 1;
        while (top > 0) {
            const float before = sum[(top - 1) * DEEPER];
            const int others = length[(top - 1) * DEEPER];
            if (before * (float)many <= total * (float)others) break;
            total += before, many += others, --top;
        }
        sum[top * DEEPER] = total, length[top * DEEPER] = many, ++top;
    }
    // Pools become their means, from the last on: no pool lies behind the places that it fills.
    for (int i = 31; top > 0;) {
        --top;
        const int many = length[top * DEEPER];
        const float mean = sum[top * DEEPER] / (float)many;
        for (int k = 0; k < many; ++k, --i) sum[i * DEEPER] = mean;
    }
    __syncthreads();
    for (int i = t; i < 2048; i += 64) fitted[base * 32 + i] = sums[i / 32 * ACROSS + i % 32 * DEEPER];
}
KERNEL(64) isotonic_rows(const float *values, float *fitted, float slope) { isotonic<32, 1>(values, fitted, slope); }
KERNEL(64) isotonic_padded(const float *values, float *fitted, float slope) { isotonic<33, 1>(values, fitted, slope); }
KERNEL(64) isotonic_columns(const float *values, float *fitted, float slope) { isotonic<1, 64>(values, fitted, slope); }

// Sixteen residuals from sixteen coefficients, as HEVC has them: halves of the transform by sums and differences.
__device__ __forceinline__ void sixteen(const int *c, int *to, int shift) {
    constexpr int odd[8][8] = {{90, 87, 80, 70, 57, 43, 25, 9}, {87, 57, 9, -43, -80, -90, -70, -25}, {80, 9, -70, -87, -25, 57, 90, 43},
                               {70, -43, -87, 9, 90, 25, -80, -57}, {57, -80, -25, 90, -9, -87, 43, 70}, {43, -90, 57, 25, -87, 70, 9, -80},
                               {25, -70, 90, -80, 43, 9, -57, 87}, {9, -25, 43, -57, 70, -80, 87, -90}};
    constexpr int even[4][4] = {{89, 75, 50, 18}, {75, -18, -89, -50}, {50, -89, 18, 75}, {18, -50, 75, -89}};
    int o[8] = {}, e[8], p[4] = {}, q[4];
    #pragma unroll
    for (int k = 0; k < 8; ++k)
        #pragma unroll
        for (int n = 0; n < 8; ++n) o[k] += odd[n][k] * c[2 * n + 1];
    #pragma unroll
    for (int k = 0; k < 4; ++k)
        #pragma unroll
        for (int n = 0; n < 4; ++n) p[k] += even[n][k] * c[4 * n + 2];
    const int s = 64 * (c[0] + c[8]), d = 64 * (c[0] - c[8]), x = 83 * c[4] + 36 * c[12], y = 36 * c[4] - 83 * c[12];
    q[0] = s + x, q[1] = d + y, q[2] = d - y, q[3] = s - x;
    #pragma unroll
    for (int k = 0; k < 4; ++k) e[k] = q[k] + p[k], e[7 - k] = q[k] - p[k];
    #pragma unroll
    for (int k = 0; k < 8; ++k) {
        to[k] = min(max((e[k] + o[k] + (1 << (shift - 1))) >> shift, -32768), 32767);
        to[15 - k] = min(max((e[k] - o[k] + (1 << (shift - 1))) >> shift, -32768), 32767);
    }
}
// Blocks of sixteen by sixteen coefficients of a picture: columns, then rows, sixteen threads a block; rows of sixteen words or of seventeen.
template <int PITCH> __device__ __forceinline__ void residuals(const short *__restrict__ levels, short *to, int step) {
    __shared__ int held[8][16 * PITCH];
    const int t = threadIdx.x, i = t % 16, which = t / 16;
    const size_t base = ((size_t)blockIdx.x * 8 + which) * 256;
    int c[16], r[16];
    #pragma unroll
    for (int k = 0; k < 16; ++k) c[k] = ((levels[base + k * 16 + i] - 500) * step) >> (k + i > 8 ? 4 : 2);
    sixteen(c, r, 7);
    #pragma unroll
    for (int k = 0; k < 16; ++k) held[which][k * PITCH + i] = r[k];
    __syncwarp();
    #pragma unroll
    for (int k = 0; k < 16; ++k) c[k] = held[which][i * PITCH + k];
    sixteen(c, r, 12);
    #pragma unroll
    for (int k = 0; k < 16; ++k) held[which][i * PITCH + k] = r[k];
    __syncwarp();
    #pragma unroll
    for (int k = 0; k < 16; ++k) to[base + k * 16 + i] = (short)held[which][k * PITCH + i];
}
KERNEL(128) residuals_plain(const short *levels, short *to, int step) { residuals<16>(levels, to, step); }
KERNEL(128) residuals_padded(const short *levels, short *to, int step) { residuals<17>(levels, to, step); }

// Textures of 64 by 64 pixels, sixteen grey levels: how often levels lie side by side (GLCM), in eight copies of 256 counts, 256 words apart or 257.
template <int PITCH> __device__ __forceinline__ void cooccurrence(const unsigned char *__restrict__ pixels, float *features) {
    __shared__ unsigned counts[8 * PITCH];
    __shared__ unsigned char levels[64 * 64];
    __shared__ float sums[8][2];
    const int t = threadIdx.x;
    const unsigned *from = reinterpret_cast<const unsigned *>(pixels + (size_t)blockIdx.x * 4096);
    for (int i = t; i < 1024; i += 256) reinterpret_cast<unsigned *>(levels)[i] = from[i] >> 4 & 0x0f0f0f0fu;
    for (int i = t; i < 8 * PITCH; i += 256) counts[i] = 0;
    __syncthreads();
    unsigned *own = counts + t % 8 * PITCH;
    #pragma unroll 2
    for (int i = t; i < 4096; i += 256) {
        const int x = i % 64, y = i / 64, here = levels[i] * 16;
        if (x < 63) atomicAdd(own + here + levels[i + 1], 1u);
        if (y < 63) atomicAdd(own + here + levels[i + 64], 1u);
        if (x < 63 && y < 63) atomicAdd(own + here + levels[i + 65], 1u);
    }
    __syncthreads();
    unsigned total = 0;
    #pragma unroll
    for (int c = 0; c < 8; ++c) total += counts[c * PITCH + t];
    const float share = (float)total / 12033.0f, away = (float)(t / 16 - t % 16);
    float energy = share * share, contrast = share * away * away;
    #pragma unroll
    for (int offset = 16; offset > 0; offset >>= 1) energy += __shfl_xor_sync(ALL, energy, offset), contrast += __shfl_xor_sync(ALL, contrast, offset);
    if (t % 32 == 0) sums[t / 32][0] = energy, sums[t / 32][1] = contrast;
    __syncthreads();
    if (t < 2) {
        float sum = 0.0f;
        #pragma unroll
        for (int w = 0; w < 8; ++w) sum += sums[w][t];
        features[blockIdx.x * 2 + t] = sum;
    }
}
KERNEL(256) cooccurrence_plain(const unsigned char *pixels, float *features) { cooccurrence<256>(pixels, features); }
KERNEL(256) cooccurrence_padded(const unsigned char *pixels, float *features) { cooccurrence<257>(pixels, features); }
