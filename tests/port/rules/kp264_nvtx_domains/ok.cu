#include <nvtx3/nvToolsExt.h>

void step(const char *name) {
  nvtxRangePushA(name);
  nvtxRangePop();
}
