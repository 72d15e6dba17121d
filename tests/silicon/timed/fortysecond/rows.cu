// Lines and small matrices: a Fourier transform of 256, sums of doubles along rows, symmetric equations of six, lists of sixteen, weights by a table of pairs.
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <stdint.h>

// ------------------------------------------------------------------------------------------------
// Fourier transforms of 256 points: sixteen points a thread, two passes of sixteen, eight lines a block. Complex numbers change hands once.
__device__ __forceinline__ float2 times(float2 a, float2 b) { return make_float2(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x); }
__device__ __forceinline__ void four(float2 &a, float2 &b, float2 &c, float2 &d) {
    const float2 p = make_float2(a.x + c.x, a.y + c.y), q = make_float2(a.x - c.x, a.y - c.y);
    const float2 r = make_float2(b.x + d.x, b.y + d.y), s = make_float2(b.y - d.y, d.x - b.x);
    a = make_float2(p.x + r.x, p.y + r.y);
    b = make_float2(q.x + s.x, q.y + s.y);
    c = make_float2(p.x - r.x, p.y - r.y);
    d = make_float2(q.x - s.x, q.y - s.y);
}
// Frequency k comes to lie at 4 * (k % 4) + k / 4.
__device__ __forceinline__ void sixteen(float2 (&v)[16]) {
    constexpr float COS[10] = {1.f, 0.92387953f, 0.70710678f, 0.38268343f, 0.f, 0.f, -0.70710678f, 0.f, 0.f, -0.92387953f};
    constexpr float SIN[10] = {0.f, -0.38268343f, -0.70710678f, -0.92387953f, -1.f, 0.f, -0.70710678f, 0.f, 0.f, 0.38268343f};
#pragma unroll
    for (int n = 0; n < 4; n++) four(v[n], v[n + 4], v[n + 8], v[n + 12]);
#pragma unroll
    for (int n = 1; n < 4; n++)
#pragma unroll
        for (int k = 1; k < 4; k++) v[n + 4 * k] = times(v[n + 4 * k], make_float2(COS[n * k], SIN[n * k]));
#pragma unroll
    for (int k = 0; k < 4; k++) four(v[4 * k], v[4 * k + 1], v[4 * k + 2], v[4 * k + 3]);
}

enum Numbers { TOGETHER, PADDED, APART };
template <Numbers HOW>
__device__ __forceinline__ void fft_256(const float2 *in, float2 *out) {
    constexpr int LD = HOW == TOGETHER ? 16 : 17;
    __shared__ float2 whole[HOW == APART ? 1 : 8 * 16 * LD];
    __shared__ float re[HOW == APART ? 8 * 16 * LD : 1], im[HOW == APART ? 8 * 16 * LD : 1];
    const int line = threadIdx.x / 16, j = threadIdx.x % 16;
    const size_t first = ((size_t)blockIdx.x * 8 + line) * 256;
    float2 v[16], step, w;
#pragma unroll
    for (int r = 0; r < 16; r++) v[r] = in[first + j + r * 16];
    sixteen(v);
    __sincosf(-6.2831853f / 256.f * j, &step.y, &step.x);
    w = make_float2(1.f, 0.f);
#pragma unroll
    for (int k = 0; k < 16; k++) {
        const float2 z = times(v[4 * (k % 4) + k / 4], w);
        const int at = (line * 16 + k) * LD + j;
        if (HOW == APART) {
            re[at] = z.x;
            im[at] = z.y;
        } else {
            whole[at] = z;
        }
        w = times(w, step);
    }
    __syncthreads();
#pragma unroll
    for (int r = 0; r < 16; r++) {
        const int at = (line * 16 + j) * LD + r;
        v[r] = HOW == APART ? make_float2(re[at], im[at]) : whole[at];
    }
    sixteen(v);
#pragma unroll
    for (int m = 0; m < 16; m++) out[first + j + 16 * m] = v[4 * (m % 4) + m / 4];
}
extern "C" __global__ void __launch_bounds__(128) fft_256_together(const float2 *in, float2 *out) { fft_256<TOGETHER>(in, out); }
extern "C" __global__ void __launch_bounds__(128) fft_256_padded(const float2 *in, float2 *out) { fft_256<PADDED>(in, out); }
extern "C" __global__ void __launch_bounds__(128) fft_256_apart(const float2 *in, float2 *out) { fft_256<APART>(in, out); }

// ------------------------------------------------------------------------------------------------
// Running sums of 2048 doubles a block: eight neighbours a thread, then by shuffles, then over warps.
template <bool PAD>
__device__ __forceinline__ void double_sums(const double *in, double *out) {
    auto at = [](int i) { return PAD ? i + i / 8 : i; };
    __shared__ double row[2304], warps[8];
    const int tid = threadIdx.x, lane = tid % 32;
    const size_t first = (size_t)blockIdx.x * 2048;
#pragma unroll
    for (int i = tid; i < 2048; i += 256) row[at(i)] = in[first + i];
    __syncthreads();
    double a[8];
#pragma unroll
    for (int i = 0; i < 8; i++) a[i] = row[at(tid * 8 + i)] + (i ? a[i - 1] : 0.);
    double sum = a[7];
#pragma unroll
    for (int far = 1; far < 32; far *= 2) {
        const double before = __shfl_up_sync(~0u, sum, far);
        if (lane >= far) sum += before;
    }
    if (lane == 31) warps[tid / 32] = sum;
    __syncthreads();
    double base = sum - a[7];
    for (int w = 0; w < tid / 32; w++) base += warps[w];
#pragma unroll
    for (int i = 0; i < 8; i++) row[at(tid * 8 + i)] = base + a[i];
    __syncthreads();
#pragma unroll
    for (int i = tid; i < 2048; i += 256) out[first + i] = row[at(i)];
}
extern "C" __global__ void __launch_bounds__(256) double_sums_plain(const double *in, double *out) { double_sums<false>(in, out); }
extern "C" __global__ void __launch_bounds__(256) double_sums_padded(const double *in, double *out) { double_sums<true>(in, out); }

// ------------------------------------------------------------------------------------------------
// Six symmetric equations of doubles a thread, by L * D * L^T in shared memory: matrices behind each other, with a gap, or element by element.
enum Matrices { BEHIND, WITH_GAP, BY_ELEMENT };
template <Matrices HOW>
__device__ __forceinline__ void six_equations(const double *in, const double *right, double *x) {
    __shared__ double m[64 * 37];
    auto at = [](int which, int i) { return HOW == BEHIND ? which * 36 + i : HOW == WITH_GAP ? which * 37 + i : i * 65 + which; };
    const int tid = threadIdx.x;
    const size_t first = (size_t)blockIdx.x * 64;
    for (int i = tid; i < 64 * 36; i += 64) m[at(i / 36, i % 36)] = in[first * 36 + i] + (i % 36 % 7 == 0 ? 8. : 0.);
    __syncthreads();
#pragma unroll 1
    for (int k = 0; k < 6; k++) {
        const double over = 1. / m[at(tid, k * 7)];
#pragma unroll 1
        for (int i = k + 1; i < 6; i++) {
            const double share = m[at(tid, i * 6 + k)] * over;
            for (int j = k + 1; j <= i; j++) m[at(tid, i * 6 + j)] -= share * m[at(tid, j * 6 + k)];
        }
    }
    double b[6];
#pragma unroll
    for (int i = 0; i < 6; i++) {
        b[i] = right[(first + tid) * 6 + i];
#pragma unroll
        for (int k = 0; k < i; k++) b[i] -= m[at(tid, i * 6 + k)] * b[k];
        b[i] /= m[at(tid, i * 7)];
    }
#pragma unroll
    for (int i = 5; i >= 0; i--) {
        double sum = 0.;
#pragma unroll
        for (int k = i + 1; k < 6; k++) sum += m[at(tid, k * 6 + i)] * b[k];
        b[i] -= sum / m[at(tid, i * 7)];
        x[(first + tid) * 6 + i] = b[i];
    }
}
extern "C" __global__ void __launch_bounds__(64) six_equations_behind(const double *in, const double *right, double *x) { six_equations<BEHIND>(in, right, x); }
extern "C" __global__ void __launch_bounds__(64) six_equations_with_gap(const double *in, const double *right, double *x) { six_equations<WITH_GAP>(in, right, x); }
extern "C" __global__ void __launch_bounds__(64) six_equations_by_element(const double *in, const double *right, double *x) { six_equations<BY_ELEMENT>(in, right, x); }

// ------------------------------------------------------------------------------------------------
// Sort lists of sixteen, one a thread, in registers by neighbours in turns; they come and go through shared memory.
template <bool PAD>
__device__ __forceinline__ void sorted_sixteens(const uint32_t *in, uint32_t *out) {
    auto at = [](int i) { return PAD ? i + i / 16 : i; };
    __shared__ uint32_t lists[2176];
    const int tid = threadIdx.x;
    const size_t first = (size_t)blockIdx.x * 2048;
#pragma unroll
    for (int i = tid; i < 2048; i += 128) lists[at(i)] = in[first + i];
    __syncthreads();
    uint32_t key[16];
#pragma unroll
    for (int i = 0; i < 16; i++) key[i] = lists[at(tid * 16 + i)];
#pragma unroll
    for (int round = 0; round < 16; round++)
#pragma unroll
        for (int i = round % 2; i + 1 < 16; i += 2) {
            const uint32_t low = min(key[i], key[i + 1]), high = max(key[i], key[i + 1]);
            key[i] = low;
            key[i + 1] = high;
        }
#pragma unroll
    for (int i = 0; i < 16; i++) lists[at(tid * 16 + i)] = key[i];
    __syncthreads();
#pragma unroll
    for (int i = tid; i < 2048; i += 128) out[first + i] = lists[at(i)];
}
extern "C" __global__ void __launch_bounds__(128) sorted_sixteens_plain(const uint32_t *in, uint32_t *out) { sorted_sixteens<false>(in, out); }
extern "C" __global__ void __launch_bounds__(128) sorted_sixteens_padded(const uint32_t *in, uint32_t *out) { sorted_sixteens<true>(in, out); }

// ------------------------------------------------------------------------------------------------
// Rows of weights of four bits by a vector, four rows a warp: a byte names two values of a code of sixteen (NF4), which a table of pairs holds once, or once for each lane.
template <int COPIES>
__device__ __forceinline__ void code_pairs(const uint32_t *weights, const float *scales, const float *code, const float *x, float *y, int wide) {
    __shared__ __half2 pairs[256 * COPIES];
    const int tid = threadIdx.x, lane = tid % 32, mine = lane % COPIES;
    for (int i = tid; i < 256 * COPIES; i += 256) pairs[i] = __floats2half2_rn(code[i / COPIES % 16], code[i / COPIES / 16]);
    __syncthreads();
    for (int r = 0; r < 4; r++) {
        const size_t row = (size_t)(blockIdx.x * 8 + tid / 32) * 4 + r;
        float sum = 0.f;
        for (int i = lane; i < wide / 8; i += 32) {
            const uint32_t eight = weights[row * (wide / 8) + i];
            const float4 a = *(const float4 *)&x[i * 8], b = *(const float4 *)&x[i * 8 + 4];
            const float v[8] = {a.x, a.y, a.z, a.w, b.x, b.y, b.z, b.w};
            float part = 0.f;
#pragma unroll
            for (int j = 0; j < 4; j++) {
                const float2 w = __half22float2(pairs[(eight >> (8 * j) & 255) * COPIES + mine]);
                part += w.x * v[2 * j] + w.y * v[2 * j + 1];
            }
            sum += part * scales[row * (wide / 64) + i / 8];
        }
        for (int far = 16; far > 0; far /= 2) sum += __shfl_xor_sync(~0u, sum, far);
        if (lane == 0) y[row] = sum;
    }
}
extern "C" __global__ void __launch_bounds__(256) code_pairs_once(const uint32_t *weights, const float *scales, const float *code, const float *x, float *y, int wide) { code_pairs<1>(weights, scales, code, x, y, wide); }
extern "C" __global__ void __launch_bounds__(256) code_pairs_copied(const uint32_t *weights, const float *scales, const float *code, const float *x, float *y, int wide) { code_pairs<32>(weights, scales, code, x, y, wide); }
