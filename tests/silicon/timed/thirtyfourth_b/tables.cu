// Sorts, groups, searches and matches of blocks and warps.
#include "common.cuh"
#include <cuda_runtime.h>

extern __shared__ __align__(128) u8 memory[];
#define KERNEL(THREADS) extern "C" __global__ void __launch_bounds__(THREADS)

// ---- Keys with values, 4096 a block, by four bits at a time: counters of 16 bits, two to a word, that threads scan by parts; then keys and values
// take their ranks in shared memory. Every 32 words may have one more. ----
template <int HOW> __device__ __forceinline__ void sorted(const u32 *keys, const u32 *values, u32 *out, u32 *beside, int bits, int count) {
    constexpr int ITEMS = 16;
    __shared__ u32 counters[HOW == PADDED ? 2048 + 64 : 2048], room[HOW == PADDED ? 4096 + 128 : 4096], warps[8];
    const auto spot = [](int i) { return HOW == PADDED ? i + i / 32 : i; };
    const int t = threadIdx.x, lane = t % 32, warp = t / 32, first = blockIdx.x * 4096, held = min(4096, count - first);
    u32 key[ITEMS], value[ITEMS];
    #pragma unroll
    for (int j = 0; j < ITEMS; ++j) {
        const int i = warp * 512 + j * 32 + lane;
        key[j] = i < held ? keys[first + i] : ALL, value[j] = i < held ? values[first + i] : 0;
    }
    #pragma unroll 1
    for (int shift = 0; shift < bits; shift += 4) {
        #pragma unroll
        for (int j = 0; j < 8; ++j) counters[spot(j * 256 + t)] = 0;
        __syncthreads();
        u32 rank[ITEMS];
        #pragma unroll
        for (int j = 0; j < ITEMS; ++j) {
            const u32 digit = key[j] >> shift & 15;
            u16 *own = (u16 *)(counters + spot((digit & 7) * 256 + t)) + (digit >> 3);
            rank[j] = *own;
            *own = rank[j] + 1;
        }
        __syncthreads();
        u32 part[8], sum = 0;
        #pragma unroll
        for (int j = 0; j < 8; ++j) part[j] = counters[spot(t * 8 + j)], sum += part[j];
        u32 before = sum;
        #pragma unroll
        for (int d = 1; d < 32; d *= 2) {
            const u32 other = __shfl_up_sync(ALL, before, d);
            if (lane >= d) before += other;
        }
        if (lane == 31) warps[warp] = before;
        before -= sum;
        __syncthreads();
        u32 all = 0;
        #pragma unroll
        for (int w = 0; w < 8; ++w) {
            if (w < warp) before += warps[w];
            all += warps[w];
        }
        before += all << 16;
        #pragma unroll
        for (int j = 0; j < 8; ++j) {
            counters[spot(t * 8 + j)] = before;
            before += part[j];
        }
        __syncthreads();
        #pragma unroll
        for (int j = 0; j < ITEMS; ++j) {
            const u32 digit = key[j] >> shift & 15;
            rank[j] += ((const u16 *)(counters + spot((digit & 7) * 256 + t)))[digit >> 3];
            room[spot(rank[j])] = key[j];
        }
        __syncthreads();
        #pragma unroll
        for (int j = 0; j < ITEMS; ++j) key[j] = room[spot(t * ITEMS + j)];
        __syncthreads();
        #pragma unroll
        for (int j = 0; j < ITEMS; ++j) room[spot(rank[j])] = value[j];
        __syncthreads();
        #pragma unroll
        for (int j = 0; j < ITEMS; ++j) value[j] = room[spot(t * ITEMS + j)];
        __syncthreads();
    }
    #pragma unroll
    for (int j = 0; j < ITEMS; j += 4)
        if (t * ITEMS + j < held) {  // counts are multiples of four
            *(uint4 *)(out + first + t * ITEMS + j) = make_uint4(key[j], key[j + 1], key[j + 2], key[j + 3]);
            *(uint4 *)(beside + first + t * ITEMS + j) = make_uint4(value[j], value[j + 1], value[j + 2], value[j + 3]);
        }
}
KERNEL(256) pairs_by_four_bits_plain(const u32 *keys, const u32 *values, u32 *out, u32 *beside, int bits, int count) { sorted<PLAIN>(keys, values, out, beside, bits, count); }
KERNEL(256) pairs_by_four_bits_padded(const u32 *keys, const u32 *values, u32 *out, u32 *beside, int bits, int count) { sorted<PADDED>(keys, values, out, beside, bits, count); }

// ---- Rows grouped in a table that a block fills by comparing and swapping, then added to the table of all; a full table sends a row there at once. ----
KERNEL(256) groups_in_a_table(const uint2 *rows, u32 *keys_of_all, u32 *sums_of_all, u32 *counts_of_all, int count, u32 groups) {
    constexpr int SLOTS = 2048;
    __shared__ u32 keys[SLOTS], sums[SLOTS], counts[SLOTS];
    for (int i = threadIdx.x; i < SLOTS; i += 256) keys[i] = ALL, sums[i] = counts[i] = 0;
    __syncthreads();
    for (int i = blockIdx.x * 256 + threadIdx.x; i < count; i += gridDim.x * 256) {
        const uint2 row = __ldcs(rows + i);
        const u32 key = (row.x ^ row.x >> 9) % groups;
        u32 slot = key * 2654435769u >> 21;
        int tries = 0;
        for (; tries < 16; ++tries, slot = slot + 1 & SLOTS - 1) {
            const u32 old = keys[slot] == key ? key : atomicCAS(keys + slot, ALL, key);
            if (old == ALL || old == key) break;
        }
        if (tries < 16) {
            atomicAdd(sums + slot, row.y & 0xffff);
            atomicAdd(counts + slot, 1u);
        } else {
            keys_of_all[key] = key;
            atomicAdd(sums_of_all + key, row.y & 0xffff);
            atomicAdd(counts_of_all + key, 1u);
        }
    }
    __syncthreads();
    for (int i = threadIdx.x; i < SLOTS; i += 256)
        if (keys[i] != ALL) {
            keys_of_all[keys[i]] = keys[i];
            atomicAdd(sums_of_all + keys[i], sums[i]);
            atomicAdd(counts_of_all + keys[i], counts[i]);
        }
}

// ---- Parts of a picture that hang together, in tiles of 64 x 32: each point leads to one before it, and leads are joined by the least. ------
__device__ __forceinline__ int leader(const int *leads, int i) {
    while (leads[i] != i) i = leads[i];
    return i;
}
__device__ __forceinline__ void join(int *leads, int a, int b) {
    while (true) {
        a = leader(leads, a), b = leader(leads, b);
        if (a == b) return;
        if (a < b) { const int keep = a; a = b, b = keep; }
        const int old = atomicMin(leads + a, b);
        if (old == a) return;
        a = old;
    }
}
KERNEL(512) parts_of_tiles(const u8 *picture, int *labels, int width, int height, int threshold) {
    __shared__ int leads[2048];
    __shared__ u8 inside[32][64];
    const int x = threadIdx.x % 64, y = threadIdx.x / 64, column = blockIdx.x * 64 + x;
    #pragma unroll
    for (int r = y; r < 32; r += 8) {
        const int line = blockIdx.y * 32 + r;
        const bool own = column < width && line < height && picture[(size_t)line * width + column] < threshold, left = __shfl_up_sync(ALL, own, 1);
        inside[r][x] = own;
        leads[r * 64 + x] = r * 64 + x - (own && left && x % 32 > 0);
    }
    __syncthreads();
    for (int r = y; r < 32; r += 8)
        if (inside[r][x]) {
            if (x == 32 && inside[r][x - 1]) join(leads, r * 64 + x, r * 64 + x - 1);
            if (r > 0 && inside[r - 1][x] && !(x > 0 && inside[r][x - 1] && inside[r - 1][x - 1])) join(leads, r * 64 + x, r * 64 + x - 64);
        }
    __syncthreads();
    for (int r = y; r < 32; r += 8) {
        const int line = blockIdx.y * 32 + r;
        if (column < width && line < height) {
            const int at = leader(leads, r * 64 + x);
            labels[(size_t)line * width + column] = inside[r][x] ? (blockIdx.y * 32 + at / 64) * width + blockIdx.x * 64 + at % 64 + 1 : 0;
        }
    }
}

// ---- Earlier matches as packers look for them: a warp takes a chunk of 8192 letters, 32 places at a time; a table says where four letters were last. ----
KERNEL(128) matches_in_chunks(const u8 *in, uint2 *out, u32 *sizes, int letters, int most) {
    constexpr int CHUNK = 8192;
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, chunk = blockIdx.x * 4 + warp;
    u8 *text = memory + warp * (CHUNK + 16 + 4096 * 2);
    u16 *table = (u16 *)(text + CHUNK + 16);
    for (int i = lane; i < CHUNK / 16; i += 32) {
        uint4 v = __ldg((const uint4 *)(in + (size_t)chunk * CHUNK) + i);
        const u32 mask = letters * 0x01010101u;
        v.x &= mask, v.y &= mask, v.z &= mask, v.w &= mask;
        *(uint4 *)(text + i * 16) = v;
    }
    if (lane < 4) ((u32 *)(text + CHUNK))[lane] = 0;
    for (int i = lane; i < 4096; i += 32) table[i] = 0xffff;
    __syncwarp();
    int at = 0, found = 0, packed = 0, pending = 0;
    while (at < CHUNK - 36 && found < most) {
        const int place = at + lane;
        const u32 word = *(const u32 *)(text + (place & ~3)), next = *(const u32 *)(text + (place & ~3) + 4), four = __funnelshift_r(word, next, place % 4 * 8);
        const u32 slot = four * 2654435761u >> 20;
        const int before = table[slot];
        bool is = before < place;
        if (is) {
            const u32 low = *(const u32 *)(text + (before & ~3)), high = *(const u32 *)(text + (before & ~3) + 4);
            is = __funnelshift_r(low, high, before % 4 * 8) == four;
        }
        const u32 have = __ballot_sync(ALL, is);
        const int first = have ? __ffs(have) - 1 : 32;
        __syncwarp();
        if (lane <= first) table[slot] = place;  // whichever lane is last
        __syncwarp();
        if (first == 32) {
            at += 32, pending += 32;
            continue;
        }
        const int here = at + first, there = __shfl_sync(ALL, before, first);
        int length = 4;
        while (here + length < CHUNK) {
            const int i = length + lane;
            const u32 same = __ballot_sync(ALL, here + i < CHUNK && text[min(here + i, CHUNK - 1)] == text[min(there + i, CHUNK - 1)]);
            if (same != ALL) {
                length += __ffs(~same) - 1;
                break;
            }
            length += 32;
        }
        if (lane == 0) out[(size_t)chunk * most + found] = make_uint2(here << 16 | (here - there), (pending + first) << 16 | length);
        packed += 3 + pending + first + (pending + first >= 15 ? 1 : 0) + (length >= 19 ? 1 : 0);
        ++found, pending = 0, at = here + length;
    }
    if (lane == 0) sizes[chunk] = packed + CHUNK - at;
}

// ---- The least 32 of a row, by a warp: lanes keep two in a queue of their own; when one is full, queues are sorted and merged with the warp's. ----
__device__ __forceinline__ void ordered(float &v, int &i, int d, bool up) {
    const float other = __shfl_xor_sync(ALL, v, d);
    const int there = __shfl_xor_sync(ALL, i, d);
    const bool lower = (threadIdx.x & d) == 0, less = other < v || (other == v && there < i);
    if ((lower == up) == less) v = other, i = there;
}
KERNEL(128) least_of_rows(const float *distances, float *least, int *indices, int rows, int length) {
    const int lane = threadIdx.x % 32;
    for (int row = blockIdx.x * 4 + threadIdx.x / 32; row < rows; row += gridDim.x * 4) {
        const float *from = distances + (size_t)row * length;
        float kept = INFINITY, queue[2] = {INFINITY, INFINITY}, bound = INFINITY;
        int kept_at = 0x7fffffff, at[2] = {0x7fffffff, 0x7fffffff}, filled = 0;
        const auto merge = [&] {
            #pragma unroll
            for (int q = 0; q < 2; ++q) {
                #pragma unroll
                for (int size = 2; size <= 32; size *= 2)
                    #pragma unroll
                    for (int d = size / 2; d; d /= 2) ordered(queue[q], at[q], d, size < 32 && (lane & size));  // downwards in the end
                if (queue[q] < kept || (queue[q] == kept && at[q] < kept_at)) kept = queue[q], kept_at = at[q];
                #pragma unroll
                for (int d = 16; d; d /= 2) ordered(kept, kept_at, d, true);
                queue[q] = INFINITY, at[q] = 0x7fffffff;
            }
            filled = 0;
            bound = __shfl_sync(ALL, kept, 31);
        };
        for (int i = lane; i < (length + 31) / 32 * 32; i += 32) {
            const float v = i < length ? __ldcs(from + i) : INFINITY;
            if (v < bound) {
                if (filled == 0) queue[0] = v, at[0] = i;
                else queue[1] = v, at[1] = i;
                ++filled;
            }
            if (__any_sync(ALL, filled == 2)) merge();
        }
        merge();
        least[(size_t)row * 32 + lane] = kept, indices[(size_t)row * 32 + lane] = kept_at;
    }
}

// ---- Rays down a tree of boxes, a box for each node in a heap; what is left to visit waits in shared memory, a thread's own run or side by side. ----
template <int HOW> __device__ __forceinline__ void down_boxes(const float4 *centres, const float4 *rays, float2 *hits, int depth, int count, float shrink) {
    constexpr int MOST = 16;
    __shared__ int waiting[MOST * 128];
    const int t = threadIdx.x, ray = blockIdx.x * 128 + t;
    if (ray >= count) return;
    const auto spot = [&](int i) -> int & { return waiting[HOW == PLAIN ? t * MOST + i : i * 128 + t]; };
    float4 from = rays[2 * ray];
    const float4 towards = rays[2 * ray + 1];
    const float ix = 1.0f / (0.4f * towards.x + 0.001f), iy = 1.0f / (0.4f * towards.y + 0.001f), iz = 1.0f / (0.5f * towards.z + 0.6f);
    from.z -= 3.0f;  // outside of all boxes
    const auto entry = [&](int node, float nearest) {
        const float4 c = __ldg(centres + node);
        const float half = 1.8f * exp2f((float)(__clz(node) - 31) * shrink);
        const float x0 = (c.x - half - from.x) * ix, x1 = (c.x + half - from.x) * ix, y0 = (c.y - half - from.y) * iy, y1 = (c.y + half - from.y) * iy;
        const float z0 = (c.z - half - from.z) * iz, z1 = (c.z + half - from.z) * iz;
        const float in = fmaxf(fmaxf(fminf(x0, x1), fminf(y0, y1)), fmaxf(fminf(z0, z1), 0.0f)), out = fminf(fminf(fmaxf(x0, x1), fmaxf(y0, y1)), fmaxf(z0, z1));
        return in <= out && in < nearest ? in : INFINITY;
    };
    float nearest = 1e30f;
    int hit = 0, visited = 0, top = 0, node = 1;
    const int leaves = 1 << depth;
    while (true) {
        ++visited;
        bool back = true;
        if (node >= leaves) {
            const float own = entry(node, nearest);
            if (own < nearest) nearest = own, hit = node;
        } else {
            const float left = entry(2 * node, nearest), right = entry(2 * node + 1, nearest);
            const bool either = left < nearest || right < nearest, both = left < nearest && right < nearest;
            if (either) {
                const int closer = left <= right ? 0 : 1;
                if (both && top < MOST) spot(top++) = 2 * node + 1 - closer;
                node = 2 * node + closer, back = false;
            }
        }
        if (back) {
            if (top == 0) break;
            node = spot(--top);
        }
    }
    hits[ray] = make_float2(nearest, (float)(hit + visited * 65536));
}
KERNEL(128) rays_down_boxes_together(const float4 *centres, const float4 *rays, float2 *hits, int depth, int count, float shrink) { down_boxes<PLAIN>(centres, rays, hits, depth, count, shrink); }
KERNEL(128) rays_down_boxes_apart(const float4 *centres, const float4 *rays, float2 *hits, int depth, int count, float shrink) { down_boxes<SWIZZLED>(centres, rays, hits, depth, count, shrink); }

// ---- Two sequences at once against a query of 128 letters, in halves of words: a warp a pair, four letters of the query a lane, a column a step
// behind the lane before; scores lie by the query's letters or by those of sequences. ----
template <int HOW> __device__ __forceinline__ void aligned(const u8 *sequences, const u8 *query, const u32 *scores, u32 *out, int length, int opening, int widening) {
    constexpr int ROW = HOW == PLAIN ? 32 : 34;
    __shared__ u16 profile[128 * ROW];
    const int lane = threadIdx.x % 32, pair = blockIdx.x * 8 + threadIdx.x / 32;
    for (int i = threadIdx.x; i < 128 * 32; i += 256)
        profile[i / 32 * ROW + i % 32] = i % 32 < 24 ? (u16)((int)(__ldg(scores + (query[i / 32] % 24) * 24 + i % 32) % 16u) - 9) : (u16)-100;
    __syncthreads();
    const u8 *first = sequences + (size_t)pair * 2 * length, *second = first + length;
    const u32 open = (u32)(-opening & 0xffff) * 0x10001u, widen = (u32)(-widening & 0xffff) * 0x10001u, least = 0x80018001u ^ 0x40004000u;  // -16383
    u32 h[4] = {}, e[4] = {least, least, least, least}, last_f = least, corner = 0, best = 0;
    int letters = 24 << 8 | 24;
    for (int start = 0; start < length + 31; start += 32) {
        const int i = start + lane, fresh = i < length ? first[i] % 24 | second[i] % 24 << 8 : 24 << 8 | 24;
        #pragma unroll 2
        for (int k = 0; k < 32; ++k) {
            const int moved = __shfl_up_sync(ALL, letters, 1), own = __shfl_sync(ALL, fresh, k);
            letters = lane == 0 ? own : moved;
            u32 above = __shfl_up_sync(ALL, h[3], 1), f = __shfl_up_sync(ALL, last_f, 1);
            if (lane == 0) above = 0, f = least;
            u32 diagonal = corner;
            corner = above;
            const u16 *one = profile + lane * 4 * ROW + (letters & 31), *two = profile + lane * 4 * ROW + (letters >> 8);
            #pragma unroll
            for (int r = 0; r < 4; ++r) {
                const u32 score = __vadd2(diagonal, one[r * ROW] | (u32)two[r * ROW] << 16);
                e[r] = __viaddmax_s16x2(e[r], widen, __vadd2(h[r], open));
                f = __viaddmax_s16x2(f, widen, __vadd2(above, open));
                diagonal = h[r];
                h[r] = above = __vimax3_s16x2_relu(score, e[r], f);
                best = __vmaxs2(best, above);
            }
            last_f = f;
        }
    }
    #pragma unroll
    for (int d = 16; d; d /= 2) best = __vmaxs2(best, __shfl_xor_sync(ALL, best, d));
    if (lane == 0) out[pair] = best;
}
#define ALIGNED(NAME, HOW) \
    KERNEL(256) two_sequences_##NAME(const u8 *sequences, const u8 *query, const u32 *scores, u32 *out, int length, int opening, int widening) { aligned<HOW>(sequences, query, scores, out, length, opening, widening); }
ALIGNED(plain, PLAIN)
ALIGNED(padded, PADDED)
