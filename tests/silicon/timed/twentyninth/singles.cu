// Kernels of the twenty-ninth set that no layout tells apart: cliques, medians by bits, layers of pictures, pairs of letters, tries, quantiles, pendulums, continued
// fractions, rational activations, chaos, edges that are kept while a picture is smoothed, numbers of Fibonacci.
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#define KERNEL(THREADS) extern "C" __global__ void __launch_bounds__(THREADS)
#define ALL 0xffffffffu

// How many cliques of four a graph of 32 nodes has: a warp a graph, a lane a node and its neighbours as bits, which shuffles pass round.
KERNEL(256) cliques(const unsigned *in, unsigned *out, int graphs) {
    const int lane = threadIdx.x % 32, one = blockIdx.x * 8 + threadIdx.x / 32;
    if (one >= graphs) return;
    const unsigned given = in[(size_t)one * 32 + lane];
    unsigned row = given, column = 0;
    #pragma unroll 8
    for (int k = 0; k < 32; ++k) {
        const unsigned those = __ballot_sync(ALL, given >> k & 1u);
        if (lane == k) column = those;
    }
    row = (row | column) & ~(1u << lane);
    unsigned count = 0;
    #pragma unroll 1
    for (int a = 1; a < 31; ++a) {
        const unsigned first = __shfl_sync(ALL, row, a) & row;
        const bool near = a > lane && row >> a & 1u;
        #pragma unroll 4
        for (int b = a + 1; b < 32; ++b) {
            const unsigned both = __shfl_sync(ALL, row, b) & first;
            if (near && first >> b & 1u) count += __popc(both >> b);
        }
    }
    count = __reduce_add_sync(ALL, count);
    if (lane == 0) out[one] = count;
}

// Medians of rows of 256 numbers, bit by bit from the top: a warp a row, votes say how many share what is known so far.
KERNEL(256) medians_by_bits(const uint4 *in, unsigned *out, int rows) {
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    for (int row = blockIdx.x * 8 + warp; row < rows; row += gridDim.x * 8) {
        const uint4 v = in[(size_t)row * 64 + lane], w = in[(size_t)row * 64 + 32 + lane];
        const unsigned mine[8] = {v.x, v.y, v.z, v.w, w.x, w.y, w.z, w.w};
        unsigned known = 0, rank = 127;
        #pragma unroll 2
        for (int bit = 31; bit >= 0; --bit) {
            unsigned low = 0;
            #pragma unroll
            for (int k = 0; k < 8; ++k) low += __popc(__ballot_sync(ALL, (mine[k] ^ known) >> bit == 0u));
            if (rank >= low) rank -= low, known |= 1u << bit;
        }
        if (lane == 0) out[row] = known;
    }
}

// A picture laid over another by its opacity, four bytes a pixel: nothing but memory.
KERNEL(256) composited(const uint4 *above, const uint4 *below, uint4 *out, int count) {
    const auto over = [](unsigned a, unsigned b) {
        const unsigned clear = 255u - (a >> 24);
        const unsigned even = (b & 0x00ff00ffu) * clear + 0x00800080u, odd = (b >> 8 & 0x00ff00ffu) * clear + 0x00800080u;
        return __vaddus4(a, (even >> 8 & 0x00ff00ffu) | (odd & 0xff00ff00u));
    };
    for (int p = blockIdx.x * 256 + threadIdx.x; p < count; p += gridDim.x * 256) {
        const uint4 a = above[p], b = below[p];
        out[p] = make_uint4(over(a.x, b.x), over(a.y, b.y), over(a.z, b.z), over(a.w, b.w));
    }
}

// How often each letter follows each: 32 by 32 counts in shared memory, added by atomics; a block a text of 16 KB, vowels made frequent.
KERNEL(256) bigrams(const uint4 *in, unsigned *out) {
    __shared__ unsigned counts[1024];
    const int t = threadIdx.x;
    #pragma unroll
    for (int k = t; k < 1024; k += 256) counts[k] = 0u;
    __syncthreads();
    unsigned last = 0;
    #pragma unroll 1
    for (int k = 0; k < 4; ++k) {
        const uint4 v = in[(size_t)blockIdx.x * 1024 + k * 256 + t];
        const unsigned words[4] = {v.x, v.y, v.z, v.w};
        #pragma unroll
        for (int n = 0; n < 16; ++n) {
            const unsigned byte = words[n / 4] >> n % 4 * 8 & 255u, now = byte < 64u ? byte & 3u : byte & 31u;
            atomicAdd(&counts[last * 32 + now], 1u);
            last = now;
        }
    }
    __syncthreads();
    #pragma unroll
    for (int k = t; k < 1024; k += 256) out[(size_t)blockIdx.x * 1024 + k] = counts[k];
}

// Words looked for in a trie of sixteen ways that lies in L2: eight steps, each to where the last one says; ends where a node has no way on.
KERNEL(256) tries(const unsigned *words, const unsigned *nodes, unsigned *out, int mask) {
    const int own = blockIdx.x * 256 + threadIdx.x;
    unsigned word = words[own], node = 0, depth = 0;
    #pragma unroll 1
    for (; depth < 8u; ++depth, word >>= 4) {
        const unsigned next = nodes[(node * 16u + (word & 15u)) & mask];
        if ((next & 15u) == 0u) break;
        node = next >> 4;
    }
    out[own] = node * 16u + depth;
}

// Quantiles of the normal distribution by rational functions (Acklam), the tails by logarithms and roots; means over what a counter gives.
KERNEL(256) probit(const float *in, float *out, int each) {
    const int own = blockIdx.x * 256 + threadIdx.x;
    const float start = in[own] * 0.5f + 0.5f;
    float sum = 0.0f;
    #pragma unroll 1
    for (int n = 0; n < each; ++n) {
        float p = start + n * 0.618034f;
        p = fminf(fmaxf(p - floorf(p), 1e-6f), 0.999999f);
        const float edge = fminf(p, 1.0f - p);
        float x;
        if (edge < 0.02425f) {
            const float q = sqrtf(-2.0f * __logf(edge));
            x = (((((-0.007784894f * q - 0.32239646f) * q - 2.4007583f) * q - 2.5497325f) * q + 4.3746641f) * q + 2.9381640f) / ((((0.0077846957f * q + 0.32246713f) * q + 2.4451342f) * q + 3.7544087f) * q + 1.0f);
            if (p > 0.5f) x = -x;
        } else {
            const float q = p - 0.5f, r = q * q;
            x = (((((-39.696830f * r + 220.94610f) * r - 275.92851f) * r + 138.35775f) * r - 30.664798f) * r + 2.5066283f) * q / (((((-54.476099f * r + 161.58584f) * r - 155.69898f) * r + 66.801312f) * r - 13.280682f) * r + 1.0f);
        }
        sum += x * x;
    }
    out[own] = sum;
}

// How long pendulums swing, by means of means (arithmetic and geometric) in doubles: elliptic integrals of what each swings from.
KERNEL(128) pendulums(const double *in, double *out, int each) {
    const int own = blockIdx.x * 128 + threadIdx.x;
    double sum = 0.0;
    #pragma unroll 1
    for (int n = 0; n < each; ++n) {
        const double k = 0.99 * in[own] / (1.0 + n);
        double a = 1.0, g = sqrt(1.0 - k * k);
        #pragma unroll 1
        for (int round = 0; round < 5; ++round) {
            const double mean = 0.5 * (a + g);
            g = sqrt(a * g), a = mean;
        }
        sum += 1.5707963267948966 / a;
    }
    out[own] = sum;
}

// Continued fractions of pairs of numbers: how many quotients, and their largest; every thread stops when its remainder is nothing.
KERNEL(128) continued_fractions(const uint2 *in, uint2 *out, int count, int each) {
    const int own = blockIdx.x * 128 + threadIdx.x;
    unsigned terms = 0, most = 0;
    #pragma unroll 1
    for (int n = 0; n < each; ++n) {
        const uint2 v = in[(size_t)n * count + own];
        unsigned a = v.x, b = v.y >> 7;
        #pragma unroll 1
        while (b) {
            const unsigned quotient = a / b, left = a - quotient * b;
            most = max(most, quotient & 0xffffu), ++terms;
            a = b, b = left;
        }
    }
    out[own] = make_uint2(terms, most);
}

// A layer's activations that are rational functions (Pade), in pairs of halves, again and again: polynomials of five terms by one another.
KERNEL(256) rational_halves(const uint4 *in, uint4 *out, int rounds) {
    const size_t own = (size_t)blockIdx.x * 256 + threadIdx.x;
    uint4 v = in[own];
    __half2 *x = reinterpret_cast<__half2 *>(&v);
    const auto c = [](float f) { return __float2half2_rn(f); };
    #pragma unroll 1
    for (int round = 0; round < rounds; ++round)
        #pragma unroll
        for (int k = 0; k < 4; ++k) {
            const __half2 y = x[k], s = __hmul2(y, y);
            const __half2 over = __hfma2(__hfma2(__hfma2(c(0.0218f), y, c(0.5f)), y, c(1.5957f)), y, c(0.0218f)), under = __hfma2(__hfma2(c(0.05f), s, c(0.38f)), s, c(1.0f));
            x[k] = __h2div(over, under);
        }
    out[own] = v;
}

// How fast neighbouring paths of Lorenz's weather part: places and a small difference, by the rule of Runge and Kutta; logarithms of how it grows.
KERNEL(256) lorenz(const float *in, float *out, int steps) {
    const size_t own = (size_t)blockIdx.x * 256 + threadIdx.x;
    float v[6] = {in[own], 1.0f, 20.0f, 0.01f, 0.0f, 0.0f}, grown = 0.0f;
    const auto slope = [](const float *s, float *d) {
        d[0] = 10.0f * (s[1] - s[0]), d[1] = s[0] * (28.0f - s[2]) - s[1], d[2] = s[0] * s[1] - 2.6666667f * s[2];
        d[3] = 10.0f * (s[4] - s[3]), d[4] = s[3] * (28.0f - s[2]) - s[0] * s[5] - s[4], d[5] = s[3] * s[1] + s[0] * s[4] - 2.6666667f * s[5];
    };
    #pragma unroll 1
    for (int step = 0; step < steps; ++step) {
        float k[6], at[6], all[6];
        slope(v, k);
        #pragma unroll
        for (int i = 0; i < 6; ++i) all[i] = k[i], at[i] = v[i] + 0.0025f * k[i];
        slope(at, k);
        #pragma unroll
        for (int i = 0; i < 6; ++i) all[i] += 2.0f * k[i], at[i] = v[i] + 0.0025f * k[i];
        slope(at, k);
        #pragma unroll
        for (int i = 0; i < 6; ++i) all[i] += 2.0f * k[i], at[i] = v[i] + 0.005f * k[i];
        slope(at, k);
        #pragma unroll
        for (int i = 0; i < 6; ++i) v[i] += 0.00083333333f * (all[i] + k[i]);
        const float size = sqrtf(v[3] * v[3] + v[4] * v[4] + v[5] * v[5]) + 1e-20f, back = 0.01f / size;
        grown += __logf(size * 100.0f);
        v[3] *= back, v[4] *= back, v[5] *= back;
    }
    out[own] = grown;
}

// A picture smoothed, but not across edges (Perona and Malik): each of four neighbours counts by how little it differs. Several planes, a thread a place in each.
KERNEL(256) perona(const float *in, float *out, int width, int height, int planes, float edge) {
    const int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
    if (x >= width || y >= height) return;
    const int left = max(x - 1, 0), right = min(x + 1, width - 1), up = max(y - 1, 0), down = min(y + 1, height - 1);
    #pragma unroll 1
    for (int plane = 0; plane < planes; ++plane) {
        const float *from = in + (size_t)plane * width * height;
        const float own = from[y * width + x];
        const float differences[4] = {from[y * width + left] - own, from[y * width + right] - own, from[up * width + x] - own, from[down * width + x] - own};
        float sum = 0.0f;
        #pragma unroll
        for (int k = 0; k < 4; ++k) sum += differences[k] * __expf(-differences[k] * differences[k] * edge);
        out[(size_t)plane * width * height + y * width + x] = own + 0.2f * sum;
    }
}

// Numbers of Fibonacci by doubling, modulo the prime two to the 61st less one: every bit of the index takes three products of 64 bits.
KERNEL(128) fibonacci(const unsigned *in, unsigned long long *out) {
    const int own = blockIdx.x * 128 + threadIdx.x;
    const unsigned long long prime = (1ull << 61) - 1ull;
    const auto less = [&](unsigned long long v) { return v >= prime ? v - prime : v; };
    const auto times = [&](unsigned long long a, unsigned long long b) {
        const unsigned long long low = a * b, high = __umul64hi(a, b);
        return less((low & prime) + (high << 3 | low >> 61));
    };
    const unsigned index = in[own];
    unsigned long long a = 0ull, b = 1ull;
    #pragma unroll 1
    for (int bit = 31; bit >= 0; --bit) {
        const unsigned long long twice = less(b + b), c = times(a, less(twice + prime - a)), d = less(times(a, a) + times(b, b));
        if (index >> bit & 1u) a = d, b = less(c + d);
        else a = c, b = d;
    }
    out[own] = a;
}
