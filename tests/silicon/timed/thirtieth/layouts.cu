// Kernels of the thirtieth set in groups that differ in the layout of shared memory alone: lists sorted by parts, palindromes, words looked for by how they restart,
// sliding puzzles, orders of a market, chains that grow, packets of a fountain, lines of a paragraph, discs, hubs of a web, roots of polynomials, cells with memory.
#include <cuda_runtime.h>

#define KERNEL(THREADS) extern "C" __global__ void __launch_bounds__(THREADS)
#define ALL 0xffffffffu

enum Layout { PLAIN, PADDED, OTHER };

// Lists of 32 numbers sorted by parts (quicksort): a thread a list, and a stack of the parts that are left; the smaller part comes first.
template <Layout HOW> __device__ __forceinline__ void by_parts(const unsigned *in, unsigned *out, int lists) {
    __shared__ volatile unsigned held[64 * 41];
    const int t = threadIdx.x, own = blockIdx.x * 64 + t;
    const auto at = [&](int k) { return HOW == PLAIN ? t * 40 + k : HOW == PADDED ? t * 41 + k : k * 64 + t; };
    #pragma unroll 8
    for (int k = 0; k < 32; ++k) held[at(k)] = in[(size_t)k * lists + own];
    int low = 0, high = 31, depth = 0;
    #pragma unroll 1
    while (true) {
        if (low >= high) {
            if (depth == 0) break;
            const unsigned both = held[at(32 + --depth)];
            low = both & 63u, high = both >> 6;
            continue;
        }
        const unsigned pivot = held[at(low + high >> 1)];
        int i = low, j = high;
        #pragma unroll 1
        while (i <= j) {
            unsigned left, right;
            while ((left = held[at(i)]) < pivot) ++i;
            while ((right = held[at(j)]) > pivot) --j;
            if (i <= j) held[at(i++)] = right, held[at(j--)] = left;
        }
        const bool first = j - low > high - i;
        const int from = first ? low : i, to = first ? j : high;
        if (from < to && depth < 8) held[at(32 + depth++)] = from | to << 6;
        if (first) low = i;
        else high = j;
    }
    unsigned mixed = 0;
    #pragma unroll 4
    for (int k = 0; k < 32; ++k) mixed = mixed * 31u + held[at(k)];
    out[own] = mixed;
}
KERNEL(64) by_parts_rows(const unsigned *in, unsigned *out, int lists) { by_parts<PLAIN>(in, out, lists); }
KERNEL(64) by_parts_padded(const unsigned *in, unsigned *out, int lists) { by_parts<PADDED>(in, out, lists); }
KERNEL(64) by_parts_columns(const unsigned *in, unsigned *out, int lists) { by_parts<OTHER>(in, out, lists); }

// The longest palindromes round each letter of texts of 48 letters of two kinds (Manacher): a thread a text, letters and reaches in shared memory.
template <int PITCH> __device__ __forceinline__ void palindromes(const uint2 *in, unsigned *out, int texts, int each) {
    __shared__ volatile int held[64 * PITCH];
    const int t = threadIdx.x, own = blockIdx.x * 64 + t;
    volatile int *letters = held + t * PITCH, *reaches = letters + 48;
    unsigned mixed = 0;
    #pragma unroll 1
    for (int n = 0; n < each; ++n) {
        const uint2 v = in[(size_t)n * texts + own];
        #pragma unroll 8
        for (int k = 0; k < 48; ++k) letters[k] = (k < 32 ? v.x >> k : v.y >> (k - 32)) & 1u;
        int centre = 0, right = -1;
        #pragma unroll 1
        for (int i = 0; i < 48; ++i) {
            int reach = i > right ? 1 : min(reaches[2 * centre - i], right - i + 1);
            while (i - reach >= 0 && i + reach < 48 && letters[i - reach] == letters[i + reach]) ++reach;
            reaches[i] = reach;
            if (i + reach - 1 > right) centre = i, right = i + reach - 1;
            mixed = mixed * 5u + reach;
        }
    }
    out[own] = mixed;
}
KERNEL(64) palindromes_rows(const uint2 *in, unsigned *out, int texts, int each) { palindromes<96>(in, out, texts, each); }
KERNEL(64) palindromes_padded(const uint2 *in, unsigned *out, int texts, int each) { palindromes<97>(in, out, texts, each); }

// How often a word of twelve letters of two kinds is in a text (Knuth, Morris and Pratt): where the word may start again is found first, then the text is read once.
template <int PITCH> __device__ __forceinline__ void restarts(const unsigned *in, uint2 *out, int texts, int words) {
    __shared__ volatile unsigned held[64 * PITCH];
    const int t = threadIdx.x, own = blockIdx.x * 64 + t;
    volatile unsigned *word = held + t * PITCH, *back = word + 12;
    const unsigned given = in[own] & in[own] >> 9;
    #pragma unroll
    for (int k = 0; k < 12; ++k) word[k] = given >> k & 1u;
    back[0] = 0u;
    #pragma unroll 1
    for (int i = 1; i < 12; ++i) {
        const unsigned letter = word[i];
        unsigned k = back[i - 1];
        while (k > 0u && word[k] != letter) k = back[k - 1];
        if (word[k] == letter) ++k;
        back[i] = k;
    }
    unsigned k = 0, found = 0, most = 0;
    #pragma unroll 1
    for (int n = 0; n < words; ++n) {
        unsigned text = in[(size_t)(n + 1) * texts + own];
        text &= text >> 9;
        #pragma unroll 1
        for (int letter = 0; letter < 32; ++letter, text >>= 1) {
            while (k > 0u) {
                if (k < 12u && word[k] == (text & 1u)) break;
                k = back[k - 1];
            }
            if (word[k] == (text & 1u)) ++k;
            if (k == 12u) ++found;
            most = max(most, k);
        }
    }
    out[own] = make_uint2(found, most);
}
KERNEL(64) restarts_rows(const unsigned *in, uint2 *out, int texts, int words) { restarts<24>(in, out, texts, words); }
KERNEL(64) restarts_padded(const unsigned *in, uint2 *out, int texts, int words) { restarts<25>(in, out, texts, words); }

// Sliding puzzles of fifteen tiles: a thread a board, mixed by chance, then undone by the move that brings a tile nearest home until none does.
template <int PITCH> __device__ __forceinline__ void fifteen(const unsigned *seeds, unsigned *out, int moves) {
    __shared__ volatile int boards[64 * PITCH];
    const int t = threadIdx.x, own = blockIdx.x * 64 + t;
    volatile int *board = boards + t * PITCH;
    #pragma unroll
    for (int k = 0; k < 16; ++k) board[k] = k;
    unsigned seed = seeds[own];
    int hole = 15;
    const auto beside = [&](int d) {
        const int x = (hole & 3) + (d == 0) - (d == 1), y = (hole >> 2) + (d == 2) - (d == 3);
        return (x | y) & ~3 ? -1 : y * 4 + x;
    };
    const auto away = [](int tile, int place) { return abs((tile & 3) - (place & 3)) + abs((tile >> 2) - (place >> 2)); };
    #pragma unroll 1
    for (int n = 0; n < moves; ++n) {
        seed = seed * 1664525u + 1013904223u;
        const int from = beside(seed >> 30);
        if (from < 0) continue;
        board[hole] = board[from];
        hole = from;
    }
    unsigned steps = 0;
    #pragma unroll 1
    while (steps < 64u) {
        int best = -1, gain = 0;
        #pragma unroll 1
        for (int d = 0; d < 4; ++d) {
            const int from = beside(d);
            if (from < 0) continue;
            const int tile = board[from], nearer = away(tile, from) - away(tile, hole);
            if (nearer > gain) gain = nearer, best = from;
        }
        if (best < 0) {
            out[own] = steps * 16u + hole;
            return;
        }
        board[hole] = board[best];
        hole = best, ++steps;
    }
    out[own] = ~0u;
}
KERNEL(64) fifteen_rows(const unsigned *seeds, unsigned *out, int moves) { fifteen<16>(seeds, out, moves); }
KERNEL(64) fifteen_padded(const unsigned *seeds, unsigned *out, int moves) { fifteen<17>(seeds, out, moves); }

// Books of orders of a market: a thread a book, sixteen prices to each side; an order takes what the other side offers, best first, up to its limit, and the rest waits.
template <Layout HOW> __device__ __forceinline__ void order_book(const unsigned *seeds, uint2 *out, int orders) {
    __shared__ volatile unsigned books[64 * 33];
    const int t = threadIdx.x, own = blockIdx.x * 64 + t;
    const auto at = [&](int k) { return HOW == PLAIN ? t * 32 + k : HOW == PADDED ? t * 33 + k : k * 64 + t; };
    #pragma unroll 8
    for (int k = 0; k < 32; ++k) books[at(k)] = 8u;
    unsigned seed = seeds[own], traded = 0, refused = 0;
    #pragma unroll 1
    for (int order = 0; order < orders; ++order) {
        seed = seed * 1664525u + 1013904223u;
        const int side = seed >> 31 << 4, limit = seed >> 16 & 15u;
        unsigned size = (seed >> 20 & 63u) + 1u;
        int level = 0;
        while (size) {
            if (level > limit) break;
            const unsigned offered = books[at((side ^ 16) + level)];
            if (!offered) {
                ++level;
                continue;
            }
            const unsigned taken = min(offered, size);
            books[at((side ^ 16) + level)] = offered - taken;
            size -= taken, traded += taken * (level + 1);
        }
        if (!size) continue;
        const int waits = at(side + (seed >> 12 & 15u));
        if (books[waits] > 500u) ++refused;
        else books[waits] = books[waits] + size;
    }
    out[own] = make_uint2(traded, refused);
}
KERNEL(64) order_book_rows(const unsigned *seeds, uint2 *out, int orders) { order_book<PLAIN>(seeds, out, orders); }
KERNEL(64) order_book_padded(const unsigned *seeds, uint2 *out, int orders) { order_book<PADDED>(seeds, out, orders); }
KERNEL(64) order_book_columns(const unsigned *seeds, uint2 *out, int orders) { order_book<OTHER>(seeds, out, orders); }

// Chains that grow by chance over a torus of 32 by 32 and never cross themselves, until none of four ways is free: a thread a chain, rows of the torus as bits.
template <int PITCH> __device__ __forceinline__ void chains(const unsigned *seeds, uint2 *out, int each, int longest) {
    __shared__ volatile unsigned tori[64 * PITCH];
    const int t = threadIdx.x, own = blockIdx.x * 64 + t;
    volatile unsigned *rows = tori + t * PITCH;
    unsigned seed = seeds[own], grown = 0, touched = 0;
    #pragma unroll 1
    for (int n = 0; n < each; ++n) {
        #pragma unroll 8
        for (int k = 0; k < 32; ++k) rows[k] = 0u;
        int x = 16, y = 16, length = 0;
        rows[16] = 1u << 16;
        #pragma unroll 1
        while (length < longest) {
            seed = seed * 1664525u + 1013904223u;
            int tried = 0, near = 0, other = 0;
            #pragma unroll 1
            for (; tried < 4; ++tried) {
                const unsigned way = (seed >> 30) + tried & 3u;
                near = x + (way == 0u) - (way == 1u) & 31, other = y + (way == 2u) - (way == 3u) & 31;
                if ((rows[other] >> near & 1u) == 0u) break;
            }
            if (tried == 4) break;
            x = near, y = other, ++length, touched += tried;
            rows[y] = rows[y] | 1u << x;
        }
        grown += length;
    }
    out[own] = make_uint2(grown, touched);
}
KERNEL(64) chains_rows(const unsigned *seeds, uint2 *out, int each, int longest) { chains<32>(seeds, out, each, longest); }
KERNEL(64) chains_padded(const unsigned *seeds, uint2 *out, int each, int longest) { chains<33>(seeds, out, each, longest); }

// Packets of a fountain code, each the sum of some of sixteen parts: a packet that holds one part alone tells it, and it is taken out of all others. A thread a file.
template <int PITCH> __device__ __forceinline__ void fountain(const unsigned *in, uint2 *out, int files) {
    __shared__ volatile unsigned held[64 * PITCH];
    const int t = threadIdx.x, own = blockIdx.x * 64 + t;
    volatile unsigned *parts = held + t * PITCH, *sums = parts + 20;
    #pragma unroll 5
    for (int k = 0; k < 20; ++k) {
        const unsigned v = in[(size_t)k * files + own];
        parts[k] = k < 4 ? 1u << (v & 15u) : k < 12 ? 1u << (v & 15u) | 1u << (v >> 4 & 15u) : v & v >> 8 & v >> 16 & 0xffffu;
        sums[k] = v * 2654435761u;
    }
    unsigned known = 0, mixed = 0;
    #pragma unroll 1
    while (true) {
        int which = -1;
        #pragma unroll 1
        for (int k = 0; k < 20; ++k) {
            const unsigned v = parts[k];
            if (v != 0u && (v & v - 1u) == 0u) {
                which = k;
                break;
            }
        }
        if (which < 0) break;
        const unsigned part = parts[which], sum = sums[which];
        known |= part, mixed ^= sum;
        #pragma unroll 1
        for (int k = 0; k < 20; ++k) {
            const unsigned v = parts[k];
            if (!(v & part)) continue;
            parts[k] = v ^ part;
            sums[k] = sums[k] ^ sum;
        }
    }
    out[own] = make_uint2(known, mixed);
}
KERNEL(64) fountain_rows(const unsigned *in, uint2 *out, int files) { fountain<40>(in, out, files); }
KERNEL(64) fountain_padded(const unsigned *in, uint2 *out, int files) { fountain<41>(in, out, files); }

// Paragraphs of 31 words broken into lines so that least is left over (Knuth and Plass), for several widths of a page: a thread a paragraph, ends and costs in shared memory.
template <int PITCH> __device__ __forceinline__ void paragraphs(const unsigned *in, unsigned *out, int count, int widths) {
    __shared__ volatile int held[64 * PITCH];
    const int t = threadIdx.x, own = blockIdx.x * 64 + t;
    volatile int *ends = held + t * PITCH, *costs = ends + 32;
    int all = 0;
    ends[0] = 0;
    #pragma unroll
    for (int n = 0; n < 4; ++n) {
        unsigned v = in[(size_t)n * count + own];
        #pragma unroll
        for (int k = 0; k < 8; ++k, v >>= 4) {
            all += (v & 7u) + 3u;
            if (n * 8 + k < 31) ends[n * 8 + k + 1] = all;
        }
    }
    unsigned mixed = 0;
    #pragma unroll 1
    for (int width = 0; width < widths; ++width) {
        const int room = 24 + width * 4;
        costs[0] = 0;
        #pragma unroll 1
        for (int i = 1; i < 32; ++i) {
            const int end = ends[i];
            int best = 1 << 30;
            #pragma unroll 1
            for (int j = i - 1; j >= 0; --j) {
                const int left = room - (end - ends[j]);
                if (left < 0) break;
                best = min(best, costs[j] + left * left);
            }
            costs[i] = best;
        }
        mixed = mixed * 31u + costs[31];
    }
    out[own] = mixed;
}
KERNEL(64) paragraphs_rows(const unsigned *in, unsigned *out, int count, int widths) { paragraphs<64>(in, out, count, widths); }
KERNEL(64) paragraphs_padded(const unsigned *in, unsigned *out, int count, int widths) { paragraphs<65>(in, out, count, widths); }

// Hard discs moved by chance where none is hit: 128 in shared memory, as structures of four floats or as planes; a thread a disc, which stops at the first that it hits.
template <Layout HOW> __device__ __forceinline__ void discs(const float *in, unsigned *out, int rounds, int reach) {
    __shared__ volatile float held[4 * 128];
    const int t = threadIdx.x;
    const auto at = [](int one, int field) { return HOW == PLAIN ? one * 4 + field : field * 128 + one; };
    const float *from = in + (size_t)blockIdx.x * 384;
    float x = from[t] * 4.0f, y = from[128 + t] * 4.0f;
    const float wide = 0.25f + 0.05f * from[256 + t];
    held[at(t, 0)] = x, held[at(t, 1)] = y, held[at(t, 2)] = wide;
    unsigned seed = blockIdx.x * 128 + t, moved = 0;
    __syncthreads();
    #pragma unroll 1
    for (int round = 0; round < rounds; ++round) {
        seed = (seed ^ seed >> 15) * 2654435761u + 12345u;
        const float newer = x + (float)(seed & 1023u) * 0.001f - 0.5f, other = y + (float)(seed >> 20 & 1023u) * 0.001f - 0.5f;
        bool free = true;
        #pragma unroll 1
        for (int n = 1; n <= reach; ++n) {
            const int one = t + n & 127;
            const float dx = held[at(one, 0)] - newer, dy = held[at(one, 1)] - other, both = held[at(one, 2)] + wide;
            if (dx * dx + dy * dy < both * both) {
                free = false;
                break;
            }
        }
        __syncthreads();
        if (free) held[at(t, 0)] = x = newer, held[at(t, 1)] = y = other, ++moved;
        __syncthreads();
    }
    out[(size_t)blockIdx.x * 128 + t] = moved;
}
KERNEL(128) discs_together(const float *in, unsigned *out, int rounds, int reach) { discs<PLAIN>(in, out, rounds, reach); }
KERNEL(128) discs_apart(const float *in, unsigned *out, int rounds, int reach) { discs<OTHER>(in, out, rounds, reach); }

// Hubs and authorities of a web of 32 pages (HITS): a warp a web, by rows for what points and by columns for what is pointed at, again and again.
template <int PITCH> __device__ __forceinline__ void hubs(const float *in, float *out, int rounds) {
    __shared__ float held[2][32 * PITCH], good[2][2][32];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const size_t one = (size_t)blockIdx.x * 2 + warp;
    float *web = held[warp], *hub = good[warp][0], *authority = good[warp][1];
    #pragma unroll 8
    for (int k = 0; k < 32; ++k) web[k * PITCH + lane] = fmaxf(in[(one * 32 + k) * 32 + lane], 0.0f);
    authority[lane] = 1.0f;
    __syncwarp();
    const auto unit = [](float v) {
        float sum = v * v;
        #pragma unroll
        for (int offset = 16; offset > 0; offset >>= 1) sum += __shfl_xor_sync(ALL, sum, offset);
        return v * rsqrtf(sum + 1e-12f);
    };
    #pragma unroll 1
    for (int round = 0; round < rounds; ++round) {
        float sum = 0.0f;
        #pragma unroll 8
        for (int k = 0; k < 32; ++k) sum += web[lane * PITCH + k] * authority[k];
        hub[lane] = unit(sum);
        __syncwarp();
        sum = 0.0f;
        #pragma unroll 8
        for (int k = 0; k < 32; ++k) sum += web[k * PITCH + lane] * hub[k];
        authority[lane] = unit(sum);
        __syncwarp();
    }
    out[one * 32 + lane] = authority[lane] - hub[lane];
}
KERNEL(64) hubs_plain(const float *in, float *out, int rounds) { hubs<32>(in, out, rounds); }
KERNEL(64) hubs_padded(const float *in, float *out, int rounds) { hubs<33>(in, out, rounds); }

// All roots of polynomials of degree eight at once (Durand and Kerner): a thread a polynomial, factors and complex roots in shared memory, until none moves.
template <int PITCH> __device__ __forceinline__ void all_roots(const float *in, float2 *out, int count, int rounds) {
    __shared__ volatile float held[64 * PITCH];
    const int t = threadIdx.x, own = blockIdx.x * 64 + t;
    volatile float *factors = held + t * PITCH, *real = factors + 8, *imaginary = real + 8;
    float a = 0.4f, b = 0.9f;
    #pragma unroll
    for (int k = 0; k < 8; ++k) {
        factors[k] = in[(size_t)k * count + own];
        real[k] = a, imaginary[k] = b;
        const float c = a * 0.4f - b * 0.9f;
        b = a * 0.9f + b * 0.4f, a = c;
    }
    int round = 0;
    float size = 0.0f;
    #pragma unroll 1
    for (; round < rounds; ++round) {
        float moved = 0.0f;
        #pragma unroll 1
        for (int i = 0; i < 8; ++i) {
            const float x = real[i], y = imaginary[i];
            float u = 1.0f, v = 0.0f, p = 1.0f, q = 0.0f;
            #pragma unroll 1
            for (int k = 0; k < 8; ++k) {
                const float w = u * x - v * y + factors[k];
                v = u * y + v * x, u = w;
                if (k == i) continue;
                const float dx = x - real[k], dy = y - imaginary[k], r = p * dx - q * dy;
                q = p * dy + q * dx, p = r;
            }
            const float over = __fdividef(1.0f, p * p + q * q + 1e-20f), dx = (u * p + v * q) * over, dy = (v * p - u * q) * over;
            real[i] = x - dx, imaginary[i] = y - dy;
            moved = fmaxf(moved, fabsf(dx) + fabsf(dy));
        }
        size = moved;
        if (moved < 1e-3f) break;
    }
    out[own] = make_float2(size, (float)round);
}
KERNEL(64) all_roots_rows(const float *in, float2 *out, int count, int rounds) { all_roots<24>(in, out, count, rounds); }
KERNEL(64) all_roots_padded(const float *in, float2 *out, int count, int rounds) { all_roots<25>(in, out, count, rounds); }

// Cells with long and short memory (LSTM), 32 to a sequence: a block a sequence, a thread a gate's row of weights in shared memory, step after step.
template <int PITCH> __device__ __forceinline__ void lstm(const float *weights, const float *in, float *out, int steps) {
    __shared__ float rows[128 * PITCH], hidden[32], gates[128];
    const int t = threadIdx.x;
    #pragma unroll 8
    for (int k = 0; k < 32; ++k) rows[(k * 4 + t / 32) * PITCH + t % 32] = weights[k * 128 + t];
    if (t < 32) hidden[t] = 0.0f;
    float cell = 0.0f;
    __syncthreads();
    #pragma unroll 1
    for (int step = 0; step < steps; ++step) {
        float sum = in[((size_t)blockIdx.x * steps + step) * 128 + t];
        #pragma unroll
        for (int k = 0; k < 32; ++k) sum += rows[t * PITCH + k] * hidden[k];
        const float twice = t / 32 == 2 ? 2.0f : 1.0f, half = __fdividef(1.0f, 1.0f + __expf(-twice * sum));
        gates[t] = t / 32 == 2 ? 2.0f * half - 1.0f : half;
        __syncthreads();
        if (t < 32) {
            cell = gates[32 + t] * cell + gates[t] * gates[64 + t];
            hidden[t] = gates[96 + t] * (2.0f * __fdividef(1.0f, 1.0f + __expf(-2.0f * cell)) - 1.0f);
        }
        __syncthreads();
    }
    if (t < 32) out[(size_t)blockIdx.x * 32 + t] = hidden[t];
}
KERNEL(128) lstm_plain(const float *weights, const float *in, float *out, int steps) { lstm<32>(weights, in, out, steps); }
KERNEL(128) lstm_padded(const float *weights, const float *in, float *out, int steps) { lstm<33>(weights, in, out, steps); }
