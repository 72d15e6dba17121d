// Four kernels of Hopper's units, each with its own PTX and nothing of hopper.cuh.
#include <cuda_fp16.h>
#include <stdint.h>

struct alignas(64) Map {
    uint64_t opaque[16];
};
#define DEVICE __device__ __forceinline__

DEVICE uint32_t smem(const void *p) { return (uint32_t)__cvta_generic_to_shared(p); }
DEVICE void init(uint32_t bar, int count) {
    asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(bar), "r"(count) : "memory");
}
DEVICE void expect(uint32_t bar, int bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(bar), "r"(bytes)
                 : "memory");
}
DEVICE void arrive(uint32_t bar) {
    asm volatile("mbarrier.arrive.shared.b64 _, [%0];" ::"r"(bar) : "memory");
}
DEVICE bool poll(uint32_t bar, int phase) {
    uint32_t ok;
    asm volatile("{.reg .pred p; mbarrier.test_wait.parity.shared.b64 p, [%1], %2;"
                 " selp.b32 %0, 1, 0, p;}"
                 : "=r"(ok)
                 : "r"(bar), "r"(phase)
                 : "memory");
    return ok;
}
DEVICE void spin(uint32_t bar, int phase) {
    while (!poll(bar, phase)) __nanosleep(20);
}

// ---- 1. A depthwise 3 x 3 convolution. The box has the halo; what lies outside is zero. --------
extern "C" __global__ void __launch_bounds__(128)
    depthwise(const __grid_constant__ Map image, const float *weights,
              const __grid_constant__ Map result) {
    __shared__ alignas(128) float in[10][10][32];
    __shared__ alignas(128) float out[8][8][32];
    __shared__ alignas(8) uint64_t bar;
    int c = blockIdx.z * 32, x = blockIdx.x * 8, y = blockIdx.y * 8;
    if (threadIdx.x == 0) {
        init(smem(&bar), 1);
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
        expect(smem(&bar), sizeof in);
        asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::"
                     "bytes [%0], [%1, {%2, %3, %4}], [%5];" ::"r"(smem(in)),
                     "l"(&image), "r"(c), "r"(x - 1), "r"(y - 1), "r"(smem(&bar))
                     : "memory");
    }
    __syncthreads();
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    float w[9];
    for (int t = 0; t < 9; ++t) w[t] = weights[t * gridDim.z * 32 + c + lane];
    spin(smem(&bar), 0);
    for (int at = warp; at < 64; at += 4) {
        int px = at % 8, py = at / 8;
        float sum = 0;
        for (int t = 0; t < 9; ++t) sum = fmaf(in[py + t / 3][px + t % 3][lane], w[t], sum);
        out[py][px][lane] = sum;
    }
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    if (threadIdx.x == 64) {
        asm volatile("cp.async.bulk.tensor.3d.global.shared::cta.tile.bulk_group"
                     " [%0, {%1, %2, %3}], [%4];" ::"l"(&result),
                     "r"(c), "r"(x), "r"(y), "r"(smem(out))
                     : "memory");
        asm volatile("cp.async.bulk.commit_group; cp.async.bulk.wait_group.read 0;" ::: "memory");
    }
}

// ---- 2. A persistent GEMM: a producer warp, four of products, stmatrix and a store of tiles. ---
DEVICE uint64_t operand(uint32_t at) {
    return (uint64_t)((at & 0x3FFFF) >> 4) | 1ull << 16 | 64ull << 32 | 1ull << 62;
}
#define D8(d, i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3]), "+f"(d[i + 4]), \
                 "+f"(d[i + 5]), "+f"(d[i + 6]), "+f"(d[i + 7])
#define D32(d) D8(d, 0), D8(d, 8), D8(d, 16), D8(d, 24)
#define SUMS "{%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,%20,%21," \
             "%22,%23,%24,%25,%26,%27,%28,%29,%30,%31}"

extern "C" __global__ void __launch_bounds__(160)
    persistent(const __grid_constant__ Map a, const __grid_constant__ Map b,
               const __grid_constant__ Map c, int tiles_x, int tiles, int steps) {
    extern __shared__ unsigned char raw[];
    __shared__ alignas(8) uint64_t bars[6];  // three full, three empty
    uint32_t base = (smem(raw) + 1023) & ~1023u, full = smem(bars), empty = full + 24;
    uint32_t epilogue = base + 3 * 16384;
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    if (threadIdx.x == 0) {
        for (int i = 0; i < 3; ++i) init(full + 8 * i, 1), init(empty + 8 * i, 4);
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    __syncthreads();
    int stage = 0, phase = 0;
    if (warp == 4) {
        if (lane == 0)
            for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x)
                for (int k = 0; k < steps; ++k) {
                    spin(empty + 8 * stage, phase ^ 1);
                    expect(full + 8 * stage, 16384);
                    for (int which = 0; which < 2; ++which)
                        asm volatile(
                            "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::"
                            "bytes [%0], [%1, {%2, %3}], [%4];" ::"r"(base + 16384 * stage +
                                                                     8192 * which),
                            "l"(which ? &b : &a), "r"(64 * k),
                            "r"(64 * (which ? tile % tiles_x : tile / tiles_x)),
                            "r"(full + 8 * stage)
                            : "memory");
                    if (++stage == 3) stage = 0, phase ^= 1;
                }
        return;
    }
    for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
        float d[32];
        for (int i = 0; i < 32; ++i) d[i] = 0;
        int last = -1;
        for (int k = 0; k < steps; ++k) {
            spin(full + 8 * stage, phase);
            asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
            for (int inner = 0; inner < 4; ++inner)
                asm volatile("wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 " SUMS
                             ", %32, %33, 1, 1, 1, 0, 0;"
                             : D32(d)
                             : "l"(operand(base + 16384 * stage + 32 * inner)),
                               "l"(operand(base + 16384 * stage + 8192 + 32 * inner)));
            asm volatile("wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 1;" ::
                             : "memory");
            if (last >= 0 && lane == 0) arrive(empty + 8 * last);
            last = stage;
            if (++stage == 3) stage = 0, phase ^= 1;
        }
        asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
        for (int i = 0; i < 32; ++i) asm volatile("" : "+f"(d[i])::"memory");
        if (lane == 0) arrive(empty + 8 * last);
        if (threadIdx.x == 0) asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
        asm volatile("bar.sync 2, 128;" ::: "memory");
        for (int column = 0; column < 4; ++column) {  // 16 columns: two 8 x 8 above, two below
            uint32_t r[4];
            for (int i = 0; i < 4; ++i) {
                int at = 8 * column + 4 * (i / 2) + 2 * (i % 2);
                asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(r[i]) : "f"(d[at + 1]), "f"(d[at]));
            }
            int row = warp * 16 + lane % 16, chunk = 2 * column + lane / 16;
            uint32_t to = epilogue + row * 128 + ((chunk ^ row % 8) << 4);
            asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(
                             to),
                         "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3])
                         : "memory");
        }
        asm volatile("fence.proxy.async.shared::cta;\n bar.sync 2, 128;" ::: "memory");
        if (threadIdx.x == 0) {
            asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%1, %2}], "
                         "[%3];" ::"l"(&c),
                         "r"(tile % tiles_x * 64), "r"(tile / tiles_x * 64), "r"(epilogue)
                         : "memory");
            asm volatile("cp.async.bulk.commit_group;" ::: "memory");
        }
    }
    if (threadIdx.x == 0) asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
}

// ---- 3. Rows of a matrix times a vector, the columns split over four blocks of a cluster. ------
extern "C" __global__ void __cluster_dims__(4, 1, 1) __launch_bounds__(128)
    split_rows(const float *matrix, const float *vector, float *result, int columns) {
    __shared__ alignas(16) float parts[4][32];
    __shared__ alignas(8) uint64_t bar;
    uint32_t rank;
    asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    if (threadIdx.x == 0) {
        init(smem(&bar), 1);
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
        expect(smem(&bar), sizeof parts);
    }
    asm volatile("barrier.cluster.arrive.release; barrier.cluster.wait.acquire;" ::: "memory");
    int each = columns / 4, row = blockIdx.x / 4 * 128 + threadIdx.x;
    float sum = 0;
    for (int k = rank * each; k < (rank + 1) * each; ++k)
        sum = fmaf(matrix[row * columns + k], vector[k], sum);
    uint32_t to, there;
    uint32_t owner = threadIdx.x / 32;
    asm("mapa.shared::cluster.u32 %0, %1, %2;"
        : "=r"(to)
        : "r"(smem(&parts[rank][threadIdx.x % 32])), "r"(owner));
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(smem(&bar)), "r"(owner));
    asm volatile("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.f32 [%0], %1, [%2];" ::
                     "r"(to),
                 "f"(sum), "r"(there)
                 : "memory");
    if (threadIdx.x < 32) {
        spin(smem(&bar), 0);
        float whole = 0;
        for (int i = 0; i < 4; ++i) whole += parts[i][threadIdx.x];
        result[blockIdx.x / 4 * 128 + rank * 32 + threadIdx.x] = whole;
    }
    asm volatile("barrier.cluster.arrive.release; barrier.cluster.wait.acquire;" ::: "memory");
}

// ---- 4. e4m3 with A in registers, read from the swizzled tile by words. ------------------------
extern "C" __global__ void __launch_bounds__(128)
    eight_bits(const __grid_constant__ Map a, const __grid_constant__ Map b, float *c, int n,
               int steps) {
    extern __shared__ unsigned char raw[];
    __shared__ alignas(8) uint64_t bar;
    unsigned char *base = raw + (-smem(raw) & 1023);
    if (threadIdx.x == 0) {
        init(smem(&bar), 1);
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    __syncthreads();
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32, row = 16 * warp + lane / 4;
    float d[32];
    for (int i = 0; i < 32; ++i) d[i] = 0;
    for (int step = 0; step < steps; ++step) {
        if (threadIdx.x == 0) {
            expect(smem(&bar), 16384);
            asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::"
                         "bytes [%0], [%1, {%2, %3}], [%4];" ::"r"(smem(base)),
                         "l"(&a), "r"(128 * step), "r"(64 * blockIdx.y), "r"(smem(&bar))
                         : "memory");
            asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::"
                         "bytes [%0], [%1, {%2, %3}], [%4];" ::"r"(smem(base + 8192)),
                         "l"(&b), "r"(128 * step), "r"(64 * blockIdx.x), "r"(smem(&bar))
                         : "memory");
        }
        spin(smem(&bar), step & 1);
        uint32_t r[4][4];
        for (int k = 0; k < 4; ++k)
            for (int i = 0; i < 4; ++i) {
                int at = row + 8 * (i & 1), chunk = 2 * k + (i >> 1);
                r[k][i] = *(const uint32_t *)(base + 128 * at + ((chunk ^ at & 7) << 4) +
                                              4 * (lane % 4));
            }
        asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
        for (int k = 0; k < 4; ++k)
            asm volatile("wgmma.mma_async.sync.aligned.m64n64k32.f32.e4m3.e4m3 " SUMS
                         ", {%32, %33, %34, %35}, %36, 1, 1, 1;"
                         : D32(d)
                         : "r"(r[k][0]), "r"(r[k][1]), "r"(r[k][2]), "r"(r[k][3]),
                           "l"(operand(smem(base + 8192) + 32 * k)));
        asm volatile("wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;" ::
                         : "memory");
        __syncthreads();
    }
    float *to = c + (64 * blockIdx.y + row) * n + 64 * blockIdx.x + 2 * (lane % 4);
    for (int j = 0; j < 8; ++j) {
        *(float2 *)(to + 8 * j) = make_float2(d[4 * j], d[4 * j + 1]);
        *(float2 *)(to + 8 * n + 8 * j) = make_float2(d[4 * j + 2], d[4 * j + 3]);
    }
}
