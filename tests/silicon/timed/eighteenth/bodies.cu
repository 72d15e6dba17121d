// Kernels of the eighteenth set that stand alone: solvers, flows, molecules, graphs, genomes and rays.
#define KERNEL(THREADS) extern "C" __global__ void __launch_bounds__(THREADS)
#define ALL 0xffffffffu

// A step of Chebyshev's smoother for five points in a plane of doubles: the answer, the one before and the right side.
KERNEL(256) chebyshev(const double *now, const double *before, const double *right, double *next, int width, int height,
                      double alpha, double beta) {
    const int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
    if (x >= width || y >= height) return;
    const size_t i = (size_t)y * width + x;
    const double here = now[i];
    double around = 0.0;
    if (x > 0) around += now[i - 1];
    if (x + 1 < width) around += now[i + 1];
    if (y > 0) around += now[i - width];
    if (y + 1 < height) around += now[i + width];
    next[i] = here + alpha * (here - before[i]) + beta * 0.25 * (right[i] - 4.0 * here + around);
}

// A step of a gas of nineteen speeds in space (D3Q19), which come from the neighbours and relax: a plane for each speed.
__device__ constexpr signed char kX[19] = {0, 1, -1, 0, 0, 0, 0, 1, -1, 1, -1, 1, -1, 1, -1, 0, 0, 0, 0};
__device__ constexpr signed char kY[19] = {0, 0, 0, 1, -1, 0, 0, 1, -1, -1, 1, 0, 0, 0, 0, 1, -1, 1, -1};
__device__ constexpr signed char kZ[19] = {0, 0, 0, 0, 0, 1, -1, 0, 0, 0, 0, 1, -1, -1, 1, 1, -1, -1, 1};
KERNEL(128) d3q19(const float *from, float *to, float omega) {
    const int nx = blockDim.x, ny = gridDim.x, nz = gridDim.y, x = threadIdx.x, y = blockIdx.x, z = blockIdx.y;
    const size_t cells = (size_t)nx * ny * nz, own = ((size_t)z * ny + y) * nx + x;
    float f[19], rho = 0.0f, ux = 0.0f, uy = 0.0f, uz = 0.0f;
    #pragma unroll
    for (int q = 0; q < 19; ++q) {
        const int px = (x - kX[q] + nx) % nx, py = (y - kY[q] + ny) % ny, pz = (z - kZ[q] + nz) % nz;
        f[q] = 0.05f + 0.02f * from[q * cells + ((size_t)pz * ny + py) * nx + px];
        rho += f[q];
        ux += kX[q] * f[q], uy += kY[q] * f[q], uz += kZ[q] * f[q];
    }
    const float inverse = 1.0f / rho;
    ux *= inverse, uy *= inverse, uz *= inverse;
    const float square = 1.5f * (ux * ux + uy * uy + uz * uz);
    #pragma unroll
    for (int q = 0; q < 19; ++q) {
        const float weight = q == 0 ? 1.0f / 3.0f : q < 7 ? 1.0f / 18.0f : 1.0f / 36.0f;
        const float along = 3.0f * (kX[q] * ux + kY[q] * uy + kZ[q] * uz);
        to[q * cells + own] = f[q] + omega * (weight * rho * (1.0f + along + 0.5f * along * along - square) - f[q]);
    }
}

// Forces of dihedral angles of a protein, each on four atoms, added up by atomics; an angle to a thread.
__device__ __forceinline__ float3 less(float4 a, float4 b) { return make_float3(a.x - b.x, a.y - b.y, a.z - b.z); }
__device__ __forceinline__ float3 cross(float3 a, float3 b) {
    return make_float3(a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x);
}
__device__ __forceinline__ float dot(float3 a, float3 b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
__device__ __forceinline__ void push(float *forces, unsigned atom, float3 a, float p, float3 b, float q) {
    atomicAdd(forces + 3 * atom, p * a.x + q * b.x);
    atomicAdd(forces + 3 * atom + 1, p * a.y + q * b.y);
    atomicAdd(forces + 3 * atom + 2, p * a.z + q * b.z);
}
KERNEL(256) dihedrals(const float4 *atoms, const uint4 *angles, const float2 *terms, float *forces, unsigned mask, int n) {
    const int i = blockIdx.x * 256 + threadIdx.x;
    if (i >= n) return;
    const uint4 at = angles[i];
    const unsigned a = at.x & mask, b = (a + at.y % 60 + 1) & mask, c = (b + at.z % 60 + 1) & mask, d = (c + at.w % 60 + 1) & mask;
    const float4 pb = atoms[b], pc = atoms[c];
    const float3 f = less(atoms[a], pb), g = less(pb, pc), h = less(atoms[d], pc), m = cross(f, g), n3 = cross(h, g);
    const float mm = dot(m, m) + 1e-6f, nn = dot(n3, n3) + 1e-6f, length = sqrtf(dot(g, g) + 1e-6f);
    const float phi = atan2f(dot(cross(n3, m), g) / length, dot(m, n3));
    const float2 term = terms[i];
    const float slope = -3.0f * term.x * sinf(3.0f * phi - term.y);
    const float fm = -slope * length / mm, fn = slope * length / nn;
    const float fg = dot(f, g) / (mm * length) * slope, hg = dot(h, g) / (nn * length) * slope;
    push(forces, a, m, fm, n3, 0.0f);
    push(forces, b, m, fg - fm, n3, -hg);
    push(forces, c, m, -fg, n3, hg - fn);
    push(forces, d, m, 0.0f, n3, fn);
}

// Triangles of a graph whose lists of 32 neighbours are kept as gaps of a byte: a thread to an edge merges two lists.
KERNEL(128) triangles(const unsigned char *gaps, int *counts, int vertices, int edges) {
    const int i = blockIdx.x * 128 + threadIdx.x, vertex = i / edges, slot = i % edges;
    const unsigned char *first = gaps + (size_t)vertex * 32;
    int other = vertex;
    for (int k = 0; k <= slot; ++k) other += 1 + first[k] % 16;
    other %= vertices;
    const unsigned char *second = gaps + (size_t)other * 32;
    int a = vertex + 1 + first[0] % 16, b = other + 1 + second[0] % 16, p = 0, q = 0, found = 0;
    while (true) {
        const bool left = a <= b, right = b <= a;
        found += left && right;
        if (left) {
            if (++p == 32) break;
            a += 1 + first[p] % 16;
        }
        if (right) {
            if (++q == 32) break;
            b += 1 + second[q] % 16;
        }
    }
    found = __reduce_add_sync(ALL, found);
    if (threadIdx.x % 32 == 0 && found) atomicAdd(counts + vertex % 1024, found);
}

// How likely a read of 32 letters comes from a haplotype of 128 (pair hidden Markov model): a warp to a pair, a lane to a letter.
KERNEL(128) pair_hmm(const unsigned char *reads, const unsigned char *qualities, const unsigned char *haplotypes, float *likelihoods,
                     float open, float extend) {
    __shared__ unsigned char letters[4][128];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, pair = blockIdx.x * 4 + warp;
    ((unsigned *)letters[warp])[lane] = ((const unsigned *)haplotypes)[(size_t)pair * 32 + lane];
    __syncwarp();
    const int own = reads[pair * 32 + lane] & 3;
    const float wrong = exp2f(-0.332193f * (10 + qualities[pair * 32 + lane] % 30)), right = 1.0f - wrong, odd = wrong / 3.0f;
    const float stay = 1.0f - 2.0f * open, close = 1.0f - extend, start = 1.0f / 128.0f;
    float match = 0.0f, insert = 0.0f, gap = 0.0f, over_m = 0.0f, over_i = 0.0f, over_g = lane ? 0.0f : start, sum = 0.0f;
    for (int step = 0; step < 128 + 31; ++step) {
        float up_m = __shfl_up_sync(ALL, match, 1), up_i = __shfl_up_sync(ALL, insert, 1), up_g = __shfl_up_sync(ALL, gap, 1);
        if (lane == 0) up_m = up_i = 0.0f, up_g = start;
        const int place = step - lane;
        if (place >= 0 && place < 128) {
            const float chance = (letters[warp][place] & 3) == own ? right : odd;
            const float next = chance * (stay * over_m + close * (over_i + over_g));
            gap = open * match + extend * gap;
            insert = open * up_m + extend * up_i;
            match = next;
            sum += match + insert;
        }
        over_m = up_m, over_i = up_i, over_g = up_g;
    }
    if (lane == 31) likelihoods[pair] = log10f(sum + 1e-37f);
}

// Rays through a tree of eighths of a cube, five levels deep, whose bytes tell which eighths are filled; nearer ones come first.
__device__ __forceinline__ bool met(float3 from, float3 inverse, float x, float y, float z, float size, float &near) {
    const float ax = (x - from.x) * inverse.x, bx = (x + size - from.x) * inverse.x;
    const float ay = (y - from.y) * inverse.y, by = (y + size - from.y) * inverse.y;
    const float az = (z - from.z) * inverse.z, bz = (z + size - from.z) * inverse.z;
    near = fmaxf(fmaxf(fminf(ax, bx), fminf(ay, by)), fmaxf(fminf(az, bz), 0.0f));
    return near <= fminf(fminf(fmaxf(ax, bx), fmaxf(ay, by)), fmaxf(az, bz));
}
KERNEL(128) octree_rays(const unsigned char *filled, float *depths, int width, int height) {
    const int px = blockIdx.x * 16 + threadIdx.x % 16, py = blockIdx.y * 8 + threadIdx.x / 16;
    if (px >= width || py >= height) return;
    const float3 from = make_float3(0.4f, 0.3f, -1.2f);
    const float dx = ((float)px + 0.5f) / width - 0.41f, dy = ((float)py + 0.5f) / height - 0.31f, dz = 1.1f;
    const float3 inverse = make_float3(1.0f / dx, 1.0f / dy, 1.0f / dz);
    const int order = (dx < 0) | (dy < 0) << 1;
    constexpr int kFirst[6] = {0, 1, 9, 73, 585, 4681};
    unsigned stack[40];
    int top = 0;
    float nearest = 1e30f;
    stack[top++] = 0;
    while (top > 0) {
        // Three bits of level above 15 bits of place, three for each level.
        const unsigned entry = stack[--top], level = entry >> 16, place = entry & 0x7fff;
        float x = 0.0f, y = 0.0f, z = 0.0f, size = 1.0f;
        for (int k = (int)level - 1; k >= 0; --k) {
            const unsigned part = place >> 3 * k & 7;
            size *= 0.5f;
            x += part & 1 ? size : 0.0f, y += part & 2 ? size : 0.0f, z += part & 4 ? size : 0.0f;
        }
        float near;
        if (!met(from, inverse, x, y, z, size, near)) continue;
        if (level == 5) {
            nearest = near;
            break;
        }
        int first = 0;
        #pragma unroll
        for (int k = 0; k < 5; ++k)
            if (level == k) first = kFirst[k];
        const unsigned mask = filled[2 * (first + place)] & (level < 2 ? 255 : filled[2 * (first + place) + 1]);
        for (int k = 7; k >= 0; --k) {
            const unsigned part = k ^ order;
            if (mask >> part & 1) stack[top++] = (level + 1) << 16 | place << 3 | part;
        }
    }
    depths[py * width + px] = nearest;
}
