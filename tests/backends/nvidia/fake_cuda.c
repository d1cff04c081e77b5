/* A test double for the ABI of libcuda: it computes nothing. It writes down every call it gets and pretends that each
   function has the parameters "pointer at 0, int at 8, double at 16". */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const size_t offsets[] = {0, 8, 16}, sizes[] = {8, 4, 8};

static void note(const char *text) {
  FILE *log = fopen(getenv("FAKE_CUDA_LOG"), "a");
  fprintf(log, "%s\n", text);
  fclose(log);
}

static int status_of(const char *call) {
  const char *failing = getenv("FAKE_CUDA_FAIL");
  size_t length = strlen(call);
  if (failing && !strncmp(failing, call, length) && failing[length] == ':') return atoi(failing + length + 1);
  return 0;
}

int cuInit(unsigned flags) { (void)flags; note("cuInit"); return status_of("cuInit"); }
int cuDeviceGetCount(int *count) { *count = getenv("FAKE_CUDA_NONE") ? 0 : 2; return 0; }
int cuDeviceGet(int *device, int ordinal) { *device = ordinal; return 0; }
int cuDeviceGetAttribute(int *value, int attribute, int device) {
  (void)device;
  *value = attribute == 75 ? 9 : 0;
  return 0;
}
int cuDevicePrimaryCtxRetain(void **context, int device) { *context = (void *)(uintptr_t)(0x500 + device); return 0; }
int cuCtxPushCurrent_v2(void *context) {
  char text[64];
  snprintf(text, sizeof text, "push %p", context);
  note(text);
  return 0;
}
int cuCtxPopCurrent_v2(void **context) { *context = 0; note("pop"); return 0; }
int cuModuleLoadData(void **module, const void *image) {
  char text[64];
  snprintf(text, sizeof text, "cuModuleLoadData %s", (const char *)image);
  note(text);
  *module = (void *)(uintptr_t)0x1000;
  return status_of("cuModuleLoadData");
}
int cuModuleGetFunction(void **function, void *module, const char *name) {
  char text[256];
  snprintf(text, sizeof text, "cuModuleGetFunction %p %s", module, name);
  note(text);
  *function = (void *)(uintptr_t)0x2000;
  return status_of("cuModuleGetFunction");
}
int cuFuncGetAttribute(int *value, int attribute, void *function) {
  (void)function;
  *value = attribute == 0 ? 1024 : 0;
  return 0;
}
int cuFuncSetAttribute(void *function, int attribute, int value) {
  char text[128];
  snprintf(text, sizeof text, "cuFuncSetAttribute %p %d %d", function, attribute, value);
  note(text);
  return 0;
}
int cuFuncGetParamInfo(void *function, size_t index, size_t *offset, size_t *size) {
  (void)function;
  if (index >= 3) return 1;
  *offset = offsets[index];
  *size = sizes[index];
  return status_of("cuFuncGetParamInfo");
}
int cuLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                   unsigned shared_bytes, void *stream, void **params, void **extra) {
  char text[1024];
  int at = snprintf(text, sizeof text, "cuLaunchKernel %p grid %u,%u,%u block %u,%u,%u shared %u stream %p extra %d", function,
                    gx, gy, gz, bx, by, bz, shared_bytes, stream, extra != NULL);
  for (int index = 0; index < 3; index++) {
    at += snprintf(text + at, sizeof text - at, " ");
    for (size_t byte = 0; byte < sizes[index]; byte++)
      at += snprintf(text + at, sizeof text - at, "%02x", ((unsigned char *)params[index])[byte]);
  }
  note(text);
  return status_of("cuLaunchKernel");
}
int cuGetErrorName(int status, const char **text) { (void)status; *text = "CUDA_ERROR_INVALID_VALUE"; return 0; }
int cuGetErrorString(int status, const char **text) { (void)status; *text = "invalid argument"; return 0; }
