__global__ void child(int *p) { atomicAdd(p, 1); }

void launch(int *p) { child<<<1, 32>>>(p); }

struct Runner {
  void operator()(int *p) const { child<<<1, 32>>>(p); }
};

__device__ int shifted(int x) { return x << 2; }

#define KERNEL(name) __global__ void name
#define RUN(name, ...)              \
  do {                              \
    name<<<1, 32>>>(__VA_ARGS__);   \
  } while (0)
