// One row of n floats a block of 256 threads; the row stays in dynamic shared memory.
extern "C" __global__ void softmax(const float *in, float *out, int n) {
    extern __shared__ float row[];
    __shared__ float parts[8];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    float most = -3.402823466e+38f;
    for (int i = threadIdx.x; i < n; i += blockDim.x) {
        row[i] = in[blockIdx.x * n + i];
        most = fmaxf(most, row[i]);
    }
    for (int step = 16; step; step /= 2) most = fmaxf(most, __shfl_xor_sync(~0u, most, step));
    if (lane == 0) parts[warp] = most;
    __syncthreads();
    for (int other = 0; other < 8; ++other) most = fmaxf(most, parts[other]);
    __syncthreads();
    float sum = 0;
    for (int i = threadIdx.x; i < n; i += blockDim.x) sum += row[i] = expf(row[i] - most);
    for (int step = 16; step; step /= 2) sum += __shfl_xor_sync(~0u, sum, step);
    if (lane == 0) parts[warp] = sum;
    __syncthreads();
    sum = 0;
    for (int other = 0; other < 8; ++other) sum += parts[other];
    for (int i = threadIdx.x; i < n; i += blockDim.x) out[blockIdx.x * n + i] = row[i] / sum;
}
