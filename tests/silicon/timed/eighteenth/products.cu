// Kernels of the eighteenth set that multiply on tensor cores, in groups that differ in the layout of shared memory alone.
#include <cuda_fp16.h>

#define NAMED(NAME, THREADS, RUN, PARAMETERS, ARGUMENTS, ...) \
    extern "C" __global__ void __launch_bounds__(THREADS) NAME PARAMETERS { RUN<__VA_ARGS__> ARGUMENTS; }
#define ALL 0xffffffffu

__device__ __forceinline__ unsigned shared_at(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }
__device__ __forceinline__ void copy16(const void *to, const void *from) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared_at(to)), "l"(from) : "memory");
}
__device__ __forceinline__ void commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int LEFT> __device__ __forceinline__ void wait_for() { asm volatile("cp.async.wait_group %0;" ::"n"(LEFT) : "memory"); }
__device__ __forceinline__ void load_matrices(unsigned (&v)[4], const void *from) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(v[0]), "=r"(v[1]), "=r"(v[2]), "=r"(v[3]) : "r"(shared_at(from)) : "memory");
}
__device__ __forceinline__ void load_turned(unsigned (&v)[4], const void *from) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(v[0]), "=r"(v[1]), "=r"(v[2]), "=r"(v[3]) : "r"(shared_at(from)) : "memory");
}
__device__ __forceinline__ void multiply(float (&s)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(s[0]), "+f"(s[1]), "+f"(s[2]), "+f"(s[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

// A layer with a bias, C = A B^T in halves: 128 by 128 a block of eight warps, 64 by 32 a warp, three stages of 32 along k.
// Rows of 64 bytes as they are, or swizzled.
template <bool SWIZZLED> __device__ __forceinline__ void projection(const uint4 *a, const uint4 *b, const float2 *bias, __half2 *c, int n, int depth) {
    __shared__ __align__(128) uint4 left[3][128 * 4], right[3][128 * 4];
    const auto at = [](int row, int part) { return row * 4 + (SWIZZLED ? part ^ row / 2 % 4 : part); };
    const int t = threadIdx.x, lane = t % 32, warp = t / 32, wy = warp / 4 * 64, wx = warp % 4 * 32, steps = depth / 32, pitch = depth / 8;
    const auto fetch = [&](int step) {
        if (step < steps) {
            #pragma unroll
            for (int r = 0; r < 2; ++r) {
                const int row = r * 64 + t / 4, part = t % 4;
                copy16(left[step % 3] + at(row, part), a + (size_t)(blockIdx.y * 128 + row) * pitch + step * 4 + part);
                copy16(right[step % 3] + at(row, part), b + (size_t)(blockIdx.x * 128 + row) * pitch + step * 4 + part);
            }
        }
        commit();
    };
    float sum[4][4][4] = {};
    fetch(0);
    fetch(1);
    for (int step = 0; step < steps; ++step) {
        wait_for<1>();
        __syncthreads();
        fetch(step + 2);
        #pragma unroll
        for (int k = 0; k < 4; k += 2) {
            unsigned x[4][4], y[2][4];
            #pragma unroll
            for (int i = 0; i < 4; ++i) load_matrices(x[i], left[step % 3] + at(wy + i * 16 + lane % 16, k + lane / 16));
            #pragma unroll
            for (int i = 0; i < 2; ++i) load_matrices(y[i], right[step % 3] + at(wx + i * 16 + lane / 16 * 8 + lane % 8, k + lane / 8 % 2));
            #pragma unroll
            for (int i = 0; i < 4; ++i)
                #pragma unroll
                for (int j = 0; j < 4; ++j) multiply(sum[i][j], x[i], y[j / 2][j % 2 * 2], y[j / 2][j % 2 * 2 + 1]);
        }
    }
    #pragma unroll
    for (int j = 0; j < 4; ++j) {
        const int column = blockIdx.x * 128 + wx + j * 8 + lane % 4 * 2;
        const float2 add = bias[column / 2];
        #pragma unroll
        for (int i = 0; i < 4; ++i)
            #pragma unroll
            for (int h = 0; h < 2; ++h) {
                const size_t row = blockIdx.y * 128 + wy + i * 16 + h * 8 + lane / 4;
                c[(row * n + column) / 2] = __floats2half2_rn(sum[i][j][2 * h] + add.x, sum[i][j][2 * h + 1] + add.y);
            }
    }
}
#define PROJECTION(NAME, SWIZZLED) \
    NAMED(NAME, 256, projection, (const uint4 *a, const uint4 *b, const float2 *bias, __half2 *c, int n, int depth), (a, b, bias, c, n, depth), SWIZZLED)
PROJECTION(projection_plain, false)
PROJECTION(projection_swizzled, true)

// C = A B in floats of 19 bits: 64 by 64 a block, 32 by 32 a warp, 32 along k, the next tile in registers; lanes read words.
// Rows of 32 and 64 words, or of 36 and 72.
template <bool PADDED> __device__ __forceinline__ void short_floats(const float4 *a, const float4 *b, float2 *c, int n, int depth) {
    constexpr int PA = PADDED ? 36 : 32, PB = PADDED ? 72 : 64;
    __shared__ __align__(16) unsigned left[64 * PA], right[32 * PB];
    const int t = threadIdx.x, lane = t % 32, warp = t / 32, wy = warp / 2 * 32, wx = warp % 2 * 32, g = lane / 4, q = lane % 4;
    float4 x[4], y[4];
    const auto fetch = [&](int step) {
        #pragma unroll
        for (int r = 0; r < 4; ++r) {
            x[r] = a[(size_t)(blockIdx.y * 64 + r * 16 + t / 8) * (depth / 4) + step * 8 + t % 8];
            y[r] = b[(size_t)(step * 32 + r * 8 + t / 16) * (n / 4) + blockIdx.x * 16 + t % 16];
        }
    };
    const auto shortened = [](float4 v) {
        uint4 w;
        asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(w.x) : "f"(v.x));
        asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(w.y) : "f"(v.y));
        asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(w.z) : "f"(v.z));
        asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(w.w) : "f"(v.w));
        return w;
    };
    float sum[2][4][4] = {};
    fetch(0);
    for (int step = 0; step < depth / 32; ++step) {
        #pragma unroll
        for (int r = 0; r < 4; ++r) {
            *(uint4 *)(left + (r * 16 + t / 8) * PA + t % 8 * 4) = shortened(x[r]);
            *(uint4 *)(right + (r * 8 + t / 16) * PB + t % 16 * 4) = shortened(y[r]);
        }
        __syncthreads();
        if (step + 1 < depth / 32) fetch(step + 1);
        #pragma unroll
        for (int k = 0; k < 32; k += 8) {
            unsigned u[2][4], v[4][2];
            #pragma unroll
            for (int i = 0; i < 2; ++i)
                #pragma unroll
                for (int h = 0; h < 4; ++h) u[i][h] = left[(wy + i * 16 + h % 2 * 8 + g) * PA + k + h / 2 * 4 + q];
            #pragma unroll
            for (int j = 0; j < 4; ++j)
                #pragma unroll
                for (int h = 0; h < 2; ++h) v[j][h] = right[(k + h * 4 + q) * PB + wx + j * 8 + g];
            #pragma unroll
            for (int i = 0; i < 2; ++i)
                #pragma unroll
                for (int j = 0; j < 4; ++j) {
                    float(&s)[4] = sum[i][j];
                    asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                        : "+f"(s[0]), "+f"(s[1]), "+f"(s[2]), "+f"(s[3])
                        : "r"(u[i][0]), "r"(u[i][1]), "r"(u[i][2]), "r"(u[i][3]), "r"(v[j][0]), "r"(v[j][1]));
                }
        }
        __syncthreads();
    }
    #pragma unroll
    for (int i = 0; i < 2; ++i)
        #pragma unroll
        for (int j = 0; j < 4; ++j)
            #pragma unroll
            for (int h = 0; h < 2; ++h) {
                const size_t row = blockIdx.y * 64 + wy + i * 16 + h * 8 + g;
                c[(row * n + blockIdx.x * 64 + wx + j * 8) / 2 + q] = make_float2(sum[i][j][2 * h], sum[i][j][2 * h + 1]);
            }
}
NAMED(short_floats_plain, 128, short_floats, (const float4 *a, const float4 *b, float2 *c, int n, int depth), (a, b, c, n, depth), false)
NAMED(short_floats_padded, 128, short_floats, (const float4 *a, const float4 *b, float2 *c, int n, int depth), (a, b, c, n, depth), true)

// A layer of bytes whose rows have scales, C = A B^T in halves: 64 by 64 a block, 32 by 32 a warp, two stages of 128 along k.
// Rows of 128 bytes as they are, or swizzled.
template <bool SWIZZLED> __device__ __forceinline__ void byte_layer(const uint4 *a, const uint4 *b, const float *rows, const float2 *columns, __half2 *c, int n, int depth) {
    __shared__ __align__(128) uint4 left[2][64 * 8], right[2][64 * 8];
    const auto at = [](int row, int part) { return row * 8 + (SWIZZLED ? part ^ row % 8 : part); };
    const int t = threadIdx.x, lane = t % 32, warp = t / 32, wy = warp / 2 * 32, wx = warp % 2 * 32, steps = depth / 128, pitch = depth / 16;
    const auto fetch = [&](int step) {
        if (step < steps) {
            #pragma unroll
            for (int r = 0; r < 4; ++r) {
                const int row = r * 16 + t / 8, part = t % 8;
                copy16(left[step % 2] + at(row, part), a + (size_t)(blockIdx.y * 64 + row) * pitch + step * 8 + part);
                copy16(right[step % 2] + at(row, part), b + (size_t)(blockIdx.x * 64 + row) * pitch + step * 8 + part);
            }
        }
        commit();
    };
    int sum[2][4][4] = {};
    fetch(0);
    for (int step = 0; step < steps; ++step) {
        fetch(step + 1);
        wait_for<1>();
        __syncthreads();
        #pragma unroll
        for (int k = 0; k < 8; k += 2) {
            unsigned x[2][4], y[2][4];
            #pragma unroll
            for (int i = 0; i < 2; ++i) {
                load_matrices(x[i], left[step % 2] + at(wy + i * 16 + lane % 16, k + lane / 16));
                load_matrices(y[i], right[step % 2] + at(wx + i * 16 + lane / 16 * 8 + lane % 8, k + lane / 8 % 2));
            }
            #pragma unroll
            for (int i = 0; i < 2; ++i)
                #pragma unroll
                for (int j = 0; j < 4; ++j) {
                    int(&s)[4] = sum[i][j];
                    asm("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                        : "+r"(s[0]), "+r"(s[1]), "+r"(s[2]), "+r"(s[3])
                        : "r"(x[i][0]), "r"(x[i][1]), "r"(x[i][2]), "r"(x[i][3]), "r"(y[j / 2][j % 2 * 2]), "r"(y[j / 2][j % 2 * 2 + 1]));
                }
        }
        __syncthreads();
    }
    #pragma unroll
    for (int i = 0; i < 2; ++i)
        #pragma unroll
        for (int h = 0; h < 2; ++h) {
            const size_t row = blockIdx.y * 64 + wy + i * 16 + h * 8 + lane / 4;
            const float scale = rows[row] * 0.0001f;
            #pragma unroll
            for (int j = 0; j < 4; ++j) {
                const int column = blockIdx.x * 64 + wx + j * 8 + lane % 4 * 2;
                const float2 other = columns[column / 2];
                c[(row * n + column) / 2] = __floats2half2_rn(sum[i][j][2 * h] * scale * other.x, sum[i][j][2 * h + 1] * scale * other.y);
            }
        }
}
#define BYTE_LAYER(NAME, SWIZZLED) \
    NAMED(NAME, 128, byte_layer, (const uint4 *a, const uint4 *b, const float *rows, const float2 *columns, __half2 *c, int n, int depth), \
          (a, b, rows, columns, c, n, depth), SWIZZLED)
BYTE_LAYER(byte_layer_plain, false)
BYTE_LAYER(byte_layer_swizzled, true)

// Causal attention in halves, 64 queries a block, 16 a warp: keys and values of 64 tokens come a step ahead, scores stay in
// registers. Rows of 128 bytes, or of 144.
template <int P> __device__ __forceinline__ void prefill(const uint4 *queries, const uint4 *keys, const uint4 *values, __half2 *out, int tokens, float scale) {
    __shared__ __align__(128) uint4 held[2][2][64 * P];
    const int t = threadIdx.x, lane = t % 32, warp = t / 32, g = lane / 4, q = lane % 4, tile = gridDim.x - 1 - blockIdx.x;
    const size_t head = (size_t)blockIdx.y * tokens * 8;
    const auto fetch = [&](int step) {
        if (step <= tile) {
            #pragma unroll
            for (int r = 0; r < 4; ++r) {
                const int row = r * 16 + t / 8, part = t % 8;
                copy16(held[step % 2][0] + row * P + part, keys + head + (step * 64 + row) * 8 + part);
                copy16(held[step % 2][1] + row * P + part, values + head + (step * 64 + row) * 8 + part);
            }
        }
        commit();
    };
    unsigned own[4][4];
    const unsigned *from = (const unsigned *)(queries + head + (size_t)(tile * 64 + warp * 16) * 8);
    #pragma unroll
    for (int k = 0; k < 4; ++k)
        #pragma unroll
        for (int h = 0; h < 4; ++h) own[k][h] = from[(g + h % 2 * 8) * 32 + k * 8 + h / 2 * 4 + q];
    float sum[8][4] = {}, most[2] = {-1e30f, -1e30f}, total[2] = {};
    fetch(0);
    for (int step = 0; step <= tile; ++step) {
        fetch(step + 1);
        wait_for<1>();
        __syncthreads();
        const uint4 *k = held[step % 2][0], *v = held[step % 2][1];
        float score[8][4] = {};
        #pragma unroll
        for (int d = 0; d < 4; ++d)
            #pragma unroll
            for (int j = 0; j < 4; ++j) {
                unsigned y[4];
                load_matrices(y, k + (j * 16 + lane / 16 * 8 + lane % 8) * P + 2 * d + lane / 8 % 2);
                multiply(score[2 * j], own[d], y[0], y[1]);
                multiply(score[2 * j + 1], own[d], y[2], y[3]);
            }
        #pragma unroll
        for (int h = 0; h < 2; ++h) {
            float next = most[h];
            #pragma unroll
            for (int j = 0; j < 8; ++j)
                #pragma unroll
                for (int e = 0; e < 2; ++e) {
                    float &s = score[j][2 * h + e];
                    s = step == tile && j * 8 + 2 * q + e > warp * 16 + h * 8 + g ? -1e30f : s * scale;
                    next = fmaxf(next, s);
                }
            next = fmaxf(next, __shfl_xor_sync(ALL, next, 1));
            next = fmaxf(next, __shfl_xor_sync(ALL, next, 2));
            const float keep = exp2f(most[h] - next);
            most[h] = next;
            total[h] *= keep;
            #pragma unroll
            for (int j = 0; j < 8; ++j)
                #pragma unroll
                for (int e = 0; e < 2; ++e) {
                    sum[j][2 * h + e] *= keep;
                    total[h] += score[j][2 * h + e] = exp2f(score[j][2 * h + e] - next);
                }
        }
        #pragma unroll
        for (int j = 0; j < 4; ++j) {
            unsigned x[4];
            #pragma unroll
            for (int h = 0; h < 4; ++h) {
                const __half2 pair = __floats2half2_rn(score[2 * j + h / 2][h % 2 * 2], score[2 * j + h / 2][h % 2 * 2 + 1]);
                x[h] = *(const unsigned *)&pair;
            }
            #pragma unroll
            for (int d = 0; d < 4; ++d) {
                unsigned y[4];
                load_turned(y, v + (j * 16 + lane % 16) * P + 2 * d + lane / 16);
                multiply(sum[2 * d], x, y[0], y[1]);
                multiply(sum[2 * d + 1], x, y[2], y[3]);
            }
        }
        __syncthreads();
    }
    #pragma unroll
    for (int h = 0; h < 2; ++h) {
        total[h] += __shfl_xor_sync(ALL, total[h], 1);
        total[h] += __shfl_xor_sync(ALL, total[h], 2);
        const float inverse = 1.0f / total[h];
        const size_t row = ((size_t)blockIdx.y * tokens + tile * 64 + warp * 16 + h * 8 + g) * 32;
        #pragma unroll
        for (int j = 0; j < 8; ++j) out[row + j * 4 + q] = __floats2half2_rn(sum[j][2 * h] * inverse, sum[j][2 * h + 1] * inverse);
    }
}
#define PREFILL(NAME, P) \
    NAMED(NAME, 128, prefill, (const uint4 *queries, const uint4 *keys, const uint4 *values, __half2 *out, int tokens, float scale), \
          (queries, keys, values, out, tokens, scale), P)
PREFILL(prefill_plain, 8)
PREFILL(prefill_padded, 9)
