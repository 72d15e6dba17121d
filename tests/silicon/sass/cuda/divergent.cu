// Lanes part: some leave at once, the others run loops of their own length and take one of five
// ways, each with its own access to shared memory.
extern "C" __global__ void divergent(const int *in, int *out, int n) {
    __shared__ int values[256], first[256];
    const int i = threadIdx.x, at = blockIdx.x * blockDim.x + i;
    values[i] = first[i] = 3 * i;
    __syncwarp();
    if (at >= n) return;
    int x = in[at], steps = 0;
    while (x > 1) {
        x = x & 1 ? 3 * x + 1 : x / 2;
        values[i] += x & 7;
        if (++steps > 60) break;
    }
    switch (in[at] % 5) {
        case 0: values[i] += first[i & ~1]; break;
        case 1: values[i] *= 3; break;
        case 2: values[i] ^= steps; break;
        case 3: values[i] = values[i] / 7 + in[at] % 9; break;
        default: values[i] -= 2;
    }
    out[at] = values[i] + steps;
}
