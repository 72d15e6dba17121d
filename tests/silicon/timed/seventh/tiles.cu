// The seventh set of timed kernels: tiles, pairs that differ in layout, products, clusters.
#include <cooperative_groups.h>
#include <cuda_fp16.h>
namespace cg = cooperative_groups;

// A sum with a turned matrix of doubles.
template <int PITCH> __device__ void add_turned(const double *a, const double *b, double *out, int n) {
    __shared__ double tile[32 * PITCH];
    const int x0 = blockIdx.x * 32, y0 = blockIdx.y * 32, x = threadIdx.x, y = threadIdx.y;
    for (int j = 0; j < 32; j += 8) tile[(y + j) * PITCH + x] = b[(x0 + y + j) * n + y0 + x];
    __syncthreads();
    for (int j = 0; j < 32; j += 8)
        out[(y0 + y + j) * n + x0 + x] = a[(y0 + y + j) * n + x0 + x] + tile[x * PITCH + y + j];
}
extern "C" __global__ void add_turned_plain(const double *a, const double *b, double *out, int n) { add_turned<32>(a, b, out, n); }
extern "C" __global__ void add_turned_padded(const double *a, const double *b, double *out, int n) { add_turned<33>(a, b, out, n); }

// A matrix by its own transpose; a thread has four by four.
template <int PITCH> __device__ void own_square(const float *a, float *out, int n, int depth) {
    __shared__ float rows[64 * PITCH], columns[64 * PITCH];
    const int x = threadIdx.x % 16, y = threadIdx.x / 16;
    float sum[4][4] = {};
    for (int k0 = 0; k0 < depth; k0 += 32) {
        for (int k = threadIdx.x; k < 64 * 32; k += 256) {
            rows[k / 32 * PITCH + k % 32] = a[(blockIdx.y * 64 + k / 32) * depth + k0 + k % 32];
            columns[k / 32 * PITCH + k % 32] = a[(blockIdx.x * 64 + k / 32) * depth + k0 + k % 32];
        }
        __syncthreads();
        for (int k = 0; k < 32; ++k) {
            float p[4], q[4];
            for (int i = 0; i < 4; ++i) p[i] = rows[(y + 16 * i) * PITCH + k], q[i] = columns[(x + 16 * i) * PITCH + k];
            for (int i = 0; i < 4; ++i)
                for (int j = 0; j < 4; ++j) sum[i][j] += p[i] * q[j];
        }
        __syncthreads();
    }
    for (int i = 0; i < 4; ++i)
        for (int j = 0; j < 4; ++j) out[(blockIdx.y * 64 + y + 16 * i) * n + blockIdx.x * 64 + x + 16 * j] = sum[i][j];
}
extern "C" __global__ void own_square_plain(const float *a, float *out, int n, int depth) { own_square<32>(a, out, n, depth); }
extern "C" __global__ void own_square_padded(const float *a, float *out, int n, int depth) { own_square<33>(a, out, n, depth); }

// Each thread solves a tridiagonal system of 32 in shared memory.
template <int PITCH> __device__ void solved(const float *in, float *out) {
    __shared__ float d[64 * PITCH], c[64 * PITCH];
    const int begin = blockIdx.x * 64 * 32;
    for (int k = threadIdx.x; k < 64 * 32; k += 64) d[k / 32 * PITCH + k % 32] = in[begin + k];
    __syncthreads();
    float *mine = d + threadIdx.x * PITCH, *by = c + threadIdx.x * PITCH;
    by[0] = 0.25f, mine[0] *= 0.25f;
    for (int k = 1; k < 32; ++k) {
        const float m = __fdividef(1.0f, 4.0f - by[k - 1]);
        by[k] = m, mine[k] = (mine[k] - mine[k - 1]) * m;
    }
    for (int k = 30; k >= 0; --k) mine[k] -= by[k] * mine[k + 1];
    __syncthreads();
    for (int k = threadIdx.x; k < 64 * 32; k += 64) out[begin + k] = d[k / 32 * PITCH + k % 32];
}
extern "C" __global__ void solved_plain(const float *in, float *out) { solved<32>(in, out); }
extern "C" __global__ void solved_padded(const float *in, float *out) { solved<33>(in, out); }

// Cosines of eight by eight: a thread has a row, then a column.
__device__ __forceinline__ void cosines_of(float *p, int step) {
    float v[8];
    for (int k = 0; k < 8; ++k) v[k] = p[k * step];
    for (int k = 0; k < 4; ++k) {
        const float a = v[k] + v[7 - k], b = v[k] - v[7 - k];
        v[k] = a, v[7 - k] = b * (0.5f + 0.1f * k);
    }
    for (int k = 0; k < 8; k += 2) {
        const float a = v[k] + v[k + 1], b = v[k] - v[k + 1];
        v[k] = a, v[k + 1] = b * 0.7071f;
    }
    for (int k = 0; k < 8; ++k) p[k * step] = v[k];
}
template <int PITCH> __device__ void dct(const float *in, float *out) {
    __shared__ float block[32 * 8 * PITCH];
    const int begin = blockIdx.x * 2048, mine = threadIdx.x / 8 * 8 * PITCH, k = threadIdx.x % 8;
    for (int j = threadIdx.x; j < 2048; j += 256) block[j / 8 * PITCH + j % 8] = in[begin + j];
    __syncthreads();
    cosines_of(block + mine + k * PITCH, 1);
    __syncthreads();
    cosines_of(block + mine + k, PITCH);
    __syncthreads();
    for (int j = threadIdx.x; j < 2048; j += 256) out[begin + j] = block[j / 8 * PITCH + j % 8];
}
extern "C" __global__ void dct_plain(const float *in, float *out) { dct<8>(in, out); }
extern "C" __global__ void dct_padded(const float *in, float *out) { dct<9>(in, out); }

// A warp has a query of 32, and 64 keys at a time: a lane two of them, then a column of values.
template <int PITCH> __device__ void heads(const float *q, const float *k, const float *v, float *out, int keys) {
    __shared__ float key[64 * PITCH], value[64 * 32], score[4][64];
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, row = blockIdx.x * 4 + warp;
    const float mine = q[row * 32 + lane];
    float sum = 0, most = -1e30f, all = 0;
    for (int k0 = 0; k0 < keys; k0 += 64) {
        for (int j = threadIdx.x; j < 64 * 32; j += 128) {
            key[j / 32 * PITCH + j % 32] = k[(blockIdx.x % 8 * keys + k0) * 32 + j];
            value[j] = v[(blockIdx.x % 8 * keys + k0) * 32 + j];
        }
        __syncthreads();
        float a = 0, b = 0;
        for (int d = 0; d < 32; ++d) {
            const float x = __shfl_sync(~0u, mine, d);
            a += x * key[lane * PITCH + d], b += x * key[(lane + 32) * PITCH + d];
        }
        float top = fmaxf(a, b);
        for (int d = 16; d; d /= 2) top = fmaxf(top, __shfl_xor_sync(~0u, top, d));
        const float next = fmaxf(most, top), by = __expf(most - next);
        score[warp][lane] = a = __expf(a - next), score[warp][lane + 32] = b = __expf(b - next);
        __syncwarp();
        sum *= by, all = all * by + a + b, most = next;
        for (int j = 0; j < 64; ++j) sum += score[warp][j] * value[j * 32 + lane];
        __syncthreads();
    }
    for (int d = 16; d; d /= 2) all += __shfl_xor_sync(~0u, all, d);
    out[row * 32 + lane] = sum / all;
}
extern "C" __global__ void heads_plain(const float *q, const float *k, const float *v, float *out, int keys) { heads<32>(q, k, v, out, keys); }
extern "C" __global__ void heads_padded(const float *q, const float *k, const float *v, float *out, int keys) { heads<33>(q, k, v, out, keys); }

// Bytes multiplied, four at a time.
extern "C" __global__ void bytes_multiplied(const int *a, const int *b, int *out, int n, int depth) {
    __shared__ int p[32][17], q[32][17];
    const int x = threadIdx.x % 16, y = threadIdx.x / 16;
    int sum[2][2] = {};
    for (int k0 = 0; k0 < depth; k0 += 16) {
        for (int k = threadIdx.x; k < 512; k += 256) {
            p[k / 16][k % 16] = a[(blockIdx.y * 32 + k / 16) * depth + k0 + k % 16];
            q[k / 16][k % 16] = b[(blockIdx.x * 32 + k / 16) * depth + k0 + k % 16];
        }
        __syncthreads();
        for (int k = 0; k < 16; ++k)
            for (int i = 0; i < 2; ++i)
                for (int j = 0; j < 2; ++j) sum[i][j] = __dp4a(p[y + 16 * i][k], q[x + 16 * j][k], sum[i][j]);
        __syncthreads();
    }
    for (int i = 0; i < 2; ++i)
        for (int j = 0; j < 2; ++j) out[(blockIdx.y * 32 + y + 16 * i) * n + blockIdx.x * 32 + x + 16 * j] = sum[i][j];
}

// Tiles of 48 by 48, three by three a thread.
extern "C" __global__ void __launch_bounds__(256) tiles_of_48(const float *a, const float *b, float *out, int n) {
    __shared__ float p[16][48], q[16][48];
    const int x = threadIdx.x % 16, y = threadIdx.x / 16;
    float sum[3][3] = {};
    for (int k0 = 0; k0 < n; k0 += 16) {
        for (int k = threadIdx.x; k < 768; k += 256) {
            p[k % 16][k / 16] = a[(blockIdx.y * 48 + k / 16) * n + k0 + k % 16];
            q[k / 48][k % 48] = b[(k0 + k / 48) * n + blockIdx.x * 48 + k % 48];
        }
        __syncthreads();
        for (int k = 0; k < 16; ++k)
            for (int i = 0; i < 3; ++i)
                for (int j = 0; j < 3; ++j) sum[i][j] += p[k][y * 3 + i] * q[k][x * 3 + j];
        __syncthreads();
    }
    for (int i = 0; i < 3; ++i)
        for (int j = 0; j < 3; ++j) out[(blockIdx.y * 48 + y * 3 + i) * n + blockIdx.x * 48 + x * 3 + j] = sum[i][j];
}

// A product with a vector whose parts are added by atomics.
extern "C" __global__ void gemv_split(const __half2 *a, const __half2 *x, float *out, int columns) {
    const int row = blockIdx.x * 8 + threadIdx.x / 32, lane = threadIdx.x % 32, part = columns / 2 / gridDim.y;
    float sum = 0;
    for (int k = lane; k < part; k += 32) {
        const float2 v = __half22float2(a[row * (columns / 2) + blockIdx.y * part + k]);
        const float2 w = __half22float2(x[blockIdx.y * part + k]);
        sum += v.x * w.x + v.y * w.y;
    }
    for (int d = 16; d; d /= 2) sum += __shfl_xor_sync(~0u, sum, d);
    if (lane == 0) atomicAdd(&out[row], sum);
}

// Sixteen turns of a stencil of three points, in shared memory.
extern "C" __global__ void many_turns(const float *in, float *out) {
    __shared__ float kept[2][1026];
    for (int k = threadIdx.x; k < 1026; k += 512) kept[0][k] = kept[1][k] = in[blockIdx.x * 1024 + k];
    __syncthreads();
    for (int t = 0; t < 16; ++t) {
        for (int k = threadIdx.x + 1; k < 1025; k += 512)
            kept[t & 1 ^ 1][k] = 0.25f * kept[t & 1][k - 1] + 0.5f * kept[t & 1][k] + 0.25f * kept[t & 1][k + 1];
        __syncthreads();
    }
    for (int k = threadIdx.x; k < 1024; k += 512) out[blockIdx.x * 1024 + k] = kept[0][k + 1];
}

// The largest of a row by two blocks, one of which reads the other's.
extern "C" __global__ void __cluster_dims__(2, 1, 1) row_maxima(const float4 *in, float *out, int each) {
    __shared__ float parts[8], mine;
    cg::cluster_group cluster = cg::this_cluster();
    float most = -1e30f;
    for (int k = threadIdx.x; k < each / 4; k += 256) {
        const float4 v = in[blockIdx.x * (each / 4) + k];
        most = fmaxf(most, fmaxf(fmaxf(v.x, v.y), fmaxf(v.z, v.w)));
    }
    for (int d = 16; d; d /= 2) most = fmaxf(most, __shfl_xor_sync(~0u, most, d));
    if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = most;
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int w = 0; w < 8; ++w) most = fmaxf(most, parts[w]);
        mine = most;
    }
    cluster.sync();
    if (threadIdx.x == 0) out[blockIdx.x] = fmaxf(mine, *cluster.map_shared_rank(&mine, blockIdx.x & 1 ^ 1));
    cluster.sync();
}

// Each of four blocks reads what its neighbours hold, eight times.
extern "C" __global__ void __cluster_dims__(4, 1, 1) passed_on(const float *in, float *out) {
    __shared__ float kept[2][1024];
    cg::cluster_group cluster = cg::this_cluster();
    const int rank = cluster.block_rank();
    for (int k = threadIdx.x; k < 1024; k += 256) kept[0][k] = in[blockIdx.x * 1024 + k];
    cluster.sync();
    for (int t = 0; t < 8; ++t) {
        const float *next = cluster.map_shared_rank(kept[t & 1], rank + 1 & 3);
        for (int k = threadIdx.x; k < 1024; k += 256) kept[t & 1 ^ 1][k] = 0.5f * (kept[t & 1][k] + next[k]);
        cluster.sync();
    }
    for (int k = threadIdx.x; k < 1024; k += 256) out[blockIdx.x * 1024 + k] = kept[0][k];
}

// Sums of all before, over four blocks.
extern "C" __global__ void __cluster_dims__(4, 1, 1) cluster_scan(const int *in, int *out) {
    __shared__ int parts[16], total;
    cg::cluster_group cluster = cg::this_cluster();
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, rank = cluster.block_rank();
    const int i = blockIdx.x * 512 + threadIdx.x;
    int v = in[i];
    for (int d = 1; d < 32; d *= 2) {
        const int other = __shfl_up_sync(~0u, v, d);
        if (lane >= d) v += other;
    }
    if (lane == 31) parts[warp] = v;
    __syncthreads();
    int before = 0, all = 0;
    for (int w = 0; w < 16; ++w) {
        if (w < warp) before += parts[w];
        all += parts[w];
    }
    if (threadIdx.x == 0) total = all;
    cluster.sync();
    for (int other = 0; other < rank; ++other) before += *cluster.map_shared_rank(&total, other);
    out[i] = v + before;
    cluster.sync();
}
