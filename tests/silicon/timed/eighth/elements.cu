// The eighth set of timed kernels: elements, text, pictures, graphs and rows.
#include <cuda_fp16.h>

extern "C" __global__ void momentum(float4 *weight, float4 *speed, const float4 *slope, float rate) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    float4 w = weight[i], s = speed[i];
    const float4 g = slope[i];
    s = make_float4(0.9f * s.x + g.x, 0.9f * s.y + g.y, 0.9f * s.z + g.z, 0.9f * s.w + g.w);
    w = make_float4(w.x - rate * s.x, w.y - rate * s.y, w.z - rate * s.z, w.w - rate * s.w);
    weight[i] = w, speed[i] = s;
}

__device__ __forceinline__ float sum_of_warp(float v) {
    for (int d = 16; d; d /= 2) v += __shfl_xor_sync(~0u, v, d);
    return v;
}

// Huber's loss of eight pairs per thread; blocks add theirs to one sum.
extern "C" __global__ void huber(const float4 *a, const float4 *b, float *out) {
    __shared__ float parts[8];
    float sum = 0;
    for (int k = 0; k < 2; ++k) {
        const int i = (blockIdx.x * 2 + k) * 256 + threadIdx.x;
        const float4 x = a[i], y = b[i];
        const float d[4] = {x.x - y.x, x.y - y.y, x.z - y.z, x.w - y.w};
        for (int j = 0; j < 4; ++j) sum += fabsf(d[j]) < 1 ? 0.5f * d[j] * d[j] : fabsf(d[j]) - 0.5f;
    }
    sum = sum_of_warp(sum);
    if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x < 8) {
        sum = parts[threadIdx.x];
        for (int d = 4; d; d /= 2) sum += __shfl_xor_sync(0xFFu, sum, d);
        if (threadIdx.x == 0) atomicAdd(out, sum);
    }
}

// A message along each edge of a graph.
extern "C" __global__ void messages(const unsigned *from, const unsigned *to, const float *state, float *sums,
                                    int mask) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    atomicAdd(sums + (to[i] & mask), 0.5f * state[from[i] & mask]);
}

// How many bits differ between a query and each code of 256 bits.
extern "C" __global__ void hamming(const uint4 *codes, const uint4 *query, int *out) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const uint4 a = codes[2 * i], b = codes[2 * i + 1], p = query[0], q = query[1];
    out[i] = __popc(a.x ^ p.x) + __popc(a.y ^ p.y) + __popc(a.z ^ p.z) + __popc(a.w ^ p.w)
           + __popc(b.x ^ q.x) + __popc(b.y ^ q.y) + __popc(b.z ^ q.z) + __popc(b.w ^ q.w);
}

extern "C" __global__ void hsv(const uchar4 *in, float *h, float *s, float *v) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const uchar4 p = in[i];
    const float r = p.x / 255.0f, g = p.y / 255.0f, b = p.z / 255.0f;
    const float most = fmaxf(r, fmaxf(g, b)), range = most - fminf(r, fminf(g, b));
    float hue = 0;
    if (range > 0) {
        if (most == r) hue = (g - b) / range;
        else if (most == g) hue = 2 + (b - r) / range;
        else hue = 4 + (r - g) / range;
    }
    h[i] = 60 * (hue < 0 ? hue + 6 : hue), s[i] = most > 0 ? range / most : 0, v[i] = most;
}

extern "C" __global__ void blended(const uchar4 *a, const uchar4 *b, uchar4 *out) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const uchar4 x = a[i], y = b[i];
    const int w = y.w, u = 255 - w;
    out[i] = make_uchar4((x.x * u + y.x * w) / 255, (x.y * u + y.y * w) / 255, (x.z * u + y.z * w) / 255, 255);
}

__device__ __forceinline__ float corner(int x, int y) {
    unsigned h = x * 374761393u + y * 668265263u;
    h = (h ^ h >> 13) * 1274126177u;
    return (h ^ h >> 16) * (1.0f / 4294967296.0f);
}

// Five octaves of noise.
extern "C" __global__ void noise(float *out, int width) {
    const int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
    float sum = 0, size = 0.01f, height = 1;
    for (int octave = 0; octave < 5; ++octave, size *= 2, height *= 0.5f) {
        const float fx = x * size, fy = y * size;
        const int ix = (int)floorf(fx), iy = (int)floorf(fy);
        float a = fx - ix, b = fy - iy;
        a = a * a * (3 - 2 * a), b = b * b * (3 - 2 * b);
        const float low = corner(ix, iy) * (1 - a) + corner(ix + 1, iy) * a;
        const float high = corner(ix, iy + 1) * (1 - a) + corner(ix + 1, iy + 1) * a;
        sum += height * (low * (1 - b) + high * b);
    }
    out[y * width + x] = sum;
}

// The nearest of 32 spheres that each ray meets; the spheres lie in shared memory.
extern "C" __global__ void spheres(const float4 *balls, const float *slope, float *depth) {
    __shared__ float4 kept[32];
    if (threadIdx.x < 32) kept[threadIdx.x] = balls[threadIdx.x];
    __syncthreads();
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const float dx = slope[2 * i], dy = slope[2 * i + 1], n = rsqrtf(dx * dx + dy * dy + 1);
    float nearest = 1e30f;
    for (int k = 0; k < 32; ++k) {
        const float4 s = kept[k];
        const float along = n * (dx * s.x + dy * s.y + s.z + 4);
        const float left = s.x * s.x + s.y * s.y + (s.z + 4) * (s.z + 4) - along * along;
        const float inside = 0.3f + 0.1f * s.w - left;
        if (inside > 0) nearest = fminf(nearest, along - sqrtf(inside));
    }
    depth[i] = nearest;
}

// Sixty-four steps of a price; every thread draws its own.
extern "C" __global__ void prices(float *out, float drift, float shake) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned seed = i * 747796405u + 2891336453u;
    float price = 1;
    for (int step = 0; step < 64; ++step) {
        seed = seed * 1664525u + 1013904223u;
        const float u = (seed >> 8) * (1.0f / 16777216.0f) - 0.5f;
        price *= __expf(drift + shake * u);
    }
    out[i] = fmaxf(price - 1, 0.0f);
}

extern "C" __global__ void moved_points(const float4 *in, const float *matrix, float4 *out) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const float4 p = in[i];
    float r[4];
    for (int k = 0; k < 4; ++k)
        r[k] = matrix[4 * k] * p.x + matrix[4 * k + 1] * p.y + matrix[4 * k + 2] * p.z + matrix[4 * k + 3] * p.w;
    out[i] = make_float4(r[0], r[1], r[2], r[3]);
}

// Newton's method towards the three roots of one.
extern "C" __global__ void newton(int *out, int width) {
    const int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
    float a = (x - 512) * 0.004f, b = (y - 528) * 0.004f;
    int turns = 0;
    for (; turns < 32; ++turns) {
        const float a2 = a * a - b * b, b2 = 2 * a * b, n = 3 * (a2 * a2 + b2 * b2) + 1e-9f;
        const float pa = a2 * a - b2 * b - 1, pb = a2 * b + b2 * a;
        const float da = 3 * (pa * a2 + pb * b2) / (3 * n), db = 3 * (pb * a2 - pa * b2) / (3 * n);
        a -= da, b -= db;
        if (da * da + db * db < 1e-8f) break;
    }
    out[y * width + x] = turns;
}

// A hash of each thread's 32 bytes.
extern "C" __global__ void murmur(const uint4 *in, unsigned *out) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned h = 42;
    for (int part = 0; part < 2; ++part) {
        const uint4 v = in[2 * i + part];
        const unsigned words[4] = {v.x, v.y, v.z, v.w};
        for (int w = 0; w < 4; ++w) {
            unsigned k = words[w] * 0xcc9e2d51u;
            k = (k << 15 | k >> 17) * 0x1b873593u;
            h ^= k, h = (h << 13 | h >> 19) * 5 + 0xe6546b64u;
        }
    }
    h = (h ^ h >> 16) * 0x85ebca6bu, h = (h ^ h >> 13) * 0xc2b2ae35u;
    out[i] = h ^ h >> 16;
}

// Three bytes become four letters.
extern "C" __global__ void base64(const unsigned char *in, unsigned *out) {
    __shared__ unsigned char bytes[768];
    for (int k = threadIdx.x; k < 192; k += 256) ((unsigned *)bytes)[k] = ((const unsigned *)in)[blockIdx.x * 192 + k];
    __syncthreads();
    const unsigned char *mine = bytes + 3 * threadIdx.x;
    const unsigned v = mine[0] << 16 | mine[1] << 8 | mine[2];
    unsigned text = 0;
    for (int k = 0; k < 4; ++k) {
        const unsigned digit = v >> 18 - 6 * k & 63;
        const unsigned letter = digit < 26 ? 'A' + digit : digit < 52 ? 'a' + digit - 26
                              : digit < 62 ? '0' + digit - 52 : digit == 62 ? '+' : '/';
        text |= letter << 8 * k;
    }
    out[blockIdx.x * 256 + threadIdx.x] = text;
}

// How many words begin in each block's text.
extern "C" __global__ void words(const unsigned char *text, int *out) {
    __shared__ int parts[8];
    int count = 0;
    for (int k = threadIdx.x; k < 8192; k += 256) {
        const int at = blockIdx.x * 8192 + k;
        const bool is_letter = text[at] > 64, before = at && text[at - 1] > 64;
        count += __popc(__ballot_sync(~0u, is_letter && !before));
    }
    if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = count;
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int w = 1; w < 8; ++w) count += parts[w];
        out[blockIdx.x] = count;
    }
}

// Gates of a recurrent layer.
extern "C" __global__ void gru(const float *gates, const float *state, float *out, int units) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x, row = i / units, u = i % units;
    const float *g = gates + row * 3 * units + u;
    const float z = 1 / (1 + __expf(-g[0])), r = 1 / (1 + __expf(-g[units])), h = state[i];
    out[i] = (1 - z) * tanhf(g[2 * units] + r * h) + z * h;
}

// A loss for each row of 128 classes, a warp each.
extern "C" __global__ void focal(const float4 *scores, const unsigned *labels, float *out) {
    const int row = blockIdx.x * 8 + threadIdx.x / 32, lane = threadIdx.x % 32;
    const float4 v = scores[row * 32 + lane];
    float most = fmaxf(fmaxf(v.x, v.y), fmaxf(v.z, v.w));
    for (int d = 16; d; d /= 2) most = fmaxf(most, __shfl_xor_sync(~0u, most, d));
    const float e[4] = {__expf(v.x - most), __expf(v.y - most), __expf(v.z - most), __expf(v.w - most)};
    const float all = sum_of_warp(e[0] + e[1] + e[2] + e[3]);
    const unsigned label = labels[row] & 127;
    float mine = 0;
    for (int k = 0; k < 4; ++k) mine = label == lane * 4 + k ? e[k] : mine;
    const float p = sum_of_warp(mine) / all;
    if (lane == 0) out[row] = -(1 - p) * (1 - p) * __logf(p + 1e-9f);
}

// Softmax of rows of 1024 of which row r sees r % 1024 + 1.
extern "C" __global__ void masked(const float *in, float *out) {
    __shared__ float parts[8];
    const int row = blockIdx.x, seen = (row & 1023) + 1, warp = threadIdx.x / 32;
    float v[4], most = -1e30f;
    for (int k = 0; k < 4; ++k) {
        const int c = k * 256 + threadIdx.x;
        v[k] = c < seen ? in[row * 1024 + c] : -1e30f;
        most = fmaxf(most, v[k]);
    }
    for (int d = 16; d; d /= 2) most = fmaxf(most, __shfl_xor_sync(~0u, most, d));
    if (threadIdx.x % 32 == 0) parts[warp] = most;
    __syncthreads();
    for (int w = 0; w < 8; ++w) most = fmaxf(most, parts[w]);
    __syncthreads();
    float sum = 0;
    for (int k = 0; k < 4; ++k) sum += v[k] = __expf(v[k] - most);
    sum = sum_of_warp(sum);
    if (threadIdx.x % 32 == 0) parts[warp] = sum;
    __syncthreads();
    sum = 0;
    for (int w = 0; w < 8; ++w) sum += parts[w];
    for (int k = 0; k < 4; ++k) out[row * 1024 + k * 256 + threadIdx.x] = v[k] / sum;
}

// Every plane of 32 by 32 less its mean, by its deviation.
extern "C" __global__ void instance_norm(const float4 *in, float4 *out) {
    __shared__ float parts[2][8];
    const int i = blockIdx.x * 256 + threadIdx.x, warp = threadIdx.x / 32;
    const float4 v = in[i];
    const float a = sum_of_warp(v.x + v.y + v.z + v.w);
    const float b = sum_of_warp(v.x * v.x + v.y * v.y + v.z * v.z + v.w * v.w);
    if (threadIdx.x % 32 == 0) parts[0][warp] = a, parts[1][warp] = b;
    __syncthreads();
    float sum = 0, squares = 0;
    for (int w = 0; w < 8; ++w) sum += parts[0][w], squares += parts[1][w];
    const float mean = sum / 1024, by = rsqrtf(squares / 1024 - mean * mean + 1e-5f);
    out[i] = make_float4((v.x - mean) * by, (v.y - mean) * by, (v.z - mean) * by, (v.w - mean) * by);
}

// Weights summed up by one of 512 bins, in shared memory.
extern "C" __global__ void weighed(const unsigned *bin, const float *weight, float *out) {
    __shared__ float sums[512];
    for (int k = threadIdx.x; k < 512; k += 256) sums[k] = 0;
    __syncthreads();
    for (int k = 0; k < 16; ++k) {
        const int i = (blockIdx.x * 16 + k) * 256 + threadIdx.x;
        atomicAdd(sums + (bin[i] >> 23), weight[i]);
    }
    __syncthreads();
    for (int k = threadIdx.x; k < 512; k += 256) out[blockIdx.x * 512 + k] = sums[k];
}

// A frontier of a graph: who of its neighbours has no level yet gets the next one.
extern "C" __global__ void frontier(const unsigned *nodes, const unsigned *edges, int *level, int mask, int next) {
    const unsigned node = nodes[blockIdx.x * blockDim.x + threadIdx.x] & mask;
    for (int k = 0; k < 8; ++k) {
        const unsigned other = edges[node * 8 + k] & mask;
        if (level[other] < 0) level[other] = next;
    }
}

// Each label becomes the least of its neighbours'.
extern "C" __global__ void labels(const int *in, int *out, int width) {
    const int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
    const int *at = in + (y + 1) * (width + 2) + x + 1, pitch = width + 2;
    const int mine = *at;
    int least = mine;
    if (mine > 0) {
        least = min(least, at[-1] > 0 ? at[-1] : mine), least = min(least, at[1] > 0 ? at[1] : mine);
        least = min(least, at[-pitch] > 0 ? at[-pitch] : mine), least = min(least, at[pitch] > 0 ? at[pitch] : mine);
    }
    out[y * width + x] = least;
}

// One step of a gas on a lattice of nine speeds, which lie plane by plane.
extern "C" __global__ void lattice(const float *in, float *out, int width, int height) {
    const int x = blockIdx.x * 128 + threadIdx.x, y = blockIdx.y, size = width * height;
    const int dx[9] = {0, 1, 0, -1, 0, 1, -1, -1, 1}, dy[9] = {0, 0, 1, 0, -1, 1, 1, -1, -1};
    const float share[9] = {4 / 9.f, 1 / 9.f, 1 / 9.f, 1 / 9.f, 1 / 9.f, 1 / 36.f, 1 / 36.f, 1 / 36.f, 1 / 36.f};
    float f[9], density = 0, u = 0, v = 0;
    #pragma unroll
    for (int k = 0; k < 9; ++k) {
        const int from_x = (x - dx[k] + width) & width - 1, from_y = min(max(y - dy[k], 0), height - 1);
        f[k] = in[k * size + from_y * width + from_x];
        density += f[k], u += dx[k] * f[k], v += dy[k] * f[k];
    }
    u /= density + 2, v /= density + 2;
    #pragma unroll
    for (int k = 0; k < 9; ++k) {
        const float along = dx[k] * u + dy[k] * v;
        const float rest = share[k] * density * (1 + 3 * along + 4.5f * along * along - 1.5f * (u * u + v * v));
        out[k * size + y * width + x] = f[k] + 0.6f * (rest - f[k]);
    }
}

// Sixty-four rounds over each thread's 64 bytes.
extern "C" __global__ void sha(const uint4 *in, unsigned *out) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned w[16], s[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    for (int k = 0; k < 4; ++k) {
        const uint4 v = in[4 * i + k];
        w[4 * k] = v.x, w[4 * k + 1] = v.y, w[4 * k + 2] = v.z, w[4 * k + 3] = v.w;
    }
    #pragma unroll
    for (int t = 0; t < 64; ++t) {
        if (t >= 16) {
            const unsigned a = w[t + 1 & 15], b = w[t + 14 & 15];
            w[t & 15] += (__funnelshift_r(a, a, 7) ^ __funnelshift_r(a, a, 18) ^ a >> 3) + w[t + 9 & 15]
                       + (__funnelshift_r(b, b, 17) ^ __funnelshift_r(b, b, 19) ^ b >> 10);
        }
        const unsigned e = s[4], a = s[0];
        const unsigned one = s[7] + (__funnelshift_r(e, e, 6) ^ __funnelshift_r(e, e, 11) ^ __funnelshift_r(e, e, 25))
                           + (e & s[5] ^ ~e & s[6]) + (0x428a2f98u + 0x61c88647u * t) + w[t & 15];
        const unsigned two = (__funnelshift_r(a, a, 2) ^ __funnelshift_r(a, a, 13) ^ __funnelshift_r(a, a, 22))
                           + (a & s[1] ^ a & s[2] ^ s[1] & s[2]);
        for (int k = 7; k; --k) s[k] = s[k - 1];
        s[4] += one, s[0] = one + two;
    }
    for (int k = 0; k < 8; ++k) out[k * gridDim.x * blockDim.x + i] = s[k];
}

// Each of 16 bytes by a table in shared memory, four times.
extern "C" __global__ void substituted(const uint4 *in, const unsigned char *table, uint4 *out) {
    __shared__ unsigned char box[256];
    box[threadIdx.x] = table[threadIdx.x];
    __syncthreads();
    const int i = blockIdx.x * 256 + threadIdx.x;
    const uint4 v = in[i];
    unsigned w[4] = {v.x, v.y, v.z, v.w};
    for (int round = 0; round < 4; ++round) {
        unsigned n[4];
        for (int k = 0; k < 4; ++k)
            n[k] = box[w[k] & 255] | box[w[k + 1 & 3] >> 8 & 255] << 8 | box[w[k + 2 & 3] >> 16 & 255] << 16
                 | box[w[k + 3 & 3] >> 24] << 24;
        for (int k = 0; k < 4; ++k) w[k] = n[k] ^ round * 0x01010101u;
    }
    out[i] = make_uint4(w[0], w[1], w[2], w[3]);
}

// Whether a filter of a megabyte may hold each key: four bits of it.
extern "C" __global__ void bloom(const unsigned *keys, const unsigned *bits, unsigned char *out, int mask) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const unsigned key = keys[i], other = key * 2654435761u | 1;
    unsigned found = 1;
    for (int k = 0; k < 4; ++k) {
        const unsigned at = key + k * other;
        found &= bits[at >> 5 & mask] >> (at & 31);
    }
    out[i] = found & 1;
}

// A state of 8 per channel along 64 steps, a thread per channel.
extern "C" __global__ void selective(const float *x, const float *step, const float *b, const float *c, float *y,
                                     int channels) {
    __shared__ float in[64][8], read[64][8];
    const int row = blockIdx.y, at = blockIdx.x * 128 + threadIdx.x;
    for (int k = threadIdx.x; k < 512; k += 128)
        in[k / 8][k % 8] = b[row * 512 + k], read[k / 8][k % 8] = c[row * 512 + k];
    __syncthreads();
    float state[8] = {};
    for (int t = 0; t < 64; ++t) {
        const int i = (row * 64 + t) * channels + at;
        const float d = step[i], v = x[i];
        float sum = 0;
        for (int k = 0; k < 8; ++k) {
            state[k] = state[k] * __expf(-d * d * (k + 1)) + d * in[t][k] * v;
            sum += state[k] * read[t][k];
        }
        y[i] = sum;
    }
}
