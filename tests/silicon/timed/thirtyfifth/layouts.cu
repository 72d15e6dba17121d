// Kernels of the thirty-fifth set in groups that differ in the layout of shared memory alone: blocks that turn many tiles, products of floats, complex doubles, pairs of halves and
// bytes, beginners' tiles, a scan by threads, bins of threads, Fourier lines of 512, corners, attention by threads, small determinants, rows by bulk copies, bodies in turn.
#include <cuda_fp16.h>
#include <cuda_runtime.h>

enum Layout { PLAIN, PADDED, SWIZZLED, COLUMNS };

// ---------------------------------------------------------------------------------------------------------------------
// A transpose by blocks that stay: each turns one tile of 32 x 32 after the other, sizes that no tile divides.
template <Layout L>
__device__ __forceinline__ void turn_many(const float *in, float *out, int rows, int cols) {
    constexpr int PITCH = L == PADDED ? 33 : 32;
    __shared__ float tile[32 * PITCH];
    const int tx = threadIdx.x, ty = threadIdx.y, across = (cols + 31) / 32, down = (rows + 31) / 32;
    for (int job = blockIdx.x; job < across * down; job += gridDim.x) {
        const int x0 = job % across * 32, y0 = job / across * 32;
#pragma unroll
        for (int j = 0; j < 32; j += 8) {
            const int y = y0 + ty + j, x = x0 + tx;
            const int col = L == SWIZZLED ? tx ^ (ty + j) : tx;
            if (y < rows && x < cols) tile[(ty + j) * PITCH + col] = in[(size_t)y * cols + x];
        }
        __syncthreads();
#pragma unroll
        for (int j = 0; j < 32; j += 8) {
            const int y = x0 + ty + j, x = y0 + tx;
            const int col = L == SWIZZLED ? (ty + j) ^ tx : ty + j;
            if (y < cols && x < rows) out[(size_t)y * rows + x] = tile[tx * PITCH + col];
        }
        __syncthreads();
    }
}
extern "C" __global__ void __launch_bounds__(256) turn_many_plain(const float *in, float *out, int rows, int cols) { turn_many<PLAIN>(in, out, rows, cols); }
extern "C" __global__ void __launch_bounds__(256) turn_many_padded(const float *in, float *out, int rows, int cols) { turn_many<PADDED>(in, out, rows, cols); }
extern "C" __global__ void __launch_bounds__(256) turn_many_swizzled(const float *in, float *out, int rows, int cols) { turn_many<SWIZZLED>(in, out, rows, cols); }

// ---------------------------------------------------------------------------------------------------------------------
// SGEMM, the step "A is stored transposed, loads are float4": 64 x 128 a block, 16 of K a step, 4 x 8 results a thread.
template <int PAD>
__device__ __forceinline__ void sgemm_oblong(const float *A, const float *B, float *C, int N, int K) {
    constexpr int BM = 64, BN = 128, BK = 16, LDA = BM + PAD;
    __shared__ __align__(16) float As[BK * LDA];
    __shared__ __align__(16) float Bs[BK * BN];
    const int tid = threadIdx.x, tx = tid % 16, ty = tid / 16;
    const int a_row = tid / 4, a_col = tid % 4 * 4, b_row = tid / 32, b_col = tid % 32 * 4;
    A += (size_t)blockIdx.y * BM * K;
    B += blockIdx.x * BN;
    C += (size_t)blockIdx.y * BM * N + blockIdx.x * BN;
    float acc[4][8] = {};
    for (int k0 = 0; k0 < K; k0 += BK) {
        const float4 a = *reinterpret_cast<const float4 *>(A + (size_t)a_row * K + k0 + a_col);
        As[(a_col + 0) * LDA + a_row] = a.x;
        As[(a_col + 1) * LDA + a_row] = a.y;
        As[(a_col + 2) * LDA + a_row] = a.z;
        As[(a_col + 3) * LDA + a_row] = a.w;
        *reinterpret_cast<float4 *>(Bs + b_row * BN + b_col) = *reinterpret_cast<const float4 *>(B + (size_t)(k0 + b_row) * N + b_col);
        *reinterpret_cast<float4 *>(Bs + (b_row + 8) * BN + b_col) = *reinterpret_cast<const float4 *>(B + (size_t)(k0 + b_row + 8) * N + b_col);
        __syncthreads();
#pragma unroll
        for (int k = 0; k < BK; k++) {
            float ra[4], rb[8];
            *reinterpret_cast<float4 *>(ra) = *reinterpret_cast<const float4 *>(As + k * LDA + ty * 4);
            *reinterpret_cast<float4 *>(rb) = *reinterpret_cast<const float4 *>(Bs + k * BN + tx * 4);
            *reinterpret_cast<float4 *>(rb + 4) = *reinterpret_cast<const float4 *>(Bs + k * BN + 64 + tx * 4);
#pragma unroll
            for (int i = 0; i < 4; i++)
#pragma unroll
                for (int j = 0; j < 8; j++) acc[i][j] += ra[i] * rb[j];
        }
        __syncthreads();
    }
#pragma unroll
    for (int i = 0; i < 4; i++) {
        float *row = C + (size_t)(ty * 4 + i) * N;
        *reinterpret_cast<float4 *>(row + tx * 4) = make_float4(acc[i][0], acc[i][1], acc[i][2], acc[i][3]);
        *reinterpret_cast<float4 *>(row + 64 + tx * 4) = make_float4(acc[i][4], acc[i][5], acc[i][6], acc[i][7]);
    }
}
extern "C" __global__ void __launch_bounds__(256) sgemm_oblong_plain(const float *A, const float *B, float *C, int N, int K) { sgemm_oblong<0>(A, B, C, N, K); }
extern "C" __global__ void __launch_bounds__(256) sgemm_oblong_padded(const float *A, const float *B, float *C, int N, int K) { sgemm_oblong<4>(A, B, C, N, K); }

// ---------------------------------------------------------------------------------------------------------------------
// ZGEMM: complex doubles, 32 x 32 a block, 16 of K a step, 2 x 2 results a thread; real and imaginary parts together or apart in shared memory.
template <bool APART>
__device__ __forceinline__ void zgemm(const double2 *A, const double2 *B, double2 *C, int N, int K) {
    __shared__ __align__(16) double As[2 * 16 * 32], Bs[2 * 16 * 32];
    const int tx = threadIdx.x, ty = threadIdx.y, tid = ty * 16 + tx;
    const int r = tid / 16, c = tid % 16;
    double re[2][2] = {}, im[2][2] = {};
    for (int k0 = 0; k0 < K; k0 += 16) {
#pragma unroll
        for (int h = 0; h < 2; h++) {
            const double2 a = A[(size_t)(blockIdx.y * 32 + r + h * 16) * K + k0 + c];
            const double2 b = B[(size_t)(k0 + tid / 32 + h * 8) * N + blockIdx.x * 32 + tid % 32];
            const int at = c * 32 + r + h * 16, bt = (tid / 32 + h * 8) * 32 + tid % 32;
            if (APART) {
                As[at] = a.x;
                As[512 + at] = a.y;
                Bs[bt] = b.x;
                Bs[512 + bt] = b.y;
            } else {
                *reinterpret_cast<double2 *>(As + at * 2) = a;
                *reinterpret_cast<double2 *>(Bs + bt * 2) = b;
            }
        }
        __syncthreads();
#pragma unroll 4
        for (int k = 0; k < 16; k++) {
            double2 a[2], b[2];
            if (APART) {
                const double2 ar = *reinterpret_cast<const double2 *>(As + k * 32 + ty * 2), ai = *reinterpret_cast<const double2 *>(As + 512 + k * 32 + ty * 2);
                const double2 br = *reinterpret_cast<const double2 *>(Bs + k * 32 + tx * 2), bi = *reinterpret_cast<const double2 *>(Bs + 512 + k * 32 + tx * 2);
                a[0] = make_double2(ar.x, ai.x), a[1] = make_double2(ar.y, ai.y);
                b[0] = make_double2(br.x, bi.x), b[1] = make_double2(br.y, bi.y);
            } else {
#pragma unroll
                for (int h = 0; h < 2; h++) {
                    a[h] = *reinterpret_cast<const double2 *>(As + (k * 32 + ty * 2 + h) * 2);
                    b[h] = *reinterpret_cast<const double2 *>(Bs + (k * 32 + tx * 2 + h) * 2);
                }
            }
#pragma unroll
            for (int i = 0; i < 2; i++)
#pragma unroll
                for (int j = 0; j < 2; j++) {
                    re[i][j] += a[i].x * b[j].x;
                    re[i][j] -= a[i].y * b[j].y;
                    im[i][j] += a[i].x * b[j].y;
                    im[i][j] += a[i].y * b[j].x;
                }
        }
        __syncthreads();
    }
#pragma unroll
    for (int i = 0; i < 2; i++)
#pragma unroll
        for (int j = 0; j < 2; j++) C[(size_t)(blockIdx.y * 32 + ty * 2 + i) * N + blockIdx.x * 32 + tx * 2 + j] = make_double2(re[i][j], im[i][j]);
}
extern "C" __global__ void __launch_bounds__(256) zgemm_together(const double2 *A, const double2 *B, double2 *C, int N, int K) { zgemm<false>(A, B, C, N, K); }
extern "C" __global__ void __launch_bounds__(256) zgemm_apart(const double2 *A, const double2 *B, double2 *C, int N, int K) { zgemm<true>(A, B, C, N, K); }

// ---------------------------------------------------------------------------------------------------------------------
// A scan in three phases as a course teaches it: 4096 items a block by coalesced loads, sixteen in a row a thread, a scan of the threads' sums, then those added.
template <bool PAD>
__device__ __forceinline__ void coarse_scan(const int *in, int *out, int *sums) {
    __shared__ int items[PAD ? 4096 + 256 : 4096];
    __shared__ int warps[8];
    const int t = threadIdx.x, lane = t & 31, warp = t >> 5;
    const size_t first = (size_t)blockIdx.x * 4096;
    auto at = [](int i) { return PAD ? i + (i >> 4) : i; };
    for (int i = t; i < 4096; i += 256) items[at(i)] = in[first + i];
    __syncthreads();
    int run = 0;
    for (int i = 0; i < 16; i++) {
        run += items[at(t * 16 + i)];
        items[at(t * 16 + i)] = run;
    }
    int scan = run;
#pragma unroll
    for (int d = 1; d < 32; d *= 2) {
        const int other = __shfl_up_sync(0xffffffff, scan, d);
        if (lane >= d) scan += other;
    }
    if (lane == 31) warps[warp] = scan;
    __syncthreads();
    if (warp == 0) {
        int w = lane < 8 ? warps[lane] : 0;
#pragma unroll
        for (int d = 1; d < 8; d *= 2) {
            const int other = __shfl_up_sync(0xffffffff, w, d);
            if (lane >= d) w += other;
        }
        if (lane < 8) warps[lane] = w;
    }
    __syncthreads();
    const int before = scan - run + (warp > 0 ? warps[warp - 1] : 0);
    for (int i = 0; i < 16; i++) items[at(t * 16 + i)] += before;
    if (t == 255) sums[blockIdx.x] = before + run;
    __syncthreads();
    for (int i = t; i < 4096; i += 256) out[first + i] = items[at(i)];
}
extern "C" __global__ void __launch_bounds__(256) coarse_scan_plain(const int *in, int *out, int *sums) { coarse_scan<false>(in, out, sums); }
extern "C" __global__ void __launch_bounds__(256) coarse_scan_padded(const int *in, int *out, int *sums) { coarse_scan<true>(in, out, sums); }

// ---------------------------------------------------------------------------------------------------------------------
// A histogram of 32 bins without atomics: each of 128 threads has bins of its own, in a row or in a column of shared memory.
template <Layout L>
__device__ __forceinline__ void private_bins(const uint4 *in, unsigned *out, int each) {
    __shared__ unsigned bins[L == PADDED ? 128 * 33 : 128 * 32];
    const int t = threadIdx.x;
    auto at = [](int thread, int bin) { return L == COLUMNS ? bin * 128 + thread : thread * (L == PADDED ? 33 : 32) + bin; };
    for (int b = 0; b < 32; b++) bins[at(t, b)] = 0;
    for (int i = 0; i < each; i++) {
        const uint4 v = in[((size_t)blockIdx.x * each + i) * 128 + t];
        const unsigned words[4] = {v.x, v.y, v.z, v.w};
#pragma unroll
        for (int w = 0; w < 4; w++)
#pragma unroll
            for (int b = 0; b < 4; b++) bins[at(t, words[w] >> (b * 8 + 3) & 31)]++;
    }
    __syncthreads();
    // Four threads a bin, 32 threads' counts each.
    unsigned sum = 0;
    const int bin = t / 4, part = t % 4;
    for (int i = 0; i < 32; i++) sum += bins[at(i * 4 + part, bin)];
    sum += __shfl_xor_sync(0xffffffff, sum, 1);
    sum += __shfl_xor_sync(0xffffffff, sum, 2);
    if (part == 0) out[blockIdx.x * 32 + bin] = sum;
}
extern "C" __global__ void __launch_bounds__(128) private_bins_rows(const uint4 *in, unsigned *out, int each) { private_bins<PLAIN>(in, out, each); }
extern "C" __global__ void __launch_bounds__(128) private_bins_padded(const uint4 *in, unsigned *out, int each) { private_bins<PADDED>(in, out, each); }
extern "C" __global__ void __launch_bounds__(128) private_bins_columns(const uint4 *in, unsigned *out, int each) { private_bins<COLUMNS>(in, out, each); }

// ---------------------------------------------------------------------------------------------------------------------
// Fourier transforms of 512 points, three passes by eight, two warps a line; real and imaginary parts go through shared memory one after the other.
__device__ __forceinline__ float2 cmul(float2 a, float2 b) { return make_float2(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x); }
__device__ __forceinline__ void fft2(float2 &a, float2 &b) {
    const float2 t = a;
    a = make_float2(t.x + b.x, t.y + b.y);
    b = make_float2(t.x - b.x, t.y - b.y);
}
__device__ __forceinline__ void fft4(float2 &a, float2 &b, float2 &c, float2 &d) {
    fft2(a, c);
    fft2(b, d);
    d = make_float2(d.y, -d.x);
    fft2(a, b);
    fft2(c, d);
    const float2 t = b;  // order 0 2 1 3 becomes 0 1 2 3
    b = c;
    c = t;
}
__device__ __forceinline__ void fft8(float2 (&v)[8]) {
    const float s = 0.70710678f;
    fft2(v[0], v[4]);
    fft2(v[1], v[5]);
    fft2(v[2], v[6]);
    fft2(v[3], v[7]);
    v[5] = make_float2((v[5].x + v[5].y) * s, (v[5].y - v[5].x) * s);
    v[6] = make_float2(v[6].y, -v[6].x);
    v[7] = make_float2((v[7].y - v[7].x) * s, (-v[7].x - v[7].y) * s);
    fft4(v[0], v[1], v[2], v[3]);
    fft4(v[4], v[5], v[6], v[7]);
    const float2 w[8] = {v[0], v[4], v[1], v[5], v[2], v[6], v[3], v[7]};
#pragma unroll
    for (int i = 0; i < 8; i++) v[i] = w[i];
}
template <bool PAD>
__device__ __forceinline__ void lines_512(const float2 *in, float2 *out) {
    __shared__ float work[PAD ? 512 + 64 : 512];
    const int t = threadIdx.x;
    const size_t line = (size_t)blockIdx.x * 512;
    auto at = [](int i) { return PAD ? i + (i >> 3) : i; };
    float2 v[8];
#pragma unroll
    for (int r = 0; r < 8; r++) v[r] = in[line + r * 64 + t];
#pragma unroll
    for (int ns = 1; ns < 512; ns *= 8) {
        const int low = t % ns;
        if (ns > 1) {
#pragma unroll
            for (int r = 1; r < 8; r++) {
                float2 w;
                __sincosf(-6.2831853f * (float)(r * low) / (float)(ns * 8), &w.y, &w.x);
                v[r] = cmul(v[r], w);
            }
        }
        fft8(v);
        const int to = (t - low) * 8 + low;
        if (ns == 64) {
#pragma unroll
            for (int r = 0; r < 8; r++) out[line + to + r * ns] = v[r];
        } else {
#pragma unroll
            for (int r = 0; r < 8; r++) work[at(to + r * ns)] = v[r].x;
            __syncthreads();
#pragma unroll
            for (int r = 0; r < 8; r++) v[r].x = work[at(r * 64 + t)];
            __syncthreads();
#pragma unroll
            for (int r = 0; r < 8; r++) work[at(to + r * ns)] = v[r].y;
            __syncthreads();
#pragma unroll
            for (int r = 0; r < 8; r++) v[r].y = work[at(r * 64 + t)];
            __syncthreads();
        }
    }
}
extern "C" __global__ void __launch_bounds__(64) lines_512_plain(const float2 *in, float2 *out) { lines_512<false>(in, out); }
extern "C" __global__ void __launch_bounds__(64) lines_512_padded(const float2 *in, float2 *out) { lines_512<true>(in, out); }

// ---------------------------------------------------------------------------------------------------------------------
// Harris corners of a picture of bytes: 8 x 16 threads, the tile with a rim of two in shared memory as floats, gradients summed over 3 x 3.
template <int PITCH>
__device__ __forceinline__ void harris(const unsigned char *in, float *out, int width, int height) {
    __shared__ float tile[20 * PITCH];
    const int tx = threadIdx.x, ty = threadIdx.y, x0 = blockIdx.x * 8, y0 = blockIdx.y * 16;
    for (int i = ty * 8 + tx; i < 20 * 12; i += 128) {
        const int x = min(max(x0 + i % 12 - 2, 0), width - 1), y = min(max(y0 + i / 12 - 2, 0), height - 1);
        tile[i / 12 * PITCH + i % 12] = (float)in[(size_t)y * width + x] * (1.0f / 255.0f);
    }
    __syncthreads();
    float xx = 0.0f, yy = 0.0f, xy = 0.0f;
#pragma unroll
    for (int dy = 0; dy < 3; dy++)
#pragma unroll
        for (int dx = 0; dx < 3; dx++) {
            const float *p = tile + (ty + dy + 1) * PITCH + tx + dx + 1;
            const float gx = p[-PITCH + 1] - p[-PITCH - 1] + 2.0f * (p[1] - p[-1]) + p[PITCH + 1] - p[PITCH - 1];
            const float gy = p[PITCH - 1] - p[-PITCH - 1] + 2.0f * (p[PITCH] - p[-PITCH]) + p[PITCH + 1] - p[-PITCH + 1];
            xx += gx * gx;
            yy += gy * gy;
            xy += gx * gy;
        }
    const int x = x0 + tx, y = y0 + ty;
    if (x < width && y < height) out[(size_t)y * width + x] = xx * yy - xy * xy - 0.04f * (xx + yy) * (xx + yy);
}
extern "C" __global__ void __launch_bounds__(128) harris_plain(const unsigned char *in, float *out, int width, int height) { harris<16>(in, out, width, height); }
extern "C" __global__ void __launch_bounds__(128) harris_padded(const unsigned char *in, float *out, int width, int height) { harris<24>(in, out, width, height); }

// ---------------------------------------------------------------------------------------------------------------------
// The least flash attention: one warp a block, a thread a query of 32 floats, 32 keys a tile, scores of a thread in a row of shared memory.
template <int PITCH>
__device__ __forceinline__ void least_flash(const float *Q, const float *K, const float *V, float *O, int seq, float scale) {
    __shared__ __align__(16) float Ks[32 * 32], Vs[32 * 32];
    __shared__ float S[32 * PITCH];
    const int t = threadIdx.x;
    const size_t head = (size_t)blockIdx.y * seq * 32, row = head + (size_t)(blockIdx.x * 32 + t) * 32;
    float q[32], o[32], m = -1e30f, l = 0.0f;
#pragma unroll
    for (int d = 0; d < 32; d += 4) *reinterpret_cast<float4 *>(q + d) = *reinterpret_cast<const float4 *>(Q + row + d);
#pragma unroll
    for (int d = 0; d < 32; d++) o[d] = 0.0f;
    for (int j = 0; j < seq; j += 32) {
#pragma unroll
        for (int i = 0; i < 8; i++) {
            reinterpret_cast<float4 *>(Ks)[i * 32 + t] = reinterpret_cast<const float4 *>(K + head + (size_t)j * 32)[i * 32 + t];
            reinterpret_cast<float4 *>(Vs)[i * 32 + t] = reinterpret_cast<const float4 *>(V + head + (size_t)j * 32)[i * 32 + t];
        }
        __syncthreads();
        float top = m;
#pragma unroll 2
        for (int y = 0; y < 32; y++) {
            float s = 0.0f;
#pragma unroll
            for (int d = 0; d < 32; d += 4) {
                const float4 k = *reinterpret_cast<const float4 *>(Ks + y * 32 + d);
                s += q[d] * k.x + q[d + 1] * k.y + q[d + 2] * k.z + q[d + 3] * k.w;
            }
            s *= scale;
            S[t * PITCH + y] = s;
            top = fmaxf(top, s);
        }
        const float fix = __expf(m - top);
        m = top;
        l *= fix;
#pragma unroll
        for (int d = 0; d < 32; d++) o[d] *= fix;
#pragma unroll 2
        for (int y = 0; y < 32; y++) {
            const float p = __expf(S[t * PITCH + y] - m);
            l += p;
#pragma unroll
            for (int d = 0; d < 32; d += 4) {
                const float4 v = *reinterpret_cast<const float4 *>(Vs + y * 32 + d);
                o[d] += p * v.x;
                o[d + 1] += p * v.y;
                o[d + 2] += p * v.z;
                o[d + 3] += p * v.w;
            }
        }
        __syncthreads();
    }
    const float inv = 1.0f / l;
#pragma unroll
    for (int d = 0; d < 32; d += 4) *reinterpret_cast<float4 *>(O + row + d) = make_float4(o[d] * inv, o[d + 1] * inv, o[d + 2] * inv, o[d + 3] * inv);
}
extern "C" __global__ void __launch_bounds__(32) least_flash_plain(const float *Q, const float *K, const float *V, float *O, int seq, float scale) { least_flash<32>(Q, K, V, O, seq, scale); }
extern "C" __global__ void __launch_bounds__(32) least_flash_padded(const float *Q, const float *K, const float *V, float *O, int seq, float scale) { least_flash<33>(Q, K, V, O, seq, scale); }

// ---------------------------------------------------------------------------------------------------------------------
// A beginner's tiles for A B': 16 x 16 threads, a result a thread; the rows of B's tile are read down its columns.
template <int PITCH>
__device__ __forceinline__ void beginner_tiles(const float *A, const float *B, float *C, int N, int K) {
    __shared__ float As[16][16], Bs[16][PITCH];
    const int tx = threadIdx.x, ty = threadIdx.y, row = blockIdx.y * 16 + ty, col = blockIdx.x * 16 + tx;
    float sum = 0.0f;
    for (int k0 = 0; k0 < K; k0 += 16) {
        As[ty][tx] = A[(size_t)row * K + k0 + tx];
        Bs[ty][tx] = B[(size_t)(blockIdx.x * 16 + ty) * K + k0 + tx];
        __syncthreads();
        for (int k = 0; k < 16; k++) sum += As[ty][k] * Bs[tx][k];
        __syncthreads();
    }
    C[(size_t)row * N + col] = sum;
}
extern "C" __global__ void __launch_bounds__(256) beginner_tiles_plain(const float *A, const float *B, float *C, int N, int K) { beginner_tiles<16>(A, B, C, N, K); }
extern "C" __global__ void __launch_bounds__(256) beginner_tiles_padded(const float *A, const float *B, float *C, int N, int K) { beginner_tiles<17>(A, B, C, N, K); }

// ---------------------------------------------------------------------------------------------------------------------
// Determinants of matrices of 8 x 8, a thread each, eliminated in shared memory with the largest pivot of the column.
template <Layout L>
__device__ __forceinline__ void determinants(const float *in, float *out) {
    __shared__ float held[64 * (L == PADDED ? 65 : 64)];
    const int t = threadIdx.x;
    auto at = [](int matrix, int e) { return L == COLUMNS ? e * 64 + matrix : matrix * (L == PADDED ? 65 : 64) + e; };
    for (int i = 0; i < 64; i++) {
        const int e = i * 64 + t;
        held[at(e >> 6, e & 63)] = in[(size_t)blockIdx.x * 4096 + e];
    }
    __syncthreads();
    float det = 1.0f;
#pragma unroll 1
    for (int c = 0; c < 8; c++) {
        int best = c;
        float most = fabsf(held[at(t, c * 9)]);
        for (int r = c + 1; r < 8; r++) {
            const float v = fabsf(held[at(t, r * 8 + c)]);
            if (v > most) most = v, best = r;
        }
        const float pivot = held[at(t, best * 8 + c)];
        det *= best != c ? -pivot : pivot;
        const float inv = most > 0.0f ? 1.0f / pivot : 0.0f;
        for (int k = c; k < 8; k++) {
            const float above = held[at(t, best * 8 + k)];
            held[at(t, best * 8 + k)] = held[at(t, c * 8 + k)];
            held[at(t, c * 8 + k)] = above;
        }
        for (int r = c + 1; r < 8; r++) {
            const float f = held[at(t, r * 8 + c)] * inv;
            for (int k = c + 1; k < 8; k++) held[at(t, r * 8 + k)] -= f * held[at(t, c * 8 + k)];
        }
    }
    out[blockIdx.x * 64 + t] = det;
}
extern "C" __global__ void __launch_bounds__(64) determinants_plain(const float *in, float *out) { determinants<PLAIN>(in, out); }
extern "C" __global__ void __launch_bounds__(64) determinants_padded(const float *in, float *out) { determinants<PADDED>(in, out); }
extern "C" __global__ void __launch_bounds__(64) determinants_columns(const float *in, float *out) { determinants<COLUMNS>(in, out); }

// ---------------------------------------------------------------------------------------------------------------------
// SGEMM of rows by rows (A B'): 64 x 64 a block, 16 of K a step, both tiles as they come, float4 along K; rows of a thread are sixteen apart.
template <Layout L>
__device__ __forceinline__ void dot_tiles(const float *A, const float *B, float *C, int N, int K) {
    constexpr int P = L == PADDED ? 20 : 16;
    __shared__ __align__(16) float As[64 * P], Bs[64 * P];
    const int tid = threadIdx.x, tx = tid % 16, ty = tid / 16, lr = tid / 4, lc = tid % 4;
    auto at = [](int row, int c) { return row * P + (L == SWIZZLED ? c ^ (row >> 1 & 3) : c) * 4; };
    const float *a = A + (size_t)(blockIdx.y * 64 + lr) * K + lc * 4, *b = B + (size_t)(blockIdx.x * 64 + lr) * K + lc * 4;
    float acc[4][4] = {};
    float4 na = *reinterpret_cast<const float4 *>(a), nb = *reinterpret_cast<const float4 *>(b);
    for (int k0 = 0; k0 < K; k0 += 16) {
        *reinterpret_cast<float4 *>(As + at(lr, lc)) = na;
        *reinterpret_cast<float4 *>(Bs + at(lr, lc)) = nb;
        __syncthreads();
        if (k0 + 16 < K) {
            na = *reinterpret_cast<const float4 *>(a + k0 + 16);
            nb = *reinterpret_cast<const float4 *>(b + k0 + 16);
        }
#pragma unroll
        for (int c = 0; c < 4; c++) {
            float4 ra[4], rb[4];
#pragma unroll
            for (int i = 0; i < 4; i++) {
                ra[i] = *reinterpret_cast<const float4 *>(As + at(ty + i * 16, c));
                rb[i] = *reinterpret_cast<const float4 *>(Bs + at(tx + i * 16, c));
            }
#pragma unroll
            for (int i = 0; i < 4; i++)
#pragma unroll
                for (int j = 0; j < 4; j++) acc[i][j] += ra[i].x * rb[j].x + ra[i].y * rb[j].y + ra[i].z * rb[j].z + ra[i].w * rb[j].w;
        }
        __syncthreads();
    }
#pragma unroll
    for (int i = 0; i < 4; i++)
#pragma unroll
        for (int j = 0; j < 4; j++) C[(size_t)(blockIdx.y * 64 + ty + i * 16) * N + blockIdx.x * 64 + tx + j * 16] = acc[i][j];
}
extern "C" __global__ void __launch_bounds__(256) dot_tiles_plain(const float *A, const float *B, float *C, int N, int K) { dot_tiles<PLAIN>(A, B, C, N, K); }
extern "C" __global__ void __launch_bounds__(256) dot_tiles_padded(const float *A, const float *B, float *C, int N, int K) { dot_tiles<PADDED>(A, B, C, N, K); }
extern "C" __global__ void __launch_bounds__(256) dot_tiles_swizzled(const float *A, const float *B, float *C, int N, int K) { dot_tiles<SWIZZLED>(A, B, C, N, K); }

// ---------------------------------------------------------------------------------------------------------------------
// HGEMM without tensor cores: 64 x 64 a block, four warps, 32 of K a step, pairs along N in half2, A turned as it is stored; sums become floats each step.
template <int PITCH>
__device__ __forceinline__ void hfma2_tiles(const __half *A, const __half *B, __half *C, int N, int K) {
    __shared__ __align__(16) __half As[32 * PITCH];
    __shared__ __align__(16) __half Bs[32 * 64];
    const int tid = threadIdx.x, tx = tid % 8, ty = tid / 8;
    float acc[4][8] = {};
    for (int k0 = 0; k0 < K; k0 += 32) {
#pragma unroll
        for (int n = 0; n < 2; n++) {
            const int i = n * 128 + tid, r = i / 4, c = i % 4 * 8;
            const uint4 v = *reinterpret_cast<const uint4 *>(A + (size_t)(blockIdx.y * 64 + r) * K + k0 + c);
            const __half *h = reinterpret_cast<const __half *>(&v);
#pragma unroll
            for (int e = 0; e < 8; e++) As[(c + e) * PITCH + r] = h[e];
            *reinterpret_cast<uint4 *>(Bs + i * 8) = *reinterpret_cast<const uint4 *>(B + (size_t)(k0 + i / 8) * N + blockIdx.x * 64 + i % 8 * 8);
        }
        __syncthreads();
        __half2 part[4][4];
#pragma unroll
        for (int i = 0; i < 4; i++)
#pragma unroll
            for (int j = 0; j < 4; j++) part[i][j] = __float2half2_rn(0.0f);
#pragma unroll 8
        for (int k = 0; k < 32; k++) {
            const uint4 v = *reinterpret_cast<const uint4 *>(Bs + k * 64 + tx * 8);
            const __half2 *b = reinterpret_cast<const __half2 *>(&v);
            const __half2 a01 = *reinterpret_cast<const __half2 *>(As + k * PITCH + ty * 4), a23 = *reinterpret_cast<const __half2 *>(As + k * PITCH + ty * 4 + 2);
            const __half2 a[4] = {__low2half2(a01), __high2half2(a01), __low2half2(a23), __high2half2(a23)};
#pragma unroll
            for (int i = 0; i < 4; i++)
#pragma unroll
                for (int j = 0; j < 4; j++) part[i][j] = __hfma2(a[i], b[j], part[i][j]);
        }
#pragma unroll
        for (int i = 0; i < 4; i++)
#pragma unroll
            for (int j = 0; j < 4; j++) {
                const float2 f = __half22float2(part[i][j]);
                acc[i][j * 2] += f.x;
                acc[i][j * 2 + 1] += f.y;
            }
        __syncthreads();
    }
#pragma unroll
    for (int i = 0; i < 4; i++)
#pragma unroll
        for (int j = 0; j < 4; j++)
            *reinterpret_cast<__half2 *>(C + (size_t)(blockIdx.y * 64 + ty * 4 + i) * N + blockIdx.x * 64 + tx * 8 + j * 2) = __floats2half2_rn(acc[i][j * 2], acc[i][j * 2 + 1]);
}
extern "C" __global__ void __launch_bounds__(128) hfma2_tiles_plain(const __half *A, const __half *B, __half *C, int N, int K) { hfma2_tiles<64>(A, B, C, N, K); }
extern "C" __global__ void __launch_bounds__(128) hfma2_tiles_padded(const __half *A, const __half *B, __half *C, int N, int K) { hfma2_tiles<66>(A, B, C, N, K); }

// ---------------------------------------------------------------------------------------------------------------------
// IGEMM by dp4a (A B'): 64 x 64 a block, 32 bytes of K a step, 4 x 4 results a thread, words of four bytes in rows of eight.
template <int P>
__device__ __forceinline__ void dp4a_squares(const int *A, const int *B, int *C, int N, int K) {
    __shared__ int As[64 * P], Bs[64 * P];
    const int tid = threadIdx.x, tx = tid % 16, ty = tid / 16;
    int acc[4][4] = {};
    for (int k0 = 0; k0 < K; k0 += 8) {
#pragma unroll
        for (int n = 0; n < 2; n++) {
            const int r = n * 32 + tid / 8, c = tid % 8;
            As[r * P + c] = A[(size_t)(blockIdx.y * 64 + r) * K + k0 + c];
            Bs[r * P + c] = B[(size_t)(blockIdx.x * 64 + r) * K + k0 + c];
        }
        __syncthreads();
#pragma unroll
        for (int k = 0; k < 8; k++) {
            int a[4], b[4];
#pragma unroll
            for (int i = 0; i < 4; i++) {
                a[i] = As[(ty + i * 16) * P + k];
                b[i] = Bs[(tx + i * 16) * P + k];
            }
#pragma unroll
            for (int i = 0; i < 4; i++)
#pragma unroll
                for (int j = 0; j < 4; j++) acc[i][j] = __dp4a(a[i], b[j], acc[i][j]);
        }
        __syncthreads();
    }
#pragma unroll
    for (int i = 0; i < 4; i++)
#pragma unroll
        for (int j = 0; j < 4; j++) C[(size_t)(blockIdx.y * 64 + ty + i * 16) * N + blockIdx.x * 64 + tx + j * 16] = acc[i][j];
}
extern "C" __global__ void __launch_bounds__(256) dp4a_squares_plain(const int *A, const int *B, int *C, int N, int K) { dp4a_squares<8>(A, B, C, N, K); }
extern "C" __global__ void __launch_bounds__(256) dp4a_squares_padded(const int *A, const int *B, int *C, int N, int K) { dp4a_squares<9>(A, B, C, N, K); }

// ---------------------------------------------------------------------------------------------------------------------
// Softmax of rows of 128 floats, a thread a row: each thread brings and takes its own row by a bulk copy, all wait for one mbarrier.
__device__ __forceinline__ unsigned smem_u32(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }
template <int PITCH>
__device__ __forceinline__ void bulk_rows(const float *in, float *out) {
    extern __shared__ __align__(128) float rows[];
    __shared__ __align__(8) unsigned long long bar;
    const int t = threadIdx.x;
    const size_t first = ((size_t)blockIdx.x * 128 + t) * 128;
    float *row = rows + t * PITCH;
    if (t == 0) {
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;\n" ::"r"(smem_u32(&bar)) : "memory");
        asm volatile("fence.mbarrier_init.release.cluster;\n" ::: "memory");
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;\n" ::"r"(smem_u32(&bar)), "r"(128 * 512) : "memory");
    }
    __syncthreads();
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];\n" ::"r"(smem_u32(row)), "l"(in + first), "r"(512), "r"(smem_u32(&bar)) : "memory");
    unsigned done = 0;
    while (!done)
        asm volatile("{\n.reg .pred p;\nmbarrier.try_wait.parity.shared::cta.b64 p, [%1], 0;\nselp.u32 %0, 1, 0, p;\n}\n" : "=r"(done) : "r"(smem_u32(&bar)) : "memory");
    float top = -1e30f, sum = 0.0f;
#pragma unroll 4
    for (int c = 0; c < 128; c += 4) {
        const float4 v = *reinterpret_cast<const float4 *>(row + c);
        top = fmaxf(top, fmaxf(fmaxf(v.x, v.y), fmaxf(v.z, v.w)));
    }
#pragma unroll 4
    for (int c = 0; c < 128; c += 4) {
        float4 v = *reinterpret_cast<const float4 *>(row + c);
        v = make_float4(__expf(v.x - top), __expf(v.y - top), __expf(v.z - top), __expf(v.w - top));
        sum += v.x + v.y + v.z + v.w;
        *reinterpret_cast<float4 *>(row + c) = v;
    }
    const float inv = 1.0f / sum;
#pragma unroll 4
    for (int c = 0; c < 128; c += 4) {
        const float4 v = *reinterpret_cast<const float4 *>(row + c);
        *reinterpret_cast<float4 *>(row + c) = make_float4(v.x * inv, v.y * inv, v.z * inv, v.w * inv);
    }
    asm volatile("fence.proxy.async.shared::cta;\n" ::: "memory");
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;\n" ::"l"(out + first), "r"(smem_u32(row)), "r"(512) : "memory");
    asm volatile("cp.async.bulk.commit_group;\n" ::: "memory");
    asm volatile("cp.async.bulk.wait_group 0;\n" ::: "memory");
}
extern "C" __global__ void __launch_bounds__(128) bulk_rows_plain(const float *in, float *out) { bulk_rows<128>(in, out); }
extern "C" __global__ void __launch_bounds__(128) bulk_rows_padded(const float *in, float *out) { bulk_rows<132>(in, out); }

// ---------------------------------------------------------------------------------------------------------------------
// N-body with charges, a body a thread, the sources by tiles of 64, each lane beginning at its own; a source's eight numbers together or apart by fours.
template <bool APART>
__device__ __forceinline__ void bodies_in_turn(const float4 *sources, float4 *out, int count) {
    __shared__ float4 held[128];
    const int t = threadIdx.x, own = blockIdx.x * 64 + t;
    const float4 p = sources[(size_t)(own % count) * 2], w = sources[(size_t)(own % count) * 2 + 1];
    float ax = 0.0f, ay = 0.0f, az = 0.0f, energy = 0.0f;
    for (int tile = 0; tile < count; tile += 64) {
#pragma unroll
        for (int h = 0; h < 2; h++) {
            const int e = h * 64 + t;
            held[APART ? (e & 1) * 64 + (e >> 1) : e] = sources[(size_t)tile * 2 + e];
        }
        __syncthreads();
#pragma unroll 4
        for (int n = 0; n < 64; n++) {
            const int j = (n + t) & 63;
            const float4 q = held[APART ? j : j * 2], u = held[APART ? j + 64 : j * 2 + 1];
            const float dx = q.x - p.x, dy = q.y - p.y, dz = q.z - p.z;
            const float inv = rsqrtf(dx * dx + dy * dy + dz * dz + 0.01f), inv3 = inv * inv * inv;
            const float pull = q.w * inv3 - w.x * u.x * inv3 + (u.y * w.y + u.z * w.z) * inv3 * inv;
            ax += dx * pull;
            ay += dy * pull;
            az += dz * pull;
            energy += (u.w * w.w - q.w) * inv;
        }
        __syncthreads();
    }
    out[own] = make_float4(ax, ay, az, energy);
}
extern "C" __global__ void __launch_bounds__(64) bodies_in_turn_together(const float4 *sources, float4 *out, int count) { bodies_in_turn<false>(sources, out, count); }
extern "C" __global__ void __launch_bounds__(64) bodies_in_turn_apart(const float4 *sources, float4 *out, int count) { bodies_in_turn<true>(sources, out, count); }
