#include <cuda_runtime.h>

template <bool wide>
__global__ void add(float* x, int n) {
    if (threadIdx.x < n) x[threadIdx.x] += wide ? 2.f : 1.f;
}

void run(float* x, int n, cudaStream_t stream) {
    n > 64
        ? add<true><<<1, 128, 0, stream>>>(x, n)
        : add<false><<<1, 64, 0, stream>>>(x, n);
}

template <typename Step>
void with_stream(cudaStream_t stream, Step step) {
    step(stream);
}

#define STEPS(...) __VA_ARGS__
#define TWICE_OF(step, of) step; step; (void)of
#define TWICE(...) TWICE_OF(__VA_ARGS__)

void in_parentheses(float* x, int n) {
    TWICE(STEPS(with_stream(0, [&](cudaStream_t stream) {
        (add<true><<<1, 64, 0, stream>>>(
            x, n));
    })), x);
}
