// The fifth set of timed kernels: images, lists and weights, a thread or a warp for each.
#include <cuda_fp16.h>

extern "C" __global__ void bias_gelu(const float4 *in, const float4 *bias, float4 *out, int columns) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const float4 x = in[i], b = bias[i % (columns / 4)];
    float v[4] = {x.x + b.x, x.y + b.y, x.z + b.z, x.w + b.w};
    for (int k = 0; k < 4; ++k)
        v[k] = 0.5f * v[k] * (1 + tanhf(0.79788456f * (v[k] + 0.044715f * v[k] * v[k] * v[k])));
    out[i] = make_float4(v[0], v[1], v[2], v[3]);
}

// Rotary positions: a warp takes the 64 pairs of a head.
extern "C" __global__ void rope(const float2 *in, float2 *out, int heads) {
    const int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    const int position = row / heads;
    for (int k = lane; k < 64; k += 32) {
        float s, c;
        __sincosf(position * exp2f(-13.287712f * k / 64), &s, &c);
        const float2 v = in[row * 64 + k];
        out[row * 64 + k] = make_float2(v.x * c - v.y * s, v.x * s + v.y * c);
    }
}

extern "C" __global__ void im2col(const float *in, float *out, int size, int channels) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const int x = i % size, y = i / size % size, c = i / (size * size);
    if (c >= channels) return;
    for (int dy = 0; dy < 3; ++dy)
        for (int dx = 0; dx < 3; ++dx) {
            const int u = x + dx - 1, v = y + dy - 1;
            const bool inside = u >= 0 && u < size && v >= 0 && v < size;
            out[((c * 9 + dy * 3 + dx) * size + y) * size + x] =
                inside ? in[(c * size + v) * size + u] : 0;
        }
}

extern "C" __global__ void pooled(const float *in, float *out, int size) {
    const int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
    const float *plane = in + blockIdx.z * 4 * size * size;
    float most = -1e30f;
    for (int dy = 0; dy < 3; ++dy)
        for (int dx = 0; dx < 3; ++dx)
            most = fmaxf(most, plane[min(2 * y + dy, 2 * size - 1) * 2 * size +
                                     min(2 * x + dx, 2 * size - 1)]);
    out[(blockIdx.z * size + y) * size + x] = most;
}

extern "C" __global__ void upsampled(const float *in, float *out, int size) {
    const int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y, half_ = size / 2;
    const float u = fmaxf((x + 0.5f) * 0.5f - 0.5f, 0), v = fmaxf((y + 0.5f) * 0.5f - 0.5f, 0);
    const int left = (int)u, top = (int)v;
    const int right = min(left + 1, half_ - 1), bottom = min(top + 1, half_ - 1);
    const float a = u - left, b = v - top;
    const float above = in[top * half_ + left] * (1 - a) + in[top * half_ + right] * a;
    const float below = in[bottom * half_ + left] * (1 - a) + in[bottom * half_ + right] * a;
    out[y * size + x] = above * (1 - b) + below * b;
}

extern "C" __global__ void bilateral(const float *in, float *out, int size) {
    const int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
    const int row = size + 4;
    const float here = in[(y + 2) * row + x + 2];
    float sum = 0, weights = 0;
    for (int dy = 0; dy < 5; ++dy)
        for (int dx = 0; dx < 5; ++dx) {
            const float v = in[(y + dy) * row + x + dx], apart = v - here;
            const int far_ = (dx - 2) * (dx - 2) + (dy - 2) * (dy - 2);
            const float weight = __expf(-0.1f * far_ - 8 * apart * apart);
            sum += weight * v, weights += weight;
        }
    out[y * size + x] = sum / weights;
}

// Sums of 16 rows of a table, whose numbers a list gives.
extern "C" __global__ void bags(const int *which, const float *table, float *out, int rows) {
    const int bag = blockIdx.x;
    float sum = 0;
    for (int k = 0; k < 16; ++k) {
        const unsigned row = (unsigned)which[bag * 16 + k] % rows;
        sum += table[row * 128 + threadIdx.x];
    }
    out[bag * 128 + threadIdx.x] = sum;
}

// Sparse rows times a matrix of 32 columns: a warp per row.
extern "C" __global__ void spmm(const int *columns, const float *values, const float *b, float *c,
                                int rows, int each) {
    const int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    const int mine = each / 2 + row * 7 % each;
    float sum = 0;
    for (int k = 0; k < mine; ++k) {
        const unsigned column = (unsigned)columns[row * 2 * each + k] % rows;
        sum += values[row * 2 * each + k] * b[column * 32 + lane];
    }
    c[row * 32 + lane] = sum;
}

// Sums of segments of several lengths: a warp per segment.
extern "C" __global__ void segments(const float *in, float *out, int longest) {
    const int segment = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    const int length = (segment * 2654435761u >> 16) % longest + 1;
    float sum = 0;
    for (int k = lane; k < length; k += 32) sum += in[segment * longest + k];
    for (int d = 16; d; d /= 2) sum += __shfl_down_sync(~0u, sum, d);
    if (lane == 0) out[segment] = sum;
}

// Two sorted lists become one: each thread finds where its 8 begin, then merges them.
extern "C" __global__ void merged(const float *a, const float *b, float *out, int n) {
    const int first = (blockIdx.x * blockDim.x + threadIdx.x) * 8;
    int low = max(0, first - n), high = min(first, n);
    while (low < high) {
        const int middle = (low + high) / 2;
        if (a[middle] <= b[first - 1 - middle]) low = middle + 1;
        else high = middle;
    }
    int i = low, j = first - low;
    for (int k = 0; k < 8; ++k) {
        const bool left = j >= n || (i < n && a[i] <= b[j]);
        out[first + k] = left ? a[i] : b[j];
        left ? ++i : ++j;
    }
}

extern "C" __global__ void cube27(const float *in, float *out, int nx, int ny) {
    const int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y, z = blockIdx.z;
    const int row = nx + 2, plane = row * (ny + 2);
    float sum = 0;
    for (int dz = 0; dz < 3; ++dz)
        for (int dy = 0; dy < 3; ++dy)
            for (int dx = 0; dx < 3; ++dx) {
                const float by = dx == 1 && dy == 1 && dz == 1 ? 0.5f : 0.02f;
                sum += by * in[(z + dz) * plane + (y + dy) * row + x + dx];
            }
    out[(z * ny + y) * nx + x] = sum;
}

extern "C" __global__ void options(const float *price, const float *strike, const float *years,
                                   float2 *out) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const float s = 5 + 25 * price[i], k = 1 + 99 * strike[i], t = 0.25f + 9.75f * years[i];
    const float root = sqrtf(t), d1 = (logf(s / k) + 0.065f * t) / (0.3f * root);
    const float d2 = d1 - 0.3f * root, n1 = normcdff(d1), n2 = normcdff(d2);
    const float later = k * expf(-0.02f * t);
    out[i] = make_float2(s * n1 - later * n2, later * (1 - n2) - s * (1 - n1));
}

extern "C" __global__ void adam(float *weight, const float *gradient, float *mean, float *square,
                                float rate) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const float g = gradient[i], m = 0.9f * mean[i] + 0.1f * g;
    const float v = 0.999f * square[i] + 0.001f * g * g;
    mean[i] = m, square[i] = v;
    weight[i] -= rate * (m * 10 / (sqrtf(v * 1000) + 1e-8f));
}

// Weights of four bits, a scale for each 32 of them, times a vector: a warp per row.
extern "C" __global__ void int4_gemv(const unsigned *weights, const half *scales, const float4 *x,
                                     float *y, int n) {
    const int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    float sum = 0;
    for (int k = lane; k < n / 8; k += 32) {
        const unsigned w = weights[row * (n / 8) + k];
        const float scale = __half2float(scales[row * (n / 32) + k / 4]);
        const float4 a = x[2 * k], b = x[2 * k + 1];
        const float v[8] = {a.x, a.y, a.z, a.w, b.x, b.y, b.z, b.w};
        float part = 0;
        for (int j = 0; j < 8; ++j) part += v[j] * ((int)(w >> 4 * j & 15) - 8);
        sum += scale * part;
    }
    for (int d = 16; d; d /= 2) sum += __shfl_xor_sync(~0u, sum, d);
    if (lane == 0) y[row] = sum;
}
