// 64x64 block tiles, 8 deep; a thread computes 8 elements of one column of C, 8 rows apart.
constexpr int TILE = 64, DEPTH = 8, PER_THREAD = 8;

extern "C" __global__ void __launch_bounds__(TILE *TILE / PER_THREAD)
    blocktile_1d(const float *A, const float *B, float *C, int m, int n, int k) {
    __shared__ __align__(128) float a_tile[TILE][DEPTH];
    __shared__ __align__(128) float b_tile[DEPTH][TILE];
    const int tx = threadIdx.x, ty = threadIdx.y, tid = ty * TILE + tx;
    const int a_row = tid / DEPTH, a_col = tid % DEPTH;
    const float *a_from = A + (blockIdx.y * TILE + a_row) * k + a_col;
    const float *b_from = B + ty * n + blockIdx.x * TILE + tx;
    float sums[PER_THREAD] = {};
    for (int tile = 0; tile < k; tile += DEPTH) {
        a_tile[a_row][a_col] = a_from[tile];
        b_tile[ty][tx] = b_from[tile * n];
        __syncthreads();
        float b[DEPTH];
#pragma unroll
        for (int p = 0; p < DEPTH; ++p) b[p] = b_tile[p][tx];
#pragma unroll
        for (int t = 0; t < PER_THREAD; ++t) {
#pragma unroll
            for (int p = 0; p < DEPTH; p += 4) {
                const float4 a =
                    *reinterpret_cast<const float4 *>(&a_tile[ty + t * PER_THREAD][p]);
                sums[t] += a.x * b[p] + a.y * b[p + 1] + a.z * b[p + 2] + a.w * b[p + 3];
            }
        }
        __syncthreads();
    }
    for (int t = 0; t < PER_THREAD; ++t)
        C[(blockIdx.y * TILE + ty + t * PER_THREAD) * n + blockIdx.x * TILE + tx] = sums[t];
}
