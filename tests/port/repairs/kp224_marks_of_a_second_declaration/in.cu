#include <ATen/ATen.h>

template <typename T> inline __host__ __device__ float toward_zero(T value);
template <> inline __host__ __device__ float toward_zero(float value) { return value; }
#if defined(__HIP_DEVICE_COMPILE__) || defined(__CUDA_ARCH__)
template <> inline __device__ float toward_zero(int value) { return __int2float_rz(value); }
#endif

template <typename T> __device__ T doubled(T value);
template <> __host__ __device__ int doubled<int>(int value) {
    return value + value;
}

struct Scale {
    float by;
    __device__ float of(float value) const;
    __host__ __device__ int rows() const;
};

float Scale::of(float value) const {
    return by * value;
}

__device__ int Scale::rows() const {
    return 4;
}

__global__ void scale(float* x, Scale s) {
    x[threadIdx.x] = s.of(toward_zero(doubled(s.rows())));
}

void run(float* x) {
    scale<<<1, 32>>>(x, Scale{2.f});
}
