#include <nvrtc.h>

void compile(nvrtcProgram program) {
  const char *options[] = {"--gpu-architecture=compute_80", "-std=c++17"};
  nvrtcCompileProgram(program, 2, options);
}
