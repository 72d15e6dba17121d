// Tensor cores by mma.sync and WMMA: scaled eights, bytes without ldmatrix, a product by rows, attention with capped scores, a layer of tfloats.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <mma.h>
#include <stdint.h>

__device__ __forceinline__ uint32_t addr(const void* p) { return static_cast<uint32_t>(__cvta_generic_to_shared(p)); }
__device__ __forceinline__ void cp_async(void* dst, const void* src) { asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(addr(dst)), "l"(src) : "memory"); }
__device__ __forceinline__ void commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int N>
__device__ __forceinline__ void wait() { asm volatile("cp.async.wait_group %0;" ::"n"(N) : "memory"); }
__device__ __forceinline__ void ldsm4(uint32_t* r, const void* p) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];" : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(addr(p)) : "memory");
}
__device__ __forceinline__ void ldsm4t(uint32_t* r, const void* p) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];" : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(addr(p)) : "memory");
}
#define MMA(name, shape, types, bound, kind)                                                                                          \
  __device__ __forceinline__ void name(kind* d, const uint32_t* a, const uint32_t* b) {                                               \
    asm volatile("mma.sync.aligned." shape ".row.col." types " {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"                   \
                 : bound(d[0]), bound(d[1]), bound(d[2]), bound(d[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1])); \
  }
MMA(mma_e4m3, "m16n8k32", "f32.e4m3.e4m3.f32", "+f", float)
MMA(mma_s8, "m16n8k32", "s32.s8.s8.s32", "+r", int)
MMA(mma_bf16, "m16n8k16", "f32.bf16.bf16.f32", "+f", float)

extern __shared__ __align__(128) unsigned char smem[];

// Rows of 64 bytes, four chunks of 16 each.
template <bool kSwizzle>
__device__ __forceinline__ int at64(int row, int chunk) { return row * 64 + (kSwizzle ? (chunk ^ (row >> 1)) & 3 : chunk) * 16; }

// ------------------------------------------------------------------------------------------------
// C = A * B^T of e4m3: 64 x 128 x 64 a block, eight warps of 32 x 32, three stages. A scale for each 128 of a row's depth, and for each 128 x 128 of B.
template <bool kSwizzle>
__device__ __forceinline__ void scaled_eights(const uint8_t* A, const uint8_t* B, const float* a_scale, const float* b_scale, __nv_bfloat16* C, int N, int K) {
  constexpr int kA = 64 * 64, kStage = kA + 128 * 64;
  const int tid = threadIdx.x, lane = tid % 32, warp = tid / 32, wm = warp / 4 * 32, wn = warp % 4 * 32, steps = K / 64;
  const int m0 = blockIdx.y * 64, n0 = blockIdx.x * 128, row = tid / 4, chunk = tid % 4;
  auto load = [&](int step) {
    unsigned char* s = smem + step % 3 * kStage;
    const int k = step * 64 + chunk * 16;
    cp_async(s + at64<kSwizzle>(row, chunk), A + (size_t)(m0 + row) * K + k);
    cp_async(s + kA + at64<kSwizzle>(row, chunk), B + (size_t)(n0 + row) * K + k);
    cp_async(s + kA + at64<kSwizzle>(row + 64, chunk), B + (size_t)(n0 + row + 64) * K + k);
  };
  load(0);
  commit();
  load(1);
  commit();
  float total[2][4][4] = {}, acc[2][4][4] = {};
  for (int step = 0; step < steps; ++step) {
    wait<1>();
    __syncthreads();
    if (step + 2 < steps) load(step + 2);
    commit();
    const unsigned char* s = smem + step % 3 * kStage;
#pragma unroll
    for (int kk = 0; kk < 2; ++kk) {
      uint32_t a[2][4], b[2][4];
#pragma unroll
      for (int i = 0; i < 2; ++i) ldsm4(a[i], s + at64<kSwizzle>(wm + i * 16 + lane % 16, kk * 2 + lane / 16));
#pragma unroll
      for (int j = 0; j < 2; ++j) ldsm4(b[j], s + kA + at64<kSwizzle>(wn + j * 16 + lane / 16 * 8 + lane % 8, kk * 2 + lane / 8 % 2));
#pragma unroll
      for (int i = 0; i < 2; ++i)
#pragma unroll
        for (int j = 0; j < 4; ++j) mma_e4m3(acc[i][j], a[i], &b[j / 2][j % 2 * 2]);
    }
    if (step % 2) {
      const float right = b_scale[blockIdx.x * (K / 128) + step / 2];
#pragma unroll
      for (int i = 0; i < 2; ++i)
#pragma unroll
        for (int half_of = 0; half_of < 2; ++half_of) {
          const float both = right * a_scale[(size_t)(m0 + wm + i * 16 + half_of * 8 + lane / 4) * (K / 128) + step / 2];
#pragma unroll
          for (int j = 0; j < 4; ++j)
#pragma unroll
            for (int e = half_of * 2; e < half_of * 2 + 2; ++e) {
              total[i][j][e] += both * acc[i][j][e];
              acc[i][j][e] = 0.f;
            }
        }
    }
  }
#pragma unroll
  for (int i = 0; i < 2; ++i)
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      __nv_bfloat16* c = C + (size_t)(m0 + wm + i * 16 + lane / 4) * N + n0 + wn + j * 8 + lane % 4 * 2;
      *(__nv_bfloat162*)c = __floats2bfloat162_rn(total[i][j][0], total[i][j][1]);
      *(__nv_bfloat162*)(c + 8 * (size_t)N) = __floats2bfloat162_rn(total[i][j][2], total[i][j][3]);
    }
}
#define EIGHTS(name, how)                                                                                                              \
  extern "C" __global__ void __launch_bounds__(256)                                                                                    \
      name(const uint8_t* A, const uint8_t* B, const float* as, const float* bs, __nv_bfloat16* C, int N, int K) { scaled_eights<how>(A, B, as, bs, C, N, K); }
EIGHTS(scaled_eights_plain, false)
EIGHTS(scaled_eights_swizzled, true)

// ------------------------------------------------------------------------------------------------
// C = A * B^T of bytes, whose fragments are read as words: 64 x 64 x 64 a block, four warps of 32 x 32, the next tiles wait in registers.
template <int LD>
__device__ __forceinline__ void bytes_by_words(const int8_t* A, const int8_t* B, int* C, int N, int K) {
  __shared__ __align__(16) int8_t sA[64 * LD], sB[64 * LD];
  const int tid = threadIdx.x, lane = tid % 32, wm = tid / 64 * 32, wn = tid / 32 % 2 * 32, row = tid / 4, col = tid % 4 * 16;
  A += (size_t)(blockIdx.y * 64 + row) * K + col;
  B += (size_t)(blockIdx.x * 64 + row) * K + col;
  uint4 a_next[2], b_next[2];
  auto load = [&](int k) {
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      a_next[i] = *(const uint4*)(A + (size_t)i * 32 * K + k);
      b_next[i] = *(const uint4*)(B + (size_t)i * 32 * K + k);
    }
  };
  load(0);
  int acc[2][4][4] = {};
  for (int k = 0; k < K; k += 64) {
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      *(uint4*)&sA[(row + i * 32) * LD + col] = a_next[i];
      *(uint4*)&sB[(row + i * 32) * LD + col] = b_next[i];
    }
    __syncthreads();
    if (k + 64 < K) load(k + 64);
#pragma unroll
    for (int kk = 0; kk < 64; kk += 32) {
      uint32_t a[2][4], b[4][2];
#pragma unroll
      for (int i = 0; i < 2; ++i)
#pragma unroll
        for (int e = 0; e < 4; ++e) a[i][e] = *(const uint32_t*)&sA[(wm + i * 16 + e % 2 * 8 + lane / 4) * LD + kk + e / 2 * 16 + lane % 4 * 4];
#pragma unroll
      for (int j = 0; j < 4; ++j)
#pragma unroll
        for (int e = 0; e < 2; ++e) b[j][e] = *(const uint32_t*)&sB[(wn + j * 8 + lane / 4) * LD + kk + e * 16 + lane % 4 * 4];
#pragma unroll
      for (int i = 0; i < 2; ++i)
#pragma unroll
        for (int j = 0; j < 4; ++j) mma_s8(acc[i][j], a[i], b[j]);
    }
    __syncthreads();
  }
#pragma unroll
  for (int i = 0; i < 2; ++i)
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      int* c = C + (size_t)(blockIdx.y * 64 + wm + i * 16 + lane / 4) * N + blockIdx.x * 64 + wn + j * 8 + lane % 4 * 2;
      *(int2*)c = make_int2(acc[i][j][0], acc[i][j][1]);
      *(int2*)(c + 8 * (size_t)N) = make_int2(acc[i][j][2], acc[i][j][3]);
    }
}
extern "C" __global__ void __launch_bounds__(128) bytes_by_words_plain(const int8_t* A, const int8_t* B, int* C, int N, int K) { bytes_by_words<64>(A, B, C, N, K); }
extern "C" __global__ void __launch_bounds__(128) bytes_by_words_padded(const int8_t* A, const int8_t* B, int* C, int N, int K) { bytes_by_words<80>(A, B, C, N, K); }

// ------------------------------------------------------------------------------------------------
// C = A * B of bfloat16, B by rows as Python keeps it: 128 x 128 x 32 a block, eight warps of 64 x 32, three stages; ldmatrix turns B.
template <bool kSwizzle>
__device__ __forceinline__ void nn_gemm(const __nv_bfloat16* A, const __nv_bfloat16* B, __nv_bfloat16* C, int N, int K) {
  constexpr int kA = 128 * 64, kStage = kA + 32 * 256;
  auto at256 = [](int row, int chunk) { return row * 256 + (kSwizzle ? chunk ^ (row & 7) : chunk) * 16; };
  const int tid = threadIdx.x, lane = tid % 32, warp = tid / 32, wm = warp / 4 * 64, wn = warp % 4 * 32, steps = K / 32;
  A += (size_t)blockIdx.y * 128 * K;
  B += blockIdx.x * 128;
  auto load = [&](int step) {
    unsigned char* s = smem + step % 3 * kStage;
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const int row = tid / 4 + i * 64, depth = tid / 16 + i * 16;
      cp_async(s + at64<true>(row, tid % 4), A + (size_t)row * K + step * 32 + tid % 4 * 8);
      cp_async(s + kA + at256(depth, tid % 16), B + (size_t)(step * 32 + depth) * N + tid % 16 * 8);
    }
  };
  load(0);
  commit();
  load(1);
  commit();
  float acc[4][4][4] = {};
  for (int step = 0; step < steps; ++step) {
    wait<1>();
    __syncthreads();
    if (step + 2 < steps) load(step + 2);
    commit();
    const unsigned char* s = smem + step % 3 * kStage;
#pragma unroll
    for (int kk = 0; kk < 2; ++kk) {
      uint32_t a[4][4], b[2][4];
#pragma unroll
      for (int i = 0; i < 4; ++i) ldsm4(a[i], s + at64<true>(wm + i * 16 + lane % 16, kk * 2 + lane / 16));
#pragma unroll
      for (int j = 0; j < 2; ++j) ldsm4t(b[j], s + kA + at256(kk * 16 + lane % 16, wn / 8 + j * 2 + lane / 16));
#pragma unroll
      for (int i = 0; i < 4; ++i)
#pragma unroll
        for (int j = 0; j < 4; ++j) mma_bf16(acc[i][j], a[i], &b[j / 2][j % 2 * 2]);
    }
  }
#pragma unroll
  for (int i = 0; i < 4; ++i)
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      __nv_bfloat16* c = C + (size_t)(blockIdx.y * 128 + wm + i * 16 + lane / 4) * N + blockIdx.x * 128 + wn + j * 8 + lane % 4 * 2;
      *(__nv_bfloat162*)c = __floats2bfloat162_rn(acc[i][j][0], acc[i][j][1]);
      *(__nv_bfloat162*)(c + 8 * (size_t)N) = __floats2bfloat162_rn(acc[i][j][2], acc[i][j][3]);
    }
}
extern "C" __global__ void __launch_bounds__(256) nn_gemm_plain(const __nv_bfloat16* A, const __nv_bfloat16* B, __nv_bfloat16* C, int N, int K) { nn_gemm<false>(A, B, C, N, K); }
extern "C" __global__ void __launch_bounds__(256) nn_gemm_swizzled(const __nv_bfloat16* A, const __nv_bfloat16* B, __nv_bfloat16* C, int N, int K) { nn_gemm<true>(A, B, C, N, K); }

// ------------------------------------------------------------------------------------------------
// Attention with scores capped by tanh (Gemma's), heads of 64, four heads of queries to one of keys: 64 queries a block, 64 keys at a time, two buffers.
template <int LD>
__device__ __forceinline__ void softcap(const __nv_bfloat16* Q, const __nv_bfloat16* K, const __nv_bfloat16* V, __nv_bfloat16* O, int seq, float scale, float cap) {
  __shared__ __align__(16) __nv_bfloat16 sK[2][64 * LD], sV[2][64 * LD];
  const int tid = threadIdx.x, lane = tid % 32, warp = tid / 32;
  const size_t head = ((size_t)blockIdx.y * seq + blockIdx.x * 64) * 64;
  K += (size_t)(blockIdx.y / 4) * seq * 64;
  V += (size_t)(blockIdx.y / 4) * seq * 64;
  auto load = [&](__nv_bfloat16* to, const __nv_bfloat16* from) {
#pragma unroll
    for (int i = 0; i < 4; ++i) cp_async(to + (tid / 8 + i * 16) * LD + tid % 8 * 8, from + (tid / 8 + i * 16) * 64 + tid % 8 * 8);
  };
  load(sV[1], Q + head);
  load(sK[0], K);
  load(sV[0], V);
  commit();
  wait<0>();
  __syncthreads();
  uint32_t q[4][4];
#pragma unroll
  for (int i = 0; i < 4; ++i) ldsm4(q[i], &sV[1][(warp * 16 + lane % 16) * LD + i * 16 + lane / 16 * 8]);
  float o[8][4] = {}, top[2] = {-INFINITY, -INFINITY}, sum[2] = {};
  for (int step = 0; step < seq / 64; ++step) {
    wait<0>();
    __syncthreads();
    if (step + 1 < seq / 64) {
      load(sK[(step + 1) % 2], K + (size_t)(step + 1) * 64 * 64);
      load(sV[(step + 1) % 2], V + (size_t)(step + 1) * 64 * 64);
      commit();
    }
    float s[8][4] = {}, most[2] = {top[0], top[1]}, fade[2];
#pragma unroll
    for (int i = 0; i < 4; ++i)
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        uint32_t b[4];
        ldsm4(b, &sK[step % 2][(j * 16 + lane / 16 * 8 + lane % 8) * LD + i * 16 + lane / 8 % 2 * 8]);
        mma_bf16(s[2 * j], q[i], b);
        mma_bf16(s[2 * j + 1], q[i], b + 2);
      }
#pragma unroll
    for (int j = 0; j < 8; ++j)
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        float turned;
        asm("tanh.approx.f32 %0, %1;" : "=f"(turned) : "f"(s[j][e] * scale));
        s[j][e] = cap * turned;
        most[e / 2] = fmaxf(most[e / 2], s[j][e]);
      }
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      most[r] = fmaxf(most[r], __shfl_xor_sync(~0u, most[r], 1));
      most[r] = fmaxf(most[r], __shfl_xor_sync(~0u, most[r], 2));
      fade[r] = exp2f(top[r] - most[r]);
      top[r] = most[r];
      sum[r] *= fade[r];
    }
    uint32_t p[4][4];
#pragma unroll
    for (int j = 0; j < 8; ++j) {
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        s[j][e] = exp2f(s[j][e] - top[e / 2]);
        sum[e / 2] += s[j][e];
        o[j][e] *= fade[e / 2];
      }
      __nv_bfloat162 above = __floats2bfloat162_rn(s[j][0], s[j][1]), below = __floats2bfloat162_rn(s[j][2], s[j][3]);
      p[j / 2][j % 2 * 2] = *(uint32_t*)&above;
      p[j / 2][j % 2 * 2 + 1] = *(uint32_t*)&below;
    }
#pragma unroll
    for (int i = 0; i < 4; ++i)
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        uint32_t b[4];
        ldsm4t(b, &sV[step % 2][(i * 16 + lane % 16) * LD + j * 16 + lane / 16 * 8]);
        mma_bf16(o[2 * j], p[i], b);
        mma_bf16(o[2 * j + 1], p[i], b + 2);
      }
  }
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    sum[r] += __shfl_xor_sync(~0u, sum[r], 1);
    sum[r] += __shfl_xor_sync(~0u, sum[r], 2);
    __nv_bfloat16* out = O + head + (warp * 16 + lane / 4 + r * 8) * 64 + lane % 4 * 2;
#pragma unroll
    for (int j = 0; j < 8; ++j) *(__nv_bfloat162*)(out + j * 8) = __floats2bfloat162_rn(o[j][r * 2] / sum[r], o[j][r * 2 + 1] / sum[r]);
  }
}
extern "C" __global__ void __launch_bounds__(128)
    softcap_plain(const __nv_bfloat16* Q, const __nv_bfloat16* K, const __nv_bfloat16* V, __nv_bfloat16* O, int seq, float scale, float cap) { softcap<64>(Q, K, V, O, seq, scale, cap); }
extern "C" __global__ void __launch_bounds__(128)
    softcap_padded(const __nv_bfloat16* Q, const __nv_bfloat16* K, const __nv_bfloat16* V, __nv_bfloat16* O, int seq, float scale, float cap) { softcap<72>(Q, K, V, O, seq, scale, cap); }

// ------------------------------------------------------------------------------------------------
// A layer of tfloats by WMMA, relu(X * W + bias): 64 x 64 x 32 a block, four warps of 32 x 32; the sums pass shared memory to meet their bias.
template <int PAD>
__device__ __forceinline__ void tfloat_layer(const float* X, const float* W, const float* bias, float* Y, int N, int K) {
  using namespace nvcuda;
  constexpr int LX = 32 + PAD, LW = 64 + PAD;
  __shared__ __align__(32) float sX[64 * LX], sW[32 * LW], sY[64 * LW];
  const int tid = threadIdx.x, wm = tid / 64 * 32, wn = tid / 32 % 2 * 32, n0 = blockIdx.x * 64;
  X += (size_t)blockIdx.y * 64 * K;
  wmma::fragment<wmma::accumulator, 16, 16, 8, float> acc[2][2];
  for (int i = 0; i < 4; ++i) wmma::fill_fragment(acc[i / 2][i % 2], 0.f);
  for (int k = 0; k < K; k += 32) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int row = tid / 8 + i * 16, depth = tid / 16 + i * 8;
      *(float4*)&sX[row * LX + tid % 8 * 4] = *(const float4*)&X[(size_t)row * K + k + tid % 8 * 4];
      *(float4*)&sW[depth * LW + tid % 16 * 4] = *(const float4*)&W[(size_t)(k + depth) * N + n0 + tid % 16 * 4];
    }
    __syncthreads();
#pragma unroll
    for (int kk = 0; kk < 32; kk += 8) {
      wmma::fragment<wmma::matrix_a, 16, 16, 8, wmma::precision::tf32, wmma::row_major> a[2];
      wmma::fragment<wmma::matrix_b, 16, 16, 8, wmma::precision::tf32, wmma::row_major> b[2];
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        wmma::load_matrix_sync(a[i], &sX[(wm + i * 16) * LX + kk], LX);
        wmma::load_matrix_sync(b[i], &sW[kk * LW + wn + i * 16], LW);
        for (int e = 0; e < a[i].num_elements; ++e) a[i].x[e] = wmma::__float_to_tf32(a[i].x[e]);
        for (int e = 0; e < b[i].num_elements; ++e) b[i].x[e] = wmma::__float_to_tf32(b[i].x[e]);
      }
#pragma unroll
      for (int i = 0; i < 4; ++i) wmma::mma_sync(acc[i / 2][i % 2], a[i / 2], b[i % 2], acc[i / 2][i % 2]);
    }
    __syncthreads();
  }
  for (int i = 0; i < 4; ++i) wmma::store_matrix_sync(&sY[(wm + i / 2 * 16) * LW + wn + i % 2 * 16], acc[i / 2][i % 2], LW, wmma::mem_row_major);
  __syncthreads();
  for (int i = tid; i < 64 * 64; i += 128) Y[(size_t)(blockIdx.y * 64 + i / 64) * N + n0 + i % 64] = fmaxf(sY[i / 64 * LW + i % 64] + bias[n0 + i % 64], 0.f);
}
extern "C" __global__ void __launch_bounds__(128) tfloat_layer_plain(const float* X, const float* W, const float* bias, float* Y, int N, int K) { tfloat_layer<0>(X, W, bias, Y, N, K); }
extern "C" __global__ void __launch_bounds__(128) tfloat_layer_padded(const float* X, const float* W, const float* bias, float* Y, int N, int K) { tfloat_layer<8>(X, W, bias, Y, N, K); }
