// Vectors and rows: sparse products, layernorm, sums with atomics, a histogram, forces, fp64.
extern "C" __global__ void sparse_scalar(const int *lengths, const int *columns, const float *values,
                                         const float *x, float *y, int rows) {
    const int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    const int count = 4 + lengths[row] % 13;
    float sum = 0;
    for (int k = 0; k < count; ++k) sum += values[row * 16 + k] * x[columns[row * 16 + k]];
    y[row] = sum;
}
extern "C" __global__ void sparse_warps(const int *lengths, const int *columns, const float *values,
                                        const float *x, float *y, int rows) {
    const int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x & 31;
    if (row >= rows) return;
    const int count = 96 + lengths[row] % 64;
    float sum = 0;
    for (int k = lane; k < count; k += 32) sum += values[row * 160 + k] * x[columns[row * 160 + k]];
    for (int d = 16; d; d >>= 1) sum += __shfl_xor_sync(~0u, sum, d);
    if (lane == 0) y[row] = sum;
}

extern "C" __global__ void layernorm(const float4 *in, const float4 *scale, const float4 *shift,
                                     float4 *out, int vectors) {
    __shared__ float parts[2][8];
    const float4 *mine = in + (long long)blockIdx.x * vectors;
    float4 v[4];
    float sum = 0, square = 0;
    for (int k = 0; k < 4; ++k) {
        v[k] = mine[threadIdx.x + k * 256];
        sum += v[k].x + v[k].y + v[k].z + v[k].w;
        square += v[k].x * v[k].x + v[k].y * v[k].y + v[k].z * v[k].z + v[k].w * v[k].w;
    }
    for (int d = 16; d; d >>= 1) {
        sum += __shfl_xor_sync(~0u, sum, d);
        square += __shfl_xor_sync(~0u, square, d);
    }
    if (threadIdx.x % 32 == 0) parts[0][threadIdx.x / 32] = sum, parts[1][threadIdx.x / 32] = square;
    __syncthreads();
    sum = square = 0;
    for (int k = 0; k < 8; ++k) sum += parts[0][k], square += parts[1][k];
    const float mean = sum / (4 * vectors), inverse = rsqrtf(square / (4 * vectors) - mean * mean + 1e-5f);
    for (int k = 0; k < 4; ++k) {
        const float4 a = scale[threadIdx.x + k * 256], b = shift[threadIdx.x + k * 256];
        out[(long long)blockIdx.x * vectors + threadIdx.x + k * 256] =
            make_float4((v[k].x - mean) * inverse * a.x + b.x, (v[k].y - mean) * inverse * a.y + b.y,
                        (v[k].z - mean) * inverse * a.z + b.z, (v[k].w - mean) * inverse * a.w + b.w);
    }
}

extern "C" __global__ void sum_atomic(const float *in, float *out, int each) {
    float sum = 0;
    for (int k = 0; k < each; ++k)
        sum += in[(blockIdx.x * each + k) * blockDim.x + threadIdx.x];
    for (int d = 16; d; d >>= 1) sum += __shfl_down_sync(~0u, sum, d);
    if (threadIdx.x % 32 == 0) atomicAdd(out + blockIdx.x % 64, sum);
}

// One histogram of 1024 bins per block, then added to that of the grid.
extern "C" __global__ void histogram_blocks(const int *in, unsigned *out, int each) {
    __shared__ unsigned bins[1024];
    for (int i = threadIdx.x; i < 1024; i += blockDim.x) bins[i] = 0;
    __syncthreads();
    for (int k = 0; k < each; ++k)
        atomicAdd(bins + in[(blockIdx.x * each + k) * blockDim.x + threadIdx.x] % 1024, 1u);
    __syncthreads();
    for (int i = threadIdx.x; i < 1024; i += blockDim.x) atomicAdd(out + i, bins[i]);
}
extern "C" __global__ void histogram_global(const int *in, unsigned *out, int count) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) atomicAdd(out + in[i], 1u);
}

extern "C" __global__ void forces(const float4 *bodies, float4 *out, int count) {
    __shared__ float4 tile[256];
    const float4 me = bodies[blockIdx.x * 256 + threadIdx.x];
    float3 sum = make_float3(0, 0, 0);
    for (int base = 0; base < count; base += 256) {
        tile[threadIdx.x] = bodies[base + threadIdx.x];
        __syncthreads();
#pragma unroll 8
        for (int k = 0; k < 256; ++k) {
            const float4 b = tile[k];
            const float dx = b.x - me.x, dy = b.y - me.y, dz = b.z - me.z;
            const float square = dx * dx + dy * dy + dz * dz + 1e-3f;
            const float inverse = rsqrtf(square);
            const float weight = b.w * inverse * inverse * inverse;
            sum.x += dx * weight, sum.y += dy * weight, sum.z += dz * weight;
        }
        __syncthreads();
    }
    out[blockIdx.x * 256 + threadIdx.x] = make_float4(sum.x, sum.y, sum.z, 0);
}

extern "C" __global__ void escapes(int *out, int width, int most) {
    const int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
    const float cx = -2.f + 3.f * x / width, cy = -1.5f + 3.f * y / width;
    float a = 0, b = 0;
    int turn = 0;
    while (turn < most && a * a + b * b < 4) {
        const float t = a * a - b * b + cx;
        b = 2 * a * b + cy, a = t, ++turn;
    }
    out[y * width + x] = turn;
}

extern "C" __global__ void dot_double(const double *a, const double *b, double *out, int each) {
    __shared__ double parts[8];
    double sum = 0;
    for (int k = 0; k < each; ++k) {
        const int i = (blockIdx.x * each + k) * 256 + threadIdx.x;
        sum += a[i] * b[i];
    }
    for (int d = 16; d; d >>= 1) sum += __shfl_down_sync(~0u, sum, d);
    if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int k = 1; k < 8; ++k) sum += parts[k];
        out[blockIdx.x] = sum;
    }
}

extern "C" __global__ void gathers(const int *index, const float *in, float *out, int count) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = in[(index[i] * 4099 + i * 37) % count];
}
