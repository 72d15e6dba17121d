// Runs one shared-memory instruction with any addresses and mask: for its clocks, for hardware
// counters, and once to see what it moved. gpu_check/probe/probe.py compiles this with -DOP=<struct>.
//
// A struct below is one instruction. Its PTX is inline and volatile, so that ptxas emits it as
// often as it stands here, and with the operands that pin the form: a reduction by a constant 1
// becomes ATOMS.POPC.INC, one by a register ATOMS.ADD. `width` is the bytes an active lane moves,
// `loads` whether registers come back.

struct Words {
    unsigned w[4];
};

struct Lane {
    unsigned address;    // in shared memory
    Words value;         // what it would store
    const char *source;  // in global memory, for cp.async
};

#define STRUCT(NAME, WIDTH, LOADS, ZERO, ...)                                      \
    struct NAME {                                                                  \
        static constexpr int width = WIDTH;                                        \
        static constexpr bool loads = LOADS, zero = ZERO;                          \
        static constexpr bool copies = #NAME[0] == 'L' && #NAME[2] == 'G';         \
        static __device__ __forceinline__ void run(const Lane &lane, Words &got) { \
            __VA_ARGS__;                                                           \
        }                                                                          \
    };

#define GOT1 "=r"(got.w[0])
#define GOT2 GOT1, "=r"(got.w[1])
#define GOT4 GOT2, "=r"(got.w[2]), "=r"(got.w[3])
#define GIVE1 "r"(lane.value.w[0])
#define GIVE2 GIVE1, "r"(lane.value.w[1])
#define GIVE4 GIVE2, "r"(lane.value.w[2]), "r"(lane.value.w[3])
#define AT "r"(lane.address)

#define LOAD(NAME, WIDTH, PTX, ...) \
    STRUCT(NAME, WIDTH, true, false, asm volatile(PTX : __VA_ARGS__ : AT : "memory"))
#define STORE(NAME, WIDTH, PTX, ...) \
    STRUCT(NAME, WIDTH, false, false, asm volatile(PTX ::AT, __VA_ARGS__ : "memory"))

LOAD(LDS_U8, 1, "ld.shared.u8 %0, [%1];", GOT1)
LOAD(LDS_S8, 1, "ld.shared.s8 %0, [%1];", GOT1)
LOAD(LDS_U16, 2, "ld.shared.u16 %0, [%1];", GOT1)
LOAD(LDS_S16, 2, "ld.shared.s16 %0, [%1];", GOT1)
LOAD(LDS, 4, "ld.shared.u32 %0, [%1];", GOT1)
LOAD(LDS_64, 8, "ld.shared.v2.u32 {%0, %1}, [%2];", GOT2)
LOAD(LDS_128, 16, "ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];", GOT4)

STORE(STS_U8, 1, "st.shared.u8 [%0], %1;", GIVE1)
STORE(STS_U16, 2, "st.shared.u16 [%0], %1;", GIVE1)
STORE(STS, 4, "st.shared.u32 [%0], %1;", GIVE1)
STORE(STS_64, 8, "st.shared.v2.u32 [%0], {%1, %2};", GIVE2)
STORE(STS_128, 16, "st.shared.v4.u32 [%0], {%1, %2, %3, %4};", GIVE4)

#define LDSM(FORM) "ldmatrix.sync.aligned.m8n8." FORM ".shared.b16 "
LOAD(LDSM_1, 16, LDSM("x1") "{%0}, [%1];", GOT1)
LOAD(LDSM_2, 16, LDSM("x2") "{%0, %1}, [%2];", GOT2)
LOAD(LDSM_4, 16, LDSM("x4") "{%0, %1, %2, %3}, [%4];", GOT4)
LOAD(LDSM_T1, 16, LDSM("x1.trans") "{%0}, [%1];", GOT1)
LOAD(LDSM_T2, 16, LDSM("x2.trans") "{%0, %1}, [%2];", GOT2)
LOAD(LDSM_T4, 16, LDSM("x4.trans") "{%0, %1, %2, %3}, [%4];", GOT4)

#define STSM(FORM) "stmatrix.sync.aligned.m8n8." FORM ".shared.b16 [%0], "
STORE(STSM_1, 16, STSM("x1") "{%1};", GIVE1)
STORE(STSM_2, 16, STSM("x2") "{%1, %2};", GIVE2)
STORE(STSM_4, 16, STSM("x4") "{%1, %2, %3, %4};", GIVE4)
STORE(STSM_T1, 16, STSM("x1.trans") "{%1};", GIVE1)
STORE(STSM_T2, 16, STSM("x2.trans") "{%1, %2};", GIVE2)
STORE(STSM_T4, 16, STSM("x4.trans") "{%1, %2, %3, %4};", GIVE4)

#define REDUCE(NAME, PTX) STORE(NAME, 4, "red.shared." PTX " [%0], %1;", GIVE1)
REDUCE(ATOMS_ADD, "add.u32")
REDUCE(ATOMS_MIN, "min.u32")
REDUCE(ATOMS_MAX, "max.u32")
REDUCE(ATOMS_AND, "and.b32")
REDUCE(ATOMS_OR, "or.b32")
REDUCE(ATOMS_XOR, "xor.b32")
REDUCE(ATOMS_INC, "inc.u32")
REDUCE(ATOMS_DEC, "dec.u32")
STRUCT(ATOMS_POPC_INC, 4, false, false,
       asm volatile("red.shared.add.u32 [%0], 1;" ::AT : "memory"))
STRUCT(ATOMS_EXCH, 4, true, false,
       asm volatile("atom.shared.exch.b32 %0, [%1], %2;" : GOT1 : AT, GIVE1 : "memory"))
STRUCT(ATOMS_CAS, 4, true, true,
       asm volatile("atom.shared.cas.b32 %0, [%1], 0, %2;" : GOT1 : AT, GIVE1 : "memory"))
STRUCT(ATOMS_EXCH_64, 8, true, false,
       asm volatile("{ .reg .b64 v; mov.b64 v, {%3, %4}; atom.shared.exch.b64 v, [%2], v;"
                    " mov.b64 {%0, %1}, v; }" : GOT2 : AT, GIVE2 : "memory"))
STRUCT(ATOMS_CAS_64, 8, true, true,
       asm volatile("{ .reg .b64 v; mov.b64 v, {%3, %4}; atom.shared.cas.b64 v, [%2], 0, v;"
                    " mov.b64 {%0, %1}, v; }" : GOT2 : AT, GIVE2 : "memory"))
// No instruction of their own: ptxas makes loops of LDS, the operation and ATOMS.CAST.SPIN.
STRUCT(LOOP_ADD_U64, 8, false, true,
       asm volatile("{ .reg .b64 v; mov.b64 v, {%1, %2}; red.shared.add.u64 [%0], v; }" ::AT, GIVE2
                    : "memory"))
STRUCT(LOOP_ADD_F32, 4, false, true,
       asm volatile("red.shared.add.f32 [%0], %1;" ::AT, GIVE1 : "memory"))
STRUCT(LOOP_ADD_F16X2, 4, false, true,
       asm volatile("red.shared.add.noftz.f16x2 [%0], %1;" ::AT, GIVE1 : "memory"))

#define COPY(NAME, WIDTH, CACHE)                                                         \
    STRUCT(NAME, WIDTH, false, false,                                                    \
           asm volatile("cp.async." CACHE ".shared.global [%0], [%1], %2;" ::AT,         \
                        "l"(lane.source), "n"(WIDTH) : "memory"))
COPY(LDGSTS, 4, "ca")
COPY(LDGSTS_64, 8, "ca")
COPY(LDGSTS_128, 16, "ca")
COPY(LDGSTS_BYPASS_128, 16, "cg")

// What a lane stores: four different bytes everywhere, or numbers whose sums always change.
template <class Op> __device__ __forceinline__ unsigned value(unsigned lane, unsigned word) {
    return 0x01010101u * (4 * lane + word + 1);
}
template <> __device__ __forceinline__ unsigned value<LOOP_ADD_F32>(unsigned lane, unsigned) {
    return __float_as_uint(lane + 1.0f);
}
template <> __device__ __forceinline__ unsigned value<LOOP_ADD_F16X2>(unsigned lane, unsigned) {
    return lane % 2 ? 0xBC00BC00u : 0x3C003C00u;  // -1 and 1
}

extern __shared__ __align__(1024) unsigned char shared_memory[];

__device__ __forceinline__ Lane make_lane(const unsigned *addresses, const unsigned *sources,
                                          const char *global_memory, unsigned access) {
    const unsigned id = threadIdx.x & 31;
    Lane lane;
    lane.address = (unsigned)__cvta_generic_to_shared(shared_memory) + addresses[32 * access + id];
    lane.source = global_memory + sources[32 * access + id];
    for (int i = 0; i < 4; ++i) lane.value.w[i] = value<OP>(id, i);
    return lane;
}

__device__ __forceinline__ unsigned clock_now() {
    unsigned now;
    asm volatile("mov.u32 %0, %%clock;" : "=r"(now)::"memory");
    return now;
}

__device__ __forceinline__ void finish_copies() {
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.wait_all;" ::: "memory");
#endif
}

// ptxas puts three shared loads of no lane before a loop's first cp.async, a turn of the pipe each:
// among many copies they cost little.
constexpr int UNROLL = OP::copies ? 64 : 8;

// All warps of block b execute access first + b so many times (a multiple of UNROLL), from the
// same start; cycles[access] is the time until all of them have issued all. `step` moves the
// address on after each execution. It is 0 as a rule, which ptxas does not know: else it would
// make one access of many.
extern "C" __global__ void __launch_bounds__(1024)
    probe(const unsigned *addresses, const unsigned *masks, const unsigned *sources,
          const char *global_memory, unsigned first, unsigned repeats, unsigned step,
          unsigned *cycles, unsigned *sink) {
    const unsigned access = first + blockIdx.x;
    Lane lane = make_lane(addresses, sources, global_memory, access);
    const bool active = masks[access] >> (threadIdx.x & 31) & 1;
    unsigned sum = 0;
    if (OP::copies && active)  // lines that are on their way would change what the copies cost
        asm volatile("ld.global.ca.u32 %0, [%1];" : "=r"(sum) : "l"(lane.source) : "memory");
    __syncthreads();
    const unsigned before = clock_now();
    if (active) {
#pragma unroll 1
        for (unsigned i = 0; i < repeats; i += UNROLL) {
            Words got[UNROLL] = {};
#pragma unroll
            for (int j = 0; j < UNROLL; ++j) {
                OP::run(lane, got[j]);
                lane.address += step;
            }
            if (OP::loads)
#pragma unroll
                for (int j = 0; j < UNROLL; ++j)
                    for (int i = 0; i < 4; ++i) sum += got[j].w[i];
        }
    }
    finish_copies();
    __syncthreads();
    if (threadIdx.x == 0) cycles[access] = clock_now() - before;
    if (sum == 0x5EED5EED) sink[0] = sum;  // keeps the loads' registers alive
}

// One warp a block executes access blockIdx.x once. seen[access][lane] is what came back to the
// lane's registers, and then the 16 aligned bytes around its address, before and after.
extern "C" __global__ void once(const unsigned *addresses, const unsigned *masks,
                                const unsigned *sources, const char *global_memory,
                                const unsigned *fill, unsigned *seen) {
    const unsigned access = blockIdx.x;
    const Lane lane = make_lane(addresses, sources, global_memory, access);
    const bool active = masks[access] >> threadIdx.x & 1;
    const unsigned own = addresses[32 * access + threadIdx.x] & ~15u;
    unsigned *words = reinterpret_cast<unsigned *>(shared_memory + own);
    unsigned *out = seen + 12 * (32 * access + threadIdx.x);
    Words got = {};
    if (active)
        for (int i = 0; i < 4; ++i) words[i] = OP::zero ? 0 : fill[own / 4 + i];
    __syncwarp();
    if (active) OP::run(lane, got);
    finish_copies();
    __syncwarp();
    if (active)
        for (int i = 0; i < 4; ++i) {
            out[i] = got.w[i];
            out[4 + i] = OP::zero ? 0 : fill[own / 4 + i];
            out[8 + i] = words[i];
        }
}
