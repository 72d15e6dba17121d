// Sum and inclusive prefix sum of a block's 256 integers: shuffles within a warp, shared memory
// between warps. One sum, and one run of prefix sums, a block.
constexpr unsigned ALL = 0xffffffffu;

extern "C" __global__ void reduce(const int *in, int *sums) {
    __shared__ int parts[8];
    int value = in[blockIdx.x * blockDim.x + threadIdx.x];
    for (int step = 16; step; step /= 2) value += __shfl_down_sync(ALL, value, step);
    if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = value;
    __syncthreads();
    if (threadIdx.x < 32) {
        value = threadIdx.x < 8 ? parts[threadIdx.x] : 0;
        for (int step = 4; step; step /= 2) value += __shfl_xor_sync(ALL, value, step);
        if (threadIdx.x == 0) sums[blockIdx.x] = value;
    }
}

extern "C" __global__ void scan(const int *in, int *out) {
    __shared__ int parts[8];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    int value = in[blockIdx.x * blockDim.x + threadIdx.x];
    for (int step = 1; step < 32; step *= 2) {
        const int before = __shfl_up_sync(ALL, value, step);
        if (lane >= step) value += before;
    }
    if (lane == 31) parts[warp] = value;
    __syncthreads();
    for (int other = 0; other < warp; ++other) value += parts[other];
    out[blockIdx.x * blockDim.x + threadIdx.x] = value;
}

// The same in shared memory alone: each step reads a neighbour farther away.
extern "C" __global__ void scan_shared(const int *in, int *out) {
    __shared__ int values[2][256];
    int side = 0;
    values[0][threadIdx.x] = in[blockIdx.x * blockDim.x + threadIdx.x];
    __syncthreads();
    for (int step = 1; step < 256; step *= 2) {
        int value = values[side][threadIdx.x];
        if (threadIdx.x >= step) value += values[side][threadIdx.x - step];
        side ^= 1;
        values[side][threadIdx.x] = value;
        __syncthreads();
    }
    out[blockIdx.x * blockDim.x + threadIdx.x] = values[side][threadIdx.x];
}
