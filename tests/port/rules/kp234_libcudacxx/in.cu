#include <cuda/atomic>
#include <cuda/std/tuple>

__global__ void count(int *total) {
  cuda::atomic_ref<int, cuda::thread_scope_device> counter(*total);
  counter.fetch_add(1);
}
