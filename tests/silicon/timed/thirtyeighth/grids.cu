// Grids of the thirty-eighth set: boxes that run along rows, letters in common, small clusters of bodies, matrices of eight; and, where no layout differs, a plate's stencil, rates of growth,
// polynomials of doubles, a stream of doubles.
#include <cuda_runtime.h>

// ---------------------------------------------------------------------------------------------------------------------
// Means of seventeen neighbours along a row by a sum that runs: 64 rows a block, a row a thread, 64 of its numbers and sixteen more. `across` numbers a row of what comes in.
template <int PITCH> __device__ __forceinline__ void boxes_that_run(const float *in, float *out, int across) {
    __shared__ float tile[64 * PITCH];
    const int t = threadIdx.x, width = gridDim.x * 64;
    const size_t row0 = ((size_t)blockIdx.z * gridDim.y + blockIdx.y) * 64;
    const float *from = in + row0 * across + blockIdx.x * 64;
#pragma unroll 8
    for (int i = t; i < 64 * 80; i += 64) tile[i / 80 * PITCH + i % 80] = from[(size_t)(i / 80) * across + i % 80];
    __syncthreads();
    float *own = tile + t * PITCH, sum = 0.0f;
#pragma unroll
    for (int x = 0; x < 16; x++) sum += own[x];
#pragma unroll 8
    for (int x = 0; x < 64; x++) {
        const float gone = own[x];
        sum += own[x + 16];
        own[x] = sum * (1.0f / 17.0f);
        sum -= gone;
    }
    __syncthreads();
    float *to = out + row0 * width + blockIdx.x * 64 + t;
#pragma unroll 8
    for (int r = 0; r < 64; r++) to[(size_t)r * width] = tile[r * PITCH + t];
}
extern "C" __global__ void __launch_bounds__(64) boxes_that_run_plain(const float *in, float *out, int across) { boxes_that_run<80>(in, out, across); }
extern "C" __global__ void __launch_bounds__(64) boxes_that_run_padded(const float *in, float *out, int across) { boxes_that_run<81>(in, out, across); }

// ---------------------------------------------------------------------------------------------------------------------
// The longest sequence of letters that two strings of 48 have in common, two strings a thread, which has a row of the table in shared memory. Strings lie word by word, four of 16 letters a word.
template <int DOWN, int ACROSS> __device__ __forceinline__ void letters_in_common(const unsigned *first, const unsigned *second, int *lengths, int pairs) {
    __shared__ int table[64 * 49];
    const int t = threadIdx.x, pair = blockIdx.x * 64 + t;
    int *row = table + t * DOWN;
#pragma unroll
    for (int j = 0; j < 48; j++) row[j * ACROSS] = 0;
    int left = 0;
#pragma unroll 1
    for (int i = 0; i < 48; i++) {
        const unsigned letter = first[(size_t)(i / 4) * pairs + pair] >> (i % 4 * 8) & 15;
        int corner = 0;
        left = 0;
#pragma unroll 1
        for (int w = 0; w < 12; w++) {
            const unsigned four = second[(size_t)w * pairs + pair];
#pragma unroll
            for (int j = 0; j < 4; j++) {
                const int above = row[(w * 4 + j) * ACROSS];
                left = (four >> (j * 8) & 15) == letter ? corner + 1 : max(above, left);
                corner = above;
                row[(w * 4 + j) * ACROSS] = left;
            }
        }
    }
    lengths[pair] = left;
}
extern "C" __global__ void __launch_bounds__(64) letters_in_common_rows(const unsigned *a, const unsigned *b, int *lengths, int pairs) { letters_in_common<48, 1>(a, b, lengths, pairs); }
extern "C" __global__ void __launch_bounds__(64) letters_in_common_padded(const unsigned *a, const unsigned *b, int *lengths, int pairs) { letters_in_common<49, 1>(a, b, lengths, pairs); }
extern "C" __global__ void __launch_bounds__(64) letters_in_common_columns(const unsigned *a, const unsigned *b, int *lengths, int pairs) { letters_in_common<1, 64>(a, b, lengths, pairs); }

// ---------------------------------------------------------------------------------------------------------------------
// Clusters of eight bodies, step after step, a body a thread and four clusters a warp: a cluster's bodies lie together, padding leaves one body's place between clusters.
template <int PITCH> __device__ __forceinline__ void clusters_of_eight_bodies(float4 *bodies, float4 *speeds, int steps, float dt) {
    __shared__ float4 places[32 * PITCH];
    const int t = threadIdx.x;
    const size_t at = (size_t)blockIdx.x * 256 + t;
    float4 *cluster = places + t / 8 * PITCH, own = bodies[at], speed = speeds[at];
#pragma unroll 1
    for (int n = 0; n < steps; n++) {
        cluster[t % 8] = own;
        __syncwarp();
        float x = 0.0f, y = 0.0f, z = 0.0f;
#pragma unroll
        for (int j = 0; j < 8; j++) {
            const float4 other = cluster[j];
            const float dx = other.x - own.x, dy = other.y - own.y, dz = other.z - own.z, by = rsqrtf(dx * dx + dy * dy + dz * dz + 0.01f), pull = fabsf(other.w) * by * by * by;
            x += pull * dx, y += pull * dy, z += pull * dz;
        }
        speed.x += dt * x, speed.y += dt * y, speed.z += dt * z;
        own.x += dt * speed.x, own.y += dt * speed.y, own.z += dt * speed.z;
        __syncwarp();
    }
    bodies[at] = own;
    speeds[at] = speed;
}
extern "C" __global__ void __launch_bounds__(256) clusters_of_eight_bodies_plain(float4 *bodies, float4 *speeds, int steps, float dt) { clusters_of_eight_bodies<8>(bodies, speeds, steps, dt); }
extern "C" __global__ void __launch_bounds__(256) clusters_of_eight_bodies_padded(float4 *bodies, float4 *speeds, int steps, float dt) { clusters_of_eight_bodies<9>(bodies, speeds, steps, dt); }

// ---------------------------------------------------------------------------------------------------------------------
// Products of 8 x 8 matrices, sixteen a block, a row of a result a thread. Padding widens rows by one.
template <int PITCH> __device__ __forceinline__ void matrices_of_eight(const float *A, const float *B, float *C) {
    __shared__ float as[128 * PITCH], bs[128 * PITCH];
    const int t = threadIdx.x;
    const size_t base = (size_t)blockIdx.x * 1024;
#pragma unroll
    for (int i = t; i < 1024; i += 128) {
        as[i / 8 * PITCH + i % 8] = A[base + i];
        bs[i / 8 * PITCH + i % 8] = B[base + i];
    }
    __syncthreads();
    float c[8] = {};
#pragma unroll
    for (int k = 0; k < 8; k++) {
        const float a = as[t * PITCH + k];
#pragma unroll
        for (int j = 0; j < 8; j++) c[j] += a * bs[(t / 8 * 8 + k) * PITCH + j];
    }
#pragma unroll
    for (int j = 0; j < 8; j++) as[t * PITCH + j] = c[j];
    __syncthreads();
#pragma unroll
    for (int i = t; i < 1024; i += 128) C[base + i] = as[i / 8 * PITCH + i % 8];
}
extern "C" __global__ void __launch_bounds__(128) matrices_of_eight_plain(const float *A, const float *B, float *C) { matrices_of_eight<8>(A, B, C); }
extern "C" __global__ void __launch_bounds__(128) matrices_of_eight_padded(const float *A, const float *B, float *C) { matrices_of_eight<9>(A, B, C); }

// ---------------------------------------------------------------------------------------------------------------------
// How a plate bends: the thirteen points of a stencil of fourth order, from memory alone.
extern "C" __global__ void __launch_bounds__(256) plate_that_bends(const float *in, float *out, int width, int height, float by) {
    const int x = blockIdx.x * 64 + threadIdx.x, y = blockIdx.y * 4 + threadIdx.y;
    if (x < 2 || y < 2 || x >= width - 2 || y >= height - 2) return;
    const float *p = in + (size_t)y * width + x;
    const float near = p[-1] + p[1] + p[-width] + p[width], corners = p[-width - 1] + p[-width + 1] + p[width - 1] + p[width + 1], far = p[-2] + p[2] + p[-2 * width] + p[2 * width];
    out[(size_t)y * width + x] = p[0] - by * (20.0f * p[0] - 8.0f * near + 2.0f * corners + far);
}

// How fast neighbours part in the logistic map: a thread has one rate, and takes the mean of logarithms of slopes.
extern "C" __global__ void __launch_bounds__(192) rates_of_growth(const float *rates, float *out, int steps) {
    const int i = blockIdx.x * 192 + threadIdx.x;
    const float rate = 3.4f + 0.6f * __saturatef(fabsf(rates[i]));
    float x = 0.4f, sum = 0.0f;
#pragma unroll 4
    for (int n = 0; n < steps; n++) {
        x = rate * x * (1.0f - x);
        sum += __logf(fabsf(rate * (1.0f - 2.0f * x)) + 1e-9f);
    }
    out[i] = sum / steps;
}

// Sums of orthogonal polynomials of doubles, downwards (Clenshaw): all threads read the same weights and factors of the recursion.
extern "C" __global__ void __launch_bounds__(128) sums_of_polynomials(const double *points, const double *weights, const double2 *factors, double *out, int degree) {
    const int i = blockIdx.x * 128 + threadIdx.x;
    const double x = points[i];
    double next = 0.0, after = 0.0;
    for (int k = degree; k >= 0; k--) {
        const double2 by = factors[k];
        const double now = weights[k] + by.x * x * next - by.y * after;
        after = next;
        next = now;
    }
    out[i] = next;
}

// d = a + b * c of doubles, two at a time.
extern "C" __global__ void __launch_bounds__(512) stream_of_doubles(const double2 *a, const double2 *b, const double2 *c, double2 *d, int twos) {
    const int i = blockIdx.x * 512 + threadIdx.x;
    if (i >= twos) return;
    const double2 x = a[i], y = b[i], z = c[i];
    d[i] = make_double2(x.x + y.x * z.x, x.y + y.y * z.y);
}
