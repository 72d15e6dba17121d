// Kernels of the twentieth set in pairs, which differ in the layout of shared memory alone: ciphers, solvers, roots, transports, sparse rows, sound.
#define NAMED(NAME, THREADS, RUN, PARAMETERS, ARGUMENTS, ...) \
    extern "C" __global__ void __launch_bounds__(THREADS) NAME PARAMETERS { RUN<__VA_ARGS__> ARGUMENTS; }
#define ALL 0xffffffffu

// RC4: a thread to a key of 16 bytes, 64 bytes of the stream each. A thread's 256 bytes lie together, or its words beside others'.
template <bool BESIDE> __device__ __forceinline__ void shuffled(const unsigned *keys, unsigned *out) {
    __shared__ unsigned char state[64 * 256];
    const int t = threadIdx.x, i = blockIdx.x * 64 + t, count = gridDim.x * 64;
    const auto at = [&](unsigned k) -> unsigned char & { return state[BESIDE ? (k / 4 * 64 + t) * 4 + k % 4 : t * 256 + k]; };
    const unsigned key[4] = {keys[i], keys[count + i], keys[2 * count + i], keys[3 * count + i]};
    for (unsigned k = 0; k < 64; ++k)
        reinterpret_cast<unsigned *>(state)[BESIDE ? k * 64 + t : t * 64 + k] = 0x03020100u + 0x04040404u * k;
    unsigned j = 0;
    for (unsigned k = 0; k < 256; k += 16) {
        #pragma unroll
        for (unsigned n = 0; n < 16; ++n) {
            const unsigned own = at(k + n);
            j = (j + own + (key[n / 4] >> (8 * (n % 4)))) & 255u;
            at(k + n) = at(j);
            at(j) = (unsigned char)own;
        }
    }
    j = 0;
    for (unsigned k = 0; k < 16; ++k) {
        unsigned word = 0;
        #pragma unroll
        for (unsigned n = 0; n < 4; ++n) {
            const unsigned p = k * 4 + n + 1, own = at(p);
            j = (j + own) & 255u;
            const unsigned other = at(j);
            at(p) = (unsigned char)other;
            at(j) = (unsigned char)own;
            word |= (unsigned)at((own + other) & 255u) << (8 * n);
        }
        out[(size_t)k * count + i] = word;
    }
}
NAMED(rc4_own, 64, shuffled, (const unsigned *keys, unsigned *out), (keys, out), false)
NAMED(rc4_beside, 64, shuffled, (const unsigned *keys, unsigned *out), (keys, out), true)

// Sweeps of over-relaxation over a tile of 64 by 64 and its margin, first all red places, then all black ones: rows as they are, or red
// places apart from black ones.
template <bool APART> __device__ __forceinline__ void two_colours(const float *from, const float *right, float *to, int width, int sweeps, float omega) {
    __shared__ float tile[66 * 66];
    const int t = threadIdx.x, lane = t % 32, warp = t / 32;
    const size_t base = (size_t)blockIdx.y * 64 * width + blockIdx.x * 64;
    const auto at = [&](int row, int column) -> float & {
        return tile[APART ? (row + column & 1) * 66 * 33 + row * 33 + column / 2 : row * 66 + column];
    };
    for (int i = t; i < 66 * 66; i += 256) at(i / 66, i % 66) = from[base + (size_t)(i / 66) * width + i % 66];
    float given[2][8];
    #pragma unroll
    for (int colour = 0; colour < 2; ++colour)
        #pragma unroll
        for (int k = 0; k < 8; ++k) {
            const int row = k * 8 + warp + 1, column = 2 * lane + 1 + (row + 1 + colour & 1);
            given[colour][k] = right[base + (size_t)row * width + column];
        }
    __syncthreads();
    for (int sweep = 0; sweep < sweeps; ++sweep)
        #pragma unroll
        for (int colour = 0; colour < 2; ++colour) {
            #pragma unroll
            for (int k = 0; k < 8; ++k) {
                const int row = k * 8 + warp + 1, column = 2 * lane + 1 + (row + 1 + colour & 1);
                const float own = at(row, column), around = at(row, column - 1) + at(row, column + 1) + at(row - 1, column) + at(row + 1, column);
                at(row, column) = own + omega * (0.25f * (around - given[colour][k]) - own);
            }
            __syncthreads();
        }
    for (int i = t; i < 64 * 64; i += 256) to[base + (size_t)(i / 64 + 1) * width + i % 64 + 1] = at(i / 64 + 1, i % 64 + 1);
}
NAMED(red_black_together, 256, two_colours, (const float *from, const float *right, float *to, int width, int sweeps, float omega), (from, right, to, width, sweeps, omega), false)
NAMED(red_black_apart, 256, two_colours, (const float *from, const float *right, float *to, int width, int sweeps, float omega), (from, right, to, width, sweeps, omega), true)

// One round of Jacobi's turns from both sides towards the eigenvalues of symmetric matrices of 32 by 32: a warp a matrix, sixteen turns at
// a time over 31 pairings. Rows of 32 numbers, or of 33.
template <int PITCH> __device__ __forceinline__ void eigenvalues(const float *from, float *to) {
    __shared__ float held[2][32 * PITCH];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const size_t base = ((size_t)blockIdx.x * 2 + warp) * 1024;
    float *a = held[warp];
    for (int r = 0; r < 32; ++r) a[r * PITCH + lane] = from[base + max(r, lane) * 32 + min(r, lane)];
    __syncwarp();
    for (int round = 0; round < 31; ++round) {
        const int own = lane % 16, x = own == 0 ? 31 : (round + own) % 31, y = (round + 31 - own) % 31, p = min(x, y), q = max(x, y);
        const float off = a[p * PITCH + q], gap = a[q * PITCH + q] - a[p * PITCH + p], ratio = gap / (2.0f * off);
        const float tangent = fabsf(off) > 1e-12f ? copysignf(1.0f, ratio) / (fabsf(ratio) + sqrtf(1.0f + ratio * ratio)) : 0.0f;
        const float c = rsqrtf(1.0f + tangent * tangent), s = tangent * c;
        __syncwarp();
        #pragma unroll 4
        for (int k = 0; k < 16; ++k) {
            const int i = __shfl_sync(ALL, p, k), j = __shfl_sync(ALL, q, k);
            const float ck = __shfl_sync(ALL, c, k), sk = __shfl_sync(ALL, s, k), u = a[i * PITCH + lane], v = a[j * PITCH + lane];
            a[i * PITCH + lane] = ck * u - sk * v;
            a[j * PITCH + lane] = sk * u + ck * v;
        }
        __syncwarp();
        #pragma unroll 4
        for (int k = 0; k < 16; ++k) {
            const int i = __shfl_sync(ALL, p, k), j = __shfl_sync(ALL, q, k);
            const float ck = __shfl_sync(ALL, c, k), sk = __shfl_sync(ALL, s, k), u = a[lane * PITCH + i], v = a[lane * PITCH + j];
            a[lane * PITCH + i] = ck * u - sk * v;
            a[lane * PITCH + j] = sk * u + ck * v;
        }
        __syncwarp();
    }
    for (int r = 0; r < 32; ++r) to[base + r * 32 + lane] = a[r * PITCH + lane];
}
NAMED(eigenvalues_plain, 64, eigenvalues, (const float *from, float *to), (from, to), 32)
NAMED(eigenvalues_padded, 64, eigenvalues, (const float *from, float *to), (from, to), 33)

// How mass goes from 64 places to 64 others at the least cost, nearly (Sinkhorn): rows, then columns, are brought to their sums, a thread
// to each. Rows of 64 numbers, or of 65.
template <int PITCH> __device__ __forceinline__ void transport(const float *costs, float *out, int turns, float sharp) {
    __shared__ float kernel[64 * PITCH], left[64], right[64];
    const int t = threadIdx.x;
    const size_t base = (size_t)blockIdx.x * 4096;
    for (int r = 0; r < 64; ++r) kernel[r * PITCH + t] = __expf(-sharp * (1.0f + costs[base + r * 64 + t]));
    right[t] = 1.0f;
    __syncthreads();
    for (int turn = 0; turn < turns; ++turn) {
        float sum = 0.0f;
        #pragma unroll 8
        for (int k = 0; k < 64; ++k) sum += kernel[t * PITCH + k] * right[k];
        left[t] = 0.015625f / sum;
        __syncthreads();
        sum = 0.0f;
        #pragma unroll 8
        for (int k = 0; k < 64; ++k) sum += kernel[k * PITCH + t] * left[k];
        right[t] = 0.015625f / sum;
        __syncthreads();
    }
    for (int r = 0; r < 64; ++r) out[base + r * 64 + t] = kernel[r * PITCH + t] * left[r] * right[t];
}
NAMED(transport_plain, 64, transport, (const float *costs, float *out, int turns, float sharp), (costs, out, turns, sharp), 64)
NAMED(transport_padded, 64, transport, (const float *costs, float *out, int turns, float sharp), (costs, out, turns, sharp), 65)

// A sparse matrix by a vector: a block makes the products of 256 rows, then a thread adds up its row's from shared memory. Row i begins at
// 16 i and up to three more. Products lie as they come, or a word is left out after every sixteen.
template <bool PADDED> __device__ __forceinline__ void row_streams(const unsigned *extra, const unsigned *columns, const float *values, const float *vector,
                                                                   float *out, unsigned last) {
    __shared__ float products[4100 + (PADDED ? 257 : 0)];
    const int t = threadIdx.x, row = blockIdx.x * 256 + t;
    const auto place = [](int i) { return PADDED ? i + i / 16 : i; };
    const auto start = [&](int r) { return 16 * r + (int)(extra[r] & 3u); };
    const int first = start(blockIdx.x * 256), end = start(blockIdx.x * 256 + 256), own = start(row), next = start(row + 1);
    for (int i = first + t; i < end; i += 256) products[place(i - first)] = values[i] * vector[columns[i] & last];
    __syncthreads();
    float sum = 0.0f;
    for (int i = own; i < next; ++i) sum += products[place(i - first)];
    out[row] = sum;
}
NAMED(row_streams_plain, 256, row_streams, (const unsigned *extra, const unsigned *columns, const float *values, const float *vector, float *out, unsigned last), (extra, columns, values, vector, out, last), false)
NAMED(row_streams_padded, 256, row_streams, (const unsigned *extra, const unsigned *columns, const float *values, const float *vector, float *out, unsigned last), (extra, columns, values, vector, out, last), true)

// Loudness of speech in forty bands of the ear (mel), from spectra of 256 complex numbers: 32 frames a block, a lane to a frame, a warp to
// every eighth band, of triangular weights. A frame's powers are 256 words, or 257.
template <int PITCH> __device__ __forceinline__ void bands(const float2 *spectra, float *out, int first) {
    extern __shared__ float powers[];
    const int t = threadIdx.x, lane = t % 32, warp = t / 32;
    for (int i = t; i < 32 * 256; i += 256) {
        const float2 v = spectra[(size_t)blockIdx.x * 8192 + i];
        powers[i / 256 * PITCH + i % 256] = v.x * v.x + v.y * v.y;
    }
    __syncthreads();
    const auto limit = [&](int k) { return 2 * k + k * k * k / 512 + first; };
    for (int band = warp; band < 40; band += 8) {
        const int begin = limit(band), middle = limit(band + 1), end = limit(band + 2);
        const float up = 1.0f / (float)(middle - begin), down = 1.0f / (float)(end - middle);
        float sum = 1e-10f;
        for (int k = begin; k < end; ++k) sum += powers[lane * PITCH + k] * (k < middle ? (float)(k - begin) * up : (float)(end - k) * down);
        out[((size_t)blockIdx.x * 40 + band) * 32 + lane] = __logf(sum);
    }
}
NAMED(bands_plain, 256, bands, (const float2 *spectra, float *out, int first), (spectra, out, first), 256)
NAMED(bands_padded, 256, bands, (const float2 *spectra, float *out, int first), (spectra, out, first), 257)

// Sound of 44100 samples a second at 48000: each of 160 phases has a filter of 32 taps, and what follows has another phase. 1280 samples a
// block, four a thread. A filter has 32 words, or 33.
template <int PITCH> __device__ __forceinline__ void resampled(const float *from, const float *filters, float *to) {
    __shared__ float taps[160 * PITCH], sound[1208];
    const int t = threadIdx.x;
    for (int i = t; i < 160 * 32; i += 320) taps[i / 32 * PITCH + i % 32] = filters[i];
    for (int i = t; i < 1208; i += 320) sound[i] = from[(size_t)blockIdx.x * 1176 + i];
    __syncthreads();
    #pragma unroll
    for (int k = 0; k < 4; ++k) {
        const int n = k * 320 + t, place = n * 147, first = place / 160;
        const float *filter = taps + place % 160 * PITCH;
        float sum = 0.0f;
        #pragma unroll 8
        for (int i = 0; i < 32; ++i) sum += filter[i] * sound[first + i];
        to[(size_t)blockIdx.x * 1280 + n] = sum;
    }
}
NAMED(resampled_plain, 320, resampled, (const float *from, const float *filters, float *to), (from, filters, to), 32)
NAMED(resampled_padded, 320, resampled, (const float *from, const float *filters, float *to), (from, filters, to), 33)
