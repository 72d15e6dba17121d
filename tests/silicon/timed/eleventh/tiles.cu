// Kernels of the eleventh set in pairs, which differ in the layout of shared memory alone.

#define NAMED(NAME, RUN, PARAMETERS, ARGUMENTS, ...) \
    extern "C" __global__ void __launch_bounds__(256) NAME PARAMETERS { RUN<__VA_ARGS__> ARGUMENTS; }

// Points moved by the four of 64 bones that each names: matrices of three by four in rows of PITCH.
template <int PITCH> __device__ __forceinline__ void skinned(const float4 *bones, const float4 *points, const uchar4 *names,
                                                             const float4 *weights, float4 *out, int count) {
    __shared__ __align__(16) float held[64 * PITCH];
    for (int k = threadIdx.x; k < 192; k += 256) *(float4 *)(held + k / 3 * PITCH + k % 3 * 4) = bones[k];
    __syncthreads();
    for (int i = blockIdx.x * 256 + threadIdx.x; i < count; i += gridDim.x * 256) {
        const float4 p = points[i], w = weights[i];
        const uchar4 n = names[i];
        const int which[4] = {n.x & 63, n.y & 63, n.z & 63, n.w & 63};
        const float by[4] = {w.x, w.y, w.z, w.w};
        float4 sum = {0, 0, 0, 1};
        #pragma unroll
        for (int k = 0; k < 4; ++k) {
            const float *bone = held + which[k] * PITCH;
            const float4 a = *(float4 *)bone, b = *(float4 *)(bone + 4), c = *(float4 *)(bone + 8);
            sum.x += by[k] * (a.x * p.x + a.y * p.y + a.z * p.z + a.w);
            sum.y += by[k] * (b.x * p.x + b.y * p.y + b.z * p.z + b.w);
            sum.z += by[k] * (c.x * p.x + c.y * p.y + c.z * p.z + c.w);
        }
        out[i] = sum;
    }
}
#define SKINNED(NAME, PITCH)                                                                                     \
    NAMED(NAME, skinned, (const float4 *bones, const float4 *points, const uchar4 *names, const float4 *weights, \
                          float4 *out, int count), (bones, points, names, weights, out, count), PITCH)
SKINNED(skinned_plain, 16)
SKINNED(skinned_padded, 20)

// Hadamard's transform of 4096 numbers, in three passes of sixteen to a thread.
template <int PAD> __device__ __forceinline__ void hadamard(const float *in, float *out) {
    __shared__ float held[4096 + 128 * PAD];
    const auto at = [](int i) { return PAD ? i + i / 32 : i; };
    const int t = threadIdx.x;
    float v[16];
    const auto sums = [&] {
        #pragma unroll
        for (int d = 1; d < 16; d *= 2)
            #pragma unroll
            for (int k = 0; k < 16; ++k)
                if (!(k & d)) {
                    const float a = v[k], b = v[k + d];
                    v[k] = a + b, v[k + d] = a - b;
                }
    };
    for (int k = 0; k < 16; ++k) v[k] = in[(size_t)blockIdx.x * 4096 + k * 256 + t];
    sums();
    for (int k = 0; k < 16; ++k) held[at(k * 256 + t)] = v[k];
    __syncthreads();
    const int mid = t / 16 * 256 + t % 16;
    for (int k = 0; k < 16; ++k) v[k] = held[at(mid + k * 16)];
    sums();
    for (int k = 0; k < 16; ++k) held[at(mid + k * 16)] = v[k];
    __syncthreads();
    for (int k = 0; k < 16; ++k) v[k] = held[at(t * 16 + k)];
    sums();
    for (int k = 0; k < 16; ++k) held[at(t * 16 + k)] = v[k] * 0.015625f;
    __syncthreads();
    for (int k = 0; k < 16; ++k) out[(size_t)blockIdx.x * 4096 + k * 256 + t] = held[at(k * 256 + t)];
}
NAMED(hadamard_plain, hadamard, (const float *in, float *out), (in, out), 0)
NAMED(hadamard_padded, hadamard, (const float *in, float *out), (in, out), 1)

__constant__ unsigned powers[9] = {824925969, 745245250, 5152499, 34051923, 232329203, 568407860, 54518517, 888603487, 691295370};

// Transforms of 1024 residues by 998244353, four a block; roots lie in shared memory, too.
template <int PAD> __device__ __forceinline__ void residues(const unsigned *in, unsigned *out) {
    constexpr unsigned P = 998244353, INVERSE = 998244351, ONE = 301989884;
    __shared__ unsigned held[1056], roots[528];
    const auto at = [](int i) { return PAD ? i + i / 32 : i; };
    const auto product = [](unsigned a, unsigned b) {
        const unsigned long long full = (unsigned long long)a * b;
        const unsigned long long more = (unsigned long long)((unsigned)full * INVERSE) * P;
        const unsigned v = (full + more) >> 32;
        return v >= P ? v - P : v;
    };
    const int t = threadIdx.x;
    for (int k = t; k < 512; k += 256) {
        unsigned root = ONE;
        for (int bit = 0; bit < 9; ++bit)
            if (k >> bit & 1) root = product(root, powers[bit]);
        roots[at(k)] = root;
    }
    for (int turn = 0; turn < 4; ++turn) {
        const size_t from = ((size_t)blockIdx.x * 4 + turn) * 1024;
        for (int k = t; k < 1024; k += 256) held[at(k)] = in[from + k] % P;
        for (int apart = 512; apart; apart /= 2) {
            __syncthreads();
            for (int k = t; k < 512; k += 256) {
                const int low = k / apart * 2 * apart + k % apart;
                const unsigned a = held[at(low)], b = held[at(low + apart)], sum = a + b;
                held[at(low)] = sum >= P ? sum - P : sum;
                held[at(low + apart)] = product(a >= b ? a - b : a + P - b, roots[at(k % apart * (512 / apart))]);
            }
        }
        __syncthreads();
        for (int k = t; k < 1024; k += 256) out[from + k] = held[at(k)];
        __syncthreads();
    }
}
NAMED(residues_plain, residues, (const unsigned *in, unsigned *out), (in, out), 0)
NAMED(residues_padded, residues, (const unsigned *in, unsigned *out), (in, out), 1)

// Frames of 256 samples, 64 apart, under a window: 32 side by side, a sample of all after another.
template <int PAD> __device__ __forceinline__ void framed(const float *in, const float *window, float *out, int frames) {
    __shared__ float samples[2240 + 35 * PAD];
    const auto at = [](int i) { return PAD ? i + i / 64 : i; };
    const int lane = threadIdx.x % 32, first = blockIdx.x * 32;
    for (int k = threadIdx.x; k < 2240; k += 256) samples[at(k)] = in[first * 64 + k];
    __syncthreads();
    #pragma unroll 4
    for (int k = threadIdx.x / 32; k < 256; k += 8)
        out[(size_t)k * frames + first + lane] = samples[at(lane * 64 + k)] * window[k];
}
NAMED(framed_plain, framed, (const float *in, const float *window, float *out, int frames), (in, window, out, frames), 0)
NAMED(framed_padded, framed, (const float *in, const float *window, float *out, int frames), (in, window, out, frames), 1)

// Columns of 32 by 32 matrices made orthogonal one after another: a warp to a matrix, a lane to a column.
template <int PITCH> __device__ __forceinline__ void orthogonal(const float *in, float *out) {
    __shared__ float held[4][32 * PITCH];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const size_t from = ((size_t)blockIdx.x * 4 + warp) * 1024;
    float *all = held[warp], *own = all + lane * PITCH;
    for (int k = 0; k < 32; ++k) all[k * PITCH + lane] = in[from + k * 32 + lane] + (k == lane ? 4.f : 0.f);
    __syncwarp();
    #pragma unroll 1
    for (int j = 0; j < 32; ++j) {
        const float mine = all[j * PITCH + lane];
        float square = mine * mine;
        for (int d = 16; d; d /= 2) square += __shfl_xor_sync(~0u, square, d);
        __syncwarp();
        all[j * PITCH + lane] = mine * rsqrtf(square);
        __syncwarp();
        if (lane > j) {
            float dot = 0;
            #pragma unroll 8
            for (int r = 0; r < 32; ++r) dot += own[r] * all[j * PITCH + r];
            #pragma unroll 8
            for (int r = 0; r < 32; ++r) own[r] -= dot * all[j * PITCH + r];
        }
        __syncwarp();
    }
    for (int k = 0; k < 32; ++k) out[from + k * 32 + lane] = all[k * PITCH + lane];
}
NAMED(orthogonal_plain, orthogonal, (const float *in, float *out), (in, out), 32)
NAMED(orthogonal_padded, orthogonal, (const float *in, float *out), (in, out), 33)

// 32 keys of each thread's own, put in order by insertion.
template <int PITCH> __device__ __forceinline__ void inserted(const unsigned *in, unsigned *out) {
    __shared__ unsigned keys[128 * PITCH];
    for (int k = threadIdx.x; k < 4096; k += 128) keys[k / 32 * PITCH + k % 32] = in[(size_t)blockIdx.x * 4096 + k];
    __syncthreads();
    unsigned *own = keys + threadIdx.x * PITCH;
    #pragma unroll 1
    for (int k = 1; k < 32; ++k) {
        const unsigned key = own[k];
        int to = k;
        #pragma unroll 1
        for (; to > 0 && own[to - 1] > key; --to) own[to] = own[to - 1];
        own[to] = key;
    }
    __syncthreads();
    for (int k = threadIdx.x; k < 4096; k += 128) out[(size_t)blockIdx.x * 4096 + k] = keys[k / 32 * PITCH + k % 32];
}
NAMED(inserted_plain, inserted, (const unsigned *in, unsigned *out), (in, out), 32)
NAMED(inserted_padded, inserted, (const unsigned *in, unsigned *out), (in, out), 33)

// How many leaves of a tree lie near each point; where to go back to lies on a stack in shared memory,
// a thread's own side by side, or one of all threads side by side.
template <int OWN, int ALL> __device__ __forceinline__ void walked(const float4 *points, const float *splits, const float4 *leaves, int *out) {
    __shared__ int stack[128 * 16];
    const int i = blockIdx.x * 128 + threadIdx.x;
    int *own = stack + threadIdx.x * OWN;
    const float4 p = points[i];
    int top = 0, node = 1, count = 0;
    while (node) {
        if (node >= 4096) {
            const float4 leaf = leaves[node - 4096];
            const float x = leaf.x - p.x, y = leaf.y - p.y, z = leaf.z - p.z;
            count += x * x + y * y + z * z < 0.5f;
            node = top ? own[--top * ALL] : 0;
            continue;
        }
        const int axis = (31 - __clz(node)) % 3;
        const float far = (axis == 0 ? p.x : axis == 1 ? p.y : p.z) - splits[node];
        const int near = 2 * node + (far > 0);
        if (fabsf(far) < 0.25f) own[top++ * ALL] = near ^ 1;
        node = near;
    }
    out[i] = count;
}
NAMED(walked_own, walked, (const float4 *points, const float *splits, const float4 *leaves, int *out), (points, splits, leaves, out), 16, 1)
NAMED(walked_beside, walked, (const float4 *points, const float *splits, const float4 *leaves, int *out), (points, splits, leaves, out), 1, 128)

// Bytes of doubles apart, first of all first ones: as compressors of arrays like them, 1024 doubles a block.
template <int PAD> __device__ __forceinline__ void planes_of_bytes(const unsigned *in, unsigned *out, int count) {
    __shared__ unsigned held[2048 + 64 * PAD];
    for (int k = threadIdx.x; k < 2048; k += 256) held[PAD ? k + k / 32 : k] = in[(size_t)blockIdx.x * 2048 + k];
    __syncthreads();
    const volatile unsigned char *bytes = (const volatile unsigned char *)held;
    #pragma unroll
    for (int plane = 0; plane < 8; ++plane) {
        unsigned word = 0;
        #pragma unroll
        for (int k = 0; k < 4; ++k) {
            const int place = (threadIdx.x * 4 + k) * 2 + plane / 4;
            word |= (unsigned)bytes[(PAD ? place + place / 32 : place) * 4 + plane % 4] << 8 * k;
        }
        out[(size_t)plane * (count / 4) + blockIdx.x * 256 + threadIdx.x] = word;
    }
}
NAMED(planes_of_bytes_plain, planes_of_bytes, (const unsigned *in, unsigned *out, int count), (in, out, count), 0)
NAMED(planes_of_bytes_padded, planes_of_bytes, (const unsigned *in, unsigned *out, int count), (in, out, count), 1)

// Tiles of 128 by 128 turned by clusters of four blocks, which write into one another's memory.
template <int PITCH> __device__ __forceinline__ void turned_together(const float *in, float *out, int width, int height) {
    __shared__ float rows[32 * PITCH];
    const int rank = blockIdx.x % 4, tile = blockIdx.x / 4, across = width / 128, lane = threadIdx.x % 32;
    const int x = tile % across * 128, y = tile / across * 128;
    const unsigned base = (unsigned)__cvta_generic_to_shared(rows);
    asm volatile("barrier.cluster.arrive.aligned;\n\tbarrier.cluster.wait.aligned;" ::: "memory");
    for (int part = 0; part < 4; ++part) {
        unsigned there;
        asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(base), "r"(part));
        #pragma unroll
        for (int j = threadIdx.x / 32; j < 32; j += 8) {
            const float v = in[(size_t)(y + rank * 32 + j) * width + x + part * 32 + lane];
            asm volatile("st.shared::cluster.f32 [%0], %1;" ::"r"(there + (lane * PITCH + rank * 32 + j) * 4), "f"(v) : "memory");
        }
    }
    asm volatile("barrier.cluster.arrive.aligned;\n\tbarrier.cluster.wait.aligned;" ::: "memory");
    for (int k = threadIdx.x; k < 4096; k += 256)
        out[(size_t)(x + rank * 32 + k / 128) * height + y + k % 128] = rows[k / 128 * PITCH + k % 128];
}
#define TOGETHER(NAME, PITCH)                                                                                              \
    extern "C" __global__ void __cluster_dims__(4, 1, 1) NAME(const float *in, float *out, int width, int height) { \
        turned_together<PITCH>(in, out, width, height);                                                                  \
    }
TOGETHER(turned_together_plain, 128)
TOGETHER(turned_together_padded, 129)
