// Kernels of the twenty-third set from nature: gauge fields, water, waves in the ground, prices that jump, numbers, circles, currents, arrivals.
#include <cuda_runtime.h>

#define KERNEL(THREADS) extern "C" __global__ void __launch_bounds__(THREADS)
#define ALL 0xffffffffu

__device__ __forceinline__ float2 times(float2 a, float2 b, float2 sum) { return make_float2(sum.x + a.x * b.x - a.y * b.y, sum.y + a.x * b.y + a.y * b.x); }
// The complex conjugate of a by b.
__device__ __forceinline__ float2 mirrored(float2 a, float2 b, float2 sum) { return make_float2(sum.x + a.x * b.x + a.y * b.y, sum.y + a.x * b.y - a.y * b.x); }
// Staggered fermions on a lattice of side^3 by times: each site's eight neighbours, turned by links that are matrices of three by three; components
// lie in planes.
KERNEL(128) staggered(const float2 *__restrict__ links, const float2 *__restrict__ from, float2 *to, int side, int sites) {
    const int site = blockIdx.x * 128 + threadIdx.x;
    if (site >= sites) return;
    const int x = site % side, y = site / side % side, z = site / (side * side) % side, volume = side * side * side, late = sites / volume;
    const int place[4] = {x, y, z, site / volume}, size[4] = {side, side, side, late}, stride[4] = {1, side, side * side, volume};
    float2 sum[3] = {};
    int odd = 0;
    #pragma unroll
    for (int mu = 0; mu < 4; ++mu) {
        const float sign = odd & 1 ? -0.5f : 0.5f;
        odd += place[mu];
        const int ahead = place[mu] + 1 < size[mu] ? site + stride[mu] : site - (size[mu] - 1) * stride[mu];
        const int behind = place[mu] > 0 ? site - stride[mu] : site + (size[mu] - 1) * stride[mu];
        float2 v[3], w[3], part[3] = {};
        #pragma unroll
        for (int c = 0; c < 3; ++c) v[c] = __ldg(from + (size_t)c * sites + ahead), w[c] = __ldg(from + (size_t)c * sites + behind);
        #pragma unroll
        for (int r = 0; r < 3; ++r)
            #pragma unroll
            for (int c = 0; c < 3; ++c) {
                part[r] = times(__ldg(links + (size_t)(mu * 9 + r * 3 + c) * sites + site), v[c], part[r]);
                const float2 back = mirrored(__ldg(links + (size_t)(mu * 9 + c * 3 + r) * sites + behind), w[c], make_float2(0.0f, 0.0f));
                part[r].x -= back.x, part[r].y -= back.y;
            }
        #pragma unroll
        for (int r = 0; r < 3; ++r) sum[r].x += sign * part[r].x, sum[r].y += sign * part[r].y;
    }
    #pragma unroll
    for (int r = 0; r < 3; ++r) to[(size_t)r * sites + site] = sum[r];
}

// Water stays stiff (SHAKE): three bonds of a molecule are mended in turn until all are right, at most forty times; a thread a molecule, whose nine
// coordinates follow each other.
KERNEL(128) shaken_water(const float4 *__restrict__ turns, const float *__restrict__ moves, float *to, int *rounds, float move) {
    const int t = threadIdx.x, molecule = blockIdx.x * 128 + t;
    const float4 q = turns[molecule];
    const float unit = rsqrtf(q.x * q.x + q.y * q.y + q.z * q.z + q.w * q.w + 1e-6f), a = q.x * unit, b = q.y * unit, c = q.z * unit, d = q.w * unit;
    const float flat[3][2] = {{0.0f, 0.0f}, {0.9572f, 0.0f}, {-0.24f, 0.9266f}};
    float old[3][3], now[3][3];
    #pragma unroll
    for (int i = 0; i < 3; ++i) {
        const float x = flat[i][0], y = flat[i][1];
        old[i][0] = (1.0f - 2.0f * (c * c + d * d)) * x + 2.0f * (b * c - a * d) * y;
        old[i][1] = 2.0f * (b * c + a * d) * x + (1.0f - 2.0f * (b * b + d * d)) * y;
        old[i][2] = 2.0f * (b * d - a * c) * x + 2.0f * (c * d + a * b) * y;
        #pragma unroll
        for (int e = 0; e < 3; ++e) now[i][e] = old[i][e] + move * moves[(size_t)molecule * 9 + i * 3 + e];
    }
    const float inverse[3] = {1.0f / 15.999f, 1.0f / 1.008f, 1.0f / 1.008f};
    float length[3];
    #pragma unroll
    for (int bond = 0; bond < 3; ++bond) {
        const int i = bond == 2 ? 1 : 0, j = bond == 0 ? 1 : 2;
        const float x = old[i][0] - old[j][0], y = old[i][1] - old[j][1], z = old[i][2] - old[j][2];
        length[bond] = x * x + y * y + z * z;
    }
    int round = 0;
    bool wrong = true;
    while (wrong && round < 40) {
        wrong = false, ++round;
        #pragma unroll
        for (int bond = 0; bond < 3; ++bond) {
            const int i = bond == 2 ? 1 : 0, j = bond == 0 ? 1 : 2;
            const float x = now[i][0] - now[j][0], y = now[i][1] - now[j][1], z = now[i][2] - now[j][2], off = length[bond] - (x * x + y * y + z * z);
            if (fabsf(off) > 2e-5f * length[bond]) {
                const float u = old[i][0] - old[j][0], v = old[i][1] - old[j][1], w = old[i][2] - old[j][2];
                const float pull = off / (2.0f * (inverse[i] + inverse[j]) * (x * u + y * v + z * w));
                now[i][0] += pull * inverse[i] * u, now[i][1] += pull * inverse[i] * v, now[i][2] += pull * inverse[i] * w;
                now[j][0] -= pull * inverse[j] * u, now[j][1] -= pull * inverse[j] * v, now[j][2] -= pull * inverse[j] * w;
                wrong = true;
            }
        }
    }
    #pragma unroll
    for (int i = 0; i < 3; ++i)
        #pragma unroll
        for (int e = 0; e < 3; ++e) to[(size_t)molecule * 9 + i * 3 + e] = now[i][e];
    rounds[molecule] = round;
}

// Stresses of a step of seismic waves in a plane, to the fourth order on staggered grids; two points at each edge stay.
KERNEL(256) elastic(const float *__restrict__ vx, const float *__restrict__ vz, const float *__restrict__ lambda, const float *__restrict__ shear,
                     float *xx, float *zz, float *xz, int width, int height, float step) {
    const int x = blockIdx.x * 32 + threadIdx.x, z = blockIdx.y * 8 + threadIdx.y;
    if (x < 2 || z < 2 || x >= width - 2 || z >= height - 2) return;
    const int at = z * width + x;
    constexpr float near = 9.0f / 8.0f, far = -1.0f / 24.0f;
    const float x_by_x = near * (vx[at] - vx[at - 1]) + far * (vx[at + 1] - vx[at - 2]);
    const float z_by_z = near * (vz[at] - vz[at - width]) + far * (vz[at + width] - vz[at - 2 * width]);
    const float x_by_z = near * (vx[at + width] - vx[at]) + far * (vx[at + 2 * width] - vx[at - width]);
    const float z_by_x = near * (vz[at + 1] - vz[at]) + far * (vz[at + 2] - vz[at - 1]);
    const float l = 1.5f + lambda[at], m = 1.5f + shear[at];
    const float m4 = 4.0f / (1.0f / m + 1.0f / (1.5f + shear[at + 1]) + 1.0f / (1.5f + shear[at + width]) + 1.0f / (1.5f + shear[at + width + 1]));
    xx[at] += step * ((l + 2.0f * m) * x_by_x + l * z_by_z);
    zz[at] += step * ((l + 2.0f * m) * z_by_z + l * x_by_x);
    xz[at] += step * m4 * (x_by_z + z_by_x);
}

// Options on prices that jump (Merton): a path a thread, 32 steps, each with a normal number and as many jumps as Poisson has it; sums by blocks.
KERNEL(256) jumps(float2 *sums, unsigned seed, float rate, float drift, float wide) {
    __shared__ float2 found[8];
    const int t = threadIdx.x;
    unsigned state = (blockIdx.x * 256 + t) * 747796405u + seed;
    const auto uniform = [&]() {
        state = state * 747796405u + 2891336453u;
        unsigned word = ((state >> ((state >> 28) + 4)) ^ state) * 277803737u;
        word ^= word >> 22;
        return ((float)(word >> 8) + 0.5f) * (1.0f / 16777216.0f);
    };
    const float none = __expf(-rate);
    float price = 0.0f;
    for (int step = 0; step < 32; ++step) {
        const float radius = sqrtf(-2.0f * __logf(uniform())), angle = 6.2831853f * uniform();
        price += drift + wide * radius * __cosf(angle);
        int count = 0;
        for (float left = uniform(); left > none; left *= uniform()) ++count;
        for (int k = 0; k < count; ++k) price += -0.02f + 0.08f * (uniform() + uniform() + uniform() - 1.5f);
    }
    const float pay = fmaxf(__expf(price) - 1.0f, 0.0f);
    float2 sum = make_float2(pay, pay * pay);
    #pragma unroll
    for (int offset = 16; offset > 0; offset >>= 1) sum.x += __shfl_xor_sync(ALL, sum.x, offset), sum.y += __shfl_xor_sync(ALL, sum.y, offset);
    if (t % 32 == 0) found[t / 32] = sum;
    __syncthreads();
    if (t == 0) {
        for (int w = 1; w < 8; ++w) sum.x += found[w].x, sum.y += found[w].y;
        sums[blockIdx.x] = sum;
    }
}

// Normal numbers from a counter (Threefry of twenty rounds, two words; then by the square root of a logarithm and an angle), as JAX draws bits.
KERNEL(256) threefry(float4 *normals, unsigned low, unsigned high) {
    const unsigned keys[3] = {low, high, low ^ high ^ 0x1bd11bdau};
    const int turns[8] = {13, 15, 26, 6, 17, 29, 16, 24};
    #pragma unroll 2
    for (int i = 0; i < 4; ++i) {
        const unsigned at = (blockIdx.x * 4 + i) * 256 + threadIdx.x;
        float four[4];
        #pragma unroll
        for (int part = 0; part < 2; ++part) {
            unsigned x = at * 2 + part + keys[0], y = keys[1];
            #pragma unroll
            for (int round = 0; round < 20; ++round) {
                x += y, y = __funnelshift_l(y, y, turns[round % 8]) ^ x;
                if (round % 4 == 3) x += keys[(round / 4 + 1) % 3], y += keys[(round / 4 + 2) % 3] + round / 4 + 1;
            }
            const float radius = sqrtf(-2.0f * __logf(((float)(x >> 8) + 0.5f) * (1.0f / 16777216.0f)));
            float sine, cosine;
            __sincosf((float)(int)y * (3.14159265f / 2147483648.0f), &sine, &cosine);
            four[part * 2] = radius * cosine, four[part * 2 + 1] = radius * sine;
        }
        normals[at] = make_float4(four[0], four[1], four[2], four[3]);
    }
}

// Whether the fourth point lies in the circle through three, edges of a net of triangles: floats tell, and doubles where floats can not.
KERNEL(256) in_circle(const float2 *__restrict__ points, const uint4 *__restrict__ corners, unsigned char *inside, unsigned mask) {
    const size_t at = (size_t)blockIdx.x * 256 + threadIdx.x;
    const uint4 which = corners[at];
    const float2 d = __ldg(points + (which.w & mask));
    const unsigned names[3] = {which.x, which.y, which.z};
    float x[3], y[3], s[3];
    #pragma unroll
    for (int i = 0; i < 3; ++i) {
        // Others lie near, as in a net.
        const float2 p = __ldg(points + (names[i] & mask));
        x[i] = 0.01f * (p.x - d.x), y[i] = 0.01f * (p.y - d.y), s[i] = x[i] * x[i] + y[i] * y[i];
    }
    const float a = x[0] * y[1] - x[1] * y[0], b = x[1] * y[2] - x[2] * y[1], c = x[2] * y[0] - x[0] * y[2];
    const float side = a + b + c, determinant = s[2] * a + s[0] * b + s[1] * c;
    const float bound = 2e-2f * (s[2] * fabsf(a) + s[0] * fabsf(b) + s[1] * fabsf(c));
    bool in = determinant * side > 0.0f;
    if (fabsf(determinant) <= bound) {
        double u[3], v[3], w[3];
        #pragma unroll
        for (int i = 0; i < 3; ++i) u[i] = x[i], v[i] = y[i], w[i] = u[i] * u[i] + v[i] * v[i];
        const double p = u[0] * v[1] - u[1] * v[0], q = u[1] * v[2] - u[2] * v[1], r = u[2] * v[0] - u[0] * v[2];
        in = (w[2] * p + w[0] * q + w[1] * r) * (p + q + r) > 0.0;
    }
    inside[at] = in;
}

// The magnetic field of a coil of straight pieces at points (Biot and Savart): a point a thread, 128 pieces at a time in shared memory.
KERNEL(128) currents(const float *__restrict__ points, const float4 *__restrict__ ends, float *field, int pieces) {
    __shared__ float4 held[129];
    const int t = threadIdx.x, point = blockIdx.x * 128 + t, count = gridDim.x * 128;
    const float px = points[point], py = points[count + point], pz = points[2 * count + point];
    float bx = 0.0f, by = 0.0f, bz = 0.0f;
    for (int first = 0; first < pieces; first += 128) {
        __syncthreads();
        held[t] = ends[first + t];
        if (t == 0) held[128] = ends[first + 128];
        __syncthreads();
        float4 e = held[0];
        float ax = e.x - px, ay = e.y - py, az = e.z - pz, away = sqrtf(ax * ax + ay * ay + az * az + 1e-6f);
        #pragma unroll 4
        for (int i = 0; i < 128; ++i) {
            const float amperes = e.w;
            e = held[i + 1];
            const float cx = e.x - px, cy = e.y - py, cz = e.z - pz, far = sqrtf(cx * cx + cy * cy + cz * cz + 1e-6f);
            const float both = away * far, share = __fdividef(amperes * (away + far), both * (both + ax * cx + ay * cy + az * cz) + 1e-6f);
            bx += share * (ay * cz - az * cy), by += share * (az * cx - ax * cz), bz += share * (ax * cy - ay * cx);
            ax = cx, ay = cy, az = cz, away = far;
        }
    }
    field[point] = bx, field[count + point] = by, field[2 * count + point] = bz;
}

// When a front arrives (eikonal equation, fast iterations): a tile of 32 by 32 is mended sixteen times in shared memory, its edge is the neighbours'.
KERNEL(256) eikonal(const float *__restrict__ slowness, const float *__restrict__ times, float *to, int width) {
    __shared__ float held[34][34];
    const int tx = threadIdx.x, ty = threadIdx.y, x = blockIdx.x * 32 + tx, y = blockIdx.y * 32 + ty, pitch = width + 2;
    for (int i = ty * 32 + tx; i < 34 * 34; i += 256)
        held[i / 34][i % 34] = 8.0f + 8.0f * times[(size_t)(blockIdx.y * 32 + i / 34) * pitch + blockIdx.x * 32 + i % 34];
    float slow[4], now[4];
    #pragma unroll
    for (int r = 0; r < 4; ++r) slow[r] = 0.3f + 0.2f * slowness[(size_t)(y + r * 8) * width + x];
    for (int round = 0; round < 16; ++round) {
        __syncthreads();
        #pragma unroll
        for (int r = 0; r < 4; ++r) {
            const int j = ty + r * 8 + 1, i = tx + 1;
            const float a = fminf(held[j][i - 1], held[j][i + 1]), b = fminf(held[j - 1][i], held[j + 1][i]), apart = fabsf(a - b), s = slow[r];
            const float one = fminf(a, b) + s, two = 0.5f * (a + b + sqrtf(fmaxf(2.0f * s * s - apart * apart, 0.0f)));
            now[r] = fminf(held[j][i], apart >= s ? one : two);
        }
        __syncthreads();
        #pragma unroll
        for (int r = 0; r < 4; ++r) held[ty + r * 8 + 1][tx + 1] = now[r];
    }
    #pragma unroll
    for (int r = 0; r < 4; ++r) to[(size_t)(y + r * 8) * width + x] = now[r];
}
