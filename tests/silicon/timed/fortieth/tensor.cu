// Tensor cores by mma.sync and WMMA: four stages of bfloat16, bytes with scales, attention of heads of 128, a weight's gradient, steps of small matrices.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <mma.h>
#include <stdint.h>

namespace ptx {
__device__ __forceinline__ uint32_t addr(const void* p) { return static_cast<uint32_t>(__cvta_generic_to_shared(p)); }
__device__ __forceinline__ void cp_async(void* dst, const void* src) {
  asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16;" ::"r"(addr(dst)), "l"(src) : "memory");
}
__device__ __forceinline__ void commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int N>
__device__ __forceinline__ void wait() { asm volatile("cp.async.wait_group %0;" ::"n"(N) : "memory"); }
__device__ __forceinline__ void ldsm4(uint32_t* r, const void* p) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];" : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(addr(p)) : "memory");
}
__device__ __forceinline__ void ldsm4t(uint32_t* r, const void* p) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];" : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(addr(p)) : "memory");
}
__device__ __forceinline__ void mma_bf16(float* d, const uint32_t* a, const uint32_t* b) {
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
__device__ __forceinline__ void mma_f16(float* d, const uint32_t* a, const uint32_t* b) {
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
__device__ __forceinline__ void mma_s8(int* d, const uint32_t* a, const uint32_t* b) {
  asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
               : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
}  // namespace ptx

extern __shared__ __align__(128) unsigned char smem[];

// Where a chunk of 16 bytes lies in a tile whose rows have four (64 bytes).
struct Plain64 {
  static constexpr int kRow = 64;
  static __device__ int at(int row, int chunk) { return row * 64 + chunk * 16; }
};
struct Padded64 {
  static constexpr int kRow = 80;
  static __device__ int at(int row, int chunk) { return row * 80 + chunk * 16; }
};
struct Swizzled64 {
  static constexpr int kRow = 64;
  static __device__ int at(int row, int chunk) { return row * 64 + ((chunk ^ (row >> 1)) & 3) * 16; }
};

// ------------------------------------------------------------------------------------------------
// C = A * B^T of bfloat16: 128 x 256 x 32 a block, eight warps of 64 x 64, four stages of cp.async.
template <class Tile>
__device__ __forceinline__ void bf16_gemm(const __nv_bfloat16* A, const __nv_bfloat16* B, __nv_bfloat16* C, int N, int K) {
  constexpr int kStages = 4, kA = 128 * Tile::kRow, kStage = kA + 256 * Tile::kRow;
  const int tid = threadIdx.x, lane = tid % 32, warp = tid / 32, wm = warp / 4 * 64, wn = warp % 4 * 64;
  A += (size_t)blockIdx.y * 128 * K;
  B += (size_t)blockIdx.x * 256 * K;
  auto load = [&](int step) {
    unsigned char* s = smem + step % kStages * kStage;
    const int row = tid / 4, chunk = tid % 4, k = step * 32 + chunk * 8;
#pragma unroll
    for (int i = 0; i < 2; ++i) ptx::cp_async(s + Tile::at(row + i * 64, chunk), A + (size_t)(row + i * 64) * K + k);
#pragma unroll
    for (int i = 0; i < 4; ++i) ptx::cp_async(s + kA + Tile::at(row + i * 64, chunk), B + (size_t)(row + i * 64) * K + k);
  };
  const int steps = K / 32;
#pragma unroll
  for (int i = 0; i < kStages - 1; ++i) {
    load(i);
    ptx::commit();
  }
  float acc[4][8][4] = {};
  for (int step = 0; step < steps; ++step) {
    ptx::wait<kStages - 2>();
    __syncthreads();
    if (step + kStages - 1 < steps) load(step + kStages - 1);
    ptx::commit();
    const unsigned char* s = smem + step % kStages * kStage;
#pragma unroll
    for (int kk = 0; kk < 2; ++kk) {
      uint32_t a[4][4], b[4][4];
#pragma unroll
      for (int i = 0; i < 4; ++i) ptx::ldsm4(a[i], s + Tile::at(wm + i * 16 + lane % 16, kk * 2 + lane / 16));
#pragma unroll
      for (int j = 0; j < 4; ++j) ptx::ldsm4(b[j], s + kA + Tile::at(wn + j * 16 + lane / 16 * 8 + lane % 8, kk * 2 + lane / 8 % 2));
#pragma unroll
      for (int i = 0; i < 4; ++i)
#pragma unroll
        for (int j = 0; j < 8; ++j) ptx::mma_bf16(acc[i][j], a[i], &b[j / 2][j % 2 * 2]);
    }
  }
#pragma unroll
  for (int i = 0; i < 4; ++i)
#pragma unroll
    for (int j = 0; j < 8; ++j) {
      __nv_bfloat16* c = C + (size_t)(blockIdx.y * 128 + wm + i * 16 + lane / 4) * N + blockIdx.x * 256 + wn + j * 8 + lane % 4 * 2;
      *(__nv_bfloat162*)c = __floats2bfloat162_rn(acc[i][j][0], acc[i][j][1]);
      *(__nv_bfloat162*)(c + 8 * (size_t)N) = __floats2bfloat162_rn(acc[i][j][2], acc[i][j][3]);
    }
}
#define BF16(name, tile)                                                                     \
  extern "C" __global__ void __launch_bounds__(256)                                          \
      name(const __nv_bfloat16* A, const __nv_bfloat16* B, __nv_bfloat16* C, int N, int K) { \
    bf16_gemm<tile>(A, B, C, N, K);                                                          \
  }
BF16(bf16_gemm_plain, Plain64)
BF16(bf16_gemm_padded, Padded64)
BF16(bf16_gemm_swizzled, Swizzled64)

// ------------------------------------------------------------------------------------------------
// Bytes (SmoothQuant's layer): C = A * B^T / 127^2 by scales of rows and of columns, 128 x 128 x 64 a block, eight warps of 64 x 32, three stages.
template <class Tile>
__device__ __forceinline__ void w8a8_linear(const int8_t* A, const int8_t* B, const float* row_scale, const float* col_scale, half* C, int N, int K) {
  constexpr int kStages = 3, kA = 128 * Tile::kRow, kStage = 2 * kA;
  const int tid = threadIdx.x, lane = tid % 32, warp = tid / 32, wm = warp / 4 * 64, wn = warp % 4 * 32;
  const int m0 = blockIdx.y * 128, n0 = blockIdx.x * 128;
  auto load = [&](int step) {
    unsigned char* s = smem + step % kStages * kStage;
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const int row = tid / 4 + i * 64, chunk = tid % 4, k = step * 64 + chunk * 16;
      ptx::cp_async(s + Tile::at(row, chunk), A + (size_t)(m0 + row) * K + k);
      ptx::cp_async(s + kA + Tile::at(row, chunk), B + (size_t)(n0 + row) * K + k);
    }
    ptx::commit();
  };
  const int steps = K / 64;
  load(0);
  load(1);
  int acc[4][4][4] = {};
  for (int step = 0; step < steps; ++step) {
    ptx::wait<1>();
    __syncthreads();
    if (step + 2 < steps)
      load(step + 2);
    else
      ptx::commit();
    const unsigned char* s = smem + step % kStages * kStage;
#pragma unroll
    for (int kk = 0; kk < 2; ++kk) {
      uint32_t a[4][4], b[2][4];
#pragma unroll
      for (int i = 0; i < 4; ++i) ptx::ldsm4(a[i], s + Tile::at(wm + i * 16 + lane % 16, kk * 2 + lane / 16));
#pragma unroll
      for (int j = 0; j < 2; ++j) ptx::ldsm4(b[j], s + kA + Tile::at(wn + j * 16 + lane / 16 * 8 + lane % 8, kk * 2 + lane / 8 % 2));
#pragma unroll
      for (int i = 0; i < 4; ++i)
#pragma unroll
        for (int j = 0; j < 4; ++j) ptx::mma_s8(acc[i][j], a[i], &b[j / 2][j % 2 * 2]);
    }
  }
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const int row = m0 + wm + i * 16 + lane / 4;
    const float top = row_scale[row] / 127.f, low = row_scale[row + 8] / 127.f;
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      const int col = n0 + wn + j * 8 + lane % 4 * 2;
      const float left = col_scale[col] / 127.f, right = col_scale[col + 1] / 127.f;
      *(half2*)&C[(size_t)row * N + col] = __floats2half2_rn(acc[i][j][0] * top * left, acc[i][j][1] * top * right);
      *(half2*)&C[(size_t)(row + 8) * N + col] = __floats2half2_rn(acc[i][j][2] * low * left, acc[i][j][3] * low * right);
    }
  }
}
extern "C" __global__ void __launch_bounds__(256)
    w8a8_plain(const int8_t* A, const int8_t* B, const float* rs, const float* cs, half* C, int N, int K) { w8a8_linear<Plain64>(A, B, rs, cs, C, N, K); }
extern "C" __global__ void __launch_bounds__(256)
    w8a8_swizzled(const int8_t* A, const int8_t* B, const float* rs, const float* cs, half* C, int N, int K) { w8a8_linear<Swizzled64>(A, B, rs, cs, C, N, K); }

// ------------------------------------------------------------------------------------------------
// Causal attention, heads of 128 bfloat16: 64 queries a block of four warps, whose fragments stay in registers; 64 keys and values at a time.
template <bool kSwizzle>
__device__ __forceinline__ void attend_128(const __nv_bfloat16* Q, const __nv_bfloat16* K, const __nv_bfloat16* V, __nv_bfloat16* O, int seq, float scale_log2) {
  constexpr int D = 128;
  auto at = [](int row, int chunk) { return row * 256 + (kSwizzle ? chunk ^ (row & 7) : chunk) * 16; };
  unsigned char *sK = smem, *sV = smem + 64 * 256;
  const int tid = threadIdx.x, lane = tid % 32, warp = tid / 32;
  const int tile = gridDim.x - 1 - blockIdx.x;  // the long rows first
  const size_t head = (size_t)blockIdx.y * seq * D;
  auto load = [&](unsigned char* to, const __nv_bfloat16* from, int first) {
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      const int row = tid / 16 + i * 8, chunk = tid % 16;
      ptx::cp_async(to + at(row, chunk), from + head + (size_t)(first + row) * D + chunk * 8);
    }
    ptx::commit();
  };
  load(sK, Q, tile * 64);
  ptx::wait<0>();
  __syncthreads();
  uint32_t q[8][4];
#pragma unroll
  for (int i = 0; i < 8; ++i) ptx::ldsm4(q[i], sK + at(warp * 16 + lane % 16, i * 2 + lane / 16));
  __syncthreads();
  load(sK, K, 0);

  float o[16][4] = {}, top[2] = {-INFINITY, -INFINITY}, sum[2] = {0.f, 0.f};
  for (int step = 0; step <= tile; ++step) {
    load(sV, V, step * 64);
    ptx::wait<1>();
    __syncthreads();
    float s[8][4] = {};
#pragma unroll
    for (int i = 0; i < 8; ++i)
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        uint32_t b[4];
        ptx::ldsm4(b, sK + at(j * 16 + lane / 16 * 8 + lane % 8, i * 2 + lane / 8 % 2));
        ptx::mma_bf16(s[2 * j], q[i], b);
        ptx::mma_bf16(s[2 * j + 1], q[i], b + 2);
      }
    __syncthreads();
    if (step < tile)
      load(sK, K, (step + 1) * 64);
    else
      ptx::commit();
    float most[2] = {top[0], top[1]};
#pragma unroll
    for (int j = 0; j < 8; ++j)
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        if (step == tile && j * 8 + lane % 4 * 2 + e % 2 > warp * 16 + lane / 4 + e / 2 * 8) s[j][e] = -INFINITY;
        most[e / 2] = fmaxf(most[e / 2], s[j][e]);
      }
    float fade[2];
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      most[r] = fmaxf(most[r], __shfl_xor_sync(~0u, most[r], 1));
      most[r] = fmaxf(most[r], __shfl_xor_sync(~0u, most[r], 2));
      fade[r] = exp2f((top[r] - most[r]) * scale_log2);
      top[r] = most[r];
      sum[r] *= fade[r];
    }
    uint32_t p[4][4];
#pragma unroll
    for (int j = 0; j < 8; ++j) {
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        s[j][e] = exp2f((s[j][e] - top[e / 2]) * scale_log2);
        sum[e / 2] += s[j][e];
      }
      __nv_bfloat162 above = __floats2bfloat162_rn(s[j][0], s[j][1]), below = __floats2bfloat162_rn(s[j][2], s[j][3]);
      p[j / 2][j % 2 * 2] = *(uint32_t*)&above;
      p[j / 2][j % 2 * 2 + 1] = *(uint32_t*)&below;
    }
#pragma unroll
    for (int j = 0; j < 16; ++j)
#pragma unroll
      for (int e = 0; e < 4; ++e) o[j][e] *= fade[e / 2];
    ptx::wait<1>();
    __syncthreads();
#pragma unroll
    for (int i = 0; i < 4; ++i)
#pragma unroll
      for (int j = 0; j < 8; ++j) {
        uint32_t b[4];
        ptx::ldsm4t(b, sV + at(i * 16 + lane % 16, j * 2 + lane / 16));
        ptx::mma_bf16(o[2 * j], p[i], b);
        ptx::mma_bf16(o[2 * j + 1], p[i], b + 2);
      }
    __syncthreads();
  }
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    sum[r] += __shfl_xor_sync(~0u, sum[r], 1);
    sum[r] += __shfl_xor_sync(~0u, sum[r], 2);
    const float over = 1.f / sum[r];
    __nv_bfloat16* out = O + head + (size_t)(tile * 64 + warp * 16 + lane / 4 + r * 8) * D + lane % 4 * 2;
#pragma unroll
    for (int j = 0; j < 16; ++j) *(__nv_bfloat162*)(out + j * 8) = __floats2bfloat162_rn(o[j][r * 2] * over, o[j][r * 2 + 1] * over);
  }
}
extern "C" __global__ void __launch_bounds__(128)
    attend_128_plain(const __nv_bfloat16* Q, const __nv_bfloat16* K, const __nv_bfloat16* V, __nv_bfloat16* O, int seq, float scale) { attend_128<false>(Q, K, V, O, seq, scale); }
extern "C" __global__ void __launch_bounds__(128)
    attend_128_swizzled(const __nv_bfloat16* Q, const __nv_bfloat16* K, const __nv_bfloat16* V, __nv_bfloat16* O, int seq, float scale) { attend_128<true>(Q, K, V, O, seq, scale); }

// ------------------------------------------------------------------------------------------------
// A weight's gradient, dW = X^T * dY over tokens: both come by the depth and are turned by ldmatrix. 64 x 64 x 64, four warps, two stages.
template <int LD>
__device__ __forceinline__ void grad_weight(const half* X, const half* dY, float* dW, int M, int N, int tokens) {
  __shared__ __align__(16) half sX[2][64 * LD], sY[2][64 * LD];
  const int tid = threadIdx.x, lane = tid % 32, wm = tid / 64 * 32, wn = tid / 32 % 2 * 32;
  X += blockIdx.y * 64;
  dY += blockIdx.x * 64;
  auto load = [&](int step) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int row = tid / 8 + i * 16, col = tid % 8 * 8;
      ptx::cp_async(&sX[step % 2][row * LD + col], X + (size_t)(step * 64 + row) * M + col);
      ptx::cp_async(&sY[step % 2][row * LD + col], dY + (size_t)(step * 64 + row) * N + col);
    }
    ptx::commit();
  };
  float acc[2][4][4] = {};
  load(0);
  for (int step = 0; step < tokens / 64; ++step) {
    if (step + 1 < tokens / 64) {
      load(step + 1);
      ptx::wait<1>();
    } else {
      ptx::wait<0>();
    }
    __syncthreads();
    const half *x = sX[step % 2], *y = sY[step % 2];
#pragma unroll
    for (int kk = 0; kk < 64; kk += 16) {
      uint32_t a[2][4], b[2][4];
#pragma unroll
      for (int i = 0; i < 2; ++i) ptx::ldsm4t(a[i], x + (kk + lane / 16 * 8 + lane % 8) * LD + wm + i * 16 + lane / 8 % 2 * 8);
#pragma unroll
      for (int j = 0; j < 2; ++j) ptx::ldsm4t(b[j], y + (kk + lane % 16) * LD + wn + j * 16 + lane / 16 * 8);
#pragma unroll
      for (int i = 0; i < 2; ++i)
#pragma unroll
        for (int j = 0; j < 4; ++j) ptx::mma_f16(acc[i][j], a[i], &b[j / 2][j % 2 * 2]);
    }
    __syncthreads();
  }
#pragma unroll
  for (int i = 0; i < 2; ++i)
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      float* out = dW + (size_t)(blockIdx.y * 64 + wm + i * 16 + lane / 4) * N + blockIdx.x * 64 + wn + j * 8 + lane % 4 * 2;
      *(float2*)out = make_float2(acc[i][j][0], acc[i][j][1]);
      *(float2*)(out + 8 * (size_t)N) = make_float2(acc[i][j][2], acc[i][j][3]);
    }
}
extern "C" __global__ void __launch_bounds__(128) grad_weight_plain(const half* X, const half* dY, float* dW, int M, int N, int tokens) { grad_weight<64>(X, dY, dW, M, N, tokens); }
extern "C" __global__ void __launch_bounds__(128) grad_weight_padded(const half* X, const half* dY, float* dW, int M, int N, int tokens) { grad_weight<72>(X, dY, dW, M, N, tokens); }

// ------------------------------------------------------------------------------------------------
// Steps of a linear system by WMMA: each block has matrices X and T of 64 x 64 halves, and takes X <- X * T / 8 so many times.
template <int LD>
__device__ __forceinline__ void matrix_steps(const half* X, const half* T, half* out, int steps) {
  using namespace nvcuda;
  __shared__ __align__(32) half x[64 * LD], t[64 * LD];
  const size_t base = (size_t)blockIdx.x * 4096;
  for (int i = threadIdx.x; i < 512; i += 128) {
    *(uint4*)&x[i / 8 * LD + i % 8 * 8] = *(const uint4*)&X[base + i * 8];
    *(uint4*)&t[i / 8 * LD + i % 8 * 8] = *(const uint4*)&T[base + i * 8];
  }
  __syncthreads();
  half* mine = x + threadIdx.x / 32 * 16 * LD;  // a warp's rows are its own
  for (int step = 0; step < steps; step++) {
    wmma::fragment<wmma::accumulator, 16, 16, 16, half> acc[4];
    for (int j = 0; j < 4; j++) wmma::fill_fragment(acc[j], __float2half(0.f));
#pragma unroll
    for (int k = 0; k < 4; k++) {
      wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> a;
      wmma::load_matrix_sync(a, mine + k * 16, LD);
#pragma unroll
      for (int j = 0; j < 4; j++) {
        wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> b;
        wmma::load_matrix_sync(b, t + k * 16 * LD + j * 16, LD);
        wmma::mma_sync(acc[j], a, b, acc[j]);
      }
    }
    for (int j = 0; j < 4; j++) {
      for (int e = 0; e < acc[j].num_elements; e++) acc[j].x[e] = __hmul(acc[j].x[e], __float2half(0.125f));
      wmma::store_matrix_sync(mine + j * 16, acc[j], LD, wmma::mem_row_major);
    }
    __syncwarp();
  }
  __syncthreads();
  for (int i = threadIdx.x; i < 512; i += 128) *(uint4*)&out[base + i * 8] = *(uint4*)&x[i / 8 * LD + i % 8 * 8];
}
extern "C" __global__ void __launch_bounds__(128) matrix_steps_plain(const half* X, const half* T, half* out, int steps) { matrix_steps<64>(X, T, out, steps); }
extern "C" __global__ void __launch_bounds__(128) matrix_steps_padded(const half* X, const half* T, half* out, int steps) { matrix_steps<72>(X, T, out, steps); }
