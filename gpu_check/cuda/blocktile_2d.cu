// 64x64 block tiles, 8 deep; a thread computes 8x8 neighbouring elements of C. A stays row-major
// in shared memory: eight rows of it are read four steps at a time.
constexpr int TILE = 64, DEPTH = 8, PER_THREAD = 8, SIDE = TILE / PER_THREAD;

extern "C" __global__ void __launch_bounds__(SIDE *SIDE)
    blocktile_2d(const float *A, const float *B, float *C, int m, int n, int k) {
    __shared__ __align__(128) float a_tile[TILE][DEPTH];
    __shared__ __align__(128) float b_tile[DEPTH][TILE];
    const int tid = threadIdx.y * SIDE + threadIdx.x;
    const int ty = tid / SIDE, tx = tid % SIDE;
    const float *a_from = A + (blockIdx.y * TILE + ty) * k + tx;
    const float *b_from = B + ty * n + blockIdx.x * TILE + tx;
    float sums[PER_THREAD][PER_THREAD] = {};
    for (int tile = 0; tile < k; tile += DEPTH) {
        for (int o = 0; o < PER_THREAD; ++o) {
            a_tile[ty + o * SIDE][tx] = a_from[o * SIDE * k + tile];
            b_tile[ty][tx + o * SIDE] = b_from[tile * n + o * SIDE];
        }
        __syncthreads();
#pragma unroll
        for (int half = 0; half < DEPTH; half += 4) {
            float a[PER_THREAD][4];
#pragma unroll
            for (int t = 0; t < PER_THREAD; ++t) {
                const float4 four =
                    *reinterpret_cast<const float4 *>(&a_tile[ty * PER_THREAD + t][half]);
                a[t][0] = four.x, a[t][1] = four.y, a[t][2] = four.z, a[t][3] = four.w;
            }
#pragma unroll
            for (int p = 0; p < 4; ++p) {
                float b[PER_THREAD];
                for (int t = 0; t < PER_THREAD; t += 4) {
                    const float4 four = *reinterpret_cast<const float4 *>(
                        &b_tile[half + p][tx * PER_THREAD + t]);
                    b[t] = four.x, b[t + 1] = four.y, b[t + 2] = four.z, b[t + 3] = four.w;
                }
#pragma unroll
                for (int i = 0; i < PER_THREAD; ++i)
                    for (int j = 0; j < PER_THREAD; ++j) sums[i][j] += a[i][p] * b[j];
            }
        }
        __syncthreads();
    }
    for (int i = 0; i < PER_THREAD; ++i)
        for (int j = 0; j < PER_THREAD; ++j)
            C[(blockIdx.y * TILE + ty * PER_THREAD + i) * n + blockIdx.x * TILE +
              tx * PER_THREAD + j] = sums[i][j];
}
