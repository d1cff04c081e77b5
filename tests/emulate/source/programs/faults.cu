// One planted fault per kernel. `HERE name` marks the line that must be reported, `OTHER name` the second place.
#include <cstdio>
#include <cstdlib>
#include <cstring>

__global__ void race_shared(int *out) {
    __shared__ int s[64];
    s[threadIdx.x] = threadIdx.x;            // HERE race_shared
    out[threadIdx.x] = s[63 - threadIdx.x];  // OTHER race_shared
}

__global__ void race_global(int *out) {
    out[threadIdx.x] = blockIdx.x;  // HERE race_global OTHER race_global
}

__global__ void race_bytes(unsigned char *out) {
    if (threadIdx.x < 33) out[threadIdx.x % 32] = (unsigned char)threadIdx.x;  // HERE race_bytes OTHER race_bytes
}

__device__ int total;
__global__ void race_plain_and_atomic(int *out) {
    atomicAdd(&total, 1);             // OTHER race_plain_and_atomic
    if (threadIdx.x == 63) total = 0;  // HERE race_plain_and_atomic
    out[threadIdx.x] = 0;
}

__device__ int step(const int *values, int at) {
    return values[at];  // HERE read_bounds
}
__global__ void read_bounds(const int *in, int *out) { out[threadIdx.x] = step(in, threadIdx.x + 1); }

__global__ void write_bounds(int *out) {
    out[(int)threadIdx.x - 1] = 1;  // HERE write_bounds
}

__global__ void shared_bounds(int *out) {
    __shared__ int s[32];
    __shared__ int behind[32];
    behind[threadIdx.x % 32] = 0;
    s[threadIdx.x] = 1;  // HERE shared_bounds
    __syncthreads();
    out[threadIdx.x] = s[0] + behind[0];
}

__global__ void dynamic_bounds(int *out) {
    extern __shared__ int s[];
    s[threadIdx.x] = 1;  // HERE dynamic_bounds
    __syncthreads();
    out[threadIdx.x] = s[0];
}

__global__ void unwritten(const int *in, int *out) {
    out[threadIdx.x] = in[threadIdx.x];  // HERE unwritten
}

__global__ void unwritten_shared(int *out) {
    __shared__ int s[65];
    s[threadIdx.x] = 1;
    __syncthreads();
    out[threadIdx.x] = s[threadIdx.x + 1];  // HERE unwritten_shared
}

__global__ void freed(int *out) {
    out[threadIdx.x] = 1;  // HERE freed
}

__global__ void host_pointer(int *out) {
    out[threadIdx.x] = 1;  // HERE host_pointer
}

__global__ void missing_syncwarp(int *out) {
    __shared__ volatile int s[64];
    unsigned t = threadIdx.x;
    s[t] = 1;
    __syncthreads();
    if (t < 32) {
        s[t] += s[t + 32];
        s[t] += s[t + 16];  // HERE missing_syncwarp
        s[t] += s[t + 8];
        s[t] += s[t + 4];
        s[t] += s[t + 2];
        s[t] += s[t + 1];
    }
    if (t == 0) out[0] = s[0];
}

__global__ void divergent_barrier(int *out) {
    if (threadIdx.x < 32)
        __syncthreads();  // HERE divergent_barrier
    else
        __syncthreads();  // OTHER divergent_barrier
    out[threadIdx.x] = 1;
}

__global__ void barrier_and_shuffle(int *out) {
    int v = 1;
    if (threadIdx.x % 32 < 16)
        __syncthreads();
    else
        v = __shfl_sync(0xffffffffu, v, 0);  // HERE barrier_and_shuffle
    out[threadIdx.x] = v;
}

__global__ void lane_not_in_mask(int *out) {
    int v = threadIdx.x;
    if (threadIdx.x % 32 < 16) v = __shfl_down_sync(0xffffu, v, 8);  // HERE lane_not_in_mask
    out[threadIdx.x] = v;
}

__global__ void caller_not_in_mask(int *out) {
    out[threadIdx.x] = __any_sync(0xffffu, 1);  // HERE caller_not_in_mask
}

__global__ void lanes_that_never_come(int *out) {
    int v = 0;
    if (threadIdx.x % 2 == 0)
        v = __ballot_sync(0xffffffffu, 1);  // HERE lanes_that_never_come
    else
        v = __any_sync(0xffffffffu, 1);
    out[threadIdx.x] = v;
}

__global__ void failed_assert(int *out) {
    if (threadIdx.x == 5) {
        bool five = false;
        if (!five) __trap();  // HERE failed_assert
    }
    out[threadIdx.x] = 1;
}

__global__ void endless(volatile int *out) {
    while (out[0] == 0) {
    }
}

__device__ int deep(int n) {
    volatile char local[4096];
    local[n % 4096] = (char)n;
    return n == 0 ? local[0] : deep(n - 1) + local[n % 4096];
}
__global__ void deep_stack(int *out) { out[threadIdx.x] = deep(1000); }

__global__ void fine(int *out) { out[threadIdx.x] = 1; }

int main(int argc, char **argv) {
    const char *name = argc > 1 ? argv[1] : "";
    int *in, *out;
    cudaMalloc(&in, 64 * sizeof(int));
    cudaMalloc(&out, 64 * sizeof(int));
    cudaMemset(out, 0, 64 * sizeof(int));
    if (strcmp(name, "unwritten")) cudaMemset(in, 0, 64 * sizeof(int));
#define RUN(kernel, grid, ...) \
    if (!strcmp(name, #kernel)) kernel<<<grid, 64>>>(__VA_ARGS__)
    RUN(race_shared, 1, out);
    RUN(race_global, 4, out);
    RUN(race_bytes, 1, (unsigned char *)out);
    RUN(race_plain_and_atomic, 1, out);
    RUN(read_bounds, 1, in, out);
    RUN(write_bounds, 1, out);
    RUN(shared_bounds, 1, out);
    if (!strcmp(name, "dynamic_bounds")) dynamic_bounds<<<1, 64, 63 * sizeof(int)>>>(out);
    RUN(unwritten, 1, in, out);
    RUN(unwritten_shared, 1, out);
    if (!strcmp(name, "freed")) {
        cudaFree(in);
        freed<<<1, 64>>>(in);
    }
    if (!strcmp(name, "host_pointer")) {
        int *host = (int *)malloc(64 * sizeof(int));
        host_pointer<<<1, 64>>>(host);
        free(host);
    }
    RUN(missing_syncwarp, 1, out);
    RUN(divergent_barrier, 1, out);
    RUN(barrier_and_shuffle, 1, out);
    RUN(lane_not_in_mask, 1, out);
    RUN(caller_not_in_mask, 1, out);
    RUN(lanes_that_never_come, 1, out);
    RUN(failed_assert, 1, out);
    RUN(endless, 1, out);
    RUN(deep_stack, 1, out);
    RUN(fine, 1, out);
    if (!strcmp(name, "host_access")) out[3] = 1;  // HERE host_access
    if (!strcmp(name, "too_many_threads")) fine<<<1, 2048>>>(out);  // HERE too_many_threads
    printf("%s\n", cudaGetErrorName(cudaDeviceSynchronize()));
    return 0;
}
