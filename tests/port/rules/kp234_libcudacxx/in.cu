#include <cuda/atomic>
#include <cuda/std/atomic>
#include <cuda/std/limits>
#include <cuda/std/tuple>

__global__ void count(int *total) {
  cuda::atomic_ref<int, cuda::thread_scope_device> counter(*total);
  cuda::std::tuple<int, int> bounds(1, cuda::std::numeric_limits<int>::max());
  if (counter.load(cuda::memory_order_relaxed) < cuda::std::get<1>(bounds)) {
    counter.fetch_add(cuda::std::get<0>(bounds));
  }
}

__global__ void total(cuda::std::atomic<int> *sum, int *values) {
  cuda::std::atomic_ref<int> place(values[0]);
  sum->fetch_add(place.load(cuda::std::memory_order_relaxed), cuda::std::memory_order_relaxed);
  cuda::std::atomic_thread_fence(cuda::std::memory_order_seq_cst);
}
