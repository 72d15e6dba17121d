// Kernels of the thirty-first set in groups that differ in the layout of shared memory alone: batched products, products by pairs of halves, halves turned by bytes, a pass
// of a radix sort, 4096 points of Fourier, states scanned, a merge sort, gradients of a norm, a cache of bytes, tags of a field, tables of keys, deltas, biquads.
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#define KERNEL(THREADS) extern "C" __global__ void __launch_bounds__(THREADS)
#define ALL 0xffffffffu

enum Layout { PLAIN, PADDED, OTHER };

// alpha A B' + beta C for a batch of matrices, both with K along rows: 64 by 64 a block, 16 deep a step, sixteen results a thread; the tiles are turned as they are stored.
template <int PITCH> __device__ __forceinline__ void batch_nt(const float *a, const float *b, float *c, int size, int depth, float alpha, float beta) {
    __shared__ __align__(16) float as[16 * PITCH], bs[16 * PITCH];
    const int t = threadIdx.x, x = t & 15, y = t >> 4, row = t >> 2, k4 = (t & 3) * 4;
    const float *mine = a + ((size_t)blockIdx.z * size + blockIdx.y * 64 + row) * depth + k4, *theirs = b + ((size_t)blockIdx.z * size + blockIdx.x * 64 + row) * depth + k4;
    float4 u = *reinterpret_cast<const float4 *>(mine), v = *reinterpret_cast<const float4 *>(theirs);
    float sums[4][4] = {};
    #pragma unroll 1
    for (int k = 0; k < depth; k += 16) {
        as[k4 * PITCH + row] = u.x, as[(k4 + 1) * PITCH + row] = u.y, as[(k4 + 2) * PITCH + row] = u.z, as[(k4 + 3) * PITCH + row] = u.w;
        bs[k4 * PITCH + row] = v.x, bs[(k4 + 1) * PITCH + row] = v.y, bs[(k4 + 2) * PITCH + row] = v.z, bs[(k4 + 3) * PITCH + row] = v.w;
        __syncthreads();
        if (k + 16 < depth) u = *reinterpret_cast<const float4 *>(mine + k + 16), v = *reinterpret_cast<const float4 *>(theirs + k + 16);
        #pragma unroll
        for (int d = 0; d < 16; ++d) {
            float p[4], q[4];
            *reinterpret_cast<float2 *>(p) = *reinterpret_cast<const float2 *>(as + d * PITCH + y * 4), *reinterpret_cast<float2 *>(p + 2) = *reinterpret_cast<const float2 *>(as + d * PITCH + y * 4 + 2);
            *reinterpret_cast<float2 *>(q) = *reinterpret_cast<const float2 *>(bs + d * PITCH + x * 2), *reinterpret_cast<float2 *>(q + 2) = *reinterpret_cast<const float2 *>(bs + d * PITCH + 32 + x * 2);
            #pragma unroll
            for (int i = 0; i < 4; ++i)
                #pragma unroll
                for (int j = 0; j < 4; ++j) sums[i][j] += p[i] * q[j];
        }
        __syncthreads();
    }
    #pragma unroll
    for (int i = 0; i < 4; ++i)
        #pragma unroll
        for (int j = 0; j < 4; j += 2) {
            float2 *own = reinterpret_cast<float2 *>(c + ((size_t)blockIdx.z * size + blockIdx.y * 64 + y * 4 + i) * size + blockIdx.x * 64 + j * 16 + x * 2);
            const float2 old = *own;
            *own = make_float2(alpha * sums[i][j] + beta * old.x, alpha * sums[i][j + 1] + beta * old.y);
        }
}
KERNEL(256) batch_nt_plain(const float *a, const float *b, float *c, int size, int depth, float alpha, float beta) { batch_nt<64>(a, b, c, size, depth, alpha, beta); }
KERNEL(256) batch_nt_padded(const float *a, const float *b, float *c, int size, int depth, float alpha, float beta) { batch_nt<66>(a, b, c, size, depth, alpha, beta); }

// A B' in halves without tensor cores: pairs along K multiplied and added as half2, sums kept as floats after each 32; bias and ReLU at the end.
template <int PITCH> __device__ __forceinline__ void half_pairs(const __half *a, const __half *b, const float *bias, __half *out, int columns, int depth) {
    __shared__ unsigned as[64 * PITCH], bs[64 * PITCH];
    const int t = threadIdx.x, x = t & 15, y = t >> 4, row = t >> 2, chunk = t & 3;
    const __half *mine = a + ((size_t)blockIdx.y * 64 + row) * depth + chunk * 8, *theirs = b + ((size_t)blockIdx.x * 64 + row) * depth + chunk * 8;
    const auto two = [](unsigned v) { return *reinterpret_cast<const __half2 *>(&v); };
    float sums[4][4] = {};
    #pragma unroll 1
    for (int k = 0; k < depth; k += 32) {
        const uint4 u = *reinterpret_cast<const uint4 *>(mine + k), v = *reinterpret_cast<const uint4 *>(theirs + k);
        unsigned *p = as + row * PITCH + chunk * 4, *q = bs + row * PITCH + chunk * 4;
        p[0] = u.x, p[1] = u.y, p[2] = u.z, p[3] = u.w, q[0] = v.x, q[1] = v.y, q[2] = v.z, q[3] = v.w;
        __syncthreads();
        __half2 part[4][4];
        #pragma unroll
        for (int i = 0; i < 4; ++i)
            #pragma unroll
            for (int j = 0; j < 4; ++j) part[i][j] = __half2half2(__ushort_as_half(0));
        #pragma unroll 4
        for (int d = 0; d < 16; ++d) {
            __half2 f[4], g[4];
            #pragma unroll
            for (int i = 0; i < 4; ++i) f[i] = two(as[(y + i * 16) * PITCH + d]), g[i] = two(bs[(x + i * 16) * PITCH + d]);
            #pragma unroll
            for (int i = 0; i < 4; ++i)
                #pragma unroll
                for (int j = 0; j < 4; ++j) part[i][j] = __hfma2(f[i], g[j], part[i][j]);
        }
        #pragma unroll
        for (int i = 0; i < 4; ++i)
            #pragma unroll
            for (int j = 0; j < 4; ++j) {
                const float2 pair = __half22float2(part[i][j]);
                sums[i][j] += pair.x + pair.y;
            }
        __syncthreads();
    }
    #pragma unroll
    for (int j = 0; j < 4; ++j) {
        const int column = blockIdx.x * 64 + j * 16 + x;
        const float added = bias[column];
        #pragma unroll
        for (int i = 0; i < 4; ++i) out[((size_t)blockIdx.y * 64 + i * 16 + y) * columns + column] = __float2half_rn(fmaxf(sums[i][j] + added, 0.0f));
    }
}
extern "C" __global__ void __launch_bounds__(256, 4) half_pairs_rows(const __half *a, const __half *b, const float *bias, __half *out, int columns, int depth) { half_pairs<16>(a, b, bias, out, columns, depth); }
extern "C" __global__ void __launch_bounds__(256, 4) half_pairs_padded(const __half *a, const __half *b, const float *bias, __half *out, int columns, int depth) { half_pairs<17>(a, b, bias, out, columns, depth); }

// A matrix of halves turned: tiles of 64 by 64 by two halves a word, each two by two turned in registers by a permutation of bytes, then rows of pairs by shared memory.
template <Layout HOW> __device__ __forceinline__ void two_by_two(const unsigned *in, unsigned *out, int rows, int columns) {
    __shared__ unsigned tile[64 * (HOW == PADDED ? 33 : 32)];
    const int x = threadIdx.x, y = threadIdx.y;
    const auto at = [](int column, int pair) { return HOW == PADDED ? column * 33 + pair : column * 32 + (HOW == OTHER ? pair ^ (column >> 1 & 31) : pair); };
    const unsigned *from = in + (size_t)blockIdx.y * 64 * (columns / 2) + blockIdx.x * 32;
    #pragma unroll
    for (int k = 0; k < 4; ++k) {
        const int pair = k * 8 + y;
        const unsigned upper = from[(size_t)pair * 2 * (columns / 2) + x], lower = from[(size_t)(pair * 2 + 1) * (columns / 2) + x];
        tile[at(x * 2, pair)] = __byte_perm(upper, lower, 0x5410), tile[at(x * 2 + 1, pair)] = __byte_perm(upper, lower, 0x7632);
    }
    __syncthreads();
    unsigned *to = out + (size_t)blockIdx.x * 64 * (rows / 2) + blockIdx.y * 32;
    #pragma unroll
    for (int k = 0; k < 8; ++k) to[(size_t)(k * 8 + y) * (rows / 2) + x] = tile[at(k * 8 + y, x)];
}
KERNEL(256) two_by_two_plain(const unsigned *in, unsigned *out, int rows, int columns) { two_by_two<PLAIN>(in, out, rows, columns); }
KERNEL(256) two_by_two_padded(const unsigned *in, unsigned *out, int rows, int columns) { two_by_two<PADDED>(in, out, rows, columns); }
KERNEL(256) two_by_two_swizzled(const unsigned *in, unsigned *out, int rows, int columns) { two_by_two<OTHER>(in, out, rows, columns); }

// A pass of a radix sort by four bits over 2048 keys a block: sixteen short counters a thread, scanned over the block by digit, then the keys sorted within it.
template <Layout HOW> __device__ __forceinline__ void four_bit_pass(const uint4 *in, unsigned *out, unsigned *starts, int shift) {
    __shared__ unsigned short counts[16 * 256];
    __shared__ unsigned sorted[2048], sums[8];
    const int t = threadIdx.x, lane = t & 31, warp = t >> 5;
    const auto at = [](int digit, int thread) { return HOW == PLAIN ? thread * 16 + digit : digit * 256 + thread; };
    unsigned keys[8];
    *reinterpret_cast<uint4 *>(keys) = in[((size_t)blockIdx.x * 256 + t) * 2], *reinterpret_cast<uint4 *>(keys + 4) = in[((size_t)blockIdx.x * 256 + t) * 2 + 1];
    #pragma unroll
    for (int digit = 0; digit < 16; ++digit) counts[at(digit, t)] = 0;
    unsigned short before[8];
    #pragma unroll
    for (int k = 0; k < 8; ++k) {
        const int place = at(keys[k] >> shift & 15u, t);
        before[k] = counts[place], counts[place] = before[k] + 1;
    }
    __syncthreads();
    unsigned own[16], sum = 0;
    #pragma unroll
    for (int k = 0; k < 16; ++k) own[k] = counts[at(t >> 4, (t & 15) * 16 + k)], sum += own[k];
    unsigned run = sum;
    #pragma unroll
    for (int offset = 1; offset < 32; offset <<= 1) {
        const unsigned other = __shfl_up_sync(ALL, run, offset);
        if (lane >= offset) run += other;
    }
    if (lane == 31) sums[warp] = run;
    __syncthreads();
    run -= sum;
    for (int w = 0; w < 8; ++w) run += w < warp ? sums[w] : 0u;
    if ((t & 15) == 0) starts[(t >> 4) * gridDim.x + blockIdx.x] = run;
    #pragma unroll
    for (int k = 0; k < 16; ++k) counts[at(t >> 4, (t & 15) * 16 + k)] = (unsigned short)run, run += own[k];
    __syncthreads();
    #pragma unroll
    for (int k = 0; k < 8; ++k) sorted[counts[at(keys[k] >> shift & 15u, t)] + before[k]] = keys[k];
    __syncthreads();
    #pragma unroll
    for (int k = 0; k < 8; ++k) out[(size_t)blockIdx.x * 2048 + k * 256 + t] = sorted[k * 256 + t];
}
KERNEL(256) four_bit_pass_rows(const uint4 *in, unsigned *out, unsigned *starts, int shift) { four_bit_pass<PLAIN>(in, out, starts, shift); }
KERNEL(256) four_bit_pass_columns(const uint4 *in, unsigned *out, unsigned *starts, int shift) { four_bit_pass<OTHER>(in, out, starts, shift); }

// Fourier transforms of 4096 points, three passes by sixteen: sixteen points a thread in registers, exchanged twice.
__device__ __forceinline__ float2 times(float2 a, float2 b) { return make_float2(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x); }
__device__ __forceinline__ void by_four(float2 &a, float2 &b, float2 &c, float2 &d) {
    const float2 p = make_float2(a.x + c.x, a.y + c.y), q = make_float2(a.x - c.x, a.y - c.y), r = make_float2(b.x + d.x, b.y + d.y), s = make_float2(b.y - d.y, d.x - b.x);
    a = make_float2(p.x + r.x, p.y + r.y), b = make_float2(q.x + s.x, q.y + s.y), c = make_float2(p.x - r.x, p.y - r.y), d = make_float2(q.x - s.x, q.y - s.y);
}
__device__ __forceinline__ void by_sixteen(float2 (&v)[16]) {
    constexpr float COS[10] = {1.0f, 0.92387953f, 0.70710678f, 0.38268343f, 0.0f, -0.38268343f, -0.70710678f, -0.92387953f, -1.0f, -0.92387953f};
    constexpr float SIN[10] = {0.0f, -0.38268343f, -0.70710678f, -0.92387953f, -1.0f, -0.92387953f, -0.70710678f, -0.38268343f, 0.0f, 0.38268343f};
    #pragma unroll
    for (int i = 0; i < 4; ++i) by_four(v[i], v[4 + i], v[8 + i], v[12 + i]);
    #pragma unroll
    for (int i = 1; i < 4; ++i)
        #pragma unroll
        for (int j = 1; j < 4; ++j) v[j * 4 + i] = times(v[j * 4 + i], make_float2(COS[i * j], SIN[i * j]));
    #pragma unroll
    for (int j = 0; j < 4; ++j) by_four(v[j * 4], v[j * 4 + 1], v[j * 4 + 2], v[j * 4 + 3]);
    // Result number i * 4 + j is at j * 4 + i.
    #pragma unroll
    for (int j = 0; j < 4; ++j)
        #pragma unroll
        for (int i = 0; i < j; ++i) {
            const float2 other = v[j * 4 + i];
            v[j * 4 + i] = v[i * 4 + j], v[i * 4 + j] = other;
        }
}
template <Layout HOW> __device__ __forceinline__ void sixteen_thrice(const float2 *in, float2 *out) {
    __shared__ float2 held[HOW == PADDED ? 4096 + 256 : 4096];
    const int t = threadIdx.x;
    const auto at = [](int place) { return HOW == PADDED ? place + (place >> 4) : place; };
    float2 v[16];
    #pragma unroll
    for (int r = 0; r < 16; ++r) v[r] = in[(size_t)blockIdx.x * 4096 + r * 256 + t];
    by_sixteen(v);
    #pragma unroll
    for (int pass = 0; pass < 2; ++pass) {
        const int before = pass ? 16 : 1, span = before * 16;
        if (pass) __syncthreads();
        #pragma unroll
        for (int r = 0; r < 16; ++r) held[at(t / before * span + t % before + r * before)] = v[r];
        __syncthreads();
        const float angle = -6.2831853f / (float)(span * 16) * (float)(t % span);
        #pragma unroll
        for (int r = 0; r < 16; ++r) {
            float2 turn;
            __sincosf(angle * (float)r, &turn.y, &turn.x);
            v[r] = times(held[at(r * 256 + t)], turn);
        }
        by_sixteen(v);
    }
    #pragma unroll
    for (int r = 0; r < 16; ++r) out[(size_t)blockIdx.x * 4096 + r * 256 + t] = v[r];
}
KERNEL(256) sixteen_thrice_plain(const float2 *in, float2 *out) { sixteen_thrice<PLAIN>(in, out); }
KERNEL(256) sixteen_thrice_padded(const float2 *in, float2 *out) { sixteen_thrice<PADDED>(in, out); }

// A selective state space over 2048 steps of a channel: sixteen steps in a row a thread, brought in order by shared memory, states composed over warps and the block.
template <Layout HOW> __device__ __forceinline__ void steps_scanned(const float *u, const float *delta, const float *b, const float *c, const float *rates, float *out, int states) {
    __shared__ float held[HOW == PADDED ? 2048 + 64 : 2048];
    __shared__ float2 ends[4];
    const int t = threadIdx.x, lane = t & 31, warp = t >> 5;
    const auto at = [](int place) { return HOW == PADDED ? place + (place >> 5) : place; };
    const auto ordered = [&](float (&x)[16], const float *from) {
        __syncthreads();
        #pragma unroll
        for (int k = 0; k < 16; ++k) held[at(k * 128 + t)] = from[k * 128 + t];
        __syncthreads();
        #pragma unroll
        for (int k = 0; k < 16; ++k) x[k] = held[at(t * 16 + k)];
    };
    const size_t own = ((size_t)blockIdx.y * gridDim.x + blockIdx.x) * 2048;
    float x[16], d[16], y[16];
    ordered(x, u + own), ordered(d, delta + own);
    #pragma unroll
    for (int k = 0; k < 16; ++k) {
        d[k] = __logf(1.0f + __expf(d[k] - 2.0f));
        y[k] = 0.5f * x[k], x[k] *= d[k];
    }
    #pragma unroll 1
    for (int n = 0; n < states; ++n) {
        const float rate = -1.0f - fabsf(rates[blockIdx.x * states + n]) * (float)(n + 1);
        float v[16], w[16];
        ordered(v, b + ((size_t)blockIdx.y * states + n) * 2048), ordered(w, c + ((size_t)blockIdx.y * states + n) * 2048);
        float keep = 1.0f, state = 0.0f, kept[16];
        #pragma unroll
        for (int k = 0; k < 16; ++k) {
            kept[k] = __expf(d[k] * rate), v[k] *= x[k];
            keep *= kept[k], state = state * kept[k] + v[k];
        }
        #pragma unroll
        for (int offset = 1; offset < 32; offset <<= 1) {
            const float sooner = __shfl_up_sync(ALL, keep, offset), old = __shfl_up_sync(ALL, state, offset);
            if (lane >= offset) state += keep * old, keep *= sooner;
        }
        if (lane == 31) ends[warp] = make_float2(keep, state);
        __syncthreads();
        float h = 0.0f;
        for (int j = 0; j < 3; ++j)
            if (j < warp) h = h * ends[j].x + ends[j].y;
        const float sooner = __shfl_up_sync(ALL, keep, 1), old = __shfl_up_sync(ALL, state, 1);
        if (lane) h = h * sooner + old;
        #pragma unroll
        for (int k = 0; k < 16; ++k) h = h * kept[k] + v[k], y[k] += h * w[k];
    }
    __syncthreads();
    #pragma unroll
    for (int k = 0; k < 16; ++k) held[at(t * 16 + k)] = y[k];
    __syncthreads();
    #pragma unroll
    for (int k = 0; k < 16; ++k) out[own + k * 128 + t] = held[at(k * 128 + t)];
}
KERNEL(128) steps_scanned_plain(const float *u, const float *delta, const float *b, const float *c, const float *rates, float *out, int states) { steps_scanned<PLAIN>(u, delta, b, c, rates, out, states); }
KERNEL(128) steps_scanned_padded(const float *u, const float *delta, const float *b, const float *c, const float *rates, float *out, int states) { steps_scanned<PADDED>(u, delta, b, c, rates, out, states); }

// A merge sort of 1024 keys a block: eight a thread sorted in registers, then seven merges, where each thread finds by halving which eight of the merged keys are its own.
template <Layout HOW> __device__ __forceinline__ void merges(const unsigned *in, unsigned *out) {
    __shared__ unsigned held[HOW == PADDED ? 1024 + 32 : 1024];
    const int t = threadIdx.x;
    const auto at = [](int place) { return HOW == PADDED ? place + (place >> 5) : place; };
    unsigned keys[8];
    #pragma unroll
    for (int k = 0; k < 8; ++k) keys[k] = in[(size_t)blockIdx.x * 1024 + k * 128 + t];
    #pragma unroll
    for (int round = 0; round < 8; ++round)
        #pragma unroll
        for (int k = round & 1; k + 1 < 8; k += 2) {
            const unsigned low = min(keys[k], keys[k + 1]), high = max(keys[k], keys[k + 1]);
            keys[k] = low, keys[k + 1] = high;
        }
    #pragma unroll 1
    for (int length = 8; length < 1024; length <<= 1) {
        __syncthreads();
        #pragma unroll
        for (int k = 0; k < 8; ++k) held[at(t * 8 + k)] = keys[k];
        __syncthreads();
        const int first = t * 8 & ~(length * 2 - 1), second = first + length, own = t * 8 - first;
        int low = max(0, own - length), high = min(own, length);
        #pragma unroll 1
        for (int width = length; width > 0; width >>= 1) {
            const int middle = min(low + high >> 1, length - 1), other = max(own - 1 - middle, 0);
            const bool right = held[at(first + middle)] <= held[at(second + min(other, length - 1))];
            if (low < high) {
                if (right) low = middle + 1;
                else high = middle;
            }
        }
        int i = low, j = own - low;
        unsigned a = held[at(first + min(i, length - 1))], b = held[at(second + min(j, length - 1))];
        #pragma unroll
        for (int k = 0; k < 8; ++k) {
            const bool left = j >= length || (i < length && a <= b);
            keys[k] = left ? a : b;
            i += left, j += !left;
            const unsigned next = held[at(left ? first + min(i, length - 1) : second + min(j, length - 1))];
            if (left) a = next;
            else b = next;
        }
    }
    __syncthreads();
    #pragma unroll
    for (int k = 0; k < 8; ++k) held[at(t * 8 + k)] = keys[k];
    __syncthreads();
    #pragma unroll
    for (int k = 0; k < 8; ++k) out[(size_t)blockIdx.x * 1024 + k * 128 + t] = held[at(k * 128 + t)];
}
KERNEL(128) merges_plain(const unsigned *in, unsigned *out) { merges<PLAIN>(in, out); }
KERNEL(128) merges_padded(const unsigned *in, unsigned *out) { merges<PADDED>(in, out); }

// Gradients of a norm's gains and shifts: a block 32 columns and a part of the rows, turned in shared memory so that each warp adds up one column.
template <int PITCH> __device__ __forceinline__ void gains_gradient(const float *gradient, const float *x, const float2 *moments, float2 *out, int columns, int rows) {
    __shared__ float gains[32 * PITCH], shifts[32 * PITCH];
    const int lane = threadIdx.x, y = threadIdx.y, column = blockIdx.x * 32 + lane;
    float gain = 0.0f, shift = 0.0f;
    #pragma unroll 2
    for (int row = blockIdx.y * rows + y; row < (blockIdx.y + 1) * rows; row += 32) {
        const float g = gradient[(size_t)row * columns + column];
        const float2 moment = moments[row];
        gain += g * (x[(size_t)row * columns + column] - moment.x) * moment.y, shift += g;
    }
    gains[y * PITCH + lane] = gain, shifts[y * PITCH + lane] = shift;
    __syncthreads();
    gain = gains[lane * PITCH + y], shift = shifts[lane * PITCH + y];
    #pragma unroll
    for (int offset = 16; offset > 0; offset >>= 1) gain += __shfl_xor_sync(ALL, gain, offset), shift += __shfl_xor_sync(ALL, shift, offset);
    if (lane == 0) out[(size_t)blockIdx.y * columns + blockIdx.x * 32 + y] = make_float2(gain, shift);
}
KERNEL(1024) gains_gradient_plain(const float *gradient, const float *x, const float2 *moments, float2 *out, int columns, int rows) { gains_gradient<32>(gradient, x, moments, out, columns, rows); }
KERNEL(1024) gains_gradient_padded(const float *gradient, const float *x, const float2 *moments, float2 *out, int columns, int rows) { gains_gradient<33>(gradient, x, moments, out, columns, rows); }

// A new token's attention over keys and values in bytes, with slopes for how far back: a thread a key of 128 by dp4a, then a thread four of the values' numbers.
template <Layout HOW> __device__ __forceinline__ void byte_keys(const int *q, const uint4 *k, const uint4 *v, const float2 *scales, float *out, int tiles, int shared_by) {
    __shared__ uint4 held[128 * (HOW == PADDED ? 9 : 8)];
    __shared__ int asked[32];
    __shared__ float weights[128], tops[4], totals[4];
    __shared__ float4 parts[128];
    const int t = threadIdx.x, lane = t & 31, warp = t >> 5;
    const auto at = [](int row, int chunk) { return HOW == PADDED ? row * 9 + chunk : row * 8 + (HOW == OTHER ? chunk ^ (row & 7) : chunk); };
    const size_t cache = (size_t)(blockIdx.x / shared_by) * tiles;
    const float slope = exp2f(-(float)(blockIdx.x % shared_by + 1));
    if (t < 32) asked[t] = q[blockIdx.x * 32 + t];
    float most = -1e30f, total = 0.0f;
    float4 sums = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    #pragma unroll 1
    for (int tile = 0; tile < tiles; ++tile) {
        #pragma unroll
        for (int n = 0; n < 8; ++n) held[at(n * 16 + (t >> 3), t & 7)] = k[(cache + tile) * 1024 + n * 128 + t];
        const float2 scale = scales[(cache + tile) * 128 + t];
        __syncthreads();
        int dot = 0;
        #pragma unroll
        for (int n = 0; n < 8; ++n) {
            const uint4 key = held[at(t, n)];
            dot = __dp4a((int)key.x, asked[n * 4], dot), dot = __dp4a((int)key.y, asked[n * 4 + 1], dot);
            dot = __dp4a((int)key.z, asked[n * 4 + 2], dot), dot = __dp4a((int)key.w, asked[n * 4 + 3], dot);
        }
        const float score = (float)dot * (scale.x + 1.5f) * 1e-5f - slope * (float)(tiles * 128 - 1 - tile * 128 - t);
        float top = score;
        #pragma unroll
        for (int offset = 16; offset > 0; offset >>= 1) top = fmaxf(top, __shfl_xor_sync(ALL, top, offset));
        if (lane == 0) tops[warp] = top;
        __syncthreads();
        top = fmaxf(most, fmaxf(fmaxf(tops[0], tops[1]), fmaxf(tops[2], tops[3])));
        const float less = __expf(most - top), weight = __expf(score - top);
        most = top;
        weights[t] = weight * (scale.y + 1.5f);
        float sum = weight;
        #pragma unroll
        for (int offset = 16; offset > 0; offset >>= 1) sum += __shfl_xor_sync(ALL, sum, offset);
        if (lane == 0) totals[warp] = sum;
        #pragma unroll
        for (int n = 0; n < 8; ++n) held[at(n * 16 + (t >> 3), t & 7)] = v[(cache + tile) * 1024 + n * 128 + t];
        __syncthreads();
        total = total * less + totals[0] + totals[1] + totals[2] + totals[3];
        sums.x *= less, sums.y *= less, sums.z *= less, sums.w *= less;
        #pragma unroll 8
        for (int n = 0; n < 32; ++n) {
            const int row = warp * 32 + n;
            const char4 value = reinterpret_cast<const char4 *>(held + at(row, lane >> 2))[lane & 3];
            const float part = weights[row];
            sums.x += part * value.x, sums.y += part * value.y, sums.z += part * value.z, sums.w += part * value.w;
        }
        __syncthreads();
    }
    parts[t] = sums;
    __syncthreads();
    if (warp == 0) {
        #pragma unroll
        for (int w = 1; w < 4; ++w) {
            const float4 other = parts[w * 32 + lane];
            sums.x += other.x, sums.y += other.y, sums.z += other.z, sums.w += other.w;
        }
        const float scale = 0.01f / total;
        reinterpret_cast<float4 *>(out)[blockIdx.x * 32 + lane] = make_float4(sums.x * scale, sums.y * scale, sums.z * scale, sums.w * scale);
    }
}
KERNEL(128) byte_keys_plain(const int *q, const uint4 *k, const uint4 *v, const float2 *scales, float *out, int tiles, int shared_by) { byte_keys<PLAIN>(q, k, v, scales, out, tiles, shared_by); }
KERNEL(128) byte_keys_padded(const int *q, const uint4 *k, const uint4 *v, const float2 *scales, float *out, int tiles, int shared_by) { byte_keys<PADDED>(q, k, v, scales, out, tiles, shared_by); }
KERNEL(128) byte_keys_swizzled(const int *q, const uint4 *k, const uint4 *v, const float2 *scales, float *out, int tiles, int shared_by) { byte_keys<OTHER>(q, k, v, scales, out, tiles, shared_by); }

// How likely all taggings of a text are together (a conditional random field): a warp a text, a lane a tag of 32, what leads from each tag to it by fours.
template <int PITCH> __device__ __forceinline__ void taggings(const float *moves, const float *emitted, float *out, int steps) {
    __shared__ __align__(16) float leads[32 * PITCH], now[4][32];
    const int t = threadIdx.x, lane = t & 31, warp = t >> 5;
    #pragma unroll
    for (int n = 0; n < 8; ++n) leads[(n * 4 + warp) * PITCH + lane] = __expf(moves[n * 128 + t]);
    __syncthreads();
    const float *text = emitted + ((size_t)blockIdx.x * 4 + warp) * steps * 32 + lane;
    float score = text[0];
    #pragma unroll 1
    for (int step = 1; step < steps; ++step) {
        const float given = text[step * 32];
        float most = score;
        #pragma unroll
        for (int offset = 16; offset > 0; offset >>= 1) most = fmaxf(most, __shfl_xor_sync(ALL, most, offset));
        now[warp][lane] = __expf(score - most);
        __syncwarp();
        float sum = 0.0f;
        #pragma unroll
        for (int k = 0; k < 32; k += 4) {
            const float4 from = *reinterpret_cast<const float4 *>(now[warp] + k), lead = *reinterpret_cast<const float4 *>(leads + lane * PITCH + k);
            sum += from.x * lead.x + from.y * lead.y + from.z * lead.z + from.w * lead.w;
        }
        score = most + __logf(sum) + given;
        __syncwarp();
    }
    float most = score;
    #pragma unroll
    for (int offset = 16; offset > 0; offset >>= 1) most = fmaxf(most, __shfl_xor_sync(ALL, most, offset));
    float sum = __expf(score - most);
    #pragma unroll
    for (int offset = 16; offset > 0; offset >>= 1) sum += __shfl_xor_sync(ALL, sum, offset);
    if (lane == 0) out[blockIdx.x * 4 + warp] = most + __logf(sum);
}
KERNEL(128) taggings_rows(const float *moves, const float *emitted, float *out, int steps) { taggings<32>(moves, emitted, out, steps); }
KERNEL(128) taggings_padded(const float *moves, const float *emitted, float *out, int steps) { taggings<36>(moves, emitted, out, steps); }

// Sums by key, as a database groups rows: a thread a table of its own with 32 places, which are tried one after the other from where the key's hash points.
template <Layout HOW> __device__ __forceinline__ void by_key(const unsigned *in, uint2 *out, int threads, int items) {
    __shared__ volatile unsigned held[64 * 65];
    const int t = threadIdx.x, own = blockIdx.x * 64 + t;
    const auto at = [&](int k) { return HOW == PLAIN ? t * 64 + k : HOW == PADDED ? t * 65 + k : k * 64 + t; };
    #pragma unroll 8
    for (int k = 0; k < 32; ++k) held[at(k)] = 0u, held[at(32 + k)] = 0u;
    #pragma unroll 1
    for (int n = 0; n < items; ++n) {
        const unsigned item = in[(size_t)n * threads + own], key = (item & 0xffu) % 22u + 1u;
        unsigned place = key * 2654435769u >> 27;
        #pragma unroll 1
        while (true) {
            const unsigned there = held[at(place)];
            if (there == key) break;
            if (there == 0u) {
                held[at(place)] = key;
                break;
            }
            place = place + 1u & 31u;
        }
        held[at(32 + place)] = held[at(32 + place)] + (item >> 8 & 1023u);
    }
    unsigned mixed = 0, groups = 0;
    #pragma unroll 4
    for (int k = 0; k < 32; ++k) {
        const unsigned key = held[at(k)];
        groups += key != 0u, mixed = mixed * 31u + key * held[at(32 + k)];
    }
    out[own] = make_uint2(groups, mixed);
}
KERNEL(64) by_key_rows(const unsigned *in, uint2 *out, int threads, int items) { by_key<PLAIN>(in, out, threads, items); }
KERNEL(64) by_key_columns(const unsigned *in, uint2 *out, int threads, int items) { by_key<OTHER>(in, out, threads, items); }

// Columns of numbers that are kept as differences of few bits: a thread 32 differences in a row, unpacked and added up, and where the next thread's begin by a scan.
template <int ODD, int PITCH> __device__ __forceinline__ void differences_packed(const unsigned *in, int *out, int bits, int tiles) {
    __shared__ unsigned packed[64 * 32];
    __shared__ int held[64 * PITCH], ends[2];
    const int t = threadIdx.x, lane = t & 31, warp = t >> 5, pitch = bits | ODD;
    const unsigned mask = (1u << bits) - 1u;
    #pragma unroll 1
    for (int tile = 0; tile < tiles; ++tile) {
        const size_t number = (size_t)blockIdx.x * tiles + tile;
        __syncthreads();
        for (int p = t; p < 64 * bits; p += 64) packed[p / bits * pitch + p % bits] = in[number * 64 * bits + p];
        __syncthreads();
        int sum = 0;
        #pragma unroll 8
        for (int k = 0; k < 32; ++k) {
            const int bit = k * bits, word = bit >> 5;
            const unsigned low = packed[t * pitch + word], high = packed[t * pitch + min(word + 1, bits - 1)];
            const unsigned v = __funnelshift_r(low, high, bit & 31) & mask;
            sum += (int)(v >> 1) ^ -(int)(v & 1u);
            held[t * PITCH + k] = sum;
        }
        int run = sum;
        #pragma unroll
        for (int offset = 1; offset < 32; offset <<= 1) {
            const int other = __shfl_up_sync(ALL, run, offset);
            if (lane >= offset) run += other;
        }
        if (lane == 31) ends[warp] = run;
        __syncthreads();
        run += (warp ? ends[0] : 0) - sum;
        #pragma unroll 8
        for (int k = 0; k < 32; ++k) {
            const int start = __shfl_sync(ALL, run, k);
            out[number * 2048 + (warp * 32 + k) * 32 + lane] = held[(warp * 32 + k) * PITCH + lane] + start;
        }
    }
}
KERNEL(64) differences_packed_rows(const unsigned *in, int *out, int bits, int tiles) { differences_packed<0, 32>(in, out, bits, tiles); }
KERNEL(64) differences_packed_padded(const unsigned *in, int *out, int bits, int tiles) { differences_packed<1, 33>(in, out, bits, tiles); }

// Three filters of the second order in a row (biquads), a thread a channel: 64 channels by 32 samples brought and taken by rows, filtered along them.
template <int PITCH> __device__ __forceinline__ void biquads(const float *in, const float *tuned, float *out, int samples) {
    __shared__ float held[64 * PITCH];
    const int t = threadIdx.x, lane = t & 31, warp = t >> 5;
    float a1[3], a2[3], b0[3], z1[3] = {}, z2[3] = {};
    #pragma unroll
    for (int s = 0; s < 3; ++s) {
        const float tune = tuned[(blockIdx.x * 64 + t) * 3 + s];
        a1[s] = -0.9f + 0.3f * tune, a2[s] = 0.5f + 0.2f * tune, b0[s] = 0.3f;
    }
    const size_t first = (size_t)blockIdx.x * 64 * samples;
    #pragma unroll 1
    for (int sample = 0; sample < samples; sample += 32) {
        #pragma unroll 8
        for (int n = 0; n < 32; ++n) held[(n * 2 + warp) * PITCH + lane] = in[first + (size_t)(n * 2 + warp) * samples + sample + lane];
        __syncthreads();
        #pragma unroll 4
        for (int k = 0; k < 32; ++k) {
            float x = held[t * PITCH + k];
            #pragma unroll
            for (int s = 0; s < 3; ++s) {
                const float y = b0[s] * x + z1[s];
                z1[s] = 2.0f * b0[s] * x - a1[s] * y + z2[s], z2[s] = b0[s] * x - a2[s] * y, x = y;
            }
            held[t * PITCH + k] = x;
        }
        __syncthreads();
        #pragma unroll 8
        for (int n = 0; n < 32; ++n) out[first + (size_t)(n * 2 + warp) * samples + sample + lane] = held[(n * 2 + warp) * PITCH + lane];
        __syncthreads();
    }
}
KERNEL(64) biquads_rows(const float *in, const float *tuned, float *out, int samples) { biquads<32>(in, tuned, out, samples); }
KERNEL(64) biquads_padded(const float *in, const float *tuned, float *out, int samples) { biquads<33>(in, tuned, out, samples); }
