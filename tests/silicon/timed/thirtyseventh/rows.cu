// Rows of the thirty-seventh set: axes reversed, sums of segments, moments of channels, inverses of small matrices, averages along time, hashes of records, groups with one exponent;
// and, where no layout differs, losses of pixels, keys laid out for a cache, greatest values by atomics, the gradient of GELU.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

enum Tile { PLAIN, PADDED, SWIZZLED };

// ---------------------------------------------------------------------------------------------------------------------
// (A, B, C) to (C, B, A): tiles of 32 x 32 of the outer axes for each of the middle one.
template <Tile T> __device__ __forceinline__ void axes_reversed(const float *in, float *out) {
    constexpr int PITCH = T == PADDED ? 33 : 32;
    __shared__ float tile[32 * PITCH];
    const int x = threadIdx.x, y = threadIdx.y, middle = blockIdx.z, a0 = blockIdx.y * 32, c0 = blockIdx.x * 32;
    const int firsts = gridDim.y * 32, middles = gridDim.z, lasts = gridDim.x * 32;
#pragma unroll
    for (int r = y; r < 32; r += 8) tile[r * PITCH + (T == SWIZZLED ? x ^ r : x)] = in[((size_t)(a0 + r) * middles + middle) * lasts + c0 + x];
    __syncthreads();
#pragma unroll
    for (int r = y; r < 32; r += 8) out[((size_t)(c0 + r) * middles + middle) * firsts + a0 + x] = tile[x * PITCH + (T == SWIZZLED ? r ^ x : r)];
}
extern "C" __global__ void __launch_bounds__(256) axes_reversed_plain(const float *in, float *out) { axes_reversed<PLAIN>(in, out); }
extern "C" __global__ void __launch_bounds__(256) axes_reversed_padded(const float *in, float *out) { axes_reversed<PADDED>(in, out); }
extern "C" __global__ void __launch_bounds__(256) axes_reversed_swizzled(const float *in, float *out) { axes_reversed<SWIZZLED>(in, out); }

// ---------------------------------------------------------------------------------------------------------------------
// Running sums that begin anew at each marked word, in parts of 4096: sixteen a thread from shared memory, then threads of a warp, then warps. A word's low bits mark it.
template <int PITCH> __device__ __forceinline__ void segments_summed(const unsigned *in, unsigned *out) {
    __shared__ __align__(16) unsigned data[256 * PITCH];
    __shared__ unsigned warp_sums[8], warp_marks[8];
    const int t = threadIdx.x, lane = t % 32, warp = t / 32;
    const size_t base = (size_t)blockIdx.x * 4096;
#pragma unroll
    for (int i = t; i < 4096; i += 256) data[i / 16 * PITCH + i % 16] = in[base + i];
    __syncthreads();
    unsigned v[16], marks = 0, sum = 0;
#pragma unroll
    for (int i = 0; i < 16; i++) {
        const unsigned word = data[t * PITCH + i];
        if ((word & 31) == 0) sum = 0, marks |= 1u << i;
        v[i] = sum += word >> 20;
    }
    unsigned all = sum, marked = marks != 0;
#pragma unroll
    for (int d = 1; d < 32; d *= 2) {
        const unsigned before = __shfl_up_sync(0xffffffff, all, d), mark = __shfl_up_sync(0xffffffff, marked, d);
        if (lane >= d) {
            if (!marked) all += before;
            marked |= mark;
        }
    }
    if (lane == 31) warp_sums[warp] = all, warp_marks[warp] = marked;
    unsigned carried = __shfl_up_sync(0xffffffff, all, 1), carry_marked = __shfl_up_sync(0xffffffff, marked, 1);
    if (lane == 0) carried = 0, carry_marked = 0;
    __syncthreads();
    unsigned from_warps = 0;
    for (int w = 0; w < warp; w++) from_warps = warp_marks[w] ? warp_sums[w] : from_warps + warp_sums[w];
    if (!carry_marked) carried += from_warps;
#pragma unroll
    for (int i = 0; i < 16; i++) data[t * PITCH + i] = v[i] + ((marks & ((2u << i) - 1)) == 0 ? carried : 0);
    __syncthreads();
#pragma unroll
    for (int i = t; i < 4096; i += 256) out[base + i] = data[i / 16 * PITCH + i % 16];
}
extern "C" __global__ void __launch_bounds__(256) segments_summed_plain(const unsigned *in, unsigned *out) { segments_summed<16>(in, out); }
extern "C" __global__ void __launch_bounds__(256) segments_summed_padded(const unsigned *in, unsigned *out) { segments_summed<20>(in, out); }

// ---------------------------------------------------------------------------------------------------------------------
// Sums and squares of 32 channels over `each` rows a block, eight rows at a time; eight threads' sums meet in shared memory, by channels.
template <int PITCH> __device__ __forceinline__ void channel_moments(const float *in, float2 *out, int channels, int each) {
    __shared__ float2 parts[32 * PITCH];
    const int x = threadIdx.x, y = threadIdx.y, channel = blockIdx.x * 32 + x;
    const float *from = in + ((size_t)blockIdx.y * each + y) * channels + channel;
    float sum = 0.0f, square = 0.0f;
#pragma unroll 8
    for (int r = 0; r < each; r += 8) {
        const float v = from[(size_t)r * channels];
        sum += v;
        square += v * v;
    }
    parts[x * PITCH + y] = make_float2(sum, square);
    __syncthreads();
    const int t = y * 32 + x;
    float2 own = parts[t / 8 * PITCH + t % 8];
#pragma unroll
    for (int d = 4; d > 0; d /= 2) {
        own.x += __shfl_down_sync(0xffffffff, own.x, d, 8);
        own.y += __shfl_down_sync(0xffffffff, own.y, d, 8);
    }
    if (t % 8 == 0) out[(size_t)blockIdx.y * channels + blockIdx.x * 32 + t / 8] = own;
}
extern "C" __global__ void __launch_bounds__(256) channel_moments_plain(const float *in, float2 *out, int channels, int each) { channel_moments<8>(in, out, channels, each); }
extern "C" __global__ void __launch_bounds__(256) channel_moments_padded(const float *in, float2 *out, int channels, int each) { channel_moments<9>(in, out, channels, each); }

// ---------------------------------------------------------------------------------------------------------------------
// Inverses of 4 x 4 matrices, a matrix a thread by its minors: words come and go by whole lines through shared memory.
template <int PITCH> __device__ __forceinline__ void inverses_of_four(const float *in, float *out) {
    __shared__ float data[128 * PITCH];
    const int t = threadIdx.x;
    const size_t base = (size_t)blockIdx.x * 2048;
#pragma unroll
    for (int i = t; i < 2048; i += 128) data[i / 16 * PITCH + i % 16] = in[base + i];
    __syncthreads();
    float m[16];
#pragma unroll
    for (int i = 0; i < 16; i++) m[i] = data[t * PITCH + i];
    const float s0 = m[0] * m[5] - m[4] * m[1], s1 = m[0] * m[6] - m[4] * m[2], s2 = m[0] * m[7] - m[4] * m[3];
    const float s3 = m[1] * m[6] - m[5] * m[2], s4 = m[1] * m[7] - m[5] * m[3], s5 = m[2] * m[7] - m[6] * m[3];
    const float c5 = m[10] * m[15] - m[14] * m[11], c4 = m[9] * m[15] - m[13] * m[11], c3 = m[9] * m[14] - m[13] * m[10];
    const float c2 = m[8] * m[15] - m[12] * m[11], c1 = m[8] * m[14] - m[12] * m[10], c0 = m[8] * m[13] - m[12] * m[9];
    const float det = s0 * c5 - s1 * c4 + s2 * c3 + s3 * c2 - s4 * c1 + s5 * c0;
    const float by = fabsf(det) > 1e-12f ? 1.0f / det : 0.0f;
    const float r[16] = {
        m[5] * c5 - m[6] * c4 + m[7] * c3,     -m[1] * c5 + m[2] * c4 - m[3] * c3,    m[13] * s5 - m[14] * s4 + m[15] * s3, -m[9] * s5 + m[10] * s4 - m[11] * s3,
        -m[4] * c5 + m[6] * c2 - m[7] * c1,    m[0] * c5 - m[2] * c2 + m[3] * c1,     -m[12] * s5 + m[14] * s2 - m[15] * s1, m[8] * s5 - m[10] * s2 + m[11] * s1,
        m[4] * c4 - m[5] * c2 + m[7] * c0,     -m[0] * c4 + m[1] * c2 - m[3] * c0,    m[12] * s4 - m[13] * s2 + m[15] * s0, -m[8] * s4 + m[9] * s2 - m[11] * s0,
        -m[4] * c3 + m[5] * c1 - m[6] * c0,    m[0] * c3 - m[1] * c1 + m[2] * c0,     -m[12] * s3 + m[13] * s1 - m[14] * s0, m[8] * s3 - m[9] * s1 + m[10] * s0,
    };
#pragma unroll
    for (int i = 0; i < 16; i++) data[t * PITCH + i] = r[i] * by;
    __syncthreads();
#pragma unroll
    for (int i = t; i < 2048; i += 128) out[base + i] = data[i / 16 * PITCH + i % 16];
}
extern "C" __global__ void __launch_bounds__(128) inverses_of_four_plain(const float *in, float *out) { inverses_of_four<16>(in, out); }
extern "C" __global__ void __launch_bounds__(128) inverses_of_four_padded(const float *in, float *out) { inverses_of_four<17>(in, out); }

// ---------------------------------------------------------------------------------------------------------------------
// Averages along time whose memory fades, a series a lane: a warp brings 32 steps of its 32 series by lines, goes along them, and takes them back.
template <Tile T> __device__ __forceinline__ void fading_averages(const float *in, float *out, int length, float fresh) {
    constexpr int PITCH = T == PADDED ? 33 : 32;
    __shared__ float tiles[2][32 * PITCH];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    float *tile = tiles[warp], average = 0.0f;
    const size_t first = ((size_t)blockIdx.x * 2 + warp) * 32 * length;
    auto at = [](int r, int c) { return r * PITCH + (T == SWIZZLED ? c ^ r : c); };
    for (int t0 = 0; t0 < length; t0 += 32) {
        const float *from = in + first + t0 + lane;
#pragma unroll 16
        for (int r = 0; r < 32; r++) tile[at(r, lane)] = from[(size_t)r * length];
        __syncwarp();
#pragma unroll 8
        for (int c = 0; c < 32; c++) {
            average += fresh * (tile[at(lane, c)] - average);
            tile[at(lane, c)] = average;
        }
        __syncwarp();
        float *to = out + first + t0 + lane;
#pragma unroll 16
        for (int r = 0; r < 32; r++) to[(size_t)r * length] = tile[at(r, lane)];
        __syncwarp();
    }
}
extern "C" __global__ void __launch_bounds__(64) fading_averages_plain(const float *in, float *out, int length, float fresh) { fading_averages<PLAIN>(in, out, length, fresh); }
extern "C" __global__ void __launch_bounds__(64) fading_averages_padded(const float *in, float *out, int length, float fresh) { fading_averages<PADDED>(in, out, length, fresh); }
extern "C" __global__ void __launch_bounds__(64) fading_averages_swizzled(const float *in, float *out, int length, float fresh) { fading_averages<SWIZZLED>(in, out, length, fresh); }

// ---------------------------------------------------------------------------------------------------------------------
// Hashes (FNV-1a) of records of 128 bytes, byte by byte, a record a thread: the block brings its 96 records by lines.
template <bool SWIZZLED> __device__ __forceinline__ void hashed_records(const unsigned *in, unsigned *out) {
    __shared__ unsigned data[96 * 32];
    const int t = threadIdx.x;
    const size_t base = (size_t)blockIdx.x * 96;
    auto at = [](int record, int word) { return record * 32 + (SWIZZLED ? word ^ (record & 31) : word); };
#pragma unroll 8
    for (int i = t; i < 96 * 32; i += 96) data[at(i / 32, i % 32)] = in[base * 32 + i];
    __syncthreads();
    unsigned hash = 2166136261u;
#pragma unroll 4
    for (int w = 0; w < 32; w++) {
        const unsigned word = data[at(t, w)];
#pragma unroll
        for (int b = 0; b < 4; b++) hash = (hash ^ (word >> (b * 8) & 255)) * 16777619u;
    }
    out[base + t] = hash;
}
extern "C" __global__ void __launch_bounds__(96) hashed_records_plain(const unsigned *in, unsigned *out) { hashed_records<false>(in, out); }
extern "C" __global__ void __launch_bounds__(96) hashed_records_swizzled(const unsigned *in, unsigned *out) { hashed_records<true>(in, out); }

// ---------------------------------------------------------------------------------------------------------------------
// Groups of 32 floats to signed bytes with one exponent: a group a thread, four floats at a time from shared memory.
template <int PITCH> __device__ __forceinline__ void one_exponent(const float4 *in, uint4 *codes, unsigned char *exponents) {
    __shared__ __align__(16) float data[128 * PITCH];
    const int t = threadIdx.x;
    const size_t group0 = (size_t)blockIdx.x * 128;
#pragma unroll
    for (int i = t; i < 1024; i += 128) *reinterpret_cast<float4 *>(data + i / 8 * PITCH + i % 8 * 4) = in[group0 * 8 + i];
    __syncthreads();
    float4 v[8];
    float most = 0.0f;
#pragma unroll
    for (int i = 0; i < 8; i++) {
        v[i] = *reinterpret_cast<const float4 *>(data + t * PITCH + i * 4);
        most = fmaxf(most, fmaxf(fmaxf(fabsf(v[i].x), fabsf(v[i].y)), fmaxf(fabsf(v[i].z), fabsf(v[i].w))));
    }
    const int exponent = max(__float_as_int(most) >> 23, 7);           // biased, of the greatest
    const float by = __int_as_float((127 + 6 + 127 - exponent) << 23);  // so that it becomes 64 to 128
    unsigned word[8];
#pragma unroll
    for (int i = 0; i < 8; i++) {
        const int x = min(__float2int_rn(v[i].x * by), 127), y = min(__float2int_rn(v[i].y * by), 127), z = min(__float2int_rn(v[i].z * by), 127), w = min(__float2int_rn(v[i].w * by), 127);
        word[i] = (x & 255) | (y & 255) << 8 | (z & 255) << 16 | (unsigned)w << 24;
    }
    codes[(group0 + t) * 2] = make_uint4(word[0], word[1], word[2], word[3]);
    codes[(group0 + t) * 2 + 1] = make_uint4(word[4], word[5], word[6], word[7]);
    exponents[group0 + t] = exponent - 6;
}
extern "C" __global__ void __launch_bounds__(128) one_exponent_plain(const float4 *in, uint4 *codes, unsigned char *exponents) { one_exponent<32>(in, codes, exponents); }
extern "C" __global__ void __launch_bounds__(128) one_exponent_padded(const float4 *in, uint4 *codes, unsigned char *exponents) { one_exponent<36>(in, codes, exponents); }

// ---------------------------------------------------------------------------------------------------------------------
// Cross entropy of each pixel over 21 planes of classes, two pixels a thread.
extern "C" __global__ void __launch_bounds__(128) pixel_losses(const float2 *logits, const uchar2 *labels, float2 *losses, int pairs) {
    const int i = blockIdx.x * 128 + threadIdx.x;
    if (i >= pairs) return;
    const float2 *own = logits + (size_t)blockIdx.y * 21 * pairs + i;
    const uchar2 label = labels[(size_t)blockIdx.y * pairs + i];
    const int first = label.x % 21, second = label.y % 21;
    float2 v[21], most = make_float2(-1e30f, -1e30f), chosen = make_float2(0.0f, 0.0f), sum = make_float2(0.0f, 0.0f);
#pragma unroll
    for (int c = 0; c < 21; c++) {
        v[c] = own[(size_t)c * pairs];
        most = make_float2(fmaxf(most.x, v[c].x), fmaxf(most.y, v[c].y));
        if (c == first) chosen.x = v[c].x;
        if (c == second) chosen.y = v[c].y;
    }
#pragma unroll
    for (int c = 0; c < 21; c++) sum.x += __expf(v[c].x - most.x), sum.y += __expf(v[c].y - most.y);
    losses[(size_t)blockIdx.y * pairs + i] = make_float2(most.x + __logf(sum.x) - chosen.x, most.y + __logf(sum.y) - chosen.y);
}

// Keys of new tokens into a cache of pages: sixteen tokens a page, eight halves of a token together, then the next token's. Each token has a slot of its own.
extern "C" __global__ void __launch_bounds__(128) laid_out(const uint4 *keys, uint4 *cache, int heads, unsigned last_slot) {
    const int token = blockIdx.x, chunks = heads * 16;
    const unsigned slot = token * 40503u & last_slot;
    uint4 *page = cache + (size_t)(slot / 16) * chunks * 16 + slot % 16;
    for (int i = threadIdx.x; i < chunks; i += 128) page[i * 16] = keys[(size_t)token * chunks + i];
}

// The greatest value of each key by atomics on memory, four pairs a thread.
extern "C" __global__ void __launch_bounds__(256) greatest_by_key(const uint4 *keys, const uint4 *values, unsigned *greatest, int fours, unsigned last_key) {
    for (int i = blockIdx.x * 256 + threadIdx.x; i < fours; i += gridDim.x * 256) {
        const uint4 k = keys[i], v = values[i];
        atomicMax(greatest + (k.x & last_key), v.x);
        atomicMax(greatest + (k.y & last_key), v.y);
        atomicMax(greatest + (k.z & last_key), v.z);
        atomicMax(greatest + (k.w & last_key), v.w);
    }
}

// The gradient of GELU (by tanh) for bfloat16, eight at a time by few blocks that stay.
extern "C" __global__ void __launch_bounds__(384) gelu_gradient(const uint4 *x, const uint4 *given, uint4 *out, int eights) {
    for (int i = blockIdx.x * 384 + threadIdx.x; i < eights; i += gridDim.x * 384) {
        const uint4 a = x[i], g = given[i];
        uint4 o;
#pragma unroll
        for (int e = 0; e < 4; e++) {
            const float2 v = __bfloat1622float2(reinterpret_cast<const __nv_bfloat162 *>(&a)[e]), d = __bfloat1622float2(reinterpret_cast<const __nv_bfloat162 *>(&g)[e]);
            float r[2];
#pragma unroll
            for (int h = 0; h < 2; h++) {
                const float z = h ? v.y : v.x, inner = 0.7978845608f * (z + 0.044715f * z * z * z), th = tanhf(inner);
                r[h] = (h ? d.y : d.x) * (0.5f * (1.0f + th) + 0.5f * z * (1.0f - th * th) * 0.7978845608f * (1.0f + 0.134145f * z * z));
            }
            reinterpret_cast<__nv_bfloat162 *>(&o)[e] = __floats2bfloat162_rn(r[0], r[1]);
        }
        out[i] = o;
    }
}
