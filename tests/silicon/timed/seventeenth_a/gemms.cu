// Kernels of set seventeen A that multiply: naive, tiled, tiled in registers, of doubles and bytes, and by a vector.

#define KERNEL(THREADS) extern "C" __global__ void __launch_bounds__(THREADS)

// A product as first written: a thread to an element, x along columns; and with x along rows, as many begin.
KERNEL(256) naive_product(const float *A, const float *B, float *C, int M, int N, int K) {
    const int row = blockIdx.y * blockDim.y + threadIdx.y, col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= M || col >= N) return;
    float sum = 0.0f;
    for (int k = 0; k < K; ++k) sum += A[row * K + k] * B[k * N + col];
    C[row * N + col] = sum;
}
KERNEL(1024) naive_down(const float *A, const float *B, float *C, int M, int N, int K) {
    const int row = blockIdx.x * blockDim.x + threadIdx.x, col = blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= M || col >= N) return;
    float sum = 0.0f;
    for (int k = 0; k < K; ++k) sum += A[row * K + k] * B[k * N + col];
    C[row * N + col] = sum;
}

// The programming guide's product by tiles, guarded on every side.
template <int TILE> __device__ __forceinline__ void tiled(const float *A, const float *B, float *C, int M, int N, int K) {
    __shared__ float As[TILE][TILE], Bs[TILE][TILE];
    const int tx = threadIdx.x, ty = threadIdx.y, row = blockIdx.y * TILE + ty, col = blockIdx.x * TILE + tx;
    float sum = 0.0f;
    for (int t = 0; t < (K + TILE - 1) / TILE; ++t) {
        As[ty][tx] = row < M && t * TILE + tx < K ? A[row * K + t * TILE + tx] : 0.0f;
        Bs[ty][tx] = col < N && t * TILE + ty < K ? B[(t * TILE + ty) * N + col] : 0.0f;
        __syncthreads();
        for (int k = 0; k < TILE; ++k) sum += As[ty][k] * Bs[k][tx];
        __syncthreads();
    }
    if (row < M && col < N) C[row * N + col] = sum;
}
KERNEL(256) tiled_16(const float *A, const float *B, float *C, int M, int N, int K) { tiled<16>(A, B, C, M, N, K); }
KERNEL(1024) tiled_32(const float *A, const float *B, float *C, int M, int N, int K) { tiled<32>(A, B, C, M, N, K); }

// A product with a transposed matrix, whose tile is read down its columns.
template <typename T, int TILE, int PAD> __device__ __forceinline__ void product_abt(const T *A, const T *B, T *C, int N, int K) {
    __shared__ T As[TILE][TILE + PAD], Bs[TILE][TILE + PAD];
    const int tx = threadIdx.x, ty = threadIdx.y, row = blockIdx.y * TILE + ty, col = blockIdx.x * TILE;
    T sum = 0;
    for (int t = 0; t < K; t += TILE) {
        As[ty][tx] = A[row * K + t + tx];
        Bs[ty][tx] = B[(col + ty) * K + t + tx];
        __syncthreads();
        #pragma unroll
        for (int k = 0; k < TILE; ++k) sum += As[ty][k] * Bs[tx][k];
        __syncthreads();
    }
    C[row * N + col + tx] = sum;
}
#define ABT(NAME, T, TILE, PAD) \
    KERNEL(TILE * TILE) NAME(const T *A, const T *B, T *C, int N, int K) { product_abt<T, TILE, PAD>(A, B, C, N, K); }
ABT(abt_32_plain, float, 32, 0)
ABT(abt_32_padded, float, 32, 1)
ABT(abt_f64_plain, double, 16, 0)
ABT(abt_f64_padded, double, 16, 1)

// A product tiled in shared memory and registers: A's tile is turned as it is stored, for reads of four floats.
template <int BM, int BN, int BK, int TM, int TN, int PAD>
__device__ __forceinline__ void registers(const float *A, const float *B, float *C, int N, int K) {
    constexpr int THREADS = BM / TM * (BN / TN);
    __shared__ __align__(16) float As[BK][BM + PAD], Bs[BK][BN];
    const int t = threadIdx.x, tx = t % (BN / TN), ty = t / (BN / TN);
    A += (size_t)blockIdx.y * BM * K;
    B += blockIdx.x * BN;
    float acc[TM][TN] = {}, a[TM], b[TN];
    for (int k0 = 0; k0 < K; k0 += BK) {
        #pragma unroll
        for (int i = t; i < BM * BK / 4; i += THREADS) {
            const int row = i / (BK / 4), k = i % (BK / 4) * 4;
            const float4 v = *(const float4 *)&A[row * K + k0 + k];
            As[k][row] = v.x, As[k + 1][row] = v.y, As[k + 2][row] = v.z, As[k + 3][row] = v.w;
        }
        #pragma unroll
        for (int i = t; i < BN * BK / 4; i += THREADS) {
            const int k = i / (BN / 4), col = i % (BN / 4) * 4;
            *(float4 *)&Bs[k][col] = *(const float4 *)&B[(size_t)(k0 + k) * N + col];
        }
        __syncthreads();
        #pragma unroll
        for (int k = 0; k < BK; ++k) {
            #pragma unroll
            for (int i = 0; i < TM; ++i) a[i] = As[k][ty * TM + i];
            #pragma unroll
            for (int j = 0; j < TN; ++j) b[j] = Bs[k][tx * TN + j];
            #pragma unroll
            for (int i = 0; i < TM; ++i)
                #pragma unroll
                for (int j = 0; j < TN; ++j) acc[i][j] += a[i] * b[j];
        }
        __syncthreads();
    }
    #pragma unroll
    for (int i = 0; i < TM; ++i)
        #pragma unroll
        for (int j = 0; j < TN; ++j) C[(size_t)(blockIdx.y * BM + ty * TM + i) * N + blockIdx.x * BN + tx * TN + j] = acc[i][j];
}
#define REGISTERS(NAME, BM, BN, BK, TM, TN, PAD)                                                         \
    KERNEL(BM / TM * (BN / TN)) NAME(const float *A, const float *B, float *C, int N, int K) {           \
        registers<BM, BN, BK, TM, TN, PAD>(A, B, C, N, K);                                               \
    }
REGISTERS(registers_64, 64, 64, 16, 4, 4, 0)
REGISTERS(registers_128_plain, 128, 128, 8, 8, 8, 0)
REGISTERS(registers_128_padded, 128, 128, 8, 8, 8, 4)

// A tile of 64 x 64 with two buffers: the next tile is on its way in registers while this one is multiplied.
KERNEL(256) two_buffers_64(const float *__restrict__ A, const float *__restrict__ B, float *__restrict__ C, int N, int K) {
    __shared__ __align__(16) float As[2][16][68], Bs[2][16][64];
    const int t = threadIdx.x, tx = t % 16, ty = t / 16, row = t / 4, ka = t % 4 * 4, kb = t / 16, col = t % 16 * 4;
    const float *from_a = A + (size_t)(blockIdx.y * 64 + row) * K + ka, *from_b = B + (size_t)kb * N + blockIdx.x * 64 + col;
    float4 va = *(const float4 *)from_a, vb = *(const float4 *)from_b;
    float acc[4][4] = {};
    int side = 0;
    for (int k0 = 0; k0 < K; k0 += 16, side ^= 1) {
        As[side][ka][row] = va.x, As[side][ka + 1][row] = va.y, As[side][ka + 2][row] = va.z, As[side][ka + 3][row] = va.w;
        *(float4 *)&Bs[side][kb][col] = vb;
        __syncthreads();
        if (k0 + 16 < K) {
            va = *(const float4 *)(from_a + k0 + 16);
            vb = *(const float4 *)(from_b + (size_t)(k0 + 16) * N);
        }
        #pragma unroll
        for (int k = 0; k < 16; ++k) {
            const float4 a4 = *(const float4 *)&As[side][k][ty * 4], b4 = *(const float4 *)&Bs[side][k][tx * 4];
            const float a[4] = {a4.x, a4.y, a4.z, a4.w}, b[4] = {b4.x, b4.y, b4.z, b4.w};
            for (int i = 0; i < 4; ++i)
                for (int j = 0; j < 4; ++j) acc[i][j] += a[i] * b[j];
        }
    }
    for (int i = 0; i < 4; ++i)
        *(float4 *)&C[(size_t)(blockIdx.y * 64 + ty * 4 + i) * N + blockIdx.x * 64 + tx * 4] =
            make_float4(acc[i][0], acc[i][1], acc[i][2], acc[i][3]);
}

// A product of bytes by sums of four products (dp4a): both matrices lie along k.
template <int PITCH> __device__ __forceinline__ void quantised(const int *A, const int *B, int *C, int N, int K4) {
    __shared__ int As[64][PITCH], Bs[64][PITCH];
    const int tx = threadIdx.x % 16, ty = threadIdx.x / 16;
    int acc[4][4] = {};
    for (int k0 = 0; k0 < K4; k0 += 16) {
        #pragma unroll
        for (int r = 0; r < 64; r += 16) {
            As[ty + r][tx] = A[(blockIdx.y * 64 + ty + r) * K4 + k0 + tx];
            Bs[ty + r][tx] = B[(blockIdx.x * 64 + ty + r) * K4 + k0 + tx];
        }
        __syncthreads();
        #pragma unroll
        for (int k = 0; k < 16; ++k)
            #pragma unroll
            for (int i = 0; i < 4; ++i)
                #pragma unroll
                for (int j = 0; j < 4; ++j) acc[i][j] = __dp4a(As[ty + 16 * i][k], Bs[tx + 16 * j][k], acc[i][j]);
        __syncthreads();
    }
    for (int i = 0; i < 4; ++i)
        for (int j = 0; j < 4; ++j) C[(blockIdx.y * 64 + ty + 16 * i) * N + blockIdx.x * 64 + tx + 16 * j] = acc[i][j];
}
KERNEL(256) quantised_plain(const int *A, const int *B, int *C, int N, int K4) { quantised<16>(A, B, C, N, K4); }
KERNEL(256) quantised_padded(const int *A, const int *B, int *C, int N, int K4) { quantised<17>(A, B, C, N, K4); }

// A matrix by a vector, a thread to a row that it reads alone, parts of the vector in shared memory.
KERNEL(128) gemv_thread_rows(const float *A, const float *x, float *y, int rows, int columns) {
    __shared__ float part[128];
    const int row = blockIdx.x * 128 + threadIdx.x;
    float sum = 0.0f;
    for (int first = 0; first < columns; first += 128) {
        part[threadIdx.x] = first + threadIdx.x < columns ? x[first + threadIdx.x] : 0.0f;
        __syncthreads();
        for (int k = 0; k < min(128, columns - first); ++k)
            if (row < rows) sum += A[(size_t)row * columns + first + k] * part[k];
        __syncthreads();
    }
    if (row < rows) y[row] = sum;
}

// The same by tiles: a block reads 128 rows along, and threads sum rows of the tile.
template <int PITCH> __device__ __forceinline__ void gemv_tile(const float *A, const float *x, float *y, int columns) {
    __shared__ float tile[128 * PITCH], part[32];
    const int t = threadIdx.x, lane = t % 32, warp = t / 32;
    A += (size_t)blockIdx.x * 128 * columns;
    float sum = 0.0f;
    for (int first = 0; first < columns; first += 32) {
        for (int r = warp; r < 128; r += 4) tile[r * PITCH + lane] = A[r * columns + first + lane];
        if (t < 32) part[t] = x[first + t];
        __syncthreads();
        #pragma unroll 8
        for (int k = 0; k < 32; ++k) sum += tile[t * PITCH + k] * part[k];
        __syncthreads();
    }
    y[blockIdx.x * 128 + t] = sum;
}
KERNEL(128) gemv_tile_plain(const float *A, const float *x, float *y, int columns) { gemv_tile<32>(A, x, y, columns); }
KERNEL(128) gemv_tile_padded(const float *A, const float *x, float *y, int columns) { gemv_tile<33>(A, x, y, columns); }
