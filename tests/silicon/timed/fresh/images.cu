// Images and stencils: a convolution from shared memory, one that reads global memory alone, a
// transpose of pairs by three layouts, and a Sobel filter.
template <int ROW>
__device__ void convolve(const float *in, const float *weights, float *out, int n) {
    __shared__ float tile[36][ROW];
    const int x0 = blockIdx.x * 32 - 2, y0 = blockIdx.y * 32 - 2;
    const int tid = threadIdx.y * 16 + threadIdx.x;
    for (int i = tid; i < 36 * 36; i += 256) {
        const int y = min(max(y0 + i / 36, 0), n - 1), x = min(max(x0 + i % 36, 0), n - 1);
        tile[i / 36][i % 36] = in[y * n + x];
    }
    __syncthreads();
    // A thread has two columns of two rows: lanes are two words apart.
    float sum[2][2] = {};
#pragma unroll
    for (int dy = 0; dy < 5; ++dy)
#pragma unroll
        for (int dx = 0; dx < 5; ++dx) {
            const float w = weights[dy * 5 + dx];
            for (int j = 0; j < 2; ++j)
                for (int i = 0; i < 2; ++i)
                    sum[j][i] += w * tile[threadIdx.y * 2 + j + dy][threadIdx.x * 2 + i + dx];
        }
    for (int j = 0; j < 2; ++j)
        for (int i = 0; i < 2; ++i)
            out[(y0 + 2 + threadIdx.y * 2 + j) * n + x0 + 2 + threadIdx.x * 2 + i] = sum[j][i];
}
extern "C" __global__ void convolve_even(const float *in, const float *w, float *out, int n) {
    convolve<48>(in, w, out, n);
}
extern "C" __global__ void convolve_odd(const float *in, const float *w, float *out, int n) {
    convolve<37>(in, w, out, n);
}

extern "C" __global__ void convolve_global(const float *in, const float *w, float *out, int n) {
    const int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
    float sum = 0;
    for (int dy = -1; dy <= 1; ++dy)
        for (int dx = -1; dx <= 1; ++dx) {
            const int at = min(max(y + dy, 0), n - 1) * n + min(max(x + dx, 0), n - 1);
            sum += in[at] * w[(dy + 1) * 3 + dx + 1];
        }
    out[y * n + x] = sum;
}

extern "C" __global__ void sobel(const unsigned char *in, unsigned char *out, int n) {
    __shared__ unsigned char tile[18][132];
    const int x0 = blockIdx.x * 128, y0 = blockIdx.y * 16;
    for (int i = threadIdx.x; i < 18 * 130; i += 256) {
        const int y = min(max(y0 + i / 130 - 1, 0), n - 1), x = min(max(x0 + i % 130 - 1, 0), n - 1);
        tile[i / 130][i % 130] = in[y * n + x];
    }
    __syncthreads();
    for (int i = threadIdx.x; i < 16 * 128; i += 256) {
        const int y = i / 128 + 1, x = i % 128 + 1;
        const int gx = tile[y - 1][x + 1] + 2 * tile[y][x + 1] + tile[y + 1][x + 1] -
                       tile[y - 1][x - 1] - 2 * tile[y][x - 1] - tile[y + 1][x - 1];
        const int gy = tile[y + 1][x - 1] + 2 * tile[y + 1][x] + tile[y + 1][x + 1] -
                       tile[y - 1][x - 1] - 2 * tile[y - 1][x] - tile[y - 1][x + 1];
        out[(y0 + y - 1) * n + x0 + x - 1] = min(abs(gx) + abs(gy), 255);
    }
}

// 32x32 pairs of floats: rows of 32 pairs, of 33, and xor.
template <int ROW, bool XOR>
__device__ void turn_pairs(const float2 *in, float2 *out, int n) {
    __shared__ float2 tile[32][ROW];
    const int x = blockIdx.x * 32, y = blockIdx.y * 32;
    for (int j = threadIdx.y; j < 32; j += 4)
        tile[j][threadIdx.x ^ (XOR ? j : 0)] = in[(y + j) * n + x + threadIdx.x];
    __syncthreads();
    for (int j = threadIdx.y; j < 32; j += 4)
        out[(x + j) * n + y + threadIdx.x] = tile[threadIdx.x][j ^ (XOR ? threadIdx.x : 0)];
}
extern "C" __global__ void turn_pairs_plain(const float2 *in, float2 *out, int n) {
    turn_pairs<32, false>(in, out, n);
}
extern "C" __global__ void turn_pairs_padded(const float2 *in, float2 *out, int n) {
    turn_pairs<33, false>(in, out, n);
}
extern "C" __global__ void turn_pairs_xor(const float2 *in, float2 *out, int n) {
    turn_pairs<32, true>(in, out, n);
}
