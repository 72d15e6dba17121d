// One element of C a thread. Neighbouring threads lie along x, and x is the row: a warp reads 32
// rows of A and writes 32 rows of C, one element of each.
extern "C" __global__ void naive(const float *A, const float *B, float *C, int m, int n, int k) {
    const int row = blockIdx.x * blockDim.x + threadIdx.x;
    const int col = blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= m || col >= n) return;
    float sum = 0;
    for (int p = 0; p < k; ++p) sum += A[row * k + p] * B[p * n + col];
    C[row * n + col] = sum;
}
