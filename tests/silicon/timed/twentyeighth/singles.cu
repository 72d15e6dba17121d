// Kernels of the twenty-eighth set over games, numbers, stars, rocks, tables, texts, solids, sounds, functions, pictures, money, birds, cells, ranks and cars.
#include <cuda_runtime.h>

#define KERNEL(THREADS) extern "C" __global__ void __launch_bounds__(THREADS)
#define ALL 0xffffffffu

// How good positions of four in a row are, some moves ahead (negamax, with bounds), boards of 7 by 6 as 64 bits: a thread a position, its stack its own.
__device__ __forceinline__ bool four(unsigned long long b) {
    unsigned long long m = b & b >> 7, all = m & m >> 14;
    m = b & b >> 6, all |= m & m >> 12;
    m = b & b >> 8, all |= m & m >> 16;
    m = b & b >> 1, all |= m & m >> 2;
    return all != 0ull;
}
KERNEL(128) connect_four(const unsigned *__restrict__ games, int *out, int depth) {
    const int own = blockIdx.x * 128 + threadIdx.x;
    unsigned long long mine = 0, both = 0;
    unsigned moves = games[own];
    #pragma unroll 1
    for (int n = 0; n < 10; ++n, moves >>= 3) {
        const int column = (moves & 7u) % 7u;
        const unsigned long long next = both + (1ull << column * 7) & 63ull << column * 7;
        if (next & ~both & 1ull << (column * 7 + 6)) continue;
        mine ^= both, both |= 1ull << column * 7 | next;
    }
    unsigned long long mines[8], boths[8];
    int lows[8], highs[8], columns[8];
    int level = 0;
    mines[0] = mine, boths[0] = both, lows[0] = -1000, highs[0] = 1000, columns[0] = 0;
    #pragma unroll 1
    while (true) {
        if (columns[level] == 7 || lows[level] >= highs[level]) {
            if (level == 0) break;
            --level;
            lows[level] = max(lows[level], -lows[level + 1]);
            continue;
        }
        const int column = columns[level]++;
        const unsigned long long all = boths[level], spot = all + (1ull << column * 7) & 63ull << column * 7, lowest = spot & ~all;
        if (!lowest) continue;
        const unsigned long long stones = mines[level] | lowest;
        int score;
        if (four(stones)) score = 100 - level;
        else if (level + 1 == depth) score = __popcll(stones & 0x7f3e1c3e7full) - __popcll((all ^ mines[level]) & 0x7f3e1c3e7full);
        else {
            ++level;
            mines[level] = all ^ mines[level - 1], boths[level] = all | lowest, columns[level] = 0;
            lows[level] = -highs[level - 1], highs[level] = -lows[level - 1];
            continue;
        }
        lows[level] = max(lows[level], score);
    }
    out[own] = lows[0];
}

// Factors of numbers by walks that meet (Pollard's rho), with remainders of 64 bits: a thread a number, differences gathered before a divisor is sought.
KERNEL(128) rho(const unsigned *__restrict__ numbers, unsigned *out, int rounds) {
    const int own = blockIdx.x * 128 + threadIdx.x;
    const unsigned n = numbers[own] | 0x80000001u;
    unsigned slow = 2u, fast = 2u, gathered = 1u;
    const auto walk = [n](unsigned x) { return (unsigned)(((unsigned long long)x * x + 1ull) % n); };
    #pragma unroll 1
    for (int round = 0; round < rounds; ++round) {
        slow = walk(slow), fast = walk(walk(fast));
        const unsigned apart = slow > fast ? slow - fast : fast - slow;
        gathered = (unsigned)((unsigned long long)gathered * (apart ? apart : 1u) % n);
    }
    unsigned a = n, b = gathered;
    while (b) {
        const unsigned rest = a % b;
        a = b, b = rest;
    }
    out[own] = a;
}

// How strongly a star's light, seen at uneven times, swings at each frequency (Lomb and Scargle): a thread a frequency, sights in shared memory.
KERNEL(128) starlight(const float *__restrict__ times, const float *__restrict__ lights, float *out, float step) {
    __shared__ float2 seen[256];
    const int t = threadIdx.x;
    for (int k = t; k < 256; k += 128) seen[k] = make_float2(times[(blockIdx.x & 63) * 256 + k] * 3.0f, lights[(blockIdx.x & 63) * 256 + k]);
    __syncthreads();
    const float often = step * (float)(blockIdx.x / 64 * 128 + t + 1);
    float s2 = 0.0f, c2 = 0.0f, ys = 0.0f, yc = 0.0f;
    #pragma unroll 4
    for (int k = 0; k < 256; ++k) {
        const float2 v = seen[k];
        float s, c;
        __sincosf(often * v.x, &s, &c);
        ys += v.y * s, yc += v.y * c, s2 += 2.0f * s * c, c2 += c * c - s * s;
    }
    const float shift = 0.5f * atan2f(s2, c2), s = sinf(shift), c = cosf(shift);
    const float even = yc * c + ys * s, odd = ys * c - yc * s, span = sqrtf(s2 * s2 + c2 * c2);
    out[(size_t)blockIdx.x * 128 + t] = even * even / (128.0f + span * 0.5f) + odd * odd / (128.5f - span * 0.5f);
}

// Whether water gets through rock of 64 by 64 pores from top to bottom: open neighbours joined as trees in shared memory, by atomics.
KERNEL(256) seeping(const unsigned char *__restrict__ rock, unsigned *out) {
    __shared__ int labels[4096];
    __shared__ unsigned through;
    const int t = threadIdx.x;
    if (t == 0) through = 0u;
    #pragma unroll 4
    for (int k = t; k < 4096; k += 256) labels[k] = rock[(size_t)blockIdx.x * 4096 + k] < 150 ? k : 1 << 20;
    __syncthreads();
    const auto find = [&](int k) {
        int up = *(volatile int *)(labels + k);
        while (up != k) k = up, up = *(volatile int *)(labels + k);
        return k;
    };
    const auto join = [&](int a, int b) {
        while (true) {
            a = find(a), b = find(b);
            if (a == b) return;
            const int high = max(a, b), low = min(a, b);
            const int held = atomicMin(labels + high, low);
            if (held == high) return;
            a = held, b = low;
        }
    };
    #pragma unroll 1
    for (int k = t; k < 4096; k += 256) {
        if (labels[k] == 1 << 20) continue;
        if (k % 64 && labels[k - 1] != 1 << 20) join(k, k - 1);
        if (k >= 64 && labels[k - 64] != 1 << 20) join(k, k - 64);
    }
    __syncthreads();
    if (t < 64 && labels[4032 + t] != 1 << 20 && find(4032 + t) < 64) atomicAdd(&through, 1u);
    __syncthreads();
    if (t == 0) out[blockIdx.x] = through;
}

// How unlike ore is at places ever farther apart (a variogram): 256 samples a block, all pairs, sums by distance in shared memory by atomics.
KERNEL(256) variogram(const float *__restrict__ samples, unsigned *out) {
    __shared__ float xs[256], ys[256], ores[256];
    __shared__ unsigned counts[32], sums[32];
    const int t = threadIdx.x;
    const float *from = samples + (size_t)blockIdx.x * 768;
    xs[t] = from[t], ys[t] = from[256 + t], ores[t] = from[512 + t];
    if (t < 32) counts[t] = 0u, sums[t] = 0u;
    __syncthreads();
    const float x = xs[t], y = ys[t], ore = ores[t];
    #pragma unroll 4
    for (int k = 1; k <= 128; ++k) {
        const int other = t + k & 255;
        const float dx = xs[other] - x, dy = ys[other] - y, off = ores[other] - ore;
        const int bin = min((int)(sqrtf(dx * dx + dy * dy) * 12.0f), 31);
        atomicAdd(counts + bin, 1u), atomicAdd(sums + bin, (unsigned)(off * off * 1024.0f));
    }
    __syncthreads();
    if (t < 32) out[(size_t)blockIdx.x * 64 + t] = counts[t], out[(size_t)blockIdx.x * 64 + 32 + t] = sums[t];
}

// Rows of a table that three indexes of bits allow, and how many: words of 128 bits, joined as (a and b) or not c.
KERNEL(256) indexes_joined(const uint4 *__restrict__ as, const uint4 *__restrict__ bs, const uint4 *__restrict__ cs, uint4 *out, unsigned *counts) {
    unsigned many = 0;
    #pragma unroll
    for (int k = 0; k < 2; ++k) {
        const size_t at = (size_t)blockIdx.x * 512 + k * 256 + threadIdx.x;
        const uint4 a = as[at], b = bs[at], c = cs[at], r = make_uint4((a.x & b.x) | ~c.x, (a.y & b.y) | ~c.y, (a.z & b.z) | ~c.z, (a.w & b.w) | ~c.w);
        out[at] = r, many += __popc(r.x) + __popc(r.y) + __popc(r.z) + __popc(r.w);
    }
    many = __reduce_add_sync(ALL, many);
    if (threadIdx.x % 32 == 0) counts[blockIdx.x * 8 + threadIdx.x / 32] = many;
}

// Whether texts of 64 letters match a pattern with wildcards (one letter, or any number): a thread a text, that goes back to the last star.
KERNEL(128) wildcards(const unsigned *__restrict__ texts, const unsigned char *__restrict__ pattern, int *out, int count) {
    __shared__ unsigned char wanted[32];
    const int own = blockIdx.x * 128 + threadIdx.x;
    if (threadIdx.x < 32) {
        const unsigned v = pattern[threadIdx.x];
        wanted[threadIdx.x] = threadIdx.x % 4 == 0 ? '*' : v % 5u == 0u ? '?' : 'a' + (v & 3u);
    }
    unsigned letters[16];
    #pragma unroll
    for (int k = 0; k < 16; ++k) letters[k] = texts[(size_t)k * count + own];
    __syncthreads();
    int at = 0, seek = 0, star = -1, from = 0, tries = 0;
    #pragma unroll 1
    while (at < 64 && tries < 400) {
        ++tries;
        const int want = seek < 32 ? wanted[seek] : 0, letter = 'a' + (letters[at >> 2] >> at % 4 * 8 & 3u);
        if (want == '*') star = seek++, from = at;
        else if (want == '?' || want == letter) ++at, ++seek;
        else if (star >= 0) seek = star + 1, at = ++from;
        else break;
    }
    out[own] = at == 64 ? tries : -seek;
}

// How often a solid of triangles winds about points (by solid angles): a thread a point, the triangles in shared memory.
KERNEL(128) winding(const float *__restrict__ points, const float *__restrict__ corners, float *out, int triangles) {
    __shared__ float held[64 * 9];
    const int t = threadIdx.x;
    const size_t own = (size_t)blockIdx.x * 128 + t;
    for (int k = t; k < triangles * 9; k += 128) held[k] = corners[k];
    __syncthreads();
    const float x = points[own * 3], y = points[own * 3 + 1], z = points[own * 3 + 2];
    float all = 0.0f;
    #pragma unroll 1
    for (int n = 0; n < triangles; ++n) {
        const float *c = held + n * 9;
        const float ax = c[0] - x, ay = c[1] - y, az = c[2] - z, bx = c[3] - x, by = c[4] - y, bz = c[5] - z, cx = c[6] - x, cy = c[7] - y, cz = c[8] - z;
        const float a = sqrtf(ax * ax + ay * ay + az * az), b = sqrtf(bx * bx + by * by + bz * bz), l = sqrtf(cx * cx + cy * cy + cz * cz);
        const float volume = ax * (by * cz - bz * cy) + ay * (bz * cx - bx * cz) + az * (bx * cy - by * cx);
        all += atan2f(volume, a * b * l + (ax * bx + ay * by + az * bz) * l + (bx * cx + by * cy + bz * cz) * a + (cx * ax + cy * ay + cz * az) * b);
    }
    out[own] = all * 0.15915494f;
}

// Eight filters of second order, one behind the other, over many channels of sound: a thread a channel, what each filter holds in registers.
KERNEL(128) equalizer(const float *__restrict__ in, const float *__restrict__ factors, float *out, int channels, int samples) {
    const int own = blockIdx.x * 128 + threadIdx.x;
    float first[8] = {}, second[8] = {};
    #pragma unroll 1
    for (int n = 0; n < samples; ++n) {
        float v = in[(size_t)n * channels + own];
        #pragma unroll
        for (int k = 0; k < 8; ++k) {
            const float *f = factors + k * 5, y = f[0] * v + first[k];
            first[k] = f[1] * v - 0.5f * f[3] * y + second[k], second[k] = f[2] * v - 0.4f * f[4] * y;
            v = y;
        }
        out[(size_t)n * channels + own] = v;
    }
}

// Functions of Bessel of many orders in doubles, by recurrence from far above (Miller): a thread an argument, a weighted sum of the orders comes out.
KERNEL(128) bessel(const double *__restrict__ in, double *out, int orders) {
    const size_t own = (size_t)blockIdx.x * 128 + threadIdx.x;
    const double x = 5.5 + 4.5 * in[own], twice = 2.0 / x;
    double above = 0.0, now = 1e-30, norm = 0.0, weighed = 0.0;
    #pragma unroll 4
    for (int n = orders; n > 0; --n) {
        const double below = (double)n * twice * now - above;
        above = now, now = below;
        if (n % 2) norm += 2.0 * below;
        weighed += below / (double)n;
    }
    out[own] = weighed / (norm - now);
}

// Channels of a picture divided by what their four neighbours on either side hold (as AlexNet does): a thread a pixel, sixteen channels of it.
KERNEL(256) response_norm(const float *__restrict__ in, float *out, int pixels, float alpha, float beta) {
    const size_t own = (size_t)blockIdx.x * 256 + threadIdx.x;
    float v[16];
    #pragma unroll
    for (int c = 0; c < 16; ++c) v[c] = in[(size_t)c * pixels + own];
    #pragma unroll
    for (int c = 0; c < 16; ++c) {
        float all = 0.0f;
        #pragma unroll
        for (int k = c - 2; k <= c + 2; ++k) if (k >= 0 && k < 16) all += v[k] * v[k];
        out[(size_t)c * pixels + own] = v[c] * __powf(2.0f + alpha * all, -beta);
    }
}

// How much options on rates are said to swing (Hagan's formula for SABR), and how far that is from the market's, for a thread's strikes.
KERNEL(256) smile(const float *__restrict__ market, float *out, int strikes, float beta, float rho) {
    const int own = blockIdx.x * 256 + threadIdx.x;
    const float alpha = 0.25f + 0.1f * market[own], nu = 0.4f + 0.01f * (float)(own & 15);
    float off = 0.0f;
    #pragma unroll 2
    for (int k = 0; k < strikes; ++k) {
        const float forward = 0.05f, strike = 0.0201f + 0.002f * (float)k;
        const float ratio = logf(forward / strike), middle = powf(forward * strike, 0.5f * (1.0f - beta)), less = (1.0f - beta) * ratio;
        const float z = nu / alpha * middle * ratio, bent = logf((sqrtf(1.0f - 2.0f * rho * z + z * z) + z - rho) / (1.0f - rho));
        const float longer = 1.0f + less * less * (1.0f / 24.0f) + less * less * less * less * (1.0f / 1920.0f);
        const float later = 1.0f + (1.0f - beta) * (1.0f - beta) * alpha * alpha / (24.0f * middle * middle) + 0.25f * rho * beta * nu * alpha / middle + (2.0f - 3.0f * rho * rho) * nu * nu / 24.0f;
        const float swing = alpha / (middle * longer) * (fabsf(bent) < 1e-6f ? 1.0f : z / bent) * later, gap = swing - 0.6f - 0.01f * (float)k;
        off += gap * gap;
    }
    out[own] = off;
}

// A step of birds that keep together, go the same way, and do not collide (Reynolds): a flock of 512 a block, a thread two birds, all in shared memory.
KERNEL(256) flock(const float4 *__restrict__ birds, float4 *out, int near) {
    __shared__ float4 held[512];
    const int t = threadIdx.x;
    const size_t base = (size_t)blockIdx.x * 512;
    held[t] = birds[base + t], held[t + 256] = birds[base + t + 256];
    __syncthreads();
    #pragma unroll 1
    for (int h = 0; h < 2; ++h) {
        const float4 me = held[t + h * 256];
        float cx = 0.0f, cy = 0.0f, wx = 0.0f, wy = 0.0f, ax = 0.0f, ay = 0.0f, many = 0.0f;
        #pragma unroll 4
        for (int k = 0; k < near; ++k) {
            const float4 o = held[k];
            const float dx = o.x - me.x, dy = o.y - me.y, square = dx * dx + dy * dy;
            if (square < 0.3f) {
                const float over = rsqrtf(square + 1e-4f);
                cx += dx, cy += dy, wx += o.z, wy += o.w, ax -= dx * over, ay -= dy * over, many += 1.0f;
            }
        }
        const float each = __fdividef(0.1f, many);
        const float vx = me.z + (cx + 0.5f * wx + 0.2f * ax) * each, vy = me.w + (cy + 0.5f * wy + 0.2f * ay) * each;
        out[base + t + h * 256] = make_float4(me.x + 0.01f * vx, me.y + 0.01f * vy, vx, vy);
    }
}

// Molecules of a cell that react by chance, one reaction after another (Gillespie), genes that make and break three kinds: a thread a cell.
KERNEL(128) reactions(const unsigned *__restrict__ seeds, uint4 *out, int events) {
    const int own = blockIdx.x * 128 + threadIdx.x;
    unsigned seed = seeds[own] | 1u;
    const auto chance = [&]() {
        seed ^= seed << 13, seed ^= seed >> 17, seed ^= seed << 5;
        return (float)(seed >> 8) * 5.9604645e-8f + 2.9802322e-8f;
    };
    int messages = 10, proteins = 40, pairs = 5;
    float time = 0.0f;
    #pragma unroll 1
    for (int n = 0; n < events; ++n) {
        const float made = 6.0f / (1.0f + 0.02f * (float)(pairs * pairs)), lost = 0.3f * (float)messages, built = 1.2f * (float)messages;
        const float broken = 0.05f * (float)proteins, joined = 0.002f * (float)(proteins * (proteins - 1)), split = 0.2f * (float)pairs;
        const float all = made + lost + built + broken + joined + split;
        time -= logf(chance()) / all;
        float left = chance() * all;
        if ((left -= made) < 0.0f) ++messages;
        else if ((left -= lost) < 0.0f) messages = max(messages - 1, 0);
        else if ((left -= built) < 0.0f) ++proteins;
        else if ((left -= broken) < 0.0f) proteins = max(proteins - 1, 0);
        else if ((left -= joined) < 0.0f && proteins > 1) proteins -= 2, ++pairs;
        else if (pairs > 0) --pairs, proteins += 2;
    }
    out[own] = make_uint4(messages, proteins, pairs, __float_as_uint(time));
}

// How alike two rankings of 96 are (Kendall's tau): a warp a pair of rankings, three places a lane, others by shuffles.
KERNEL(256) kendall(const float *__restrict__ lefts, const float *__restrict__ rights, float *out) {
    const int lane = threadIdx.x % 32;
    const size_t own = (size_t)blockIdx.x * 8 + threadIdx.x / 32;
    float a[3], b[3];
    #pragma unroll
    for (int k = 0; k < 3; ++k) a[k] = lefts[own * 96 + k * 32 + lane], b[k] = rights[own * 96 + k * 32 + lane];
    int same = 0;
    #pragma unroll 4
    for (int n = 0; n < 32; ++n)
        #pragma unroll
        for (int k = 0; k < 3; ++k) {
            const float x = __shfl_sync(ALL, a[k], n), y = __shfl_sync(ALL, b[k], n);
            #pragma unroll
            for (int j = 0; j < 3; ++j) {
                const float way = (a[j] - x) * (b[j] - y);
                same += (way > 0.0f) - (way < 0.0f);
            }
        }
    same = __reduce_add_sync(ALL, same);
    if (lane == 0) out[own] = (float)same * (1.0f / 9120.0f);
}

// Cars on a ring road of 1024 places that speed up, brake, dawdle and go on (Nagel and Schreckenberg): a block a road, its places in shared memory.
KERNEL(256) traffic(const unsigned *__restrict__ seeds, unsigned *out, int steps) {
    __shared__ signed char roads[2][1024];
    const int t = threadIdx.x;
    unsigned seed = seeds[(size_t)blockIdx.x * 256 + t] | 1u, moved = 0;
    #pragma unroll
    for (int k = 0; k < 4; ++k) roads[0][k * 256 + t] = (seed >> k * 5 & 3u) == 0u ? 0 : -1, roads[1][k * 256 + t] = -1;
    __syncthreads();
    #pragma unroll 1
    for (int step = 0; step < steps; ++step) {
        signed char *now = roads[step & 1], *next = roads[~step & 1];
        #pragma unroll 1
        for (int k = t; k < 1024; k += 256) {
            int speed = now[k];
            if (speed < 0) continue;
            seed = seed * 1664525u + 1013904223u;
            speed = min(speed + 1, 5);
            int gap = 0;
            while (gap < speed && now[k + gap + 1 & 1023] < 0) ++gap;
            speed = gap;
            if (speed > 0 && seed >> 30 == 0u) --speed;
            next[k + speed & 1023] = speed, moved += speed;
        }
        __syncthreads();
        #pragma unroll
        for (int k = 0; k < 4; ++k) now[k * 256 + t] = -1;
        __syncthreads();
    }
    moved = __reduce_add_sync(ALL, moved);
    if (t % 32 == 0) out[blockIdx.x * 8 + t / 32] = moved;
}
