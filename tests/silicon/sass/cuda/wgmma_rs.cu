// A product whose A comes from registers (wgmma RS): a tile of A arrives by TMA, ldmatrix reads it
// through its swizzle, and it is scaled before it is multiplied. Halves; C (m x 64, floats) =
// 2 A (m x k, row-major) times B (64 x k: its rows along k). A block of four warps has 64 rows.
#include "hopper.cuh"

constexpr int DEPTH = 64;

__device__ __forceinline__ void multiply(float (&d)[32], const u32 (&a)[4], u64 b, int add) {
    asm volatile(
        "{\n .reg .pred p;\n setp.ne.b32 p, %37, 0;\n"
        " wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 {"
        "%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,%20,%21,"
        "%22,%23,%24,%25,%26,%27,%28,%29,%30,%31"
        "}, {%32,%33,%34,%35}, %36, p, 1, 1, 0;\n}"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]),
          "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]),
          "+f"(d[14]), "+f"(d[15]), "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]),
          "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]), "+f"(d[25]),
          "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(add));
}

extern "C" __global__ void __launch_bounds__(128)
    gemm_rs(const __grid_constant__ TensorMap a, const __grid_constant__ TensorMap b, float *c,
            int k) {
    __shared__ alignas(1024) __half a_tile[64 * DEPTH], b_tile[64 * DEPTH];
    __shared__ alignas(8) u64 full;
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    if (threadIdx.x == 0) {
        barrier_init(&full, 1);
        barriers_are_visible();
    }
    __syncthreads();
    float sums[32];
    for (int at = 0; at < k; at += DEPTH) {
        if (threadIdx.x == 0) {
            arrive_and_expect(&full, sizeof a_tile + sizeof b_tile);
            load_tile(a_tile, &a, &full, at, blockIdx.x * 64);
            load_tile(b_tile, &b, &full, at, 0);
        }
        wait(&full, at / DEPTH & 1);
        u32 fragments[4][4];
        for (int step = 0; step < 4; ++step) {
            int row = warp * 16 + lane % 16, chunk = 2 * step + lane / 16;
            u32 from = shared_address(a_tile) + row * 128 + (chunk ^ row % 8) * 16;
            asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                         : "=r"(fragments[step][0]), "=r"(fragments[step][1]),
                           "=r"(fragments[step][2]), "=r"(fragments[step][3])
                         : "r"(from)
                         : "memory");
            for (u32 &each : fragments[step]) {
                __half2 pair = *reinterpret_cast<__half2 *>(&each);
                pair = __hadd2(pair, pair);
                each = *reinterpret_cast<u32 *>(&pair);
            }
        }
        products_begin();
        for (int step = 0; step < 4; ++step)
            multiply(sums, fragments[step], matrix(b_tile + 16 * step, 16, 1024, 1), at + step > 0);
        products_end();
        products_wait<0>();
        __syncthreads();
    }
    c += (blockIdx.x * 64 + warp * 16 + lane / 4) * 64 + lane % 4 * 2;
    for (int j = 0; j < 8; ++j) {
        *(float2 *)(c + 8 * j) = make_float2(sums[4 * j], sums[4 * j + 1]);
        *(float2 *)(c + 8 * 64 + 8 * j) = make_float2(sums[4 * j + 2], sums[4 * j + 3]);
    }
}
