// Five points of an n x n grid, from a 32x8 tile with a halo of one; outside the grid is 0.
constexpr int X = 32, Y = 8;

extern "C" __global__ void stencil(const float *in, float *out, int n) {
    __shared__ float tile[Y + 2][X + 2];
    const int x = blockIdx.x * X + threadIdx.x, y = blockIdx.y * Y + threadIdx.y;
    auto at = [&](int row, int col) {
        return 0 <= row && row < n && 0 <= col && col < n ? in[row * n + col] : 0.0f;
    };
    const int tx = threadIdx.x + 1, ty = threadIdx.y + 1;
    tile[ty][tx] = at(y, x);
    if (threadIdx.y == 0) tile[0][tx] = at(y - 1, x);
    if (threadIdx.y == Y - 1) tile[Y + 1][tx] = at(y + 1, x);
    if (threadIdx.x == 0) tile[ty][0] = at(y, x - 1);
    if (threadIdx.x == X - 1) tile[ty][X + 1] = at(y, x + 1);
    __syncthreads();
    if (x < n && y < n)
        out[y * n + x] = 0.5f * tile[ty][tx] + 0.125f * (tile[ty - 1][tx] + tile[ty + 1][tx] +
                                                          tile[ty][tx - 1] + tile[ty][tx + 1]);
}
