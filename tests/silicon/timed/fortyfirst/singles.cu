// Kernels alone: four-bit weights by a vector, paths by Philox, blocks of a sparse matrix, rays that march, letters aligned by warps, ranks of digits.
#include <cuda_runtime.h>
#include <stdint.h>

// ------------------------------------------------------------------------------------------------
// A row of four-bit weights by a vector of bytes, a block each, as llama.cpp does: groups of 32 have 18 bytes, and a scale first.
// The scale is a short, so that all bytes are weights.
struct Q4 {
    int16_t scale;
    uint8_t pairs[16];
};
extern "C" __global__ void __launch_bounds__(128) q4_rows(const Q4 *weights, const int8_t *x, const float *x_scale, float *y, int groups) {
    __shared__ float sums[4];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const Q4 *row = weights + (size_t)blockIdx.x * groups;
    const int part = threadIdx.x % 2 * 2;
    float sum = 0.f;
    for (int g = threadIdx.x / 2; g < groups; g += 64) {
        const uint16_t *pairs = (const uint16_t *)row[g].pairs;
        const int *eights = (const int *)(x + g * 32);
        int dot = 0, all = 0;
#pragma unroll
        for (int i = 0; i < 2; i++) {
            const uint32_t q = pairs[(part + i) * 2] | (uint32_t)pairs[(part + i) * 2 + 1] << 16;
            const int low = eights[part + i], high = eights[part + i + 4];
            dot = __dp4a((int)(q & 0x0F0F0F0F), low, dot);
            dot = __dp4a((int)(q >> 4 & 0x0F0F0F0F), high, dot);
            all = __dp4a(0x01010101, low, all);
            all = __dp4a(0x01010101, high, all);
        }
        sum += row[g].scale * (1.f / 32768.f) * x_scale[g] * (dot - 8 * all);
    }
    for (int far = 16; far > 0; far /= 2) sum += __shfl_xor_sync(~0u, sum, far);
    if (lane == 0) sums[warp] = sum;
    __syncthreads();
    if (threadIdx.x == 0) y[blockIdx.x] = sums[0] + sums[1] + sums[2] + sums[3];
}

// ------------------------------------------------------------------------------------------------
// A call's worth by Monte Carlo: Philox4x32-10, Box and Muller, four ends of a path a draw.
extern "C" __global__ void __launch_bounds__(256) philox_calls(const float *strikes, float *worth, int draws, float drift, float spread, uint32_t seed) {
    __shared__ float sums[8];
    const float strike = 1.f + 0.25f * strikes[blockIdx.x];
    float sum = 0.f;
    for (int n = 0; n < draws; n++) {
        uint32_t c[4] = {(uint32_t)n, threadIdx.x, blockIdx.x, 0}, key[2] = {seed, seed ^ 0x5EED5EEDu};
#pragma unroll
        for (int round = 0; round < 10; round++) {
            const uint32_t h0 = __umulhi(0xD2511F53u, c[0]), l0 = 0xD2511F53u * c[0], h1 = __umulhi(0xCD9E8D57u, c[2]), l1 = 0xCD9E8D57u * c[2];
            c[0] = h1 ^ c[1] ^ key[0];
            c[1] = l1;
            c[2] = h0 ^ c[3] ^ key[1];
            c[3] = l0;
            key[0] += 0x9E3779B9u;
            key[1] += 0xBB67AE85u;
        }
#pragma unroll
        for (int i = 0; i < 4; i += 2) {
            const float u = (c[i] >> 8) * 5.9604645e-8f + 2.9802322e-8f, length = sqrtf(-2.f * __logf(u));
            float s, t;
            __sincosf(1.4629180e-9f * c[i + 1], &s, &t);
            sum += fmaxf(__expf(drift + spread * length * s) - strike, 0.f) + fmaxf(__expf(drift + spread * length * t) - strike, 0.f);
        }
    }
    for (int far = 16; far > 0; far /= 2) sum += __shfl_xor_sync(~0u, sum, far);
    if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int i = 1; i < 8; i++) sum += sums[i];
        worth[blockIdx.x] = sum / (256.f * 4.f * draws);
    }
}

// ------------------------------------------------------------------------------------------------
// A sparse matrix of blocks of 16 x 16 (BSR) by 64 dense columns: a block for each row of blocks, four columns a thread.
extern "C" __global__ void __launch_bounds__(256) bsr_by_dense(const float *values, const uint32_t *columns, const float *dense, float *out, int each, uint32_t wide) {
    __shared__ float a[16][16];
    __shared__ alignas(16) float b[16][64];
    const int row = threadIdx.x / 16, col = threadIdx.x % 16;
    float4 sum = make_float4(0.f, 0.f, 0.f, 0.f);
    for (int n = 0; n < each; n++) {
        const size_t at = (size_t)blockIdx.x * each + n;
        const uint32_t from = columns[at] % wide;
        a[row][col] = values[at * 256 + threadIdx.x];
        *(float4 *)&b[row][col * 4] = *(const float4 *)&dense[((size_t)from * 16 + row) * 64 + col * 4];
        __syncthreads();
#pragma unroll
        for (int k = 0; k < 16; k++) {
            const float left = a[row][k];
            const float4 right = *(const float4 *)&b[k][col * 4];
            sum.x += left * right.x;
            sum.y += left * right.y;
            sum.z += left * right.z;
            sum.w += left * right.w;
        }
        __syncthreads();
    }
    *(float4 *)&out[((size_t)blockIdx.x * 16 + row) * 64 + col * 4] = sum;
}

// ------------------------------------------------------------------------------------------------
// Rays march towards a lattice of balls with a wavy floor until they are near, or far away; a light from above.
__device__ __forceinline__ float far_from(float x, float y, float z) {
    const float u = x - 2.f * rintf(x * 0.5f), w = z - 2.f * rintf(z * 0.5f);
    const float ball = sqrtf(u * u + y * y + w * w) - 0.6f;
    const float floor = y + 0.8f + 0.1f * __sinf(3.f * x) * __sinf(3.f * z);
    return fminf(ball, floor);
}
extern "C" __global__ void __launch_bounds__(256) ray_lattice(const float *eye, float *picture, int width, int height, int most) {
    const int px = blockIdx.x * 32 + threadIdx.x, py = blockIdx.y * 8 + threadIdx.y;
    float dx = (px - 0.5f * width) / height, dy = (0.5f * height - py) / height - 0.2f, dz = 1.f;
    const float over = rsqrtf(dx * dx + dy * dy + dz * dz);
    dx *= over;
    dy *= over;
    dz *= over;
    float far = 0.f, x = eye[0], y = 1.5f, z = eye[1];
    int step = 0;
    for (; step < most && far < 40.f; step++) {
        const float free = far_from(x, y, z);
        if (free < 0.001f) break;
        far += 0.8f * free;
        x += 0.8f * free * dx;
        y += 0.8f * free * dy;
        z += 0.8f * free * dz;
    }
    const float light = (far_from(x, y + 0.01f, z) - far_from(x, y, z)) * 100.f;
    picture[(size_t)py * width + px] = far < 40.f ? 0.2f + 0.8f * fmaxf(light, 0.f) : 0.01f * step;
}

// ------------------------------------------------------------------------------------------------
// Smith and Waterman's best score with affine gaps: a warp has 128 letters of a query, four a lane, and the subject passes its lanes one behind another.
extern "C" __global__ void __launch_bounds__(128) warp_alignment(const uint8_t *query, const uint8_t *subject, const int8_t *table, int *best, int length, int open, int more) {
    __shared__ int8_t score[24 * 24];
    for (int i = threadIdx.x; i < 24 * 24; i += 128) score[i] = table[i] >> 4;
    __syncthreads();
    const int lane = threadIdx.x % 32, which = blockIdx.x * 4 + threadIdx.x / 32;
    int rows[4], left[4] = {}, gap[4] = {}, most = 0, diagonal = 0, below = 0, below_gap = 0, letter = 0;
    for (int i = 0; i < 4; i++) rows[i] = query[lane * 4 + i] % 24 * 24;
    for (int t = 0; t < length + 31; t++) {
        int up = __shfl_up_sync(~0u, below, 1), up_gap = __shfl_up_sync(~0u, below_gap, 1);
        letter = __shfl_up_sync(~0u, letter, 1);
        if (lane == 0) {
            up = up_gap = 0;
            letter = t < length ? subject[(size_t)which * length + t] % 24 : 0;
        }
        const bool inside = t >= lane && t - lane < length;
        int corner = diagonal;
        diagonal = up;
        if (inside) {
#pragma unroll
            for (int i = 0; i < 4; i++) {
                gap[i] = max(gap[i] - more, left[i] - open);
                up_gap = max(up_gap - more, up - open);
                const int here = max(max(corner + score[rows[i] + letter], 0), max(gap[i], up_gap));
                corner = left[i];
                left[i] = up = here;
                most = max(most, here);
            }
            below = up;
            below_gap = up_gap;
        }
    }
    for (int far = 16; far > 0; far /= 2) most = max(most, __shfl_xor_sync(~0u, most, far));
    if (lane == 0) best[which] = most;
}

// ------------------------------------------------------------------------------------------------
// Ranks of a radix sort's digits of eight bits, as one sweep takes them: lanes with the same digit find each other, and each warp counts on its own.
extern "C" __global__ void __launch_bounds__(256) match_ranks(const uint32_t *keys, uint32_t *ranks, uint32_t *counts, int shift) {
    __shared__ uint32_t warps[8][256];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    for (int i = threadIdx.x; i < 8 * 256; i += 256) (&warps[0][0])[i] = 0;
    __syncthreads();
    const size_t first = (size_t)blockIdx.x * 4096 + warp * 512 + lane;
    uint32_t digit[16], rank[16];
#pragma unroll
    for (int i = 0; i < 16; i++) {
        digit[i] = keys[first + i * 32] >> shift & 255;
        const uint32_t same = __match_any_sync(~0u, digit[i]), before = __popc(same & ((1u << lane) - 1));
        const uint32_t held = warps[warp][digit[i]];
        __syncwarp();
        if (before == 0) warps[warp][digit[i]] = held + __popc(same);
        __syncwarp();
        rank[i] = held + before;
    }
    __syncthreads();
    uint32_t total = 0;
    for (int w = 0; w < 8; w++) {
        const uint32_t own = warps[w][threadIdx.x];
        warps[w][threadIdx.x] = total;
        total += own;
    }
    counts[(size_t)threadIdx.x * gridDim.x + blockIdx.x] = total;
    __syncthreads();
#pragma unroll
    for (int i = 0; i < 16; i++) ranks[first + i * 32] = rank[i] + warps[warp][digit[i]];
}
