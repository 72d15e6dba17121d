// Grids of the thirty-seventh set: factors of small symmetric matrices, cosines of blocks of a film, folded strands, heat whose lanes go down; and, where no layout differs, a matrix
// of diagonals, elliptic integrals, hexadecimal digits of pi.
#include <cuda_runtime.h>

// ---------------------------------------------------------------------------------------------------------------------
// L D L' of symmetric 32 x 32 matrices, one a warp and a row a lane. The diagonal gets 40 more, so that none is singular; only what is not above the diagonal counts.
template <int PITCH> __device__ __forceinline__ void symmetric_factors(const float *in, float *out) {
    __shared__ float rooms[4][32 * PITCH];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const size_t base = ((size_t)blockIdx.x * 4 + warp) * 1024;
    float *a = rooms[warp];
#pragma unroll 8
    for (int r = 0; r < 32; r++) a[r * PITCH + lane] = in[base + r * 32 + lane] + (r == lane ? 40.0f : 0.0f);
    __syncwarp();
#pragma unroll 1
    for (int k = 0; k < 31; k++) {
        const float own = a[lane * PITCH + k], factor = own / a[k * PITCH + k];
        if (lane > k) {
#pragma unroll 4
            for (int j = k + 1; j < 32; j++)
                if (j <= lane) a[lane * PITCH + j] -= factor * a[j * PITCH + k];
        }
        __syncwarp();
        if (lane > k) a[lane * PITCH + k] = factor;
        __syncwarp();
    }
#pragma unroll 8
    for (int r = 0; r < 32; r++) out[base + r * 32 + lane] = lane <= r ? a[r * PITCH + lane] : 0.0f;
}
extern "C" __global__ void __launch_bounds__(128) symmetric_factors_plain(const float *in, float *out) { symmetric_factors<32>(in, out); }
extern "C" __global__ void __launch_bounds__(128) symmetric_factors_padded(const float *in, float *out) { symmetric_factors<33>(in, out); }

// ---------------------------------------------------------------------------------------------------------------------
// The whole-number cosine transform of 16 x 16 differences from what was expected, as coders of film have it: a thread takes a row, then a column; eight blocks of a film a block of 128 threads.
__device__ __forceinline__ void cosines16(int (&v)[16], int shift) {
    constexpr int odd[8][8] = {{90, 87, 80, 70, 57, 43, 25, 9},     {87, 57, 9, -43, -80, -90, -70, -25}, {80, 9, -70, -87, -25, 57, 90, 43},  {70, -43, -87, 9, 90, 25, -80, -57},
                               {57, -80, -25, 90, -9, -87, 43, 70}, {43, -90, 57, 25, -87, 70, 9, -80},   {25, -70, 90, -80, 43, 9, -57, 87}, {9, -25, 43, -57, 70, -80, 87, -90}};
    constexpr int odd_of_even[4][4] = {{89, 75, 50, 18}, {75, -18, -89, -50}, {50, -89, 18, 75}, {18, -50, 75, -89}};
    int e[8], o[8], ee[4], eo[4];
    const int half = 1 << (shift - 1);
#pragma unroll
    for (int i = 0; i < 8; i++) e[i] = v[i] + v[15 - i], o[i] = v[i] - v[15 - i];
#pragma unroll
    for (int i = 0; i < 4; i++) ee[i] = e[i] + e[7 - i], eo[i] = e[i] - e[7 - i];
    const int a = ee[0] + ee[3], b = ee[1] + ee[2], c = ee[0] - ee[3], d = ee[1] - ee[2];
    v[0] = (64 * (a + b) + half) >> shift;
    v[8] = (64 * (a - b) + half) >> shift;
    v[4] = (83 * c + 36 * d + half) >> shift;
    v[12] = (36 * c - 83 * d + half) >> shift;
#pragma unroll
    for (int k = 0; k < 4; k++) {
        int sum = half;
#pragma unroll
        for (int i = 0; i < 4; i++) sum += odd_of_even[k][i] * eo[i];
        v[k * 4 + 2] = sum >> shift;
    }
#pragma unroll
    for (int k = 0; k < 8; k++) {
        int sum = half;
#pragma unroll
        for (int i = 0; i < 8; i++) sum += odd[k][i] * o[i];
        v[k * 2 + 1] = sum >> shift;
    }
}
template <int PITCH> __device__ __forceinline__ void film_cosines(const short2 *in, short2 *out, int expected) {
    __shared__ int tile[8 * 16 * PITCH];
    const int t = threadIdx.x, which = t / 16, own = t % 16;
    const size_t base = (size_t)blockIdx.x * 1024;
#pragma unroll
    for (int i = t; i < 1024; i += 128) {
        const short2 two = in[base + i];
        tile[i / 8 * PITCH + i % 8 * 2] = two.x - expected;
        tile[i / 8 * PITCH + i % 8 * 2 + 1] = two.y - expected;
    }
    __syncthreads();
    int v[16];
#pragma unroll
    for (int i = 0; i < 16; i++) v[i] = tile[t * PITCH + i];
    cosines16(v, 3);
#pragma unroll
    for (int i = 0; i < 16; i++) tile[t * PITCH + i] = v[i];
    __syncthreads();
#pragma unroll
    for (int i = 0; i < 16; i++) v[i] = tile[(which * 16 + i) * PITCH + own];
    cosines16(v, 10);
#pragma unroll
    for (int i = 0; i < 16; i++) tile[(which * 16 + i) * PITCH + own] = v[i];
    __syncthreads();
#pragma unroll
    for (int i = t; i < 1024; i += 128) out[base + i] = make_short2((short)tile[i / 8 * PITCH + i % 8 * 2], (short)tile[i / 8 * PITCH + i % 8 * 2 + 1]);
}
extern "C" __global__ void __launch_bounds__(128) film_cosines_plain(const short2 *in, short2 *out, int expected) { film_cosines<16>(in, out, expected); }
extern "C" __global__ void __launch_bounds__(128) film_cosines_padded(const short2 *in, short2 *out, int expected) { film_cosines<17>(in, out, expected); }

// ---------------------------------------------------------------------------------------------------------------------
// How many bases of a strand of 95 can pair (Nussinov), at least three between the two of a pair: a block has a strand, threads go along a diagonal of the table.
// With rows of 95 the words of a diagonal are 96 apart; with one word more they are 97 apart.
template <int PITCH> __device__ __forceinline__ void folded_strands(const unsigned char *strands, int *pairs) {
    constexpr int LENGTH = 95;
    __shared__ int table[LENGTH * PITCH];
    __shared__ unsigned char bases[LENGTH];
    const int t = threadIdx.x;
    for (int i = t; i < LENGTH * PITCH; i += 96) table[i] = 0;
    if (t < LENGTH) bases[t] = strands[(size_t)blockIdx.x * LENGTH + t] & 3;
    __syncthreads();
    for (int apart = 4; apart < LENGTH; apart++) {
        const int i = t, j = t + apart;
        if (j < LENGTH) {
            const int two = bases[i] + bases[j];
            int best = table[(i + 1) * PITCH + j - 1] + (two == 3 || two == 5);  // A-U, C-G, G-U
#pragma unroll 4
            for (int k = i; k < j; k++) best = max(best, table[i * PITCH + k] + table[(k + 1) * PITCH + j]);
            table[i * PITCH + j] = best;
        }
        __syncthreads();
    }
    if (t == 0) pairs[blockIdx.x] = table[LENGTH - 1];
}
extern "C" __global__ void __launch_bounds__(96) folded_strands_exact(const unsigned char *strands, int *pairs) { folded_strands<95>(strands, pairs); }
extern "C" __global__ void __launch_bounds__(96) folded_strands_padded(const unsigned char *strands, int *pairs) { folded_strands<96>(strands, pairs); }

// ---------------------------------------------------------------------------------------------------------------------
// Four steps of heat on a sheet in one go: a block brings 40 x 40 cells and keeps the 32 x 32 within. Lanes go down the columns in the steps, as it happens when i and j are mixed up.
template <int PITCH> __device__ __forceinline__ void heat_downwards(const float *in, float *out, int width, int height, float by) {
    __shared__ float rooms[2][40 * PITCH];
    const int t = threadIdx.x, x0 = blockIdx.x * 32 - 4, y0 = blockIdx.y * 32 - 4;
    for (int i = t; i < 1600; i += 256) {
        const int x = i % 40, y = i / 40, px = x0 + x, py = y0 + y;
        rooms[0][y * PITCH + x] = px >= 0 && px < width && py >= 0 && py < height ? in[(size_t)py * width + px] : 0.0f;
    }
    __syncthreads();
#pragma unroll
    for (int step = 1; step <= 4; step++) {
        const float *from = rooms[step & 1 ^ 1];
        float *to = rooms[step & 1];
        const int side = 40 - 2 * step;
        for (int i = t; i < side * side; i += 256) {
            const int y = i % side + step, x = i / side + step, at = y * PITCH + x;
            const bool inside = x0 + x >= 0 && x0 + x < width && y0 + y >= 0 && y0 + y < height;
            const float c = from[at];
            to[at] = inside ? c + by * (from[at - 1] + from[at + 1] + from[at - PITCH] + from[at + PITCH] - 4.0f * c) : 0.0f;
        }
        __syncthreads();
    }
    for (int i = t; i < 1024; i += 256) out[(size_t)(y0 + 4 + i / 32) * width + x0 + 4 + i % 32] = rooms[0][(i / 32 + 4) * PITCH + i % 32 + 4];
}
extern "C" __global__ void __launch_bounds__(256) heat_downwards_plain(const float *in, float *out, int width, int height, float by) { heat_downwards<40>(in, out, width, height, by); }
extern "C" __global__ void __launch_bounds__(256) heat_downwards_padded(const float *in, float *out, int width, int height, float by) { heat_downwards<41>(in, out, width, height, by); }

// ---------------------------------------------------------------------------------------------------------------------
// y = A x, where A has nine diagonals, stored one after the other as a library's DIA format has them.
struct Offsets {
    int of[9];
};
extern "C" __global__ void __launch_bounds__(192) diagonals(const float *values, const float *x, float *y, int rows, int near, int far) {
    const int row = blockIdx.x * 192 + threadIdx.x;
    if (row >= rows) return;
    const Offsets offsets = {{-far - near, -far, -near, -1, 0, 1, near, far, far + near}};
    float sum = 0.0f;
#pragma unroll
    for (int d = 0; d < 9; d++) {
        const int column = row + offsets.of[d];
        if (column >= 0 && column < rows) sum += values[(size_t)d * rows + row] * x[column];
    }
    y[row] = sum;
}

// Complete elliptic integrals of both kinds by means, arithmetic and geometric, of doubles.
extern "C" __global__ void __launch_bounds__(128) elliptic(const double *moduli, double2 *out) {
    const int i = blockIdx.x * 128 + threadIdx.x;
    const double k = 0.999 * moduli[i];
    double a = 1.0, g = sqrt(1.0 - k * k), sum = 0.5 * k * k, power = 0.5;
    for (int n = 0; n < 6; n++) {
        const double half = 0.5 * (a - g), mean = 0.5 * (a + g);
        g = sqrt(a * g);
        a = mean;
        power *= 2.0;
        sum += power * half * half;
    }
    const double first = 1.5707963267948966 / a;
    out[i] = make_double2(first, first * (1.0 - sum));
}

// Hexadecimal digits of pi from place `first` on (Bailey, Borwein, Plouffe): a thread has a digit, and powers of sixteen are taken modulo what divides them.
__device__ __forceinline__ unsigned power_of_16(unsigned n, unsigned modulus) {
    unsigned long long result = 1, base = 16 % modulus;
    for (; n; n >>= 1) {
        if (n & 1) result = result * base % modulus;
        base = base * base % modulus;
    }
    return (unsigned)(result % modulus);
}
__device__ __forceinline__ double series(int place, int plus) {
    double sum = 0.0;
    for (int k = 0; k <= place; k++) {
        const unsigned m = 8 * k + plus;
        sum += (double)power_of_16(place - k, m) / m;
        sum -= floor(sum);
    }
    double by = 1.0 / 16.0;
    for (int k = place + 1; k < place + 10; k++, by *= 1.0 / 16.0) sum += by / (8 * k + plus);
    return sum - floor(sum);
}
extern "C" __global__ void __launch_bounds__(64) digits_of_pi(unsigned char *digits, int first) {
    const int i = blockIdx.x * 64 + threadIdx.x, place = first + i % 64;
    const double x = 4.0 * series(place, 1) - 2.0 * series(place, 4) - series(place, 5) - series(place, 6);
    digits[i] = (unsigned char)((x - floor(x)) * 16.0);
}
