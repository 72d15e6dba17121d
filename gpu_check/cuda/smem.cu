// Square tiles of A and B in shared memory, one element of C a thread. All sizes are multiples of
// the tile.
constexpr int TILE = 32;

extern "C" __global__ void __launch_bounds__(TILE *TILE)
    smem(const float *A, const float *B, float *C, int m, int n, int k) {
    __shared__ __align__(128) float a_tile[TILE][TILE];
    __shared__ __align__(128) float b_tile[TILE][TILE];
    const int tx = threadIdx.x, ty = threadIdx.y;
    const int row = blockIdx.y * TILE + ty, col = blockIdx.x * TILE + tx;
    float sum = 0;
    for (int tile = 0; tile < k; tile += TILE) {
        a_tile[ty][tx] = A[row * k + tile + tx];
        b_tile[ty][tx] = B[(tile + ty) * n + col];
        __syncthreads();
#pragma unroll
        for (int p = 0; p < TILE; p += 4) {
            const float4 a = *reinterpret_cast<const float4 *>(&a_tile[ty][p]);
            sum += a.x * b_tile[p][tx];
            sum += a.y * b_tile[p + 1][tx];
            sum += a.z * b_tile[p + 2][tx];
            sum += a.w * b_tile[p + 3][tx];
        }
        __syncthreads();
    }
    C[row * n + col] = sum;
}
