// The fourth set of timed kernels: tiles of shared memory in several layouts.

#define PAIR(NAME, TEMPLATE, ARGUMENTS, NAMES, ...)                                               \
    extern "C" __global__ void NAME ARGUMENTS { TEMPLATE<__VA_ARGS__> NAMES; }

// A transpose of pairs of floats. HOW: 0 plain, 1 padded, 2 swizzled.
template <int HOW> __device__ __forceinline__ void pairs_turned(const float2 *in, float2 *out,
                                                                int n) {
    __shared__ float2 tile[32][HOW == 1 ? 33 : 32];
    const int x = blockIdx.x * 32, y = blockIdx.y * 32, t = threadIdx.x;
    for (int j = threadIdx.y; j < 32; j += 8)
        tile[j][HOW == 2 ? t ^ j : t] = in[(y + j) * n + x + t];
    __syncthreads();
    for (int j = threadIdx.y; j < 32; j += 8)
        out[(x + j) * n + y + t] = tile[t][HOW == 2 ? j ^ t : j];
}
PAIR(turn2_plain, pairs_turned, (const float2 *in, float2 *out, int n), (in, out, n), 0)
PAIR(turn2_padded, pairs_turned, (const float2 *in, float2 *out, int n), (in, out, n), 1)
PAIR(turn2_swizzled, pairs_turned, (const float2 *in, float2 *out, int n), (in, out, n), 2)

// A transpose of bytes, four to a word when they are written.
template <int PITCH> __device__ __forceinline__ void bytes_turned(const unsigned char *in,
                                                                  unsigned *out, int n) {
    __shared__ unsigned char tile[64][PITCH];
    const int x = blockIdx.x * 64, y = blockIdx.y * 64, t = threadIdx.x;
    for (int k = t; k < 4096; k += 256)
        tile[k / 64][k % 64] = in[(y + k / 64) * n + x + k % 64];
    __syncthreads();
    for (int k = t; k < 1024; k += 256) {
        const int c = k / 16, r = k % 16 * 4;
        out[((x + c) * n + y + r) / 4] = tile[r][c] | tile[r + 1][c] << 8 | tile[r + 2][c] << 16 |
                                         tile[r + 3][c] << 24;
    }
}
PAIR(turn1_plain, bytes_turned, (const unsigned char *in, unsigned *out, int n), (in, out, n), 64)
PAIR(turn1_padded, bytes_turned, (const unsigned char *in, unsigned *out, int n), (in, out, n), 68)

// A product of a matrix with its own transpose: both tiles are read along their rows.
template <int PITCH> __device__ __forceinline__ void own_product(const float *a, float *c, int n) {
    __shared__ float s[32][PITCH], t[32][PITCH];
    const int x = threadIdx.x, y = threadIdx.y;
    float sum[4] = {};
    for (int k = 0; k < n; k += 32) {
        for (int j = 0; j < 32; j += 8) {
            s[y + j][x] = a[(blockIdx.y * 32 + y + j) * n + k + x];
            t[y + j][x] = a[(blockIdx.x * 32 + y + j) * n + k + x];
        }
        __syncthreads();
        for (int i = 0; i < 32; ++i)
            for (int j = 0; j < 4; ++j) sum[j] += s[y + 8 * j][i] * t[x][i];
        __syncthreads();
    }
    for (int j = 0; j < 4; ++j) c[(blockIdx.y * 32 + y + 8 * j) * n + blockIdx.x * 32 + x] = sum[j];
}
PAIR(syrk_plain, own_product, (const float *a, float *c, int n), (a, c, n), 32)
PAIR(syrk_padded, own_product, (const float *a, float *c, int n), (a, c, n), 33)

// Scores of 64 queries and 64 keys of 64 floats, a thread four by four.
template <int PITCH> __device__ __forceinline__ void scored(const float *q, const float *k,
                                                            float *out, int keys) {
    __shared__ float a[64][PITCH], b[64][PITCH];
    const int tx = threadIdx.x % 16, ty = threadIdx.x / 16;
    for (int i = threadIdx.x; i < 4096; i += 256)
        a[i / 64][i % 64] = q[blockIdx.x * 4096 + i];
    for (int tile = 0; tile < keys; tile += 64) {
        for (int i = threadIdx.x; i < 4096; i += 256) b[i / 64][i % 64] = k[tile * 64 + i];
        __syncthreads();
        float sum[4][4] = {};
        for (int d = 0; d < 64; ++d)
            for (int i = 0; i < 4; ++i)
                for (int j = 0; j < 4; ++j) sum[i][j] += a[ty * 4 + i][d] * b[tx * 4 + j][d];
        for (int i = 0; i < 4; ++i)
            for (int j = 0; j < 4; ++j)
                out[(blockIdx.x * 64 + ty * 4 + i) * keys + tile + tx * 4 + j] = sum[i][j];
        __syncthreads();
    }
}
PAIR(scores_plain, scored, (const float *q, const float *k, float *o, int n), (q, k, o, n), 64)
PAIR(scores_padded, scored, (const float *q, const float *k, float *o, int n), (q, k, o, n), 65)

// Elimination in a matrix of 32 x 32 by a warp, a lane a row.
template <int PITCH> __device__ __forceinline__ void eliminated(const float *in, float *out) {
    __shared__ float m[4][32 * PITCH];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    float *a = m[warp];
    const int first = (blockIdx.x * 4 + warp) * 1024;
    for (int r = 0; r < 32; ++r) a[r * PITCH + lane] = in[first + r * 32 + lane];
    a[lane * PITCH + lane] += 40;
    __syncwarp();
    for (int k = 0; k < 31; ++k) {
        const float by = lane > k ? a[lane * PITCH + k] / a[k * PITCH + k] : 0;
        for (int c = k; c < 32; ++c) a[lane * PITCH + c] -= by * a[k * PITCH + c];
        __syncwarp();
    }
    for (int r = 0; r < 32; ++r) out[first + r * 32 + lane] = a[r * PITCH + lane];
}
PAIR(lu_plain, eliminated, (const float *in, float *out), (in, out), 32)
PAIR(lu_padded, eliminated, (const float *in, float *out), (in, out), 33)

// Counters of 16 bins for each thread: side by side, or a thread's own side by side.
template <int BINS_APART, int THREADS_APART>
__device__ __forceinline__ void counted(const unsigned *in, unsigned *out, int words) {
    __shared__ unsigned bins[16 * 257];
    unsigned *own = bins + threadIdx.x * THREADS_APART;
    for (int b = 0; b < 16; ++b) own[b * BINS_APART] = 0;
    for (int k = 0; k < words; ++k) {
        unsigned word = in[(k * gridDim.x + blockIdx.x) * blockDim.x + threadIdx.x];
        for (int d = 0; d < 8; ++d, word >>= 4) ++own[(word & 15) * BINS_APART];
    }
    __syncthreads();
    const int bin = threadIdx.x / 16;
    unsigned sum = 0;
    for (int k = threadIdx.x % 16; k < 256; k += 16)
        sum += bins[bin * BINS_APART + k * THREADS_APART];
    for (int d = 8; d; d /= 2) sum += __shfl_down_sync(~0u, sum, d, 16);
    if (threadIdx.x % 16 == 0) atomicAdd(out + bin, sum);
}
PAIR(private_rows, counted, (const unsigned *in, unsigned *o, int n), (in, o, n), 1, 16)
PAIR(private_columns, counted, (const unsigned *in, unsigned *o, int n), (in, o, n), 256, 1)

// Products of bytes on tensor cores, whose rows of 64 bytes ldmatrix reads.
template <int PITCH> __device__ __forceinline__ void byte_products(const uint4 *a, const uint4 *b,
                                                                   int *c, int n) {
    __shared__ __align__(16) unsigned char s[64 * PITCH], t[64 * PITCH];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    int sum[8][4] = {};
    for (int k = 0; k < n; k += 64) {
        for (int i = threadIdx.x; i < 256; i += 128) {
            const int row = i / 4, part = i % 4;
            *(uint4 *)(s + row * PITCH + part * 16) = a[((blockIdx.y * 64 + row) * n + k) / 16 + part];
            *(uint4 *)(t + row * PITCH + part * 16) = b[((blockIdx.x * 64 + row) * n + k) / 16 + part];
        }
        __syncthreads();
        for (int kk = 0; kk < 64; kk += 32) {
            unsigned x[4], y[4];
            const unsigned at = (unsigned)__cvta_generic_to_shared(
                s + (warp * 16 + lane % 16) * PITCH + kk + lane / 16 * 16);
            asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                         : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3]) : "r"(at));
            for (int j = 0; j < 4; ++j) {
                const unsigned to = (unsigned)__cvta_generic_to_shared(
                    t + (j * 16 + lane % 8 + lane / 16 * 8) * PITCH + kk + lane / 8 % 2 * 16);
                asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                             : "=r"(y[0]), "=r"(y[1]), "=r"(y[2]), "=r"(y[3]) : "r"(to));
                for (int h = 0; h < 2; ++h)
                    asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 "
                                 "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                                 : "+r"(sum[2 * j + h][0]), "+r"(sum[2 * j + h][1]),
                                   "+r"(sum[2 * j + h][2]), "+r"(sum[2 * j + h][3])
                                 : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]),
                                   "r"(y[2 * h]), "r"(y[2 * h + 1]));
            }
        }
        __syncthreads();
    }
    for (int j = 0; j < 8; ++j)
        for (int e = 0; e < 4; ++e)
            c[(blockIdx.y * 64 + warp * 16 + lane / 4 + e / 2 * 8) * n + blockIdx.x * 64 + j * 8 +
              lane % 4 * 2 + e % 2] = sum[j][e];
}
PAIR(bytes_plain, byte_products, (const uint4 *a, const uint4 *b, int *c, int n), (a, b, c, n), 64)
PAIR(bytes_padded, byte_products, (const uint4 *a, const uint4 *b, int *c, int n), (a, b, c, n), 80)

// The largest of 7 x 7 pixels, first along rows, then along columns.
extern "C" __global__ void dilated(const float *in, float *out, int n) {
    __shared__ float tile[38][38], rows[38][33];
    const int x = blockIdx.x * 32, y = blockIdx.y * 32, t = threadIdx.y * 32 + threadIdx.x;
    const int p = n + 6;
    for (int k = t; k < 38 * 38; k += 256) tile[k / 38][k % 38] = in[(y + k / 38) * p + x + k % 38];
    __syncthreads();
    for (int j = threadIdx.y; j < 38; j += 8) {
        float most = tile[j][threadIdx.x];
        for (int d = 1; d < 7; ++d) most = fmaxf(most, tile[j][threadIdx.x + d]);
        rows[j][threadIdx.x] = most;
    }
    __syncthreads();
    for (int j = threadIdx.y; j < 32; j += 8) {
        float most = rows[j][threadIdx.x];
        for (int d = 1; d < 7; ++d) most = fmaxf(most, rows[j + d][threadIdx.x]);
        out[(y + j) * n + x + threadIdx.x] = most;
    }
}

// 3 x 3 weights for each of 16 channels in and 8 out: weights are broadcast.
extern "C" __global__ void layers(const float *in, const float *weights, float *out, int n) {
    __shared__ float w[8 * 16 * 9], tile[10][34];
    const int t = threadIdx.y * 32 + threadIdx.x, p = n + 2;
    for (int k = t; k < 1152; k += 256) w[k] = weights[k];
    float sum[8] = {};
    for (int c = 0; c < 16; ++c) {
        __syncthreads();
        for (int k = t; k < 340; k += 256)
            tile[k / 34][k % 34] =
                in[(c * p + blockIdx.y * 8 + k / 34) * p + blockIdx.x * 32 + k % 34];
        __syncthreads();
        for (int e = 0; e < 9; ++e) {
            const float value = tile[threadIdx.y + e / 3][threadIdx.x + e % 3];
            for (int o = 0; o < 8; ++o) sum[o] += value * w[(o * 16 + c) * 9 + e];
        }
    }
    for (int o = 0; o < 8; ++o)
        out[(o * n + blockIdx.y * 8 + threadIdx.y) * n + blockIdx.x * 32 + threadIdx.x] = sum[o];
}

// Many products of 16 x 16, one for each block.
extern "C" __global__ void batch(const float *a, const float *b, float *c) {
    __shared__ float s[16][16], t[16][17];
    const int x = threadIdx.x, y = threadIdx.y, at = blockIdx.x * 256 + y * 16 + x;
    s[y][x] = a[at], t[y][x] = b[at];
    __syncthreads();
    float sum = 0;
    for (int k = 0; k < 16; ++k) sum += s[y][k] * t[k][x];
    c[at] = sum;
}

// A filter of 17 taps over tiles that cp.async brings while the one before is used.
extern "C" __global__ void piped(const float *in, const float *taps, float *out, int tiles) {
    __shared__ __align__(16) float tile[2][288], w[17];
    const int t = threadIdx.x;
    const float *from = in + (long long)blockIdx.x * tiles * 256;
    float *to = out + (long long)blockIdx.x * tiles * 256;
    if (t < 17) w[t] = taps[t];
    const unsigned place = (unsigned)__cvta_generic_to_shared(&tile[0][0]);
    auto bring = [&](int k) {
        if (t < 68)
            asm volatile("cp.async.ca.shared.global [%0], [%1], 16;" ::"r"(place + (k & 1) * 1152 +
                                                                          t * 16),
                         "l"(from + k * 256 + t * 4));
        asm volatile("cp.async.commit_group;");
    };
    bring(0);
    for (int k = 0; k < tiles; ++k) {
        bring(min(k + 1, tiles - 1));
        asm volatile("cp.async.wait_group 1;");
        __syncthreads();
        float sum = 0;
        for (int d = 0; d < 17; ++d) sum += tile[k & 1][t + d] * w[d];
        to[k * 256 + t] = sum;
        __syncthreads();
    }
}
