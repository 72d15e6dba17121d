// A 1024 x 1024 transpose by tiles of shared memory, its rows padded by one float.
#include <cuda_runtime.h>

constexpr int TILE = 32;

__global__ void transpose(const float *in, float *out, int n) {
    __shared__ float tile[TILE][TILE + 1];
    int x = blockIdx.x * TILE + threadIdx.x;
    int y = blockIdx.y * TILE + threadIdx.y;
    tile[threadIdx.y][threadIdx.x] = in[y * n + x];
    __syncthreads();
    int to_x = blockIdx.y * TILE + threadIdx.x;
    int to_y = blockIdx.x * TILE + threadIdx.y;
    out[to_y * n + to_x] = tile[threadIdx.x][threadIdx.y];
}

int main() {
    const int n = 1024;
    float *in, *out;
    cudaMalloc(&in, n * n * sizeof(float));
    cudaMalloc(&out, n * n * sizeof(float));
    transpose<<<dim3(n / TILE, n / TILE), dim3(TILE, TILE)>>>(in, out, n);
    cudaDeviceSynchronize();
}
