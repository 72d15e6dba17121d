// Kernels of the twenty-first set on rays, rates, pictures and tours.

#define KERNEL(THREADS) extern "C" __global__ void __launch_bounds__(THREADS)
#define ALL 0xffffffffu

// Rays through a tree of planes, fourteen deep, with four spheres a leaf: the nearer side first, the other waits in an array of the thread's.
KERNEL(128) kd_rays(const float *planes, const float4 *spheres, const float *rays, float *distances, unsigned *hits, int count) {
    const int i = blockIdx.x * 128 + threadIdx.x;
    float o[3], d[3], inverse[3];
    #pragma unroll
    for (int k = 0; k < 3; ++k) o[k] = rays[(size_t)k * count + i], d[k] = rays[(size_t)(k + 3) * count + i] + 1e-3f;
    const float length = rsqrtf(d[0] * d[0] + d[1] * d[1] + d[2] * d[2]);
    #pragma unroll
    for (int k = 0; k < 3; ++k) d[k] *= length, inverse[k] = 1.0f / d[k];
    int waiting[16], top = 0, node = 1, axis = 0, axes[16];
    float ends[16], from = 0.0f, to = 2.5f, best = 1e30f;
    unsigned hit = 0xffffffffu;
    for (;;) {
        while (node < 16384) {
            const float at = axis == 0 ? o[0] : axis == 1 ? o[1] : o[2], by = axis == 0 ? inverse[0] : axis == 1 ? inverse[1] : inverse[2];
            const float plane = planes[node], t = (plane - at) * by;
            const int near = at < plane ? 0 : 1;
            axis = axis == 2 ? 0 : axis + 1;
            if (t >= to || t < 0.0f) {
                node = node * 2 + near;
            } else if (t <= from) {
                node = node * 2 + 1 - near;
            } else {
                waiting[top] = node * 2 + 1 - near, ends[top] = to, axes[top++] = axis;
                node = node * 2 + near, to = t;
            }
        }
        for (int k = 0; k < 4; ++k) {
            const unsigned which = (node - 16384) * 4 + k;
            const float4 s = spheres[which];
            const float x = s.x - o[0], y = s.y - o[1], z = s.z - o[2], along = x * d[0] + y * d[1] + z * d[2];
            const float radius = 0.05f * s.w, rest = radius * radius - (x * x + y * y + z * z - along * along);
            if (rest > 0.0f) {
                const float t = along - sqrtf(rest);
                if (t > 0.0f && t < best) best = t, hit = which;
            }
        }
        if (best <= to || top == 0) break;
        from = to, node = waiting[--top], to = ends[top], axis = axes[top];
    }
    distances[i] = best, hits[i] = hit;
}

// Paths of forty rates of interest (the LIBOR market model), which each thread keeps in an array: twenty steps, then what fifteen options pay.
KERNEL(64) libor(const float *normals, const float *volatilities, float *payments, int paths, int rates, int steps, float delta) {
    const int i = blockIdx.x * 64 + threadIdx.x;
    float rate[48];
    for (int k = 0; k < rates; ++k) rate[k] = 0.05f;
    const float root = sqrtf(delta);
    for (int n = 0; n < steps; ++n) {
        const float z = root * normals[(size_t)n * paths + i];
        float drift = 0.0f;
        for (int k = n; k < rates; ++k) {
            const float volatility = 0.2f + 0.05f * __ldg(volatilities + k - n), con = delta * volatility;
            drift += __fdividef(con * rate[k], 1.0f + delta * rate[k]);
            rate[k] *= __expf(con * drift + volatility * (z - 0.5f * con));
        }
    }
    float bond = 1.0f, sum = 0.0f, paid = 0.0f;
    int option = 0;
    for (int k = steps; k < rates; ++k) {
        bond = bond / (1.0f + delta * rate[k]);
        sum += delta * bond;
        if (option < 15) {
            const float value = bond + (0.03f + 0.002f * (float)option++) * sum - 1.0f;
            if (value < 0.0f) paid -= 100.0f * value;
        }
    }
    payments[i] = paid;
}

// How alike two pictures are (SSIM): windows of eleven by eleven, rows first and then columns, of five sums at once. 32 by 8 a block.
KERNEL(256) ssim(const unsigned char *one, const unsigned char *two, float *map, float *total, int width, int height) {
    __shared__ float2 tile[18][44];
    __shared__ float rows[5][18][32];
    __shared__ float sums[8];
    const float taps[11] = {0.00103f, 0.0076f, 0.03600f, 0.10936f, 0.21301f, 0.26602f, 0.21301f, 0.10936f, 0.03600f, 0.0076f, 0.00103f};
    const int tx = threadIdx.x, ty = threadIdx.y, t = ty * 32 + tx, x0 = blockIdx.x * 32 - 5, y0 = blockIdx.y * 8 - 5;
    for (int i = t; i < 18 * 42; i += 256) {
        const int x = min(max(x0 + i % 42, 0), width - 1), y = min(max(y0 + i / 42, 0), height - 1);
        tile[i / 42][i % 42] = make_float2((float)one[(size_t)y * width + x], (float)two[(size_t)y * width + x]);
    }
    __syncthreads();
    for (int y = ty; y < 18; y += 8) {
        float a = 0.0f, b = 0.0f, aa = 0.0f, bb = 0.0f, ab = 0.0f;
        #pragma unroll
        for (int k = 0; k < 11; ++k) {
            const float2 v = tile[y][tx + k];
            a += taps[k] * v.x, b += taps[k] * v.y, aa += taps[k] * v.x * v.x, bb += taps[k] * v.y * v.y, ab += taps[k] * v.x * v.y;
        }
        rows[0][y][tx] = a, rows[1][y][tx] = b, rows[2][y][tx] = aa, rows[3][y][tx] = bb, rows[4][y][tx] = ab;
    }
    __syncthreads();
    float v[5] = {};
    #pragma unroll
    for (int k = 0; k < 11; ++k)
        #pragma unroll
        for (int m = 0; m < 5; ++m) v[m] += taps[k] * rows[m][ty + k][tx];
    const float product = v[0] * v[1], squares = v[0] * v[0] + v[1] * v[1], c1 = 6.5025f, c2 = 58.5225f;
    float alike = (2.0f * product + c1) * (2.0f * (v[4] - product) + c2) / ((squares + c1) * (v[2] + v[3] - squares + c2));
    map[(size_t)(blockIdx.y * 8 + ty) * width + blockIdx.x * 32 + tx] = alike;
    #pragma unroll
    for (int offset = 16; offset > 0; offset >>= 1) alike += __shfl_down_sync(ALL, alike, offset);
    if (tx == 0) sums[ty] = alike;
    __syncthreads();
    if (t == 0) atomicAdd(total, sums[0] + sums[1] + sums[2] + sums[3] + sums[4] + sums[5] + sums[6] + sums[7]);
}

// Tours of 192 towns get shorter by exchanges of two ways (2-opt), the best one of all pairs a turn: a block a tour, which lies in shared memory.
KERNEL(192) two_opt(const float2 *towns, float2 *tours, float *lengths, int turns) {
    __shared__ float2 tour[193];
    __shared__ float gains[6];
    __shared__ int pairs[6];
    const int t = threadIdx.x;
    const auto way = [](float2 a, float2 b) { return sqrtf((a.x - b.x) * (a.x - b.x) + (a.y - b.y) * (a.y - b.y)); };
    tour[t] = towns[(size_t)blockIdx.x * 192 + t];
    if (t == 0) tour[192] = towns[(size_t)blockIdx.x * 192];
    __syncthreads();
    for (int turn = 0; turn < turns; ++turn) {
        const float2 a = tour[t], b = tour[t + 1];
        const float own = way(a, b);
        float best = 0.0f;
        int pair = 0;
        for (int j = t + 2; j < 192; ++j) {
            const float2 c = tour[j], d = tour[j + 1];
            const float gain = own + way(c, d) - way(a, c) - way(b, d);
            if (gain > best) best = gain, pair = t << 8 | j;
        }
        #pragma unroll
        for (int offset = 16; offset > 0; offset >>= 1) {
            const float other = __shfl_xor_sync(ALL, best, offset);
            const int its = __shfl_xor_sync(ALL, pair, offset);
            if (other > best || (other == best && its < pair)) best = other, pair = its;
        }
        if (t % 32 == 0) gains[t / 32] = best, pairs[t / 32] = pair;
        __syncthreads();
        best = gains[0], pair = pairs[0];
        #pragma unroll
        for (int w = 1; w < 6; ++w)
            if (gains[w] > best) best = gains[w], pair = pairs[w];
        if (best <= 1e-6f) break;
        const int low = (pair >> 8) + 1 + t, high = (pair & 255) - t;
        if (low < high) {
            const float2 other = tour[low];
            tour[low] = tour[high], tour[high] = other;
        }
        __syncthreads();
    }
    __syncthreads();
    tours[(size_t)blockIdx.x * 192 + t] = tour[t];
    float sum = way(tour[t], tour[t + 1]);
    #pragma unroll
    for (int offset = 16; offset > 0; offset >>= 1) sum += __shfl_xor_sync(ALL, sum, offset);
    if (t % 32 == 0) gains[t / 32] = sum;
    __syncthreads();
    if (t == 0) lengths[blockIdx.x] = gains[0] + gains[1] + gains[2] + gains[3] + gains[4] + gains[5];
}
