// Kernels of the twentieth set over bits: a cipher, a hash that needs memory, packed series, long products, games.
#define KERNEL(THREADS) extern "C" __global__ void __launch_bounds__(THREADS)
#define ALL 0xffffffffu
typedef unsigned long long u64;

// ChaCha20: 64 bytes a thread are encrypted by a counter, twenty rounds.
KERNEL(256) chacha(const unsigned *key, const uint4 *text, uint4 *out, unsigned counter) {
    const unsigned i = blockIdx.x * 256 + threadIdx.x;
    unsigned start[16] = {0x61707865u, 0x3320646eu, 0x79622d32u, 0x6b206574u, key[0], key[1], key[2], key[3],
                          key[4], key[5], key[6], key[7], counter + i, key[8], key[9], key[10]}, x[16];
    #pragma unroll
    for (int k = 0; k < 16; ++k) x[k] = start[k];
    const auto quarter = [&](int a, int b, int c, int d) {
        x[a] += x[b], x[d] = __funnelshift_l(x[d] ^ x[a], x[d] ^ x[a], 16);
        x[c] += x[d], x[b] = __funnelshift_l(x[b] ^ x[c], x[b] ^ x[c], 12);
        x[a] += x[b], x[d] = __funnelshift_l(x[d] ^ x[a], x[d] ^ x[a], 8);
        x[c] += x[d], x[b] = __funnelshift_l(x[b] ^ x[c], x[b] ^ x[c], 7);
    };
    #pragma unroll 1
    for (int round = 0; round < 10; ++round) {
        quarter(0, 4, 8, 12), quarter(1, 5, 9, 13), quarter(2, 6, 10, 14), quarter(3, 7, 11, 15);
        quarter(0, 5, 10, 15), quarter(1, 6, 11, 12), quarter(2, 7, 8, 13), quarter(3, 4, 9, 14);
    }
    #pragma unroll
    for (int k = 0; k < 4; ++k) {
        uint4 v = text[(size_t)i * 4 + k];
        v.x ^= x[4 * k] + start[4 * k], v.y ^= x[4 * k + 1] + start[4 * k + 1];
        v.z ^= x[4 * k + 2] + start[4 * k + 2], v.w ^= x[4 * k + 3] + start[4 * k + 3];
        out[(size_t)i * 4 + k] = v;
    }
}

// A hash of passwords that needs memory (Argon2d): a warp fills 32 blocks of 1024 bytes, each from the one before and from an earlier one
// that its first word names. A lane holds four words; rows are mixed in registers and by shuffles, columns after a turn through shared memory.
KERNEL(128) argon(const u64 *seeds, u64 *memory, int blocks) {
    __shared__ u64 held[4][128];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, quad = lane & ~3, at = lane & 3;
    u64 *own = memory + ((size_t)blockIdx.x * 4 + warp) * blocks * 128, *tile = held[warp];
    const auto mixed = [](u64 a, u64 b) { return a + b + 2 * (u64)(unsigned)a * (unsigned)b; };
    const auto turned = [](u64 v, int by) { return v >> by | v << (64 - by); };
    u64 a, b, c, d;
    const auto half = [&]() {
        a = mixed(a, b), d = turned(d ^ a, 32), c = mixed(c, d), b = turned(b ^ c, 24);
        a = mixed(a, b), d = turned(d ^ a, 16), c = mixed(c, d), b = turned(b ^ c, 63);
    };
    const auto permuted = [&]() {
        half();
        b = __shfl_sync(ALL, b, quad | ((at + 1) & 3)), c = __shfl_sync(ALL, c, quad | ((at + 2) & 3)), d = __shfl_sync(ALL, d, quad | ((at + 3) & 3));
        half();
        b = __shfl_sync(ALL, b, quad | ((at + 3) & 3)), c = __shfl_sync(ALL, c, quad | ((at + 2) & 3)), d = __shfl_sync(ALL, d, quad | ((at + 1) & 3));
    };
    u64 before[4];
    #pragma unroll
    for (int k = 0; k < 4; ++k) {
        for (int n = 0; n < 2; ++n) {
            before[k] = seeds[(((size_t)blockIdx.x * 4 + warp) * 2 + n) * 128 + k * 32 + lane];
            own[n * 128 + k * 32 + lane] = before[k];
        }
    }
    for (int n = 2; n < blocks; ++n) {
        const unsigned pick = (unsigned)__shfl_sync(ALL, before[0], 0);
        const u64 square = (u64)pick * pick >> 32;
        const int named = (int)((u64)(n - 1) - 1 - ((u64)(n - 1) * square >> 32));
        u64 kept[4];
        __syncwarp();
        #pragma unroll
        for (int k = 0; k < 4; ++k) {
            kept[k] = before[k] ^ own[named * 128 + k * 32 + lane];
            tile[k * 32 + lane] = kept[k];
        }
        __syncwarp();
        const int row = lane / 4 * 16 + at, column = lane / 4 * 2 + (at & 1) + (at >> 1) * 16;
        a = tile[row], b = tile[row + 4], c = tile[row + 8], d = tile[row + 12];
        permuted();
        tile[row] = a, tile[row + 4] = b, tile[row + 8] = c, tile[row + 12] = d;
        __syncwarp();
        a = tile[column], b = tile[column + 32], c = tile[column + 64], d = tile[column + 96];
        permuted();
        tile[column] = a, tile[column + 32] = b, tile[column + 64] = c, tile[column + 96] = d;
        __syncwarp();
        #pragma unroll
        for (int k = 0; k < 4; ++k) {
            before[k] = kept[k] ^ tile[k * 32 + lane];
            own[n * 128 + k * 32 + lane] = before[k];
        }
    }
}

// Series of numbers packed as differences in bits (as databases of times do): 0 says the same, 10 the same place as before, 11 five bits of
// zeros before and five of a length. A thread to a series of 32 numbers, whose words lie side by side with others'.
KERNEL(128) series(const unsigned *words, unsigned *out, int count) {
    const int i = blockIdx.x * 128 + threadIdx.x;
    u64 window = (u64)words[i] << 32 | words[count + i];
    int next = 2, used = 0;
    const auto taken = [&](int bits) {
        const unsigned v = bits ? (unsigned)(window << used >> 32) >> (32 - bits) : 0u;
        used += bits;
        if (used >= 32) {
            window = window << 32 | words[(size_t)next * count + i];
            ++next, used -= 32;
        }
        return v;
    };
    unsigned value = taken(32), zeros = 8, length = 16;
    out[i] = value;
    for (int k = 1; k < 32; ++k) {
        if (taken(1)) {
            if (taken(1)) {
                zeros = taken(5);
                length = min(taken(5) + 1u, 32u - zeros);
            }
            value ^= taken((int)length) << (32 - zeros - length);
        }
        out[(size_t)k * count + i] = value;
    }
}

// Products of numbers of 2048 bits: a warp to each, four columns of the result a lane, in three words each; carries go through at once by a
// sum of ballots.
KERNEL(128) long_products(const unsigned *left, const unsigned *right, unsigned *out) {
    __shared__ unsigned held[4][2][64], columns[4][3][130];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const size_t i = (size_t)blockIdx.x * 4 + warp;
    unsigned *a = held[warp][0], *b = held[warp][1];
    for (int k = lane; k < 64; k += 32) a[k] = left[i * 64 + k], b[k] = right[i * 64 + k];
    __syncwarp();
    #pragma unroll
    for (int part = 0; part < 4; ++part) {
        const int column = part * 32 + lane, first = max(0, column - 63), last = min(column, 63);
        u64 low = 0;
        unsigned high = 0;
        for (int k = first; k <= last; ++k) {
            const u64 product = (u64)a[k] * b[column - k], sum = low + product;
            high += sum < product;
            low = sum;
        }
        columns[warp][0][column] = (unsigned)low, columns[warp][1][column + 1] = (unsigned)(low >> 32), columns[warp][2][column + 2] = high;
    }
    if (lane == 0) columns[warp][1][0] = columns[warp][2][0] = columns[warp][2][1] = 0;
    __syncwarp();
    unsigned above = 0;  // what the 32 columns before leave
    #pragma unroll
    for (int part = 0; part < 4; ++part) {
        const int column = part * 32 + lane;
        const u64 sum = (u64)columns[warp][0][column] + columns[warp][1][column] + columns[warp][2][column];
        unsigned carried = __shfl_up_sync(ALL, (unsigned)(sum >> 32), 1);
        if (lane == 0) carried = above;
        const unsigned word = (unsigned)sum + carried;
        const unsigned made = __ballot_sync(ALL, word < carried), passed = __ballot_sync(ALL, word == ~0u);
        const u64 through = (((u64)made << 1) + passed) ^ passed;
        out[i * 128 + column] = word + ((unsigned)(through >> lane) & 1u);
        above = __shfl_sync(ALL, (unsigned)(sum >> 32), 31) + (unsigned)(through >> 32 & 1u);
    }
}

// Games of four in a row that both sides play by chance to the end, from a position of each thread's: boards are words of 64 bits, seven
// columns of seven. How many the first side wins, and loses.
KERNEL(128) playouts(const unsigned *seeds, int2 *results, int games) {
    const int i = blockIdx.x * 128 + threadIdx.x;
    unsigned state = seeds[i] | 1u;
    int won = 0, lost = 0;
    for (int game = 0; game < games; ++game) {
        u64 own = 0, all = 0;
        for (int move = 0; move < 42; ++move) {
            state ^= state << 13, state ^= state >> 17, state ^= state << 5;
            int column = (int)((u64)state * 7 >> 32);
            while (all >> (column * 7 + 5) & 1) column = column == 6 ? 0 : column + 1;
            const u64 placed = all + (1ull << (column * 7));
            own = own ^ all;  // the other side's turn: what it holds
            all |= placed;
            const u64 mine = own ^ all;
            bool four = false;
            #pragma unroll
            for (int k = 0; k < 4; ++k) {
                const int by = k == 0 ? 1 : k + 5;
                const u64 two = mine & mine >> by;
                four |= (two & two >> (2 * by)) != 0;
            }
            if (four) {
                if (move & 1) ++lost;
                else ++won;
                break;
            }
        }
    }
    results[i] = make_int2(won, lost);
}
