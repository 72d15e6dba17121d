// SGEMMs on CUDA cores, three ways of feeding them: registers ahead of two tiles, pairs of floats along the depth, three stages of cp.async.
#include <cuda_runtime.h>

// ------------------------------------------------------------------------------------------------
// C = A * B: 128 x 64 x 16 a block of 128 threads, 8 x 8 a thread. The next tile waits in registers; A is turned on its way.
template <int LDA>
__device__ __forceinline__ void sgemm_prefetch(const float* __restrict__ A, const float* __restrict__ B, float* __restrict__ C, int N, int K) {
  const int BM = 128, BN = 64, BK = 16;
  __shared__ __align__(16) float sA[2][BK][LDA];
  __shared__ __align__(16) float sB[2][BK][BN];
  const int t = threadIdx.x, tx = t % 8, ty = t / 8;
  const int arow = t / 4, acol = (t % 4) * 4, brow = t / 16, bcol = (t % 16) * 4;
  A += (size_t)blockIdx.y * BM * K;
  B += (size_t)blockIdx.x * BN;

  float4 ra[4], rb[2];
  auto fetch = [&](int k0) {
#pragma unroll
    for (int i = 0; i < 4; ++i) ra[i] = *(const float4*)&A[(size_t)(arow + 32 * i) * K + k0 + acol];
#pragma unroll
    for (int i = 0; i < 2; ++i) rb[i] = *(const float4*)&B[(size_t)(k0 + brow + 8 * i) * N + bcol];
  };
  auto stash = [&](int s) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      sA[s][acol + 0][arow + 32 * i] = ra[i].x;
      sA[s][acol + 1][arow + 32 * i] = ra[i].y;
      sA[s][acol + 2][arow + 32 * i] = ra[i].z;
      sA[s][acol + 3][arow + 32 * i] = ra[i].w;
    }
#pragma unroll
    for (int i = 0; i < 2; ++i) *(float4*)&sB[s][brow + 8 * i][bcol] = rb[i];
  };

  float c[8][8] = {};
  fetch(0);
  stash(0);
  __syncthreads();
  int s = 0;
  for (int k0 = BK; k0 <= K; k0 += BK) {
    if (k0 < K) fetch(k0);
#pragma unroll
    for (int k = 0; k < BK; ++k) {
      float a[8], b[8];
      *(float4*)&a[0] = *(float4*)&sA[s][k][ty * 8];
      *(float4*)&a[4] = *(float4*)&sA[s][k][ty * 8 + 4];
      *(float4*)&b[0] = *(float4*)&sB[s][k][tx * 4];
      *(float4*)&b[4] = *(float4*)&sB[s][k][tx * 4 + 32];
#pragma unroll
      for (int i = 0; i < 8; ++i)
#pragma unroll
        for (int j = 0; j < 8; ++j) c[i][j] = fmaf(a[i], b[j], c[i][j]);
    }
    if (k0 < K) {
      stash(s ^ 1);
      __syncthreads();
      s ^= 1;
    }
  }
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    float* row = &C[(size_t)(blockIdx.y * BM + ty * 8 + i) * N + blockIdx.x * BN];
    *(float4*)&row[tx * 4] = make_float4(c[i][0], c[i][1], c[i][2], c[i][3]);
    *(float4*)&row[tx * 4 + 32] = make_float4(c[i][4], c[i][5], c[i][6], c[i][7]);
  }
}
extern "C" __global__ void __launch_bounds__(128) sgemm_prefetch_plain(const float* A, const float* B, float* C, int N, int K) { sgemm_prefetch<128>(A, B, C, N, K); }
extern "C" __global__ void __launch_bounds__(128) sgemm_prefetch_padded(const float* A, const float* B, float* C, int N, int K) { sgemm_prefetch<132>(A, B, C, N, K); }

// ------------------------------------------------------------------------------------------------
// C = A * B^T (torch's linear layer): 64 x 64 x 32 a block of 16 x 16, 4 x 4 a thread, which reads two of the depth at once.
template <int LD>
__device__ __forceinline__ void sgemm_nt(const float* A, const float* B, float* C, int N, int K) {
  __shared__ float2 sA[64 * LD / 2], sB[64 * LD / 2];
  const int tx = threadIdx.x, ty = threadIdx.y;
  const float* a_block = A + (size_t)blockIdx.y * 64 * K;
  const float* b_block = B + (size_t)blockIdx.x * 64 * K;
  float acc[4][4] = {{0.f}};
  for (int k0 = 0; k0 < K; k0 += 32) {
    for (int i = 0; i < 4; i++) {
      int row = ty + 16 * i;
      sA[row * LD / 2 + tx] = *(const float2*)(a_block + (size_t)row * K + k0 + 2 * tx);
      sB[row * LD / 2 + tx] = *(const float2*)(b_block + (size_t)row * K + k0 + 2 * tx);
    }
    __syncthreads();
#pragma unroll 4
    for (int k = 0; k < 16; k++) {
      float2 a[4], b[4];
      for (int i = 0; i < 4; i++) a[i] = sA[(ty + 16 * i) * LD / 2 + k];
      for (int j = 0; j < 4; j++) b[j] = sB[(tx + 16 * j) * LD / 2 + k];
      for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++) acc[i][j] += a[i].x * b[j].x + a[i].y * b[j].y;
    }
    __syncthreads();
  }
  for (int i = 0; i < 4; i++)
    for (int j = 0; j < 4; j++) C[(size_t)(blockIdx.y * 64 + ty + 16 * i) * N + blockIdx.x * 64 + tx + 16 * j] = acc[i][j];
}
extern "C" __global__ void __launch_bounds__(256) sgemm_nt_plain(const float* A, const float* B, float* C, int N, int K) { sgemm_nt<32>(A, B, C, N, K); }
extern "C" __global__ void __launch_bounds__(256) sgemm_nt_padded(const float* A, const float* B, float* C, int N, int K) { sgemm_nt<34>(A, B, C, N, K); }

// ------------------------------------------------------------------------------------------------
// C = A * B: 64 x 128 x 16 a block of 4 warps, a warp 64 x 32, a thread 8 x 8. Three stages of cp.async; A stays as it comes, by rows.
__device__ __forceinline__ void cp16(void* to, const void* from) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 16;" ::"r"((unsigned)__cvta_generic_to_shared(to)), "l"(from));
}

template <int LDA>
__device__ __forceinline__ void sgemm_stages(const float* A, const float* B, float* C, int N, int K) {
  constexpr int STAGES = 3;
  __shared__ __align__(16) float as[STAGES][64 * LDA], bs[STAGES][16 * 128];
  const int tid = threadIdx.x, lane = tid & 31, warp = tid >> 5, ty = lane >> 2, tx = lane & 3;
  A += (size_t)blockIdx.y * 64 * K;
  B += blockIdx.x * 128;
  auto load = [&](int tile) {
    float *a = as[tile % STAGES], *b = bs[tile % STAGES];
    for (int i = tid; i < 64 * 4; i += 128) cp16(a + i / 4 * LDA + i % 4 * 4, A + (size_t)(i / 4) * K + tile * 16 + i % 4 * 4);
    for (int i = tid; i < 16 * 32; i += 128) cp16(b + i / 32 * 128 + i % 32 * 4, B + (size_t)(tile * 16 + i / 32) * N + i % 32 * 4);
  };
  const int tiles = K / 16;
  for (int i = 0; i < STAGES - 1; i++) {
    load(i);
    asm volatile("cp.async.commit_group;");
  }
  float acc[8][8] = {};
  for (int tile = 0; tile < tiles; tile++) {
    asm volatile("cp.async.wait_group %0;" ::"n"(STAGES - 2) : "memory");
    __syncthreads();
    if (tile + STAGES - 1 < tiles) load(tile + STAGES - 1);
    asm volatile("cp.async.commit_group;");
    const float *a = as[tile % STAGES] + ty * LDA, *b = bs[tile % STAGES] + warp * 32 + tx * 4;
#pragma unroll
    for (int k = 0; k < 16; k++) {
      float ra[8];
#pragma unroll
      for (int i = 0; i < 8; i++) ra[i] = a[i * 8 * LDA + k];
      const float4 b0 = *(const float4*)(b + k * 128), b1 = *(const float4*)(b + k * 128 + 16);
      const float rb[8] = {b0.x, b0.y, b0.z, b0.w, b1.x, b1.y, b1.z, b1.w};
#pragma unroll
      for (int i = 0; i < 8; i++)
#pragma unroll
        for (int j = 0; j < 8; j++) acc[i][j] += ra[i] * rb[j];
    }
  }
  for (int i = 0; i < 8; i++) {
    float* c = C + (size_t)(blockIdx.y * 64 + ty + i * 8) * N + blockIdx.x * 128 + warp * 32 + tx * 4;
    *(float4*)c = make_float4(acc[i][0], acc[i][1], acc[i][2], acc[i][3]);
    *(float4*)(c + 16) = make_float4(acc[i][4], acc[i][5], acc[i][6], acc[i][7]);
  }
}
extern "C" __global__ void __launch_bounds__(128) sgemm_stages_plain(const float* A, const float* B, float* C, int N, int K) { sgemm_stages<16>(A, B, C, N, K); }
extern "C" __global__ void __launch_bounds__(128) sgemm_stages_padded(const float* A, const float* B, float* C, int N, int K) { sgemm_stages<20>(A, B, C, N, K); }
