// A 32x32 tile a block of 32x8 threads; each thread then walks along a row of it, so that lanes are
// a row apart: rows of 32 words, and of 33.
template <int ROW>
__device__ void blur(const float *in, float *out, int n) {
    __shared__ float tile[32][ROW], sums[32][ROW];
    const int x = blockIdx.x * 32, y = blockIdx.y * 32, tid = threadIdx.y * 32 + threadIdx.x;
    for (int j = threadIdx.y; j < 32; j += 8) tile[j][threadIdx.x] = in[(y + j) * n + x + threadIdx.x];
    __syncthreads();
    // Eight warps: lane's row, and four columns of it each.
    const int row = tid % 32, first = tid / 32 * 4;
    for (int i = 0; i < 4; ++i) {
        float sum = 0;
#pragma unroll
        for (int k = -4; k <= 4; ++k) sum += tile[row][(first + i + k) & 31] * (5 - (k < 0 ? -k : k));
        sums[row][first + i] = sum * 0.04f;
    }
    __syncthreads();
    for (int j = threadIdx.y; j < 32; j += 8) out[(y + j) * n + x + threadIdx.x] = sums[j][threadIdx.x];
}
extern "C" __global__ void blur_plain(const float *in, float *out, int n) { blur<32>(in, out, n); }
extern "C" __global__ void blur_padded(const float *in, float *out, int n) { blur<33>(in, out, n); }

// 256 particles of 8 floats a block, each thread passes over those of its warp: an array of
// structures, and a structure of arrays.
template <bool STRUCTURES>
__device__ void particles(const float *in, float *out, int rounds) {
    __shared__ float values[8 * 256];
    const int tid = threadIdx.x;
    const auto at = [&](int particle, int part) -> float & {
        return values[STRUCTURES ? particle * 8 + part : part * 256 + particle];
    };
    for (int part = 0; part < 8; ++part) at(tid, part) = in[(blockIdx.x * 8 + part) * 256 + tid];
    __syncthreads();
    float x = at(tid, 0), y = at(tid, 1), z = at(tid, 2);
    for (int round = 1; round <= rounds; ++round) {
        const int other = tid & ~31 | (tid + round) & 31;
        x += at(other, 0) * at(other, 3);
        y += at(other, 1) * at(other, 4);
        z += at(other, 2) * at(other, 5);
    }
    out[blockIdx.x * 256 + tid] = x + y + z;
}
extern "C" __global__ void particles_structures(const float *in, float *out, int rounds) {
    particles<true>(in, out, rounds);
}
extern "C" __global__ void particles_arrays(const float *in, float *out, int rounds) {
    particles<false>(in, out, rounds);
}
