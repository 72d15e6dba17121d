// The fourth set of timed kernels: a value in, a value out, and what lies between.

extern "C" __global__ void complex_product(const float2 *a, const float2 *b, float2 *out, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        const float2 x = a[i], y = b[i];
        out[i] = make_float2(x.x * y.x - x.y * y.y, x.x * y.y + x.y * y.x);
    }
}

extern "C" __global__ void gated(const float4 *in, const float4 *gate, float4 *out) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const float4 x = in[i], g = gate[i];
    out[i] = make_float4(x.x * g.x / (1 + __expf(-g.x)), x.y * g.y / (1 + __expf(-g.y)),
                         x.z * g.z / (1 + __expf(-g.z)), x.w * g.w / (1 + __expf(-g.w)));
}

// Channels last to channels first.
extern "C" __global__ void channels(const float *in, float *out, int pixels) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    for (int c = 0; c < 8; ++c) out[c * pixels + i] = in[i * 8 + c];
}

extern "C" __global__ void reversed_bits(const float *in, float *out, int bits) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    out[__brev(i) >> (32 - bits)] = in[i];
}

// Philox 4x32-10.
extern "C" __global__ void philox(uint4 *out, unsigned seed, int turns) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    uint4 sum = make_uint4(0, 0, 0, 0);
    for (int t = 0; t < turns; ++t) {
        unsigned c0 = i, c1 = t, c2 = 0, c3 = 0, k0 = seed, k1 = seed ^ 0x1BD11BDA;
        for (int r = 0; r < 10; ++r) {
            const unsigned h0 = __umulhi(0xD2511F53u, c0), l0 = 0xD2511F53u * c0;
            const unsigned h1 = __umulhi(0xCD9E8D57u, c2), l1 = 0xCD9E8D57u * c2;
            c0 = h1 ^ c1 ^ k0, c1 = l1, c2 = h0 ^ c3 ^ k1, c3 = l0;
            k0 += 0x9E3779B9, k1 += 0xBB67AE85;
        }
        sum.x ^= c0, sum.y ^= c1, sum.z ^= c2, sum.w ^= c3;
    }
    out[i] = sum;
}

extern "C" __global__ void cube_roots(const float *in, float *out, int turns) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const float a = in[i] + 1.5f;
    float x = a;
    for (int t = 0; t < turns; ++t) x = (2 * x + a / (x * x)) * (1.0f / 3);
    out[i] = x;
}

// A checksum of bytes by a table in shared memory: neighbouring lanes read it anywhere.
extern "C" __global__ void checksums(const unsigned *in, const unsigned *table, unsigned *out,
                                     int words) {
    __shared__ unsigned t[256];
    t[threadIdx.x] = table[threadIdx.x];
    __syncthreads();
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned sum = ~0u;
    for (int k = 0; k < words; ++k) {
        const unsigned word = in[k * gridDim.x * blockDim.x + i];
        sum = t[(sum ^ word) & 255] ^ sum >> 8;
        sum = t[(sum ^ word >> 8) & 255] ^ sum >> 8;
        sum = t[(sum ^ word >> 16) & 255] ^ sum >> 8;
        sum = t[(sum ^ word >> 24) & 255] ^ sum >> 8;
    }
    out[i] = ~sum;
}

// Where each value would stand in a sorted array.
extern "C" __global__ void lower_bounds(const float *values, const float *sorted, int *out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const float value = values[i];
    int low = 0, high = n;
    while (low < high) {
        const int middle = (low + high) / 2;
        if (sorted[middle] < value) low = middle + 1;
        else high = middle;
    }
    out[i] = low;
}

extern "C" __global__ void curve(const float *in, const float *knots, float *out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    for (int k = 0; k < 4; ++k) {
        const int at = (k * gridDim.x + blockIdx.x) * blockDim.x + threadIdx.x;
        const float x = fabsf(in[at]) * (n - 2);
        const int cell = min((int)x, n - 2);
        out[at] = knots[cell] + (x - cell) * (knots[cell + 1] - knots[cell]);
    }
}

// Rows of a table by their numbers: 128 floats each, a warp a row.
extern "C" __global__ void embedded(const int *which, const float4 *table, float4 *out, int rows) {
    const int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    const unsigned from = (unsigned)which[row] % rows;
    out[row * 32 + lane] = table[from * 32 + lane];
}

// Sparse rows of equal length, an element of every row side by side.
extern "C" __global__ void ell(const int *columns, const float *values, const float *x, float *y,
                               int rows, int each) {
    const int row = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0;
    for (int k = 0; k < each; ++k)
        sum += values[k * rows + row] * x[(unsigned)columns[k * rows + row] % rows];
    y[row] = sum;
}

extern "C" __global__ void jacobi(const float *in, float *out, int n) {
    const int x = blockIdx.x * 32 + threadIdx.x + 1, y = blockIdx.y * 8 + threadIdx.y + 1;
    const int p = n + 2;
    out[y * p + x] = 0.25f * (in[y * p + x - 1] + in[y * p + x + 1] + in[(y - 1) * p + x] +
                              in[(y + 1) * p + x]);
}

// Lanes with other work: a walk by the parity of a hash.
extern "C" __global__ void branches(const unsigned *in, unsigned *out, int turns) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned x = in[i], sum = 0;
    for (int t = 0; t < turns; ++t) {
        if (x & 1) {
            for (int k = 0; k < 4; ++k) sum += __popc(x * (k + 3));
        } else if (x & 2) {
            for (int k = 0; k < 6; ++k) sum ^= x >> k;
            sum *= 5;
        } else {
            sum = sum * 1664525 + 1013904223;
        }
        x = x * 747796405 + 2891336453;
        x ^= x >> 15;
    }
    out[i] = sum;
}

extern "C" __global__ void orbits(const double *in, double *out, int turns) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    double x = in[i], y = 0.5, u = 0, v = 0.7;
    for (int t = 0; t < turns; ++t) {
        const double r = x * x + y * y + 0.01, w = 0.001 / (r * r);
        u -= x * w, v -= y * w, x += u, y += v;
    }
    out[i] = x + y;
}
