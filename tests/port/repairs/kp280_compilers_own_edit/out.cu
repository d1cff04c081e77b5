#include <cuda_runtime.h>

struct Shape {
    int rows, columns;
};

template <typename T>
struct Box {
    template <typename U>
    __device__ U as() const {
        return U(1);
    }
};

template <typename T>
__global__ void fill(T* out, Box<T> box) {
#if defined(USE_ROCM) || defined(__HIP_PLATFORM_AMD__)
    out[threadIdx.x] = box.template as<T>();
#else
    out[threadIdx.x] = box.as<T>();
#endif
}

Shape shape_of(long rows, unsigned columns) {
#if defined(USE_ROCM) || defined(__HIP_PLATFORM_AMD__)
    return Shape{static_cast<int>(rows), static_cast<int>(columns)};
#else
    return Shape{rows, columns};
#endif
}

template __global__ void fill<float>(float*, Box<float>);
