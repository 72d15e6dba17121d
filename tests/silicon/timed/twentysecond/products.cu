// Kernels of the twenty-second set that multiply: a matrix both ways at once, columns made orthogonal, many small doubles, weights of five bits.
#include <cuda_fp16.h>

#define KERNEL(THREADS) extern "C" __global__ void __launch_bounds__(THREADS)
#define ALL 0xffffffffu

// q = A p and s = A' r in one go (bicg): 64 rows by 256 columns a block. A thread has a column; a warp's 32 sums of rows are halved by
// exchanges until each lane has one.
KERNEL(256) bicg(const float *__restrict__ a, const float *__restrict__ p, const float *__restrict__ r, float *q, float *s, int columns) {
    const int t = threadIdx.x, lane = t % 32, column = blockIdx.x * 256 + t, first = blockIdx.y * 64;
    const float own = p[column];
    float down = 0.0f;
    for (int part = 0; part < 64; part += 32) {
        float v[32];
        #pragma unroll
        for (int i = 0; i < 32; ++i) {
            const float x = a[(size_t)(first + part + i) * columns + column];
            down += x * __ldg(r + first + part + i);
            v[i] = x * own;
        }
        #pragma unroll
        for (int half = 16; half > 0; half >>= 1) {
            const bool high = lane & half;
            #pragma unroll
            for (int i = 0; i < 16; ++i) {
                if (i >= half) continue;
                const float kept = high ? v[i + half] : v[i], given = high ? v[i] : v[i + half];
                v[i] = kept + __shfl_xor_sync(ALL, given, half);
            }
        }
        atomicAdd(q + first + part + lane, v[0]);
    }
    atomicAdd(s + column, down);
}

// What columns of 64 have in common with one of them is taken from them, in place (a step of Gram and Schmidt): a thread a column.
KERNEL(128) gram_schmidt(float *a, const float *one, float *shares, int columns, float weight) {
    __shared__ float held[64];
    const int t = threadIdx.x, column = blockIdx.x * 128 + t;
    if (t < 64) held[t] = one[t];
    __syncthreads();
    float sum = 0.0f;
    #pragma unroll 8
    for (int i = 0; i < 64; ++i) sum += held[i] * a[(size_t)i * columns + column];
    shares[column] = sum;
    sum *= weight;
    #pragma unroll 8
    for (int i = 0; i < 64; ++i) a[(size_t)i * columns + column] -= held[i] * sum;
}

// C += A B for many matrices of sixteen by sixteen doubles: a warp a product, half a row a lane, all of it through shared memory.
KERNEL(128) small_batches(const double2 *__restrict__ a, const double2 *__restrict__ b, double2 *c) {
    __shared__ double2 held[4][2][128];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, row = lane / 2, half = lane % 2 * 4;
    const size_t base = ((size_t)blockIdx.x * 4 + warp) * 128;
    #pragma unroll
    for (int i = 0; i < 4; ++i) held[warp][0][i * 32 + lane] = a[base + i * 32 + lane], held[warp][1][i * 32 + lane] = b[base + i * 32 + lane];
    __syncwarp();
    double2 sum[4];
    #pragma unroll
    for (int j = 0; j < 4; ++j) sum[j] = c[base + row * 8 + half + j];
    #pragma unroll
    for (int k = 0; k < 8; ++k) {
        const double2 x = held[warp][0][row * 8 + k];
        #pragma unroll
        for (int j = 0; j < 4; ++j) {
            const double2 y = held[warp][1][k * 16 + half + j], z = held[warp][1][k * 16 + 8 + half + j];
            sum[j].x += x.x * y.x + x.y * z.x, sum[j].y += x.x * y.y + x.y * z.y;
        }
    }
    #pragma unroll
    for (int j = 0; j < 4; ++j) c[base + row * 8 + half + j] = sum[j];
}

// A matrix of weights of five bits by a vector of bytes: 32 weights have a scale, a word of high bits, sixteen bytes of low ones (22 bytes, read
// by shorts). Two lanes a group of 32, a warp a row.
__device__ __forceinline__ int fifth_bits(unsigned bits) {
    return (int)((bits << 4 & 0x10u) | (bits << 11 & 0x1000u) | (bits << 18 & 0x100000u) | (bits << 25 & 0x10000000u));
}
KERNEL(256) five_bits(const unsigned short *__restrict__ weights, const int *__restrict__ bytes, const float2 *__restrict__ scales, float *out, int groups) {
    const int lane = threadIdx.x % 32, row = blockIdx.x * 8 + threadIdx.x / 32, half = lane % 2 * 2;
    float sum = 0.0f;
    for (int group = lane / 2; group < groups; group += 16) {
        const unsigned short *own = weights + ((size_t)row * groups + group) * 11;
        const unsigned high = own[1] | (unsigned)own[2] << 16;
        int dot = 0;
        #pragma unroll
        for (int k = 0; k < 2; ++k) {
            const int i = half + k;
            const unsigned low = own[3 + i * 2] | (unsigned)own[4 + i * 2] << 16;
            dot = __dp4a((int)(low & 0x0f0f0f0fu) | fifth_bits(high >> (i * 4)), __ldg(bytes + group * 8 + i), dot);
            dot = __dp4a((int)(low >> 4 & 0x0f0f0f0fu) | fifth_bits(high >> (16 + i * 4)), __ldg(bytes + group * 8 + 4 + i), dot);
        }
        const float2 scale = __ldg(scales + group);
        sum += __half2float(__ushort_as_half(own[0])) * ((float)dot * scale.x - 8.0f * scale.y);
    }
    #pragma unroll
    for (int offset = 16; offset > 0; offset >>= 1) sum += __shfl_xor_sync(ALL, sum, offset);
    if (lane == 0) out[row] = sum;
}
