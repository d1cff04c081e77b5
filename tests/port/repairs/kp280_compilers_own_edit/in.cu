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
    out[threadIdx.x] = box.as<T>();
}

Shape shape_of(long rows, unsigned columns) {
    return Shape{rows, columns};
}

template __global__ void fill<float>(float*, Box<float>);
