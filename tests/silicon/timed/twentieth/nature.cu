// Kernels of the twentieth set over nature: neurons, reactions, spectra, molecules, genes, light, implicit steps and integrals.
#define KERNEL(THREADS) extern "C" __global__ void __launch_bounds__(THREADS)
#define ALL 0xffffffffu

// Neurons by Hodgkin and Huxley: a voltage and three gates each, which approach their limits by exponentials. A thread to a neuron.
KERNEL(256) neurons(const float *currents, float *voltages, float *gates, int count, int steps, float dt) {
    const int i = blockIdx.x * 256 + threadIdx.x;
    const float current = 10.0f + 5.0f * currents[i];
    float v = -65.0f, m = 0.05f, h = 0.6f, n = 0.32f;
    for (int step = 0; step < steps; ++step) {
        const float x = v + 40.0f, y = v + 55.0f;
        const float am = fabsf(x) < 1e-4f ? 1.0f : 0.1f * x / (1.0f - __expf(-0.1f * x)), bm = 4.0f * __expf(-(v + 65.0f) * (1.0f / 18.0f));
        const float ah = 0.07f * __expf(-0.05f * (v + 65.0f)), bh = 1.0f / (1.0f + __expf(-0.1f * (v + 35.0f)));
        const float an = fabsf(y) < 1e-4f ? 0.1f : 0.01f * y / (1.0f - __expf(-0.1f * y)), bn = 0.125f * __expf(-0.0125f * (v + 65.0f));
        const float sm = am + bm, sh = ah + bh, sn = an + bn;
        m = am / sm + (m - am / sm) * __expf(-dt * sm);
        h = ah / sh + (h - ah / sh) * __expf(-dt * sh);
        n = an / sn + (n - an / sn) * __expf(-dt * sn);
        const float sodium = 120.0f * m * m * m * h, potassium = 36.0f * n * n * n * n;
        v += dt * (current - sodium * (v - 50.0f) - potassium * (v + 77.0f) - 0.3f * (v + 54.387f));
    }
    voltages[i] = v;
    gates[i] = m, gates[count + i] = h, gates[2 * count + i] = n;
}

// Three substances that react at very different speeds (Robertson), by two-stage steps of Rosenbrock's method in doubles: each step
// factors a matrix of three by three. A thread to a cell.
KERNEL(128) stiff(const float *given, double *out, int cells, int steps, double dt) {
    const int i = blockIdx.x * 128 + threadIdx.x;
    const double r1 = 0.04, r2 = 1e4, r3 = 3e7, gamma = 1.0 + 0.70710678118654752440;
    double a = 0.75 + 0.25 * given[i], b = 1e-5, c = 1.0 - a;
    for (int step = 0; step < steps; ++step) {
        const double g = gamma * dt;
        const double j01 = -g * r2 * c, j02 = -g * r2 * b, j10 = -g * r1, j11 = 1.0 + g * (r2 * c + 2.0 * r3 * b), j12 = g * r2 * b;
        const double j00 = 1.0 + g * r1, j21 = -g * 2.0 * r3 * b;
        const double i0 = 1.0 / j00, l1 = j10 * i0, u11 = j11 - l1 * j01, u12 = j12 - l1 * j02, i1 = 1.0 / u11, l2 = j21 * i1, i2 = 1.0 / (1.0 - l2 * u12);
        const auto solved = [&](double &x, double &y, double &z) {
            y -= l1 * x;
            z = (z - l2 * y) * i2;
            y = (y - u12 * z) * i1;
            x = (x - j01 * y - j02 * z) * i0;
        };
        double k0 = -r1 * a + r2 * b * c, k2 = r3 * b * b, k1 = -k0 - k2;
        solved(k0, k1, k2);
        const double p = a + dt * k0, q = b + dt * k1, r = c + dt * k2;
        double m0 = -r1 * p + r2 * q * r, m2 = r3 * q * q, m1 = -m0 - m2;
        m0 -= 2.0 * k0, m1 -= 2.0 * k1, m2 -= 2.0 * k2;
        solved(m0, m1, m2);
        a += dt * (1.5 * k0 + 0.5 * m0), b += dt * (1.5 * k1 + 0.5 * m1), c += dt * (1.5 * k2 + 0.5 * m2);
    }
    out[i] = a, out[cells + i] = b, out[2 * cells + i] = c;
}

// How much a gas absorbs at each wave number: all lines of a tile by Voigt's profile, whose complex error function is a quotient of
// polynomials (Hui, Armstrong and Wray). A thread to a wave number; 128 lines at a time lie in shared memory.
KERNEL(256) spectral_lines(const float *centres, const float *widths, const float *strengths, float *out, int lines, float first, float apart) {
    __shared__ float4 held[128];
    const int i = blockIdx.x * 256 + threadIdx.x;
    const float wave = first + apart * (float)i;
    float sum = 0.0f;
    for (int begin = 0; begin < lines; begin += 128) {
        if (threadIdx.x < 128) {
            const int line = begin + threadIdx.x;
            held[threadIdx.x] = make_float4(16.0f * centres[line], 1.0f + 0.3f * widths[line], 0.7f + 0.5f * widths[line], 1.0f + strengths[line]);
        }
        __syncthreads();
        for (int k = 0; k < 128; ++k) {
            const float4 line = held[k];
            const float x = fabsf(wave - line.x) * line.y, y = line.z;  // w(z) at t = y - i x
            const float a[7] = {122.607931777104326f, 214.382388694706425f, 181.928533092181549f, 93.155580458138441f,
                                30.180142196210589f, 5.912626209773153f, 0.564189583562615f};
            const float b[7] = {122.607931773875350f, 352.730625110963558f, 457.334478783897737f, 348.703917719495792f,
                                170.354001821091472f, 53.992906912940207f, 10.479857114260399f};
            float pr = a[6], pi = 0.0f, qr = y + b[6], qi = -x;
            #pragma unroll
            for (int d = 5; d >= 0; --d) {
                const float r = pr * y + pi * x + a[d];
                pi = pi * y - pr * x, pr = r;
                const float s = qr * y + qi * x + b[d];
                qi = qi * y - qr * x, qr = s;
            }
            sum += line.w * __fdividef(pr * qr + pi * qi, qr * qr + qi * qi);
        }
        __syncthreads();
    }
    out[i] = sum;
}

// How far a shape of 256 atoms is from another when one is turned as well as can be: nine products summed by a block, and the largest
// root of a polynomial of degree four by Newton (quaternions' characteristic polynomial).
KERNEL(128) superposed(const float *shapes, const float *other, float *out) {
    __shared__ float held[4][17];
    const int t = threadIdx.x, lane = t % 32, warp = t / 32;
    const float *own = shapes + (size_t)blockIdx.x * 768;
    float sums[17] = {};  // products, squares, sums of one and of the other
    #pragma unroll
    for (int k = 0; k < 2; ++k) {
        const int i = k * 128 + t;
        const float a[3] = {own[i], own[256 + i], own[512 + i]}, b[3] = {other[i], other[256 + i], other[512 + i]};
        #pragma unroll
        for (int r = 0; r < 3; ++r) {
            #pragma unroll
            for (int c = 0; c < 3; ++c) sums[r * 3 + c] += a[r] * b[c];
            sums[9] += a[r] * a[r], sums[10] += b[r] * b[r], sums[11 + r] += a[r], sums[14 + r] += b[r];
        }
    }
    #pragma unroll
    for (int s = 0; s < 17; ++s) {
        #pragma unroll
        for (int offset = 16; offset > 0; offset >>= 1) sums[s] += __shfl_xor_sync(ALL, sums[s], offset);
        if (lane == 0) held[warp][s] = sums[s];
    }
    __syncthreads();
    if (t) return;
    double s[17];
    for (int k = 0; k < 17; ++k) s[k] = (double)held[0][k] + held[1][k] + held[2][k] + held[3][k];
    double m[9], squares = s[9] + s[10];
    for (int r = 0; r < 3; ++r) {
        squares -= (s[11 + r] * s[11 + r] + s[14 + r] * s[14 + r]) / 256.0;
        for (int c = 0; c < 3; ++c) m[r * 3 + c] = s[r * 3 + c] - s[11 + r] * s[14 + c] / 256.0;
    }
    const double sxx = m[0], sxy = m[1], sxz = m[2], syx = m[3], syy = m[4], syz = m[5], szx = m[6], szy = m[7], szz = m[8];
    const double k00 = sxx + syy + szz, k01 = syz - szy, k02 = szx - sxz, k03 = sxy - syx, k11 = sxx - syy - szz;
    const double k12 = sxy + syx, k13 = szx + sxz, k22 = -sxx + syy - szz, k23 = syz + szy, k33 = -sxx - syy + szz;
    double c2 = 0.0;
    for (int k = 0; k < 9; ++k) c2 -= 2.0 * m[k] * m[k];
    const double c1 = 8.0 * (sxx * syz * szy + syy * szx * sxz + szz * sxy * syx - sxx * syy * szz - syz * szx * sxy - szy * syx * sxz);
    const double a = k22 * k33 - k23 * k23, b = k12 * k33 - k13 * k23, c = k12 * k23 - k13 * k22;
    const double d = k02 * k33 - k03 * k23, e = k02 * k23 - k03 * k22, f = k02 * k13 - k03 * k12;
    const double c0 = k00 * (k11 * a - k12 * b + k13 * c) - k01 * (k01 * a - k12 * d + k13 * e) + k02 * (k01 * b - k11 * d + k13 * f)
                      - k03 * (k01 * c - k11 * e + k12 * f);
    double root = 0.5 * squares;
    for (int step = 0; step < 24; ++step) {
        const double x = root * root, p = x * x + c2 * x + c1 * root + c0, slope = 4.0 * x * root + 2.0 * c2 * root + c1;
        const double moved = p / slope;
        root -= moved;
        if (fabs(moved) < 1e-10 * fabs(root)) break;
    }
    out[blockIdx.x] = (float)sqrt(fmax(0.0, (squares - 2.0 * root) / 256.0));
}

// How likely each base is at a node of a tree of species, given both its children (Felsenstein): four rates of change by four bases for
// each place of a genome, in doubles. A thread to a base; matrices lie in shared memory.
KERNEL(256) pruned(const double *left, const double *right, const double *matrices, double *out) {
    __shared__ double held[2][4][4][4];
    const int t = threadIdx.x, base = t % 4, rate = t / 4 % 4;
    if (t < 128) (&held[0][0][0][0])[t] = 0.5 + 0.5 * matrices[t];
    __syncthreads();
    const size_t i = (size_t)blockIdx.x * 256 + t, four = i / 4;
    const double2 a = reinterpret_cast<const double2 *>(left)[four * 2], b = reinterpret_cast<const double2 *>(left)[four * 2 + 1];
    const double2 c = reinterpret_cast<const double2 *>(right)[four * 2], d = reinterpret_cast<const double2 *>(right)[four * 2 + 1];
    const double *p = held[0][rate][base], *q = held[1][rate][base];
    out[i] = (p[0] * a.x + p[1] * a.y + p[2] * b.x + p[3] * b.y) * (q[0] * c.x + q[1] * c.y + q[2] * d.x + q[3] * d.y);
}

// Light that wanders in tissue: a thread to a packet of photons, which leaves a part of itself in a cell of 64 by 64 by 64 wherever it is
// scattered (Henyey and Greenstein), until it goes out or little is left and chance ends it.
KERNEL(128) photons(float *cells, float *left, unsigned seed, float mean_path, float albedo, float g) {
    const unsigned i = blockIdx.x * 128 + threadIdx.x;
    unsigned state = (i + 1u) * 747796405u ^ seed;
    const auto drawn = [&]() {
        state ^= state << 13, state ^= state >> 17, state ^= state << 5;
        return ((float)(state >> 8) + 0.5f) * 0x1p-24f;
    };
    float x = 0.5f, y = 0.5f, z = 0.0f, u = 0.0f, v = 0.0f, w = 1.0f, weight = 1.0f;
    for (int step = 0; step < 400; ++step) {
        const float path = -mean_path * __logf(drawn());
        x += path * u, y += path * v, z += path * w;
        if (x < 0.0f || y < 0.0f || z < 0.0f || x >= 1.0f || y >= 1.0f || z >= 1.0f) break;
        const unsigned cell = ((unsigned)(z * 64.0f) * 64u + (unsigned)(y * 64.0f)) * 64u + (unsigned)(x * 64.0f);
        atomicAdd(cells + cell, weight * (1.0f - albedo));
        weight *= albedo;
        if (weight < 0.01f) {
            if (drawn() > 0.1f) { weight = 0.0f; break; }
            weight *= 10.0f;
        }
        const float part = (1.0f - g * g) / (1.0f - g + 2.0f * g * drawn());
        const float cosine = fminf(1.0f, fmaxf(-1.0f, (1.0f + g * g - part * part) / (2.0f * g))), sine = sqrtf(1.0f - cosine * cosine);
        float sp, cp;
        __sincosf(6.2831853f * drawn(), &sp, &cp);
        if (fabsf(w) > 0.99999f) {
            u = sine * cp, v = sine * sp, w = copysignf(cosine, w);
        } else {
            const float root = sqrtf(1.0f - w * w), inverse = sine / root, a = inverse * (u * w * cp - v * sp) + u * cosine;
            v = inverse * (v * w * cp + u * sp) + v * cosine;
            w = -sine * cp * root + w * cosine, u = a;
        }
    }
    left[i] = weight;
}

// Systems of 96 equations with five diagonals, all with the same matrix (an implicit step of a fourth derivative), factored before: a
// thread to a system, in doubles, whose numbers lie side by side with those of other systems.
KERNEL(128) five_diagonals(const double *right, const double *factors, double *out, int systems) {
    const int i = blockIdx.x * 128 + threadIdx.x;
    double one = 0.0, two = 0.0;
    #pragma unroll 4
    for (int k = 0; k < 96; ++k) {
        const double v = (right[(size_t)k * systems + i] - factors[k] * two - factors[96 + k] * one) * (0.6 + 0.25 * factors[192 + k]);
        out[(size_t)k * systems + i] = v;
        two = one, one = v;
    }
    one = two = 0.0;
    #pragma unroll 4
    for (int k = 95; k >= 0; --k) {
        const double v = out[(size_t)k * systems + i] - 0.4 * factors[288 + k] * one - 0.3 * factors[384 + k] * two;
        out[(size_t)k * systems + i] = v;
        two = one, one = v;
    }
}

// Repulsion of electrons: for each pair of round functions (exponent, weight, centre) the integrals with 64 others by a density, whose
// first of Boys's functions takes an error function in doubles. A thread to a pair.
struct Round { double exponent, x, y, z; };
KERNEL(128) repulsion(const double *exponents, const double *centres, const double *densities, double *out, int pairs) {
    __shared__ Round held[64];
    __shared__ double density[64];
    const int t = threadIdx.x, i = blockIdx.x * 128 + t;
    if (t < 64) {
        held[t] = {1.5 + exponents[t], 2.0 * centres[t], 2.0 * centres[pairs + t], 2.0 * centres[2 * pairs + t]};
        density[t] = densities[t];
    }
    __syncthreads();
    const double p = 1.5 + exponents[i], x = 2.0 * centres[i], y = 2.0 * centres[pairs + i], z = 2.0 * centres[2 * pairs + i];
    double sum = 0.0;
    for (int k = 0; k < 64; ++k) {
        const Round q = held[k];
        const double a = x - q.x, b = y - q.y, c = z - q.z, both = p + q.exponent, t2 = p * q.exponent / both * (a * a + b * b + c * c);
        const double root = sqrt(t2), boys = t2 < 1e-8 ? 1.0 - t2 / 3.0 : 0.88622692545275801365 * erf(root) / root;
        sum += density[k] * boys / (p * q.exponent * sqrt(both));
    }
    out[i] = 34.986836655249725693 * sum;
}
