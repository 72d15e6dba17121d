// Block tiles of TILE x TILE, 8 deep, moved four floats at a time; A is transposed on its way into
// shared memory, so that 8x8 elements of C a thread read float4 of both tiles.
#ifndef TILE
#define TILE 64
#endif
constexpr int DEPTH = 8, PER_THREAD = 8, SIDE = TILE / PER_THREAD, THREADS = SIDE * SIDE;
constexpr int A_VECTORS = DEPTH / 4, B_VECTORS = TILE / 4;

extern "C" __global__ void __launch_bounds__(THREADS)
    vectorized(const float *A, const float *B, float *C, int m, int n, int k) {
    __shared__ __align__(128) float a_tile[DEPTH][TILE];
    __shared__ __align__(128) float b_tile[DEPTH][TILE];
    const int tid = threadIdx.x, ty = tid / SIDE, tx = tid % SIDE;
    const int a_row = tid / A_VECTORS, a_col = tid % A_VECTORS * 4;
    const int b_row = tid / B_VECTORS, b_col = tid % B_VECTORS * 4;
    A += blockIdx.y * TILE * k;
    B += blockIdx.x * TILE;
    float sums[PER_THREAD][PER_THREAD] = {};
    for (int tile = 0; tile < k; tile += DEPTH) {
        for (int row = a_row; row < TILE; row += THREADS / A_VECTORS) {
            const float4 a = *reinterpret_cast<const float4 *>(&A[row * k + tile + a_col]);
            a_tile[a_col][row] = a.x;
            a_tile[a_col + 1][row] = a.y;
            a_tile[a_col + 2][row] = a.z;
            a_tile[a_col + 3][row] = a.w;
        }
        for (int row = b_row; row < DEPTH; row += THREADS / B_VECTORS)
            *reinterpret_cast<float4 *>(&b_tile[row][b_col]) =
                *reinterpret_cast<const float4 *>(&B[(tile + row) * n + b_col]);
        __syncthreads();
#pragma unroll
        for (int p = 0; p < DEPTH; ++p) {
            float4 a[2], b[2];
            for (int h = 0; h < 2; ++h) {
                a[h] = *reinterpret_cast<const float4 *>(&a_tile[p][ty * PER_THREAD + 4 * h]);
                b[h] = *reinterpret_cast<const float4 *>(&b_tile[p][tx * PER_THREAD + 4 * h]);
            }
            const float *x = &a[0].x, *y = &b[0].x;
#pragma unroll
            for (int i = 0; i < PER_THREAD; ++i)
                for (int j = 0; j < PER_THREAD; ++j) sums[i][j] += x[i] * y[j];
        }
        __syncthreads();
    }
    for (int i = 0; i < PER_THREAD; ++i)
        for (int j = 0; j < PER_THREAD; j += 4)
            *reinterpret_cast<float4 *>(&C[(blockIdx.y * TILE + ty * PER_THREAD + i) * n +
                                           blockIdx.x * TILE + tx * PER_THREAD + j]) =
                make_float4(sums[i][j], sums[i][j + 1], sums[i][j + 2], sums[i][j + 3]);
}
