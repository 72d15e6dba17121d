// Kernels of the sixteenth set in groups, which differ in the layout of shared memory alone.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#define NAMED(NAME, THREADS, RUN, PARAMETERS, ARGUMENTS, ...) \
    extern "C" __global__ void __launch_bounds__(THREADS) NAME PARAMETERS { RUN<__VA_ARGS__> ARGUMENTS; }
#define ALL 0xffffffffu

// How 27 features of 64 numbers go with each other (a model that recommends): a block to a sample, a thread to a pair of
// features or three. Rows of 64 words, or of 65.
template <int PITCH> __device__ __forceinline__ void interactions(const float *features, float *out) {
    __shared__ float held[27 * PITCH];
    const int t = threadIdx.x;
    const float *own = features + (size_t)blockIdx.x * 27 * 64;
    float *to = out + (size_t)blockIdx.x * 415;
    for (int k = t; k < 27 * 64; k += 128) held[k / 64 * PITCH + k % 64] = own[k];
    __syncthreads();
    if (t < 64) to[t] = held[t];
    for (int pair = t; pair < 351; pair += 128) {
        const int i = (int)((1.0f + sqrtf(8.0f * pair + 1.0f)) * 0.5f), j = pair - i * (i - 1) / 2;
        const float *a = held + i * PITCH, *b = held + j * PITCH;
        float sum = 0.0f;
        #pragma unroll 16
        for (int k = 0; k < 64; ++k) sum += a[k] * b[k];
        to[64 + pair] = sum;
    }
}
NAMED(interactions_plain, 128, interactions, (const float *features, float *out), (features, out), 64)
NAMED(interactions_padded, 128, interactions, (const float *features, float *out), (features, out), 65)

// Where a text may be cut so that the same parts come again (content-defined chunks): a gear hash of the last 64 letters by a
// table of words of 64 bits. Their halves lie together, or in arrays of their own.
template <bool APART> __device__ __forceinline__ void gear(const uint4 *text, const unsigned *seeds, uint2 *cuts, unsigned low_mask, unsigned high_mask) {
    __shared__ __align__(8) unsigned table[512];
    const int t = threadIdx.x;
    const unsigned low = seeds[2 * t], high = seeds[2 * t + 1];
    if (APART) {
        table[t] = low;
        table[256 + t] = high;
    } else {
        ((uint2 *)table)[t] = make_uint2(low, high);
    }
    __syncthreads();
    const size_t piece = (size_t)blockIdx.x * 256 + t;
    unsigned long long hash = 0;
    unsigned long long found = 0;
    #pragma unroll 1
    for (int part = piece ? 0 : 4; part < 8; ++part) {
        const uint4 v = text[piece * 4 + part - 4];
        const unsigned words[4] = {v.x, v.y, v.z, v.w};
        unsigned bits = 0;
        #pragma unroll
        for (int k = 0; k < 16; ++k) {
            const unsigned letter = words[k / 4] >> 8 * (k % 4) & 255;
            uint2 g;
            if (APART) g.x = table[letter], g.y = table[256 + letter];
            else g = ((const uint2 *)table)[letter];
            hash = (hash << 1) + ((unsigned long long)g.y << 32 | g.x);
            if (!((unsigned)hash & low_mask) && !((unsigned)(hash >> 32) & high_mask)) bits |= 1u << k;
        }
        if (part >= 4) found = found >> 16 | (unsigned long long)bits << 48;
    }
    cuts[piece] = make_uint2((unsigned)found, (unsigned)(found >> 32));
}
#define GEAR(NAME, APART) \
    NAMED(NAME, 256, gear, (const uint4 *text, const unsigned *seeds, uint2 *cuts, unsigned low, unsigned high), (text, seeds, cuts, low, high), APART)
GEAR(gear_together, false)
GEAR(gear_apart, true)

// Tiles of 64 by 64 brain floats to bytes e4m3 with a scale to each tile, both as they lie and turned. The tile of bytes has
// rows of 16 words (HOW 0), of 17 (1), or swizzled ones (2).
template <int HOW> __device__ __forceinline__ void to_bytes(const uint4 *in, uint2 *out, unsigned *turned, float *scales, int columns, int rows) {
    constexpr int P = HOW == 1 ? 17 : 16;
    __shared__ unsigned tile[64 * P];
    __shared__ float most_of[8];
    const int t = threadIdx.x, lane = t % 32, warp = t / 32;
    const auto at = [](int row, int word) { return row * P + (HOW == 2 ? word ^ (row / 4 & 15) : word); };
    float x[2][8], most = 0.0f;
    #pragma unroll
    for (int r = 0; r < 2; ++r) {
        const int row = blockIdx.y * 64 + r * 32 + t / 8;
        const uint4 v = in[(size_t)row * (columns / 8) + blockIdx.x * 8 + t % 8];
        const unsigned words[4] = {v.x, v.y, v.z, v.w};
        #pragma unroll
        for (int k = 0; k < 8; ++k) {
            x[r][k] = __uint_as_float(k % 2 ? words[k / 2] & 0xffff0000u : words[k / 2] << 16);
            most = fmaxf(most, fabsf(x[r][k]));
        }
    }
    for (int d = 16; d > 0; d >>= 1) most = fmaxf(most, __shfl_xor_sync(ALL, most, d));
    if (lane == 0) most_of[warp] = most;
    __syncthreads();
    #pragma unroll
    for (int k = 0; k < 8; ++k) most = fmaxf(most, most_of[k]);
    const float by = 448.0f / fmaxf(most, 1e-12f);
    if (t == 0) scales[blockIdx.y * gridDim.x + blockIdx.x] = most * (1.0f / 448.0f);
    #pragma unroll
    for (int r = 0; r < 2; ++r) {
        const int row = r * 32 + t / 8;
        unsigned words[2];
        #pragma unroll
        for (int k = 0; k < 2; ++k) {
            const float *v = x[r] + 4 * k;
            const unsigned low = __nv_cvt_float2_to_fp8x2(make_float2(v[0] * by, v[1] * by), __NV_SATFINITE, __NV_E4M3);
            const unsigned high = __nv_cvt_float2_to_fp8x2(make_float2(v[2] * by, v[3] * by), __NV_SATFINITE, __NV_E4M3);
            words[k] = low | high << 16;
            tile[at(row, t % 8 * 2 + k)] = words[k];
        }
        out[(size_t)(blockIdx.y * 64 + row) * (columns / 8) + blockIdx.x * 8 + t % 8] = make_uint2(words[0], words[1]);
    }
    __syncthreads();
    const int part = t % 16, word = t / 16;
    unsigned a[4];
    #pragma unroll
    for (int k = 0; k < 4; ++k) a[k] = tile[at(part * 4 + k, word)];
    const unsigned low = __byte_perm(a[0], a[1], 0x5140), high = __byte_perm(a[2], a[3], 0x5140);
    const unsigned low2 = __byte_perm(a[0], a[1], 0x7362), high2 = __byte_perm(a[2], a[3], 0x7362);
    const unsigned b[4] = {__byte_perm(low, high, 0x5410), __byte_perm(low, high, 0x7632), __byte_perm(low2, high2, 0x5410),
                           __byte_perm(low2, high2, 0x7632)};
    #pragma unroll
    for (int k = 0; k < 4; ++k)
        turned[(size_t)(blockIdx.x * 64 + word * 4 + k) * (rows / 4) + blockIdx.y * 16 + part] = b[k];
}
#define TO_BYTES(NAME, HOW)                                                                                                      \
    NAMED(NAME, 256, to_bytes, (const uint4 *in, uint2 *out, unsigned *turned, float *scales, int columns, int rows), \
          (in, out, turned, scales, columns, rows), HOW)
TO_BYTES(to_bytes_plain, 0)
TO_BYTES(to_bytes_padded, 1)
TO_BYTES(to_bytes_swizzled, 2)

// A step of a gas in two dimensions (Euler's equations, fluxes of Harten, Lax and van Leer): tiles of 32 by 8 with a margin
// of one. A place's four numbers lie together, or in planes.
struct State {
    float d, u, v, e;
};
struct Sides {
    float d, mu, mv, e;
};
__device__ __forceinline__ Sides flux(const State &l, const State &r) {
    const float lu = l.u / l.d, ru = r.u / r.d;
    const float lp = 0.4f * (l.e - 0.5f * (l.u * l.u + l.v * l.v) / l.d), rp = 0.4f * (r.e - 0.5f * (r.u * r.u + r.v * r.v) / r.d);
    const float lc = sqrtf(1.4f * lp / l.d), rc = sqrtf(1.4f * rp / r.d);
    const float low = fminf(fminf(lu - lc, ru - rc), 0.0f), high = fmaxf(fmaxf(lu + lc, ru + rc), 0.0f), by = 1.0f / (high - low);
    const auto one = [&](float fl, float fr, float ul, float ur) { return (high * fl - low * fr + high * low * (ur - ul)) * by; };
    return {one(l.u, r.u, l.d, r.d), one(l.u * lu + lp, r.u * ru + rp, l.u, r.u), one(l.v * lu, r.v * ru, l.v, r.v),
            one((l.e + lp) * lu, (r.e + rp) * ru, l.e, r.e)};
}
template <int EACH, int NEXT> __device__ __forceinline__ void gas(const float *in, float *out, int width, int height, float step) {
    __shared__ __align__(16) float held[340 * 4];
    const int t = threadIdx.x, tx = t % 32, ty = t / 32;
    const size_t plane = (size_t)width * height;
    for (int k = t; k < 340; k += 256) {
        const int x = min(max((int)blockIdx.x * 32 + k % 34 - 1, 0), width - 1), y = min(max((int)blockIdx.y * 8 + k / 34 - 1, 0), height - 1);
        const size_t at = (size_t)y * width + x;
        held[k * EACH] = 1.5f + 0.5f * in[at];
        held[k * EACH + NEXT] = in[plane + at];
        held[k * EACH + 2 * NEXT] = in[2 * plane + at];
        held[k * EACH + 3 * NEXT] = 4.0f + in[3 * plane + at];
    }
    __syncthreads();
    const int place = (ty + 1) * 34 + tx + 1;
    const auto state = [&](int k) {
        const float *p = held + k * EACH;
        return State{p[0], p[NEXT], p[2 * NEXT], p[3 * NEXT]};
    };
    const auto across = [](const State &s) { return State{s.d, s.v, s.u, s.e}; };
    const State own = state(place), own2 = across(own);
    const Sides west = flux(state(place - 1), own), east = flux(own, state(place + 1));
    const Sides north = flux(across(state(place - 34)), own2), south = flux(own2, across(state(place + 34)));
    const size_t at = (size_t)(blockIdx.y * 8 + ty) * width + blockIdx.x * 32 + tx;
    out[at] = own.d - step * (east.d - west.d + south.d - north.d);
    out[plane + at] = own.u - step * (east.mu - west.mu + south.mv - north.mv);
    out[2 * plane + at] = own.v - step * (east.mv - west.mv + south.mu - north.mu);
    out[3 * plane + at] = own.e - step * (east.e - west.e + south.e - north.e);
}
NAMED(gas_together, 256, gas, (const float *in, float *out, int width, int height, float step), (in, out, width, height, step), 4, 1)
NAMED(gas_planes, 256, gas, (const float *in, float *out, int width, int height, float step), (in, out, width, height, step), 1, 340)

// Sound on tetrahedra of twenty nodes (discontinuous Galerkin): what an element's inside adds, eight elements a block, a
// thread to a node. The three matrices of derivatives lie by rows, or turned.
template <int ROW, int COLUMN> __device__ __forceinline__ void galerkin(const float *matrices, const float *fields, const float *factors, float *out, int rounds) {
    __shared__ float d[3][400], u[4][160], g[8][9];
    const int t = threadIdx.x, node = t % 20, element = t / 20;
    for (int k = t; k < 1200; k += 160) d[k / 400][k % 400 / 20 * ROW + k % 20 * COLUMN] = matrices[k];
    for (int r = 0; r < rounds; ++r) {
        const size_t group = (size_t)blockIdx.x * rounds + r;
        __syncthreads();
        #pragma unroll
        for (int k = 0; k < 4; ++k) u[k][t] = fields[group * 640 + k * 160 + t];
        if (t < 72) g[t / 9][t % 9] = factors[group * 72 + t];
        __syncthreads();
        float by[3][4] = {};
        #pragma unroll 5
        for (int m = 0; m < 20; ++m) {
            const float one = d[0][node * ROW + m * COLUMN], two = d[1][node * ROW + m * COLUMN], three = d[2][node * ROW + m * COLUMN];
            #pragma unroll
            for (int k = 0; k < 4; ++k) {
                const float v = u[k][element * 20 + m];
                by[0][k] += one * v, by[1][k] += two * v, by[2][k] += three * v;
            }
        }
        const float *f = g[element];
        const auto along = [&](int axis, int k) { return f[axis * 3] * by[0][k] + f[axis * 3 + 1] * by[1][k] + f[axis * 3 + 2] * by[2][k]; };
        float *to = out + group * 640 + t;
        to[0] = -(along(0, 1) + along(1, 2) + along(2, 3));
        to[160] = -along(0, 0), to[320] = -along(1, 0), to[480] = -along(2, 0);
    }
}
#define GALERKIN(NAME, ...)                                                                                                          \
    NAMED(NAME, 160, galerkin, (const float *matrices, const float *fields, const float *factors, float *out, int rounds), \
          (matrices, fields, factors, out, rounds), __VA_ARGS__)
GALERKIN(galerkin_rows, 20, 1)
GALERKIN(galerkin_turned, 1, 20)

// A convolution turned round (four by four, two apart) from 32 channels to four, as a decoder of pictures ends: 16 by 8 pixels
// a block, each thread makes two by two of twice the size. A pixel's channels take 32 words, or 33.
template <int PITCH> __device__ __forceinline__ void deconvolved(const float *in, const float4 *weights, float4 *out, int width, int height) {
    __shared__ float pixels[180 * PITCH];
    __shared__ float4 taps[512];
    const int t = threadIdx.x, tx = t % 16, ty = t / 16;
    const size_t picture = (size_t)blockIdx.z * width * height;
    for (int k = t; k < 512; k += 128) taps[k] = weights[k];
    for (int k = t; k < 180 * 32; k += 128) {
        const int pixel = k / 32, x = (int)blockIdx.x * 16 + pixel % 18 - 1, y = (int)blockIdx.y * 8 + pixel / 18 - 1;
        const bool inside = x >= 0 && x < width && y >= 0 && y < height;
        pixels[pixel * PITCH + k % 32] = inside ? in[(picture + (size_t)y * width + x) * 32 + k % 32] : 0.0f;
    }
    __syncthreads();
    float4 sum[2][2] = {};
    #pragma unroll 1
    for (int c = 0; c < 32; ++c) {
        float near[3][3];
        #pragma unroll
        for (int k = 0; k < 9; ++k) near[k / 3][k % 3] = pixels[((ty + k / 3) * 18 + tx + k % 3) * PITCH + c];
        #pragma unroll
        for (int y = 0; y < 4; ++y)
            #pragma unroll
            for (int x = 0; x < 4; ++x) {
                // An even place takes taps one and three, an odd one taps nought and two: the later pixel by the earlier tap.
                const float4 w = taps[c * 16 + y * 4 + x];
                const int py = (y + 1) % 2, px = (x + 1) % 2;
                const float v = near[py + (y < 2)][px + (x < 2)];
                float4 &s = sum[py][px];
                s.x += v * w.x, s.y += v * w.y, s.z += v * w.z, s.w += v * w.w;
            }
    }
    #pragma unroll
    for (int y = 0; y < 2; ++y)
        #pragma unroll
        for (int x = 0; x < 2; ++x) {
            float4 s = sum[y][x];
            s.x = tanhf(0.1f * s.x), s.y = tanhf(0.1f * s.y), s.z = tanhf(0.1f * s.z), s.w = tanhf(0.1f * s.w);
            out[picture * 4 + (size_t)(2 * (blockIdx.y * 8 + ty) + y) * 2 * width + 2 * (blockIdx.x * 16 + tx) + x] = s;
        }
}
#define DECONVOLVED(NAME, PITCH) \
    NAMED(NAME, 128, deconvolved, (const float *in, const float4 *weights, float4 *out, int width, int height), (in, weights, out, width, height), PITCH)
DECONVOLVED(deconvolved_plain, 32)
DECONVOLVED(deconvolved_padded, 33)

// A picture as if painted in oil: each pixel becomes the mean of those of the commonest of sixteen brightnesses around it.
// A thread's sixteen counts are a row, a padded row, or a column.
template <int EACH, int NEXT> __device__ __forceinline__ void painted(const unsigned char *in, unsigned char *out, int width, int height) {
    __shared__ unsigned counts[128 * 17];
    __shared__ unsigned char tile[10][40];
    const int t = threadIdx.x, tx = t % 32, ty = t / 32;
    unsigned *own = counts + t * EACH;
    for (int k = t; k < 380; k += 128) {
        const int x = min(max((int)blockIdx.x * 32 + k % 38 - 3, 0), width - 1), y = min(max((int)blockIdx.y * 4 + k / 38 - 3, 0), height - 1);
        tile[k / 38][k % 38] = in[(size_t)y * width + x];
    }
    #pragma unroll
    for (int k = 0; k < 16; ++k) own[k * NEXT] = 0;
    __syncthreads();
    for (int y = 0; y < 7; ++y)
        #pragma unroll
        for (int x = 0; x < 7; ++x) {
            const unsigned v = tile[ty + y][tx + x];
            own[(v >> 4) * NEXT] += 0x10000u | v;
        }
    unsigned most = 0;
    #pragma unroll
    for (int k = 0; k < 16; ++k) most = max(most, own[k * NEXT]);
    const unsigned many = most >> 16;
    out[(size_t)(blockIdx.y * 4 + ty) * width + blockIdx.x * 32 + tx] = ((most & 0xffff) + many / 2) / many;
}
#define PAINTED(NAME, ...) NAMED(NAME, 128, painted, (const unsigned char *in, unsigned char *out, int width, int height), (in, out, width, height), __VA_ARGS__)
PAINTED(painted_own, 16, 1)
PAINTED(painted_padded, 17, 1)
PAINTED(painted_beside, 1, 128)

// Weights of four bits that name places of a table (NF4), times a vector: four rows to a warp. A byte finds its two weights in
// a table of 256 pairs, of which there is one, or one to each lane.
__device__ const float NF4[16] = {-1.0f, -0.6961928f, -0.52507305f, -0.3949175f, -0.28444138f, -0.18477343f, -0.09105004f, 0.0f,
                                  0.0795803f, 0.1609302f, 0.2461123f, 0.33791524f, 0.44070983f, 0.562617f, 0.72295684f, 1.0f};
template <int COPIES> __device__ __forceinline__ void four_bit_rows(const uint4 *weights, const float *scales, const uint4 *vector, float *out, int depth) {
    __shared__ __half2 table[256 * COPIES];
    const int t = threadIdx.x, lane = t % 32, warp = t / 32;
    for (int k = t; k < 256 * COPIES; k += 256) {
        const int byte = k / COPIES;
        table[k] = __floats2half2_rn(NF4[byte >> 4], NF4[byte & 15]);
    }
    __syncthreads();
    const __half2 *own = table + lane % COPIES;
    for (int r = 0; r < 4; ++r) {
        const int row = (blockIdx.x * 8 + warp) * 4 + r;
        float sum = 0.0f;
        #pragma unroll 2
        for (int k = lane; k < depth / 32; k += 32) {
            const uint4 w = weights[(size_t)row * (depth / 32) + k];
            const float scale = scales[(size_t)row * (depth / 64) + k / 2];
            const unsigned words[4] = {w.x, w.y, w.z, w.w};
            float part = 0.0f;
            #pragma unroll
            for (int j = 0; j < 4; ++j) {
                const uint4 v = vector[k * 4 + j];
                const unsigned pairs[4] = {v.x, v.y, v.z, v.w};
                #pragma unroll
                for (int i = 0; i < 4; ++i) {
                    const float2 a = __half22float2(own[(words[j] >> 8 * i & 255) * COPIES]), b = __half22float2(*(const __half2 *)&pairs[i]);
                    part += a.x * b.x + a.y * b.y;
                }
            }
            sum += scale * part;
        }
        for (int d = 16; d > 0; d >>= 1) sum += __shfl_xor_sync(ALL, sum, d);
        if (lane == 0) out[row] = sum;
    }
}
#define FOUR_BIT_ROWS(NAME, COPIES)                                                                                                   \
    NAMED(NAME, 256, four_bit_rows, (const uint4 *weights, const float *scales, const uint4 *vector, float *out, int depth), \
          (weights, scales, vector, out, depth), COPIES)
FOUR_BIT_ROWS(four_bit_rows_once, 1)
FOUR_BIT_ROWS(four_bit_rows_copies, 32)
