// One element of C a thread, as naive.cu, but x is the column: a warp reads and writes 32
// neighbours.
extern "C" __global__ void coalesced(const float *A, const float *B, float *C, int m, int n,
                                     int k) {
    const int row = blockIdx.y * blockDim.y + threadIdx.y;
    const int col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= m || col >= n) return;
    float sum = 0;
    for (int p = 0; p < k; ++p) sum += A[row * k + p] * B[p * n + col];
    C[row * n + col] = sum;
}
