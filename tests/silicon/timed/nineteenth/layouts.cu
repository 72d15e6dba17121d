// Kernels of the nineteenth set in groups, which differ in the layout of shared memory alone: folds, matrices, motifs, sweeps, times, maxima.
#define NAMED(NAME, THREADS, RUN, PARAMETERS, ARGUMENTS, ...) \
    extern "C" __global__ void __launch_bounds__(THREADS) NAME PARAMETERS { RUN<__VA_ARGS__> ARGUMENTS; }
#define ALL 0xffffffffu

// How a strand of 62 bases folds with the most pairs (Nussinov): a block a strand, a thread a start; rows of 63 numbers, or of 64.
template <int PITCH> __device__ __forceinline__ void folded(const unsigned char *strands, int *pairs) {
    __shared__ int best[63 * PITCH];
    __shared__ unsigned char base[64];
    const int i = threadIdx.x;
    if (i < 62) base[i] = strands[(size_t)blockIdx.x * 62 + i] & 3;
    if (i < 63) {
        best[i * PITCH + i] = 0;
        if (i < 62) best[i * PITCH + i + 1] = 0;
    }
    __syncthreads();
    for (int d = 2; d <= 62; ++d) {
        if (i + d <= 62) {
            const int j = i + d;
            int most = 0;
            #pragma unroll 4
            for (int m = 1; m < d; ++m) most = max(most, best[i * PITCH + i + m] + best[(i + m) * PITCH + j]);
            if (d > 4) most = max(most, best[(i + 1) * PITCH + j - 1] + (base[i] + base[j - 1] == 3 ? 1 : 0));
            best[i * PITCH + j] = most;
        }
        __syncthreads();
    }
    if (i == 0) pairs[blockIdx.x] = best[62];
}
NAMED(folded_plain, 64, folded, (const unsigned char *strands, int *pairs), (strands, pairs), 63)
NAMED(folded_padded, 64, folded, (const unsigned char *strands, int *pairs), (strands, pairs), 64)

// Matrices of 32 by 32 to Hessenberg's form by Householder's reflections: a warp a matrix, rows of 32 numbers, or of 33.
template <int PITCH> __device__ __forceinline__ void hessenberg(const float *from, float *to) {
    __shared__ float held[4][32 * PITCH];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const size_t base = ((size_t)blockIdx.x * 4 + warp) * 1024;
    float *a = held[warp];
    for (int r = 0; r < 32; ++r) a[r * PITCH + lane] = from[base + r * 32 + lane];
    __syncwarp();
    for (int k = 0; k < 30; ++k) {
        float v = lane > k ? a[lane * PITCH + k] : 0.0f, square = v * v;
        #pragma unroll
        for (int offset = 16; offset > 0; offset >>= 1) square += __shfl_xor_sync(ALL, square, offset);
        const float head = __shfl_sync(ALL, v, k + 1), norm = copysignf(sqrtf(square), head);
        if (lane == k + 1) v += norm;
        const float scale = 1.0f / fmaxf(square + fabsf(head * norm), 1e-20f);
        float sum = 0.0f;
        for (int r = k + 1; r < 32; ++r) sum += __shfl_sync(ALL, v, r) * a[r * PITCH + lane];
        sum *= scale;
        for (int r = k + 1; r < 32; ++r) a[r * PITCH + lane] -= __shfl_sync(ALL, v, r) * sum;
        __syncwarp();
        sum = 0.0f;
        for (int c = k + 1; c < 32; ++c) sum += __shfl_sync(ALL, v, c) * a[lane * PITCH + c];
        sum *= scale;
        for (int c = k + 1; c < 32; ++c) a[lane * PITCH + c] -= __shfl_sync(ALL, v, c) * sum;
        __syncwarp();
    }
    for (int r = 0; r < 32; ++r) to[base + r * 32 + lane] = a[r * PITCH + lane];
}
NAMED(hessenberg_plain, 128, hessenberg, (const float *from, float *to), (from, to), 32)
NAMED(hessenberg_padded, 128, hessenberg, (const float *from, float *to), (from, to), 33)

// How well proteins fit a motif of 32 places (the first filter of HMMER): a thread a protein, its states in registers; the scores
// of the twenty letters lie in rows of 32, or of 33.
template <int PITCH> __device__ __forceinline__ void motif(const unsigned *proteins, const float *scores, float *out, int words, float begin) {
    __shared__ float table[20 * PITCH];
    const int t = threadIdx.x, i = blockIdx.x * 256 + t, count = gridDim.x * 256;
    for (int k = t; k < 640; k += 256) table[k / 32 * PITCH + k % 32] = scores[k];
    __syncthreads();
    float state[32];
    #pragma unroll
    for (int k = 0; k < 32; ++k) state[k] = -1e30f;
    float best = 0.0f;
    for (int w = 0; w < words; ++w) {
        const unsigned four = proteins[(size_t)w * count + i];
        for (int b = 0; b < 4; ++b) {
            const float *row = table + (four >> (8 * b) & 255) * 20 / 256 * PITCH;
            #pragma unroll
            for (int k = 31; k > 0; --k) {
                state[k] = fmaxf(state[k - 1], begin) + row[k];
                best = fmaxf(best, state[k]);
            }
            state[0] = begin + row[0];
            best = fmaxf(best, state[0]);
        }
    }
    out[i] = best;
}
NAMED(motif_plain, 256, motif, (const unsigned *proteins, const float *scores, float *out, int words, float begin), (proteins, scores, out, words, begin), 32)
NAMED(motif_padded, 256, motif, (const unsigned *proteins, const float *scores, float *out, int words, float begin), (proteins, scores, out, words, begin), 33)

// Sweeps of over-relaxation (Gauss and Seidel) through a tile of 63 by 63 and its margin, along diagonals: rows of 65, or of 66.
template <int PITCH> __device__ __forceinline__ void swept(const float *from, float *to, int width, int sweeps, float omega) {
    __shared__ float tile[65 * PITCH];
    const int t = threadIdx.x;
    const size_t base = (size_t)blockIdx.y * 63 * width + blockIdx.x * 63;
    for (int i = t; i < 65 * 65; i += 64) tile[i / 65 * PITCH + i % 65] = from[base + (size_t)(i / 65) * width + i % 65];
    __syncthreads();
    for (int sweep = 0; sweep < sweeps; ++sweep)
        for (int d = 0; d < 125; ++d) {
            const int column = d - t;
            if (t < 63 && column >= 0 && column < 63) {
                float *own = tile + (t + 1) * PITCH + column + 1;
                own[0] += omega * (0.25f * (own[-1] + own[1] + own[-PITCH] + own[PITCH]) - own[0]);
            }
            __syncthreads();
        }
    for (int i = t; i < 63 * 63; i += 64)
        to[base + (size_t)(i / 63 + 1) * width + i % 63 + 1] = tile[(i / 63 + 1) * PITCH + i % 63 + 1];
}
NAMED(swept_tight, 64, swept, (const float *from, float *to, int width, int sweeps, float omega), (from, to, width, sweeps, omega), 65)
NAMED(swept_padded, 64, swept, (const float *from, float *to, int width, int sweeps, float omega), (from, to, width, sweeps, omega), 66)

// How far two gestures of 48 samples are apart, when time may stretch, but by no more than twelve: a thread a pair, whose band of
// 24 distances lies in shared memory, 24 words from the next thread's, or 25.
template <int PITCH> __device__ __forceinline__ void stretched_time(const float *first, const float *second, float *out) {
    __shared__ float bands[64 * PITCH];
    const int t = threadIdx.x, i = blockIdx.x * 64 + t, count = gridDim.x * 64;
    float *band = bands + t * PITCH;
    #pragma unroll
    for (int k = 0; k < 24; ++k) band[k] = k == 12 ? 0.0f : 1e30f;
    for (int step = 0; step < 48; ++step) {
        const float x = first[(size_t)step * count + i];
        float left = 1e30f, corner = band[0];
        #pragma unroll 4
        for (int k = 0; k < 24; ++k) {
            const int j = step + k - 12;
            const float above = k < 23 ? band[k + 1] : 1e30f;
            float made = 1e30f;
            if (j >= 0 && j < 48) made = fabsf(x - second[(size_t)j * count + i]) + fminf(corner, fminf(above, left));
            band[k] = left = made;
            corner = above;
        }
    }
    out[i] = band[12];
}
NAMED(stretched_time_plain, 64, stretched_time, (const float *first, const float *second, float *out), (first, second, out), 24)
NAMED(stretched_time_padded, 64, stretched_time, (const float *first, const float *second, float *out), (first, second, out), 25)

// Maxima of seventeen pixels along rows, in three comparisons a pixel (van Herk): a thread a row of 64 pixels; rows of 64, or of 65.
template <int PITCH> __device__ __forceinline__ void running_most(const float *from, float *to, int width, int out_width) {
    __shared__ float forth[64 * PITCH], back[64 * PITCH];
    const int t = threadIdx.x;
    const size_t row = (size_t)blockIdx.y * 64;
    for (int r = 0; r < 64; ++r) forth[r * PITCH + t] = from[(row + r) * width + blockIdx.x * 48 + t];
    __syncthreads();
    float *f = forth + t * PITCH, *b = back + t * PITCH;
    float most = -1e30f;
    for (int k = 63; k >= 0; --k) {
        most = k % 17 == 16 ? f[k] : fmaxf(most, f[k]);
        b[k] = most;
    }
    for (int k = 0; k < 64; ++k) {
        most = k % 17 == 0 ? f[k] : fmaxf(most, f[k]);
        f[k] = most;
    }
    #pragma unroll 4
    for (int k = 0; k < 48; ++k) b[k] = fmaxf(b[k], f[k + 16]);
    __syncthreads();
    for (int r = 0; r < 64; ++r)
        if (t < 48) to[(row + r) * out_width + blockIdx.x * 48 + t] = back[r * PITCH + t];
}
NAMED(running_most_plain, 64, running_most, (const float *from, float *to, int width, int out_width), (from, to, width, out_width), 64)
NAMED(running_most_padded, 64, running_most, (const float *from, float *to, int width, int out_width), (from, to, width, out_width), 65)
