// Layers of the thirty-eighth set: a depth that warps share, on tensor cores; tall tiles of floats, pixels by channels, layers of signs, triangles of doubles; and, where no layout differs,
// tensor cores alone, norms over channels, samples of a picture.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

enum Tile { PLAIN, PADDED, SWIZZLED };

__device__ __forceinline__ unsigned shared_address(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }
__device__ __forceinline__ void copy16(void *to, const void *from) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared_address(to)), "l"(from) : "memory");
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

// ---------------------------------------------------------------------------------------------------------------------
// C = A B' of halves for a small result with a long depth: 64 x 64 a block, two groups of four warps take half of each stage's depth, and add what they have at the end. Three stages of 64.
template <int PAD> __device__ __forceinline__ void sliced_depth(const __half *A, const __half *B, __half *C, int N, int K) {
    constexpr int PITCH = 64 + PAD, STAGE = 128 * PITCH, STAGES = 3;
    extern __shared__ __align__(128) __half stages[];
    const int t = threadIdx.x, lane = t % 32, warp = t / 32, group = warp / 4, wm = warp / 2 % 2, wn = warp % 2;
    const __half *from_a = A + (size_t)(blockIdx.y * 64 + t / 8) * K + t % 8 * 8, *from_b = B + (size_t)(blockIdx.x * 64 + t / 8) * K + t % 8 * 8;
    auto fetch = [&](int n) {
        __half *to = stages + n % STAGES * STAGE + t / 8 * PITCH + t % 8 * 8;
#pragma unroll
        for (int i = 0; i < 2; i++) {
            copy16(to + i * 32 * PITCH, from_a + (size_t)i * 32 * K + n * 64);
            copy16(to + (64 + i * 32) * PITCH, from_b + (size_t)i * 32 * K + n * 64);
        }
    };
    const int steps = K / 64;
    for (int n = 0; n < STAGES - 1; n++) {
        fetch(n);
        copies_sent();
    }
    float acc[2][4][4] = {};
#pragma unroll 1
    for (int n = 0; n < steps; n++) {
        copies_wait<STAGES - 2>();
        __syncthreads();
        if (n + STAGES - 1 < steps) fetch(n + STAGES - 1);
        copies_sent();
        const __half *now = stages + n % STAGES * STAGE + group * 32;
#pragma unroll
        for (int kk = 0; kk < 2; kk++) {
            unsigned a[2][4], b[2][4];
#pragma unroll
            for (int i = 0; i < 2; i++) {
                load4(a[i], now + (wm * 32 + i * 16 + lane % 16) * PITCH + (kk * 2 + lane / 16) * 8);
                load4(b[i], now + (64 + wn * 32 + i * 16 + lane / 16 * 8 + lane % 8) * PITCH + (kk * 2 + lane / 8 % 2) * 8);
            }
#pragma unroll
            for (int i = 0; i < 2; i++)
#pragma unroll
                for (int j = 0; j < 4; j++) mma_f16(acc[i][j], a[i], b[j / 2][j % 2 * 2], b[j / 2][j % 2 * 2 + 1]);
        }
    }
    copies_wait<0>();
    __syncthreads();
    float *others = reinterpret_cast<float *>(stages) + t % 128;
    if (group == 1) {
#pragma unroll
        for (int e = 0; e < 32; e++) others[e * 128] = acc[e / 16][e / 4 % 4][e % 4];
    }
    __syncthreads();
    if (group == 1) return;
    __half *to = C + (size_t)(blockIdx.y * 64 + wm * 32 + lane / 4) * N + blockIdx.x * 64 + wn * 32 + lane % 4 * 2;
#pragma unroll
    for (int e = 0; e < 32; e += 2) {
        const float *own = &acc[e / 16][e / 4 % 4][e % 4];
        *reinterpret_cast<__half2 *>(to + (size_t)(e / 16 * 16 + e % 4 / 2 * 8) * N + e / 4 % 4 * 8) = __floats2half2_rn(own[0] + others[e * 128], own[1] + others[e * 128 + 128]);
    }
}
extern "C" __global__ void __launch_bounds__(256) sliced_depth_plain(const __half *A, const __half *B, __half *C, int N, int K) { sliced_depth<0>(A, B, C, N, K); }
extern "C" __global__ void __launch_bounds__(256) sliced_depth_padded(const __half *A, const __half *B, __half *C, int N, int K) { sliced_depth<8>(A, B, C, N, K); }

// Tensor cores alone: a warp multiplies what it has in registers, eight results at a time.
extern "C" __global__ void __launch_bounds__(256) tensor_rate(const uint4 *in, float *out, int steps) {
    const uint4 v = in[threadIdx.x];
    const unsigned a[4] = {v.x, v.y, v.z, v.w};
    float acc[8][4] = {};
#pragma unroll 1
    for (int n = 0; n < steps; n++)
#pragma unroll
        for (int j = 0; j < 8; j++) mma_f16(acc[j], a, v.x, v.z);
    float sum = 0.0f;
#pragma unroll
    for (int j = 0; j < 8; j++) sum += acc[j][0] + acc[j][1] + acc[j][2] + acc[j][3];
    out[blockIdx.x * 256 + threadIdx.x] = sum;
}

// ---------------------------------------------------------------------------------------------------------------------
// C = A B of floats: 128 x 64 a block of 128 threads, 8 x 8 each, sixteen of the depth a step; A is stored turned, the next tiles wait in registers, two tiles in turn.
template <int PAD> __device__ __forceinline__ void tall_tiles(const float *A, const float *B, float *C, int N, int K) {
    constexpr int PITCH = 128 + PAD;
    __shared__ __align__(16) float as[2][16 * PITCH], bs[2][16 * 64];
    const int t = threadIdx.x, tx = t % 8, ty = t / 8;
    const float *from_a = A + (size_t)(blockIdx.y * 128 + t / 4) * K + t % 4 * 4, *from_b = B + (size_t)(t / 16) * N + blockIdx.x * 64 + t % 16 * 4;
    float4 ahead_a[4], ahead_b[2];
    auto read = [&](int k0) {
#pragma unroll
        for (int i = 0; i < 4; i++) ahead_a[i] = *reinterpret_cast<const float4 *>(from_a + (size_t)i * 32 * K + k0);
#pragma unroll
        for (int i = 0; i < 2; i++) ahead_b[i] = *reinterpret_cast<const float4 *>(from_b + (size_t)(k0 + i * 8) * N);
    };
    auto put = [&](int which) {
#pragma unroll
        for (int i = 0; i < 4; i++) {
            float *to = as[which] + t % 4 * 4 * PITCH + t / 4 + i * 32;
            to[0] = ahead_a[i].x, to[PITCH] = ahead_a[i].y, to[2 * PITCH] = ahead_a[i].z, to[3 * PITCH] = ahead_a[i].w;
        }
#pragma unroll
        for (int i = 0; i < 2; i++) *reinterpret_cast<float4 *>(bs[which] + (t / 16 + i * 8) * 64 + t % 16 * 4) = ahead_b[i];
    };
    float acc[8][8] = {};
    read(0);
    put(0);
    __syncthreads();
    const int steps = K / 16;
#pragma unroll 1
    for (int n = 0; n < steps; n++) {
        if (n + 1 < steps) read((n + 1) * 16);
        const float *ra = as[n & 1] + ty * 4, *rb = bs[n & 1] + tx * 4;
#pragma unroll
        for (int k = 0; k < 16; k++) {
            const float4 a0 = *reinterpret_cast<const float4 *>(ra + k * PITCH), a1 = *reinterpret_cast<const float4 *>(ra + k * PITCH + 64);
            const float4 b0 = *reinterpret_cast<const float4 *>(rb + k * 64), b1 = *reinterpret_cast<const float4 *>(rb + k * 64 + 32);
            const float a[8] = {a0.x, a0.y, a0.z, a0.w, a1.x, a1.y, a1.z, a1.w}, b[8] = {b0.x, b0.y, b0.z, b0.w, b1.x, b1.y, b1.z, b1.w};
#pragma unroll
            for (int i = 0; i < 8; i++)
#pragma unroll
                for (int j = 0; j < 8; j++) acc[i][j] += a[i] * b[j];
        }
        if (n + 1 < steps) put(n + 1 & 1);
        __syncthreads();
    }
#pragma unroll
    for (int i = 0; i < 8; i++) {
        float4 *to = reinterpret_cast<float4 *>(C + (size_t)(blockIdx.y * 128 + ty * 4 + i / 4 * 64 + i % 4) * N + blockIdx.x * 64 + tx * 4);
        to[0] = make_float4(acc[i][0], acc[i][1], acc[i][2], acc[i][3]);
        to[8] = make_float4(acc[i][4], acc[i][5], acc[i][6], acc[i][7]);
    }
}
extern "C" __global__ void __launch_bounds__(128) tall_tiles_plain(const float *A, const float *B, float *C, int N, int K) { tall_tiles<0>(A, B, C, N, K); }
extern "C" __global__ void __launch_bounds__(128) tall_tiles_padded(const float *A, const float *B, float *C, int N, int K) { tall_tiles<4>(A, B, C, N, K); }

// ---------------------------------------------------------------------------------------------------------------------
// 32 channels of a pixel to 16, channels last, floats: a pixel a thread, four channels at a time from shared memory; all threads read the same weights.
template <Tile T> __device__ __forceinline__ void pixels_by_channels(const float4 *in, const float4 *weights, const float *bias, float4 *out) {
    constexpr int PITCH = T == PADDED ? 9 : 8;  // of fours
    __shared__ float4 pixels[128 * PITCH], taps[128];
    const int t = threadIdx.x;
    const size_t base = (size_t)blockIdx.x * 1024;
    auto at = [](int pixel, int four) { return pixel * PITCH + (T == SWIZZLED ? four ^ (pixel & 7) : four); };
#pragma unroll
    for (int i = t; i < 1024; i += 128) pixels[at(i / 8, i % 8)] = in[base + i];
    taps[t] = weights[t];
    __syncthreads();
    float sums[16];
#pragma unroll
    for (int o = 0; o < 16; o++) sums[o] = bias[o];
#pragma unroll
    for (int c = 0; c < 8; c++) {
        const float4 v = pixels[at(t, c)];
#pragma unroll
        for (int o = 0; o < 16; o++) {
            const float4 w = taps[o * 8 + c];
            sums[o] += v.x * w.x + v.y * w.y + v.z * w.z + v.w * w.w;
        }
    }
    float4 *to = out + ((size_t)blockIdx.x * 128 + t) * 4;
#pragma unroll
    for (int o = 0; o < 4; o++) to[o] = make_float4(fmaxf(sums[o * 4], 0.0f), fmaxf(sums[o * 4 + 1], 0.0f), fmaxf(sums[o * 4 + 2], 0.0f), fmaxf(sums[o * 4 + 3], 0.0f));
}
extern "C" __global__ void __launch_bounds__(128) pixels_by_channels_plain(const float4 *in, const float4 *w, const float *b, float4 *out) { pixels_by_channels<PLAIN>(in, w, b, out); }
extern "C" __global__ void __launch_bounds__(128) pixels_by_channels_padded(const float4 *in, const float4 *w, const float *b, float4 *out) { pixels_by_channels<PADDED>(in, w, b, out); }
extern "C" __global__ void __launch_bounds__(128) pixels_by_channels_swizzled(const float4 *in, const float4 *w, const float *b, float4 *out) { pixels_by_channels<SWIZZLED>(in, w, b, out); }

// ---------------------------------------------------------------------------------------------------------------------
// A layer of signs, 32 a word: C = bits - 2 popc(A ^ B'), 64 x 64 a block of 256 threads, 4 x 4 each, 32 words of the depth a step.
template <int PITCH> __device__ __forceinline__ void layer_of_signs(const unsigned *A, const unsigned *B, int *C, int N, int words) {
    __shared__ unsigned as[64 * PITCH], bs[64 * PITCH];
    const int t = threadIdx.x, lane = t % 32, warp = t / 32, tx = t % 16, ty = t / 16;
    const unsigned *from_a = A + (size_t)blockIdx.y * 64 * words + lane, *from_b = B + (size_t)blockIdx.x * 64 * words + lane;
    int unlike[4][4] = {};
    for (int k0 = 0; k0 < words; k0 += 32) {
#pragma unroll
        for (int r = warp; r < 64; r += 8) {
            as[r * PITCH + lane] = from_a[(size_t)r * words + k0];
            bs[r * PITCH + lane] = from_b[(size_t)r * words + k0];
        }
        __syncthreads();
#pragma unroll 8
        for (int k = 0; k < 32; k++) {
            unsigned a[4], b[4];
#pragma unroll
            for (int i = 0; i < 4; i++) a[i] = as[(ty + i * 16) * PITCH + k], b[i] = bs[(tx + i * 16) * PITCH + k];
#pragma unroll
            for (int i = 0; i < 4; i++)
#pragma unroll
                for (int j = 0; j < 4; j++) unlike[i][j] += __popc(a[i] ^ b[j]);
        }
        __syncthreads();
    }
#pragma unroll
    for (int i = 0; i < 4; i++)
#pragma unroll
        for (int j = 0; j < 4; j++) C[(size_t)(blockIdx.y * 64 + ty + i * 16) * N + blockIdx.x * 64 + tx + j * 16] = words * 32 - 2 * unlike[i][j];
}
extern "C" __global__ void __launch_bounds__(256) layer_of_signs_plain(const unsigned *A, const unsigned *B, int *C, int N, int words) { layer_of_signs<32>(A, B, C, N, words); }
extern "C" __global__ void __launch_bounds__(256) layer_of_signs_padded(const unsigned *A, const unsigned *B, int *C, int N, int words) { layer_of_signs<33>(A, B, C, N, words); }

// ---------------------------------------------------------------------------------------------------------------------
// L X = B of doubles, lower triangles of 32 x 32 with four right sides, one a warp and a row a lane. The diagonal gets 40 more.
template <int PITCH> __device__ __forceinline__ void triangles_of_doubles(const double *L, const double *B, double *X) {
    __shared__ double rooms[4][32 * PITCH];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const size_t which = (size_t)blockIdx.x * 4 + warp;
    double *a = rooms[warp], x[4];
#pragma unroll 8
    for (int r = 0; r < 32; r++) a[r * PITCH + lane] = L[which * 1024 + r * 32 + lane];
#pragma unroll
    for (int j = 0; j < 4; j++) x[j] = B[which * 128 + j * 32 + lane];
    __syncwarp();
    const double by = 1.0 / (a[lane * PITCH + lane] + 40.0);
#pragma unroll 4
    for (int k = 0; k < 32; k++) {
        const double below = lane > k ? a[lane * PITCH + k] : 0.0;
#pragma unroll
        for (int j = 0; j < 4; j++) {
            if (lane == k) x[j] *= by;
            x[j] -= below * __shfl_sync(0xffffffff, x[j], k);
        }
    }
#pragma unroll
    for (int j = 0; j < 4; j++) X[which * 128 + j * 32 + lane] = x[j];
}
extern "C" __global__ void __launch_bounds__(128) triangles_of_doubles_plain(const double *L, const double *B, double *X) { triangles_of_doubles<32>(L, B, X); }
extern "C" __global__ void __launch_bounds__(128) triangles_of_doubles_padded(const double *L, const double *B, double *X) { triangles_of_doubles<33>(L, B, X); }

// ---------------------------------------------------------------------------------------------------------------------
// Each pixel normalized over its channels, channels first, two pixels a thread: what is read for the moments is read again.
extern "C" __global__ void __launch_bounds__(128) norm_over_channels(const float2 *in, const float *gains, const float *biases, float2 *out, int channels, int pairs) {
    const size_t at = (size_t)blockIdx.y * channels * pairs + blockIdx.x * 128 + threadIdx.x;
    float2 sum = make_float2(0.0f, 0.0f), square = make_float2(0.0f, 0.0f);
#pragma unroll 8
    for (int c = 0; c < channels; c++) {
        const float2 v = in[at + (size_t)c * pairs];
        sum.x += v.x, sum.y += v.y, square.x += v.x * v.x, square.y += v.y * v.y;
    }
    const float2 mean = make_float2(sum.x / channels, sum.y / channels);
    const float by_x = rsqrtf(fmaxf(square.x / channels - mean.x * mean.x, 0.0f) + 1e-6f), by_y = rsqrtf(fmaxf(square.y / channels - mean.y * mean.y, 0.0f) + 1e-6f);
#pragma unroll 8
    for (int c = 0; c < channels; c++) {
        const float2 v = in[at + (size_t)c * pairs];
        out[at + (size_t)c * pairs] = make_float2((v.x - mean.x) * by_x * gains[c] + biases[c], (v.y - mean.y) * by_y * gains[c] + biases[c]);
    }
}

// Samples of a picture of four channels at places anywhere in it, between its pixels.
extern "C" __global__ void __launch_bounds__(256) samples_of_a_picture(const float4 *picture, const float2 *places, float4 *out, int width, int height, int count) {
    const int i = blockIdx.x * 256 + threadIdx.x;
    if (i >= count) return;
    const float2 place = places[i];
    const float x = __saturatef(fabsf(place.x)) * (width - 1), y = __saturatef(fabsf(place.y)) * (height - 1);
    const int x0 = min((int)x, width - 2), y0 = min((int)y, height - 2);
    const float fx = x - x0, fy = y - y0;
    const float4 *from = picture + (size_t)y0 * width + x0;
    const float4 a = from[0], b = from[1], c = from[width], d = from[width + 1];
    const float wa = (1.0f - fx) * (1.0f - fy), wb = fx * (1.0f - fy), wc = (1.0f - fx) * fy, wd = fx * fy;
    out[i] = make_float4(a.x * wa + b.x * wb + c.x * wc + d.x * wd, a.y * wa + b.y * wb + c.y * wc + d.y * wd, a.z * wa + b.z * wb + c.z * wc + d.z * wd, a.w * wa + b.w * wb + c.w * wc + d.w * wd);
}
