// Lanes that leave loops one by one, and give way: who goes on, and when do they meet? Each lane notes
// where it is and at which cycle, so that lanes that go together have the same cycle. `way` says which
// of the loops a lane runs, `trips` how often. The compiler puts a YIELD into each loop, since it waits
// for memory that others might write.
#define BEGIN                                                                                      \
    __shared__ volatile unsigned held[32 * 33];                                                    \
    const unsigned lane = threadIdx.x, w = way[lane], begin = cycle();                             \
    volatile unsigned *mine = held + 33 * lane, *turn = mine + 1;                                  \
    unsigned *places = log + lane, count = 0;                                                      \
    mine[0] = trips[lane], *turn = 0;                                                              \
    NOTE(1)
#define NOTE(tag)                                                                                  \
    do {                                                                                           \
        const unsigned now = cycle() - begin;                                                      \
        places[32 * count++] = (tag) << 24 | (now & 0xffffff);                                     \
    } while (0)
#define END                                                                                        \
    NOTE(99);                                                                                      \
    places[32 * 255] = count
#define KERNEL(name) extern "C" __global__ void __launch_bounds__(32) name(unsigned *log, const unsigned *way, const unsigned *trips)

static __device__ __forceinline__ unsigned cycle() {
    unsigned now;
    asm volatile("mov.u32 %0, %%clock;" : "=r"(now)::"memory");
    return now;
}

// At least one turn: the compiler has one barrier for those that leave.
#define AT_LEAST_ONCE(tag)                                                                         \
    _Pragma("unroll 1") do {                                                                       \
        NOTE(tag);                                                                                 \
        *turn = *turn + 1;                                                                         \
    } while (*turn < mine[0])
// Perhaps no turn: it has two.
#define PERHAPS(tag)                                                                               \
    {                                                                                              \
        const unsigned last = mine[0];                                                             \
        _Pragma("unroll 1") while (*turn < last) {                                                 \
            NOTE(tag);                                                                             \
            *turn = *turn + 1;                                                                     \
        }                                                                                          \
    }
#define EITHER(first, second) if (w & 1) { first; } else { second; }
#define FOUR(LOOP)                                                                                 \
    if (w & 2) {                                                                                   \
        EITHER(LOOP(2); NOTE(12), LOOP(3); NOTE(13))                                               \
        NOTE(22);                                                                                  \
    } else {                                                                                       \
        EITHER(LOOP(4); NOTE(14), LOOP(5); NOTE(15))                                               \
        NOTE(24);                                                                                  \
    }

KERNEL(one) { BEGIN; AT_LEAST_ONCE(2); END; }
KERNEL(half) { BEGIN; EITHER(AT_LEAST_ONCE(2); NOTE(12), NOTE(3)) END; }
KERNEL(two) { BEGIN; EITHER(AT_LEAST_ONCE(2); NOTE(12), AT_LEAST_ONCE(3); NOTE(13)) END; }
KERNEL(two_guarded) { BEGIN; EITHER(PERHAPS(2); NOTE(12), PERHAPS(3); NOTE(13)) END; }
KERNEL(four) { BEGIN; FOUR(AT_LEAST_ONCE) END; }
KERNEL(four_guarded) { BEGIN; FOUR(PERHAPS) END; }
// The loop again and again.
KERNEL(again) {
    BEGIN;
    #pragma unroll 1
    for (int round = 0; round < 3; ++round) {
        *turn = 0;
        NOTE(5);
        AT_LEAST_ONCE(2);
        NOTE(12);
    }
    END;
}
KERNEL(again_guarded) {
    BEGIN;
    #pragma unroll 1
    for (int round = 0; round < 3; ++round) {
        *turn = 0;
        PERHAPS(2);
        NOTE(12);
    }
    END;
}
// As often as `way` says.
KERNEL(nested) {
    BEGIN;
    unsigned round = 0;
    #pragma unroll 1
    do {
        *turn = 0;
        NOTE(5);
        AT_LEAST_ONCE(2);
        NOTE(12);
    } while (++round < w + 1);
    END;
}
