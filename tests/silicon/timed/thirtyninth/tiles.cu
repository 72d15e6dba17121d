// Tiles of floats in shared memory: transposes, steps of the SGEMM ladder, softmax by a thread a row, a Jacobi step; and a step of lattice Boltzmann.
#include <cuda_runtime.h>

#define TILE_DIM 32
#define BLOCK_ROWS 16

enum Layout { kPlain, kPadded, kSwizzled };

// ------------------------------------------------------------------------------------------------
// Transpose of floats by tiles of 32 x 32; sides are whole tiles.
template <Layout L>
__device__ void transpose(const float *in, float *out, int width, int height) {
    constexpr int PITCH = L == kPadded ? TILE_DIM + 1 : TILE_DIM;
    __shared__ float tile[TILE_DIM * PITCH];
    auto at = [](int row, int col) { return row * PITCH + (L == kSwizzled ? col ^ row : col); };
    int x = blockIdx.x * TILE_DIM + threadIdx.x, y = blockIdx.y * TILE_DIM + threadIdx.y;
    for (int j = 0; j < TILE_DIM; j += BLOCK_ROWS) tile[at(threadIdx.y + j, threadIdx.x)] = in[(size_t)(y + j) * width + x];
    __syncthreads();
    x = blockIdx.y * TILE_DIM + threadIdx.x, y = blockIdx.x * TILE_DIM + threadIdx.y;
    for (int j = 0; j < TILE_DIM; j += BLOCK_ROWS) out[(size_t)(y + j) * height + x] = tile[at(threadIdx.x, threadIdx.y + j)];
}

extern "C" __global__ void transpose_plain(const float *in, float *out, int width, int height) { transpose<kPlain>(in, out, width, height); }
extern "C" __global__ void transpose_padded(const float *in, float *out, int width, int height) { transpose<kPadded>(in, out, width, height); }
extern "C" __global__ void transpose_swizzled(const float *in, float *out, int width, int height) { transpose<kSwizzled>(in, out, width, height); }

// ------------------------------------------------------------------------------------------------
// SGEMM, an element a thread, tiles of 32 x 32. A is kept turned, so that its stores go down a column.
template <int PITCH>
__device__ void sgemm_turned(const float *A, const float *B, float *C, int N, int K) {
    __shared__ float As[32][PITCH], Bs[32][PITCH];
    const int tx = threadIdx.x, ty = threadIdx.y, row = blockIdx.y * 32 + ty, col = blockIdx.x * 32 + tx;
    float sum = 0.0f;
    for (int k0 = 0; k0 < K; k0 += 32) {
        As[tx][ty] = A[(size_t)row * K + k0 + tx];
        Bs[ty][tx] = B[(size_t)(k0 + ty) * N + col];
        __syncthreads();
        for (int k = 0; k < 32; k++) sum += As[k][ty] * Bs[k][tx];
        __syncthreads();
    }
    C[(size_t)row * N + col] = sum;
}

extern "C" __global__ void __launch_bounds__(1024) sgemm_turned_plain(const float *A, const float *B, float *C, int N, int K) { sgemm_turned<32>(A, B, C, N, K); }
extern "C" __global__ void __launch_bounds__(1024) sgemm_turned_padded(const float *A, const float *B, float *C, int N, int K) { sgemm_turned<33>(A, B, C, N, K); }

// ------------------------------------------------------------------------------------------------
// SGEMM, 8 x 8 a thread: 128 x 128 x 16 a block of 256, loads of four floats, A turned on its way.
template <int LDA>
__device__ void sgemm_registers(const float *A, const float *B, float *C, int N, int K) {
    constexpr int BM = 128, BN = 128, BK = 16;
    __shared__ __align__(16) float As[BK * LDA], Bs[BK * BN];
    const int tid = threadIdx.x, ty = tid / 16, tx = tid % 16;
    A += (size_t)blockIdx.y * BM * K;
    B += blockIdx.x * BN;
    float acc[8][8] = {}, a[8], b[8];
    for (int k0 = 0; k0 < K; k0 += BK) {
        for (int i = 0; i < 2; i++) {
            int row = tid / 4 + i * 64, col = tid % 4 * 4;
            float4 v = *reinterpret_cast<const float4 *>(&A[(size_t)row * K + k0 + col]);
            As[(col + 0) * LDA + row] = v.x;
            As[(col + 1) * LDA + row] = v.y;
            As[(col + 2) * LDA + row] = v.z;
            As[(col + 3) * LDA + row] = v.w;
            int k = tid / 32 + i * 8, n = tid % 32 * 4;
            *reinterpret_cast<float4 *>(&Bs[k * BN + n]) = *reinterpret_cast<const float4 *>(&B[(size_t)(k0 + k) * N + n]);
        }
        __syncthreads();
#pragma unroll
        for (int k = 0; k < BK; k++) {
#pragma unroll
            for (int i = 0; i < 8; i += 4) {
                *reinterpret_cast<float4 *>(&a[i]) = *reinterpret_cast<const float4 *>(&As[k * LDA + ty * 8 + i]);
                *reinterpret_cast<float4 *>(&b[i]) = *reinterpret_cast<const float4 *>(&Bs[k * BN + i * 16 + tx * 4]);
            }
#pragma unroll
            for (int i = 0; i < 8; i++)
#pragma unroll
                for (int j = 0; j < 8; j++) acc[i][j] += a[i] * b[j];
        }
        __syncthreads();
    }
    for (int i = 0; i < 8; i++)
        for (int j = 0; j < 8; j += 4)
            *reinterpret_cast<float4 *>(&C[(size_t)(blockIdx.y * BM + ty * 8 + i) * N + blockIdx.x * BN + j * 16 + tx * 4]) =
                make_float4(acc[i][j], acc[i][j + 1], acc[i][j + 2], acc[i][j + 3]);
}

extern "C" __global__ void __launch_bounds__(256) sgemm_registers_plain(const float *A, const float *B, float *C, int N, int K) { sgemm_registers<128>(A, B, C, N, K); }
extern "C" __global__ void __launch_bounds__(256) sgemm_registers_padded(const float *A, const float *B, float *C, int N, int K) { sgemm_registers<132>(A, B, C, N, K); }

// ------------------------------------------------------------------------------------------------
// Softmax of short rows, a thread a row: 128 rows of 64 floats come by way of shared memory, and go back so.
template <int PITCH>
__device__ void softmax_short(const float *in, float *out) {
    __shared__ float rows[128 * PITCH];
    const size_t base = (size_t)blockIdx.x * 128 * 64;
    for (int i = threadIdx.x; i < 128 * 64; i += 128) rows[i / 64 * PITCH + i % 64] = in[base + i];
    __syncthreads();
    float *row = rows + threadIdx.x * PITCH, top = row[0], sum = 0.0f;
    for (int i = 1; i < 64; i++) top = fmaxf(top, row[i]);
    for (int i = 0; i < 64; i++) {
        row[i] = __expf(row[i] - top);
        sum += row[i];
    }
    const float scale = 1.0f / sum;
    for (int i = 0; i < 64; i++) row[i] *= scale;
    __syncthreads();
    for (int i = threadIdx.x; i < 128 * 64; i += 128) out[base + i] = rows[i / 64 * PITCH + i % 64];
}

extern "C" __global__ void __launch_bounds__(128) softmax_short_plain(const float *in, float *out) { softmax_short<64>(in, out); }
extern "C" __global__ void __launch_bounds__(128) softmax_short_padded(const float *in, float *out) { softmax_short<65>(in, out); }

// ------------------------------------------------------------------------------------------------
// A Jacobi step by tiles of 32 x 16 with their edges; the pitch of the tile's rows is all that differs.
template <int PITCH>
__device__ void jacobi(const float *in, float *out, int width) {
    __shared__ float tile[18][PITCH];
    const int tx = threadIdx.x, ty = threadIdx.y;
    const float *from = in + (size_t)blockIdx.y * 16 * width + blockIdx.x * 32;
    for (int i = ty * 32 + tx; i < 18 * 34; i += 512) tile[i / 34][i % 34] = from[(size_t)(i / 34) * width + i % 34];
    __syncthreads();
    const float v = 0.2f * (tile[ty + 1][tx + 1] + tile[ty][tx + 1] + tile[ty + 2][tx + 1] + tile[ty + 1][tx] + tile[ty + 1][tx + 2]);
    out[(size_t)(blockIdx.y * 16 + ty + 1) * width + blockIdx.x * 32 + tx + 1] = v;
}

extern "C" __global__ void __launch_bounds__(512) jacobi_narrow(const float *in, float *out, int width) { jacobi<34>(in, out, width); }
extern "C" __global__ void __launch_bounds__(512) jacobi_wide(const float *in, float *out, int width) { jacobi<37>(in, out, width); }

// ------------------------------------------------------------------------------------------------
// A step of D2Q9 lattice Boltzmann: densities are pulled from neighbours around the edges, and relaxed.
__constant__ int dx[9] = {0, 1, 0, -1, 0, 1, -1, -1, 1}, dy[9] = {0, 0, 1, 0, -1, 1, 1, -1, -1};
__constant__ float weight[9] = {4.f / 9, 1.f / 9, 1.f / 9, 1.f / 9, 1.f / 9, 1.f / 36, 1.f / 36, 1.f / 36, 1.f / 36};

extern "C" __global__ void __launch_bounds__(128) lbm_d2q9(const float *in, float *out, int nx, int ny, float omega) {
    const int x = blockIdx.x * 128 + threadIdx.x, y = blockIdx.y;
    const size_t plane = (size_t)nx * ny;
    float f[9], rho = 0, ux = 0, uy = 0;
#pragma unroll
    for (int i = 0; i < 9; i++) {
        const int from_x = (x - dx[i] + nx) % nx, from_y = (y - dy[i] + ny) % ny;
        f[i] = fabsf(in[i * plane + (size_t)from_y * nx + from_x]) + 0.1f;
        rho += f[i];
        ux += f[i] * dx[i];
        uy += f[i] * dy[i];
    }
    ux /= rho, uy /= rho;
    const float square = 1.5f * (ux * ux + uy * uy);
#pragma unroll
    for (int i = 0; i < 9; i++) {
        const float along = 3.0f * (dx[i] * ux + dy[i] * uy);
        const float rest = weight[i] * rho * (1.0f + along + 0.5f * along * along - square);
        out[i * plane + (size_t)y * nx + x] = f[i] + omega * (rest - f[i]);
    }
}
