// Kernels of set seventeen A that move data: transposes, copies, records and strides of courses and samples.

#define KERNEL(THREADS) extern "C" __global__ void __launch_bounds__(THREADS)

// A transpose by square tiles, ROWS rows of threads to a block, guarded where sizes do not divide; PAD < 0 swizzles.
template <typename T, int TILE, int ROWS, int PAD>
__device__ __forceinline__ void turned(const T *in, T *out, int width, int height, int bx, int by) {
    constexpr int PITCH = TILE + (PAD > 0 ? PAD : 0);
    __shared__ T tile[TILE][PITCH];
    const int tx = threadIdx.x, ty = threadIdx.y;
    int x = bx * TILE + tx, y = by * TILE + ty;
    for (int j = 0; j < TILE; j += ROWS)
        if (x < width && y + j < height) tile[ty + j][PAD < 0 ? tx ^ (ty + j) : tx] = in[(y + j) * width + x];
    __syncthreads();
    x = by * TILE + tx;
    y = bx * TILE + ty;
    for (int j = 0; j < TILE; j += ROWS)
        if (x < height && y + j < width) out[(y + j) * height + x] = tile[tx][PAD < 0 ? (ty + j) ^ tx : ty + j];
}
#define TURN(NAME, T, TILE, ROWS, PAD)                                                   \
    KERNEL(TILE * ROWS) NAME(const T *in, T *out, int width, int height) {               \
        turned<T, TILE, ROWS, PAD>(in, out, width, height, blockIdx.x, blockIdx.y);      \
    }
TURN(turn_16_plain, float, 16, 16, 0)
TURN(turn_16_padded, float, 16, 16, 1)
TURN(turn_32_plain, float, 32, 32, 0)
TURN(turn_32_padded, float, 32, 32, 1)
TURN(turn_32_swizzled, float, 32, 32, -1)

// The same with blocks along diagonals, as in the sample of old.
#define DIAGONAL(NAME, PAD)                                                                              \
    KERNEL(256) NAME(const float *in, float *out, int width, int height) {                               \
        turned<float, 32, 8, PAD>(in, out, width, height, (blockIdx.x + blockIdx.y) % gridDim.x, blockIdx.x); \
    }
DIAGONAL(diagonal_plain, 0)
DIAGONAL(diagonal_padded, 1)

// A transpose of 64 x 64 that loads and stores four floats at once, scalars in shared memory.
template <int PAD> __device__ __forceinline__ void turned_vectors(const float4 *in, float4 *out, int size) {
    __shared__ float tile[64][64 + PAD];
    const int tx = threadIdx.x, ty = threadIdx.y, quads = size / 4;
    for (int j = 0; j < 64; j += 16) {
        const float4 v = in[(blockIdx.y * 64 + ty + j) * quads + blockIdx.x * 16 + tx];
        tile[ty + j][4 * tx] = v.x;
        tile[ty + j][4 * tx + 1] = v.y;
        tile[ty + j][4 * tx + 2] = v.z;
        tile[ty + j][4 * tx + 3] = v.w;
    }
    __syncthreads();
    for (int j = 0; j < 64; j += 16) {
        const int c = ty + j;
        out[(blockIdx.x * 64 + c) * quads + blockIdx.y * 16 + tx] =
            make_float4(tile[4 * tx][c], tile[4 * tx + 1][c], tile[4 * tx + 2][c], tile[4 * tx + 3][c]);
    }
}
KERNEL(256) turn_vectors_plain(const float4 *in, float4 *out, int size) { turned_vectors<0>(in, out, size); }
KERNEL(256) turn_vectors_padded(const float4 *in, float4 *out, int size) { turned_vectors<1>(in, out, size); }

// A copy of four scalars a thread, a block's width apart; and one of four floats at once.
KERNEL(256) copy_scalars(const float *__restrict__ in, float *__restrict__ out, int n) {
    const int first = blockIdx.x * 1024 + threadIdx.x;
    #pragma unroll
    for (int k = 0; k < 4; ++k)
        if (first + k * 256 < n) out[first + k * 256] = in[first + k * 256];
}
KERNEL(256) copy_vectors(const float4 *__restrict__ in, float4 *__restrict__ out, int n) {
    const int i = blockIdx.x * 256 + threadIdx.x;
    if (i < n) out[i] = in[i];
}

// Records of eight floats, staged so that memory is read along; a thread then works on a record of its own.
template <int PITCH> __device__ __forceinline__ void moved(const float *in, float *out, float dt) {
    __shared__ float records[256 * PITCH];
    const int t = threadIdx.x;
    const size_t base = (size_t)blockIdx.x * 2048;
    for (int i = t; i < 2048; i += 256) records[i / 8 * PITCH + i % 8] = in[base + i];
    __syncthreads();
    float *r = records + t * PITCH;
    const float drag = 1.0f - r[7] * dt;
    for (int k = 0; k < 3; ++k) {
        r[k + 3] = r[k + 3] * drag + r[6] * dt;
        r[k] += r[k + 3] * dt;
    }
    __syncthreads();
    for (int i = t; i < 2048; i += 256) out[base + i] = records[i / 8 * PITCH + i % 8];
}
KERNEL(256) records_structs(const float *in, float *out, float dt) { moved<8>(in, out, dt); }
KERNEL(256) records_padded(const float *in, float *out, float dt) { moved<9>(in, out, dt); }

// Reads of shared memory a given stride apart, many times: every course has it.
KERNEL(256) bank_stride(float *out, int stride, int repeats) {
    __shared__ float values[8192];
    for (int i = threadIdx.x; i < 8192; i += 256) values[i] = i * 0.5f;
    __syncthreads();
    float sum = 0.0f;
    for (int r = 0; r < repeats; ++r) sum += values[(threadIdx.x * stride + r) & 8191];
    out[blockIdx.x * 256 + threadIdx.x] = sum;
}
