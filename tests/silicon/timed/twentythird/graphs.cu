// Kernels of the twenty-third set over graphs, sparse matrices, texts and tables of costs: streams, groups of friends, near matches, tours, digests.
#include <cuda_runtime.h>

#define KERNEL(THREADS) extern "C" __global__ void __launch_bounds__(THREADS)
#define ALL 0xffffffffu

// A sparse matrix by a vector, 128 rows a block (CSR-Stream): products go to shared memory in the order of their elements, then a thread sums a row.
// Row r begins at 12 r and up to seven more.
KERNEL(128) csr_stream(const unsigned *__restrict__ begins, const unsigned *__restrict__ columns, const float *__restrict__ values,
                        const float *__restrict__ x, float *y, unsigned mask) {
    __shared__ float products[1552];
    const int t = threadIdx.x, row = blockIdx.x * 128 + t;
    const int first = blockIdx.x * 1536 + (int)(begins[blockIdx.x * 128] & 7u), last = (blockIdx.x + 1) * 1536 + (int)(begins[(blockIdx.x + 1) * 128] & 7u);
    for (int i = first + t; i < last; i += 128) products[i - first] = values[i] * __ldg(x + (columns[i] & mask));
    const int begin = row * 12 + (int)(begins[row] & 7u) - first, end = row * 12 + 12 + (int)(begins[row + 1] & 7u) - first;
    __syncthreads();
    float sum = 0.0f;
    for (int i = begin; i < end; ++i) sum += products[i];
    y[row] = sum;
}

// The group of friends that suits a person best (a move of Louvain's): a warp a person with 33 to 96 friends, the weights of whose groups are added
// up in a table of 128 places in shared memory.
KERNEL(128) louvain(const unsigned *__restrict__ degrees, const unsigned *__restrict__ friends, const float *__restrict__ weights,
                     const unsigned *__restrict__ groups, const float *__restrict__ sizes, unsigned *chosen, unsigned people, float share) {
    __shared__ unsigned names[4][128];
    __shared__ float sums[4][128];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, person = blockIdx.x * 4 + warp, degree = 33 + (int)(degrees[person] & 63u);
    #pragma unroll
    for (int i = lane; i < 128; i += 32) names[warp][i] = ALL, sums[warp][i] = 0.0f;
    __syncwarp();
    for (int i = lane; i < degree; i += 32) {
        const unsigned other = friends[(size_t)person * 96 + i] % people, group = __ldg(groups + other) & 4095u;
        const float weight = fabsf(weights[(size_t)person * 96 + i]);
        unsigned place = group * 2654435761u >> 25;
        while (true) {
            const unsigned before = atomicCAS(&names[warp][place], ALL, group);
            if (before == ALL || before == group) break;
            place = (place + 1) & 127u;
        }
        atomicAdd(&sums[warp][place], weight);
    }
    __syncwarp();
    float best = -1e30f;
    unsigned name = ALL;
    #pragma unroll
    for (int i = lane; i < 128; i += 32)
        if (const unsigned group = names[warp][i]; group != ALL) {
            const float gain = sums[warp][i] - share * (float)degree * fabsf(__ldg(sizes + group));
            if (gain > best || (gain == best && group < name)) best = gain, name = group;
        }
    #pragma unroll
    for (int offset = 16; offset > 0; offset >>= 1) {
        const float gain = __shfl_xor_sync(ALL, best, offset);
        const unsigned group = __shfl_xor_sync(ALL, name, offset);
        if (gain > best || (gain == best && group < name)) best = gain, name = group;
    }
    if (lane == 0) chosen[person] = name;
}

// Places where a word of 24 letters ends with at most two errors (Wu and Manber): a thread 128 letters and 26 before them; letters are of sixteen.
KERNEL(128) fuzzy(const unsigned *__restrict__ text, const unsigned char *__restrict__ word, unsigned *matches, int words) {
    __shared__ unsigned masks[16];
    const int t = threadIdx.x, thread = blockIdx.x * 128 + t;
    if (t < 16) {
        unsigned mask = 0;
        for (int i = 0; i < 24; ++i) mask |= (unsigned)((word[i] & 15) == t) << i;
        masks[t] = mask;
    }
    __syncthreads();
    unsigned exact = 0, one = 1, two = 3, found = 0;
    for (int i = thread * 32 - 7; i < thread * 32 + 32; ++i) {
        if (i < 0 || i >= words) continue;
        unsigned four = text[i] & 0x0f0f0f0fu;
        #pragma unroll
        for (int e = 0; e < 4; ++e) {
            const unsigned mask = masks[four & 255u], old = exact, older = one;
            four >>= 8;
            exact = (exact << 1 | 1u) & mask;
            one = ((one << 1 | 1u) & mask) | old | (old | exact) << 1 | 1u;
            two = ((two << 1 | 1u) & mask) | older | (older | one) << 1 | 3u;
            if (i >= thread * 32) found += two >> 23 & 1u;
        }
    }
    matches[thread] = found;
}

// Which keys a cuckoo filter holds: two buckets a key, four marks of sixteen bits a bucket; a bit a key comes out.
KERNEL(256) cuckoo(const uint2 *__restrict__ buckets, const unsigned *__restrict__ keys, unsigned *held, unsigned mask) {
    #pragma unroll 4
    for (int i = 0; i < 8; ++i) {
        const size_t at = (size_t)blockIdx.x * 2048 + i * 256 + threadIdx.x;
        unsigned hash = keys[at] * 0x9e3779b1u;
        hash ^= hash >> 15, hash *= 0x85ebca77u, hash ^= hash >> 13;
        const unsigned mark = max(1u, hash >> 16 ^ (hash & 0xffffu)), both = mark | mark << 16, one = hash & mask, two = (one ^ mark * 0x5bd1e995u) & mask;
        const uint2 a = __ldg(buckets + one), b = __ldg(buckets + two);
        const unsigned equal = __vcmpeq2(a.x, both) | __vcmpeq2(a.y, both) | __vcmpeq2(b.x, both) | __vcmpeq2(b.y, both);
        const unsigned bits = __ballot_sync(ALL, equal != 0);
        if (threadIdx.x % 32 == 0) held[at / 32] = bits;
    }
}

// The shortest tour of eleven towns (Held and Karp): a block a tour; what each set of ten towns and its last town cost lies in shared memory.
KERNEL(256) held_karp(const float2 *__restrict__ towns, float *shortest) {
    __shared__ float cost[1024 * 10], way[11 * 11];
    const int t = threadIdx.x;
    if (t < 121) {
        const float2 a = towns[blockIdx.x * 11 + t / 11], b = towns[blockIdx.x * 11 + t % 11];
        way[t] = sqrtf((a.x - b.x) * (a.x - b.x) + (a.y - b.y) * (a.y - b.y));
    }
    __syncthreads();
    if (t < 10) cost[(1 << t) * 10 + t] = way[10 * 11 + t];
    for (int size = 2; size <= 10; ++size) {
        __syncthreads();
        for (int i = t; i < 10240; i += 256) {
            const int set = i / 10, last = i % 10;
            if (__popc(set) != size || !(set >> last & 1)) continue;
            const int before = set ^ 1 << last;
            float least = 1e30f;
            for (int left = before; left; left &= left - 1) {
                const int town = __ffs(left) - 1;
                least = fminf(least, cost[before * 10 + town] + way[town * 11 + last]);
            }
            cost[i] = least;
        }
    }
    __syncthreads();
    if (t < 32) {
        float least = t < 10 ? cost[1023 * 10 + t] + way[t * 11 + 10] : 1e30f;
        #pragma unroll
        for (int offset = 16; offset > 0; offset >>= 1) least = fminf(least, __shfl_xor_sync(ALL, least, offset));
        if (t == 0) shortest[blockIdx.x] = least;
    }
}

// Which of 16384 sums 64 numbers below 500 can make: bits in shared memory, shifted by one number after another; a block a list.
KERNEL(256) subset_sums(const unsigned short *__restrict__ numbers, unsigned *reached, unsigned *counts) {
    __shared__ unsigned bits[2][512];
    __shared__ unsigned total, list[64];
    const int t = threadIdx.x;
    bits[0][t] = t == 0, bits[0][256 + t] = 0;
    if (t < 64) list[t] = numbers[(size_t)blockIdx.x * 64 + t] / 2u;
    if (t == 0) total = 0;
    for (int i = 0; i < 64; ++i) {
        __syncthreads();
        const unsigned number = list[i], words = number / 32, rest = number % 32;
        const unsigned *from = bits[i % 2];
        #pragma unroll
        for (int w = t; w < 512; w += 256) {
            const int at = w - (int)words;
            const unsigned high = at >= 0 ? from[at] : 0, low = at >= 1 ? from[at - 1] : 0;
            bits[1 - i % 2][w] = from[w] | __funnelshift_l(low, high, rest);
        }
    }
    __syncthreads();
    unsigned found = 0;
    #pragma unroll
    for (int w = t; w < 512; w += 256) reached[(size_t)blockIdx.x * 512 + w] = bits[0][w], found += __popc(bits[0][w]);
    found = __reduce_add_sync(ALL, found);
    if (t % 32 == 0) atomicAdd(&total, found);
    __syncthreads();
    if (t == 0) counts[blockIdx.x] = total;
}

// A digest of 64 bits that alike texts share (SimHash): a block a text of 4096 letters; a warp counts, for each bit, letters whose hash of eight has it.
KERNEL(128) simhash(const unsigned *__restrict__ texts, unsigned *digests) {
    __shared__ int counts[4][64];
    const int t = threadIdx.x, lane = t % 32, warp = t / 32;
    const unsigned *text = texts + (size_t)blockIdx.x * 1024;
    int low = 0, high = 0;
    for (int i = t; i < 1024; i += 128) {
        const unsigned a = text[i], b = text[min(i + 1, 1023)];
        unsigned x = a * 0xcc9e2d51u ^ __funnelshift_l(b, b, 13) * 0x1b873593u, y = b * 0x85ebca6bu + __funnelshift_l(a, a, 7);
        x ^= x >> 16, x *= 0xc2b2ae35u, x ^= x >> 13, y ^= y >> 15, y *= 0x9e3779b1u, y ^= y >> 14;
        #pragma unroll
        for (int bit = 0; bit < 32; ++bit) {
            const int p = __popc(__ballot_sync(ALL, x >> bit & 1u)), q = __popc(__ballot_sync(ALL, y >> bit & 1u));
            if (lane == bit) low += 2 * p - 32, high += 2 * q - 32;
        }
    }
    counts[warp][lane] = low, counts[warp][32 + lane] = high;
    __syncthreads();
    if (t < 64) {
        const unsigned bits = __ballot_sync(ALL, counts[0][t] + counts[1][t] + counts[2][t] + counts[3][t] > 0);
        if (lane == 0) digests[blockIdx.x * 2 + warp] = bits;
    }
}

__constant__ unsigned long long ROUNDS[80] = {
    0x428a2f98d728ae22ull, 0x7137449123ef65cdull, 0xb5c0fbcfec4d3b2full, 0xe9b5dba58189dbbcull, 0x3956c25bf348b538ull,
    0x59f111f1b605d019ull, 0x923f82a4af194f9bull, 0xab1c5ed5da6d8118ull, 0xd807aa98a3030242ull, 0x12835b0145706fbeull,
    0x243185be4ee4b28cull, 0x550c7dc3d5ffb4e2ull, 0x72be5d74f27b896full, 0x80deb1fe3b1696b1ull, 0x9bdc06a725c71235ull,
    0xc19bf174cf692694ull, 0xe49b69c19ef14ad2ull, 0xefbe4786384f25e3ull, 0x0fc19dc68b8cd5b5ull, 0x240ca1cc77ac9c65ull,
    0x2de92c6f592b0275ull, 0x4a7484aa6ea6e483ull, 0x5cb0a9dcbd41fbd4ull, 0x76f988da831153b5ull, 0x983e5152ee66dfabull,
    0xa831c66d2db43210ull, 0xb00327c898fb213full, 0xbf597fc7beef0ee4ull, 0xc6e00bf33da88fc2ull, 0xd5a79147930aa725ull,
    0x06ca6351e003826full, 0x142929670a0e6e70ull, 0x27b70a8546d22ffcull, 0x2e1b21385c26c926ull, 0x4d2c6dfc5ac42aedull,
    0x53380d139d95b3dfull, 0x650a73548baf63deull, 0x766a0abb3c77b2a8ull, 0x81c2c92e47edaee6ull, 0x92722c851482353bull,
    0xa2bfe8a14cf10364ull, 0xa81a664bbc423001ull, 0xc24b8b70d0f89791ull, 0xc76c51a30654be30ull, 0xd192e819d6ef5218ull,
    0xd69906245565a910ull, 0xf40e35855771202aull, 0x106aa07032bbd1b8ull, 0x19a4c116b8d2d0c8ull, 0x1e376c085141ab53ull,
    0x2748774cdf8eeb99ull, 0x34b0bcb5e19b48a8ull, 0x391c0cb3c5c95a63ull, 0x4ed8aa4ae3418acbull, 0x5b9cca4f7763e373ull,
    0x682e6ff3d6b2b8a3ull, 0x748f82ee5defb2fcull, 0x78a5636f43172f60ull, 0x84c87814a1f0ab72ull, 0x8cc702081a6439ecull,
    0x90befffa23631e28ull, 0xa4506cebde82bde9ull, 0xbef9a3f7b2c67915ull, 0xc67178f2e372532bull, 0xca273eceea26619cull,
    0xd186b8c721c0c207ull, 0xeada7dd6cde0eb1eull, 0xf57d4f7fee6ed178ull, 0x06f067aa72176fbaull, 0x0a637dc5a2c898a6ull,
    0x113f9804bef90daeull, 0x1b710b35131c471bull, 0x28db77f523047d84ull, 0x32caab7b40c72493ull, 0x3c9ebe0a15c9bebcull,
    0x431d67c49c100d4cull, 0x4cc5d4becb3e42b6ull, 0x597f299cfc657e2aull, 0x5fcb6fab3ad6faecull, 0x6c44198c4a475817ull};
// Digests by SHA-512 of messages of 111 bytes, which fill one block; words lie in planes, a thread a message.
KERNEL(128) sha512(const unsigned long long *__restrict__ words, unsigned long long *digests, int count) {
    const int message = blockIdx.x * 128 + threadIdx.x;
    const auto turn = [](unsigned long long v, int by) { return v >> by | v << (64 - by); };
    unsigned long long w[16], h[8];
    #pragma unroll
    for (int i = 0; i < 14; ++i) w[i] = words[(size_t)i * count + message];
    w[13] = (w[13] & ~255ull) | 0x80ull, w[14] = 0, w[15] = 888;
    constexpr unsigned long long start[8] = {0x6a09e667f3bcc908ull, 0xbb67ae8584caa73bull, 0x3c6ef372fe94f82bull, 0xa54ff53a5f1d36f1ull,
                                             0x510e527fade682d1ull, 0x9b05688c2b3e6c1full, 0x1f83d9abfb41bd6bull, 0x5be0cd19137e2179ull};
    #pragma unroll
    for (int i = 0; i < 8; ++i) h[i] = start[i];
    for (int round = 0; round < 80; round += 16) {
        #pragma unroll
        for (int i = 0; i < 16; ++i) {
            const unsigned long long e = h[4], a = h[0];
            const unsigned long long one = h[7] + (turn(e, 14) ^ turn(e, 18) ^ turn(e, 41)) + ((e & h[5]) ^ (~e & h[6])) + ROUNDS[round + i] + w[i];
            const unsigned long long two = (turn(a, 28) ^ turn(a, 34) ^ turn(a, 39)) + ((a & h[1]) ^ (a & h[2]) ^ (h[1] & h[2]));
            h[7] = h[6], h[6] = h[5], h[5] = e, h[4] = h[3] + one, h[3] = h[2], h[2] = h[1], h[1] = a, h[0] = one + two;
        }
        if (round < 64) {
            #pragma unroll
            for (int i = 0; i < 16; ++i) {
                const unsigned long long x = w[(i + 1) % 16], y = w[(i + 14) % 16];
                w[i] += (turn(x, 1) ^ turn(x, 8) ^ x >> 7) + w[(i + 9) % 16] + (turn(y, 19) ^ turn(y, 61) ^ y >> 6);
            }
        }
    }
    #pragma unroll
    for (int i = 0; i < 8; ++i) digests[(size_t)i * count + message] = h[i] + start[i];
}
