// Kernels of the twenty-first set on words: ranks of digits, a hash table, trees that join, search in texts, digests, sparse rows.

#define KERNEL(THREADS) extern "C" __global__ void __launch_bounds__(THREADS)
#define ALL 0xffffffffu

// A pass of a radix sort within blocks of 3072 keys: lanes find those of the same digit by match, warps count in tables of their own.
KERNEL(256) match_ranked(const unsigned *keys, unsigned *sorted, unsigned *counts, int shift) {
    __shared__ unsigned tables[8][256], starts[256], warps[8], out[3072];
    const int t = threadIdx.x, lane = t % 32, warp = t / 32;
    const size_t base = (size_t)blockIdx.x * 3072;
    unsigned own[12], rank[12];
    #pragma unroll
    for (int w = 0; w < 8; ++w) tables[w][t] = 0;
    #pragma unroll
    for (int k = 0; k < 12; ++k) own[k] = keys[base + warp * 384 + k * 32 + lane];
    __syncthreads();
    #pragma unroll
    for (int k = 0; k < 12; ++k) {
        const unsigned digit = own[k] >> shift & 255u, same = __match_any_sync(ALL, digit), below = __popc(same & ((1u << lane) - 1u));
        unsigned before = 0;
        if (below == 0) before = atomicAdd(&tables[warp][digit], __popc(same));
        rank[k] = __shfl_sync(ALL, before, __ffs(same) - 1) + below;
        __syncwarp();
    }
    __syncthreads();
    unsigned sum = 0;
    #pragma unroll
    for (int w = 0; w < 8; ++w) {
        const unsigned here = tables[w][t];
        tables[w][t] = sum;
        sum += here;
    }
    counts[(size_t)t * gridDim.x + blockIdx.x] = sum;
    unsigned scanned = sum;
    #pragma unroll
    for (int offset = 1; offset < 32; offset <<= 1) {
        const unsigned other = __shfl_up_sync(ALL, scanned, offset);
        if (lane >= offset) scanned += other;
    }
    if (lane == 31) warps[warp] = scanned;
    __syncthreads();
    unsigned more = 0;
    for (int w = 0; w < warp; ++w) more += warps[w];
    starts[t] = more + scanned - sum;
    __syncthreads();
    #pragma unroll
    for (int k = 0; k < 12; ++k) {
        const unsigned digit = own[k] >> shift & 255u;
        out[starts[digit] + tables[warp][digit] + rank[k]] = own[k];
    }
    __syncthreads();
    #pragma unroll
    for (int k = 0; k < 12; ++k) sorted[base + k * 256 + t] = out[k * 256 + t];
}

// Keys with values go into a table with open places, one after another, from where a hash says; a key that is there gets the new value.
KERNEL(256) probed_inserts(const unsigned *keys, const unsigned *values, uint2 *table, unsigned last) {
    const int i = blockIdx.x * 256 + threadIdx.x;
    const unsigned key = keys[i] | 1u;
    unsigned slot = key;
    slot ^= slot >> 16, slot *= 0x85ebca6bu, slot ^= slot >> 13, slot *= 0xc2b2ae35u, slot ^= slot >> 16;
    for (unsigned tries = 0; tries <= last; ++tries) {
        slot &= last;
        const unsigned before = atomicCAS(&table[slot].x, 0u, key);
        if (before == 0u || before == key) {
            table[slot].y = values[i];
            return;
        }
        ++slot;
    }
}

// Edges join the trees of their ends, the larger root below the smaller; ways to roots are halved as they are gone.
KERNEL(128) hooked(const unsigned *ends, const unsigned *others, unsigned *parents, unsigned last) {
    const int i = blockIdx.x * 128 + threadIdx.x;
    const auto root = [&](unsigned v) {
        unsigned up = parents[v];
        if (up != v) {
            unsigned before = v, next;
            while (up > (next = parents[up])) {
                parents[before] = next;
                before = up, up = next;
            }
        }
        return up;
    };
    unsigned a = root(ends[i] & last), b = root(others[i] & last);
    while (a != b) {
        if (a < b) {
            const unsigned other = a;
            a = b, b = other;
        }
        const unsigned found = atomicCAS(&parents[a], a, b);
        if (found == a) break;
        a = found;
    }
}

// How often a word of twelve letters, out of four, begins in each stretch of 256 bytes: Horspool's jumps, by a table in shared memory.
KERNEL(192) horspool(const unsigned char *text, const unsigned char *word, unsigned *found, int stretch) {
    __shared__ unsigned char letters[12];
    __shared__ int jumps[4];
    const int t = threadIdx.x;
    if (t < 12) letters[t] = word[t] & 3;
    if (t < 4) {
        int jump = 12;
        for (int k = 0; k < 11; ++k)
            if ((word[k] & 3) == t) jump = 11 - k;
        jumps[t] = jump;
    }
    __syncthreads();
    const size_t begin = ((size_t)blockIdx.x * 192 + t) * stretch;
    unsigned count = 0;
    for (int at = 0; at < stretch;) {
        int k = 11;
        while (k >= 0 && (text[begin + at + k] & 3) == letters[k]) --k;
        count += k < 0;
        at += jumps[text[begin + at + 11] & 3];
    }
    found[blockIdx.x * 192 + t] = count;
}

// MD5 of eight numbers a thread, padded to a block each: which has a digest that begins like the one looked for.
KERNEL(256) md5_numbers(const unsigned *wanted, unsigned *found, unsigned first) {
    constexpr int TURNS[16] = {7, 12, 17, 22, 5, 9, 14, 20, 4, 11, 16, 23, 6, 10, 15, 21};
    constexpr unsigned SINES[64] = {
        0xd76aa478, 0xe8c7b756, 0x242070db, 0xc1bdceee, 0xf57c0faf, 0x4787c62a, 0xa8304613, 0xfd469501, 0x698098d8, 0x8b44f7af, 0xffff5bb1,
        0x895cd7be, 0x6b901122, 0xfd987193, 0xa679438e, 0x49b40821, 0xf61e2562, 0xc040b340, 0x265e5a51, 0xe9b6c7aa, 0xd62f105d, 0x02441453,
        0xd8a1e681, 0xe7d3fbc8, 0x21e1cde6, 0xc33707d6, 0xf4d50d87, 0x455a14ed, 0xa9e3e905, 0xfcefa3f8, 0x676f02d9, 0x8d2a4c8a, 0xfffa3942,
        0x8771f681, 0x6d9d6122, 0xfde5380c, 0xa4beea44, 0x4bdecfa9, 0xf6bb4b60, 0xbebfbc70, 0x289b7ec6, 0xeaa127fa, 0xd4ef3085, 0x04881d05,
        0xd9d4d039, 0xe6db99e5, 0x1fa27cf8, 0xc4ac5665, 0xf4292244, 0x432aff97, 0xab9423a7, 0xfc93a039, 0x655b59c3, 0x8f0ccc92, 0xffeff47d,
        0x85845dd1, 0x6fa87e4f, 0xfe2ce6e0, 0xa3014314, 0x4e0811a1, 0xf7537e82, 0xbd3af235, 0x2ad7d2bb, 0xeb86d391};
    const unsigned look_for = wanted[0];
    for (int n = 0; n < 8; ++n) {
        const unsigned number = first + (n * gridDim.x + blockIdx.x) * 256 + threadIdx.x;
        unsigned message[16] = {number, number * 0x9e3779b9u, 0x80u};
        message[14] = 64;
        unsigned a = 0x67452301u, b = 0xefcdab89u, c = 0x98badcfeu, d = 0x10325476u;
        #pragma unroll
        for (int i = 0; i < 64; ++i) {
            const unsigned f = i < 16 ? (b & c) | (~b & d) : i < 32 ? (d & b) | (~d & c) : i < 48 ? b ^ c ^ d : c ^ (b | ~d);
            const int g = i < 16 ? i : i < 32 ? (5 * i + 1) % 16 : i < 48 ? (3 * i + 5) % 16 : 7 * i % 16, turn = TURNS[i / 16 * 4 + i % 4];
            const unsigned sum = a + f + SINES[i] + message[g];
            a = d, d = c, c = b, b += sum << turn | sum >> (32 - turn);
        }
        if (((a + 0x67452301u) ^ look_for) < 4096u) found[atomicAdd(found, 1u) % 1023u + 1u] = number;
    }
}

// A sparse matrix by a vector, an element a lane with its row: sums go along a warp to the row's last lane, which adds them to the result.
KERNEL(256) coo_rows(const unsigned *noise, const unsigned *columns, const float *values, const float *vector, float *out, unsigned last) {
    const int lane = threadIdx.x % 32;
    #pragma unroll
    for (int k = 0; k < 4; ++k) {
        const unsigned e = (blockIdx.x * 4 + k) * 256 + threadIdx.x, row = (e + (noise[e / 64] & 31u)) / 24;
        float v = values[e] * __ldg(vector + (columns[e] & last));
        #pragma unroll
        for (int offset = 1; offset < 32; offset <<= 1) {
            const float other = __shfl_up_sync(ALL, v, offset);
            const unsigned its = __shfl_up_sync(ALL, row, offset);
            if (lane >= offset && its == row) v += other;
        }
        const unsigned next = __shfl_down_sync(ALL, row, 1);
        if (lane == 31 || next != row) atomicAdd(out + row, v);
    }
}
