// A product by a cluster of two blocks, side by side in n: each loads half of A's tile and sends
// it to both. C (m x n, floats) = A (m x k) times B (n x k: its rows along k), in bfloat16; a block
// of four warps has 64 rows and 64 columns.
#include "hopper.cuh"

constexpr int DEPTH = 64, STAGES = 2;

__device__ __forceinline__ void multiply(float (&d)[32], u64 a, u64 b, int add) {
    asm volatile(
        "{\n .reg .pred p;\n setp.ne.b32 p, %34, 0;\n"
        " wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 {"
        "%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,%20,%21,"
        "%22,%23,%24,%25,%26,%27,%28,%29,%30,%31"
        "}, %32, %33, p, 1, 1, 0, 0;\n}"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]),
          "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]),
          "+f"(d[14]), "+f"(d[15]), "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]),
          "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]), "+f"(d[25]),
          "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31])
        : "l"(a), "l"(b), "r"(add));
}

extern "C" __global__ void __cluster_dims__(2, 1, 1) __launch_bounds__(160)
    gemm_multicast(const __grid_constant__ TensorMap a, const __grid_constant__ TensorMap b,
                   float *c, int n, int k) {
    __shared__ alignas(1024) __nv_bfloat16 a_tile[STAGES][64 * DEPTH], b_tile[STAGES][64 * DEPTH];
    __shared__ alignas(8) u64 full[STAGES], empty[STAGES];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, steps = k / DEPTH;
    const u32 rank = cluster_rank();
    if (threadIdx.x == 0) {
        for (int i = 0; i < STAGES; ++i) {
            barrier_init(&full[i], 1);
            barrier_init(&empty[i], 2);  // the products of both blocks
        }
        barriers_are_visible();
    }
    cluster_sync();
    if (warp == 4) {
        if (elected())
            for (int i = 0; i < steps; ++i) {
                int stage = i % STAGES;
                wait(&empty[stage], i / STAGES + 1 & 1);
                arrive_and_expect(&full[stage], sizeof a_tile[0] + sizeof b_tile[0]);
                load_tile_for(a_tile[stage] + rank * 32 * DEPTH, &a, &full[stage], i * DEPTH,
                              blockIdx.y * 64 + rank * 32, 3);
                load_tile(b_tile[stage], &b, &full[stage], i * DEPTH, blockIdx.x * 64);
            }
    } else {
        float sums[32];
        for (int i = 0; i < steps; ++i) {
            int stage = i % STAGES;
            wait(&full[stage], i / STAGES & 1);
            products_begin();
            for (int at = 0; at < DEPTH; at += 16)
                multiply(sums, matrix(a_tile[stage] + at, 16, 1024, 1),
                         matrix(b_tile[stage] + at, 16, 1024, 1), i + at > 0);
            products_end();
            products_wait<0>();
            asm volatile("bar.sync 1, 128;" ::: "memory");
            if (threadIdx.x < 2) arrive_at(&empty[stage], threadIdx.x);
        }
        c += (blockIdx.y * 64 + warp * 16 + lane / 4) * n + blockIdx.x * 64 + lane % 4 * 2;
        for (int j = 0; j < 8; ++j) {
            *(float2 *)(c + 8 * j) = make_float2(sums[4 * j], sums[4 * j + 1]);
            *(float2 *)(c + 8 * n + 8 * j) = make_float2(sums[4 * j + 2], sums[4 * j + 3]);
        }
    }
    cluster_sync();
}
