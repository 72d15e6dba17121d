// Kernels of the twelfth set that no layout of shared memory decides: rows of a model, pictures, graphs, words.
#include <cuda_fp16.h>

// The sum over a block of 256 of what each thread brings.
__device__ __forceinline__ float block_sum(float v, float *parts) {
    for (int d = 16; d; d /= 2) v += __shfl_xor_sync(~0u, v, d);
    __syncthreads();
    if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = v;
    __syncthreads();
    v = 0;
    for (int w = 0; w < blockDim.x / 32; ++w) v += parts[w];
    return v;
}

// One word of 4096 by chance, out of the likeliest that have nine tenths of all together: a block to a row.
extern "C" __global__ void __launch_bounds__(256) nucleus(const float *scores, const float *chances, unsigned *out) {
    __shared__ float parts[8], before[8];
    __shared__ unsigned chosen;
    const int t = threadIdx.x, lane = t % 32, warp = t / 32;
    const float4 *row = (const float4 *)scores + (size_t)blockIdx.x * 1024;
    float v[16], sum = 0;
    for (int k = 0; k < 4; ++k) {
        const float4 s = row[t * 4 + k];
        v[4 * k] = __expf(4 * s.x), v[4 * k + 1] = __expf(4 * s.y), v[4 * k + 2] = __expf(4 * s.z), v[4 * k + 3] = __expf(4 * s.w);
    }
    for (int k = 0; k < 16; ++k) sum += v[k];
    const float wanted = 0.9f * block_sum(sum, parts);
    float low = 0, high = 55;
    for (int step = 0; step < 16; ++step) {
        const float middle = 0.5f * (low + high);
        float above = 0;
        for (int k = 0; k < 16; ++k) above += v[k] >= middle ? v[k] : 0;
        if (block_sum(above, parts) >= wanted) low = middle;
        else high = middle;
    }
    sum = 0;
    for (int k = 0; k < 16; ++k) {
        if (v[k] < low) v[k] = 0;
        sum += v[k];
    }
    float until = sum;
    for (int d = 1; d < 32; d *= 2) {
        const float left = __shfl_up_sync(~0u, until, d);
        if (lane >= d) until += left;
    }
    if (t == 0) chosen = 4095;
    if (lane == 31) before[warp] = until;
    __syncthreads();
    float all = 0;
    for (int w = 0; w < 8; ++w) {
        if (w == warp) until += all;
        all += before[w];
    }
    const float at = (0.5f + 0.499f * chances[blockIdx.x]) * all;
    float reached = until - sum;
    if (at >= reached && at < until)
        for (int k = 0; k < 16; ++k) {
            reached += v[k];
            if (at < reached) {
                atomicMin(&chosen, t * 16 + k);
                break;
            }
        }
    __syncthreads();
    if (t == 0) out[blockIdx.x] = chosen;
}

// Tiles of 64 by 64 pixels whose brightness is spread evenly; no brightness counts more than 40 times.
extern "C" __global__ void __launch_bounds__(256) contrast_limited(const uchar4 *in, uchar4 *out, int width) {
    __shared__ unsigned counts[256], parts[8], excess;
    __shared__ unsigned char curve[256];
    const int t = threadIdx.x, lane = t % 32, warp = t / 32;
    const size_t base = (size_t)(blockIdx.y * 64 + t / 16) * (width / 4) + blockIdx.x * 16 + t % 16;
    counts[t] = 0;
    if (t == 0) excess = 0;
    __syncthreads();
    uchar4 v[4];
    for (int k = 0; k < 4; ++k) {
        v[k] = in[base + k * 16 * (width / 4)];
        atomicAdd(&counts[v[k].x], 1), atomicAdd(&counts[v[k].y], 1), atomicAdd(&counts[v[k].z], 1), atomicAdd(&counts[v[k].w], 1);
    }
    __syncthreads();
    unsigned own = counts[t];
    if (own > 40) atomicAdd(&excess, own - 40), own = 40;
    __syncthreads();
    own += excess / 256;
    for (int d = 1; d < 32; d *= 2) {
        const unsigned left = __shfl_up_sync(~0u, own, d);
        if (lane >= d) own += left;
    }
    if (lane == 31) parts[warp] = own;
    __syncthreads();
    for (int w = 0; w < warp; ++w) own += parts[w];
    curve[t] = min(own * 255 / 4096, 255u);
    __syncthreads();
    for (int k = 0; k < 4; ++k)
        out[base + k * 16 * (width / 4)] = make_uchar4(curve[v[k].x], curve[v[k].y], curve[v[k].z], curve[v[k].w]);
}

// A bias and what came before are added, the sum is kept, and goes on normalised: rows of 1024 halves.
extern "C" __global__ void __launch_bounds__(128) biased_norm(const uint4 *in, const uint4 *bias, const uint4 *before, const uint4 *gains,
                                                              const uint4 *offsets, uint4 *kept, uint4 *out) {
    __shared__ float parts[8];
    const int t = threadIdx.x;
    const size_t at = (size_t)blockIdx.x * 128 + t;
    const uint4 x = in[at], y = bias[t], z = before[at], g = gains[t], o = offsets[t];
    float v[8], sum = 0, squares = 0;
    uint4 word;
    #pragma unroll
    for (int j = 0; j < 4; ++j) {
        const float2 a = __half22float2(((__half2 *)&x)[j]), b = __half22float2(((__half2 *)&y)[j]), c = __half22float2(((__half2 *)&z)[j]);
        v[2 * j] = a.x + b.x + c.x, v[2 * j + 1] = a.y + b.y + c.y;
        ((__half2 *)&word)[j] = __floats2half2_rn(v[2 * j], v[2 * j + 1]);
        sum += v[2 * j] + v[2 * j + 1];
    }
    kept[at] = word;
    const float mean = block_sum(sum, parts) / 1024;
    for (int j = 0; j < 8; ++j) squares += (v[j] - mean) * (v[j] - mean);
    const float by = rsqrtf(block_sum(squares, parts) / 1024 + 1e-5f);
    #pragma unroll
    for (int j = 0; j < 4; ++j) {
        const float2 a = __half22float2(((__half2 *)&g)[j]), b = __half22float2(((__half2 *)&o)[j]);
        ((__half2 *)&word)[j] = __floats2half2_rn((v[2 * j] - mean) * by * a.x + b.x, (v[2 * j + 1] - mean) * by * a.y + b.y);
    }
    out[at] = word;
}

// Runs of bytes that share their highest bit: where each begins, 2048 bytes a block, and how many there are.
extern "C" __global__ void __launch_bounds__(256) run_lengths(const uint2 *in, unsigned short *starts, unsigned char *values, unsigned *counts) {
    __shared__ unsigned parts[8];
    const int t = threadIdx.x, lane = t % 32, warp = t / 32;
    const size_t base = (size_t)blockIdx.x * 2048;
    const uint2 v = in[base / 8 + t];
    const unsigned left = t ? ((const unsigned char *)in)[base + t * 8 - 1] >> 7 : 2;
    unsigned bits = 0;
    for (int k = 0; k < 8; ++k) bits |= ((k < 4 ? v.x : v.y) >> (k % 4 * 8 + 7) & 1) << k;
    unsigned heads = (bits ^ bits << 1) & 254;
    if (left != (bits & 1)) heads |= 1;
    const unsigned own = __popc(heads);
    unsigned until = own;
    for (int d = 1; d < 32; d *= 2) {
        const unsigned before = __shfl_up_sync(~0u, until, d);
        if (lane >= d) until += before;
    }
    if (lane == 31) parts[warp] = until;
    __syncthreads();
    for (int w = 0; w < warp; ++w) until += parts[w];
    unsigned to = blockIdx.x * 2048 + (until - own);
    for (unsigned rest = heads; rest; rest &= rest - 1, ++to) {
        const int k = __ffs(rest) - 1;
        starts[to] = t * 8 + k;
        values[to] = bits >> k & 1;
    }
    if (t == 255) counts[blockIdx.x] = until;
}

// A step of shallow water: depths and flows in tiles of 32 by 8 with a margin.
extern "C" __global__ void __launch_bounds__(256) shallow(const float *depths, const float *alongs, const float *downs, float *depth_out,
                                                          float *along_out, float *down_out, int width, float by) {
    __shared__ float h[10][34], u[10][34], v[10][34];
    const int tx = threadIdx.x, ty = threadIdx.y;
    const size_t corner = (size_t)blockIdx.y * 8 * width + blockIdx.x * 32;
    for (int i = ty * 32 + tx; i < 340; i += 256) {
        const size_t from = corner + (size_t)(i / 34) * width + i % 34;
        h[i / 34][i % 34] = 4 + depths[from], u[i / 34][i % 34] = alongs[from], v[i / 34][i % 34] = downs[from];
    }
    __syncthreads();
    const int y = ty + 1, x = tx + 1;
    const auto along = [&](int r, int c) { return u[r][c] * u[r][c] / h[r][c] + 4.905f * h[r][c] * h[r][c]; };
    const auto down = [&](int r, int c) { return v[r][c] * v[r][c] / h[r][c] + 4.905f * h[r][c] * h[r][c]; };
    const auto cross = [&](int r, int c) { return u[r][c] * v[r][c] / h[r][c]; };
    const auto mean = [&](float (&f)[10][34]) { return 0.25f * (f[y][x - 1] + f[y][x + 1] + f[y - 1][x] + f[y + 1][x]); };
    const size_t to = corner + (size_t)y * width + x;
    depth_out[to] = mean(h) - by * (u[y][x + 1] - u[y][x - 1] + v[y + 1][x] - v[y - 1][x]);
    along_out[to] = mean(u) - by * (along(y, x + 1) - along(y, x - 1) + cross(y + 1, x) - cross(y - 1, x));
    down_out[to] = mean(v) - by * (cross(y, x + 1) - cross(y, x - 1) + down(y + 1, x) - down(y - 1, x));
}

// A picture of another size, by four cubics each way.
extern "C" __global__ void bicubic(const uchar4 *in, uchar4 *out, int width, int height, int out_width, int out_height, float ratio) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= out_width || y >= out_height) return;
    const float fx = (x + 0.5f) * ratio - 0.5f, fy = (y + 0.5f) * ratio - 0.5f;
    const int ix = floorf(fx), iy = floorf(fy);
    const auto cubics = [](float f, float (&w)[4]) {
        w[0] = ((-0.5f * f + 1) * f - 0.5f) * f, w[1] = (1.5f * f - 2.5f) * f * f + 1;
        w[2] = ((-1.5f * f + 2) * f + 0.5f) * f, w[3] = (0.5f * f - 0.5f) * f * f;
    };
    float wx[4], wy[4];
    cubics(fx - ix, wx), cubics(fy - iy, wy);
    float4 sum = {};
    #pragma unroll
    for (int r = 0; r < 4; ++r) {
        const uchar4 *row = in + (size_t)min(max(iy - 1 + r, 0), height - 1) * width;
        #pragma unroll
        for (int c = 0; c < 4; ++c) {
            const uchar4 p = row[min(max(ix - 1 + c, 0), width - 1)];
            const float w = wy[r] * wx[c];
            sum.x += w * p.x, sum.y += w * p.y, sum.z += w * p.z, sum.w += w * p.w;
        }
    }
    const auto byte = [](float f) { return (unsigned char)__float2int_rn(fminf(fmaxf(f, 0.f), 255.f)); };
    out[(size_t)y * out_width + x] = make_uchar4(byte(sum.x), byte(sum.y), byte(sum.z), byte(sum.w));
}

// How often four letters, of which some bits count, stand in a text: sixteen places a thread.
extern "C" __global__ void matched(const uint4 *text, unsigned *counts, unsigned letters, unsigned bits) {
    __shared__ unsigned total;
    if (threadIdx.x == 0) total = 0;
    __syncthreads();
    const size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    const uint4 v = text[i];
    const unsigned words[5] = {v.x, v.y, v.z, v.w, ((const unsigned *)text)[i * 4 + 4]};
    unsigned found = 0;
    #pragma unroll
    for (int k = 0; k < 16; ++k) found += ((__funnelshift_r(words[k / 4], words[k / 4 + 1], k % 4 * 8) ^ letters) & bits) == 0;
    found = __reduce_add_sync(~0u, found);
    if (threadIdx.x % 32 == 0 && found) atomicAdd(&total, found);
    __syncthreads();
    if (threadIdx.x == 0) counts[blockIdx.x] = total;
}

// A sparse matrix of dense blocks of four by four, twelve to a row of blocks, times a vector: a warp to such a row.
extern "C" __global__ void dense_blocks(const float *values, const unsigned *columns, const float *x, float *y, unsigned last) {
    const int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    float sum = 0;
    #pragma unroll 2
    for (int k = lane / 16; k < 12; k += 2) {
        const unsigned column = columns[row * 12 + k] & last;
        sum += values[((size_t)row * 12 + k) * 16 + lane % 16] * x[column * 4 + lane % 4];
    }
    sum += __shfl_xor_sync(~0u, sum, 16);
    sum += __shfl_xor_sync(~0u, sum, 1);
    sum += __shfl_xor_sync(~0u, sum, 2);
    if (lane < 16 && lane % 4 == 0) y[row * 4 + lane / 4] = sum;
}

// A sparse matrix as places and values, rows one after another, times a vector: lanes of a row add up, the last of
// them by an atomic.
extern "C" __global__ void by_places(const unsigned *rows, const unsigned *columns, const float *values, const float *x, float *y,
                                     unsigned each, unsigned last) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x % 32;
    const unsigned row = rows[i] / each;
    float sum = values[i] * x[columns[i] & last];
    for (int d = 1; d < 32; d *= 2) {
        const float left = __shfl_up_sync(~0u, sum, d);
        const unsigned other = __shfl_up_sync(~0u, row, d);
        if (lane >= d && other == row) sum += left;
    }
    const unsigned next = __shfl_down_sync(~0u, row, 1);
    if (lane == 31 || next != row) atomicAdd(y + row, sum);
}

// Seven by seven weights for each of 64 channels, which lie side by side: a warp has them all, and eight pixels.
extern "C" __global__ void __launch_bounds__(128) depthwise(const __half2 *in, const __half2 *weights, __half2 *out, int width) {
    const int lane = threadIdx.x, x = (blockIdx.x * 4 + threadIdx.y) * 8, y = blockIdx.y, inner = width - 6;
    float2 sum[8] = {};
    #pragma unroll 1
    for (int r = 0; r < 7; ++r) {
        float2 w[7];
        #pragma unroll
        for (int c = 0; c < 7; ++c) w[c] = __half22float2(weights[(r * 7 + c) * 32 + lane]);
        #pragma unroll
        for (int k = 0; k < 14; ++k) {
            const float2 v = __half22float2(in[((size_t)(y + r) * width + x + k) * 32 + lane]);
            #pragma unroll
            for (int c = 0; c < 7; ++c)
                if (k - c >= 0 && k - c < 8) sum[k - c].x += v.x * w[c].x, sum[k - c].y += v.y * w[c].y;
        }
    }
    for (int k = 0; k < 8; ++k) out[((size_t)y * inner + x + k) * 32 + lane] = __floats2half2_rn(sum[k].x, sum[k].y);
}

// Three principal values of symmetric matrices of three by three, by Jacobi's turns; members lie in planes.
extern "C" __global__ void principal(const float *in, float *out, int count) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    float a = in[i], b = in[count + i], c = in[2 * count + i], d = in[3 * count + i], e = in[4 * count + i], f = in[5 * count + i];
    const auto turn = [](float &p, float &q, float &off, float &r, float &s) {
        const float at = (q - p) / (2 * off + copysignf(1e-12f, off));
        const float t = copysignf(1.f, at) / (fabsf(at) + sqrtf(1 + at * at)), x = rsqrtf(1 + t * t), y = t * x, held = r;
        p -= t * off, q += t * off, off = 0;
        r = x * held - y * s, s = y * held + x * s;
    };
    #pragma unroll 1
    for (int sweep = 0; sweep < 6; ++sweep) turn(a, b, d, e, f), turn(a, c, e, d, f), turn(b, c, f, d, e);
    out[i] = fmaxf(a, fmaxf(b, c)), out[count + i] = fminf(a, fminf(b, c)), out[2 * count + i] = a + b + c;
}

// Which two of 64 experts each word goes to, with what weights, and how many come to each: a warp to a word.
extern "C" __global__ void __launch_bounds__(256) routed(const float2 *scores, float2 *weights, int2 *experts, unsigned *loads, int words) {
    __shared__ unsigned counts[64];
    const int lane = threadIdx.x % 32;
    if (threadIdx.x < 64) counts[threadIdx.x] = 0;
    __syncthreads();
    for (int word = (blockIdx.x * 256 + threadIdx.x) / 32; word < words; word += gridDim.x * 8) {
        float2 v = scores[(size_t)word * 32 + lane];
        float best[2];
        int who[2];
        #pragma unroll
        for (int k = 0; k < 2; ++k) {
            float top = fmaxf(v.x, v.y);
            int at = v.x >= v.y ? 2 * lane : 2 * lane + 1;
            for (int d = 16; d; d /= 2) {
                const float other = __shfl_xor_sync(~0u, top, d);
                const int there = __shfl_xor_sync(~0u, at, d);
                if (other > top || (other == top && there < at)) top = other, at = there;
            }
            best[k] = top, who[k] = at;
            if (at / 2 == lane) (at % 2 ? v.y : v.x) = -1e30f;
        }
        if (lane == 0) {
            const float second = 1 / (1 + __expf(best[0] - best[1]));
            weights[word] = {1 - second, second}, experts[word] = {who[0], who[1]};
            atomicAdd(counts + who[0], 1), atomicAdd(counts + who[1], 1);
        }
    }
    __syncthreads();
    if (threadIdx.x < 64) loads[blockIdx.x * 64 + threadIdx.x] = counts[threadIdx.x];
}

// Places of a graph that no one has seen look for a neighbour that was seen last; bits tell who was.
extern "C" __global__ void bottom_up(const unsigned *seen, const unsigned *frontier, const unsigned *neighbours, unsigned *next,
                                     int *parents, unsigned last) {
    const unsigned place = blockIdx.x * blockDim.x + threadIdx.x;
    bool found = false;
    if (!(seen[place / 32] >> place % 32 & 1))
        for (int k = 0; k < 16; ++k) {
            const unsigned other = neighbours[place * 16 + k] & last, word = other / 32;
            if (frontier[word] & frontier[(word + 7) & last / 32] & frontier[(word + 19) & last / 32] & 1u << other % 32) {
                found = true, parents[place] = other;
                break;
            }
        }
    const unsigned who = __ballot_sync(~0u, found);
    if (threadIdx.x % 32 == 0) next[place / 32] = who;
}

// How far the best place in each thread's 128 letters is from a word of 64, by edits: all 64 as bits of a word.
extern "C" __global__ void by_bits(const unsigned char *word, const uint4 *texts, unsigned *out, int count) {
    __shared__ unsigned long long where[4];
    if (threadIdx.x < 4) {
        unsigned long long bits = 0;
        for (int k = 0; k < 64; ++k) bits |= (unsigned long long)(word[k] >> 6 == threadIdx.x) << k;
        where[threadIdx.x] = bits;
    }
    __syncthreads();
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned long long up = ~0ull, down = 0;
    int score = 64, best = 64;
    #pragma unroll 1
    for (int part = 0; part < 8; ++part) {
        const uint4 v = texts[(size_t)part * count + i];
        const unsigned words[4] = {v.x, v.y, v.z, v.w};
        #pragma unroll
        for (int k = 0; k < 16; ++k) {
            const unsigned long long same = where[words[k / 4] >> (k % 4 * 8 + 6) & 3], x = same | down;
            const unsigned long long d = (((same & up) + up) ^ up) | x;
            unsigned long long more = down | ~(d | up), less = up & d;
            score += (int)(more >> 63) - (int)(less >> 63);
            more <<= 1, less <<= 1;
            up = less | ~(d | more), down = more & d;
            best = min(best, score);
        }
    }
    out[i] = best;
}

// Pictures packed for textures: four by four pixels become two colours and sixteen choices of two bits.
extern "C" __global__ void packed_colours(const uchar4 *in, uint2 *out, int width) {
    const int bx = blockIdx.x * blockDim.x + threadIdx.x, by = blockIdx.y;
    unsigned low = ~0u, high = 0;
    uint4 rows[4];
    #pragma unroll
    for (int r = 0; r < 4; ++r) {
        rows[r] = ((const uint4 *)in)[(size_t)(by * 4 + r) * (width / 4) + bx];
        low = __vminu4(__vminu4(low, rows[r].x), __vminu4(rows[r].y, __vminu4(rows[r].z, rows[r].w)));
        high = __vmaxu4(__vmaxu4(high, rows[r].x), __vmaxu4(rows[r].y, __vmaxu4(rows[r].z, rows[r].w)));
    }
    const auto packed = [](unsigned c) { return (c >> 3 & 31) << 11 | (c >> 10 & 63) << 5 | (c >> 19 & 31); };
    const unsigned span = (high & 0xffffff) - (low & 0xffffff) & 0xffffff;
    const unsigned length = __dp4a(span, span, 1u);
    unsigned bits = 0;
    #pragma unroll
    for (int r = 0; r < 4; ++r) {
        const unsigned pixels[4] = {rows[r].x, rows[r].y, rows[r].z, rows[r].w};
        #pragma unroll
        for (int c = 0; c < 4; ++c) {
            const unsigned at = __dp4a(__vsubus4(pixels[c], low) & 0xffffffu, span, 0u);
            const unsigned level = min((at * 3 + length / 2) / length, 3u);
            bits |= (level == 3 ? 0u : level == 0 ? 1u : level == 2 ? 2u : 3u) << (r * 8 + c * 2);
        }
    }
    out[(size_t)by * (width / 4) + bx] = {packed(high) | packed(low) << 16, bits};
}
