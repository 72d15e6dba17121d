// Kernels of the ninth set that no layout of shared memory decides.
#include <cuda_fp16.h>

__constant__ float gauss[25] = {
    1, 4, 6, 4, 1, 4, 16, 24, 16, 4, 6, 24, 36, 24, 6, 4, 16, 24, 16, 4, 1, 4, 6, 4, 1};
__constant__ float taps[33] = {
    .01f, .01f, .02f, .02f, .02f, .03f, .03f, .03f, .03f, .04f, .04f, .04f, .04f, .04f, .05f, .05f, .05f,
    .05f, .05f, .04f, .04f, .04f, .04f, .04f, .03f, .03f, .03f, .03f, .02f, .02f, .02f, .01f, .01f};
#define LINE(n) n, n + 3, n + 1, n + 7, n + 2, n + 5, n + 11, n + 4
__constant__ int curve[256] = {
    LINE(0), LINE(4), LINE(9), LINE(13), LINE(20), LINE(27), LINE(31), LINE(38),
    LINE(44), LINE(50), LINE(57), LINE(62), LINE(69), LINE(75), LINE(80), LINE(86),
    LINE(92), LINE(99), LINE(104), LINE(111), LINE(117), LINE(123), LINE(129), LINE(136),
    LINE(142), LINE(148), LINE(155), LINE(161), LINE(168), LINE(173), LINE(180), LINE(187)};
__constant__ float wave[64] = {
    LINE(0.f), LINE(2.f), LINE(3.f), LINE(5.f), LINE(7.f), LINE(11.f), LINE(13.f), LINE(17.f)};

// A picture made sharper: less its blur by a table of weights.
extern "C" __global__ void unsharp(const float *in, float *out, int width) {
    const int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
    float sum = 0;
    for (int dy = 0; dy < 5; ++dy)
        for (int dx = 0; dx < 5; ++dx) sum += gauss[dy * 5 + dx] * in[(y + dy) * (width + 4) + x + dx];
    const float here = in[(y + 2) * (width + 4) + x + 2];
    out[y * width + x] = here + 0.7f * (here - sum * (1 / 256.f));
}

// A filter of 33 taps along rows, four results a thread.
extern "C" __global__ void along(const float *in, float *out) {
    const int i = (blockIdx.x * 256 + threadIdx.x) * 4;
    float sum[4] = {};
    float v[36];
    for (int k = 0; k < 36; k += 4) *(float4 *)(v + k) = *(const float4 *)(in + i + k);
    for (int k = 0; k < 33; ++k)
        for (int j = 0; j < 4; ++j) sum[j] += taps[k] * v[k + j];
    *(float4 *)(out + i) = {sum[0], sum[1], sum[2], sum[3]};
}

// Bytes of a picture through a curve in constant memory.
extern "C" __global__ void toned(const uchar4 *in, uchar4 *out) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const uchar4 v = in[i];
    out[i] = {(unsigned char)curve[v.x], (unsigned char)curve[v.y], (unsigned char)curve[v.z], v.w};
}

// Sixteen samples of an oscillator, from a table in constant memory.
extern "C" __global__ void voices(const unsigned *in, float *out) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned phase = in[i];
    const unsigned step = (phase >> 8) | 1;
    float sum = 0;
    for (int k = 0; k < 16; ++k, phase += step) sum = sum * 0.5f + wave[phase >> 26];
    out[i] = sum;
}

// Which neighbours are darker, as bits: pictures of a stereo pair are compared so.
extern "C" __global__ void census(const float *in, unsigned *out, int width) {
    const int x = blockIdx.x * 64 + threadIdx.x, y = blockIdx.y * 4 + threadIdx.y;
    const float here = in[(y + 2) * (width + 8) + x + 2];
    unsigned bits = 0;
    #pragma unroll
    for (int dy = 0; dy < 5; ++dy)
        #pragma unroll
        for (int dx = 0; dx < 5; ++dx) bits = bits << 1 | (in[(y + dy) * (width + 8) + x + dx] < here);
    out[y * width + x] = bits;
}

// How much of a corner each pixel is: products of gradients over a window, in shared memory.
extern "C" __global__ void corners(const float *in, float *out, int width) {
    __shared__ float tile[20][36];
    const int x = blockIdx.x * 32, y = blockIdx.y * 16, pitch = width + 8;
    for (int k = threadIdx.y * 32 + threadIdx.x; k < 20 * 36; k += 256)
        tile[k / 36][k % 36] = in[(y + k / 36) * pitch + x + k % 36];
    __syncthreads();
    for (int j = threadIdx.y; j < 16; j += 8) {
        float xx = 0, xy = 0, yy = 0;
        #pragma unroll
        for (int dy = 1; dy < 4; ++dy)
            #pragma unroll
            for (int dx = 1; dx < 4; ++dx) {
                const int a = j + dy, b = threadIdx.x + dx;
                const float u = tile[a][b + 1] - tile[a][b - 1], v = tile[a + 1][b] - tile[a - 1][b];
                xx += u * u, xy += u * v, yy += v * v;
            }
        out[(y + j) * width + x + threadIdx.x] = xx * yy - xy * xy - 0.05f * (xx + yy) * (xx + yy);
    }
}

// Keys looked up in a table by open addressing, at most eight places.
extern "C" __global__ void probed(const unsigned *keys, const uint2 *table, unsigned *out, unsigned mask) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const unsigned key = keys[i] & 0xFFFF;
    unsigned at = key * 2654435761u >> 8 & mask, found = 0;
    for (int k = 0; k < 8; ++k, at = at + 1 & mask) {
        const uint2 there = table[at];
        if ((there.x & 0xFFFF) == key) { found = there.y; break; }
        if ((there.x & 3) == 0) break;
    }
    out[i] = found;
}

// How often each of 1024 values comes, block by block.
extern "C" __global__ void tallied(const uint4 *in, unsigned *out) {
    __shared__ unsigned bins[1024];
    for (int k = threadIdx.x; k < 1024; k += 256) bins[k] = 0;
    __syncthreads();
    for (int k = 0; k < 4; ++k) {
        const uint4 v = in[(blockIdx.x * 4 + k) * 256 + threadIdx.x];
        const unsigned words[4] = {v.x, v.y, v.z, v.w};
        for (int j = 0; j < 4; ++j) {
            atomicAdd(bins + (words[j] & 1023), 1u);
            atomicAdd(bins + (words[j] >> 16 & 1023), 1u);
        }
    }
    __syncthreads();
    for (int k = threadIdx.x; k < 1024; k += 256) out[blockIdx.x * 1024 + k] = bins[k];
}

// A star of thirteen points in space.
extern "C" __global__ void star(const float *in, float *out, int width, int height) {
    const int x = blockIdx.x * 64 + threadIdx.x + 2, y = blockIdx.y * 4 + threadIdx.y + 2, z = blockIdx.z + 2;
    const int pitch = width + 4, plane = pitch * (height + 4), i = z * plane + y * pitch + x;
    float sum = -6 * in[i];
    sum += in[i - 1] + in[i + 1] + in[i - pitch] + in[i + pitch] + in[i - plane] + in[i + plane];
    sum += 0.1f * (in[i - 2] + in[i + 2] + in[i - 2 * pitch] + in[i + 2 * pitch] + in[i - 2 * plane] + in[i + 2 * plane]);
    out[i] = in[i] + 0.1f * sum;
}

// The gradient of a softmax, a warp to a row of 1024.
extern "C" __global__ void softmax_gradient(const float *y, const float *dy, float *dx) {
    const size_t row = (size_t)(blockIdx.x * 8 + threadIdx.x / 32) * 1024;
    const int lane = threadIdx.x % 32;
    float4 a[8], b[8];
    float sum = 0;
    for (int k = 0; k < 8; ++k) {
        a[k] = *(const float4 *)(y + row + (k * 32 + lane) * 4);
        b[k] = *(const float4 *)(dy + row + (k * 32 + lane) * 4);
        sum += a[k].x * b[k].x + a[k].y * b[k].y + a[k].z * b[k].z + a[k].w * b[k].w;
    }
    for (int k = 16; k; k /= 2) sum += __shfl_xor_sync(~0u, sum, k);
    for (int k = 0; k < 8; ++k) {
        const float4 v = {a[k].x * (b[k].x - sum), a[k].y * (b[k].y - sum), a[k].z * (b[k].z - sum), a[k].w * (b[k].w - sum)};
        *(float4 *)(dx + row + (k * 32 + lane) * 4) = v;
    }
}

// Rows of 2048 brought to mean 0 and deviation 1, a block to each, read twice.
extern "C" __global__ void standardized(const float *in, float *out) {
    __shared__ float parts[2][8];
    const float *row = in + (size_t)blockIdx.x * 2048;
    float sum = 0, squares = 0;
    for (int k = threadIdx.x; k < 2048; k += 256) sum += row[k], squares += row[k] * row[k];
    for (int k = 16; k; k /= 2) {
        sum += __shfl_xor_sync(~0u, sum, k);
        squares += __shfl_xor_sync(~0u, squares, k);
    }
    if (threadIdx.x % 32 == 0) parts[0][threadIdx.x / 32] = sum, parts[1][threadIdx.x / 32] = squares;
    __syncthreads();
    sum = squares = 0;
    for (int k = 0; k < 8; ++k) sum += parts[0][k], squares += parts[1][k];
    const float mean = sum / 2048, by = rsqrtf(squares / 2048 - mean * mean + 1e-5f);
    for (int k = threadIdx.x; k < 2048; k += 256) out[(size_t)blockIdx.x * 2048 + k] = (row[k] - mean) * by;
}

// Logarithms of the softmax of 32 classes, a thread to a row.
extern "C" __global__ void few_classes(const float4 *in, float4 *out) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    float4 v[8];
    float most = -1e30f, sum = 0;
    for (int k = 0; k < 8; ++k) v[k] = in[i * 8 + k], most = fmaxf(most, fmaxf(fmaxf(v[k].x, v[k].y), fmaxf(v[k].z, v[k].w)));
    for (int k = 0; k < 8; ++k) sum += __expf(v[k].x - most) + __expf(v[k].y - most) + __expf(v[k].z - most) + __expf(v[k].w - most);
    const float less = most + __logf(sum);
    for (int k = 0; k < 8; ++k) out[i * 8 + k] = {v[k].x - less, v[k].y - less, v[k].z - less, v[k].w - less};
}

// Differences in bytes become values: a prefix sum over a block's 4096.
extern "C" __global__ void undone(const uint4 *in, int4 *out) {
    __shared__ int parts[8];
    const uint4 v = in[blockIdx.x * 256 + threadIdx.x];
    const unsigned words[4] = {v.x, v.y, v.z, v.w};
    int value[16], sum = 0;
    for (int k = 0; k < 16; ++k) value[k] = sum += (int)(words[k / 4] >> k % 4 * 8 & 255) - 128;
    int all = sum;
    for (int k = 1; k < 32; k *= 2) {
        const int before = __shfl_up_sync(~0u, all, k);
        if (threadIdx.x % 32 >= k) all += before;
    }
    if (threadIdx.x % 32 == 31) parts[threadIdx.x / 32] = all;
    __syncthreads();
    int base = all - sum;
    for (int k = 0; k < threadIdx.x / 32; ++k) base += parts[k];
    for (int k = 0; k < 4; ++k)
        out[(blockIdx.x * 256 + threadIdx.x) * 4 + k] =
            make_int4(base + value[4 * k], base + value[4 * k + 1], base + value[4 * k + 2], base + value[4 * k + 3]);
}

// Each warp sorts 32 keys by exchanges between its lanes, four times.
extern "C" __global__ void warp_sorted(const unsigned *in, unsigned *out) {
    const int lane = threadIdx.x % 32;
    for (int turn = 0; turn < 4; ++turn) {
        const int i = (blockIdx.x * 4 + turn) * blockDim.x + threadIdx.x;
        unsigned key = in[i];
        for (int size = 2; size <= 32; size *= 2)
            for (int apart = size / 2; apart; apart /= 2) {
                const unsigned other = __shfl_xor_sync(~0u, key, apart);
                const bool up = (lane & size) == 0 || size == 32, low = (lane & apart) == 0;
                key = up == low ? min(key, other) : max(key, other);
            }
        out[i] = key;
    }
}

// Rays go on by how far they are from a field of balls, until they hit one or leave.
extern "C" __global__ void marched(float *out, int width) {
    const int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
    const float u = x * (2.f / 1024) - 1, v = y * (2.f / 1056) - 1, by = rsqrtf(u * u + v * v + 1);
    float far = 0;
    int k = 0;
    for (; k < 96 && far < 20; ++k) {
        const float a = u * by * far, b = v * by * far - 0.2f, c = by * far - 3;
        const float p = a - 2 * rintf(a * 0.5f), q = c - 2 * rintf(c * 0.5f);
        const float away = fminf(sqrtf(p * p + b * b + q * q) - 0.6f, 1.5f + b);
        if (away < 0.002f) break;
        far += away * 0.7f;
    }
    out[y * width + x] = far + k;
}

// Weights of four bits by groups of 32, times halves: a warp to a row.
extern "C" __global__ void grouped(const uint4 *weights, const __half2 *scales, const __half2 *x, float *out) {
    const int row = blockIdx.x * 4 + threadIdx.x / 32, lane = threadIdx.x % 32;
    float sum = 0;
    for (int k = lane; k < 128; k += 32) {
        const uint4 w = weights[row * 128 + k];
        const float2 scale = __half22float2(scales[row * 128 + k]);
        const unsigned words[4] = {w.x, w.y, w.z, w.w};
        float part = 0;
        for (int j = 0; j < 4; ++j)
            for (int b = 0; b < 4; ++b) {
                const float2 v = __half22float2(x[k * 16 + j * 4 + b]);
                part += (float)(words[j] >> 8 * b & 15) * v.x + (float)(words[j] >> 8 * b + 4 & 15) * v.y;
            }
        sum += part * scale.x + scale.y;
    }
    for (int k = 16; k; k /= 2) sum += __shfl_xor_sync(~0u, sum, k);
    if (lane == 0) out[row] = sum;
}
