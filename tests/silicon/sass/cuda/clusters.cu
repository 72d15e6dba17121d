// Blocks that work together: sums over distributed shared memory, bytes sent with an mbarrier.
#include "hopper.cuh"

// Each block sums a share of the row's products and reads the other blocks' sums: split-K.
extern "C" __global__ void __cluster_dims__(2, 1, 1) __launch_bounds__(256)
    split_k(const float *a, const float *b, float *c, int n, int k) {
    __shared__ float sums[32][33], b_tile[32][32], a_tile[32][33];
    const u32 rank = cluster_rank();
    const int x = threadIdx.x % 32, y = threadIdx.x / 32;
    const int column = blockIdx.x / 2 * 32, row = blockIdx.y * 32;
    float mine[4] = {};
    for (int at = rank * (k / 2); at < (rank + 1) * (k / 2); at += 32) {
        for (int i = y; i < 32; i += 8) {
            a_tile[i][x] = a[(row + i) * k + at + x];
            b_tile[i][x] = b[(at + i) * n + column + x];
        }
        __syncthreads();
        for (int i = 0; i < 32; ++i)
            for (int j = 0; j < 4; ++j) mine[j] += a_tile[y + 8 * j][i] * b_tile[i][x];
        __syncthreads();
    }
    for (int j = 0; j < 4; ++j) sums[y + 8 * j][x] = mine[j];
    cluster_sync();
    for (int j = 0; j < 2; ++j) {  // half of the rows each
        int i = y + 8 * j + 16 * rank;
        float other;
        asm volatile("ld.shared::cluster.f32 %0, [%1];"
                     : "=f"(other)
                     : "r"(address_at(&sums[i][x], rank ^ 1)));
        c[(row + i) * n + column + x] = sums[i][x] + other;
    }
    cluster_sync();
}

// Each block sends its numbers to the next one, which waits for the bytes; and adds to a counter
// of the first.
extern "C" __global__ void __cluster_dims__(4, 1, 1) __launch_bounds__(128)
    ring_of_blocks(const int *in, int *out, int *counters) {
    __shared__ alignas(16) int inbox[128], counter;
    __shared__ alignas(8) u64 barrier, added;
    const u32 rank = cluster_rank(), next = (rank + 1) % 4;
    if (threadIdx.x == 0) {
        barrier_init(&barrier, 1);
        barrier_init(&added, 1);
        counter = 0;
        arrive_and_expect(&barrier, sizeof inbox);
        arrive_and_expect(&added, rank ? 0 : 4 * 128 * 4);
    }
    cluster_sync();
    const int i = blockIdx.x * 128 + threadIdx.x;
    asm volatile(
        "st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [%0], %1, [%2];" ::"r"(
            address_at(&inbox[threadIdx.x], next)),
        "r"(in[i]), "r"(address_at(&barrier, next))
        : "memory");
    asm volatile(
        "red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32"
        " [%0], %1, [%2];" ::"r"(address_at(&counter, 0)),
        "r"(in[i]), "r"(address_at(&added, 0))
        : "memory");
    wait(&barrier, 0);
    wait(&added, 0);
    out[i] = inbox[threadIdx.x ^ 1];
    if (threadIdx.x == 0) counters[blockIdx.x] = counter;
    cluster_sync();
}
