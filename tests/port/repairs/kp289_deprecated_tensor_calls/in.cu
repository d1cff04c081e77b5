#include <ATen/ATen.h>
#include <ATen/Dispatch.h>

template <typename T>
__global__ void fill(T* x) {
    x[threadIdx.x] = T(1);
}

void run(at::Tensor x) {
    AT_DISPATCH_FLOATING_TYPES(x.type(), "fill", ([&] { fill<scalar_t><<<1, 32>>>(x.data<scalar_t>()); }));
}
