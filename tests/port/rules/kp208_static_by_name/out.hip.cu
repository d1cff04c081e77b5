// One file for both compilers: the program gives its own source to NVRTC.
#include <hip/hip_runtime.h>
#ifdef __CUDACC_RTC__
struct Option {
  float strike;
};
#if !defined(KPT_AT_RUN_TIME)
static
#endif
__constant__ Option options[64];
__constant__ const float step = 0.5f, width = 2.0f;
#if !defined(KPT_AT_RUN_TIME)
static
#endif
__device__ unsigned counter;
__device__ float prices[64];
static __constant__ float factor;

extern "C" __global__ void price() {
  prices[threadIdx.x] = options[threadIdx.x].strike * factor * step * width;
  atomicAdd(&counter, 1u);
}
#else
#include <hip/hip_runtime.h>
#include <hip/hiprtc.h>

static const char *more = R"(
static __constant__ int limits[4];
__constant__ int bounds[4];
extern "C" __global__ void clamp(int *x) { x[0] = min(limits[0], bounds[0]); }
)";

void run(hipModule_t module, hipModule_t second, const char *text) {
  hiprtcProgram program;
  hiprtcCreateProgram(&program, text, "in.hip", 0, nullptr, nullptr);
  hiprtcAddNameExpression(program, "&width");
  hiprtcCompileProgram(program, 0, nullptr);
  hipDeviceptr_t at;
  hipModuleGetGlobal(&at, nullptr, module, "options");
  hipModuleGetGlobal(&at, nullptr, module, "prices");
  hipModuleGetGlobal(&at, nullptr, second, "limits");
  hipModuleGetGlobal(&at, nullptr, second, "bounds");
  for (const char *name : {"counter"}) hipModuleGetGlobal(&at, nullptr, module, name);
}
#endif
