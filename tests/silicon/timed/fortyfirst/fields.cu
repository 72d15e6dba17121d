// Matrices and pictures: bytes and complex doubles turned, a bilateral filter of colours, Winograd's layer.
#include <cuda_runtime.h>
#include <stdint.h>

// ------------------------------------------------------------------------------------------------
// Turn a matrix of bytes by tiles of 64 x 64: words come in, and four bytes of a column go out as a word.
template <int LD>
__device__ __forceinline__ void flip_bytes(const uint8_t *in, uint8_t *out, int rows, int cols) {
    __shared__ alignas(4) uint8_t tile[64 * LD];
    const int x = threadIdx.x % 16, y = threadIdx.x / 16;
    in += (size_t)blockIdx.y * 64 * cols + blockIdx.x * 64;
    out += (size_t)blockIdx.x * 64 * rows + blockIdx.y * 64;
#pragma unroll
    for (int i = y; i < 64; i += 16) *(uint32_t *)&tile[i * LD + x * 4] = *(const uint32_t *)&in[(size_t)i * cols + x * 4];
    __syncthreads();
#pragma unroll
    for (int i = y; i < 64; i += 16) {
        const uint8_t *from = &tile[x * 4 * LD + i];
        *(uchar4 *)&out[(size_t)i * rows + x * 4] = make_uchar4(from[0], from[LD], from[2 * LD], from[3 * LD]);
    }
}
extern "C" __global__ void __launch_bounds__(256) flip_bytes_plain(const uint8_t *in, uint8_t *out, int rows, int cols) { flip_bytes<64>(in, out, rows, cols); }
extern "C" __global__ void __launch_bounds__(256) flip_bytes_padded(const uint8_t *in, uint8_t *out, int rows, int cols) { flip_bytes<68>(in, out, rows, cols); }

// ------------------------------------------------------------------------------------------------
// Take the adjoint of a matrix of complex doubles, 16 x 16 a tile.
template <int LD>
__device__ __forceinline__ void flip_complex(const double2 *in, double2 *out, int rows, int cols) {
    __shared__ double2 tile[16 * LD];
    const int x = threadIdx.x, y = threadIdx.y;
    tile[y * LD + x] = in[(size_t)(blockIdx.y * 16 + y) * cols + blockIdx.x * 16 + x];
    __syncthreads();
    const double2 z = tile[x * LD + y];
    out[(size_t)(blockIdx.x * 16 + y) * rows + blockIdx.y * 16 + x] = make_double2(z.x, -z.y);
}
extern "C" __global__ void __launch_bounds__(256) flip_complex_plain(const double2 *in, double2 *out, int rows, int cols) { flip_complex<16>(in, out, rows, cols); }
extern "C" __global__ void __launch_bounds__(256) flip_complex_padded(const double2 *in, double2 *out, int rows, int cols) { flip_complex<17>(in, out, rows, cols); }

// ------------------------------------------------------------------------------------------------
// A bilateral filter of 7 x 7 of colours: the tile holds pixels of four floats, or a plane for each colour.
template <bool APART>
__device__ __forceinline__ void bilateral_colours(const float4 *in, float4 *out, int width, int height, float space, float range) {
    constexpr int SIDE = 22;
    __shared__ float4 pixels[APART ? 1 : SIDE * SIDE];
    __shared__ float planes[3][APART ? SIDE * SIDE : 1];
    for (int i = threadIdx.y * 16 + threadIdx.x; i < SIDE * SIDE; i += 256) {
        const int x = min(max((int)blockIdx.x * 16 + i % SIDE - 3, 0), width - 1), y = min(max((int)blockIdx.y * 16 + i / SIDE - 3, 0), height - 1);
        const float4 p = in[y * width + x];
        if (APART) {
            planes[0][i] = p.x;
            planes[1][i] = p.y;
            planes[2][i] = p.z;
        } else {
            pixels[i] = p;
        }
    }
    __syncthreads();
    auto get = [&](int i) { return APART ? make_float3(planes[0][i], planes[1][i], planes[2][i]) : make_float3(pixels[i].x, pixels[i].y, pixels[i].z); };
    const int mine = (threadIdx.y + 3) * SIDE + threadIdx.x + 3;
    const float3 c = get(mine);
    float3 sum = make_float3(0.f, 0.f, 0.f);
    float total = 0.f;
#pragma unroll
    for (int dy = -3; dy <= 3; dy++)
#pragma unroll
        for (int dx = -3; dx <= 3; dx++) {
            const float3 p = get(mine + dy * SIDE + dx);
            const float r = p.x - c.x, g = p.y - c.y, b = p.z - c.z;
            const float weight = __expf(-space * (dx * dx + dy * dy) - range * (r * r + g * g + b * b));
            sum.x += weight * p.x;
            sum.y += weight * p.y;
            sum.z += weight * p.z;
            total += weight;
        }
    const float over = __fdividef(1.f, total);
    out[(blockIdx.y * 16 + threadIdx.y) * width + blockIdx.x * 16 + threadIdx.x] = make_float4(sum.x * over, sum.y * over, sum.z * over, 1.f);
}
extern "C" __global__ void __launch_bounds__(256) bilateral_colours_together(const float4 *in, float4 *out, int width, int height, float space, float range) { bilateral_colours<false>(in, out, width, height, space, range); }
extern "C" __global__ void __launch_bounds__(256) bilateral_colours_apart(const float4 *in, float4 *out, int width, int height, float space, float range) { bilateral_colours<true>(in, out, width, height, space, range); }

// ------------------------------------------------------------------------------------------------
// A layer of 3 x 3 by Winograd's F(2 x 2, 3 x 3), channels last: a block has 4 x 4 tiles of a picture and 32 filters, eight channels at a time.
// The filters come transformed, [16][C][F]. 16 threads take each of the 16 places; their sums meet in shared memory to be transformed back.
template <int EACH>
__device__ __forceinline__ void winograd_layer(const float *in, const float *filters, float *out, int side, int C, int F) {
    __shared__ float pool[16 * 16 * 32];
    float *tiles = pool, *weights = pool + 16 * 16 * EACH;  // [place][tile][channel], [place][channel][filter]
    const int tid = threadIdx.x, place = tid / 16, ty = tid % 16 / 4, tx = tid % 4, across = side / 8;
    const int y0 = blockIdx.x / across * 8, x0 = blockIdx.x % across * 8, f0 = blockIdx.y * 32;
    in += (size_t)blockIdx.z * side * side * C;
    float acc[4][8] = {};
    for (int c0 = 0; c0 < C; c0 += 8) {
        if (tid < 128) {
            const int tile = tid / 8, c = tid % 8, y = y0 + tile / 4 * 2 - 1, x = x0 + tile % 4 * 2 - 1;
            float d[4][4], t[4][4];
#pragma unroll
            for (int i = 0; i < 4; i++)
#pragma unroll
                for (int j = 0; j < 4; j++) {
                    const bool inside = y + i >= 0 && y + i < side && x + j >= 0 && x + j < side;
                    d[i][j] = inside ? in[((y + i) * side + x + j) * C + c0 + c] : 0.f;
                }
#pragma unroll
            for (int j = 0; j < 4; j++) {
                t[0][j] = d[0][j] - d[2][j];
                t[1][j] = d[1][j] + d[2][j];
                t[2][j] = d[2][j] - d[1][j];
                t[3][j] = d[1][j] - d[3][j];
            }
#pragma unroll
            for (int i = 0; i < 4; i++) {
                const float v[4] = {t[i][0] - t[i][2], t[i][1] + t[i][2], t[i][2] - t[i][1], t[i][1] - t[i][3]};
#pragma unroll
                for (int j = 0; j < 4; j++) tiles[((i * 4 + j) * 16 + tile) * EACH + c] = v[j];
            }
        }
#pragma unroll
        for (int i = 0; i < 16; i++) {
            const int at = tid + i * 256, row = at / 32;
            weights[at] = filters[(size_t)(row / 8 * C + c0 + row % 8) * F + f0 + at % 32];
        }
        __syncthreads();
#pragma unroll
        for (int c = 0; c < 8; c++) {
            float v[4], w[8];
#pragma unroll
            for (int i = 0; i < 4; i++) v[i] = tiles[(place * 16 + ty * 4 + i) * EACH + c];
#pragma unroll
            for (int j = 0; j < 8; j++) w[j] = weights[(place * 8 + c) * 32 + j * 4 + tx];
#pragma unroll
            for (int i = 0; i < 4; i++)
#pragma unroll
                for (int j = 0; j < 8; j++) acc[i][j] += v[i] * w[j];
        }
        __syncthreads();
    }
#pragma unroll
    for (int i = 0; i < 4; i++)
#pragma unroll
        for (int j = 0; j < 8; j++) pool[(place * 16 + ty * 4 + i) * 32 + j * 4 + tx] = acc[i][j];
    __syncthreads();
    for (int k = tid; k < 512; k += 256) {
        const int tile = k / 32, f = k % 32;
        float m[4][4], t[2][4];
#pragma unroll
        for (int i = 0; i < 16; i++) m[i / 4][i % 4] = pool[(i * 16 + tile) * 32 + f];
#pragma unroll
        for (int j = 0; j < 4; j++) {
            t[0][j] = m[0][j] + m[1][j] + m[2][j];
            t[1][j] = m[1][j] - m[2][j] - m[3][j];
        }
        float *to = out + ((size_t)(blockIdx.z * side + y0 + tile / 4 * 2) * side + x0 + tile % 4 * 2) * F + f0 + f;
#pragma unroll
        for (int i = 0; i < 2; i++) {
            to[(size_t)i * side * F] = t[i][0] + t[i][1] + t[i][2];
            to[(size_t)i * side * F + F] = t[i][1] - t[i][2] - t[i][3];
        }
    }
}
extern "C" __global__ void __launch_bounds__(256) winograd_layer_plain(const float *in, const float *filters, float *out, int side, int C, int F) { winograd_layer<8>(in, filters, out, side, C, F); }
extern "C" __global__ void __launch_bounds__(256) winograd_layer_padded(const float *in, const float *filters, float *out, int side, int C, int F) { winograd_layer<9>(in, filters, out, side, C, F); }
