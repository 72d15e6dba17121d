// Kernels of the twenty-first set that multiply on tensor cores, in groups that differ in the layout of shared memory alone.
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
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
__device__ __forceinline__ unsigned packed(float x, float y) {
    const __half2 pair = __floats2half2_rn(x, y);
    return reinterpret_cast<const unsigned &>(pair);
}

// The first half of a gated layer in one kernel: rows by two matrices of weights, of which the one gates the other. 64 by 64 a block, of
// each; 32 by 32 a warp; 32 deep, three stages. Rows of 64 bytes, of 80, or with their quarters exchanged.
template <int PITCH, bool SWIZZLED> __device__ __forceinline__ void dual(const __half *__restrict__ rows, const __half *__restrict__ gates, const __half *__restrict__ ups,
                                                                        __half *out, int n, int depth) {
    __shared__ __align__(128) uint4 held[3][3][64 * PITCH];
    const int t = threadIdx.x, lane = t % 32, warp = t / 32, steps = depth / 32;
    const auto at = [](int row, int piece) { return row * PITCH + (SWIZZLED ? piece ^ (row >> 1 & 3) : piece); };
    const __half *from[3] = {rows + (size_t)blockIdx.y * 64 * depth, gates + (size_t)blockIdx.x * 64 * depth, ups + (size_t)blockIdx.x * 64 * depth};
    const auto fetch = [&](int step) {
        #pragma unroll
        for (int which = 0; which < 3; ++which)
            #pragma unroll
            for (int r = 0; r < 2; ++r)
                copy16(&held[step % 3][which][at(r * 32 + t / 4, t % 4)], from[which] + (size_t)(r * 32 + t / 4) * depth + step * 32 + t % 4 * 8);
    };
    const int row = warp / 2 * 32, column = warp % 2 * 32;
    float sum[2][2][4][4] = {};
    fetch(0), commit(), fetch(1), commit();
    for (int step = 0; step < steps; ++step) {
        wait<1>();
        __syncthreads();
        if (step + 2 < steps) fetch(step + 2);
        commit();
        const auto &now = held[step % 3];
        #pragma unroll
        for (int k = 0; k < 2; ++k) {
            unsigned a[2][4];
            #pragma unroll
            for (int i = 0; i < 2; ++i) load4(a[i], &now[0][at(row + i * 16 + lane % 16, k * 2 + lane / 16)]);
            #pragma unroll
            for (int which = 0; which < 2; ++which)
                #pragma unroll
                for (int j = 0; j < 2; ++j) {
                    unsigned b[4];
                    load4(b, &now[1 + which][at(column + j * 16 + lane / 16 * 8 + lane % 8, k * 2 + lane / 8 % 2)]);
                    #pragma unroll
                    for (int i = 0; i < 2; ++i) mma(sum[which][i][j * 2], a[i], b[0], b[1]), mma(sum[which][i][j * 2 + 1], a[i], b[2], b[3]);
                }
        }
    }
    #pragma unroll
    for (int i = 0; i < 2; ++i)
        #pragma unroll
        for (int j = 0; j < 4; ++j)
            #pragma unroll
            for (int half = 0; half < 2; ++half) {
                float v[2];
                #pragma unroll
                for (int e = 0; e < 2; ++e) {
                    const float gate = sum[0][i][j][half * 2 + e];
                    v[e] = gate / (1.0f + __expf(-gate)) * sum[1][i][j][half * 2 + e];
                }
                const size_t place = (size_t)(blockIdx.y * 64 + row + i * 16 + half * 8 + lane / 4) * n + blockIdx.x * 64 + column + j * 8 + lane % 4 * 2;
                *reinterpret_cast<unsigned *>(out + place) = packed(v[0], v[1]);
            }
}
#define DUAL(NAME, PITCH, SWIZZLED)                                                                                                \
    KERNEL(128) NAME(const __half *rows, const __half *gates, const __half *ups, __half *out, int n, int depth) {                  \
        dual<PITCH, SWIZZLED>(rows, gates, ups, out, n, depth);                                                                    \
    }
DUAL(dual_gemm_plain, 4, false)
DUAL(dual_gemm_padded, 5, false)
DUAL(dual_gemm_swizzled, 4, true)

// Attention that sees the last `window` tokens, heads of 128: 64 queries a block, sixteen a warp, 64 keys at a time. Rows of 256 bytes as
// they are, or with their parts of sixteen bytes exchanged.
template <bool SWIZZLED> __device__ __forceinline__ void recent(const __half *__restrict__ queries, const __half *__restrict__ keys, const __half *__restrict__ values,
                                                                __half *out, int length, int window, float scale) {
    __shared__ __align__(128) uint4 shared_q[64 * 16], shared_k[64 * 16], shared_v[64 * 16];
    const int t = threadIdx.x, lane = t % 32, warp = t / 32, tile = blockIdx.x;
    const size_t head = (size_t)blockIdx.y * length * 128;
    const auto at = [](int row, int piece) { return row * 16 + (SWIZZLED ? piece ^ (row & 7) : piece); };
    const auto fetch = [&](uint4 *to, const __half *from, int which) {
        #pragma unroll
        for (int r = 0; r < 8; ++r) copy16(to + at(r * 8 + t / 16, t % 16), from + head + (size_t)(which * 64 + r * 8 + t / 16) * 128 + t % 16 * 8);
    };
    fetch(shared_q, queries, tile);
    const int first = max(0, (tile * 64 - window + 1) / 64);
    fetch(shared_k, keys, first);
    commit();
    float o[16][4] = {}, most[2] = {-1e30f, -1e30f}, total[2] = {};
    for (int j = first; j <= tile; ++j) {
        fetch(shared_v, values, j);
        commit();
        wait<1>();
        __syncthreads();
        float s[8][4] = {};
        #pragma unroll
        for (int k = 0; k < 8; ++k) {
            unsigned a[4];
            load4(a, shared_q + at(warp * 16 + lane % 16, k * 2 + lane / 16));
            #pragma unroll
            for (int n = 0; n < 4; ++n) {
                unsigned b[4];
                load4(b, shared_k + at(n * 16 + lane / 16 * 8 + lane % 8, k * 2 + lane / 8 % 2));
                mma(s[n * 2], a, b[0], b[1]), mma(s[n * 2 + 1], a, b[2], b[3]);
            }
        }
        __syncthreads();
        if (j < tile) fetch(shared_k, keys, j + 1);
        commit();
        #pragma unroll
        for (int half = 0; half < 2; ++half) {
            const int query = tile * 64 + warp * 16 + half * 8 + lane / 4;
            float best = most[half];
            #pragma unroll
            for (int n = 0; n < 8; ++n)
                #pragma unroll
                for (int e = 0; e < 2; ++e) {
                    const int key = j * 64 + n * 8 + lane % 4 * 2 + e;
                    float &v = s[n][half * 2 + e];
                    v = key <= query && query - key < window ? v * scale : -1e30f;
                    best = fmaxf(best, v);
                }
            best = fmaxf(best, __shfl_xor_sync(ALL, best, 1));
            best = fmaxf(best, __shfl_xor_sync(ALL, best, 2));
            const float shrink = exp2f(most[half] - best);
            float sum = 0.0f;
            #pragma unroll
            for (int n = 0; n < 8; ++n)
                #pragma unroll
                for (int e = 0; e < 2; ++e) sum += s[n][half * 2 + e] = exp2f(s[n][half * 2 + e] - best);
            total[half] = total[half] * shrink + sum;
            most[half] = best;
            #pragma unroll
            for (int n = 0; n < 16; ++n) o[n][half * 2] *= shrink, o[n][half * 2 + 1] *= shrink;
        }
        wait<1>();
        __syncthreads();
        #pragma unroll
        for (int k = 0; k < 4; ++k) {
            const unsigned a[4] = {packed(s[k * 2][0], s[k * 2][1]), packed(s[k * 2][2], s[k * 2][3]),
                                   packed(s[k * 2 + 1][0], s[k * 2 + 1][1]), packed(s[k * 2 + 1][2], s[k * 2 + 1][3])};
            #pragma unroll
            for (int n = 0; n < 8; ++n) {
                unsigned b[4];
                load4_turned(b, shared_v + at(k * 16 + lane % 16, n * 2 + lane / 16));
                mma(o[n * 2], a, b[0], b[1]), mma(o[n * 2 + 1], a, b[2], b[3]);
            }
        }
        __syncthreads();
    }
    #pragma unroll
    for (int half = 0; half < 2; ++half) {
        float sum = total[half];
        sum += __shfl_xor_sync(ALL, sum, 1);
        sum += __shfl_xor_sync(ALL, sum, 2);
        const float by = 1.0f / sum;
        __half *to = out + head + (size_t)(tile * 64 + warp * 16 + half * 8 + lane / 4) * 128 + lane % 4 * 2;
        #pragma unroll
        for (int n = 0; n < 16; ++n) *reinterpret_cast<unsigned *>(to + n * 8) = packed(o[n][half * 2] * by, o[n][half * 2 + 1] * by);
    }
}
#define RECENT(NAME, SWIZZLED)                                                                                                                    \
    KERNEL(128) NAME(const __half *queries, const __half *keys, const __half *values, __half *out, int length, int window, float scale) {         \
        recent<SWIZZLED>(queries, keys, values, out, length, window, scale);                                                                      \
    }
RECENT(recent_plain, false)
RECENT(recent_swizzled, true)
