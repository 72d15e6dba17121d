// One warp whose lanes part: each lane notes when it comes by, so that lanes that go together have the same cycle.
#define ALL 0xffffffffu
#define BEGIN                                                                        \
    const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;                 \
    unsigned *mine = log + warp * 4096 + lane, places = 0;                           \
    __syncthreads();                                                                 \
    const unsigned begin = cycle()
#define NOTE(tag)                                                                    \
    do {                                                                             \
        const unsigned now = cycle() - begin;                                        \
        mine[32 * (places++ & 127)] = (tag) << 24 | (now & 0xffffff);                \
    } while (0)

static __device__ __forceinline__ unsigned cycle() {
    unsigned now;
    asm volatile("mov.u32 %0, %%clock;" : "=r"(now)::"memory");
    return now;
}

// Lanes of a mask go one way, the others another, with some work on both.
extern "C" __global__ void sides(unsigned *log, int mask) {
    BEGIN;
    NOTE(1);
    if (mask >> lane & 1) {
        NOTE(2); NOTE(3);
    } else {
        NOTE(4); NOTE(5);
    }
    NOTE(6);
    __syncwarp();
    NOTE(7);
}

// Both ways wait for global memory: does the other way go on in the meantime?
extern "C" __global__ void loads(unsigned *log, int mask, const unsigned *far) {
    BEGIN;
    unsigned at = lane;
    if (mask >> lane & 1) {
        NOTE(2); at = __ldcg(far + 64 * at); NOTE(2 + (at & 1)); at = __ldcg(far + 64 * at + 32); NOTE(2 + (at & 1));
    } else {
        NOTE(4); at = __ldcg(far + 64 * at + 7); NOTE(4 + (at & 1)); at = __ldcg(far + 64 * at + 40); NOTE(4 + (at & 1));
    }
    NOTE(6);
    __syncwarp();
    NOTE(7 + (at & 1));
}

// As many turns as each lane's number says: a loop that nobody waits in.
extern "C" __global__ void trips(unsigned *log, int times, int modulus) {
    BEGIN;
    const int count = lane * times % modulus;
    #pragma unroll 1
    for (int i = 0; i < count; ++i) NOTE(2);
    NOTE(3);
    __syncwarp();
    NOTE(4);
}

// Places in a table, found with compare-and-swap; two rounds, as in sparse_square, and a barrier of the warp behind.
extern "C" __global__ void probes(unsigned *log, int times, int modulus, int rounds) {
    __shared__ int keys[8][128];
    BEGIN;
    for (int i = lane; i < 128; i += 32) keys[warp][i] = -1;
    __syncwarp();
    #pragma unroll 1
    for (int p = lane; p < 32 * rounds; p += 32) {
        NOTE(1);
        const int column = p * 33 + 5;
        int place = p * times % modulus;
        while (true) {
            const int seen = atomicCAS(&keys[warp][place], -1, column);
            NOTE(2);
            if (seen == -1 || seen == column) break;
            place = (place + 1) & 127;
        }
        NOTE(3);
    }
    NOTE(4);
    __syncwarp();
    NOTE(5);
}

// The same search with nothing behind it but the barrier of the warp.
extern "C" __global__ void search_only(unsigned *log, int times, int modulus) {
    __shared__ int keys[8][128];
    BEGIN;
    for (int i = lane; i < 128; i += 32) keys[warp][i] = -1;
    __syncwarp();
    int place = lane * times % modulus;
    while (atomicCAS(&keys[warp][place], -1, (int)lane) != -1) {
        NOTE(2);
        place = (place + 1) & 127;
    }
    NOTE(3);
    if (lane & 1) NOTE(4);
    NOTE(5);
    keys[warp][lane] = __shfl_xor_sync(ALL, place, 1);
    NOTE(6);
}

// A lock that the lanes take in turn.
extern "C" __global__ void locks(unsigned *log, int modulus) {
    __shared__ int lock[32], sum[32];
    BEGIN;
    lock[lane] = sum[lane] = 0;
    __syncthreads();
    const int which = lane % modulus;
    bool done = false;
    while (!done) {
        NOTE(1);
        if (atomicCAS(&lock[which], 0, 1) == 0) {
            NOTE(2);
            sum[which] += lane;
            __threadfence_block();
            atomicExch(&lock[which], 0);
            done = true;
        }
    }
    NOTE(3);
    __syncwarp();
    NOTE(4);
}

// The same lock, held behind the loop: those that turn must let the others go on.
extern "C" __global__ void held(unsigned *log, int modulus) {
    __shared__ int lock[32], sum[32];
    BEGIN;
    lock[lane] = sum[lane] = 0;
    __syncthreads();
    const int which = lane % modulus;
    while (atomicCAS(&lock[which], 0, 1) != 0) NOTE(1);
    NOTE(2);
    sum[which] += lane;
    __threadfence_block();
    atomicExch(&lock[which], 0);
    NOTE(3);
    __syncwarp();
    NOTE(4);
}

// Lanes of a mask wait for a word that the others write, on the other side of a branch.
extern "C" __global__ void flags(unsigned *log, int mask) {
    __shared__ volatile int flag;
    BEGIN;
    if (lane == 0) flag = 0;
    __syncthreads();
    if (mask >> lane & 1) {
        int turns = 0;
        while (flag == 0 && turns < 100000) ++turns;
        NOTE(1); mine[32 * (places++ & 127)] = turns;
    } else {
        NOTE(2); flag = 1; NOTE(3);
    }
    NOTE(4);
    __syncwarp();
    NOTE(5);
}

// Loops that are left from within, by some at once and by some for good.
extern "C" __global__ void leaves(unsigned *log, int times, int modulus) {
    BEGIN;
    #pragma unroll 1
    for (int i = 0; i < 6; ++i) {
        NOTE(1);
        #pragma unroll 1
        for (int k = 0; k < 6; ++k) {
            const int now = (lane * times + 6 * i + k) % modulus;
            NOTE(2);
            if (now == 0) goto out;
            if (now == 1) break;
            if (now == 2) continue;
            NOTE(3);
        }
        NOTE(4);
    }
    NOTE(5);
out:
    NOTE(6);
    __syncwarp();
    NOTE(7);
}

// Lanes that end early, while others turn.
extern "C" __global__ void ends(unsigned *log, int times, int modulus) {
    BEGIN;
    #pragma unroll 1
    for (int i = 0; i < modulus; ++i) {
        NOTE(1);
        if (lane * times % modulus == i) return;
        if (i & 1) NOTE(2);
    }
    NOTE(3);
}

// A branch of many ways.
extern "C" __global__ void ways(unsigned *log, int times, int modulus) {
    BEGIN;
    switch (lane * times % modulus) {
        case 0: NOTE(1); break;
        case 1: NOTE(2); NOTE(2); break;
        case 2: NOTE(3); NOTE(3); NOTE(3); break;
        case 3: NOTE(4); NOTE(4); break;
        case 4: NOTE(5); break;
        case 5: NOTE(6); NOTE(6); break;
        case 6: NOTE(7); NOTE(7); NOTE(7); break;
        default: NOTE(8);
    }
    NOTE(9);
    __syncwarp();
    NOTE(10);
}

// A function that some lanes call, and that parts them again.
static __device__ __noinline__ unsigned part(unsigned *mine, unsigned places, unsigned begin, int depth) {
    NOTE(1);
    if (depth > 1) {
        if (threadIdx.x & depth) places = part(mine, places, begin, depth - 1);
        else NOTE(2);
    }
    NOTE(3);
    return places;
}

extern "C" __global__ void calls(unsigned *log, int mask, int depth) {
    BEGIN;
    if (mask >> lane & 1) places = part(mine, places, begin, depth);
    else NOTE(4);
    NOTE(5);
    __syncwarp();
    NOTE(6);
}
