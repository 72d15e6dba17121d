// Kernels of the fifteenth set in groups, which differ in the layout of shared memory alone.
#include <cuda_fp16.h>

#define NAMED(NAME, THREADS, RUN, PARAMETERS, ARGUMENTS, ...) \
    extern "C" __global__ void __launch_bounds__(THREADS) NAME PARAMETERS { RUN<__VA_ARGS__> ARGUMENTS; }

// Text from numbers of asymmetric codes (rANS): a lane has a number of its own, and those that grow small take 16 bits each
// from the warp's stream. A place of the table is a word and its letter side by side, or words are followed by letters.
template <int WORD, int LETTER, int FIRST> __device__ __forceinline__ void entropy(const unsigned char *often, const unsigned *begins, const unsigned short *streams, unsigned *out) {
    __shared__ unsigned table[2048];
    const int t = threadIdx.x, lane = t % 32;
    unsigned char *letters = (unsigned char *)table + FIRST;
    for (int k = t; k < 1024; k += 128) {
        const int pair = k / 32, place = k % 32, split = 8 + often[pair] % 17;
        table[k * WORD] = place < split ? split | place << 16 : (32 - split) | (place - split) << 16;
        letters[k * LETTER] = 2 * pair + (place >= split);
    }
    __syncthreads();
    const size_t warp = (size_t)blockIdx.x * 4 + t / 32;
    const unsigned short *stream = streams + warp * 2048;
    unsigned x = begins[warp * 32 + lane] | 1u << 16;
    int at = 0;
    #pragma unroll 2
    for (int r = 0; r < 16; ++r) {
        unsigned text = 0;
        #pragma unroll
        for (int k = 0; k < 4; ++k) {
            const unsigned slot = x & 1023, word = table[slot * WORD];
            text |= (unsigned)letters[slot * LETTER] << 8 * k;
            x = (word & 0xffff) * (x >> 10) + (word >> 16);
            const bool small = x < 1u << 16;
            const unsigned votes = __ballot_sync(~0u, small);
            if (small) x = x << 16 | stream[at + __popc(votes & ((1u << lane) - 1))];
            at += __popc(votes);
        }
        out[(warp * 16 + r) * 32 + lane] = text;
    }
}
#define ENTROPY(NAME, ...)                                                                                                          \
    NAMED(NAME, 128, entropy, (const unsigned char *often, const unsigned *begins, const unsigned short *streams, unsigned *out), \
          (often, begins, streams, out), __VA_ARGS__)
ENTROPY(entropy_together, 2, 8, 4)
ENTROPY(entropy_apart, 1, 1, 4096)

// Sixteen coefficients that predict each frame of speech, from its correlations (Levinson and Durbin): a frame to a thread.
// A thread's words are a row, a padded row, or a column.
template <int EACH, int NEXT> __device__ __forceinline__ void predictors(const float *in, float *out, float *errors, int many) {
    __shared__ float seen[128 * 17], found[128 * 17];
    const int t = threadIdx.x, i = blockIdx.x * 128 + t;
    float *r = seen + t * EACH, *a = found + t * EACH;
    float left = 4 + in[i];
    for (int k = 0; k < 16; ++k) r[k * NEXT] = 0.25f * in[(size_t)(k + 1) * many + i];
    #pragma unroll 1
    for (int order = 0; order < 16; ++order) {
        float sum = r[order * NEXT];
        for (int j = 0; j < order; ++j) sum += a[j * NEXT] * r[(order - 1 - j) * NEXT];
        const float turn = -__fdividef(sum, left);
        for (int j = 0; 2 * j < order; ++j) {
            const int other = order - 1 - j;
            const float x = a[j * NEXT], y = a[other * NEXT];
            a[j * NEXT] = x + turn * y, a[other * NEXT] = y + turn * x;
        }
        a[order * NEXT] = turn, left *= 1 - turn * turn;
    }
    for (int k = 0; k < 16; ++k) out[(size_t)k * many + i] = a[k * NEXT];
    errors[i] = left;
}
NAMED(predictors_own, 128, predictors, (const float *in, float *out, float *errors, int many), (in, out, errors, many), 16, 1)
NAMED(predictors_padded, 128, predictors, (const float *in, float *out, float *errors, int many), (in, out, errors, many), 17, 1)
NAMED(predictors_beside, 128, predictors, (const float *in, float *out, float *errors, int many), (in, out, errors, many), 1, 128)

// Two levels of the wavelets of JPEG 2000 that lose nothing, of tiles of 64 by 64: a thread to a row, then to a column.
template <int PITCH> __device__ __forceinline__ void lifted(const int *in, int *out) {
    __shared__ int held[64 * PITCH];
    const int t = threadIdx.x;
    const size_t base = (size_t)blockIdx.x * 4096;
    #pragma unroll 4
    for (int y = 0; y < 64; ++y) held[y * PITCH + t] = in[base + y * 64 + t];
    for (int step = 1; step < 4; step *= 2)
        for (int turn = 0; turn < 2; ++turn) {
            __syncthreads();
            if (t * step >= 64) continue;
            int *line = held + (turn ? t * step : t * step * PITCH);
            const int next = turn ? step * PITCH : step, last = 64 / step - 2;
            int here = line[0], before = 0;
            #pragma unroll 4
            for (int k = 0; k <= last; k += 2) {
                const int ahead = k < last ? line[(k + 2) * next] : here;
                const int detail = line[(k + 1) * next] - ((here + ahead) >> 1);
                line[(k + 1) * next] = detail, line[k * next] = here + (((k ? before : detail) + detail + 2) >> 2);
                before = detail, here = ahead;
            }
        }
    __syncthreads();
    const auto once = [](int k) { return k < 32 ? 2 * k : 2 * k - 63; };
    const auto twice = [](int k) { return k < 16 ? 4 * k : 4 * k - 62; };
    #pragma unroll 4
    for (int y = 0; y < 64; ++y) {
        const bool low = t < 32 && y < 32;
        out[base + y * 64 + t] = held[(low ? twice(y) : once(y)) * PITCH + (low ? twice(t) : once(t))];
    }
}
NAMED(lifted_plain, 64, lifted, (const int *in, int *out), (in, out), 64)
NAMED(lifted_padded, 64, lifted, (const int *in, int *out), (in, out), 65)

// Forces of a smoothed fluid on 256 bodies of a cell, from 32 neighbours that each names: bodies are structures of eight, or arrays.
template <int EACH, int NEXT> __device__ __forceinline__ void smoothed(const float *bodies, const uint4 *lists, float *out, int many) {
    __shared__ __align__(16) float held[2048];
    const int t = threadIdx.x, i = blockIdx.x * 256 + t;
    float own[8];
    #pragma unroll
    for (int k = 0; k < 8; ++k) {
        own[k] = bodies[(size_t)k * many + i];
        if (k > 5) own[k] = 1.5f + own[k];
        held[t * EACH + k * NEXT] = own[k];
    }
    __syncthreads();
    float sum[3] = {};
    #pragma unroll
    for (int half = 0; half < 2; ++half) {
        const uint4 v = lists[(size_t)i * 2 + half];
        const unsigned words[4] = {v.x, v.y, v.z, v.w};
        #pragma unroll
        for (int k = 0; k < 16; ++k) {
            const float *other = held + (words[k / 4] >> 8 * (k % 4) & 255) * EACH;
            const float x = own[0] - other[0], y = own[1] - other[NEXT], z = own[2] - other[2 * NEXT];
            const float far = sqrtf(x * x + y * y + z * z + 1e-4f), near = fmaxf(1 - 0.5f * far, 0.f), density = other[6 * NEXT];
            const float push = __fdividef((own[7] + other[7 * NEXT]) * near * near, density * far), drag = __fdividef(0.1f * near, density);
            sum[0] += push * x + drag * (other[3 * NEXT] - own[3]);
            sum[1] += push * y + drag * (other[4 * NEXT] - own[4]);
            sum[2] += push * z + drag * (other[5 * NEXT] - own[5]);
        }
    }
    const float by = 1 / own[6];
    #pragma unroll
    for (int k = 0; k < 3; ++k) out[(size_t)k * many + i] = by * sum[k];
}
NAMED(smoothed_structures, 256, smoothed, (const float *bodies, const uint4 *lists, float *out, int many), (bodies, lists, out, many), 8, 1)
NAMED(smoothed_arrays, 256, smoothed, (const float *bodies, const uint4 *lists, float *out, int many), (bodies, lists, out, many), 1, 256)

// Matrices of 16 by 16 doubles inverted in place by Gauss and Jordan with pivots: 16 lanes to each. Rows of 16, or of 17.
template <int PITCH> __device__ __forceinline__ void eliminated(const double *in, double *out) {
    __shared__ double held[8][16 * PITCH];
    __shared__ int swaps[8][16];
    const int t = threadIdx.x, lane = t % 16, group = t / 16;
    const size_t base = ((size_t)blockIdx.x * 8 + group) * 256;
    double *own = held[group];
    #pragma unroll
    for (int k = 0; k < 16; ++k) own[k * PITCH + lane] = in[base + k * 16 + lane];
    __syncwarp();
    #pragma unroll 1
    for (int k = 0; k < 16; ++k) {
        float most = lane < k ? -1 : fabsf((float)own[lane * PITCH + k]);
        int at = lane;
        for (int d = 8; d; d /= 2) {
            const float other = __shfl_xor_sync(~0u, most, d, 16);
            const int its = __shfl_xor_sync(~0u, at, d, 16);
            if (other > most || (other == most && its < at)) most = other, at = its;
        }
        if (!lane) swaps[group][k] = at;
        const double one = own[at * PITCH + lane], two = own[k * PITCH + lane];
        __syncwarp();
        if (at != k) own[at * PITCH + lane] = two;
        own[k * PITCH + lane] = one;
        __syncwarp();
        const double by = 1 / own[k * PITCH + k];
        __syncwarp();
        own[k * PITCH + lane] = lane == k ? by : one * by;
        __syncwarp();
        if (lane != k) {
            const double factor = own[lane * PITCH + k];
            #pragma unroll
            for (int j = 0; j < 16; ++j) {
                const double old = j == k ? 0 : own[lane * PITCH + j];
                own[lane * PITCH + j] = old - factor * own[k * PITCH + j];
            }
        }
        __syncwarp();
    }
    for (int k = 15; k >= 0; --k) {
        const int at = swaps[group][k];
        const double one = own[lane * PITCH + k], two = own[lane * PITCH + at];
        own[lane * PITCH + at] = one, own[lane * PITCH + k] = two;
    }
    __syncwarp();
    #pragma unroll
    for (int k = 0; k < 16; ++k) out[base + k * 16 + lane] = own[k * PITCH + lane];
}
NAMED(eliminated_plain, 128, eliminated, (const double *in, double *out), (in, out), 16)
NAMED(eliminated_padded, 128, eliminated, (const double *in, double *out), (in, out), 17)

// Which of 256 ranges each key of a sample sort is in, and how many keys each range gets: 255 limits are searched in eight
// steps. They lie in order, or as a tree level after level.
template <bool TREE> __device__ __forceinline__ void ranges(const uint4 *keys, const unsigned *samples, unsigned *out, unsigned *counts) {
    __shared__ unsigned limits[256], many[256];
    const int t = threadIdx.x;
    const auto at = [](int level, int node) { return TREE ? (1 << level) + node : (2 * node + 1) << (7 - level); };
    many[t] = 0;
    if (t) {
        const int low = __ffs(t) - 1;
        limits[at(7 - low, t >> (low + 1))] = (unsigned)t << 24 | (samples[t] & 0xffffff);
    }
    __syncthreads();
    #pragma unroll 2
    for (int r = 0; r < 4; ++r) {
        const size_t place = ((size_t)blockIdx.x * 4 + r) * 256 + t;
        const uint4 v = keys[place];
        const unsigned four[4] = {v.x, v.y, v.z, v.w};
        unsigned which = 0;
        #pragma unroll
        for (int j = 0; j < 4; ++j) {
            int node = 0;
            #pragma unroll
            for (int level = 0; level < 8; ++level) node = 2 * node + (four[j] >= limits[at(level, node)]);
            atomicAdd(many + node, 1);
            which |= node << 8 * j;
        }
        out[place] = which;
    }
    __syncthreads();
    counts[blockIdx.x * 256 + t] = many[t];
}
NAMED(ranges_sorted, 256, ranges, (const uint4 *keys, const unsigned *samples, unsigned *out, unsigned *counts), (keys, samples, out, counts), false)
NAMED(ranges_tree, 256, ranges, (const uint4 *keys, const unsigned *samples, unsigned *out, unsigned *counts), (keys, samples, out, counts), true)

struct Field {
    unsigned char power[512], log[256];
};
constexpr Field field() {
    Field to = {};
    int v = 1;
    for (int k = 0; k < 255; ++k) {
        to.power[k] = to.power[k + 255] = v, to.log[v] = k;
        v = v << 1 ^ (v & 128 ? 0x11d : 0);
    }
    return to;
}
__device__ const Field FIELD = field();

// What is wrong with words of 255 bytes of Reed and Solomon's code: sixteen sums of each, by tables of powers and logarithms
// that are bytes, or words of which there are eight copies side by side.
template <typename T, int COPIES> __device__ __forceinline__ void syndromes(const unsigned *in, unsigned char *out) {
    __shared__ T powers[512 * COPIES], logs[256 * COPIES];
    __shared__ unsigned text[8][64];
    const int t = threadIdx.x, copy = t % COPIES, own = t / 16, which = t % 16;
    for (int k = t; k < 512 * COPIES; k += 128) powers[k] = FIELD.power[k / COPIES];
    for (int k = t; k < 256 * COPIES; k += 128) logs[k] = FIELD.log[k / COPIES];
    #pragma unroll
    for (int k = 0; k < 4; ++k) text[0][k * 128 + t] = in[(size_t)blockIdx.x * 512 + k * 128 + t];
    __syncthreads();
    unsigned sum = 0;
    #pragma unroll 2
    for (int k = 0; k < 64; ++k) {
        const unsigned four = text[own][k];
        #pragma unroll
        for (int j = 0; j < 4; ++j) {
            if (k == 63 && j == 3) break;
            const unsigned up = sum ? (unsigned)powers[(logs[sum * COPIES + copy] + which) * COPIES + copy] : 0;
            sum = up ^ (four >> 8 * j & 255);
        }
    }
    out[(size_t)blockIdx.x * 128 + t] = sum;
}
NAMED(syndromes_bytes, 128, syndromes, (const unsigned *in, unsigned char *out), (in, out), unsigned char, 1)
NAMED(syndromes_copies, 128, syndromes, (const unsigned *in, unsigned char *out), (in, out), unsigned, 8)

// Colours by a cube of 17 by 17 by 17 others in halves, between the four nearest (a tetrahedron): threes, fours, or planes.
template <int EACH, int NEXT> __device__ __forceinline__ void graded(const __half *cube, const uint4 *in, uint4 *out, int each) {
    __shared__ __align__(16) __half held[4913 * (EACH == 4 ? 4 : 3)];
    const int t = threadIdx.x;
    for (int k = t; k < 4913 * 3; k += 256) held[k / 3 * EACH + k % 3 * NEXT] = cube[k];
    __syncthreads();
    for (int r = t; r < each; r += 256) {
        const size_t at = (size_t)blockIdx.x * each + r;
        const uint4 v = in[at];
        unsigned words[4] = {v.x, v.y, v.z, v.w};
        #pragma unroll
        for (int k = 0; k < 4; ++k) {
            const float x = (words[k] & 255) * (16 / 255.001f), y = (words[k] >> 8 & 255) * (16 / 255.001f), z = (words[k] >> 16 & 255) * (16 / 255.001f);
            const int u = (int)x, w = (int)y, s = (int)z;
            const float a = x - u, b = y - w, c = z - s, high = fmaxf(a, fmaxf(b, c)), low = fminf(a, fminf(b, c)), middle = a + b + c - high - low;
            const int most = a >= b && a >= c ? 1 : b >= c ? 17 : 289, least = c <= a && c <= b ? 289 : b <= a ? 17 : 1;
            const __half *p = held + ((s * 17 + w) * 17 + u) * EACH, *q = p + most * EACH, *e = p + (307 - least) * EACH, *f = p + 307 * EACH;
            unsigned to = words[k] & 0xff000000u;
            #pragma unroll
            for (int j = 0; j < 3; ++j) {
                const float colour = (1 - high) * __half2float(p[j * NEXT]) + (high - middle) * __half2float(q[j * NEXT]) +
                                     (middle - low) * __half2float(e[j * NEXT]) + low * __half2float(f[j * NEXT]);
                to |= __float2uint_rn(__saturatef(0.5f + 0.5f * colour) * 255) << 8 * j;
            }
            words[k] = to;
        }
        out[at] = {words[0], words[1], words[2], words[3]};
    }
}
NAMED(graded_threes, 256, graded, (const __half *cube, const uint4 *in, uint4 *out, int each), (cube, in, out, each), 3, 1)
NAMED(graded_fours, 256, graded, (const __half *cube, const uint4 *in, uint4 *out, int each), (cube, in, out, each), 4, 1)
NAMED(graded_planes, 256, graded, (const __half *cube, const uint4 *in, uint4 *out, int each), (cube, in, out, each), 1, 4913)

// Currents and charges that 2048 bodies leave on the corners of a tile of 16 by 16, in fixed point: a corner's four sums lie
// together, or in planes.
template <int EACH, int NEXT> __device__ __forceinline__ void deposited(const float4 *bodies, int *grid, int pitch) {
    __shared__ int sums[289 * 4];
    const int t = threadIdx.x;
    for (int k = t; k < 289 * 4; k += 256) sums[k] = 0;
    __syncthreads();
    #pragma unroll 2
    for (int r = 0; r < 8; ++r) {
        const float4 v = bodies[((size_t)blockIdx.x * 8 + r) * 256 + t];
        const float x = 8 + 7.999f * v.x, y = 8 + 7.999f * v.y, square = 0.5f * (v.z * v.z + v.w * v.w);
        const int u = (int)x, w = (int)y;
        const float a = x - u, b = y - w;
        #pragma unroll
        for (int corner = 0; corner < 4; ++corner) {
            const float by = 65536 * (corner % 2 ? a : 1 - a) * (corner / 2 ? b : 1 - b);
            int *to = sums + ((w + corner / 2) * 17 + u + corner % 2) * EACH;
            atomicAdd(to, __float2int_rn(by)), atomicAdd(to + NEXT, __float2int_rn(by * v.z));
            atomicAdd(to + 2 * NEXT, __float2int_rn(by * v.w)), atomicAdd(to + 3 * NEXT, __float2int_rn(by * square));
        }
    }
    __syncthreads();
    for (int k = t; k < 289 * 4; k += 256) {
        const int node = k / 4, x = blockIdx.x % 32 * 16 + node % 17, y = blockIdx.x / 32 * 16 + node / 17;
        atomicAdd(grid + ((size_t)y * pitch + x) * 4 + k % 4, sums[node * EACH + k % 4 * NEXT]);
    }
}
NAMED(deposited_together, 256, deposited, (const float4 *bodies, int *grid, int pitch), (bodies, grid, pitch), 4, 1)
NAMED(deposited_planes, 256, deposited, (const float4 *bodies, int *grid, int pitch), (bodies, grid, pitch), 1, 289)
