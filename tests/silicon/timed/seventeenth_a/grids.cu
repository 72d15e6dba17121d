// Kernels of set seventeen A on grids and pictures: stencils with halos, convolutions, filters of bytes, shortest paths.

#define KERNEL(THREADS) extern "C" __global__ void __launch_bounds__(THREADS)

// The tutorial's stencil in one dimension, of radius 7, with a halo in shared memory.
KERNEL(512) stencil_line(const float *in, float *out, int n) {
    constexpr int RADIUS = 7;
    __shared__ float temp[512 + 2 * RADIUS];
    const int g = blockIdx.x * blockDim.x + threadIdx.x, l = threadIdx.x + RADIUS;
    temp[l] = g < n ? in[g] : 0.0f;
    if (threadIdx.x < RADIUS) {
        temp[l - RADIUS] = g >= RADIUS ? in[g - RADIUS] : 0.0f;
        temp[l + 512] = g + 512 < n ? in[g + 512] : 0.0f;
    }
    __syncthreads();
    float sum = 0.0f;
    for (int offset = -RADIUS; offset <= RADIUS; ++offset) sum += temp[l + offset];
    if (g < n) out[g] = sum;
}

// A step of heat in two dimensions: 16 x 16 threads, a halo loaded by those on the edge.
KERNEL(256) heat_plane(const float *in, float *out, int width, int height, float rate) {
    __shared__ float tile[18][18];
    const int tx = threadIdx.x + 1, ty = threadIdx.y + 1, x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
    if (x < width && y < height) {
        tile[ty][tx] = in[y * width + x];
        if (threadIdx.x == 0 && x > 0) tile[ty][0] = in[y * width + x - 1];
        if (threadIdx.x == 15 && x < width - 1) tile[ty][17] = in[y * width + x + 1];
        if (threadIdx.y == 0 && y > 0) tile[0][tx] = in[(y - 1) * width + x];
        if (threadIdx.y == 15 && y < height - 1) tile[17][tx] = in[(y + 1) * width + x];
    }
    __syncthreads();
    if (x > 0 && x < width - 1 && y > 0 && y < height - 1)
        out[y * width + x] = tile[ty][tx] + rate * (tile[ty][tx - 1] + tile[ty][tx + 1] + tile[ty - 1][tx] + tile[ty + 1][tx] - 4.0f * tile[ty][tx]);
}

// Finite differences of radius 4 in space: a plane in shared memory, the column along z in registers.
__constant__ float kSpace[5] = {-2.847222f, 1.6f, -0.2f, 0.02539683f, -0.001785714f};
KERNEL(512) differences(const float *in, float *out, int nx, int ny, int nz) {
    __shared__ float tile[16 + 8][32 + 8];
    const int tx = threadIdx.x + 4, ty = threadIdx.y + 4, stride = nx * ny;
    int at = (blockIdx.y * 16 + ty) * nx + blockIdx.x * 32 + tx;
    float behind[4], ahead[4], current;
    for (int i = 3; i >= 0; --i, at += stride) behind[i] = in[at];
    current = in[at];
    for (int i = 0; i < 4; ++i) ahead[i] = in[at + (i + 1) * stride];
    for (int z = 4; z < nz - 4; ++z) {
        __syncthreads();
        tile[ty][tx] = current;
        if (threadIdx.y < 4) {
            tile[threadIdx.y][tx] = in[at - 4 * nx];
            tile[threadIdx.y + 20][tx] = in[at + 16 * nx];
        }
        if (threadIdx.x < 4) {
            tile[ty][threadIdx.x] = in[at - 4];
            tile[ty][threadIdx.x + 36] = in[at + 32];
        }
        __syncthreads();
        float value = 3.0f * kSpace[0] * current;
        #pragma unroll
        for (int i = 1; i <= 4; ++i)
            value += kSpace[i] * (ahead[i - 1] + behind[i - 1] + tile[ty - i][tx] + tile[ty + i][tx] + tile[ty][tx - i] + tile[ty][tx + i]);
        out[at] = value;
        at += stride;
        for (int i = 3; i > 0; --i) behind[i] = behind[i - 1];
        behind[0] = current;
        current = ahead[0];
        for (int i = 0; i < 3; ++i) ahead[i] = ahead[i + 1];
        if (z + 5 < nz) ahead[3] = in[at + 4 * stride];
    }
}

// A mean of 27 points, cubes of 8 x 8 x 8 threads with a halo, whose rows lie 10 words apart or more.
template <int ROW, int PLANE> __device__ __forceinline__ void cube_mean(const float *in, float *out, int n) {
    __shared__ float cube[10 * PLANE];
    const int t = (threadIdx.z * 8 + threadIdx.y) * 8 + threadIdx.x;
    const int bx = blockIdx.x * 8, by = blockIdx.y * 8, bz = blockIdx.z * 8;
    for (int i = t; i < 1000; i += 512) {
        const int x = i % 10, y = i / 10 % 10, z = i / 100;
        cube[z * PLANE + y * ROW + x] = in[((size_t)min(max(bz + z - 1, 0), n - 1) * n + min(max(by + y - 1, 0), n - 1)) * n + min(max(bx + x - 1, 0), n - 1)];
    }
    __syncthreads();
    float sum = 0.0f;
    #pragma unroll
    for (int k = 0; k < 27; ++k) sum += cube[(threadIdx.z + k / 9) * PLANE + (threadIdx.y + k / 3 % 3) * ROW + threadIdx.x + k % 3];
    out[((size_t)(bz + threadIdx.z) * n + by + threadIdx.y) * n + bx + threadIdx.x] = sum / 27.0f;
}
KERNEL(512) cube_mean_plain(const float *in, float *out, int n) { cube_mean<10, 100>(in, out, n); }
KERNEL(512) cube_mean_padded(const float *in, float *out, int n) { cube_mean<40, 408>(in, out, n); }

// A convolution by a mask of constants, 5 x 5, from a tile with its halo: a thread to each of its places.
__constant__ float kMask[25] = {1, 4, 6, 4, 1, 4, 16, 24, 16, 4, 6, 24, 36, 24, 6, 4, 16, 24, 16, 4, 1, 4, 6, 4, 1};
KERNEL(400) mask_tile(const float *in, float *out, int width, int height) {
    __shared__ float tile[20][20];
    const int x = blockIdx.x * 16 + threadIdx.x - 2, y = blockIdx.y * 16 + threadIdx.y - 2;
    tile[threadIdx.y][threadIdx.x] = x >= 0 && x < width && y >= 0 && y < height ? in[y * width + x] : 0.0f;
    __syncthreads();
    if (threadIdx.x < 2 || threadIdx.x >= 18 || threadIdx.y < 2 || threadIdx.y >= 18 || x >= width || y >= height) return;
    float sum = 0.0f;
    for (int j = 0; j < 5; ++j)
        for (int i = 0; i < 5; ++i) sum += kMask[j * 5 + i] * tile[threadIdx.y + j - 2][threadIdx.x + i - 2];
    out[y * width + x] = sum / 256.0f;
}

// The sample's separable convolution of radius 8, its part along columns, whose tile is kept turned.
__constant__ float kLine[17] = {0.01f, 0.02f, 0.03f, 0.04f, 0.05f, 0.07f, 0.09f, 0.11f, 0.16f, 0.11f, 0.09f, 0.07f, 0.05f, 0.04f, 0.03f, 0.02f, 0.01f};
template <int PITCH> __device__ __forceinline__ void columns(const float *in, float *out, int width, int height) {
    __shared__ float tile[16][PITCH];
    const int x = blockIdx.x * 16 + threadIdx.x, y = (blockIdx.y * 8 - 1) * 8 + threadIdx.y;
    in += y * width + x;
    out += y * width + x;
    #pragma unroll
    for (int i = 0; i < 10; ++i) tile[threadIdx.x][threadIdx.y + i * 8] = y + i * 8 >= 0 && y + i * 8 < height ? in[i * 8 * width] : 0.0f;
    __syncthreads();
    #pragma unroll
    for (int i = 1; i < 9; ++i) {
        float sum = 0.0f;
        #pragma unroll
        for (int j = -8; j <= 8; ++j) sum += kLine[8 - j] * tile[threadIdx.x][threadIdx.y + i * 8 + j];
        out[i * 8 * width] = sum;
    }
}
KERNEL(128) separable_columns_plain(const float *in, float *out, int width, int height) { columns<80>(in, out, width, height); }
KERNEL(128) separable_columns_padded(const float *in, float *out, int width, int height) { columns<81>(in, out, width, height); }

// A blur of 3 x 3 bytes from a tile of bytes, one pixel to a thread, borders clamped.
KERNEL(256) blur_bytes(const unsigned char *in, unsigned char *out, int width, int height) {
    __shared__ unsigned char tile[10][34];
    const int bx = blockIdx.x * 32, by = blockIdx.y * 8;
    for (int i = threadIdx.y * 32 + threadIdx.x; i < 340; i += 256) {
        const int x = min(max(bx + i % 34 - 1, 0), width - 1), y = min(max(by + i / 34 - 1, 0), height - 1);
        tile[i / 34][i % 34] = in[y * width + x];
    }
    __syncthreads();
    const int x = bx + threadIdx.x, y = by + threadIdx.y;
    if (x >= width || y >= height) return;
    int sum = 0;
    for (int j = 0; j < 3; ++j)
        for (int i = 0; i < 3; ++i) sum += tile[threadIdx.y + j][threadIdx.x + i];
    out[y * width + x] = sum / 9;
}

// The third phase of shortest paths by blocks of 32 x 32 (Floyd and Warshall): tiles of the pivot's row and column.
KERNEL(1024) floyd_third(const int *from, int *to, int n, int pivot) {
    __shared__ int row[32][32], column[32][32];
    if (blockIdx.x == pivot || blockIdx.y == pivot) return;
    const int tx = threadIdx.x, ty = threadIdx.y, x = blockIdx.x * 32 + tx, y = blockIdx.y * 32 + ty;
    row[ty][tx] = from[(pivot * 32 + ty) * n + x];
    column[ty][tx] = from[y * n + pivot * 32 + tx];
    int best = from[y * n + x];
    __syncthreads();
    #pragma unroll
    for (int k = 0; k < 32; ++k) best = min(best, column[ty][k] + row[k][tx]);
    to[y * n + x] = best;
}
