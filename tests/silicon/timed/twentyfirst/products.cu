// Kernels of the twenty-first set that multiply: tiles of unusual sizes, bytes, blocks of four bits, columns back to images, a convolution as a product.
#include <cuda_fp16.h>

#define KERNEL(THREADS) extern "C" __global__ void __launch_bounds__(THREADS)

// A product of floats by tiles of 96 by 96, of which a thread makes 8 by 8: the next tiles wait in registers.
KERNEL(144) sgemm_96(const float *__restrict__ A, const float *__restrict__ B, float *__restrict__ C, int n, int depth) {
    constexpr int TILE = 96, DEEP = 16, PITCH = TILE + 4;
    __shared__ __align__(16) float As[DEEP][PITCH], Bs[DEEP][TILE];
    const int t = threadIdx.x, tx = t % 12, ty = t / 12;
    A += (size_t)blockIdx.y * TILE * depth;
    B += blockIdx.x * TILE;
    float4 next_a[3], next_b[3];
    const auto fetch = [&](int k0) {
        #pragma unroll
        for (int r = 0; r < 3; ++r) {
            const int i = t + r * 144;
            if (i < TILE * DEEP / 4) {
                next_a[r] = *(const float4 *)&A[(size_t)(i / 4) * depth + k0 + i % 4 * 4];
                next_b[r] = *(const float4 *)&B[(size_t)(k0 + i / 24) * n + i % 24 * 4];
            }
        }
    };
    float acc[8][8] = {};
    fetch(0);
    for (int k0 = 0; k0 < depth; k0 += DEEP) {
        #pragma unroll
        for (int r = 0; r < 3; ++r) {
            const int i = t + r * 144;
            if (i < TILE * DEEP / 4) {
                const int row = i / 4, k = i % 4 * 4;
                As[k][row] = next_a[r].x, As[k + 1][row] = next_a[r].y, As[k + 2][row] = next_a[r].z, As[k + 3][row] = next_a[r].w;
                *(float4 *)&Bs[i / 24][i % 24 * 4] = next_b[r];
            }
        }
        __syncthreads();
        if (k0 + DEEP < depth) fetch(k0 + DEEP);
        #pragma unroll
        for (int k = 0; k < DEEP; ++k) {
            float a[8], b[8];
            *(float4 *)a = *(const float4 *)&As[k][ty * 4], *(float4 *)(a + 4) = *(const float4 *)&As[k][48 + ty * 4];
            *(float4 *)b = *(const float4 *)&Bs[k][tx * 4], *(float4 *)(b + 4) = *(const float4 *)&Bs[k][48 + tx * 4];
            #pragma unroll
            for (int i = 0; i < 8; ++i)
                #pragma unroll
                for (int j = 0; j < 8; ++j) acc[i][j] += a[i] * b[j];
        }
        __syncthreads();
    }
    #pragma unroll
    for (int i = 0; i < 8; ++i) {
        const size_t row = (size_t)blockIdx.y * TILE + i / 4 * 48 + ty * 4 + i % 4;
        #pragma unroll
        for (int half = 0; half < 2; ++half)
            *(float4 *)&C[row * n + blockIdx.x * TILE + half * 48 + tx * 4] =
                make_float4(acc[i][half * 4], acc[i][half * 4 + 1], acc[i][half * 4 + 2], acc[i][half * 4 + 3]);
    }
}

// A product of bytes with a transposed matrix of bytes, four at a time, scaled by rows and columns: 128 by 64 a block, 8 by 8 a thread.
KERNEL(128) dp4a_tall(const int4 *__restrict__ A, const int4 *__restrict__ B, const float *rows, const float *columns, float *C, int n, int depth) {
    __shared__ __align__(16) int As[16][128 + 4], Bs[16][64 + 4];
    const int t = threadIdx.x, tx = t % 8, ty = t / 8, pieces = depth / 16;
    A += (size_t)blockIdx.y * 128 * pieces;
    B += (size_t)blockIdx.x * 64 * pieces;
    int acc[8][8] = {};
    for (int k0 = 0; k0 < pieces; k0 += 4) {
        #pragma unroll
        for (int r = 0; r < 4; ++r) {
            const int row = r * 32 + t / 4, k = t % 4 * 4;
            const int4 v = A[(size_t)row * pieces + k0 + t % 4];
            As[k][row] = v.x, As[k + 1][row] = v.y, As[k + 2][row] = v.z, As[k + 3][row] = v.w;
        }
        #pragma unroll
        for (int r = 0; r < 2; ++r) {
            const int row = r * 32 + t / 4, k = t % 4 * 4;
            const int4 v = B[(size_t)row * pieces + k0 + t % 4];
            Bs[k][row] = v.x, Bs[k + 1][row] = v.y, Bs[k + 2][row] = v.z, Bs[k + 3][row] = v.w;
        }
        __syncthreads();
        #pragma unroll 4
        for (int k = 0; k < 16; ++k) {
            int a[8], b[8];
            #pragma unroll
            for (int half = 0; half < 2; ++half) {
                *(int4 *)(a + half * 4) = *(const int4 *)&As[k][half * 64 + ty * 4];
                *(int4 *)(b + half * 4) = *(const int4 *)&Bs[k][half * 32 + tx * 4];
            }
            #pragma unroll
            for (int i = 0; i < 8; ++i)
                #pragma unroll
                for (int j = 0; j < 8; ++j) acc[i][j] = __dp4a(a[i], b[j], acc[i][j]);
        }
        __syncthreads();
    }
    #pragma unroll
    for (int i = 0; i < 8; ++i) {
        const int row = blockIdx.y * 128 + i / 4 * 64 + ty * 4 + i % 4;
        const float scale = rows[row];
        #pragma unroll
        for (int half = 0; half < 2; ++half) {
            const int column = blockIdx.x * 64 + half * 32 + tx * 4;
            const float4 by = *(const float4 *)&columns[column];
            *(float4 *)&C[(size_t)row * n + column] = make_float4(
                scale * by.x * (float)acc[i][half * 4], scale * by.y * (float)acc[i][half * 4 + 1],
                scale * by.z * (float)acc[i][half * 4 + 2], scale * by.w * (float)acc[i][half * 4 + 3]);
        }
    }
}

// Weights in blocks of 18 bytes (a half and 32 times four bits) by a vector of bytes with a scale per 32: a warp to a row of 4096, two lanes a block.
KERNEL(128) block_nibbles(const unsigned char *weights, const int *vector, const float2 *scales, float *out) {
    const int lane = threadIdx.x % 32, row = blockIdx.x * 4 + threadIdx.x / 32, half = lane % 2;
    const unsigned char *own = weights + (size_t)row * 128 * 18;
    float sum = 0.0f;
    #pragma unroll 2
    for (int block = lane / 2; block < 128; block += 16) {
        const unsigned short *words = (const unsigned short *)(own + block * 18);
        const float scale = __half2float(__ushort_as_half(words[0]));
        int dot = 0;
        #pragma unroll
        for (int k = 0; k < 2; ++k) {
            const int at = half * 2 + k;
            const int quants = words[1 + at * 2] | words[2 + at * 2] << 16;
            dot = __dp4a(quants & 0x0f0f0f0f, vector[block * 8 + at], dot);
            dot = __dp4a(quants >> 4 & 0x0f0f0f0f, vector[block * 8 + 4 + at], dot);
        }
        const float2 given = scales[block];
        sum += scale * (given.x * (float)dot - 4.0f * given.y);
    }
    #pragma unroll
    for (int offset = 16; offset > 0; offset >>= 1) sum += __shfl_xor_sync(0xffffffffu, sum, offset);
    if (lane == 0) out[row] = sum;
}

// Columns back to images, as the gradient of a convolution needs: each place of the image adds up all columns that had it.
KERNEL(256) col2im(const float *columns, float *image, int count, int height, int width, int size, int pad, int stride, int height_col, int width_col) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += blockDim.x * gridDim.x) {
        const int w = i % width + pad, h = i / width % height + pad, c = i / (width * height);
        const int w_start = w < size ? 0 : (w - size) / stride + 1, w_end = min(w / stride + 1, width_col);
        const int h_start = h < size ? 0 : (h - size) / stride + 1, h_end = min(h / stride + 1, height_col);
        float sum = 0.0f;
        for (int hc = h_start; hc < h_end; ++hc)
            for (int wc = w_start; wc < w_end; ++wc) {
                const int row = (c * size + h - hc * stride) * size + w - wc * stride;
                sum += columns[((size_t)row * height_col + hc) * width_col + wc];
            }
        image[i] = sum;
    }
}

// A convolution of 3 by 3 with channels last, from 32 to 64 of them, as a product: 64 pixels by 64 channels a block, 4 by 4 a thread.
// Pixels are turned as they are stored, as they are, or with places exchanged by every fourth row.
template <bool SWIZZLED> __device__ __forceinline__ void implicit(const float *__restrict__ image, const float *__restrict__ filters, float *out, int height, int width) {
    __shared__ __align__(16) float As[16 * 64], Bs[16 * 64];
    const int t = threadIdx.x, tx = t % 16, ty = t / 16;
    const auto place = [](int k, int pixel) { return k * 64 + (SWIZZLED ? pixel ^ (k >> 2) << 3 : pixel); };
    const int pixel = blockIdx.x * 64 + t / 4, x = pixel % width, y = pixel / width % height, frame = pixel / (width * height);
    float acc[4][4] = {};
    for (int k0 = 0; k0 < 288; k0 += 16) {
        const int tap = k0 / 32, channel = k0 % 32 + t % 4 * 4, yy = y + tap / 3 - 1, xx = x + tap % 3 - 1;
        float4 v = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
        if (yy >= 0 && yy < height && xx >= 0 && xx < width) v = *(const float4 *)&image[((size_t)(frame * height + yy) * width + xx) * 32 + channel];
        const float4 f = *(const float4 *)&filters[(size_t)(k0 + t / 16) * 64 + t % 16 * 4];
        const int k = t % 4 * 4;
        As[place(k, t / 4)] = v.x, As[place(k + 1, t / 4)] = v.y, As[place(k + 2, t / 4)] = v.z, As[place(k + 3, t / 4)] = v.w;
        *(float4 *)&Bs[t * 4] = f;
        __syncthreads();
        #pragma unroll
        for (int k = 0; k < 16; ++k) {
            const float4 p = *(const float4 *)&As[place(k, ty * 4)], q = *(const float4 *)&Bs[k * 64 + tx * 4];
            const float a[4] = {p.x, p.y, p.z, p.w}, b[4] = {q.x, q.y, q.z, q.w};
            #pragma unroll
            for (int i = 0; i < 4; ++i)
                #pragma unroll
                for (int j = 0; j < 4; ++j) acc[i][j] += a[i] * b[j];
        }
        __syncthreads();
    }
    #pragma unroll
    for (int i = 0; i < 4; ++i)
        *(float4 *)&out[((size_t)blockIdx.x * 64 + ty * 4 + i) * 64 + tx * 4] =
            make_float4(fmaxf(acc[i][0], 0.0f), fmaxf(acc[i][1], 0.0f), fmaxf(acc[i][2], 0.0f), fmaxf(acc[i][3], 0.0f));
}
KERNEL(256) implicit_plain(const float *image, const float *filters, float *out, int height, int width) { implicit<false>(image, filters, out, height, width); }
KERNEL(256) implicit_swizzled(const float *image, const float *filters, float *out, int height, int width) { implicit<true>(image, filters, out, height, width); }
