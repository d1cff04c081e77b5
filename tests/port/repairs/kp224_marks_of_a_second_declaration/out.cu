#include <ATen/ATen.h>

template <typename T> inline __host__ __device__ float toward_zero(T value);
template <> inline __host__ __device__ float toward_zero(float value) { return value; }
#if defined(__HIP_DEVICE_COMPILE__) || defined(__CUDA_ARCH__)
#if defined(USE_ROCM) || defined(__HIP_PLATFORM_AMD__)
template <> inline __host__ __device__ float toward_zero(int value) { return __int2float_rz(value); }
#else
template <> inline __device__ float toward_zero(int value) { return __int2float_rz(value); }
#endif
#endif

template <typename T> __device__ T doubled(T value);
#if defined(USE_ROCM) || defined(__HIP_PLATFORM_AMD__)
template <> __device__ int doubled<int>(int value) {
#else
template <> __host__ __device__ int doubled<int>(int value) {
#endif
    return value + value;
}

struct Scale {
    float by;
    __device__ float of(float value) const;
    __host__ __device__ int rows() const;
};

#if defined(USE_ROCM) || defined(__HIP_PLATFORM_AMD__)
__device__ float Scale::of(float value) const {
#else
float Scale::of(float value) const {
#endif
    return by * value;
}

#if defined(USE_ROCM) || defined(__HIP_PLATFORM_AMD__)
__host__ __device__ int Scale::rows() const {
#else
__device__ int Scale::rows() const {
#endif
    return 4;
}

__global__ void scale(float* x, Scale s) {
    x[threadIdx.x] = s.of(toward_zero(doubled(s.rows())));
}

void run(float* x) {
    scale<<<1, 32>>>(x, Scale{2.f});
}
