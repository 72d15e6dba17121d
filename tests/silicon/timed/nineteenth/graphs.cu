// Kernels of the nineteenth set over sparse matrices, graphs and chances: slices, triples, colours, lists, walks, generators.
#define KERNEL(THREADS) extern "C" __global__ void __launch_bounds__(THREADS)
#define ALL 0xffffffffu

// A sparse matrix of doubles in slices of 32 rows, each slice as wide as its widest row, by a vector: a thread a row.
KERNEL(128) slices(const int *starts, const int *widths, const unsigned *columns, const double *values, const double *vector,
                   double *out, unsigned last) {
    const int row = blockIdx.x * 128 + threadIdx.x, slice = row / 32;
    const size_t start = (size_t)starts[slice] * 1024 + threadIdx.x % 32;
    const int width = 8 + widths[slice] % 25;
    double sum = 0.0;
    #pragma unroll 4
    for (int k = 0; k < width; ++k) sum += values[start + 32 * k] * vector[columns[start + 32 * k] & last];
    out[row] = sum;
}

// A sparse matrix of triples (row, column, value) in the order of rows, by a vector: a warp goes through 256, adds what belongs
// together by shuffles, and the last lane of a row adds to the result.
KERNEL(256) triples(const unsigned *rows, const unsigned *columns, const float *values, const float *vector, float *out, unsigned last) {
    const int lane = threadIdx.x % 32;
    const size_t first = (size_t)(blockIdx.x * 8 + threadIdx.x / 32) * 256;
    unsigned carried_row = rows[first] / 9;
    float carried = 0.0f;
    for (int step = 0; step < 8; ++step) {
        const size_t i = first + step * 32 + lane;
        const unsigned row = rows[i] / 9;
        float v = values[i] * vector[columns[i] & last];
        if (lane == 0) {
            if (row == carried_row) v += carried;
            else atomicAdd(out + carried_row, carried);
        }
        #pragma unroll
        for (int offset = 1; offset < 32; offset <<= 1) {
            const unsigned other = __shfl_up_sync(ALL, row, offset);
            const float more = __shfl_up_sync(ALL, v, offset);
            if (lane >= offset && other == row) v += more;
        }
        const unsigned next = __shfl_down_sync(ALL, row, 1);
        if (lane < 31 && next != row) atomicAdd(out + row, v);
        carried_row = __shfl_sync(ALL, row, 31);
        carried = __shfl_sync(ALL, v, 31);
    }
    if (lane == 0) atomicAdd(out + carried_row, carried);
}

// A round of colouring (Jones and Plassmann): a vertex without colour that precedes all such neighbours takes the least free one.
KERNEL(256) coloured(const unsigned *neighbours, const unsigned char *degrees, const unsigned char *before, unsigned char *after, unsigned last) {
    const unsigned vertex = blockIdx.x * 256 + threadIdx.x;
    const auto priority = [](unsigned v) {
        v *= 0x9e3779b1u, v ^= v >> 15, v *= 0x85ebca77u;
        return v ^ v >> 13;
    };
    unsigned char own = before[vertex];
    if (own >= 48) {
        const int degree = 4 + degrees[vertex] % 29;
        const unsigned mine = priority(vertex);
        unsigned long long used = 0;
        bool first = true;
        for (int k = 0; k < degree; ++k) {
            const unsigned other = neighbours[(size_t)vertex * 32 + k] & last;
            const unsigned char colour = before[other];
            if (colour < 48) used |= 1ull << colour;
            else if (other != vertex && priority(other) > mine) { first = false; break; }
        }
        if (first) own = __ffsll(~used) - 1;
    }
    after[vertex] = own;
}

// How alike two vertices are (Jaccard): their sorted lists of neighbours are kept as gaps of bytes, and are merged. A thread a pair.
KERNEL(128) alike_lists(const unsigned char *gaps, const unsigned char *lengths, const unsigned *pairs, float *out, unsigned last) {
    const int i = blockIdx.x * 128 + threadIdx.x;
    const unsigned u = pairs[2 * i] & last, v = pairs[2 * i + 1] & last;
    const int left = 8 + lengths[u] % 41, right = 8 + lengths[v] % 41;
    const unsigned char *a = gaps + (size_t)u * 48, *b = gaps + (size_t)v * 48;
    unsigned x = a[0], y = b[0];
    int p = 0, q = 0, common = 0;
    while (p < left && q < right) {
        common += x == y;
        const bool step_left = x <= y, step_right = y <= x;
        if (step_left && ++p < left) x += 1u + a[p] % 16;
        if (step_right && ++q < right) y += 1u + b[q] % 16;
    }
    out[i] = (float)common / (float)(left + right - common);
}

// Walks over a graph of weighed edges: sixteen neighbours a vertex, chosen by Walker's aliases in one draw. A thread a walk.
KERNEL(128) alias_walks(const unsigned *neighbours, const float *limits, const unsigned char *aliases, unsigned *out, unsigned last, int steps, unsigned seed) {
    const unsigned i = blockIdx.x * 128 + threadIdx.x, walks = gridDim.x * 128;
    unsigned x = i * 747796405u + seed, vertex = i & last;
    for (int step = 0; step < steps; ++step) {
        x ^= x << 13, x ^= x >> 17, x ^= x << 5;
        const unsigned slot = x >> 28;
        const size_t at = (size_t)vertex * 16 + slot;
        const float chance = (float)(x & 0xffffffu) * 0x1p-24f;
        const unsigned taken = chance < 0.5f + 0.5f * limits[at] ? slot : aliases[at] % 16u;
        vertex = neighbours[(size_t)vertex * 16 + taken] & last;
        out[(size_t)step * walks + i] = vertex;
    }
}

// Mersenne's twister (MT19937): a block has its own state of 624 words in shared memory, and makes eight times as many numbers.
KERNEL(256) twister(const unsigned *states, unsigned *out, int rounds) {
    __shared__ unsigned s[624];
    const int t = threadIdx.x;
    for (int i = t; i < 624; i += 256) s[i] = states[(size_t)blockIdx.x * 624 + i];
    __syncthreads();
    const auto mixed = [&](int i) {
        const unsigned y = (s[i] & 0x80000000u) | (s[i == 623 ? 0 : i + 1] & 0x7fffffffu);
        return s[i < 227 ? i + 397 : i - 227] ^ y >> 1 ^ (y & 1 ? 0x9908b0dfu : 0u);
    };
    for (int round = 0; round < rounds; ++round) {
        #pragma unroll
        for (int part = 0; part < 3; ++part) {
            const int i = part * 227 + t;
            const bool in = t < 227 && i < 624;
            unsigned v = 0;
            if (in) v = mixed(i);
            __syncthreads();
            if (in) s[i] = v;
            __syncthreads();
        }
        for (int i = t; i < 624; i += 256) {
            unsigned y = s[i];
            y ^= y >> 11;
            y ^= y << 7 & 0x9d2c5680u;
            y ^= y << 15 & 0xefc60000u;
            out[((size_t)blockIdx.x * rounds + round) * 624 + i] = y ^ y >> 18;
        }
    }
}

// Numbers of gamma distributions (Marsaglia and Tsang): normal ones by Box and Muller, refused and drawn again. A thread makes eight.
KERNEL(256) gammas(const float *shapes, float *out, unsigned seed) {
    const unsigned i = blockIdx.x * 256 + threadIdx.x, threads = gridDim.x * 256;
    unsigned long long state = (i + 1ull) * 6364136223846793005ull + seed;
    const auto drawn = [&]() {
        state = state * 6364136223846793005ull + 1442695040888963407ull;
        const unsigned mixed = (unsigned)(((state >> 18) ^ state) >> 27), turn = (unsigned)(state >> 59);
        const unsigned v = mixed >> turn | mixed << (32 - turn & 31);
        return ((float)(v >> 8) + 0.5f) * 0x1p-24f;
    };
    const float d = 2.0f + shapes[i] - 1.0f / 3.0f, c = rsqrtf(9.0f * d);
    for (int k = 0; k < 8; ++k) {
        float made;
        for (;;) {
            const float x = sqrtf(-2.0f * __logf(drawn())) * __cosf(6.2831853f * drawn()), root = 1.0f + c * x;
            if (root <= 0.0f) continue;
            const float v = root * root * root, u = drawn(), xx = x * x;
            if (u < 1.0f - 0.0331f * xx * xx || __logf(u) < 0.5f * xx + d * (1.0f - v + __logf(v))) { made = d * v; break; }
        }
        out[(size_t)k * threads + i] = made;
    }
}
