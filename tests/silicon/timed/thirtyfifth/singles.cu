// Kernels of the thirty-fifth set that no layout tells apart: a gradient's norm, queries, keys and values apart, colours to planes, heat in doubles, what passes a filter,
// codes by tables that fill shared memory, a step of a bitonic sort, rows streamed ahead, degrees of a graph, rows normed by sixteen warps.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

namespace cg = cooperative_groups;

// The squares of all gradients summed, for clipping: a loop over the grid by float4, shuffles, a sum a block.
extern "C" __global__ void __launch_bounds__(256) gradient_norm(const float4 *grads, float *out, int count) {
    __shared__ float partial[8];
    float sum = 0.0f;
    for (int i = blockIdx.x * 256 + threadIdx.x; i < count; i += gridDim.x * 256) {
        const float4 g = grads[i];
        sum += g.x * g.x + g.y * g.y + g.z * g.z + g.w * g.w;
    }
#pragma unroll
    for (int d = 16; d > 0; d /= 2) sum += __shfl_down_sync(0xffffffff, sum, d);
    if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x < 32) {
        sum = threadIdx.x < 8 ? partial[threadIdx.x] : 0.0f;
#pragma unroll
        for (int d = 4; d > 0; d /= 2) sum += __shfl_down_sync(0xffffffff, sum, d);
        if (threadIdx.x == 0) out[blockIdx.x] = sum;
    }
}

// (B, T, 3, heads, 64) to three times (B, heads, T, 64), halves, sixteen bytes a thread.
extern "C" __global__ void __launch_bounds__(192) qkv_apart(const uint4 *in, uint4 *q, uint4 *k, uint4 *v, int T, int heads) {
    const int per_token = 3 * heads * 8, token = blockIdx.x, b = token / T, t = token % T;
    for (int i = threadIdx.x; i < per_token; i += 192) {
        const int which = i / (heads * 8), head = i / 8 % heads, c = i % 8;
        const uint4 data = in[(size_t)token * per_token + i];
        uint4 *to = which == 0 ? q : which == 1 ? k : v;
        to[(((size_t)b * heads + head) * T + t) * 8 + c] = data;
    }
}

// Pictures of three bytes a pixel to three normalised planes of floats: four pixels a thread, by words.
extern "C" __global__ void __launch_bounds__(128) colours_to_planes(const uchar4 *in, float4 *out, int quads) {
    const int i = blockIdx.x * 128 + threadIdx.x;
    if (i >= quads) return;
    const size_t picture = (size_t)blockIdx.y * quads * 3;
    const uchar4 a = in[picture + (size_t)i * 3], b = in[picture + (size_t)i * 3 + 1], c = in[picture + (size_t)i * 3 + 2];
    const float s = 1.0f / 255.0f;
    out[picture + i] = make_float4((a.x * s - 0.485f) / 0.229f, (a.w * s - 0.485f) / 0.229f, (b.z * s - 0.485f) / 0.229f, (c.y * s - 0.485f) / 0.229f);
    out[picture + quads + i] = make_float4((a.y * s - 0.456f) / 0.224f, (b.x * s - 0.456f) / 0.224f, (b.w * s - 0.456f) / 0.224f, (c.z * s - 0.456f) / 0.224f);
    out[picture + quads * 2 + i] = make_float4((a.z * s - 0.406f) / 0.225f, (b.y * s - 0.406f) / 0.225f, (c.x * s - 0.406f) / 0.225f, (c.w * s - 0.406f) / 0.225f);
}

// A step of heat in three dimensions, doubles: a block 32 x 8 cells marches along z, the plane in shared memory, those above and below in registers.
extern "C" __global__ void __launch_bounds__(256) heat_doubles(const double *in, double *out, int nx, int ny, int nz, double c) {
    __shared__ double plane[10][34];
    const int tx = threadIdx.x, ty = threadIdx.y, x = blockIdx.x * 32 + tx, y = blockIdx.y * 8 + ty, each = nz / gridDim.z, z0 = blockIdx.z * each;
    const size_t layer = (size_t)nx * ny, at = (size_t)y * nx + x;
    const int left = max(x - 1, 0) + y * nx, right = min(x + 1, nx - 1) + y * nx, up = x + max(y - 1, 0) * nx, down = x + min(y + 1, ny - 1) * nx;
    double below = in[layer * max(z0 - 1, 0) + at], here = in[layer * z0 + at];
    for (int z = z0; z < z0 + each; z++) {
        const double *now = in + layer * z;
        const double above = in[layer * min(z + 1, nz - 1) + at];
        plane[ty + 1][tx + 1] = here;
        if (tx == 0) plane[ty + 1][0] = now[left];
        if (tx == 31) plane[ty + 1][33] = now[right];
        if (ty == 0) plane[0][tx + 1] = now[up];
        if (ty == 7) plane[9][tx + 1] = now[down];
        __syncthreads();
        out[layer * z + at] = here + c * (plane[ty + 1][tx] + plane[ty + 1][tx + 2] + plane[ty][tx + 1] + plane[ty + 2][tx + 1] + below + above - 6.0 * here);
        __syncthreads();
        below = here;
        here = above;
    }
}

// What passes a filter, put one after the other: the lanes that keep theirs ask for places together, by one atomic a warp.
extern "C" __global__ void __launch_bounds__(512) passed_together(const unsigned *in, unsigned *out, unsigned *counter, int count, unsigned least) {
    const int lane = threadIdx.x & 31;
    for (int i = blockIdx.x * 512 + threadIdx.x; i < count; i += gridDim.x * 512) {
        const unsigned v = in[i];
        const bool kept = v > least;
        const unsigned mask = __ballot_sync(0xffffffff, kept);
        unsigned first = 0;
        if (lane == 0 && mask) first = atomicAdd(counter, __popc(mask)) % (unsigned)count;
        first = __shfl_sync(0xffffffff, first, 0);
        if (kept) out[(first + __popc(mask & ((1u << lane) - 1))) % (unsigned)count] = v;
    }
}

// Distances of coded vectors: 128 tables of 256 floats fill 128 KB of shared memory, a vector a thread and four codes a word, columns of words.
extern "C" __global__ void __launch_bounds__(512) coded_search(const float4 *tables, const unsigned *codes, float *out, int vectors, int each) {
    extern __shared__ __align__(16) float table[];
    const int t = threadIdx.x;
    for (int i = t; i < 128 * 64; i += 512) reinterpret_cast<float4 *>(table)[i] = tables[i];
    __syncthreads();
    for (int n = 0; n < each; n++) {
        const int own = (blockIdx.x * each + n) * 512 + t;
        float a = 0.0f, b = 0.0f;
#pragma unroll 8
        for (int w = 0; w < 32; w++) {
            const unsigned code = codes[(size_t)w * vectors + own];
            const float *four = table + w * 1024;
            a += four[code & 255] + four[512 + (code >> 16 & 255)];
            b += four[256 + (code >> 8 & 255)] + four[768 + (code >> 24)];
        }
        out[own] = a + b;
    }
}

// One step of a bitonic sort in global memory, two keys a thread.
extern "C" __global__ void __launch_bounds__(128) bitonic_step(const float *in, float *out, int j, int k) {
    const int n = blockIdx.x * 128 + threadIdx.x, i = (n & ~(j - 1)) * 2 + (n & (j - 1)), other = i + j;
    const float a = in[i], b = in[other];
    const bool up = (i & k) == 0;
    out[i] = up ? fminf(a, b) : fmaxf(a, b);
    out[other] = up ? fmaxf(a, b) : fminf(a, b);
}

// A stencil of five by five weights (binomial) on strips 512 wide: a ring of eight rows, which cp.async brings four rows ahead; each thread four columns.
extern "C" __global__ void __launch_bounds__(128) rows_ahead(const float *in, float *out, int width, int rows) {
    __shared__ __align__(16) float ring[8][520];
    const int t = threadIdx.x, x0 = blockIdx.x * 512, y0 = blockIdx.y * rows;
    auto fetch = [&](int r) {
        const float *from = in + (size_t)(y0 + r) * width + x0;
        const unsigned to = (unsigned)__cvta_generic_to_shared(&ring[r & 7][t * 4]);
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;\n" ::"r"(to), "l"(from + t * 4) : "memory");
        if (t < 2) asm volatile("cp.async.cg.shared.global [%0], [%1], 16;\n" ::"r"(to + 2048), "l"(from + 512 + t * 4) : "memory");
        asm volatile("cp.async.commit_group;\n" ::: "memory");
    };
    for (int r = 0; r < 7; r++) fetch(r);
    for (int r = 0; r < rows; r++) {
        asm volatile("cp.async.wait_group 2;\n" ::: "memory");
        __syncthreads();
        if (r + 7 < rows + 4) fetch(r + 7);
        else asm volatile("cp.async.commit_group;\n" ::: "memory");
        float v[8] = {};
#pragma unroll
        for (int d = 0; d < 5; d++) {
            const float w = d == 2 ? 6.0f : d == 1 || d == 3 ? 4.0f : 1.0f;
            const float4 a = *reinterpret_cast<const float4 *>(&ring[(r + d) & 7][t * 4]), b = *reinterpret_cast<const float4 *>(&ring[(r + d) & 7][t * 4 + 4]);
            v[0] += w * a.x, v[1] += w * a.y, v[2] += w * a.z, v[3] += w * a.w;
            v[4] += w * b.x, v[5] += w * b.y, v[6] += w * b.z, v[7] += w * b.w;
        }
        float4 o;
        o.x = (v[0] + v[4] + 4.0f * (v[1] + v[3]) + 6.0f * v[2]) * (1.0f / 256.0f);
        o.y = (v[1] + v[5] + 4.0f * (v[2] + v[4]) + 6.0f * v[3]) * (1.0f / 256.0f);
        o.z = (v[2] + v[6] + 4.0f * (v[3] + v[5]) + 6.0f * v[4]) * (1.0f / 256.0f);
        o.w = (v[3] + v[7] + 4.0f * (v[4] + v[6]) + 6.0f * v[5]) * (1.0f / 256.0f);
        *reinterpret_cast<float4 *>(out + ((size_t)(y0 + r) * gridDim.x + blockIdx.x) * 512 + t * 4) = o;
    }
}

// Degrees of a graph from its list of edges: both ends counted by atomics of global memory, two edges a thread and turn.
extern "C" __global__ void __launch_bounds__(256) degrees(const uint4 *edges, unsigned *out_degree, unsigned *in_degree, int pairs, unsigned mask) {
    for (int i = blockIdx.x * 256 + threadIdx.x; i < pairs; i += gridDim.x * 256) {
        const uint4 e = edges[i];
        atomicAdd(out_degree + (e.x & mask), 1u);
        atomicAdd(in_degree + (e.y & mask), 1u);
        atomicAdd(out_degree + (e.z & mask), 1u);
        atomicAdd(in_degree + (e.w & mask), 1u);
    }
}

// Rows of 8192 halves normed with gains and shifts by sixteen warps, all in registers; sums by cooperative groups.
extern "C" __global__ void __launch_bounds__(512) norm_sixteen(const uint4 *in, const uint4 *gains, const uint4 *shifts, uint4 *out) {
    __shared__ float sums[2][16];
    cg::thread_block block = cg::this_thread_block();
    cg::thread_block_tile<32> warp = cg::tiled_partition<32>(block);
    const int t = threadIdx.x;
    const size_t row = (size_t)blockIdx.x * 1024;
    float v[16];
    float sum = 0.0f;
#pragma unroll
    for (int n = 0; n < 2; n++) {
        const uint4 raw = in[row + n * 512 + t];
        const __half2 *h = reinterpret_cast<const __half2 *>(&raw);
#pragma unroll
        for (int e = 0; e < 4; e++) {
            const float2 f = __half22float2(h[e]);
            v[n * 8 + e * 2] = f.x;
            v[n * 8 + e * 2 + 1] = f.y;
            sum += f.x + f.y;
        }
    }
    sum = cg::reduce(warp, sum, cg::plus<float>());
    if (warp.thread_rank() == 0) sums[0][warp.meta_group_rank()] = sum;
    block.sync();
    const float mean = cg::reduce(warp, warp.thread_rank() < 16 ? sums[0][warp.thread_rank() & 15] : 0.0f, cg::plus<float>()) * (1.0f / 8192.0f);
    float square = 0.0f;
#pragma unroll
    for (int e = 0; e < 16; e++) square += (v[e] - mean) * (v[e] - mean);
    square = cg::reduce(warp, square, cg::plus<float>());
    if (warp.thread_rank() == 0) sums[1][warp.meta_group_rank()] = square;
    block.sync();
    const float total = cg::reduce(warp, warp.thread_rank() < 16 ? sums[1][warp.thread_rank() & 15] : 0.0f, cg::plus<float>());
    const float scale = rsqrtf(total * (1.0f / 8192.0f) + 1e-5f);
#pragma unroll
    for (int n = 0; n < 2; n++) {
        const uint4 g = gains[n * 512 + t], s = shifts[n * 512 + t];
        const __half2 *gh = reinterpret_cast<const __half2 *>(&g), *sh = reinterpret_cast<const __half2 *>(&s);
        uint4 result;
        __half2 *r = reinterpret_cast<__half2 *>(&result);
#pragma unroll
        for (int e = 0; e < 4; e++) {
            const float2 a = __half22float2(gh[e]), b = __half22float2(sh[e]);
            r[e] = __floats2half2_rn((v[n * 8 + e * 2] - mean) * scale * a.x + b.x, (v[n * 8 + e * 2 + 1] - mean) * scale * a.y + b.y);
        }
        out[row + n * 512 + t] = result;
    }
}
