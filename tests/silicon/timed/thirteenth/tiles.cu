// Kernels of the thirteenth set in pairs, which differ in the layout of shared memory alone.

#define NAMED(NAME, THREADS, RUN, PARAMETERS, ARGUMENTS, ...) \
    extern "C" __global__ void __launch_bounds__(THREADS) NAME PARAMETERS { RUN<__VA_ARGS__> ARGUMENTS; }

// From pixels of 32 channels to channels of 64 pixels: columns of a tile are read.
template <int PITCH> __device__ __forceinline__ void channels_first(const float4 *in, float *out, int pixels) {
    __shared__ __align__(16) float held[64 * PITCH];
    const int t = threadIdx.x;
    for (int k = t; k < 512; k += 128) *(float4 *)(held + k / 8 * PITCH + k % 8 * 4) = in[(size_t)blockIdx.x * 512 + k];
    __syncthreads();
    for (int k = t; k < 2048; k += 128) out[(size_t)(k / 64) * pixels + blockIdx.x * 64 + k % 64] = held[k % 64 * PITCH + k / 64];
}
NAMED(channels_first_plain, 128, channels_first, (const float4 *in, float *out, int pixels), (in, out, pixels), 32)
NAMED(channels_first_padded, 128, channels_first, (const float4 *in, float *out, int pixels), (in, out, pixels), 36)

// Cubic splines of 256 parts, whose coefficients lie together or in arrays of their own.
template <int EACH, int NEXT> __device__ __forceinline__ void splines(const float *parts, const float *in, float *out) {
    __shared__ float held[1024];
    const int t = threadIdx.x;
    for (int k = t; k < 1024; k += 256) held[k / 4 * EACH + k % 4 * NEXT] = parts[k];
    __syncthreads();
    for (int r = 0; r < 8; ++r) {
        const size_t at = (size_t)blockIdx.x * 2048 + r * 256 + t;
        float x = in[at];
        #pragma unroll
        for (int s = 0; s < 4; ++s) {
            const float scaled = (x - floorf(x)) * 255.9f;
            const float *c = held + (int)scaled * EACH;
            const float f = scaled - (int)scaled;
            x = ((c[3 * NEXT] * f + c[2 * NEXT]) * f + c[NEXT]) * f + c[0];
        }
        out[at] = x;
    }
}
NAMED(splines_together, 256, splines, (const float *parts, const float *in, float *out), (parts, in, out), 4, 1)
NAMED(splines_apart, 256, splines, (const float *parts, const float *in, float *out), (parts, in, out), 1, 256)

// Forces of Lennard and Jones among the 128 atoms of a cell; all lanes read the same atom.
template <int EACH, int NEXT> __device__ __forceinline__ void atoms(const float *in, float *out) {
    __shared__ float held[512];
    const int t = threadIdx.x;
    float own[4];
    for (int k = 0; k < 4; ++k) held[t * EACH + k * NEXT] = own[k] = in[(size_t)blockIdx.x * 512 + k * 128 + t];
    __syncthreads();
    float fx = 0, fy = 0, fz = 0;
    #pragma unroll 4
    for (int j = 0; j < 128; ++j) {
        const float x = held[j * EACH] - own[0], y = held[j * EACH + NEXT] - own[1], z = held[j * EACH + 2 * NEXT] - own[2];
        const float by = 1 / (x * x + y * y + z * z + 0.1f), six = by * by * by;
        const float f = held[j * EACH + 3 * NEXT] * own[3] * six * (2 * six - 1) * by;
        fx += f * x, fy += f * y, fz += f * z;
    }
    float *to = out + (size_t)blockIdx.x * 384 + t;
    to[0] = fx, to[128] = fy, to[256] = fz;
}
NAMED(atoms_together, 128, atoms, (const float *in, float *out), (in, out), 4, 1)
NAMED(atoms_apart, 128, atoms, (const float *in, float *out), (in, out), 1, 128)

// The largest of every eight neighbours: a thread to sixteen places, whose words lie beside each other.
template <int PAD> __device__ __forceinline__ void largest(const float *in, float *out) {
    __shared__ float held[2064 + 129];
    const auto at = [](int i) { return PAD ? i + i / 16 : i; };
    const int t = threadIdx.x;
    const size_t base = (size_t)blockIdx.x * 2048;
    for (int k = t; k < 2056; k += 128) held[at(k)] = in[base + k];
    __syncthreads();
    float v[23];
    #pragma unroll
    for (int k = 0; k < 23; ++k) v[k] = held[at(t * 16 + k)];
    #pragma unroll
    for (int d = 1; d < 8; d *= 2)
        #pragma unroll
        for (int k = 0; k < 23 - d; ++k) v[k] = fmaxf(v[k], v[k + d]);
    __syncthreads();
    #pragma unroll
    for (int k = 0; k < 16; ++k) held[at(t * 16 + k)] = v[k];
    __syncthreads();
    for (int k = t; k < 2048; k += 128) out[base + k] = held[at(k)];
}
NAMED(largest_plain, 128, largest, (const float *in, float *out), (in, out), 0)
NAMED(largest_padded, 128, largest, (const float *in, float *out), (in, out), 1)

// The eight least of 64 values a thread, kept in order in shared memory: a list after the other, or lists side by side.
template <int EACH, int NEXT> __device__ __forceinline__ void least_eight(const float *in, float *out, int lists) {
    __shared__ float held[1024];
    const int t = threadIdx.x, i = blockIdx.x * 128 + t;
    float *own = held + t * EACH;
    #pragma unroll
    for (int k = 0; k < 8; ++k) own[k * NEXT] = 1e30f;
    for (int s = 0; s < 64; ++s) {
        float v = in[(size_t)s * lists + i];
        if (v >= own[7 * NEXT]) continue;
        int k = 7;
        for (; k > 0 && own[(k - 1) * NEXT] > v; --k) own[k * NEXT] = own[(k - 1) * NEXT];
        own[k * NEXT] = v;
    }
    for (int k = 0; k < 8; ++k) out[(size_t)k * lists + i] = own[k * NEXT];
}
NAMED(least_eight_together, 128, least_eight, (const float *in, float *out, int lists), (in, out, lists), 8, 1)
NAMED(least_eight_apart, 128, least_eight, (const float *in, float *out, int lists), (in, out, lists), 1, 128)

// Softmax of the rows of a tile of 64 by 64, a thread to a row.
template <int PITCH> __device__ __forceinline__ void tile_softmax(const float *in, float *out) {
    __shared__ float held[64 * PITCH];
    const int t = threadIdx.x;
    const size_t base = (size_t)blockIdx.x * 4096;
    #pragma unroll 8
    for (int k = 0; k < 64; ++k) held[k * PITCH + t] = in[base + k * 64 + t];
    __syncthreads();
    float most = -1e30f, sum = 0;
    #pragma unroll 8
    for (int k = 0; k < 64; ++k) most = fmaxf(most, held[t * PITCH + k]);
    #pragma unroll 8
    for (int k = 0; k < 64; ++k) {
        const float e = __expf(held[t * PITCH + k] - most);
        held[t * PITCH + k] = e, sum += e;
    }
    const float by = 1 / sum;
    #pragma unroll 8
    for (int k = 0; k < 64; ++k) held[t * PITCH + k] *= by;
    __syncthreads();
    #pragma unroll 8
    for (int k = 0; k < 64; ++k) out[base + k * 64 + t] = held[k * PITCH + t];
}
NAMED(tile_softmax_plain, 64, tile_softmax, (const float *in, float *out), (in, out), 64)
NAMED(tile_softmax_padded, 64, tile_softmax, (const float *in, float *out), (in, out), 65)

// A curl by differences in a cube of 8 by 8 by 8 with a border of one: rows of ten words, or of twelve.
template <int PITCH> __device__ __forceinline__ void curl(const float *in, float *out) {
    __shared__ float held[3][10 * 10 * PITCH];
    const int t = threadIdx.x;
    for (int k = t; k < 3000; k += 256)
        held[k / 1000][k % 1000 / 10 * PITCH + k % 10] = in[(size_t)blockIdx.x * 3000 + k];
    __syncthreads();
    for (int r = t; r < 512; r += 256) {
        const int at = ((r / 64 + 1) * 10 + r / 8 % 8 + 1) * PITCH + r % 8 + 1, y = PITCH, z = 10 * PITCH;
        const auto off = [&](int field, int by) { return held[field][at + by] - held[field][at - by]; };
        float *to = out + (size_t)blockIdx.x * 1536 + r;
        to[0] = off(2, y) - off(1, z), to[512] = off(0, z) - off(2, 1), to[1024] = off(1, 1) - off(0, y);
    }
}
NAMED(curl_plain, 256, curl, (const float *in, float *out), (in, out), 10)
NAMED(curl_padded, 256, curl, (const float *in, float *out), (in, out), 12)
