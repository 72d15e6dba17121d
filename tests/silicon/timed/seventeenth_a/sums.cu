// Kernels of set seventeen A that reduce, scan, count and sort: those of the classic talks and chapters.

#define KERNEL(THREADS) extern "C" __global__ void __launch_bounds__(THREADS)
#define ALL 0xffffffffu

// The reductions of the classic talk: interleaved with divergence, interleaved with conflicts, sequential.
template <int HOW> __device__ __forceinline__ void reduced(const int *in, int *out) {
    extern __shared__ int data[];
    const unsigned t = threadIdx.x;
    data[t] = in[blockIdx.x * blockDim.x + t];
    __syncthreads();
    if (HOW == 2) {
        for (unsigned s = blockDim.x / 2; s > 0; s >>= 1) {
            if (t < s) data[t] += data[t + s];
            __syncthreads();
        }
    } else {
        for (unsigned s = 1; s < blockDim.x; s *= 2) {
            if (HOW == 0) {
                if (t % (2 * s) == 0) data[t] += data[t + s];
            } else {
                const unsigned index = 2 * s * t;
                if (index < blockDim.x) data[index] += data[index + s];
            }
            __syncthreads();
        }
    }
    if (t == 0) out[blockIdx.x] = data[0];
}
KERNEL(1024) reduce_diverging(const int *in, int *out) { reduced<0>(in, out); }
KERNEL(1024) reduce_interleaved(const int *in, int *out) { reduced<1>(in, out); }
KERNEL(1024) reduce_sequential(const int *in, int *out) { reduced<2>(in, out); }

// Its fourth and fifth: the first sum comes with the load, and the last warp's loop is unrolled.
KERNEL(256) reduce_last_warp(const int *in, int *out) {
    __shared__ int data[256];
    const unsigned t = threadIdx.x, i = blockIdx.x * 512 + t;
    data[t] = in[i] + in[i + 256];
    __syncthreads();
    for (unsigned s = 128; s > 32; s >>= 1) {
        if (t < s) data[t] += data[t + s];
        __syncthreads();
    }
    if (t < 32) {
        volatile int *last = data;
        int v = last[t];
        #pragma unroll
        for (int s = 32; s > 0; s >>= 1) {
            v += last[t + s];
            __syncwarp();
            last[t] = v;
            __syncwarp();
        }
    }
    if (t == 0) out[blockIdx.x] = data[0];
}

// Its sixth and seventh: all is unrolled by a template, and threads go through the vector by the grid's width.
template <unsigned THREADS> __device__ __forceinline__ void reduced_grid(const float *in, float *out, unsigned n) {
    __shared__ float data[THREADS];
    const unsigned t = threadIdx.x;
    float sum = 0.0f;
    for (unsigned i = blockIdx.x * THREADS * 2 + t; i < n; i += THREADS * 2 * gridDim.x) {
        sum += in[i];
        if (i + THREADS < n) sum += in[i + THREADS];
    }
    data[t] = sum;
    __syncthreads();
    if (THREADS >= 512) { if (t < 256) data[t] = sum = sum + data[t + 256]; __syncthreads(); }
    if (THREADS >= 256) { if (t < 128) data[t] = sum = sum + data[t + 128]; __syncthreads(); }
    if (THREADS >= 128) { if (t < 64) data[t] = sum = sum + data[t + 64]; __syncthreads(); }
    if (t < 32) {
        sum += data[t + 32];
        for (int d = 16; d > 0; d /= 2) sum += __shfl_down_sync(ALL, sum, d);
        if (t == 0) out[blockIdx.x] = sum;
    }
}
KERNEL(512) reduce_grid_512(const float *in, float *out, unsigned n) { reduced_grid<512>(in, out, n); }

// A sum by shuffles within warps, then of the warps' sums, then by an atomic of each block.
KERNEL(256) reduce_shuffles(const float4 *in, float *out, int n) {
    __shared__ float warps[32];
    float sum = 0.0f;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) {
        const float4 v = in[i];
        sum += v.x + v.y + v.z + v.w;
    }
    for (int d = warpSize / 2; d > 0; d /= 2) sum += __shfl_down_sync(ALL, sum, d);
    if (threadIdx.x % warpSize == 0) warps[threadIdx.x / warpSize] = sum;
    __syncthreads();
    sum = threadIdx.x < blockDim.x / warpSize ? warps[threadIdx.x % warpSize] : 0.0f;
    if (threadIdx.x < warpSize) {
        for (int d = warpSize / 2; d > 0; d /= 2) sum += __shfl_down_sync(ALL, sum, d);
        if (threadIdx.x == 0) atomicAdd(out, sum);
    }
}

// An exclusive scan of 512 by Blelloch's two sweeps, as in GPU Gems, without and with the padding that avoids conflicts.
template <bool FREE> __device__ __forceinline__ int placed(int i) { return FREE ? i + (i >> 5) : i; }
template <bool FREE> __device__ __forceinline__ void blelloch(const float *in, float *out) {
    constexpr int n = 512;
    __shared__ float temp[n + n / 32];
    const int t = threadIdx.x, base = blockIdx.x * n;
    temp[placed<FREE>(t)] = in[base + t];
    temp[placed<FREE>(t + n / 2)] = in[base + t + n / 2];
    int offset = 1;
    for (int d = n >> 1; d > 0; d >>= 1) {
        __syncthreads();
        if (t < d) {
            const int a = placed<FREE>(offset * (2 * t + 1) - 1), b = placed<FREE>(offset * (2 * t + 2) - 1);
            temp[b] += temp[a];
        }
        offset *= 2;
    }
    if (t == 0) temp[placed<FREE>(n - 1)] = 0;
    for (int d = 1; d < n; d *= 2) {
        offset >>= 1;
        __syncthreads();
        if (t < d) {
            const int a = placed<FREE>(offset * (2 * t + 1) - 1), b = placed<FREE>(offset * (2 * t + 2) - 1);
            const float was = temp[a];
            temp[a] = temp[b];
            temp[b] += was;
        }
    }
    __syncthreads();
    out[base + t] = temp[placed<FREE>(t)];
    out[base + t + n / 2] = temp[placed<FREE>(t + n / 2)];
}
KERNEL(256) blelloch_plain(const float *in, float *out) { blelloch<false>(in, out); }
KERNEL(256) blelloch_padded(const float *in, float *out) { blelloch<true>(in, out); }

// An inclusive scan by Hillis and Steele between two buffers.
KERNEL(1024) hillis_steele(const float *in, float *out) {
    extern __shared__ float buffers[];
    const int n = blockDim.x, t = threadIdx.x;
    int to = 0, from = 1;
    buffers[t] = in[blockIdx.x * n + t];
    __syncthreads();
    for (int offset = 1; offset < n; offset *= 2) {
        to = 1 - to;
        from = 1 - to;
        buffers[to * n + t] = buffers[from * n + t] + (t >= offset ? buffers[from * n + t - offset] : 0.0f);
        __syncthreads();
    }
    out[blockIdx.x * n + t] = buffers[to * n + t];
}

// A histogram with eight copies of 256 counters, a copy to a warp, that lie PITCH words apart or interleaved.
template <int PITCH, int STEP> __device__ __forceinline__ void replicas(const unsigned *in, unsigned *out, int n) {
    __shared__ unsigned bins[8 * 257];
    for (int i = threadIdx.x; i < 8 * 257; i += 256) bins[i] = 0;
    __syncthreads();
    unsigned *own = bins + threadIdx.x % 8 * PITCH;
    for (int i = blockIdx.x * 256 + threadIdx.x; i < n; i += gridDim.x * 256) {
        const unsigned v = in[i];
        for (int k = 0; k < 4; ++k) atomicAdd(&own[(v >> 8 * k & 255) * STEP], 1u);
    }
    __syncthreads();
    unsigned sum = 0;
    for (int c = 0; c < 8; ++c) sum += bins[c * PITCH + threadIdx.x * STEP];
    atomicAdd(&out[threadIdx.x], sum);
}
KERNEL(256) replicas_plain(const unsigned *in, unsigned *out, int n) { replicas<256, 1>(in, out, n); }
KERNEL(256) replicas_padded(const unsigned *in, unsigned *out, int n) { replicas<257, 1>(in, out, n); }
KERNEL(256) replicas_interleaved(const unsigned *in, unsigned *out, int n) { replicas<1, 8>(in, out, n); }

// A histogram of 4096 bins in one copy, of numbers that gather round the middle.
KERNEL(512) histogram_4096(const float4 *in, unsigned *out, int n) {
    extern __shared__ unsigned counts[];
    for (int i = threadIdx.x; i < 4096; i += blockDim.x) counts[i] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        const float4 v = in[i];
        atomicAdd(&counts[(int)(2047.0f * v.x * v.y + 2048.0f)], 1u);
        atomicAdd(&counts[(int)(2047.0f * v.z * v.w + 2048.0f)], 1u);
    }
    __syncthreads();
    for (int i = threadIdx.x; i < 4096; i += blockDim.x)
        if (counts[i]) atomicAdd(&out[i], counts[i]);
}

// Counts of digits of four bits for a radix sort: sixteen counters to a thread, a row of them or a column.
template <int THREAD, int DIGIT> __device__ __forceinline__ void digit_counts(const uint4 *keys, unsigned *out, int shift) {
    __shared__ unsigned counts[128 * 16];
    const int t = threadIdx.x;
    for (int d = 0; d < 16; ++d) counts[t * THREAD + d * DIGIT] = 0;
    for (int r = 0; r < 8; ++r) {
        const uint4 k = keys[((size_t)blockIdx.x * 8 + r) * 128 + t];
        ++counts[t * THREAD + (k.x >> shift & 15) * DIGIT];
        ++counts[t * THREAD + (k.y >> shift & 15) * DIGIT];
        ++counts[t * THREAD + (k.z >> shift & 15) * DIGIT];
        ++counts[t * THREAD + (k.w >> shift & 15) * DIGIT];
    }
    __syncthreads();
    unsigned sum = 0;
    for (int k = 0; k < 16; ++k) sum += counts[(t % 8 * 16 + k) * THREAD + t / 8 * DIGIT];
    for (int d = 4; d > 0; d /= 2) sum += __shfl_down_sync(ALL, sum, d);
    if (t % 8 == 0) out[t / 8 * gridDim.x + blockIdx.x] = sum;
}
KERNEL(128) digit_counts_rows(const uint4 *keys, unsigned *out, int shift) { digit_counts<16, 1>(keys, out, shift); }
KERNEL(128) digit_counts_columns(const uint4 *keys, unsigned *out, int shift) { digit_counts<1, 128>(keys, out, shift); }

// The sample's bitonic sort of 1024 keys with values in shared memory, two to a thread.
__device__ __forceinline__ void ordered(unsigned &ka, unsigned &va, unsigned &kb, unsigned &vb, bool up) {
    if ((ka > kb) == up) {
        const unsigned k = ka, v = va;
        ka = kb, va = vb, kb = k, vb = v;
    }
}
KERNEL(512) bitonic_pairs(const unsigned *keys, const unsigned *values, unsigned *keys_out, unsigned *values_out, bool up) {
    __shared__ unsigned k[1024], v[1024];
    const unsigned t = threadIdx.x, base = blockIdx.x * 1024 + t;
    k[t] = keys[base], v[t] = values[base];
    k[t + 512] = keys[base + 512], v[t + 512] = values[base + 512];
    for (unsigned size = 2; size < 1024; size <<= 1) {
        const bool direction = (t & (size / 2)) != 0;
        for (unsigned stride = size / 2; stride > 0; stride >>= 1) {
            __syncthreads();
            const unsigned p = 2 * t - (t & (stride - 1));
            ordered(k[p], v[p], k[p + stride], v[p + stride], direction);
        }
    }
    for (unsigned stride = 512; stride > 0; stride >>= 1) {
        __syncthreads();
        const unsigned p = 2 * t - (t & (stride - 1));
        ordered(k[p], v[p], k[p + stride], v[p + stride], up);
    }
    __syncthreads();
    keys_out[base] = k[t], values_out[base] = v[t];
    keys_out[base + 512] = k[t + 512], values_out[base + 512] = v[t + 512];
}
