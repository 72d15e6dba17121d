// A 32x32 tile a block, turned in shared memory, with rows of 32 words: a warp reads a column, all
// of it in one bank. What to change is found by `bankwise sass … --fix-diff`. n is a multiple of 32.
extern "C" __global__ void turn(const float *in, float *out, int n) {
    __shared__ float tile[32][32];
    const int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
    for (int j = 0; j < 32; j += 8)
        tile[threadIdx.y + j][threadIdx.x] = in[(y + j) * n + x];
    __syncthreads();
    const int to_x = blockIdx.y * 32 + threadIdx.x, to_y = blockIdx.x * 32 + threadIdx.y;
    for (int j = 0; j < 32; j += 8)
        out[(to_y + j) * n + to_x] = tile[threadIdx.x][threadIdx.y + j];
}
