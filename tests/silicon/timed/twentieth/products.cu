// Kernels of the twentieth set that multiply on tensor cores, in pairs that differ in the layout of shared memory alone.
#include <cuda_bf16.h>

#define NAMED(NAME, THREADS, RUN, PARAMETERS, ARGUMENTS, ...) \
    extern "C" __global__ void __launch_bounds__(THREADS) NAME PARAMETERS { RUN<__VA_ARGS__> ARGUMENTS; }
#define ALL 0xffffffffu

__device__ __forceinline__ unsigned shared_place(const void *at) { return (unsigned)__cvta_generic_to_shared(at); }
__device__ __forceinline__ void copy(void *to, const void *from) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" :: "r"(shared_place(to)), "l"(from));
}
__device__ __forceinline__ void matrices(unsigned (&x)[4], const void *at) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];" : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3]) : "r"(shared_place(at)));
}
__device__ __forceinline__ void turned(unsigned (&x)[4], const void *at) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];" : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3]) : "r"(shared_place(at)));
}
__device__ __forceinline__ void multiplied(float (&c)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

// The nearest of many codes to each row of 64 brain floats (a quantised model of pictures): 64 rows a block, 16 a warp, whose parts stay in
// registers; codes come 64 at a time, a tile ahead. Rows of 128 bytes, or of 144.
template <int PITCH> __device__ __forceinline__ void nearest_code(const __nv_bfloat16 *rows, const __nv_bfloat16 *codes, const float *squares, int *out,
                                                                  int tiles) {
    __shared__ uint4 left[64 * PITCH], right[2][64 * PITCH];
    const int t = threadIdx.x, lane = t % 32, warp = t / 32;
    const auto fetch = [&](uint4 *to, const __nv_bfloat16 *from) {
        #pragma unroll
        for (int k = 0; k < 4; ++k) copy(to + (k * 16 + t / 8) * PITCH + t % 8, from + (size_t)(k * 16 + t / 8) * 64 + t % 8 * 8);
    };
    fetch(left, rows + (size_t)blockIdx.x * 4096);
    fetch(right[0], codes);
    asm volatile("cp.async.commit_group;");
    unsigned a[4][4];
    float best[2] = {1e30f, 1e30f};
    int code[2] = {0, 0};
    for (int tile = 0; tile < tiles; ++tile) {
        if (tile + 1 < tiles) fetch(right[(tile + 1) & 1], codes + (size_t)(tile + 1) * 4096);
        asm volatile("cp.async.commit_group;");
        asm volatile("cp.async.wait_group 1;");
        __syncthreads();
        if (tile == 0) {
            #pragma unroll
            for (int k = 0; k < 4; ++k) matrices(a[k], left + (warp * 16 + lane % 16) * PITCH + k * 2 + lane / 16);
        }
        const uint4 *b = right[tile & 1];
        float sum[8][4] = {};
        #pragma unroll
        for (int k = 0; k < 4; ++k)
            #pragma unroll
            for (int j = 0; j < 4; ++j) {
                unsigned y[4];
                matrices(y, b + (j * 16 + lane / 16 * 8 + lane % 8) * PITCH + k * 2 + lane / 8 % 2);
                multiplied(sum[j * 2], a[k], y[0], y[1]);
                multiplied(sum[j * 2 + 1], a[k], y[2], y[3]);
            }
        #pragma unroll
        for (int j = 0; j < 8; ++j)
            #pragma unroll
            for (int c = 0; c < 4; ++c) {
                const int column = tile * 64 + j * 8 + lane % 4 * 2 + c % 2;
                const float far = 22.0f + squares[column] - 2.0f * sum[j][c];
                if (far < best[c / 2]) best[c / 2] = far, code[c / 2] = column;
            }
        __syncthreads();
    }
    #pragma unroll
    for (int r = 0; r < 2; ++r) {
        #pragma unroll
        for (int offset = 1; offset < 4; offset <<= 1) {
            const float other = __shfl_xor_sync(ALL, best[r], offset);
            const int its = __shfl_xor_sync(ALL, code[r], offset);
            if (other < best[r] || (other == best[r] && its < code[r])) best[r] = other, code[r] = its;
        }
        if (lane % 4 == 0) out[blockIdx.x * 64 + warp * 16 + r * 8 + lane / 4] = code[r];
    }
}
NAMED(nearest_code_plain, 128, nearest_code, (const __nv_bfloat16 *rows, const __nv_bfloat16 *codes, const float *squares, int *out, int tiles), (rows, codes, squares, out, tiles), 8)
NAMED(nearest_code_padded, 128, nearest_code, (const __nv_bfloat16 *rows, const __nv_bfloat16 *codes, const float *squares, int *out, int tiles), (rows, codes, squares, out, tiles), 9)

// A matrix of which only blocks of 64 by 32 are kept, `kept` to a row of blocks, by a dense one: 64 by 128 a block, 32 by 64 a warp, three stages.
// Parts of sixteen bytes lie as they are, or change places within their rows.
template <bool SWIZZLED> __device__ __forceinline__ void kept_blocks(const __nv_bfloat16 *blocks, const unsigned *places, const __nv_bfloat16 *dense,
                                                                     __nv_bfloat162 *out, int n, int kept, unsigned last) {
    __shared__ __align__(128) uint4 left[3][64 * 4], right[3][32 * 16];
    const int t = threadIdx.x, lane = t % 32, warp = t / 32;
    const auto in_left = [](int row, int piece) { return row * 4 + (SWIZZLED ? piece ^ (row >> 1 & 3) : piece); };
    const auto in_right = [](int row, int piece) { return row * 16 + (SWIZZLED ? piece ^ (row & 7) : piece); };
    const auto fetch = [&](int step) {
        const int stage = step % 3, block = blockIdx.y * kept + step;
        const __nv_bfloat16 *a = blocks + (size_t)block * 2048, *b = dense + (size_t)(places[block] & last) * 32 * n + blockIdx.x * 128;
        #pragma unroll
        for (int r = 0; r < 2; ++r) copy(left[stage] + in_left(r * 32 + t / 4, t % 4), a + (r * 128 + t) * 8);
        #pragma unroll
        for (int r = 0; r < 4; ++r) copy(right[stage] + in_right(r * 8 + t / 16, t % 16), b + (size_t)(r * 8 + t / 16) * n + t % 16 * 8);
    };
    const int row = warp / 2 * 32, column = warp % 2 * 8;
    float sum[2][8][4] = {};
    fetch(0);
    asm volatile("cp.async.commit_group;");
    fetch(1);
    asm volatile("cp.async.commit_group;");
    for (int step = 0; step < kept; ++step) {
        asm volatile("cp.async.wait_group 1;");
        __syncthreads();
        if (step + 2 < kept) fetch(step + 2);
        asm volatile("cp.async.commit_group;");
        const uint4 *a = left[step % 3], *b = right[step % 3];
        #pragma unroll
        for (int k = 0; k < 2; ++k) {
            unsigned x[2][4];
            #pragma unroll
            for (int i = 0; i < 2; ++i) matrices(x[i], a + in_left(row + i * 16 + lane % 16, k * 2 + lane / 16));
            #pragma unroll
            for (int j = 0; j < 4; ++j) {
                unsigned y[4];
                turned(y, b + in_right(k * 16 + lane % 16, column + j * 2 + lane / 16));
                #pragma unroll
                for (int i = 0; i < 2; ++i) multiplied(sum[i][j * 2], x[i], y[0], y[1]), multiplied(sum[i][j * 2 + 1], x[i], y[2], y[3]);
            }
        }
    }
    #pragma unroll
    for (int i = 0; i < 2; ++i)
        #pragma unroll
        for (int j = 0; j < 8; ++j)
            #pragma unroll
            for (int half = 0; half < 2; ++half) {
                const size_t at = (size_t)(blockIdx.y * 64 + row + i * 16 + half * 8 + lane / 4) * n + blockIdx.x * 128 + column * 8 + j * 8 + lane % 4 * 2;
                out[at / 2] = __floats2bfloat162_rn(sum[i][j][half * 2], sum[i][j][half * 2 + 1]);
            }
}
NAMED(kept_blocks_plain, 128, kept_blocks, (const __nv_bfloat16 *blocks, const unsigned *places, const __nv_bfloat16 *dense, __nv_bfloat162 *out, int n, int kept, unsigned last), (blocks, places, dense, out, n, kept, last), false)
NAMED(kept_blocks_swizzled, 128, kept_blocks, (const __nv_bfloat16 *blocks, const unsigned *places, const __nv_bfloat16 *dense, __nv_bfloat162 *out, int n, int kept, unsigned last), (blocks, places, dense, out, n, kept, last), true)
