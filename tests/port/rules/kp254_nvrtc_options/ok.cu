#include <nvrtc.h>

void compile(nvrtcProgram program) {
  const char *options[] = {"-std=c++17", "-DTILE=16"};  // no --gpu-architecture
  nvrtcCompileProgram(program, 2, options);
}
