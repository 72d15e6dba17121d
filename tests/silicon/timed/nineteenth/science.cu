// Kernels of the nineteenth set from science and geometry: fluxes, metals, multipoles, the earth, equations, rays and polygons.
#define KERNEL(THREADS) extern "C" __global__ void __launch_bounds__(THREADS)

// The fluxes of a scalar along x by WENO of the fifth order, in doubles, and their difference: a thread a cell, the wind either way.
__device__ __forceinline__ double weno(double a, double b, double c, double d, double e) {
    const double left = a - 2.0 * b + c, middle = b - 2.0 * c + d, right = c - 2.0 * d + e;
    const double l = a - 4.0 * b + 3.0 * c, m = b - d, r = 3.0 * c - 4.0 * d + e;
    const double bl = 13.0 / 12.0 * left * left + 0.25 * l * l + 1e-6, bm = 13.0 / 12.0 * middle * middle + 0.25 * m * m + 1e-6;
    const double br = 13.0 / 12.0 * right * right + 0.25 * r * r + 1e-6;
    const double wl = 0.1 / (bl * bl), wm = 0.6 / (bm * bm), wr = 0.3 / (br * br);
    const double pl = (2.0 * a - 7.0 * b + 11.0 * c) / 6.0, pm = (-b + 5.0 * c + 2.0 * d) / 6.0, pr = (2.0 * c + 5.0 * d - e) / 6.0;
    return (wl * pl + wm * pm + wr * pr) / (wl + wm + wr);
}
KERNEL(128) weno_fluxes(const double *field, const double *wind, double *out, int width, double step) {
    const int x = blockIdx.x * 128 + threadIdx.x;
    const size_t row = (size_t)blockIdx.y * width;
    double f[7];
    #pragma unroll
    for (int k = 0; k < 7; ++k) f[k] = field[row + (x + k - 3 + width) % width];
    const double u = wind[row + x];
    double before, after;
    if (u > 0.0) before = weno(f[0], f[1], f[2], f[3], f[4]), after = weno(f[1], f[2], f[3], f[4], f[5]);
    else before = weno(f[5], f[4], f[3], f[2], f[1]), after = weno(f[6], f[5], f[4], f[3], f[2]);
    out[row + x] = f[3] - step * u * (after - before);
}

// Densities at the atoms of a metal (embedded atoms), and their energies, from tables of splines: 48 neighbours an atom, of which
// some lie beyond the cutoff.
KERNEL(128) embedded_atoms(const float4 *atoms, const unsigned *neighbours, const float4 *density, const float4 *pair, float *energies,
                           float *densities, int count, float cutoff) {
    const int i = blockIdx.x * 128 + threadIdx.x;
    const float4 own = atoms[i];
    const float scale = 1023.0f / cutoff;
    float rho = 0.0f, energy = 0.0f;
    for (int k = 0; k < 48; ++k) {
        int j = i + (int)(neighbours[(size_t)k * count + i] % 2048u) - 1024;
        j = j < 0 ? j + count : j >= count ? j - count : j;
        const float4 other = atoms[j];
        float x = own.x - other.x, y = own.y - other.y, z = own.z - other.z;
        x -= 2.0f * rintf(0.5f * x), y -= 2.0f * rintf(0.5f * y), z -= 2.0f * rintf(0.5f * z);
        const float square = x * x + y * y + z * z;
        if (square < cutoff * cutoff) {
            const float place = sqrtf(square) * scale;
            const int n = (int)place;
            const float p = place - (float)n;
            const float4 a = density[n], b = pair[n];
            rho += ((a.x * p + a.y) * p + a.z) * p + a.w;
            energy += ((b.x * p + b.y) * p + b.z) * p + b.w;
        }
    }
    energies[i] = 0.5f * energy - sqrtf(fabsf(rho));
    densities[i] = rho;
}

// Multipoles of the boxes around, as local expansions (the fast multipole method in the plane): ten complex terms in doubles, from
// the boxes of seven by seven but the nearest nine. A thread a box.
constexpr double ways(int l, int k) {  // l + k over k, below zero for even k
    double c = 1.0;
    for (int j = 1; j <= k; ++j) c = c * (l + j) / j;
    return k % 2 ? c : -c;
}
struct Table {
    double of[10][10];
    constexpr Table() : of() {
        for (int l = 0; l < 10; ++l)
            for (int k = 0; k < 10; ++k) of[l][k] = ways(l, k);
    }
};
KERNEL(64) multipoles(const double2 *moments, double2 *locals, int width, int height) {
    constexpr Table choose;
    const int x = blockIdx.x * 64 + threadIdx.x, y = blockIdx.y;
    const int boxes = width * height;
    double re[10] = {}, im[10] = {};
    for (int dy = -3; dy <= 3; ++dy)
        for (int dx = -3; dx <= 3; ++dx) {
            if (abs(dx) <= 1 && abs(dy) <= 1) continue;
            const int from = (y + dy + height) % height * width + (x + dx + width) % width;
            const double norm = 1.0 / (double)(dx * dx + dy * dy), ir = dx * norm, ii = -dy * norm;
            double ar[10], ai[10], pr = ir, pi = ii;
            #pragma unroll
            for (int k = 0; k < 10; ++k) {
                const double2 m = moments[(size_t)k * boxes + from];
                ar[k] = m.x * pr - m.y * pi, ai[k] = m.x * pi + m.y * pr;
                const double next = pr * ir - pi * ii;
                pi = pr * ii + pi * ir, pr = next;
            }
            pr = 1.0, pi = 0.0;
            #pragma unroll
            for (int l = 0; l < 10; ++l) {
                double sr = 0.0, si = 0.0;
                #pragma unroll
                for (int k = 0; k < 10; ++k) sr += choose.of[l][k] * ar[k], si += choose.of[l][k] * ai[k];
                re[l] += sr * pr - si * pi, im[l] += sr * pi + si * pr;
                const double next = pr * ir - pi * ii;
                pi = pr * ii + pi * ir, pr = next;
            }
        }
    #pragma unroll
    for (int l = 0; l < 10; ++l) locals[(size_t)l * boxes + y * width + x] = make_double2(re[l], im[l]);
}

// How far two places on the earth's ellipsoid are apart (Vincenty), in doubles, until the longitude stands still: a thread a pair.
KERNEL(128) vincenty(const double *north, const double *east, double *metres, int pairs) {
    const int i = blockIdx.x * 128 + threadIdx.x;
    const double a = 6378137.0, f = 1.0 / 298.257223563, b = a * (1.0 - f);
    double s1, c1, s2, c2;
    sincos(atan((1.0 - f) * tan(north[i] * 1.5)), &s1, &c1);
    sincos(atan((1.0 - f) * tan(north[i + pairs] * 1.5)), &s2, &c2);
    const double wanted = (east[i] - east[i + pairs]) * 1.4;
    double lambda = wanted, sigma = 0.0, sin_sigma = 0.0, cos_sigma = 1.0, square = 1.0, middle = 0.0;
    for (int step = 0; step < 50; ++step) {
        double s, c;
        sincos(lambda, &s, &c);
        const double p = c2 * s, q = c1 * s2 - s1 * c2 * c;
        sin_sigma = sqrt(p * p + q * q);
        cos_sigma = s1 * s2 + c1 * c2 * c;
        sigma = atan2(sin_sigma, cos_sigma);
        const double alpha = sin_sigma > 0.0 ? c1 * c2 * s / sin_sigma : 0.0;
        square = 1.0 - alpha * alpha;
        middle = square > 1e-12 ? cos_sigma - 2.0 * s1 * s2 / square : 0.0;
        const double k = f / 16.0 * square * (4.0 + f * (4.0 - 3.0 * square)), before = lambda;
        lambda = wanted + (1.0 - k) * f * alpha * (sigma + k * sin_sigma * (middle + k * cos_sigma * (2.0 * middle * middle - 1.0)));
        if (fabs(lambda - before) < 1e-12) break;
    }
    const double u = square * (a * a - b * b) / (b * b);
    const double big = 1.0 + u / 16384.0 * (4096.0 + u * (u * (320.0 - 175.0 * u) - 768.0));
    const double small = u / 1024.0 * (256.0 + u * (u * (74.0 - 47.0 * u) - 128.0)), m2 = middle * middle;
    const double change = small * sin_sigma * (middle + small / 4.0 * (cos_sigma * (2.0 * m2 - 1.0)
        - small / 6.0 * middle * (4.0 * sin_sigma * sin_sigma - 3.0) * (4.0 * m2 - 3.0)));
    metres[i] = b * big * (sigma - change);
}

// Van der Pol's equation by Dormand and Prince, with steps that fit an error: a thread has its own damping and start.
KERNEL(128) dormand_prince(const float *starts, const float *dampings, float *out, int *taken, int count, float end, float tolerance) {
    const int i = blockIdx.x * 128 + threadIdx.x;
    float x = 2.0f * starts[i], v = starts[i + count], time = 0.0f, step = 0.01f;
    const float mu = 2.0f + 2.0f * dampings[i];
    int steps = 0;
    float ax = v, av = mu * (1.0f - x * x) * v - x;
    while (time < end && steps < 400) {
        step = fminf(step, end - time);
        float kx[7], kv[7];
        kx[0] = ax, kv[0] = av;
        const auto rate = [&](int n, float px, float pv) {
            const float nx = x + step * px, nv = v + step * pv;
            kx[n] = nv, kv[n] = mu * (1.0f - nx * nx) * nv - nx;
        };
        rate(1, 0.2f * kx[0], 0.2f * kv[0]);
        rate(2, 0.075f * kx[0] + 0.225f * kx[1], 0.075f * kv[0] + 0.225f * kv[1]);
        rate(3, 0.9777778f * kx[0] - 3.7333333f * kx[1] + 3.5555556f * kx[2], 0.9777778f * kv[0] - 3.7333333f * kv[1] + 3.5555556f * kv[2]);
        rate(4, 2.9525986f * kx[0] - 11.5957933f * kx[1] + 9.8228929f * kx[2] - 0.2908093f * kx[3],
             2.9525986f * kv[0] - 11.5957933f * kv[1] + 9.8228929f * kv[2] - 0.2908093f * kv[3]);
        rate(5, 2.8462753f * kx[0] - 10.7575758f * kx[1] + 8.9064227f * kx[2] + 0.2784091f * kx[3] - 0.2735313f * kx[4],
             2.8462753f * kv[0] - 10.7575758f * kv[1] + 8.9064227f * kv[2] + 0.2784091f * kv[3] - 0.2735313f * kv[4]);
        const float px = 0.0911458f * kx[0] + 0.4492363f * kx[2] + 0.6510417f * kx[3] - 0.3223762f * kx[4] + 0.1309524f * kx[5];
        const float pv = 0.0911458f * kv[0] + 0.4492363f * kv[2] + 0.6510417f * kv[3] - 0.3223762f * kv[4] + 0.1309524f * kv[5];
        rate(6, px, pv);
        const float ex = 0.0012326f * kx[0] - 0.0042528f * kx[2] + 0.0369792f * kx[3] - 0.0508638f * kx[4] + 0.0419048f * kx[5] - 0.025f * kx[6];
        const float ev = 0.0012326f * kv[0] - 0.0042528f * kv[2] + 0.0369792f * kv[3] - 0.0508638f * kv[4] + 0.0419048f * kv[5] - 0.025f * kv[6];
        const float error = step * sqrtf(0.5f * (ex * ex + ev * ev)) / tolerance;
        if (error <= 1.0f) {
            time += step;
            x += step * px, v += step * pv;
            ax = kx[6], av = kv[6];
        }
        step *= fminf(5.0f, fmaxf(0.2f, 0.9f * __powf(error + 1e-10f, -0.2f)));
        ++steps;
    }
    out[i] = x, out[i + count] = v;
    taken[i] = steps;
}

// The first triangle that a ray meets (Moller and Trumbore): triangles come through shared memory, 128 at a time. A thread a ray.
KERNEL(128) first_triangle(const float *rays, const float *corners, float *depths, int *hits, int triangles) {
    __shared__ __align__(16) float4 a[128], b[128], c[128];
    const int t = threadIdx.x, i = blockIdx.x * 128 + t, count = gridDim.x * 128;
    const float ox = rays[i], oy = rays[i + count], oz = -2.0f, dx = 0.3f * rays[i + 2 * count], dy = 0.3f * rays[i + 3 * count], dz = 1.0f;
    float nearest = 1e30f;
    int hit = -1;
    for (int base = 0; base < triangles; base += 128) {
        __syncthreads();
        const float *from = corners + (size_t)(base + t) * 9;
        const float x = from[0], y = from[1], z = from[2];
        a[t] = make_float4(x, y, z, 0.0f);
        b[t] = make_float4(0.4f * from[3], 0.4f * from[4], 0.4f * from[5], 0.0f);
        c[t] = make_float4(0.4f * from[6], 0.4f * from[7], 0.4f * from[8], 0.0f);
        __syncthreads();
        #pragma unroll 4
        for (int k = 0; k < 128; ++k) {
            const float4 v = a[k], e = b[k], f = c[k];
            const float px = dy * f.z - dz * f.y, py = dz * f.x - dx * f.z, pz = dx * f.y - dy * f.x;
            const float det = e.x * px + e.y * py + e.z * pz;
            if (fabsf(det) < 1e-7f) continue;
            const float inverse = __fdividef(1.0f, det), tx = ox - v.x, ty = oy - v.y, tz = oz - v.z;
            const float u = (tx * px + ty * py + tz * pz) * inverse;
            if (u < 0.0f || u > 1.0f) continue;
            const float qx = ty * e.z - tz * e.y, qy = tz * e.x - tx * e.z, qz = tx * e.y - ty * e.x;
            const float w = (dx * qx + dy * qy + dz * qz) * inverse;
            if (w < 0.0f || u + w > 1.0f) continue;
            const float depth = (f.x * qx + f.y * qy + f.z * qz) * inverse;
            if (depth > 0.0f && depth < nearest) nearest = depth, hit = base + k;
        }
    }
    depths[i] = nearest;
    hits[i] = hit;
}

// Which points lie inside a polygon, and how far from its edge: the polygon's corners in shared memory, a thread a point.
KERNEL(256) in_polygon(const float2 *points, const float *radii, float *out, int corners) {
    __shared__ float2 ring[513];
    const int t = threadIdx.x, i = blockIdx.x * 256 + t;
    for (int k = t; k <= corners; k += 256) {
        float s, c;
        sincospif(2.0f * (float)(k % corners) / (float)corners, &s, &c);
        const float r = 0.8f + 0.15f * radii[k % corners];
        ring[k] = make_float2(r * c, r * s);
    }
    __syncthreads();
    const float2 p = points[i];
    float2 from = ring[0];
    float least = 1e30f;
    bool inside = false;
    #pragma unroll 4
    for (int k = 1; k <= corners; ++k) {
        const float2 to = ring[k];
        const float ex = to.x - from.x, ey = to.y - from.y, wx = p.x - from.x, wy = p.y - from.y;
        const float along = __saturatef((wx * ex + wy * ey) / (ex * ex + ey * ey)), bx = wx - ex * along, by = wy - ey * along;
        least = fminf(least, bx * bx + by * by);
        const float side = ex * wy - ey * wx;
        if (from.y <= p.y ? to.y > p.y && side > 0.0f : to.y <= p.y && side < 0.0f) inside = !inside;
        from = to;
    }
    out[i] = inside ? -sqrtf(least) : sqrtf(least);
}

// Colours of splats, seen from a camera, by spherical harmonics of the third degree: sixteen threes of numbers a splat.
KERNEL(256) harmonics(const float3 *places, const float3 *terms, float3 *colours, float cx, float cy, float cz) {
    const int i = blockIdx.x * 256 + threadIdx.x;
    const float3 place = places[i], *own = terms + (size_t)i * 16;
    float x = place.x - cx, y = place.y - cy, z = place.z - cz;
    const float scale = rsqrtf(x * x + y * y + z * z);
    x *= scale, y *= scale, z *= scale;
    const float xx = x * x, yy = y * y, zz = z * z, xy = x * y, yz = y * z, xz = x * z;
    const float basis[16] = {
        0.28209479f, -0.48860251f * y, 0.48860251f * z, -0.48860251f * x, 1.09254843f * xy, -1.09254843f * yz,
        0.31539157f * (2.0f * zz - xx - yy), -1.09254843f * xz, 0.54627422f * (xx - yy), -0.59004359f * y * (3.0f * xx - yy),
        2.89061144f * xy * z, -0.45704580f * y * (4.0f * zz - xx - yy), 0.37317633f * z * (2.0f * zz - 3.0f * xx - 3.0f * yy),
        -0.45704580f * x * (4.0f * zz - xx - yy), 1.44530572f * z * (xx - yy), -0.59004359f * x * (xx - 3.0f * yy)};
    float r = 0.5f, g = 0.5f, b = 0.5f;
    #pragma unroll
    for (int k = 0; k < 16; ++k) {
        const float3 term = own[k];
        r += basis[k] * term.x, g += basis[k] * term.y, b += basis[k] * term.z;
    }
    colours[i] = make_float3(fmaxf(r, 0.0f), fmaxf(g, 0.0f), fmaxf(b, 0.0f));
}

// A stiffness matrix that is nowhere kept, by a vector: tetrahedra of four nodes, in doubles, added to the nodes by atomics.
KERNEL(128) tetrahedra(const unsigned *nodes, const double *places, const double *vector, double *out, int elements, int count) {
    const int i = blockIdx.x * 128 + threadIdx.x;
    int n[4];
    double p[4][3], u[4];
    const int base = (int)((long long)i * count / elements);
    #pragma unroll
    for (int k = 0; k < 4; ++k) {
        n[k] = (base + (int)(nodes[(size_t)k * elements + i] % 512u)) % count;
        u[k] = vector[n[k]];
        #pragma unroll
        for (int d = 0; d < 3; ++d) p[k][d] = places[(size_t)d * count + n[k]];
    }
    double e[3][3], g[4][3];
    #pragma unroll
    for (int k = 0; k < 3; ++k)
        #pragma unroll
        for (int d = 0; d < 3; ++d) e[k][d] = p[k + 1][d] - p[0][d];
    #pragma unroll
    for (int k = 0; k < 3; ++k) {
        const int a = (k + 1) % 3, b = (k + 2) % 3;
        #pragma unroll
        for (int d = 0; d < 3; ++d) g[k + 1][d] = e[a][(d + 1) % 3] * e[b][(d + 2) % 3] - e[a][(d + 2) % 3] * e[b][(d + 1) % 3];
    }
    const double volume = e[0][0] * g[1][0] + e[0][1] * g[1][1] + e[0][2] * g[1][2];
    double flow[3];
    #pragma unroll
    for (int d = 0; d < 3; ++d) {
        g[0][d] = -(g[1][d] + g[2][d] + g[3][d]);
        flow[d] = g[0][d] * u[0] + g[1][d] * u[1] + g[2][d] * u[2] + g[3][d] * u[3];
    }
    const double scale = 1.0 / (6.0 * (fabs(volume) + 1e-3));
    #pragma unroll
    for (int k = 0; k < 4; ++k) atomicAdd(out + n[k], scale * (g[k][0] * flow[0] + g[k][1] * flow[1] + g[k][2] * flow[2]));
}
