// Matrix products by wgmma: a warp loads tiles by TMA into a ring of stages, two warpgroups
// multiply 64 rows each. C (m x n, floats) = A (m x k, row-major) times B, in bfloat16. B is n x k
// (the rows along k) or, transposed, k x n. Sizes are multiples of the tiles.
#include "hopper.cuh"

constexpr int ROWS = 128, COLS = 128, DEPTH = 64, STAGES = 3;

struct alignas(1024) Stage {
    __nv_bfloat16 a[ROWS * DEPTH], b[COLS * DEPTH];
};

// m64n128k16, sums in 64 registers. A lies in shared memory.
template <int TRANSPOSED_B>
__device__ __forceinline__ void multiply(float (&d)[64], u64 a, u64 b, int add) {
    asm volatile(
        "{\n .reg .pred p;\n setp.ne.b32 p, %66, 0;\n"
        " wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 "
        "{%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,%20,%21,%22,%23,"
        "%24,%25,%26,%27,%28,%29,%30,%31,%32,%33,%34,%35,%36,%37,%38,%39,%40,%41,%42,%43,%44,%45,"
        "%46,%47,%48,%49,%50,%51,%52,%53,%54,%55,%56,%57,%58,%59,%60,%61,%62,%63},"
        " %64, %65, p, 1, 1, 0, %67;\n}"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]),
          "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]),
          "+f"(d[14]), "+f"(d[15]), "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]),
          "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]), "+f"(d[25]),
          "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31]),
          "+f"(d[32]), "+f"(d[33]), "+f"(d[34]), "+f"(d[35]), "+f"(d[36]), "+f"(d[37]),
          "+f"(d[38]), "+f"(d[39]), "+f"(d[40]), "+f"(d[41]), "+f"(d[42]), "+f"(d[43]),
          "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47]), "+f"(d[48]), "+f"(d[49]),
          "+f"(d[50]), "+f"(d[51]), "+f"(d[52]), "+f"(d[53]), "+f"(d[54]), "+f"(d[55]),
          "+f"(d[56]), "+f"(d[57]), "+f"(d[58]), "+f"(d[59]), "+f"(d[60]), "+f"(d[61]),
          "+f"(d[62]), "+f"(d[63])
        : "l"(a), "l"(b), "r"(add), "n"(TRANSPOSED_B));
}

template <int TRANSPOSED_B>
__device__ __forceinline__ void gemm(const TensorMap *a, const TensorMap *b, float *c, int n,
                                     int k) {
    extern __shared__ __align__(1024) unsigned char memory[];
    Stage *stages = reinterpret_cast<Stage *>(memory + (-shared_address(memory) & 1023));
    __shared__ alignas(8) u64 full[STAGES], empty[STAGES];
    const int group = threadIdx.x / 128, steps = k / DEPTH;
    if (threadIdx.x == 0) {
        for (int i = 0; i < STAGES; ++i) {
            barrier_init(&full[i], 1);
            barrier_init(&empty[i], 2);
        }
        barriers_are_visible();
    }
    __syncthreads();
    if (group == 2) {  // the producer
        give_registers<40>();
        if (threadIdx.x == 256)
            for (int i = 0; i < steps; ++i) {
                Stage &stage = stages[i % STAGES];
                wait(&empty[i % STAGES], i / STAGES + 1 & 1);
                arrive_and_expect(&full[i % STAGES], sizeof(Stage));
                load_tile(stage.a, a, &full[i % STAGES], i * DEPTH, blockIdx.y * ROWS);
                if (!TRANSPOSED_B) {
                    load_tile(stage.b, b, &full[i % STAGES], i * DEPTH, blockIdx.x * COLS);
                } else {  // 64 columns to a row of 128 bytes
                    load_tile(stage.b, b, &full[i % STAGES], blockIdx.x * COLS, i * DEPTH);
                    load_tile(stage.b + 64 * DEPTH, b, &full[i % STAGES], blockIdx.x * COLS + 64,
                              i * DEPTH);
                }
            }
        return;
    }
    take_registers<232>();
    float sums[64];
    for (int i = 0; i < steps; ++i) {
        Stage &stage = stages[i % STAGES];
        wait(&full[i % STAGES], i / STAGES & 1);
        products_begin();
        for (int at = 0; at < DEPTH; at += 16) {
            u64 left = matrix(stage.a + group * 64 * DEPTH + at, 16, 1024, 1);
            u64 right = TRANSPOSED_B ? matrix(stage.b + at * 64, 64 * DEPTH * 2, 1024, 1)
                                     : matrix(stage.b + at, 16, 1024, 1);
            multiply<TRANSPOSED_B>(sums, left, right, i + at > 0);
        }
        products_end();
        products_wait<0>();
        if (threadIdx.x % 128 == 0) arrive(&empty[i % STAGES]);
    }
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    c += (blockIdx.y * ROWS + warp * 16 + lane / 4) * n + blockIdx.x * COLS + lane % 4 * 2;
    for (int j = 0; j < 16; ++j) {
        *(float2 *)(c + 8 * j) = make_float2(sums[4 * j], sums[4 * j + 1]);
        *(float2 *)(c + 8 * n + 8 * j) = make_float2(sums[4 * j + 2], sums[4 * j + 3]);
    }
}

extern "C" __global__ void __launch_bounds__(384)
    gemm_ss(const __grid_constant__ TensorMap a, const __grid_constant__ TensorMap b, float *c,
            int n, int k) {
    gemm<0>(&a, &b, c, n, k);
}

extern "C" __global__ void __launch_bounds__(384)
    gemm_transposed(const __grid_constant__ TensorMap a, const __grid_constant__ TensorMap b,
                    float *c, int n, int k) {
    gemm<1>(&a, &b, c, n, k);
}
