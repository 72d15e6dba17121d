// Kernels of the thirty-second set that no layout tells apart: words with their places normed, rows to bytes by their norm, generations of life, bodies in doubles, the
// largest of rows, networks that sort, a step of a pyramid, words drawn, weights of four bits by a table, a first convolution.
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#define KERNEL(THREADS) extern "C" __global__ void __launch_bounds__(THREADS)
#define ALL 0xffffffffu

__device__ __forceinline__ float summed(float x) {
    #pragma unroll
    for (int offset = 16; offset; offset >>= 1) x += __shfl_xor_sync(ALL, x, offset);
    return x;
}
__device__ __forceinline__ void widened(float *to, uint4 v) {
    const unsigned words[4] = {v.x, v.y, v.z, v.w};
    #pragma unroll
    for (int w = 0; w < 4; ++w) {
        const float2 two = __half22float2(*reinterpret_cast<const __half2 *>(&words[w]));
        to[w * 2] = two.x, to[w * 2 + 1] = two.y;
    }
}
__device__ __forceinline__ unsigned both(float x, float y) {
    const __half2 v = __floats2half2_rn(x, y);
    return *reinterpret_cast<const unsigned *>(&v);
}

// The vector of a word and that of its place, added and normed: 1024 halves a token, a warp a token.
KERNEL(128) placed_words(const unsigned *words, const uint4 *table, const uint4 *places, const uint4 *gains, const uint4 *shifts, uint4 *out, unsigned word_mask, unsigned place_mask) {
    const int lane = threadIdx.x & 31, token = blockIdx.x * 4 + (threadIdx.x >> 5);
    const uint4 *word = table + (size_t)(words[token] & word_mask) * 128, *place = places + (size_t)(token & place_mask) * 128;
    float x[32], sum = 0.0f, square = 0.0f;
    #pragma unroll
    for (int n = 0; n < 4; ++n) {
        float more[8];
        widened(x + n * 8, word[n * 32 + lane]), widened(more, place[n * 32 + lane]);
        #pragma unroll
        for (int k = 0; k < 8; ++k) x[n * 8 + k] += more[k], sum += x[n * 8 + k];
    }
    const float mean = summed(sum) * (1.0f / 1024.0f);
    #pragma unroll
    for (int k = 0; k < 32; ++k) square += (x[k] - mean) * (x[k] - mean);
    const float scale = rsqrtf(summed(square) * (1.0f / 1024.0f) + 1e-5f);
    #pragma unroll
    for (int n = 0; n < 4; ++n) {
        float gain[8], shift[8], y[8];
        widened(gain, gains[n * 32 + lane]), widened(shift, shifts[n * 32 + lane]);
        #pragma unroll
        for (int k = 0; k < 8; ++k) y[k] = (x[n * 8 + k] - mean) * scale * gain[k] + shift[k];
        out[(size_t)token * 128 + n * 32 + lane] = make_uint4(both(y[0], y[1]), both(y[2], y[3]), both(y[4], y[5]), both(y[6], y[7]));
    }
}

// Rows of 4096 halves by their root mean square and gains, then made bytes by their largest: a block a row, kept in registers between.
KERNEL(256) normed_bytes(const uint4 *in, const uint4 *gains, uint2 *out, float *scales) {
    __shared__ float squares[8], tops[8];
    const int t = threadIdx.x, lane = t & 31, warp = t >> 5;
    float x[16], square = 0.0f, top = 0.0f;
    #pragma unroll
    for (int n = 0; n < 2; ++n) {
        float gain[8];
        widened(x + n * 8, in[(size_t)blockIdx.x * 512 + n * 256 + t]), widened(gain, gains[n * 256 + t]);
        #pragma unroll
        for (int k = 0; k < 8; ++k) square += x[n * 8 + k] * x[n * 8 + k], x[n * 8 + k] *= gain[k], top = fmaxf(top, fabsf(x[n * 8 + k]));
    }
    square = summed(square);
    #pragma unroll
    for (int offset = 16; offset; offset >>= 1) top = fmaxf(top, __shfl_xor_sync(ALL, top, offset));
    if (lane == 0) squares[warp] = square, tops[warp] = top;
    __syncthreads();
    square = 0.0f;
    #pragma unroll
    for (int w = 0; w < 8; ++w) square += squares[w], top = fmaxf(top, tops[w]);
    top = fmaxf(top, 1e-6f);
    if (t == 0) scales[blockIdx.x] = top * rsqrtf(square * (1.0f / 4096.0f) + 1e-6f) * (1.0f / 127.0f);
    const float by = 127.0f / top;
    #pragma unroll
    for (int n = 0; n < 2; ++n) {
        unsigned words[2] = {};
        #pragma unroll
        for (int k = 0; k < 8; ++k) words[k >> 2] |= ((unsigned)__float2int_rn(x[n * 8 + k] * by) & 255u) << (k & 3) * 8;
        out[(size_t)blockIdx.x * 512 + n * 256 + t] = make_uint2(words[0], words[1]);
    }
}

// Four generations of life on a torus of bytes: tiles of 64 by 32 with four cells more on each side, a generation from one array of shared memory to the other.
KERNEL(256) generations(const unsigned char *in, unsigned char *out, int width, int height) {
    __shared__ unsigned char cells[2][40 * 72];
    const int t = threadIdx.x;
    for (int p = t; p < 40 * 72; p += 256) {
        int y = (int)blockIdx.y * 32 + p / 72 - 4, x = (int)blockIdx.x * 64 + p % 72 - 4;
        y += y < 0 ? height : y >= height ? -height : 0, x += x < 0 ? width : x >= width ? -width : 0;
        cells[0][p] = in[(size_t)y * width + x] & 1;
    }
    #pragma unroll
    for (int step = 1; step <= 4; ++step) {
        const int across = 72 - 2 * step, down = 40 - 2 * step;
        const unsigned char *from = cells[step + 1 & 1];
        unsigned char *to = cells[step & 1];
        __syncthreads();
        for (int p = t; p < across * down; p += 256) {
            const int place = (p / across + step) * 72 + p % across + step;
            int near = 0;
            #pragma unroll
            for (int dy = -1; dy <= 1; ++dy) near += from[place + dy * 72 - 1] + from[place + dy * 72] + from[place + dy * 72 + 1];
            const int own = from[place];
            to[place] = near == 3 || (own && near == 4);
        }
    }
    __syncthreads();
    #pragma unroll
    for (int n = 0; n < 8; ++n) {
        const int p = n * 256 + t;
        out[((size_t)blockIdx.y * 32 + (p >> 6)) * width + blockIdx.x * 64 + (p & 63)] = cells[0][((p >> 6) + 4) * 72 + (p & 63) + 4];
    }
}

// Gravity in doubles: a body a thread, the sources by tiles of 128 in shared memory, which all threads read at once.
KERNEL(128) bodies_in_doubles(const double2 *bodies, const double2 *sources, double *out, int tiles, double soft) {
    __shared__ double2 planes[2][128];
    const int t = threadIdx.x, body = blockIdx.x * 128 + t;
    const double2 own = bodies[body * 2], depth = bodies[body * 2 + 1];
    double x = 0.0, y = 0.0, z = 0.0;
    #pragma unroll 1
    for (int tile = 0; tile < tiles; ++tile) {
        const double2 first = sources[(tile * 128 + t) * 2], second = sources[(tile * 128 + t) * 2 + 1];
        __syncthreads();
        planes[0][t] = first, planes[1][t] = second;
        __syncthreads();
        #pragma unroll 4
        for (int k = 0; k < 128; ++k) {
            const double2 a = planes[0][k], b = planes[1][k];
            const double dx = a.x - own.x, dy = a.y - own.y, dz = b.x - depth.x, square = dx * dx + dy * dy + dz * dz + soft;
            double one = (double)rsqrtf((float)square);
            one = one * (1.5 - 0.5 * square * one * one);
            const double pull = b.y * one * one * one;
            x += pull * dx, y += pull * dy, z += pull * dz;
        }
    }
    out[body] = x, out[gridDim.x * 128 + body] = y, out[gridDim.x * 256 + body] = z;
}

// The 32 largest of rows of 2048, in order: a warp a row, each 32 sorted by exchanges between lanes, then merged into those that lead.
KERNEL(128) leading_of_rows(const float *in, float *out, int length) {
    const int lane = threadIdx.x & 31, row = blockIdx.x * 4 + (threadIdx.x >> 5);
    const auto step = [&](float x, int offset, bool larger) {
        const float other = __shfl_xor_sync(ALL, x, offset);
        return larger == ((lane & offset) == 0) ? fmaxf(x, other) : fminf(x, other);
    };
    float best = -1e30f, next = in[(size_t)row * length + lane];
    #pragma unroll 1
    for (int k = 0; k < length; k += 32) {
        float x = next;
        if (k + 32 < length) next = in[(size_t)row * length + k + 32 + lane];
        #pragma unroll
        for (int size = 2; size <= 32; size <<= 1)
            #pragma unroll
            for (int offset = size >> 1; offset; offset >>= 1) x = step(x, offset, size == 32 ? false : (lane & size) != 0);
        best = fmaxf(best, x);
        #pragma unroll
        for (int offset = 16; offset; offset >>= 1) best = step(best, offset, true);
    }
    out[row * 32 + lane] = best;
}

// Thirty-two keys a thread sorted in registers by Batcher's network of odd and even merges.
KERNEL(128) batcher_network(const unsigned *in, unsigned *out, int count) {
    const int own = blockIdx.x * 128 + threadIdx.x;
    unsigned v[32];
    #pragma unroll
    for (int k = 0; k < 32; ++k) v[k] = in[(size_t)k * count + own];
    #pragma unroll
    for (int size = 1; size < 32; size *= 2)
        #pragma unroll
        for (int step = size; step; step /= 2)
            #pragma unroll
            for (int k = 0; k < 32; ++k) {
                const int from = step % size;
                if (k >= from && (k - from) % (step * 2) < step && k + step < 32 && k / (size * 2) == (k + step) / (size * 2)) {
                    const unsigned low = min(v[k], v[k + step]), high = max(v[k], v[k + step]);
                    v[k] = low, v[k + step] = high;
                }
            }
    #pragma unroll
    for (int k = 0; k < 32; ++k) out[(size_t)k * count + own] = v[k];
}

// A step of a pyramid: 5 by 5 of binomial weights, along rows and then columns, every second pixel kept; edges repeat.
KERNEL(256) pyramid_step(const float *in, float *out, int width, int height) {
    __shared__ float held[35 * 68], along[35 * 32];
    const int x = threadIdx.x, y = threadIdx.y, t = y * 32 + x;
    for (int p = t; p < 35 * 67; p += 256) {
        const int row = p / 67, column = p % 67;
        held[row * 68 + column] = in[(size_t)min(max((int)blockIdx.y * 32 + row - 2, 0), height - 1) * width + min(max((int)blockIdx.x * 64 + column - 2, 0), width - 1)];
    }
    __syncthreads();
    for (int row = y; row < 35; row += 8) {
        const float *from = held + row * 68 + x * 2;
        along[row * 32 + x] = (from[0] + from[4] + 4.0f * (from[1] + from[3]) + 6.0f * from[2]) * 0.0625f;
    }
    __syncthreads();
    #pragma unroll
    for (int n = 0; n < 2; ++n) {
        const float *from = along + (n * 8 + y) * 64 + x;
        out[((size_t)blockIdx.y * 16 + n * 8 + y) * (width / 2) + blockIdx.x * 32 + x] = (from[0] + from[128] + 4.0f * (from[32] + from[96]) + 6.0f * from[64]) * 0.0625f;
    }
}

// A word drawn for each row of 8192 logits: exponentials, running sums over the block, and the first word whose sum passes the row's share of the whole.
KERNEL(256) words_drawn(const uint4 *logits, const float *draws, unsigned *out, float heat) {
    __shared__ float tops[8], sums[8];
    const int t = threadIdx.x, lane = t & 31, warp = t >> 5;
    float x[32], top = -1e30f, own = 0.0f;
    #pragma unroll
    for (int n = 0; n < 4; ++n) widened(x + n * 8, logits[(size_t)blockIdx.x * 1024 + t * 4 + n]);
    #pragma unroll
    for (int k = 0; k < 32; ++k) top = fmaxf(top, x[k]);
    #pragma unroll
    for (int offset = 16; offset; offset >>= 1) top = fmaxf(top, __shfl_xor_sync(ALL, top, offset));
    if (lane == 0) tops[warp] = top;
    __syncthreads();
    #pragma unroll
    for (int w = 0; w < 8; ++w) top = fmaxf(top, tops[w]);
    #pragma unroll
    for (int k = 0; k < 32; ++k) x[k] = __expf((x[k] - top) * heat), own += x[k];
    float run = own;
    #pragma unroll
    for (int offset = 1; offset < 32; offset <<= 1) {
        const float other = __shfl_up_sync(ALL, run, offset);
        if (lane >= offset) run += other;
    }
    float before = __shfl_up_sync(ALL, run, 1);
    if (lane == 0) before = 0.0f;
    if (lane == 31) sums[warp] = run;
    __syncthreads();
    float whole = 0.0f, sooner = 0.0f;
    #pragma unroll
    for (int w = 0; w < 8; ++w) sooner = w == warp ? whole : sooner, whole += sums[w];
    const float sought = fabsf(draws[blockIdx.x]) * 0.999f * whole;
    before += sooner;
    int passed = 0;
    #pragma unroll
    for (int k = 0; k < 32; ++k) before += x[k], passed += before <= sought;
    if (passed == 32) passed = 0;
    else passed = t * 32 + passed + 1;
    const unsigned first = __reduce_min_sync(ALL, passed ? (unsigned)passed : 8192u);
    __syncthreads();
    unsigned *firsts = reinterpret_cast<unsigned *>(tops);
    if (lane == 0) firsts[warp] = first;
    __syncthreads();
    if (t == 0) {
        unsigned least = firsts[0];
        for (int w = 1; w < 8; ++w) least = min(least, firsts[w]);
        out[blockIdx.x] = least - 1;
    }
}

// Weights of four bits by a table of sixteen, which lanes hold and hand to each other, with a scale for each 64: eight weights a word become halves.
KERNEL(256) normal_fours(const unsigned *codes, const float *scales, const float *table, uint4 *out, int count) {
    const float held = table[threadIdx.x & 15];
    #pragma unroll 2
    for (int p = blockIdx.x * 256 + threadIdx.x; p < count; p += gridDim.x * 256) {
        const unsigned word = codes[p];
        const float scale = scales[p >> 3];
        float v[8];
        #pragma unroll
        for (int k = 0; k < 8; ++k) v[k] = __shfl_sync(ALL, held, word >> k * 4 & 15u) * scale;
        out[p] = make_uint4(both(v[0], v[1]), both(v[2], v[3]), both(v[4], v[5]), both(v[6], v[7]));
    }
}

// The first layer of a net for pictures: 3 by 3 by three colours to sixteen channels, every second pixel, ReLU; planes of 128 by 128, weights read by all lanes at once.
KERNEL(256) first_pictures(const float *in, const float *weights, const float *bias, float *out) {
    __shared__ __align__(16) float held[27 * 16];
    const int t = threadIdx.x, x = t & 63, y = blockIdx.x * 4 + (t >> 6);
    for (int p = t; p < 432; p += 256) held[p] = weights[p];
    __syncthreads();
    float sums[16];
    #pragma unroll
    for (int c = 0; c < 16; ++c) sums[c] = bias[c];
    #pragma unroll 1
    for (int colour = 0; colour < 3; ++colour) {
        const float *plane = in + ((size_t)blockIdx.y * 3 + colour) * 16384;
        #pragma unroll
        for (int tap = 0; tap < 9; ++tap) {
            const int row = y * 2 + tap / 3 - 1, column = x * 2 + tap % 3 - 1;
            const float pixel = row >= 0 && column >= 0 ? plane[row * 128 + column] : 0.0f;
            #pragma unroll
            for (int c = 0; c < 16; c += 4) {
                const float4 by = *reinterpret_cast<const float4 *>(held + (colour * 9 + tap) * 16 + c);
                sums[c] += pixel * by.x, sums[c + 1] += pixel * by.y, sums[c + 2] += pixel * by.z, sums[c + 3] += pixel * by.w;
            }
        }
    }
    #pragma unroll
    for (int c = 0; c < 16; ++c) out[(((size_t)blockIdx.y * 16 + c) * 64 + y) * 64 + x] = fmaxf(sums[c], 0.0f);
}
