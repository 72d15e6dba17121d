// Kernels alone: additions in global memory of several types, into few words and many; the last block of a sum; greatest elements by digits; paths through a table.
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <stdint.h>

// ------------------------------------------------------------------------------------------------
// Count what four bits name: all threads add to sixteen words.
extern "C" __global__ void __launch_bounds__(256) sixteen_counters(const uint32_t *in, uint32_t *counts) {
    atomicAdd(&counts[in[blockIdx.x * 256 + threadIdx.x] >> 28], 1u);
}

// ------------------------------------------------------------------------------------------------
// Sum floats by keys, of which there are 64; two for each thread.
extern "C" __global__ void __launch_bounds__(256) sums_of_64(const uint32_t *keys, const float *values, float *sums) {
    const int first = blockIdx.x * 512 + threadIdx.x;
#pragma unroll
    for (int i = first; i < first + 512; i += 256) atomicAdd(&sums[keys[i] & 63], values[i]);
}

// ------------------------------------------------------------------------------------------------
// Take tickets of 1024 queues: each addition acquires and releases, and what it found is kept.
extern "C" __global__ void __launch_bounds__(128) ordered_tickets(const uint32_t *queues, uint32_t *heads, uint32_t *tickets) {
    const int first = blockIdx.x * 512 + threadIdx.x;
    for (int i = first; i < first + 512; i += 128) {
        uint32_t found;
        asm volatile("atom.add.acq_rel.gpu.global.u32 %0, [%1], 1;" : "=r"(found) : "l"(heads + (queues[i] & 1023)) : "memory");
        tickets[i] = found;
    }
}

// ------------------------------------------------------------------------------------------------
// Sum long numbers by the 256 values of a byte.
extern "C" __global__ void __launch_bounds__(256) long_totals(const uint8_t *keys, const uint32_t *values, unsigned long long *totals) {
    const int i = blockIdx.x * 256 + threadIdx.x;
    atomicAdd(&totals[keys[i]], (unsigned long long)values[i]);
}

// ------------------------------------------------------------------------------------------------
// Add gradients to the rows of a table of halves, a warp for each token: two halves a lane.
extern "C" __global__ void __launch_bounds__(256) half_table_grads(const uint32_t *tokens, const __half2 *grads, __half2 *table, uint32_t rows) {
    const int token = blockIdx.x * 8 + threadIdx.x / 32, lane = threadIdx.x % 32;
    atomicAdd(&table[(size_t)(tokens[token] % rows) * 32 + lane], grads[(size_t)token * 32 + lane]);
}

// ------------------------------------------------------------------------------------------------
// The lightest edge that leaves each of 512 parts of a graph: the weight is above, the edge below, and all bits are turned, so that none is zero.
extern "C" __global__ void __launch_bounds__(256) lightest_edges(const uint32_t *from, const uint32_t *to, const uint32_t *weights, const uint32_t *parts, unsigned long long *least, uint32_t nodes) {
    const uint32_t edge = blockIdx.x * 256 + threadIdx.x;
    const uint32_t one = parts[from[edge] % nodes] & 511, other = parts[to[edge] % nodes] & 511;
    if (one == other) return;
    const unsigned long long found = (unsigned long long)weights[edge] << 32 | edge;
    atomicMax(&least[one], ~found);
    atomicMax(&least[other], ~found);
}

// ------------------------------------------------------------------------------------------------
// The sum of a vector in one launch: the block that comes last adds up what all have left, in order.
extern "C" __global__ void __launch_bounds__(256) last_block_sums(const float4 *in, float *parts, unsigned *arrived, float *sum, int each) {
    __shared__ float warps[8];
    __shared__ bool last;
    const int tid = threadIdx.x;
    auto total = [&](float x) {
        for (int far = 16; far > 0; far /= 2) x += __shfl_xor_sync(~0u, x, far);
        if (tid % 32 == 0) warps[tid / 32] = x;
        __syncthreads();
        x = 0.f;
        for (int i = 0; i < 8; i++) x += warps[i];
        return x;
    };
    float mine = 0.f;
    for (int i = 0; i < each; i++) {
        const float4 x = in[((size_t)blockIdx.x * each + i) * 256 + tid];
        mine += x.x + x.y + x.z + x.w;
    }
    mine = total(mine);
    if (tid == 0) {
        parts[blockIdx.x] = mine;
        __threadfence();
        last = atomicInc(arrived, gridDim.x - 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (!last) return;
    __threadfence();
    float all = 0.f;
    for (int i = tid; i < gridDim.x; i += 256) all += __ldcg(&parts[i]);
    all = total(all);
    if (tid == 0) *sum = all;
}

// ------------------------------------------------------------------------------------------------
// The k-th greatest of a row of 8192 by its digits of eight bits, from above; then where the row's greater elements go.
extern "C" __global__ void __launch_bounds__(256) radix_select(const float *in, float *kth, float *greatest, int k) {
    __shared__ uint32_t counts[256], chosen[2], filled;
    const int tid = threadIdx.x, row = blockIdx.x;
    uint32_t key[32];
#pragma unroll
    for (int i = 0; i < 32; i++) {
        const uint32_t bits = __float_as_uint(in[(size_t)row * 8192 + i * 256 + tid]);
        key[i] = bits & 0x80000000u ? ~bits : bits | 0x80000000u;
    }
    uint32_t found = 0, mask = 0, left = k;
    for (int shift = 24; shift >= 0; shift -= 8) {
        counts[tid] = 0;
        __syncthreads();
#pragma unroll
        for (int i = 0; i < 32; i++)
            if ((key[i] & mask) == found) atomicAdd(&counts[key[i] >> shift & 255], 1u);
        __syncthreads();
        if (tid < 32) {  // eight digits a lane, from the greatest
            uint32_t own = 0;
            for (int i = 0; i < 8; i++) own += counts[255 - tid * 8 - i];
            uint32_t up = own;
            for (int far = 1; far < 32; far *= 2) {
                const uint32_t before = __shfl_up_sync(~0u, up, far);
                if (tid >= far) up += before;
            }
            uint32_t above = up - own;
            if (above < left && left <= up)
                for (int i = 0; i < 8; i++) {
                    const uint32_t here = counts[255 - tid * 8 - i];
                    if (above + here >= left) {
                        chosen[0] = 255 - tid * 8 - i;
                        chosen[1] = left - above;
                        break;
                    }
                    above += here;
                }
        }
        if (tid == 0) filled = 0;
        __syncthreads();
        found |= chosen[0] << shift;
        mask |= 255u << shift;
        left = chosen[1];
    }
#pragma unroll
    for (int i = 0; i < 32; i++)
        if (key[i] > found) greatest[(size_t)row * k + atomicAdd(&filled, 1u)] = __uint_as_float(key[i] & 0x80000000u ? key[i] ^ 0x80000000u : ~key[i]);
    if (tid == 0) kth[row] = __uint_as_float(found & 0x80000000u ? found ^ 0x80000000u : ~found);
}

// ------------------------------------------------------------------------------------------------
// The best monotone path of 512 sounds along 128 letters, a thread for each letter; ballots remember the ways, and one thread goes back.
extern "C" __global__ void __launch_bounds__(128) monotone_paths(const float *scores, int *path, int sounds) {
    __shared__ float best[2][129];
    __shared__ uint32_t came[512][4];
    const int letter = threadIdx.x, warp = letter / 32;
    scores += (size_t)blockIdx.x * sounds * 128;
    best[0][letter + 1] = letter == 0 ? scores[0] : -1e9f;
    if (letter == 0) best[0][0] = best[1][0] = -1e9f;
    float next = scores[128 + letter];
    __syncthreads();
    for (int t = 1; t < sounds; t++) {
        const float score = next, stay = best[(t + 1) % 2][letter + 1], step = best[(t + 1) % 2][letter];
        if (t + 1 < sounds) next = scores[(t + 1) * 128 + letter];
        const uint32_t ways = __ballot_sync(~0u, step > stay);
        if (letter % 32 == 0) came[t][warp] = ways;
        best[t % 2][letter + 1] = score + fmaxf(stay, step);
        __syncthreads();
    }
    if (letter == 0) {
        int at = 127;
        for (int t = sounds - 1; t >= 0; t--) {
            path[(size_t)blockIdx.x * sounds + t] = at;
            if (t > 0) at -= came[t][at / 32] >> (at % 32) & 1;
        }
    }
}
