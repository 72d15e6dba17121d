// The fourth set of timed kernels: rows that become sums, maxima and prefixes.

extern "C" __global__ void argmax(const float *in, int *out, int n) {
    __shared__ float best[32];
    __shared__ int where[32];
    const float *row = in + (long long)blockIdx.x * n;
    float value = -1e30f;
    int at = 0;
    for (int k = threadIdx.x; k < n; k += blockDim.x)
        if (row[k] > value) value = row[k], at = k;
    for (int d = 16; d; d /= 2) {
        const float other = __shfl_down_sync(~0u, value, d);
        const int there = __shfl_down_sync(~0u, at, d);
        if (other > value) value = other, at = there;
    }
    if (threadIdx.x % 32 == 0) best[threadIdx.x / 32] = value, where[threadIdx.x / 32] = at;
    __syncthreads();
    if (threadIdx.x < 32) {
        const bool is = threadIdx.x < blockDim.x / 32;
        value = is ? best[threadIdx.x] : -1e30f, at = is ? where[threadIdx.x] : 0;
        for (int d = 16; d; d /= 2) {
            const float other = __shfl_down_sync(~0u, value, d);
            const int there = __shfl_down_sync(~0u, at, d);
            if (other > value) value = other, at = there;
        }
        if (threadIdx.x == 0) out[blockIdx.x] = at;
    }
}

// Mean and variance of a row by a warp, as Welford does.
extern "C" __global__ void variances(const float *in, float2 *out, int n) {
    const int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    float mean = 0, squares = 0, count = 0;
    for (int k = lane; k < n; k += 32) {
        const float x = in[(long long)row * n + k], before = x - mean;
        count += 1;
        mean += before / count;
        squares += before * (x - mean);
    }
    for (int d = 16; d; d /= 2) {
        const float m = __shfl_xor_sync(~0u, mean, d), s = __shfl_xor_sync(~0u, squares, d);
        const float apart = m - mean;
        squares += s + apart * apart * count * 0.5f;
        mean = 0.5f * (mean + m), count *= 2;
    }
    if (lane == 0) out[row] = make_float2(mean, squares / count);
}

extern "C" __global__ void cross_entropy(const float4 *in, const int *labels, float *out, int n) {
    __shared__ float parts[8];
    const float4 *row = in + (long long)blockIdx.x * n / 4;
    float most = -1e30f, sum = 0;
    for (int k = threadIdx.x; k < n / 4; k += 256) {
        const float4 v = row[k];
        most = fmaxf(most, fmaxf(fmaxf(v.x, v.y), fmaxf(v.z, v.w)));
    }
    for (int d = 16; d; d /= 2) most = fmaxf(most, __shfl_xor_sync(~0u, most, d));
    if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = most;
    __syncthreads();
    for (int w = 0; w < 8; ++w) most = fmaxf(most, parts[w]);
    __syncthreads();
    for (int k = threadIdx.x; k < n / 4; k += 256) {
        const float4 v = row[k];
        sum += __expf(v.x - most) + __expf(v.y - most) + __expf(v.z - most) + __expf(v.w - most);
    }
    for (int d = 16; d; d /= 2) sum += __shfl_xor_sync(~0u, sum, d);
    if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x == 0) {
        sum = 0;
        for (int w = 0; w < 8; ++w) sum += parts[w];
        const unsigned label = (unsigned)labels[blockIdx.x] % n;
        out[blockIdx.x] = __logf(sum) + most - ((const float *)row)[label];
    }
}

extern "C" __global__ void column_sums(const float *in, float *out, int rows, int columns) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0;
    for (int y = blockIdx.y; y < rows; y += gridDim.y) sum += in[(long long)y * columns + x];
    atomicAdd(out + x, sum);
}

// Hillis and Steele: every step reads what the step before wrote.
extern "C" __global__ void running_maxima(const float *in, float *out) {
    __shared__ float a[2][512];
    int from = 0;
    a[0][threadIdx.x] = in[blockIdx.x * 512 + threadIdx.x];
    __syncthreads();
    for (int d = 1; d < 512; d *= 2) {
        const float own = a[from][threadIdx.x];
        a[1 - from][threadIdx.x] = threadIdx.x >= d ? fmaxf(own, a[from][threadIdx.x - d]) : own;
        from = 1 - from;
        __syncthreads();
    }
    out[blockIdx.x * 512 + threadIdx.x] = a[from][threadIdx.x];
}

// Odd and even neighbours change places until 512 keys with their values are sorted.
extern "C" __global__ void odd_even(const unsigned long long *in, unsigned long long *out) {
    __shared__ unsigned long long key[512];
    const int t = threadIdx.x;
    key[t] = in[blockIdx.x * 512 + t], key[t + 256] = in[blockIdx.x * 512 + t + 256];
    __syncthreads();
    for (int turn = 0; turn < 64; ++turn) {
        const int at = 2 * t + (turn & 1);
        if (at + 1 < 512) {
            const unsigned long long a = key[at], b = key[at + 1];
            if (a > b) key[at] = b, key[at + 1] = a;
        }
        __syncthreads();
    }
    out[blockIdx.x * 512 + t] = key[t], out[blockIdx.x * 512 + t + 256] = key[t + 256];
}

// Keys of a block in the order of four bits: ranks by ballots, then a scatter in shared memory.
extern "C" __global__ void ranked(const unsigned *in, unsigned *out, int shift) {
    __shared__ unsigned counts[8][16], begin[8][16], sorted[256];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    for (int tile = 0; tile < 8; ++tile) {
        const int at = (blockIdx.x * 8 + tile) * 256;
        const unsigned key = in[at + threadIdx.x], digit = key >> shift & 15;
        unsigned same = ~0u;
        for (int b = 0; b < 4; ++b) {
            const unsigned votes = __ballot_sync(~0u, digit >> b & 1);
            same &= digit >> b & 1 ? votes : ~votes;
        }
        if (lane < 16) counts[warp][lane] = 0;
        __syncwarp();
        const int rank = __popc(same & (1u << lane) - 1);
        if (rank == 0) counts[warp][digit] = __popc(same);
        __syncthreads();
        if (threadIdx.x < 16) {
            unsigned sum = 0;
            for (int w = 0; w < 8; ++w) {
                begin[w][threadIdx.x] = sum;
                sum += counts[w][threadIdx.x];
            }
            unsigned before = sum;
            for (int d = 1; d < 16; d *= 2) {
                const unsigned other = __shfl_up_sync(0xFFFF, before, d);
                if (threadIdx.x >= d) before += other;
            }
            for (int w = 0; w < 8; ++w) begin[w][threadIdx.x] += before - sum;
        }
        __syncthreads();
        sorted[begin[warp][digit] + rank] = key;
        __syncthreads();
        out[at + threadIdx.x] = sorted[threadIdx.x];
        __syncthreads();
    }
}

// Sums of runs with the same key within a warp.
extern "C" __global__ void runs(const int *keys, const float *values, float *out) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x % 32;
    const int key = keys[i] >> 3;
    float sum = values[i];
    for (int d = 1; d < 32; d *= 2) {
        const float other = __shfl_up_sync(~0u, sum, d);
        const int there = __shfl_up_sync(~0u, key, d);
        if (lane >= d && there == key) sum += other;
    }
    out[i] = sum;
}

// A product of a matrix and a vector, a thread a row: lanes read a row's pitch apart.
extern "C" __global__ void gemv_rows(const float4 *a, const float4 *x, float *y, int n) {
    const int row = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0;
    for (int k = 0; k < n / 4; ++k) {
        const float4 v = a[(long long)row * n / 4 + k], w = x[k];
        sum += v.x * w.x + v.y * w.y + v.z * w.z + v.w * w.w;
    }
    y[row] = sum;
}
