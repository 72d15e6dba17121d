// The sixth set of timed kernels: tiles of shared memory in several layouts.
#include <cuda_fp16.h>

#define NAMED(NAME, TEMPLATE, ARGUMENTS, NAMES, ...)                                               \
    extern "C" __global__ void NAME ARGUMENTS { TEMPLATE<__VA_ARGS__> NAMES; }

__device__ __forceinline__ unsigned shared_address(const void *p) {
    return (unsigned)__cvta_generic_to_shared(p);
}

// Heads before positions: each block turns 64 halves of 64 rows, two at a time.
template <int PITCH> __device__ __forceinline__ void turned_heads(const half2 *in, half *out, int n) {
    __shared__ half tile[64][PITCH];
    const int x = blockIdx.x * 64, y = blockIdx.y * 64, t = threadIdx.x;
    for (int j = threadIdx.y; j < 64; j += 8) {
        const half2 v = in[((y + j) * n + x) / 2 + t];
        *(half2 *)&tile[j][2 * t] = v;
    }
    __syncthreads();
    for (int j = threadIdx.y; j < 64; j += 8)
        *(half2 *)&out[(x + j) * n + y + 2 * t] = __halves2half2(tile[2 * t][j], tile[2 * t + 1][j]);
}
NAMED(turned_heads_plain, turned_heads, (const half2 *in, half *out, int n), (in, out, n), 64)
NAMED(turned_heads_padded, turned_heads, (const half2 *in, half *out, int n), (in, out, n), 66)

// C = A B in floats, tiles of 32 x 32 and a value a thread, B turned as it is stored.
template <int PITCH> __device__ __forceinline__ void squares(const float *a, const float *b, float *c,
                                                             int n) {
    __shared__ float s[32][32], t[32][PITCH];
    const int x = threadIdx.x, y = threadIdx.y;
    float sum = 0;
    for (int k = 0; k < n; k += 32) {
        s[y][x] = a[(blockIdx.y * 32 + y) * n + k + x];
        t[x][y] = b[(k + y) * n + blockIdx.x * 32 + x];
        __syncthreads();
        for (int i = 0; i < 32; ++i) sum += s[y][i] * t[x][i];
        __syncthreads();
    }
    c[(blockIdx.y * 32 + y) * n + blockIdx.x * 32 + x] = sum;
}
NAMED(squares_plain, squares, (const float *a, const float *b, float *c, int n), (a, b, c, n), 32)
NAMED(squares_padded, squares, (const float *a, const float *b, float *c, int n), (a, b, c, n), 33)

// The sums of the columns of tiles: lanes read down a column.
template <int PITCH> __device__ __forceinline__ void columns(const float *in, float *out, int n) {
    __shared__ float tile[64 * PITCH];
    for (int i = threadIdx.x; i < 64 * 32; i += 128)
        tile[i / 32 * PITCH + i % 32] = in[(blockIdx.y * 64 + i / 32) * n + blockIdx.x * 32 + i % 32];
    __syncthreads();
    float sum = 0;
    const int row = threadIdx.x / 2, half_ = threadIdx.x % 2 * 16;
    for (int k = 0; k < 16; ++k) sum += tile[row * PITCH + half_ + k];
    sum += __shfl_xor_sync(~0u, sum, 1);
    if (threadIdx.x % 2 == 0) out[(blockIdx.y * 64 + row) * gridDim.x + blockIdx.x] = sum;
}
NAMED(columns_plain, columns, (const float *in, float *out, int n), (in, out, n), 32)
NAMED(columns_padded, columns, (const float *in, float *out, int n), (in, out, n), 33)

// 32 x 32 systems, factored in place: a block a system, a thread a row.
template <int PITCH> __device__ __forceinline__ void factored(const float *in, float *out) {
    __shared__ float m[32 * PITCH];
    const int lane = threadIdx.x;
    for (int k = 0; k < 32; ++k) m[k * PITCH + lane] = in[blockIdx.x * 1024 + k * 32 + lane] + (k == lane ? 32 : 0);
    __syncwarp();
    for (int k = 0; k < 31; ++k) {
        if (lane > k) {
            const float by = m[lane * PITCH + k] / m[k * PITCH + k];
            m[lane * PITCH + k] = by;
            for (int j = k + 1; j < 32; ++j) m[lane * PITCH + j] -= by * m[k * PITCH + j];
        }
        __syncwarp();
    }
    for (int k = 0; k < 32; ++k) out[blockIdx.x * 1024 + k * 32 + lane] = m[k * PITCH + lane];
}
NAMED(factored_plain, factored, (const float *in, float *out), (in, out), 32)
NAMED(factored_padded, factored, (const float *in, float *out), (in, out), 33)

// Haar wavelets of 2048 values: strides double at each level.
template <int SHIFT> __device__ __forceinline__ void wavelets(const float *in, float *out) {
    __shared__ float v[2048 + 2048 / 32];
    auto at = [](int i) { return SHIFT ? i + (i >> 5) : i; };
    for (int i = threadIdx.x; i < 2048; i += 256) v[at(i)] = in[blockIdx.x * 2048 + i];
    for (int step = 1; step < 2048; step *= 2) {
        __syncthreads();
        for (int i = threadIdx.x; i < 1024 / step; i += 256) {
            const float a = v[at(2 * i * step)], b = v[at(2 * i * step + step)];
            v[at(2 * i * step)] = (a + b) * 0.70710678f, v[at(2 * i * step + step)] = (a - b) * 0.70710678f;
        }
    }
    __syncthreads();
    for (int i = threadIdx.x; i < 2048; i += 256) out[blockIdx.x * 2048 + i] = v[at(i)];
}
NAMED(wavelets_plain, wavelets, (const float *in, float *out), (in, out), 0)
NAMED(wavelets_padded, wavelets, (const float *in, float *out), (in, out), 1)

// Products of halves along k by mma, rows of 64 copied in three stages. HOW: 0 plain, 1 rows of 144
// bytes, 2 swizzled.
template <int HOW> __device__ __forceinline__ int place(int row, int part) {
    return HOW == 1 ? row * 72 + part * 8 : row * 64 + (HOW == 2 ? part ^ row % 8 : part) * 8;
}

template <int HOW> __device__ __forceinline__ void staged_products(const half *a, const half *b, float *c,
                                                                   int n) {
    extern __shared__ __align__(128) half s[];
    constexpr int SIZE = 64 * (HOW == 1 ? 72 : 64);
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, wy = warp / 2 * 32, wx = warp % 2 * 32;
    float sum[2][4][4] = {};
    auto fetch = [&](int k) {
        half *to = s + k / 64 % 3 * 2 * SIZE;
        if (k < n)
            for (int i = threadIdx.x; i < 512; i += 128) {
                const int row = i / 8, part = i % 8;
                asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared_address(to + place<HOW>(row, part))),
                             "l"(a + (blockIdx.y * 64 + row) * n + k + part * 8));
                asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared_address(to + SIZE + place<HOW>(row, part))),
                             "l"(b + (blockIdx.x * 64 + row) * n + k + part * 8));
            }
        asm volatile("cp.async.commit_group;");
    };
    fetch(0), fetch(64);
    for (int k = 0; k < n; k += 64) {
        asm volatile("cp.async.wait_group 1;");
        __syncthreads();
        fetch(k + 128);
        const half *x_ = s + k / 64 % 3 * 2 * SIZE, *y_ = x_ + SIZE;
#pragma unroll
        for (int part = 0; part < 8; part += 2) {
            unsigned x[2][4], y[2][4];
            for (int i = 0; i < 2; ++i) {
                asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                             : "=r"(x[i][0]), "=r"(x[i][1]), "=r"(x[i][2]), "=r"(x[i][3])
                             : "r"(shared_address(x_ + place<HOW>(wy + i * 16 + lane % 16, part + lane / 16))));
                asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                             : "=r"(y[i][0]), "=r"(y[i][1]), "=r"(y[i][2]), "=r"(y[i][3])
                             : "r"(shared_address(y_ + place<HOW>(wx + i * 16 + lane % 16, part + lane / 16))));
            }
            for (int i = 0; i < 2; ++i)
                for (int j = 0; j < 4; ++j)
                    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, "
                                 "{%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                                 : "+f"(sum[i][j][0]), "+f"(sum[i][j][1]), "+f"(sum[i][j][2]), "+f"(sum[i][j][3])
                                 : "r"(x[i][0]), "r"(x[i][1]), "r"(x[i][2]), "r"(x[i][3]), "r"(y[j / 2][j % 2]),
                                   "r"(y[j / 2][2 + j % 2]));
        }
    }
    for (int i = 0; i < 2; ++i)
        for (int j = 0; j < 4; ++j) {
            float *to = c + (blockIdx.y * 64 + wy + i * 16 + lane / 4) * n + blockIdx.x * 64 + wx + j * 8 + lane % 4 * 2;
            *(float2 *)to = make_float2(sum[i][j][0], sum[i][j][1]);
            *(float2 *)(to + 8 * n) = make_float2(sum[i][j][2], sum[i][j][3]);
        }
}
NAMED(staged_products_plain, staged_products, (const half *a, const half *b, float *c, int n), (a, b, c, n), 0)
NAMED(staged_products_padded, staged_products, (const half *a, const half *b, float *c, int n), (a, b, c, n), 1)
NAMED(staged_products_swizzled, staged_products, (const half *a, const half *b, float *c, int n), (a, b, c, n), 2)

// Structures of four floats in shared memory, read a member at a time, or a plane for each member.
template <bool PLANES> __device__ __forceinline__ void moments(const float4 *in, float *out) {
    __shared__ float s[4 * 512];
    for (int i = threadIdx.x; i < 512; i += 256) {
        const float4 v = in[blockIdx.x * 512 + i];
        if (PLANES) s[i] = v.x, s[512 + i] = v.y, s[1024 + i] = v.z, s[1536 + i] = v.w;
        else s[4 * i] = v.x, s[4 * i + 1] = v.y, s[4 * i + 2] = v.z, s[4 * i + 3] = v.w;
    }
    __syncthreads();
    float sum = 0;
    for (int k = 0; k < 512; k += 8) {
        const int i = (threadIdx.x + k) % 512;
        for (int m = 0; m < 4; ++m) {
            const float v = PLANES ? s[m * 512 + i] : s[4 * i + m];
            sum += v * v * (m + 1);
            if (sum > 1e6f) sum -= 1e6f;
        }
    }
    out[blockIdx.x * 256 + threadIdx.x] = sum;
}
NAMED(moments_plain, moments, (const float4 *in, float *out), (in, out), false)
NAMED(moments_planes, moments, (const float4 *in, float *out), (in, out), true)

// A warp filters rows with taps that lanes keep: 16 rows of 128, read with a stride of a row.
template <int PITCH> __device__ __forceinline__ void recursive(const float *in, float *out, int n) {
    __shared__ float s[64 * PITCH];
    for (int i = threadIdx.x; i < 64 * 64; i += 64) s[i / 64 * PITCH + i % 64] = in[(blockIdx.x * 64 + i / 64) * n + blockIdx.y * 64 + i % 64];
    __syncthreads();
    float y = 0;
    for (int k = 0; k < 64; ++k) y = 0.9f * y + s[threadIdx.x * PITCH + k], s[threadIdx.x * PITCH + k] = y;
    __syncthreads();
    for (int i = threadIdx.x; i < 64 * 64; i += 64) out[(blockIdx.x * 64 + i / 64) * n + blockIdx.y * 64 + i % 64] = s[i / 64 * PITCH + i % 64];
}
NAMED(recursive_plain, recursive, (const float *in, float *out, int n), (in, out, n), 64)
NAMED(recursive_padded, recursive, (const float *in, float *out, int n), (in, out, n), 65)

// C = A B in floats: 64 x 64 of a block, 8 x 4 a thread, the next tile on its way in registers.
extern "C" __global__ void __launch_bounds__(128) ahead(const float *a, const float *b, float *c, int n) {
    __shared__ __align__(16) float s[8][68], t[8][64];
    const int tx = threadIdx.x % 16, ty = threadIdx.x / 16, row = threadIdx.x / 2, part = threadIdx.x % 2 * 4;
    float sum[8][4] = {};
    float4 x = *(const float4 *)&a[(blockIdx.y * 64 + row) * n + part];
    float4 y = *(const float4 *)&b[(threadIdx.x / 16) * n + blockIdx.x * 64 + threadIdx.x % 16 * 4];
    for (int k = 0; k < n; k += 8) {
        s[part][row] = x.x, s[part + 1][row] = x.y, s[part + 2][row] = x.z, s[part + 3][row] = x.w;
        *(float4 *)&t[threadIdx.x / 16][threadIdx.x % 16 * 4] = y;
        __syncthreads();
        if (k + 8 < n) {
            x = *(const float4 *)&a[(blockIdx.y * 64 + row) * n + k + 8 + part];
            y = *(const float4 *)&b[(k + 8 + threadIdx.x / 16) * n + blockIdx.x * 64 + threadIdx.x % 16 * 4];
        }
#pragma unroll
        for (int i = 0; i < 8; ++i) {
            const float4 u = *(float4 *)&s[i][ty * 8], v = *(float4 *)&s[i][ty * 8 + 4], w = *(float4 *)&t[i][tx * 4];
            const float p[8] = {u.x, u.y, u.z, u.w, v.x, v.y, v.z, v.w}, q[4] = {w.x, w.y, w.z, w.w};
            for (int j = 0; j < 8; ++j)
                for (int l = 0; l < 4; ++l) sum[j][l] += p[j] * q[l];
        }
        __syncthreads();
    }
    for (int j = 0; j < 8; ++j)
        *(float4 *)&c[(blockIdx.y * 64 + ty * 8 + j) * n + blockIdx.x * 64 + tx * 4] = make_float4(sum[j][0], sum[j][1], sum[j][2], sum[j][3]);
}

// Four times a heat step in shared memory before a tile goes out.
extern "C" __global__ void four_steps(const float *in, float *out, int n) {
    __shared__ float s[2][40][41];
    const int x0 = blockIdx.x * 32 - 4, y0 = blockIdx.y * 32 - 4;
    for (int i = threadIdx.x; i < 1600; i += 256) {
        const int x = min(max(x0 + i % 40, 0), n - 1), y = min(max(y0 + i / 40, 0), n - 1);
        s[0][i / 40][i % 40] = in[y * n + x];
    }
    for (int step = 0; step < 4; ++step) {
        __syncthreads();
        for (int i = threadIdx.x; i < 1600; i += 256) {
            const int x = i % 40, y = i / 40;
            if (x > step && x < 39 - step && y > step && y < 39 - step)
                s[1 - step % 2][y][x] = 0.6f * s[step % 2][y][x] + 0.1f * (s[step % 2][y][x - 1] + s[step % 2][y][x + 1] +
                                                                          s[step % 2][y - 1][x] + s[step % 2][y + 1][x]);
        }
    }
    __syncthreads();
    for (int i = threadIdx.x; i < 1024; i += 256)
        out[(y0 + 4 + i / 32) * n + x0 + 4 + i % 32] = s[0][4 + i / 32][4 + i % 32];
}

// A block sorts 512 keys by ranks of warps' runs that it merges.
extern "C" __global__ void merge_sorted(const unsigned *in, unsigned *out) {
    __shared__ unsigned s[2][512];
    s[0][threadIdx.x] = in[blockIdx.x * 512 + threadIdx.x];
    int from = 0;
    for (int run = 1; run < 512; run *= 2) {
        __syncthreads();
        const unsigned key = s[from][threadIdx.x];
        const int pair = threadIdx.x / (2 * run) * 2 * run, own = threadIdx.x % run;
        const bool right = threadIdx.x / run % 2;
        int low = 0, high = run;
        const unsigned *other = &s[from][pair + (right ? 0 : run)];
        while (low < high) {
            const int middle = (low + high) / 2;
            if (other[middle] < key || (right && other[middle] == key)) low = middle + 1;
            else high = middle;
        }
        s[1 - from][pair + own + low] = key;
        from = 1 - from;
    }
    __syncthreads();
    out[blockIdx.x * 512 + threadIdx.x] = s[from][threadIdx.x];
}
