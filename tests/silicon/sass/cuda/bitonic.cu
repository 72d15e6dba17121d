// Sorts 1024 integers a block in shared memory.
extern "C" __global__ void __launch_bounds__(1024) bitonic(const int *in, int *out) {
    __shared__ int values[1024];
    const int i = threadIdx.x;
    values[i] = in[blockIdx.x * 1024 + i];
    __syncthreads();
    for (int run = 2; run <= 1024; run *= 2)
        for (int step = run / 2; step; step /= 2) {
            const int other = i ^ step;
            if (other > i) {
                const int a = values[i], b = values[other];
                if ((a > b) == ((i & run) == 0)) values[i] = b, values[other] = a;
            }
            __syncthreads();
        }
    out[blockIdx.x * 1024 + i] = values[i];
}
