// Launches with start and stop events.
#ifndef HIP_INCLUDE_HIP_HIP_EXT_H
#define HIP_INCLUDE_HIP_HIP_EXT_H

#include <hip/hip_runtime.h>

extern "C" hipError_t hipExtModuleLaunchKernel(hipFunction_t f, uint32_t global_x, uint32_t global_y, uint32_t global_z,
                                               uint32_t local_x, uint32_t local_y, uint32_t local_z,
                                               size_t shared_bytes, hipStream_t stream, void **params, void **extra,
                                               hipEvent_t start = nullptr, hipEvent_t stop = nullptr,
                                               uint32_t flags = 0);
extern "C" hipError_t hipExtLaunchKernel(const void *function, dim3 blocks, dim3 threads, void **args,
                                         size_t shared_bytes, hipStream_t stream, hipEvent_t start, hipEvent_t stop,
                                         int flags);

template <class... Args, class __F = void (*)(Args...)>
inline void hipExtLaunchKernelGGL(__F kernel, const dim3 &blocks, const dim3 &threads, uint32_t shared_bytes,
                                  hipStream_t stream, hipEvent_t start, hipEvent_t stop, uint32_t flags, Args... args) {
    void *addresses[] = {(void *)&args..., nullptr};
    (void)hipExtLaunchKernel(reinterpret_cast<const void *>(kernel), blocks, threads, addresses, shared_bytes, stream,
                             start, stop, int(flags));
}

#endif // HIP_INCLUDE_HIP_HIP_EXT_H
