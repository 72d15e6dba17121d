// Sums of 512 floats a block in shared memory, two ways to choose who adds: neighbours first, where
// the stride between lanes doubles and so do the conflicts, and halves first, where lanes are side
// by side. Blocks take several rows of 512 so that the additions outweigh the loads.
constexpr int THREADS = 256, SIZE = 512, ROWS = 8;

template <bool NEIGHBOURS>
__device__ void sum(const float *in, float *out) {
    __shared__ float values[SIZE];
    const int tid = threadIdx.x;
    for (int row = 0; row < ROWS; ++row) {
        const float *from = in + (blockIdx.x * ROWS + row) * SIZE;
        values[tid] = from[tid];
        values[tid + THREADS] = from[tid + THREADS];
        for (int left = THREADS, step = 1; left; left /= 2, step *= 2) {
            __syncthreads();
            if (tid < left) {
                if (NEIGHBOURS)
                    values[2 * step * tid] += values[2 * step * tid + step];
                else
                    values[tid] += values[tid + left];
            }
        }
        if (tid == 0) out[blockIdx.x * ROWS + row] = values[0];
        __syncthreads();
    }
}
extern "C" __global__ void sum_neighbours(const float *in, float *out) { sum<true>(in, out); }
extern "C" __global__ void sum_halves(const float *in, float *out) { sum<false>(in, out); }

// Exclusive prefix sums of 1024 integers a block by a tree (Blelloch), up and down again: plain, and
// with a word of padding after every 32.
template <bool PADDED>
__device__ int place(int i) {
    return PADDED ? i + i / 32 : i;
}
template <bool PADDED>
__device__ void tree(const int *in, int *out) {
    __shared__ int values[1024 + 32];
    const int tid = threadIdx.x, first = blockIdx.x * 1024;
    values[place<PADDED>(tid)] = in[first + tid];
    values[place<PADDED>(tid + 512)] = in[first + tid + 512];
    int step = 1;
    for (int left = 512; left; left /= 2, step *= 2) {
        __syncthreads();
        if (tid < left) {
            const int a = place<PADDED>(step * (2 * tid + 1) - 1);
            const int b = place<PADDED>(step * (2 * tid + 2) - 1);
            values[b] += values[a];
        }
    }
    if (tid == 0) values[place<PADDED>(1023)] = 0;
    for (int left = 1; left < 1024; left *= 2) {
        step /= 2;
        __syncthreads();
        if (tid < left) {
            const int a = place<PADDED>(step * (2 * tid + 1) - 1);
            const int b = place<PADDED>(step * (2 * tid + 2) - 1);
            const int before = values[a];
            values[a] = values[b];
            values[b] += before;
        }
    }
    __syncthreads();
    out[first + tid] = values[place<PADDED>(tid)];
    out[first + tid + 512] = values[place<PADDED>(tid + 512)];
}
extern "C" __global__ void tree_plain(const int *in, int *out) { tree<false>(in, out); }
extern "C" __global__ void tree_padded(const int *in, int *out) { tree<true>(in, out); }
