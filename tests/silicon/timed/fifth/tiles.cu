// The fifth set of timed kernels: tiles of shared memory in several layouts.
#include <cuda_fp16.h>

#define NAMED(NAME, TEMPLATE, ARGUMENTS, NAMES, ...)                                               \
    extern "C" __global__ void NAME ARGUMENTS { TEMPLATE<__VA_ARGS__> NAMES; }

// out = a + the transpose of b. HOW: 0 plain, 1 padded, 2 swizzled.
template <int HOW> __device__ __forceinline__ void added(const float *a, const float *b, float *out,
                                                         int n) {
    __shared__ float tile[32][HOW == 1 ? 33 : 32];
    const int x = blockIdx.x * 32, y = blockIdx.y * 32, t = threadIdx.x;
    for (int j = threadIdx.y; j < 32; j += 8)
        tile[j][HOW == 2 ? t ^ j : t] = b[(x + j) * n + y + t];
    __syncthreads();
    for (int j = threadIdx.y; j < 32; j += 8)
        out[(y + j) * n + x + t] = a[(y + j) * n + x + t] + tile[t][HOW == 2 ? j ^ t : j];
}
NAMED(added_plain, added, (const float *a, const float *b, float *o, int n), (a, b, o, n), 0)
NAMED(added_padded, added, (const float *a, const float *b, float *o, int n), (a, b, o, n), 1)
NAMED(added_swizzled, added, (const float *a, const float *b, float *o, int n), (a, b, o, n), 2)

// C = A B^T of halves: two stages of cp.async, ldmatrix and mma; a block 64 x 64, a warp 32 x 32.
// HOW: 0 rows of 32 halves, 1 rows of 40, 2 swizzled.
template <int HOW> __device__ __forceinline__ int place(int row, int part) {
    return HOW == 1 ? row * 40 + part * 8
         : HOW == 2 ? row * 32 + (part ^ row / 2 % 4) * 8 : row * 32 + part * 8;
}
__device__ __forceinline__ unsigned shared_address(const void *p) {
    return (unsigned)__cvta_generic_to_shared(p);
}
template <int HOW> __device__ __forceinline__ void half_products(const half *a, const half *b,
                                                                 float *c, int n) {
    constexpr int SIZE = 64 * (HOW == 1 ? 40 : 32);
    __shared__ __align__(128) half s[2][SIZE], t[2][SIZE];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, wy = warp / 2 * 32, wx = warp % 2 * 32;
    float sum[2][4][4] = {};
    auto fetch = [&](int stage, int k) {
        for (int i = threadIdx.x; i < 256; i += 128) {
            const int row = i / 4, part = i % 4;
            asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(
                             shared_address(&s[stage][place<HOW>(row, part)])),
                         "l"(a + (blockIdx.y * 64 + row) * n + k + part * 8));
            asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(
                             shared_address(&t[stage][place<HOW>(row, part)])),
                         "l"(b + (blockIdx.x * 64 + row) * n + k + part * 8));
        }
        asm volatile("cp.async.commit_group;");
    };
    fetch(0, 0);
    for (int k = 0; k < n; k += 32) {
        const int stage = k / 32 % 2;
        if (k + 32 < n) {
            fetch(1 - stage, k + 32);
            asm volatile("cp.async.wait_group 1;");
        } else {
            asm volatile("cp.async.wait_group 0;");
        }
        __syncthreads();
        for (int part = 0; part < 4; part += 2) {
            unsigned x[2][4], y[2][4];
            for (int i = 0; i < 2; ++i) {
                asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                             : "=r"(x[i][0]), "=r"(x[i][1]), "=r"(x[i][2]), "=r"(x[i][3])
                             : "r"(shared_address(&s[stage][place<HOW>(wy + i * 16 + lane % 16,
                                                                       part + lane / 16)])));
                asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                             : "=r"(y[i][0]), "=r"(y[i][1]), "=r"(y[i][2]), "=r"(y[i][3])
                             : "r"(shared_address(&t[stage][place<HOW>(wx + i * 16 + lane % 16,
                                                                       part + lane / 16)])));
            }
            for (int i = 0; i < 2; ++i)
                for (int j = 0; j < 4; ++j)
                    asm volatile(
                        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, "
                        "{%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                        : "+f"(sum[i][j][0]), "+f"(sum[i][j][1]), "+f"(sum[i][j][2]),
                          "+f"(sum[i][j][3])
                        : "r"(x[i][0]), "r"(x[i][1]), "r"(x[i][2]), "r"(x[i][3]),
                          "r"(y[j / 2][j % 2]), "r"(y[j / 2][2 + j % 2]));
        }
        __syncthreads();
    }
    for (int i = 0; i < 2; ++i)
        for (int j = 0; j < 4; ++j) {
            float *to = c + (blockIdx.y * 64 + wy + i * 16 + lane / 4) * n + blockIdx.x * 64 + wx +
                        j * 8 + lane % 4 * 2;
            *(float2 *)to = make_float2(sum[i][j][0], sum[i][j][1]);
            *(float2 *)(to + 8 * n) = make_float2(sum[i][j][2], sum[i][j][3]);
        }
}
NAMED(halves_plain, half_products, (const half *a, const half *b, float *c, int n), (a, b, c, n), 0)
NAMED(halves_padded, half_products, (const half *a, const half *b, float *c, int n), (a, b, c, n), 1)
NAMED(halves_swizzled, half_products, (const half *a, const half *b, float *c, int n),
      (a, b, c, n), 2)

// C = A B^T in floats: rows of 16 along k, which lanes read four at a time. A thread 4 x 4.
template <int PITCH> __device__ __forceinline__ void along_k(const float *a, const float *b, float *c,
                                                             int n) {
    __shared__ __align__(16) float s[64 * PITCH], t[64 * PITCH];
    const int tx = threadIdx.x % 16, ty = threadIdx.x / 16, row = threadIdx.x / 4,
              part = threadIdx.x % 4 * 4;
    float sum[4][4] = {};
    for (int k = 0; k < n; k += 16) {
        *(float4 *)&s[row * PITCH + part] =
            *(const float4 *)&a[(blockIdx.y * 64 + row) * n + k + part];
        *(float4 *)&t[row * PITCH + part] =
            *(const float4 *)&b[(blockIdx.x * 64 + row) * n + k + part];
        __syncthreads();
        for (int kk = 0; kk < 16; kk += 4) {
            float4 x[4], y[4];
            for (int i = 0; i < 4; ++i) {
                x[i] = *(const float4 *)&s[(ty + 16 * i) * PITCH + kk];
                y[i] = *(const float4 *)&t[(tx + 16 * i) * PITCH + kk];
            }
            for (int i = 0; i < 4; ++i)
                for (int j = 0; j < 4; ++j)
                    sum[i][j] += x[i].x * y[j].x + x[i].y * y[j].y + x[i].z * y[j].z +
                                 x[i].w * y[j].w;
        }
        __syncthreads();
    }
    for (int i = 0; i < 4; ++i)
        for (int j = 0; j < 4; ++j)
            c[(blockIdx.y * 64 + ty + 16 * i) * n + blockIdx.x * 64 + tx + 16 * j] = sum[i][j];
}
NAMED(along_plain, along_k, (const float *a, const float *b, float *c, int n), (a, b, c, n), 16)
NAMED(along_padded, along_k, (const float *a, const float *b, float *c, int n), (a, b, c, n), 20)

// A tile of the alignment of two strings: a warp walks its diagonals.
template <int PITCH> __device__ __forceinline__ void aligned_(const int *a, const int *b, int *out) {
    __shared__ int score[4][33 * PITCH];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const int first = (blockIdx.x * 4 + warp) * 32;
    int *m = score[warp];
    const int mine = a[first + lane] & 3;
    m[(lane + 1) * PITCH] = -lane - 1, m[lane + 1] = -lane - 1;
    if (lane == 0) m[0] = 0;
    __syncwarp();
    for (int d = 0; d < 63; ++d) {
        const int j = d - lane;
        if (j >= 0 && j < 32) {
            int *at = m + (lane + 1) * PITCH + j + 1;
            const int same = at[-PITCH - 1] + (mine == (b[first + j] & 3) ? 2 : -1);
            *at = max(same, max(at[-1], at[-PITCH]) - 1);
        }
        __syncwarp();
    }
    for (int r = 0; r < 32; ++r) out[(first + r) * 32 + lane] = m[(r + 1) * PITCH + lane + 1];
}
NAMED(aligned_plain, aligned_, (const int *a, const int *b, int *o), (a, b, o), 33)
NAMED(aligned_padded, aligned_, (const int *a, const int *b, int *o), (a, b, o), 34)

// Cosine transforms of blocks of 8 x 8: a thread a row, then a thread a column.
template <int PITCH> __device__ __forceinline__ void cosines(const float *in, float *out) {
    __shared__ float tile[32 * 8 * PITCH];
    const int t = threadIdx.x, first = blockIdx.x * 2048;
    auto transform = [](float (&v)[8]) {
        float s[4], d[4];
        for (int i = 0; i < 4; ++i) s[i] = v[i] + v[7 - i], d[i] = v[i] - v[7 - i];
        const float a = s[0] + s[3], b = s[1] + s[2], p = s[0] - s[3], q = s[1] - s[2];
        v[0] = 0.35355339f * (a + b), v[4] = 0.35355339f * (a - b);
        v[2] = 0.46193977f * p + 0.19134172f * q, v[6] = 0.19134172f * p - 0.46193977f * q;
        v[1] = 0.49039264f * d[0] + 0.41573481f * d[1] + 0.27778512f * d[2] + 0.09754516f * d[3];
        v[3] = 0.41573481f * d[0] - 0.09754516f * d[1] - 0.49039264f * d[2] - 0.27778512f * d[3];
        v[5] = 0.27778512f * d[0] - 0.49039264f * d[1] + 0.09754516f * d[2] + 0.41573481f * d[3];
        v[7] = 0.09754516f * d[0] - 0.27778512f * d[1] + 0.41573481f * d[2] - 0.49039264f * d[3];
    };
    for (int i = t; i < 2048; i += 256) tile[i / 8 * PITCH + i % 8] = in[first + i];
    __syncthreads();
    float v[8];
    for (int i = 0; i < 8; ++i) v[i] = tile[t * PITCH + i];
    transform(v);
    for (int i = 0; i < 8; ++i) tile[t * PITCH + i] = v[i];
    __syncthreads();
    float *mine = tile + t / 8 * 8 * PITCH + t % 8;
    for (int i = 0; i < 8; ++i) v[i] = mine[i * PITCH];
    transform(v);
    for (int i = 0; i < 8; ++i) mine[i * PITCH] = v[i];
    __syncthreads();
    for (int i = t; i < 2048; i += 256) out[first + i] = tile[i / 8 * PITCH + i % 8];
}
NAMED(cosines_plain, cosines, (const float *in, float *out), (in, out), 8)
NAMED(cosines_padded, cosines, (const float *in, float *out), (in, out), 9)

// Fourier transforms of 64 points, eight threads each: radix 8, a turn of the tile, radix 8.
template <int PITCH> __device__ __forceinline__ void fourier64(const float2 *in, float2 *out) {
    __shared__ float re[32 * 8 * PITCH], im[32 * 8 * PITCH];
    const int t = threadIdx.x, own = t / 8 * 8 * PITCH, j = t % 8;
    float2 v[8];
    auto radix8 = [&] {
        for (int half_ = 1; half_ < 8; half_ *= 2)
            for (int i = 0; i < 4; ++i) {
                const int k = i & half_ - 1, low = 2 * i - k, high = low + half_;
                float s, c;
                sincospif(-(float)k / half_, &s, &c);
                const float p = v[high].x * c - v[high].y * s, q = v[high].x * s + v[high].y * c;
                v[high] = make_float2(v[low].x - p, v[low].y - q);
                v[low] = make_float2(v[low].x + p, v[low].y + q);
            }
    };
    for (int i = 0; i < 8; ++i) {
        const int reversed = (i & 1) * 4 + (i & 2) + i / 4;
        v[reversed] = in[blockIdx.x * 2048 + t / 8 * 64 + i * 8 + j];
    }
    radix8();
    for (int i = 0; i < 8; ++i) {
        float s, c;
        __sincosf(-6.2831853f / 64 * i * j, &s, &c);
        re[own + j * PITCH + i] = v[i].x * c - v[i].y * s;
        im[own + j * PITCH + i] = v[i].x * s + v[i].y * c;
    }
    __syncthreads();
    for (int i = 0; i < 8; ++i) {
        const int reversed = (i & 1) * 4 + (i & 2) + i / 4;
        v[reversed] = make_float2(re[own + i * PITCH + j], im[own + i * PITCH + j]);
    }
    radix8();
    for (int i = 0; i < 8; ++i) out[blockIdx.x * 2048 + t / 8 * 64 + i * 8 + j] = v[i];
}
NAMED(fourier64_plain, fourier64, (const float2 *in, float2 *out), (in, out), 8)
NAMED(fourier64_padded, fourier64, (const float2 *in, float2 *out), (in, out), 9)

// Counters of eight bins, a copy for each lane: copies eight words apart, or nine.
template <int PITCH> __device__ __forceinline__ void copies(const unsigned *in, unsigned *out) {
    __shared__ unsigned bins[32 * PITCH];
    for (int i = threadIdx.x; i < 32 * PITCH; i += 256) bins[i] = 0;
    __syncthreads();
    for (int k = 0; k < 16; ++k) {
        const unsigned word = in[(blockIdx.x * 16 + k) * 256 + threadIdx.x];
        unsigned *own = bins + threadIdx.x % 32 * PITCH;
        for (int shift = 0; shift < 32; shift += 4) atomicAdd(own + (word >> shift & 7), 1);
    }
    __syncthreads();
    if (threadIdx.x < 8) {
        unsigned sum = 0;
        for (int c = 0; c < 32; ++c) sum += bins[c * PITCH + threadIdx.x];
        out[blockIdx.x * 8 + threadIdx.x] = sum;
    }
}
NAMED(copies_plain, copies, (const unsigned *in, unsigned *out), (in, out), 8)
NAMED(copies_padded, copies, (const unsigned *in, unsigned *out), (in, out), 9)

// The game of life, four generations of a tile of 32 x 32 with its border, in bytes.
extern "C" __global__ void life(const unsigned char *in, unsigned char *out, int n) {
    __shared__ unsigned char cells[2][40][48];
    const int x0 = blockIdx.x * 32, y0 = blockIdx.y * 32;
    for (int i = threadIdx.x; i < 1600; i += 256)
        cells[0][i / 40][i % 40] = in[(y0 + i / 40) * (n + 8) + x0 + i % 40] & 1;
    for (int turn = 0; turn < 4; ++turn) {
        __syncthreads();
        const int size = 38 - 2 * turn;
        for (int i = threadIdx.x; i < size * size; i += 256) {
            const int x = i % size + turn + 1, y = i / size + turn + 1;
            const auto &c = cells[turn % 2];
            const int sum = c[y - 1][x - 1] + c[y - 1][x] + c[y - 1][x + 1] + c[y][x - 1] +
                            c[y][x + 1] + c[y + 1][x - 1] + c[y + 1][x] + c[y + 1][x + 1];
            cells[1 - turn % 2][y][x] = sum == 3 || (sum == 2 && c[y][x]);
        }
    }
    __syncthreads();
    for (int i = threadIdx.x; i < 1024; i += 256)
        out[(y0 + i / 32) * n + x0 + i % 32] = cells[0][i / 32 + 4][i % 32 + 4];
}

// Convolution of 8 channels into 8, 3 x 3, a tile of 32 x 8 with its border in shared memory.
extern "C" __global__ void convolved(const float *in, const float *weights, float *out, int n) {
    __shared__ float tile[10][34], w[8 * 8 * 9];
    const int t = threadIdx.y * 32 + threadIdx.x, row = n + 2;
    for (int i = t; i < 576; i += 256) w[i] = weights[i];
    float sum[8] = {};
    for (int c = 0; c < 8; ++c) {
        __syncthreads();
        for (int i = t; i < 340; i += 256)
            tile[i / 34][i % 34] =
                in[(c * row + blockIdx.y * 8 + i / 34) * row + blockIdx.x * 32 + i % 34];
        __syncthreads();
        for (int k = 0; k < 9; ++k) {
            const float v = tile[threadIdx.y + k / 3][threadIdx.x + k % 3];
            for (int o = 0; o < 8; ++o) sum[o] += v * w[(o * 8 + c) * 9 + k];
        }
    }
    for (int o = 0; o < 8; ++o)
        out[(o * n + blockIdx.y * 8 + threadIdx.y) * n + blockIdx.x * 32 + threadIdx.x] = sum[o];
}
