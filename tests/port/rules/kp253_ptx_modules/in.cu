#include <cuda.h>

CUfunction load(const char *ptx) {
  CUmodule module;
  CUfunction function;
  cuModuleLoadData(&module, ptx);
  cuModuleGetFunction(&function, module, "kernel");
  return function;
}
