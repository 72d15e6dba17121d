// Copies that run beside warps: cp.async in stages, bulk copies with mbarriers.
typedef unsigned long long u64;

__device__ __forceinline__ unsigned shared_at(const void *s) {
    return (unsigned)__cvta_generic_to_shared(s);
}

// Three stages of cp.async: 16 bytes per thread and stage, products of what is there.
extern "C" __global__ void staged(const float4 *in, float *out, int n) {
    __shared__ float4 stage[3][256];
    const int t = threadIdx.x;
    const float4 *from = in + blockIdx.x * n * 256;
    float sum = 0;
    for (int k = 0; k < 2; ++k)
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16; cp.async.commit_group;" ::
                     "r"(shared_at(&stage[k][t])), "l"(from + k * 256 + t) : "memory");
    for (int k = 0; k < n; ++k) {
        if (k + 2 < n)
            asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::
                         "r"(shared_at(&stage[(k + 2) % 3][t])), "l"(from + (k + 2) * 256 + t)
                         : "memory");
        asm volatile("cp.async.commit_group; cp.async.wait_group 2;" ::: "memory");
        __syncthreads();
        for (int j = 0; j < 8; ++j) {
            const float4 v = stage[k % 3][(t + 32 * j) % 256];
            sum += v.x * v.y + v.z * v.w;
        }
        __syncthreads();
    }
    out[blockIdx.x * 256 + t] = sum;
}

// A ring of bulk copies: one thread asks, four stages of 4 KiB, all warps add them up.
extern "C" __global__ void bulk_sums(const float *in, float *out, int n) {
    __shared__ alignas(128) float stage[4][1024];
    __shared__ alignas(8) u64 full[4];
    const int t = threadIdx.x;
    const float *from = in + (u64)blockIdx.x * n * 1024;
    auto ask = [&](int k) {
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 4096;" ::
                     "r"(shared_at(&full[k % 4])) : "memory");
        asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1],"
                     " 4096, [%2];" :: "r"(shared_at(stage[k % 4])), "l"(from + k * 1024),
                     "r"(shared_at(&full[k % 4])) : "memory");
    };
    if (t == 0) {
        for (int k = 0; k < 4; ++k)
            asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" :: "r"(shared_at(&full[k])));
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
        for (int k = 0; k < 4; ++k) ask(k);
    }
    __syncthreads();
    float sum = 0;
    for (int k = 0; k < n; ++k) {
        asm volatile("{ .reg .pred p; again: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1;"
                     " @!p bra again; }" :: "r"(shared_at(&full[k % 4])), "r"(k / 4 & 1)
                     : "memory");
        for (int j = 0; j < 4; ++j) {
            const float v = stage[k % 4][j * 256 + t];
            sum += v * v;
        }
        __syncthreads();
        if (t == 0 && k + 4 < n) ask(k + 4);
    }
    out[blockIdx.x * 256 + t] = sum;
}
