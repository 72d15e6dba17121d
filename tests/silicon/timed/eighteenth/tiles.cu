// Kernels of the eighteenth set in groups, which differ in the layout of shared memory alone: products, turned tiles, filters, transforms.
#include <cuda_fp16.h>

#define NAMED(NAME, THREADS, RUN, PARAMETERS, ARGUMENTS, ...) \
    extern "C" __global__ void __launch_bounds__(THREADS) NAME PARAMETERS { RUN<__VA_ARGS__> ARGUMENTS; }

// C = A B in floats: 128 by 64 a block, 16 along k, eight by four a thread; A lies turned, its rows 128 words apart or 132.
// The next tile is on its way in registers.
template <int PITCH> __device__ __forceinline__ void dense(const float4 *a, const float4 *b, float4 *c, int n, int depth) {
    __shared__ __align__(16) float left[2][16 * PITCH], right[2][16 * 64];
    const int t = threadIdx.x, ty = t / 16, tx = t % 16, row = t / 4, part = t % 4;
    const float4 *from_a = a + (size_t)(blockIdx.y * 128 + row) * (depth / 4) + part;
    const float4 *from_b = b + (size_t)(t / 16) * (n / 4) + blockIdx.x * 16 + tx;
    const auto keep = [&](int stage, float4 first, float4 second, float4 third) {
        float *to = left[stage] + part * 4 * PITCH + row;
        to[0] = first.x, to[PITCH] = first.y, to[2 * PITCH] = first.z, to[3 * PITCH] = first.w;
        to[64] = second.x, to[PITCH + 64] = second.y, to[2 * PITCH + 64] = second.z, to[3 * PITCH + 64] = second.w;
        ((float4 *)right[stage])[t] = third;
    };
    float sum[8][4] = {};
    keep(0, from_a[0], from_a[(size_t)64 * (depth / 4)], from_b[0]);
    __syncthreads();
    const int steps = depth / 16;
    for (int step = 0; step < steps; ++step) {
        float4 first, second, third;
        const bool more = step + 1 < steps;
        if (more) {
            first = from_a[(step + 1) * 4];
            second = from_a[(size_t)64 * (depth / 4) + (step + 1) * 4];
            third = from_b[(size_t)(step + 1) * 16 * (n / 4)];
        }
        #pragma unroll
        for (int k = 0; k < 16; ++k) {
            const float4 low = *(const float4 *)(left[step % 2] + k * PITCH + ty * 4);
            const float4 high = *(const float4 *)(left[step % 2] + k * PITCH + 64 + ty * 4);
            const float4 y = *(const float4 *)(right[step % 2] + k * 64 + tx * 4);
            const float x[8] = {low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w}, z[4] = {y.x, y.y, y.z, y.w};
            #pragma unroll
            for (int i = 0; i < 8; ++i)
                #pragma unroll
                for (int j = 0; j < 4; ++j) sum[i][j] += x[i] * z[j];
        }
        if (more) keep((step + 1) % 2, first, second, third);
        __syncthreads();
    }
    #pragma unroll
    for (int i = 0; i < 8; ++i) {
        const size_t to = blockIdx.y * 128 + i / 4 * 64 + ty * 4 + i % 4;
        c[to * (n / 4) + blockIdx.x * 16 + tx] = make_float4(sum[i][0], sum[i][1], sum[i][2], sum[i][3]);
    }
}
NAMED(dense_plain, 256, dense, (const float4 *a, const float4 *b, float4 *c, int n, int depth), (a, b, c, n, depth), 128)
NAMED(dense_padded, 256, dense, (const float4 *a, const float4 *b, float4 *c, int n, int depth), (a, b, c, n, depth), 132)

// A matrix of complex doubles turned, by tiles of 16 by 16: rows of 16 elements, or of 17.
template <int PITCH> __device__ __forceinline__ void turn_complex(const double2 *from, double2 *to, int width, int height) {
    __shared__ double2 tile[16 * PITCH];
    const int x = threadIdx.x, y = threadIdx.y;
    tile[y * PITCH + x] = from[(size_t)(blockIdx.y * 16 + y) * width + blockIdx.x * 16 + x];
    __syncthreads();
    to[(size_t)(blockIdx.x * 16 + y) * height + blockIdx.y * 16 + x] = tile[x * PITCH + y];
}
NAMED(turn_complex_plain, 256, turn_complex, (const double2 *from, double2 *to, int width, int height), (from, to, width, height), 16)
NAMED(turn_complex_padded, 256, turn_complex, (const double2 *from, double2 *to, int width, int height), (from, to, width, height), 17)

// Pictures of halves whose channels come to lie last: 64 channels of 64 pixels a block, two at a time; rows of 64, or of 66.
template <int PITCH> __device__ __forceinline__ void channels_last(const __half2 *from, __half2 *to, int channels, int pixels) {
    __shared__ __align__(4) __half tile[64 * PITCH];
    const int t = threadIdx.x, lane = t % 32, warp = t / 32;
    const size_t base = (size_t)blockIdx.z * channels * pixels;
    #pragma unroll
    for (int r = 0; r < 8; ++r) {
        const int channel = r * 8 + warp;
        *(__half2 *)(tile + channel * PITCH + 2 * lane) = from[(base + (size_t)(blockIdx.y * 64 + channel) * pixels) / 2 + blockIdx.x * 32 + lane];
    }
    __syncthreads();
    #pragma unroll
    for (int r = 0; r < 8; ++r) {
        const int pixel = r * 8 + warp;
        to[(base + (size_t)(blockIdx.x * 64 + pixel) * channels) / 2 + blockIdx.y * 32 + lane] =
            __halves2half2(tile[2 * lane * PITCH + pixel], tile[(2 * lane + 1) * PITCH + pixel]);
    }
}
NAMED(channels_last_plain, 256, channels_last, (const __half2 *from, __half2 *to, int channels, int pixels), (from, to, channels, pixels), 64)
NAMED(channels_last_padded, 256, channels_last, (const __half2 *from, __half2 *to, int channels, int pixels), (from, to, channels, pixels), 66)

// A signal at an eighth of its rate, by 64 taps: samples come by asynchronous copies and lie as they came, or a word is left
// out after every 32.
template <bool PADDED> __device__ __forceinline__ void decimated(const float *signal, const float *taps, float *out) {
    __shared__ float held[2112 + 66], weights[64];
    const auto at = [](int i) { return PADDED ? i + i / 32 : i; };
    const int t = threadIdx.x;
    const float *own = signal + (size_t)blockIdx.x * 2048;
    for (int i = t; i < 2112; i += 256)
        asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"((unsigned)__cvta_generic_to_shared(held + at(i))), "l"(own + i) : "memory");
    if (t < 64) weights[t] = taps[t];
    asm volatile("cp.async.commit_group;\ncp.async.wait_group 0;" ::: "memory");
    __syncthreads();
    float sum = 0.0f;
    #pragma unroll 16
    for (int k = 0; k < 64; ++k) sum += weights[k] * held[at(8 * t + k)];
    out[blockIdx.x * 256 + t] = sum;
}
NAMED(decimated_plain, 256, decimated, (const float *signal, const float *taps, float *out), (signal, taps, out), false)
NAMED(decimated_padded, 256, decimated, (const float *signal, const float *taps, float *out), (signal, taps, out), true)

// Fourier transforms of 512 complex numbers, two a block, in three turns of eight by eight; what goes between turns lies as it
// is, or a word is left out after every eight.
__device__ __forceinline__ float2 times(float2 a, float2 b) { return make_float2(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x); }
__device__ __forceinline__ void two(float2 &a, float2 &b) {
    const float2 c = a;
    a = make_float2(c.x + b.x, c.y + b.y);
    b = make_float2(c.x - b.x, c.y - b.y);
}
__device__ __forceinline__ void eight(float2 (&v)[8]) {
    const float h = 0.70710678f;
    #pragma unroll
    for (int i = 0; i < 4; ++i) two(v[i], v[i + 4]);
    v[5] = times(v[5], make_float2(h, -h));
    v[6] = make_float2(v[6].y, -v[6].x);
    v[7] = times(v[7], make_float2(-h, -h));
    #pragma unroll
    for (int i = 0; i < 8; i += 4) {
        two(v[i], v[i + 2]);
        two(v[i + 1], v[i + 3]);
        v[i + 3] = make_float2(v[i + 3].y, -v[i + 3].x);
        two(v[i], v[i + 1]);
        two(v[i + 2], v[i + 3]);
    }
}
template <bool PADDED> __device__ __forceinline__ void radix_eight(const float2 *from, float2 *to) {
    __shared__ float reals[2][576], imaginaries[2][576];
    constexpr int kOrder[8] = {0, 4, 2, 6, 1, 5, 3, 7};
    const auto at = [](int i) { return PADDED ? i + i / 8 : i; };
    const int t = threadIdx.x % 64, one = threadIdx.x / 64;
    const size_t base = ((size_t)blockIdx.x * 2 + one) * 512;
    float *re = reals[one], *im = imaginaries[one];
    float2 v[8];
    const auto spread = [&](float angle, int first, int apart) {
        #pragma unroll
        for (int k = 0; k < 8; ++k) {
            float s, c;
            __sincosf(angle * k, &s, &c);
            const float2 w = times(v[kOrder[k]], make_float2(c, s));
            re[at(first + apart * k)] = w.x;
            im[at(first + apart * k)] = w.y;
        }
    };
    const auto collect = [&](int first, int apart) {
        #pragma unroll
        for (int k = 0; k < 8; ++k) v[k] = make_float2(re[at(first + apart * k)], im[at(first + apart * k)]);
    };
    #pragma unroll
    for (int k = 0; k < 8; ++k) v[k] = from[base + t + 64 * k];
    eight(v);
    spread(-6.2831853f / 512.0f * t, t, 64);
    __syncthreads();
    collect(t / 8 * 64 + t % 8, 8);
    eight(v);
    __syncthreads();
    spread(-6.2831853f / 64.0f * (t % 8), t / 8 * 64 + t % 8, 8);
    __syncthreads();
    collect(t % 8 * 64 + t / 8 * 8, 1);
    eight(v);
    #pragma unroll
    for (int k = 0; k < 8; ++k) to[base + t + 64 * k] = v[kOrder[k]];
}
NAMED(radix_eight_plain, 128, radix_eight, (const float2 *from, float2 *to), (from, to), false)
NAMED(radix_eight_padded, 128, radix_eight, (const float2 *from, float2 *to), (from, to), true)
