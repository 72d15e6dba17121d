// Rows of the thirty-eighth set: short numbers turned, running peaks, directions of cells, two experts a token, Fourier lines of 4096; and, where no layout differs, counts by atomics,
// the norm of a difference, logarithms of shares.
#include <cuda_bf16.h>
#include <cuda_runtime.h>

enum Tile { PLAIN, PADDED, SWIZZLED };

// ---------------------------------------------------------------------------------------------------------------------
// Turned pictures of short numbers: tiles of 64 x 64, two numbers a thread and row, both ways.
template <Tile T> __device__ __forceinline__ void short_numbers_turned(const ushort2 *in, ushort2 *out) {
    constexpr int PITCH = T == PADDED ? 33 : 32;  // of pairs
    __shared__ ushort2 tile[64 * PITCH];
    const int x = threadIdx.x, y = threadIdx.y;
    const size_t across = gridDim.x * 32, down = gridDim.y * 32, picture = across * gridDim.y * 64;
    auto at = [](int row, int pair) { return row * PITCH + (T == SWIZZLED ? pair ^ row / 2 : pair); };
    const ushort2 *from = in + blockIdx.z * picture + blockIdx.y * 64 * across + blockIdx.x * 32 + x;
#pragma unroll
    for (int r = y; r < 64; r += 16) tile[at(r, x)] = from[r * across];
    __syncthreads();
    ushort2 *to = out + blockIdx.z * picture + blockIdx.x * 64 * down + blockIdx.y * 32 + x;
#pragma unroll
    for (int r = y * 2; r < 64; r += 32) {
        const ushort2 a = tile[at(x * 2, r / 2)], b = tile[at(x * 2 + 1, r / 2)];
        to[r * down] = make_ushort2(a.x, b.x);
        to[(r + 1) * down] = make_ushort2(a.y, b.y);
    }
}
extern "C" __global__ void __launch_bounds__(512) short_numbers_turned_plain(const ushort2 *in, ushort2 *out) { short_numbers_turned<PLAIN>(in, out); }
extern "C" __global__ void __launch_bounds__(512) short_numbers_turned_padded(const ushort2 *in, ushort2 *out) { short_numbers_turned<PADDED>(in, out); }
extern "C" __global__ void __launch_bounds__(512) short_numbers_turned_swizzled(const ushort2 *in, ushort2 *out) { short_numbers_turned<SWIZZLED>(in, out); }

// ---------------------------------------------------------------------------------------------------------------------
// The peak so far, in parts of 1536: eight numbers a thread, four at a time from shared memory, then threads of a warp, then six warps.
template <bool TURNED> __device__ __forceinline__ void running_peaks(const float4 *in, float4 *out) {
    __shared__ float4 data[384];
    __shared__ float warp_peaks[6];
    const int t = threadIdx.x, lane = t % 32, warp = t / 32;
    const size_t base = (size_t)blockIdx.x * 384;
    auto at = [](int four) { return TURNED ? four ^ (four >> 3 & 1) : four; };
#pragma unroll
    for (int i = t; i < 384; i += 192) data[at(i)] = in[base + i];
    __syncthreads();
    float4 a = data[at(t * 2)], b = data[at(t * 2 + 1)];
    a.y = fmaxf(a.x, a.y), a.z = fmaxf(a.y, a.z), a.w = fmaxf(a.z, a.w);
    b.x = fmaxf(a.w, b.x), b.y = fmaxf(b.x, b.y), b.z = fmaxf(b.y, b.z), b.w = fmaxf(b.z, b.w);
    float peak = b.w;
#pragma unroll
    for (int d = 1; d < 32; d *= 2) {
        const float before = __shfl_up_sync(0xffffffff, peak, d);
        if (lane >= d) peak = fmaxf(peak, before);
    }
    if (lane == 31) warp_peaks[warp] = peak;
    float so_far = __shfl_up_sync(0xffffffff, peak, 1);
    if (lane == 0) so_far = -1e30f;
    __syncthreads();
    for (int w = 0; w < warp; w++) so_far = fmaxf(so_far, warp_peaks[w]);
    data[at(t * 2)] = make_float4(fmaxf(a.x, so_far), fmaxf(a.y, so_far), fmaxf(a.z, so_far), fmaxf(a.w, so_far));
    data[at(t * 2 + 1)] = make_float4(fmaxf(b.x, so_far), fmaxf(b.y, so_far), fmaxf(b.z, so_far), fmaxf(b.w, so_far));
    __syncthreads();
#pragma unroll
    for (int i = t; i < 384; i += 192) out[base + i] = data[at(i)];
}
extern "C" __global__ void __launch_bounds__(192) running_peaks_plain(const float4 *in, float4 *out) { running_peaks<false>(in, out); }
extern "C" __global__ void __launch_bounds__(192) running_peaks_swizzled(const float4 *in, float4 *out) { running_peaks<true>(in, out); }

// ---------------------------------------------------------------------------------------------------------------------
// How much of a picture's gradient has which of sixteen directions, in cells of 8 x 8, a cell a thread. `pitch` numbers a row of the picture, which has one row and four columns more.
template <int DOWN, int ACROSS> __device__ __forceinline__ void directions_of_cells(const float *picture, float *out, int pitch) {
    __shared__ float bins[128 * 17];
    const int t = threadIdx.x, cell = blockIdx.x * 128 + t;
    float *own = bins + t * DOWN;
#pragma unroll
    for (int i = 0; i < 16; i++) own[i * ACROSS] = 0.0f;
    const float *from = picture + (size_t)blockIdx.y * 8 * pitch + cell * 8;
    float row[9], next[9];
    auto read = [&](float(&to)[9], int r) {
        const float4 *four = reinterpret_cast<const float4 *>(from + (size_t)r * pitch);
        const float4 a = four[0], b = four[1];
        to[0] = a.x, to[1] = a.y, to[2] = a.z, to[3] = a.w, to[4] = b.x, to[5] = b.y, to[6] = b.z, to[7] = b.w;
        to[8] = from[(size_t)r * pitch + 8];
    };
    read(row, 0);
#pragma unroll 1
    for (int r = 1; r <= 8; r++) {
        read(next, r);
#pragma unroll
        for (int x = 0; x < 8; x++) {
            const float dx = row[x + 1] - row[x], dy = next[x] - row[x];
            const int bin = (int)(atan2f(dy, dx) * 2.546479f + 8.0f) & 15;
            own[bin * ACROSS] += sqrtf(dx * dx + dy * dy);
        }
#pragma unroll
        for (int x = 0; x < 9; x++) row[x] = next[x];
    }
    __syncthreads();
    float *to = out + ((size_t)blockIdx.y * gridDim.x + blockIdx.x) * 2048;
#pragma unroll
    for (int i = t; i < 2048; i += 128) to[i] = bins[i / 16 * DOWN + i % 16 * ACROSS];
}
extern "C" __global__ void __launch_bounds__(128) directions_of_cells_rows(const float *picture, float *out, int pitch) { directions_of_cells<16, 1>(picture, out, pitch); }
extern "C" __global__ void __launch_bounds__(128) directions_of_cells_padded(const float *picture, float *out, int pitch) { directions_of_cells<17, 1>(picture, out, pitch); }
extern "C" __global__ void __launch_bounds__(128) directions_of_cells_columns(const float *picture, float *out, int pitch) { directions_of_cells<1, 128>(picture, out, pitch); }

// ---------------------------------------------------------------------------------------------------------------------
// The two likeliest of 64 experts of each token, and their shares: a token a thread, rows come by lines.
template <Tile T> __device__ __forceinline__ void two_experts(const float *logits, int2 *chosen, float2 *shares) {
    constexpr int PITCH = T == PADDED ? 65 : 64;
    __shared__ float data[96 * PITCH];
    const int t = threadIdx.x;
    const size_t base = (size_t)blockIdx.x * 96;
    auto at = [](int row, int column) { return row * PITCH + (T == SWIZZLED ? column ^ (row & 31) : column); };
#pragma unroll 8
    for (int i = t; i < 96 * 64; i += 96) data[at(i / 64, i % 64)] = logits[base * 64 + i];
    __syncthreads();
    float first = -1e30f, second = -1e30f, sum = 0.0f;
    int which = 0, next = 0;
#pragma unroll 8
    for (int c = 0; c < 64; c++) {
        const float v = data[at(t, c)];
        if (v > first) {
            second = first, next = which, first = v, which = c;
        } else if (v > second) {
            second = v, next = c;
        }
    }
#pragma unroll 8
    for (int c = 0; c < 64; c++) sum += __expf(data[at(t, c)] - first);
    chosen[base + t] = make_int2(which, next);
    shares[base + t] = make_float2(1.0f / sum, __expf(second - first) / sum);
}
extern "C" __global__ void __launch_bounds__(96) two_experts_plain(const float *logits, int2 *chosen, float2 *shares) { two_experts<PLAIN>(logits, chosen, shares); }
extern "C" __global__ void __launch_bounds__(96) two_experts_padded(const float *logits, int2 *chosen, float2 *shares) { two_experts<PADDED>(logits, chosen, shares); }
extern "C" __global__ void __launch_bounds__(96) two_experts_swizzled(const float *logits, int2 *chosen, float2 *shares) { two_experts<SWIZZLED>(logits, chosen, shares); }

// ---------------------------------------------------------------------------------------------------------------------
// Fourier transforms of lines of 4096: three passes of radix sixteen, sixteen numbers a thread, which change places in shared memory. Padding leaves out one of seventeen places.
__device__ __forceinline__ float2 times(float2 a, float2 b) { return make_float2(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x); }
__device__ __forceinline__ void fourier4(float2 &a, float2 &b, float2 &c, float2 &d) {
    const float2 p = make_float2(a.x + c.x, a.y + c.y), q = make_float2(a.x - c.x, a.y - c.y), r = make_float2(b.x + d.x, b.y + d.y), s = make_float2(b.y - d.y, d.x - b.x);
    a = make_float2(p.x + r.x, p.y + r.y), c = make_float2(p.x - r.x, p.y - r.y), b = make_float2(q.x + s.x, q.y + s.y), d = make_float2(q.x - s.x, q.y - s.y);
}
__device__ __forceinline__ void fourier16(float2 (&v)[16]) {
    constexpr float re[10] = {1.0f, 0.92387953f, 0.70710678f, 0.38268343f, 0.0f, -0.38268343f, -0.70710678f, -0.92387953f, -1.0f, -0.92387953f};
    constexpr float im[10] = {0.0f, -0.38268343f, -0.70710678f, -0.92387953f, -1.0f, -0.92387953f, -0.70710678f, -0.38268343f, 0.0f, 0.38268343f};
#pragma unroll
    for (int i = 0; i < 4; i++) fourier4(v[i], v[i + 4], v[i + 8], v[i + 12]);
#pragma unroll
    for (int i = 1; i < 4; i++)
#pragma unroll
        for (int j = 1; j < 4; j++) v[i + j * 4] = times(v[i + j * 4], make_float2(re[i * j], im[i * j]));
#pragma unroll
    for (int j = 0; j < 4; j++) fourier4(v[j * 4], v[j * 4 + 1], v[j * 4 + 2], v[j * 4 + 3]);
}
template <bool PADDED> __device__ __forceinline__ void lines_of_4096(const float2 *in, float2 *out) {
    extern __shared__ float2 places[];
    const int t = threadIdx.x;
    const size_t base = (size_t)blockIdx.x * 4096;
    auto at = [](int i) { return PADDED ? i + i / 16 : i; };
    float2 v[16];
#pragma unroll
    for (int r = 0; r < 16; r++) v[r] = in[base + t + r * 256];
#pragma unroll
    for (int done = 1; done < 4096; done *= 16) {
        const int within = t % done;
        if (done > 1) {
            float2 step, now;
            __sincosf(-6.2831853f * within / (done * 16), &step.y, &step.x);
            now = step;
#pragma unroll
            for (int r = 1; r < 16; r++) {
                v[r] = times(v[r], now);
                now = times(now, step);
            }
        }
        fourier16(v);
        const int first = (t - within) * 16 + within;
        if (done == 256) {
#pragma unroll
            for (int r = 0; r < 16; r++) out[base + first + r * done] = v[r % 4 * 4 + r / 4];
        } else {
            __syncthreads();
#pragma unroll
            for (int r = 0; r < 16; r++) places[at(first + r * done)] = v[r % 4 * 4 + r / 4];
            __syncthreads();
#pragma unroll
            for (int r = 0; r < 16; r++) v[r] = places[at(t + r * 256)];
        }
    }
}
extern "C" __global__ void __launch_bounds__(256) lines_of_4096_plain(const float2 *in, float2 *out) { lines_of_4096<false>(in, out); }
extern "C" __global__ void __launch_bounds__(256) lines_of_4096_padded(const float2 *in, float2 *out) { lines_of_4096<true>(in, out); }

// ---------------------------------------------------------------------------------------------------------------------
// How often each of many buckets is named, by atomics on memory, four names a thread at a time.
extern "C" __global__ void __launch_bounds__(384) buckets_named(const uint4 *names, unsigned *counts, int fours, unsigned last) {
    for (int i = blockIdx.x * 384 + threadIdx.x; i < fours; i += gridDim.x * 384) {
        const uint4 v = names[i];
        atomicAdd(counts + (v.x & last), 1u);
        atomicAdd(counts + (v.y & last), 1u);
        atomicAdd(counts + (v.z & last), 1u);
        atomicAdd(counts + (v.w & last), 1u);
    }
}

// The sum of squares of a difference: threads, warps, a block, one atomic a block.
extern "C" __global__ void __launch_bounds__(256) norm_of_a_difference(const float4 *a, const float4 *b, float *sum, int fours) {
    __shared__ float parts[8];
    float own = 0.0f;
    for (int i = blockIdx.x * 256 + threadIdx.x; i < fours; i += gridDim.x * 256) {
        const float4 x = a[i], y = b[i];
        const float d0 = x.x - y.x, d1 = x.y - y.y, d2 = x.z - y.z, d3 = x.w - y.w;
        own += d0 * d0 + d1 * d1 + d2 * d2 + d3 * d3;
    }
#pragma unroll
    for (int d = 16; d > 0; d /= 2) own += __shfl_down_sync(0xffffffff, own, d);
    if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = own;
    __syncthreads();
    if (threadIdx.x < 8) {
        own = parts[threadIdx.x];
#pragma unroll
        for (int d = 4; d > 0; d /= 2) own += __shfl_down_sync(0xff, own, d);
        if (threadIdx.x == 0) atomicAdd(sum, own);
    }
}

// Logarithms of shares of 1000 classes, bfloat16, a row a warp, which keeps it in registers.
extern "C" __global__ void __launch_bounds__(128) logarithms_of_shares(const __nv_bfloat162 *in, __nv_bfloat162 *out, int rows) {
    const int lane = threadIdx.x % 32, row = blockIdx.x * 4 + threadIdx.x / 32;
    if (row >= rows) return;
    float2 v[16];
    float most = -1e30f, sum = 0.0f;
#pragma unroll
    for (int i = 0; i < 16; i++) {
        const int column = lane + i * 32;
        v[i] = column < 500 ? __bfloat1622float2(in[(size_t)row * 500 + column]) : make_float2(-1e30f, -1e30f);
        most = fmaxf(most, fmaxf(v[i].x, v[i].y));
    }
#pragma unroll
    for (int d = 16; d > 0; d /= 2) most = fmaxf(most, __shfl_xor_sync(0xffffffff, most, d));
#pragma unroll
    for (int i = 0; i < 16; i++) sum += __expf(v[i].x - most) + __expf(v[i].y - most);
#pragma unroll
    for (int d = 16; d > 0; d /= 2) sum += __shfl_xor_sync(0xffffffff, sum, d);
    const float off = most + __logf(sum);
#pragma unroll
    for (int i = 0; i < 16; i++)
        if (lane + i * 32 < 500) out[(size_t)row * 500 + lane + i * 32] = __floats2bfloat162_rn(v[i].x - off, v[i].y - off);
}
