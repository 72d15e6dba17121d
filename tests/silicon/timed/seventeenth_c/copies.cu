// Asynchronous copies without tensor cores: cp.async of 4, 8 and 16 bytes, the pipelines of CUDA's headers, bulk copies, clusters.
#include "common.cuh"
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cooperative_groups/reduce.h>
#include <cuda/pipeline>
#include <cuda_pipeline.h>

namespace cg = cooperative_groups;

// A product of floats, 128 x 128 a block, 16 deep, two stages: A turned by copies of 4 bytes, to rows of P floats; B by copies of 16.
template <int P> __device__ __forceinline__ void sgemm(const float *a, const float *b, float *c, int n, int k) {
    __shared__ __align__(16) float left[2][16][P], right[2][16][128];
    const int t = threadIdx.x, y = t / 16 * 4, x = t % 16 * 4, steps = k / 16;
    a += (size_t)blockIdx.y * 128 * k;
    b += blockIdx.x * 128;
    const auto fetch = [&](int step) {
        if (step < steps) {
            #pragma unroll
            for (int i = 0; i < 8; ++i) copy<4>(&left[step % 2][t % 16][t / 16 + i * 16], a + (size_t)(t / 16 + i * 16) * k + step * 16 + t % 16);
            #pragma unroll
            for (int i = 0; i < 2; ++i) copy16(&right[step % 2][t / 32 + i * 8][t % 32 * 4], b + (size_t)(step * 16 + t / 32 + i * 8) * n + t % 32 * 4);
        }
        commit();
    };
    float sums[8][8] = {};
    fetch(0);
    for (int step = 0; step < steps; ++step) {
        fetch(step + 1);
        wait_for<1>();
        __syncthreads();
        #pragma unroll
        for (int i = 0; i < 16; ++i) {
            float u[8], v[8];
            *(float4 *)u = *(const float4 *)&left[step % 2][i][y];
            *(float4 *)(u + 4) = *(const float4 *)&left[step % 2][i][y + 64];
            *(float4 *)v = *(const float4 *)&right[step % 2][i][x];
            *(float4 *)(v + 4) = *(const float4 *)&right[step % 2][i][x + 64];
            #pragma unroll
            for (int j = 0; j < 64; ++j) sums[j / 8][j % 8] += u[j / 8] * v[j % 8];
        }
        __syncthreads();
    }
    #pragma unroll
    for (int i = 0; i < 8; ++i) {
        float *to = c + (size_t)(blockIdx.y * 128 + y + i % 4 + i / 4 * 64) * n + blockIdx.x * 128 + x;
        *(float4 *)to = *(const float4 *)sums[i];
        *(float4 *)(to + 64) = *(const float4 *)(sums[i] + 4);
    }
}
NAMED(sgemm_copies_plain, 256, sgemm, (const float *a, const float *b, float *c, int n, int k), (a, b, c, n, k), 128)
NAMED(sgemm_copies_padded, 256, sgemm, (const float *a, const float *b, float *c, int n, int k), (a, b, c, n, k), 132)

// A filter that feeds back, along rows, one to a thread: tiles of 128 x 32 floats by copies of 16 bytes, two stages, results in their place.
template <int HOW> __device__ __forceinline__ void recurrence(const u8 *in, u8 *out, int bytes, float kept) {
    __shared__ __align__(128) u8 tiles[2][128 * pitch<HOW>(128)];
    const int t = threadIdx.x, steps = bytes / 128;
    const size_t first = (size_t)blockIdx.x * 128 * bytes;
    const auto fetch = [&](int step) {
        if (step < steps)
            #pragma unroll
            for (int i = 0; i < 8; ++i) copy16(tiles[step % 2] + place<HOW, 128>(i * 16 + t / 8, t % 8), in + first + (size_t)(i * 16 + t / 8) * bytes + step * 128 + t % 8 * 16);
        commit();
    };
    float last = 0;
    fetch(0);
    for (int step = 0; step < steps; ++step) {
        u8 *tile = tiles[step % 2];
        fetch(step + 1);
        wait_for<1>();
        __syncthreads();
        #pragma unroll
        for (int part = 0; part < 8; ++part) {
            float4 &four = *(float4 *)(tile + place<HOW, 128>(t, part)), v = four;
            v.x = last = fmaf(kept, last, v.x);
            v.y = last = fmaf(kept, last, v.y);
            v.z = last = fmaf(kept, last, v.z);
            v.w = last = fmaf(kept, last, v.w);
            four = v;
        }
        __syncthreads();
        #pragma unroll
        for (int i = 0; i < 8; ++i)
            *(float4 *)(out + first + (size_t)(i * 16 + t / 8) * bytes + step * 128 + t % 8 * 16) = *(const float4 *)(tile + place<HOW, 128>(i * 16 + t / 8, t % 8));
        __syncthreads();
    }
}
NAMED(recurrence_plain, 128, recurrence, (const u8 *in, u8 *out, int bytes, float kept), (in, out, bytes, kept), PLAIN)
NAMED(recurrence_padded, 128, recurrence, (const u8 *in, u8 *out, int bytes, float kept), (in, out, bytes, kept), PADDED)

// Five points of a plane with a margin of two: 64 x 8 a tile by copies of 8 bytes, a block goes down its tiles while the next arrives.
extern "C" __global__ void __launch_bounds__(256) stencil_copies(const float *in, float *out, int width, int tiles, float middle, float around) {
    __shared__ __align__(16) float rows[2][10][68];
    const int t = threadIdx.x, y = t / 32, x = t % 32 * 2 + 2, pitch = width + 4;
    in += (size_t)blockIdx.y * tiles * 8 * pitch + blockIdx.x * 64;
    out += (size_t)blockIdx.y * tiles * 8 * width + blockIdx.x * 64;
    const auto fetch = [&](int tile) {
        if (tile < tiles)
            for (int i = t; i < 340; i += 256) copy<8>(&rows[tile % 2][i / 34][i % 34 * 2], in + (size_t)(tile * 8 + i / 34) * pitch + i % 34 * 2);
        commit();
    };
    fetch(0);
    for (int tile = 0; tile < tiles; ++tile) {
        fetch(tile + 1);
        wait_for<1>();
        __syncthreads();
        const float(*from)[68] = rows[tile % 2];
        const float2 own = *(const float2 *)&from[y + 1][x], over = *(const float2 *)&from[y][x], under = *(const float2 *)&from[y + 2][x];
        *(float2 *)(out + (size_t)(tile * 8 + y) * width + x - 2) =
            make_float2(middle * own.x + around * (over.x + under.x + from[y + 1][x - 1] + own.y),
                        middle * own.y + around * (over.y + under.y + own.x + from[y + 1][x + 2]));
        __syncthreads();
    }
}

template <int THREADS> __device__ __forceinline__ float block_sum(float value) {
    __shared__ float parts[THREADS / 32];
    for (int i = 16; i; i /= 2) value += __shfl_xor_sync(~0u, value, i);
    __syncthreads();
    if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = value;
    __syncthreads();
    value = 0;
    for (int i = 0; i < THREADS / 32; ++i) value += parts[i];
    return value;
}

// Sums of squares, by cuda::pipeline: each thread its own 16 bytes, four stages.
extern "C" __global__ void __launch_bounds__(256) pipeline_squares(const float4 *in, float *out, int rounds) {
    __shared__ float4 stages[4][256];
    auto pipe = cuda::make_pipeline();
    in += (size_t)blockIdx.x * rounds * 256 + threadIdx.x;
    float sum = 0;
    for (int i = 0, next = 0; i < rounds; ++i) {
        for (; next < rounds && next < i + 4; ++next) {
            pipe.producer_acquire();
            cuda::memcpy_async(&stages[next % 4][threadIdx.x], in + next * 256, cuda::aligned_size_t<16>(16), pipe);
            pipe.producer_commit();
        }
        if (i + 4 <= rounds) cuda::pipeline_consumer_wait_prior<3>(pipe);
        else cuda::pipeline_consumer_wait_prior<0>(pipe);
        const float4 v = stages[i % 4][threadIdx.x];
        sum += v.x * v.x + v.y * v.y + v.z * v.z + v.w * v.w;
        pipe.consumer_release();
    }
    sum = block_sum<256>(sum);
    if (threadIdx.x == 0) out[blockIdx.x] = sum;
}

// Products of two vectors, by __pipeline_memcpy_async of 8 bytes: three stages.
extern "C" __global__ void __launch_bounds__(256) primitives_product(const float2 *a, const float2 *b, float *out, int rounds) {
    __shared__ float2 left[3][256], right[3][256];
    const int t = threadIdx.x;
    const size_t first = (size_t)blockIdx.x * rounds * 256 + t;
    const auto fetch = [&](int i) {
        if (i < rounds) {
            __pipeline_memcpy_async(&left[i % 3][t], a + first + i * 256, 8);
            __pipeline_memcpy_async(&right[i % 3][t], b + first + i * 256, 8);
        }
        __pipeline_commit();
    };
    float sum = 0;
    fetch(0);
    fetch(1);
    for (int i = 0; i < rounds; ++i) {
        fetch(i + 2);
        __pipeline_wait_prior(2);
        sum += left[i % 3][t].x * right[i % 3][t].x + left[i % 3][t].y * right[i % 3][t].y;
    }
    sum = block_sum<256>(sum);
    if (t == 0) out[blockIdx.x] = sum;
}

// Rows of 2048 brought to mean 0 and variance 1, by cg::memcpy_async of a whole row, the next while this one is worked on.
extern "C" __global__ void __launch_bounds__(256) group_norm_rows(const float *in, float *out, int rows) {
    __shared__ __align__(16) float row[2][2048];
    const auto block = cg::this_thread_block();
    in += (size_t)blockIdx.x * rows * 2048;
    out += (size_t)blockIdx.x * rows * 2048;
    cg::memcpy_async(block, row[0], in, cuda::aligned_size_t<16>(8192));
    for (int r = 0; r < rows; ++r) {
        if (r + 1 < rows) {
            cg::memcpy_async(block, row[(r + 1) % 2], in + (r + 1) * 2048, cuda::aligned_size_t<16>(8192));
            cg::wait_prior<1>(block);
        } else cg::wait(block);
        float v[8], sum = 0, squares = 0;
        #pragma unroll
        for (int i = 0; i < 8; ++i) {
            v[i] = row[r % 2][i * 256 + threadIdx.x];
            sum += v[i];
            squares += v[i] * v[i];
        }
        const float mean = block_sum<256>(sum) / 2048, scale = rsqrtf(block_sum<256>(squares) / 2048 - mean * mean + 1e-5f);
        #pragma unroll
        for (int i = 0; i < 8; ++i) out[r * 2048 + i * 256 + threadIdx.x] = (v[i] - mean) * scale;
        block.sync();
    }
}

// GELU of chunks of 8 KB that bulk copies bring and take away: four stages, a warp that loads, 256 threads that compute in place.
extern "C" __global__ void __launch_bounds__(288) bulk_gelu(const float *in, float *out, int chunks) {
    __shared__ alignas(128) float stages[4][2048];
    __shared__ alignas(8) u64 full[4], empty[4];
    const int t = threadIdx.x;
    if (t == 0) {
        for (int i = 0; i < 4; ++i) {
            barrier_init(&full[i], 1);
            barrier_init(&empty[i], 1);
        }
        barriers_are_visible();
    }
    __syncthreads();
    in += (size_t)blockIdx.x * chunks * 2048;
    out += (size_t)blockIdx.x * chunks * 2048;
    if (t >= 256) {
        if (t == 256)
            for (int i = 0; i < chunks; ++i) {
                wait(&empty[i % 4], i / 4 + 1 & 1);
                arrive_and_expect(&full[i % 4], 8192);
                load_bulk(stages[i % 4], in + i * 2048, 8192, &full[i % 4]);
            }
        return;
    }
    for (int i = 0; i < chunks; ++i) {
        wait(&full[i % 4], i / 4 & 1);
        #pragma unroll
        for (int j = 0; j < 2; ++j) {
            float4 &four = ((float4 *)stages[i % 4])[j * 256 + t], v = four;
            #pragma unroll
            for (float *x = &v.x; x < &v.x + 4; ++x) *x *= 1 / (1 + __expf(-1.5957691f * (*x + 0.044715f * *x * *x * *x)));
            four = v;
        }
        writes_are_visible();
        asm volatile("bar.sync 1, 256;" ::: "memory");
        if (t == 0) {
            store_bulk(out + i * 2048, stages[i % 4], 8192);
            commit_copies();
            if (i > 0) {  // the store before has been read
                asm volatile("cp.async.bulk.wait_group.read 1;" ::: "memory");
                arrive(&empty[(i - 1) % 4]);
            }
        }
    }
    if (t == 0) wait_for_copies();
}

// Distances of vectors to one another, chunk by chunk of 4 KB each by bulk copies; the first thread loads three stages ahead.
extern "C" __global__ void __launch_bounds__(128) bulk_distances(const float *a, const float *b, float *out, int chunks) {
    __shared__ alignas(128) float left[3][1024], right[3][1024];
    __shared__ alignas(8) u64 full[3];
    const int t = threadIdx.x;
    const size_t first = (size_t)blockIdx.x * chunks * 1024;
    const auto load = [&](int i) {
        if (t == 0 && i < chunks) {
            arrive_and_expect(&full[i % 3], 8192);
            load_bulk(left[i % 3], a + first + i * 1024, 4096, &full[i % 3]);
            load_bulk(right[i % 3], b + first + i * 1024, 4096, &full[i % 3]);
        }
    };
    if (t == 0) {
        for (int i = 0; i < 3; ++i) barrier_init(&full[i], 1);
        barriers_are_visible();
    }
    __syncthreads();
    for (int i = 0; i < 3; ++i) load(i);
    float sum = 0;
    for (int i = 0; i < chunks; ++i) {
        wait(&full[i % 3], i / 3 & 1);
        #pragma unroll
        for (int j = t; j < 256; j += 128) {
            const float4 x = ((const float4 *)left[i % 3])[j], y = ((const float4 *)right[i % 3])[j];
            sum += (x.x - y.x) * (x.x - y.x) + (x.y - y.y) * (x.y - y.y) + (x.z - y.z) * (x.z - y.z) + (x.w - y.w) * (x.w - y.w);
        }
        __syncthreads();
        load(i + 3);
    }
    sum = block_sum<128>(sum);
    if (t == 0) out[blockIdx.x] = sqrtf(sum);
}

// A histogram of bytes whose bins two blocks share, 128 each, in eight copies: a copy's bins together, or a bin's copies.
template <bool TOGETHER> __device__ __forceinline__ void cluster_histogram(const uint4 *in, u32 *out, int rounds) {
    __shared__ u32 bins[1024];
    const int t = threadIdx.x, copy = t % 8;
    const auto at = [](int bin, int copy) { return TOGETHER ? copy * 128 + bin : bin * 8 + copy; };
    for (int i = t; i < 1024; i += 256) bins[i] = 0;
    const auto cluster = cg::this_cluster();
    u32 *there[2] = {cluster.map_shared_rank(bins, 0), cluster.map_shared_rank(bins, 1)};
    cluster.sync();
    for (int i = 0; i < rounds; ++i) {
        const uint4 v = in[((size_t)blockIdx.x * rounds + i) * 256 + t];
        #pragma unroll
        for (int j = 0; j < 16; ++j) {
            const int value = (&v.x)[j / 4] >> j % 4 * 8 & 255;
            atomicAdd((value < 128 ? there[0] : there[1]) + at(value % 128, copy), 1);
        }
    }
    cluster.sync();
    if (t < 128) {
        u32 sum = 0;
        #pragma unroll
        for (int i = 0; i < 8; ++i) sum += bins[at(t, i)];
        out[(size_t)(blockIdx.x / 2) * 256 + cluster.block_rank() * 128 + t] = sum;
    }
}
#define CLUSTER_HISTOGRAM(NAME, TOGETHER)                                                                                           \
    extern "C" __global__ void __cluster_dims__(2, 1, 1) __launch_bounds__(256) NAME(const uint4 *in, u32 *out, int rounds) {       \
        cluster_histogram<TOGETHER>(in, out, rounds);                                                                               \
    }
CLUSTER_HISTOGRAM(cluster_histogram_together, true)
CLUSTER_HISTOGRAM(cluster_histogram_beside, false)

// Softmax of rows of 8192, a quarter to each block of a cluster, which read each other's maxima and sums.
extern "C" __global__ void __cluster_dims__(4, 1, 1) __launch_bounds__(256) cluster_softmax(const float4 *in, float4 *out) {
    __shared__ float parts[2][8], own[2];
    const auto cluster = cg::this_cluster();
    const int t = threadIdx.x;
    const auto all = [&](int which, float value, auto join) {
        for (int i = 16; i; i /= 2) value = join(value, __shfl_xor_sync(~0u, value, i));
        if (t % 32 == 0) parts[which][t / 32] = value;
        __syncthreads();
        if (t == 0) {
            for (int i = 1; i < 8; ++i) value = join(value, parts[which][i]);
            own[which] = value;
        }
        cluster.sync();
        value = *cluster.map_shared_rank(&own[which], 0);
        for (int i = 1; i < 4; ++i) value = join(value, *cluster.map_shared_rank(&own[which], i));
        return value;
    };
    float4 v[2] = {in[(size_t)blockIdx.x * 512 + t], in[(size_t)blockIdx.x * 512 + 256 + t]};
    float *each = &v[0].x, most = each[0], sum = 0;
    #pragma unroll
    for (int i = 1; i < 8; ++i) most = fmaxf(most, each[i]);
    most = all(0, most, [](float x, float y) { return fmaxf(x, y); });
    #pragma unroll
    for (int i = 0; i < 8; ++i) sum += each[i] = __expf(each[i] - most);
    sum = 1 / all(1, sum, [](float x, float y) { return x + y; });
    #pragma unroll
    for (int i = 0; i < 8; ++i) each[i] *= sum;
    out[(size_t)blockIdx.x * 512 + t] = v[0];
    out[(size_t)blockIdx.x * 512 + 256 + t] = v[1];
    cluster.sync();
}
