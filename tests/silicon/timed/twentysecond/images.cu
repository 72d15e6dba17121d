// Kernels of the twenty-second set over pictures: tones made even, noise taken away by what looks alike, sums along rows.
#include <cuda_runtime.h>

#define KERNEL(THREADS) extern "C" __global__ void __launch_bounds__(THREADS)
#define ALL 0xffffffffu

// Tones made even by how many pixels are darker: each block sums the counts of 256 tones up, makes a table of bytes in shared memory, and takes
// pixels, sixteen at a time, through it.
KERNEL(512) even_tones(const unsigned *__restrict__ tones, const uint4 *__restrict__ from, uint4 *to, int count) {
    __shared__ unsigned sums[256];
    __shared__ unsigned char table[256];
    const int t = threadIdx.x;
    if (t < 256) sums[t] = tones[t] >> 12;
    __syncthreads();
    for (int offset = 1; offset < 256; offset <<= 1) {
        const unsigned other = t < 256 && t >= offset ? sums[t - offset] : 0;
        __syncthreads();
        if (t < 256) sums[t] += other;
        __syncthreads();
    }
    if (t < 256) table[t] = (unsigned char)(255.0f * (float)sums[t] / (float)(sums[255] + 1));
    __syncthreads();
    const auto four = [&](unsigned v) {
        return table[v & 255] | (unsigned)table[v >> 8 & 255] << 8 | (unsigned)table[v >> 16 & 255] << 16 | (unsigned)table[v >> 24] << 24;
    };
    for (int i = blockIdx.x * 512 + t; i < count; i += gridDim.x * 512) {
        const uint4 v = from[i];
        to[i] = make_uint4(four(v.x), four(v.y), four(v.z), four(v.w));
    }
}

// Noise is taken away by means over seven by seven pixels, weighed by how much the three by three around each look alike: a tile of 40 by 16
// for 32 by 8 pixels.
KERNEL(256) looks_alike(const float *__restrict__ from, float *to, int width, float by) {
    __shared__ float tile[16][40];
    const int tx = threadIdx.x, ty = threadIdx.y, pitch = width + 8;
    const float *own = from + (size_t)blockIdx.y * 8 * pitch + blockIdx.x * 32;
    for (int i = ty * 32 + tx; i < 640; i += 256) tile[i / 40][i % 40] = own[(size_t)(i / 40) * pitch + i % 40];
    __syncthreads();
    float patch[9], sum = 0.0f, total = 0.0f;
    #pragma unroll
    for (int i = 0; i < 9; ++i) patch[i] = tile[ty + 3 + i / 3][tx + 3 + i % 3];
    for (int dy = 0; dy < 7; ++dy)
        #pragma unroll
        for (int dx = 0; dx < 7; ++dx) {
            float far = 0.0f;
            #pragma unroll
            for (int i = 0; i < 9; ++i) {
                const float d = tile[ty + dy + i / 3][tx + dx + i % 3] - patch[i];
                far += d * d;
            }
            const float weight = __expf(-far * by);
            sum += weight * tile[ty + dy + 1][tx + dx + 1], total += weight;
        }
    to[(size_t)(blockIdx.y * 8 + ty) * width + blockIdx.x * 32 + tx] = sum / total;
}

// Sums along rows of 4096 bytes, as pictures of sums begin with: a block a row, sixteen bytes a thread, by shuffles.
KERNEL(256) sums_along(const uint4 *__restrict__ from, uint4 *to) {
    __shared__ unsigned held[8];
    const int t = threadIdx.x, lane = t % 32, warp = t / 32;
    const uint4 given = from[(size_t)blockIdx.x * 256 + t];
    const unsigned words[4] = {given.x, given.y, given.z, given.w};
    unsigned v[16], sum = 0;
    #pragma unroll
    for (int i = 0; i < 16; ++i) v[i] = sum += words[i / 4] >> (i % 4 * 8) & 255;
    unsigned all = sum;
    #pragma unroll
    for (int offset = 1; offset < 32; offset <<= 1) {
        const unsigned other = __shfl_up_sync(ALL, all, offset);
        if (lane >= offset) all += other;
    }
    if (lane == 31) held[warp] = all;
    __syncthreads();
    unsigned base = all - sum;
    #pragma unroll
    for (int w = 0; w < 7; ++w) base += w < warp ? held[w] : 0;
    #pragma unroll
    for (int i = 0; i < 4; ++i) to[((size_t)blockIdx.x * 256 + t) * 4 + i] = make_uint4(base + v[i * 4], base + v[i * 4 + 1], base + v[i * 4 + 2], base + v[i * 4 + 3]);
}
