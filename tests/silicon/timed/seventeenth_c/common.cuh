// What kernels of this set share: asynchronous copies, matrices from shared memory, products of mma.sync, and their main loop.
#pragma once
#include "../../sass/cuda/hopper.cuh"

#define NAMED(NAME, THREADS, RUN, PARAMETERS, ARGUMENTS, ...) \
    extern "C" __global__ void __launch_bounds__(THREADS) NAME PARAMETERS { RUN<__VA_ARGS__> ARGUMENTS; }

typedef unsigned char u8;
enum { PLAIN, PADDED, SWIZZLED };

// ---- Copies of 4, 8 or 16 bytes; of nothing, zeros. --------------------------------------------
__device__ __forceinline__ void copy16(void *to, const void *from) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared_address(to)), "l"(from) : "memory");
}
__device__ __forceinline__ void copy16_if(void *to, const void *from, bool is) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared_address(to)), "l"(from), "r"(is ? 16 : 0) : "memory");
}
template <int BYTES> __device__ __forceinline__ void copy(void *to, const void *from) {
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(shared_address(to)), "l"(from), "n"(BYTES) : "memory");
}
__device__ __forceinline__ void commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int LEFT> __device__ __forceinline__ void wait_for() { asm volatile("cp.async.wait_group %0;" ::"n"(LEFT) : "memory"); }

// ---- Matrices of 8 x 8 halves. -----------------------------------------------------------------
__device__ __forceinline__ void load_matrices(u32 (&v)[4], const void *from) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(v[0]), "=r"(v[1]), "=r"(v[2]), "=r"(v[3]) : "r"(shared_address(from)) : "memory");
}
__device__ __forceinline__ void load_turned(u32 (&v)[4], const void *from) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(v[0]), "=r"(v[1]), "=r"(v[2]), "=r"(v[3]) : "r"(shared_address(from)) : "memory");
}
__device__ __forceinline__ void store_matrices(void *to, u32 a, u32 b, u32 c, u32 d) {
    asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};"
                 ::"r"(shared_address(to)), "r"(a), "r"(b), "r"(c), "r"(d) : "memory");
}
__device__ __forceinline__ u32 halves(float x, float y) {
    const __half2 two = __floats2half2_rn(x, y);
    return *reinterpret_cast<const u32 *>(&two);
}

// Where 16 bytes lie in rows of BYTES: plain, padded by 16 bytes, or swizzled so that eight rows differ in banks.
template <int HOW, int BYTES> __device__ __forceinline__ int place(int row, int part) {
    if (HOW == PADDED) return row * (BYTES + 16) + part * 16;
    if (HOW == SWIZZLED) part ^= BYTES == 64 ? row / 2 % 4 : row % 8;
    return row * BYTES + part * 16;
}
template <int HOW> constexpr int pitch(int bytes) { return bytes + (HOW == PADDED ? 16 : 0); }

// ---- Products: 16 x 8, 32 bytes deep. ----------------------------------------------------------
#define KIND(NAME, SUM, REGISTER, TYPES)                                                                           \
    struct NAME {                                                                                                  \
        using Sum = SUM;                                                                                           \
        static constexpr int COUNT = 4;                                                                            \
        static __device__ __forceinline__ void multiply(SUM(&s)[4], const u32(&a)[4], u32 b0, u32 b1) {            \
            asm("mma.sync.aligned." TYPES " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"       \
                : REGISTER(s[0]), REGISTER(s[1]), REGISTER(s[2]), REGISTER(s[3])                                   \
                : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));                                   \
        }                                                                                                          \
    }
KIND(Half, float, "+f", "m16n8k16.row.col.f32.f16.f16.f32");
KIND(Brain, float, "+f", "m16n8k16.row.col.f32.bf16.bf16.f32");
KIND(Tensor32, float, "+f", "m16n8k8.row.col.f32.tf32.tf32.f32");
KIND(Eight, float, "+f", "m16n8k32.row.col.f32.e4m3.e4m3.f32");
KIND(Byte, int, "+r", "m16n8k32.row.col.s32.s8.s8.s32");
struct HalfSum {  // sums are halves
    using Sum = u32;
    static constexpr int COUNT = 2;
    static __device__ __forceinline__ void multiply(u32 (&s)[2], const u32 (&a)[4], u32 b0, u32 b1) {
        asm("mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%0, %1}, {%2, %3, %4, %5}, {%6, %7}, {%0, %1};"
            : "+r"(s[0]), "+r"(s[1]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
    }
};

// A block's tile: BM x BN, of rows of KB bytes along k, or B of rows along n; WM x WN warps.
template <class Kind, int BM, int BN, int KB, int WM, int WN, int STAGES, int HOW, bool TURNED = false> struct Tile {
    static constexpr int THREADS = WM * WN * 32, MI = BM / WM / 16, NI = BN / WN / 8;
    static constexpr int A = BM * pitch<HOW>(KB), B = TURNED ? KB / 2 * pitch<HOW>(BN * 2) : BN * pitch<HOW>(KB);
    using Sums = typename Kind::Sum[MI][NI][Kind::COUNT];
    static constexpr int COLUMNS = BN, ROWS = BM, DEPTH = KB;
    static constexpr bool turned = TURNED;

    static __device__ __forceinline__ int row() { return threadIdx.x / 32 / WN * MI * 16; }
    static __device__ __forceinline__ int column() { return threadIdx.x / 32 % WN * NI * 8; }
    static __device__ __forceinline__ void fetch_a(u8 *to, const u8 *from, size_t across) {
        #pragma unroll
        for (int i = threadIdx.x; i < BM * KB / 16; i += THREADS) {
            const int r = i / (KB / 16), part = i % (KB / 16);
            copy16(to + place<HOW, KB>(r, part), from + r * across + part * 16);
        }
    }
    static __device__ __forceinline__ void fetch_b(u8 *to, const u8 *from, size_t across) {
        constexpr int BYTES = TURNED ? BN * 2 : KB, PARTS = BYTES / 16;
        #pragma unroll
        for (int i = threadIdx.x; i < (TURNED ? KB / 2 : BN) * PARTS; i += THREADS) {
            const int r = i / PARTS, part = i % PARTS;
            copy16(to + place<HOW, BYTES>(r, part), from + r * across + part * 16);
        }
    }
    static __device__ __forceinline__ void multiply(const u8 *a, const u8 *b, Sums &sums) {
        const int lane = threadIdx.x % 32;
        #pragma unroll
        for (int k = 0; k < KB / 32; ++k) {
            u32 x[MI][4], y[NI / 2][4];
            #pragma unroll
            for (int i = 0; i < MI; ++i) load_matrices(x[i], a + place<HOW, KB>(row() + i * 16 + lane % 16, 2 * k + lane / 16));
            #pragma unroll
            for (int j = 0; j < NI / 2; ++j)
                if (TURNED) load_turned(y[j], b + place<HOW, BN * 2>(k * 16 + lane % 16, column() / 8 + 2 * j + lane / 16));
                else load_matrices(y[j], b + place<HOW, KB>(column() + j * 16 + lane / 16 * 8 + lane % 8, 2 * k + lane / 8 % 2));
            #pragma unroll
            for (int i = 0; i < MI; ++i)
                #pragma unroll
                for (int j = 0; j < NI; ++j) Kind::multiply(sums[i][j], x[i], y[j / 2][j % 2 * 2], y[j / 2][j % 2 * 2 + 1]);
        }
    }
    // `fetch(step, a, b)` fills a stage.
    template <class Fetch> static __device__ __forceinline__ void run(u8 *memory, int steps, Sums &sums, Fetch fetch) {
        const auto load = [&](int step) {
            if (step < steps) fetch(step, memory + step % STAGES * (A + B), memory + step % STAGES * (A + B) + A);
            commit();
        };
        #pragma unroll
        for (int s = 0; s < STAGES - 1; ++s) load(s);
        for (int step = 0; step < steps; ++step) {
            wait_for<STAGES - 2>();
            __syncthreads();
            load(step + STAGES - 1);
            const u8 *stage = memory + step % STAGES * (A + B);
            multiply(stage, stage + A, sums);
        }
    }
    // `put(row, column, sums of two neighbours)`, for all that this thread holds.
    template <class Put> static __device__ __forceinline__ void each(const Sums &sums, Put put) {
        const int lane = threadIdx.x % 32;
        #pragma unroll
        for (int i = 0; i < MI; ++i)
            #pragma unroll
            for (int j = 0; j < NI; ++j)
                #pragma unroll
                for (int h = 0; h < 2; ++h)
                    put(row() + i * 16 + h * 8 + lane / 4, column() + j * 8 + lane % 4 * 2, sums[i][j] + h * (Kind::COUNT / 2));
    }
};
