// Kernels of the thirty-third set in groups that differ in the layout of shared memory alone: a volume turned, totals of groups, ranks of digits, a bank of filters,
// reflections of panels, Fourier lines, keys that heads share, tables of areas, samples of fields, paths of factors, packed numbers, products in a field of bytes,
// tuples split, bins with copies, likeness in batches.
#include <cuda_runtime.h>

#define KERNEL(THREADS) extern "C" __global__ void __launch_bounds__(THREADS)
#define ALL 0xffffffffu

enum Layout { PLAIN, PADDED, OTHER };

__device__ __forceinline__ unsigned place(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }
__device__ __forceinline__ void bring(void *to, const void *from) { asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(place(to)), "l"(from) : "memory"); }
__device__ __forceinline__ void bring_word(void *to, const void *from) { asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(place(to)), "l"(from) : "memory"); }
__device__ __forceinline__ void close_group() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int LEFT> __device__ __forceinline__ void arrived() { asm volatile("cp.async.wait_group %0;" ::"n"(LEFT) : "memory"); }

// A volume whose last axis becomes its first: tiles of 32 by 32 along the first and the last, a block a tile.
template <Layout HOW> __device__ __forceinline__ void depth_first(const float *in, float *out, int width, int height, int depth) {
    __shared__ float tile[32 * (HOW == PADDED ? 33 : 32)];
    const int x = threadIdx.x, y = threadIdx.y;
    const auto at = [](int row, int column) { return HOW == PADDED ? row * 33 + column : row * 32 + (HOW == OTHER ? column ^ row : column); };
    #pragma unroll
    for (int n = 0; n < 4; ++n) tile[at(n * 8 + y, x)] = in[((size_t)(blockIdx.z * 32 + n * 8 + y) * height + blockIdx.y) * width + blockIdx.x * 32 + x];
    __syncthreads();
    #pragma unroll
    for (int n = 0; n < 4; ++n) out[((size_t)(blockIdx.x * 32 + n * 8 + y) * height + blockIdx.y) * depth + blockIdx.z * 32 + x] = tile[at(x, n * 8 + y)];
}
KERNEL(256) depth_first_plain(const float *in, float *out, int width, int height, int depth) { depth_first<PLAIN>(in, out, width, height, depth); }
KERNEL(256) depth_first_padded(const float *in, float *out, int width, int height, int depth) { depth_first<PADDED>(in, out, width, height, depth); }
KERNEL(256) depth_first_swizzled(const float *in, float *out, int width, int height, int depth) { depth_first<OTHER>(in, out, width, height, depth); }

// Counts, sums, least and largest of 512 groups by atomics of shared memory: a group's four side by side, or each in a table of its own.
template <Layout HOW> __device__ __forceinline__ void group_totals(const unsigned *keys, const unsigned *values, unsigned *out, int each) {
    __shared__ unsigned held[2048];
    const int t = threadIdx.x;
    const auto at = [](int group, int which) { return HOW == PLAIN ? group * 4 + which : which * 512 + group; };
    for (int p = t; p < 512; p += 256) held[at(p, 0)] = 0, held[at(p, 1)] = 0, held[at(p, 2)] = ALL, held[at(p, 3)] = 0;
    __syncthreads();
    #pragma unroll 2
    for (int n = 0; n < each; ++n) {
        const size_t row = ((size_t)blockIdx.x * each + n) * 256 + t;
        const unsigned group = keys[row] & 511u, value = values[row];
        atomicAdd(held + at(group, 0), 1u), atomicAdd(held + at(group, 1), value);
        atomicMin(held + at(group, 2), value), atomicMax(held + at(group, 3), value);
    }
    __syncthreads();
    for (int p = t; p < 2048; p += 256) out[(size_t)blockIdx.x * 2048 + p] = held[at(p & 511, p >> 9)];
}
KERNEL(256) group_totals_together(const unsigned *keys, const unsigned *values, unsigned *out, int each) { group_totals<PLAIN>(keys, values, out, each); }
KERNEL(256) group_totals_apart(const unsigned *keys, const unsigned *values, unsigned *out, int each) { group_totals<OTHER>(keys, values, out, each); }

// Sorts of 2048 keys a block by sixteen bits, four a pass: each thread counts its eight keys in a column of its own, two digits a word, and rows of counts are summed.
template <Layout HOW> __device__ __forceinline__ void digit_ranks(const unsigned *in, unsigned *out) {
    __shared__ unsigned counts[HOW == PADDED ? 2048 + 64 : 2048], keys[HOW == PADDED ? 2048 + 64 : 2048], totals[8];
    const int t = threadIdx.x, lane = t & 31, warp = t >> 5;
    const size_t own = (size_t)blockIdx.x * 2048;
    const auto at = [](int place) { return HOW == PADDED ? place + (place >> 5) : place; };
    #pragma unroll
    for (int n = 0; n < 8; ++n) keys[at(n * 256 + t)] = in[own + n * 256 + t];
    __syncthreads();
    #pragma unroll 1
    for (int bit = 0; bit < 16; bit += 4) {
        unsigned v[8], ranks[8], sum = 0, before = 0, whole = 0;
        #pragma unroll
        for (int n = 0; n < 8; ++n) v[n] = keys[at(t * 8 + n)], counts[at(n * 256 + t)] = 0;
        #pragma unroll
        for (int n = 0; n < 8; ++n) {
            const unsigned digit = v[n] >> bit & 15u, shift = (digit >> 3) * 16;
            unsigned *count = counts + at((digit & 7) * 256 + t);
            ranks[n] = *count >> shift & 65535u, *count += 1u << shift;
        }
        __syncthreads();
        #pragma unroll
        for (int n = 0; n < 8; ++n) sum += counts[at(t * 8 + n)];
        unsigned run = sum;
        #pragma unroll
        for (int offset = 1; offset < 32; offset <<= 1) {
            const unsigned other = __shfl_up_sync(ALL, run, offset);
            if (lane >= offset) run += other;
        }
        if (lane == 31) totals[warp] = run;
        __syncthreads();
        #pragma unroll
        for (int w = 0; w < 8; ++w) before = w == warp ? whole : before, whole += totals[w];
        run += before - sum + (whole << 16);
        #pragma unroll
        for (int n = 0; n < 8; ++n) {
            const unsigned count = counts[at(t * 8 + n)];
            counts[at(t * 8 + n)] = run, run += count;
        }
        __syncthreads();
        #pragma unroll
        for (int n = 0; n < 8; ++n) {
            const unsigned digit = v[n] >> bit & 15u;
            keys[at((int)(ranks[n] + (counts[at((digit & 7) * 256 + t)] >> (digit >> 3) * 16 & 65535u)))] = v[n];
        }
        __syncthreads();
    }
    #pragma unroll
    for (int n = 0; n < 8; ++n) out[own + n * 256 + t] = keys[at(n * 256 + t)];
}
KERNEL(256) digit_ranks_plain(const unsigned *in, unsigned *out) { digit_ranks<PLAIN>(in, out); }
KERNEL(256) digit_ranks_padded(const unsigned *in, unsigned *out) { digit_ranks<PADDED>(in, out); }

// A bank of 32 filters of eight taps each, then a Walsh transform over the 32 in registers: a thread a moment, samples by copies of four bytes.
template <int P> __device__ __forceinline__ void filter_bank(const float *in, const float *taps, float *out, int moments) {
    __shared__ __align__(16) float held[135 * P], by[256];
    const int t = threadIdx.x;
    #pragma unroll 4
    for (int p = t; p < 135 * 32; p += 128) bring_word(held + (p >> 5) * P + (p & 31), in + (size_t)blockIdx.x * 4096 + p);
    bring_word(by + t, taps + t), bring_word(by + t + 128, taps + t + 128);
    close_group();
    arrived<0>();
    __syncthreads();
    float v[32];
    #pragma unroll
    for (int c = 0; c < 32; ++c) {
        v[c] = 0.0f;
        #pragma unroll
        for (int k = 0; k < 8; ++k) v[c] += by[k * 32 + c] * held[(t + k) * P + c];
    }
    #pragma unroll
    for (int step = 1; step < 32; step <<= 1)
        #pragma unroll
        for (int c = 0; c < 32; ++c)
            if ((c & step) == 0) {
                const float a = v[c], b = v[c + step];
                v[c] = a + b, v[c + step] = a - b;
            }
    #pragma unroll
    for (int c = 0; c < 32; ++c) out[(size_t)c * moments + blockIdx.x * 128 + t] = v[c];
}
KERNEL(128) filter_bank_plain(const float *in, const float *taps, float *out, int moments) { filter_bank<32>(in, taps, out, moments); }
KERNEL(128) filter_bank_padded(const float *in, const float *taps, float *out, int moments) { filter_bank<33>(in, taps, out, moments); }

// Eight reflections of Householder of matrices of 32 by 32, a warp a matrix: products with columns by a lane a column, changes by a lane a row.
template <int P> __device__ __forceinline__ void reflections(const float *in, float *out) {
    __shared__ float held[4][32 * P];
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    const size_t own = ((size_t)blockIdx.x * 4 + warp) * 1024;
    float *a = held[warp];
    #pragma unroll 8
    for (int n = 0; n < 32; ++n) a[n * P + lane] = in[own + n * 32 + lane];
    __syncwarp();
    #pragma unroll 1
    for (int j = 0; j < 8; ++j) {
        float v = lane >= j ? a[lane * P + j] : 0.0f, square = v * v;
        #pragma unroll
        for (int offset = 16; offset; offset >>= 1) square += __shfl_xor_sync(ALL, square, offset);
        const float head = __shfl_sync(ALL, v, j), length = sqrtf(square), top = head + (head >= 0.0f ? length : -length);
        if (lane == j) v = top;
        const float scale = 2.0f / (square - head * head + top * top + 1e-20f);
        float dot = 0.0f;
        #pragma unroll 8
        for (int n = 0; n < 32; ++n) dot += __shfl_sync(ALL, v, n) * a[n * P + lane];
        dot *= scale;
        __syncwarp();
        #pragma unroll 8
        for (int n = 0; n < 32; ++n) {
            const float by = __shfl_sync(ALL, dot, n);
            a[lane * P + n] -= v * by;
        }
        __syncwarp();
    }
    #pragma unroll 8
    for (int n = 0; n < 32; ++n) out[own + n * 32 + lane] = a[n * P + lane];
}
KERNEL(128) reflections_plain(const float *in, float *out) { reflections<32>(in, out); }
KERNEL(128) reflections_padded(const float *in, float *out) { reflections<33>(in, out); }

// Fourier transforms of 1024 points by Stockham's order, five steps by four: reads a quarter apart, writes a step apart.
template <Layout HOW> __device__ __forceinline__ void stockham(const float2 *in, float2 *out) {
    __shared__ float2 held[HOW == PADDED ? 1024 + 64 : 1024];
    const int t = threadIdx.x;
    const size_t own = (size_t)blockIdx.x * 1024;
    const auto at = [](int place) { return HOW == PADDED ? place + (place >> 4) : place; };
    float2 v[4];
    #pragma unroll
    for (int n = 0; n < 4; ++n) v[n] = in[own + n * 256 + t];
    #pragma unroll
    for (int step = 1; step < 1024; step *= 4) {
        const int low = t & (step - 1);
        if (step > 1) {
            __syncthreads();
            #pragma unroll
            for (int n = 0; n < 4; ++n) v[n] = held[at(n * 256 + t)];
            #pragma unroll
            for (int n = 1; n < 4; ++n) {
                float2 turn;
                __sincosf(-1.57079633f * (float)(n * low) / (float)step, &turn.y, &turn.x);
                v[n] = make_float2(v[n].x * turn.x - v[n].y * turn.y, v[n].x * turn.y + v[n].y * turn.x);
            }
            __syncthreads();
        }
        const float2 a = make_float2(v[0].x + v[2].x, v[0].y + v[2].y), b = make_float2(v[0].x - v[2].x, v[0].y - v[2].y);
        const float2 c = make_float2(v[1].x + v[3].x, v[1].y + v[3].y), d = make_float2(v[1].y - v[3].y, v[3].x - v[1].x);
        v[0] = make_float2(a.x + c.x, a.y + c.y), v[1] = make_float2(b.x + d.x, b.y + d.y), v[2] = make_float2(a.x - c.x, a.y - c.y), v[3] = make_float2(b.x - d.x, b.y - d.y);
        const int to = (t - low) * 4 + low;
        #pragma unroll
        for (int n = 0; n < 4; ++n) {
            if (step < 256) held[at(to + n * step)] = v[n];
            else out[own + to + n * 256] = v[n];
        }
    }
}
KERNEL(256) stockham_plain(const float2 *in, float2 *out) { stockham<PLAIN>(in, out); }
KERNEL(256) stockham_padded(const float2 *in, float2 *out) { stockham<PADDED>(in, out); }

// Scores of eight queries that share keys of 64 floats: 64 keys a tile in two stages, a thread a key and four queries.
template <int P> __device__ __forceinline__ void heads_and_keys(const float4 *queries, const float4 *keys, float *out, int length) {
    __shared__ __align__(16) float held[2][64 * P];
    __shared__ float4 asked[128];
    const int t = threadIdx.x, key = t & 63, side = t >> 6, first = blockIdx.x * 256;
    const float4 *from = keys + ((size_t)blockIdx.y * length + first) * 16;
    const auto stage = [&](int tile) {
        #pragma unroll
        for (int n = 0; n < 8; ++n) {
            const int p = n * 128 + t;
            bring(held[tile & 1] + (p >> 4) * P + (p & 15) * 4, from + tile * 1024 + p);
        }
    };
    asked[t] = queries[blockIdx.y * 128 + t];
    stage(0), close_group();
    #pragma unroll 1
    for (int tile = 0; tile < 4; ++tile) {
        if (tile < 3) stage(tile + 1);
        close_group();
        arrived<1>();
        __syncthreads();
        float sums[4] = {};
        #pragma unroll
        for (int d = 0; d < 16; ++d) {
            const float4 k = *reinterpret_cast<const float4 *>(held[tile & 1] + key * P + d * 4);
            #pragma unroll
            for (int n = 0; n < 4; ++n) {
                const float4 q = asked[(side * 4 + n) * 16 + d];
                sums[n] += k.x * q.x + k.y * q.y + k.z * q.z + k.w * q.w;
            }
        }
        #pragma unroll
        for (int n = 0; n < 4; ++n) out[((size_t)blockIdx.y * 8 + side * 4 + n) * length + first + tile * 64 + key] = sums[n] * 0.125f;
        __syncthreads();
    }
}
KERNEL(128) heads_and_keys_plain(const float4 *queries, const float4 *keys, float *out, int length) { heads_and_keys<64>(queries, keys, out, length); }
KERNEL(128) heads_and_keys_padded(const float4 *queries, const float4 *keys, float *out, int length) { heads_and_keys<68>(queries, keys, out, length); }

// Tables of areas of tiles of 64 by 64 pixels: sums along rows by a thread a row, then along columns.
template <int P> __device__ __forceinline__ void area_tables(const uchar4 *in, unsigned *out, int width) {
    __shared__ unsigned held[64 * P];
    const int t = threadIdx.x;
    #pragma unroll 4
    for (int n = 0; n < 16; ++n) {
        const int row = n * 4 + (t >> 4), column = (t & 15) * 4;
        const uchar4 v = in[(((size_t)blockIdx.y * 64 + row) * width + blockIdx.x * 64 + column) / 4];
        unsigned *to = held + row * P + column;
        to[0] = v.x, to[1] = v.y, to[2] = v.z, to[3] = v.w;
    }
    __syncthreads();
    unsigned sum = 0;
    #pragma unroll 8
    for (int n = 0; n < 64; ++n) sum += held[t * P + n], held[t * P + n] = sum;
    __syncthreads();
    sum = 0;
    #pragma unroll 8
    for (int n = 0; n < 64; ++n) {
        sum += held[n * P + t];
        out[((size_t)blockIdx.y * 64 + n) * width + blockIdx.x * 64 + t] = sum;
    }
}
KERNEL(64) area_tables_plain(const uchar4 *in, unsigned *out, int width) { area_tables<64>(in, out, width); }
KERNEL(64) area_tables_padded(const uchar4 *in, unsigned *out, int width) { area_tables<65>(in, out, width); }

// Fields at particles in cells of eight by eight by eight, from the eight corners of each: a corner's three numbers in a vector of four, or each in a table of its own.
template <Layout HOW> __device__ __forceinline__ void field_samples(const float *field, const unsigned *particles, float4 *out, int each) {
    __shared__ __align__(16) float held[729 * (HOW == PLAIN ? 4 : 3)];
    const int t = threadIdx.x;
    for (int p = t; p < 729; p += 256)
        #pragma unroll
        for (int c = 0; c < 3; ++c) held[HOW == PLAIN ? p * 4 + c : c * 729 + p] = field[(size_t)blockIdx.x * 2187 + c * 729 + p];
    if (HOW == PLAIN)
        for (int p = t; p < 729; p += 256) held[p * 4 + 3] = 0.0f;
    __syncthreads();
    #pragma unroll 1
    for (int n = 0; n < each; ++n) {
        const size_t own = ((size_t)blockIdx.x * each + n) * 256 + t;
        const unsigned bits = particles[own];
        const int x = bits & 7, y = bits >> 10 & 7, z = bits >> 20 & 7;
        const float fx = (float)(bits >> 3 & 127) * 0.0078125f, fy = (float)(bits >> 13 & 127) * 0.0078125f, fz = (float)(bits >> 23 & 127) * 0.0078125f;
        float sums[3] = {};
        #pragma unroll
        for (int corner = 0; corner < 8; ++corner) {
            const int p = ((z + (corner >> 2)) * 9 + y + (corner >> 1 & 1)) * 9 + x + (corner & 1);
            const float by = (corner & 1 ? fx : 1.0f - fx) * (corner & 2 ? fy : 1.0f - fy) * (corner & 4 ? fz : 1.0f - fz);
            if (HOW == PLAIN) {
                const float4 v = *reinterpret_cast<const float4 *>(held + p * 4);
                sums[0] += by * v.x, sums[1] += by * v.y, sums[2] += by * v.z;
            } else {
                #pragma unroll
                for (int c = 0; c < 3; ++c) sums[c] += by * held[c * 729 + p];
            }
        }
        out[own] = make_float4(sums[0], sums[1], sums[2], sums[0] * sums[0] + sums[1] * sums[1] + sums[2] * sums[2]);
    }
}
KERNEL(256) field_samples_together(const float *field, const unsigned *particles, float4 *out, int each) { field_samples<PLAIN>(field, particles, out, each); }
KERNEL(256) field_samples_apart(const float *field, const unsigned *particles, float4 *out, int each) { field_samples<OTHER>(field, particles, out, each); }

// Paths of sixteen rates with common factors: draws of a thread wait in shared memory, a triangle of loads says how they join.
template <Layout HOW> __device__ __forceinline__ void factor_paths(const unsigned *seeds, const float *loads, float *out, int steps) {
    __shared__ float draws[128 * (HOW == PADDED ? 17 : 16)], by[256];
    const int t = threadIdx.x, own = blockIdx.x * 128 + t;
    const auto at = [&](int k) { return HOW == OTHER ? k * 128 + t : t * (HOW == PADDED ? 17 : 16) + k; };
    by[t] = loads[t], by[t + 128] = loads[t + 128];
    __syncthreads();
    unsigned seed = seeds[own];
    float total = 0.0f;
    #pragma unroll 1
    for (int step = 0; step < steps; ++step) {
        #pragma unroll 4
        for (int k = 0; k < 16; k += 2) {
            seed = seed * 1664525u + 1013904223u;
            const float u = (float)(seed >> 8) * 5.9604645e-8f + 1e-8f;
            seed = seed * 1664525u + 1013904223u;
            const float radius = sqrtf(-2.0f * __logf(u));
            float sine, cosine;
            __sincosf((float)(seed >> 8) * 3.7450704e-7f, &sine, &cosine);
            draws[at(k)] = radius * cosine, draws[at(k + 1)] = radius * sine;
        }
        #pragma unroll 1
        for (int i = 0; i < 16; ++i) {
            float sum = 0.0f;
            #pragma unroll 4
            for (int k = 0; k <= i; ++k) sum += by[i * 16 + k] * draws[at(k)];
            total += __expf(0.1f * sum);
        }
    }
    out[own] = total / (float)(steps * 16);
}
KERNEL(128) factor_paths_rows(const unsigned *seeds, const float *loads, float *out, int steps) { factor_paths<PLAIN>(seeds, loads, out, steps); }
KERNEL(128) factor_paths_padded(const unsigned *seeds, const float *loads, float *out, int steps) { factor_paths<PADDED>(seeds, loads, out, steps); }
KERNEL(128) factor_paths_columns(const unsigned *seeds, const float *loads, float *out, int steps) { factor_paths<OTHER>(seeds, loads, out, steps); }

// Numbers packed to eleven bits above the least of each 32: a thread packs 32 in a row, which shared memory hands over.
template <int P> __device__ __forceinline__ void eleven_bits(const int *in, unsigned *out, int *least) {
    __shared__ int held[128 * P];
    const int t = threadIdx.x;
    #pragma unroll 8
    for (int n = 0; n < 32; ++n) held[(n * 4 + (t >> 5)) * P + (t & 31)] = in[(size_t)blockIdx.x * 4096 + n * 128 + t];
    __syncthreads();
    int low = held[t * P];
    #pragma unroll
    for (int k = 1; k < 32; ++k) low = min(low, held[t * P + k]);
    unsigned words[11] = {};
    #pragma unroll
    for (int k = 0; k < 32; ++k) {
        const unsigned v = (unsigned)(held[t * P + k] - low) & 2047u;
        words[k * 11 >> 5] |= v << (k * 11 & 31);
        if ((k * 11 & 31) > 21) words[(k * 11 >> 5) + 1] |= v >> (32 - (k * 11 & 31));
    }
    least[blockIdx.x * 128 + t] = low;
    #pragma unroll
    for (int w = 0; w < 11; ++w) out[((size_t)blockIdx.x * 11 + w) * 128 + t] = words[w];
}
KERNEL(128) eleven_bits_plain(const int *in, unsigned *out, int *least) { eleven_bits<32>(in, out, least); }
KERNEL(128) eleven_bits_padded(const int *in, unsigned *out, int *least) { eleven_bits<33>(in, out, least); }

// Horner's rule in the field of 256 by a table of products: bytes, words, or a copy of words for each lane.
template <Layout HOW> __device__ __forceinline__ void field_of_bytes(const unsigned *in, unsigned *out, int each, unsigned factor) {
    __shared__ unsigned held[HOW == OTHER ? 256 * 32 : 256];
    const int t = threadIdx.x, lane = t & 31;
    unsigned product = 0, power = (unsigned)t;
    #pragma unroll
    for (int bit = 0; bit < 8; ++bit) {
        if (factor >> bit & 1) product ^= power;
        power = power << 1 ^ (power & 128 ? 0x11du : 0u);
    }
    if (HOW == PLAIN) reinterpret_cast<unsigned char *>(held)[t] = (unsigned char)product;
    else if (HOW == PADDED) held[t] = product;
    else
        for (int n = 0; n < 32; ++n) held[t * 32 + (n + t & 31)] = product;
    __syncthreads();
    const auto times = [&](unsigned v) { return HOW == PLAIN ? (unsigned)reinterpret_cast<const unsigned char *>(held)[v] : held[HOW == PADDED ? v : v * 32 + lane]; };
    unsigned sums[4] = {};
    #pragma unroll 4
    for (int n = 0; n < each; ++n) {
        const unsigned word = in[((size_t)blockIdx.x * each + n) * 256 + t];
        #pragma unroll
        for (int b = 0; b < 4; ++b) sums[b] = times(sums[b]) ^ (word >> b * 8 & 255u);
    }
    out[blockIdx.x * 256 + t] = sums[0] | sums[1] << 8 | sums[2] << 16 | sums[3] << 24;
}
KERNEL(256) field_of_bytes_packed(const unsigned *in, unsigned *out, int each, unsigned factor) { field_of_bytes<PLAIN>(in, out, each, factor); }
KERNEL(256) field_of_bytes_words(const unsigned *in, unsigned *out, int each, unsigned factor) { field_of_bytes<PADDED>(in, out, each, factor); }
KERNEL(256) field_of_bytes_copies(const unsigned *in, unsigned *out, int each, unsigned factor) { field_of_bytes<OTHER>(in, out, each, factor); }

// Rows of eight words that become columns: 256 rows a block come as they lie, a thread reads its own word by word.
template <int P> __device__ __forceinline__ void tuples_split(const uint4 *in, unsigned *out, int rows) {
    __shared__ unsigned held[256 * P];
    const int t = threadIdx.x;
    #pragma unroll
    for (int n = 0; n < 2; ++n) {
        const int p = n * 256 + t;
        const uint4 v = in[(size_t)blockIdx.x * 512 + p];
        unsigned *to = held + (p >> 1) * P + (p & 1) * 4;
        to[0] = v.x, to[1] = v.y, to[2] = v.z, to[3] = v.w;
    }
    __syncthreads();
    #pragma unroll
    for (int c = 0; c < 8; ++c) out[(size_t)c * rows + blockIdx.x * 256 + t] = held[t * P + c];
}
KERNEL(256) tuples_split_plain(const uint4 *in, unsigned *out, int rows) { tuples_split<8>(in, out, rows); }
KERNEL(256) tuples_split_padded(const uint4 *in, unsigned *out, int rows) { tuples_split<9>(in, out, rows); }

// Counts of 64 tones, most of them in eight: eight copies of the bins, a lane adds to one of them by atomics; copies lie one after another, or side by side.
template <Layout HOW> __device__ __forceinline__ void bins_with_copies(const uint4 *in, unsigned *out, int each) {
    __shared__ unsigned held[8 * 65];
    const int t = threadIdx.x, copy = t & 7;
    const auto at = [](int bin, int which) { return HOW == OTHER ? bin * 8 + which : which * (HOW == PADDED ? 65 : 64) + bin; };
    for (int p = t; p < 520; p += 256) held[p] = 0;
    __syncthreads();
    #pragma unroll 1
    for (int n = 0; n < each; ++n) {
        const uint4 v = in[((size_t)blockIdx.x * each + n) * 256 + t];
        const unsigned words[4] = {v.x, v.y, v.z, v.w};
        #pragma unroll
        for (int w = 0; w < 4; ++w)
            #pragma unroll
            for (int b = 0; b < 4; ++b) {
                const unsigned tone = words[w] >> b * 8 & 255u;
                atomicAdd(held + at((int)(tone < 224 ? tone & 7 : tone & 63), copy), 1u);
            }
    }
    __syncthreads();
    if (t >= 64) return;
    unsigned sum = 0;
    #pragma unroll
    for (int c = 0; c < 8; ++c) sum += held[at(t, c)];
    out[blockIdx.x * 64 + t] = sum;
}
KERNEL(256) bins_with_copies_plain(const uint4 *in, unsigned *out, int each) { bins_with_copies<PLAIN>(in, out, each); }
KERNEL(256) bins_with_copies_padded(const uint4 *in, unsigned *out, int each) { bins_with_copies<PADDED>(in, out, each); }
KERNEL(256) bins_with_copies_interleaved(const uint4 *in, unsigned *out, int each) { bins_with_copies<OTHER>(in, out, each); }

// A B' in batches of 256 by 256: 64 by 64 a block, sixteen of K a step, both turned as they are put in shared memory; 4 by 4 results a thread.
template <Layout HOW> __device__ __forceinline__ void likeness(const float *a, const float *b, float *c) {
    constexpr int P = HOW == PADDED ? 68 : 64;
    __shared__ __align__(16) float as[16 * P], bs[16 * P];
    const int t = threadIdx.x, x = t & 15, y = t >> 4, row = t >> 2, k4 = (t & 3) * 4;
    const size_t own = (size_t)blockIdx.z * 65536;
    const auto at = [](int k, int place) { return k * P + (HOW == OTHER ? place ^ (k >> 2 & 3) << 3 : place); };
    const float *mine = a + own + (blockIdx.y * 64 + row) * 256 + k4, *theirs = b + own + (blockIdx.x * 64 + row) * 256 + k4;
    float sums[4][4] = {};
    float4 u = *reinterpret_cast<const float4 *>(mine), v = *reinterpret_cast<const float4 *>(theirs);
    #pragma unroll 1
    for (int k = 0; k < 256; k += 16) {
        const float us[4] = {u.x, u.y, u.z, u.w}, vs[4] = {v.x, v.y, v.z, v.w};
        #pragma unroll
        for (int e = 0; e < 4; ++e) as[at(k4 + e, row)] = us[e], bs[at(k4 + e, row)] = vs[e];
        __syncthreads();
        if (k + 16 < 256) u = *reinterpret_cast<const float4 *>(mine + k + 16), v = *reinterpret_cast<const float4 *>(theirs + k + 16);
        #pragma unroll
        for (int d = 0; d < 16; ++d) {
            const float4 p = *reinterpret_cast<const float4 *>(as + at(d, y * 4)), q = *reinterpret_cast<const float4 *>(bs + at(d, x * 4));
            const float ps[4] = {p.x, p.y, p.z, p.w};
            #pragma unroll
            for (int i = 0; i < 4; ++i) sums[i][0] += ps[i] * q.x, sums[i][1] += ps[i] * q.y, sums[i][2] += ps[i] * q.z, sums[i][3] += ps[i] * q.w;
        }
        __syncthreads();
    }
    #pragma unroll
    for (int i = 0; i < 4; ++i) *reinterpret_cast<float4 *>(c + own + (blockIdx.y * 64 + y * 4 + i) * 256 + blockIdx.x * 64 + x * 4) = make_float4(sums[i][0], sums[i][1], sums[i][2], sums[i][3]);
}
KERNEL(256) likeness_plain(const float *a, const float *b, float *c) { likeness<PLAIN>(a, b, c); }
KERNEL(256) likeness_padded(const float *a, const float *b, float *c) { likeness<PADDED>(a, b, c); }
KERNEL(256) likeness_swizzled(const float *a, const float *b, float *c) { likeness<OTHER>(a, b, c); }
