// 256 bins in shared memory: counts of bytes by atomic increments, sums of weights by atomic adds
// of a register, and the greatest weight by atomic maximum. Each block has its own row of results.
extern "C" __global__ void histogram(const unsigned char *in, unsigned *out, int n) {
    __shared__ unsigned bins[256];
    bins[threadIdx.x] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        atomicAdd(&bins[in[i]], 1u);
    __syncthreads();
    out[blockIdx.x * 256 + threadIdx.x] = bins[threadIdx.x];
}

extern "C" __global__ void weights(const unsigned char *in, const int *weight, int *out, int n) {
    __shared__ int sums[256], most[256];
    sums[threadIdx.x] = most[threadIdx.x] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        atomicAdd(&sums[in[i]], weight[i]);
        atomicMax(&most[in[i]], weight[i]);
    }
    __syncthreads();
    out[blockIdx.x * 512 + threadIdx.x] = sums[threadIdx.x];
    out[blockIdx.x * 512 + 256 + threadIdx.x] = most[threadIdx.x];
}
