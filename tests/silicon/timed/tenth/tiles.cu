// Kernels of the tenth set in pairs, which differ in the layout of shared memory alone.
#include <cuda_fp16.h>

#define NAMED(NAME, RUN, PARAMETERS, ARGUMENTS, ...) \
    extern "C" __global__ void __launch_bounds__(256) NAME PARAMETERS { RUN<__VA_ARGS__> ARGUMENTS; }

// Scores of attention, 64 queries a block against all keys of a head: the logarithm of each row's sum.
__device__ __forceinline__ void fragment(unsigned *to, const uint4 *from) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                 : "r"((unsigned)__cvta_generic_to_shared(from)));
}

__device__ __forceinline__ void multiplied(float *sum, const unsigned *a, const unsigned *b) {
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

template <int PITCH, int SWIZZLE> __device__ __forceinline__ void row_sums(const uint4 *q, const uint4 *k, float *out, int length) {
    __shared__ uint4 queries[64 * PITCH], keys[2][64 * PITCH];
    const auto at = [](int r, int c) { return r * PITCH + (SWIZZLE ? c ^ r & 7 : c); };
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const size_t head = (size_t)blockIdx.y * length;
    const auto fetch = [&](int tile) {
        for (int i = threadIdx.x; i < 512; i += 128)
            asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"((unsigned)__cvta_generic_to_shared(
                             keys[tile % 2] + at(i / 8, i % 8))), "l"(k + (head + tile * 64) * 8 + i));
        asm volatile("cp.async.commit_group;");
    };
    fetch(0);
    for (int i = threadIdx.x; i < 512; i += 128) queries[at(i / 8, i % 8)] = q[(head + blockIdx.x * 64) * 8 + i];
    __syncthreads();
    unsigned a[4][4];
    for (int c = 0; c < 4; ++c) fragment(a[c], queries + at(warp * 16 + lane % 16, 2 * c + lane / 16));
    float most[2] = {-1e30f, -1e30f}, total[2] = {};
    for (int tile = 0; tile < length / 64; ++tile) {
        if (tile + 1 < length / 64) {
            fetch(tile + 1);
            asm volatile("cp.async.wait_group 1;");
        } else asm volatile("cp.async.wait_group 0;");
        __syncthreads();
        float sum[8][4] = {};
        #pragma unroll
        for (int n = 0; n < 8; ++n)
            #pragma unroll
            for (int c = 0; c < 2; ++c) {
                unsigned b[4];
                fragment(b, keys[tile % 2] + at(n * 8 + lane % 8, 4 * c + lane / 8));
                multiplied(sum[n], a[2 * c], b);
                multiplied(sum[n], a[2 * c + 1], b + 2);
            }
        #pragma unroll
        for (int h = 0; h < 2; ++h) {
            float top = most[h];
            for (int n = 0; n < 8; ++n) top = fmaxf(top, fmaxf(sum[n][2 * h], sum[n][2 * h + 1]) * 0.125f);
            for (int j = 1; j < 4; j *= 2) top = fmaxf(top, __shfl_xor_sync(~0u, top, j));
            float part = 0;
            for (int n = 0; n < 8; ++n)
                part += __expf(sum[n][2 * h] * 0.125f - top) + __expf(sum[n][2 * h + 1] * 0.125f - top);
            total[h] = total[h] * __expf(most[h] - top) + part;
            most[h] = top;
        }
        __syncthreads();
    }
    for (int h = 0; h < 2; ++h) {
        for (int j = 1; j < 4; j *= 2) total[h] += __shfl_xor_sync(~0u, total[h], j);
        if (lane % 4 == 0) out[head + blockIdx.x * 64 + warp * 16 + lane / 4 + 8 * h] = most[h] + __logf(total[h]);
    }
}
NAMED(row_sums_plain, row_sums, (const uint4 *q, const uint4 *k, float *out, int length), (q, k, out, length), 8, 0)
NAMED(row_sums_padded, row_sums, (const uint4 *q, const uint4 *k, float *out, int length), (q, k, out, length), 9, 0)
NAMED(row_sums_swizzled, row_sums, (const uint4 *q, const uint4 *k, float *out, int length), (q, k, out, length), 8, 1)

// Tridiagonal systems of 512 unknowns by cyclic reduction, a block to each.
template <int PAD> __device__ __forceinline__ void cyclic(const float *in, float *out) {
    __shared__ float a[528], b[528], c[528], d[528], x[528];
    const auto at = [](int i) { return PAD ? i + i / 32 : i; };
    const float *own = in + (size_t)blockIdx.x * 2048;
    for (int i = threadIdx.x; i < 512; i += 256) {
        a[at(i)] = i ? own[i] : 0;
        b[at(i)] = own[512 + i] + 4;
        c[at(i)] = i < 511 ? own[1024 + i] : 0;
        d[at(i)] = own[1536 + i];
    }
    __syncthreads();
    int apart = 1;
    for (int active = 256; active > 1; active /= 2, apart *= 2) {
        if (threadIdx.x < active) {
            const int i = at(2 * apart * threadIdx.x + 2 * apart - 1), l = at(2 * apart * threadIdx.x + apart - 1);
            const int r = at(min(2 * apart * (int)threadIdx.x + 3 * apart - 1, 511));
            const float u = __fdividef(a[i], b[l]), v = __fdividef(c[i], b[r]);
            const float nb = b[i] - c[l] * u - a[r] * v, nd = d[i] - d[l] * u - d[r] * v;
            const float na = -a[l] * u, nc = -c[r] * v;
            __syncwarp(__activemask());
            a[i] = na, b[i] = nb, c[i] = nc, d[i] = nd;
        }
        __syncthreads();
    }
    if (threadIdx.x == 0) {
        const int l = at(255), r = at(511);
        const float by = 1 / (b[l] * b[r] - c[l] * a[r]);
        x[l] = (b[r] * d[l] - c[l] * d[r]) * by, x[r] = (b[l] * d[r] - a[r] * d[l]) * by;
    }
    for (int active = 2; active <= 256; active *= 2) {
        apart /= 2;
        __syncthreads();
        if (threadIdx.x < active) {
            const int place = 2 * apart * threadIdx.x + apart - 1, i = at(place);
            float v = d[i] - c[i] * x[at(place + apart)];
            if (threadIdx.x) v -= a[i] * x[at(place - apart)];
            x[i] = __fdividef(v, b[i]);
        }
    }
    __syncthreads();
    for (int i = threadIdx.x; i < 512; i += 256) out[(size_t)blockIdx.x * 512 + i] = x[at(i)];
}
NAMED(cyclic_plain, cyclic, (const float *in, float *out), (in, out), 0)
NAMED(cyclic_padded, cyclic, (const float *in, float *out), (in, out), 1)

// Least sums along paths: a product in which sums stand for products and minima for sums.
template <int PITCH> __device__ __forceinline__ void shortest(const float *a, const float *b, float *c, int n, int depth) {
    __shared__ __align__(16) float left[32 * PITCH], right[32 * PITCH];
    const int tx = threadIdx.x, ty = threadIdx.y, row = blockIdx.y * 32, column = blockIdx.x * 32;
    float least[4] = {1e30f, 1e30f, 1e30f, 1e30f};
    for (int begin = 0; begin < depth; begin += 32) {
        for (int i = 0; i < 4; ++i) {
            left[(ty + 8 * i) * PITCH + tx] = a[(row + ty + 8 * i) * depth + begin + tx];
            right[(ty + 8 * i) * PITCH + tx] = b[(begin + ty + 8 * i) * n + column + tx];
        }
        __syncthreads();
        #pragma unroll
        for (int k = 0; k < 32; ++k)
            for (int i = 0; i < 4; ++i) least[i] = fminf(least[i], left[(ty + 8 * i) * PITCH + k] + right[k * PITCH + tx]);
        __syncthreads();
    }
    for (int i = 0; i < 4; ++i) c[(row + ty + 8 * i) * n + column + tx] = least[i];
}
NAMED(shortest_plain, shortest, (const float *a, const float *b, float *c, int n, int depth), (a, b, c, n, depth), 32)
NAMED(shortest_padded, shortest, (const float *a, const float *b, float *c, int n, int depth), (a, b, c, n, depth), 36)

// Fourier transforms of 1024 complex numbers in five passes of four points a thread.
template <int PAD> __device__ __forceinline__ void quarters(const float2 *in, float2 *out) {
    __shared__ float re[1056], im[1056];
    const auto at = [](int i) { return PAD ? i + i / 32 : i; };
    const int t = threadIdx.x;
    float2 v[4];
    for (int r = 0; r < 4; ++r) v[r] = in[(size_t)blockIdx.x * 1024 + t + 256 * r];
    #pragma unroll
    for (int done = 1; done < 1024; done *= 4) {
        const int k = t % done;
        #pragma unroll
        for (int r = 1; r < 4; ++r) {
            float s, c;
            __sincosf(-6.2831853f * r * k / (4 * done), &s, &c);
            v[r] = make_float2(v[r].x * c - v[r].y * s, v[r].x * s + v[r].y * c);
        }
        const float2 p = {v[0].x + v[2].x, v[0].y + v[2].y}, q = {v[0].x - v[2].x, v[0].y - v[2].y};
        const float2 s = {v[1].x + v[3].x, v[1].y + v[3].y}, d = {v[1].y - v[3].y, v[3].x - v[1].x};
        v[0] = {p.x + s.x, p.y + s.y}, v[1] = {q.x + d.x, q.y + d.y};
        v[2] = {p.x - s.x, p.y - s.y}, v[3] = {q.x - d.x, q.y - d.y};
        const int to = t / done * done * 4 + k;
        if (done == 256) {
            for (int r = 0; r < 4; ++r) out[(size_t)blockIdx.x * 1024 + to + r * done] = v[r];
            break;
        }
        for (int r = 0; r < 4; ++r) re[at(to + r * done)] = v[r].x, im[at(to + r * done)] = v[r].y;
        __syncthreads();
        for (int r = 0; r < 4; ++r) v[r] = {re[at(t + 256 * r)], im[at(t + 256 * r)]};
        __syncthreads();
    }
}
NAMED(quarters_plain, quarters, (const float2 *in, float2 *out), (in, out), 0)
NAMED(quarters_padded, quarters, (const float2 *in, float2 *out), (in, out), 1)

// 128 right-hand sides of 32 unknowns by a triangular matrix, a thread to a row.
template <int PITCH> __device__ __forceinline__ void back_solved(const float *factors, const float *in, float *out) {
    __shared__ float factor[32][33], rows[128 * PITCH];
    for (int k = threadIdx.x; k < 1024; k += 128)
        factor[k / 32][k % 32] = factors[(size_t)blockIdx.x * 1024 + k] * 0.1f + (k / 32 == k % 32);
    for (int k = threadIdx.x; k < 4096; k += 128) rows[k / 32 * PITCH + k % 32] = in[(size_t)blockIdx.x * 4096 + k];
    __syncthreads();
    float *own = rows + threadIdx.x * PITCH;
    #pragma unroll 1
    for (int j = 0; j < 32; ++j) {
        float sum = own[j];
        for (int k = 0; k < j; ++k) sum -= own[k] * factor[j][k];
        own[j] = __fdividef(sum, factor[j][j]);
    }
    __syncthreads();
    for (int k = threadIdx.x; k < 4096; k += 128) out[(size_t)blockIdx.x * 4096 + k] = rows[k / 32 * PITCH + k % 32];
}
NAMED(back_solved_plain, back_solved, (const float *factors, const float *in, float *out), (factors, in, out), 32)
NAMED(back_solved_padded, back_solved, (const float *factors, const float *in, float *out), (factors, in, out), 33)

// Bodies of eight numbers around a centre, forty steps each.
template <int PITCH> __device__ __forceinline__ void orbiting(const float *in, float *out) {
    __shared__ float bodies[256 * PITCH];
    for (int k = threadIdx.x; k < 2048; k += 256) bodies[k / 8 * PITCH + k % 8] = in[(size_t)blockIdx.x * 2048 + k];
    __syncthreads();
    float *own = bodies + threadIdx.x * PITCH;
    float x = own[0] + 2, y = own[1], z = own[2], u = own[3], v = own[4], w = own[5];
    const float mass = 1 + 0.5f * own[6], drag = 1 - 1e-3f * fabsf(own[7]);
    #pragma unroll 4
    for (int k = 0; k < 40; ++k) {
        const float by = rsqrtf(x * x + y * y + z * z + 0.01f), pull = -0.01f * mass * by * by * by;
        u = (u + pull * x) * drag, v = (v + pull * y) * drag, w = (w + pull * z) * drag;
        x += 0.01f * u, y += 0.01f * v, z += 0.01f * w;
    }
    own[0] = x, own[1] = y, own[2] = z, own[3] = u, own[4] = v, own[5] = w;
    __syncthreads();
    for (int k = threadIdx.x; k < 2048; k += 256) out[(size_t)blockIdx.x * 2048 + k] = bodies[k / 8 * PITCH + k % 8];
}
NAMED(orbiting_plain, orbiting, (const float *in, float *out), (in, out), 8)
NAMED(orbiting_padded, orbiting, (const float *in, float *out), (in, out), 9)

// Distances of two strings of 64 letters by edits: the whole table, one diagonal after another.
template <int PITCH> __device__ __forceinline__ void edits(const unsigned char *one, const unsigned char *other, int *out) {
    __shared__ int table[65 * PITCH];
    __shared__ unsigned char letters[64];
    const int i = threadIdx.x + 1, mine = one[blockIdx.x * 64 + threadIdx.x] & 3;
    letters[threadIdx.x] = other[blockIdx.x * 64 + threadIdx.x] & 3;
    table[i * PITCH] = i, table[i] = i;
    if (i == 1) table[0] = 0;
    __syncthreads();
    for (int d = 2; d <= 128; ++d) {
        const int j = d - i;
        if (j >= 1 && j <= 64) {
            const int changed = table[(i - 1) * PITCH + j - 1] + (mine != letters[j - 1]);
            table[i * PITCH + j] = min(changed, 1 + min(table[(i - 1) * PITCH + j], table[i * PITCH + j - 1]));
        }
        __syncthreads();
    }
    out[blockIdx.x * 64 + threadIdx.x] = table[64 * PITCH + i];
}
NAMED(edits_plain, edits, (const unsigned char *one, const unsigned char *other, int *out), (one, other, out), 65)
NAMED(edits_padded, edits, (const unsigned char *one, const unsigned char *other, int *out), (one, other, out), 66)

// A product of bytes, four at a time, in tiles of 64 by 64 by 64.
template <int PITCH> __device__ __forceinline__ void fours_of_bytes(const int *a, const int *b, int *c, int n, int depth) {
    __shared__ __align__(16) int left[64 * PITCH], right[64 * PITCH];
    const int tx = threadIdx.x % 16, ty = threadIdx.x / 16, row = blockIdx.y * 64, column = blockIdx.x * 64;
    int sum[4][4] = {};
    for (int begin = 0; begin < depth / 4; begin += 16) {
        const int r = threadIdx.x / 4, q = threadIdx.x % 4 * 4;
        *(int4 *)(left + r * PITCH + q) = *(const int4 *)(a + (row + r) * (depth / 4) + begin + q);
        *(int4 *)(right + r * PITCH + q) = *(const int4 *)(b + (column + r) * (depth / 4) + begin + q);
        __syncthreads();
        #pragma unroll
        for (int k = 0; k < 16; ++k) {
            int u[4], v[4];
            for (int i = 0; i < 4; ++i) u[i] = left[(ty + 16 * i) * PITCH + k], v[i] = right[(tx + 16 * i) * PITCH + k];
            for (int i = 0; i < 4; ++i)
                for (int j = 0; j < 4; ++j) sum[i][j] = __dp4a(u[i], v[j], sum[i][j]);
        }
        __syncthreads();
    }
    for (int i = 0; i < 4; ++i)
        for (int j = 0; j < 4; ++j) c[(row + ty + 16 * i) * n + column + tx + 16 * j] = sum[i][j];
}
NAMED(fours_of_bytes_plain, fours_of_bytes, (const int *a, const int *b, int *c, int n, int depth), (a, b, c, n, depth), 16)
NAMED(fours_of_bytes_padded, fours_of_bytes, (const int *a, const int *b, int *c, int n, int depth), (a, b, c, n, depth), 20)

// A picture of half the width and height, by five taps each way; columns as they are, or even ones first.
template <int SPLIT> __device__ __forceinline__ void half_size(const float *in, float *out, int width, int height) {
    __shared__ float tile[19][SPLIT ? 82 : 68];
    const auto at = [](int c) { return SPLIT ? c / 2 + c % 2 * 48 : c; };
    const float taps[5] = {1 / 16.f, 4 / 16.f, 6 / 16.f, 4 / 16.f, 1 / 16.f};
    const int x = blockIdx.x * 32, y = blockIdx.y * 8;
    for (int k = threadIdx.y * 32 + threadIdx.x; k < 19 * 68; k += 256) {
        const int u = min(max(2 * x + k % 68 - 2, 0), 2 * width - 1), v = min(max(2 * y + k / 68 - 2, 0), 2 * height - 1);
        tile[k / 68][at(k % 68)] = in[v * 2 * width + u];
    }
    __syncthreads();
    float sum = 0;
    #pragma unroll
    for (int dy = 0; dy < 5; ++dy) {
        float line = 0;
        #pragma unroll
        for (int dx = 0; dx < 5; ++dx) line += taps[dx] * tile[2 * threadIdx.y + dy][at(2 * threadIdx.x + dx)];
        sum += taps[dy] * line;
    }
    if (x + threadIdx.x < width && y + threadIdx.y < height) out[(y + threadIdx.y) * width + x + threadIdx.x] = sum;
}
NAMED(half_size_plain, half_size, (const float *in, float *out, int width, int height), (in, out, width, height), 0)
NAMED(half_size_split, half_size, (const float *in, float *out, int width, int height), (in, out, width, height), 1)

// The first and last of three axes change places.
template <int SWIZZLE> __device__ __forceinline__ void axes(const float *in, float *out, int nx, int ny, int nz) {
    __shared__ float tile[32][32];
    const int x = blockIdx.x * 32, y = blockIdx.z, z = blockIdx.y * 32;
    for (int j = threadIdx.y; j < 32; j += 8)
        tile[j][threadIdx.x ^ (SWIZZLE ? j : 0)] = in[((z + j) * ny + y) * nx + x + threadIdx.x];
    __syncthreads();
    for (int j = threadIdx.y; j < 32; j += 8)
        out[((x + j) * ny + y) * nz + z + threadIdx.x] = tile[threadIdx.x][j ^ (SWIZZLE ? threadIdx.x : 0)];
}
NAMED(axes_plain, axes, (const float *in, float *out, int nx, int ny, int nz), (in, out, nx, ny, nz), 0)
NAMED(axes_swizzled, axes, (const float *in, float *out, int nx, int ny, int nz), (in, out, nx, ny, nz), 1)

// Softmax of 48 classes, a thread to a row.
template <int PITCH> __device__ __forceinline__ void classes(const float *in, float *out, int rows) {
    __shared__ float held[128 * PITCH];
    const int first = blockIdx.x * 128, count = min(128, rows - first) * 48;
    for (int k = threadIdx.x; k < count; k += 128) held[k / 48 * PITCH + k % 48] = in[(size_t)first * 48 + k];
    __syncthreads();
    float *own = held + threadIdx.x * PITCH, most = -1e30f, sum = 0;
    if (first + threadIdx.x < rows) {
        for (int k = 0; k < 48; ++k) most = fmaxf(most, own[k]);
        for (int k = 0; k < 48; ++k) sum += own[k] = __expf(own[k] - most);
        const float by = 1 / sum;
        for (int k = 0; k < 48; ++k) own[k] *= by;
    }
    __syncthreads();
    for (int k = threadIdx.x; k < count; k += 128) out[(size_t)first * 48 + k] = held[k / 48 * PITCH + k % 48];
}
NAMED(classes_plain, classes, (const float *in, float *out, int rows), (in, out, rows), 48)
NAMED(classes_padded, classes, (const float *in, float *out, int rows), (in, out, rows), 49)
