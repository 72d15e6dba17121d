// The eighth set of timed kernels: what goes through tiles in shared memory, with and without conflicts.
#include <cooperative_groups.h>
#include <cuda_fp16.h>
#include <cuda_pipeline.h>
#include <mma.h>
namespace cg = cooperative_groups;

#define NAMED(NAME, RUN, PARAMETERS, ARGUMENTS, PITCH) \
    extern "C" __global__ void NAME PARAMETERS { RUN<PITCH> ARGUMENTS; }

// Planes become pixels: 64 channels of 64 pixels.
template <int PITCH> __device__ __forceinline__ void pixels(const float *in, float *out, int size) {
    __shared__ float tile[64 * PITCH];
    const int first = blockIdx.x * 64, picture = blockIdx.y * 64 * size;
    for (int k = threadIdx.x; k < 4096; k += 256) tile[k / 64 * PITCH + k % 64] = in[picture + k / 64 * size + first + k % 64];
    __syncthreads();
    for (int k = threadIdx.x; k < 4096; k += 256) out[picture + (first + k / 64) * 64 + k % 64] = tile[k % 64 * PITCH + k / 64];
}
NAMED(pixels_plain, pixels, (const float *in, float *out, int size), (in, out, size), 64)
NAMED(pixels_padded, pixels, (const float *in, float *out, int size), (in, out, size), 65)

// Shortest ways between 32 places, a warp's rows by columns.
template <int PITCH> __device__ __forceinline__ void ways(const float *in, float *out) {
    __shared__ float d[32 * PITCH];
    for (int k = threadIdx.x; k < 1024; k += 256) d[k % 32 * PITCH + k / 32] = in[blockIdx.x * 1024 + k];
    __syncthreads();
    for (int via = 0; via < 32; ++via) {
        for (int k = threadIdx.x; k < 1024; k += 256) {
            float *at = d + k % 32 * PITCH + k / 32;
            *at = fminf(*at, d[k % 32 * PITCH + via] + d[via * PITCH + k / 32]);
        }
        __syncthreads();
    }
    for (int k = threadIdx.x; k < 1024; k += 256) out[blockIdx.x * 1024 + k] = d[k % 32 * PITCH + k / 32];
}
NAMED(ways_plain, ways, (const float *in, float *out), (in, out), 32)
NAMED(ways_padded, ways, (const float *in, float *out), (in, out), 33)

// Sums of all above and to the left, of tiles of 64.
template <int PITCH> __device__ __forceinline__ void summed(const float *in, float *out, int width) {
    __shared__ float tile[64 * PITCH];
    const int first = blockIdx.y * 64 * width + blockIdx.x * 64;
    for (int k = threadIdx.x; k < 4096; k += 64) tile[k / 64 * PITCH + k % 64] = in[first + k / 64 * width + k % 64];
    __syncthreads();
    float sum = 0;
    for (int k = 0; k < 64; ++k) tile[threadIdx.x * PITCH + k] = sum += tile[threadIdx.x * PITCH + k];
    __syncthreads();
    sum = 0;
    for (int k = 0; k < 64; ++k) tile[k * PITCH + threadIdx.x] = sum += tile[k * PITCH + threadIdx.x];
    __syncthreads();
    for (int k = threadIdx.x; k < 4096; k += 64) out[first + k / 64 * width + k % 64] = tile[k / 64 * PITCH + k % 64];
}
NAMED(summed_plain, summed, (const float *in, float *out, int width), (in, out, width), 64)
NAMED(summed_padded, summed, (const float *in, float *out, int width), (in, out, width), 65)

// How 32 signals of 256 samples go with each other; a thread per pair and a half.
template <int PITCH> __device__ __forceinline__ void together(const float *in, float *out) {
    __shared__ float s[32 * PITCH];
    for (int k = threadIdx.x; k < 32 * 128; k += 256) s[k / 128 * PITCH + k % 128] = in[blockIdx.x * 4096 + k];
    __syncthreads();
    const int column = threadIdx.x % 32, row = threadIdx.x / 32;
    float sum[4] = {};
    for (int k = 0; k < 128; ++k) {
        const float v = s[column * PITCH + k];
        for (int j = 0; j < 4; ++j) sum[j] += v * s[(row * 4 + j) * PITCH + k];
    }
    for (int j = 0; j < 4; ++j) out[blockIdx.x * 1024 + (row * 4 + j) * 32 + column] = sum[j] / 128;
}
NAMED(together_plain, together, (const float *in, float *out), (in, out), 128)
NAMED(together_padded, together, (const float *in, float *out), (in, out), 129)

// Cholesky's factor of a matrix of 32 by 32, a warp each.
template <int PITCH> __device__ __forceinline__ void cholesky(const float *in, float *out) {
    __shared__ float a[4][32 * PITCH];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, first = (blockIdx.x * 4 + warp) * 1024;
    float *m = a[warp];
    for (int k = 0; k < 32; ++k) m[k * PITCH + lane] = in[first + k * 32 + lane] + (k == lane ? 64 : 0);
    __syncwarp();
    for (int k = 0; k < 32; ++k) {
        const float root = rsqrtf(m[k * PITCH + k]);
        const float mine = m[lane * PITCH + k] * root;
        __syncwarp();
        if (lane >= k) m[lane * PITCH + k] = mine;
        __syncwarp();
        for (int j = k + 1; j < 32; ++j)
            if (lane >= j) m[lane * PITCH + j] -= mine * m[j * PITCH + k];
        __syncwarp();
    }
    for (int k = 0; k < 32; ++k) out[first + k * 32 + lane] = m[k * PITCH + lane];
}
NAMED(cholesky_plain, cholesky, (const float *in, float *out), (in, out), 32)
NAMED(cholesky_padded, cholesky, (const float *in, float *out), (in, out), 33)

// Rows of halves by rows of halves: a product with a tile of B that is read along its rows.
template <int PITCH> __device__ __forceinline__ void half_rows(const __half2 *a, const __half2 *b, float *c, int n, int depth) {
    __shared__ __half2 left[64 * PITCH], right[64 * PITCH];
    const int tx = threadIdx.x % 16, ty = threadIdx.x / 16, row = blockIdx.y * 64, column = blockIdx.x * 64;
    float sum[4][4] = {};
    for (int k0 = 0; k0 < depth; k0 += 16) {
        for (int k = threadIdx.x; k < 1024; k += 256) {
            left[k / 16 * PITCH + k % 16] = a[(row + k / 16) * depth + k0 + k % 16];
            right[k / 16 * PITCH + k % 16] = b[(column + k / 16) * depth + k0 + k % 16];
        }
        __syncthreads();
        for (int k = 0; k < 16; ++k)
            for (int i = 0; i < 4; ++i) {
                const float2 x = __half22float2(left[(ty * 4 + i) * PITCH + k]);
                for (int j = 0; j < 4; ++j) {
                    const float2 y = __half22float2(right[(j * 16 + tx) * PITCH + k]);
                    sum[i][j] += x.x * y.x + x.y * y.y;
                }
            }
        __syncthreads();
    }
    for (int i = 0; i < 4; ++i)
        for (int j = 0; j < 4; ++j) c[(row + ty * 4 + i) * n + column + j * 16 + tx] = sum[i][j];
}
NAMED(half_rows_plain, half_rows, (const __half2 *a, const __half2 *b, float *c, int n, int depth), (a, b, c, n, depth), 16)
NAMED(half_rows_padded, half_rows, (const __half2 *a, const __half2 *b, float *c, int n, int depth), (a, b, c, n, depth), 17)

// Records of eight floats become eight arrays.
template <int PITCH> __device__ __forceinline__ void records(const float4 *in, float *out, int n) {
    __shared__ float tile[256 * PITCH];
    for (int k = threadIdx.x; k < 512; k += 256) {
        const float4 v = in[blockIdx.x * 512 + k];
        float *to = tile + k / 2 * PITCH + k % 2 * 4;
        to[0] = v.x, to[1] = v.y, to[2] = v.z, to[3] = v.w;
    }
    __syncthreads();
    for (int k = 0; k < 8; ++k) out[k * n + blockIdx.x * 256 + threadIdx.x] = tile[threadIdx.x * PITCH + k];
}
NAMED(records_plain, records, (const float4 *in, float *out, int n), (in, out, n), 8)
NAMED(records_padded, records, (const float4 *in, float *out, int n), (in, out, n), 9)

// Keys of 1024 sorted by merging: runs of 2, 4, 8, …, each key by how many of the other run are less.
extern "C" __global__ void merged_runs(const unsigned *in, unsigned *out) {
    __shared__ unsigned keys[2][1024];
    for (int k = threadIdx.x; k < 1024; k += 512) keys[0][k] = in[blockIdx.x * 1024 + k];
    __syncthreads();
    int from = 0;
    for (int size = 1; size < 1024; size *= 2, from ^= 1) {
        for (int k = threadIdx.x; k < 1024; k += 512) {
            const unsigned key = keys[from][k];
            const int other = k / size ^ 1, is_second = k / size & 1;
            int low = 0, high = size;
            while (low < high) {
                const int middle = (low + high) / 2;
                const unsigned there = keys[from][other * size + middle];
                if (is_second ? there <= key : there < key) low = middle + 1;
                else high = middle;
            }
            keys[from ^ 1][k / (2 * size) * 2 * size + k % size + low] = key;
        }
        __syncthreads();
    }
    for (int k = threadIdx.x; k < 1024; k += 512) out[blockIdx.x * 1024 + k] = keys[from][k];
}

// Three by three over 16 channels, eight results each.
extern "C" __global__ void direct(const float *in, const float *weights, float *out, int width) {
    __shared__ float tile[16][10][34], w[8 * 144];
    const int x0 = blockIdx.x * 32, y0 = blockIdx.y * 8, size = width * width;
    for (int k = threadIdx.x; k < 1152; k += 256) w[k] = weights[k];
    for (int k = threadIdx.x; k < 16 * 340; k += 256) {
        const int c = k / 340, y = k % 340 / 34, x = k % 34;
        tile[c][y][x] = in[c * size + min(y0 + y, width - 1) * width + min(x0 + x, width - 1)];
    }
    __syncthreads();
    const int x = threadIdx.x % 32, y = threadIdx.x / 32;
    float sum[8] = {};
    for (int c = 0; c < 16; ++c)
        for (int k = 0; k < 9; ++k) {
            const float v = tile[c][y + k / 3][x + k % 3];
            for (int f = 0; f < 8; ++f) sum[f] += v * w[f * 144 + c * 9 + k];
        }
    for (int f = 0; f < 8; ++f) out[f * size + (y0 + y) * width + x0 + x] = sum[f];
}

// Tiles of four by four, two apart, as Winograd's product takes them.
extern "C" __global__ void winograd(const float *in, float *out, int width, int tiles) {
    const int tx = blockIdx.x * 32 + threadIdx.x, ty = blockIdx.y * 8 + threadIdx.y, c = blockIdx.z;
    const float *at = in + c * width * width + 2 * ty * width + 2 * tx;
    float d[4][4], t[4][4];
    for (int r = 0; r < 4; ++r)
        for (int k = 0; k < 4; ++k) d[r][k] = at[r * width + k];
    for (int k = 0; k < 4; ++k)
        t[0][k] = d[0][k] - d[2][k], t[1][k] = d[1][k] + d[2][k], t[2][k] = d[2][k] - d[1][k], t[3][k] = d[1][k] - d[3][k];
    const int all = gridDim.z * tiles * tiles;
    float *to = out + (c * tiles + ty) * tiles + tx;
    for (int r = 0; r < 4; ++r) {
        to[(r * 4 + 0) * all] = t[r][0] - t[r][2], to[(r * 4 + 1) * all] = t[r][1] + t[r][2];
        to[(r * 4 + 2) * all] = t[r][2] - t[r][1], to[(r * 4 + 3) * all] = t[r][1] - t[r][3];
    }
}

// A wave on a membrane: a step from the two before, through a tile.
extern "C" __global__ void waves(const float *now, const float *before, float *next, int width) {
    __shared__ float tile[18][34];
    const int x0 = blockIdx.x * 32, y0 = blockIdx.y * 16, pitch = width + 2;
    for (int k = threadIdx.x; k < 612; k += 256) tile[k / 34][k % 34] = now[(y0 + k / 34) * pitch + x0 + k % 34];
    __syncthreads();
    for (int k = threadIdx.x; k < 512; k += 256) {
        const int y = k / 32, x = k % 32, i = (y0 + y + 1) * pitch + x0 + x + 1;
        const float mine = tile[y + 1][x + 1];
        const float around = tile[y][x + 1] + tile[y + 2][x + 1] + tile[y + 1][x] + tile[y + 1][x + 2] - 4 * mine;
        next[i] = 2 * mine - before[i] + 0.2f * around;
    }
}

// A product with a bias, at least nothing: 64 by 64, four by four per thread.
extern "C" __global__ void relu_product(const float *a, const float *b, const float *bias, float *c, int n, int depth) {
    __shared__ float left[16][68], right[16][64];
    const int tx = threadIdx.x % 16, ty = threadIdx.x / 16, row = blockIdx.y * 64, column = blockIdx.x * 64;
    float sum[4][4] = {};
    for (int k0 = 0; k0 < depth; k0 += 16) {
        for (int k = threadIdx.x; k < 1024; k += 256) {
            left[k % 16][k / 16] = a[(row + k / 16) * depth + k0 + k % 16];
            right[k / 64][k % 64] = b[(k0 + k / 64) * n + column + k % 64];
        }
        __syncthreads();
        for (int k = 0; k < 16; ++k) {
            const float4 x = *(const float4 *)&left[k][ty * 4], y = *(const float4 *)&right[k][tx * 4];
            const float xs[4] = {x.x, x.y, x.z, x.w}, ys[4] = {y.x, y.y, y.z, y.w};
            for (int i = 0; i < 4; ++i)
                for (int j = 0; j < 4; ++j) sum[i][j] += xs[i] * ys[j];
        }
        __syncthreads();
    }
    for (int i = 0; i < 4; ++i)
        for (int j = 0; j < 4; ++j)
            c[(row + ty * 4 + i) * n + column + tx * 4 + j] = fmaxf(sum[i][j] + bias[column + tx * 4 + j], 0.0f);
}

// Sixteen rows by a wide matrix, on tensor cores: what a decoder multiplies by.
extern "C" __global__ void skinny(const __half *a, const __half *b, float *c, int n, int depth) {
    using namespace nvcuda::wmma;
    const int column = (blockIdx.x * 4 + threadIdx.x / 32) * 16;
    fragment<accumulator, 16, 16, 16, float> sum;
    fill_fragment(sum, 0.0f);
    for (int k = 0; k < depth; k += 16) {
        fragment<matrix_a, 16, 16, 16, __half, row_major> x;
        fragment<matrix_b, 16, 16, 16, __half, col_major> y;
        load_matrix_sync(x, a + k, depth);
        load_matrix_sync(y, b + column * depth + k, depth);
        mma_sync(sum, x, y, sum);
    }
    store_matrix_sync(c + column, sum, n, mem_row_major);
}

// A filter of 15 along a signal that comes in by asynchronous copies, a stage ahead.
extern "C" __global__ void filtered(const float *in, const float *taps, float *out, int parts) {
    __shared__ float stage[2][1040];
    float tap[15];
    for (int k = 0; k < 15; ++k) tap[k] = taps[k];
    const int first = blockIdx.x * parts * 1024;
    const auto fetch = [&](int part) {
        for (int k = threadIdx.x; k < 260; k += 256)
            __pipeline_memcpy_async(&stage[part & 1][k * 4], in + first + part * 1024 + k * 4, 16);
        __pipeline_commit();
    };
    fetch(0);
    for (int part = 0; part < parts; ++part) {
        if (part + 1 < parts) fetch(part + 1);
        __pipeline_wait_prior(part + 1 < parts);
        __syncthreads();
        for (int k = threadIdx.x; k < 1024; k += 256) {
            float sum = 0;
            for (int t = 0; t < 15; ++t) sum += tap[t] * stage[part & 1][k + t];
            out[first + part * 1024 + k] = sum;
        }
        __syncthreads();
    }
}

// Two blocks swap halves of their tiles.
extern "C" __global__ void __cluster_dims__(2, 1, 1) swapped(const float *in, float *out) {
    __shared__ float tile[2048];
    cg::cluster_group cluster = cg::this_cluster();
    for (int k = threadIdx.x; k < 2048; k += 256) tile[k] = in[blockIdx.x * 2048 + k];
    cluster.sync();
    const float *other = cluster.map_shared_rank(tile, cluster.block_rank() ^ 1);
    for (int k = threadIdx.x; k < 2048; k += 256) out[blockIdx.x * 2048 + k] = k < 1024 ? tile[k] : other[k - 1024];
    cluster.sync();
}

// The mean and deviation of rows of 8192, of which four blocks read a quarter each.
extern "C" __global__ void __cluster_dims__(4, 1, 1) cluster_norm(const float4 *in, float4 *out) {
    __shared__ float parts[2][8], mine[2];
    cg::cluster_group cluster = cg::this_cluster();
    const int at = blockIdx.x * 512 + threadIdx.x, warp = threadIdx.x / 32;
    const float4 v = in[at], w = in[at + 256];
    float sum = v.x + v.y + v.z + v.w + w.x + w.y + w.z + w.w;
    float squares = v.x * v.x + v.y * v.y + v.z * v.z + v.w * v.w + w.x * w.x + w.y * w.y + w.z * w.z + w.w * w.w;
    for (int d = 16; d; d /= 2) sum += __shfl_xor_sync(~0u, sum, d), squares += __shfl_xor_sync(~0u, squares, d);
    if (threadIdx.x % 32 == 0) parts[0][warp] = sum, parts[1][warp] = squares;
    __syncthreads();
    if (threadIdx.x < 2) {
        float all = 0;
        for (int k = 0; k < 8; ++k) all += parts[threadIdx.x][k];
        mine[threadIdx.x] = all;
    }
    cluster.sync();
    sum = squares = 0;
    for (int k = 0; k < 4; ++k) {
        const float *theirs = cluster.map_shared_rank(mine, k);
        sum += theirs[0], squares += theirs[1];
    }
    const float mean = sum / 8192, by = rsqrtf(squares / 8192 - mean * mean + 1e-5f);
    out[at] = make_float4((v.x - mean) * by, (v.y - mean) * by, (v.z - mean) * by, (v.w - mean) * by);
    out[at + 256] = make_float4((w.x - mean) * by, (w.y - mean) * by, (w.z - mean) * by, (w.w - mean) * by);
    cluster.sync();
}
