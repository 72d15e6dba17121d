// A ring of mbarriers without copies: one warp makes numbers, three read them turned by a lane
// more at each step.
#include "hopper.cuh"

constexpr int STAGES = 3;

extern "C" __global__ void __launch_bounds__(128) ring(const int *in, int *out, int steps) {
    __shared__ int stage[STAGES][32 * 33];
    __shared__ alignas(8) u64 full[STAGES], empty[STAGES];
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    if (threadIdx.x == 0)
        for (int i = 0; i < STAGES; ++i) {
            barrier_init(&full[i], 32);
            barrier_init(&empty[i], 96);
        }
    __syncthreads();
    if (warp == 0) {
        for (int i = 0; i < steps; ++i) {
            wait(&empty[i % STAGES], i / STAGES + 1 & 1);
            for (int j = 0; j < 32; ++j)
                stage[i % STAGES][32 * lane + j] = in[(32 * i + j) * 32 + lane];
            arrive(&full[i % STAGES]);
        }
        return;
    }
    int sum = 0;
    for (int i = 0; i < steps; ++i) {
        wait(&full[i % STAGES], i / STAGES & 1);
        for (int j = 0; j < 32; ++j) sum += (j + 1) * stage[i % STAGES][32 * j + (lane + warp) % 32];
        arrive(&empty[i % STAGES]);
    }
    out[threadIdx.x - 32] = sum;
}
