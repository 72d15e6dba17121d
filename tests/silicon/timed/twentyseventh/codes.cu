// Kernels of the twenty-seventh set over games, numbers, texts, tables and graphs: squares attacked, divisors in common, a sieve, brackets, sums by groups,
// cores, auctions, skylines, clauses.
#include <cuda_runtime.h>

#define KERNEL(THREADS) extern "C" __global__ void __launch_bounds__(THREADS)
#define ALL 0xffffffffu

// Squares of a chessboard that rooks, bishops and knights attack, boards as 64 bits that are filled in eight directions: a thread two positions.
template <int BY> __device__ __forceinline__ unsigned long long slid(unsigned long long from, unsigned long long open, unsigned long long inner) {
    const auto moved = [](unsigned long long b, int n) { return BY > 0 ? b << BY * n : b >> -BY * n; };
    open &= inner;
    from |= open & moved(from, 1), open &= moved(open, 1);
    from |= open & moved(from, 2), open &= moved(open, 2);
    from |= open & moved(from, 4);
    return moved(from, 1) & inner;
}
KERNEL(256) attacked(const uint2 *__restrict__ pieces, const uint2 *__restrict__ others, unsigned long long *out, int positions) {
    constexpr unsigned long long LEFT = 0xfefefefefefefefeull, RIGHT = 0x7f7f7f7f7f7f7f7full, FAR = 0xfcfcfcfcfcfcfcfcull, BACK = 0x3f3f3f3f3f3f3f3full;
    #pragma unroll 1
    for (int n = 0; n < 2; ++n) {
        const int own = (blockIdx.x * 2 + n) * 256 + threadIdx.x;
        const uint2 u = pieces[own], v = others[own], w = pieces[positions + own];
        const unsigned long long first = (unsigned long long)u.y << 32 | u.x, second = (unsigned long long)v.y << 32 | v.x, third = (unsigned long long)w.y << 32 | w.x;
        const unsigned long long straight = first & second & third, slanted = first & second & ~third, knights = first & ~second & third, open = ~(first & (second | third));
        unsigned long long all = slid<8>(straight, open, ~0ull) | slid<-8>(straight, open, ~0ull) | slid<1>(straight, open, LEFT) | slid<-1>(straight, open, RIGHT);
        all |= slid<9>(slanted, open, LEFT) | slid<7>(slanted, open, RIGHT) | slid<-7>(slanted, open, LEFT) | slid<-9>(slanted, open, RIGHT);
        all |= (knights << 17 | knights >> 15) & LEFT | (knights << 15 | knights >> 17) & RIGHT | (knights << 10 | knights >> 6) & FAR | (knights << 6 | knights >> 10) & BACK;
        out[own] = all;
    }
}

// How many pairs of numbers have no divisor in common (Stein's algorithm, which halves and subtracts): a thread four pairs.
KERNEL(256) coprime(const uint4 *__restrict__ lefts, const uint4 *__restrict__ rights, unsigned *out) {
    const size_t own = (size_t)blockIdx.x * 256 + threadIdx.x;
    const uint4 l = lefts[own], r = rights[own];
    const unsigned as[4] = {l.x, l.y, l.z, l.w}, bs[4] = {r.x, r.y, r.z, r.w};
    unsigned alone = 0;
    #pragma unroll
    for (int k = 0; k < 4; ++k) {
        unsigned a = as[k] >> 8 | 1u << 24, b = bs[k] >> 8 | 1u << 24;
        const int twos = __ffs(a | b) - 1;
        a >>= __ffs(a) - 1;
        while (b) {
            b >>= __ffs(b) - 1;
            const unsigned low = min(a, b);
            b = max(a, b) - low, a = low;
        }
        alone += (a << twos) == 1u;
    }
    alone = __reduce_add_sync(ALL, alone);
    if (threadIdx.x % 32 == 0) out[blockIdx.x * 8 + threadIdx.x / 32] = alone;
}

// Primes of a stretch of 65536 numbers, a bit an odd one, struck out in shared memory: small ones by all threads, others by a thread each.
KERNEL(256) struck(unsigned *out) {
    __shared__ unsigned gone[1024];
    __shared__ unsigned total;
    const unsigned t = threadIdx.x, first = blockIdx.x * 65536u, last = first + 65535u;
    for (int i = t; i < 1024; i += 256) gone[i] = 0u;
    if (t == 0) total = 0u;
    __syncthreads();
    const auto start = [&](unsigned d) {
        unsigned m = max(d * d, (first + d) / d * d);
        if (m % 2 == 0) m += d;
        return m;
    };
    #pragma unroll 1
    for (unsigned d = 3; d < 64 && d * d <= last; d += 2) {
        if (d > 8 && (d % 3 == 0 || d % 5 == 0 || d % 7 == 0)) continue;
        for (unsigned m = start(d) + t * d * 2; m <= last; m += 512 * d) atomicOr(gone + (m - first) / 64, 1u << (m - first) / 2 % 32);
    }
    #pragma unroll 1
    for (unsigned d = 65 + t * 2; d * d <= last; d += 512) {
        if (d % 3 == 0 || d % 5 == 0 || d % 7 == 0) continue;
        for (unsigned m = start(d); m <= last; m += 2 * d) atomicOr(gone + (m - first) / 64, 1u << (m - first) / 2 % 32);
    }
    __syncthreads();
    unsigned left = 0;
    for (int i = t; i < 1024; i += 256) left += 32 - __popc(gone[i]);
    left = __reduce_add_sync(ALL, left);
    if (t % 32 == 0) atomicAdd(&total, left);
    __syncthreads();
    if (t == 0) out[blockIdx.x] = total;
}

// How deep brackets of a text lie, sixteen letters a thread: what a block's letters open and close, scanned by shuffles, and the least depth of all.
KERNEL(256) brackets(const uint4 *__restrict__ text, int *depths, int2 *out) {
    __shared__ int ends[8], leasts[8];
    const int t = threadIdx.x, lane = t % 32, warp = t / 32;
    const size_t own = (size_t)blockIdx.x * 256 + t;
    const uint4 v = text[own];
    const unsigned words[4] = {v.x, v.y, v.z, v.w};
    int depth = 0, least = 0;
    #pragma unroll
    for (int k = 0; k < 16; ++k) {
        const unsigned letter = words[k / 4] >> k % 4 * 8 & 31u;
        depth += letter == 1u || letter == 3u || letter == 5u, depth -= letter == 2u || letter == 4u || letter == 6u;
        least = min(least, depth);
    }
    int end = depth;
    #pragma unroll
    for (int offset = 1; offset < 32; offset <<= 1) {
        const int from = __shfl_up_sync(ALL, end, offset);
        if (lane >= offset) end += from;
    }
    if (lane == 31) ends[warp] = end;
    __syncthreads();
    int before = end - depth;
    #pragma unroll
    for (int w = 0; w < 7; ++w) before += w < warp ? ends[w] : 0;
    depths[own] = before;
    least = __reduce_min_sync(ALL, before + least);
    if (lane == 0) leasts[warp] = least;
    __syncthreads();
    if (t == 255) {
        #pragma unroll
        for (int w = 0; w < 8; ++w) least = min(least, leasts[w]);
        out[blockIdx.x] = make_int2(before + depth, least);
    }
}

// Sums of a table's sales by their flag and state, of six groups: copies of the sums for each warp in shared memory, which then are joined.
KERNEL(256) sales(const unsigned char *__restrict__ flags, const int *__restrict__ prices, const int *__restrict__ discounts, unsigned long long *sums) {
    __shared__ unsigned held[8][6][4];
    const int t = threadIdx.x, warp = t / 32;
    if (t < 192) (&held[0][0][0])[t] = 0u;
    __syncthreads();
    const size_t base = (size_t)blockIdx.x * 4096;
    #pragma unroll 2
    for (int i = t; i < 4096; i += 256) {
        const unsigned group = flags[base + i] * 6u >> 8;
        const int price = prices[base + i], rate = discounts[base + i] / 100;
        atomicAdd(&held[warp][group][0], 1u), atomicAdd(&held[warp][group][1], (unsigned)price);
        atomicAdd(&held[warp][group][2], (unsigned)(price * (100 - rate))), atomicAdd(&held[warp][group][3], (unsigned)rate);
    }
    __syncthreads();
    if (t < 24) {
        unsigned long long all = 0;
        #pragma unroll
        for (int w = 0; w < 8; ++w) all += (&held[w][0][0])[t];
        atomicAdd(sums + t, all);
    }
}

// A step towards the core of a graph, whose places have at least so many neighbours: a thread a place, which leaves sixteen when it has too few.
KERNEL(256) cores(const int *__restrict__ degrees, const uint4 *__restrict__ neighbours, int *left, unsigned *removed, int least, unsigned mask) {
    const size_t own = (size_t)blockIdx.x * 256 + threadIdx.x;
    const bool leaves = degrees[own] < least;
    const unsigned gone = __ballot_sync(ALL, leaves);
    if (threadIdx.x % 32 == 0) removed[own / 32] = gone;
    if (leaves) {
        #pragma unroll 1
        for (int k = 0; k < 4; ++k) {
            const uint4 n = neighbours[own * 4 + k];
            atomicSub(left + (n.x & mask), 1), atomicSub(left + (n.y & mask), 1), atomicSub(left + (n.z & mask), 1), atomicSub(left + (n.w & mask), 1);
        }
    }
}

// Bids of an auction that matches (Bertsekas): a warp a bidder, what it likes most of 512 things less their prices in shared memory, and what next.
KERNEL(256) bids(const float *__restrict__ worths, const float *__restrict__ prices, unsigned long long *best, float margin) {
    __shared__ float costs[512];
    const int t = threadIdx.x, lane = t % 32;
    const unsigned bidder = blockIdx.x * 8 + t / 32;
    costs[t] = prices[t], costs[t + 256] = prices[t + 256];
    __syncthreads();
    float first = -1e30f, second = -1e30f;
    int thing = lane;
    #pragma unroll 8
    for (int k = lane; k < 512; k += 32) {
        const float gain = worths[(size_t)bidder * 512 + k] - costs[k];
        if (gain > first) second = first, first = gain, thing = k;
        else second = fmaxf(second, gain);
    }
    #pragma unroll
    for (int offset = 16; offset > 0; offset >>= 1) {
        const float one = __shfl_xor_sync(ALL, first, offset), two = __shfl_xor_sync(ALL, second, offset);
        const int other = __shfl_xor_sync(ALL, thing, offset);
        second = fmaxf(fminf(first, one), fmaxf(second, two));
        if (one > first || (one == first && other < thing)) first = one, thing = other;
    }
    if (lane == 0) atomicMax(best + thing, (unsigned long long)__float_as_uint(first - second + margin + 4.0f) << 32 | bidder);
}

// Offers that no other beats in four ways (a skyline): a thread an offer, others in tiles that are copied ahead; a block ends when all of its own are beaten.
KERNEL(256) skyline(const float4 *__restrict__ offers, unsigned *out, int tiles) {
    __shared__ __align__(16) float4 held[2][256];
    const int t = threadIdx.x;
    const size_t own = (size_t)blockIdx.x * 256 + t;
    const auto fetch = [&](int tile) {
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;\ncp.async.commit_group;" ::"r"((unsigned)__cvta_generic_to_shared(held[tile & 1] + t)),
                     "l"(offers + ((size_t)(blockIdx.x + tile) % gridDim.x) * 256 + t) : "memory");
    };
    fetch(0);
    const float4 me = offers[own];
    unsigned beaten = 0;
    #pragma unroll 1
    for (int tile = 0; tile < tiles; ++tile) {
        if (tile + 1 < tiles) {
            fetch(tile + 1);
            asm volatile("cp.async.wait_group 1;" ::: "memory");
        } else asm volatile("cp.async.wait_group 0;" ::: "memory");
        __syncthreads();
        #pragma unroll 8
        for (int k = 0; k < 256; ++k) {
            const float4 o = held[tile & 1][k];
            beaten += o.x < me.x && o.y < me.y && o.z < me.z && o.w < me.w;
        }
        if (__syncthreads_and(beaten > 0)) break;
    }
    asm volatile("cp.async.wait_group 0;" ::: "memory");
    out[own] = beaten;
}

// Clauses of three that guesses leave unkept: 64 unknowns of 32 guesses each a thread, a bit a guess, in shared memory; counts as planes of bits.
KERNEL(128) clauses(const unsigned *__restrict__ literals, unsigned *out, int count) {
    __shared__ unsigned guesses[64 * 128];
    const int t = threadIdx.x, own = blockIdx.x * 128 + t;
    unsigned seed = own * 2654435769u + 12345u;
    #pragma unroll 4
    for (int k = 0; k < 64; ++k) {
        seed ^= seed << 13, seed ^= seed >> 17, seed ^= seed << 5;
        guesses[k * 128 + t] = seed;
    }
    unsigned planes[10] = {};
    #pragma unroll 2
    for (int n = 0; n < count; ++n) {
        const unsigned c = literals[n];
        unsigned off = ALL;
        #pragma unroll
        for (int k = 0; k < 3; ++k) off &= guesses[(c >> k * 6 & 63u) * 128 + t] ^ (c >> (24 + k) & 1u ? ALL : 0u);
        #pragma unroll
        for (int k = 0; k < 10; ++k) {
            const unsigned over = planes[k] & off;
            planes[k] ^= off, off = over;
        }
    }
    unsigned best = ALL;
    #pragma unroll 1
    for (int bit = 0; bit < 32; ++bit) {
        unsigned unkept = 0;
        #pragma unroll
        for (int k = 0; k < 10; ++k) unkept |= (planes[k] >> bit & 1u) << k;
        best = min(best, unkept << 5 | bit);
    }
    out[own] = best;
}
