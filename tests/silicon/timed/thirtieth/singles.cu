// Kernels of the thirtieth set that no layout tells apart: channels squeezed, mines, epidemics, tranches of loans, neutrons, rough metal, symbols of Jacobi, a game of
// discs that are turned, codons, names alike, points of Halton, machines of Boltzmann, lenses, steps by signs alone.
#include <cuda_runtime.h>

#define KERNEL(THREADS) extern "C" __global__ void __launch_bounds__(THREADS)
#define ALL 0xffffffffu

// Channels of a picture squeezed to their mean, and excited by it: a block a channel of 4096 floats, kept in registers between.
KERNEL(256) squeezed(const float4 *in, const float2 *gates, float4 *out) {
    __shared__ float sums[8];
    const int t = threadIdx.x;
    float4 v[4];
    float sum = 0.0f;
    #pragma unroll
    for (int k = 0; k < 4; ++k) {
        v[k] = in[(size_t)blockIdx.x * 1024 + k * 256 + t];
        sum += v[k].x + v[k].y + v[k].z + v[k].w;
    }
    #pragma unroll
    for (int offset = 16; offset > 0; offset >>= 1) sum += __shfl_xor_sync(ALL, sum, offset);
    if (t % 32 == 0) sums[t / 32] = sum;
    __syncthreads();
    sum = 0.0f;
    #pragma unroll
    for (int k = 0; k < 8; ++k) sum += sums[k];
    const float2 gate = gates[blockIdx.x];
    const float scale = 1.0f / (1.0f + __expf(-(gate.x * sum * (1.0f / 4096.0f) + gate.y)));
    #pragma unroll
    for (int k = 0; k < 4; ++k) out[(size_t)blockIdx.x * 1024 + k * 256 + t] = make_float4(v[k].x * scale, v[k].y * scale, v[k].z * scale, v[k].w * scale);
}

// How many mines lie round each field of a board of bytes, four fields a word; a mine itself is 9. Words at the edges count twice.
KERNEL(256) mines(const unsigned *in, unsigned *out, int width, int height) {
    const int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
    if (x >= width || y >= height) return;
    const int left = max(x - 1, 0), right = min(x + 1, width - 1);
    unsigned sum = 0, own = 0;
    #pragma unroll
    for (int d = -1; d <= 1; ++d) {
        const unsigned *row = in + (size_t)min(max(y + d, 0), height - 1) * width;
        const unsigned a = __vsetltu4(row[left], 0x28282828u), b = __vsetltu4(row[x], 0x28282828u), c = __vsetltu4(row[right], 0x28282828u);
        sum += __byte_perm(a, b, 0x6543) + b + __byte_perm(b, c, 0x4321);
        if (d == 0) own = b;
    }
    const unsigned mine = own * 255u;
    out[(size_t)y * width + x] = (sum & ~mine) | (mine & 0x09090909u);
}

// Epidemics by the healthy, the exposed, the ill and the recovered (SEIR), with seasons, by the rule of Runge and Kutta: a thread a town.
KERNEL(256) epidemics(const float *in, float2 *out, int days) {
    const int own = blockIdx.x * 256 + threadIdx.x;
    const float spread = 0.4f + 0.15f * in[own];
    float s = 0.999f, e = 0.0005f, i = 0.0005f, most = 0.0f;
    const auto slope = [](const float beta, float s, float e, float i, float &ds, float &de, float &di) {
        const float caught = beta * s * i;
        ds = 0.001f - caught - 0.001f * s, de = caught - 0.21f * e, di = 0.2f * e - 0.11f * i;
    };
    #pragma unroll 1
    for (int day = 0; day < days; ++day) {
        const float beta = spread * (1.0f + 0.2f * __cosf(0.0172f * (float)day));
        float ks[4], ke[4], ki[4];
        slope(beta, s, e, i, ks[0], ke[0], ki[0]);
        #pragma unroll
        for (int k = 1; k < 4; ++k) {
            const float step = k == 3 ? 1.0f : 0.5f;
            slope(beta, s + step * ks[k - 1], e + step * ke[k - 1], i + step * ki[k - 1], ks[k], ke[k], ki[k]);
        }
        s += (ks[0] + 2.0f * (ks[1] + ks[2]) + ks[3]) * 0.16666667f;
        e += (ke[0] + 2.0f * (ke[1] + ke[2]) + ke[3]) * 0.16666667f;
        i += (ki[0] + 2.0f * (ki[1] + ki[2]) + ki[3]) * 0.16666667f;
        most = fmaxf(most, i);
    }
    out[own] = make_float2(most, s);
}

// What tranches of loans lose where all loans hang on one market (Gauss' copula): a thread a pool, 32 loans' thresholds in shared memory, markets good to bad.
KERNEL(128) tranches(const float *in, float *out, int markets) {
    __shared__ float thresholds[32];
    const int t = threadIdx.x, own = blockIdx.x * 128 + t;
    if (t < 32) thresholds[t] = -1.5f + 0.5f * in[blockIdx.x * 32 + t];
    __syncthreads();
    const float share = 0.3f + 0.25f * in[own], rest = rsqrtf(1.0f - share * share);
    float lost = 0.0f, weights = 0.0f;
    #pragma unroll 1
    for (int n = 0; n < markets; ++n) {
        const float market = -4.0f + 8.0f * ((float)n + 0.5f) / (float)markets, weight = __expf(-0.5f * market * market);
        float loss = 0.0f;
        #pragma unroll 2
        for (int k = 0; k < 32; ++k) loss += 0.6f * normcdff((thresholds[k] - share * market) * rest);
        lost += weight * fminf(fmaxf(loss - 1.0f, 0.0f), 2.0f), weights += weight;
    }
    out[own] = lost / weights;
}

// Neutrons through a slab: each flies until it is scattered, taken up, thrown back or through; a thread several neutrons, one after the other.
KERNEL(128) neutrons(const unsigned *seeds, uint2 *out, int each, float thick) {
    const int own = blockIdx.x * 128 + threadIdx.x;
    unsigned seed = seeds[own], through = 0, back = 0;
    const auto chance = [&]() {
        seed ^= seed << 13, seed ^= seed >> 17, seed ^= seed << 5;
        return (float)(seed >> 8) * 5.9604645e-8f + 2e-8f;
    };
    #pragma unroll 1
    for (int n = 0; n < each; ++n) {
        float x = 0.0f, along = 1.0f;
        #pragma unroll 1
        for (int flight = 0; flight < 100; ++flight) {
            x -= along * __logf(chance());
            if (x < 0.0f) {
                ++back;
                break;
            }
            if (x > thick) {
                ++through;
                break;
            }
            if (chance() < 0.2f) break;
            along = 2.0f * chance() - 1.0f;
        }
    }
    out[own] = make_uint2(through, back);
}

// How rough metal shines (by the distribution GGX, Smith's shadows and Schlick's rim): normals and ways of light for each pixel, four lamps.
KERNEL(256) rough_metal(const float4 *normals, const float4 *ways, float4 *out, int count) {
    for (int p = blockIdx.x * 256 + threadIdx.x; p < count; p += gridDim.x * 256) {
        float4 n = normals[p];
        const float4 w = ways[p];
        const float unit = rsqrtf(n.x * n.x + n.y * n.y + n.z * n.z + 1e-6f), rough = 0.1f + 0.4f * (n.w + 1.0f), alpha = rough * rough, square = alpha * alpha;
        n.x *= unit, n.y *= unit, n.z *= unit;
        const float seen = fabsf(n.z) + 1e-3f;
        float shine = 0.0f, rim = 0.0f;
        #pragma unroll
        for (int lamp = 0; lamp < 4; ++lamp) {
            float x = w.x + 0.5f * lamp - 0.75f, y = lamp & 1 ? w.y : w.z, z = 1.0f + w.w * 0.5f;
            const float far = rsqrtf(x * x + y * y + z * z);
            x *= far, y *= far, z *= far;
            const float half = rsqrtf(2.0f + 2.0f * z + 1e-6f), facing = fmaxf(n.x * x + n.y * y + n.z * z, 1e-3f);
            const float middle = fmaxf((n.x * x + n.y * y + n.z * (z + 1.0f)) * half, 0.0f), tilt = middle * middle * (square - 1.0f) + 1.0f;
            const float spread = __fdividef(square, 3.1415927f * tilt * tilt);
            const float shadow = __fdividef(0.5f, facing * sqrtf(seen * seen * (1.0f - square) + square) + seen * sqrtf(facing * facing * (1.0f - square) + square));
            const float edge = 1.0f - (z + 1.0f) * half, fifth = edge * edge * edge * edge * edge;
            shine += spread * shadow * facing, rim += spread * shadow * facing * fifth;
        }
        out[p] = make_float4(shine * 0.95f + rim * 0.05f, shine * 0.64f + rim * 0.36f, shine * 0.54f + rim * 0.46f, rough);
    }
}

// Symbols of Jacobi, whether one number may be a square by another: twos are taken out, both change places, and each thread stops when nothing is left.
KERNEL(128) jacobi_symbols(const uint2 *in, int *out, int count, int each) {
    const int own = blockIdx.x * 128 + threadIdx.x;
    int sum = 0;
    #pragma unroll 1
    for (int n = 0; n < each; ++n) {
        const uint2 v = in[(size_t)n * count + own];
        unsigned a = v.x, b = v.y | 1u;
        int sign = 1;
        a %= b;
        #pragma unroll 1
        while (a) {
            const int twos = __ffs(a) - 1;
            a >>= twos;
            if ((twos & 1) && ((b & 7u) == 3u || (b & 7u) == 5u)) sign = -sign;
            if ((a & b & 3u) == 3u) sign = -sign;
            const unsigned rest = b % a;
            b = a, a = rest;
        }
        if (b == 1u) sum += sign * (n + 1);
    }
    out[own] = sum;
}

// Games of Othello by chance, boards as 64 bits for each side: where one may move, in eight directions at once; what a move turns; both pass at the end.
KERNEL(128) othello(const unsigned *seeds, int *out, int moves) {
    const int own = blockIdx.x * 128 + threadIdx.x;
    unsigned seed = seeds[own];
    unsigned long long mine = 0x0000000810000000ull, theirs = 0x0000001008000000ull;
    const auto shifted = [](unsigned long long v, int way) {
        const int by = way & 3 ? (way & 3) + 6 : 1;
        v = way & 4 ? v >> by : v << by;
        const bool east = way == 0 || way == 3 || way == 5, west = way == 4 || way == 7 || way == 1;
        return east ? v & 0xfefefefefefefefeull : west ? v & 0x7f7f7f7f7f7f7f7full : v;
    };
    int passed = 0;
    #pragma unroll 1
    for (int move = 0; move < moves && passed < 2; ++move) {
        const unsigned long long empty = ~(mine | theirs);
        unsigned long long may = 0ull;
        #pragma unroll
        for (int way = 0; way < 8; ++way) {
            unsigned long long line = shifted(mine, way) & theirs;
            #pragma unroll
            for (int k = 0; k < 5; ++k) line |= shifted(line, way) & theirs;
            may |= shifted(line, way) & empty;
        }
        if (may) {
            seed = seed * 1664525u + 1013904223u;
            const unsigned long long above = may & ~0ull << (seed >> 26), some = above ? above : may, stone = some & ~some + 1ull;
            unsigned long long turned = 0ull;
            #pragma unroll
            for (int way = 0; way < 8; ++way) {
                unsigned long long line = shifted(stone, way) & theirs;
                #pragma unroll
                for (int k = 0; k < 5; ++k) line |= shifted(line, way) & theirs;
                if (shifted(line, way) & mine) turned |= line;
            }
            mine |= stone | turned, theirs &= ~turned;
            passed = 0;
        } else {
            ++passed;
        }
        const unsigned long long kept = mine;
        mine = theirs, theirs = kept;
    }
    out[own] = __popcll(mine) - __popcll(theirs);
}

// The longest stretch of each of three frames without a stop, and how heavy it is: letters of two bits, codons by a table in shared memory; 64 letters a thread.
KERNEL(256) codons(const uint4 *in, const unsigned *weights, uint2 *out, int count) {
    __shared__ unsigned table[64];
    const int t = threadIdx.x;
    if (t < 64) table[t] = t == 48 || t == 50 || t == 56 ? 0u : (weights[t] & 127u) + 57u;
    __syncthreads();
    for (int p = blockIdx.x * 256 + t; p < count; p += gridDim.x * 256) {
        const uint4 v = in[p];
        const unsigned words[4] = {v.x, v.y, v.z, v.w};
        unsigned lengths[3] = {}, heavy[3] = {}, longest = 0, most = 0, codon = 0;
        #pragma unroll
        for (int k = 0; k < 64; ++k) {
            codon = (codon << 2 | words[k / 16] >> k % 16 * 2 & 3u) & 63u;
            if (k < 2) continue;
            const unsigned weight = table[codon];
            lengths[k % 3] = weight ? lengths[k % 3] + 1u : 0u, heavy[k % 3] = weight ? heavy[k % 3] + weight : 0u;
            if (lengths[k % 3] > longest) longest = lengths[k % 3], most = heavy[k % 3];
        }
        out[p] = make_uint2(longest, most);
    }
}

// How alike two names of sixteen letters are (Jaro): letters of either that meet within a window, and how many of those stand in another order. A thread a pair.
KERNEL(64) jaro(const unsigned *in, float *out, int pairs) {
    __shared__ volatile unsigned char names[64 * 36];
    const int t = threadIdx.x, own = blockIdx.x * 64 + t;
    volatile unsigned char *first = names + t * 36, *second = first + 16;
    #pragma unroll
    for (int n = 0; n < 4; ++n) {
        const unsigned v = in[(size_t)n * pairs + own];
        #pragma unroll
        for (int k = 0; k < 8; ++k) first[n * 8 + k] = v >> k * 4 & 7u;
    }
    const int long_one = 10 + (in[own] >> 29), long_other = 10 + (in[pairs + own] >> 29), ends = min(long_one, 16), others = min(long_other, 16);
    const int window = max(max(ends, others) / 2 - 1, 1);
    unsigned used = 0, met = 0;
    #pragma unroll 1
    for (int i = 0; i < ends; ++i) {
        const unsigned char letter = first[i];
        const int last = min(i + window, others - 1);
        #pragma unroll 1
        for (int j = max(i - window, 0); j <= last; ++j) {
            if (met >> j & 1u) continue;
            if (second[j] != letter) continue;
            used |= 1u << i, met |= 1u << j;
            break;
        }
    }
    const int matches = __popc(used);
    int swapped = 0, k = 0;
    #pragma unroll 1
    for (int i = 0; i < ends; ++i) {
        if (!(used >> i & 1u)) continue;
        while (k < 15 && !(met >> k & 1u)) ++k;
        if (first[i] != second[k]) ++swapped;
        ++k;
    }
    out[own] = matches ? ((float)matches / ends + (float)matches / others + (matches - swapped * 0.5f) / matches) * 0.33333333f : 0.0f;
}

template <unsigned BASE> struct Base { enum : unsigned { SIZE = BASE }; };

// A function of four numbers summed over points of Halton: an index's digits by two, three, five and seven, turned round; each loop ends where the digits do.
KERNEL(256) halton(const float *in, float *out, int each) {
    const int own = blockIdx.x * 256 + threadIdx.x;
    const float centre = in[own];
    float sum = 0.0f;
    const auto turned = [](unsigned index, auto base) {
        constexpr unsigned by = decltype(base)::SIZE;
        float digit = 1.0f / by, v = 0.0f;
        #pragma unroll 1
        while (index) {
            const unsigned rest = index / by;
            v += (float)(index - rest * by) * digit;
            digit *= 1.0f / by, index = rest;
        }
        return v;
    };
    #pragma unroll 1
    for (int n = 0; n < each; ++n) {
        const unsigned index = (unsigned)own * each + n;
        const float a = (float)(__brev(index) >> 8) * 5.9604645e-8f, b = turned(index, Base<3>{}), c = turned(index, Base<5>{}), d = turned(index, Base<7>{});
        sum += __expf(-(a * a + b * b + c * c + d * d) * fabsf(centre)) * __cosf(a * b - c * d);
    }
    out[own] = sum / each;
}

// Samples of a machine of Boltzmann with 64 seen and 32 hidden units: a thread a sample, its units as bits; weights in shared memory are the same for all threads.
KERNEL(128) boltzmann(const float *weights, const uint2 *in, uint2 *out, int rounds) {
    __shared__ __align__(16) float held[32 * 64];
    const int t = threadIdx.x, own = blockIdx.x * 128 + t;
    #pragma unroll 4
    for (int k = t; k < 2048; k += 128) held[k] = weights[k];
    __syncthreads();
    uint2 seen = in[own];
    unsigned seed = seen.x ^ seen.y * 2654435761u | 1u;
    const auto drawn = [&](float sum) {
        seed ^= seed << 13, seed ^= seed >> 17, seed ^= seed << 5;
        return (float)(seed >> 8) * 5.9604645e-8f * (1.0f + __expf(-sum)) < 1.0f;
    };
    #pragma unroll 1
    for (int round = 0; round < rounds; ++round) {
        unsigned hidden = 0;
        #pragma unroll 1
        for (int j = 0; j < 32; ++j) {
            float sum = -0.5f;
            #pragma unroll
            for (int k = 0; k < 16; ++k) {
                const float4 w = *reinterpret_cast<const float4 *>(held + j * 64 + k * 4);
                const unsigned bits = (k < 8 ? seen.x : seen.y) >> k % 8 * 4;
                sum += (bits & 1u ? w.x : 0.0f) + (bits & 2u ? w.y : 0.0f) + (bits & 4u ? w.z : 0.0f) + (bits & 8u ? w.w : 0.0f);
            }
            if (drawn(sum)) hidden |= 1u << j;
        }
        seen = make_uint2(0u, 0u);
        #pragma unroll 1
        for (int i = 0; i < 64; ++i) {
            float sum = -0.5f;
            #pragma unroll
            for (int j = 0; j < 32; ++j) sum += hidden >> j & 1u ? held[j * 64 + i] : 0.0f;
            const unsigned bit = drawn(sum) ? 1u << (i & 31) : 0u;
            if (i < 32) seen.x |= bit;
            else seen.y |= bit;
        }
    }
    out[own] = seen;
}

// Rays through an objective of eight surfaces of glass (Snell): each is met, bent, and given up where it misses a surface or is thrown back inside. A thread several rays.
KERNEL(256) lenses(const float4 *in, const float4 *surfaces, float2 *out, int count, int each) {
    const int own = blockIdx.x * 256 + threadIdx.x;
    float far = 0.0f, arrived = 0.0f;
    #pragma unroll 1
    for (int n = 0; n < each; ++n) {
        const float4 ray = in[(size_t)n * count + own];
        float x = ray.x * 2.0f, y = ray.y * 2.0f, z = 0.0f, dx = ray.z * 0.2f, dy = ray.w * 0.2f, dz = rsqrtf(1.0f + dx * dx + dy * dy), index = 1.0f;
        dx *= dz, dy *= dz;
        int k = 0;
        #pragma unroll 1
        for (; k < 8; ++k) {
            const float4 s = surfaces[k];
            const float radius = (k & 1 ? -3.0f : 3.0f) + s.x, next = k & 1 ? 1.0f : 1.5f + 0.2f * s.z;
            const float cz = z - radius, b = x * dx + y * dy + cz * dz, inside = b * b - (x * x + y * y + cz * cz - radius * radius);
            if (inside < 0.0f) break;
            const float way = radius > 0.0f ? -b - sqrtf(inside) : -b + sqrtf(inside);
            x += way * dx, y += way * dy, z += way * dz;
            const float over = 1.0f / radius, nx = x * over, ny = y * over, nz = (z - radius) * over, facing = -(nx * dx + ny * dy + nz * dz);
            const float ratio = index / next, rest = 1.0f - ratio * ratio * (1.0f - facing * facing);
            if (rest < 0.0f) break;
            const float turn = ratio * facing - copysignf(sqrtf(rest), facing);
            dx = ratio * dx + turn * nx, dy = ratio * dy + turn * ny, dz = ratio * dz + turn * nz;
            z -= 0.5f + 0.2f * s.y, index = next;
        }
        if (k == 8) far += x * x + y * y, arrived += 1.0f;
    }
    out[own] = make_float2(far, arrived);
}

// Weights moved by signs alone (Rprop): a step grows where a slope keeps its sign and shrinks where it turns. Five numbers in, three out.
KERNEL(256) sign_steps(const float4 *slopes, const float4 *before, const float4 *steps, const float4 *weights, float4 *kept, float4 *longer, float4 *out, int count) {
    const auto one = [](float slope, float last, float step, float weight, float &keep, float &size, float &moved) {
        const float same = slope * last;
        size = same > 0.0f ? fminf(fabsf(step) * 1.2f, 50.0f) : same < 0.0f ? fmaxf(fabsf(step) * 0.5f, 1e-6f) : fabsf(step);
        keep = same < 0.0f ? 0.0f : slope;
        moved = weight - (keep > 0.0f ? size : keep < 0.0f ? -size : 0.0f);
    };
    for (int p = blockIdx.x * 256 + threadIdx.x; p < count; p += gridDim.x * 256) {
        const float4 g = slopes[p], b = before[p], s = steps[p], w = weights[p];
        float4 k, l, o;
        one(g.x, b.x, s.x, w.x, k.x, l.x, o.x), one(g.y, b.y, s.y, w.y, k.y, l.y, o.y);
        one(g.z, b.z, s.z, w.z, k.z, l.z, o.z), one(g.w, b.w, s.w, w.w, k.w, l.w, o.w);
        kept[p] = k, longer[p] = l, out[p] = o;
    }
}
