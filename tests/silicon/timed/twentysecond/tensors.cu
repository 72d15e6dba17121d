// Kernels of the twenty-second set that multiply on tensor cores, in groups that differ in the layout of shared memory alone.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#define KERNEL(THREADS) extern "C" __global__ void __launch_bounds__(THREADS)
#define ALL 0xffffffffu

__device__ __forceinline__ unsigned place_of(const void *at) { return (unsigned)__cvta_generic_to_shared(at); }
__device__ __forceinline__ void copy16(void *to, const void *from) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" :: "r"(place_of(to)), "l"(from));
}
__device__ __forceinline__ void commit() { asm volatile("cp.async.commit_group;"); }
template <int LEFT> __device__ __forceinline__ void wait() { asm volatile("cp.async.wait_group %0;" :: "n"(LEFT)); }
__device__ __forceinline__ void load4(unsigned (&x)[4], const void *at) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];" : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3]) : "r"(place_of(at)));
}
__device__ __forceinline__ void load4_turned(unsigned (&x)[4], const void *at) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];" : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3]) : "r"(place_of(at)));
}
__device__ __forceinline__ void mma(float (&c)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
__device__ __forceinline__ void mma_bytes(int (&c)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
    asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                 : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
__device__ __forceinline__ unsigned packed(float x, float y) {
    const __nv_bfloat162 pair = __floats2bfloat162_rn(x, y);
    return reinterpret_cast<const unsigned &>(pair);
}

// C = A B of brain floats, both by rows: 128 by 128 a block, 64 by 32 a warp, 32 deep, three stages. Rows of A have 64 bytes and those of B
// 256, each has 16 more, or their parts of 16 bytes are exchanged.
template <bool PADDED, bool SWIZZLED> __device__ __forceinline__ void by_rows(const __nv_bfloat16 *__restrict__ a, const __nv_bfloat16 *__restrict__ b,
                                                                                  __nv_bfloat16 *c, int n, int depth) {
    constexpr int PITCH_A = PADDED ? 5 : 4, PITCH_B = PADDED ? 17 : 16, OF_A = 128 * PITCH_A, STAGE = OF_A + 32 * PITCH_B;
    extern __shared__ __align__(128) uint4 held[];
    const int t = threadIdx.x, lane = t % 32, warp = t / 32, steps = depth / 32;
    const auto in_a = [](int row, int piece) { return row * PITCH_A + (SWIZZLED ? piece ^ (row >> 1 & 3) : piece); };
    const auto in_b = [](int row, int piece) { return OF_A + row * PITCH_B + (SWIZZLED ? piece ^ (row & 7) : piece); };
    const __nv_bfloat16 *own_a = a + (size_t)blockIdx.y * 128 * depth, *own_b = b + blockIdx.x * 128;
    const auto fetch = [&](int step) {
        uint4 *to = held + step % 3 * STAGE;
        #pragma unroll
        for (int r = 0; r < 2; ++r) {
            copy16(to + in_a(r * 64 + t / 4, t % 4), own_a + (size_t)(r * 64 + t / 4) * depth + step * 32 + t % 4 * 8);
            copy16(to + in_b(r * 16 + t / 16, t % 16), own_b + (size_t)(step * 32 + r * 16 + t / 16) * n + t % 16 * 8);
        }
    };
    const int row = warp / 4 * 64, column = warp % 4 * 32;
    float sum[4][4][4] = {};
    fetch(0), commit(), fetch(1), commit();
    for (int step = 0; step < steps; ++step) {
        wait<1>();
        __syncthreads();
        if (step + 2 < steps) fetch(step + 2);
        commit();
        const uint4 *now = held + step % 3 * STAGE;
        #pragma unroll
        for (int k = 0; k < 2; ++k) {
            unsigned x[4][4], y[2][4];
            #pragma unroll
            for (int i = 0; i < 4; ++i) load4(x[i], now + in_a(row + i * 16 + lane % 16, k * 2 + lane / 16));
            #pragma unroll
            for (int j = 0; j < 2; ++j) load4_turned(y[j], now + in_b(k * 16 + lane % 16, column / 8 + j * 2 + lane / 16));
            #pragma unroll
            for (int i = 0; i < 4; ++i)
                #pragma unroll
                for (int j = 0; j < 4; ++j) mma(sum[i][j], x[i], y[j / 2][j % 2 * 2], y[j / 2][j % 2 * 2 + 1]);
        }
    }
    #pragma unroll
    for (int i = 0; i < 4; ++i)
        #pragma unroll
        for (int j = 0; j < 4; ++j)
            #pragma unroll
            for (int half = 0; half < 2; ++half) {
                const size_t at = (size_t)(blockIdx.y * 128 + row + i * 16 + half * 8 + lane / 4) * n + blockIdx.x * 128 + column + j * 8 + lane % 4 * 2;
                *reinterpret_cast<unsigned *>(c + at) = packed(sum[i][j][half * 2], sum[i][j][half * 2 + 1]);
            }
}
#define BY_ROWS(NAME, PADDED, SWIZZLED)                                                                                                        \
    KERNEL(256) NAME(const __nv_bfloat16 *a, const __nv_bfloat16 *b, __nv_bfloat16 *c, int n, int depth) { by_rows<PADDED, SWIZZLED>(a, b, c, n, depth); }
BY_ROWS(by_rows_plain, false, false)
BY_ROWS(by_rows_padded, true, false)
BY_ROWS(by_rows_swizzled, false, true)

// Signed bytes by signed bytes, scaled by row and by column at the end: 128 by 64 a block, 64 by 32 a warp, 64 deep, three stages. Rows of 64
// bytes, of 80, or with their quarters exchanged.
template <int PITCH, bool SWIZZLED> __device__ __forceinline__ void w8a8(const unsigned char *__restrict__ a, const unsigned char *__restrict__ b,
                                                                              const float *scales_a, const float *scales_b, __half *c, int n, int depth) {
    __shared__ __align__(128) uint4 held[3][192 * PITCH];
    const int t = threadIdx.x, lane = t % 32, warp = t / 32, steps = depth / 64;
    const auto at = [](int row, int piece) { return row * PITCH + (SWIZZLED ? piece ^ (row >> 1 & 3) : piece); };
    const auto fetch = [&](int step) {
        #pragma unroll
        for (int r = 0; r < 6; ++r) {
            const int row = r * 32 + t / 4;
            const unsigned char *from = r < 4 ? a + (size_t)(blockIdx.y * 128 + row) * depth : b + (size_t)(blockIdx.x * 64 + row - 128) * depth;
            copy16(&held[step % 3][at(row, t % 4)], from + step * 64 + t % 4 * 16);
        }
    };
    const int row = warp / 2 * 64, column = warp % 2 * 32;
    int sum[4][4][4] = {};
    fetch(0), commit(), fetch(1), commit();
    for (int step = 0; step < steps; ++step) {
        wait<1>();
        __syncthreads();
        if (step + 2 < steps) fetch(step + 2);
        commit();
        const uint4 *now = held[step % 3];
        #pragma unroll
        for (int k = 0; k < 2; ++k) {
            unsigned x[4][4], y[2][4];
            #pragma unroll
            for (int i = 0; i < 4; ++i) load4(x[i], now + at(row + i * 16 + lane % 16, k * 2 + lane / 16));
            #pragma unroll
            for (int j = 0; j < 2; ++j) load4(y[j], now + at(128 + column + j * 16 + lane / 16 * 8 + lane % 8, k * 2 + lane / 8 % 2));
            #pragma unroll
            for (int i = 0; i < 4; ++i)
                #pragma unroll
                for (int j = 0; j < 4; ++j) mma_bytes(sum[i][j], x[i], y[j / 2][j % 2 * 2], y[j / 2][j % 2 * 2 + 1]);
        }
    }
    #pragma unroll
    for (int i = 0; i < 4; ++i)
        #pragma unroll
        for (int half = 0; half < 2; ++half) {
            const int y = blockIdx.y * 128 + row + i * 16 + half * 8 + lane / 4;
            const float by = __ldg(scales_a + y) * 0.0001f;
            #pragma unroll
            for (int j = 0; j < 4; ++j) {
                const int x = blockIdx.x * 64 + column + j * 8 + lane % 4 * 2;
                const float2 also = __ldg(reinterpret_cast<const float2 *>(scales_b + x));
                *reinterpret_cast<__half2 *>(c + (size_t)y * n + x) =
                    __floats2half2_rn((float)sum[i][j][half * 2] * by * also.x, (float)sum[i][j][half * 2 + 1] * by * also.y);
            }
        }
}
#define W8A8(NAME, PITCH, SWIZZLED)                                                                                                               \
    KERNEL(128) NAME(const unsigned char *a, const unsigned char *b, const float *scales_a, const float *scales_b, __half *c, int n, int depth) { \
        w8a8<PITCH, SWIZZLED>(a, b, scales_a, scales_b, c, n, depth);                                                                             \
    }
W8A8(w8a8_plain, 4, false)
W8A8(w8a8_padded, 5, false)
W8A8(w8a8_swizzled, 4, true)

// Causal attention of brain floats, heads of 64, four of which share keys and values: 128 queries a block, sixteen a warp, kept in registers;
// 64 keys at a time, two stages, the second of which has the queries at first. Rows of 128 bytes, or of 144.
template <int PITCH> __device__ __forceinline__ void shared_heads(const __nv_bfloat16 *__restrict__ queries, const __nv_bfloat16 *__restrict__ keys,
                                                                  const __nv_bfloat16 *__restrict__ values, __nv_bfloat16 *out, int length, float scale) {
    __shared__ __align__(128) uint4 held[2][128 * PITCH];
    const int t = threadIdx.x, lane = t % 32, warp = t / 32, tile = gridDim.x - 1 - blockIdx.x, last = tile * 2 + 1;
    const size_t own = ((size_t)blockIdx.y * length + tile * 128) * 64, shared = (size_t)(blockIdx.y / 4) * length * 64;
    const auto fetch = [&](int j) {
        #pragma unroll
        for (int r = 0; r < 4; ++r) {
            const int row = r * 32 + t / 8;
            copy16(&held[j % 2][row * PITCH + t % 8], (r < 2 ? keys : values) + shared + (size_t)(j * 64 + row % 64) * 64 + t % 8 * 8);
        }
    };
    #pragma unroll
    for (int r = 0; r < 4; ++r) copy16(&held[1][(r * 32 + t / 8) * PITCH + t % 8], queries + own + (r * 32 + t / 8) * 64 + t % 8 * 8);
    commit(), fetch(0), commit();
    wait<1>();
    __syncthreads();
    unsigned q[4][4];
    #pragma unroll
    for (int k = 0; k < 4; ++k) load4(q[k], &held[1][(warp * 16 + lane % 16) * PITCH + k * 2 + lane / 16]);
    float o[8][4] = {}, most[2] = {-1e30f, -1e30f}, total[2] = {};
    for (int j = 0; j <= last; ++j) {
        __syncthreads();
        if (j < last) fetch(j + 1);
        commit();
        wait<1>();
        __syncthreads();
        const uint4 *now = held[j % 2];
        float s[8][4] = {};
        #pragma unroll
        for (int k = 0; k < 4; ++k)
            #pragma unroll
            for (int n = 0; n < 4; ++n) {
                unsigned b[4];
                load4(b, now + (n * 16 + lane / 16 * 8 + lane % 8) * PITCH + k * 2 + lane / 8 % 2);
                mma(s[n * 2], q[k], b[0], b[1]), mma(s[n * 2 + 1], q[k], b[2], b[3]);
            }
        #pragma unroll
        for (int half = 0; half < 2; ++half) {
            const int query = tile * 128 + warp * 16 + half * 8 + lane / 4;
            float best = most[half], sum = 0.0f;
            #pragma unroll
            for (int e = 0; e < 16; ++e) {
                float &v = s[e / 2][half * 2 + e % 2];
                v = j * 64 + e / 2 * 8 + lane % 4 * 2 + e % 2 <= query ? v * scale : -1e30f;
                best = fmaxf(best, v);
            }
            best = fmaxf(best, __shfl_xor_sync(ALL, best, 1));
            best = fmaxf(best, __shfl_xor_sync(ALL, best, 2));
            const float shrink = exp2f(most[half] - best);
            #pragma unroll
            for (int e = 0; e < 16; ++e) sum += s[e / 2][half * 2 + e % 2] = exp2f(s[e / 2][half * 2 + e % 2] - best);
            total[half] = total[half] * shrink + sum, most[half] = best;
            #pragma unroll
            for (int n = 0; n < 8; ++n) o[n][half * 2] *= shrink, o[n][half * 2 + 1] *= shrink;
        }
        #pragma unroll
        for (int k = 0; k < 4; ++k) {
            const unsigned p[4] = {packed(s[k * 2][0], s[k * 2][1]), packed(s[k * 2][2], s[k * 2][3]),
                                   packed(s[k * 2 + 1][0], s[k * 2 + 1][1]), packed(s[k * 2 + 1][2], s[k * 2 + 1][3])};
            #pragma unroll
            for (int n = 0; n < 4; ++n) {
                unsigned b[4];
                load4_turned(b, now + (64 + k * 16 + lane % 16) * PITCH + n * 2 + lane / 16);
                mma(o[n * 2], p, b[0], b[1]), mma(o[n * 2 + 1], p, b[2], b[3]);
            }
        }
    }
    #pragma unroll
    for (int half = 0; half < 2; ++half) {
        float sum = total[half];
        sum += __shfl_xor_sync(ALL, sum, 1);
        sum += __shfl_xor_sync(ALL, sum, 2);
        const float by = 1.0f / sum;
        __nv_bfloat16 *to = out + own + (warp * 16 + half * 8 + lane / 4) * 64 + lane % 4 * 2;
        #pragma unroll
        for (int n = 0; n < 8; ++n) *reinterpret_cast<unsigned *>(to + n * 8) = packed(o[n][half * 2] * by, o[n][half * 2 + 1] * by);
    }
}
#define SHARED_HEADS(NAME, PITCH)                                                                                                              \
    KERNEL(256) NAME(const __nv_bfloat16 *queries, const __nv_bfloat16 *keys, const __nv_bfloat16 *values, __nv_bfloat16 *out, int length, float scale) { \
        shared_heads<PITCH>(queries, keys, values, out, length, scale);                                                                        \
    }
SHARED_HEADS(shared_heads_plain, 8)
SHARED_HEADS(shared_heads_padded, 9)
