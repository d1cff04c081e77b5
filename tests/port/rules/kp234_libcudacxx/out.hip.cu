#include <hip/hip_runtime.h>
#ifndef KPT_SHIM_CUDA_STD
#define KPT_SHIM_CUDA_STD
#include <type_traits>
namespace cuda {
namespace std = ::std;  // clang compiles its constexpr functions for the device as well
}
#endif
#ifndef KPT_SHIM_CUDA_ATOMIC_REF
#define KPT_SHIM_CUDA_ATOMIC_REF
#include <atomic>
namespace cuda {
enum thread_scope {
  thread_scope_thread = __HIP_MEMORY_SCOPE_SINGLETHREAD,
  thread_scope_block = __HIP_MEMORY_SCOPE_WORKGROUP,
  thread_scope_device = __HIP_MEMORY_SCOPE_AGENT,
  thread_scope_system = __HIP_MEMORY_SCOPE_SYSTEM
};
using ::std::memory_order;
using ::std::memory_order_acq_rel;
using ::std::memory_order_acquire;
using ::std::memory_order_relaxed;
using ::std::memory_order_release;
using ::std::memory_order_seq_cst;
template <typename T, thread_scope Scope = thread_scope_system> class atomic_ref {
  T* place;

 public:
  __host__ __device__ explicit atomic_ref(T& value) : place(&value) {}
  __host__ __device__ T load(memory_order order = memory_order_seq_cst) const {
    return __hip_atomic_load(place, int(order), Scope);
  }
  __host__ __device__ void store(T value, memory_order order = memory_order_seq_cst) const {
    __hip_atomic_store(place, value, int(order), Scope);
  }
  __host__ __device__ T exchange(T value, memory_order order = memory_order_seq_cst) const {
    return __hip_atomic_exchange(place, value, int(order), Scope);
  }
  __host__ __device__ bool compare_exchange_strong(T& seen, T value, memory_order = memory_order_seq_cst,
                                                   memory_order = memory_order_seq_cst) const {
    return __hip_atomic_compare_exchange_strong(place, &seen, value, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST, Scope);
  }
  __host__ __device__ bool compare_exchange_weak(T& seen, T value, memory_order = memory_order_seq_cst,
                                                 memory_order = memory_order_seq_cst) const {
    return __hip_atomic_compare_exchange_weak(place, &seen, value, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST, Scope);
  }
  __host__ __device__ T fetch_add(T value, memory_order order = memory_order_seq_cst) const {
    return __hip_atomic_fetch_add(place, value, int(order), Scope);
  }
  __host__ __device__ T fetch_sub(T value, memory_order order = memory_order_seq_cst) const {
    return __hip_atomic_fetch_add(place, -value, int(order), Scope);
  }
  __host__ __device__ T fetch_and(T value, memory_order order = memory_order_seq_cst) const {
    return __hip_atomic_fetch_and(place, value, int(order), Scope);
  }
  __host__ __device__ T fetch_or(T value, memory_order order = memory_order_seq_cst) const {
    return __hip_atomic_fetch_or(place, value, int(order), Scope);
  }
  __host__ __device__ T fetch_xor(T value, memory_order order = memory_order_seq_cst) const {
    return __hip_atomic_fetch_xor(place, value, int(order), Scope);
  }
  __host__ __device__ T fetch_min(T value, memory_order order = memory_order_seq_cst) const {
    return __hip_atomic_fetch_min(place, value, int(order), Scope);
  }
  __host__ __device__ T fetch_max(T value, memory_order order = memory_order_seq_cst) const {
    return __hip_atomic_fetch_max(place, value, int(order), Scope);
  }
};
inline __host__ __device__ void atomic_thread_fence(memory_order order, thread_scope scope = thread_scope_system) {
#if defined(__HIP_DEVICE_COMPILE__)
  // A fence's order and scope are constants to the compiler: the strongest of each scope is right for every order.
  if (order == memory_order_relaxed) return;
  if (scope == thread_scope_block) {
    __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "workgroup");
  } else if (scope == thread_scope_device) {
    __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "agent");
  } else if (scope == thread_scope_system) {
    __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "");
  }
#else
  (void)scope;
  ::std::atomic_thread_fence(order);
#endif
}
// One that holds its value. Nothing is done where one is made without a value, as in __shared__ memory.
template <typename T, thread_scope Scope = thread_scope_system> class atomic {
  mutable T held;
  __host__ __device__ atomic_ref<T, Scope> ref() const { return atomic_ref<T, Scope>(held); }

 public:
  using value_type = T;
  atomic() = default;
  __host__ __device__ constexpr atomic(T value) : held(value) {}
  atomic(const atomic&) = delete;
  atomic& operator=(const atomic&) = delete;
  static constexpr bool is_always_lock_free = sizeof(T) <= 8;
  __host__ __device__ bool is_lock_free() const { return is_always_lock_free; }
  __host__ __device__ T load(memory_order order = memory_order_seq_cst) const { return ref().load(order); }
  __host__ __device__ void store(T value, memory_order order = memory_order_seq_cst) { ref().store(value, order); }
  __host__ __device__ T exchange(T value, memory_order order = memory_order_seq_cst) { return ref().exchange(value, order); }
  __host__ __device__ bool compare_exchange_strong(T& seen, T value, memory_order = memory_order_seq_cst,
                                                   memory_order = memory_order_seq_cst) {
    return ref().compare_exchange_strong(seen, value);
  }
  __host__ __device__ bool compare_exchange_weak(T& seen, T value, memory_order = memory_order_seq_cst,
                                                 memory_order = memory_order_seq_cst) {
    return ref().compare_exchange_weak(seen, value);
  }
  __host__ __device__ T fetch_add(T value, memory_order order = memory_order_seq_cst) { return ref().fetch_add(value, order); }
  __host__ __device__ T fetch_sub(T value, memory_order order = memory_order_seq_cst) { return ref().fetch_sub(value, order); }
  __host__ __device__ T fetch_and(T value, memory_order order = memory_order_seq_cst) { return ref().fetch_and(value, order); }
  __host__ __device__ T fetch_or(T value, memory_order order = memory_order_seq_cst) { return ref().fetch_or(value, order); }
  __host__ __device__ T fetch_xor(T value, memory_order order = memory_order_seq_cst) { return ref().fetch_xor(value, order); }
  __host__ __device__ T fetch_min(T value, memory_order order = memory_order_seq_cst) { return ref().fetch_min(value, order); }
  __host__ __device__ T fetch_max(T value, memory_order order = memory_order_seq_cst) { return ref().fetch_max(value, order); }
  __host__ __device__ operator T() const { return load(); }
  __host__ __device__ T operator=(T value) { store(value); return value; }
  __host__ __device__ T operator++() { return T(fetch_add(T(1)) + T(1)); }
  __host__ __device__ T operator++(int) { return fetch_add(T(1)); }
  __host__ __device__ T operator--() { return T(fetch_sub(T(1)) - T(1)); }
  __host__ __device__ T operator--(int) { return fetch_sub(T(1)); }
  __host__ __device__ T operator+=(T value) { return T(fetch_add(value) + value); }
  __host__ __device__ T operator-=(T value) { return T(fetch_sub(value) - value); }
  __host__ __device__ T operator&=(T value) { return T(fetch_and(value) & value); }
  __host__ __device__ T operator|=(T value) { return T(fetch_or(value) | value); }
  __host__ __device__ T operator^=(T value) { return T(fetch_xor(value) ^ value); }
};
}  // namespace cuda
#endif
#include <atomic>
#include <atomic>
#include <limits>
#include <tuple>

__global__ void count(int *total) {
  cuda::atomic_ref<int, cuda::thread_scope_device> counter(*total);
  cuda::std::tuple<int, int> bounds(1, cuda::std::numeric_limits<int>::max());
  if (counter.load(cuda::memory_order_relaxed) < cuda::std::get<1>(bounds)) {
    counter.fetch_add(cuda::std::get<0>(bounds));
  }
}

__global__ void total(cuda::atomic<int> *sum, int *values) {
  cuda::atomic_ref<int> place(values[0]);
  sum->fetch_add(place.load(cuda::std::memory_order_relaxed), cuda::std::memory_order_relaxed);
  cuda::atomic_thread_fence(cuda::std::memory_order_seq_cst);
}
