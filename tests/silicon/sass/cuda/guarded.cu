// A GEMM of any size: 32x32 block tiles, 8 deep, 64 threads, 4x4 elements a thread. What lies
// outside of the matrices is read as 0, and not written.
constexpr int TILE = 32, DEPTH = 8, PART = 4;

extern "C" __global__ void __launch_bounds__(64)
    guarded(const float *A, const float *B, float *C, int m, int n, int k) {
    __shared__ float a_tile[DEPTH][TILE], b_tile[DEPTH][TILE];
    const int tid = threadIdx.x, ty = tid / 8, tx = tid % 8;
    const int row = blockIdx.y * TILE, col = blockIdx.x * TILE;
    float sums[PART][PART] = {};
    for (int at = 0; at < k; at += DEPTH) {
        for (int i = tid; i < TILE * DEPTH; i += 64) {
            const int y = row + i / DEPTH, x = at + i % DEPTH;
            a_tile[i % DEPTH][i / DEPTH] = y < m && x < k ? A[y * k + x] : 0.0f;
            const int v = at + i / TILE, u = col + i % TILE;
            b_tile[i / TILE][i % TILE] = v < k && u < n ? B[v * n + u] : 0.0f;
        }
        __syncthreads();
        for (int p = 0; p < DEPTH; ++p)
            for (int i = 0; i < PART; ++i)
                for (int j = 0; j < PART; ++j)
                    sums[i][j] += a_tile[p][ty * PART + i] * b_tile[p][tx * PART + j];
        __syncthreads();
    }
    for (int i = 0; i < PART; ++i)
        for (int j = 0; j < PART; ++j) {
            const int y = row + ty * PART + i, x = col + tx * PART + j;
            if (y < m && x < n) C[y * n + x] = sums[i][j];
        }
}
