// Layers and small products of the thirty-seventh set: a dilated causal convolution and few tokens on tensor cores, doubles, cheapest ways by short numbers, small matrices by shuffles, a turned
// matrix by a vector.
#include <cuda_fp16.h>
#include <cuda_runtime.h>

enum Tile { PLAIN, PADDED, SWIZZLED };

__device__ __forceinline__ unsigned shared_address(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }
__device__ __forceinline__ void copy16(void *to, const void *from) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared_address(to)), "l"(from) : "memory");
}
// Sixteen bytes, or zeros where there is nothing to copy.
__device__ __forceinline__ void copy16_or_zeros(void *to, const void *from, bool there) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared_address(to)), "l"(from), "r"(there ? 16 : 0) : "memory");
}
__device__ __forceinline__ void copies_sent() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int LEFT> __device__ __forceinline__ void copies_wait() { asm volatile("cp.async.wait_group %0;" ::"n"(LEFT) : "memory"); }
__device__ __forceinline__ void load4(unsigned (&r)[4], const void *p) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];" : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(shared_address(p)) : "memory");
}
__device__ __forceinline__ void mma_f16(float (&d)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
template <Tile T> __device__ __forceinline__ int place(int row, int chunk) {
    return row * (T == PADDED ? 72 : 64) + (T == SWIZZLED ? chunk ^ (row & 7) : chunk) * 8;
}

// ---------------------------------------------------------------------------------------------------------------------
// A layer of a network for sound: three taps that are `dilation` steps apart look back in time, 192 channels to 128, a bias, no negative results. Halves, channels last.
// 128 steps and 64 results a block of eight warps; a turn takes 64 channels of one tap, the next one is on its way meanwhile. Before the beginning are zeros.
template <Tile T> __device__ __forceinline__ void dilated(const __half *X, const __half *W, const float *bias, __half *Y, int length, int dilation) {
    constexpr int INS = 192, OUTS = 128;
    __shared__ __align__(128) __half stages[2][192 * 64];
    const int t = threadIdx.x, lane = t % 32, warp = t / 32, wm = warp / 2, wn = warp % 2, t0 = blockIdx.x * 128, o0 = blockIdx.y * 64;
    const __half *sound = X + (size_t)blockIdx.z * length * INS;
    auto fetch = [&](int n) {
        const int tap = n / 3, channel = n % 3 * 64 + t % 8 * 8;
        __half *to = stages[n & 1];
#pragma unroll
        for (int i = 0; i < 4; i++) {
            const int row = t / 8 + i * 32, when = t0 + row - (2 - tap) * dilation;
            copy16_or_zeros(to + place<T>(row, t % 8), sound + (size_t)max(when, 0) * INS + channel, when >= 0);
        }
#pragma unroll
        for (int i = 0; i < 2; i++) copy16(to + place<T>(128 + t / 8 + i * 32, t % 8), W + (size_t)(tap * OUTS + o0 + t / 8 + i * 32) * INS + channel);
        copies_sent();
    };
    float acc[2][4][4] = {};
    fetch(0);
#pragma unroll 1
    for (int n = 0; n < 9; n++) {
        copies_wait<0>();
        __syncthreads();
        if (n < 8) fetch(n + 1);
        const __half *now = stages[n & 1];
#pragma unroll
        for (int kk = 0; kk < 4; kk++) {
            unsigned a[2][4], b[2][4];
#pragma unroll
            for (int i = 0; i < 2; i++) load4(a[i], now + place<T>(wm * 32 + i * 16 + lane % 16, kk * 2 + lane / 16));
#pragma unroll
            for (int j = 0; j < 2; j++) load4(b[j], now + place<T>(128 + wn * 32 + j * 16 + lane / 16 * 8 + lane % 8, kk * 2 + lane / 8 % 2));
#pragma unroll
            for (int i = 0; i < 2; i++)
#pragma unroll
                for (int j = 0; j < 4; j++) mma_f16(acc[i][j], a[i], b[j / 2][j % 2 * 2], b[j / 2][j % 2 * 2 + 1]);
        }
    }
#pragma unroll
    for (int j = 0; j < 4; j++) {
        const int o = o0 + wn * 32 + j * 8 + lane % 4 * 2;
        const float2 b = *reinterpret_cast<const float2 *>(bias + o);
#pragma unroll
        for (int i = 0; i < 2; i++)
#pragma unroll
            for (int h = 0; h < 2; h++) {
                const size_t when = (size_t)blockIdx.z * length + t0 + wm * 32 + i * 16 + h * 8 + lane / 4;
                *reinterpret_cast<__half2 *>(Y + when * OUTS + o) = __floats2half2_rn(fmaxf(acc[i][j][h * 2] + b.x, 0.0f), fmaxf(acc[i][j][h * 2 + 1] + b.y, 0.0f));
            }
    }
}
extern "C" __global__ void __launch_bounds__(256) dilated_plain(const __half *X, const __half *W, const float *bias, __half *Y, int length, int dilation) {
    dilated<PLAIN>(X, W, bias, Y, length, dilation);
}
extern "C" __global__ void __launch_bounds__(256) dilated_swizzled(const __half *X, const __half *W, const float *bias, __half *Y, int length, int dilation) {
    dilated<SWIZZLED>(X, W, bias, Y, length, dilation);
}

// ---------------------------------------------------------------------------------------------------------------------
// Sixteen tokens by a matrix of weights, halves: 64 rows of weights a block, a warp has sixteen of them; 64 of the depth a stage, four stages.
template <int PAD> __device__ __forceinline__ void few_tokens(const __half *X, const __half *W, __half *Y, int N, int K) {
    constexpr int PITCH = 64 + PAD, STAGES = 4;
    __shared__ __align__(128) __half stages[STAGES][80 * PITCH];
    const int t = threadIdx.x, lane = t % 32, warp = t / 32, n0 = blockIdx.x * 64;
    const __half *from_w = W + (size_t)(n0 + t / 8) * K + t % 8 * 8, *from_x = X + (size_t)(t / 8) * K + t % 8 * 8;
    auto fetch = [&](int n) {
        __half *to = stages[n % STAGES] + t / 8 * PITCH + t % 8 * 8;
#pragma unroll
        for (int i = 0; i < 4; i++) copy16(to + i * 16 * PITCH, from_w + (size_t)i * 16 * K + n * 64);
        copy16(to + 64 * PITCH, from_x + n * 64);
    };
    const int steps = K / 64;
    for (int n = 0; n < STAGES - 1; n++) {
        fetch(n);
        copies_sent();
    }
    float acc[2][4] = {};
#pragma unroll 1
    for (int n = 0; n < steps; n++) {
        copies_wait<STAGES - 2>();
        __syncthreads();
        if (n + STAGES - 1 < steps) fetch(n + STAGES - 1);
        copies_sent();
        const __half *now = stages[n % STAGES];
#pragma unroll
        for (int kk = 0; kk < 4; kk++) {
            unsigned a[4], b[4];
            load4(a, now + (64 + lane % 16) * PITCH + (kk * 2 + lane / 16) * 8);
            load4(b, now + (warp * 16 + lane / 16 * 8 + lane % 8) * PITCH + (kk * 2 + lane / 8 % 2) * 8);
            mma_f16(acc[0], a, b[0], b[1]);
            mma_f16(acc[1], a, b[2], b[3]);
        }
    }
#pragma unroll
    for (int j = 0; j < 2; j++)
#pragma unroll
        for (int h = 0; h < 2; h++)
            *reinterpret_cast<__half2 *>(Y + (size_t)(lane / 4 + h * 8) * N + n0 + warp * 16 + j * 8 + lane % 4 * 2) = __floats2half2_rn(acc[j][h * 2], acc[j][h * 2 + 1]);
}
extern "C" __global__ void __launch_bounds__(128) few_tokens_plain(const __half *X, const __half *W, __half *Y, int N, int K) { few_tokens<0>(X, W, Y, N, K); }
extern "C" __global__ void __launch_bounds__(128) few_tokens_padded(const __half *X, const __half *W, __half *Y, int N, int K) { few_tokens<8>(X, W, Y, N, K); }

// ---------------------------------------------------------------------------------------------------------------------
// C = A B of doubles, 64 x 64 a block, 4 x 4 a thread, sixteen of the depth: A is stored turned, B read two at a time; the next tiles wait in registers.
template <int PAD> __device__ __forceinline__ void doubles_ahead(const double *A, const double *B, double *C, int N, int K) {
    __shared__ double As[16][64 + PAD];
    __shared__ __align__(16) double Bs[16][64];
    const int t = threadIdx.x, tx = t % 16, ty = t / 16;
    const double *from_a = A + (size_t)(blockIdx.y * 64 + t / 16) * K + t % 16;
    const double *from_b = B + (size_t)(t / 32) * N + blockIdx.x * 64 + t % 32 * 2;
    double ahead_a[4], acc[4][4] = {};
    double2 ahead_b[2];
    auto read = [&](int k0) {
#pragma unroll
        for (int i = 0; i < 4; i++) ahead_a[i] = from_a[(size_t)i * 16 * K + k0];
#pragma unroll
        for (int i = 0; i < 2; i++) ahead_b[i] = *reinterpret_cast<const double2 *>(from_b + (size_t)(k0 + i * 8) * N);
    };
    read(0);
    for (int k0 = 0; k0 < K; k0 += 16) {
#pragma unroll
        for (int i = 0; i < 4; i++) As[t % 16][t / 16 + i * 16] = ahead_a[i];
#pragma unroll
        for (int i = 0; i < 2; i++) *reinterpret_cast<double2 *>(&Bs[t / 32 + i * 8][t % 32 * 2]) = ahead_b[i];
        __syncthreads();
        if (k0 + 16 < K) read(k0 + 16);
#pragma unroll
        for (int k = 0; k < 16; k++) {
            const double2 b0 = *reinterpret_cast<const double2 *>(&Bs[k][tx * 2]), b1 = *reinterpret_cast<const double2 *>(&Bs[k][tx * 2 + 32]);
#pragma unroll
            for (int i = 0; i < 4; i++) {
                const double a = As[k][ty + i * 16];
                acc[i][0] += a * b0.x;
                acc[i][1] += a * b0.y;
                acc[i][2] += a * b1.x;
                acc[i][3] += a * b1.y;
            }
        }
        __syncthreads();
    }
#pragma unroll
    for (int i = 0; i < 4; i++) {
        double2 *to = reinterpret_cast<double2 *>(C + (size_t)(blockIdx.y * 64 + ty + i * 16) * N + blockIdx.x * 64 + tx * 2);
        to[0] = make_double2(acc[i][0], acc[i][1]);
        to[16] = make_double2(acc[i][2], acc[i][3]);
    }
}
extern "C" __global__ void __launch_bounds__(256) doubles_ahead_plain(const double *A, const double *B, double *C, int N, int K) { doubles_ahead<0>(A, B, C, N, K); }
extern "C" __global__ void __launch_bounds__(256) doubles_ahead_padded(const double *A, const double *B, double *C, int N, int K) { doubles_ahead<1>(A, B, C, N, K); }

// ---------------------------------------------------------------------------------------------------------------------
// The cheapest of all ways over one stop, C = min over k of A[i][k] + B[k][j], in pairs of short numbers by one instruction a pair: 64 x 64 a block of 128 threads, four rows and eight
// columns each, 32 stops a step.
template <int PAD> __device__ __forceinline__ void cheapest_ways(const unsigned *A, const uint4 *B, uint4 *C, int N, int K) {
    constexpr int PITCH = 64 + PAD;
    __shared__ __align__(16) unsigned As[16 * PITCH];  // pairs of stops, turned
    __shared__ uint4 Bs[32 * 8];
    const int t = threadIdx.x, tx = t % 8, ty = t / 8;
    unsigned least[4][4];
#pragma unroll
    for (int i = 0; i < 4; i++)
#pragma unroll
        for (int j = 0; j < 4; j++) least[i][j] = 0x7fff7fffu;
    for (int k0 = 0; k0 < K; k0 += 32) {
#pragma unroll
        for (int i = 0; i < 8; i++) As[t % 16 * PITCH + t / 16 + i * 8] = A[((size_t)(blockIdx.y * 64 + t / 16 + i * 8) * K + k0) / 2 + t % 16];
#pragma unroll
        for (int i = 0; i < 2; i++) Bs[t + i * 128] = B[((size_t)(k0 + t / 8 + i * 16) * N + blockIdx.x * 64) / 8 + tx];
        __syncthreads();
#pragma unroll
        for (int k = 0; k < 16; k++) {
            const uint4 first = Bs[k * 16 + tx], second = Bs[k * 16 + 8 + tx];
            const uint4 rows = *reinterpret_cast<const uint4 *>(As + k * PITCH + ty * 4);
            const unsigned a[4] = {rows.x, rows.y, rows.z, rows.w}, x[4] = {first.x, first.y, first.z, first.w}, y[4] = {second.x, second.y, second.z, second.w};
#pragma unroll
            for (int i = 0; i < 4; i++) {
                const unsigned low = __byte_perm(a[i], a[i], 0x1010), high = __byte_perm(a[i], a[i], 0x3232);
#pragma unroll
                for (int j = 0; j < 4; j++) least[i][j] = __viaddmin_s16x2(high, y[j], __viaddmin_s16x2(low, x[j], least[i][j]));
            }
        }
        __syncthreads();
    }
#pragma unroll
    for (int i = 0; i < 4; i++) C[((size_t)(blockIdx.y * 64 + ty * 4 + i) * N + blockIdx.x * 64) / 8 + tx] = make_uint4(least[i][0], least[i][1], least[i][2], least[i][3]);
}
extern "C" __global__ void __launch_bounds__(128) cheapest_ways_plain(const unsigned *A, const uint4 *B, uint4 *C, int N, int K) { cheapest_ways<0>(A, B, C, N, K); }
extern "C" __global__ void __launch_bounds__(128) cheapest_ways_padded(const unsigned *A, const uint4 *B, uint4 *C, int N, int K) { cheapest_ways<4>(A, B, C, N, K); }

// ---------------------------------------------------------------------------------------------------------------------
// Products of 16 x 16 matrices, one a warp, without shared memory: a lane has half a row of each, and asks other lanes for the rest.
extern "C" __global__ void __launch_bounds__(128) small_by_shuffles(const float4 *A, const float4 *B, float4 *C, int matrices) {
    const int lane = threadIdx.x % 32, row = lane % 16, half = lane / 16, which = blockIdx.x * 4 + threadIdx.x / 32;
    if (which >= matrices) return;
    const size_t at = (size_t)which * 64 + row * 4 + half * 2;
    const float4 a0 = A[at], a1 = A[at + 1], b0 = B[at], b1 = B[at + 1];
    const float a[8] = {a0.x, a0.y, a0.z, a0.w, a1.x, a1.y, a1.z, a1.w}, b[8] = {b0.x, b0.y, b0.z, b0.w, b1.x, b1.y, b1.z, b1.w};
    float c[8] = {};
#pragma unroll
    for (int k = 0; k < 16; k++) {
        const float x = __shfl_sync(0xffffffff, a[k % 8], row + k / 8 * 16);
#pragma unroll
        for (int j = 0; j < 8; j++) c[j] = fmaf(x, __shfl_sync(0xffffffff, b[j], k + half * 16), c[j]);
    }
    C[at] = make_float4(c[0], c[1], c[2], c[3]);
    C[at + 1] = make_float4(c[4], c[5], c[6], c[7]);
}

// y += A' x by rows of A: four columns a thread, `each` rows a block, what they come to added by atomics.
extern "C" __global__ void __launch_bounds__(128) turned_by_vector(const float4 *A, const float *x, float *y, int columns, int each) {
    const int column = blockIdx.x * 128 + threadIdx.x;
    const size_t fours = columns / 4;
    const float4 *from = A + (size_t)blockIdx.y * each * fours + column;
    const float *weights = x + blockIdx.y * each;
    float4 sum = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
#pragma unroll 8
    for (int r = 0; r < each; r++) {
        const float4 v = from[r * fours];
        const float w = weights[r];
        sum.x += v.x * w, sum.y += v.y * w, sum.z += v.z * w, sum.w += v.w * w;
    }
    atomicAdd(y + column * 4, sum.x);
    atomicAdd(y + column * 4 + 1, sum.y);
    atomicAdd(y + column * 4 + 2, sum.z);
    atomicAdd(y + column * 4 + 3, sum.w);
}
