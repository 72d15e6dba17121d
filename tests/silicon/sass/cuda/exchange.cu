// The exchange of an FFT of 1024 complex numbers, radix 4, 256 threads: a thread writes its four
// results where the next stage's stride puts them and reads four others. Stages of stride 1, 4, 16
// and 64; the butterflies themselves are left out (a sum and differences stand for them).
extern "C" __global__ void exchange(const float2 *in, float2 *out) {
    __shared__ float2 values[1024];
    const int tid = threadIdx.x;
    float2 v[4];
    for (int i = 0; i < 4; ++i) v[i] = in[blockIdx.x * 1024 + i * 256 + tid];
    for (int stride = 1; stride < 256; stride *= 4) {
        const float2 a = make_float2(v[0].x + v[2].x, v[0].y + v[2].y);
        const float2 b = make_float2(v[0].x - v[2].x, v[0].y - v[2].y);
        const float2 c = make_float2(v[1].x + v[3].x, v[1].y + v[3].y);
        const float2 d = make_float2(v[1].y - v[3].y, v[3].x - v[1].x);
        v[0] = make_float2(a.x + c.x, a.y + c.y), v[2] = make_float2(a.x - c.x, a.y - c.y);
        v[1] = make_float2(b.x + d.x, b.y + d.y), v[3] = make_float2(b.x - d.x, b.y - d.y);
        const int at = tid / stride * stride * 4 + tid % stride;
        for (int i = 0; i < 4; ++i) values[at + i * stride] = v[i];
        __syncthreads();
        for (int i = 0; i < 4; ++i) v[i] = values[i * 256 + tid];
        __syncthreads();
    }
    for (int i = 0; i < 4; ++i) out[blockIdx.x * 1024 + i * 256 + tid] = v[i];
}
