// Kernels of the nineteenth set on tensor cores, in groups that differ in the layout of shared memory alone.
#include <cuda_bf16.h>
#include <mma.h>

#define NAMED(NAME, THREADS, RUN, PARAMETERS, ARGUMENTS, ...) \
    extern "C" __global__ void __launch_bounds__(THREADS) NAME PARAMETERS { RUN<__VA_ARGS__> ARGUMENTS; }

// Layers of experts over rows that are gathered by their tokens: 64 rows of one expert by 128 columns a block, 32 along k at a time,
// three stages of asynchronous copies. Rows of 64 bytes lie as they are, or their four parts change places.
template <bool SWIZZLED> __device__ __forceinline__ void gathered(const __nv_bfloat16 *tokens, const __nv_bfloat16 *weights, const unsigned *places,
                                                                  const int *experts, __nv_bfloat162 *out, int n, int depth, unsigned last) {
    __shared__ __align__(128) uint4 left[3][64 * 4], right[3][128 * 4];
    const int t = threadIdx.x, lane = t % 32, warp = t / 32, part = t % 4;
    const auto place = [](int row, int piece) { return row * 4 + (SWIZZLED ? piece ^ (row >> 1 & 3) : piece); };
    const __nv_bfloat16 *from_a[2], *from_b = weights + ((size_t)(experts[blockIdx.y] % 8) * n + blockIdx.x * 128 + t / 4) * depth + part * 8;
    #pragma unroll
    for (int r = 0; r < 2; ++r) from_a[r] = tokens + (size_t)(places[blockIdx.y * 64 + r * 32 + t / 4] & last) * depth + part * 8;
    const auto copy = [](uint4 *to, const __nv_bfloat16 *from) {
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" :: "r"((unsigned)__cvta_generic_to_shared(to)), "l"(from));
    };
    const auto fetch = [&](int step) {
        const int stage = step % 3;
        #pragma unroll
        for (int r = 0; r < 2; ++r) copy(left[stage] + place(r * 32 + t / 4, part), from_a[r] + step * 32);
        #pragma unroll
        for (int r = 0; r < 4; ++r) copy(right[stage] + place(r * 32 + t / 4, part), from_b + (size_t)r * 32 * depth + step * 32);
    };
    const int steps = depth / 32, row = warp / 2 * 32, column = warp % 2 * 64;
    float sum[2][8][4] = {};
    fetch(0);
    asm volatile("cp.async.commit_group;");
    fetch(1);
    asm volatile("cp.async.commit_group;");
    for (int step = 0; step < steps; ++step) {
        asm volatile("cp.async.wait_group 1;");
        __syncthreads();
        if (step + 2 < steps) fetch(step + 2);
        asm volatile("cp.async.commit_group;");
        const uint4 *a = left[step % 3], *b = right[step % 3];
        #pragma unroll
        for (int k = 0; k < 2; ++k) {
            unsigned x[2][4], y[4][4];
            #pragma unroll
            for (int i = 0; i < 2; ++i)
                asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                             : "=r"(x[i][0]), "=r"(x[i][1]), "=r"(x[i][2]), "=r"(x[i][3])
                             : "r"((unsigned)__cvta_generic_to_shared(a + place(row + i * 16 + lane % 16, k * 2 + lane / 16))));
            #pragma unroll
            for (int j = 0; j < 4; ++j)
                asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                             : "=r"(y[j][0]), "=r"(y[j][1]), "=r"(y[j][2]), "=r"(y[j][3])
                             : "r"((unsigned)__cvta_generic_to_shared(b + place(column + j * 16 + lane / 16 * 8 + lane % 8, k * 2 + lane / 8 % 2))));
            #pragma unroll
            for (int i = 0; i < 2; ++i)
                #pragma unroll
                for (int j = 0; j < 8; ++j)
                    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                                 : "+f"(sum[i][j][0]), "+f"(sum[i][j][1]), "+f"(sum[i][j][2]), "+f"(sum[i][j][3])
                                 : "r"(x[i][0]), "r"(x[i][1]), "r"(x[i][2]), "r"(x[i][3]), "r"(y[j / 2][j % 2 * 2]), "r"(y[j / 2][j % 2 * 2 + 1]));
        }
    }
    #pragma unroll
    for (int i = 0; i < 2; ++i)
        #pragma unroll
        for (int j = 0; j < 8; ++j)
            #pragma unroll
            for (int h = 0; h < 2; ++h) {
                const size_t at = (size_t)(blockIdx.y * 64 + row + i * 16 + h * 8 + lane / 4) * n + blockIdx.x * 128 + column + j * 8 + lane % 4 * 2;
                const float u = fmaxf(sum[i][j][2 * h], 0.0f), v = fmaxf(sum[i][j][2 * h + 1], 0.0f);
                out[at / 2] = __floats2bfloat162_rn(u * u, v * v);
            }
}
NAMED(gathered_plain, 128, gathered, (const __nv_bfloat16 *tokens, const __nv_bfloat16 *weights, const unsigned *places, const int *experts,
      __nv_bfloat162 *out, int n, int depth, unsigned last), (tokens, weights, places, experts, out, n, depth, last), false)
NAMED(gathered_swizzled, 128, gathered, (const __nv_bfloat16 *tokens, const __nv_bfloat16 *weights, const unsigned *places, const int *experts,
      __nv_bfloat162 *out, int n, int depth, unsigned last), (tokens, weights, places, experts, out, n, depth, last), true)

// How alike two sets of points are (a Gaussian kernel of their distances): 64 by 64 a block, 64 along the features at a time, by WMMA
// of brain floats. Rows of 64 lie as they are, or eight numbers (four, of sums) are left out after each.
template <int PAD> __device__ __forceinline__ void gaussians(const uint4 *points, const uint4 *others, const float *norms, const float *other_norms,
                                                             float *out, int count, int features, float width) {
    using namespace nvcuda::wmma;
    constexpr int pitch = 64 + PAD, wide = 64 + PAD / 2;
    __shared__ __align__(32) unsigned char raw[2 * 64 * pitch * 2];
    __nv_bfloat16 *left = (__nv_bfloat16 *)raw, *right = left + 64 * pitch;
    float *sums = (float *)raw;
    const int t = threadIdx.x, warp = t / 32, row = warp / 2 * 32, column = warp % 2 * 32;
    fragment<accumulator, 16, 16, 16, float> sum[2][2];
    #pragma unroll
    for (int k = 0; k < 4; ++k) fill_fragment(sum[k / 2][k % 2], 0.0f);
    for (int step = 0; step < features; step += 64) {
        __syncthreads();
        #pragma unroll
        for (int r = 0; r < 4; ++r) {
            const int line = r * 16 + t / 8;
            *(uint4 *)(left + line * pitch + t % 8 * 8) = points[((size_t)(blockIdx.y * 64 + line) * features + step) / 8 + t % 8];
            *(uint4 *)(right + line * pitch + t % 8 * 8) = others[((size_t)(blockIdx.x * 64 + line) * features + step) / 8 + t % 8];
        }
        __syncthreads();
        #pragma unroll
        for (int k = 0; k < 64; k += 16) {
            fragment<matrix_a, 16, 16, 16, __nv_bfloat16, row_major> a[2];
            fragment<matrix_b, 16, 16, 16, __nv_bfloat16, col_major> b[2];
            #pragma unroll
            for (int i = 0; i < 2; ++i) {
                load_matrix_sync(a[i], left + (row + 16 * i) * pitch + k, pitch);
                load_matrix_sync(b[i], right + (column + 16 * i) * pitch + k, pitch);
            }
            #pragma unroll
            for (int i = 0; i < 4; ++i) mma_sync(sum[i / 2][i % 2], a[i / 2], b[i % 2], sum[i / 2][i % 2]);
        }
    }
    __syncthreads();
    for (int half = 0; half < 2; ++half) {
        if (warp / 2 == half)
            #pragma unroll
            for (int k = 0; k < 4; ++k) store_matrix_sync(sums + k / 2 * 16 * wide + column + k % 2 * 16, sum[k / 2][k % 2], wide, mem_row_major);
        __syncthreads();
        for (int i = t; i < 2048; i += 128) {
            const int y = blockIdx.y * 64 + half * 32 + i / 64, x = blockIdx.x * 64 + i % 64;
            const float square = fmaxf(fabsf(norms[y]) + fabsf(other_norms[x]) - 2.0f * sums[i / 64 * wide + i % 64], 0.0f);
            out[(size_t)y * count + x] = __expf(-square * width);
        }
        __syncthreads();
    }
}
NAMED(gaussians_plain, 128, gaussians, (const uint4 *points, const uint4 *others, const float *norms, const float *other_norms, float *out,
      int count, int features, float width), (points, others, norms, other_norms, out, count, features, width), 0)
NAMED(gaussians_padded, 128, gaussians, (const uint4 *points, const uint4 *others, const float *norms, const float *other_norms, float *out,
      int count, int features, float width), (points, others, norms, other_norms, out, count, features, width), 8)
