// Kernels of the fifteenth set that stand alone: chance, text, keys and doubles.

#define KERNEL(THREADS) extern "C" __global__ void __launch_bounds__(THREADS)

template <typename T> __device__ __forceinline__ T warp_sum(T v) {
    for (int d = 16; d; d /= 2) v += __shfl_xor_sync(~0u, v, d);
    return v;
}

// Options that end at a barrier, along paths of sixteen steps from Sobol's numbers, whose directions lie in shared memory.
KERNEL(128) barrier(const unsigned *directions, float *out, float low, float strike) {
    __shared__ unsigned held[16 * 20];
    const int t = threadIdx.x;
    for (int k = t; k < 320; k += 128) held[k] = directions[k];
    __syncthreads();
    const unsigned i = blockIdx.x * 128 + t + 1, gray = i ^ i >> 1;
    float path = 0, least = 0;
    #pragma unroll 1
    for (int step = 0; step < 16; ++step) {
        unsigned x = 0;
        #pragma unroll
        for (int bit = 0; bit < 20; ++bit)
            if (gray >> bit & 1) x ^= held[step * 20 + bit];
        path += 0.05f * normcdfinvf(((x >> 9) + 0.5f) * 1.1920929e-7f) - 0.00125f;
        least = fminf(least, path);
    }
    out[i - 1] = 100 * __expf(least) > low ? fmaxf(100 * __expf(path) - strike, 0.f) : 0.f;
}

// Where fields and lines of a table in text end: commas and new lines that stand outside of quotes, as bits, and how many.
KERNEL(256) separated(const uint4 *text, const unsigned char *inside, unsigned short *out, int *counts) {
    __shared__ unsigned odd[8], sums[8];
    const int t = threadIdx.x, lane = t % 32, warp = t / 32;
    unsigned state = inside[blockIdx.x] & 1, many = 0;
    for (int r = 0; r < 4; ++r) {
        const size_t at = ((size_t)blockIdx.x * 4 + r) * 256 + t;
        const uint4 v = text[at];
        const unsigned words[4] = {v.x, v.y, v.z, v.w};
        unsigned quotes = 0, ends = 0;
        #pragma unroll
        for (int k = 0; k < 4; ++k) {
            const auto bits = [](unsigned equal) { return (equal & 0x08040201u) * 0x01010101u >> 24; };
            quotes |= bits(__vcmpeq4(words[k], 0x22222222u)) << 4 * k;
            ends |= bits(__vcmpeq4(words[k], 0x2c2c2c2cu) | __vcmpeq4(words[k], 0x0a0a0a0au)) << 4 * k;
        }
        unsigned along = quotes ^ quotes << 1;
        along ^= along << 2, along ^= along << 4, along ^= along << 8;
        const unsigned votes = __ballot_sync(~0u, __popc(quotes) & 1);
        if (!lane) odd[warp] = __popc(votes) & 1;
        __syncthreads();
        unsigned before = state ^ (__popc(votes & ((1u << lane) - 1)) & 1);
        for (int k = 0; k < 8; ++k) {
            if (k < warp) before ^= odd[k];
            state ^= odd[k];
        }
        const unsigned kept = ends & ~(before ? ~along : along) & 0xffff;
        out[at] = kept, many += __popc(kept);
        __syncthreads();
    }
    many = __reduce_add_sync(~0u, many);
    if (!lane) sums[warp] = many;
    __syncthreads();
    if (!t) {
        int all = 0;
        for (int k = 0; k < 8; ++k) all += sums[k];
        counts[blockIdx.x] = all;
    }
}

// Keys of 2048 by one of their bytes, as they came where it is the same: lanes that match count as one, then a sum over warps.
KERNEL(256) by_byte(const unsigned *in, unsigned *out, unsigned *begins, int shift) {
    __shared__ unsigned counts[8][256], keys[2048], totals[8];
    const int t = threadIdx.x, lane = t % 32, warp = t / 32;
    for (int k = 0; k < 8; ++k) counts[k][t] = 0;
    __syncthreads();
    unsigned key[8], rank[8];
    #pragma unroll
    for (int r = 0; r < 8; ++r) key[r] = in[(size_t)blockIdx.x * 2048 + warp * 256 + r * 32 + lane];
    #pragma unroll
    for (int r = 0; r < 8; ++r) {
        const unsigned digit = key[r] >> shift & 255, same = __match_any_sync(~0u, digit);
        const unsigned seen = counts[warp][digit];
        __syncwarp();
        rank[r] = seen + __popc(same & ((1u << lane) - 1));
        if (lane == __ffs(same) - 1) counts[warp][digit] = seen + __popc(same);
        __syncwarp();
    }
    __syncthreads();
    unsigned all = 0;
    #pragma unroll
    for (int k = 0; k < 8; ++k) {
        const unsigned here = counts[k][t];
        counts[k][t] = all, all += here;
    }
    unsigned sum = all;
    for (int d = 1; d < 32; d *= 2) {
        const unsigned v = __shfl_up_sync(~0u, sum, d);
        if (lane >= d) sum += v;
    }
    if (lane == 31) totals[warp] = sum;
    __syncthreads();
    unsigned first = sum - all;
    for (int k = 0; k < 7; ++k)
        if (k < warp) first += totals[k];
    #pragma unroll
    for (int k = 0; k < 8; ++k) counts[k][t] += first;
    begins[blockIdx.x * 256 + t] = first;
    __syncthreads();
    #pragma unroll
    for (int r = 0; r < 8; ++r) keys[counts[warp][key[r] >> shift & 255] + rank[r]] = key[r];
    __syncthreads();
    #pragma unroll
    for (int r = 0; r < 8; ++r) out[(size_t)blockIdx.x * 2048 + r * 256 + t] = keys[r * 256 + t];
}

// A step of conjugate gradients in doubles: the answer and what is left go on, and the square of what is left is summed.
KERNEL(256) conjugate(double2 *x, double2 *r, const double2 *p, const double2 *q, const double *before, double *square, int many) {
    __shared__ double sums[8];
    const int t = threadIdx.x;
    const double by = before[0] / (before[1] + 4);
    double sum = 0;
    for (int i = blockIdx.x * 256 + t; i < many; i += gridDim.x * 256) {
        const double2 a = p[i], b = q[i];
        double2 u = x[i], v = r[i];
        u.x += by * a.x, u.y += by * a.y, v.x -= by * b.x, v.y -= by * b.y;
        x[i] = u, r[i] = v, sum += v.x * v.x + v.y * v.y;
    }
    sum = warp_sum(sum);
    if (t % 32 == 0) sums[t / 32] = sum;
    __syncthreads();
    if (t < 32) {
        sum = warp_sum(t < 8 ? sums[t] : 0.0);
        if (!t) atomicAdd(square, sum);
    }
}
