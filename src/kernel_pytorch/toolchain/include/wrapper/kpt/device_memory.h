// malloc, free, new and delete on the device: ROCm's device heap (OCKL). memcpy and memset in namespace std.
#ifndef KPT_DEVICE_MEMORY_H
#define KPT_DEVICE_MEMORY_H

typedef __SIZE_TYPE__ kpt_size_t;

extern "C" {
__device__ unsigned long __ockl_dm_alloc(unsigned long bytes);
__device__ void __ockl_dm_dealloc(unsigned long address);
}

static __device__ inline void *malloc(kpt_size_t bytes) { return (void *)__ockl_dm_alloc(bytes); }
static __device__ inline void free(void *__p) { __ockl_dm_dealloc((unsigned long)__p); }

__device__ inline void *operator new(kpt_size_t bytes) { return ::malloc(bytes); }
__device__ inline void *operator new[](kpt_size_t bytes) { return ::malloc(bytes); }
__device__ inline void operator delete(void *__p) noexcept { ::free(__p); }
__device__ inline void operator delete[](void *__p) noexcept { ::free(__p); }
__device__ inline void operator delete(void *__p, kpt_size_t) noexcept { ::free(__p); }
__device__ inline void operator delete[](void *__p, kpt_size_t) noexcept { ::free(__p); }
__device__ inline void *operator new(kpt_size_t, void *__p) noexcept { return __p; }
__device__ inline void *operator new[](kpt_size_t, void *__p) noexcept { return __p; }
__device__ inline void operator delete(void *, void *) noexcept {}
__device__ inline void operator delete[](void *, void *) noexcept {}

// HIP's header defines these. They are declared before <cstring>, so that std::memcpy means them too on the device.
static inline __device__ void *memcpy(void *__to, const void *__from, kpt_size_t bytes);
static inline __device__ void *memset(void *__to, int value, kpt_size_t bytes);

#endif // KPT_DEVICE_MEMORY_H
