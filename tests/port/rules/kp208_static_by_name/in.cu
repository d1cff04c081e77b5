// One file for both compilers: the program gives its own source to NVRTC.
#ifdef __CUDACC_RTC__
struct Option {
  float strike;
};
static __constant__ Option options[64];
__constant__ const float step = 0.5f, width = 2.0f;
  static __device__ unsigned counter;
__device__ float prices[64];
static __constant__ float factor;

extern "C" __global__ void price() {
  prices[threadIdx.x] = options[threadIdx.x].strike * factor * step * width;
  atomicAdd(&counter, 1u);
}
#else
#include <cuda.h>
#include <nvrtc.h>

static const char *more = R"(
static __constant__ int limits[4];
__constant__ int bounds[4];
extern "C" __global__ void clamp(int *x) { x[0] = min(limits[0], bounds[0]); }
)";

void run(CUmodule module, CUmodule second, const char *text) {
  nvrtcProgram program;
  nvrtcCreateProgram(&program, text, "in.cu", 0, nullptr, nullptr);
  nvrtcAddNameExpression(program, "&width");
  nvrtcCompileProgram(program, 0, nullptr);
  CUdeviceptr at;
  cuModuleGetGlobal(&at, nullptr, module, "options");
  cuModuleGetGlobal(&at, nullptr, module, "prices");
  cuModuleGetGlobal(&at, nullptr, second, "limits");
  cuModuleGetGlobal(&at, nullptr, second, "bounds");
  for (const char *name : {"counter"}) cuModuleGetGlobal(&at, nullptr, module, name);
}
#endif
