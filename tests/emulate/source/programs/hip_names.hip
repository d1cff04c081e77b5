// HIP's own spelling: launches by macro, maskless shuffles, 64-bit ballots, vector operators.
#include <hip/hip_runtime.h>

#include <cstdio>

template <class T> __global__ void warp_sum(const T *x, T *out, int n) {
    int i = hipBlockIdx_x * hipBlockDim_x + hipThreadIdx_x;
    T v = i < n ? x[i] : T(0);
    for (int d = warpSize / 2; d; d /= 2) v += __shfl_down(v, d);
    unsigned long long all = __ballot(1);
    if (threadIdx.x % warpSize == 0) atomicAdd(out, v + T(all != 0xffffffffull));
}

__global__ void branches(int *out) {
    int v = -1;
    if (threadIdx.x % 2 == 0) v = __shfl(threadIdx.x, 2);
    out[threadIdx.x] = v;
}

__global__ void vectors(float4 *x) {
    HIP_DYNAMIC_SHARED(float4, s)
    s[threadIdx.x] = x[threadIdx.x] + x[threadIdx.x];
    __syncthreads();
    x[threadIdx.x] = s[blockDim.x - 1 - threadIdx.x] * make_float4(1, 2, 3, 4);
}

int main() {
    float host[256], sum = 0, *x, *out;
    for (float &one : host) one = 1;
    if (hipMalloc(&x, sizeof host) != hipSuccess || hipMalloc(&out, sizeof sum) != hipSuccess) return 1;
    hipMemcpy(x, host, sizeof host, hipMemcpyHostToDevice);
    hipMemset(out, 0, sizeof sum);
    hipLaunchKernelGGL((warp_sum<float>), dim3(2), dim3(128), 0, 0, x, out, 256);
    hipMemcpy(&sum, out, sizeof sum, hipMemcpyDeviceToHost);
    int *lanes, seen[32];
    hipHostMalloc(&lanes, sizeof seen);
    branches<<<1, 32>>>(lanes);
    hipDeviceProp_t properties;
    hipGetDeviceProperties(&properties, 0);
    float4 *v, back[64];
    hipMalloc(&v, sizeof back);
    hipMemcpy(v, host, sizeof back / 4, hipMemcpyHostToDevice);
    hipLaunchKernelGGL(vectors, 1, 16, 16 * sizeof(float4), 0, v);
    hipMemcpy(back, v, 16 * sizeof(float4), hipMemcpyDeviceToHost);
    hipError_t end = hipDeviceSynchronize();
    printf("%g %d %d %g %s\n", sum, lanes[0], lanes[1], back[3].w, hipGetErrorString(end));
    return sum == 256 && lanes[0] == 2 && lanes[1] == -1 && back[3].w == 8 && properties.warpSize == 32 && end == hipSuccess ? 0 : 1;
}
