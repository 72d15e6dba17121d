// Kernels of the twenty-second set over graphs, sparse matrices and tables of costs: blocks of four by four, ranks, triangles, alignments, orders.
#include <cuda_runtime.h>

#define KERNEL(THREADS) extern "C" __global__ void __launch_bounds__(THREADS)
#define ALL 0xffffffffu

// A sparse matrix of blocks of four by four by a vector: sixteen lanes a row of blocks, which has eight to fifteen of them.
KERNEL(256) block_rows(const unsigned *__restrict__ lengths, const unsigned *__restrict__ places, const float *__restrict__ blocks,
                        const float *__restrict__ x, float *y, unsigned mask) {
    const int lane = threadIdx.x % 16, row = blockIdx.x * 16 + threadIdx.x / 16, count = 8 + (int)(lengths[row] & 7u);
    float sum = 0.0f;
    for (int k = 0; k < count; ++k) {
        const size_t block = (size_t)row * 15 + k;
        sum += blocks[block * 16 + lane] * __ldg(x + (places[block] & mask) * 4 + lane % 4);
    }
    sum += __shfl_xor_sync(ALL, sum, 1);
    sum += __shfl_xor_sync(ALL, sum, 2);
    if (lane % 4 == 0) y[row * 4 + lane / 4] = sum;
}

// Ranks of pages, pulled: eight lanes a page, which eight to 23 others name; each gives its rank by the number of pages it names.
KERNEL(256) pulled_ranks(const unsigned *__restrict__ degrees, const unsigned *__restrict__ sources, const float2 *__restrict__ ranks,
                          float2 *to, unsigned pages, float damping) {
    const int lane = threadIdx.x % 8, page = blockIdx.x * 32 + threadIdx.x / 8, count = 8 + (int)(degrees[page] & 15u);
    float sum = 0.0f;
    for (int k = lane; k < count; k += 8) {
        const float2 other = __ldg(ranks + sources[(size_t)page * 24 + k] % pages);
        sum += other.x * other.y;
    }
    #pragma unroll
    for (int offset = 4; offset > 0; offset >>= 1) sum += __shfl_xor_sync(ALL, sum, offset);
    if (lane == 0) to[page] = make_float2((1.0f - damping) / (float)pages + damping * sum, 1.0f / (float)count);
}

// Triangles at a vertex: its neighbours become bits in shared memory, of 16384, and theirs are looked up in them, a warp a neighbour.
KERNEL(256) wedges(const unsigned *__restrict__ lists, unsigned *counts) {
    __shared__ unsigned bits[512], total;
    const int t = threadIdx.x, lane = t % 32, warp = t / 32;
    const unsigned *own = lists + (size_t)(blockIdx.x & 16383u) * 64;
    const int degree = 32 + (int)(own[0] & 31u);
    for (int i = t; i < 512; i += 256) bits[i] = 0;
    if (t == 0) total = 0;
    __syncthreads();
    if (t < degree) atomicOr(bits + (own[t] >> 5 & 511u), 1u << (own[t] & 31u));
    __syncthreads();
    unsigned found = 0;
    for (int k = warp; k < degree; k += 8) {
        const unsigned *others = lists + (size_t)(own[k] & 16383u) * 64;
        const int count = 32 + (int)(others[0] & 31u);
        for (int i = lane; i < count; i += 32) {
            const unsigned other = others[i];
            found += bits[other >> 5 & 511u] >> (other & 31u) & 1u;
        }
    }
    found = __reduce_add_sync(ALL, found);
    if (lane == 0) atomicAdd(&total, found);
    __syncthreads();
    if (t == 0) counts[blockIdx.x] = total;
}

// The best local alignment with gaps that cost more to open than to go on: a warp a pair of texts, 64 by 192 letters, two rows a lane, columns
// follow each other through the lanes. Likeness comes from a table of 32 by 32 bytes in shared memory.
KERNEL(128) affine_gaps(const unsigned char *__restrict__ queries, const unsigned char *__restrict__ texts, const signed char *__restrict__ likeness,
                         int *best_scores, int open, int extend) {
    __shared__ signed char table[1024];
    __shared__ unsigned char held[4][192];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, pair = blockIdx.x * 4 + warp;
    for (int i = threadIdx.x; i < 1024; i += 128) table[i] = (signed char)(likeness[i] >> 4);
    #pragma unroll
    for (int i = 0; i < 6; ++i) held[warp][i * 32 + lane] = texts[(size_t)pair * 192 + i * 32 + lane] & 31;
    const int letters[2] = {(queries[(size_t)pair * 64 + lane * 2] & 31) * 32, (queries[(size_t)pair * 64 + lane * 2 + 1] & 31) * 32};
    __syncthreads();
    int h[2] = {}, e[2] = {}, corner = 0, best = 0, given_h = 0, given_f = 0;
    for (int step = 0; step < 223; ++step) {
        int above = __shfl_up_sync(ALL, given_h, 1), f = __shfl_up_sync(ALL, given_f, 1);
        if (lane == 0) above = 0, f = 0;
        const int column = step - lane;
        if (column >= 0 && column < 192) {
            const int letter = held[warp][column], next_corner = above;
            int across = corner;
            #pragma unroll
            for (int r = 0; r < 2; ++r) {
                e[r] = max(e[r] - extend, h[r] - open);
                f = max(f - extend, above - open);
                const int now = max(max(0, across + table[letters[r] + letter]), max(e[r], f));
                across = h[r], h[r] = now, above = now;
                best = max(best, now);
            }
            corner = next_corner, given_h = h[1], given_f = f;
        }
    }
    best = __reduce_max_sync(ALL, best);
    if (lane == 0) best_scores[pair] = best;
}

// The cheapest order of a product of 48 matrices, by lengths of chains: a block a product, a thread a chain, costs of all chains in shared memory.
KERNEL(64) chain_order(const unsigned char *sizes, unsigned *costs, unsigned char *splits) {
    __shared__ unsigned cost[48 * 49], size[49];
    const int t = threadIdx.x;
    if (t < 49) size[t] = 1 + sizes[(size_t)blockIdx.x * 49 + t];
    if (t < 48) cost[t * 49 + t] = 0;
    __syncthreads();
    for (int length = 1; length < 48; ++length) {
        if (t + length < 48) {
            const int end = t + length;
            const unsigned both = size[t] * size[end + 1];
            unsigned least = 0xffffffffu;
            int where = t;
            for (int k = t; k < end; ++k) {
                const unsigned now = cost[t * 49 + k] + cost[(k + 1) * 49 + end] + both * size[k + 1];
                if (now < least) least = now, where = k;
            }
            cost[t * 49 + end] = least;
            splits[((size_t)blockIdx.x * 48 + length) * 48 + t] = (unsigned char)where;
        }
        __syncthreads();
    }
    if (t < 48) costs[blockIdx.x * 48 + t] = cost[t];
}
