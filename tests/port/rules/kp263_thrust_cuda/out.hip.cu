#include <hip/hip_runtime.h>
#include <thrust/device_vector.h>
#include <thrust/sort.h>
#include <thrust/system/hip/execution_policy.h>
#ifdef WITH_PINNED_VECTORS
#include <thrust/system/cuda/experimental/pinned_allocator.h>
#include <vector>

using pinned = std::vector<int, thrust::system::cuda::experimental::pinned_allocator<int>>;
#endif

void sort(thrust::device_vector<int> &v, hipStream_t stream) {
  thrust::sort(thrust::hip::par.on(stream), v.begin(), v.end());
}
