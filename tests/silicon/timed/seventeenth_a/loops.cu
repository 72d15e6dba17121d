// Kernels of set seventeen A with loops, branches and tables of their own: fractals, chances, sorts, lists, small matrices.

#define KERNEL(THREADS) extern "C" __global__ void __launch_bounds__(THREADS)
#define ALL 0xffffffffu

// The set of Mandelbrot, in floats or doubles: a thread to a pixel that leaves its loop when it escapes.
template <typename T> __device__ __forceinline__ void mandelbrot(int *out, int width, int height, int limit) {
    const int px = blockIdx.x * blockDim.x + threadIdx.x, py = blockIdx.y * blockDim.y + threadIdx.y;
    if (px >= width || py >= height) return;
    const T cx = T(3.5) * px / width - T(2.5), cy = T(2) * py / height - T(1);
    T x = 0, y = 0;
    int i = 0;
    while (x * x + y * y < T(4) && i < limit) {
        const T next = x * x - y * y + cx;
        y = T(2) * x * y + cy;
        x = next;
        ++i;
    }
    out[py * width + px] = i;
}
KERNEL(256) mandelbrot_f32(int *out, int width, int height, int limit) { mandelbrot<float>(out, width, height, limit); }
KERNEL(256) mandelbrot_f64(int *out, int width, int height, int limit) { mandelbrot<double>(out, width, height, limit); }

// A call option by chance: numbers by xorshift, made normal by Box and Muller, a sum to a block.
KERNEL(128) monte_carlo(float *out, float spot, float strike, float drift, float volatility, int paths) {
    __shared__ float sums[128];
    unsigned state = (blockIdx.x * 128 + threadIdx.x) * 2654435761u + 12345u;
    float sum = 0.0f;
    for (int i = 0; i < paths; ++i) {
        state ^= state << 13, state ^= state >> 17, state ^= state << 5;
        const float u = (state >> 8) * 5.9604645e-8f + 2.9802322e-8f;
        state ^= state << 13, state ^= state >> 17, state ^= state << 5;
        const float angle = (state >> 8) * 3.7450704e-7f, z = sqrtf(-2.0f * logf(u)) * cosf(angle);
        sum += fmaxf(spot * expf(drift + volatility * z) - strike, 0.0f);
    }
    sums[threadIdx.x] = sum;
    __syncthreads();
    for (int s = 64; s > 0; s >>= 1) {
        if (threadIdx.x < s) sums[threadIdx.x] += sums[threadIdx.x + s];
        __syncthreads();
    }
    if (threadIdx.x == 0) out[blockIdx.x] = sums[0] / (paths * 128);
}

// Black and Scholes in doubles, a thread to several options, with the library's error function.
KERNEL(256) black_scholes(const double *price, const double *strike, double *call, double *put, double rate, double volatility, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        const double S = 30.0 + 5.0 * price[i], X = 30.0 + 10.0 * strike[i], T = 0.5, root = sqrt(T);
        const double d1 = (log(S / X) + (rate + 0.5 * volatility * volatility) * T) / (volatility * root), d2 = d1 - volatility * root;
        const double n1 = 0.5 * erfc(-d1 * 0.7071067811865476), n2 = 0.5 * erfc(-d2 * 0.7071067811865476), later = exp(-rate * T);
        call[i] = S * n1 - X * later * n2;
        put[i] = X * later * (1.0 - n2) - S * (1.0 - n1);
    }
}

// Branches by lane, and the same work by warp: the lecture's example of divergence.
template <int BY> __device__ __forceinline__ void branches(const float *in, float *out, int repeats) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    float v = in[i];
    for (int r = 0; r < repeats; ++r) {
        switch (threadIdx.x / BY % 4) {
            case 0: v = sinf(v) + 0.5f; break;
            case 1: v = sqrtf(v * v + 1.0f) - 0.75f; break;
            case 2: v = __expf(-v * v); break;
            default: v = v / (1.0f + v * v) + 0.25f;
        }
    }
    out[i] = v;
}
KERNEL(256) branches_lanes(const float *in, float *out, int repeats) { branches<1>(in, out, repeats); }
KERNEL(256) branches_warps(const float *in, float *out, int repeats) { branches<32>(in, out, repeats); }

// Greatest common divisors: loops whose lengths differ from lane to lane.
KERNEL(256) divisors(const unsigned *a, const unsigned *b, unsigned *out) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned x = a[i] >> 4, y = b[i] >> 4;
    while (y) {
        const unsigned rest = x % y;
        x = y;
        y = rest;
    }
    out[i] = x;
}

// Primes by trial division: a thread to an odd number, out of the loop at the first divisor.
KERNEL(128) primes(unsigned *counts, unsigned first) {
    const unsigned n = first + 2 * (blockIdx.x * blockDim.x + threadIdx.x) + 1;
    bool prime = true;
    for (unsigned d = 3; d * d <= n; d += 2)
        if (n % d == 0) {
            prime = false;
            break;
        }
    const int many = __syncthreads_count(prime);
    if (threadIdx.x == 0) counts[blockIdx.x] = many;
}

// A small machine: each thread runs one of four programs, an operation by a switch, its stack in local memory.
KERNEL(128) machine(const unsigned char *programs, const float *in, float *out, int length) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const unsigned char *program = programs + i / 32 % 4 * length;
    float stack[16];
    int top = 1;
    stack[0] = stack[1] = in[i];
    for (int at = 0; at < length; ++at) {
        const float a = stack[top], b = stack[top - 1];
        switch (program[at] % 8) {
            case 0: if (top < 15) stack[++top] = 0.5f * a; break;
            case 1: if (top < 15) stack[++top] = b - a; break;
            case 2: if (top > 1) stack[--top] = a + b; break;
            case 3: if (top > 1) stack[--top] = a * b; break;
            case 4: stack[top] = fabsf(a) + 0.125f; break;
            case 5: stack[top] = rsqrtf(1.0f + a * a); break;
            case 6: stack[top] = b, stack[top - 1] = a; break;
            default: stack[top] = fminf(a, b);
        }
    }
    out[i] = stack[top];
}

// Queens on a board of N: a thread to the first two rows, the rest by a stack of masks in local memory.
KERNEL(96) queens(int *out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const unsigned all = (1u << n) - 1, a = 1u << i % n, b = 1u << i / n % n;
    int found = 0;
    if (!(b & (a | a << 1 | a >> 1))) {
        unsigned columns[16], left[16], right[16], open[16];
        int row = 2;
        columns[2] = a | b, left[2] = (a << 1 | b) << 1, right[2] = (a >> 1 | b) >> 1;
        open[2] = all & ~(columns[2] | left[2] | right[2]);
        while (row >= 2) {
            if (!open[row]) {
                --row;
                continue;
            }
            const unsigned bit = open[row] & -open[row];
            open[row] ^= bit;
            if (row == n - 1) {
                ++found;
                continue;
            }
            columns[row + 1] = columns[row] | bit, left[row + 1] = (left[row] | bit) << 1, right[row + 1] = (right[row] | bit) >> 1;
            ++row;
            open[row] = all & ~(columns[row] | left[row] | right[row]);
        }
    }
    out[i] = found;
}

// Sixteen numbers a thread, sorted by insertion: in a local array, or in rows or columns of shared memory.
template <int STEP, typename T> __device__ __forceinline__ void inserted(T *own) {
    for (int i = 1; i < 16; ++i) {
        const T key = own[i * STEP];
        int j = i - 1;
        while (j >= 0 && own[j * STEP] > key) {
            own[(j + 1) * STEP] = own[j * STEP];
            --j;
        }
        own[(j + 1) * STEP] = key;
    }
}
KERNEL(128) insertion_local(const int *in, int *out) {
    int own[16];
    const size_t base = (size_t)blockIdx.x * 2048 + threadIdx.x;
    for (int k = 0; k < 16; ++k) own[k] = in[base + k * 128];
    inserted<1>(own);
    for (int k = 0; k < 16; ++k) out[base + k * 128] = own[k];
}
template <int THREAD, int STEP> __device__ __forceinline__ void insertion_shared(const int *in, int *out) {
    __shared__ int all[128 * 17];
    int *own = all + threadIdx.x * THREAD;
    const size_t base = (size_t)blockIdx.x * 2048 + threadIdx.x;
    for (int k = 0; k < 16; ++k) own[k * STEP] = in[base + k * 128];
    inserted<STEP>(own);
    for (int k = 0; k < 16; ++k) out[base + k * 128] = own[k * STEP];
}
KERNEL(128) insertion_rows(const int *in, int *out) { insertion_shared<16, 1>(in, out); }
KERNEL(128) insertion_padded(const int *in, int *out) { insertion_shared<17, 1>(in, out); }
KERNEL(128) insertion_columns(const int *in, int *out) { insertion_shared<1, 128>(in, out); }

// Six equations a thread, solved by elimination in shared memory: matrices of 6 x 7 words lie PITCH words apart.
template <int PITCH> __device__ __forceinline__ void six_equations(const float *in, float *out) {
    extern __shared__ float systems[];
    const int t = threadIdx.x;
    for (int i = t; i < 128 * 42; i += 128) systems[i / 42 * PITCH + i % 42] = in[(size_t)blockIdx.x * 128 * 42 + i];
    __syncthreads();
    float *a = systems + t * PITCH;
    for (int i = 0; i < 6; ++i) a[i * 8] += 4.0f;
    for (int k = 0; k < 6; ++k) {
        const float inverse = 1.0f / a[k * 8];
        for (int i = k + 1; i < 6; ++i) {
            const float factor = a[i * 7 + k] * inverse;
            for (int j = k; j < 7; ++j) a[i * 7 + j] -= factor * a[k * 7 + j];
        }
    }
    for (int k = 5; k >= 0; --k) {
        float value = a[k * 7 + 6];
        for (int j = k + 1; j < 6; ++j) value -= a[k * 7 + j] * a[j * 7 + 6];
        a[k * 7 + 6] = value / a[k * 8];
    }
    for (int k = 0; k < 6; ++k) out[((size_t)blockIdx.x * 6 + k) * 128 + t] = a[k * 7 + 6];
}
KERNEL(128) six_equations_tight(const float *in, float *out) { six_equations<42>(in, out); }
KERNEL(128) six_equations_odd(const float *in, float *out) { six_equations<43>(in, out); }

// A transform of 1024 complex numbers in shared memory by steps of two, without and with a place left out after each sixteen.
template <bool PADDED> __device__ __forceinline__ int at(int i) { return PADDED ? i + (i >> 4) : i; }
template <bool PADDED> __device__ __forceinline__ void fourier(const float2 *in, float2 *out) {
    __shared__ float2 data[1024 + 64];
    const int t = threadIdx.x;
    const size_t base = (size_t)blockIdx.x * 1024;
    for (int i = t; i < 1024; i += 512) data[at<PADDED>(__brev(i) >> 22)] = in[base + i];
    for (int half = 1; half < 1024; half *= 2) {
        __syncthreads();
        const int k = t & (half - 1), a = at<PADDED>(2 * t - k), b = at<PADDED>(2 * t - k + half);
        float sine, cosine;
        __sincosf(-3.14159265f * k / half, &sine, &cosine);
        const float2 u = data[a], w = data[b];
        const float2 v = make_float2(w.x * cosine - w.y * sine, w.x * sine + w.y * cosine);
        data[a] = make_float2(u.x + v.x, u.y + v.y);
        data[b] = make_float2(u.x - v.x, u.y - v.y);
    }
    __syncthreads();
    for (int i = t; i < 1024; i += 512) out[base + i] = data[at<PADDED>(i)];
}
KERNEL(512) fourier_plain(const float2 *in, float2 *out) { fourier<false>(in, out); }
KERNEL(512) fourier_padded(const float2 *in, float2 *out) { fourier<true>(in, out); }

// A join of two lists: keys go into a table of 2048 places in shared memory by compare and swap, others look them up.
KERNEL(256) hash_join(const unsigned *build, const unsigned *probe, int *found) {
    __shared__ unsigned table[2048];
    for (int i = threadIdx.x; i < 2048; i += 256) table[i] = 0xffffffffu;
    __syncthreads();
    for (int r = 0; r < 4; ++r) {
        const unsigned key = build[(blockIdx.x * 4 + r) * 256 + threadIdx.x] >> 20;
        unsigned slot = key * 2654435761u >> 21;
        while (true) {
            const unsigned was = atomicCAS(&table[slot], 0xffffffffu, key);
            if (was == 0xffffffffu || was == key) break;
            slot = (slot + 1) & 2047;
        }
    }
    __syncthreads();
    int hits = 0;
    for (int r = 0; r < 8; ++r) {
        const unsigned key = probe[(blockIdx.x * 8 + r) * 256 + threadIdx.x] >> 20;
        unsigned slot = key * 2654435761u >> 21;
        while (table[slot] != 0xffffffffu) {
            if (table[slot] == key) {
                ++hits;
                break;
            }
            slot = (slot + 1) & 2047;
        }
    }
    const int all = __reduce_add_sync(ALL, hits);
    if (threadIdx.x % 32 == 0) found[blockIdx.x * 8 + threadIdx.x / 32] = all;
}

// A list in shared memory that a thread follows from a place of its own.
KERNEL(128) list_walk(const unsigned *links, unsigned *out, int steps) {
    __shared__ unsigned next[4096];
    for (int i = threadIdx.x; i < 4096; i += 128) next[i] = links[i] & 4095;
    __syncthreads();
    unsigned at = threadIdx.x * 32, sum = 0;
    for (int s = 0; s < steps; ++s) {
        at = next[at];
        sum += at;
    }
    out[blockIdx.x * 128 + threadIdx.x] = sum;
}

// Rows of a sparse matrix (CSR, lengths 1 to 32), eight lanes to a row, the vector by the read-only path.
KERNEL(256) csr_eighths(const unsigned *lengths, const unsigned *indices, const float *__restrict__ values, const float *__restrict__ x, float *y, int rows) {
    const int row = (blockIdx.x * blockDim.x + threadIdx.x) / 8, lane = threadIdx.x % 8;
    if (row >= rows) return;
    const int first = row * 32, last = first + 1 + lengths[row] % 32;
    float sum = 0.0f;
    for (int j = first + lane; j < last; j += 8) sum += values[j] * __ldg(&x[indices[j] % rows]);
    for (int d = 4; d > 0; d /= 2) sum += __shfl_down_sync(ALL, sum, d, 8);
    if (lane == 0) y[row] = sum;
}

// A table of 32,768 floats in 128 KiB of shared memory, looked up at places that come from memory.
KERNEL(1024) table_lookups(const float *table, const uint4 *places, float4 *out, int n) {
    extern __shared__ float held[];
    for (int i = threadIdx.x; i < 32768; i += 1024) held[i] = table[i];
    __syncthreads();
    for (int i = blockIdx.x * 1024 + threadIdx.x; i < n; i += gridDim.x * 1024) {
        const uint4 p = places[i];
        out[i] = make_float4(held[p.x & 32767], held[p.y & 32767], held[p.z & 32767], held[p.w & 32767]);
    }
}

// A polynomial of sixteen terms by Horner, its loop unrolled by one or by sixteen, coefficients in shared memory.
template <int BY> __device__ __forceinline__ void horner(const float *in, const float *terms, float *out, int count) {
    __shared__ float c[64];
    if (threadIdx.x < 64) c[threadIdx.x] = terms[threadIdx.x];
    __syncthreads();
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const float x = in[i];
    float value = 0.0f;
    #pragma unroll BY
    for (int k = 0; k < count; ++k) value = value * x + c[k & 63];
    out[i] = value;
}
KERNEL(256) horner_rolled(const float *in, const float *terms, float *out, int count) { horner<1>(in, terms, out, count); }
KERNEL(256) horner_unrolled(const float *in, const float *terms, float *out, int count) { horner<16>(in, terms, out, count); }
