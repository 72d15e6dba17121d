// Kernels of the fifteenth set that stand alone: numbers, rows of a model, graphs and physics.
#include <cuda_bf16.h>

#define KERNEL(THREADS) extern "C" __global__ void __launch_bounds__(THREADS)
typedef unsigned long long wide;

__device__ __forceinline__ unsigned mixed(unsigned x) {
    x = (x ^ x >> 16) * 0x7feb352du, x = (x ^ x >> 15) * 0x846ca68bu;
    return x ^ x >> 16;
}
__device__ __forceinline__ float warp_sum(float v) {
    for (int d = 16; d; d /= 2) v += __shfl_xor_sync(~0u, v, d);
    return v;
}

// Numbers by 2^255 - 19 in eight words, of which more than one stand for the same.
struct Number {
    unsigned w[8];
};
__device__ __forceinline__ Number folded(Number v, wide carry) {
    #pragma unroll
    for (int turn = 0; turn < 2; ++turn) {
        carry *= 38;
        #pragma unroll
        for (int k = 0; k < 8; ++k) carry += v.w[k], v.w[k] = (unsigned)carry, carry >>= 32;
    }
    v.w[0] += (unsigned)carry * 38;
    return v;
}
__device__ __forceinline__ Number operator+(Number x, const Number &y) {
    wide carry = 0;
    #pragma unroll
    for (int k = 0; k < 8; ++k) carry += (wide)x.w[k] + y.w[k], x.w[k] = (unsigned)carry, carry >>= 32;
    return folded(x, carry);
}
__device__ __forceinline__ Number operator-(Number x, const Number &y) {
    long long borrow = 0;
    #pragma unroll
    for (int k = 0; k < 8; ++k) borrow += (long long)x.w[k] - y.w[k], x.w[k] = (unsigned)borrow, borrow >>= 32;
    #pragma unroll
    for (int turn = 0; turn < 2; ++turn) {
        borrow *= 38;
        #pragma unroll
        for (int k = 0; k < 8; ++k) borrow += x.w[k], x.w[k] = (unsigned)borrow, borrow >>= 32;
    }
    return x;
}
__device__ __forceinline__ Number operator*(const Number &x, const Number &y) {
    unsigned t[16] = {};
    #pragma unroll
    for (int i = 0; i < 8; ++i) {
        wide carry = 0;
        #pragma unroll
        for (int j = 0; j < 8; ++j) carry += (wide)x.w[i] * y.w[j] + t[i + j], t[i + j] = (unsigned)carry, carry >>= 32;
        t[i + 8] = (unsigned)carry;
    }
    Number v;
    wide carry = 0;
    #pragma unroll
    for (int k = 0; k < 8; ++k) carry += (wide)t[k + 8] * 38 + t[k], v.w[k] = (unsigned)carry, carry >>= 32;
    return folded(v, carry);
}

// Eight steps of Montgomery's ladder on Curve25519, a point and its multiplier to a thread; words lie in planes.
KERNEL(128) ladder(const unsigned *points, const unsigned *multipliers, unsigned *out, int many) {
    const int i = blockIdx.x * 128 + threadIdx.x;
    Number x, a = {{1}}, b = {}, c, d = {{1}};
    #pragma unroll
    for (int k = 0; k < 8; ++k) c.w[k] = x.w[k] = points[(size_t)k * many + i];
    const unsigned bits = multipliers[i];
    #pragma unroll 1
    for (int step = 7; step >= 0; --step) {
        const unsigned swap = 0 - (bits >> step & 1);
        const auto swapped = [&](Number &u, Number &v) {
            #pragma unroll
            for (int k = 0; k < 8; ++k) {
                const unsigned both = (u.w[k] ^ v.w[k]) & swap;
                u.w[k] ^= both, v.w[k] ^= both;
            }
        };
        swapped(a, c), swapped(b, d);
        const Number more = a + b, less = a - b, cross = (c - d) * more, also = (c + d) * less;
        const Number most = more * more, least = less * less, between = most - least, off = cross - also, sum = cross + also;
        const Number factor = {{121665}};
        c = sum * sum, d = x * (off * off), a = most * least, b = between * (most + factor * between);
        swapped(a, c), swapped(b, d);
    }
    #pragma unroll
    for (int k = 0; k < 8; ++k) out[(size_t)k * many + i] = a.w[k], out[(size_t)(k + 8) * many + i] = b.w[k];
}

// A causal convolution of four tokens for each of 2048 channels in brain floats, then SiLU: 16 tokens a block, eight channels a thread.
KERNEL(256) short_filter(const uint4 *in, const float4 *weights, const float *bias, uint4 *out, int length) {
    const int t = threadIdx.x, first = blockIdx.x * 16;
    float w[4][8], seen[3][8], offset[8];
    #pragma unroll
    for (int k = 0; k < 8; ++k) {
        const float4 v = weights[t * 8 + k];
        w[0][k] = v.x, w[1][k] = v.y, w[2][k] = v.z, w[3][k] = v.w, offset[k] = bias[t * 8 + k];
    }
    const auto opened = [](uint4 v, float *to) {
        const unsigned words[4] = {v.x, v.y, v.z, v.w};
        #pragma unroll
        for (int k = 0; k < 4; ++k) to[2 * k] = __uint_as_float(words[k] << 16), to[2 * k + 1] = __uint_as_float(words[k] & 0xffff0000u);
    };
    #pragma unroll
    for (int k = 0; k < 3; ++k) opened(first % length ? in[(size_t)(first - 3 + k) * 256 + t] : uint4{}, seen[k]);
    #pragma unroll 4
    for (int r = 0; r < 16; ++r) {
        float now[8], y[8];
        opened(in[(size_t)(first + r) * 256 + t], now);
        #pragma unroll
        for (int k = 0; k < 8; ++k) {
            const float v = offset[k] + w[0][k] * seen[0][k] + w[1][k] * seen[1][k] + w[2][k] * seen[2][k] + w[3][k] * now[k];
            y[k] = __fdividef(v, 1 + __expf(-v));
            seen[0][k] = seen[1][k], seen[1][k] = seen[2][k], seen[2][k] = now[k];
        }
        uint4 to;
        unsigned *words = &to.x;
        #pragma unroll
        for (int k = 0; k < 4; ++k) {
            const __nv_bfloat162 both = __floats2bfloat162_rn(y[2 * k], y[2 * k + 1]);
            words[k] = *(const unsigned *)&both;
        }
        out[(size_t)(first + r) * 256 + t] = to;
    }
}

// Brain floats become floats of four bits, of which 32 share a power of two: eight a thread, four threads to a scale.
KERNEL(256) shared_powers(const uint4 *in, unsigned *out, unsigned char *scales, int many) {
    for (int i = blockIdx.x * 256 + threadIdx.x; i < many; i += gridDim.x * 256) {
        const uint4 v = in[i];
        const unsigned words[4] = {v.x, v.y, v.z, v.w};
        float x[8], most = 0;
        #pragma unroll
        for (int k = 0; k < 8; ++k) {
            x[k] = __uint_as_float(k % 2 ? words[k / 2] & 0xffff0000u : words[k / 2] << 16);
            most = fmaxf(most, fabsf(x[k]));
        }
        most = fmaxf(most, __shfl_xor_sync(~0u, most, 1));
        most = fmaxf(most, __shfl_xor_sync(~0u, most, 2));
        const int power = max((int)(__float_as_uint(most) >> 23) - 2, 1);
        const float by = __uint_as_float((unsigned)min(254 - power, 254) << 23);
        unsigned code = 0;
        #pragma unroll
        for (int k = 0; k < 8; ++k) {
            const float a = fabsf(x[k]) * by;
            const unsigned place = (a > 0.25f) + (a >= 0.75f) + (a > 1.25f) + (a >= 1.75f) + (a > 2.5f) + (a >= 3.5f) + (a > 5);
            code |= (place | (x[k] < 0 ? 8u : 0u)) << 4 * k;
        }
        out[i] = code;
        if (i % 4 == 0) scales[i / 4] = power;
    }
}

// Whether a large model keeps the word that a small one proposed, or which of 4096 words it takes for it: a block to a word.
KERNEL(256) speculated(const float4 *large, const float4 *small, const unsigned *proposed, const float *chances, int *out) {
    __shared__ float sums[2][8], before[8];
    __shared__ int found;
    const int t = threadIdx.x, lane = t % 32, warp = t / 32;
    const size_t row = (size_t)blockIdx.x * 1024;
    float p[16], q[16], ps = 0, qs = 0;
    #pragma unroll
    for (int k = 0; k < 4; ++k) {
        const float4 x = large[row + t * 4 + k], y = small[row + t * 4 + k];
        const float a[4] = {x.x, x.y, x.z, x.w}, b[4] = {y.x, y.y, y.z, y.w};
        #pragma unroll
        for (int j = 0; j < 4; ++j) ps += p[4 * k + j] = __expf(4 * a[j]), qs += q[4 * k + j] = __expf(4 * b[j]);
    }
    ps = warp_sum(ps), qs = warp_sum(qs);
    if (!lane) sums[0][warp] = ps, sums[1][warp] = qs;
    if (!t) found = 4095;
    __syncthreads();
    ps = qs = 0;
    for (int k = 0; k < 8; ++k) ps += sums[0][k], qs += sums[1][k];
    const unsigned word = proposed[blockIdx.x] % 4096;
    const float chance = 0.5f + 0.5f * chances[2 * blockIdx.x], other = 0.5f + 0.5f * chances[2 * blockIdx.x + 1];
    const float kept = __expf(4 * (((const float *)(large + row))[word] - ((const float *)(small + row))[word])) * qs / ps;
    if (chance < kept) {
        if (!t) out[blockIdx.x] = word;
        return;
    }
    const float up = 1 / ps, uq = 1 / qs;
    float own = 0;
    #pragma unroll
    for (int k = 0; k < 16; ++k) own += p[k] = fmaxf(p[k] * up - q[k] * uq, 0);
    float all = own;
    for (int d = 1; d < 32; d *= 2) {
        const float v = __shfl_up_sync(~0u, all, d);
        if (lane >= d) all += v;
    }
    if (lane == 31) before[warp] = all;
    __syncthreads();
    float total = 0, from = all - own;
    for (int k = 0; k < 8; ++k) {
        if (k < warp) from += before[k];
        total += before[k];
    }
    const float limit = other * total;
    if (from <= limit && limit < from + own) {
        int place = 0;
        #pragma unroll
        for (int k = 0; k < 16; ++k) {
            from += p[k];
            if (from <= limit) place = k + 1;
        }
        atomicMin(&found, t * 16 + min(place, 15));
    }
    __syncthreads();
    if (!t) out[blockIdx.x] = found;
}

// How many different keys there are, by 2048 registers of HyperLogLog: a sketch in shared memory joins the one of all.
KERNEL(256) sketched(const uint4 *keys, unsigned *registers, int each) {
    __shared__ unsigned own[2048];
    const int t = threadIdx.x;
    for (int k = t; k < 2048; k += 256) own[k] = 0;
    __syncthreads();
    const uint4 *at = keys + (size_t)blockIdx.x * each;
    for (int k = t; k < each; k += 256) {
        const uint4 v = at[k];
        const unsigned four[4] = {v.x, v.y, v.z, v.w};
        #pragma unroll
        for (int j = 0; j < 4; ++j) {
            const unsigned hash = mixed(four[j]);
            atomicMax(own + (hash & 2047), __clz(hash >> 11) - 10);
        }
    }
    __syncthreads();
    for (int k = t; k < 2048; k += 256)
        if (own[k] > registers[k]) atomicMax(registers + k, own[k]);
}

// Runs of 128 whole numbers less their least, in as few bits as they need: a run to a warp, eight runs after one another.
KERNEL(256) packed(const int4 *in, unsigned *out, int2 *heads) {
    __shared__ unsigned held[8][128];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    unsigned *own = held[warp];
    for (int r = 0; r < 8; ++r) {
        const size_t run = ((size_t)blockIdx.x * 8 + warp) * 8 + r;
        const int4 v = in[run * 32 + lane];
        const int least = __reduce_min_sync(~0u, min(min(v.x, v.y), min(v.z, v.w)));
        const int most = __reduce_max_sync(~0u, max(max(v.x, v.y), max(v.z, v.w)));
        const int bits = 32 - __clz(most - least);
        for (int k = lane; k < bits * 4; k += 32) own[k] = 0;
        __syncwarp();
        const unsigned four[4] = {(unsigned)(v.x - least), (unsigned)(v.y - least), (unsigned)(v.z - least), (unsigned)(v.w - least)};
        #pragma unroll
        for (int k = 0; k < 4; ++k) {
            const int at = (lane * 4 + k) * bits, word = at / 32, shift = at % 32;
            if (bits) atomicOr(own + word, four[k] << shift);
            if (shift + bits > 32) atomicOr(own + word + 1, four[k] >> (32 - shift));
        }
        __syncwarp();
        for (int k = lane; k < bits * 4; k += 32) out[run * 128 + k] = own[k];
        if (!lane) heads[run] = {least, bits};
        __syncwarp();
    }
}

// A round of Luby's search for places of a graph that are no neighbours: who has the least hash among sixteen links gets in.
KERNEL(256) independent(const uint4 *links, const unsigned char *states, unsigned char *out, int many, unsigned seed) {
    const int i = blockIdx.x * 256 + threadIdx.x;
    const unsigned state = states[i] & 3;
    unsigned to = state;
    if (state < 2) {
        const unsigned own = mixed(i ^ seed);
        bool in = true, covered = false;
        #pragma unroll
        for (int k = 0; k < 4; ++k) {
            const uint4 v = links[(size_t)i * 4 + k];
            const unsigned four[4] = {v.x, v.y, v.z, v.w};
            #pragma unroll
            for (int j = 0; j < 4; ++j) {
                const unsigned other = four[j] % many, its = states[other] & 3, hash = mixed(other ^ seed);
                covered |= its == 2;
                in &= its > 1 || hash > own || (hash == own && other >= (unsigned)i);
            }
        }
        to = covered ? 3 : in ? 2 : state;
    }
    out[i] = to;
}

// A step of charged bodies by Boris: fields of a mesh of 32 by 32 by 32 between eight corners, then half a push, a turn, half a push.
KERNEL(256) pushed(float *places, float *speeds, const float4 *electric, const float4 *magnetic, int many, float step) {
    const int i = blockIdx.x * 256 + threadIdx.x;
    float x[3], v[3], f[3], e[3] = {}, b[3] = {};
    int cell[3];
    #pragma unroll
    for (int k = 0; k < 3; ++k) {
        x[k] = 15.5f + 15.4f * places[(size_t)k * many + i], v[k] = speeds[(size_t)k * many + i];
        cell[k] = (int)x[k], f[k] = x[k] - cell[k];
    }
    #pragma unroll
    for (int corner = 0; corner < 8; ++corner) {
        const int u = corner & 1, w = corner >> 1 & 1, z = corner >> 2;
        const int at = ((cell[2] + z) * 32 + cell[1] + w) * 32 + cell[0] + u;
        const float by = (u ? f[0] : 1 - f[0]) * (w ? f[1] : 1 - f[1]) * (z ? f[2] : 1 - f[2]);
        const float4 p = electric[at], q = magnetic[at];
        e[0] += by * p.x, e[1] += by * p.y, e[2] += by * p.z;
        b[0] += by * q.x, b[1] += by * q.y, b[2] += by * q.z;
    }
    float t[3], h[3], turned[3], square = 0;
    #pragma unroll
    for (int k = 0; k < 3; ++k) h[k] = v[k] + 0.5f * step * e[k], t[k] = 0.5f * step * b[k], square += t[k] * t[k];
    const float twice = 2 / (1 + square);
    turned[0] = h[0] + h[1] * t[2] - h[2] * t[1];
    turned[1] = h[1] + h[2] * t[0] - h[0] * t[2];
    turned[2] = h[2] + h[0] * t[1] - h[1] * t[0];
    v[0] = h[0] + twice * (turned[1] * t[2] - turned[2] * t[1]) + 0.5f * step * e[0];
    v[1] = h[1] + twice * (turned[2] * t[0] - turned[0] * t[2]) + 0.5f * step * e[1];
    v[2] = h[2] + twice * (turned[0] * t[1] - turned[1] * t[0]) + 0.5f * step * e[2];
    #pragma unroll
    for (int k = 0; k < 3; ++k) {
        const float to = x[k] + step * v[k];
        places[(size_t)k * many + i] = (fminf(fmaxf(to, 0.f), 30.99f) - 15.5f) * (1 / 15.4f), speeds[(size_t)k * many + i] = v[k];
    }
}

// Forces of bonds that twist: four atoms to a thread, whose forces are added by atomics.
KERNEL(128) twisted(const float4 *atoms, const uint4 *bonds, const float2 *constants, float *forces, int many) {
    const int i = blockIdx.x * 128 + threadIdx.x;
    const uint4 names = bonds[i];
    const int n[4] = {(int)(names.x % many), (int)(names.y % many), (int)(names.z % many), (int)(names.w % many)};
    const float4 p = atoms[n[0]], q = atoms[n[1]], r = atoms[n[2]], s = atoms[n[3]];
    const auto less = [](float4 a, float4 b) { return float3{a.x - b.x, a.y - b.y, a.z - b.z}; };
    const auto dot = [](float3 a, float3 b) { return a.x * b.x + a.y * b.y + a.z * b.z; };
    const auto cross = [](float3 a, float3 b) { return float3{a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x}; };
    const float3 f = less(p, q), g = less(q, r), h = less(s, r), a = cross(f, g), b = cross(h, g);
    const float aa = dot(a, a) + 1e-6f, bb = dot(b, b) + 1e-6f, gg = dot(g, g) + 1e-6f, length = sqrtf(gg);
    const float angle = atan2f(dot(cross(b, a), g) / length, dot(a, b));
    const float2 c = constants[i];
    const float slope = -3 * (1 + c.x) * sinf(3 * angle - c.y);
    const float first = -slope * length / aa, last = slope * length / bb;
    const float left = dot(f, g) / gg, right = dot(h, g) / gg;
    const float3 one = {first * a.x, first * a.y, first * a.z}, four = {last * b.x, last * b.y, last * b.z};
    const float3 inner = {left * one.x - right * four.x, left * one.y - right * four.y, left * one.z - right * four.z};
    const auto added = [&](int at, float x, float y, float z) {
        atomicAdd(forces + at * 3, x), atomicAdd(forces + at * 3 + 1, y), atomicAdd(forces + at * 3 + 2, z);
    };
    added(n[0], one.x, one.y, one.z), added(n[3], four.x, four.y, four.z);
    added(n[1], inner.x - one.x, inner.y - one.y, inner.z - one.z), added(n[2], -inner.x - four.x, -inner.y - four.y, -inner.z - four.z);
}

// Which of nine patches nearby each pixel belongs to, by colour and place (SLIC): patches lie 24 pixels apart.
KERNEL(256) patches(const float *planes, const float *centres, unsigned short *out, int pitch, int high, float by) {
    const int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
    if (x >= pitch || y >= high) return;
    const int across = (pitch + 23) / 24, down = (high + 23) / 24, all = across * down, i = y * pitch + x;
    const float l = planes[i], a = planes[pitch * high + i], b = planes[2 * pitch * high + i];
    float least = 1e30f;
    int which = 0;
    #pragma unroll
    for (int k = 0; k < 9; ++k) {
        const int u = x / 24 + k % 3 - 1, v = y / 24 + k / 3 - 1;
        if (u < 0 || v < 0 || u >= across || v >= down) continue;
        const int c = v * across + u;
        const float dl = centres[c] - l, da = centres[all + c] - a, db = centres[2 * all + c] - b;
        const float dx = u * 24 + 12 + 6 * centres[3 * all + c] - x, dy = v * 24 + 12 + 6 * centres[4 * all + c] - y;
        const float far = dl * dl + da * da + db * db + by * (dx * dx + dy * dy);
        if (far < least) least = far, which = c;
    }
    out[i] = which;
}
