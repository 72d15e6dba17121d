// A 32x32 tile a block, turned in shared memory: rows of 32 words, of 33, and of 32 with the
// column XORed with the row. 32x8 threads; n is a multiple of 32.
constexpr int TILE = 32, ROWS = 8;

template <int ROW, bool SWIZZLED>
__device__ void turn(const float *in, float *out, int n, float (*tile)[ROW]) {
    const int x = blockIdx.x * TILE + threadIdx.x, y = blockIdx.y * TILE + threadIdx.y;
    for (int j = 0; j < TILE; j += ROWS) {
        const int row = threadIdx.y + j;
        tile[row][SWIZZLED ? threadIdx.x ^ row : threadIdx.x] = in[(y + j) * n + x];
    }
    __syncthreads();
    const int to_x = blockIdx.y * TILE + threadIdx.x, to_y = blockIdx.x * TILE + threadIdx.y;
    for (int j = 0; j < TILE; j += ROWS) {
        const int row = threadIdx.y + j;
        out[(to_y + j) * n + to_x] = tile[threadIdx.x][SWIZZLED ? row ^ threadIdx.x : row];
    }
}

extern "C" __global__ void transpose_naive(const float *in, float *out, int n) {
    __shared__ float tile[TILE][TILE];
    turn<TILE, false>(in, out, n, tile);
}

extern "C" __global__ void transpose_padded(const float *in, float *out, int n) {
    __shared__ float tile[TILE][TILE + 1];
    turn<TILE + 1, false>(in, out, n, tile);
}

extern "C" __global__ void transpose_swizzled(const float *in, float *out, int n) {
    __shared__ float tile[TILE][TILE];
    turn<TILE, true>(in, out, n, tile);
}
