// Kernels of the eighteenth set in groups, which differ in the layout of shared memory alone: scans, counts, bodies, filters, ciphers.
#define NAMED(NAME, THREADS, RUN, PARAMETERS, ARGUMENTS, ...) \
    extern "C" __global__ void __launch_bounds__(THREADS) NAME PARAMETERS { RUN<__VA_ARGS__> ARGUMENTS; }
#define ALL 0xffffffffu

// A recurrence h = a h + b along rows of 2048 (a layer with a state): eight steps a thread, then over lanes and warps.
// Pairs lie one after the other, or one is left out after every eight.
template <bool PADDED> __device__ __forceinline__ void state_scan(const float *decays, const float *inputs, float *states) {
    __shared__ float2 steps[2048 + 256];
    __shared__ float2 totals[8];
    const auto at = [](int i) { return PADDED ? i + i / 8 : i; };
    const int t = threadIdx.x, lane = t % 32, warp = t / 32;
    const size_t base = (size_t)blockIdx.x * 2048;
    #pragma unroll
    for (int k = 0; k < 8; ++k) {
        const int i = k * 256 + t;
        steps[at(i)] = make_float2(0.5f + 0.5f * fabsf(decays[base + i]), inputs[base + i]);
    }
    __syncthreads();
    float2 all = make_float2(1.0f, 0.0f);
    #pragma unroll
    for (int k = 0; k < 8; ++k) {
        const float2 s = steps[at(8 * t + k)];
        all = make_float2(all.x * s.x, all.y * s.x + s.y);
    }
    #pragma unroll
    for (int offset = 1; offset < 32; offset <<= 1) {
        const float a = __shfl_up_sync(ALL, all.x, offset), b = __shfl_up_sync(ALL, all.y, offset);
        if (lane >= offset) all = make_float2(a * all.x, b * all.x + all.y);
    }
    if (lane == 31) totals[warp] = all;
    __syncthreads();
    float state = 0.0f;
    for (int w = 0; w < warp; ++w) state = state * totals[w].x + totals[w].y;
    const float a = __shfl_up_sync(ALL, all.x, 1), b = __shfl_up_sync(ALL, all.y, 1);
    if (lane > 0) state = state * a + b;
    #pragma unroll
    for (int k = 0; k < 8; ++k) {
        const float2 s = steps[at(8 * t + k)];
        state = state * s.x + s.y;
        steps[at(8 * t + k)].y = state;
    }
    __syncthreads();
    #pragma unroll
    for (int k = 0; k < 8; ++k) states[base + k * 256 + t] = steps[at(k * 256 + t)].y;
}
NAMED(state_scan_plain, 256, state_scan, (const float *decays, const float *inputs, float *states), (decays, inputs, states), false)
NAMED(state_scan_padded, 256, state_scan, (const float *decays, const float *inputs, float *states), (decays, inputs, states), true)

// Pixels counted by 64 colours, a copy of the counts for each lane: copies lie one after the other, or colour by colour.
template <bool BY_COLOUR> __device__ __forceinline__ void colour_counts(const uint4 *pixels, unsigned *counts, int each) {
    __shared__ unsigned held[64 * 32];
    const auto at = [](int colour, int copy) { return BY_COLOUR ? colour * 32 + copy : copy * 64 + colour; };
    const int t = threadIdx.x, lane = t % 32;
    for (int i = t; i < 64 * 32; i += 256) held[i] = 0;
    __syncthreads();
    for (int k = 0; k < each; ++k) {
        const uint4 v = pixels[((size_t)blockIdx.x * each + k) * 256 + t];
        const unsigned words[4] = {v.x, v.y, v.z, v.w};
        #pragma unroll
        for (int p = 0; p < 4; ++p) {
            const unsigned colour = words[p] >> 6 & 3 | words[p] >> 12 & 12 | words[p] >> 18 & 48;
            atomicAdd(held + at(colour, lane), 1u);
        }
    }
    __syncthreads();
    if (t >= 64) return;
    unsigned sum = 0;
    for (int k = 0; k < 32; ++k) sum += held[at(t, (k + t) % 32)];
    counts[blockIdx.x * 64 + t] = sum;
}
NAMED(colour_counts_by_copy, 256, colour_counts, (const uint4 *pixels, unsigned *counts, int each), (pixels, counts, each), false)
NAMED(colour_counts_by_colour, 256, colour_counts, (const uint4 *pixels, unsigned *counts, int each), (pixels, counts, each), true)

// A fluid of particles (SPH): each of 128 has 64 neighbours among 256 in shared memory, whose eight members lie together or apart.
template <bool APART> __device__ __forceinline__ void fluid(const float4 *particles, const unsigned *neighbours, float4 *out, float radius) {
    __shared__ float4 held[512];
    float *words = (float *)held;
    const int t = threadIdx.x;
    for (int i = t; i < 512; i += 128) {
        const float4 v = particles[(size_t)blockIdx.x * 512 + i];
        if (APART) {
            const int one = i / 2, plane = i % 2 * 4;
            words[plane * 256 + one] = v.x;
            words[(plane + 1) * 256 + one] = v.y;
            words[(plane + 2) * 256 + one] = v.z;
            words[(plane + 3) * 256 + one] = v.w;
        } else {
            held[i] = v;
        }
    }
    __syncthreads();
    const auto place = [&](int i) {
        return APART ? make_float4(words[i], words[256 + i], words[512 + i], words[768 + i]) : held[2 * i];
    };
    const auto speed = [&](int i) {
        return APART ? make_float4(words[1024 + i], words[1280 + i], words[1536 + i], words[1792 + i]) : held[2 * i + 1];
    };
    const float4 own = place(t), moves = speed(t);
    float4 sum = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    for (int k = 0; k < 16; ++k) {
        const unsigned four = neighbours[((size_t)blockIdx.x * 16 + k) * 128 + t];
        #pragma unroll
        for (int j = 0; j < 4; ++j) {
            const int other = four >> 8 * j & 255;
            const float4 p = place(other), v = speed(other);
            const float x = p.x - own.x, y = p.y - own.y, z = p.z - own.z, r = sqrtf(x * x + y * y + z * z + 1e-6f);
            const float left = fmaxf(radius - r, 0.0f), push = left * left * (p.w + own.w) / r;
            sum.x += push * x + left * (v.x - moves.x);
            sum.y += push * y + left * (v.y - moves.y);
            sum.z += push * z + left * (v.z - moves.z);
            sum.w += v.w * left * left * left;
        }
    }
    out[(size_t)blockIdx.x * 128 + t] = sum;
}
#define FLUID(NAME, APART) \
    NAMED(NAME, 128, fluid, (const float4 *particles, const unsigned *neighbours, float4 *out, float radius), (particles, neighbours, out, radius), APART)
FLUID(fluid_together, false)
FLUID(fluid_apart, true)

// Covariances of 64 trackers, six by six, a thread to each: a step of time, then three measurements. Matrices 36 words apart, or 37.
template <int PITCH> __device__ __forceinline__ void covariance(const float *before, float *after, float step, float noise, int steps) {
    __shared__ float held[64 * PITCH];
    const int t = threadIdx.x;
    const size_t base = (size_t)blockIdx.x * 64 * 36;
    for (int i = t; i < 64 * 36; i += 64) held[i / 36 * PITCH + i % 36] = 0.1f * before[base + i] + (i % 36 % 7 == 0 ? 2.0f : 0.0f);
    __syncthreads();
    float *p = held + t * PITCH;
    #pragma unroll 1
    for (int n = 0; n < steps; ++n) {
        #pragma unroll 1
        for (int i = 0; i < 3; ++i)
            #pragma unroll
            for (int j = 0; j < 6; ++j) p[i * 6 + j] += step * p[(i + 3) * 6 + j];
        #pragma unroll 1
        for (int i = 0; i < 6; ++i) {
            #pragma unroll
            for (int j = 0; j < 3; ++j) p[i * 6 + j] += step * p[i * 6 + j + 3];
            p[i * 7] += noise;
        }
        #pragma unroll 1
        for (int k = 0; k < 3; ++k) {
            const float inverse = 1.0f / (p[k * 7] + 1.0f);
            float row[6];
            #pragma unroll
            for (int j = 0; j < 6; ++j) row[j] = p[k * 6 + j] * inverse;
            #pragma unroll 1
            for (int i = 0; i < 6; ++i) {
                const float gain = p[i * 6 + k];
                #pragma unroll
                for (int j = 0; j < 6; ++j) p[i * 6 + j] -= gain * row[j];
            }
        }
    }
    __syncthreads();
    for (int i = t; i < 64 * 36; i += 64) after[base + i] = held[i / 36 * PITCH + i % 36];
}
#define COVARIANCE(NAME, PITCH) \
    NAMED(NAME, 64, covariance, (const float *before, float *after, float step, float noise, int steps), (before, after, step, noise, steps), PITCH)
COVARIANCE(covariance_plain, 36)
COVARIANCE(covariance_padded, 37)

// AES with a counter, ten rounds by one table of 256 words, four blocks a thread: one table, or one for each lane.
template <bool COPIES> __device__ __forceinline__ void aes(const unsigned *table, const unsigned *keys, const uint4 *text, uint4 *hidden) {
    __shared__ unsigned held[COPIES ? 256 * 32 : 256];
    const int t = threadIdx.x, lane = t % 32;
    if (COPIES) {
        for (int i = t; i < 256 * 32; i += 256) held[i] = table[i / 32];
    } else {
        held[t] = table[t];
    }
    __syncthreads();
    const auto look = [&](unsigned word, int byte) {
        const unsigned letter = word >> 8 * byte & 255;
        return held[COPIES ? letter * 32 + lane : letter];
    };
    const auto mixed = [&](unsigned a, unsigned b, unsigned c, unsigned d, unsigned key) {
        return look(a, 0) ^ __funnelshift_l(look(b, 1), look(b, 1), 8) ^ __funnelshift_l(look(c, 2), look(c, 2), 16) ^
               __funnelshift_l(look(d, 3), look(d, 3), 24) ^ key;
    };
    const auto last = [&](unsigned a, unsigned b, unsigned c, unsigned d, unsigned key) {
        return (look(a, 0) >> 8 & 255 | look(b, 1) & 0xff00 | look(c, 2) << 8 & 0xff0000 | look(d, 3) << 16 & 0xff000000) ^ key;
    };
    #pragma unroll 1
    for (int n = 0; n < 4; ++n) {
        const unsigned i = (blockIdx.x * 4 + n) * 256 + t;
        unsigned a = i ^ keys[0], b = keys[1], c = keys[2], d = keys[3];
        #pragma unroll 3
        for (int r = 1; r < 10; ++r) {
            const unsigned w = mixed(a, b, c, d, keys[4 * r]), x = mixed(b, c, d, a, keys[4 * r + 1]);
            const unsigned y = mixed(c, d, a, b, keys[4 * r + 2]), z = mixed(d, a, b, c, keys[4 * r + 3]);
            a = w, b = x, c = y, d = z;
        }
        const uint4 v = text[i];
        hidden[i] = make_uint4(v.x ^ last(a, b, c, d, keys[40]), v.y ^ last(b, c, d, a, keys[41]),
                               v.z ^ last(c, d, a, b, keys[42]), v.w ^ last(d, a, b, c, keys[43]));
    }
}
#define AES(NAME, COPIES) \
    NAMED(NAME, 256, aes, (const unsigned *table, const unsigned *keys, const uint4 *text, uint4 *hidden), (table, keys, text, hidden), COPIES)
AES(aes_one, false)
AES(aes_copies, true)
