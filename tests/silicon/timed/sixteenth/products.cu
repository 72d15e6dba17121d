// Kernels of the sixteenth set that multiply on tensor cores, in groups that differ in layout alone.
#include <cuda_fp16.h>
#include <mma.h>

#define NAMED(NAME, THREADS, RUN, PARAMETERS, ARGUMENTS, ...) \
    extern "C" __global__ void __launch_bounds__(THREADS) NAME PARAMETERS { RUN<__VA_ARGS__> ARGUMENTS; }

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

// Gradients of a layer's weights: A^T B in brain floats, where both have a row to a token: 64 by 64 a block, 32 by 32 a warp,
// three stages of 32 tokens. HOW: 0 rows of 128 bytes, 1 padded by sixteen bytes, 2 swizzled.
template <int HOW> __device__ __forceinline__ void weight_gradient(const uint4 *a, const uint4 *b, float2 *c, int m, int n, int tokens) {
    constexpr int P = HOW == 1 ? 9 : 8;
    __shared__ __align__(128) uint4 left[3][32 * P], right[3][32 * P];
    const auto at = [](int row, int part) { return row * P + (HOW == 2 ? part ^ row % 8 : part); };
    const int t = threadIdx.x, lane = t % 32, warp = t / 32, wy = warp / 2 * 4, wx = warp % 2 * 4, steps = tokens / 32;
    const auto fetch = [&](int step) {
        if (step < steps) {
            #pragma unroll
            for (int r = 0; r < 2; ++r) {
                const int row = r * 16 + t / 8, part = t % 8;
                const size_t token = (size_t)step * 32 + row;
                copy16(left[step % 3] + at(row, part), a + token * (m / 8) + blockIdx.y * 8 + part);
                copy16(right[step % 3] + at(row, part), b + token * (n / 8) + blockIdx.x * 8 + part);
            }
        }
        commit();
    };
    float sum[2][4][4] = {};
    fetch(0);
    fetch(1);
    for (int step = 0; step < steps; ++step) {
        wait_for<1>();
        __syncthreads();
        fetch(step + 2);
        #pragma unroll
        for (int k = 0; k < 32; k += 16) {
            unsigned x[2][4], y[2][4];
            #pragma unroll
            for (int i = 0; i < 2; ++i) {
                load_turned(x[i], left[step % 3] + at(k + lane / 16 * 8 + lane % 8, wy + i * 2 + lane / 8 % 2));
                load_turned(y[i], right[step % 3] + at(k + lane % 16, wx + i * 2 + lane / 16));
            }
            #pragma unroll
            for (int i = 0; i < 2; ++i)
                #pragma unroll
                for (int j = 0; j < 4; ++j) {
                    float(&s)[4] = sum[i][j];
                    asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                        : "+f"(s[0]), "+f"(s[1]), "+f"(s[2]), "+f"(s[3])
                        : "r"(x[i][0]), "r"(x[i][1]), "r"(x[i][2]), "r"(x[i][3]), "r"(y[j / 2][j % 2 * 2]), "r"(y[j / 2][j % 2 * 2 + 1]));
                }
        }
    }
    #pragma unroll
    for (int i = 0; i < 2; ++i)
        #pragma unroll
        for (int j = 0; j < 4; ++j)
            #pragma unroll
            for (int h = 0; h < 2; ++h) {
                const int row = blockIdx.y * 64 + wy * 8 + i * 16 + h * 8 + lane / 4, column = blockIdx.x * 64 + wx * 8 + j * 8 + lane % 4 * 2;
                c[((size_t)row * n + column) / 2] = make_float2(sum[i][j][2 * h], sum[i][j][2 * h + 1]);
            }
}
#define WEIGHT_GRADIENT(NAME, HOW) \
    NAMED(NAME, 128, weight_gradient, (const uint4 *a, const uint4 *b, float2 *c, int m, int n, int tokens), (a, b, c, m, n, tokens), HOW)
WEIGHT_GRADIENT(weight_gradient_plain, 0)
WEIGHT_GRADIENT(weight_gradient_padded, 1)
WEIGHT_GRADIENT(weight_gradient_swizzled, 2)

// Linear attention, 64 tokens a block: queries times what came before (a matrix of 64 by 64), and times keys, as far as these
// came earlier, times values. Products by wmma, from rows of 64 halves, or of 72; scores take the place of keys.
template <int LD> __device__ __forceinline__ void linear_chunk(const uint4 *q, const uint4 *k, const uint4 *v, const uint4 *state, float *out) {
    using namespace nvcuda;
    __shared__ __align__(128) __half queries[64 * LD], keys[64 * LD], values[64 * LD], before[64 * LD];
    const int t = threadIdx.x, warp = t / 32;
    const size_t base = (size_t)blockIdx.x * 512;
    #pragma unroll
    for (int r = 0; r < 4; ++r) {
        const int i = r * 128 + t, place = i / 8 * LD + i % 8 * 8;
        *(uint4 *)(queries + place) = q[base + i];
        *(uint4 *)(keys + place) = k[base + i];
        *(uint4 *)(values + place) = v[base + i];
        *(uint4 *)(before + place) = state[base + i];
    }
    __syncthreads();
    wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> rows[4];
    wmma::fragment<wmma::accumulator, 16, 16, 16, __half> scores[4];
    #pragma unroll
    for (int d = 0; d < 4; ++d) wmma::load_matrix_sync(rows[d], queries + warp * 16 * LD + d * 16, LD);
    #pragma unroll
    for (int j = 0; j < 4; ++j) {
        wmma::fill_fragment(scores[j], __float2half(0.0f));
        #pragma unroll
        for (int d = 0; d < 4; ++d) {
            wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::col_major> key;
            wmma::load_matrix_sync(key, keys + j * 16 * LD + d * 16, LD);
            wmma::mma_sync(scores[j], rows[d], key, scores[j]);
        }
    }
    __syncthreads();
    #pragma unroll
    for (int j = 0; j < 4; ++j) wmma::store_matrix_sync(keys + warp * 16 * LD + j * 16, scores[j], LD, wmma::mem_row_major);
    __syncwarp();
    for (int i = t % 32; i < 16 * 64; i += 32) {
        const int row = warp * 16 + i / 64, column = i % 64;
        if (column > row) keys[row * LD + column] = __float2half(0.0f);
    }
    __syncwarp();
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> sums[4];
    #pragma unroll
    for (int j = 0; j < 4; ++j) {
        wmma::fill_fragment(sums[j], 0.0f);
        #pragma unroll
        for (int d = 0; d < 4; ++d) {
            wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::row_major> part;
            wmma::load_matrix_sync(part, before + d * 16 * LD + j * 16, LD);
            wmma::mma_sync(sums[j], rows[d], part, sums[j]);
        }
    }
    #pragma unroll
    for (int d = 0; d < 4; ++d) {
        wmma::load_matrix_sync(rows[d], keys + warp * 16 * LD + d * 16, LD);
        #pragma unroll
        for (int j = 0; j < 4; ++j) {
            wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::row_major> part;
            wmma::load_matrix_sync(part, values + d * 16 * LD + j * 16, LD);
            wmma::mma_sync(sums[j], rows[d], part, sums[j]);
        }
    }
    #pragma unroll
    for (int j = 0; j < 4; ++j)
        wmma::store_matrix_sync(out + (size_t)blockIdx.x * 4096 + warp * 16 * 64 + j * 16, sums[j], 64, wmma::mem_row_major);
}
#define LINEAR_CHUNK(NAME, LD) \
    NAMED(NAME, 128, linear_chunk, (const uint4 *q, const uint4 *k, const uint4 *v, const uint4 *state, float *out), (q, k, v, state, out), LD)
LINEAR_CHUNK(linear_chunk_plain, 64)
LINEAR_CHUNK(linear_chunk_padded, 72)

// How signals of radio telescopes go with each other: A A^H of complex numbers whose parts are bytes, for each channel 512
// stations and 512 moments. 64 by 64 stations a block, those below the diagonal only; two stages of 32 moments.
// Rows of 64 bytes, or of 80.
template <int P> __device__ __forceinline__ void correlated(const uint4 *samples, int4 *out, int stations, int moments) {
    __shared__ __align__(128) uint4 left[2][64 * P], right[2][64 * P];
    int by = 0, bx = blockIdx.x;
    while (bx > by) bx -= ++by;
    const int t = threadIdx.x, lane = t % 32, warp = t / 32, wy = warp / 2 * 32, wx = warp % 2 * 32, pitch = moments / 8, steps = moments / 32;
    const uint4 *own = samples + (size_t)blockIdx.y * stations * pitch;
    const auto fetch = [&](int step) {
        if (step < steps) {
            #pragma unroll
            for (int r = 0; r < 2; ++r) {
                const int row = r * 32 + t / 4, part = t % 4;
                copy16(left[step % 2] + row * P + part, own + (size_t)(by * 64 + row) * pitch + step * 4 + part);
                copy16(right[step % 2] + row * P + part, own + (size_t)(bx * 64 + row) * pitch + step * 4 + part);
            }
        }
        commit();
    };
    const auto multiply = [](int(&s)[4], const unsigned(&a)[4], unsigned b0, unsigned b1) {
        asm("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
            : "+r"(s[0]), "+r"(s[1]), "+r"(s[2]), "+r"(s[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
    };
    // Imaginary parts take (-imaginary, real) of the other station; samples are thought to be above -128.
    const auto crossed = [](unsigned v) {
        const unsigned swapped = __byte_perm(v, 0, 0x2301);
        return (__vneg4(swapped) & 0x00ff00ffu) | (swapped & 0xff00ff00u);
    };
    int real[2][4][4] = {}, imaginary[2][4][4] = {};
    fetch(0);
    for (int step = 0; step < steps; ++step) {
        fetch(step + 1);
        wait_for<1>();
        __syncthreads();
        #pragma unroll
        for (int k = 0; k < 4; k += 2) {
            unsigned a[2][4], b[2][4];
            #pragma unroll
            for (int i = 0; i < 2; ++i) {
                load_matrices(a[i], left[step % 2] + (wy + i * 16 + lane % 16) * P + k + lane / 16);
                load_matrices(b[i], right[step % 2] + (wx + i * 16 + lane / 16 * 8 + lane % 8) * P + k + lane / 8 % 2);
            }
            #pragma unroll
            for (int j = 0; j < 4; ++j) {
                const unsigned b0 = b[j / 2][j % 2 * 2], b1 = b[j / 2][j % 2 * 2 + 1], c0 = crossed(b0), c1 = crossed(b1);
                #pragma unroll
                for (int i = 0; i < 2; ++i) {
                    multiply(real[i][j], a[i], b0, b1);
                    multiply(imaginary[i][j], a[i], c0, c1);
                }
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
                const int row = by * 64 + wy + i * 16 + h * 8 + lane / 4, column = bx * 64 + wx + j * 8 + lane % 4 * 2;
                out[(((size_t)blockIdx.y * stations + row) * stations + column) / 2] =
                    make_int4(real[i][j][2 * h], imaginary[i][j][2 * h], real[i][j][2 * h + 1], imaginary[i][j][2 * h + 1]);
            }
}
#define CORRELATED(NAME, P) NAMED(NAME, 128, correlated, (const uint4 *samples, int4 *out, int stations, int moments), (samples, out, stations, moments), P)
CORRELATED(correlated_plain, 4)
CORRELATED(correlated_padded, 5)
