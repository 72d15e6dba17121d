// The sixth set of timed kernels: clusters, fences and copies that go on beside.
#include <cooperative_groups.h>
namespace cg = cooperative_groups;

// The address of a neighbour's word.
__device__ __forceinline__ unsigned at_neighbour(const void *p, unsigned rank) {
    unsigned to;
    asm("mapa.shared::cluster.u32 %0, %1, %2;"
        : "=r"(to) : "r"((unsigned)__cvta_generic_to_shared(p)), "r"(rank));
    return to;
}

// A cluster of four adds up a row by a neighbour's shared memory.
extern "C" __global__ void __cluster_dims__(4, 1, 1) cluster_sums(const float4 *in, float *out, int n) {
    __shared__ float parts[8];
    __shared__ float mine;
    cg::cluster_group cluster = cg::this_cluster();
    const int row = blockIdx.x / 4, rank = blockIdx.x % 4;
    float sum = 0;
    for (int k = rank * 256 + threadIdx.x; k < n / 4; k += 1024) {
        const float4 v = in[row * (n / 4) + k];
        sum += v.x + v.y + v.z + v.w;
    }
    for (int d = 16; d; d /= 2) sum += __shfl_xor_sync(~0u, sum, d);
    if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x == 0) {
        sum = 0;
        for (int w = 0; w < 8; ++w) sum += parts[w];
        mine = sum;
    }
    cluster.sync();
    if (rank == 0 && threadIdx.x == 0) {
        for (int other = 1; other < 4; ++other) {
            float theirs;
            asm volatile("ld.shared::cluster.f32 %0, [%1];" : "=f"(theirs) : "r"(at_neighbour(&mine, other)));
            sum += theirs;
        }
        out[row] = sum;
    }
    cluster.sync();
}

// A histogram whose 1024 bins lie in the shared memory of two blocks.
extern "C" __global__ void __cluster_dims__(2, 1, 1) cluster_counts(const unsigned *in, unsigned *out, int each) {
    __shared__ unsigned bins[512];
    cg::cluster_group cluster = cg::this_cluster();
    for (int k = threadIdx.x; k < 512; k += 256) bins[k] = 0;
    cluster.sync();
    for (int k = 0; k < each; ++k) {
        const unsigned v = in[(blockIdx.x * each + k) * 256 + threadIdx.x] & 1023;
        asm volatile("red.shared::cluster.add.u32 [%0], %1;"
                     :: "r"(at_neighbour(bins, v / 512) + v % 512 * 4), "r"(1) : "memory");
    }
    cluster.sync();
    for (int k = threadIdx.x; k < 512; k += 256) atomicAdd(&out[blockIdx.x % 2 * 512 + k], bins[k]);
}

// Each block leaves its sum, says so behind a fence, and adds what its left neighbour had said before.
extern "C" __global__ void published(const float *in, float *sums, unsigned *flags, float *out) {
    __shared__ float parts[4];
    const int i = blockIdx.x * 128 + threadIdx.x;
    float sum = in[i];
    for (int d = 16; d; d /= 2) sum += __shfl_xor_sync(~0u, sum, d);
    if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x == 0) {
        sums[blockIdx.x] = parts[0] + parts[1] + parts[2] + parts[3];
        __threadfence();
        atomicExch(&flags[blockIdx.x], 1);
    }
    out[i] = in[i] - (parts[0] + parts[1] + parts[2] + parts[3]) / 128;
}

// Rows of 96 floats by cp.async of 16 bytes, four stages; each thread filters its column.
extern "C" __global__ void streamed(const float *in, float *out, int rows) {
    __shared__ __align__(16) float s[4][96];
    const int t = threadIdx.x;
    const float *from = in + blockIdx.x * rows * 96;
    auto fetch = [&](int row) {
        if (row < rows && t < 24)
            asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"((unsigned)__cvta_generic_to_shared(&s[row % 4][t * 4])), "l"(from + row * 96 + t * 4));
        asm volatile("cp.async.commit_group;");
    };
    fetch(0), fetch(1), fetch(2);
    float y = 0;
    for (int row = 0; row < rows; ++row) {
        asm volatile("cp.async.wait_group 2;");
        __syncthreads();
        y = 0.5f * y + s[row % 4][t] + 0.25f * s[row % 4][(t + 1) % 96];
        fetch(row + 3);
        out[(blockIdx.x * rows + row) * 96 + t] = y;
    }
}
