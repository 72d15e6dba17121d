// Kernels of the twenty-first set on grids and points, after Rodinia and the samples of CUDA: heat, boxes, centres, layers, paths, waves, life.

#define KERNEL(THREADS) extern "C" __global__ void __launch_bounds__(THREADS)

// Heat of a chip by tiles of 32 by 32 that shrink by a margin a step, four steps a launch (hotspot).
KERNEL(1024) hotspot_pyramid(const float *power, const float *from, float *to, int columns, int rows, int steps, float by_cap, float rx, float ry, float rz) {
    __shared__ float heat[32][32], given[32][32], next[32][32];
    const int tx = threadIdx.x, ty = threadIdx.y, inner = 32 - steps * 2;
    const int first_x = (int)blockIdx.x * inner - steps, first_y = (int)blockIdx.y * inner - steps, x = first_x + tx, y = first_y + ty;
    const bool inside = x >= 0 && x < columns && y >= 0 && y < rows;
    if (inside) heat[ty][tx] = from[(size_t)y * columns + x], given[ty][tx] = power[(size_t)y * columns + x];
    __syncthreads();
    const int x0 = max(0, -first_x), x1 = min(31, columns - 1 - first_x), y0 = max(0, -first_y), y1 = min(31, rows - 1 - first_y);
    const int north = max(ty - 1, y0), south = min(ty + 1, y1), west = max(tx - 1, x0), east = min(tx + 1, x1);
    bool computed = false;
    for (int i = 0; i < steps; ++i) {
        computed = false;
        if (tx >= i + 1 && tx <= 30 - i && ty >= i + 1 && ty <= 30 - i && inside) {
            computed = true;
            const float own = heat[ty][tx];
            next[ty][tx] = own + by_cap * (given[ty][tx] + (heat[south][tx] + heat[north][tx] - 2.0f * own) * ry + (heat[ty][east] + heat[ty][west] - 2.0f * own) * rx + (80.0f - own) * rz);
        }
        __syncthreads();
        if (i == steps - 1) break;
        if (computed) heat[ty][tx] = next[ty][tx];
        __syncthreads();
    }
    if (computed) to[(size_t)y * columns + x] = next[ty][tx];
}

// Forces between particles in boxes and the boxes around (lavaMD): a block a box of 64, which takes one box after another into shared memory.
KERNEL(64) boxes(const float4 *places, const float *charges, float4 *forces, int nx, int ny, int nz, float alpha) {
    __shared__ float4 home[64], near[64];
    __shared__ float charge[64];
    const int t = threadIdx.x, box = blockIdx.x, bx = box % nx, by = box / nx % ny, bz = box / (nx * ny);
    home[t] = places[(size_t)box * 64 + t];
    const float a2 = 2.0f * alpha * alpha;
    float4 force = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    for (int k = 0; k < 27; ++k) {
        const int x = bx + k % 3 - 1, y = by + k / 3 % 3 - 1, z = bz + k / 9 - 1;
        if (x < 0 || x >= nx || y < 0 || y >= ny || z < 0 || z >= nz) continue;
        const size_t at = (size_t)((z * ny + y) * nx + x) * 64 + t;
        __syncthreads();
        near[t] = places[at], charge[t] = charges[at];
        __syncthreads();
        const float4 own = home[t];
        for (int j = 0; j < 64; ++j) {
            const float4 other = near[j];
            const float r2 = own.w + other.w - (own.x * other.x + own.y * other.y + own.z * other.z), u2 = a2 * r2;
            const float v = expf(-u2), fs = 2.0f * v, q = charge[j];
            force.w += q * v;
            force.x += q * fs * (own.x - other.x), force.y += q * fs * (own.y - other.y), force.z += q * fs * (own.z - other.z);
        }
    }
    forces[(size_t)box * 64 + t] = force;
}

// To which of a few centres, in constant memory, each of many points is nearest; features lie one after another (kmeans).
__constant__ float centres[16 * 34];
KERNEL(256) nearest_inverted(const float *features, int *members, int points, int clusters, int count) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= points) return;
    int best = -1;
    float least = 3.4e38f;
    for (int c = 0; c < clusters; ++c) {
        float sum = 0.0f;
        for (int f = 0; f < count; ++f) {
            const float d = features[(size_t)f * points + i] - centres[c * count + f];
            sum += d * d;
        }
        if (sum < least) least = sum, best = c;
    }
    members[i] = best;
}

// A layer's sums, sixteen units by sixteen a block, by a tree with remainders (backprop).
KERNEL(256) layer_forward(const float *input, float *weights, float *partial, int hidden) {
    __shared__ float node[16], matrix[16][16];
    const int tx = threadIdx.x, ty = threadIdx.y, by = blockIdx.x;
    const size_t at = (size_t)(hidden + 1) * 16 * by + (hidden + 1) * ty + tx + 1 + hidden + 1;
    if (tx == 0) node[ty] = input[16 * by + ty + 1];
    __syncthreads();
    matrix[ty][tx] = weights[at];
    __syncthreads();
    matrix[ty][tx] = matrix[ty][tx] * node[ty];
    __syncthreads();
    for (int i = 1; i <= 4; ++i) {
        const int power = 1 << i;
        if (ty % power == 0) matrix[ty][tx] += matrix[ty + power / 2][tx];
        __syncthreads();
    }
    weights[at] = matrix[ty][tx];
    __syncthreads();
    if (tx == 0) partial[by * hidden + ty] = matrix[tx][ty];
}

// The cheapest ways down a grid, twenty rows a launch: a block's columns shrink by one on each side a row (pathfinder).
KERNEL(256) paths_down(const int *walls, const int *from, int *to, int columns, int rows) {
    __shared__ int before[256], result[256];
    const int t = threadIdx.x, inner = 256 - rows * 2, first = (int)blockIdx.x * inner - rows, x = first + t;
    const int low = max(0, -first), high = min(255, columns - 1 - first);
    const bool inside = x >= 0 && x < columns;
    if (inside) before[t] = from[x];
    __syncthreads();
    bool computed = false;
    for (int i = 0; i < rows; ++i) {
        computed = false;
        if (t >= i + 1 && t <= 254 - i && inside) {
            computed = true;
            const int left = before[max(low, t - 1)], up = before[t], right = before[min(high, t + 1)];
            result[t] = min(left, min(up, right)) + walls[(size_t)columns * i + x];
        }
        __syncthreads();
        if (i == rows - 1) break;
        if (computed) before[t] = result[t];
        __syncthreads();
    }
    if (computed) to[x] = result[t];
}

// A stencil of radius four in three dimensions (FDTD3d): planes go by, a thread keeps what is behind and before it in registers. Each has half of the planes.
KERNEL(256) radius_four(const float *__restrict__ from, float *__restrict__ to, int width, int height, int planes) {
    __shared__ float tile[8 + 8][32 + 8];
    const int tx = threadIdx.x, ty = threadIdx.y, pitch = width + 8;
    const size_t plane = (size_t)pitch * (height + 8);
    const float taps[5] = {0.4f, 0.15f, -0.08f, 0.03f, -0.01f};
    size_t at = (size_t)blockIdx.z * planes * plane + (size_t)(blockIdx.y * 8 + ty + 4) * pitch + blockIdx.x * 32 + tx + 4;
    float behind[4], front[4], current;
    #pragma unroll
    for (int i = 3; i >= 0; --i) behind[i] = from[at], at += plane;
    current = from[at];
    #pragma unroll
    for (int i = 0; i < 4; ++i) front[i] = from[at + (i + 1) * plane];
    for (int z = 0; z < planes; ++z) {
        if (z > 0) {
            at += plane;
            #pragma unroll
            for (int i = 3; i > 0; --i) behind[i] = behind[i - 1];
            behind[0] = current, current = front[0];
            #pragma unroll
            for (int i = 0; i < 3; ++i) front[i] = front[i + 1];
            front[3] = from[at + 4 * plane];
        }
        __syncthreads();
        if (ty < 4) tile[ty][tx + 4] = from[at - 4 * pitch], tile[ty + 12][tx + 4] = from[at + 8 * pitch];
        if (tx < 4) tile[ty + 4][tx] = from[at - 4], tile[ty + 4][tx + 36] = from[at + 32];
        tile[ty + 4][tx + 4] = current;
        __syncthreads();
        float value = taps[0] * current;
        #pragma unroll
        for (int i = 1; i <= 4; ++i)
            value += taps[i] * (front[i - 1] + behind[i - 1] + tile[ty + 4 - i][tx + 4] + tile[ty + 4 + i][tx + 4] + tile[ty + 4][tx + 4 - i] + tile[ty + 4][tx + 4 + i]);
        to[at] = value;
    }
}

// A step of life, 32 cells a word, four rows a thread: neighbours are counted by adders of bits, edges meet.
KERNEL(128) life_words(const unsigned *from, unsigned *to, int words, int rows) {
    const int x = blockIdx.x * 128 + threadIdx.x, y = blockIdx.y * 4, west = (x + words - 1) % words, east = (x + 1) % words;
    unsigned ones[3], twos[3], own[3];
    const auto read = [&](int row, int k) {
        const unsigned *line = from + (size_t)((row + rows) % rows) * words;
        const unsigned w = line[west], c = line[x], e = line[east], left = c << 1 | w >> 31, right = c >> 1 | e << 31;
        own[k] = c, ones[k] = left ^ c ^ right, twos[k] = (left & c) | (right & (left ^ c));
    };
    read(y - 1, 0), read(y, 1);
    #pragma unroll
    for (int k = 0; k < 4; ++k) {
        read(y + k + 1, (k + 2) % 3);
        const int a = k % 3, b = (k + 1) % 3, c = (k + 2) % 3;
        const unsigned one = ones[a] ^ ones[b] ^ ones[c], carry = (ones[a] & ones[b]) | (ones[c] & (ones[a] ^ ones[b]));
        const unsigned two = twos[a] ^ twos[b] ^ twos[c], four = (twos[a] & twos[b]) | (twos[c] & (twos[a] ^ twos[b]));
        const unsigned even = two ^ carry, high = four ^ (two & carry);
        const unsigned three = one & even & ~high, with_four = ~one & ~even & high;
        to[(size_t)(y + k) * words + x] = three | (with_four & own[b]);
    }
}
