// Lines and small systems: a Fourier transform of 512, parallel cyclic reduction, a recurrence scanned, factors of small matrices.
#include <cuda_runtime.h>

// ------------------------------------------------------------------------------------------------
// Fourier transforms of 512 points, eight points a thread and three passes of eight; four lines a block. Between passes they change hands.
__device__ __forceinline__ float2 times(float2 a, float2 b) { return make_float2(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x); }
__device__ __forceinline__ float2 plus(float2 a, float2 b) { return make_float2(a.x + b.x, a.y + b.y); }
__device__ __forceinline__ float2 minus(float2 a, float2 b) { return make_float2(a.x - b.x, a.y - b.y); }
__device__ __forceinline__ float2 turn(float2 a) { return make_float2(a.y, -a.x); }

__device__ __forceinline__ void four(float2 &a, float2 &b, float2 &c, float2 &d) {
    const float2 p = plus(a, c), q = minus(a, c), r = plus(b, d), s = turn(minus(b, d));
    a = plus(p, r);
    b = plus(q, s);
    c = minus(p, r);
    d = minus(q, s);
}
__device__ __forceinline__ void eight(float2 (&v)[8]) {
    constexpr float H = 0.70710678f;
    four(v[0], v[2], v[4], v[6]);
    four(v[1], v[3], v[5], v[7]);
    const float2 odd[4] = {v[1], times(v[3], make_float2(H, -H)), turn(v[5]), times(v[7], make_float2(-H, -H))};
    const float2 even[4] = {v[0], v[2], v[4], v[6]};
#pragma unroll
    for (int i = 0; i < 4; i++) {
        v[i] = plus(even[i], odd[i]);
        v[i + 4] = minus(even[i], odd[i]);
    }
}

template <bool PADDED>
__device__ __forceinline__ void fft_512(const float2 *in, float2 *out) {
    auto at = [](int i) { return PADDED ? i + i / 8 : i; };
    __shared__ float re[4][576], im[4][576];
    const int line = threadIdx.x / 64, j = threadIdx.x % 64;
    in += (size_t)(blockIdx.x * 4 + line) * 512;
    out += (size_t)(blockIdx.x * 4 + line) * 512;
    float2 v[8];
#pragma unroll
    for (int r = 0; r < 8; r++) v[r] = in[j + r * 64];
#pragma unroll
    for (int done = 1; done < 512; done *= 8) {
        if (done > 1) {
            float2 step, w;
            __sincosf(-6.2831853f * (j % done) / (done * 8), &step.y, &step.x);
            w = step;
#pragma unroll
            for (int r = 1; r < 8; r++) {
                v[r] = times(v[r], w);
                w = times(w, step);
            }
        }
        eight(v);
        if (done == 64) break;
        const int to = j / done * done * 8 + j % done;
#pragma unroll
        for (int r = 0; r < 8; r++) {
            re[line][at(to + r * done)] = v[r].x;
            im[line][at(to + r * done)] = v[r].y;
        }
        __syncthreads();
#pragma unroll
        for (int r = 0; r < 8; r++) v[r] = make_float2(re[line][at(j + r * 64)], im[line][at(j + r * 64)]);
        __syncthreads();
    }
#pragma unroll
    for (int r = 0; r < 8; r++) out[j + r * 64] = v[r];
}
extern "C" __global__ void __launch_bounds__(256) fft_512_plain(const float2 *in, float2 *out) { fft_512<false>(in, out); }
extern "C" __global__ void __launch_bounds__(256) fft_512_padded(const float2 *in, float2 *out) { fft_512<true>(in, out); }

// ------------------------------------------------------------------------------------------------
// Parallel cyclic reduction of 256 equations a block, a thread each. An equation's four numbers lie together, or in arrays of their own.
template <bool APART>
__device__ __forceinline__ void reduced_systems(const float *low, const float *up, const float *right, float *x) {
    __shared__ float4 whole[APART ? 1 : 256];
    __shared__ float part[4][APART ? 256 : 1];
    const int i = threadIdx.x, at = blockIdx.x * 256 + i;
    auto put = [&](float4 e) {
        if (APART) {
            part[0][i] = e.x;
            part[1][i] = e.y;
            part[2][i] = e.z;
            part[3][i] = e.w;
        } else {
            whole[i] = e;
        }
    };
    auto get = [&](int k) { return k < 0 || k > 255 ? make_float4(0.f, 1.f, 0.f, 0.f) : APART ? make_float4(part[0][k], part[1][k], part[2][k], part[3][k]) : whole[k]; };
    float4 mine = make_float4(i ? low[at] : 0.f, 4.f, i < 255 ? up[at] : 0.f, right[at]);  // the diagonal is four
    put(mine);
    __syncthreads();
    for (int far = 1; far < 256; far *= 2) {
        const float4 before = get(i - far), behind = get(i + far);
        const float k = __fdividef(mine.x, before.y), m = __fdividef(mine.z, behind.y);
        mine = make_float4(-before.x * k, mine.y - before.z * k - behind.x * m, -behind.z * m, mine.w - before.w * k - behind.w * m);
        __syncthreads();
        put(mine);
        __syncthreads();
    }
    x[at] = __fdividef(mine.w, mine.y);
}
extern "C" __global__ void __launch_bounds__(256) reduced_systems_together(const float *low, const float *up, const float *right, float *x) { reduced_systems<false>(low, up, right, x); }
extern "C" __global__ void __launch_bounds__(256) reduced_systems_apart(const float *low, const float *up, const float *right, float *x) { reduced_systems<true>(low, up, right, x); }

// ------------------------------------------------------------------------------------------------
// A gated recurrence, h = g * h + x, along 2048 steps a block: eight neighbours a thread, by shuffles behind that.
template <bool PADDED>
__device__ __forceinline__ void gated_scan(const float *gate, const float *in, float *out) {
    auto at = [](int i) { return PADDED ? i + i / 8 : i; };
    __shared__ float g[2304], h[2304], gates[8], sums[8];
    const int tid = threadIdx.x, lane = tid % 32;
    const size_t first = (size_t)blockIdx.x * 2048;
#pragma unroll
    for (int i = tid; i < 2048; i += 256) {
        g[at(i)] = gate[first + i];
        h[at(i)] = in[first + i];
    }
    __syncthreads();
    float a[8], b[8];
#pragma unroll
    for (int i = 0; i < 8; i++) {
        a[i] = g[at(tid * 8 + i)];
        b[i] = h[at(tid * 8 + i)];
        if (i) {
            b[i] += a[i] * b[i - 1];
            a[i] *= a[i - 1];
        }
    }
    float all = a[7], sum = b[7];
#pragma unroll
    for (int far = 1; far < 32; far *= 2) {
        const float before = __shfl_up_sync(~0u, all, far), came = __shfl_up_sync(~0u, sum, far);
        if (lane >= far) {
            sum += all * came;
            all *= before;
        }
    }
    if (lane == 31) {
        gates[tid / 32] = all;
        sums[tid / 32] = sum;
    }
    __syncthreads();
    float state = 0.f;
    for (int w = 0; w < tid / 32; w++) state = gates[w] * state + sums[w];
    const float through = __shfl_up_sync(~0u, all, 1), came = __shfl_up_sync(~0u, sum, 1);
    if (lane) state = through * state + came;
#pragma unroll
    for (int i = 0; i < 8; i++) h[at(tid * 8 + i)] = a[i] * state + b[i];
    __syncthreads();
#pragma unroll
    for (int i = tid; i < 2048; i += 256) out[first + i] = h[at(i)];
}
extern "C" __global__ void __launch_bounds__(256) gated_scan_plain(const float *gate, const float *in, float *out) { gated_scan<false>(gate, in, out); }
extern "C" __global__ void __launch_bounds__(256) gated_scan_padded(const float *gate, const float *in, float *out) { gated_scan<true>(gate, in, out); }

// ------------------------------------------------------------------------------------------------
// LU factors of matrices of 32 x 32, one a warp and a row a lane; their diagonals are made heavy, so that no row is exchanged.
template <int LD>
__device__ __forceinline__ void lu_by_warps(const float *in, float *out) {
    __shared__ float matrices[4][32 * LD];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const size_t first = (size_t)(blockIdx.x * 4 + warp) * 1024;
    float *m = matrices[warp];
    for (int i = 0; i < 32; i++) m[i * LD + lane] = in[first + i * 32 + lane] + (i == lane ? 40.f : 0.f);
    __syncwarp();
    for (int k = 0; k < 31; k++) {
        if (lane > k) {
            const float share = __fdividef(m[lane * LD + k], m[k * LD + k]);
            m[lane * LD + k] = share;
            for (int j = k + 1; j < 32; j++) m[lane * LD + j] -= share * m[k * LD + j];
        }
        __syncwarp();
    }
    for (int i = 0; i < 32; i++) out[first + i * 32 + lane] = m[i * LD + lane];
}
extern "C" __global__ void __launch_bounds__(128) lu_by_warps_plain(const float *in, float *out) { lu_by_warps<32>(in, out); }
extern "C" __global__ void __launch_bounds__(128) lu_by_warps_padded(const float *in, float *out) { lu_by_warps<33>(in, out); }
