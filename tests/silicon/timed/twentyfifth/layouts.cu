// Kernels of the twenty-fifth set in groups that differ in the layout of shared memory alone: orders, recursions, gradients, sentences, pulses, bodies,
// rows of chances, cuts of a text, Fourier sums, taps. What lies in shared memory is volatile where words of one layout alone would be read together.
#include <cuda_runtime.h>

#define KERNEL(THREADS) extern "C" __global__ void __launch_bounds__(THREADS)

enum Layout { PLAIN, PADDED, OTHER };

// Words of a picture from rows to the order of Morton within squares of 32 by 32.
template <Layout HOW> __device__ __forceinline__ int morton_place(int row, int column) {
    return HOW == PADDED ? row * 40 + column : HOW == OTHER ? row * 32 + (column ^ (row & 3) * 8) : row * 32 + column;
}
template <Layout HOW> __device__ __forceinline__ void morton(const unsigned *in, unsigned *out, int width) {
    __shared__ unsigned tile[HOW == PADDED ? 32 * 40 : 1024];
    const int x = threadIdx.x, y = threadIdx.y;
    #pragma unroll
    for (int i = y; i < 32; i += 8) tile[morton_place<HOW>(i, x)] = in[(size_t)(blockIdx.y * 32 + i) * width + blockIdx.x * 32 + x];
    __syncthreads();
    const size_t base = ((size_t)blockIdx.y * gridDim.x + blockIdx.x) * 1024;
    #pragma unroll
    for (int i = y; i < 32; i += 8) {
        const int m = i * 32 + x;
        const int column = (m & 1) | (m >> 1 & 2) | (m >> 2 & 4) | (m >> 3 & 8) | (m >> 4 & 16);
        const int row = (m >> 1 & 1) | (m >> 2 & 2) | (m >> 3 & 4) | (m >> 4 & 8) | (m >> 5 & 16);
        out[base + m] = tile[morton_place<HOW>(row, column)];
    }
}
KERNEL(256) morton_plain(const unsigned *in, unsigned *out, int width) { morton<PLAIN>(in, out, width); }
KERNEL(256) morton_padded(const unsigned *in, unsigned *out, int width) { morton<PADDED>(in, out, width); }
KERNEL(256) morton_swizzled(const unsigned *in, unsigned *out, int width) { morton<OTHER>(in, out, width); }

// Predictors of fifteen steps from sixteen autocorrelations (Levinson and Durbin): a thread a signal, which it keeps in shared memory.
template <Layout HOW> __device__ __forceinline__ void levinson(const float *in, float *out, int count) {
    __shared__ volatile float rs[128 * 17], as[128 * 17];
    const int t = threadIdx.x, own = blockIdx.x * 128 + t;
    const auto at = [&](int k) { return HOW == PLAIN ? t * 16 + k : HOW == PADDED ? t * 17 + k : k * 128 + t; };
    #pragma unroll
    for (int k = 0; k < 16; ++k) rs[at(k)] = 0.1f * in[(size_t)k * count + own] + (k == 0 ? 2.0f : 0.0f), as[at(k)] = k == 0 ? 1.0f : 0.0f;
    float error = rs[at(0)];
    #pragma unroll 1
    for (int i = 1; i < 16; ++i) {
        float sum = rs[at(i)];
        #pragma unroll 2
        for (int j = 1; j < i; ++j) sum += as[at(j)] * rs[at(i - j)];
        const float share = -sum / error;
        #pragma unroll 1
        for (int j = 1; j <= i / 2; ++j) {
            const float low = as[at(j)], high = as[at(i - j)];
            as[at(j)] = low + share * high, as[at(i - j)] = high + share * low;
        }
        as[at(i)] = share, error *= 1.0f - share * share;
    }
    #pragma unroll
    for (int k = 0; k < 16; ++k) out[(size_t)k * count + own] = k == 0 ? error : as[at(k)];
}
KERNEL(128) levinson_rows(const float *in, float *out, int count) { levinson<PLAIN>(in, out, count); }
KERNEL(128) levinson_padded(const float *in, float *out, int count) { levinson<PADDED>(in, out, count); }
KERNEL(128) levinson_columns(const float *in, float *out, int count) { levinson<OTHER>(in, out, count); }

// Sums of gradients by their directions in cells of eight by eight pixels: a thread a column of a cell, with sixteen bins of its own.
template <bool COLUMNS> __device__ __forceinline__ void oriented(const float *in, float *out, int pitch) {
    __shared__ volatile float bins[128 * 16];
    const int t = threadIdx.x;
    const auto at = [&](int thread, int bin) { return COLUMNS ? bin * 128 + thread : thread * 16 + bin; };
    #pragma unroll
    for (int b = 0; b < 16; ++b) bins[at(t, b)] = 0.0f;
    const float *from = in + (size_t)(blockIdx.y * 8 + 1) * pitch + blockIdx.x * 128 + t + 1;
    #pragma unroll 2
    for (int y = 0; y < 8; ++y, from += pitch) {
        const float across = from[1] - from[-1], down = from[pitch] - from[-pitch];
        const int bin = __float2int_rd(atan2f(down, across) * 2.5464790f + 8.0f) & 15;
        bins[at(t, bin)] += sqrtf(across * across + down * down);
    }
    __syncthreads();
    const int cell = t % 16;
    #pragma unroll
    for (int p = 0; p < 2; ++p) {
        const int b = t / 16 + p * 8;
        float sum = 0.0f;
        #pragma unroll
        for (int c = 0; c < 8; ++c) sum += bins[at(cell * 8 + c, b)];
        out[((size_t)blockIdx.y * gridDim.x + blockIdx.x) * 256 + b * 16 + cell] = sum;
    }
}
KERNEL(128) oriented_rows(const float *in, float *out, int pitch) { oriented<false>(in, out, pitch); }
KERNEL(128) oriented_columns(const float *in, float *out, int pitch) { oriented<true>(in, out, pitch); }

// Sentences of 31 words parsed bottom up (Cocke, Younger and Kasami): a warp a sentence, sets of 32 symbols a span, twelve rules.
template <int PITCH> __device__ __forceinline__ void parsed(const unsigned *words, unsigned *out) {
    __shared__ unsigned charts[4][31 * PITCH];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const size_t sentence = (size_t)blockIdx.x * 4 + warp;
    unsigned *chart = charts[warp];
    if (lane < 31) chart[lane * PITCH + lane] = words[sentence * 31 + lane] & words[sentence * 31 + 30 - lane];
    #pragma unroll 1
    for (int length = 2; length <= 31; ++length) {
        __syncwarp();
        if (lane + length <= 31) {
            unsigned found = 0;
            #pragma unroll 2
            for (int s = 1; s < length; ++s) {
                const unsigned left = chart[lane * PITCH + lane + s - 1], right = chart[(lane + s) * PITCH + lane + length - 1];
                #pragma unroll
                for (int rule = 0; rule < 12; ++rule) found |= (left >> (rule * 7 + 3) % 32 & right >> (rule * 11 + 5) % 32 & 1u) << (rule * 13 + 1) % 32;
            }
            chart[lane * PITCH + lane + length - 1] = found;
        }
    }
    __syncwarp();
    out[sentence * 32 + lane] = lane < 31 ? chart[lane] : 0u;
}
KERNEL(128) parsed_tight(const unsigned *words, unsigned *out) { parsed<31>(words, out); }
KERNEL(128) parsed_spread(const unsigned *words, unsigned *out) { parsed<32>(words, out); }

// Echoes by a complex pulse of 128 samples: a thread four gates that lie together.
template <bool SKEWED> __device__ __forceinline__ int gate(int i) { return SKEWED ? i + i / 16 : i; }
template <bool SKEWED> __device__ __forceinline__ void pulses(const float2 *in, const float2 *pulse, float2 *out) {
    __shared__ float2 all[681], taps[128];
    float2 *held = all + 1;
    const int t = threadIdx.x;
    const float2 *from = in + (size_t)blockIdx.y * 4224 + blockIdx.x * 512;
    taps[t] = pulse[t];
    #pragma unroll
    for (int i = t; i < 640; i += 128) held[gate<SKEWED>(i)] = from[i];
    __syncthreads();
    float2 sum[4] = {}, x[4];
    #pragma unroll
    for (int i = 0; i < 3; ++i) x[i] = held[gate<SKEWED>(t * 4 + i)];
    #pragma unroll 4
    for (int k = 0; k < 128; ++k) {
        const float2 h = taps[k];
        x[3] = held[gate<SKEWED>(t * 4 + k + 3)];
        #pragma unroll
        for (int i = 0; i < 4; ++i) sum[i].x += x[i].x * h.x + x[i].y * h.y, sum[i].y += x[i].y * h.x - x[i].x * h.y;
        x[0] = x[1], x[1] = x[2], x[2] = x[3];
    }
    float4 *to = reinterpret_cast<float4 *>(out + (size_t)blockIdx.y * 4096 + blockIdx.x * 512 + t * 4);
    to[0] = make_float4(sum[0].x, sum[0].y, sum[1].x, sum[1].y), to[1] = make_float4(sum[2].x, sum[2].y, sum[3].x, sum[3].y);
}
KERNEL(128) pulses_plain(const float2 *in, const float2 *pulse, float2 *out) { pulses<false>(in, pulse, out); }
KERNEL(128) pulses_skewed(const float2 *in, const float2 *pulse, float2 *out) { pulses<true>(in, pulse, out); }

// A ring of rigid bodies on springs: places, speeds, turns, spins and inertias, sixteen floats a body, together or apart.
template <Layout HOW> __device__ __forceinline__ void rigid(const float *in, float *out, int steps, float dt) {
    __shared__ volatile float held[HOW == PLAIN ? 2048 : 128 * 17];
    const int t = threadIdx.x;
    const size_t base = (size_t)blockIdx.x * 2048;
    const auto at = [&](int body, int part) { return HOW == PLAIN ? body * 16 + part : HOW == PADDED ? body * 17 + part : part * 129 + body; };
    #pragma unroll 4
    for (int i = t; i < 2048; i += 128) held[at(i / 16, i % 16)] = in[base + i];
    #pragma unroll 1
    for (int step = 0; step < steps; ++step) {
        __syncthreads();
        float pull[3];
        #pragma unroll
        for (int a = 0; a < 3; ++a) pull[a] = held[at((t + 1) % 128, a)] + held[at((t + 127) % 128, a)] - 2.0f * held[at(t, a)];
        const float wx = held[at(t, 10)], wy = held[at(t, 11)], wz = held[at(t, 12)];
        const float ix = held[at(t, 13)], iy = held[at(t, 14)], iz = held[at(t, 15)];
        const float q0 = held[at(t, 6)], q1 = held[at(t, 7)], q2 = held[at(t, 8)], q3 = held[at(t, 9)], h = 0.5f * dt;
        const float n0 = q0 - h * (q1 * wx + q2 * wy + q3 * wz), n1 = q1 + h * (q0 * wx + q2 * wz - q3 * wy);
        const float n2 = q2 + h * (q0 * wy + q3 * wx - q1 * wz), n3 = q3 + h * (q0 * wz + q1 * wy - q2 * wx);
        const float one = rsqrtf(n0 * n0 + n1 * n1 + n2 * n2 + n3 * n3 + 1e-6f);
        __syncthreads();
        #pragma unroll
        for (int a = 0; a < 3; ++a) {
            const float speed = held[at(t, 3 + a)] + dt * pull[a];
            held[at(t, 3 + a)] = speed, held[at(t, a)] += dt * speed;
        }
        held[at(t, 6)] = n0 * one, held[at(t, 7)] = n1 * one, held[at(t, 8)] = n2 * one, held[at(t, 9)] = n3 * one;
        held[at(t, 10)] = wx + dt * (iy - iz) * wy * wz, held[at(t, 11)] = wy + dt * (iz - ix) * wz * wx, held[at(t, 12)] = wz + dt * (ix - iy) * wx * wy;
    }
    __syncthreads();
    #pragma unroll 4
    for (int i = t; i < 2048; i += 128) out[base + i] = held[at(i / 16, i % 16)];
}
KERNEL(128) rigid_together(const float *in, float *out, int steps, float dt) { rigid<PLAIN>(in, out, steps, dt); }
KERNEL(128) rigid_padded(const float *in, float *out, int steps, float dt) { rigid<PADDED>(in, out, steps, dt); }
KERNEL(128) rigid_apart(const float *in, float *out, int steps, float dt) { rigid<OTHER>(in, out, steps, dt); }

// The nearest chances to rows of 32 scores (sparsemax), by halving what is taken away: a thread a row.
template <int PITCH> __device__ __forceinline__ void sparsemax(const float *in, float *out, int halvings) {
    __shared__ volatile float rows[64 * PITCH];
    const int t = threadIdx.x;
    const size_t base = (size_t)blockIdx.x * 2048;
    #pragma unroll 8
    for (int i = t; i < 2048; i += 64) rows[i / 32 * PITCH + i % 32] = in[base + i];
    __syncthreads();
    volatile float *row = rows + t * PITCH;
    float most = row[0];
    #pragma unroll 8
    for (int k = 1; k < 32; ++k) most = fmaxf(most, row[k]);
    float low = most - 1.0f, high = most - 0.03125f;
    #pragma unroll 1
    for (int step = 0; step < halvings; ++step) {
        const float middle = 0.5f * (low + high);
        float sum = 0.0f;
        #pragma unroll 8
        for (int k = 0; k < 32; ++k) sum += fmaxf(row[k] - middle, 0.0f);
        if (sum >= 1.0f) low = middle;
        else high = middle;
    }
    #pragma unroll 8
    for (int k = 0; k < 32; ++k) row[k] = fmaxf(row[k] - low, 0.0f);
    __syncthreads();
    #pragma unroll 8
    for (int i = t; i < 2048; i += 64) out[base + i] = rows[i / 32 * PITCH + i % 32];
}
KERNEL(64) sparsemax_plain(const float *in, float *out, int halvings) { sparsemax<32>(in, out, halvings); }
KERNEL(64) sparsemax_padded(const float *in, float *out, int halvings) { sparsemax<33>(in, out, halvings); }

// Where a text may be cut by its contents (a hash that rolls through a table of 256): a thread 64 bytes.
template <int PITCH> __device__ __forceinline__ void cut_points(const unsigned *text, const unsigned *gear, uint2 *out, unsigned mask) {
    __shared__ volatile unsigned words[256 * PITCH];
    __shared__ unsigned table[256];
    const int t = threadIdx.x;
    table[t] = gear[t];
    #pragma unroll 4
    for (int i = t; i < 4096; i += 256) words[i / 16 * PITCH + i % 16] = text[(size_t)blockIdx.x * 4096 + i];
    __syncthreads();
    unsigned hash = 0, count = 0, last = 0;
    #pragma unroll 2
    for (int k = 0; k < 16; ++k) {
        const unsigned word = words[t * PITCH + k];
        #pragma unroll
        for (int b = 0; b < 4; ++b) {
            hash = hash * 2 + table[word >> b * 8 & 255u];
            const bool cut = (hash & mask) == 0;
            count += cut, last = cut ? k * 4 + b : last;
        }
    }
    out[(size_t)blockIdx.x * 256 + t] = make_uint2(count, last);
}
KERNEL(256) cut_points_plain(const unsigned *text, const unsigned *gear, uint2 *out, unsigned mask) { cut_points<16>(text, gear, out, mask); }
KERNEL(256) cut_points_padded(const unsigned *text, const unsigned *gear, uint2 *out, unsigned mask) { cut_points<17>(text, gear, out, mask); }

// Fourier sums of 256 by two steps of sixteen in registers: sixteen threads a signal, eight signals a block.
__device__ __forceinline__ float2 times(float2 a, float c, float s) { return make_float2(a.x * c - a.y * s, a.x * s + a.y * c); }
__device__ __forceinline__ void four(float2 &a, float2 &b, float2 &c, float2 &d) {
    const float2 s = make_float2(a.x + c.x, a.y + c.y), u = make_float2(a.x - c.x, a.y - c.y);
    const float2 p = make_float2(b.x + d.x, b.y + d.y), v = make_float2(b.x - d.x, b.y - d.y);
    a = make_float2(s.x + p.x, s.y + p.y), c = make_float2(s.x - p.x, s.y - p.y);
    b = make_float2(u.x + v.y, u.y - v.x), d = make_float2(u.x - v.y, u.y + v.x);
}
__device__ __forceinline__ void sixteen(float2 *v) {
    constexpr float C[10] = {1.0f, 0.92387953f, 0.70710678f, 0.38268343f, 0.0f, -0.38268343f, -0.70710678f, -0.92387953f, -1.0f, -0.92387953f};
    constexpr float S[10] = {0.0f, 0.38268343f, 0.70710678f, 0.92387953f, 1.0f, 0.92387953f, 0.70710678f, 0.38268343f, 0.0f, -0.38268343f};
    #pragma unroll
    for (int i = 0; i < 4; ++i) {
        four(v[i], v[i + 4], v[i + 8], v[i + 12]);
        #pragma unroll
        for (int q = 1; q < 4; ++q) v[i + 4 * q] = times(v[i + 4 * q], C[i * q], -S[i * q]);
    }
    #pragma unroll
    for (int q = 0; q < 4; ++q) four(v[4 * q], v[4 * q + 1], v[4 * q + 2], v[4 * q + 3]);
}
template <int PITCH> __device__ __forceinline__ void roots_256(const float2 *in, float2 *out) {
    __shared__ volatile float real[8][16 * PITCH], imaginary[8][16 * PITCH];
    const int j = threadIdx.x % 16, which = threadIdx.x / 16;
    const size_t base = ((size_t)blockIdx.x * 8 + which) * 256;
    float2 v[16];
    #pragma unroll
    for (int m = 0; m < 16; ++m) v[m] = in[base + m * 16 + j];
    sixteen(v);
    #pragma unroll
    for (int i = 0; i < 16; ++i) {
        const int p = i / 4 + i % 4 * 4;
        float s, c;
        __sincosf(-0.024543693f * (float)(j * p), &s, &c);
        const float2 value = times(v[i], c, s);
        real[which][p * PITCH + j] = value.x, imaginary[which][p * PITCH + j] = value.y;
    }
    __syncthreads();
    #pragma unroll
    for (int m = 0; m < 16; ++m) v[m] = make_float2(real[which][j * PITCH + m], imaginary[which][j * PITCH + m]);
    sixteen(v);
    #pragma unroll
    for (int i = 0; i < 16; ++i) out[base + (i / 4 + i % 4 * 4) * 16 + j] = v[i];
}
KERNEL(128) roots_256_plain(const float2 *in, float2 *out) { roots_256<16>(in, out); }
KERNEL(128) roots_256_padded(const float2 *in, float2 *out) { roots_256<17>(in, out); }

// Five by five taps, four pixels of a row a thread: rows as they are, or with a place left free after every 32.
template <bool SKEWED> __device__ __forceinline__ void five_taps(const float *in, const float *weights, float *out, int pitch, int width) {
    constexpr int ROW = SKEWED ? 137 : 133;
    __shared__ float tile[12 * ROW];
    const int x = threadIdx.x, y = threadIdx.y, t = y * 32 + x;
    for (int i = t; i < 12 * 132; i += 256) {
        const int r = i / 132, c = i % 132;
        tile[r * ROW + (SKEWED ? c + c / 32 : c)] = in[(size_t)(blockIdx.y * 8 + r) * pitch + blockIdx.x * 128 + c];
    }
    __syncthreads();
    float sum[4] = {};
    #pragma unroll
    for (int r = 0; r < 5; ++r) {
        float v[8];
        #pragma unroll
        for (int i = 0; i < 8; ++i) {
            const int c = x * 4 + i;
            v[i] = tile[(y + r) * ROW + (SKEWED ? c + c / 32 : c)];
        }
        #pragma unroll
        for (int k = 0; k < 5; ++k) {
            const float w = weights[r * 5 + k];
            #pragma unroll
            for (int i = 0; i < 4; ++i) sum[i] += w * v[i + k];
        }
    }
    *reinterpret_cast<float4 *>(out + (size_t)(blockIdx.y * 8 + y) * width + blockIdx.x * 128 + x * 4) = make_float4(sum[0], sum[1], sum[2], sum[3]);
}
KERNEL(256) five_taps_plain(const float *in, const float *weights, float *out, int pitch, int width) { five_taps<false>(in, weights, out, pitch, width); }
KERNEL(256) five_taps_skewed(const float *in, const float *weights, float *out, int pitch, int width) { five_taps<true>(in, weights, out, pitch, width); }
