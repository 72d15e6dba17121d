// Kernels of the thirty-third set on tensor cores, in groups that differ in the layout of shared memory alone: experts with gathered tokens, decoding by groups of heads,
// an adapter's first matrix, weights of four bits, distances in TF32, channels of bytes, spectra of windows, small matrices of doubles.
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#define KERNEL(THREADS) extern "C" __global__ void __launch_bounds__(THREADS)
#define ALL 0xffffffffu

enum Layout { PLAIN, PADDED, SWIZZLED };

__device__ __forceinline__ unsigned place(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }
__device__ __forceinline__ void bring(void *to, const void *from) { asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(place(to)), "l"(from) : "memory"); }
__device__ __forceinline__ void close_group() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int LEFT> __device__ __forceinline__ void arrived() { asm volatile("cp.async.wait_group %0;" ::"n"(LEFT) : "memory"); }
__device__ __forceinline__ void four(unsigned (&r)[4], const void *p) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];" : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(place(p)) : "memory");
}
__device__ __forceinline__ void four_turned(unsigned (&r)[4], const void *p) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];" : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(place(p)) : "memory");
}
__device__ __forceinline__ void halves(float (&c)[4], const unsigned (&a)[4], unsigned b, unsigned d) {
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b), "r"(d));
}
__device__ __forceinline__ void bring_word(void *to, const void *from) { asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(place(to)), "l"(from) : "memory"); }
__device__ __forceinline__ unsigned both(float x, float y) {
    const __half2 v = __floats2half2_rn(x, y);
    return *reinterpret_cast<const unsigned *>(&v);
}
// Chunks of 16 bytes: where they lie in rows of eight, and in rows of sixteen, in halves.
template <Layout HOW> __device__ __forceinline__ int wide(int row, int chunk) { return HOW == PADDED ? row * 72 + chunk * 8 : row * 64 + (HOW == SWIZZLED ? chunk ^ (row & 7) : chunk) * 8; }
template <Layout HOW> __device__ __forceinline__ int broad(int row, int chunk) { return HOW == PADDED ? row * 136 + chunk * 8 : row * 128 + (HOW == SWIZZLED ? chunk ^ (row & 7) : chunk) * 8; }

// Experts by tokens that a list names: 64 by 64 a block, 64 of K a stage, two stages; rows of tokens are gathered as they come.
template <Layout HOW> __device__ __forceinline__ void gathered_experts(const __half *tokens, const unsigned *list, const __half *weights, __half *out, int columns, int depth, unsigned mask) {
    constexpr int TILE = 64 * (HOW == PADDED ? 72 : 64);
    __shared__ __align__(16) __half as[2][TILE], bs[2][TILE];
    const int t = threadIdx.x, lane = t & 31, warp = t >> 5, i = lane >> 3, r = lane & 7;
    const __half *expert = weights + ((size_t)(blockIdx.y & 7) * columns + blockIdx.x * 64) * depth, *from[4];
    #pragma unroll
    for (int n = 0; n < 4; ++n) from[n] = tokens + (size_t)(list[blockIdx.y * 64 + n * 16 + (t >> 3)] & mask) * depth + (t & 7) * 8;
    const auto stage = [&](int k, int slot) {
        #pragma unroll
        for (int n = 0; n < 4; ++n) {
            const int row = n * 16 + (t >> 3), to = wide<HOW>(row, t & 7);
            bring(as[slot] + to, from[n] + k), bring(bs[slot] + to, expert + (size_t)row * depth + k + (t & 7) * 8);
        }
    };
    stage(0, 0), close_group();
    float c[8][4] = {};
    #pragma unroll 1
    for (int k = 0, slot = 0; k < depth; k += 64, slot ^= 1) {
        if (k + 64 < depth) stage(k + 64, slot ^ 1);
        close_group();
        arrived<1>();
        __syncthreads();
        #pragma unroll
        for (int d = 0; d < 4; ++d) {
            unsigned x[4];
            four(x, as[slot] + wide<HOW>(warp * 16 + (i & 1) * 8 + r, d * 2 + (i >> 1)));
            #pragma unroll
            for (int n = 0; n < 4; ++n) {
                unsigned y[4];
                four(y, bs[slot] + wide<HOW>(n * 16 + (i >> 1) * 8 + r, d * 2 + (i & 1)));
                halves(c[n * 2], x, y[0], y[1]), halves(c[n * 2 + 1], x, y[2], y[3]);
            }
        }
        __syncthreads();
    }
    #pragma unroll
    for (int n = 0; n < 8; ++n)
        #pragma unroll
        for (int h = 0; h < 2; ++h)
            *reinterpret_cast<unsigned *>(out + ((size_t)blockIdx.y * 64 + warp * 16 + h * 8 + (lane >> 2)) * columns + blockIdx.x * 64 + n * 8 + (lane & 3) * 2) = both(c[n][h * 2], c[n][h * 2 + 1]);
}
KERNEL(128) gathered_experts_plain(const __half *tokens, const unsigned *list, const __half *weights, __half *out, int columns, int depth, unsigned mask) { gathered_experts<PLAIN>(tokens, list, weights, out, columns, depth, mask); }
KERNEL(128) gathered_experts_padded(const __half *tokens, const unsigned *list, const __half *weights, __half *out, int columns, int depth, unsigned mask) { gathered_experts<PADDED>(tokens, list, weights, out, columns, depth, mask); }
KERNEL(128) gathered_experts_swizzled(const __half *tokens, const unsigned *list, const __half *weights, __half *out, int columns, int depth, unsigned mask) { gathered_experts<SWIZZLED>(tokens, list, weights, out, columns, depth, mask); }

// Decoding, sixteen heads with the same keys: 64 keys of 128 halves a tile, sixteen a warp, which keeps its own maxima and sums; parts are joined elsewhere.
template <Layout HOW> __device__ __forceinline__ void decoding_groups(const __half *q, const __half *k, const __half *v, float *out, float2 *tops, int length) {
    constexpr int TILE = 64 * (HOW == PADDED ? 136 : 128);
    __shared__ __align__(16) __half ks[TILE], vs[TILE];
    const int t = threadIdx.x, lane = t & 31, warp = t >> 5, i = lane >> 3, r = lane & 7;
    const __half *keys = k + (size_t)blockIdx.x * length * 128, *values = v + (size_t)blockIdx.x * length * 128;
    #pragma unroll
    for (int n = 0; n < 2; ++n) {
        const int p = n * 128 + t;
        bring(ks + broad<HOW>(p >> 4, p & 15), q + (size_t)blockIdx.x * 2048 + p * 8);
    }
    close_group();
    arrived<0>();
    __syncthreads();
    unsigned x[8][4];
    #pragma unroll
    for (int d = 0; d < 8; ++d) four(x[d], ks + broad<HOW>((i & 1) * 8 + r, d * 2 + (i >> 1)));
    float o[16][4] = {}, most[2] = {-1e30f, -1e30f}, sums[2] = {};
    #pragma unroll 1
    for (int tile = 0; tile < length; tile += 64) {
        __syncthreads();
        #pragma unroll
        for (int n = 0; n < 8; ++n) {
            const int p = n * 128 + t, to = broad<HOW>(p >> 4, p & 15);
            bring(ks + to, keys + (size_t)tile * 128 + p * 8), bring(vs + to, values + (size_t)tile * 128 + p * 8);
        }
        close_group();
        arrived<0>();
        __syncthreads();
        float s[2][4] = {};
        #pragma unroll
        for (int d = 0; d < 8; ++d) {
            unsigned y[4];
            four(y, ks + broad<HOW>(warp * 16 + (i >> 1) * 8 + r, d * 2 + (i & 1)));
            halves(s[0], x[d], y[0], y[1]), halves(s[1], x[d], y[2], y[3]);
        }
        #pragma unroll
        for (int h = 0; h < 2; ++h) {
            float now = fmaxf(fmaxf(s[0][h * 2], s[0][h * 2 + 1]), fmaxf(s[1][h * 2], s[1][h * 2 + 1])) * 0.0883883f;
            now = fmaxf(now, __shfl_xor_sync(ALL, now, 1));
            now = fmaxf(fmaxf(now, __shfl_xor_sync(ALL, now, 2)), most[h]);
            const float less = __expf(most[h] - now);
            most[h] = now, sums[h] *= less;
            #pragma unroll
            for (int e = 0; e < 4; ++e) {
                float &one = s[e >> 1][h * 2 + (e & 1)];
                one = __expf(one * 0.0883883f - now), sums[h] += one;
            }
            #pragma unroll
            for (int n = 0; n < 16; ++n) o[n][h * 2] *= less, o[n][h * 2 + 1] *= less;
        }
        const unsigned p[4] = {both(s[0][0], s[0][1]), both(s[0][2], s[0][3]), both(s[1][0], s[1][1]), both(s[1][2], s[1][3])};
        #pragma unroll
        for (int n = 0; n < 8; ++n) {
            unsigned y[4];
            four_turned(y, vs + broad<HOW>(warp * 16 + (i & 1) * 8 + r, n * 2 + (i >> 1)));
            halves(o[n * 2], p, y[0], y[1]), halves(o[n * 2 + 1], p, y[2], y[3]);
        }
    }
    #pragma unroll
    for (int h = 0; h < 2; ++h) {
        const size_t row = ((size_t)blockIdx.x * 4 + warp) * 16 + h * 8 + (lane >> 2);
        sums[h] += __shfl_xor_sync(ALL, sums[h], 1), sums[h] += __shfl_xor_sync(ALL, sums[h], 2);
        if ((lane & 3) == 0) tops[row] = make_float2(most[h], sums[h]);
        #pragma unroll
        for (int n = 0; n < 16; ++n) *reinterpret_cast<float2 *>(out + row * 128 + n * 8 + (lane & 3) * 2) = make_float2(o[n][h * 2], o[n][h * 2 + 1]);
    }
}
KERNEL(128) decoding_groups_plain(const __half *q, const __half *k, const __half *v, float *out, float2 *tops, int length) { decoding_groups<PLAIN>(q, k, v, out, tops, length); }
KERNEL(128) decoding_groups_swizzled(const __half *q, const __half *k, const __half *v, float *out, float2 *tops, int length) { decoding_groups<SWIZZLED>(q, k, v, out, tops, length); }

// An adapter's first matrix: 64 tokens by sixteen ranks a block, a part of K each, 64 a stage and two stages.
template <Layout HOW> __device__ __forceinline__ void low_ranks(const __half *tokens, const __half *ranks, float *out, int depth, int part) {
    constexpr int P = HOW == PADDED ? 72 : 64;
    __shared__ __align__(16) __half as[2][64 * P], bs[2][16 * P];
    const int t = threadIdx.x, lane = t & 31, warp = t >> 5, i = lane >> 3, r = lane & 7;
    const __half *rows = tokens + (size_t)blockIdx.x * 64 * depth + blockIdx.y * part, *others = ranks + blockIdx.y * part;
    const auto stage = [&](int k, int slot) {
        #pragma unroll
        for (int n = 0; n < 4; ++n) bring(as[slot] + wide<HOW>(n * 16 + (t >> 3), t & 7), rows + (size_t)(n * 16 + (t >> 3)) * depth + k + (t & 7) * 8);
        bring(bs[slot] + wide<HOW>(t >> 3, t & 7), others + (size_t)(t >> 3) * depth + k + (t & 7) * 8);
    };
    stage(0, 0), close_group();
    float c[2][4] = {};
    #pragma unroll 1
    for (int k = 0, slot = 0; k < part; k += 64, slot ^= 1) {
        if (k + 64 < part) stage(k + 64, slot ^ 1);
        close_group();
        arrived<1>();
        __syncthreads();
        #pragma unroll
        for (int d = 0; d < 4; ++d) {
            unsigned x[4], y[4];
            four(x, as[slot] + wide<HOW>(warp * 16 + (i & 1) * 8 + r, d * 2 + (i >> 1)));
            four(y, bs[slot] + wide<HOW>((i >> 1) * 8 + r, d * 2 + (i & 1)));
            halves(c[0], x, y[0], y[1]), halves(c[1], x, y[2], y[3]);
        }
        __syncthreads();
    }
    #pragma unroll
    for (int n = 0; n < 2; ++n)
        #pragma unroll
        for (int h = 0; h < 2; ++h)
            *reinterpret_cast<float2 *>(out + (((size_t)blockIdx.y * gridDim.x + blockIdx.x) * 64 + warp * 16 + h * 8 + (lane >> 2)) * 16 + n * 8 + (lane & 3) * 2) = make_float2(c[n][h * 2], c[n][h * 2 + 1]);
}
KERNEL(128) low_ranks_plain(const __half *tokens, const __half *ranks, float *out, int depth, int part) { low_ranks<PLAIN>(tokens, ranks, out, depth, part); }
KERNEL(128) low_ranks_padded(const __half *tokens, const __half *ranks, float *out, int depth, int part) { low_ranks<PADDED>(tokens, ranks, out, depth, part); }

// Halves by weights of four bits with a scale for each 128 of K: words of eight weights come by fours of bytes, and become halves as fragments are made; 64 by 64 a block.
template <int P> __device__ __forceinline__ void packed_weights(const __half *a, const unsigned *b, const __half *scales, __half *out, int columns, int depth) {
    __shared__ __align__(16) __half as[2][64 * 128];
    __shared__ __align__(16) unsigned bs[2][64 * P];
    const int t = threadIdx.x, lane = t & 31, warp = t >> 5, i = lane >> 3, r = lane & 7;
    const __half *rows = a + (size_t)blockIdx.y * 64 * depth;
    const unsigned *others = b + (size_t)blockIdx.x * 64 * (depth / 8);
    const auto stage = [&](int k, int slot) {
        #pragma unroll
        for (int n = 0; n < 8; ++n) {
            const int p = n * 128 + t, row = p >> 4, chunk = p & 15;
            bring(as[slot] + broad<SWIZZLED>(row, chunk), rows + (size_t)row * depth + k + chunk * 8);
            bring_word(bs[slot] + row * P + chunk, others + (size_t)row * (depth / 8) + k / 8 + chunk);
        }
    };
    const auto widened = [](unsigned pair, __half2 scale) {
        const unsigned bits = (pair & 15u) | (pair & 240u) << 12 | 0x64006400u;
        const __half2 v = __hmul2(__hsub2(*reinterpret_cast<const __half2 *>(&bits), __half2half2(__ushort_as_half(0x6408))), scale);
        return *reinterpret_cast<const unsigned *>(&v);
    };
    stage(0, 0), close_group();
    float c[8][4] = {};
    #pragma unroll 1
    for (int k = 0, slot = 0; k < depth; k += 128, slot ^= 1) {
        if (k + 128 < depth) stage(k + 128, slot ^ 1);
        close_group();
        __half2 scale[8];
        #pragma unroll
        for (int n = 0; n < 8; ++n) scale[n] = __half2half2(scales[(size_t)(k >> 7) * columns + blockIdx.x * 64 + n * 8 + (lane >> 2)]);
        arrived<1>();
        __syncthreads();
        #pragma unroll
        for (int d = 0; d < 8; ++d) {
            unsigned x[4];
            four(x, as[slot] + broad<SWIZZLED>(warp * 16 + (i & 1) * 8 + r, d * 2 + (i >> 1)));
            #pragma unroll
            for (int n = 0; n < 8; ++n) {
                const uint2 two = *reinterpret_cast<const uint2 *>(bs[slot] + (n * 8 + (lane >> 2)) * P + d * 2);
                halves(c[n], x, widened(two.x >> (lane & 3) * 8, scale[n]), widened(two.y >> (lane & 3) * 8, scale[n]));
            }
        }
        __syncthreads();
    }
    #pragma unroll
    for (int n = 0; n < 8; ++n)
        #pragma unroll
        for (int h = 0; h < 2; ++h)
            *reinterpret_cast<unsigned *>(out + ((size_t)blockIdx.y * 64 + warp * 16 + h * 8 + (lane >> 2)) * columns + blockIdx.x * 64 + n * 8 + (lane & 3) * 2) = both(c[n][h * 2], c[n][h * 2 + 1]);
}
KERNEL(128) packed_weights_plain(const __half *a, const unsigned *b, const __half *scales, __half *out, int columns, int depth) { packed_weights<16>(a, b, scales, out, columns, depth); }
KERNEL(128) packed_weights_padded(const __half *a, const unsigned *b, const __half *scales, __half *out, int columns, int depth) { packed_weights<18>(a, b, scales, out, columns, depth); }

// Squared distances of points of 64 numbers, products in TF32 from fragments read word by word: 64 by 64 a block, all of K at once.
template <Layout HOW> __device__ __forceinline__ void metric_tiles(const float *a, const float *b, const float *squares, const float *others, float *out, int columns) {
    constexpr int P = HOW == PADDED ? 68 : 64;
    __shared__ __align__(16) float as[64 * P], bs[64 * P];
    const int t = threadIdx.x, lane = t & 31, warp = t >> 5, g = lane >> 2, q = lane & 3;
    const auto at = [](int row, int k) { return row * P + (HOW == SWIZZLED ? ((k >> 2) ^ (row & 7)) << 2 | (k & 3) : k); };
    #pragma unroll
    for (int n = 0; n < 8; ++n) {
        const int p = n * 128 + t, to = at(p >> 4, (p & 15) * 4);
        bring(as + to, a + (size_t)blockIdx.y * 4096 + p * 4), bring(bs + to, b + (size_t)blockIdx.x * 4096 + p * 4);
    }
    close_group();
    arrived<0>();
    __syncthreads();
    float c[8][4] = {};
    #pragma unroll
    for (int k = 0; k < 64; k += 8) {
        unsigned x[4];
        #pragma unroll
        for (int e = 0; e < 4; ++e) x[e] = __float_as_uint(as[at(warp * 16 + (e & 1) * 8 + g, k + (e >> 1) * 4 + q)]);
        #pragma unroll
        for (int n = 0; n < 8; ++n) {
            const unsigned y = __float_as_uint(bs[at(n * 8 + g, k + q)]), z = __float_as_uint(bs[at(n * 8 + g, k + 4 + q)]);
            asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                         : "+f"(c[n][0]), "+f"(c[n][1]), "+f"(c[n][2]), "+f"(c[n][3]) : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(y), "r"(z));
        }
    }
    #pragma unroll
    for (int h = 0; h < 2; ++h) {
        const int row = blockIdx.y * 64 + warp * 16 + h * 8 + g;
        const float own = squares[row];
        #pragma unroll
        for (int n = 0; n < 8; ++n) {
            const int column = blockIdx.x * 64 + n * 8 + q * 2;
            const float2 more = *reinterpret_cast<const float2 *>(others + column);
            *reinterpret_cast<float2 *>(out + (size_t)row * columns + column) = make_float2(own + more.x - 2.0f * c[n][h * 2], own + more.y - 2.0f * c[n][h * 2 + 1]);
        }
    }
}
KERNEL(128) metric_tiles_plain(const float *a, const float *b, const float *squares, const float *others, float *out, int columns) { metric_tiles<PLAIN>(a, b, squares, others, out, columns); }
KERNEL(128) metric_tiles_padded(const float *a, const float *b, const float *squares, const float *others, float *out, int columns) { metric_tiles<PADDED>(a, b, squares, others, out, columns); }
KERNEL(128) metric_tiles_swizzled(const float *a, const float *b, const float *squares, const float *others, float *out, int columns) { metric_tiles<SWIZZLED>(a, b, squares, others, out, columns); }

// A convolution of one pixel, 128 channels of bytes to 128: weights of 64 channels stay in shared memory, four tiles of 64 pixels pass by in two stages.
template <Layout HOW> __device__ __forceinline__ void byte_channels(const signed char *in, const signed char *weights, const float *scales, signed char *out) {
    constexpr int TILE = 64 * (HOW == PADDED ? 72 : 64);
    __shared__ __align__(16) __half xs[2][TILE], ws[TILE];
    const int t = threadIdx.x, lane = t & 31, warp = t >> 5, i = lane >> 3, r = lane & 7;
    const signed char *own = in + (size_t)blockIdx.y * 256 * 128;
    const auto stage = [&](int tile) {
        #pragma unroll
        for (int n = 0; n < 4; ++n) bring(xs[tile & 1] + wide<HOW>(n * 16 + (t >> 3), t & 7), own + tile * 8192 + (n * 128 + t) * 16);
    };
    #pragma unroll
    for (int n = 0; n < 4; ++n) bring(ws + wide<HOW>(n * 16 + (t >> 3), t & 7), weights + blockIdx.x * 8192 + (n * 128 + t) * 16);
    stage(0), close_group();
    #pragma unroll 1
    for (int tile = 0; tile < 4; ++tile) {
        if (tile < 3) stage(tile + 1);
        close_group();
        arrived<1>();
        __syncthreads();
        int c[8][4] = {};
        #pragma unroll
        for (int d = 0; d < 4; ++d) {
            unsigned x[4];
            four(x, xs[tile & 1] + wide<HOW>(warp * 16 + (i & 1) * 8 + r, d * 2 + (i >> 1)));
            #pragma unroll
            for (int n = 0; n < 8; n += 2) {
                unsigned y[4];
                four(y, ws + wide<HOW>(n * 8 + (i >> 1) * 8 + r, d * 2 + (i & 1)));
                #pragma unroll
                for (int e = 0; e < 2; ++e)
                    asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                                 : "+r"(c[n + e][0]), "+r"(c[n + e][1]), "+r"(c[n + e][2]), "+r"(c[n + e][3]) : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(y[e * 2]), "r"(y[e * 2 + 1]));
            }
        }
        #pragma unroll
        for (int n = 0; n < 8; ++n) {
            const int channel = blockIdx.x * 64 + n * 8 + (lane & 3) * 2;
            const float2 scale = *reinterpret_cast<const float2 *>(scales + channel);
            #pragma unroll
            for (int h = 0; h < 2; ++h) {
                const int first = min(max(__float2int_rn((float)c[n][h * 2] * scale.x * 0.002f), 0), 127), second = min(max(__float2int_rn((float)c[n][h * 2 + 1] * scale.y * 0.002f), 0), 127);
                *reinterpret_cast<char2 *>(out + ((size_t)blockIdx.y * 256 + tile * 64 + warp * 16 + h * 8 + (lane >> 2)) * 128 + channel) = make_char2((signed char)first, (signed char)second);
            }
        }
        __syncthreads();
    }
}
KERNEL(128) byte_channels_plain(const signed char *in, const signed char *weights, const float *scales, signed char *out) { byte_channels<PLAIN>(in, weights, scales, out); }
KERNEL(128) byte_channels_padded(const signed char *in, const signed char *weights, const float *scales, signed char *out) { byte_channels<PADDED>(in, weights, scales, out); }

// Powers of spectra of windows of 256 samples, one each 64 samples, by a matrix of cosines and sines: windows overlap in shared memory, where rows of 64 samples follow each other.
template <Layout HOW> __device__ __forceinline__ void window_spectra(const __half *signal, const __half *waves, float *out) {
    __shared__ __align__(16) __half xs[67 * (HOW == PADDED ? 72 : 64)], ws[2][64 * (HOW == PADDED ? 72 : 64)];
    const int t = threadIdx.x, lane = t & 31, warp = t >> 5, i = lane >> 3, r = lane & 7;
    for (int p = t; p < 536; p += 128) bring(xs + wide<HOW>(p >> 3, p & 7), signal + (size_t)blockIdx.y * 4096 + p * 8);
    const auto stage = [&](int k) {
        #pragma unroll
        for (int n = 0; n < 4; ++n) bring(ws[k & 1] + wide<HOW>(n * 16 + (t >> 3), t & 7), waves + ((size_t)blockIdx.x * 64 + n * 16 + (t >> 3)) * 256 + k * 64 + (t & 7) * 8);
    };
    stage(0), close_group();
    float c[8][4] = {};
    #pragma unroll 1
    for (int k = 0; k < 4; ++k) {
        if (k < 3) stage(k + 1);
        close_group();
        arrived<1>();
        __syncthreads();
        #pragma unroll
        for (int d = 0; d < 4; ++d) {
            unsigned x[4];
            four(x, xs + wide<HOW>(warp * 16 + (i & 1) * 8 + r + k, d * 2 + (i >> 1)));
            #pragma unroll
            for (int n = 0; n < 4; ++n) {
                unsigned y[4];
                four(y, ws[k & 1] + wide<HOW>(n * 16 + (i >> 1) * 8 + r, d * 2 + (i & 1)));
                halves(c[n * 2], x, y[0], y[1]), halves(c[n * 2 + 1], x, y[2], y[3]);
            }
        }
        __syncthreads();
    }
    #pragma unroll
    for (int n = 0; n < 8; ++n)
        #pragma unroll
        for (int h = 0; h < 2; ++h)
            out[((size_t)blockIdx.y * 64 + warp * 16 + h * 8 + (lane >> 2)) * 128 + blockIdx.x * 32 + n * 4 + (lane & 3)] = c[n][h * 2] * c[n][h * 2] + c[n][h * 2 + 1] * c[n][h * 2 + 1];
}
KERNEL(128) window_spectra_plain(const __half *signal, const __half *waves, float *out) { window_spectra<PLAIN>(signal, waves, out); }
KERNEL(128) window_spectra_padded(const __half *signal, const __half *waves, float *out) { window_spectra<PADDED>(signal, waves, out); }
KERNEL(128) window_spectra_swizzled(const __half *signal, const __half *waves, float *out) { window_spectra<SWIZZLED>(signal, waves, out); }

// A B' of matrices of 32 by 32 doubles, one a block, by the tensor cores' instruction for doubles: a warp has eight rows.
template <int P> __device__ __forceinline__ void stiffness_tiles(const double2 *a, const double2 *b, double2 *out) {
    __shared__ __align__(16) double as[32 * P], bs[32 * P];
    const int t = threadIdx.x, lane = t & 31, warp = t >> 5, g = lane >> 2, q = lane & 3;
    const size_t own = (size_t)blockIdx.x * 512;
    #pragma unroll
    for (int n = 0; n < 4; ++n) {
        const int p = n * 128 + t, to = (p >> 4) * P + (p & 15) * 2;
        bring(as + to, a + own + p), bring(bs + to, b + own + p);
    }
    close_group();
    arrived<0>();
    __syncthreads();
    double c[4][2] = {};
    #pragma unroll
    for (int k = 0; k < 32; k += 4) {
        const double x = as[(warp * 8 + g) * P + k + q];
        #pragma unroll
        for (int n = 0; n < 4; ++n)
            asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0,%1}, {%2}, {%3}, {%0,%1};" : "+d"(c[n][0]), "+d"(c[n][1]) : "d"(x), "d"(bs[(n * 8 + g) * P + k + q]));
    }
    #pragma unroll
    for (int n = 0; n < 4; ++n) out[own + (warp * 8 + g) * 16 + n * 4 + q] = make_double2(c[n][0], c[n][1]);
}
KERNEL(128) stiffness_tiles_plain(const double2 *a, const double2 *b, double2 *out) { stiffness_tiles<32>(a, b, out); }
KERNEL(128) stiffness_tiles_padded(const double2 *a, const double2 *b, double2 *out) { stiffness_tiles<36>(a, b, out); }
