// Kernels of the twenty-fourth set over nature and pictures: oscillators, phases, cells, patches, patterns, channels, surfaces, projections.
#include <cuda_runtime.h>

#define KERNEL(THREADS) extern "C" __global__ void __launch_bounds__(THREADS)
#define ALL 0xffffffffu

// A step of oscillators that draw one another (Kuramoto), each with all of its 1024: a block 128 of them.
KERNEL(128) oscillators(const float *__restrict__ phases, const float2 *__restrict__ own, float *out, float coupling, float step) {
    __shared__ float2 held[256];
    const int t = threadIdx.x, first = blockIdx.y * 1024, at = first + blockIdx.x * 128 + t;
    const float phase = 3.0f * phases[at];
    float pull = 0.0f;
    for (int k = 0; k < 1024; k += 256) {
        __syncthreads();
        #pragma unroll
        for (int i = t; i < 256; i += 128) held[i] = make_float2(3.0f * phases[first + k + i], own[first + k + i].y);
        __syncthreads();
        #pragma unroll 8
        for (int i = 0; i < 256; ++i) pull += held[i].y * __sinf(held[i].x - phase);
    }
    out[at] = phase + step * (own[at].x + coupling * pull);
}

// A step of two phases that part (Cahn and Hilliard), the edges joined: a block 32 by 16 places, potentials of which lie in shared memory too.
KERNEL(512) phase_field(const float *__restrict__ in, float *out, int width, int height, float gradient, float step) {
    __shared__ float tile[20][36], potential[18][34];
    const int x = threadIdx.x, y = threadIdx.y, t = y * 32 + x, left = blockIdx.x * 32 - 2 + width, top = blockIdx.y * 16 - 2 + height;
    for (int i = t; i < 20 * 36; i += 512) tile[i / 36][i % 36] = in[(size_t)((top + i / 36) % height) * width + (left + i % 36) % width];
    __syncthreads();
    for (int i = t; i < 18 * 34; i += 512) {
        const int r = i / 34 + 1, c = i % 34 + 1;
        const float own = tile[r][c];
        potential[r - 1][c - 1] = own * own * own - own - gradient * (tile[r - 1][c] + tile[r + 1][c] + tile[r][c - 1] + tile[r][c + 1] - 4.0f * own);
    }
    __syncthreads();
    const float around = potential[y][x + 1] + potential[y + 2][x + 1] + potential[y + 1][x] + potential[y + 1][x + 2];
    out[(size_t)(blockIdx.y * 16 + y) * width + blockIdx.x * 32 + x] = tile[y + 2][x + 2] + step * (around - 4.0f * potential[y + 1][x + 1]);
}

// Noise of cells (Worley): how far the nearest and the second of scattered points are, one in each cube of space.
KERNEL(256) worley(float *out, int width, float scale, float depth, unsigned seed) {
    const int x = blockIdx.x * 64 + threadIdx.x, y = blockIdx.y * 4 + threadIdx.y;
    const float px = (float)x * scale, py = (float)y * scale, fx = floorf(px), fy = floorf(py), fz = floorf(depth);
    float nearest = 1e30f, second = 1e30f;
    #pragma unroll 1
    for (int k = -1; k <= 1; ++k)
        #pragma unroll
        for (int j = -1; j <= 1; ++j)
            #pragma unroll
            for (int i = -1; i <= 1; ++i) {
                unsigned hash = ((unsigned)((int)fx + i) * 0x8da6b343u) ^ ((unsigned)((int)fy + j) * 0xd8163841u) ^ ((unsigned)((int)fz + k) * 0xcb1ab31fu) ^ seed;
                hash ^= hash >> 15, hash *= 0x2c1b3c6du, hash ^= hash >> 12, hash *= 0x297a2d39u, hash ^= hash >> 15;
                const float dx = fx + (float)i + (float)(hash & 1023u) * 0.0009765625f - px;
                const float dy = fy + (float)j + (float)(hash >> 10 & 1023u) * 0.0009765625f - py;
                const float dz = fz + (float)k + (float)(hash >> 20 & 1023u) * 0.0009765625f - depth;
                const float away = dx * dx + dy * dy + dz * dz;
                second = fminf(second, fmaxf(nearest, away)), nearest = fminf(nearest, away);
            }
    out[(size_t)y * width + x] = sqrtf(second) - sqrtf(nearest);
}

// A picture without its noise (non-local means): places about a pixel by seven, patches by three, a tile of 40 by 16 in shared memory.
KERNEL(256) nonlocal_means(const float *__restrict__ in, float *out, int width, int pitch, float sharp) {
    __shared__ float tile[16][40];
    const int x = threadIdx.x, y = threadIdx.y, t = y * 32 + x;
    for (int i = t; i < 640; i += 256) tile[i / 40][i % 40] = in[(size_t)(blockIdx.y * 8 + i / 40) * pitch + blockIdx.x * 32 + i % 40];
    __syncthreads();
    float own[3][3], sum = 0.0f, total = 0.0f;
    #pragma unroll
    for (int j = 0; j < 3; ++j)
        #pragma unroll
        for (int i = 0; i < 3; ++i) own[j][i] = tile[y + 3 + j][x + 3 + i];
    #pragma unroll 1
    for (int v = 0; v < 7; ++v)
        #pragma unroll
        for (int u = 0; u < 7; ++u) {
            float away = 0.0f;
            #pragma unroll
            for (int j = 0; j < 3; ++j)
                #pragma unroll
                for (int i = 0; i < 3; ++i) {
                    const float d = own[j][i] - tile[y + v + j][x + u + i];
                    away += d * d;
                }
            const float weight = __expf(-sharp * away);
            sum += weight * tile[y + v + 1][x + u + 1], total += weight;
        }
    out[(size_t)(blockIdx.y * 8 + y) * width + blockIdx.x * 32 + x] = sum / total;
}

// Counts of local patterns (which of eight neighbours are as bright) of squares of 64 by 64: a block of 1024 threads a square.
KERNEL(1024) local_patterns(const unsigned char *__restrict__ in, unsigned *counts, int pitch) {
    __shared__ unsigned char tile[66 * 68];
    __shared__ unsigned bins[256];
    const int t = threadIdx.x;
    if (t < 256) bins[t] = 0;
    for (int i = t; i < 66 * 66; i += 1024) tile[i / 66 * 68 + i % 66] = in[(size_t)(blockIdx.y * 64 + i / 66) * pitch + blockIdx.x * 64 + i % 66];
    __syncthreads();
    #pragma unroll
    for (int p = 0; p < 4; ++p) {
        const unsigned char *own = tile + (p * 16 + t / 64 + 1) * 68 + t % 64 + 1;
        const int bright = own[0];
        const unsigned pattern = (own[-69] >= bright) | (own[-68] >= bright) << 1 | (own[-67] >= bright) << 2 | (own[1] >= bright) << 3 |
                                 (own[69] >= bright) << 4 | (own[68] >= bright) << 5 | (own[67] >= bright) << 6 | (own[-1] >= bright) << 7;
        atomicAdd(bins + pattern, 1u);
    }
    __syncthreads();
    if (t < 256) counts[(size_t)(blockIdx.y * gridDim.x + blockIdx.x) * 256 + t] = bins[t];
}

// Values over what five channels about them sum to (local response normalization): a thread sixteen channels of a pixel, 64 in all.
KERNEL(512) across_channels(const float *__restrict__ in, float *out, int pixels, float alpha) {
    const size_t at = (size_t)blockIdx.z * 64 * pixels + blockIdx.x * 512 + threadIdx.x;
    const int first = blockIdx.y * 16;
    float values[20], sum = 0.0f;
    #pragma unroll
    for (int c = 0; c < 20; ++c) {
        const int channel = first + c - 2;
        values[c] = channel >= 0 && channel < 64 ? in[at + (size_t)channel * pixels] : 0.0f;
    }
    #pragma unroll
    for (int c = 0; c < 4; ++c) sum += values[c] * values[c];
    #pragma unroll
    for (int c = 0; c < 16; ++c) {
        sum += values[c + 4] * values[c + 4];
        const float root = rsqrtf(2.0f + alpha * sum);
        out[at + (size_t)(first + c) * pixels] = values[c + 2] * root * sqrtf(root);
        sum -= values[c] * values[c];
    }
}

// Cubes that a surface crosses (the first step of marching cubes): their places and cases, those of a block packed one after another.
KERNEL(256) cube_cases(const float *__restrict__ volume, unsigned *packed, int *many, int pitch, int rows, float level) {
    __shared__ int counts[8];
    const int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y, warp = threadIdx.y, lane = threadIdx.x;
    const size_t plane = (size_t)pitch * rows, block = ((size_t)blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
    const float *corner = volume + blockIdx.z * 4 * plane + (size_t)y * pitch + x;
    const auto face = [&](const float *p) { return (p[0] > level) | (p[1] > level) << 1 | (p[pitch + 1] > level) << 2 | (p[pitch] > level) << 3; };
    int below = face(corner), before = 0;
    #pragma unroll 1
    for (int k = 0; k < 4; ++k) {
        const int above = face(corner + (k + 1) * plane), kind = below | above << 4;
        const bool crossed = kind != 0 && kind != 255;
        const unsigned bits = __ballot_sync(ALL, crossed);
        if (lane == 0) counts[warp] = __popc(bits);
        __syncthreads();
        int place = before;
        #pragma unroll
        for (int w = 0; w < 8; ++w) place += w < warp ? counts[w] : 0, before += counts[w];
        if (crossed) packed[block * 1024 + place + __popc(bits & ((1u << lane) - 1u))] = (unsigned)((k * 8 + warp) * 32 + lane) << 8 | (unsigned)kind;
        below = above;
        __syncthreads();
    }
    if (threadIdx.y == 0 && lane == 0) many[block] = before;
}

// Sums of a picture of 512 by 512 along lines at many angles (Radon): a thread a line of 256 samples, each between four pixels.
KERNEL(256) projections(const float *__restrict__ in, float *out, float turn) {
    const int at = blockIdx.x * 256 + threadIdx.x;
    float s, c, sum = 0.0f;
    sincosf(turn * (float)blockIdx.y, &s, &c);
    const float offset = (float)at - 255.5f;
    #pragma unroll 4
    for (int i = 0; i < 256; ++i) {
        const float along = 2.0f * (float)i - 255.5f, x = 255.5f + offset * c - along * s, y = 255.5f + offset * s + along * c;
        const float fx = floorf(x), fy = floorf(y);
        if (fx >= 0.0f && fy >= 0.0f && fx < 511.0f && fy < 511.0f) {
            const float *p = in + (int)fy * 512 + (int)fx, u = x - fx, v = y - fy;
            const float up = __ldg(p) + u * (__ldg(p + 1) - __ldg(p)), down = __ldg(p + 512) + u * (__ldg(p + 513) - __ldg(p + 512));
            sum += up + v * (down - up);
        }
    }
    out[(size_t)blockIdx.y * 512 + at] = sum;
}
