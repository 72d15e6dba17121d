// What a kernel asks of the system; system.cubin is this for sm_90, by NVRTC from the root folder.
#include <cassert>
__device__ int unset[64], counter;
__device__ float scale = 2;

extern "C" __global__ void prints(const int *a) {
    if (threadIdx.x < 3)
        printf("%d: %5.2f|%-4s|%c%% %llx %hhu\n", threadIdx.x, 1.5 * a[threadIdx.x], "ab", 'z',
               1ull << 40, 259);
    if (a[0] > 5) printf("never\n");
}

extern "C" __global__ void takes(int *out, size_t bytes) {
    int *own = (int *)malloc(bytes);
    out[threadIdx.x] = own != nullptr;
    if (own) {
        own[1] = threadIdx.x;
        out[threadIdx.x] += own[1];
        free(own);
    }
}

extern "C" __global__ void fails(const int *a) { assert(a[threadIdx.x] < 7); }

extern "C" __global__ void reads(float *out) {
    atomicAdd(&counter, 1);
    out[threadIdx.x] = scale * unset[threadIdx.x] + counter;
}
