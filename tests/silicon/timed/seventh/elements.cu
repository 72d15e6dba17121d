// The seventh set of timed kernels: elements, pictures, look-ups and rows.
#include <cuda_fp16.h>

extern "C" __global__ void mish(const __half2 *in, __half2 *out, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        const float2 v = __half22float2(in[i]);
        out[i] = __floats2half2_rn(v.x * tanhf(log1pf(__expf(v.x))), v.y * tanhf(log1pf(__expf(v.y))));
    }
}

extern "C" __global__ void dequantized(const char4 *in, const float *scale, float4 *out, int columns) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x, c = i * 4 % columns;
    const char4 v = in[i];
    out[i] = make_float4(v.x * scale[c], v.y * scale[c + 1], v.z * scale[c + 2], v.w * scale[c + 3]);
}

extern "C" __global__ void chosen(const unsigned char *mask, const float *a, const float *b, float *out) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = mask[i] & 1 ? a[i] : b[i];
}

extern "C" __global__ void errors(const float *in, float *out) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    float v = in[i];
    for (int k = 0; k < 8; ++k) v = erff(v + 0.1f * k);
    out[i] = v;
}

// Straight lines between the points of a table.
extern "C" __global__ void interpolated(const float *in, const float *table, float *out, int points) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const float x = fabsf(in[i]) * (points - 2);
    const int k = min(max((int)x, 0), points - 2);
    out[i] = table[k] + (x - k) * (table[k + 1] - table[k]);
}

// Each thread's own 64 bytes, by a table in shared memory.
extern "C" __global__ void crc32(const uint4 *in, unsigned *out) {
    __shared__ unsigned table[256];
    unsigned c = threadIdx.x;
    for (int k = 0; k < 8; ++k) c = c & 1 ? 0xEDB88320u ^ c >> 1 : c >> 1;
    table[threadIdx.x] = c;
    __syncthreads();
    const int i = blockIdx.x * 256 + threadIdx.x;
    unsigned crc = ~0u;
    for (int part = 0; part < 4; ++part) {
        const uint4 v = in[i * 4 + part];
        const unsigned words[4] = {v.x, v.y, v.z, v.w};
        for (int w = 0; w < 4; ++w)
            for (int b = 0; b < 32; b += 8) crc = table[(crc ^ words[w] >> b) & 255] ^ crc >> 8;
    }
    out[i] = ~crc;
}

extern "C" __global__ void luma(const uchar4 *in, unsigned char *y, unsigned char *u, unsigned char *v) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const uchar4 p = in[i];
    y[i] = 0.299f * p.x + 0.587f * p.y + 0.114f * p.z;
    u[i] = 128 - 0.169f * p.x - 0.331f * p.y + 0.5f * p.z;
    v[i] = 128 + 0.5f * p.x - 0.419f * p.y - 0.081f * p.z;
}

__device__ __forceinline__ void order(float &a, float &b) {
    const float least = fminf(a, b);
    b = fmaxf(a, b), a = least;
}

// The median of three by three, by a tile with a margin.
extern "C" __global__ void median(const float *in, float *out, int pitch, int width) {
    __shared__ float tile[10][34];
    const int x0 = blockIdx.x * 32, y0 = blockIdx.y * 8;
    for (int k = threadIdx.y * 32 + threadIdx.x; k < 340; k += 256)
        tile[k / 34][k % 34] = in[(y0 + k / 34) * pitch + x0 + k % 34];
    __syncthreads();
    float p[9];
    for (int k = 0; k < 9; ++k) p[k] = tile[threadIdx.y + k / 3][threadIdx.x + k % 3];
    for (int end = 8; end >= 4; --end)
        for (int k = 0; k < end; ++k) order(p[k], p[k + 1]);
    out[(y0 + threadIdx.y) * width + x0 + threadIdx.x] = p[4];
}

// The least of five by five, along rows and then along columns.
extern "C" __global__ void eroded(const float *in, float *out, int pitch, int width) {
    __shared__ float tile[20][68], rows[20][64];
    const int x0 = blockIdx.x * 64, y0 = blockIdx.y * 16;
    for (int k = threadIdx.x; k < 20 * 68; k += 256) tile[k / 68][k % 68] = in[(y0 + k / 68) * pitch + x0 + k % 68];
    __syncthreads();
    for (int k = threadIdx.x; k < 20 * 64; k += 256) {
        float least = tile[k / 64][k % 64];
        for (int d = 1; d < 5; ++d) least = fminf(least, tile[k / 64][k % 64 + d]);
        rows[k / 64][k % 64] = least;
    }
    __syncthreads();
    for (int k = threadIdx.x; k < 16 * 64; k += 256) {
        float least = rows[k / 64][k % 64];
        for (int d = 1; d < 5; ++d) least = fminf(least, rows[k / 64 + d][k % 64]);
        out[(y0 + k / 64) * width + x0 + k % 64] = least;
    }
}

// What flows here comes from up to eight cells away.
extern "C" __global__ void advected(const float *field, const float2 *speed, float *out, int width) {
    const int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
    const float2 v = speed[y * width + x];
    const float fx = x - 8 * v.x, fy = y - 8 * v.y;
    const int ix = min(max((int)floorf(fx), 0), width - 2), iy = min(max((int)floorf(fy), 0), width - 2);
    const float a = fx - ix, b = fy - iy;
    const float *at = field + iy * width + ix;
    out[y * width + x] = (1 - b) * ((1 - a) * at[0] + a * at[1]) + b * ((1 - a) * at[width] + a * at[width + 1]);
}

__device__ __forceinline__ float sum_of_warp(float v) {
    for (int d = 16; d; d /= 2) v += __shfl_xor_sync(~0u, v, d);
    return v;
}

// A warp makes a row of 768 one long.
extern "C" __global__ void unit_rows(const float4 *in, float4 *out) {
    const int row = blockIdx.x * 8 + threadIdx.x / 32, lane = threadIdx.x % 32;
    float4 v[6];
    float sum = 0;
    for (int k = 0; k < 6; ++k) {
        v[k] = in[row * 192 + k * 32 + lane];
        sum += v[k].x * v[k].x + v[k].y * v[k].y + v[k].z * v[k].z + v[k].w * v[k].w;
    }
    const float by = rsqrtf(sum_of_warp(sum) + 1e-12f);
    for (int k = 0; k < 6; ++k)
        out[row * 192 + k * 32 + lane] = make_float4(v[k].x * by, v[k].y * by, v[k].z * by, v[k].w * by);
}

// How far two distributions of 1000 are apart.
extern "C" __global__ void divergences(const float *p, const float *q, float *out) {
    __shared__ float parts[4];
    float sum = 0;
    for (int k = threadIdx.x; k < 1000; k += 128) {
        const float a = fabsf(p[blockIdx.x * 1000 + k]) + 1e-3f, b = fabsf(q[blockIdx.x * 1000 + k]) + 1e-3f;
        sum += a * __logf(a / b);
    }
    sum = sum_of_warp(sum);
    if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x == 0) out[blockIdx.x] = parts[0] + parts[1] + parts[2] + parts[3];
}

// Products of all before, a warp a row of 256.
extern "C" __global__ void grown(const float *in, float *out) {
    const int row = blockIdx.x * 4 + threadIdx.x / 32, lane = threadIdx.x % 32;
    float carry = 1;
    for (int k = 0; k < 8; ++k) {
        float v = 1.0f + 0.01f * in[row * 256 + k * 32 + lane];
        for (int d = 1; d < 32; d *= 2) {
            const float other = __shfl_up_sync(~0u, v, d);
            if (lane >= d) v *= other;
        }
        out[row * 256 + k * 32 + lane] = v *= carry;
        carry = __shfl_sync(~0u, v, 31);
    }
}

// The largest of the sixteen before each, by doubling.
extern "C" __global__ void windows(const float *in, float *out) {
    __shared__ float kept[2][528];
    const int begin = blockIdx.x * 512;
    for (int k = threadIdx.x; k < 528; k += 256) kept[0][k] = in[begin + k];
    int from = 0;
    for (int d = 1; d < 16; d *= 2, from ^= 1) {
        __syncthreads();
        for (int k = threadIdx.x; k < 528; k += 256)
            kept[from ^ 1][k] = k >= d ? fmaxf(kept[from][k], kept[from][k - d]) : kept[from][k];
    }
    __syncthreads();
    for (int k = threadIdx.x; k < 512; k += 256) out[begin + k] = kept[from][k + 16];
}

// How often two values of 32 meet.
extern "C" __global__ void joint(const unsigned *a, const unsigned *b, unsigned *out, int each) {
    __shared__ unsigned bins[1024];
    for (int k = threadIdx.x; k < 1024; k += 256) bins[k] = 0;
    __syncthreads();
    for (int k = 0; k < each; ++k) {
        const int i = (blockIdx.x * each + k) * 256 + threadIdx.x;
        atomicAdd(&bins[(a[i] & 31) * 32 + (b[i] & 31)], 1);
    }
    __syncthreads();
    for (int k = threadIdx.x; k < 1024; k += 256) out[blockIdx.x * 1024 + k] = bins[k];
}

// The largest of each of 4096 groups.
extern "C" __global__ void group_maxima(const unsigned *key, const int *value, int *out) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    atomicMax(&out[key[i] & 4095], value[i]);
}

// Each key's place among 256: how many are smaller.
extern "C" __global__ void rank_sorted(const unsigned *in, unsigned *out) {
    __shared__ unsigned keys[256];
    const unsigned mine = in[blockIdx.x * 256 + threadIdx.x];
    keys[threadIdx.x] = mine;
    __syncthreads();
    int rank = 0;
    for (int k = 0; k < 256; ++k) rank += keys[k] < mine || (keys[k] == mine && k < threadIdx.x);
    out[blockIdx.x * 256 + rank] = mine;
}

// The nearest of 64 centres in eight dimensions.
extern "C" __global__ void nearest_centres(const float4 *points, const float *centres, int *out) {
    __shared__ float4 kept[128];
    if (threadIdx.x < 128) kept[threadIdx.x] = ((const float4 *)centres)[threadIdx.x];
    __syncthreads();
    const int i = blockIdx.x * 256 + threadIdx.x;
    const float4 a = points[2 * i], b = points[2 * i + 1];
    float least = 1e30f;
    int which = 0;
    for (int k = 0; k < 64; ++k) {
        const float4 c = kept[2 * k], d = kept[2 * k + 1];
        float sum = (a.x - c.x) * (a.x - c.x) + (a.y - c.y) * (a.y - c.y);
        sum += (a.z - c.z) * (a.z - c.z) + (a.w - c.w) * (a.w - c.w);
        sum += (b.x - d.x) * (b.x - d.x) + (b.y - d.y) * (b.y - d.y);
        sum += (b.z - d.z) * (b.z - d.z) + (b.w - d.w) * (b.w - d.w);
        if (sum < least) least = sum, which = k;
    }
    out[i] = which;
}

// The likeliest way through 32 states, a warp each.
extern "C" __global__ void viterbi(const float *seen, const float *steps, float *out, int length) {
    const int row = blockIdx.x * 4 + threadIdx.x / 32, lane = threadIdx.x % 32;
    float to[32];
    for (int k = 0; k < 32; ++k) to[k] = steps[k * 32 + lane];
    float score = 0;
    for (int t = 0; t < length; ++t) {
        float best = -1e30f;
        for (int k = 0; k < 32; ++k) best = fmaxf(best, __shfl_sync(~0u, score, k) + to[k]);
        score = best + seen[(row * length + t) * 32 + lane];
    }
    out[row * 32 + lane] = score;
}
