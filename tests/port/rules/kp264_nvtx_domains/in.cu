#include <nvtx3/nvToolsExt.h>

void push(const char *name) {
  nvtxEventAttributes_t attributes = {};
  attributes.message.ascii = name;
  nvtxRangePushEx(&attributes);
}
