// Kernels of the nineteenth set over pictures: Kuwahara's filter, another size, another view, films, regions, seeds and edges.
#define KERNEL(THREADS) extern "C" __global__ void __launch_bounds__(THREADS)

// Kuwahara's filter: of the four squares of five by five that touch a pixel, the mean of the one that varies least.
KERNEL(256) kuwahara(const unsigned char *from, unsigned char *to, int width, int height) {
    __shared__ float tile[16][40];
    const int tx = threadIdx.x, ty = threadIdx.y, x0 = blockIdx.x * 32 - 4, y0 = blockIdx.y * 8 - 4;
    for (int i = ty * 32 + tx; i < 640; i += 256) {
        const int x = min(max(x0 + i % 40, 0), width - 1), y = min(max(y0 + i / 40, 0), height - 1);
        tile[i / 40][i % 40] = (float)from[(size_t)y * width + x];
    }
    __syncthreads();
    float least = 1e30f, mean = 0.0f;
    #pragma unroll
    for (int part = 0; part < 4; ++part) {
        float sum = 0.0f, squares = 0.0f;
        #pragma unroll
        for (int dy = 0; dy < 5; ++dy)
            #pragma unroll
            for (int dx = 0; dx < 5; ++dx) {
                const float v = tile[ty + part / 2 * 4 + dy][tx + part % 2 * 4 + dx];
                sum += v, squares += v * v;
            }
        const float varied = squares - sum * sum / 25.0f;
        if (varied < least) least = varied, mean = sum / 25.0f;
    }
    to[(size_t)(blockIdx.y * 8 + ty) * width + blockIdx.x * 32 + tx] = (unsigned char)(mean + 0.5f);
}

// Rows of coloured pixels at two thirds of their width (Lanczos, three lobes): nine taps, whose weights a block makes once for its columns.
KERNEL(256) lanczos(const uchar4 *from, uchar4 *to, int width, int out_width, float ratio) {
    __shared__ float weights[64][12];
    __shared__ int firsts[64];
    const int t = threadIdx.x, column = t % 64;
    if (t < 64) {
        const float centre = ((float)(blockIdx.x * 64 + t) + 0.5f) * ratio - 0.5f;
        const int first = (int)ceilf(centre - 3.0f * ratio);
        float sum = 0.0f;
        for (int k = 0; k < 9; ++k) {
            const float d = ((float)(first + k) - centre) / ratio;
            const float w = fabsf(d) < 1e-5f ? 1.0f : fabsf(d) < 3.0f ? 3.0f * sinpif(d) * sinpif(d / 3.0f) / (9.8696044f * d * d) : 0.0f;
            weights[t][k] = w;
            sum += w;
        }
        for (int k = 0; k < 9; ++k) weights[t][k] /= sum;
        firsts[t] = first;
    }
    __syncthreads();
    const int first = firsts[column], x = blockIdx.x * 64 + column;
    for (int r = t / 64; r < 16; r += 4) {
        const size_t row = (size_t)(blockIdx.y * 16 + r);
        float red = 0.5f, green = 0.5f, blue = 0.5f, alpha = 0.5f;
        #pragma unroll
        for (int k = 0; k < 9; ++k) {
            const uchar4 p = from[row * width + min(max(first + k, 0), width - 1)];
            const float w = weights[column][k];
            red += w * p.x, green += w * p.y, blue += w * p.z, alpha += w * p.w;
        }
        const auto byte = [](float v) { return (unsigned char)fminf(fmaxf(v, 0.0f), 255.0f); };
        if (x < out_width) to[row * out_width + x] = make_uchar4(byte(red), byte(green), byte(blue), byte(alpha));
    }
}

// A picture seen from elsewhere (a homography): where each pixel comes from, and four coloured pixels mixed.
KERNEL(256) other_view(const uchar4 *from, uchar4 *to, const float *matrix, int width, int height) {
    const int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
    const float sx = 1.0f / (float)width, sy = 1.0f / (float)height, fx = x * sx, fy = y * sy;
    const float u = (0.9f + 0.1f * matrix[0]) * fx + 0.2f * matrix[1] * fy + 0.05f * matrix[2];
    const float v = 0.2f * matrix[3] * fx + (0.9f + 0.1f * matrix[4]) * fy + 0.05f * matrix[5];
    const float inverse = __fdividef(1.0f, 0.1f * matrix[6] * fx + 0.1f * matrix[7] * fy + 1.0f);
    const float px = u * inverse * width, py = v * inverse * height, bx = floorf(px), by = floorf(py), ax = px - bx, ay = py - by;
    const int x0 = (int)bx, y0 = (int)by;
    float sum[4] = {0.5f, 0.5f, 0.5f, 0.5f};
    #pragma unroll
    for (int k = 0; k < 4; ++k) {
        const int qx = x0 + k % 2, qy = y0 + k / 2;
        if (qx < 0 || qy < 0 || qx >= width || qy >= height) continue;
        const uchar4 p = from[(size_t)qy * width + qx];
        const float w = (k % 2 ? ax : 1.0f - ax) * (k / 2 ? ay : 1.0f - ay);
        sum[0] += w * p.x, sum[1] += w * p.y, sum[2] += w * p.z, sum[3] += w * p.w;
    }
    to[(size_t)y * width + x] = make_uchar4((unsigned char)sum[0], (unsigned char)sum[1], (unsigned char)sum[2], (unsigned char)sum[3]);
}

// A film's frame (NV12) as three planes of floats for a network: four pixels of two rows a thread, less a mean, by a deviation.
KERNEL(256) frame_to_planes(const uchar4 *light, const uchar4 *colours, float4 *out, int width, int height) {
    const int x = blockIdx.x * 64 + threadIdx.x % 64, y = blockIdx.y * 4 + threadIdx.x / 64, quarter = width / 4;
    if (x >= quarter) return;
    const uchar4 c = colours[(size_t)y * quarter + x];
    const float u[2] = {c.x - 128.0f, c.z - 128.0f}, v[2] = {c.y - 128.0f, c.w - 128.0f};
    const size_t plane = (size_t)quarter * height;
    #pragma unroll
    for (int r = 0; r < 2; ++r) {
        const size_t at = (size_t)(2 * y + r) * quarter + x;
        const uchar4 l = light[at];
        const float luma[4] = {1.164f * (l.x - 16.0f), 1.164f * (l.y - 16.0f), 1.164f * (l.z - 16.0f), 1.164f * (l.w - 16.0f)};
        float red[4], green[4], blue[4];
        #pragma unroll
        for (int k = 0; k < 4; ++k) {
            const auto clipped = [](float value) { return fminf(fmaxf(value, 0.0f), 255.0f) * (1.0f / 255.0f); };
            red[k] = (clipped(luma[k] + 1.793f * v[k / 2]) - 0.485f) * (1.0f / 0.229f);
            green[k] = (clipped(luma[k] - 0.213f * u[k / 2] - 0.533f * v[k / 2]) - 0.456f) * (1.0f / 0.224f);
            blue[k] = (clipped(luma[k] + 2.112f * u[k / 2]) - 0.406f) * (1.0f / 0.225f);
        }
        out[at] = make_float4(red[0], red[1], red[2], red[3]);
        out[plane + at] = make_float4(green[0], green[1], green[2], green[3]);
        out[2 * plane + at] = make_float4(blue[0], blue[1], blue[2], blue[3]);
    }
}

// Regions of a map of features as seven by seven (RoIAlign), four samples each, mixed from four places: a thread a number.
KERNEL(256) aligned_regions(const float *features, const float *boxes, float *out, int channels, int height, int width, int total) {
    for (int i = blockIdx.x * 256 + threadIdx.x; i < total; i += gridDim.x * 256) {
        const int px = i % 7, py = i / 7 % 7, channel = i / 49 % channels, region = i / 49 / channels;
        const float x0 = (0.5f + 0.4f * boxes[region * 4]) * width, y0 = (0.5f + 0.4f * boxes[region * 4 + 1]) * height;
        const float w = fmaxf(fabsf(boxes[region * 4 + 2]) * 0.3f * width, 1.0f), h = fmaxf(fabsf(boxes[region * 4 + 3]) * 0.3f * height, 1.0f);
        const float *plane = features + (size_t)channel * height * width;
        float sum = 0.0f;
        #pragma unroll
        for (int s = 0; s < 4; ++s) {
            float x = x0 + (px + (s % 2 + 0.5f) * 0.5f) * w / 7.0f - 0.5f, y = y0 + (py + (s / 2 + 0.5f) * 0.5f) * h / 7.0f - 0.5f;
            if (x < -1.0f || y < -1.0f || x > width || y > height) continue;
            x = fmaxf(x, 0.0f), y = fmaxf(y, 0.0f);
            int lx = (int)x, ly = (int)y, hx = lx + 1, hy = ly + 1;
            if (lx >= width - 1) hx = lx = width - 1, x = lx;
            if (ly >= height - 1) hy = ly = height - 1, y = ly;
            const float ax = x - lx, ay = y - ly;
            sum += (1.0f - ay) * ((1.0f - ax) * plane[ly * width + lx] + ax * plane[ly * width + hx])
                 + ay * ((1.0f - ax) * plane[hy * width + lx] + ax * plane[hy * width + hx]);
        }
        out[i] = 0.25f * sum;
    }
}

// A step of flooding by jumps: the nearest seed that a pixel and eight others, so many pixels away, know.
KERNEL(256) jump_flood(const unsigned *before, unsigned *after, int width, int height, int jump) {
    const int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
    unsigned nearest = 0xffffffffu;
    int least = 0x7fffffff;
    #pragma unroll
    for (int k = 0; k < 9; ++k) {
        const int qx = x + (k % 3 - 1) * jump, qy = y + (k / 3 - 1) * jump;
        if (qx < 0 || qy < 0 || qx >= width || qy >= height) continue;
        const unsigned seed = before[(size_t)qy * width + qx];
        if (seed >> 31) continue;
        const int sx = (int)(seed & 0xfff) % width, sy = (int)(seed >> 12 & 0xfff) % height;
        const int d = (sx - x) * (sx - x) + (sy - y) * (sy - y);
        if (d < least) least = d, nearest = seed;
    }
    after[(size_t)y * width + x] = nearest;
}

// Edges (Canny): gradients of a tile, kept where no neighbour along them is stronger, and whether strong or weak. Two pixels of a
// margin lie in shared memory.
KERNEL(256) edges_kept(const float *from, unsigned char *to, int width, int height, float low, float high) {
    __shared__ float light[12][36], strength[10][34];
    __shared__ unsigned char way[10][34];
    const int t = threadIdx.y * 32 + threadIdx.x, x0 = blockIdx.x * 32, y0 = blockIdx.y * 8;
    for (int i = t; i < 432; i += 256) {
        const int x = min(max(x0 + i % 36 - 2, 0), width - 1), y = min(max(y0 + i / 36 - 2, 0), height - 1);
        light[i / 36][i % 36] = from[(size_t)y * width + x];
    }
    __syncthreads();
    for (int i = t; i < 340; i += 256) {
        const int r = i / 34, c = i % 34;
        const float *a = light[r] + c, *b = light[r + 1] + c, *d = light[r + 2] + c;
        const float gx = a[2] - a[0] + 2.0f * (b[2] - b[0]) + d[2] - d[0], gy = d[0] - a[0] + 2.0f * (d[1] - a[1]) + d[2] - a[2];
        const float ax = fabsf(gx), ay = fabsf(gy);
        strength[r][c] = sqrtf(gx * gx + gy * gy);
        way[r][c] = ay < 0.41421356f * ax ? 0 : ay > 2.4142136f * ax ? 2 : (gx > 0.0f) == (gy > 0.0f) ? 1 : 3;
    }
    __syncthreads();
    const int r = threadIdx.y + 1, c = threadIdx.x + 1;
    const float own = strength[r][c];
    unsigned char kept = 0;
    if (own > low) {
        const int w = way[r][c], dx = w == 2 ? 0 : 1, dy = w == 0 ? 0 : w == 3 ? -1 : 1;
        if (own >= strength[r + dy][c + dx] && own > strength[r - dy][c - dx]) kept = own > high ? 255 : 128;
    }
    to[(size_t)(y0 + threadIdx.y) * width + x0 + threadIdx.x] = kept;
}
