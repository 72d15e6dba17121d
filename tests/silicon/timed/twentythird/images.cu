// Kernels of the twenty-third set over pictures, clouds of points and shapes: superpixels, diffusion, horizons, boxes, offsets, samples, depths, volumes.
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#define KERNEL(THREADS) extern "C" __global__ void __launch_bounds__(THREADS)
#define ALL 0xffffffffu

// The nearest of nine centres about a pixel, by colour and place (SLIC), centres sixteen pixels apart: three planes of colours, five floats a centre.
KERNEL(256) superpixels(const float *__restrict__ colours, const float *__restrict__ centres, int *labels, int width, int height, float weight) {
    const int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y, across = width / 16, down = height / 16;
    const size_t plane = (size_t)width * height, at = (size_t)y * width + x;
    const float l = colours[at], a = colours[plane + at], b = colours[2 * plane + at];
    float best = 1e30f;
    int label = 0;
    #pragma unroll
    for (int j = -1; j <= 1; ++j)
        #pragma unroll
        for (int i = -1; i <= 1; ++i) {
            const int cx = x / 16 + i, cy = y / 16 + j;
            if (cx < 0 || cy < 0 || cx >= across || cy >= down) continue;
            const float *c = centres + (size_t)(cy * across + cx) * 5;
            const float dl = l - __ldg(c), da = a - __ldg(c + 1), db = b - __ldg(c + 2);
            const float dx = (float)x - ((float)cx + 0.5f + 0.4f * __ldg(c + 3)) * 16.0f, dy = (float)y - ((float)cy + 0.5f + 0.4f * __ldg(c + 4)) * 16.0f;
            const float far = dl * dl + da * da + db * db + weight * (dx * dx + dy * dy);
            if (far < best) best = far, label = cy * across + cx;
        }
    labels[at] = label;
}

// Two steps of diffusion that stops at edges (Perona and Malik), in a tile of shared memory with two pixels about it; the picture has such an edge.
KERNEL(256) diffused(const float *__restrict__ from, float *to, int width, float edge, float rate) {
    __shared__ float held[20][36], after[18][34];
    const int t = threadIdx.y * 32 + threadIdx.x, pitch = width + 4;
    const size_t base = (size_t)(blockIdx.y * 16) * pitch + blockIdx.x * 32;
    for (int i = t; i < 720; i += 256) held[i / 36][i % 36] = from[base + (size_t)(i / 36) * pitch + i % 36];
    __syncthreads();
    const auto step = [=](float here, float north, float south, float west, float east) {
        const auto flow = [=](float d) { return d * __expf(-d * d * edge); };
        return here + rate * (flow(north - here) + flow(south - here) + flow(west - here) + flow(east - here));
    };
    for (int i = t; i < 612; i += 256) {
        const int y = i / 34, x = i % 34;
        after[y][x] = step(held[y + 1][x + 1], held[y][x + 1], held[y + 2][x + 1], held[y + 1][x], held[y + 1][x + 2]);
    }
    __syncthreads();
    #pragma unroll
    for (int r = 0; r < 16; r += 8) {
        const int y = threadIdx.y + r, x = threadIdx.x;
        to[(size_t)(blockIdx.y * 16 + y) * width + blockIdx.x * 32 + x] =
            step(after[y + 1][x + 1], after[y][x + 1], after[y + 2][x + 1], after[y + 1][x], after[y + 1][x + 2]);
    }
}

// How much sky a place of a terrain sees: the steepest slope in each of eight directions, up to 24 steps, or until none can be steeper.
KERNEL(256) horizons(const float *__restrict__ heights, float *sky, int width, int height, float tallest) {
    const int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
    const float here = heights[(size_t)y * width + x];
    float seen = 0.0f;
    #pragma unroll 1
    for (int way = 0; way < 8; ++way) {
        const int dx = (way + 1) % 4 == 3 ? 0 : way < 3 || way == 7 ? 1 : -1, dy = way % 4 == 0 ? 0 : way < 4 ? 1 : -1;
        const float unit = dx != 0 && dy != 0 ? 0.70710678f : 1.0f;
        float steepest = 0.0f;
        for (int step = 1; step <= 24; ++step) {
            const int px = x + dx * step, py = y + dy * step;
            const float inverse = __fdividef(unit, (float)step);
            if (px < 0 || py < 0 || px >= width || py >= height || (tallest - here) * inverse <= steepest) break;
            steepest = fmaxf(steepest, (__ldg(heights + (size_t)py * width + px) - here) * inverse);
        }
        seen += rsqrtf(1.0f + steepest * steepest);
    }
    sky[(size_t)y * width + x] = seen * 0.125f;
}

// How much of two turned boxes is in both: a pair a thread, the corners of one are cut off by the sides of the other.
KERNEL(128) turned_boxes(const float *__restrict__ boxes, const float *__restrict__ others, float *shares, int count) {
    const int at = blockIdx.x * 128 + threadIdx.x;
    float px[2][10], py[2][10], area[2], cx[4], cy[4];
    #pragma unroll
    for (int which = 0; which < 2; ++which) {
        const float *b = which ? others : boxes;
        const float x = 0.5f * b[at], y = 0.5f * b[count + at], w = 0.7f + 0.5f * b[2 * count + at], h = 0.7f + 0.5f * b[3 * count + at];
        float sine, cosine;
        sincosf(3.14159265f * b[4 * count + at], &sine, &cosine);
        area[which] = 4.0f * w * h;
        #pragma unroll
        for (int i = 0; i < 4; ++i) {
            const float u = i == 0 || i == 3 ? w : -w, v = i < 2 ? h : -h, rx = x + u * cosine - v * sine, ry = y + u * sine + v * cosine;
            if (which) cx[i] = rx, cy[i] = ry;
            else px[0][i] = rx, py[0][i] = ry;
        }
    }
    int many = 4;
    #pragma unroll
    for (int side = 0; side < 4; ++side) {
        const float *fx = px[side % 2], *fy = py[side % 2];
        float *gx = px[1 - side % 2], *gy = py[1 - side % 2];
        const float ax = cx[side], ay = cy[side], bx = cx[(side + 1) % 4] - ax, by = cy[(side + 1) % 4] - ay;
        int kept = 0;
        for (int i = 0; i < many; ++i) {
            const int next = i + 1 < many ? i + 1 : 0;
            const float d = bx * (fy[i] - ay) - by * (fx[i] - ax), e = bx * (fy[next] - ay) - by * (fx[next] - ax);
            if (d >= 0.0f && kept < 10) gx[kept] = fx[i], gy[kept] = fy[i], ++kept;
            if ((d >= 0.0f) != (e >= 0.0f) && kept < 10) {
                const float along = d / (d - e);
                gx[kept] = fx[i] + along * (fx[next] - fx[i]), gy[kept] = fy[i] + along * (fy[next] - fy[i]), ++kept;
            }
        }
        many = kept;
    }
    float both = 0.0f;
    for (int i = 0; i < many; ++i) {
        const int next = i + 1 < many ? i + 1 : 0;
        both += px[0][i] * py[0][next] - px[0][next] * py[0][i];
    }
    both = 0.5f * fabsf(both);
    shares[at] = both / (area[0] + area[1] - both);
}

// What a convolution with offsets takes (deformable): nine places of each pixel, off by what was learnt, between four pixels; 32 channels of 64 by 64.
KERNEL(256) deformed(const float *__restrict__ pixels, const float *__restrict__ offsets, const float *__restrict__ masks, float *columns) {
    const int at = blockIdx.x * 256 + threadIdx.x, tap = blockIdx.y, image = blockIdx.z, x = at % 64, y = at / 64;
    const float *off = offsets + ((size_t)image * 18 + tap * 2) * 4096 + at;
    const float py = (float)(y + tap / 3 - 1) + 2.0f * off[0], px = (float)(x + tap % 3 - 1) + 2.0f * off[4096], weight = fabsf(masks[((size_t)image * 9 + tap) * 4096 + at]);
    const float fy = floorf(py), fx = floorf(px), v = py - fy, u = px - fx;
    const int top = (int)fy, left = (int)fx;
    const bool t = top >= 0 && top < 64, b = top >= -1 && top < 63, l = left >= 0 && left < 64, r = left >= -1 && left < 63;
    const float a = (1 - u) * (1 - v) * weight, c = u * (1 - v) * weight, d = (1 - u) * v * weight, e = u * v * weight;
    const float *from = pixels + (size_t)image * 32 * 4096 + top * 64 + left;
    float *to = columns + (((size_t)image * 32) * 9 + tap) * 4096 + at;
    #pragma unroll 4
    for (int channel = 0; channel < 32; ++channel) {
        float sum = 0.0f;
        if (t && l) sum += a * __ldg(from);
        if (t && r) sum += c * __ldg(from + 1);
        if (b && l) sum += d * __ldg(from + 64);
        if (b && r) sum += e * __ldg(from + 65);
        *to = sum;
        from += 4096, to += 9 * 4096;
    }
}

// Points far from each other: of 2048 of a cloud 96 are taken, each the farthest from those before; a block a cloud, eight points a thread.
KERNEL(256) farthest(const float *__restrict__ points, int *taken) {
    __shared__ float held[3][2048];
    __shared__ unsigned long long most[2][8];
    const int t = threadIdx.x, lane = t % 32, warp = t / 32;
    float x[8], y[8], z[8], away[8];
    #pragma unroll
    for (int i = 0; i < 8; ++i) {
        const int at = i * 256 + t;
        const float *from = points + ((size_t)blockIdx.x * 2048 + at) * 3;
        x[i] = held[0][at] = from[0], y[i] = held[1][at] = from[1], z[i] = held[2][at] = from[2], away[i] = 1e30f;
    }
    int last = 0;
    __syncthreads();
    for (int round = 0; round < 96; ++round) {
        if (t == 0) taken[(size_t)blockIdx.x * 96 + round] = last;
        const float px = held[0][last], py = held[1][last], pz = held[2][last];
        float best = -1.0f;
        int where = 0;
        #pragma unroll
        for (int i = 0; i < 8; ++i) {
            const float dx = x[i] - px, dy = y[i] - py, dz = z[i] - pz;
            away[i] = fminf(away[i], dx * dx + dy * dy + dz * dz);
            if (away[i] > best) best = away[i], where = i * 256 + t;
        }
        unsigned long long key = (unsigned long long)__float_as_uint(best) << 32 | (unsigned)(2047 - where);
        #pragma unroll
        for (int offset = 16; offset > 0; offset >>= 1) key = max(key, __shfl_xor_sync(ALL, key, offset));
        if (lane == 0) most[round % 2][warp] = key;
        __syncthreads();
        key = most[round % 2][lane % 8];
        #pragma unroll
        for (int offset = 4; offset > 0; offset >>= 1) key = max(key, __shfl_xor_sync(ALL, key, offset));
        last = 2047 - (int)(unsigned)key;
    }
}

// Points into a picture of depths: each is moved and projected, and the nearest stays with its colour, by atomics of 64 bits.
KERNEL(256) nearest_points(const float *__restrict__ points, const unsigned *__restrict__ colours, unsigned long long *picture, int count, int size, float focus) {
    #pragma unroll
    for (int i = 0; i < 4; ++i) {
        const int at = blockIdx.x * 1024 + i * 256 + threadIdx.x;
        const float x = points[at], y = points[count + at], z = points[2 * count + at] * 0.8f + 2.0f;
        const float inverse = __fdividef(1.0f, z);
        const int u = (int)((x * focus * inverse + 0.5f) * (float)size), v = (int)((y * focus * inverse + 0.5f) * (float)size);
        if (u >= 0 && v >= 0 && u < size && v < size)
            atomicMax(picture + (size_t)v * size + u, (unsigned long long)__float_as_uint(inverse) << 32 | colours[at]);
    }
}

// A picture of depths into a volume of signed distances (TSDF): a column of 64 voxels a thread, distance and weight as halves.
KERNEL(256) fused_depths(const float *__restrict__ depths, __half2 *volume, int side, int width, int height, float cut) {
    const int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
    const float wx = ((float)x + 0.5f) / (float)side - 0.5f, wy = ((float)y + 0.5f) / (float)side - 0.5f;
    #pragma unroll 4
    for (int z = 0; z < 64; ++z) {
        const float wz = 1.0f + (float)z / 64.0f, inverse = __fdividef(1.0f, wz);
        const int u = (int)(((0.96f * wx + 0.28f * wy) * inverse + 0.5f) * (float)width), v = (int)(((0.96f * wy - 0.28f * wx) * inverse + 0.5f) * (float)height);
        if (u < 0 || v < 0 || u >= width || v >= height) continue;
        const float distance = 1.5f + 0.3f * __ldg(depths + (size_t)v * width + u) - wz;
        if (distance < -cut) continue;
        const size_t at = ((size_t)z * side + y) * side + x;
        const float2 old = __half22float2(volume[at]);
        const float weight = fminf(fabsf(old.y) + 1.0f, 64.0f);
        volume[at] = __floats2half2_rn((old.x * (weight - 1.0f) + fminf(1.0f, distance / cut)) / weight, weight);
    }
}
