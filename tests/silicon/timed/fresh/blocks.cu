// Blocks that share memory: prefix sums, a bitonic sort, small products, values handed from lane to
// lane, structures that stream through shared memory.
template <bool PADDED> __device__ int place(int i) { return PADDED ? i + i / 32 : i; }
template <bool PADDED>
__device__ void prefix(const int *in, int *out) {
    extern __shared__ int s[];
    const int tid = threadIdx.x, n = 2 * blockDim.x;
    const int *from = in + blockIdx.x * n;
    s[place<PADDED>(tid)] = from[tid];
    s[place<PADDED>(tid + n / 2)] = from[tid + n / 2];
    for (int apart = 1, active = n / 2; active; active /= 2, apart *= 2) {
        __syncthreads();
        if (tid < active) {
            const int a = apart * (2 * tid + 1) - 1, b = a + apart;
            s[place<PADDED>(b)] += s[place<PADDED>(a)];
        }
    }
    if (tid == 0) s[place<PADDED>(n - 1)] = 0;
    for (int apart = n / 2, active = 1; active < n; active *= 2, apart /= 2) {
        __syncthreads();
        if (tid < active) {
            const int a = apart * (2 * tid + 1) - 1, b = a + apart;
            const int value = s[place<PADDED>(a)];
            s[place<PADDED>(a)] = s[place<PADDED>(b)];
            s[place<PADDED>(b)] += value;
        }
    }
    __syncthreads();
    out[blockIdx.x * n + tid] = s[place<PADDED>(tid)];
    out[blockIdx.x * n + tid + n / 2] = s[place<PADDED>(tid + n / 2)];
}
extern "C" __global__ void prefix_plain(const int *in, int *out) { prefix<false>(in, out); }
extern "C" __global__ void prefix_padded(const int *in, int *out) { prefix<true>(in, out); }

extern "C" __global__ void sort_pairs(const unsigned *in, unsigned *out) {
    __shared__ unsigned s[2048];
    const int tid = threadIdx.x;
    for (int i = tid; i < 2048; i += 512) s[i] = in[blockIdx.x * 2048 + i];
    for (int size = 2; size <= 2048; size *= 2)
        for (int apart = size / 2; apart; apart /= 2) {
            __syncthreads();
            for (int i = tid; i < 1024; i += 512) {
                const int low = 2 * i - (i & (apart - 1)), high = low + apart;
                const bool up = !(low & size);
                const unsigned a = s[low], b = s[high];
                if ((a > b) == up) s[low] = b, s[high] = a;
            }
        }
    __syncthreads();
    for (int i = tid; i < 2048; i += 512) out[blockIdx.x * 2048 + i] = s[i];
}

// Products of 32x32 matrices, one per block of 32x8 threads: B is read by columns of rows.
template <int ROW>
__device__ void small(const float *a, const float *b, float *c) {
    __shared__ float as[32][ROW], bs[32][ROW];
    const int x = threadIdx.x, base = blockIdx.x * 1024;
    for (int j = threadIdx.y; j < 32; j += 8)
        as[j][x] = a[base + j * 32 + x], bs[j][x] = b[base + j * 32 + x];
    __syncthreads();
    for (int j = threadIdx.y; j < 32; j += 8) {
        float sum = 0;
#pragma unroll
        for (int k = 0; k < 32; ++k) sum += as[j][k] * bs[x][k];
        c[base + j * 32 + x] = sum;
    }
}
extern "C" __global__ void small_plain(const float *a, const float *b, float *c) { small<32>(a, b, c); }
extern "C" __global__ void small_padded(const float *a, const float *b, float *c) { small<33>(a, b, c); }

// Colours of three bytes of a structure become planes: DRAM is all that counts.
template <int APART>
__device__ void planes(const float *in, float *out, int count) {
    __shared__ float s[256 * APART];
    const int tid = threadIdx.x, base = blockIdx.x * 256;
    for (int k = 0; k < 4; ++k) {
        const int i = tid + 256 * k;
        s[i / 4 * APART + i % 4] = in[(long long)base * 4 + i];
    }
    __syncthreads();
    for (int k = 0; k < 4; ++k) out[(long long)k * count + base + tid] = s[tid * APART + k];
}
extern "C" __global__ void planes_plain(const float *in, float *out, int count) { planes<4>(in, out, count); }
extern "C" __global__ void planes_padded(const float *in, float *out, int count) { planes<5>(in, out, count); }

// A chain of roots of each element, staged through shared memory by columns: the pipe is busy elsewhere.
template <int ROW>
__device__ void roots(const float *in, float *out, int rounds) {
    __shared__ float s[32][ROW];
    const int x = threadIdx.x, y = threadIdx.y, base = blockIdx.x * 1024;
    for (int j = y; j < 32; j += 8) s[j][x] = in[base + j * 32 + x];
    __syncthreads();
    for (int j = y; j < 32; j += 8) {
        float v = s[x][j];
        for (int k = 0; k < rounds; ++k) v = sqrtf(v * v + 1.f) - __expf(-v);
        out[base + j * 32 + x] = v;
    }
}
extern "C" __global__ void roots_plain(const float *in, float *out, int n) { roots<32>(in, out, n); }
extern "C" __global__ void roots_padded(const float *in, float *out, int n) { roots<33>(in, out, n); }
