// Kernels of the twenty-fourth set over numbers, codes and graphs: decoded symbols, seals, powers, prices, draws, orbits, sampled products, cores.
#include <cuda_runtime.h>

#define KERNEL(THREADS) extern "C" __global__ void __launch_bounds__(THREADS)
#define ALL 0xffffffffu

// Symbols of streams that asymmetric numeral systems coded (rANS): a thread a stream, a table of 4096 places in shared memory.
KERNEL(128) numeral_systems(const unsigned *__restrict__ places, const unsigned *__restrict__ words, unsigned *symbols, int streams, int quarters) {
    __shared__ unsigned table[4096];  // symbol, frequency (1 to 64), offset
    const int t = threadIdx.x, stream = blockIdx.x * 128 + t;
    for (int i = t; i < 4096; i += 128) {
        const unsigned bits = places[i];
        table[i] = (bits & 0xffu) << 24 | (1u + (bits >> 8 & 63u)) << 12 | (bits >> 16 & 0xfffu);
    }
    unsigned state = words[stream] | 0x10000u;
    int next = 1;
    __syncthreads();
    #pragma unroll 1
    for (int q = 0; q < quarters; ++q) {
        unsigned four = 0;
        #pragma unroll
        for (int e = 0; e < 4; ++e) {
            const unsigned place = table[state & 0xfffu];
            four = four >> 8 | (place & 0xff000000u);
            state = (place >> 12 & 0xfffu) * (state >> 12) + (place & 0xfffu);
            if (state < 0x10000u) state = state << 16 | (words[(size_t)next * streams + stream] & 0xffffu), ++next;
        }
        symbols[(size_t)q * streams + stream] = four;
    }
}

// Seals of messages (Poly1305): a thread a message of twelve blocks, five limbs of 26 bits; words lie in planes.
KERNEL(64) poly1305(const unsigned *__restrict__ keys, const unsigned *__restrict__ words, unsigned *seals, int count, int blocks) {
    const int at = blockIdx.x * 64 + threadIdx.x;
    constexpr unsigned low = 0x3ffffffu;
    const unsigned k0 = keys[at], k1 = keys[(size_t)count + at], k2 = keys[(size_t)count * 2 + at], k3 = keys[(size_t)count * 3 + at];
    const unsigned r0 = k0 & low, r1 = __funnelshift_r(k0, k1, 26) & 0x3ffff03u, r2 = __funnelshift_r(k1, k2, 20) & 0x3ffc0ffu,
                   r3 = __funnelshift_r(k2, k3, 14) & 0x3f03fffu, r4 = k3 >> 8 & 0xfffffu, s1 = r1 * 5, s2 = r2 * 5, s3 = r3 * 5, s4 = r4 * 5;
    unsigned h0 = 0, h1 = 0, h2 = 0, h3 = 0, h4 = 0;
    const auto times = [](unsigned a, unsigned b) { return (unsigned long long)a * b; };
    #pragma unroll 2
    for (int i = 0; i < blocks; ++i) {
        const unsigned *word = words + (size_t)i * 4 * count + at;
        const unsigned m0 = word[0], m1 = word[count], m2 = word[(size_t)count * 2], m3 = word[(size_t)count * 3];
        h0 += m0 & low, h1 += __funnelshift_r(m0, m1, 26) & low, h2 += __funnelshift_r(m1, m2, 20) & low;
        h3 += __funnelshift_r(m2, m3, 14) & low, h4 += m3 >> 8 | 1u << 24;
        unsigned long long d0 = times(h0, r0) + times(h1, s4) + times(h2, s3) + times(h3, s2) + times(h4, s1);
        unsigned long long d1 = times(h0, r1) + times(h1, r0) + times(h2, s4) + times(h3, s3) + times(h4, s2);
        unsigned long long d2 = times(h0, r2) + times(h1, r1) + times(h2, r0) + times(h3, s4) + times(h4, s3);
        unsigned long long d3 = times(h0, r3) + times(h1, r2) + times(h2, r1) + times(h3, r0) + times(h4, s4);
        unsigned long long d4 = times(h0, r4) + times(h1, r3) + times(h2, r2) + times(h3, r1) + times(h4, r0);
        d1 += d0 >> 26, d2 += d1 >> 26, d3 += d2 >> 26, d4 += d3 >> 26;
        h0 = ((unsigned)d0 & low) + (unsigned)(d4 >> 26) * 5, h1 = ((unsigned)d1 & low) + (h0 >> 26), h0 &= low;
        h2 = (unsigned)d2 & low, h3 = (unsigned)d3 & low, h4 = (unsigned)d4 & low;
    }
    seals[at] = h0 | h1 << 26, seals[(size_t)count + at] = h1 >> 6 | h2 << 20;
    seals[(size_t)count * 2 + at] = h2 >> 12 | h3 << 14, seals[(size_t)count * 3 + at] = h3 >> 18 | h4 << 8;
}

// Powers of numbers of 256 bits, x to the 65537th, by products of Montgomery's modulo an odd number; words lie in planes.
__device__ __forceinline__ void montgomery(unsigned *out, const unsigned *a, const unsigned *b, const unsigned *n, unsigned inverse) {
    unsigned r[9] = {};
    #pragma unroll
    for (int i = 0; i < 8; ++i) {
        unsigned long long sum = 0;
        #pragma unroll
        for (int j = 0; j < 8; ++j) sum = (unsigned long long)a[j] * b[i] + r[j] + (sum >> 32), r[j] = (unsigned)sum;
        sum = (sum >> 32) + r[8];
        r[8] = (unsigned)sum;
        const unsigned carried = (unsigned)(sum >> 32), m = r[0] * inverse;
        sum = (unsigned long long)m * n[0] + r[0];
        #pragma unroll
        for (int j = 1; j < 8; ++j) sum = (unsigned long long)m * n[j] + r[j] + (sum >> 32), r[j - 1] = (unsigned)sum;
        sum = (sum >> 32) + r[8];
        r[7] = (unsigned)sum, r[8] = carried + (unsigned)(sum >> 32);
    }
    unsigned less[8], borrow = 0;
    #pragma unroll
    for (int j = 0; j < 8; ++j) {
        const unsigned long long by = (unsigned long long)r[j] - n[j] - borrow;
        less[j] = (unsigned)by, borrow = (unsigned)(by >> 63);
    }
    #pragma unroll
    for (int j = 0; j < 8; ++j) out[j] = r[8] || !borrow ? less[j] : r[j];
}
KERNEL(128) montgomery_powers(const unsigned *__restrict__ numbers, const unsigned *__restrict__ modulus, unsigned *powers, int count) {
    const int at = blockIdx.x * 128 + threadIdx.x;
    unsigned x[8], y[8], n[8];
    #pragma unroll
    for (int j = 0; j < 8; ++j) n[j] = modulus[j] | (j == 0 ? 1u : j == 7 ? 0x80000000u : 0u), x[j] = y[j] = numbers[(size_t)j * count + at];
    x[7] = y[7] &= 0x7fffffffu;
    unsigned inverse = n[0];  // modulo 8
    #pragma unroll
    for (int i = 0; i < 4; ++i) inverse *= 2u - n[0] * inverse;
    #pragma unroll 1
    for (int i = 0; i < 16; ++i) montgomery(y, y, y, n, 0u - inverse);
    montgomery(y, y, x, n, 0u - inverse);
    #pragma unroll
    for (int j = 0; j < 8; ++j) powers[(size_t)j * count + at] = y[j];
}

// The price of an option on a mean of sixteen days, by numbers of Sobol's: a thread four paths, directions of sixteen dimensions in shared memory.
KERNEL(256) sobol_prices(const unsigned *__restrict__ directions, float *sums, float drift, float spread) {
    __shared__ unsigned held[16 * 32];
    __shared__ float parts[8];
    const int t = threadIdx.x;
    held[t] = directions[t], held[256 + t] = directions[256 + t];
    __syncthreads();
    float total = 0.0f;
    #pragma unroll 1
    for (int p = 0; p < 4; ++p) {
        const unsigned index = (blockIdx.x * 4 + p) * 256 + t + 1, gray = index ^ index >> 1;
        float place = 0.0f, mean = 0.0f;
        #pragma unroll 1
        for (int d = 0; d < 16; ++d) {
            unsigned x = 0;
            #pragma unroll
            for (int bit = 0; bit < 21; ++bit) x ^= held[d * 32 + bit] & (0u - (gray >> bit & 1u));
            place += drift + spread * normcdfinvf(((float)(x >> 9) + 0.5f) * 1.1920929e-7f);
            mean += __expf(place);
        }
        total += fmaxf(mean * 0.0625f - 1.0f, 0.0f);
    }
    #pragma unroll
    for (int offset = 16; offset > 0; offset >>= 1) total += __shfl_xor_sync(ALL, total, offset);
    if (t % 32 == 0) parts[t / 32] = total;
    __syncthreads();
    if (t == 0) {
        for (int i = 1; i < 8; ++i) total += parts[i];
        sums[blockIdx.x] = total;
    }
}

// Numbers of L'Ecuyer's combined generator (MRG32k3a) in doubles: how many points of a thread lie in a quarter of a circle.
KERNEL(256) combined_draws(const unsigned *__restrict__ seeds, int *inside, int count, int draws) {
    const int at = blockIdx.x * 256 + threadIdx.x;
    constexpr double m1 = 4294967087.0, m2 = 4294944443.0;
    double a[3], b[3];
    #pragma unroll
    for (int i = 0; i < 3; ++i) {
        a[i] = (double)(seeds[(size_t)i * count + at] >> 1) + 1.0;
        b[i] = (double)(seeds[(size_t)(3 + i) * count + at] >> 1) + 1.0;
    }
    const auto draw = [&]() {
        double p = 1403580.0 * a[1] - 810728.0 * a[0];
        p -= floor(p * (1.0 / m1)) * m1;
        p = p < 0.0 ? p + m1 : p >= m1 ? p - m1 : p;
        double q = 527612.0 * b[2] - 1370589.0 * b[0];
        q -= floor(q * (1.0 / m2)) * m2;
        q = q < 0.0 ? q + m2 : q >= m2 ? q - m2 : q;
        a[0] = a[1], a[1] = a[2], a[2] = p, b[0] = b[1], b[1] = b[2], b[2] = q;
        return (p <= q ? p - q + m1 : p - q) * (1.0 / (m1 + 1.0));
    };
    int found = 0;
    #pragma unroll 1
    for (int i = 0; i < draws; ++i) {
        const double x = draw(), y = draw();
        found += x * x + y * y < 1.0;
    }
    inside[at] = found;
}

// Where bodies are on their orbits (Kepler's equation), in doubles: eight steps of Newton's, then the turn of the orbit's plane.
KERNEL(128) kepler(const double *__restrict__ anomalies, const double *__restrict__ eccentricities, const double *__restrict__ tilts, double *places, int count) {
    const int at = blockIdx.x * 128 + threadIdx.x;
    const double mean = 3.0 * anomalies[at], e = 0.9 * fabs(eccentricities[at]), root = sqrt(1.0 - e * e);
    double angle = mean + e * (mean < 0.0 ? -0.85 : 0.85), s, c;
    #pragma unroll 1
    for (int i = 0; i < 8; ++i) {
        sincos(angle, &s, &c);
        angle -= (angle - e * s - mean) / (1.0 - e * c);
    }
    sincos(angle, &s, &c);
    const double x = c - e, y = root * s;
    sincos(tilts[at], &s, &c);
    places[at] = x, places[(size_t)count + at] = y * c, places[(size_t)count * 2 + at] = y * s;
}

// Products of rows of A and rows of B where a sparse matrix has elements, 32 a row (SDDMM): eight lanes an element, 64 wide.
KERNEL(256) sampled_products(const float4 *__restrict__ a, const float4 *__restrict__ b, const unsigned *__restrict__ columns, const float *__restrict__ values,
                             float *out, unsigned mask) {
    const int lane = threadIdx.x % 8, group = threadIdx.x / 8;
    #pragma unroll
    for (int i = 0; i < 4; ++i) {
        const int row = blockIdx.x * 4 + i, at = row * 32 + group;
        const float4 *to = b + (size_t)(columns[at] & mask) * 16 + lane, *from = a + (size_t)row * 16 + lane;
        const float4 p = __ldg(from), q = __ldg(from + 8), x = __ldg(to), y = __ldg(to + 8);
        float sum = p.x * x.x + p.y * x.y + p.z * x.z + p.w * x.w + q.x * y.x + q.y * y.y + q.z * y.z + q.w * y.w;
        sum += __shfl_xor_sync(ALL, sum, 4), sum += __shfl_xor_sync(ALL, sum, 2), sum += __shfl_xor_sync(ALL, sum, 1);
        if (lane == 0) out[at] = sum * values[at];
    }
}

// A step to the k-core of a graph: vertices with too few neighbours left go; nine to 24 neighbours a vertex, in columns, a bit a vertex comes out.
KERNEL(256) core_step(const unsigned *__restrict__ degrees, const unsigned *__restrict__ neighbours, const unsigned char *__restrict__ left, unsigned *stay,
                      int vertices, unsigned mask, int least) {
    const int at = blockIdx.x * 256 + threadIdx.x, degree = 9 + (int)(degrees[at] & 15u);
    int found = 0;
    #pragma unroll 4
    for (int k = 0; k < degree; ++k) found += __ldg(left + (neighbours[(size_t)k * vertices + at] & mask)) >= 64;
    const unsigned bits = __ballot_sync(ALL, left[at] >= 64 && found >= least);
    if (threadIdx.x % 32 == 0) stay[at / 32] = bits;
}
