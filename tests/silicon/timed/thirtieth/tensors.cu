// Kernels of the thirtieth set on tensor cores, in groups that differ in the layout of shared memory alone: tensors by their factors (Tucker), faces, holograms,
// kinship of genomes, light that rooms throw back.
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

// Slices of a tensor by its factors (Tucker): 128 rows of one factor by a core of 64 by 64 and then, from registers, by the other factor. How large each row gets.
template <Layout HOW> __device__ __forceinline__ void tucker(const __half *rows, const __half *other, const __half *cores, float *out, int slices) {
    constexpr int ROW = HOW == PADDED ? 72 : 64;
    __shared__ __align__(16) __half us[128 * ROW], vs[64 * ROW], gs[64 * ROW];
    const int t = threadIdx.x, lane = t % 32, warp = t / 32, i = lane / 8, r = lane % 8;
    const auto product = [](float *c, const unsigned *a, const unsigned *b) {
        asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                     : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
    };
    #pragma unroll
    for (int p = t; p < 1024; p += 256) copy16(us + eight<HOW>(p / 8, p % 8), rows + (size_t)blockIdx.x * 8192 + p * 8);
    #pragma unroll
    for (int p = t; p < 512; p += 256) copy16(vs + eight<HOW>(p / 8, p % 8), other + p * 8);
    float sizes[2] = {};
    #pragma unroll 1
    for (int slice = 0; slice < slices; ++slice) {
        #pragma unroll
        for (int p = t; p < 512; p += 256) copy16(gs + eight<HOW>(p / 8, p % 8), cores + slice * 4096 + p * 8);
        commit();
        wait<0>();
        __syncthreads();
        float c[8][4] = {};
        #pragma unroll
        for (int k = 0; k < 4; ++k) {
            unsigned a[4];
            matrices(a, us + eight<HOW>(warp * 16 + i % 2 * 8 + r, k * 2 + i / 2));
            #pragma unroll
            for (int n = 0; n < 4; ++n) {
                unsigned b[4];
                turned(b, gs + eight<HOW>(k * 16 + i % 2 * 8 + r, n * 2 + i / 2));
                product(c[n * 2], a, b), product(c[n * 2 + 1], a, b + 2);
            }
        }
        float d[8][4] = {};
        #pragma unroll
        for (int k = 0; k < 4; ++k) {
            unsigned a[4];
            #pragma unroll
            for (int h = 0; h < 4; ++h) {
                const __half2 v = __floats2half2_rn(c[k * 2 + h / 2][h % 2 * 2] * 0.125f, c[k * 2 + h / 2][h % 2 * 2 + 1] * 0.125f);
                a[h] = *reinterpret_cast<const unsigned *>(&v);
            }
            #pragma unroll
            for (int n = 0; n < 4; ++n) {
                unsigned b[4];
                matrices(b, vs + eight<HOW>(n * 16 + i / 2 * 8 + r, k * 2 + i % 2));
                product(d[n * 2], a, b), product(d[n * 2 + 1], a, b + 2);
            }
        }
        #pragma unroll
        for (int n = 0; n < 8; ++n)
            #pragma unroll
            for (int h = 0; h < 4; ++h) sizes[h / 2] += d[n][h] * d[n][h];
        __syncthreads();
    }
    #pragma unroll
    for (int h = 0; h < 2; ++h) {
        sizes[h] += __shfl_xor_sync(ALL, sizes[h], 1), sizes[h] += __shfl_xor_sync(ALL, sizes[h], 2);
        if (lane % 4 == 0) out[(size_t)blockIdx.x * 128 + warp * 16 + h * 8 + lane / 4] = sizes[h];
    }
}
KERNEL(256) tucker_plain(const __half *rows, const __half *other, const __half *cores, float *out, int slices) { tucker<PLAIN>(rows, other, cores, out, slices); }
KERNEL(256) tucker_padded(const __half *rows, const __half *other, const __half *cores, float *out, int slices) { tucker<PADDED>(rows, other, cores, out, slices); }
KERNEL(256) tucker_swizzled(const __half *rows, const __half *other, const __half *cores, float *out, int slices) { tucker<SWIZZLED>(rows, other, cores, out, slices); }

// Whose face each is (eigenfaces): 64 faces of 64 parts, in bfloat16, beside all that are known, in two stages; the nearest and how near, by length and product.
template <Layout HOW> __device__ __forceinline__ void faces(const __nv_bfloat16 *seen, const __nv_bfloat16 *known, const float *lengths, float2 *out, int tiles) {
    constexpr int ROW = HOW == PADDED ? 72 : 64;
    __shared__ __align__(16) __nv_bfloat16 xs[64 * ROW], ys[2][64 * ROW];
    const int t = threadIdx.x, lane = t % 32, warp = t / 32, i = lane / 8, r = lane % 8;
    const auto fetch = [&](__nv_bfloat16 *to, const __nv_bfloat16 *from) {
        #pragma unroll
        for (int p = t; p < 512; p += 128) copy16(to + eight<HOW>(p / 8, p % 8), from + p * 8);
        commit();
    };
    fetch(xs, seen + (size_t)blockIdx.x * 4096), fetch(ys[0], known);
    float near[2] = {1e30f, 1e30f};
    int who[2] = {};
    #pragma unroll 1
    for (int tile = 0; tile < tiles; ++tile) {
        if (tile + 1 < tiles) fetch(ys[tile + 1 & 1], known + (tile + 1) * 4096), wait<1>();
        else wait<0>();
        __syncthreads();
        float c[8][4] = {};
        #pragma unroll
        for (int k = 0; k < 4; ++k) {
            unsigned a[4];
            matrices(a, xs + eight<HOW>(warp * 16 + i % 2 * 8 + r, k * 2 + i / 2));
            #pragma unroll
            for (int n = 0; n < 4; ++n) {
                unsigned b[4];
                matrices(b, ys[tile & 1] + eight<HOW>(n * 16 + i / 2 * 8 + r, k * 2 + i % 2));
                #pragma unroll
                for (int h = 0; h < 2; ++h)
                    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                                 : "+f"(c[n * 2 + h][0]), "+f"(c[n * 2 + h][1]), "+f"(c[n * 2 + h][2]), "+f"(c[n * 2 + h][3])
                                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[h * 2]), "r"(b[h * 2 + 1]));
            }
        }
        #pragma unroll
        for (int n = 0; n < 8; ++n) {
            const int first = tile * 64 + n * 8 + lane % 4 * 2;
            const float2 length = *reinterpret_cast<const float2 *>(lengths + first);
            #pragma unroll
            for (int h = 0; h < 4; ++h) {
                const float far = (h % 2 ? length.y : length.x) - 2.0f * c[n][h];
                if (far < near[h / 2]) near[h / 2] = far, who[h / 2] = first + h % 2;
            }
        }
        __syncthreads();
    }
    #pragma unroll
    for (int h = 0; h < 2; ++h) {
        #pragma unroll
        for (int offset = 1; offset < 4; offset <<= 1) {
            const float far = __shfl_xor_sync(ALL, near[h], offset);
            const int one = __shfl_xor_sync(ALL, who[h], offset);
            if (far < near[h] || (far == near[h] && one < who[h])) near[h] = far, who[h] = one;
        }
        if (lane % 4 == 0) out[(size_t)blockIdx.x * 64 + warp * 16 + h * 8 + lane / 4] = make_float2(near[h], (float)who[h]);
    }
}
KERNEL(128) faces_plain(const __nv_bfloat16 *seen, const __nv_bfloat16 *known, const float *lengths, float2 *out, int tiles) { faces<PLAIN>(seen, known, lengths, out, tiles); }
KERNEL(128) faces_padded(const __nv_bfloat16 *seen, const __nv_bfloat16 *known, const float *lengths, float2 *out, int tiles) { faces<PADDED>(seen, known, lengths, out, tiles); }

// Holograms of 64 by 64 as they look from several distances: a field of complex halves by what each distance does to it, four products of WMMA; brightness out.
template <int PITCH> __device__ __forceinline__ void holograms(const __half *fields, const __half *distances, float *out, int count) {
    __shared__ __align__(32) __half held[4][64 * PITCH];
    const int t = threadIdx.x, warp = t / 32;
    const auto fetch = [&](int first, const __half *from) {
        #pragma unroll 4
        for (int p = t; p < 1024; p += 128) *reinterpret_cast<uint4 *>(held[first + p / 512] + p % 512 / 8 * PITCH + p % 8 * 8) = *reinterpret_cast<const uint4 *>(from + p * 8);
    };
    fetch(0, fields + (size_t)blockIdx.x * 8192);
    #pragma unroll 1
    for (int n = 0; n < count; ++n) {
        __syncthreads();
        fetch(2, distances + n * 8192);
        __syncthreads();
        #pragma unroll 1
        for (int j = 0; j < 4; ++j) {
            wmma::fragment<wmma::accumulator, 16, 16, 16, float> same, crossed, odd;
            wmma::fill_fragment(same, 0.0f), wmma::fill_fragment(crossed, 0.0f), wmma::fill_fragment(odd, 0.0f);
            #pragma unroll
            for (int k = 0; k < 64; k += 16) {
                wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> real, imaginary;
                wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::row_major> cosines, sines;
                wmma::load_matrix_sync(real, held[0] + warp * 16 * PITCH + k, PITCH), wmma::load_matrix_sync(imaginary, held[1] + warp * 16 * PITCH + k, PITCH);
                wmma::load_matrix_sync(cosines, held[2] + k * PITCH + j * 16, PITCH), wmma::load_matrix_sync(sines, held[3] + k * PITCH + j * 16, PITCH);
                wmma::mma_sync(same, real, cosines, same), wmma::mma_sync(crossed, imaginary, sines, crossed);
                wmma::mma_sync(odd, real, sines, odd), wmma::mma_sync(odd, imaginary, cosines, odd);
            }
            float bright = 0.0f;
            #pragma unroll
            for (int e = 0; e < same.num_elements; ++e) {
                const float real = same.x[e] - crossed.x[e];
                bright += real * real + odd.x[e] * odd.x[e];
            }
            #pragma unroll
            for (int offset = 16; offset > 0; offset >>= 1) bright += __shfl_xor_sync(ALL, bright, offset);
            if (t % 32 == 0) out[((size_t)blockIdx.x * count + n) * 16 + warp * 4 + j] = bright;
        }
    }
}
KERNEL(128) holograms_plain(const __half *fields, const __half *distances, float *out, int count) { holograms<64>(fields, distances, out, count); }
KERNEL(128) holograms_padded(const __half *fields, const __half *distances, float *out, int count) { holograms<72>(fields, distances, out, count); }

// How akin 64 people are to 64 others by their genomes: copies of each marker, 0 to 2 a byte, 128 markers at a time; the next are read while these are multiplied.
template <Layout HOW> __device__ __forceinline__ void kinship(const uint4 *people, const uint4 *others, int *out, int chunks) {
    constexpr int ROW = HOW == PADDED ? 72 : 64;
    __shared__ __align__(16) __half xs[64 * ROW], ys[64 * ROW];
    const int t = threadIdx.x, lane = t % 32, warp = t / 32, i = lane / 8, r = lane % 8;
    const auto copies = [](uint4 v) { return make_uint4(v.x & 0x02010201u, v.y & 0x01020102u, v.z & 0x02010201u, v.w & 0x01020102u); };
    const uint4 *mine = people + (size_t)blockIdx.x * chunks * 512, *theirs = others + (size_t)(blockIdx.x % 8) * chunks * 512;
    uint4 a[4], b[4];
    #pragma unroll
    for (int k = 0; k < 4; ++k) a[k] = mine[k * 128 + t], b[k] = theirs[k * 128 + t];
    int c[8][4] = {};
    #pragma unroll 1
    for (int chunk = 0; chunk < chunks; ++chunk) {
        __syncthreads();
        #pragma unroll
        for (int k = 0; k < 4; ++k) {
            const int place = eight<HOW>((k * 128 + t) / 8, t % 8);
            *reinterpret_cast<uint4 *>(xs + place) = copies(a[k]), *reinterpret_cast<uint4 *>(ys + place) = copies(b[k]);
        }
        __syncthreads();
        if (chunk + 1 < chunks)
            #pragma unroll
            for (int k = 0; k < 4; ++k) a[k] = mine[(chunk + 1) * 512 + k * 128 + t], b[k] = theirs[(chunk + 1) * 512 + k * 128 + t];
        #pragma unroll
        for (int k = 0; k < 4; ++k) {
            unsigned rows[4];
            matrices(rows, xs + eight<HOW>(warp * 16 + i % 2 * 8 + r, k * 2 + i / 2));
            #pragma unroll
            for (int n = 0; n < 4; ++n) {
                unsigned columns[4];
                matrices(columns, ys + eight<HOW>(n * 16 + i / 2 * 8 + r, k * 2 + i % 2));
                #pragma unroll
                for (int h = 0; h < 2; ++h)
                    asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                                 : "+r"(c[n * 2 + h][0]), "+r"(c[n * 2 + h][1]), "+r"(c[n * 2 + h][2]), "+r"(c[n * 2 + h][3])
                                 : "r"(rows[0]), "r"(rows[1]), "r"(rows[2]), "r"(rows[3]), "r"(columns[h * 2]), "r"(columns[h * 2 + 1]));
            }
        }
    }
    #pragma unroll
    for (int n = 0; n < 8; ++n)
        #pragma unroll
        for (int h = 0; h < 2; ++h)
            *reinterpret_cast<int2 *>(out + ((size_t)blockIdx.x * 64 + warp * 16 + h * 8 + lane / 4) * 64 + n * 8 + lane % 4 * 2) = make_int2(c[n][h * 2], c[n][h * 2 + 1]);
}
KERNEL(128) kinship_plain(const uint4 *people, const uint4 *others, int *out, int chunks) { kinship<PLAIN>(people, others, out, chunks); }
KERNEL(128) kinship_swizzled(const uint4 *people, const uint4 *others, int *out, int chunks) { kinship<SWIZZLED>(people, others, out, chunks); }

// Light that 64 walls of a room throw at one another (radiosity): what each sees of each, by the light of 64 lamps at once, bounce after bounce. WMMA, TF32.
template <int PITCH> __device__ __forceinline__ void rooms(const float *factors, const float *lamps, float *out, int bounces) {
    __shared__ __align__(32) float fs[64 * PITCH], ls[64 * PITCH];
    const int t = threadIdx.x, warp = t / 32;
    const size_t first = (size_t)blockIdx.x * 4096;
    #pragma unroll 4
    for (int p = t; p < 1024; p += 128) {
        const int place = p / 16 * PITCH + p % 16 * 4;
        const float4 f = reinterpret_cast<const float4 *>(factors + first)[p];
        *reinterpret_cast<float4 *>(fs + place) = make_float4(f.x * 0.02f, f.y * 0.02f, f.z * 0.02f, f.w * 0.02f);
        *reinterpret_cast<float4 *>(ls + place) = reinterpret_cast<const float4 *>(lamps)[p];
    }
    using Sums = wmma::fragment<wmma::accumulator, 16, 16, 8, float>;
    Sums given[4];
    __syncthreads();
    #pragma unroll
    for (int j = 0; j < 4; ++j) wmma::load_matrix_sync(given[j], ls + warp * 16 * PITCH + j * 16, PITCH, wmma::mem_row_major);
    #pragma unroll 1
    for (int bounce = 0; bounce < bounces; ++bounce) {
        Sums c[4];
        #pragma unroll
        for (int j = 0; j < 4; ++j) c[j] = given[j];
        #pragma unroll 2
        for (int k = 0; k < 64; k += 8) {
            wmma::fragment<wmma::matrix_a, 16, 16, 8, wmma::precision::tf32, wmma::row_major> a;
            wmma::load_matrix_sync(a, fs + warp * 16 * PITCH + k, PITCH);
            #pragma unroll
            for (int j = 0; j < 4; ++j) {
                wmma::fragment<wmma::matrix_b, 16, 16, 8, wmma::precision::tf32, wmma::row_major> b;
                wmma::load_matrix_sync(b, ls + k * PITCH + j * 16, PITCH);
                wmma::mma_sync(c[j], a, b, c[j]);
            }
        }
        __syncthreads();
        #pragma unroll
        for (int j = 0; j < 4; ++j) wmma::store_matrix_sync(ls + warp * 16 * PITCH + j * 16, c[j], PITCH, wmma::mem_row_major);
        __syncthreads();
    }
    #pragma unroll 4
    for (int p = t; p < 1024; p += 128) reinterpret_cast<float4 *>(out + first)[p] = *reinterpret_cast<const float4 *>(ls + p / 16 * PITCH + p % 16 * 4);
}
KERNEL(128) rooms_plain(const float *factors, const float *lamps, float *out, int bounces) { rooms<64>(factors, lamps, out, bounces); }
KERNEL(128) rooms_padded(const float *factors, const float *lamps, float *out, int bounces) { rooms<68>(factors, lamps, out, bounces); }
