// Kernels of the twenty-ninth set on tensor cores, in groups that differ in the layout of shared memory alone: likeness by Student's t, loudspeakers of rooms,
// wavefronts, late interaction of texts, densities that are purified.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <mma.h>

#define KERNEL(THREADS) extern "C" __global__ void __launch_bounds__(THREADS)
#define ALL 0xffffffffu

using namespace nvcuda;

enum Layout { PLAIN, PADDED, SWIZZLED };

__device__ __forceinline__ unsigned address(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }
__device__ __forceinline__ void copy16(void *to, const void *from) { asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(address(to)), "l"(from) : "memory"); }
__device__ __forceinline__ void commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int LEFT> __device__ __forceinline__ void wait() { asm volatile("cp.async.wait_group %0;" ::"n"(LEFT) : "memory"); }
__device__ __forceinline__ void matrices(unsigned *r, const void *p) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];" : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(address(p)) : "memory");
}
__device__ __forceinline__ void turned(unsigned *r, const void *p) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];" : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(address(p)) : "memory");
}
// Where eight halves (or sixteen bytes) lie of a row of 64 halves.
template <Layout HOW> __device__ __forceinline__ int eight(int row, int chunk) { return HOW == PLAIN ? row * 64 + chunk * 8 : HOW == PADDED ? row * 72 + chunk * 8 : row * 64 + (chunk ^ row % 8) * 8; }

// How alike 128 points are to all others, by Student's t as maps of t-SNE have it: sums of 1 / (1 + distance squared), tiles of 64 others in three stages.
template <Layout HOW> __device__ __forceinline__ void student(const __half *points, const __half *others, const float *lengths, float *out, int tiles) {
    constexpr int ROW = HOW == PADDED ? 72 : 64;
    __shared__ __align__(16) __half xs[128 * ROW], ys[3][64 * ROW];
    const int t = threadIdx.x, lane = t % 32, warp = t / 32, i = lane / 8, r = lane % 8;
    const auto fetch = [&](int tile) {
        if (tile < tiles)
            #pragma unroll
            for (int p = t; p < 512; p += 256) copy16(ys[tile % 3] + eight<HOW>(p / 8, p % 8), others + tile * 4096 + p * 8);
        commit();
    };
    #pragma unroll
    for (int p = t; p < 1024; p += 256) copy16(xs + eight<HOW>(p / 8, p % 8), points + (size_t)blockIdx.x * 8192 + p * 8);
    fetch(0), fetch(1);
    float sums[2] = {};
    #pragma unroll 1
    for (int tile = 0; tile < tiles; ++tile) {
        wait<1>();
        __syncthreads();
        fetch(tile + 2);
        float c[8][4] = {};
        #pragma unroll
        for (int k = 0; k < 4; ++k) {
            unsigned a[4];
            matrices(a, xs + eight<HOW>(warp * 16 + i % 2 * 8 + r, k * 2 + i / 2));
            #pragma unroll
            for (int n = 0; n < 4; ++n) {
                unsigned b[4];
                matrices(b, ys[tile % 3] + eight<HOW>(n * 16 + i / 2 * 8 + r, k * 2 + i % 2));
                #pragma unroll
                for (int h = 0; h < 2; ++h)
                    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                                 : "+f"(c[n * 2 + h][0]), "+f"(c[n * 2 + h][1]), "+f"(c[n * 2 + h][2]), "+f"(c[n * 2 + h][3])
                                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[h * 2]), "r"(b[h * 2 + 1]));
            }
        }
        #pragma unroll
        for (int n = 0; n < 8; ++n) {
            const float2 length = *reinterpret_cast<const float2 *>(lengths + tile * 64 + n * 8 + lane % 4 * 2);
            #pragma unroll
            for (int h = 0; h < 2; ++h) {
                sums[h] += __fdividef(1.0f, 60.0f + fabsf(length.x) - 2.0f * c[n][h * 2] * 0.25f) + __fdividef(1.0f, 60.0f + fabsf(length.y) - 2.0f * c[n][h * 2 + 1] * 0.25f);
            }
        }
    }
    #pragma unroll
    for (int h = 0; h < 2; ++h) {
        sums[h] += __shfl_xor_sync(ALL, sums[h], 1), sums[h] += __shfl_xor_sync(ALL, sums[h], 2);
        if (lane % 4 == 0) out[(size_t)blockIdx.x * 128 + warp * 16 + h * 8 + lane / 4] = sums[h];
    }
}
KERNEL(256) student_plain(const __half *points, const __half *others, const float *lengths, float *out, int tiles) { student<PLAIN>(points, others, lengths, out, tiles); }
KERNEL(256) student_padded(const __half *points, const __half *others, const float *lengths, float *out, int tiles) { student<PADDED>(points, others, lengths, out, tiles); }
KERNEL(256) student_swizzled(const __half *points, const __half *others, const float *lengths, float *out, int tiles) { student<SWIZZLED>(points, others, lengths, out, tiles); }

// How loud 64 loudspeakers get in several rooms: 64 channels of 64 moments of sound (ambisonics, bfloat16) by each room's matrix; channels are read turned.
template <Layout HOW> __device__ __forceinline__ void speakers(const __nv_bfloat16 *sound, const __nv_bfloat16 *rooms, float *out, int count) {
    constexpr int ROW = HOW == PADDED ? 72 : 64;
    __shared__ __align__(16) __nv_bfloat16 xs[64 * ROW], ws[64 * ROW];
    const int t = threadIdx.x, lane = t % 32, warp = t / 32, i = lane / 8, r = lane % 8;
    const auto fetch = [&](__nv_bfloat16 *to, const __nv_bfloat16 *from) {
        #pragma unroll
        for (int p = t; p < 512; p += 128) copy16(to + eight<HOW>(p / 8, p % 8), from + p * 8);
        commit();
    };
    fetch(xs, sound + (size_t)blockIdx.x * 4096);
    #pragma unroll 1
    for (int room = 0; room < count; ++room) {
        fetch(ws, rooms + room * 4096);
        wait<0>();
        __syncthreads();
        float c[8][4] = {};
        #pragma unroll
        for (int k = 0; k < 4; ++k) {
            unsigned a[4];
            matrices(a, ws + eight<HOW>(warp * 16 + i % 2 * 8 + r, k * 2 + i / 2));
            #pragma unroll
            for (int n = 0; n < 4; ++n) {
                unsigned b[4];
                turned(b, xs + eight<HOW>(k * 16 + i % 2 * 8 + r, n * 2 + i / 2));
                #pragma unroll
                for (int h = 0; h < 2; ++h)
                    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                                 : "+f"(c[n * 2 + h][0]), "+f"(c[n * 2 + h][1]), "+f"(c[n * 2 + h][2]), "+f"(c[n * 2 + h][3])
                                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[h * 2]), "r"(b[h * 2 + 1]));
            }
        }
        #pragma unroll
        for (int h = 0; h < 2; ++h) {
            float loud = 0.0f;
            #pragma unroll
            for (int n = 0; n < 8; ++n) loud = fmaxf(loud, fmaxf(fabsf(c[n][h * 2]), fabsf(c[n][h * 2 + 1])));
            loud = fmaxf(loud, __shfl_xor_sync(ALL, loud, 1)), loud = fmaxf(loud, __shfl_xor_sync(ALL, loud, 2));
            if (lane % 4 == 0) out[((size_t)blockIdx.x * count + room) * 64 + warp * 16 + h * 8 + lane / 4] = loud;
        }
        __syncthreads();
    }
}
KERNEL(128) speakers_plain(const __nv_bfloat16 *sound, const __nv_bfloat16 *rooms, float *out, int count) { speakers<PLAIN>(sound, rooms, out, count); }
KERNEL(128) speakers_padded(const __nv_bfloat16 *sound, const __nv_bfloat16 *rooms, float *out, int count) { speakers<PADDED>(sound, rooms, out, count); }

// How sharp a telescope sees (Strehl): modes of 64 places by 64 moments' amplitudes give phases, and the mean of their cosines says how sharp. WMMA, floats out.
template <int PITCH> __device__ __forceinline__ void wavefronts(const __half *modes, const __half *amplitudes, float *out, int steps) {
    __shared__ __align__(32) __half ms[64 * PITCH], as[64 * PITCH];
    const int t = threadIdx.x, warp = t / 32;
    #pragma unroll 4
    for (int p = t; p < 512; p += 128) *reinterpret_cast<uint4 *>(ms + p / 8 * PITCH + p % 8 * 8) = *reinterpret_cast<const uint4 *>(modes + (size_t)blockIdx.x * 4096 + p * 8);
    #pragma unroll 1
    for (int step = 0; step < steps; ++step) {
        __syncthreads();
        #pragma unroll 4
        for (int p = t; p < 512; p += 128) *reinterpret_cast<uint4 *>(as + p / 8 * PITCH + p % 8 * 8) = *reinterpret_cast<const uint4 *>(amplitudes + step * 4096 + p * 8);
        __syncthreads();
        wmma::fragment<wmma::accumulator, 16, 16, 16, float> c[4];
        #pragma unroll
        for (int j = 0; j < 4; ++j) wmma::fill_fragment(c[j], 0.0f);
        #pragma unroll
        for (int k = 0; k < 64; k += 16) {
            wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> a;
            wmma::load_matrix_sync(a, ms + warp * 16 * PITCH + k, PITCH);
            #pragma unroll
            for (int j = 0; j < 4; ++j) {
                wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::row_major> b;
                wmma::load_matrix_sync(b, as + k * PITCH + j * 16, PITCH);
                wmma::mma_sync(c[j], a, b, c[j]);
            }
        }
        float sharp = 0.0f;
        #pragma unroll
        for (int j = 0; j < 4; ++j)
            #pragma unroll
            for (int e = 0; e < c[j].num_elements; ++e) sharp += __cosf(0.2f * c[j].x[e]);
        #pragma unroll
        for (int offset = 16; offset > 0; offset >>= 1) sharp += __shfl_xor_sync(ALL, sharp, offset);
        if (t % 32 == 0) out[((size_t)blockIdx.x * steps + step) * 4 + warp] = sharp * (1.0f / 1024.0f);
    }
}
KERNEL(128) wavefronts_plain(const __half *modes, const __half *amplitudes, float *out, int steps) { wavefronts<64>(modes, amplitudes, out, steps); }
KERNEL(128) wavefronts_padded(const __half *modes, const __half *amplitudes, float *out, int steps) { wavefronts<72>(modes, amplitudes, out, steps); }

// Late interaction of a question with texts (ColBERT): for each of its 64 words of 128 bytes the most alike word of a text of 64, and their sum. A block a question.
template <Layout HOW> __device__ __forceinline__ void late_interaction(const __half *questions, const __half *texts, int *out, int count) {
    constexpr int ROW = HOW == PADDED ? 72 : 64;
    __shared__ __align__(16) __half qs[64 * ROW], ts[2][64 * ROW];
    const int t = threadIdx.x, lane = t % 32, warp = t / 32, i = lane / 8, r = lane % 8;
    const auto fetch = [&](__half *to, const __half *from) {
        #pragma unroll
        for (int p = t; p < 512; p += 128) copy16(to + eight<HOW>(p / 8, p % 8), from + p * 8);
        commit();
    };
    fetch(qs, questions + (size_t)blockIdx.x * 4096), fetch(ts[0], texts);
    #pragma unroll 1
    for (int text = 0; text < count; ++text) {
        if (text + 1 < count) fetch(ts[text + 1 & 1], texts + (text + 1) * 4096), wait<1>();
        else wait<0>();
        __syncthreads();
        int c[8][4] = {};
        #pragma unroll
        for (int k = 0; k < 4; ++k) {
            unsigned a[4];
            matrices(a, qs + eight<HOW>(warp * 16 + i % 2 * 8 + r, k * 2 + i / 2));
            #pragma unroll
            for (int n = 0; n < 4; ++n) {
                unsigned b[4];
                matrices(b, ts[text & 1] + eight<HOW>(n * 16 + i / 2 * 8 + r, k * 2 + i % 2));
                #pragma unroll
                for (int h = 0; h < 2; ++h)
                    asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                                 : "+r"(c[n * 2 + h][0]), "+r"(c[n * 2 + h][1]), "+r"(c[n * 2 + h][2]), "+r"(c[n * 2 + h][3])
                                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[h * 2]), "r"(b[h * 2 + 1]));
            }
        }
        int all = 0;
        #pragma unroll
        for (int h = 0; h < 2; ++h) {
            int most = c[0][h * 2];
            #pragma unroll
            for (int n = 0; n < 8; ++n) most = max(most, max(c[n][h * 2], c[n][h * 2 + 1]));
            most = max(most, __shfl_xor_sync(ALL, most, 1)), most = max(most, __shfl_xor_sync(ALL, most, 2));
            all += most;
        }
        #pragma unroll
        for (int offset = 4; offset < 32; offset <<= 1) all += __shfl_xor_sync(ALL, all, offset);
        if (lane == 0) out[((size_t)blockIdx.x * count + text) * 4 + warp] = all;
        __syncthreads();
    }
}
KERNEL(128) late_interaction_plain(const __half *questions, const __half *texts, int *out, int count) { late_interaction<PLAIN>(questions, texts, out, count); }
KERNEL(128) late_interaction_swizzled(const __half *questions, const __half *texts, int *out, int count) { late_interaction<SWIZZLED>(questions, texts, out, count); }

// Densities of electrons purified (McWeeny): P becomes 3 P P - 2 P P P, in doubles, a few times. A warp a matrix of 32 by 32.
template <int PITCH> __device__ __forceinline__ void purified(const double2 *in, double2 *out, int rounds) {
    __shared__ __align__(16) double held[2][2][32 * PITCH];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, g = lane / 4, q = lane % 4;
    const size_t one = (size_t)blockIdx.x * 2 + warp;
    double *ps = held[warp][0], *qs = held[warp][1];
    #pragma unroll 4
    for (int p = lane; p < 512; p += 32) {
        const double2 v = in[one * 512 + p];
        *reinterpret_cast<double2 *>(ps + p / 16 * PITCH + p % 16 * 2) = make_double2(v.x * 0.1, v.y * 0.1);
    }
    __syncwarp();
    #pragma unroll 1
    for (int round = 0; round < rounds * 2; ++round) {
        const double *from = round % 2 ? qs : ps;
        double c[4][4][2] = {};
        #pragma unroll 2
        for (int k = q; k < 32; k += 4) {
            double a[4], b[4];
            #pragma unroll
            for (int n = 0; n < 4; ++n) a[n] = from[(n * 8 + g) * PITCH + k], b[n] = ps[k * PITCH + n * 8 + g];
            #pragma unroll
            for (int n = 0; n < 16; ++n)
                asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0,%1}, {%2}, {%3}, {%0,%1};" : "+d"(c[n / 4][n % 4][0]), "+d"(c[n / 4][n % 4][1]) : "d"(a[n / 4]), "d"(b[n % 4]));
        }
        __syncwarp();
        #pragma unroll
        for (int n = 0; n < 16; ++n) {
            const int place = (n / 4 * 8 + g) * PITCH + n % 4 * 8 + q * 2;
            double2 v = make_double2(c[n / 4][n % 4][0], c[n / 4][n % 4][1]);
            if (round % 2) {
                const double2 square = *reinterpret_cast<const double2 *>(qs + place);
                v = make_double2(3.0 * square.x - 2.0 * v.x, 3.0 * square.y - 2.0 * v.y);
            }
            *reinterpret_cast<double2 *>((round % 2 ? ps : qs) + place) = v;
        }
        __syncwarp();
    }
    #pragma unroll 4
    for (int p = lane; p < 512; p += 32) out[one * 512 + p] = *reinterpret_cast<const double2 *>(ps + p / 16 * PITCH + p % 16 * 2);
}
KERNEL(64) purified_plain(const double2 *in, double2 *out, int rounds) { purified<32>(in, out, rounds); }
KERNEL(64) purified_padded(const double2 *in, double2 *out, int rounds) { purified<36>(in, out, rounds); }
