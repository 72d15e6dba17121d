// Rows of the thirty-sixth set: turned tiles, planes of channels, a scan up and down a tree, bins of lanes, losses of few classes, short lists, small floats turned, and, where no
// layout differs, a norm with what is added before, a step of AdamW, bags of embeddings, the likeliest token.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
#include <cuda_runtime.h>

// ---------------------------------------------------------------------------------------------------------------------
// A transpose by tiles of 16 rows and 64 columns, four floats a thread in and out: rows go in by words, columns are gathered.
// `place` gives the word of a tile for a row and a column.
template <class Place> __device__ __forceinline__ void turn_oblong(const float *in, float *out, int rows, int cols, float *tile, Place place) {
    const int t = threadIdx.x, x0 = blockIdx.x * 64, y0 = blockIdx.y * 16;
    const int r = t / 16, c = t % 16 * 4;
    *reinterpret_cast<float4 *>(tile + place(r, c)) = *reinterpret_cast<const float4 *>(in + (size_t)(y0 + r) * cols + x0 + c);
    __syncthreads();
    const int from = t % 4 * 4, col = t / 4;
    float4 v;
    v.x = tile[place(from, col)];
    v.y = tile[place(from + 1, col)];
    v.z = tile[place(from + 2, col)];
    v.w = tile[place(from + 3, col)];
    *reinterpret_cast<float4 *>(out + (size_t)(x0 + col) * rows + y0 + from) = v;
}
extern "C" __global__ void __launch_bounds__(256) turn_oblong_plain(const float *in, float *out, int rows, int cols) {
    __shared__ __align__(16) float tile[16 * 64];
    turn_oblong(in, out, rows, cols, tile, [](int r, int c) { return r * 64 + c; });
}
extern "C" __global__ void __launch_bounds__(256) turn_oblong_padded(const float *in, float *out, int rows, int cols) {
    __shared__ __align__(16) float tile[16 * 68];
    turn_oblong(in, out, rows, cols, tile, [](int r, int c) { return r * 68 + c; });
}
extern "C" __global__ void __launch_bounds__(256) turn_oblong_swizzled(const float *in, float *out, int rows, int cols) {
    __shared__ __align__(16) float tile[16 * 64];
    turn_oblong(in, out, rows, cols, tile, [](int r, int c) { return r * 64 + (c ^ (r / 4 * 8)); });
}

// ---------------------------------------------------------------------------------------------------------------------
// Halves from planes (N, C, H W) to channels last (N, H W, C): 32 channels and 64 pixels a block, two at a time on both sides.
template <int PITCH> __device__ __forceinline__ void planes_to_last(const __half2 *in, __half2 *out, int channels, int pixels) {
    __shared__ __align__(4) __half tile[32][PITCH];
    const int x = threadIdx.x, y = threadIdx.y, c0 = blockIdx.y * 32, p0 = blockIdx.x * 64;
    const size_t picture = (size_t)blockIdx.z * channels * pixels;
#pragma unroll
    for (int c = y; c < 32; c += 8) *reinterpret_cast<__half2 *>(&tile[c][x * 2]) = in[(picture + (size_t)(c0 + c) * pixels + p0) / 2 + x];
    __syncthreads();
    const int pair = x % 16, other = y * 2 + x / 16;
#pragma unroll
    for (int p = other; p < 64; p += 16) out[(picture + (size_t)(p0 + p) * channels + c0) / 2 + pair] = __halves2half2(tile[pair * 2][p], tile[pair * 2 + 1][p]);
}
extern "C" __global__ void __launch_bounds__(256) planes_to_last_plain(const __half2 *in, __half2 *out, int channels, int pixels) { planes_to_last<64>(in, out, channels, pixels); }
extern "C" __global__ void __launch_bounds__(256) planes_to_last_padded(const __half2 *in, __half2 *out, int channels, int pixels) { planes_to_last<66>(in, out, channels, pixels); }

// ---------------------------------------------------------------------------------------------------------------------
// Sums of all that came before in each part of 1024, up a tree and down again; padding leaves a word out after each 32.
template <bool PADDED> __device__ __forceinline__ void up_and_back(const int *in, int *out) {
    __shared__ int data[1024 + (PADDED ? 32 : 0)];
    auto at = [](int i) { return PADDED ? i + (i >> 5) : i; };
    const int t = threadIdx.x;
    const size_t base = (size_t)blockIdx.x * 1024;
    data[at(t)] = in[base + t];
    data[at(t + 512)] = in[base + t + 512];
    int step = 1;
    for (int nodes = 512; nodes > 0; nodes >>= 1) {
        __syncthreads();
        if (t < nodes) {
            const int left = step * (2 * t + 1) - 1, right = step * (2 * t + 2) - 1;
            data[at(right)] += data[at(left)];
        }
        step <<= 1;
    }
    if (t == 0) data[at(1023)] = 0;
    for (int nodes = 1; nodes < 1024; nodes <<= 1) {
        step >>= 1;
        __syncthreads();
        if (t < nodes) {
            const int left = step * (2 * t + 1) - 1, right = step * (2 * t + 2) - 1;
            const int kept = data[at(left)];
            data[at(left)] = data[at(right)];
            data[at(right)] += kept;
        }
    }
    __syncthreads();
    out[base + t] = data[at(t)];
    out[base + t + 512] = data[at(t + 512)];
}
extern "C" __global__ void __launch_bounds__(512) up_and_back_plain(const int *in, int *out) { up_and_back<false>(in, out); }
extern "C" __global__ void __launch_bounds__(512) up_and_back_padded(const int *in, int *out) { up_and_back<true>(in, out); }

// ---------------------------------------------------------------------------------------------------------------------
// A histogram of bytes in 64 bins, which each of the 32 lanes has to itself: one lane's bins after another's, or one bin of all lanes together.
template <bool TOGETHER> __device__ __forceinline__ void lane_bins(const uint4 *in, unsigned *out, int loads) {
    __shared__ unsigned bins[64 * 32];
    const int t = threadIdx.x, lane = t & 31;
    for (int i = t; i < 64 * 32; i += 256) bins[i] = 0;
    __syncthreads();
    for (int i = blockIdx.x * 256 + t; i < loads; i += gridDim.x * 256) {
        const uint4 v = in[i];
        const unsigned words[4] = {v.x, v.y, v.z, v.w};
#pragma unroll
        for (int w = 0; w < 4; w++)
#pragma unroll
            for (int b = 0; b < 4; b++) {
                const unsigned bin = words[w] >> (b * 8 + 2) & 63;
                atomicAdd(bins + (TOGETHER ? bin * 32 + lane : lane * 64 + bin), 1u);
            }
    }
    __syncthreads();
    if (t < 64) {
        unsigned sum = 0;
        for (int n = 0; n < 32; n++) {
            const int l = (n + lane) & 31;
            sum += bins[TOGETHER ? t * 32 + l : l * 64 + t];
        }
        atomicAdd(out + t, sum);
    }
}
extern "C" __global__ void __launch_bounds__(256) lane_bins_rows(const uint4 *in, unsigned *out, int loads) { lane_bins<false>(in, out, loads); }
extern "C" __global__ void __launch_bounds__(256) lane_bins_together(const uint4 *in, unsigned *out, int loads) { lane_bins<true>(in, out, loads); }

// ---------------------------------------------------------------------------------------------------------------------
// Cross entropy of 64 classes: a block brings 64 rows to shared memory by whole lines, then each thread has a row.
template <int PITCH> __device__ __forceinline__ void few_classes(const float *logits, const int *labels, float *losses, int rows) {
    __shared__ __align__(16) float staged[64 * PITCH];
    const int t = threadIdx.x, row0 = blockIdx.x * 64, here = min(64, rows - row0);
    for (int r = 0; r < here; r++) staged[r * PITCH + t] = logits[(size_t)(row0 + r) * 64 + t];
    __syncthreads();
    if (t >= here) return;
    const float *own = staged + t * PITCH;
    float most = own[0];
#pragma unroll 8
    for (int c = 1; c < 64; c++) most = fmaxf(most, own[c]);
    float sum = 0.0f;
#pragma unroll 8
    for (int c = 0; c < 64; c++) sum += __expf(own[c] - most);
    losses[row0 + t] = most + __logf(sum) - own[labels[row0 + t] & 63];
}
extern "C" __global__ void __launch_bounds__(64) few_classes_plain(const float *logits, const int *labels, float *losses, int rows) { few_classes<64>(logits, labels, losses, rows); }
extern "C" __global__ void __launch_bounds__(64) few_classes_padded(const float *logits, const int *labels, float *losses, int rows) { few_classes<68>(logits, labels, losses, rows); }

// ---------------------------------------------------------------------------------------------------------------------
// The eight greatest scores of each query, in order, a query a thread: its list is in shared memory, by rows or by columns. Scores lie by candidates.
template <bool COLUMNS> __device__ __forceinline__ void short_lists(const float *scores, float *best, int *which, int candidates) {
    __shared__ float values[8 * 128];
    __shared__ int places[8 * 128];
    const int t = threadIdx.x, query = blockIdx.x * 128 + t, queries = gridDim.x * 128;
    auto at = [t](int i) { return COLUMNS ? i * 128 + t : t * 8 + i; };
    for (int i = 0; i < 8; i++) values[at(i)] = -2.0f, places[at(i)] = -1;
    float least = -2.0f;
    for (int n = 0; n < candidates; n++) {
        const float s = scores[(size_t)n * queries + query];
        if (s <= least) continue;
        int i = 7;
        while (i > 0 && values[at(i - 1)] < s) {
            values[at(i)] = values[at(i - 1)];
            places[at(i)] = places[at(i - 1)];
            i--;
        }
        values[at(i)] = s;
        places[at(i)] = n;
        least = values[at(7)];
    }
    for (int i = 0; i < 8; i++) {
        best[(size_t)i * queries + query] = values[at(i)];
        which[(size_t)i * queries + query] = places[at(i)];
    }
}
extern "C" __global__ void __launch_bounds__(128) short_lists_rows(const float *scores, float *best, int *which, int candidates) { short_lists<false>(scores, best, which, candidates); }
extern "C" __global__ void __launch_bounds__(128) short_lists_columns(const float *scores, float *best, int *which, int candidates) { short_lists<true>(scores, best, which, candidates); }

// ---------------------------------------------------------------------------------------------------------------------
// Floats to eight bits (e4m3) by blocks of 64 x 64, each with its scale, written turned: the weights that a backward product wants.
template <bool SWIZZLED> __device__ __forceinline__ void small_turned(const float *in, unsigned *out, float *scales, int rows, int cols) {
    __shared__ __align__(16) float tile[64 * 64];
    __shared__ float greatest[8];
    auto at = [](int r, int c) { return r * 64 + (SWIZZLED ? c ^ (r / 4 * 4) : c); };
    const int t = threadIdx.x, x0 = blockIdx.x * 64, y0 = blockIdx.y * 64;
    float most = 0.0f;
#pragma unroll
    for (int i = 0; i < 4; i++) {
        const int r = t / 16 + i * 16, c = t % 16 * 4;
        const float4 v = *reinterpret_cast<const float4 *>(in + (size_t)(y0 + r) * cols + x0 + c);
        most = fmaxf(most, fmaxf(fmaxf(fabsf(v.x), fabsf(v.y)), fmaxf(fabsf(v.z), fabsf(v.w))));
        *reinterpret_cast<float4 *>(tile + at(r, c)) = v;
    }
    for (int d = 16; d > 0; d >>= 1) most = fmaxf(most, __shfl_xor_sync(0xffffffff, most, d));
    if (t % 32 == 0) greatest[t / 32] = most;
    __syncthreads();
    most = 1e-8f;
#pragma unroll
    for (int w = 0; w < 8; w++) most = fmaxf(most, greatest[w]);
    const float by = 448.0f / most;
    if (t == 0) scales[blockIdx.x * gridDim.y + blockIdx.y] = most / 448.0f;
#pragma unroll
    for (int i = 0; i < 4; i++) {
        const int c = t / 16 + i * 16, r = t % 16 * 4;
        const __nv_fp8x2_storage_t low = __nv_cvt_float2_to_fp8x2(make_float2(tile[at(r, c)] * by, tile[at(r + 1, c)] * by), __NV_SATFINITE, __NV_E4M3);
        const __nv_fp8x2_storage_t high = __nv_cvt_float2_to_fp8x2(make_float2(tile[at(r + 2, c)] * by, tile[at(r + 3, c)] * by), __NV_SATFINITE, __NV_E4M3);
        out[((size_t)(x0 + c) * rows + y0 + r) / 4] = (unsigned)low | (unsigned)high << 16;
    }
}
extern "C" __global__ void __launch_bounds__(256) small_turned_plain(const float *in, unsigned *out, float *scales, int rows, int cols) { small_turned<false>(in, out, scales, rows, cols); }
extern "C" __global__ void __launch_bounds__(256) small_turned_swizzled(const float *in, unsigned *out, float *scales, int rows, int cols) { small_turned<true>(in, out, scales, rows, cols); }

// ---------------------------------------------------------------------------------------------------------------------
// Rows of 4096 bfloat16: the residual takes what a layer gave, and its root mean square norms the row for the next. Sixteen values a thread stay in registers.
extern "C" __global__ void __launch_bounds__(256) add_and_norm(const uint4 *given, uint4 *residual, const uint4 *gains, uint4 *out) {
    __shared__ float partial[8];
    const int t = threadIdx.x;
    const size_t row = (size_t)blockIdx.x * 512;
    float v[16], square = 0.0f;
#pragma unroll
    for (int n = 0; n < 2; n++) {
        const uint4 a = given[row + n * 256 + t], b = residual[row + n * 256 + t];
        uint4 both;
#pragma unroll
        for (int e = 0; e < 4; e++) {
            const float2 x = __bfloat1622float2(reinterpret_cast<const __nv_bfloat162 *>(&a)[e]), y = __bfloat1622float2(reinterpret_cast<const __nv_bfloat162 *>(&b)[e]);
            v[n * 8 + e * 2] = x.x + y.x;
            v[n * 8 + e * 2 + 1] = x.y + y.y;
            reinterpret_cast<__nv_bfloat162 *>(&both)[e] = __floats2bfloat162_rn(x.x + y.x, x.y + y.y);
            square += (x.x + y.x) * (x.x + y.x) + (x.y + y.y) * (x.y + y.y);
        }
        residual[row + n * 256 + t] = both;
    }
#pragma unroll
    for (int d = 16; d > 0; d /= 2) square += __shfl_xor_sync(0xffffffff, square, d);
    if (t % 32 == 0) partial[t / 32] = square;
    __syncthreads();
    square = 0.0f;
#pragma unroll
    for (int w = 0; w < 8; w++) square += partial[w];
    const float by = rsqrtf(square * (1.0f / 4096.0f) + 1e-6f);
#pragma unroll
    for (int n = 0; n < 2; n++) {
        const uint4 g = gains[n * 256 + t];
        uint4 o;
#pragma unroll
        for (int e = 0; e < 4; e++) {
            const float2 w = __bfloat1622float2(reinterpret_cast<const __nv_bfloat162 *>(&g)[e]);
            reinterpret_cast<__nv_bfloat162 *>(&o)[e] = __floats2bfloat162_rn(v[n * 8 + e * 2] * by * w.x, v[n * 8 + e * 2 + 1] * by * w.y);
        }
        out[row + n * 256 + t] = o;
    }
}

// A step of AdamW in mixed precision: gradients of bfloat16, moments and master weights of floats, the weights of bfloat16 written anew. Four a thread.
extern "C" __global__ void __launch_bounds__(256)
    adamw_mixed(const uint2 *grads, float4 *first, float4 *second, float4 *master, uint2 *weights, int fours, float rate, float decay, float correct1, float correct2) {
    const int i = blockIdx.x * 256 + threadIdx.x;
    if (i >= fours) return;
    const uint2 raw = grads[i];
    const float2 low = __bfloat1622float2(*reinterpret_cast<const __nv_bfloat162 *>(&raw.x)), high = __bfloat1622float2(*reinterpret_cast<const __nv_bfloat162 *>(&raw.y));
    const float g[4] = {low.x, low.y, high.x, high.y};
    float4 m4 = first[i], v4 = second[i], w4 = master[i];
    float *m = &m4.x, *v = &v4.x, *w = &w4.x;
#pragma unroll
    for (int e = 0; e < 4; e++) {
        m[e] = 0.9f * m[e] + 0.1f * g[e];
        v[e] = 0.95f * fabsf(v[e]) + 0.05f * g[e] * g[e];
        w[e] -= rate * (m[e] * correct1 / (sqrtf(v[e] * correct2) + 1e-8f) + decay * w[e]);
    }
    first[i] = m4;
    second[i] = v4;
    master[i] = w4;
    const __nv_bfloat162 a = __floats2bfloat162_rn(w[0], w[1]), b = __floats2bfloat162_rn(w[2], w[3]);
    weights[i] = make_uint2(*reinterpret_cast<const unsigned *>(&a), *reinterpret_cast<const unsigned *>(&b));
}

// Bags of twenty embeddings summed with weights: a warp a bag, four floats of 128 a lane; lanes read the indices once and pass them on.
extern "C" __global__ void __launch_bounds__(128) embedding_bags(const float4 *table, const unsigned *indices, const float *weights, float4 *out, int bags, unsigned mask) {
    const int lane = threadIdx.x & 31, bag = blockIdx.x * 4 + threadIdx.x / 32;
    if (bag >= bags) return;
    const unsigned own = lane < 20 ? indices[bag * 20 + lane] & mask : 0;
    const float weight = lane < 20 ? weights[bag * 20 + lane] : 0.0f;
    float4 sum = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
#pragma unroll 5
    for (int n = 0; n < 20; n++) {
        const float4 e = table[(size_t)__shfl_sync(0xffffffff, own, n) * 32 + lane];
        const float w = __shfl_sync(0xffffffff, weight, n);
        sum.x += w * e.x, sum.y += w * e.y, sum.z += w * e.z, sum.w += w * e.w;
    }
    out[(size_t)bag * 32 + lane] = sum;
}

// The likeliest token of each row of 32000 halves: eight a load, then the greatest of warps; of equal ones the first.
extern "C" __global__ void __launch_bounds__(512) likeliest_token(const uint4 *logits, int *tokens, int loads) {
    __shared__ float values[16];
    __shared__ int places[16];
    const uint4 *row = logits + (size_t)blockIdx.x * loads;
    float most = -65504.0f;
    int place = 0;
    for (int i = threadIdx.x; i < loads; i += 512) {
        const uint4 v = row[i];
        const __half *h = reinterpret_cast<const __half *>(&v);
#pragma unroll
        for (int e = 0; e < 8; e++) {
            const float f = __half2float(h[e]);
            if (f > most) most = f, place = i * 8 + e;
        }
    }
    auto join = [&](int d) {
        const float other = __shfl_xor_sync(0xffffffff, most, d);
        const int at = __shfl_xor_sync(0xffffffff, place, d);
        if (other > most || (other == most && at < place)) most = other, place = at;
    };
    for (int d = 16; d > 0; d /= 2) join(d);
    if (threadIdx.x % 32 == 0) values[threadIdx.x / 32] = most, places[threadIdx.x / 32] = place;
    __syncthreads();
    if (threadIdx.x < 32) {
        most = values[threadIdx.x % 16];
        place = places[threadIdx.x % 16];
        for (int d = 8; d > 0; d /= 2) join(d);
        if (threadIdx.x == 0) tokens[blockIdx.x] = place;
    }
}
