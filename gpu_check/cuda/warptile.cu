// 128x128 block tiles, 8 deep, 256 threads, 8x8 elements of C a thread; how a warp's 32 lanes lie
// on its tile is the only thing that changes:
//   LANES_COLS 16, SPLIT 0   2 rows of 16 lanes (row-major), A row-major in shared memory
//   LANES_COLS 16, SPLIT 1   the same with each thread's tile split into four 4x4, A transposed
//   LANES_COLS 8             4 rows of 8 lanes (column-major), A transposed
#ifndef LANES_COLS
#define LANES_COLS 8
#endif
#ifndef SPLIT
#define SPLIT 0
#endif
constexpr int TILE = 128, DEPTH = 8, LANES_ROWS = 32 / LANES_COLS;
constexpr int WARP_ROWS = 8 * LANES_ROWS, WARP_COLS = 8 * LANES_COLS;
constexpr bool TRANSPOSED = LANES_COLS == 8 || SPLIT;

__device__ __forceinline__ int element(int lane, int lanes, int e) {
    return SPLIT ? e / 4 * 4 * lanes + 4 * lane + e % 4 : 8 * lane + e;
}

extern "C" __global__ void __launch_bounds__(256)
    warptile(const float *A, const float *B, float *C, int m, int n, int k) {
    __shared__ __align__(128) float a_tile[TILE * DEPTH];
    __shared__ __align__(128) float b_tile[DEPTH * TILE];
    const int tid = threadIdx.y * blockDim.x + threadIdx.x, warp = tid / 32, lane = tid % 32;
    const int lane_row = LANES_COLS == 8 ? lane % LANES_ROWS : lane / LANES_COLS;
    const int lane_col = LANES_COLS == 8 ? lane / LANES_ROWS : lane % LANES_COLS;
    const int row = warp / (TILE / WARP_COLS) * WARP_ROWS;
    const int col = warp % (TILE / WARP_COLS) * WARP_COLS;
    A += blockIdx.y * TILE * k;
    B += blockIdx.x * TILE;
    float sums[8][8] = {};
    for (int tile = 0; tile < k; tile += DEPTH) {
        const float4 a_new =
            *reinterpret_cast<const float4 *>(&A[tid / 2 * k + tile + tid % 2 * 4]);
        if (TRANSPOSED) {
            float *to = &a_tile[tid % 2 * 4 * TILE + tid / 2];
            to[0] = a_new.x, to[TILE] = a_new.y, to[2 * TILE] = a_new.z, to[3 * TILE] = a_new.w;
        } else {
            *reinterpret_cast<float4 *>(&a_tile[4 * tid]) = a_new;
        }
        *reinterpret_cast<float4 *>(&b_tile[4 * tid]) =
            *reinterpret_cast<const float4 *>(&B[(tile + tid / 32) * n + tid % 32 * 4]);
        __syncthreads();
#pragma unroll
        for (int p = 0; p < DEPTH; ++p) {
            float a[8], b[8];
#pragma unroll
            for (int e = 0; e < 8; e += TRANSPOSED ? 4 : 1) {
                const int at = row + element(lane_row, LANES_ROWS, e);
                if (TRANSPOSED)
                    *reinterpret_cast<float4 *>(&a[e]) =
                        *reinterpret_cast<const float4 *>(&a_tile[p * TILE + at]);
                else  // volatile: one LDS an element, as the code reads, not four k steps in one
                    a[e] = *reinterpret_cast<const volatile float *>(&a_tile[at * DEPTH + p]);
            }
#pragma unroll
            for (int e = 0; e < 8; e += 4)
                *reinterpret_cast<float4 *>(&b[e]) = *reinterpret_cast<const float4 *>(
                    &b_tile[p * TILE + col + element(lane_col, LANES_COLS, e)]);
#pragma unroll
            for (int i = 0; i < 8; ++i)
                for (int j = 0; j < 8; ++j) sums[i][j] += a[i] * b[j];
        }
        __syncthreads();
    }
    for (int i = 0; i < 8; ++i)
        for (int j = 0; j < 8; j += 4)
            *reinterpret_cast<float4 *>(
                &C[(blockIdx.y * TILE + row + element(lane_row, LANES_ROWS, i)) * n +
                   blockIdx.x * TILE + col + element(lane_col, LANES_COLS, j)]) =
                make_float4(sums[i][j], sums[i][j + 1], sums[i][j + 2], sums[i][j + 3]);
}
