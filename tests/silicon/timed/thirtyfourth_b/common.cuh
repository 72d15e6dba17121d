// What kernels of this set share: where 16 bytes lie, copies, matrices of 8 x 8, and products of warps and of groups of four warps.
#pragma once
#include "../../sass/cuda/hopper.cuh"

typedef unsigned char u8;
typedef unsigned short u16;
enum { PLAIN, PADDED, SWIZZLED };
#define ALL 0xffffffffu

// Part `part` of 16 bytes of row `row`, in rows of BYTES.
template <int HOW, int BYTES> __device__ __forceinline__ int place(int row, int part) {
    if (HOW == PADDED) return row * (BYTES + 16) + part * 16;
    if (HOW == SWIZZLED) part ^= BYTES == 64 ? row >> 1 & 3 : row & 7;
    return row * BYTES + part * 16;
}
template <int HOW> constexpr int pitch(int bytes) { return HOW == PADDED ? bytes + 16 : bytes; }

__device__ __forceinline__ void copy16(void *to, const void *from, bool is = true) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared_address(to)), "l"(from), "r"(is ? 16 : 0) : "memory");
}
__device__ __forceinline__ void commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int LEFT> __device__ __forceinline__ void wait_groups() { asm volatile("cp.async.wait_group %0;" ::"n"(LEFT) : "memory"); }

__device__ __forceinline__ void matrices(u32 (&v)[4], const void *from) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(v[0]), "=r"(v[1]), "=r"(v[2]), "=r"(v[3]) : "r"(shared_address(from)) : "memory");
}
__device__ __forceinline__ void matrices_turned(u32 (&v)[4], const void *from) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(v[0]), "=r"(v[1]), "=r"(v[2]), "=r"(v[3]) : "r"(shared_address(from)) : "memory");
}
__device__ __forceinline__ void put_matrices(void *to, u32 a, u32 b, u32 c, u32 d) {
    asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};"
                 ::"r"(shared_address(to)), "r"(a), "r"(b), "r"(c), "r"(d) : "memory");
}
__device__ __forceinline__ u32 halves(float x, float y) {
    const __half2 two = __floats2half2_rn(x, y);
    return *reinterpret_cast<const u32 *>(&two);
}
__device__ __forceinline__ u32 brains(float x, float y) {
    const __nv_bfloat162 two = __floats2bfloat162_rn(x, y);
    return *reinterpret_cast<const u32 *>(&two);
}
// The threads of one group of four warps meet.
__device__ __forceinline__ void group_meets(int name) { asm volatile("bar.sync %0, 128;" ::"r"(name) : "memory"); }

// ---- mma.sync: 16 x 8. -------------------------------------------------------------------------
#define WARP_PRODUCT(NAME, SUM, REGISTER, TYPES)                                                                \
    __device__ __forceinline__ void NAME(SUM (&s)[4], const u32 (&a)[4], u32 b0, u32 b1) {                       \
        asm("mma.sync.aligned." TYPES " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"         \
            : REGISTER(s[0]), REGISTER(s[1]), REGISTER(s[2]), REGISTER(s[3])                                     \
            : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));                                     \
    }
WARP_PRODUCT(product_half, float, "+f", "m16n8k16.row.col.f32.f16.f16.f32")
WARP_PRODUCT(product_brain, float, "+f", "m16n8k16.row.col.f32.bf16.bf16.f32")
WARP_PRODUCT(product_tfloat, float, "+f", "m16n8k8.row.col.f32.tf32.tf32.f32")
WARP_PRODUCT(product_bytes, int, "+r", "m16n8k32.row.col.s32.s8.s8.s32")

// ---- wgmma: 64 x N, 32 bytes deep. -------------------------------------------------------------
#define LIST8 "%0,%1,%2,%3,%4,%5,%6,%7"
#define LIST32 LIST8 ",%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31"
#define LIST64 LIST32 ",%32,%33,%34,%35,%36,%37,%38,%39,%40,%41,%42,%43,%44,%45,%46,%47,%48,%49,%50,%51,%52,%53,%54,%55,%56,%57,%58,%59,%60,%61,%62,%63"
#define SUMS8(R, i) R(d[i]), R(d[i + 1]), R(d[i + 2]), R(d[i + 3]), R(d[i + 4]), R(d[i + 5]), R(d[i + 6]), R(d[i + 7])
#define SUMS32(R, i) SUMS8(R, i), SUMS8(R, i + 8), SUMS8(R, i + 16), SUMS8(R, i + 24)
#define SUMS64(R, i) SUMS32(R, i), SUMS32(R, i + 32)
#define GROUP_PRODUCT(KIND, SUM, REGISTER, COUNT, SHAPE, A, B, P, END)                                            \
    __device__ __forceinline__ void multiply(KIND, SUM (&d)[COUNT], u64 a, u64 b, int add) {                     \
        asm volatile("{\n .reg .pred p;\n setp.ne.b32 p, %" P ", 0;\n wgmma.mma_async.sync.aligned." SHAPE       \
                     " {" LIST##COUNT "}, %" A ", %" B ", p" END ";\n}"                                          \
                     : SUMS##COUNT(REGISTER, 0) : "l"(a), "l"(b), "r"(add));                                     \
    }
struct Half { static constexpr int SIZE = 2; using Sum = float; };
struct Brain { static constexpr int SIZE = 2; using Sum = float; };
struct Eight { static constexpr int SIZE = 1; using Sum = float; };
struct Byte { static constexpr int SIZE = 1; using Sum = int; };
#ifdef GROUPS_OF_WARPS
GROUP_PRODUCT(Half, float, "+f", 8, "m64n16k16.f32.f16.f16", "8", "9", "10", ", 1, 1, 0, 0")
GROUP_PRODUCT(Half, float, "+f", 64, "m64n128k16.f32.f16.f16", "64", "65", "66", ", 1, 1, 0, 0")
GROUP_PRODUCT(Brain, float, "+f", 64, "m64n128k16.f32.bf16.bf16", "64", "65", "66", ", 1, 1, 0, 0")
GROUP_PRODUCT(Eight, float, "+f", 64, "m64n128k32.f32.e4m3.e4m3", "64", "65", "66", ", 1, 1")
GROUP_PRODUCT(Byte, int, "+r", 64, "m64n128k32.s32.s8.s8", "64", "65", "66", "")
// A in registers, B with rows along n.
__device__ __forceinline__ void multiply_turned(float (&d)[32], const u32 (&a)[4], u64 b) {
    asm volatile("wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 {" LIST32 "}, {%32, %33, %34, %35}, %36, 1, 1, 1, 1;"
                 : SUMS32("+f", 0) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b));
}

// A matrix of ROWS rows of 128 bytes in slices of S bytes, from 32 bytes `step` and row `first` on.
template <int ROWS, int S> __device__ __forceinline__ u64 operand(const u8 *tile, int first, int step) {
    return matrix(tile + step * 32 / S * ROWS * S + first * S + step * 32 % S, 16, 8 * S, S == 128 ? 1 : S == 64 ? 2 : 3);
}
#endif
