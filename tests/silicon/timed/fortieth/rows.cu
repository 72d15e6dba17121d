// Scans, sorts, Fourier lines, small systems and records by blocks; sparse rows, potentials, digits and keys that no layout helps.
#include <cuda_runtime.h>
#include <stdint.h>

// ------------------------------------------------------------------------------------------------
// Brent and Kung's scan (Kirk and Hwu's book), 2048 elements a block of 1024.
#define SECTION 2048
#define PLACE(i) (PADDED ? (i) + (i) / 32 : (i))

template <bool PADDED>
__device__ void brent_kung(const float *X, float *Y) {
    __shared__ float XY[SECTION + (PADDED ? SECTION / 32 : 0)];
    unsigned int i = blockIdx.x * SECTION + threadIdx.x;
    XY[PLACE(threadIdx.x)] = X[i];
    XY[PLACE(threadIdx.x + blockDim.x)] = X[i + blockDim.x];
    for (unsigned int stride = 1; stride <= blockDim.x; stride *= 2) {
        __syncthreads();
        unsigned int index = (threadIdx.x + 1) * 2 * stride - 1;
        if (index < SECTION) XY[PLACE(index)] += XY[PLACE(index - stride)];
    }
    for (int stride = SECTION / 4; stride > 0; stride /= 2) {
        __syncthreads();
        unsigned int index = (threadIdx.x + 1) * stride * 2 - 1;
        if (index + stride < SECTION) XY[PLACE(index + stride)] += XY[PLACE(index)];
    }
    __syncthreads();
    Y[i] = XY[PLACE(threadIdx.x)];
    Y[i + blockDim.x] = XY[PLACE(threadIdx.x + blockDim.x)];
}
extern "C" __global__ void __launch_bounds__(1024) brent_kung_plain(const float *X, float *Y) { brent_kung<false>(X, Y); }
extern "C" __global__ void __launch_bounds__(1024) brent_kung_padded(const float *X, float *Y) { brent_kung<true>(X, Y); }

// ------------------------------------------------------------------------------------------------
// A block's radix sort, a bit at a time: 2048 keys, eight in a row for each of 256 threads, by their low bits.
template <bool PADDED>
__device__ void split_sort(const uint32_t *in, uint32_t *out, int bits) {
    __shared__ uint32_t keys[2048 + 64];
    __shared__ int warp_sums[8];
    auto at = [](int i) { return PADDED ? i + (i >> 5) : i; };
    const int tid = threadIdx.x, lane = tid & 31, warp = tid >> 5;
    const size_t base = (size_t)blockIdx.x * 2048;
    for (int i = tid; i < 2048; i += 256) keys[at(i)] = in[base + i];
    __syncthreads();
    for (int bit = 0; bit < bits; bit++) {
        uint32_t mine[8];
        int zeros = 0;
#pragma unroll
        for (int i = 0; i < 8; i++) {
            mine[i] = keys[at(tid * 8 + i)];
            zeros += ~mine[i] >> bit & 1;
        }
        int before = zeros;
#pragma unroll
        for (int d = 1; d < 32; d *= 2) {
            int other = __shfl_up_sync(~0u, before, d);
            if (lane >= d) before += other;
        }
        if (lane == 31) warp_sums[warp] = before;
        __syncthreads();
        int all = 0;
#pragma unroll
        for (int i = 0; i < 8; i++) {
            if (i == warp) before += all;
            all += warp_sums[i];
        }
        int zero = before - zeros, one = all + tid * 8 - zero;
#pragma unroll
        for (int i = 0; i < 8; i++) keys[at(mine[i] >> bit & 1 ? one++ : zero++)] = mine[i];
        __syncthreads();
    }
    for (int i = tid; i < 2048; i += 256) out[base + i] = keys[at(i)];
}
extern "C" __global__ void __launch_bounds__(256) split_sort_plain(const uint32_t *in, uint32_t *out, int bits) { split_sort<false>(in, out, bits); }
extern "C" __global__ void __launch_bounds__(256) split_sort_padded(const uint32_t *in, uint32_t *out, int bits) { split_sort<true>(in, out, bits); }

// ------------------------------------------------------------------------------------------------
// FFT of 2048 points by radices 8, 8, 8 and 4 (Stockham's, as Volkov writes it): eight points a thread, exchanged a part at a time.
struct cpx { float x, y; };
__device__ __forceinline__ cpx operator+(cpx a, cpx b) { return {a.x + b.x, a.y + b.y}; }
__device__ __forceinline__ cpx operator-(cpx a, cpx b) { return {a.x - b.x, a.y - b.y}; }
__device__ __forceinline__ cpx operator*(cpx a, cpx b) { return {a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x}; }
__device__ __forceinline__ cpx turned(cpx a) { return {a.y, -a.x}; }  // by -i
__device__ __forceinline__ void fft2(cpx &a, cpx &b) {
    cpx t = a;
    a = t + b;
    b = t - b;
}
__device__ __forceinline__ void fft4(cpx &a, cpx &b, cpx &c, cpx &d) {  // leaves 0, 2, 1, 3
    fft2(a, c);
    fft2(b, d);
    d = turned(d);
    fft2(a, b);
    fft2(c, d);
}
__device__ __forceinline__ void fft8(cpx *v) {  // leaves 0, 4, 2, 6, 1, 5, 3, 7
    for (int i = 0; i < 4; i++) fft2(v[i], v[i + 4]);
    const float h = 0.70710678f;
    v[5] = v[5] * cpx{h, -h};
    v[6] = turned(v[6]);
    v[7] = v[7] * cpx{-h, -h};
    fft4(v[0], v[1], v[2], v[3]);
    fft4(v[4], v[5], v[6], v[7]);
}

template <bool PADDED>
__device__ void fft2048(const float2 *in, float2 *out) {
    __shared__ float buffer[PADDED ? 2048 + 256 : 2048];
    constexpr int order[8] = {0, 4, 2, 6, 1, 5, 3, 7};
    auto at = [](int i) { return PADDED ? i + i / 8 : i; };
    const int t = threadIdx.x;
    const float2 *from = in + (size_t)blockIdx.x * 2048;
    cpx v[8];
#pragma unroll
    for (int r = 0; r < 8; r++) {
        const float2 f = from[t + r * 256];
        v[r] = {f.x, f.y};
    }
#pragma unroll
    for (int ns = 1; ns < 512; ns *= 8) {
        const float angle = -6.2831853f / (ns * 8) * (t % ns);
#pragma unroll
        for (int r = 1; r < 8; r++) {
            if (ns == 1) break;
            cpx w;
            __sincosf(angle * r, &w.y, &w.x);
            v[r] = v[r] * w;
        }
        fft8(v);
        const int first = t / ns * ns * 8 + t % ns;
#pragma unroll
        for (int part = 0; part < 2; part++) {
            __syncthreads();
#pragma unroll
            for (int r = 0; r < 8; r++) buffer[at(first + order[r] * ns)] = part ? v[r].y : v[r].x;
            __syncthreads();
            // The bit-reversed places of x are free once they are written; y still waits.
            float moved[8];
#pragma unroll
            for (int r = 0; r < 8; r++) moved[r] = buffer[at(t + r * 256)];
            if (part == 0) {
#pragma unroll
                for (int r = 0; r < 8; r++) v[r].x = moved[r];
            } else {
#pragma unroll
                for (int r = 0; r < 8; r++) v[r].y = moved[r];
            }
        }
    }
    float2 *to = out + (size_t)blockIdx.x * 2048;
#pragma unroll
    for (int half = 0; half < 2; half++) {  // points t + 256 half + 512 r are v[half + 2 r]
        const int j = t + half * 256;
        cpx p[4];
#pragma unroll
        for (int r = 0; r < 4; r++) {
            cpx w;
            __sincosf(-6.2831853f / 2048 * j * r, &w.y, &w.x);
            p[r] = v[half + 2 * r] * w;
        }
        fft4(p[0], p[1], p[2], p[3]);
        to[j] = {p[0].x, p[0].y};
        to[j + 1024] = {p[1].x, p[1].y};
        to[j + 512] = {p[2].x, p[2].y};
        to[j + 1536] = {p[3].x, p[3].y};
    }
}
extern "C" __global__ void __launch_bounds__(256) fft2048_plain(const float2 *in, float2 *out) { fft2048<false>(in, out); }
extern "C" __global__ void __launch_bounds__(256) fft2048_padded(const float2 *in, float2 *out) { fft2048<true>(in, out); }

// ------------------------------------------------------------------------------------------------
// Viterbi's best paths through 64 states, two sequences a block of 128; scores of steps into a state lie in its row.
template <int PITCH>
__device__ void viterbi(const float *steps, const float *emitted, uint8_t *back, float *best, int times) {
    constexpr int S = 64;
    __shared__ float trans[S][PITCH], delta[2][2][S];
    const int state = threadIdx.x % S, half = threadIdx.x / S, sequence = blockIdx.x * 2 + half;
    for (int i = threadIdx.x; i < S * S; i += 128) trans[i / S][i % S] = steps[i];
    const float *e = emitted + (size_t)sequence * times * S;
    uint8_t *b = back + (size_t)sequence * times * S;
    delta[0][half][state] = e[state];
    __syncthreads();
    for (int t = 1; t < times; t++) {
        const float *old = delta[(t - 1) & 1][half];
        float most = -INFINITY;
        int from = 0;
#pragma unroll 8
        for (int p = 0; p < S; p++) {
            const float score = old[p] + trans[state][p];
            if (score > most) most = score, from = p;
        }
        delta[t & 1][half][state] = most + e[t * S + state];
        b[t * S + state] = from;
        __syncthreads();
    }
    best[sequence * S + state] = delta[(times - 1) & 1][half][state];
}
extern "C" __global__ void __launch_bounds__(128) viterbi_plain(const float *s, const float *e, uint8_t *b, float *best, int times) { viterbi<64>(s, e, b, best, times); }
extern "C" __global__ void __launch_bounds__(128) viterbi_padded(const float *s, const float *e, uint8_t *b, float *best, int times) { viterbi<65>(s, e, b, best, times); }

// ------------------------------------------------------------------------------------------------
// Power iteration on matrices of 64 x 64, one a block of 64 threads: a thread has a row, which it reads by fours.
template <int LD>
__device__ void power_iteration(const float *A, float *value, int iterations) {
    __shared__ float4 a[64 * LD / 4], x[16];
    __shared__ float part[2];
    const int row = threadIdx.x;
    const float4 *from = (const float4 *)A + (size_t)blockIdx.x * 1024;
    for (int i = row; i < 1024; i += 64) a[i / 16 * (LD / 4) + i % 16] = from[i];
    if (row < 16) x[row] = make_float4(1.f, 1.f, 1.f, 1.f);
    __syncthreads();
    float norm = 1.f;
    for (int it = 0; it < iterations; it++) {
        float y = 0.f;
#pragma unroll
        for (int k = 0; k < 16; k++) {
            const float4 m = a[row * (LD / 4) + k], v = x[k];
            y += m.x * v.x + m.y * v.y + m.z * v.z + m.w * v.w;
        }
        float square = y * y;
        for (int d = 16; d > 0; d /= 2) square += __shfl_xor_sync(~0u, square, d);
        if (row % 32 == 0) part[row / 32] = square;
        __syncthreads();
        norm = sqrtf(part[0] + part[1]);
        ((float *)x)[row] = y / norm;
        __syncthreads();
    }
    if (row == 0) value[blockIdx.x] = norm;
}
extern "C" __global__ void __launch_bounds__(64) power_iteration_plain(const float *A, float *value, int n) { power_iteration<64>(A, value, n); }
extern "C" __global__ void __launch_bounds__(64) power_iteration_padded(const float *A, float *value, int n) { power_iteration<68>(A, value, n); }

// ------------------------------------------------------------------------------------------------
// A batch of 16 x 16: G = A A^T. Half a warp has a matrix, a lane a column of G.
template <int LD>
__device__ void gram16(const float *A, float *G) {
    __shared__ float s[8][16 * LD];
    const int tid = threadIdx.x, which = tid / 16, j = tid % 16;
    const size_t base = (size_t)blockIdx.x * 8 * 256;
    for (int i = tid; i < 8 * 256; i += 128) s[i / 256][i % 256 / 16 * LD + i % 16] = A[base + i];
    __syncthreads();
    float g[16] = {};
    for (int k = 0; k < 16; k++) {
        const float mine = s[which][j * LD + k];
#pragma unroll
        for (int i = 0; i < 16; i++) g[i] += s[which][i * LD + k] * mine;
    }
    for (int i = 0; i < 16; i++) G[base + which * 256 + i * 16 + j] = g[i];
}
extern "C" __global__ void __launch_bounds__(128) gram16_plain(const float *A, float *G) { gram16<16>(A, G); }
extern "C" __global__ void __launch_bounds__(128) gram16_padded(const float *A, float *G) { gram16<17>(A, G); }

// ------------------------------------------------------------------------------------------------
// Triangles as an STL file has them, twelve floats each: areas and signed volumes, by way of shared memory.
template <int STRIDE>
__device__ void mesh_measures(const float *mesh, float2 *out) {
    __shared__ float s[256 * STRIDE];
    const size_t base = (size_t)blockIdx.x * 256;
    for (int i = threadIdx.x; i < 256 * 12; i += 256) s[i / 12 * STRIDE + i % 12] = mesh[base * 12 + i];
    __syncthreads();
    const float *f = s + threadIdx.x * STRIDE;
    const float3 n = {f[0], f[1], f[2]}, a = {f[3], f[4], f[5]}, b = {f[6], f[7], f[8]}, c = {f[9], f[10], f[11]};
    const float3 u = {b.x - a.x, b.y - a.y, b.z - a.z}, v = {c.x - a.x, c.y - a.y, c.z - a.z};
    const float3 w = {u.y * v.z - u.z * v.y, u.z * v.x - u.x * v.z, u.x * v.y - u.y * v.x};
    const float area = 0.5f * sqrtf(w.x * w.x + w.y * w.y + w.z * w.z);
    const float volume = (a.x * (b.y * c.z - b.z * c.y) + a.y * (b.z * c.x - b.x * c.z) + a.z * (b.x * c.y - b.y * c.x)) / 6.f;
    out[base + threadIdx.x] = make_float2(area, copysignf(volume, w.x * n.x + w.y * n.y + w.z * n.z));
}
extern "C" __global__ void __launch_bounds__(256) mesh_measures_plain(const float *mesh, float2 *out) { mesh_measures<12>(mesh, out); }
extern "C" __global__ void __launch_bounds__(256) mesh_measures_padded(const float *mesh, float2 *out) { mesh_measures<13>(mesh, out); }

// ------------------------------------------------------------------------------------------------
// y = A x, sliced ELLPACK: slices of 32 rows by columns, each as wide as its widest row (8 to 47 here).
extern "C" __global__ void __launch_bounds__(256)
    sell_spmv(const float *values, const uint32_t *columns, const int *widths, const float *x, float *y, uint32_t n) {
    const int row = blockIdx.x * 256 + threadIdx.x, slice = row / 32, lane = row % 32;
    const int width = widths[slice] % 40 + 8;
    const size_t base = (size_t)slice * 32 * 48 + lane;
    float sum = 0.f;
    for (int i = 0; i < width; i++) sum += values[base + i * 32] * __ldg(&x[columns[base + i * 32] % n]);
    y[row] = sum;
}

// ------------------------------------------------------------------------------------------------
// Direct Coulomb summation (VMD's ion placement): potentials of a plane, four points a thread, atoms by way of shared memory.
extern "C" __global__ void __launch_bounds__(128)
    coulomb_plane(const float4 *atoms, float *energy, int count, int width, float spacing, float z) {
    __shared__ float4 s[128];
    const int x0 = (blockIdx.x * 32 + threadIdx.x) * 4, y0 = blockIdx.y * 4 + threadIdx.y, tid = threadIdx.y * 32 + threadIdx.x;
    const float x = x0 * spacing, y = y0 * spacing;
    float e[4] = {0.f, 0.f, 0.f, 0.f};
    for (int first = 0; first < count; first += 128) {
        __syncthreads();
        const float4 atom = atoms[first + tid];
        s[tid] = make_float4(atom.x, atom.y, (z - atom.z) * (z - atom.z), atom.w);
        __syncthreads();
#pragma unroll 4
        for (int i = 0; i < 128; i++) {
            const float dy = y - s[i].y, rest = dy * dy + s[i].z + 1e-4f, dx = x - s[i].x;
#pragma unroll
            for (int p = 0; p < 4; p++) e[p] += s[i].w * rsqrtf((dx + p * spacing) * (dx + p * spacing) + rest);
        }
    }
    float4 *out = (float4 *)&energy[(size_t)y0 * width + x0];
    float4 old = *out;
    *out = make_float4(old.x + e[0], old.y + e[1], old.z + e[2], old.w + e[3]);
}

// ------------------------------------------------------------------------------------------------
// Onesweep's first kernel: histograms of all four digits of the keys at once.
extern "C" __global__ void __launch_bounds__(256) digit_histograms(const uint4 *keys, uint32_t *counts, int quads) {
    __shared__ uint32_t bins[4][256];
    for (int i = threadIdx.x; i < 1024; i += 256) bins[0][i] = 0;
    __syncthreads();
    for (int i = blockIdx.x * 256 + threadIdx.x; i < quads; i += gridDim.x * 256) {
        const uint4 four = keys[i];
        const uint32_t each[4] = {four.x, four.y, four.z, four.w};
#pragma unroll
        for (int k = 0; k < 4; k++)
#pragma unroll
            for (int digit = 0; digit < 4; digit++) atomicAdd(&bins[digit][each[k] >> (8 * digit) & 255], 1);
    }
    __syncthreads();
    for (int i = threadIdx.x; i < 1024; i += 256) atomicAdd(&counts[i], bins[0][i]);
}

// ------------------------------------------------------------------------------------------------
// Bitonic sort of keys with values in shared memory (CUDA's sample): 2048 pairs a block of 1024.
extern "C" __global__ void __launch_bounds__(1024) bitonic_pairs(const float *keys_in, const int *values_in, float *keys_out, int *values_out) {
    __shared__ float k[2048];
    __shared__ int v[2048];
    const size_t base = (size_t)blockIdx.x * 2048 + threadIdx.x;
    k[threadIdx.x] = keys_in[base], v[threadIdx.x] = values_in[base];
    k[threadIdx.x + 1024] = keys_in[base + 1024], v[threadIdx.x + 1024] = values_in[base + 1024];
    for (unsigned size = 2; size <= 2048; size <<= 1)
        for (unsigned stride = size / 2; stride > 0; stride >>= 1) {
            __syncthreads();
            const bool up = size == 2048 || (threadIdx.x & (size / 2)) == 0;
            const unsigned i = 2 * threadIdx.x - (threadIdx.x & (stride - 1)), j = i + stride;
            const float a = k[i], b = k[j];
            if ((a > b) == up) {
                k[i] = b, k[j] = a;
                const int t = v[i];
                v[i] = v[j], v[j] = t;
            }
        }
    __syncthreads();
    keys_out[base] = k[threadIdx.x], values_out[base] = v[threadIdx.x];
    keys_out[base + 1024] = k[threadIdx.x + 1024], values_out[base + 1024] = v[threadIdx.x + 1024];
}
