// Host assembly, compiler barriers, register names, strings and comments are not PTX.
// asm("mov.u32 %0, %laneid;" : "=r"(lane));
#include <cuda_runtime.h>

static inline unsigned long long ticks() {
#if defined(__x86_64__)
  unsigned low, high;
  __asm__ __volatile__("rdtsc" : "=a"(low), "=d"(high));
  return ((unsigned long long)high << 32) | low;
#else
  return 0;
#endif
}

inline void compiler_barrier() { asm volatile("" ::: "memory"); }

const char *ptx = "mov.u32 %r1, %laneid;";

struct assembly { int asm_count; };
