// Kernels of the twentieth set over sparse matrices, graphs, tables and trees: merged paths, relaxed edges, leaves, texts, routes, words.
#define KERNEL(THREADS) extern "C" __global__ void __launch_bounds__(THREADS)
#define ALL 0xffffffffu

// A sparse matrix by a vector along a merge path: rows' ends and values are merged as if they were two lists, eight of both a thread,
// so that long rows and short ones cost the same. Row i ends at 16 (i + 1) and up to 15 more, but for the last.
KERNEL(128) merge_path(const unsigned *extra, const unsigned *columns, const float *values, const float *vector, float *out, int rows, unsigned last) {
    const int entries = rows * 16, diagonal = (blockIdx.x * 128 + threadIdx.x) * 8;
    const auto end = [&](int row) { return row + 1 < rows ? 16 * (row + 1) + (int)(extra[row] & 15u) : entries; };
    int low = max(0, diagonal - entries), high = min(diagonal, rows);
    while (low < high) {
        const int middle = (low + high) / 2;
        if (end(middle) <= diagonal - middle - 1) low = middle + 1;
        else high = middle;
    }
    int row = low, entry = diagonal - low;
    if (row >= rows) return;
    bool whole = false;
    int stop = end(row);
    float sum = 0.0f;
    for (int k = 0; k < 8; ++k) {
        if (entry < stop) {
            sum += values[entry] * vector[columns[entry] & last];
            ++entry;
            continue;
        }
        if (whole) out[row] = sum;
        else atomicAdd(out + row, sum);
        whole = true, sum = 0.0f;
        if (++row >= rows) return;
        stop = end(row);
    }
    if (sum != 0.0f) atomicAdd(out + row, sum);
}

// Every edge of a graph is relaxed once (Bellman and Ford): four edges a thread, the least distance stays.
KERNEL(256) relaxed(const uint4 *sources, const uint4 *targets, const uint4 *lengths, const unsigned *before, unsigned *after, unsigned last) {
    const size_t i = (size_t)blockIdx.x * 256 + threadIdx.x;
    const uint4 from = sources[i], to = targets[i], length = lengths[i];
    const unsigned u[4] = {from.x, from.y, from.z, from.w}, v[4] = {to.x, to.y, to.z, to.w}, w[4] = {length.x, length.y, length.z, length.w};
    unsigned reached[4];
    #pragma unroll
    for (int k = 0; k < 4; ++k) reached[k] = (before[u[k] & last] >> 4) + (w[k] >> 8);
    #pragma unroll
    for (int k = 0; k < 4; ++k) atomicMin(after + (v[k] & last), reached[k]);
}

// The nearest of 32768 points in space by a k-d tree of twelve levels, whose leaves hold eight points each: a thread to a query, which
// keeps the other sides to visit in a stack. A leaf's points lie within its cell of one sixteenth each way.
KERNEL(128) leaf_points(const float4 *points, const float *queries, float *distances, unsigned *nearest, int count) {
    const int i = blockIdx.x * 128 + threadIdx.x;
    const float q[3] = {0.5f + 0.5f * queries[i], 0.5f + 0.5f * queries[count + i], 0.5f + 0.5f * queries[2 * count + i]};
    const auto along = [](unsigned path, int axis, int depth) {  // bits of one axis of a path from the root
        unsigned place = 0;
        for (int d = axis; d < depth; d += 3) place = place << 1 | (path >> (depth - 1 - d) & 1u);
        return place;
    };
    unsigned stack[16], best_place = 0;
    float far[16], best = 1e30f;
    int top = 1;
    stack[0] = 1u, far[0] = 0.0f;
    while (top > 0) {
        --top;
        if (far[top] >= best) continue;
        unsigned node = stack[top];
        int depth = 31 - __clz(node);
        while (depth < 12) {
            const int axis = depth % 3, level = depth / 3;
            const unsigned cell = along(node - (1u << depth), axis, depth);
            const float split = ((float)cell + 0.5f) * (1.0f / (float)(1 << level)), apart = (axis == 0 ? q[0] : axis == 1 ? q[1] : q[2]) - split;
            const unsigned side = apart > 0.0f;
            if (apart * apart < best) {
                stack[top] = node * 2 + (1 - side), far[top] = apart * apart;
                ++top;
            }
            node = node * 2 + side;
            ++depth;
        }
        const unsigned leaf = node - 4096u;
        const float x = (float)along(leaf, 0, 12), y = (float)along(leaf, 1, 12), z = (float)along(leaf, 2, 12);
        for (int k = 0; k < 8; ++k) {
            const float4 p = points[leaf * 8 + k];
            const float a = (x + 0.5f + 0.5f * p.x) * 0.0625f - q[0], b = (y + 0.5f + 0.5f * p.y) * 0.0625f - q[1];
            const float c = (z + 0.5f + 0.5f * p.z) * 0.0625f - q[2], square = a * a + b * b + c * c;
            if (square < best) best = square, best_place = leaf * 8 + k;
        }
    }
    distances[i] = best;
    nearest[i] = best_place;
}

// An automaton of many words (Aho and Corasick) over each thread's 192 letters: its 2048 states by 256 letters lie in device memory.
KERNEL(128) dictionary(const unsigned *text, const unsigned short *next, unsigned *found, int words) {
    const int i = blockIdx.x * 128 + threadIdx.x, count = gridDim.x * 128;
    unsigned state = 0, hits = 0;
    for (int w = 0; w < words; ++w) {
        const unsigned four = text[(size_t)w * count + i];
        #pragma unroll
        for (int k = 0; k < 4; ++k) {
            const unsigned letter = 'a' + ((four >> (8 * k) & 255u) * 26u >> 8);
            const unsigned to = next[state * 256 + letter];
            state = to & 2047u;
            hits += state < 128u;
        }
    }
    found[i] = hits;
}

// Where packets go: 24 bits of an address name one of sixteen million entries, some of which name 256 longer routes. Four a thread.
KERNEL(256) routes(const uint4 *addresses, const unsigned short *first, const unsigned char *second, uchar4 *ports) {
    const size_t i = (size_t)blockIdx.x * 256 + threadIdx.x;
    const uint4 four = addresses[i];
    const unsigned a[4] = {four.x, four.y, four.z, four.w};
    unsigned char port[4];
    unsigned entry[4];
    #pragma unroll
    for (int k = 0; k < 4; ++k) entry[k] = first[a[k] >> 8];
    #pragma unroll
    for (int k = 0; k < 4; ++k) port[k] = entry[k] >= 960u ? second[(entry[k] - 960u) * 256 + (a[k] & 255u)] : (unsigned char)entry[k];
    ports[i] = make_uchar4(port[0], port[1], port[2], port[3]);
}

// A step for vectors of words that occur together, and five that do not (skip-grams with negative samples): a warp to a pair of words,
// whose vectors of 128 it moves by atomics.
KERNEL(128) skip_grams(const unsigned *pairs, float *centres, float *contexts, unsigned last, float rate) {
    const int lane = threadIdx.x % 32;
    const unsigned i = blockIdx.x * 4 + threadIdx.x / 32, word = pairs[2 * i] & last, beside = pairs[2 * i + 1];
    const float4 own = reinterpret_cast<const float4 *>(centres + (size_t)word * 128)[lane];
    float4 moved = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    unsigned state = i * 747796405u + 2891336453u;
    for (int n = 0; n < 6; ++n) {
        const unsigned other = (n == 0 ? beside : state >> 7) & last;
        state = state * 1664525u + 1013904223u;
        float *at = contexts + (size_t)other * 128 + lane * 4;
        const float4 its = *reinterpret_cast<const float4 *>(at);
        float dot = own.x * its.x + own.y * its.y + own.z * its.z + own.w * its.w;
        #pragma unroll
        for (int offset = 16; offset > 0; offset >>= 1) dot += __shfl_xor_sync(ALL, dot, offset);
        const float g = rate * ((n == 0 ? 1.0f : 0.0f) - 1.0f / (1.0f + __expf(-dot)));
        moved.x += g * its.x, moved.y += g * its.y, moved.z += g * its.z, moved.w += g * its.w;
        atomicAdd(at, g * own.x), atomicAdd(at + 1, g * own.y), atomicAdd(at + 2, g * own.z), atomicAdd(at + 3, g * own.w);
    }
    float *to = centres + (size_t)word * 128 + lane * 4;
    atomicAdd(to, moved.x), atomicAdd(to + 1, moved.y), atomicAdd(to + 2, moved.z), atomicAdd(to + 3, moved.w);
}

// Gradients and curvatures of rows by the bins of sixteen features, as boosted trees sum them: 1024 rows a block, named by a list; four
// threads a row, each for four features; sums of 64 bins are added up in shared memory, then in device memory.
KERNEL(256) boosted(const unsigned *bins, const float2 *gradients, const unsigned *rows, float *sums, unsigned last) {
    __shared__ float held[16 * 64 * 2];
    const int t = threadIdx.x;
    for (int i = t; i < 2048; i += 256) held[i] = 0.0f;
    __syncthreads();
    for (int step = 0; step < 16; ++step) {
        const unsigned row = rows[blockIdx.x * 1024 + step * 64 + t / 4] & last;
        const unsigned four = bins[(size_t)row * 4 + t % 4];
        const float2 g = gradients[row];
        #pragma unroll
        for (int k = 0; k < 4; ++k) {
            float *at = held + ((t % 4 * 4 + k) * 64 + (four >> (8 * k) & 63u)) * 2;
            atomicAdd(at, g.x);
            atomicAdd(at + 1, 0.5f + 0.25f * g.y);
        }
    }
    __syncthreads();
    for (int i = t; i < 2048; i += 256) atomicAdd(sums + i, held[i]);
}
