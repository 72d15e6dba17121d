// Kernels of the twelfth set in pairs, which differ in the layout of shared memory alone.

#define NAMED(NAME, THREADS, RUN, PARAMETERS, ARGUMENTS, ...) \
    extern "C" __global__ void __launch_bounds__(THREADS) NAME PARAMETERS { RUN<__VA_ARGS__> ARGUMENTS; }

__device__ __forceinline__ float2 times(float2 a, float2 b) { return {a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x}; }

__device__ __forceinline__ void four_points(float2 &a, float2 &b, float2 &c, float2 &d) {
    const float2 s = {a.x + c.x, a.y + c.y}, m = {a.x - c.x, a.y - c.y}, t = {b.x + d.x, b.y + d.y}, n = {b.x - d.x, b.y - d.y};
    a = {s.x + t.x, s.y + t.y}, b = {m.x + n.y, m.y - n.x}, c = {s.x - t.x, s.y - t.y}, d = {m.x - n.y, m.y + n.x};
}

__device__ __forceinline__ void sixteen_points(float2 (&v)[16]) {
    constexpr float C = 0.92387953f, S = 0.38268343f, R = 0.70710678f;
    constexpr float2 roots[10] = {{1, 0}, {C, -S}, {R, -R}, {S, -C}, {0, -1}, {-S, -C}, {-R, -R}, {-C, -S}, {-1, 0}, {-C, S}};
    #pragma unroll
    for (int i = 0; i < 4; ++i) {
        four_points(v[i], v[i + 4], v[i + 8], v[i + 12]);
        #pragma unroll
        for (int k = 1; k < 4; ++k) v[i + 4 * k] = times(v[i + 4 * k], roots[i * k]);
    }
    float2 out[16];
    #pragma unroll
    for (int k = 0; k < 4; ++k) {
        four_points(v[4 * k], v[4 * k + 1], v[4 * k + 2], v[4 * k + 3]);
        #pragma unroll
        for (int m = 0; m < 4; ++m) out[k + 4 * m] = v[4 * k + m];
    }
    #pragma unroll
    for (int k = 0; k < 16; ++k) v[k] = out[k];
}

// Fourier transforms of 256 points, sixteen threads each, sixteen points at once: rows of 16 pairs, or of 17.
template <int PITCH> __device__ __forceinline__ void sixteens(const float2 *in, float2 *out) {
    __shared__ float2 held[256 * PITCH];
    const int t = threadIdx.x, each = t / 16, u = t % 16;
    const size_t base = (size_t)blockIdx.x * 4096 + each * 256 + u;
    float2 v[16];
    #pragma unroll
    for (int k = 0; k < 16; ++k) v[k] = in[base + k * 16];
    sixteen_points(v);
    #pragma unroll
    for (int k = 0; k < 16; ++k) {
        float2 turn;
        __sincosf(-0.024543693f * (u * k), &turn.y, &turn.x);
        held[(each * 16 + u) * PITCH + k] = times(v[k], turn);
    }
    __syncthreads();
    #pragma unroll
    for (int k = 0; k < 16; ++k) v[k] = held[(each * 16 + k) * PITCH + u];
    sixteen_points(v);
    #pragma unroll
    for (int k = 0; k < 16; ++k) out[base + k * 16] = v[k];
}
NAMED(sixteens_plain, 256, sixteens, (const float2 *in, float2 *out), (in, out), 16)
NAMED(sixteens_padded, 256, sixteens, (const float2 *in, float2 *out), (in, out), 17)

// Matrices of 32 by 32 made triangular by reflections: a warp to a matrix, a lane to a column.
template <int PITCH> __device__ __forceinline__ void reflected(const float *in, float *out) {
    __shared__ float all[4][32 * PITCH];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    float *held = all[warp], *own = held + lane * PITCH;
    const size_t base = ((size_t)blockIdx.x * 4 + warp) * 1024 + lane;
    for (int r = 0; r < 32; ++r) own[r] = in[base + r * 32];
    __syncwarp();
    for (int j = 0; j < 31; ++j) {
        float *column = held + j * PITCH;
        const float x = lane >= j ? column[lane] : 0;
        float norm = x * x;
        for (int d = 16; d; d /= 2) norm += __shfl_xor_sync(~0u, norm, d);
        const float first = __shfl_sync(~0u, x, j), size = copysignf(sqrtf(norm), first);
        const float v = lane == j ? x + size : x, scale = 2 / (2 * norm + 2 * first * size + 1e-20f);
        if (lane >= j) column[lane] = v;
        __syncwarp();
        if (lane > j) {
            float dot = 0;
            for (int r = j; r < 32; ++r) dot += column[r] * own[r];
            dot *= scale;
            for (int r = j; r < 32; ++r) own[r] -= dot * column[r];
        }
        __syncwarp();
        if (lane == j) own[j] = -size;
        __syncwarp();
    }
    for (int r = 0; r < 32; ++r) out[base + r * 32] = own[r];
}
NAMED(reflected_plain, 128, reflected, (const float *in, float *out), (in, out), 32)
NAMED(reflected_padded, 128, reflected, (const float *in, float *out), (in, out), 33)

// Sums of absolute differences of all rows of a with all of b: 64 by 64 a block, four by four a thread.
template <int PITCH> __device__ __forceinline__ void absolute(const float *a, const float *b, float *out, int n, int depth) {
    __shared__ float left[64 * PITCH], right[64 * PITCH];
    const int tx = threadIdx.x % 16, ty = threadIdx.x / 16, lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    float sum[4][4] = {};
    for (int begin = 0; begin < depth; begin += 32) {
        for (int r = warp; r < 64; r += 8) {
            left[r * PITCH + lane] = a[(size_t)(blockIdx.y * 64 + r) * depth + begin + lane];
            right[r * PITCH + lane] = b[(size_t)(blockIdx.x * 64 + r) * depth + begin + lane];
        }
        __syncthreads();
        #pragma unroll 8
        for (int k = 0; k < 32; ++k) {
            float x[4], y[4];
            for (int i = 0; i < 4; ++i) x[i] = left[(ty + 16 * i) * PITCH + k], y[i] = right[(tx + 16 * i) * PITCH + k];
            for (int i = 0; i < 4; ++i)
                for (int j = 0; j < 4; ++j) sum[i][j] += fabsf(x[i] - y[j]);
        }
        __syncthreads();
    }
    for (int i = 0; i < 4; ++i)
        for (int j = 0; j < 4; ++j) out[(size_t)(blockIdx.y * 64 + ty + 16 * i) * n + blockIdx.x * 64 + tx + 16 * j] = sum[i][j];
}
NAMED(absolute_plain, 256, absolute, (const float *a, const float *b, float *out, int n, int depth), (a, b, out, n, depth), 32)
NAMED(absolute_padded, 256, absolute, (const float *a, const float *b, float *out, int n, int depth), (a, b, out, n, depth), 33)

// The largest of sixteen neighbours by what van Herk found: maxima from both ends of parts of sixteen.
template <int PAD> __device__ __forceinline__ void from_both_ends(const float *in, float *out) {
    __shared__ float before[2304], after[2304];
    const auto at = [](int i) { return PAD ? i + i / 16 : i; };
    const int t = threadIdx.x;
    const size_t base = (size_t)blockIdx.x * 2048;
    for (int i = t; i < 2064; i += 128) before[at(i)] = in[base + i];
    __syncthreads();
    for (int part = t; part < 129; part += 128) {
        float most = -1e30f;
        for (int k = 15; k >= 0; --k) after[at(part * 16 + k)] = most = fmaxf(most, before[at(part * 16 + k)]);
        most = -1e30f;
        for (int k = 0; k < 16; ++k) before[at(part * 16 + k)] = most = fmaxf(most, before[at(part * 16 + k)]);
    }
    __syncthreads();
    for (int i = t; i < 2048; i += 128) out[base + i] = fmaxf(after[at(i)], before[at(i + 15)]);
}
NAMED(from_both_ends_plain, 128, from_both_ends, (const float *in, float *out), (in, out), 0)
NAMED(from_both_ends_padded, 128, from_both_ends, (const float *in, float *out), (in, out), 1)

// Rows of a large table meet those of a small one of 1024 places: at most four places are looked at.
// The small table lies in shared memory as structures of four words, or a member after another.
template <int APART> __device__ __forceinline__ void joined(const uint4 *small, const unsigned *keys, const float *values, float *out, int count) {
    __shared__ unsigned held[4096];
    const auto at = [](int row, int member) { return APART ? member * 1024 + row : row * 4 + member; };
    for (int i = threadIdx.x; i < 1024; i += blockDim.x) {
        const uint4 row = small[i];
        held[at(i, 0)] = row.x, held[at(i, 1)] = row.y, held[at(i, 2)] = row.z, held[at(i, 3)] = row.w;
    }
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) {
        const unsigned key = keys[i];
        unsigned place = key * 2654435761u >> 22;
        float found = 0;
        for (int step = 0; step < 4; ++step, place = (place + 1) & 1023)
            if ((held[at(place, 0)] ^ key) % 4 == 0) {
                found = values[i] * (held[at(place, 1)] & 255) + (held[at(place, 2)] & 15) - (held[at(place, 3)] & 15);
                break;
            }
        out[i] = found;
    }
}
#define JOINED(NAME, APART)                                                                             \
    NAMED(NAME, 256, joined, (const uint4 *small, const unsigned *keys, const float *values, float *out, int count), \
          (small, keys, values, out, count), APART)
JOINED(joined_together, 0)
JOINED(joined_apart, 1)

// How far each pixel is from the next bright one, in steps: along rows, then along columns of tiles of 64 by 64.
template <int PITCH> __device__ __forceinline__ void far_from_light(const uchar4 *in, uchar4 *out, int width) {
    __shared__ int held[64 * PITCH];
    const int t = threadIdx.x;
    const size_t base = (size_t)blockIdx.y * 64 * (width / 4) + blockIdx.x * 16 + t % 16;
    for (int r = t / 16; r < 64; r += 4) {
        const uchar4 v = in[base + r * (width / 4)];
        int *to = held + r * PITCH + t % 16 * 4;
        to[0] = v.x > 240 ? 0 : 255, to[1] = v.y > 240 ? 0 : 255, to[2] = v.z > 240 ? 0 : 255, to[3] = v.w > 240 ? 0 : 255;
    }
    __syncthreads();
    const auto walk = [&](int first, int step) {
        int last = 255;
        for (int k = 0; k < 64; ++k) held[first + k * step] = last = min(last + 1, held[first + k * step]);
        for (int k = 62; k >= 0; --k) held[first + k * step] = last = min(last + 1, held[first + k * step]);
    };
    walk(t * PITCH, 1);
    __syncthreads();
    walk(t, PITCH);
    __syncthreads();
    for (int r = t / 16; r < 64; r += 4) {
        const int *from = held + r * PITCH + t % 16 * 4;
        out[base + r * (width / 4)] = make_uchar4(from[0], from[1], from[2], from[3]);
    }
}
NAMED(far_from_light_plain, 64, far_from_light, (const uchar4 *in, uchar4 *out, int width), (in, out, width), 64)
NAMED(far_from_light_padded, 64, far_from_light, (const uchar4 *in, uchar4 *out, int width), (in, out, width), 65)

// Matrices of 16 by 16 squared four times, a warp to each; a lane has half a row. Rows of 16 words, or of 20.
template <int PITCH> __device__ __forceinline__ void powers(const float4 *in, float4 *out) {
    __shared__ __align__(16) float all[4][16 * PITCH];
    const int lane = threadIdx.x % 32, row = lane % 16, half = lane / 16;
    float *held = all[threadIdx.x / 32];
    const size_t base = ((size_t)blockIdx.x * 4 + threadIdx.x / 32) * 64;
    for (int i = lane; i < 64; i += 32) *(float4 *)(held + i / 4 * PITCH + i % 4 * 4) = in[base + i];
    for (int turn = 0; turn < 4; ++turn) {
        __syncwarp();
        float sum[8] = {};
        #pragma unroll
        for (int k = 0; k < 16; k += 4) {
            const float4 a = *(const float4 *)(held + row * PITCH + k);
            const float x[4] = {a.x, a.y, a.z, a.w};
            #pragma unroll
            for (int j = 0; j < 4; ++j) {
                const float4 low = *(const float4 *)(held + (k + j) * PITCH + half * 8);
                const float4 high = *(const float4 *)(held + (k + j) * PITCH + half * 8 + 4);
                sum[0] += x[j] * low.x, sum[1] += x[j] * low.y, sum[2] += x[j] * low.z, sum[3] += x[j] * low.w;
                sum[4] += x[j] * high.x, sum[5] += x[j] * high.y, sum[6] += x[j] * high.z, sum[7] += x[j] * high.w;
            }
        }
        __syncwarp();
        float4 *to = (float4 *)(held + row * PITCH + half * 8);
        to[0] = {sum[0] * 0.25f, sum[1] * 0.25f, sum[2] * 0.25f, sum[3] * 0.25f};
        to[1] = {sum[4] * 0.25f, sum[5] * 0.25f, sum[6] * 0.25f, sum[7] * 0.25f};
    }
    __syncwarp();
    for (int i = lane; i < 64; i += 32) out[base + i] = *(float4 *)(held + i / 4 * PITCH + i % 4 * 4);
}
NAMED(powers_plain, 128, powers, (const float4 *in, float4 *out), (in, out), 16)
NAMED(powers_padded, 128, powers, (const float4 *in, float4 *out), (in, out), 20)

// Vectors of three doubles turned about an axis: they pass through shared memory, four words of eight bytes
// apart, or three.
template <int APART> __device__ __forceinline__ void threes(const double *in, double *out, double x, double y, double z, double w) {
    __shared__ double held[256 * APART];
    const int t = threadIdx.x;
    const size_t base = (size_t)blockIdx.x * 768;
    for (int i = t; i < 768; i += 256) held[i / 3 * APART + i % 3] = in[base + i];
    __syncthreads();
    double *own = held + t * APART;
    const double a = own[0], b = own[1], c = own[2];
    const double p = 2 * (y * c - z * b), q = 2 * (z * a - x * c), r = 2 * (x * b - y * a);
    own[0] = a + w * p + y * r - z * q;
    own[1] = b + w * q + z * p - x * r;
    own[2] = c + w * r + x * q - y * p;
    __syncthreads();
    for (int i = t; i < 768; i += 256) out[base + i] = held[i / 3 * APART + i % 3];
}
NAMED(threes_plain, 256, threes, (const double *in, double *out, double x, double y, double z, double w), (in, out, x, y, z, w), 4)
NAMED(threes_packed, 256, threes, (const double *in, double *out, double x, double y, double z, double w), (in, out, x, y, z, w), 3)

// Pixels as means of those nearby whose surroundings look alike: 16 by 16 a block, so a warp has two rows.
template <int PITCH> __device__ __forceinline__ void alike(const float *in, float *out, int width) {
    __shared__ float held[22 * PITCH];
    const int tx = threadIdx.x, ty = threadIdx.y;
    const float *from = in + (size_t)blockIdx.y * 16 * width + blockIdx.x * 16;
    for (int r = ty; r < 22; r += 16)
        for (int c = tx; c < 22; c += 16) held[r * PITCH + c] = from[(size_t)r * width + c];
    __syncthreads();
    const float *own = held + (ty + 3) * PITCH + tx + 3;
    float sum = 0, total = 0;
    #pragma unroll 1
    for (int y = -2; y <= 2; ++y)
        #pragma unroll 1
        for (int x = -2; x <= 2; ++x) {
            const float *other = own + y * PITCH + x;
            float off = 0;
            #pragma unroll
            for (int v = -1; v <= 1; ++v)
                #pragma unroll
                for (int u = -1; u <= 1; ++u) {
                    const float d = own[v * PITCH + u] - other[v * PITCH + u];
                    off += d * d;
                }
            const float by = __expf(-0.5f * off);
            sum += by * *other, total += by;
        }
    out[(size_t)(blockIdx.y * 16 + ty + 3) * width + blockIdx.x * 16 + tx + 3] = sum / total;
}
NAMED(alike_plain, 256, alike, (const float *in, float *out, int width), (in, out, width), 32)
NAMED(alike_padded, 256, alike, (const float *in, float *out, int width), (in, out, width), 48)

// Kalman's filter of places and speeds in space, a thread to each body, whose covariance of six by six lies in
// shared memory: 36 words apart, or 37.
template <int PITCH> __device__ __forceinline__ void tracked(const float *seen, float *out, int bodies, int steps) {
    __shared__ float held[96 * PITCH];
    float *p = held + threadIdx.x * PITCH;
    const int i = blockIdx.x * 96 + threadIdx.x;
    float x[6] = {};
    for (int k = 0; k < 36; ++k) p[k] = k % 7 == 0;
    for (int step = 0; step < steps; ++step) {
        #pragma unroll
        for (int k = 0; k < 3; ++k) x[k] += 0.1f * x[k + 3];
        #pragma unroll 2
        for (int c = 0; c < 6; ++c)
            for (int r = 0; r < 3; ++r) p[r * 6 + c] += 0.1f * p[(r + 3) * 6 + c];
        #pragma unroll 2
        for (int r = 0; r < 6; ++r) {
            for (int c = 0; c < 3; ++c) p[r * 6 + c] += 0.1f * p[r * 6 + c + 3];
            p[r * 7] += 0.01f;
        }
        #pragma unroll
        for (int m = 0; m < 3; ++m) {
            const float inverse = 1 / (p[m * 7] + 0.25f), off = seen[(size_t)(step * 3 + m) * bodies + i] - x[m];
            float gain[6], row[6];
            for (int k = 0; k < 6; ++k) gain[k] = p[k * 6 + m] * inverse, row[k] = p[m * 6 + k], x[k] += gain[k] * off;
            for (int r = 0; r < 6; ++r)
                for (int c = 0; c < 6; ++c) p[r * 6 + c] -= gain[r] * row[c];
        }
    }
    for (int k = 0; k < 6; ++k) out[(size_t)k * bodies + i] = x[k];
}
NAMED(tracked_plain, 96, tracked, (const float *seen, float *out, int bodies, int steps), (seen, out, bodies, steps), 36)
NAMED(tracked_padded, 96, tracked, (const float *seen, float *out, int bodies, int steps), (seen, out, bodies, steps), 37)

// Eight voices that lie sample by sample are parted, and bent where they are loud: 256 samples a block.
template <int PITCH> __device__ __forceinline__ void parted(const float *in, float *out, int count) {
    __shared__ float held[256 * PITCH];
    const int t = threadIdx.x;
    for (int k = 0; k < 8; ++k) held[(k * 32 + t / 8) * PITCH + t % 8] = in[(size_t)blockIdx.x * 2048 + k * 256 + t];
    __syncthreads();
    for (int k = 0; k < 8; ++k) {
        const float v = held[t * PITCH + k] * 1.5f;
        out[(size_t)k * count + blockIdx.x * 256 + t] = v * (27 + v * v) / (27 + 9 * v * v);
    }
}
NAMED(parted_plain, 256, parted, (const float *in, float *out, int count), (in, out, count), 8)
NAMED(parted_padded, 256, parted, (const float *in, float *out, int count), (in, out, count), 9)

// C = A B of complex numbers: 64 by 64 a block, four by four a thread. Real and imaginary parts lie together,
// or in planes of their own.
template <int PLANES> __device__ __forceinline__ void complex(const float2 *a, const float2 *b, float2 *c, int n, int depth) {
    __shared__ __align__(16) float left[16 * 128], right[16 * 128];
    const auto at = [](int k, int i, int part) { return k * 128 + (PLANES ? part * 64 + i : i * 2 + part); };
    const int t = threadIdx.x, tx = t % 16, ty = t / 16;
    float2 sum[4][4] = {};
    for (int begin = 0; begin < depth; begin += 16) {
        for (int i = t; i < 1024; i += 256) {
            const float2 v = a[(size_t)(blockIdx.y * 64 + i / 16) * depth + begin + i % 16];
            const float2 w = b[(size_t)(begin + i / 64) * n + blockIdx.x * 64 + i % 64];
            left[at(i % 16, i / 16, 0)] = v.x, left[at(i % 16, i / 16, 1)] = v.y;
            right[at(i / 64, i % 64, 0)] = w.x, right[at(i / 64, i % 64, 1)] = w.y;
        }
        __syncthreads();
        #pragma unroll 4
        for (int k = 0; k < 16; ++k) {
            float2 x[4], y[4];
            for (int i = 0; i < 4; ++i) {
                x[i] = {left[at(k, ty * 4 + i, 0)], left[at(k, ty * 4 + i, 1)]};
                y[i] = {right[at(k, tx * 4 + i, 0)], right[at(k, tx * 4 + i, 1)]};
            }
            for (int i = 0; i < 4; ++i)
                for (int j = 0; j < 4; ++j) {
                    sum[i][j].x += x[i].x * y[j].x, sum[i][j].x -= x[i].y * y[j].y;
                    sum[i][j].y += x[i].x * y[j].y, sum[i][j].y += x[i].y * y[j].x;
                }
        }
        __syncthreads();
    }
    for (int i = 0; i < 4; ++i)
        for (int j = 0; j < 4; ++j) c[(size_t)(blockIdx.y * 64 + ty * 4 + i) * n + blockIdx.x * 64 + tx * 4 + j] = sum[i][j];
}
NAMED(complex_together, 256, complex, (const float2 *a, const float2 *b, float2 *c, int n, int depth), (a, b, c, n, depth), 0)
NAMED(complex_planes, 256, complex, (const float2 *a, const float2 *b, float2 *c, int n, int depth), (a, b, c, n, depth), 1)
