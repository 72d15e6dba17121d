// 64x64 block tiles, 8 deep, two warps of 64x32; lanes in z-order, 8x8 elements a thread split
// into four 4x4. The rows of A's tile (transposed) are PADDING floats longer than they need be,
// so that storing a row of A, one float a lane and k step, meets fewer banks twice.
#ifndef PADDING
#define PADDING 4
#endif
constexpr int TILE = 64, DEPTH = 8, THREADS = 64;

extern "C" __global__ void __launch_bounds__(THREADS)
    zorder(const float *A, const float *B, float *C, int m, int n, int k) {
    __shared__ __align__(128) float a_tile[DEPTH][TILE + PADDING];
    __shared__ __align__(128) float b_tile[DEPTH][TILE];
    const int tid = threadIdx.x, warp = tid / 32, lane = tid % 32;
    const int lane_row = (lane >> 3 << 1) + (lane & 1), lane_col = (lane & 7) >> 1;
    A += (blockIdx.y * TILE + tid / DEPTH) * k + tid % DEPTH;
    B += blockIdx.x * TILE + tid;
    float sums[8][8] = {};
    for (int tile = 0; tile < k; tile += DEPTH) {
        for (int i = 0; i < TILE; i += THREADS / DEPTH)
            a_tile[tid % DEPTH][i + tid / DEPTH] = A[i * k + tile];
        for (int i = 0; i < DEPTH; ++i) b_tile[i][tid] = B[(tile + i) * n];
        __syncthreads();
#pragma unroll
        for (int p = 0; p < DEPTH; ++p) {
            float a[8], b[8];
#pragma unroll
            for (int h = 0; h < 2; ++h) {
                *reinterpret_cast<float4 *>(&a[4 * h]) =
                    *reinterpret_cast<const float4 *>(&a_tile[p][(lane_row + 8 * h) * 4]);
                *reinterpret_cast<float4 *>(&b[4 * h]) = *reinterpret_cast<const float4 *>(
                    &b_tile[p][warp * 32 + (lane_col + 4 * h) * 4]);
            }
#pragma unroll
            for (int i = 0; i < 8; ++i)
                for (int j = 0; j < 8; ++j) sums[i][j] += a[i] * b[j];
        }
        __syncthreads();
    }
    for (int i = 0; i < 8; ++i)
        for (int j = 0; j < 8; j += 4) {
            const int row = blockIdx.y * TILE + (lane_row + i / 4 * 8) * 4 + i % 4;
            const int col = blockIdx.x * TILE + warp * 32 + (lane_col + j) * 4;
            *reinterpret_cast<float4 *>(&C[row * n + col]) =
                make_float4(sums[i][j], sums[i][j + 1], sums[i][j + 2], sums[i][j + 3]);
        }
}
