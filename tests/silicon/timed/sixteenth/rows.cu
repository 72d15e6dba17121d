// Kernels of the sixteenth set that stand alone: layers of models, optimisers, graphs, codes, sorts and prices.
#include <cuda_fp16.h>

#define KERNEL(THREADS) extern "C" __global__ void __launch_bounds__(THREADS)
#define ALL 0xffffffffu

template <typename T> __device__ __forceinline__ T warp_sum(T v) {
    for (int offset = 16; offset > 0; offset >>= 1) v += __shfl_down_sync(ALL, v, offset);
    return v;
}

struct alignas(16) Half8 {
    __half2 pair[4];
};

// The backward pass of a layer gated by GELU (its form with tanh): gradients of the gate and of what it lets through.
__device__ __forceinline__ void geglu_element(float d, float g, float u, float &dg, float &du) {
    const float kBeta = 0.79788456f, kKappa = 0.044715f;
    const float inner = kBeta * (g + kKappa * g * g * g), th = tanhf(inner);
    const float gelu = 0.5f * g * (1.0f + th);
    const float slope = 0.5f * (1.0f + th) + 0.5f * g * (1.0f - th * th) * kBeta * (1.0f + 3.0f * kKappa * g * g);
    du = d * gelu;
    dg = d * u * slope;
}
KERNEL(256) geglu_backward(const Half8 *dout, const Half8 *gate, const Half8 *up, Half8 *dgate, Half8 *dup, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const Half8 d = dout[i], g = gate[i], u = up[i];
    Half8 dg, du;
    #pragma unroll
    for (int k = 0; k < 4; ++k) {
        const float2 df = __half22float2(d.pair[k]), gf = __half22float2(g.pair[k]), uf = __half22float2(u.pair[k]);
        float2 a, b;
        geglu_element(df.x, gf.x, uf.x, a.x, b.x);
        geglu_element(df.y, gf.y, uf.y, a.y, b.y);
        dg.pair[k] = __float22half2_rn(a);
        du.pair[k] = __float22half2_rn(b);
    }
    dgate[i] = dg;
    dup[i] = du;
}

// The first part of a step of the optimiser LAMB: moments and updates of 4096 weights a block, and two norms of them.
KERNEL(256) lamb_moments(const float4 *params, const __half2 *grads, float4 *m, float4 *v, float4 *update, float2 *norms,
                         float beta1, float beta2, float eps, float decay, float scale) {
    __shared__ float2 partial[8];
    float param_norm = 0.0f, update_norm = 0.0f;
    for (int r = 0; r < 4; ++r) {
        const size_t i = ((size_t)blockIdx.x * 4 + r) * 256 + threadIdx.x;
        const float4 p4 = params[i];
        float4 m4 = m[i], v4 = v[i], u4;
        const float2 low = __half22float2(grads[2 * i]), high = __half22float2(grads[2 * i + 1]);
        const float g[4] = {low.x, low.y, high.x, high.y};
        const float *p = &p4.x;
        float *mm = &m4.x, *vv = &v4.x, *u = &u4.x;
        #pragma unroll
        for (int k = 0; k < 4; ++k) {
            const float grad = g[k] * scale;
            mm[k] = beta1 * mm[k] + (1.0f - beta1) * grad;
            vv[k] = beta2 * vv[k] + (1.0f - beta2) * grad * grad;
            u[k] = mm[k] / (sqrtf(vv[k]) + eps) + decay * p[k];
            param_norm += p[k] * p[k];
            update_norm += u[k] * u[k];
        }
        m[i] = m4;
        v[i] = v4;
        update[i] = u4;
    }
    param_norm = warp_sum(param_norm);
    update_norm = warp_sum(update_norm);
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    if (lane == 0) partial[warp] = make_float2(param_norm, update_norm);
    __syncthreads();
    if (threadIdx.x == 0) {
        float2 all = partial[0];
        for (int w = 1; w < 8; ++w) all.x += partial[w].x, all.y += partial[w].y;
        norms[blockIdx.x] = all;
    }
}

// Attention within windows of 7 by 7 tokens with a bias by relative place: a block to a window and head of 32, a thread to a
// query, whose softmax goes along.
KERNEL(64) window_attention(const __half *qkv, const float *bias_table, __half *out, int heads, float scale) {
    __shared__ float4 ks[49][8], vs[49][8];
    __shared__ float bias[169];
    const int head = blockIdx.x, t = threadIdx.x;
    const size_t window = blockIdx.y;
    const __half *base = qkv + window * 49 * 3 * heads * 32 + head * 32;
    for (int i = t; i < 49 * 16; i += 64) {
        const int token = i / 16, pair = i % 16;
        const __half2 *row = (const __half2 *)(base + (size_t)token * 3 * heads * 32);
        ((float2 *)ks[token])[pair] = __half22float2(row[heads * 16 + pair]);
        ((float2 *)vs[token])[pair] = __half22float2(row[2 * heads * 16 + pair]);
    }
    for (int i = t; i < 169; i += 64) bias[i] = bias_table[i * heads + head];
    __syncthreads();
    if (t >= 49) return;
    float q[32], acc[32] = {}, most = -1e30f, sum = 0.0f;
    const __half2 *own = (const __half2 *)(base + (size_t)t * 3 * heads * 32);
    #pragma unroll
    for (int k = 0; k < 16; ++k) {
        const float2 f = __half22float2(own[k]);
        q[2 * k] = f.x * scale;
        q[2 * k + 1] = f.y * scale;
    }
    const int qy = t / 7, qx = t % 7;
    for (int ky = 0; ky < 7; ++ky)
        for (int kx = 0; kx < 7; ++kx) {
            const int j = ky * 7 + kx;
            float s = bias[(qy - ky + 6) * 13 + qx - kx + 6];
            #pragma unroll
            for (int k = 0; k < 8; ++k) {
                const float4 key = ks[j][k];
                s += q[4 * k] * key.x + q[4 * k + 1] * key.y + q[4 * k + 2] * key.z + q[4 * k + 3] * key.w;
            }
            const float next = fmaxf(most, s), keep = __expf(most - next), p = __expf(s - next);
            most = next;
            sum = sum * keep + p;
            #pragma unroll
            for (int k = 0; k < 8; ++k) {
                const float4 value = vs[j][k];
                acc[4 * k] = acc[4 * k] * keep + p * value.x;
                acc[4 * k + 1] = acc[4 * k + 1] * keep + p * value.y;
                acc[4 * k + 2] = acc[4 * k + 2] * keep + p * value.z;
                acc[4 * k + 3] = acc[4 * k + 3] * keep + p * value.w;
            }
        }
    const float inverse = 1.0f / sum;
    __half2 *to = (__half2 *)(out + ((window * 49 + t) * heads + head) * 32);
    #pragma unroll
    for (int k = 0; k < 16; ++k) to[k] = __floats2half2_rn(acc[2 * k] * inverse, acc[2 * k + 1] * inverse);
}

// The forward variables of a loss for speech (CTC), in logarithms: a block to an utterance of 128 frames, a thread to one of
// 101 states; labels of 50 letters with blanks between.
KERNEL(128) ctc_alpha(const float *log_probs, const unsigned char *labels, float *log_alpha, int batch) {
    __shared__ float previous[2][130];
    const int b = blockIdx.x, s = threadIdx.x;
    const bool active = s < 101;
    int label = 0, before = 0;
    if (active && s % 2) {
        label = 1 + labels[b * 50 + s / 2] % 31;
        if (s > 1) before = 1 + labels[b * 50 + s / 2 - 1] % 31;
    }
    const bool skip = active && s > 1 && s % 2 && label != before;
    if (s < 2) previous[0][s] = previous[1][s] = -1e30f;
    float alpha = s < 2 ? log_probs[(size_t)b * 32 + label] - 3.4657f : -1e30f;
    previous[0][s + 2] = alpha;
    if (active) log_alpha[(size_t)b * 101 + s] = alpha;
    for (int frame = 1; frame < 128; ++frame) {
        __syncthreads();
        const float *last = previous[(frame - 1) & 1] + s;
        const float one = last[2], two = last[1], three = skip ? last[0] : -1e30f;
        if (active) {
            const float lp = log_probs[((size_t)frame * batch + b) * 32 + label] - 3.4657f;
            const float most = fmaxf(one, fmaxf(two, three));
            alpha = logf(expf(one - most) + expf(two - most) + expf(three - most)) + most + lp;
            log_alpha[((size_t)frame * batch + b) * 101 + s] = alpha;
        }
        previous[frame & 1][s + 2] = alpha;
    }
}

// Attention on a graph: sixteen neighbours of a place are weighed by a softmax, and rows of 64 halves of theirs are summed.
KERNEL(256) graph_attention(const unsigned *neighbours, const float *from, const float *to, const __half2 *features, __half2 *out,
                            int nodes) {
    const int node = (blockIdx.x * 256 + threadIdx.x) / 32, lane = threadIdx.x % 32;
    const unsigned other = neighbours[(size_t)node * 16 + lane % 16] % nodes;
    float score = from[other] + to[node];
    score = score > 0.0f ? score : 0.2f * score;
    float most = score;
    for (int d = 8; d; d >>= 1) most = fmaxf(most, __shfl_xor_sync(ALL, most, d));
    float weight = __expf(score - most), sum = weight;
    for (int d = 8; d; d >>= 1) sum += __shfl_xor_sync(ALL, sum, d);
    weight /= sum;
    float2 acc = {0.0f, 0.0f};
    #pragma unroll 8
    for (int k = 0; k < 16; ++k) {
        const unsigned row = __shfl_sync(ALL, other, k);
        const float w = __shfl_sync(ALL, weight, k);
        const float2 f = __half22float2(features[(size_t)row * 32 + lane]);
        acc.x += w * f.x;
        acc.y += w * f.y;
    }
    acc.x = acc.x > 0.0f ? acc.x : __expf(acc.x) - 1.0f;
    acc.y = acc.y > 0.0f ? acc.y : __expf(acc.y) - 1.0f;
    out[(size_t)node * 32 + lane] = __float22half2_rn(acc);
}

// Text in Huffman's code: 4096 letters a block, sixteen a thread; a scan of their lengths tells where a thread's bits begin.
KERNEL(256) huffman_encode(const uint4 *text, const unsigned *book, unsigned *out, unsigned *sizes) {
    __shared__ unsigned codes[256], bits[1537], warps[8];
    const int t = threadIdx.x, lane = t % 32, warp = t / 32;
    const unsigned entry = book[t], width = 4 + entry % 9;
    codes[t] = width << 16 | (entry >> 8 & ((1u << width) - 1));
    for (int i = t; i < 1537; i += 256) bits[i] = 0;
    const uint4 v = text[(size_t)blockIdx.x * 256 + t];
    const unsigned words[4] = {v.x, v.y, v.z, v.w};
    __syncthreads();
    unsigned length = 0;
    #pragma unroll
    for (int k = 0; k < 16; ++k) length += codes[words[k / 4] >> 8 * (k % 4) & 255] >> 16;
    unsigned place = length;
    for (int d = 1; d < 32; d <<= 1) {
        const unsigned n = __shfl_up_sync(ALL, place, d);
        if (lane >= d) place += n;
    }
    if (lane == 31) warps[warp] = place;
    __syncthreads();
    unsigned offset = 0, total = 0;
    for (int w = 0; w < 8; ++w) {
        if (w < warp) offset += warps[w];
        total += warps[w];
    }
    place += offset - length;
    unsigned word = place / 32, used = place % 32;
    unsigned long long buffer = 0;
    #pragma unroll
    for (int k = 0; k < 16; ++k) {
        const unsigned code = codes[words[k / 4] >> 8 * (k % 4) & 255];
        buffer |= (unsigned long long)(code & 0xffff) << used;
        used += code >> 16;
        if (used >= 32) {
            atomicOr(&bits[word++], (unsigned)buffer);
            buffer >>= 32;
            used -= 32;
        }
    }
    if (used) atomicOr(&bits[word], (unsigned)buffer);
    __syncthreads();
    for (int i = t; i < (total + 31) / 32; i += 256) out[(size_t)blockIdx.x * 1536 + i] = bits[i];
    if (t == 0) sizes[blockIdx.x] = total;
}

// Keys with values in segments of 128, each sorted by a warp: four pairs a lane, exchanged in registers or between lanes.
__device__ __forceinline__ void exchanged(unsigned &key, unsigned &value, unsigned other_key, unsigned other_value, bool less) {
    if (less ? other_key < key : other_key > key) key = other_key, value = other_value;
}
KERNEL(128) segment_sort(const uint4 *keys, const uint4 *values, uint4 *keys_out, uint4 *values_out) {
    const int lane = threadIdx.x % 32;
    const size_t at = (size_t)blockIdx.x * 128 + threadIdx.x;
    const uint4 k4 = keys[at], v4 = values[at];
    unsigned key[4] = {k4.x, k4.y, k4.z, k4.w}, value[4] = {v4.x, v4.y, v4.z, v4.w};
    #pragma unroll
    for (int size = 2; size <= 128; size *= 2)
        #pragma unroll
        for (int step = size / 2; step > 0; step /= 2) {
            if (step < 4) {
                #pragma unroll
                for (int r = 0; r < 4; ++r) {
                    if (r & step) continue;
                    const bool up = ((lane * 4 + r) & size) == 0;
                    if (up ? key[r] > key[r | step] : key[r] < key[r | step]) {
                        const unsigned k = key[r], v = value[r];
                        key[r] = key[r | step], value[r] = value[r | step];
                        key[r | step] = k, value[r | step] = v;
                    }
                }
            } else {
                const bool up = ((lane * 4) & size) == 0, low = (lane & (step / 4)) == 0;
                #pragma unroll
                for (int r = 0; r < 4; ++r) {
                    const unsigned k = __shfl_xor_sync(ALL, key[r], step / 4), v = __shfl_xor_sync(ALL, value[r], step / 4);
                    exchanged(key[r], value[r], k, v, up == low);
                }
            }
        }
    keys_out[at] = make_uint4(key[0], key[1], key[2], key[3]);
    values_out[at] = make_uint4(value[0], value[1], value[2], value[3]);
}

// What a regression over paths of prices needs at one date (Longstaff and Schwartz): eight sums over paths that are worth
// something, in doubles.
KERNEL(256) regression_sums(const double2 *prices, const double2 *worth, double *sums, double strike, int n) {
    __shared__ double partial[8][8];
    double s[8] = {};
    for (int i = blockIdx.x * 256 + threadIdx.x; i < n; i += gridDim.x * 256) {
        const double2 p = prices[i], w = worth[i];
        #pragma unroll
        for (int k = 0; k < 2; ++k) {
            const double price = 100.0 + 30.0 * (k ? p.y : p.x), y = k ? w.y : w.x;
            if (price < strike) {
                const double x = price / strike, square = x * x;
                s[0] += 1.0, s[1] += x, s[2] += square, s[3] += square * x, s[4] += square * square;
                s[5] += y, s[6] += x * y, s[7] += square * y;
            }
        }
    }
    #pragma unroll
    for (int k = 0; k < 8; ++k) {
        s[k] = warp_sum(s[k]);
        if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32][k] = s[k];
    }
    __syncthreads();
    if (threadIdx.x < 8) {
        double all = 0.0;
        for (int w = 0; w < 8; ++w) all += partial[w][threadIdx.x];
        atomicAdd(&sums[threadIdx.x], all);
    }
}
