// Products by wgmma: tiles that TMA or cp.async brings, in four layouts; rings of stages, a producer, one or two groups of consumers.
#include "common.cuh"

extern __shared__ __align__(1024) u8 memory[];

// ---- 64 x N, 32 bytes deep. --------------------------------------------------------------------
#define LIST32 "%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31"
#define LIST64 LIST32 "," "%32,%33,%34,%35,%36,%37,%38,%39,%40,%41,%42,%43,%44,%45,%46,%47,%48,%49,%50,%51,%52,%53,%54,%55,%56,%57,%58,%59,%60,%61,%62,%63"
#define LIST128 LIST64 "," "%64,%65,%66,%67,%68,%69,%70,%71,%72,%73,%74,%75,%76,%77,%78,%79,%80,%81,%82,%83,%84,%85,%86,%87,%88,%89,%90,%91,%92,%93,%94,%95" "," "%96,%97,%98,%99,%100,%101,%102,%103,%104,%105,%106,%107,%108,%109,%110,%111,%112,%113,%114,%115,%116,%117,%118,%119,%120,%121,%122,%123,%124,%125,%126,%127"
#define SUMS8(i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3]), "+f"(d[i + 4]), "+f"(d[i + 5]), "+f"(d[i + 6]), "+f"(d[i + 7])
#define SUMS32(i) SUMS8(i), SUMS8(i + 8), SUMS8(i + 16), SUMS8(i + 24)
#define SUMS64(i) SUMS32(i), SUMS32(i + 32)
#define SUMS128(i) SUMS64(i), SUMS64(i + 64)
struct Sixteen { static constexpr int SIZE = 2; };
struct Eight8 { static constexpr int SIZE = 1; };
#define MULTIPLY(KIND, COUNT, SHAPE, A, B, P, END)                                                        \
    __device__ __forceinline__ void multiply(KIND, float (&d)[COUNT], u64 a, u64 b, int add) {            \
        asm volatile("{\n .reg .pred p;\n setp.ne.b32 p, %" P ", 0;\n wgmma.mma_async.sync.aligned." SHAPE \
                     " {" LIST##COUNT "}, %" A ", %" B ", p, " END ";\n}"                                 \
                     : SUMS##COUNT(0) : "l"(a), "l"(b), "r"(add));                                        \
    }
MULTIPLY(Sixteen, 32, "m64n64k16.f32.f16.f16", "32", "33", "34", "1, 1, 0, 0")
MULTIPLY(Sixteen, 64, "m64n128k16.f32.f16.f16", "64", "65", "66", "1, 1, 0, 0")
MULTIPLY(Sixteen, 128, "m64n256k16.f32.f16.f16", "128", "129", "130", "1, 1, 0, 0")
MULTIPLY(Eight8, 64, "m64n128k32.f32.e4m3.e4m3", "64", "65", "66", "1, 1")
__device__ __forceinline__ void multiply(float (&d)[64], const u32 (&a)[4], u64 b, int add) {
    asm volatile("{\n .reg .pred p;\n setp.ne.b32 p, %69, 0;\n wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16 {" LIST64
                 "}, {%64, %65, %66, %67}, %68, p, 1, 1, 0;\n}"
                 : SUMS64(0) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(add));
}

// A matrix of ROWS rows of 128 bytes, in slices of S bytes (16: no swizzle), from 32 bytes `step` and row `first` on.
template <int ROWS, int S> __device__ __forceinline__ u64 operand(const u8 *tile, int first, int step) {
    if (S == 16) return matrix(tile + step * 2 * ROWS * 16 + first * 16, ROWS * 16, 128, 0);
    return matrix(tile + step * 32 / S * ROWS * S + first * S + step * 32 % S, 16, 8 * S, S == 128 ? 1 : S == 64 ? 2 : 3);
}

template <int COUNT> __device__ __forceinline__ void put_sums(const float (&sums)[COUNT], float *c, int n) {
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    c += (size_t)(warp * 16 + lane / 4) * n + lane % 4 * 2;
    #pragma unroll
    for (int j = 0; j < COUNT / 4; ++j) {
        *(float2 *)(c + 8 * j) = make_float2(sums[4 * j], sums[4 * j + 1]);
        *(float2 *)(c + 8 * n + 8 * j) = make_float2(sums[4 * j + 2], sums[4 * j + 3]);
    }
}

// Halves of a group's sums, into tiles of 64 x 64 that TMA stores: rows of 128 bytes, plain or swizzled.
template <int HOW, int COUNT> __device__ __forceinline__ void store_sums(const float (&sums)[COUNT], u8 *tiles, const TensorMap *map, int x, int y) {
    const int lane = threadIdx.x % 32, first = threadIdx.x / 32 % 4 * 16, group = threadIdx.x / 128;
    #pragma unroll
    for (int j = 0; j < COUNT / 4; j += 2) {
        const float *s = sums + 4 * j;
        store_matrices(tiles + j / 8 * 8192 + place<HOW, 128>(first + lane % 16, j % 8 + lane / 16),
                       halves(s[0], s[1]), halves(s[2], s[3]), halves(s[4], s[5]), halves(s[6], s[7]));
    }
    writes_are_visible();
    asm volatile("bar.sync %0, 128;" ::"r"(group + 1) : "memory");
    if (threadIdx.x % 128 == 0) {
        for (int i = 0; i < COUNT / 32; ++i) store_tile(map, tiles + i * 8192, x + i * 64, y);
        commit_copies();
        wait_for_reads();
    }
}

// GROUPS groups of consumers of 64 x N and a producer, STAGES stages of 128 bytes of k; two blocks of a cluster share A.
// STORED: -1 sums go to `c` as floats, else halves to `out`, by way of tiles that lie so.
template <class Kind, int N, int GROUPS, int STAGES, int S, bool CLUSTER, int STORED>
__device__ __forceinline__ void ring(const TensorMap *a, const TensorMap *b, float *c, const TensorMap *out, int n, int k) {
    constexpr int M = 64 * GROUPS, A = M * 128, B = N * 128, SHARE = CLUSTER ? M / 2 : M;
    __shared__ alignas(8) u64 full[STAGES], empty[STAGES];
    const int group = threadIdx.x / 128, steps = k / 128;
    constexpr int WIDE = S / Kind::SIZE, DEPTH = WIDE * (128 / S);
    if (threadIdx.x == 0) {
        for (int i = 0; i < STAGES; ++i) {
            barrier_init(&full[i], 1);
            barrier_init(&empty[i], CLUSTER ? 2 * GROUPS : GROUPS);
        }
        barriers_are_visible();
    }
    if (CLUSTER) cluster_sync();
    else __syncthreads();
    if (group == GROUPS) {
        if (GROUPS == 2) give_registers<40>();
        if (threadIdx.x == GROUPS * 128)
            for (int i = 0; i < steps; ++i) {
                u8 *stage = memory + i % STAGES * (A + B);
                u64 *barrier = &full[i % STAGES];
                wait(&empty[i % STAGES], i / STAGES + 1 & 1);
                arrive_and_expect(barrier, A + B);
                for (int s = 0; s < 128 / S; ++s) {
                    const int x = i * DEPTH + s * WIDE;
                    if (CLUSTER) {
                        const int rank = cluster_rank();
                        load_tile_for(stage + (s * M + rank * SHARE) * S, a, barrier, x, blockIdx.y * M + rank * SHARE, 3);
                    } else load_tile(stage + s * M * S, a, barrier, x, blockIdx.y * M);
                    load_tile(stage + A + s * N * S, b, barrier, x, blockIdx.x * N);
                }
            }
    } else {
        if (GROUPS == 2) take_registers<232>();
        const auto leave = [&](int i) {
            if (CLUSTER) {
                if (threadIdx.x % 128 < 2) arrive_at(&empty[i % STAGES], threadIdx.x % 128);
            } else if (threadIdx.x % 128 == 0) arrive(&empty[i % STAGES]);
        };
        float sums[N / 2];
        for (int i = 0; i < steps; ++i) {
            const u8 *stage = memory + i % STAGES * (A + B);
            wait(&full[i % STAGES], i / STAGES & 1);
            products_begin();
            #pragma unroll
            for (int step = 0; step < 4; ++step)
                multiply(Kind(), sums, operand<M, S>(stage, group * 64, step), operand<N, S>(stage + A, 0, step), i + step > 0);
            products_end();
            products_wait<1>();
            if (i > 0) leave(i - 1);
        }
        products_wait<0>();
        if (CLUSTER) leave(steps - 1);
        if constexpr (STORED < 0) put_sums(sums, c + (size_t)blockIdx.y * M * n + blockIdx.x * N, n);
        else store_sums<STORED>(sums, memory + STAGES * (A + B) + group * N * 128, out, blockIdx.x * N, blockIdx.y * M + group * 64);
    }
    if (CLUSTER) cluster_sync();
}
#define RING(NAME, CLUSTERED, KIND, N, GROUPS, STAGES, S, CLUSTER)                                                                              \
    extern "C" __global__ void CLUSTERED __launch_bounds__(GROUPS == 2 ? 384 : 160)                                                             \
        NAME(const __grid_constant__ TensorMap a, const __grid_constant__ TensorMap b, float *c, int n, int k) {                                \
        ring<KIND, N, GROUPS, STAGES, S, CLUSTER, -1>(&a, &b, c, nullptr, n, k);                                                                \
    }
// 64 x 128, a group and a warp that loads.
RING(wgmma_single, , Sixteen, 128, 1, 3, 128, false)
// 128 x 128, in four layouts.
RING(wgmma_128, , Sixteen, 128, 2, 3, 128, false)
RING(wgmma_64, , Sixteen, 128, 2, 3, 64, false)
RING(wgmma_32, , Sixteen, 128, 2, 3, 32, false)
RING(wgmma_none, , Sixteen, 128, 2, 3, 16, false)
// 128 x 256; floats of eight bits; a cluster of two.
RING(wgmma_wide, , Sixteen, 256, 2, 4, 128, false)
RING(wgmma_eight, , Eight8, 128, 2, 4, 128, false)
RING(wgmma_cluster, __cluster_dims__(2, 1, 1), Sixteen, 128, 2, 4, 128, true)

// 128 x 128, whose halves leave by TMA.
#define STORED(NAME, HOW)                                                                                                                       \
    extern "C" __global__ void __launch_bounds__(384) NAME(const __grid_constant__ TensorMap a, const __grid_constant__ TensorMap b,            \
                                                           const __grid_constant__ TensorMap out, int n, int k) {                               \
        ring<Sixteen, 128, 2, 3, 128, false, HOW>(&a, &b, nullptr, &out, n, k);                                                                 \
    }
STORED(wgmma_stored_plain, PLAIN)
STORED(wgmma_stored_swizzled, SWIZZLED)

// Tiles that all threads copy by cp.async, as wgmma reads them: swizzled, or eight rows of 16 bytes together. 128 x 128, three stages.
template <int S> __device__ __forceinline__ void copied(const u8 *a, const u8 *b, float *c, int n, int k) {
    constexpr int STAGES = 3, SIZE = 128 * 128;
    const int t = threadIdx.x, steps = k / 128;
    const auto load = [&](int step) {
        if (step < steps) {
            u8 *stage = memory + step % STAGES * 2 * SIZE;
            #pragma unroll
            for (int i = 0; i < 4; ++i) {
                const int row = i * 32 + t / 8, part = t % 8, to = S == 128 ? place<SWIZZLED, 128>(row, part) : part * 2048 + row * 16;
                copy16(stage + to, a + (size_t)(blockIdx.y * 128 + row) * k + step * 128 + part * 16);
                copy16(stage + SIZE + to, b + (size_t)(blockIdx.x * 128 + row) * k + step * 128 + part * 16);
            }
        }
        commit();
    };
    float sums[64];
    load(0);
    load(1);
    for (int step = 0; step < steps; ++step) {
        const u8 *stage = memory + step % STAGES * 2 * SIZE;
        wait_for<1>();
        writes_are_visible();
        __syncthreads();
        load(step + 2);
        products_begin();
        #pragma unroll
        for (int at = 0; at < 4; ++at)
            multiply(Sixteen(), sums, operand<128, S>(stage, t / 128 * 64, at), operand<128, S>(stage + SIZE, 0, at), step + at > 0);
        products_end();
        products_wait<0>();
    }
    put_sums(sums, c + (size_t)blockIdx.y * 128 * n + blockIdx.x * 128, n);
}
NAMED(wgmma_copied_swizzled, 256, copied, (const u8 *a, const u8 *b, float *c, int n, int k), (a, b, c, n, k), 128)
NAMED(wgmma_copied_apart, 256, copied, (const u8 *a, const u8 *b, float *c, int n, int k), (a, b, c, n, k), 16)

// A of signed bytes, which become halves in registers; B of halves: 64 x 128, 64 deep, two stages. Rows of A of 64 bytes, plain or swizzled.
template <int HOW> __device__ __forceinline__ void mixed(const TensorMap *a, const TensorMap *b, float *c, int n, int k) {
    constexpr int A = 64 * 64, B = 128 * 128;
    __shared__ alignas(1024) u8 stages[2][A + B];
    __shared__ alignas(8) u64 full[2];
    const int t = threadIdx.x, lane = t % 32, row = t / 32 * 16 + lane / 4, steps = k / 64;
    const auto load = [&](int i) {
        if (t == 0 && i < steps) {
            arrive_and_expect(&full[i % 2], A + B);
            load_tile(stages[i % 2] + B, a, &full[i % 2], i * 64, blockIdx.y * 64);
            load_tile(stages[i % 2], b, &full[i % 2], i * 64, blockIdx.x * 128);
        }
    };
    if (t == 0) {
        barrier_init(&full[0], 1);
        barrier_init(&full[1], 1);
        barriers_are_visible();
    }
    __syncthreads();
    load(0);
    float sums[64];
    for (int i = 0; i < steps; ++i) {
        load(i + 1);
        const u8 *stage = stages[i % 2];
        wait(&full[i % 2], i / 2 & 1);
        u32 x[4][4];
        #pragma unroll
        for (int at = 0; at < 16; ++at) {
            const int from = place<HOW, 64>(row + at % 2 * 8, at / 4) + at / 2 % 2 * 8 + lane % 4 * 2;
            const u32 two = __byte_perm(*(const unsigned short *)(stage + B + from) ^ 0x8080, 0x64646464, 0x4140), bias = 0x64806480;
            const __half2 value = __hsub2(*(const __half2 *)&two, *(const __half2 *)&bias);
            x[at / 4][at % 4] = *(const u32 *)&value;
        }
        products_begin();
        #pragma unroll
        for (int at = 0; at < 4; ++at) multiply(sums, x[at], operand<128, 128>(stage, 0, at), i + at > 0);
        products_end();
        products_wait<0>();
        __syncthreads();
    }
    put_sums(sums, c + (size_t)blockIdx.y * 64 * n + blockIdx.x * 128, n);
}
#define MIXED(NAME, HOW)                                                                                                                        \
    extern "C" __global__ void __launch_bounds__(128)                                                                                           \
        NAME(const __grid_constant__ TensorMap a, const __grid_constant__ TensorMap b, float *c, int n, int k) {                                \
        mixed<HOW>(&a, &b, c, n, k);                                                                                                            \
    }
MIXED(wgmma_mixed_plain, PLAIN)
MIXED(wgmma_mixed_swizzled, SWIZZLED)
