// Kernels of the nineteenth set over bits and bytes: edits, indexes of genomes, decompression, numbers of bytes, sponges.
#define KERNEL(THREADS) extern "C" __global__ void __launch_bounds__(THREADS)
#define ALL 0xffffffffu
typedef unsigned long long u64;

// The fewest edits between a read of 64 letters and any part of a reference (Myers' words of bits): two bits a letter, a thread a read.
KERNEL(128) myers(const ulonglong2 *reads, const unsigned *texts, unsigned *out, int words) {
    const int i = blockIdx.x * 128 + threadIdx.x;
    const ulonglong2 read = reads[i];
    u64 is[4];
    is[3] = read.x & read.y, is[2] = read.y & ~read.x, is[1] = read.x & ~read.y, is[0] = ~(read.x | read.y);
    u64 up = ~0ull, down = 0;
    int score = 64, best = 64, at = 0;
    for (int word = 0; word < words; ++word) {
        const unsigned letters = texts[(size_t)word * gridDim.x * 128 + i];
        #pragma unroll 4
        for (int k = 0; k < 16; ++k) {
            const unsigned letter = letters >> (2 * k) & 3;
            const u64 same = letter & 2 ? (letter & 1 ? is[3] : is[2]) : (letter & 1 ? is[1] : is[0]);
            const u64 d0 = (((same & up) + up) ^ up) | same | down;
            u64 hp = down | ~(d0 | up), hn = up & d0;
            score += (int)(hp >> 63) - (int)(hn >> 63);
            hp <<= 1, hn <<= 1;
            up = hn | ~(d0 | hp), down = hp & d0;
            if (score < best) best = score, at = word * 16 + k;
        }
    }
    out[i] = (unsigned)best << 16 | (unsigned)at;
}

// Where reads occur in a genome, backwards through an index (Burrows and Wheeler): 64 letters and four counts to 32 bytes.
KERNEL(128) index_search(const uint4 *index, const u64 *reads, uint2 *out, unsigned last_letter, int letters) {
    const int i = blockIdx.x * 128 + threadIdx.x;
    const u64 read = reads[i];
    unsigned low = 0, high = last_letter;
    const auto before = [&](unsigned place, unsigned letter) {
        const uint4 counts = index[(size_t)(place >> 6) * 2], planes = index[(size_t)(place >> 6) * 2 + 1];
        const unsigned count = letter & 2 ? (letter & 1 ? counts.w : counts.z) : (letter & 1 ? counts.y : counts.x);
        const u64 first = (u64)planes.y << 32 | planes.x, second = (u64)planes.w << 32 | planes.z;
        const u64 same = (letter & 1 ? first : ~first) & (letter & 2 ? second : ~second) & ((1ull << (place & 63)) - 1);
        return (count >> 10) + (unsigned)__popcll(same);
    };
    for (int k = 0; k < letters; ++k) {
        const unsigned letter = (unsigned)(read >> (2 * k)) & 3, start = letter * (last_letter / 4);
        low = (start + before(low, letter)) & last_letter;
        high = (start + before(high, letter)) & last_letter;
    }
    out[i] = make_uint2(low, high);
}

// Blocks that LZ4 packed: letters as they are, then a part of what came before. A warp a block, whose 4096 letters lie in shared
// memory until all are there.
KERNEL(128) unpacked(const unsigned char *packed, uint4 *out, int *used, int each) {
    __shared__ __align__(16) unsigned char made[4][4096];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const size_t block = (size_t)blockIdx.x * 4 + warp;
    const unsigned char *from = packed + block * each;
    unsigned char *to = made[warp];
    int in = 0, done = 0;
    while (done < 4096) {
        const int token = from[in++];
        int literals = token >> 4, length = token & 15;
        if (literals == 15) {
            int more;
            do literals += more = from[in++] & 63; while (more == 63);
        }
        literals = min(max(literals, done == 0), 4096 - done);
        for (int k = lane; k < literals; k += 32) to[done + k] = from[in + k];
        in += literals, done += literals;
        __syncwarp();
        if (done >= 4096 || in >= each - 600) break;
        const int back = 1 + (from[in] | from[in + 1] << 8) % done;
        in += 2;
        if (length == 15) {
            int more;
            do length += more = from[in++] & 63; while (more == 63);
        }
        length = min(length + 4, 4096 - done);
        for (int k = lane; k < length; k += 32) to[done + k] = to[done - back + k % back];
        done += length;
        __syncwarp();
    }
    __syncwarp();
    for (int k = lane; k < 256; k += 32) out[block * 256 + k] = ((const uint4 *)to)[k];
    if (lane == 0) used[block] = in;
}

// Numbers of one to five bytes (LEB128), as words: a block takes 4096 bytes, a thread sixteen, and a scan says where each goes.
KERNEL(256) byte_numbers(const uint4 *bytes, unsigned *out, int *counts) {
    __shared__ __align__(16) unsigned char held[16 + 4096];
    __shared__ int totals[8];
    const int t = threadIdx.x, lane = t % 32;
    const uint4 own = bytes[(size_t)blockIdx.x * 256 + t];
    ((uint4 *)held)[1 + t] = own;
    if (t < 4) ((unsigned *)held)[t] = 0;
    const unsigned words[4] = {own.x, own.y, own.z, own.w};
    int ends = 0;
    #pragma unroll
    for (int k = 0; k < 4; ++k) ends += __popc(~words[k] & 0x80808080u);
    int before = ends;
    #pragma unroll
    for (int offset = 1; offset < 32; offset <<= 1) {
        const int other = __shfl_up_sync(ALL, before, offset);
        if (lane >= offset) before += other;
    }
    if (lane == 31) totals[t / 32] = before;
    __syncthreads();
    int place = before - ends;
    for (int w = 0; w < t / 32; ++w) place += totals[w];
    #pragma unroll
    for (int k = 0; k < 16; ++k) {
        if (words[k / 4] >> (k % 4 * 8) & 0x80) continue;
        const unsigned char *last = held + 16 + t * 16 + k;
        unsigned value = *last;
        for (int j = 1; j < 5 && last[-j] & 0x80; ++j) value = value << 7 | (last[-j] & 0x7f);
        out[(size_t)blockIdx.x * 4096 + place++] = value;
    }
    if (t == 255) counts[blockIdx.x] = place;
}

// SHA-3 (Keccak's sponge) of messages of 128 bytes: a thread a message, its 25 words in registers.
KERNEL(128) keccak(const u64 *messages, u64 *digests, int count) {
    const int i = blockIdx.x * 128 + threadIdx.x;
    u64 a[25] = {};
    #pragma unroll
    for (int k = 0; k < 16; ++k) a[k] = messages[(size_t)k * count + i];
    a[16] = 0x8000000000000006ull;
    unsigned lfsr = 1;
    const auto turned = [](u64 v, int by) { return by ? v << by | v >> (64 - by) : v; };
    #pragma unroll 1
    for (int round = 0; round < 24; ++round) {
        u64 c[5], b[25];
        #pragma unroll
        for (int x = 0; x < 5; ++x) c[x] = a[x] ^ a[x + 5] ^ a[x + 10] ^ a[x + 15] ^ a[x + 20];
        #pragma unroll
        for (int x = 0; x < 5; ++x) {
            const u64 d = c[(x + 4) % 5] ^ turned(c[(x + 1) % 5], 1);
            #pragma unroll
            for (int y = 0; y < 25; y += 5) a[x + y] ^= d;
        }
        constexpr int turns[25] = {0, 1, 62, 28, 27, 36, 44, 6, 55, 20, 3, 10, 43, 25, 39, 41, 45, 15, 21, 8, 18, 2, 61, 56, 14};
        #pragma unroll
        for (int y = 0; y < 5; ++y)
            #pragma unroll
            for (int x = 0; x < 5; ++x) b[y + 5 * ((2 * x + 3 * y) % 5)] = turned(a[x + 5 * y], turns[x + 5 * y]);
        #pragma unroll
        for (int y = 0; y < 25; y += 5)
            #pragma unroll
            for (int x = 0; x < 5; ++x) a[x + y] = b[x + y] ^ (~b[(x + 1) % 5 + y] & b[(x + 2) % 5 + y]);
        #pragma unroll
        for (int j = 0; j < 7; ++j) {
            if (lfsr & 1) a[0] ^= 1ull << ((1 << j) - 1);
            lfsr = lfsr << 1 ^ (lfsr & 0x80 ? 0x171 : 0);
        }
    }
    #pragma unroll
    for (int k = 0; k < 4; ++k) digests[(size_t)k * count + i] = a[k];
}
