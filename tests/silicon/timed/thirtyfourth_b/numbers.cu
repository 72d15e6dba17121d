// Numbers in shared memory: Fourier transforms of 4096, of a field too; small systems with pivots; pairs of clusters of atoms; a hash of field elements.
#include "common.cuh"
#include <cuda_runtime.h>

#define KERNEL(THREADS, BLOCKS) extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS)

// ---- Fourier transforms of 4096, sixteen in each thread's registers; real parts go through shared memory, then imaginary ones. -------------
__device__ __forceinline__ float2 times(float2 a, float2 b) { return make_float2(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x); }
__device__ __forceinline__ void four(float2 &a, float2 &b, float2 &c, float2 &d) {
    const float2 p = make_float2(a.x + c.x, a.y + c.y), q = make_float2(a.x - c.x, a.y - c.y), r = make_float2(b.x + d.x, b.y + d.y), s = make_float2(b.y - d.y, d.x - b.x);
    a = make_float2(p.x + r.x, p.y + r.y), b = make_float2(q.x + s.x, q.y + s.y), c = make_float2(p.x - r.x, p.y - r.y), d = make_float2(q.x - s.x, q.y - s.y);
}
__device__ __forceinline__ float2 root(int k, int n) {
    float2 w;
    __sincosf(-6.28318531f * (float)k / (float)n, &w.y, &w.x);
    return w;
}
// v[4 * k % 16 + k / 4] is the result k: they leave turned, and are stored so.
__device__ __forceinline__ void sixteen(float2 (&v)[16]) {
    #pragma unroll
    for (int i = 0; i < 4; ++i) four(v[i], v[i + 4], v[i + 8], v[i + 12]);
    constexpr float X[10] = {1.0f, 0.92387953f, 0.70710678f, 0.38268343f, 0.0f, 0, -0.70710678f, 0, 0, -0.92387953f};
    constexpr float Y[10] = {0.0f, -0.38268343f, -0.70710678f, -0.92387953f, -1.0f, 0, -0.70710678f, 0, 0, 0.38268343f};
    #pragma unroll
    for (int k = 1; k < 4; ++k)
        #pragma unroll
        for (int i = 1; i < 4; ++i) v[4 * k + i] = times(v[4 * k + i], make_float2(X[i * k], Y[i * k]));
    #pragma unroll
    for (int k = 0; k < 4; ++k) four(v[4 * k], v[4 * k + 1], v[4 * k + 2], v[4 * k + 3]);
}
// Every sixteen words may have one more: what lies STEP after a place lies as far after it as its first word.
template <int HOW> __device__ __forceinline__ int spot(int i) { return HOW == PADDED ? i + i / 16 : i; }
template <int HOW, int TO, int FROM> __device__ __forceinline__ void exchanged(float2 (&v)[16], float *room, int to, int from) {
    constexpr int OUT = HOW == PADDED ? TO + TO / 16 : TO, IN = HOW == PADDED ? FROM + FROM / 16 : FROM;
    float *put = room + spot<HOW>(to);
    const float *get = room + spot<HOW>(from);
    float real[16];
    #pragma unroll
    for (int k = 0; k < 16; ++k) put[k * OUT] = v[k % 4 * 4 + k / 4].x;
    __syncthreads();
    #pragma unroll
    for (int j = 0; j < 16; ++j) real[j] = get[j * IN];
    __syncthreads();
    #pragma unroll
    for (int k = 0; k < 16; ++k) put[k * OUT] = v[k % 4 * 4 + k / 4].y;
    __syncthreads();
    #pragma unroll
    for (int j = 0; j < 16; ++j) v[j] = make_float2(real[j], get[j * IN]);
    __syncthreads();
}
template <int HOW> __device__ __forceinline__ void fourier(const float2 *in, float2 *out, int batch) {
    __shared__ float room[HOW == PADDED ? 4096 + 256 : 4096];
    const int t = threadIdx.x;
    for (int line = blockIdx.x; line < batch; line += gridDim.x) {
        float2 v[16];
        #pragma unroll
        for (int j = 0; j < 16; ++j) v[j] = in[(size_t)line * 4096 + t + 256 * j];
        sixteen(v);
        #pragma unroll
        for (int k = 1; k < 16; ++k) v[k % 4 * 4 + k / 4] = times(v[k % 4 * 4 + k / 4], root(t * k, 4096));
        const int high = t / 16, low = t % 16;
        exchanged<HOW, 256, 16>(v, room, t, high * 256 + low);
        sixteen(v);
        #pragma unroll
        for (int k = 1; k < 16; ++k) v[k % 4 * 4 + k / 4] = times(v[k % 4 * 4 + k / 4], root(low * k, 256));
        exchanged<HOW, 16, 1>(v, room, high * 256 + low, t * 16);
        sixteen(v);
        // Results are high + 16 low + 256 k: once more through shared memory, to be stored side by side.
        exchanged<HOW, 256, 256>(v, room, high + 16 * low, t);
        #pragma unroll
        for (int j = 0; j < 16; ++j) out[(size_t)line * 4096 + t + 256 * j] = v[j];
    }
}
KERNEL(256, 2) fourier_in_sixteens_plain(const float2 *in, float2 *out, int batch) { fourier<PLAIN>(in, out, batch); }
KERNEL(256, 2) fourier_in_sixteens_padded(const float2 *in, float2 *out, int batch) { fourier<PADDED>(in, out, batch); }

// ---- The field of 15 * 2^27 + 1, in Montgomery's form. ------------------------------------------------------------------------------------
constexpr u32 PRIME = 2013265921u, INVERSE = 2013265919u;  // -1 / PRIME modulo 2^32
__device__ __forceinline__ u32 product(u32 a, u32 b) {
    const u64 all = (u64)a * b;
    const u64 sum = all + (u64)((u32)all * INVERSE) * PRIME;
    const u32 high = (u32)(sum >> 32);
    return high >= PRIME ? high - PRIME : high;
}
__device__ __forceinline__ u32 sum_of(u32 a, u32 b) { return min(a + b, a + b - PRIME); }
__device__ __forceinline__ u32 difference(u32 a, u32 b) { return min(a - b, a - b + PRIME); }

// 4096 elements a block, two of the twelve stages at a time: four elements in registers; powers of the root come from a table.
template <int HOW> __device__ __forceinline__ void field_transform(const u32 *in, const u32 *powers, u32 *out, u32 imaginary) {
    __shared__ u32 room[HOW == PADDED ? 4096 + 128 : 4096];
    const int t = threadIdx.x;
    const auto spot = [](int i) { return HOW == PADDED ? i + i / 32 : i; };
    for (int i = t; i < 4096; i += 256) room[spot(i)] = in[(size_t)blockIdx.x * 4096 + i] % PRIME;
    __syncthreads();
    #pragma unroll 1
    for (int half = 1024; half; half /= 4) {
        #pragma unroll
        for (int b = t; b < 1024; b += 256) {
            const int j = b % half, at = b / half * 4 * half + j, step = 1024 / half * j;
            const u32 w = room[spot(at)], x = room[spot(at + half)], y = room[spot(at + 2 * half)], z = room[spot(at + 3 * half)];
            const u32 p = sum_of(w, y), q = difference(w, y), r = sum_of(x, z), s = product(difference(x, z), imaginary);
            room[spot(at)] = sum_of(p, r);
            room[spot(at + half)] = product(difference(p, r), __ldg(powers + 2 * step) & 0x3fffffff);
            room[spot(at + 2 * half)] = product(sum_of(q, s), __ldg(powers + step) & 0x3fffffff);
            room[spot(at + 3 * half)] = product(difference(q, s), __ldg(powers + 3 * step) & 0x3fffffff);
        }
        __syncthreads();
    }
    for (int i = t; i < 4096; i += 256) {
        const int from = (int)(__brev(i) >> 20);
        out[(size_t)blockIdx.x * 4096 + i] = room[spot(from)];
    }
}
KERNEL(256, 6) field_transforms_plain(const u32 *in, const u32 *powers, u32 *out, u32 imaginary) { field_transform<PLAIN>(in, powers, out, imaginary); }
KERNEL(256, 6) field_transforms_padded(const u32 *in, const u32 *powers, u32 *out, u32 imaginary) { field_transform<PADDED>(in, powers, out, imaginary); }

// A permutation of sixteen elements of the field: powers of seven, whole rounds around partial ones; a thread absorbs rows of eight.
__device__ __forceinline__ u32 seventh(u32 x) {
    const u32 two = product(x, x), four = product(two, two);
    return product(product(four, two), x);
}
__device__ __forceinline__ void mixed(u32 (&s)[16]) {
    #pragma unroll
    for (int i = 0; i < 16; i += 4) {
        const u32 a = sum_of(s[i], s[i + 1]), b = sum_of(s[i + 2], s[i + 3]), all = sum_of(a, b), p = sum_of(all, s[i + 1]), q = sum_of(all, s[i + 3]);
        s[i + 3] = sum_of(q, sum_of(s[i], s[i])), s[i + 1] = sum_of(p, sum_of(s[i + 2], s[i + 2])), s[i] = sum_of(p, a), s[i + 2] = sum_of(q, b);
    }
    #pragma unroll
    for (int i = 0; i < 4; ++i) {
        const u32 all = sum_of(sum_of(s[i], s[i + 4]), sum_of(s[i + 8], s[i + 12]));
        #pragma unroll
        for (int j = i; j < 16; j += 4) s[j] = sum_of(s[j], all);
    }
}
KERNEL(128, 6) rows_absorbed(const u32 *in, const u32 *constants, u32 *out, int rows, int count) {
    __shared__ u32 rounds[8 * 16 + 13];
    for (int i = threadIdx.x; i < 8 * 16 + 13; i += 128) rounds[i] = constants[i] % PRIME;
    __syncthreads();
    const int row = blockIdx.x * 128 + threadIdx.x;
    if (row >= rows) return;
    u32 s[16] = {};
    #pragma unroll 1
    for (int part = 0; part < count; ++part) {
        #pragma unroll
        for (int j = 0; j < 8; ++j) s[j] = sum_of(s[j], in[((size_t)part * 8 + j) * rows + row] & 0x3fffffff);
        mixed(s);
        #pragma unroll 1
        for (int round = 0; round < 8; ++round) {
            if (round == 4)
                #pragma unroll 1
                for (int partial = 0; partial < 13; ++partial) {
                    s[0] = seventh(sum_of(s[0], rounds[128 + partial]));
                    u32 all = s[0];
                    #pragma unroll
                    for (int j = 1; j < 16; ++j) all = sum_of(all, s[j]);
                    #pragma unroll
                    for (int j = 0; j < 16; ++j) s[j] = sum_of(all, product(s[j], 268435454u + 77777u * j));
                }
            #pragma unroll
            for (int j = 0; j < 16; ++j) s[j] = seventh(sum_of(s[j], rounds[round * 16 + j]));
            mixed(s);
        }
    }
    #pragma unroll
    for (int j = 0; j < 8; ++j) out[(size_t)j * rows + row] = s[j];
}

// ---- Systems of up to 64 equations, one to a block: factors with pivots in their column, in place, columns of P floats. --------------------
template <int P> __device__ __forceinline__ void with_pivots(const float *in, float *out, int *orders, int n) {
    __shared__ float a[64 * P];
    __shared__ int chosen;
    const int t = threadIdx.x;
    in += (size_t)blockIdx.x * n * n, out += (size_t)blockIdx.x * n * n;
    for (int i = t; i < n * n; i += 128) a[i / n * P + i % n] = in[i];
    __syncthreads();
    for (int k = 0; k < n; ++k) {
        if (t < 32) {
            float most = -1.0f;
            int at = k;
            for (int i = k + t; i < n; i += 32)
                if (fabsf(a[k * P + i]) > most) most = fabsf(a[k * P + i]), at = i;
            #pragma unroll
            for (int d = 16; d; d /= 2) {
                const float other = __shfl_xor_sync(ALL, most, d);
                const int there = __shfl_xor_sync(ALL, at, d);
                if (other > most || (other == most && there < at)) most = other, at = there;
            }
            if (t == 0) chosen = at, orders[(size_t)blockIdx.x * n + k] = at;
        }
        __syncthreads();
        const int pivot = chosen;
        if (t < n && pivot != k) {
            const float keep = a[t * P + k];
            a[t * P + k] = a[t * P + pivot], a[t * P + pivot] = keep;
        }
        __syncthreads();
        const float inverse = 1.0f / a[k * P + k];
        const int row = k + 1 + t % 64;
        float factor = 0.0f;
        if (row < n) factor = a[k * P + row] * inverse;
        __syncthreads();
        if (row < n) {
            if (t < 64) a[k * P + row] = factor;
            #pragma unroll 4
            for (int column = k + 1 + t / 64; column < n; column += 2) a[column * P + row] -= factor * a[column * P + k];
        }
        __syncthreads();
    }
    for (int i = t; i < n * n; i += 128) out[i] = a[i / n * P + i % n];
}
KERNEL(128, 8) equations_with_pivots_plain(const float *in, float *out, int *orders, int n) { with_pivots<64>(in, out, orders, n); }
KERNEL(128, 8) equations_with_pivots_padded(const float *in, float *out, int *orders, int n) { with_pivots<65>(in, out, orders, n); }

// ---- Forces between clusters of eight atoms, as simulations list them: eight clusters a block, each pair of lists has a mask of those it meets. ----
KERNEL(64, 16) clusters_of_eight(const float4 *atoms, const u32 *starts, const uint2 *lists, float *forces, u32 last, float cutoff, float beta) {
    __shared__ float4 own[64];
    const int x = threadIdx.x % 8, y = threadIdx.x / 8, cell = blockIdx.x;
    own[threadIdx.x] = atoms[(size_t)cell * 64 + threadIdx.x];
    __syncthreads();
    float3 sums[8] = {};
    const int count = 12 + (int)(starts[cell] & 15u);
    for (int i = 0; i < count; ++i) {
        const uint2 entry = __ldg(lists + (size_t)cell * 28 + i);
        const int other = (int)(entry.x & last) * 8 + y;
        const u32 mask = entry.y & 0xff;
        if (mask == 0) continue;
        const float4 there = __ldg(atoms + other);
        float3 theirs = {};
        #pragma unroll
        for (int j = 0; j < 8; ++j) {
            if (!(mask >> j & 1)) continue;
            const float4 here = own[j * 8 + x];
            const float dx = here.x - there.x, dy = here.y - there.y, dz = here.z - there.z, square = fmaxf(dx * dx + dy * dy + dz * dz, 0.01f);
            if (square < cutoff && other != cell * 64 + j * 8 + x) {
                const float inverse = rsqrtf(square), two = inverse * inverse, six = two * two * two, screened = beta * square;
                const float force = here.w * there.w * (inverse * two - __expf(-screened) * beta) + six * (12.0f * six - 6.0f) * two * 1e-6f;
                theirs.x += force * dx, theirs.y += force * dy, theirs.z += force * dz;
                sums[j].x += force * dx, sums[j].y += force * dy, sums[j].z += force * dz;
            }
        }
        #pragma unroll
        for (int d = 1; d < 8; d *= 2) {
            theirs.x += __shfl_xor_sync(ALL, theirs.x, d);
            theirs.y += __shfl_xor_sync(ALL, theirs.y, d);
            theirs.z += __shfl_xor_sync(ALL, theirs.z, d);
        }
        if (x < 3) atomicAdd(forces + (size_t)other * 3 + x, x == 0 ? -theirs.x : x == 1 ? -theirs.y : -theirs.z);
    }
    #pragma unroll
    for (int j = 0; j < 8; ++j) {
        #pragma unroll
        for (int d = 8; d < 32; d *= 2) {
            sums[j].x += __shfl_xor_sync(ALL, sums[j].x, d);
            sums[j].y += __shfl_xor_sync(ALL, sums[j].y, d);
            sums[j].z += __shfl_xor_sync(ALL, sums[j].z, d);
        }
        if (y % 4 < 3) atomicAdd(forces + ((size_t)cell * 64 + j * 8 + x) * 3 + y % 4, y % 4 == 0 ? sums[j].x : y % 4 == 1 ? sums[j].y : sums[j].z);
    }
}
