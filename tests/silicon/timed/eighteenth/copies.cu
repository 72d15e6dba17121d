// Kernels of the eighteenth set whose tiles come by TMA: a layer by groups of four warps, and plates that bend.
#include <cuda_fp16.h>

typedef unsigned int u32;
typedef unsigned long long u64;
struct alignas(64) TensorMap {
    u64 words[16];
};

__device__ __forceinline__ u32 shared_address(const void *at) { return (u32)__cvta_generic_to_shared(at); }
__device__ __forceinline__ void barrier_init(u64 *barrier, u32 count) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(barrier)), "r"(count));
}
__device__ __forceinline__ void barriers_are_visible() { asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }
__device__ __forceinline__ void arrive_and_expect(u64 *barrier, u32 bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(barrier)), "r"(bytes) : "memory");
}
__device__ __forceinline__ void wait(u64 *barrier, u32 parity) {
    asm volatile(
        "{\n .reg .pred done;\nagain:\n mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n @!done bra again;\n}" ::"r"(
            shared_address(barrier)), "r"(parity) : "memory");
}
__device__ __forceinline__ void load_tile(void *to, const TensorMap *map, u64 *barrier, int x, int y) {
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4}], [%2];" ::"r"(
                     shared_address(to)), "l"(map), "r"(shared_address(barrier)), "r"(x), "r"(y) : "memory");
}
__device__ __forceinline__ void products_begin() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ __forceinline__ void products_end() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
template <int N> __device__ __forceinline__ void products_wait() { asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(N) : "memory"); }
// Rows of 128 bytes, swizzled.
__device__ __forceinline__ u64 matrix(const void *at) {
    return (u64)((shared_address(at) & 0x3ffff) >> 4) | (u64)1 << 16 | (u64)(1024 >> 4) << 32 | (u64)1 << 62;
}

// C = silu(A B^T) in halves by two groups of four warps: 128 by 64 a block, four stages of 64 along k.
struct alignas(1024) Stage {
    __half a[128 * 64], b[64 * 64];
};
__device__ __forceinline__ void multiply(float (&d)[32], u64 a, u64 b, int add) {
    asm volatile(
        "{\n .reg .pred p;\n setp.ne.b32 p, %34, 0;\n"
        " wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 "
        "{%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,%20,%21,%22,%23,"
        "%24,%25,%26,%27,%28,%29,%30,%31}, %32, %33, p, 1, 1, 0, 0;\n}"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]), "+f"(d[8]),
          "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]), "+f"(d[16]),
          "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]),
          "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31])
        : "l"(a), "l"(b), "r"(add));
}
extern "C" __global__ void __launch_bounds__(256)
    silu_layer(const __grid_constant__ TensorMap a, const __grid_constant__ TensorMap b, __half2 *c, int n, int depth) {
    extern __shared__ __align__(1024) unsigned char memory[];
    Stage *stages = reinterpret_cast<Stage *>(memory + (-shared_address(memory) & 1023));
    __shared__ alignas(8) u64 full[4];
    const int t = threadIdx.x, group = t / 128, steps = depth / 64;
    const auto fetch = [&](int step) {
        Stage &stage = stages[step % 4];
        arrive_and_expect(&full[step % 4], sizeof(Stage));
        load_tile(stage.a, &a, &full[step % 4], step * 64, blockIdx.y * 128);
        load_tile(stage.b, &b, &full[step % 4], step * 64, blockIdx.x * 64);
    };
    if (t == 0) {
        for (int i = 0; i < 4; ++i) barrier_init(&full[i], 1);
        barriers_are_visible();
        for (int i = 0; i < 3; ++i) fetch(i);
    }
    __syncthreads();
    float sums[32];
    for (int step = 0; step < steps; ++step) {
        const Stage &stage = stages[step % 4];
        wait(&full[step % 4], step / 4 & 1);
        products_begin();
        #pragma unroll
        for (int k = 0; k < 64; k += 16)
            multiply(sums, matrix(stage.a + group * 64 * 64 + k), matrix(stage.b + k), step + k > 0);
        products_end();
        products_wait<0>();
        __syncthreads();
        if (t == 0 && step + 3 < steps) fetch(step + 3);
    }
    const int lane = t % 32, warp = t / 32;
    __half2 *to = c + ((size_t)(blockIdx.y * 128 + warp * 16 + lane / 4) * n + blockIdx.x * 64) / 2 + lane % 4;
    const auto silu = [](float v) { return v / (1.0f + __expf(-v)); };
    #pragma unroll
    for (int j = 0; j < 8; ++j) {
        to[4 * j] = __floats2half2_rn(silu(sums[4 * j]), silu(sums[4 * j + 1]));
        to[4 * n + 4 * j] = __floats2half2_rn(silu(sums[4 * j + 2]), silu(sums[4 * j + 3]));
    }
}

// How a plate bends (a biharmonic stencil of thirteen points): a block goes down four tiles of 64 by 16, each with a margin
// that TMA fills with zeros at the plate's edge; the next tile is on its way.
extern "C" __global__ void __launch_bounds__(256) plate_bends(const __grid_constant__ TensorMap plate, float *out, int width, float stiffness) {
    __shared__ alignas(128) float tiles[2][20 * 72 + 32];
    __shared__ alignas(8) u64 full[2];
    const int t = threadIdx.x, x = t % 64, first = blockIdx.y * 4;
    const auto fetch = [&](int step) {
        arrive_and_expect(&full[step % 2], 20 * 72 * 4);
        load_tile(tiles[step % 2], &plate, &full[step % 2], (int)blockIdx.x * 64 - 4, (first + step) * 16 - 2);
    };
    if (t == 0) {
        barrier_init(&full[0], 1);
        barrier_init(&full[1], 1);
        barriers_are_visible();
        fetch(0);
    }
    __syncthreads();
    for (int step = 0; step < 4; ++step) {
        if (t == 0 && step < 3) fetch(step + 1);
        wait(&full[step % 2], step / 2 & 1);
        #pragma unroll
        for (int r = 0; r < 4; ++r) {
            const int y = t / 64 + 4 * r;
            const float *p = tiles[step % 2] + (y + 2) * 72 + x + 4;
            const float near = p[1] + p[-1] + p[72] + p[-72], corners = p[73] + p[71] + p[-71] + p[-73];
            const float far = p[2] + p[-2] + p[144] + p[-144];
            out[(size_t)((first + step) * 16 + y) * width + blockIdx.x * 64 + x] = p[0] - stiffness * (20.0f * p[0] - 8.0f * near + 2.0f * corners + far);
        }
        __syncthreads();
    }
}
