// Kernels of the twenty-second set in groups that differ in the layout of shared memory alone: updates, transposes, transforms, alignments.
#include <cuda_runtime.h>

#define KERNEL(THREADS) extern "C" __global__ void __launch_bounds__(THREADS)
#define ALL 0xffffffffu

// The lower half of C = A B' + B A' + C / 2 (syr2k): 64 by 64 a block, four by four a thread, 16 deep; each tile lies turned, in rows of 64
// words or of 68.
template <int PITCH> __device__ __forceinline__ void syr2k(const float *__restrict__ a, const float *__restrict__ b, float *c, int n, int depth) {
    __shared__ __align__(16) float held[4][16 * PITCH];
    const int t = threadIdx.x, tx = t % 16, ty = t / 16, which = blockIdx.x;
    int high = (int)((sqrtf(8.0f * (float)which + 1.0f) - 1.0f) * 0.5f);
    while ((high + 1) * (high + 2) / 2 <= which) ++high;
    while (high * (high + 1) / 2 > which) --high;
    const int low = which - high * (high + 1) / 2;
    const size_t rows[2] = {(size_t)(high * 64 + t / 4) * depth + t % 4 * 4, (size_t)(low * 64 + t / 4) * depth + t % 4 * 4};
    float sum[4][4] = {};
    for (int k = 0; k < depth; k += 16) {
        #pragma unroll
        for (int tile = 0; tile < 4; ++tile) {
            const float4 v = *reinterpret_cast<const float4 *>((tile / 2 ? b : a) + rows[tile % 2] + k);
            float *to = held[tile] + t % 4 * 4 * PITCH + t / 4;
            to[0] = v.x, to[PITCH] = v.y, to[2 * PITCH] = v.z, to[3 * PITCH] = v.w;
        }
        __syncthreads();
        #pragma unroll
        for (int i = 0; i < 16; ++i) {
            #pragma unroll
            for (int turn = 0; turn < 2; ++turn) {
                const float4 x = *reinterpret_cast<const float4 *>(held[turn * 2] + i * PITCH + ty * 4);
                const float4 y = *reinterpret_cast<const float4 *>(held[3 - turn * 2] + i * PITCH + tx * 4);
                const float xs[4] = {x.x, x.y, x.z, x.w}, ys[4] = {y.x, y.y, y.z, y.w};
                #pragma unroll
                for (int p = 0; p < 4; ++p)
                    #pragma unroll
                    for (int q = 0; q < 4; ++q) sum[p][q] += xs[p] * ys[q];
            }
        }
        __syncthreads();
    }
    #pragma unroll
    for (int p = 0; p < 4; ++p) {
        float4 *at = reinterpret_cast<float4 *>(c + (size_t)(high * 64 + ty * 4 + p) * n + low * 64 + tx * 4);
        const float4 v = *at;
        *at = make_float4(v.x * 0.5f + sum[p][0], v.y * 0.5f + sum[p][1], v.z * 0.5f + sum[p][2], v.w * 0.5f + sum[p][3]);
    }
}
KERNEL(256) syr2k_plain(const float *a, const float *b, float *c, int n, int depth) { syr2k<64>(a, b, c, n, depth); }
KERNEL(256) syr2k_padded(const float *a, const float *b, float *c, int n, int depth) { syr2k<68>(a, b, c, n, depth); }

// The adjoint of a matrix of complex doubles by tiles of 32 by 32, sixteen bytes an element: rows of 32, of 33, or exchanged by the row.
template <int PITCH, bool SWIZZLED> __device__ __forceinline__ void adjoint(const double2 *from, double2 *to, int rows, int columns) {
    __shared__ double2 tile[32 * PITCH];
    const int tx = threadIdx.x, ty = threadIdx.y;
    const auto at = [](int y, int x) { return y * PITCH + (SWIZZLED ? x ^ (y & 7) : x); };
    #pragma unroll
    for (int r = 0; r < 32; r += 8) tile[at(ty + r, tx)] = from[(size_t)(blockIdx.y * 32 + ty + r) * columns + blockIdx.x * 32 + tx];
    __syncthreads();
    #pragma unroll
    for (int r = 0; r < 32; r += 8) {
        const double2 v = tile[at(tx, ty + r)];
        to[(size_t)(blockIdx.x * 32 + ty + r) * rows + blockIdx.y * 32 + tx] = make_double2(v.x, -v.y);
    }
}
KERNEL(256) adjoint_plain(const double2 *from, double2 *to, int rows, int columns) { adjoint<32, false>(from, to, rows, columns); }
KERNEL(256) adjoint_padded(const double2 *from, double2 *to, int rows, int columns) { adjoint<33, false>(from, to, rows, columns); }
KERNEL(256) adjoint_swizzled(const double2 *from, double2 *to, int rows, int columns) { adjoint<32, true>(from, to, rows, columns); }

// Spectra of 1024 complex samples in steps of radix two, in place: samples come in reversed order of bits, 256 threads a signal. Samples as
// they are, or one is left out after sixteen.
template <bool PADDED> __device__ __forceinline__ void butterflies(const float2 *from, const float2 *turns, float2 *to) {
    __shared__ float2 held[PADDED ? 1088 : 1024];
    const int t = threadIdx.x;
    const size_t base = (size_t)blockIdx.x * 1024;
    const auto place = [](int i) { return PADDED ? i + i / 16 : i; };
    #pragma unroll
    for (int i = t; i < 1024; i += 256) held[place((int)(__brev((unsigned)i) >> 22))] = from[base + i];
    #pragma unroll
    for (int step = 0; step < 10; ++step) {
        const int half = 1 << step;
        __syncthreads();
        #pragma unroll
        for (int j = t; j < 512; j += 256) {
            const int within = j & (half - 1), low = place((j >> step << (step + 1)) + within), high = place((j >> step << (step + 1)) + within + half);
            const float2 w = __ldg(turns + (within << (9 - step))), x = held[low], y = held[high];
            const float2 z = make_float2(y.x * w.x - y.y * w.y, y.x * w.y + y.y * w.x);
            held[low] = make_float2(x.x + z.x, x.y + z.y), held[high] = make_float2(x.x - z.x, x.y - z.y);
        }
    }
    __syncthreads();
    #pragma unroll
    for (int i = t; i < 1024; i += 256) to[base + i] = held[place(i)];
}
KERNEL(256) butterflies_plain(const float2 *from, const float2 *turns, float2 *to) { butterflies<false>(from, turns, to); }
KERNEL(256) butterflies_padded(const float2 *from, const float2 *turns, float2 *to) { butterflies<true>(from, turns, to); }

// Two series of 64 are warped onto each other (dynamic time warping), by diagonals, and the way back is walked by one thread: with rows of 64
// a diagonal lies in all banks, with rows of 65 in one.
template <int PITCH> __device__ __forceinline__ void warping(const float *first, const float *second, float *costs, int *lengths) {
    __shared__ float cost[64 * PITCH], other[64];
    const int t = threadIdx.x;
    const float own = first[blockIdx.x * 64 + t];
    other[t] = second[blockIdx.x * 64 + t];
    __syncthreads();
    for (int diagonal = 0; diagonal < 127; ++diagonal) {
        const int x = diagonal - t;
        if (x >= 0 && x < 64) {
            float least = 1e30f;
            if (x > 0) least = cost[t * PITCH + x - 1];
            if (t > 0) least = fminf(least, cost[(t - 1) * PITCH + x]);
            if (x > 0 && t > 0) least = fminf(least, cost[(t - 1) * PITCH + x - 1]);
            if (diagonal == 0) least = 0.0f;
            cost[t * PITCH + x] = fabsf(own - other[x]) + least;
        }
        __syncthreads();
    }
    for (int y = 0; y < 64; ++y) costs[((size_t)blockIdx.x * 64 + y) * 64 + t] = cost[y * PITCH + t];
    if (t == 0) {
        int y = 63, x = 63, length = 1;
        while (y > 0 && x > 0) {
            const float up = cost[(y - 1) * PITCH + x], left = cost[y * PITCH + x - 1], both = cost[(y - 1) * PITCH + x - 1];
            const float least = fminf(both, fminf(up, left));
            if (both == least) --y, --x;
            else if (up == least) --y;
            else --x;
            ++length;
        }
        lengths[blockIdx.x] = length + y + x;
    }
}
KERNEL(64) warping_plain(const float *first, const float *second, float *costs, int *lengths) { warping<64>(first, second, costs, lengths); }
KERNEL(64) warping_padded(const float *first, const float *second, float *costs, int *lengths) { warping<65>(first, second, costs, lengths); }
