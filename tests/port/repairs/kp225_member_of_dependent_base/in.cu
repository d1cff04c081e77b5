#include <ATen/ATen.h>

template <int k> struct Base {
    int entry[k];
    static __host__ __device__ float decode(int value) { return static_cast<float>(value); }
};

template <int k> struct List : Base<k> {
    __host__ __device__ float first() const;
};

template <int k> inline __host__ __device__ float List<k>::first() const {
    return decode(this->entry[0]);
}

__global__ void firsts(float* out, const List<4>* lists) {
    out[threadIdx.x] = lists[threadIdx.x].first();
}

void run(float* out, const List<4>* lists) {
    firsts<<<1, 32>>>(out, lists);
}
