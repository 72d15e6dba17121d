// Kernels of the thirty-fifth set on tensor cores, in groups that differ in the layout of shared memory alone: WMMA with three stages, bfloat16 with four,
// bytes with scales, attention of heads of 96, a convolution by two, TF32 by rows, a feed-forward layer fused, tiles of 128 by 256, tiles packed for bulk copies.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <mma.h>

enum Layout { PLAIN, PADDED, SWIZZLED };

__device__ __forceinline__ unsigned smem_u32(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }

__device__ __forceinline__ void cp_async16(void *dst, const void *src) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;\n" ::"r"(smem_u32(dst)), "l"(src) : "memory");
}
__device__ __forceinline__ void cp_async16_zfill(void *dst, const void *src, bool valid) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;\n" ::"r"(smem_u32(dst)), "l"(src), "r"(valid ? 16 : 0) : "memory");
}
__device__ __forceinline__ void cp_async_commit() { asm volatile("cp.async.commit_group;\n" ::: "memory"); }
template <int N> __device__ __forceinline__ void cp_async_wait() { asm volatile("cp.async.wait_group %0;\n" ::"n"(N) : "memory"); }

__device__ __forceinline__ void ldsm_x4(unsigned (&r)[4], const void *p) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];\n"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(smem_u32(p)) : "memory");
}
__device__ __forceinline__ void ldsm_x4_t(unsigned (&r)[4], const void *p) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];\n"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(smem_u32(p)) : "memory");
}
__device__ __forceinline__ void mma_f16(float (&d)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};\n"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
__device__ __forceinline__ void mma_bf16(float (&d)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};\n"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
__device__ __forceinline__ void mma_s8(int (&d)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
    asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};\n"
                 : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
__device__ __forceinline__ void mma_tf32(float (&d)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};\n"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
__device__ __forceinline__ unsigned pack_half2(float x, float y) {
    __half2 h = __floats2half2_rn(x, y);
    return *reinterpret_cast<unsigned *>(&h);
}
__device__ __forceinline__ unsigned pack_bf162(float x, float y) {
    __nv_bfloat162 h = __floats2bfloat162_rn(x, y);
    return *reinterpret_cast<unsigned *>(&h);
}

// Offset, in 16-bit elements, of a 16-byte chunk in rows of CHUNKS chunks.
template <Layout L, int CHUNKS> __device__ __forceinline__ int chunk_at(int row, int chunk) {
    if (L == PADDED) return row * (CHUNKS * 8 + 8) + chunk * 8;
    return row * CHUNKS * 8 + (L == SWIZZLED ? chunk ^ (row & 7) : chunk) * 8;
}

// ---------------------------------------------------------------------------------------------------------------------
// C = A B by WMMA: 96 x 128 a block, six warps of 32 x 64, 32 of K a stage, three stages of cp.async.
template <int PAD>
__device__ __forceinline__ void wmma_stages(const __half *A, const __half *B, float *C, int N, int K) {
    using namespace nvcuda;
    constexpr int BM = 96, BN = 128, BK = 32, STAGES = 3, LDA = BK + PAD, LDB = BN + PAD;
    __shared__ __align__(128) __half As[STAGES][BM * LDA];
    __shared__ __align__(128) __half Bs[STAGES][BK * LDB];
    const int tid = threadIdx.x, warp = tid / 32, wm = warp / 2, wn = warp % 2;
    const __half *a_tile = A + (size_t)blockIdx.y * BM * K;
    const __half *b_tile = B + blockIdx.x * BN;

    auto load_stage = [&](int stage, int k0) {
#pragma unroll
        for (int i = tid; i < BM * BK / 8; i += 192) {
            const int r = i / 4, c = i % 4 * 8;
            cp_async16(&As[stage][r * LDA + c], a_tile + (size_t)r * K + k0 + c);
        }
        for (int i = tid; i < BK * BN / 8; i += 192) {
            const int r = i / 16, c = i % 16 * 8;
            cp_async16(&Bs[stage][r * LDB + c], b_tile + (size_t)(k0 + r) * N + c);
        }
    };

    wmma::fragment<wmma::accumulator, 16, 16, 16, float> acc[2][4];
#pragma unroll
    for (int i = 0; i < 2; i++)
#pragma unroll
        for (int j = 0; j < 4; j++) wmma::fill_fragment(acc[i][j], 0.0f);

    load_stage(0, 0);
    cp_async_commit();
    load_stage(1, BK);
    cp_async_commit();
    const int steps = K / BK;
#pragma unroll 1
    for (int step = 0; step < steps; step++) {
        cp_async_wait<1>();
        __syncthreads();
        if (step + 2 < steps) load_stage((step + 2) % STAGES, (step + 2) * BK);
        cp_async_commit();
        const __half *as = As[step % STAGES], *bs = Bs[step % STAGES];
#pragma unroll
        for (int kk = 0; kk < BK; kk += 16) {
            wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> a[2];
            wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::row_major> b[4];
#pragma unroll
            for (int i = 0; i < 2; i++) wmma::load_matrix_sync(a[i], as + (wm * 32 + i * 16) * LDA + kk, LDA);
#pragma unroll
            for (int j = 0; j < 4; j++) wmma::load_matrix_sync(b[j], bs + kk * LDB + wn * 64 + j * 16, LDB);
#pragma unroll
            for (int i = 0; i < 2; i++)
#pragma unroll
                for (int j = 0; j < 4; j++) wmma::mma_sync(acc[i][j], a[i], b[j], acc[i][j]);
        }
    }
    float *c_tile = C + (size_t)(blockIdx.y * BM + wm * 32) * N + blockIdx.x * BN + wn * 64;
#pragma unroll
    for (int i = 0; i < 2; i++)
#pragma unroll
        for (int j = 0; j < 4; j++) wmma::store_matrix_sync(c_tile + (size_t)i * 16 * N + j * 16, acc[i][j], N, wmma::mem_row_major);
}
extern "C" __global__ void __launch_bounds__(192) wmma_stages_plain(const __half *A, const __half *B, float *C, int N, int K) {
    wmma_stages<0>(A, B, C, N, K);
}
extern "C" __global__ void __launch_bounds__(192) wmma_stages_padded(const __half *A, const __half *B, float *C, int N, int K) {
    wmma_stages<8>(A, B, C, N, K);
}

// ---------------------------------------------------------------------------------------------------------------------
// C = A B' in bfloat16: 128 x 64 a block, four warps of 32 x 64, 64 of K a stage, four stages in dynamic shared memory.
template <Layout L>
__device__ __forceinline__ void bf16_stages(const __nv_bfloat16 *A, const __nv_bfloat16 *B, __nv_bfloat16 *C, int N, int K) {
    extern __shared__ __align__(128) unsigned char smem[];
    constexpr int PITCH = L == PADDED ? 72 : 64, A_SIZE = 128 * PITCH, STAGE = (128 + 64) * PITCH, STAGES = 4;
    __nv_bfloat16 *tiles = reinterpret_cast<__nv_bfloat16 *>(smem);
    const int tid = threadIdx.x, lane = tid & 31, warp = tid >> 5;
    const __nv_bfloat16 *a_tile = A + (size_t)blockIdx.y * 128 * K, *b_tile = B + (size_t)blockIdx.x * 64 * K;

    auto load_stage = [&](int stage, int k0) {
        __nv_bfloat16 *as = tiles + stage * STAGE, *bs = as + A_SIZE;
#pragma unroll
        for (int i = 0; i < 8; i++) {
            const int row = i * 16 + tid / 8, c = tid % 8;
            cp_async16(as + chunk_at<L, 8>(row, c), a_tile + (size_t)row * K + k0 + c * 8);
        }
#pragma unroll
        for (int i = 0; i < 4; i++) {
            const int row = i * 16 + tid / 8, c = tid % 8;
            cp_async16(bs + chunk_at<L, 8>(row, c), b_tile + (size_t)row * K + k0 + c * 8);
        }
    };
    const int steps = K / 64;
#pragma unroll
    for (int s = 0; s < STAGES - 1; s++) {
        load_stage(s, s * 64);
        cp_async_commit();
    }
    float acc[2][8][4] = {};
#pragma unroll 1
    for (int step = 0; step < steps; step++) {
        cp_async_wait<STAGES - 2>();
        __syncthreads();
        if (step + STAGES - 1 < steps) load_stage((step + STAGES - 1) % STAGES, (step + STAGES - 1) * 64);
        cp_async_commit();
        const __nv_bfloat16 *as = tiles + step % STAGES * STAGE, *bs = as + A_SIZE;
#pragma unroll
        for (int kk = 0; kk < 4; kk++) {
            unsigned a[2][4], b[4][4];
#pragma unroll
            for (int i = 0; i < 2; i++) ldsm_x4(a[i], as + chunk_at<L, 8>(warp * 32 + i * 16 + (lane & 15), kk * 2 + (lane >> 4)));
#pragma unroll
            for (int j = 0; j < 4; j++) ldsm_x4(b[j], bs + chunk_at<L, 8>(j * 16 + (lane >> 4) * 8 + (lane & 7), kk * 2 + (lane >> 3 & 1)));
#pragma unroll
            for (int i = 0; i < 2; i++)
#pragma unroll
                for (int j = 0; j < 8; j++) mma_bf16(acc[i][j], a[i], b[j / 2][j % 2 * 2], b[j / 2][j % 2 * 2 + 1]);
        }
    }
#pragma unroll
    for (int i = 0; i < 2; i++)
#pragma unroll
        for (int j = 0; j < 8; j++)
#pragma unroll
            for (int h = 0; h < 2; h++) {
                const size_t row = (size_t)blockIdx.y * 128 + warp * 32 + i * 16 + h * 8 + lane / 4;
                *reinterpret_cast<unsigned *>(C + row * N + blockIdx.x * 64 + j * 8 + lane % 4 * 2) = pack_bf162(acc[i][j][h * 2], acc[i][j][h * 2 + 1]);
            }
}
#define BF16_STAGES(NAME, L) \
    extern "C" __global__ void __launch_bounds__(128) NAME(const __nv_bfloat16 *A, const __nv_bfloat16 *B, __nv_bfloat16 *C, int N, int K) { bf16_stages<L>(A, B, C, N, K); }
BF16_STAGES(bf16_stages_plain, PLAIN)
BF16_STAGES(bf16_stages_padded, PADDED)
BF16_STAGES(bf16_stages_swizzled, SWIZZLED)

// ---------------------------------------------------------------------------------------------------------------------
// C = scale_row scale_col A B' of signed bytes: 64 x 128 a block, eight warps of 32 x 32, 64 bytes of K a stage, two stages.
template <Layout L> __device__ __forceinline__ int byte_chunk(int row, int c) { return row * 64 + (L == SWIZZLED ? c ^ (row >> 1 & 3) : c) * 16; }
template <Layout L>
__device__ __forceinline__ void scaled_int8(const signed char *A, const signed char *B, const float *row_scale, const float *col_scale, __half *C, int N, int K) {
    __shared__ __align__(128) signed char As[2][64 * 64], Bs[2][128 * 64];
    const int tid = threadIdx.x, lane = tid & 31, warp = tid >> 5, wm = warp >> 2, wn = warp & 3;
    const signed char *a_tile = A + (size_t)blockIdx.y * 64 * K, *b_tile = B + (size_t)blockIdx.x * 128 * K;
    auto load_stage = [&](int stage, int k0) {
        const int r = tid / 4, c = tid % 4;
        cp_async16(&As[stage][byte_chunk<L>(r, c)], a_tile + (size_t)r * K + k0 + c * 16);
        cp_async16(&Bs[stage][byte_chunk<L>(r, c)], b_tile + (size_t)r * K + k0 + c * 16);
        cp_async16(&Bs[stage][byte_chunk<L>(r + 64, c)], b_tile + (size_t)(r + 64) * K + k0 + c * 16);
    };
    int acc[2][4][4] = {};
    load_stage(0, 0);
    cp_async_commit();
    const int steps = K / 64;
#pragma unroll 1
    for (int step = 0; step < steps; step++) {
        if (step + 1 < steps) load_stage((step + 1) & 1, (step + 1) * 64);
        cp_async_commit();
        cp_async_wait<1>();
        __syncthreads();
        const signed char *as = As[step & 1], *bs = Bs[step & 1];
#pragma unroll
        for (int kk = 0; kk < 2; kk++) {
            unsigned a[2][4], b[2][4];
#pragma unroll
            for (int i = 0; i < 2; i++) ldsm_x4(a[i], as + byte_chunk<L>(wm * 32 + i * 16 + (lane & 15), kk * 2 + (lane >> 4)));
#pragma unroll
            for (int j = 0; j < 2; j++) ldsm_x4(b[j], bs + byte_chunk<L>(wn * 32 + j * 16 + (lane >> 4) * 8 + (lane & 7), kk * 2 + (lane >> 3 & 1)));
#pragma unroll
            for (int i = 0; i < 2; i++)
#pragma unroll
                for (int j = 0; j < 4; j++) mma_s8(acc[i][j], a[i], b[j / 2][j % 2 * 2], b[j / 2][j % 2 * 2 + 1]);
        }
        __syncthreads();
    }
#pragma unroll
    for (int i = 0; i < 2; i++)
#pragma unroll
        for (int h = 0; h < 2; h++) {
            const int row = blockIdx.y * 64 + wm * 32 + i * 16 + h * 8 + lane / 4;
            const float rs = row_scale[row] * (1.0f / 32768.0f);
#pragma unroll
            for (int j = 0; j < 4; j++) {
                const int col = blockIdx.x * 128 + wn * 32 + j * 8 + lane % 4 * 2;
                const float2 cs = *reinterpret_cast<const float2 *>(col_scale + col);
                *reinterpret_cast<unsigned *>(C + (size_t)row * N + col) = pack_half2((float)acc[i][j][h * 2] * rs * cs.x, (float)acc[i][j][h * 2 + 1] * rs * cs.y);
            }
        }
}
extern "C" __global__ void __launch_bounds__(256) scaled_int8_plain(const signed char *A, const signed char *B, const float *rs, const float *cs, __half *C, int N, int K) {
    scaled_int8<PLAIN>(A, B, rs, cs, C, N, K);
}
extern "C" __global__ void __launch_bounds__(256) scaled_int8_swizzled(const signed char *A, const signed char *B, const float *rs, const float *cs, __half *C, int N, int K) {
    scaled_int8<SWIZZLED>(A, B, rs, cs, C, N, K);
}

// ---------------------------------------------------------------------------------------------------------------------
// Flash attention forward, heads of 96: 64 queries a block, 16 a warp, 32 keys a tile in two stages, scores and output in registers.
template <Layout L>
__device__ __forceinline__ void attention_96(const __half *Q, const __half *K, const __half *V, __half *O, int seq, float scale_log2) {
    constexpr int D = 96, P = L == PADDED ? D + 8 : D;
    __shared__ __align__(128) __half Ks[2][32 * P], Vs[2][32 * P];
    const int tid = threadIdx.x, lane = tid & 31, warp = tid >> 5;
    const size_t head = (size_t)blockIdx.y * seq * D;
    const __half *q = Q + head + (size_t)blockIdx.x * 64 * D, *k = K + head, *v = V + head;
    auto at = [](int row, int c) { return row * P + c * 8; };

    // Queries come through the two buffers of keys: 32 rows each.
    for (int i = tid; i < 64 * 12; i += 128) cp_async16(&Ks[i / 12 / 32][at(i / 12 % 32, i % 12)], q + i * 8);
    cp_async_commit();
    cp_async_wait<0>();
    __syncthreads();
    unsigned qf[6][4];
#pragma unroll
    for (int d = 0; d < 6; d++) ldsm_x4(qf[d], &Ks[warp / 2][at(warp % 2 * 16 + (lane & 15), d * 2 + (lane >> 4))]);
    __syncthreads();

    auto load_tile = [&](int stage, int tile) {
#pragma unroll
        for (int n = 0; n < 3; n++) {
            const int i = n * 128 + tid, to = at(i / 12, i % 12);
            cp_async16(&Ks[stage][to], k + (size_t)tile * 32 * D + i * 8);
            cp_async16(&Vs[stage][to], v + (size_t)tile * 32 * D + i * 8);
        }
    };
    float o[12][4] = {}, m[2] = {-1e30f, -1e30f}, l[2] = {0.0f, 0.0f};
    load_tile(0, 0);
    cp_async_commit();
    const int tiles = seq / 32;
#pragma unroll 1
    for (int tile = 0; tile < tiles; tile++) {
        const int stage = tile & 1;
        if (tile + 1 < tiles) load_tile(stage ^ 1, tile + 1);
        cp_async_commit();
        cp_async_wait<1>();
        __syncthreads();
        float s[4][4] = {};
#pragma unroll
        for (int d = 0; d < 6; d++)
#pragma unroll
            for (int n = 0; n < 2; n++) {
                unsigned b[4];
                ldsm_x4(b, &Ks[stage][at(n * 16 + (lane >> 4) * 8 + (lane & 7), d * 2 + (lane >> 3 & 1))]);
                mma_f16(s[n * 2], qf[d], b[0], b[1]);
                mma_f16(s[n * 2 + 1], qf[d], b[2], b[3]);
            }
#pragma unroll
        for (int h = 0; h < 2; h++) {
            float top = m[h];
#pragma unroll
            for (int n = 0; n < 4; n++) top = fmaxf(top, fmaxf(s[n][h * 2], s[n][h * 2 + 1]));
            top = fmaxf(top, __shfl_xor_sync(0xffffffff, top, 1));
            top = fmaxf(top, __shfl_xor_sync(0xffffffff, top, 2));
            const float fix = exp2f((m[h] - top) * scale_log2);
            m[h] = top;
            float sum = 0.0f;
#pragma unroll
            for (int n = 0; n < 4; n++)
#pragma unroll
                for (int e = 0; e < 2; e++) {
                    s[n][h * 2 + e] = exp2f((s[n][h * 2 + e] - top) * scale_log2);
                    sum += s[n][h * 2 + e];
                }
            l[h] = l[h] * fix + sum;
#pragma unroll
            for (int n = 0; n < 12; n++) {
                o[n][h * 2] *= fix;
                o[n][h * 2 + 1] *= fix;
            }
        }
#pragma unroll
        for (int kk = 0; kk < 2; kk++) {
            const unsigned p[4] = {pack_half2(s[kk * 2][0], s[kk * 2][1]), pack_half2(s[kk * 2][2], s[kk * 2][3]),
                                   pack_half2(s[kk * 2 + 1][0], s[kk * 2 + 1][1]), pack_half2(s[kk * 2 + 1][2], s[kk * 2 + 1][3])};
#pragma unroll
            for (int n = 0; n < 6; n++) {
                unsigned b[4];
                ldsm_x4_t(b, &Vs[stage][at(kk * 16 + (lane & 15), n * 2 + (lane >> 4))]);
                mma_f16(o[n * 2], p, b[0], b[1]);
                mma_f16(o[n * 2 + 1], p, b[2], b[3]);
            }
        }
        __syncthreads();
    }
#pragma unroll
    for (int h = 0; h < 2; h++) {
        l[h] += __shfl_xor_sync(0xffffffff, l[h], 1);
        l[h] += __shfl_xor_sync(0xffffffff, l[h], 2);
        const float inv = 1.0f / l[h];
        __half *out = O + head + (size_t)(blockIdx.x * 64 + warp * 16 + h * 8 + lane / 4) * D + lane % 4 * 2;
#pragma unroll
        for (int n = 0; n < 12; n++) *reinterpret_cast<unsigned *>(out + n * 8) = pack_half2(o[n][h * 2] * inv, o[n][h * 2 + 1] * inv);
    }
}
extern "C" __global__ void __launch_bounds__(128, 3) attention_96_plain(const __half *Q, const __half *K, const __half *V, __half *O, int seq, float scale) {
    attention_96<PLAIN>(Q, K, V, O, seq, scale);
}
extern "C" __global__ void __launch_bounds__(128, 3) attention_96_padded(const __half *Q, const __half *K, const __half *V, __half *O, int seq, float scale) {
    attention_96<PADDED>(Q, K, V, O, seq, scale);
}

// ---------------------------------------------------------------------------------------------------------------------
// Convolution 3 x 3, stride two, 64 channels to 64, channels last, 112 x 112 to 56 x 56: 64 output pixels a block, a tap a stage.
template <Layout L>
__device__ __forceinline__ void conv_by_two(const __half *in, const __half *weights, const float *bias, __half *out) {
    constexpr int H = 112, W = 112, OW = 56, PIXELS = 56 * 56, P = L == PADDED ? 72 : 64;
    __shared__ __align__(128) __half As[2][64 * P], Bs[2][64 * P];
    const int tid = threadIdx.x, lane = tid & 31, warp = tid >> 5, wm = warp >> 1, wn = warp & 1;
    const __half *image = in + (size_t)blockIdx.y * H * W * 64;
    int py[4], px[4];
#pragma unroll
    for (int i = 0; i < 4; i++) {
        const int pixel = blockIdx.x * 64 + i * 16 + tid / 8;
        py[i] = pixel / OW * 2 - 1;
        px[i] = pixel % OW * 2 - 1;
    }
    auto load_tap = [&](int stage, int tap) {
        const int dy = tap / 3, dx = tap % 3, c = tid % 8;
#pragma unroll
        for (int i = 0; i < 4; i++) {
            const int row = i * 16 + tid / 8, y = py[i] + dy, x = px[i] + dx;
            const bool inside = y >= 0 && y < H && x >= 0 && x < W;
            cp_async16_zfill(&As[stage][chunk_at<L, 8>(row, c)], image + (inside ? ((size_t)y * W + x) * 64 + c * 8 : 0), inside);
            cp_async16(&Bs[stage][chunk_at<L, 8>(row, c)], weights + ((size_t)row * 9 + tap) * 64 + c * 8);
        }
    };
    float acc[2][4][4] = {};
    load_tap(0, 0);
    cp_async_commit();
#pragma unroll 1
    for (int tap = 0; tap < 9; tap++) {
        if (tap < 8) load_tap((tap + 1) & 1, tap + 1);
        cp_async_commit();
        cp_async_wait<1>();
        __syncthreads();
        const __half *as = As[tap & 1], *bs = Bs[tap & 1];
#pragma unroll
        for (int kk = 0; kk < 4; kk++) {
            unsigned a[2][4], b[2][4];
#pragma unroll
            for (int i = 0; i < 2; i++) {
                ldsm_x4(a[i], as + chunk_at<L, 8>(wm * 32 + i * 16 + (lane & 15), kk * 2 + (lane >> 4)));
                ldsm_x4(b[i], bs + chunk_at<L, 8>(wn * 32 + i * 16 + (lane >> 4) * 8 + (lane & 7), kk * 2 + (lane >> 3 & 1)));
            }
#pragma unroll
            for (int i = 0; i < 2; i++)
#pragma unroll
                for (int j = 0; j < 4; j++) mma_f16(acc[i][j], a[i], b[j / 2][j % 2 * 2], b[j / 2][j % 2 * 2 + 1]);
        }
        __syncthreads();
    }
#pragma unroll
    for (int i = 0; i < 2; i++)
#pragma unroll
        for (int j = 0; j < 4; j++) {
            const int channel = wn * 32 + j * 8 + lane % 4 * 2;
            const float2 b = *reinterpret_cast<const float2 *>(bias + channel);
#pragma unroll
            for (int h = 0; h < 2; h++) {
                const size_t pixel = (size_t)blockIdx.y * PIXELS + blockIdx.x * 64 + wm * 32 + i * 16 + h * 8 + lane / 4;
                *reinterpret_cast<unsigned *>(out + pixel * 64 + channel) = pack_half2(fmaxf(acc[i][j][h * 2] + b.x, 0.0f), fmaxf(acc[i][j][h * 2 + 1] + b.y, 0.0f));
            }
        }
}
extern "C" __global__ void __launch_bounds__(128) conv_by_two_plain(const __half *in, const __half *weights, const float *bias, __half *out) { conv_by_two<PLAIN>(in, weights, bias, out); }
extern "C" __global__ void __launch_bounds__(128) conv_by_two_padded(const __half *in, const __half *weights, const float *bias, __half *out) { conv_by_two<PADDED>(in, weights, bias, out); }

// ---------------------------------------------------------------------------------------------------------------------
// C = A B of floats in TF32: 128 x 128 a block, eight warps of 64 x 32, 16 of K a stage, two stages, fragments read word by word.
template <int LDA, int LDB>
__device__ __forceinline__ void tf32_rows(const float *A, const float *B, float *C, int N, int K) {
    __shared__ __align__(128) float As[2][128 * LDA], Bs[2][16 * LDB];
    const int tid = threadIdx.x, lane = tid & 31, warp = tid >> 5, wm = warp >> 2, wn = warp & 3, g = lane >> 2, q = lane & 3;
    const float *a_tile = A + (size_t)blockIdx.y * 128 * K, *b_tile = B + blockIdx.x * 128;
    auto load_stage = [&](int stage, int k0) {
#pragma unroll
        for (int n = 0; n < 2; n++) {
            const int i = n * 256 + tid;
            cp_async16(&As[stage][i / 4 * LDA + i % 4 * 4], a_tile + (size_t)(i / 4) * K + k0 + i % 4 * 4);
            cp_async16(&Bs[stage][i / 32 * LDB + i % 32 * 4], b_tile + (size_t)(k0 + i / 32) * N + i % 32 * 4);
        }
    };
    float acc[4][4][4] = {};
    load_stage(0, 0);
    cp_async_commit();
    const int steps = K / 16;
#pragma unroll 1
    for (int step = 0; step < steps; step++) {
        cp_async_wait<0>();
        __syncthreads();
        if (step + 1 < steps) load_stage((step + 1) & 1, (step + 1) * 16);
        cp_async_commit();
        const float *as = As[step & 1] + wm * 64 * LDA, *bs = Bs[step & 1] + wn * 32;
#pragma unroll
        for (int kk = 0; kk < 16; kk += 8) {
            unsigned a[4][4], b[4][2];
#pragma unroll
            for (int i = 0; i < 4; i++)
#pragma unroll
                for (int e = 0; e < 4; e++) a[i][e] = __float_as_uint(as[(i * 16 + (e & 1) * 8 + g) * LDA + kk + (e >> 1) * 4 + q]);
#pragma unroll
            for (int j = 0; j < 4; j++)
#pragma unroll
                for (int e = 0; e < 2; e++) b[j][e] = __float_as_uint(bs[(kk + e * 4 + q) * LDB + j * 8 + g]);
#pragma unroll
            for (int i = 0; i < 4; i++)
#pragma unroll
                for (int j = 0; j < 4; j++) mma_tf32(acc[i][j], a[i], b[j][0], b[j][1]);
        }
    }
#pragma unroll
    for (int i = 0; i < 4; i++)
#pragma unroll
        for (int j = 0; j < 4; j++)
#pragma unroll
            for (int h = 0; h < 2; h++) {
                const size_t row = (size_t)blockIdx.y * 128 + wm * 64 + i * 16 + h * 8 + g;
                *reinterpret_cast<float2 *>(C + row * N + blockIdx.x * 128 + wn * 32 + j * 8 + q * 2) = make_float2(acc[i][j][h * 2], acc[i][j][h * 2 + 1]);
            }
}
extern "C" __global__ void __launch_bounds__(256) tf32_rows_plain(const float *A, const float *B, float *C, int N, int K) { tf32_rows<16, 128>(A, B, C, N, K); }
extern "C" __global__ void __launch_bounds__(256) tf32_rows_padded(const float *A, const float *B, float *C, int N, int K) { tf32_rows<20, 136>(A, B, C, N, K); }

// ---------------------------------------------------------------------------------------------------------------------
// A feed-forward layer fused: out = relu(X W1') W2', rows of 128; 64 rows a block, the hidden numbers by 64 at a time never leave registers.
template <Layout L>
__device__ __forceinline__ void feed_forward(const __half *X, const __half *W1, const __half *W2, __half *out, int hidden) {
    __shared__ __align__(128) __half Xs[64 * 128], Us[64 * 128], Ds[128 * 64];
    const int tid = threadIdx.x, lane = tid & 31, warp = tid >> 5;
    const __half *x = X + (size_t)blockIdx.x * 64 * 128;
#pragma unroll
    for (int n = 0; n < 8; n++) {
        const int i = n * 128 + tid;
        cp_async16(Xs + chunk_at<L, 16>(i / 16, i % 16), x + i * 8);
    }
    cp_async_commit();
    float o[16][4] = {};
#pragma unroll 1
    for (int h0 = 0; h0 < hidden; h0 += 64) {
        __syncthreads();
#pragma unroll
        for (int n = 0; n < 8; n++) {
            const int i = n * 128 + tid;
            cp_async16(Us + chunk_at<L, 16>(i / 16, i % 16), W1 + (size_t)h0 * 128 + i * 8);
        }
        cp_async_commit();
#pragma unroll
        for (int n = 0; n < 8; n++) {
            const int i = n * 128 + tid;
            cp_async16(Ds + chunk_at<L, 8>(i / 8, i % 8), W2 + (size_t)(i / 8) * hidden + h0 + i % 8 * 8);
        }
        cp_async_commit();
        cp_async_wait<1>();
        __syncthreads();
        float s[8][4] = {};
#pragma unroll
        for (int kk = 0; kk < 8; kk++) {
            unsigned a[4];
            ldsm_x4(a, Xs + chunk_at<L, 16>(warp * 16 + (lane & 15), kk * 2 + (lane >> 4)));
#pragma unroll
            for (int j = 0; j < 4; j++) {
                unsigned b[4];
                ldsm_x4(b, Us + chunk_at<L, 16>(j * 16 + (lane >> 4) * 8 + (lane & 7), kk * 2 + (lane >> 3 & 1)));
                mma_f16(s[j * 2], a, b[0], b[1]);
                mma_f16(s[j * 2 + 1], a, b[2], b[3]);
            }
        }
        cp_async_wait<0>();
        __syncthreads();
#pragma unroll
        for (int kk = 0; kk < 4; kk++) {
            unsigned a[4];
#pragma unroll
            for (int e = 0; e < 4; e++) a[e] = pack_half2(fmaxf(s[kk * 2 + e / 2][e % 2 * 2], 0.0f), fmaxf(s[kk * 2 + e / 2][e % 2 * 2 + 1], 0.0f));
#pragma unroll
            for (int j = 0; j < 8; j++) {
                unsigned b[4];
                ldsm_x4(b, Ds + chunk_at<L, 8>(j * 16 + (lane >> 4) * 8 + (lane & 7), kk * 2 + (lane >> 3 & 1)));
                mma_f16(o[j * 2], a, b[0], b[1]);
                mma_f16(o[j * 2 + 1], a, b[2], b[3]);
            }
        }
    }
#pragma unroll
    for (int h = 0; h < 2; h++) {
        __half *row = out + (size_t)(blockIdx.x * 64 + warp * 16 + h * 8 + lane / 4) * 128 + lane % 4 * 2;
#pragma unroll
        for (int j = 0; j < 16; j++) *reinterpret_cast<unsigned *>(row + j * 8) = pack_half2(o[j][h * 2], o[j][h * 2 + 1]);
    }
}
extern "C" __global__ void __launch_bounds__(128) feed_forward_plain(const __half *X, const __half *W1, const __half *W2, __half *out, int hidden) { feed_forward<PLAIN>(X, W1, W2, out, hidden); }
extern "C" __global__ void __launch_bounds__(128) feed_forward_swizzled(const __half *X, const __half *W1, const __half *W2, __half *out, int hidden) { feed_forward<SWIZZLED>(X, W1, W2, out, hidden); }

// ---------------------------------------------------------------------------------------------------------------------
// C = A B, all row-major halves: 128 x 256 a block, one block an SM, eight warps of 64 x 64, 64 of K a stage, three stages (144 KB).
template <Layout L>
__device__ __forceinline__ void wide_tiles(const __half *A, const __half *B, __half *C, int N, int K) {
    extern __shared__ __align__(128) unsigned char smem[];
    constexpr int A_SIZE = 128 * 64, STAGE = A_SIZE + 64 * 256, STAGES = 3;
    __half *tiles = reinterpret_cast<__half *>(smem);
    const int tid = threadIdx.x, lane = tid & 31, warp = tid >> 5, wm = warp >> 2, wn = warp & 3;
    const __half *a_tile = A + (size_t)blockIdx.y * 128 * K, *b_tile = B + blockIdx.x * 256;
    auto load_stage = [&](int stage, int k0) {
        __half *as = tiles + stage * STAGE, *bs = as + A_SIZE;
#pragma unroll
        for (int n = 0; n < 4; n++) {
            const int i = n * 256 + tid;
            cp_async16(as + chunk_at<L, 8>(i / 8, i % 8), a_tile + (size_t)(i / 8) * K + k0 + i % 8 * 8);
        }
#pragma unroll
        for (int n = 0; n < 8; n++) {
            const int i = n * 256 + tid;
            cp_async16(bs + chunk_at<L, 32>(i / 32, i % 32), b_tile + (size_t)(k0 + i / 32) * N + i % 32 * 8);
        }
    };
    load_stage(0, 0);
    cp_async_commit();
    load_stage(1, 64);
    cp_async_commit();
    float acc[4][8][4] = {};
    const int steps = K / 64;
    int read = 0, write = 2;
#pragma unroll 1
    for (int step = 0; step < steps; step++) {
        cp_async_wait<1>();
        __syncthreads();
        if (step + 2 < steps) load_stage(write, (step + 2) * 64);
        cp_async_commit();
        const __half *as = tiles + read * STAGE, *bs = as + A_SIZE;
        read = read == STAGES - 1 ? 0 : read + 1;
        write = write == STAGES - 1 ? 0 : write + 1;
#pragma unroll
        for (int kk = 0; kk < 4; kk++) {
            unsigned a[4][4], b[4][4];
#pragma unroll
            for (int i = 0; i < 4; i++) ldsm_x4(a[i], as + chunk_at<L, 8>(wm * 64 + i * 16 + (lane & 15), kk * 2 + (lane >> 4)));
#pragma unroll
            for (int j = 0; j < 4; j++) ldsm_x4_t(b[j], bs + chunk_at<L, 32>(kk * 16 + (lane & 15), wn * 8 + j * 2 + (lane >> 4)));
#pragma unroll
            for (int i = 0; i < 4; i++)
#pragma unroll
                for (int j = 0; j < 8; j++) mma_f16(acc[i][j], a[i], b[j / 2][j % 2 * 2], b[j / 2][j % 2 * 2 + 1]);
        }
    }
#pragma unroll
    for (int i = 0; i < 4; i++)
#pragma unroll
        for (int h = 0; h < 2; h++) {
            __half *row = C + (size_t)(blockIdx.y * 128 + wm * 64 + i * 16 + h * 8 + lane / 4) * N + blockIdx.x * 256 + wn * 64 + lane % 4 * 2;
#pragma unroll
            for (int j = 0; j < 8; j++) *reinterpret_cast<unsigned *>(row + j * 8) = pack_half2(acc[i][j][h * 2], acc[i][j][h * 2 + 1]);
        }
}
extern "C" __global__ void __launch_bounds__(256) wide_tiles_plain(const __half *A, const __half *B, __half *C, int N, int K) { wide_tiles<PLAIN>(A, B, C, N, K); }
extern "C" __global__ void __launch_bounds__(256) wide_tiles_swizzled(const __half *A, const __half *B, __half *C, int N, int K) { wide_tiles<SWIZZLED>(A, B, C, N, K); }

// ---------------------------------------------------------------------------------------------------------------------
// C = A B' whose operands were packed beforehand, tile by tile of 64 x 64 halves as they shall lie in shared memory: a bulk copy a tile, four stages of mbarriers.
template <Layout L>
__device__ __forceinline__ void packed_tiles(const __half *A, const __half *B, float *C, int N, int k_tiles) {
    extern __shared__ __align__(128) unsigned char smem[];
    constexpr int TILE = 64 * (L == PADDED ? 72 : 64), STAGES = 4;
    __half *tiles = reinterpret_cast<__half *>(smem);
    __shared__ __align__(8) unsigned long long full[STAGES];
    const int tid = threadIdx.x, lane = tid & 31, warp = tid >> 5, wm = warp >> 1, wn = warp & 1;
    const __half *a_tiles = A + (size_t)blockIdx.y * k_tiles * TILE, *b_tiles = B + (size_t)blockIdx.x * k_tiles * TILE;
    if (tid == 0) {
        for (int s = 0; s < STAGES; s++) asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;\n" ::"r"(smem_u32(&full[s])) : "memory");
        asm volatile("fence.mbarrier_init.release.cluster;\n" ::: "memory");
    }
    __syncthreads();
    auto fetch = [&](int kt) {
        const int s = kt % STAGES;
        const unsigned bar = smem_u32(&full[s]), dst = smem_u32(tiles + s * 2 * TILE);
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;\n" ::"r"(bar), "r"(TILE * 4) : "memory");
        asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];\n" ::"r"(dst), "l"(a_tiles + (size_t)kt * TILE), "r"(TILE * 2), "r"(bar) : "memory");
        asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];\n" ::"r"(dst + TILE * 2), "l"(b_tiles + (size_t)kt * TILE), "r"(TILE * 2), "r"(bar) : "memory");
    };
    if (tid == 0)
        for (int kt = 0; kt < STAGES - 1 && kt < k_tiles; kt++) fetch(kt);
    float acc[2][4][4] = {};
#pragma unroll 1
    for (int kt = 0; kt < k_tiles; kt++) {
        const unsigned bar = smem_u32(&full[kt % STAGES]), parity = kt / STAGES & 1;
        unsigned done = 0;
        while (!done)
            asm volatile("{\n.reg .pred p;\nmbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\nselp.u32 %0, 1, 0, p;\n}\n" : "=r"(done) : "r"(bar), "r"(parity) : "memory");
        const __half *as = tiles + kt % STAGES * 2 * TILE, *bs = as + TILE;
#pragma unroll
        for (int kk = 0; kk < 4; kk++) {
            unsigned a[2][4], b[2][4];
#pragma unroll
            for (int i = 0; i < 2; i++) {
                ldsm_x4(a[i], as + chunk_at<L, 8>(wm * 32 + i * 16 + (lane & 15), kk * 2 + (lane >> 4)));
                ldsm_x4(b[i], bs + chunk_at<L, 8>(wn * 32 + i * 16 + (lane >> 4) * 8 + (lane & 7), kk * 2 + (lane >> 3 & 1)));
            }
#pragma unroll
            for (int i = 0; i < 2; i++)
#pragma unroll
                for (int j = 0; j < 4; j++) mma_f16(acc[i][j], a[i], b[j / 2][j % 2 * 2], b[j / 2][j % 2 * 2 + 1]);
        }
        __syncthreads();
        if (tid == 0 && kt + STAGES - 1 < k_tiles) fetch(kt + STAGES - 1);
    }
#pragma unroll
    for (int i = 0; i < 2; i++)
#pragma unroll
        for (int h = 0; h < 2; h++) {
            float *row = C + (size_t)(blockIdx.y * 64 + wm * 32 + i * 16 + h * 8 + lane / 4) * N + blockIdx.x * 64 + wn * 32 + lane % 4 * 2;
#pragma unroll
            for (int j = 0; j < 4; j++) *reinterpret_cast<float2 *>(row + j * 8) = make_float2(acc[i][j][h * 2], acc[i][j][h * 2 + 1]);
        }
}
extern "C" __global__ void __launch_bounds__(128) packed_tiles_plain(const __half *A, const __half *B, float *C, int N, int k_tiles) { packed_tiles<PLAIN>(A, B, C, N, k_tiles); }
extern "C" __global__ void __launch_bounds__(128) packed_tiles_padded(const __half *A, const __half *B, float *C, int N, int k_tiles) { packed_tiles<PADDED>(A, B, C, N, k_tiles); }
extern "C" __global__ void __launch_bounds__(128) packed_tiles_swizzled(const __half *A, const __half *B, float *C, int N, int k_tiles) { packed_tiles<SWIZZLED>(A, B, C, N, k_tiles); }
