// Kernels of the sixteenth set that stand alone: bodies, waves, pictures, grids and sparse matrices.

#define KERNEL(THREADS) extern "C" __global__ void __launch_bounds__(THREADS)
#define ALL 0xffffffffu

// Accelerations of bodies and how these change (for Hermite's method): 128 bodies a block against one of six parts of all.
KERNEL(128) hermite_forces(const float4 *positions, const float4 *velocities, float4 *acceleration, float4 *jerk, int n, int part) {
    __shared__ float4 xs[128], vs[128];
    const int i = blockIdx.x * 128 + threadIdx.x, first = blockIdx.y * part;
    const float4 x = positions[i], v = velocities[i];
    float ax = 0, ay = 0, az = 0, jx = 0, jy = 0, jz = 0, potential = 0;
    for (int tile = first; tile < first + part; tile += 128) {
        __syncthreads();
        xs[threadIdx.x] = positions[tile + threadIdx.x];
        vs[threadIdx.x] = velocities[tile + threadIdx.x];
        __syncthreads();
        #pragma unroll 8
        for (int j = 0; j < 128; ++j) {
            const float4 p = xs[j], q = vs[j];
            const float dx = p.x - x.x, dy = p.y - x.y, dz = p.z - x.z;
            const float dvx = q.x - v.x, dvy = q.y - v.y, dvz = q.z - v.z;
            const float r2 = dx * dx + dy * dy + dz * dz + 1e-4f, rv = dx * dvx + dy * dvy + dz * dvz;
            const float inverse = rsqrtf(r2), inverse2 = inverse * inverse, mass = p.w * inverse, strength = mass * inverse2;
            const float alpha = -3.0f * rv * inverse2;
            potential -= mass;
            ax += strength * dx, ay += strength * dy, az += strength * dz;
            jx += strength * (dvx + alpha * dx), jy += strength * (dvy + alpha * dy), jz += strength * (dvz + alpha * dz);
        }
    }
    acceleration[(size_t)blockIdx.y * n + i] = make_float4(ax, ay, az, potential);
    jerk[(size_t)blockIdx.y * n + i] = make_float4(jx, jy, jz, 0.0f);
}

// A picture by ultrasound: echoes of 64 receivers, each late by its distance, are summed between two samples for each pixel.
KERNEL(256) beamform(const float2 *echoes, float2 *image, int width, int samples, float pitch, float step, float rate) {
    const int x = blockIdx.x * 32 + threadIdx.x % 32, z = blockIdx.y * 8 + threadIdx.x / 32;
    const float px = (x - 0.5f * width) * step, pz = (z + 16) * step;
    float2 sum = {0.0f, 0.0f};
    #pragma unroll 4
    for (int e = 0; e < 64; ++e) {
        const float dx = px - (e - 31.5f) * pitch;
        const float delay = (pz + sqrtf(dx * dx + pz * pz)) * rate;
        const int k = (int)delay;
        const float f = delay - k, apodization = 0.54f - 0.46f * __cosf(0.09817477f * (e + 0.5f));
        if (k < samples - 1) {
            const float2 a = __ldg(&echoes[e * samples + k]), b = __ldg(&echoes[e * samples + k + 1]);
            sum.x += apodization * (a.x + f * (b.x - a.x));
            sum.y += apodization * (a.y + f * (b.y - a.y));
        }
    }
    image[(size_t)z * width + x] = sum;
}

// Hough's votes for lines: a block to an angle and to 8192 points, whose distances from the corner are counted.
KERNEL(256) hough_lines(const uint4 *points, int *votes) {
    __shared__ int bins[2560];
    for (int i = threadIdx.x; i < 2560; i += 256) bins[i] = 0;
    float sine, cosine;
    sincospif(blockIdx.x / 180.0f, &sine, &cosine);
    __syncthreads();
    const uint4 *own = points + (size_t)blockIdx.y * 2048;
    for (int i = threadIdx.x; i < 2048; i += 256) {
        const uint4 p = own[i];
        const unsigned each[4] = {p.x, p.y, p.z, p.w};
        #pragma unroll
        for (int k = 0; k < 4; ++k) {
            const float x = each[k] & 1023, y = each[k] >> 16 & 1023;
            atomicAdd(&bins[__float2int_rn(x * cosine + y * sine) + 1024], 1);
        }
    }
    __syncthreads();
    for (int i = threadIdx.x; i < 2560; i += 256)
        if (bins[i]) atomicAdd(&votes[blockIdx.x * 2560 + i], bins[i]);
}

// Rows of the square of a sparse matrix with eight values a row: a warp to a row, whose 64 products meet in a table of 128
// places by their columns' hash; what is in the table goes out close together.
KERNEL(256) sparse_square(const unsigned *columns, const float *values, int *out_columns, float *out_values, int *lengths, int n) {
    __shared__ int keys[8][128];
    __shared__ float sums[8][128];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    for (int r = 0; r < 4; ++r) {
        const int row = (blockIdx.x * 8 + warp) * 4 + r;
        for (int i = lane; i < 128; i += 32) keys[warp][i] = -1, sums[warp][i] = 0.0f;
        __syncwarp();
        for (int p = lane; p < 64; p += 32) {
            const size_t a = (size_t)row * 8 + p / 8;
            const size_t b = (size_t)(columns[a] % n) * 8 + p % 8;
            const int column = columns[b] % n;
            const float product = values[a] * values[b];
            unsigned place = (unsigned)column * 107u & 127;
            while (true) {
                const int seen = atomicCAS(&keys[warp][place], -1, column);
                if (seen == -1 || seen == column) break;
                place = (place + 1) & 127;
            }
            atomicAdd(&sums[warp][place], product);
        }
        __syncwarp();
        int count = 0;
        for (int i = lane; i < 128; i += 32) {
            const int key = keys[warp][i];
            const unsigned full = __ballot_sync(ALL, key >= 0);
            if (key >= 0) {
                const size_t to = (size_t)row * 64 + count + __popc(full & ((1u << lane) - 1));
                out_columns[to] = key;
                out_values[to] = sums[warp][i];
            }
            count += __popc(full);
        }
        if (lane == 0) lengths[row] = count;
        __syncwarp();
    }
}

// What a finer grid of a cube leaves for a coarser one (multigrid): f less Laplace's operator of u, as means of eight places.
KERNEL(256) restrict_residual(const float *u, const float *f, float *coarse, int n, float inverse_square) {
    const int cx = blockIdx.x * 32 + threadIdx.x, cy = blockIdx.y * 8 + threadIdx.y, cz = blockIdx.z;
    const int x = 2 * cx, half = n / 2;
    const size_t plane = (size_t)n * n;
    float sum = 0.0f;
    #pragma unroll
    for (int dz = 0; dz < 2; ++dz)
        #pragma unroll
        for (int dy = 0; dy < 2; ++dy) {
            const int y = 2 * cy + dy, z = 2 * cz + dz;
            const size_t at = z * plane + (size_t)y * n + x;
            const float2 zero = {0.0f, 0.0f}, here = *(const float2 *)(u + at), right = *(const float2 *)(f + at);
            const float west = x > 0 ? u[at - 1] : 0.0f, east = x + 2 < n ? u[at + 2] : 0.0f;
            const float2 north = y > 0 ? *(const float2 *)(u + at - n) : zero, south = y + 1 < n ? *(const float2 *)(u + at + n) : zero;
            const float2 below = z > 0 ? *(const float2 *)(u + at - plane) : zero, above = z + 1 < n ? *(const float2 *)(u + at + plane) : zero;
            const float first = 6.0f * here.x - west - here.y - north.x - south.x - below.x - above.x;
            const float second = 6.0f * here.y - here.x - east - north.y - south.y - below.y - above.y;
            sum += right.x - inverse_square * first + right.y - inverse_square * second;
        }
    coarse[((size_t)cz * half + cy) * half + cx] = 0.125f * sum;
}

// Ewald's sums in the space of waves: what 16384 charges add up to for four waves a block, by sines and cosines.
KERNEL(256) structure_factors(const float4 *charges, float2 *factors, int n, float unit) {
    __shared__ float2 partial[4][8];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    float kx[4], ky[4], kz[4];
    float2 sum[4] = {};
    #pragma unroll
    for (int w = 0; w < 4; ++w) {
        const int wave = blockIdx.x * 4 + w;
        kx[w] = unit * (wave % 16), ky[w] = unit * (wave / 16 % 16 - 8), kz[w] = unit * (wave / 256 - 4);
    }
    #pragma unroll 2
    for (int i = threadIdx.x; i < n; i += 256) {
        const float4 c = charges[i];
        #pragma unroll
        for (int w = 0; w < 4; ++w) {
            float sine, cosine;
            __sincosf(kx[w] * c.x + ky[w] * c.y + kz[w] * c.z, &sine, &cosine);
            sum[w].x += c.w * cosine;
            sum[w].y += c.w * sine;
        }
    }
    #pragma unroll
    for (int w = 0; w < 4; ++w) {
        for (int d = 16; d > 0; d >>= 1) {
            sum[w].x += __shfl_down_sync(ALL, sum[w].x, d);
            sum[w].y += __shfl_down_sync(ALL, sum[w].y, d);
        }
        if (lane == 0) partial[w][warp] = sum[w];
    }
    __syncthreads();
    if (threadIdx.x < 4) {
        float2 all = {0.0f, 0.0f};
        for (int k = 0; k < 8; ++k) all.x += partial[threadIdx.x][k].x, all.y += partial[threadIdx.x][k].y;
        factors[blockIdx.x * 4 + threadIdx.x] = all;
    }
}

// A picture of a volume of bytes: a ray to a pixel, 192 steps at most, eight corners a step, until it has met enough.
KERNEL(256) volume_cast(const unsigned char *volume, unsigned *image, int width, int size, float tilt) {
    const int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
    const float scale = (float)size / width, last = size - 1.001f;
    float px = x * scale, py = y * scale, pz = 0.0f, red = 0, green = 0, blue = 0, opacity = 0;
    for (int step = 0; step < 192 && opacity < 0.95f; ++step) {
        px += tilt, py += 0.5f * tilt, pz += 0.7f;
        if (px > last || py > last || pz > last) break;
        const int ix = (int)px, iy = (int)py, iz = (int)pz;
        const float fx = px - ix, fy = py - iy, fz = pz - iz;
        const unsigned char *at = volume + ((size_t)iz * size + iy) * size + ix;
        const auto row = [&](const unsigned char *p) { return p[0] + fx * ((float)p[1] - p[0]); };
        const float a = row(at), b = row(at + size), c = row(at + size * size), d = row(at + size * size + size);
        const float near = a + fy * (b - a), far = c + fy * (d - c), density = (near + fz * (far - near)) * (1.0f / 255.0f);
        if (density < 0.4f) continue;
        const float alpha = 0.12f * (density - 0.4f), weight = (1.0f - opacity) * alpha;
        red += weight * density, green += weight * (1.0f - density), blue += weight * density * density;
        opacity += weight;
    }
    const auto byte = [](float v) { return (unsigned)(__saturatef(v) * 255.0f + 0.5f); };
    image[(size_t)y * width + x] = byte(red) | byte(green) << 8 | byte(blue) << 16 | byte(opacity) << 24;
}
