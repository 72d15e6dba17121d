// Kernels of the twenty-eighth set in groups that differ in the layout of shared memory alone: puzzles, a knight, coded ranges, inversions, prints, rotations,
// distances by parabolas, cloth, polygons that are clipped, filters that learn, pursuit of atoms, flow of pictures, charges in fields.
#include <cuda_runtime.h>

#define KERNEL(THREADS) extern "C" __global__ void __launch_bounds__(THREADS)
#define ALL 0xffffffffu

enum Layout { PLAIN, PADDED, OTHER };

// Puzzles of nine by nine digits: what may stand in a square less what stands alone in its row, column and box, a few times. A thread a puzzle.
template <int PITCH> __device__ __forceinline__ void sudoku(const unsigned char *given, unsigned *out, int puzzles, int rounds) {
    __shared__ volatile unsigned short boards[64 * PITCH];
    const int t = threadIdx.x, own = blockIdx.x * 64 + t;
    volatile unsigned short *board = boards + t * PITCH;
    #pragma unroll 3
    for (int k = 0; k < 81; ++k) {
        const unsigned v = given[(size_t)k * puzzles + own];
        board[k] = v < 72 ? 1u << v % 9u : 511u;
    }
    #pragma unroll 1
    for (int round = 0; round < rounds; ++round)
        #pragma unroll 1
        for (int unit = 0; unit < 27; ++unit) {
            const int n = unit % 9;
            const int first = unit < 9 ? n * 9 : unit < 18 ? n : n / 3 * 27 + n % 3 * 3, near = unit < 9 || unit >= 18 ? 1 : 9, far = unit < 9 ? 3 : unit < 18 ? 27 : 9;
            unsigned alone = 0, held[9];
            #pragma unroll
            for (int k = 0; k < 9; ++k) {
                held[k] = board[first + k / 3 * far + k % 3 * near];
                if (!(held[k] & held[k] - 1u)) alone |= held[k];
            }
            #pragma unroll
            for (int k = 0; k < 9; ++k) board[first + k / 3 * far + k % 3 * near] = held[k] & held[k] - 1u ? held[k] & ~alone : held[k];
        }
    unsigned left = 0;
    #pragma unroll 3
    for (int k = 0; k < 81; ++k) left += __popc(board[k]);
    out[own] = left;
}
KERNEL(64) sudoku_plain(const unsigned char *given, unsigned *out, int puzzles, int rounds) { sudoku<88>(given, out, puzzles, rounds); }
KERNEL(64) sudoku_padded(const unsigned char *given, unsigned *out, int puzzles, int rounds) { sudoku<90>(given, out, puzzles, rounds); }

// Tours of a knight that always goes where the fewest ways lead on (Warnsdorff), ties by chance: a thread a tour, the squares' ways in shared memory.
template <Layout HOW> __device__ __forceinline__ void knight(const unsigned *seeds, uint2 *out) {
    __shared__ volatile int ways[64 * 64];
    const int t = threadIdx.x, own = blockIdx.x * 64 + t;
    const auto at = [&](int square) { return HOW == PLAIN ? t * 64 + square : square * 64 + t; };
    const auto hop = [](int k, int &x, int &y) { x += (k & 1 ? 2 : 1) * (k & 2 ? 1 : -1), y += (k & 1 ? 1 : 2) * (k & 4 ? 1 : -1); };
    #pragma unroll 1
    for (int square = 0; square < 64; ++square) {
        int count = 0;
        #pragma unroll
        for (int k = 0; k < 8; ++k) {
            int x = square % 8, y = square / 8;
            hop(k, x, y);
            count += (unsigned)x < 8u && (unsigned)y < 8u;
        }
        ways[at(square)] = count;
    }
    unsigned seed = seeds[own] | 1u;
    int now = seed >> 20 & 63;
    unsigned long long seen = 1ull << now;
    int steps = 1;
    #pragma unroll 1
    for (; steps < 64; ++steps) {
        int next = -1, least = 1 << 20;
        seed = seed * 1664525u + 1013904223u;
        #pragma unroll
        for (int k = 0; k < 8; ++k) {
            int x = now % 8, y = now / 8;
            hop(k, x, y);
            const int square = y * 8 + x;
            if ((unsigned)x < 8u && (unsigned)y < 8u && !(seen >> square & 1ull)) {
                const int left = ways[at(square)] - 1;
                ways[at(square)] = left;
                const int rank = left * 8 + (k + (seed >> 29) & 7);
                if (rank < least) least = rank, next = square;
            }
        }
        if (next < 0) break;
        now = next, seen |= 1ull << now;
    }
    out[own] = make_uint2(steps, now);
}
KERNEL(64) knight_rows(const unsigned *seeds, uint2 *out) { knight<PLAIN>(seeds, out); }
KERNEL(64) knight_columns(const unsigned *seeds, uint2 *out) { knight<OTHER>(seeds, out); }

// Symbols of four bits coded as ranges that shrink, by how often each has come: a thread a text of 64, its sixteen counts in shared memory.
template <Layout HOW> __device__ __forceinline__ void ranges_coded(const unsigned *in, uint2 *out, int texts) {
    __shared__ volatile unsigned counts[64 * 17];
    const int t = threadIdx.x, own = blockIdx.x * 64 + t;
    const auto at = [&](int k) { return HOW == PLAIN ? t * 16 + k : HOW == PADDED ? t * 17 + k : k * 64 + t; };
    #pragma unroll
    for (int k = 0; k < 16; ++k) counts[at(k)] = 1u;
    unsigned low = 0, range = ALL, total = 16, said = 0, mixed = 0;
    #pragma unroll 1
    for (int word = 0; word < 8; ++word) {
        unsigned letters = in[(size_t)word * texts + own];
        letters &= letters >> 1 | 0x11111111u;
        #pragma unroll 1
        for (int n = 0; n < 8; ++n, letters >>= 4) {
            const int symbol = letters & 15u;
            unsigned below = 0;
            #pragma unroll 1
            for (int k = 0; k < symbol; ++k) below += counts[at(k)];
            const unsigned count = counts[at(symbol)], part = range / total;
            low += part * below, range = part * count;
            counts[at(symbol)] = count + 24u, total += 24u;
            if (total > 700u) {
                total = 0;
                #pragma unroll 4
                for (int k = 0; k < 16; ++k) {
                    const unsigned half = counts[at(k)] + 1u >> 1;
                    counts[at(k)] = half, total += half;
                }
            }
            while (range < 1u << 16) mixed = mixed * 31u + (low >> 24), low <<= 8, range <<= 8, ++said;
        }
    }
    out[own] = make_uint2(said, mixed ^ low);
}
KERNEL(64) ranges_coded_rows(const unsigned *in, uint2 *out, int texts) { ranges_coded<PLAIN>(in, out, texts); }
KERNEL(64) ranges_coded_padded(const unsigned *in, uint2 *out, int texts) { ranges_coded<PADDED>(in, out, texts); }
KERNEL(64) ranges_coded_columns(const unsigned *in, uint2 *out, int texts) { ranges_coded<OTHER>(in, out, texts); }

// How many pairs of a list stand the wrong way round, by a tree of Fenwick over 31 ranks: a thread a list, its tree in shared memory.
template <int PITCH> __device__ __forceinline__ void inversions(const unsigned *in, unsigned *out, int lists, int words) {
    __shared__ volatile unsigned trees[64 * PITCH];
    const int t = threadIdx.x, own = blockIdx.x * 64 + t;
    const auto at = [&](int k) { return t * PITCH + k; };
    #pragma unroll
    for (int k = 0; k < 32; ++k) trees[at(k)] = 0u;
    unsigned wrong = 0, seen = 0;
    #pragma unroll 1
    for (int word = 0; word < words; ++word) {
        unsigned ranks = in[(size_t)word * lists + own];
        #pragma unroll 1
        for (int n = 0; n < 6; ++n, ranks >>= 5) {
            const int rank = max(ranks & 31u, 1u);
            unsigned before = 0;
            for (int k = rank; k > 0; k &= k - 1) before += trees[at(k)];
            for (int k = rank; k < 32; k += k & -k) trees[at(k)] = trees[at(k)] + 1u;
            wrong += seen++ - before;
        }
    }
    out[own] = wrong;
}
KERNEL(64) inversions_rows(const unsigned *in, unsigned *out, int lists, int words) { inversions<32>(in, out, lists, words); }
KERNEL(64) inversions_padded(const unsigned *in, unsigned *out, int lists, int words) { inversions<33>(in, out, lists, words); }

// Grey made black and white for print, errors passed on (Floyd and Steinberg): a warp 32 rows of 64, a lane a row that runs two behind the one above.
template <int PITCH> __device__ __forceinline__ void printed(const unsigned char *in, uint2 *out) {
    __shared__ volatile float held[2][33 * PITCH];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const size_t tile = (size_t)blockIdx.x * 2 + warp;
    volatile float *grey = held[warp];
    #pragma unroll 4
    for (int k = lane; k < 33 * PITCH; k += 32) grey[k] = 0.0f;
    __syncwarp();
    #pragma unroll 4
    for (int k = lane; k < 2048; k += 32) grey[k / 64 * PITCH + k % 64 + 1] = (float)in[tile * 2048 + k];
    __syncwarp();
    float passed = 0.0f;
    unsigned low = 0, high = 0;
    #pragma unroll 1
    for (int step = 0; step < 64 + 62; ++step) {
        const int c = step - 2 * lane;
        if (c >= 0 && c < 64) {
            const int at = lane * PITCH + c + 1, under = at + PITCH;
            const float now = grey[at] + passed * 0.4375f;
            const bool white = now > 127.5f;
            passed = white ? now - 255.0f : now;
            grey[under - 1] = grey[under - 1] + passed * 0.1875f;
            grey[under] = grey[under] + passed * 0.3125f;
            grey[under + 1] = grey[under + 1] + passed * 0.0625f;
            if (c < 32) low |= (unsigned)white << c;
            else high |= (unsigned)white << c - 32;
        }
        __syncwarp();
    }
    out[tile * 32 + lane] = make_uint2(low, high);
}
KERNEL(64) printed_plain(const unsigned char *in, uint2 *out) { printed<66>(in, out); }
KERNEL(64) printed_padded(const unsigned char *in, uint2 *out) { printed<67>(in, out); }

// Matrices of 32 by 32 made lower triangles by rotations of neighbouring columns (Givens): a warp a matrix, a lane a row.
template <int PITCH> __device__ __forceinline__ void givens(const float *in, float *out) {
    __shared__ volatile float held[32 * PITCH];
    const int lane = threadIdx.x;
    const size_t base = (size_t)blockIdx.x * 1024;
    #pragma unroll 8
    for (int k = 0; k < 32; ++k) held[k * PITCH + lane] = in[base + k * 32 + lane];
    __syncwarp();
    volatile float *row = held + lane * PITCH;
    #pragma unroll 1
    for (int r = 0; r < 31; ++r) {
        float right = row[31];
        #pragma unroll 2
        for (int c = 31; c > r; --c) {
            const float left = row[c - 1];
            const float x = __shfl_sync(ALL, left, r), y = __shfl_sync(ALL, right, r);
            const float over = rsqrtf(x * x + y * y + 1e-20f), cosine = x * over, sine = y * over;
            row[c] = cosine * right - sine * left;
            right = cosine * left + sine * right;
        }
        row[r] = right;
    }
    __syncwarp();
    #pragma unroll 8
    for (int k = 0; k < 32; ++k) out[base + k * 32 + lane] = held[k * PITCH + lane];
}
KERNEL(32) givens_plain(const float *in, float *out) { givens<32>(in, out); }
KERNEL(32) givens_padded(const float *in, float *out) { givens<33>(in, out); }

// How far each place of a row is from what is marked, as the least of parabolas (Felzenszwalb and Huttenlocher): a thread a row of 32.
template <int PITCH> __device__ __forceinline__ void parabolas(const float *in, float *out) {
    __shared__ volatile float heights[64 * PITCH], edges[64 * PITCH];
    __shared__ volatile int roots[64 * PITCH];
    const int t = threadIdx.x;
    const size_t base = (size_t)blockIdx.x * 2048;
    #pragma unroll 8
    for (int k = t; k < 2048; k += 64) heights[k / 32 * PITCH + k % 32] = fabsf(in[base + k]) * 60.0f;
    __syncthreads();
    volatile float *height = heights + t * PITCH, *edge = edges + t * PITCH;
    volatile int *root = roots + t * PITCH;
    int top = 0;
    root[0] = 0, edge[0] = -1e20f;
    #pragma unroll 1
    for (int q = 1; q < 32; ++q) {
        const float mine = height[q] + (float)(q * q);
        float meets;
        while (true) {
            const int p = root[top];
            meets = (mine - (height[p] + (float)(p * p))) / (float)(2 * (q - p));
            if (meets > edge[top] || top == 0) break;
            --top;
        }
        ++top;
        root[top] = q, edge[top] = meets;
    }
    const int count = top;
    int k = 0;
    #pragma unroll 1
    for (int q = 0; q < 32; ++q) {
        while (k < count && edge[k + 1] < (float)q) ++k;
        const int p = root[k];
        const float far = (float)((q - p) * (q - p)) + height[p];
        out[((size_t)blockIdx.x * 32 + q) * 64 + t] = far;
    }
}
KERNEL(64) parabolas_rows(const float *in, float *out) { parabolas<32>(in, out); }
KERNEL(64) parabolas_padded(const float *in, float *out) { parabolas<33>(in, out); }

// Cloth of 32 by 16 knots with springs to eight neighbours, some steps: knots as structures of a place and a speed, padded structures, or two arrays.
template <Layout HOW> __device__ __forceinline__ void cloth(const float4 *in, float4 *out, int steps, float pull) {
    constexpr int PITCH = HOW == PLAIN ? 2 : HOW == PADDED ? 3 : 1;
    __shared__ float4 knots[512 * (HOW == OTHER ? 2 : PITCH)];
    const int t = threadIdx.x;
    const auto place = [](int n) { return n * PITCH; };
    const auto speed = [](int n) { return HOW == OTHER ? 512 + n : n * PITCH + 1; };
    const size_t base = (size_t)blockIdx.x * 512;
    #pragma unroll
    for (int n = t; n < 512; n += 256) {
        const float4 noise = in[base + n];
        knots[place(n)] = make_float4(n % 32 + noise.x * 0.1f, n / 32 + noise.y * 0.1f, noise.z * 0.1f, 1.0f + 0.1f * noise.w);
        knots[speed(n)] = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    }
    __syncthreads();
    #pragma unroll 1
    for (int step = 0; step < steps; ++step) {
        float4 next[2], faster[2];
        #pragma unroll
        for (int h = 0; h < 2; ++h) {
            const int n = t + h * 256, x = n % 32, y = n / 32;
            const float4 me = knots[place(n)];
            float4 v = knots[speed(n)];
            float fx = 0.0f, fy = 0.0f, fz = -0.01f * me.w;
            #pragma unroll
            for (int k = 0; k < 9; ++k) {
                if (k == 4) continue;
                const int dx = k % 3 - 1, dy = k / 3 - 1;
                const float4 o = knots[place((min(max(y + dy, 0), 15)) * 32 + min(max(x + dx, 0), 31))];
                const float ex = o.x - me.x, ey = o.y - me.y, ez = o.z - me.z, rest = dx && dy ? 1.41421356f : 1.0f;
                const float force = pull * (1.0f - rest * rsqrtf(ex * ex + ey * ey + ez * ez + 1e-6f));
                fx += force * ex, fy += force * ey, fz += force * ez;
            }
            const float light = __fdividef(0.05f, me.w);
            v.x = v.x * 0.99f + fx * light, v.y = v.y * 0.99f + fy * light, v.z = v.z * 0.99f + fz * light;
            if (y == 0) v.x = v.y = v.z = 0.0f;
            faster[h] = v, next[h] = make_float4(me.x + v.x * 0.05f, me.y + v.y * 0.05f, me.z + v.z * 0.05f, me.w);
        }
        __syncthreads();
        #pragma unroll
        for (int h = 0; h < 2; ++h) knots[place(t + h * 256)] = next[h], knots[speed(t + h * 256)] = faster[h];
        __syncthreads();
    }
    #pragma unroll
    for (int n = t; n < 512; n += 256) out[base + n] = knots[place(n)];
}
KERNEL(256) cloth_together(const float4 *in, float4 *out, int steps, float pull) { cloth<PLAIN>(in, out, steps, pull); }
KERNEL(256) cloth_padded(const float4 *in, float4 *out, int steps, float pull) { cloth<PADDED>(in, out, steps, pull); }
KERNEL(256) cloth_apart(const float4 *in, float4 *out, int steps, float pull) { cloth<OTHER>(in, out, steps, pull); }

// Polygons of eight corners clipped by a window's four sides (Sutherland and Hodgman), and their area: a thread a polygon, its corners in shared memory.
template <Layout HOW> __device__ __forceinline__ void clipped(const float *radii, float *out, int polygons) {
    __shared__ float2 corners[2][64 * 16];
    const int t = threadIdx.x, own = blockIdx.x * 64 + t;
    const auto at = [&](int k) { return HOW == PLAIN ? t * 16 + k : k * 64 + t; };
    const float cx = radii[own] * 0.5f, cy = radii[polygons + own] * 0.5f;
    #pragma unroll
    for (int k = 0; k < 8; ++k) {
        const float far = 0.6f + 0.4f * radii[(size_t)(k + 2) * polygons + own];
        corners[0][at(k)] = make_float2(cx + far * cosf(0.78539816f * (float)k), cy + far * sinf(0.78539816f * (float)k));
    }
    int count = 8;
    #pragma unroll 1
    for (int side = 0; side < 4; ++side) {
        const float2 *from = corners[side & 1];
        float2 *to = corners[~side & 1];
        const float sign = side & 1 ? -1.0f : 1.0f;
        const auto inside = [&](float2 p) { return 0.5f - sign * (side & 2 ? p.y : p.x); };
        int kept = 0;
        if (count > 0) {
            float2 last = from[at(count - 1)];
            float was = inside(last);
            #pragma unroll 1
            for (int k = 0; k < count; ++k) {
                const float2 next = from[at(k)];
                const float is = inside(next);
                if ((was < 0.0f) != (is < 0.0f) && kept < 16) {
                    const float part = was / (was - is);
                    to[at(kept++)] = make_float2(last.x + part * (next.x - last.x), last.y + part * (next.y - last.y));
                }
                if (is >= 0.0f && kept < 16) to[at(kept++)] = next;
                last = next, was = is;
            }
        }
        count = kept;
    }
    float area = 0.0f;
    if (count > 0) {
        float2 last = corners[0][at(count - 1)];
        #pragma unroll 1
        for (int k = 0; k < count; ++k) {
            const float2 next = corners[0][at(k)];
            area += last.x * next.y - last.y * next.x;
            last = next;
        }
    }
    out[own] = area * 0.5f;
}
KERNEL(64) clipped_rows(const float *radii, float *out, int polygons) { clipped<PLAIN>(radii, out, polygons); }
KERNEL(64) clipped_columns(const float *radii, float *out, int polygons) { clipped<OTHER>(radii, out, polygons); }

// Filters of sixteen taps that learn to foresee their channel (least mean squares, normalized): a thread a channel, its taps and what it heard in shared memory.
template <int PITCH> __device__ __forceinline__ void adaptive(const float *in, float *out, int channels, int samples, float rate) {
    __shared__ volatile float taps[64 * PITCH], heard[64 * PITCH];
    const int t = threadIdx.x, own = blockIdx.x * 64 + t;
    volatile float *tap = taps + t * PITCH, *past = heard + t * PITCH;
    #pragma unroll
    for (int k = 0; k < 16; ++k) tap[k] = 0.0f, past[k] = 0.0f;
    float power = 0.1f;
    #pragma unroll 1
    for (int n = 0; n < samples; ++n) {
        const float now = in[(size_t)n * channels + own];
        float said = 0.0f;
        #pragma unroll 8
        for (int k = 0; k < 16; ++k) said += tap[k] * past[n + k & 15];
        const float off = now - said, step = rate * off / power;
        #pragma unroll 8
        for (int k = 0; k < 16; ++k) tap[k] = tap[k] + step * past[n + k & 15];
        const float gone = past[n & 15];
        past[n & 15] = now, power += now * now - gone * gone;
        out[(size_t)n * channels + own] = off;
    }
}
KERNEL(64) adaptive_rows(const float *in, float *out, int channels, int samples, float rate) { adaptive<16>(in, out, channels, samples, rate); }
KERNEL(64) adaptive_padded(const float *in, float *out, int channels, int samples, float rate) { adaptive<17>(in, out, channels, samples, rate); }

// Which few of 64 atoms make up a signal of 64 samples (matching pursuit): a warp a signal, a lane two atoms, the atoms in shared memory.
template <int PITCH> __device__ __forceinline__ void pursuit(const float *signals, const float *atoms, float2 *out, int picks) {
    __shared__ volatile float known[64 * PITCH], left[4][64];
    const int t = threadIdx.x, lane = t % 32, warp = t / 32;
    const size_t own = (size_t)blockIdx.x * 4 + warp;
    #pragma unroll 8
    for (int k = t; k < 4096; k += 128) known[k / 64 * PITCH + k % 64] = atoms[k] * 0.2165f;
    left[warp][lane] = signals[own * 64 + lane], left[warp][lane + 32] = signals[own * 64 + lane + 32];
    __syncthreads();
    #pragma unroll 1
    for (int pick = 0; pick < picks; ++pick) {
        float first = 0.0f, second = 0.0f;
        #pragma unroll 8
        for (int s = 0; s < 64; ++s) {
            const float v = left[warp][s];
            first += v * known[lane * PITCH + s], second += v * known[(lane + 32) * PITCH + s];
        }
        float best = fabsf(second) > fabsf(first) ? second : first;
        int atom = fabsf(second) > fabsf(first) ? lane + 32 : lane;
        #pragma unroll
        for (int offset = 16; offset > 0; offset >>= 1) {
            const float other = __shfl_xor_sync(ALL, best, offset);
            const int which = __shfl_xor_sync(ALL, atom, offset);
            if (fabsf(other) > fabsf(best) || (fabsf(other) == fabsf(best) && which < atom)) best = other, atom = which;
        }
        left[warp][lane] = left[warp][lane] - best * known[atom * PITCH + lane];
        left[warp][lane + 32] = left[warp][lane + 32] - best * known[atom * PITCH + lane + 32];
        __syncwarp();
        if (lane == 0) out[own * picks + pick] = make_float2(best, (float)atom);
    }
}
KERNEL(128) pursuit_plain(const float *signals, const float *atoms, float2 *out, int picks) { pursuit<64>(signals, atoms, out, picks); }
KERNEL(128) pursuit_padded(const float *signals, const float *atoms, float2 *out, int picks) { pursuit<65>(signals, atoms, out, picks); }

// How a picture flows into the next (Lucas and Kanade), by windows of five by five: a block 32 by 32 pixels, a lane a row, a warp eight columns of it.
template <int PITCH> __device__ __forceinline__ void picture_flow(const float *before, const float *after, float2 *out, int pitch, int width) {
    __shared__ volatile float old[38 * PITCH], fresh[38 * PITCH];
    const int t = threadIdx.x, lane = t % 32, warp = t / 32;
    for (int k = t; k < 38 * 38; k += 128) {
        const size_t from = (size_t)(blockIdx.y * 32 + k / 38) * pitch + blockIdx.x * 32 + k % 38;
        old[k / 38 * PITCH + k % 38] = before[from], fresh[k / 38 * PITCH + k % 38] = after[from];
    }
    __syncthreads();
    float ring[5][5] = {}, sum[5] = {};
    #pragma unroll
    for (int n = 0; n < 12; ++n) {
        float column[5] = {};
        #pragma unroll
        for (int y = 0; y < 5; ++y) {
            const int at = (lane + y + 1) * PITCH + warp * 8 + n + 1;
            const float dx = (old[at + 1] - old[at - 1]) * 0.5f, dy = (old[at + PITCH] - old[at - PITCH]) * 0.5f, dt = fresh[at] - old[at];
            column[0] += dx * dx, column[1] += dx * dy, column[2] += dy * dy, column[3] += dx * dt, column[4] += dy * dt;
        }
        #pragma unroll
        for (int k = 0; k < 5; ++k) sum[k] += column[k] - ring[n % 5][k], ring[n % 5][k] = column[k];
        if (n >= 4) {
            const float over = -__fdividef(1.0f, sum[0] * sum[2] - sum[1] * sum[1] + 1e-3f);
            out[(size_t)(blockIdx.y * 32 + lane) * width + blockIdx.x * 32 + warp * 8 + n - 4] = make_float2((sum[2] * sum[3] - sum[1] * sum[4]) * over, (sum[0] * sum[4] - sum[1] * sum[3]) * over);
        }
    }
}
KERNEL(128) picture_flow_plain(const float *before, const float *after, float2 *out, int pitch, int width) { picture_flow<40>(before, after, out, pitch, width); }
KERNEL(128) picture_flow_padded(const float *before, const float *after, float2 *out, int pitch, int width) { picture_flow<41>(before, after, out, pitch, width); }

// Charges that turn in fields of 16 by 16 cells (the pusher of Boris): a thread a charge; a cell's six numbers together in eight, or apart.
template <Layout HOW> __device__ __forceinline__ void pushed_charges(const float4 *in, const float *fields, float4 *out, int steps, float time) {
    __shared__ volatile float held[256 * 8];
    const int t = threadIdx.x;
    const auto at = [](int cell, int k) { return HOW == PLAIN ? cell * 8 + k : k * 256 + cell; };
    #pragma unroll
    for (int k = 0; k < 6; ++k) held[at(t, k)] = fields[k * 256 + t];
    __syncthreads();
    const size_t own = (size_t)blockIdx.x * 256 + t;
    const float4 start = in[own];
    float x = start.x * 8.0f + 8.0f, y = start.y * 8.0f + 8.0f, vx = start.z * 4.0f, vy = start.w * 4.0f, vz = start.x * start.w;
    #pragma unroll 1
    for (int step = 0; step < steps; ++step) {
        const int cell = ((int)floorf(y) & 15) * 16 + ((int)floorf(x) & 15);
        const float ex = held[at(cell, 0)] * time, ey = held[at(cell, 1)] * time, ez = held[at(cell, 2)] * time;
        const float bx = held[at(cell, 3)] * time, by = held[at(cell, 4)] * time, bz = held[at(cell, 5)] * time;
        vx += ex, vy += ey, vz += ez;
        const float px = vx + vy * bz - vz * by, py = vy + vz * bx - vx * bz, pz = vz + vx * by - vy * bx;
        const float twice = __fdividef(2.0f, 1.0f + bx * bx + by * by + bz * bz);
        vx += (py * bz - pz * by) * twice + ex, vy += (pz * bx - px * bz) * twice + ey, vz += (px * by - py * bx) * twice + ez;
        x += vx * time * 2.0f, y += vy * time * 2.0f;
    }
    out[own] = make_float4(x, y, vx, vy + vz);
}
KERNEL(256) pushed_charges_together(const float4 *in, const float *fields, float4 *out, int steps, float time) { pushed_charges<PLAIN>(in, fields, out, steps, time); }
KERNEL(256) pushed_charges_apart(const float4 *in, const float *fields, float4 *out, int steps, float time) { pushed_charges<OTHER>(in, fields, out, steps, time); }
