// An element or a few per thread: streams, strides, bytes, halves, long chains of arithmetic.
#include <cuda_fp16.h>

extern "C" __global__ void triad(const float4 *a, const float4 *b, float4 *c, float s) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const float4 x = a[i], y = b[i];
    c[i] = make_float4(x.x + s * y.x, x.y + s * y.y, x.z + s * y.z, x.w + s * y.w);
}

// Begins a word late: each warp's loads touch a sector more.
extern "C" __global__ void shifted(const float *in, float *out, int by, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        out[i] = in[i + by] * 2.0f;
}

extern "C" __global__ void strided(const float *in, float *out, int stride) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = in[i * stride] + 1.0f;
}

extern "C" __global__ void gelu(const half2 *in, half2 *out) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    float2 v = __half22float2(in[i]);
    v.x = 0.5f * v.x * (1.0f + tanhf(0.7978845608f * (v.x + 0.044715f * v.x * v.x * v.x)));
    v.y = 0.5f * v.y * (1.0f + tanhf(0.7978845608f * (v.y + 0.044715f * v.y * v.y * v.y)));
    out[i] = __float22half2_rn(v);
}

extern "C" __global__ void gray(const unsigned char *rgb, unsigned char *out, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        out[i] = (77 * rgb[3 * i] + 151 * rgb[3 * i + 1] + 28 * rgb[3 * i + 2]) >> 8;
}

extern "C" __global__ void quotients(const unsigned *in, const unsigned *by, unsigned *out, int turns) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned x = in[i] | 1u, d = by[i] & 0xFFFF | 3u, sum = 0;
    for (int k = 0; k < turns; ++k) {
        sum += x / d + x % (d + k);
        x = x * 1664525u + 1013904223u;
    }
    out[i] = sum;
}

// Walks of different lengths: lanes of a warp leave the loop one by one.
extern "C" __global__ void collatz(int *out, int first) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned long long x = first + i;
    int steps = 0;
    while (x > 1 && steps < 400) {
        x = x & 1 ? 3 * x + 1 : x >> 1;
        ++steps;
    }
    out[i] = steps;
}

// An array that is indexed while the kernel runs: it lies in local memory.
extern "C" __global__ void locals(const int *in, int *out, int turns) {
    int box[32];
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    for (int k = 0; k < 32; ++k) box[k] = k * i;
    int at = in[i] & 31, sum = 0;
    for (int k = 0; k < turns; ++k) {
        sum += box[at];
        box[(at + k) & 31] = sum;
        at = (at * 5 + sum) & 31;
    }
    out[i] = sum;
}

__constant__ float table[1024];
extern "C" __global__ void filters(const float *in, float *out, int taps) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0;
    for (int k = 0; k < taps; ++k) sum += table[k] * in[i + k];
    out[i] = sum;
}

extern "C" __global__ void pi(unsigned *out, int turns) {
    unsigned x = blockIdx.x * blockDim.x + threadIdx.x + 1, inside = 0;
    for (int k = 0; k < turns; ++k) {
        x ^= x << 13, x ^= x >> 17, x ^= x << 5;
        const float a = (x & 0xFFFF) * (1.0f / 65536), b = (x >> 16) * (1.0f / 65536);
        inside += a * a + b * b < 1.0f;
    }
    out[blockIdx.x * blockDim.x + threadIdx.x] = inside;
}

extern "C" __global__ void angles(const double *in, double *out, int turns) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    double x = in[i], y = 1.0;
    for (int k = 0; k < turns; ++k) {
        y = y * 0.99 + x / (y * y + 1.5);
        x = sqrt(x * x + y);
    }
    out[i] = y;
}
