// Kernels of the twenty-seventh set in groups that differ in the layout of shared memory alone: codes that correct, roads, hulls, losses, fractions, lists,
// distances, factors, haze, metal, programs, subsets.
#include <cuda_runtime.h>

#define KERNEL(THREADS) extern "C" __global__ void __launch_bounds__(THREADS)
#define ALL 0xffffffffu

enum Layout { PLAIN, PADDED, OTHER };

// Where one of sixteen words of a thread lies, of 64 threads.
template <Layout HOW> __device__ __forceinline__ int sixteen(int t, int k) { return HOW == PLAIN ? t * 16 + k : HOW == PADDED ? t * 17 + k : k * 64 + t; }

// Shortest registers that say fifteen syndromes of a code (Berlekamp and Massey), in the field of 65521: a thread a word, its polynomials in shared memory.
template <Layout HOW> __device__ __forceinline__ void massey(const unsigned *in, unsigned *out, int words) {
    constexpr unsigned P = 65521u;
    __shared__ volatile unsigned said[64 * 17], now[64 * 17], before[64 * 17];
    const int t = threadIdx.x, own = blockIdx.x * 64 + t;
    const auto at = [&](int k) { return sixteen<HOW>(t, k); };
    #pragma unroll 5
    for (int k = 0; k < 15; ++k) said[at(k)] = in[(size_t)k * words + own] % P;
    #pragma unroll
    for (int k = 0; k < 16; ++k) now[at(k)] = k == 0, before[at(k)] = k == 0;
    int length = 0, moved = 1;
    unsigned last = 1;
    #pragma unroll 1
    for (int n = 0; n < 15; ++n) {
        unsigned off = said[at(n)];
        #pragma unroll 1
        for (int k = 1; k <= length; ++k) off = (now[at(k)] * said[at(n - k)] + off) % P;
        if (off == 0) {
            ++moved;
            continue;
        }
        unsigned inverse = 1, base = last;
        #pragma unroll 1
        for (unsigned left = P - 2; left; left >>= 1) {
            if (left & 1u) inverse = inverse * base % P;
            base = base * base % P;
        }
        const unsigned rate = P - off * inverse % P;
        const bool longer = 2 * length <= n;
        #pragma unroll 1
        for (int k = 15; k >= 0; --k) {
            const unsigned held = now[at(k)];
            if (k >= moved) now[at(k)] = (rate * before[at(k - moved)] + held) % P;
            if (longer) before[at(k)] = held;
        }
        if (longer) length = n + 1 - length, last = off, moved = 1;
        else ++moved;
    }
    unsigned mixed = length;
    #pragma unroll
    for (int k = 0; k < 16; ++k) mixed = mixed * 31u + now[at(k)];
    out[own] = mixed;
}
KERNEL(64) massey_rows(const unsigned *in, unsigned *out, int words) { massey<PLAIN>(in, out, words); }
KERNEL(64) massey_padded(const unsigned *in, unsigned *out, int words) { massey<PADDED>(in, out, words); }
KERNEL(64) massey_columns(const unsigned *in, unsigned *out, int words) { massey<OTHER>(in, out, words); }

// Polar codes of 32 bits decoded bit by bit (successive cancellation): a thread a word, what its tree believes in shared memory.
template <int PITCH> __device__ __forceinline__ void polar(const float *in, unsigned *out, int words, unsigned frozen) {
    __shared__ volatile float beliefs[64 * PITCH];
    const int t = threadIdx.x, own = blockIdx.x * 64 + t;
    volatile float *tree = beliefs + t * PITCH;
    #pragma unroll 8
    for (int k = 0; k < 32; ++k) tree[32 + k] = in[(size_t)k * words + own];
    unsigned decided = 0;
    #pragma unroll 1
    for (int bit = 0; bit < 32; ++bit) {
        int level = 5;
        if (bit) {
            level = __ffs(bit) - 1;
            const int size = 1 << level;
            unsigned known = decided >> (bit - size);
            #pragma unroll
            for (int h = 1; h < 32; h <<= 1) {
                const unsigned lows = h == 1 ? 0x55555555u : h == 2 ? 0x33333333u : h == 4 ? 0x0f0f0f0fu : h == 8 ? 0x00ff00ffu : 0x0000ffffu;
                if (h < size) known ^= known >> h & lows;
            }
            #pragma unroll 1
            for (int k = 0; k < size; ++k, known >>= 1) {
                const float a = tree[2 * size + k], b = tree[3 * size + k];
                tree[size + k] = known & 1u ? b - a : b + a;
            }
        }
        #pragma unroll 1
        for (int size = 1 << level >> 1; size > 0; size >>= 1)
            #pragma unroll 1
            for (int k = 0; k < size; ++k) {
                const float a = tree[2 * size + k], b = tree[3 * size + k];
                tree[size + k] = copysignf(fminf(fabsf(a), fabsf(b)), a * b);
            }
        if (!(frozen >> bit & 1u) && tree[1] < 0.0f) decided |= 1u << bit;
    }
    out[own] = decided;
}
KERNEL(64) polar_rows(const float *in, unsigned *out, int words, unsigned frozen) { polar<64>(in, out, words, frozen); }
KERNEL(64) polar_padded(const float *in, unsigned *out, int words, unsigned frozen) { polar<65>(in, out, words, frozen); }

// Cars on rings of 64 places (Nagel and Schreckenberg): they speed up, keep their distance and dawdle. A thread a road, a byte a place.
template <int PITCH> __device__ __forceinline__ void roads(const unsigned *in, unsigned *out, int roads, int steps) {
    __shared__ volatile unsigned char held[2][64 * PITCH];
    const int t = threadIdx.x, own = blockIdx.x * 64 + t;
    unsigned seed = own * 747796405u + 1u;
    const unsigned low = in[own], high = in[roads + own];
    #pragma unroll 4
    for (int c = 0; c < 64; ++c) held[0][t * PITCH + c] = ((c < 32 ? low : high) >> c % 32 & 1u) ? 0 : 255;
    unsigned flow = 0;
    #pragma unroll 1
    for (int step = 0; step < steps; ++step) {
        volatile unsigned char *old = held[step & 1] + t * PITCH, *fresh = held[step + 1 & 1] + t * PITCH;
        int ahead = 0;
        while (ahead < 64 && old[ahead] == 255) ++ahead;
        ahead += 64;
        #pragma unroll 4
        for (int c = 0; c < 64; ++c) fresh[c] = 255;
        #pragma unroll 1
        for (int c = 63; c >= 0; --c) {
            const int speed = old[c];
            if (speed == 255) continue;
            seed = seed * 1664525u + 1013904223u;
            int next = min(min(speed + 1, 5), ahead - c - 1);
            if (seed >> 30 == 0u) next = max(next - 1, 0);
            fresh[c + next & 63] = (unsigned char)next;
            flow += next, ahead = c;
        }
    }
    out[own] = flow;
}
KERNEL(64) roads_rows(const unsigned *in, unsigned *out, int count, int steps) { roads<64>(in, out, count, steps); }
KERNEL(64) roads_padded(const unsigned *in, unsigned *out, int count, int steps) { roads<68>(in, out, count, steps); }

// Areas of the convex hulls of 32 points that lie from left to right (Andrew's chains): a thread a cloud, its points and its stack in shared memory.
template <int PITCH> __device__ __forceinline__ void hulls(const float2 *in, float *out, int clouds) {
    __shared__ volatile float xs[64 * PITCH], ys[64 * PITCH];
    __shared__ volatile int stacks[64 * PITCH];
    const int t = threadIdx.x, own = blockIdx.x * 64 + t;
    volatile float *x = xs + t * PITCH, *y = ys + t * PITCH;
    volatile int *stack = stacks + t * PITCH;
    #pragma unroll 8
    for (int k = 0; k < 32; ++k) {
        const float2 p = in[(size_t)k * clouds + own];
        x[k] = (float)k + 0.45f * p.x, y[k] = 8.0f * p.y;
    }
    float area = 0.0f;
    #pragma unroll 1
    for (int side = 0; side < 2; ++side) {
        const float sign = side ? -1.0f : 1.0f;
        int top = 0;
        #pragma unroll 1
        for (int k = 0; k < 32; ++k) {
            const float px = x[k], py = y[k];
            while (top > 1) {
                const int b = stack[top - 1], a = stack[top - 2];
                const float ax = x[a], ay = y[a];
                if (sign * ((x[b] - ax) * (py - ay) - (y[b] - ay) * (px - ax)) > 0.0f) break;
                --top;
            }
            stack[top++] = k;
        }
        #pragma unroll 1
        for (int k = 1; k < top; ++k) {
            const int a = stack[k - 1], b = stack[k];
            area += sign * (x[a] * y[b] - x[b] * y[a]);
        }
    }
    out[own] = 0.5f * area;
}
KERNEL(64) hulls_rows(const float2 *in, float *out, int clouds) { hulls<32>(in, out, clouds); }
KERNEL(64) hulls_padded(const float2 *in, float *out, int clouds) { hulls<33>(in, out, clouds); }

// What a slice of a book of 24 loans loses, when all lean on one factor (Andersen, Sidenius and Basu): a thread a draw, how likely each count is in shared memory.
template <int PITCH> __device__ __forceinline__ void credit(const float *factors, const float *limits, float *out, float lean, float from, float to) {
    __shared__ volatile float held[64 * PITCH];
    __shared__ float edges[24];
    const int t = threadIdx.x, own = blockIdx.x * 64 + t;
    if (t < 24) edges[t] = limits[t] - 1.5f;
    volatile float *chance = held + t * PITCH;
    #pragma unroll 5
    for (int k = 0; k <= 24; ++k) chance[k] = k == 0 ? 1.0f : 0.0f;
    __syncthreads();
    const float rest = rsqrtf(1.0f - lean * lean), z = 2.5f * factors[own];
    #pragma unroll 1
    for (int loan = 0; loan < 24; ++loan) {
        const float fails = normcdff((edges[loan] - lean * z) * rest);
        float here = chance[loan + 1];
        #pragma unroll 4
        for (int k = loan + 1; k > 0; --k) {
            const float less = chance[k - 1];
            chance[k] = here + fails * (less - here), here = less;
        }
        chance[0] = here - fails * here;
    }
    float loss = 0.0f;
    #pragma unroll 6
    for (int k = 1; k <= 24; ++k) loss += fminf(fmaxf((float)k - from, 0.0f), to - from) * chance[k];
    out[own] = loss;
}
KERNEL(64) credit_rows(const float *factors, const float *limits, float *out, float lean, float from, float to) { credit<32>(factors, limits, out, lean, from, to); }
KERNEL(64) credit_padded(const float *factors, const float *limits, float *out, float lean, float from, float to) { credit<33>(factors, limits, out, lean, from, to); }

// All beginnings of fractions that continue, as products of two by two matrices that are scanned (Hillis and Steele): 256 a block.
template <Layout HOW> __device__ __forceinline__ void fractions(const float2 *in, float *out) {
    __shared__ volatile float held[2][256 * 5];
    const int t = threadIdx.x;
    const auto at = [](int i, int w) { return HOW == PLAIN ? i * 4 + w : HOW == PADDED ? i * 5 + w : w * 256 + i; };
    const size_t own = (size_t)blockIdx.x * 256 + t;
    const float2 v = in[own];
    float a = 1.2f + v.x, b = 0.6f + 0.5f * v.y, c = 1.0f, d = 0.0f;
    int which = 0;
    #pragma unroll 1
    for (int step = 1; step < 256; step <<= 1, which ^= 1) {
        held[which][at(t, 0)] = a, held[which][at(t, 1)] = b, held[which][at(t, 2)] = c, held[which][at(t, 3)] = d;
        __syncthreads();
        if (t >= step) {
            const float e = held[which][at(t - step, 0)], f = held[which][at(t - step, 1)], g = held[which][at(t - step, 2)], h = held[which][at(t - step, 3)];
            const float p = e * a + f * c, q = e * b + f * d, r = g * a + h * c, s = g * b + h * d;
            const float one = 1.0f / (fabsf(p) + fabsf(q) + fabsf(r) + fabsf(s) + 1e-20f);
            a = p * one, b = q * one, c = r * one, d = s * one;
        }
    }
    out[own] = a / (fabsf(c) + 1e-20f);
}
KERNEL(256) fractions_together(const float2 *in, float *out) { fractions<PLAIN>(in, out); }
KERNEL(256) fractions_padded(const float2 *in, float *out) { fractions<PADDED>(in, out); }
KERNEL(256) fractions_apart(const float2 *in, float *out) { fractions<OTHER>(in, out); }

// Eight sorted lists of eight keys made one by a tree of losers: a thread a group of lists, its keys and its tree in shared memory.
template <Layout HOW> __device__ __forceinline__ void losers(const unsigned *in, unsigned *out, int groups) {
    __shared__ volatile unsigned keys[64 * 65], trees[64 * 9];
    const int t = threadIdx.x, own = blockIdx.x * 64 + t;
    const auto key = [&](int k) { return HOW == PLAIN ? t * 64 + k : HOW == PADDED ? t * 65 + k : k * 64 + t; };
    const auto node = [&](int k) { return HOW == PLAIN ? t * 8 + k : HOW == PADDED ? t * 9 + k : k * 64 + t; };
    #pragma unroll 1
    for (int list = 0; list < 8; ++list) {
        unsigned sum = 0;
        #pragma unroll
        for (int k = 0; k < 8; ++k) sum += in[(size_t)(list * 8 + k) * groups + own] >> 8, keys[key(list * 8 + k)] = sum;
    }
    // Each begins as the loser where it meets one that waits, and waits where nobody does.
    #pragma unroll
    for (int k = 0; k < 8; ++k) trees[node(k)] = 0xffffffffu;
    unsigned heads = 0, best = 0;
    #pragma unroll 1
    for (int list = 0; list < 8; ++list) {
        unsigned runs = (keys[key(list * 8)] & ~7u) | list;
        int place = list + 8 >> 1;
        for (; place > 0; place >>= 1) {
            const unsigned waits = trees[node(place)];
            trees[node(place)] = max(runs, waits == 0xffffffffu ? runs : waits);
            if (waits == 0xffffffffu) break;
            runs = min(runs, waits);
        }
        if (place == 0) best = runs;
    }
    #pragma unroll 1
    for (int n = 0; n < 64; ++n) {
        out[(size_t)n * groups + own] = best;
        const int list = best & 7u;
        heads += 1u << list * 4;
        const int head = heads >> list * 4 & 15u;
        unsigned runs = head < 8 ? (keys[key(list * 8 + head)] & ~7u) | list : 0xfffffff8u | list;
        #pragma unroll
        for (int place = list + 8 >> 1, level = 0; level < 3; ++level, place >>= 1) {
            const unsigned waits = trees[node(place)];
            trees[node(place)] = max(runs, waits), runs = min(runs, waits);
        }
        best = runs;
    }
}
KERNEL(64) losers_rows(const unsigned *in, unsigned *out, int groups) { losers<PLAIN>(in, out, groups); }
KERNEL(64) losers_padded(const unsigned *in, unsigned *out, int groups) { losers<PADDED>(in, out, groups); }
KERNEL(64) losers_columns(const unsigned *in, unsigned *out, int groups) { losers<OTHER>(in, out, groups); }

// How far points of a ball are from one another where space bends away (Poincare's): 64 by 64 a block, sixteen a thread, 32 floats each.
template <int PITCH> __device__ __forceinline__ void poincare(const float *left, const float *right, float *out, int width) {
    __shared__ volatile float us[64 * PITCH], vs[64 * PITCH];
    __shared__ float inside[2][64];
    const int t = threadIdx.x, tx = t % 16, ty = t / 16;
    #pragma unroll
    for (int p = t; p < 2048; p += 256) {
        const float u = 0.16f * left[(size_t)blockIdx.y * 2048 + p], v = 0.16f * right[(size_t)blockIdx.x * 2048 + p];
        us[p / 32 * PITCH + p % 32] = u, vs[p / 32 * PITCH + p % 32] = v;
        float a = u * u, b = v * v;
        #pragma unroll
        for (int offset = 16; offset > 0; offset >>= 1) a += __shfl_xor_sync(ALL, a, offset), b += __shfl_xor_sync(ALL, b, offset);
        if (t % 32 == 0) inside[0][p / 32] = 1.0f - a, inside[1][p / 32] = 1.0f - b;
    }
    __syncthreads();
    float sum[4][4] = {};
    #pragma unroll 4
    for (int k = 0; k < 32; ++k) {
        float u[4], v[4];
        #pragma unroll
        for (int i = 0; i < 4; ++i) u[i] = us[(ty + i * 16) * PITCH + k], v[i] = vs[(tx + i * 16) * PITCH + k];
        #pragma unroll
        for (int i = 0; i < 16; ++i) {
            const float apart = u[i / 4] - v[i % 4];
            sum[i / 4][i % 4] += apart * apart;
        }
    }
    #pragma unroll
    for (int i = 0; i < 4; ++i)
        #pragma unroll
        for (int j = 0; j < 4; ++j) {
            const float w = 2.0f * sum[i][j] / (inside[0][ty + i * 16] * inside[1][tx + j * 16]);
            out[(size_t)(blockIdx.y * 64 + ty + i * 16) * width + blockIdx.x * 64 + tx + j * 16] = __logf(1.0f + w + sqrtf(w * (w + 2.0f)));
        }
}
KERNEL(256) poincare_plain(const float *left, const float *right, float *out, int width) { poincare<32>(left, right, out, width); }
KERNEL(256) poincare_padded(const float *left, const float *right, float *out, int width) { poincare<33>(left, right, out, width); }

// Factors of Cholesky to which vectors are added: a warp a factor of 32 by 32, a lane a row, which walks along its columns.
template <int PITCH> __device__ __forceinline__ void added_ranks(const float *in, const float *vectors, float *out, int ranks) {
    __shared__ volatile float held[4][32 * PITCH];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const size_t own = (size_t)blockIdx.x * 4 + warp;
    volatile float *factor = held[warp];
    #pragma unroll 8
    for (int r = 0; r < 32; ++r) {
        const float v = in[own * 1024 + r * 32 + lane];
        factor[r * PITCH + lane] = lane < r ? 0.2f * v : lane == r ? 2.0f + fabsf(v) : 0.0f;
    }
    __syncwarp();
    #pragma unroll 1
    for (int n = 0; n < ranks; ++n) {
        float x = vectors[(own * ranks + n) * 32 + lane];
        #pragma unroll 2
        for (int k = 0; k < 32; ++k) {
            const float mine = factor[lane * PITCH + k], corner = __shfl_sync(ALL, mine, k), high = __shfl_sync(ALL, x, k);
            const float root = sqrtf(corner * corner + high * high), c = root / corner, s = high / corner;
            const float fresh = (mine + s * x) / c;
            if (lane >= k) factor[lane * PITCH + k] = lane == k ? root : fresh;
            x = c * x - s * fresh;
        }
    }
    __syncwarp();
    #pragma unroll 8
    for (int r = 0; r < 32; ++r) out[own * 1024 + r * 32 + lane] = factor[r * PITCH + lane];
}
KERNEL(128) added_ranks_plain(const float *in, const float *vectors, float *out, int ranks) { added_ranks<32>(in, vectors, out, ranks); }
KERNEL(128) added_ranks_padded(const float *in, const float *vectors, float *out, int ranks) { added_ranks<33>(in, vectors, out, ranks); }

// Pictures without their haze: the darkest colour of seven by seven pixels says how much there is. Squares of 64 by 64, along rows first, then columns.
template <int PITCH> __device__ __forceinline__ void haze(const unsigned *in, unsigned *out, int width, float air) {
    __shared__ volatile float dark[64 * PITCH], darker[64 * PITCH];
    const int t = threadIdx.x;
    const size_t base = (size_t)blockIdx.y * 64 * width + blockIdx.x * 64;
    #pragma unroll 8
    for (int p = t; p < 4096; p += 128) {
        const unsigned v = in[base + (size_t)(p / 64) * width + p % 64];
        dark[p / 64 * PITCH + p % 64] = (float)min(min(v & 255u, v >> 8 & 255u), v >> 16 & 255u);
    }
    __syncthreads();
    const auto least = [&](volatile float *from, volatile float *to, int step, int first) {
        float w[7];
        #pragma unroll
        for (int k = 0; k < 6; ++k) w[k + 1] = from[max(first + k - 3, 0) * step];
        #pragma unroll 8
        for (int c = 0; c < 32; ++c) {
            #pragma unroll
            for (int k = 0; k < 6; ++k) w[k] = w[k + 1];
            w[6] = from[min(first + c + 3, 63) * step];
            to[(first + c) * step] = fminf(fminf(fminf(w[0], w[1]), fminf(w[2], w[3])), fminf(fminf(w[4], w[5]), w[6]));
        }
    };
    least(dark + t % 64 * PITCH, darker + t % 64 * PITCH, 1, t / 64 * 32);
    __syncthreads();
    least(darker + t % 64, dark + t % 64, PITCH, t / 64 * 32);
    __syncthreads();
    #pragma unroll 4
    for (int p = t; p < 4096; p += 128) {
        const size_t at = base + (size_t)(p / 64) * width + p % 64;
        const unsigned v = in[at];
        const float one = 1.0f / fmaxf(1.0f - 0.95f * dark[p / 64 * PITCH + p % 64] / air, 0.1f);
        unsigned clear = 0;
        #pragma unroll
        for (int c = 0; c < 24; c += 8) clear |= (unsigned)fminf(fmaxf(((float)(v >> c & 255u) - air) * one + air, 0.0f), 255.0f) << c;
        out[at] = clear;
    }
}
KERNEL(128) haze_plain(const unsigned *in, unsigned *out, int width, float air) { haze<64>(in, out, width, air); }
KERNEL(128) haze_padded(const unsigned *in, unsigned *out, int width, float air) { haze<65>(in, out, width, air); }

// Metal that yields (von Mises, with hardening): six strains and six stresses a point, brought as they lie, four bytes at a time; a thread a point.
__device__ __forceinline__ void copy4(volatile float *to, const float *from) {
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"((unsigned)__cvta_generic_to_shared(const_cast<float *>(to))), "l"(from) : "memory");
}
template <int PITCH> __device__ __forceinline__ void yields(const float *in, float *out, int steps) {
    __shared__ volatile float held[128 * PITCH];
    const int t = threadIdx.x;
    const size_t base = (size_t)blockIdx.x * 1536;
    #pragma unroll
    for (int i = 0; i < 12; ++i) copy4(held + (t + i * 128) / 12 * PITCH + (t + i * 128) % 12, in + base + t + i * 128);
    asm volatile("cp.async.commit_group;\ncp.async.wait_group 0;" ::: "memory");
    __syncthreads();
    volatile float *own = held + t * PITCH;
    float hard = 0.0f;
    #pragma unroll 1
    for (int n = 0; n < steps; ++n) {
        float strain[6], stress[6];
        #pragma unroll
        for (int k = 0; k < 6; ++k) strain[k] = own[k], stress[k] = own[6 + k];
        const float all = (strain[0] + strain[1] + strain[2]) * 0.33333333f;
        #pragma unroll
        for (int k = 0; k < 6; ++k) stress[k] += k < 3 ? 1.6f * (strain[k] - all) + 5.0f * all : 0.8f * strain[k];
        const float mean = (stress[0] + stress[1] + stress[2]) * 0.33333333f, x = stress[0] - mean, y = stress[1] - mean, z = stress[2] - mean;
        const float size = sqrtf(1.5f * (x * x + y * y + z * z) + 3.0f * (stress[3] * stress[3] + stress[4] * stress[4] + stress[5] * stress[5]));
        const float limit = 1.0f + 0.2f * hard, over = size - limit;
        if (over > 0.0f) {
            const float flow = over / (3.0f * 0.8f + 0.2f), keep = 1.0f - 2.4f * flow / size;
            hard += flow;
            stress[0] = mean + keep * x, stress[1] = mean + keep * y, stress[2] = mean + keep * z;
            #pragma unroll
            for (int k = 3; k < 6; ++k) stress[k] *= keep;
        }
        #pragma unroll
        for (int k = 0; k < 6; ++k) own[k] = 0.9f * strain[k], own[6 + k] = stress[k];
    }
    own[0] = hard;
    __syncthreads();
    #pragma unroll
    for (int i = 0; i < 12; ++i) out[base + t + i * 128] = held[(t + i * 128) / 12 * PITCH + (t + i * 128) % 12];
}
KERNEL(128) yields_plain(const float *in, float *out, int steps) { yields<12>(in, out, steps); }
KERNEL(128) yields_padded(const float *in, float *out, int steps) { yields<13>(in, out, steps); }

// Linear programs of fifteen bounds and sixteen unknowns (Dantzig's tableaus, in doubles): a warp a program, two lanes a row.
template <int PITCH> __device__ __forceinline__ void programs(const double *in, double *out, int pivots) {
    __shared__ volatile double held[4][16 * PITCH];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, row = lane % 16, first = lane / 16 * 16;
    const size_t own = (size_t)blockIdx.x * 4 + warp;
    volatile double *table = held[warp];
    #pragma unroll 4
    for (int r = 0; r < 16; ++r) {
        const double v = fabs(in[own * 512 + r * 32 + lane]);
        table[r * PITCH + lane] = lane < 16 ? (r < 15 ? v : -v) : lane == 31 ? (r < 15 ? 1.0 + v : 0.0) : lane - 16 == r ? 1.0 : 0.0;
    }
    __syncwarp();
    #pragma unroll 1
    for (int n = 0; n < pivots; ++n) {
        double least = lane < 31 ? table[15 * PITCH + lane] : 0.0;
        int column = lane;
        #pragma unroll
        for (int offset = 16; offset > 0; offset >>= 1) {
            const double other = __shfl_xor_sync(ALL, least, offset);
            const int from = __shfl_xor_sync(ALL, column, offset);
            if (other < least || (other == least && from < column)) least = other, column = from;
        }
        if (least > -1e-9) break;
        const double mine = table[row * PITCH + column];
        double ratio = row < 15 && mine > 1e-9 ? table[row * PITCH + 31] / mine : 1e30;
        int leaves = row;
        #pragma unroll
        for (int offset = 8; offset > 0; offset >>= 1) {
            const double other = __shfl_xor_sync(ALL, ratio, offset);
            const int from = __shfl_xor_sync(ALL, leaves, offset);
            if (other < ratio || (other == ratio && from < leaves)) ratio = other, leaves = from;
        }
        if (ratio >= 1e30) break;
        const double one = 1.0 / __shfl_sync(ALL, mine, leaves);
        __syncwarp();
        table[leaves * PITCH + lane] = table[leaves * PITCH + lane] * one;
        __syncwarp();
        if (row != leaves)
            #pragma unroll 4
            for (int c = first; c < first + 16; ++c) table[row * PITCH + c] = table[row * PITCH + c] - mine * table[leaves * PITCH + c];
        __syncwarp();
    }
    if (lane < 16) out[own * 16 + lane] = table[lane * PITCH + 31];
}
KERNEL(128) programs_plain(const double *in, double *out, int pivots) { programs<32>(in, out, pivots); }
KERNEL(128) programs_padded(const double *in, double *out, int pivots) { programs<33>(in, out, pivots); }

// How many pairs of sets make up each union of eleven things (sums over subsets, squares, and back): 2048 sets a block, eight neighbours a thread at first.
template <bool PADS> __device__ __forceinline__ void subsets(const unsigned *in, unsigned *out) {
    __shared__ volatile unsigned held[2112];
    const int t = threadIdx.x;
    const size_t base = (size_t)blockIdx.x * 2048;
    const auto at = [](int i) { return PADS ? i + i / 32 : i; };
    #pragma unroll
    for (int i = t; i < 2048; i += 256) held[at(i)] = in[base + i] >> 24;
    #pragma unroll 1
    for (int back = 0; back < 2; ++back) {
        const unsigned sign = back ? ~0u : 1u;
        __syncthreads();
        unsigned v[8];
        #pragma unroll
        for (int k = 0; k < 8; ++k) v[k] = held[at(t * 8 + k)], v[k] = back ? v[k] * v[k] : v[k];
        #pragma unroll
        for (int k = 0; k < 8; k += 2) v[k + 1] += sign * v[k];
        #pragma unroll
        for (int k = 0; k < 4; ++k) v[k / 2 * 4 + k % 2 + 2] += sign * v[k / 2 * 4 + k % 2];
        #pragma unroll
        for (int k = 0; k < 4; ++k) v[k + 4] += sign * v[k];
        #pragma unroll
        for (int k = 0; k < 8; ++k) held[at(t * 8 + k)] = v[k];
        #pragma unroll 2
        for (int bit = 3; bit < 11; ++bit) {
            __syncthreads();
            #pragma unroll
            for (int p = t; p < 1024; p += 256) {
                const int low = p >> bit << bit + 1 | p & (1 << bit) - 1, high = low | 1 << bit;
                held[at(high)] = held[at(high)] + sign * held[at(low)];
            }
        }
    }
    __syncthreads();
    #pragma unroll
    for (int i = t; i < 2048; i += 256) out[base + i] = held[at(i)];
}
KERNEL(256) subsets_plain(const unsigned *in, unsigned *out) { subsets<false>(in, out); }
KERNEL(256) subsets_padded(const unsigned *in, unsigned *out) { subsets<true>(in, out); }
