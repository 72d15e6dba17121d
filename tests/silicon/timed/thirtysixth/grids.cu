// Grids of the thirty-sixth set: taps over channels, a network that sorts, Fourier lines by fours, diagonals of two words, a sparse matrix by products, digits that order keys, and,
// where no layout differs, a smoothing filter, a fractal, bodies that pull each other, boxes of 27 cells.
#include <cuda_runtime.h>

// ---------------------------------------------------------------------------------------------------------------------
// A convolution of 3 x 3 taps, sixteen channels to two: 64 x 8 pixels a block, four neighbours a thread; a channel's tile with its rim is in shared memory.
// Skewed rows leave a word out after each 32.
template <bool SKEWED> __device__ __forceinline__ void taps_of_channels(const float *in, const float *taps, float *out, int width, int height) {
    constexpr int PITCH = SKEWED ? 70 : 67;
    __shared__ float tile[10 * PITCH];
    __shared__ float weights[16 * 2 * 9];
    const int t = threadIdx.x, tx = t % 16, ty = t / 16, x0 = blockIdx.x * 64, y0 = blockIdx.y * 8;
    auto at = [](int y, int x) { return y * PITCH + (SKEWED ? x + x / 32 : x); };
    for (int i = t; i < 288; i += 128) weights[i] = taps[i];
    float sums[2][4] = {};
#pragma unroll 1
    for (int c = 0; c < 16; c++) {
        const float *plane = in + (size_t)c * width * height;
        __syncthreads();
        for (int i = t; i < 10 * 66; i += 128) {
            const int y = i / 66, x = i % 66, py = y0 + y - 1, px = x0 + x - 1;
            tile[at(y, x)] = py >= 0 && py < height && px >= 0 && px < width ? plane[(size_t)py * width + px] : 0.0f;
        }
        __syncthreads();
#pragma unroll
        for (int dy = 0; dy < 3; dy++) {
            float v[6];
#pragma unroll
            for (int e = 0; e < 6; e++) v[e] = tile[at(ty + dy, tx * 4 + e)];
#pragma unroll
            for (int o = 0; o < 2; o++)
#pragma unroll
                for (int dx = 0; dx < 3; dx++) {
                    const float w = weights[(c * 2 + o) * 9 + dy * 3 + dx];
#pragma unroll
                    for (int e = 0; e < 4; e++) sums[o][e] += w * v[e + dx];
                }
        }
    }
#pragma unroll
    for (int o = 0; o < 2; o++)
        *reinterpret_cast<float4 *>(out + ((size_t)o * height + y0 + ty) * width + x0 + tx * 4) = make_float4(sums[o][0], sums[o][1], sums[o][2], sums[o][3]);
}
extern "C" __global__ void __launch_bounds__(128) taps_of_channels_plain(const float *in, const float *taps, float *out, int width, int height) {
    taps_of_channels<false>(in, taps, out, width, height);
}
extern "C" __global__ void __launch_bounds__(128) taps_of_channels_skewed(const float *in, const float *taps, float *out, int width, int height) {
    taps_of_channels<true>(in, taps, out, width, height);
}

// ---------------------------------------------------------------------------------------------------------------------
// A bitonic network sorts 2048 keys in shared memory, two pairs a thread and step.
template <bool PADDED> __device__ __forceinline__ void network(const unsigned *in, unsigned *out) {
    __shared__ unsigned keys[2048 + (PADDED ? 64 : 0)];
    auto at = [](int i) { return PADDED ? i + (i >> 5) : i; };
    const int t = threadIdx.x;
    const size_t base = (size_t)blockIdx.x * 2048;
#pragma unroll
    for (int i = t; i < 2048; i += 512) keys[at(i)] = in[base + i];
    for (int size = 2; size <= 2048; size <<= 1)
#pragma unroll 1
        for (int apart = size >> 1; apart > 0; apart >>= 1) {
            __syncthreads();
#pragma unroll
            for (int pair = t; pair < 1024; pair += 512) {
                const int low = 2 * pair - (pair & (apart - 1)), high = low + apart;
                const unsigned a = keys[at(low)], b = keys[at(high)];
                const bool up = (low & size) == 0;
                keys[at(low)] = up ? min(a, b) : max(a, b);
                keys[at(high)] = up ? max(a, b) : min(a, b);
            }
        }
    __syncthreads();
#pragma unroll
    for (int i = t; i < 2048; i += 512) out[base + i] = keys[at(i)];
}
extern "C" __global__ void __launch_bounds__(512) network_plain(const unsigned *in, unsigned *out) { network<false>(in, out); }
extern "C" __global__ void __launch_bounds__(512) network_padded(const unsigned *in, unsigned *out) { network<true>(in, out); }

// ---------------------------------------------------------------------------------------------------------------------
// Fourier lines of 1024 complex numbers by five turns of radix four (Stockham's order), real and imaginary parts apart in shared memory.
template <bool PADDED> __device__ __forceinline__ void by_fours(const float2 *in, float2 *out) {
    __shared__ float real[1024 + (PADDED ? 32 : 0)], imaginary[1024 + (PADDED ? 32 : 0)];
    auto at = [](int i) { return PADDED ? i + (i >> 5) : i; };
    const int t = threadIdx.x;
    const size_t base = (size_t)blockIdx.x * 1024;
    float2 v[4];
#pragma unroll
    for (int k = 0; k < 4; k++) v[k] = in[base + t + k * 256];
#pragma unroll 1
    for (int done = 1; done < 1024; done *= 4) {
        const int within = t & (done - 1);
        const float turn = -0.5f * within / done;
#pragma unroll
        for (int k = 1; k < 4; k++) {
            float s, c;
            sincospif(turn * k, &s, &c);
            v[k] = make_float2(v[k].x * c - v[k].y * s, v[k].x * s + v[k].y * c);
        }
        const float2 a = make_float2(v[0].x + v[2].x, v[0].y + v[2].y), b = make_float2(v[0].x - v[2].x, v[0].y - v[2].y);
        const float2 c = make_float2(v[1].x + v[3].x, v[1].y + v[3].y), d = make_float2(v[1].y - v[3].y, v[3].x - v[1].x);
        v[0] = make_float2(a.x + c.x, a.y + c.y);
        v[1] = make_float2(b.x + d.x, b.y + d.y);
        v[2] = make_float2(a.x - c.x, a.y - c.y);
        v[3] = make_float2(b.x - d.x, b.y - d.y);
        if (done == 256) break;
        const int to = (t - within) * 4 + within;
        __syncthreads();
#pragma unroll
        for (int k = 0; k < 4; k++) real[at(to + k * done)] = v[k].x, imaginary[at(to + k * done)] = v[k].y;
        __syncthreads();
#pragma unroll
        for (int k = 0; k < 4; k++) v[k] = make_float2(real[at(t + k * 256)], imaginary[at(t + k * 256)]);
    }
#pragma unroll
    for (int k = 0; k < 4; k++) out[base + t + k * 256] = v[k];
}
extern "C" __global__ void __launch_bounds__(256) by_fours_plain(const float2 *in, float2 *out) { by_fours<false>(in, out); }
extern "C" __global__ void __launch_bounds__(256) by_fours_padded(const float2 *in, float2 *out) { by_fours<true>(in, out); }

// ---------------------------------------------------------------------------------------------------------------------
// Smith and Waterman's table of two words of 64 letters, diagonal by diagonal in shared memory, a row a thread: rows of 65 or of 66 words.
template <int PITCH> __device__ __forceinline__ void local_table(const unsigned char *first, const unsigned char *second, int *best) {
    __shared__ int table[65 * PITCH];
    __shared__ unsigned char other[64];
    __shared__ int most[2];
    const int i = threadIdx.x;
    const unsigned char own = first[blockIdx.x * 64 + i] & 3;
    other[i] = second[blockIdx.x * 64 + i] & 3;
    table[i] = 0;
    table[(i + 1) * PITCH] = 0;
    if (i == 0) table[64] = 0;
    int greatest = 0;
    for (int d = 0; d < 127; d++) {
        __syncthreads();
        const int j = d - i;
        if (j >= 0 && j < 64) {
            int *cell = table + (i + 1) * PITCH + j + 1;
            const int matched = cell[-PITCH - 1] + (own == other[j] ? 3 : -2);
            const int score = max(max(matched, 0), max(cell[-1], cell[-PITCH]) - 2);
            *cell = score;
            greatest = max(greatest, score);
        }
    }
    greatest = __reduce_max_sync(0xffffffff, greatest);
    if (i % 32 == 0) most[i / 32] = greatest;
    __syncthreads();
    if (i == 0) best[blockIdx.x] = max(most[0], most[1]);
}
extern "C" __global__ void __launch_bounds__(64) local_table_plain(const unsigned char *first, const unsigned char *second, int *best) { local_table<65>(first, second, best); }
extern "C" __global__ void __launch_bounds__(64) local_table_padded(const unsigned char *first, const unsigned char *second, int *best) { local_table<66>(first, second, best); }

// ---------------------------------------------------------------------------------------------------------------------
// A sparse matrix with sixteen entries a row by a vector: a block makes the products of 128 rows in order, then each thread sums a row.
template <bool PADDED> __device__ __forceinline__ void summed_products(const float *values, const unsigned *columns, const float *x, float *y, unsigned mask) {
    __shared__ float products[2048 + (PADDED ? 128 : 0)];
    auto at = [](int i) { return PADDED ? i + i / 16 : i; };
    const int t = threadIdx.x;
    const size_t base = (size_t)blockIdx.x * 2048;
#pragma unroll 4
    for (int n = 0; n < 16; n++) {
        const int i = n * 128 + t;
        products[at(i)] = values[base + i] * x[columns[base + i] & mask];
    }
    __syncthreads();
    float sum = 0.0f;
    for (int k = 0; k < 16; k++) sum += *(volatile float *)&products[at(t * 16 + k)];
    y[blockIdx.x * 128 + t] = sum;
}
extern "C" __global__ void __launch_bounds__(128) summed_products_plain(const float *values, const unsigned *columns, const float *x, float *y, unsigned mask) {
    summed_products<false>(values, columns, x, y, mask);
}
extern "C" __global__ void __launch_bounds__(128) summed_products_padded(const float *values, const unsigned *columns, const float *x, float *y, unsigned mask) {
    summed_products<true>(values, columns, x, y, mask);
}

// ---------------------------------------------------------------------------------------------------------------------
// A pass of a radix sort within blocks: 2048 keys ordered by four bits, eight neighbours a thread. Each thread counts its own sixteen digits, a row or a column a thread;
// a scan over digits, then threads, gives the places.
template <bool COLUMNS> __device__ __forceinline__ void digit_pass(const uint4 *in, unsigned *out, int shift) {
    __shared__ int counts[16 * 256];
    __shared__ unsigned ordered[2048];
    __shared__ int totals[8];
    const int t = threadIdx.x, lane = t % 32;
    auto at = [](int digit, int thread) { return COLUMNS ? digit * 256 + thread : thread * 16 + digit; };
    const uint4 a = in[(size_t)blockIdx.x * 512 + t * 2], b = in[(size_t)blockIdx.x * 512 + t * 2 + 1];
    const unsigned keys[8] = {a.x, a.y, a.z, a.w, b.x, b.y, b.z, b.w};
    for (int i = t; i < 16 * 256; i += 256) counts[i] = 0;
    __syncthreads();
#pragma unroll
    for (int k = 0; k < 8; k++) counts[at(keys[k] >> shift & 15, t)]++;
    __syncthreads();
    const int digit = t / 16, thread0 = t % 16 * 16;
    int sum = 0;
#pragma unroll 4
    for (int i = 0; i < 16; i++) sum += counts[at(digit, thread0 + i)];
    int before = sum;
    for (int d = 1; d < 32; d *= 2) {
        const int v = __shfl_up_sync(0xffffffff, before, d);
        if (lane >= d) before += v;
    }
    if (lane == 31) totals[t / 32] = before;
    __syncthreads();
    before -= sum;
    for (int w = 0; w < t / 32; w++) before += totals[w];
#pragma unroll 4
    for (int i = 0; i < 16; i++) {
        const int own = counts[at(digit, thread0 + i)];
        counts[at(digit, thread0 + i)] = before;
        before += own;
    }
    __syncthreads();
#pragma unroll
    for (int k = 0; k < 8; k++) ordered[counts[at(keys[k] >> shift & 15, t)]++] = keys[k];
    __syncthreads();
    for (int i = t; i < 2048; i += 256) out[(size_t)blockIdx.x * 2048 + i] = ordered[i];
}
extern "C" __global__ void __launch_bounds__(256) digit_pass_rows(const uint4 *in, unsigned *out, int shift) { digit_pass<false>(in, out, shift); }
extern "C" __global__ void __launch_bounds__(256) digit_pass_columns(const uint4 *in, unsigned *out, int shift) { digit_pass<true>(in, out, shift); }

// ---------------------------------------------------------------------------------------------------------------------
// A bilateral filter of 7 x 7 on one plane: weights by distance and by likeness, 16 x 16 pixels a block with a rim of three.
extern "C" __global__ void __launch_bounds__(256) bilateral_seven(const float *in, float *out, int width, int height, float near, float alike) {
    __shared__ float tile[22][22];
    const int tx = threadIdx.x, ty = threadIdx.y, x0 = blockIdx.x * 16 - 3, y0 = blockIdx.y * 16 - 3;
    for (int i = ty * 16 + tx; i < 22 * 22; i += 256) tile[i / 22][i % 22] = in[min(max(y0 + i / 22, 0), height - 1) * width + min(max(x0 + i % 22, 0), width - 1)];
    __syncthreads();
    const int x = x0 + 3 + tx, y = y0 + 3 + ty;
    if (x >= width || y >= height) return;
    const float centre = tile[ty + 3][tx + 3];
    float sum = 0.0f, weight = 0.0f;
    for (int dy = -3; dy <= 3; dy++)
#pragma unroll
        for (int dx = -3; dx <= 3; dx++) {
            const float v = tile[ty + 3 + dy][tx + 3 + dx], off = v - centre;
            const float w = __expf(-near * (dx * dx + dy * dy) - alike * off * off);
            sum += w * v;
            weight += w;
        }
    out[y * width + x] = sum / weight;
}

// The burning ship: turns until a point leaves, a pixel a thread.
extern "C" __global__ void __launch_bounds__(256) burning_ship(unsigned char *out, int width, int height, int most) {
    const int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
    if (x >= width || y >= height) return;
    const float cx = -2.2f + 3.2f * x / width, cy = -1.8f + 2.4f * y / height;
    float a = 0.0f, b = 0.0f;
    int n = 0;
    while (n < most && a * a + b * b < 4.0f) {
        const float next = a * a - b * b + cx;
        b = fabsf(2.0f * a * b) + cy;
        a = next;
        n++;
    }
    out[y * width + x] = (unsigned char)n;
}

// Bodies that pull each other: a part of all bodies a block of the second axis, 128 at a time through shared memory; each part's pull is added to the rest.
extern "C" __global__ void __launch_bounds__(128) pulled_bodies(const float4 *bodies, float *pulls, int count, int each) {
    __shared__ float4 near[128];
    const int own = blockIdx.x * 128 + threadIdx.x;
    const float4 me = bodies[own];
    float ax = 0.0f, ay = 0.0f, az = 0.0f;
    for (int first = blockIdx.y * each; first < (int)(blockIdx.y + 1) * each; first += 128) {
        near[threadIdx.x] = bodies[first + threadIdx.x];
        __syncthreads();
#pragma unroll 8
        for (int j = 0; j < 128; j++) {
            const float4 b = near[j];
            const float dx = b.x - me.x, dy = b.y - me.y, dz = b.z - me.z;
            const float r = rsqrtf(dx * dx + dy * dy + dz * dz + 0.01f), s = b.w * r * r * r;
            ax += s * dx, ay += s * dy, az += s * dz;
        }
        __syncthreads();
    }
    atomicAdd(pulls + own, ax);
    atomicAdd(pulls + count + own, ay);
    atomicAdd(pulls + 2 * count + own, az);
}

// Each cell of a volume from the 27 around it, by four weights (centre, faces, edges, corners): blocks of 32 x 8 x 8 cells with their rim in shared memory.
extern "C" __global__ void __launch_bounds__(256) boxes_of_27(const float *in, float *out, int nx, int ny, int nz, float centre, float faces, float edges, float corners) {
    __shared__ float box[10][10][34];
    const int tx = threadIdx.x, ty = threadIdx.y, x0 = blockIdx.x * 32, y0 = blockIdx.y * 8, z0 = blockIdx.z * 8;
    for (int i = ty * 32 + tx; i < 10 * 10 * 34; i += 256) {
        const int x = min(max(x0 + i % 34 - 1, 0), nx - 1), y = min(max(y0 + i / 34 % 10 - 1, 0), ny - 1), z = min(max(z0 + i / 340 - 1, 0), nz - 1);
        (&box[0][0][0])[i] = in[((size_t)z * ny + y) * nx + x];
    }
    __syncthreads();
    if (x0 + tx >= nx || y0 + ty >= ny) return;
#pragma unroll 1
    for (int k = 0; k < 8 && z0 + k < nz; k++) {
        float by_far[4] = {};
#pragma unroll
        for (int n = 0; n < 27; n++) {
            const int dx = n % 3, dy = n / 3 % 3, dz = n / 9;
            by_far[(dx != 1) + (dy != 1) + (dz != 1)] += box[k + dz][ty + dy][tx + dx];
        }
        out[((size_t)(z0 + k) * ny + y0 + ty) * nx + x0 + tx] = centre * by_far[0] + faces * by_far[1] + edges * by_far[2] + corners * by_far[3];
    }
}
