// Kernels of the fourteenth set in groups, which differ in the layout of shared memory alone.

#define NAMED(NAME, THREADS, RUN, PARAMETERS, ARGUMENTS, ...) \
    extern "C" __global__ void __launch_bounds__(THREADS) NAME PARAMETERS { RUN<__VA_ARGS__> ARGUMENTS; }

__device__ __forceinline__ float warp_sum(float v) {
    for (int d = 16; d; d /= 2) v += __shfl_xor_sync(~0u, v, d);
    return v;
}
__device__ __forceinline__ unsigned mixed(unsigned x) {
    x = (x ^ x >> 16) * 0x7feb352du, x = (x ^ x >> 15) * 0x846ca68bu;
    return x ^ x >> 16;
}

// Eight sums for each of 64 groups of a table's rows: a group's sums lie together, padded by a word, or in columns.
template <int EACH, int NEXT> __device__ __forceinline__ void aggregates(const unsigned *keys, const uint2 *values, unsigned *out) {
    __shared__ unsigned sums[576];
    const int t = threadIdx.x;
    for (int k = t; k < 576; k += 256) sums[k] = 0;
    __syncthreads();
    for (int r = 0; r < 12; ++r) {
        const size_t at = (size_t)blockIdx.x * 3072 + r * 256 + t;
        unsigned *own = sums + keys[at] % 64 * EACH;
        const uint2 v = values[at];
        #pragma unroll
        for (int k = 0; k < 4; ++k) {
            atomicAdd(own + k * NEXT, v.x >> 8 * k & 255);
            atomicAdd(own + (k + 4) * NEXT, v.y >> 8 * k & 255);
        }
    }
    __syncthreads();
    for (int k = t; k < 512; k += 256) out[blockIdx.x * 512 + k] = sums[k / 8 * EACH + k % 8 * NEXT];
}
#define SUMMED(NAME, ...) NAMED(NAME, 256, aggregates, (const unsigned *keys, const uint2 *values, unsigned *out), (keys, values, out), __VA_ARGS__)
SUMMED(aggregates_together, 8, 1)
SUMMED(aggregates_padded, 9, 1)
SUMMED(aggregates_columns, 1, 64)

// Distances of vectors that are codes of 16 bytes, from a table of 16 parts and 256 centres: a query to a block.
template <int CENTRE, int PART> __device__ __forceinline__ void codes(const float4 *tables, const uint4 *lists, float *out) {
    __shared__ float held[4096];
    const int t = threadIdx.x;
    for (int k = t; k < 1024; k += 256) {
        const float4 v = tables[(size_t)blockIdx.x * 1024 + k];
        float *to = held + k % 64 * 4 * CENTRE + k / 64 * PART;
        to[0] = v.x, to[CENTRE] = v.y, to[2 * CENTRE] = v.z, to[3 * CENTRE] = v.w;
    }
    __syncthreads();
    for (int r = 0; r < 8; ++r) {
        const size_t at = (size_t)blockIdx.x * 2048 + r * 256 + t;
        const uint4 code = lists[at];
        const unsigned words[4] = {code.x, code.y, code.z, code.w};
        float sum = 0;
        #pragma unroll
        for (int k = 0; k < 16; ++k) sum += held[(words[k / 4] >> 8 * (k % 4) & 255) * CENTRE + k * PART];
        out[at] = sum;
    }
}
NAMED(codes_by_centre, 256, codes, (const float4 *tables, const uint4 *lists, float *out), (tables, lists, out), 16, 1)
NAMED(codes_by_part, 256, codes, (const float4 *tables, const uint4 *lists, float *out), (tables, lists, out), 1, 256)

// How far two genes are inherited together: 1024 samples as bits, 64 by 64 genes a block, four by four a thread.
template <int PITCH> __device__ __forceinline__ void linkage(const uint4 *a, const uint4 *b, const float *often, const float *also, float *out, int n) {
    __shared__ uint4 left[64 * PITCH], right[64 * PITCH];
    const int t = threadIdx.x, tx = t % 16, ty = t / 16;
    int sum[4][4] = {};
    for (int step = 0; step < 2; ++step) {
        const int row = t / 4, part = t % 4;
        left[row * PITCH + part] = a[(size_t)(blockIdx.y * 64 + row) * 8 + step * 4 + part];
        right[row * PITCH + part] = b[(size_t)(blockIdx.x * 64 + row) * 8 + step * 4 + part];
        __syncthreads();
        #pragma unroll
        for (int k = 0; k < 4; ++k) {
            uint4 x[4], y[4];
            for (int i = 0; i < 4; ++i) x[i] = left[(ty + 16 * i) * PITCH + k], y[i] = right[(tx + 16 * i) * PITCH + k];
            for (int i = 0; i < 4; ++i)
                for (int j = 0; j < 4; ++j)
                    sum[i][j] += __popc(x[i].x & y[j].x) + __popc(x[i].y & y[j].y) + __popc(x[i].z & y[j].z) + __popc(x[i].w & y[j].w);
        }
        __syncthreads();
    }
    for (int i = 0; i < 4; ++i)
        for (int j = 0; j < 4; ++j) {
            const int row = blockIdx.y * 64 + ty + 16 * i, column = blockIdx.x * 64 + tx + 16 * j;
            out[(size_t)row * n + column] = sum[i][j] * (1 / 1024.f) - often[row] * also[column];
        }
}
#define LINKED(NAME, PITCH)                                                                                                    \
    NAMED(NAME, 256, linkage, (const uint4 *a, const uint4 *b, const float *often, const float *also, float *out, int n), \
          (a, b, often, also, out, n), PITCH)
LINKED(linkage_plain, 4)
LINKED(linkage_padded, 5)

// Paths of forty forward rates in the market model, a thread to a path: its rates are a row, a padded row, or a column.
template <int EACH, int NEXT> __device__ __forceinline__ void forwards(const float *first, const float *deviations, float *out) {
    __shared__ float held[128 * 41], spread[40];
    const int t = threadIdx.x;
    const unsigned i = blockIdx.x * 128 + t;
    float *own = held + t * EACH;
    if (t < 40) spread[t] = 0.15f + 0.05f * deviations[t];
    for (int k = 0; k < 40; ++k) own[k * NEXT] = 0.05f + 0.02f * first[k];
    __syncthreads();
    unsigned state = mixed(i + 1);
    float value = 1;
    for (int step = 0; step < 16; ++step) {
        state = state * 1664525u + 1013904223u;
        const float u = ((mixed(state) >> 8) + 1) * 5.9604645e-8f, v = (mixed(state ^ 0x9e3779b9u) >> 8) * 5.9604645e-8f;
        const float chance = sqrtf(-2 * __logf(u)) * __cosf(6.2831853f * v) * 0.5477226f;
        float drift = 0;
        for (int k = step; k < 40; ++k) {
            const float by = spread[k - step], rate = own[k * NEXT];
            drift += __fdividef(by * rate, 1 + 0.3f * rate);
            own[k * NEXT] = rate * __expf(by * (0.3f * drift + chance - 0.15f * by));
        }
        value = __fdividef(value, 1 + 0.3f * own[step * NEXT]);
    }
    float swap = 0, bond = value;
    for (int k = 16; k < 40; ++k) bond = __fdividef(bond, 1 + 0.3f * own[k * NEXT]), swap += bond * (own[k * NEXT] - 0.05f);
    out[i] = fmaxf(swap, 0);
}
NAMED(forwards_own, 128, forwards, (const float *first, const float *deviations, float *out), (first, deviations, out), 40, 1)
NAMED(forwards_padded, 128, forwards, (const float *first, const float *deviations, float *out), (first, deviations, out), 41, 1)
NAMED(forwards_beside, 128, forwards, (const float *first, const float *deviations, float *out), (first, deviations, out), 1, 128)

// Lengths of 32 columns that one sweep of turns (Jacobi, from one side) makes nearly orthogonal: a matrix to a warp, a row to a lane.
template <int PITCH> __device__ __forceinline__ void singular(const float *in, float *out) {
    __shared__ float held[4][32 * PITCH];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const size_t matrix = (size_t)blockIdx.x * 4 + warp;
    float *own = held[warp];
    for (int k = 0; k < 32; ++k) own[k * PITCH + lane] = in[matrix * 1024 + k * 32 + lane];
    __syncwarp();
    for (int p = 0; p < 31; ++p)
        for (int q = p + 1; q < 32; ++q) {
            const float x = own[lane * PITCH + p], y = own[lane * PITCH + q];
            const float xx = warp_sum(x * x), yy = warp_sum(y * y), xy = warp_sum(x * y);
            if (fabsf(xy) <= 1e-6f * sqrtf(xx * yy)) continue;
            const float z = (yy - xx) / (2 * xy), tangent = copysignf(1.f, z) / (fabsf(z) + sqrtf(1 + z * z));
            const float c = rsqrtf(1 + tangent * tangent), s = c * tangent;
            own[lane * PITCH + p] = c * x - s * y, own[lane * PITCH + q] = s * x + c * y;
        }
    __syncwarp();
    float sum = 0;
    for (int k = 0; k < 32; ++k) sum += own[k * PITCH + lane] * own[k * PITCH + lane];
    out[matrix * 32 + lane] = sqrtf(sum);
}
NAMED(singular_plain, 128, singular, (const float *in, float *out), (in, out), 32)
NAMED(singular_padded, 128, singular, (const float *in, float *out), (in, out), 33)

// Laplace's operator on spectral elements of 8 by 8 by 8 doubles, plane by plane: rows of eight doubles, or of nine.
template <int PITCH> __device__ __forceinline__ void spectral(const double *in, const double *factors, const double *derivative, double *out) {
    __shared__ double d[8 * PITCH], plane[8 * PITCH], along[8 * PITCH], across[8 * PITCH];
    const int t = threadIdx.x, i = t % 8, j = t / 8;
    const size_t base = (size_t)blockIdx.x * 512 + t;
    d[j * PITCH + i] = derivative[t];
    double own[8], sum[8] = {};
    for (int k = 0; k < 8; ++k) own[k] = in[base + k * 64];
    #pragma unroll
    for (int k = 0; k < 8; ++k) {
        plane[j * PITCH + i] = own[k];
        __syncthreads();
        double x = 0, y = 0, z = 0;
        #pragma unroll
        for (int l = 0; l < 8; ++l) {
            x += d[i * PITCH + l] * plane[j * PITCH + l];
            y += d[j * PITCH + l] * plane[l * PITCH + i];
            z += d[k * PITCH + l] * own[l];
        }
        const double *g = factors + (size_t)blockIdx.x * 1536 + k * 64 + t;
        along[j * PITCH + i] = g[0] * x, across[j * PITCH + i] = g[512] * y, z *= g[1024];
        __syncthreads();
        #pragma unroll
        for (int l = 0; l < 8; ++l) {
            sum[k] += d[l * PITCH + i] * along[j * PITCH + l] + d[l * PITCH + j] * across[l * PITCH + i];
            sum[l] += d[k * PITCH + l] * z;
        }
    }
    for (int k = 0; k < 8; ++k) out[base + k * 64] = sum[k];
}
#define ELEMENTS(NAME, PITCH)                                                                                           \
    NAMED(NAME, 64, spectral, (const double *in, const double *factors, const double *derivative, double *out), \
          (in, factors, derivative, out), PITCH)
ELEMENTS(spectral_plain, 8)
ELEMENTS(spectral_padded, 9)

// Where pixels go between two pictures (Lucas and Kanade): slopes of 20 by 20 pixels in rows of PITCH, windows of five by five.
template <int PITCH> __device__ __forceinline__ void flow(const float *before, const float *after, float2 *out, int pitch) {
    __shared__ float slopes[3][20 * PITCH];
    const int tx = threadIdx.x, ty = threadIdx.y;
    for (int k = ty * 16 + tx; k < 400; k += 256) {
        const int x = k % 20, y = k / 20;
        const float *at = before + (size_t)(blockIdx.y * 16 + y + 1) * pitch + blockIdx.x * 16 + x + 1;
        slopes[0][y * PITCH + x] = 0.5f * (at[1] - at[-1]), slopes[1][y * PITCH + x] = 0.5f * (at[pitch] - at[-pitch]);
        slopes[2][y * PITCH + x] = after[at - before] - at[0];
    }
    __syncthreads();
    float xx = 0, xy = 0, yy = 0, xt = 0, yt = 0;
    #pragma unroll
    for (int v = 0; v < 5; ++v)
        #pragma unroll
        for (int u = 0; u < 5; ++u) {
            const int at = (ty + v) * PITCH + tx + u;
            const float x = slopes[0][at], y = slopes[1][at], t = slopes[2][at];
            xx += x * x, xy += x * y, yy += y * y, xt += x * t, yt += y * t;
        }
    const float by = 1 / (xx * yy - xy * xy + 1e-3f);
    out[(size_t)(blockIdx.y * 16 + ty) * (gridDim.x * 16) + blockIdx.x * 16 + tx] = {(xy * yt - yy * xt) * by, (xy * xt - xx * yt) * by};
}
NAMED(flow_tight, 256, flow, (const float *before, const float *after, float2 *out, int pitch), (before, after, out, pitch), 20)
NAMED(flow_spread, 256, flow, (const float *before, const float *after, float2 *out, int pitch), (before, after, out, pitch), 48)

// Squared distances along rows of 64 by lower envelopes of parabolas (Felzenszwalb and Huttenlocher), a row to a lane.
template <int PITCH> __device__ __forceinline__ void envelopes(const float *in, float *out) {
    __shared__ float high[32 * PITCH], bound[32 * PITCH], low[32 * PITCH];
    __shared__ int place[32 * PITCH];
    const int t = threadIdx.x, base = t * PITCH;
    const size_t first = (size_t)blockIdx.x * 2048;
    #pragma unroll 8
    for (int k = 0; k < 64; ++k) high[k / 2 * PITCH + k % 2 * 32 + t] = 200 * fabsf(in[first + k * 32 + t]);
    __syncwarp();
    int top = 0;
    place[base] = 0, bound[base] = -1e30f;
    for (int q = 1; q < 64; ++q) {
        const float f = high[base + q] + q * q;
        float s;
        for (;; --top) {
            const int p = place[base + top];
            s = __fdividef(f - high[base + p] - p * p, 2.f * (q - p));
            if (s > bound[base + top]) break;
        }
        place[base + ++top] = q, bound[base + top] = s;
    }
    const int last = top;
    int k = 0;
    for (int q = 0; q < 64; ++q) {
        while (k < last && bound[base + k + 1] < q) ++k;
        const int p = place[base + k];
        low[base + q] = (q - p) * (q - p) + high[base + p];
    }
    __syncwarp();
    #pragma unroll 8
    for (int r = 0; r < 64; ++r) out[first + r * 32 + t] = low[r / 2 * PITCH + r % 2 * 32 + t];
}
NAMED(envelopes_plain, 32, envelopes, (const float *in, float *out), (in, out), 64)
NAMED(envelopes_padded, 32, envelopes, (const float *in, float *out), (in, out), 65)
