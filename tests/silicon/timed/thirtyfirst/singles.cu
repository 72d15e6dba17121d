// Kernels of the thirty-first set that no layout tells apart: sparse rows by slices, smoothed losses, rotated keys put away, averaged steps, baskets, a fluid of particles,
// numbers of several bytes, a stencil of the fourth order, thin edges, a product of few blocks, letters in common.
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#define KERNEL(THREADS) extern "C" __global__ void __launch_bounds__(THREADS)
#define ALL 0xffffffffu

// A sparse matrix by slices of 32 rows, each as long as its longest, by a vector: a thread a row, numbers and columns of a slice side by side.
KERNEL(128) slices_of_rows(const float *values, const unsigned *columns, const float *x, float *out, int length, unsigned mask) {
    const int row = blockIdx.x * 128 + threadIdx.x;
    const size_t first = (size_t)(row >> 5) * length * 32 + (row & 31);
    float sums[4] = {};
    #pragma unroll 1
    for (int k = 0; k < length; k += 4)
        #pragma unroll
        for (int j = 0; j < 4; ++j) sums[j] += values[first + (k + j) * 32] * __ldg(x + (columns[first + (k + j) * 32] & mask));
    out[row] = (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

// The loss of a token over 8192 words with smoothed labels and a penalty on the sum's logarithm, and its gradient in the logits' place: a block a token, all in registers.
KERNEL(256) smoothed_loss(const uint4 *logits, const unsigned *labels, uint4 *gradient, float2 *losses, float smooth, float penalty) {
    __shared__ float tops[8], sums[8], whole[8], right;
    const int t = threadIdx.x, lane = t & 31, warp = t >> 5;
    uint4 v[4];
    #pragma unroll
    for (int n = 0; n < 4; ++n) v[n] = logits[(size_t)blockIdx.x * 1024 + n * 256 + t];
    const unsigned label = labels[blockIdx.x] & 8191u;
    float x[32], top = -1e30f, all = 0.0f;
    #pragma unroll
    for (int k = 0; k < 16; ++k) {
        const unsigned word = k % 4 == 0 ? v[k / 4].x : k % 4 == 1 ? v[k / 4].y : k % 4 == 2 ? v[k / 4].z : v[k / 4].w;
        const float2 pair = __half22float2(*reinterpret_cast<const __half2 *>(&word));
        x[k * 2] = pair.x * 8.0f, x[k * 2 + 1] = pair.y * 8.0f;
        top = fmaxf(top, fmaxf(x[k * 2], x[k * 2 + 1])), all += x[k * 2] + x[k * 2 + 1];
    }
    #pragma unroll
    for (int offset = 16; offset > 0; offset >>= 1) top = fmaxf(top, __shfl_xor_sync(ALL, top, offset)), all += __shfl_xor_sync(ALL, all, offset);
    if (lane == 0) tops[warp] = top, whole[warp] = all;
    __syncthreads();
    all = 0.0f;
    #pragma unroll
    for (int w = 0; w < 8; ++w) top = fmaxf(top, tops[w]), all += whole[w];
    float sum = 0.0f;
    #pragma unroll
    for (int k = 0; k < 32; ++k) {
        const unsigned word = (k / 8 * 256 + t) * 8 + k % 8;
        if (word == label) right = x[k];
        x[k] = __expf(x[k] - top), sum += x[k];
    }
    #pragma unroll
    for (int offset = 16; offset > 0; offset >>= 1) sum += __shfl_xor_sync(ALL, sum, offset);
    if (lane == 0) sums[warp] = sum;
    __syncthreads();
    sum = 0.0f;
    #pragma unroll
    for (int w = 0; w < 8; ++w) sum += sums[w];
    const float norm = top + __logf(sum), part = (1.0f + 2.0f * penalty * norm) / sum, even = smooth * (1.0f / 8192.0f);
    if (t == 0) losses[blockIdx.x] = make_float2(norm - (1.0f - smooth) * right - even * all + penalty * norm * norm, norm);
    #pragma unroll
    for (int n = 0; n < 4; ++n) {
        unsigned words[4];
        #pragma unroll
        for (int w = 0; w < 4; ++w) {
            float g[2];
            #pragma unroll
            for (int h = 0; h < 2; ++h) g[h] = x[n * 8 + w * 2 + h] * part - even - ((n * 256 + t) * 8 + w * 2 + h == label ? 1.0f - smooth : 0.0f);
            const __half2 pair = __floats2half2_rn(g[0], g[1]);
            words[w] = *reinterpret_cast<const unsigned *>(&pair);
        }
        gradient[(size_t)blockIdx.x * 1024 + n * 256 + t] = make_uint4(words[0], words[1], words[2], words[3]);
    }
}

// Keys rotated by where their tokens stand, halves of a head as pairs, and put with the values where a table of places says: a block two tokens of sixteen heads of 128.
KERNEL(256) keys_put_away(const __half2 *k, const __half2 *v, __half2 *keys, __half2 *values, int tokens, unsigned step, float base) {
    const int t = threadIdx.x & 127, token = blockIdx.x * 2 + (threadIdx.x >> 7);
    const unsigned slot = (unsigned)token * step & (unsigned)(tokens - 1);
    const size_t from = (size_t)token * 1024, to = (size_t)slot * 1024;
    const int pair = t & 31;
    float2 turn[2];
    #pragma unroll
    for (int h = 0; h < 2; ++h) __sincosf((float)token * exp2f(-(float)(pair * 2 + h) * base), &turn[h].y, &turn[h].x);
    #pragma unroll
    for (int n = 0; n < 4; ++n) {
        const int head = (n * 4 + (t >> 5)) * 64 + pair;
        const float2 a = __half22float2(k[from + head]), b = __half22float2(k[from + head + 32]);
        keys[to + head] = __floats2half2_rn(a.x * turn[0].x - b.x * turn[0].y, a.y * turn[1].x - b.y * turn[1].y);
        keys[to + head + 32] = __floats2half2_rn(b.x * turn[0].x + a.x * turn[0].y, b.y * turn[1].x + a.y * turn[1].y);
    }
    #pragma unroll
    for (int n = 0; n < 2; ++n) reinterpret_cast<uint4 *>(values + to)[n * 128 + t] = reinterpret_cast<const uint4 *>(v + from)[n * 128 + t];
}

// Steps of Adam without a schedule: weights are kept as where the gradient was asked and as their average, by one of which the other is moved.
KERNEL(256) averaged_steps(const float4 *gradient, float4 *asked, float4 *base, float4 *squares, int count, float rate, float share, float decay) {
    #pragma unroll 2
    for (int p = blockIdx.x * 256 + threadIdx.x; p < count; p += gridDim.x * 256) {
        const float4 g = gradient[p];
        float4 y = asked[p], z = base[p], v = squares[p];
        const auto step = [&](float g, float &y, float &z, float &v) {
            v = 0.999f * v + 0.001f * g * g;
            const float move = g * rsqrtf(v * 1.5f + 1e-8f) + decay * y;
            const float mean = (y - 0.1f * z) * (1.0f / 0.9f);
            z -= rate * move;
            const float next = (1.0f - share) * mean + share * z;
            y = 0.9f * next + 0.1f * z;
        };
        step(g.x, y.x, z.x, v.x), step(g.y, y.y, z.y, v.y), step(g.z, y.z, z.z, v.z), step(g.w, y.w, z.w, v.w);
        asked[p] = y, base[p] = z, squares[p] = v;
    }
}

// An option on a basket of four that move together: a thread a path and its mirror, numbers by xoshiro128++, normal by Box and Muller; the mean of each block.
KERNEL(128) baskets(const uint4 *seeds, const float *together, float2 *out, int steps, float strike) {
    __shared__ float2 sums[4];
    const int t = threadIdx.x, own = blockIdx.x * 128 + t;
    uint4 s = seeds[own];
    s.x |= 1u;
    const auto random = [&]() {
        const unsigned sum = s.x + s.w, result = __funnelshift_l(sum, sum, 7) + s.x, moved = s.y << 9;
        s.z ^= s.x, s.w ^= s.y, s.y ^= s.z, s.x ^= s.w, s.z ^= moved, s.w = __funnelshift_l(s.w, s.w, 11);
        return result;
    };
    float lower[10], a[4] = {}, b[4] = {};
    #pragma unroll
    for (int k = 0; k < 10; ++k) lower[k] = together[k] * 0.02f + 0.03f;
    #pragma unroll 1
    for (int step = 0; step < steps; ++step) {
        float z[4];
        #pragma unroll
        for (int k = 0; k < 4; k += 2) {
            const float far = sqrtf(-2.0f * __logf((float)(random() >> 8) * 5.9604645e-8f + 3e-8f)), angle = (float)(random() >> 8) * 3.7450703e-7f;
            __sincosf(angle, &z[k + 1], &z[k]);
            z[k] *= far, z[k + 1] *= far;
        }
        #pragma unroll
        for (int i = 0; i < 4; ++i) {
            float move = 0.0f;
            #pragma unroll
            for (int j = 0; j <= i; ++j) move += lower[i * (i + 1) / 2 + j] * z[j];
            a[i] += move - 0.0008f, b[i] -= move + 0.0008f;
        }
    }
    float one = 0.0f, other = 0.0f;
    #pragma unroll
    for (int i = 0; i < 4; ++i) one += __expf(a[i]), other += __expf(b[i]);
    float paid = 0.5f * (fmaxf(0.25f * one - strike, 0.0f) + fmaxf(0.25f * other - strike, 0.0f)), square = paid * paid;
    #pragma unroll
    for (int offset = 16; offset > 0; offset >>= 1) paid += __shfl_xor_sync(ALL, paid, offset), square += __shfl_xor_sync(ALL, square, offset);
    if (t % 32 == 0) sums[t / 32] = make_float2(paid, square);
    __syncthreads();
    if (t == 0) out[blockIdx.x] = make_float2((sums[0].x + sums[1].x + sums[2].x + sums[3].x) / 128.0f, (sums[0].y + sums[1].y + sums[2].y + sums[3].y) / 128.0f);
}

// How dense a fluid of particles is, and which way it presses (SPH): a block 192 particles, those of its neighbours in dynamic shared memory one block after the other.
KERNEL(192) particles_dense(const float4 *particles, float4 *out, int near, float reach) {
    extern __shared__ float4 held[];
    const int t = threadIdx.x;
    const float4 own = particles[blockIdx.x * 192 + t];
    float density = 0.0f, x = 0.0f, y = 0.0f, z = 0.0f;
    const float range = reach * reach, inverse = 1.0f / reach;
    #pragma unroll 1
    for (int tile = 0; tile < near; ++tile) {
        const int from = (blockIdx.x + tile * 5) % gridDim.x;
        __syncthreads();
        held[t] = particles[from * 192 + t];
        __syncthreads();
        #pragma unroll 4
        for (int k = 0; k < 192; ++k) {
            const float4 other = held[k];
            const float dx = own.x - other.x, dy = own.y - other.y, dz = own.z - other.z, square = dx * dx + dy * dy + dz * dz;
            if (square < range) {
                const float left = range - square, far = sqrtf(square), mass = 1.0f + 0.5f * other.w, steep = 1.0f - far * inverse;
                density += mass * left * left * left;
                const float push = mass * steep * steep / (far + 0.01f);
                x += push * dx, y += push * dy, z += push * dz;
            }
        }
    }
    out[blockIdx.x * 192 + t] = make_float4(density, x, y, z);
}

// Numbers of one to five bytes, seven bits each and whether more follow (LEB128), read from a stream of its own by each thread: how many, and their sum by zigzag.
KERNEL(128) several_bytes(const unsigned *in, int2 *out, int streams, int words) {
    const int own = blockIdx.x * 128 + threadIdx.x, bytes = words * 4;
    int place = 0, count = 0, sum = 0;
    unsigned word = 0;
    const auto next = [&]() {
        if ((place & 3) == 0) word = in[(size_t)(place >> 2) * streams + own];
        else word >>= 8;
        ++place;
        return word & 255u;
    };
    #pragma unroll 1
    while (place < bytes) {
        unsigned byte = next(), value = byte & 127u, shift = 7;
        #pragma unroll 1
        while ((byte & 128u) && place < bytes && shift < 35u) {
            byte = next();
            value |= (byte & 127u) << min(shift, 31u), shift += 7;
        }
        ++count, sum += (int)(value >> 1) ^ -(int)(value & 1u);
    }
    out[own] = make_int2(count, sum);
}

// A wave in three dimensions by differences of the fourth order: planes of 32 by 8 with a rim of two in shared memory, five planes deep in registers.
KERNEL(256) fourth_order(const float *in, const float *before, float *out, int width, int height, int depth, int planes, float rate) {
    __shared__ float plane[12][36];
    const int tx = threadIdx.x, ty = threadIdx.y, x = blockIdx.x * 32 + tx, y = blockIdx.y * 8 + ty, first = blockIdx.z * planes;
    const size_t slice = (size_t)width * height, own = (size_t)y * width + x;
    const auto level = [&](int z) { return (size_t)min(max(z, 0), depth - 1) * slice; };
    float back2 = in[level(first - 2) + own], back1 = in[level(first - 1) + own], now = in[level(first) + own], ahead1 = in[level(first + 1) + own];
    #pragma unroll 1
    for (int z = first; z < first + planes; ++z) {
        const float ahead2 = in[level(z + 2) + own];
        __syncthreads();
        plane[ty + 2][tx + 2] = now;
        if (ty < 2) {
            plane[ty][tx + 2] = in[level(z) + (size_t)max(y - 2, 0) * width + x];
            plane[ty + 10][tx + 2] = in[level(z) + (size_t)min(y + 8, height - 1) * width + x];
        }
        if (tx < 2) {
            plane[ty + 2][tx] = in[level(z) + (size_t)y * width + max(x - 2, 0)];
            plane[ty + 2][tx + 34] = in[level(z) + (size_t)y * width + min(x + 32, width - 1)];
        }
        __syncthreads();
        const float beside = plane[ty + 2][tx + 1] + plane[ty + 2][tx + 3] + plane[ty + 1][tx + 2] + plane[ty + 3][tx + 2] + back1 + ahead1;
        const float further = plane[ty + 2][tx] + plane[ty + 2][tx + 4] + plane[ty][tx + 2] + plane[ty + 4][tx + 2] + back2 + ahead2;
        const float curved = 1.3333333f * beside - 0.083333333f * further - 7.5f * now;
        const size_t place = level(z) + own;
        out[place] = 2.0f * now - before[place] + rate * curved;
        back2 = back1, back1 = now, now = ahead1, ahead1 = ahead2;
    }
}

// Edges a point wide (Canny's second step): how steep a picture of bytes is by Sobel in a tile with a rim, and what is not the steepest across its edge taken out.
KERNEL(512) thin_edges(const unsigned char *in, unsigned char *out, int width, int height, float low, float high) {
    __shared__ float bright[20][37], steep[18][35];
    const int t = threadIdx.y * 32 + threadIdx.x, x0 = blockIdx.x * 32, y0 = blockIdx.y * 16;
    for (int p = t; p < 20 * 36; p += 512) {
        const int x = min(max(x0 + p % 36 - 2, 0), width - 1), y = min(max(y0 + p / 36 - 2, 0), height - 1);
        bright[p / 36][p % 36] = (float)in[(size_t)y * width + x];
    }
    __syncthreads();
    const auto slope = [&](int y, int x, float &dx, float &dy) {
        const float a = bright[y][x], b = bright[y][x + 1], c = bright[y][x + 2], d = bright[y + 1][x], e = bright[y + 1][x + 2], f = bright[y + 2][x], g = bright[y + 2][x + 1], h = bright[y + 2][x + 2];
        dx = c + 2.0f * e + h - a - 2.0f * d - f, dy = f + 2.0f * g + h - a - 2.0f * b - c;
        return sqrtf(dx * dx + dy * dy);
    };
    for (int p = t; p < 18 * 34; p += 512) {
        float dx, dy;
        steep[p / 34][p % 34] = slope(p / 34, p % 34, dx, dy);
    }
    __syncthreads();
    const int x = threadIdx.x + 1, y = threadIdx.y + 1;
    float dx, dy;
    slope(y, x, dx, dy);
    const float own = steep[y][x], along = fabsf(dx), down = fabsf(dy);
    const int sx = down > 2.4142136f * along ? 0 : 1, sy = along > 2.4142136f * down ? 0 : (dx * dy < 0.0f && sx ? -1 : 1);
    const bool edge = own >= steep[y + sy][x + sx] && own > steep[y - sy][x - sx];
    out[(size_t)(y0 + threadIdx.y) * width + x0 + threadIdx.x] = edge && own > low ? (own > high ? 255 : 128) : 0;
}

// Weights in bytes, a scale a row, by one vector of halves: 96 blocks of 32 warps for all rows, the vector as floats in dynamic shared memory; bytes become floats by their bits.
KERNEL(1024) few_blocks_bytes(const uint4 *weights, const __half *x, const float *scales, float *out, int rows, int depth) {
    extern __shared__ float numbers[];
    __shared__ float sums[32];
    const int t = threadIdx.x, lane = t & 31, warp = t >> 5;
    float part = 0.0f;
    for (int k = t; k < depth; k += 1024) {
        const float v = __half2float(x[k]);
        numbers[(k & 15) * (depth / 16) + (k >> 4)] = v, part += v;
    }
    #pragma unroll
    for (int offset = 16; offset > 0; offset >>= 1) part += __shfl_xor_sync(ALL, part, offset);
    if (lane == 0) sums[warp] = part;
    __syncthreads();
    part = sums[lane];
    #pragma unroll
    for (int offset = 16; offset > 0; offset >>= 1) part += __shfl_xor_sync(ALL, part, offset);
    #pragma unroll 1
    for (int row = blockIdx.x * 32 + warp; row < rows; row += gridDim.x * 32) {
        const uint4 *own = weights + (size_t)row * (depth / 16);
        float sum = 0.0f;
        #pragma unroll 2
        for (int k = lane; k < depth / 16; k += 32) {
            const uint4 v = __ldcs(own + k);
            const unsigned words[4] = {v.x, v.y, v.z, v.w};
            #pragma unroll
            for (int w = 0; w < 4; ++w)
                #pragma unroll
                for (int b = 0; b < 4; ++b) sum += (__uint_as_float(__byte_perm(words[w], 0x4b000000u, 0x7440 + b)) - 8388608.0f) * numbers[(w * 4 + b) * (depth / 16) + k];
        }
        #pragma unroll
        for (int offset = 16; offset > 0; offset >>= 1) sum += __shfl_xor_sync(ALL, sum, offset);
        if (lane == 0) out[row] = (sum - 128.0f * part) * scales[row];
    }
}

// How many letters two texts of 128 have in common and in order: a warp a pair, a lane four letters of one, the other's passed along by shuffles, a diagonal after the other.
KERNEL(32) letters_in_order(const unsigned *one, const unsigned *other, unsigned *out, int pairs) {
    const int lane = threadIdx.x;
    unsigned mixed = 0;
    #pragma unroll 1
    for (int n = 0; n < pairs; ++n) {
        const size_t own = ((size_t)blockIdx.x * pairs + n) * 32 + lane;
        const unsigned mine = one[own] & 0x03030303u, theirs = other[own] & 0x03030303u;
        int h[4] = {}, corner = 0;
        unsigned letter = 0;
        #pragma unroll 1
        for (int step = 0; step < 128 + 31; ++step) {
            const unsigned word = __shfl_sync(ALL, theirs, min(step >> 2, 31));
            const unsigned passed = __shfl_up_sync(ALL, letter, 1);
            const int beside = __shfl_up_sync(ALL, h[3], 1);
            letter = lane ? passed : word >> (step & 3) * 8 & 255u;
            const int left = lane ? beside : 0, row = step - lane;
            if (row >= 0 && row < 128) {
                int diagonal = corner, before = left;
                #pragma unroll
                for (int k = 0; k < 4; ++k) {
                    const int up = h[k];
                    h[k] = (mine >> k * 8 & 255u) == letter ? diagonal + 1 : max(up, before);
                    diagonal = up, before = h[k];
                }
                corner = left;
            }
        }
        mixed = mixed * 131u + __shfl_sync(ALL, h[3], 31);
    }
    if (lane == 0) out[blockIdx.x] = mixed;
}
