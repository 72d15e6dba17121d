"""Kernels with a remedy that their authors know, for `test_known.py`: each with and without it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = ["KERNELS", "Known"]


@dataclass(frozen=True)
class Known:
    """A kernel `k`, its launch, and what an author writes instead of a part of it."""

    source: str
    plain: str
    padded: str
    block: int | tuple[int, int]
    args: tuple[tuple[int, str], ...]
    """Numbers of elements and their types; the last but scalars is written."""
    values: int = 97
    scalar: int | None = None

    @property
    def remedy(self) -> str:
        """The source with the remedy."""
        if self.plain != "s[1024]":
            return self.source.replace(self.plain, self.padded)
        # Of an array without rows each index is another one.
        head, _, body = self.source.partition("s[1024];")
        return head + "s[1056];" + re.sub(r"\bs\[([^\]]*)\]", r"s[(\1) + ((\1) >> 5)]", body)

    @property
    def launch(self) -> dict[str, Any]:
        """What `replay_compiled` takes."""
        *inputs, (size, kind) = self.args
        given: list[Any] = [(np.arange(n) % self.values).astype(k) for n, k in inputs]
        given.append(np.zeros(size, kind))
        if self.scalar is not None:
            given.append(np.int32(self.scalar))
        return {"grid": 1, "block": self.block, "args": given}


KERNELS = {
    "copies_in_turn": Known(
        """
#define T 32
#define AT(to) (unsigned)__cvta_generic_to_shared(to)
#define COPY(to, from) \
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" :: "r"(AT(to)), "l"(from))
__global__ void k(const float *in, float *out, int n) {
    __shared__ float tile[2][T][T];
    const int x = threadIdx.x, y = threadIdx.y;
    for (int j = y; j < T; j += 8) COPY(&tile[0][j][x], in + j * n + x);
    asm volatile("cp.async.commit_group;");
    for (int s = 0; s < n / T; s++) {
        if (s + 1 < n / T) {
            for (int j = y; j < T; j += 8)
                COPY(&tile[(s + 1) & 1][j][x], in + j * n + (s + 1) * T + x);
            asm volatile("cp.async.commit_group;");
            asm volatile("cp.async.wait_group 1;" ::: "memory");
        } else asm volatile("cp.async.wait_group 0;" ::: "memory");
        __syncthreads();
        for (int j = y; j < T; j += 8) out[(s * T + j) * T + x] = tile[s & 1][x][j];
        __syncthreads();
    }
}
""",
        "tile[2][T][T]",
        "tile[2][T][T + 1]",
        (32, 8),
        ((4096, "float32"), (4096, "float32")),
        scalar=128,
    ),
    "vectors": Known(
        """
__global__ void k(const float4 *in, float4 *out) {
    __shared__ float4 t[32][8];
    const int x = threadIdx.x % 8, y = threadIdx.x / 8;
    t[y][x] = in[threadIdx.x];
    __syncthreads();
    const int r = threadIdx.x % 32, c = threadIdx.x / 32;
    out[threadIdx.x] = t[r][c];
}
""",
        "t[32][8]",
        "t[32][9]",
        256,
        ((1024, "float32"), (1024, "float32")),
    ),
    "pairs": Known(
        """
#include <cuda_fp16.h>
__global__ void k(const __half2 *in, __half2 *out) {
    __shared__ __half2 t[64][32];
    for (int i = threadIdx.x; i < 2048; i += 256) t[i / 32][i % 32] = in[i];
    __syncthreads();
    for (int i = threadIdx.x; i < 2048; i += 256) out[i] = t[i % 64][i / 64];
}
""",
        "t[64][32]",
        "t[64][33]",
        256,
        ((4096, "float16"), (4096, "float16")),
    ),
    "halves": Known(
        """
#include <cuda_fp16.h>
__global__ void k(const __half *in, __half *out) {
    __shared__ __half t[64][64];
    for (int i = threadIdx.x; i < 4096; i += 256) t[i / 64][i % 64] = in[i];
    __syncthreads();
    for (int i = threadIdx.x; i < 4096; i += 256) out[i] = t[i % 64][i / 64];
}
""",
        "t[64][64]",
        "t[64][66]",
        256,
        ((4096, "float16"), (4096, "float16")),
    ),
    "structures": Known(
        """
struct P { float x, y, z; };
__global__ void k(const float *in, float *out) {
    __shared__ P t[32][32];
    const int x = threadIdx.x, y = threadIdx.y, i = y * 32 + x;
    t[y][x].x = in[i]; t[y][x].y = in[i] + 1; t[y][x].z = in[i] + 2;
    __syncthreads();
    out[i] = t[x][y].x + t[x][y].y * t[x][y].z;
}
""",
        "t[32][32]",
        "t[32][33]",
        (32, 32),
        ((1024, "float32"), (1024, "float32")),
    ),
    "several_tiles": Known(
        """
__global__ void k(const float *in, float *out) {
    __shared__ float s[4][32][32];
    const int x = threadIdx.x, y = threadIdx.y;
    for (int z = 0; z < 4; z++)
        for (int j = y; j < 32; j += 8) s[z][j][x] = in[z * 1024 + j * 32 + x];
    __syncthreads();
    for (int z = 0; z < 4; z++)
        for (int j = y; j < 32; j += 8) out[z * 1024 + j * 32 + x] = s[z][x][j];
}
""",
        "s[4][32][32]",
        "s[4][32][33]",
        (32, 8),
        ((4096, "float32"), (4096, "float32")),
    ),
    "stencil": Known(
        """
#define N 32
__global__ void k(const float *in, float *out, int n) {
    __shared__ float u[N + 2][N];
    const int x = threadIdx.x, y = threadIdx.y;
    u[x + 1][y] = in[(y + 1) * n + x + 1];
    if (x < 2) u[x * (N + 1)][y] = in[(y + 1) * n + x * (N + 1)];
    __syncthreads();
    const float up = y ? u[x + 1][y - 1] : 0, down = y < N - 1 ? u[x + 1][y + 1] : 0;
    out[(y + 1) * n + x + 1] = 0.25f * (u[x][y] + u[x + 2][y] + up + down);
}
""",
        "u[N + 2][N]",
        "u[N + 2][N + 1]",
        (32, 32),
        ((1156, "float32"), (1156, "float32")),
        scalar=34,
    ),
    "butterflies": Known(
        """
__global__ void k(const float2 *in, float2 *out) {
    __shared__ float2 s[1024];
    const int t = threadIdx.x;
    s[t] = in[t]; s[t + 512] = in[t + 512];
    __syncthreads();
#pragma unroll
    for (int h = 1; h < 1024; h *= 2) {
        const int i = t / h * 2 * h + t % h;
        const float2 a = s[i], b = s[i + h];
        s[i] = make_float2(a.x + b.x, a.y + b.y);
        s[i + h] = make_float2(a.x - b.x, a.y - b.y);
        __syncthreads();
    }
    out[t] = s[t]; out[t + 512] = s[t + 512];
}
""",
        "s[1024]",
        "",
        512,
        ((2048, "float32"), (2048, "float32")),
    ),
    "prefix": Known(
        """
__global__ void k(const int *in, int *out) {
    __shared__ int s[1024];
    const int t = threadIdx.x;
    s[2 * t] = in[2 * t]; s[2 * t + 1] = in[2 * t + 1];
    int step = 1;
    for (int d = 512; d; d /= 2) {
        __syncthreads();
        if (t < d) s[step * (2 * t + 2) - 1] += s[step * (2 * t + 1) - 1];
        step *= 2;
    }
    if (t == 0) s[1023] = 0;
    for (int d = 1; d < 1024; d *= 2) {
        step /= 2;
        __syncthreads();
        if (t < d) {
            int a = step * (2 * t + 1) - 1, b = step * (2 * t + 2) - 1, h = s[a];
            s[a] = s[b]; s[b] += h;
        }
    }
    __syncthreads();
    out[2 * t] = s[2 * t]; out[2 * t + 1] = s[2 * t + 1];
}
""",
        "s[1024]",
        "",
        512,
        ((1024, "int32"), (1024, "int32")),
    ),
    "bitonic": Known(
        """
__global__ void k(const int *in, int *out) {
    __shared__ int s[1024];
    const int t = threadIdx.x;
    s[t] = in[t]; s[t + 512] = in[t + 512];
    __syncthreads();
    for (int size = 2; size <= 1024; size *= 2)
        for (int stride = size / 2; stride; stride /= 2) {
            const int i = 2 * t - (t & (stride - 1)), j = i + stride;
            const int a = s[i], b = s[j];
            const bool up = (i & size) == 0;
            if ((a > b) == up) { s[i] = b; s[j] = a; }
            __syncthreads();
        }
    out[t] = s[t]; out[t + 512] = s[t + 512];
}
""",
        "s[1024]",
        "",
        512,
        ((1024, "int32"), (1024, "int32")),
        values=1024,
    ),
    "rows_of_a_thread": Known(
        """
__global__ void k(const float *m, const float *v, float *out) {
    __shared__ float a[64][64];
    __shared__ float x[64];
    const int t = threadIdx.x;
    for (int i = t; i < 4096; i += 64) a[i / 64][i % 64] = m[i];
    x[t] = v[t];
    __syncthreads();
    float sum = 0;
    for (int j = 0; j < 64; j++) sum += a[t][j] * x[j];
    out[t] = sum;
}
""",
        "a[64][64]",
        "a[64][65]",
        64,
        ((4096, "float32"), (64, "float32"), (64, "float32")),
    ),
    "softmax": Known(
        """
__global__ void k(const float *in, float *out) {
    __shared__ float rows[32][128];
    const int t = threadIdx.x;
    for (int i = t; i < 4096; i += 32) rows[i / 128][i % 128] = in[i];
    __syncwarp();
    float most = -1e30f, sum = 0;
    for (int i = 0; i < 128; i++) most = fmaxf(most, rows[t][i]);
    for (int i = 0; i < 128; i++) sum += rows[t][i] = __expf(rows[t][i] - most);
    for (int i = 0; i < 128; i++) rows[t][i] /= sum;
    __syncwarp();
    for (int i = t; i < 4096; i += 32) out[i] = rows[i / 128][i % 128];
}
""",
        "rows[32][128]",
        "rows[32][129]",
        32,
        ((4096, "float32"), (4096, "float32")),
    ),
    "doubles": Known(
        """
__global__ void k(const double *in, double *out) {
    __shared__ double t[16][16];
    const int x = threadIdx.x, y = threadIdx.y;
    t[y][x] = in[y * 16 + x];
    __syncthreads();
    out[y * 16 + x] = t[x][y];
}
""",
        "t[16][16]",
        "t[16][17]",
        (16, 16),
        ((256, "float64"), (256, "float64")),
    ),
    "bytes": Known(
        """
typedef unsigned char u8;
__global__ void k(const u8 *in, u8 *out) {
    __shared__ u8 t[64][64];
    for (int i = threadIdx.x; i < 4096; i += 256) t[i / 64][i % 64] = in[i];
    __syncthreads();
    for (int i = threadIdx.x; i < 4096; i += 256) out[i] = t[i % 64][i / 64];
}
""",
        "t[64][64]",
        "t[64][68]",
        256,
        ((4096, "uint8"), (4096, "uint8")),
    ),
    "template": Known(
        """
template <typename T, int ROWS, int COLS> __global__ void k(const T *in, T *out) {
    __shared__ T tile[ROWS][COLS];
    const int x = threadIdx.x, y = threadIdx.y;
    for (int j = y; j < ROWS; j += 8)
        tile[j][x] = in[j * COLS + x];
    __syncthreads();
    for (int j = y; j < COLS; j += 8)
        out[j * ROWS + x] = tile[x][j];
}
template __global__ void k<float, 32, 32>(const float *, float *);

""",
        "tile[ROWS][COLS]",
        "tile[ROWS][COLS + 1]",
        (32, 8),
        ((1024, "float32"), (1024, "float32")),
    ),
}
