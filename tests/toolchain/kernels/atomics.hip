#include <hip/hip_runtime.h>

__global__ void integer_atomics(int* i, unsigned* u, unsigned long long* l) {
  atomicAdd(i, 1);
  atomicSub(i, 2);
  atomicMin(i + 1, (int)threadIdx.x);
  atomicMax(i + 2, (int)threadIdx.x);
  atomicAnd(u, 0xffu);
  atomicOr(u + 1, 1u << (threadIdx.x & 31));
  atomicXor(u + 2, threadIdx.x);
  atomicExch(u + 3, threadIdx.x);
  atomicInc(u + 4, 100u);
  atomicDec(u + 5, 100u);
  atomicAdd(l, 1ull);
  atomicCAS(l + 1, 0ull, (unsigned long long)threadIdx.x);
  atomicMax(l + 2, (unsigned long long)threadIdx.x);
}

__global__ void float_atomics(float* f, double* d) {
  atomicAdd(f, 1.5f);
  atomicAdd(d, 2.5);
  atomicMax(f + 1, 1.0f);
  atomicMin(d + 1, 1.0);
  atomicAdd_system(f + 2, 1.0f);
}

__global__ void scoped(int* p) {
  __hip_atomic_fetch_add(p, 1, __ATOMIC_ACQ_REL, __HIP_MEMORY_SCOPE_WORKGROUP);
  __hip_atomic_store(p + 1, 7, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_SYSTEM);
  p[2] = __hip_atomic_load(p + 1, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_AGENT);
}
