#include <cuda.h>

void unload(CUmodule module) { cuModuleUnload(module); }
// cuModuleLoadData(&module, ptx);
