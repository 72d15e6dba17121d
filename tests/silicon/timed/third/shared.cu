// Tiles in shared memory: products, turned halves, Fourier transforms, stencils, recurrences.
#include <cuda_fp16.h>

// C = A B, a thread an element, nothing in shared memory.
extern "C" __global__ void gemm_global(const float *a, const float *b, float *c, int n) {
    const int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
    float sum = 0;
    for (int k = 0; k < n; ++k) sum += a[y * n + k] * b[k * n + x];
    c[y * n + x] = sum;
}

// 64x64 tiles, a thread 4x4 of them, A is stored turned: plain rows of 64, padded rows of 68.
template <int ROW>
__device__ void gemm_tiles(const float *a, const float *b, float *c, int n) {
    __shared__ float as[16][ROW], bs[16][64];
    const int tid = threadIdx.x, tx = tid % 16, ty = tid / 16;
    const float *from = a + (blockIdx.y * 64 + tid / 4) * n + tid % 4 * 4;
    const float *with = b + (tid / 16) * n + blockIdx.x * 64 + tid % 16 * 4;
    float sums[4][4] = {};
    for (int k = 0; k < n; k += 16) {
        const float4 v = *(const float4 *)(from + k);
        const float x[4] = {v.x, v.y, v.z, v.w};
        for (int i = 0; i < 4; ++i) as[tid % 4 * 4 + i][tid / 4] = x[i];
        *(float4 *)&bs[tid / 16][tid % 16 * 4] = *(const float4 *)(with + k * n);
        __syncthreads();
        for (int i = 0; i < 16; ++i) {
            const float4 p = *(const float4 *)&as[i][ty * 4], q = *(const float4 *)&bs[i][tx * 4];
            const float l[4] = {p.x, p.y, p.z, p.w}, r[4] = {q.x, q.y, q.z, q.w};
            for (int u = 0; u < 4; ++u)
                for (int w = 0; w < 4; ++w) sums[u][w] += l[u] * r[w];
        }
        __syncthreads();
    }
    for (int u = 0; u < 4; ++u)
        *(float4 *)(c + (blockIdx.y * 64 + ty * 4 + u) * n + blockIdx.x * 64 + tx * 4) =
            make_float4(sums[u][0], sums[u][1], sums[u][2], sums[u][3]);
}
extern "C" __global__ void gemm_tiles_plain(const float *a, const float *b, float *c, int n) {
    gemm_tiles<64>(a, b, c, n);
}
extern "C" __global__ void gemm_tiles_padded(const float *a, const float *b, float *c, int n) {
    gemm_tiles<68>(a, b, c, n);
}

template <int ROW>
__device__ void dgemm(const double *a, const double *b, double *c, int n) {
    __shared__ double as[16][ROW], bs[16][ROW];
    const int x = threadIdx.x, y = threadIdx.y;
    double sum = 0;
    for (int k = 0; k < n; k += 16) {
        as[y][x] = a[(blockIdx.y * 16 + y) * n + k + x];
        bs[y][x] = b[(blockIdx.x * 16 + y) * n + k + x];
        __syncthreads();
        for (int i = 0; i < 16; ++i) sum += as[y][i] * bs[x][i];
        __syncthreads();
    }
    c[(blockIdx.y * 16 + y) * n + blockIdx.x * 16 + x] = sum;
}
extern "C" __global__ void dgemm_plain(const double *a, const double *b, double *c, int n) {
    dgemm<16>(a, b, c, n);
}
extern "C" __global__ void dgemm_padded(const double *a, const double *b, double *c, int n) {
    dgemm<17>(a, b, c, n);
}

template <int ROW>
__device__ void turn_half(const half *in, half *out, int n) {
    __shared__ half tile[64][ROW];
    const int x = threadIdx.x, y = threadIdx.y;
    const half2 *from = (const half2 *)(in + (blockIdx.y * 64) * n + blockIdx.x * 64);
    for (int j = y; j < 64; j += 8) *(half2 *)&tile[j][2 * x] = from[j * (n / 2) + x];
    __syncthreads();
    half2 *to = (half2 *)(out + (blockIdx.x * 64) * n + blockIdx.y * 64);
    for (int j = y; j < 64; j += 8)
        to[j * (n / 2) + x] = __halves2half2(tile[2 * x][j], tile[2 * x + 1][j]);
}
extern "C" __global__ void turn_half_plain(const half *in, half *out, int n) {
    turn_half<64>(in, out, n);
}
extern "C" __global__ void turn_half_padded(const half *in, half *out, int n) {
    turn_half<66>(in, out, n);
}

// 1024 complex points per block, radix 2, bits reversed at the end.
template <bool PADDED>
__device__ void fft(const float2 *in, float2 *out) {
    __shared__ float re[1056], im[1056];
    auto at = [](int i) { return PADDED ? i + i / 32 : i; };
    const int tid = threadIdx.x;
    for (int i = tid; i < 1024; i += 256) {
        const float2 v = in[blockIdx.x * 1024 + i];
        const int j = __brev(i) >> 22;
        re[at(j)] = v.x, im[at(j)] = v.y;
    }
    for (int half_ = 1; half_ < 1024; half_ *= 2) {
        __syncthreads();
        for (int i = tid; i < 512; i += 256) {
            const int k = i & (half_ - 1), low = 2 * i - k, high = low + half_;
            float s, c;
            __sincosf(-3.14159265f * k / half_, &s, &c);
            const float x = re[at(high)], y = im[at(high)], u = re[at(low)], w = im[at(low)];
            const float p = x * c - y * s, q = x * s + y * c;
            re[at(low)] = u + p, im[at(low)] = w + q;
            re[at(high)] = u - p, im[at(high)] = w - q;
        }
    }
    __syncthreads();
    for (int i = tid; i < 1024; i += 256)
        out[blockIdx.x * 1024 + i] = make_float2(re[at(i)], im[at(i)]);
}
extern "C" __global__ void fft_plain(const float2 *in, float2 *out) { fft<false>(in, out); }
extern "C" __global__ void fft_padded(const float2 *in, float2 *out) { fft<true>(in, out); }

// Seven points in space: planes come one after the other, neighbours in the plane are shared.
extern "C" __global__ void space(const float *in, float *out, int n) {
    __shared__ float tile[10][34];
    const int x = blockIdx.x * 32 + threadIdx.x + 1, y = blockIdx.y * 8 + threadIdx.y + 1;
    const int row = n + 2, plane = row * (n + 2), tx = threadIdx.x + 1, ty = threadIdx.y + 1;
    int at = y * row + x;
    float below = in[at], here = in[at + plane];
    for (int z = 1; z <= 32; ++z) {
        at += plane;
        const float above = in[at + plane];
        __syncthreads();
        tile[ty][tx] = here;
        if (tx == 1) tile[ty][0] = in[at - 1];
        if (tx == 32) tile[ty][33] = in[at + 1];
        if (ty == 1) tile[0][tx] = in[at - row];
        if (ty == 8) tile[9][tx] = in[at + row];
        __syncthreads();
        out[at] = 0.4f * here + 0.1f * (below + above + tile[ty][tx - 1] + tile[ty][tx + 1] +
                                        tile[ty - 1][tx] + tile[ty + 1][tx]);
        below = here, here = above;
    }
}

// Two strings' distances, an anti-diagonal after the other: a barrier for each.
extern "C" __global__ void distances(const int *a, const int *b, int *out) {
    __shared__ int cost[3][257];
    const int t = threadIdx.x, mine = a[blockIdx.x * 256 + t] & 3;
    for (int k = t; k < 3 * 257; k += 256) (&cost[0][0])[k] = 0;
    int last = 0;
    for (int d = 0; d < 511; ++d) {
        __syncthreads();
        const int j = d - t;
        if (j >= 0 && j < 256) {
            const int *one = cost[(d + 2) % 3], *two = cost[(d + 1) % 3];
            const int same = (b[blockIdx.x * 256 + j] & 3) == mine;
            last = max(max(one[t], one[t + 1]) - 1, two[t] + (same ? 2 : -1));
            cost[d % 3][t + 1] = max(last, 0);
        }
    }
    out[blockIdx.x * 256 + t] = last;
}

// Digits of keys, counted per warp in shared memory.
extern "C" __global__ void digits(const unsigned *keys, unsigned *out, int shift) {
    __shared__ unsigned bins[8][256];
    const int warp = threadIdx.x / 32;
    for (int k = threadIdx.x; k < 2048; k += 256) (&bins[0][0])[k] = 0;
    __syncthreads();
    for (int k = 0; k < 16; ++k) {
        const unsigned key = keys[blockIdx.x * 4096 + k * 256 + threadIdx.x];
        atomicAdd(&bins[warp][key >> shift & 255], 1);
    }
    __syncthreads();
    unsigned sum = 0;
    for (int w = 0; w < 8; ++w) sum += bins[w][threadIdx.x];
    out[threadIdx.x * gridDim.x + blockIdx.x] = sum;
}
