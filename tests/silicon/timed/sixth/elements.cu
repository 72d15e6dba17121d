// The sixth set of timed kernels: maps, gathers and stencils, a thread or a warp for each.
#include <cuda_fp16.h>

extern "C" __global__ void saxpy(const float4 *x, float4 *y, float a, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        const float4 u = x[i], v = y[i];
        y[i] = make_float4(a * u.x + v.x, a * u.y + v.y, a * u.z + v.z, a * u.w + v.w);
    }
}

// SwiGLU: two halves of a row, one gates the other.
extern "C" __global__ void swiglu(const half2 *in, half2 *out, int width) {
    const int row = blockIdx.x;
    for (int k = threadIdx.x; k < width / 2; k += blockDim.x) {
        const float2 g = __half22float2(in[row * width + k]);
        const float2 u = __half22float2(in[row * width + width / 2 + k]);
        out[row * (width / 2) + k] =
            __floats2half2_rn(g.x / (1 + __expf(-g.x)) * u.x, g.y / (1 + __expf(-g.y)) * u.y);
    }
}

extern "C" __global__ void dropout(const float *in, float *out, unsigned seed, float keep) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned h = i * 0x9E3779B9u ^ seed;
    h ^= h >> 16, h *= 0x85EBCA6Bu, h ^= h >> 13, h *= 0xC2B2AE35u, h ^= h >> 16;
    out[i] = (h >> 8) * (1.0f / 16777216) < keep ? in[i] / keep : 0;
}

extern "C" __global__ void batchnorm(const float *in, const float *mean, const float *var,
                                     const float *scale, const float *shift, float *out,
                                     int plane, int channels) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x, c = i / plane % channels;
    out[i] = (in[i] - mean[c]) * rsqrtf(var[c] + 1e-5f) * scale[c] + shift[c];
}

// A row of a table for each index.
extern "C" __global__ void gather_rows(const int *which, const float4 *table, float4 *out,
                                       int rows, int width) {
    const int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    const unsigned from = (unsigned)which[row] % rows;
    for (int k = lane; k < width / 4; k += 32) out[row * (width / 4) + k] = table[from * (width / 4) + k];
}

extern "C" __global__ void scatter_rows(const int *which, const float *in, float *table, int rows,
                                        int width) {
    const int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    const unsigned to = (unsigned)which[row] % rows;
    for (int k = lane; k < width; k += 32) atomicAdd(&table[to * width + k], in[row * width + k]);
}

// One word from anywhere for each thread.
extern "C" __global__ void permuted(const int *which, const float *in, float *out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = in[(unsigned)which[i] % n];
}

extern "C" __global__ void heat(const float *in, float *out, int nx, int ny) {
    const int x = blockIdx.x * 32 + threadIdx.x + 1, y = blockIdx.y * 8 + threadIdx.y + 1;
    const int row = nx + 2, i = y * row + x;
    const float c = in[i];
    out[i] = c + 0.1f * (in[i - 1] + in[i + 1] + in[i - row] + in[i + row] - 4 * c);
}

extern "C" __global__ void seven_points(const float *in, float *out, int nx, int ny, int nz) {
    const int x = blockIdx.x * 64 + threadIdx.x, y = blockIdx.y * 4 + threadIdx.y;
    if (x < 1 || x >= nx - 1 || y < 1 || y >= ny - 1) return;
    const int plane = nx * ny;
    float below = in[y * nx + x], here = in[plane + y * nx + x];
    for (int z = 1; z < nz - 1; ++z) {
        const int i = z * plane + y * nx + x;
        const float above = in[i + plane];
        out[i] = 0.4f * here + 0.1f * (below + above + in[i - 1] + in[i + 1] + in[i - nx] + in[i + nx]);
        below = here, here = above;
    }
}

__constant__ float taps[49] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17};
extern "C" __global__ void seven_by_seven(const float *in, float *out, int size) {
    const int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
    const int row = size + 6;
    float sum = 0;
#pragma unroll
    for (int dy = 0; dy < 7; ++dy)
#pragma unroll
        for (int dx = 0; dx < 7; ++dx) sum += taps[dy * 7 + dx] * in[(y + dy) * row + x + dx];
    out[y * size + x] = sum;
}

// Weights of the nearest four pixels, at places that lanes compute.
extern "C" __global__ void rotated(const float *in, float *out, int size, float c, float s) {
    const int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
    const float h = size * 0.5f, u = c * (x - h) - s * (y - h) + h, v = s * (x - h) + c * (y - h) + h;
    const int i = (int)floorf(u), j = (int)floorf(v);
    float value = 0;
    if (i >= 0 && j >= 0 && i < size - 1 && j < size - 1) {
        const float a = u - i, b = v - j;
        const float *p = in + j * size + i;
        value = (p[0] * (1 - a) + p[1] * a) * (1 - b) + (p[size] * (1 - a) + p[size + 1] * a) * b;
    }
    out[y * size + x] = value;
}

// Absolute maximum of a row, then bytes: a warp a row.
extern "C" __global__ void quantized(const float4 *in, int *out, float *scales, int n) {
    const int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    float4 v[4];
    float most = 0;
    for (int k = 0; k < 4; ++k) {
        v[k] = in[row * (n / 4) + k * 32 + lane];
        most = fmaxf(most, fmaxf(fmaxf(fabsf(v[k].x), fabsf(v[k].y)), fmaxf(fabsf(v[k].z), fabsf(v[k].w))));
    }
    for (int d = 16; d; d /= 2) most = fmaxf(most, __shfl_xor_sync(~0u, most, d));
    const float by = 127 / most;
    for (int k = 0; k < 4; ++k)
        out[row * (n / 4) + k * 32 + lane] =
            __float2int_rn(v[k].x * by) & 255 | (__float2int_rn(v[k].y * by) & 255) << 8 |
            (__float2int_rn(v[k].z * by) & 255) << 16 | (__float2int_rn(v[k].w * by) & 255) << 24;
    if (lane == 0) scales[row] = most / 127;
}

// Open addressing: where each key is in a table that is half full.
extern "C" __global__ void looked_up(const unsigned *keys, const unsigned *table, int *out, int mask) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const unsigned key = keys[i] & 0xFFFFFF;
    unsigned at = key * 2654435761u >> 8 & mask;
    int turns = 0;
    while ((table[at] & 0xFFFFFF) != key && ++turns < 6) at = at + 1 & mask;
    out[i] = turns;
}

extern "C" __global__ void csr_rows(const int *starts, const int *columns, const float *values,
                                    const float *x, float *y, int n) {
    const int row = blockIdx.x * blockDim.x + threadIdx.x;
    const int each = 8 + (row * 7 & 15);
    float sum = 0;
    for (int k = 0; k < each; ++k)
        sum += values[row * 24 + k] * x[(unsigned)columns[row * 24 + k] % n];
    y[row] = sum + starts[row];
}
