// Arrays whose accesses do not say which array they reach: recorded as bases.cubin.
#define EACH const int x = threadIdx.x, y = threadIdx.y
#define AT(p) (unsigned)__cvta_generic_to_shared(p)

extern "C" __global__ void __maxnreg__(24) spilled(const float *in, float *out) {
    __shared__ float t[32][32];
    int x = threadIdx.x, y = threadIdx.y;
    asm volatile("mov.u32 %0, %0;" : "+r"(x)); // what follows from it is not computed again
    const float *column = &t[x][y];
    float v[20], sum = 0;
#pragma unroll
    for (int i = 0; i < 20; i++) v[i] = in[y * 32 + x + i];
    t[y][x] = v[0];
    __syncthreads();
#pragma unroll
    for (int i = 0; i < 20; i++) sum = sum * v[i] + v[19 - i];
    out[y * 32 + x] = *column + sum;
}

extern "C" __global__ void table(const float *in, float *out) {
    EACH;
    __shared__ float t[32][32];
    volatile unsigned rows[4]; // lies in local memory
    for (int i = 0; i < 4; i++) rows[i] = AT(&t[i * 8][0]);
    t[y][x] = in[y * 32 + x];
    __syncthreads();
    float v;
    asm volatile("ld.shared.f32 %0, [%1];" : "=f"(v) : "r"(rows[x / 8] + (x % 8 * 32 + y) * 4));
    out[y * 32 + x] = v;
}

extern "C" __global__ void chosen(const float *in, float *out) {
    EACH;
    __shared__ float a[32][32], b[32][32];
    a[y][x] = in[y * 32 + x];
    b[y][x] = in[y * 32 + x] + 1;
    __syncthreads();
    const float *from = y % 2 ? &a[0][0] : &b[0][0];
    out[y * 32 + x] = from[x * 32 + y];
}

extern "C" __global__ void by_lane(const float *in, float *out) {
    EACH;
    __shared__ float a[32][32], b[32][32];
    a[y][x] = in[y * 32 + x];
    b[y][x] = in[y * 32 + x] + 1;
    __syncthreads();
    const float *from = x % 2 ? &a[0][0] : &b[0][0];
    out[y * 32 + x] = from[x * 32 + y];
}

extern "C" __global__ void generic(const float *in, float *out) {
    EACH;
    __shared__ float t[32][32];
    t[y][x] = in[y * 32 + x];
    __syncthreads();
    const float *from = in[0] == 0 ? &t[0][0] : in;
    out[y * 32 + x] = from[x * 32 + y];
}

typedef union {
    float f[32][32];
    int i[1024];
} Both;

extern "C" __global__ void aliased(const float *in, float *out) {
    EACH;
    __shared__ Both u;
    u.f[y][x] = in[y * 32 + x];
    __syncthreads();
    const float v = u.f[x][y];
    __syncthreads();
    u.i[x * 32 + y] = (int)v;
    __syncthreads();
    out[y * 32 + x] = u.i[y * 32 + x];
}

struct Storage {
    int count;
    union {
        float f[32][32];
        int i[1024];
    };
};

extern "C" __global__ void inside(const float *in, float *out) {
    EACH;
    __shared__ Storage held;
    if (x + y == 0) held.count = 32;
    held.f[y][x] = in[y * 32 + x];
    __syncthreads();
    const float v = held.f[x][y] + held.count;
    __syncthreads();
    held.i[x * 32 + y] = (int)v;
    __syncthreads();
    out[y * 32 + x] = held.i[y * 32 + x];
}

extern __shared__ float pool[];

extern "C" __global__ void views(const float *in, float *out) {
    EACH;
    float *f = pool;
    int *i = (int *)pool;
    f[y * 32 + x] = in[y * 32 + x];
    __syncthreads();
    const float v = f[x * 32 + y];
    __syncthreads();
    i[x * 32 + y] = (int)v;
    __syncthreads();
    out[y * 32 + x] = i[y * 32 + x];
}

extern "C" __global__ void gathered(const float *in, float *out) {
    EACH;
    __shared__ float t[32][32];
    t[y][x] = x;
    __syncthreads();
    out[y * 32 + x] = t[x][(int)in[y * 32 + x] & 31];
}
