#include <thrust/device_vector.h>
#include <thrust/sort.h>
#include <thrust/system/cuda/execution_policy.h>
#ifdef WITH_PINNED_VECTORS
#include <thrust/system/cuda/experimental/pinned_allocator.h>
#include <vector>

using pinned = std::vector<int, thrust::system::cuda::experimental::pinned_allocator<int>>;
#endif

void sort(thrust::device_vector<int> &v, cudaStream_t stream) {
  thrust::sort(thrust::cuda::par.on(stream), v.begin(), v.end());
}
