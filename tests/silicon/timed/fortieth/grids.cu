// Matrices that are turned, grids with halos, layers and noise: what shared memory holds of a plane or of a volume.
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <stdint.h>

// ------------------------------------------------------------------------------------------------
// S = (A + A^T) / 2, by pairs of tiles of 32 x 32. Blocks above the diagonal have nothing to do.
template <int PITCH>
__device__ void symmetrize(const float *A, float *S, int n) {
    __shared__ float upper[32][PITCH], lower[32][PITCH];
    const int bi = blockIdx.y, bj = blockIdx.x;
    if (bj > bi) return;
    const int x = threadIdx.x;
    const size_t here = (size_t)bi * 32 * n + bj * 32, there = (size_t)bj * 32 * n + bi * 32;
    for (int y = threadIdx.y; y < 32; y += 8) {
        lower[y][x] = A[here + (size_t)y * n + x];
        upper[y][x] = A[there + (size_t)y * n + x];
    }
    __syncthreads();
    for (int y = threadIdx.y; y < 32; y += 8) {
        S[here + (size_t)y * n + x] = 0.5f * (lower[y][x] + upper[x][y]);
        if (bi != bj) S[there + (size_t)y * n + x] = 0.5f * (upper[y][x] + lower[x][y]);
    }
}
extern "C" __global__ void symmetrize_plain(const float *A, float *S, int n) { symmetrize<32>(A, S, n); }
extern "C" __global__ void symmetrize_padded(const float *A, float *S, int n) { symmetrize<33>(A, S, n); }

// ------------------------------------------------------------------------------------------------
// Transpose of halves, 64 x 64 a block: cp.async in, ldmatrix turns blocks of 8 x 8, stmatrix puts them down, rows of 16 bytes go out.
__device__ __forceinline__ uint32_t smem_ptr(const void *p) { return (uint32_t)__cvta_generic_to_shared(p); }

template <bool SWIZZLED>
__device__ void transpose_ldsm(const half *in, half *out, int rows, int cols) {
    __shared__ __align__(128) half src[64 * 64], dst[64 * 64];
    auto at = [](int row, int chunk) { return row * 64 + (SWIZZLED ? chunk ^ (row & 7) : chunk) * 8; };
    const int tid = threadIdx.x, lane = tid % 32, warp = tid / 32;
    const size_t r0 = blockIdx.y * 64, c0 = blockIdx.x * 64;
#pragma unroll
    for (int i = 0; i < 4; i++) {
        const int row = tid / 8 + i * 16, chunk = tid % 8;
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(smem_ptr(&src[at(row, chunk)])), "l"(in + (r0 + row) * cols + c0 + chunk * 8));
    }
    asm volatile("cp.async.commit_group;\ncp.async.wait_group 0;" ::: "memory");
    __syncthreads();
    // A warp turns two columns of eight blocks, four blocks at a time.
#pragma unroll
    for (int i = 0; i < 4; i++) {
        const int chunk = warp * 2 + i / 2, band = i % 2 * 4;
        uint32_t r[4];
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
                     : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(smem_ptr(&src[at(band * 8 + lane, chunk)])) : "memory");
        asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1,%2,%3,%4};"
                     ::"r"(smem_ptr(&dst[at(chunk * 8 + lane % 8, band + lane / 8)])), "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3]) : "memory");
    }
    __syncthreads();
#pragma unroll
    for (int i = 0; i < 4; i++) {
        const int row = tid / 8 + i * 16, chunk = tid % 8;
        *(uint4 *)(out + (c0 + row) * rows + r0 + chunk * 8) = *(const uint4 *)&dst[at(row, chunk)];
    }
}
extern "C" __global__ void __launch_bounds__(128) transpose_ldsm_plain(const half *in, half *out, int rows, int cols) { transpose_ldsm<false>(in, out, rows, cols); }
extern "C" __global__ void __launch_bounds__(128) transpose_ldsm_swizzled(const half *in, half *out, int rows, int cols) { transpose_ldsm<true>(in, out, rows, cols); }

// ------------------------------------------------------------------------------------------------
// A leapfrog step of the 3-D wave equation, of fourth order: blocks of 8 x 8 x 8 with a halo of two. Arrays have margins of two.
template <int PITCH>
__device__ void wave3d(const float *u, const float *prev, float *next, int px, int py, float c2) {
    __shared__ float s[12][12][PITCH];
    const int tx = threadIdx.x, ty = threadIdx.y, tz = threadIdx.z, tid = (tz * 8 + ty) * 8 + tx;
    const float *corner = u + ((size_t)blockIdx.z * 8 * py + blockIdx.y * 8) * px + blockIdx.x * 8;
    for (int i = tid; i < 12 * 12 * 12; i += 512) {
        const int x = i % 12, y = i / 12 % 12, z = i / 144;
        s[z][y][x] = corner[((size_t)z * py + y) * px + x];
    }
    __syncthreads();
    const int x = tx + 2, y = ty + 2, z = tz + 2;
    const float mid = s[z][y][x];
    const float near = s[z][y][x - 1] + s[z][y][x + 1] + s[z][y - 1][x] + s[z][y + 1][x] + s[z - 1][y][x] + s[z + 1][y][x];
    const float far = s[z][y][x - 2] + s[z][y][x + 2] + s[z][y - 2][x] + s[z][y + 2][x] + s[z - 2][y][x] + s[z + 2][y][x];
    const float lap = (16.f * near - far) * (1.f / 12.f) - 7.5f * mid;
    const size_t i = (((size_t)blockIdx.z * 8 + z) * py + blockIdx.y * 8 + y) * px + blockIdx.x * 8 + x;
    next[i] = 2.f * mid - prev[i] + c2 * lap;
}
extern "C" __global__ void __launch_bounds__(512) wave3d_tight(const float *u, const float *prev, float *next, int px, int py, float c2) { wave3d<12>(u, prev, next, px, py, c2); }
extern "C" __global__ void __launch_bounds__(512) wave3d_stepped(const float *u, const float *prev, float *next, int px, int py, float c2) { wave3d<24>(u, prev, next, px, py, c2); }

// ------------------------------------------------------------------------------------------------
// A 7 x 7 filter with any weights (a Laplacian of a Gaussian, say) by blocks of 16 x 16; edges repeat.
#define RADIUS 3
#define TILE (16 + 2 * RADIUS)

template <int PITCH>
__device__ void filter7(const float *image, const float *weights, float *result, int width, int height) {
    __shared__ float tile[TILE][PITCH];
    __shared__ float w[49];
    int tx = threadIdx.x, ty = threadIdx.y;
    int tid = ty * 16 + tx;
    if (tid < 49) w[tid] = weights[tid];
    for (int i = tid; i < TILE * TILE; i += 256) {
        int x = min(max((int)blockIdx.x * 16 + i % TILE - RADIUS, 0), width - 1);
        int y = min(max((int)blockIdx.y * 16 + i / TILE - RADIUS, 0), height - 1);
        tile[i / TILE][i % TILE] = image[y * width + x];
    }
    __syncthreads();
    float sum = 0.0f;
    for (int dy = 0; dy < 7; dy++) {
#pragma unroll
        for (int dx = 0; dx < 7; dx++) sum += w[dy * 7 + dx] * tile[ty + dy][tx + dx];
    }
    result[(blockIdx.y * 16 + ty) * width + blockIdx.x * 16 + tx] = sum;
}
extern "C" __global__ void filter7_tight(const float *image, const float *weights, float *result, int w, int h) { filter7<TILE>(image, weights, result, w, h); }
extern "C" __global__ void filter7_spread(const float *image, const float *weights, float *result, int w, int h) { filter7<48>(image, weights, result, w, h); }

// ------------------------------------------------------------------------------------------------
// A layer of 3 x 3 taps, 16 channels in, NHWC: a lane has a filter, a warp a row of eight pixels. Weights are kept by filter.
template <int PITCH>
__device__ void conv3x3(const float *in, const float *weight, const float *bias, float *out, int h, int w, int filters) {
    constexpr int C = 16;
    __shared__ float sw[32 * PITCH];
    __shared__ float si[10][10][C];
    const int lane = threadIdx.x, row = threadIdx.y, tid = row * 32 + lane;
    const int tiles = w / 8, x0 = blockIdx.x % tiles * 8, y0 = blockIdx.x / tiles * 8, f0 = blockIdx.y * 32;
    const float *picture = in + (size_t)blockIdx.z * h * w * C;
    for (int i = tid; i < 32 * 144; i += 256) sw[i / 144 * PITCH + i % 144] = weight[f0 * 144 + i];
    for (int i = tid; i < 100 * C; i += 256) {
        const int x = x0 + i / C % 10 - 1, y = y0 + i / C / 10 - 1;
        si[i / C / 10][i / C % 10][i % C] = x >= 0 && x < w && y >= 0 && y < h ? picture[((size_t)y * w + x) * C + i % C] : 0.f;
    }
    __syncthreads();
    float acc[8];
    for (int p = 0; p < 8; p++) acc[p] = bias[f0 + lane];
    for (int c = 0; c < C; c++) {
#pragma unroll
        for (int ky = 0; ky < 3; ky++) {
            float line[10];
#pragma unroll
            for (int p = 0; p < 10; p++) line[p] = si[row + ky][p][c];
#pragma unroll
            for (int kx = 0; kx < 3; kx++) {
                const float tap = sw[lane * PITCH + c * 9 + ky * 3 + kx];
#pragma unroll
                for (int p = 0; p < 8; p++) acc[p] += tap * line[p + kx];
            }
        }
    }
    for (int p = 0; p < 8; p++) out[(((size_t)blockIdx.z * h + y0 + row) * w + x0 + p) * filters + f0 + lane] = fmaxf(acc[p], 0.f);
}
extern "C" __global__ void __launch_bounds__(256) conv3x3_plain(const float *in, const float *weight, const float *bias, float *out, int h, int w, int f) { conv3x3<144>(in, weight, bias, out, h, w, f); }
extern "C" __global__ void __launch_bounds__(256) conv3x3_padded(const float *in, const float *weight, const float *bias, float *out, int h, int w, int f) { conv3x3<145>(in, weight, bias, out, h, w, f); }

// ------------------------------------------------------------------------------------------------
// Perlin's noise in four octaves; the permutation is in shared memory, once or for each lane.
__device__ __forceinline__ float fade(float t) { return t * t * t * (t * (t * 6 - 15) + 10); }
__device__ __forceinline__ float lerp(float t, float a, float b) { return a + t * (b - a); }
__device__ __forceinline__ float grad(int hash, float x, float y, float z) {
    int h = hash & 15;
    float u = h < 8 ? x : y, v = h < 4 ? y : h == 12 || h == 14 ? x : z;
    return ((h & 1) == 0 ? u : -u) + ((h & 2) == 0 ? v : -v);
}

template <int COPIES>
__device__ void perlin(const unsigned char *permutation, float *out, int width, float scale, float z0) {
    __shared__ int perm[256 * COPIES];
    for (int i = threadIdx.x; i < 256 * COPIES; i += blockDim.x) perm[i] = permutation[i / COPIES];
    __syncthreads();
    auto p = [&](int i) { return perm[(i & 255) * COPIES + threadIdx.x % COPIES]; };
    int pixel = blockIdx.x * blockDim.x + threadIdx.x;
    float px = pixel % width * scale, py = pixel / width * scale, pz = z0, total = 0, strength = 1;
    for (int octave = 0; octave < 4; octave++) {
        int X = (int)floorf(px), Y = (int)floorf(py), Z = (int)floorf(pz);
        float x = px - X, y = py - Y, z = pz - Z;
        float u = fade(x), v = fade(y), w = fade(z);
        int A = p(X) + Y, AA = p(A) + Z, AB = p(A + 1) + Z;
        int B = p(X + 1) + Y, BA = p(B) + Z, BB = p(B + 1) + Z;
        total += strength * lerp(w, lerp(v, lerp(u, grad(p(AA), x, y, z), grad(p(BA), x - 1, y, z)),
                                            lerp(u, grad(p(AB), x, y - 1, z), grad(p(BB), x - 1, y - 1, z))),
                                    lerp(v, lerp(u, grad(p(AA + 1), x, y, z - 1), grad(p(BA + 1), x - 1, y, z - 1)),
                                            lerp(u, grad(p(AB + 1), x, y - 1, z - 1), grad(p(BB + 1), x - 1, y - 1, z - 1))));
        px *= 2, py *= 2, pz *= 2, strength *= 0.5f;
    }
    out[pixel] = total;
}
extern "C" __global__ void perlin_one(const unsigned char *permutation, float *out, int width, float scale, float z) { perlin<1>(permutation, out, width, scale, z); }
extern "C" __global__ void perlin_copies(const unsigned char *permutation, float *out, int width, float scale, float z) { perlin<32>(permutation, out, width, scale, z); }
