// Kernels of the twenty-ninth set in groups that differ in the layout of shared memory alone: games of pits, texts packed by repeats, factorials, dipoles, maps of
// cats, patience, linear programs, five in a row, series by Burg, a cipher, halftones, grammars, trees of boxes.
#include <cuda_runtime.h>

#define KERNEL(THREADS) extern "C" __global__ void __launch_bounds__(THREADS)
#define ALL 0xffffffffu

enum Layout { PLAIN, PADDED, OTHER };

// Games of mancala by chance: a thread a game, its fourteen pits in shared memory; stones are sown round the board, and a last stone in an empty pit takes those across.
template <Layout HOW> __device__ __forceinline__ void mancala(const unsigned *seeds, int *out, int moves) {
    __shared__ volatile int pits[64 * 17];
    const int t = threadIdx.x, own = blockIdx.x * 64 + t;
    const auto at = [&](int k) { return HOW == PLAIN ? t * 16 + k : HOW == PADDED ? t * 17 + k : k * 64 + t; };
    #pragma unroll
    for (int k = 0; k < 14; ++k) pits[at(k)] = k % 7 == 6 ? 0 : 4;
    unsigned seed = seeds[own];
    int side = 0;
    #pragma unroll 1
    for (int move = 0; move < moves; ++move) {
        seed = seed * 1664525u + 1013904223u;
        int pit = side * 7 + (seed >> 16) % 6u, stones = pits[at(pit)];
        pits[at(pit)] = 0;
        #pragma unroll 1
        for (; stones > 0; --stones) {
            pit = pit == 13 ? 0 : pit + 1;
            if (pit == (side ? 6 : 13)) pit = pit == 13 ? 0 : pit + 1;
            pits[at(pit)] = pits[at(pit)] + 1;
        }
        if (pit % 7 != 6 && pit / 7 == side && pits[at(pit)] == 1) {
            pits[at(side * 7 + 6)] = pits[at(side * 7 + 6)] + 1 + pits[at(12 - pit)];
            pits[at(pit)] = 0, pits[at(12 - pit)] = 0;
        }
        if (pit != side * 7 + 6) side ^= 1;
    }
    out[own] = pits[at(6)] - pits[at(13)];
}
KERNEL(64) mancala_rows(const unsigned *seeds, int *out, int moves) { mancala<PLAIN>(seeds, out, moves); }
KERNEL(64) mancala_padded(const unsigned *seeds, int *out, int moves) { mancala<PADDED>(seeds, out, moves); }
KERNEL(64) mancala_columns(const unsigned *seeds, int *out, int moves) { mancala<OTHER>(seeds, out, moves); }

// Texts of 128 letters of two bits packed by what came before (Lempel and Ziv): a thread a text, where triples were last seen in a table of 32. What is left to say.
template <int PITCH> __device__ __forceinline__ void repeats(const unsigned *in, uint2 *out, int texts) {
    __shared__ volatile unsigned held[64 * PITCH];
    const int t = threadIdx.x, own = blockIdx.x * 64 + t;
    volatile unsigned *seen = held + t * PITCH, *words = seen + 32;
    #pragma unroll 8
    for (int k = 0; k < 32; ++k) seen[k] = 0u;
    #pragma unroll
    for (int k = 0; k < 16; ++k) words[k] = in[(size_t)k * texts + own] & 0x33333333u;
    const auto letter = [&](unsigned k) { return words[k >> 3] >> (k & 7u) * 4u & 3u; };
    unsigned said = 0, mixed = 0, now = 0;
    #pragma unroll 1
    while (now < 124u) {
        const unsigned key = letter(now) | letter(now + 1) << 2 | letter(now + 2) << 4, place = (key * 29u >> 1) & 31u, before = seen[place];
        seen[place] = now + 1;
        unsigned length = 0;
        if (before)
            while (length < 15u && now + length < 127u && letter(before - 1 + length) == letter(now + length)) ++length;
        if (length >= 3u) mixed = mixed * 31u + (now - before) * 16u + length, now += length, said += 11u;
        else mixed = mixed * 31u + key, ++now, said += 3u;
    }
    out[own] = make_uint2(said, mixed);
}
KERNEL(64) repeats_rows(const unsigned *in, uint2 *out, int texts) { repeats<48>(in, out, texts); }
KERNEL(64) repeats_padded(const unsigned *in, uint2 *out, int texts) { repeats<49>(in, out, texts); }

// Falling factorials of long numbers: a thread a number of 24 words in shared memory, by one small factor after the other; then what is left by a divisor.
template <int PITCH> __device__ __forceinline__ void factorials(const unsigned *in, unsigned *out, int factors) {
    __shared__ volatile unsigned numbers[64 * PITCH];
    const int t = threadIdx.x, own = blockIdx.x * 64 + t;
    volatile unsigned *number = numbers + t * PITCH;
    const unsigned first = in[own] >> 8 | 1u << 20;
    #pragma unroll 4
    for (int k = 0; k < 24; ++k) number[k] = k ? 0u : 1u;
    #pragma unroll 1
    for (int n = 0; n < factors; ++n) {
        unsigned carry = 0;
        #pragma unroll 4
        for (int k = 0; k < 24; ++k) {
            const unsigned long long v = (unsigned long long)number[k] * (first - n) + carry;
            number[k] = (unsigned)v, carry = (unsigned)(v >> 32);
        }
    }
    unsigned left = 0;
    #pragma unroll 4
    for (int k = 23; k >= 0; --k) left = (unsigned)(((unsigned long long)left << 16 | number[k] >> 16) % 65521u), left = (left << 16 | number[k] & 65535u) % 65521u;
    out[own] = left;
}
KERNEL(64) factorials_rows(const unsigned *in, unsigned *out, int factors) { factorials<24>(in, out, factors); }
KERNEL(64) factorials_padded(const unsigned *in, unsigned *out, int factors) { factorials<25>(in, out, factors); }

// What magnetic dipoles feel of their neighbours in a ring: places and moments of 256 in shared memory, as structures of eight floats or as planes.
template <Layout HOW> __device__ __forceinline__ void dipoles(const float *in, float *out, int reach) {
    __shared__ float held[8 * 256];
    const int t = threadIdx.x;
    const auto at = [](int one, int field) { return HOW == PLAIN ? one * 8 + field : field * 256 + one; };
    float own[6];
    #pragma unroll
    for (int f = 0; f < 6; ++f) own[f] = held[at(t, f)] = in[((size_t)blockIdx.x * 6 + f) * 256 + t];
    __syncthreads();
    float energy = 0.0f;
    #pragma unroll 1
    for (int n = 1; n <= reach; ++n) {
        const int other = t + n & 255;
        const float x = held[at(other, 0)] - own[0], y = held[at(other, 1)] - own[1], z = held[at(other, 2)] - own[2];
        const float mx = held[at(other, 3)], my = held[at(other, 4)], mz = held[at(other, 5)];
        const float near = rsqrtf(x * x + y * y + z * z + 0.01f), cube = near * near * near;
        const float along = (mx * x + my * y + mz * z) * (own[3] * x + own[4] * y + own[5] * z) * near * near;
        energy += (mx * own[3] + my * own[4] + mz * own[5] - 3.0f * along) * cube;
    }
    out[(size_t)blockIdx.x * 256 + t] = energy;
}
KERNEL(256) dipoles_together(const float *in, float *out, int reach) { dipoles<PLAIN>(in, out, reach); }
KERNEL(256) dipoles_apart(const float *in, float *out, int reach) { dipoles<OTHER>(in, out, reach); }

// Pictures of 64 by 64 scrambled as Arnold scrambled his cat, a few times over: x, y goes where x + y, x + 2 y was; lanes run down the columns. Keys are added.
template <int PITCH> __device__ __forceinline__ void cat_map(const unsigned *in, unsigned *out, int rounds) {
    __shared__ unsigned picture[64 * PITCH];
    const int t = threadIdx.x, y = t % 64, first = t / 64;
    #pragma unroll
    for (int k = 0; k < 16; ++k) picture[(k * 4 + t / 64) * PITCH + t % 64] = in[(size_t)blockIdx.x * 4096 + k * 256 + t];
    __syncthreads();
    #pragma unroll 1
    for (int round = 0; round < rounds; ++round) {
        unsigned kept[16];
        #pragma unroll
        for (int k = 0; k < 16; ++k) {
            const int x = k * 4 + first;
            kept[k] = picture[(x + 2 * y & 63) * PITCH + (x + y & 63)];
        }
        __syncthreads();
        #pragma unroll
        for (int k = 0; k < 16; ++k) picture[y * PITCH + k * 4 + first] = kept[k] * 5u + (unsigned)round;
        __syncthreads();
    }
    #pragma unroll
    for (int k = 0; k < 16; ++k) out[(size_t)blockIdx.x * 4096 + k * 256 + t] = picture[(k * 4 + t / 64) * PITCH + t % 64];
}
KERNEL(256) cat_map_plain(const unsigned *in, unsigned *out, int rounds) { cat_map<64>(in, out, rounds); }
KERNEL(256) cat_map_padded(const unsigned *in, unsigned *out, int rounds) { cat_map<65>(in, out, rounds); }

// The longest rising part of each list, by piles of patience: a thread a list of bytes, the piles' tops in shared memory, a search among them for every card.
template <int PITCH> __device__ __forceinline__ void patience(const unsigned *in, unsigned *out, int lists, int words) {
    __shared__ volatile unsigned tops[64 * PITCH];
    const int t = threadIdx.x, own = blockIdx.x * 64 + t;
    volatile unsigned *top = tops + t * PITCH;
    int piles = 0;
    #pragma unroll 1
    for (int word = 0; word < words; ++word) {
        unsigned cards = in[(size_t)word * lists + own];
        #pragma unroll 1
        for (int n = 0; n < 4; ++n, cards >>= 8) {
            const unsigned card = cards & 255u;
            int low = 0, high = piles;
            while (low < high) {
                const int middle = low + high >> 1;
                if (top[middle] < card) low = middle + 1;
                else high = middle;
            }
            low = min(low, 31);
            top[low] = card;
            piles = max(piles, low + 1);
        }
    }
    out[own] = piles * 256u + top[piles - 1];
}
KERNEL(64) patience_rows(const unsigned *in, unsigned *out, int lists, int words) { patience<32>(in, out, lists, words); }
KERNEL(64) patience_padded(const unsigned *in, unsigned *out, int lists, int words) { patience<33>(in, out, lists, words); }

// Small linear programs by steps of the simplex: a warp a tableau of 32 by 32, a lane a row; the column of least cost, the row of least ratio, then elimination.
template <int PITCH> __device__ __forceinline__ void simplex(const float *in, float *out, int steps) {
    __shared__ float held[2][32 * PITCH];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const size_t one = (size_t)blockIdx.x * 2 + warp;
    float *table = held[warp];
    #pragma unroll 4
    for (int k = 0; k < 32; ++k) {
        const float v = in[(one * 32 + k) * 32 + lane];
        table[k * PITCH + lane] = k == 31 ? v - 0.5f : lane == 31 ? fabsf(v) + 1.0f : v;
    }
    __syncwarp();
    const auto least = [](float v, int &which) {
        #pragma unroll
        for (int offset = 16; offset > 0; offset >>= 1) {
            const float other = __shfl_xor_sync(ALL, v, offset);
            const int place = __shfl_xor_sync(ALL, which, offset);
            if (other < v || (other == v && place < which)) v = other, which = place;
        }
    };
    #pragma unroll 1
    for (int step = 0; step < steps; ++step) {
        int column = lane, row = lane;
        least(lane == 31 ? 1e30f : table[31 * PITCH + lane], column);
        const float entry = table[lane * PITCH + column], bound = table[lane * PITCH + 31];
        least(lane < 31 && entry > 1e-3f ? __fdividef(bound, entry) : 1e30f, row);
        const float pivot = __fdividef(1.0f, __shfl_sync(ALL, entry, row) + 1e-3f);
        __syncwarp();
        table[row * PITCH + lane] *= pivot;
        __syncwarp();
        const float factor = lane == row ? 0.0f : entry;
        #pragma unroll 8
        for (int k = 0; k < 32; ++k) table[lane * PITCH + k] -= factor * table[row * PITCH + k];
        __syncwarp();
    }
    out[one * 32 + lane] = table[lane * PITCH + 31];
}
KERNEL(64) simplex_plain(const float *in, float *out, int steps) { simplex<32>(in, out, steps); }
KERNEL(64) simplex_padded(const float *in, float *out, int steps) { simplex<33>(in, out, steps); }

// Boards of 32 by 32 looked through for the longest line of each of three kinds, along rows, columns and both diagonals: a warp a board, a lane a line.
template <int PITCH> __device__ __forceinline__ void in_a_row(const unsigned *in, unsigned *out, int boards) {
    __shared__ unsigned held[4][32 * PITCH];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    unsigned *board = held[warp];
    #pragma unroll 1
    for (int n = 0; n < boards; ++n) {
        const size_t one = ((size_t)blockIdx.x * boards + n) * 4 + warp;
        __syncwarp();
        #pragma unroll 8
        for (int k = 0; k < 32; ++k) board[k * PITCH + lane] = (in[one * 1024 + k * 32 + lane] >> 7) % 3u;
        __syncwarp();
        unsigned longest = 0;
        const auto look = [&](auto where) {
            unsigned last = 3u, length = 0;
            #pragma unroll 8
            for (int k = 0; k < 32; ++k) {
                const unsigned now = board[where(k)];
                length = now == last ? length + 1 : 1u, last = now;
                longest = max(longest, length);
            }
        };
        look([&](int k) { return lane * PITCH + k; });
        look([&](int k) { return k * PITCH + lane; });
        look([&](int k) { return k * PITCH + (lane + k & 31); });
        look([&](int k) { return (lane - k & 31) * PITCH + k; });
        out[one * 32 + lane] = longest;
    }
}
KERNEL(128) in_a_row_plain(const unsigned *in, unsigned *out, int boards) { in_a_row<32>(in, out, boards); }
KERNEL(128) in_a_row_padded(const unsigned *in, unsigned *out, int boards) { in_a_row<33>(in, out, boards); }

// Series of 24 numbers predicted from both sides (Burg): a thread a series, its errors forwards and backwards in shared memory, a few orders; what error is left.
template <int PITCH> __device__ __forceinline__ void burg(const float *in, float *out, int series, int orders) {
    __shared__ volatile float errors[64 * PITCH];
    const int t = threadIdx.x, own = blockIdx.x * 64 + t;
    volatile float *ahead = errors + t * PITCH, *back = ahead + 24;
    float power = 0.0f;
    #pragma unroll 4
    for (int k = 0; k < 24; ++k) {
        const float v = in[(size_t)k * series + own];
        ahead[k] = v, back[k] = v, power += v * v;
    }
    #pragma unroll 1
    for (int order = 1; order <= orders; ++order) {
        float both = 0.0f, each = 1e-6f;
        #pragma unroll 4
        for (int k = order; k < 24; ++k) {
            const float f = ahead[k], b = back[k - 1];
            both += f * b, each += f * f + b * b;
        }
        const float reflected = -2.0f * __fdividef(both, each);
        power *= 1.0f - reflected * reflected;
        #pragma unroll 2
        for (int k = 23; k >= order; --k) {
            const float f = ahead[k], b = back[k - 1];
            ahead[k] = f + reflected * b, back[k] = b + reflected * f;
        }
    }
    out[own] = power;
}
KERNEL(64) burg_rows(const float *in, float *out, int series, int orders) { burg<48>(in, out, series, orders); }
KERNEL(64) burg_padded(const float *in, float *out, int series, int orders) { burg<49>(in, out, series, orders); }

// Messages of 32 words enciphered (XXTEA): a thread a message in shared memory, every word mixed with both of its neighbours, a few rounds.
template <int PITCH> __device__ __forceinline__ void xxtea(const unsigned *in, const unsigned *key, unsigned *out, int rounds) {
    __shared__ volatile unsigned messages[64 * PITCH];
    const int t = threadIdx.x;
    const size_t first = (size_t)blockIdx.x * 2048;
    #pragma unroll 8
    for (int k = 0; k < 32; ++k) messages[(k * 64 + t) / 32 * PITCH + t % 32] = in[first + k * 64 + t];
    __syncthreads();
    volatile unsigned *v = messages + t * PITCH;
    const unsigned keys[4] = {key[0], key[1], key[2], key[3]};
    unsigned sum = 0, z = v[31];
    #pragma unroll 1
    for (int round = 0; round < rounds; ++round) {
        sum += 0x9e3779b9u;
        const unsigned e = sum >> 2 & 3u;
        const bool low = e & 1u, high = e & 2u;
        #pragma unroll 4
        for (int p = 0; p < 32; ++p) {
            const unsigned y = v[p + 1 & 31];
            const unsigned near = low ? keys[p & 3 ^ 1] : keys[p & 3], far = low ? keys[p & 3 ^ 3] : keys[p & 3 ^ 2];
            z = v[p] + (((z >> 5 ^ y << 2) + (y >> 3 ^ z << 4)) ^ ((sum ^ y) + ((high ? far : near) ^ z)));
            v[p] = z;
        }
    }
    __syncthreads();
    #pragma unroll 8
    for (int k = 0; k < 32; ++k) out[first + k * 64 + t] = messages[(k * 64 + t) / 32 * PITCH + t % 32];
}
KERNEL(64) xxtea_rows(const unsigned *in, const unsigned *key, unsigned *out, int rounds) { xxtea<32>(in, key, out, rounds); }
KERNEL(64) xxtea_padded(const unsigned *in, const unsigned *key, unsigned *out, int rounds) { xxtea<33>(in, key, out, rounds); }

// Pictures of 32 by 64 made black and white, what is left over spread as Floyd and Steinberg do: a warp a picture, a lane a row, each two places behind the row above.
template <int PITCH> __device__ __forceinline__ void halftoned(const float *in, unsigned *out) {
    __shared__ volatile float picture[33 * PITCH];
    const int lane = threadIdx.x;
    #pragma unroll 4
    for (int k = 0; k < 64; ++k) picture[k / 2 * PITCH + 1 + k % 2 * 32 + lane] = in[(size_t)blockIdx.x * 2048 + k * 32 + lane];
    #pragma unroll
    for (int k = lane; k < 66; k += 32) picture[32 * PITCH + k] = 0.0f;
    picture[lane * PITCH] = 0.0f, picture[lane * PITCH + 65] = 0.0f;
    __syncwarp();
    float right = 0.0f;
    unsigned white[2] = {};
    #pragma unroll 1
    for (int step = 0; step < 126; ++step) {
        const int x = step - 2 * lane;
        if (x >= 0 && x < 64) {
            volatile float *own = picture + lane * PITCH + 1 + x, *below = own + PITCH;
            const float v = own[0] + right, said = v > 0.0f ? 1.0f : -1.0f, left = (v - said) * 0.0625f;
            if (v > 0.0f) white[0] = white[0] * 3u + x, ++white[1];
            right = left * 7.0f;
            below[-1] = below[-1] + left * 3.0f;
            below[0] = below[0] + left * 5.0f;
            below[1] = below[1] + left;
        }
        __syncwarp();
    }
    out[(size_t)blockIdx.x * 64 + lane] = white[0], out[(size_t)blockIdx.x * 64 + 32 + lane] = white[1];
}
KERNEL(32) halftoned_plain(const float *in, unsigned *out) { halftoned<66>(in, out); }
KERNEL(32) halftoned_padded(const float *in, unsigned *out) { halftoned<67>(in, out); }

// Which kinds of phrase each part of a sentence of twelve words can be (Cocke, Younger and Kasami), kinds as bits: a thread a sentence, its table in shared memory.
template <int PITCH> __device__ __forceinline__ void grammar(const unsigned *in, unsigned *out, int sentences) {
    __shared__ volatile unsigned tables[64 * PITCH];
    const int t = threadIdx.x, own = blockIdx.x * 64 + t;
    volatile unsigned *table = tables + t * PITCH;
    #pragma unroll
    for (int k = 0; k < 12; ++k) {
        const unsigned v = in[(size_t)k * sentences + own];
        table[k * 12] = v & v >> 9 & v >> 17;
    }
    #pragma unroll 1
    for (int length = 1; length < 12; ++length)
        #pragma unroll 1
        for (int first = 0; first + length < 12; ++first) {
            unsigned kinds = 0;
            #pragma unroll 2
            for (int part = 0; part < length; ++part) {
                const unsigned a = table[first * 12 + part], b = table[(first + part + 1) * 12 + length - part - 1];
                kinds |= a & (b << 1 | b >> 31) | (a >> 3 | a << 29) & b & 0x0f0f3333u;
            }
            table[first * 12 + length] = kinds;
        }
    out[own] = table[11];
}
KERNEL(64) grammar_rows(const unsigned *in, unsigned *out, int sentences) { grammar<144>(in, out, sentences); }
KERNEL(64) grammar_padded(const unsigned *in, unsigned *out, int sentences) { grammar<145>(in, out, sentences); }

// In how many boxes of a tree each point lies: 127 boxes in the order of a walk, each with how far to skip where the point is outside. A block a tree, a thread points.
template <Layout HOW> __device__ __forceinline__ void box_tree(const float *boxes, const float2 *points, unsigned *out, int each) {
    __shared__ float nodes[127 * 9];
    const int t = threadIdx.x;
    const auto at = [](int node, int field) { return HOW == PLAIN ? node * 8 + field : HOW == PADDED ? node * 9 + field : field * 127 + node; };
    if (t < 127) {
        int size = 127, first = 0;
        while (first != t) {
            size = size - 1 >> 1;
            first = t <= first + size ? first + 1 : first + 1 + size;
        }
        const float x = boxes[((size_t)blockIdx.x * 127 + t) * 2], y = boxes[((size_t)blockIdx.x * 127 + t) * 2 + 1], large = size > 1 ? 1.0f : 0.4f;
        nodes[at(t, 0)] = x * 0.5f - large, nodes[at(t, 1)] = x * 0.5f + large;
        nodes[at(t, 2)] = y * 0.5f - large, nodes[at(t, 3)] = y * 0.5f + large;
        nodes[at(t, 4)] = __int_as_float(size);
    }
    __syncthreads();
    unsigned found = 0;
    #pragma unroll 1
    for (int n = 0; n < each; ++n) {
        const float2 p = points[((size_t)blockIdx.x * each + n) * 128 + t];
        int node = 0;
        #pragma unroll 1
        while (node < 127) {
            const bool in = p.x >= nodes[at(node, 0)] && p.x <= nodes[at(node, 1)] && p.y >= nodes[at(node, 2)] && p.y <= nodes[at(node, 3)];
            const int skip = __float_as_int(nodes[at(node, 4)]);
            if (in && skip == 1) found = found * 3u + node;
            node += in ? 1 : skip;
        }
    }
    out[(size_t)blockIdx.x * 128 + t] = found;
}
KERNEL(128) box_tree_together(const float *boxes, const float2 *points, unsigned *out, int each) { box_tree<PLAIN>(boxes, points, out, each); }
KERNEL(128) box_tree_padded(const float *boxes, const float2 *points, unsigned *out, int each) { box_tree<PADDED>(boxes, points, out, each); }
KERNEL(128) box_tree_apart(const float *boxes, const float2 *points, unsigned *out, int each) { box_tree<OTHER>(boxes, points, out, each); }
