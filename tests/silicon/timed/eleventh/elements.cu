// Kernels of the eleventh set that no layout of shared memory decides: attention, images, physics.
#include <cuda_fp16.h>

// Keys and values of new tokens: keys turned by their positions, both to their places in pages of 16.
extern "C" __global__ void cached(const __half2 *keys, const __half2 *values, const unsigned *positions,
                                  __half2 *key_pages, __half2 *value_pages, unsigned last) {
    const int token = blockIdx.x, head = threadIdx.x / 32, lane = threadIdx.x % 32;
    const size_t from = (size_t)token * 512 + head * 64 + lane;
    const size_t page = (token / 16 * 37) & last, to = ((page * 8 + head) * 16 + token % 16) * 64 + lane;
    const float at = positions[token] & 4095;
    const float2 low = __half22float2(keys[from]), high = __half22float2(keys[from + 32]);
    float s, c, t, d;
    __sincosf(at * exp2f(-0.2076205f * (2 * lane)), &s, &c);
    __sincosf(at * exp2f(-0.2076205f * (2 * lane + 1)), &t, &d);
    key_pages[to] = __floats2half2_rn(low.x * c - high.x * s, low.y * d - high.y * t);
    key_pages[to + 32] = __floats2half2_rn(high.x * c + low.x * s, high.y * d + low.y * t);
    value_pages[to] = values[from], value_pages[to + 32] = values[from + 32];
}

// Attention of one new token: four queries share a head of a cache in pages of 16, a warp a key.
extern "C" __global__ void __launch_bounds__(128) paged(const uint2 *queries, const uint2 *key_pages, const uint2 *value_pages,
                                                        const unsigned *table, const unsigned *lengths, float4 *out, unsigned last) {
    __shared__ float4 sums[4][4][32];
    __shared__ float tops[4][4], totals[4][4];
    const int sequence = blockIdx.x / 8, head = blockIdx.x % 8, warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const auto four = [](uint2 v) {
        const float2 a = __half22float2(*(__half2 *)&v.x), b = __half22float2(*(__half2 *)&v.y);
        return make_float4(a.x, a.y, b.x, b.y);
    };
    float4 q[4], sum[4] = {};
    float top[4], total[4] = {};
    for (int j = 0; j < 4; ++j) q[j] = four(queries[((size_t)blockIdx.x * 4 + j) * 32 + lane]), top[j] = -1e30f;
    const int length = 128 + (lengths[sequence] & 255);
    for (int k = warp; k < length; k += 4) {
        const size_t page = table[sequence * 24 + k / 16] & last, at = ((page * 8 + head) * 16 + k % 16) * 32 + lane;
        const float4 key = four(key_pages[at]), value = four(value_pages[at]);
        #pragma unroll
        for (int j = 0; j < 4; ++j) {
            float score = q[j].x * key.x + q[j].y * key.y + q[j].z * key.z + q[j].w * key.w;
            for (int d = 16; d; d /= 2) score += __shfl_xor_sync(~0u, score, d);
            score *= 0.08838835f;
            const float higher = fmaxf(top[j], score), old = __expf(top[j] - higher), p = __expf(score - higher);
            top[j] = higher, total[j] = total[j] * old + p;
            sum[j] = {sum[j].x * old + p * value.x, sum[j].y * old + p * value.y, sum[j].z * old + p * value.z,
                      sum[j].w * old + p * value.w};
        }
    }
    for (int j = 0; j < 4; ++j) {
        sums[warp][j][lane] = sum[j];
        if (lane == 0) tops[warp][j] = top[j], totals[warp][j] = total[j];
    }
    __syncthreads();
    float most = -1e30f, all = 0;
    for (int w = 0; w < 4; ++w) most = fmaxf(most, tops[w][warp]);
    float4 o = {};
    for (int w = 0; w < 4; ++w) {
        const float by = __expf(tops[w][warp] - most);
        const float4 v = sums[w][warp][lane];
        all += by * totals[w][warp];
        o.x += by * v.x, o.y += by * v.y, o.z += by * v.z, o.w += by * v.w;
    }
    out[((size_t)blockIdx.x * 4 + warp) * 32 + lane] = {o.x / all, o.y / all, o.z / all, o.w / all};
}

// The gradients of a layer norm's gains and offsets: 128 rows of 32 columns a block.
extern "C" __global__ void gain_gradients(const float *grads, const float *in, const float2 *stats, float *gains, float *offsets, int columns) {
    __shared__ float2 parts[8][32];
    const int tx = threadIdx.x, ty = threadIdx.y, column = blockIdx.x * 32 + tx, row = blockIdx.y * 128 + ty;
    float gain = 0, offset = 0;
    #pragma unroll 4
    for (int r = row; r < row - ty + 128; r += 8) {
        const float g = grads[(size_t)r * columns + column];
        const float2 s = stats[r];
        gain += g * (in[(size_t)r * columns + column] - s.x) * s.y, offset += g;
    }
    parts[ty][tx] = {gain, offset};
    for (int half = 4; half; half /= 2) {
        __syncthreads();
        if (ty < half) parts[ty][tx].x += parts[ty + half][tx].x, parts[ty][tx].y += parts[ty + half][tx].y;
    }
    if (ty == 0) {
        gains[blockIdx.y * columns + column] = parts[0][tx].x;
        offsets[blockIdx.y * columns + column] = parts[0][tx].y;
    }
}

// Losses and gradients over 8192 words in halves, a block to a token.
extern "C" __global__ void token_losses(const uint4 *scores, const unsigned *labels, uint4 *grads, float *losses) {
    __shared__ float2 parts[8];
    const int t = threadIdx.x, label = labels[blockIdx.x] & 8191;
    uint4 v[4];
    float top = -1e30f, sum = 0;
    for (int k = 0; k < 4; ++k) {
        v[k] = scores[(size_t)blockIdx.x * 1024 + k * 256 + t];
        for (int j = 0; j < 4; ++j) {
            const float2 f = __half22float2(((__half2 *)(v + k))[j]);
            top = fmaxf(top, fmaxf(f.x, f.y));
        }
    }
    for (int k = 0; k < 4; ++k)
        for (int j = 0; j < 4; ++j) {
            const float2 f = __half22float2(((__half2 *)(v + k))[j]);
            sum += __expf(f.x - top) + __expf(f.y - top);
        }
    for (int d = 16; d; d /= 2) {
        const float other = __shfl_xor_sync(~0u, top, d), theirs = __shfl_xor_sync(~0u, sum, d), higher = fmaxf(top, other);
        sum = sum * __expf(top - higher) + theirs * __expf(other - higher), top = higher;
    }
    if (t % 32 == 0) parts[t / 32] = {top, sum};
    __syncthreads();
    top = -1e30f, sum = 0;
    for (int k = 0; k < 8; ++k) top = fmaxf(top, parts[k].x);
    for (int k = 0; k < 8; ++k) sum += parts[k].y * __expf(parts[k].x - top);
    const float by = 1 / sum;
    for (int k = 0; k < 4; ++k) {
        for (int j = 0; j < 4; ++j) {
            const int word = (k * 256 + t) * 8 + 2 * j;
            const float2 f = __half22float2(((__half2 *)(v + k))[j]);
            if (word == label || word + 1 == label) losses[blockIdx.x] = top + __logf(sum) - (word == label ? f.x : f.y);
            ((__half2 *)(v + k))[j] = __floats2half2_rn(__expf(f.x - top) * by - (word == label),
                                                        __expf(f.y - top) * by - (word + 1 == label));
        }
        grads[(size_t)blockIdx.x * 1024 + k * 256 + t] = v[k];
    }
}

// Products of rows that edges name, without the rest of the matrix: 16 lanes to an edge of 64 columns.
extern "C" __global__ void edge_products(const float4 *left, const float4 *right, const unsigned *ends, float *out, int count, unsigned last) {
    const int edge = (blockIdx.x * blockDim.x + threadIdx.x) / 16, lane = threadIdx.x % 16;
    if (edge >= count) return;
    const float4 a = left[(size_t)(edge / 8) * 16 + lane], b = right[(size_t)(ends[edge] & last) * 16 + lane];
    float sum = a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w;
    const unsigned half = 0xffffu << (threadIdx.x & 16);
    for (int d = 8; d; d /= 2) sum += __shfl_xor_sync(half, sum, d);
    if (lane == 0) out[edge] = sum;
}

// Colours of a camera's raw bytes, whose filters stand as green, red, blue, green; two by two a thread.
extern "C" __global__ void demosaiced(const unsigned char *raw, uchar4 *out, int width, int height) {
    const int x = 2 * (blockIdx.x * blockDim.x + threadIdx.x), y = 2 * (blockIdx.y * blockDim.y + threadIdx.y);
    if (x >= width || y >= height) return;
    int v[4][4];
    #pragma unroll
    for (int j = 0; j < 4; ++j) {
        const unsigned char *row = raw + min(max(y + j - 1, (j + 1) % 2), height - 2 + (j + 1) % 2) * width;
        const uchar2 mid = *(const uchar2 *)(row + x);
        v[j][0] = row[max(x - 1, 1)], v[j][1] = mid.x, v[j][2] = mid.y, v[j][3] = row[min(x + 2, width - 2)];
    }
    const auto colour = [](int r, int g, int b) { return make_uchar4(r, g, b, 255); };
    uchar4 *to = out + (size_t)y * width + x;
    to[0] = colour((v[1][0] + v[1][2] + 1) / 2, v[1][1], (v[0][1] + v[2][1] + 1) / 2);
    to[1] = colour(v[1][2], (v[0][2] + v[2][2] + v[1][1] + v[1][3] + 2) / 4, (v[0][1] + v[0][3] + v[2][1] + v[2][3] + 2) / 4);
    to[width] = colour((v[1][0] + v[1][2] + v[3][0] + v[3][2] + 2) / 4, (v[1][1] + v[3][1] + v[2][0] + v[2][2] + 2) / 4, v[2][1]);
    to[width + 1] = colour((v[1][2] + v[3][2] + 1) / 2, v[2][2], (v[2][1] + v[2][3] + 1) / 2);
}

// Where each block of 16 by 16 pixels came from: the least sum of differences within eight pixels.
extern "C" __global__ void motion(const unsigned *now, const unsigned *before, unsigned *out, int words) {
    __shared__ unsigned block[16][4], window[31][9], least;
    const int t = threadIdx.x, x = blockIdx.x * 4, y = blockIdx.y * 16;
    if (t < 64) block[t / 4][t % 4] = now[(y + 8 + t / 4) * words + x + 2 + t % 4];
    for (int k = t; k < 31 * 8; k += 256) window[k / 8][k % 8] = before[(y + k / 8) * words + x + k % 8];
    if (t == 0) least = ~0u;
    __syncthreads();
    const int dx = t % 16, dy = t / 16;
    unsigned sum = 0;
    #pragma unroll 4
    for (int j = 0; j < 16; ++j)
        #pragma unroll
        for (int i = 0; i < 4; ++i) {
            const unsigned *at = &window[dy + j][dx / 4 + i];
            sum += __vsadu4(block[j][i], __funnelshift_r(at[0], at[1], dx % 4 * 8));
        }
    const unsigned best = __reduce_min_sync(~0u, sum << 8 | t);
    if (t % 32 == 0) atomicMin(&least, best);
    __syncthreads();
    if (t == 0) out[blockIdx.y * gridDim.x + blockIdx.x] = least;
}

// A slice of a body from its shadows at 120 angles.
extern "C" __global__ void back_projected(const float *shadows, float *out, int size) {
    __shared__ float2 ways[120];
    const int t = threadIdx.y * 32 + threadIdx.x, column = blockIdx.x * 32 + threadIdx.x, row = blockIdx.y * 8 + threadIdx.y;
    if (t < 120) __sincosf(t * 0.02617994f, &ways[t].y, &ways[t].x);
    __syncthreads();
    const float x = 0.7f * (column - size / 2), y = 0.7f * (row - size / 2);
    float sum = 0;
    #pragma unroll 4
    for (int k = 0; k < 120; ++k) {
        const float at = x * ways[k].x + y * ways[k].y + size / 2, low = floorf(at);
        const float *line = shadows + k * size + (int)low;
        sum += line[0] + (at - low) * (line[1] - line[0]);
    }
    out[row * size + column] = sum * 0.02617994f;
}

// A field of spins: those of one colour turn, by chance and by their neighbours of the other colour.
extern "C" __global__ void spins(uchar4 *own, const unsigned char *other, int width, int height, unsigned seed, float cold) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x, row = i / (width / 4), x = i % (width / 4) * 4;
    if (row >= height) return;
    const unsigned char *mid = other + row * width, *up = other + (row ? row - 1 : height - 1) * width;
    const unsigned char *down = other + (row + 1 < height ? row + 1 : 0) * width;
    uchar4 spin = own[i];
    const uchar4 a = *(uchar4 *)(up + x), b = *(uchar4 *)(down + x), c = *(uchar4 *)(mid + x);
    const int beside = row % 2 ? mid[x + 4 < width ? x + 4 : 0] : mid[x ? x - 1 : width - 1];
    const auto turned = [&](unsigned s, int sum, int k) {
        unsigned r = (i * 4 + k) * 0x9e3779b9u + seed;
        r ^= r >> 16, r *= 0x7feb352du, r ^= r >> 15, r *= 0x846ca68bu, r ^= r >> 16;
        const int energy = (2 * (int)(s & 1) - 1) * (2 * sum - 4);
        return (unsigned char)((s & 1) ^ (r * 2.3283064e-10f < __expf(-2 * cold * energy)));
    };
    const int w[4] = {c.x & 1, c.y & 1, c.z & 1, c.w & 1};
    const int p[4] = {row % 2 ? w[1] : beside & 1, row % 2 ? w[2] : w[0], row % 2 ? w[3] : w[1], row % 2 ? beside & 1 : w[2]};
    spin.x = turned(spin.x, (a.x & 1) + (b.x & 1) + w[0] + p[0], 0);
    spin.y = turned(spin.y, (a.y & 1) + (b.y & 1) + w[1] + p[1], 1);
    spin.z = turned(spin.z, (a.z & 1) + (b.z & 1) + w[2] + p[2], 2);
    spin.w = turned(spin.w, (a.w & 1) + (b.w & 1) + w[3] + p[3], 3);
    own[i] = spin;
}

// Half a step of light in space: electric fields by the curl of magnetic ones.
extern "C" __global__ void fields(const float *hx, const float *hy, const float *hz, float *ex, float *ey, float *ez, int width, int height) {
    const int x = blockIdx.x * 32 + threadIdx.x + 1, y = blockIdx.y * 8 + threadIdx.y + 1, z = blockIdx.z + 1;
    const int step = width * height, i = z * step + y * width + x;
    const float a = hx[i], b = hy[i], c = hz[i];
    ex[i] += 0.3f * ((c - hz[i - width]) - (b - hy[i - step]));
    ey[i] += 0.3f * ((a - hx[i - step]) - (c - hz[i - 1]));
    ez[i] += 0.3f * ((b - hy[i - 1]) - (a - hx[i - width]));
}
