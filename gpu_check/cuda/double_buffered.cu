// 128x128 block tiles, 8 deep, in two buffers: while one is used, the next is on its way from
// global memory through registers. Warps of 4x8 lanes in z-order compute 32x64, each thread four
// 4x4; fragments are read one k step ahead. PAD_A floats lengthen the rows of A's tile.
#ifndef PAD_A
#define PAD_A 0
#endif
constexpr int TILE = 128, DEPTH = 8, A_ROW = TILE + PAD_A;

struct Shared {
    float a[2][DEPTH][A_ROW];
    float b[2][DEPTH][TILE];
};

extern "C" __global__ void __launch_bounds__(256, 1)
    double_buffered(const float *A, const float *B, float *C, int m, int n, int k) {
    __shared__ __align__(128) Shared tiles;
    const int tid = threadIdx.x, warp = tid / 32, lane = tid % 32;
    const int row = warp / 2 * 32 + ((lane & 1) | lane >> 4 << 1) * 4;
    const int col = warp % 2 * 64 + (lane >> 1 & 7) * 4;
    A += (blockIdx.y * TILE + tid / 8 * 4) * k + tid % 8;
    B += tid / 32 * n + blockIdx.x * TILE + tid % 32;
    float a_new[4], b_new[4], a[2][8], b[2][8], sums[8][8] = {};

    auto fetch = [&](int tile) {
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            a_new[i] = A[i * k + tile * DEPTH];
            b_new[i] = B[tile * DEPTH * n + 32 * i];
        }
    };
    auto store = [&](int buffer) {
        *reinterpret_cast<float4 *>(&tiles.a[buffer][tid % 8][tid / 8 * 4]) =
            make_float4(a_new[0], a_new[1], a_new[2], a_new[3]);
#pragma unroll
        for (int j = 0; j < 4; ++j) tiles.b[buffer][tid / 32][tid % 32 + 32 * j] = b_new[j];
    };
    auto read = [&](int buffer, int p) {
#pragma unroll
        for (int h = 0; h < 2; ++h) {
            *reinterpret_cast<float4 *>(&a[p % 2][4 * h]) =
                *reinterpret_cast<const float4 *>(&tiles.a[buffer][p][row + 16 * h]);
            *reinterpret_cast<float4 *>(&b[p % 2][4 * h]) =
                *reinterpret_cast<const float4 *>(&tiles.b[buffer][p][col + 32 * h]);
        }
    };
    auto multiply = [&](int p) {
#pragma unroll
        for (int i = 0; i < 8; ++i)
#pragma unroll
            for (int j = 0; j < 8; ++j) sums[i][j] += a[p % 2][i] * b[p % 2][j];
    };

    fetch(0);
    store(0);
    __syncthreads();
    read(0, 0);
    const int last = k / DEPTH - 1;
    for (int tile = 0; tile < last; ++tile) {
        fetch(tile + 1);
#pragma unroll
        for (int p = 0; p < DEPTH - 1; ++p) {
            read(tile % 2, p + 1);
            multiply(p);
        }
        store((tile + 1) % 2);
        __syncthreads();
        read((tile + 1) % 2, 0);
        multiply(DEPTH - 1);
    }
#pragma unroll
    for (int p = 0; p < DEPTH; ++p) {
        if (p + 1 < DEPTH) read(last % 2, p + 1);
        multiply(p);
    }
    for (int i = 0; i < 8; ++i)
        for (int h = 0; h < 2; ++h)
            *reinterpret_cast<float4 *>(&C[(blockIdx.y * TILE + row + i / 4 * 16 + i % 4) * n +
                                           blockIdx.x * TILE + col + 32 * h]) =
                make_float4(sums[i][4 * h], sums[i][4 * h + 1], sums[i][4 * h + 2],
                            sums[i][4 * h + 3]);
}
