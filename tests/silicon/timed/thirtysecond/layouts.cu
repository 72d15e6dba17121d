// Kernels of the thirty-second set in groups that differ in the layout of shared memory alone: a triangle by a matrix, bitonic sorts, sums of segments, histograms of 64,
// means of clusters, Fourier planes, tridiagonal systems, lists of cells, a symmetric matrix by a vector, one query, bytes turned, a tree of sums, poses, a small vocabulary.
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#define KERNEL(THREADS) extern "C" __global__ void __launch_bounds__(THREADS)
#define ALL 0xffffffffu

enum Layout { PLAIN, PADDED, OTHER };
typedef unsigned long long wide_key;

// A lower triangle by a matrix: 64 by 64 a block, 16 deep a step and no further than the diagonal, 4 by 4 results a thread; a warp covers eight rows of threads.
template <int A> __device__ __forceinline__ void triangle_times(const float *l, const float *b, float *c, int size, int columns) {
    __shared__ __align__(16) float as[64 * A], bs[16 * 64];
    const int t = threadIdx.x, lane = t & 31, warp = t >> 5, x = (warp >> 1) * 4 + (lane & 3), y = (warp & 1) * 8 + (lane >> 2);
    const int first = (gridDim.y - 1 - blockIdx.y) * 64, row = t >> 2, k4 = (t & 3) * 4;
    float sums[4][4] = {};
    #pragma unroll 1
    for (int k = 0; k < first + 64; k += 16) {
        const float4 u = *reinterpret_cast<const float4 *>(l + (size_t)(first + row) * size + k + k4);
        const float4 v = *reinterpret_cast<const float4 *>(b + (size_t)(k + (t >> 4)) * columns + blockIdx.x * 64 + (t & 15) * 4);
        const int left = first + row - k - k4;
        float *p = as + row * A + k4;
        p[0] = left >= 0 ? u.x : 0.0f, p[1] = left >= 1 ? u.y : 0.0f, p[2] = left >= 2 ? u.z : 0.0f, p[3] = left >= 3 ? u.w : 0.0f;
        *reinterpret_cast<float4 *>(bs + t * 4) = v;
        __syncthreads();
        #pragma unroll
        for (int d = 0; d < 16; ++d) {
            const float4 q = *reinterpret_cast<const float4 *>(bs + d * 64 + x * 4);
            #pragma unroll
            for (int i = 0; i < 4; ++i) {
                const float one = as[(y * 4 + i) * A + d];
                sums[i][0] += one * q.x, sums[i][1] += one * q.y, sums[i][2] += one * q.z, sums[i][3] += one * q.w;
            }
        }
        __syncthreads();
    }
    #pragma unroll
    for (int i = 0; i < 4; ++i) *reinterpret_cast<float4 *>(c + (size_t)(first + y * 4 + i) * columns + blockIdx.x * 64 + x * 4) = make_float4(sums[i][0], sums[i][1], sums[i][2], sums[i][3]);
}
KERNEL(256) triangle_times_rows(const float *l, const float *b, float *c, int size, int columns) { triangle_times<16>(l, b, c, size, columns); }
KERNEL(256) triangle_times_padded(const float *l, const float *b, float *c, int size, int columns) { triangle_times<17>(l, b, c, size, columns); }

// A bitonic sort of 2048 keys of 64 bits a block: steps of eight and more in shared memory, those below in registers, eight keys in a row a thread.
template <Layout HOW> __device__ __forceinline__ void bitonic_eights(const wide_key *in, wide_key *out) {
    __shared__ wide_key keys[HOW == PADDED ? 2048 + 128 : 2048];
    const int t = threadIdx.x;
    const auto at = [](int place) { return HOW == PADDED ? place + (place >> 4) : place; };
    #pragma unroll
    for (int n = 0; n < 8; ++n) keys[at(n * 256 + t)] = in[(size_t)blockIdx.x * 2048 + n * 256 + t];
    __syncthreads();
    #pragma unroll 1
    for (int size = 8; size <= 2048; size <<= 1) {
        #pragma unroll 1
        for (int step = size >> 1; step >= 8; step >>= 1) {
            #pragma unroll
            for (int n = 0; n < 4; ++n) {
                const int p = n * 256 + t, i = (p & -step) * 2 + (p & step - 1), low = at(i), high = at(i + step);
                const wide_key a = keys[low], b = keys[high];
                if ((a > b) == ((i & size) == 0)) keys[low] = b, keys[high] = a;
            }
            __syncthreads();
        }
        wide_key v[8];
        #pragma unroll
        for (int k = 0; k < 8; ++k) v[k] = keys[at(t * 8 + k)];
        const bool up = (t * 8 & size) == 0;
        if (size == 8) {
            #pragma unroll
            for (int span = 2; span <= 4; span <<= 1)
                #pragma unroll
                for (int step = span >> 1; step; step >>= 1)
                    #pragma unroll
                    for (int k = 0; k < 8; ++k)
                        if ((k & step) == 0) {
                            const wide_key a = min(v[k], v[k + step]), b = max(v[k], v[k + step]);
                            v[k] = (k & span) ? b : a, v[k + step] = (k & span) ? a : b;
                        }
        }
        #pragma unroll
        for (int step = 4; step; step >>= 1)
            #pragma unroll
            for (int k = 0; k < 8; ++k)
                if ((k & step) == 0) {
                    const wide_key a = min(v[k], v[k + step]), b = max(v[k], v[k + step]);
                    v[k] = up ? a : b, v[k + step] = up ? b : a;
                }
        #pragma unroll
        for (int k = 0; k < 8; ++k) keys[at(t * 8 + k)] = v[k];
        __syncthreads();
    }
    #pragma unroll
    for (int n = 0; n < 8; ++n) out[(size_t)blockIdx.x * 2048 + n * 256 + t] = keys[at(n * 256 + t)];
}
KERNEL(256) bitonic_eights_plain(const wide_key *in, wide_key *out) { bitonic_eights<PLAIN>(in, out); }
KERNEL(256) bitonic_eights_padded(const wide_key *in, wide_key *out) { bitonic_eights<PADDED>(in, out); }

// Running sums that begin anew at heads, 2048 items a block: pairs of a head and a value go from stripes to eight in a row a thread, and back, by shared memory.
template <Layout HOW> __device__ __forceinline__ void headed_sums(const unsigned *heads, const float *values, float *out) {
    __shared__ float2 held[HOW == PADDED ? 2048 + 128 : 2048];
    __shared__ float2 ends[8];
    const int t = threadIdx.x, lane = t & 31, warp = t >> 5;
    const size_t own = (size_t)blockIdx.x * 2048;
    const auto at = [](int place) { return HOW == PADDED ? place + (place >> 4) : place; };
    const auto joined = [](float2 left, float2 right) { return make_float2(fmaxf(left.x, right.x), right.x > 0.0f ? right.y : left.y + right.y); };
    #pragma unroll
    for (int n = 0; n < 8; ++n) held[at(n * 256 + t)] = make_float2((heads[own + n * 256 + t] & 15u) == 0 ? 1.0f : 0.0f, values[own + n * 256 + t]);
    __syncthreads();
    float2 v[8];
    #pragma unroll
    for (int k = 0; k < 8; ++k) {
        v[k] = held[at(t * 8 + k)];
        if (k) v[k] = joined(v[k - 1], v[k]);
    }
    float2 run = v[7];
    #pragma unroll
    for (int offset = 1; offset < 32; offset <<= 1) {
        const float2 other = make_float2(__shfl_up_sync(ALL, run.x, offset), __shfl_up_sync(ALL, run.y, offset));
        if (lane >= offset) run = joined(other, run);
    }
    if (lane == 31) ends[warp] = run;
    float2 before = make_float2(__shfl_up_sync(ALL, run.x, 1), __shfl_up_sync(ALL, run.y, 1));
    if (lane == 0) before = make_float2(0.0f, 0.0f);
    __syncthreads();
    float2 sooner = make_float2(0.0f, 0.0f);
    for (int w = 0; w < warp; ++w) sooner = joined(sooner, ends[w]);
    before = joined(sooner, before);
    #pragma unroll
    for (int k = 0; k < 8; ++k) held[at(t * 8 + k)] = joined(before, v[k]);
    __syncthreads();
    #pragma unroll
    for (int n = 0; n < 8; ++n) out[own + n * 256 + t] = held[at(n * 256 + t)].y;
}
KERNEL(256) headed_sums_plain(const unsigned *heads, const float *values, float *out) { headed_sums<PLAIN>(heads, values, out); }
KERNEL(256) headed_sums_padded(const unsigned *heads, const float *values, float *out) { headed_sums<PADDED>(heads, values, out); }

// Histograms of 64 bins, a counter of a byte for each thread and bin: a thread's counters in a row, a bin's in a row, or a bin's with the threads of a word in different warps.
template <Layout HOW> __device__ __forceinline__ void byte_counters(const uint4 *in, unsigned *out, int each) {
    __shared__ __align__(16) unsigned char counts[64 * 128];
    const int t = threadIdx.x, place = HOW == OTHER ? (t & 31) << 2 | t >> 5 : t;
    const auto at = [&](unsigned bin) { return HOW == PLAIN ? t * 64 + bin : bin * 128 + place; };
    #pragma unroll
    for (int n = 0; n < 4; ++n) reinterpret_cast<uint4 *>(counts)[n * 128 + t] = make_uint4(0, 0, 0, 0);
    __syncthreads();
    #pragma unroll 1
    for (int n = 0; n < each; ++n) {
        const uint4 v = in[((size_t)blockIdx.x * each + n) * 128 + t];
        const unsigned words[4] = {v.x, v.y, v.z, v.w};
        #pragma unroll
        for (int w = 0; w < 4; ++w)
            #pragma unroll
            for (int b = 0; b < 4; ++b) ++counts[at(words[w] >> (b * 8 + 2) & 63u)];
    }
    __syncthreads();
    if (t >= 64) return;
    unsigned sum = 0;
    #pragma unroll 8
    for (int n = 0; n < 128; ++n) sum += counts[HOW == PLAIN ? n * 64 + t : t * 128 + (n + t * 4 & 127)];
    out[blockIdx.x * 64 + t] = sum;
}
KERNEL(128) byte_counters_rows(const uint4 *in, unsigned *out, int each) { byte_counters<PLAIN>(in, out, each); }
KERNEL(128) byte_counters_columns(const uint4 *in, unsigned *out, int each) { byte_counters<PADDED>(in, out, each); }
KERNEL(128) byte_counters_scattered(const uint4 *in, unsigned *out, int each) { byte_counters<OTHER>(in, out, each); }

// A step of k-means whose points have their clusters: 32 bytes a point, added to the sums of its cluster, one of 64, by atomics of shared memory.
template <int P> __device__ __forceinline__ void cluster_totals(const uint4 *points, const unsigned *labels, int *out, int each) {
    __shared__ int sums[64 * P];
    const int t = threadIdx.x;
    for (int p = t; p < 64 * P; p += 256) sums[p] = 0;
    __syncthreads();
    #pragma unroll 1
    for (int n = 0; n < each; ++n) {
        const size_t point = ((size_t)blockIdx.x * each + n) * 256 + t;
        int *own = sums + (labels[point] & 63u) * P;
        #pragma unroll
        for (int half = 0; half < 2; ++half) {
            const uint4 v = points[point * 2 + half];
            const unsigned words[4] = {v.x, v.y, v.z, v.w};
            #pragma unroll
            for (int w = 0; w < 4; ++w)
                #pragma unroll
                for (int b = 0; b < 4; ++b) atomicAdd(own + half * 16 + w * 4 + b, (int)(words[w] >> b * 8 & 255u) - 128);
        }
    }
    __syncthreads();
    for (int p = t; p < 2048; p += 256) out[(size_t)blockIdx.x * 2048 + p] = sums[(p >> 5) * P + (p & 31)];
}
KERNEL(256) cluster_totals_plain(const uint4 *points, const unsigned *labels, int *out, int each) { cluster_totals<32>(points, labels, out, each); }
KERNEL(256) cluster_totals_padded(const uint4 *points, const unsigned *labels, int *out, int each) { cluster_totals<33>(points, labels, out, each); }

// Fourier transforms of planes of 64 by 64 in shared memory: eight threads a line, twice by eight, first along rows, then along columns; a warp has 32 lines.
__device__ __forceinline__ float2 product(float2 a, float2 b) { return make_float2(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x); }
__device__ __forceinline__ void pairs_of(float2 &a, float2 &b) {
    const float2 sum = make_float2(a.x + b.x, a.y + b.y);
    b = make_float2(a.x - b.x, a.y - b.y), a = sum;
}
__device__ __forceinline__ void of_eight(float2 (&v)[8]) {
    constexpr float H = 0.70710678f;
    #pragma unroll
    for (int i = 0; i < 4; ++i) pairs_of(v[i], v[i + 4]);
    v[5] = make_float2((v[5].x + v[5].y) * H, (v[5].y - v[5].x) * H), v[6] = make_float2(v[6].y, -v[6].x), v[7] = make_float2((v[7].y - v[7].x) * H, -(v[7].x + v[7].y) * H);
    #pragma unroll
    for (int i = 0; i < 8; i += 4) {
        pairs_of(v[i], v[i + 2]), pairs_of(v[i + 1], v[i + 3]);
        v[i + 3] = make_float2(v[i + 3].y, -v[i + 3].x);
        pairs_of(v[i], v[i + 1]), pairs_of(v[i + 2], v[i + 3]);
    }
    // Result k is where its three bits, turned round, say.
    const float2 one = v[1], three = v[3];
    v[1] = v[4], v[4] = one, v[3] = v[6], v[6] = three;
}
template <int P> __device__ __forceinline__ void fourier_plane(const float2 *in, float2 *out) {
    __shared__ float2 held[64 * P];
    const int t = threadIdx.x, line = t & 63, j = t >> 6;
    const size_t own = (size_t)blockIdx.x * 4096;
    #pragma unroll
    for (int n = 0; n < 8; ++n) held[(n * 8 + j) * P + line] = in[own + n * 512 + t];
    #pragma unroll
    for (int way = 0; way < 2; ++way) {
        const auto at = [&](int place) { return way ? place * P + line : line * P + place; };
        float2 v[8];
        __syncthreads();
        #pragma unroll
        for (int i = 0; i < 8; ++i) v[i] = held[at(i * 8 + j)];
        of_eight(v);
        __syncthreads();
        #pragma unroll
        for (int i = 0; i < 8; ++i) {
            float2 turn;
            __sincosf(-0.09817477f * (float)(i * j), &turn.y, &turn.x);
            held[at(j * 8 + i)] = product(v[i], turn);
        }
        __syncthreads();
        #pragma unroll
        for (int i = 0; i < 8; ++i) v[i] = held[at(i * 8 + j)];
        of_eight(v);
        if (way) {
            #pragma unroll
            for (int i = 0; i < 8; ++i) out[own + (i * 8 + j) * 64 + line] = v[i];
        } else {
            __syncthreads();
            #pragma unroll
            for (int i = 0; i < 8; ++i) held[at(i * 8 + j)] = v[i];
        }
    }
}
KERNEL(512) fourier_plane_plain(const float2 *in, float2 *out) { fourier_plane<64>(in, out); }
KERNEL(512) fourier_plane_padded(const float2 *in, float2 *out) { fourier_plane<65>(in, out); }

// Heat along lines of 64 points, implicit, by Thomas's algorithm: a thread a line, its numbers in a row or in a column of shared memory.
template <Layout HOW> __device__ __forceinline__ void implicit_lines(const float *in, const float *rates, float *out, int steps) {
    constexpr int P = HOW == PADDED ? 65 : 64;
    __shared__ float heat[64 * P], above[64 * P];
    const int t = threadIdx.x;
    const size_t own = (size_t)blockIdx.x * 4096;
    const auto at = [](int line, int place) { return HOW == OTHER ? place * 64 + line : line * P + place; };
    #pragma unroll 8
    for (int n = 0; n < 64; ++n) heat[at(n, t)] = in[own + n * 64 + t];
    __syncthreads();
    const float rate = fabsf(rates[blockIdx.x * 64 + t]) + 0.1f;
    #pragma unroll 1
    for (int step = 0; step < steps; ++step) {
        float c = 0.0f, d = 0.0f;
        #pragma unroll 4
        for (int k = 0; k < 64; ++k) {
            const float scale = __fdividef(1.0f, 1.0f + rate * (2.0f + c));
            d = (heat[at(t, k)] + rate * d) * scale, c = -rate * scale;
            heat[at(t, k)] = d, above[at(t, k)] = c;
        }
        float x = 0.0f;
        #pragma unroll 4
        for (int k = 63; k >= 0; --k) {
            x = heat[at(t, k)] - above[at(t, k)] * x;
            heat[at(t, k)] = x;
        }
    }
    __syncthreads();
    #pragma unroll 8
    for (int n = 0; n < 64; ++n) out[own + n * 64 + t] = heat[at(n, t)];
}
KERNEL(64) implicit_lines_rows(const float *in, const float *rates, float *out, int steps) { implicit_lines<PLAIN>(in, rates, out, steps); }
KERNEL(64) implicit_lines_padded(const float *in, const float *rates, float *out, int steps) { implicit_lines<PADDED>(in, rates, out, steps); }
KERNEL(64) implicit_lines_columns(const float *in, const float *rates, float *out, int steps) { implicit_lines<OTHER>(in, rates, out, steps); }

// Forces between particles of a plane by lists of cells, four a cell: a thread a cell, its own and those of eight cells around it, wrapped; a cell's side by side or apart.
template <int CELL, int PARTICLE> __device__ __forceinline__ void listed_cells(const float2 *in, float2 *out, int width, int height) {
    __shared__ float2 held[180 * 4 + (CELL == 5 ? 180 : 0)];
    const int x = threadIdx.x, y = threadIdx.y, t = y * 16 + x;
    for (int p = t; p < 720; p += 128) {
        const int cell = p >> 2;
        int row = (int)blockIdx.y * 8 + cell / 18 - 1, column = (int)blockIdx.x * 16 + cell % 18 - 1;
        row += row < 0 ? height : row >= height ? -height : 0, column += column < 0 ? width : column >= width ? -width : 0;
        held[cell * CELL + (p & 3) * PARTICLE] = in[((size_t)row * width + column) * 4 + (p & 3)];
    }
    __syncthreads();
    float2 own[4], force[4] = {};
    #pragma unroll
    for (int k = 0; k < 4; ++k) own[k] = held[((y + 1) * 18 + x + 1) * CELL + k * PARTICLE];
    #pragma unroll 1
    for (int row = -1; row <= 1; ++row)
        #pragma unroll
        for (int column = -1; column <= 1; ++column)
            #pragma unroll
            for (int k = 0; k < 4; ++k) {
                const float2 other = held[((y + 1 + row) * 18 + x + 1 + column) * CELL + k * PARTICLE];
                const float right = other.x + 2.0f * (float)column, down = other.y + 2.0f * (float)row;
                #pragma unroll
                for (int i = 0; i < 4; ++i) {
                    const float dx = right - own[i].x, dy = down - own[i].y, near = fmaxf(1.0f - 0.25f * (dx * dx + dy * dy), 0.0f), scale = near * near;
                    force[i].x -= dx * scale, force[i].y -= dy * scale;
                }
            }
    float4 *to = reinterpret_cast<float4 *>(out + (((size_t)blockIdx.y * 8 + y) * width + blockIdx.x * 16 + x) * 4);
    to[0] = make_float4(force[0].x, force[0].y, force[1].x, force[1].y), to[1] = make_float4(force[2].x, force[2].y, force[3].x, force[3].y);
}
KERNEL(128) listed_cells_together(const float2 *in, float2 *out, int width, int height) { listed_cells<4, 1>(in, out, width, height); }
KERNEL(128) listed_cells_padded(const float2 *in, float2 *out, int width, int height) { listed_cells<5, 1>(in, out, width, height); }
KERNEL(128) listed_cells_apart(const float2 *in, float2 *out, int width, int height) { listed_cells<1, 180>(in, out, width, height); }

// A symmetric matrix by a vector, from its lower half alone: a tile of 64 by 64 a block, once along rows and once along columns; the parts are added elsewhere.
template <int P> __device__ __forceinline__ void half_stored(const float *a, const float *x, float *out, int size) {
    __shared__ float tile[64 * P], parts[2][256];
    const int t = threadIdx.x, own = t & 63, quarter = t >> 6;
    int down = (int)((sqrtf(8.0f * (float)blockIdx.x + 1.0f) - 1.0f) * 0.5f);
    while ((down + 1) * (down + 2) / 2 <= (int)blockIdx.x) ++down;
    while (down * (down + 1) / 2 > (int)blockIdx.x) --down;
    const int across = (int)blockIdx.x - down * (down + 1) / 2;
    #pragma unroll
    for (int n = 0; n < 16; ++n) tile[(n * 4 + quarter) * P + own] = a[((size_t)down * 64 + n * 4 + quarter) * size + across * 64 + own];
    __syncthreads();
    float sum = 0.0f, turned = 0.0f;
    #pragma unroll
    for (int n = 0; n < 16; ++n) {
        const int other = quarter * 16 + n;
        if (down != across || other <= own) sum += tile[own * P + other] * x[across * 64 + other];
        if (down != across || other > own) turned += tile[other * P + own] * x[down * 64 + other];
    }
    parts[0][t] = sum, parts[1][t] = turned;
    __syncthreads();
    if (t < 128) {
        const float *mine = parts[t >> 6] + (t & 63);
        out[(size_t)blockIdx.x * 128 + t] = (mine[0] + mine[64]) + (mine[128] + mine[192]);
    }
}
KERNEL(256) half_stored_plain(const float *a, const float *x, float *out, int size) { half_stored<64>(a, x, out, size); }
KERNEL(256) half_stored_padded(const float *a, const float *x, float *out, int size) { half_stored<65>(a, x, out, size); }

// One query's attention without tensor cores: a head of 64 halves a block, 64 keys a tile in shared memory, two threads a key for the scores, values straight from memory.
template <int P> __device__ __forceinline__ void one_query(const __half2 *q, const uint4 *k, const __half2 *v, __half2 *out, int length) {
    __shared__ unsigned keys[64 * P];
    __shared__ float scores[2][64], sums[2];
    __shared__ float2 asked[32], parts[4][32];
    const int t = threadIdx.x, lane = t & 31, warp = t >> 5, key = t & 63, side = t >> 6;
    const size_t head = (size_t)blockIdx.x * length;
    if (t < 32) asked[t] = __half22float2(q[blockIdx.x * 32 + t]);
    float2 o = make_float2(0.0f, 0.0f);
    float most = -1e30f, sum = 0.0f;
    #pragma unroll 1
    for (int tile = 0; tile < length; tile += 64) {
        #pragma unroll
        for (int n = 0; n < 4; ++n) {
            const int p = n * 128 + t;
            const uint4 four = k[(head + tile) * 8 + p];
            unsigned *to = keys + (p >> 3) * P + (p & 7) * 4;
            to[0] = four.x, to[1] = four.y, to[2] = four.z, to[3] = four.w;
        }
        __syncthreads();
        float dot = 0.0f;
        #pragma unroll
        for (int d = 0; d < 16; ++d) {
            const unsigned bits = keys[key * P + side * 16 + d];
            const float2 one = __half22float2(*reinterpret_cast<const __half2 *>(&bits)), by = asked[side * 16 + d];
            dot += one.x * by.x + one.y * by.y;
        }
        scores[side][key] = dot;
        __syncthreads();
        const float first = (scores[0][lane] + scores[1][lane]) * 0.125f, second = (scores[0][lane + 32] + scores[1][lane + 32]) * 0.125f;
        float now = fmaxf(first, second);
        #pragma unroll
        for (int offset = 16; offset; offset >>= 1) now = fmaxf(now, __shfl_xor_sync(ALL, now, offset));
        now = fmaxf(now, most);
        const float less = __expf(most - now), p = __expf(first - now), r = __expf(second - now), mine = warp & 2 ? r : p;
        most = now, sum = sum * less + p + r, o.x *= less, o.y *= less;
        #pragma unroll
        for (int n = 0; n < 16; ++n) {
            const float weight = __shfl_sync(ALL, mine, (warp & 1) * 16 + n);
            const float2 value = __half22float2(v[(head + tile + warp * 16 + n) * 32 + lane]);
            o.x += weight * value.x, o.y += weight * value.y;
        }
    }
    #pragma unroll
    for (int offset = 16; offset; offset >>= 1) sum += __shfl_xor_sync(ALL, sum, offset);
    parts[warp][lane] = o;
    if (t == 0) sums[0] = 1.0f / sum;
    __syncthreads();
    if (t < 32) out[blockIdx.x * 32 + t] = __floats2half2_rn((parts[0][t].x + parts[1][t].x + parts[2][t].x + parts[3][t].x) * sums[0], (parts[0][t].y + parts[1][t].y + parts[2][t].y + parts[3][t].y) * sums[0]);
}
KERNEL(128) one_query_rows(const __half2 *q, const uint4 *k, const __half2 *v, __half2 *out, int length) { one_query<32>(q, k, v, out, length); }
KERNEL(128) one_query_padded(const __half2 *q, const uint4 *k, const __half2 *v, __half2 *out, int length) { one_query<33>(q, k, v, out, length); }

// A matrix made bytes and turned: a scale for each column of each tile of 64 by 64, bytes put down column by column in shared memory, read back as words.
template <int P> __device__ __forceinline__ void bytes_turned(const float *in, unsigned *out, float *scales, int rows, int columns) {
    __shared__ __align__(4) signed char held[64 * P];
    __shared__ float tops[4][64];
    const int t = threadIdx.x, column = t & 63, part = t >> 6;
    const float *from = in + ((size_t)blockIdx.y * 64 + part * 16) * columns + blockIdx.x * 64 + column;
    float v[16], top = 1e-6f;
    #pragma unroll
    for (int n = 0; n < 16; ++n) v[n] = from[(size_t)n * columns], top = fmaxf(top, fabsf(v[n]));
    tops[part][column] = top;
    __syncthreads();
    top = fmaxf(fmaxf(tops[0][column], tops[1][column]), fmaxf(tops[2][column], tops[3][column]));
    if (part == 0) scales[(size_t)blockIdx.y * columns + blockIdx.x * 64 + column] = top * (1.0f / 127.0f);
    const float scale = __fdividef(127.0f, top);
    #pragma unroll
    for (int n = 0; n < 16; ++n) held[column * P + part * 16 + n] = (signed char)__float2int_rn(v[n] * scale);
    __syncthreads();
    #pragma unroll
    for (int n = 0; n < 4; ++n) {
        const int p = n * 256 + t;
        out[((size_t)blockIdx.x * 64 + (p >> 4)) * (rows / 4) + blockIdx.y * 16 + (p & 15)] = *reinterpret_cast<const unsigned *>(held + (p >> 4) * P + (p & 15) * 4);
    }
}
KERNEL(256) bytes_turned_plain(const float *in, unsigned *out, float *scales, int rows, int columns) { bytes_turned<64>(in, out, scales, rows, columns); }
KERNEL(256) bytes_turned_padded(const float *in, unsigned *out, float *scales, int rows, int columns) { bytes_turned<68>(in, out, scales, rows, columns); }

// Running sums of 1024 doubles a block by the tree of Brent and Kung, in place: up by doubling strides, down by halving ones.
template <Layout HOW> __device__ __forceinline__ void up_and_down(const double *in, double *out) {
    __shared__ double held[HOW == PADDED ? 1024 + 64 : 1024];
    const int t = threadIdx.x;
    const size_t own = (size_t)blockIdx.x * 1024;
    const auto at = [](int place) { return HOW == PADDED ? place + (place >> 4) : place; };
    held[at(t)] = in[own + t], held[at(t + 512)] = in[own + t + 512];
    #pragma unroll 1
    for (int stride = 1; stride < 1024; stride <<= 1) {
        __syncthreads();
        const int place = (t + 1) * stride * 2 - 1;
        if (place < 1024) held[at(place)] += held[at(place - stride)];
    }
    #pragma unroll 1
    for (int stride = 256; stride; stride >>= 1) {
        __syncthreads();
        const int place = (t + 1) * stride * 2 - 1;
        if (place + stride < 1024) held[at(place + stride)] += held[at(place)];
    }
    __syncthreads();
    out[own + t] = held[at(t)], out[own + t + 512] = held[at(t + 512)];
}
KERNEL(512) up_and_down_plain(const double *in, double *out) { up_and_down<PLAIN>(in, out); }
KERNEL(512) up_and_down_padded(const double *in, double *out) { up_and_down<PADDED>(in, out); }

// Poses of chains of joints: each thread multiplies its own chain of matrices of 4 by 4, which its warp brings side by side and hands over by shared memory.
template <Layout HOW> __device__ __forceinline__ void chained_poses(const float4 *in, float4 *out, int joints) {
    __shared__ float4 held[512];
    const int t = threadIdx.x, lane = t & 31;
    float4 *mine = held + (t & 96) * 4;
    const auto at = [](int matrix, int row) { return matrix * 4 + (HOW == OTHER ? row ^ (matrix >> 1 & 3) : row); };
    const size_t warps = (size_t)gridDim.x * 4, own = (size_t)blockIdx.x * 4 + (t >> 5);
    float4 pose[4] = {make_float4(1, 0, 0, 0), make_float4(0, 1, 0, 0), make_float4(0, 0, 1, 0), make_float4(0, 0, 0, 1)};
    #pragma unroll 1
    for (int joint = 0; joint < joints; ++joint) {
        #pragma unroll
        for (int n = 0; n < 4; ++n) {
            const int p = n * 32 + lane;
            mine[at(p >> 2, p & 3)] = in[(joint * warps + own) * 128 + p];
        }
        __syncwarp();
        float4 m[4];
        #pragma unroll
        for (int n = 0; n < 4; ++n) m[n] = mine[at(lane, n)];
        #pragma unroll
        for (int n = 0; n < 4; ++n) {
            const float4 p = pose[n];
            pose[n] = make_float4(p.x * m[0].x + p.y * m[1].x + p.z * m[2].x + p.w * m[3].x, p.x * m[0].y + p.y * m[1].y + p.z * m[2].y + p.w * m[3].y,
                                  p.x * m[0].z + p.y * m[1].z + p.z * m[2].z + p.w * m[3].z, p.x * m[0].w + p.y * m[1].w + p.z * m[2].w + p.w * m[3].w);
        }
        __syncwarp();
    }
    #pragma unroll
    for (int n = 0; n < 4; ++n) mine[at(lane, n)] = pose[n];
    __syncwarp();
    #pragma unroll
    for (int n = 0; n < 4; ++n) {
        const int p = n * 32 + lane;
        out[own * 128 + p] = mine[at(p >> 2, p & 3)];
    }
}
KERNEL(128) chained_poses_plain(const float4 *in, float4 *out, int joints) { chained_poses<PLAIN>(in, out, joints); }
KERNEL(128) chained_poses_swizzled(const float4 *in, float4 *out, int joints) { chained_poses<OTHER>(in, out, joints); }

// Sums of the vectors of eight words out of 128, all of whose vectors of 32 are in shared memory: a thread a bag, one number of the vectors after another.
template <int P> __device__ __forceinline__ void few_words(const float *table, const uint2 *bags, float *out, int count) {
    __shared__ float held[128 * P];
    const int t = threadIdx.x, bag = blockIdx.x * 256 + t;
    #pragma unroll
    for (int n = 0; n < 16; ++n) {
        const int p = n * 256 + t;
        held[(p >> 5) * P + (p & 31)] = table[p];
    }
    __syncthreads();
    const uint2 words = bags[bag];
    int from[8];
    #pragma unroll
    for (int n = 0; n < 8; ++n) from[n] = (int)((n < 4 ? words.x : words.y) >> (n & 3) * 8 & 127u) * P;
    #pragma unroll 4
    for (int d = 0; d < 32; ++d) {
        float sum = 0.0f;
        #pragma unroll
        for (int n = 0; n < 8; ++n) sum += held[from[n] + d];
        out[(size_t)d * count + bag] = sum;
    }
}
KERNEL(256) few_words_plain(const float *table, const uint2 *bags, float *out, int count) { few_words<32>(table, bags, out, count); }
KERNEL(256) few_words_padded(const float *table, const uint2 *bags, float *out, int count) { few_words<33>(table, bags, out, count); }
