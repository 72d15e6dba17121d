// Kernels of the twentieth set over pictures: noise taken away, points described, other lenses, streams made visible, seams.
#define KERNEL(THREADS) extern "C" __global__ void __launch_bounds__(THREADS)
#define ALL 0xffffffffu

// A step of Chambolle's method against noise by total variation: two dual planes follow the slope of their divergence less the picture.
KERNEL(256) dual_step(const float *picture, const float *px, const float *py, float *qx, float *qy, int width, int height, float tau, float lambda) {
    const int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
    const auto less = [&](int column, int row) {
        const size_t i = (size_t)row * width + column;
        float v = px[i] + py[i] - picture[i] * lambda;
        if (column > 0) v -= px[i - 1];
        if (row > 0) v -= py[i - width];
        return v;
    };
    const size_t i = (size_t)y * width + x;
    const float own = less(x, y), gx = x + 1 < width ? less(x + 1, y) - own : 0.0f, gy = y + 1 < height ? less(x, y + 1) - own : 0.0f;
    const float scale = 1.0f / (1.0f + tau * sqrtf(gx * gx + gy * gy));
    qx[i] = (px[i] + tau * gx) * scale;
    qy[i] = (py[i] + tau * gy) * scale;
}

// Points of a picture described by 256 bits (ORB): a warp to a point, whose direction comes from moments of a disc of radius 15; then 256
// pairs of pixels, turned by it, are compared.
KERNEL(128) described(const unsigned char *picture, const unsigned *points, const unsigned *pattern, unsigned *out, int width, int height) {
    const int lane = threadIdx.x % 32;
    const size_t i = (size_t)blockIdx.x * 4 + threadIdx.x / 32;
    const unsigned point = points[i];
    const int x = 20 + (int)((point & 0xffffu) * (unsigned)(width - 40) >> 16), y = 20 + (int)((point >> 16) * (unsigned)(height - 40) >> 16);
    const unsigned char *centre = picture + (size_t)y * width + x;
    int across = 0, down = 0;
    const int column = lane - 15;
    for (int row = -15; row <= 15; ++row) {
        if (lane < 31 && column * column + row * row <= 240) {
            const int v = centre[row * width + column];
            across += column * v, down += row * v;
        }
    }
    across = __reduce_add_sync(ALL, across), down = __reduce_add_sync(ALL, down);
    const float a = (float)across, b = (float)down, scale = rsqrtf(a * a + b * b + 1e-6f), c = a * scale, s = b * scale;
    const auto pixel = [&](unsigned two) {
        const float u = (float)((int)((two & 255u) * 25u >> 8) - 12), v = (float)((int)((two >> 8 & 255u) * 25u >> 8) - 12);
        return centre[__float2int_rn(s * u + c * v) * width + __float2int_rn(c * u - s * v)];
    };
    unsigned mine = 0;
    #pragma unroll
    for (int k = 0; k < 8; ++k) {
        const unsigned four = pattern[k * 32 + lane];
        const unsigned bits = __ballot_sync(ALL, pixel(four) < pixel(four >> 16));
        if (lane == k) mine = bits;
    }
    if (lane < 8) out[i * 8 + lane] = mine;
}

// A panorama from a fisheye's picture: where each pixel's direction meets the lens (a polynomial of the angle), between four pixels.
KERNEL(256) panorama(const uchar4 *from, uchar4 *to, int size, int width, int height, float focus, float k1, float k2) {
    const int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
    const float longitude = ((float)x + 0.5f) / (float)width * 3.1415927f - 1.5707963f, latitude = ((float)y + 0.5f) / (float)height * 3.1415927f - 1.5707963f;
    float sl, cl, sp, cp;
    sincosf(longitude, &sl, &cl);
    sincosf(latitude, &sp, &cp);
    const float dx = cp * sl, dy = sp, dz = cp * cl, flat = sqrtf(dx * dx + dy * dy), angle = atan2f(flat, dz), square = angle * angle;
    const float radius = focus * angle * (1.0f + square * (k1 + square * k2)), scale = flat > 1e-6f ? radius / flat : 0.0f;
    const float u = fminf(fmaxf(dx * scale + 0.5f * (float)size, 0.0f), (float)size - 1.001f), v = fminf(fmaxf(dy * scale + 0.5f * (float)size, 0.0f), (float)size - 1.001f);
    const int column = (int)u, row = (int)v;
    const float fu = u - (float)column, fv = v - (float)row;
    const uchar4 *at = from + (size_t)row * size + column;
    const uchar4 a = at[0], b = at[1], c = at[size], d = at[size + 1];
    const auto between = [&](unsigned char p, unsigned char q, unsigned char r, unsigned char s) {
        const float top = (float)p + fu * (float)(q - p), low = (float)r + fu * (float)(s - r);
        return (unsigned char)(top + fv * (low - top) + 0.5f);
    };
    to[(size_t)y * width + x] = make_uchar4(between(a.x, b.x, c.x, d.x), between(a.y, b.y, c.y, d.y), between(a.z, b.z, c.z, d.z), 255);
}

// A field of directions made visible: means of noise along streams through each pixel, steps of one pixel both ways (line integrals).
KERNEL(256) streams(const float2 *field, const unsigned char *noise, unsigned char *out, int width, int height, int steps) {
    const int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
    int sum = noise[(size_t)y * width + x], count = 1;
    for (int way = -1; way <= 1; way += 2) {
        float px = (float)x + 0.5f, py = (float)y + 0.5f;
        for (int step = 0; step < steps; ++step) {
            const float cx = px * 0.0625f, cy = py * 0.0625f;  // the field has a place for 16 by 16 pixels
            const int column = (int)cx, row = (int)cy, pitch = width / 16 + 2;
            const float fx = cx - (float)column, fy = cy - (float)row;
            const float2 *at = field + (size_t)row * pitch + column, a = at[0], b = at[1], c = at[pitch], d = at[pitch + 1];
            const float u = a.x + fx * (b.x - a.x) + fy * (c.x - a.x + fx * (d.x - c.x - b.x + a.x)) + 1e-3f;
            const float v = a.y + fx * (b.y - a.y) + fy * (c.y - a.y + fx * (d.y - c.y - b.y + a.y));
            const float scale = (float)way * rsqrtf(u * u + v * v);
            px += u * scale, py += v * scale;
            if (px < 0.0f || py < 0.0f || px >= (float)width || py >= (float)height) break;
            sum += noise[(size_t)(int)py * width + (int)px];
            ++count;
        }
    }
    out[(size_t)y * width + x] = (unsigned char)(sum / count);
}

// Seams of least energy through pictures 512 wide, row after row: a block to a picture, which keeps for each pixel where its seam came from.
KERNEL(512) seams(const unsigned char *energies, unsigned char *ways, unsigned *least, int rows) {
    __shared__ unsigned held[2][514];
    __shared__ unsigned most[16];
    const int t = threadIdx.x;
    const size_t base = (size_t)blockIdx.x * rows * 512 + t;
    if (t < 2) held[t][0] = held[t][513] = 1u << 30;
    unsigned own = energies[base];
    held[0][t + 1] = own;
    __syncthreads();
    for (int row = 1; row < rows; ++row) {
        const unsigned *before = held[(row + 1) & 1];
        const unsigned energy = energies[base + (size_t)row * 512], left = before[t], right = before[t + 2];
        unsigned best = own, way = 1;
        if (left < best) best = left, way = 0;
        if (right < best) best = right, way = 2;
        own = best + energy;
        held[row & 1][t + 1] = own;
        ways[base + (size_t)row * 512] = (unsigned char)way;
        __syncthreads();
    }
    own = __reduce_min_sync(ALL, own);
    if (t % 32 == 0) most[t / 32] = own;
    __syncthreads();
    if (t < 32) own = __reduce_min_sync(ALL, most[t % 16]);
    if (t == 0) least[blockIdx.x] = own;
}
