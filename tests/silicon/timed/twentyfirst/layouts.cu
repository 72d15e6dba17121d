// Kernels of the twenty-first set in groups that differ in the layout of shared memory alone: sorts, filters, alignments, colours, strings, heads.
#include <cuda_fp16.h>

#define KERNEL(THREADS) extern "C" __global__ void __launch_bounds__(THREADS)
#define ALL 0xffffffffu

// A bitonic sort of 2048 keys with values: in words of 64 bits, or keys apart from values.
template <bool APART> __device__ __forceinline__ void sort_pairs(const unsigned *keys, unsigned *sorted, unsigned *values) {
    __shared__ __align__(8) unsigned held[4096];
    const int t = threadIdx.x;
    const size_t base = (size_t)blockIdx.x * 2048;
    const auto get = [&](int i) {
        return APART ? make_uint2(held[i], held[2048 + i]) : *reinterpret_cast<const uint2 *>(held + i * 2);
    };
    const auto put = [&](int i, uint2 v) {
        if (APART) held[i] = v.x, held[2048 + i] = v.y;
        else *reinterpret_cast<uint2 *>(held + i * 2) = v;
    };
    #pragma unroll
    for (int i = t; i < 2048; i += 512) put(i, make_uint2(keys[base + i], i));
    for (int size = 2; size <= 2048; size <<= 1)
        for (int stride = size / 2; stride > 0; stride >>= 1) {
            __syncthreads();
            #pragma unroll
            for (int i = t; i < 1024; i += 512) {
                const int low = 2 * i - (i & (stride - 1)), high = low + stride;
                const uint2 a = get(low), b = get(high);
                if ((a.x > b.x) == ((low & size) == 0)) put(low, b), put(high, a);
            }
        }
    __syncthreads();
    #pragma unroll
    for (int i = t; i < 2048; i += 512) {
        const uint2 v = get(i);
        sorted[base + i] = v.x, values[base + i] = v.y;
    }
}
KERNEL(512) sort_pairs_together(const unsigned *keys, unsigned *sorted, unsigned *values) { sort_pairs<false>(keys, sorted, values); }
KERNEL(512) sort_pairs_apart(const unsigned *keys, unsigned *sorted, unsigned *values) { sort_pairs<true>(keys, sorted, values); }

// Signals of 256 complex samples are filtered through their spectra (four steps of radix four there, four back): 64 threads a signal, four
// signals a block. Samples lie as they are, or one is left out after sixteen.
template <bool PADDED> __device__ __forceinline__ void fast_filter(const float2 *from, const float2 *response, float2 *to) {
    constexpr int PITCH = PADDED ? 272 : 256;
    __shared__ float2 held[4 * PITCH];
    const int j = threadIdx.x % 64, which = threadIdx.x / 64;
    float2 *own = held + which * PITCH;
    const size_t base = ((size_t)blockIdx.x * 4 + which) * 256;
    const auto place = [](int i) { return PADDED ? i + i / 16 : i; };
    float2 v[4];
    #pragma unroll
    for (int r = 0; r < 4; ++r) v[r] = from[base + j + r * 64];
    #pragma unroll
    for (int back = 0; back < 2; ++back) {
        const float sign = back ? 1.0f : -1.0f;
        #pragma unroll
        for (int step = 1; step < 256; step *= 4) {
            const float angle = sign * 1.57079633f * (float)(j % step) / (float)step;
            #pragma unroll
            for (int r = 1; r < 4; ++r) {
                float s, c;
                __sincosf(angle * (float)r, &s, &c);
                v[r] = make_float2(v[r].x * c - v[r].y * s, v[r].x * s + v[r].y * c);
            }
            const float2 a = make_float2(v[0].x + v[2].x, v[0].y + v[2].y), b = make_float2(v[0].x - v[2].x, v[0].y - v[2].y);
            const float2 c = make_float2(v[1].x + v[3].x, v[1].y + v[3].y), d = make_float2(sign * (v[3].y - v[1].y), sign * (v[1].x - v[3].x));
            v[0] = make_float2(a.x + c.x, a.y + c.y), v[1] = make_float2(b.x + d.x, b.y + d.y);
            v[2] = make_float2(a.x - c.x, a.y - c.y), v[3] = make_float2(b.x - d.x, b.y - d.y);
            __syncthreads();
            #pragma unroll
            for (int r = 0; r < 4; ++r) own[place(j / step * step * 4 + j % step + r * step)] = v[r];
            __syncthreads();
            #pragma unroll
            for (int r = 0; r < 4; ++r) v[r] = own[place(j + r * 64)];
        }
        if (!back) {
            #pragma unroll
            for (int r = 0; r < 4; ++r) {
                const float2 h = __ldg(response + j + r * 64);
                v[r] = make_float2(v[r].x * h.x - v[r].y * h.y, v[r].x * h.y + v[r].y * h.x);
            }
        }
    }
    #pragma unroll
    for (int r = 0; r < 4; ++r) to[base + j + r * 64] = make_float2(v[r].x * 0.00390625f, v[r].y * 0.00390625f);
}
KERNEL(256) fast_filter_plain(const float2 *from, const float2 *response, float2 *to) { fast_filter<false>(from, response, to); }
KERNEL(256) fast_filter_padded(const float2 *from, const float2 *response, float2 *to) { fast_filter<true>(from, response, to); }

// Needleman and Wunsch's scores of a tile of 32 by 32, by diagonals, a warp a block. Rows of 33 numbers, as there is a margin, or of 34.
template <int PITCH> __device__ __forceinline__ void needleman(const int *similar, const int *above, const int *left, int *out, int penalty) {
    __shared__ int scores[33 * PITCH], given[32 * 32];
    const int t = threadIdx.x;
    const size_t base = (size_t)blockIdx.x * 1024;
    for (int r = 0; r < 32; ++r) given[r * 32 + t] = similar[base + r * 32 + t];
    if (t == 0) scores[0] = above[blockIdx.x * 33];
    scores[t + 1] = above[blockIdx.x * 33 + t + 1];
    scores[(t + 1) * PITCH] = left[blockIdx.x * 32 + t];
    __syncthreads();
    const auto reach = [&](int x, int y) {
        const int straight = scores[(y - 1) * PITCH + x - 1] + given[(y - 1) * 32 + x - 1];
        scores[y * PITCH + x] = max(straight, max(scores[y * PITCH + x - 1], scores[(y - 1) * PITCH + x]) - penalty);
    };
    for (int m = 0; m < 32; ++m) {
        if (t <= m) reach(t + 1, m - t + 1);
        __syncthreads();
    }
    for (int m = 30; m >= 0; --m) {
        if (t <= m) reach(t + 32 - m, 32 - t);
        __syncthreads();
    }
    for (int r = 0; r < 32; ++r) out[base + r * 32 + t] = scores[(r + 1) * PITCH + t + 1];
}
KERNEL(32) needleman_plain(const int *similar, const int *above, const int *left, int *out, int penalty) { needleman<33>(similar, above, left, out, penalty); }
KERNEL(32) needleman_padded(const int *similar, const int *above, const int *left, int *out, int penalty) { needleman<34>(similar, above, left, out, penalty); }

// Colours through a cube of 13 by 13 by 13 colours, between eight of them: a colour is four floats, or its parts lie in three planes.
template <bool PLANES> __device__ __forceinline__ void colour_cube(const uchar4 *from, const float4 *cube, uchar4 *to, int count) {
    extern __shared__ __align__(16) float table[];
    for (int i = threadIdx.x; i < 2197; i += 512) {
        const float4 v = cube[i];
        if (PLANES) table[i] = v.x, table[2197 + i] = v.y, table[4394 + i] = v.z;
        else reinterpret_cast<float4 *>(table)[i] = v;
    }
    __syncthreads();
    for (int i = blockIdx.x * 512 + threadIdx.x; i < count; i += gridDim.x * 512) {
        const uchar4 own = from[i];
        const float x = (float)own.x * (11.999f / 255.0f), y = (float)own.y * (11.999f / 255.0f), z = (float)own.z * (11.999f / 255.0f);
        const int ix = (int)x, iy = (int)y, iz = (int)z;
        const float fx = x - (float)ix, fy = y - (float)iy, fz = z - (float)iz;
        float r = 0.0f, g = 0.0f, b = 0.0f;
        #pragma unroll
        for (int corner = 0; corner < 8; ++corner) {
            const int cx = corner & 1, cy = corner >> 1 & 1, cz = corner >> 2, at = ((iz + cz) * 13 + iy + cy) * 13 + ix + cx;
            const float w = (cx ? fx : 1.0f - fx) * (cy ? fy : 1.0f - fy) * (cz ? fz : 1.0f - fz);
            if (PLANES) {
                r += w * table[at], g += w * table[2197 + at], b += w * table[4394 + at];
            } else {
                const float4 v = reinterpret_cast<const float4 *>(table)[at];
                r += w * v.x, g += w * v.y, b += w * v.z;
            }
        }
        to[i] = make_uchar4((unsigned char)(__saturatef(r) * 255.0f), (unsigned char)(__saturatef(g) * 255.0f), (unsigned char)(__saturatef(b) * 255.0f), own.w);
    }
}
KERNEL(512) colour_cube_fours(const uchar4 *from, const float4 *cube, uchar4 *to, int count) { colour_cube<false>(from, cube, to, count); }
KERNEL(512) colour_cube_planes(const uchar4 *from, const float4 *cube, uchar4 *to, int count) { colour_cube<true>(from, cube, to, count); }

// Plucked strings: each thread has a line of 17 to 32 samples that goes round and is damped. Lines of 32 words, or of 33.
template <int PITCH> __device__ __forceinline__ void plucked(const float *noise, const unsigned *tones, float *out, int samples, float damping) {
    __shared__ float lines[128 * PITCH];
    const int t = threadIdx.x, i = blockIdx.x * 128 + t, count = gridDim.x * 128, length = 17 + (tones[i] & 15);
    float *own = lines + t * PITCH;
    for (int k = 0; k < length; ++k) own[k] = noise[(i + k * 977) % count];
    int at = 0;
    float last = own[length - 1];
    for (int s = 0; s < samples; ++s) {
        const float now = own[at];
        out[(size_t)s * count + i] = now;
        own[at] = damping * 0.5f * (now + last);
        last = now;
        at = at + 1 == length ? 0 : at + 1;
    }
}
KERNEL(128) plucked_plain(const float *noise, const unsigned *tones, float *out, int samples, float damping) { plucked<32>(noise, tones, out, samples, damping); }
KERNEL(128) plucked_padded(const float *noise, const unsigned *tones, float *out, int samples, float damping) { plucked<33>(noise, tones, out, samples, damping); }

// Filters of 17 by 17 over blocks of sixteen by sixteen: a warp has two rows, which meet in banks if those of the tile are 32 long, not if 48.
__constant__ float gabor_taps[17 * 17];
template <int PITCH> __device__ __forceinline__ void gabor(const float *from, float *to, int width) {
    __shared__ float tile[32 * PITCH];
    const int tx = threadIdx.x, ty = threadIdx.y, pitch = width + 16;
    const float *own = from + (size_t)blockIdx.y * 16 * pitch + blockIdx.x * 16;
    #pragma unroll
    for (int part = 0; part < 4; ++part) {
        const int y = ty + part / 2 * 16, x = tx + part % 2 * 16;
        tile[y * PITCH + x] = own[(size_t)y * pitch + x];
    }
    __syncthreads();
    float sum = 0.0f;
    for (int dy = 0; dy < 17; ++dy)
        #pragma unroll
        for (int dx = 0; dx < 17; ++dx) sum += gabor_taps[dy * 17 + dx] * tile[(ty + dy) * PITCH + tx + dx];
    to[(size_t)(blockIdx.y * 16 + ty) * width + blockIdx.x * 16 + tx] = sum;
}
KERNEL(256) gabor_plain(const float *from, float *to, int width) { gabor<32>(from, to, width); }
KERNEL(256) gabor_padded(const float *from, float *to, int width) { gabor<48>(from, to, width); }

// One token's eight heads that share keys and values, over up to 256 tokens: 64 keys at a time in shared memory, a key a lane, two heads a warp.
// Keys of 64 words, of 65, or with their words exchanged by the key.
template <int PITCH, bool SWIZZLED> __device__ __forceinline__ void query_groups(const float *queries, const __half2 *keys, const __half *values, const unsigned *lengths, float *out) {
    __shared__ __half2 tile[64 * PITCH];
    __shared__ float2 asked[8 * 64];
    __shared__ float shares[8][64], shrinks[8], totals[8];
    const int t = threadIdx.x, lane = t % 32, warp = t / 32, length = 128 + (int)(lengths[blockIdx.x] % 129u);
    const auto at = [](int key, int word) { return key * PITCH + (SWIZZLED ? word ^ (key & 31) : word); };
    for (int i = t; i < 512; i += 128) asked[i] = reinterpret_cast<const float2 *>(queries)[(size_t)blockIdx.x * 512 + i];
    float acc[8] = {}, most[2] = {-1e30f, -1e30f}, total[2] = {};
    for (int first = 0; first < length; first += 64) {
        __syncthreads();
        #pragma unroll 8
        for (int i = t; i < 64 * 64; i += 128) tile[at(i / 64, i % 64)] = keys[((size_t)blockIdx.x * 256 + first) * 64 + i];
        __syncthreads();
        float score[2][2] = {};
        #pragma unroll 8
        for (int word = 0; word < 64; ++word) {
            const float2 low = __half22float2(tile[at(lane, word)]), high = __half22float2(tile[at(lane + 32, word)]);
            #pragma unroll
            for (int h = 0; h < 2; ++h) {
                const float2 q = asked[(warp * 2 + h) * 64 + word];
                score[h][0] += q.x * low.x + q.y * low.y, score[h][1] += q.x * high.x + q.y * high.y;
            }
        }
        #pragma unroll
        for (int h = 0; h < 2; ++h) {
            const float a = first + lane < length ? score[h][0] * 0.0883883f : -1e30f, b = first + lane + 32 < length ? score[h][1] * 0.0883883f : -1e30f;
            float best = fmaxf(a, b);
            #pragma unroll
            for (int offset = 16; offset > 0; offset >>= 1) best = fmaxf(best, __shfl_xor_sync(ALL, best, offset));
            best = fmaxf(best, most[h]);
            const float shrink = __expf(most[h] - best), pa = __expf(a - best), pb = __expf(b - best);
            total[h] = total[h] * shrink + pa + pb;
            most[h] = best;
            shares[warp * 2 + h][lane] = pa, shares[warp * 2 + h][lane + 32] = pb;
            if (lane == 0) shrinks[warp * 2 + h] = shrink;
        }
        __syncthreads();
        #pragma unroll
        for (int h = 0; h < 8; ++h) acc[h] *= shrinks[h];
        const __half *v = values + ((size_t)blockIdx.x * 256 + first) * 128 + t;
        #pragma unroll 8
        for (int key = 0; key < 64; ++key) {
            const float own = __half2float(v[key * 128]);
            #pragma unroll
            for (int h = 0; h < 8; ++h) acc[h] += shares[h][key] * own;
        }
    }
    #pragma unroll
    for (int h = 0; h < 2; ++h) {
        float sum = total[h];
        #pragma unroll
        for (int offset = 16; offset > 0; offset >>= 1) sum += __shfl_xor_sync(ALL, sum, offset);
        if (lane == 0) totals[warp * 2 + h] = sum;
    }
    __syncthreads();
    #pragma unroll
    for (int h = 0; h < 8; ++h) out[((size_t)blockIdx.x * 8 + h) * 128 + t] = acc[h] / totals[h];
}
#define GROUPS(NAME, PITCH, SWIZZLED)                                                                                                             \
    KERNEL(128) NAME(const float *queries, const __half2 *keys, const __half *values, const unsigned *lengths, float *out) {                      \
        query_groups<PITCH, SWIZZLED>(queries, keys, values, lengths, out);                                                                       \
    }
GROUPS(query_groups_plain, 64, false)
GROUPS(query_groups_padded, 65, false)
GROUPS(query_groups_swizzled, 64, true)
