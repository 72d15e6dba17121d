// Kernels of the twenty-sixth set in groups that differ in the layout of shared memory alone: lattices of a cipher, lists, fits, populations, links of a
// lattice, filters that learn, pictures, sorts.
#include <cuda_runtime.h>

#define KERNEL(THREADS) extern "C" __global__ void __launch_bounds__(THREADS)

enum Layout { PLAIN, PADDED, OTHER };

// Polynomials of 256 numbers below 3329 taken to their residues (Kyber's transform): a warp a polynomial, eight numbers a lane, three exchanges.
__device__ __forceinline__ unsigned reduced(unsigned v) { return v - __umulhi(v, 1290167u) * 3329u; }
__device__ __forceinline__ void crossed(unsigned &a, unsigned &b, unsigned zeta) {
    const unsigned v = reduced(b * zeta);
    b = reduced(a + 6658u - v), a = reduced(a + v);
}
template <bool PADS> __device__ __forceinline__ void kyber(const unsigned *in, const unsigned *roots, uint4 *out) {
    __shared__ unsigned zetas[128], held[8][288];
    const int t = threadIdx.x % 32, warp = threadIdx.x / 32;
    volatile unsigned *own = held[warp];
    const auto at = [](int i) { return PADS ? i + i / 32 * 4 : i; };
    if (threadIdx.x < 128) zetas[threadIdx.x] = roots[threadIdx.x] % 3329u;
    __syncthreads();
    #pragma unroll 1
    for (int part = 0; part < 4; ++part) {
        const size_t which = ((size_t)blockIdx.x * 4 + part) * 8 + warp;
        unsigned v[8];
        #pragma unroll
        for (int m = 0; m < 8; ++m) v[m] = reduced(in[which * 256 + t + m * 32] >> 4);
        #pragma unroll
        for (int m = 0; m < 4; ++m) crossed(v[m], v[m + 4], zetas[1]);
        #pragma unroll
        for (int m = 0; m < 4; ++m) crossed(v[m / 2 * 4 + m % 2], v[m / 2 * 4 + m % 2 + 2], zetas[2 + m / 2]);
        #pragma unroll
        for (int m = 0; m < 4; ++m) crossed(v[m * 2], v[m * 2 + 1], zetas[4 + m]);
        #pragma unroll
        for (int m = 0; m < 8; ++m) own[at(t + m * 32)] = v[m];
        __syncwarp();
        #pragma unroll
        for (int m = 0; m < 8; ++m) v[m] = own[at(t / 4 * 32 + t % 4 + m * 4)];
        #pragma unroll
        for (int m = 0; m < 4; ++m) crossed(v[m], v[m + 4], zetas[8 + t / 4]);
        #pragma unroll
        for (int m = 0; m < 4; ++m) crossed(v[m / 2 * 4 + m % 2], v[m / 2 * 4 + m % 2 + 2], zetas[16 + t / 4 * 2 + m / 2]);
        #pragma unroll
        for (int m = 0; m < 4; ++m) crossed(v[m * 2], v[m * 2 + 1], zetas[32 + t / 4 * 4 + m]);
        #pragma unroll
        for (int m = 0; m < 8; ++m) own[at(t / 4 * 32 + t % 4 + m * 4)] = v[m];
        __syncwarp();
        #pragma unroll
        for (int m = 0; m < 8; ++m) v[m] = own[at(t * 8 + m)];
        #pragma unroll
        for (int m = 0; m < 4; ++m) crossed(v[m / 2 * 4 + m % 2], v[m / 2 * 4 + m % 2 + 2], zetas[64 + t * 2 + m / 2]);
        out[which * 32 + t] = make_uint4(v[0] | v[1] << 16, v[2] | v[3] << 16, v[4] | v[5] << 16, v[6] | v[7] << 16);
        __syncwarp();
    }
}
KERNEL(256) kyber_plain(const unsigned *in, const unsigned *roots, uint4 *out) { kyber<false>(in, roots, out); }
KERNEL(256) kyber_padded(const unsigned *in, const unsigned *roots, uint4 *out) { kyber<true>(in, roots, out); }

// Symbols of five bits to their places in a list, whose front they are moved to: a thread a stream of sixteen, with 32 bytes of its own.
template <Layout HOW> __device__ __forceinline__ void move_to_front(const unsigned *in, uint4 *out, int streams) {
    __shared__ volatile unsigned char lists[128 * 36];
    const int t = threadIdx.x, stream = blockIdx.x * 128 + t;
    const auto at = [&](int place) { return HOW == PLAIN ? t * 32 + place : HOW == PADDED ? t * 36 + place : place / 4 * 512 + t * 4 + place % 4; };
    #pragma unroll 8
    for (int p = 0; p < 32; ++p) lists[at(p)] = (unsigned char)p;
    unsigned found[4];
    #pragma unroll
    for (int k = 0; k < 4; ++k) {
        const unsigned word = in[(size_t)k * streams + stream], few = word & (word >> 5);
        found[k] = 0;
        #pragma unroll 1
        for (int b = 0; b < 4; ++b) {
            const unsigned symbol = few >> b * 8 & 31u;
            unsigned carried = lists[at(0)];
            int place = 0;
            while (carried != symbol && place < 31) {
                ++place;
                const unsigned next = lists[at(place)];
                lists[at(place)] = (unsigned char)carried, carried = next;
            }
            lists[at(0)] = (unsigned char)symbol;
            found[k] |= (unsigned)place << b * 8;
        }
    }
    out[stream] = make_uint4(found[0], found[1], found[2], found[3]);
}
KERNEL(128) move_to_front_rows(const unsigned *in, uint4 *out, int streams) { move_to_front<PLAIN>(in, out, streams); }
KERNEL(128) move_to_front_padded(const unsigned *in, uint4 *out, int streams) { move_to_front<PADDED>(in, out, streams); }
KERNEL(128) move_to_front_columns(const unsigned *in, uint4 *out, int streams) { move_to_front<OTHER>(in, out, streams); }

// Curves that decay fitted to eight measurements each by a simplex of four points (Nelder and Mead): a thread a fit, sixteen floats of its own.
__device__ __forceinline__ float misfit(const float *y, float a, float b, float c) {
    float sum = 0.0f;
    #pragma unroll
    for (int k = 0; k < 8; ++k) {
        const float off = y[k] - c - a * __expf(-b * 0.25f * (float)k);
        sum += off * off;
    }
    return sum;
}
template <int PITCH> __device__ __forceinline__ void nelder_mead(const float *in, float4 *out, int count, int steps) {
    __shared__ volatile float simplices[64 * PITCH];
    const int t = threadIdx.x, own = blockIdx.x * 64 + t;
    volatile float *points = simplices + t * PITCH;
    float y[8];
    #pragma unroll
    for (int k = 0; k < 8; ++k) y[k] = in[(size_t)k * count + own];
    #pragma unroll
    for (int v = 0; v < 4; ++v) {
        const float p[3] = {v == 1 ? 1.0f : 0.5f, v == 2 ? 1.2f : 0.6f, v == 3 ? 0.4f : 0.0f};
        #pragma unroll
        for (int d = 0; d < 3; ++d) points[v * 4 + d] = p[d];
        points[v * 4 + 3] = misfit(y, p[0], p[1], p[2]);
    }
    int best = 0;
    #pragma unroll 1
    for (int step = 0; step < steps; ++step) {
        int worst = 0;
        float least = points[3], most = least, second = -1.0f;
        best = 0;
        #pragma unroll
        for (int v = 1; v < 4; ++v) {
            const float f = points[v * 4 + 3];
            if (f < least) least = f, best = v;
            if (f > most) second = most, most = f, worst = v;
            else second = fmaxf(second, f);
        }
        float middle[3], high[3], p[3];
        #pragma unroll
        for (int d = 0; d < 3; ++d) {
            high[d] = points[worst * 4 + d];
            middle[d] = (points[d] + points[4 + d] + points[8 + d] + points[12 + d] - high[d]) * 0.33333333f;
            p[d] = 2.0f * middle[d] - high[d];
        }
        float f = misfit(y, p[0], p[1], p[2]);
        const float share = f < least ? 2.0f : f < second ? 1.0f : f < most ? 0.5f : -0.5f;
        if (share != 1.0f) {
            float q[3];
            #pragma unroll
            for (int d = 0; d < 3; ++d) q[d] = middle[d] + share * (middle[d] - high[d]);
            const float g = misfit(y, q[0], q[1], q[2]);
            if (g < f || share < 0.0f) p[0] = q[0], p[1] = q[1], p[2] = q[2], f = g;
        }
        if (f < most) {
            #pragma unroll
            for (int d = 0; d < 3; ++d) points[worst * 4 + d] = p[d];
            points[worst * 4 + 3] = f;
        } else {
            #pragma unroll 1
            for (int v = 0; v < 4; ++v) {
                #pragma unroll
                for (int d = 0; d < 3; ++d) p[d] = 0.5f * (points[v * 4 + d] + points[best * 4 + d]);
                if (v == best) continue;
                points[v * 4] = p[0], points[v * 4 + 1] = p[1], points[v * 4 + 2] = p[2];
                points[v * 4 + 3] = misfit(y, p[0], p[1], p[2]);
            }
        }
    }
    out[own] = make_float4(points[best * 4], points[best * 4 + 1], points[best * 4 + 2], points[best * 4 + 3]);
}
KERNEL(64) nelder_mead_rows(const float *in, float4 *out, int count, int steps) { nelder_mead<16>(in, out, count, steps); }
KERNEL(64) nelder_mead_padded(const float *in, float4 *out, int count, int steps) { nelder_mead<17>(in, out, count, steps); }

// Populations of 128 points of sixteen floats that evolve by differences of others (Rastrigin's hills): a block a population, a thread a point.
template <int PITCH> __device__ __forceinline__ void evolved(const float *in, float *out, int generations) {
    __shared__ volatile float all[128 * PITCH];
    const int t = threadIdx.x;
    const size_t base = (size_t)blockIdx.x * 2048;
    #pragma unroll 4
    for (int i = t; i < 2048; i += 128) all[i / 16 * PITCH + i % 16] = 5.0f * in[base + i];
    float worth = 1e30f;
    unsigned state = blockIdx.x * 128u + t + 1u;
    #pragma unroll 1
    for (int generation = 0; generation < generations; ++generation) {
        __syncthreads();
        state = state * 1664525u + 1013904223u;
        const unsigned chosen = state ^ state >> 13, a = chosen & 127u, b = chosen >> 8 & 127u, c = chosen >> 16 & 127u;
        float trial[16], value = 160.0f;
        #pragma unroll
        for (int d = 0; d < 16; ++d) {
            const float mixed = all[a * PITCH + d] + 0.7f * (all[b * PITCH + d] - all[c * PITCH + d]);
            trial[d] = (chosen * (2u * d + 1u)) >> 28 < 13u ? mixed : all[t * PITCH + d];
            value += trial[d] * trial[d] - 10.0f * __cosf(6.2831853f * trial[d]);
        }
        __syncthreads();
        if (value < worth) {
            worth = value;
            #pragma unroll
            for (int d = 0; d < 16; ++d) all[t * PITCH + d] = trial[d];
        }
    }
    __syncthreads();
    #pragma unroll 4
    for (int i = t; i < 2048; i += 128) out[base + i] = all[i / 16 * PITCH + i % 16];
}
KERNEL(128) evolved_plain(const float *in, float *out, int generations) { evolved<16>(in, out, generations); }
KERNEL(128) evolved_padded(const float *in, float *out, int generations) { evolved<17>(in, out, generations); }

// Traces around squares of a lattice (plaquettes of a gauge theory): four matrices of three by three complex numbers each, staged one after another.
template <int PITCH> __device__ __forceinline__ void plaquettes(const float *links, float *out, int sites) {
    __shared__ volatile float staged[128 * PITCH];
    const int t = threadIdx.x;
    float p[18], m[18], sum = 0.0f;
    #pragma unroll
    for (int side = 0; side < 4; ++side) {
        const float *from = links + ((size_t)side * sites + (size_t)blockIdx.x * 128) * 18;
        __syncthreads();
        #pragma unroll
        for (int k = 0; k < 18; ++k) {
            const int i = t + k * 128;
            staged[i / 18 * PITCH + i % 18] = from[i];
        }
        __syncthreads();
        #pragma unroll
        for (int k = 0; k < 18; ++k) m[k] = staged[t * PITCH + k];
        if (side == 0) {
            #pragma unroll
            for (int k = 0; k < 18; ++k) p[k] = m[k];
        } else if (side < 3) {
            float q[18];
            #pragma unroll
            for (int i = 0; i < 3; ++i)
                #pragma unroll
                for (int j = 0; j < 3; ++j) {
                    float re = 0.0f, im = 0.0f;
                    #pragma unroll
                    for (int k = 0; k < 3; ++k) {
                        const float x = p[i * 6 + k * 2], y = p[i * 6 + k * 2 + 1];
                        const int at = side == 1 ? k * 6 + j * 2 : j * 6 + k * 2;
                        const float u = m[at], v = side == 1 ? m[at + 1] : -m[at + 1];
                        re += x * u - y * v, im += x * v + y * u;
                    }
                    q[i * 6 + j * 2] = re, q[i * 6 + j * 2 + 1] = im;
                }
            #pragma unroll
            for (int k = 0; k < 18; ++k) p[k] = q[k];
        } else {
            #pragma unroll
            for (int k = 0; k < 18; ++k) sum += p[k] * m[k];
        }
    }
    out[(size_t)blockIdx.x * 128 + t] = sum * 0.33333333f;
}
KERNEL(128) plaquettes_plain(const float *links, float *out, int sites) { plaquettes<18>(links, out, sites); }
KERNEL(128) plaquettes_padded(const float *links, float *out, int sites) { plaquettes<19>(links, out, sites); }

// Filters of eight taps that learn an echo as they go (least mean squares, normalized): a thread a channel, its taps and a ring of samples in shared memory.
template <Layout HOW> __device__ __forceinline__ void learned(const float *in, const float *wanted, float *out, int channels, int samples) {
    __shared__ volatile float taps[64 * 9], ring[64 * 9];
    const int t = threadIdx.x, own = blockIdx.x * 64 + t;
    const auto at = [&](int k) { return HOW == PLAIN ? t * 8 + k : HOW == PADDED ? t * 9 + k : k * 64 + t; };
    #pragma unroll
    for (int k = 0; k < 8; ++k) taps[at(k)] = 0.0f, ring[at(k)] = 0.0f;
    float power = 0.01f;
    #pragma unroll 1
    for (int n = 0; n < samples; ++n) {
        const float x = in[(size_t)n * channels + own], want = wanted[(size_t)n * channels + own], old = ring[at(n & 7)];
        power += x * x - old * old;
        ring[at(n & 7)] = x;
        float sum = 0.0f;
        #pragma unroll
        for (int k = 0; k < 8; ++k) sum += taps[at(k)] * ring[at(n - k & 7)];
        const float error = want - sum, rate = 0.5f * error / fmaxf(power, 0.01f);
        #pragma unroll
        for (int k = 0; k < 8; ++k) taps[at(k)] = taps[at(k)] + rate * ring[at(n - k & 7)];
        out[(size_t)n * channels + own] = error;
    }
}
KERNEL(64) learned_rows(const float *in, const float *wanted, float *out, int channels, int samples) { learned<PLAIN>(in, wanted, out, channels, samples); }
KERNEL(64) learned_padded(const float *in, const float *wanted, float *out, int channels, int samples) { learned<PADDED>(in, wanted, out, channels, samples); }
KERNEL(64) learned_columns(const float *in, const float *wanted, float *out, int channels, int samples) { learned<OTHER>(in, wanted, out, channels, samples); }

// A picture turned by a quarter to the right, four pixels of a row in and four of a row out: squares of 64 by 64.
template <Layout HOW> __device__ __forceinline__ void quarter_turned(const uint4 *in, uint4 *out, int width, int height) {
    __shared__ volatile unsigned tile[64 * 65];
    const int t = threadIdx.x;
    const auto at = [](int r, int c) { return HOW == PLAIN ? r * 64 + c : HOW == PADDED ? r * 65 + c : r * 64 + ((c / 4 ^ r / 4) & 15) * 4 + c % 4; };
    const int top = blockIdx.y * 64, left = blockIdx.x * 64;
    #pragma unroll
    for (int p = t; p < 1024; p += 256) {
        const int r = p / 16, c = p % 16 * 4;
        const uint4 v = in[((size_t)(top + r) * width + left + c) / 4];
        tile[at(r, c)] = v.x, tile[at(r, c + 1)] = v.y, tile[at(r, c + 2)] = v.z, tile[at(r, c + 3)] = v.w;
    }
    __syncthreads();
    #pragma unroll
    for (int p = t; p < 1024; p += 256) {
        const int c = p / 16, r = 60 - p % 16 * 4;
        out[((size_t)(left + c) * height + height - top - 4 - r) / 4] = make_uint4(tile[at(r + 3, c)], tile[at(r + 2, c)], tile[at(r + 1, c)], tile[at(r, c)]);
    }
}
KERNEL(256) quarter_turned_plain(const uint4 *in, uint4 *out, int width, int height) { quarter_turned<PLAIN>(in, out, width, height); }
KERNEL(256) quarter_turned_padded(const uint4 *in, uint4 *out, int width, int height) { quarter_turned<PADDED>(in, out, width, height); }
KERNEL(256) quarter_turned_swizzled(const uint4 *in, uint4 *out, int width, int height) { quarter_turned<OTHER>(in, out, width, height); }

// Lists of 32 numbers sorted by insertion at distances that shrink (Shell): a thread a list.
template <int PITCH> __device__ __forceinline__ void shell_sorted(const unsigned *in, unsigned *out) {
    __shared__ volatile unsigned lists[64 * PITCH];
    const int t = threadIdx.x;
    const size_t base = (size_t)blockIdx.x * 2048;
    #pragma unroll 8
    for (int i = t; i < 2048; i += 64) lists[i / 32 * PITCH + i % 32] = in[base + i];
    __syncthreads();
    volatile unsigned *own = lists + t * PITCH;
    #pragma unroll 1
    for (int gap = 13; gap > 0; gap /= 3)
        #pragma unroll 1
        for (int i = gap; i < 32; ++i) {
            const unsigned value = own[i];
            int j = i;
            while (j >= gap) {
                const unsigned before = own[j - gap];
                if (before <= value) break;
                own[j] = before, j -= gap;
            }
            own[j] = value;
        }
    __syncthreads();
    #pragma unroll 8
    for (int i = t; i < 2048; i += 64) out[base + i] = lists[i / 32 * PITCH + i % 32];
}
KERNEL(64) shell_sorted_rows(const unsigned *in, unsigned *out) { shell_sorted<32>(in, out); }
KERNEL(64) shell_sorted_padded(const unsigned *in, unsigned *out) { shell_sorted<33>(in, out); }

// Capsules that agree: what 48 say to eight of sixteen floats each is weighed anew by how well they agree, three times.
template <int PITCH> __device__ __forceinline__ void capsules(const float *votes, float *out, int rounds) {
    __shared__ volatile float said[384 * PITCH];
    __shared__ float weights[384], means[128];
    const int t = threadIdx.x;
    const size_t base = (size_t)blockIdx.x * 6144;
    #pragma unroll 8
    for (int i = t; i < 6144; i += 128) said[i / 16 * PITCH + i % 16] = votes[base + i];
    float logits[3] = {};
    float mean = 0.0f;
    #pragma unroll 1
    for (int round = 0; round < rounds; ++round) {
        #pragma unroll
        for (int p = 0; p < 3; ++p) {
            const float own = __expf(logits[p]);
            float all = own;
            #pragma unroll
            for (int offset = 4; offset > 0; offset >>= 1) all += __shfl_xor_sync(0xffffffffu, all, offset);
            weights[t + p * 128] = own / all;
        }
        __syncthreads();
        float sum = 0.0f;
        #pragma unroll 8
        for (int i = 0; i < 48; ++i) sum += weights[i * 8 + t / 16] * said[(i * 8 + t / 16) * PITCH + t % 16];
        float length = sum * sum;
        #pragma unroll
        for (int offset = 8; offset > 0; offset >>= 1) length += __shfl_xor_sync(0xffffffffu, length, offset);
        mean = sum * sqrtf(length) / (1.0f + length);
        means[t] = mean;
        __syncthreads();
        #pragma unroll
        for (int p = 0; p < 3; ++p) {
            const int pair = t + p * 128;
            #pragma unroll
            for (int d = 0; d < 16; ++d) logits[p] += said[pair * PITCH + d] * means[pair % 8 * 16 + d];
        }
    }
    out[(size_t)blockIdx.x * 128 + t] = mean;
}
KERNEL(128) capsules_plain(const float *votes, float *out, int rounds) { capsules<16>(votes, out, rounds); }
KERNEL(128) capsules_padded(const float *votes, float *out, int rounds) { capsules<17>(votes, out, rounds); }

// Layers of splines in place of weights (Kolmogorov and Arnold): sixteen inputs a sample, four cubic bases each, eight outputs; a thread a sample.
template <Layout HOW> __device__ __forceinline__ void spline_layer(const float *in, const float *weights, float *out, int count) {
    __shared__ volatile float held[16 * 16 * 9];
    const int t = threadIdx.x, own = blockIdx.x * 128 + t;
    const auto at = [](int i, int g, int o) { return HOW == PLAIN ? (i * 16 + g) * 8 + o : HOW == PADDED ? (i * 16 + g) * 9 + o : (i * 8 + o) * 16 + g; };
    #pragma unroll 4
    for (int p = t; p < 2048; p += 128) held[at(p / 128, p / 8 % 16, p % 8)] = weights[p];
    __syncthreads();
    float sum[8] = {};
    #pragma unroll 2
    for (int i = 0; i < 16; ++i) {
        const float x = 6.5f + 6.4f * in[(size_t)i * count + own], cell = floorf(x), u = x - cell, v = 1.0f - u;
        const int g = min(max((int)cell, 0), 12);
        const float bases[4] = {v * v * v, 3.0f * u * u * u - 6.0f * u * u + 4.0f, 3.0f * v * v * v - 6.0f * v * v + 4.0f, u * u * u};
        #pragma unroll
        for (int o = 0; o < 8; ++o)
            #pragma unroll
            for (int k = 0; k < 4; ++k) sum[o] += bases[k] * held[at(i, g + k, o)];
    }
    #pragma unroll
    for (int o = 0; o < 8; ++o) out[(size_t)o * count + own] = sum[o] * 0.16666667f;
}
KERNEL(128) spline_layer_together(const float *in, const float *weights, float *out, int count) { spline_layer<PLAIN>(in, weights, out, count); }
KERNEL(128) spline_layer_padded(const float *in, const float *weights, float *out, int count) { spline_layer<PADDED>(in, weights, out, count); }
KERNEL(128) spline_layer_apart(const float *in, const float *weights, float *out, int count) { spline_layer<OTHER>(in, weights, out, count); }

// Chances of all ways through a lattice of 64 frames by 64 letters (a transducer's loss), diagonal by diagonal: rows of an even or an odd number of places.
__device__ __forceinline__ float either(float a, float b) {
    const float most = fmaxf(a, b);
    return most + __logf(1.0f + __expf(fminf(a, b) - most));
}
template <int PITCH> __device__ __forceinline__ void transducer(const float *blanks, const float *letters, float *out) {
    __shared__ volatile float none[64 * PITCH], some[64 * PITCH];
    __shared__ volatile float ways[2][65];
    const int u = threadIdx.x;
    const size_t base = (size_t)blockIdx.x * 4096;
    #pragma unroll 8
    for (int i = u; i < 4096; i += 64) {
        none[i / 64 * PITCH + i % 64] = blanks[base + i] - 1.5f;
        some[i / 64 * PITCH + i % 64] = letters[base + i] - 1.5f;
    }
    ways[0][u] = ways[1][u] = u == 0 ? 0.0f : -1e30f;
    float own = u == 0 ? 0.0f : -1e30f;
    __syncthreads();
    #pragma unroll 1
    for (int d = 1; d < 127; ++d) {
        const int frame = d - u;
        if (frame >= 0 && frame < 64) {
            const float stay = frame > 0 ? own + none[(frame - 1) * PITCH + u] : -1e30f;
            const float come = u > 0 ? ways[d - 1 & 1][u - 1] + some[frame * PITCH + u - 1] : -1e30f;
            own = either(stay, come), ways[d & 1][u] = own;
        }
        __syncthreads();
    }
    if (u == 63) out[blockIdx.x] = -(own + none[63 * PITCH + 63]);
}
KERNEL(64) transducer_odd(const float *blanks, const float *letters, float *out) { transducer<65>(blanks, letters, out); }
KERNEL(64) transducer_even(const float *blanks, const float *letters, float *out) { transducer<64>(blanks, letters, out); }

// Tags of messages by products in a field of 2^128 (GCM), four bits at a time: a thread a message with a key of its own, whose sixteen multiples it keeps.
template <Layout HOW> __device__ __forceinline__ void tagged(const uint4 *keys, const uint4 *blocks, uint4 *out, int messages, int count) {
    __shared__ volatile unsigned table[64 * 65];
    __shared__ unsigned rest[16];
    const int t = threadIdx.x, own = blockIdx.x * 64 + t;
    const auto at = [&](unsigned entry, int word) { return (int)(HOW == PLAIN ? t * 64 + entry * 4 + word : HOW == PADDED ? t * 65 + entry * 4 + word : (entry * 4 + word) * 64 + t); };
    if (t < 16) rest[t] = ((t & 1 ? 0x1c20u : 0u) ^ (t & 2 ? 0x3840u : 0u) ^ (t & 4 ? 0x7080u : 0u) ^ (t & 8 ? 0xe100u : 0u)) << 16;
    uint4 key = keys[own];
    #pragma unroll
    for (int w = 0; w < 4; ++w) table[at(0, w)] = 0u;
    #pragma unroll
    for (int bit = 8; bit > 0; bit >>= 1) {
        table[at(bit, 0)] = key.x, table[at(bit, 1)] = key.y, table[at(bit, 2)] = key.z, table[at(bit, 3)] = key.w;
        const unsigned low = key.w & 1u ? 0xe1000000u : 0u;
        key = make_uint4(key.x >> 1 ^ low, key.y >> 1 | key.x << 31, key.z >> 1 | key.y << 31, key.w >> 1 | key.z << 31);
    }
    #pragma unroll
    for (int bit = 2; bit < 16; bit <<= 1)
        #pragma unroll
        for (int e = 1; e < bit; ++e)
            #pragma unroll
            for (int w = 0; w < 4; ++w) table[at(bit + e, w)] = table[at(bit, w)] ^ table[at(e, w)];
    __syncthreads();
    uint4 tag = make_uint4(0u, 0u, 0u, 0u);
    #pragma unroll 1
    for (int n = 0; n < count; ++n) {
        const uint4 block = blocks[(size_t)n * messages + own];
        const unsigned words[4] = {tag.w ^ block.w, tag.z ^ block.z, tag.y ^ block.y, tag.x ^ block.x};
        uint4 z = make_uint4(0u, 0u, 0u, 0u);
        #pragma unroll
        for (int w = 0; w < 4; ++w) {
            unsigned left = words[w];
            #pragma unroll 4
            for (int k = 0; k < 8; ++k, left >>= 4) {
                const unsigned e = left & 15u, fell = rest[z.w & 15u];
                z = make_uint4(z.x >> 4 ^ fell ^ table[at(e, 0)], (z.y >> 4 | z.x << 28) ^ table[at(e, 1)], (z.z >> 4 | z.y << 28) ^ table[at(e, 2)], (z.w >> 4 | z.z << 28) ^ table[at(e, 3)]);
            }
        }
        tag = z;
    }
    out[own] = tag;
}
KERNEL(64) tagged_rows(const uint4 *keys, const uint4 *blocks, uint4 *out, int messages, int count) { tagged<PLAIN>(keys, blocks, out, messages, count); }
KERNEL(64) tagged_padded(const uint4 *keys, const uint4 *blocks, uint4 *out, int messages, int count) { tagged<PADDED>(keys, blocks, out, messages, count); }
KERNEL(64) tagged_columns(const uint4 *keys, const uint4 *blocks, uint4 *out, int messages, int count) { tagged<OTHER>(keys, blocks, out, messages, count); }

// Cubes of four by four by four numbers made whole, lifted along three axes and turned to a sign of their own (as ZFP does): 32 cubes a block.
__device__ __forceinline__ void lifted(int &x, int &y, int &z, int &w) {
    x += w, x >>= 1, w -= x, z += y, z >>= 1, y -= z;
    x += z, x >>= 1, z -= x, w += y, w >>= 1, y -= w;
    w += y >> 1, y -= w >> 1;
}
template <bool PADS> __device__ __forceinline__ void cubes_lifted(const float4 *in, unsigned *out) {
    __shared__ volatile int held[2560];
    const int t = threadIdx.x;
    const size_t base = (size_t)blockIdx.x * 2048;
    const auto at = [](int i) { return PADS ? i + i / 4 : i; };
    #pragma unroll
    for (int p = 0; p < 4; ++p) {
        const int line = t + p * 128;
        const float4 v = in[base / 4 + line];
        int a = (int)(v.x * 67108864.0f), b = (int)(v.y * 67108864.0f), c = (int)(v.z * 67108864.0f), d = (int)(v.w * 67108864.0f);
        lifted(a, b, c, d);
        held[at(line * 4)] = a, held[at(line * 4 + 1)] = b, held[at(line * 4 + 2)] = c, held[at(line * 4 + 3)] = d;
    }
    #pragma unroll
    for (int step = 4; step <= 16; step *= 4) {
        __syncthreads();
        #pragma unroll
        for (int p = 0; p < 4; ++p) {
            const int line = t + p * 128, from = step == 4 ? line / 4 * 16 + line % 4 : line / 16 * 64 + line % 16;
            int a = held[at(from)], b = held[at(from + step)], c = held[at(from + step * 2)], d = held[at(from + step * 3)];
            lifted(a, b, c, d);
            held[at(from)] = a, held[at(from + step)] = b, held[at(from + step * 2)] = c, held[at(from + step * 3)] = d;
        }
    }
    __syncthreads();
    #pragma unroll
    for (int i = t; i < 2048; i += 128) out[base + i] = ((unsigned)held[at(i)] + 0xaaaaaaaau) ^ 0xaaaaaaaau;
}
KERNEL(128) cubes_lifted_plain(const float4 *in, unsigned *out) { cubes_lifted<false>(in, out); }
KERNEL(128) cubes_lifted_padded(const float4 *in, unsigned *out) { cubes_lifted<true>(in, out); }
