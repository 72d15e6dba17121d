// Kernels that no shared memory limits: a copy, a polynomial, exponentials, 64-bit sums, hashes,
// rows of 1024 floats normalized by shuffles alone, a product of a matrix with a vector.
extern "C" __global__ void copy(const float4 *in, float4 *out) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = in[i];
}
extern "C" __global__ void polynomial(const float *in, float *out, int terms) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const float x = in[i], y = x + 1, z = x - 1;
    float a = 0, b = 1, c = 2;
    for (int term = 0; term < terms; ++term) {
        const float t = term;
        a = a * x + t, b = b * y + t, c = c * z + t;
    }
    out[i] = a + b + c;
}
extern "C" __global__ void exponentials(const float *in, float *out, int rounds) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    float x = in[i], sum = 0;
    for (int round = 0; round < rounds; ++round) {
        sum += __expf(x) + __expf(-x);
        x = x * 0.5f + 0.25f;
    }
    out[i] = sum;
}
extern "C" __global__ void doubles(const float *in, double *out, int rounds) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    double x = in[i], a = 0, b = 0;
    for (int round = 0; round < rounds; ++round) a = a * x + 1.0, b = b * x - 1.0;
    out[i] = a + b;
}
extern "C" __global__ void hashes(const unsigned *in, unsigned *out, int rounds) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned x = in[i];
    for (int round = 0; round < rounds; ++round) {
        x ^= x >> 16;
        x *= 0x7feb352du;
        x ^= x >> 15;
        x *= 0x846ca68bu;
        x ^= x >> 16;
    }
    out[i] = x;
}
extern "C" __global__ void normalized(const float *in, float *out) {
    const int row = blockIdx.x * 8 + threadIdx.x / 32, lane = threadIdx.x % 32;
    const float4 *from = (const float4 *)(in + row * 1024);
    float4 v[8];
    float sum = 0;
#pragma unroll
    for (int i = 0; i < 8; ++i) {
        v[i] = from[i * 32 + lane];
        sum += v[i].x * v[i].x + v[i].y * v[i].y + v[i].z * v[i].z + v[i].w * v[i].w;
    }
    for (int step = 16; step; step /= 2) sum += __shfl_xor_sync(~0u, sum, step);
    const float scale = rsqrtf(sum / 1024 + 1e-5f);
    float4 *to = (float4 *)(out + row * 1024);
#pragma unroll
    for (int i = 0; i < 8; ++i)
        to[i * 32 + lane] =
            make_float4(v[i].x * scale, v[i].y * scale, v[i].z * scale, v[i].w * scale);
}
extern "C" __global__ void vector_product(const float *in, const float *vector, float *out, int n) {
    const int row = blockIdx.x * 8 + threadIdx.x / 32, lane = threadIdx.x % 32;
    float sum = 0;
    for (int i = lane; i < n; i += 32) sum += in[row * n + i] * vector[i];
    for (int step = 16; step; step /= 2) sum += __shfl_xor_sync(~0u, sum, step);
    if (lane == 0) out[row] = sum;
}
